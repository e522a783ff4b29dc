"""Spark as an engine, by Sail: what is refused, what is said, and what workers are sent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcurves as dp
from dpcurves.data import Grid
from dpcurves.data.axis import Axis
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import open_records
from dpcurves_engines.conformance import run_checks

pytest.importorskip("pysail")
AGE = Axis("age", Grid(0, 100, cells=4))


def test_sail_counts_as_it_should_by_all_that_is_tried(sail: Any) -> None:
    from dpcurves_engines.spark_engine import CheckableSpark

    assert [finding for finding in run_checks(CheckableSpark(sail)) if not finding.is_equal] == []


def test_an_engine_that_rounds_otherwise_is_refused_before_the_charge(
    sail: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpcurves_engines import spark_sql

    monkeypatch.setattr(spark_sql, "double_literal", lambda value: f"CAST('{value:.6g}' AS DOUBLE)")
    frame = sail.createDataFrame(pa.table({"age": [30.0, 40.0]}))
    with dp.Session(dp.spark(frame), budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE) as session:
        with pytest.raises(ValueError, match=r"data: Spark \S+ does not count the cells of 'age' as dpcurves does"):
            session.ask(dp.CdfQuestion("age", Grid(0.1, 99.7, cells=777)), dp.PrivacyLoss.pure(1))
        assert session.remaining == dp.PrivacyLoss.pure(1)


def test_a_server_that_evaluates_expressions_otherwise_is_refused_before_the_charge(
    sail: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpcurves_engines import spark_expressions

    frame = sail.createDataFrame(pa.table({"age": [30.0, 40.0], "word": ["a", "b"]}))
    rounds_to_even = {**spark_expressions.TEMPLATES, "round": "CAST(bround({0}) AS DOUBLE)", "sqrt": "no_function({0})"}
    monkeypatch.setattr(spark_expressions, "TEMPLATES", rounds_to_even)
    with dp.Session(dp.spark(frame), budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE) as session:
        for where, line in (
            ("round(age) = 30", "where: this server evaluates the expression otherwise than dpcurves does: add the"),
            ("sqrt(age) > 3", "where: Spark cannot evaluate this expression: simplify it, or add the column"),
        ):
            with pytest.raises(ValueError, match=line):
                session.ask(dp.CdfQuestion("age", AGE.grid, where=where), dp.PrivacyLoss.pure(1))
        assert session.remaining == dp.PrivacyLoss.pure(1)


def test_statements_name_spark_and_errors_quote_nothing(sail: Any) -> None:
    frame = sail.createDataFrame(pa.table({"age": [30.0, 40.0], "word": ["1", "hidden"]}))
    with dp.Session(dp.spark(frame), budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE) as session:
        curve = session.ask(dp.CdfQuestion("age", AGE.grid), dp.PrivacyLoss.pure(1))
        assert curve.privacy.trust == "one curator, who counts in Spark"
    failing = frame.selectExpr("age", "CAST(word AS DOUBLE) AS number", "raise_error(word) AS broken")
    records = open_records(dp.spark(failing), unit=EACH_RECORD, key=b"k")
    with pytest.raises(ValueError, match="data: Spark did not answer") as caught:
        records.counts((Axis("number", AGE.grid), AGE))
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert repr(dp.spark(frame)) == "spark(a data frame)"


def test_wrong_tables_types_and_units_are_one_line_each(sail: Any) -> None:
    frame = sail.createDataFrame(pa.table({"age": [1.0], "blob": [b"x"], "word": ["a"]}))
    for given, line in (("visits", "spark: the session that knows"), (3, "table: a data frame of pyspark is needed")):
        with pytest.raises(TypeError, match=line):
            dp.spark(given)
    with pytest.raises(ValueError, match="cannot identify a unit"):
        open_records(dp.spark(frame), unit=Unit("blob", 1), key=b"k")
    records = open_records(dp.spark(frame), unit=EACH_RECORD, key=b"k")
    with pytest.raises(ValueError, match="'word' holds text, a number is needed"):
        records.check((Axis("word", AGE.grid),))


def test_files_that_came_later_are_noticed(sail: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": np.arange(50.0)}), tmp_path / "a.parquet")
    records = open_records(dp.spark(sail.read.parquet(str(tmp_path))), unit=EACH_RECORD, key=b"k")
    assert records.counts((AGE,)).tolist() == [25, 25, 0, 0, 0]
    if records.moment is None:
        pytest.skip("this server does not tell which files it reads: the page on Spark says so")
    pq.write_table(pa.table({"age": np.arange(50.0)}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="the files of the data frame have changed"):
        records.counts((AGE,))


def test_what_later_turns_ask_again_is_kept_until_the_session_closes(
    sail: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[str] = []
    monkeypatch.setattr("dpcurves.trust.central.MOST_STORED", 0)  # else one count would do for both rounds
    frame = sail.createDataFrame(pa.table({"age": np.arange(100.0), "u": np.arange(100) // 2}))
    for name in ("persist", "unpersist"):
        monkeypatch.setattr(type(frame), name, _noted(kept, name, getattr(type(frame), name)))
    question = dp.CdfQuestion("age", Grid(0, 100, cells=1024))
    bounded: list[dict[str, Any]] = [{}, {"unit": "u", "rows_per_unit": 1}]
    for more in bounded:
        with dp.Session(dp.spark(frame), budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE, **more) as session:
            assert len(session.plan(question, dp.PrivacyLoss.pure(1))) == 2
            session.ask(question, dp.PrivacyLoss.pure(1))
            assert kept == ["persist"]
        assert kept == ["persist", "unpersist"]
        kept.clear()


def test_a_statement_of_sql_is_counted_where_its_table_lies(sail: Any) -> None:
    pytest.importorskip("sqlglot", reason="sqlglot is not installed: no statements of SQL")
    rows = pa.table({"wage": np.arange(4000) % 1000, "region": np.where(np.arange(4000) % 4, "south", "north")})
    sail.createDataFrame(rows).createOrReplaceTempView("pay")
    terms: dict[str, Any] = {"loss": dp.PrivacyLoss.pure(20), "adjacency": dp.ADD_REMOVE}
    found = dp.sql(sail, "SELECT dp_cdf(wage, 0, 1000, 100) FROM pay WHERE region = 'north' GROUP BY region", **terms)
    assert "counts in Spark" in str(found.privacy)
    assert round(found["north"].count, -2) == 1000
    filtered = dp.sql(sail, "SELECT dp_cdf(wage / 2, 0, 500, 100) FROM pay WHERE region = 'north'", **terms)
    assert round(filtered.count, -2) == 1000
    with pytest.raises(ValueError, match="Spark was not reached, or has no such table"):
        dp.sql(sail, "SELECT dp_count(wage) FROM `pay`.nowhere".replace("`", '"'), **terms)


def _noted(kept: list[str], name: str, action: Callable[..., Any]) -> Callable[..., Any]:
    """Do as `action`, and note its name."""

    def noted(*arguments: Any) -> Any:
        kept.append(name)
        return action(*arguments)

    return noted


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("kind", ["cells", "edges", "values", "plane"])
def test_spark_counts_65536_cells_of_any_grid_as_python_does(kind: str, sail_load: Any) -> None:
    draw, cells = np.random.default_rng(1), 2**16
    table = {"x": draw.random(2000), "y": draw.random(2000), "whole": draw.integers(0, cells, 2000)}
    edges = np.unique(np.append(draw.random(cells - 1), [0.0, 1.0]))
    square = dp.Grid(0, 1, cells=256)
    questions: dict[str, Any] = {
        "cells": dp.HistogramQuestion("x", dp.Grid(0, 1, cells=cells)),
        "edges": dp.HistogramQuestion("x", dp.Grid.from_edges(edges.tolist())),
        "values": dp.HistogramQuestion("whole", dp.Values(range(cells))),
        "plane": dp.Histogram2DQuestion("x", "y", square, square),
    }
    loss, counts = dp.PrivacyLoss.pure(10**6), []
    for data in (sail_load(table), table):
        with dp.Session(data, budget=loss, adjacency=dp.ADD_REMOVE) as session:
            counts.append(np.asarray(session.ask(questions[kind], loss).count))
    assert counts[0].size == cells
    assert np.allclose(counts[0], counts[1], atol=1e-3)
