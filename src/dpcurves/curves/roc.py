"""Receiver operating characteristic: the curve, its area, and the area as one number with smooth sensitivity.

With P positives and Q negatives, of which TP(t) and FP(t) score at or above threshold t,

    true positive rate = TP(t) / P      false positive rate = FP(t) / Q      as t falls
    area = P(positive scores higher) + P(tie) / 2

- *Release*: both classes are counted in cells of the score, between thresholds that earlier rounds chose
  (`strategies.ranks`); the order inside a cell is not counted, so scores in one cell are tied.
- *Estimate*: shrunk counts, cumulated and clipped to a monotone curve (`estimation.two_classes`).
- *Band* (`ROC.band`): a box for each threshold, for both rates and all thresholds simultaneously (`inference.rates`).
- *Area* (`ROC.auc_interval`): a test inverted for each end, with all pairs in a cell as concordant for the upper end
  and discordant for the lower one (`inference.areas`).
- `SmoothAuc`: the area alone, with Cauchy noise scaled to its smooth sensitivity.

Formal guarantees: the granted loss; a record lies in one cell of the table of both classes for any label.

References: Hanley and McNeil 1982; DeLong, DeLong and Clarke-Pearson 1988; Boyd, Lantz and Page 2015.

>>> import dpcurves as dp
>>> labels, predicted = [0, 0, 1, 1] * 500, [0.1, 0.4, 0.35, 0.8] * 500
>>> curve = dp.roc_curve(labels, predicted, grid=dp.Grid(0, 1, cells=16), epsilon=100, adjacency=dp.ADD_REMOVE)
>>> round(curve.auc, 2)
0.75
"""

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
from ..arguments import InvalidArgument, parse_choice, require_probability
from ..arrays import BoolArray, FloatArray
from ..conversation import (
    WHOLE_BUDGET,
    CountsBelowWorkload,
    Evidence,
    Needs,
    PrivacyStatement,
    RankingWorkload,
    Setting,
    SingleQueryWorkload,
    TableCounts,
    ask_workload,
)
from ..conversation import RocThresholds as RocThresholds
from ..conversation.notes import add_advice
from ..data import UNIT_INTERVAL, Axis, Categories, Category, Grid, Outside, Predictor
from ..display import AreaInterval, Region, Shade, area_rows, describe_interval
from ..estimation.two_classes import estimate_two_classes
from ..inference import RocBand, expand_band, population_roc_band, roc_band
from ..inference.areas import (
    FEW_DRAWS,
    RankedClassCounts,
    area_interval,
    combine_areas,
    expected_width,
    shares_from_rates,
)
from ..inference.known_numbers import known_number
from ..inference.simulation import choose_draws, public_generator, sampling_generator
from ..queries import AucQuery, PrefixQuery
from ..summaries import auc_of_steps, binormal_tpr, cumulate_from_top, roc_points
from .class_table import ClassTable, ClassTableResult, notes_on_found_values
from .prefixes import build_all_edges_query, parse_edges
from .question import ScoredColumns, TableQuestion, build_privacy_statement, parse_class_labels, require_independent
from .result import (
    SUMMARY_LEVEL,
    PlotArguments,
    ReleasedResult,
    interval_scopes,
    notes_on_classes,
    notes_on_width,
)


@dataclass(frozen=True, eq=False)
class CountsAbove:
    """Counts above each counted threshold: the other thresholds lie inside merged cells.

    Attributes:
        evidence: Counts of two rows: negatives, positives.
    """

    evidence: Evidence

    @property
    def cells_above(self) -> NDArray[np.int64]:
        """The number of grid cells above each counted threshold, increasing from none to all.

        Shape ``(thresholds,)``.
        """
        distribution = self.evidence.sums
        return distribution.cells - np.asarray(distribution.bounds)[::-1]

    @cached_property
    def counts(self) -> FloatArray:
        """Unbiased counts of negatives and positives above each counted threshold, of shape ``(2, thresholds)``."""
        return cumulate_from_top(self.evidence.unbiased_cells)[:, self.cells_above]

    def simulate_noise(self, generator: np.random.Generator | None) -> FloatArray:
        """Return simulated noise of `counts`: ``(draws, 2, thresholds)``.

        Args:
            generator: Random numbers; None: a fixed public seed.
        """
        distribution, total = self.evidence.sums, self.evidence.total
        distribution_of_intervals = distribution.interval_distribution
        cells_above = distribution_of_intervals.cells - np.asarray(distribution_of_intervals.bounds)[::-1]
        chunks = distribution_of_intervals.simulate(
            total, choose_draws(2 * distribution_of_intervals.cells), public_generator(generator)
        )
        return np.concatenate([cumulate_from_top(cells)[..., cells_above] for cells, _ in chunks])

    def band(
        self, rates: FloatArray, level: float, *, population: bool, generator: np.random.Generator | None
    ) -> RocBand:
        """Return the ROC band at all thresholds; it always contains the curve.

        Args:
            rates: Rates of the curve, (2, thresholds): false positive, then true positive rates.
            level: Probability that the band holds at all thresholds.
            population: Whether it is for the population, not for these records.
            generator: Random numbers; None: a fixed public seed.
        """
        arguments = self.counts, self.simulate_noise(generator), rates[:, self.cells_above], level
        measured_band = (
            population_roc_band(*arguments, sampling_generator(generator)) if population else roc_band(*arguments)
        )
        expanded = expand_band(measured_band, self.cells_above, rates.shape[1])
        # the band must contain the curve
        lower = np.minimum(expanded[0::2], rates)
        upper = np.maximum(expanded[1::2], rates)
        return RocBand(lower[0], upper[0], lower[1], upper[1])


@dataclass(frozen=True, eq=False)
class FinerCounts:
    """Counts of both classes on cells that are finer than the cells of a curve.

    Attributes:
        evidence: Counts of two rows: negatives, positives, with independent noise.
        starts: The first finer cell in each cell of the curve, increasing from 0.
    """

    evidence: Evidence
    starts: tuple[int, ...]

    @classmethod
    def from_grids(cls, evidence: Evidence, finer: Grid, grid: Grid) -> FinerCounts:
        """Return the counts on a finer grid, which has all edges of the coarser `grid` of a curve.

        Args:
            evidence: Counts of negatives and positives in the finer cells.
            finer: The finer grid.
            grid: The grid of the curve.
        """
        inner = np.searchsorted(finer.edges, grid.edges[:-1])
        if grid.outside is Outside.APART:
            inner = np.concatenate([[0], inner + 1, [finer.cells + 1]])
        return cls(evidence, tuple(inner.tolist()))

    def combine_evidence(self, evidence: Evidence) -> Evidence:
        """Return the counts of the curve with these finer counts as a further level of nested intervals.

        The number of missing records stays last, and the public total is taken from `evidence`.
        """
        coarse = evidence.interval_sums
        fine = self.evidence.interval_sums
        last = len(evidence.values) if coarse.missing is None else len(evidence.values) - 1
        finer = self.evidence.values[: 2 * fine.cells]
        return Evidence(
            coarse.append_finer(fine, self.starts),
            (*evidence.values[:last], *finer, *evidence.values[last:]),
            evidence.total,
        )

    @property
    def finer_cells_per_cell(self) -> NDArray[np.int64]:
        """The number of finer cells in each cell of the curve.

        Shape ``(cells,)``.
        """
        return np.diff(np.append(self.starts, self.evidence.sums.cells))


@dataclass(frozen=True, eq=False, repr=False)
class ROC(ClassTableResult):
    """True positive rate against false positive rate, as the threshold falls. High scores are positive.

    Scores in one cell count as tied, and a tie counts one half.

    Attributes:
        fpr: False positive rates, from 0 to 1, of shape ``(cells + 1,)``.
        tpr: True positive rates, from 0 to 1, of the same shape.
        thresholds: Decreasing; a score at or above threshold i is classified positive at point i. The first is
            infinite.
        auc: Area under the curve. If noise is small, it is computed from the counts before they were made monotone,
            which has the smallest error: see `combine_areas`. NaN if it is unknown: see `known_number`.
        table: The released counts that the curve was computed from.
        title: The title of plots.
        positive: The label of the positive class.
        finer_counts: Counts of both classes on finer cells, for intervals of the area; None: not counted.

    Data frame: columns ``fpr``, ``tpr`` and ``threshold``.
    """

    KIND = "roc"
    SIZE = display.SQUARE
    TITLE = "{title}"
    COLUMN_WORDS = display.describe_columns(fpr="false positive rate", tpr="true positive rate", threshold="threshold")
    REPR_FACTS = "AUC {auc:.3f}, {table.grid.slots} cells"
    COLUMNS = ("fpr", "tpr", "threshold=thresholds")
    ARRAYS = ("fpr", "tpr", "thresholds", "auc")
    INTERVAL_COLUMNS = RocBand._fields
    POSSIBLE_RANGES = MappingProxyType({
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
    finer_counts: FinerCounts | None = None

    @classmethod
    def from_counts(
        cls, table: ClassTable, title: str = "ROC curve", positive: str = "", finer_counts: FinerCounts | None = None
    ) -> ROC:
        """Return the curve from released counts, at no further loss.

        Args:
            table: Counts of negatives and positives along a grid of scores.
            title: Title of the plot.
            positive: Name of the positive class; empty: unnamed.
            finer_counts: Counts of the same records in finer cells, for a narrower interval of the AUC; None: none were
                asked.
        """
        evidence = table.evidence
        cells = estimate_two_classes(evidence.sums, evidence.values, evidence.total)
        fpr, tpr = roc_points(positive=cells[1], negative=cells[0])
        noise = [chunk for chunk, _ in evidence.sums.simulate(evidence.total, FEW_DRAWS, public_generator(None))]
        area = combine_areas(
            (fpr, tpr), cells, RankedClassCounts(evidence.unbiased_cells, shares_from_rates(fpr, tpr), noise)
        )
        curve = cls(fpr, tpr, table.thresholds, area, table, title, positive, finer_counts)
        if curve._has_clear_classes:
            return curve
        return replace(curve, auc=known_number(area, curve.auc_interval(SUMMARY_LEVEL), 0.0, 1.0))

    @property
    def _has_clear_classes(self) -> bool:
        """Whether the counts of both classes are significantly above 0, so that the curve is known."""
        distribution, total = self.evidence.sums, self.evidence.total
        records = self.evidence.unbiased_cells.sum(axis=1)
        noise = np.sqrt(distribution.prefix_variances(total is not None)[:, -1])
        # signal-to-noise ratio of both classes above which the band is certainly narrower than 1/2
        return bool((records > 25 * noise).all())

    def _may_be_unknown(self) -> bool:
        """Return whether noise may hide a class, so that the curve may be unknown."""
        return not self._has_clear_classes

    def notes_on_noise(self) -> tuple[str, ...]:
        """Return a note if noise hides the curve; if both classes are large, there is none, and no band is computed."""
        if self._has_clear_classes:
            return ()
        _, lower, upper = self.band(SUMMARY_LEVEL).steps()
        return notes_on_width(upper - lower, "the band at every false positive rate")

    @property
    def grid(self) -> Grid:
        """Grid of the scores."""
        return self.table.grid

    @property
    def rounds(self) -> tuple[Evidence, ...]:
        """The counts of the curve, and of finer cells, if these were counted."""
        return (self.evidence,) if self.finer_counts is None else (self.evidence, self.finer_counts.evidence)

    def _title(self) -> str:
        """Return the plot title, which names the columns."""
        return self.title

    def auc_interval(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> tuple[float, float]:
        """Return an interval that contains the AUC of the exact scores of these records with probability `level`.

        The order of scores within a cell is unknown: each limit assumes the worst order, so the interval holds whether
        or not these scores are tied; on coarse cells coverage exceeds `level`. If finer cells were counted too, the
        grid with the shorter expected interval is used. If cells are declared values (`Values`), ties are real and
        count one half, and no order is assumed. If the values were found, this holds but for the scores that equal none
        of them: a tenth of the error probability is spent on their number.

        With `population`, it is for the AUC of the population that the records were drawn from, which needs independent
        units of one record each.

        The interval is 0 to 1 if noise alone can explain the counts of a class: the area may not exist then.

        Args:
            level: Probability that the interval contains the AUC, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Returns:
            Lower and upper end, from 0 to 1.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        level = require_probability("level", level)
        require_independent(self.privacy, population)
        if isnan(self.auc):
            return 0.0, 1.0
        draws = public_generator(generator)
        counted = _simulate_ranked_counts(
            self.evidence, shares_from_rates(self.fpr, self.tpr), draws, self.table.tied_cells
        )
        counted = counted._replace(bound_untied=self.table.bound_untied)
        if self.finer_counts is not None:
            parts = self.finer_counts.finer_cells_per_cell
            tied = self.table.tied_cells
            spread = np.repeat(counted.shares / parts, parts, axis=-1)
            each = None if tied is None else np.repeat(tied, parts)
            finer = _simulate_ranked_counts(self.finer_counts.combine_evidence(self.evidence), spread, draws, each)
            counted = min(counted, finer, key=lambda each: expected_width(each, level))
        low, high = area_interval(counted, level, sampling=draws if population else None)
        return min(low, self.auc), max(high, self.auc)

    def band(self, level: float, *, population: bool = False, generator: np.random.Generator | None = None) -> RocBand:
        """Return a region that contains the whole curve of these records, with probability `level`.

        Both rates of a point have noise, so each threshold has a box of rates; with probability `level` all points lie
        in their boxes. Between two thresholds, where scores may rank in any order, the curve lies between the lower
        corner of one box and the upper corner of the next: see `RocBand.tpr_at`. Because every order is allowed,
        coverage exceeds `level`. With `population`, the region contains the curve of the population that the records
        were drawn from, which needs independent units of one record each.

        If noise alone can explain the count of a class, its rate may be anything from 0 to 1.

        Args:
            level: Probability that the region contains the whole curve, between 0 and 1.
            population: Whether the curve of the population is meant, not the curve of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Returns:
            Lower and upper rates at the thresholds, each of shape ``(thresholds,)``.

        Raises:
            ValueError: the level is not between 0 and 1, or needs more draws; or a unit may have several records.
        """
        level = require_probability("level", level)
        band = self._compute_once((level, population), generator, lambda: self._band(level, population, generator))
        return RocBand(*(ends.copy() for ends in band))

    def _band(self, level: float, population: bool, generator: np.random.Generator | None) -> RocBand:
        """Return the band without looking into the cache of `band`.

        Args:
            level: Probability that the band is right.
            population: If True, the band is for the population.
            generator: Random numbers of the simulation; None: from a fixed public seed.
        """
        require_independent(self.privacy, population)
        rates = np.stack([self.fpr, self.tpr])
        return CountsAbove(self.evidence).band(rates, level, population=population, generator=generator)

    def _area_intervals(self, scopes: Mapping[str, bool], level: float | None) -> tuple[AreaInterval, ...]:
        """Return the interval of the area for each of these scopes, with its legend text; none without a level.

        Args:
            scopes: By name: False for these records, True for the population.
            level: Confidence level; None: no intervals.
        """
        if level is None:
            return ()
        return tuple(
            AreaInterval(
                *self.auc_interval(level, population=is_population), describe_interval(level, "interval", name)
            )
            for name, is_population in scopes.items()
        )

    def _build_shades(self, scopes: Mapping[str, bool], level: float | None) -> tuple[AreaInterval | Region, ...]:
        """Return the intervals of the area, then the bands, those for the population first; none without a level.

        Args:
            scopes: Whether a scope is the population, by the name of the scope in legends.
            level: Confidence level, between 0 and 1; None: no shades.
        """
        if level is None:
            return ()
        bands = {
            describe_interval(level, "band", name): self.band(level, population=is_population)
            for name, is_population in scopes.items()
        }
        steps = ((label, band.steps()) for label, band in reversed(bands.items()))
        regions = (Region(edges, Shade(lower, upper, label)) for label, (edges, lower, upper) in steps)
        return *self._area_intervals(scopes, level), *regions

    def _interval_limits(self, level: float, /, *, population: bool) -> RocBand:
        """Return the band at this level: lower and upper limits of both rates.

        Args:
            level: Probability that the band holds at all thresholds at once, between 0 and 1.
            population: Whether the limits are for the population, not for these records.
        """
        return self.band(level, population=population)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the curve with its bands, and the area with its intervals; return the axes.

        Args:
            shades: Intervals of the area (`AreaInterval`) and bands (`Region`) in any order; empty: none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        fpr = self._mask_unknown("fpr", self.fpr)
        tpr = self._mask_unknown("tpr", self.tpr)
        return display.draw_roc(
            fpr, tpr, self.auc, positive=self.positive,
            areas=[shade for shade in shades if isinstance(shade, AreaInterval)],
            regions=[shade for shade in shades if isinstance(shade, Region)], **how,
        )  # fmt: skip

    def _question(self) -> dict[str, Any]:
        """Return the JSON fields that restore the curve with `_from_json`: grid, title, positive label, and, if finer
        cells were counted, where they begin.
        """
        finer = {} if self.finer_counts is None else {"within": list(self.finer_counts.starts)}
        return {**self.table.question_to_json(), "title": self.title, "positive": self.positive, **finer}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> ROC:
        """Return the curve from a parsed JSON document.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        question, (_, *finer) = document.question, document.releases
        texts = {name: str(question[name]) for name in ("title", "positive") if name in question}
        within = FinerCounts(finer[0], tuple(map(int, question["within"]))) if finer else None
        return cls.from_counts(
            ClassTable.from_evidence(document.evidence, document.privacy), **texts, finer_counts=within
        )

    def _summary(self) -> list[tuple[str, str]]:
        """Return the rows of the summary: the area under the curve with its intervals, as texts."""
        return area_rows(self.auc, self._area_intervals(interval_scopes(self.privacy), SUMMARY_LEVEL))


@dataclass(frozen=True, slots=True)
class RocQuestion(TableQuestion):
    """Ask for the ROC curve of `score` for two classes. Both are counted in one table, in one round.

    Scores between two thresholds are tied, and earlier rounds choose the thresholds. If the number of records is
    private, a first round counts them, for a hundredth of the loss. From 2000 records times epsilon (4000 under
    replace-one), thresholds are at private quantiles of the scores, called cuts, for a fifth of the loss. With fewer
    records a pilot query of all scores in 8 or 16 even intervals costs a tenth of the loss or less, and thresholds are
    at its quantiles; cuts are used only if most scores seem to lie in a single interval. If the number of records is
    public and records times epsilon are below 128, four equal cells are counted, without a pilot query.

    From 400 records times epsilon (800 under replace-one), a pilot query for a fortieth of the loss or less shows if
    nearly all scores other than zero are multiples of a step, 0.05 of scores in [0, 1]. Then a tenth of the loss counts
    scores at each multiple and all other scores. If nearly all scores other than the most common one are multiples,
    the curve has a cell for each multiple; other scores belong to the nearest one.

    Between cuts, if there are enough records (`choose_finer_cells`), another round counts both classes on finer cells,
    from which intervals of the area are computed.

    Formal guarantees: a record lies in one cell of the table of classes and scores, for any label, so the loss is the
    same when a replaced record changes its label. Rounds compose adaptively: the loss of each is a public budget
    fraction, or follows from the count of an earlier round, and fractions add up to 1.

    Attributes:
        label: The column of true labels.
        score: The column of scores, or a `Scorecard` or `TreeEnsemble` for them; high scores are positive.
        grid: Public cells of the scores. By default they divide [0, 1], and outside scores are counted apart: a note
            warns if their count exceeds the noise.
        pos_label, neg_label: The two classes; records with another label are missing. A negative label is needed unless
            the positive label is 1, 0, -1, True or False.
        model: A statement about the model that made the scores, printed with the result.
        thresholds: How thresholds are chosen: a member of `RocThresholds`, or its name. `FIXED` is meant for
            coarser grids; it is always used if cells cannot depend on earlier answers, as with two servers.
        edges: Indices of edges of the grid (0 is the first), which are all the thresholds; the grid may be as fine as
            doubles allow. Further edges can be asked later, under the same request, at no further loss. None:
            thresholds are chosen as described at `thresholds`.

    Raises:
        ValueError: `thresholds` is unknown, or a class is missing or repeated; or `edges` is empty, repeats an edge, or
            has an edge outside the grid.
        TypeError: `edges` is no tuple.
    """

    label: str
    score: str | Predictor
    grid: Grid = UNIT_INTERVAL
    pos_label: Category = 1
    neg_label: Category | None = None
    model: str = "the model is taken as public"
    thresholds: RocThresholds = RocThresholds.QUANTILES
    edges: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.edges is not None:
            object.__setattr__(self, "edges", parse_edges(self.edges, Axis(self.score, self.grid)))
        object.__setattr__(self, "thresholds", parse_choice("thresholds", self.thresholds, RocThresholds))
        parse_class_labels(self.label, self.pos_label, self.neg_label)

    @property
    def charged_query(self) -> PrefixQuery | None:
        """The query that the ledger charges if only counts at chosen edges are asked for: all counts of both classes on
        the grid.
        """
        return None if self.edges is None else build_all_edges_query(Axis(self.score, self.grid), self._classes)

    def steps(self, setting: Setting) -> Needs[ROC]:
        """Ask for counts of both classes above thresholds; return the ROC curve.

        Args:
            setting: Loss and adjacency of the question; not read.
        """
        score = Axis(self.score, self.grid)
        if self.edges is not None:
            return self._build_roc(
                (yield from ask_workload(CountsBelowWorkload(score, self.edges, self._classes), WHOLE_BUDGET))
            )
        return self._build_roc(
            (yield from ask_workload(RankingWorkload(self._classes, score, self.thresholds), WHOLE_BUDGET))
        )

    def _build_roc(self, counts: TableCounts) -> ROC:
        """Return the curve of the released counts, with notes on labels and noise unless it is a rehearsal.

        Args:
            counts: Released counts of both classes above thresholds.
        """
        last = counts.releases[-1]
        grid = counts.grid or self.grid
        notes = notes_on_classes(last, self._classes)
        privacy = build_privacy_statement(counts.releases, self.model).with_notes(*notes)
        columns = ScoredColumns.from_question(self.score, self.label)
        table = ClassTable(counts.counts, grid, privacy, counts.lattice_counts, columns)
        finer = counts.releases[-2].plan.query.axes[-1] if len(counts.evidence) > 1 else None
        within = FinerCounts.from_grids(counts.evidence[0], finer.grid, grid) if isinstance(finer, Axis) else None
        curve = ROC.from_counts(table, f"ROC curve of {self.score} for {self.label}", str(self.pos_label), within)
        if not last.allotment:
            return curve
        notes = *notes_on_found_values(table), *curve.notes_on_noise()
        return replace(curve, table=replace(table, privacy=table.privacy.with_notes(*notes)))

    @property
    def _classes(self) -> Categories:
        """The label column with its two classes, the negative class first."""
        return parse_class_labels(self.label, self.pos_label, self.neg_label)

    def __str__(self) -> str:
        way = "" if self.edges is None else " at some edges"
        return f"ROC curve of {self.score} for {self.label}{way}"


def _simulate_ranked_counts(
    evidence: Evidence, shares: FloatArray, draws: np.random.Generator, tied: BoolArray | None
) -> RankedClassCounts:
    """Return the unbiased counts of both classes with simulated noise, from which an interval of the area is
    computed.

    Args:
        evidence: Released counts of both classes.
        shares: Likely shares of the cells in each class.
        draws: Random numbers of the simulation.
        tied: Cells whose scores are tied; None: not known.
    """
    distribution = evidence.sums
    noise = [cells for cells, _ in distribution.simulate(evidence.total, choose_draws(distribution.cells), draws)]
    return RankedClassCounts(evidence.unbiased_cells, shares, noise, tied)


NO_INTERVAL = add_advice(
    "the area has no interval: its noise depends on the size of the smaller class, which was not released",
    "ask for a ROC curve, which has one",
)
"""Note on a binormal ROC curve, which is drawn from a released area alone."""


@dataclass(frozen=True, eq=False, repr=False)
class SmoothAuc(ReleasedResult):
    """The area under an ROC curve, and the symmetric binormal curve with this area (Boyd, Lantz and Page 2015).

    The shape of the curve is assumed, not measured: use `ROC` for a measured curve.

    Attributes:
        fpr: False positive rates, from 0 to 1, of shape ``(513,)``.
        tpr: True positive rates of the binormal curve, of the same shape.
        auc: The released area. It has no interval: its noise is Cauchy with a scale of about one over ``epsilon`` times
            the size of the smaller class. That size was not released, and no public fact bounds it from below: with a
            single positive and epsilon 1 the released area may be anywhere between 0 and 1, as a note states.
        privacy: The privacy statement, which every plot shows.
        evidence: The released number, in steps of ``2**-20``.

    Data frame: columns ``fpr`` and ``tpr``.
    """

    KIND = "smooth-auc"
    SIZE = display.SQUARE
    TITLE = "Binormal ROC curve"
    COLUMN_WORDS = display.describe_columns(fpr="false positive rate", tpr="true positive rate")
    REPR_FACTS = "AUC {auc:.3f}"
    SUMMARY = (("AUC", "{auc:.4f}"),)
    COLUMNS = ("fpr", "tpr")
    ARRAYS = (*COLUMNS, "auc")

    fpr: FloatArray
    tpr: FloatArray
    auc: float
    privacy: PrivacyStatement
    evidence: Evidence

    @classmethod
    def from_counts(cls, evidence: Evidence, privacy: PrivacyStatement) -> SmoothAuc:
        """Return the binormal curve of the released area.

        Args:
            evidence: Release of one integer, the area in steps of ``2**-20``.
            privacy: Privacy statement of the release.
        """
        auc = auc_of_steps(evidence.values[0])
        fpr = np.linspace(0.0, 1.0, 513)  # points of the drawn curve
        return cls(fpr, binormal_tpr(fpr, auc), auc, privacy.with_notes(NO_INTERVAL), evidence)

    def binormal_tpr_at(self, fpr: ArrayLike) -> FloatArray:
        """Return true positive rates of the binormal curve at any false positive rates.

        Args:
            fpr: False positive rates from 0 to 1, (...).

        Returns:
            True positive rates, (...).

        Raises:
            InvalidArgument: a rate is no number from 0 to 1.
        """
        try:
            rates = np.asarray(fpr, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):  # texts, None, lists of several lengths, huge integers
            rates = np.array(np.nan)
        if not ((rates >= 0) & (rates <= 1)).all():
            raise InvalidArgument("fpr", "numbers from 0 to 1 are needed, as in 0.1 or [0.1, 0.2]")
        return binormal_tpr(rates, self.auc)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the binormal curve with its area; return the axes.

        Args:
            shades: Not used: the area has no interval.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        return display.draw_roc(self.fpr, self.tpr, self.auc, **how)

    def _question(self) -> dict[str, object]:
        """Return no JSON fields: the release has all that is needed."""
        return {}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> SmoothAuc:
        """Return the curve from a parsed JSON document.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        (evidence,) = document.releases
        return cls.from_counts(evidence, document.privacy)


@dataclass(frozen=True, slots=True)
class SmoothAucQuestion(TableQuestion):
    """Ask for the area under the ROC curve of `score`, as one number. One round.

    Attributes:
        label: The column of true labels.
        score: The column of scores, or a `Scorecard` or `TreeEnsemble` for them; high scores are positive.
        grid: Public cells of the scores; scores in one cell are tied. By default they divide [0, 1]; scores below are a
            further cell, scores above another.
        pos_label, neg_label: The two classes; records with another label are missing.
        model: A statement about the model that made the scores, printed with the result.
    """

    label: str
    score: str | Predictor
    grid: Grid = UNIT_INTERVAL
    pos_label: Category = 1
    neg_label: Category | None = None
    model: str = "the model is taken as public"

    def __post_init__(self) -> None:
        parse_class_labels(self.label, self.pos_label, self.neg_label)

    def steps(self, setting: Setting) -> Needs[SmoothAuc]:
        """Ask for one noisy estimate of the area under the ROC curve; return the binormal curve with this area.

        Args:
            setting: Loss and adjacency of the question; not read.
        """
        classes = parse_class_labels(self.label, self.pos_label, self.neg_label)
        release = yield from ask_workload(
            SingleQueryWorkload(AucQuery((classes, Axis(self.score, self.grid)))), WHOLE_BUDGET
        )
        return SmoothAuc.from_counts(Evidence.from_release(release), build_privacy_statement([release], self.model))

    def __str__(self) -> str:
        return f"area under the ROC curve of {self.score} for {self.label}"
