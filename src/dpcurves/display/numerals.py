r"""Format numbers and dates, and names from outside, for plots, tables and texts.

- Numbers: `format_number`, `format_numbers` (a column), `format_interval` (rounded outward), `format_in_cell`.
- Dates, if the label of an axis ends with ``(date)`` or ``(moment)``: `format_date`, `format_axis_value`.
- Names: `format_label` (one line), `distinguish_labels` and `wrap_labels` (different names stay different).

Digits follow what is known: a number that is known to within a width has no digit worth less than a hundredth of it.

>>> format_number(1234.5678), format_number(1234.5678, width=200), format_label("two\nlines")
('1,235', '1,230', 'two lines')
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from math import ceil, copysign, floor, inf, isfinite, isnan, log10
from unicodedata import east_asian_width, normalize

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..foreign_text import flatten_label, visible_form
from ..translation import keep_shortened

LONGEST_LABEL = 60
"""Characters of a name in a label or legend of a picture; a longer one is cut in the middle."""
LONGEST_WHOLE = 600
"""Characters of a name that even a picture which wraps names shows; a longer one is cut."""
BLANK_NAME = "(blank)"
"""Shown for a name without any visible character."""


def format_label(text: object, most: int = LONGEST_LABEL) -> str:
    """Return `text` on one line, without control characters, shortened to `most` characters.

    >>> format_label("fare\\n\\x1b[31m($)")
    'fare \\ufffd[31m($)'
    """
    line = flatten_label(text)
    return line if len(line) <= most else flatten_label(line[: most - 3]) + "..."


def distinguish_labels(names: Sequence[object], most: int) -> list[str]:
    """Return the names on one line each, long ones cut in the middle, and numbered if they would look equal.

    Names of blanks alone become ``(blank)``.

    >>> distinguish_labels(["occupation group 01", "occupation group 02", "other"], 12)
    ['occup...p 01', 'occup...p 02', 'other']
    >>> distinguish_labels(["a long name, one, of many", "a long name, two, of many"], 12)
    ['1: a long...', '2: a long...']

    Args:
        names: Names; equal ones are numbered as well.
        most: Largest number of characters of a text.

    Returns:
        Texts in the order of the names.
    """
    names = [name if visible_form(format_label(name)) else BLANK_NAME for name in names]
    texts = [cut_middle(format_label(name, LONGEST_WHOLE), most) for name in names]
    keep_shortened(names, texts)
    # Different code points may look the same.
    if len({normalize("NFC", visible_form(text)) for text in texts}) == len(texts):
        return texts
    numbered = [format_label(f"{number}: {format_label(name)}", most) for number, name in enumerate(names, 1)]
    keep_shortened(names, numbered)
    return numbered


def format_distinct_labels(values: Sequence[object], most: int = LONGEST_LABEL) -> list[str]:
    """Return texts of values for a terminal or a page: on one line, not empty, and different for different values.

    >>> format_distinct_labels(["a", "a ", " ", "a"], 12), format_distinct_labels(["x" * 70 + "1", "x" * 70 + "2"], 12)
    (['1: a', '2: a', '3: (blank)', '1: a'], ['xxxxx...xxx1', 'xxxxx...xxx2'])

    Args:
        values: Values; equal ones have one text.
        most: Largest number of characters of a text.

    Returns:
        Texts in the order of the values.
    """
    used = list(dict.fromkeys(map(str, values)))
    words = dict(zip(used, distinguish_labels(used, most), strict=True))
    return [words[str(value)] for value in values]


def cut_middle(line: str, most: int) -> str:
    """Return a line of at most `most` characters: its middle is replaced by dots if it has more.

    The end stays, because it often distinguishes a name from others, or has the unit.

    Args:
        line: Text of one line.

    >>> cut_middle("age at admission, completed years (years)", 24)
    'age at admi...rs (years)'
    """
    end = (most - 3) // 2
    return line if len(line) <= most else f"{line[: most - 3 - end].rstrip()}...{line[-end:].lstrip()}"


def break_label(line: str, most: int) -> list[str]:
    """Return a line in parts of at most `most` columns, broken at spaces, or within words that are wider.

    Letters of East Asian scripts and emoji are two columns wide, as on terminals, and may be broken anywhere.

    Args:
        line: Text of one line.
        most: Width of a part, in columns of a terminal.

    >>> break_label("occupation of the parents", 12), break_label("abcdefgh", 5), break_label("東京都港区", 4)
    (['occupation', 'of the', 'parents'], ['abcde', 'fgh'], ['東京', '都港', '区'])
    """
    lines = list[str]()
    current = ""
    for word in re.split(r"(?<=\s)", line):
        if count_columns(current) + count_columns(word.rstrip()) <= most:
            current += word
            continue
        if current.strip():
            lines.append(current.rstrip())
        current = word
        while count_columns(current.rstrip()) > most:
            end = next(end for end in range(len(current), 0, -1) if end == 1 or count_columns(current[:end]) <= most)
            lines.append(current[:end])
            current = current[end:]
    return [*lines, current.rstrip()] if current.strip() or not lines else lines


def count_columns(text: str) -> int:
    """Return the width of a text in columns: 2 for letters of East Asian scripts and emoji, 1 for others.

    Args:
        text: Text of one line.
    """
    return len(text) + sum(east_asian_width(letter) in "WF" for letter in text)


def wrap_labels(names: Sequence[object], columns: int = 30, most_lines: int = 4) -> list[str]:
    """Return distinct names in lines of at most `columns` columns; names of more than `most_lines` lines are shortened
    in the middle.

    Args:
        names: Names, such as categories.

    >>> wrap_labels(["one short name", "the names of all occupations"], 16)
    ['one short name', 'the names of all\\noccupations']
    """
    for most in (columns * most_lines, columns * most_lines * 3 // 4, columns * most_lines // 2, columns):
        texts = ["\n".join(break_label(name, columns)) for name in distinguish_labels(names, most)]
        if all(text.count("\n") < most_lines for text in texts):
            break
    return texts


def format_legend_label(text: object) -> str:
    """Return `text` as `format_label` does, for a legend, where matplotlib hides labels with a leading underscore."""
    line = format_label(text, LONGEST_WHOLE)
    return f" {line}" if line.startswith("_") else line


def shorten_entries(entries: Sequence[str], most: int = 3 * LONGEST_LABEL) -> list[str]:
    """Return legend entries whose first lines, which have the names, are cut to `most` characters and stay different.

    Args:
        entries: Legend entries of one or several lines.

    >>> shorten_entries(["a name of many words\\nAUC 0.7", "another name of words"], 14)
    ['a name...words\\nAUC 0.7', 'anothe...words']
    """
    firsts, rests = zip(*(entry.partition("\n")[::2] for entry in entries), strict=True) if entries else ((), ())
    if any(len(first) > most for first in firsts):
        firsts = tuple(distinguish_labels(firsts, most))
    return ["\n".join(filter(None, parts)) for parts in zip(firsts, rests, strict=True)]


# Numbers with grouped thousands, without powers of ten, and without digits that are not known.


LARGEST_PLAIN = 1e15
"""Absolute value from which numbers are written with a power of ten, as in 1e+15."""
SMALLEST_PLAIN = 1e-5
"""Absolute value below which numbers are written with a power of ten, as in 1e-06."""
SIGNIFICANT_DIGITS = 4
"""Digits that are shown of a number whose precision is not known; digits before the point are never cut off."""
MOST_DECIMALS = 12
"""Largest number of decimals; numbers that need more get four significant digits. Also the digits of a number that is
shown in full."""
MOST_LABELLED = 12
"""Largest number of points or rows of a plot whose numbers are written beside them; more would overlap."""
NO_END = "no end"
"""Words for an infinite number, which is a missing end of an interval."""


def format_number(value: float, width: float = 0.0) -> str:
    """Format a number. If it is known to within `width`, a unit of its last digit is a hundredth to a tenth of `width`.

    >>> format_number(31380.4), format_number(0.123456), format_number(12.0), format_number(float("inf"))
    ('31,380', '0.1235', '12', 'no end')
    >>> format_number(187.2, width=244), format_number(30.3106, width=1)
    ('190', '30.3')

    Args:
        value: The number; NaN is ``not known``, an infinite number ``no end``.
        width: Width of its interval; 0: unknown, and four significant digits, or more before the point, are shown.
    """
    if not isfinite(value):
        return "not known" if isnan(value) else NO_END
    if width > 0:
        return _round_to_power(value, floor(log10(width) + 1e-9) - 1)
    if value and not SMALLEST_PLAIN <= abs(value) < LARGEST_PLAIN:
        return f"{value:.{SIGNIFICANT_DIGITS}g}"
    place = floor(log10(abs(value)) + 1e-12) - SIGNIFICANT_DIGITS + 1 if value else 0
    text = _round_to_power(value, min(place, 0))
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_in_cell(value: float, lower: float, upper: float, *, known_to: float = 0.0) -> str:
    """Return the text of a value that is known to lie in a cell, or to within some width, without digits finer than
    that.

    For an unbounded cell the text has its finite end; for a cell of one value, all its digits.

    Args:
        value: The number.
        lower: Lower end of the cell; minus infinity: none.
        upper: Upper end of the cell; infinity: none.
        known_to: Accuracy of the value, as the width of an interval, if it is wider than the cell; 0: the cell's width.

    >>> inf = float("inf")
    >>> format_in_cell(187.2, 0, 244), format_in_cell(49219, 49219, inf), format_in_cell(976.6, -inf, 976.6)
    ('190', 'at or above 49,219', 'below 976.6')
    >>> format_in_cell(31, 31, 31, known_to=20), format_in_cell(12345.5, 12345.5, 12345.5)
    ('31', '12,345.5')
    """
    if lower == upper:
        return f"{value:,.{MOST_DECIMALS}g}" if abs(value) < LARGEST_PLAIN else format_number(value)
    if isfinite(lower) and isfinite(upper):
        return format_number(value, max(upper - lower, known_to if isfinite(known_to) else 0.0))
    if isfinite(lower):
        return f"at or above {format_number(lower)}"
    return f"below {format_number(upper)}" if isfinite(upper) else "not known"


def describe_point(answered: float, asked: float) -> str:
    """Return the point to which a number belongs, with the requested point if it differs.

    >>> describe_point(750.0, 730.0), describe_point(0.3, 0.1 + 0.2)
    ('750 (the edge nearest to 730)', '0.3')

    Args:
        answered: Edge of the grid to which the number belongs.
        asked: Point that was asked for; points that differ by rounding alone count as equal.
    """
    is_same = abs(answered - asked) <= 1e-9 * max(abs(answered), abs(asked))  # edges of a grid are computed in doubles
    return f"{answered:.10g}" if is_same else f"{answered:.10g} (the edge nearest to {asked:.10g})"


def format_interval(lower: float, upper: float, known_to: float = 0.0) -> str:
    """Return the text of an interval: endpoints are rounded outward, with enough digits to differ, and may be infinite.

    If the value inside is known to within some width, digits are at least a tenth of it.

    Args:
        lower: Lower endpoint.
        upper: Upper endpoint.
        known_to: Width to which the value inside is known; 0: not known.

    >>> inf = float("inf")
    >>> format_interval(976.5625, 1220.7), format_interval(0.25, 0.5)
    ('976 to 1,221', '0.25 to 0.50')
    >>> format_interval(49219, inf), format_interval(-inf, 976.5625)
    ('49,219 or more', 'less than 976.6')
    >>> format_interval(0.68881, 0.77552), format_interval(0.68881, 0.77552, known_to=0.08)
    ('0.6888 to 0.7756', '0.688 to 0.776')
    """
    if not isfinite(lower) or not isfinite(upper):
        return {
            (True, False): f"{format_number(lower)} or more", (False, True): f"less than {format_number(upper)}",
        }.get((isfinite(lower), isfinite(upper)), "not known")  # fmt: skip
    if 0 < max(abs(lower), abs(upper)) < 1e-290:  # below it, rounding to powers of ten underflows doubles
        return f"{lower:.{SIGNIFICANT_DIGITS}g} to {upper:.{SIGNIFICANT_DIGITS}g}"
    digits = count_decimals(np.array([lower, upper]), max(abs(lower), abs(upper)))
    if known_to > 0:
        digits = min(digits, max(1 - floor(log10(known_to) + 1e-9), 0))
    scale = 10.0**digits
    outward_tolerance = 1e-6  # units of the last digit. Rounding error of an endpoint that rounding outward ignores.
    low = floor(lower * scale + outward_tolerance) / scale
    high = ceil(upper * scale - outward_tolerance) / scale
    return f"{_round_to_power(low, -digits)} to {_round_to_power(high, -digits)}"


def _round_to_power(value: float, place: int) -> str:
    """Return a number rounded to ``10**place``, as text with grouped thousands.

    Args:
        value: The number.
        place: Exponent of ten of the last digit; for one below `-MOST_DECIMALS` four significant digits are shown.
    """
    if place < -MOST_DECIMALS or abs(value) >= LARGEST_PLAIN:
        return f"{value:.{SIGNIFICANT_DIGITS}g}"
    rounded = round(value, -place) + 0.0  # no negative zero
    return f"{rounded:,.{max(-place, 0)}f}"


def format_numbers(values: ArrayLike) -> list[str]:
    """Format a column of numbers with equal decimals: all their digits, or enough to distinguish neighbours.

    Other values are shown unchanged, and pairs of numbers as intervals.

    Args:
        values: Numbers, (rows,); or pairs of interval ends, (rows, 2); or other values.

    >>> format_numbers([0.25, 1.0, 1.5]), format_numbers([0.0, 1 / 3, 1.0])
    (['0.25', '1.00', '1.50'], ['0.0000', '0.3333', '1.0000'])
    >>> format_numbers([-34179.6875, -34057.6171875]), format_numbers([2010.1, 2010.2])
    (['-34,180', '-34,058'], ['2,010.1', '2,010.2'])
    >>> format_numbers(["a", "b"]), format_numbers([10000, 2]), format_numbers([-1e300, 1.5, 20001.0])
    (['a', 'b'], ['10,000', '2'], ['-1e+300', '1.5', '20,001'])
    >>> format_numbers([[0.68881, 0.77552], [0.5, float("inf")]])
    ['0.688 to 0.776', '0.5 or more']
    """
    array = np.asarray(values)
    if array.ndim == 2:
        # the smallest digit is at least 1e-4 of the upper endpoint
        return [format_interval(low, high, max(high - low, 1e-4 * abs(high))) for low, high in array.tolist()]
    if array.dtype.kind in "iu":
        return [f"{value:,}" for value in array.tolist()]
    if array.dtype.kind != "f":
        return format_distinct_labels(array.tolist())
    finite = array[np.isfinite(array)].astype(np.float64)
    plain = finite[np.abs(finite) < LARGEST_PLAIN]
    largest = float(np.abs(plain).max(initial=0.0))
    if (len(plain) < len(finite) and not largest) or 0 < largest < SMALLEST_PLAIN:
        return [
            f"{value:.{SIGNIFICANT_DIGITS}g}" if isfinite(value) else format_number(value) for value in array.tolist()
        ]
    if len(plain) < len(finite):  # outliers must not take digits from the others
        return [format_number(value) for value in array.tolist()]
    power = -count_decimals(plain, largest)
    return [_round_to_power(value, power) if isfinite(value) else format_number(value) for value in array.tolist()]


def count_decimals(values: NDArray[np.float64], largest: float) -> int:
    """Return the fewest decimals that show these numbers fully, up to four figures, or distinguish steps of a rising
    column.

    Args:
        values: Numbers of the column, (rows,).
        largest: Largest absolute value of the column.
    """
    steps = np.diff(values)
    step = float(np.median(steps)) if len(steps) and np.all(steps > 0) else largest
    enough = min(
        max(decimals_for_figures(largest, SIGNIFICANT_DIGITS), decimals_for_figures(step, 2)),
        decimals_for_figures(largest, 7),  # at most 7 digits of the largest number
    )
    figures = (digits for digits in range(enough) if np.allclose(np.round(values, digits), values, rtol=1e-12, atol=0))
    return next(figures, enough)


def decimals_for_figures(value: float, figures: int) -> int:
    """Return the decimals with which a number of this size has this many significant figures.

    Args:
        value: The number, not below zero; 0 needs no decimals.
        figures: Number of significant figures.
    """
    return max(0, figures - 1 - floor(log10(value) - 1e-12)) if value else 0


# Axes of dates, recognised by the unit at the end of their label.


UNITS = DATE, MOMENT = "date", "moment"
"""Units of axes, in parentheses at the end of their label: days (date) or seconds (moment) since 1970."""
FIRST_DAY = date.min.toordinal()
"""Proleptic ordinal of the first day that Python's dates have, 0001-01-01; earlier ones are written as numbers."""
LAST_DAY = date.max.toordinal()
"""Proleptic ordinal of the last day that Python's dates have, 9999-12-31; later ones are written as numbers."""
EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
"""Proleptic ordinal of 1970-01-01, from which days since 1970 are counted on."""
UTC_SUFFIX = " UTC"
"""Suffix of times of day in texts: times of all zones are converted to UTC before they are counted."""


def is_date_axis(label: str) -> bool:
    """Return whether the unit in the label is days or seconds since 1970.

    Args:
        label: Label of the axis, with its unit in parentheses.
    """
    return label.endswith((f"({DATE})", f"({MOMENT})"))


def add_time_zone(label: str) -> str:
    """Return the label of an axis, with UTC for an axis of times.

    Args:
        label: Label of the axis, with its unit in parentheses.

    >>> add_time_zone("at (moment)"), add_time_zone("day (date)")
    ('at (moment, UTC)', 'day (date)')
    """
    return f"{label.removesuffix(')')},{UTC_SUFFIX})" if label.endswith(f"({MOMENT})") else label


def format_date(value: float, label: str) -> str | None:
    """Return days or seconds since 1970 as a date, or as a time in UTC; None if the axis has no dates or no calendar
    date exists.

    Args:
        value: Days (for dates) or seconds (for times) since 1970.
        label: Label of the axis, which ends with ``(date)`` or ``(moment)`` if it has dates or times.

    >>> format_date(19_000.4, "day (date)"), format_date(1_700_000_000, "at (moment)")
    ('2022-01-08', '2023-11-14 22:13:20 UTC')
    >>> format_date(1e300, "day (date)"), format_date(2, "km")
    (None, None)
    """
    if not is_date_axis(label) or not isfinite(value):
        return None
    if label.endswith(f"({DATE})"):
        day = EPOCH_ORDINAL + floor(value)
        return date.fromordinal(day).isoformat() if FIRST_DAY <= day <= LAST_DAY else None
    per_day = 86_400  # seconds of a day
    days = floor(value / per_day) + EPOCH_ORDINAL
    if not FIRST_DAY <= days <= LAST_DAY:
        return None
    since = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days - EPOCH_ORDINAL, seconds=floor(value % per_day))
    return f"{since.replace(tzinfo=None).isoformat(sep=' ')}{UTC_SUFFIX}"


def format_in_iso(values: ArrayLike, label: str) -> list[str | float]:
    """Return days or seconds since 1970 as texts in ISO 8601 for files; values beyond the calendar become infinite, NaN
    stays.

    >>> format_in_iso([19_000.4, -1e300, float("nan")], "day (date)"), format_in_iso([1_700_000_000], "at (moment)")
    (['2022-01-08', -inf, nan], ['2023-11-14T22:13:20Z'])

    Args:
        values: Days or seconds since the beginning of 1970, (values,).
        label: Label of the axis, which ends with ``(date)`` for days, ``(moment)`` for seconds.
    """
    texts: list[str | float] = []
    for value in np.asarray(values, dtype=np.float64).tolist():
        text = format_date(value, label)
        if text is None:
            texts.append(value if isnan(value) else copysign(inf, value))
        else:
            texts.append(f"{text.removesuffix(UTC_SUFFIX).replace(' ', 'T')}Z" if text.endswith(UTC_SUFFIX) else text)
    return texts


def format_axis_value(value: float, lower: float, upper: float, label: str, known_to: float = 0.0) -> str:
    """Format a value in a cell: as a date or time on an axis of dates or times, else as `format_in_cell` does.

    Args:
        value: The number.
        lower: Lower end of the cell; minus infinity: none.
        upper: Upper end of the cell; infinity: none.
        label: Label of the axis. It ends with ``(date)`` if numbers are days since 1970-01-01, and with ``(moment)`` if
            they are seconds since then; values beyond the calendar stay numbers.
        known_to: Width to which the value is known, in units of the axis; 0: to the cell alone.
    """
    return format_date(value, label) or format_in_cell(value, lower, upper, known_to=known_to)


def format_axis_interval(lower: float, upper: float, label: str, known_to: float = 0.0) -> str:
    """Return the text of an interval on an axis: a range of dates, both included, or numbers rounded outward.

    Args:
        lower: Lower endpoint, which may be infinite.
        upper: Upper endpoint, which may be infinite.
        label: Label of the axis, which ends with ``(date)`` or ``(moment)`` on an axis of dates or times.
        known_to: Accuracy of a number inside, as the width of an interval; 0: not known.

    >>> axis = "day (date)"
    >>> format_axis_interval(19_000.4, 19_003.2, axis), format_axis_interval(19_000.4, float("inf"), axis)
    ('2022-01-08 to 2022-01-12', '2022-01-08 or more')
    """
    low = format_date(lower, label)
    high = format_date(ceil(upper) if isfinite(upper) else upper, label)
    if low is not None and upper == float("inf"):
        return f"{low} or more"
    if high is not None and lower == -float("inf"):
        return f"less than {high}"
    return f"{low} to {high}" if low is not None and high is not None else format_interval(lower, upper, known_to)
