"""Kaplan-Meier and Nelson-Aalen curves from noisy counts, the log-rank test, and numbers from noisy risk tables."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.inference.bands import Band, end_level, simultaneous_errors, upper_quantile, upper_quantiles
from dpcurves.inference.simulation import monte_carlo_p_value, sample_multinomial, whole_records
from dpcurves.inference.two_samples import TwoSampleTest
from dpcurves.summaries.two_classes import isotonic_projection

# Kaplan-Meier and Nelson-Aalen curves from noisy counts of events and censorings, the log-rank test, and bounds where
# the order of these inside a wide cell is not known.


DEVIATIONS = 4.0
"""Standard deviations of its noise that a number at risk has to exceed, or nothing is said from there on."""
FOLLOW_UP_Z = 2.5
"""Standard deviations of its noise a number at risk has to exceed, or the curve ends; by chance 1 of 100 goes on."""
LEAST_AT_RISK = 0.5
LEAST_FLOOR = 1e-9
"""The least part of one record that may remain of those at risk, so that its share has a logarithm."""
HALF = 0.5
FEWEST_AT_RISK = 5.0
"""At fewer records at risk nothing is said of the population."""


class AtRisk(NamedTuple):
    """Events of each cell, and records that are at risk in it; or the noise of both: (..., cells)."""

    events: FloatArray
    records: FloatArray

    def select_subset(self, at: Any) -> AtRisk:
        """Some of the cells, or of the draws, by their index."""
        return AtRisk(self.events[at], self.records[at])

    def add_counts(self, other: AtRisk) -> AtRisk:
        """Both together."""
        return AtRisk(self.events + other.events, self.records + other.records)


def count_at_risk(events: FloatArray, censored: FloatArray) -> AtRisk:
    """Numbers at risk from slots of a grid that counts values outside apart, (..., cells + 2) to (..., cells).

    Times below the grid count in its first cell. Those above are at risk all along, and censored at its end. Records
    that are censored in a cell are at risk in it, as at ties of the textbook.
    """
    inside, all_ = events[..., 1:-1].copy(), (events + censored)[..., 1:].copy()
    inside[..., 0] += events[..., 0]
    all_[..., 0] += (events + censored)[..., 0]
    return AtRisk(inside, np.cumsum(all_[..., ::-1], axis=-1)[..., ::-1][..., :-1])


def find_known_cells(table: AtRisk, noise: AtRisk, z: float = DEVIATIONS) -> BoolArray:
    """The first cells, up to the one in which noise, or a small number, hides how many are at risk."""
    enough = table.records > np.maximum(LEAST_AT_RISK, z * np.sqrt(np.mean(noise.records**2, axis=0)))
    return np.logical_and.accumulate(enough)


def find_followed_cells(table: AtRisk, noise: AtRisk) -> BoolArray:
    """The first cells, up to the last one in which the number at risk is significantly above zero."""
    return find_known_cells(table, noise, FOLLOW_UP_Z)


def mask_unfollowed(curve: FloatArray, followed: BoolArray, *, settled: BoolArray | bool = False) -> FloatArray:
    """Set a curve to NaN past the cells that are followed: nobody may be at risk there.

    Args:
        curve: Numbers at the ends of cells, (..., cells).
        followed: From `find_followed_cells`, (cells,).
        settled: Curves that are known all the same, as nobody is left who could have an event, (...).
    """
    return np.where(followed | np.asarray(settled)[..., None], curve, np.nan)


def estimate_survival(table: AtRisk, known: BoolArray) -> FloatArray:
    """The share that survives each cell (Kaplan and Meier 1958), which never rises; level where nothing is known.

    Noise can make a share rise: the nearest curve that does not is taken (least squares).
    """
    raw: FloatArray = np.cumprod(1 - _estimate_hazards(table, known), dtype=np.float64)
    return np.asarray(np.clip(-isotonic_projection(-raw), 0.0, 1.0))


def hazards_from_survival(survival: FloatArray) -> FloatArray:
    """The part of those at risk that leaves in each cell, from the share that survives it."""
    before = np.append(1.0, survival[:-1])
    return np.asarray(np.clip(1 - np.divide(survival, before, out=np.ones_like(survival), where=before > 0), 0.0, 1.0))


def estimate_cumulative_hazard(table: AtRisk, known: BoolArray) -> FloatArray:
    """The sum of events over records at risk, to the end of each cell (Nelson 1969, Aalen 1978); it never falls."""
    return np.asarray(np.maximum(isotonic_projection(np.cumsum(_estimate_hazards(table, known))), 0.0))


class SurvivalSamplingErrors(NamedTuple):
    """Draws of what sampling adds to the logarithms of shares, for the population.

    The share of those at risk without an event has a beta law given its events (the beta product confidence procedure,
    Fay, Brittain and Proschan 2013). Just before the next event the true share is lowest: an event more is counted.

    Attributes:
        increments: Increments of each cell, (draws, cells).
        next_event: What an event more would add, from no cell on to the next event the same one, (draws, cells).
    """

    increments: FloatArray
    next_event: FloatArray


def sample_survival_errors(
    hazard: FloatArray, records: FloatArray, generator: np.random.Generator
) -> SurvivalSamplingErrors:
    """Draw what sampling adds to logarithms of shares that survive.

    Args:
        hazard: Hazards of the cells that are about right, between 0 and 1, (cells,).
        records: Records at risk, at least 1, (draws, cells).
        generator: For simulation over public numbers alone.
    """
    events = hazard * records
    died, remained = generator.standard_gamma(events), generator.standard_gamma(records - events + 1)
    increments = np.log(remained / (remained + died)) - np.log(_estimate_cell_survival(events, records))
    waited = sample_waiting_times(generator.random(records.shape) < events, generator)
    return SurvivalSamplingErrors(increments, -waited / np.maximum(records - events, LEAST_AT_RISK))


def sample_waiting_times(has_event: BoolArray, generator: np.random.Generator) -> FloatArray:
    """Draw how long the next event is waited for, in its mean: the same time from each event on to the next.

    Args:
        has_event: Which cells have an event, (..., cells).
        generator: For simulation over public numbers alone.
    """
    begins = has_event.copy()
    begins[..., 0] = True
    latest = np.maximum.accumulate(np.where(begins, np.arange(begins.shape[-1]), 0), axis=-1)
    return np.asarray(np.take_along_axis(generator.standard_exponential(begins.shape), latest, axis=-1))


class HazardSamplingErrors(NamedTuple):
    """Draws of what sampling adds to hazards of causes, for the population.

    Draws are as in `SurvivalSamplingErrors`; parts of those at risk that have an event of each cause have a Dirichlet law.

    Attributes:
        hazards: What is added to the hazard of each cause in each cell, (draws, causes, cells).
        next_event: What an event more of each cause would add to its cumulative hazard, (draws, causes, cells).
        next_any_event: What an event more of any cause would add to that of all causes, (draws, cells).
    """

    hazards: FloatArray
    next_event: FloatArray
    next_any_event: FloatArray

    @classmethod
    def sample_errors(
        cls, hazards: FloatArray, records: FloatArray, generator: np.random.Generator
    ) -> HazardSamplingErrors:
        """Draw what sampling adds.

        Args:
            hazards: Hazards of each cause, about right, with a sum between 0 and 1, (causes, cells).
            records: Records at risk, at least 1, (draws, cells).
            generator: For simulation over public numbers alone.
        """
        events = hazards * records[:, None]
        remained = np.maximum(records - events.sum(axis=1), 0.0)
        died, stayed = generator.standard_gamma(events), generator.standard_gamma(remained + 1)
        moved = died / (stayed + died.sum(axis=1))[:, None] - hazards
        has_event = generator.random(events.shape) < events
        at_risk = np.maximum(remained, LEAST_AT_RISK)
        waited = sample_waiting_times(has_event, generator) / at_risk[:, None]
        of_all = (
            waited[:, 0]
            if len(hazards) == 1
            else sample_waiting_times(np.asarray(has_event.any(axis=1)), generator) / at_risk
        )
        return cls(moved, waited, of_all)


def simulate_log_errors(
    table: AtRisk,
    noise: AtRisk,
    known: BoolArray,
    sampling: SurvivalSamplingErrors | None,
    *,
    before_next_event: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Return the shares that were read, (known cells,), and simulated errors of their logarithms, (draws, known cells).

    By noise: what was released less noise that is drawn afresh has hazards of its own, and their shares are as far from
    those that were read. So neither hazards nor the number at risk are taken as known where few are left.

    Args:
        table: What was released, without bias.
        noise: Simulated, (draws, cells).
        known: From `find_known_cells`.
        sampling: From `sample_survival_errors`, for the population; None: for these records.
        before_next_event: Whether the share just before the next event of the population is meant.
    """
    told, moved = table.select_subset(known), noise.select_subset((..., known))
    # Without noise a share of these records may be 0; that of the population is not.
    floor = 1.0 if sampling is not None else np.minimum(np.sqrt(np.mean(moved.records**2, axis=0)), 1.0) + LEAST_FLOOR
    read = np.log(_estimate_cell_survival(told.events, np.maximum(told.records, LEAST_AT_RISK), floor))
    left = _estimate_cell_survival(told.events - moved.events, np.maximum(told.records - moved.records, 1.0), floor)
    steps = np.log(left) - read
    if sampling is not None:
        steps = steps + sampling.increments[:, known]
    errors = np.cumsum(steps, axis=1)
    if sampling is not None and before_next_event:
        errors = errors + sampling.next_event[:, known]
    return np.exp(np.cumsum(read)), np.asarray(errors)


def _estimate_cell_survival(events: FloatArray, records: FloatArray, floor: FloatArray | float = 1.0) -> FloatArray:
    """The share of those at risk that has no event: above 0, so that it has a logarithm."""
    return np.asarray(np.maximum(1 - events / records, floor / (records + 1)))


class TieOrders(NamedTuple):
    """Both ends of what exact times may give: events of each cell first, or the censored of each cell first.

    Attributes:
        events_first: The share that survives each cell where its events come first, (cells,): that of ties in the textbook. In
            known cells above 0, so that it has a logarithm.
        censored_first: The share where all that are censored in a cell leave before its events, (cells,).
        events_first_errors, censored_first_errors: From `simulate_log_errors`.
    """

    events_first: FloatArray
    censored_first: FloatArray
    events_first_errors: FloatArray
    censored_first_errors: FloatArray


def survival_band(orders: TieOrders, known: BoolArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends of the shares that survive, all correct at once with chance `level`: each (cells,).

    The largest studentised error of a logarithm is bounded (equal precision: Nair 1984), downwards for the order of a
    cell that leaves fewest, upwards for the one that leaves most. Kaplan and Meier's estimate from exact times lies
    between both orders: each event takes the larger part of those at risk, the more were censored before. Where nothing
    is known the lower end is 0.

    Args:
        orders: Shares and errors of both orders.
        known: From `find_known_cells`.
        level: The chance that all ends hold.
    """
    down, up = (np.full(len(orders.events_first), np.inf) for _ in range(2))
    sides = [np.maximum(-orders.censored_first_errors, 0.0), np.maximum(orders.events_first_errors, 0.0)]
    down[known], up[known] = np.split(simultaneous_errors([np.concatenate(sides, axis=1)], level), 2)
    lower, upper = (
        orders.censored_first * np.exp(-down),
        np.minimum(orders.events_first * np.exp(np.where(known, up, 0.0)), 1.0),
    )
    upper = np.where(known, upper, 1.0)  # the share never rises: that of the cell before holds
    return np.minimum.accumulate(lower), np.minimum.accumulate(np.maximum(upper, orders.events_first))


def median_cells(orders: TieOrders, known: BoolArray, level: float) -> tuple[int, int]:
    """Between which cells the first one lies that at most half survive, with chance `level`.

    From the first cell that half or fewer may survive to the last before which more than half may, each cell judged on
    its own with half of the error chance (Brookmeyer and Crowley 1982), by the order of its records that is least
    favourable. That is enough: the interval begins beyond the median only if too many seem to survive at the median
    itself, and ends before it only if too few do just before it. The number of cells where there is none.

    Args:
        orders: Shares and errors of both orders.
        known: From `find_known_cells`.
        level: The chance.
    """
    cells = len(orders.events_first)
    each, told = (1 + level) / 2, known
    down, up = (np.zeros(cells) for _ in range(2))
    down[known] = np.maximum(upper_quantiles(-orders.censored_first_errors, each), 0.0)
    up[known] = np.maximum(upper_quantiles(orders.events_first_errors, each), 0.0)
    may_be_half = ~known | (orders.censored_first * np.exp(-down) <= HALF)
    may_be_more = told & (orders.events_first * np.exp(up) > HALF)
    last = int(np.flatnonzero(may_be_more)[-1]) if may_be_more.any() else -1
    if not told.any() or last == np.flatnonzero(told)[-1]:
        last = cells - 1  # beyond what is told the curve may be level
    return int(np.argmax(np.append(may_be_half, True))), last + 1


def _estimate_hazards(found: AtRisk, known: BoolArray) -> FloatArray:
    records = np.where(known, np.maximum(found.records, LEAST_AT_RISK), 1.0)
    return np.where(known, np.minimum(found.events / records, 1.0), 0.0)


# By how much a survival curve may lie too high because its cells of time are wide, as noisy counts tell.
#
# Events of a cell are taken to come before records are censored in it. If they came after, fewer were at risk. The
# estimate of Kaplan and Meier from exact times lies between these two, in whatever order they came. If records are
# censored evenly over a cell, half of them are at risk for its events (the actuarial estimate, Cutler and Ederer 1958).


LEAST_RISE = 0.02
"""A smaller share of the records is not spoken of."""
MOST_DRAWS = 400
"""Draws of noise by which it is judged: they tell its deviation within a twentieth or so."""


def count_censored_inside(censored: FloatArray) -> FloatArray:
    """The censored of each cell, of slots that count values outside apart: (..., cells + 2) to (..., cells)."""
    inside = censored[..., 1:-1].copy()
    inside[..., 0] += censored[..., 0]  # as in `count_at_risk`
    return inside


def find_censoring_bias(table: AtRisk, censored: FloatArray) -> FloatArray:
    """By how much a curve lies above the one whose `censored` all leave before the events of their cell: (..., cells).

    >>> find_censoring_bias(AtRisk(np.array([5.0, 1.0]), np.array([10.0, 3.0])), np.array([2.0, 0.0]))
    array([0.125     , 0.08333333])
    """
    return np.asarray(
        _estimate_unconstrained_survival(table)
        - _estimate_unconstrained_survival(table._replace(records=table.records - censored))
    )


def estimate_censoring_bias(table: AtRisk, censored: FloatArray, noise: AtRisk, noise_of_censored: FloatArray) -> float:
    """Return how far the curve lies too high, as a share of all records, if records are censored evenly over cells.

    0 where it is below `LEAST_RISE`, or not `DEVIATIONS` of its noise. The cell in which follow-up ends says nothing,
    unless it is the only one: those that are still at risk at a fixed end are censored at one time, after its events.

    Args:
        table: What was released of the cells in which it is known how many are at risk, without bias, (cells,).
        censored: The released counts of the censored in them, (cells,).
        noise: The noise of `table`, simulated, (draws, cells).
        noise_of_censored: That of `censored`.
    """
    noise, lost = noise.select_subset(slice(MOST_DRAWS)), noise_of_censored[:MOST_DRAWS]
    within = find_inner_cells(table, censored, noise, lost)
    table, noise, censored, lost = (
        table.select_subset(within),
        noise.select_subset((..., within)),
        censored[within],
        lost[:, within],
    )
    risen = find_censoring_bias(table, censored / 2)
    error = find_censoring_bias(table.add_counts(noise), (censored + lost) / 2) - risen
    is_clear = (risen > LEAST_RISE) & (risen > DEVIATIONS * np.sqrt(np.mean(error**2, axis=0)))
    return float(risen.max(where=is_clear, initial=0.0))


def find_inner_cells(table: AtRisk, censored: FloatArray, noise: AtRisk, noise_of_censored: FloatArray) -> BoolArray:
    """Return the cells past which significantly many records are followed, and the first one: a mask, (cells,)."""
    remaining = table.records - table.events - censored
    error = noise.records - noise.events - noise_of_censored
    inner = np.logical_and.accumulate(remaining > DEVIATIONS * np.sqrt(np.mean(error**2, axis=0)) + LEAST_AT_RISK)
    inner[:1] = True
    return np.asarray(inner)


def _estimate_unconstrained_survival(found: AtRisk) -> FloatArray:
    """The share that survives each cell; noise may make it rise."""
    share = found.events / np.maximum(found.records, LEAST_AT_RISK)
    return np.asarray(np.cumprod(1 - np.clip(share, -1.0, 1.0), axis=-1))


LEAST_VARIANCE = 1e-9
"""Squared records: where neither chance nor noise moves the events, any difference is a large one."""
LEAST_MOVE = 0.5
"""Standard deviations: a statistic that is moved by less is found at level 5% in at most 8%."""


class LogRankScore(NamedTuple):
    """Events of the first group more than expected, and the variance of that by chance, each (...)."""

    excess: FloatArray
    variance: FloatArray


def compute_log_rank_score(first: AtRisk, second: AtRisk, *, weight: FloatArray | float = 1.0) -> LogRankScore:
    """The events of the first group beyond those expected if both survive alike (Mantel 1966), from (..., cells).

    The variance is that of a hypergeometric law, cell by cell. Numbers below zero are taken as zero. Cells may have
    weights.
    """
    ones, others = (np.maximum(each.records, 0.0) for each in (first, second))
    records, events = ones + others, first.events + second.events
    share = np.divide(ones, records, out=np.full_like(records, 0.5), where=records > 0)
    left = np.clip(np.divide(records - events, records - 1, out=np.zeros_like(records), where=records > 1), 0.0, 1.0)
    scatter = weight**2 * np.maximum(events, 0.0) * share * (1 - share) * left
    more = weight * (first.events - events * share)
    return LogRankScore(np.asarray(more.sum(axis=-1)), np.asarray(scatter.sum(axis=-1)))


class Stratum(NamedTuple):
    """At-risk tables of two groups inside one stratum, with simulated noise, for a stratified log-rank test.

    Attributes:
        groups: The released groups, without bias, (cells,).
        noises: Simulated, (draws, cells).
        known_cells: The first cells, in which enough are at risk in both groups.
        has_entries: Whether records come under observation in later cells, too.
    """

    groups: tuple[AtRisk, AtRisk]
    noises: tuple[AtRisk, AtRisk]
    known_cells: BoolArray
    has_entries: bool = False

    def fleming_harrington_weights(self, rho: float, gamma: float) -> FloatArray | float:
        """Fleming and Harrington's weights (1991) of the known cells, by the share of both groups that is left before.

        They are those of what was released, for draws too.
        """
        if rho == gamma == 0:
            return 1.0
        left = estimate_survival(self.groups[0].add_counts(self.groups[1]), self.known_cells)
        before = np.append(1.0, left)[:-1][self.known_cells]
        return np.asarray(before**rho * (1 - before) ** gamma)


def log_rank(
    strata: Sequence[Stratum], generator: np.random.Generator, rho: float = 0.0, gamma: float = 0.0
) -> TwoSampleTest:
    """The square of the excess over its variance by chance and by noise, and how often it is as large by these alone.

    Each draw (a parametric bootstrap) takes as many records as each group seems to have, gives them events at the
    hazards that both groups together seem to have and censors them as their own group seems to be censored, and adds
    the noise. Where records enter later, the excess by chance is drawn from the normal law of its variance instead.
    Without noise the statistic is that of the textbook, whose law is nearly chi-squared with 1 degree. Excesses and
    variances of strata add up.

    Args:
        strata: Both groups in each of them.
        generator: For the records.
        rho: The power of the share that is left, for cells' weights.
        gamma: That of the share that is not.
    """
    found, null, noise = LogRankScore(np.zeros(()), np.zeros(())), LogRankScore(np.zeros(()), np.zeros(())), 0.0
    for each in strata:
        if not each.known_cells.any():
            continue
        first, second = (group.select_subset(each.known_cells) for group in each.groups)
        moved, weight = (
            [noise.select_subset((..., each.known_cells)) for noise in each.noises],
            each.fleming_harrington_weights(rho, gamma),
        )
        own = compute_log_rank_score(first, second, weight=weight)
        scattered = compute_log_rank_score(first.add_counts(moved[0]), second.add_counts(moved[1]), weight=weight)
        if each.has_entries:
            chance = np.sqrt(own.variance) * generator.standard_normal(len(moved[0].events))
            alike = LogRankScore(scattered.excess - own.excess + chance, scattered.variance)
        else:
            alike = _simulate_null_scores((first, second), moved, weight, generator)
        found, null = (LogRankScore(*map(np.add, *both)) for both in ((found, own), (null, alike)))
        noise += float(scattered.excess.var())
    if null.excess.ndim == 0:
        return TwoSampleTest(nan, nan)  # nobody is known to be at risk in both groups
    reached, shown = (each.excess**2 / np.maximum(each.variance + noise, LEAST_VARIANCE) for each in (found, null))
    return TwoSampleTest(float(reached), monte_carlo_p_value(float(reached), shown))


def estimate_log_rank_bias(
    groups: tuple[AtRisk, AtRisk],
    censored: tuple[FloatArray, FloatArray],
    noises: tuple[AtRisk, AtRisk],
    noises_of_censored: tuple[FloatArray, FloatArray],
) -> float:
    """The shift of the excess if records are censored evenly over their cells, in its standard deviations.

    Then half of them are not at risk when an event of their cell comes, where all were taken to be: which makes a
    difference between groups that are censored differently. 0 if that is less than `LEAST_MOVE`, or may be noise.

    Args:
        groups: The released groups, without bias, in the cells that the test is of, (cells,).
        censored: The released counts of the censored of both, (cells,).
        noises: The noise of the groups, simulated, (draws, cells).
        noises_of_censored: That of the censored.
    """
    added = tuple(map(AtRisk.add_counts, groups, noises))
    gone = tuple(each + noise for each, noise in zip(censored, noises_of_censored, strict=True))
    read, scattered = compute_log_rank_score(*groups), compute_log_rank_score(*added)
    move = _excess_with_even_censoring(groups, censored) - read.excess
    error = float(np.sqrt(np.mean((_excess_with_even_censoring(added, gone) - scattered.excess - move) ** 2)))
    deviation = float(np.sqrt(max(float(read.variance) + float(scattered.excess.var()), LEAST_VARIANCE)))
    told = abs(float(move)) > max(DEVIATIONS * error, LEAST_MOVE * deviation)
    return abs(float(move)) / deviation if told else 0.0


def _excess_with_even_censoring(groups: Sequence[AtRisk], censored: Sequence[FloatArray]) -> FloatArray:
    """The excess of events if half of the censored are not at risk."""
    fewer = (each._replace(records=each.records - gone / 2) for each, gone in zip(groups, censored, strict=True))
    return compute_log_rank_score(*fewer).excess


def _simulate_null_scores(
    groups: tuple[AtRisk, AtRisk], noises: list[AtRisk], weight: FloatArray | float, generator: np.random.Generator
) -> LogRankScore:
    hazard = _estimate_monotone_hazards(groups[0].add_counts(groups[1]))
    first, second = (_sample_at_risk(each, hazard, len(noises[0].events), generator) for each in groups)
    return compute_log_rank_score(first.add_counts(noises[0]), second.add_counts(noises[1]), weight=weight)


def _sample_at_risk(group: AtRisk, hazard: FloatArray, draws: int, generator: np.random.Generator) -> AtRisk:
    """Records that leave cell by cell, by an event or censored; those that stay longer are at risk in all cells."""
    without = np.append(group.records[1:], group.records[-1] - group.events[-1])
    censored = _estimate_monotone_hazards(AtRisk(group.records - group.events - without, group.records - group.events))
    stay = np.cumprod((1 - hazard) * (1 - censored))
    before = np.append(1.0, stay[:-1])
    chances = np.concatenate([before * hazard, before * (1 - hazard) * censored, stay[-1:]])
    records = whole_records(float(group.records[0]))
    leaving = sample_multinomial(chances, records, draws, generator).astype(np.float64)
    cells = len(hazard)
    gone = leaving[:, :cells] + leaving[:, cells:-1]
    return AtRisk(leaving[:, :cells], records - np.cumsum(gone, axis=-1) + gone)


def _estimate_monotone_hazards(group: AtRisk) -> FloatArray:
    """The chance to leave in each cell of those who are at risk, from a curve that never rises."""
    return hazards_from_survival(estimate_survival(group, np.ones(len(group.events), dtype=np.bool_)))


LEAST_RISK_OF_TABLES = 1.0
LEAST_SPREAD = 1e-12
MOST_HAZARD = 1 - 1e-6


class Curves(NamedTuple):
    """Curves of a group, each with any number of leading axes.

    Attributes:
        survival: The share without any event before each edge, (..., cells + 1).
        incidence: The share with an event of each cause before each edge (Aalen and Johansen), (..., causes, cells + 1).
        cumulative_hazard: The cumulative hazard of each cause (Nelson and Aalen), (..., causes, cells + 1).
        event_times: When events of each cell come, (cells,).
        opposite_event_times: When they come in the other curves, where `event_times` is one end of a cell: the other end, (cells,).
        conditioning_survival: The share without any event that a later share is a part of: `survival`, but for the next event of the
            population, (..., cells + 1).
    """

    survival: FloatArray
    incidence: FloatArray
    cumulative_hazard: FloatArray
    event_times: FloatArray
    opposite_event_times: FloatArray
    conditioning_survival: FloatArray

    def restricted_mean(self, until: float, edge: int) -> FloatArray:
        """The mean time without an event, or until `until`, which is the time of that edge: (...)."""
        came = self.survival[..., :edge] - self.survival[..., 1 : edge + 1]
        return np.asarray(
            (came * np.minimum(self.event_times[:edge], until)).sum(axis=-1) + until * self.survival[..., edge]
        )

    def time_lost(self, until: float, edge: int) -> FloatArray:
        """The mean time that each cause takes from `until` (Andersen 2013): (..., causes)."""
        came = np.diff(self.incidence[..., : edge + 1], axis=-1)
        return np.asarray((came * np.maximum(until - self.opposite_event_times[:edge], 0.0)).sum(axis=-1))


class RiskTable(NamedTuple):
    """Events of each cause, and records at risk, by cell: released ones, their noise, or draws.

    Attributes:
        events: (..., causes, cells).
        records: At risk in each cell where all that are censored in it leave after its events, and all that enter in it
            come before them, (..., cells).
        fewest_records: Where all are censored before its events, and enter after them, (..., cells).
    """

    events: FloatArray
    records: FloatArray
    fewest_records: FloatArray

    def estimate_curves(self, known: BoolArray, event_times: FloatArray, *, censored_first: bool = False) -> Curves:
        """The curves, level where nothing is known; in the other order of a cell, where it is `censored_first`.

        Hazards may be below zero where the noise is: so are they right on average.
        """
        share = (
            self.events
            / np.maximum(self.fewest_records if censored_first else self.records, LEAST_RISK_OF_TABLES)[..., None, :]
        )
        share = np.where(known, share.clip(-1, 1), 0.0)
        left = _prepend_value(1.0, np.cumprod(1 - share.sum(axis=-2).clip(-1, 1), axis=-1))
        come = _prepend_value(0.0, np.cumsum(left[..., None, :-1] * share, axis=-1))
        return Curves(left, come, _prepend_value(0.0, np.cumsum(share, axis=-1)), event_times, event_times, left)

    def bound_curves(
        self, known: BoolArray, cells: FloatArray, sampling: HazardSamplingErrors | None = None
    ) -> tuple[Curves, Curves]:
        """The lowest and the highest each number may be, in whatever order records left inside cells.

        Kaplan and Meier's share is lowest where all are censored before the events of their cell, and highest where
        they are censored after them; hazards are the other way round, and an incidence lies between the lowest share
        times the lowest hazards, and the highest times the highest. Events that come one after the other find fewer at
        risk, so that their hazards add up to ``-log(1 - hazard)`` at most. Where nothing is known the lowest share is
        0, and all that were left may have any of the events.

        Args:
            known: In which of the first cells enough are at risk.
            cells: Between which times the events of each cell come, (cells, 2): the same time twice, if they are tied.
            sampling: For the population, whose next event may come just now. None: for these records.
        """
        late, early = (
            self.estimate_curves(known, cells[:, 1]),
            self.estimate_curves(known, cells[:, 0], censored_first=True),
        )
        least, most = (np.diff(each.cumulative_hazard, axis=-1) for each in (late, early))
        first, low, high = int(known.sum()), early.survival.clip(0, 1), late.survival.clip(0, 1)
        come_low = _prepend_value(0.0, np.cumsum(low[..., None, :-1] * least, axis=-1))
        come_high = _prepend_value(0.0, np.cumsum(high[..., None, :-1] * most, axis=-1))
        whole = most.sum(axis=-2, keepdims=True).clip(0, MOST_HAZARD)
        apart = np.divide(-np.log1p(-whole), whole, out=np.ones_like(whole), where=whole > 0)
        more = _prepend_value(0.0, np.cumsum(most * np.where(cells[:, 0] < cells[:, 1], apart, 1.0), axis=-1))
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
        """Tables that the release does not contradict: what was released less noise that is drawn afresh.

        Args:
            noise: Simulated, (draws, ...).
            sampling: What sampling adds to the hazards of the population; None: tables of these records.
        """
        events, records = self.events - noise.events, plausible_at_risk(self.records, noise.records)
        if sampling is not None:
            events = events + records[:, None] * sampling.hazards
        return RiskTable(events, records, self.fewest_records - noise.fewest_records)


def plausible_at_risk(records: FloatArray, noise: FloatArray) -> FloatArray:
    """Numbers at risk that the release does not contradict, at least one, (draws, cells)."""
    return np.asarray(np.maximum(records - noise, LEAST_RISK_OF_TABLES))


def _prepend_value(first: float, values: FloatArray) -> FloatArray:
    """Values with one more before them, along the last axis."""
    return np.concatenate([np.full((*values.shape[:-1], 1), first), values], axis=-1)


def band_over_orders(
    estimates: tuple[FloatArray, FloatArray], draws: tuple[FloatArray, FloatArray], level: float
) -> Band:
    """Ends that hold all points at once, drawn in the order of records that makes each lowest, and highest.

    The largest studentised distance of draws from what was released is bounded, downwards for the one order, upwards
    for the other.

    Args:
        estimates: The lowest and the highest of what was released, (points,).
        draws: Draws of both, (draws, points).
        level: The chance that all ends hold.
    """
    seen = [np.isfinite(each) for each in estimates]
    (low, high), (down, up) = (
        tuple(each[..., at] for each, at in zip(both, seen, strict=True)) for both in (estimates, draws)
    )
    sides = np.maximum(low - down, 0.0), np.maximum(up - high, 0.0)
    error = simultaneous_errors([np.concatenate(sides, axis=1)], level)
    ends = tuple(each.copy() for each in estimates)
    ends[0][seen[0]] -= error[: seen[0].sum()]
    ends[1][seen[1]] += error[seen[0].sum() :]
    return ends[0], ends[1]


def interval_over_orders(
    low: FloatArray, high: FloatArray, level: float, *, population: bool = False
) -> tuple[float, float]:
    """Ends that hold a number, drawn in the order of records that makes it lowest and in the one that makes it highest.

    Noise is taken to be symmetric about what was released, so that draws are as far from it as it is from the truth.
    Where orders matter more than noise, each end holds with a smaller chance (see `end_level`). For the
    population the next event, too, is between both, so that nothing is known of orders alone.

    Args:
        low: (draws,).
        high: (draws,), each at least about as large.
        level: The chance that both ends hold.
        population: Whether sampling was drawn, too.
    """
    if np.isnan(low).any() or np.isnan(high).any():
        return -np.inf, np.inf
    if population:
        return -upper_quantile(-low, (1 + level) / 2), upper_quantile(high, (1 + level) / 2)
    spread = max((float(np.ptp(np.quantile(each, (0.25, 0.75)))) for each in (low, high) if np.isfinite(each).all()),
                 default=0.0) / (2 * NormalDist().inv_cdf(0.75))  # fmt: skip
    apart = float(np.median(high) - np.median(low))
    each = end_level(max(apart, 0.0) / max(spread, LEAST_SPREAD) if np.isfinite(apart) else np.inf, level)
    return -upper_quantile(-low, each), upper_quantile(high, each)
