"""Kinds of questions of which there is a forecast: which records to make up, and which error to tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..arguments import Refused, shown
from ..arrays import FloatArray
from ..curves import (
    BinnedResidualsQuestion,
    CalibrationQuestion,
    CdfQuestion,
    ContingencyQuestion,
    CountQuestion,
    Histogram2DQuestion,
    HistogramQuestion,
    HosmerLemeshowQuestion,
    MeanQuestion,
    QuantilesQuestion,
    ResidualPlotQuestion,
    RocQuestion,
    ScoresQuestion,
    SummaryQuestion,
    SumQuestion,
    SurvivalQuestion,
    VarianceQuestion,
)
from ..curves.turns.labels import labels
from ..data import Categories, Grid
from . import true_readings as read
from .reference_laws import CLASSES, PAIRS, PLACES, POINTS, RESIDUALS, TIMES, Bits, along
from .true_readings import Columns, Half

Table = dict[str, Any]


class Kind(NamedTuple):
    """One kind of question.

    Attributes:
        laws: What records may be like, by names.
        columns: The columns of a question, made of what a law draws.
        error: How far an answer is from what the records say.
        words: What that is.
        half: How far an interval of the answer reaches to a side; None: there is none.
        width: Whose interval that is, in words.
    """

    laws: Mapping[str, Callable[[np.random.Generator, int], Any]]
    columns: Callable[[Any, Any], Table]
    error: Callable[[Any, Any, Columns], float]
    words: str
    half: Half | None = None
    width: str = ""


def _numbers(question: CdfQuestion | QuantilesQuestion | HistogramQuestion, places: FloatArray) -> Table:
    return {question.column: along(question.grid, places)}


def _classes(question: RocQuestion, drawn: tuple[Bits, FloatArray]) -> Table:
    """Scores of a ROC curve may be of any range: their ranks are all that it tells."""
    bits, score = drawn
    return {**_labels(question, bits), _named(question.score): along(question.grid, score)}


def _chances(question: CalibrationQuestion | BinnedResidualsQuestion, drawn: tuple[Bits, FloatArray]) -> Table:
    bits, score = drawn
    return {**_labels(question, bits), _named(question.score): score}


def _labels(question: RocQuestion | CalibrationQuestion | BinnedResidualsQuestion, bits: Bits) -> Table:
    values = labels(question.label, question.pos_label, question.neg_label).values
    return {question.label: np.array(values)[bits]}


def _values(question: Any, places: FloatArray) -> Table:
    """Values between bounds; a count has none, and any value counts."""
    bounds = Grid(getattr(question, "lower", 0.0), getattr(question, "upper", 1.0), cells=1)
    return {question.column: along(bounds, places)}


def _times(question: SurvivalQuestion, drawn: tuple[FloatArray, Bits]) -> Table:
    time, event = drawn
    values = labels(question.event, question.came, question.censored, ("censored", "came")).values
    return {question.time: along(question.grid, time), question.event: np.array(values)[event]}


def _crossed(question: ContingencyQuestion, drawn: tuple[FloatArray, FloatArray]) -> Table:
    sides = zip((question.rows, question.columns), drawn, strict=True)
    return {side.column: _in_categories(side, places) for side, places in sides}


def _in_categories(side: Categories, places: FloatArray) -> Any:
    return np.array(side.values)[np.minimum((places * side.slots).astype(np.int64), side.slots - 1)]


def _points(question: Histogram2DQuestion, drawn: tuple[FloatArray, FloatArray]) -> Table:
    across, upwards = drawn
    return {question.x: along(question.x_grid, across), question.y: along(question.y_grid, upwards)}


def _residuals(question: ResidualPlotQuestion, drawn: tuple[FloatArray, FloatArray]) -> Table:
    predicted, residual = drawn
    return {
        _named(question.predicted): predicted * question.unit_predicted,
        _named(question.residual): residual * question.unit_residual,
    }


def _named(column: Any) -> str:
    """The name of a column that is one: what a model works out is not made up."""
    if not isinstance(column, str):
        raise Refused("question", f"a forecast needs names of columns, not a model; got {shown(column)}")
    return column


def _one_number(question: type[Any]) -> Kind:
    """The kind of a question of one number between bounds."""
    name = question.STATISTIC if hasattr(question, "STATISTIC") else "count"
    return Kind(PLACES, _values, read.of_number, f"{name}, mean error", read.half_of_number, f"the {name}")


CORNERS = "share of the records below and left of a corner of cells, mean error"
NUMBERS = (CountQuestion, SumQuestion, MeanQuestion, VarianceQuestion, SummaryQuestion)
EACH_GROUP = "a group, on average"
KINDS: Mapping[type[Any], Kind] = MappingProxyType(
    {
        CdfQuestion: Kind(
            PLACES, _numbers, read.of_cdf, "share of the records below an edge, root mean square",
            read.half_of_band, "the band, at its widest",
        ),
        QuantilesQuestion: Kind(
            PLACES, _numbers, read.of_quantiles, "share below a quantile, mean error",
            read.half_of_quantiles, "a quantile, on average",
        ),
        HistogramQuestion: Kind(
            PLACES, _numbers, read.of_histogram, "records in a cell, root mean square",
            read.half_of_each, "a cell, all at once",
        ),
        RocQuestion: Kind(
            CLASSES, _classes, read.of_roc, "area under the curve, mean error", read.half_of_area, "the area"
        ),
        ScoresQuestion: Kind(
            CLASSES, _classes, read.of_scores, "area under the curve, mean error", read.half_of_scores, "the area"
        ),
        CalibrationQuestion: Kind(
            CLASSES, _chances, read.of_calibration, "share of positives of a group, mean error",
            read.half_of_each, EACH_GROUP,
        ),
        HosmerLemeshowQuestion: Kind(
            CLASSES, _chances, read.of_positives, "positives of a group, mean error", read.half_of_each, EACH_GROUP
        ),
        BinnedResidualsQuestion: Kind(
            CLASSES, _chances, read.of_binned_residuals, "mean residual of a bin, mean error",
            read.half_of_envelope, "a bin, on average",
        ),
        SurvivalQuestion: Kind(
            TIMES, _times, read.of_survival, "share that survives, root mean square",
            read.half_of_survival, "the band, on average",
        ),
        ContingencyQuestion: Kind(
            PAIRS, _crossed, read.of_table, "records of a pair, root mean square",
            read.half_of_each, "a pair, all at once",
        ),
        Histogram2DQuestion: Kind(POINTS, _points, read.of_plane, CORNERS),
        ResidualPlotQuestion: Kind(RESIDUALS, _residuals, read.of_residual_plot, CORNERS),
        **{each: _one_number(each) for each in NUMBERS},
    }
)  # fmt: skip


def kind_of(question: Any) -> Kind:
    """The kind of a question.

    Raises:
        ValueError: there is no forecast of it.
    """
    if type(question) not in KINDS:
        said = ", ".join(each.__name__ for each in KINDS)
        raise Refused("question", f"there is a forecast of {said}; got {shown(question)}")
    if getattr(question, "by", None) is not None:
        raise Refused("question", "a forecast is made without by: each category has the noise of all records together")
    return KINDS[type(question)]
