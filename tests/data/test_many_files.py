"""Patterns, folders with partition keys, and files compressed by Zstandard: one table, or one line that refuses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from click.testing import CliRunner

from dpcurves.arguments import InvalidArgument
from dpcurves.cli.app import build
from dpcurves.data import Categories, CsvFile, Grid
from dpcurves.data.axis import Axis
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import open_records, source

FRAME = pd.DataFrame({
    "x": np.arange(100) % 10, "t": [f"n{index % 7}" for index in range(100)],
    "region": [["north", "süd/x", None, "secret"][index % 4] for index in range(100)],
    "day": pd.date_range("2024-01-01", periods=100),
})  # fmt: skip
AXES: tuple[Sequence[Any], ...] = (
    [Axis("x", Grid(0, 10, cells=5))],
    [Categories("region", ("süd/x", "other")), Axis("x", Grid(0, 10, cells=2))],
)
EXPECTED = [20, 20, 20, 20, 20, 0], [10, 15, 0, 0, 75]
"""Counts of the rows: cells, and those without a declared category or a number."""


def count(data: Any, axes: Sequence[Any], unit: Unit = EACH_RECORD) -> list[int]:
    """Return the counts of a table, or of what is called one."""
    with open_records(data, unit=unit, key=b"k") as records:
        counts: list[int] = records.counts(axes).tolist()
        return counts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows as pieces of CSV, compressed CSV, pieces of Parquet, and a folder with keys."""
    path = tmp_path_factory.mktemp("files")
    compressor = zstandard.ZstdCompressor()
    for number, piece in enumerate((FRAME[:40], FRAME[40:])):
        piece.to_csv(path / f"rows-{number}.csv", index=False)
        (path / f"rows-{number}.csv.zst").write_bytes(compressor.compress(piece.to_csv(index=False).encode()))
        piece.to_parquet(path / f"rows-{number}.parquet", index=False)
    frames = [
        piece.to_csv(index=False, header=not number).encode() for number, piece in enumerate((FRAME[:9], FRAME[9:]))
    ]
    (path / "whole.csv.zst").write_bytes(b"".join(map(compressor.compress, frames)))  # two frames, as zstd appends
    pq.write_to_dataset(pa.Table.from_pandas(FRAME, preserve_index=False), path / "hive", partition_cols=["region"])
    (path / "hive" / "_SUCCESS").touch()
    return path


TABLES = (
    "rows-?.csv", "rows-*.csv.zst", "whole.csv.zst", "rows-*.parquet", "hive", "hive/*/*.parquet", "hive/**/*.parquet",
    "hive/region=*/*.parquet", "h*/*/*.parquet",
)  # fmt: skip


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("is_arrow_installed", [True, False])
def test_pieces_are_counted_as_one_table(
    folder: Path, is_arrow_installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "has_pyarrow", lambda: is_arrow_installed)
    for name in TABLES:
        for axes, expected in zip(AXES, EXPECTED, strict=True):
            assert count(folder / name, axes) == expected, name
        assert sum(count(folder / name, AXES[0], Unit("region", 3))) == 12, name


def test_mixed_headers_and_damaged_files_are_refused_before_records_are_read(tmp_path: Path) -> None:
    (tmp_path / "m-1.csv").write_text("x,y\n1,2\n")
    (tmp_path / "m-2.csv").write_text("y,x\n1,2\n")
    pa_table = pa.table({"x": [1]})
    pq.write_table(pa_table, tmp_path / "q-1.parquet")
    pq.write_table(pa_table.cast(pa.schema({"x": pa.float64()})), tmp_path / "q-2.parquet")
    for name, part in (("k=secretvalue", "a.parquet"), ("other=secretvalue", "b.parquet")):
        (tmp_path / "keys" / name).mkdir(parents=True)
        pq.write_table(pa_table, tmp_path / "keys" / name / part)
    (tmp_path / "clash" / "x=secretvalue").mkdir(parents=True)
    pq.write_table(pa_table, tmp_path / "clash" / "x=secretvalue" / "c.parquet")
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    whole = zstandard.ZstdCompressor(write_checksum=True).compress(b"x\n" + b"1\n2\n3\n4567\n" * 1000)
    (tmp_path / "cut.csv.zst").write_bytes(whole[:-2])
    (tmp_path / "wrong.csv.zst").write_bytes(whole[:-6] + bytes([whole[-6] ^ 1]) + whole[-5:])
    (tmp_path / "plain.csv.zst").write_bytes(b"x\n1\n")
    (tmp_path / "packed.csv").write_bytes(whole)
    for name, rule in (
        ("m-*.csv", "the files have different columns"), ("q-*.parquet", "the files have different columns"),
        ("keys", "have different partition keys"), ("clash", "have the same name"),
        ("keys/*/*.parquet", "have different partition keys"), ("clash/*/*.parquet", "have the same name"),
        ("delta", "is a table of Delta"),
        ("empty", "is a folder without Parquet files; give"),
        ("none-*.csv", "no file matches 'none-"), ("cut.csv.zst", "zstd data are"),
        ("wrong.csv.zst", "'wrong.csv.zst' cannot be read"), ("plain.csv.zst", "is not compressed by zstd"),
        ("packed.csv", "let its name end in .csv.zst"),
    ):  # fmt: skip
        with pytest.raises(InvalidArgument, match=rule) as refusal:
            open_records(tmp_path / name, unit=EACH_RECORD, key=b"k")
        assert "secretvalue" not in str(refusal.value)


def test_a_name_with_brackets_that_exists_is_no_pattern_and_formats_hold_for_all(tmp_path: Path) -> None:
    (tmp_path / "a[1].csv").write_text("x\n1\n")
    assert count(tmp_path / "a[1].csv", AXES[0])[0] == 1
    for number in range(2):
        (tmp_path / f"d-{number}.csv").write_text("x;y\n1,5;2\n", encoding="latin-1")
    file = CsvFile(tmp_path / "d-*.csv", delimiter=";", decimal=",", encoding="latin-1")
    assert count(file, AXES[0]) == [2, 0, 0, 0, 0, 0]


def test_commands_take_patterns_and_folders(folder: Path) -> None:
    for name in ("rows-*.csv", "hive"):
        words = ["histogram", str(folder / name), "--column", "x", "--grid", "0:10:5", "--epsilon", "1e6"]
        told = CliRunner().invoke(
            build(["histogram"]), [*words, "--adjacency", "replace-one", "--csv", str(folder / "o")]
        )
        assert told.exit_code == 0, told.output
        rows = (folder / "o").read_text().splitlines()[1:]
        assert [round(float(row.split(",")[2])) for row in rows] == [20] * 5
