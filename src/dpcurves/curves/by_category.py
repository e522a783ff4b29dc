"""A curve for each declared category, at the largest of their losses (parallel composition).

Categories of one or several columns are rows of one table, and each curve is computed from its row:

    loss of all curves = loss of one curve      because a record lies in at most one row

- `ByCategory` is a mapping from categories to curves, with a picture and a table of all of them.
- `sum_over` adds rows up to margins: each release is ``S c + noise`` with the same linear S, so a sum of releases is a
  release of the union whose noises are sums (`sum_curves`); its bands are simulated from that distribution.

Formal guarantees: parallel composition under add-remove; under replace-one a replaced record may change two rows, which
the L1 sensitivity of the table accounts for. Margins are functions of released counts (post-processing).

Reference: McSherry 2009, *Privacy integrated queries* (parallel composition).

>>> import dpcurves as dp
>>> people = {"age": [30, 40, 50] * 500, "ward": ["a", "b", "b"] * 500}
>>> with dp.Session(people, budget=dp.PrivacyLoss.pure(99), adjacency=dp.ADD_REMOVE) as session:
...     curves = session.ask(dp.CdfQuestion("age", dp.Grid(0, 100, cells=10), by=dp.Categories("ward", ("a", "b"))),
...         loss=dp.PrivacyLoss.pure(99))
>>> {ward: float(curve.cdf(40).round(1)) for ward, curve in curves.items()}  # shares below 40
{'a': 1.0, 'b': 0.0}
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from .. import display
from ..arguments import InvalidArgument, WrongArgumentType, describe_value, parse_choice, require_type
from ..arrays import FloatArray
from ..conversation import Evidence, PrivacyStatement
from ..data import Category
from ..display import MOST_LABELLED, Shade, describe_interval
from ..display.numerals import UNITS
from ..queries import Hint
from ..translation import translate
from .question import By, Key, combine_categories, format_key, list_columns, parse_grouping
from .result import (
    WIDE_INTERVAL_NOTE,
    CompositeResult,
    PlotArguments,
    interval_scopes,
    refuse_damaged,
    require_label_mappings,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Tuning:
    """Thresholds of pictures of several categories."""

    widest_shared_band: float = 0.3
    """Share of the height of the axes: from a band of this mean width on, each category gets a separate plot."""


TUNING = Tuning()
"""The width of a band from which pictures of several categories draw each category apart: see the field of `Tuning`."""
LEADING_PERCENTAGE = re.compile(r"(\d+)%(.*)", re.DOTALL)
"""Matches a note that begins with a percentage, as in ``30% lie above``. Such notes on several categories are merged
into one with a range of percentages."""
INDIVIDUAL_INTERVAL = "individual interval"
"""Label of intervals each of which holds with the stated probability, but not all at once."""
MISSING_COLUMN_MESSAGE = "the column of the categories is missing: use the text that to_json wrote"
"""Message about JSON of a result by category that does not name the column of the categories."""
Curve = TypeVar("Curve", bound=Any)  # a curve with `privacy`, `plot`, `to_frame` and `to_json`


class ByCategory(CompositeResult, Mapping[Key, Curve]):
    """A mapping from each category to its curve, in the declared order.

    If records are grouped by several columns, a category is a tuple with one value of each: ``curves["F", "north"]``.

    The curves share a picture, or have small pictures if there are many, or their medians are plotted in rows. Bands of
    histograms hide each other, as does a band that fills the picture: then each curve has a picture, and `plot` returns
    the axes of the first. For more than 20 distribution functions the medians are plotted with their intervals and
    quartiles, sorted by size if categories are text. `name` precedes the categories in the legend.

    Attributes:
        columns: The columns of the categories.

    Formal guarantees: a record lies in at most one category, and each curve is computed from separate cells of one
    table, so all curves together lose the loss of that table.
    """

    TITLE = "By {column}"

    MEMBER_KIND: ClassVar[str] = ""
    """The kind of all the curves; empty if any kind is allowed."""

    def __init__(self, columns: str | Sequence[str], curves: Mapping[Key, Curve]) -> None:
        self.columns = (columns,) if isinstance(columns, str) else tuple(columns)
        self._curves = dict(curves)

    @property
    def column(self) -> str:
        """The names of the category columns, joined by commas."""
        return ", ".join(self.columns)

    def format_category(self, category: Key) -> str:
        """Return the name of a category with its column, above tables of a terminal; pictures name the column once.

        Args:
            category: A category, or one category of each column.
        """
        return f"{self.column} {category}" if len(self.columns) == 1 else format_key(category)

    def label_columns(self) -> list[tuple[str, list[str]]]:
        """Return the columns, each with the category of every curve as text: see `display.join_columns`."""
        return [(column, list(map(str, values))) for column, values in self._category_columns()]

    def _category_columns(self) -> list[tuple[str, list[Category]]]:
        """Return the columns, each with the declared category of every curve.

        Returns:
            (column name, categories) pairs; the categories are in the order of the curves.
        """
        keys = [category if isinstance(category, tuple) else (category,) for category in self._curves]
        return [(column, [key[index] for key in keys]) for index, column in enumerate(self.columns)]

    def __getitem__(self, category: Key) -> Curve:
        require_type("category", category, Hashable, "a category, or a tuple of one of each column,")
        return self._curves[category]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._curves)

    def __len__(self) -> int:
        return len(self._curves)

    def sum_over(self, *columns: str) -> Any:
        """Return the margin: curves of all records over the categories of these columns, with intervals. Costs no
        budget.

        ``curves.sum_over("ward")`` of curves by ward and year is curves by year; over all columns it is one curve. Sums
        of parts equal these margins exactly before negative counts are set to zero. Records outside the declared
        categories are in no margin.

        Args:
            columns: Names of columns of the categories.

        Returns:
            A `ByCategory` by the remaining columns, or one curve.

        Raises:
            ValueError: a column is not one of the columns of the categories, or curves have different cells.
            TypeError: the curves do not add up: distribution functions, histograms, counts and sums do.

        Formal guarantees: post-processing. The noise of a margin is the sum of the noises of its parts, and its
            intervals are computed from this distribution, see `sum_curves`.
        """
        remaining, curves = compute_margins(self.columns, self._curves, columns)
        return type(self)(remaining, curves) if remaining else next(iter(curves.values()))

    @property
    def privacy(self) -> PrivacyStatement:
        """The common privacy statement; each note names its category."""
        privacy: PrivacyStatement = next(iter(self._curves.values())).privacy
        return replace(
            privacy, notes=merge_notes({format_key(name): curve.notes for name, curve in self._curves.items()})
        )

    def _title(self) -> str:
        """Return the title: the first curve's title, and the columns of the categories."""
        if not self or type(self).TITLE != ByCategory.TITLE:
            return super()._title()
        return f"{next(iter(self.values()))._title()} by {self.column}"

    def _plot_at_level(self, level: float | None, *, population: bool, ax: Axes | None, name: str | None) -> Axes:
        """Draw all curves on shared axes, as small multiples, or as medians in rows, by their number and bands; return
        the (first) axes.

        Args:
            level: Confidence level of bands; None: without.
            population: Whether bands for the population are drawn.
            ax: Axes to draw on; None: new ones.
            name: Name before the categories in the legend; None: none.

        Raises:
            InvalidArgument: there are no categories.
        """
        if not self:
            raise InvalidArgument(
                "by",
                "there are no categories to plot: ask again with by= naming a column whose categories have records",
            )
        names = self._category_names(name)
        curves = list(self.values())
        options = {"level": level, "population": population}
        # more small multiples than 20 are not readable
        if len(names) > 20 and all(hasattr(curve, "quantile_intervals") for curve in curves):
            return self._plot_medians(names, ax, level, population=population)
        most_together = min(getattr(curve, "TOGETHER", 4) for curve in curves)  # 4 curves with bands on common axes
        if len(names) > most_together or (len(names) > 1 and self._has_wide_band(level, population=population)):
            plots = [partial(curve.plot, **options) for curve in curves]
            return display.draw_small_multiples(names, plots, self._describe_release(level), column=self.column, ax=ax)
        for label, curve in zip(names, curves, strict=True):
            ax = curve.plot(ax=ax, name=label, **options)
        axes = cast("Axes", ax)
        display.set_legend_title(axes, self._legend_title(level))
        return axes

    def _describe_release(self, level: float | None) -> PrivacyStatement:
        """Return the privacy statement printed below small multiples, which does not depend on the level of their
        bands.

        Args:
            level: Without effect.
        """
        return self.privacy

    def _legend_title(self, level: float | None) -> str:
        """Return the title of the legend of curves on shared axes, whose bands have this level.

        Args:
            level: Without effect.
        """
        return self.column

    def _has_wide_band(self, level: float | None, *, population: bool) -> bool:
        """Return whether a drawn band of shares would fill much of shared axes and hide the other curves.

        Args:
            level: Level of the bands; None: none are drawn, and the notes decide.
            population: If True, there are bands for the population, too.
        """
        if level is None:
            return any(WIDE_INTERVAL_NOTE in note for curve in self.values() for note in curve.notes)
        scopes = interval_scopes(self.privacy, population=population)
        bands = [shade for curve in self.values() for shade in curve._build_shades(scopes, level)]
        return any(display.mean_band_width(band) > TUNING.widest_shared_band for band in bands)

    def _plot_medians(self, names: Sequence[str], ax: Axes | None, level: float | None, *, population: bool) -> Axes:
        """Plot the median and quartiles of each curve in a row, with intervals of the medians; return the axes.

        Args:
            names: Names of the rows.
            ax: Axes to draw on; None: new ones.
            level: Confidence level of the intervals; None: without.
            population: Whether intervals for the population are drawn.
        """
        curves = list(self.values())
        shades = list[Shade]()
        quartile_levels = (0.25, 0.5, 0.75)  # of a row in a picture of medians: both ends of its box, and the median
        quartiles = np.array([curve.quantile(np.array(quartile_levels)) for curve in curves])
        for scope, is_population in interval_scopes(self.privacy).items() if level is not None else ():
            if is_population and not population:
                continue
            intervals = [
                curve.quantile_intervals(quartile_levels[1:2], level, population=is_population)[0] for curve in curves
            ]
            clipped = [
                np.clip(interval, curve.x[0], curve.x[-1]) for interval, curve in zip(intervals, curves, strict=True)
            ]
            lower, upper = np.array(clipped).T
            shades.append(Shade(lower, upper, describe_interval(cast("float", level), INDIVIDUAL_INTERVAL, scope)))
        order = self.order_by_size(quartiles[:, 1])
        rows = [shade.select_rows(order) for shade in shades[::-1]]
        return display.draw_means(
            [names[index] for index in order], quartiles[order, 1], self.privacy, label=f"median of {curves[0].label}",
            column=self.column, shades=rows, halves=quartiles[order][:, [0, 2]], ax=ax,
        )  # fmt: skip

    def order_by_size(self, values: FloatArray) -> NDArray[np.int64]:
        """Return the indices of rows in the order of a picture: by decreasing value for many text categories, else
        as declared.

        Args:
            values: Number of each row, (categories,), as declared.

        Returns:
            Indices into `values`, (categories,). Rows keep their order for up to `MOST_LABELLED` categories, or if one
            is not text.
        """
        if len(self) <= MOST_LABELLED or not all(isinstance(key, str) for key in self):
            return np.arange(len(self))
        return np.argsort(-values, kind="stable")

    def _category_names(self, name: str | None) -> list[str]:
        """Return the distinct label of each category in a picture, after `name` if given; the picture has the column
        as title of its legend or of its rows."""
        labels = map(self._translate_category, self)
        names = [label if name is None else f"{name}, {label}" for label in labels]
        return display.format_distinct_labels(names, display.LONGEST_WHOLE)

    def _translate_category(self, category: Key) -> str:
        """Return the name of a category; the category of all other values has a name in the reader's language.

        Args:
            category: A category, or one category of each column.
        """
        values = category if isinstance(category, tuple) else (category,)
        return format_key(tuple(str(translate(str(v))) if v in self._rest_names else v for v in values))

    def with_labels(
        self, columns: Mapping[str, str], categories: Mapping[str, Mapping[str, str]] | None = None
    ) -> Self:
        """Return the same curves with other names of columns and categories, for display.

        Args:
            columns: New name of each column that gets one.
            categories: For each column, the new label of each category (as text) that gets one; None: labels stay.

        Raises:
            ValueError: two categories would have the same label.
        """
        require_label_mappings(columns, categories)
        labels = [(categories or {}).get(column, {}) for column in self.columns]

        def rename_key(key: Key) -> Key:
            """Return the key of a category with its new labels.

            Args:
                key: A category, or one category of each column.
            """
            parts = key if isinstance(key, tuple) else (key,)
            renamed = tuple(
                column_labels.get(str(part), part) for column_labels, part in zip(labels, parts, strict=True)
            )
            return renamed if isinstance(key, tuple) else renamed[0]

        curves = {rename_key(key): curve.with_labels(columns, categories) for key, curve in self._curves.items()}
        if len(set(map(format_key, curves))) < len(self._curves):
            raise InvalidArgument("categories", "two categories would have the same label; give each another label")
        return type(self)([columns.get(column, column) for column in self.columns], curves)

    def _with_source(self, source: str) -> Self:
        """Return the same curves with this description of the data in their privacy statements.

        Args:
            source: Description of the data.
        """
        curves = {key: curve._with_source(source) for key, curve in self._curves.items()}
        return type(self)(self.columns, curves)

    def _suppressible_columns(self) -> Sequence[str]:
        """Return the names of the first curve's columns whose small counts may be hidden in tables.

        Returns:
            Names of the first curve's columns; empty without curves.
        """
        return () if not self else next(iter(self.values()))._suppressible_columns()

    def _members(self) -> Mapping[str, Curve]:
        """Return the curves by formatted category, which the JSON document contains.

        Returns:
            Curves by the text of their category.
        """
        return {format_key(category): curve for category, curve in self._curves.items()}

    def _question(self) -> Mapping[str, object]:
        """Return the JSON fields of the grouping: columns and categories.

        Returns:
            ``by``, a column name or a list of several, and ``categories``, in the order of the curves.
        """
        by = self.column if len(self.columns) == 1 else list(self.columns)
        return {"by": by, "categories": list(self._curves)}

    @classmethod
    def from_json(cls, text: str, kind: type[Curve] | None = None) -> Self:
        """Parse the output of `to_json`. With a `kind`, such as ``dp.CDF``, curves of another class raise an error.

        Args:
            text: JSON text.
            kind: Class that all curves must have; None: any class.

        Raises:
            ValueError: the text holds no curves by category, or curves of another class.
        """
        with refuse_damaged():
            return cls._from_document(display.parse_curve(text, cls.KIND), kind)

    @classmethod
    def matches_document(cls, document: Mapping[str, Any]) -> bool:
        """Return whether a document names the column of the categories, with curves of the required kind.

        Args:
            document: Parsed JSON document of a result.
        """
        kinds = {curve["kind"] for curve in document["curves"].values()}
        is_of_kind = kinds <= ({cls.MEMBER_KIND} if cls.MEMBER_KIND else kinds)
        return super().matches_document(document) and "by" in document["evidence"]["question"] and is_of_kind

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Self:
        """Return the curves from a parsed JSON document, of any kind.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        return cls._from_document(document, None)

    @classmethod
    def _from_document(cls, document: display.CurveDocument, kind: type[Any] | None) -> Self:
        """Return the curves by category from a parsed JSON document.

        Args:
            document: The document.
            kind: Class that all curves must have; None: any class.

        Raises:
            InvalidArgument: columns and categories do not fit the curves.
        """
        question = document.question
        curves = document.arrays["curves"]
        keys = question.get("categories", list(curves))
        by = question.get("by")
        categories: list[Key] = [tuple(key) if isinstance(key, list) else key for key in keys]
        length = len(by) if isinstance(by, list) else 1
        is_consistent = all((len(key) if isinstance(key, tuple) else 1) == length for key in categories)
        if "by" not in question or not is_consistent or list(map(format_key, categories)) != list(curves):
            raise InvalidArgument("curve.evidence.question", MISSING_COLUMN_MESSAGE)
        members = cls.parse_members(document, kind)
        return cls(by if isinstance(by, list) else str(by), dict(zip(categories, members.values(), strict=True)))

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """Return the columns of all curves, stacked, after columns of their categories.

        The category columns have the names of the columns of the data, or ``NAME_category`` if a column of numbers has
        that name. With a `level`, the bounds of bands or intervals are added: for these records, or with `population`
        for the population.

        Args:
            level: Level of the bounds; None: without bounds.
            population: If True, the bounds are for the population.
        """
        options = {} if level is None else {"level": level, "population": population}
        frames = [curve.to_frame(**options) for curve in self._curves.values()]
        return display.stack_frames(frames, self.label_columns())

    def _axis_labels(self) -> Mapping[str, str]:
        """Return the axis label of each column of numbers, as the first curve gives it.

        Returns:
            Labels by column name; empty without curves.
        """
        return next((curve._axis_labels() for curve in self.values()), {})

    def _edge_columns(self) -> Collection[str]:
        """Return the names of columns that hold edges of cells, as the first curve gives them."""
        return next((curve._edge_columns() for curve in self.values()), ())

    def _column_words(self) -> Mapping[str, display.ColumnWords]:
        """Return title and format of each column of numbers, as the first curve gives them."""
        return super()._column_words() or next((curve._column_words() for curve in self.values()), {})

    def _row_words(self) -> Mapping[str, str]:
        """Return the titles of the numbers in a list of statistics, by short name, as the first curve gives them."""
        words: Mapping[str, str] = next((curve._row_words() for curve in self.values()), {})
        return self.ROW_WORDS or words

    def _describe_ends(
        self, names: Sequence[str], words: Mapping[str, display.ColumnWords], level: float
    ) -> dict[str, display.IntervalEnds]:
        """Return what each column of interval endpoints bounds, as the first curve describes it.

        Args:
            names: Columns of interval ends.
            words: Descriptions of the columns of numbers, by name.
            level: Confidence level of the intervals.
        """
        if self.COLUMN_WORDS or not self:
            return super()._describe_ends(names, words, level)
        ends: dict[str, display.IntervalEnds] = next(iter(self.values()))._describe_ends(names, words, level)
        return ends

    def _declared_numbers(self, columns: Collection[str]) -> Mapping[str, Mapping[str, Category]]:
        """Return, for each of these columns whose categories are numbers, the number of each category text.

        Args:
            columns: Names of the columns of the table.
        """
        return display.find_declared_numbers(self._category_columns(), columns)

    def _repr_facts(self) -> tuple[str, ...]:
        """Return the texts that `repr` shows: columns, and the number of categories."""
        return self.column, f"{len(self)} categories"

    def _summary(self) -> list[tuple[str, str]]:
        """Return one pair of texts: the number of categories; their numbers are in `describe_groups`."""
        return [("categories", str(len(self)))]

    def _facts_beside(self, tables: Sequence[display.ResultTable], suppress: float | None) -> list[tuple[str, str]]:
        """Return the rows of the summary that no shown table repeats; beside the table of categories, their number is
        left out.

        Args:
            tables: Tables that are shown.
            suppress: Largest width of an interval as a fraction of its number; None: nothing is suppressed.

        Returns:
            (name, text) pairs in the order of the summary.
        """
        facts = super()._facts_beside(tables, suppress)
        return [(name, text) for name, text in facts if name != "categories" or not tables]

    def report_tables(
        self, *, level: float = 0.95, population: bool = True, suppress: float | None = None
    ) -> list[display.ResultTable]:
        """Return two tables for reports: key numbers of each category, and all points of the curves, which pages show
        folded.

        Args:
            level: Confidence level of the intervals.
            population: Whether intervals for the population are included.
            suppress: Largest width of an interval as a fraction of its number; wider ones are shown as ``..``. None:
                all are shown.
        """
        tables = super().report_tables(level=level, population=population, suppress=suppress)
        group_table = (
            None if tables[0].is_list else self.describe_groups(level=level, population=population, suppress=suppress)
        )
        if group_table is None:
            return tables
        return [group_table, *(replace(table, is_detail=True) for table in tables)]

    def describe_groups(
        self, *, level: float = 0.95, population: bool = True, suppress: float | None = None
    ) -> display.ResultTable | None:
        """Return a table with the numbers of each category in a row, such as its median with intervals.

        Args:
            level: The confidence level of the intervals.
            population: Whether intervals for the population are included.
            suppress: Largest width of an interval as a fraction of its number; wider ones are shown as ``..``. None:
                all are shown.

        Returns:
            The table; None if there are no categories, or curves have no key numbers.

        >>> import dpcurves as dp
        >>> people = {"age": [30, 40, 50] * 1000, "ward": ["a", "b", "b"] * 1000}
        >>> with dp.Session(people, budget=dp.PrivacyLoss.pure(99), adjacency=dp.ADD_REMOVE) as session:
        ...     question = dp.CdfQuestion("age", dp.Grid(0, 100, cells=10), by=dp.Categories("ward", ("a", "b")))
        ...     ages = session.ask(question, dp.PrivacyLoss.pure(99))
        >>> ages.describe_groups().text_columns()["records"]
        ['1,000', '2,000']
        """
        rows = [curve.key_columns(level, population=population) for curve in self.values()]
        words: Mapping[str, display.ColumnWords] = next((curve._key_words() for curve in self.values()), {})
        if rows and not rows[0]:
            rows = [dict(curve._summary()) for curve in self.values()]
            words = {name: display.ColumnWords(name, display.CellFormat.TEXT) for row in rows for name in row}
        names = list(dict.fromkeys(name for row in rows for name in row))
        if not names:
            return None
        numbers = {name: _as_column([row.get(name) for row in rows]) for name in names}
        labels = dict(zip(display.name_label_columns(self.columns, names), self.label_columns(), strict=True))
        columns: dict[str, Any] = {**{name: texts for name, (_, texts) in labels.items()}, **numbers}
        ends = self._describe_ends([name for name in names if name not in words], words, level)
        # the bands of the curves are intervals in a table of single numbers
        named = (str(curve._interval_name()) for curve in self.values() if hasattr(curve, "_interval_name"))
        interval_name = next(named, "")
        ends = {name: end._replace(title=end.title.replace(interval_name, "interval")) for name, end in ends.items()}
        if suppress is not None and self._suppressible_columns():
            columns = _suppress_numbers(columns, ends, suppress)
        return display.build_table(columns, words, ends=ends, title=f"Numbers by {display.format_label(self.column)}")

    def _columns(self) -> Mapping[str, Any]:
        """Return the category columns of the data frame without the columns of curves.

        Returns:
            The category columns by name, a list of texts each.
        """
        return display.join_columns(self.label_columns(), {})

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the curves of all categories on the axes ``how["ax"]``, without intervals; return the axes.

        Args:
            shades: Not used: the axes would be too full.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        return self.plot(how["ax"], level=None, name=how["name"])


def _suppress_numbers(
    columns: dict[str, Any], ends: Mapping[str, display.IntervalEnds], suppress: float
) -> dict[str, Any]:
    """Return the columns with ``..`` for numbers whose interval for these records, the first one, is wide.

    Args:
        columns: All columns by name.
        ends: Columns of interval ends, with the column they belong to.
        suppress: Largest width of an interval as a fraction of its number.
    """
    for name in dict.fromkeys(end.of for end in ends.values()):
        names = [end_name for end_name, end in ends.items() if end.of == name]
        rows = display.find_wide_intervals(columns[name], columns[names[0]], columns[names[1]], suppress)
        columns = display.suppress_rows(columns, [name, *names], rows)
    return columns


def _as_column(values: Sequence[Any]) -> NDArray[Any]:
    """Return a column of numbers; of objects if some are text, as where a median is not reached.

    Args:
        values: Numbers, or texts in place of numbers that have no value.

    Returns:
        Array of the length of `values`.
    """
    has_text = any(isinstance(value, str) for value in values)
    return np.array(values, dtype=object if has_text else np.float64)


def merge_notes(notes: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the notes of several curves, each once, after the names of its curves. Notes that differ only in the
    percentage at their beginning are merged to one with a range.

    Args:
        notes: Notes of each curve, by its name.

    >>> merge_notes({"a": ("30% lie above",), "b": ("35% lie above", "missing"), "c": ()})
    ('a, b: 30% to 35% lie above', 'b: missing')
    """
    names = dict[str, list[str]]()
    shares = dict[str, list[int]]()
    for name, curve_notes in notes.items():
        for note in curve_notes:
            match = LEADING_PERCENTAGE.fullmatch(note)
            text = note if match is None else match[2]
            names.setdefault(text, []).append(name)
            shares.setdefault(text, []).extend([] if match is None else [int(match[1])])
    return tuple(_format_merged_note(text, names[text], shares[text], len(notes)) for text in names)


def _format_merged_note(text: str, names: Sequence[str], shares: Sequence[int], total: int) -> str:
    """Return one note in place of equal notes on several curves, with its range of percentages.

    Args:
        text: The note without its percentage.
        names: Names of the curves that have it.
        shares: Percentages in the notes of these curves.
        total: Number of all curves. If all have the note, it names none of them.
    """
    if not shares:
        share_range = ""
    elif len(set(shares)) > 1:
        share_range = f"{min(shares)}% to {max(shares)}%"
    else:
        share_range = f"{shares[0]}%"
    most_named = 6  # categories that a merged note lists
    rest = f" and {len(names) - most_named} more" if len(names) > most_named else ""
    prefix = "" if len(names) == total else f"{', '.join(names[:most_named])}{rest}: "
    return f"{prefix}{share_range}{text}"


def split_rows(evidence: Evidence, rows_per_part: int = 1) -> list[Evidence]:
    """Return the evidence of each category, which has one row of counts or a group of neighbouring rows.

    A known total of all rows is not used, because it hardly reduces the error of one row among several.

    Args:
        evidence: Released counts of all rows.
        rows_per_part: Number of rows of a category.
    """
    distribution = evidence.sums
    row_distribution = distribution.with_rows(rows_per_part)
    parts: list[tuple[int, ...]] = [()] * (distribution.rows // rows_per_part)
    start = 0
    for length in (distribution_part.length * rows_per_part for distribution_part in distribution.parts):
        for group in range(len(parts)):
            parts[group] += evidence.values[start : start + length]
            start += length
    return [Evidence(row_distribution, values, None) for values in parts]


# Margins: sums of a release over categories of some columns, as curves and numbers with intervals.


MARGIN_NOTE = "a sum over the declared categories of {columns}: records of no declared category are in none of them"
"""Note on a result that was added up over a column: only its declared categories are in the sum."""


def sum_curves(curves: Sequence[Curve], *notes: str) -> Curve:
    """Return the curve of the union of the records of these curves, computed from the sums of their releases. Costs
    no budget.

    Formal guarantees: it is computed from released numbers alone and costs no budget. *Proof of its intervals.* Each
    release of one distribution is ``S c + noise``, with the same linear S for all; their sum is ``S (sum of c) + (sum
    of noises)``. That is a release of the union under the distribution whose noises are sums of independent noises,
    which `NoisySums.sum_over_releases` returns; intervals are simulated from it as from any other distribution.

    Args:
        curves: Curves of one kind, of disjoint records, from one release: the same question, the same distributions.
        notes: Notes of the resulting curve.

    Raises:
        TypeError: curves of this kind do not add up.
        ValueError: the curves differ in cells or distributions.
    """
    first = curves[0]
    if not first.IS_ADDITIVE:
        raise WrongArgumentType(
            "columns",
            f"results of type {type(first).__name__} do not add up over categories; ask for counts or sums by category",
        )
    questions = {json.dumps(dict(curve._question()), sort_keys=True, default=str) for curve in curves}
    distributions = [tuple(evidence.distribution for evidence in curve.rounds) for curve in curves]
    if len(questions) > 1 or any(curve != distributions[0] for curve in distributions):
        raise InvalidArgument(
            "columns", "curves with different cells or noise do not add up: sum curves of one question"
        )
    rounds_of_curves = [curve.rounds for curve in curves]
    evidences = [Evidence.sum_disjoint(one_round) for one_round in zip(*rounds_of_curves, strict=True)]
    stored = json.loads(first.to_json())
    stored["evidence"]["releases"] = [evidence.to_json() for evidence in evidences]
    stored["notes"] = list(notes)  # notes on single categories are recomputed from the sums
    total: Curve = type(first).from_json(json.dumps(stored))
    return total


def compute_margins(
    columns: Sequence[str], curves: Mapping[Key, Any], summed_columns: Sequence[str]
) -> tuple[list[str], dict[Key, Any]]:
    """Return the remaining columns, and for each of their categories the sum of the curves.

    Args:
        columns: Columns of categories, in the order of the keys.
        curves: Curves by category.
        summed_columns: Columns over whose categories the curves are summed.

    Raises:
        ValueError: a summed column is not one of `columns`, or is repeated.
        TypeError: curves of this kind do not add up.
    """
    unknown = [name for name in summed_columns if not isinstance(name, str) or name not in columns]
    if not summed_columns or unknown or len(set(summed_columns)) < len(summed_columns):
        names = ", ".join(map(describe_value, columns))
        raise InvalidArgument("columns", f"columns of these categories are needed, each once: {names}")
    indices = [index for index, name in enumerate(columns) if name not in summed_columns]
    parts: dict[Key, list[Any]] = {}
    for key, curve in curves.items():
        values = key if isinstance(key, tuple) else (key,)
        remaining = tuple(values[index] for index in indices)
        parts.setdefault(remaining[0] if len(remaining) == 1 else remaining, []).append(curve)
    note = MARGIN_NOTE.format(columns=", ".join(summed_columns))
    return [columns[index] for index in indices], {key: sum_curves(group, note) for key, group in parts.items()}


# Common parts of questions about one column: curves by category, labels of axes, descriptions for ledgers.


AnyCurve = TypeVar("AnyCurve", bound=Any)


def build_by_category(by: By, evidence: Evidence, make: Callable[[Evidence], AnyCurve]) -> Any:
    """Return the curve that `make` computes from the evidence; with `by`, a `ByCategory` with a curve of each row.

    Args:
        by: Columns of categories; None: no grouping.
        evidence: Released counts, a row for each category.
        make: Function that computes a curve from one row of counts.
    """
    return make(evidence) if by is None else collect_by_category(by, map(make, split_rows(evidence)))


def collect_by_category(by: By, curves: Iterable[Any], result_class: type[ByCategory[Any]] = ByCategory) -> Any:
    """Return the curves by category, in their declared order; without `by` the only curve.

    Args:
        by: Columns of categories; None: no grouping.
        curves: A result for each combination of categories, in their order.
        result_class: Class of the collection.
    """
    if not by:
        return next(iter(curves))
    categories = combine_categories(parse_grouping(by))
    return result_class(list_columns(by), dict(zip(categories, curves, strict=True)))


def format_axis_label(column: str, measured_in: str) -> str:
    """Return the label of an axis: the column, and the measuring unit in parentheses unless the column's name contains
    it.

    The units of dates and times always follow, because values are printed as such by them.

    >>> format_axis_label("date", "date"), format_axis_label("Months", "months"), format_axis_label("stay_days", "days")
    ('date (date)', 'Months', 'stay_days')
    >>> format_axis_label("birthdays", "days"), format_axis_label("share, %", "%")
    ('birthdays (days)', 'share, %')

    Args:
        column: Name of the column, or a model that computes it.
        measured_in: Measuring unit, such as ``days`` or ``date``; empty: none.

    Raises:
        TypeError: the measuring unit is not text.
    """
    require_type("measured_in", measured_in, str, "a text")
    name = column if isinstance(column, str) else ""  # other columns are models, or refused where they are read
    words, unit = (re.findall(r"[^\W_]+", text.casefold()) for text in (name, measured_in))
    # a unit without letters is a sign, as in "share, %", or empty
    is_said = f" {' '.join(unit)} " in f" {' '.join(words)} " if unit else measured_in in name
    is_shown = measured_in in UNITS or not is_said
    return f"{column} ({measured_in})" if is_shown else column


def describe_question(quantity: str, column: str, by: By) -> str:
    """Return the description of a question for the ledger, as in "mean of age by sex".

    Args:
        quantity: The requested statistic, such as "mean".
        column: The column that it is computed from.
        by: Columns of categories; None: no grouping.
    """
    return f"{quantity} of {column}{describe_grouping(by)}"


def describe_grouping(by: By) -> str:
    """Return the description of a grouping for the ledger; empty without a grouping.

    Args:
        by: Columns of categories; None: no grouping.

    >>> from dpcurves.data import Categories
    >>> describe_grouping((Categories("sex", ("F", "M")), Categories("ward", (1, 2))))
    ' by sex, ward'
    """
    names = () if by is None else list_columns(by)
    return f" by {', '.join(names)}" if names else ""


def parse_hint(hint: object) -> Hint | None:
    """Return the hint with this name (or the hint itself); None for None.

    Args:
        hint: A `Hint`, its name, or None.

    Raises:
        ValueError: the name is unknown.
    """
    return None if hint is None else parse_choice("hint", hint, Hint, also=", or none")


def describe_hint(hint: Hint | None) -> str:
    """Return a hint on the distribution as words for the ledger's record of a question, as in ", said to be peaked".

    Args:
        hint: Public knowledge of the distribution; None: no hint.

    Returns:
        Words that begin with a comma; empty without a hint.
    """
    if hint is None:
        return ""
    return ", said to have atoms" if hint is Hint.ATOMS else f", said to be {hint.value}"
