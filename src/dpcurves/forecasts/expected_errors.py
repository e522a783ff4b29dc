"""Forecast (power analysis, dry run): the expected error of a private question, by simulation on public records.

Use `forecast` to choose a budget, a grid or a number of records before asking. A question is answered in one or several
*rounds*, that is noisy queries of which each may depend on earlier answers, so its error depends on the records and has
no formula. It is simulated by *rehearsals*, whole releases with new noise on records that are not confidential:

    for each public distribution of records, r times:
        sample records; run all rounds with new noise; compare with these records

    expected error      mean over the r errors, with its standard error
    expected width      mean half width of the intervals at level 0.95

Distributions are reference distributions from the most to the least favourable, public records (for instance of an
earlier year), or a released curve. A `ForecastKind` defines for each type of question how its columns are filled, and
how error and width are measured.

Formal guarantees: nothing confidential is read, and no budget is spent.

>>> grids = [Grid(0, 1, cells=cells) for cells in (1024, 4096, 10**6)]
>>> [choose_rehearsals(curves.CdfQuestion("age", grid)) for grid in grids]  # simulated answers for each distribution
[20, 5, 4]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import inf, isnan, nan, prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import curves, display
from ..arguments import InvalidArgument, describe_value, require_integer, require_type
from ..arrays import FloatArray
from ..curves.question import parse_class_labels
from ..data import Categories, Grid, UnlistedCategories
from ..display import format_number, render_table_summary
from ..inference import public_generator
from ..models import NumericColumn
from ..privacy import Neighbours, PrivacyLoss
from . import rehearsals
from .filtered_rows import RowShare, count_rows, filter_public_records, parse_row_share, stand_for_filter
from .reference_distributions import (
    CLASS_SAMPLERS,
    EFFECT_SAMPLERS,
    FORECASTS,
    PAIR_SAMPLERS,
    POINT_SAMPLERS,
    RESIDUAL_SAMPLERS,
    VALUE_SAMPLERS,
    Bits,
    Hidden,
    distribution_from_curve,
    find_entry,
    import_forecast_modules,
    interpolate_grid,
)
from .rehearsals import Columns, Half, Traced, rehearse_answers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VALUE_PLACEHOLDER = "value"
"""Stands in an axis label for the name of the question's column."""
QUANTILE_LABEL = "a quantile, on average"
"""What the interval of a forecast of quantiles is of. Its width is in units of the column, although the error is a
share of the records, and so it is not written in percentage points."""
SECOND_CLASSES = {"neg_label": "pos_label", "censored_value": "event_value", "control_value": "treated_value"}
"""Fields of a question for the second class, by the field of the first one. If left out, forecasts fill in the other
one of 0 and 1."""


Table = dict[str, Any]


class ForecastKind(NamedTuple):
    """How questions of one type are simulated, and how the error of their results is measured.

    Attributes:
        distributions: Distributions of records by name, from the most to the least favourable. Each is a function of a
            generator and a number of records that returns draws, such as positions from 0 to 1.
        fill_columns: Function of the question and the draws; returns a table, arrays by column name.
        measure_error: Function of the question, the result and the made-up records (or the value of `compute_truth`);
            returns the error, from 0, in the unit that `error_label` names.
        error_label: Label of this error.
        half_width: Function of the result and whether the population is meant; returns half the width of its interval
            at level 0.95. None: the result has no interval.
        interval_label: Label of the interval.
        uninformative_width: Function of the question and the number of records; returns the half width from which an
            interval is uninformative.
        rehearsals: Default number of answers per distribution: more for single numbers, whose errors vary more.
        width_rehearsals: Number of these answers whose intervals are computed: widths vary little between answers.
        least_rehearsals: Default number of answers on any number of cells, at least; None: `width_rehearsals`.
        trace_curve: Function that returns the curve of an answer with its band or intervals at `LEVEL`; None: the
            forecast has no plot.
        axis_labels: Labels of both axes of the plot.
        is_joined: Whether points are joined to a curve.
        compute_truth: Function that computes the truth once per table, if it takes longer than an answer; the result is
            passed to `measure_error` instead of the records. None: the records are passed.
    """

    distributions: Mapping[str, Callable[[np.random.Generator, int], Any]]
    fill_columns: Callable[[Any, Any], Table]
    measure_error: Callable[[Any, Any, Any], float]
    error_label: str
    half_width: Half | None = None
    interval_label: str = ""
    uninformative_width: Callable[[Any, int], float] = lambda question, size: inf
    rehearsals: int = 20
    width_rehearsals: int = 4
    least_rehearsals: int | None = None
    trace_curve: Callable[[Any], Traced] | None = None
    axis_labels: tuple[str, str] = ("", "")
    is_joined: bool = True
    compute_truth: Callable[[Any, Columns], Any] | None = None


def _fill_grid_column(question: Any, places: FloatArray) -> Table:
    """Return the question's column, filled with values at positions from 0 to 1 along its grid.

    Args:
        question: Question with `column` and `grid`.
        places: Positions, (records,).
    """
    return {question.column: interpolate_grid(question.grid, places)}


def fill_class_columns(question: curves.RocQuestion, drawn: tuple[Bits, FloatArray]) -> Table:
    """Return columns of labels and of scores for a ROC question, from sampled classes and scores.

    Scores may have any range, because a ROC curve depends on their ranks alone.

    Args:
        question: The question, with its columns and classes.
        drawn: Classes, 0 or 1, and scores from 0 to 1.
    """
    bits, score = drawn
    return {
        **_fill_label_column(question, bits),
        require_column_name(question.score): interpolate_grid(question.grid, score),
    }


def _fill_probability_columns(question: Any, sample: tuple[Bits, FloatArray]) -> Table:
    """Return the columns of labels and of scores, which are probabilities.

    Args:
        question: Question with `label` and `score`.
        sample: Classes, 0 or 1, and scores from 0 to 1, (records,) each.

    Returns:
        Both columns by name.
    """
    bits, score = sample
    return {**_fill_label_column(question, bits), require_column_name(question.score): score}


def _fill_label_column(question: Any, bits: Bits) -> Table:
    """Return the column of labels: the question's negative class for 0, its positive class for 1.

    Args:
        question: Question with `label` and its two classes.
        bits: Classes, 0 or 1, (records,).
    """
    values = parse_class_labels(question.label, question.pos_label, question.neg_label).values
    return {question.label: np.array(values)[bits]}


def _fill_bounded_column(question: Any, places: FloatArray) -> Table:
    """Return the question's column, with values at positions from 0 to 1 between its bounds.

    A count has no bounds; any values serve there.

    Args:
        question: Question with `column`, and perhaps `lower` and `upper`.
        places: Positions, (records,).
    """
    bounds = Grid(getattr(question, "lower", 0.0), getattr(question, "upper", 1.0), cells=1)
    return {question.column: interpolate_grid(bounds, places)}


def _fill_category_columns(question: curves.ContingencyQuestion, samples: tuple[FloatArray, FloatArray]) -> Table:
    """Return both columns of a contingency table, with categories at positions from 0 to 1 in their lists.

    Args:
        question: Question with the columns `rows` and `columns`.
        samples: Positions in the list of each column, (records,) each.
    """
    sides = zip((question.rows, question.columns), samples, strict=True)
    return {side.column: _values_at_places(side, places) for side, places in sides}


def _fill_bar_column(question: curves.BarChartQuestion, places: FloatArray) -> Table:
    """Return the column of a bar chart, filled with the categories at positions from 0 to 1 in their list.

    Args:
        question: Question with the column `by`.
        places: Positions, (records,).
    """
    return {question.by.column: _values_at_places(question.by, places)}


def _fill_point_columns(question: curves.Histogram2DQuestion, sample: tuple[FloatArray, FloatArray]) -> Table:
    """Return both columns of a histogram in the plane, filled with values at positions from 0 to 1 along its grids.

    Args:
        question: Names both columns and their grids.
        sample: Positions from 0 to 1 along x and along y, (records,) each.
    """
    across, upwards = sample
    return {
        question.x: interpolate_grid(question.x_grid, across),
        question.y: interpolate_grid(question.y_grid, upwards),
    }


def _fill_residual_columns(question: curves.ResidualPlotQuestion, sample: tuple[FloatArray, FloatArray]) -> Table:
    """Return both columns of a residual plot: the sampled predictions and residuals, times the question's units.

    Args:
        question: Question with both columns and their units.
        sample: Predictions and residuals, (records,) each.
    """
    predicted, residual = sample
    return {
        require_column_name(question.predicted): predicted * question.unit_predicted,
        require_column_name(question.residual): residual * question.unit_residual,
    }


def _fill_unit_column(question: curves.BoundsQuestion, sample: tuple[FloatArray, FloatArray]) -> Table:
    """Return simulated values for a question that searches the bounds of a column, in multiples of the question's unit.

    Args:
        question: Question with the column and its unit.
        sample: Pairs of numbers, of which the second ones are used, (records,) each.
    """
    _, values = sample
    return {question.column: values * question.unit}


def _fill_unit_columns(question: curves.PlaneBoundsQuestion, samples: tuple[FloatArray, FloatArray]) -> Table:
    """Return both columns of a question about bounds in a plane: sampled numbers times each column's unit.

    Args:
        question: Question with both columns and their units.
        samples: Numbers for each column, (records,) each.
    """
    axes = question.x, question.y
    return {axis.column: values * axis.unit for axis, values in zip(axes, samples, strict=True)}


def _fill_regression_columns(question: curves.VerifyQuestion, effect_data: Hidden) -> Table:
    """Return independent predictors, and an outcome that depends on the claimed predictor with a given strength.

    Args:
        question: The claim about a regression coefficient.
        effect_data: Generator, number of records, and strength of the effect.
    """
    generator, size, effect = effect_data
    table = dict[str, Any]()
    shifts = np.zeros(size)
    outcome = question.outcome
    for column in question.columns:
        places = generator.random(size)
        table[column.column] = values = _values_at_places(column, places)
        if column.column == question.coefficient and isinstance(column, Categories):
            level = np.array(column.values)[-1] if question.level is None else question.level
            shifts = (values == level).astype(float)
        elif column.column == question.coefficient:
            shifts = places
    sign = 1.0 if question.above is not None else -1.0
    places = (
        generator.random(size)
        if effect == 0
        else 0.5 + effect * sign * (shifts - 0.5) / 2 + generator.normal(0, 0.2, size)
    )
    places = np.clip(places, 0.0, 1.0)
    if isinstance(outcome, NumericColumn):
        table[outcome.column] = _values_at_places(outcome, places)
    else:
        table[outcome.column] = np.array(outcome.values)[(generator.random(size) < places).astype(np.int64)]
    return table


def _values_at_places(column: NumericColumn | Categories, places: FloatArray) -> Any:
    """Return the values of a column at positions from 0 to 1: numbers between its bounds, or categories in its list.

    Args:
        column: Column with its bounds or its categories.
        places: Positions, (records,).

    Returns:
        Array of shape (records,).
    """
    if isinstance(column, NumericColumn):
        return column.lower + (column.upper - column.lower) * places
    return np.array(column.values)[np.minimum((places * column.slots).astype(np.int64), column.slots - 1)]


def require_column_name(column: Any) -> str:
    """Return the name of a column, after a check that it is not a model, whose outputs cannot be simulated.

    Args:
        column: Name of a column, or a model.

    Raises:
        ValueError: the column is a model.
    """
    if not isinstance(column, str):
        raise InvalidArgument(
            "question",
            "a forecast needs names of columns instead of a model; name the column of its scores;"
            f" got {describe_value(column)}",
        )
    return column


def quarter_of_shares(question: Any, size: int) -> float:
    """Return 0.25, the half width from which the interval of a share is uninformative: it spans half of all shares.

    Args:
        question: Not used.
        size: Not used.
    """
    return 0.25


def _quarter_of_records(question: Any, size: int) -> float:
    """Return a quarter of `size`, the half width from which the interval of a count is uninformative.

    Args:
        question: Not used.
        size: Number of records.
    """
    return size / 4


def _quarter_of_values(question: Any) -> float:
    """Return a quarter of the distance between the bounds, from which the interval of a value is uninformative.

    Args:
        question: Question with `lower` and `upper`.
    """
    return float(question.upper - question.lower) / 4


CORNER_ERROR_LABEL = "share of the records below and left of a corner of cells, mean error"
"""What the error of a forecast is of: histograms and residual plots of two columns."""
SHORTFALL_LABEL = "records that bounds cover fewer than asked, mean"
"""What the error of a forecast is of: private bounds."""
MISSED_LABEL = "the records that may be fewer"
"""What the interval of a forecast is of: private bounds."""
NUMBER_REHEARSALS = 200
"""Simulated answers from which the error of a single number is forecast by default: many, since it varies most from
answer to answer. More are more accurate and slower."""
AREA_REHEARSALS = 60
"""Simulated answers from which the error of an area under a curve, or of bounds, is forecast by default."""
SLOW_REHEARSALS = 16
"""Simulated answers of a forecast by default where one takes long, as of a histogram of two columns."""
WIDTH_REHEARSALS = 16
"""Simulated answers whose intervals are computed, too, to forecast their width: few, because widths vary little."""
MANY_CELLS = 1024
"""Cells above which a forecast by default has proportionally fewer simulated answers, on fewer tables: one on 10,000
cells takes .1 to .3 CPU seconds."""
MOST_CURVE_CELLS = 8192
"""Cells on which a distribution function is simulated; a finer grid is merged to so many, since cells are refined only
where records are. Three kinds of 10,000 records at epsilon 1 on 50,000 cells: errors differ by less than their standard
error, half widths by at most 6 %, and on 2,048 cells by up to 41 % of a narrow peak."""
UNINFORMATIVE_WIDTHS: Mapping[type[Any], Callable[[Any, int], float]] = {
    curves.CountQuestion: _quarter_of_records,
    curves.SumQuestion: lambda question, size: size * _quarter_of_values(question),
    curves.MeanQuestion: lambda question, size: _quarter_of_values(question),
    # The variance is largest if half of the records are at each bound.
    curves.VarianceQuestion: lambda question, size: _quarter_of_values(question) ** 2,
    curves.SummaryQuestion: lambda question, size: _quarter_of_values(question),
}
"""Half width from which a forecast calls the interval of a single number uninformative, by type of question: a function
of the question and the number of records."""


def _make_number_forecast(question_type: type[Any], uninformative_width: Callable[[Any, int], float]) -> ForecastKind:
    """Return the forecast of questions about one number between public bounds.

    Args:
        question_type: Type of the question; its labels name the statistic.
        uninformative_width: Function of a question and a number of records; returns the half width from which an
            interval is uninformative.
    """
    statistic = getattr(question_type, "STATISTIC", "count")
    return ForecastKind(
        distributions=VALUE_SAMPLERS,
        fill_columns=_fill_bounded_column,
        measure_error=rehearsals.number_error,
        error_label=f"{statistic}, mean error",
        half_width=rehearsals.number_half_width,
        interval_label=f"the {statistic}",
        uninformative_width=uninformative_width,
        rehearsals=NUMBER_REHEARSALS,
        width_rehearsals=WIDTH_REHEARSALS,
    )


GROUP_LABEL = "a group, on average"
"""What the interval of a forecast is of: groups of scores."""
AREA_ERROR_LABEL = "area under the curve, mean error"
"""What the error of a forecast is of: areas under curves."""
FORECAST_KINDS: Mapping[type[Any], ForecastKind] = MappingProxyType(
    {
        curves.CdfQuestion: ForecastKind(
            distributions=VALUE_SAMPLERS,
            fill_columns=_fill_grid_column,
            measure_error=rehearsals.cdf_error,
            error_label="share of the records below an edge, root mean square",
            half_width=lambda curve, population: float(rehearsals.band_half_widths(curve, population).max()),
            interval_label="the band, at its widest",
            uninformative_width=quarter_of_shares,
            trace_curve=rehearsals.trace_band,
            axis_labels=(VALUE_PLACEHOLDER, "share of records below"),
        ),
        curves.QuantilesQuestion: ForecastKind(
            distributions=VALUE_SAMPLERS,
            fill_columns=_fill_grid_column,
            measure_error=rehearsals.quantiles_error,
            error_label="share below a quantile, mean error",
            half_width=rehearsals.quantiles_half_width,
            interval_label=QUANTILE_LABEL,
            uninformative_width=lambda question, size: _quarter_of_values(question.grid),
        ),
        curves.HistogramQuestion: ForecastKind(
            distributions=VALUE_SAMPLERS,
            fill_columns=_fill_grid_column,
            measure_error=rehearsals.histogram_error,
            error_label="records in a cell, root mean square",
            half_width=rehearsals.histogram_half_width,
            interval_label="each cell, simultaneously",
            uninformative_width=_quarter_of_records,
            least_rehearsals=2,  # on 10,000 cells, errors and widths vary by less than 2 % between answers
            trace_curve=rehearsals.trace_histogram,
            axis_labels=(VALUE_PLACEHOLDER, "records in a cell"),
            is_joined=False,
        ),
        curves.BoundsQuestion: ForecastKind(
            distributions=RESIDUAL_SAMPLERS,
            fill_columns=_fill_unit_column,
            measure_error=rehearsals.bounds_error,
            error_label=SHORTFALL_LABEL,
            half_width=rehearsals.missed_records,
            interval_label=MISSED_LABEL,
            uninformative_width=_quarter_of_records,
            rehearsals=AREA_REHEARSALS,
            width_rehearsals=WIDTH_REHEARSALS,
        ),
        curves.PlaneBoundsQuestion: ForecastKind(
            distributions=RESIDUAL_SAMPLERS,
            fill_columns=_fill_unit_columns,
            measure_error=rehearsals.plane_bounds_error,
            error_label=SHORTFALL_LABEL,
            half_width=lambda bounds, population: (
                (rehearsals.missed_records(bounds.x, population) + rehearsals.missed_records(bounds.y, population)) / 2
            ),
            interval_label=MISSED_LABEL,
            uninformative_width=_quarter_of_records,
            rehearsals=AREA_REHEARSALS,
            width_rehearsals=WIDTH_REHEARSALS,
        ),
        curves.RocQuestion: ForecastKind(
            distributions=CLASS_SAMPLERS,
            fill_columns=fill_class_columns,
            measure_error=rehearsals.roc_error,
            error_label=AREA_ERROR_LABEL,
            half_width=lambda curve, population: rehearsals.mean_half_width(
                curve.auc_interval(rehearsals.LEVEL, population=population)
            ),
            interval_label="the area",
            uninformative_width=quarter_of_shares,
            rehearsals=AREA_REHEARSALS,
            trace_curve=rehearsals.trace_roc,
            axis_labels=("false positive rate", "true positive rate"),
        ),
        curves.ScoresQuestion: ForecastKind(
            distributions=CLASS_SAMPLERS,
            fill_columns=fill_class_columns,
            measure_error=rehearsals.scores_error,
            error_label=AREA_ERROR_LABEL,
            half_width=rehearsals.area_half_width,
            interval_label="the area",
            uninformative_width=quarter_of_shares,
            rehearsals=SLOW_REHEARSALS,
        ),
        curves.SmoothAucQuestion: ForecastKind(
            distributions=CLASS_SAMPLERS,
            fill_columns=fill_class_columns,
            measure_error=rehearsals.roc_error,
            error_label=AREA_ERROR_LABEL,
            rehearsals=AREA_REHEARSALS,
        ),
        curves.CalibrationQuestion: ForecastKind(
            distributions=CLASS_SAMPLERS,
            fill_columns=_fill_probability_columns,
            measure_error=rehearsals.calibration_error,
            error_label="share of positives of a group, mean error",
            half_width=rehearsals.interval_half_width,
            interval_label=GROUP_LABEL,
            uninformative_width=quarter_of_shares,
            trace_curve=rehearsals.trace_calibration,
            axis_labels=("mean score of a group", "share of positives"),
            is_joined=False,
        ),
        curves.HosmerLemeshowQuestion: ForecastKind(
            distributions=CLASS_SAMPLERS,
            fill_columns=_fill_probability_columns,
            measure_error=rehearsals.positives_error,
            error_label="positives of a group, mean error",
            half_width=rehearsals.interval_half_width,
            interval_label=GROUP_LABEL,
            uninformative_width=_quarter_of_records,
        ),
        curves.BinnedResidualsQuestion: ForecastKind(
            distributions=CLASS_SAMPLERS,
            fill_columns=_fill_probability_columns,
            measure_error=rehearsals.binned_residuals_error,
            error_label="mean residual of a bin, mean error",
            half_width=lambda curve, population: float(
                np.mean(curve.envelope_at(rehearsals.LEVEL))
            ),  # it covers sampling in any case
            interval_label="a bin, on average",
            uninformative_width=quarter_of_shares,
        ),
        curves.ContingencyQuestion: ForecastKind(
            distributions=PAIR_SAMPLERS,
            fill_columns=_fill_category_columns,
            measure_error=rehearsals.table_error,
            error_label="records of a pair, root mean square",
            half_width=rehearsals.interval_half_width,
            interval_label="each pair, simultaneously",
            uninformative_width=_quarter_of_records,
            rehearsals=40,
            width_rehearsals=WIDTH_REHEARSALS,
        ),
        curves.BarChartQuestion: ForecastKind(
            distributions=VALUE_SAMPLERS,
            fill_columns=_fill_bar_column,
            measure_error=rehearsals.bars_error,
            error_label="records of a category, root mean square",
            half_width=rehearsals.interval_half_width,
            interval_label="each category, simultaneously",
            uninformative_width=_quarter_of_records,
            trace_curve=rehearsals.trace_bars,
            axis_labels=("category, by its position", "records in a category"),
            is_joined=False,
        ),
        curves.VerifyQuestion: ForecastKind(
            distributions=EFFECT_SAMPLERS,
            fill_columns=_fill_regression_columns,
            measure_error=rehearsals.verification_error,
            error_label="share of subsets that confirm, mean error",
            half_width=rehearsals.interval_half_width,
            interval_label="the share",
            uninformative_width=quarter_of_shares,
            rehearsals=NUMBER_REHEARSALS,
            width_rehearsals=WIDTH_REHEARSALS,
            compute_truth=rehearsals.count_confirming_subsets,
        ),
        curves.Histogram2DQuestion: ForecastKind(
            distributions=POINT_SAMPLERS,
            fill_columns=_fill_point_columns,
            measure_error=rehearsals.plane_error,
            error_label=CORNER_ERROR_LABEL,
        ),
        curves.ResidualPlotQuestion: ForecastKind(
            distributions=RESIDUAL_SAMPLERS,
            fill_columns=_fill_residual_columns,
            measure_error=rehearsals.residual_plot_error,
            error_label=CORNER_ERROR_LABEL,
        ),
        **{
            question_type: _make_number_forecast(question_type, uninformative_width)
            for question_type, uninformative_width in UNINFORMATIVE_WIDTHS.items()
        },
    }
)
"""How questions are forecast, by type: the made-up records, the error and the interval. Other modules and packages have
tables `FORECASTS` for more types; a type in none of them is refused."""
BY_RULE = (
    "a forecast is made without by: leave it out, and forecast for the records of one category under add-remove, which "
    "is about what each category gets; under replace-one errors are about twice as large"
)
"""Rule in the error for a forecast of a question that divides records by categories."""


def find_forecast_kind(question: Any) -> ForecastKind:
    """Return the distributions and the error measure with which a question's type is forecast.

    Args:
        question: The question.

    Raises:
        ValueError: questions of this type cannot be forecast.
    """
    kind = FORECAST_KINDS.get(type(question)) or find_entry(type(question), FORECASTS)
    if kind is None:
        question_types = [
            *FORECAST_KINDS,
            *(question_type for module in import_forecast_modules() for question_type in getattr(module, FORECASTS)),
        ]
        names = ", ".join(question_type.__name__ for question_type in question_types)
        raise InvalidArgument(
            "question", f"only {names} can be forecast, got {describe_value(question)}; ask for one of these"
        )
    if isinstance(question, curves.BarChartQuestion):
        if isinstance(question.by, UnlistedCategories):
            raise InvalidArgument("question", "only listed categories can be forecast: list them")
    elif getattr(question, "by", None) is not None:
        raise InvalidArgument("question", BY_RULE)
    return kind


def require_picture(question: Any) -> None:
    """Reject a question whose forecast has no plot.

    Args:
        question: The question.

    Raises:
        ValueError: the forecast has no plot.
    """
    if find_forecast_kind(question).trace_curve is None:
        raise _no_picture_error()


def _no_picture_error() -> InvalidArgument:
    """Return the error that a forecast has no plot, with the types of questions that have one."""
    tables = [FORECAST_KINDS, *(getattr(module, FORECASTS) for module in import_forecast_modules())]
    names = [
        question_type.__name__
        for kinds in tables
        for question_type, kind in kinds.items()
        if kind.trace_curve is not None
    ]
    return InvalidArgument("plot", f"only forecasts of {', '.join(names)} have a picture; print this one with str()")


RecordDistribution = Callable[[np.random.Generator, int], Mapping[str, Any]]
"""Function that draws columns of a number of records."""
Progress = Callable[[int, int], object]
"""Function of the number of finished answers and of all answers."""
MOST_TABLES = 4
"""Tables that are made up for each distribution of records of a forecast, at most; each may be answered repeatedly,
because opening a table takes time."""
UNINFORMATIVE = (
    "the interval would be as wide as half of all that is possible, or wider, for all these records: a release would "
    "be uninformative"
)
"""Note of a forecast whose intervals are uninformative for all simulated distributions of the records."""
PARTLY_UNINFORMATIVE = "for {} the interval would be as wide as half of all that is possible, or wider"
"""Note of a forecast whose intervals are uninformative for some distributions, which the braces take."""
MOST_SIMULATED_RECORDS = 1_000_000
"""Records of a simulated table; for more, so many are simulated, since relative errors hardly change beyond."""
GIVEN_RECORDS = "the given records"
"""Name, in a forecast, of the distribution that is the caller's public records."""
LIKE_RULE = "columns of public records, a released curve, or a function of a generator and a number of records"
"""What the error about an argument ``like`` of another type says is needed."""


class ExpectedError(NamedTuple):
    """Expected errors of answers for records from one distribution.

    Attributes:
        distribution: Name of the distribution of records.
        error: Mean error over rehearsals; half the width of the interval for an answer that is unknown.
        standard_error: Standard error of `error`.
        half_width: Mean half width of the 95% interval for these records. NaN without an interval.
        population_half_width: Mean half width of the 95% interval for the population.
    """

    distribution: str
    error: float
    standard_error: float
    half_width: float = nan
    population_half_width: float = nan


class ExpectedCurve(NamedTuple):
    """The expected curve for records of one distribution, with its band or intervals: means over rehearsals.

    Attributes:
        x: Positions, of shape ``(points,)``.
        y: Heights, of the same shape.
        lower: Lower endpoints of the 95% band or intervals for these records, of the same shape.
        upper: Upper endpoints, of the same shape.
    """

    x: FloatArray
    y: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True)
class Forecast:
    """The expected error of an answer, for records of these distributions only.

    Attributes:
        error_label: The measure of error, in words.
        size: Number of records.
        rehearsals: Number of answers per distribution.
        expected_errors: The expected error for each distribution of records.
        interval_label: The interval whose half width is stated, in words; empty without an interval.
        uninformative_width: Half width from which an interval is uninformative.
        curves: The expected curve for each distribution of records; empty for questions without a curve.
        axis_labels: Labels of both axes of a picture.
        is_joined: Whether points of a picture are joined to a curve.
        total: Number of all records, if only `size` of them pass a filter; None: all do.
    """

    error_label: str
    size: int
    rehearsals: int
    expected_errors: tuple[ExpectedError, ...]
    interval_label: str = ""
    uninformative_width: float = inf
    curves: tuple[ExpectedCurve, ...] = field(default=(), compare=False, repr=False)
    axis_labels: tuple[str, str] = ("", "")
    is_joined: bool = True
    total: int | None = None

    @property
    def record_words(self) -> str:
        """The number of simulated records as text, such as "10 of 100 records" if a filter leaves some out.

        >>> Forecast("error", 10, 2, (), total=100).record_words
        '10 of 100 records'
        """
        return str(RowShare(self.size, self.total or self.size, self.total is not None))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes that name the distributions under which intervals would be uninformative.

        At most one note; empty if no interval is uninformative.
        """
        uninformative = [
            expected.distribution
            for expected in self.expected_errors
            if expected.half_width >= self.uninformative_width
        ]
        if len(uninformative) == len(self.expected_errors):
            return (UNINFORMATIVE,)
        return (PARTLY_UNINFORMATIVE.format(", ".join(uninformative)),) if uninformative else ()

    @property
    def low(self) -> float:
        """The expected error for the most favourable distribution of records."""
        return min(expected.error for expected in self.expected_errors)

    @property
    def high(self) -> float:
        """The expected error for the least favourable distribution of records."""
        return max(expected.error for expected in self.expected_errors)

    def describe(self) -> str:
        """Return one sentence: the half width of the 95% interval to expect, with its range over the distributions of
        records; without an interval, the error. Points are percentage points.

        >>> ranges = [ExpectedError(name, 0.01, 0.001, width, width) for name, width in (("a", 0.02), ("b", 0.04))]
        >>> print(Forecast("share below", 3000, 2, tuple(ranges), "the band").describe())
        95% band: about plus or minus 3 points (2 to 4 by the distribution of the records), for 3,000 records
        """
        widths = [expected.half_width for expected in self.expected_errors if not isnan(expected.half_width)]
        numbers = np.array(widths or [expected.error for expected in self.expected_errors])
        is_share = self.error_label.startswith("share") and not (widths and self.interval_label == QUANTILE_LABEL)
        middle, low, high = (
            format_number(float(f"{100**is_share * number:.2g}"))
            for number in (float(np.median(numbers)), float(numbers.min()), float(numbers.max()))
        )
        unit = " points" * is_share
        interval = self.interval_label.removeprefix("the ")
        interval = interval if interval.startswith("band") else f"interval of {self.interval_label}"
        of_interval = f"95% {interval}" if widths else f"error ({self.error_label})"
        by_distribution = "" if low == high else f" ({low} to {high} by the distribution of the records)"
        return f"{of_interval}: about plus or minus {middle}{unit}{by_distribution}, for {self.record_words}"

    def __repr__(self) -> str:
        """Return the sentence of `describe` in one line."""
        return f"Forecast({self.describe()})"

    def _repr_html_(self) -> str:
        """Return a summary for notebooks: the sentence, and a table with a row for each distribution of records."""
        columns: dict[str, list[str]] = {
            "records": [expected.distribution for expected in self.expected_errors],
            f"error: {self.error_label}": [format_number(expected.error) for expected in self.expected_errors],
        }
        widths = {
            "half width of the 95% interval": [expected.half_width for expected in self.expected_errors],
            "for the population": [expected.population_half_width for expected in self.expected_errors],
        }
        columns |= {
            name: [format_number(width) for width in numbers]
            for name, numbers in widths.items()
            if not all(map(isnan, numbers))
        }
        return render_table_summary(self.describe(), columns, self.notes)

    def __str__(self) -> str:
        """Return the title and one line per distribution of records."""
        lines = [self.title]
        for expected in self.expected_errors:
            error = format_number(expected.error)
            standard_error = format_number(expected.standard_error)
            line = f"  {expected.distribution}: {error} ± {standard_error}"
            if not np.isnan(expected.half_width):
                line += f"; 95% interval ± {format_number(expected.half_width)}"
            if not np.isnan(expected.population_half_width):
                line += f", for the population ± {format_number(expected.population_half_width)}"
            lines.append(line)
        if self.interval_label:
            lines.append(f"  the interval is that of {self.interval_label}")
        return "\n".join([*lines, *self.notes])

    def plot(self, distribution: str | None = None, *, ax: Axes | None = None, style: str | None = None) -> Axes:
        """Plot the expected curve for records of one distribution, in the band that a release would have.

        Args:
            distribution: Name of a distribution in `expected_errors`; None: the distribution with the widest interval.
            ax: Axes to plot on; None: new axes.
            style: ``"paper"``, ``"slides"`` or ``"dark"``; None: the style of matplotlib.

        Raises:
            ValueError: the question has no curve, or `distribution` or `style` is unknown.
        """
        if not self.curves:
            raise _no_picture_error()
        names = [expected.distribution for expected in self.expected_errors]
        if distribution is not None and distribution not in names:
            raise InvalidArgument(
                "distribution", f"must be one of {', '.join(names)}, got {describe_value(distribution)}"
            )
        widths = [expected.half_width for expected in self.expected_errors]
        index = int(np.argmax(widths)) if distribution is None else names.index(distribution)
        half_width = float(f"{widths[index]:.2g}")
        title = f"{names[index]}, {self.record_words}; {self.interval_label}: ± {half_width:,g}"
        band_label = "95% band for these records" if self.is_joined else "95% intervals for these records"
        options: dict[str, Any] = {
            "labels": self.axis_labels,
            "title": title,
            "is_curve": self.is_joined,
            "words": band_label,
        }
        with display.use_style(style, ax):
            return display.draw_forecast(*self.curves[index], ax=ax, **options)

    @property
    def title(self) -> str:
        """The title: the measure of error, and the numbers of records and rehearsals."""
        return f"{self.error_label}, for {self.record_words}, {self.rehearsals} rehearsals of each kind:"


def forecast(
    question: curves.Question[Any],
    loss: PrivacyLoss,
    adjacency: Neighbours,
    *,
    records: int | None = None,
    like: Mapping[str, Any] | RecordDistribution | object | None = None,
    share_of_rows: float | None = None,
    rehearsals: int | None = None,
    generator: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Forecast:
    """Forecast the error of an answer, and its interval, by simulation on public records.

    The error of a curve depends on the records, because later rounds depend on earlier answers. It is therefore
    simulated for records from several public distributions, from the most to the least favourable. It is sharper with
    information on the data: public records, for instance of an earlier year, a distribution, or a released curve.
    Nothing confidential is read, and no budget is spent.

    Formal guarantees: a function of public facts alone, and of a released curve if one is given (post-processing).

    Args:
        question: Any question about records, without `by`, about named columns.
        loss: The loss of the question.
        adjacency: Replace-one or add-remove.
        records: Number of simulated records: the public number of units, or a guess of it; at most a million are drawn.
        like: Information on the records. Public records as columns of arrays, which are used directly and not
            protected; or a function of a NumPy generator and a number of records that returns columns of arrays; or a
            released curve of the same columns, whose number of records is used without `records`. A `CDF` or
            `Histogram` serves for questions about one column; `Scores` or `ROC` for questions about scores and labels;
            `Survival`, `Contingency` and `Histogram2D` for their own questions.
        share_of_rows: Share of the records that pass the question's filter: a guess of yours. Needed with a filter,
            unless `like` has public records, on which the filter is evaluated.
        rehearsals: Number of simulations per distribution; at least 2. None: 16 to 200, more if they vary more, and
            down to 4 on more than 1,024 cells (2 of a histogram); with `like`, as many as for all simulated
            distributions together.
        generator: Random numbers for records and noise.
        progress: Function that is called with the number of finished answers and of all answers.

    Returns:
        Expected errors, from `low` to `high`, and half widths of the interval.

    Raises:
        ValueError: the question cannot be forecast, or `records`, `like` and `share_of_rows` do not fit each other.
        TypeError: `loss` is not a `PrivacyLoss`, or `adjacency` is not a kind of adjacency.

    >>> import dpcurves as dp
    >>> question, loss = dp.HistogramQuestion("age", dp.Grid(0, 100, cells=20)), dp.PrivacyLoss.pure("0.5")
    >>> found = dp.forecast(question, loss, dp.REPLACE_ONE, records=2000, rehearsals=3)
    >>> found.error_label, 1 < found.low < found.high < 9
    ('records in a cell, root mean square', True)
    """
    question = _name_second_classes(question)
    kind = find_forecast_kind(question)
    distribution_count = 1 if like is None else len(kind.distributions)
    count = require_integer(
        "rehearsals", rehearsals if rehearsals is not None else distribution_count * choose_rehearsals(question)
    )
    require_type("loss", loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(0.5),")
    require_type("adjacency", adjacency, Neighbours, "dp.REPLACE_ONE or dp.ADD_REMOVE")
    if count < 2:
        raise InvalidArgument("rehearsals", f"at least 2 simulated answers are needed, as in 100, got {count}")
    random = public_generator(generator)
    share = parse_row_share(question, like, share_of_rows)
    size, distributions = _choose_distributions(question, kind, records, like)
    size_passes = records is None and not isinstance(like, Mapping)
    rows = count_rows(size, share, size_passes=size_passes, most=MOST_SIMULATED_RECORDS)
    has_many_cells = count_cells(question) > MANY_CELLS
    question = _merge_cells(question)
    # On many cells, opening a table and finding a band take most of the time: two tables of each distribution, and half
    # as many intervals. The half width of one answer varies by up to a tenth.
    most_tables = 2 if has_many_cells else MOST_TABLES
    tables_per_distribution = 1 if isinstance(like, Mapping) else min(most_tables, count)
    width_answers = distribution_count * kind.width_rehearsals // (2 if has_many_cells else 1)
    expected = []
    traced = []
    for distribution_index, (name, distribution) in enumerate(distributions.items()):
        results = list[tuple[float, float, float]]()
        traces = list[Traced]()
        tables = [dict(distribution(random, rows.passing)) for _ in range(tables_per_distribution)]
        for number, drawn in enumerate(tables):
            _require_size(drawn)
            if isinstance(like, Mapping):
                table, passing = filter_public_records(question, drawn, loss, adjacency)
                rows = RowShare(_require_size(passing), size, bool(getattr(question, "where", None)))
            else:
                table = rows.add_failing_rows(drawn, adjacency) if rows.is_filtered else drawn
                passing = drawn
            truth = passing if kind.compute_truth is None else kind.compute_truth(question, passing)
            asked = question if isinstance(like, Mapping) else stand_for_filter(question, rows)
            answers = rehearse_answers(asked, table, loss, adjacency, int(random.integers(2**31)))
            for answer_index, curve in enumerate(islice(answers, len(range(number, count, tables_per_distribution)))):
                has_interval = kind.half_width is not None and answer_index < -(
                    -width_answers // tables_per_distribution
                )
                half_widths = (
                    (kind.half_width(curve, False), kind.half_width(curve, True))
                    if kind.half_width and has_interval
                    else (nan, nan)
                )
                results.append((kind.measure_error(question, curve, truth), *half_widths))
                if kind.trace_curve is not None and answer_index == 0:
                    traces.append(kind.trace_curve(curve))
                if progress is not None:
                    progress(distribution_index * count + len(results), count * len(distributions))
        expected.append(_summarise_errors(name, np.array(results)))
        traced += [_average_traces(traces)] if traces else []
    facts = (
        kind.error_label,
        rows.passing,
        count,
        tuple(expected),
        kind.interval_label,
        kind.uninformative_width(question, rows.passing),
    )
    x_label, y_label = kind.axis_labels
    labels = (str(getattr(question, "column", x_label)) if x_label == VALUE_PLACEHOLDER else x_label), y_label
    total = rows.total if rows.is_filtered else None
    return Forecast(*facts, curves=tuple(traced), axis_labels=labels, is_joined=kind.is_joined, total=total)


def choose_rehearsals(question: curves.Question[Any]) -> int:
    """Return the default number of simulated answers per distribution: fewer on many cells, where an answer takes long.

    Fewer rehearsals leave a larger standard error, which is reported with each expected error.

    Args:
        question: The question.

    >>> grids = [Grid(0, 1, cells=cells) for cells in (1024, 4096, 10**6)]
    >>> [choose_rehearsals(curves.CdfQuestion("age", grid)) for grid in grids]
    [20, 5, 4]
    >>> [choose_rehearsals(curves.HistogramQuestion("age", grid)) for grid in grids]
    [20, 5, 2]
    """
    kind = find_forecast_kind(question)
    least = kind.width_rehearsals if kind.least_rehearsals is None else kind.least_rehearsals
    return min(kind.rehearsals, max(kind.rehearsals * MANY_CELLS // count_cells(question), least))


def count_cells(question: curves.Question[Any]) -> int:
    """Return the number of cells of the question's grids; 1 without a grid.

    Args:
        question: The question.

    >>> count_cells(curves.CdfQuestion("age", Grid(0, 1, cells=4096))), count_cells(curves.CountQuestion())
    (4096, 1)
    """
    grids = [getattr(question, name, None) for name in ("grid", "x_grid", "y_grid")]
    return prod(grid.cells for grid in grids if isinstance(grid, Grid))


def _merge_cells(question: Any) -> Any:
    """Return a question about a distribution function on at most `MOST_CURVE_CELLS` cells: a finer grid is merged to
    cells of equal numbers. Other questions, and grids of declared values, are returned unchanged.

    Args:
        question: Any question.
    """
    grid = getattr(question, "grid", None)
    if not (isinstance(question, curves.CdfQuestion) and isinstance(grid, Grid)):
        return question
    if grid.cells <= MOST_CURVE_CELLS or grid.values is not None:
        return question
    edges = np.linspace(0, grid.cells, MOST_CURVE_CELLS + 1).round().astype(np.int64)
    return replace(question, grid=grid.merge_cells(edges.tolist()))


def _name_second_classes(question: Any) -> Any:
    """Return the question with its missing second class filled in, if the first class is the text ``0`` or ``1``.

    Args:
        question: The question.
    """
    usual = {"1": "0", "0": "1"}
    changes = {
        other: usual[getattr(question, first)]
        for other, first in SECOND_CLASSES.items()
        if getattr(question, other, "") is None and getattr(question, first) in usual
    }
    return replace(question, **changes) if changes else question


def _average_traces(traces: Sequence[Traced]) -> ExpectedCurve:
    """Return the average of simulated curves or intervals, over those with as many points as the first one.

    Args:
        traces: Positions, estimates and bounds of each simulated release.
    """
    same_length = [trace for trace in traces if len(trace[0]) == len(traces[0][0])]
    return ExpectedCurve(*(np.mean(column, axis=0) for column in zip(*same_length, strict=True)))


def _choose_distributions(
    question: Any, kind: ForecastKind, records: int | None, like: Any
) -> tuple[int, Mapping[str, RecordDistribution]]:
    """Return the number of records, and the distributions from which records are simulated, by name.

    Args:
        question: The question to forecast.
        kind: Its kind, with the default distributions.
        records: Number of records to simulate; None: the number of records of `like`.
        like: Public records (columns by name), a released curve, a function that draws records, or None for the default
            distributions.

    Returns:
        Number of records, at most `MOST_SIMULATED_RECORDS` unless public records are given; and functions of a random
        generator and a size that draw records, by a name for the report.

    Raises:
        InvalidArgument: `records` is missing or given twice.
    """
    if isinstance(like, Mapping):
        if records is not None:
            raise InvalidArgument(
                "records, like", "leave out records: like gives public records, and all of them are used"
            )
        return _require_size(like), {GIVEN_RECORDS: lambda draw, size: like}
    if like is None:
        if records is None:
            raise InvalidArgument(
                "records, like",
                "give records=N, the number of records to simulate, or like=, public records or a released curve",
            )
        simulated = {
            name: _build_distribution(question, kind, distribution) for name, distribution in kind.distributions.items()
        }
        return min(_require_positive(records), MOST_SIMULATED_RECORDS), simulated
    if callable(like):
        if records is None:
            raise InvalidArgument(
                "records, like", "give records=N, the number of records to draw from the distribution"
            )
        return min(_require_positive(records), MOST_SIMULATED_RECORDS), {"the given distribution": like}
    distribution, number = distribution_from_curve(question, like, LIKE_RULE)
    size = min(_require_positive(max(round(number), 1) if records is None else records), MOST_SIMULATED_RECORDS)
    return size, {f"the released {type(like).__name__}": distribution}


def _build_distribution(
    question: Any, kind: ForecastKind, distribution: Callable[[np.random.Generator, int], Any]
) -> RecordDistribution:
    """Return a function that draws the columns of a question from a distribution of positions.

    Args:
        question: The question.
        kind: How its columns are filled from the draws.
        distribution: Function of random numbers and a number of records that returns draws, one for each record.
    """
    return lambda draw, size: kind.fill_columns(question, distribution(draw, size))


def _summarise_errors(name: str, results: FloatArray) -> ExpectedError:
    """Return the mean and standard error of simulated errors (first column), and the mean half widths (others) where
    they were computed.

    Args:
        name: Name of the distribution of records.
        results: Row for each rehearsal, (rehearsals, 3): the error, then half widths for these records and for the
            population. Rows whose second entry is NaN have no half widths.

    Returns:
        The expected error; half widths are NaN if none was computed.
    """
    errors, half_widths = results[:, 0], results[~np.isnan(results[:, 1]), 1:]
    means = half_widths.mean(axis=0).tolist() if len(half_widths) else (nan, nan)
    return ExpectedError(name, float(errors.mean()), float(errors.std(ddof=1) / np.sqrt(len(errors))), *means)


def _require_size(table: Mapping[str, Any]) -> int:
    """Return the number of records of a table.

    Args:
        table: Columns by name.

    Raises:
        InvalidArgument: columns have different lengths or no records.
    """
    sizes = {len(column) if hasattr(column, "__len__") else 0 for column in table.values()}
    if len(sizes) != 1 or 0 in sizes:
        raise InvalidArgument(
            "like", "columns of equal length are needed, with at least one record, as in {'age': [41, 52]}"
        )
    return sizes.pop()


def _require_positive(records: int | None) -> int:
    """Return the number of records unchanged if it is a positive integer.

    Args:
        records: Number of records; None is refused, too.

    Raises:
        InvalidArgument: it is not.
    """
    number = require_integer("records", records)
    if number < 1:
        raise InvalidArgument("records", f"at least 1 record is needed, as in 10000, got {number}")
    return number
