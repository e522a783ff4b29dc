"""Times until an event on the terminal: readings of survival curves, and questions with more than one time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from dpcurves.curves.result import result_from_json

Run = Callable[..., Result]

ONE = ("--epsilon", "1", "--adjacency", "replace-one")
OBSERVED = ("--time", "delay", "--event", "late", "--censored-value", "0", "--grid=-100:300:8")
GROUPS = ("--by", "carrier=UA,AA")


def test_readings_of_released_curves_are_shown_and_drawn(run: Run, parquet: Path, tmp_path: Path) -> None:
    picture = tmp_path / "numbers.svg"
    asked = ("survival", parquet, *OBSERVED, *GROUPS, *ONE)
    numbers = run(*asked, "--show", "numbers", "--until", 200, "--times", "0,100", "--plot", picture).stdout
    assert all(words in numbers for words in ("log-rank, ", "restricted", "number needed", "hazard ratio"))
    assert "<svg" in picture.read_text()
    assert numbers.startswith("survival over delay until late by carrier\n")
    hazards = run(*asked, "--show", "hazard").stdout
    assert hazards.count("cumulative") == 2
    assert hazards.count("95% band for") == 4  # these records and the population, in each group
    figure = run(*asked, "--show", "figure", "--weights", "0,1", "--theme", "print", "--plot", tmp_path / "figure.svg")
    assert "Fleming-Harrington (0, 1), " in figure.stdout
    assert "test: p " in (tmp_path / "figure.svg").read_text()


def test_numbers_of_competing_risks_and_of_late_entries_are_shown_and_drawn(
    run: Run, parquet: Path, tmp_path: Path
) -> None:
    causes = ("incidence", parquet, "--time", "delay", "--event", "late", "--causes", "1", "--grid=-100:300:8", *ONE)
    written = "--plot", tmp_path / "numbers.svg", "--csv", tmp_path / "numbers.csv"
    assert run(*causes, *GROUPS, "--show", "numbers", "--until", 200, "--times", 100, *written).exit_code == 0
    numbers = (tmp_path / "numbers.csv").read_text()
    for words in ("time lost to 1 up to 200", "share with event 1 at 100", "difference of shares", "hazard ratio of 1"):
        assert words in numbers
    assert ">share with an event<" in (tmp_path / "numbers.svg").read_text()
    shown = run(*causes, *GROUPS).stdout
    assert "Gray's test of 1: chi-squared " in shown
    assert "at risk" in shown
    assert "Gray's test" not in run(*causes).stdout
    refused = run(*causes, "--times", 100)
    assert refused.stderr == "dpcurves: show: --until and --times need --show numbers\n"
    late = (
        "delayed-entry",
        parquet,
        "--entry",
        "score",
        "--time",
        "delay",
        "--event",
        "late",
        "--grid",
        "0:300:6",
        *ONE,
    )
    assert "restricted" in run(*late, "--show", "numbers", "--until", 200).stdout
    assert "95% band" in run(*late, "--show", "hazard").stdout


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(
    "case",
    [
        (("incidence", "--time", "delay", "--event", "carrier", "--causes", "UA,AA", "--censored-value", "DL",
          "--grid=-100:300:8"), "competing-risks", "an event"),
        (("delayed-entry", "--entry", "score", "--time", "delay", "--event", "late", "--grid", "0:300:6"),
         "delayed-entry", "median"),
        (("interval-censored", "--last", "score", "--first", "delay", "--grid", "0:300:6"),
         "interval-censored", "band"),
        (("survival-model", "--score", "score", "--time", "delay", "--event", "late", "--times", "0:100:4"),
         "survival-model", "AUC at 100"),
    ],
)  # fmt: skip
def test_each_question_is_answered_written_and_drawn(
    run: Run, parquet: Path, tmp_path: Path, case: tuple[tuple[str, ...], str, str]
) -> None:
    asked, kind, words = case
    file, picture = tmp_path / "curve.json", tmp_path / "curve.svg"
    command, *options = asked
    assert run(command, parquet, *options, *ONE, "--json", file, "--plot", picture).exit_code == 0
    assert json.loads(file.read_text())["kind"] == kind
    assert result_from_json(file.read_text()).to_json() == file.read_text().rstrip("\n")
    shown = (
        run(command, parquet, *options, *GROUPS, *ONE)
        if kind != "competing-risks"
        else run(command, parquet, *options, *ONE)
    )
    assert words in shown.stdout or "carrier UA" in shown.stdout
    if command == "survival-model":  # before, a model by category was printed without them
        assert shown.stdout.count("C-index up to 100 ") == 2 * shown.stdout.count("carrier ")


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (("--show", "numbers"), "show: add the times"),
        (("--show", "numbers", "--until", "400"), "until: a time from -100 to 300 is needed"),
        (("--show", "numbers", "--times", "100", "--since", "100"), "since: must be a time before"),
        (("--until", "100"), "show: --until, --times and --since need"),
        (("--show", "figure", "--theme", "sepia"), "theme: must be light or dark or print"),
        (("--weights", "1"), "weights: two numbers"),
    ],
)
def test_what_cannot_be_read_is_refused_before_a_file_is_opened(run: Run, more: tuple[str, ...], line: str) -> None:
    result = run("survival", "nowhere.csv", *OBSERVED, *ONE, *more)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"dpcurves: {line}"), result.stderr
