"""PostgreSQL types, tables of its catalogue, and the SQL that finds the cell of a row. Made of public facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dpcurves.arguments import Refused
from dpcurves.data.axis import Axis, FoundCategories
from dpcurves.data.grid import Grid, Outside
from dpcurves.records.engines.duckdb import pads
from dpcurves.records.engines.engine import BoundAxis, Keys, keys_of
from dpcurves.records.source import LONGEST_TEXT, Column, Kind
from dpcurves.records.value_names import FLOATS, Key, ValueType

from .postgres_link import Doubles, Link
from .slots import Buckets, Offsets, buckets_of, edge_above, thresholds_of

# PostgreSQL types, and the SQL that reads their columns. Total: no value of a row makes it fail.
BOOLEAN, NUMERIC = 16, 1700
WHOLE = {20, 21, 23}
FLOATING = {700: ValueType.SINGLE, 701: ValueType.DOUBLE}
NAMES = {16: "boolean", 20: "bigint", 21: "smallint", 23: "integer", 700: "real", 701: "double precision",
         1700: "numeric"}  # fmt: skip
"""What PostgreSQL calls its types of numbers."""
TEXTS = {18, 19, 25, 1042, 1043}
UUID = 2950
INTERVAL = 1186
TIMES = {1082, 1083, 1114, 1184, INTERVAL, 1266}
ENUM = "e"
DATE, TIME, MOMENT, MOMENT_IN_ZONE = 1082, 1083, 1114, 1184
_SECONDS = "date_part('epoch', {0})"
_SIGNED = "CASE WHEN {0} > '2000-01-01' THEN 'Infinity' ELSE '-Infinity' END::float8"
ELAPSED = {
    DATE: f"CASE WHEN isfinite({{0}}) THEN ({{0}} - '1970-01-01'::date)::float8 WHEN {{0}} IS NOT NULL "
    f"THEN ({_SIGNED}) END",
    TIME: _SECONDS, MOMENT: _SECONDS, MOMENT_IN_ZONE: _SECONDS,
}  # fmt: skip
"""SQL for days or seconds since the beginning of 1970, or of the day; infinite where a date or moment is."""

TIME_UNITS = {DATE: "date", MOMENT: "moment", MOMENT_IN_ZONE: "moment"}

_HUGE = f"'{2**1024 - 2**970}'::numeric"
"""From here on a number is nearer to 2**1024 than to the largest double."""
_TINY = f"'{'0.' + str(5**1075).zfill(1075)}'::numeric"
"""2**-1075: up to here a number is nearer to 0 than to the least double, and the cast would raise."""
_SAFE = f"(CASE WHEN abs({{0}}) < {_HUGE} AND abs({{0}}) > {_TINY} THEN {{0}} ELSE 0 END)::float8"
_NUMERIC = (
    f"CASE WHEN {{0}} IS NULL OR {{0}} = 'NaN'::numeric THEN NULL WHEN {{0}} >= {_HUGE} THEN 'Infinity'::float8 "
    f"WHEN {{0}} <= -{_HUGE} THEN '-Infinity'::float8 ELSE {_SAFE} END"
)
_DECIMAL_NAME = (
    "CASE trim_scale({0})::text WHEN 'Infinity' THEN 'inf' WHEN '-Infinity' THEN '-inf' ELSE trim_scale({0})::text END"
)
"""The name of a number of type numeric, as `value_names` has it."""
_TEXT = '{0}::text COLLATE "C"'
_NO_NUMBER = "NULL::float8"
NO_UNIT = ""


class Typed(NamedTuple):
    """A column of PostgreSQL and its base type, after types declared by CREATE DOMAIN are resolved."""

    name: str
    oid: int
    sort: str


def column_of(typed: Typed) -> Column:
    """The column that the type declares."""
    name, oid, sort = typed
    if oid == BOOLEAN:
        return Column(name, Kind.NUMBERS, "{0}::int::float8", "{0}::text", values=ValueType.TRUTH, declared=NAMES[oid])
    if oid in WHOLE:
        return Column(name, Kind.NUMBERS, "{0}::float8", "{0}::text", values=ValueType.WHOLE, declared=NAMES[oid])
    if oid in FLOATING or oid == NUMERIC:
        number, text = (_NUMERIC, _DECIMAL_NAME) if oid == NUMERIC else ("{0}::float8", "{0}::text")
        unit, values = "CASE WHEN {0} <> 'NaN' THEN {0} END", FLOATING.get(oid, ValueType.DECIMAL)
        return Column(name, Kind.NUMBERS, number, text, unit=unit, values=values, declared=NAMES[oid])
    if oid in TEXTS or oid == UUID or sort == ENUM:
        unit = f"CASE WHEN octet_length({_TEXT}) <= {LONGEST_TEXT} THEN {_TEXT} END"
        return Column(name, Kind.TEXT, _NO_NUMBER, _TEXT, unit=unit)
    unit, kind = "{0}" if oid in TIMES and oid != INTERVAL else NO_UNIT, Kind.TIMES if oid in TIMES else Kind.OTHER
    return Column(name, kind, _NO_NUMBER, _TEXT, unit=unit, elapsed=ELAPSED.get(oid), time=TIME_UNITS.get(oid, ""))


def require_unit(column: Column) -> None:
    """Refuse a column whose values are equal in more ways than one, or in none that is known.

    Raises:
        ValueError: it is of such a type.
    """
    if column.unit == NO_UNIT:
        raise Refused("unit", f"{column.name!r} is of a type that names no unit; a number, text, date or uuid does")


KINDS = {"r": "a table", "p": "a table", "v": "a view", "m": "a view", "f": "a foreign table"}
_FIND = (
    "SELECT c.oid::int8, c.relkind::text, n.nspname::text, c.relname::text, has_table_privilege(c.oid, 'SELECT') OR "
    "has_any_column_privilege(c.oid, 'SELECT') FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
    "ON n.oid = c.relnamespace WHERE c.oid = pg_catalog.to_regclass($1)"
)
_COLUMNS = (
    "WITH RECURSIVE held AS (SELECT a.attnum, a.attname, t.oid, t.typtype, t.typbasetype FROM pg_attribute a JOIN "
    "pg_type t ON t.oid = a.atttypid WHERE a.attrelid = $1::int8::oid AND a.attnum > 0 AND NOT a.attisdropped AND "
    "has_column_privilege(a.attrelid, a.attnum, 'SELECT') UNION ALL SELECT h.attnum, h.attname, t.oid, t.typtype, "
    "t.typbasetype FROM held h JOIN pg_type t ON t.oid = h.typbasetype WHERE h.typtype = 'd') "
    "SELECT attname::text, oid::int8, typtype::text FROM held WHERE typtype <> 'd' ORDER BY attnum"
)


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """A table of the catalogue."""

    name: str
    oid: int
    columns: tuple[Column, ...]
    quoted: tuple[str, ...]
    types: tuple[int, ...]

    def scan(self, places: Sequence[int]) -> str:
        """A FROM clause of columns under the names of their places."""
        named = ", ".join(f"{self.quoted[place]} AS c{place}" for place in places)
        return f"(SELECT {named} FROM {self.name}) AS scanned"


def found_table(link: Link, name: str) -> Table:
    """The table of this name, locked against other definitions; the snapshot is taken here.

    Raises:
        ValueError: there is none, or the role may not read it.
    """
    named = "schema.table is needed, in double quotes where letters are capital; make a view of a query"
    rule = f"{name!r} is no name of a table: {named}"
    found = link.rows(_FIND, (name,), rule, "table")
    if not found:
        missing = "GRANT USAGE ON SCHEMA ... may be missing; make a view of a query"
        raise Refused("table", f"there is no {name!r} that the role sees; {missing}")
    ((oid, kind, schema, relation, may),) = found
    if kind not in KINDS:
        raise Refused("table", f"{name!r} is no table and no view")
    if not may:
        raise Refused("table", f"the role may not read {name!r}: GRANT SELECT ON it TO the role")
    link.begin()
    typed = [Typed(*row) for row in link.rows(_COLUMNS, (oid,))]
    quoted = tuple(_quoted(each.name) for each in typed)
    columns, types = tuple(column_of(each) for each in typed), tuple(each.oid for each in typed)
    table = Table(f"{_quoted(schema)}.{_quoted(relation)}", oid, columns, quoted, types)
    # Locks the table against other definitions, and is refused where policies would hide rows in silence.
    link.rows(
        f"SELECT {', '.join(quoted)} FROM {table.name} LIMIT 0", (),
        f"{name!r} cannot be read: is it locked, does a policy hide rows from the role, may its owner read?",
        "table",
    )  # fmt: skip
    link.rows("SELECT set_config('lock_timeout', '0', false)")
    return table


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


MOST_AS_PARAMETER = 2**11
"""Slots up to this number are looked up, which costs no more than the formula; of 2**16 it costs half as much again."""
APART = "OFFSET '0'::int8"
"""Ends a subquery that is planned by itself. (Behind ``OFFSET 0``, a number of 32 bits, none is worked in parallel.)"""


def double(value: float) -> str:
    """SQL for exactly this double."""
    return f"'{float(value)!r}'::float8"


class Statement:
    """Parameters of one statement, in the order in which they were named."""

    def __init__(self) -> None:
        self.parameters: list[Any] = []

    def doubles(self, values: Any) -> str:
        """Name an array of doubles."""
        return f"{self._named(Doubles(values))}::float8[]"

    def texts(self, values: Sequence[str]) -> str:
        """Name an array of texts."""
        return f"{self._named(list(values))}::text[]"

    def bytes(self, value: bytes) -> str:
        """Name bytes."""
        return f"{self._named(value)}::bytea"

    def whole(self, value: int) -> str:
        """Name a whole number of 64 bits."""
        return f"{self._named(value)}::int8"

    def _named(self, value: Any) -> str:
        self.parameters.append(value)
        return f"${len(self.parameters)}"


def read(bound: Sequence[BoundAxis], rows: str, *more: str) -> str:
    """SQL for the number and the text of each axis: n0, t0, n1, ...; and for other columns of the rows."""
    each = [
        f"{axis.column.number.format(f'c{axis.place}')} AS n{i}, {axis.column.text.format(f'c{axis.place}')} AS t{i}"
        for i, axis in enumerate(bound)
    ]
    return f"SELECT {', '.join([*each, *more])} FROM {rows}"


def slot(bound: BoundAxis, number: int, statement: Statement) -> str:
    """SQL for the slot on one axis; NULL where it is missing."""
    if isinstance(bound.axis, Axis):
        return grid_slot(bound.axis.grid, f"n{number}", statement)
    keys = keys_of(bound)
    if isinstance(bound.axis, FoundCategories):  # the last is for all that has another value
        rest = f"CASE WHEN {_has_value(bound.column.kind, number)} THEN {len(keys) - 1}::int8 END"
        return f"coalesce({_among_keys(keys, number, statement)}, {rest})"
    return _among_keys(keys, number, statement)


def _has_value(kind: Kind, number: int) -> str:
    """SQL that tells whether a value is not missing, where text of any kind is a value."""
    return f"coalesce(n{number} <> 'NaN'::float8, false)" if kind is Kind.NUMBERS else f"t{number} IS NOT NULL"


def name(column: Column, value: str) -> tuple[str, str]:
    """SQL for the bytes of the text from which `value_names.name_of` makes the name of a value, and for whether it
    has one.
    """
    number = column.number.format(value)
    text = f"({number} + 0)::text" if column.value_type in FLOATS else f"({column.text.format(value)})"
    there = f"coalesce({number} <> 'NaN'::float8, false)" if column.kind is Kind.NUMBERS else f"{value} IS NOT NULL"
    return f"convert_to({text}, 'UTF8')", there


def _among_keys(keys: Sequence[Sequence[Key]], number: int, statement: Statement) -> str:
    texts, numbers = Keys.of(keys)
    places = []
    if texts:
        named = statement.texts([text for text, _ in texts])
        places.append(_place([place for _, place in texts], named, f"t{number}"))
    if numbers:
        named = statement.doubles([value for value, _ in numbers])
        places.append(_place([place for _, place in numbers], named, f"n{number}"))
    return f"coalesce({', '.join([*places, 'NULL::int8'])})"


def _place(places: Sequence[int], keys: str, value: str) -> str:
    return f"('{{{', '.join(map(str, places))}}}'::int8[])[array_position({keys}, {value})]"


def grid_slot(grid: Grid, value: str, statement: Statement) -> str:
    """SQL for the slot of a double: looked up among thresholds, or guessed and corrected where there are many."""
    buckets = buckets_of(grid) if grid.slots > MOST_AS_PARAMETER else None
    return among(thresholds_of(grid), value, statement) if buckets is None else by_formula(grid, buckets, value)


def by_formula(grid: Grid, buckets: Buckets, value: str) -> str:
    """SQL for the slot of a double, without looking anything up.

    Where buckets a little below the edges and a little above them agree, the cell is known; else the edge is asked.
    Total: ``width_bucket`` takes every double but NaN, which never reaches it, and the edge is computed from a number
    of a cell alone.
    """
    least, most = (
        f"width_bucket({value}, {double(buckets.lower + ahead)}, {double(buckets.upper + ahead)}, {buckets.number})"
        for ahead in (buckets.margin, 0.0)
    )
    below = f"{value} < {edge_above(grid, most, double)}"
    if grid.outside is Outside.CLAMPED:
        found = f"CASE WHEN {least} = {most} THEN {most} WHEN {below} THEN {most} - 1 ELSE {most} END"
    else:
        least_inside, most_inside = map(double, grid.closed_ends)
        outer = f"WHEN {value} < {least_inside} THEN 0 WHEN {value} > {most_inside} THEN {grid.cells + 1}"
        inner = f"WHEN {least} = {most} THEN {most} + 1 WHEN {below} THEN {most} ELSE {most} + 1 END"
        found = f"CASE {outer} {inner}"
    return f"(CASE WHEN {value} <> 'NaN'::float8 THEN {found} END)"


def among(thresholds: Any, value: str, statement: Statement) -> str:
    """SQL for how many thresholds a double is at or above; NULL where it is missing."""
    if not len(thresholds):
        return f"CASE WHEN {value} <> 'NaN'::float8 THEN 0 END"
    return f"CASE WHEN {value} <> 'NaN'::float8 THEN width_bucket({value}, {statement.doubles(thresholds)}) END"


def joined(bound: Sequence[BoundAxis], slots: Sequence[str]) -> str:
    """SQL for the place in the table, the last axis fastest; NULL where a slot is."""
    place = f"({slots[0]})"
    for axis, found in zip(bound[1:], slots[1:], strict=True):
        place = f"({place} * {axis.axis.slots}::int8 + ({found}))"
    return place


def offset(grid: Grid, value: str, slot: str, half: int, statement: Statement) -> str:
    """SQL for `Grid.offset_of`; 0 where a value is missing or counted apart. Total: see `Offsets`."""
    middle, width, nothing = (f"({statement.doubles(each)})" for each in Offsets.of(grid))
    apart = grid.slots - grid.cells  # 2 or 0
    cell = f"({slot} + {1 - apart // 2})"
    lower, upper = double(grid.lower), double(grid.upper)
    far = f"(LEAST(GREATEST({value}, {lower}), {upper}) - {middle}[{cell}])"
    near = f"(CASE WHEN abs({far}) < {nothing}[{cell}] THEN 0::float8 ELSE {far} END)"
    steps = f"floor({near} / {width}[{cell}] * {double(2 * half)} + 0.5::float8)"
    clipped = f"LEAST(GREATEST({steps}, {double(-half)}), {double(half)})::int8"
    return f"CASE WHEN {cell} BETWEEN 1 AND {grid.cells} THEN {clipped} ELSE 0 END"


def hmac(key: bytes, message: str, statement: Statement) -> str:
    """SQL for HMAC-SHA256 under a key that travels as a parameter."""
    padded = pads(key)
    inner, outer = statement.bytes(padded["inner"]), statement.bytes(padded["outer"])
    return f"sha256({outer} || sha256({inner} || {message}))"
