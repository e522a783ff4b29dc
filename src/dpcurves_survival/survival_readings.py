"""Statistics of released survival curves: survival at a time, restricted means, hazard ratios, and their differences.

Each function takes one released curve, or the curves of two groups, and returns an `Estimate` with its interval. The
intervals account for noise, for the order of events inside cells and, for the population, for sampling.
`survival_figure` plots several groups in the style of medical journals.

Formal guarantees: post-processing of released risk tables, which costs no budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import exp, inf, isfinite, isnan, nan
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, Self, Unpack, runtime_checkable

import numpy as np

from dpcurves import display
from dpcurves.arguments import (
    InvalidArgument,
    check_common_arguments,
    convert_to_double,
    require_power,
    require_probability,
    require_sequence,
    require_type,
)
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.conversation import PrivacyStatement
from dpcurves.curves.by_category import ByCategory
from dpcurves.curves.question import format_key, require_independent
from dpcurves.curves.result import INDIVIDUAL_INTERVAL, CompositeResult, IntervalResult, PlotArguments
from dpcurves.data.axis import Category
from dpcurves.display import format_number
from dpcurves.display.canvas import describe_interval
from dpcurves.display.numerals import describe_point
from dpcurves.inference.known_numbers import KNOWN_LEVEL, is_uninformative, may_be_zero
from dpcurves.inference.simulation import numbered_generator

from . import inference
from .hazard_ratios import ScoredRiskTables
from .kaplan_meier import EventTable, LogRankTest, Survival, log_rank_test
from .pictures import AtRiskRow, FigureGroup, draw_estimates, draw_figure, draw_steps
from .variants import DelayedEntry, WeightedSurvival

SURVIVAL_STREAM = 20
"""Index of the first stream of the fixed random numbers that simulate noise; there is one stream per group, so that
noise is independent."""
SURVIVAL_EXAMPLE = "a survival curve, as dp.survival gives one,"
"""Words for a valid value, in the error message for an argument that is no survival curve."""
SHARE = "share"
"""Scale of an estimate, which selects its axis in a forest plot: a share or probability, from 0 to 1."""
TIME = "time"
"""Scale of an estimate: a time, in the units of the time column."""
RATIO = "ratio"
"""Scale of an estimate: a ratio, such as of two hazards."""
PEOPLE = "people"
"""Scale of an estimate: a number needed to treat, in people."""
HAZARD = "cumulative hazard"
"""Scale of an estimate: a cumulative hazard."""
EVENT_SHARE = "share with an event"
"""Scale of an estimate: a share with an event."""
MORE, LATER = "difference of shares", "difference of times"


@dataclass(frozen=True, eq=False)
class Estimate:
    """A statistic of one survival curve, or of two, with its interval.

    Attributes:
        name: Name of the statistic.
        point: The estimate, known or not; see `value`.
        find_endpoints: Function of level and population that returns the endpoints of the interval.
        privacy: The privacy statement of the curve, or of the first of two.
        scale: Axis on which it is drawn: share, share with an event, difference of shares, time, difference of times,
            ratio, people or cumulative hazard.
        minimum, maximum: Limits of all possible values.
        terms: The two statistics of a difference, which is unknown if one of them is.
    """

    name: str
    point: float
    find_endpoints: Callable[[float, bool], tuple[float, float]]
    privacy: PrivacyStatement
    scale: str = SHARE
    minimum: float = 0.0
    maximum: float = 1.0
    terms: tuple[Estimate, ...] = ()

    @property
    def value(self) -> float:
        """The estimate; NaN where it is not known: see `dpcurves.inference.known_numbers`."""
        return nan if self._is_unknown else self.point

    @cached_property
    def _is_unknown(self) -> bool:
        """Whether noise alone may explain the number: its interval for these records spans all possible values, or a
        term of the difference is unknown."""
        if any(term._is_unknown for term in self.terms):
            return True
        lower, upper = self.find_endpoints(KNOWN_LEVEL, False)
        return bool(is_uninformative(lower, upper, self.minimum, self.maximum))

    @check_common_arguments
    def interval(self, level: float, *, population: bool = False) -> tuple[float, float]:
        """Return the confidence interval of the statistic, as computed from exact times of these records; with
        `population`, of the population.

        Noise and, for the population, sampling errors (see `dpcurves_survival.inference.HazardSamplingErrors`) are
        simulated; events and censored records of a cell may have any order, anywhere inside it. The population needs
        independent units of one record each, and censoring that is independent of event times. Where too few records
        are at risk, the interval contains all possible values.

        Args:
            level: Confidence level, between 0 and 1.
            population: If True, sampling errors of the records are included.

        Returns:
            Lower and upper end; infinite where the statistic has no bound.
        """
        low, high = self.find_endpoints(require_probability("level", level), population)
        if self._is_unknown:
            return self.minimum, self.maximum
        return (min(low, self.value), max(high, self.value)) if isfinite(self.value) else (low, high)

    def __str__(self) -> str:
        return f"{self.name}: {format_number(self.value)}"


class GroupDraws(NamedTuple):
    """Simulated draws of one group: risk tables, the mask of known cells, and the lowest and highest curves over
    orders inside cells."""

    table: inference.RiskTable
    known_cells: BoolArray
    lowest_curves: inference.Curves
    highest_curves: inference.Curves


def risk_table_from_events(event_table: EventTable, *, tied: bool) -> inference.RiskTable:
    """Return the table of events and numbers at risk of a survival curve as a risk table with one cause.

    Args:
        event_table: Events, numbers at risk and censored records of each cell.
        tied: Whether all times of a cell are equal, as for declared values. Events then precede censoring, so the
            fewest at risk equal the number at risk.
    """
    events = event_table.at_risk.events[..., None, :]
    records = event_table.at_risk.records
    return inference.RiskTable(events, records, records if tied else event_table.at_risk_censored_first.records)


class RiskTableReader(NamedTuple):
    """Functions that take one kind of result and return its risk table, draws of its noise, its estimated hazards,
    and its curves as shown."""

    read_table: Callable[[Any], inference.RiskTable]
    sample_noise: Callable[[Any, np.random.Generator], inference.RiskTable]
    estimate_hazards: Callable[[Any], FloatArray]
    read_curves: Callable[[Any], inference.Curves]

    def sample_group(self, result: Any, group_index: int, *, population: bool) -> GroupDraws:
        """Return simulated true risk tables of one group that its release allows, with bounding curves; computed once.

        Args:
            result: Released result of the group.
            group_index: 0 or 1. It selects random streams, so that the draws of two groups are independent.
            population: If True, sampling is simulated besides the noise.
        """

        def simulate_group() -> GroupDraws:
            """Return simulated risk tables of the group that the release allows, and the lowest and highest curves of
            each.
            """
            known = result._known_cells
            sampling = None
            told = self.read_table(result)
            noises = self.sample_noise(result, numbered_generator(SURVIVAL_STREAM + group_index))
            if population:
                require_independent(result.privacy)
                records = inference.plausible_at_risk(told.records, noises.records)
                generator = numbered_generator(SURVIVAL_STREAM + 2 + group_index)
                sampling = inference.HazardSamplingErrors.sample_errors(
                    self.estimate_hazards(result), records, generator
                )
                known = np.logical_and.accumulate(known & (told.records > inference.TUNING.fewest_at_risk))
            table = told.subtract_noise(noises, sampling)
            return GroupDraws(table, known, *table.bound_curves(known, result._cell_bounds, sampling))

        return result._compute_once(("risk tables", group_index, population), None, simulate_group)  # type: ignore[no-any-return]


def _point_estimates(curve: Survival) -> inference.Curves:
    """Return survival, incidence and cumulative hazard of a released curve without bands, with events at the middle of
    their cells or at declared values.

    Args:
        curve: The released curve.
    """
    survival = curve.y
    middle = curve._cell_bounds.mean(axis=1)
    return inference.Curves(survival, (1 - survival)[None], curve.cumulative_hazard[None], middle, middle, survival)


SINGLE_CAUSE_READER = RiskTableReader(
    lambda curve: risk_table_from_events(curve._event_table, tied=curve.grid.values is not None),
    lambda curve, draw: risk_table_from_events(curve._sample_noise(draw), tied=curve.grid.values is not None),
    lambda curve: inference.hazards_from_survival(curve.extrapolated_survival[1:])[None],
    _point_estimates,
)
"""How statistics of one survival curve read its counts at risk, simulate their noise, and estimate hazards."""


def find_nearest_edge(curve: Any, argument: str, time: float) -> tuple[int, float]:
    """Return the edge of the time grid that is nearest to a requested time.

    Args:
        curve: Result with a time grid.
        argument: Name of the argument, for the message.
        time: Requested time, in units of the grid.

    Returns:
        Index and time of the edge; for declared values, the index of the edge past `time`, and `time` itself.

    Raises:
        InvalidArgument: the time lies beyond the grid.
    """
    requested = convert_to_double(time)
    if requested is None or not curve.x[0] <= requested <= curve.x[-1]:
        raise InvalidArgument(
            argument, f"a time from {curve.x[0]:g} to {curve.x[-1]:g} is needed, the range of the grid"
        )
    if curve.grid.values is not None:
        return int(np.searchsorted(curve.grid.values, requested, side="right")), requested
    edge = int(np.argmin(np.abs(curve.x - requested)))
    return edge, float(curve.x[edge])


def estimate_statistic(
    name: str,
    groups: Sequence[Any],
    statistic: Callable[..., FloatArray],
    scale: str,
    reader: RiskTableReader = SINGLE_CAUSE_READER,
    *,
    maximum: float = 1.0,
) -> Estimate:
    """Return the estimate of a statistic of one group, between 0 and `maximum`, or of its difference between two
    groups, first minus second.

    Args:
        name: Name of the statistic.
        groups: One result, or two.
        statistic: Function from `Curves` to numbers, (...).
        scale: Label of the axis on which the estimate is drawn.
        reader: Functions that return the risk table, its noise and the curves of a result of this type.
        maximum: Largest possible value in one group.
    """

    def read_difference(*curves: inference.Curves) -> FloatArray:
        """Return the statistic of the first curves; if there are two, minus the statistic of the second curves.

        Args:
            curves: Curves of one group, or of two.
        """
        first, *second = (statistic(curve) for curve in curves)
        return np.asarray(first - second[0] if second else first)

    def find_endpoints(level: float, population: bool) -> tuple[float, float]:
        """Return the interval of the statistic, from draws of its lowest and highest value over the unknown orders of
        events in a cell.

        Args:
            level: Confidence level.
            population: Whether it is for the population, not for these records.

        Returns:
            Lower and upper end.
        """
        group_draws = [reader.sample_group(group, index, population=population) for index, group in enumerate(groups)]
        fewest = min(len(draws.table.records) for draws in group_draws)
        sides = []
        for side in (1, -1):
            curves = [
                draws_.lowest_curves if sign == side else draws_.highest_curves
                for draws_, sign in zip(group_draws, (1, -1), strict=False)
            ]
            sides.append(np.asarray(read_difference(*(_take_draws(curve, fewest) for curve in curves))))
        return inference.interval_over_orders(sides[0], sides[1], level, population=population)

    value = float(read_difference(*map(reader.read_curves, groups)))
    if len(groups) == 1:
        return Estimate(name, value, find_endpoints, groups[0].privacy, scale, 0.0, maximum)
    estimates = tuple(estimate_statistic(name, (group,), statistic, scale, reader, maximum=maximum) for group in groups)
    return Estimate(name, value, find_endpoints, groups[0].privacy, scale, -maximum, maximum, estimates)


def estimate_hazard_ratio(
    name: str, groups: tuple[Any, Any], reader: RiskTableReader = SINGLE_CAUSE_READER, cause_index: int = 0
) -> Estimate:
    """Return the hazard ratio of one cause, first over second group; an event of another cause counts as censoring.

    It is NaN, with the interval from 0 to infinity, if noise alone may explain all events.

    Args:
        name: Name of the estimate.
        groups: Survival curves of both groups, on the same grid.
        reader: Reader of the risk tables of curves.
        cause_index: Index of the cause in these tables.
    """
    tied = groups[0].grid.values is not None

    def select_cause(table: inference.RiskTable) -> inference.RiskTable:
        """Return the risk table in which events of all other causes count as censoring.

        Args:
            table: Risk table with the events of each cause, (..., causes, cells).

        Returns:
            Risk table with the events of this cause alone, (..., 1, cells).
        """
        others = table.events.sum(axis=-2) - table.events[..., cause_index, :]
        fewest = table.records if tied else table.fewest_records - others
        return inference.RiskTable(table.events[..., cause_index : cause_index + 1, :], table.records, fewest)

    known = groups[0]._known_cells & groups[1]._known_cells

    @cache
    def lacks_events() -> bool:
        """Return whether noise alone may explain all events of both groups, so that the hazard ratio is unknown."""
        events = sum(float(reader.read_table(group).events[cause_index, known].sum()) for group in groups)
        noises = [
            reader.sample_noise(group, numbered_generator(SURVIVAL_STREAM + index))
            for index, group in enumerate(groups)
        ]
        draws = min(len(noise.records) for noise in noises)
        return bool(may_be_zero(events, sum(table.events[:draws, cause_index, known].sum(axis=-1) for table in noises)))

    @cache
    def score_groups() -> ScoredRiskTables:
        """Return the released risk tables of both groups with simulated noise, from which the ratio is estimated."""
        noises = [
            reader.sample_noise(group, numbered_generator(SURVIVAL_STREAM + index))
            for index, group in enumerate(groups)
        ]
        released, noise = ([select_cause(table) for table in both] for both in (map(reader.read_table, groups), noises))
        leaving = not isinstance(groups[0], DelayedEntry)
        return ScoredRiskTables.from_tables(
            released, noise, numbered_generator(SURVIVAL_STREAM + 2), tied=tied, has_only_exits=leaving
        )

    def find_endpoints(level: float, population: bool) -> tuple[float, float]:
        """Return the interval of the ratio; (0, infinity) if noise alone may explain all events.

        Args:
            level: Confidence level.
            population: Whether it is for the population, not for these records.

        Returns:
            Lower and upper end.
        """
        for group_ in groups if population else ():
            require_independent(group_.privacy)
        if not known.any() or lacks_events():
            return 0.0, inf
        lower, upper = score_groups().interval(level, population=population)
        return exp(lower), exp(upper)

    value = exp(score_groups().log_ratio) if known.any() else 0.0
    return Estimate(
        name, value if 0 < value < inf else float("nan"), find_endpoints, groups[0].privacy, RATIO, 0.0, inf
    )


def _take_draws(curves: inference.Curves, draws: int) -> inference.Curves:
    """Return the simulated curves with only the first `draws` draws of each.

    Args:
        curves: Simulated curves, with a leading axis of draws.
        draws: Number of draws that are kept.
    """
    cut = {
        name: getattr(curves, name)[:draws]
        for name in ("survival", "incidence", "cumulative_hazard", "conditioning_survival")
    }
    return curves._replace(**cut)


def restricted_mean(curve: Survival, until: float) -> Estimate:
    """Return the restricted mean survival time: the mean time without an event, up to `until` (Irwin 1949).

    It is unknown (NaN, with an interval of all possible values) if the curve ends before `until`. Events are placed in
    the middle of their cell, or at their declared value; the interval holds for any event times inside cells. Equal to
    ``lifelines.utils.restricted_mean_survival_time`` of these times.

    Args:
        curve: A curve.
        until: Time of restriction, rounded to the nearest edge of a cell.

    Returns:
        The mean, in the unit of the times, with `interval`.

    Raises:
        ValueError: `until` lies beyond the grid.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=10), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> lived = dp.survival([2.5, 6.5] * 900, [1, 1] * 900, grid=grid, **spent)
    >>> mean = restricted_mean(lived, 7)
    >>> bool(abs(mean.value - 4.5) < 0.3), mean.interval(0.95)[0] < 4.5 < mean.interval(0.95)[1]
    (True, True)
    """
    require_type("curve", curve, Survival, SURVIVAL_EXAMPLE)
    edge, time = find_nearest_edge(curve, "until", until)
    words = f"restricted mean up to {describe_point(time, until)}"
    return estimate_statistic(words, (curve,), lambda one: one.restricted_mean(time, edge), TIME, maximum=time)


def survival_at(curve: Survival, time: float, since: float | None = None) -> Estimate:
    """Return survival before `time`; with `since`, conditional on survival to that time (landmark).

    Args:
        curve: A curve.
        time: The landmark, rounded to the nearest edge of a cell; for declared values, survival past it.
        since: Time to which records are known to be without an event, for conditional survival. None: all records.

    Returns:
        The share, between 0 and 1, with `interval`; NaN past the end of the curve.

    Raises:
        ValueError: a time lies beyond the grid, or `since` is not before `time`.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=10), {"epsilon": 5, "adjacency": dp.REPLACE_ONE}
    >>> lived = dp.survival([2.5, 6.5] * 900, [1, 1] * 900, grid=grid, **spent)
    >>> abs(dp.survival_at(lived, 5).value - 0.5) < 0.1
    True
    """
    require_type("curve", curve, Survival, SURVIVAL_EXAMPLE)
    edge, edge_time = find_nearest_edge(curve, "time", time)
    if since is None:
        return estimate_statistic(
            f"share without an event at {describe_point(edge_time, time)}",
            (curve,),
            lambda one: one.survival[..., edge],
            SHARE,
        )
    first, begin = find_nearest_edge(curve, "since", since)
    if first >= edge:
        raise InvalidArgument("since", "a time before the landmark is needed, as in since=0")

    def read_conditional_survival(one: inference.Curves) -> FloatArray:
        """Return survival at the landmark divided by survival at `since`, between 0 and 1; 0 where none survive to
        `since`.

        Args:
            one: Curves of one group, (..., cells + 1).
        """
        before = one.conditioning_survival[..., first]
        # Unknown values (NaN) stay unknown.
        return np.divide(one.survival[..., edge], before, out=np.zeros_like(before), where=~(before <= 0)).clip(0, 1)

    words = f"share without an event at {describe_point(edge_time, time)}, given {describe_point(begin, since)}"
    return estimate_statistic(words, (curve,), read_conditional_survival, SHARE)


def cumulative_hazard_at(curve: Survival, time: float) -> Estimate:
    """Return the cumulative hazard at `time` (Nelson and Aalen), rounded to the nearest edge of a cell.

    Args:
        curve: A curve.
        time: Time, in the unit of the curve.

    Returns:
        The hazard, at least 0, with `interval`.

    Raises:
        ValueError: `time` lies beyond the grid.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=10), {"epsilon": 5, "adjacency": dp.REPLACE_ONE}
    >>> lived = dp.survival([2.5, 6.5] * 900, [1, 1] * 900, grid=grid, **spent)
    >>> abs(dp.cumulative_hazard_at(lived, 5).value - 0.5) < 0.1
    True
    """
    require_type("curve", curve, Survival, SURVIVAL_EXAMPLE)
    edge, edge_time = find_nearest_edge(curve, "time", time)
    return estimate_statistic(
        f"cumulative hazard at {describe_point(edge_time, time)}",
        (curve,),
        lambda one: one.cumulative_hazard[..., 0, edge],
        HAZARD,
        maximum=inf,
    )


def _require_same_grid(first: Survival, second: Survival) -> None:
    """Raise unless both are survival curves on the same grid.

    Args:
        first: First curve.
        second: Second curve.

    Raises:
        TypeError: one of them is not a survival curve.
        InvalidArgument: their grids differ.
    """
    for name, curve in (("first", first), ("second", second)):
        require_type(name, curve, Survival, SURVIVAL_EXAMPLE)
    if not np.array_equal(first.x, second.x):
        raise InvalidArgument("second", "a curve on the same grid is needed: ask for both curves on one grid")


def restricted_mean_difference(first: Survival, second: Survival, until: float) -> Estimate:
    """Return the restricted mean survival time of the first group minus the second; see `restricted_mean`.

    Args:
        first: A curve.
        second: The curve of another group, on the same grid.
        until: Time of restriction.

    Returns:
        The difference, in the unit of the times, with `interval`.

    Raises:
        ValueError: the curves have different grids, or `until` lies beyond the grid.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=10), {"epsilon": 5, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.survival([when, 9.5] * 900, [1, 1] * 900, grid=grid, **spent) for when in (2.5, 5.5))
    >>> abs(dp.restricted_mean_difference(late, early, 10).value - 1.5) < 0.3
    True
    """
    _require_same_grid(first, second)
    edge, time = find_nearest_edge(first, "until", until)

    def read_restricted_mean(one: inference.Curves) -> FloatArray:
        """Return the mean time without an event up to `until`.

        Args:
            one: Curves of one group, (..., cells + 1).

        Returns:
            Mean time in the unit of the times, (...).
        """
        return one.restricted_mean(time, edge)

    return estimate_statistic(
        f"difference of means up to {describe_point(time, until)}",
        (first, second),
        read_restricted_mean,
        LATER,
        maximum=time,
    )


def survival_difference(first: Survival, second: Survival, time: float) -> Estimate:
    """Return survival of the first group minus the second: the absolute risk reduction of the first.

    Args:
        first: A curve.
        second: The curve of another group, on the same grid.
        time: Time, in the unit of the curves.

    Returns:
        The difference, between -1 and 1, with `interval`.

    Raises:
        ValueError: the curves have different grids, or `time` lies beyond the grid.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=10), {"epsilon": 5, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.survival([when, 9.5] * 900, [1, 1] * 900, grid=grid, **spent) for when in (2.5, 5.5))
    >>> abs(dp.survival_difference(late, early, 5).value - 0.5) < 0.1
    True
    """
    _require_same_grid(first, second)
    edge, edge_time = find_nearest_edge(first, "time", time)
    words = f"difference of shares at {describe_point(edge_time, time)}"
    return estimate_statistic(words, (first, second), lambda one: one.survival[..., edge], MORE)


def number_needed_to_treat(first: Survival, second: Survival, time: float) -> Estimate:
    """Return the number needed to treat: records of the first group per avoided event before `time`.

    The reciprocal of `survival_difference` (Altman and Andersen 1999), negative if there are more events. Its interval
    has the reciprocals of the endpoints of that difference; if they have opposite signs, the set of numbers is not an
    interval, so ``(-inf, inf)`` is returned: use the interval of the difference.

    Args:
        first: A curve.
        second: The curve of another group, on the same grid.
        time: Time, in the unit of the curves.

    Returns:
        The number, in records, with `interval`.

    Raises:
        ValueError: the curves have different grids, or `time` lies beyond the grid.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=10), {"epsilon": 5, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.survival([when, 9.5] * 900, [1, 1] * 900, grid=grid, **spent) for when in (2.5, 5.5))
    >>> abs(dp.number_needed_to_treat(late, early, 5).value - 2) < 0.4
    True
    """
    less = survival_difference(first, second, time)

    def find_endpoints(level: float, population: bool) -> tuple[float, float]:
        """Return the reciprocals of the endpoints of the difference, in increasing order; (-inf, inf) if these have
        opposite signs.

        Args:
            level: Confidence level, between 0 and 1.
            population: Whether the interval is for the population, not for these records.

        Returns:
            Lower and upper endpoint, in records.
        """
        low, high = less.interval(level, population=population)
        return (1 / high, 1 / low) if low * high > 0 else (-inf, inf)

    _, edge_time = find_nearest_edge(first, "time", time)
    words = f"number needed to treat at {describe_point(edge_time, time)}"
    return Estimate(
        words, 1 / less.value if less.value else inf, find_endpoints, first.privacy, PEOPLE, -inf, inf, (less,)
    )


def hazard_ratio(first: Survival, second: Survival) -> Estimate:
    """Return the hazard ratio of the first group over the second, from Cox regression on the group (Cox 1972).

    Events of a cell are ties (Breslow 1974), so wide cells with many events bring it closer to 1; the interval holds
    for any order of events inside cells. Noisier cells have smaller weights, and the interval covers noise in events
    and in numbers at risk. Without noise the estimate equals ``sksurv.linear_model.CoxPHSurvivalAnalysis`` on cell
    indices.

    Args:
        first: A curve.
        second: The curve of another group, on the same grid.

    Returns:
        The ratio, with `interval`; below 1 if the first group has fewer events.

    Raises:
        ValueError: the curves have different grids.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=10), {"epsilon": 5, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.survival([when, 9.5] * 900, [1, 1] * 900, grid=grid, **spent) for when in (2.5, 5.5))
    >>> dp.hazard_ratio(late, early).value < 1
    True
    """
    _require_same_grid(first, second)
    return estimate_hazard_ratio("hazard ratio", (first, second))


@dataclass(frozen=True, eq=False, repr=False)
class CumulativeHazard(IntervalResult):
    """The Nelson-Aalen estimate of the cumulative hazard before each edge of the grid, with its band.

    Attributes:
        curve: The survival curve of the same counts.
    """

    KIND = "cumulative-hazard"
    TITLE = "Cumulative hazard over {curve.label}"
    COLUMN_WORDS = display.describe_columns(
        x="{curve.label}", y="cumulative hazard", at_risk=("at risk", display.CellFormat.COUNT)
    )
    REPR_FACTS = "{curve.label}"
    COLUMNS = ("x", "y", "at_risk")
    INTERVAL_NAME = "band"
    POSSIBLE_RANGES = MappingProxyType({"y": (0.0, inf)})
    IS_CURVE = True

    curve: Survival

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement of the curve."""
        return self.curve.privacy

    @property
    def evidence(self) -> Any:
        """The released counts of the survival curve, and sums of squared weights if it is weighted."""
        return self.curve.rounds

    @property
    def x(self) -> FloatArray:
        """Edges of the grid, of shape ``(cells + 1,)``."""
        return self.curve.x

    @property
    def y(self) -> FloatArray:
        """The cumulative hazard before each edge, of the shape of `x`."""
        return self.curve.cumulative_hazard

    @property
    def at_risk(self) -> FloatArray:
        """Number at risk in the cell that ends at each edge, as in `Survival.at_risk`."""
        return self.curve.at_risk

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return a confidence band that is simultaneous at `level`, lower and upper bounds, of shape ``(cells + 1,
        2)``.

        The largest studentised error is bounded, under the least favourable order inside each cell: hazards are largest
        if all censoring precedes the events. Infinite where nothing is known.

        Args:
            level: Confidence level, between 0 and 1.
            population: If True, sampling errors of the records are included.
        """
        level = require_probability("level", level)
        draws_of_curve = SINGLE_CAUSE_READER.sample_group(self.curve, 0, population=population)
        released = SINGLE_CAUSE_READER.read_table(self.curve).bound_curves(
            draws_of_curve.known_cells, self.curve._cell_bounds
        )
        draws = (
            draws_of_curve.lowest_curves.cumulative_hazard[:, 0],
            draws_of_curve.highest_curves.cumulative_hazard[:, 0],
        )
        lower, upper = inference.band_over_orders(
            (released[0].cumulative_hazard[0], released[1].cumulative_hazard[0]), draws, level
        )
        upper = np.minimum.accumulate(upper[::-1])[::-1]
        lower = np.maximum.accumulate(np.maximum(lower, 0.0))
        return np.stack([np.fmin(lower, self.y), np.fmax(upper, self.y)], axis=1)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the cumulative hazard as steps with its bands; return the axes.

        Args:
            shades: Bands, wider ones first.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        words: Any = {"label": self.curve.label, "upwards": "cumulative hazard", "share": False}
        return draw_steps(self.x, self._mask_unknown("y", self.y), shades=shades, **words, **how)

    def _question(self) -> Mapping[str, object]:
        """Return the JSON fields of the survival curve, from which `_from_json` restores it."""
        return self.curve._question()

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> CumulativeHazard:
        """Return the hazard of the survival curve in a parsed JSON document: weighted, with delayed entry, or plain,
        by its fields and its number of releases.

        Args:
            document: Parsed JSON document of the curve.
        """
        if "weight" in document.question:
            return cls(WeightedSurvival._from_json(document))
        several = len(document.evidence["releases"]) > Survival.RELEASES
        return cls((DelayedEntry if several else Survival)._from_json(document))


@runtime_checkable
class CauseSpecificEstimates(Protocol):
    """Statistics of each cause, as in `CompetingRisks`: what `SurvivalNumbers` needs of a result with several
    causes."""

    causes: tuple[Category, ...]

    def time_lost(self, cause: Category, until: float) -> Estimate:
        """Return the mean time without an event that a cause takes away up to `until`.

        Args:
            cause: Value of the event column.
            until: Time to which lost time is counted, in the unit of the grid.

        Returns:
            Estimate in the unit of the grid, with `interval`.
        """
        ...

    def incidence_at(self, cause: Category, time: float) -> Estimate:
        """Return the share with an event of a cause before `time`.

        Args:
            cause: Value of the event column.
            time: Time, in the unit of the grid.

        Returns:
            Estimate with `interval`.
        """
        ...

    def incidence_difference(self, other: Self, cause: Category, time: float) -> Estimate:
        """Return the share with an event of a cause before `time`, minus the share in another group.

        Args:
            other: Result of the other group, with the same causes.
            cause: Value of the event column.
            time: Time, in the unit of the grid.

        Returns:
            Estimate with `interval`; negative if events are rarer in this group.
        """
        ...

    def hazard_ratio(self, other: Self, cause: Category) -> Estimate:
        """Return the hazard ratio of a cause over another group.

        Args:
            other: Result of the other group, with the same causes.
            cause: Value of the event column.

        Returns:
            Estimate with `interval`; above 1 if the hazard is larger in this group.
        """
        ...


class SurvivalNumbers(CompositeResult):
    """Statistics of survival curves at public times, and of the differences of two groups, each with its own interval.

    For each curve: restricted means up to `until`, and survival at each time of `times`. For two curves: their
    differences, numbers needed to treat and the hazard ratio. For competing risks, by cause: the time lost up to
    `until`, and the share with an event before each time; for two groups the differences of these shares, and hazard
    ratios. All are computed from released counts.

    Attributes:
        curves: Survival curves by name, or `CompetingRisks`.
        until: Time of restriction of the means; None: no means.
        times: Landmarks.
        since: For conditional survival at the landmarks; see `survival_at`.
    """

    TITLE = "Numbers of survival"
    COLUMN_WORDS = display.describe_columns(group="group", number="number", value="value")
    MEASURED = "value"
    INTERVAL_NAME = INDIVIDUAL_INTERVAL
    DISTINGUISHING_FACT = "until"
    SIZE = (7.4, 4.6)

    def __init__(
        self, curves: Any, *, until: float | None = None, times: Sequence[float] = (), since: float | None = None
    ) -> None:
        """Compute the statistics of released curves; see `survival_numbers`, which checks all arguments.

        Args:
            curves: A survival curve or a result of competing risks, or a mapping from names of groups to these.
            until: Time to which means are restricted, in the unit of the grid; None: no means.
            times: Landmarks, in the unit of the grid.
            since: Time from which survival at the landmarks is conditional; None: all records.

        Raises:
            TypeError: a value of `curves` is neither.
            ValueError: `since` is given for competing risks, or no statistic is requested.
        """
        named = getattr(curves, "format_category", str)
        members = curves if isinstance(curves, Mapping) else {"all": curves}
        self.curves = {named(key): curve for key, curve in members.items()}
        self.until = until
        self.since = since
        self.times = require_sequence("times", times, "a list of times, as in [12, 24],")
        for curve in self.curves.values():
            require_type(
                "curves", curve, CauseSpecificEstimates if self._has_competing_risks else Survival, SURVIVAL_EXAMPLE
            )
        if since is not None and self._has_competing_risks:
            raise InvalidArgument(
                "since", "conditional survival needs survival curves: leave since out for competing risks"
            )
        if not self.curves or (until is None and not self.times and len(self.curves) != 2):
            raise InvalidArgument(
                "until, times", "give a time of restriction for means, as until=5, or landmarks, as times=(1, 5)"
            )
        self.estimates = dict(self._compute_estimates())

    def _compute_estimates(self) -> Any:
        """Yield pairs of ((group, statistic), estimate): for each group, and for two groups also their comparison."""
        of_one, of_two = (
            (self._estimate_causes, self._compare_causes)
            if self._has_competing_risks
            else (self._estimate_group, self._compare_groups)
        )
        for name, curve in self.curves.items():
            yield from (((name, estimate.name), estimate) for estimate in of_one(curve))
        if len(self.curves) == 2:
            against = " against ".join(self.curves)
            yield from (((against, estimate.name), estimate) for estimate in of_two(*self.curves.values()))

    @property
    def _has_competing_risks(self) -> bool:
        """Whether the curves have several causes."""
        return isinstance(next(iter(self.curves.values()), None), CauseSpecificEstimates)

    def _estimate_group(self, curve: Survival) -> list[Estimate]:
        """Return the restricted mean of a curve, if requested, and survival at each landmark.

        Args:
            curve: Survival curve of a group.

        Returns:
            Estimates: the mean first, then landmarks in their order.
        """
        means = [] if self.until is None else [restricted_mean(curve, self.until)]
        return [*means, *(survival_at(curve, time, self.since) for time in self.times)]

    def _compare_groups(self, one: Survival, other: Survival) -> list[Estimate]:
        """Return differences of means and of survival, numbers needed to treat and the hazard ratio, first group
        against second.

        Args:
            one: Curve of the first group.
            other: Curve of the second group.
        """
        estimates = [] if self.until is None else [restricted_mean_difference(one, other, self.until)]
        for time in self.times:
            estimates += [survival_difference(one, other, time), number_needed_to_treat(one, other, time)]
        return [*estimates, hazard_ratio(one, other)]

    def _estimate_causes(self, risks: CauseSpecificEstimates) -> list[Estimate]:
        """Return the time lost to each cause, if requested, and its incidence at each landmark.

        Args:
            risks: Result of competing risks of a group.

        Returns:
            Estimates: time lost by cause first, then incidences landmark by landmark, cause by cause within a
            landmark.
        """
        lost = [] if self.until is None else [risks.time_lost(cause, self.until) for cause in risks.causes]
        return [*lost, *(risks.incidence_at(cause, time) for time in self.times for cause in risks.causes)]

    def _compare_causes(self, one: CauseSpecificEstimates, other: CauseSpecificEstimates) -> list[Estimate]:
        """Return for each cause the differences of incidences at each landmark and the hazard ratio, first group
        against second.

        Args:
            one: Result of the first group.
            other: Result of the second group, with the same causes.

        Returns:
            Estimates: differences landmark by landmark, cause by cause within a landmark; then a hazard ratio of each
            cause.
        """
        apart = [one.incidence_difference(other, cause, time) for time in self.times for cause in one.causes]
        return [*apart, *(one.hazard_ratio(other, cause) for cause in one.causes)]

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement of the first curve."""
        statements: PrivacyStatement = next(iter(self.curves.values())).privacy
        return statements

    def log_rank(self, *, rho: float = 0.0, gamma: float = 0.0) -> LogRankTest:
        """Return the weighted log-rank test of equal hazards in both groups (Fleming and Harrington).

        Args:
            rho: Power of the share without an event in the weights; 0: the usual test.
            gamma: Power of the share with an event in the weights.

        Raises:
            ValueError: there are not two groups, or they have competing risks.
        """
        if len(self.curves) != 2 or self._has_competing_risks:
            raise InvalidArgument(
                "curves", "survival curves of two groups are needed: ask with by= naming two categories"
            )
        one, other = self.curves.values()
        return log_rank_test(one, other, rho=rho, gamma=gamma)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return lower and upper endpoints of all `estimates`, each at `level` separately: shape ``(estimates, 2)``.

        Args:
            level: Confidence level of each interval, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.

        Returns:
            Endpoints in the order and the units of `estimates`.

        Raises:
            ValueError: `level` is not between 0 and 1; or for the population, a unit may have several records.
        """
        return np.array([estimate.interval(level, population=population) for estimate in self.estimates.values()])

    def to_frame(self, *, level: float | None = 0.95, population: bool = False) -> Any:
        """Return a row for each group and statistic, with the endpoints of its interval at `level`; None: no endpoints.

        The intervals are for these records or, with `population`, for the population.

        Args:
            level: Confidence level of each interval, between 0 and 1; None leaves out the endpoints.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
        """
        return super().to_frame(level=level, population=population)

    def _columns(self) -> dict[str, Any]:
        """Return the columns of the data frame: group, name of the statistic, and value (NaN: not known)."""
        return {
            "group": [whose for whose, _ in self.estimates], "number": [words for _, words in self.estimates],
            "value": [estimate.value for estimate in self.estimates.values()],
        }  # fmt: skip

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw a forest plot of all statistics; return the first axes.

        Args:
            shades: Intervals of all estimates, wider ones first.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        rows = [
            (f"{whose}: {words}", estimate.value, estimate.scale) for (whose, words), estimate in self.estimates.items()
        ]
        return draw_estimates(rows, shades=shades, **how)

    def _members(self) -> Mapping[str, Survival]:
        """Return the curves by name, which the JSON document contains."""
        return self.curves

    def _question(self) -> Mapping[str, object]:
        """Return the JSON fields with the requested times: `until`, `times` and `since`."""
        return {"until": self.until, "times": list(self.times), "since": self.since}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> SurvivalNumbers:
        """Return the statistics of the curves in a parsed JSON document, computed again from their counts.

        Args:
            document: Parsed JSON document with the curves of all groups.
        """
        asked = document.question
        return cls(cls.parse_members(document), until=asked["until"], times=asked["times"], since=asked["since"])

    def _repr_facts(self) -> tuple[str, ...]:
        """Return the text on the number of statistics that `repr` shows."""
        return (f"{len(self.estimates)} numbers",)

    def _summary(self) -> list[tuple[str, str]]:
        """Return for each statistic a pair of texts: its group and name, and its value."""
        return [
            (f"{whose}: {words}", format_number(estimate.value)) for (whose, words), estimate in self.estimates.items()
        ]


def survival_numbers(
    curves: Survival | CauseSpecificEstimates | ByCategory[Any],
    *,
    until: float | None = None,
    times: Sequence[float] = (),
    since: float | None = None,
) -> SurvivalNumbers:
    """Compute statistics of released survival curves or competing risks; see `SurvivalNumbers`. Costs no privacy
    budget.

    Args:
        curves: A curve, curves by name or by category, or competing risks.
        until: Time of restriction of the means. None: no means.
        times: Landmarks.
        since: Time from which landmarks are conditional: see `survival_at`.

    Returns:
        The statistics with their intervals, as a released result.

    Raises:
        ValueError: a time lies beyond the grid, or no statistic is requested.
        TypeError: `curves` are not survival curves.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=10), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> lived = dp.survival([2.5, 6.5] * 900, [1, 1] * 900, grid=grid, **spent)
    >>> [number for _, number in survival_numbers(lived, until=10, times=[5]).estimates]
    ['restricted mean up to 10', 'share without an event at 5']
    """
    return SurvivalNumbers(curves, until=until, times=times, since=since)


@check_common_arguments
def survival_figure(
    curves: Survival | Mapping[Any, Survival],
    *,
    level: float = 0.95,
    population: bool = True,
    weights: tuple[float, float] = (0.0, 0.0),
    theme: str = "light",
    ax: Any = None,
) -> Any:
    """Draw survival curves in journal style: bands, numbers at risk below, and the log-rank test of two groups.

    Args:
        curves: A curve, or curves by name.
        level: Confidence level of bands.
        population: Whether bands are for the population; they are for these records if units have several records.
        weights: Powers rho and gamma of the weighted log-rank test; (0, 0): the usual test.
        theme: light, dark, or print, which distinguishes groups by dashes.
        ax: Axes to draw on; None: a new figure, which gets a title.

    Returns:
        The axes of the curves.

    Raises:
        ValueError: the theme does not exist, or `level` is not between 0 and 1.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=10), {"epsilon": 5, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.survival([when, 9.5] * 900, [1, 1] * 900, grid=grid, **spent) for when in (2.5, 5.5))
    >>> len(dp.survival_figure({"early": early, "late": late}).lines) >= 2
    True
    """
    powers = require_sequence("weights", weights, "two powers, as in (0, 1),")
    if len(powers) != 2:
        raise InvalidArgument("weights", f"two powers are needed, as in (0, 1), got {len(powers)} of them")
    rho, gamma = (require_power("weights", power) for power in powers)
    column = getattr(curves, "column", "")
    curves_by_name = curves if isinstance(curves, Mapping) else {"all": curves}
    all_curves = list(curves_by_name.values())
    if not all_curves:
        raise InvalidArgument("curves", "must have at least one curve, as dp.survival returns")
    for curve in all_curves:
        require_type("curves", curve, Survival, SURVIVAL_EXAMPLE)
    first_curve = all_curves[0]
    population = population and first_curve.privacy.rows_per_unit == 1
    groups = []
    for key, curve in curves_by_name.items():
        risk = AtRiskRow.from_numbers(curve.x, curve.at_risk, curve.at_risk_intervals(level))
        groups.append(FigureGroup(format_key(key), curve.y, curve.band(level, population=population), risk))
    test = ""
    if len(all_curves) == 2 and first_curve.privacy.rows_per_unit == 1:
        outcome = log_rank_test(*all_curves, rho=rho, gamma=gamma)
        name = "Log-rank" if rho == gamma == 0 else f"Fleming-Harrington ({rho:g}, {gamma:g})"
        chance_of_it = f"p {'< 0.001' if outcome.p_value < 0.001 else f'= {outcome.p_value:.2g}'} (noise included)"
        test = f"{name} test: {'not known' if isnan(outcome.p_value) else chance_of_it}"
    coverage = display.POPULATION if population else display.RECORDS
    covers = f"Shaded: {describe_interval(level, first_curve.INTERVAL_NAME, coverage)}."
    axes = draw_figure(
        first_curve.x, groups, first_curve.privacy, label=first_curve.label, upwards="share without an event",
        test=test, covers=covers, column=column, theme=theme, ax=ax,
    )  # fmt: skip
    title = f"{first_curve._title()} by {column}" if column else first_curve._title()
    return display.set_title(axes, title if ax is None else "")
