"""A table of PostgreSQL's catalogue: its columns by their types, as far as the reader may read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpcurves.arguments import Refused
from dpcurves.records.column import Column

from .postgres_link import Link
from .postgres_types import Typed, column_of

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
