"""One number instead of a curve: the area, and the curve that normal scores of equal spread would have with it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import display
from ..arrays import FloatArray
from ..data import Axis, Grid
from ..data.axis import Category
from ..postprocess import auc_of_steps, binormal_tpr
from ..queries import AucQuery
from ..release import ALL, PrivacyStatement, Release, Setting, Step
from .damage import damage_refused
from .question import card_of, statement_of
from .result import Result
from .roc import UNIT_INTERVAL
from .turns.labels import labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 513
TITLE = "Binormal ROC curve"
NO_INTERVAL = (
    "the area has no interval: its noise depends on the size of the smaller class, which was not released; a ROC curve "
    "has one"
)


@dataclass(frozen=True, eq=False, repr=False)
class SmoothAuc(Result):
    """The area under an ROC curve, and the symmetric binormal curve that has it (Boyd, Lantz and Page 2015).

    The curve is a shape that was assumed, not measured: use `ROC` to see how scores rank.

    Attributes:
        fpr: False positive rates, from 0 to 1, of shape ``(513,)``.
        tpr: True positive rates of the binormal curve, of the same shape.
        auc: The released area. It has no interval: its noise has the scale of a Cauchy law, which is about one over
            ``epsilon`` times the size of the smaller class. That size was not released, and no public fact bounds it
            from below: of one positive, epsilon 1 leaves an area anywhere between 0 and 1. A note says so.
        steps: The released number, in steps of ``2**-20``.
        privacy: What stands on every picture.
    """

    fpr: FloatArray
    tpr: FloatArray
    auc: float
    steps: int
    privacy: PrivacyStatement

    @classmethod
    def read(cls, steps: int, privacy: PrivacyStatement) -> SmoothAuc:
        """From the released number."""
        auc = auc_of_steps(steps)
        fpr = np.linspace(0.0, 1.0, POINTS)
        return cls(fpr, binormal_tpr(fpr, auc), auc, steps, privacy.noted(NO_INTERVAL))

    def binormal(self, fpr: ArrayLike) -> FloatArray:
        """True positive rates of the binormal curve at any false positive rates."""
        return binormal_tpr(np.asarray(fpr, dtype=np.float64), self.auc)

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Axes:
        """Draw the binormal curve."""
        return display.draw_roc(self.fpr, self.tpr, self.auc, self.privacy, title=TITLE, ax=ax, name=name)

    def to_frame(self) -> Any:
        """Columns ``fpr`` and ``tpr`` as a data frame."""
        return display.to_frame({"fpr": self.fpr, "tpr": self.tpr})

    def to_json(self) -> str:
        """The published format (``kind`` is ``smooth-auc``)."""
        arrays: Mapping[str, Any] = {"fpr": self.fpr, "tpr": self.tpr, "auc": self.auc}
        return display.envelope("smooth-auc", arrays, self.privacy, {"question": {"steps": self.steps}, "releases": []})

    @classmethod
    @damage_refused()
    def from_json(cls, text: str) -> SmoothAuc:
        """What `to_json` wrote."""
        opened = display.opened(text, "smooth-auc")
        return cls.read(int(opened.evidence["question"]["steps"]), opened.privacy)

    def _in_short(self) -> tuple[str, ...]:
        return (f"AUC {self.auc:.3f}",)

    def _repr_html_(self) -> str:
        return card_of(TITLE, self.plot, [("AUC", f"{self.auc:.4f}")], self.privacy, size=display.SQUARE)


@dataclass(frozen=True, slots=True)
class SmoothAucQuestion:
    """How well does `score` rank positives above negatives, as one number? One turn.

    Attributes:
        label: The column of true labels.
        score: The column of scores; high scores are positive.
        grid: Public cells of the scores; scores in one cell are tied. Unless said they divide [0, 1], and scores below
            it are one more cell, those above it another.
        pos_label, neg_label: The two classes; records with another label are missing.
        model: What is said about the model that made the scores: is written on the result.
    """

    label: str
    score: str
    grid: Grid = UNIT_INTERVAL
    pos_label: Category = 1
    neg_label: Category | None = None
    model: str = "the model is taken as public"

    def __post_init__(self) -> None:
        labels(self.label, self.pos_label, self.neg_label)

    def steps(self, setting: Setting) -> Generator[Step, Release, SmoothAuc]:
        """One number."""
        classes = labels(self.label, self.pos_label, self.neg_label)
        release = yield Step(AucQuery((classes, Axis(self.score, self.grid))), ALL)
        return SmoothAuc.read(release.values[0], statement_of([release], self.model))

    def __str__(self) -> str:
        return f"area under the ROC curve of {self.score} for {self.label}"
