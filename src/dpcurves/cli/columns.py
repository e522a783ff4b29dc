"""Commands about columns: distribution functions, quantiles, histograms, bounds, bar charts, contingency tables,
summaries.

Option groups become fields of a question. A view prints the result as tables and plots it. Tables use the column names
of the JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

from . import options
from .ask_file import describe_two_sample_tests
from .output import MOST_BANDED, PlainView, ResultView, ViewTable
from .terminal import Misuse, translate_argument_errors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from ..curves import (
        CDF,
        BarChart,
        Bounds,
        BoundsQuestion,
        ByCategory,
        Contingency,
        Histogram,
        Histogram2D,
        PlaneBounds,
        PlaneBoundsQuestion,
        Summary,
        SummaryByCategory,
        WeightedHistogram,
    )
    from ..data import Grid
    from ..histograms import TableEstimator

MOST_BARS = 40
"""Rows of a printed histogram; if it has more cells, neighbouring ones are merged until at most this number remain."""


NOT_WEIGHTED = "weighted results do not support --{0}; leave --{0} or --weight out"
"""Rule in the error for an option that cannot be combined with --weight; the braces take the option's name."""
WEIGHTED_GRID = "weighted results of this command need public cells: give --grid lower:upper:cells, --edges or --values"
"""Rule in the error for --weight without public cells, where the command cannot choose cells privately."""


def build_weighted_question(kind: str, given_fields: Mapping[str, Any], **further_fields: Any) -> Any:
    """Return the weighted question of the class `kind` that the options describe, or None without ``weight``; without
    a grid or bounds, a question of the class with automatic range.

    Args:
        kind: Name of the class of the question; the class for an automatic range is named ``AutoRange`` before it.
        given_fields: Arguments of the question from the typed options, by name; None: not typed.
        further_fields: Arguments that no option sets.

    Raises:
        Misuse: a given option does not apply to weighted results, or a grid is missing that these need.
    """
    from .. import curves

    if "weight" not in given_fields:
        return None
    non_default = {name: value for name, value in given_fields.items() if value is not None or name == "weight_cap"}
    has_range = "grid" in non_default or "lower" in {**non_default, **further_fields}
    question_class = getattr(curves, kind if has_range else f"AutoRange{kind}", None)
    if question_class is None:
        raise Misuse("grid", WEIGHTED_GRID)
    if non_default.get("moments") == 2:  # the default of --moments
        del non_default["moments"]
    accepted = {question_field.name for question_field in fields(question_class)}
    unsupported = next((name for name in non_default if name not in accepted), None)
    if unsupported is not None:
        raise Misuse(unsupported.replace("_", "-"), NOT_WEIGHTED.format(unsupported.replace("_", "-")))
    return question_class(**non_default, **further_fields)


def make_summary_builder(kind: str, statistic: str) -> Callable[..., Any]:
    """Return a function that builds the question for a mean, sum or variance from the typed options.

    Without bounds it builds the question with automatic range.

    Args:
        kind: Class name of the question with bounds; the class for an automatic range is named ``AutoRange`` before it.
        statistic: Name of the statistic for a weighted question.

    Returns:
        Function of the question's arguments by name. A column of weights gives the weighted question.
    """

    def build_question(**question_fields: Any) -> Any:
        """Return the question for a mean, sum or variance: with bounds, with weights, or with an automatic range.

        Args:
            question_fields: Arguments of the question by name.
        """
        from .. import curves

        weighted = build_weighted_question("WeightedSummaryQuestion", question_fields, statistic=statistic)
        has_bounds = "lower" in question_fields
        return weighted or getattr(curves, kind if has_bounds else f"AutoRange{kind}")(**question_fields)

    return build_question


def count_question(**question_fields: Any) -> Any:
    """Return the question for the number of records, or with ``weight`` for the sum of their weights.

    Args:
        question_fields: Arguments of the question by name.
    """
    from ..curves import CountQuestion

    weighted = build_weighted_question("WeightedSummaryQuestion", question_fields, lower=0, upper=1, statistic="count")
    return weighted or CountQuestion(**question_fields)


def histogram_question(**question_fields: Any) -> Any:
    """Return the question for counts, or with ``weight`` for sums of weights, in the given cells or in automatic ones.

    Args:
        question_fields: Arguments of the question by name; `grid` is None for automatic cells.
    """
    from ..curves import AutoRangeHistogramQuestion, HistogramQuestion

    if (weighted := build_weighted_question("WeightedHistogramQuestion", question_fields)) is not None:
        return weighted
    return (HistogramQuestion if "grid" in question_fields else AutoRangeHistogramQuestion)(**question_fields)


def require_unsuppressed(question: Any, view: ResultView) -> Any:
    """Return the question unchanged if --suppress applies to its result.

    Args:
        question: The question.
        view: View with the typed fraction of --suppress, if any.

    Raises:
        Misuse: --suppress was typed for sums of weights, which are no counts.
    """
    if view.settings.suppress is not None and hasattr(question, "weight"):
        raise Misuse("suppress", NOT_WEIGHTED.format("suppress"))
    return question


def cdf_question(**question_fields: Any) -> Any:
    """Return the question for a distribution function that the options describe: weighted, along the given grid, or
    with automatic range.

    Args:
        question_fields: Arguments of the question by name; `grid` is None for an automatic range.

    Raises:
        Misuse: an option needs a grid, and no grid is given.
    """
    from ..curves import AutoRangeCdfQuestion, CdfQuestion

    if (weighted := build_weighted_question("WeightedCdfQuestion", question_fields)) is not None:
        return weighted
    if question_fields["grid"] is not None:
        return CdfQuestion(**question_fields)
    needs_grid = next((name for name in ("by", "smooth", "method") if question_fields.get(name) is not None), None)
    if needs_grid is not None:
        raise Misuse("grid", options.NEEDS_GRID.format(needs_grid))
    return AutoRangeCdfQuestion(question_fields["column"], question_fields["measured_in"])


def quantiles_question(**question_fields: Any) -> Any:
    """Return the question for quantiles that the options describe: weighted, along the given grid, or with automatic
    range.

    Args:
        question_fields: Arguments of the question by name. With ``by`` it is a question for distribution functions,
            from which the view computes quantiles.
    """
    from ..curves import AutoRangeQuantilesQuestion, QuantilesQuestion
    from ..curves.quantile_quantile import parse_shares

    by = question_fields.pop("by", None)
    if by is None and (weighted := build_weighted_question("WeightedQuantilesQuestion", question_fields)) is not None:
        return weighted
    if by is not None:
        parse_shares("probabilities", question_fields.pop("probabilities"))
        return cdf_question(**question_fields, by=by)
    if question_fields["grid"] is not None:
        return QuantilesQuestion(**question_fields)
    return AutoRangeQuantilesQuestion(
        question_fields["column"], question_fields["probabilities"], question_fields["measured_in"]
    )


class QuantilesView(ResultView):
    """View of quantiles with their intervals and cells, all rows."""

    MAX_ROWS = 400


class HistogramView(ResultView):
    """View of cells and their counts. Many cells are merged with their neighbours; none is left out."""

    SUPPRESSES = True

    def tables(self, curve: Histogram | WeightedHistogram) -> list[ViewTable]:
        """Return a table with a row for each cell with its interval; many cells are merged, and very many have no
        intervals.

        Args:
            curve: The released result to show.
        """
        from ..curves import WeightedHistogram

        if isinstance(curve, WeightedHistogram):
            return super().tables(curve.merge_bins(MOST_BARS))
        edge_indices = curve.group_edges(MOST_BARS)
        is_banded = len(curve.count) < MOST_BANDED
        table = curve._describe_merged_table(
            edge_indices,
            level=self.settings.level if is_banded else None,
            population=self.settings.population,
            suppress=self.settings.suppress if is_banded else None,
        )
        head = f"{_describe_standard_error(curve)}{_describe_merged_cells(curve, edge_indices)}"
        return [ViewTable.from_table(f"{head}{self.describe_missing_population(curve.privacy)}", table, MOST_BARS)]


@dataclass(frozen=True)
class QuartilesView(ResultView):
    """View of one distribution function per category, as a table of quantiles.

    Attributes:
        levels: Probabilities of the quantiles.
    """

    levels: tuple[float, ...] = (0.25, 0.5, 0.75)  # probabilities: the quartiles

    def tables(self, curves: ByCategory[CDF]) -> list[ViewTable]:
        """Return a table with a row for each category: number of records, and quantiles with intervals in brackets.

        Args:
            curves: The released results by category to show.
        """
        from ..curves.cdf import name_quantile
        from ..display import describe_interval, format_number, join_columns

        privacy = curves.privacy
        scopes = self.select_scopes(privacy)
        formatted = (_format_quantiles(curve, self.levels, self.settings.level, scopes) for curve in curves.values())
        quantiles = zip(*formatted, strict=True)
        counted = "sum of weights" if any(curve.IS_WEIGHTED for curve in curves.values()) else "records"
        numbers = {
            counted: [format_number(round(curve.count)) for curve in curves.values()],
            **{name_quantile(p): list(column) for p, column in zip(self.levels, quantiles, strict=True)},
        }
        columns = join_columns(curves.label_columns(), numbers)
        interval_names = "; ".join(describe_interval(self.settings.level, "intervals", name) for name in scopes)
        caption = (
            f"{describe_two_sample_tests(curves, self.settings)}in brackets: {interval_names}; simultaneous in each row"
        )
        return [ViewTable(caption + self.describe_missing_population(privacy), columns, len(curves))]


class HistogramsView(ResultView):
    """View of one histogram per category, as a table with a column for each category."""

    SUPPRESSES = True

    def tables(self, curves: ByCategory[Histogram | WeightedHistogram]) -> list[ViewTable]:
        """Return tables with a row for each cell and a column for each category, six categories a table.

        Args:
            curves: The released results by category to show.
        """
        from ..display import name_label_columns

        first, *_ = curves.values()
        edge_indices = first.group_edges(MOST_BARS)
        cell_columns = _cell_columns(first.grid, first.label, edge_indices)
        names = name_label_columns([curves.format_category(category) for category in curves], cell_columns)
        counts = [
            (name, self._cell_counts(curve, edge_indices)) for name, curve in zip(names, curves.values(), strict=True)
        ]
        side_by_side = 6  # categories whose counts fit beside each other in a terminal of usual width
        chunks = [counts[start : start + side_by_side] for start in range(0, len(counts), side_by_side)]
        return [
            ViewTable(
                f"{_describe_standard_error(first)}{_describe_merged_cells(first, edge_indices)}",
                {**cell_columns, **dict(chunk)},
                MOST_BARS,
            )
            for chunk in chunks
        ]

    def _cell_counts(self, curve: Any, edge_indices: NDArray[Any]) -> ArrayLike:
        """Return the count of each (merged) cell; .. where its interval is wider than the suppression threshold. Sums
        of weights are not suppressed.

        Args:
            curve: Histogram of counts, or of weights.
            edge_indices: Indices of the edges of merged cells.

        Returns:
            Numbers, or texts if some are suppressed, (merged cells,).
        """
        from ..curves import WeightedHistogram
        from ..display import find_wide_intervals, format_numbers, suppress_rows

        if isinstance(curve, WeightedHistogram):
            sums: ArrayLike = curve.merge_bins(MOST_BARS).count.round()
            return sums
        counts: ArrayLike = curve.count_between(edge_indices)
        if self.settings.suppress is None:
            return counts
        lower, upper = curve.intervals(self.settings.level, edges=edge_indices).T
        rows = find_wide_intervals(counts, lower, upper, self.settings.suppress)
        suppressed: ArrayLike = suppress_rows({"": format_numbers(counts)}, [""], rows)[""]
        return suppressed


def _format_quantiles(
    curve: CDF, probabilities: Sequence[float], level: float, scopes: Mapping[str, bool]
) -> list[str]:
    """Return each quantile with its intervals in brackets, as text.

    Args:
        curve: Distribution function.
        probabilities: Shares of records, between 0 and 1.
        level: Confidence level of the intervals.
        scopes: Which intervals to show by name: False for these records, True for the population.

    Returns:
        One text per probability; "not known" if the interval has no bound.
    """
    from ..display.numerals import format_axis_interval, format_axis_value
    from ..inference.known_numbers import is_uninformative

    limits = [
        curve.quantile_intervals(probabilities, level, population=population).tolist() for population in scopes.values()
    ]
    quantiles = list[str]()
    for p, intervals in zip(probabilities, zip(*limits, strict=True), strict=True):
        cell_lower, cell_upper = curve.quantile_cell(p).tolist()
        lower, upper = intervals[0]
        quantile = format_axis_value(float(curve.quantile(p)), cell_lower, cell_upper, curve.label, upper - lower)
        printed = "; ".join(format_axis_interval(low, high, curve.label) for low, high in intervals)
        quantiles.append("not known" if is_uninformative(lower, upper, -inf, inf) else f"{quantile} ({printed})")
    return quantiles


def _cell_columns(grid: Grid, label: str, edge_indices: NDArray[Any]) -> dict[str, ArrayLike]:
    """Return the edges of cells or merged cells; for declared values the value, or the first and last merged value.

    Args:
        grid: Grid of the cells.
        label: Label of the axis, which ends with ``(date)`` or ``(moment)`` for dates or times.
        edge_indices: Indices of the edges of merged cells.

    Returns:
        Columns by name: ``left`` and ``right``; ``value``; or ``first`` and ``last``.
    """
    from ..display import format_number
    from ..display.numerals import format_date, is_date_axis

    values = grid.values
    if values is None and is_date_axis(label):
        edges = [format_date(x, label) or format_number(x) for x in grid.edges[edge_indices].tolist()]
        return {"left": edges[:-1], "right": edges[1:]}
    if values is None:
        return {"left": grid.edges[edge_indices[:-1]], "right": grid.edges[edge_indices[1:]]}
    first, last = values[edge_indices[:-1]], values[edge_indices[1:] - 1]
    return {"value": first} if len(edge_indices) > len(values) else {"first": first, "last": last}


def _describe_standard_error(curve: Histogram | WeightedHistogram) -> str:
    """Return the standard error of the noise in one cell as text, for the line above a table of cells.

    Args:
        curve: Released counts or sums of weights.
    """
    from ..curves import WeightedHistogram
    from ..display import RECORDS, format_number

    if isinstance(curve, WeightedHistogram):
        return f"sums of weights; standard error of the noise in a cell, {RECORDS}: {format_number(curve.error)}"
    return f"standard error of the noise in a cell, {RECORDS}: {format_number(curve.error)} records"


def _describe_merged_cells(curve: Histogram | WeightedHistogram, edge_indices: NDArray[Any]) -> str:
    """Return a note that cells were merged with neighbours; an empty text if they were not.

    Args:
        curve: Histogram of counts, or of weights.
        edge_indices: Indices of the edges that the printed table has.
    """
    return "" if len(edge_indices) > len(curve.count) else f"; {len(curve.count):,} cells, merged with neighbours"


def _parse_estimator(argument: str, word: str) -> TableEstimator:
    """Return the estimator of two-dimensional counts that a word names, such as "dawa".

    Args:
        argument: Name of the option, for the message.
        word: The typed text.

    Raises:
        Misuse: no estimator has this name.
    """
    from .. import histograms

    estimators = {
        "refined-grid": histograms.RefinedGridEstimator, "privtree": histograms.PrivTreeEstimator,
        "dawa": histograms.DawaEstimator, "ahp": histograms.AhpEstimator, "mwem": histograms.MwemEstimator,
        "hierarchy": histograms.HierarchyEstimator, "privelet": histograms.PriveletEstimator,
        "uniform-grid": histograms.UniformGridEstimator, "adaptive-grid": histograms.AdaptiveGridEstimator,
        "cells": histograms.CellEstimator,
    }  # fmt: skip
    estimator: TableEstimator = options.parse_choice(argument, word, estimators)()
    return estimator


@dataclass(frozen=True)
class PlaneOptions(options.QuestionOptions):
    """Options for two columns, their grids and the estimator."""

    x: str = options.option("NAME", options.COLUMN_HELP)
    y: str = options.option("NAME", "Second numeric column.")
    x_grid: str = options.option("L:U:N", "Public cells of the first column, as for --grid.", parse=options.parse_grid)
    y_grid: str = options.option("L:U:N", "Public cells of the second column.", parse=options.parse_grid)
    estimator: str | None = options.optional(
        "WORD",
        "refined-grid (the default), privtree, dawa, ahp, mwem, hierarchy, privelet, uniform-grid, "
        "adaptive-grid or cells.",
        _parse_estimator,
    )


class Histogram2DView(PlainView):
    """View of a two-dimensional histogram: merged counts as a table, all counts as a heat map."""

    def tables(self, curve: Histogram2D) -> list[ViewTable]:
        """Return a table of merged counts, at most eight rows and columns.

        Args:
            curve: The released result to show.
        """
        import numpy as np

        # at most 8 rows and columns; more cells are merged
        x_indices, y_indices = (np.linspace(0, size, min(size, 8) + 1).astype(int) for size in curve.count.shape)
        merged = np.rint(np.add.reduceat(np.add.reduceat(curve.count, x_indices[:-1], axis=0), y_indices[:-1], axis=1))
        x = curve.x_edges[x_indices].tolist()
        y = curve.y_edges[y_indices].tolist()
        columns: dict[str, ArrayLike] = {curve.labels[0]: [f"{left:g} to {right:g}" for left, right in pairwise(x)]}
        columns |= {f"{low:g} to {high:g}": merged[:, column] for column, (low, high) in enumerate(pairwise(y))}
        return [ViewTable(f"records; columns: {curve.labels[1]}", columns)]


SUBSET_OPTIONS_RULE = "give --and-column and --and-smallest together, or neither"
"""Rule in the error for one of --and-column and --and-smallest without the other."""
ALPHA = "alpha: the covered records may be this many more or fewer than requested (exceeded with probability 0.05)"
"""Legend of the column alpha of printed bounds, and of the line alpha of a plan."""


@dataclass(frozen=True)
class MagnitudeOptions(options.QuestionOptions):
    """Options for one or two numeric columns and the approximate size of their values."""

    column: str = options.option("NAME", options.COLUMN_HELP)
    smallest: str = options.option(
        "U",
        "Smallest bound tried, about the size of typical values, or auto. Bounds double from there.",
        options.AUTO,
        options.parse_magnitude,
    )
    and_column: str | None = options.optional("NAME", "Second column. Each column gets half of the loss.")
    and_smallest: str | None = options.optional(
        "U", "Smallest bound tried for the second column.", options.parse_positive_number
    )


def bounds_question(
    column: str, smallest: float, and_column: str | None, and_smallest: float | None, coverage: str
) -> BoundsQuestion | PlaneBoundsQuestion:
    """Return the question for clipping bounds of one column, or of two.

    Args:
        column: Name of the column.
        smallest: Smallest bound that may be found, in units of the column.
        and_column: Second column; None: one column only.
        and_smallest: Smallest bound of the second column; None: one column only.
        coverage: Share of the records that the bounds are to contain.

    Raises:
        Misuse: only one of the options of the second column is given, both columns are the same, or a number is
            invalid.
    """
    from ..curves import BoundsQuestion, PlaneBoundsQuestion

    with translate_argument_errors("smallest", "unit"):
        first = BoundsQuestion(column, smallest, coverage)
    if and_column is None and and_smallest is None:
        return first
    if and_column is None or and_smallest is None:
        raise Misuse("and-column", SUBSET_OPTIONS_RULE)
    if and_column == column:
        raise Misuse("and-column", "the same as --column; name another column")
    with translate_argument_errors("and-smallest", "unit"):
        return PlaneBoundsQuestion(first, BoundsQuestion(and_column, and_smallest, coverage))


class BoundsView(PlainView):
    """View of the private bounds of each column."""

    def tables(self, curve: Bounds | PlaneBounds) -> list[ViewTable]:
        """Return a table with a row for each column: lower and upper bound, and the error alpha in records.

        Args:
            curve: The released result to show.
        """
        from ..curves import Bounds
        from ..curves.bounds import CAPPED_SEARCH_NOTE

        all_bounds = [curve] if isinstance(curve, Bounds) else [curve.x, curve.y]
        lines = [
            f"{bounds.label}: covers {bounds.coverage_statement}"
            + (f"; {CAPPED_SEARCH_NOTE}" if bounds.is_capped else "")
            for bounds in all_bounds
        ]
        columns = {
            "lower": [bounds.lower for bounds in all_bounds],
            "upper": [bounds.upper for bounds in all_bounds],
            "alpha": [bounds.alpha for bounds in all_bounds],
        }
        return [ViewTable("\n".join([*lines, ALPHA]), columns)]


COUNTED_TOGETHER = "counted"
"""Word of the option by which values of no listed category are counted as one category, other; the other word is
missing, with which they count as missing values."""


def _parse_other(argument: str, word: str) -> bool:
    """Return whether values of no listed category are counted together. Raises `Misuse` for another word.

    Args:
        argument: Name of the option, for the message.
        word: The typed word.
    """
    return options.parse_choice(argument, word, {COUNTED_TOGETHER: True, "missing": False})


@dataclass(frozen=True)
class CategoryOptions(options.QuestionOptions):
    """Options for a column of categories, listed or selected."""

    column: str = options.option("NAME", "Column of categories: text, numbers or truth values.")
    categories: str | None = options.optional(
        "A,B,C", "Categories, declared in public. Without them, --delta or --universe selects those of many units."
    )
    universe: str | None = options.optional("LETTERS:LENGTH", options.UNIVERSE_HELP)
    other: str = options.option(
        "WORD", "Values of no listed category: counted (together, as other) or missing.", COUNTED_TOGETHER, _parse_other
    )

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the question by name: `by`, the column with its categories, and `other`.

        Args:
            defaults: Without effect.

        Raises:
            Misuse: categories are repeated, or given beside --universe.
        """
        from ..data import Categories, UnlistedCategories, parse_universe

        if self.categories is None:
            universe = None if self.universe is None else parse_universe(self.universe)
            return {
                "by": UnlistedCategories(self.column, universe=universe),
                "other": _parse_other("other", self.other),
            }
        if self.universe is not None:
            raise Misuse("universe", "categories are listed; leave --universe or --categories out")
        labels = options.parse_labels("categories", self.categories)
        if len(set(labels)) < len(labels):
            raise Misuse("categories", "a category is declared twice; list each once")
        return {"by": Categories(self.column, labels), "other": _parse_other("other", self.other)}


@dataclass(frozen=True)
class BarOptions(options.ReadingOptions):
    """Options for the order of bars, and for small counts that are left out."""

    sort: str = options.option("ORDER", "Order of the categories: listed, count (the largest first) or name.", "listed")
    suppress_below: str | None = options.optional(
        "N", "Print released counts below this number as .., without bar. JSON files keep them."
    )

    def adapt_view(self, view: Any, question: Any) -> Any:
        """Return the view with the order of --sort and the least count of --suppress-below.

        Args:
            view: View of the bar chart.
            question: Without effect.

        Raises:
            Misuse: the order is unknown, or the count no positive number.
        """
        from ..curves.bar_chart import ORDERS

        order = options.parse_choice("sort", self.sort, {order: order for order in ORDERS})
        least = (
            0.0 if self.suppress_below is None else options.parse_positive_number("suppress-below", self.suppress_below)
        )
        return replace(view, order=order, least_count=least)


@dataclass(frozen=True)
class BarChartView(ResultView):
    """View of a bar chart: a row for each category, in the order that was asked for.

    Attributes:
        order: Order of the categories, as for `BarChart.sort_by`.
        least_count: Released counts below this number are suppressed.
    """

    order: str = "listed"
    least_count: float = 0.0

    SUPPRESSES = True

    def compute_reading(self, curve: BarChart) -> BarChart:
        """Return the chart in the requested order, with counts below the requested minimum suppressed.

        Args:
            curve: The released result to show.
        """
        return curve.sort_by(self.order).suppress_below(self.least_count)

    def draw(self, curve: BarChart) -> Axes:
        """Return the axes of the bars, drawn without opening a window.

        Args:
            curve: The released result to show.
        """
        return super().draw(self.compute_reading(curve))

    def tables(self, curve: BarChart) -> list[ViewTable]:
        """Return a table with a row for each category: count, intervals, and share.

        Args:
            curve: The released result to show.
        """
        chart = self.compute_reading(curve)
        missing = f"{chart._missing_label}: {chart._describe_missing(self.settings.level)}"
        caption = missing + self.describe_missing_population(chart.privacy)
        table = chart.describe_table(**self.settings._asdict())
        # intervals of shares, which are intervals of counts over the sum, are in files: rows fit into a terminal
        ends = [column.name for column in table.columns if column.name.startswith("share_")]
        return [ViewTable.from_table(caption, table, 60, without=ends)]


@dataclass(frozen=True)
class CrossTableOptions(options.QuestionOptions):
    """Options for two columns and their categories."""

    rows: str = options.option("NAME", "Column of categories: one row per category.")
    row_categories: str = options.option("A,B,C", "Its categories, declared in public. Other values count as missing.")
    columns: str = options.option("NAME", "Another column of categories: one column per category.")
    column_categories: str = options.option(
        "A,B,C", "Its categories, declared in public. Other values count as missing."
    )

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the question fields ``rows`` and ``columns``: two columns, each with its declared categories.

        Args:
            defaults: Default arguments of the question, by name; not used.
        """
        from ..data import Categories

        return {
            "rows": Categories(self.rows, options.parse_labels("row-categories", self.row_categories)),
            "columns": Categories(self.columns, options.parse_labels("column-categories", self.column_categories)),
        }


class ContingencyView(ResultView):
    """View of a contingency table: the test of independence, and a row for each pair of categories."""

    SUPPRESSES = True

    def tables(self, curve: Contingency) -> list[ViewTable]:
        """Return a table with a row for each pair of categories: count, intervals, and shares of row and column.

        Args:
            curve: The released result to show.
        """
        caption = curve.test_description + self.describe_missing_population(curve.privacy)
        return [ViewTable.from_table(caption, curve.describe_table(**self.settings._asdict()), 60)]


@dataclass(frozen=True, kw_only=True)
class BoundedColumn(options.ColumnOptions):
    """Options for a numeric column and its public bounds."""

    bounds: str = options.option(
        "L:U", "Public clipping bounds: values outside are clipped. Or auto: part of the budget searches for bounds."
    )

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the question by name: with `lower` and `upper` of --bounds, or without bounds for
        ``auto``.

        Args:
            defaults: Default arguments of the question.

        Raises:
            Misuse: the text of --bounds is neither ``lower:upper`` nor ``auto``.
        """
        if self.bounds == options.AUTO:
            return {name: value for name, value in super().question_fields(defaults).items() if name != "bounds"}
        try:
            lower, upper = (options.parse_number("bounds", end) for end in self.bounds.split(":"))
        except ValueError:
            raise Misuse("bounds", f"write lower:upper, as in 0:100, or auto; got {self.bounds!r}") from None
        question_fields = super().question_fields(defaults)
        del question_fields["bounds"]
        return {**question_fields, "lower": lower, "upper": upper}


class SummaryView(ResultView):
    """View with a row for each statistic and its intervals."""

    SUPPRESSES = True

    def tables(self, curve: Summary) -> list[ViewTable]:
        """Return one table with a row per statistic and its intervals; the headline begins with the plot's axis
        label.

        Args:
            curve: The released result to show.
        """
        (table,) = super().tables(curve)
        return [table._replace(headline="\n".join(filter(None, [curve.plot_label, table.headline])))]


class SummariesView(ResultView):
    """View with a row for each category: every statistic, and intervals of the statistic that was asked for."""

    SUPPRESSES = True

    def tables(self, curves: SummaryByCategory) -> list[ViewTable]:
        """Return a table with a row for each category: all statistics, and intervals of the requested statistic.

        Args:
            curves: The released results by category to show.
        """
        from ..curves.result import INDIVIDUAL_INTERVAL
        from ..display import format_numbers, join_columns

        summaries = list(curves.values())
        first = summaries[0]
        statistic = summaries[0].statistic
        index = list(first.statistics).index(statistic)
        columns: dict[str, ArrayLike] = {}
        for name, title in first.names.items():
            columns[title] = format_numbers([summary.statistics[name] for summary in summaries])
        for name, population in self.select_scopes(first.privacy).items():
            intervals = [
                summary.intervals(self.settings.level, population=population)[index].tolist() for summary in summaries
            ]
            columns[f"{statistic}, {name.split()[-1]}"] = intervals
        if self.settings.suppress is not None:
            columns = self._suppress_wide_intervals(columns, summaries, index)
        columns = join_columns(curves.label_columns(), columns)
        return [
            ViewTable(
                f"{first.plot_label}\n{self.describe_intervals(first.privacy, INDIVIDUAL_INTERVAL)}",
                columns,
                len(summaries),
            )
        ]

    def _suppress_wide_intervals(
        self, columns: Mapping[str, ArrayLike], summaries: Sequence[Summary], interval_index: int
    ) -> dict[str, ArrayLike]:
        """Return the columns with ``..`` for statistics whose interval for these records is wider than the typed
        fraction of them.

        Args:
            columns: Columns of the printed table by name.
            summaries: One summary per row.
            interval_index: Index of the statistic whose intervals are printed.
        """
        import numpy as np

        from ..display import find_wide_intervals, format_numbers, suppress_rows

        intervals = np.array([summary.intervals(self.settings.level) for summary in summaries])
        texts_by_column = dict(columns)
        interval_columns = [
            f"{summaries[0].statistic}, {name.split()[-1]}" for name in self.select_scopes(summaries[0].privacy)
        ]
        for index, (statistic, column) in enumerate(summaries[0].names.items()):
            values = [summary.statistics[statistic] for summary in summaries]
            rows = find_wide_intervals(
                values, intervals[:, index, 0], intervals[:, index, 1], self.settings.suppress or 0.0
            )
            names = [column, *(interval_columns if index == interval_index else [])]
            texts = {
                name: format_numbers(np.asarray(texts_by_column[name]))
                if name in interval_columns
                else texts_by_column[name]
                for name in names
            }
            texts_by_column |= suppress_rows(texts, names, rows)
        return texts_by_column
