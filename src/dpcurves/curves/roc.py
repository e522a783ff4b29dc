"""Receiver operating characteristic: the curve, its area, and the area as one number with smooth sensitivity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from types import MappingProxyType
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import display
from ..arguments import chance, chosen
from ..arrays import BoolArray, FloatArray
from ..conversation import ALL, Below, Counted, Evidence, Needs, PrivacyStatement, Ranks, Setting, Single, needed
from ..conversation import Cuts as Cuts
from ..data import UNIT_INTERVAL, Axis, Categories, Category, Grid, Outside, Predictor
from ..display import DrawnArea, Region, Shade, area_rows, covering
from ..estimation.two_classes import two_classes
from ..inference import RocBand, population_roc_band, roc_band, spread_out
from ..inference.areas import FEW_DRAWS, CountedAreas, area_interval, expected_width, settled_area, shares_of
from ..inference.knowledge import known_number
from ..inference.simulation import draws_for, public_generator, sampling_generator
from ..queries import AucQuery, PrefixQuery
from ..summaries import above, auc_of_steps, binormal_tpr, roc_points
from .class_table import ClassTable, TableReading
from .prefixes import all_edges, edges_given
from .question import labels, require_independent, statement_of
from .result import Drawing, Released, notes_on_classes, notes_on_width, scopes


@dataclass(frozen=True, eq=False)
class CountsAbove:
    """Counts above each threshold that was measured: the others lie inside merged cells.

    Attributes:
        evidence: Counts of two rows: negatives, positives.
    """

    evidence: Evidence

    @property
    def at(self) -> NDArray[np.int64]:
        """The number of cells above each measured threshold, rising from none to all."""
        law = self.evidence.sums
        return law.cells - np.asarray(law.bounds)[::-1]

    @cached_property
    def counts(self) -> FloatArray:
        """Unbiased, of shape ``(2, measured)``."""
        return above(self.evidence.unbiased)[:, self.at]

    def noise(self, generator: np.random.Generator | None) -> FloatArray:
        """The noise of `counts`, simulated: ``(draws, 2, measured)``."""
        law, total = self.evidence.sums, self.evidence.total
        short = law.of_intervals
        at = short.cells - np.asarray(short.bounds)[::-1]
        chunks = short.simulate(total, draws_for(2 * short.cells), public_generator(generator))
        return np.concatenate([above(cells)[..., at] for cells, _ in chunks])

    def band(
        self, rates: FloatArray, level: float, *, population: bool, generator: np.random.Generator | None
    ) -> RocBand:
        """At all thresholds, about these rates of both classes, ``(2, thresholds)``."""
        what = self.counts, self.noise(generator), rates[:, self.at], level
        found = population_roc_band(*what, sampling_generator(generator)) if population else roc_band(*what)
        whole = spread_out(found, self.at, rates.shape[1])
        lower, upper = np.minimum(whole[0::2], rates), np.maximum(whole[1::2], rates)  # the curve lies in its band
        return RocBand(lower[0], upper[0], lower[1], upper[1])


@dataclass(frozen=True, eq=False)
class FinerCounts:
    """Counts of both classes on cells that are finer than those of a curve.

    Attributes:
        evidence: Counts of two rows: negatives, positives; the noise of each is independent of all others.
        starts: The first of them in each cell of the curve, rising from 0.
    """

    evidence: Evidence
    starts: tuple[int, ...]

    @classmethod
    def of(cls, evidence: Evidence, finer: Grid, grid: Grid) -> FinerCounts:
        """Counts on a grid that has all edges of another one."""
        inner = np.searchsorted(finer.edges, grid.edges[:-1])
        if grid.outside is Outside.APART:
            inner = np.concatenate([[0], inner + 1, [finer.cells + 1]])
        return cls(evidence, tuple(inner.tolist()))

    def with_counts(self, evidence: Evidence) -> Evidence:
        """These counts and those of the curve together, as sums over nested intervals of these cells."""
        coarse, own = evidence.measured, self.evidence.measured
        last = len(evidence.values) - (coarse.missing is not None)
        finer = self.evidence.values[: 2 * own.cells]
        return Evidence(
            coarse.with_finer(own, self.starts),
            (*evidence.values[:last], *finer, *evidence.values[last:]),
            evidence.total,
        )

    @property
    def parts(self) -> NDArray[np.int64]:
        """The number of finer cells in each cell of the curve."""
        return np.diff(np.append(self.starts, self.evidence.sums.cells))


LEVEL = 0.95
"""The level of intervals in HTML summaries, and of the band that notes are about."""
MANY = 25
"""Standard deviations of its noise of which each class has more where the band is surely narrower than a half."""


@dataclass(frozen=True, eq=False, repr=False)
class ROC(TableReading):
    """True positive rate against false positive rate, as the threshold falls. High scores are positive.

    Scores in one cell count as tied, and a tie counts one half.

    Attributes:
        fpr: False positive rates, from 0 to 1, of shape ``(cells + 1,)``.
        tpr: True positive rates, from 0 to 1, of the same shape.
        thresholds: Falling; a score at or above threshold i is called positive at point i. The first is infinite.
        auc: Area under the curve; where noise is small, it is computed from the counts before they were made monotone,
            which is closest to the truth: see `settled_area`. NaN where it is not known: see `known_number`.
        table: What the curve was read from.
        title: The title of pictures.
        positive: Which label is positive.
        within: Counts of both classes on finer cells, from which intervals of the area are computed; None: there are
            none.

    Data frame: columns ``fpr``, ``tpr`` and ``threshold``.
    """

    KIND = "roc"
    SIZE = display.SQUARE
    TITLE = "{title}"
    IN_SHORT = "AUC {auc:.3f}, {table.grid.slots} cells"
    COLUMNS = ("fpr", "tpr", "threshold=thresholds")
    ARRAYS = ("fpr", "tpr", "thresholds", "auc")
    ENDS = RocBand._fields
    RANGES = MappingProxyType({
        "fpr": (0.0, 1.0, "fpr_lower", "fpr_upper"), "tpr": (0.0, 1.0, "tpr_lower", "tpr_upper")
    })  # fmt: skip
    IS_CURVE = True

    fpr: FloatArray
    tpr: FloatArray
    thresholds: FloatArray
    auc: float
    table: ClassTable
    title: str = "ROC curve"
    positive: str = ""
    within: FinerCounts | None = None

    @classmethod
    def read(
        cls, table: ClassTable, title: str = "ROC curve", positive: str = "", within: FinerCounts | None = None
    ) -> ROC:
        """From released counts, for nothing."""
        evidence = table.evidence
        cells = two_classes(evidence.sums, evidence.values, evidence.total)
        fpr, tpr = roc_points(positive=cells[1], negative=cells[0])
        noise = [each for each, _ in evidence.sums.simulate(evidence.total, FEW_DRAWS, public_generator(None))]
        area = settled_area((fpr, tpr), cells, CountedAreas(evidence.unbiased, shares_of(fpr, tpr), noise))
        curve = cls(fpr, tpr, table.thresholds, area, table, title, positive, within)
        if curve._is_clear:
            return curve
        return replace(curve, auc=known_number(area, curve.auc_interval(LEVEL), 0.0, 1.0))

    @property
    def _is_clear(self) -> bool:
        """Tell whether each class has so many records that its noise hides nothing."""
        law, total = self.evidence.sums, self.evidence.total
        records, noise = self.evidence.unbiased.sum(axis=1), np.sqrt(law.prefix_variances(total is not None)[:, -1])
        return bool((records > MANY * noise).all())

    def _may_be_unknown(self) -> bool:
        return not self._is_clear

    def notes_on_noise(self) -> tuple[str, ...]:
        """A note if nothing is known of the curve anywhere; the band is computed only where that may be."""
        if self._is_clear:
            return ()
        _, lower, upper = self.band(LEVEL).steps()
        return notes_on_width(upper - lower, "the band at every false positive rate")

    @property
    def grid(self) -> Grid:
        """The cells of the scores."""
        return self.table.grid

    @property
    def turns(self) -> tuple[Evidence, ...]:
        """The counts of the curve, and those of finer cells, if there are any."""
        return (self.evidence,) if self.within is None else (self.evidence, self.within.evidence)

    def auc_interval(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> tuple[float, float]:
        """An interval that contains the AUC of these records, by their exact scores, with probability `level`.

        The order of scores within a cell is not known: each end assumes the worst order for it, so that the interval
        holds whether or not scores are tied there; on coarse cells it holds more often than `level` says. Where finer
        cells were counted, too, the one or the other are read, whichever promise the shorter interval. Where cells
        are declared values (`Values`), ties are real and count one half: nothing is assumed.

        With `population`, it is for the AUC of the population that they were drawn from, which needs independent units
        of one record each; the sampling variance is that of `spread_of`.

        The interval is 0 to 1 where noise alone can explain the counts of a class: then the area may not exist.
        """
        level = chance("level", level)
        require_independent(self.privacy, population)
        if isnan(self.auc):
            return 0.0, 1.0
        draws = public_generator(generator)
        counted = _areas(self.evidence, shares_of(self.fpr, self.tpr), draws, self.table.tied)
        if self.within is not None:
            parts, tied = self.within.parts, self.table.tied
            spread = np.repeat(counted.shares / parts, parts, axis=-1)
            each = None if tied is None else np.repeat(tied, parts)
            finer = _areas(self.within.with_counts(self.evidence), spread, draws, each)
            counted = min(counted, finer, key=lambda each: expected_width(each, level))
        low, high = area_interval(counted, level, sampling=draws if population else None)
        return min(low, self.auc), max(high, self.auc)

    def band(self, level: float, *, population: bool = False, generator: np.random.Generator | None = None) -> RocBand:
        """A region that contains the whole curve of these records, with probability `level`.

        Both rates of a point have noise, so each threshold has a box of rates; with probability `level` all points lie
        in their boxes. Between two thresholds, where scores may rank in any order, the curve lies between the lower
        corner of one box and the upper corner of the next: see `RocBand.at`. As every order is allowed for, the region
        holds more often than `level` says. With `population`, it is the curve of the population that the records were
        drawn from, which needs independent units of one record each.

        Where noise alone can explain the count of a class, its rate may be anything from 0 to 1.

        Raises:
            ValueError: the level is not between 0 and 1, or needs more draws; or units have several records.
        """
        level = chance("level", level)
        band = self._once((level, population), generator, lambda: self._band(level, population, generator))
        return RocBand(*(ends.copy() for ends in band))

    def _band(self, level: float, population: bool, generator: np.random.Generator | None) -> RocBand:
        require_independent(self.privacy, population)
        rates = np.stack([self.fpr, self.tpr])
        return CountsAbove(self.evidence).band(rates, level, population=population, generator=generator)

    def areas(self, whom: Mapping[str, bool], level: float | None) -> tuple[DrawnArea, ...]:
        """Intervals of the area by their names, for each of these scopes at this level; none without a level."""
        if level is None:
            return ()
        return tuple(
            DrawnArea(*self.auc_interval(level, population=asked), covering(level, "interval", name))
            for name, asked in whom.items()
        )

    def _shaded(self, whom: Mapping[str, bool], level: float | None) -> tuple[DrawnArea | Region, ...]:
        """Intervals of the area, and bands, the wider ones first."""
        if level is None:
            return ()
        named = {covering(level, "band", name): self.band(level, population=asked) for name, asked in whom.items()}
        steps = ((words, band.steps()) for words, band in reversed(named.items()))
        regions = (Region(edges, Shade(lower, upper, words)) for words, (edges, lower, upper) in steps)
        return *self.areas(whom, level), *regions

    def _ends(self, level: float, /, *, population: bool) -> RocBand:
        return self.band(level, population=population)

    def _drawn(self, shades: Sequence[Any], /, **how: Unpack[Drawing]) -> Any:
        fpr, tpr = self._where_known("fpr", self.fpr), self._where_known("tpr", self.tpr)
        return display.draw_roc(
            fpr, tpr, self.auc, title=self.title, positive=self.positive,
            areas=[each for each in shades if isinstance(each, DrawnArea)],
            regions=[each for each in shades if isinstance(each, Region)], **how,
        )  # fmt: skip

    def _question(self) -> dict[str, Any]:
        finer = {} if self.within is None else {"within": list(self.within.starts)}
        return {**self.table.question(), "title": self.title, "positive": self.positive, **finer}

    @classmethod
    def _opened(cls, opened: display.Opened) -> ROC:
        question, (_, *finer) = opened.question, opened.turns
        words = {name: str(question[name]) for name in ("title", "positive") if name in question}
        within = FinerCounts(finer[0], tuple(map(int, question["within"]))) if finer else None
        return cls.read(ClassTable.from_evidence(opened.evidence, opened.privacy), **words, within=within)

    def _summary(self) -> list[tuple[str, str]]:
        return area_rows(self.auc, self.areas(scopes(self.privacy), LEVEL))


@dataclass(frozen=True, slots=True)
class RocQuestion:
    """The ROC curve of `score` for two classes. Both are counted in one table, in one turn.

    Scores between two thresholds count as tied, and earlier turns find where thresholds lie best. Where the number of
    records is private, a first turn counts them, for a hundredth of the loss. From 2000 records times epsilon on (4000
    under replace-one), thresholds are at private quantiles of the scores, called cuts, for a fifth of the loss. With
    fewer records a look at all scores in 8 or 16 even intervals takes a tenth of the loss or less, and thresholds are
    at the quantiles that it shows; cuts are asked for only where most scores seem to lie in one of these intervals.
    Where the number of records is public and records times epsilon are below 128, four equal cells are counted, and
    nothing is spent before.

    Between cuts, where many records are known to be worth it (`finer_for`), another turn counts both classes on finer
    cells, from which intervals of the area are computed.

    Formal guarantees: a record lies in one cell of the table of classes and scores, whatever its label, so the loss is
    the same when a replaced record changes its label. Turns compose adaptively: what each may lose is a public share
    of the loss, or follows from the count of a turn before, and shares add up to 1.

    Attributes:
        label: The column of true labels.
        score: The column of scores, or a `Scorecard` or `Trees` that gives them; high scores are positive.
        grid: Public cells of the scores. Unless said they divide [0, 1], and scores outside are counted apart: if there
            are more of these than noise may hide, a note says so.
        pos_label, neg_label: The two classes; records with another label are missing. A negative label is needed
            unless the positive one is 1, 0, -1, True or False.
        model: What is stated about the model that made the scores; it is printed with the result.
        cuts: Where the thresholds lie: a member of `Cuts`, or its name. `Cuts.FIXED` is meant for coarser grids; it is
            always used under trust models whose cells cannot depend on earlier answers, such as two servers.
        at: Numbers of edges of the grid (0 is the first), which are all the thresholds; the grid may be as fine as
            doubles can tell apart. Others may be asked later, under the same request, at no further loss. None:
            thresholds are as `cuts` says.

    Raises:
        ValueError: `cuts` is none of these, or a class is missing or stands twice; or `at` is empty, has an edge twice,
            or one that the grid has not.
        TypeError: `at` is no tuple.
    """

    label: str
    score: str | Predictor
    grid: Grid = UNIT_INTERVAL
    pos_label: Category = 1
    neg_label: Category | None = None
    model: str = "the model is taken as public"
    cuts: Cuts = Cuts.QUANTILES
    at: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.at is not None:
            object.__setattr__(self, "at", edges_given(self.at, Axis(self.score, self.grid)))
        object.__setattr__(self, "cuts", chosen("cuts", self.cuts, Cuts))
        labels(self.label, self.pos_label, self.neg_label)

    @property
    def paid_as(self) -> PrefixQuery | None:
        """The query for all counts of both classes along this grid, where counts at some edges are asked for."""
        return None if self.at is None else all_edges(Axis(self.score, self.grid), self._classes)

    def steps(self, setting: Setting) -> Needs[ROC]:
        """Counts of both classes above thresholds."""
        score = Axis(self.score, self.grid)
        if self.at is not None:
            return self._read((yield from needed(Below(score, self.at, self._classes), ALL)))
        return self._read((yield from needed(Ranks(self._classes, score, self.cuts), ALL)))

    def _read(self, found: Counted) -> ROC:
        last, grid = found.releases[-1], found.grid or self.grid
        notes = notes_on_classes(last, self._classes)
        table = ClassTable(found.counts, grid, statement_of(found.releases, self.model).noted(*notes))
        finer = found.releases[-2].plan.query.axes[-1] if len(found.read) > 1 else None
        within = FinerCounts.of(found.read[0], finer.grid, grid) if isinstance(finer, Axis) else None
        curve = ROC.read(table, f"ROC curve of {self.score} for {self.label}", str(self.pos_label), within)
        if not last.allotment:
            return curve
        return replace(curve, table=replace(table, privacy=table.privacy.noted(*curve.notes_on_noise())))

    @property
    def _classes(self) -> Categories:
        return labels(self.label, self.pos_label, self.neg_label)

    def __str__(self) -> str:
        way = "" if self.at is None else " at some edges"
        return f"ROC curve of {self.score} for {self.label}{way}"


def _areas(evidence: Evidence, shares: FloatArray, draws: np.random.Generator, tied: BoolArray | None) -> CountedAreas:
    law = evidence.sums
    noise = [cells for cells, _ in law.simulate(evidence.total, draws_for(law.cells), draws)]
    return CountedAreas(evidence.unbiased, shares, noise, tied)


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

    KIND = "smooth-auc"
    SIZE = display.SQUARE
    TITLE = "Binormal ROC curve"
    IN_SHORT = "AUC {auc:.3f}"
    SUMMARY = (("AUC", "{auc:.4f}"),)
    COLUMNS = ("fpr", "tpr")
    ARRAYS = (*COLUMNS, "auc")

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

    def _drawn(self, shades: Sequence[Any], /, **how: Unpack[Drawing]) -> Any:
        return display.draw_roc(self.fpr, self.tpr, self.auc, title=self._title(), **how)

    def _question(self) -> dict[str, object]:
        return {}

    @classmethod
    def _opened(cls, opened: display.Opened) -> SmoothAuc:
        (evidence,) = opened.turns
        return cls.read(evidence, opened.privacy)


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
