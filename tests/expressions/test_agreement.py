"""NumPy and DuckDB give the same value of every expression, to the last bit."""

from __future__ import annotations

from random import Random
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_expressions import make_node, make_table

from dpcurves.expressions import (
    Checked,
    Node,
    ValueType,
    build_duckdb_sql,
    check_expression,
    evaluate_expression,
    format_expression,
    parse_expression,
)

TABLE = make_table()
SCHEMA = {
    name: {"f": ValueType.NUMBER, "O": ValueType.TEXT, "b": ValueType.TRUTH}.get(
        values.dtype.kind, ValueType.DATE if values.dtype == "datetime64[D]" else ValueType.MOMENT
    )
    for name, values in TABLE.items()
}
KINDS = (ValueType.NUMBER, ValueType.TRUTH, ValueType.TEXT, ValueType.DATE)


def open_table() -> duckdb.DuckDBPyConnection:
    """The rows in DuckDB, in order: numbers, days and microseconds as integers, texts as bytes."""
    connection = duckdb.connect(config={"threads": 1})
    arrays: dict[str, Any] = {"row_number": pa.array(np.arange(len(TABLE["x"])))}
    for name, values in TABLE.items():
        if values.dtype.kind == "M":
            integers = [None if np.isnat(value) else int(value.astype(np.int64)) for value in values]
            arrays[name] = pa.array(integers, type=pa.int64())
        else:
            arrays[name] = pa.array([value.encode() if isinstance(value, str) else value for value in values])
    connection.register("arrow_rows", pa.table(arrays))
    connection.execute("CREATE TABLE held AS SELECT * FROM arrow_rows")
    return connection


def read_column(name: str, kind: ValueType) -> str:
    """SQL of a value; NaN is missing."""
    quoted = f'"{name}"'
    templates = {
        ValueType.NUMBER: "CASE WHEN NOT isnan({0}) THEN {0} END",
        ValueType.TEXT: "decode({0})",
        ValueType.DATE: "CAST({0} AS DOUBLE)",
    }
    return templates.get(kind, "{0}").format(quoted)


def compare(connection: duckdb.DuckDBPyConnection, nodes: list[tuple[ValueType, Node]]) -> None:
    checked = [(f"e{index}", check_expression(node, SCHEMA, kind)) for index, (kind, node) in enumerate(nodes)]
    rows = build_duckdb_sql("held", checked, read_column)
    selected = ", ".join(name for name, _ in checked)
    columns = zip(*connection.execute(f"SELECT {selected} FROM {rows} ORDER BY row_number").fetchall(), strict=True)
    for (kind, node), from_duckdb in zip(nodes, columns, strict=True):
        from_numpy = evaluate_expression(node, TABLE, kind)
        if kind is ValueType.TEXT:
            assert list(from_numpy) == list(from_duckdb), format_expression(node)
            continue
        doubles = np.array([np.nan if value is None else float(value) for value in from_duckdb])
        # 0.0 is added because no function can tell the zeros of both signs apart.
        equal = (doubles + 0.0).view(np.int64) == (np.asarray(from_numpy, dtype=np.float64) + 0.0).view(np.int64)
        assert (equal | (np.isnan(doubles) & np.isnan(from_numpy))).all(), format_expression(node)


def test_calendar_functions_inside_each_other_take_few_layers() -> None:
    """Spark plans a hundred layers at most, and a part that is used twice must not double what is inside it."""
    text = "date_trunc('year', date_trunc('quarter', date_trunc('year', x_day)))"
    checked = check_expression(parse_expression(text), SCHEMA)
    assert build_duckdb_sql("held", [("e", checked)], read_column).count("SELECT") < 50
    part, lengths = Checked("column", ValueType.TRUTH, value="x_flag"), []
    for _ in range(20):
        both = Checked("and", ValueType.TRUTH, (part, part))
        part = Checked("or", ValueType.TRUTH, (both, Checked("not", ValueType.TRUTH, (part,))))
        lengths.append(len(build_duckdb_sql("held", [("e", part)], read_column)))
    assert np.diff(lengths).max() < 500


def draw_nodes(seed: int, number: int) -> list[tuple[ValueType, Node]]:
    random = Random(seed)
    return [(kind, make_node(random, kind, random.randint(1, 4))) for kind in random.choices(KINDS, k=number)]


@pytest.mark.parametrize("seeds", [range(0, 40, 4), pytest.param(range(40), marks=pytest.mark.reproduction)], ids=len)
def test_random_expressions_agree(seeds: range) -> None:
    """DuckDB and NumPy give equal doubles, texts and dates on rows with hostile values."""
    connection = open_table()
    for seed in seeds:
        compare(connection, draw_nodes(seed, 25))


@pytest.mark.reproduction
def test_a_hundred_thousand_random_expressions_agree() -> None:
    connection = open_table()
    for seed in range(10_000):
        compare(connection, draw_nodes(10**6 + seed, 10))


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 2**32), st.sampled_from(KINDS))
def test_the_text_of_an_expression_is_parsed_back_into_the_same_tree(seed: int, kind: ValueType) -> None:
    random = Random(seed)
    node = make_node(random, kind, random.randint(1, 4))
    text = format_expression(node)
    assert format_expression(parse_expression(text)) == text
    assert parse_expression(text) == node
