"""Forecasts: the whole conversation of a question, with its noise, on public records, as often as is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf, nan
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import curves, display
from ..arguments import InvalidArgument, describe_value, require_integer, require_type
from ..arrays import FloatArray
from ..curves.question import parse_class_labels
from ..data import Categories, Grid
from ..display import format_number
from ..inference import public_generator
from ..models import NumericColumn
from ..privacy import Neighbours, PrivacyLoss
from . import true_readings as read
from .reference_laws import (
    CLASSES,
    EFFECTS,
    FORECASTS,
    PAIRS,
    PLACES,
    POINTS,
    RESIDUALS,
    Bits,
    Hidden,
    find_entry,
    import_forecast_modules,
    interpolate_grid,
    law_from_curve,
)
from .true_readings import Columns, Half, Traced, rehearse_answers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VALUE = "value"
"""The axis of a column, which has the column's name."""


Table = dict[str, Any]


class ForecastKind(NamedTuple):
    """A kind of question.

    Attributes:
        laws: What records may be like, by names.
        fill_columns: The columns of a question, made of what a law draws.
        measure_error: How far an answer is from what the records say.
        error_label: What that is.
        half_width: How far an interval of the answer reaches to a side; None: there is none.
        interval_label: Whose interval that is, in words.
        uninformative_width: From which half width on it says next to nothing, of a question and so many records.
        rehearsals: How often a kind of records is answered, unless somebody says: more often where a single number is
            told, whose error differs more from one answer to the next.
        width_rehearsals: The number of these answers whose intervals are computed: widths differ little from one to the next.
        trace_curve: The curve of an answer, and the ends of its band or intervals at `LEVEL`; None: no picture of a curve.
        axis_labels: The names of both axes of its picture.
        is_joined: Whether its points are joined to a curve.
        compute_truth: What records say, which takes longer than an answer: computed once a table, and passed to `measure_error` in the
            place of the records. None: `measure_error` is passed these.
    """

    laws: Mapping[str, Callable[[np.random.Generator, int], Any]]
    fill_columns: Callable[[Any, Any], Table]
    measure_error: Callable[[Any, Any, Any], float]
    error_label: str
    half_width: Half | None = None
    interval_label: str = ""
    uninformative_width: Callable[[Any, int], float] = lambda question, size: inf
    rehearsals: int = 20
    width_rehearsals: int = 4
    trace_curve: Callable[[Any], Traced] | None = None
    axis_labels: tuple[str, str] = ("", "")
    is_joined: bool = True
    compute_truth: Callable[[Any, Columns], Any] | None = None


def _fill_grid_column(question: Any, places: FloatArray) -> Table:
    return {question.column: interpolate_grid(question.grid, places)}


def fill_class_columns(question: curves.RocQuestion, drawn: tuple[Bits, FloatArray]) -> Table:
    """Scores of a ROC curve may be of any range: their ranks are all that it tells."""
    bits, score = drawn
    return {
        **_fill_label_column(question, bits),
        require_column_name(question.score): interpolate_grid(question.grid, score),
    }


def _fill_probability_columns(question: Any, drawn: tuple[Bits, FloatArray]) -> Table:
    bits, score = drawn
    return {**_fill_label_column(question, bits), require_column_name(question.score): score}


def _fill_label_column(question: Any, bits: Bits) -> Table:
    values = parse_class_labels(question.label, question.pos_label, question.neg_label).values
    return {question.label: np.array(values)[bits]}


def _fill_bounded_column(question: Any, places: FloatArray) -> Table:
    """Values between bounds; a count has none, and any value counts."""
    bounds = Grid(getattr(question, "lower", 0.0), getattr(question, "upper", 1.0), cells=1)
    return {question.column: interpolate_grid(bounds, places)}


def _fill_category_columns(question: curves.ContingencyQuestion, drawn: tuple[FloatArray, FloatArray]) -> Table:
    sides = zip((question.rows, question.columns), drawn, strict=True)
    return {side.column: _values_at_places(side, places) for side, places in sides}


def _fill_point_columns(question: curves.Histogram2DQuestion, drawn: tuple[FloatArray, FloatArray]) -> Table:
    across, upwards = drawn
    return {
        question.x: interpolate_grid(question.x_grid, across),
        question.y: interpolate_grid(question.y_grid, upwards),
    }


def _fill_residual_columns(question: curves.ResidualPlotQuestion, drawn: tuple[FloatArray, FloatArray]) -> Table:
    predicted, residual = drawn
    return {
        require_column_name(question.predicted): predicted * question.unit_predicted,
        require_column_name(question.residual): residual * question.unit_residual,
    }


def _fill_unit_column(question: curves.BoundsQuestion, drawn: tuple[FloatArray, FloatArray]) -> Table:
    _, values = drawn
    return {question.column: values * question.unit}


def _fill_unit_columns(question: curves.PlaneBoundsQuestion, drawn: tuple[FloatArray, FloatArray]) -> Table:
    both = question.x, question.y
    return {each.column: values * each.unit for each, values in zip(both, drawn, strict=True)}


def _fill_regression_columns(question: curves.VerifyQuestion, drawn: Hidden) -> Table:
    """Predictors that are independent, and an outcome that follows the claimed one as far as the effect says."""
    draw, size, effect = drawn
    table, pulled, outcome = dict[str, Any](), np.zeros(size), question.outcome
    for column in question.columns:
        places = draw.random(size)
        table[column.column] = found = _values_at_places(column, places)
        if column.column == question.coefficient and isinstance(column, Categories):
            level = np.array(column.values)[-1] if question.level is None else question.level
            pulled = (found == level).astype(float)
        elif column.column == question.coefficient:
            pulled = places
    sign = 1.0 if question.above is not None else -1.0
    places = draw.random(size) if effect == 0 else 0.5 + effect * sign * (pulled - 0.5) / 2 + draw.normal(0, 0.2, size)
    places = np.clip(places, 0.0, 1.0)
    if isinstance(outcome, NumericColumn):
        table[outcome.column] = _values_at_places(outcome, places)
    else:
        table[outcome.column] = np.array(outcome.values)[(draw.random(size) < places).astype(np.int64)]
    return table


def _values_at_places(column: NumericColumn | Categories, places: FloatArray) -> Any:
    if isinstance(column, NumericColumn):
        return column.lower + (column.upper - column.lower) * places
    return np.array(column.values)[np.minimum((places * column.slots).astype(np.int64), column.slots - 1)]


def require_column_name(column: Any) -> str:
    """The name of a column that is one: what a model works out is not made up."""
    if not isinstance(column, str):
        raise InvalidArgument(
            "question", f"a forecast needs names of columns, not a model; got {describe_value(column)}"
        )
    return column


def quarter_of_shares(question: Any, size: int) -> float:
    """A quarter of all that is possible: intervals of shares that are as wide as a half."""
    return 0.25


def _quarter_of_records(question: Any, size: int) -> float:
    return size / 4


def _quarter_of_values(question: Any) -> float:
    return float(question.upper - question.lower) / 4


CORNERS = "share of the records below and left of a corner of cells, mean error"
SHORT = "records that bounds cover fewer than asked, mean"
MISSED = "the records that may be fewer"
OF_ONE_NUMBER = 200
OF_ONE_AREA = 60
OF_SLOW = 16
MORE_WIDTHS = 16
NUMBERS: Mapping[type[Any], Callable[[Any, int], float]] = {
    curves.CountQuestion: _quarter_of_records,
    curves.SumQuestion: lambda question, size: size * _quarter_of_values(question),
    curves.MeanQuestion: lambda question, size: _quarter_of_values(question),
    # The largest variance is that of records at both bounds.
    curves.VarianceQuestion: lambda question, size: _quarter_of_values(question) ** 2,
    curves.SummaryQuestion: lambda question, size: _quarter_of_values(question),
}
EACH_GROUP = "a group, on average"
AREA = "area under the curve, mean error"
KINDS: Mapping[type[Any], ForecastKind] = MappingProxyType(
    {
        curves.CdfQuestion: ForecastKind(
            PLACES, _fill_grid_column, read.cdf_error, "share of the records below an edge, root mean square",
            lambda curve, population: float(read.band_half_widths(curve, population).max()), "the band, at its widest", quarter_of_shares,
            trace_curve=read.trace_band, axis_labels=(VALUE, "share of the records below"),
        ),
        curves.QuantilesQuestion: ForecastKind(
            PLACES, _fill_grid_column, read.quantiles_error, "share below a quantile, mean error",
            read.quantiles_half_width, "a quantile, on average", lambda question, size: _quarter_of_values(question.grid),
        ),
        curves.HistogramQuestion: ForecastKind(
            PLACES, _fill_grid_column, read.histogram_error, "records in a cell, root mean square",
            read.interval_half_width, "each cell, simultaneously", _quarter_of_records, trace_curve=read.trace_histogram,
            axis_labels=(VALUE, "records in a cell"), is_joined=False,
        ),
        curves.BoundsQuestion: ForecastKind(
            RESIDUALS, _fill_unit_column, read.bounds_error, SHORT, read.missed_records, MISSED, _quarter_of_records, OF_ONE_AREA,
            MORE_WIDTHS,
        ),
        curves.PlaneBoundsQuestion: ForecastKind(
            RESIDUALS, _fill_unit_columns, read.plane_bounds_error, SHORT,
            lambda both, whom: (read.missed_records(both.x, whom) + read.missed_records(both.y, whom)) / 2,
            MISSED, _quarter_of_records, OF_ONE_AREA, MORE_WIDTHS,
        ),
        curves.RocQuestion: ForecastKind(
            CLASSES, fill_class_columns, read.roc_error, AREA,
            lambda curve, population: read.mean_half_width(curve.auc_interval(read.LEVEL, population=population)),
            "the area", quarter_of_shares, OF_ONE_AREA, trace_curve=read.trace_roc,
            axis_labels=("false positive rate", "true positive rate"),
        ),
        curves.ScoresQuestion: ForecastKind(
            CLASSES, fill_class_columns, read.scores_error, AREA, read.area_half_width, "the area", quarter_of_shares, OF_SLOW
        ),
        curves.SmoothAucQuestion: ForecastKind(CLASSES, fill_class_columns, read.roc_error, AREA, rehearsals=OF_ONE_AREA),
        curves.CalibrationQuestion: ForecastKind(
            CLASSES, _fill_probability_columns, read.calibration_error, "share of positives of a group, mean error",
            read.interval_half_width, EACH_GROUP, quarter_of_shares, trace_curve=read.trace_calibration,
            axis_labels=("mean score of a group", "share of positives"), is_joined=False,
        ),
        curves.HosmerLemeshowQuestion: ForecastKind(
            CLASSES, _fill_probability_columns, read.positives_error, "positives of a group, mean error", read.interval_half_width, EACH_GROUP,
            _quarter_of_records,
        ),
        curves.BinnedResidualsQuestion: ForecastKind(
            CLASSES, _fill_probability_columns, read.binned_residuals_error, "mean residual of a bin, mean error",
            lambda curve, population: float(np.mean(curve.envelope_at(read.LEVEL))),  # it covers sampling in any case
            "a bin, on average", quarter_of_shares,
        ),
        curves.ContingencyQuestion: ForecastKind(
            PAIRS, _fill_category_columns, read.table_error, "records of a pair, root mean square",
            read.interval_half_width, "each pair, simultaneously", _quarter_of_records, 40, MORE_WIDTHS,
        ),
        curves.VerifyQuestion: ForecastKind(
            EFFECTS, _fill_regression_columns, read.verification_error, "share of subsets that confirm, mean error",
            read.interval_half_width, "the share", quarter_of_shares, OF_ONE_NUMBER, MORE_WIDTHS, compute_truth=read.count_confirming_subsets,
        ),
        curves.Histogram2DQuestion: ForecastKind(POINTS, _fill_point_columns, read.plane_error, CORNERS),
        curves.ResidualPlotQuestion: ForecastKind(RESIDUALS, _fill_residual_columns, read.residual_plot_error, CORNERS),
        **{
            each: ForecastKind(
                PLACES, _fill_bounded_column, read.number_error, f"{name}, mean error", read.number_half_width, f"the {name}", nothing,
                OF_ONE_NUMBER, MORE_WIDTHS,
            )
            for each, nothing in NUMBERS.items()
            for name in [getattr(each, "STATISTIC", "count")]
        },
    }
)  # fmt: skip
BY = (
    "a forecast is made without by: leave it out, and forecast for the records of one category under add-remove, which "
    "is about what each category gets; under replace-one errors are about twice as large"
)


def find_forecast_kind(question: Any) -> ForecastKind:
    """The kind of a question.

    Raises:
        ValueError: there is no forecast of it.
    """
    kind = KINDS.get(type(question)) or find_entry(type(question), FORECASTS)
    if kind is None:
        every = [*KINDS, *(each for place in import_forecast_modules() for each in getattr(place, FORECASTS))]
        said = ", ".join(each.__name__ for each in every)
        raise InvalidArgument("question", f"there is a forecast of {said}; got {describe_value(question)}")
    if getattr(question, "by", None) is not None:
        raise InvalidArgument("question", BY)
    return kind


def require_picture(question: Any) -> None:
    """Refuse a question of whose forecast there is no picture.

    Raises:
        ValueError: there is none.
    """
    if find_forecast_kind(question).trace_curve is None:
        raise _no_picture_error()


def _no_picture_error() -> InvalidArgument:
    every = [KINDS, *(getattr(place, FORECASTS) for place in import_forecast_modules())]
    drawn = [each.__name__ for kinds in every for each, kind in kinds.items() if kind.trace_curve is not None]
    return InvalidArgument("plot", f"there is a picture of forecasts of {', '.join(drawn)}")


Law = Callable[[np.random.Generator, int], Mapping[str, Any]]
"""Columns of so many records."""
Progress = Callable[[int, int], object]
"""Takes how many answers are done, and how many there will be."""
MOST_TABLES = 4
SAYS_NOTHING = (
    "the interval would be as wide as half of all that is possible, or wider, for all these records: a release would "
    "say next to nothing"
)
SOMETIMES_NOTHING = "for {} the interval would be as wide as half of all that is possible, or wider"
MOST_RECORDS = 1_000_000
"""More records are not made up: what is far off with so many is no further off with more."""
GIVEN = "the given records"
LIKE = "columns of public records, a released curve, or a function of a generator and a number of records"


class ExpectedError(NamedTuple):
    """Expected errors of answers for records of one kind.

    Attributes:
        distribution: What the records are like.
        error: The mean over rehearsals; in one whose number is not known, the error is half of its interval.
        standard_error: Its own, by the number of rehearsals.
        half_width: How far the 95% interval that is printed reaches to a side, for these records: the mean over
            rehearsals. NaN where there is none.
        population_half_width: Its half width for the population.
    """

    distribution: str
    error: float
    standard_error: float
    half_width: float = nan
    population_half_width: float = nan


class ExpectedCurve(NamedTuple):
    """The curve that is expected for records of one kind, and its band or intervals: means over rehearsals.

    Attributes:
        x: Places, of shape ``(points,)``.
        y: Heights, of the same shape.
        lower: Lower ends of the 95% band or intervals for these records, of the same shape.
        upper: Upper ends, of the same shape.
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
        size: The number of records.
        rehearsals: How often each was answered.
        expected_errors: The expected error for each distribution of records.
        interval_label: The interval whose half width is told, in words; empty where there is none.
        uninformative_width: The half width from which on an interval says next to nothing.
        curves: The expected curve for each distribution of records; none for questions without a curve.
        axis_labels: The names of both axes of a picture.
        is_joined: Whether points of a picture are joined to a curve.
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

    @property
    def notes(self) -> tuple[str, ...]:
        """A note where no curve of these records would tell more than none at all."""
        silent = [each.distribution for each in self.expected_errors if each.half_width >= self.uninformative_width]
        if len(silent) == len(self.expected_errors):
            return (SAYS_NOTHING,)
        return (SOMETIMES_NOTHING.format(", ".join(silent)),) if silent else ()

    @property
    def low(self) -> float:
        """The expected error for the most favourable distribution of records."""
        return min(each.error for each in self.expected_errors)

    @property
    def high(self) -> float:
        """The expected error for the least favourable distribution of records."""
        return max(each.error for each in self.expected_errors)

    def __str__(self) -> str:
        """A line for each kind of records, under what is told."""
        lines = [self.title]
        for each in self.expected_errors:
            told = f"  {each.distribution}: {format_number(each.error)} ± {format_number(each.standard_error)}"
            if not np.isnan(each.half_width):
                told += f"; 95% interval ± {format_number(each.half_width)}"
            if not np.isnan(each.population_half_width):
                told += f", for the population ± {format_number(each.population_half_width)}"
            lines.append(told)
        if self.interval_label:
            lines.append(f"  the interval is that of {self.interval_label}")
        return "\n".join([*lines, *self.notes])

    def plot(self, distribution: str | None = None, *, ax: Axes | None = None, style: str | None = None) -> Axes:
        """Draw the expected curve of records of one kind, in the band that a release would print.

        Args:
            distribution: What the records are like, by a name in `expected_errors`; None: the kind whose interval is the widest.
            ax: The axes to draw on; None: on a new figure.
            style: ``"paper"``, ``"slides"`` or ``"dark"``; None: as matplotlib is set.

        Raises:
            ValueError: there is no curve of this question, no such kind of records, or no such style.
        """
        if not self.curves:
            raise _no_picture_error()
        names = [each.distribution for each in self.expected_errors]
        if distribution is not None and distribution not in names:
            raise InvalidArgument(
                "distribution", f"one of {', '.join(names)} is needed, got {describe_value(distribution)}"
            )
        widths = [each.half_width for each in self.expected_errors]
        place = int(np.argmax(widths)) if distribution is None else names.index(distribution)
        known = f"{names[place]}, {self.size:,} records; {self.interval_label}: ± {float(f'{widths[place]:.2g}'):,g}"
        words = "95% band for these records" if self.is_joined else "95% intervals for these records"
        how: dict[str, Any] = {"labels": self.axis_labels, "title": known, "joined": self.is_joined, "words": words}
        with display.use_style(style, ax):
            return display.draw_forecast(*self.curves[place], ax=ax, **how)

    @property
    def title(self) -> str:
        """The title: the kind of question, and the number of records."""
        return f"{self.error_label}, for {self.size:,} records, {self.rehearsals} rehearsals of each kind:"


def forecast(
    question: curves.Question[Any],
    loss: PrivacyLoss,
    adjacency: Neighbours,
    *,
    records: int | None = None,
    like: Mapping[str, Any] | Law | object | None = None,
    rehearsals: int | None = None,
    generator: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Forecast:
    """Forecast the error of an answer, and the interval that will be printed: by simulation on public records.

    The error of a curve depends on the records, because later turns depend on earlier answers. It is therefore
    simulated for records drawn from several public distributions, from the most to the least favourable. It is sharper
    where one says what the data are like: by public records, such as those of an earlier year, by a law, or by a curve
    that was released before. Nothing confidential is opened, and nothing is spent.

    Formal guarantees: a function of public facts alone, and of a released curve if one is given (post-processing).

    Args:
        question: Any question about records, without `by` and of columns that have names.
        loss: What it may lose.
        adjacency: Replace-one or add-remove.
        records: How many records to draw: the public number of units, or a guess of it; at most a million are drawn.
        like: What records are like. Public records as columns of arrays, which are used as they are, and are not
            protected; or a function of a NumPy generator and a number of records, which returns such columns; or a
            released curve of the same columns, whose number of records is used where `records` is left out. A `CDF` or
            `Histogram` serves for questions about one column; `Scores` or `ROC` for those about scores and labels;
            `Survival`, `Contingency` and `Histogram2D` for their own.
        rehearsals: The number of simulations for each distribution; at least 2. None: 16 to 200, more where they vary
            more; with `like`, as many as all made-up distributions together have.
        generator: The random numbers for records and noise.
        progress: A function that is told how many answers are done, and how many there will be.

    Returns:
        Expected errors, from `low` to `high`, and half widths of the interval that will be printed.

    Raises:
        ValueError: there is no forecast of this question; or `records` and `like` do not fit each other.
        TypeError: `loss` is no `PrivacyLoss`, or `adjacency` no adjacency.

    >>> import dpcurves as dp
    >>> question, loss = dp.HistogramQuestion("age", dp.Grid(0, 100, cells=20)), dp.PrivacyLoss.pure("0.5")
    >>> found = dp.forecast(question, loss, dp.REPLACE_ONE, records=2000, rehearsals=3)
    >>> found.error_label, 1 < found.low < found.high < 9
    ('records in a cell, root mean square', True)
    """
    kind = find_forecast_kind(question)
    alone = 1 if like is None else len(kind.laws)
    times = require_integer("rehearsals", rehearsals if rehearsals is not None else alone * kind.rehearsals)
    require_type("loss", loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(0.5),")
    require_type("adjacency", adjacency, Neighbours, "dp.REPLACE_ONE or dp.ADD_REMOVE")
    if times < 2:
        raise InvalidArgument("rehearsals", f"at least 2 are needed, got {times}")
    draw = public_generator(generator)
    size, laws = _choose_laws(question, kind, records, like)
    most = 1 if isinstance(like, Mapping) else min(MOST_TABLES, times)
    expected, traced = [], []
    for before, (name, law) in enumerate(laws.items()):
        told = list[tuple[float, float, float]]()
        traces = list[Traced]()
        tables = [dict(law(draw, size)) for _ in range(most)]
        for number, table in enumerate(tables):
            _require_size(table)
            truth = table if kind.compute_truth is None else kind.compute_truth(question, table)
            answered = rehearse_answers(question, table, loss, adjacency, int(draw.integers(2**31)))
            for place, curve in enumerate(islice(answered, len(range(number, times, most)))):
                known = kind.half_width is not None and place < -(-alone * kind.width_rehearsals // most)
                halves = (
                    (kind.half_width(curve, False), kind.half_width(curve, True))
                    if kind.half_width and known
                    else (nan, nan)
                )
                told.append((kind.measure_error(question, curve, truth), *halves))
                if kind.trace_curve is not None and place == 0:
                    traces.append(kind.trace_curve(curve))
                if progress is not None:
                    progress(before * times + len(told), times * len(laws))
        expected.append(_summarise_errors(name, np.array(told)))
        traced += [_average_traces(traces)] if traces else []
    facts = (
        kind.error_label,
        size,
        times,
        tuple(expected),
        kind.interval_label,
        kind.uninformative_width(question, size),
    )
    across, upwards = kind.axis_labels
    labels = (str(getattr(question, "column", across)) if across == VALUE else across), upwards
    return Forecast(*facts, curves=tuple(traced), axis_labels=labels, is_joined=kind.is_joined)


def _average_traces(traces: Sequence[Traced]) -> ExpectedCurve:
    """Their means; of curves with another number of points, the first alone says how many there are."""
    alike = [each for each in traces if len(each[0]) == len(traces[0][0])]
    return ExpectedCurve(*(np.mean(column, axis=0) for column in zip(*alike, strict=True)))


def _choose_laws(question: Any, kind: ForecastKind, records: int | None, like: Any) -> tuple[int, Mapping[str, Law]]:
    """The number of records, and what they are like, by names."""
    if isinstance(like, Mapping):
        if records is not None:
            raise InvalidArgument("records, like", "public records are used as they are; leave out their number")
        return _require_size(like), {GIVEN: lambda draw, size: like}
    if like is None:
        if records is None:
            raise InvalidArgument("records, like", "say how many records to simulate, or what they are like")
        made_up = {name: _build_law(question, kind, law) for name, law in kind.laws.items()}
        return min(_require_positive(records), MOST_RECORDS), made_up
    if callable(like):
        if records is None:
            raise InvalidArgument("records, like", "records of a law are drawn: say how many")
        return min(_require_positive(records), MOST_RECORDS), {"the given law": like}
    law, number = law_from_curve(question, like, LIKE)
    size = min(_require_positive(max(round(number), 1) if records is None else records), MOST_RECORDS)
    return size, {f"the released {type(like).__name__}": law}


def _build_law(question: Any, kind: ForecastKind, law: Callable[[np.random.Generator, int], Any]) -> Law:
    return lambda draw, size: kind.fill_columns(question, law(draw, size))


def _summarise_errors(name: str, told: FloatArray) -> ExpectedError:
    errors, known = told[:, 0], told[~np.isnan(told[:, 1]), 1:]
    halves = known.mean(axis=0).tolist() if len(known) else (nan, nan)
    return ExpectedError(name, float(errors.mean()), float(errors.std(ddof=1) / np.sqrt(len(errors))), *halves)


def _require_size(table: Mapping[str, Any]) -> int:
    if not table or not all(len(each) == len(next(iter(table.values()))) > 0 for each in table.values()):
        raise InvalidArgument("like", "columns of one length, with at least one record, are needed")
    return len(next(iter(table.values())))


def _require_positive(records: int | None) -> int:
    number = require_integer("records", records)
    if number < 1:
        raise InvalidArgument("records", f"at least 1 is needed, got {number}")
    return number
