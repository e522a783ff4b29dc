"""CSV lines: each line is one record, whatever it contains, and affects no other line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpcurves.data import Axis, Categories, CsvFile, Grid
from dpcurves.data.axis import TypedAxis
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import open_records
from dpcurves.records import table_sources as csv_lines
from dpcurves.records.table_sources import CsvSource, source_of_csv

KEY = b"key"
PARTS = [
    b'"', b'""', b'"1"', b'"a,b"', b",", b",,", b"\n", b"\r\n", b"\r", b"\0", b"\xff\xfe", b"1", b"0.5", b"nan", b"inf",
    b"-1e999", b"a", "é".encode(), b" ", b"\xef\xbb\xbf", b"\x1a", b"\\", b"'", b";", b"\n\n", b"x" * 30,
]  # fmt: skip
bodies = st.one_of(st.binary(max_size=200), st.lists(st.sampled_from(PARTS), max_size=60).map(b"".join))
files = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def lines_of(body: bytes) -> list[bytes]:
    lines = body.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def fields_of(line: bytes, fields: int, longest: int) -> list[bytes | None]:
    """The words of the module, one after the other."""
    if len(line) + 1 > longest or line.count(b'"') % 2:
        return [None] * fields
    found, quoted = [b""], False
    for byte in line.removesuffix(b"\r"):
        quoted ^= byte == ord('"')
        if byte == ord(",") and not quoted:
            found.append(b"")
        else:
            found[-1] += bytes([byte])
    if len(found) != fields:
        return [None] * fields
    bare = [field[1:-1] if len(field) > 1 and field[:1] == field[-1:] == b'"' else field for field in found]
    return [field.replace(b'""', b'"') or None for field in bare]


def written(folder: Path, body: bytes, header: bytes = b"x,y\n") -> Path:
    path = folder / "records.csv"
    path.write_bytes(header + body)
    return path


def read(source: CsvSource) -> tuple[list[list[bytes | None]], list[bytes | None]]:
    rows: list[list[bytes | None]] = []
    whole: list[bytes | None] = []
    for lines in source._read_blocks():
        columns = [lines.field(place).to_pylist() for place in range(len(source.columns))]
        rows += [list(row) for row in zip(*columns, strict=True)]
        whole += lines.texts().to_pylist()
    return rows, whole


@files
@given(body=bodies, block=st.sampled_from([1, 2, 7, 50, 2**21]), longest=st.sampled_from([1, 5, 20, 2**20]))
def test_fields_are_those_of_the_definition_however_the_file_is_cut(
    body: bytes, block: int, longest: int, tmp_path: Path
) -> None:
    source = source_of_csv(CsvFile(written(tmp_path, body)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_lines, "BYTES_PER_READ", block)
        patch.setattr("dpcurves.records.source.LONGEST_TEXT", longest)
        patch.setattr(csv_lines, "read_header", lambda file: file.readline())
        rows, whole = read(source)
    assert rows == [fields_of(line, 2, longest) for line in lines_of(body)]
    assert whole == [line + b"\n" if len(line) < longest else None for line in lines_of(body)]


@settings(files, max_examples=20)
@given(body=bodies)
def test_no_line_makes_counting_fail_and_every_line_is_counted_once(body: bytes, tmp_path: Path) -> None:
    axes = (Categories("y", ("a", 1)), Axis("x", Grid(0, 1, cells=2)))
    path, total = written(tmp_path, body), len(lines_of(body))
    with open_records(path, unit=EACH_RECORD, key=KEY) as records:
        assert records.counts(axes).sum() == records.units() == total
        assert records.sums(axes, half=3)[-1] == 0
    with open_records(path, unit=Unit("y", 1), key=KEY) as records:
        assert records.counts(axes).sum() == records.units() <= total


@settings(files, max_examples=100)
@given(body=bodies, line=bodies.map(lambda text: text.replace(b"\n", b"")), at=st.integers(0, 9))
def test_one_line_more_is_one_record_more_and_no_other_changes(
    body: bytes, line: bytes, at: int, tmp_path: Path
) -> None:
    lines = lines_of(body)
    more = [*lines[:at], line, *lines[at:]]
    rows, _ = read(source_of_csv(CsvFile(written(tmp_path, b"".join(each + b"\n" for each in lines)))))
    longer, _ = read(source_of_csv(CsvFile(written(tmp_path, b"".join(each + b"\n" for each in more)))))
    place = min(at, len(lines))
    assert longer[:place] + longer[place + 1 :] == rows


def test_a_line_longer_than_any_block_is_one_missing_record(tmp_path: Path) -> None:
    body = b"1,a\n" + b"2," + b"z" * (3 * csv_lines.BYTES_PER_READ) + b"\n3,c\n" + b'"' * (2**20 + 6) + b"\n4,d"
    with open_records(written(tmp_path, body), unit=EACH_RECORD, key=KEY) as records:
        assert records.counts([Axis("x", Grid(0, 5, cells=5))]).tolist() == [0, 1, 0, 1, 1, 2]


def test_a_header_may_have_a_mark_quotes_and_another_delimiter(tmp_path: Path) -> None:
    path = written(tmp_path, b'1;"2;0"\r\n', header=b'\xef\xbb\xbf"x";"the ""y"""\r\n')
    source = source_of_csv(CsvFile(path, ";"))
    assert [column.name for column in source.columns] == ["x", 'the "y"']
    assert read(source)[0] == [[b"1", b"2;0"]]


def test_one_column_needs_no_delimiter(tmp_path: Path) -> None:
    path = written(tmp_path, b"1\n\n2\r\n\r\n3", header=b"x\n")
    assert read(source_of_csv(CsvFile(path)))[0] == [[b"1"], [None], [b"2"], [None], [b"3"]]


@pytest.mark.parametrize("header", [b"\n", b"x\0,\0y\0\n", b'"x,y\n', b"x" * 2**20 + b",y\n"])
def test_a_first_line_that_names_no_columns_is_refused(header: bytes, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^data: the first line of 'records.csv' must be a header") as caught:
        open_records(written(tmp_path, b"1,2\n", header=header), unit=EACH_RECORD, key=KEY)
    assert caught.value.__context__ is None


NUMERALS = "0123456789.eE+-_ infaINFATYnay:TZ/()'\\\t\u00e9"


@settings(max_examples=15, deadline=None)
@given(st.lists(st.text(NUMERALS, max_size=30), min_size=1, max_size=300))
def test_text_is_read_as_a_number_or_missing_and_never_fails(texts: list[str]) -> None:
    grid = Grid.from_edges([-1e300, -1, 0, 1, 1e300])
    with open_records({"x": texts}, unit=EACH_RECORD, key=KEY) as records:
        assert records.counts([Axis("x", grid)]).sum() == len(texts)


def test_numbers_are_read_as_the_nearest_double() -> None:
    generator = np.random.default_rng(5)
    values = generator.integers(0, 2**64, 2000, dtype=np.uint64).view(np.float64)
    values = values[np.isfinite(values)]
    edges = np.unique(np.concatenate([values, np.nextafter(values, np.inf)]))
    grid = Grid.from_edges(edges[np.abs(edges) < 8e307])
    for texts in ([repr(value) for value in values.tolist()], [f" {value:.30e} " for value in values.tolist()]):
        with open_records({"x": texts}, unit=EACH_RECORD, key=KEY) as records:
            want = np.bincount(grid.cell_of(values), minlength=grid.slots + 1)
            assert np.array_equal(records.counts([Axis("x", grid)]), want)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e400", np.inf), ("-1e400", -np.inf), ("1e-400", 0.0), ("+5", 5), (".5", 0.5), ("5.", 5), ("TRUE", 1),
        ("false", 0), ("1970-01-01", np.nan), ("1970-01-01T00:00:07Z", np.nan), ("00:00:07", np.nan),
        ("1,5", np.nan), ("", np.nan), ("NA", np.nan), ("0x10", np.nan), ("1 2", np.nan), ("infinity-", np.nan),
    ],
)  # fmt: skip
def test_what_text_is_read_as(text: str, value: float) -> None:
    grid = Grid.from_edges([-1, 0, 5e-324, 0.5, 0.7, 1, 1.1, 5, 5.1, 7, 7.1, 9])
    with open_records({"x": [text]}, unit=EACH_RECORD, key=KEY) as records:
        assert records.counts([Axis("x", grid)]).argmax() == grid.cell_of(np.array([value]))[0]


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("2021-12-01", 0), ("2021-12-01T01:00Z", 1), ("2021-12-01 01:00:00+00:00", 1), ("2021-12-01T01:00+05", -4),
        ("2021-12-01 01:00:00.5-0330", 4.5 + 0.5 / 3600), ("2021-12-01 01:00:00-00:30", 1.5),
        ("2021-12-01 01:00:00+24:00", np.nan), ("2021-12-01+01:00", np.nan), ("01:00:00+01:00", np.nan),
    ],
)  # fmt: skip
def test_days_of_moments_that_name_a_zone_are_of_universal_time(text: str, hours: float) -> None:
    """Data frames write moments so; they had been missing."""
    grid = Grid.from_edges([18962 + place / 48 - 1e-6 for place in range(-20, 20)])
    with open_records(CsvFile(f"x\n{text}\n".encode()), unit=EACH_RECORD, key=KEY) as records:
        found = records.counts([TypedAxis("x", grid)]).argmax()
    assert found == grid.cell_of(np.array([18962 + hours / 24]))[0]
