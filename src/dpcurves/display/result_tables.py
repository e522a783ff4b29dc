"""The table of a result, described once: titles, units and formats of its columns, for each medium that shows them.

The terminal, workbooks, HTML pages and the pages of the server format the same `ResultTable`. CSV files have its exact
numbers under short stable names; all other media have its titles, and as many digits as the noise leaves:

    column `count`, interval 1,234 +- 40      1,234 in a CSV file, 1,230 elsewhere

Interval ends are separate columns (`IntervalEnds`), beside their number. Long tables are shortened to rows at round
steps of their axis (`select_row_indices`).

>>> describe_columns(count=("records", CellFormat.COUNT))["count"].title
'records'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from html import escape
from itertools import groupby, pairwise
from math import ceil, floor, isfinite, log10
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..foreign_text import isolate_in_html
from ..translation import translate
from .numerals import (
    LARGEST_PLAIN,
    SIGNIFICANT_DIGITS,
    SMALLEST_PLAIN,
    count_decimals,
    decimals_for_figures,
    format_interval,
    format_number,
)

MOST_ROWS = 40
"""Rows of a table in a terminal or page. Of longer tables the rows at round steps of the axis are shown."""


class CellFormat(Enum):
    """How a column is written: whole numbers, percentages, other numbers, or text."""

    COUNT = "count"
    SHARE = "share"
    NUMBER = "number"
    TEXT = "text"


class ColumnWords(NamedTuple):
    """Title of a column, with its unit in parentheses, and its format."""

    title: str
    cell_format: CellFormat = CellFormat.NUMBER


def describe_columns(**words: str | tuple[str, CellFormat]) -> Mapping[str, ColumnWords]:
    """Return title and format of columns by short name; a title alone means a column of numbers.

    Args:
        words: For each column, its title, or its title and cell format.

    >>> describe_columns(count=("records", CellFormat.COUNT))["count"].title
    'records'
    """
    return MappingProxyType({
        name: ColumnWords(described) if isinstance(described, str) else ColumnWords(*described)
        for name, described in words.items()
    })  # fmt: skip


class Bound(Enum):
    """Whether a column has numbers, or lower or upper ends of their intervals."""

    NONE = ""
    LOWER = "from"
    UPPER = "to"


@dataclass(frozen=True, eq=False)
class TableColumn:
    """A column of a table.

    Attributes:
        name: Short stable name, as in CSV files.
        title: Title with the unit in parentheses; of interval ends, the name of the interval.
        values: Exact values, (rows,).
        cell_format: The format.
        widths: Width of the interval of each number, which decides its digits, (rows,); None: no interval.
        numbers: For interval ends, the numbers, whose digits the ends have, (rows,); None: this column has the numbers.
        bound: Lower or upper ends of intervals, or numbers.
        is_mixed: Whether rows hold different quantities, such as a count and a mean, so that each has its own digits.
        whole_rows: For mixed rows, which rows hold whole numbers, (rows,); None: no row.
    """

    name: str
    title: str
    values: NDArray[Any]
    cell_format: CellFormat = CellFormat.NUMBER
    widths: NDArray[np.float64] | None = None
    numbers: NDArray[Any] | None = None
    bound: Bound = Bound.NONE
    is_mixed: bool = False
    whole_rows: NDArray[np.bool_] | None = None

    @property
    def heading(self) -> str:
        """The title; of interval ends, with "from" or "to"."""
        return f"{self.title}, {self.bound.value}" if self.bound is not Bound.NONE else self.title

    @property
    def is_numeric(self) -> bool:
        """Whether the column has numbers, of which some may be suppressed."""
        return self.cell_format is not CellFormat.TEXT and self.values.dtype.kind in "fiuO"

    def count_decimals(self) -> list[int | None]:
        """Return the decimals of each cell; None for text, and for numbers that are written with a power of ten.

        Numbers with an interval have three or four significant digits, by the width of the interval; all others show
        the steps of their column.
        """
        if not self.is_numeric:
            return [None] * len(self.values)
        if self.cell_format is CellFormat.COUNT:
            return [0] * len(self.values)
        factor = 100 if self.cell_format is CellFormat.SHARE else 1
        scaled = factor * _as_floats(self.values if self.numbers is None else self.numbers)
        widths = None if self.widths is None else factor * self.widths
        least = 1 if self.cell_format is CellFormat.SHARE else 0
        if self.is_mixed:
            is_whole = np.zeros(len(scaled), dtype=bool) if self.whole_rows is None else self.whole_rows
            rows = [slice(row, row + 1) for row in range(len(scaled))]
            return [
                0 if is_whole[row].all() else _decimals_of(scaled[row], None if widths is None else widths[row], least)
                for row in rows
            ]
        return [_decimals_of(scaled, widths, least)] * len(scaled)

    def format_cells(self) -> list[str]:
        """Return the text of each cell; lower ends of intervals are rounded down, upper ends up.

        Returns:
            Texts, (rows,).
        """
        return [
            _format_value(value, decimals, self.cell_format, self.bound)
            for value, decimals in zip(self.values.tolist(), self.count_decimals(), strict=True)
        ]

    def excel_formats(self) -> list[str]:
        """Return the number format of each cell of a workbook.

        >>> TableColumn("y", "share", np.array([0.25, 0.5]), CellFormat.SHARE, np.array([0.02, 0.03])).excel_formats()
        ['0.0%', '0.0%']
        >>> TableColumn("count", "records", np.array([1234.0]), CellFormat.COUNT).excel_formats()
        ['#,##0']
        """
        formats = []
        for decimals in self.count_decimals():
            places = "" if not decimals else "." + "0" * decimals
            if not self.is_numeric:
                formats.append("@")
            elif decimals is None:
                formats.append("0.000E+00")
            else:
                formats.append(f"0{places}%" if self.cell_format is CellFormat.SHARE else f"#,##0{places}")
        return formats

    def select_rows(self, rows: NDArray[np.int64]) -> TableColumn:
        """Return a copy of the column with only the rows of these indices.

        Args:
            rows: Indices of rows.
        """
        optional = {
            name: getattr(self, name) for name in ("widths", "numbers", "whole_rows") if getattr(self, name) is not None
        }
        return replace(self, values=self.values[rows], **{name: array[rows] for name, array in optional.items()})


@dataclass(frozen=True, eq=False)
class ResultTable:
    """A table of a result.

    Attributes:
        title: What the table shows; empty where the result's title is enough.
        columns: Columns of equal length; the lower and the upper ends of an interval are neighbours of one title.
        total_rows: Rows before `select_rows` left some out.
        is_detail: Whether the table is long, or repeats the plot: pages show it when the reader opens it, and the first
            sheet of a workbook leaves it out.
    """

    title: str
    columns: tuple[TableColumn, ...]
    total_rows: int
    is_detail: bool = False

    @property
    def rows(self) -> int:
        """Number of rows of the table."""
        return len(self.columns[0].values) if self.columns else 0

    @property
    def is_list(self) -> bool:
        """Whether the table is a list of statistics, in which each row has the name of its number."""
        return any(column.is_mixed for column in self.columns)

    @property
    def has_labels(self) -> bool:
        """True if a column holds texts other than dates, such as the names of groups."""
        return any(column.cell_format is CellFormat.TEXT and not _has_dates(column) for column in self.columns)

    def list_names(self) -> set[str]:
        """Return the names of rows: of the numbers of a list, or of categories."""
        texts = (column for column in self.columns if column.cell_format is CellFormat.TEXT)
        return {text for column in texts for text in column.format_cells()}

    def text_columns(self) -> dict[str, list[str]]:
        """Return the text of all cells by title; both ends of an interval are one column, as in "3 to 5"."""
        texts = dict[str, list[str]]()
        for title, group in groupby(self.columns, key=lambda column: column.title):
            first, *others = group
            texts[title] = first.format_cells() if not others else _join_ends(first, others[0])
        return texts

    def right_aligned(self) -> list[bool]:
        """Return for each column of `text_columns` whether it has numbers.

        Returns:
            True for columns of numbers, which are aligned at the right.
        """
        return [next(group).is_numeric for _, group in groupby(self.columns, key=lambda column: column.title)]

    def leave_out(self, names: Sequence[str]) -> ResultTable:
        """Return the table without the columns of these short names.

        Args:
            names: Short names of columns.
        """
        return replace(self, columns=tuple(column for column in self.columns if column.name not in names))

    def select_rows(self, most: int = MOST_ROWS) -> ResultTable:
        """Return the table cut to about `most` rows, those at round steps of its axis; shorter tables are returned
        whole.
        """
        rows = select_row_indices({column.heading: column.values for column in self.columns}, most)
        if len(rows) == self.rows:
            return self
        return replace(self, columns=tuple(column.select_rows(rows) for column in self.columns))

    def to_html(self) -> str:
        """Return the table as HTML, with a note if rows were left out."""
        texts = {translate(title): list(map(translate, cells)) for title, cells in self.text_columns().items()}
        sides = ["num" if is_number else "" for is_number in self.right_aligned()]
        heads = "".join(
            f'<th scope="col"{_class_attribute(side)}>{isolate_in_html(title)}</th>'
            for title, side in zip(texts, sides, strict=True)
        )
        html_rows = []
        for row in zip(*texts.values(), strict=True):
            cells = [
                f"<td{_class_attribute(side)}>{isolate_in_html(text)}</td>"
                for text, side in zip(row, sides, strict=True)
            ]
            html_rows.append(f"<tr>{''.join(cells)}</tr>")
        rows = "\n".join(html_rows)
        caption = f"<caption>{isolate_in_html(translate(self.title))}</caption>" if self.title else ""
        note = f"<p>{escape(translate(self.describe_left_out()))}</p>" if self.rows < self.total_rows else ""
        region = escape(translate(self.title or "Numbers"))
        return (
            f'<div class="scroll" tabindex="0" role="region" aria-label="{region}">'
            f'<table class="numbers">{caption}<thead><tr>{heads}</tr></thead>'
            f"<tbody>\n{rows}\n</tbody></table></div>{note}"
        )

    def describe_left_out(self) -> str:
        """Return how many rows are shown of a table that is not shown whole."""
        return f"{self.rows:,} of {self.total_rows:,} rows are shown; the CSV file has all"

    def to_plain_objects(self) -> dict[str, Any]:
        """Return title, headings and texts of rows as plain objects, for pages with their own layout.

        Returns:
            JSON object: ``title``, ``heads``, ``rows`` (lists of texts), ``numeric`` (which columns are right-aligned),
            ``note`` on rows left out, and ``is_detail``.
        """
        texts = self.text_columns()
        note = self.describe_left_out() if self.rows < self.total_rows else ""
        return {
            "title": self.title, "heads": list(texts), "rows": [list(row) for row in zip(*texts.values(), strict=True)],
            "numeric": self.right_aligned(), "note": note, "is_detail": self.is_detail,
        }  # fmt: skip


def build_table(
    columns: Mapping[str, ArrayLike],
    words: Mapping[str, ColumnWords],
    *,
    ends: Mapping[str, IntervalEnds],
    title: str = "",
    mixed_label: str = "",
) -> ResultTable:
    """Return a table for readers from columns of numbers and labels: titled columns, and each pair of interval ends
    after the numbers that it belongs to.

    Args:
        columns: Exact values by short name, label columns first.
        words: Titles and formats by short name. Columns of text without words are labels of the user, which keep their
            names.
        ends: The columns of interval ends, by short name.
        title: Title of the table.
        mixed_label: Name of the column that names the quantity of each row; empty if all rows hold the same quantities.
    """
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    plain = [name for name, array in arrays.items() if array.dtype.kind in "fiu" and name not in {*words, *ends}]
    words = {**{name: ColumnWords(name.replace("_", " ")) for name in plain}, **words}
    labels = [name for name in arrays if name not in words and name not in ends]
    titles = _choose_titles(labels, {name: words[name].title for name in arrays if name in words})
    counts = np.array([text == "count" for text in arrays[mixed_label].tolist()]) if mixed_label in arrays else None
    described: list[TableColumn] = []
    for name, array in arrays.items():
        if name in ends:
            continue
        cell_format = words[name].cell_format if name in words else CellFormat.TEXT
        if array.dtype.kind in "US" or (array.dtype.kind == "O" and not any(map(_is_number, array.tolist()))):
            cell_format = CellFormat.TEXT
        is_ours = name in words and cell_format is CellFormat.TEXT  # not the user's labels
        values = np.array([_format_time(value) for value in array.tolist()], dtype=object) if is_ours else array
        pairs = _pair_ends(name, ends, arrays)
        widths = None if not pairs else _interval_widths(arrays, pairs[0])
        is_mixed = counts is not None and cell_format is CellFormat.NUMBER
        column = TableColumn(name, titles[name], values, cell_format, widths, is_mixed=is_mixed, whole_rows=counts)
        described.append(column)
        for lower, upper in pairs:
            for end, bound in ((lower, Bound.LOWER), (upper, Bound.UPPER)):
                cell_format = ends[end].cell_format or column.cell_format
                end_column = replace(column, name=end, title=ends[end].title, values=arrays[end], numbers=array)
                described.append(replace(end_column, bound=bound, cell_format=cell_format))
    rows = len(next(iter(arrays.values()))) if arrays else 0
    return ResultTable(title, _qualify_ends(described), rows)


def build_cross_table(
    title: str,
    row_label: str,
    names: tuple[Sequence[str], Sequence[str]],
    counts: ArrayLike,
    *,
    column_label: str = "",
) -> ResultTable:
    """Return a table of counts with a row and a column for each category, and sums of rows and columns.

    Args:
        title: Title of the table.
        row_label: Heading of the names of the rows.
        names: Names of the rows, and of the columns.
        counts: Counts, (rows, columns); an object array may hold the text of suppressed counts.
        column_label: Name of the columns' variable, which precedes the name of a column that another column has.

    >>> table = build_cross_table("records", "sex", (["F", "M"], ["no", "yes"]), [[1, 2], [3, 4]])
    >>> table.text_columns()
    {'sex': ['F', 'M', 'total'], 'no': ['1', '3', '4'], 'yes': ['2', '4', '6'], 'total': ['3', '7', '10']}
    """
    cells = np.asarray(counts, dtype=object)
    sums = _as_floats(cells.ravel()).reshape(cells.shape)
    body = np.vstack([np.column_stack([cells, sums.sum(axis=1)]), [*sums.sum(axis=0), sums.sum()]])
    first = TableColumn("row", row_label, np.array([*names[0], "total"], dtype=object), CellFormat.TEXT)
    columns = [first]
    taken = {row_label.casefold(), "total"}
    for place, name in enumerate([*names[1], ""]):
        heading = "total" if place == len(names[1]) else name
        while heading.casefold() in taken and place < len(names[1]):
            heading = f"{column_label or 'column'} {heading}"
        taken.add(heading.casefold())
        columns.append(TableColumn(f"column_{place}", heading, body[:, place], CellFormat.COUNT))
    return ResultTable(title, tuple(columns), len(body))


class IntervalEnds(NamedTuple):
    """A column of interval ends: the column of its numbers, whether ends are lower or upper, and the interval.

    Ends have the format of the numbers unless they have their own, as possible ranks have.
    """

    of: str
    bound: Bound
    title: str
    cell_format: CellFormat | None = None


def _format_time(value: object) -> object:
    """Return a time in ISO 8601 as it is written for readers, and all else unchanged.

    >>> _format_time("2023-11-14T22:13:20Z"), _format_time("2023-11-14")
    ('2023-11-14 22:13:20 UTC', '2023-11-14')

    Args:
        value: A cell of a table.
    """
    is_time = isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}Z", value) is not None
    return f"{str(value)[:10]} {str(value)[11:-1]} UTC" if is_time else value


def _qualify_ends(columns: Sequence[TableColumn]) -> tuple[TableColumn, ...]:
    """Return the columns with distinct titles of interval ends: if several numbers have intervals, each title begins
    with the title of its number. Columns named ``lower`` or ``upper`` keep their titles.

    Args:
        columns: Columns of a table, the ends of an interval after its number.

    Returns:
        All columns in order, with new titles where needed.
    """
    titles = [column.title for column in columns if column.bound is Bound.LOWER]
    if len(set(titles)) == len(titles):
        return tuple(columns)
    qualified = list[TableColumn]()
    number = ""
    for column in columns:
        number = column.title if column.bound is Bound.NONE else number
        is_plain = column.bound is Bound.NONE or column.name.startswith(("lower", "upper"))
        qualified.append(column if is_plain else replace(column, title=f"{number}: {column.title}"))
    return tuple(qualified)


def _choose_titles(labels: Sequence[str], titles: Mapping[str, str]) -> dict[str, str]:
    """Return the title of each column. A title that a label column has too is replaced by the short name.

    Args:
        labels: Names of the label columns, which are the user's and stay.
        titles: Titles of the other columns, by short name.

    Returns:
        Title by short name; titles differ, also if case is ignored.
    """
    taken = {name.casefold() for name in labels}
    chosen = {name: name for name in labels}
    for name, title in titles.items():
        chosen[name] = name if title.casefold() in taken else title
        taken.add(chosen[name].casefold())
    return chosen


def _pair_ends(
    name: str, ends: Mapping[str, IntervalEnds], arrays: Mapping[str, NDArray[Any]]
) -> list[tuple[str, str]]:
    """Return the pairs of columns (lower, upper) that hold the interval ends of one column.

    Args:
        name: Short name of the column of numbers.
        ends: Columns of interval ends, by short name.
        arrays: All columns by short name.

    Returns:
        Pairs of short names; a pair with the values of an earlier one is left out.
    """
    lower = [end for end in arrays if end in ends and ends[end].of == name and ends[end].bound is Bound.LOWER]
    upper = [end for end in arrays if end in ends and ends[end].of == name and ends[end].bound is Bound.UPPER]
    pairs: list[tuple[str, str]] = []
    for pair in zip(lower, upper, strict=True):
        if not any(_are_equal(arrays, pair, earlier) for earlier in pairs) or len(lower) == 1:
            pairs.append(pair)
    return pairs


def _are_equal(arrays: Mapping[str, NDArray[Any]], pair: tuple[str, str], other: tuple[str, str]) -> bool:
    """Return whether two pairs of columns hold the same ends, as columns of numbers at risk do.

    Args:
        arrays: Columns by name.
        pair: Names of a lower and an upper end.
        other: Names of the other pair.
    """
    return pair[0].startswith("at_risk") and all(
        arrays[end].tolist() == arrays[other_end].tolist() for end, other_end in zip(pair, other, strict=True)
    )


def _interval_widths(arrays: Mapping[str, NDArray[Any]], pair: tuple[str, str]) -> NDArray[np.float64]:
    """Return the widths of intervals; NaN where an end is suppressed.

    Args:
        arrays: Columns of the table by name.
        pair: Names of the columns of lower and of upper ends.

    Returns:
        Widths, (rows,), in units of the column; NaN also where both ends are infinite.
    """
    lower, upper = (_as_floats(arrays[end]) for end in pair)
    with np.errstate(invalid="ignore"):
        return np.asarray(upper - lower)


def _as_floats(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the numbers of a column; NaN where it has text, as where a number is suppressed.

    Args:
        values: Numbers, or objects with texts among them, (rows,).

    Returns:
        Array of shape (rows,).
    """
    return np.array([value if _is_number(value) else np.nan for value in values.tolist()], dtype=np.float64)


def _is_number(value: object) -> bool:
    """Return whether a cell has a number.

    Args:
        value: The cell; True and False are no numbers.
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def _decimals_of(values: NDArray[np.float64], widths: NDArray[np.float64] | None, least: int) -> int | None:
    """Return the number of decimals of a column of numbers, or None if they are written with a power of ten.

    Numbers with intervals have 3 significant digits of the largest, and a fourth if the median interval is narrow.

    Args:
        values: The numbers.
        widths: Widths of their intervals; None: they have none.
        least: Smallest number of decimals.
    """
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max(initial=0.0))
    known = np.array([]) if widths is None else widths[np.isfinite(widths) & (widths > 0)]
    width = float(np.median(known)) if known.size else 0.0
    largest = max(largest, min(width, LARGEST_PLAIN / 10))  # of a zero, the width limits the known digits
    if largest >= LARGEST_PLAIN or 0 < largest < SMALLEST_PLAIN:
        return None
    if widths is None:
        return max(count_decimals(finite, largest), least)
    by_width = max(-(floor(log10(width) + 1e-9) - 1), 0) if width else 0
    fewest, most = (decimals_for_figures(largest, figures) for figures in (3, SIGNIFICANT_DIGITS))
    # ends at edges of whole numbers are whole
    exact = max(count_decimals(finite, largest), count_decimals(known, width))
    return max(min(max(by_width, fewest), most, exact), least)


def _format_value(value: object, decimals: int | None, cell_format: CellFormat, bound: Bound) -> str:
    """Return the text of a cell with this number of decimals; interval bounds are rounded outwards.

    Args:
        value: Number, text, bool or None ("not known").
        decimals: Number of decimals; None: as many as the number needs.
        cell_format: Whether the number is a share, written in percent, or text.
        bound: Side of an interval: lower ends are rounded down, upper ends up.
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if cell_format is CellFormat.TEXT or not isinstance(value, int | float):
        return "not known" if value is None else str(value)
    if decimals is None or not isfinite(value):
        return format_number(value)
    factor, unit = (100.0, "%") if cell_format is CellFormat.SHARE else (1.0, "")
    return f"{_round_outward(factor * value, decimals, bound):,.{decimals}f}{unit}"


def _round_outward(value: float, decimals: int, bound: Bound) -> float:
    """Return a number rounded to decimals; a lower end down, an upper end up.

    Args:
        value: The number.
        decimals: Decimals to keep.
        bound: Whether the number is a lower end, an upper end or none; the last is rounded to nearest.
    """
    if bound is Bound.NONE or abs(value) >= LARGEST_PLAIN:
        return round(value, decimals) + 0.0
    scale = 10.0**decimals
    # in units of the last digit: rounding errors of an end that outward rounding ignores
    tolerance = 1e-3
    scaled = floor(value * scale + tolerance) if bound is Bound.LOWER else ceil(value * scale - tolerance)
    return scaled / scale + 0.0


DATE = re.compile(r"-?\d{4}-\d\d-\d\d")
"""Matches a text that begins with a date (ISO 8601). A column of such texts is an axis, and not names."""


def _has_dates(column: TableColumn) -> bool:
    """Return whether the text of a column is dates, which are an axis and no names.

    Args:
        column: Column of a table.
    """
    texts = [text for text in column.values.tolist() if isinstance(text, str)]
    return bool(texts) and all(map(DATE.match, texts))


def _join_ends(lower: TableColumn, upper: TableColumn) -> list[str]:
    """Return the texts of intervals, row by row, such as "3 to 5"; "3 or more" if the upper end is infinite. An
    interval of width 0 is written as its number is.

    Args:
        lower: Column of lower ends.
        upper: Column of upper ends.
    """
    texts = []
    nearest = replace(lower, bound=Bound.NONE).format_cells()
    for low, high, low_text, high_text, nearest_text in zip(
        lower.values.tolist(), upper.values.tolist(), lower.format_cells(), upper.format_cells(), nearest, strict=True
    ):
        if not (_is_number(low) and _is_number(high)):
            texts.append(low_text if low_text == high_text else f"{low_text} to {high_text}")
        elif low == high and isfinite(low):
            texts.append(nearest_text)  # known exactly, such as the share of all records below the end of the range
        elif isfinite(low) and isfinite(high):
            texts.append(f"{low_text.removesuffix('%')} to {high_text}")
        else:
            texts.append(format_interval(float(low), float(high)))
    return texts


def _class_attribute(name: str) -> str:
    """Return the class attribute of an HTML element; empty without a class.

    Args:
        name: Name of the class; empty: none.

    Returns:
        Text with a leading blank, for the start tag.
    """
    return f' class="{name}"' if name else ""


# Rows of a long table at round steps of its axis.


STEPS_BY_UNIT: Mapping[str, tuple[float, ...]] = {
    "months": (1, 2, 3, 6, 12, 24, 36, 60, 120),
    "weeks": (1, 2, 4, 13, 26, 52, 104),
    "days": (1, 2, 5, 7, 10, 14, 28, 30, 90, 180, 365, 730),
    "hours": (1, 2, 3, 6, 12, 24, 48, 168),
    "minutes": (1, 2, 5, 10, 15, 30, 60, 120, 240, 720, 1440),
    "seconds": (1, 2, 5, 10, 15, 30, 60, 300, 600, 1800, 3600),
}
"""Steps between the shown rows of a long table, by the plural of the axis unit. Axes of other units have steps of 1, 2
and 5 times powers of ten."""


def select_row_indices(columns: Mapping[str, ArrayLike], most: int = MOST_ROWS) -> NDArray[np.int64]:
    """Return the indices of the rows to show: all up to `most`, else those at round steps of the axis, such as every
    12 months, with the first and the last.

    The axis is the first column of numbers that increases, or decreases, in each block of equal labels. A step that no
    row hits takes the nearest row. Without an axis every k-th row is taken.

    Args:
        columns: The columns by heading, which may end with a unit in parentheses.
        most: Rows that are shown whole.

    >>> select_row_indices({"age (years)": np.arange(0, 101, 1.0)}, 25).tolist()[:4]
    [0, 5, 10, 15]
    >>> select_row_indices({"time (months)": np.arange(0, 61, 1.0)}, 11).tolist()
    [0, 6, 12, 18, 24, 30, 36, 42, 48, 54, 60]
    >>> select_row_indices({"age, from": np.arange(0, 120, 2.0)}, 40).tolist()[:4]  # 0, 10, 20, 30
    [0, 5, 10, 15]
    """
    arrays = {heading: np.asarray(column) for heading, column in columns.items()}
    rows = min((len(array) for array in arrays.values()), default=0)
    if rows <= most:
        return np.arange(rows)
    blocks = _find_blocks(list(arrays.values()), rows)
    allowed = max(most // len(blocks), 2)
    numbers = {heading: array for heading, array in arrays.items() if array.ndim == 1 and array.dtype.kind in "fiu"}
    axes = (item for item in numbers.items() if all(_is_monotone(item[1][block]) for block in blocks))
    axis = next(axes, None)
    chosen = []
    for block in blocks:
        size = block.stop - block.start
        if axis is None:
            indices = np.unique(np.append(np.arange(0, size, ceil(size / allowed)), size - 1))
        else:
            indices = _find_round_rows(np.asarray(axis[1][block], dtype=np.float64), allowed, axis[0])
        chosen.append(block.start + indices)
    return np.concatenate(chosen).astype(np.int64)


def _find_blocks(arrays: Sequence[NDArray[Any]], rows: int) -> list[slice]:
    """Return the blocks of neighbouring rows with equal labels.

    Args:
        arrays: Columns of the table; columns of numbers, and labels that change in most rows, are skipped.
        rows: Number of rows.

    Returns:
        Slices that cover all rows in order.
    """
    starts = {0}
    for array in arrays:
        if array.ndim == 1 and array.dtype.kind in "OU":
            texts = array[:rows].astype(str)
            changes = 1 + np.flatnonzero(texts[1:] != texts[:-1])
            # labels that differ in nearly each row, as dates do, are no blocks
            starts |= set(changes.tolist()) if len(changes) <= rows // 2 else set()
    edges = [*sorted(starts), rows]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def _is_monotone(values: NDArray[Any]) -> bool:
    """Return whether numbers strictly increase or strictly decrease; infinite numbers are allowed at the ends.

    Args:
        values: Numbers, (rows,); fewer than two count as neither.
    """
    with np.errstate(invalid="ignore"):
        steps = np.diff(values.astype(np.float64))
    return bool(len(steps)) and bool(np.all(steps > 0) or np.all(steps < 0))


def _find_round_rows(axis: NDArray[np.float64], most: int, heading: str) -> NDArray[np.int64]:
    """Return the indices of rows at round positions of an axis, both ends included.

    The rows are those nearest to the multiples of the smallest round step that is large enough. On an axis of equal
    steps a multiple of these is used if one is round, so that the shown rows have equal steps, too: for cells of width
    2 every fifth row, not the nearest to each multiple of 5.

    Args:
        axis: Positions of all rows, increasing.
        most: Largest number of rows.
        heading: Heading of the axis, which has its unit.
    """
    finite = np.flatnonzero(np.isfinite(axis))
    values = axis[finite]
    low = float(values.min())
    high = float(values.max())
    steps = list(_list_steps(heading, (high - low) / most))
    cells = (high - low) / (len(values) - 1)
    # in steps of ten cells and more, the nearest rows are as good as equally spaced
    if len(values) > 2 and steps[0] < 10 * cells and np.allclose(np.abs(np.diff(values)), cells, rtol=1e-6):
        # wider steps would show less than a fifth of the rows that there is room for
        widest = 5 * (high - low) / most
        even = [step for step in steps if step <= widest and abs(step / cells - round(step / cells)) < 1e-6]
        steps = even + steps
    for step in steps:
        multiples = step * np.arange(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)
        order = np.argsort(values)
        nearest = order[_find_nearest(values[order], np.asarray(multiples, dtype=np.float64))]
        # the ends are shown, too, even if they are no multiples
        indices = np.unique(np.concatenate([[0], finite[nearest], [len(axis) - 1]]))
        if len(indices) <= most + 2:
            return indices
    return np.unique([0, len(axis) - 1])


def _find_nearest(values: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each point the index of the nearest of increasing values.

    Args:
        values: Increasing numbers, at least two, (values,).
        points: Numbers in the same units, (points,).

    Returns:
        Indices, (points,); the lower of two equally near values.
    """
    above = np.clip(np.searchsorted(values, points), 1, len(values) - 1)
    return np.asarray(np.where(points - values[above - 1] <= values[above] - points, above - 1, above))


def _list_steps(heading: str, smallest: float) -> Iterator[float]:
    """Yield increasing round steps (7 days, 12 months, 1, 2, 5, 10, ...) for the unit that a heading names.

    Args:
        heading: Title of the column, with its unit in parentheses.
        smallest: Least step that is useful, in the unit of the heading.

    Yields:
        Steps of the unit, such as 7 or 30 days, then 1, 2 and 5 times powers of ten.
    """
    unit = re.search(r"([a-z]+)[^a-z]*$", heading.lower())
    plural = "" if unit is None else unit[1].removesuffix("s") + "s"
    listed = STEPS_BY_UNIT.get(plural, ())
    yield from (step for step in listed if step >= smallest / 2)
    power = floor(log10(smallest)) if smallest > 0 else 0
    largest = max(listed, default=0.0)
    for exponent in range(power - 1, power + 3):
        yield from (
            multiple * 10.0**exponent
            for multiple in (1, 2, 5)
            if multiple * 10.0**exponent > max(largest, smallest / 2)
        )
