"""One name of each value, on every engine and for every type of column: for selection, counting and hashing."""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcurves as dp
from dpcurves.data import Categories, HashUniverse, UnlistedCategories
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import Records, open_records

NAN, INF = math.nan, math.inf
TEXTS = [
    "a", "A", "a ", "", "é", "e\u0301", "ß", "SS", "it's", 'a "b"', "back\\slash", "\\x41", "line\nbreak", "tab\t",
    "01", "1", "1.0", "nan", "NULL", "true", "🦔", "نص", "日本", "\u200b", None, "a",
]  # fmt: skip
DOUBLES = [
    0.0, -0.0, 0.1, 7.0, -1.5, 1e15, 1e16, 1e22, 123456789.125, 5e-324, 1.7976931348623157e308, 1e-5, 2.0**53,
    INF, -INF, NAN, None, 7.0,
]  # fmt: skip
SINGLES = [0.0, -0.0, 0.1, 7.0, 1e10, 16777216.0, 3.4028234663852886e38, 1e-45, INF, -INF, NAN, None, 0.1]
WHOLE = [0, 1, -1, 10, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), None, 1]
DECIMALS = ["7", "7.00", "-0.50", "0.00", "1.25", "123456789012345678.25", "123456789012345678.26", None, "7.0"]
TRUTHS = [True, False, None, True]
COLUMNS: Mapping[str, tuple[pa.DataType, Sequence[Any]]] = {
    "text": (pa.string(), TEXTS), "double": (pa.float64(), DOUBLES), "single": (pa.float32(), SINGLES),
    "whole": (pa.int64(), WHOLE), "truth": (pa.bool_(), TRUTHS),
    "decimal": (pa.decimal128(38, 10), [each and Decimal(each) for each in DECIMALS]),
    "small": (pa.int32(), [0, -7, 2**31 - 1, None, -7]),
}  # fmt: skip
POSTGRES = {
    "text": "text", "double": "float8", "single": "float4", "whole": "int8", "truth": "bool", "decimal": "numeric",
    "small": "int4",
}  # fmt: skip


def name_in_python(value: Any, kind: str) -> str | None:
    """The name of a value as pandas and Python write it: written down again here, and not taken from the package."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    if kind == "truth":
        return "true" if value else "false"
    if kind == "single":
        return str(pd.Series([value], dtype="float32").iloc[0] + np.float32(0))
    if kind == "double":
        return str(float(value) + 0.0)
    if kind == "decimal":
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(value)


EXPECTED = {
    kind: Counter(name for value in values if (name := name_in_python(value, kind)) is not None)
    for kind, (_, values) in COLUMNS.items()
}


def require_names(records: Records, kind: str, expected: Mapping[str, int], missing: int) -> None:
    """Select, count and hash the groups of a column, and compare all of it with Python's names."""
    column, more = UnlistedCategories(kind), sum(expected.values())
    assert records.names(column) == dict(expected)
    names = tuple(sorted(expected))
    assert records.counts((column.to_selected_categories(names),)).tolist() == [
        *(expected[name] for name in names),
        0,
        missing,
    ]
    few = names[:2]
    of_few = [expected[name] for name in few]
    assert records.counts((column.to_selected_categories(few),)).tolist() == [*of_few, more - sum(of_few), missing]
    hashed = HashUniverse(52)
    labels = tuple(hashed.label(name) for name in names)
    by_hash = UnlistedCategories(kind, universe=hashed).to_selected_categories(labels)
    assert records.counts((by_hash,)).tolist() == [*(expected[name] for name in names), 0, missing]
    declared = Categories(kind, names)
    assert records.counts((declared,)).tolist() == [*(expected[name] for name in names), missing]
    hidden = UnlistedCategories(kind, universe=hashed).to_selected_categories(labels[1:])
    places = Counter(records.places((hidden, declared)).tolist())
    assert places[(len(names) - 1) * len(names)] == expected[names[0]]


@contextmanager
def opened(data: Any) -> Iterator[Records]:
    with open_records(data, unit=EACH_RECORD, key=bytes(32)) as records:
        yield records


def open_units(data: Any, unit: Unit = EACH_RECORD) -> Records:
    """Open records of this unit."""
    return open_records(data, unit=unit, key=bytes(32))


def array_of(kind: str) -> pa.Array:
    declared, values = COLUMNS[kind]
    return pa.array(values, declared)


def test_names_are_those_of_python_in_files_frames_and_relations(tmp_path: Path) -> None:
    for kind in COLUMNS:
        table = pa.table({kind: array_of(kind)})
        pq.write_table(table, tmp_path / f"{kind}.parquet")
        sources = [
            table,
            tmp_path / f"{kind}.parquet",
            pl.from_arrow(table),
            table.to_pandas(types_mapper=pd.ArrowDtype),
        ]
        relation = duckdb.connect().from_arrow(table)
        for data in (*sources, relation):
            with opened(data) as records:
                missing = len(table) - sum(EXPECTED[kind].values())
                require_names(records, kind, EXPECTED[kind], missing)


@pytest.mark.parametrize("kind", ["double", "single", "decimal", "whole"])
def test_objects_have_the_names_of_their_values(kind: str) -> None:
    values = [np.float32(each) if kind == "single" and each is not None else each for each in COLUMNS[kind][1]]
    missing = len(values) - sum(EXPECTED[kind].values())
    for data in ({kind: values}, pd.DataFrame({kind: pd.Series(values, dtype=object)})):
        with opened(data) as records:
            require_names(records, kind, EXPECTED[kind], missing)


NUMERIC = ["NaN", "7", "7.00", "-0.5000", "0.0", "1e400", "-1e400", "1e-400", "123456789012345678901234567890.5", None]
NAMES_OF_NUMERIC = Counter({
    "7": 2, "-0.5": 1, "0": 1, "123456789012345678901234567890.5": 1,
})  # fmt: skip
"""Names of more than 200 bytes, as of 1e400, are not selected."""


@pytest.fixture(scope="module", params=["postgres", "debian"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def table_in_postgres(url: str, declared: str, column: str, values: Sequence[Any], *more: str) -> str:
    import psycopg

    name = f"rows_{secrets.token_hex(8)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE TABLE {name} ("{column}" {declared}, who int)')
        with connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {name} VALUES (%s, %s)", [(each, at) for at, each in enumerate(values)])
    return name


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("kind", COLUMNS)
def test_names_are_those_of_python_in_postgresql(url: str, kind: str) -> None:
    values = COLUMNS[kind][1]
    table = table_in_postgres(url, POSTGRES[kind], kind, values)
    missing = len(values) - sum(EXPECTED[kind].values())
    with opened(dp.postgres(url, table=table)) as records:
        require_names(records, kind, EXPECTED[kind], missing)
    for ranking in ("there", "here"):
        source = dp.postgres(url, table=table, ranking=ranking)
        with open_records(source, unit=Unit("who", 1), key=bytes(32)) as records:
            require_names(records, kind, EXPECTED[kind], missing)


def test_numeric_columns_hold_null_nan_and_numbers_beyond_doubles(url: str) -> None:
    import psycopg

    with psycopg.connect(url) as connection:
        infinite = connection.info.server_version >= 140_000
    values = [*NUMERIC, *(["Infinity", "-Infinity"] if infinite else [])]
    table = table_in_postgres(url, "numeric", "x", values)
    names = NAMES_OF_NUMERIC + Counter(["inf", "-inf"] if infinite else [])
    with opened(dp.postgres(url, table=table)) as records:
        assert records.names(UnlistedCategories("x")) == dict(names)
        told = tuple(sorted(names))
        counted = records.counts((UnlistedCategories("x").to_selected_categories(told),)).tolist()
        assert counted == [*(names[name] for name in told), 3, 2]


def test_null_in_a_numeric_column_is_missing(url: str) -> None:
    table = table_in_postgres(url, "numeric", "x", ["80"] * 40 + [None] * 40)
    with dp.Session(
        dp.postgres(url, table=table), budget=dp.PrivacyLoss.pure(2000), adjacency=dp.ADD_REMOVE
    ) as session:
        found = session.ask(dp.SummaryQuestion("x", 0, 100), dp.PrivacyLoss.pure(1000))
    assert (round(found.count), round(found.mean)) == (40, 80)


def test_names_are_those_of_python_in_spark(sail: Any) -> None:
    for kind in COLUMNS:
        values, table = COLUMNS[kind][1], pa.table({kind: array_of(kind)})
        with opened(dp.spark(sail.createDataFrame(table))) as records:
            require_names(records, kind, EXPECTED[kind], len(values) - sum(EXPECTED[kind].values()))


# Types and tables that a server declares: uuid, char(n), enums and domains; views and foreign tables.


PADDED = ["ab", "ab ", "ab   ", " ab", "", "é", None, "ab"]
UUIDS = ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "{a0eebc99-9c0b4ef8-bb6d6bb9bd380a11}", "0" * 32, None]
DECLARED: Mapping[str, tuple[str, Sequence[str | None], Mapping[str, int]]] = {
    "uuid": (
        "uuid", UUIDS,
        {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11": 2, "00000000-0000-0000-0000-000000000000": 1},
    ),
    "char": ("char(6)", PADDED, {"ab": 4, " ab": 1, "": 1, "é": 1}),  # blanks at the end mean nothing there
    "bpchar": ("bpchar", PADDED, {"ab": 4, " ab": 1, "": 1, "é": 1}),
    "varchar": ("varchar(6)", PADDED, {"ab": 2, "ab ": 1, "ab   ": 1, " ab": 1, "": 1, "é": 1}),
    "internal": ('"char"', ["a", "b", "a", None], {"a": 2, "b": 1}),
    "name": ("name", ["a", "B", "a ", None], {"a": 1, "B": 1, "a ": 1}),
    "enum": ("{schema}.mood", ["sad", "it's ok", "Ökay", "sad", None], {"sad": 2, "it's ok": 1, "Ökay": 1}),
    "domain": ("{schema}.short", ["ab", "ab ", None], {"ab": 2}),  # over char(6)
    "domain_of_enum": ("{schema}.mood_too", ["sad", "sad", None], {"sad": 2}),
}  # fmt: skip
TABLE_KINDS = "table", "view", "materialized view", "foreign table"
TABLES_OF_SERVERS = [*(("postgres", kind) for kind in TABLE_KINDS[:3]), *(("debian", kind) for kind in TABLE_KINDS)]
"""The packaged server has no extensions, so foreign tables are on Debian's."""


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


@pytest.mark.quick_share(3)
@pytest.mark.parametrize(("server", "kind"), TABLES_OF_SERVERS)
def test_types_that_a_server_declares_have_one_name_of_each_value(
    request: pytest.FixtureRequest, server: str, kind: str
) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    schema = make_schema(url)
    for declared, values, names in DECLARED.values():
        table, missing = make_table(url, schema, declared, kind, values), len(values) - sum(names.values())
        for unit in (EACH_RECORD, Unit("who", 1)) if kind == "table" else (EACH_RECORD,):
            with open_units(dp.postgres(url, table=table), unit) as records:
                require_names(records, "x", names, missing)
        with open_units(dp.postgres(url, table=table), Unit("x", 100)) as records:  # the column names persons
            assert records.units() == len(names) + 1, declared  # and the row without one


@pytest.mark.parametrize("declared", ["char(6)", "varchar(6)"])
def test_blanks_at_the_end_mean_nothing_in_a_char_column_of_spark(sail: Any, declared: str) -> None:
    """Spark pads char(n) when it reads. Before, declared categories without the blanks counted 0."""
    padded = declared == "char(6)"
    values = [value and value.ljust(6) if padded else value for value in PADDED]
    names: dict[str, int] = dict(DECLARED[declared.partition("(")[0]][2])
    frame = sail.createDataFrame(pa.table({"x": values, "who": list(range(len(values)))}))
    marked = frame.withMetadata("x", {"__CHAR_VARCHAR_TYPE_STRING": declared})
    for unit in (EACH_RECORD, Unit("who", 1)):
        with open_units(dp.spark(marked), unit) as records:
            require_names(records, "x", names, 1)
    with open_units(dp.spark(marked), Unit("x", 100)) as records:
        assert records.units() == len(names) + 1
