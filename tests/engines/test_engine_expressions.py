"""Filters and derived columns where a table lies: values of NumPy to the last bit, and counts of DuckDB here."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pytest

import dpcurves as dp
from dpcurves.data import Categories, Grid
from dpcurves.data.axis import Axis
from dpcurves.expressions import (
    Call,
    ColumnName,
    Literal,
    Node,
    ValueType,
    check_expression,
    evaluate_expression,
    format_expression,
    parse_expression,
)
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import open_records
from dpcurves_engines.postgres_expressions import DerivingTable, build_postgres_sql
from dpcurves_engines.postgres_link import SnapshotConnection
from dpcurves_engines.postgres_sql import find_table
from dpcurves_engines.spark_expressions import SparkDerivedColumns, add_expressions
from dpcurves_engines.spark_sql import format_type, make_column

sys.path.insert(0, str(Path(__file__).parents[1] / "expressions"))
from random_expressions import make_node, make_table

NUMBER, TEXT, TRUTH, DATE = ValueType.NUMBER, ValueType.TEXT, ValueType.TRUTH, ValueType.DATE
EDGES = [
    sign * value for sign in (1, -1) for value in (
        0.0, 1.0, 5e-324, 2.0**-1022, 2.0**-600, 2.0**-538, 2.0**-537, 2.0**-500, 1e-5, 0.5, 1 - 2.0**-53, 3.0, 1e160,
        2.0**512, 2.0**900, 2.0**969, 2.0**970, 2.0**1022, 2.0**1023, sys.float_info.max, np.inf,
    )
]  # fmt: skip
"""Doubles whose sums, products and quotients lie at the bounds of overflow and of rounding to 0."""
PG_TYPES = {"f": "float8", "O": "text", "b": "boolean", "D": "date", "us": "timestamp"}


@pytest.fixture(scope="module")
def connection(postgres_url: str) -> Iterator[Any]:
    """The owner of the tables."""
    with psycopg.connect(postgres_url, autocommit=True) as opened:
        yield opened


def create_table(connection: Any, name: str, table: dict[str, Any]) -> dict[str, Any]:
    """Store rows in PostgreSQL in order; return them without the dates that PostgreSQL lacks."""
    stored = dict(table)
    for column, values in table.items():
        if values.dtype.kind == "M":
            lowest, highest = ("-4000-01-01", "200000-01-01")
            outside = (values < np.datetime64(lowest).astype(values.dtype)) | (
                values > np.datetime64(highest).astype(values.dtype)
            )
            stored[column] = np.where(outside, np.datetime64("NaT").astype(values.dtype), values)
    kinds = {
        column: PG_TYPES[np.datetime_data(values.dtype)[0] if values.dtype.kind == "M" else values.dtype.kind]
        for column, values in stored.items()
    }
    columns = ", ".join(f'"{column}" {kind}' for column, kind in kinds.items())
    connection.execute(f"CREATE TABLE {name} (place int8, {columns})")
    slots = ", ".join(
        "DATE '1970-01-01' + %s::int" if kind == "date"
        else "TIMESTAMP '1970-01-01' + %s::int8 * INTERVAL '1 microsecond'" if kind == "timestamp" else f"%s::{kind}"
        for kind in kinds.values()
    )  # fmt: skip
    with connection.cursor() as cursor:
        rows = [(index, *(_plain(values[index]) for values in stored.values())) for index in range(len(stored["x"]))]
        cursor.executemany(f"INSERT INTO {name} VALUES (%s, {slots})", rows)
    return stored


def _plain(value: Any) -> Any:
    """Return a value for the driver; None: missing."""
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else int(value.astype(np.int64))
    return value.item() if hasattr(value, "item") else value


def compare(url: str, name: str, table: dict[str, Any], nodes: list[tuple[ValueType, Node]]) -> None:
    """Require equal values of expressions, bit by bit, where the table lies and in NumPy."""
    link = SnapshotConnection(url)
    try:
        deriving = DerivingTable.from_table(find_table(link, name))
        kinds = {"f": NUMBER, "O": TEXT, "b": TRUTH}
        schema = {
            column: kinds.get(values.dtype.kind, DATE if values.dtype == "datetime64[D]" else ValueType.MOMENT)
            for column, values in table.items()
        }
        checked = [(f"e{index}", check_expression(node, schema, kind)) for index, (kind, node) in enumerate(nodes)]
        rows = build_postgres_sql(deriving.scan_sql(range(len(table) + 1)), checked, deriving.derived.read_column)
        selected = ", ".join(column for column, _ in checked)
        fetched = link.fetch_rows(f"SELECT {selected} FROM {rows} ORDER BY c0")
    finally:
        link.close()
    compare_values(table, nodes, zip(*fetched, strict=True))


def compare_values(table: dict[str, Any], nodes: list[tuple[ValueType, Node]], columns: Iterable[Any]) -> None:
    """Require equal values of expressions, bit by bit, in columns of a server and in NumPy."""
    for (kind, node), from_server in zip(nodes, columns, strict=True):
        from_numpy = evaluate_expression(node, table, kind)
        if kind is TEXT:
            assert list(from_numpy) == list(from_server), format_expression(node)
            continue
        doubles = np.array([np.nan if value is None else float(value) for value in from_server])
        equal = (doubles + 0.0).view(np.int64) == (np.asarray(from_numpy, dtype=np.float64) + 0.0).view(np.int64)
        different = ~(equal | (np.isnan(doubles) & np.isnan(from_numpy)))
        assert not different.any(), (format_expression(node), doubles[different][:3], from_numpy[different][:3])


def test_random_expressions_agree_on_postgres(connection: Any, postgres_url: str) -> None:
    table = create_table(connection, "random_rows", make_table())
    kinds = (NUMBER, TRUTH, TEXT, DATE)
    for seed in range(4):
        random = Random(seed)
        nodes = [(kind, make_node(random, kind, random.randint(1, 4))) for kind in random.choices(kinds, k=10)]
        compare(postgres_url, "random_rows", table, nodes)


SPARK_EXPRESSIONS = (
    (NUMBER, "CAST(w AS DOUBLE)"), (DATE, "CAST(w AS DATE)"), (NUMBER, "round(x)"), (NUMBER, "floor(x) + ceil(y)"),
    (NUMBER, "x / y"), (NUMBER, "x * y"), (NUMBER, "least(x)"), (TRUTH, "starts_with(w, '5')"),
    (NUMBER, "date_diff('second', t, d)"), (NUMBER, "year(t)"), (DATE, "date_trunc('quarter', d)"),
    (NUMBER, "CASE WHEN year(d) = 2024 AND month(d) < 3 THEN x ELSE -sqrt(y) END"), (TEXT, "upper(substr(w, 2))"),
)  # fmt: skip


def test_expressions_agree_on_spark(sail: Any) -> None:
    """Values at the bounds of doubles, of integers of 64 bits and of dates, and texts that end with a new line."""
    numbers = np.array([*EDGES, 2.5, -0.5, 0.49999999999999994, 2.0**52 + 0.5, 2.0**63, -(2.0**63), np.nan])
    rows, generator = 150, np.random.default_rng(5)
    words = np.array(
        ["5", "5\n", "1e400", "2024-02-29", "2024-02-29\n", "2024-02-30", "0000-01-01", None], dtype=object
    )
    days = np.array([0, 19_782, -719_162, 2_932_896, 100_000_000, -100_000_000]).astype("datetime64[D]")
    moments = np.array([0, -1, 86_400_000_000, -(2**62), 2**62]).astype("datetime64[us]")
    table = {
        name: values[generator.integers(0, len(values), rows)]
        for name, values in (("x", numbers), ("y", numbers), ("w", words), ("d", days), ("t", moments))
    }
    types = {"w": pa.string(), "d": pa.date32(), "t": pa.timestamp("us", "UTC")}
    arrays = {name: pa.array(values, types.get(name), from_pandas=False) for name, values in table.items()}
    frame = sail.createDataFrame(pa.table({"row": np.arange(rows), **arrays}))
    fields = frame.schema.fields
    derived = SparkDerivedColumns([make_column(field.name, format_type(field)) for field in fields])
    schema = {"x": NUMBER, "y": NUMBER, "w": TEXT, "d": DATE, "t": ValueType.MOMENT}
    nodes = [(kind, parse_expression(text)) for kind, text in SPARK_EXPRESSIONS]
    expressions = [(f"e{i}", check_expression(node, schema, kind)) for i, (kind, node) in enumerate(nodes)]
    scan = frame.selectExpr(*(f"`{field.name}` AS c{i}" for i, field in enumerate(fields)))
    evaluated = add_expressions(scan, expressions, derived.read_column).toArrow().sort_by("c0")
    compare_values(table, nodes, [evaluated.column(name).to_pylist() for name, _ in expressions])


def test_no_double_overflows_or_rounds_to_zero_with_an_error(connection: Any, postgres_url: str) -> None:
    left, right = (grid.ravel() for grid in np.meshgrid(EDGES, EDGES))
    words = np.array(["1e400", "-1e308", "1.8e308", "1e-323", "2e-324", "-1e-999", "0e999", "1e 5", ""], dtype=object)
    table = {"x": left, "y": right, "w": words[np.arange(len(left)) % len(words)]}
    create_table(connection, "edge_rows", table)
    x, y = ColumnName("x"), ColumnName("y")
    nodes: list[tuple[ValueType, Node]] = [(NUMBER, Call(name, (x, y))) for name in ("add", "sub", "mul", "div")]
    nodes += [(NUMBER, Call(name, (x,))) for name in ("neg", "abs", "floor", "ceil", "round", "sqrt")]
    nodes += [(NUMBER, parse_expression("CAST(w AS DOUBLE)"))]
    for text in ("x + 1e308 * 10", "1 / (x - x)"):
        nodes.append((NUMBER, parse_expression(text)))
    nodes.append((TRUTH, parse_expression("CASE WHEN x > 0 THEN 1e308 * 10 ELSE 1 / 0 END > 1")))
    compare(postgres_url, "edge_rows", table, nodes)
    # PostgreSQL computes parts of literals while it plans, even in branches that no row takes.
    create_table(connection, "literal_rows", {"x": np.array(EDGES)})
    literals = [Literal(value) for value in sorted({abs(value) for value in EDGES if np.isfinite(value)})]
    nodes = [
        (NUMBER, Call(name, arguments))
        for name, literal in product(("add", "sub", "mul", "div"), literals)
        for arguments in ((x, literal), (literal, x))
    ]
    compare(postgres_url, "literal_rows", {"x": np.array(EDGES)}, nodes)


def test_the_calendar_has_no_infinite_date(connection: Any, postgres_url: str) -> None:
    """Parts of dates, and differences, are missing where PostgreSQL's date is infinite."""
    connection.execute("CREATE TABLE infinite_days (place int8, day date)")
    connection.execute("INSERT INTO infinite_days VALUES (0, 'infinity'), (1, '-infinity'), (2, '2024-02-29')")
    texts = (
        "year(day)", "month(day)", "day(day)", "quarter(day)", "isodow(day)",
        "date_diff('day', DATE '2024-02-28', day)", "date_diff('week', DATE '2024-02-28', day)",
        "date_diff('month', day, day)", "date_diff('day', day, day)",
        "date_diff('day', DATE '1970-01-01', date_trunc('week', day))",
        "date_diff('day', DATE '1970-01-01', date_trunc('quarter', day))",
    )  # fmt: skip
    nodes = [(NUMBER, parse_expression(text)) for text in texts]
    days = np.array(["NaT", "NaT", "2024-02-29"], dtype="datetime64[D]")
    compare(postgres_url, "infinite_days", {"day": days}, nodes)


ROWS = 400
PEOPLE = np.arange(ROWS) % 90
FILTERS = (
    "age >= 40 AND sex = 'F'", "region <> 'north'", "region IS NULL OR region > 'München'", "lower(region) = 'north'",
    "age BETWEEN 18 AND 64 OR region IN ('Ost', 'ost')", "day >= DATE '2024-02-29'", "NOT (age < 30)",
    "age / hours > 2", "CAST(code AS DOUBLE) = 1", "starts_with(code, '0')", "year(day) = 2024", "age > 1e9",
)  # fmt: skip


def people() -> dict[str, pa.Array]:
    """Rows with NULL, NaN, cases, accents and codes."""
    generator = np.random.default_rng(3)
    ages = generator.integers(0, 100, ROWS).astype(float)
    ages[::17], ages[5] = np.nan, np.inf
    regions = np.array(["north", "North", "München", "Ost", "ost", "zoë", None], dtype=object)
    codes = np.array(["01", "1", "1e0", "x", " 1", None], dtype=object)
    days = [None if index % 11 == 0 else 19_700 + index for index in range(ROWS)]
    return {
        "age": pa.array(ages),
        "sex": pa.array(np.array(["F", "M", None], dtype=object)[generator.integers(0, 3, ROWS)]),
        "region": pa.array(regions[generator.integers(0, 7, ROWS)]), "hours": pa.array(generator.integers(0, 5, ROWS)),
        "code": pa.array(codes[generator.integers(0, 6, ROWS)]), "day": pa.array(days, type=pa.date32()),
        "person": pa.array(PEOPLE),
    }  # fmt: skip


@pytest.fixture(scope="module", params=["postgres", "sail"])
def server_load(request: pytest.FixtureRequest) -> Any:
    """How a table comes into PostgreSQL, and into Spark."""
    return request.getfixturevalue(f"{request.param}_load")


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("keeps_failing_rows", [True, False])
def test_filtered_counts_are_those_of_this_machine(keeps_failing_rows: bool, server_load: Any) -> None:
    columns = people()
    here, there = pa.table(columns), server_load(columns)
    age, ratio = [Axis("age", Grid(0, 100, cells=5))], [Axis("age / hours", Grid(0, 50, cells=4))]
    named = [Categories("upper(region)", ("NORTH", "OST"))]
    for unit, filters in ((EACH_RECORD, FILTERS), (Unit("person", 9), FILTERS[:1]), (Unit("person", 1), FILTERS[1:2])):
        with (
            open_records(here, unit=unit, key=b"k", keeps_failing_rows=keeps_failing_rows) as local,
            open_records(there, unit=unit, key=b"k", keeps_failing_rows=keeps_failing_rows) as remote,
        ):
            for number, where in enumerate(filters):
                locally, remotely = local.with_filter(where), remote.with_filter(where)
                if unit != EACH_RECORD:
                    assert local.unit_sizes(4, where).tolist() == remote.unit_sizes(4, where).tolist()
                    assert locally.units() == remotely.units()
                question = (age, ratio, named)[number % 3]
                counts = [records.counts(question) for records in (locally, remotely)]
                if number == 3 or unit.records == 9:
                    names = [records.names(dp.UnlistedCategories("region")) for records in (locally, remotely)]
                    assert names[0] == names[1] != {}
                if unit.records == 1 and unit != EACH_RECORD:  # engines rank the rows of a person differently
                    counts = [totals.sum(keepdims=True) for totals in counts]
                assert counts[0].tolist() == counts[1].tolist(), (where, question)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("ranking", ["there", "here", "spark"])
def test_a_filter_acts_before_the_bound_of_rows_and_person_by_person(
    ranking: str, request: pytest.FixtureRequest
) -> None:
    """Counts of a table are the sums of counts of its persons, of whom each adds at most the bound: so neighbouring
    tables differ by one person's counts alone."""
    rows = pa.table(people())
    grid, where = [Axis("age", Grid(0, 100, cells=5))], "sex = 'F' AND age >= 20"
    parts = [rows, *(rows.filter(pa.array(half == PEOPLE % 2)) for half in (0, 1))]
    load = request.getfixturevalue("sail_load" if ranking == "spark" else "postgres_load")
    tables = [load(dict(zip(rows.column_names, part.combine_chunks().columns, strict=True))) for part in parts]
    passing = (np.asarray(rows["sex"]) == "F") & (np.nan_to_num(np.asarray(rows["age"])) >= 20)
    rows_of_people = np.bincount(PEOPLE[passing], minlength=90)
    for records_of_each, keeps_failing_rows in ((1, True), (2, False)):
        counts, unit = [], Unit("person", records_of_each)
        for table in tables:
            data = table if ranking == "spark" else replace(table, ranking=ranking)
            with open_records(data, unit=unit, key=b"k", keeps_failing_rows=keeps_failing_rows) as records:
                filtered = records.with_filter(where)
                counts.append(filtered.counts(grid))
                again = filtered.with_unit(unit)  # under another bound the filter stays
                assert again is None or again.counts(grid).tolist() == counts[-1].tolist()
        whole, *halves = counts
        assert whole.tolist() == (halves[0] + halves[1]).tolist()
        used = np.minimum(rows_of_people, records_of_each).sum()
        assert whole[:-1].sum() + (0 if keeps_failing_rows else whole[-1]) == used
        assert whole.sum() == (90 if keeps_failing_rows else used)


def test_questions_with_filters_are_asked_of_postgres(postgres_load: Any) -> None:
    columns, huge = people(), 10**6
    table = postgres_load(columns)
    answers = [
        dp.cdf(data, grid=Grid(0, 100, cells=10), column="age", where="region <> 'north'", epsilon=huge,
               adjacency=dp.ADD_REMOVE)
        for data in (table, pa.table(columns))
    ]  # fmt: skip
    assert np.asarray(answers[0].y).tolist() == pytest.approx(np.asarray(answers[1].y).tolist(), abs=1e-6)
    with pytest.raises(ValueError, match=r"^where: there is no column 'regoin'; the nearest is 'region'"):
        dp.cdf(table, grid=Grid(0, 1, cells=2), column="age", where="regoin = 'a'", epsilon=1, adjacency=dp.ADD_REMOVE)
