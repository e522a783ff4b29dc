from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import dpcurves as dp
from dpcurves.distributions import ThresholdAnswers

Run = Callable[..., Result]

TERMS = ("--epsilon", "1", "--adjacency", "replace-one", "--units", "100000")
GRID = ("--grid", "0:100:1024")
KINDS = {
    "cdf": GRID, "quantiles": GRID, "histogram": GRID, "roc": (), "calibration": (), "hosmer-lemeshow": (),
    "binned-residuals": (), "residuals": (), "bounds": ("--coverage", "0.95"), "summary": ("--bounds", "0:100"),
    "count": (), "sum": ("--bounds", "0:100"), "mean": ("--bounds", "0:100"),
    "variance": ("--bounds", "0:100"),
    "table": ("--x-grid", "0:1:8", "--y-grid", "0:1:8"), "scores": (), "survival": ("--grid", "0:60:60"),
    "bars": ("--column", "a", "--categories", "x,y"),
    "contingency": ("--rows", "a", "--row-categories", "x,y", "--columns", "b", "--column-categories", "0,1,2"),
}  # fmt: skip


@pytest.fixture
def without_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the first sentence of a plan, which takes the longest and has tests of its own."""
    monkeypatch.setattr("dpcurves.cli.studies._compute_short_forecast", lambda *_: None)


@pytest.mark.usefixtures("without_forecast")
@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_names_price_error_and_mechanism_of_every_turn(run: Run, kind: str) -> None:
    result = run("plan", kind, *KINDS[kind], *TERMS)
    assert result.exit_code == 0, result.output
    assert "replace-one, protects each record" in result.stdout
    turns = {
        "cdf": 2,
        "quantiles": 3,
        "roc": 4,
        "scores": 2,
        "calibration": 3,
        "hosmer-lemeshow": 3,
        "binned-residuals": 4,
        "residuals": 5,
        "summary": 4,
        "sum": 3,
        "mean": 4,
        "variance": 5,
    }.get(kind, 1)
    assert result.stdout.count("curator: ") == turns


def test_the_number_of_units_is_needed_where_it_is_public(run: Run) -> None:
    result = run("plan", "cdf", *GRID, "--epsilon", "1", "--adjacency", "replace-one")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("dpcurves: units: ")


def test_the_number_of_units_is_refused_where_it_is_private(run: Run) -> None:
    asked = ("plan", "cdf", *GRID, "--epsilon", "1", "--adjacency", "add-remove")
    assert run(*asked).exit_code == 0
    refused = run(*asked, "--units", "10")
    assert refused.exit_code == 2
    assert refused.stderr == "dpcurves: units: under add-remove the number of units is private; leave --units out\n"


@pytest.mark.usefixtures("without_forecast")
def test_a_plan_of_scores_says_how_much_worse_it_is_than_a_question_of_its_own(run: Run) -> None:
    said = " ".join(run("plan", "scores", *TERMS).stdout.split())
    assert "note: one release for all metrics; relative to a separate question" in said
    assert "measured on 100,000 calibrated scores at epsilon 1" in said
    assert "note:" not in run("plan", "roc", *TERMS).stdout


def test_a_larger_unit_costs_precision(run: Run) -> None:
    result = run("plan", "cdf", *GRID, *TERMS, "--unit", "patient", "--rows-per-unit", "4")
    assert result.exit_code == 0, result.output
    assert "protects patient (at most 4 records each)" in result.stdout


def test_categories_are_planned_for_together(run: Run) -> None:
    result = run("plan", "cdf", *GRID, *TERMS, "--by", "carrier", "--categories", "UA,AA")
    assert result.exit_code == 0, result.output
    assert "by carrier" in result.stdout


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        (("--hint", "peaked", "--epsilon", "1", "--adjacency", "replace-one", "--units", "5"), "grid"),
        ((*GRID, "--adjacency", "replace-one", "--units", "5"), "epsilon"),
        ((*GRID, "--epsilon", "1", "--units", "5"), "adjacency"),
        ((*GRID, *TERMS, "--rho", "1"), "epsilon, rho"),
        ((*GRID, *TERMS[:-1], "many"), "units"),
        ((*GRID, *TERMS, "--edges", "1,2"), "edges"),
    ],
)
def test_what_is_missing_or_contradicts_is_named(run: Run, options: tuple[str, ...], argument: str) -> None:
    result = run("plan", "cdf", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"dpcurves: {argument}: ")
    assert result.stderr.count("\n") == 1


def test_a_plan_of_bounds_says_how_many_records_they_may_miss(run: Run) -> None:
    planned = run("plan", "bounds", "--coverage", "0.95", *TERMS)
    question = dp.BoundsQuestion("value", 1, "0.95")
    (plan,) = dp.plan_question(question, dp.PrivacyLoss.pure(1), dp.REPLACE_ONE.to_adjacency(dp.EACH_RECORD, 100_000))
    assert isinstance(plan.distribution, ThresholdAnswers)
    assert planned.stdout.endswith(f"(exceeded with probability 0.05): {plan.distribution.alpha(0.05):.4g}\n")
    refused = run("plan", "bounds", "--coverage", "1.95", *TERMS)
    assert (
        refused.stderr
        == "dpcurves: coverage: a share above 0 and up to 1, of at most 6 decimals, is needed, as in 0.95, got 1.95\n"
    )


@pytest.mark.reproduction
def test_a_plan_shows_the_turns_that_a_hint_chooses(run: Run) -> None:
    grid = ("plan", "cdf", "--grid", "0:100:1024", *TERMS[:-2])
    looking = run(*grid, "--units", "10000")
    assert looking.stdout.count("curator: ") == 3
    assert "assumes that records are spread evenly" in " ".join(looking.stdout.split())
    counted = run(*grid, "--units", "10000", "--hint", "atoms")
    assert counted.stdout.count("curator: ") == 1
    assert "said to have atoms" in counted.stdout
    wrong = run(*grid, "--units", "10000", "--hint", "flat")
    assert "hint: must be spread or peaked or atoms, got 'flat'" in wrong.stderr


def test_a_plan_says_first_how_wide_the_band_is_where_the_number_of_records_is_public(run: Run) -> None:
    first, *others = run("plan", "cdf", "--grid", "0:100:24", *TERMS[:-1], "3000").stdout.splitlines()
    assert first.startswith("95% band, at its widest: about plus or minus 0.7")
    assert " points (" in first
    private = run("plan", "cdf", "--grid", "0:100:24", "--epsilon", "1", "--adjacency", "add-remove").stdout
    assert "plus or minus" not in private
    assert "--forecast N" in private
    assert "--forecast N" not in " ".join(others)  # the half width stands there


FIRST_LINES = {
    "quantiles": (GRID, "95% interval of a quantile, on average: about plus or minus "),
    "bars": (KINDS["bars"], "95% interval of each category, simultaneously: about plus or minus "),
    "roc": ((), "95% interval of the area: about plus or minus 0."),
    "delayed-entry": (("--grid", "0:60:20"), "95% band, on average: about plus or minus "),
    "uplift": ((), "95% interval of the uplift area: about plus or minus 0."),
}  # fmt: skip


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("kind", FIRST_LINES)
def test_plans_of_other_questions_say_first_how_wide_their_intervals_are(run: Run, kind: str) -> None:
    """Also where the second class is left out; quantiles are in units of the column, of which 100 are the range."""
    options, start = FIRST_LINES[kind]
    first, second, *_ = run("plan", kind, *options, *TERMS[:-1], "900").stdout.splitlines()
    assert first.startswith(start)
    assert ("points" in f"{first} {second}") is (kind == "delayed-entry")
    if kind == "quantiles":
        assert float(first.removeprefix(start).split()[0]) < 20


def test_a_plan_without_a_forecast_imports_nothing_that_it_does_not_need() -> None:
    program = (
        "import sys\n"
        "from dpcurves.cli.app import build\n"
        "try:\n"
        "    build()(['plan', 'histogram', '--grid', '0:1:64', '--epsilon', '1', '--adjacency', 'add-remove'])\n"
        "except SystemExit as end:\n"
        "    print('left with', end.code)\n"
        "heavy = ('scipy', 'sqlalchemy', 'duckdb', 'pyarrow', 'narwhals', 'matplotlib', 'numba', 'pandas')\n"
        "print('imported', [name for name in heavy if name in sys.modules])\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    assert ended.stdout.splitlines()[-2:] == ["left with 0", "imported []"]


def test_a_plan_says_how_far_off_the_whole_answer_would_be_for_records_that_are_made_up(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")  # a table of this width is not folded
    asked = ("plan", "histogram", "--grid", "0:1:8", "--epsilon", "1", "--adjacency", "add-remove")
    said = run(*asked, "--forecast", "500").stdout
    assert "forecast for 500 records: records in a cell, root mean square" in said
    (head,) = (line for line in said.splitlines() if "error, by noise" in line)
    assert head.index("error, by noise") < head.index("half width of the 95% interval") < head.index("population")
    (row,) = (line for line in said.splitlines() if "tied values" in line)
    assert row.count("±") == 3
    refused = run(*asked, "--forecast", "none")
    assert refused.stderr == "dpcurves: forecast: a whole number of at least 1 is needed, as in 5, got 'none'\n"


def test_a_plan_forecasts_from_a_released_curve(run: Run, tmp_path: Path) -> None:
    curve = dp.cdf([0.0] * 300 + [0.6] * 600, grid=dp.Grid(0, 1, cells=8), epsilon=9, adjacency=dp.ADD_REMOVE)
    file = tmp_path / "last_year.json"
    file.write_text(curve.to_json())
    asked = ("plan", "histogram", "--grid", "0:1:8", "--epsilon", "1", "--adjacency", "add-remove", "--like")
    said = run(*asked, str(file)).stdout
    assert "the released CDF" in said
    assert "forecast for 90" in said or "forecast for 89" in said
    assert "forecast for 50 records" in run(*asked, str(file), "--forecast", "50").stdout
    file.write_text("{")
    assert run(*asked, str(file)).stderr == "dpcurves: curve: the text is no JSON: use the text that to_json wrote\n"
    assert run(*asked, str(tmp_path)).stderr.startswith("dpcurves: like: ")


@pytest.mark.reproduction
def test_a_plan_fits_eighty_columns_and_its_sentences_are_whole(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for asked in (("cdf", *GRID), ("histogram", "--grid", "0:1:8", "--forecast", "50"), ("mean", "--bounds", "0:1")):
        said = run("plan", *asked, *TERMS).stdout
        assert max(len(line) for line in said.splitlines() if not line.startswith("note: ")) <= 80
        assert "spread evenly, or, if their number is private" in " ".join(said.split()) or asked[0] != "cdf"


@pytest.mark.reproduction
def test_a_plan_draws_its_forecast(run: Run, tmp_path: Path) -> None:
    asked, file = ("plan", "cdf", "--grid", "0:1:16", "--epsilon", "1", "--adjacency"), tmp_path / "a.svg"
    done = run(*asked, "replace-one", "--units", "300", "--plot", str(file))
    assert (done.exit_code, "forecast for 300 records" in done.stdout) == (0, True), done.output
    assert "300 records; " in file.read_text()
    assert "nothing was spent" in file.read_text()
    refused = run(*asked, "add-remove", "--plot", str(file))
    assert (refused.stdout, refused.stderr) == ("", "dpcurves: plot: give the number of records, as --forecast N\n")
    assert "a file that ends in" in run(*asked, "add-remove", "--forecast", "9", "--plot", "a.txt").stderr
    mean = run("plan", "mean", "--bounds", "0:1", *TERMS, "--plot", str(file))
    assert mean.stderr.startswith("dpcurves: plot: only forecasts of CdfQuestion, ")


def test_a_plan_with_a_filter_relates_errors_to_the_typed_share_of_rows(run: Run) -> None:
    asked = ("plan", "count", "--column", "wage", "--where", "age >= 65", *TERMS)
    alone, tenth = run(*asked), run(*asked, "--share-of-rows", "0.1")
    assert "--share-of-rows 0.1 shows errors for rows of which a tenth passes" in " ".join(alone.stdout.split())
    assert "share of 0.1 of units" in " ".join(tenth.stdout.split())
    assert "for 10,000 of 100,000 records" in " ".join(tenth.stdout.split())
    (whole,), (part,) = (
        re.findall(r"([0-9.]+)%", result.stdout.partition("mechanism")[2]) for result in (alone, tenth)
    )
    assert abs(float(part) / float(whole) - 10) < 0.5
    refused = run(*asked, "--share-of-rows", "2")
    assert refused.stderr.startswith(
        "dpcurves: share-of-rows: must be a number above 0 and at most 1, as in 0.1, got '2'"
    )
    assert "for 100,000 of 100,000 records" in " ".join(run(*asked, "--share-of-rows", "1").stdout.split())
    refused = run(*asked, "--forecast", "1000")
    assert "share-of-rows: the question has a filter: give the share" in refused.stderr
