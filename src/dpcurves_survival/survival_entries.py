"""Left truncation: survival of records that come under observation later, from counts of entries and of exits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpcurves.arguments import Refused, require_kind
from dpcurves.arrays import FloatArray
from dpcurves.conversation import Evidence, Needs, Prefixes, Setting, needed
from dpcurves.curves.by_category import axis_label, in_words, parted, rows_of
from dpcurves.curves.question import By, axes_of, keys_of, labels, statement_of
from dpcurves.data import Axis, Grid, Outside
from dpcurves.data.axis import Category
from dpcurves.inference.simulation import draws_for, noise_of

from .hazards import Hazards
from .inference import AtRisk
from .kaplan_meier import MOST_CELLS, Leaving, Survival

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
