"""Scores in two classes where no range of the scores is known: looks for it, and then a count on a grid within it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..arguments import require_kind
from ..conversation import ALL, Needs, Range, Setting, needed
from ..data import Grid
from ..data.axis import Category
from ..data.grid import HUNDREDTHS
from .by_category import by_words
from .question import By
from .scores import ScoresQuestion
from .unbounded import LOOKED, note_on_looks

CELLS = 256
"""About how many cells the grid has."""


@dataclass(frozen=True, slots=True)
class UnboundedScoresQuestion:
    """The distribution of scores in two classes, where no range of the scores is known: log-odds, points, ranks.

    A fifth of the loss looks for the range in three turns; the rest counts as a `ScoresQuestion` does, on a grid within
    it. Scores beyond are counted apart. Probabilities, which lie in [0, 1], need no looks.

    Formal guarantees: those of an `UnboundedSurvivalQuestion`.

    Attributes:
        label, by, pos_label, neg_label, model: Those of a `ScoresQuestion`.
        score: The column of scores. A model is no column: its range is public, as are its coefficients.

    Raises:
        ValueError, TypeError: as for a `ScoresQuestion`; or the score is no column.
    """

    is_told_before: ClassVar[bool] = True

    label: str
    score: str
    by: By = None
    pos_label: Category = 1
    neg_label: Category | None = None
    model: str = "the model is taken as public"

    def __post_init__(self) -> None:
        require_kind("score", self.score, str, "the name of a column")
        self.along(HUNDREDTHS)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Looks for the range of scores, and asks as a `ScoresQuestion` does."""
        found = yield from needed(Range(self.score, CELLS), LOOKED)
        return (yield from self.along(found.cells_counted).counted(ALL - LOOKED, found.releases))

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """The price, and what it is spent on."""
        return (note_on_looks(setting),)

    def along(self, grid: Grid) -> ScoresQuestion:
        """The question on a grid that is known."""
        return ScoresQuestion(self.label, self.score, grid, self.by, self.pos_label, self.neg_label, self.model)

    def __str__(self) -> str:
        return f"scores {self.score} for {self.label}{by_words(self.by)}, no range given"
