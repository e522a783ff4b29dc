"""Without pyarrow all kinds of data are read with equal counts, or refused by name."""

from __future__ import annotations

import json
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from counted import Stream, counted

from dpcurves.arguments import MissingPackage
from dpcurves.data import Axis, Categories, Grid
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import Records, open_records
from dpcurves.records.source import ROWS_PER_BATCH, read_batches

WITHOUT = """
import sys
sys.modules["pyarrow"] = None
sys.path[:0] = [sys.argv[1]]
import json
from pathlib import Path
from counted import counted
print(json.dumps(counted(Path(sys.argv[2]))))
"""
GRID = Grid(0, 5, cells=5)
HINT = "; pyarrow reads it: pip install 'dpcurves[arrow]'"


def test_every_kind_of_data_is_read_alike_with_and_without_pyarrow(tmp_path: Path) -> None:
    found = counted(tmp_path)
    words = [sys.executable, "-c", WITHOUT, str(Path(__file__).parent), str(tmp_path)]
    without = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert json.loads(without) == found
    assert len(found) > 70


@pytest.fixture
def no_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpcurves.records.source.has_pyarrow", lambda: False)


def opened(data: Any, unit: Unit = EACH_RECORD) -> Records:
    return open_records(data, unit=unit, key=b"k")


def parquet(folder: Path, columns: dict[str, Any]) -> Path:
    pq.write_table(pa.table(columns), folder / "x.parquet", row_group_size=2)
    return folder / "x.parquet"


@pytest.mark.usefixtures("no_pyarrow")
def test_columns_of_parquet_that_duckdb_refuses_by_their_values_are_not_read(tmp_path: Path) -> None:
    numbers = pa.array(range(5))
    columns = {
        "nested": [[1]] * 5, "n": numbers, "moment": numbers.cast(pa.timestamp("ms")),
        "clock": numbers.cast(pa.time64("us")),
        "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{"] * 5)),
    }  # fmt: skip
    path = parquet(tmp_path, columns)
    with opened(path) as records:
        assert records.units() == 5
        assert records.counts([Axis("n", GRID)]).tolist() == [1, 1, 1, 1, 1, 0]
        for name in ("moment", "clock"):
            with pytest.raises(ValueError, match=f"^column: '{name}' holds dates, times or durations"):
                records.check([Axis(name, GRID)])
        with pytest.raises(MissingPackage, match=r"^data: column 'json' holds neither numbers, .*") as caught:
            records.check([Categories("json", ("{",))])
        assert str(caught.value).endswith(HINT)
    with pytest.raises(MissingPackage, match=r"^data: column 'nested' "):
        opened(path, Unit("n", 1))  # whole rows are ranked
    with (
        opened(parquet(tmp_path, {"n": numbers, "N": numbers})) as records,
        pytest.raises(MissingPackage, match="a name that differs from another one in case only"),
    ):
        records.check([Axis("n", GRID)])


@pytest.mark.usefixtures("no_pyarrow")
def test_text_that_is_no_utf8_is_missing_and_touches_no_other_record(tmp_path: Path) -> None:
    texts = [b"?", b"\xff", b"a?", b"a\xff", b"\xed\xa0\x80", "é".encode(), b"a\0", None] * 3
    path = parquet(tmp_path, {"s": pa.array(texts).view(pa.string()), "n": range(24)})
    axes = [Categories("s", ("?", "a?", "é", "a\0"))]
    with opened(path) as records:
        assert records.counts(axes).tolist() == [3, 3, 3, 3, 12]
    with opened(path, Unit("s", 2)) as records:
        assert records.units() == 5
        assert records.counts(axes).tolist() == [2, 2, 2, 2, 2]


@pytest.mark.usefixtures("no_pyarrow")
def test_nested_values_in_memory_are_not_read() -> None:
    table = {"x": [0.5, 1.5], "nested": pl.Series([[1], [2]])}
    with opened(table) as records:
        assert records.counts([Axis("x", GRID)]).tolist() == [1, 1, 0, 0, 0, 0]
    with pytest.raises(
        MissingPackage, match=r"^data: column 'nested' holds lists, other nested values or intervals; py"
    ):
        opened(table, Unit("x", 1))


@pytest.mark.usefixtures("no_pyarrow")
def test_a_batch_of_a_relation_has_room_for_its_text() -> None:
    with duckdb.connect() as connection:
        rows = connection.sql(f"SELECT i FROM range({2 * ROWS_PER_BATCH + 1}) t(i)")
        assert max(len(column) for (column,) in read_batches(rows)) <= ROWS_PER_BATCH
        texts = connection.sql("SELECT repeat('a', n) AS x FROM (VALUES (1), (16383), (16384)) t(n)")
        with opened(texts, Unit("x", 1)) as records:
            assert records.units() == 3  # of 3 texts one is too long, and its unit is missing


def test_what_is_said_never_to_be_missing_may_be() -> None:
    schema = pa.schema([pa.field("x", pa.float64(), nullable=False), pa.field("s", pa.string(), nullable=False)])
    table = pa.table([pa.array([0.5, None]), pa.array([None, "a"])], schema=schema)
    for data in (table, Stream(table), table.to_batches()[0]):
        with opened(data) as records:
            assert records.counts([Axis("x", GRID)]).tolist() == [1, 0, 0, 0, 0, 1]
            assert records.counts([Categories("s", ("a",))]).tolist() == [1, 1]


def test_a_row_that_is_missing_as_a_whole_is_refused() -> None:
    rows = pa.StructArray.from_arrays([pa.array([1.0, 2.0])], ["x"], mask=pa.array([False, True]))
    with pytest.raises(ValueError, match=r"^data: the frame cannot be read"):
        opened(rows)


def test_what_fails_while_a_batch_is_read_is_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    secret = "918273.645"

    class Failing(dict[str, Any]):
        def __str__(self) -> str:
            raise KeyboardInterrupt(secret)

    with opened({"x": [0.5, Failing()]}) as records, pytest.raises(ValueError, match="could not be read") as caught:
        records.counts([Axis("x", GRID)])
    assert secret not in "".join(traceback.format_exception(caught.value)) + "".join(capfd.readouterr())
