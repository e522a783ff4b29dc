"""Receiver operating characteristic: how well scores rank positives above negatives."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import display
from ..arguments import chance, chosen
from ..arrays import FloatArray
from ..data import Axis, Grid, Outside
from ..data.axis import Category
from ..display import Area, Region, Shade, area_rows, covering
from ..postprocess import RocBand, auc, roc_points, unbiased
from ..postprocess.estimation.two_classes import two_classes
from ..postprocess.inference.area_interval import CountedAreas, area_interval, shares_of
from ..postprocess.inference.simulation_seed import draws_for, public_generator
from ..queries import CountQuery, Read
from ..release import Evidence, PrivacyStatement, Release, Setting, Step
from .covering import pictured, scopes
from .damage import damage_refused
from .notes import notes_on_classes, notes_on_outside
from .question import card_of, require_independent, statement_of
from .result import Result
from .turns.labels import labels
from .turns.roc_counts import CountsAbove
from .turns.roc_cuts import Cuts, scores_cut, share_left

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNIT_INTERVAL = Grid(0, 1, cells=2**14, outside=Outside.APART)
"""For scores that are probabilities. Others are counted apart, so that a curve can say that there are any."""
LEVEL = 0.95
"""The level of intervals on cards."""


@dataclass(frozen=True, eq=False, repr=False)
class ROC(Result):
    """True positive rate against false positive rate, as the threshold falls. High scores are positive.

    Scores in one cell count as tied, and a tie counts one half.

    Attributes:
        fpr: False positive rates, from 0 to 1, of shape ``(cells + 1,)``.
        tpr: True positive rates, from 0 to 1, of the same shape.
        thresholds: Falling; a score at or above threshold i is called positive at point i. The first is infinite.
        auc: Area under the curve.
        privacy: What stands on every picture.
        evidence: What the curve was read from.
        grid: The cells of the scores.
        title: What stands above a picture.
        positive: Which label is positive.
    """

    fpr: FloatArray
    tpr: FloatArray
    thresholds: FloatArray
    auc: float
    privacy: PrivacyStatement
    evidence: Evidence
    grid: Grid
    title: str = "ROC curve"
    positive: str = ""

    @classmethod
    def read(
        cls, evidence: Evidence, grid: Grid, privacy: PrivacyStatement, title: str = "ROC curve", positive: str = ""
    ) -> ROC:
        """From counts of two rows: negatives, positives."""
        cells = two_classes(evidence.sums, evidence.values, evidence.total)
        fpr, tpr = roc_points(positive=cells[1], negative=cells[0])
        thresholds = np.append(np.inf, lower_ends(grid)[::-1])
        return cls(fpr, tpr, thresholds, float(auc(fpr, tpr)), privacy, evidence, grid, title, positive)

    def auc_interval(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> tuple[float, float]:
        """Two areas that have the AUC of these records, by their exact scores, between them with chance `level`.

        How scores rank within a cell was not counted: each end takes the order that is the worst for it, so that the
        interval holds whether scores are tied there or not.

        With `population`, the AUC of all that they were drawn from: independent units of one record, which scatter as
        `spread_of` says.

        From 0 to 1 where noise alone may have made the counts of a class: then there may be no area to hold.

        Raises:
            ValueError: `level` is no chance; or for the population, units have several records.
        """
        level = chance("level", level)
        if population:
            require_independent(self.privacy)
        draws, law, total = public_generator(generator), self.evidence.sums, self.evidence.total
        counts = unbiased(law, self.evidence.values, total).cells
        noise = [cells for cells, _ in law.simulate(total, draws_for(law.cells), draws)]
        counted = CountedAreas(counts, shares_of(self.fpr, self.tpr), noise)
        return area_interval(counted, level, sampling=draws if population else None)

    def band(self, level: float, *, population: bool = False, generator: np.random.Generator | None = None) -> RocBand:
        """A region that has the whole curve of these records in it, with chance `level`.

        Both rates of a point have noise, so each threshold has a box of rates, and all points lie in their boxes at
        once. Between two thresholds, where scores may rank in any order, the curve lies between the lower corner of one
        box and the upper corner of the next: see `RocBand.at`. With `population`, it is the curve of all that the
        records were drawn from, which needs independent units of one record each.

        A class that noise alone may have made has every rate.

        Raises:
            ValueError: the level is not between 0 and 1, or needs more draws; or units have several records.
        """
        level = chance("level", level)
        if generator is not None:
            return self._band(level, population, generator)
        if (level, population) not in self._bands:
            self._bands[level, population] = self._band(level, population, None)
        return RocBand(*(ends.copy() for ends in self._bands[level, population]))

    @cached_property
    def _bands(self) -> dict[tuple[float, bool], RocBand]:
        """Those that were asked for: the same draws make the same bands."""
        return {}

    def _band(self, level: float, population: bool, generator: np.random.Generator | None) -> RocBand:
        if population:
            require_independent(self.privacy)
        rates = np.stack([self.fpr, self.tpr])
        return CountsAbove(self.evidence).band(rates, level, population=population, generator=generator)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float | None = 0.95,
        population: bool = True,
        name: str | None = None,
    ) -> Axes:
        """Draw the curve in two bands, with two intervals of its area, for these records and for the `population`.

        Spends nothing, however often it is called. Without a `level`, the curve alone. Where a unit has several records
        nothing is said of the population, and a line below the picture says so.
        """
        whom = scopes(self.privacy, population=population)
        privacy, level = pictured(self.privacy, level, len(self.fpr), population=population)
        return display.draw_roc(
            self.fpr, self.tpr, self.auc, privacy, title=self.title, positive=self.positive,
            areas=self.areas(whom, level), regions=self._regions(whom, level), ax=ax, name=name,
        )  # fmt: skip

    def areas(self, whom: Mapping[str, bool], level: float | None) -> tuple[Area, ...]:
        """Intervals of the area, and what they are called: of each of these, at this level; without one, none."""
        if level is None:
            return ()
        return tuple(
            Area(*self.auc_interval(level, population=asked), covering(level, "interval", name))
            for name, asked in whom.items()
        )

    def _regions(self, whom: Mapping[str, bool], level: float | None) -> tuple[Region, ...]:
        """Bands, the wider ones first."""
        if level is None:
            return ()
        named = {covering(level, "band", name): self.band(level, population=asked) for name, asked in whom.items()}
        return tuple(_region(band, words) for words, band in reversed(named.items()))

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """Columns ``fpr``, ``tpr`` and ``threshold`` as a data frame; with a `level`, also the ends of the band.

        The band is for these records, or for the `population`.
        """
        ends = {} if level is None else self.band(level, population=population)._asdict()
        return display.to_frame({"fpr": self.fpr, "tpr": self.tpr, "threshold": self.thresholds, **ends})

    def to_json(self) -> str:
        """The published format (``kind`` is ``roc``). An infinite threshold is null."""
        grid = {"edges": self.grid.edges.tolist(), "outside": self.grid.outside.name}
        question = {**grid, "title": self.title, "positive": self.positive}
        arrays = {"fpr": self.fpr, "tpr": self.tpr, "thresholds": self.thresholds, "auc": self.auc}
        return display.envelope(
            "roc", arrays, self.privacy, {"question": question, "releases": [self.evidence.to_json()]}
        )

    @classmethod
    @damage_refused()
    def from_json(cls, text: str) -> ROC:
        """The curve that `to_json` wrote."""
        opened = display.opened(text, "roc")
        question = opened.evidence["question"]
        grid = Grid.from_edges(question["edges"], outside=Outside[question["outside"]])
        words = {name: str(question[name]) for name in ("title", "positive") if name in question}
        return cls.read(Evidence.from_json(opened.evidence["releases"][0]), grid, opened.privacy, **words)

    def _in_short(self) -> tuple[str, ...]:
        return (f"AUC {self.auc:.3f}", f"{len(self.fpr) - 1} cells")

    def _repr_html_(self) -> str:
        return card_of(self.title, self.plot, self._summary(), self.privacy, size=display.SQUARE)

    def _summary(self) -> list[tuple[str, str]]:
        return area_rows(self.auc, self.areas(scopes(self.privacy), LEVEL))


@dataclass(frozen=True, slots=True)
class RocQuestion:
    """How well does `score` rank positives above negatives? Both classes are counted in one table, in one turn.

    Where cuts are asked for, a turn before that finds them: then scores between two cuts count as tied.

    Formal guarantees: a record lies in one cell of the table of classes and scores, whatever its label, so the price
    stays right when a replaced record changes its label.

    Attributes:
        label: The column of true labels.
        score: The column of scores; high scores are positive.
        grid: Public cells of the scores. Unless said they divide [0, 1], and scores outside are counted apart: if there
            are more of these than noise may hide, a note says so.
        pos_label, neg_label: The two classes; records with another label are missing. A negative label is needed
            unless the positive one is 1, 0, -1, True or False.
        model: What is said about the model that made the scores: is written on the result.
        cuts: Where the thresholds lie, or the word for it. `Cuts.FIXED` is meant for coarser grids, and is what is done
            where the trust model can not count on cells that depend on answers, as two servers can not.

    Raises:
        ValueError: `cuts` is none of these, or a class is missing or stands twice.
    """

    label: str
    score: str
    grid: Grid = UNIT_INTERVAL
    pos_label: Category = 1
    neg_label: Category | None = None
    model: str = "the model is taken as public"
    cuts: Cuts = Cuts.QUANTILES

    def __post_init__(self) -> None:
        object.__setattr__(self, "cuts", chosen("cuts", self.cuts, Cuts))
        labels(self.label, self.pos_label, self.neg_label)

    def steps(self, setting: Setting) -> Generator[Step, Release, ROC]:
        """Cuts, if any; one table of two rows."""
        classes = labels(self.label, self.pos_label, self.neg_label)
        cuts = self.cuts if setting.adaptive else Cuts.FIXED
        score, found = yield from scores_cut(Axis(self.score, self.grid), cuts, setting)
        release = yield Step(CountQuery((classes, score), Read.PREFIXES), share_left(cuts))
        notes = (*notes_on_outside(release, score.grid), *notes_on_classes(release, classes))
        privacy = statement_of([*found, release], self.model).noted(*notes)
        return ROC.read(Evidence.of(release), score.grid, privacy, str(self), str(self.pos_label))

    def __str__(self) -> str:
        return f"ROC curve of {self.score} for {self.label}"


def _region(band: RocBand, words: str) -> Region:
    edges, lower, upper = band.steps()
    return Region(edges, Shade(lower, upper, words))


def lower_ends(grid: Grid) -> FloatArray:
    """The lowest score of each counted cell; the upper end of the grid itself lies in its last cell."""
    ends = grid.edges[:-1]
    if grid.outside is not Outside.APART:
        return ends
    return np.concatenate([[-np.inf], ends, [np.nextafter(grid.upper, np.inf)]])
