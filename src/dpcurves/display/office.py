"""Output for office programs: CSV files and Excel workbooks."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from io import BytesIO, StringIO
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import InvalidArgument, MissingPackage
from ..arrays import BoolArray
from ..conversation import PrivacyStatement
from .canvas import save_axes
from .html import statement_rows
from .text import footer

if TYPE_CHECKING:
    from matplotlib.axes import Axes


NO_XLSXWRITER = "XlsxWriter is needed for workbooks: pip install 'dpcurves[office]'"
SHEET_ROWS = 2**20 - 1
"""Rows of an Excel sheet below the header."""
LONGEST_TEXT = 32_767
"""Characters that an Excel cell can hold."""
MADE = datetime(2000, 1, 1)
"""Creation date of all workbooks: a released result has no date, and equal results give equal bytes."""
SUPPRESSED = ".."
"""Placeholder of a suppressed number."""
PRINTED = 300
"""Dots per inch for print."""


FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # noqa: RUF001
"""Prefixes of texts that spreadsheets run as formulas, also behind apostrophes, so that escaping is invertible."""


def escape_formula(text: str) -> str:
    """Prefix text with an apostrophe if a spreadsheet might run it.

    It might if the text, after any apostrophes, begins with = + - @ (full-width ones, too), a tab or a line break.

    >>> [escape_formula(text) for text in ("=1+1", "-1", "'=1", "'tis", "UA")]
    ["'=1+1", "'-1", "''=1", "'tis", 'UA']
    """
    return f"'{text}" if FORMULA.match(text) else text


def unescape_formula(text: str) -> str:
    """Invert `escape_formula`.

    >>> [unescape_formula(text) for text in ("'=1+1", "''=1", "'tis", "-1")]
    ['=1+1', "'=1", "'tis", '-1']
    """
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def csv_text(columns: Mapping[str, ArrayLike], *, raw: bool = False) -> str:
    """Return columns as CSV with a header (RFC 4180): numbers with all digits, unknown numbers as empty cells.

    Args:
        columns: The columns by name.
        raw: Leave text unchanged. Otherwise names and text are escaped by `escape_formula`, numbers never.

    >>> csv_text({"x": [1.0, -0.5], "y": [float("nan"), 2.0], "ward": ["-a", "b,c"]}).split()
    ['x,y,ward', "1.0,,'-a", '-0.5,2.0,"b,c"']
    """
    escape = str if raw else escape_formula
    text = StringIO(newline="")
    rows = csv.writer(text)
    rows.writerow(map(escape, columns))
    cells = ([_format_cell(value, escape) for value in np.asarray(column).tolist()] for column in columns.values())
    rows.writerows(zip(*cells, strict=True))
    return text.getvalue()


def _format_cell(value: object, escape: Callable[[str], str]) -> object:
    """Return a cell of a CSV file: empty for unknown numbers, text escaped by `escape`, numbers unchanged."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    return escape(value) if isinstance(value, str) else value


def find_wide_intervals(values: ArrayLike, lower: ArrayLike, upper: ArrayLike, share: float) -> BoolArray:
    """Mark numbers that are unknown, or whose interval is wider than the fraction `share` of the number.

    >>> find_wide_intervals([100.0, 10.0], [95.0, 5.0], [105.0, 15.0], 0.2).tolist()
    [False, True]

    Raises:
        ValueError: the share is not above 0, or not finite.
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not (isfinite(share) and share > 0):
        raise InvalidArgument(
            "suppress",
            "a number above 0 is needed, as in 0.3: numbers whose interval is wider in proportion are left out",
        )
    widths = np.asarray(upper, dtype=np.float64) - np.asarray(lower, dtype=np.float64)
    return ~(widths <= share * np.abs(np.asarray(values, dtype=np.float64)))


def suppress_rows(columns: Mapping[str, ArrayLike], names: Sequence[str], rows: BoolArray) -> dict[str, Any]:
    """Return the columns with ``..`` in these rows of the named columns."""
    suppressed: dict[str, Any] = dict(columns)
    for name in names:
        column = np.array(np.asarray(columns[name]).tolist(), dtype=object)
        column[rows] = SUPPRESSED
        suppressed[name] = column
    return suppressed


def require_workbooks() -> None:
    """Refuse to go on without XlsxWriter.

    Raises:
        ImportError: XlsxWriter is not installed.
    """
    try:
        import xlsxwriter  # noqa: F401
    except ImportError:
        raise MissingPackage("xlsx", NO_XLSXWRITER) from None


def build_workbook(columns: Mapping[str, ArrayLike], facts: Sequence[tuple[str, str]], picture: Axes) -> bytes:
    """Return an Excel workbook with sheets of numbers, and a sheet of facts with the plot below.

    Text stays text: a cell that starts with ``=`` is not a formula. Equal input gives equal bytes.

    Args:
        columns: The numbers; more than 2^20 - 1 rows continue in further sheets.
        facts: Names and texts.
        picture: The plot below the facts.

    Raises:
        ImportError: XlsxWriter is not installed.
    """
    require_workbooks()
    from xlsxwriter import Workbook

    buffer = BytesIO()
    book = Workbook(buffer, {"in_memory": True})
    book.set_properties({"created": MADE})
    bold = book.add_format({"bold": True})
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    rows = max((len(array) for array in arrays.values()), default=0)
    for number, start in enumerate(range(0, max(rows, 1), SHEET_ROWS), 1):
        sheet = book.add_worksheet("numbers" if number == 1 else f"numbers {number}")
        sheet.freeze_panes(1, 0)
        for place, (name, array) in enumerate(arrays.items()):
            sheet.set_column(place, place, max(12, min(len(name) + 2, 40)))
            sheet.write_string(0, place, name[:LONGEST_TEXT], bold)
            for row, value in enumerate(array[start : start + SHEET_ROWS].tolist(), 1):
                _write_cell(sheet, row, place, value)
    _write_statement(book, bold, facts, render_png(picture))
    book.close()
    return buffer.getvalue()


def _write_cell(sheet: Any, row: int, column: int, value: object) -> None:
    """Write a value into a cell: numbers as numbers, texts as texts, nothing for unknown numbers."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value)
    elif isinstance(value, int | float) and isfinite(value):
        sheet.write_number(row, column, value)
    else:
        sheet.write_string(row, column, str(value)[:LONGEST_TEXT])


def _write_statement(book: Any, bold: Any, facts: Sequence[tuple[str, str]], picture: bytes) -> None:
    """Add a sheet with the rows of facts and the picture (PNG bytes) below."""
    sheet = book.add_worksheet("statement")
    sheet.set_column(0, 0, 24)
    sheet.set_column(1, 1, 96, book.add_format({"text_wrap": True, "valign": "top"}))
    for row, (name, text) in enumerate(facts):
        sheet.write_string(row, 0, name[:LONGEST_TEXT], bold)
        sheet.write_string(row, 1, text[:LONGEST_TEXT])
    sheet.insert_image(len(facts) + 1, 0, "picture.png", {"image_data": BytesIO(picture)})


def render_png(picture: Axes, dots: int = PRINTED) -> bytes:
    """Return a plot as the bytes of a PNG file with `dots` dots per inch."""
    buffer = BytesIO()
    save_axes(picture, buffer, ".png", dots)
    return buffer.getvalue()


def statement_facts(
    title: str, line: str, summary: Sequence[tuple[str, str]], privacy: PrivacyStatement
) -> list[tuple[str, str]]:
    """Return rows of name and text about a result: its description, the privacy statement, and notes."""
    facts = [("statement", fact) for fact in footer(privacy).splitlines()]
    notes = [("note", note) for note in privacy.notes]
    return [("title", title), ("result", line), *facts, *summary, *notes, *statement_rows(privacy)]
