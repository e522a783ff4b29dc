"""Contribution bounds: at most the bound is used of each unit, and no unit affects another unit's records."""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from every_source import EVERY_SOURCE
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcurves.data import Axis, Categories, Grid
from dpcurves.privacy import Unit
from dpcurves.records import Records, open_records
from dpcurves.records.engines.duckdb import hmac_pads, unit_count_sql, used_rows_sql
from dpcurves.records.source import Column, ColumnKind
from dpcurves.records.table_sources import source_of_mapping

KEY = b"a secret key"
CONNECTION = duckdb.connect()
GRID = Grid(0, 3, cells=3)
AXES = (Axis("x", GRID),)
NAMES = ("a", "b", None)
Numbers = tuple[int, int, int]
Used = tuple[int, dict[Numbers, list[tuple[int, ...]]]]
Row = tuple[str | None, float]
Rows = tuple[Row, ...]

# All possible units: up to 3 records, each in one of 2 cells or missing.
HOLDINGS = [values for size in range(4) for values in combinations_with_replacement((0.5, 1.5, np.nan), size)]


def tables() -> list[Numbers]:
    """All tables of up to 3 units, as numbers of their holdings."""
    each = range(len(HOLDINGS))
    return [(first, second, third) for first in each for second in each for third in each]


@pytest.fixture(scope="module", params=[1, 2])
def used(request: pytest.FixtureRequest) -> Used:
    """For each table, the counts that each of its units adds, by the SQL itself: all tables in one query."""
    numbers, places, texts, values = [], [], [], []
    for number, table in enumerate(tables()):
        for place, (name, holding) in enumerate(zip(NAMES, table, strict=True)):
            for value in HOLDINGS[holding]:
                numbers.append(number)
                places.append(place)
                texts.append(f"{name}:{value}")
                values.append(value)
    # The number of the table is part of the unit, so that tables stay apart, but not of the row that is ranked.
    last = len(HOLDINGS) ** 3 - 1
    named = zip(numbers, places, strict=True)
    unit = [None if (number, place) == (last, 2) else f"{number}/{place}" for number, place in named]
    found: dict[Numbers, list[list[int]]] = {table: [[0] * 3 for _ in NAMES] for table in tables()}
    with duckdb.connect() as connection:
        arrow = {"c0": unit, "c1": values, "c2": numbers, "c3": places, "whole": [text.encode() for text in texts]}
        connection.register("rows", pa.table(arrow))
        sql = used_rows_sql("rows", Column("u", ColumnKind.TEXT, ""), 0, (1, 2, 3), request.param)
        rows = connection.execute(sql, hmac_pads(KEY)).fetchall()
    listed = tables()
    for value, number, place in rows:
        found[listed[number]][place][2 if np.isnan(value) else int(value)] += 1
    return request.param, {table: [tuple(unit) for unit in units] for table, units in found.items()}


def test_what_is_used_of_a_unit_depends_on_its_own_records_alone(used: Used) -> None:
    most, found = used
    alone: dict[tuple[int, int], tuple[int, ...]] = {}
    for table, units in found.items():
        for place, (holding, counts) in enumerate(zip(table, units, strict=True)):
            assert sum(counts) == min(most, len(HOLDINGS[holding]))
            assert alone.setdefault((place, holding), counts) == counts


def test_one_unit_moves_counts_by_its_bound(used: Used) -> None:
    most, found = used
    worst = {"add-remove": 0, "replace-one": 0}
    counts = {table: [sum(cell) for cell in zip(*units, strict=True)] for table, units in found.items()}
    for table, place, holding in product(counts, range(3), range(len(HOLDINGS))):
        first, second, third = (holding if number == place else each for number, each in enumerate(table))
        pairs = zip(counts[table], counts[first, second, third], strict=True)
        kind = "add-remove" if 0 in (table[place], holding) else "replace-one"
        worst[kind] = max(worst[kind], sum(abs(one - other) for one, other in pairs))
    assert worst == {"add-remove": most, "replace-one": 2 * most}


def opened(rows: Sequence[Row], most: int, key: bytes = KEY) -> Records:
    table = pa.table(
        {"u": pa.array([name for name, _ in rows], pa.string()), "x": pa.array([x for _, x in rows], pa.float64())}
    )
    return open_records(table, unit=Unit("u", most), key=key)


def counted(rows: Sequence[Row], most: int, key: bytes = KEY) -> tuple[int, ...]:
    with opened(rows, most, key) as records:
        return tuple(records.counts(AXES).tolist())


@pytest.mark.parametrize("most", [1, 2])
def test_the_order_of_records_does_not_matter(most: int) -> None:
    rows: Rows = (("a", 0.5), ("a", 1.5), ("a", 2.5))
    assert len({counted(order, most) for order in permutations(rows)}) == 1


record = st.tuples(st.sampled_from(NAMES), st.sampled_from([0.5, 1.5, 2.5, np.nan]))


@settings(max_examples=12, deadline=None)
@given(st.lists(record, max_size=12), st.sampled_from(NAMES), st.lists(record, max_size=4), st.sampled_from([1, 2]))
def test_opened_records_keep_the_bound(rows: list[Row], name: str | None, new: list[Row], most: int) -> None:
    others = [row for row in rows if row[0] != name]
    with_new = [*others, *((name, x) for _, x in new)]
    before, without, after = (np.array(counted(each, most)) for each in (rows, others, with_new))
    assert np.abs(before - without).sum() <= most
    assert np.abs(before - after).sum() <= 2 * most
    assert np.all(before >= without)


@settings(max_examples=12, deadline=None)
@given(st.lists(record, max_size=12), st.sampled_from([1, 2]))
def test_sums_keep_the_bound(rows: list[Row], most: int) -> None:
    half = 2**39
    with opened(rows, most) as records, opened([row for row in rows if row[0] != "a"], most) as without:
        pairs = zip(records.sums(AXES, half), without.sums(AXES, half), strict=True)
        assert sum(abs(one - other) for one, other in pairs) <= most * half


@given(st.binary(max_size=200), st.binary(max_size=200))
@settings(max_examples=50, deadline=None)
def test_rows_are_ranked_by_hmac(key: bytes, row: bytes) -> None:
    sql = "SELECT sha256($outer::BLOB || unhex(sha256($inner::BLOB || $row::BLOB)))"
    ((found,),) = CONNECTION.execute(sql, {**hmac_pads(key), "row": row}).fetchall()
    assert found == hmac.new(key, row, "sha256").hexdigest()


def test_the_key_draws_the_records() -> None:
    rows: Rows = tuple(("a", number / 10) for number in range(30))
    drawn = Counter(counted(rows, 1, key=bytes([number])) for number in range(25))
    assert len(drawn) == 3  # by chance fewer once in 8000, but the keys are fixed


def test_the_first_record_by_hmac_is_used() -> None:
    lines = [f"a,{number / 10}\n".encode() for number in range(30)]
    first = min(lines, key=lambda line: hmac.new(KEY, line, "sha256").digest())
    with duckdb.connect() as connection:
        connection.register("rows", pa.table({"c0": ["a"] * 30, "c1": lines, "whole": lines}))
        sql = used_rows_sql("rows", Column("u", ColumnKind.TEXT, ""), 0, (1,), 1)
        assert connection.execute(sql, hmac_pads(KEY)).fetchall() == [(first,)]


def test_all_columns_are_ranked_not_only_those_that_are_counted() -> None:
    chosen = set()
    for shift in range(20):
        moved = {"u": ["a"] * 40, "x": np.arange(40) % 3 + 0.5, "other": np.arange(40) + shift * 1000}
        with open_records(moved, unit=Unit("u", 1), key=KEY) as records:
            chosen.add(tuple(records.counts(AXES).tolist()))
    assert len(chosen) == 3  # by chance fewer about once in 1000, but the key is fixed


def test_a_unit_keeps_its_records_whatever_is_asked_of_them() -> None:
    table = {"u": ["a", "a", "a", "b"], "x": [0.5, 1.5, 2.5, 0.5], "y": [0.5, 1.5, 2.5, 0.5], "z": ["1"] * 4}
    both = (Axis("x", GRID), Axis("y", GRID))
    with open_records(table, unit=Unit("u", 1), key=KEY) as records:
        first = records.counts(both[:1]).tolist()
        assert records.counts(both[1:]).tolist() == first
        joint = records.counts(both)[:-1].reshape(3, 3)
        assert np.array_equal(joint, np.diag(first[:-1]))
        assert records.counts((Categories("z", (1,)),)).tolist() == [2, 0]


@pytest.mark.parametrize("source", sorted(EVERY_SOURCE))
def test_units_are_told_apart_in_every_source(source: str, tmp_path: Path) -> None:
    units = pa.array(["a", "b", "a", None, None, "B", "a b"])
    columns = {"u": units, "x": pa.array([0.5, 1.5, 0.5, 2.5, 2.5, 1.5, 1.5])}
    with open_records(EVERY_SOURCE[source](columns, tmp_path), unit=Unit("u", 1), key=KEY) as records:
        assert records.units() == 5
        assert records.counts(AXES).tolist() == [1, 3, 1, 0]


@pytest.mark.parametrize("source", sorted(EVERY_SOURCE))
def test_units_that_are_numbers_are_one_where_they_are_equal(source: str, tmp_path: Path) -> None:
    units = pa.array([0.0, 1.5, 1.5, float("nan"), None, float("inf")])
    columns = {"u": units, "x": pa.array([0.5] * 6)}
    with open_records(EVERY_SOURCE[source](columns, tmp_path), unit=Unit("u", 1), key=KEY) as records:
        assert records.units() == 4
        assert records.counts(AXES).tolist() == [4, 0, 0, 0]


@pytest.mark.parametrize("without_type", [list, partial(np.array, dtype=object), partial(pd.Series, dtype=object)])
def test_units_without_a_type_are_told_apart_by_their_text(without_type: Callable[[list[Any]], Any]) -> None:
    table = {"u": without_type([1, 1.0, " 1", "1", "1.0", True, "True"]), "x": np.full(7, 0.5)}
    with open_records(table, unit=Unit("u", 1), key=KEY) as records:
        assert records.units() == 4  # 1, 1.0, a blank before 1, and True
        assert records.counts(AXES).tolist() == [4, 0, 0, 0]


def test_zeros_of_both_signs_are_one_unit() -> None:
    table = {"u": np.array([0.0, -0.0]), "x": np.array([0.5, 0.5])}
    with open_records(table, unit=Unit("u", 1), key=KEY) as records:
        assert records.units() == 1
        assert records.counts(AXES).sum() == 1


def test_units_are_counted_with_those_that_are_missing_as_one() -> None:
    with duckdb.connect() as connection:
        for values, units in (([], 0), ([None, None], 1), (["a", None, "a", "b"], 3), (["a"], 1)):
            connection.register("rows", pa.table({"c0": pa.array(values, pa.string())}))
            assert connection.sql(unit_count_sql("rows", Column("u", ColumnKind.TEXT, ""), 0)).fetchall() == [(units,)]


def test_rows_that_differ_differ_as_a_whole() -> None:
    values = [None, "", "a", "-", "ab", "b", "\x1e", "\x1f", "a\x1fb", "\\x1F", "1", "\udcff"]
    pairs = [(one, other) for one in values for other in values]
    table = {"x": np.array([one for one, _ in pairs], object), "y": np.array([other for _, other in pairs], object)}
    source = source_of_mapping({**table, "z": np.array([0.0, -0.0, np.nan] * (len(pairs) // 3))})
    with duckdb.connect() as connection:
        ((rows, distinct),) = connection.execute(
            f"SELECT count(*), count(DISTINCT whole) FROM {source.scan_whole(connection, [])}"
        ).fetchall()
    assert rows == distinct == len(pairs)
