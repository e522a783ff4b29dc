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
from ..arguments import Refused, require_kind, shown, whole
from ..arrays import FloatArray
from ..curves.question import labels
from ..data import Categories, Grid
from ..display import numeral
from ..inference import public_generator
from ..models import Ranged
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
    along,
    beside,
    law_of,
    places_beside,
)
from .true_readings import Columns, Half, Traced, answers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VALUE = "value"
"""The axis of a column, which has the column's name."""


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
        traced: The curve of an answer, and the ends of its band or intervals at `LEVEL`; None: no picture of a curve.
        labels: The names of both axes of its picture.
        joined: Whether its points are joined to a curve.
        truth: What records say, which takes longer than an answer: computed once a table, and passed to `error` in the
            place of the records. None: `error` is passed these.
    """

    laws: Mapping[str, Callable[[np.random.Generator, int], Any]]
    columns: Callable[[Any, Any], Table]
    error: Callable[[Any, Any, Any], float]
    words: str
    half: Half | None = None
    width: str = ""
    nothing: Callable[[Any, int], float] = lambda question, size: inf
    rehearsals: int = 20
    widths: int = 4
    traced: Callable[[Any], Traced] | None = None
    labels: tuple[str, str] = ("", "")
    joined: bool = True
    truth: Callable[[Any, Columns], Any] | None = None


def _numbers(question: Any, places: FloatArray) -> Table:
    return {question.column: along(question.grid, places)}


def classes_and_scores(question: curves.RocQuestion, drawn: tuple[Bits, FloatArray]) -> Table:
    """Scores of a ROC curve may be of any range: their ranks are all that it tells."""
    bits, score = drawn
    return {**_labels(question, bits), named_column(question.score): along(question.grid, score)}


def _chances(question: Any, drawn: tuple[Bits, FloatArray]) -> Table:
    bits, score = drawn
    return {**_labels(question, bits), named_column(question.score): score}


def _labels(question: Any, bits: Bits) -> Table:
    values = labels(question.label, question.pos_label, question.neg_label).values
    return {question.label: np.array(values)[bits]}


def _values(question: Any, places: FloatArray) -> Table:
    """Values between bounds; a count has none, and any value counts."""
    bounds = Grid(getattr(question, "lower", 0.0), getattr(question, "upper", 1.0), cells=1)
    return {question.column: along(bounds, places)}


def _crossed(question: curves.ContingencyQuestion, drawn: tuple[FloatArray, FloatArray]) -> Table:
    sides = zip((question.rows, question.columns), drawn, strict=True)
    return {side.column: _valued(side, places) for side, places in sides}


def _points(question: curves.Histogram2DQuestion, drawn: tuple[FloatArray, FloatArray]) -> Table:
    across, upwards = drawn
    return {question.x: along(question.x_grid, across), question.y: along(question.y_grid, upwards)}


def _residuals(question: curves.ResidualPlotQuestion, drawn: tuple[FloatArray, FloatArray]) -> Table:
    predicted, residual = drawn
    return {
        named_column(question.predicted): predicted * question.unit_predicted,
        named_column(question.residual): residual * question.unit_residual,
    }


def _in_units(question: curves.BoundsQuestion, drawn: tuple[FloatArray, FloatArray]) -> Table:
    _, values = drawn
    return {question.column: values * question.unit}


def _in_units_of_both(question: curves.PlaneBoundsQuestion, drawn: tuple[FloatArray, FloatArray]) -> Table:
    both = question.across, question.upwards
    return {each.column: values * each.unit for each, values in zip(both, drawn, strict=True)}


def _with_effect(question: curves.VerifyQuestion, drawn: Hidden) -> Table:
    """Predictors that are independent, and an outcome that follows the claimed one as far as the effect says."""
    draw, size, effect = drawn
    table, pulled, outcome = dict[str, Any](), np.zeros(size), question.outcome
    for column in question.columns:
        places = draw.random(size)
        table[column.column] = found = _valued(column, places)
        if column.column == question.coefficient and isinstance(column, Categories):
            level = np.array(column.values)[-1] if question.level is None else question.level
            pulled = (found == level).astype(float)
        elif column.column == question.coefficient:
            pulled = places
    sign = 1.0 if question.above is not None else -1.0
    places = draw.random(size) if effect == 0 else 0.5 + effect * sign * (pulled - 0.5) / 2 + draw.normal(0, 0.2, size)
    places = np.clip(places, 0.0, 1.0)
    if isinstance(outcome, Ranged):
        table[outcome.column] = _valued(outcome, places)
    else:
        table[outcome.column] = np.array(outcome.values)[(draw.random(size) < places).astype(np.int64)]
    return table


def _valued(column: Ranged | Categories, places: FloatArray) -> Any:
    if isinstance(column, Ranged):
        return column.lower + (column.upper - column.lower) * places
    return np.array(column.values)[np.minimum((places * column.slots).astype(np.int64), column.slots - 1)]


def named_column(column: Any) -> str:
    """The name of a column that is one: what a model works out is not made up."""
    if not isinstance(column, str):
        raise Refused("question", f"a forecast needs names of columns, not a model; got {shown(column)}")
    return column


def quarter(question: Any, size: int) -> float:
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
            PLACES, _numbers, read.of_cdf, "share of the records below an edge, root mean square",
            lambda curve, population: float(read.band_of(curve, population).max()), "the band, at its widest", quarter,
            traced=read.traced_band, labels=(VALUE, "share of the records below"),
        ),
        curves.QuantilesQuestion: ForecastKind(
            PLACES, _numbers, read.of_quantiles, "share below a quantile, mean error",
            read.half_of_quantiles, "a quantile, on average", lambda question, size: _quarter_of_values(question.grid),
        ),
        curves.HistogramQuestion: ForecastKind(
            PLACES, _numbers, read.of_histogram, "records in a cell, root mean square",
            read.half_of_each, "each cell, simultaneously", _quarter_of_records, traced=read.traced_histogram,
            labels=(VALUE, "records in a cell"), joined=False,
        ),
        curves.BoundsQuestion: ForecastKind(
            RESIDUALS, _in_units, read.of_bounds, SHORT, read.missed, MISSED, _quarter_of_records, OF_ONE_AREA,
            MORE_WIDTHS,
        ),
        curves.PlaneBoundsQuestion: ForecastKind(
            RESIDUALS, _in_units_of_both, read.of_plane_bounds, SHORT,
            lambda both, whom: (read.missed(both.across, whom) + read.missed(both.upwards, whom)) / 2,
            MISSED, _quarter_of_records, OF_ONE_AREA, MORE_WIDTHS,
        ),
        curves.RocQuestion: ForecastKind(
            CLASSES, classes_and_scores, read.of_roc, AREA,
            lambda curve, population: read.half(curve.auc_interval(read.LEVEL, population=population)),
            "the area", quarter, OF_ONE_AREA, traced=read.traced_roc,
            labels=("false positive rate", "true positive rate"),
        ),
        curves.ScoresQuestion: ForecastKind(
            CLASSES, classes_and_scores, read.of_scores, AREA, read.half_of_scores, "the area", quarter, OF_SLOW
        ),
        curves.SmoothAucQuestion: ForecastKind(CLASSES, classes_and_scores, read.of_roc, AREA, rehearsals=OF_ONE_AREA),
        curves.CalibrationQuestion: ForecastKind(
            CLASSES, _chances, read.of_calibration, "share of positives of a group, mean error",
            read.half_of_each, EACH_GROUP, quarter, traced=read.traced_calibration,
            labels=("mean score of a group", "share of positives"), joined=False,
        ),
        curves.HosmerLemeshowQuestion: ForecastKind(
            CLASSES, _chances, read.of_positives, "positives of a group, mean error", read.half_of_each, EACH_GROUP,
            _quarter_of_records,
        ),
        curves.BinnedResidualsQuestion: ForecastKind(
            CLASSES, _chances, read.of_binned_residuals, "mean residual of a bin, mean error",
            lambda curve, population: float(np.mean(curve.envelope_at(read.LEVEL))),  # it covers sampling in any case
            "a bin, on average", quarter,
        ),
        curves.ContingencyQuestion: ForecastKind(
            PAIRS, _crossed, read.of_table, "records of a pair, root mean square",
            read.half_of_each, "each pair, simultaneously", _quarter_of_records, 40, MORE_WIDTHS,
        ),
        curves.VerifyQuestion: ForecastKind(
            EFFECTS, _with_effect, read.of_verification, "share of subsets that confirm, mean error",
            read.half_of_each, "the share", quarter, OF_ONE_NUMBER, MORE_WIDTHS, truth=read.confirmed,
        ),
        curves.Histogram2DQuestion: ForecastKind(POINTS, _points, read.of_plane, CORNERS),
        curves.ResidualPlotQuestion: ForecastKind(RESIDUALS, _residuals, read.of_residual_plot, CORNERS),
        **{
            each: ForecastKind(
                PLACES, _values, read.of_number, f"{name}, mean error", read.half_of_number, f"the {name}", nothing,
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


def kind_of(question: Any) -> ForecastKind:
    """The kind of a question.

    Raises:
        ValueError: there is no forecast of it.
    """
    kind = KINDS.get(type(question)) or beside(type(question), FORECASTS)
    if kind is None:
        every = [*KINDS, *(each for place in places_beside() for each in getattr(place, FORECASTS))]
        said = ", ".join(each.__name__ for each in every)
        raise Refused("question", f"there is a forecast of {said}; got {shown(question)}")
    if getattr(question, "by", None) is not None:
        raise Refused("question", BY)
    return kind


def require_picture(question: Any) -> None:
    """Refuse a question of whose forecast there is no picture.

    Raises:
        ValueError: there is none.
    """
    if kind_of(question).traced is None:
        raise _no_picture()


def _no_picture() -> Refused:
    every = [KINDS, *(getattr(place, FORECASTS) for place in places_beside())]
    drawn = [each.__name__ for kinds in every for each, kind in kinds.items() if kind.traced is not None]
    return Refused("plot", f"there is a picture of forecasts of {', '.join(drawn)}")


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


class Expected(NamedTuple):
    """Expected errors of answers for records of one kind.

    Attributes:
        records: What the records are like.
        error: The mean over rehearsals; in one whose number is not known, the error is half of its interval.
        standard_error: Its own, by the number of rehearsals.
        half_width: How far the 95% interval that is printed reaches to a side, for these records: the mean over
            rehearsals. NaN where there is none.
        population: Its half width for the population.
    """

    records: str
    error: float
    standard_error: float
    half_width: float = nan
    population: float = nan


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
        words: The measure of error, in words.
        size: The number of records.
        rehearsals: How often each was answered.
        expected: The expected error for each distribution of records.
        interval: The interval whose half width is told, in words; empty where there is none.
        nothing: The half width from which on an interval says next to nothing.
        curves: The expected curve for each distribution of records; none for questions without a curve.
        labels: The names of both axes of a picture.
        joined: Whether points of a picture are joined to a curve.
    """

    words: str
    size: int
    rehearsals: int
    expected: tuple[Expected, ...]
    interval: str = ""
    nothing: float = inf
    curves: tuple[ExpectedCurve, ...] = field(default=(), compare=False, repr=False)
    labels: tuple[str, str] = ("", "")
    joined: bool = True

    @property
    def notes(self) -> tuple[str, ...]:
        """A note where no curve of these records would tell more than none at all."""
        silent = [each.records for each in self.expected if each.half_width >= self.nothing]
        if len(silent) == len(self.expected):
            return (SAYS_NOTHING,)
        return (SOMETIMES_NOTHING.format(", ".join(silent)),) if silent else ()

    @property
    def low(self) -> float:
        """The expected error for the most favourable distribution of records."""
        return min(each.error for each in self.expected)

    @property
    def high(self) -> float:
        """The expected error for the least favourable distribution of records."""
        return max(each.error for each in self.expected)

    def __str__(self) -> str:
        """A line for each kind of records, under what is told."""
        lines = [self.title]
        for each in self.expected:
            told = f"  {each.records}: {numeral(each.error)} ± {numeral(each.standard_error)}"
            if not np.isnan(each.half_width):
                told += f"; 95% interval ± {numeral(each.half_width)}"
            if not np.isnan(each.population):
                told += f", for the population ± {numeral(each.population)}"
            lines.append(told)
        if self.interval:
            lines.append(f"  the interval is that of {self.interval}")
        return "\n".join([*lines, *self.notes])

    def plot(self, records: str | None = None, *, ax: Axes | None = None, style: str | None = None) -> Axes:
        """Draw the expected curve of records of one kind, in the band that a release would print.

        Args:
            records: What the records are like, by a name in `expected`; None: the kind whose interval is the widest.
            ax: The axes to draw on; None: on a new figure.
            style: ``"paper"``, ``"slides"`` or ``"dark"``; None: as matplotlib is set.

        Raises:
            ValueError: there is no curve of this question, no such kind of records, or no such style.
        """
        if not self.curves:
            raise _no_picture()
        names = [each.records for each in self.expected]
        if records is not None and records not in names:
            raise Refused("records", f"one of {', '.join(names)} is needed, got {shown(records)}")
        widths = [each.half_width for each in self.expected]
        place = int(np.argmax(widths)) if records is None else names.index(records)
        known = f"{names[place]}, {self.size:,} records; {self.interval}: ± {float(f'{widths[place]:.2g}'):,g}"
        words = "95% band for these records" if self.joined else "95% intervals for these records"
        how: dict[str, Any] = {"labels": self.labels, "title": known, "joined": self.joined, "words": words}
        with display.styled(style, ax):
            return display.draw_forecast(*self.curves[place], ax=ax, **how)

    @property
    def title(self) -> str:
        """The title: the kind of question, and the number of records."""
        return f"{self.words}, for {self.size:,} records, {self.rehearsals} rehearsals of each kind:"


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
    >>> found.words, 1 < found.low < found.high < 9
    ('records in a cell, root mean square', True)
    """
    kind = kind_of(question)
    alone = 1 if like is None else len(kind.laws)
    times = whole("rehearsals", rehearsals if rehearsals is not None else alone * kind.rehearsals)
    require_kind("loss", loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(0.5),")
    require_kind("adjacency", adjacency, Neighbours, "dp.REPLACE_ONE or dp.ADD_REMOVE")
    if times < 2:
        raise Refused("rehearsals", f"at least 2 are needed, got {times}")
    draw = public_generator(generator)
    size, laws = _laws(question, kind, records, like)
    most = 1 if isinstance(like, Mapping) else min(MOST_TABLES, times)
    expected, traced = [], []
    for before, (name, law) in enumerate(laws.items()):
        told = list[tuple[float, float, float]]()
        traces = list[Traced]()
        tables = [dict(law(draw, size)) for _ in range(most)]
        for number, table in enumerate(tables):
            _size(table)
            truth = table if kind.truth is None else kind.truth(question, table)
            answered = answers(question, table, loss, adjacency, int(draw.integers(2**31)))
            for place, curve in enumerate(islice(answered, len(range(number, times, most)))):
                known = kind.half is not None and place < -(-alone * kind.widths // most)
                halves = (kind.half(curve, False), kind.half(curve, True)) if kind.half and known else (nan, nan)
                told.append((kind.error(question, curve, truth), *halves))
                if kind.traced is not None and place == 0:
                    traces.append(kind.traced(curve))
                if progress is not None:
                    progress(before * times + len(told), times * len(laws))
        expected.append(_expected(name, np.array(told)))
        traced += [_averaged(traces)] if traces else []
    facts = kind.words, size, times, tuple(expected), kind.width, kind.nothing(question, size)
    across, upwards = kind.labels
    labels = (str(getattr(question, "column", across)) if across == VALUE else across), upwards
    return Forecast(*facts, curves=tuple(traced), labels=labels, joined=kind.joined)


def _averaged(traces: Sequence[Traced]) -> ExpectedCurve:
    """Their means; of curves with another number of points, the first alone says how many there are."""
    alike = [each for each in traces if len(each[0]) == len(traces[0][0])]
    return ExpectedCurve(*(np.mean(column, axis=0) for column in zip(*alike, strict=True)))


def _laws(question: Any, kind: ForecastKind, records: int | None, like: Any) -> tuple[int, Mapping[str, Law]]:
    """The number of records, and what they are like, by names."""
    if isinstance(like, Mapping):
        if records is not None:
            raise Refused("records, like", "public records are used as they are; leave out their number")
        return _size(like), {GIVEN: lambda draw, size: like}
    if like is None:
        if records is None:
            raise Refused("records, like", "say how many records to simulate, or what they are like")
        made_up = {name: _made_up(question, kind, law) for name, law in kind.laws.items()}
        return min(_positive(records), MOST_RECORDS), made_up
    if callable(like):
        if records is None:
            raise Refused("records, like", "records of a law are drawn: say how many")
        return min(_positive(records), MOST_RECORDS), {"the given law": like}
    law, number = law_of(question, like, LIKE)
    size = min(_positive(max(round(number), 1) if records is None else records), MOST_RECORDS)
    return size, {f"the released {type(like).__name__}": law}


def _made_up(question: Any, kind: ForecastKind, law: Callable[[np.random.Generator, int], Any]) -> Law:
    return lambda draw, size: kind.columns(question, law(draw, size))


def _expected(name: str, told: FloatArray) -> Expected:
    errors, known = told[:, 0], told[~np.isnan(told[:, 1]), 1:]
    halves = known.mean(axis=0).tolist() if len(known) else (nan, nan)
    return Expected(name, float(errors.mean()), float(errors.std(ddof=1) / np.sqrt(len(errors))), *halves)


def _size(table: Mapping[str, Any]) -> int:
    if not table or not all(len(each) == len(next(iter(table.values()))) > 0 for each in table.values()):
        raise Refused("like", "columns of one length, with at least one record, are needed")
    return len(next(iter(table.values())))


def _positive(records: int | None) -> int:
    number = whole("records", records)
    if number < 1:
        raise Refused("records", f"at least 1 is needed, got {number}")
    return number
