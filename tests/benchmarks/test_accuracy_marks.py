"""Rows of the tables of accuracy: verdicts, reasons of misses, and intervals whose width and coverage are known."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark() -> SimpleNamespace:
    """Import the benchmark from its folder."""
    folders = [str(FOLDER), str(FOLDER.parent / "papers"), str(FOLDER.parent / "tests" / "curves")]
    sys.path[:0] = folders
    try:
        command, intervals, rows, further = map(
            import_module,
            ("accuracy_marks", "accuracy.interval_rows", "accuracy.mark_rows", "accuracy.further_marks"),
        )
    finally:
        for folder in folders:
            sys.path.remove(folder)
    return SimpleNamespace(command=command, intervals=intervals, rows=rows, further=further)


@pytest.mark.parametrize(
    ("today", "is_least", "verdict"),
    [(1.3, False, "yes"), (1.4, False, "not sure"), (1.6, False, "no"), (1.0, True, "no"), (1.4, True, "yes")],
)
def test_figure_misses_its_mark_if_it_is_beside_it_by_two_standard_errors(
    benchmark: SimpleNamespace, today: float, is_least: bool, verdict: str
) -> None:
    row = benchmark.rows.MarkRow("C", "AUC, continuous scores", "width over error", "", today, 0.1, 1.3,
                                 is_least=is_least)  # fmt: skip
    assert row.verdict == verdict
    assert bool(row.reason) == (verdict == "no")


@pytest.mark.reproduction
def test_each_row_of_intervals_is_read_by_its_question(benchmark: SimpleNamespace) -> None:
    """Each reading has endpoints in order, and an exact number beside them, also where its value is unknown."""
    for row in benchmark.intervals.ROWS:
        found = benchmark.intervals.draw_releases(row.read, 300, 1)
        for interval in found[row.told, row.whom]:
            assert np.all(interval.lower <= interval.upper), row.name
            assert np.isfinite(interval.truth).all(), row.name


def test_width_of_intervals_is_compared_with_the_errors_that_were_made(benchmark: SimpleNamespace) -> None:
    """Intervals of half width 2 about estimates that are off by 1 are twice as wide as their errors."""

    def interval(error: float, half_width: float) -> Any:
        value = np.asarray(error)
        return benchmark.intervals.Told("x", "records", value, value - half_width, value + half_width, np.asarray(0.0))

    width = benchmark.intervals.measure_width([interval(sign, 2.0) for sign in (-1.0, 1.0) * 5])
    assert (width.ratio, width.held, width.known) == (pytest.approx(2.0), 1.0, 1.0)
    narrow = benchmark.intervals.measure_width([interval(sign, 0.5) for sign in (-1.0, 1.0) * 5])
    assert (narrow.ratio, narrow.held) == (pytest.approx(0.5), 0.0)
    for other in (interval(1.0, np.inf), interval(np.nan, 1.0)._replace(lower=np.asarray(0.0), upper=np.asarray(9.0))):
        endless = benchmark.intervals.measure_width([other, interval(1.0, 2.0)])
        assert (endless.ratio, endless.known) == (pytest.approx(2.0), 0.5)


def test_file_keeps_rows_that_are_not_measured_again(
    benchmark: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = benchmark.rows.MarkRow("D", "one", "CPU s", "2", 1.0, 0.0, 3.0)
    rows = {"B": row._replace(part="B", name="other"), "D": row}
    tasks = {part: {"task": lambda effort, row=row: iter([row])} for part, row in rows.items()}
    monkeypatch.setattr(benchmark.command, "TASKS", tasks)
    file = tmp_path / "rows.json"
    for parts in (["D"], ["B"]):
        benchmark.command.main(["--parts", *parts, "--json", str(file)])
    stored = json.loads(file.read_text(encoding="utf-8"))
    assert [stored_row["commit"] for stored_row in stored] == [benchmark.command.find_commit()] * 2
    capsys.readouterr()
    benchmark.command.main(["--parts", "B", "D", "--kept", "--json", str(file)])
    printed = capsys.readouterr().out
    assert printed.index("B. ") < printed.index("other") < printed.index("D. ") < printed.index("one ")
    assert printed.count("Of 1 rows 1 are at their mark") == 2


def test_tables_are_summarised_by_their_geometric_mean_and_the_worst(benchmark: SimpleNamespace) -> None:
    further, ones = benchmark.further, np.ones((4, 3))
    found = [
        further.Found(
            SimpleNamespace(regime=SimpleNamespace(marks={}), task=name), {"dpcurves": ratio * ones, "flat": ones}
        )
        for name, ratio in (("even", 1.0), ("heaps", 4.0))
    ]
    rows = {row.figure: row for row in further.summarise_tables("two tables", found, further.TABLES_BEFORE, 4)}
    assert rows["KS: geometric mean"].today == pytest.approx(2.0)
    assert (rows["W1: worst"].today, rows["W1: worst"].beside) == (pytest.approx(4.0), "heaps")
    assert {row.verdict for row in rows.values()} == {"no"}


def test_text_that_no_task_contains_is_refused_before_anything_is_measured(
    benchmark: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        benchmark.command.main(["--parts", "B", "--only", "strategies", "Gini"])
    assert stopped.value.code == "--only Gini: must be part of the name of a task of part B, such as strategies"
    assert capsys.readouterr().out == ""
