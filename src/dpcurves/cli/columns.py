"""Commands about columns: distribution, quantiles, histograms, bounds, summaries, contingency tables, survival."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from .ask_file import Terms, distributions_compared, survival_compared
from .option_groups import amount, categories, category, chosen, numbers, whole
from .options import Split
from .output import Covering, Output
from .refusal import Misuse, named
from .table_options import (
    CellOptions,
    ColumnOptions,
    CoveredOptions,
    HintedCells,
    ShareOptions,
    SmoothColumn,
    SomeCells,
)
from .views import MOST_BANDED, ResultView, Shown, covered, left_out, said_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from ..arrays import FloatArray
    from ..curves import (
        CDF,
        Bounds,
        BoundsQuestion,
        ByCategory,
        Contingency,
        ContingencyQuestion,
        CountQuestion,
        Histogram,
        Histogram2D,
        MeanQuestion,
        PlaneBounds,
        PlaneBoundsQuestion,
        Quantiles,
        Summary,
        SummaryByCategory,
        SummaryQuestion,
        SumQuestion,
        Survival,
        VarianceQuestion,
    )
    from ..data import Grid
    from ..histograms import TableEstimator
    from .option_groups import Command

    AnyQuestion = SummaryQuestion | CountQuestion | SumQuestion | MeanQuestion | VarianceQuestion


# Views of curves of one column: terminal tables and plots. Names are those of the JSON.


MOST_BARS = 40
SIDE_BY_SIDE = 6
QUARTILES = (0.25, 0.5, 0.75)


class QuantilesView(ResultView):
    """Quantiles with their intervals."""

    def tables(self, curve: Quantiles) -> list[Shown]:
        """Shares, values, and the ends of their intervals."""
        from ..curves.result import ends_of
        from ..display import span, standing

        known = curve.intervals(self.sure.level)
        widths = (known[:, 1] - known[:, 0]).tolist()
        places = zip(curve.x.tolist(), curve.cells.tolist(), widths, strict=True)
        columns: dict[str, ArrayLike] = {
            "p": curve.p,
            "x": [standing(x, *cell, known_to=width) for x, cell, width in places],
            "cell": [span(*cell) for cell in curve.cells.tolist()],
        }
        words, found = covered(curve.privacy, self.sure, "intervals, all at once,", ends_of(curve.intervals))
        return [Shown(words, {**columns, **found})]


class HistogramView(ResultView):
    """Cells and their counts; with very many cells neighbouring ones are merged, and none is left out."""

    def tables(self, curve: Histogram) -> list[Shown]:
        """Cells and counts, with intervals."""
        from ..curves.result import ends_of

        at = curve.groups(MOST_BARS)
        columns = {**_places(curve, at), "count": curve.count_between(at)}
        if len(curve.count) >= MOST_BANDED:
            return [Shown(_error_of(curve), columns, MOST_BARS)]
        ends = ends_of(curve.intervals, at=at)
        words, found = covered(curve.privacy, self.sure, "intervals, all at once,", ends)
        return [Shown(f"{_error_of(curve)}{_joined(curve, at)}\n{words}", {**columns, **found}, MOST_BARS)]


class QuartilesView(ResultView):
    """A distribution function for each category, as one table of quartiles."""

    def tables(self, curves: ByCategory[CDF]) -> list[Shown]:
        """A row for each category: how many records, and its quartiles with their intervals."""
        from ..curves.result import scopes
        from ..display import covering, numeral

        (privacy, *_) = (curve.privacy for curve in curves.values())
        whom = scopes(privacy, population=self.sure.population)
        quartiles = zip(*(_quartiles(curve, self.sure.level, whom) for curve in curves.values()), strict=True)
        columns: dict[str, list[str]] = {
            **curves.parts(),
            "records": [numeral(round(curve.count)) for curve in curves.values()],
            **{f"{p:g} quantile": list(column) for p, column in zip(QUARTILES, quartiles, strict=True)},
        }
        each = "; ".join(covering(self.sure.level, "intervals", name) for name in whom)
        words = f"{distributions_compared(curves, self.sure)}in brackets: {each}; in each row all at once"
        return [Shown(words + left_out(privacy, self.sure), columns, len(curves))]


class HistogramsView(ResultView):
    """Histograms of categories, side by side."""

    def tables(self, curves: ByCategory[Histogram]) -> list[Shown]:
        """A row for each cell, or for merged neighbouring cells; a column for each category."""
        first, *_ = curves.values()
        at = first.groups(MOST_BARS)
        places = _places(first, at)
        counts = [(curves.named(name), curve.count_between(at)) for name, curve in curves.items()]
        parts = [counts[start : start + SIDE_BY_SIDE] for start in range(0, len(counts), SIDE_BY_SIDE)]
        return [Shown(f"{_error_of(first)}{_joined(first, at)}", {**places, **dict(part)}, MOST_BARS) for part in parts]


def _quartiles(curve: CDF, level: float, whom: Mapping[str, bool]) -> list[str]:
    """Text of each quartile, with its intervals in brackets: for the records, and for the population if asked for."""
    from ..display import span, standing

    ends = [curve.quantile_intervals(QUARTILES, level, population=asked).tolist() for asked in whom.values()]
    places = zip(QUARTILES, zip(*ends, strict=True), strict=True)
    return [
        f"{standing(float(curve.quantile(p)), *curve.quantile_cell(p).tolist(), known_to=known[0][1] - known[0][0])} "
        f"({'; '.join(span(*each) for each in known)})"
        for p, known in places
    ]


def _places(curve: Histogram, at: NDArray[Any]) -> dict[str, ArrayLike]:
    """Edges of cells or of merged cells; for declared values, each value, or the first and last value merged."""
    values = curve.grid.values
    if values is None:
        return {"left": curve.x[at[:-1]], "right": curve.x[at[1:]]}
    first, last = values[at[:-1]], values[at[1:] - 1]
    return {"value": first} if len(at) > len(values) else {"first": first, "last": last}


def _error_of(curve: Histogram) -> str:
    from ..display import RECORDS, numeral

    return f"standard error of the noise of one cell, {RECORDS}: {numeral(curve.error)} records"


def _joined(curve: Histogram, at: NDArray[Any]) -> str:
    return "" if len(at) > len(curve.count) else f"; {len(curve.count):,} cells, neighbours added up"


# Questions about one column: distribution function, quantiles, histogram.


def cdf(column: SmoothColumn, cells: SomeCells, split: Split, terms: Terms, output: Output) -> None:
    """The distribution function of a column.

    With --at or --points it is counted at a few edges only. Other edges, and quantiles along the same fine grid, then
    cost nothing under the same --request-id.

    Example: dpcurves cdf flights.csv --column arr_delay --grid -100:1300:4096 --epsilon 1 --adjacency replace-one
    """
    from ..curves import CdfQuestion

    by, grid, sure = split.declared(), cells.declared(), output.covering()
    question = CdfQuestion(
        column.column, grid, by, column.measured_in, cells.hinted(), smooth=column.smoothing.power(),
        at=cells.some.of(grid),
    )  # fmt: skip
    terms.answer(question, QuartilesView(sure) if by else ResultView(sure), output)


def quantiles(column: ColumnOptions, cells: HintedCells, shares: ShareOptions, terms: Terms, output: Output) -> None:
    """Quantiles of a column.

    All are read from one distribution function, so more quantiles cost no more. On a grid with too many cells to be
    counted they are found by bisection, with intervals at --level.

    Example: dpcurves quantiles flights.csv --column arr_delay --grid -100:1300:4096 --at 0.5,0.9 --epsilon 1
    --adjacency replace-one
    """
    from ..curves import QuantilesQuestion

    sure = output.covering()
    question = QuantilesQuestion(column.column, cells.declared(), shares.exact, column.measured_in, cells.hinted())
    terms.answer(question.searched_at(sure.level), QuantilesView(sure), output)


def histogram(column: ColumnOptions, cells: CellOptions, split: Split, terms: Terms, output: Output) -> None:
    """Counts of records in cells.

    Example: dpcurves histogram flights.csv --column arr_delay --grid -60:180:16 --epsilon 1 --adjacency replace-one
    """
    from ..curves import HistogramQuestion

    by, sure = split.declared(), output.covering()
    question = HistogramQuestion(column.column, cells.declared(), by, column.measured_in)
    terms.answer(question, HistogramsView(sure) if by else HistogramView(sure), output)


COLUMN_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {"cdf": cdf, "quantiles": quantiles, "histogram": histogram}
)


# Histograms of two columns together: the command, its options, and its view.


SHOWN = 8
"""Most columns and rows of the terminal's table: with more cells, neighbouring ones are merged."""


@dataclass(frozen=True)
class PlaneOptions:
    """Options for two columns, their grids, and the estimator."""

    x: Annotated[str, Option(help="A column of numbers.", metavar="NAME")]
    y: Annotated[str, Option(help="Another column of numbers.", metavar="NAME")]
    x_grid: Annotated[str, Option(help="Public cells of the first column, as for --grid.", metavar="L:U:N")]
    y_grid: Annotated[str, Option(help="Public cells of the second column.", metavar="L:U:N")]
    estimator: Annotated[
        str | None,
        Option(
            help="refined-grid (the default), privtree, dawa, ahp, mwem, hierarchy, privelet, uniform-grid, "
            "adaptive-grid or cells.",
            metavar="WORD",
        ),
    ] = None

    def grids(self) -> tuple[Grid, Grid]:
        """Both grids."""
        from ..data import Grid

        with named("x-grid", "grid"):
            across = Grid.parse(self.x_grid)
        with named("y-grid", "grid"):
            return across, Grid.parse(self.y_grid)

    def estimating(self) -> TableEstimator | None:
        """Estimator of the plane; None: the default."""
        from .. import histograms as room

        known = {
            "refined-grid": room.RefinedGridEstimator, "privtree": room.PrivTreeEstimator, "dawa": room.DawaEstimator,
            "ahp": room.AhpEstimator, "mwem": room.MwemEstimator, "hierarchy": room.HierarchyEstimator,
            "privelet": room.PriveletEstimator, "uniform-grid": room.UniformGridEstimator,
            "adaptive-grid": room.AdaptiveGridEstimator, "cells": room.CellEstimator,
        }  # fmt: skip
        return None if self.estimator is None else chosen("estimator", self.estimator, known)()


@dataclass(frozen=True)
class Histogram2DView:
    """View of a histogram of two columns: merged counts as a table, all counts as a heat map."""

    def tables(self, curve: Histogram2D) -> list[Shown]:
        """Counts of the plane, merged into at most 8 by 8 parts."""
        import numpy as np

        across, upwards = (np.linspace(0, size, min(size, SHOWN) + 1).astype(int) for size in curve.count.shape)
        parts = np.rint(np.add.reduceat(np.add.reduceat(curve.count, across[:-1], axis=0), upwards[:-1], axis=1))
        x, y = curve.x_edges[across], curve.y_edges[upwards]
        ranges = [f"{left:g} to {right:g}" for left, right in pairwise(x.tolist())]
        columns: dict[str, ArrayLike] = {curve.labels[0]: ranges}
        for number, (low, high) in enumerate(pairwise(y.tolist())):
            columns[f"{low:g} to {high:g}"] = parts[:, number]
        return [Shown(f"records; columns: {curve.labels[1]}", columns)]

    def draw(self, curve: Histogram2D) -> Axes:
        """The heat map."""
        from ..display import LANDSCAPE, headless_axes

        return curve.plot(ax=headless_axes(LANDSCAPE))


def table(pair: PlaneOptions, terms: Terms, output: Output) -> None:
    """Counts of two columns together.

    Example: dpcurves table flights.csv --x dep_delay --y arr_delay --x-grid -60:240:64 --y-grid -60:240:64 --epsilon 1
    --adjacency replace-one
    """
    from ..curves import Histogram2DQuestion

    question = Histogram2DQuestion(pair.x, pair.y, *pair.grids(), pair.estimating())
    terms.answer(question, Histogram2DView(), output)


PLANE_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"table": table})


# Private bounds of one column, or of two: the command, its options, and its view.


BOTH = "give --and-column and --and-smallest together, or neither"
ALPHA = "alpha: the records covered may be this many more or fewer than asked for (more with chance 0.05)"


@dataclass(frozen=True)
class Sizes:
    """Options for one or two columns of numbers, and the approximate size of their values."""

    column: Annotated[str, Option(help="A column of numbers.", metavar="NAME")]
    smallest: Annotated[
        str, Option(help="The smallest bound tried, about the size of typical values; it is doubled.", metavar="U")
    ]
    and_column: Annotated[str | None, Option(help="A second column; each has half of the loss.", metavar="NAME")] = None
    and_smallest: Annotated[
        str | None, Option(help="The smallest bound of the second column that is tried.", metavar="U")
    ] = None

    def question(self, coverage: str) -> BoundsQuestion | PlaneBoundsQuestion:
        """Question for bounds that cover this share of the records.

        Raises:
            Misuse: only one of both options of a second column was given, or it is the first one.
        """
        from ..curves import PlaneBoundsQuestion

        first = self._of(self.column, coverage, "smallest", self.smallest)
        if self.and_column is None and self.and_smallest is None:
            return first
        if self.and_column is None or self.and_smallest is None:
            raise Misuse("and-column", BOTH)
        if self.and_column == self.column:
            raise Misuse("and-column", "another column than that of --column is needed")
        return PlaneBoundsQuestion(first, self._of(self.and_column, coverage, "and-smallest", self.and_smallest))

    def _of(self, column: str, coverage: str, option: str, smallest: str) -> BoundsQuestion:
        from ..curves import BoundsQuestion

        unit = float(Fraction(amount(option, smallest)))
        with named(option, "unit"):
            return BoundsQuestion(column, unit, coverage)


@dataclass(frozen=True)
class BoundsView:
    """The ends of the interval of each column."""

    def tables(self, curve: Bounds | PlaneBounds) -> list[Shown]:
        """Lower and upper ends, and how many records they may miss."""
        from ..curves import Bounds
        from ..curves.bounds import CAPPED

        each = [curve] if isinstance(curve, Bounds) else [curve.across, curve.upwards]
        lines = [f"{one.label}: covers {one.covers}" + (f"; {CAPPED}" if one.capped else "") for one in each]
        words = "\n".join([*lines, ALPHA])
        ends = {"lower": [one.lower for one in each], "upper": [one.upper for one in each]}
        return [Shown(words, {**ends, "alpha": [one.alpha for one in each]})]

    def draw(self, curve: Bounds | PlaneBounds) -> Axes:
        """The interval, or the rectangle."""
        from ..display import headless_axes

        return curve.plot(ax=headless_axes())


def bounds(sizes: Sizes, covered: CoveredOptions, terms: Terms, output: Output) -> None:
    """Bounds of the values of a column, or of two columns: symmetric intervals or a rectangle around zero.

    The answer is a power of two times the smallest bound. A grid may then be chosen within it.

    Example: dpcurves bounds flights.csv --column arr_delay --smallest 10 --coverage 0.95 --epsilon 0.1
    --adjacency replace-one
    """
    terms.answer(sizes.question(covered.share), BoundsView(), output)


BOUNDS_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"bounds": bounds})


# Contingency tables of two columns of categories: the command, its options, and its view.


MOST_PAIRS = 60


@dataclass(frozen=True)
class Crossed:
    """Options for two columns and their categories."""

    rows: Annotated[str, typer.Option(help="A column of categories: one row for each.", metavar="NAME")]
    row_categories: Annotated[
        str, typer.Option(help="Its categories, declared in public; other values count as missing.", metavar="A,B,C")
    ]
    columns: Annotated[str, typer.Option(help="Another column of categories: one column for each.", metavar="NAME")]
    column_categories: Annotated[
        str, typer.Option(help="Its categories, declared in public; other values count as missing.", metavar="A,B,C")
    ]

    def asked(self) -> ContingencyQuestion:
        """The question."""
        from ..curves import ContingencyQuestion
        from ..data import Categories

        return ContingencyQuestion(
            Categories(self.rows, categories("row-categories", self.row_categories)),
            Categories(self.columns, categories("column-categories", self.column_categories)),
        )


class ContingencyView(ResultView):
    """The test, and a row for each pair of categories."""

    def tables(self, curve: Contingency) -> list[Shown]:
        """Counts with intervals, and shares of rows and of columns."""
        from ..curves.result import ends_of

        words, ends = covered(curve.privacy, self.sure, "intervals, all at once,", ends_of(curve.intervals))
        frame: dict[str, ArrayLike] = dict(curve._columns())
        shares = {name.replace("_", " "): frame.pop(name) for name in ("row_share", "column_share")}
        return [Shown(f"{curve.test}\n{words}", {**frame, **ends, **shares}, MOST_PAIRS)]


def contingency(crossed: Crossed, terms: Terms, output: Output) -> None:
    """Counts of pairs of two columns' categories, and a test of independence.

    Example: dpcurves contingency flights.csv --rows carrier --row-categories UA,AA --columns late
    --column-categories 0,1 --epsilon 1 --adjacency replace-one
    """
    terms.answer(crossed.asked(), ContingencyView(output.covering()), output)


CONTINGENCY_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"contingency": contingency})


# Count, sum, mean and variance of a column: the commands, their options, and their views.


@dataclass(frozen=True)
class CountOptions:
    """Option for a column whose non-missing values are counted."""

    column: Annotated[str, Option(help="A column of numbers.", metavar="NAME")]


@dataclass(frozen=True)
class Bounded:
    """Option for public bounds."""

    bounds: Annotated[str, Option(help="Public bounds; values outside are clamped to them.", metavar="L:U")]

    def ends(self) -> tuple[float, float]:
        """The lower and the upper bound.

        Raises:
            Misuse: there are not two numbers.
        """
        found = numbers("bounds", self.bounds.replace(":", ","))
        if len(found) != 2:
            raise Misuse("bounds", f"write lower:upper, as in 0:100, not {self.bounds!r}")
        return found[0], found[1]


@dataclass(frozen=True)
class HowMuch:
    """Option for the number of moments."""

    moments: Annotated[
        str, Option(help="2: count, sum, mean and variance; 1: no variance, and less noise.", metavar="N")
    ] = "2"

    @property
    def number(self) -> int:
        """Number of moments, 1 or 2."""
        return whole("moments", self.moments)


class SummaryView(ResultView):
    """View with a row for each statistic, with its intervals."""

    def tables(self, curve: Summary) -> list[Shown]:
        """Statistics, values, and ends."""
        from ..display import numeral

        words, ends = _ends(self.sure, [curve])
        values: list[str] = [numeral(each) for each in curve.statistics.values()]
        columns: dict[str, ArrayLike] = {"statistic": list(curve.statistics), "value": values}
        for whom, (found,) in ends.items():
            columns[whom] = found
        return [Shown(f"{curve.clamped}\n{words}", columns)]


class SummariesView(ResultView):
    """View with a row for each category: every statistic, and intervals of the one that the question names."""

    def tables(self, curves: SummaryByCategory) -> list[Shown]:
        """Counts, sums, means and variances, and intervals of one of them."""
        from ..display import numeral

        each = list(curves.values())
        statistic = each[0].statistic
        place = list(each[0].statistics).index(statistic)
        columns: dict[str, ArrayLike] = {**curves.parts()}
        for name in each[0].statistics:
            columns[name] = [numeral(one.statistics[name]) for one in each]
        words, ends = _ends(self.sure, each)
        for whom, found in ends.items():
            columns[f"{statistic}, {whom}"] = [one[place].tolist() for one in found]
        return [Shown(f"{each[0].clamped}\n{words}", columns, len(each))]


def _ends(sure: Covering, curves: list[Summary]) -> tuple[str, dict[str, list[FloatArray]]]:
    """Caption of the table, and intervals of all statistics, for these records and for the population."""
    from ..curves.result import EACH, scopes

    privacy = curves[0].privacy
    whom = scopes(privacy, population=sure.population)
    found = {
        name.split()[-1]: [each.intervals(sure.level, population=population) for each in curves]
        for name, population in whom.items()
    }
    return said_of(privacy, sure, EACH), found


def summary(  # noqa: PLR0917
    column: ColumnOptions, bounded: Bounded, asked: HowMuch, split: Split, terms: Terms, output: Output
) -> None:
    """Count, sum, mean and variance of a column.

    Example: dpcurves summary flights.csv --column arr_delay --bounds -60:180 --epsilon 1 --adjacency replace-one
    """
    from ..curves import SummaryQuestion

    fields = column.column, *bounded.ends(), split.declared(), column.measured_in
    _answered(SummaryQuestion(*fields, asked.number), terms, output)


def count(column: CountOptions, split: Split, terms: Terms, output: Output) -> None:
    """Number of records that have a value in a column.

    Example: dpcurves count flights.csv --column arr_delay --epsilon 1 --adjacency add-remove
    """
    from ..curves import CountQuestion

    _answered(CountQuestion(column.column, split.declared()), terms, output)


def total(column: ColumnOptions, bounded: Bounded, split: Split, terms: Terms, output: Output) -> None:
    """The sum of a column, with its count and mean.

    Example: dpcurves sum flights.csv --column arr_delay --bounds 0:180 --epsilon 1 --adjacency replace-one
    """
    from ..curves import SumQuestion

    _answered(SumQuestion(column.column, *bounded.ends(), split.declared(), column.measured_in), terms, output)


def mean(column: ColumnOptions, bounded: Bounded, split: Split, terms: Terms, output: Output) -> None:
    """The mean of a column, with its count, sum and variance.

    Example: dpcurves mean flights.csv --column arr_delay --bounds -60:180 --epsilon 1 --adjacency replace-one
    """
    from ..curves import MeanQuestion

    _answered(MeanQuestion(column.column, *bounded.ends(), split.declared(), column.measured_in), terms, output)


def variance(column: ColumnOptions, bounded: Bounded, split: Split, terms: Terms, output: Output) -> None:
    """The variance of a column, with its count, sum and mean.

    Example: dpcurves variance flights.csv --column arr_delay --bounds -60:180 --epsilon 1 --adjacency replace-one
    """
    from ..curves import VarianceQuestion

    _answered(VarianceQuestion(column.column, *bounded.ends(), split.declared(), column.measured_in), terms, output)


def _answered(question: AnyQuestion, terms: Terms, output: Output) -> None:
    sure = output.covering()
    terms.answer(question, SummaryView(sure) if question.by is None else SummariesView(sure), output)


SUMMARY_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({
    "summary": summary, "count": count, "sum": total, "mean": mean, "variance": variance,
})  # fmt: skip


# Survival curves: the command, its options, and its views.


@dataclass(frozen=True)
class Observed:
    """Options for the columns of times and of event indicators (censoring)."""

    time: Annotated[
        str,
        typer.Option(help="A column of times: of the event, or of the end of observation without one.", metavar="NAME"),
    ]
    event: Annotated[str, typer.Option(help="A column that says whether the event was observed.", metavar="NAME")]
    came: Annotated[str, typer.Option(help="Its value where the event was observed.", metavar="LABEL")] = "1"
    censored: Annotated[
        str | None,
        typer.Option(
            help="Its value where not; not needed where the other is 1, 0, -1, true or false.", metavar="LABEL"
        ),
    ] = None
    measured_in: Annotated[str, typer.Option(help="The unit of measurement, for the picture.", metavar="UNIT")] = ""


class SurvivalView(ResultView):
    """View of a survival curve: an at-risk table with bands."""

    def tables(self, curve: Survival) -> list[Shown]:
        """The median, and a row for each edge."""
        words, ends = covered(curve.privacy, self.sure, "band", curve._ends)
        fewest, most = curve.at_risk_intervals(self.sure.level).T
        risk = {"at risk": curve.at_risk, "at least": fewest, "at most": most}
        columns: dict[str, ArrayLike] = {"time": curve.x, "survive to its start": curve.y, **ends, **risk}
        return [Shown(f"{_median(curve, self.sure.level)}\n{words}", columns)]


class SurvivalsView(ResultView):
    """View with a row for each category: records, and the median survival time."""

    def tables(self, curves: ByCategory[Survival]) -> list[Shown]:
        """Records and medians, with intervals."""
        from ..display import numeral

        columns: dict[str, ArrayLike] = {
            **curves.parts(),
            "records": [numeral(round(float(curve.at_risk[0]))) for curve in curves.values()],
            "median": [_median(curve, self.sure.level) for curve in curves.values()],
        }
        return [Shown(f"{survival_compared(curves, self.sure)}until the event", columns, len(curves))]


def _median(curve: Survival, level: float) -> str:
    from ..display import RECORDS, covering, span

    ends = span(*curve.median_interval(level))
    return f"median {curve.median_in_words} ({covering(level, 'interval', RECORDS)}: {ends})"


def survival(observed: Observed, cells: CellOptions, split: Split, terms: Terms, output: Output) -> None:
    """The time until an event, with censored records.

    Example: dpcurves survival patients.csv --time months --event died --grid 0:60:60 --epsilon 1
    --adjacency replace-one
    """
    from ..curves import SurvivalQuestion

    by, sure = split.declared(), output.covering()
    censored = None if observed.censored is None else category(observed.censored)
    question = SurvivalQuestion(
        observed.time, observed.event, cells.declared(), by, category(observed.came), censored, observed.measured_in
    )
    terms.answer(question, SurvivalsView(sure) if by else SurvivalView(sure), output)


SURVIVAL_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"survival": survival})
