"""U-statistics: the mean of a kernel over all pairs of records, from noisy counts of cells, with the error of noise
and that of cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import hypot, inf, isfinite, prod, sqrt
from statistics import NormalDist

import numpy as np

from ..arguments import InvalidArgument, require_probability
from ..arrays import FloatArray
from ..conversation import Evidence, PrivacyStatement
from ..data import Outside
from ..inference import basic_interval, choose_draws, end_level, numbered_generator, simulate_cell_noise
from ..inference.knowledge import KNOWN_AT, known_number
from ..laws.law import LEAST_PEOPLE, RandomisedAnswers
from ..summaries import Kernel, mean_over_pairs, project_to_simplex
from .histogram import Histogram
from .question import require_independent

LEAST = 1e-6
"""The least deviation by noise that is told from none, in units of what cells leave open."""
UNSEEN = 3.0
"""People of whom a sample may have had none: with chance ``exp(-3)``, 5%."""


@dataclass(frozen=True, eq=False)
class UStatistic:
    """A U-statistic, an average over pairs of people, with its interval and a bound on the error of rounding to cells.

    Attributes:
        value: The estimate. The bias from noise is subtracted, except from areas under ROC curves. NaN where it is not
            known: see `dpcurves.inference.knowledge`.
        resolution: A bound on how far the statistic of cells may be from that of the exact values.
        interval_function: A function that gives the ends of the interval for the statistic of the cells at a level; see
            `interval`.
        privacy: The privacy statement of the curve, or of the first of two.
        notes: The notes of the curves that it was computed from.
        least: The smallest value that the statistic can have.
        most: The largest value that the statistic can have.
        pairs: How many pairs answered, where pairs of people were drawn.
    """

    value: float
    resolution: float
    interval_function: Callable[[float, bool], tuple[float, float]]
    privacy: PrivacyStatement
    notes: tuple[str, ...] = ()
    least: float = -inf
    most: float = inf
    pairs: int | None = None

    def __post_init__(self) -> None:
        if isfinite(self.least) and isfinite(self.most):  # others have ends wherever they have a value
            known = known_number(self.value, self.interval(KNOWN_AT), self.least, self.most)
            object.__setattr__(self, "value", known)

    def interval(self, level: float, *, population: bool = False) -> tuple[float, float]:
        """An interval that contains the statistic of these records' exact values with probability about `level`.

        The noise of the release is simulated (a parametric bootstrap about what was read), and the interval is widened
        by `resolution`, so that it holds wherever values lie inside their cells. Where that is much, noise can miss it
        at one end alone, and each end holds with a chance between ``(1 + level) / 2`` and `level`: see
        `end_level`, for which `resolution`, half of what lies between both ends, stands for all of it.

        Values that were clamped count as the ends of the grid. With `population`, it is for the expected value of the
        statistic. Samples of this size are then simulated along with the noise, with `UNSEEN` more people, whom a
        sample may have missed, spread evenly over the grid. The wider end of the basic and the percentile interval is
        taken on each side, as a few people of great weight skew both.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        level = require_probability("level", level)
        low, high = self.interval_function(level, population)
        if self.resolution > 0:
            deviation = (high - low) / 2 / NormalDist().inv_cdf((1 + level) / 2)
            each = end_level(self.resolution / max(deviation, LEAST * self.resolution), level)
            low, high = self.interval_function(2 * each - 1, population)
        low, high = low - self.resolution, high + self.resolution
        return min(max(low, self.least), self.most), max(min(high, self.most), self.least)


def compute_basic_interval(
    estimate: float, deviations: FloatArray, level: float, population: bool
) -> tuple[float, float]:
    """The ends of the basic interval; for the population, also those of the percentile interval if they lie outside."""
    low, high = basic_interval(estimate, deviations, level)
    if not population:
        return low, high
    below, above = basic_interval(-estimate, deviations, level)
    return min(low, -above), max(high, -below)


MOST_DRAWS, VALUES = 1000, 2**22
PLACE = 8
"""Streams of simulation beside those of other statistics."""


@dataclass(frozen=True, eq=False)
class SimulatedCounts:
    """Counts of some cells.

    Attributes:
        counts: Without bias, of any shape.
        evidence: What they were read from, cell by cell.
        privacy: What stands on the curve.
        notes: What is remarked on it.
        row_axes: So many of the first axes are read as parts whose sums are kept: noise of the cells of an empty part does
            not look like records.
        stream: The first of two streams of simulation: several tables that are read together have their own.
        draws: How many are simulated; None: as many as fit in memory.
    """

    counts: FloatArray
    evidence: Evidence
    privacy: PrivacyStatement
    notes: tuple[str, ...]
    row_axes: int = field(default=0, kw_only=True)
    stream: int = field(default=PLACE, kw_only=True)
    draws: int | None = field(default=None, kw_only=True)

    @cached_property
    def likely_counts(self) -> FloatArray:
        """An estimate with no count below zero."""
        rows = self.counts.reshape(prod(self.counts.shape[: self.row_axes]), -1)
        sums = project_to_simplex(rows.sum(axis=1), max(float(self.counts.sum()), 1.0))
        found = [
            project_to_simplex(row, float(own)) if own > 0 else np.zeros(len(row))
            for row, own in zip(rows, sums, strict=True)
        ]
        return np.reshape(found, self.counts.shape)

    @cached_property
    def noise(self) -> FloatArray:
        """Simulated noise of the counts: (draws, ...)."""
        law, size = self.evidence.sums, self.counts.size
        draws = self.draws or max(400, min(MOST_DRAWS, choose_draws(size), VALUES // size))
        drawn = simulate_cell_noise(law, self.evidence.total, draws, numbered_generator(self.stream))
        return drawn.reshape(-1, *self.counts.shape)

    @cached_property
    def sampling_noise(self) -> FloatArray:
        """Simulated errors of sampling, of the shape of `noise`; see `UStatistic.interval`.

        Raises:
            ValueError: units have several records.
        """
        require_independent(self.privacy)
        seen = self.likely_counts.ravel() + UNSEEN / self.likely_counts.size
        people, shares = max(round(float(self.likely_counts.sum())), 1), seen / seen.sum()
        drawn = numbered_generator(self.stream + 1).multinomial(people, shares, size=len(self.noise))
        return np.asarray((drawn - people * shares).reshape(self.noise.shape))

    def simulate_counts(self, population: bool) -> FloatArray:
        """Likely counts with noise, and with that of sampling."""
        noisy = self.likely_counts + self.noise
        return np.asarray(noisy + self.sampling_noise if population else noisy)


def merge_outside_slots(counts: FloatArray, shape: tuple[int, ...], *, clamps: bool) -> FloatArray:
    """Return counts (..., *shape) of cells from those of slots: records outside in the end cells, or left out.

    >>> merge_outside_slots(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), (3,), clamps=True).tolist()
    [3.0, 3.0, 9.0]
    >>> merge_outside_slots(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), (3,), clamps=False).tolist()
    [2.0, 3.0, 4.0]
    """
    for back, cells in enumerate(reversed(shape), start=1):
        if counts.shape[-back] == cells:
            continue
        slots = np.moveaxis(counts, -back, -1)
        read = slots[..., 1:-1].copy()
        if clamps:
            read[..., 0] += slots[..., 0]
            read[..., -1] += slots[..., -1]
        counts = np.moveaxis(read, -1, -back)
    return counts


@dataclass(frozen=True, eq=False)
class MergedCellCounts:
    """Counts of cells, and their simulation, read from counts of slots.

    Attributes:
        slots: The counts as they were released, with those outside of the cells on their own.
        shape: Cells along each axis.
        clamps: Whether records outside are read in the end cells; else they are left out.
    """

    slots: SimulatedCounts
    shape: tuple[int, ...]
    clamps: bool

    @cached_property
    def counts(self) -> FloatArray:
        """Counts without bias."""
        return self._merge_slots(self.slots.counts)

    @cached_property
    def likely_counts(self) -> FloatArray:
        """An estimate with no count below zero."""
        return self._merge_slots(self.slots.likely_counts)

    @cached_property
    def sampling_noise(self) -> FloatArray:
        """Simulated errors of sampling. Raises `ValueError` if units have several records."""
        return self._merge_slots(self.slots.sampling_noise)

    @cached_property
    def noise(self) -> FloatArray:
        """Simulated noise of the counts."""
        return self._merge_slots(self.slots.noise)

    def simulate_counts(self, population: bool) -> FloatArray:
        """Likely counts with noise, and with that of sampling."""
        return self._merge_slots(self.slots.simulate_counts(population))

    def _merge_slots(self, counts: FloatArray) -> FloatArray:
        return merge_outside_slots(counts, self.shape, clamps=self.clamps)


ROUNDED = "values were rounded by chance to middles of cells: a cell also has some of what lies beside it"
"""The note of a histogram whose cells are taken for their middles."""
MOST_CELLS = 2**12
MOST_APART = 4.0
"""The least number of people with a value, in its standard deviations, from which on a mean is known."""


def estimate_pair_mean(curve: Histogram, kernel_on: Callable[[FloatArray], Kernel]) -> UStatistic:
    """The mean of a kernel over all pairs of people, from counts of cells.

    For people who trust nobody it is Algorithm 1 of Bell, Bellet, Gascon and Kulkarni (2019), with whichever randomiser
    the task has: the bilinear form of debiased reports without pairs of a report with itself, with the exact variance
    of their Lemma 1 at the shares that reports tell, or at likely ones, if it is larger there. Of others the noise of
    counts is simulated.

    Raises:
        ValueError: values outside of the grid were counted apart, or there are more than 4,096 cells.
    """
    if curve.grid.outside is Outside.APART:
        raise InvalidArgument("curve", "values outside were counted apart, and how far they lie is not known")
    if len(curve.count) > MOST_CELLS:
        raise InvalidArgument("curve", f"at most {MOST_CELLS} cells have a kernel, got {len(curve.count)}")
    values = curve.grid.values
    kernel, evidence = kernel_on(curve.x if values is None else np.stack([values, values], axis=1)), curve.evidence
    answered = evidence.sums.randomised_answers(evidence.values)
    return _estimate_from_counts(curve, kernel) if answered is None else _estimate_from_reports(curve, kernel, answered)


def _estimate_from_reports(curve: Histogram, kernel: Kernel, reports: RandomisedAnswers) -> UStatistic:
    value, likely = (
        reports.mean(kernel.mean),
        reports.likely(project_to_simplex(reports.counts, 1.0 * reports.people) / reports.people),
    )

    def compute_interval(level: float, population: bool) -> tuple[float, float]:
        require_independent(curve.privacy, population)
        quantile = NormalDist().inv_cdf((1 + level) / 2)
        if reports.present < MOST_APART * reports.deviation_of_missing:
            return -inf, inf
        # Estimated shares that are made likely have lost a part of a large cell, and others are too uneven by noise.
        off = max(each.deviation_of_mean(kernel.mean, population) for each in (reports, likely))
        if ROUNDED in curve.notes and not population:
            off = hypot(off, _bound_rounding_deviation(kernel.mean, likely.counts[:-1]))
        return value - quantile * off, value + quantile * off

    return _build_u_statistic(curve, kernel, likely.counts[:-1], value, compute_interval)


def _bound_rounding_deviation(kernel: FloatArray, counts: FloatArray) -> float:
    """At most the standard deviation of the mean over pairs by the coins that rounded values (Hoeffding 1948).

    A coin moves a value by one cell, and has a standard deviation of at most one half of what that does. (Values that
    are drawn with their coins are a sample of rounded ones: of the population the variance has them in it.)
    """
    people = max(float(counts.sum()), LEAST_PEOPLE)
    alone = float(np.abs(np.diff(kernel @ counts / people)).max(initial=0.0)) / 2
    both = float(np.abs(np.diff(np.diff(kernel, axis=0), axis=1)).max(initial=0.0)) / 4
    return sqrt(4 * alone**2 / people + 2 * both**2 / (people * (people - 1)))


def _estimate_from_counts(curve: Histogram, kernel: Kernel) -> UStatistic:
    counts = SimulatedCounts(curve.unbiased_counts, curve.evidence, curve.privacy, curve.notes)
    about, found = (float(mean_over_pairs(kernel, cells)) for cells in (counts.likely_counts, counts.counts))
    bias = float(mean_over_pairs(kernel, counts.simulate_counts(population=False)).mean()) - about

    def compute_interval(level: float, population: bool) -> tuple[float, float]:
        moved = mean_over_pairs(kernel, counts.simulate_counts(population)) - about
        if ROUNDED in curve.notes and not population:
            coins = _bound_rounding_deviation(kernel.mean, counts.likely_counts)
            moved += coins * numbered_generator(10).standard_normal(len(moved))
        return compute_basic_interval(found, moved, level, population)

    return _build_u_statistic(curve, kernel, counts.likely_counts, found - bias, compute_interval)


def _build_u_statistic(
    curve: Histogram,
    kernel: Kernel,
    likely: FloatArray,
    value: float,
    ends: Callable[[float, bool], tuple[float, float]],
) -> UStatistic:
    """With what cells leave open: the mean of the reach of the kernel, below the root of Delta (Remark 3)."""
    shares = likely / max(float(likely.sum()), 1.0)
    least, most = float(np.min(kernel.mean - kernel.max_deviation)), float(np.max(kernel.mean + kernel.max_deviation))
    open_ = float(shares @ kernel.max_deviation @ shares)
    return UStatistic(value, open_, ends, curve.privacy, curve.notes, least, most)
