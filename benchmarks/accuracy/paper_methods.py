"""The methods of the papers on private distribution functions, tuned to each cell where the papers tuned them.

Noise path and smoothing: Barczewski, Mawass and Ramon. Histogram and dichotomy, and quantiles with Gaussian noise:
"four ways to a private distribution function". Each has the noise that its loss needs under replace-one.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from baselines import path_graph, regular_bounds

from dpcurves.curves import CDF, Bisection, CdfQuestion, QuantilePartition
from dpcurves.mechanisms import FlatHistogram
from dpcurves.noise import discrete_gaussian, discrete_laplace
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import PrivacyLoss
from dpcurves.smoothing import AtMost, NoiseGraph, project_isotonic_l2

from .answering import COLUMN, answer
from .data import FloatArray
from .methods import Job, Method, one_by_one, untuned
from .one_turn import counted, least_squares

ROUNDS = 8, 16, 32, 64
BINS = 8, 32, 128, 512, 2048


def of_papers() -> list[Method]:
    """Methods as printed, at the right scale of the noise."""
    return [
        untuned("noise path, smoothed", smoothed_path, zero_concentrated=False),
        _tuned("histogram", histogram, BINS),
        _tuned("adaptive dichotomy", dichotomy, ROUNDS),
    ]


def in_their_wake() -> list[Method]:
    """What the product offers that goes the same way."""
    return [
        _tuned("dpcurves, by bisection", bisection, (16, 32)),
        _tuned("dpcurves, between quantiles", between_quantiles, (16, 64)),
    ]


def smoothed_path(job: Job) -> FloatArray:
    """Dyadic noise at the scale (L + 1) / epsilon, and the least change in squares that makes the curve rise."""
    points = job.sample.grid.cells
    randomness, noisy = Randomness.from_seed(job.seed), np.cumsum(job.sample.counts).astype(np.float64)
    for ends in regular_bounds(points, 2):
        noisy += np.repeat(_noise(job.loss, points.bit_length(), len(ends) - 1, randomness), np.diff(ends))
    smooth = project_isotonic_l2(noisy, _graph(points), AtMost(float(job.sample.records)))
    return np.append(0.0, smooth / job.sample.records)


def histogram(bins: int) -> Callable[[Job], FloatArray]:
    """So many bins of equal width."""

    def release(job: Job) -> FloatArray:
        mechanism = FlatHistogram(max(1, job.sample.grid.cells // bins))
        return least_squares(counted(job.sample, mechanism, job.loss, job.seed))

    return release


def dichotomy(rounds: int) -> Callable[[Job], FloatArray]:
    """In the middle of the interval that seems to hold the most records, count what lies below; so many times."""

    def release(job: Job) -> FloatArray:
        cells, records = job.sample.grid.cells, job.sample.records
        noise = _noise(job.loss, rounds, rounds, Randomness.from_seed(job.seed))
        below, places, shares = np.append(0, np.cumsum(job.sample.counts)), [0, cells], [0.0, 1.0]
        for lot in noise.tolist():
            gaps = np.where(np.diff(places) > 1, np.diff(shares), -1.0)
            widest = int(np.argmax(gaps))
            middle = (places[widest] + places[widest + 1]) // 2
            share = (float(below[middle]) + lot) / records
            places.insert(widest + 1, middle)
            shares.insert(widest + 1, min(max(share, shares[widest]), shares[widest + 1]))
        return np.interp(np.arange(cells + 1), places, shares)

    return release


def bisection(rounds: int) -> Callable[[Job], FloatArray]:
    """Halved and counted, then counted again."""

    def release(job: Job) -> FloatArray:
        question = CdfQuestion(COLUMN, job.sample.grid, method=Bisection(rounds))
        curve: CDF = answer(question, job.sample, job.loss, job.seed)
        return curve.y

    return release


def between_quantiles(pieces: int) -> Callable[[Job], FloatArray]:
    """Cut by the exponential mechanism, then counted."""

    def release(job: Job) -> FloatArray:
        curve: CDF = answer(
            CdfQuestion(COLUMN, job.sample.grid, method=QuantilePartition(pieces)), job.sample, job.loss, job.seed
        )
        return curve.y

    return release


def _tuned(name: str, make: Callable[[int], Callable[[Job], FloatArray]], choices: tuple[int, ...]) -> Method:
    return Method(name, {str(choice): one_by_one(make(choice)) for choice in choices})


def _noise(loss: PrivacyLoss, queries: int, size: int, randomness: Randomness) -> FloatArray:
    """Draw noise for counts that a record moves by 1 each, where so many share the loss."""
    if loss.epsilon is not None:
        return np.asarray(discrete_laplace.sample(Fraction(queries) / loss.epsilon, size, randomness), dtype=np.float64)
    return np.asarray(discrete_gaussian.sample(Fraction(queries) / (2 * loss.rho), size, randomness), dtype=np.float64)


@lru_cache(maxsize=8)
def _graph(points: int) -> NoiseGraph:
    bounds = regular_bounds(points, 2)
    return path_graph(bounds, [1.0] * len(bounds))
