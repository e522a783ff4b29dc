"""Log-rank test of several groups under differential privacy, test for trend, and medians of survival and follow-up.

    multivariate_log_rank_test    released survival curves of groups -> statistic and p-value of equal survival
    median_difference             two curves -> difference of their median survival times, with intervals
    median_follow_up              a curve -> median time under observation

With events d_i and records at risk Y_i of group i in a cell, d and Y of all groups together, and weights w,

    score         z_i  = sum over cells of w * (d_i - d * Y_i / Y)
    covariance    V_ij = sum over cells of w**2 * d * (Y - d) / (Y - 1) * (Y_i / Y) * ((i == j) - Y_j / Y)
    statistic     (C z)' (C (V + covariance of the noise) C')**-1 (C z)

For any difference between groups, C leaves out one group. For a trend, C is one row of scores of the groups (Tarone
1975). P-values are simulated with sampling and noise, because the released counts have both.

Also called: multivariate log-rank test (lifelines), ``survdiff`` of R, Tarone's test for trend, reverse Kaplan-Meier
estimate.

Formal guarantees: all results are functions of released counts and of simulated noise; no record is read, so they cost
no budget.

References: Mantel 1966; Peto and Peto 1972; Tarone 1975.

>>> scores = compute_group_scores(np.array([[1.0, 1], [1, 0]]), np.array([[2.0, 1], [2, 1]]))  # (groups, cells)
>>> scores.excess.tolist(), scores.covariance.round(3).tolist()
([0.5, -0.5], [[0.583, -0.583], [-0.583, 0.583]])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, nan
from typing import Any, NamedTuple

import numpy as np

from dpcurves.arguments import (
    InvalidArgument,
    check_common_arguments,
    convert_to_double,
    require_power,
    require_sequence,
    require_type,
)
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.curves.question import require_independent
from dpcurves.curves.result import warn_about_notes
from dpcurves.inference.simulation import monte_carlo_p_value, public_generator

from . import inference
from .kaplan_meier import EventTable, LogRankTest, Survival, notes_on_log_rank_bias
from .survival_readings import LATER, SINGLE_CAUSE_READER, SURVIVAL_EXAMPLE, TIME, Estimate
from .variants import DelayedEntry


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the tests of several groups. Privacy does not depend on them."""

    least_variance: float = (
        1e-9  # events squared; added to the covariance of groups, which is else singular if a group has no events
    )


TUNING = Tuning()
"""Default numbers that steer the tests of several groups; privacy does not depend on them."""


class GroupScores(NamedTuple):
    """Observed minus expected events of each group, and the covariance of these differences under equal survival.

    Attributes:
        excess: Differences, shape (..., groups). They add up to 0.
        covariance: Covariance matrix, shape (..., groups, groups). Each row adds up to 0.
    """

    excess: FloatArray
    covariance: FloatArray


def compute_group_scores(events: FloatArray, at_risk: FloatArray, weights: FloatArray | float = 1.0) -> GroupScores:
    """Return the log-rank scores of k groups (Mantel 1966; Peto and Peto 1972).

    Under equal survival the events of a cell are a random sample of the records at risk, so the covariance is that of a
    multivariate hypergeometric distribution. Noisy numbers at risk below zero count as zero.

    Args:
        events: Events of each group in each cell, shape (..., groups, cells).
        at_risk: Records at risk in each cell, shape (..., groups, cells).
        weights: Weight of each cell, shape (cells,).

    Returns:
        Observed minus expected events of each group, and their covariance.

    >>> scores = compute_group_scores(np.array([[1.0, 1], [1, 0]]), np.array([[2.0, 1], [2, 1]]))
    >>> scores.excess
    array([ 0.5, -0.5])
    """
    records = np.maximum(at_risk, 0.0)
    total = records.sum(axis=-2)
    died = events.sum(axis=-2)
    fraction = np.divide(records, total[..., None, :], out=np.zeros_like(records), where=total[..., None, :] > 0)
    survivors = np.divide(total - died, total - 1, out=np.zeros_like(total), where=total > 1).clip(0.0, 1.0)
    scale = weights**2 * np.maximum(died, 0.0) * survivors
    excess = (weights * (events - died[..., None, :] * fraction)).sum(axis=-1)
    joint = np.einsum("...gc,...hc->...gh", fraction * scale[..., None, :], fraction)
    own = (fraction * scale[..., None, :]).sum(axis=-1)
    return GroupScores(excess, own[..., None] * np.eye(own.shape[-1]) - joint)


@check_common_arguments
def multivariate_log_rank_test(
    curves: Mapping[Any, Survival] | Sequence[Survival],
    *,
    trend: Sequence[float] | bool | None = None,
    until: float | None = None,
    rho: float = 0.0,
    gamma: float = 0.0,
    generator: np.random.Generator | None = None,
    tuning: Tuning = TUNING,
) -> LogRankTest:
    """Test whether two or more groups have the same survival. Spends no budget.

    The statistic is the vector of observed minus expected events, squared in units of its covariance under equal
    survival plus the covariance of the noise. Without noise it equals the statistic of R's ``survdiff`` and of
    lifelines' ``multivariate_logrank_test``, with the events of a cell taken as tied; for two groups it equals the
    statistic of `log_rank_test`. The p-value is simulated, with sampling and noise (see
    `dpcurves_survival.inference.log_rank`). Cells are used as long as the number at risk in every group is clear of the
    noise.

    Args:
        curves: Curves of *different* records on one grid: `dp.survival` with ``by=``, or a sequence of curves.
        trend: Scores of the groups, for the test of a trend (Tarone 1975), which has one degree of freedom; True: 0, 1,
            2, ... in the order of the curves. None: any difference.
        until: The time up to which events count; the last cell used ends there or before. None: all times.
        rho: Power of the pooled survival in the weights of Fleming and Harrington (1991), from 0; 0 for both powers:
            equal weights.
        gamma: Power of one minus the pooled survival in these weights, from 0.
        generator: Random generator of the simulation; None: a fixed public seed, so that results can be repeated.
        tuning: Numbers that steer the test.

    Returns:
        The `statistic`, its `p_value` for the population, and `notes` if the test may be biased.

    Raises:
        TypeError: An item is not a survival curve.
        ValueError: There are fewer than two curves, grids differ, units have several records, or an argument lies
            outside its range.

    Warns:
        CurveWarning: Each of the result's `notes`.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=10), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> doses = [dp.survival([time, 9.5] * 900, [1, 0] * 900, grid=grid, **spent) for time in (2.5, 3.5, 5.5)]
    >>> dp.multivariate_log_rank_test(doses, trend=True).p_value < 0.01
    True
    """
    groups = _group_curves(curves)
    contrasts = _parse_contrasts(trend, len(groups))
    rho = require_power("rho", rho)
    gamma = require_power("gamma", gamma)
    random = public_generator(generator)
    tables = [curve._event_table for curve in groups]
    noises = [curve._sample_noise(random) for curve in groups]
    draws = min(len(noise.censored) for noise in noises)
    noises = [noise.select_subset(slice(draws)) for noise in noises]
    used = _cells_until(groups[0], until)
    for table, noise in zip(tables, noises, strict=True):
        used &= inference.find_known_cells(table.at_risk, noise.at_risk)
    if not used.any():
        return LogRankTest(nan, nan)
    notes = _bias_notes(groups, tables, noises, used)
    events = np.stack([table.at_risk.events[used] for table in tables])
    at_risk = np.stack([table.at_risk.records[used] for table in tables])
    event_noise = np.stack([noise.at_risk.events[:, used] for noise in noises], axis=1)
    at_risk_noise = np.stack([noise.at_risk.records[:, used] for noise in noises], axis=1)
    pooled = inference.AtRisk(events.sum(axis=0), at_risk.sum(axis=0))
    weights: FloatArray | float = 1.0
    if rho or gamma:
        pooled_survival = inference.estimate_survival(pooled, np.ones(len(pooled.events), dtype=np.bool_))
        before = np.append(1.0, pooled_survival)[:-1]
        weights = before**rho * (1 - before) ** gamma
    released = compute_group_scores(events, at_risk, weights)
    with_noise = compute_group_scores(events + event_noise, at_risk + at_risk_noise, weights)
    noise_covariance = np.cov(with_noise.excess, rowvar=False)
    if any(isinstance(curve, DelayedEntry) for curve in groups):
        # Records enter later, so numbers at risk cannot be simulated from exits alone: sampling is taken as normal.
        sampling = random.multivariate_normal(np.zeros(len(groups)), released.covariance, size=draws, method="svd")
        null = GroupScores(with_noise.excess - released.excess + sampling, with_noise.covariance)
    else:
        hazard = inference.estimate_monotone_hazards(pooled)
        samples = [
            inference.sample_at_risk(inference.AtRisk(events[group], at_risk[group]), hazard, draws, random)
            for group in range(len(groups))
        ]
        null = compute_group_scores(
            np.stack([sample.events for sample in samples], axis=1) + event_noise,
            np.stack([sample.records for sample in samples], axis=1) + at_risk_noise,
            weights,
        )
    statistic, simulated = (
        _quadratic_forms(scores.excess, scores.covariance + noise_covariance, contrasts, tuning.least_variance)
        for scores in (released, null)
    )
    test = LogRankTest(float(statistic), monte_carlo_p_value(float(statistic), simulated), notes)
    warn_about_notes(test)
    return test


def _group_curves(curves: Any) -> list[Survival]:
    """Return the survival curves as a list, after checking that they can be compared.

    Args:
        curves: A mapping of groups to curves, or a sequence of curves.

    Raises:
        InvalidArgument: There are fewer than two curves, their grids differ, or units may have several records.
        WrongArgumentType: An element is not a survival curve.
    """
    groups: list[Any] = []
    if isinstance(curves, Mapping):
        groups = list(curves.values())
    elif isinstance(curves, Sequence):
        groups = list(curves)
    if len(groups) < 2:
        raise InvalidArgument("curves", "two or more survival curves are needed, as dp.survival gives them with by=")
    for curve in groups:
        require_type("curves", curve, Survival, SURVIVAL_EXAMPLE)
        require_independent(curve.privacy)
        if not np.array_equal(curve.x, groups[0].x):
            raise InvalidArgument("curves", "all curves must be on the same grid: ask for all on one grid")
    return groups


def _parse_contrasts(trend: Sequence[float] | bool | None, groups: int) -> FloatArray:
    """Return the tested contrasts of the groups, shape (contrasts, groups).

    Args:
        trend: None or False: any difference, so all groups but the last. True: a trend in 0, 1, 2, ... A list: a trend
            in these scores.
        groups: Number of groups.

    Raises:
        InvalidArgument: The list does not hold one finite number for each group, or all are equal.
    """
    if trend is None or trend is False:
        return np.eye(groups)[:-1]
    items = range(groups) if trend is True else require_sequence("trend", trend, "a list of numbers, as in [0, 1, 2],")
    scores = np.array([nan if number is None else number for number in map(convert_to_double, items)])
    if scores.shape != (groups,) or not np.isfinite(scores).all() or np.ptp(scores) == 0:
        raise InvalidArgument(
            "trend", f"{groups} different numbers are needed, one for each curve; or True for 0, 1, 2, ..."
        )
    return np.asarray((scores - scores.mean()) / np.ptp(scores))[None]


def _cells_until(curve: Survival, until: float | None) -> BoolArray:
    """Return the mask of the cells that end at a time or before, (cells,); all cells if it is None.

    Args:
        curve: A curve, for its grid.
        until: The time, in the unit of the grid.

    Raises:
        InvalidArgument: `until` is no number, or does not lie above the start of the grid and up to its end.
    """
    ends = curve._cell_bounds[:, 1]
    if until is None:
        return np.ones(len(ends), dtype=np.bool_)
    last = convert_to_double(until)
    if last is None or not curve.x[0] < last <= curve.x[-1]:
        raise InvalidArgument(
            "until", f"must be a time above {curve.x[0]:g} and up to {curve.x[-1]:g}, the range of the grid"
        )
    return np.asarray(ends <= last)


def _quadratic_forms(excess: FloatArray, covariance: FloatArray, contrasts: FloatArray, least: float) -> FloatArray:
    """Return the test statistics of the hypothesis that contrasts of the scores are 0: ``(C z)' (C V C')**-1 (C z)``,
    shape (...).

    Args:
        excess: Scores z of the groups, shape (..., groups).
        covariance: Covariance V, shape (..., groups, groups).
        contrasts: Matrix C, shape (contrasts, groups).
        least: Number added to the diagonal of ``C V C'``, so that it has an inverse.
    """
    values = excess @ contrasts.T
    variance = contrasts @ covariance @ contrasts.T + least * np.eye(len(contrasts))
    return np.asarray((values * np.linalg.solve(variance, values[..., None])[..., 0]).sum(axis=-1))


def _bias_notes(
    groups: Sequence[Survival], tables: Sequence[EventTable], noises: Sequence[EventTable], used: BoolArray
) -> tuple[str, ...]:
    """Return a note if censoring inside cells may bias the comparison of one group with all others together.

    Args:
        groups: The curves.
        tables: Released counts of each curve.
        noises: Simulated noise of these counts.
        used: Mask of the cells that the test uses, (cells,).

    Returns:
        The notes of the first such group; empty if there is none, or if times are declared values.
    """
    if groups[0].grid.values is not None:
        return ()
    inner = used.copy()
    for table, noise in zip(tables, noises, strict=True):
        inner &= inference.find_inner_cells(table.at_risk, table.censored, noise.at_risk, noise.censored)
    if not inner.any():
        return ()

    def split(parts: Sequence[EventTable], group: int) -> list[EventTable]:
        """Return two tables, of one group and of all others together, both cut to the `inner` cells.

        Args:
            parts: Released counts of each group, or noise of these counts.
            group: Index of the group, from 0.

        Returns:
            Table of the group, then table of the others.
        """
        cut = [part.select_subset((..., inner)) for part in parts]
        others = [part for number, part in enumerate(cut) if number != group]
        rest = EventTable(
            inference.AtRisk(
                np.sum([part.at_risk.events for part in others], axis=0),
                np.sum([part.at_risk.records for part in others], axis=0),
            ),
            np.sum([part.censored for part in others], axis=0),
        )
        return [cut[group], rest]

    for group in range(len(groups)):
        if notes := notes_on_log_rank_bias(split(tables, group), split(noises, group)):
            return notes
    return ()


def median_difference(first: Survival, second: Survival) -> Estimate:
    """Return the difference of the median survival times of two groups, first minus second. Spends no budget.

    The median is the first time at which at most half survive, at the middle of its cell or at its declared value. The
    difference is not known (NaN) where a curve does not reach one half. Its interval has an infinite endpoint there,
    for the time at which the curve would reach one half may be any later one.

    Args:
        first: A curve.
        second: A curve of *other* records, on the same grid.

    Returns:
        The difference, in the unit of the times, with `interval`, which holds wherever in their cells events came.

    Raises:
        TypeError: An argument is not a survival curve.
        ValueError: The grids differ.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=10), {"epsilon": 5, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.survival([time] * 900, [1] * 900, grid=grid, **spent) for time in (2.5, 5.5))
    >>> dp.median_difference(late, early).value
    3.0
    """
    for name, curve in (("first", first), ("second", second)):
        require_type(name, curve, Survival, SURVIVAL_EXAMPLE)
    if not np.array_equal(first.x, second.x):
        raise InvalidArgument("second", "must be a curve on the same grid: ask for both curves on one grid")

    def find_median(curves: inference.Curves) -> FloatArray:
        """Return the event time of the first cell at whose end at most half survive, (...); infinite without one.

        Args:
            curves: Survival curves of one group, (..., cells + 1).
        """
        is_reached = curves.survival[..., 1:] <= inference.MEDIAN_SURVIVAL
        cells = np.argmax(is_reached, axis=-1)
        return np.where(is_reached.any(axis=-1), curves.event_times[cells], inf)

    def find_endpoints(level: float, population: bool) -> tuple[float, float]:
        """Return the lower and upper limit of the difference at a confidence level.

        They are outer quantiles over draws: of the earliest first median minus the latest second one, and of the latest
        minus the earliest.

        Args:
            level: Confidence level, between 0 and 1.
            population: Whether the interval is for the population, not for these records.

        Returns:
            Lower and upper limit, in the unit of the times; infinite where a curve may stay above one half.
        """
        samples = [
            SINGLE_CAUSE_READER.sample_group(curve, place, population=population) for place, curve in enumerate(groups)
        ]
        earliest = [find_median(sample.lowest_curves) for sample in samples]
        latest = [find_median(sample.highest_curves) for sample in samples]
        draws = min(map(len, (*earliest, *latest)))
        with np.errstate(invalid="ignore"):  # inf - inf: neither median is reached, so the difference may be anything
            low = earliest[0][:draws] - latest[1][:draws]
            high = latest[0][:draws] - earliest[1][:draws]
        low = np.where(np.isnan(low), -inf, low)
        high = np.where(np.isnan(high), inf, high)
        return inference.interval_over_orders(low, high, level, population=population)

    groups = first, second
    one, other = (float(find_median(SINGLE_CAUSE_READER.read_curves(curve))) for curve in groups)
    point = one - other if isfinite(one) and isfinite(other) else nan
    return Estimate("difference of medians", point, find_endpoints, first.privacy, LATER, -inf, inf)


def median_follow_up(curve: Survival) -> Estimate:
    """Return the median time under observation, by the reverse Kaplan-Meier estimate. Spends no budget.

    Events and censoring change places (Schemper and Smith 1996), as in R's ``survfit(Surv(time, 1 - event) ~ 1)``. As
    `Survival.median`, it is the lower edge of a cell, or a declared value. It is not known (NaN) where more than half
    are still observed at the end of the grid.

    Args:
        curve: A curve of records that are all observed from time 0 on.

    Returns:
        The median, in the unit of the times, with `interval`.

    Raises:
        TypeError: `curve` is not a survival curve.
        ValueError: Records enter later, or are weighted.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=10), {"epsilon": 5, "adjacency": dp.REPLACE_ONE}
    >>> dp.median_follow_up(dp.survival([2.5, 8.5, 8.5] * 900, [1, 0, 0] * 900, grid=grid, **spent)).value
    8.0
    """
    require_type("curve", curve, Survival, SURVIVAL_EXAMPLE)
    if type(curve) is not Survival:
        raise InvalidArgument(
            "curve", "must be of unweighted records that are observed from time 0 on: ask without weight and entry"
        )
    censored, events = curve.evidence
    reverse = Survival(curve.label, curve.privacy, (events, censored), curve.grid)

    def find_endpoints(level: float, population: bool) -> tuple[float, float]:
        """Return the lower and upper limit of the median of the reverse curve at a confidence level.

        Args:
            level: Confidence level, between 0 and 1.
            population: Whether the interval is for the population, not for these records.

        Returns:
            Lower and upper limit, in the unit of the times; the upper limit may be infinite.
        """
        return reverse.median_interval(level, population=population)

    point = reverse.median if isfinite(reverse.median) else nan
    return Estimate("median follow-up", point, find_endpoints, curve.privacy, TIME, float(curve.x[0]), inf)
