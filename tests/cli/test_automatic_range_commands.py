"""A table of which nothing is known: one command, a price before the charge, a curve and a band that holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import dpcurves as dp
from dpcurves.cli.one_table import QUESTIONS
from dpcurves.curves.question_json import question_from_json
from dpcurves_parties.cli.tasks import propose_grid
from dpcurves_server.cli.commands import build_forms

Run = Callable[..., Result]
RECORDS = 4000
ONE = ("--epsilon", "1", "--adjacency", "add-remove")


@pytest.fixture(scope="module")
def amounts() -> np.ndarray:
    return np.random.default_rng(7).lognormal(5, 1.5, RECORDS).round(2)


@pytest.fixture(scope="module")
def strange(amounts: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An id, a date, an amount; how long, whether it ended, and points of a score."""
    draw, file = np.random.default_rng(8), tmp_path_factory.mktemp("strange") / "orders.csv"
    ended, points = draw.integers(0, 2, RECORDS), draw.normal(600, 50, RECORDS).round()
    lines = (
        f"A-{number:05d},2024-0{1 + number % 9}-1{number % 10},{amount},{7 * amount:.0f},{end},{score + 60 * end:.0f}\n"
        for number, (amount, end, score) in enumerate(zip(amounts, ended, points, strict=True))
    )
    file.write_text("order,day,amount,days,ended,points\n" + "".join(lines), encoding="utf-8")
    return file


def test_one_command_gives_price_curve_and_a_band_that_holds(
    run: Run, strange: Path, amounts: np.ndarray, tmp_path: Path
) -> None:
    """A band holds with chance 0.999: both of two fail once in a million runs."""
    held = []
    for file in (tmp_path / "one.json", tmp_path / "two.json"):
        done = run("cdf", strange, "--column", "amount", *ONE, "--json", file)
        assert done.exit_code == 0, done.output
        assert "epsilon 1 pays for" in done.output
        curve = dp.CDF.from_json(file.read_text(encoding="utf-8"))
        truth = np.searchsorted(np.sort(amounts), curve.x) / RECORDS
        lower, upper = curve.band(0.999)
        held.append(((lower <= truth + 1e-9) & (truth <= upper + 1e-9)).all())
        assert np.abs(curve.y - truth).max() < 0.05
        assert float((upper - lower)[curve.prefixes.plotted_edges].mean()) < 0.15
    assert any(held)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("word", ["cdf", "quantiles", "histogram"])
def test_that_a_file_without_types_has_dates_is_for_the_asker_to_say(run: Run, strange: Path, word: str) -> None:
    more = ("--grid", "auto") if word == "histogram" else ()
    warned = run(word, strange, "--column", "day", *more, *ONE)
    assert "each line is a record" in warned.output
    assert "other text, such as $5, is missing" in warned.output
    assert warned.output.index("declares no types") < warned.output.index("mechanism"), warned.output
    declared = run(word, strange, "--column", "day", "--measured-in", "date", *more, *ONE)
    assert declared.exit_code == 0
    assert "declares no types" not in declared.output
    assert re.search(r"\b20\d\d-\d\d-\d\d\b", declared.output)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize(
    ("asked", "turns"),
    [
        (("cdf", "--column", "amount", "--grid", "auto"), "3 to"),
        (("survival", "--time", "days", "--event", "ended", "--censored-value", "0", "--grid", "auto"), "4"),
        (("scores", "--label", "ended", "--neg-label", "0", "--score", "points", "--grid", "auto"), "4"),
    ],
    ids=lambda given: str(given[0]),
)
def test_auto_is_a_grid_that_is_looked_for_and_its_price_is_told_first(
    run: Run, strange: Path, asked: tuple[str, ...], turns: str
) -> None:
    word, *options = asked
    done = run(word, strange, *options, *ONE)
    assert done.exit_code == 0, done.output
    assert f"is given: epsilon 1 pays for {turns}" in done.output
    planned = run("plan", word, *options, *ONE)
    assert planned.exit_code == 0, planned.output
    assert "epsilon 1 pays for" in planned.output


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("asked", [("quantiles", "--probabilities", "0.5"), ("cdf",), ("histogram", "--grid", "auto")])
def test_dates_of_a_file_without_types_are_days(run: Run, tmp_path: Path, asked: tuple[str, ...]) -> None:
    """Those from a Friday on, one a day; lines that are no dates are missing, and no line reaches another."""
    file, kept = tmp_path / "dates.csv", tmp_path / "kept.json"
    days = [f"{day}{end}" for day in np.arange("2021-01-01", "2023-01-01", dtype="M8[D]") for end in ("", " 12:00")]
    lines = "".join(f"{number},{day}\n" for number, day in enumerate([*days, "2021-02-30", "soon", "2021-1-1"] * 3))
    file.write_text(f"id,day\n{lines}", encoding="utf-8")
    word, *options = asked
    done = run(word, file, "--column", "day", *options, *ONE, "--json", kept)
    assert done.exit_code == 0, done.output
    found: Any = dp.read_result(kept)
    first, last = (int(np.datetime64(day).astype(int)) for day in ("2021-01-01", "2023-01-01"))
    if word == "histogram":  # its cells are round numbers, and noise may place one end far away
        middle = found.x[np.searchsorted(np.cumsum(found.count), found.count.sum() / 2)]
        assert middle == pytest.approx((first + last) / 2, abs=1500)
        assert found.total == pytest.approx(3 * len(days), rel=0.05)
    else:
        middle = found.x[0] if word == "quantiles" else found.quantile(0.5)
        assert middle == pytest.approx((first + last) / 2, abs=40)


@pytest.mark.reproduction
def test_bounds_of_sums_and_cells_of_histograms_are_found_and_their_price_is_told_first(
    run: Run, strange: Path, amounts: np.ndarray, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.json"
    for word in ("mean", "sum", "variance", "summary"):
        done = run(word, strange, "--column", "amount", "--bounds", "auto", *ONE, "--json", kept)
        assert done.exit_code == 0, done.output
        assert "no bounds are given: epsilon 1 pays for all rounds" in done.output
        assert "values beyond are clipped to them" in done.output
    found: Any = dp.read_result(kept)
    assert found.privacy.epsilon == pytest.approx(1)
    assert found.lower < np.median(amounts) < found.upper
    assert found.mean == pytest.approx(amounts.mean(), rel=0.25)
    done = run("histogram", strange, "--column", "amount", "--grid", "auto", *ONE, "--by", "ended=0,1")
    assert done.exit_code == 0, done.output
    assert "no grid is given: epsilon 1 pays for 4 rounds" in done.output
    assert "counted apart" in done.output
    by_days = "--weight", "days", "--weight-cap", "9", *ONE
    for word, cells, note in (
        ("mean", ["--bounds", "auto"], "no bounds are given: epsilon 1 pays for 8 rounds"),
        ("quantiles", ["--by", "ended=0,1"], "no grid is given: epsilon 1 pays for 5 rounds"),
        ("histogram", ["--grid", "auto"], "counted apart"),
    ):
        done = run(word, strange, "--column", "amount", *cells, *by_days)
        assert (done.exit_code, note in done.output, "found privately" in done.output) == (0, True, True), done.output
    dated = "--time", "days", "--event", "ended", "--censored-value", "0", "--grid", "auto"
    refused = run("survival", strange, *dated, *by_days)
    assert refused.exit_code == 2
    assert "weighted results of this command need public cells" in " ".join(refused.output.split())
    assert "or write --grid auto" in run("histogram", strange, "--column", "amount", *ONE).output


def test_bounds_of_values_of_any_size_need_no_unit(run: Run, strange: Path) -> None:
    done = run("bounds", strange, "--column", "amount", "--coverage", "0.9", *ONE)
    assert done.exit_code == 0, done.output
    assert "1,024" in done.output
    assert "of these records minus 21, with probability" in done.output


def test_a_study_and_the_forms_of_a_server_take_auto() -> None:
    assert question_from_json({"ask": "cdf", "column": "x", "grid": "auto"}) == dp.AutoRangeCdfQuestion("x")
    found = question_from_json({"ask": "survival", "time": "t", "event": "e", "grid": "auto"})
    assert found == dp.AutoRangeSurvivalQuestion("t", "e")
    found = question_from_json({"ask": "bounds", "column": "x", "unit": "auto", "coverage": "0.9"})
    assert found.unit == 2.0**-30
    typed = {"time": ["t"], "event": ["e"], "grid": ["auto"]}
    assert build_forms(QUESTIONS)["survival"].build_question(typed, {}) == dp.AutoRangeSurvivalQuestion(
        "t", "e", event_value="1"
    )
    either = {"ask": "mean", "column": "x"}
    assert question_from_json({**either, "lower": "auto", "upper": "auto"}) == dp.AutoRangeMeanQuestion("x")
    by = {"column": "ward", "categories": "auto"}
    found = question_from_json({"ask": "histogram", "column": "x", "grid": "auto", "by": by})
    assert found == dp.AutoRangeHistogramQuestion("x", by=dp.UnlistedCategories("ward"))
    weights = {"column": "x", "weight": "w", "weight_cap": 4}
    found = question_from_json({"ask": "weighted-cdf", "grid": "auto", **weights})
    assert found == dp.AutoRangeWeightedCdfQuestion("x", "w", 4)
    found = question_from_json({"ask": "weighted-summary", "bounds": "auto", "statistic": "sum", **weights})
    assert found == dp.AutoRangeWeightedSummaryQuestion("x", "w", 4, statistic="sum")
    typed = {name: [str(value)] for name, value in weights.items()}
    forms = build_forms(QUESTIONS)
    assert forms["quantiles"].build_question({**typed, "grid": ["auto"], "probabilities": ["0.5"]}, {}) == (
        dp.AutoRangeWeightedQuantilesQuestion("x", (0.5,), "w", 4)
    )
    assert forms["mean"].build_question({**typed, "bounds": ["auto"]}, {}) == (
        dp.AutoRangeWeightedSummaryQuestion("x", "w", 4)
    )
    typed = {"column": ["x"], "bounds": ["auto"]}
    assert build_forms(QUESTIONS)["sum"].build_question(typed, {}) == dp.AutoRangeSumQuestion("x")
    with pytest.raises(ValueError, match=r"^lower: give lower and upper as numbers"):
        question_from_json({**either, "lower": "auto", "upper": 3})
    with pytest.raises(ValueError, match=r"^grid: this question needs a grid; only cdf, histogram, "):
        question_from_json({"ask": "roc", "label": "y", "score": "x", "grid": "auto"})


@pytest.mark.parametrize(
    ("seen", "grid"),
    [
        ((18, 93, (22, 80)), "10:100:64"),
        ((0.5, 90_000, (2, 30_000)), "geometric:0.1:100000:64"),
        ((-3.2, 4.1, (-2, 2)), "-4:5:64"),
        ((7, 7, (7, 7)), "6:8:64"),
        ((-90, -10, (-80, -20)), "-100:0:64"),
    ],
)
def test_a_proposed_grid_has_round_ends_and_holds_the_sample(
    seen: tuple[float, float, tuple[float, float]], grid: str
) -> None:
    assert propose_grid(*seen, cells=64) == grid
    made = dp.Grid.parse(grid)
    assert made.lower <= seen[0] <= seen[1] <= made.upper


def test_a_grid_for_a_task_is_proposed_from_a_public_sample(run: Run, tmp_path: Path) -> None:
    sample = tmp_path / "published.csv"
    sample.write_text("id,age\n" + "".join(f"{number},{18 + number % 75}\n" for number in range(90)), encoding="utf-8")
    done = run("task", "suggest", sample, "--column", "age", "--cells", "64")
    assert done.exit_code == 0, done.output
    assert "--grid 10:100:64" in done.output
    assert "the sample must be public" in done.output
    few = run("task", "suggest", sample, "--column", "name")
    assert few.exit_code != 0


def test_who_needs_public_cells_says_what_to_do_instead(run: Run, strange: Path) -> None:
    done = run(
        "calibration", strange, "--label", "ended", "--neg-label", "0", "--score", "points", "--grid", "auto", *ONE
    )
    assert done.exit_code != 0
    assert "dpcurves task suggest proposes cells from a public sample" in " ".join(done.output.split())
