"""Means over pairs of people, read from counts of cells: any kernel on cells that were counted or reported about."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot, inf, sqrt
from statistics import NormalDist

import numpy as np

from ..arguments import Refused
from ..arrays import FloatArray
from ..data import Outside
from ..postprocess.inference.reported_pairs import LEAST_PEOPLE, Reported
from ..postprocess.inference.simulation_seed import numbered_generator
from ..postprocess.shape.simplex import on_simplex
from ..postprocess.summaries.kernels import Kernel, quadratic
from .histogram import Histogram
from .pair_mean import UStatistic, ends_about
from .question import require_independent
from .simulated_counts import SimulatedCounts

ROUNDED = "values were rounded by chance to middles of cells: a cell also has some of what lies beside it"
"""What a histogram says of itself that is told the middles of its cells, and no values between its edges."""
MOST_CELLS = 2**12
MOST_APART = 4.0
"""Where the number of people who have a value is nearer to 0, in its standard deviations, no mean is known."""


def mean_of_cells(curve: Histogram, kernel_on: Callable[[FloatArray], Kernel]) -> UStatistic:
    """The mean of a kernel over all pairs of people, from counts of cells.

    For people who trust nobody it is Algorithm 1 of Bell, Bellet, Gascon and Kulkarni (2019), with whichever randomiser
    the task has: the bilinear form of debiased reports without pairs of a report with itself, with the exact variance
    of their Lemma 1 at the shares that reports tell, or at likely ones, if it is larger there. Of others the noise of
    counts is simulated.

    Raises:
        ValueError: values outside of the grid were counted apart, or there are more than 4,096 cells.
    """
    if curve.grid.outside is Outside.APART:
        raise Refused("curve", "values outside were counted apart, and how far they lie is not known")
    if len(curve.count) > MOST_CELLS:
        raise Refused("curve", f"at most {MOST_CELLS} cells have a kernel, got {len(curve.count)}")
    values = curve.grid.values
    kernel, evidence = kernel_on(curve.x if values is None else np.stack([values, values], axis=1)), curve.evidence
    answered = evidence.sums.answered(evidence.values)
    if answered is None:
        return _simulated(curve, kernel)
    return _reported(curve, kernel, Reported(answered.counts, round(answered.counts.sum()), *answered[1:]))


def _reported(curve: Histogram, kernel: Kernel, told: Reported) -> UStatistic:
    value, likely = told.mean(kernel.mean), told.likely(on_simplex(told.counts, 1.0 * told.people) / told.people)

    def ends(level: float, population: bool) -> tuple[float, float]:
        if population:
            require_independent(curve.privacy)
        quantile = NormalDist().inv_cdf((1 + level) / 2)
        if told.present < MOST_APART * told.deviation_of_missing:
            return -inf, inf
        # Estimated shares that are made likely have lost a part of a large cell, and others are too uneven by noise.
        off = max(each.deviation_of_mean(kernel.mean, population) for each in (told, likely))
        if ROUNDED in curve.notes and not population:
            off = hypot(off, _deviation_by_rounding(kernel.mean, likely.counts[:-1]))
        return value - quantile * off, value + quantile * off

    return _within(curve, kernel, likely.counts[:-1], value, ends)


def _deviation_by_rounding(kernel: FloatArray, counts: FloatArray) -> float:
    """At most the standard deviation of the mean over pairs by the coins that rounded values (Hoeffding 1948).

    A coin moves a value by one cell, and has a standard deviation of at most one half of what that does. (Values that
    are drawn with their coins are a sample of rounded ones: of the population the variance has them in it.)
    """
    people = max(float(counts.sum()), LEAST_PEOPLE)
    alone = float(np.abs(np.diff(kernel @ counts / people)).max(initial=0.0)) / 2
    both = float(np.abs(np.diff(np.diff(kernel, axis=0), axis=1)).max(initial=0.0)) / 4
    return sqrt(4 * alone**2 / people + 2 * both**2 / (people * (people - 1)))


def _simulated(curve: Histogram, kernel: Kernel) -> UStatistic:
    counts = SimulatedCounts(curve.unbiased, curve.evidence, curve.privacy, curve.notes)
    about, found = (float(quadratic(kernel, cells)) for cells in (counts.likely, counts.counts))
    bias = float(quadratic(kernel, counts.drawn(population=False)).mean()) - about

    def ends(level: float, population: bool) -> tuple[float, float]:
        moved = quadratic(kernel, counts.drawn(population)) - about
        if ROUNDED in curve.notes and not population:
            coins = _deviation_by_rounding(kernel.mean, counts.likely)
            moved += coins * numbered_generator(10).standard_normal(len(moved))
        return ends_about(found, moved, level, population)

    return _within(curve, kernel, counts.likely, found - bias, ends)


def _within(
    curve: Histogram,
    kernel: Kernel,
    likely: FloatArray,
    value: float,
    ends: Callable[[float, bool], tuple[float, float]],
) -> UStatistic:
    """With what cells leave open: the mean of the reach of the kernel, below the root of Delta (Remark 3)."""
    shares = likely / max(float(likely.sum()), 1.0)
    least, most = float(np.min(kernel.mean - kernel.reach)), float(np.max(kernel.mean + kernel.reach))
    open_ = float(shares @ kernel.reach @ shares)
    return UStatistic(value, open_, ends, curve.privacy, curve.notes, least, most)
