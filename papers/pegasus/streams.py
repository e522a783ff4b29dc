"""Errors of counts of streams: clipped noise, backward means, PeGaSus as printed, and what dpcurves shows."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcurves.data import Categories
from dpcurves.distributions import Family, Noise
from dpcurves.distributions.output_distribution import simulate_noise
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves_streams.distributions import GroupedCounts
from dpcurves_streams.mechanisms import Pegasus
from dpcurves_streams.mechanisms.pegasus import STATE_COLUMNS, build_fenwick_trees, decide_groups
from dpcurves_streams.queries import GroupedTimeStepQuery
from dpcurves_streams.readings import AdaptiveSmoother
from dpcurves_streams.readings.groups import OpenGroups

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
LENGTH, MEDIAN = 0, 3
"""Columns of what is known of a group."""
BACK = (1, 4, 16, 64, 256)


class Errors(NamedTuple):
    """Mean absolute errors. `medians` and `averages` are of PeGaSus with the printed threshold; `wide` has 50."""

    zeros: float
    clipped: float
    backward: float
    medians: float
    averages: float
    wide: float
    auto: float


def errors(counts: IntArray, epsilon: str, runs: int, generator: np.random.Generator) -> Errors:
    """Work out errors of one stream, over so many releases."""
    noise = laplace_of(epsilon)
    noisy = counts[:, None] + simulate_noise(noise, (len(counts), runs), generator)
    printed, wide = (released(counts, epsilon, deviation, runs, generator) for deviation in (5, 50))
    shown = (
        np.zeros_like(noisy), noisy, *(_backward(noisy, back) for back in BACK), printed[..., 3], printed[..., 1],
        wide[..., 3], AdaptiveSmoother(noise.variance, runs).estimate_all(noisy),
    )  # fmt: skip
    found = [float(np.abs(np.maximum(each, 0) - counts[:, None]).mean()) for each in shown]
    return Errors(found[0], found[1], min(found[2:7]), *found[7:])


def laplace_of(epsilon: str) -> Noise:
    """Noise of one count."""
    return Noise(Family.LAPLACE, 1 / Fraction(epsilon))


def released(counts: IntArray, epsilon: str, deviation: int, runs: int, generator: np.random.Generator) -> FloatArray:
    """Lengths, means, squares and medians of groups, (time_steps, runs, 4)."""
    query = GroupedTimeStepQuery((Categories("state", ("a",)),), deviation=Fraction(deviation))
    plan = Pegasus().plan(query, PrivacyLoss.pure(epsilon), AddRemove(EACH_RECORD))
    distribution, shape = plan.distribution.require_type(GroupedCounts), (len(counts), runs)
    values = np.repeat(counts[:, None], runs, axis=1)
    common, own = (
        simulate_noise(noise, shape, generator).astype(np.int64)
        for noise in (distribution.threshold_noise, distribution.test_noise)
    )
    trees = build_fenwick_trees(np.zeros((runs, 1), np.int64), 1 << int(counts.max()).bit_length())
    joined = decide_groups(
        values, distribution.threshold + common, own, np.zeros((runs, STATE_COLUMNS), np.int64), trees
    )
    return OpenGroups(runs).add_values(values + simulate_noise(distribution.noise, shape, generator), joined)


def _backward(noisy: FloatArray, back: int) -> FloatArray:
    """Means over the last ``back + 1`` noisy counts."""
    sums = np.concatenate((np.zeros((1, noisy.shape[1])), np.cumsum(noisy, axis=0)))
    last = np.arange(1, len(noisy) + 1)
    first = np.maximum(last - back - 1, 0)
    means: FloatArray = (sums[last] - sums[first]) / (last - first)[:, None]
    return means
