"""Columns by their schema, and the SQL that reads them. No value is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from ..arguments import Refused

MOST_NAMED = 40
DELIMITERS = ",;\t|"

LONGEST_TEXT = 2**20
"""Text of more bytes is missing, and so is a line of CSV that has more: else one of them could exhaust an engine."""

NUMBER = "CAST({0} AS DOUBLE)"

TEXT = "CAST({0} AS VARCHAR)"
"""Text of any column, bytes too: no byte is refused, for all but plain characters are written as hexadecimal codes."""

# Text that reads as a number, else as true or false. A date is no number: nobody said from when on to count.
NUMBER_IN_TEXT = (
    f"coalesce(TRY_CAST({TEXT} AS DOUBLE), "
    f"CASE lower({TEXT}) WHEN 'true' THEN 1::DOUBLE WHEN 'false' THEN 0::DOUBLE END)"
)


class Kind(Enum):
    """The kind of values that a schema declares for a column."""

    NUMBERS = "numbers"
    TEXT = "text"
    UNTYPED = "values without a declared type"
    OBJECTS = "objects of any type"
    TIMES = "dates, times or durations"
    OTHER = "neither numbers nor text"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a source, which refers to it by its position.

    Attributes:
        name: Its public name.
        kind: What it holds.
        number: SQL of its value as a double, where ``{0}`` stands for it; NULL or NaN: missing.
        text: SQL of its value as text.
        unit: SQL of the unit that it names; NULL: missing.
        moment: SQL of its moment in microseconds since 1970, where the type says what it counts in.
    """

    name: str
    kind: Kind
    number: str
    text: str = TEXT
    unit: str = "{0}"
    moment: str | None = None


def wide_numbers(name: str) -> Column:
    """A column of numbers with more digits than a double has, given as text: the nearest double is read from it."""
    return Column(name, Kind.NUMBERS, f"TRY_CAST({TEXT} AS DOUBLE)")


def called(place: int) -> str:
    """The SQL name of the column at `place`. (Names in the data may differ in case alone, to which SQL is blind.)"""
    return f"c{place}"


def place_of(name: object, columns: Sequence[Column], argument: str = "column") -> int:
    """The position of the column of this name. (A model has none: a source that cannot compute scores refuses it.)

    Raises:
        ValueError: it is not there, or twice.
    """
    places = [place for place, column in enumerate(columns) if column.name == name]
    if not places:
        known = [repr(each.name) for each in columns]
        more = [f"{len(known) - MOST_NAMED} more"] if len(known) > MOST_NAMED else []
        listed = ", ".join(known[:MOST_NAMED] + more) or "no columns"
        raise Refused(argument, f"{name!r} is not in the data, which has {listed}{_hint(columns)}", str(name))
    if len(places) > 1:
        raise Refused(argument, f"{name!r} stands {len(places)} times in the data; names must differ", str(name))
    return places[0]


def _hint(columns: Sequence[Column]) -> str:
    """A single column, the name of which has other delimiters in it: a line of CSV was not taken apart."""
    if len(columns) != 1 or columns[0].kind is not Kind.UNTYPED:
        return ""
    found = max(DELIMITERS, key=columns[0].name.count)
    return f"; give {found!r} as delimiter, if that separates its fields" if found in columns[0].name else ""
