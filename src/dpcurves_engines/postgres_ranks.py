"""SENSITIVE. The order in which PostgreSQL uses the rows of a unit: secret, and decided by that unit's rows alone."""

from __future__ import annotations

from collections.abc import Sequence

from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records.column import LONGEST_TEXT, Kind, place_of

from . import postgres_sql as sql
from .postgres_sql import Statement
from .postgres_table import Table
from .postgres_types import BOOLEAN, FLOATING, NUMERIC, WHOLE

MOST_COMPARED = 8
"""Columns that are sorted by themselves. Of more the sorted rows would be wide, so a digest stands for them."""
MOST_OF_ROW = 2**28
"""Bytes of all texts of a row together: PostgreSQL makes no value of a gibibyte."""
_SEED_BYTES = 8


def used_rows(table: Table, places: Sequence[int], unit: Unit, key: bytes, statement: Statement) -> str:
    """SQL for the columns at `places`, under the names of their places, of the rows that are used.

    The rows of a unit are put into the order of `order_of`, and the first `unit.records` of them are used. Rows
    without a unit are one unit together.

    Formal guarantees: rows that tie in that order are counted alike, whatever is asked of them. So what is counted of
    a unit is a function of the key and of that unit's rows: neither the order in which rows lie nor other units matter,
    and when one unit comes, goes or changes, at most `unit.records` used rows go and at most so many come, all of
    this unit. This holds whatever the hashes do; good ones, with a secret key, make the choice a fair one.

    Args:
        table: Whose rows.
        places: Columns that are needed.
        unit: Whose rows they are, and how many of each are used.
        key: A secret key for this engine.
        statement: Takes the key as parameters, so that it stands in no text.
    """
    countable = _countable(table)
    read = ", ".join(f"{table.quoted[i]} AS c{i}" for i in sorted({*countable, *places}))
    order, kept = ", ".join(order_of(table, countable, key, statement)), ", ".join(f"c{place}" for place in places)
    at = place_of(unit.column, table.columns)
    name = table.columns[at].unit.format(table.quoted[at])
    named = f"(SELECT {read}, {name} AS unit FROM {table.name}) AS named"
    if unit.records == 1:  # sorted alike, and twice as fast as a window
        return f"SELECT {kept} FROM (SELECT DISTINCT ON (unit) * FROM {named} ORDER BY unit, {order}) AS ranked"
    turn = f"row_number() OVER (PARTITION BY unit ORDER BY {order}) AS turn"
    return f"SELECT {kept} FROM (SELECT {kept}, {turn} FROM {named}) AS ranked WHERE turn <= {unit.records}"


def named_units(table: Table, places: Sequence[int], unit: Unit, used: str) -> str:
    """SQL for used rows, columns by their places, and behind them bytes that name the unit of each.

    Texts of equal names may differ, as of 0.0 and -0.0, so the least one among the unit's own rows is taken; rows
    without a unit are one unit. Where each record is one, it is named by a digest of all that is counted of it, and by
    its number among those that are the same, in no order, for they are the same.

    Args:
        table: Whose rows.
        places: Columns that are needed.
        unit: Whose records they are.
        used: A FROM clause of the used rows with the unit's column; it is not read where each record is a unit.
    """
    kept = ", ".join(f"c{place}" for place in places)
    if unit != EACH_RECORD:
        at = place_of(unit.column, table.columns)
        own = f"(SELECT *, {table.columns[at].unit.format(f'c{at}')} AS unit FROM {used}) AS owned"
        text = "min(coalesce(unit::text, '') COLLATE \"C\") OVER (PARTITION BY unit)"
        return f"(SELECT {kept}, convert_to({text}, 'UTF8') AS name FROM {own}) AS named"
    countable = _countable(table)
    parts = ", ".join(part for place in countable for part in _parts(table, place, len(countable)))
    digest = f"sha256(record_send(ROW({parts}))) AS digest"
    whole = f"(SELECT {kept}, {digest} FROM {table.scan(sorted({*countable, *places}))}) AS digested"
    copy = "int8send(row_number() OVER (PARTITION BY digest))"
    return f"(SELECT {kept}, digest || {copy} AS name FROM {whole}) AS named"


def _countable(table: Table) -> list[int]:
    return [i for i, column in enumerate(table.columns) if column.kind in {Kind.NUMBERS, Kind.TEXT}]


def order_of(table: Table, countable: Sequence[int], key: bytes, statement: Statement) -> list[str]:
    """SQL of what rows, columns by their places, are sorted by: two rows tie only where all that is counted is equal.

    By a seeded hash of all columns, and where hashes are equal by the columns themselves; or by the HMAC-SHA256 of
    the whole row, which nobody has seen tie.
    """
    parts = [part for place in countable for part in _parts(table, place, len(countable))]
    if len(countable) > MOST_COMPARED:
        return [sql.hmac(key, f"record_send(ROW({', '.join(parts)}))", statement)]
    return [_hashed(table, countable, key, statement), *parts] if countable else ["unit"]


def _hashed(table: Table, countable: Sequence[int], key: bytes, statement: Statement) -> str:
    """SQL for the hash of a row: of each value, seeded by the hash of the values before it, the first one by the key.

    (Hashes with seeds of their own, added up bit by bit, would use some rows twice as often as others.)
    """
    found = statement.whole(int.from_bytes(key[:_SEED_BYTES], "big", signed=True))
    for place in countable:
        oid, value = table.types[place], f"c{place}"
        if oid in WHOLE:
            found = f"hashint8extended(coalesce({value}::int8, 0), {found})"
        elif oid == BOOLEAN:
            found = f"hashint8extended(coalesce({value}::int4, 2)::int8, {found})"
        elif oid in FLOATING:
            found = f"hashfloat8extended(coalesce({value}::float8, 'NaN'), {found})"
        elif oid == NUMERIC:
            found = f"hash_numeric_extended(coalesce({value}, 'NaN'), {found})"
        else:
            found = f"hashtextextended(coalesce({_parts(table, place, len(countable))[0]}, ''), {found})"
    return found


def _parts(table: Table, place: int, columns: int) -> list[str]:
    """SQL of values that are equal where two values of a column are counted alike, and only there.

    Longer texts stand there by their hash, so that no row comes near to a gibibyte.
    """
    value = f"c{place}"
    if table.columns[place].kind is Kind.NUMBERS:
        return [value, f"scale({value})"] if table.types[place] == NUMERIC else [value]
    text, longest = table.columns[place].text.format(value), min(LONGEST_TEXT, MOST_OF_ROW // columns)
    short, digest = f"THEN {text} END", f"THEN sha256(convert_to({text}, 'UTF8')) END"
    return [
        f"CASE WHEN octet_length({text}) <= {longest} {short}",
        f"CASE WHEN octet_length({text}) > {longest} {digest}",
    ]
