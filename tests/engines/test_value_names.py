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
