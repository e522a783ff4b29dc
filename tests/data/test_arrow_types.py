"""Arrow types: every one of them has a plain one, and it is known before there are values."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from dpcurves.data import Axis, Categories, Grid
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import open_records
from dpcurves.records.source import ColumnKind, column_from_arrow_type, plain_array, plain_type

NUMBERS = [
    pa.bool_(), pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(9, 2),
    pa.decimal128(38, 38), pa.decimal256(60, 3), pa.decimal128(5, -2), pa.dictionary(pa.int8(), pa.int64()), pa.bool8(),
    pa.run_end_encoded(pa.int32(), pa.float64()),
]  # fmt: skip
TEXTS = [
    pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(4),
    pa.dictionary(pa.int8(), pa.string()), pa.uuid(), pa.json_(),
]  # fmt: skip
TIMES = [
    pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns", "Europe/Berlin"), pa.time32("s"), pa.time64("ns"),
    pa.duration("us"), pa.month_day_nano_interval(),
]  # fmt: skip
OTHERS = [
    pa.list_(pa.string()), pa.large_list(pa.int8()), pa.list_(pa.int8(), 2), pa.list_view(pa.int8()),
    pa.struct([("a", pa.int32())]), pa.map_(pa.string(), pa.int8()), pa.fixed_shape_tensor(pa.int8(), [2]),
    pa.dense_union([pa.field("a", pa.int8())]), pa.sparse_union([pa.field("a", pa.int8())]),
]  # fmt: skip


KINDS = {ColumnKind.NUMBERS: NUMBERS, ColumnKind.TEXT: TEXTS, ColumnKind.TIMES: TIMES, ColumnKind.OTHER: OTHERS}
DECLARED = [(held, kind) for kind, types in KINDS.items() for held in types]
HELD = [held for held, _ in DECLARED]


@pytest.mark.parametrize(
    ("declared", "kind"), [(held, kind) for kind, types in KINDS.items() for held in types], ids=str
)
def test_a_type_says_what_a_column_holds(declared: pa.DataType, kind: ColumnKind) -> None:
    assert column_from_arrow_type("x", declared).kind is kind


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("declared", [held for held in HELD if not pa.types.is_union(held)], ids=str)
def test_rows_that_are_all_null_are_opened_counted_and_ranked(declared: pa.DataType) -> None:
    if pa.types.is_run_end_encoded(declared):
        nulls = pc.run_end_encode(pa.nulls(3, pa.float64()))
    else:
        nulls = pa.chunked_array([pa.nulls(3, declared)]).combine_chunks()
    assert plain_array(nulls).type == plain_type(declared)
    table = pa.table({"x": nulls, "u": ["a", "a", "b"], "n": [0.5, 0.5, 0.5]})
    for unit, used in ((EACH_RECORD, 3), (Unit("u", 1), 2), (Unit("x", 1), 1)):
        with open_records(table, unit=unit, key=b"k") as records:
            assert records.counts([Axis("n", Grid(0, 1, cells=2))]).tolist() == [0, used, 0]
            kind = column_from_arrow_type("x", declared).kind
            if kind not in {ColumnKind.TIMES, ColumnKind.OTHER}:
                fitting: dict[ColumnKind, tuple[int | str, int | str]] = {
                    ColumnKind.TEXT: (str(UUID(int=2)), str(UUID(int=1))),  # which a column of UUIDs takes, too
                    ColumnKind.NUMBERS: (1, 2),
                }
                assert records.counts([Categories("x", fitting.get(kind, (1, "a")))]).tolist() == [0, 0, used]


def test_nulls_without_a_type_are_missing_numbers_and_missing_text() -> None:
    assert column_from_arrow_type("x", pa.null()).kind is ColumnKind.UNTYPED
    with open_records(pa.table({"x": pa.nulls(2)}), unit=EACH_RECORD, key=b"k") as records:
        assert records.counts([Axis("x", Grid(0, 1, cells=1))]).tolist() == [0, 2]
        assert records.counts([Categories("x", ("a", 0))]).tolist() == [0, 0, 2]


NESTED: list[tuple[list[Any], pa.DataType]] = [
    ([[1, 2], [], None, [1, 2]], pa.list_(pa.int64())),
    ([{"a": "x"}, {"a": None}, None, {"a": "x"}], pa.struct([("a", pa.string())])),
    ([(1, 2, 3), (0, 0, 0), None, (1, 2, 3)], pa.month_day_nano_interval()),
]


@pytest.mark.parametrize(("values", "declared"), NESTED)
def test_nested_values_can_name_units(values: list[Any], declared: pa.DataType) -> None:
    table = pa.table({"u": pa.array(values, declared), "n": np.full(4, 0.5)})
    with open_records(table, unit=Unit("u", 1), key=b"k") as records:
        assert records.units() == 3
        assert records.counts([Axis("n", Grid(0, 1, cells=1))]).tolist() == [3, 0]


def test_a_dictionary_is_read_as_its_values() -> None:
    table = pa.table({"x": pa.array(["b", "a", None, "b"]).dictionary_encode()})
    with open_records(table, unit=EACH_RECORD, key=b"k") as records:
        assert records.counts([Categories("x", ("a", "b"))]).tolist() == [1, 2, 1]
