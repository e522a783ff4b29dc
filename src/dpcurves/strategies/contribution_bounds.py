"""Contribution bounding: choose privately how many records per unit are used, if the analyst states no bound.

A *unit* is what is protected with all its records, such as a person. With a bound b, at most b records of each unit are
used (a sample of those of larger units), and noise is calibrated for b records. A larger bound b excludes fewer records
but needs more noise. So the error of a count has two parts:

    error(b) = E |excluded records(b) - noise|      standard deviation of the noise = b * (that under a bound of 1)

The bound is chosen in three steps.

1. *Pilot query*, with `PILOT_FRACTION` of the loss: noisy numbers of units with 1, 2, 3 to 4, 5 to 8, ... records.
2. *Posterior* (`sample_unit_sizes`): histograms of unit sizes that fit the noisy numbers. They are sampled by forward
  filtering and backward sampling of a hidden Markov model, in which the logarithm of the number of units continues with
  a slope that changes little.
3. *Choice* (`choose_bound`): among powers of two, the bound with the least mean of ``log(error(b) / least error)`` over
  these histograms. For shares and distribution functions the error is that of a ratio, in several models of how values
  depend on a unit's size.

Formal guarantees: a unit lies in one cell of the pilot query, so the pilot query loses its fraction for any number of
records per unit. The bound is a function of its noisy numbers and of public facts. For any bound, the question loses
the rest, so both add up to the granted loss (adaptive composition); the comment below the imports has the proof.

References: Amin, Kulesza, Munoz Medina and Vassilvitskii 2019, *Bounding user contributions*; Wilson, Zhang, Lam,
Desfontaines, Simmons-Marengo and Gipson 2020; Rabiner 1989 (hidden Markov models).

>>> candidate_bounds()[:6]
[1, 2, 4, 8, 16, 32]
>>> expected_error(np.array([0.0, 100.0]), np.array([2.0, 2.0]), Family.LAPLACE).round(2)  # records excluded, noise
array([  1.41, 100.  ])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, inf, isfinite, log, log2, pi, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..conversation import Plan, Release
from ..data import Axis, Grid
from ..distributions import Family, IntervalSums, Noise
from ..privacy import AdjacencyWithoutBound
from ..privacy.adjacency import format_record_count
from ..queries import CountQuery, CountUse, PartitionQuery, SizedUnitsQuery, SumQuery, UnitSizesQuery
from ..queries.query import MOST_DOUBLINGS

# A small bound discards records; a large one needs more noise. The pilot query counts units by their number of records,
# in cells that end at powers of two. Each unit counts once, for any number of its records. If the question asks for
# shares along a grid, a unit also falls into one of four cells of values, by one of its records, so that the noisy
# counts show whether units with many records have other values. The noisy counts give the expected number of records
# that each power of two discards and the expected bias of shares; the question's own plan gives the growth of its
# noise. The bound with the least expected error is chosen, and the question is asked with the remaining loss.
#
# Formal guarantees. Let two tables differ in one unit with all its records, however many. The histogram of unit sizes
# differs by one in one cell if the unit was added or removed, and in two cells if it was replaced. Its noise is
# calibrated for one record per unit, so the pilot query loses its fraction of the budget. (The record by which a unit
# is counted depends on the unit's own rows and a secret key, so the unit lies in one cell of values, too.) The bound is
# a function of the noisy counts and of public facts. Given the bound, the used records differ in at most that many
# removed and that many added records (the records of a unit are sampled by its own rows and a secret key), so the
# question loses its fraction. Both add up to the granted loss for every outcome of the pilot query (basic composition;
# in rho as in epsilon). A released bound is public: later questions may use it, or another bound, at their own price.


PILOT_FRACTION = Fraction(1, 6)
"""Ratio. Fraction of the loss that the pilot query spends.

The best bound of a histogram discards few units. One more record per unit is worth its noise while, of r cells, more
than r times the noise of a cell have that many records. For 8 cells and a fraction s of the loss these are 8 (1 /
epsilon) / (1 - s) units; a noisy count of units has standard deviation 1.4 (1 / epsilon) / s. Both are equal at s =
1/8. The pilot query increases the error of the answer by the factor 1 / (1 - s).
"""
PRIMES = tuple(number for number in range(2, 80) if all(number % divisor for divisor in range(2, number)))
"""Prime numbers below 80. Multiples of the square roots of primes fill the unit cube evenly: quasi-random draws, equal
on all machines, so that a choice can be repeated."""


def candidate_bounds() -> list[int]:
    """Return the contribution bounds to choose from, in records per unit: powers of two.

    They are the upper bounds of the pilot query's cells of unit sizes, without the last cell.
    """
    return [2**power for power in range(MOST_DOUBLINGS + 1)]


def _unit_count_levels(levels: int) -> FloatArray:
    """Return the positive numbers of units that the hidden Markov model can take as states, increasing, equally spaced
    on a log2 scale.

    Args:
        levels: Number of values.

    Returns:
        Array of shape ``(levels,)``. The smallest is ``2**Tuning.lowest_level``, the step ``Tuning.level_step``.
    """
    return np.asarray(2.0 ** (TUNING.lowest_level + TUNING.level_step * np.arange(levels)))


class UnitSizes(NamedTuple):
    """Simulated histograms of unit sizes, one per row, given the noisy counts.

    Attributes:
        units: Number of units in each cell of sizes, of shape ``(paths, cells)``.
        records: Mean number of records per unit in each cell, of shape ``(paths, cells)``.
    """

    units: FloatArray
    records: FloatArray

    @classmethod
    def from_slopes(cls, units: FloatArray, slopes: FloatArray) -> UnitSizes:
        """Return simulated histograms of unit sizes, with the mean size in each cell computed from a log-linear density
        inside the cell.

        Args:
            units: Number of units in each cell of each simulated histogram, (paths, cells).
            slopes: Slope of the density inside each cell, in log2 units per cell, of the same shape.

        >>> UnitSizes.from_slopes(np.ones((1, 4)), np.array([[0.0, 0.0, 0.0, -2.0]])).records.round(2).tolist()
        [[1.0, 2.0, 2.89, 5.33]]
        """
        lowest = np.append([1.0, 2.0], 2.0 ** np.arange(1, units.shape[1] - 1))
        is_singular = np.minimum(np.abs(slopes), np.abs(slopes + 1)) < 1e-6  # where the closed form divides by 0
        slopes = np.where(is_singular, slopes + 1e-6, slopes)
        integrals = [(2.0**exponent - 1) / exponent for exponent in (slopes + 1, slopes)]
        records = lowest * integrals[0] / integrals[1]
        records[:, :2] = lowest[:2]
        return cls(units, records)

    @property
    def total_records(self) -> FloatArray:
        """Number of all records in each simulated histogram, without a bound, at least 1, (paths, 1)."""
        return np.asarray(np.maximum((self.units * self.records).sum(axis=1, keepdims=True), 1))

    @property
    def kept_records_per_unit(self) -> FloatArray:
        """Mean number of records per unit that each candidate bound keeps, by cell of the histogram, (paths, cells,
        bounds).
        """
        return np.minimum(self.records[:, :, None], np.array(candidate_bounds(), dtype=np.float64))

    @property
    def used_records(self) -> FloatArray:
        """Number of records that each candidate bound keeps in each simulated histogram, at least 1, (paths,
        bounds).
        """
        return np.asarray(np.maximum((self.units[:, :, None] * self.kept_records_per_unit).sum(axis=1), 1))


def build_unit_size_query(column: str, question: object, growth: NoiseGrowth) -> CountQuery:
    """Return the pilot query: the count of units by their number of records.

    If the question reads shares along a grid, units are also counted by the value of one of their records, in
    `Tuning.value_cells` cells.

    Args:
        column: Column of unit identifiers.
        question: The question that the bound is for.
        growth: How the noise of that question grows with the bound.
    """
    values = getattr(question, "column", None)
    grid = getattr(question, "grid", None)
    value_cells = TUNING.value_cells
    if growth.readings or not isinstance(values, str) or not isinstance(grid, Grid) or grid.cells < value_cells:
        return UnitSizesQuery.from_column(column)
    cuts = [round(grid.cells * cell / value_cells) for cell in range(1, value_cells)]
    return SizedUnitsQuery.from_column(column, Axis(values, grid.merge_cells(cuts)))


class NoiseGrowth(NamedTuple):
    """How a question's noise grows with the contribution bound.

    Attributes:
        error: Standard deviation of one number that the question reads, in records, under a bound of 1.
        readings: Number of counts that share the excluded records; 0 if shares of all records are read.
    """

    error: float
    readings: int


def estimate_noise_growth(plans: Sequence[Plan], noise: float) -> NoiseGrowth:
    """Estimate how the noise of a question grows with the contribution bound, from its plans under a bound of 2.

    Args:
        plans: Plans of the question under a bound of 2.
        noise: Standard deviation of one count, for plans that state no error.
    """
    sensitivities = [plan.query.per_record_sensitivity if isinstance(plan.query, SumQuery) else 1 for plan in plans]
    errors = [plan.error / step for plan, step in zip(plans, sensitivities, strict=True)]
    finite_errors = [error for error in errors if isfinite(error) and error > 0] or [noise]
    queries = [plan.query for plan in plans]
    if all(type(query) is CountQuery and query.use is CountUse.CELLS for query in queries):
        return NoiseGrowth(min(finite_errors) / 2, max(query.rows * query.cells for query in queries))
    smoothed = any(isinstance(query, PartitionQuery) or query.uses_prefixes for query in queries)
    return NoiseGrowth(min(finite_errors) / 2 * (TUNING.smoothing_gain if smoothed else 1.0), 0)


@dataclass(frozen=True, slots=True)
class ChosenContributionBound:
    """A contribution bound that was chosen from noisy counts, with what it excludes.

    Attributes:
        rows: The largest number of records used per unit.
        budget_fraction: Fraction of the loss that the pilot query spent.
        excluded_share: Estimated share of all records that the bound excludes.
        excluded_interval: Interval of that share at 0.95. The lower end holds in any case; the upper end holds if no
            unit has more than `largest_size` records, which noisy counts cannot show.
        largest_size: Upper end of the last cell that appears occupied, in records per unit.
    """

    rows: int
    budget_fraction: Fraction
    excluded_share: float
    excluded_interval: tuple[float, float]
    largest_size: int

    def describe(self, column: str) -> str:
        """Return one line of text for the result: the contribution bound, and the share of records beyond it.

        Args:
            column: Column that identifies a unit.
        """
        lower, upper = self.excluded_interval
        used = f"{format_record_count(self.rows)} of each {column} {'is' if self.rows == 1 else 'are'} used"
        return (
            f"at most {used}; the bound was chosen from noisy counts of {column} by their number of records, "
            f"for {self.budget_fraction} of the loss; about {self.excluded_share:.1%} of the records are left out "
            f"(95% interval {lower:.1%} to {upper:.1%}; its upper end assumes that no {column} has more than "
            f"{self.largest_size:,} of them)"
        )


def choose_bound(release: Release, growth: NoiseGrowth) -> int:
    """Choose the contribution bound (records per unit) that minimises the expected error, from the pilot query's noisy
    counts.

    Args:
        release: Noisy counts of units by their number of records.
        growth: How the noise of the question grows with the bound.
    """
    counts = _collect_counts(release)
    sizes = sample_unit_sizes(counts.sums, counts.noise, counts.cells)
    if growth.readings:
        return minimise_expected_error([(1.0, count_errors(sizes, growth, counts.noise.family))])
    if counts.cells > 1:
        return minimise_expected_error(_share_errors_by_value(sizes, growth, counts))
    return minimise_expected_error([(1.0, squared_error) for squared_error in _share_errors(sizes, growth)])


def minimise_expected_error(errors: Sequence[tuple[float, FloatArray]]) -> int:
    """Return the contribution bound with the smallest expected error, averaged over simulated histograms on the log
    scale.

    Errors are compared with the smallest error of the same histogram: the mean of ``log(error / smallest error)`` is
    minimal.

    Args:
        errors: For each model of the data its weight, and the error of each simulated histogram under each candidate
            bound, (paths, bounds).
    """
    total = sum(
        probability * np.log(error / error.min(axis=1, keepdims=True)).mean(axis=0) for probability, error in errors
    )
    return candidate_bounds()[int(np.argmin(total))]


def describe_bound(release: Release, rows: int) -> ChosenContributionBound:
    """Return the chosen contribution bound with an estimate and a 0.95 interval of the share of records beyond it, for
    the result.

    Args:
        release: Noisy counts of units by their number of records.
        rows: The bound, in records per unit.
    """
    counts = _collect_counts(release)
    sizes = sample_unit_sizes(counts.sums, counts.noise, counts.cells)
    occupied = np.flatnonzero((sizes.units > 0).mean(axis=0) > 1 / 2)
    largest_size = candidate_bounds()[min(int(occupied[-1]), MOST_DOUBLINGS)] if len(occupied) else 1
    lower, upper = _excluded_interval(counts, rows, largest_size)
    used_records = (sizes.units * np.minimum(sizes.records, rows)).sum(axis=1, keepdims=True)
    excluded_share = 1 - float(np.median(used_records / sizes.total_records))
    return ChosenContributionBound(
        rows, PILOT_FRACTION, min(max(excluded_share, lower), upper), (lower, upper), largest_size
    )


class _UnitCounts(NamedTuple):
    """Noisy counts of units, of shape (sizes, cells of values), and the noise of each count."""

    table: FloatArray
    noise: Noise

    @property
    def sums(self) -> FloatArray:
        """Noisy number of units of each size, (sizes,): the sum over all cells of values."""
        return np.asarray(self.table.sum(axis=1))

    @property
    def cells(self) -> int:
        """Number of cells of values that units are counted in; 1 if they are counted by size alone."""
        return int(self.table.shape[1])


def _collect_counts(release: Release) -> _UnitCounts:
    """Arrange the noisy counts of a pilot query as a table by number of records and value, with the noise of each
    count.

    Args:
        release: Release of a pilot query of units by size, and perhaps by the value of one record.
    """
    distribution = release.plan.distribution.require_type(IntervalSums)
    query = release.plan.query
    sizes = MOST_DOUBLINGS + 2
    table = np.asarray(release.values[: query.cells * query.rows], dtype=np.float64).reshape(sizes, -1)
    return _UnitCounts(table, distribution.levels[0].noise)


def sample_unit_sizes(noisy: FloatArray, noise: Noise, summed: int = 1) -> UnitSizes:
    """Sample histograms of unit sizes from their posterior, given noisy counts.

    The method is forward filtering and backward sampling of the hidden Markov model of `Tuning`. Quasi-random numbers
    replace random ones, so equal noisy counts give equal samples. An isolated count far behind the others is usually
    noise.

    Args:
        noisy: Noisy number of units of each size, of shape ``(sizes,)``.
        noise: Noise of one count.
        summed: Number of counts, each with this noise, that each entry of `noisy` is the sum of.
    """
    return _sample_unit_sizes(tuple(noisy.tolist()), noise, summed)


@lru_cache(4)
def _sample_unit_sizes(noisy_counts: tuple[float, ...], noise: Noise, summed: int) -> UnitSizes:
    """Sample plausible numbers of units by size from noisy counts, by a hidden Markov model over sizes. Results are
    cached, because one release serves to choose a bound and to describe it.

    Args:
        noisy_counts: Noisy number of units with 1, 2, 3 to 4, 5 to 8, ... records.
        noise: Noise of each.
        summed: How many noisy counts each number is a sum of.
    """
    noisy = np.array(noisy_counts)
    deviation = max(sqrt(summed * noise.variance), 1e-3)  # records; positive, because likelihoods divide by it
    upper_limit = max(float(noisy.max()) + 3 * deviation, 2.0)
    levels = _unit_count_levels(ceil((log2(upper_limit) - TUNING.lowest_level) / TUNING.level_step) + 1)

    # A hidden Markov model: the number of units of a size, and the slope that led to it.
    slopes = _candidate_slopes()
    counts = np.append(0.0, levels)
    transitions = _transition_matrix(len(levels))
    scale = np.sqrt(deviation**2 + (TUNING.level_error * counts) ** 2 + counts)
    states = len(transitions) - 1
    empty = TUNING.empty_probability
    state = np.append(empty, np.full(states, (1 - empty) / states))

    # Forward filtering: the probability of each state, given the counts up to its cell.
    forward = np.zeros((len(noisy), len(transitions)))
    for cell, noisy_count in enumerate(noisy):
        z = np.abs(noisy_count - counts) / scale
        is_laplace = noise.family is Family.LAPLACE and summed == 1
        log_likelihood = -np.log(scale) - (sqrt(2) * z if is_laplace else z**2 / 2)
        predicted = state if cell == 0 else state @ transitions
        state = predicted * _repeat_for_states(np.exp(log_likelihood - log_likelihood.max())) + 1e-300
        state /= state.sum()
        forward[cell] = state

    # Backward sampling, from evenly spread public numbers, so that equal counts give equal paths.
    draws = np.outer(np.sqrt(PRIMES[: len(noisy)]), np.arange(TUNING.paths) + 0.5) % 1
    paths = np.zeros((TUNING.paths, len(noisy)), dtype=np.int64)
    for cell in reversed(range(len(noisy))):
        is_last = cell == len(noisy) - 1
        following = np.zeros(TUNING.paths, dtype=np.int64) if is_last else paths[:, cell + 1]
        for next_state in np.unique(following):
            on_path = following == next_state
            cumulative = np.cumsum(forward[cell] if is_last else forward[cell] * transitions[:, next_state])
            states_drawn = np.searchsorted(cumulative, draws[cell][on_path] * cumulative[-1])
            paths[on_path, cell] = np.minimum(states_drawn, len(transitions) - 1)

    # A significant noisy count is nearer to the truth than the levels of the model.
    units = _repeat_for_states(counts)[paths]
    slope = np.append(TUNING.final_slope, np.tile(slopes, len(levels)))[paths]
    next_slope = np.append(slope[:, 1:], np.full((TUNING.paths, 1), TUNING.final_slope), axis=1)
    is_significant = (noisy > TUNING.significance_z * deviation) & (units > 0)
    return UnitSizes.from_slopes(np.where(is_significant, noisy, units), (slope + next_slope) / 2)


def _candidate_slopes() -> FloatArray:
    """Return the slopes of the log number of units along sizes that the hidden Markov model can take, increasing, in
    log2 units per cell, (slopes,).
    """
    return np.arange(-TUNING.largest_slope, TUNING.largest_slope + TUNING.level_step / 2, TUNING.level_step)


def _repeat_for_states(counts: FloatArray) -> FloatArray:
    """Expand values by number of units to all states of the hidden Markov model: the empty state, then each positive
    number with each slope.

    Args:
        counts: A value for each count: the count 0 first, then the positive counts, of shape ``(levels + 1,)``.

    Returns:
        Array of shape ``(1 + levels * slopes,)``, slopes fastest.
    """
    return np.append(counts[0], np.repeat(counts[1:], len(_candidate_slopes())))


@lru_cache(2)
def _transition_matrix(levels: int) -> FloatArray:
    """Return the transition probabilities of the hidden Markov model, from the number of units of one size to that of
    the next larger size.

    Args:
        levels: Number of positive values of the number of units.

    Returns:
        Square matrix, rows for the smaller size; the first state is "no unit", the others are combinations of value and
        slope.
    """
    slopes = _candidate_slopes()
    slope_changes = np.exp(-np.abs(slopes - slopes[:, None] + TUNING.slope_drift) / TUNING.slope_scale)
    continuation = 1 - TUNING.end_probability - TUNING.restart_probability
    slope_changes *= continuation / slope_changes.sum(axis=1, keepdims=True)
    size = levels * len(slopes)
    begin = TUNING.begin_probability
    transitions = np.zeros((1 + size, 1 + size))
    transitions[0] = np.append(1 - begin, np.full(size, begin / size))
    transitions[1:, 0], transitions[1:, 1:] = TUNING.end_probability, TUNING.restart_probability / size
    level, slope = np.divmod(np.arange(size), len(slopes))
    for index, rise in enumerate(np.rint(slopes / TUNING.level_step).astype(int)):
        next_level = level + rise
        target = np.where(next_level < 0, 0, 1 + np.minimum(next_level, levels - 1) * len(slopes) + index)
        transitions[np.arange(1, size + 1), target] += slope_changes[slope, index]
    return transitions


def count_errors(sizes: UnitSizes, growth: NoiseGrowth, family: Family) -> FloatArray:
    """Return the mean absolute error of a count under each candidate bound, in records, from excluded records and
    noise.

    Args:
        sizes: Simulated histograms of unit sizes.
        growth: How the noise of the question grows with the bound.
        family: Family of the noise.

    Returns:
        Errors, (paths, bounds): for each simulated histogram and bound.
    """
    excluded = np.maximum(sizes.total_records - sizes.used_records, 0) / growth.readings
    return expected_error(excluded, growth.error * np.array(candidate_bounds(), dtype=np.float64), family)


def _share_errors(sizes: UnitSizes, growth: NoiseGrowth) -> list[FloatArray]:
    """Return the error of a share of the records under each candidate bound, for three models of how values depend on
    units.

    The models have equal weight. Either all records are alike; or each unit has its own distribution, so that changed
    weights of units matter; or the records of units with many records differ from the others.

    Args:
        sizes: Simulated histograms of unit sizes.
        growth: Growth of the noise with the bound.

    Returns:
        For each model the errors, (paths, bounds).
    """
    alike, individual = _squared_share_errors(sizes, growth)
    excluded = 1 - sizes.used_records / sizes.total_records
    size_related = alike + (TUNING.size_effect * excluded) ** 2
    return [np.sqrt(squared_error) for squared_error in (alike, individual, size_related)]


def expected_error(bias: FloatArray, deviation: FloatArray, family: Family) -> FloatArray:
    """Return the mean absolute error of a noisy count with a bias, for the Laplace or the Gaussian distribution.

    Args:
        bias: Records that are missing from the count, at least 0; of any shape.
        deviation: Standard deviation of the noise, above 0; of the same shape.
        family: Laplace, or else Gaussian.

    >>> expected_error(np.array([0.0, 100.0]), np.array([2.0, 2.0]), Family.LAPLACE).round(2).tolist()
    [1.41, 100.0]
    """
    if family is Family.LAPLACE:
        return np.asarray(bias + deviation / sqrt(2) * np.exp(-sqrt(2) * bias / deviation))
    from scipy.special import ndtr

    ratio = bias / deviation
    return np.asarray(bias * (2 * ndtr(ratio) - 1) + deviation * sqrt(2 / pi) * np.exp(-(ratio**2) / 2))


def _squared_share_errors(sizes: UnitSizes, growth: NoiseGrowth) -> tuple[FloatArray, FloatArray]:
    """Return squared errors of a share under each candidate bound, in two models: all records alike, or each unit with
    its own distribution.

    Args:
        sizes: Sampled numbers of units by size.
        growth: Growth of the noise with the bound.

    Returns:
        Both squared errors, (paths, bounds) each.
    """
    used = sizes.used_records
    bounds = np.array(candidate_bounds(), dtype=np.float64)
    sampling = TUNING.sampling_deviation**2 * np.maximum(1 / used - 1 / sizes.total_records, 0)
    alike = (growth.error * bounds / used) ** 2 + sampling
    weight_change = (sizes.units[:, :, None] * _weight_changes(sizes) ** 2).sum(axis=1)
    return alike, alike + TUNING.unit_deviation**2 * weight_change


def _weight_changes(sizes: UnitSizes) -> FloatArray:
    """Return by how much each candidate bound changes the weight of a unit among all used records, by unit size.

    Args:
        sizes: Simulated histograms of unit sizes.

    Returns:
        Changes, (paths, sizes, bounds).
    """
    return np.asarray(
        sizes.kept_records_per_unit / sizes.used_records[:, None, :] - (sizes.records / sizes.total_records)[:, :, None]
    )


def _share_errors_by_value(
    sizes: UnitSizes, growth: NoiseGrowth, counts: _UnitCounts
) -> list[tuple[float, FloatArray]]:
    """Return errors of a share under each candidate bound for four weighted models, using noisy counts of units by size
    and value.

    Values depend on the number of records or not; units differ in their distributions or not. For the share below each
    cell of values, a line is fitted along the logarithm of the number of records to the noisy counts. A bound moves
    weight from units with many records to units with few, and changes the share along this line.

    Args:
        sizes: Sampled numbers of units by size.
        growth: Growth of the noise with the bound.
        counts: Noisy counts of units by size and cell of values.

    Returns:
        Pairs of a weight and errors, (paths, bounds).
    """
    mean = sizes.units.mean(axis=0)
    log_sizes = np.log2(sizes.records)
    leverage = (sizes.units[:, :, None] * _weight_changes(sizes) * log_sizes[:, :, None]).sum(axis=1)  # (paths, bounds)
    slope_error = np.zeros_like(leverage)
    log_evidence = 0.0
    prior_variance = TUNING.share_slope**2
    for number, units_below in enumerate(np.cumsum(counts.table, axis=1).T[:-1], start=1):
        slope, variance = _fit_slope(units_below, mean, log_sizes.mean(axis=0), number * counts.noise.variance)
        shrinkage = prior_variance / (variance + prior_variance)
        square = (slope * shrinkage) ** 2 + prior_variance * (1 - shrinkage)
        slope_error += square / counts.cells * leverage**2
    for cell_counts in counts.table.T:  # their noise is independent
        slope, variance = _fit_slope(cell_counts, mean, log_sizes.mean(axis=0), counts.noise.variance)
        shrinkage = prior_variance / (variance + prior_variance)
        log_evidence += (log(1 - shrinkage) + slope**2 / variance * shrinkage) / 2
    unrelated = TUNING.unrelated_probability
    related = 1 / (1 + exp(min(-log_evidence, TUNING.largest_log_odds)) * unrelated / (1 - unrelated))
    residual_error = (TUNING.residual_share * (1 - sizes.used_records / sizes.total_records)) ** 2
    models = (1 - related, residual_error), (related, residual_error + slope_error)

    # Units may be alike or not, and sizes may be related to values or not: each pair of these is a model.
    weighted_errors = []
    for squared_error in _squared_share_errors(sizes, growth):
        for weight, value_error in models:
            weighted_errors.append((weight, np.sqrt(squared_error + value_error)))
    return weighted_errors


def _fit_slope(counts: FloatArray, units: FloatArray, log_sizes: FloatArray, noise: float) -> tuple[float, float]:
    """Fit how the share of units in some cells changes per doubling of a unit's number of records, by weighted least
    squares.

    Args:
        counts: Noisy counts of units of each size in some cells of values.
        units: Estimated number of units of each size.
        log_sizes: Base-2 logarithm of each size.
        noise: Variance of the noise of each count.

    Returns:
        Slope, and its variance.
    """
    variance = noise + np.maximum(units, 1.0) / 4
    weights = np.where(units > 1 / 2, units**2 / variance, 0.0)
    least_weight = 1e-12  # units: lower limit of sums of weights that are divided by, so that empty tables give 0
    centred = log_sizes - weights @ log_sizes / max(float(weights.sum()), least_weight)
    information = max(float(weights @ centred**2), least_weight)
    return float((weights * centred) @ (counts / np.maximum(units, 1.0))) / information, 1 / information


def _upper_noise_bound(noise: Noise, summed: int, probability: float) -> float:
    """Return a bound that the sum of `summed` independent noises exceeds with at most this probability.

    For Laplace noise, the Chernoff bound of two-sided geometric noises, which exceed Laplace noise by at most one step
    each: the least of ``(ln(1 / probability) - summed * ln(1 - t**2)) / t`` scales over t between 0 and 1.

    Args:
        noise: Noise of one count.
        summed: Number of noises.
        probability: Strictly between 0 and 1.
    """
    if noise.family is not Family.LAPLACE:
        return 1 + sqrt(summed * noise.variance) * NormalDist().inv_cdf(1 - probability)
    if summed == 1:
        return 1 + float(noise.parameter) * log(1 / probability)
    tilts = np.linspace(0.01, 0.99, 99)
    chernoff_bounds = (log(1 / probability) - summed * np.log(1 - tilts**2)) / tilts
    return summed + float(noise.parameter) * float(chernoff_bounds.min())


def _excluded_interval(counts: _UnitCounts, rows: int, largest_size: int) -> tuple[float, float]:
    """Return a confidence interval of the share of records beyond the contribution bound, valid while all counts lie
    within their noise margins.

    Args:
        counts: Noisy counts of units by size.
        rows: Contribution bound.
        largest_size: Largest number of records that a unit is assumed to have.

    Returns:
        Lower and upper end, from 0 to 1.
    """
    noisy = counts.sums
    # confidence level of the interval of the excluded share
    margin = _upper_noise_bound(counts.noise, counts.cells, (1 - 0.95) / 2 / len(noisy))
    lower_counts = np.maximum(noisy - margin, 0.0)
    upper_counts = np.maximum(noisy + margin, 0.0)
    bounds = np.array(candidate_bounds(), dtype=np.float64)
    smallest = np.append(0.0, bounds) + 1
    largest = np.append(bounds, inf)
    exceeds = smallest > rows
    is_allowed = largest <= largest_size
    excluded = float(lower_counts[exceeds] @ (smallest[exceeds] - rows))
    used_at_most = float(upper_counts[~exceeds] @ largest[~exceeds] + upper_counts[exceeds].sum() * rows)
    excluded_at_most = float(upper_counts[exceeds & is_allowed] @ (largest[exceeds & is_allowed] - rows))
    used_at_least = float(lower_counts[~exceeds] @ smallest[~exceeds] + lower_counts[exceeds].sum() * rows)
    return excluded / (excluded + used_at_most) if excluded else 0.0, excluded_at_most / (
        excluded_at_most + used_at_least
    ) if excluded_at_most else 0.0


def describe_bound_price(adjacency: AdjacencyWithoutBound, pilot: Plan) -> tuple[str, ...]:
    """Return a note on what the pilot query spends and does, for a preview before anything is charged.

    Args:
        adjacency: Adjacency without a contribution bound.
        pilot: Plan of the pilot query.

    Returns:
        One note.
    """
    values = ", by a value of one record," if isinstance(pilot.query, SizedUnitsQuery) else ""
    return (
        f"no bound of records per {adjacency.column} is stated: {pilot.loss}, {PILOT_FRACTION} of the loss, counts "
        f"{adjacency.column} by the number of their records{values} and chooses a power of two up to "
        f"{2**MOST_DOUBLINGS:,}; the errors below are for a bound of 1 and grow with the bound",
    )


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the choice of the bound, chosen on the distributions of `benchmarks/unknown_units.py`.

    Prior of the noisy counts: the logarithm of the number of units continues from cell to cell with a slope that
    changes little and tends to fall (it is constant for power laws and falls evenly for log-normal distributions), or
    the sequence ends and may restart after empty cells.
    """

    smoothing_gain: float = 0.3
    """Ratio. Error of a smoothed distribution function of evenly spread records over the error before smoothing."""
    sampling_deviation: float = 0.3
    """Share. Error of a distribution function of one record sampled from many."""
    unit_deviation: float = 0.2
    """Share. Random part of the distance between a unit's distribution and the distribution of all records."""
    size_effect: float = 0.15
    """Share. Part of the distance between a unit's distribution and the distribution of all records; this part grows
    with the unit's number of records.
    """
    level_step: float = 0.5
    """log2 units. Grid step of the latent number of units and of slopes."""
    lowest_level: float = -1.0
    """log2 units. Smallest positive latent number of units."""
    largest_slope: float = 4.0
    """log2 units per cell. Latent slopes lie between minus and plus this number."""
    level_error: float = 0.2
    """Ratio. Relative rounding error of a latent number of units."""
    slope_drift: float = 0.15
    """log2 units per cell. Mean decrease of the slope from cell to cell."""
    slope_scale: float = 0.4
    """log2 units per cell. Mean absolute deviation of a slope from the expected slope, which is `slope_drift` below the
    last one.
    """
    end_probability: float = 0.05
    """Probability that a cell is the last before empty cells."""
    begin_probability: float = 0.004
    """Probability that a cell is the first after empty cells. Noise exceeds 5.8 of its scales somewhere in the about
    ten empty last cells in 1 of 70 pilot queries; it must not count as units.
    """
    restart_probability: float = 0.003
    """Probability that the next cell has any number of units, unrelated to the last one."""
    empty_probability: float = 0.3
    """Probability that the first cell is empty."""
    final_slope: float = -3.0
    """log2 units per cell. Slope inside the last occupied cell."""
    significance_z: float = 5.0
    """z-score above which a noisy count is taken as it is."""
    paths: int = 200
    """Sequences. Number of simulated sequences of unit counts."""
    value_cells: int = 4
    """Cells. Number of cells of values in which units are counted if shares are asked for."""
    unrelated_probability: float = 0.65
    """Prior probability that values do not depend on the number of records of a unit."""
    share_slope: float = 0.05
    """Share per doubling. Prior standard deviation of the change of a share with each doubling of a unit's number of
    records, if values depend on it.
    """
    residual_share: float = 0.001
    """Share. Least distance that is assumed between the distributions of used and of excluded records."""
    largest_log_odds: float = 500.0
    """Natural-log units. Limit of the log odds that values depend on the number of records."""


TUNING = Tuning()
"""The tuning that is used."""
