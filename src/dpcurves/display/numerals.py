"""Numbers and dates as people write them, and names from outside made fit for pictures, pages and terminals."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from math import ceil, copysign, floor, inf, isfinite, isnan, log10
from unicodedata import normalize

import numpy as np
from numpy.typing import ArrayLike, NDArray

LONGEST_LABEL = 60
BLANK = "(blank)"
"""Stands for a name or a label of blanks alone."""


def format_label(text: object, most: int = LONGEST_LABEL) -> str:
    """`text` on one line, without control characters, and no longer than `most`.

    >>> format_label("fare\\n\\x1b[31m($)")
    'fare \\ufffd[31m($)'
    """
    line = "".join(sign if sign.isprintable() else "\ufffd" for sign in " ".join(str(text).split()))
    return line if len(line) <= most else line[: most - 3].rstrip() + "..."


def distinguish_labels(names: Sequence[object], most: int) -> list[str]:
    """The names as `format_label` has them, but those that would look alike are cut in their middle, or numbered.

    Blanks alone are written ``(blank)``.

    >>> distinguish_labels(["occupation group 01", "occupation group 02", "other"], 12)
    ['occup...p 01', 'occup...p 02', 'other']
    >>> distinguish_labels(["a long name, one, of many", "a long name, two, of many"], 12)
    ['1: a long...', '2: a long...']
    """
    names = [name if format_label(name) else BLANK for name in names]
    ways = (format_label(name, most) for name in names), (_cut_middle(name, most) for name in names)
    for way in map(list, ways):
        if len({normalize("NFC", text) for text in way}) == len(way):  # other code points may show the same letter
            return way
    return [format_label(f"{number}: {format_label(name)}", most) for number, name in enumerate(names, 1)]


def format_distinct_labels(values: Sequence[object], most: int = LONGEST_LABEL) -> list[str]:
    """Text of each value for a terminal or a page: on one line, not empty, and different for different values.

    >>> format_distinct_labels(["a", "a ", " ", "a"], 12), format_distinct_labels(["x" * 70 + "1", "x" * 70 + "2"], 12)
    (['1: a', '2: a', '3: (blank)', '1: a'], ['xxxxx...xxx1', 'xxxxx...xxx2'])
    """
    known = list(dict.fromkeys(map(str, values)))
    words = dict(zip(known, distinguish_labels(known, most), strict=True))
    return [words[str(value)] for value in values]


def _cut_middle(name: object, most: int) -> str:
    whole = format_label(name, 10 * LONGEST_LABEL)
    end = (most - 3) // 2
    return whole if len(whole) <= most else f"{whole[: most - 3 - end].rstrip()}...{whole[-end:].lstrip()}"


def format_legend_label(text: object) -> str:
    """`text` as `format_label` has it, fit for a legend, which would leave out what begins with an underscore."""
    line = format_label(text)
    return f" {line}" if line.startswith("_") else line


# Numbers as people write them: thousands apart, no powers of ten, and no more digits than are known.


LARGEST_PLAIN = 1e15
SMALLEST_PLAIN = 1e-5
FINEST = 1e-4  # of the upper end of an interval in a column: digits are no finer
FIGURES = 4
MOST_FIGURES = 7
MOST_DECIMALS = 12
MOST_LABELLED = 12
"""Points, or rows, of a picture beside which their numbers are written, at most."""
ROUNDING = 1e-6
ENDLESS = "no end"


def format_number(value: float, width: float = 0.0) -> str:
    """A number as text. If it is known only to within `width`, its last digit stands for at least a tenth of that.

    >>> format_number(31380.4), format_number(0.123456), format_number(12.0), format_number(float("inf"))
    ('31,380', '0.1235', '12', 'no end')
    >>> format_number(187.2, width=244), format_number(30.3106, width=1)
    ('190', '30.3')
    """
    if not isfinite(value):
        return "not known" if isnan(value) else ENDLESS
    if width > 0:
        return _round_to_power(value, floor(log10(width) + 1e-9) - 1)
    if value and not SMALLEST_PLAIN <= abs(value) < LARGEST_PLAIN:
        return f"{value:.{FIGURES}g}"
    place = floor(log10(abs(value)) + 1e-12) - FIGURES + 1 if value else 0
    text = _round_to_power(value, min(place, 0))
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_in_cell(value: float, lower: float, upper: float, *, known_to: float = 0.0) -> str:
    """The text of a value that is known only to lie in a cell, or only to within some width: it has no finer digits.

    The cell may be unbounded: then the text gives its finite end. If it holds one value, this has all its digits.

    >>> format_in_cell(187.2, 0, 244), format_in_cell(49219, 49219, float("inf")), format_in_cell(976.6, float("-inf"), 976.6)
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


NEAR = 1e-9
"""The relative distance within which two points are one: an edge of a grid is computed in doubles."""


def describe_point(answered: float, asked: float) -> str:
    """The point that a number is of, with the one that was asked for beside it, if that is another one.

    >>> describe_point(750.0, 730.0), describe_point(0.3, 0.1 + 0.2)
    ('750 (the edge nearest to 730)', '0.3')
    """
    is_same = abs(answered - asked) <= NEAR * max(abs(answered), abs(asked))
    return f"{answered:.10g}" if is_same else f"{answered:.10g} (the edge nearest to {asked:.10g})"


LEAST_ROUNDED = 1e-290
"""Below it no power of ten turns a number into a whole one."""


def format_interval(lower: float, upper: float, known_to: float = 0.0) -> str:
    """An interval as text: its ends are rounded outward, with enough digits to tell them apart; one may be infinite.

    If the value inside is known only to within some width, digits are no finer than a tenth of that.

    >>> format_interval(976.5625, 1220.7), format_interval(0.25, 0.5), format_interval(49219, float("inf")), format_interval(float("-inf"), 976.5625)
    ('976 to 1,221', '0.25 to 0.50', '49,219 or more', 'less than 976.6')
    >>> format_interval(0.68881, 0.77552), format_interval(0.68881, 0.77552, known_to=0.08)
    ('0.6888 to 0.7756', '0.688 to 0.776')
    """
    if not isfinite(lower) or not isfinite(upper):
        return {
            (True, False): f"{format_number(lower)} or more", (False, True): f"less than {format_number(upper)}",
        }.get((isfinite(lower), isfinite(upper)), "not known")  # fmt: skip
    if 0 < max(abs(lower), abs(upper)) < LEAST_ROUNDED:
        return f"{lower:.{FIGURES}g} to {upper:.{FIGURES}g}"
    digits = _count_decimals(np.array([lower, upper]), max(abs(lower), abs(upper)))
    if known_to > 0:
        digits = min(digits, max(1 - floor(log10(known_to) + 1e-9), 0))
    scale = 10.0**digits
    low, high = floor(lower * scale + ROUNDING) / scale, ceil(upper * scale - ROUNDING) / scale
    return f"{_round_to_power(low, -digits)} to {_round_to_power(high, -digits)}"


def _round_to_power(value: float, place: int) -> str:
    """Rounded to a power of ten."""
    if place < -MOST_DECIMALS or abs(value) >= LARGEST_PLAIN:
        return f"{value:.{FIGURES}g}"
    rounded = round(value, -place) + 0.0  # no minus before a zero
    return f"{rounded:,.{max(-place, 0)}f}"


def format_numbers(values: ArrayLike) -> list[str]:
    """A column of numbers with as many decimals each: all that they have, or enough to tell neighbours apart.

    What is no number is shown as it is, and a pair of numbers as an interval.

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
        return [format_interval(low, high, max(high - low, FINEST * abs(high))) for low, high in array.tolist()]
    if array.dtype.kind in "iu":
        return [f"{value:,}" for value in array.tolist()]
    if array.dtype.kind != "f":
        return format_distinct_labels(array.tolist())
    finite = array[np.isfinite(array)].astype(np.float64)
    plain = finite[np.abs(finite) < LARGEST_PLAIN]
    largest = float(np.abs(plain).max(initial=0.0))
    if (len(plain) < len(finite) and not largest) or 0 < largest < SMALLEST_PLAIN:
        return [f"{value:.{FIGURES}g}" if isfinite(value) else format_number(value) for value in array.tolist()]
    if len(plain) < len(finite):  # of all magnitudes: those that are far off take no digits from the others
        return [format_number(value) for value in array.tolist()]
    place = -_count_decimals(plain, largest)
    return [_round_to_power(value, place) if isfinite(value) else format_number(value) for value in array.tolist()]


def _count_decimals(values: NDArray[np.float64], largest: float) -> int:
    """The fewest that show these numbers in full, up to four figures, or tell steps of a rising column apart."""
    steps = np.diff(values)
    step = float(np.median(steps)) if len(steps) and np.all(steps > 0) else largest
    enough = min(
        max(_decimals_for_figures(largest, FIGURES), _decimals_for_figures(step, 2)),
        _decimals_for_figures(largest, MOST_FIGURES),
    )
    shown = (digits for digits in range(enough) if np.allclose(np.round(values, digits), values, rtol=1e-12, atol=0))
    return next(shown, enough)


def _decimals_for_figures(value: float, figures: int) -> int:
    """So many decimals show so many figures of what is up to `value`."""
    return max(0, figures - 1 - floor(log10(value) - 1e-12)) if value else 0


# Places on an axis of dates: the measuring unit that a label ends with says so.


UNITS = DATE, MOMENT = "date", "moment"
"""Measuring units of numbers of days, and of seconds, since the beginning of 1970."""
FIRST, LAST = date.min.toordinal(), date.max.toordinal()
BEGINNING = date(1970, 1, 1).toordinal()
PER_DAY = 86_400
IN_UTC = " UTC"
"""Follows a time: times of all zones are converted to UTC before they are counted."""


def is_date_axis(label: str) -> bool:
    """Tell whether numbers along an axis of this label are days, or seconds, since 1970."""
    return label.endswith((f"({DATE})", f"({MOMENT})"))


def add_time_zone(label: str) -> str:
    """The label of an axis; one of times says that they are in UTC.

    >>> add_time_zone("at (moment)"), add_time_zone("day (date)")
    ('at (moment, UTC)', 'day (date)')
    """
    return f"{label.removesuffix(')')},{IN_UTC})" if label.endswith(f"({MOMENT})") else label


def format_date(value: float, label: str) -> str | None:
    """A number of days or seconds as a date, or as a time in UTC; None where it is none that a calendar has.

    >>> format_date(19_000.4, "day (date)"), format_date(1_700_000_000, "at (moment)"), format_date(1e300, "day (date)"), format_date(2, "km")
    ('2022-01-08', '2023-11-14 22:13:20 UTC', None, None)
    """
    if not is_date_axis(label) or not isfinite(value):
        return None
    if label.endswith(f"({DATE})"):
        day = BEGINNING + floor(value)
        return date.fromordinal(day).isoformat() if FIRST <= day <= LAST else None
    days = floor(value / PER_DAY) + BEGINNING
    if not FIRST <= days <= LAST:
        return None
    since = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days - BEGINNING, seconds=floor(value % PER_DAY))
    return f"{since.replace(tzinfo=None).isoformat(sep=' ')}{IN_UTC}"


def format_in_iso(values: ArrayLike, label: str) -> list[str | float]:
    """Numbers of days or seconds as ISO 8601 text for files; what is beyond all calendars is infinite.

    >>> format_in_iso([19_000.4, -1e300, float("nan")], "day (date)"), format_in_iso([1_700_000_000], "at (moment)")
    (['2022-01-08', -inf, nan], ['2023-11-14T22:13:20Z'])
    """
    texts: list[str | float] = []
    for value in np.asarray(values, dtype=np.float64).tolist():
        text = format_date(value, label)
        if text is None:
            texts.append(value if isnan(value) else copysign(inf, value))
        else:
            texts.append(f"{text.removesuffix(IN_UTC).replace(' ', 'T')}Z" if text.endswith(IN_UTC) else text)
    return texts


def format_axis_value(value: float, lower: float, upper: float, label: str, known_to: float = 0.0) -> str:
    """The text of a value in a cell: see `format_in_cell`; of dates the day."""
    return format_date(value, label) or format_in_cell(value, lower, upper, known_to=known_to)


def format_axis_interval(lower: float, upper: float, label: str, known_to: float = 0.0) -> str:
    """An interval as text: see `format_interval`; of dates from a day to a day, which it holds.

    >>> format_axis_interval(19_000.4, 19_003.2, "day (date)"), format_axis_interval(19_000.4, float("inf"), "day (date)")
    ('2022-01-08 to 2022-01-12', '2022-01-08 or more')
    """
    low, high = format_date(lower, label), format_date(ceil(upper) if isfinite(upper) else upper, label)
    if low is not None and upper == float("inf"):
        return f"{low} or more"
    if high is not None and lower == -float("inf"):
        return f"less than {high}"
    return f"{low} to {high}" if low is not None and high is not None else format_interval(lower, upper, known_to)
