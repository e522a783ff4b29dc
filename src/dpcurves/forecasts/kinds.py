"""Kinds of questions of which there is a forecast: which records to make up, and which error to tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..arguments import Refused, shown
from ..arrays import FloatArray
from ..curves import (
    BinnedResidualsQuestion,
    BoundsQuestion,
    CalibrationQuestion,
    CdfQuestion,
    ContingencyQuestion,
    CountQuestion,
    Histogram2DQuestion,
    HistogramQuestion,
    HosmerLemeshowQuestion,
    MeanQuestion,
    PlaneBoundsQuestion,
    QuantilesQuestion,
    ResidualPlotQuestion,
    RocQuestion,
    ScoresQuestion,
    SmoothAucQuestion,
    SummaryQuestion,
    SumQuestion,
    SurvivalQuestion,
    VarianceQuestion,
    VerifyQuestion,
)
from ..curves.turns.labels import labels
from ..data import Categories, Grid
from ..data.models import Ranged
from . import true_readings as read
from .reference_laws import CLASSES, EFFECTS, PAIRS, PLACES, POINTS, RESIDUALS, TIMES, Bits, Hidden, along
from .true_readings import Columns, Half

Table = dict[str, Any]


class ForecastKind(NamedTuple):
    """A kind of question.

    Attributes:
        laws: What records may be like, by names.
        columns: The columns of a question, made of what a law draws.
        error: How far an answer is from what the records say.
        words: What that is.
        half: How far an interval of the answer reaches to a side; None: there is none.
        width: Whose interval that is, in words.
        nothing: From which half width on it says next to nothing, of a question and so many records.
        rehearsals: How often a kind of records is answered, unless somebody says: more often where a single number is
            told, whose error differs more from one answer to the next.
        widths: The number of these answers whose intervals are computed: widths differ little from one to the next.
    """

    laws: Mapping[str, Callable[[np.random.Generator, int], Any]]
    columns: Callable[[Any, Any], Table]
    error: Callable[[Any, Any, Columns], float]
    words: str
    half: Half | None = None
    width: str = ""
    nothing: Callable[[Any, int], float] = lambda question, size: inf
    rehearsals: int = 20
    widths: int = 4


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


def _in_units(question: BoundsQuestion, drawn: tuple[FloatArray, FloatArray]) -> Table:
    _, values = drawn
    return {question.column: values * question.unit}


def _in_units_of_both(question: PlaneBoundsQuestion, drawn: tuple[FloatArray, FloatArray]) -> Table:
    both = question.across, question.upwards
    return {each.column: values * each.unit for each, values in zip(both, drawn, strict=True)}


def _with_effect(question: VerifyQuestion, drawn: Hidden) -> Table:
    """Predictors that are independent, and an outcome that follows the claimed one as far as the effect says."""
    draw, size, effect = drawn
    table, pulled = dict[str, Any](), np.zeros(size)
    for column in question.columns:
        places = draw.random(size)
        if isinstance(column, Ranged):
            table[column.column], strong = column.lower + (column.upper - column.lower) * places, places
        else:
            table[column.column] = _in_categories(column, places)
            strong = (table[column.column] == np.array(column.values)[-1]).astype(float)
            if question.level is not None:
                strong = (table[column.column] == question.level).astype(float)
        if column.column == question.coefficient:
            pulled = strong
    sign = 1.0 if question.above is not None else -1.0
    outcome = question.outcome
    places = draw.random(size) if effect == 0 else 0.5 + effect * sign * (pulled - 0.5) / 2 + draw.normal(0, 0.2, size)
    places = np.clip(places, 0.0, 1.0)
    if isinstance(outcome, Ranged):
        table[outcome.column] = outcome.lower + (outcome.upper - outcome.lower) * places
    else:
        table[outcome.column] = np.array(outcome.values)[(draw.random(size) < places).astype(np.int64)]
    return table


def _named(column: Any) -> str:
    """The name of a column that is one: what a model works out is not made up."""
    if not isinstance(column, str):
        raise Refused("question", f"a forecast needs names of columns, not a model; got {shown(column)}")
    return column


def _one_number(question: type[Any], nothing: Callable[[Any, int], float]) -> ForecastKind:
    """The kind of a question of one number between bounds."""
    name = question.STATISTIC if hasattr(question, "STATISTIC") else "count"
    return ForecastKind(
        PLACES, _values, read.of_number, f"{name}, mean error", read.half_of_number, f"the {name}", nothing,
        OF_ONE_NUMBER, MORE_WIDTHS,
    )  # fmt: skip


def _quarter(question: Any, size: int) -> float:
    """A quarter: intervals of shares that are as wide as a half."""
    return 0.25


def _quarter_of_grid(question: QuantilesQuestion, size: int) -> float:
    return (question.grid.upper - question.grid.lower) / 4


def _quarter_of_records(question: Any, size: int) -> float:
    return size / 4


def _quarter_of_means(question: Any, size: int) -> float:
    return float(question.upper - question.lower) / 4


def _quarter_of_sums(question: Any, size: int) -> float:
    return size * _quarter_of_means(question, size)


def _quarter_of_variances(question: Any, size: int) -> float:
    """The largest variance is that of records at both bounds."""
    return _quarter_of_means(question, size) ** 2


CORNERS = "share of the records below and left of a corner of cells, mean error"
SHORT = "records that bounds cover fewer than asked, mean"
OF_ONE_NUMBER = 200
OF_ONE_AREA = 60
OF_SLOW = 16
MORE_WIDTHS = 16
NUMBERS = {
    CountQuestion: _quarter_of_records, SumQuestion: _quarter_of_sums, MeanQuestion: _quarter_of_means,
    VarianceQuestion: _quarter_of_variances, SummaryQuestion: _quarter_of_means,
}  # fmt: skip
EACH_GROUP = "a group, on average"
AREA = "area under the curve, mean error"
KINDS: Mapping[type[Any], ForecastKind] = MappingProxyType(
    {
        CdfQuestion: ForecastKind(
            PLACES, _numbers, read.of_cdf, "share of the records below an edge, root mean square",
            read.half_of_band, "the band, at its widest", _quarter,
        ),
        QuantilesQuestion: ForecastKind(
            PLACES, _numbers, read.of_quantiles, "share below a quantile, mean error",
            read.half_of_quantiles, "a quantile, on average", _quarter_of_grid,
        ),
        HistogramQuestion: ForecastKind(
            PLACES, _numbers, read.of_histogram, "records in a cell, root mean square",
            read.half_of_each, "a cell, all at once", _quarter_of_records,
        ),
        BoundsQuestion: ForecastKind(
            RESIDUALS, _in_units, read.of_bounds, SHORT, read.half_of_bounds, "the records that may be fewer",
            _quarter_of_records, OF_ONE_AREA, MORE_WIDTHS,
        ),
        PlaneBoundsQuestion: ForecastKind(
            RESIDUALS, _in_units_of_both, read.of_plane_bounds, SHORT, read.half_of_plane_bounds,
            "the records that may be fewer", _quarter_of_records, OF_ONE_AREA, MORE_WIDTHS,
        ),
        RocQuestion: ForecastKind(
            CLASSES, _classes, read.of_roc, AREA, read.half_of_area, "the area", _quarter, OF_ONE_AREA
        ),
        ScoresQuestion: ForecastKind(
            CLASSES, _classes, read.of_scores, AREA, read.half_of_scores, "the area", _quarter, OF_SLOW
        ),
        SmoothAucQuestion: ForecastKind(CLASSES, _classes, read.of_roc, AREA, rehearsals=OF_ONE_AREA),
        CalibrationQuestion: ForecastKind(
            CLASSES, _chances, read.of_calibration, "share of positives of a group, mean error",
            read.half_of_each, EACH_GROUP, _quarter,
        ),
        HosmerLemeshowQuestion: ForecastKind(
            CLASSES, _chances, read.of_positives, "positives of a group, mean error", read.half_of_each, EACH_GROUP,
            _quarter_of_records,
        ),
        BinnedResidualsQuestion: ForecastKind(
            CLASSES, _chances, read.of_binned_residuals, "mean residual of a bin, mean error",
            read.half_of_envelope, "a bin, on average", _quarter,
        ),
        SurvivalQuestion: ForecastKind(
            TIMES, _times, read.of_survival, "share that survives, root mean square",
            read.half_of_survival, "the band, on average", _quarter, OF_SLOW,
        ),
        ContingencyQuestion: ForecastKind(
            PAIRS, _crossed, read.of_table, "records of a pair, root mean square",
            read.half_of_each, "a pair, all at once", _quarter_of_records, 40, MORE_WIDTHS,
        ),
        VerifyQuestion: ForecastKind(
            EFFECTS, _with_effect, read.of_verification, "share of subsets that confirm, mean error",
            read.half_of_verification, "the share", _quarter, OF_ONE_NUMBER, MORE_WIDTHS,
        ),
        Histogram2DQuestion: ForecastKind(POINTS, _points, read.of_plane, CORNERS),
        ResidualPlotQuestion: ForecastKind(RESIDUALS, _residuals, read.of_residual_plot, CORNERS),
        **{each: _one_number(each, nothing) for each, nothing in NUMBERS.items()},
    }
)  # fmt: skip
BY = (
    "a forecast is made without by: leave it out, and forecast for the records of one category under add-remove, which "
    "is about what each category gets; under replace-one errors are about twice as large"
)


def kind_of(question: Any) -> ForecastKind:
    """The kind of a question.

    Raises:
        ValueError: there is no forecast of it.
    """
    if type(question) not in KINDS:
        said = ", ".join(each.__name__ for each in KINDS)
        raise Refused("question", f"there is a forecast of {said}; got {shown(question)}")
    if getattr(question, "by", None) is not None:
        raise Refused("question", BY)
    return KINDS[type(question)]
