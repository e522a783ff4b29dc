"""The test of Hosmer and Lemeshow: do observed and expected positives agree, group by group?"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import display
from ..data import Axis, Grid
from ..data.axis import Category
from ..postprocess import hosmer_lemeshow, simulated_p_value
from ..postprocess.generator import public_generator
from ..release import Face, Release, Setting, Step
from .labels import labels
from .question import card_of, face_of
from .result import Result
from .score_groups import SCORES, ScoreGroups, grouped, groups_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]
DROWNED = 3
"""Standard deviations of its noise that a group has to hold, on average, or it is hidden."""


@dataclass(frozen=True, eq=False, repr=False)
class HosmerLemeshow(Result):
    """The statistic, and its p-value under the null *including the known noise*.

    Attributes:
        statistic: Sum over groups of squared differences over expectations, for both classes.
        p_value: How often a calibrated model would show at least this statistic, under the same noise. Noise makes
            the statistic large on its own, so it is not compared with a chi-square law: the null is simulated.
        edges: Where the groups lie, of shape ``(groups + 1,)``.
        count, observed, expected: Records, observed and expected positives of each group, unbiased.
        face: What stands on every picture.
        groups: What the test was read from.
    """

    statistic: float
    p_value: float
    edges: FloatArray
    count: FloatArray
    observed: FloatArray
    expected: FloatArray
    face: Face
    groups: ScoreGroups

    @classmethod
    def read(cls, groups: ScoreGroups, face: Face, *, generator: np.random.Generator | None = None) -> HosmerLemeshow:
        """From released groups."""
        released = groups.released
        chance = public_generator(generator)
        p_value = simulated_p_value(released, *groups.deviations(chance), chance)
        statistic = float(hosmer_lemeshow(released))
        edges = groups.grid.edges
        return cls(statistic, p_value, edges, released.count, released.positive, released.expected, face, groups)

    @property
    def remark(self) -> str:
        """A word of warning where groups hold so few records that noise hides them; else nothing.

        The noise is in the null of the p-value, which then tells next to nothing of the model.
        """
        each, noise = max(float(self.count.mean()), 0.0), self.groups.noise_of_a_count
        return f"noise hides the groups: {each:,.0f} records each, ± {noise:,.0f}" if each < DROWNED * noise else ""

    @property
    def rows(self) -> list[dict[str, float]]:
        """One row for each group: bounds, records, positives, expected positives."""
        names = ("lower", "upper", "count", "positives", "expected")
        columns = (self.edges[:-1], self.edges[1:], self.count, self.observed, self.expected)
        return [dict(zip(names, row, strict=True)) for row in np.column_stack(columns).tolist()]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw observed beside expected positives of each group."""
        positive, _, _ = self.groups.deviations(None)
        errors = positive.std(axis=0)
        return display.draw_hosmer_lemeshow(
            self.rows, self.statistic, self.p_value, self.face, errors=errors, remark=self.remark, ax=ax
        )

    def to_frame(self) -> Any:
        """One row for each group as a data frame."""
        return display.to_frame(
            {"lower": self.edges[:-1], "upper": self.edges[1:], "count": self.count,
             "observed": self.observed, "expected": self.expected}
        )  # fmt: skip

    def to_json(self) -> str:
        """The published format (``kind`` is ``hosmer-lemeshow``)."""
        arrays = {"statistic": self.statistic, "p_value": self.p_value, "groups": self.rows}
        return display.envelope("hosmer-lemeshow", arrays, self.face, self.groups.to_json())

    @classmethod
    def from_json(cls, text: str) -> HosmerLemeshow:
        """The test that `to_json` wrote."""
        opened = display.opened(text, "hosmer-lemeshow")
        return cls.read(ScoreGroups.from_json(opened.evidence), opened.face)

    def _in_short(self) -> tuple[str, ...]:
        return (f"p-value {self.p_value:.3g}", f"{len(self.count)} groups")

    def _repr_html_(self) -> str:
        return card_of("Hosmer-Lemeshow test", self.plot, self._summary(), self.face)

    def _summary(self) -> list[tuple[str, str]]:
        remarks = [("beware", self.remark)] if self.remark else []
        return [("statistic", f"{self.statistic:.4g}"), ("p-value", f"{self.p_value:.4g}"), *remarks]


@dataclass(frozen=True, slots=True)
class HosmerLemeshowQuestion:
    """Do predicted probabilities agree with the labels, group by group? Three turns: cuts, counts, sums.

    Attributes:
        label: The column of true labels.
        score: The column of predicted probabilities.
        groups: How many groups of about equal size, 2 to 1000; fewer where scores are tied.
        grid: Public cells that group edges are chosen from, between 0 and 1.
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
        if self.grid.lower < 0 or self.grid.upper > 1:
            raise ValueError(f"grid: predicted probabilities lie in [0, 1], got {self.grid.lower} to {self.grid.upper}")

    def steps(self, setting: Setting) -> Generator[Step, Release, HosmerLemeshow]:
        """Cuts, counts, sums."""
        classes = labels(self.label, self.pos_label, self.neg_label)
        groups, releases = yield from grouped(classes, Axis(self.score, self.grid), self.groups)
        return HosmerLemeshow.read(groups, face_of(releases, self.model))

    def __str__(self) -> str:
        return f"Hosmer-Lemeshow test of {self.score} for {self.label}"
