"""Survival with censoring: Kaplan-Meier and Nelson-Aalen curves in bands, and the log-rank test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self, Unpack

import numpy as np

from dpcurves import display
from dpcurves.arguments import InvalidArgument, require_probability, require_type
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.conversation import ALL, Evidence, Needs, PrefixWorkload, PrivacyStatement, Release, Setting, ask_workload
from dpcurves.curves.by_category import collect_by_category, describe_question, format_axis_label, split_rows
from dpcurves.curves.outside import thresholds_for_times
from dpcurves.curves.question import (
    By,
    build_privacy_statement,
    declared_values_to_json,
    grid_from_cells,
    parse_class_labels,
    parse_grouping,
    prepend_category_axes,
    require_independent,
)
from dpcurves.curves.result import IntervalResult, PlotArguments, notes_on_width, warn_about_notes
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.data.axis import Category
from dpcurves.display import format_interval, format_number
from dpcurves.inference import public_generator, simultaneous_errors
from dpcurves.inference.simulation import choose_draws, simulate_cell_noise

from . import inference
from .hazards import HazardPosterior, NoisyCounts, estimate_shrunken_hazards
from .pictures import AtRiskRow, draw_survival

Pair = tuple[Evidence, ...]
"""Counts of the censored and of events, each of one row of cells, with those outside the grid apart."""


class EventTable(NamedTuple):
    """Counts of records that leave, without bias; or their noise.

    Attributes:
        at_risk: Events, and records at risk, (..., cells).
        censored: Records that are censored in each cell, (..., cells).
        entries: Records that come under observation inside each cell, (..., cells); 0: all are from the beginning.
    """

    at_risk: inference.AtRisk
    censored: FloatArray
    entries: FloatArray | float = 0.0

    @classmethod
    def from_counts(cls, pair: Pair) -> Self:
        """The released counts, (cells,)."""
        censored, events = (turn.unbiased_cells[0] for turn in pair)
        return cls(inference.count_at_risk(events, censored), inference.count_censored_inside(censored))

    @classmethod
    def sample_noise(cls, pair: Pair, draw: np.random.Generator) -> Self:
        """The noise of it, simulated, (draws, cells)."""
        censored, events = (
            simulate_cell_noise(turn.sums, turn.total, choose_draws(turn.sums.cells), draw)[:, 0] for turn in pair
        )
        return cls(inference.count_at_risk(events, censored), inference.count_censored_inside(censored))

    @property
    def at_risk_censored_first(self) -> inference.AtRisk:
        """Events and records at risk where all that are censored in a cell leave before its events."""
        return inference.AtRisk(self.at_risk.events, self.at_risk.records - self.censored - self.entries)

    @property
    def exits(self) -> FloatArray:
        """Events and censored records of each cell, (..., cells)."""
        return np.asarray(self.at_risk.events + self.censored)

    def select_subset(self, at: Any) -> EventTable:
        """Some of the cells, or of the draws, by their index."""
        entered = self.entries[at] if isinstance(self.entries, np.ndarray) else self.entries
        return EventTable(self.at_risk.select_subset(at), self.censored[at], entered)


def notes_on_wide_cells(released_table: EventTable, noise: EventTable) -> tuple[str, ...]:
    """A note if more may seem to survive than do, because records are censored inside cells.

    Args:
        released_table: What was released of the cells in which it is known how many are at risk.
        noise: Its noise, simulated.
    """
    share = inference.estimate_censoring_bias(
        released_table.at_risk, released_table.censored, noise.at_risk, noise.censored
    )
    if share == 0:
        return ()
    return (
        f"about {share:.0%} of the records may seem to survive only because cells are wide: those censored inside "
        "a cell count as at risk until its end, of which half would be if they left evenly over it; if times are "
        "written more finely, take narrower cells",
    )


def notes_on_log_rank_bias(tables: Sequence[EventTable], noises: Sequence[EventTable]) -> tuple[str, ...]:
    """A note if a log-rank test of two groups may find a difference because records are censored inside cells.

    Args:
        tables: What was released of both in the cells that the test is of.
        noises: Its noise, simulated.
    """
    (one, gone, _), (other, left, _) = tables
    (moves, lost, _), (moved, missed, _) = noises
    deviations = inference.estimate_log_rank_bias((one, other), (gone, left), (moves, moved), (lost, missed))
    if deviations == 0:
        return ()
    return (
        f"the test may be {deviations:.1f} standard deviations off because cells are wide, if times are written more "
        "finely: groups that are censored differently inside cells seem to survive differently; take narrower cells",
    )


MOST_CELLS = 2**14
QUIET = 0.05
"""Noise of a smaller standard deviation leaves counts as they are."""
EVERYWHERE = "the band at every time"
LEVEL = 0.95
"""The level of the intervals of numbers at risk on pictures."""


@dataclass(frozen=True, eq=False, repr=False)
class Survival(IntervalResult):
    """The share of records without an event before each edge of the grid, as Kaplan and Meier estimate it.

    Events of a cell are taken to come before records are censored in it, as at ties of the textbook: where times are
    whole numbers and cells as wide as their unit, the share before an edge is the one past the value below it. Declared
    values (`Values`) have cells of their own, whose edges lie half way between: nothing is unknown inside. Where times
    are finer than cells the estimate from exact times is lower; bands and intervals contain it in whatever order
    records left, and where released counts show that it may be much lower, a note says how much. Times beyond the grid
    are censored at its end; times below it count in the first cell.

    The curve ends where follow-up does: past the last cell in which the released number at risk is significantly above
    zero it is NaN, drawn and written as unknown, while bands hold all that is possible. A curve that has reached 0
    stays there. As in R's `survfit`, a median that the curve does not reach is none: `inf`, printed as "not reached".

    Attributes:
        label: What the x axis shows.
        privacy: The privacy statement, which every picture shows.
        evidence: The released counts of censored records and of events.
        grid: Where the cells lie.
    """

    KIND = "survival"
    TITLE = "Survival over {label}"
    REPR_FACTS = "{label}, median {median_text}"
    COLUMNS = ("x", "y", "cumulative_hazard", "at_risk")
    INTERVAL_NAME = "band"
    POSSIBLE_RANGES = MappingProxyType(
        {"y": (0.0, 1.0), "cumulative_hazard": (0.0, 1.0)}
    )  # the hazard as far as the share is
    IS_CURVE = True
    WEIGHTED: ClassVar[bool] = False
    IS_ADDITIVE = True

    label: str
    privacy: PrivacyStatement
    evidence: tuple[Evidence, ...]
    grid: Grid

    @classmethod
    def from_counts(cls, evidence: tuple[Evidence, ...], grid: Grid, label: str, privacy: PrivacyStatement) -> Self:
        """From counts of the censored and of events, each of one row of cells, with those outside apart."""
        return cls(label, privacy, evidence, grid)._add_notes()

    def _add_notes(self) -> Self:
        known, told, noises = self._known_cells, self._event_table, self._simulated_noise
        # At declared values no order is open.
        wide = (
            ()
            if self.grid.values is not None
            else notes_on_wide_cells(told.select_subset(known), noises.select_subset((..., known)))
        )
        noted = self.privacy.with_notes(*wide)
        lower, upper = self.band(LEVEL)
        done = replace(self, privacy=noted.with_notes(*notes_on_width((upper - lower)[1:], EVERYWHERE)))
        done.__dict__["_shrunken_hazards"] = self._shrunken_hazards  # of the same counts, and slow to find
        return done

    @cached_property
    def x(self) -> FloatArray:
        """Edges of the grid, of shape ``(cells + 1,)``."""
        return self.grid.edges

    @cached_property
    def y(self) -> FloatArray:
        """The share without an event before each edge: 1 at the first, and non-increasing; of the shape of `x`.

        NaN past `follow_up_end`. Where noise is large beside the counts, hazards are shrunk to smooth or constant ones,
        as far as released counts tell no more; see `dpcurves_survival.hazards`. Bands and intervals come from the
        counts alone.
        """
        share = self.extrapolated_survival[1:]
        return np.append(1.0, inference.mask_unfollowed(share, self._followed_cells, settled=self._has_reached_zero))

    @cached_property
    def extrapolated_survival(self) -> FloatArray:
        """The share as `y` has it, carried on past `follow_up_end`, where no record tells of it: of the shape of `x`.

        For laws to simulate from, not for statements.
        """
        share = (
            inference.estimate_survival(self._event_table.at_risk, self._followed_cells)
            if self._shrunken_hazards is None
            else self._shrunken_hazards.survival
        )
        return np.append(1.0, share)

    @cached_property
    def cumulative_hazard(self) -> FloatArray:
        """The estimate of Nelson and Aalen before each edge, of the shape of `x`; NaN past `follow_up_end`."""
        followed = self._followed_cells
        hazard = (
            inference.estimate_cumulative_hazard(self._event_table.at_risk, followed)
            if self._shrunken_hazards is None
            else self._shrunken_hazards.cumulative_hazard
        )
        return np.append(0.0, inference.mask_unfollowed(hazard, followed))

    @property
    def follow_up_end(self) -> float:
        """The edge up to which the released number at risk is significantly above zero; the last value that is."""
        followed = int(self._followed_cells.sum())
        return float(self._cell_bounds[followed - 1, 1]) if followed else float(self.x[0])

    @property
    def _has_reached_zero(self) -> bool:
        """Whether nobody is left who could have an event past the end of follow-up."""
        return bool(self.extrapolated_survival[int(self._followed_cells.sum())] == 0)

    @cached_property
    def at_risk(self) -> FloatArray:
        """Records at risk in the cell that ends at each edge, unbiased; at the first edge all records.

        See `at_risk_intervals`.
        """
        return np.append(self._event_table.at_risk.records[:1], self._event_table.at_risk.records)

    @cached_property
    def _shrunken_hazards(self) -> HazardPosterior | None:
        """Shrunken hazards; None where there is hardly any noise."""
        told, noise = self._event_table, self._simulated_noise
        events = NoisyCounts(told.at_risk.events, noise.at_risk.events)
        censored = NoisyCounts(told.exits - events.counts, noise.exits - events.noise)
        if max(float(np.mean(each.noise**2)) for each in (events, censored)) < QUIET**2:
            return None
        records = NoisyCounts(told.at_risk.records[0], noise.at_risk.records[:, 0])
        return estimate_shrunken_hazards(events, censored, records, public_generator(None))

    @property
    def median_cell(self) -> tuple[float, float]:
        """The edges of the cell at whose end at most half are left for the first time; both infinite if none is.

        Where times are declared values, the value of that cell, twice.
        """
        passed = np.flatnonzero(self.y[1:] <= 0.5)
        if not len(passed):
            return inf, inf
        lower, upper = self._cell_bounds[passed[0]].tolist()
        return lower, upper

    @property
    def _cell_bounds(self) -> FloatArray:
        """The ends of each cell, (cells, 2): edges, or the value that was declared for it."""
        values = self.grid.values
        return np.stack([self.x[:-1], self.x[1:]] if values is None else [values, values], axis=1)

    @property
    def median(self) -> float:
        """The lower edge of `median_cell`: for whole numbers on cells of width one, the first time past which at most
        half are left; infinite if the curve ends before.
        """
        return self.median_cell[0]

    def median_interval(self, level: float, *, population: bool = False) -> tuple[float, float]:
        """A confidence interval for the median, between edges of cells, with probability `level`.

        It begins at the lower edge of the first cell that the median may lie in and ends at the upper edge of the last
        one, in whatever order records left inside cells; see `median_cells`. Where cells are wide and the noise is
        small the coverage is higher.
        """
        first, last = inference.median_cells(
            *self._simulate_tie_orders(population), require_probability("level", level)
        )
        cells = np.concatenate([self._cell_bounds, [[self._cell_bounds[-1, 1], inf]]])
        return float(cells[first, 0]), float(cells[last, 1])

    def band(self, level: float, *, population: bool = False) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of the curve, all correct at once with chance `level`; see `survival_band`.

        They are for Kaplan and Meier's estimate of these records, from times as exact as they may be, before each edge.
        With `population`, they are for that of the population that the records were drawn from; that needs independent
        units of one record each, and censoring that does not depend on the time of the event. For the population, where
        5 records or fewer are at risk, the lower end is 0 and the upper end is that of the cell before. They contain
        `y`.
        """
        orders, known = self._simulate_tie_orders(population)
        lower, upper = inference.survival_band(orders, known, require_probability("level", level))
        y = np.fmin.accumulate(self.y)  # past its end the curve may be level
        return np.fmin(np.append(1.0, lower), self.y), np.maximum(np.append(1.0, upper), y)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """The band as ends, of shape ``(cells + 1, 2)``."""
        return np.stack(self.band(level, population=population), axis=1)

    def _simulate_tie_orders(self, population: bool) -> tuple[inference.TieOrders, BoolArray]:
        """Both orders of the records of a cell, and the cells of which anything is said."""
        noises, known, sampling = self._simulated_noise, self._known_cells, None
        late = self._event_table.at_risk
        if population:
            require_independent(self.privacy)
            draw = public_generator(None)
            noises = self._sample_noise(draw)
            known = np.logical_and.accumulate(known & (late.records > inference.FEWEST_AT_RISK))
            records = np.maximum(late.records - noises.at_risk.records, 1.0)
            # After the noise, so that sampling does not depend on it.
            sampling = inference.sample_survival_errors(
                inference.hazards_from_survival(self.extrapolated_survival[1:]), records, draw
            )
        # At a declared value times are tied, and events come first, as in the textbook: no order is open.
        is_tied = self.grid.values is not None
        early = (
            (late, noises.at_risk)
            if is_tied
            else (self._event_table.at_risk_censored_first, noises.at_risk_censored_first)
        )
        least, late_errors = inference.simulate_log_errors(late, noises.at_risk, known, sampling)
        _, early_errors = inference.simulate_log_errors(*early, known, sampling, before_next_event=True)
        shares = [inference.estimate_survival(found, known) for found in (late, early[0])]
        shares[0][known] = np.where(shares[0][known] > 0, shares[0][known], np.minimum.accumulate(least))
        return inference.TieOrders(shares[0], shares[1], late_errors, early_errors), known

    @cached_property
    def _event_table(self) -> EventTable:
        return EventTable.from_counts(self.evidence)

    @cached_property
    def _simulated_noise(self) -> EventTable:
        return self._sample_noise(public_generator(None))

    def _sample_noise(self, draw: np.random.Generator) -> EventTable:
        return EventTable.sample_noise(self.evidence, draw)

    @property
    def _known_cells(self) -> BoolArray:
        return inference.find_known_cells(self._event_table.at_risk, self._simulated_noise.at_risk)

    @cached_property
    def _followed_cells(self) -> BoolArray:
        return inference.find_followed_cells(self._event_table.at_risk, self._simulated_noise.at_risk)

    def at_risk_intervals(self, level: float) -> FloatArray:
        """Lower and upper ends of `at_risk`, all correct at once with chance `level`: shape ``(cells + 1, 2)``.

        They are for the numbers of these records, so they account for noise alone.

        Raises:
            ValueError: `level` is not between 0 and 1.
        """
        error = simultaneous_errors([self._simulated_noise.at_risk.records], require_probability("level", level))
        ends = np.stack([self._event_table.at_risk.records - error, self._event_table.at_risk.records + error], axis=1)
        return np.asarray(np.maximum(np.concatenate([ends[:1], ends]), 0.0))

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """The numbers as a data frame; with a `level`, also ends of the band and of the numbers at risk.

        The band is for these records, or, with `population`, for the population; numbers at risk are always of these
        records.
        """
        return super().to_frame(level=level, population=population)

    def _interval_columns(self, level: float, *, population: bool) -> dict[str, Any]:
        ends = dict(zip(("at_risk_lower", "at_risk_upper"), self.at_risk_intervals(level).T, strict=True))
        return super()._interval_columns(level, population=population) | ends

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        error = np.diff(self.at_risk_intervals(LEVEL), axis=1)[1:, 0] / 2 if shades else None
        risk = AtRiskRow(self.x, self.at_risk[1:], error)
        told: Any = {"label": self.label, "at_risk": risk, "weighted": self.WEIGHTED}
        return draw_survival(self.x, self._mask_unknown("y", self.y), shades=shades, **told, **how)

    def _question(self) -> dict[str, object]:
        return {"label": self.label, **declared_values_to_json(self.grid)}

    RELEASES: ClassVar[int] = 2
    """Rows of counts that it is read from."""

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Self:
        if len(turns := document.releases) != cls.RELEASES:
            raise InvalidArgument("curve.evidence.releases", "counts of the censored and of events are needed")
        grid = grid_from_cells(document.question, document.arrays["x"], Outside.APART)
        return cls.from_counts(turns, grid, document.question["label"], document.privacy)

    def _summary(self) -> list[tuple[str, str]]:
        words = format_interval(*self.median_interval(0.95))
        ended = (
            [] if self._followed_cells.all() else [("follow-up", f"known up to {format_number(self.follow_up_end)}")]
        )
        return [("median", self.median_text), ("95% interval of the median for these records", words), *ended]

    @property
    def median_text(self) -> str:
        """The median and its cell, as they are printed."""
        lower, upper = self.median_cell
        if any(note.startswith(EVERYWHERE) for note in self.notes):
            return "not known"
        if lower == upper < inf:
            return format_number(lower)
        if lower == inf:
            return f"not reached up to {format_number(self.follow_up_end)}"
        return f"{format_number(lower)}, in the cell {format_interval(lower, upper)}"


def event_categories(question: Any) -> Categories:
    """Both values of a question's column of events: that of the censored, and that of an event."""
    return parse_class_labels(question.event, question.came, question.censored, ("censored", "came"))


def require_times(
    time: str, grid: Grid, measured_in: str, by: By = None, *, max_cells: int = MOST_CELLS, verb: str = "counted"
) -> None:
    """Refuse times that a question cannot ask about.

    Raises:
        ValueError: there are too many cells.
        TypeError: a column, the grid, the unit or the categories are of another kind.
    """
    cells = Axis(time, grid).grid.cells
    format_axis_label(time, measured_in)
    parse_grouping(by)
    if cells > max_cells:
        raise InvalidArgument("grid", f"at most {max_cells} cells of time are {verb}, got {cells}")


@dataclass(frozen=True, slots=True)
class SurvivalQuestion:
    """Time until an event, where some records are censored. One turn.

    Attributes:
        time: A column of numbers: the time of the event, or of censoring.
        event: The column that says whether the event happened.
        grid: Public cells of time; times outside are counted apart, whatever the grid says.
        by: Categories that were declared in public: one curve for each, all together at the privacy loss of one. A
            tuple of several columns: one for each combination.
        came: The value of `event` for an event.
        censored: The value of `event` for a censored record; may be left out where `came` is 1, 0, -1, True or False.
        measured_in: The measuring unit of time.

    Raises:
        ValueError: there are over 16,384 cells, or the labels cannot be told apart.
        TypeError: a field is of another kind.
    """

    time: str
    event: str
    grid: Grid
    by: By = None
    came: Category = 1
    censored: Category | None = None
    measured_in: str = ""

    def __post_init__(self) -> None:
        require_times(self.time, self.grid, self.measured_in, self.by)
        event_categories(self)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for one table: counts of censored records and of events in each cell, summed from the end."""
        return (yield from self.ask_with_budget_fraction(ALL, ()))

    def ask_with_budget_fraction(
        self, budget_fraction: Fraction, earlier_releases: tuple[Release, ...], axis_type: type[Axis] = Axis
    ) -> Needs[Any]:
        """Ask for it with this share of the loss; releases `earlier_releases` stand in the privacy statement too."""
        axis = axis_type(self.time, self.grid.with_outside(Outside.APART))
        found = yield from ask_workload(
            PrefixWorkload(prepend_category_axes(self.by, event_categories(self), axis)), budget_fraction
        )
        rows, privacy = (
            split_rows(found.counts),
            build_privacy_statement((*earlier_releases, *found.releases), least=thresholds_for_times(self.time)),
        )
        label = format_axis_label(self.time, self.measured_in)
        curves = [
            Survival.from_counts(pair, axis.grid, label, privacy) for pair in zip(rows[::2], rows[1::2], strict=True)
        ]
        return collect_by_category(self.by, curves)

    def __str__(self) -> str:
        return describe_question(f"survival by {self.event}", self.time, self.by)


class LogRankTest(NamedTuple):
    """The log-rank statistic of two groups, and its p-value under equal survival.

    Attributes:
        statistic: The statistic of the test, from released numbers.
        p_value: For the population: it accounts for noise and sampling. A multiple of 1 / (draws + 1), as it is
            simulated.
        notes: Cautions about the p-value, from released numbers alone.

    Both numbers are NaN, *not known*, where no cell is known to have records at risk in both groups.
    """

    statistic: float
    p_value: float
    notes: tuple[str, ...] = ()


def log_rank_test(
    first: Survival | Sequence[Survival],
    second: Survival | Sequence[Survival],
    *,
    rho: float = 0.0,
    gamma: float = 0.0,
    generator: np.random.Generator | None = None,
) -> LogRankTest:
    """Do two groups of records survive alike? The log-rank test (Mantel 1966), whose p-value accounts for the noise.

    The statistic is the squared difference of observed and expected events in the first group, divided by its variance
    from sampling and from noise; without noise it is the usual statistic, with events in one cell taken as tied. Cells
    are used as long as the number at risk in both groups is clear of the noise. The p-value is simulated with both
    noise and sampling; the groups may be censored differently, but censoring must not depend on the time of the event.
    Within a cell all events are taken to come before all censoring: where records are censored inside cells, groups
    that are censored differently seem to survive differently, even without noise, and with more records more often. Of
    10,000 records, on cells of a seventh of the mean time to an event, the exact test then finds 10% at level 5%, on
    cells of two thirds 93%; if records are censored at ends of cells 4 to 5%. Choose cells as narrow as the unit in
    which times are recorded; where released counts show that the statistic may be biased by this, a note says by how
    much. Spends nothing.

    With several curves of each group, one for each stratum, it is the stratified test: differences and variances of
    strata add up. With `rho` or `gamma` cells have weights of Fleming and Harrington (1991), the share of both groups
    that is left before a cell to the power `rho`, times the share that is not to the power `gamma`: ``rho=1`` looks at
    early differences (Peto and Peto's test), ``gamma=1`` at late ones.

    Args:
        first: A curve; or one for each stratum.
        second: One of *other* records, on the same grid: of another category, or released on its own; or as many as of
            the first group, in the same order of strata.
        rho: A power, not below 0.
        gamma: Another one.
        generator: The random numbers of the simulation.

    Returns:
        The `statistic`, its `pvalue`, and `notes` where it may be biased.

    Raises:
        TypeError: one of them is no `Survival`.
        ValueError: they are on different grids, or units have several records; a power is below 0; or one group has
            more strata.

    Warns:
        CurveWarning: each of its `notes`.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=10), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.survival([when, 9.5] * 900, [1, 0] * 900, grid=grid, **spent) for when in (2.5, 5.5))
    >>> dp.log_rank_test(early, late).p_value < 0.01
    True
    """
    firsts, seconds = ((each,) if not isinstance(each, (list, tuple)) else tuple(each) for each in (first, second))
    for name, each in (*(("first", each) for each in firsts), *(("second", each) for each in seconds)):
        require_type(name, each, Survival, "a survival curve, as dp.survival gives one,")
        require_independent(each.privacy)
    if len(firsts) != len(seconds) or not firsts:
        raise InvalidArgument("second", "as many curves as of the first group are needed, one for each stratum")
    for name, power in (("rho", rho), ("gamma", gamma)):
        if not isinstance(power, (int, float)) or not 0 <= power < inf:
            raise InvalidArgument(name, "a number that is not below 0 is needed")
    strata, notes, random = list[inference.Stratum](), dict[str, None](), public_generator(generator)
    for one, other in zip(firsts, seconds, strict=True):
        if not np.array_equal(one.x, other.x):
            raise InvalidArgument("second", "a curve on the same grid is needed")
        groups, noises = (
            [each._event_table for each in (one, other)],
            [each._sample_noise(random) for each in (one, other)],
        )
        draws = min(len(each.censored) for each in noises)
        noises = [each.select_subset(slice(draws)) for each in noises]
        known = np.logical_and(
            *(
                inference.find_known_cells(each.at_risk, noise.at_risk)
                for each, noise in zip(groups, noises, strict=True)
            )
        )
        if known.any() and one.grid.values is None:
            inner = np.logical_and(
                *(
                    inference.find_inner_cells(group.at_risk, group.censored, noise.at_risk, noise.censored)
                    for group, noise in zip(groups, noises, strict=True)
                )
            )
            within: Any = ..., known & inner
            noted = notes_on_log_rank_bias(
                [each.select_subset(within) for each in groups], [each.select_subset(within) for each in noises]
            )
            notes |= dict.fromkeys(noted)
        pairs = [(both[0].at_risk, both[1].at_risk) for both in (groups, noises)]
        strata.append(inference.Stratum(pairs[0], pairs[1], known, has_entries=one.RELEASES > Survival.RELEASES))
    draws = min(len(each.noises[0].events) for each in strata)
    first_draws = [
        (each.noises[0].select_subset(slice(draws)), each.noises[1].select_subset(slice(draws))) for each in strata
    ]
    cut = [each._replace(noises=noises) for each, noises in zip(strata, first_draws, strict=True)]
    found = inference.log_rank(cut, random, rho, gamma)
    test = LogRankTest(found.statistic, found.p_value, tuple(notes))
    warn_about_notes(test)
    return test
