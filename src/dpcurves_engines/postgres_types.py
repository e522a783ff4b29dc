"""PostgreSQL types, and the SQL that reads their columns. Total: no value of a row makes it fail."""

from __future__ import annotations

from typing import NamedTuple

from dpcurves.arguments import Refused
from dpcurves.records.column import LONGEST_TEXT, Column, Kind

BOOLEAN, NUMERIC = 16, 1700
WHOLE = {20, 21, 23}
FLOATING = {700, 701}
TEXTS = {18, 19, 25, 1042, 1043}
UUID = 2950
INTERVAL = 1186
TIMES = {1082, 1083, 1114, 1184, INTERVAL, 1266}
ENUM = "e"

_HUGE = f"'{2**1024 - 2**970}'::numeric"
"""From here on a number is nearer to 2**1024 than to the largest double."""
_TINY = f"'{'0.' + str(5**1075).zfill(1075)}'::numeric"
"""2**-1075: up to here a number is nearer to 0 than to the least double, and the cast would raise."""
_SAFE = f"(CASE WHEN abs({{0}}) < {_HUGE} AND abs({{0}}) > {_TINY} THEN {{0}} ELSE 0 END)::float8"
_NUMERIC = (
    f"CASE WHEN {{0}} = 'NaN'::numeric THEN NULL WHEN {{0}} >= {_HUGE} THEN 'Infinity'::float8 "
    f"WHEN {{0}} <= -{_HUGE} THEN '-Infinity'::float8 ELSE {_SAFE} END"
)
_TEXT = '{0}::text COLLATE "C"'
_NO_NUMBER = "NULL::float8"
NO_UNIT = ""


class Typed(NamedTuple):
    """A column, and its type in the catalogue, below all domains."""

    name: str
    oid: int
    sort: str


def column_of(typed: Typed) -> Column:
    """The column that the type declares."""
    name, oid, sort = typed
    if oid == BOOLEAN:
        return Column(name, Kind.NUMBERS, "{0}::int::float8", "{0}::text")
    if oid in WHOLE:
        return Column(name, Kind.NUMBERS, "{0}::float8", "{0}::text")
    if oid in FLOATING | {NUMERIC}:
        number = _NUMERIC if oid == NUMERIC else "{0}::float8"
        return Column(name, Kind.NUMBERS, number, "{0}::text", unit="CASE WHEN {0} <> 'NaN' THEN {0} END")
    if oid in TEXTS or oid == UUID or sort == ENUM:
        unit = f"CASE WHEN octet_length({_TEXT}) <= {LONGEST_TEXT} THEN {_TEXT} END"
        return Column(name, Kind.TEXT, _NO_NUMBER, _TEXT, unit=unit)
    unit = "{0}" if oid in TIMES and oid != INTERVAL else NO_UNIT
    return Column(name, Kind.TIMES if oid in TIMES else Kind.OTHER, _NO_NUMBER, _TEXT, unit=unit)


def require_unit(column: Column) -> None:
    """Refuse a column whose values are equal in more ways than one, or in none that is known.

    Raises:
        ValueError: it is of such a type.
    """
    if column.unit == NO_UNIT:
        raise Refused("unit", f"{column.name!r} is of a type that names no unit; a number, text, date or uuid does")
