"""Statistics of noisy risk tables: Kaplan-Meier and Nelson-Aalen estimates, bands, and the log-rank test.

A risk table has the events and the records at risk of each cell of time (`AtRisk`, `RiskTable`). Noise may make a
number at risk small or negative, so curves end where it is no longer clear of the noise (`find_known_cells`). The order
of events and censoring inside a cell is unknown, so bands cover all orders.

Formal guarantees: post-processing of released counts, which costs no budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.inference.bands import Band, end_level, simultaneous_errors, upper_quantile, upper_quantiles
from dpcurves.inference.simulation import monte_carlo_p_value, sample_multinomial, whole_records
from dpcurves.inference.two_samples import TwoSampleTest
from dpcurves.summaries.two_classes import isotonic_projection

# Curves and tests from noisy counts of events and censored records, with bounds over the unknown order inside cells.


MEDIAN_SURVIVAL = 0.5
"""Survival at the median time: half of the people have had no event."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer curves, bands and tests of survival."""

    known_z: float = 4.0
    """Standard deviations of the noise of a number at risk: below, a cell and all later cells give no
    information."""
    least_at_risk: float = 0.5
    """Records: the number at risk counts as at least this many when it is divided by."""
    fewest_at_risk: float = 5.0
    """Records. Bands for the population give no information from the first time at which at most this many are at
    risk.
    """
    least_variance_at_risk: float = 1e-9
    """Squared records: a number at risk counts as at least so noisy when numbers at risk are weighted."""
    least_score_variance: float = 1e-9
    """Squared records: added where neither sampling nor noise moves the events, so that any difference is
    significant."""
    least_risk_of_tables: float = 1.0
    """Records: the number at risk counts as at least this many in the tests of groups, where noise may hide it."""


TUNING = Tuning()
"""Numbers that steer curves, bands and tests of survival."""


class AtRisk(NamedTuple):
    """Events of each cell and records at risk in it, or the noise of both: (..., cells)."""

    events: FloatArray
    records: FloatArray

    def select_subset(self, selection: Any) -> AtRisk:
        """Return some of the cells, or of the draws, by index.

        Args:
            selection: Index of NumPy, applied to the arrays (..., cells): a mask, a slice or a tuple of these.
        """
        return AtRisk(self.events[selection], self.records[selection])

    def add_counts(self, other: AtRisk) -> AtRisk:
        """Return the sum of two tables.

        Args:
            other: Table of the same shape.
        """
        return AtRisk(self.events + other.events, self.records + other.records)


def count_at_risk(events: FloatArray, censored: FloatArray) -> AtRisk:
    """Return the events and the records at risk of each cell.

    Times below the grid count in its first cell. Times above are at risk throughout and censored at the end. Records
    censored in a cell are at risk in it, like ties in the textbook.

    Args:
        events: Events in each slot of a grid that counts values outside apart, shape (..., cells + 2).
        censored: Censored records in each slot, of the same shape.

    Returns:
        Numbers of shape (..., cells).
    """
    inside = events[..., 1:-1].copy()
    all_ = (events + censored)[..., 1:].copy()
    inside[..., 0] += events[..., 0]
    all_[..., 0] += (events + censored)[..., 0]
    return AtRisk(inside, np.cumsum(all_[..., ::-1], axis=-1)[..., ::-1][..., :-1])


def estimate_at_risk(released: AtRisk, noise: AtRisk, *, may_rise: bool = False) -> FloatArray:
    """Return the number of all records, then the number at risk in each cell, (cells + 1,): at least 0, and
    nonincreasing unless records may enter late.

    They are the nearest nonincreasing numbers in squares, weighted by the precision of the released numbers.

    Args:
        released: The released risk table, (cells,).
        noise: Its simulated noise, (draws, cells).
        may_rise: If True, records enter observation late, so that the number at risk may rise.
    """
    records = released.records
    if not may_rise:
        variance = np.mean(noise.records**2, axis=0)
        weights = 1 / np.maximum(variance, TUNING.least_variance_at_risk)
        records = -isotonic_projection(-records, weights)
    return np.append(records[:1], records).clip(min=0.0)


def bound_at_risk(released: AtRisk, noise: AtRisk, level: float, *, may_rise: bool = False) -> FloatArray:
    """Return lower and upper bounds of `estimate_at_risk`, (cells + 1, 2), that hold simultaneously at `level`.

    Numbers at risk never rise, so a later lower bound holds for all cells before it, and an earlier upper bound for all
    cells after it: bounds cover the true numbers whenever the bounds of single cells cover them. Bounds that contradict
    each other change places. Estimates lie inside.

    Args:
        released: The released risk table, (cells,).
        noise: Its simulated noise, (draws, cells).
        level: Simultaneous confidence level.
        may_rise: If True, records enter observation late, so that the number at risk may rise.

    Raises:
        ValueError: `level` is not between 0 and 1.
    """
    error = simultaneous_errors([noise.records], level)
    records = np.maximum(released.records, 0.0)  # impossible numbers must not narrow the interval
    lower, upper = np.maximum(records - error, 0.0), records + error
    if not may_rise:
        later_lower, earlier_upper = np.maximum.accumulate(lower[::-1])[::-1], np.minimum.accumulate(upper)
        lower, upper = np.minimum(later_lower, earlier_upper), np.maximum(later_lower, earlier_upper)
    estimate = estimate_at_risk(released, noise, may_rise=may_rise)
    bounds = np.minimum(np.append(lower[:1], lower), estimate), np.maximum(np.append(upper[:1], upper), estimate)
    return np.stack(bounds, axis=1)


def find_known_cells(table: AtRisk, noise: AtRisk, z: float = TUNING.known_z) -> BoolArray:
    """Return a mask of the leading cells whose released number at risk exceeds `z` standard deviations of its noise
    and half a record, (cells,).

    Args:
        table: Released events and numbers at risk, (cells,).
        noise: Draws of their noise, (draws, cells).
        z: Standard deviations of the noise that a number at risk must exceed.
    """
    enough = table.records > np.maximum(TUNING.least_at_risk, z * np.sqrt(np.mean(noise.records**2, axis=0)))
    return np.logical_and.accumulate(enough)


def find_followed_cells(table: AtRisk, noise: AtRisk) -> BoolArray:
    """Return a mask of the leading cells whose released number at risk is significantly above zero, (cells,):
    `find_known_cells` at 2.5 standard deviations of its noise.

    Args:
        table: Released events and numbers at risk, (cells,).
        noise: Draws of their noise, (draws, cells).
    """
    return find_known_cells(table, noise, 2.5)  # noise alone exceeds it in about 1 of 100 cells


def mask_unfollowed(curve: FloatArray, followed: BoolArray, *, settled: BoolArray | bool = False) -> FloatArray:
    """Return the curve with NaN past the end of follow-up, where no record may be at risk.

    Args:
        curve: Values at the ends of cells, (..., cells).
        followed: Mask of the cells up to the end of follow-up, from `find_followed_cells`, (cells,).
        settled: True for curves that need no NaN, because no record is left that could have an event, (...).
    """
    return np.where(followed | np.asarray(settled)[..., None], curve, np.nan)


def estimate_survival(table: AtRisk, known: BoolArray) -> FloatArray:
    """Return the Kaplan-Meier estimate (1958) at the end of each cell; nonincreasing, and constant where nothing is
    known.

    If noise makes it rise, it is replaced by the nearest nonincreasing curve (least squares).

    Args:
        table: Released events and numbers at risk, (cells,).
        known: Mask of cells, from `find_known_cells`; other cells get the hazard 0.

    Returns:
        Survival, (cells,), from 0 to 1.
    """
    raw: FloatArray = np.cumprod(1 - _estimate_hazards(table, known), dtype=np.float64)
    return np.asarray(np.clip(-isotonic_projection(-raw), 0.0, 1.0))


def hazards_from_survival(survival: FloatArray) -> FloatArray:
    """Return the fraction of records at risk that leaves in each cell, (cells,), from survival at its end; 0 where
    survival was 0 before.

    Args:
        survival: Survival at the end of each cell, (cells,).
    """
    before = np.append(1.0, survival[:-1])
    return np.asarray(np.clip(1 - np.divide(survival, before, out=np.ones_like(survival), where=before > 0), 0.0, 1.0))


def estimate_cumulative_hazard(table: AtRisk, known: BoolArray) -> FloatArray:
    """Return the sum of events over numbers at risk, to each cell (Nelson 1969, Aalen 1978); nondecreasing.

    Args:
        table: Released events and numbers at risk, (cells,).
        known: Mask of cells, from `find_known_cells`; other cells get the hazard 0.

    Returns:
        Cumulative hazard, (cells,), not negative.
    """
    return np.asarray(np.maximum(isotonic_projection(np.cumsum(_estimate_hazards(table, known))), 0.0))


class SurvivalSamplingErrors(NamedTuple):
    """Draws of sampling errors of log survival, for the population.

    Given its events, the conditional survival of a cell has a beta distribution (beta product confidence procedure,
    Fay, Brittain and Proschan 2013), in place of Greenwood's variance. Just before the next event, survival of the
    population is lowest: one more event is counted.

    Attributes:
        increments: Increments of each cell, (draws, cells).
        next_event: Effect of one more event in each cell; equal from one cell with an event to the next, (draws,
            cells).
    """

    increments: FloatArray
    next_event: FloatArray


def sample_survival_errors(
    hazard: FloatArray, records: FloatArray, generator: np.random.Generator
) -> SurvivalSamplingErrors:
    """Return random draws of the sampling errors of log survival; see `SurvivalSamplingErrors`.

    Args:
        hazard: Approximate hazards of the cells, between 0 and 1, (cells,).
        records: Records at risk, at least 1, (draws, cells).
        generator: For simulation from public numbers only.
    """
    events = hazard * records
    died = generator.standard_gamma(events)
    remained = generator.standard_gamma(records - events + 1)
    increments = np.log(remained / (remained + died)) - np.log(_estimate_cell_survival(events, records))
    waited = sample_waiting_times(generator.random(records.shape) < events, generator)
    return SurvivalSamplingErrors(increments, -waited / np.maximum(records - events, TUNING.least_at_risk))


def sample_waiting_times(has_event: BoolArray, generator: np.random.Generator) -> FloatArray:
    """Return a random waiting time for the next event in each cell, in units of its mean, of the shape of `has_event`.

    Waiting times are exponential. Cells from one event up to the next have the same waiting time.

    Args:
        has_event: Which cells have an event, (..., cells).
        generator: For simulation from public numbers only.
    """
    begins = has_event.copy()
    begins[..., 0] = True
    latest = np.maximum.accumulate(np.where(begins, np.arange(begins.shape[-1]), 0), axis=-1)
    return np.asarray(np.take_along_axis(generator.standard_exponential(begins.shape), latest, axis=-1))


class HazardSamplingErrors(NamedTuple):
    """Draws of sampling errors of cause-specific hazards, for the population.

    The distribution is the distribution of `SurvivalSamplingErrors`; the fractions at risk with an event of each cause
    are Dirichlet.

    Attributes:
        hazards: Errors of the hazard of each cause in each cell, (draws, causes, cells).
        next_event: Effect of one more event of each cause on its cumulative hazard, (draws, causes, cells).
        next_any_event: Effect of one more event of any cause on the total cumulative hazard, (draws, cells).
    """

    hazards: FloatArray
    next_event: FloatArray
    next_any_event: FloatArray

    @classmethod
    def sample_errors(
        cls, hazards: FloatArray, records: FloatArray, generator: np.random.Generator
    ) -> HazardSamplingErrors:
        """Return simulated sampling errors of hazards, for random draws of the numbers at risk.

        Args:
            hazards: Approximate hazards of each cause, with a sum between 0 and 1, (causes, cells).
            records: Records at risk, at least 1, (draws, cells).
            generator: For simulation from public numbers only.
        """
        events = hazards * records[:, None]
        remained = np.maximum(records - events.sum(axis=1), 0.0)
        died = generator.standard_gamma(events)
        stayed = generator.standard_gamma(remained + 1)
        moved = died / (stayed + died.sum(axis=1))[:, None] - hazards
        has_event = generator.random(events.shape) < events
        at_risk = np.maximum(remained, TUNING.least_at_risk)
        waited = sample_waiting_times(has_event, generator) / at_risk[:, None]
        if len(hazards) == 1:
            of_all = waited[:, 0]
        else:
            of_all = sample_waiting_times(np.asarray(has_event.any(axis=1)), generator) / at_risk
        return cls(moved, waited, of_all)


def simulate_log_errors(
    table: AtRisk,
    noise: AtRisk,
    known: BoolArray,
    sampling: SurvivalSamplingErrors | None,
    *,
    before_next_event: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Return released survival, (known cells,), and simulated errors of its logarithm, (draws, known cells).

    An error is the logarithm of simulated survival minus the logarithm of released survival. Simulated survival is
    computed from the released table minus fresh noise, so neither hazards nor numbers at risk are taken as known where
    few records are left.

    Args:
        table: The unbiased released table.
        noise: Simulated noise, (draws, cells).
        known: From `find_known_cells`.
        sampling: From `sample_survival_errors`, for the population; None: for these records.
        before_next_event: Whether errors are for survival of the population just before its next event; without
            `sampling` of no effect.
    """
    released = table.select_subset(known)
    known_noise = noise.select_subset((..., known))
    # Without noise, survival of these records may be 0; survival of the population is positive.
    # so that survival has a logarithm
    floor = 1.0 if sampling is not None else np.minimum(np.sqrt(np.mean(known_noise.records**2, axis=0)), 1.0) + 1e-9
    log_survival = np.log(
        _estimate_cell_survival(released.events, np.maximum(released.records, TUNING.least_at_risk), floor)
    )
    simulated_survival = _estimate_cell_survival(
        released.events - known_noise.events, np.maximum(released.records - known_noise.records, 1.0), floor
    )
    steps = np.log(simulated_survival) - log_survival
    if sampling is not None:
        steps = steps + sampling.increments[:, known]
    errors = np.cumsum(steps, axis=1)
    if sampling is not None and before_next_event:
        errors = errors + sampling.next_event[:, known]
    return np.exp(np.cumsum(log_survival)), np.asarray(errors)


def _estimate_cell_survival(events: FloatArray, records: FloatArray, floor: FloatArray | float = 1.0) -> FloatArray:
    """Return the share of the records at risk in each cell that has no event there, with a floor above 0 so that its
    logarithm exists.

    Args:
        events: Events, (..., cells).
        records: Records at risk, (..., cells), above 0.
        floor: The smallest share is this number of records divided by (records + 1); a number, or one for each cell.
    """
    return np.asarray(np.maximum(1 - events / records, floor / (records + 1)))


class TieOrders(NamedTuple):
    """Survival under both extreme orders of exact times: events of each cell first, or its censored records first.

    Attributes:
        events_first: Survival of each cell if its events precede censoring, (cells,): ties as in the textbook. Positive
            in known cells, so that it has a logarithm.
        censored_first: Survival if all records censored in a cell leave before its events, (cells,).
        events_first_errors, censored_first_errors: From `simulate_log_errors`.
    """

    events_first: FloatArray
    censored_first: FloatArray
    events_first_errors: FloatArray
    censored_first_errors: FloatArray


def survival_band(orders: TieOrders, known: BoolArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds of survival, simultaneous at `level`: each (cells,).

    The largest studentised error of log survival is bounded (equal precision: Nair 1984), downwards under the order
    inside cells that gives the lowest survival, upwards under the order that gives the highest. The Kaplan-Meier
    estimate from exact times lies between both orders: an event takes a larger fraction of those at risk if more were
    censored before. Where nothing is known, the lower bound is 0.

    Args:
        orders: Survival and errors of both orders.
        known: From `find_known_cells`.
        level: Simultaneous confidence level.
    """
    down, up = (np.full(len(orders.events_first), np.inf) for _ in range(2))
    sides = [np.maximum(-orders.censored_first_errors, 0.0), np.maximum(orders.events_first_errors, 0.0)]
    down[known], up[known] = np.split(simultaneous_errors([np.concatenate(sides, axis=1)], level), 2)
    lower = orders.censored_first * np.exp(-down)
    upper = np.minimum(orders.events_first * np.exp(np.where(known, up, 0.0)), 1.0)
    upper = np.where(known, upper, 1.0)  # nonincreasing: use the value of the cell before
    return np.minimum.accumulate(lower), np.minimum.accumulate(np.maximum(upper, orders.events_first))


def median_cells(orders: TieOrders, known: BoolArray, level: float) -> tuple[int, int]:
    """Return the first and the last cell in which the median survival time may lie, at confidence `level`.

    The median lies in the first cell at whose end at most one half survive. The first returned cell is the first where
    survival may be at most one half, the last is the last before which it may be more, each tested separately at half
    the error probability (Brookmeyer and Crowley 1982), under the least favourable order inside cells. That is enough:
    the interval starts beyond the median only if survival seems too high at the median itself, and ends before it only
    if survival seems too low just before it. If no cell meets this, the number of cells is returned.

    Args:
        orders: Survival and errors of both orders.
        known: From `find_known_cells`.
        level: Confidence level.
    """
    cells = len(orders.events_first)
    one_sided = (1 + level) / 2
    is_known = known
    down, up = (np.zeros(cells) for _ in range(2))
    down[known] = np.maximum(upper_quantiles(-orders.censored_first_errors, one_sided), 0.0)
    up[known] = np.maximum(upper_quantiles(orders.events_first_errors, one_sided), 0.0)
    may_be_half = ~known | (orders.censored_first * np.exp(-down) <= MEDIAN_SURVIVAL)
    may_be_more = is_known & (orders.events_first * np.exp(up) > MEDIAN_SURVIVAL)
    last = int(np.flatnonzero(may_be_more)[-1]) if may_be_more.any() else -1
    if not is_known.any() or last == np.flatnonzero(is_known)[-1]:
        last = cells - 1  # the curve may be constant past the known cells
    return int(np.argmax(np.append(may_be_half, True))), last + 1


def _estimate_hazards(found: AtRisk, known: BoolArray) -> FloatArray:
    """Return events divided by records at risk in each cell, at most 1 and possibly negative by noise; 0 in unknown
    cells.

    Args:
        found: Released events and numbers at risk, (..., cells).
        known: Mask of cells, from `find_known_cells`.
    """
    records = np.where(known, np.maximum(found.records, TUNING.least_at_risk), 1.0)
    return np.where(known, np.minimum(found.events / records, 1.0), 0.0)


# Overestimation of survival by wide cells of time, from noisy counts.
#
# Events of a cell are taken to precede its censoring. If they followed it, fewer records would be at risk. The
# Kaplan-Meier estimate from exact times lies between these two, for any order. If records are censored evenly over a
# cell, half of them are at risk for its events (the actuarial estimate, Cutler and Ederer 1958).


def count_censored_inside(censored: FloatArray) -> FloatArray:
    """Return the censored records of each cell, (..., cells), from slots with two outside ones, (..., cells + 2).

    Times below the grid are added to the first cell, as in `count_at_risk`; times above it are left out.

    Args:
        censored: Counts of censored records below, inside and above the grid, (..., cells + 2).
    """
    inside = censored[..., 1:-1].copy()
    inside[..., 0] += censored[..., 0]  # as in `count_at_risk`
    return inside


def find_censoring_bias(table: AtRisk, censored: FloatArray) -> FloatArray:
    """Return by how much survival is overestimated if all `censored` were censored before the events of their cell:
    (..., cells).

    It is the released survival curve minus the curve of that order.

    Args:
        table: Events, and numbers at risk if all censoring follows the events, (..., cells).
        censored: Records censored in each cell, (..., cells).

    >>> find_censoring_bias(AtRisk(np.array([5.0, 1.0]), np.array([10.0, 3.0])), np.array([2.0, 0.0]))
    array([0.125     , 0.08333333])
    """
    return np.asarray(
        _estimate_unconstrained_survival(table)
        - _estimate_unconstrained_survival(table._replace(records=table.records - censored))
    )


def estimate_censoring_bias(table: AtRisk, censored: FloatArray, noise: AtRisk, noise_of_censored: FloatArray) -> float:
    """Return the largest overestimation of survival, as a share of the records, if records are censored evenly over
    cells.

    0 if it is below 2 % of the records, or `Tuning.known_z` standard deviations of its noise. The cell in which
    follow-up ends is excluded, unless it is the only one: records still at risk at a fixed end are censored at once,
    after its events.

    Args:
        table: Unbiased released table, in cells with a known number at risk, (cells,).
        censored: Released counts of censored records in them, (cells,).
        noise: Simulated noise of `table`, (draws, cells).
        noise_of_censored: Simulated noise of `censored`.
    """
    most_draws = 400  # for a standard deviation within about 5 %
    noise = noise.select_subset(slice(most_draws))
    lost = noise_of_censored[:most_draws]
    within = find_inner_cells(table, censored, noise, lost)
    table = table.select_subset(within)
    noise = noise.select_subset((..., within))
    censored = censored[within]
    lost = lost[:, within]
    risen = find_censoring_bias(table, censored / 2)
    error = find_censoring_bias(table.add_counts(noise), (censored + lost) / 2) - risen
    is_clear = (risen > 0.02) & (risen > TUNING.known_z * np.sqrt(np.mean(error**2, axis=0)))  # share of the records
    return float(risen.max(where=is_clear, initial=0.0))


def find_inner_cells(table: AtRisk, censored: FloatArray, noise: AtRisk, noise_of_censored: FloatArray) -> BoolArray:
    """Return a mask of the cells before follow-up ends, (cells,): the first cell, and the leading cells after whose
    events and censoring significantly many records remain.

    Args:
        table: Noisy events and records at risk.
        censored: Noisy counts of censored records, (cells,).
        noise: Simulated noise of the table, (draws, cells).
        noise_of_censored: Simulated noise of the censored counts, (draws, cells).
    """
    remaining = table.records - table.events - censored
    error = noise.records - noise.events - noise_of_censored
    inner = np.logical_and.accumulate(
        remaining > TUNING.known_z * np.sqrt(np.mean(error**2, axis=0)) + TUNING.least_at_risk
    )
    inner[:1] = True
    return np.asarray(inner)


def _estimate_unconstrained_survival(found: AtRisk) -> FloatArray:
    """Return the Kaplan-Meier estimate at the end of each cell, (..., cells), without the constraint that it is
    nonincreasing: it may rise by noise.

    Args:
        found: Released events and numbers at risk, (..., cells), or draws of them.
    """
    share = found.events / np.maximum(found.records, TUNING.least_at_risk)
    return np.asarray(np.cumprod(1 - np.clip(share, -1.0, 1.0), axis=-1))


class LogRankScore(NamedTuple):
    """Observed minus expected events of the first group, and the sampling variance of that, each (...)."""

    excess: FloatArray
    variance: FloatArray


def compute_log_rank_score(first: AtRisk, second: AtRisk, *, weight: FloatArray | float = 1.0) -> LogRankScore:
    """Return observed minus expected events of the first group under equal survival (Mantel 1966).

    The variance is hypergeometric, cell by cell. Negative numbers count as zero.

    Args:
        first: Events and records at risk of the first group, shape (..., cells).
        second: Those of the second group.
        weight: Weight of each cell, shape (cells,).
    """
    ones, others = (np.maximum(table.records, 0.0) for table in (first, second))
    records = ones + others
    events = first.events + second.events
    share = np.divide(ones, records, out=np.full_like(records, 0.5), where=records > 0)
    remaining = np.clip(
        np.divide(records - events, records - 1, out=np.zeros_like(records), where=records > 1), 0.0, 1.0
    )
    scatter = weight**2 * np.maximum(events, 0.0) * share * (1 - share) * remaining
    more = weight * (first.events - events * share)
    return LogRankScore(np.asarray(more.sum(axis=-1)), np.asarray(scatter.sum(axis=-1)))


class Stratum(NamedTuple):
    """At-risk tables of two groups inside one stratum, with simulated noise, for a stratified log-rank test.

    Attributes:
        groups: Unbiased released tables, (cells,).
        noises: Simulated noise, (draws, cells).
        known_cells: The leading cells with enough records at risk in both groups.
        has_entries: Whether records also enter observation in later cells.
    """

    groups: tuple[AtRisk, AtRisk]
    noises: tuple[AtRisk, AtRisk]
    known_cells: BoolArray
    has_entries: bool = False

    def fleming_harrington_weights(self, rho: float, gamma: float) -> FloatArray | float:
        """Return the weights of Fleming and Harrington (1991) in the known cells, from pooled survival before each
        cell.

        They come from the released tables, also for draws.

        Args:
            rho: Exponent of the survival; above 0, early events weigh more.
            gamma: Exponent of 1 minus the survival; above 0, late events weigh more.

        Returns:
            Weight of each known cell; 1.0 if both exponents are 0.
        """
        if rho == gamma == 0:
            return 1.0
        survival = estimate_survival(self.groups[0].add_counts(self.groups[1]), self.known_cells)
        before = np.append(1.0, survival)[:-1][self.known_cells]
        return np.asarray(before**rho * (1 - before) ** gamma)


def log_rank(
    strata: Sequence[Stratum], generator: np.random.Generator, rho: float = 0.0, gamma: float = 0.0
) -> TwoSampleTest:
    """Return the log-rank test: the squared score over its variance by sampling and noise, and the probability of a
    value as large if the groups survive alike; NaN for both if no cell is known in both groups.

    Each draw is a parametric bootstrap: it takes the estimated number of records of each group, gives them events at
    the pooled hazards and censoring as in their group, and adds noise. If records enter later, the sampling error of
    the score is drawn from the normal distribution of its variance instead. Without noise the statistic equals the
    textbook statistic, nearly chi-squared with 1 degree of freedom. Scores and variances of strata add up.

    Args:
        strata: Both groups in each stratum.
        generator: Random numbers of the records.
        rho: Power of pooled survival in the weights of cells.
        gamma: Power of one minus pooled survival.
    """
    released = LogRankScore(np.zeros(()), np.zeros(()))
    null = LogRankScore(np.zeros(()), np.zeros(()))
    noise = 0.0
    for stratum in strata:
        if not stratum.known_cells.any():
            continue
        first, second = (group.select_subset(stratum.known_cells) for group in stratum.groups)
        moved = [noise.select_subset((..., stratum.known_cells)) for noise in stratum.noises]
        weight = stratum.fleming_harrington_weights(rho, gamma)
        group_draws = compute_log_rank_score(first, second, weight=weight)
        scattered = compute_log_rank_score(first.add_counts(moved[0]), second.add_counts(moved[1]), weight=weight)
        if stratum.has_entries:
            chance = np.sqrt(group_draws.variance) * generator.standard_normal(len(moved[0].events))
            alike = LogRankScore(scattered.excess - group_draws.excess + chance, scattered.variance)
        else:
            alike = _simulate_null_scores((first, second), moved, weight, generator)
        released, null = (LogRankScore(*map(np.add, *both)) for both in ((released, group_draws), (null, alike)))
        noise += float(scattered.excess.var())
    if null.excess.ndim == 0:
        return TwoSampleTest(nan, nan)  # no cell is known to have records at risk in both groups
    reached, simulated = (
        score.excess**2 / np.maximum(score.variance + noise, TUNING.least_score_variance) for score in (released, null)
    )
    return TwoSampleTest(float(reached), monte_carlo_p_value(float(reached), simulated))


def estimate_log_rank_bias(
    groups: tuple[AtRisk, AtRisk],
    censored: tuple[FloatArray, FloatArray],
    noises: tuple[AtRisk, AtRisk],
    noises_of_censored: tuple[FloatArray, FloatArray],
) -> float:
    """Return the shift of the log-rank score, in its standard deviations, if records are censored evenly over cells.

    Then half of the censored records are not at risk at an event of their cell, while all were counted, which differs
    between groups with different censoring. 0 if the shift is below half a standard deviation, or explained by noise.

    Args:
        groups: Unbiased released tables, in the cells of the test, (cells,).
        censored: Released counts of censored records in both groups, (cells,).
        noises: Simulated noise of the tables, (draws, cells).
        noises_of_censored: Simulated noise of the censored.
    """
    added = tuple(map(AtRisk.add_counts, groups, noises))
    gone = tuple(counts + noise for counts, noise in zip(censored, noises_of_censored, strict=True))
    released_excess = compute_log_rank_score(*groups)
    scattered = compute_log_rank_score(*added)
    move = _excess_with_even_censoring(groups, censored) - released_excess.excess
    error = float(np.sqrt(np.mean((_excess_with_even_censoring(added, gone) - scattered.excess - move) ** 2)))
    deviation = float(
        np.sqrt(max(float(released_excess.variance) + float(scattered.excess.var()), TUNING.least_score_variance))
    )
    # a test that is shifted by less rejects at level 5 % with probability at most 8 %
    is_significant = abs(float(move)) > max(TUNING.known_z * error, 0.5 * deviation)
    return abs(float(move)) / deviation if is_significant else 0.0


def _excess_with_even_censoring(groups: Sequence[AtRisk], censored: Sequence[FloatArray]) -> FloatArray:
    """Return observed minus expected events of the first group if half of the censored records are not at risk in
    their cell.

    Args:
        groups: Events and numbers at risk of both groups, (..., cells) each.
        censored: Records of both groups that are censored in each cell, (..., cells) each.

    Returns:
        Excess in events, (...).
    """
    fewer = (group._replace(records=group.records - gone / 2) for group, gone in zip(groups, censored, strict=True))
    return compute_log_rank_score(*fewer).excess


def _simulate_null_scores(
    groups: tuple[AtRisk, AtRisk], noises: list[AtRisk], weight: FloatArray | float, generator: np.random.Generator
) -> LogRankScore:
    """Return draws of the log-rank score, with noise, of two groups with equal hazards: the pooled ones. `noises`
    are the simulated noise of both tables.

    Args:
        groups: Released tables of both groups.
        noises: Simulated noise of both tables.
        weight: Weight of each cell, or 1.
        generator: Random numbers of the draws.
    """
    hazard = estimate_monotone_hazards(groups[0].add_counts(groups[1]))
    first, second = (sample_at_risk(group, hazard, len(noises[0].events), generator) for group in groups)
    return compute_log_rank_score(first.add_counts(noises[0]), second.add_counts(noises[1]), weight=weight)


def sample_at_risk(group: AtRisk, hazard: FloatArray, draws: int, generator: np.random.Generator) -> AtRisk:
    """Return random tables of a group whose records leave cell by cell, shape (draws, cells).

    Records leave by events with the given hazards, or by censoring as estimated from the group. Records that stay are
    at risk in all cells.

    Args:
        group: Released table of the group.
        hazard: Hazard of each cell, shape (cells,).
        draws: Number of tables.
        generator: Random numbers.
    """
    without = np.append(group.records[1:], group.records[-1] - group.events[-1])
    censored = estimate_monotone_hazards(AtRisk(group.records - group.events - without, group.records - group.events))
    stay = np.cumprod((1 - hazard) * (1 - censored))
    before = np.append(1.0, stay[:-1])
    chances = np.concatenate([before * hazard, before * (1 - hazard) * censored, stay[-1:]])
    records = whole_records(float(group.records[0]))
    leaving = sample_multinomial(chances, records, draws, generator).astype(np.float64)
    cells = len(hazard)
    gone = leaving[:, :cells] + leaving[:, cells:-1]
    return AtRisk(leaving[:, :cells], records - np.cumsum(gone, axis=-1) + gone)


def estimate_monotone_hazards(group: AtRisk) -> FloatArray:
    """Return the hazard of each cell, from 0 to 1, from an estimated survival curve that never rises, (cells,).

    The survival curve is monotone, the hazards are not; where the curve has reached 0 they are 0.

    Args:
        group: Released events and numbers at risk, (cells,).
    """
    return hazards_from_survival(estimate_survival(group, np.ones(len(group.events), dtype=np.bool_)))


class Curves(NamedTuple):
    """Curves of a group, each with any number of leading axes.

    Attributes:
        survival: The share without any event before each edge, (..., cells + 1).
        incidence: The share with an event of each cause before each edge (Aalen and Johansen), (..., causes, cells +
            1).
        cumulative_hazard: The cumulative hazard of each cause (Nelson and Aalen), (..., causes, cells + 1).
        event_times: Event time of each cell, (cells,).
        opposite_event_times: Event time of each cell in the opposite bounding curves: the other endpoint, (cells,).
        conditioning_survival: Denominator of conditional survival: `survival`, without the correction for the next
            event of the population, (..., cells + 1).
    """

    survival: FloatArray
    incidence: FloatArray
    cumulative_hazard: FloatArray
    event_times: FloatArray
    opposite_event_times: FloatArray
    conditioning_survival: FloatArray

    def restricted_mean(self, until: float, edge: int) -> FloatArray:
        """Return the mean time without an event up to `until`, the time of the edge with index `edge`: (...).

        Args:
            until: Time up to which the mean is restricted.
            edge: Index of the edge at that time.
        """
        came = self.survival[..., :edge] - self.survival[..., 1 : edge + 1]
        return np.asarray(
            (came * np.minimum(self.event_times[:edge], until)).sum(axis=-1) + until * self.survival[..., edge]
        )

    def time_lost(self, until: float, edge: int) -> FloatArray:
        """Return the mean time without an event that each cause takes away up to `until` (Andersen 2013): (...,
        causes).

        Args:
            until: Time to which lost time is counted, in the unit of the times.
            edge: Index of the edge at that time.
        """
        came = np.diff(self.incidence[..., : edge + 1], axis=-1)
        return np.asarray((came * np.maximum(until - self.opposite_event_times[:edge], 0.0)).sum(axis=-1))


class RiskTable(NamedTuple):
    """Events of each cause and records at risk, by cell: released, or noise, or draws.

    Attributes:
        events: Events, (..., causes, cells).
        records: Records at risk if all censoring in a cell follows its events and all entries precede them, (...,
            cells).
        fewest_records: Records at risk if all censoring precedes its events and all entries follow them, (..., cells).
    """

    events: FloatArray
    records: FloatArray
    fewest_records: FloatArray

    def estimate_curves(self, known: BoolArray, event_times: FloatArray, *, censored_first: bool = False) -> Curves:
        """Return the survival, the incidences and the cumulative hazards that events and numbers at risk give. They are
        constant past the known cells.

        Hazards may be negative by noise, so that they are unbiased.

        Args:
            known: Cells in which the number at risk is known, shape (cells,).
            event_times: Times at which the events of each cell are placed.
            censored_first: If True, all censoring of a cell precedes its events.
        """
        records = self.fewest_records if censored_first else self.records
        share = self.events / np.maximum(records, TUNING.least_risk_of_tables)[..., None, :]
        share = np.where(known, share.clip(-1, 1), 0.0)
        survival = _prepend_value(1.0, np.cumprod(1 - share.sum(axis=-2).clip(-1, 1), axis=-1))
        come = _prepend_value(0.0, np.cumsum(survival[..., None, :-1] * share, axis=-1))
        return Curves(
            survival, come, _prepend_value(0.0, np.cumsum(share, axis=-1)), event_times, event_times, survival
        )

    def bound_curves(
        self, known: BoolArray, cells: FloatArray, sampling: HazardSamplingErrors | None = None
    ) -> tuple[Curves, Curves]:
        """Return the lowest and the highest curves over all orders of records inside cells.

        Kaplan-Meier survival is lowest if all censoring precedes the events of a cell, and highest if it follows;
        hazards are the other way round, and an incidence lies between lowest survival times lowest hazards and highest
        times highest. Successive events have smaller numbers at risk, so their hazards add up to at most ``-log(1 -
        hazard)``. Where nothing is known, the lowest survival is 0, and all remaining records may have any event.

        Args:
            known: The leading cells with enough records at risk.
            cells: Bounds of the event times of each cell, (cells, 2): equal bounds for ties.
            sampling: For the population, whose next event may be imminent. None: for these records.

        Returns:
            Lowest curves, and highest curves.
        """
        late = self.estimate_curves(known, cells[:, 1])
        early = self.estimate_curves(known, cells[:, 0], censored_first=True)
        lowest_hazards, highest_hazards = (np.diff(curves.cumulative_hazard, axis=-1) for curves in (late, early))
        first = int(known.sum())
        low = early.survival.clip(0, 1)
        high = late.survival.clip(0, 1)
        come_low = _prepend_value(0.0, np.cumsum(low[..., None, :-1] * lowest_hazards, axis=-1))
        come_high = _prepend_value(0.0, np.cumsum(high[..., None, :-1] * highest_hazards, axis=-1))
        whole = highest_hazards.sum(axis=-2, keepdims=True).clip(0, 1 - 1e-6)  # so that survival stays above 0
        apart = np.divide(-np.log1p(-whole), whole, out=np.ones_like(whole), where=whole > 0)
        more = _prepend_value(
            0.0, np.cumsum(highest_hazards * np.where(cells[:, 0] < cells[:, 1], apart, 1.0), axis=-1)
        )
        since = low.copy()
        if sampling is not None:
            low[..., 1:] *= np.exp(-sampling.next_any_event)
            come_high[..., 1:] -= high[..., None, 1:] * np.expm1(-sampling.next_event)
            more[..., 1:] += sampling.next_event
        if first < len(known):
            since[..., first + 1 :] = 0.0
            low[..., first + 1 :] = 0.0
            come_high[..., first + 1 :] += high[..., None, first : first + 1]
            more[..., first + 1 :] = np.inf
        return (
            Curves(low, come_low.clip(0, 1), late.cumulative_hazard, cells[:, 0], cells[:, 1], since),
            Curves(high, come_high.clip(0, 1), more, cells[:, 1], cells[:, 0], high),
        )

    def subtract_noise(self, noise: RiskTable, sampling: HazardSamplingErrors | None) -> RiskTable:
        """Return simulated true risk tables that the release allows: released counts minus fresh noise, (draws, ...).

        Args:
            noise: Simulated noise, (draws, ...).
            sampling: Simulated deviations of these records' hazards from the population's hazards, which are added to
                the events; None: the tables are of these records.
        """
        events = self.events - noise.events
        records = plausible_at_risk(self.records, noise.records)
        if sampling is not None:
            events = events + records[:, None] * sampling.hazards
        return RiskTable(events, records, self.fewest_records - noise.fewest_records)


def plausible_at_risk(records: FloatArray, noise: FloatArray) -> FloatArray:
    """Return simulated true numbers at risk that the release allows, at least one: released numbers minus noise,
    (draws, cells).

    Args:
        records: Released numbers at risk, (cells,).
        noise: Draws of their noise, (draws, cells).
    """
    return np.asarray(np.maximum(records - noise, TUNING.least_risk_of_tables))


def _prepend_value(first: float, values: FloatArray) -> FloatArray:
    """Return the values with `first` before them along the last axis.

    Args:
        first: Value to put in front.
        values: Array, (..., size).

    Returns:
        Array, (..., size + 1).
    """
    return np.concatenate([np.full((*values.shape[:-1], 1), first), values], axis=-1)


def band_over_orders(
    estimates: tuple[FloatArray, FloatArray], draws: tuple[FloatArray, FloatArray], level: float
) -> Band:
    """Return a simultaneous band of a curve whose values depend on the unknown order of events inside cells.

    The largest studentised distance between draws and released values is bounded: downwards under the order that gives
    the lowest values, upwards under the order that gives the highest.

    Args:
        estimates: Released values under the order that gives the lowest, and under that with the highest, (points,).
        draws: Simulated values under both orders, (draws, points).
        level: Simultaneous confidence level.

    Returns:
        Lower and upper bound of each point.
    """
    seen = [np.isfinite(estimate) for estimate in estimates]
    (low, high), (down, up) = (
        tuple(values[..., at] for values, at in zip(both, seen, strict=True)) for both in (estimates, draws)
    )
    sides = np.maximum(low - down, 0.0), np.maximum(up - high, 0.0)
    error = simultaneous_errors([np.concatenate(sides, axis=1)], level)
    ends = tuple(values.copy() for values in estimates)
    ends[0][seen[0]] -= error[: seen[0].sum()]
    ends[1][seen[1]] += error[seen[0].sum() :]
    return ends[0], ends[1]


def interval_over_orders(
    low: FloatArray, high: FloatArray, level: float, *, population: bool = False
) -> tuple[float, float]:
    """Return the confidence interval of a number that the released counts fix only up to the order of events inside
    cells: from a quantile of the draws of its lowest value to a quantile of the draws of its highest.

    The draws are used as they are, and not reflected, because the noise is symmetric about the released values. For
    these records each end has the level of `end_level`, below (1 + level) / 2 if orders matter more than noise; for the
    population each end has (1 + level) / 2. If a draw is NaN, the interval is (-inf, inf).

    Args:
        low: Draws of the lowest value, (draws,).
        high: Draws of the highest value, (draws,).
        level: Confidence level of both endpoints together.
        population: Whether sampling errors were drawn.
    """
    if np.isnan(low).any() or np.isnan(high).any():
        return -np.inf, np.inf
    if population:
        return -upper_quantile(-low, (1 + level) / 2), upper_quantile(high, (1 + level) / 2)
    widths = [float(np.ptp(np.quantile(values, (0.25, 0.75)))) for values in (low, high) if np.isfinite(values).all()]
    spread = max(widths, default=0.0) / (2 * NormalDist().inv_cdf(0.75))  # standard deviation of a normal distribution
    lower = float(np.median(low))
    upper = float(np.median(high))
    apart = 0.0 if lower == upper else upper - lower  # both may be infinite
    each = end_level(max(apart, 0.0) / max(spread, 1e-12) if np.isfinite(apart) else np.inf, level)  # to divide by
    return -upper_quantile(-low, each), upper_quantile(high, each)
