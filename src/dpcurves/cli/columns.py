"""Questions about columns: their options, and views of what is answered. Names are those of the JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from math import inf, isnan
from typing import TYPE_CHECKING, Any

from . import options as of
from .ask_file import describe_two_sample_tests
from .output import MOST_BANDED, PlainView, ResultView, ViewTable
from .terminal import Misuse, translate_argument_errors

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ..curves import (
        CDF,
        Bounds,
        BoundsQuestion,
        ByCategory,
        Contingency,
        Histogram,
        Histogram2D,
        PlaneBounds,
        PlaneBoundsQuestion,
        Quantiles,
        Summary,
        SummaryByCategory,
    )
    from ..histograms import TableEstimator

MOST_BARS = 40
SIDE_BY_SIDE = 6
QUARTILES = (0.25, 0.5, 0.75)
USUAL_MOMENTS = 2


NOT_WEIGHTED = "results of survey weights take none: leave --{} or --weight out"
WEIGHTED_GRID = "give --grid lower:upper:cells (or --edges, or --values): weights are added up along it"


def build_weighted_question(kind: str, given_fields: Mapping[str, Any], **more: Any) -> Any:
    """The question of this kind about survey weights, by what the options say; None: they name no weights.

    Raises:
        Misuse: an option was given that it does not take, or there is no grid where it needs one.
    """
    from .. import curves

    if "weight" not in given_fields:
        return None
    made = getattr(curves, kind)
    given = {name: value for name, value in given_fields.items() if value is not None or name == "weight_cap"}
    if given.get("moments") == USUAL_MOMENTS:
        del given["moments"]
    known = {each.name for each in fields(made)}
    odd = next((name for name in given if name not in known), None)
    if odd is not None:
        raise Misuse(odd.replace("_", "-"), NOT_WEIGHTED.format(odd.replace("_", "-")))
    if "grid" in known and "grid" not in given:
        raise Misuse("grid", WEIGHTED_GRID)
    return made(**given, **more)


def make_summary_builder(kind: str, statistic: str) -> Callable[..., Any]:
    """Make the function that gives the question of this kind, or that of survey weights where they are named.

    Where no bounds are said, it is the question that looks for them.
    """

    def build_question(**said: Any) -> Any:
        from .. import curves

        if "lower" in said:
            found = build_weighted_question("WeightedSummaryQuestion", said, statistic=statistic)
            return found or getattr(curves, kind)(**said)
        if "weight" in said:
            raise Misuse("bounds", "write lower:upper, as in 0:100: sums of survey weights look for none")
        return getattr(curves, f"AutoRange{kind}")(**said)

    return build_question


def histogram_question(**said: Any) -> Any:
    """The question for counts of the cells that are given, or where none are, of such as are looked for."""
    from ..curves import AutoRangeHistogramQuestion, HistogramQuestion

    return (HistogramQuestion if "grid" in said else AutoRangeHistogramQuestion)(**said)


def cdf_question(**said: Any) -> Any:
    """The question for a distribution function along the grid that is given, or where none is, without a range."""
    from ..curves import AutoRangeCdfQuestion, CdfQuestion

    if (found := build_weighted_question("WeightedCdfQuestion", said)) is not None:
        return found
    if said["grid"] is not None:
        return CdfQuestion(**said)
    odd = next((name for name in ("by", "smooth", "method") if said.get(name) is not None), None)
    if odd is not None:
        raise Misuse("grid", of.NEEDS_GRID.format(odd))
    return AutoRangeCdfQuestion(said["column"], said["measured_in"])


def quantiles_question(**said: Any) -> Any:
    """The question for quantiles along the grid that is given, or where none is, without a range."""
    from ..curves import AutoRangeQuantilesQuestion, QuantilesQuestion

    if (found := build_weighted_question("WeightedQuantilesQuestion", said)) is not None:
        return found
    if said["grid"] is not None:
        return QuantilesQuestion(**said)
    return AutoRangeQuantilesQuestion(said["column"], said["at"], said["measured_in"])


class QuantilesView(ResultView):
    """Quantiles with their intervals."""

    def tables(self, curve: Quantiles) -> list[ViewTable]:
        import numpy as np

        from ..display.numerals import format_axis_interval, format_axis_value, format_number, is_date_axis

        known = curve.intervals(self.settings.level)
        widths = (known[:, 1] - known[:, 0]).tolist()
        values, *cell = list(curve._known_columns().values())[1:]
        cells = np.stack(cell, axis=1).tolist()
        label = curve.curve.label
        columns: dict[str, Any] = {
            "p": curve.p,
            "x": [
                format_number(x) if isnan(x) else format_axis_value(x, low, high, label, width)
                for x, (low, high), width in zip(values.tolist(), cells, widths, strict=True)
            ],
            "cell": [format_axis_interval(low, high, label) for low, high in cells],
        }
        shown = self.make_table(curve, columns)
        if not is_date_axis(label):
            return [shown]
        ends = {name: np.asarray(each) for name, each in shown.columns.items() if name not in columns}
        told = {
            name: [format_axis_interval(low, high, label) for low, high in each.tolist()] for name, each in ends.items()
        }
        return [shown._replace(columns={**columns, **told})]


class HistogramView(ResultView):
    """Cells and their counts; with very many cells neighbouring ones are merged, and none is left out."""

    SUPPRESSES = True

    def tables(self, curve: Histogram) -> list[ViewTable]:
        from ..curves.result import limits_from_intervals

        at = curve.group_edges(MOST_BARS)
        columns = {**_cell_columns(curve, at), "count": curve.count_between(at)}
        if len(curve.count) >= MOST_BANDED:
            return [ViewTable(_error_of(curve), columns, MOST_BARS)]
        head = f"{_error_of(curve)}{_describe_merged_cells(curve, at)}\n"
        return [
            self.make_table(
                curve, columns, limits_from_intervals(curve.intervals, at=at), head=head, max_rows=MOST_BARS
            )
        ]


class QuartilesView(ResultView):
    """A distribution function for each category, as one table of quartiles."""

    def tables(self, curves: ByCategory[CDF]) -> list[ViewTable]:
        from ..display import describe_interval, format_number, join_columns

        privacy = curves.privacy
        whom = self.select_scopes(privacy)
        quartiles = zip(
            *(_format_quartiles(curve, self.settings.level, whom) for curve in curves.values()), strict=True
        )
        numbers = {
            "records": [format_number(round(curve.count)) for curve in curves.values()],
            **{f"{p:g} quantile": list(column) for p, column in zip(QUARTILES, quartiles, strict=True)},
        }
        columns = join_columns(curves.label_columns(), numbers)
        each = "; ".join(describe_interval(self.settings.level, "intervals", name) for name in whom)
        words = f"{describe_two_sample_tests(curves, self.settings)}in brackets: {each}; simultaneous in each row"
        return [ViewTable(words + self.describe_missing_population(privacy), columns, len(curves))]


class HistogramsView(ResultView):
    """View of the histograms of several categories: one table, with a column for each category."""

    SUPPRESSES = True

    def tables(self, curves: ByCategory[Histogram]) -> list[ViewTable]:
        from ..display import name_label_columns

        first, *_ = curves.values()
        at = first.group_edges(MOST_BARS)
        places = _cell_columns(first, at)
        names = name_label_columns([curves.format_category(category) for category in curves], places)
        counts = [(name, self._cell_counts(curve, at)) for name, curve in zip(names, curves.values(), strict=True)]
        parts = [counts[start : start + SIDE_BY_SIDE] for start in range(0, len(counts), SIDE_BY_SIDE)]
        return [
            ViewTable(f"{_error_of(first)}{_describe_merged_cells(first, at)}", {**places, **dict(part)}, MOST_BARS)
            for part in parts
        ]

    def _cell_counts(self, curve: Histogram, at: NDArray[Any]) -> ArrayLike:
        from ..display import find_wide_intervals, format_numbers, suppress_rows

        counts = curve.count_between(at)
        if self.settings.suppress is None:
            return counts
        lower, upper = curve.intervals(self.settings.level, at=at).T
        rows = find_wide_intervals(counts, lower, upper, self.settings.suppress)
        found: ArrayLike = suppress_rows({"": format_numbers(counts)}, [""], rows)[""]
        return found


def _format_quartiles(curve: CDF, level: float, whom: Mapping[str, bool]) -> list[str]:
    """Text of each quartile, with its intervals in brackets: for the records, and for the population if asked for."""
    from ..display.numerals import format_axis_interval, format_axis_value
    from ..inference.knowledge import is_uninformative

    ends = [curve.quantile_intervals(QUARTILES, level, population=asked).tolist() for asked in whom.values()]
    texts = list[str]()
    for p, intervals in zip(QUARTILES, zip(*ends, strict=True), strict=True):
        cell_lower, cell_upper = curve.quantile_cell(p).tolist()
        lower, upper = intervals[0]
        quartile = format_axis_value(float(curve.quantile(p)), cell_lower, cell_upper, curve.label, upper - lower)
        printed = "; ".join(format_axis_interval(low, high, curve.label) for low, high in intervals)
        texts.append("not known" if is_uninformative(lower, upper, -inf, inf) else f"{quartile} ({printed})")
    return texts


def _cell_columns(curve: Histogram, at: NDArray[Any]) -> dict[str, ArrayLike]:
    """Edges of cells or of merged cells; for declared values, each value, or the first and last value merged."""
    from ..display import format_number
    from ..display.numerals import format_date, is_date_axis

    values = curve.grid.values
    if values is None and is_date_axis(curve.label):
        edges = [format_date(x, curve.label) or format_number(x) for x in curve.x[at].tolist()]
        return {"left": edges[:-1], "right": edges[1:]}
    if values is None:
        return {"left": curve.x[at[:-1]], "right": curve.x[at[1:]]}
    first, last = values[at[:-1]], values[at[1:] - 1]
    return {"value": first} if len(at) > len(values) else {"first": first, "last": last}


def _error_of(curve: Histogram) -> str:
    from ..display import RECORDS, format_number

    return f"standard error of the noise of one cell, {RECORDS}: {format_number(curve.error)} records"


def _describe_merged_cells(curve: Histogram, at: NDArray[Any]) -> str:
    return "" if len(at) > len(curve.count) else f"; {len(curve.count):,} cells, neighbours added up"


SHOWN = 8
"""Most columns and rows of the terminal's table: with more cells, neighbouring ones are merged."""


def _parse_estimator(argument: str, word: str) -> TableEstimator:
    from .. import histograms as room

    known = {
        "refined-grid": room.RefinedGridEstimator, "privtree": room.PrivTreeEstimator, "dawa": room.DawaEstimator,
        "ahp": room.AhpEstimator, "mwem": room.MwemEstimator, "hierarchy": room.HierarchyEstimator,
        "privelet": room.PriveletEstimator, "uniform-grid": room.UniformGridEstimator,
        "adaptive-grid": room.AdaptiveGridEstimator, "cells": room.CellEstimator,
    }  # fmt: skip
    found: TableEstimator = of.parse_choice(argument, word, known)()
    return found


@dataclass(frozen=True)
class PlaneOptions(of.QuestionOptions):
    """Options for two columns, their grids, and the estimator."""

    x: str = of.option("NAME", of.A_COLUMN)
    y: str = of.option("NAME", "Another column of numbers.")
    x_grid: str = of.option("L:U:N", "Public cells of the first column, as for --grid.", parse=of.parse_grid)
    y_grid: str = of.option("L:U:N", "Public cells of the second column.", parse=of.parse_grid)
    estimator: str | None = of.optional(
        "WORD",
        "refined-grid (the default), privtree, dawa, ahp, mwem, hierarchy, privelet, uniform-grid, "
        "adaptive-grid or cells.",
        _parse_estimator,
    )


class Histogram2DView(PlainView):
    """View of a histogram of two columns: merged counts as a table, all counts as a heat map."""

    def tables(self, curve: Histogram2D) -> list[ViewTable]:
        import numpy as np

        across, upwards = (np.linspace(0, size, min(size, SHOWN) + 1).astype(int) for size in curve.count.shape)
        parts = np.rint(np.add.reduceat(np.add.reduceat(curve.count, across[:-1], axis=0), upwards[:-1], axis=1))
        x, y = curve.x_edges[across].tolist(), curve.y_edges[upwards].tolist()
        columns: dict[str, ArrayLike] = {curve.labels[0]: [f"{left:g} to {right:g}" for left, right in pairwise(x)]}
        columns |= {f"{low:g} to {high:g}": parts[:, number] for number, (low, high) in enumerate(pairwise(y))}
        return [ViewTable(f"records; columns: {curve.labels[1]}", columns)]


BOTH = "give --and-column and --and-smallest together, or neither"
ALPHA = "alpha: the records covered may be this many more or fewer than asked for (more with chance 0.05)"


@dataclass(frozen=True)
class MagnitudeOptions(of.QuestionOptions):
    """Options for one or two columns of numbers, and the approximate size of their values."""

    column: str = of.option("NAME", of.A_COLUMN)
    smallest: str = of.option(
        "U",
        "The smallest bound tried, about the size of typical values, or auto; it is doubled.",
        of.AUTO,
        of.parse_magnitude,
    )
    and_column: str | None = of.optional("NAME", "A second column; each has half of the loss.")
    and_smallest: str | None = of.optional(
        "U", "The smallest bound of the second column that is tried.", of.parse_positive_number
    )


def bounds_question(
    column: str, smallest: float, and_column: str | None, and_smallest: float | None, coverage: str
) -> BoundsQuestion | PlaneBoundsQuestion:
    """Question for bounds of one column, or of two."""
    from ..curves import BoundsQuestion, PlaneBoundsQuestion

    with translate_argument_errors("smallest", "unit"):
        first = BoundsQuestion(column, smallest, coverage)
    if and_column is None and and_smallest is None:
        return first
    if and_column is None or and_smallest is None:
        raise Misuse("and-column", BOTH)
    if and_column == column:
        raise Misuse("and-column", "another column than that of --column is needed")
    with translate_argument_errors("and-smallest", "unit"):
        return PlaneBoundsQuestion(first, BoundsQuestion(and_column, and_smallest, coverage))


class BoundsView(PlainView):
    """The ends of the interval of each column."""

    def tables(self, curve: Bounds | PlaneBounds) -> list[ViewTable]:
        from ..curves import Bounds
        from ..curves.bounds import CAPPED

        each = [curve] if isinstance(curve, Bounds) else [curve.x, curve.y]
        lines = [
            f"{one.label}: covers {one.coverage_statement}" + (f"; {CAPPED}" if one.is_capped else "") for one in each
        ]
        columns = {name: [getattr(one, name) for one in each] for name in ("lower", "upper", "alpha")}
        return [ViewTable("\n".join([*lines, ALPHA]), columns)]


MOST_PAIRS = 60


@dataclass(frozen=True)
class CrossTableOptions(of.QuestionOptions):
    """Options for two columns and their categories."""

    rows: str = of.option("NAME", "A column of categories: one row for each.")
    row_categories: str = of.option("A,B,C", "Its categories, declared in public; other values count as missing.")
    columns: str = of.option("NAME", "Another column of categories: one column for each.")
    column_categories: str = of.option("A,B,C", "Its categories, declared in public; other values count as missing.")

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        from ..data import Categories

        return {
            "rows": Categories(self.rows, of.parse_labels("row-categories", self.row_categories)),
            "columns": Categories(self.columns, of.parse_labels("column-categories", self.column_categories)),
        }


class ContingencyView(ResultView):
    """The test, and a row for each pair of categories."""

    SUPPRESSES = True

    def tables(self, curve: Contingency) -> list[ViewTable]:
        from ..display import join_columns

        frame = dict(curve._columns())
        shares = {name.replace("_", " "): frame.pop(name) for name in ("row_share", "column_share")}
        shown = self.make_table(
            curve, {"count": frame["count"]}, head=f"{curve.test_description}\n", after=shares, max_rows=MOST_PAIRS
        )
        return [shown._replace(columns=join_columns(curve.label_columns(), shown.columns))]


@dataclass(frozen=True, kw_only=True)
class BoundedColumn(of.ColumnOptions):
    """Options for a column of numbers and its public bounds."""

    bounds: str = of.option(
        "L:U", "Public bounds; values outside are clamped to them. Or auto: a part of the loss looks for them."
    )

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        if self.bounds == of.AUTO:
            return {name: value for name, value in super().question_fields(defaults).items() if name != "bounds"}
        try:
            lower, upper = (of.parse_number("bounds", end) for end in self.bounds.split(":"))
        except ValueError:
            raise Misuse("bounds", f"write lower:upper, as in 0:100, or auto, not {self.bounds!r}") from None
        found = super().question_fields(defaults)
        del found["bounds"]
        return {**found, "lower": lower, "upper": upper}


class SummaryView(ResultView):
    """View with a row for each statistic, with its intervals."""

    SUPPRESSES = True

    def tables(self, curve: Summary) -> list[ViewTable]:
        from ..curves.result import EACH
        from ..display import format_number

        values = [format_number(each) for each in curve.statistics.values()]
        columns = {"statistic": list(curve.names.values()), "value": values}
        return [self.make_table(curve, columns, what=EACH, head=f"{curve.plot_label}\n")]


class SummariesView(ResultView):
    """View with a row for each category: every statistic, and intervals of the one that the question names."""

    SUPPRESSES = True

    def tables(self, curves: SummaryByCategory) -> list[ViewTable]:
        from ..curves.result import EACH
        from ..display import format_number, join_columns

        each = list(curves.values())
        first, statistic = each[0], each[0].statistic
        place = list(first.statistics).index(statistic)
        columns: dict[str, ArrayLike]
        columns = {words: [format_number(one.statistics[name]) for one in each] for name, words in first.names.items()}
        for name, population in self.select_scopes(first.privacy).items():
            found = [one.intervals(self.settings.level, population=population)[place].tolist() for one in each]
            columns[f"{statistic}, {name.split()[-1]}"] = found
        if self.settings.suppress is not None:
            columns = self._suppress_wide_intervals(columns, each, place)
        columns = join_columns(curves.label_columns(), columns)
        return [ViewTable(f"{first.plot_label}\n{self.describe_intervals(first.privacy, EACH)}", columns, len(each))]

    def _suppress_wide_intervals(
        self, columns: Mapping[str, ArrayLike], each: Sequence[Summary], place: int
    ) -> dict[str, ArrayLike]:
        """The columns with .. for each statistic whose interval for these records is wider than is shown."""
        import numpy as np

        from ..display import find_wide_intervals, format_numbers, suppress_rows

        ends = np.array([one.intervals(self.settings.level) for one in each])
        found = dict(columns)
        own = [f"{each[0].statistic}, {name.split()[-1]}" for name in self.select_scopes(each[0].privacy)]
        for number, (statistic, words) in enumerate(each[0].names.items()):
            values = [one.statistics[statistic] for one in each]
            rows = find_wide_intervals(values, ends[:, number, 0], ends[:, number, 1], self.settings.suppress or 0.0)
            names = [words, *(own if number == place else [])]
            texts = {name: format_numbers(np.asarray(found[name])) if name in own else found[name] for name in names}
            found |= suppress_rows(texts, names, rows)
        return found
