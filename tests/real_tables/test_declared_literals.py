"""A literal that no value of a column's declared type equals is refused before the charge, in filters, SQL, CASE and
categories; a number beside a column of 32 bits is compared as the nearest number of 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import duckdb
import polars as pl
import pytest
from click.testing import CliRunner

import dpcurves as dp
from dpcurves.cli.app import build
from dpcurves.data import Axis, Categories, Grid, UnlistedCategories
from dpcurves.privacy import EACH_RECORD
from dpcurves.records import open_records

LOSS = dp.PrivacyLoss.pure(1000)
TERMS = ("--epsilon", "1000", "--adjacency", "add-remove")
X = Axis("x", Grid.parse("0:30:1"))
build_commands = cache(build)
LEVEL = "CREATE TYPE level AS ENUM ('low', 'mid', 'high', 'never')"
RELATION = """
SELECT i::DOUBLE AS x, (['low', 'mid', 'high'])[1 + i % 3]::level AS e,
 ('00000000-0000-0000-0000-00000000abc' || i % 3)::UUID AS u, DATE '2024-01-01' + (i % 3)::INT AS d, i % 2 = 0 AS b,
 ((i % 3) / 4)::DECIMAL(8, 2) AS q, i::BIGINT AS n, (0.1 * (i % 3))::FLOAT AS f, TIME '10:00:00' AS t,
 INTERVAL 1 HOUR AS v, TIMESTAMP '2024-01-01 10:00:00' AS m FROM range(30) r(i)"""


@pytest.fixture(scope="module")
def relation() -> Iterator[Any]:
    """A row of each declared type 30 times."""
    connection = duckdb.connect()
    connection.execute(LEVEL)
    yield connection.sql(RELATION)
    connection.close()


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with these rows, which declares no members of an ENUM."""
    path = tmp_path_factory.mktemp("literals") / "t.parquet"
    with duckdb.connect() as connection:
        connection.execute(LEVEL)
        connection.sql(f"COPY ({RELATION}) TO '{path}'")
    return str(path)


ENUM_RULE = "column `e` is ENUM in the schema; write one of its labels: 'low', 'mid', 'high', 'never'"
ORDER_RULE = "column `e` is ENUM in the schema, which is not ordered as text is; list its labels, as in e IN"
UUID_RULE = "column `u` is UUID in the schema; write"
WRONG = {
    "e = 'Low'": ENUM_RULE, "'lo' <> e": ENUM_RULE, "e IN ('low', '')": ENUM_RULE, "nullif(e, 'x') IS NULL": ENUM_RULE,
    "CASE e WHEN 'HIGH' THEN 1 ELSE 0 END = 1": ENUM_RULE, "e LIKE 'x%'": ENUM_RULE, "e >= 'mid'": ORDER_RULE,
    "e BETWEEN 'low' AND 'mid'": ORDER_RULE, "u = 'ABC'": UUID_RULE, "u >= 'ABC'": UUID_RULE, "u LIKE 'AB%'": UUID_RULE,
    "b = 2": "column `b` is BOOLEAN in the schema; write true or false",
    "q IN (0.25, 0.255)": "column `q` is DECIMAL.* in the schema; write a number with at most [0-9]+ digits after",
    "n = 1.5": "column `n` is BIGINT in the schema; write a whole number",
    "d = '2024-1-2'": "a date is needed here", "m = '2024-01-01 10:00'": "a date is needed here",
    "b = 'yes'": "text and true or false cannot be compared", "q = '0.25'": "a number and text cannot be compared",
    "t = '10:00'": "which expressions do not read", "v = '1 hour'": "which expressions do not read",
}  # fmt: skip


@pytest.mark.parametrize("where", WRONG)
def test_a_literal_that_the_declared_type_does_not_have_is_refused_before_the_charge(relation: Any, where: str) -> None:
    question = dp.CountQuestion("x", where=where)
    with dp.Session(relation, budget=LOSS, adjacency=dp.ADD_REMOVE) as session:
        with pytest.raises(ValueError, match=WRONG[where]):
            session.ask(question, LOSS)
        assert session.remaining.epsilon == LOSS.epsilon


RIGHT = {
    "e = 'never'": 0, "e IN ('low', 'mid')": 20, "e LIKE 'hi%'": 10, "CASE WHEN e <> 'low' THEN 1 ELSE 0 END = 1": 20,
    "u = '00000000-0000-0000-0000-00000000abc1'": 10, "u LIKE '00%'": 30, "b = 1": 15, "b = TRUE": 15, "b": 15,
    "q = 0.25": 10, "q IN (0, 0.50)": 20, "n = 1": 1, "n < 1.5": 2, "d = '2024-01-02'": 10, "f = 0.1": 10,
    "f IN (0.1, 0.2)": 20, "f <= 0.1": 20, "f BETWEEN 0.1 AND 0.2": 20, "0.2 > f": 20, "m > DATE '2024-01-01'": 30,
}  # fmt: skip


def test_literals_of_the_declared_type_find_their_rows(relation: Any) -> None:
    """Before, `f = 0.1` compared the double 0.1 with the nearest number of 32 bits, and found no row."""
    with open_records(relation, unit=EACH_RECORD, key=bytes(32)) as records:
        found = {where: int(records.with_filter(where).counts((X,))[:-1].sum()) for where in RIGHT}
    assert found == RIGHT


def test_labels_of_an_enum_are_members_in_every_kind_of_data_that_declares_them(relation: Any) -> None:
    labels = ["low", "mid", "high", "never"]
    frame = pl.DataFrame({"e": pl.Series(["low", "mid", "high"] * 10, dtype=pl.Enum(labels)), "x": range(30)})
    for data in (relation, frame, frame.lazy()):
        with open_records(data, unit=EACH_RECORD, key=bytes(32)) as records:
            assert records.counts((Categories("e", ("never", "low")),)).tolist() == [0, 10, 20]
            with pytest.raises(ValueError, match="^categories: 'Low': column `e` is ENUM in the schema; write one of"):
                records.counts((Categories("e", ("never", "Low")),))
            assert records.names(UnlistedCategories("e")) == {"low": 10, "mid": 10, "high": 10}
    # categories of pandas and of Arrow dictionaries come from the records, so that they refuse nothing
    categories = frame["e"].cast(str).cast(pl.Categorical).to_frame()
    with duckdb.connect() as connection:
        connection.register("held", categories.to_pandas())
        unnamed = connection.sql("FROM held")  # DuckDB makes an ENUM without a name of them
        assert "ENUM" in str(unnamed.types[0])
        for data in (categories, unnamed):
            with open_records(data, unit=EACH_RECORD, key=bytes(32)) as records:
                assert records.counts((Categories("e", ("Low", "low")),)).tolist() == [0, 10, 20]
                filtered = records.with_filter("e >= 'mid' OR e = 'Low'")
                assert filtered.counts((Categories("e", ("mid",)),)).tolist() == [10, 20]


@pytest.mark.parametrize(
    ("column", "value"), [("n", 1.5), ("b", 2), ("q", 0.255)], ids=["whole number", "truth value", "decimal"]
)
def test_categories_that_are_numbers_are_values_of_the_declared_type(relation: Any, column: str, value: Any) -> None:
    with (
        open_records(relation, unit=EACH_RECORD, key=bytes(32)) as records,
        pytest.raises(ValueError, match=f"^categories: {value}: column `{column}` is .* in the schema; write "),
    ):
        records.counts((Categories(column, (1, value)),))


@pytest.mark.parametrize("where", ["u = 'ABC'", "n = 1.5", "b = 2"])
def test_commands_and_sql_refuse_such_literals(parquet: str, where: str) -> None:
    count = ("count", parquet, "--column", "x", "--where", where)
    asked = ("sql", parquet, f"SELECT dp_count(x) FROM t WHERE {where}")
    cases = ("sql", parquet, f"SELECT dp_count(CASE WHEN {where} THEN x ELSE 0 END) FROM t")
    for words in (count, asked, cases):
        refused = CliRunner().invoke(build_commands(), [*words, *TERMS])
        assert refused.exit_code != 0
        assert "in the schema; write" in refused.output
