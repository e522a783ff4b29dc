"""The area under a ROC curve as one number, and the binormal curve of equal variances that has this area."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .. import display
from ..arrays import FloatArray
from ..data import Axis, Grid
from ..data.axis import Category
from ..data.predictor import Predictor
from ..data.score_grids import UNIT_INTERVAL
from ..postprocess import auc_of_steps, binormal_tpr
from ..queries import AucQuery
from ..release import ALL, Evidence, PrivacyStatement, Setting
from ..workloads import Needs, Single, needed
from .question import statement_of
from .result import Released
from .turns.labels import labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Opened, Shade

POINTS = 513
NO_INTERVAL = (
    "the area has no interval: its noise depends on the size of the smaller class, which was not released; a ROC curve "
    "has one"
)


@dataclass(frozen=True, eq=False, repr=False)
class SmoothAuc(Released):
    """The area under an ROC curve, and the symmetric binormal curve that has it (Boyd, Lantz and Page 2015).

    The curve is a shape that was assumed, not measured: use `ROC` for a measured curve.

    Attributes:
        fpr: False positive rates, from 0 to 1, of shape ``(513,)``.
        tpr: True positive rates of the binormal curve, of the same shape.
        auc: The released area. It has no interval: its noise is Cauchy with a scale of about one over ``epsilon`` times
            the size of the smaller class. That size was not released, and no public fact bounds it from below: with a
            single positive and epsilon 1 the released area may be anywhere between 0 and 1. A note says so.
        privacy: The privacy statement, which every picture shows.
        evidence: The released number, in steps of ``2**-20``.

    Data frame: columns ``fpr`` and ``tpr``.
    """

    KIND: ClassVar[str] = "smooth-auc"
    SIZE: ClassVar[tuple[float, float]] = display.SQUARE

    fpr: FloatArray
    tpr: FloatArray
    auc: float
    privacy: PrivacyStatement
    evidence: Evidence

    @classmethod
    def read(cls, evidence: Evidence, privacy: PrivacyStatement) -> SmoothAuc:
        """From the released number."""
        auc = auc_of_steps(evidence.values[0])
        fpr = np.linspace(0.0, 1.0, POINTS)
        return cls(fpr, binormal_tpr(fpr, auc), auc, privacy.noted(NO_INTERVAL), evidence)

    def binormal(self, fpr: ArrayLike) -> FloatArray:
        """True positive rates of the binormal curve at any false positive rates."""
        return binormal_tpr(np.asarray(fpr, dtype=np.float64), self.auc)

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        return display.draw_roc(self.fpr, self.tpr, self.auc, privacy, title=self._title(), ax=ax, name=name)

    def _columns(self) -> dict[str, FloatArray]:
        return {"fpr": self.fpr, "tpr": self.tpr}

    def _arrays(self) -> dict[str, object]:
        return {**self._columns(), "auc": self.auc}

    def _question(self) -> dict[str, object]:
        return {}

    @classmethod
    def _opened(cls, opened: Opened) -> SmoothAuc:
        (released,) = opened.evidence["releases"]
        return cls.read(Evidence.from_json(released), opened.privacy)

    def _in_short(self) -> tuple[str, ...]:
        return (f"AUC {self.auc:.3f}",)

    def _title(self) -> str:
        return "Binormal ROC curve"

    def _summary(self) -> list[tuple[str, str]]:
        return [("AUC", f"{self.auc:.4f}")]


@dataclass(frozen=True, slots=True)
class SmoothAucQuestion:
    """The area under the ROC curve of `score`, as one number. One turn.

    Attributes:
        label: The column of true labels.
        score: The column of scores, or a `Scorecard` or `Trees` that gives them; high scores are positive.
        grid: Public cells of the scores; scores in one cell are tied. Unless said they divide [0, 1], and scores below
            it are one more cell, those above it another.
        pos_label, neg_label: The two classes; records with another label are missing.
        model: What is stated about the model that made the scores; it is printed with the result.
    """

    label: str
    score: str | Predictor
    grid: Grid = UNIT_INTERVAL
    pos_label: Category = 1
    neg_label: Category | None = None
    model: str = "the model is taken as public"

    def __post_init__(self) -> None:
        labels(self.label, self.pos_label, self.neg_label)

    def steps(self, setting: Setting) -> Needs[SmoothAuc]:
        """Ask for one number."""
        classes = labels(self.label, self.pos_label, self.neg_label)
        release = yield from needed(Single(AucQuery((classes, Axis(self.score, self.grid)))), ALL)
        return SmoothAuc.read(Evidence.of(release), statement_of([release], self.model))

    def __str__(self) -> str:
        return f"area under the ROC curve of {self.score} for {self.label}"
