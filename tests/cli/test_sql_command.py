"""The command for statements of SQL: on databases of DuckDB and on files, priced, charged and refused as all others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import Result

import dpcurves as dp

pytest.importorskip("sqlglot", reason="sqlglot is not installed: no statements of SQL")
Run = Callable[..., Result]
ONE = ("--epsilon", 1, "--adjacency", "replace-one")
CDF = "SELECT dp_cdf(delay, -100, 300, 64) FROM flights"
BY = "SELECT carrier, dp_count(delay) FROM {} GROUP BY carrier"


@pytest.fixture(scope="session")
def database(parquet: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "warehouse.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE flights AS SELECT * FROM '{parquet}'")
        connection.execute("CREATE VIEW early AS SELECT * FROM flights WHERE delay < 0")
    return path


def test_a_statement_is_charged_once_and_written(run: Run, database: Path, ledger: str, tmp_path: Path) -> None:
    files = {kind: tmp_path / f"delay.{kind}" for kind in ("json", "csv")}
    paid = ("--ledger", ledger, "--request-id", "a", *ONE, *(f"--{kind}={path}" for kind, path in files.items()))
    first, again = (run("sql", database, CDF, *paid) for _ in range(2))
    assert (first.exit_code, again.exit_code) == (0, 0), first.output + again.output
    curve: Any = dp.read_result(files["json"])
    assert curve.x.tolist() == dp.Grid(-100, 300, cells=64).edges.tolist()
    assert len(files["csv"].read_text().splitlines()) == 66
    assert "left: epsilon 1" in again.output


def test_groups_are_declared_by_an_option_and_files_go_by_their_names(
    run: Run, database: Path, parquet: Path, csv: Path
) -> None:
    for data, table in ((database, "early"), (parquet, "flights"), (csv, "flights")):
        done = run("sql", data, BY.format(table), "--by", "carrier=UA,AA", *ONE)
        assert done.exit_code == 0, done.output
        assert "count of delay by carrier" in done.output
        assert " UA " in done.output
        assert " DL " not in done.output
    found = run("sql", database, BY.format("flights"), "--epsilon", 4, "--delta", "1e-6", "--adjacency", "add-remove")
    assert all(f" {carrier} " in found.output for carrier in ("UA", "AA", "DL", "B6")), found.output


def test_a_plan_opens_no_table(run: Run) -> None:
    planned = run("plan", "sql", CDF.replace("flights", "nowhere"), *ONE, "--units", 2000)
    usual = run("plan", "cdf", "--column", "delay", "--grid", "-100:300:64", *ONE, "--units", 2000)
    assert planned.exit_code == 0, planned.output
    assert planned.output == usual.output


@pytest.mark.parametrize(
    "case",
    [
        (f"{CDF} LIMIT 3", (), "statement: LIMIT is not accepted"),
        (CDF.replace("flights", "nowhere"), (), "statement: FROM nowhere: there is no such table or view"),
        (CDF.replace("delay", "salary"), (), "column: 'salary' is not in the data"),
        (BY.format("flights"), (), "statement: GROUP BY carrier: declare its values, as in WHERE carrier IN"),
        (BY.format("flights"), ("--by", "carrier"), "by: a column and its values are needed"),
        (BY.format("flights"), ("--by", "tail=N1"), "by: 'tail' is not a column of GROUP BY"),
        (CDF, ("--plot", "x.txt"), "plot: a file that ends in"),
    ],
)
def test_what_is_refused_is_one_line_and_costs_nothing(
    case: tuple[str, tuple[str, ...], str], run: Run, database: Path, ledger: str
) -> None:
    statement, more, line = case
    refused = run("sql", database, statement, "--ledger", ledger, *ONE, *more)
    assert refused.exit_code in (2, 4)
    assert refused.stderr.startswith(f"dpcurves: {line}")
    assert refused.stderr.count("\n") == 1
    assert dp.Ledger.open_existing(ledger).balance("flights").remaining.exact == 2


def test_what_is_no_database_is_refused(run: Run, database: Path, tmp_path: Path) -> None:
    (tmp_path / "odd.duckdb").write_text("zebrafinch" * 1000)
    for data, line in (
        (tmp_path / "gone.duckdb", "data: there is no file 'gone.duckdb'"),
        (tmp_path / "odd.duckdb", "data: 'odd.duckdb' cannot be opened as a database of DuckDB"),
        (tmp_path / "flights.txt", "data: "),
    ):
        refused = run("sql", data, CDF, *ONE)
        assert refused.exit_code in (2, 4)
        assert refused.stderr.startswith(f"dpcurves: {line}")


def test_quantiles_of_groups_are_those_of_one_distribution_function_per_group(
    run: Run, parquet: Path, tmp_path: Path
) -> None:
    huge = ("--epsilon", 1e6, "--adjacency", "replace-one")
    statement = f"SELECT carrier, dp_quantiles(delay, (0.5, 0.9), -100, 300, 400) FROM {parquet.stem} GROUP BY carrier"
    for words in (
        (
            "quantiles",
            parquet,
            "--column",
            "delay",
            "--grid=-100:300:400",
            "--probabilities",
            "0.5,0.9",
            "--by",
            "carrier=UA,AA",
        ),
        ("sql", parquet, statement, "--by", "carrier=UA,AA"),
    ):
        printed = run(*words, *huge).stdout
        assert ["0.5" in printed, "0.25" in printed] == [True, False]
        assert run(*words, *huge, "--json", tmp_path / "groups.json").exit_code == 0
        groups: Any = dp.read_result(tmp_path / "groups.json")
        for curve, first in zip(groups.values(), (0, 1), strict=True):
            delays = [delay - 100 for delay in range(400) if delay % 4 == first]  # rows repeat every 400
            assert abs(float(curve.quantile(0.5)) - delays[50]) < 5
    wrong: list[tuple[tuple[str | Path, ...], str]] = [
        (("quantiles", parquet, "--column", "delay", "--by", "carrier=UA,AA"), "--by needs a grid"),
        (("sql", parquet, statement.replace(", -100, 300, 400", ""), "--by", "carrier=UA,AA"), "cells are needed"),
    ]
    for typed, rule in wrong:
        refused = run(*typed, *ONE)
        assert refused.exit_code == 2
        assert rule in " ".join(refused.stderr.split())
