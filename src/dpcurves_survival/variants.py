"""Survival curves of other records: with survey weights, with late entry (left truncation), or no known horizon."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from dpcurves import display
from dpcurves.arguments import Refused, require_kind
from dpcurves.arrays import FloatArray
from dpcurves.conversation import ALL, Evidence, Needs, Prefixes, Range, Setting, needed
from dpcurves.curves.by_category import axis_label, in_words, parted, rows_of
from dpcurves.curves.question import By, axes_of, keys_of, labels, read_cells, statement_of
from dpcurves.curves.unbounded import LOOKED, note_on_looks
from dpcurves.curves.weighted import Squares, asked_of_weights, note_of
from dpcurves.data import Axis, Grid, Outside, Weights
from dpcurves.data.axis import Category, DurationAxis
from dpcurves.display import numeral
from dpcurves.inference.design_effect import kish
from dpcurves.inference.simulation import draws_for, noise_of

from .hazards import Hazards
from .inference import AtRisk
from .kaplan_meier import MOST_CELLS, Leaving, Survival, SurvivalQuestion

# Survival curves of records with survey weights: the question and its result.


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

    squares: Squares | None = None

    @property
    def of_squares(self) -> Squares:
        """The sums of squared weights, which are never missing."""
        return cast("Squares", self.squares)

    @cached_property
    def _caps(self) -> FloatArray:
        """Sums of weights in each slot, over the cap, without bias: of all that leave."""
        return np.asarray(sum(turn.unbiased[0] for turn in self.evidence) / Weights.STEPS)

    @cached_property
    def _scale(self) -> float:
        """The steps of weight that stand for one effective record."""
        ratios = self.of_squares.ratios(self._caps)
        return Weights.STEPS * min(ratios.overall * max(float(ratios.each.max()), 1.0), 1.0)

    @property
    def _weight(self) -> float:
        """The weight of one effective record."""
        return self.of_squares.weights.step * self._scale

    @property
    def count(self) -> float:
        """The sum of all weights, in their units."""
        return float(self._caps.sum()) * self.of_squares.weights.cap

    @property
    def design_effect(self) -> float:
        """The design effect of unequal weights, as released: n sum w^2 / (sum w)^2 (Kish 1965). At least 1."""
        squares = self.of_squares
        return kish(squares.records, float(self._caps.sum()), float(squares.sums.sum()))

    @property
    def at_risk(self) -> FloatArray:
        """The weight at risk in the cell that ends at each edge, unbiased; at the first edge all of it."""
        return super().at_risk * self._weight

    def at_risk_intervals(self, level: float) -> FloatArray:
        """Lower and upper ends of `at_risk`, all correct at once with chance `level`: shape ``(cells + 1, 2)``.

        Raises:
            ValueError: `level` is not between 0 and 1.
        """
        return super().at_risk_intervals(level) * self._weight

    @property
    def turns(self) -> tuple[Evidence, ...]:
        """Sums of weights of the censored and of events, and sums of squared weights."""
        return (*self.evidence, self.of_squares.evidence)

    @cached_property
    def _told(self) -> Leaving:
        return self._in_records(Leaving.counted(self.evidence))

    def _noise(self, draw: np.random.Generator) -> Leaving:
        return self._in_records(Leaving.noise(self.evidence, draw))

    def _in_records(self, found: Leaving) -> Leaving:
        events, records = found.at_risk
        return Leaving(AtRisk(events / self._scale, records / self._scale), found.censored / self._scale)

    def _question(self) -> dict[str, object]:
        return {**super()._question(), **self.of_squares.to_json()}

    @classmethod
    def _opened(cls, opened: display.Opened) -> WeightedSurvival:
        releases = opened.evidence["releases"]
        if len(releases) != cls.RELEASES + 1:
            raise Refused("curve.evidence.releases", "weights of the censored and of events, and squares, are needed")
        question = {**opened.evidence["question"], "outside": Outside.APART.name}
        grid = read_cells(question, opened.arrays["x"])
        pair = tuple(Evidence.from_json(each) for each in releases[: cls.RELEASES])
        squares = Squares.from_json(question, releases[-1], grid.slots)
        return cls(question["label"], opened.privacy, pair, grid, squares)._noted()

    def _summary(self) -> list[tuple[str, str]]:
        told = [("sum of weights", numeral(self.count)), ("design effect", f"{self.design_effect:.2f}")]
        return [*super()._summary(), *told]


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

    NAMES: ClassVar[tuple[str, str]] = ("censored", "came")

    def __post_init__(self) -> None:
        grid = Axis(self.time, self.grid).grid
        labels(self.event, self.came, self.censored, self.NAMES)
        axis_label(self.time, self.measured_in)
        if grid.cells > MOST_CELLS:
            raise Refused("grid", f"at most {MOST_CELLS} cells of time are counted, got {grid.cells}")
        object.__setattr__(self, "weight_cap", Weights(self.weight, self.weight_cap).cap)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for sums of weights of censored records and of events in each cell, and of squares in groups."""
        axis, weights = Axis(self.time, self.grid.with_outside(Outside.APART)), Weights(self.weight, self.weight_cap)
        axes = (labels(self.event, self.came, self.censored, self.NAMES), axis)
        release, told, starts = yield from asked_of_weights(axes, weights, setting)
        squares, pair = Squares(weights, Evidence.of(told), starts), tuple(rows_of(Evidence.of(release)))
        caps = float(Evidence.of(release).unbiased.sum()) / Weights.STEPS
        privacy = statement_of([release, told]).noted(note_of(squares, caps))
        return WeightedSurvival(axis_label(self.time, self.measured_in), privacy, pair, axis.grid, squares)._noted()

    def __str__(self) -> str:
        words = in_words(f"survival by {self.event}", self.time, None)
        return f"{words}, {Weights(self.weight, self.weight_cap)}"


# Left truncation: survival of records that come under observation later, from counts of entries and of exits.


ENTRIES = Fraction(1, 3)
"""The share of the loss for counts of entries: one row beside two of exits."""


def leaving_of(censored: FloatArray, events: FloatArray, entered: FloatArray) -> Leaving:
    """Events and records at risk, from slots of a grid that counts values outside apart, each (..., cells + 2).

    Whoever enters in a cell is at risk in it. Those that left before the grid begins are not.
    """
    gone = (events + censored)[..., :-1]
    present = np.cumsum(entered[..., :-1], axis=-1)[..., 1:] - np.cumsum(gone, axis=-1)[..., :-1]
    return Leaving(AtRisk(events[..., 1:-1], present), censored[..., 1:-1], entered[..., 1:-1])


class DelayedEntry(Survival):
    """The share without an event before each edge of the grid, of records that had none where it begins.

    It is Kaplan and Meier's estimate where records come under observation later (left truncation): at risk are those
    that entered in a cell or before and have not left. In a cell entries are taken to come first, then events, then
    censoring; bands and intervals hold in whatever order they came. Let the grid begin where enough have entered.

    Attributes:
        evidence: The released counts of censored records, of events, and of entries.
    """

    KIND = "delayed-entry"
    TITLE = "Survival over {label}, with delayed entry"
    RELEASES: ClassVar[int] = 3

    @cached_property
    def _told(self) -> Leaving:
        censored, events, entered = (turn.unbiased[0] for turn in self.evidence)
        return leaving_of(censored, events, entered)

    def _noise(self, draw: np.random.Generator) -> Leaving:
        drawn = [noise_of(turn.sums, turn.total, draws_for(turn.sums.cells), draw)[:, 0] for turn in self.evidence]
        return leaving_of(drawn[0], drawn[1], drawn[2])

    @cached_property
    def _few(self) -> Hazards | None:
        """None: records that shrunken hazards are made for are all at risk from the beginning."""
        return None


@dataclass(frozen=True, slots=True)
class DelayedEntryQuestion:
    """Time until an event of records that come under observation at a time of their own (left truncation). Two turns.

    Formal guarantees: exits, by event, are counted with two thirds of the loss, and entries with the other third; a
    record lies in one cell of each table. Both turns together lose what the question was asked with.

    Attributes:
        entry: A column of numbers: the time from which a record is observed, on the axis of `time`.
        time: A column of numbers: the time of the event, or of censoring.
        event: The column that says whether the event happened.
        grid: Public cells of time. Those that left before it begins are not counted as at risk.
        by: Categories that were declared in public: one curve for each, all together at the privacy loss of one.
        came: The value of `event` for an event.
        censored: The value of `event` for a censored record; may be left out where `came` is 1, 0, -1, True or False.
        measured_in: The measuring unit of time.

    Raises:
        ValueError: there are over 16,384 cells, the labels cannot be told apart, or both times are one column.
        TypeError: a field is of another kind.

    >>> import dpcurves as dp
    >>> table = {"joined": [50, 65] * 900, "age": [70, 75] * 900, "died": [1, 0] * 900}
    >>> question = dp.DelayedEntryQuestion("joined", "age", "died", dp.Values(range(60, 81)))
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     curve = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> bool(abs(curve.y[-1] - 0.5) < 0.2)
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

    def __post_init__(self) -> None:
        grid = Axis(self.time, self.grid).grid
        require_kind("entry", self.entry, str, "a column")
        labels(self.event, self.came, self.censored, ("censored", "came"))
        axis_label(self.time, self.measured_in)
        keys_of(self.by)
        if self.entry == self.time:
            raise Refused("entry", "another column than that of exits is needed")
        if grid.cells > MOST_CELLS:
            raise Refused("grid", f"at most {MOST_CELLS} cells of time are counted, got {grid.cells}")

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for counts of exits in each cell, and then of entries."""
        grid = self.grid.with_outside(Outside.APART)
        event = labels(self.event, self.came, self.censored, ("censored", "came"))
        left = yield from needed(Prefixes(axes_of(self.by, event, Axis(self.time, grid))), 1 - ENTRIES)
        came = yield from needed(Prefixes(axes_of(self.by, Axis(self.entry, grid))), ENTRIES)
        exits, entries = rows_of(left.counts), rows_of(came.counts)
        privacy, label = statement_of((*left.releases, *came.releases)), axis_label(self.time, self.measured_in)
        parts: list[tuple[Evidence, ...]] = list(zip(exits[::2], exits[1::2], entries, strict=True))
        return parted(self.by, [DelayedEntry.read(each, grid, label, privacy) for each in parts])

    def __str__(self) -> str:
        return in_words(f"survival by {self.event} from {self.entry}", self.time, self.by)


# Survival where no horizon is known: looks for the range of times, and then a count on a grid within it.


CELLS = 128
"""About how many cells the grid has."""


@dataclass(frozen=True, slots=True)
class UnboundedSurvivalQuestion:
    """Time until an event, where some records are censored and no horizon is known.

    A fifth of the loss looks for the range of times in three turns; the rest counts as a `SurvivalQuestion` does, on a
    grid from zero to the end of that range.

    Formal guarantees: the loss that was granted, under either adjacency: looks and count add up to it, whatever the
    looks find (see `strategies.found_range`).

    Attributes:
        time, event, by, came, censored, measured_in: Those of a `SurvivalQuestion`. The time may be a column of
            durations, too, which are counted in seconds; not of dates, which do not tell how long it took.

    Raises:
        ValueError, TypeError: as for a `SurvivalQuestion`.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> table = {"days": np.linspace(1, 900, 20_000), "died": [1, 0] * 10_000}
    >>> session = dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE)
    >>> curve = session.ask(dp.UnboundedSurvivalQuestion("days", "died"), dp.PrivacyLoss.pure(1))
    >>> bool(500 < curve.x[-1] < 2000)
    True
    """

    is_told_before: ClassVar[bool] = True

    time: str
    event: str
    by: By = None
    came: Category = 1
    censored: Category | None = None
    measured_in: str = ""

    def __post_init__(self) -> None:
        self.along(Grid(0, 1, cells=1))

    def steps(self, setting: Setting) -> Needs[Any]:
        """Looks for the range of times, and asks as a `SurvivalQuestion` does."""
        found = yield from needed(Range(self.time, CELLS), LOOKED)
        edges = [0.0, *(edge for edge in found.cells_counted.edges.tolist() if edge > 0)]
        grid = Grid.from_edges(edges if len(edges) > 1 else [0.0, 1.0], outside=Outside.APART)
        return (yield from self.along(grid).counted(ALL - LOOKED, found.releases, DurationAxis))

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """The price, and what it is spent on."""
        return (note_on_looks(setting),)

    def along(self, grid: Grid) -> SurvivalQuestion:
        """The question on a grid that is known."""
        return SurvivalQuestion(self.time, self.event, grid, self.by, self.came, self.censored, self.measured_in)

    def __str__(self) -> str:
        return in_words(f"survival by {self.event}", self.time, self.by) + ", no horizon given"
