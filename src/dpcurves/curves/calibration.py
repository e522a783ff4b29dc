"""Are scores honest? How often the positive label comes true among records of like score."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import display
from ..data import Axis, Grid
from ..data.axis import Category
from ..release import Face, Release, Setting, Step
from .labels import labels
from .question import card_of, face_of
from .result import Result
from .score_groups import SCORES, ScoreGroups, Shares, grouped, groups_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]
SHARES = Shares(cuts=Fraction(1, 5), counts=Fraction(3, 5), sums=Fraction(1, 5))


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Result):
    """Observed against predicted, in groups of about equal size.

    Attributes:
        prob_pred: Mean score of each group, of shape ``(groups,)``.
        prob_true: Share of positives in each group, in [0, 1], of the same shape.
        count: Records in each group, never below zero.
        edges: Where the groups lie, of shape ``(groups + 1,)``.
        face: What stands on every picture.
        groups: What the curve was read from.
    """

    prob_pred: FloatArray
    prob_true: FloatArray
    count: FloatArray
    edges: FloatArray
    face: Face
    groups: ScoreGroups

    @classmethod
    def read(cls, groups: ScoreGroups, face: Face) -> Calibration:
        """From released groups."""
        released, face = groups.released, face.noted(*groups.notes)
        true = np.clip(released.positive / np.maximum(released.count, 1.0), 0.0, 1.0)
        return cls(released.mean, true, np.maximum(released.count, 0.0), groups.grid.edges, face, groups)

    def errors(self, *, generator: np.random.Generator | None = None) -> FloatArray:
        """Standard deviation of `prob_true` of each group: binomial spread and noise together."""
        drawn = self.groups.deviations(generator)
        count = np.maximum(self.count, 1.0)
        noise = ((1 - self.prob_true) * drawn.positive - self.prob_true * drawn.negative).std(axis=0) / count
        spread = self.prob_true * (1 - self.prob_true) / count
        return np.asarray(np.minimum(np.sqrt(noise**2 + spread), 1.0))

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Axes:
        """Draw the curve beside the diagonal, with error bars of one standard deviation."""
        return display.draw_calibration(
            self.prob_pred, self.prob_true, self.count, self.face, errors=self.errors(), ax=ax, name=name
        )

    def to_frame(self) -> Any:
        """Columns ``prob_pred``, ``prob_true`` and ``count`` as a data frame."""
        return display.to_frame({"prob_pred": self.prob_pred, "prob_true": self.prob_true, "count": self.count})

    def to_json(self) -> str:
        """The published format (``kind`` is ``calibration``)."""
        arrays = {"prob_pred": self.prob_pred, "prob_true": self.prob_true, "count": self.count}
        return display.envelope("calibration", arrays, self.face, self.groups.to_json())

    @classmethod
    def from_json(cls, text: str) -> Calibration:
        """The curve that `to_json` wrote."""
        opened = display.opened(text, "calibration")
        return cls.read(ScoreGroups.from_json(opened.evidence), opened.face)

    def _in_short(self) -> tuple[str, ...]:
        return (f"{len(self.count)} groups",)

    def _repr_html_(self) -> str:
        return card_of("Calibration curve", self.plot, self._summary(), self.face, size=display.SQUARE)

    def _summary(self) -> list[tuple[str, str]]:
        return [("groups", str(len(self.count))), ("records", f"{self.count.sum():,.0f}")]


@dataclass(frozen=True, slots=True)
class CalibrationQuestion:
    """How often is the label positive, among records of like score? Three turns: cuts, counts, sums.

    Attributes:
        label: The column of true labels.
        score: The column of predicted probabilities.
        groups: How many groups of about equal size, 2 to 1000; fewer where scores are tied.
        grid: Public cells that group edges are chosen from, between 0 and 1; scores outside are counted apart.
        pos_label, neg_label: The two classes; records with another label are missing.
        model: What is said about the model that made the scores: stands on the face.
    """

    label: str
    score: str
    groups: int = 10
    grid: Grid = SCORES
    pos_label: Category = 1
    neg_label: Category | None = None
    model: str = "the model is taken as public"

    def __post_init__(self) -> None:
        labels(self.label, self.pos_label, self.neg_label)
        object.__setattr__(self, "groups", groups_of(self.groups, self.grid))

    def steps(self, setting: Setting) -> Generator[Step, Release, Calibration]:
        """Cuts, counts, sums."""
        classes = labels(self.label, self.pos_label, self.neg_label)
        groups, releases = yield from grouped(classes, Axis(self.score, self.grid), self.groups, SHARES)
        return Calibration.read(groups, face_of(releases, self.model))

    def __str__(self) -> str:
        return f"calibration curve of {self.score} for {self.label}"
