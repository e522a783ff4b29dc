"""Opening: refusals by the schema alone, in one line, and nothing of a record in any of them."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from every_source import EVERY_SOURCE

from dpcurves.data import Axis, Categories, Grid
from dpcurves.expressions.checked import NO_HEADER
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import Records, open_records

KEY = b"key of the data set"
SECRET = "Rosalind Franklin 61.75"
GRID = Grid(0, 1, cells=2)


def opened(data: Any, **more: Any) -> Records:
    return open_records(data, unit=more.pop("unit", EACH_RECORD), key=KEY, **more)


def refusal(action: Callable[[], object], kind: type[Exception] = ValueError) -> str:
    """Return the error message, after checking that no other exception is chained."""
    with pytest.raises(kind) as caught:
        action()
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    assert SECRET not in "".join(traceback.format_exception(error))
    assert KEY.decode() not in str(error)
    assert "\n" not in str(error)
    return str(error)


def file(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("source", sorted(EVERY_SOURCE))
def test_a_column_that_is_not_there_is_refused_with_those_that_are(source: str, tmp_path: Path) -> None:
    columns = {"name": pa.array([SECRET]), "x": pa.array([0.5])}
    data = EVERY_SOURCE[source](columns, tmp_path)
    assert refusal(lambda: opened(data, columns=["x", "y"])) == "column: 'y' is not in the data, which has 'name', 'x'"
    data = EVERY_SOURCE[source](columns, tmp_path)
    said = refusal(lambda: opened(data, unit=Unit("person", 1)))
    assert said == "unit: 'person' is not in the data, which has 'name', 'x'"
    with opened(EVERY_SOURCE[source](columns, tmp_path), columns=["x", "name"]) as records:
        said = refusal(lambda: records.check([Axis("y", GRID)]))
        assert said == "column: 'y' is not in the data, which has 'name', 'x'"


@pytest.mark.parametrize("first", ["secret,52", "2024-01-31", "-0.5,61"])
def test_a_file_without_a_header_shows_no_record(first: str, tmp_path: Path) -> None:
    path = file(tmp_path, "bare.csv", f"{first}\n{first}\n".encode())
    said = refusal(lambda: opened(str(path), columns=["age"]))
    assert said == f"column: 'age' is not a column; {NO_HEADER}"
    with opened(str(path)) as records, pytest.raises(ValueError, match=f"'age' is not a column; {NO_HEADER}$"):
        records.check([Axis("age / 2", GRID)])


AS_OBJECTS = {"arrays"}


@pytest.mark.parametrize("source", sorted(set(EVERY_SOURCE) - {"csv", "lists"}))
def test_a_text_column_is_refused_as_a_number_by_its_type(source: str, tmp_path: Path) -> None:
    for values in ([SECRET], ["1.5"], []):
        data = EVERY_SOURCE[source](
            {"carrier": pa.array(values, pa.string()), "x": pa.array([0.5] * len(values))}, tmp_path
        )
        with opened(data) as records:
            for action in (records.check, records.counts, lambda axes: records.sums(axes, 1)):
                said = refusal(lambda action=action: action([Axis("carrier", GRID)]))  # type: ignore[misc]
                held = "objects of any type" if source in AS_OBJECTS else "text"
                assert said.startswith(f"column: 'carrier' holds {held}, a number is needed; name a column of numbers")
            records.check([Categories("carrier", ("AA",))])


@pytest.mark.parametrize("source", ["csv", "lists"])
def test_text_without_a_type_is_missing_where_it_is_no_number(source: str, tmp_path: Path) -> None:
    with opened(EVERY_SOURCE[source]({"x": pa.array([SECRET, "0.7"])}, tmp_path)) as records:
        assert records.counts([Axis("x", GRID)]).tolist() == [0, 1, 1]


def test_columns_that_are_neither_numbers_nor_text_are_refused() -> None:
    table = pa.table({"x": pa.array([[1], [2]]), "t": pa.array([1, 2], pa.duration("s"))})
    with opened(table) as records:
        for name in ("x", "t"):
            assert ", a number is needed" in refusal(
                lambda name=name: records.check([Axis(name, GRID)])  # type: ignore[misc]
            )
            assert "a number or text is needed" in refusal(
                lambda name=name: records.check([Categories(name, (1,))])  # type: ignore[misc]
            )


def test_a_name_that_stands_twice_is_refused_only_where_it_is_asked_for(tmp_path: Path) -> None:
    path = file(tmp_path, "x.csv", b"x,y,x\n0.1,0.2,0.3\n")
    with opened(path) as records:
        assert refusal(lambda: records.check([Axis("x", GRID)])).startswith("column: 'x' occurs 2 times")
        assert records.counts([Axis("y", GRID)]).tolist() == [1, 0, 0]


def test_many_columns_are_not_all_listed() -> None:
    said = refusal(lambda: opened({f"c{number}": np.zeros(1) for number in range(100)}, columns=["x"]))
    assert said.endswith("'c38', 'c39', 60 more")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", None, "data: there is no file 'a.csv'; check the path"),
        ("a.csv", b"", "data: the file 'a.csv' is empty; give a file with a header and records"),
        ("a.parquet", b"", "data: the file 'a.parquet' is empty; give a file with a header and records"),
        (
            "a.parquet",
            SECRET.encode(),
            "data: 'a.parquet' does not begin as a Parquet file does; if it is a CSV file, let its name end in .csv",
        ),
        (
            "a.parquet",
            b"PAR1" + SECRET.encode() + b"PAR1",
            "data: 'a.parquet' cannot be read as a Parquet file; write it again",
        ),
        (
            "a.xlsx",
            SECRET.encode(),
            "data: the name of a file must end in .csv, .tsv, .txt, these with .gz or .zst, or .parquet, got 'a.xlsx'",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(name: str, content: bytes | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / name if content is None else file(tmp_path, name, content)
    assert refusal(lambda: opened(path)) == said
    assert refusal(lambda: opened(str(path))) == said


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").mkdir()
    assert (
        refusal(lambda: opened(tmp_path / "x.csv"))
        == "data: 'x.csv' is a folder without Parquet files; give the path of a CSV or Parquet file"
    )


@pytest.mark.parametrize("path", ["\0.csv", "x" * 5000 + ".csv"])
def test_a_name_that_cannot_be_a_file_is_not_there(path: str) -> None:
    assert refusal(lambda: opened(path)).startswith("data: there is no file")


@pytest.mark.parametrize("delimiter", ["", "||", "\n", "\r", '"', "é"])
def test_a_delimiter_is_one_plain_character(delimiter: str, tmp_path: Path) -> None:
    path = file(tmp_path, "x.csv", b"x\n")
    assert refusal(lambda: opened(path, delimiter=delimiter)).startswith("delimiter: a single ASCII character")


@pytest.mark.parametrize("data", [None, 3, object(), np.zeros(3), [0.1, 0.2], pl.Series([1.0]), pd.Series([1.0])])
def test_what_is_no_table_is_refused(data: object) -> None:
    assert refusal(lambda: opened(data), TypeError).startswith("data: a path to a .csv, .tsv, .txt or .parquet file")


@pytest.mark.parametrize("values", ["text", 3, {1: 2}, None])
def test_a_column_that_is_no_array_is_refused(values: object) -> None:
    assert refusal(lambda: opened({"x": values}), TypeError).startswith("data: column 'x' is of type ")


def test_a_mapping_has_columns_of_one_length_and_one_axis() -> None:
    said = refusal(lambda: opened({"x": [1, 2, 3], "y": np.zeros(41)}))
    assert said == "data: all columns must have the same number of values; check the lengths of the arrays"
    assert (
        refusal(lambda: opened({"x": np.zeros((2, 2))}))
        == "data: column 'x' must have one axis, not 2; give one value for each record"
    )
    assert refusal(lambda: opened({})) == "data: the data have no columns; give a table with at least one"


def test_a_frame_with_a_name_twice_is_refused() -> None:
    frame = pd.DataFrame([[SECRET, 1]], columns=["x", "x"])
    assert refusal(lambda: opened(frame)).startswith("data: the frame cannot be read")


def test_names_that_are_no_text_are_written_as_text() -> None:
    with opened(pd.DataFrame({0: [0.1], 1: [0.9]})) as records:
        assert records.counts([Axis("1", GRID)]).tolist() == [0, 1, 0]


def test_names_may_hold_anything_and_differ_in_case_alone(tmp_path: Path) -> None:
    names = ['a "b"', "A", "a", "x'; --", " ", "filename", "c1", "scanned"]
    columns = {name: pa.array([number / 10]) for number, name in enumerate(names)}
    for source in sorted(set(EVERY_SOURCE) - {"relation"}):
        with opened(EVERY_SOURCE[source](columns, tmp_path)) as records:
            for number, name in enumerate(names):
                found = records.counts([Axis(name, Grid(-0.05, 0.95, cells=10))])
                assert found.argmax() == number, (source, name)


def test_relations_and_parquet_files_may_have_any_one_name(tmp_path: Path) -> None:
    for name in ['a "b"', "x'; --", " ", "filename", "file_row_number", "rowid", "c1", "select", "é.y"]:
        for source in ("relation", "parquet"):
            with opened(EVERY_SOURCE[source]({name: pa.array([0.9])}, tmp_path)) as records:
                assert records.counts([Axis(name, GRID)]).tolist() == [0, 1, 0], (source, name)


def test_paths_are_taken_by_the_letter(tmp_path: Path) -> None:
    folder = tmp_path / "key=value" / "[a-b] *?'é{}"
    folder.mkdir(parents=True)
    other = tmp_path / "key=value" / "a xx'é{}"
    other.mkdir()
    for number, place in enumerate((folder, other)):
        EVERY_SOURCE["parquet"]({"x": pa.array([0.1 + number / 2])}, place)
        EVERY_SOURCE["csv"]({"x": pa.array([0.1 + number / 2])}, place)
    for name in ("records.parquet", "records.csv"):
        with opened(folder / name) as records:
            assert records.counts([Axis("x", GRID)]).tolist() == [1, 0, 0]
            assert "key" in refusal(lambda: records.check([Axis("key", GRID)]))


def test_a_relation_that_fails_says_nothing_of_its_records() -> None:
    with duckdb.connect() as connection:
        relation = connection.sql(f"SELECT CAST(v AS DOUBLE) AS x FROM (VALUES ('{SECRET}')) AS t(v)")
        with opened(relation) as records:
            assert refusal(lambda: records.counts([Axis("x", GRID)])).startswith("data: the records could not be read")
            assert refusal(lambda: records.sums([Axis("x", GRID)], 1)).startswith("data:")


def test_a_parquet_file_that_breaks_later_says_nothing_of_its_records(tmp_path: Path) -> None:
    path = Path(EVERY_SOURCE["parquet"]({"x": pa.array([0.5] * 3000), "s": pa.array([SECRET] * 3000)}, tmp_path))
    content = bytearray(path.read_bytes())
    footer = 8 + int.from_bytes(content[-8:-4], "little")
    content[4:-footer] = b"\xff" * (len(content) - footer - 4)
    path.write_bytes(bytes(content))
    with opened(path) as records:
        for axis in (Axis("x", GRID), Categories("s", ("a",))):
            said = refusal(lambda: records.counts([axis]))  # noqa: B023
            assert said.startswith("data: the records could not be read")


def test_bytes_that_are_no_text_are_counted_in_every_source(tmp_path: Path) -> None:
    broken = pa.array([SECRET.encode(), b"\xff\xfe", b"AA\0", b"AA"]).view(pa.string())
    axes = [Categories("s", ("AA", "\\xFF"))]
    for source in ("arrow", "parquet", "capsule", "reader", "batch", "arrow_arrays"):
        with opened(EVERY_SOURCE[source]({"s": broken, "n": pa.array(range(4))}, tmp_path)) as records:
            assert records.counts(axes).tolist() == [1, 0, 3], source
        data = EVERY_SOURCE[source]({"s": broken, "n": pa.array(range(4))}, tmp_path)
        with opened(data, unit=Unit("s", 1)) as records:
            assert (records.units(), records.counts(axes).sum()) == (4, 4), source


def test_records_show_nothing() -> None:
    records = opened({"x": [SECRET]})
    assert repr(records) == str(records) == "Records(hidden)"
    assert SECRET not in "".join(repr(getattr(records, slot)) for slot in Records.__slots__)
    records.close()
    records.close()
    assert refusal(lambda: records.counts([Axis("x", GRID)])).startswith("data: the records could not be read")


def test_axes_that_make_no_table_are_refused() -> None:
    with opened({"x": np.zeros(1), "s": np.array(["a"])}) as records:
        assert refusal(lambda: records.counts([])).startswith("axes: at least one column is needed")
        assert refusal(lambda: records.sums([Axis("x", GRID)], half=0)).startswith("half: a whole number from 1")
        assert (
            refusal(lambda: records.sums([Categories("s", ("a",))], half=1))
            == "column: 's' is summed, so it must be declared on a grid, as in Axis(column, Grid(...))"
        )


def test_objects_are_read_as_text_whatever_they_are() -> None:
    class Rude:
        def __str__(self) -> str:
            raise RuntimeError(SECRET)

    for values in ([Rude(), 1, "a", None, float("nan"), 2**80, b"\xff", 10**5000], [0.5] * 8):
        column = np.empty(len(values), dtype=object)
        column[:] = values
        for data in (
            {"x": column},
            pd.DataFrame({"x": column}),
            {"x": pd.Series(column)},
            {"x": pl.Series(column, dtype=pl.Object)},
        ):
            with opened(data) as records:
                assert refusal(lambda: records.check([Axis("x", GRID)])).startswith("column: 'x' holds objects")
                assert records.counts([Categories("x", ("a", 1, 0.5))]).sum() == len(values)
        with opened({"x": values}) as records:
            assert records.counts([Axis("x", GRID)]).sum() == len(values)
