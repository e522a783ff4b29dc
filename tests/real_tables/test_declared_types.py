"""A value that a person types is written as its declared type writes it, else refused before the charge: UUIDs of
files, relations and Arrow tables, and numbers with other digits than 0 to 9.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import dpcurves as dp
from dpcurves.cli.app import build
from dpcurves.data import Categories, UnlistedCategories
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import open_records

UUIDS = [UUID(int=number + 0xABCDEF0000) for number in range(3)]
ROWS = 40
LOSS = dp.PrivacyLoss.pure(1000)
TERMS = ("--epsilon", "1000", "--adjacency", "add-remove")
MISSING = 5
build_commands = cache(build)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """UUIDs as a Parquet file of 16 bytes each, a relation and an Arrow table of Arrow's extension type."""
    values = [*(each.bytes for each in UUIDS * ROWS), *[None] * MISSING]
    table = pa.table({"u": pa.array(values, pa.uuid()), "x": [float(number) for number in range(len(values))]})
    path = tmp_path_factory.mktemp("uuids") / "t.parquet"
    pq.write_table(table, path)
    # the relation belongs to its connection, which must stay open
    connection = duckdb.connect()
    return {"parquet": path, "arrow": table, "relation": connection.sql(f"SELECT * FROM '{path}'"), "open": connection}


@pytest.mark.parametrize("kind", ["parquet", "arrow", "relation"])
def test_uuids_are_counted_selected_and_filtered_by_their_usual_text(tables: dict[str, Any], kind: str) -> None:
    """Before, a Parquet file's UUIDs were 16 bytes, so that a category in the usual notation counted no record."""
    names = tuple(map(str, UUIDS))
    with open_records(tables[kind], unit=EACH_RECORD, key=bytes(32)) as records:
        assert records.counts((Categories("u", names[:2]),)).tolist() == [ROWS, ROWS, ROWS + MISSING]
        assert records.names(UnlistedCategories("u")) == dict.fromkeys(names, ROWS)
        only = records.with_filter(f"u = '{names[0]}'")
        assert only.counts((Categories("u", names[:2]),)).tolist()[0:2] == [ROWS, 0]
    with open_records(tables[kind], unit=Unit("u", 1), key=bytes(32)) as records:
        assert records.units() == len(UUIDS) + 1  # rows without a unit are one unit


@pytest.mark.parametrize("kind", ["parquet", "arrow", "relation"])
@pytest.mark.parametrize(
    "typed", ["00000000-0000-0000-0000-00ABCDEF0000", "{00000000-0000-0000-0000-00abcdef0000}", "abcdef", ""]
)
def test_a_uuid_in_another_notation_is_refused_before_the_charge(tables: dict[str, Any], kind: str, typed: str) -> None:
    question = dp.CountQuestion("x", by=Categories("u", (str(UUIDS[1]), typed)))
    written = str(UUIDS[0]) if len(typed) > 10 else "a UUID, as in"
    with dp.Session(tables[kind], budget=LOSS, adjacency=dp.ADD_REMOVE) as session:
        with pytest.raises(ValueError, match=f"^categories: .*column `u` is UUID in the schema; write {written}"):
            session.ask(question, LOSS)
        assert session.remaining.epsilon == LOSS.epsilon


def test_commands_and_sql_refuse_a_uuid_in_capital_letters(tables: dict[str, Any]) -> None:
    commands, path, capital = build_commands(), str(tables["parquet"]), str(UUIDS[0]).upper()
    counted = ("count", path, "--column", "x", "--by", "u", "--categories")
    asked = ("sql", path, "SELECT dp_count(x) FROM t GROUP BY u", "--by")
    for words in ((*counted, capital), (*asked, f"u={capital}")):
        refused = CliRunner().invoke(commands, [*words, *TERMS])
        assert refused.exit_code != 0
        assert f"column `u` is UUID in the schema; write {UUIDS[0]}" in refused.output
    for words in ((*counted, str(UUIDS[0])), (*asked, f"u={UUIDS[0]}")):
        done = CliRunner().invoke(commands, [*words, *TERMS])
        assert done.exit_code == 0, done.output
        assert str(ROWS) in done.output


NOT_PLAIN = ["1_0", "\u0661", "\uff11", "1\u00a00"]


@pytest.mark.parametrize("typed", NOT_PLAIN)
def test_a_number_with_other_digits_or_an_underscore_is_no_number(tables: dict[str, Any], typed: str) -> None:
    """Python reads all of them; as an epsilon, `1_0` was ten times the loss that 1.0 is."""
    path = str(tables["parquet"])
    for words in (
        ("count", path, "--column", "x", "--epsilon", typed),
        ("cdf", path, "--column", "x", "--grid", f"0:{typed}:4", "--epsilon", "1"),
        ("cdf", path, "--column", "x", "--grid", f"0:20:{typed}", "--epsilon", "1"),
        ("quantiles", path, "--column", "x", "--grid", "0:20:4", "--epsilon", "1", "--probabilities", f"0.5,0.{typed}"),
    ):
        refused = CliRunner().invoke(build_commands(), [*words, "--adjacency", "add-remove"])
        assert refused.exit_code == 2, refused.output
        assert "number" in refused.output or "grid: write" in refused.output
    with pytest.raises(ValueError, match="^epsilon: a finite number above zero is needed"):
        dp.PrivacyLoss.pure(typed)
    with pytest.raises(ValueError, match="^grid: write"):
        dp.Grid.parse(f"0:{typed}:4")
