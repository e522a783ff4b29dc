"""Files that offices open: CSV, Excel workbooks, and pages that need nothing but themselves."""

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
"""Rows of a sheet of Excel below its head."""
LONGEST_TEXT = 32_767
"""Characters that a cell of Excel holds."""
MADE = datetime(2000, 1, 1)
"""The day that a workbook gives as that of its making: a released result has none, and the same one makes the same
bytes."""
SUPPRESSED = ".."
"""Stands for a number that is left out."""
PRINTED = 300
"""Dots per inch that printers ask for."""


FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # noqa: RUF001
"""Beginnings of texts that spreadsheets run as formulas, also behind apostrophes, so that each escape can be undone."""


def escape_formula(text: str) -> str:
    """Text that no spreadsheet runs: an apostrophe stands before what begins with = + - @, a tab or a line break.

    >>> [escape_formula(text) for text in ("=1+1", "-1", "'=1", "'tis", "UA")]
    ["'=1+1", "'-1", "''=1", "'tis", 'UA']
    """
    return f"'{text}" if FORMULA.match(text) else text


def unescape_formula(text: str) -> str:
    """The text that `escape_formula` was given.

    >>> [unescape_formula(text) for text in ("'=1+1", "''=1", "'tis", "-1")]
    ['=1+1', "'=1", "'tis", '-1']
    """
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def csv_text(columns: Mapping[str, ArrayLike], *, raw: bool = False) -> str:
    """Columns as CSV, with a head (RFC 4180): numbers to their last digit, and an empty cell where one is not known.

    Args:
        columns: The columns by name.
        raw: Write text as it is; else `escape_formula` is applied to names and to text, and never to numbers.

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
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    return escape(value) if isinstance(value, str) else value


def find_wide_intervals(values: ArrayLike, lower: ArrayLike, upper: ArrayLike, share: float) -> BoolArray:
    """Mark the numbers whose interval is wider, from end to end, than this share of the number; or that are not known.

    >>> find_wide_intervals([100.0, 10.0], [95.0, 5.0], [105.0, 15.0], 0.2).tolist()
    [False, True]

    Raises:
        ValueError: the share is not above 0, or not finite.
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not (isfinite(share) and share > 0):
        raise InvalidArgument(
            "suppress", "a share above 0 is needed, as 0.3: numbers with wider intervals are left out"
        )
    widths = np.asarray(upper, dtype=np.float64) - np.asarray(lower, dtype=np.float64)
    return ~(widths <= share * np.abs(np.asarray(values, dtype=np.float64)))


def suppress_rows(columns: Mapping[str, ArrayLike], names: Sequence[str], rows: BoolArray) -> dict[str, Any]:
    """The columns with ``..`` in the place of what stands in these rows of some of them."""
    found: dict[str, Any] = dict(columns)
    for name in names:
        column = np.array(np.asarray(columns[name]).tolist(), dtype=object)
        column[rows] = SUPPRESSED
        found[name] = column
    return found


def require_workbooks() -> None:
    """Refuse where no workbook can be written.

    Raises:
        ImportError: XlsxWriter is not installed.
    """
    try:
        import xlsxwriter  # noqa: F401
    except ImportError:
        raise MissingPackage("xlsx", NO_XLSXWRITER) from None


def build_workbook(columns: Mapping[str, ArrayLike], facts: Sequence[tuple[str, str]], picture: Axes) -> bytes:
    """A workbook of Excel: sheets of numbers, and one of facts with the picture below them.

    Text is text: a cell that begins with ``=`` is no formula. The same input gives the same bytes.

    Args:
        columns: The numbers; beyond 2^20 - 1 rows they go on in further sheets.
        facts: Names, and what is said of them.
        picture: What is put below the facts.

    Raises:
        ImportError: XlsxWriter is not installed.
    """
    require_workbooks()
    from xlsxwriter import Workbook

    made = BytesIO()
    book = Workbook(made, {"in_memory": True})
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
    return made.getvalue()


def _write_cell(sheet: Any, row: int, place: int, value: object) -> None:
    if value is None or (isinstance(value, float) and isnan(value)):
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, place, value)
    elif isinstance(value, int | float) and isfinite(value):
        sheet.write_number(row, place, value)
    else:
        sheet.write_string(row, place, str(value)[:LONGEST_TEXT])


def _write_statement(book: Any, bold: Any, facts: Sequence[tuple[str, str]], picture: bytes) -> None:
    sheet = book.add_worksheet("statement")
    sheet.set_column(0, 0, 24)
    sheet.set_column(1, 1, 96, book.add_format({"text_wrap": True, "valign": "top"}))
    for row, (name, told) in enumerate(facts):
        sheet.write_string(row, 0, name[:LONGEST_TEXT], bold)
        sheet.write_string(row, 1, told[:LONGEST_TEXT])
    sheet.insert_image(len(facts) + 1, 0, "picture.png", {"image_data": BytesIO(picture)})


def render_png(picture: Axes, dots: int = PRINTED) -> bytes:
    """The picture as PNG, of so many dots per inch."""
    made = BytesIO()
    save_axes(picture, made, ".png", dots)
    return made.getvalue()


def statement_facts(
    title: str, line: str, summary: Sequence[tuple[str, str]], privacy: PrivacyStatement
) -> list[tuple[str, str]]:
    """Rows of a sheet that say of a result what it is, what it shows, who is protected, and what to read along."""
    told = [("statement", part) for part in footer(privacy).splitlines()]
    notes = [("note", note) for note in privacy.notes]
    return [("title", title), ("result", line), *told, *summary, *notes, *statement_rows(privacy)]
