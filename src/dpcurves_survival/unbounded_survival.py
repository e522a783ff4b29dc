"""Survival where no horizon is known: looks for the range of times, and then a count on a grid within it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpcurves.conversation import ALL, Needs, Range, Setting, needed
from dpcurves.curves.by_category import in_words
from dpcurves.curves.question import By
from dpcurves.curves.unbounded import LOOKED, note_on_looks
from dpcurves.data import Grid, Outside
from dpcurves.data.axis import Category

from .kaplan_meier import SurvivalQuestion

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
        time, event, by, came, censored, measured_in: Those of a `SurvivalQuestion`.

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
        return (yield from self.along(grid).counted(ALL - LOOKED, found.releases))

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """The price, and what it is spent on."""
        return (note_on_looks(setting),)

    def along(self, grid: Grid) -> SurvivalQuestion:
        """The question on a grid that is known."""
        return SurvivalQuestion(self.time, self.event, grid, self.by, self.came, self.censored, self.measured_in)

    def __str__(self) -> str:
        return in_words(f"survival by {self.event}", self.time, self.by) + ", no horizon given"
