"""Filters and derived columns: exact counts of all tiny tables, their sensitivity, and their agreement with pandas."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from dpcurves.arguments import InvalidArgument
from dpcurves.data import Axis, Categories, Grid, UnlistedCategories, Weights
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.queries import CountQuery, CountUse, SubsetQuery, UnitSizesQuery, WeightQuery
from dpcurves.records import Records, open_records, tabulate
from dpcurves.records.engines.derived_columns import DerivedColumns
from dpcurves.records.source import LONGEST_TEXT, Column, ColumnKind
from dpcurves.records.table_sources import open_source

KEY = b"a secret key"
GRID = Grid(0, 2, cells=2)
Row = tuple[float, float]
# A row that passes in each cell, one that passes without a value, and one that fails.
ROWS: tuple[Row, ...] = ((0.25, 1.0), (0.75, 1.0), (np.nan, 1.0), (0.25, np.nan))
HOLDINGS = [rows for size in range(3) for rows in combinations_with_replacement(ROWS, size)]
QUERY = CountQuery((Axis("x * 2", GRID),), CountUse.CELLS).with_filter("flag = 1")


def open_table(units: Sequence[tuple[str, Sequence[Row]]], unit: Unit, keeps: bool) -> Records:
    rows = [(name, *row) for name, holding in units for row in holding]
    columns = {name: np.array([row[place] for row in rows]) for place, name in enumerate(("u", "x", "flag"))}
    return open_records(columns, unit=unit, key=KEY, keeps_failing_rows=keeps)


def count(units: Sequence[tuple[str, Sequence[Row]]], unit: Unit, keeps: bool) -> tuple[int, ...]:
    if not any(holding for _, holding in units):
        return (0, 0, 0)
    with open_table(units, unit, keeps) as records:
        return tuple(tabulate(records, QUERY).tolist())


def distance(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    return sum(abs(one - other) for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize("keeps", [False, True])
def test_a_filter_does_not_change_the_distance_of_tables_that_differ_in_a_record(keeps: bool) -> None:
    """All tables of up to two records, and each record that is added, removed or replaced."""
    counts = {holding: count([("a", holding)], EACH_RECORD, keeps) for holding in HOLDINGS}
    for holding, cells in counts.items():
        passing = [row for row in holding if row[1] == 1]
        expected = [sum(row[0] == value for row in passing) for value in (0.25, 0.75)]
        missing = len(holding) - sum(expected) if keeps else len(passing) - sum(expected)
        assert cells == (*expected, missing)
    for holding, row in product([holding for holding in HOLDINGS if len(holding) < 2], ROWS):
        added = next(other for other in HOLDINGS if sorted(map(str, other)) == sorted(map(str, (*holding, row))))
        assert distance(counts[holding], counts[added]) <= 1
    for first, second in product([holding for holding in HOLDINGS if len(holding) == 1], repeat=2):
        assert distance(counts[first], counts[second]) <= 2


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("most", [1, 2])
def test_a_filter_acts_before_the_contribution_bound(most: int, keeps: bool) -> None:
    """All tables of two units: each unit adds a function of its own rows, of at most as many as the bound."""
    unit = Unit("u", most)
    alone = {(name, holding): count([(name, holding)], unit, keeps) for name in "ab" for holding in HOLDINGS}
    for (_, holding), cells in alone.items():
        passing = sum(row[1] == 1 for row in holding)
        # A row that fails takes no place of one that passes; under replace-one it fills a place that is left.
        assert sum(cells) == min(most, len(holding) if keeps else passing)
        assert sum(cells[:2]) >= min(most, passing) - sum(np.isnan(row[0]) for row in holding)
    for first, second in product(HOLDINGS[4::4], HOLDINGS[::5]):
        both = count([("a", first), ("b", second)], unit, keeps)
        assert both == tuple(np.add(alone["a", first], alone["b", second]).tolist())
    for first, second in product(HOLDINGS, repeat=2):
        assert distance(alone["a", first], alone["a", second]) <= (most if () in (first, second) else 2 * most)


def test_every_unit_keeps_its_place_under_replace_one_with_one_row_each() -> None:
    """With one row for each unit the number of used rows is public, whatever the filter."""
    units = [(name, holding) for name, holding in zip("abcdefghijklmno", HOLDINGS[1:], strict=False)]
    assert sum(count(units, Unit("u", 1), True)) == len(units)


def test_sizes_of_units_count_the_rows_that_pass() -> None:
    units = [(name, holding) for name, holding in zip("abcdefghijklmno", HOLDINGS[1:], strict=False)]
    passing = [sum(row[1] == 1 for row in holding) for _, holding in units]
    query = UnitSizesQuery.from_column("u").with_filter("flag = 1")
    for keeps in (False, True):
        with open_table(units, Unit("u", 1), keeps) as records:
            sizes = tabulate(records, query).tolist()
            values = records.sized_units(Axis("x * 2", GRID, where="flag = 1"), 3)
        assert sizes[:2] == [passing.count(1), passing.count(2)]
        assert sizes[-1] == (passing.count(0) if keeps else 0)
        assert values.sum() == len(units) if keeps else len(units) - passing.count(0)


def test_each_kind_of_count_reads_the_rows_that_pass() -> None:
    generator = np.random.default_rng(3)
    table = {
        "x": generator.random(500) * 2,
        "y": generator.random(500),
        "w": generator.random(500),
        "g": np.array(["a", "b", "c"])[generator.integers(0, 3, 500)],
        "age": generator.integers(0, 100, 500),
    }
    mask = (table["age"] >= 65) & (table["g"] != "a")
    passing = {name: values[mask] for name, values in table.items()}
    where = "age >= 65 AND g <> 'a'"
    filtered = (Categories("g", ("b", "c"), where=where), Axis("x", GRID, where=where))
    plain = (Categories("g", ("b", "c")), Axis("x", GRID))
    with (
        open_records(table, unit=EACH_RECORD, key=KEY, keeps_failing_rows=False) as records,
        open_records(passing, unit=EACH_RECORD, key=KEY) as expected,
    ):
        assert (records.counts(filtered) == expected.counts(plain)).all()
        assert records.sums(filtered, 8) == expected.sums(plain, 8)
        assert records.squares(filtered, 8) == expected.squares(plain, 8)
        assert records.prefixes(filtered, (1, 2, 4)) == expected.prefixes(plain, (1, 2, 4))
        assert sorted(records.places(filtered)) == sorted(expected.places(plain))
        unlisted = UnlistedCategories("g")
        assert records.names(UnlistedCategories("g", where=where)) == expected.names(unlisted)
        weighted = WeightQuery((Axis("x", GRID),), Weights("w", 1.0), CountUse.CELLS)
        assert records.weighted_sums(weighted.with_filter(where)) == expected.weighted_sums(weighted)
        axes = (Axis("x", Grid(0, 2, cells=1)), Axis("y", Grid(0, 1, cells=1)))
        subsets = SubsetQuery(axes, 5, 0, above=-1.0, below=1.0)
        assert records.count_confirming_subsets(subsets.with_filter(where)) == expected.count_confirming_subsets(
            subsets
        )


def test_operands_of_and_are_conditions_of_their_own(tmp_path: Path) -> None:
    """DuckDB evaluates each on the rows that pass the ones before. All pairs of true, false and NULL are tried."""
    pairs = list(product((1.0, 0.0, np.nan), repeat=2))
    table = {name: [pair[index] for pair in pairs] for index, name in enumerate("ab")} | {"x": [0.5] * len(pairs)}
    parquet.write_table(pa.table(table), tmp_path / "pairs.parquet")
    for text, conjuncts, passing in (
        ("a = 1 AND (b = 1 AND x < 1) AND (a = 1 OR b = 0)", 4, 1),
        ("a < 2 AND NOT (a = 1 AND b = 1)", 2, 4),
        ("a = 1 OR b = 1 AND x < 1", 1, 5),
        ("(a = 1 AND x < 1) AND b IS NULL", 3, 1),
    ):
        assert len(DerivedColumns(open_source(tmp_path / "pairs.parquet", "")).add_conjuncts(text)) == conjuncts
        for keeps, missing in ((False, 0), (True, len(pairs) - passing)):
            with open_records(
                tmp_path / "pairs.parquet", unit=EACH_RECORD, key=KEY, keeps_failing_rows=keeps
            ) as records:
                assert records.counts([Axis("x", GRID, where=text)]).tolist() == [passing, 0, missing]


def test_columns_with_different_filters_are_refused() -> None:
    axes = (Axis("x", GRID, where="x > 0"), Axis("y", GRID, where="x > 1"))
    with (
        open_records({"x": [1.0], "y": [1.0]}, unit=EACH_RECORD, key=KEY) as records,
        pytest.raises(InvalidArgument, match="have different filters; give the same filter to all of them"),
    ):
        records.counts(axes)


def make_sources(folder: Path) -> list[Any]:
    """One table in each kind of file and frame."""
    frame = pd.DataFrame({
        "wage": [10.0, 20.0, np.nan, 40.0, 5.0, 0.0],
        "hours": [2, 0, 4, 5, 1, 1],
        "place": ["Nord", "Süd", None, "nord", "Süd", "a,b"],
        "flag": [True, False, True, True, False, True],
        "seen": pd.Series(
            ["2024-01-31", "2023-12-31", None, "2024-02-29", "1969-07-20", "2024-02-01"], dtype="datetime64[us]"
        ),
    })  # fmt: skip
    frame.to_csv(folder / "t.csv", index=False)
    (folder / "t.csv.gz").write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
    frame.to_parquet(folder / "t.parquet")
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    lists = {name: frame[name].tolist() for name in ("wage", "hours", "place", "flag")}
    return [folder / "t.csv", folder / "t.csv.gz", folder / "t.parquet", frame, columns, lists]


FILTERS = {
    "hours > 1": 3,
    "wage / hours >= 5": 3,
    "place = 'Süd'": 2,
    "lower(place) = 'nord'": 2,
    "place <> 'Süd'": 3,
    "place IS NULL": 1,
    "flag": 4,
    "NOT flag OR place LIKE 'N%'": 3,
    "wage IS NULL": 1,
    "wage BETWEEN 5 AND 20 AND hours IN (0, 1)": 2,
    "CASE WHEN flag THEN hours ELSE 0 END >= 1": 4,
    "least(wage, hours) = 0": 2,
    "substr(place, 1, 1) = 'a'": 1,
}
DATED = {
    "year(CAST(seen AS DATE)) = 2024": 3,
    "CAST(seen AS DATE) < '2024-01-01'": 2,
    "date_trunc('month', CAST(seen AS DATE)) = DATE '2024-02-01'": 2,
}


def test_a_filter_passes_the_same_rows_of_every_kind_of_table(tmp_path: Path) -> None:
    for source in make_sources(tmp_path):
        dated = {} if isinstance(source, dict) and "seen" not in source else DATED
        with open_records(source, unit=EACH_RECORD, key=KEY, keeps_failing_rows=False) as records:
            for where, passing in {**FILTERS, **dated}.items():
                axis = Axis("hours", Grid(0, 10, cells=2), where=where)
                assert int(records.counts([axis]).sum()) == passing, (source, where)


TEXTS = (
    b"north", b"north\xff", b"nor\xff", b"nor", b"nor?", "nor\ufffd".encode(), "n\u00f6rd".encode(),
    b"\xed\xa0\x80", b"\xc0\x80", b"", None, b"a\0b", b"?", b"x" * LONGEST_TEXT, b"x" * (LONGEST_TEXT + 1),
)  # fmt: skip
"""Texts that are valid UTF-8, invalid in several ways, or of the greatest length and longer."""


@pytest.mark.parametrize("is_arrow_installed", [True, False])
def test_texts_that_only_a_filter_reads_are_decoded_in_duckdb_as_they_are_through_arrow(
    is_arrow_installed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Invalid texts are missing, none makes a question fail, and each row keeps the texts of its own row."""
    monkeypatch.setattr("dpcurves.records.source.has_pyarrow", lambda: is_arrow_installed)
    generator = np.random.default_rng(4)
    drawn = [TEXTS[index] for index in generator.choice(len(TEXTS) - 2, 3000)] + list(TEXTS[-2:])
    values = pa.array(drawn, pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(values), values.buffers(), values.null_count)
    table = pa.table({"t": texts, "x": pa.array(generator.integers(0, 2, len(drawn)).astype(float))})
    for number, rows in enumerate((table[:1700], table[1700:])):
        parquet.write_table(rows, tmp_path / f"part{number}.parquet", row_group_size=400)
    with duckdb.connect() as connection:
        rows = open_source(str(tmp_path / "*.parquet"), ",").scan_decoded(connection, [0, 1], [0])
        assert rows is not None
        assert connection.execute(f"SELECT count(*) FROM {rows}").fetchone() == (len(drawn),)
    for keeps in (False, True):
        with (
            open_records(table, unit=EACH_RECORD, key=KEY, keeps_failing_rows=keeps) as expected_records,
            open_records(str(tmp_path / "*.parquet"), unit=EACH_RECORD, key=KEY, keeps_failing_rows=keeps) as records,
        ):
            for where in TEXT_FILTERS:
                axes = [Axis("x", Grid(0, 2, cells=2), where=where)]
                assert records.counts(axes).tolist() == expected_records.counts(axes).tolist(), where


TEXT_FILTERS = (
    "t = 'north'", "t <> 'north'", "t IN ('nor', 'nor?', '')", "t LIKE 'nor%'", "t = 'nor\ufffd' OR t = 'n\u00f6rd'",
    "t IS NULL", "starts_with(t, 'xxx')", "upper(substr(t, 1, 1)) = 'N' AND x = 1", "NOT t = '?'",
)  # fmt: skip


def test_a_logarithm_counts_the_rows_by_its_edges(tmp_path: Path) -> None:
    values = np.array([0.0, -1.0, np.nan, np.inf, 1.0, np.exp(1), 0.5, 100.0, np.nextafter(1.0, 0)])
    with open_records({"wage": values}, unit=EACH_RECORD, key=KEY) as records:
        counts = records.counts([Axis("ln(wage)", Grid(-1, 2, cells=3))]).tolist()
        assert counts == [2, 1, 2, 4]
        assert records.prefixes([Axis("1 + 2 * ln(wage)", Grid(-1, 5, cells=3))], (1, 2, 3)) == [2, 3, 5, 4]
        assert records.counts([Axis("exp(wage)", Grid(0, 3, cells=3))]).tolist() == [1, 2, 4, 2]
        for column in ("ln(ln(wage))", "ln(wage) * ln(wage)", "-1 * ln(wage)"):
            with pytest.raises(InvalidArgument, match="logarithm|last bits"):
                records.counts([Axis(column, Grid(0, 3, cells=3))])
        with pytest.raises(InvalidArgument, match="narrower range"):
            records.counts([Axis("ln(wage)", Grid(0, 3000, cells=3))])
        with pytest.raises(InvalidArgument, match="not summed"):
            records.sums([Axis("ln(wage)", Grid(0, 3, cells=3))], 4)


def test_text_files_have_three_endings_and_tabs_separate_the_fields_of_one(tmp_path: Path) -> None:
    frame = pd.DataFrame({"place": ["Nord", "Süd, West", "Nord"], "hours": [1, 2, 3]})
    for name, delimiter in (("t.tsv", "\t"), ("t.txt", ","), ("t.TSV", "\t"), ("t.csv", ",")):
        frame.to_csv(tmp_path / name, sep=delimiter, index=False)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((tmp_path / name).read_bytes()))
        for file in (name, f"{name}.gz"):
            with open_records(tmp_path / file, unit=EACH_RECORD, key=KEY, keeps_failing_rows=False) as records:
                axis = Axis("hours", Grid(0, 4, cells=4), where="place = 'Süd, West' OR hours = 1")
                assert records.counts([axis]).tolist() == [0, 1, 1, 0, 0]
    with pytest.raises(InvalidArgument, match=r"must end in \.csv, \.tsv, \.txt"):
        open_records(__file__, unit=EACH_RECORD, key=KEY)


def test_an_engine_without_expressions_refuses_them_by_the_schema() -> None:
    class Engine:
        """An engine that counts columns alone."""

        columns = (Column("x", ColumnKind.NUMBERS, "x"),)
        failure, moment = "failed", None

    records = Records(Engine())  # type: ignore[arg-type]
    for axis, rule in (
        (Axis("x", GRID, where="x > 1"), "this engine evaluates no filters and expressions"),
        (Axis("x / 2", GRID), "x / 2: this engine evaluates no filters and expressions"),
    ):
        with pytest.raises(InvalidArgument, match=rule):
            records.check([axis])


def test_calls_about_one_column_alone_take_a_column_of_a_table() -> None:
    import dpcurves as dp

    table = {"y": [0, 1] * 50, "s": [0.2, 0.7] * 50}
    assert dp.count(table, column="*", where="y = 1", epsilon=10**6, adjacency=dp.ADD_REMOVE).count == 50
    for argument in ({"where": "y = 1"}, {"column": "s"}):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            dp.roc_curve(table["y"], table["s"], epsilon=1, adjacency=dp.ADD_REMOVE, **argument)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="name its column by column="):
        dp.count([1, 2], where="y = 1", epsilon=1, adjacency=dp.ADD_REMOVE)
    with pytest.raises(InvalidArgument, match="a table is given"):
        dp.count(table, epsilon=1, adjacency=dp.ADD_REMOVE)
