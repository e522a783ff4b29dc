"""PostgreSQL SQL that reads a column as a number or a text, and finds the cell of a row.

    make_column       how a declared type is read: as number, text, unit and time
    find_table        finds a table or view, locks its definition, and begins the snapshot
    grid_slot_sql     the slot of a double: by search among thresholds, or by a corrected formula (see `slots.py`)
    name_sql          the bytes of a value's name
    cell_index_sql    the cell of a row; NULL if a slot is NULL

Values are sent as parameters (`Statement`), never inside the text of a statement. An error would reveal the row that
caused it, so the SQL fails for no value.

Formal guarantees: this module reads the catalogue only; it touches no records.

>>> double_literal(0.1)
"'0.1'::float8"
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dpcurves.arguments import InvalidArgument
from dpcurves.data.axis import Axis, SelectedCategories
from dpcurves.data.grid import Grid, Outside
from dpcurves.records.engines.duckdb import hmac_pads
from dpcurves.records.engines.engine import BoundAxis, Keys, category_keys
from dpcurves.records.source import LONGEST_TEXT, Column, ColumnKind
from dpcurves.records.value_names import FLOATS, Key, ValueType

from .postgres_link import Doubles, SnapshotConnection
from .slots import Buckets, OffsetConstants, edge_sql, find_buckets, find_thresholds

# PostgreSQL types, and the SQL that reads their columns. Total: no value of a row makes it fail.
BOOLEAN_OID = 16
"""Type number (oid) of boolean, read as the numbers 0 and 1."""
NUMERIC_OID = 1700
"""Type number (oid) of numeric, read as the nearest double, and as exact decimals where values are categories."""
INTEGER_TYPES = {20, 21, 23}
"""Type numbers (oid) of whole numbers: bigint, smallint, integer. Read as doubles, and exactly where values are
categories."""
FLOAT_TYPES = {700: ValueType.SINGLE, 701: ValueType.DOUBLE}
"""Type numbers (oid) of real and double precision, with the types that decide how their values are named."""
NUMBER_TYPE_NAMES = {16: "boolean", 20: "bigint", 21: "smallint", 23: "integer", 700: "real", 701: "double precision",
         1700: "numeric"}  # fmt: skip
"""Names of PostgreSQL's number types, by oid, for messages."""
TEXT_OIDS = {18, 19, 25, 1042, 1043}
"""Type numbers (oid) of text: "char", name, text, character, character varying. Such columns hold categories."""
UUID_OID = 2950
"""Type number (oid) of uuid, read as text."""
INTERVAL_OID = 1186
"""Type number (oid) of interval."""
TIME_OIDS = {1082, 1083, 1114, 1184, INTERVAL_OID, 1266}
"""Type numbers (oid) of dates, times, timestamps and intervals. They are not read as plain numbers: most are counted as
elapsed days or seconds, or by an expression."""
ENUM_KIND = "e"
"""Kind of type (``typtype`` of ``pg_type``) of enumerations, which are read as text."""
DATE_OID = 1082
"""Type number (oid) of date."""
TIMESTAMP = 1114
"""Type number (oid) of timestamp without time zone."""
TIMESTAMP_IN_ZONE = 1184
"""Type number (oid) of timestamp with time zone."""
_SECONDS = "date_part('epoch', {0})"
"""SQL of seconds since 1970 of a timestamp, or since midnight of a time."""
_SIGNED = "CASE WHEN {0} > '2000-01-01' THEN 'Infinity' ELSE '-Infinity' END::float8"
"""SQL of the infinity that an infinite date stands for: ``-infinity`` is before every date."""
ELAPSED_SQL = {
    DATE_OID: f"CASE WHEN isfinite({{0}}) THEN ({{0}} - '1970-01-01'::date)::float8 WHEN {{0}} IS NOT NULL "
    f"THEN ({_SIGNED}) END",
    1083: _SECONDS,  # time
    TIMESTAMP: _SECONDS, TIMESTAMP_IN_ZONE: _SECONDS,
}  # fmt: skip
"""SQL of days or seconds since 1970, or since midnight; infinite for infinite dates."""

TIME_UNITS = {DATE_OID: "date", TIMESTAMP: "moment", TIMESTAMP_IN_ZONE: "moment"}
"""Kind of time of a column in expressions, by oid: whole days, or microseconds. Functions of dates refuse other
columns."""

_HUGE = f"'{2**1024 - 2**970}'::numeric"
"""Numbers at or above this bound round to infinity: they are nearer to 2**1024 than to the largest double."""
_TINY = f"'{'0.' + str(5**1075).zfill(1075)}'::numeric"
"""2**-1075: numbers up to this bound round to 0, and casting them to a double would raise an error, so they are
replaced by 0 before."""
DECIMAL_BOUNDS = _TINY, _HUGE
"""SQL of the numbers between which a decimal number can be cast to a double that is neither 0 nor infinite."""
_SAFE = f"(CASE WHEN abs({{0}}) < {_HUGE} AND abs({{0}}) > {_TINY} THEN {{0}} ELSE 0 END)::float8"
"""SQL of a decimal number as a double, with 0 in place of numbers that a cast would refuse with an error."""
_NUMERIC = (
    f"CASE WHEN {{0}} IS NULL OR {{0}} = 'NaN'::numeric THEN NULL WHEN {{0}} >= {_HUGE} THEN 'Infinity'::float8 "
    f"WHEN {{0}} <= -{_HUGE} THEN '-Infinity'::float8 ELSE {_SAFE} END"
)
"""SQL of the nearest double of a decimal number; infinite if none is near enough, NULL for NaN."""
_DECIMAL_NAME = (
    "CASE trim_scale({0})::text WHEN 'Infinity' THEN 'inf' WHEN '-Infinity' THEN '-inf' ELSE trim_scale({0})::text END"
)
"""SQL of the name of a decimal number, as `value_names` writes it."""
_TEXT = '{0}::text COLLATE "C"'
"""SQL of any value as a text, compared byte by byte, so that a server's language does not change which texts are
equal."""
_NO_NUMBER = "NULL::float8"
"""SQL of the number of a column without numbers: missing."""
NO_UNIT = ""
"""SQL of the unit, empty for columns whose values cannot identify units: such a column is refused as `unit`."""


class TypedColumn(NamedTuple):
    """A column of PostgreSQL and its base type; types of CREATE DOMAIN are resolved to their base.

    Attributes:
        name: Name of the column.
        oid: Number of the type in the catalogue.
        type_kind: Kind of the type in the catalogue (``typtype``): ``b`` for base types, ``e`` for enums.
        labels: Labels of an enum, as a JSON list; ``[]`` for other types.
    """

    name: str
    oid: int
    type_kind: str
    labels: str = "[]"


def make_column(typed_column: TypedColumn) -> Column:
    """Return the schema's description of a server's column, with the SQL that reads its number, text, unit and time.

    The SQL fails for no value.

    Args:
        typed_column: Name and type of the column.
    """
    name, oid, sort, labels = typed_column
    if oid == BOOLEAN_OID:
        return Column(
            name,
            ColumnKind.NUMBERS,
            "{0}::int::float8",
            "{0}::text",
            declared_value_type=ValueType.TRUTH,
            declared_type=NUMBER_TYPE_NAMES[oid],
        )
    if oid in INTEGER_TYPES:
        return Column(
            name,
            ColumnKind.NUMBERS,
            "{0}::float8",
            "{0}::text",
            declared_value_type=ValueType.WHOLE,
            declared_type=NUMBER_TYPE_NAMES[oid],
        )
    if oid in FLOAT_TYPES or oid == NUMERIC_OID:
        number, text = (_NUMERIC, _DECIMAL_NAME) if oid == NUMERIC_OID else ("{0}::float8", "{0}::text")
        unit = "CASE WHEN {0} <> 'NaN' THEN {0} END"
        values = FLOAT_TYPES.get(oid, ValueType.DECIMAL)
        return Column(
            name,
            ColumnKind.NUMBERS,
            number,
            text,
            unit=unit,
            declared_value_type=values,
            declared_type=NUMBER_TYPE_NAMES[oid],
        )
    if oid == UUID_OID:
        return Column(
            name,
            ColumnKind.TEXT,
            _NO_NUMBER,
            _TEXT,
            unit=_TEXT,
            declared_value_type=ValueType.UUID,
            declared_type="uuid",
        )
    if oid in TEXT_OIDS or sort == ENUM_KIND:
        unit = f"CASE WHEN octet_length({_TEXT}) <= {LONGEST_TEXT} THEN {_TEXT} END"
        members = tuple(json.loads(labels))
        type_name = "enum" if members else ""
        return Column(name, ColumnKind.TEXT, _NO_NUMBER, _TEXT, unit=unit, declared_type=type_name, members=members)
    unit = "{0}" if oid in TIME_OIDS and oid != INTERVAL_OID else NO_UNIT
    kind = ColumnKind.TIMES if oid in TIME_OIDS else ColumnKind.OTHER
    return Column(
        name, kind, _NO_NUMBER, _TEXT, unit=unit, elapsed_time=ELAPSED_SQL.get(oid), time=TIME_UNITS.get(oid, "")
    )


def require_unit(column: Column) -> None:
    """Refuse a column that cannot identify a unit, because its type has no unambiguous equality.

    Args:
        column: The column of the unit.

    Raises:
        ValueError: the type has no unambiguous equality.
    """
    if column.unit == NO_UNIT:
        raise InvalidArgument(
            "unit", f"{column.name!r} has a type that cannot identify a unit; use a number, text, date or uuid"
        )


RELATION_KINDS = {"r": "a table", "p": "a table", "v": "a view", "m": "a view", "f": "a foreign table"}
"""What a name may denote, by ``relkind`` of ``pg_class``. Other kinds, such as an index or a sequence, are refused."""
_FIND = (
    "SELECT c.oid::int8, c.relkind::text, n.nspname::text, c.relname::text, has_table_privilege(c.oid, 'SELECT') OR "
    "has_any_column_privilege(c.oid, 'SELECT') FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
    "ON n.oid = c.relnamespace WHERE c.oid = pg_catalog.to_regclass($1)"
)
"""Query for what a name denotes: number, kind, schema, name, and whether the role may read it or any column of it."""
_COLUMNS = (
    "WITH RECURSIVE held AS (SELECT a.attnum, a.attname, t.oid, t.typtype, t.typbasetype FROM pg_attribute a JOIN "
    "pg_type t ON t.oid = a.atttypid WHERE a.attrelid = $1::int8::oid AND a.attnum > 0 AND NOT a.attisdropped AND "
    "has_column_privilege(a.attrelid, a.attnum, 'SELECT') UNION ALL SELECT h.attnum, h.attname, t.oid, t.typtype, "
    "t.typbasetype FROM held h JOIN pg_type t ON t.oid = h.typbasetype WHERE h.typtype = 'd') "
    "SELECT attname::text, oid::int8, typtype::text, array_to_json(ARRAY(SELECT enumlabel::text FROM pg_enum WHERE "
    "enumtypid = held.oid ORDER BY enumsortorder))::text FROM held WHERE typtype <> 'd' ORDER BY attnum"
)
"""Query for the columns of a table that the role may read: name, type (of a domain, its base type), and labels of an
enumeration."""


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """A table or view of the catalogue.

    Attributes:
        name: Schema and name, quoted.
        oid: Number of the table in the catalogue.
        columns: The columns that the role may read.
        quoted_names: Their names in double quotes.
        types: Numbers of their types in the catalogue.
    """

    name: str
    oid: int
    columns: tuple[Column, ...]
    quoted_names: tuple[str, ...]
    types: tuple[int, ...]

    @property
    def passes(self) -> str:
        """Name of the column that marks rows that pass the filter; empty, because a plain table has no filter."""
        return ""

    def scan_sql(self, places: Sequence[int], unit: int | None = None) -> str:
        """Return a FROM clause of the table's rows with the columns at these positions, named ``c<index>``.

        Args:
            places: Positions of the columns.
            unit: Position of the column that identifies a unit, which becomes the column ``unit``; None: no such
                column.
        """
        columns = [f"{self.quoted_names[index]} AS c{index}" for index in places]
        if unit is not None:
            columns.append(f"{self.columns[unit].unit.format(self.quoted_names[unit])} AS unit")
        return f"(SELECT {', '.join(columns)} FROM {self.name}) AS scanned"


def find_table(link: SnapshotConnection, name: str) -> Table:
    """Return a table or view of the server with its columns and types, and begin the snapshot in which it is read.

    Its definition is locked first, so that it stays the same.

    Args:
        link: The connection.
        name: Name as in ``schema.table``.

    Raises:
        ValueError: the table does not exist, or the role may not read it.
    """
    advice = "use schema.table, with double quotes around names with capital letters; create a view for a query"
    rule = f"{name!r} is not the name of a table: {advice}"
    rows = link.fetch_rows(_FIND, (name,), rule, "table")
    if not rows:
        missing = "GRANT USAGE ON SCHEMA ... may be missing; create a view for a query"
        raise InvalidArgument("table", f"there is no {name!r} that the role sees; {missing}")
    ((oid, kind, schema, relation, may_read),) = rows
    if kind not in RELATION_KINDS:
        raise InvalidArgument("table", f"{name!r} is neither a table nor a view; name a table or a view")
    if not may_read:
        raise InvalidArgument(
            "table", f"the role may not read {name!r}: let its owner GRANT SELECT on the table to this role"
        )
    link.begin_snapshot()
    typed_columns = [TypedColumn(*row) for row in link.fetch_rows(_COLUMNS, (oid,))]
    quoted_names = tuple(_quote_identifier(column.name) for column in typed_columns)
    columns = tuple(make_column(column) for column in typed_columns)
    types = tuple(column.oid for column in typed_columns)
    table = Table(f"{_quote_identifier(schema)}.{_quote_identifier(relation)}", oid, columns, quoted_names, types)
    # Locks the table's definition, and fails if row-level security would silently hide rows.
    link.fetch_rows(
        f"SELECT {', '.join(quoted_names)} FROM {table.name} LIMIT 0", (),
        f"{name!r} cannot be read: is it locked, does a policy hide rows from the role, may its owner read?",
        "table",
    )  # fmt: skip
    link.fetch_rows("SELECT set_config('lock_timeout', '0', false)")
    return table


def _quote_identifier(name: str) -> str:
    """Return an SQL identifier in double quotes.

    Args:
        name: Any name; double quotes in it are doubled.
    """
    return '"' + name.replace('"', '""') + '"'


MOST_AS_PARAMETER = 2**11
"""Slots up to which lookup in an array is as fast as the formula, so that the formula is used above only; with 2**16
slots the array takes half as long again."""
OPTIMISER_FENCE = "OFFSET '0'::int8"
"""Keeps PostgreSQL from merging a subquery. (``OFFSET 0``, a 32-bit number, would also prevent parallel plans.)"""


def double_literal(value: float) -> str:
    """Return SQL of exactly this double, as PostgreSQL reads it.

    Args:
        value: Double; infinite and NaN are allowed.
    """
    return f"'{float(value)!r}'::float8"


class Statement:
    """The parameters of one SQL statement. Each method adds a parameter and returns its placeholder with a cast."""

    def __init__(self) -> None:
        self.parameters: list[Any] = []

    def add_doubles(self, values: Any) -> str:
        """Add a parameter with an array of doubles to the statement; return its SQL placeholder.

        Args:
            values: Doubles, of shape ``(n,)``.
        """
        return f"{self._add_parameter(Doubles(values))}::float8[]"

    def add_texts(self, values: Sequence[str]) -> str:
        """Add a parameter with an array of texts to the statement; return its SQL placeholder.

        Args:
            values: Texts.
        """
        return f"{self._add_parameter(list(values))}::text[]"

    def add_bytes(self, value: bytes) -> str:
        """Add a parameter of bytes to the statement; return its SQL placeholder.

        Args:
            value: The bytes.
        """
        return f"{self._add_parameter(value)}::bytea"

    def add_integer(self, value: int) -> str:
        """Add a parameter of a 64-bit integer to the statement; return its SQL placeholder.

        Args:
            value: Integer from ``-2**63`` to below ``2**63``.
        """
        return f"{self._add_parameter(value)}::int8"

    def _add_parameter(self, value: Any) -> str:
        """Add a parameter and return its placeholder, ``$1``, ``$2``, ...

        Args:
            value: Value of any type that the driver can send.
        """
        self.parameters.append(value)
        return f"${len(self.parameters)}"


def read_sql(bound: Sequence[BoundAxis], rows: str, *more: str) -> str:
    """Return a SELECT statement of the number and the text of each axis: columns n0, t0, n1, t1, ...

    Args:
        bound: Axes, bound to columns.
        rows: FROM clause of the rows.
        more: Further columns of the SELECT list.
    """
    selected = [
        f"{axis.column.number.format(f'c{axis.place}')} AS n{i}, {axis.column.text.format(f'c{axis.place}')} AS t{i}"
        for i, axis in enumerate(bound)
    ]
    return f"SELECT {', '.join([*selected, *more])} FROM {rows}"


def slot_sql(bound: BoundAxis, number: int, statement: Statement) -> str:
    """Return SQL of the slot of a value on one axis: the index of its cell or category; NULL if the value is missing.

    Args:
        bound: The axis, bound to its column.
        number: Position of the axis; its number and text are the columns ``n<number>`` and ``t<number>``.
        statement: Receives parameters.
    """
    if isinstance(bound.axis, Axis):
        return grid_slot_sql(bound.axis.grid, f"n{number}", statement)
    keys = category_keys(bound)
    if isinstance(bound.axis, SelectedCategories):  # the last slot is for all other values
        rest_sql = f"CASE WHEN {_has_value_sql(bound.column.kind, number)} THEN {len(keys) - 1}::int8 END"
        return f"coalesce({_category_slot_sql(keys, number, statement)}, {rest_sql})"
    return _category_slot_sql(keys, number, statement)


def _has_value_sql(kind: ColumnKind, number: int) -> str:
    """Return an SQL condition that the value on an axis is not missing; any text is a value.

    Args:
        kind: Kind of the column in the schema.
        number: Position of the axis, which names its columns ``n0``, ``t0``, ``n1``, ...
    """
    return f"coalesce(n{number} <> 'NaN'::float8, false)" if kind is ColumnKind.NUMBERS else f"t{number} IS NOT NULL"


def name_sql(column: Column, value: str) -> tuple[str, str]:
    """Return SQL of the name of a value as a category, as bytes, and an SQL condition that the value is not missing.

    Args:
        column: The column of the value.
        value: SQL of the value.
    """
    number = column.number.format(value)
    text = f"({number} + 0)::text" if column.value_type in FLOATS else f"({column.text.format(value)})"
    has_value = (
        f"coalesce({number} <> 'NaN'::float8, false)" if column.kind is ColumnKind.NUMBERS else f"{value} IS NOT NULL"
    )
    return f"convert_to({text}, 'UTF8')", has_value


def _category_slot_sql(keys: Sequence[Sequence[Key]], number: int, statement: Statement) -> str:
    """Return SQL of the index of the category (slot) that a value equals, by its text or number; NULL if it equals
    none.

    Args:
        keys: For each category, the values that mean it.
        number: Number of the axis, which is part of the columns' names.
        statement: Receives the categories as parameters.
    """
    texts, numbers = Keys.from_keys(keys)
    lookups = []
    if texts:
        placeholder = statement.add_texts([text for text, _ in texts])
        lookups.append(_lookup_sql([slot for _, slot in texts], placeholder, f"t{number}"))
    if numbers:
        placeholder = statement.add_doubles([value for value, _ in numbers])
        lookups.append(_lookup_sql([slot for _, slot in numbers], placeholder, f"n{number}"))
    return f"coalesce({', '.join([*lookups, 'NULL::int8'])})"


def _lookup_sql(slots: Sequence[int], keys: str, value: str) -> str:
    """Return SQL that looks a value up in an array of keys and returns the slot of the equal key; NULL without one.

    Args:
        slots: Slot (index of the category) of each key.
        keys: SQL of the array of keys, in the same order.
        value: SQL of the value.
    """
    return f"('{{{', '.join(map(str, slots))}}}'::int8[])[array_position({keys}, {value})]"


def grid_slot_sql(grid: Grid, value: str, statement: Statement) -> str:
    """Return SQL of the index of the cell (slot) of a double on a grid; NULL if it is missing.

    Grids of up to 2,048 slots, and grids without a formula, are searched by their thresholds.

    Args:
        grid: Public cells.
        value: SQL of the double.
        statement: Receives the thresholds.
    """
    buckets = find_buckets(grid) if grid.slots > MOST_AS_PARAMETER else None
    if buckets is None:
        return threshold_count_sql(find_thresholds(grid), value, statement)
    return formula_slot_sql(grid, buckets, value)


def formula_slot_sql(grid: Grid, buckets: Buckets, value: str) -> str:
    """Return SQL of the index of the cell (slot) of a double on a grid of equal cells, by arithmetic instead of a
    search.

    The cell is known if buckets slightly below and slightly above the edges agree; else the value is compared with the
    edge. The SQL fails for no value: ``width_bucket`` accepts every double but NaN, which is excluded before, and the
    edge is computed from a cell number.

    Args:
        grid: Public cells.
        buckets: Arguments from `find_buckets`.
        value: SQL of the double.
    """
    low, high = (
        f"width_bucket({value}, {double_literal(buckets.lower + shift)}, "
        f"{double_literal(buckets.upper + shift)}, {buckets.number})"
        for shift in (buckets.margin, 0.0)
    )
    below = f"{value} < {edge_sql(grid, high, double_literal)}"
    if grid.outside is Outside.CLIPPED:
        slot = f"CASE WHEN {low} = {high} THEN {high} WHEN {below} THEN {high} - 1 ELSE {high} END"
    else:
        lower, upper = map(double_literal, grid.closed_endpoints)
        outer = f"WHEN {value} < {lower} THEN 0 WHEN {value} > {upper} THEN {grid.cells + 1}"
        inner = f"WHEN {low} = {high} THEN {high} + 1 WHEN {below} THEN {high} ELSE {high} + 1 END"
        slot = f"CASE {outer} {inner}"
    return f"(CASE WHEN {value} <> 'NaN'::float8 THEN {slot} END)"


def threshold_count_sql(thresholds: Any, value: str, statement: Statement) -> str:
    """Return SQL of the index of the interval between thresholds in which a number lies: how many are at or below it.

    Args:
        thresholds: Increasing doubles.
        value: SQL of the double; the result is NULL if it is missing.
        statement: Receives the thresholds.
    """
    if not len(thresholds):
        return f"CASE WHEN {value} <> 'NaN'::float8 THEN 0 END"
    return f"CASE WHEN {value} <> 'NaN'::float8 THEN width_bucket({value}, {statement.add_doubles(thresholds)}) END"


def cell_index_sql(bound: Sequence[BoundAxis], slots: Sequence[str]) -> str:
    """Return SQL of the index of a row's cell in the table of counts, last axis fastest; NULL if a value is missing.

    Args:
        bound: Axes of the table, bound to columns.
        slots: SQL of the slot (index of the cell) on each axis; NULL for a missing value.
    """
    index = f"({slots[0]})"
    for axis, slot in zip(bound[1:], slots[1:], strict=True):
        index = f"({index} * {axis.axis.slots}::int8 + ({slot}))"
    return index


def offset_sql(grid: Grid, value: str, slot: str, half: int, statement: Statement) -> str:
    """Return SQL of the distance of a value from the middle of its cell, in integer steps; 0 for missing and outside
    values.

    It fails for no value.

    Args:
        grid: Public cells.
        value: SQL of the double.
        slot: SQL of the index of its cell.
        half: Half of the width of a cell, in steps.
        statement: Receives constants of the cells.
    """
    middle, width, zero_below = (
        f"({statement.add_doubles(constants)})" for constants in OffsetConstants.from_grid(grid)
    )
    outer_slots = grid.slots - grid.cells  # 2 or 0
    cell = f"({slot} + {1 - outer_slots // 2})"
    lower = double_literal(grid.lower)
    upper = double_literal(grid.upper)
    distance = f"(LEAST(GREATEST({value}, {lower}), {upper}) - {middle}[{cell}])"
    nonzero_distance = f"(CASE WHEN abs({distance}) < {zero_below}[{cell}] THEN 0::float8 ELSE {distance} END)"
    steps = f"floor({nonzero_distance} / {width}[{cell}] * {double_literal(2 * half)} + 0.5::float8)"
    clipped = f"LEAST(GREATEST({steps}, {double_literal(-half)}), {double_literal(half)})::int8"
    return f"CASE WHEN {cell} BETWEEN 1 AND {grid.cells} THEN {clipped} ELSE 0 END"


def hmac_sql(key: bytes, message: str, statement: Statement) -> str:
    """Return SQL that computes the HMAC-SHA256 of a message, by which the rows of a unit are ranked unpredictably.

    Args:
        key: Secret key; it is sent as parameters, not inside the text of the statement.
        message: SQL of the message as bytes.
        statement: Receives the padded keys.
    """
    padded = hmac_pads(key)
    inner = statement.add_bytes(padded["inner"])
    outer = statement.add_bytes(padded["outer"])
    return f"sha256({outer} || sha256({inner} || {message}))"
