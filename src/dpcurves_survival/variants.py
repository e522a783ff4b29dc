"""Survival curves with survey weights, with late entry (left truncation), without a horizon, or interval-censored."""

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
    ALL,
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
from dpcurves.curves.automatic_range import LOOKED, add_empty_range_note, note_on_pilot_queries
from dpcurves.curves.by_category import collect_by_category, describe_question, format_axis_label, split_rows
from dpcurves.curves.outside import Side, note_on_order, thresholds_for_late_entries, thresholds_for_times
from dpcurves.curves.question import (
    By,
    build_privacy_statement,
    declared_values_to_json,
    grid_from_cells,
    prepend_category_axes,
    require_independent,
)
from dpcurves.curves.result import IntervalResult, PlotArguments, notes_on_dependence
from dpcurves.curves.weighted import SquaredWeights, ask_weight_sums, format_weight_rows, note_on_weights
from dpcurves.data import Axis, Grid, Outside, Weights
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
    """The share of the weight without an event before each edge of the grid, as Kaplan and Meier estimate it.

    Hazards are ratios of sums of weights: of events in a cell, over those at risk. Everything else is as of `Survival`,
    in effective records: see `WeightedCDF`. For the population their weight is ``sum w**2 / sum w`` in that group of
    times where this is largest, so bands hold more often than they say where weights depend on time.

    Attributes:
        label: What the x axis shows.
        privacy: The privacy statement, which every picture shows.
        evidence: The released sums of weights of censored records and of events.
        grid: Where the cells lie.
        squares: Sums of squared weights.
    """

    KIND = "weighted-survival"
    TITLE = "Weighted survival over {label}"
    WEIGHTED = True

    squares: SquaredWeights | None = None

    @property
    def required_squares(self) -> SquaredWeights:
        """The sums of squared weights, which are never missing."""
        return cast("SquaredWeights", self.squares)

    @cached_property
    def _slot_weights(self) -> FloatArray:
        """Sums of weights in each slot, over the cap, without bias: of all that leave."""
        return np.asarray(sum(turn.unbiased_cells[0] for turn in self.evidence) / Weights.STEPS)

    @cached_property
    def _steps_per_record(self) -> float:
        """The steps of weight that stand for one effective record."""
        ratios = self.required_squares.sampling_ratios(self._slot_weights)
        return Weights.STEPS * min(ratios.overall * max(float(ratios.by_group.max()), 1.0), 1.0)

    @property
    def _weight_per_record(self) -> float:
        """The weight of one effective record."""
        return self.required_squares.weights.step * self._steps_per_record

    @property
    def count(self) -> float:
        """The sum of all weights, in their units."""
        return float(self._slot_weights.sum()) * self.required_squares.weights.cap

    @property
    def design_effect(self) -> float:
        """The design effect of unequal weights, as released: n sum w^2 / (sum w)^2 (Kish 1965).

        At least 1; NaN where noise hides it.
        """
        return self.required_squares.design_effect(float(self._slot_weights.sum()))

    @property
    def at_risk(self) -> FloatArray:
        """The weight at risk in the cell that ends at each edge, unbiased; at the first edge all of it."""
        return super().at_risk * self._weight_per_record

    def at_risk_intervals(self, level: float) -> FloatArray:
        """Lower and upper ends of `at_risk`, all correct at once with chance `level`: shape ``(cells + 1, 2)``.

        Raises:
            ValueError: `level` is not between 0 and 1.
        """
        return super().at_risk_intervals(level) * self._weight_per_record

    @property
    def rounds(self) -> tuple[Evidence, ...]:
        """Sums of weights of the censored and of events, and sums of squared weights."""
        return (*self.evidence, self.required_squares.evidence)

    @cached_property
    def _event_table(self) -> EventTable:
        return self._to_effective_records(EventTable.from_counts(self.evidence))

    def _sample_noise(self, draw: np.random.Generator) -> EventTable:
        return self._to_effective_records(EventTable.sample_noise(self.evidence, draw))

    def _to_effective_records(self, found: EventTable) -> EventTable:
        events, records = found.at_risk
        return EventTable(
            AtRisk(events / self._steps_per_record, records / self._steps_per_record),
            found.censored / self._steps_per_record,
        )

    def _question(self) -> dict[str, object]:
        return {**super()._question(), **self.required_squares.to_json()}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> WeightedSurvival:
        question, turns = document.question, document.releases
        if len(turns) != cls.RELEASES + 1:
            raise InvalidArgument(
                "curve.evidence.releases", "weights of the censored and of events, and squares, are needed"
            )
        grid = grid_from_cells(question, document.arrays["x"], Outside.APART)
        squares = SquaredWeights.from_json(question, document.evidence["releases"][-1], grid.slots)
        return cls(question["label"], document.privacy, turns[:-1], grid, squares)._add_notes()

    def _summary(self) -> list[tuple[str, str]]:
        return [*super()._summary(), *format_weight_rows(self)]


@dataclass(frozen=True, slots=True)
class WeightedSurvivalQuestion:
    """Time until an event of records with survey weights, where some are censored. Two turns under one charge.

    Sums of weights of the censored and of events in all cells of time have seven eighths of the loss, sums of squared
    weights in up to eight groups of cells the rest.

    Formal guarantees: those of `WeightedCdfQuestion`: a record has one event at most, and lies in one cell of each
    table.

    Attributes:
        time: A column of numbers: the time of the event, or of censoring.
        event: The column that says whether the event happened.
        grid: Public cells of time; times outside are counted apart, whatever the grid says.
        weight: A column of survey weights.
        weight_cap: The public cap on one record's weight: see `WeightedCdfQuestion`.
        came: The value of `event` for an event.
        censored: The value of `event` for a censored record; may be left out where `came` is 1, 0, -1, True or False.
        measured_in: The measuring unit of time.

    Raises:
        ValueError: there are over 16,384 cells, the labels cannot be told apart, or the cap is missing, or no finite
            number above 0.
        TypeError: a field is of another kind.

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
    came: Category = 1
    censored: Category | None = None
    measured_in: str = ""

    def __post_init__(self) -> None:
        require_times(self.time, self.grid, self.measured_in)
        event_categories(self)
        object.__setattr__(self, "weight_cap", Weights(self.weight, self.weight_cap).cap)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for sums of weights of censored records and of events in each cell, and of squares in groups."""
        axis, weights = Axis(self.time, self.grid.with_outside(Outside.APART)), Weights(self.weight, self.weight_cap)
        release, told, starts = yield from ask_weight_sums((event_categories(self), axis), weights, setting)
        squares, pair = (
            SquaredWeights(weights, Evidence.from_release(told), starts),
            tuple(split_rows(Evidence.from_release(release))),
        )
        caps = float(Evidence.from_release(release).unbiased_cells.sum()) / Weights.STEPS
        privacy = build_privacy_statement([release, told], least=thresholds_for_times(self.time)).with_notes(
            note_on_weights(squares, caps)
        )
        return WeightedSurvival(
            format_axis_label(self.time, self.measured_in), privacy, pair, axis.grid, squares
        )._add_notes()

    def __str__(self) -> str:
        words = describe_question(f"survival by {self.event}", self.time, None)
        return f"{words}, {Weights(self.weight, self.weight_cap)}"


ENTRIES = Fraction(1, 3)
"""The share of the loss for counts of entries: one row beside two of exits."""


ENTRY_TIES = "after", "before"
"""Whether who enters at a declared value comes after the events at it, as in R, or before them."""


def event_table_from_slots(
    censored: FloatArray, events: FloatArray, entries: FloatArray, entries_first: BoolArray | bool = True
) -> EventTable:
    """Events and records at risk, from slots of a grid that counts values outside apart, each (..., cells + 2).

    Those that left before the grid begins are not at risk.

    Args:
        censored: Censored records.
        events: Events.
        entries: Entries.
        entries_first: In which cells whoever enters is at risk for the events of the cell, (cells,).
    """
    gone = (events + censored)[..., :-1]
    present = np.cumsum(entries[..., :-1], axis=-1)[..., 1:] - np.cumsum(gone, axis=-1)[..., :-1]
    present = present - np.where(entries_first, 0.0, entries[..., 1:-1])
    return EventTable(AtRisk(events[..., 1:-1], present), censored[..., 1:-1], entries[..., 1:-1])


LEFT_FIRST = (
    "or more leave before they enter: they count as fewer than none at risk in between; is the time of exit counted "
    "from the same day as that of entry, and in the same unit?"
)


def notes_on_entries(counts: tuple[Evidence, ...]) -> tuple[str, ...]:
    """Return a note if more records have left before some edge than have entered, by more than noise may have made.

    Who left before an edge and entered after it left before entering, so the largest excess is a lower bound on these.

    Args:
        counts: Counts of the censored, of events and of entries, each of one row of slots.
    """
    prefixes, variance = np.zeros(0), np.zeros(0)
    for evidence, sign in zip(counts, (1, 1, -1), strict=True):
        own = sign * np.cumsum(evidence.unbiased_cells[0])
        own_variance = evidence.sums.prefix_variances(evidence.total is not None)[0, 1:]
        prefixes = own if not len(prefixes) else prefixes + own
        variance = own_variance if not len(variance) else variance + own_variance
    inner = slice(0, len(prefixes) - 1)  # before all edges but the last slot, which holds times above the grid
    deviation = np.sqrt(variance[inner])
    edge = int(np.argmax(prefixes[inner] / np.maximum(deviation, 1e-9)))
    entered = float(counts[-1].unbiased_cells.sum())
    return note_on_order(float(prefixes[inner][edge]), entered, float(deviation[edge]), LEFT_FIRST)


@dataclass(frozen=True, eq=False, repr=False)
class DelayedEntry(Survival):
    """The share without an event before each edge of the grid, of records that had none where it begins.

    It is Kaplan and Meier's estimate where records come under observation later (left truncation). At a declared value
    events come first, then censoring, then entries: at risk for an event are those that entered earlier and have not
    left, as R's ``Surv(start, stop, event)``, Stata and `lifelines` have it: (start, stop]. With
    ``entry_ties="before"`` entries come first. At the first value entries come first too where nobody may have entered
    earlier. In a cell of
    times that are not declared entries come first, then events, then censoring, and bands and intervals hold in
    whatever order they came. Let the grid begin where enough have entered.

    Attributes:
        label: What the x axis shows.
        privacy: The privacy statement, which every picture shows.
        evidence: The released counts of censored records, of events, and of entries.
        grid: Where the cells lie.
        entry_ties: Whether entries at a declared value come "after" its events, or "before" them.
    """

    KIND = "delayed-entry"
    TITLE = "Survival over {label}, with delayed entry"
    RELEASES: ClassVar[int] = 3

    entry_ties: str = ENTRY_TIES[0]

    @cached_property
    def entries_first(self) -> BoolArray:
        """In which cells whoever enters is at risk for the events of the cell, (cells,)."""
        first = np.full(self.grid.cells, self.grid.values is None or self.entry_ties == "before")
        released, noise = (
            event_table_from_slots(*rows, first).at_risk for rows in (self._slot_counts, self._sample_slot_noise(None))
        )
        first[0] |= not find_followed_cells(released, noise)[0]
        return first

    @cached_property
    def _event_table(self) -> EventTable:
        return event_table_from_slots(*self._slot_counts, self.entries_first)

    @property
    def _slot_counts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        censored, events, entered = (release.unbiased_cells[0] for release in self.evidence)
        return censored, events, entered

    def _sample_noise(self, draw: np.random.Generator) -> EventTable:
        return event_table_from_slots(*self._sample_slot_noise(draw), self.entries_first)

    def _sample_slot_noise(self, generator: np.random.Generator | None) -> tuple[FloatArray, FloatArray, FloatArray]:
        draw = public_generator(generator)
        censored, events, entered = (
            simulate_cell_noise(release.sums, release.total, choose_draws(release.sums.cells), draw)[:, 0]
            for release in self.evidence
        )
        return censored, events, entered

    @cached_property
    def _shrunken_hazards(self) -> HazardPosterior | None:
        """None: records that shrunken hazards are made for are all at risk from the beginning."""
        return None

    def _question(self) -> dict[str, object]:
        return {**super()._question(), "entry_ties": self.entry_ties}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> DelayedEntry:
        if len(document.releases) != cls.RELEASES:
            raise InvalidArgument(
                "curve.evidence.releases", "counts of the censored, of events and of entries are needed"
            )
        grid = grid_from_cells(document.question, document.arrays["x"], Outside.APART)
        ties = require_entry_ties(document.question["entry_ties"])
        return cls(document.question["label"], document.privacy, document.releases, grid, ties)._add_notes()


def require_entry_ties(entry_ties: object) -> str:
    """Return the order of entries and events at one declared value.

    Raises:
        ValueError: it is neither "after" nor "before".
    """
    if entry_ties not in ENTRY_TIES:
        raise InvalidArgument(
            "entry_ties", f'"after" (as in R) or "before" is needed, got {describe_value(entry_ties)}'
        )
    return str(entry_ties)


@dataclass(frozen=True, slots=True)
class DelayedEntryQuestion:
    """Time until an event of records that come under observation at a time of their own (left truncation). Two turns.

    Formal guarantees: exits, by event, are counted with two thirds of the loss, and entries with the other third; a
    record lies in one cell of each table. Both turns together lose what the question was asked with.

    Leave out records that exit at the declared value at which they enter, as R does: they are at risk for nothing, but
    an event of theirs is counted.

    Attributes:
        entry: A column of numbers: the time from which a record is observed, on the axis of `time`.
        time: A column of numbers: the time of the event, or of censoring.
        event: The column that says whether the event happened.
        grid: Public cells of time. Those that left before it begins are not counted as at risk.
        by: Categories that were declared in public: one curve for each, all together at the privacy loss of one.
        came: The value of `event` for an event.
        censored: The value of `event` for a censored record; may be left out where `came` is 1, 0, -1, True or False.
        measured_in: The measuring unit of time.
        entry_ties: "after": who enters at a declared value is not at risk for its events, as in R; "before": is.

    Raises:
        ValueError: there are over 16,384 cells, the labels cannot be told apart, or both times are one column.
        TypeError: a field is of another kind.

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
    came: Category = 1
    censored: Category | None = None
    measured_in: str = ""
    entry_ties: str = ENTRY_TIES[0]

    def __post_init__(self) -> None:
        require_times(self.time, self.grid, self.measured_in, self.by)
        require_type("entry", self.entry, str, "a column")
        event_categories(self)
        require_entry_ties(self.entry_ties)
        if self.entry == self.time:
            raise InvalidArgument("entry", "another column than that of exits is needed")

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for counts of exits in each cell, and then of entries."""
        grid = self.grid.with_outside(Outside.APART)
        left = yield from ask_workload(
            PrefixWorkload(prepend_category_axes(self.by, event_categories(self), Axis(self.time, grid))), 1 - ENTRIES
        )
        came = yield from ask_workload(PrefixWorkload(prepend_category_axes(self.by, Axis(self.entry, grid))), ENTRIES)
        exits, entries = split_rows(left.counts), split_rows(came.counts)
        usual = thresholds_for_late_entries(self.entry, self.time)
        privacy = build_privacy_statement((*left.releases, *came.releases), least=usual)
        label = format_axis_label(self.time, self.measured_in)
        parts: list[tuple[Evidence, ...]] = list(zip(exits[::2], exits[1::2], entries, strict=True))
        if left.is_paid:
            privacy = privacy.with_notes(*(note for part in parts for note in notes_on_entries(part)))
        curves = [DelayedEntry(label, privacy, rows, grid, self.entry_ties)._add_notes() for rows in parts]
        return collect_by_category(self.by, curves)

    def __str__(self) -> str:
        return describe_question(f"survival by {self.event} from {self.entry}", self.time, self.by)


CELLS = 128
"""About how many cells the grid has."""


@dataclass(frozen=True, slots=True)
class AutoRangeSurvivalQuestion:
    """Time until an event, where some records are censored and no horizon is known.

    A fifth of the loss looks for the range of times in three turns; the rest counts as a `SurvivalQuestion` does, on a
    grid from zero to the end of that range.

    Formal guarantees: the loss that was granted, under either adjacency: looks and count add up to it, whatever the
    looks find (see `strategies.range_search`).

    Attributes:
        time, event, by, came, censored, measured_in: Those of a `SurvivalQuestion`. The time may be a column of
            durations, too, which are counted in seconds; not of dates, which do not tell how long it took.

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
    came: Category = 1
    censored: Category | None = None
    measured_in: str = ""

    def __post_init__(self) -> None:
        self.with_grid(Grid(0, 1, cells=1))

    def steps(self, setting: Setting) -> Needs[Any]:
        """Looks for the range of times, and asks as a `SurvivalQuestion` does."""
        found = yield from ask_workload(AutomaticGridWorkload(self.time, CELLS), LOOKED)
        edges = [0.0, *(edge for edge in found.chosen_grid.edges.tolist() if edge > 0)]
        grid = Grid.from_edges(edges if len(edges) > 1 else [0.0, 1.0], outside=Outside.APART)
        return (
            yield from self.with_grid(grid).ask_with_budget_fraction(
                ALL - LOOKED, add_empty_range_note(found), DurationAxis
            )
        )

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """The price, and what it is spent on."""
        return (note_on_pilot_queries(setting),)

    def with_grid(self, grid: Grid) -> SurvivalQuestion:
        """The question on a grid that is known."""
        return SurvivalQuestion(self.time, self.event, grid, self.by, self.came, self.censored, self.measured_in)

    def __str__(self) -> str:
        return describe_question(f"survival by {self.event}", self.time, self.by) + ", no horizon given"


# Turnbull's estimate from counts of pairs of cells: an event came after the one and by the end of the other.
STEPS, STEPS_OF_DRAWS, SETTLED = 20_000, 300, 1e-13
MIXED = 0.1
"""The share of an even law in the beginning: what has no mass never gets any."""
LEAST = 1e-300
STANDS_OUT = 3.0
"""The count of a pair, in standard deviations of its noise, that is taken for records."""


def collapse_pairs(slots: FloatArray, *, round_down: bool) -> FloatArray:
    """Counts by the first cell an event may lie in and by the cell past the last one: (..., cells + 1, cells + 1).

    Entry ``(a, b)`` holds events in cells a to b; the last cell is for those beyond the grid. Of whole numbers an event
    after the value of one cell lies in the next at the earliest. Where times are exact, this is where each is rounded
    up to the end of its cell; rounded down, an event lies in the same cell at the earliest, and before the one in which
    it was seen.

    Args:
        slots: By the last time without and the first time with an event, on a grid that counts values outside apart.
        round_down: Whether times are rounded down.
    """
    cells = slots.shape[-1] - 2
    last, first = np.meshgrid(np.arange(-1, cells + 1), np.arange(-1, cells + 1), indexing="ij")
    begin = np.clip(last if round_down else last + 1, 0, cells)
    end = np.clip(np.where(first > cells - 1, cells, first - round_down), 0, cells)
    alike = last == first  # both in one cell: it came there
    begin, end = np.where(alike, np.clip(last, 0, cells), begin), np.where(alike, np.clip(last, 0, cells), end)
    end = np.where((last < first) | alike, np.maximum(end, begin), -1)
    found = np.zeros((*slots.shape[:-2], cells + 1, cells + 1))
    for row, column in zip(*np.nonzero(end >= 0), strict=True):
        found[..., begin[row, column], end[row, column]] += slots[..., row, column]
    return found


def count_followed(slots: FloatArray) -> FloatArray:
    """Count the records that are followed to each cell, by a look in it or later, or until an event that was seen.

    Args:
        slots: By the last time without and the first time with an event, on a grid that counts values outside apart,
            (..., cells + 2, cells + 2).

    Returns:
        Counts, (..., cells).
    """
    size = slots.shape[-1]
    last, first = np.ogrid[:size, :size]
    # Who has no event yet is followed to the last look, all others to the look that saw it.
    end = np.where(first == size - 1, last, first)
    ends = np.zeros((*slots.shape[:-2], size))
    for slot in range(1, size):
        ends[..., slot] = slots[..., (end == slot) & (last <= first)].sum(axis=-1)
    return np.asarray(np.cumsum(ends[..., ::-1], axis=-1)[..., ::-1][..., 1:-1])


def project_pair_counts(counts: FloatArray) -> FloatArray:
    """Counts with none below zero and with the same sum, of pairs that are possible: the nearest ones.

    >>> project_pair_counts(np.array([[3.0, -1.0], [0.0, 2.0]])).tolist()
    [[2.5, 0.0], [0.0, 1.5]]
    """
    size = counts.shape[-1]
    possible = np.triu(np.ones((size, size), dtype=np.bool_))
    rows = counts.reshape(-1, size, size)
    found = np.zeros_like(rows)
    for row, given in zip(found, rows, strict=True):
        row[possible] = project_to_simplex(given[possible], max(float(given[possible].sum()), 1.0))
    return found.reshape(counts.shape)


def keep_significant_pairs(counts: FloatArray, noise: FloatArray) -> FloatArray:
    """Likely counts of the pairs alone that stand out of the noise, with the same sum; of all where none does.

    Noise of empty pairs looks like records in `project_pair_counts`, and pairs are many: noise that is added once more moves a
    curve of such counts less than it has moved the released one.

    Args:
        counts: Collapsed counts, (cells + 1, cells + 1).
        noise: Draws of their noise, (draws, cells + 1, cells + 1).
    """
    seen = counts > STANDS_OUT * noise.std(axis=0)
    if not seen.any():
        return project_pair_counts(counts)
    found = np.zeros_like(counts)
    found[seen] = project_to_simplex(counts[seen], max(float(counts.sum()), 1.0))
    return found


def rescale_pair_counts(counts: FloatArray) -> FloatArray:
    """Counts with none below zero, and the same sum by one factor: few records lie in many pairs, as far as noise says.

    The nearest counts of `project_pair_counts` have fewer records in pairs that hold few; such a table is as far from the truth
    on the other side.
    """
    found = np.maximum(counts, 0.0)
    return found * (max(float(counts.sum()), 1.0) / max(float(found.sum()), LEAST))


def estimate_turnbull_masses(
    counts: FloatArray, start: FloatArray | None = None, max_iterations: int = STEPS
) -> FloatArray:
    """The most likely masses of cells, by self-consistency (Turnbull 1976; Efron 1967): (..., cells + 1).

    Args:
        counts: From `project_pair_counts`, (..., cells + 1, cells + 1).
        start: Masses to begin with; None: even ones.
        max_iterations: At most so many steps.
    """
    size = counts.shape[-1]
    even = np.full((*counts.shape[:-2], size), 1 / size)
    mass = even if start is None else (1 - MIXED) * start + MIXED * even
    whole = np.maximum(counts.sum(axis=(-2, -1)), LEAST)[..., None]
    for _ in range(max_iterations):
        below = np.cumsum(mass, axis=-1)
        chance = below[..., None, :] - (below - mass)[..., :, None]
        share = np.divide(counts, chance, out=np.zeros_like(counts), where=(counts > 0) & (chance > LEAST))
        opened, closed = share.sum(axis=-1), share.sum(axis=-2)
        closed = np.concatenate([np.zeros((*closed.shape[:-1], 1)), closed[..., :-1]], axis=-1)
        moved = mass * np.cumsum(opened - closed, axis=-1) / whole
        change, mass = float(np.abs(moved - mass).max(initial=0.0)), np.maximum(moved, 0.0)
        if change < SETTLED:
            break
    return mass


def estimate_turnbull_survival(likely: FloatArray) -> FloatArray:
    """The share without an event past each cell, from counts of `project_pair_counts`: (cells,)."""
    return 1 - np.cumsum(estimate_turnbull_masses(likely))[:-1]


def event_fractions_past_cells(mass: FloatArray) -> FloatArray:
    """The share of each pair's records whose event came past each cell, (cells + 1, cells + 1, cells)."""
    below = np.append(0.0, np.cumsum(mass + LEAST))
    first, last, past = np.ogrid[: len(mass), : len(mass), : len(mass) - 1]
    whole = below[last + 1] - below[first]
    found = below[last + 1] - below[np.clip(past + 1, first, last + 1)]
    return np.asarray(np.divide(found, whole, out=np.zeros(found.shape), where=whole > 0))


class SimulatedTurnbull(NamedTuple):
    """The share without an event past each cell, and errors of it that noise, or sampling too, makes by simulation.

    Attributes:
        survival: (cells,).
        errors: About each of two tables that may be the true one, those of `rescale_pair_counts` and `keep_significant_pairs`; and of counts
            that may be below zero, each parted over its cells as masses are: (draws, cells).
    """

    survival: FloatArray
    errors: tuple[FloatArray, ...]

    @classmethod
    def simulate(
        cls, counts: FloatArray, noise: FloatArray, generator: np.random.Generator | None
    ) -> SimulatedTurnbull:
        """From collapsed counts and draws of their noise; with a generator, also of as many records (a bootstrap)."""
        spread, errors = rescale_pair_counts(counts), []
        for table in (spread, keep_significant_pairs(counts, noise)):
            moved = noise
            if generator is not None:
                people = max(round(float(table.sum())), 1)
                many = generator.multinomial(people, table.ravel() / max(float(table.sum()), 1.0), size=len(noise))
                moved = noise + (many.reshape(noise.shape) - table)
            found = estimate_turnbull_masses(table)
            again = estimate_turnbull_masses(
                project_pair_counts(table + moved), np.broadcast_to(found, (len(noise), len(found))), STEPS_OF_DRAWS
            )
            errors.append((np.cumsum(found) - np.cumsum(again, axis=-1))[:, :-1])
            if table is spread:
                errors.append(np.tensordot(moved, event_fractions_past_cells(found), 2) / max(float(counts.sum()), 1.0))
        return cls(estimate_turnbull_survival(project_pair_counts(counts)), tuple(errors))

    def band(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Ends that hold all shares at once: what noise adds on average, and how it scatters, are the worst of all."""
        added = np.stack([each.mean(axis=0) for each in self.errors])
        half = np.max([simultaneous_errors([each - each.mean(axis=0)], level) for each in self.errors], axis=0)
        return self.survival - added.max(axis=0) - half, self.survival - added.min(axis=0) + half


MOST_IN_PAIRS, DRAWS = 64, 400
"""Cells of time, for pairs of them are counted; and draws of their noise, of each of which a curve is estimated."""
PLACE = 26


@dataclass(frozen=True, eq=False, repr=False)
class IntervalCensoredSurvival(IntervalResult):
    """The share without an event before each edge of the grid, where events lie between examinations (Turnbull 1976).

    The estimate is the most likely one: where it is not unique, between looks that nobody had in between, it is one of
    those. It is NaN past the last cell that significantly many records were followed to, by a look or by an event that
    was seen there. Counts below zero are set to the nearest possible ones before, so that of few records it is biased
    by noise; bands take the worst of three accounts of that: of sparse counts, of spread ones, and of none set to
    others.

    Attributes:
        label: What the x axis shows.
        privacy: The privacy statement, which every picture shows.
        evidence: The released counts of pairs of cells.
        grid: Where the cells lie.
    """

    KIND = "interval-censored"
    TITLE = "Survival over {label}, between looks"
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
        """From counts of pairs of cells, those outside the grid among them."""
        return cls(label, privacy.with_notes(*notes_on_dependence(privacy)), evidence, grid)

    @cached_property
    def x(self) -> FloatArray:
        """Edges of the grid, of shape ``(cells + 1,)``."""
        return self.grid.edges

    @cached_property
    def y(self) -> FloatArray:
        """The share without an event before each edge, of the shape of `x`; NaN past the end of follow-up."""
        share, followed = self.extrapolated_survival[1:], self._followed_cells
        settled = bool(self.extrapolated_survival[int(followed.sum())] == 0)
        return np.append(1.0, mask_unfollowed(share, followed, settled=settled))

    @cached_property
    def extrapolated_survival(self) -> FloatArray:
        """The share as `y` has it, carried on past the end of follow-up, for laws to simulate from."""
        return np.append(1.0, estimate_turnbull_survival(project_pair_counts(self._collapse_table(round_down=False))))

    @cached_property
    def _followed_cells(self) -> BoolArray:
        """The first cells, up to the last one that significantly many records were followed to, (cells,)."""
        noise = simulate_cell_noise(self.evidence.sums, self.evidence.total, DRAWS, numbered_generator(PLACE))
        released, drawn = (
            count_followed(each.reshape(-1, *self._pair_counts.shape)) for each in (self._pair_counts, noise)
        )
        return find_followed_cells(AtRisk(np.zeros(len(released[0])), released[0]), AtRisk(drawn, drawn))

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Ends of a band that holds the whole curve with chance `level`, of shape ``(cells + 1, 2)``.

        Looks may have been anywhere inside their cells: the lower ends are those of times that are rounded down, the
        upper ends of times that are rounded up. Past the end of follow-up the curve may fall to 0.
        """
        level = require_probability("level", level)
        require_independent(self.privacy, population)
        tied = self.grid.values is not None
        bands = [
            self._simulate_turnbull(population=population, round_down=early).band(level)
            for early in ({False, not tied})
        ]
        lower, upper = np.minimum.reduce([band[0] for band in bands]), np.maximum.reduce([band[1] for band in bands])
        lower, upper = np.where(self._followed_cells, lower, 0.0), np.where(self._followed_cells, upper, 1.0)
        lower, upper = np.maximum.accumulate(lower[::-1])[::-1], np.minimum.accumulate(upper)
        ends = np.stack([np.append(1.0, lower), np.append(1.0, upper)], axis=1).clip(0.0, 1.0)
        return np.stack([np.fmin(ends[:, 0], self.y), np.fmax(ends[:, 1], self.y)], axis=1)

    def _simulate_turnbull(self, *, population: bool, round_down: bool) -> SimulatedTurnbull:
        def simulate_order() -> SimulatedTurnbull:
            counts = self._collapse_table(round_down=round_down)
            noise = simulate_cell_noise(self.evidence.sums, self.evidence.total, DRAWS, numbered_generator(PLACE))
            sampled = numbered_generator(PLACE + 1) if population else None
            shape = len(noise), *self._pair_counts.shape
            return SimulatedTurnbull.simulate(
                counts, collapse_pairs(noise.reshape(shape), round_down=round_down), sampled
            )

        return self._compute_once((population, round_down), None, simulate_order)

    def _collapse_table(self, *, round_down: bool) -> FloatArray:
        return collapse_pairs(self._pair_counts, round_down=round_down)

    @property
    def _pair_counts(self) -> FloatArray:
        """Counts of pairs of cells, those outside the grid among them."""
        slots = self.grid.with_outside(Outside.APART).slots
        return self.evidence.unbiased_cells.reshape(slots, slots)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        return draw_survival(self.x, self._mask_unknown("y", self.y), label=self.label, shades=shades, **how)

    def _question(self) -> Mapping[str, object]:
        return {"label": self.label, **declared_values_to_json(self.grid)}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> IntervalCensoredSurvival:
        (evidence,), grid = document.releases, grid_from_cells(document.question, document.arrays["x"], Outside.APART)
        if evidence.sums.rows * evidence.sums.cells != grid.slots**2:
            raise InvalidArgument("curve.evidence.releases", "counts of pairs of cells of the grid are needed")
        return cls.from_counts(evidence, grid, document.question["label"], document.privacy)

    def _summary(self) -> list[tuple[str, str]]:
        end = int(np.flatnonzero(np.isfinite(self.y))[-1])
        share = float(self._mask_unknown("y", self.y)[end])
        return [(f"share without an event before {self.x[end]:g}", format_number(share))]


SWAPPED = (
    "have a first time with the event before the last time without it: no survival curve fits them; were both columns "
    "swapped?"
)


def notes_on_swapped_columns(release: TableCounts, slots: int) -> tuple[str, ...]:
    """Return a note if more records were seen with the event before than noise may have made: they fit no curve.

    Args:
        release: Counts of pairs of slots, of all categories together: the last time without the event, and the first
            time with it.
        slots: How many slots there are along each.
    """
    noise = release.counts.sums.cell_noise
    if not release.is_paid or noise is None:
        return ()
    table = release.counts.unbiased_cells.reshape(-1, slots, slots)
    swapped = np.tril(np.ones((slots, slots), dtype=bool), -1)
    deviation = sqrt(noise.variance * len(table) * int(swapped.sum()))
    return note_on_order(float(table[:, swapped].sum()), float(table.sum()), deviation, SWAPPED)


@dataclass(frozen=True, slots=True)
class IntervalCensoredQuestion:
    """Time until an event that is only known to lie between two examinations. One turn.

    Formal guarantees: a record lies in one cell of one table of pairs of cells.

    Attributes:
        last: A column of numbers: the last look without the event; below the grid where there was none.
        first: A column of numbers: the first look with the event; beyond the grid, as infinity, where there was none. A
            record whose event was seen before its last look without it counts nowhere.
        grid: Public cells of time, at most 64, for pairs of them are counted.
        by: Categories that were declared in public: one curve for each, all together at the privacy loss of one.
        measured_in: The measuring unit of time.

    Raises:
        ValueError: there are over 64 cells, or both looks are one column.
        TypeError: a field is of another kind.

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

    def __post_init__(self) -> None:
        most, counted = MOST_IN_PAIRS, "counted in pairs"
        require_times(self.last, self.grid, self.measured_in, self.by, max_cells=most, verb=counted)
        for name, column in (("last", self.last), ("first", self.first)):
            require_type(name, column, str, "a column")
        if self.first == self.last:
            raise InvalidArgument("first", "another column than that of the last look without the event is needed")

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for one table: counts of each pair of cells."""
        grid = self.grid.with_outside(Outside.APART)
        axes = prepend_category_axes(self.by, Axis(self.last, grid), Axis(self.first, grid))
        found = yield from ask_workload(CellWorkload(axes), ALL)
        never_seen = {(self.last, Side.BELOW): inf, (self.first, Side.ABOVE): inf}
        privacy = build_privacy_statement(found.releases, least={**thresholds_for_times(self.last), **never_seen})
        privacy, label = (
            privacy.with_notes(*notes_on_swapped_columns(found, grid.slots)),
            format_axis_label(self.first, self.measured_in),
        )
        parts = split_rows(found.counts, grid.slots) if self.by is not None else [found.counts]
        return collect_by_category(
            self.by, [IntervalCensoredSurvival.from_counts(each, grid, label, privacy) for each in parts]
        )

    def __str__(self) -> str:
        return describe_question(f"survival between {self.last} and first look", self.first, self.by)
