"""U-statistics: the mean of a kernel over all pairs of records, from noisy counts of cells.

Gini's mean difference, the variance and the area under the ROC curve are U-statistics. For a symmetric kernel g and n
records, with c_i the count of cell i and g_ij the kernel of two cells,

    U = 2 / (n * (n - 1)) * sum_(a < b) g(x_a, x_b)
      = (sum_ij c_i * c_j * g_ij - sum_i c_i * g_ii) / (n * (n - 1))      for values rounded to cells

- *Discretization*: g is replaced by its mean over each pair of cells. `UStatistic` also bounds how far rounding to
  cells may move U, if the range of g in each pair of cells is given.
- *Noise*: products of noisy counts are biased by the variances of the noise. The simulated bias is subtracted.
- *Intervals*: basic intervals from simulated noise and, for the population, sampling. In the local model they use the
  exact variance of Bell, Bellet, Gascon and Kulkarni (2019), Lemma 1.

Formal guarantees: each statistic is a function of released counts, so it costs no budget (post-processing).

References: Hoeffding 1948 (U-statistics); Bell, Bellet, Gascon and Kulkarni 2019, Algorithm 1; Davison and Hinkley
1997, section 5.2 (basic intervals).

>>> merge_outside_slots(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), (3,), clips=True)  # records outside join the end cells
array([3., 3., 9.])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import hypot, inf, isfinite, isnan, prod, sqrt
from statistics import NormalDist

import numpy as np

from ..arguments import InvalidArgument, check_common_arguments, require_probability
from ..arrays import FloatArray
from ..conversation import Evidence, PrivacyStatement
from ..data import Outside
from ..distributions.output_distribution import LEAST_PEOPLE, RandomisedAnswers
from ..inference import basic_interval, choose_draws, end_level, numbered_generator, simulate_cell_noise
from ..inference.known_numbers import KNOWN_LEVEL, known_number
from ..summaries import Kernel, mean_over_pairs, project_to_simplex
from .histogram import Histogram
from .question import require_independent


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer intervals of means over pairs for the population."""

    unseen_people: float = 3.0
    """People who are added to a sample before it is resampled, spread evenly over all cells: a kind of people of whom 3
    are expected is missing from a sample with probability exp(-3), 5 %."""
    moved_share: float = 0.1
    """Share of the error probability of an interval that is spent on the number of values that are not where their cell
    has them."""


TUNING = Tuning()
"""Numbers that make intervals of means over pairs wide enough for what a sample has not shown: see `Tuning`."""


@dataclass(frozen=True, eq=False)
class UStatistic:
    """A U-statistic, an average over pairs of people, with its interval and a bound on the error of rounding to cells.

    Attributes:
        value: The estimate. The bias from noise is subtracted, except from areas under ROC curves. NaN if it is
            unknown, that is if its interval contains all possible numbers.
        resolution: A bound on the difference between the statistic of values rounded to cells and of the exact values,
            in the unit of the statistic; 0 if each cell holds one value.
        interval_function: Function of the level and `population` that returns (lower, upper) for the statistic of
            values rounded to cells. `interval` widens this by the resolution.
        privacy: The privacy statement of the curve, or of the first of two.
        notes: The notes of the curves that it was computed from.
        minimum: The smallest possible value.
        maximum: The largest possible value.
        pairs: The number of pairs that answered, if pairs of people were sampled; None: all pairs are used.
        bound_moved: An upper bound of the distance, beyond `resolution`, that is due to a few values that are not where
            their cell has them, as a function of the probability of an error; None: all values are where their cells
            have them.
    """

    value: float
    resolution: float
    interval_function: Callable[[float, bool], tuple[float, float]]
    privacy: PrivacyStatement
    notes: tuple[str, ...] = ()
    minimum: float = -inf
    maximum: float = inf
    pairs: int | None = None
    bound_moved: Callable[[float], float] | None = None

    def __post_init__(self) -> None:
        # without finite limits, a statistic that has a value also has an interval
        if isfinite(self.minimum) and isfinite(self.maximum):
            value = known_number(self.value, self.interval(KNOWN_LEVEL), self.minimum, self.maximum)
            object.__setattr__(self, "value", value)

    @check_common_arguments
    def interval(self, level: float, *, population: bool = False) -> tuple[float, float]:
        """Return an interval that contains the statistic of these records' exact values with probability about `level`.

        The noise of the release is simulated (a parametric bootstrap around the estimate), and the interval is widened
        by `resolution`, so that it holds wherever values lie inside their cells. If the resolution is large, noise can
        miss the value at one end only, so the probability with which each end must hold lies between ``(1 + level) /
        2`` and `level`; it is chosen by `resolution`, a lower bound of half the distance between both ends. If values
        seem to be edges of cells, `Tuning.moved_share` of the error probability is spent on the number of the others,
        and the interval is widened by the distance that they can make.

        Clipped values count as the ends of the grid. With `population`, the interval is for the expected value of the
        statistic. Samples of this size are then simulated along with the noise, with `Tuning.unseen_people` more people
        that a sample may have missed, spread evenly over the grid. On each side the wider end of the basic and the
        percentile interval is used, because a few people of large weight skew both.

        Args:
            level: Probability that the interval contains the value, between 0 and 1.
            population: Whether it is for the population, not for these records.

        Returns:
            Lower and upper end.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        level = require_probability("level", level)
        resolution = self.resolution
        if self.bound_moved is not None:
            moved_error = TUNING.moved_share * (1 - level)
            resolution += self.bound_moved(moved_error)
            level += moved_error
        low, high = self.interval_function(level, population)
        if resolution > 0:
            deviation = (high - low) / 2 / NormalDist().inv_cdf((1 + level) / 2)
            # noise below a millionth of the discretization error is negligible
            end_probability = end_level(resolution / max(deviation, 1e-6 * resolution), level)
            low, high = self.interval_function(2 * end_probability - 1, population)
        low = low - resolution
        high = high + resolution
        span = self.maximum - self.minimum
        if not (low <= self.maximum + span and high >= self.minimum - span):  # noise alone: no statistic lies there
            return self.minimum, self.maximum
        low = min(max(low, self.minimum), self.maximum)
        high = max(min(high, self.maximum), self.minimum)
        return (low, high) if low < high or not isnan(self.value) else (self.minimum, self.maximum)


def compute_basic_interval(
    estimate: float, deviations: FloatArray, level: float, population: bool
) -> tuple[float, float]:
    """Return the bootstrap interval (lower, upper) of a number from simulated errors of its estimate.

    For these records it is the basic interval: quantiles of the errors are subtracted from the estimate. For the
    population it is extended to contain the percentile interval, which adds quantiles of the errors, because a few
    people of large weight skew both.

    Args:
        estimate: The point estimate.
        deviations: Simulated errors of the estimate, (draws,), in its unit.
        level: Confidence level, between 0 and 1.
        population: True if the number is one of the population, False if it is one of these records.
    """
    low, high = basic_interval(estimate, deviations, level)
    if not population:
        return low, high
    below, above = basic_interval(-estimate, deviations, level)
    return min(low, -above), max(high, -below)


@dataclass(frozen=True, eq=False)
class SimulatedCounts:
    """Counts of some cells, with simulated noise and sampling errors.

    Attributes:
        counts: Unbiased counts, of any shape.
        evidence: The release of the counts, cell by cell.
        privacy: The privacy statement of the curve.
        notes: The notes of the curve.
        row_axes: The number of first axes that index rows whose sums are kept: noise in the cells of an empty row must
            not look like records.
        stream: The first of two random streams: tables that are used together have different streams.
        draws: The number of draws; None: as many as fit in memory.
    """

    counts: FloatArray
    evidence: Evidence
    privacy: PrivacyStatement
    notes: tuple[str, ...]
    row_axes: int = field(default=0, kw_only=True)
    stream: int = field(default=8, kw_only=True)  # the first of two random streams; other statistics use other indices
    draws: int | None = field(default=None, kw_only=True)

    @cached_property
    def likely_counts(self) -> FloatArray:
        """Non-negative counts near the unbiased ones, of their shape and with about their sum, as a model of the
        records for simulation."""
        rows = self.counts.reshape(prod(self.counts.shape[: self.row_axes]), -1)
        sums = project_to_simplex(rows.sum(axis=1), max(float(self.counts.sum()), 1.0))
        likely_rows = [
            project_to_simplex(row, float(row_sum)) if row_sum > 0 else np.zeros(len(row))
            for row, row_sum in zip(rows, sums, strict=True)
        ]
        return np.reshape(likely_rows, self.counts.shape)

    @cached_property
    def noise(self) -> FloatArray:
        """Simulated noise of the counts, (draws, ...), from a fixed public seed."""
        distribution = self.evidence.sums
        size = self.counts.size
        # from 400 to 1,000 draws; 2**22 simulated values of all draws together take 32 MB
        draws = self.draws or max(400, min(1000, choose_draws(size), 2**22 // size))
        noise = simulate_cell_noise(distribution, self.evidence.total, draws, numbered_generator(self.stream))
        return noise.reshape(-1, *self.counts.shape)

    @cached_property
    def sampling_noise(self) -> FloatArray:
        """Simulated sampling errors of the counts, of the shape of `noise`, from a fixed public seed.

        Samples of as many people as were counted are drawn from the likely counts, to which `Tuning.unseen_people`
        are added evenly, because a sample may have missed people in cells that seem empty.

        Raises:
            ValueError: a unit may have several records.
        """
        require_independent(self.privacy)
        expected = self.likely_counts.ravel() + TUNING.unseen_people / self.likely_counts.size
        people = max(round(float(self.likely_counts.sum())), 1)
        shares = expected / expected.sum()
        samples = numbered_generator(self.stream + 1).multinomial(people, shares, size=len(self.noise))
        return np.asarray((samples - people * shares).reshape(self.noise.shape))

    def simulate_counts(self, population: bool) -> FloatArray:
        """Return draws of released counts, (draws, ...): `likely_counts` with noise, and with sampling errors for
        the population.

        Args:
            population: Whether sampling errors are added.
        """
        noisy = self.likely_counts + self.noise
        return np.asarray(noisy + self.sampling_noise if population else noisy)


def merge_outside_slots(counts: FloatArray, shape: tuple[int, ...], *, clips: bool) -> FloatArray:
    """Return counts of the cells inside a grid, (..., *shape), from counts with additional slots for outside records.

    Args:
        counts: Counts of slots. An axis may have two more slots than cells, the first below and the last above the
            grid; other axes are unchanged.
        shape: Numbers of cells along the last axes.
        clips: If True, records outside are added to the first and the last cell; else they are left out.

    >>> merge_outside_slots(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), (3,), clips=True).tolist()
    [3.0, 3.0, 9.0]
    >>> merge_outside_slots(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), (3,), clips=False).tolist()
    [2.0, 3.0, 4.0]
    """
    for axis, cells in enumerate(reversed(shape), start=1):
        if counts.shape[-axis] == cells:
            continue
        slots = np.moveaxis(counts, -axis, -1)
        cell_counts = slots[..., 1:-1].copy()
        if clips:
            cell_counts[..., 0] += slots[..., 0]
            cell_counts[..., -1] += slots[..., -1]
        counts = np.moveaxis(cell_counts, -1, -axis)
    return counts


@dataclass(frozen=True, eq=False)
class MergedCellCounts:
    """Counts of cells, and their simulation, computed from counts of slots.

    Attributes:
        slots: The counts as released, with slots for outside records.
        shape: Cells along each axis.
        clips: Whether outside records count in the end cells; else they are left out.
    """

    slots: SimulatedCounts
    shape: tuple[int, ...]
    clips: bool

    @cached_property
    def counts(self) -> FloatArray:
        """Unbiased released counts of the cells, of shape `shape`."""
        return self._merge_slots(self.slots.counts)

    @cached_property
    def likely_counts(self) -> FloatArray:
        """Non-negative estimates of the merged counts, close to the unbiased ones, of shape `shape`."""
        return self._merge_slots(self.slots.likely_counts)

    @cached_property
    def sampling_noise(self) -> FloatArray:
        """Simulated sampling errors of the counts, (draws, *shape).

        Raises:
            ValueError: a unit may have several records.
        """
        return self._merge_slots(self.slots.sampling_noise)

    @cached_property
    def noise(self) -> FloatArray:
        """Simulated noise of the merged counts, ``(draws, *shape)``, in records."""
        return self._merge_slots(self.slots.noise)

    def simulate_counts(self, population: bool) -> FloatArray:
        """Return draws of released counts, (draws, *shape): `likely_counts` with noise, and with sampling errors for
        the population.

        Args:
            population: Whether sampling errors are added.
        """
        return self._merge_slots(self.slots.simulate_counts(population))

    def _merge_slots(self, counts: FloatArray) -> FloatArray:
        """Return counts of the cells of the grid, (..., *shape), from counts that include records outside the grid.

        Records outside are added to the end cells if `clips`, else dropped. Leading axes of `counts`, such as draws,
        are kept.
        """
        return merge_outside_slots(counts, self.shape, clips=self.clips)


ROUNDED_VALUES_NOTE = "values were rounded by chance to middles of cells: a cell also has some of what lies beside it"
"""Note on a histogram whose values were rounded at random to middles of cells before they were counted. With this note
intervals for these records also allow for the rounding."""


def estimate_pair_mean(curve: Histogram, kernel_on: Callable[[FloatArray], Kernel]) -> UStatistic:
    """Return the mean of a kernel over all pairs of people, from released counts of cells.

    In the local model it is Algorithm 1 of Bell, Bellet, Gascon and Kulkarni (2019), with the task's randomiser: the
    bilinear form of debiased reports without pairs of a report with itself, with the exact variance of their Lemma 1 at
    the estimated shares, or at likely shares if it is larger there. In other models the noise of counts is simulated.

    Args:
        curve: Released counts.
        kernel_on: Function from edges, or from ranges of values of shape (cells, 2), to the kernel on cells.

    Raises:
        ValueError: values outside the grid were counted apart, or there are more than 4,096 cells.
    """
    if curve.grid.outside is Outside.APART:
        raise InvalidArgument(
            "curve",
            "values outside the grid were counted apart, so their distance is unknown; ask on a grid with "
            "outside='clipped'",
        )
    most_cells = 2**12  # a matrix of 128 MB
    if len(curve.count) > most_cells:
        raise InvalidArgument(
            "curve", f"a kernel reads at most {most_cells} cells, got {len(curve.count)}: ask on a coarser grid"
        )
    values = curve.grid.values
    kernel = kernel_on(curve.x if values is None else np.stack([values, values], axis=1))
    evidence = curve.evidence
    answered = evidence.sums.randomised_answers(evidence.values)
    return _estimate_from_counts(curve, kernel) if answered is None else _estimate_from_reports(curve, kernel, answered)


def _estimate_from_reports(curve: Histogram, kernel: Kernel, reports: RandomisedAnswers) -> UStatistic:
    """Return the mean over pairs from randomised reports of the local model, with its exact variance.

    Args:
        curve: Histogram of the reports.
        kernel: Function of two values.
        reports: Tallies of the reports with their randomisation.
    """
    value = reports.mean(kernel.mean)
    likely_reports = reports.with_expected_counts(
        project_to_simplex(reports.counts, 1.0 * reports.people) / reports.people
    )

    def compute_interval(level: float, population: bool) -> tuple[float, float]:
        """Return the normal interval at `level`; the whole line if noise hides whether there are any reports.

        Args:
            level: Confidence level, between 0 and 1.
            population: If True, the interval is for the population.
        """
        require_independent(curve.privacy, population)
        quantile = NormalDist().inv_cdf((1 + level) / 2)
        # standard deviations from which a mean is known
        if reports.present < 4.0 * reports.deviation_of_missing:
            return -inf, inf
        # Projected shares lose a part of a large cell, unprojected shares are too uneven because of noise.
        deviation = max(answers.deviation_of_mean(kernel.mean, population) for answers in (reports, likely_reports))
        if ROUNDED_VALUES_NOTE in curve.notes and not population:
            deviation = hypot(deviation, _bound_rounding_deviation(kernel.mean, likely_reports.counts[:-1]))
        return value - quantile * deviation, value + quantile * deviation

    return _build_u_statistic(curve, kernel, likely_reports.counts[:-1], value, compute_interval)


def _bound_rounding_deviation(kernel: FloatArray, counts: FloatArray) -> float:
    """Return an upper bound of the standard deviation of the mean over pairs due to random rounding (Hoeffding 1948).

    Values were rounded to cells at random. This moves a value by at most one cell, with a standard deviation of at most
    half of the resulting change. For the population, the sampling variance includes it, because rounded values are a
    sample as well.

    Args:
        kernel: Mean of the kernel on pairs of cells, shape (cells, cells).
        counts: Counts of people, shape (cells,).
    """
    people = max(float(counts.sum()), LEAST_PEOPLE)
    first_order = float(np.abs(np.diff(kernel @ counts / people)).max(initial=0.0)) / 2
    second_order = float(np.abs(np.diff(np.diff(kernel, axis=0), axis=1)).max(initial=0.0)) / 4
    return sqrt(4 * first_order**2 / people + 2 * second_order**2 / (people * (people - 1)))


def _estimate_from_counts(curve: Histogram, kernel: Kernel) -> UStatistic:
    """Return the mean over pairs from noisy counts, with the simulated bias by noise subtracted.

    Args:
        curve: Histogram whose cells are the values.
        kernel: Function of two values.
    """
    counts = SimulatedCounts(curve.unbiased_counts, curve.evidence, curve.privacy, curve.notes)
    likely_value, unbiased_value = (
        float(mean_over_pairs(kernel, cells)) for cells in (counts.likely_counts, counts.counts)
    )
    bias = float(mean_over_pairs(kernel, counts.simulate_counts(population=False)).mean()) - likely_value

    def compute_interval(level: float, population: bool) -> tuple[float, float]:
        """Return the interval at `level` from simulated errors.

        Args:
            level: Confidence level, between 0 and 1.
            population: If True, the interval is for the population.
        """
        deviations = mean_over_pairs(kernel, counts.simulate_counts(population)) - likely_value
        if ROUNDED_VALUES_NOTE in curve.notes and not population:
            rounding_deviation = _bound_rounding_deviation(kernel.mean, counts.likely_counts)
            deviations += rounding_deviation * numbered_generator(10).standard_normal(len(deviations))
        return compute_basic_interval(unbiased_value, deviations, level, population)

    return _build_u_statistic(curve, kernel, counts.likely_counts, unbiased_value - bias, compute_interval)


def _build_u_statistic(
    curve: Histogram,
    kernel: Kernel,
    likely_counts: FloatArray,
    value: float,
    compute_interval: Callable[[float, bool], tuple[float, float]],
) -> UStatistic:
    """Return the statistic with a bound on its rounding error: the mean deviation of the kernel inside cells.

    The bound is Remark 3 of Bell, Bellet, Gascon and Kulkarni (2019).

    Args:
        curve: Released counts.
        kernel: Kernel on pairs of cells.
        likely_counts: Nonnegative counts near the released ones, shape (cells,).
        value: The estimate.
        compute_interval: Function from a level, and from whether the interval is for the population, to its endpoints.
    """
    shares = likely_counts / max(float(likely_counts.sum()), 1.0)
    lowest = float(np.min(kernel.mean - kernel.max_deviation))
    highest = float(np.max(kernel.mean + kernel.max_deviation))
    resolution = float(shares @ kernel.max_deviation @ shares)
    return UStatistic(
        value=value,
        resolution=resolution,
        interval_function=compute_interval,
        privacy=curve.privacy,
        notes=curve.notes,
        minimum=lowest,
        maximum=highest,
    )
