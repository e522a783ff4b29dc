"""Kaplan-Meier and Turnbull estimates for special designs: survey weights, late entry, interval censoring.

Each class asks one question about the time until an event. It is answered by noisy counts of records in public cells of
time, from which a survival curve is estimated: the share of records without an event before each time.

- `WeightedSurvivalQuestion`: each record counts with its survey weight.
- `DelayedEntryQuestion`: records come under observation at different times (left truncation).
- `AutoRangeSurvivalQuestion`: no horizon is known, so that a part of the budget searches for it.
- `IntervalCensoredQuestion`: an event is only known to lie between two examinations (Turnbull 1976).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, sqrt
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Unpack, cast

import numpy as np

from dpcurves import display
from dpcurves.arguments import InvalidArgument, describe_value, require_probability, require_type
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.conversation import (
    WHOLE_BUDGET,
    AutomaticGridWorkload,
    CellWorkload,
    Evidence,
    Needs,
    PrefixWorkload,
    PrivacyStatement,
    Setting,
    TableCounts,
    ask_workload,
)
from dpcurves.conversation.notes import add_advice
from dpcurves.curves.automatic_range import PILOT_FRACTION, add_empty_range_note, note_on_pilot_queries
from dpcurves.curves.by_category import collect_by_category, describe_grouping, format_axis_label, split_rows
from dpcurves.curves.outside import Side, note_on_order, note_thresholds_for_late_entries, note_thresholds_for_times
from dpcurves.curves.question import (
    By,
    TableQuestion,
    build_privacy_statement,
    declared_values_to_json,
    grid_from_cells,
    prepend_category_axes,
    require_independent,
)
from dpcurves.curves.result import IntervalResult, PlotArguments, interval_scopes, name_ends, notes_on_dependence
from dpcurves.curves.weighted import SquaredWeights, ask_weight_sums, format_weight_rows, note_on_weights
from dpcurves.data import Axis, Grid, OpenEndedAxis, OrderedAxis, Outside, Weights
from dpcurves.data.axis import Category, DurationAxis
from dpcurves.display import format_number
from dpcurves.inference.bands import simultaneous_errors
from dpcurves.inference.simulation import choose_draws, numbered_generator, public_generator, simulate_cell_noise
from dpcurves.summaries.two_classes import project_to_simplex

from .hazards import HazardPosterior
from .inference import AtRisk, find_followed_cells, mask_unfollowed
from .kaplan_meier import EventTable, Survival, SurvivalQuestion, event_categories, require_times
from .pictures import draw_survival


@dataclass(frozen=True, eq=False, repr=False)
class WeightedSurvival(Survival):
    """The weighted Kaplan-Meier estimate: the share of the weight without an event before each edge of the grid.

    Hazards are ratios of sums of weights: of events in a cell, over weight at risk. Sums of weights are divided by the
    weight of one effective record, so that intervals can be computed as for unweighted records (`Survival`). For the
    population, the weight of an effective record is the largest ``sum w**2 / sum w`` of all groups of times, so bands
    are conservative if weights depend on time.

    Attributes:
        label: Label of the x axis.
        privacy: The privacy statement, shown on every plot.
        evidence: The released sums of weights of censored records and of events.
        grid: The cells.
        squares: The released sums of squared weights, from which the weight of an effective record follows.
    """

    KIND = "weighted-survival"
    TITLE = "Weighted survival over {label}"
    COLUMN_WORDS = display.describe_columns(
        x="{label}",
        y=("weighted share without an event", display.CellFormat.SHARE),
        cumulative_hazard="cumulative hazard",
        at_risk=("weight at risk", display.CellFormat.COUNT),
    )
    WEIGHTED = True
    KEY_WORDS = display.describe_columns(records="sum of weights", median="weighted median of {label}")

    squares: SquaredWeights | None = None

    @property
    def required_squares(self) -> SquaredWeights:
        """The released sums of squared weights, which a weighted curve always has."""
        return cast("SquaredWeights", self.squares)

    @cached_property
    def _slot_weights(self) -> FloatArray:
        """Unbiased sums of weights of all records in each slot (cells, and below and above the grid), divided by the
        cap."""
        return np.asarray(sum(turn.unbiased_cells[0] for turn in self.evidence) / Weights.STEPS)

    @cached_property
    def _steps_per_record(self) -> float:
        """Weight of one effective record (sum of squared weights over sum of weights), in the integer steps of counted
        weights: `Weights.STEPS` steps are the cap on a weight.
        """
        ratios = self.required_squares.sampling_ratios(self._slot_weights)
        return Weights.STEPS * min(ratios.overall * max(float(ratios.by_group.max()), 1.0), 1.0)

    @property
    def _weight_per_record(self) -> float:
        """Weight of one effective record (sum of squared weights over sum of weights), in the unit of the weights."""
        return self.required_squares.weights.step * self._steps_per_record

    @property
    def count(self) -> float:
        """Released sum of the weights of all records, in the unit of the weights."""
        return float(self._slot_weights.sum()) * self.required_squares.weights.cap

    @property
    def design_effect(self) -> float:
        """The design effect of unequal weights, as released: n sum w^2 / (sum w)^2 (Kish 1965).

        At least 1; NaN if noise hides it.
        """
        return self.required_squares.design_effect(float(self._slot_weights.sum()))

    @property
    def at_risk(self) -> FloatArray:
        """Weight at risk in the cell that ends at each edge, at least 0; at the first edge the total weight."""
        return super().at_risk * self._weight_per_record

    def at_risk_intervals(self, level: float) -> FloatArray:
        """Return lower and upper bounds of `at_risk`, simultaneous at `level`, of shape ``(cells + 1, 2)``.

        Args:
            level: Confidence level of all intervals together, between 0 and 1.

        Raises:
            ValueError: `level` is not between 0 and 1.
        """
        return super().at_risk_intervals(level) * self._weight_per_record

    @property
    def rounds(self) -> tuple[Evidence, ...]:
        """Released counts of all queries, in order: sums of weights of censored records and of events, then sums of
        squared weights.
        """
        return (*self.evidence, self.required_squares.evidence)

    @cached_property
    def _event_table(self) -> EventTable:
        """Released events, weights at risk and censored weights, in effective records, (cells,)."""
        return self._to_effective_records(EventTable.from_counts(self.evidence))

    def _sample_noise(self, draw: np.random.Generator) -> EventTable:
        """Return simulated noise of the event table, in effective records, (draws, cells).

        Args:
            draw: Random generator of the simulation.
        """
        return self._to_effective_records(EventTable.sample_noise(self.evidence, draw))

    def _to_effective_records(self, found: EventTable) -> EventTable:
        """Return a table of weight steps converted to effective records.

        Args:
            found: Table of sums of weights, in steps of the weight.

        Returns:
            Table in records; entries are left out.
        """
        events, records = found.at_risk
        return EventTable(
            AtRisk(events / self._steps_per_record, records / self._steps_per_record),
            found.censored / self._steps_per_record,
        )

    def _question(self) -> dict[str, object]:
        """Return the JSON fields of `Survival`, and the fields of the squared weights."""
        return {**super()._question(), **self.required_squares.to_json()}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> WeightedSurvival:
        """Return the curve from a parsed JSON document.

        Args:
            document: Parsed JSON document of the result.

        Raises:
            InvalidArgument: weights of the censored, weights of events, or squared weights are missing.
        """
        question, turns = document.question, document.releases
        if len(turns) != cls.RELEASES + 1:
            raise InvalidArgument(
                "curve.evidence.releases",
                "weights of the censored and of events, and squares, are needed: use the text that to_json wrote",
            )
        grid = grid_from_cells(question, document.arrays["x"], Outside.APART)
        squares = SquaredWeights.from_json(question, document.evidence["releases"][-1], grid.slots)
        return cls(question["label"], document.privacy, turns[:-1], grid, squares)._add_notes()

    def _summary(self) -> list[tuple[str, str]]:
        """Return rows of the summary as pairs of label and value: those of `Survival`, and of the weights."""
        return [*super()._summary(), *format_weight_rows(self)]


@dataclass(frozen=True, slots=True)
class WeightedSurvivalQuestion(TableQuestion):
    """Time until an event of records with survey weights, with censoring. Two rounds under one charge.

    Sums of weights of censored records and of events in all cells of time get seven eighths of the budget; sums of
    squared weights in up to eight groups of cells get the rest.

    Formal guarantees: a record has at most one event, and lies in one cell of each table, with a weight of at most the
    cap. So the noise of both rounds, scaled to the cap, gives them together the loss of the question.

    Attributes:
        time: Numeric column: the time of the event, or of censoring.
        event: Column of the event indicator: event or censoring.
        grid: Public cells of time; times outside are counted separately for any grid.
        weight: Column of survey weights.
        weight_cap: Public upper bound of one record's weight: see `WeightedCdfQuestion`.
        event_value: Value of `event` for an event.
        censored_value: Value of `event` for a censored record; optional if `event_value` is 1, 0, -1, True or False.
        measured_in: Unit of time.

    Raises:
        ValueError: there are more than 16,384 cells, the two labels are equal, or the cap is not a finite positive
            number.
        TypeError: a field has the wrong type.

    >>> import dpcurves as dp
    >>> table = {"years": [2.5, 4.5] * 2000, "died": [1, 0] * 2000, "w": [1, 3] * 2000}
    >>> question = dp.WeightedSurvivalQuestion("years", "died", dp.Grid(0, 10, cells=10), "w", 4)
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     curve = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> bool(abs(curve.y[3] - 0.75) < 0.05)
    True
    """

    time: str
    event: str
    grid: Grid
    weight: str
    weight_cap: float
    event_value: Category = 1
    censored_value: Category | None = None
    measured_in: str = ""

    def __post_init__(self) -> None:
        require_times(self.time, self.grid, self.measured_in)
        event_categories(self)
        object.__setattr__(self, "weight_cap", Weights(self.weight, self.weight_cap).cap)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Yield two queries: sums of weights of censored records and of events in each time cell, then sums of squared
        weights in groups of cells. Return the weighted survival curve.

        Args:
            setting: Loss and adjacency; the noise decides the groups.
        """
        axis = Axis(self.time, self.grid.with_outside(Outside.APART))
        weights = Weights(self.weight, self.weight_cap)
        release, squares_release, starts = yield from ask_weight_sums((event_categories(self), axis), weights, setting)
        squares = SquaredWeights(weights, Evidence.from_release(squares_release), starts)
        pair = tuple(split_rows(Evidence.from_release(release)))
        caps = float(Evidence.from_release(release).unbiased_cells.sum()) / Weights.STEPS
        privacy = build_privacy_statement(
            [release, squares_release], note_thresholds=note_thresholds_for_times(self.time)
        ).with_notes(note_on_weights(squares, caps))
        return WeightedSurvival(
            format_axis_label(self.time, self.measured_in), privacy, pair, axis.grid, squares
        )._add_notes()

    def __str__(self) -> str:
        return f"survival over {self.time} until {self.event}, {Weights(self.weight, self.weight_cap)}"


ENTRY_FRACTION = Fraction(1, 3)
"""Budget fraction of the counts of entries; the counts of exits, with and without an event, get the rest."""


ENTRY_TIES = "after", "before"
"""Values of `entry_ties`: entries at a declared value follow its events, as in R (the default), or precede them; other
values are refused."""


def event_table_from_slots(
    censored: FloatArray, events: FloatArray, entries: FloatArray, entries_first: BoolArray | bool = True
) -> EventTable:
    """Return events, records at risk and entries in each cell of a grid, for a product-limit estimate.

    Arrays of counts are (..., cells + 2): the first slot counts values below the grid, the last one values above.
    Records that left before the grid starts are not at risk.

    Args:
        censored: Censored records by the time of censoring.
        events: Records with an event by its time.
        entries: Records by the time of entry.
        entries_first: Whether entries in a cell are at risk for the events of the cell, (cells,) or one for all.
    """
    gone = (events + censored)[..., :-1]
    present = np.cumsum(entries[..., :-1], axis=-1)[..., 1:] - np.cumsum(gone, axis=-1)[..., :-1]
    present = present - np.where(entries_first, 0.0, entries[..., 1:-1])
    return EventTable(AtRisk(events[..., 1:-1], present), censored[..., 1:-1], entries[..., 1:-1])


@dataclass(frozen=True, eq=False, repr=False)
class DelayedEntry(Survival):
    """The Kaplan-Meier estimate with delayed entry (left truncation), for records without an event before the grid
    starts.

    At a declared value events come first, then censoring, then entries: records at risk for an event entered earlier
    and have not left, as in R's ``Surv(start, stop, event)``, Stata and `lifelines`: (start, stop]. With
    ``entry_ties="before"`` entries come first; at the first value they also do so if no record can have entered
    earlier. In cells without declared values entries come first, then events, then censoring, and bands and intervals
    hold for any order. Start the grid where enough records have entered.

    Attributes:
        label: Label of the x axis.
        privacy: The privacy statement, shown on every plot.
        evidence: The released counts of censored records, of events, and of entries.
        grid: The cells.
        entry_ties: Whether entries at a declared value come "after" its events, or "before" them.
    """

    KIND = "delayed-entry"
    TITLE = "Survival over {label}, with delayed entry"
    RELEASES: ClassVar[int] = 3
    AT_RISK_MAY_RISE: ClassVar[bool] = True

    entry_ties: str = ENTRY_TIES[0]

    @cached_property
    def entries_first(self) -> BoolArray:
        """Mask of the cells in which records that enter count as at risk for the events of that cell, (cells,)."""
        first = np.full(self.grid.cells, self.grid.values is None or self.entry_ties == "before")
        released, noise = (
            event_table_from_slots(*rows, first).at_risk for rows in (self._slot_counts, self._sample_slot_noise(None))
        )
        first[0] |= not find_followed_cells(released, noise)[0]
        return first

    @cached_property
    def _event_table(self) -> EventTable:
        """Unbiased released events, numbers at risk, censored records and entries, (cells,)."""
        return event_table_from_slots(*self._slot_counts, self.entries_first)

    @property
    def _slot_counts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Unbiased released counts of censored records, of events and of entries, each (cells + 2,)."""
        censored, events, entered = (release.unbiased_cells[0] for release in self.evidence)
        return censored, events, entered

    def _sample_noise(self, draw: np.random.Generator) -> EventTable:
        """Return simulated noise of the event table, (draws, cells).

        Args:
            draw: Random generator of the simulation.
        """
        return event_table_from_slots(*self._sample_slot_noise(draw), self.entries_first)

    def _sample_slot_noise(self, generator: np.random.Generator | None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return simulated noise of the censored records, events and entries in the cells and outside, each (draws,
        cells + 2).

        Args:
            generator: Random numbers of the simulation; None: from a fixed public seed.
        """
        draw = public_generator(generator)
        censored, events, entered = (
            simulate_cell_noise(release.sums, release.total, choose_draws(release.sums.cells), draw)[:, 0]
            for release in self.evidence
        )
        return censored, events, entered

    @cached_property
    def _shrunken_hazards(self) -> HazardPosterior | None:
        """No shrinkage (None), because its model needs all records at risk from the start."""
        return None

    def _question(self) -> dict[str, object]:
        """Return the JSON fields of `Survival`, and the order of ties of entries."""
        return {**super()._question(), "entry_ties": self.entry_ties}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> DelayedEntry:
        """Return the curve from a parsed JSON document.

        Args:
            document: Parsed JSON document of the result.

        Raises:
            InvalidArgument: there are not three rows of counts.
        """
        if len(document.releases) != cls.RELEASES:
            raise InvalidArgument(
                "curve.evidence.releases",
                "must have three rows of counts, of the censored, of events and of entries: the text was changed, "
                "or is of another curve; use the text that to_json wrote",
            )
        grid = grid_from_cells(document.question, document.arrays["x"], Outside.APART)
        ties = require_entry_ties(document.question["entry_ties"])
        return cls(document.question["label"], document.privacy, document.releases, grid, ties)._add_notes()


def require_entry_ties(entry_ties: object) -> str:
    """Return `entry_ties`, the order of entries and events at one declared value, if it is valid.

    Args:
        entry_ties: "after": records enter after the events at their entry time. "before": they enter before.

    Raises:
        ValueError: `entry_ties` is neither "after" nor "before".
    """
    # `in` alone would compare an array element by element.
    if not isinstance(entry_ties, str) or entry_ties not in ENTRY_TIES:
        raise InvalidArgument("entry_ties", f'must be "after" (as in R) or "before", got {describe_value(entry_ties)}')
    return str(entry_ties)


@dataclass(frozen=True, slots=True)
class DelayedEntryQuestion(TableQuestion):
    """Time until an event of records that enter observation at different times (left truncation). Two rounds.

    Formal guarantees: exits, by event, are counted with two thirds of the budget, and entries with one third; a record
    lies in one cell of each table, or is missing, which depends on that record alone. Both rounds together lose the
    loss of the question.

    A record without both times, or with an exit before its entry, is missing in both tables, as in R's ``Surv``. So is
    an exit at the declared value of its entry: it is never at risk, unless `entry_ties` is "before".

    Attributes:
        entry: Numeric column: the time from which a record is observed, on the axis of `time`.
        time: Numeric column: the time of the event, or of censoring.
        event: Column of the event indicator: event or censoring.
        grid: Public cells of time. Records that left before it starts are not counted as at risk.
        by: Publicly declared categories: one curve for each, all together at the privacy loss of one.
        event_value: Value of `event` for an event.
        censored_value: Value of `event` for a censored record; optional if `event_value` is 1, 0, -1, True or False.
        measured_in: Unit of time.
        entry_ties: "after": records that enter at a declared value are not at risk for its events, as in R; "before":
            they are.

    Raises:
        ValueError: there are more than 16,384 cells, the two labels are equal, or both times are one column.
        TypeError: a field has the wrong type.

    >>> import dpcurves as dp
    >>> table = {"joined": [50, 65] * 900, "age": [70, 75] * 900, "died": [1, 0] * 900}
    >>> question = dp.DelayedEntryQuestion("joined", "age", "died", dp.Values(range(60, 81)))
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     curve = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> bool(abs(curve.y[12] - 0.5) < 0.2)
    True
    """

    entry: str
    time: str
    event: str
    grid: Grid
    by: By = None
    event_value: Category = 1
    censored_value: Category | None = None
    measured_in: str = ""
    entry_ties: str = ENTRY_TIES[0]

    def __post_init__(self) -> None:
        require_times(self.time, self.grid, self.measured_in, self.by)
        require_type("entry", self.entry, str, "a column")
        event_categories(self)
        require_entry_ties(self.entry_ties)
        if self.entry == self.time:
            raise InvalidArgument("entry", "must differ from the column of exit times; name the column of entry times")

    def steps(self, setting: Setting) -> Needs[Any]:
        """Yield two queries: counts of exits in each time cell, by event, and then counts of entries. Return the
        survival curve, or one by category.

        Args:
            setting: Without effect: the budget fractions are fixed.
        """
        grid = self.grid.with_outside(Outside.APART)
        exits_at, entered_at = (
            OrderedAxis(
                column, grid, earlier=self.entry, later=self.time,
                allows_equal=self.grid.values is None or self.entry_ties == "before",
            )
            for column in (self.time, self.entry)
        )  # fmt: skip
        exit_table = yield from ask_workload(
            PrefixWorkload(prepend_category_axes(self.by, event_categories(self), exits_at)), 1 - ENTRY_FRACTION
        )
        entry_table = yield from ask_workload(
            PrefixWorkload(prepend_category_axes(self.by, entered_at)), ENTRY_FRACTION
        )
        exits = split_rows(exit_table.counts)
        entries = split_rows(entry_table.counts)
        thresholds = note_thresholds_for_late_entries(self.entry, self.time)
        privacy = build_privacy_statement((*exit_table.releases, *entry_table.releases), note_thresholds=thresholds)
        label = format_axis_label(self.time, self.measured_in)
        tables: list[tuple[Evidence, ...]] = list(zip(exits[::2], exits[1::2], entries, strict=True))
        curves = [DelayedEntry(label, privacy, rows, grid, self.entry_ties)._add_notes() for rows in tables]
        return collect_by_category(self.by, curves)

    def __str__(self) -> str:
        return f"survival over {self.time} until {self.event}, entered at {self.entry}{describe_grouping(self.by)}"


@dataclass(frozen=True, slots=True)
class AutoRangeSurvivalQuestion(TableQuestion):
    """Time until an event, with censoring, if no horizon is known.

    A fifth of the budget searches for the range of times in three rounds; the rest counts as a `SurvivalQuestion` does,
    on a grid from zero to the end of that range.

    Formal guarantees: the loss of the question, under either adjacency: the losses of pilot queries and count add up to
    it, for any answers of the pilot queries (see `strategies.range_search`).

    Attributes:
        time, event, by, event_value, censored_value, measured_in: As in `SurvivalQuestion`. The time may also be a
            column of
            durations, which are counted in seconds; not of dates, which are not durations.

    Raises:
        ValueError, TypeError: as for a `SurvivalQuestion`.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> table = {"days": np.linspace(1, 900, 20_000), "died": [1, 0] * 10_000}
    >>> session = dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE)
    >>> curve = session.ask(dp.AutoRangeSurvivalQuestion("days", "died"), dp.PrivacyLoss.pure(1))
    >>> bool(500 < curve.x[-1] < 2000)
    True
    """

    is_plan_shown_first: ClassVar[bool] = True

    time: str
    event: str
    by: By = None
    event_value: Category = 1
    censored_value: Category | None = None
    measured_in: str = ""

    def __post_init__(self) -> None:
        self.with_grid(Grid(0, 1, cells=1))

    def steps(self, setting: Setting) -> Needs[Any]:
        """Yield the pilot queries of a search for the range of times, then the counts of a survival curve on a grid of
        this range. Return the curve, or one by category.

        Args:
            setting: Loss and adjacency of the question.
        """
        # cells of the grid, approximately
        search = yield from ask_workload(AutomaticGridWorkload(self.time, 128), PILOT_FRACTION)
        edges = [0.0, *(edge for edge in search.chosen_grid.edges.tolist() if edge > 0)]
        grid = Grid.from_edges(edges if len(edges) > 1 else [0.0, 1.0], outside=Outside.APART)
        return (
            yield from self.with_grid(grid).ask_with_budget_fraction(
                WHOLE_BUDGET - PILOT_FRACTION, add_empty_range_note(search), DurationAxis
            )
        )

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """Return one note: the fraction of the budget that the range search takes.

        Args:
            setting: Loss and adjacency of the question.
        """
        return (note_on_pilot_queries(setting),)

    def with_grid(self, grid: Grid) -> SurvivalQuestion:
        """Return the `SurvivalQuestion` of the same columns on this grid.

        Args:
            grid: Cells of time.
        """
        return SurvivalQuestion(
            self.time, self.event, grid, self.by, self.event_value, self.censored_value, self.measured_in
        )

    def __str__(self) -> str:
        return f"survival over {self.time} until {self.event}{describe_grouping(self.by)}, no horizon given"


# Turnbull's estimate from counts of pairs of cells: an event lies after the first cell and not after the second.
LEAST_DIVISOR = 1e-300
"""Records: the least divisor, in the place of 0, far below any count."""


def collapse_pairs(slots: FloatArray, *, round_down: bool) -> FloatArray:
    """Return counts by the first and the last cell that may contain an interval-censored event.

    Entry ``(a, b)`` counts events in cells a to b; the last cell is for times beyond the grid. For integer times an
    event after the value of a cell lies in the next cell or later. Exact times are rounded up to the end of their cell;
    if they are rounded down, an event lies in the same cell or later, and before the cell in which it was seen.

    Args:
        slots: Counts by the last time without and the first time with an event, (..., cells + 2, cells + 2): the first
            and the last slot of an axis count times below and above the grid.
        round_down: True: times are rounded down to the start of their cell; False: up to its end.

    Returns:
        Counts, (..., cells + 1, cells + 1).
    """
    cells = slots.shape[-1] - 2
    last, first = np.meshgrid(np.arange(-1, cells + 1), np.arange(-1, cells + 1), indexing="ij")
    begin = np.clip(last if round_down else last + 1, 0, cells)
    end = np.clip(np.where(first > cells - 1, cells, first - round_down), 0, cells)
    alike = last == first  # both in one cell: the event lies there
    begin = np.where(alike, np.clip(last, 0, cells), begin)
    end = np.where(alike, np.clip(last, 0, cells), end)
    end = np.where((last < first) | alike, np.maximum(end, begin), -1)
    collapsed = np.zeros((*slots.shape[:-2], cells + 1, cells + 1))
    for row, column in zip(*np.nonzero(end >= 0), strict=True):
        collapsed[..., begin[row, column], end[row, column]] += slots[..., row, column]
    return collapsed


def count_followed(slots: FloatArray) -> FloatArray:
    """Return the number of records followed to each cell: by an examination in or after it, or to an observed event.

    Args:
        slots: Counts by the last time without and the first time with an event, (..., cells + 2, cells + 2): the first
            and the last slot of an axis count times below and above the grid.

    Returns:
        Counts, (..., cells).
    """
    size = slots.shape[-1]
    last, first = np.ogrid[:size, :size]
    # Records without an event are followed to their last examination, others to the examination with it.
    end = np.where(first == size - 1, last, first)
    ends = np.zeros((*slots.shape[:-2], size))
    for slot in range(1, size):
        ends[..., slot] = slots[..., (end == slot) & (last <= first)].sum(axis=-1)
    return np.asarray(np.cumsum(ends[..., ::-1], axis=-1)[..., ::-1][..., 1:-1])


def project_pair_counts(counts: FloatArray) -> FloatArray:
    """Return the nearest nonnegative counts with equal sum, (..., cells + 1, cells + 1), that are 0 where the last cell
    precedes the first.

    Args:
        counts: Counts by first and last cell that may contain the event, (..., cells + 1, cells + 1); they may be
            negative.

    >>> project_pair_counts(np.array([[3.0, -1.0], [0.0, 2.0]])).tolist()
    [[2.5, 0.0], [0.0, 1.5]]
    """
    size = counts.shape[-1]
    possible = np.triu(np.ones((size, size), dtype=np.bool_))
    rows = counts.reshape(-1, size, size)
    projected = np.zeros_like(rows)
    for row, given in zip(projected, rows, strict=True):
        row[possible] = project_to_simplex(given[possible], max(float(given[possible].sum()), 1.0))
    return projected.reshape(counts.shape)


def keep_significant_pairs(counts: FloatArray, noise: FloatArray) -> FloatArray:
    """Return nonnegative counts of significant pairs of cells only, with the sum of all counts; of all pairs if none
    is significant.

    Noise of empty pairs looks like records in `project_pair_counts`, and there are many pairs. Adding noise a second
    time changes a curve of projected counts less than it changed the released curve.

    Args:
        counts: Noisy counts from `collapse_pairs`, (cells + 1, cells + 1).
        noise: Draws of their noise, (draws, cells + 1, cells + 1).

    Returns:
        Counts, (cells + 1, cells + 1), 0 for pairs that are not significant.
    """
    seen = counts > 3.0 * noise.std(axis=0)  # z-score from which the count of a pair of cells is taken for records
    if not seen.any():
        return project_pair_counts(counts)
    significant = np.zeros_like(counts)
    significant[seen] = project_to_simplex(counts[seen], max(float(counts.sum()), 1.0))
    return significant


def rescale_pair_counts(counts: FloatArray) -> FloatArray:
    """Return the counts with negative ones set to 0, and all scaled by one factor so that their sum is unchanged.

    It is a guess of the true counts of pairs of cells that spreads few records over many pairs; `project_pair_counts`
    errs in the opposite direction, with fewer records in rare pairs.

    Args:
        counts: Counts by first and last cell that may contain the event, (cells + 1, cells + 1); they may be negative.
    """
    scaled = np.maximum(counts, 0.0)
    return scaled * (max(float(counts.sum()), 1.0) / max(float(scaled.sum()), LEAST_DIVISOR))


def estimate_turnbull_masses(
    counts: FloatArray,
    start: FloatArray | None = None,
    max_iterations: int = 20_000,  # iterations, at most
) -> FloatArray:
    """Return the maximum likelihood probabilities of an event in each cell, by self-consistency (Turnbull 1976;
    Efron 1967): (..., cells + 1); the last is for events beyond the grid.

    Args:
        counts: Nonnegative counts by the first and the last cell that may contain the event, as
            `project_pair_counts` returns them, (..., cells + 1, cells + 1).
        start: Starting masses, (..., cells + 1); None: uniform.
        max_iterations: Iterations after which the present masses are returned, converged or not.
    """
    size = counts.shape[-1]
    even = np.full((*counts.shape[:-2], size), 1 / size)
    mixed = 0.1  # weight of the uniform distribution: a cell of mass 0 would keep it
    mass = even if start is None else (1 - mixed) * start + mixed * even
    whole = np.maximum(counts.sum(axis=(-2, -1)), LEAST_DIVISOR)[..., None]
    for _ in range(max_iterations):
        below = np.cumsum(mass, axis=-1)
        chance = below[..., None, :] - (below - mass)[..., :, None]
        share = np.divide(counts, chance, out=np.zeros_like(counts), where=(counts > 0) & (chance > LEAST_DIVISOR))
        opened = share.sum(axis=-1)
        closed = share.sum(axis=-2)
        closed = np.concatenate([np.zeros((*closed.shape[:-1], 1)), closed[..., :-1]], axis=-1)
        moved = mass * np.cumsum(opened - closed, axis=-1) / whole
        change = float(np.abs(moved - mass).max(initial=0.0))
        mass = np.maximum(moved, 0.0)
        # change of a mass below which iterations end
        if change < 1e-13:
            break
    return mass


def estimate_turnbull_survival(likely: FloatArray) -> FloatArray:
    """Return the Turnbull estimate of the probability of no event up to the end of each cell, (cells,).

    Args:
        likely: Nonnegative counts by the first and the last cell that may contain the event, as `project_pair_counts`
            returns them, (cells + 1, cells + 1).
    """
    return 1 - np.cumsum(estimate_turnbull_masses(likely))[:-1]


def event_fractions_past_cells(mass: FloatArray) -> FloatArray:
    """Return, for records known to have their event between two cells, the probability that the event comes later than
    each cell, (cells + 1, cells + 1, cells).

    Args:
        mass: Estimated probability of an event in each cell, and past the grid, (cells + 1,).

    Returns:
        Probabilities by first possible cell, last possible cell and cell; 0 for a first cell after the last.
    """
    below = np.append(0.0, np.cumsum(mass + LEAST_DIVISOR))
    first, last, past = np.ogrid[: len(mass), : len(mass), : len(mass) - 1]
    whole = below[last + 1] - below[first]
    fractions = below[last + 1] - below[np.clip(past + 1, first, last + 1)]
    return np.asarray(np.divide(fractions, whole, out=np.zeros(fractions.shape), where=whole > 0))


class SimulatedTurnbull(NamedTuple):
    """Survival past each cell, and its simulated errors by noise, or by noise and sampling.

    Attributes:
        survival: Survival, (cells,).
        errors: Errors around three tables, (draws, cells) each: the two candidate truths of `rescale_pair_counts` and
            `keep_significant_pairs`, and unconstrained counts, divided over cells like masses.
    """

    survival: FloatArray
    errors: tuple[FloatArray, ...]

    @classmethod
    def simulate(
        cls, counts: FloatArray, noise: FloatArray, generator: np.random.Generator | None
    ) -> SimulatedTurnbull:
        """Return the survival of interval-censored records with its simulated errors.

        Args:
            counts: Noisy counts by first and last cell that may contain the event, (cells + 1, cells + 1).
            noise: Draws of their noise, (draws, cells + 1, cells + 1).
            generator: Random numbers by which records are resampled (bootstrap), for the population; None: for these
                records.
        """
        spread = rescale_pair_counts(counts)
        errors = []
        for table in (spread, keep_significant_pairs(counts, noise)):
            moved = noise
            if generator is not None:
                people = max(round(float(table.sum())), 1)
                record_counts = generator.multinomial(
                    people, table.ravel() / max(float(table.sum()), 1.0), size=len(noise)
                )
                moved = noise + (record_counts.reshape(noise.shape) - table)
            masses = estimate_turnbull_masses(table)
            # simulated estimates begin at the estimate, and have at most 300 iterations
            again = estimate_turnbull_masses(
                project_pair_counts(table + moved), np.broadcast_to(masses, (len(noise), len(masses))), 300
            )
            errors.append((np.cumsum(masses) - np.cumsum(again, axis=-1))[:, :-1])
            if table is spread:
                errors.append(
                    np.tensordot(moved, event_fractions_past_cells(masses), 2) / max(float(counts.sum()), 1.0)
                )
        return cls(estimate_turnbull_survival(project_pair_counts(counts)), tuple(errors))

    def band(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds of a simultaneous confidence band of the survival curve, (cells,).

        Bias and spread of the estimate are the worst over the three simulated truths of `errors`.

        Args:
            level: Confidence level of the whole band, between 0 and 1.

        Returns:
            Bounds that may lie outside 0 to 1.
        """
        added = np.stack([error.mean(axis=0) for error in self.errors])
        half = np.max([simultaneous_errors([errors - errors.mean(axis=0)], level) for errors in self.errors], axis=0)
        return self.survival - added.max(axis=0) - half, self.survival - added.min(axis=0) + half


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the intervals of interval-censored curves."""

    interval_draws: int = 400
    """Draws of noise; a curve is estimated for each."""


TUNING = Tuning()
"""Numbers that steer the intervals of interval-censored curves."""

INTERVAL_STREAM = 26
"""Index of the first stream of the fixed random numbers that simulate noise in these intervals."""


@dataclass(frozen=True, eq=False, repr=False)
class IntervalCensoredSurvival(IntervalResult):
    """Survival before each edge of the grid, if events are only known to lie between two examinations (Turnbull 1976).

    The maximum likelihood estimate; where it is not unique, between examinations without any in between, one of the
    maxima. It is NaN past the last cell to which significantly many records were followed, by an examination or an
    event observed there. Negative counts are first replaced by the nearest possible ones, so the estimate is biased by
    noise for few records. Bands take the worst of three models of that bias: sparse counts, spread counts, and
    unconstrained counts.

    Attributes:
        label: Label of the x axis.
        privacy: The privacy statement, shown on every plot.
        evidence: The released counts of pairs of cells.
        grid: The cells.
    """

    KIND = "interval-censored"
    NOTES_UNKNOWN = True
    TITLE = "Survival over {label}, between looks"
    COLUMN_WORDS = display.describe_columns(x="{label}", y=("share without an event", display.CellFormat.SHARE))
    REPR_FACTS = "{label}"
    COLUMNS = ("x", "y")
    INTERVAL_NAME = "band"
    POSSIBLE_RANGES = MappingProxyType({"y": (0.0, 1.0)})
    IS_CURVE = True

    label: str
    privacy: PrivacyStatement
    evidence: Evidence
    grid: Grid

    @classmethod
    def from_counts(
        cls, evidence: Evidence, grid: Grid, label: str, privacy: PrivacyStatement
    ) -> IntervalCensoredSurvival:
        """Return the curve of counts of pairs of cells, including times outside the grid.

        Args:
            evidence: Counts of pairs of cells, of the last examination before the event and the first after it.
            grid: The grid of times whose cells were counted.
            label: What the times are, as on the axis of a picture.
            privacy: The statement of what was spent; notes on dependence are added to it.
        """
        return cls(label, privacy.with_notes(*notes_on_dependence(privacy)), evidence, grid)

    @cached_property
    def x(self) -> FloatArray:
        """Edges of the grid, of shape ``(cells + 1,)``."""
        return self.grid.edges

    @cached_property
    def y(self) -> FloatArray:
        """Survival before each edge, of the shape of `x`; NaN past the end of follow-up."""
        share = self.extrapolated_survival[1:]
        followed = self._followed_cells
        settled = bool(self.extrapolated_survival[int(followed.sum())] == 0)
        return np.append(1.0, mask_unfollowed(share, followed, settled=settled))

    @cached_property
    def extrapolated_survival(self) -> FloatArray:
        """The curve `y`, continued past the end of follow-up, for simulation.

        Returns:
            Survival, (cells + 1,), beginning with 1.
        """
        return np.append(1.0, estimate_turnbull_survival(project_pair_counts(self._collapse_table(round_down=False))))

    def _is_unknown(self) -> bool:
        """Return True if no cell has significantly many records at risk, so that bands span all possible values."""
        return not self._followed_cells.any()

    @cached_property
    def _followed_cells(self) -> BoolArray:
        """The cells up to the last one to which significantly many records were followed, (cells,)."""
        noise = simulate_cell_noise(
            self.evidence.sums, self.evidence.total, TUNING.interval_draws, numbered_generator(INTERVAL_STREAM)
        )
        released, draws = (
            count_followed(each.reshape(-1, *self._pair_counts.shape)) for each in (self._pair_counts, noise)
        )
        return find_followed_cells(AtRisk(np.zeros(len(released[0])), released[0]), AtRisk(draws, draws))

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return a confidence band that is simultaneous at `level`, lower and upper bounds, of shape ``(cells + 1,
        2)``.

        Examinations may lie anywhere inside their cells: lower bounds are for times rounded down, upper bounds for
        times rounded up. Past the end of follow-up the curve may fall to 0.

        Args:
            level: Probability that the band holds at all edges, between 0 and 1.
            population: Whether it is for the population, not for these records.

        Raises:
            ValueError: `level` is not between 0 and 1; or for the population, a unit may have several records.
        """
        level = require_probability("level", level)
        require_independent(self.privacy, population)
        tied = self.grid.values is not None
        bands = [
            self._simulate_turnbull(population=population, round_down=early).band(level)
            for early in ({False, not tied})
        ]
        lower = np.minimum.reduce([band[0] for band in bands])
        upper = np.maximum.reduce([band[1] for band in bands])
        lower = np.where(self._followed_cells, lower, 0.0)
        upper = np.where(self._followed_cells, upper, 1.0)
        lower = np.maximum.accumulate(lower[::-1])[::-1]
        upper = np.minimum.accumulate(upper)
        ends = np.stack([np.append(1.0, lower), np.append(1.0, upper)], axis=1).clip(0.0, 1.0)
        return np.stack([np.fmin(ends[:, 0], self.y), np.fmax(ends[:, 1], self.y)], axis=1)

    def _simulate_turnbull(self, *, population: bool, round_down: bool) -> SimulatedTurnbull:
        """Return the Turnbull estimate of survival with its simulated errors, for examination times rounded to edges of
        cells.

        The result is computed once.

        Args:
            population: Whether sampling errors are simulated as well, for the population.
            round_down: Whether times are rounded down to edges, not up.
        """

        def simulate_order() -> SimulatedTurnbull:
            """Return the Turnbull estimate and its simulated errors for this rounding of times, under fixed public
            seeds.
            """
            counts = self._collapse_table(round_down=round_down)
            noise = simulate_cell_noise(
                self.evidence.sums, self.evidence.total, TUNING.interval_draws, numbered_generator(INTERVAL_STREAM)
            )
            sampled = numbered_generator(INTERVAL_STREAM + 1) if population else None
            shape = len(noise), *self._pair_counts.shape
            return SimulatedTurnbull.simulate(
                counts, collapse_pairs(noise.reshape(shape), round_down=round_down), sampled
            )

        return self._compute_once((population, round_down), None, simulate_order)

    def _collapse_table(self, *, round_down: bool) -> FloatArray:
        """Return the unbiased released counts by first and last possible cell, (cells + 1, cells + 1); they may be
        negative.

        Args:
            round_down: Whether exact times are rounded down to the start of their cell, not up to its end.
        """
        return collapse_pairs(self._pair_counts, round_down=round_down)

    @property
    def _pair_counts(self) -> FloatArray:
        """Unbiased released counts of pairs of slots, (cells + 2, cells + 2): last time without the event, first
        time with it."""
        slots = self.grid.with_outside(Outside.APART).slots
        return self.evidence.unbiased_cells.reshape(slots, slots)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw survival as steps with its bands; return the axes.

        Args:
            shades: Bands, wider ones first.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        return draw_survival(self.x, self._mask_unknown("y", self.y), label=self.label, shades=shades, **how)

    def _question(self) -> Mapping[str, object]:
        """Return the JSON fields that restore the curve with `_from_json`: label and declared values of the grid."""
        return {"label": self.label, **declared_values_to_json(self.grid)}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> IntervalCensoredSurvival:
        """Return the curve from a parsed JSON document.

        Args:
            document: Parsed JSON document of the result.

        Raises:
            InvalidArgument: there is not one count for each pair of time cells.
        """
        (evidence,), grid = document.releases, grid_from_cells(document.question, document.arrays["x"], Outside.APART)
        if evidence.sums.rows * evidence.sums.cells != grid.slots**2:
            raise InvalidArgument(
                "curve.evidence.releases",
                f"must have counts of {grid.slots} by {grid.slots} pairs of cells: the text was changed, or is of "
                "another curve; use the text that to_json wrote",
            )
        return cls.from_counts(evidence, grid, document.question["label"], document.privacy)

    def key_columns(self, level: float, *, population: bool = True) -> dict[str, Any]:
        """Return the share without an event at the end of follow-up, with the band there.

        Args:
            level: Confidence level of the band.
            population: Whether a band for the population is added to the band for these records; it is left out if
                units may have several records.

        Returns:
            Values by column name: ``share``, ``share_lower`` and ``share_upper``, with the population
            ``share_lower_population`` and ``share_upper_population`` too.
        """
        end = int(np.flatnonzero(np.isfinite(self.y))[-1])
        limits = {}
        for of_population in interval_scopes(self.privacy, population=population).values():
            band = self._interval_limits(level, population=of_population)
            limits[of_population] = [float(ends[end]) for ends in band]
        return {"share": float(self._mask_unknown("y", self.y)[end]), **name_ends("share", limits)}

    KEY_WORDS = display.describe_columns(
        share=("share without an event at the end of follow-up", display.CellFormat.SHARE)
    )

    def _summary(self) -> list[tuple[str, str]]:
        """Return one row of the summary, as a pair of a label and the formatted value, without an interval.

        The value is the share of records without an event at the end of follow-up, from 0 to 1. The end is the last
        edge at which the curve is known; its time stands in the label.
        """
        end = int(np.flatnonzero(np.isfinite(self.y))[-1])
        share = float(self._mask_unknown("y", self.y)[end])
        return [(f"share without an event before {self.x[end]:g}", format_number(share))]


MISSING_TIMES = "open", "excluded"
"""Values of `missing_times`: without a time, that end of the interval is open, as in R (the default), or the record is
not counted; other values are refused."""


SWAPPED_TIMES_NOTE = add_advice(
    "have a first time with the event in a cell before that of the last time without it, which fit no survival curve",
    "were both columns swapped?",
)
"""Note of a result in which significantly many records have the event before the last examination without it."""


def notes_on_swapped_columns(release: TableCounts, slots: int) -> tuple[str, ...]:
    """Return a note if significantly many records have the event before the last examination without it; else ().

    Such records suggest that the two columns were swapped.

    Args:
        release: Noisy counts of pairs of slots, of all categories together: last time without the event, and first time
            with it.
        slots: Number of slots along each axis.
    """
    noise = release.counts.sums.cell_noise
    if not release.is_paid or noise is None:
        return ()
    table = release.counts.unbiased_cells.reshape(-1, slots, slots)
    swapped = np.tril(np.ones((slots, slots), dtype=bool), -1)
    deviation = sqrt(noise.variance * len(table) * int(swapped.sum()))
    return note_on_order(float(table[:, swapped].sum()), float(table.sum()), deviation, SWAPPED_TIMES_NOTE)


@dataclass(frozen=True, slots=True)
class IntervalCensoredQuestion(TableQuestion):
    """Time until an event that is only known to lie between two examinations. One round.

    Formal guarantees: a record lies in one cell of one table of pairs of cells, or is missing, which depends on that
    record alone.

    Attributes:
        last: Numeric column: the last examination without the event; empty, or below the grid, if no
            examination precedes the event.
        first: Numeric column: the first examination with the event; empty, or beyond the grid, such as infinity, if no
            examination found it. A record with the event before its last examination without it is missing, as in R.
        grid: Public cells of time, at most 64, because pairs of them are counted.
        by: Publicly declared categories: one curve for each, all together at the privacy loss of one.
        measured_in: Unit of time.
        missing_times: "open": an empty, or unreadable, time leaves that end of the interval open, as NA does in R's
            ``Surv(last, first, type="interval2")``, and a record without any time says nothing about the curve;
            "excluded": a record with an empty time is not counted.

    Raises:
        ValueError: there are more than 64 cells, both examinations are one column, or `missing_times` is neither "open"
            nor "excluded".
        TypeError: a field has the wrong type.

    >>> import dpcurves as dp
    >>> table = {"without": [2, 0] * 900, "with": [4, 3] * 900}
    >>> question = dp.IntervalCensoredQuestion("without", "with", dp.Values(range(1, 6)))
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     curve = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> bool(curve.y[3] < 0.1)
    True
    """

    last: str
    first: str
    grid: Grid
    by: By = None
    measured_in: str = ""
    missing_times: str = MISSING_TIMES[0]

    def __post_init__(self) -> None:
        largest_cells, counted = 64, "counted in pairs"  # cells, because pairs of them are counted
        require_times(self.last, self.grid, self.measured_in, self.by, max_cells=largest_cells, verb=counted)
        for name, column in (("last", self.last), ("first", self.first)):
            require_type(name, column, str, "a column")
        if self.first == self.last:
            raise InvalidArgument(
                "first",
                "must differ from last, the time of the last examination without the event: name the column of the "
                "first examination with it",
            )
        # `in` alone would compare an array element by element.
        if not isinstance(self.missing_times, str) or self.missing_times not in MISSING_TIMES:
            raise InvalidArgument(
                "missing_times",
                f'must be "open" (as in R) or "excluded", got {describe_value(self.missing_times)}',
            )

    def steps(self, setting: Setting) -> Needs[Any]:
        """Yield the only query: a noisy count of each pair of time cells (last examination without the event, first
        with it). Return the survival curve, or one by category.

        Args:
            setting: Without effect: the query is the same for any loss.
        """
        grid = self.grid.with_outside(Outside.APART)
        order: dict[str, Any] = {"earlier": self.last, "later": self.first, "allows_equal": True}
        last = OrderedAxis(self.last, grid, **order)
        first = OrderedAxis(self.first, grid, **order)
        if self.missing_times == "open":
            last = OpenEndedAxis(self.last, grid, **order, missing_above=False)
            first = OpenEndedAxis(self.first, grid, **order, missing_above=True)
        axes = prepend_category_axes(self.by, last, first)
        table = yield from ask_workload(CellWorkload(axes), WHOLE_BUDGET)
        never_seen = {(self.last, Side.BELOW): inf, (self.first, Side.ABOVE): inf}
        privacy = build_privacy_statement(
            table.releases, note_thresholds={**note_thresholds_for_times(self.last), **never_seen}
        )
        privacy = privacy.with_notes(*notes_on_swapped_columns(table, grid.slots))
        label = format_axis_label(self.first, self.measured_in)
        tables = split_rows(table.counts, grid.slots) if self.by is not None else [table.counts]
        return collect_by_category(
            self.by, [IntervalCensoredSurvival.from_counts(pair_table, grid, label, privacy) for pair_table in tables]
        )

    def __str__(self) -> str:
        return f"survival with the event between {self.last} and {self.first}{describe_grouping(self.by)}"
