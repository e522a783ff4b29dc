"""Types and tables that a server declares: uuid, char(n), enums and domains; views and foreign tables."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from test_value_names import require_names  # type: ignore[import-not-found]

import dpcurves as dp
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import Records, open_records

BLANKS = ["ab", "ab ", "ab   ", " ab", "", "é", None, "ab"]
IDS = ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "{a0eebc99-9c0b4ef8-bb6d6bb9bd380a11}", "0" * 32, None]
COLUMNS: Mapping[str, tuple[str, Sequence[str | None], Mapping[str, int]]] = {
    "uuid": (
        "uuid", IDS,
        {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11": 2, "00000000-0000-0000-0000-000000000000": 1},
    ),
    "char": ("char(6)", BLANKS, {"ab": 4, " ab": 1, "": 1, "é": 1}),  # blanks at the end mean nothing there
    "bpchar": ("bpchar", BLANKS, {"ab": 4, " ab": 1, "": 1, "é": 1}),
    "varchar": ("varchar(6)", BLANKS, {"ab": 2, "ab ": 1, "ab   ": 1, " ab": 1, "": 1, "é": 1}),
    "internal": ('"char"', ["a", "b", "a", None], {"a": 2, "b": 1}),
    "name": ("name", ["a", "B", "a ", None], {"a": 1, "B": 1, "a ": 1}),
    "enum": ("{schema}.mood", ["sad", "it's ok", "Ökay", "sad", None], {"sad": 2, "it's ok": 1, "Ökay": 1}),
    "domain": ("{schema}.short", ["ab", "ab ", None], {"ab": 2}),  # over char(6)
    "domain_of_enum": ("{schema}.mood_too", ["sad", "sad", None], {"sad": 2}),
}  # fmt: skip
KINDS = "table", "view", "materialized view", "foreign table"
SERVERS = [*(("postgres", kind) for kind in KINDS[:3]), *(("debian", kind) for kind in KINDS)]
"""The packaged server has no extensions, so foreign tables are on Debian's."""


@contextmanager
def opened(data: Any, unit: Unit = EACH_RECORD) -> Iterator[Records]:
    with open_records(data, unit=unit, key=bytes(32)) as records:
        yield records


def make_schema(url: str) -> str:
    """A schema with types of its own."""
    import psycopg

    name = f"types_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
        connection.execute(f"CREATE TYPE {name}.mood AS ENUM ('sad', 'it''s ok', 'Ökay')")
        connection.execute(f"CREATE DOMAIN {name}.mood_too AS {name}.mood")
        connection.execute(f"CREATE DOMAIN {name}.short AS char(6)")
    return name


def make_table(url: str, schema: str, declared: str, kind: str, values: Sequence[str | None]) -> str:
    """Make a table of a column `x` and of persons, or a view or a foreign table that shows one."""
    import psycopg

    declared, token = declared.format(schema=schema), secrets.token_hex(6)
    table, shown = f"{schema}.rows_{token}", f"{schema}.shown_{token}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {table} (x {declared}, who int)")
        for row, value in enumerate(values):
            connection.execute(f"INSERT INTO {table} VALUES (%s::text::{declared}, %s)", (value, row))
        if kind == "table":
            return table
        if kind != "foreign table":
            connection.execute(f"CREATE {kind} {shown} AS SELECT * FROM {table}")
            return shown
        connection.execute("CREATE EXTENSION IF NOT EXISTS postgres_fdw SCHEMA public")
        host, port = connection.info.host, connection.info.port
        connection.execute(
            f"CREATE SERVER s_{token} FOREIGN DATA WRAPPER postgres_fdw OPTIONS "
            f"(host '{host}', port '{port}', dbname '{connection.info.dbname}')"
        )
        connection.execute(
            f"CREATE USER MAPPING FOR CURRENT_USER SERVER s_{token} OPTIONS (user '{connection.info.user}', "
            f"password '{connection.info.password or ''}')"
        )
        remote = table.partition(".")[2]
        connection.execute(
            f"CREATE FOREIGN TABLE {shown} (x {declared}, who int) SERVER s_{token} "
            f"OPTIONS (schema_name '{schema}', table_name '{remote}')"
        )
        return shown


@pytest.mark.parametrize(("server", "kind"), SERVERS)
def test_types_that_a_server_declares_have_one_name_of_each_value(
    request: pytest.FixtureRequest, server: str, kind: str
) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    schema = make_schema(url)
    for declared, values, names in COLUMNS.values():
        table, missing = make_table(url, schema, declared, kind, values), len(values) - sum(names.values())
        for unit in (EACH_RECORD, Unit("who", 1)) if kind == "table" else (EACH_RECORD,):
            with opened(dp.postgres(url, table=table), unit) as records:
                require_names(records, "x", names, missing)
        with opened(dp.postgres(url, table=table), Unit("x", 100)) as records:  # the column names persons
            assert records.units() == len(names) + 1, declared  # and the row without one


@pytest.mark.parametrize("declared", ["char(6)", "varchar(6)"])
def test_blanks_at_the_end_mean_nothing_in_a_char_column_of_spark(sail: Any, declared: str) -> None:
    """Spark pads char(n) when it reads. Before, declared categories without the blanks counted 0."""
    padded = declared == "char(6)"
    values = [value and value.ljust(6) if padded else value for value in BLANKS]
    names: dict[str, int] = dict(COLUMNS[declared.partition("(")[0]][2])
    frame = sail.createDataFrame(pa.table({"x": values, "who": list(range(len(values)))}))
    marked = frame.withMetadata("x", {"__CHAR_VARCHAR_TYPE_STRING": declared})
    for unit in (EACH_RECORD, Unit("who", 1)):
        with opened(dp.spark(marked), unit) as records:
            require_names(records, "x", names, 1)
    with opened(dp.spark(marked), Unit("x", 100)) as records:
        assert records.units() == len(names) + 1
