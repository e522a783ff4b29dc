"""Test cases of privacy audits: each question of this package, with tiny neighbouring data sets.

An audit runs a question many times on two neighbouring data sets and compares how often answers occur. A mechanism's
worst case is often a tiny table. So neighbours have few records, and differ in one that is added or replaced.

    QUESTIONS               questions by name, on a grid that the caller gives
    FURTHER_QUESTIONS       further questions, on their own grids
    AuditQuestion           makes a question, and makes its neighbouring data sets
    make_records_factory    makes neighbours from a list of records

All records are invented; no confidential data is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf, nan
from typing import Any

import numpy as np

import dpcurves as dp
from dpcurves.data import Grid, UnlistedCategories

from . import neighbouring_datasets as families
from .neighbouring_datasets import ADD_REMOVE, NeighbouringDatasets

COLUMN = "value"
"""Name of the column of numbers in the audited data sets."""
LABEL = "label"
"""Name of the column of classes, or of events of a survival curve, in the audited data sets."""
SCORE = "score"
"""Name of the column of scores, or of times of a survival curve, in the audited data sets."""
UNIT = "unit"
"""Name of the column that identifies the privacy unit in the audited data sets."""
Record = tuple[Any, ...]


class AuditQuestion:
    """A question, and neighbouring data sets for it.

    Attributes:
        question: Function of a grid that makes the question.
        family: Function of the grid's edges and the adjacency that makes the neighbouring data sets.
    """

    def __init__(
        self, question: Callable[[Any], Any], family: Callable[..., NeighbouringDatasets] = families.values
    ) -> None:
        self.question = question
        self.family = family


def _find_bounds(grid: Any) -> tuple[float, float]:
    """Return the lower and upper bound of a grid as floats, for the declaration of a numeric column.

    Args:
        grid: Grid of an axis.

    Returns:
        Lower and upper bound.
    """
    return float(grid.lower), float(grid.upper)


def _make_score_question(question: str, **named: Any) -> AuditQuestion:
    """Return a question about labels and scores, with neighbours that differ in these.

    Args:
        question: Name of a class of `dpcurves`.
        named: Further arguments of the class.
    """
    return AuditQuestion(
        lambda grid: getattr(dp, question)(label=LABEL, score=SCORE, pos_label=1, **named), families.scores
    )


QUESTIONS: Mapping[str, AuditQuestion] = {
    "cdf": AuditQuestion(lambda grid: dp.CdfQuestion(COLUMN, grid)),
    "quantiles": AuditQuestion(lambda grid: dp.QuantilesQuestion(COLUMN, grid, (0.25, 0.5, 0.75))),
    "histogram": AuditQuestion(lambda grid: dp.HistogramQuestion(COLUMN, grid)),
    "count": AuditQuestion(lambda grid: dp.CountQuestion(COLUMN)),
    "sum": AuditQuestion(lambda grid: dp.SumQuestion(COLUMN, *_find_bounds(grid))),
    "mean": AuditQuestion(lambda grid: dp.MeanQuestion(COLUMN, *_find_bounds(grid))),
    "variance": AuditQuestion(lambda grid: dp.VarianceQuestion(COLUMN, *_find_bounds(grid))),
    "summary": AuditQuestion(lambda grid: dp.SummaryQuestion(COLUMN, *_find_bounds(grid))),
    "bounds": AuditQuestion(lambda grid: dp.BoundsQuestion(COLUMN, unit=(grid.upper - grid.lower) / 8, coverage="0.9")),
    "survival": AuditQuestion(lambda grid: dp.SurvivalQuestion(time=SCORE, event=LABEL, grid=grid), families.scores),
    "scores": AuditQuestion(
        lambda grid: dp.ScoresQuestion(label=LABEL, score=SCORE, pos_label=1, grid=grid), families.scores
    ),
    "roc": _make_score_question("RocQuestion"),
    "calibration": _make_score_question("CalibrationQuestion"),
    "hosmer-lemeshow": _make_score_question("HosmerLemeshowQuestion"),
}
"""Audited questions by the names of their commands: how each is made on a grid, and its data sets."""


def find_column_types(rows: Sequence[Record]) -> list[Any]:
    """Return the type of each column: text if any value is text, integer if all are integers, else double.

    Args:
        rows: Records, each with a value for every column.

    Returns:
        A NumPy type for each column; empty without records.
    """
    types: list[Any] = []
    for column in zip(*rows, strict=True):
        if any(isinstance(value, str) for value in column):
            types.append(np.str_)
        else:
            types.append(np.int64 if all(isinstance(value, int) for value in column) else np.float64)
    return types


def make_table(columns: Sequence[str], kinds: Sequence[Any], rows: Sequence[Record]) -> Mapping[str, Any]:
    """Convert records to a table: an array of the column's type by column name.

    Args:
        columns: Names of the columns.
        kinds: NumPy type of each column.
        rows: Records, one value for each column.
    """
    table = {}
    for index, name in enumerate(columns):
        table[name] = np.array([record[index] for record in rows], dtype=kinds[index])
    return table


def make_records_factory(columns: str, *records: Record) -> Callable[..., NeighbouringDatasets]:
    """Return a function that makes neighbouring tables from these records, by adding or replacing one record.

    Args:
        columns: Names of columns, separated by spaces.
        records: Records, the most different ones first.
    """
    names = columns.split()
    kinds = find_column_types(records)

    def make_datasets(edges: Any, *, adjacency: dp.Neighbours) -> NeighbouringDatasets:
        """Return neighbouring tables of few records: one table has one record more, or one record is replaced by
        another.

        Args:
            edges: Edges of the grid, which are not used.
            adjacency: Neighbouring relation of the pairs.
        """
        first, second, *_ = records
        bases: tuple[list[Record], ...] = [], [first] * 3, [first, second], list(records[:4])
        pairs = _add_records(bases, records) if adjacency is ADD_REMOVE else _replace_records(bases, records)
        tables = ((make_table(names, kinds, left), make_table(names, kinds, right)) for left, right in pairs)
        return families.pairs(tables, adjacency=adjacency, name=f"records of {', '.join(names)}")

    return make_datasets


def _add_records(
    bases: Sequence[list[Record]], records: Sequence[Record]
) -> Iterator[tuple[list[Record], list[Record]]]:
    """Yield pairs of tables in which the second has one record more.

    Args:
        bases: Base tables.
        records: Records, each of which is added to each base table.
    """
    for record in records:
        for base in bases:
            yield base, [*base, record]


def _replace_records(
    bases: Sequence[list[Record]], records: Sequence[Record]
) -> Iterator[tuple[list[Record], list[Record]]]:
    """Yield pairs of tables of equal size that differ in one replaced record: each record becomes the next one.

    Args:
        bases: Base tables; each gets one record in one table and another record in the other.
        records: Records to replace and to be replaced, at least two.
    """
    for old, new in ((records[0], records[1]), *pairwise(records[1:]), (records[0], records[-1])):
        for base in bases:
            yield [*base, old], [*base, new]


CLASSES = dp.Categories(LABEL, (0, 1, 2))
"""Label column of the audited questions about three classes."""
KINDS = dp.Categories("kind", ("a", "b"))
"""Column of two groups in the audited questions about groups."""
WEIGHT_CAP = 4.0
"""Public cap on the weight of a record in the audited questions, in units of the weights; larger weights are
clipped."""
FOUR_CELLS = Grid(0, 1, cells=4)
"""Grid of four cells on [0, 1] in audited questions: few, so that all answers occur often."""

WEIGHTED_RECORDS = make_records_factory(
    "value weight", (1.0, 4.0), (0.0, 4.0), (0.6, 2.5), (1.0, 9.0), (0.5, 0.0), (0.5, nan), (0.5, -1.0)
)
"""Makes data sets whose weights are at the cap, beyond it, zero, negative and missing."""
_timed = make_records_factory(
    "time event weight", (0.9, 1, 4.0), (0.1, 1, 4.0), (0.9, 0, 4.0), (0.6, 1, 1.5), (inf, 1, 4.0), (nan, 1, 9.0)
)
_paired = make_records_factory(
    "label first second", (1, 0.9, 0.1), (0, 0.1, 0.9), (1, 0.1, 0.1), (0, 0.9, 0.9), (1, nan, 0.5), (7, 0.5, 0.5)
)
PLANE_RECORDS = make_records_factory(
    "x y", (0.9, 0.9), (0.1, 0.1), (0.1, 0.9), (0.9, 0.1), (nan, 0.9), (2.0, -1.0), (1e308, 5e-324)
)
"""Makes data sets of points in the corners of the unit square, outside of it, missing, and near the limits of
doubles."""
_listed = make_records_factory("value kind", (0.9, "a"), (0.1, "b"), (0.1, "a"), (0.9, "b"), (0.9, "c"), (0.9, ""))

FURTHER_QUESTIONS: Mapping[str, AuditQuestion] = {
    "curve of any range": AuditQuestion(lambda grid: dp.AutoRangeCdfQuestion(COLUMN)),
    "median of any range": AuditQuestion(lambda grid: dp.AutoRangeQuantilesQuestion(COLUMN, (0.5,))),
    "histogram of any range": AuditQuestion(lambda grid: dp.AutoRangeHistogramQuestion(COLUMN)),
    "sum of any bounds": AuditQuestion(lambda grid: dp.AutoRangeSumQuestion(COLUMN)),
    "mean of any bounds": AuditQuestion(lambda grid: dp.AutoRangeMeanQuestion(COLUMN)),
    "variance of any bounds": AuditQuestion(lambda grid: dp.AutoRangeVarianceQuestion(COLUMN)),
    "summary of any bounds": AuditQuestion(lambda grid: dp.AutoRangeSummaryQuestion(COLUMN)),
    "scores of any range": _make_score_question("AutoRangeScoresQuestion"),
    "survival of any range": AuditQuestion(lambda grid: dp.AutoRangeSurvivalQuestion(SCORE, LABEL), families.scores),
    "curve of cuts": AuditQuestion(lambda grid: dp.CdfQuestion(COLUMN, grid, method=dp.QuantilePartition(2))),
    "curve by halves": AuditQuestion(lambda grid: dp.CdfQuestion(COLUMN, grid, method=dp.Bisection(2))),
    "curve of an adaptive partition": AuditQuestion(
        lambda grid: dp.CdfQuestion(COLUMN, grid, method=dp.AdaptivePartition())
    ),
    "curve at few edges": AuditQuestion(lambda grid: dp.CdfQuestion(COLUMN, grid, edges=(0, 1, 3))),
    "median that is searched": AuditQuestion(lambda grid: dp.QuantilesQuestion(COLUMN, grid, (0.5,), search=0.1)),
    "curves of groups": AuditQuestion(lambda grid: dp.CdfQuestion(COLUMN, grid, by=KINDS), _listed),
    "summaries of groups": AuditQuestion(
        lambda grid: dp.SummaryQuestion(COLUMN, *_find_bounds(grid), by=KINDS), _listed
    ),
    "weighted curve": AuditQuestion(
        lambda grid: dp.WeightedCdfQuestion(COLUMN, grid, "weight", WEIGHT_CAP), WEIGHTED_RECORDS
    ),
    "weighted histogram": AuditQuestion(
        lambda grid: dp.WeightedHistogramQuestion(COLUMN, grid, "weight", WEIGHT_CAP), WEIGHTED_RECORDS
    ),
    "weighted quantiles": AuditQuestion(
        lambda grid: dp.WeightedQuantilesQuestion(COLUMN, grid, (0.5,), "weight", WEIGHT_CAP), WEIGHTED_RECORDS
    ),
    "weighted mean": AuditQuestion(
        lambda grid: dp.WeightedSummaryQuestion(COLUMN, *_find_bounds(grid), "weight", WEIGHT_CAP), WEIGHTED_RECORDS
    ),
    "weighted sum": AuditQuestion(
        lambda grid: dp.WeightedSummaryQuestion(COLUMN, *_find_bounds(grid), "weight", WEIGHT_CAP, statistic="sum"),
        WEIGHTED_RECORDS,
    ),
    "weighted curve of any range": AuditQuestion(
        lambda grid: dp.AutoRangeWeightedCdfQuestion(COLUMN, "weight", WEIGHT_CAP), WEIGHTED_RECORDS
    ),
    "weighted histogram of any range": AuditQuestion(
        lambda grid: dp.AutoRangeWeightedHistogramQuestion(COLUMN, "weight", WEIGHT_CAP), WEIGHTED_RECORDS
    ),
    "weighted median of any range": AuditQuestion(
        lambda grid: dp.AutoRangeWeightedQuantilesQuestion(COLUMN, (0.5,), "weight", WEIGHT_CAP), WEIGHTED_RECORDS
    ),
    "weighted mean of any bounds": AuditQuestion(
        lambda grid: dp.AutoRangeWeightedSummaryQuestion(COLUMN, "weight", WEIGHT_CAP), WEIGHTED_RECORDS
    ),
    "weighted survival": AuditQuestion(
        lambda grid: dp.WeightedSurvivalQuestion("time", "event", grid, "weight", WEIGHT_CAP), _timed
    ),
    "competing risks": AuditQuestion(
        lambda grid: dp.CompetingRisksQuestion("time", "event", grid, causes=(1, 2)),
        make_records_factory("time event", (0.9, 1), (0.1, 2), (0.1, 0), (0.9, 2), (nan, 1), (0.5, 7)),
    ),
    "delayed entry": AuditQuestion(
        lambda grid: dp.DelayedEntryQuestion("entry", "time", "event", grid),
        make_records_factory(
            "entry time event", (0.1, 0.9, 1), (0.6, 0.7, 0),
            (0.0, 0.2, 1), (0.9, 0.1, 1), (nan, 0.5, 1),
        ),
    ),
    "interval censoring": AuditQuestion(
        lambda grid: dp.IntervalCensoredQuestion("last", "first", grid),
        make_records_factory("last first", (0.1, 0.9), (0.6, inf), (0.0, 0.2), (0.9, 0.1), (nan, 0.5), (0.4, nan)),
    ),
    "survival by a model": AuditQuestion(
        lambda grid: dp.SurvivalModelQuestion(
            SCORE, "time", "event", Grid(0, 1, cells=2), Grid(0, 1, cells=2), groups=2
        ),
        make_records_factory(
            "score time event", (0.9, 0.9, 1), (0.1, 0.1, 1),
            (0.1, 0.9, 0), (0.9, 0.1, 0), (nan, 0.5, 1),
        ),
    ),
    "bar chart": AuditQuestion(
        lambda grid: dp.BarChartQuestion(KINDS), make_records_factory("kind", ("a",), ("b",), ("c",), ("",))
    ),
    "contingency": AuditQuestion(
        lambda grid: dp.ContingencyQuestion(dp.Categories(LABEL, (0, 1)), KINDS),
        make_records_factory("label kind", (1, "a"), (0, "b"), (1, "b"), (0, "a"), (7, "a"), (1, "c")),
    ),
    "histogram of two columns": AuditQuestion(
        lambda grid: dp.Histogram2DQuestion("x", "y", Grid(0, 1, cells=2), Grid(0, 1, cells=2)), PLANE_RECORDS
    ),
    "bounds of two columns": AuditQuestion(
        lambda grid: dp.PlaneBoundsQuestion(
            dp.BoundsQuestion("x", unit=0.125, coverage="0.9"), dp.BoundsQuestion("y", unit=0.125, coverage="0.9")
        ),
        PLANE_RECORDS,
    ),
    "residuals over predictions": AuditQuestion(
        lambda grid: dp.ResidualPlotQuestion("x", "y", 0.125, 0.125, "0.9", dp.PUBLIC_MODEL, cells=4), PLANE_RECORDS
    ),
    "predicted and observed": AuditQuestion(
        lambda grid: dp.PredictedObservedQuestion("x", "y", FOUR_CELLS, FOUR_CELLS), PLANE_RECORDS
    ),
    "forecasts of quantiles": AuditQuestion(
        lambda grid: dp.QuantileForecastsQuestion(("x", "y"), (0.1, 0.9), Grid(-1, 1, cells=4)), PLANE_RECORDS
    ),
    "binned residuals": _make_score_question("BinnedResidualsQuestion", model=dp.PUBLIC_MODEL, bins=2, grid=FOUR_CELLS),
    "smooth area": _make_score_question("SmoothAucQuestion", grid=Grid(0, 1, cells=16)),
    "two models": AuditQuestion(
        lambda grid: dp.ModelPairQuestion(LABEL, "first", "second", Grid(0, 1, cells=2)), _paired
    ),
    "classes in order": AuditQuestion(
        lambda grid: dp.OrdinalClassesQuestion(CLASSES, SCORE, FOUR_CELLS),
        make_records_factory("label score", (2, 0.9), (0, 0.1), (1, 0.1), (0, 0.9), (2, nan), (7, 0.5)),
    ),
    "several models": AuditQuestion(
        lambda grid: dp.ModelComparisonQuestion(LABEL, ("first", "second", "third"), Grid(0, 1, cells=2), cells=2),
        make_records_factory(
            "label first second third", (1, 0.9, 0.1, 0.9), (0, 0.1, 0.9, 0.9), (1, 0.1, 0.1, 0.1), (0, 0.9, 0.9, 0.1),
            (1, nan, 0.5, 0.5), (7, 0.5, 0.5, 0.5),
        ),
    ),
    "several classes": AuditQuestion(
        lambda grid: dp.MulticlassQuestion(
            CLASSES, ("p", "q", "r"), grid=Grid(0, 1, cells=2), groups=Grid(0, 1, cells=2)
        ),
        make_records_factory(
            "label p q r", (2, 0.1, 0.1, 0.8), (0, 0.8, 0.1, 0.1),
            (1, 0.8, 0.1, 0.1), (0, 0.1, 0.1, 0.8,
        ),
                (7, 0.4, 0.3, 0.3), (2, nan, 0.5, 0.5)),
    ),
    "uplift": AuditQuestion(
        lambda grid: dp.UpliftQuestion("outcome", "treatment", SCORE, Grid(-1, 1, cells=2)),
        make_records_factory(
            "outcome treatment score", (1, 1, 0.9), (0, 0, -0.9),
            (1, 0, 0.9), (0, 1, -0.9), (7, 1, 0.5),
        ),
    ),
    "learned scorer": AuditQuestion(
        lambda grid: dp.PairwiseScorerQuestion(LABEL, (dp.NumericColumn("x", 0, 1), dp.NumericColumn("y", 0, 1))),
        make_records_factory(
            "label x y", (1, 0.9, 0.1), (0, 0.1, 0.9), (1, 0.1, 0.1),
            (0, 0.9, 0.9), (1, nan, 0.5), (7, 1.0, 1.0),
        ),
    ),
}  # fmt: skip
"""Audited questions besides `QUESTIONS`: without a range, by other methods, with weights, groups, times, several
columns, and models."""

UNLISTED_COUNTS = dp.CountQuestion("given", by=UnlistedCategories("name"))
"""Audited question: counts of categories that nobody listed, which partition selection finds."""


def make_name_datasets(edges: Any, *, adjacency: dp.Neighbours) -> NeighbouringDatasets:
    """Return neighbouring tables of names for partition selection: one record has a name of its own, or shares a name.

    Four common records have one name. The differing record shares that name, or has a name that no other record has.

    Args:
        edges: Edges of a grid, which are not used.
        adjacency: Neighbouring relation of the pairs.
    """
    common = [("north", 1)] * 4
    family = make_records_factory("name given", ("x", 1), ("north", 1), ("south", 1), ("", 1))(
        edges, adjacency=adjacency
    )
    if adjacency is ADD_REMOVE:
        datasets = [(common, [*common, ("x", 1)]), (common, [*common, ("north", 1)])]
    else:
        datasets = [([*common, ("north", 1)], [*common, ("x", 1)]), ([*common, ("y", 1)], [*common, ("x", 1)])]
    columns = ("name", "given")
    kinds = (np.str_, np.int64)
    tables = ((make_table(columns, kinds, left), make_table(columns, kinds, right)) for left, right in datasets)
    return family.with_pairs(*families.pairs(tables, adjacency=adjacency, name="names").pairs)
