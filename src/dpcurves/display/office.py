"""Write results for office programs: CSV files and Excel workbooks.

- `csv_text` writes columns as CSV (RFC 4180) with a header, numbers with all digits.
- `build_workbook` writes pages to read and print, with title, statement, plot and tables, then sheets with all numbers.
- `suppress_rows` writes ``..`` in place of numbers whose interval is too wide, which `find_wide_intervals` marks.

A spreadsheet may run text that begins like a formula. Such text gets an apostrophe in front (`escape_formula`).

The module writes released numbers and reads no records.

>>> escape_formula("=1+1"), unescape_formula(escape_formula("=1+1"))
("'=1+1", '=1+1')
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from io import BytesIO, StringIO
from math import ceil, inf, isfinite, isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import InvalidArgument, MissingPackage, convert_to_double
from ..arrays import BoolArray
from ..conversation import PrivacyStatement, select_reader_notes
from ..translation import translate
from .canvas import save_axes
from .html import statement_rows
from .result_tables import ResultTable
from .text import footer

if TYPE_CHECKING:
    from matplotlib.axes import Axes


NO_XLSXWRITER = "XlsxWriter is needed for workbooks: pip install 'dpcurves[office]'"
"""Rule in the error if a workbook is asked for and XlsxWriter is not installed."""
SHEET_ROWS = 2**20 - 1
"""Rows of an Excel sheet below its header (Excel's limit); a longer table goes on in further sheets."""
LONGEST_TEXT = 32_767
"""Characters that an Excel cell holds (Excel's limit); a longer title or name is cut."""
CREATION_DATE = datetime(2000, 1, 1)
"""Creation date in the properties of all workbooks: equal results must give equal files, so it is not the present."""
SUPPRESSED = ".."
"""Shown in place of a number that is suppressed because its interval is too wide."""
PRINT_RESOLUTION = 300
"""Dots per inch of published PNG pictures, enough for print."""


BLANKS = r" \xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
"""Spaces and invisible characters that a spreadsheet may strip from the start of a cell, so that a formula behind them
would run. Part of a character class of a regular expression."""
FORMULA_START = re.compile(rf"['{BLANKS}]*[=+\-@\t\r\n＝＋－＠]")  # noqa: RUF001
"""Matches the start of a text that a spreadsheet may run as a formula; such texts get an apostrophe in front.
Apostrophes before it count too, so that the escaping can be undone."""


def escape_formula(text: str) -> str:
    """Return `text` with an apostrophe before it if a spreadsheet might run it as a formula.

    Such text begins, after any apostrophes and blanks, with ``=``, ``+``, ``-`` or ``@`` (also full-width), a tab or a
    line break.

    >>> [escape_formula(text) for text in ("=1+1", "-1", " =1", "'=1", "'tis", "UA")]
    ["'=1+1", "'-1", "' =1", "''=1", "'tis", 'UA']
    """
    return f"'{text}" if FORMULA_START.match(text) else text


def unescape_formula(text: str) -> str:
    """Return the text from which `escape_formula` made `text`.

    >>> [unescape_formula(text) for text in ("'=1+1", "''=1", "'tis", "-1")]
    ['=1+1', "'=1", "'tis", '-1']
    """
    return text[1:] if text.startswith("'") and FORMULA_START.match(text) else text


def csv_text(columns: Mapping[str, ArrayLike], *, raw: bool = False) -> str:
    """Return columns as CSV with a header (RFC 4180): numbers with all digits, unknown numbers as empty cells.

    Args:
        columns: The columns by name.
        raw: Leave text unchanged. Otherwise names and text are escaped by `escape_formula`, numbers never.

    >>> csv_text({"x": [1.0, -0.5], "y": [float("nan"), 2.0], "ward": ["-a", "b,c"]}).split()
    ['x,y,ward', "1.0,,'-a", '-0.5,2.0,"b,c"']
    >>> csv_text({"lower": [-0.0]}).split()
    ['lower', '0.0']
    """
    escape = str if raw else escape_formula
    text = StringIO(newline="")
    rows = csv.writer(text)
    rows.writerow(map(escape, columns))
    cells = ([_format_cell(value, escape) for value in np.asarray(column).tolist()] for column in columns.values())
    rows.writerows(zip(*cells, strict=True))
    return text.getvalue()


def _format_cell(value: object, escape: Callable[[str], str]) -> object:
    """Return the value of a CSV cell: empty for an unknown number, 0.0 for a negative zero, and text with `escape`
    applied.

    Args:
        value: Number, text or truth value.
    """
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, float):
        return value + 0.0
    return escape(value) if isinstance(value, str) else value


def find_wide_intervals(values: ArrayLike, lower: ArrayLike, upper: ArrayLike, share: float) -> BoolArray:
    """Mark numbers that are unknown, or whose interval is wider than the fraction `share` of the number.

    Args:
        values: The numbers, (rows,).
        lower: Lower ends, of the same shape.
        upper: Upper ends, of the same shape.
        share: Largest width of an interval, as a fraction of its number.

    >>> find_wide_intervals([100.0, 10.0], [95.0, 5.0], [105.0, 15.0], 0.2).tolist()
    [False, True]

    Raises:
        ValueError: the share is not above 0, or not finite.
    """
    limit = convert_to_double(share)
    if limit is None or not 0 < limit < inf:
        raise InvalidArgument(
            "suppress",
            "a number above 0 is needed, as in 0.3: numbers whose interval is wider in proportion are left out",
        )
    widths = np.asarray(upper, dtype=np.float64) - np.asarray(lower, dtype=np.float64)
    return ~(widths <= limit * np.abs(np.asarray(values, dtype=np.float64)))


def suppress_rows(columns: Mapping[str, ArrayLike], names: Sequence[str], rows: BoolArray) -> dict[str, Any]:
    """Return a copy of the columns with ``..`` in place of suppressed numbers.

    Args:
        columns: All columns by name.
        names: Names of the columns to suppress.
        rows: True for each row to suppress, shape (rows,).
    """
    suppressed: dict[str, Any] = dict(columns)
    for name in names:
        column = np.array(np.asarray(columns[name]).tolist(), dtype=object)
        column[rows] = SUPPRESSED
        suppressed[name] = column
    return suppressed


def require_workbooks() -> None:
    """Raise an error unless XlsxWriter is installed.

    Raises:
        ImportError: XlsxWriter is not installed.
    """
    try:
        import xlsxwriter  # noqa: F401
    except ImportError:
        raise MissingPackage("xlsx", NO_XLSXWRITER) from None


@dataclass(frozen=True, eq=False)
class SheetPage:
    """A sheet that is read and printed as a page.

    Attributes:
        title: Title.
        picture: The plot.
        tables: The main numbers.
        rows: Further facts about the result, (name, text).
        statement: Privacy statement and notes, (name, text).
        name: Name of the sheet.
    """

    title: str
    picture: Axes
    tables: Sequence[ResultTable]
    rows: Sequence[tuple[str, str]]
    statement: Sequence[tuple[str, str]]
    name: str = "result"

    def translate(self) -> SheetPage:
        """Return the page with its texts in the reader's language; tables are translated as they are written."""
        return replace(
            self,
            title=translate(self.title),
            rows=_translate_facts(self.rows),
            statement=_translate_facts(self.statement),
            name=translate(self.name),
        )


def _translate_facts(facts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the facts of a sheet in the reader's language, except the name of the privacy statement, a key.

    Args:
        facts: Name and text of each fact.
    """
    return [(name if name == "statement" else translate(name), translate(text)) for name, text in facts]


def build_workbook(pages: Sequence[SheetPage], sheets: Mapping[str, ResultTable]) -> bytes:
    """Return an Excel workbook of pages for readers, followed by sheets with all numbers.

    Numbers are exact, and are shown with the digits of their `ResultTable`. Text stays text: a cell that starts with
    ``=`` is not a formula. Each sheet prints one page wide. Equal input gives equal bytes.

    Args:
        pages: Pages with title, plot, main numbers and statement.
        sheets: Tables by the name of their sheet; more than 2^20 - 1 rows continue in further sheets.

    Raises:
        ImportError: XlsxWriter is not installed.
    """
    require_workbooks()
    from xlsxwriter import Workbook

    buffer = BytesIO()
    book = Workbook(buffer, {"in_memory": True})
    book.set_properties({"created": CREATION_DATE})
    styles = _Styles(book)
    for page in map(SheetPage.translate, pages):
        _write_page(book.add_worksheet(page.name), styles, page)
    for name, table in ((translate(name), table) for name, table in sheets.items()):
        for number, start in enumerate(range(0, max(table.rows, 1), SHEET_ROWS), 1):
            rows = np.arange(start, min(start + SHEET_ROWS, table.rows))
            part = replace(table, columns=tuple(column.select_rows(rows) for column in table.columns))
            sheet = book.add_worksheet(name if number == 1 else f"{name} {number}")
            _set_up_print(sheet, _set_widths(sheet, [part]), tall=True)
            sheet.freeze_panes(1, 0)
            sheet.repeat_rows(0)
            _write_table(sheet, styles, part, 0)
    book.close()
    return buffer.getvalue()


class _Styles:
    """Cell formats of a workbook. Equal formats are made once."""

    def __init__(self, book: Any) -> None:
        self._book = book
        self._styles: dict[tuple[tuple[str, Any], ...], Any] = {}

    def get_style(self, **properties: Any) -> Any:
        """Return the workbook's format with these properties; equal properties share one format.

        Args:
            properties: Properties of a cell format by their names in XlsxWriter.

        Returns:
            The format object of the workbook.
        """
        key = tuple(sorted(properties.items()))
        if key not in self._styles:
            self._styles[key] = self._book.add_format(properties)
        return self._styles[key]


def _set_widths(sheet: Any, tables: Sequence[ResultTable]) -> list[float]:
    """Set the width of each column of a sheet by the texts of its tables, and return the widths in characters.

    Args:
        sheet: Worksheet of XlsxWriter.
        tables: Tables that are written below each other.
    """
    widths = [18.0, 14.0]  # of a sheet without tables
    for table in tables:
        for place, column in enumerate(table.columns):
            sample = column.select_rows(np.arange(min(len(column.values), 200))).format_cells()
            longest_word = max(map(len, column.heading.split()), default=0)
            width = float(min(max(12, longest_word + 2, *(len(text) + 2 for text in sample)), 40))
            widths += [12.0] * (place + 1 - len(widths))
            widths[place] = max(widths[place], width)
    for place, width in enumerate(widths):
        sheet.set_column(place, place, width)
    return widths


def _set_up_print(sheet: Any, widths: Sequence[float], *, tall: bool) -> None:
    """Set up a sheet to be printed one page wide, in landscape format if it is wide.

    Args:
        sheet: The sheet.
        widths: Widths of its columns, in characters.
        tall: If True, it may be several pages long. If False, it is printed on one page.
    """
    if sum(widths) > 95:  # characters that fit the width of a portrait page
        sheet.set_landscape()
    # 9: number of the paper size A4 in Excel's page setup (ECMA-376, `paperSize`)
    sheet.set_paper(9)
    sheet.fit_to_pages(1, 0 if tall else 1)
    sheet.set_footer("&C&P / &N")


def _write_page(sheet: Any, styles: _Styles, page: SheetPage) -> None:
    """Write title, privacy statement, plot, tables and facts of a page to a sheet, in this order.

    Args:
        sheet: Empty sheet of the workbook.
        styles: Styles of the workbook.
        page: What to write.
    """
    widths = _set_widths(sheet, page.tables)
    lines = _count_page_lines(page)
    _set_up_print(sheet, widths, tall=lines > 110)  # lines: more would be too small on one page
    sheet.hide_gridlines(2)
    total = sum(widths)
    row = _write_text(
        sheet, 0, widths, page.title, styles.get_style(bold=True, font_size=14, text_wrap=True), scale=0.7
    )
    for text in (text for name, text in page.statement if name == "statement"):
        row = _write_text(sheet, row, widths, text, styles.get_style(font_color="#444444", text_wrap=True))
    row = _insert_picture(sheet, row + 1, total, page.picture)
    for table in page.tables:
        if table.title:
            sheet.write_string(row, 0, translate(table.title)[:LONGEST_TEXT], styles.get_style(bold=True))
            row += 1
        row = _write_table(sheet, styles, table, row) + 1
    for name, text in [*page.rows, *((name, text) for name, text in page.statement if name != "statement")]:
        style = styles.get_style(text_wrap=True, valign="top")
        sheet.write_string(row, 0, name[:LONGEST_TEXT], styles.get_style(bold=True, text_wrap=True, valign="top"))
        lines = max(_count_lines(text, total - widths[0]), _count_lines(name, widths[0]))
        row = _write_text(sheet, row, widths, text, style, first=1, lines=lines)


def _count_page_lines(page: SheetPage) -> int:
    """Return the approximate number of lines of a page.

    Args:
        page: Page of the workbook.
    """
    facts = sum(_count_lines(text, 70) for _, text in [*page.rows, *page.statement])
    return 26 + facts + sum(table.rows + 4 for table in page.tables)  # 26 lines: the plot and the title


def _count_lines(text: str, width: float) -> int:
    """Return the approximate number of lines of a text that is wrapped at `width` characters.

    Args:
        text: The text, perhaps with line ends.
    """
    return max(sum(ceil(max(len(line), 1) / max(0.95 * width, 1)) for line in text.split("\n")), 1)


def _write_text(
    sheet: Any,
    row: int,
    widths: Sequence[float],
    text: str,
    style: Any,
    *,
    scale: float = 1.0,
    first: int = 0,
    lines: int | None = None,
) -> int:
    """Write a wrapped text across the columns of a row, and return the number of the next row.

    Args:
        sheet: The sheet.
        row: Number of the row.
        widths: Widths of all columns, in characters.
        text: The text.
        style: Cell format.
        scale: Reciprocal of the width of a letter, relative to normal letters.
        first: Column in which the text begins.
        lines: Number of lines; None: it is estimated.
    """
    lines = _count_lines(text, scale * sum(widths[first:])) if lines is None else lines
    sheet.set_row(row, 15 / scale * min(lines, 26))  # points of a line; rows are at most 409 points high
    if first < len(widths) - 1:
        sheet.merge_range(row, first, row, len(widths) - 1, "", style)
    sheet.write_string(row, first, text[:LONGEST_TEXT], style)
    return row + 1


def _insert_picture(sheet: Any, row: int, width: float, picture: Axes) -> int:
    """Insert a plot as wide as the columns, at most 620 pixels; return the row below it.

    Args:
        sheet: Worksheet of XlsxWriter.
        row: Row of the upper edge.
        width: Width of the columns, in characters.
        picture: Axes of the plot.
    """
    from .picture_description import describe_in_words

    inches = picture.figure.get_figure(root=True).get_size_inches()
    pixels = min(620.0, 7 * width)
    scale = pixels / (96 * inches[0])  # pixels per inch of a sheet
    image = {"image_data": BytesIO(render_png(picture)), "x_scale": scale, "y_scale": scale}
    sheet.insert_image(row, 0, "picture.png", {**image, "description": describe_in_words(picture)})
    return row + ceil(float(pixels * inches[1] / inches[0] / 20)) + 1  # pixels of a row


def _write_table(sheet: Any, styles: _Styles, table: ResultTable, row: int) -> int:
    """Write the headings and cells of a table from `row` on; return the row below the table.

    Args:
        sheet: Worksheet of XlsxWriter.
        styles: Cell formats of the workbook.
        table: The table.
        row: Row of the headings.
    """
    for place, column in enumerate(table.columns):
        align = "right" if column.is_numeric else "left"
        style = styles.get_style(bold=True, text_wrap=True, bottom=1, valign="bottom", align=align)
        sheet.write_string(row, place, translate(column.heading)[:LONGEST_TEXT], style)
        formats = column.excel_formats()
        for offset, (value, code) in enumerate(zip(column.values.tolist(), formats, strict=True), 1):
            style = styles.get_style(num_format=code, align=align)
            _write_cell(sheet, row + offset, place, value, style)
    return row + table.rows + 1


def _write_cell(sheet: Any, row: int, column: int, value: object, style: Any) -> None:
    """Write a value into a cell: numbers as numbers, texts as texts, nothing for unknown numbers.

    Args:
        sheet: Worksheet of XlsxWriter.
        row: Index of the row, from 0.
        column: Index of the column, from 0.
        value: Number, bool or text; None and NaN: nothing is written.
        style: Cell format.
    """
    if value is None or (isinstance(value, float) and isnan(value)):
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value, style)
    elif isinstance(value, int | float) and isfinite(value):
        sheet.write_number(row, column, value, style)
    else:
        sheet.write_string(row, column, translate(str(value))[:LONGEST_TEXT], style)


def render_png(picture: Axes, dots: int = PRINT_RESOLUTION) -> bytes:
    """Return a plot as the bytes of a PNG file with `dots` dots per inch.

    Args:
        picture: Axes of the plot; the whole figure is drawn.
        dots: Resolution, in dots per inch.
    """
    buffer = BytesIO()
    save_axes(picture, buffer, ".png", dots)
    return buffer.getvalue()


def statement_facts(privacy: PrivacyStatement) -> list[tuple[str, str]]:
    """Return name and text of each fact about a release, for readers.

    The statement in one line comes first, then the notes without advice, then the statement in full.

    Args:
        privacy: The privacy statement.
    """
    facts = [("statement", fact) for fact in footer(privacy).splitlines()]
    notes = [("note", note) for note in select_reader_notes(privacy.notes)]
    return [*facts, *notes, *statement_rows(privacy)]
