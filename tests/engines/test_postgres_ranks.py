"""Which rows of a unit PostgreSQL uses: decided by the unit's own rows, whatever the hashes do, and fairly."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

import dpcurves as dp
from dpcurves.data import Categories, Grid
from dpcurves.data.axis import Axis
from dpcurves.privacy import Unit
from dpcurves.records import Records, open_records
from dpcurves.records.source import LONGEST_TEXT
from dpcurves_engines import postgres_engine as postgres_ranks

psycopg = pytest.importorskip("psycopg")
LONG = LONGEST_TEXT + 1
WIDE = 2**53 + 1
UNITS = 20_000


def opened(url: str, name: str, records: int) -> Records:
    return open_records(dp.postgres(url, table=name), unit=Unit("u", records), key=b"k")


def table(url: str, declared: str, rows: list[str]) -> str:
    name = f"ranked_{secrets.token_hex(4)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {name} ({declared})")
        for row in rows:
            connection.execute(f"INSERT INTO {name} VALUES ({row})")
    return name


@pytest.mark.parametrize("columns", ["few", "many"])
@pytest.mark.parametrize("records", [1, 2, 3])
def test_rows_whose_hashes_all_tie_are_used_in_an_order_of_their_own(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, records: int, columns: str
) -> None:
    """Two rows differ in one column each; long texts, and equal numbers that are written otherwise, are told apart."""
    if columns == "few":
        monkeypatch.setattr(postgres_ranks, "_row_hash_sql", lambda *_: "0::int8")
    else:
        monkeypatch.setattr(postgres_ranks, "MOST_COMPARED", 0)
    digest = f"encode(sha256(convert_to(repeat('a', {LONG}), 'UTF8')), 'hex')"
    rows = [
        f"7, 1.5, {WIDE}, 'a', true", f"7, 1.5, {WIDE}.0, 'a', true", f"7, 1.5, {WIDE}, NULL, true",
        f"7, 1.5, {WIDE}, repeat('a', {LONG}), true", f"7, 1.5, {WIDE}, {digest}, true", "7, 1.5, NULL, 'a', true",
        "7, 0.5, NULL, 'a', true", "7, NULL, NULL, 'a', false", "7, 'NaN', NULL, 'a', NULL",
    ]  # fmt: skip
    axes: tuple[Any, ...] = (
        Axis("x", Grid(0, 2, cells=2)), Categories("n", (WIDE,)), Categories("b", (True, False)),
        Categories("t", ("a",)),
    )  # fmt: skip
    found = set()
    for order in (rows, rows[::-1], rows[4:] + rows[:4]):
        name = table(postgres_url, "u int8, x float8, n numeric, t text, b bool", order)
        with opened(postgres_url, name, records) as used:
            tables = [used.counts((axis,)).tolist() for axis in axes]
            assert {sum(each) for each in tables} == {records}
            found.add(str([*tables, used.counts(axes).tolist()]))
    assert len(found) == 1


@pytest.mark.parametrize("most", [postgres_ranks.MOST_COMPARED, 0])
def test_each_row_of_a_unit_is_used_as_often(postgres_url: str, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """All units hold the same three values; the key is fixed, and by chance this fails with probability 4e-4."""
    monkeypatch.setattr(postgres_ranks, "MOST_COMPARED", most)
    name = table(postgres_url, "u int8, x float8", [])
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        rows = f"SELECT u, x + 0.5 FROM generate_series(1, {UNITS}) AS units(u), generate_series(0, 2) AS values(x)"
        connection.execute(f"INSERT INTO {name} {rows}")
    for records in (1, 2):
        with opened(postgres_url, name, records) as used:
            counts = used.counts((Axis("x", Grid(0, 3, cells=3)),))[:3]
        share = records / 3
        assert counts.sum() == records * UNITS
        assert (abs(counts - share * UNITS) < 4 * (UNITS * share * (1 - share)) ** 0.5).all()
