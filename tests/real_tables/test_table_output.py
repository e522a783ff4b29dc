"""Tables say all that they hold: interval ends, dates and their zone, and the rows of every label."""

from __future__ import annotations

import csv
import re
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import dpcurves as dp
from dpcurves import display
from dpcurves.cli.app import build

LOSS = dp.PrivacyLoss.pure(50)
DAYS = np.random.default_rng(1).normal(-7000, 300, 2000).round()
PARTS = {"g": np.array(["a", "b"])[np.arange(2000) % 2]}


def run(*arguments: object) -> Result:
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(build(words), words)
    assert result.exit_code == 0, result.output
    return result


def ask(question: Any, table: dict[str, Any]) -> Any:
    made = dp.Session(table, budget=LOSS, adjacency=dp.ADD_REMOVE, randomness=dp.Randomness.from_seed(1))
    with made as session:
        return session.ask(question, LOSS)


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(StringIO(text, newline="")))


def test_show_prints_every_row_of_a_table_with_labels(tmp_path: Path) -> None:
    names = tuple(f"group {number}" for number in range(24))
    table = {"g": np.array(names)[np.arange(2400) % 24], "n": np.ones(2400)}
    (tmp_path / "counts.json").write_text(ask(dp.CountQuestion("n", by=dp.Categories("g", names)), table).to_json())
    printed = run("show", tmp_path / "counts.json").output
    assert all(re.search(rf"{name} ", printed) for name in names)
    assert "rows are shown" not in printed


def test_show_says_how_the_rows_that_it_leaves_out_are_written(tmp_path: Path) -> None:
    curve = ask(dp.CdfQuestion("x", dp.Grid(0, 1, cells=64)), {"x": np.linspace(0, 1, 2000)})
    (tmp_path / "curve.json").write_text(curve.to_json())
    assert "21 of 65 rows are shown; --csv FILE writes all" in run("show", tmp_path / "curve.json").output


def test_a_count_and_a_variance_each_have_figures_of_their_own(tmp_path: Path) -> None:
    by = dp.Categories("g", ("a", "b"))
    found = ask(dp.SummaryQuestion("x", 0, 1, by=by), {"x": np.linspace(0, 1, 2000), **PARTS})
    (tmp_path / "summary.json").write_text(found.to_json())
    variances = re.findall(r"variance │ +(\S+)", run("show", tmp_path / "summary.json").output)
    assert [len(text) >= 6 for text in variances] == [True, True]  # to four figures
    assert all(abs(float(text) - 1 / 12) < 0.001 for text in variances)


def test_numbers_have_their_intervals_in_frames() -> None:
    table = {"t": np.array([2.5, 6.5])[np.arange(2000) % 2], "e": np.arange(2000) // 1000, "s": np.full(2000, 0.4)}
    by = dp.Categories("g", ("a", "b"))
    curves = ask(dp.SurvivalQuestion("t", "e", dp.Grid(0, 10, cells=10), by=by), {**table, **PARTS})
    rates = dp.group_rates(ask(dp.ScoresQuestion("e", "s", by=by), {**table, **PARTS}))
    for found in (dp.survival_numbers(curves, times=[5]), rates):
        columns = display.frame_columns(found.to_frame())
        assert list(columns)[-2:] == ["lower", "upper"]
        assert np.all((columns["lower"] <= columns["upper"]) | np.isnan(columns["value"]))
        assert "lower" not in display.frame_columns(found.to_frame(level=None))


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(
    ("unit", "factor", "form"),
    [("date", 1, r"19[45]\d-\d\d-\d\d"), ("moment", 86_400, r"19[45]\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")],
)
def test_files_have_dates_and_the_zone_of_times(unit: str, factor: int, form: str) -> None:
    values, by = {"day": DAYS * factor, **PARTS}, dp.Categories("g", ("a", "b"))
    grid = dp.Grid(-9000 * factor, -5000 * factor, cells=8)
    places: tuple[tuple[Any, tuple[str, ...]], ...] = (
        (dp.CdfQuestion("day", grid, measured_in=unit), ("x",)),
        (dp.CdfQuestion("day", grid, measured_in=unit, by=by), ("x",)),
        (dp.HistogramQuestion("day", grid, measured_in=unit), ("left", "right")),
        (dp.QuantilesQuestion("day", grid, (0.5,), measured_in=unit), ("x", "lower", "upper")),
        (dp.AutoRangeQuantilesQuestion("day", (0.5,), unit), ("x", "cell_lower", "upper_population")),
    )
    for question, names in places:
        head, *rows = cells(ask(question, values).to_csv_text())
        found = [row[head.index(name)] for row in rows for name in names]
        assert found
        assert all(re.fullmatch(form, cell) for cell in found)


def test_files_have_no_dates_beyond_all_calendars() -> None:
    curve = ask(dp.AutoRangeCdfQuestion("day", "date"), {"day": DAYS})
    head, *rows = cells(curve.to_csv_text())
    assert head[0] == "x"
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", row[0]) for row in rows)
    days = np.array([row[0] for row in rows], dtype="datetime64[D]").astype(float)
    middle = np.interp(0.5, [float(row[1]) for row in rows], days)
    assert abs(middle - np.median(DAYS)) < 30
    assert len(rows) < len(display.frame_columns(curve.to_frame())["x"])  # numbers of days, without end, stand there


def test_terminals_and_pictures_say_that_times_are_in_utc(tmp_path: Path) -> None:
    question = dp.CdfQuestion("at", dp.Grid(-8e8, -4e8, cells=8), measured_in="moment")
    curve = ask(question, {"at": DAYS * 86_400})
    assert "(moment, UTC)" in display.svg_text(curve.plot_headless())
    (tmp_path / "table.csv").write_text("at\n" + "\n".join(map(str, DAYS * 86_400)))
    asked = ("--column", "at", "--measured-in", "moment", "--grid=-8e8:-4e8:8", "--epsilon", 5)
    assert re.search(r"19\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC", run(
        "cdf", tmp_path / "table.csv", *asked, "--adjacency", "add-remove"
    ).output)  # fmt: skip


def test_windows_of_files_that_are_called_alike_are_all_there(tmp_path: Path) -> None:
    table, grid = {"x": np.linspace(0, 1, 2000)}, dp.Grid(0, 1, cells=8)
    files = [tmp_path / folder / "curve.json" for folder in ("one", "two", "three")]
    for file in files:
        file.parent.mkdir()
        file.write_text(ask(dp.CdfQuestion("x", grid), table).to_json())
    run("drift", *files, "--csv", tmp_path / "drift.csv")
    windows = {row[0] for row in cells((tmp_path / "drift.csv").read_text())[1:]}
    assert windows == set(map(str, files[1:]))
