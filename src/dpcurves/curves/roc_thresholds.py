"""A ROC curve from counts of prefixes: the classes lie one behind the other on one grid of places."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import display
from ..arguments import Refused, chance, make_each_whole, require_kind, several
from ..arrays import FloatArray
from ..data import Axis, Grid, Outside
from ..postprocess import auc, public_generator, roc_points
from ..postprocess.inference.area_interval import CountedAreas, area_interval, shares_of
from ..postprocess.inference.group_intervals import rate_intervals
from ..queries import PrefixQuery
from ..release import ALL, Evidence, PrivacyStatement, Release, Setting, Step
from .damage import damage_refused
from .question import card_of, require_independent, statement_of
from .result import Result
from .thresholds import edges_below
from .turns.class_prefixes import ClassPrefixes
from .turns.declared_grid import grid_from_json, grid_to_json

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def classes_axis(score: Axis, label: str) -> Axis:
    """Places of records with a class and a score: the slots of all negatives, behind them those of all positives.

    >>> classes_axis(Axis("score", Grid(0, 1, cells=4)), "late").grid
    Grid(0.0, 8.0, cells=8)
    """
    places = 2 * score.slots
    return Axis(f"{score.column} by {label}", Grid(0, places, cells=places))


@dataclass(frozen=True, eq=False, repr=False)
class RocThresholds(Result):
    """True positive rate against false positive rate at some thresholds of the score. High scores are positive.

    Between two thresholds the curve is a straight line: scores there count as tied.

    Attributes:
        fpr, tpr: Rates from 0 to 1, of shape ``(thresholds + 2,)``.
        thresholds: Falling; a score at or above threshold i is called positive at point i. The first is infinite.
        auc: Area under the curve.
        error: Standard deviation of the count of one class below a threshold, at most.
        privacy: What stands on every picture.
        evidence: What was released.
        grid: The cells of the scores.
        label, score: Columns.
    """

    fpr: FloatArray
    tpr: FloatArray
    thresholds: FloatArray
    auc: float
    error: float
    privacy: PrivacyStatement
    evidence: Evidence
    grid: Grid
    label: str
    score: str

    @classmethod
    def read(cls, evidence: Evidence, grid: Grid, label: str, score: str, privacy: PrivacyStatement) -> RocThresholds:
        """From counts of prefixes of the places of both classes.

        Raises:
            ValueError: a count that is needed is not there.
        """
        counted = ClassPrefixes.of(evidence, grid.slots)
        negative, positive = counted.counts
        fpr, tpr = roc_points(positive=np.diff(positive), negative=np.diff(negative))
        ends = edges_below(grid, np.array(counted.at[:-1], dtype=np.int64))
        if grid.outside is Outside.APART:
            ends[0] = -np.inf
        thresholds = np.append(np.inf, ends[::-1])
        error = float(np.sqrt(2 * evidence.path.variance))
        return cls(fpr, tpr, thresholds, float(auc(fpr, tpr)), error, privacy, evidence, grid, label, score)

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of the false and of the true positive rates, each of shape ``(thresholds + 2, 2)``.

        Each interval by itself has the rate of these records between its ends with chance `level`: it holds the rates
        that the counts do not contradict, so from 0 to 1 where noise alone may have made a class. With `population`,
        the rate of all that they were drawn from: independent units of one record, sampled by a binomial law. Of no
        score, and of all scores, the rates are known.

        Raises:
            ValueError: `level` is no chance; or for the population, units have several records.
        """
        if population:
            require_independent(self.privacy)
        draws, counted = public_generator(generator), ClassPrefixes.of(self.evidence, self.grid.slots)
        negative, positive = (
            rate_intervals(*each, chance("level", level), sampling=draws if population else None)
            for each in zip(counted.counts, counted.noise(draws).swapaxes(0, 1), strict=True)
        )
        return negative, positive

    def auc_interval(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> tuple[float, float]:
        """Two areas that have the AUC of these records, by their exact scores, between them with chance `level`.

        How scores rank between thresholds was not counted, and is taken as the worst for each end. With `population`,
        the AUC of all that they were drawn from. See `ROC.auc_interval`.

        Raises:
            ValueError: `level` is no chance; or for the population, units have several records.
        """
        if population:
            require_independent(self.privacy)
        draws, counted = public_generator(generator), ClassPrefixes.of(self.evidence, self.grid.slots)
        noise = np.diff(counted.noise(draws))
        found = CountedAreas(np.diff(counted.counts), shares_of(self.fpr, self.tpr), [noise])
        return area_interval(found, chance("level", level), sampling=draws if population else None)

    @property
    def title(self) -> str:
        """What stands above a picture."""
        return f"ROC curve of {self.score} for {self.label}"

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Axes:
        """Draw the curve."""
        return display.draw_roc(self.fpr, self.tpr, self.auc, self.privacy, title=self.title, ax=ax, name=name)

    def to_frame(self) -> Any:
        """Columns ``fpr``, ``tpr`` and ``threshold`` as a data frame."""
        return display.to_frame({"fpr": self.fpr, "tpr": self.tpr, "threshold": self.thresholds})

    def to_json(self) -> str:
        """The published format (``kind`` is ``roc-thresholds``). An infinite threshold is null."""
        arrays = {"fpr": self.fpr, "tpr": self.tpr, "thresholds": self.thresholds, "auc": self.auc}
        question = {"label": self.label, "score": self.score, "grid": grid_to_json(self.grid)}
        evidence = {"question": question, "releases": [self.evidence.to_json()]}
        return display.envelope("roc-thresholds", arrays, self.privacy, evidence)

    @classmethod
    @damage_refused()
    def from_json(cls, text: str) -> RocThresholds:
        """The curve that `to_json` wrote."""
        opened = display.opened(text, "roc-thresholds")
        return cls.from_evidence_json(opened.evidence, opened.privacy)

    @classmethod
    def from_evidence_json(cls, stored: Mapping[str, Any], privacy: PrivacyStatement) -> RocThresholds:
        """From the evidence that `to_json` wrote."""
        question, (released,) = stored["question"], stored["releases"]
        grid = grid_from_json(question["grid"])
        return cls.read(Evidence.from_json(released), grid, question["label"], question["score"], privacy)

    def _in_short(self) -> tuple[str, ...]:
        return (f"AUC {self.auc:.3f}", f"{len(self.thresholds) - 2} thresholds")

    def _repr_html_(self) -> str:
        rows = [("AUC", f"{self.auc:.4f}"), ("thresholds", str(len(self.thresholds) - 2))]
        return card_of(self.title, self.plot, rows, self.privacy, size=display.SQUARE)


@dataclass(frozen=True, slots=True)
class RocThresholdsQuestion:
    """How well does `score` rank positives above negatives, at some thresholds? One turn.

    For who counts prefixes of `classes_axis`, such as two servers. Other thresholds may be asked later.

    Formal guarantees: a record has one place, whatever its label, so the price of a move between any two places covers
    a replaced record that changes its label.

    Attributes:
        label: The column of true labels.
        score: The column of scores; high scores are positive.
        grid: Public cells of the scores.
        at: Numbers of inner edges, each once.
        model: What is said about the model that made the scores: is written on the result.

    Raises:
        ValueError: an edge is no inner one, or stands twice.
        TypeError: `grid` is no grid, or `at` is a single number.
    """

    label: str
    score: str
    grid: Grid
    at: tuple[int, ...]
    model: str = "the model is taken as public"

    def __post_init__(self) -> None:
        require_kind("label", self.label, str, "the name of a column")
        require_kind("grid", self.grid, Grid, "a Grid, as in Grid(0, 1, cells=64),")
        object.__setattr__(self, "at", several("at", self.at, "a tuple of numbers of edges, as in (1, 7),"))
        make_each_whole(self, at="at")
        if len(set(self.at)) < len(self.at) or any(not 0 < edge < self.grid.cells for edge in self.at):
            raise Refused("at", f"numbers of inner edges, 1 to {self.grid.cells - 1}, each once, got {self.at}")

    @property
    def paid_as(self) -> PrefixQuery:
        """All counts along the places of both classes."""
        return PrefixQuery((classes_axis(Axis(self.score, self.grid), self.label),), at=())

    def steps(self, setting: Setting) -> Generator[Step, Release, RocThresholds]:
        """One look."""
        slots, apart = self.grid.slots, int(self.grid.outside is Outside.APART)
        inner = sorted(edge + apart for edge in self.at)
        at = (*inner, slots, *(slots + each for each in inner), 2 * slots)
        look = yield Step(replace(self.paid_as, at=at), share=ALL)
        privacy = statement_of([look], self.model)
        return RocThresholds.read(Evidence.of(look), self.grid, self.label, self.score, privacy)

    def __str__(self) -> str:
        return f"ROC curve of {self.score} for {self.label} at some thresholds"
