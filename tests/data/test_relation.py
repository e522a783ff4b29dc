"""DuckDB relations: they stay on the connection of their owner, which is left as it was."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from dpcurves.data import Axis, Categories, Grid
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import open_records

EXOTIC = """
    SELECT i AS n, 'p'::ENUM('p', 'q') AS en, TIMESTAMP 'infinity' AS ts, DATE '-infinity' AS da, TIME '12:00' AS ti,
    TIMETZ '12:00:00+02' AS tz, INTERVAL 1 DAY AS iv, uuid() AS uu, [1, 2] AS li, {'a': 1} AS st, '101'::BIT AS bi,
    MAP {'a': 1} AS m, 12345678901234567890123::BIGNUM AS bn, NULL AS nu, 'x'::BLOB AS bl, (2::UHUGEINT ** 7) AS uh
    FROM range(3) t(i)
"""


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def test_rows_of_every_type_are_opened_and_ranked(connection: duckdb.DuckDBPyConnection) -> None:
    with open_records(connection.sql(EXOTIC), unit=Unit("en", 2), key=b"k") as records:
        assert records.units() == 1
        assert records.counts([Axis("n", Grid(0, 3, cells=1))]).tolist() == [2, 0]


@pytest.mark.parametrize(
    ("name", "want"),
    [("bn", [0, 3, 0]), ("nu", [0, 0, 3]), ("uh", [0, 3, 0]), ("n", [1, 2, 0])],
)
def test_numbers_of_every_type_are_counted(name: str, want: list[int], connection: duckdb.DuckDBPyConnection) -> None:
    with open_records(connection.sql(EXOTIC), unit=EACH_RECORD, key=b"k") as records:
        assert records.counts([Axis(name, Grid(0, 2, cells=2))]).tolist() == want


@pytest.mark.parametrize("name", ["ts", "da", "ti", "tz", "iv"])
def test_columns_of_dates_and_times_are_refused(name: str, connection: duckdb.DuckDBPyConnection) -> None:
    with open_records(connection.sql(EXOTIC), unit=EACH_RECORD, key=b"k") as records:
        for axis in (Categories(name, (1,)), Axis(name, Grid(0, 1, cells=1))):
            with pytest.raises(ValueError, match=f"^column: '{name}' holds dates, .* needed; give days"):
                records.check([axis])


@pytest.mark.parametrize("name", ["li", "st", "bi", "m"])
def test_columns_that_are_neither_are_refused(name: str, connection: duckdb.DuckDBPyConnection) -> None:
    with (
        open_records(connection.sql(EXOTIC), unit=EACH_RECORD, key=b"k") as records,
        pytest.raises(ValueError, match=f"^column: '{name}' holds neither numbers nor text"),
    ):
        records.check([Categories(name, (1,))])


def test_enums_are_text(connection: duckdb.DuckDBPyConnection) -> None:
    with open_records(connection.sql(EXOTIC), unit=EACH_RECORD, key=b"k") as records:
        assert records.counts([Categories("en", ("q", "p"))]).tolist() == [0, 3, 0]


def test_the_connection_of_the_owner_is_left_as_it_was(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE t AS SELECT 0.5::DOUBLE AS x FROM range(10)")
    facts = "SELECT name, value FROM duckdb_settings() ORDER BY 1", "SELECT table_name FROM duckdb_tables() ORDER BY 1"
    before = [connection.execute(fact).fetchall() for fact in facts]
    with open_records(connection.table("t"), unit=EACH_RECORD, key=b"k") as records:
        assert records.counts([Axis("x", Grid(0, 1, cells=1))]).tolist() == [10, 0]
        assert records.counts([Axis("x", Grid.geometric(1, 2, cells=1))]).tolist() == [10, 0]
    assert [connection.execute(fact).fetchall() for fact in facts] == before


def test_text_that_is_too_long_is_missing(connection: duckdb.DuckDBPyConnection) -> None:
    texts = "SELECT repeat('a', (2 ** (4 * i))::BIGINT) AS x, encode(x) AS b FROM range(7) t(i)"
    with open_records(connection.sql(texts), unit=Unit("x", 1), key=b"k") as records:
        assert records.units() == 7  # of 7 texts one is too long, and its unit is missing
    with open_records(connection.sql(texts).to_arrow_table(), unit=Unit("b", 1), key=b"k") as records:
        assert records.units() == 7
        assert records.counts([Categories("x", ("a",))]).tolist() == [1, 6]
