"""Curves as frames of whatever library is there."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpcurves.display import frame_columns, stack_frames, to_frame

COLUMNS = {"x": np.array([1.0, 2.0]), "count": np.array([3, 4]), "carrier": np.array(["AA", "UA"])}


def without(monkeypatch: pytest.MonkeyPatch, *absent: str) -> None:
    monkeypatch.setattr(
        "dpcurves.display.curve_json.find_spec", lambda name: None if name in absent else find_spec(name)
    )


def test_pandas_comes_first() -> None:
    table = to_frame(COLUMNS)
    assert isinstance(table, pd.DataFrame)
    assert table.to_dict("list") == {"x": [1.0, 2.0], "count": [3, 4], "carrier": ["AA", "UA"]}


def test_without_pandas_polars_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pandas")
    table = to_frame(COLUMNS)
    assert isinstance(table, pl.DataFrame)
    assert table.to_dict(as_series=False) == {"x": [1.0, 2.0], "count": [3, 4], "carrier": ["AA", "UA"]}


def test_without_both_an_arrow_table_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pandas", "polars")
    table = to_frame(COLUMNS)
    assert isinstance(table, pa.Table)
    assert table.to_pydict() == {"x": [1.0, 2.0], "count": [3, 4], "carrier": ["AA", "UA"]}


def test_without_any_library_of_frames_an_arrow_table_is_given_too(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pandas", "polars", "pyarrow")
    table = to_frame(COLUMNS)
    both = stack_frames([table, table], [("by", ["a", "b"])])
    wanted = {name: column.tolist() for name, column in COLUMNS.items()}
    assert type(table).__module__.startswith("arro3")
    assert pa.table(table).to_pydict() == wanted
    assert {name: column.tolist() for name, column in frame_columns(table).items()} == wanted
    assert pa.table(both).to_pydict() == {
        "by": ["a"] * 2 + ["b"] * 2,
        **{name: 2 * each for name, each in wanted.items()},
    }


def test_the_frame_is_a_copy() -> None:
    x = np.array([1.0, 2.0])
    table = to_frame({"x": x})
    table.loc[0, "x"] = 9.0
    assert x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("columns", [{"x": [1.0], "y": [1.0, 2.0]}, {"x": [[1.0]]}, {"x": 1.0}])
def test_columns_of_different_lengths_are_refused(columns: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"^columns: all columns must be arrays of one length"):
        to_frame(columns)  # type: ignore[arg-type]
