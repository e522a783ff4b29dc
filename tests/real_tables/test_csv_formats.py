"""Files that are no CSV, and headers that are no header, each get their own reason before anything is charged."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.cli.app import build
from dpcurves.data import CsvFile
from dpcurves.records.table_sources import source_of_csv

PLAIN = b"age,region\n31,north\n52,south\n"


def zipped(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, PLAIN)
    return file.getvalue()


OTHERS = {
    "gzip": (gzip.compress(PLAIN), "compressed by gzip; let its name end in .csv.gz"),
    "zip": (zipped("a.csv"), "a zip file, or an Excel file; unpack it first"),
    "xlsx": (zipped("[Content_Types].xml"), "an Excel file"),
    "xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "an old Excel file"),
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(100), "compressed by zstd"),
    "bzip2": (bz2.compress(PLAIN), "compressed by bzip2"),
    "xz": (lzma.compress(PLAIN), "compressed by xz"),
    "parquet": (b"PAR1" + bytes(100), "a Parquet file; let its name end in .parquet"),
    "utf-16": (PLAIN.decode().encode("utf-16"), "is in UTF-16"),
    "utf-16-be": (b"\xfe\xff" + PLAIN.decode().encode("utf-16-be"), "is in UTF-16"),
    "utf-16 without a mark": (PLAIN.decode().encode("utf-16-le"), "zero bytes, as UTF-16"),
    "utf-32": (PLAIN.decode().encode("utf-32"), "is in UTF-32"),
}
HEADERS = {
    "CR": (PLAIN.replace(b"\n", b"\r"), r"carriage returns \(CR\)"),
    "line break in a name": (b'"age\nin years",region\n31,north\n', "must not contain a line break"),
    "inch sign": (b'5" pipe,region\n31,north\n', "not closed"),
    "text behind a quote": (b'"age"x,region\n31,north\n', "a quoted name must end at a delimiter"),
    "latin-1": ("größe,ort\n1,2\n".encode("latin-1"), "--encoding latin-1 or cp1252"),
    "empty": (b"\nage\n1\n", "this line is empty"),
    "blank": (b"  \r\nage\n1\n", "this line is empty"),
}


@pytest.mark.parametrize(("content", "reason"), [*OTHERS.values(), *HEADERS.values()], ids=[*OTHERS, *HEADERS])
def test_each_format_and_each_header_has_its_own_reason(content: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    for data in (tmp_path / "a.csv", CsvFile(content)):
        with dp.Session(data, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE) as session:
            said = "unpack it" if reason.startswith("compressed by gzip") and isinstance(data, CsvFile) else reason
            with pytest.raises(InvalidArgument, match=said) as caught:
                session.ask(dp.CdfQuestion("age", dp.Grid(0, 100, cells=4)), dp.PrivacyLoss.pure(1))
            assert "north" not in str(caught.value)
            assert "\n" not in str(caught.value)
            assert session.remaining == dp.PrivacyLoss.pure(1)


def test_the_reasons_differ() -> None:
    assert len({reason for _, reason in OTHERS.values()}) == len(OTHERS) - 1  # of both orders of bytes in UTF-16


def test_a_name_in_gz_needs_gzip_and_is_unpacked_once(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(PLAIN)
    with pytest.raises(InvalidArgument, match="not compressed by gzip; let its name end in .csv"):
        source_of_csv(CsvFile(path))
    path.write_bytes(gzip.compress(gzip.compress(PLAIN)))
    with pytest.raises(InvalidArgument, match="compressed twice"):
        source_of_csv(CsvFile(path))
    path.write_bytes(gzip.compress(b"PAR1" + bytes(99)))
    with pytest.raises(InvalidArgument, match="a Parquet file"):
        source_of_csv(CsvFile(path))
    path.write_bytes(gzip.compress(PLAIN))
    assert [column.name for column in source_of_csv(CsvFile(path)).columns] == ["age", "region"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_usual_files_are_read(mark: bytes, end: bytes) -> None:
    source = source_of_csv(CsvFile(mark + PLAIN.replace(b"\n", end)))
    assert [column.name for column in source.columns] == ["age", "region"]


@pytest.mark.parametrize("command", ["count", "cdf", "stream"])
def test_a_tab_is_written_as_backslash_t(command: str, tmp_path: Path) -> None:
    assert CsvFile("a.csv", r"\t") == CsvFile("a.csv", "\t")
    lines = [f"{second}\t{second % 7}\tnorth\n" for second in range(60)]
    (tmp_path / "a.csv").write_text("ts\tage\tregion\n" + "".join(lines))
    options = {
        "count": ("--column", "age"),
        "cdf": ("--column", "age", "--grid", "0:8:4"),
        "stream": ("--state", "region", "--states", "north,south", "--start", "1970-01-01T00:00",
                   "--end", "1970-01-01T00:01", "--every", "30s", "--store", f"sqlite:///{tmp_path}/s.db"),
    }  # fmt: skip
    asked = [command, str(tmp_path / "a.csv"), *options[command], "--delimiter", r"\t"]
    adjacency = () if command == "stream" else ("--adjacency", "add-remove")
    result = CliRunner().invoke(build(), [*asked, "--epsilon", "1", *adjacency])
    assert result.exit_code == 0, result.output
