from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import dpcurves as dp
from dpcurves.cli.output import IntervalSettings, ResultView
from dpcurves.curves import CDF, Histogram, Quantiles
from dpcurves.display import check_document

Run = Callable[..., Result]

ONE = ("--epsilon", "1", "--adjacency", "replace-one")
SURE = ("--epsilon", "1e6", "--adjacency", "replace-one")
DELAY = ("--column", "delay", "--grid=-100:300:64")
STATED = {"epsilon", "rho", "adjacency", "unit", "trust", "mechanism", "seeded", "grant"}


def document(run: Run, *arguments: object) -> dict[str, object]:
    result = run(*arguments, "--json", "-")
    assert result.exit_code == 0, result.output
    found: dict[str, object] = json.loads(result.stdout)
    check_document(found)
    return found


@pytest.mark.parametrize("source", ["csv", "parquet"])
def test_a_distribution_function_comes_from_csv_and_from_parquet(
    run: Run, source: str, request: pytest.FixtureRequest
) -> None:
    found = document(run, "cdf", request.getfixturevalue(source), *DELAY, *ONE)
    assert found["kind"] == "cdf"
    assert found["schema"] == 1
    assert found["x"] == np.linspace(-100, 300, 65).tolist()
    assert np.all(np.diff(np.array(found["y"])) >= 0)
    privacy = found["privacy"]
    assert isinstance(privacy, dict)
    assert privacy.keys() >= STATED
    assert (privacy["epsilon"], privacy["adjacency"], privacy["seeded"]) == (1.0, "replace-one", False)


def test_json_on_standard_output_can_be_read_as_a_curve(run: Run, parquet: Path) -> None:
    result = run("cdf", parquet, *DELAY, *SURE, "--json", "-")
    curve = CDF.from_json(result.stdout)
    assert curve.cdf(100.0) == pytest.approx(0.5, abs=1e-3)
    assert "mechanism" in result.stderr


def test_a_grid_may_begin_with_a_minus_after_a_space(run: Run, parquet: Path) -> None:
    found = document(run, "cdf", parquet, "--column", "delay", "--grid", "-100:300:8", *ONE)
    assert found["x"] == np.linspace(-100, 300, 9).tolist()


def test_edges_and_geometric_grids_are_grids(run: Run, parquet: Path) -> None:
    found = document(run, "histogram", parquet, "--column", "delay", "--edges", "-100,0,100,300", *SURE)
    assert found["x"] == [-100.0, 0.0, 100.0, 300.0]
    assert found["count"] == pytest.approx([500, 500, 1000], abs=1)
    found = document(run, "cdf", parquet, "--column", "delay", "--grid", "geometric:1:256:8", *ONE)
    assert found["x"] == [2.0**i for i in range(9)]


def test_outside_values_may_be_counted_apart(run: Run, parquet: Path) -> None:
    asked = ("histogram", parquet, "--column", "delay", "--grid", "0:100:2", *SURE)
    assert document(run, *asked)["count"] == pytest.approx([750, 1250], abs=1)
    assert document(run, *asked, "--outside", "apart")["count"] == pytest.approx([250, 255], abs=1)  # 100 is in


def test_quantiles_are_read_at_given_shares(run: Run, parquet: Path, tmp_path: Path) -> None:
    file = tmp_path / "q.json"
    result = run("quantiles", parquet, *DELAY, "--probabilities", "0.25,0.5,0.75", *SURE, "--json", file)
    assert result.exit_code == 0, result.output
    found = Quantiles.from_json(file.read_text())
    assert found.p.tolist() == [0.25, 0.5, 0.75]
    assert found.x == pytest.approx(np.array([0, 100, 200]), abs=2)


def test_quartiles_are_shown_with_intervals_on_the_terminal(run: Run, parquet: Path) -> None:
    result = run("quantiles", parquet, *DELAY, *ONE)
    assert result.exit_code == 0, result.output
    assert all(word in result.stdout for word in ("0.25", "0.5", "0.75", "records", "population", " to "))


def test_a_summary_shows_each_statistic_with_its_intervals_and_each_category_in_a_row(run: Run, parquet: Path) -> None:
    asked = ("summary", parquet, "--column", "delay", "--bounds", "-100:300", *SURE)
    found = document(run, *asked)
    assert (found["kind"], found["mean"]) == ("summary", pytest.approx(100, abs=1))
    shown = run(*asked).stdout
    assert "values clipped to [-100, 300]" in shown
    assert all(name in shown for name in ("count", "sum", "mean", "variance", "population"))
    split = run(*asked, "--by", "carrier", "--categories", "B6,UA", "--moments", "1", "--no-population").stdout
    assert "mean, records" in split
    assert "│ 101.8 │" in split
    assert "│  98.0 │" in split  # with the decimals of the row above
    assert "population" not in split
    assert run("summary", parquet, "--column", "delay", "--bounds", "1", *SURE).exit_code == 2


def test_count_sum_and_variance_are_asked_alone(run: Run, parquet: Path) -> None:
    delay = ("--column", "delay")
    assert document(run, "count", parquet, *delay, *SURE)["count"] == pytest.approx(2000, abs=1)
    bounded = (*delay, "--bounds", "-100:300", *SURE)
    assert document(run, "sum", parquet, *bounded)["sum"] == pytest.approx(199_393, abs=50)
    shown = run("variance", parquet, *bounded).stdout
    assert "variance of delay, values clipped to [-100, 300]" in shown
    split = run("count", parquet, *delay, "--by", "carrier=AA,UA", *SURE).stdout
    assert "records with a value of delay" in split
    assert split.count("population") == 3
    assert "with a value" not in run("count", parquet, *SURE).stdout  # no column is read


def test_a_histogram_is_shown_with_its_face_below(run: Run, parquet: Path) -> None:
    result = run("histogram", parquet, "--column", "delay", "--grid", "-100:300:8", *ONE)
    assert result.exit_code == 0, result.output
    for words in (
        "delay,",
        "from",
        "records",
        "epsilon 1",
        "replace-one",
        "each record",
        "a trusted curator",
        "mechanism: ",
    ):
        assert words in result.stdout
    assert "not added to the loss of other calls" in result.stderr
    kept = parquet.with_name("bars.json")
    assert run("histogram", parquet, "--column", "delay", "--grid", "-100:300:8", *SURE, "--json", kept).exit_code == 0
    rows = [line for line in run("show", kept).stdout.splitlines() if line.startswith("│")]
    sure = run("histogram", parquet, "--column", "delay", "--grid", "-100:300:8", *SURE).stdout
    assert [row for row in rows if row in sure] == rows, "a question prints the table of the kept result"


def test_a_long_curve_is_thinned_on_the_terminal(run: Run, parquet: Path) -> None:
    result = run("cdf", parquet, "--column", "delay", "--grid", "-100:300:1024", *ONE)
    assert "41 of 1,025 rows are shown" in result.stdout  # every 10 minutes
    assert re.findall(r"^│ +(\S+) │", result.stdout, re.MULTILINE)[:3] == ["-100.0", "-89.8", "-80.1"]
    assert "95% band for" in result.stdout
    assert len(result.stdout.splitlines()) < 60


def test_the_band_of_a_very_fine_curve_is_left_to_its_picture() -> None:
    curve = dp.cdf([1, 2, 3] * 9, grid=dp.Grid(0, 4, cells=64), epsilon=1, adjacency=dp.REPLACE_ONE)
    (shown,) = ResultView(IntervalSettings(0.95, True), max_points=64).tables(curve)
    assert list(shown.columns) == ["x", "y"]
    assert shown.headline == "no band shown for more than 64 points"


def test_every_declared_category_has_a_curve(run: Run, parquet: Path) -> None:
    split = ("--by", "carrier", "--categories", "UA,AA,XX")
    found = document(run, "cdf", parquet, *DELAY, *split, *ONE)
    assert found["kind"] == "curves"
    curves = found["curves"]
    assert isinstance(curves, dict)
    assert list(curves) == ["UA", "AA", "XX"]
    shown = run("histogram", parquet, *DELAY, *split, *ONE).stdout
    assert all(words in shown for words in ("carrier UA", "carrier AA", "carrier XX"))


def test_two_columns_of_categories_make_a_curve_for_each_combination(run: Run, parquet: Path) -> None:
    split = ("--by", "carrier=UA,AA", "--by", "late=0,1")
    found = document(run, "cdf", parquet, *DELAY, *split, *ONE)
    curves = found["curves"]
    assert isinstance(curves, dict)
    assert list(curves) == ["UA, 0", "UA, 1", "AA, 0", "AA, 1"]
    shown = run("cdf", parquet, *DELAY, *split, *ONE).stdout
    assert "carrier" in shown.partition("late")[0]
    one = run("histogram", parquet, *DELAY, "--by", "carrier=UA,AA", *ONE)
    assert "carrier AA" in one.stdout
    assert "combination" not in run("plan", "cdf", "--grid", "0:1:8", *split, *ONE, "--units", "9").stdout
    wrong = run("cdf", parquet, *DELAY, "--by", "carrier=UA,AA", "--by", "tails=1", *ONE)
    assert (wrong.exit_code, wrong.stdout) == (4, "")
    assert wrong.stderr.startswith("dpcurves: by: ")


def test_quartiles_of_categories_are_shown_for_these_records_and_for_the_population(run: Run, parquet: Path) -> None:
    asked = ("cdf", parquet, *DELAY, "--by", "carrier", "--categories", "UA,AA", *ONE)
    shown = run(*asked).stdout
    said, _, table = shown.partition("simultaneous in each row")
    assert "in brackets: 95% intervals for these records; 95% intervals for the population;" in " ".join(said.split())
    assert table.partition("epsilon")[0].count(";") == 2 * 3  # both intervals of three quartiles of two categories
    assert "rank sum, carrier UA and carrier AA: probability that the first is smaller 0." in shown
    assert "Kolmogorov-Smirnov, carrier UA and carrier AA: 0." in shown
    said, _, table = run(*asked, "--no-population").stdout.partition("simultaneous in each row")
    assert "population" not in said
    assert table.partition("epsilon")[0].count(";") == 0


def test_rho_is_a_price_as_well(run: Run, parquet: Path) -> None:
    found = document(run, "cdf", parquet, *DELAY, "--rho", "0.1", "--adjacency", "add-remove")
    privacy = found["privacy"]
    assert isinstance(privacy, dict)
    assert (privacy["epsilon"], privacy["rho"], privacy["adjacency"]) == (None, 0.1, "add-remove")


def test_units_may_have_several_records(run: Run, parquet: Path) -> None:
    unit = ("--unit", "tail", "--rows-per-unit", "2", "--units", "500")
    found = document(run, "histogram", parquet, *DELAY, *SURE, *unit)
    privacy = found["privacy"]
    assert isinstance(privacy, dict)
    assert (privacy["unit"], privacy["units"]) == ("tail", 500)
    count = found["count"]
    assert isinstance(count, list)
    assert sum(count) == pytest.approx(1000, abs=2)


def test_the_bound_of_rows_is_found_and_its_price_is_told_before(run: Run, parquet: Path, tmp_path: Path) -> None:
    unit, url = ("--unit", "tail", "--adjacency", "add-remove"), f"sqlite:///{tmp_path}/budget.db"
    planned = run("plan", "histogram", *DELAY, "--epsilon", "8", *unit)
    assert "1/6 of the loss, counts tail by the number of their records" in " ".join(planned.output.split())
    found = run("histogram", parquet, *DELAY, "--epsilon", "8", *unit)
    assert " of each tail " in " ".join(found.stderr.split())
    made = run("ledger", "create", url, "--dataset", "flights", "--epsilon", "9", *unit)
    assert "each question finds" in " ".join(made.output.split())
    paid = run("histogram", parquet, *DELAY, "--epsilon", "8", "--ledger", url, "--rows-per-unit", "2")
    assert paid.exit_code == 0
    assert "of the loss, chose" not in paid.stderr


def test_groups_that_nobody_listed_are_found_with_a_delta_of_the_account(
    run: Run, parquet: Path, tmp_path: Path
) -> None:
    asked, url = ("--by", "carrier", "--epsilon", "8"), f"sqlite:///{tmp_path}/budget.db"
    made = run(
        "ledger",
        "create",
        url,
        "--dataset",
        "flights",
        "--epsilon",
        "9",
        "--delta",
        "1e-6",
        "--adjacency",
        "add-remove",
    )
    assert "delta 1e-06" in made.output
    for idle in (("--by", "carrier=AA,UA"), ("--by", "carrier", "--universe", "A-Z:2")):
        refused = run("histogram", parquet, *DELAY, *idle, "--epsilon", "1", "--delta", "1e-6", "--ledger", url)
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert refused.stderr.startswith("dpcurves: delta: this question needs no delta; leave --delta out")
        assert "by=" not in refused.stderr
    planned = run("plan", "histogram", *DELAY, *asked, "--delta", "1e-6", "--adjacency", "add-remove")
    assert "finds those of many units, mostly from " in " ".join(planned.output.split())
    found = run("histogram", parquet, *DELAY, *asked, "--delta", "1e-6", "--ledger", url)
    assert found.exit_code == 0, found.output
    assert "other" in found.stdout
    assert "finds those of many units" in " ".join(found.stderr.split())
    again = run("histogram", parquet, *DELAY, "--by", "carrier", "--epsilon", "1", "--delta", "1e-6", "--ledger", url)
    assert again.exit_code != 0
    assert "delta: " in again.stderr
    shown = run("ledger", "show", url)
    assert shown.output.count("1e-06") == 3  # the cap, the price and the spent delta; nothing remains


def test_fields_may_be_separated_by_semicolons(run: Run, semicolons: Path) -> None:
    found = document(run, "cdf", semicolons, *DELAY, *ONE, "--delimiter", ";")
    assert found["kind"] == "cdf"


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_a_picture_is_written_where_it_is_wanted(run: Run, parquet: Path, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"a.{ending}"
    result = run("cdf", parquet, *DELAY, *ONE, "--plot", file, "--measured-in", "minutes", "--level", "0.9")
    assert result.exit_code == 0, result.output
    assert file.stat().st_size > 1000
    assert f"written: {file}" in result.stdout


def test_the_measuring_unit_stands_on_the_curve(run: Run, parquet: Path, tmp_path: Path) -> None:
    file = tmp_path / "h.json"
    run("histogram", parquet, *DELAY, *ONE, "--measured-in", "minutes", "--json", file)
    assert Histogram.from_json(file.read_text()).label == "delay (minutes)"


def test_values_may_be_declared(run: Run, parquet: Path) -> None:
    declared = ("--column", "delay", "--values=-100:300")
    found = document(run, "cdf", parquet, *declared, *ONE)
    assert CDF.from_json(json.dumps(found)).prefixes.grid == dp.Values(range(-100, 301))
    cells = document(run, "histogram", parquet, "--column", "delay", "--values", "0,15,60", *ONE)
    assert Histogram.from_json(json.dumps(cells)).grid == dp.Values((0, 15, 60))
    shown = run("quantiles", parquet, *declared, "--probabilities", "0.5", *SURE)
    assert shown.exit_code == 0, shown.output
    (median,) = Quantiles.from_json(
        json.dumps(document(run, "quantiles", parquet, *declared, "--probabilities", "0.5", *SURE))
    ).x
    assert shown.output.count(f" {median:g} │") >= 3, "the quantile, its interval and its cell"
    assert "value" in run("histogram", parquet, "--column", "delay", "--values", "0,15,60", *ONE).output
