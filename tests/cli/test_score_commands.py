from __future__ import annotations

import json
from collections.abc import Callable
from csv import reader
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import dpcurves as dp
from dpcurves.curves import ROC
from dpcurves.display import check_document

Run = Callable[..., Result]

ASKED = ("--label", "late", "--neg-label", "0", "--score", "score", "--adjacency", "replace-one")
FIELDS = {
    "roc": {"fpr", "tpr", "thresholds", "auc"},
    "calibration": {"prob_pred", "prob_true", "count"},
    "hosmer-lemeshow": {"statistic", "p_value", "groups"},
}
JUDGED = ("--label", "late", "--neg-label", "0", "--score", "score", "--adjacency", "replace-one", "--epsilon", "1")


@pytest.mark.parametrize("kind", FIELDS)
def test_a_curve_of_scores_has_its_fields(run: Run, kind: str, csv: Path) -> None:
    result = run(kind, csv, *ASKED, "--epsilon", "1", "--json", "-")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    check_document(found)
    assert found["kind"] == kind
    assert found.keys() >= FIELDS[kind] | {"schema", "privacy"}


@pytest.mark.parametrize("kind", FIELDS)
def test_a_curve_of_scores_is_shown_and_drawn(run: Run, kind: str, parquet: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    result = run(kind, parquet, *ASKED, "--epsilon", "1", "--plot", file)
    assert result.exit_code == 0, result.output
    assert "the model is taken as public" in result.stdout
    assert "the model is taken as public" in file.read_text() or file.stat().st_size > 1000


def test_binned_residuals_are_written_shown_and_drawn(run: Run, csv: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    written = run("binned-residuals", csv, *JUDGED, "--model", "disjoint", "--bins", "4", "--json", "-")
    assert written.exit_code == 0, written.output
    found = json.loads(written.stdout)
    check_document(found)
    assert found["kind"] == "binned-residuals"
    assert 1 <= len(found["prob_pred"]) == len(found["residual"]) == len(found["envelope"]) <= 4
    assert found["privacy"]["model"].startswith("trained on other records")
    shown = run("binned-residuals", csv, *JUDGED, "--model", "public", "--plot", file, "--level", "0.8")
    assert (
        "of the residuals are outside the envelope; for a model that is right for the population 20% are"
        in shown.stdout
    )
    assert "fixed before these records were seen" in shown.stdout
    assert file.stat().st_size > 1000


def test_where_the_model_comes_from_has_to_be_said(run: Run, csv: Path) -> None:
    missing = run("binned-residuals", csv, *JUDGED)
    assert missing.exit_code == 2
    assert "--model" in missing.stderr
    wrong = run("binned-residuals", csv, *JUDGED, "--model", "mine")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert wrong.stderr == "dpcurves: model: must be public or disjoint or private, got 'mine'\n"


def test_the_area_and_its_curve_are_shown_with_intervals_for_these_records_and_for_the_population(
    run: Run, parquet: Path
) -> None:
    shown = " ".join(run("roc", parquet, *ASKED, "--epsilon", "1").stdout.split())
    assert "AUC 0." in shown
    assert "95% interval for these records: 0." in shown
    assert "95% interval for the population: 0." in shown
    assert "95% simultaneous intervals for the population" in shown
    alone = " ".join(run("roc", parquet, *ASKED, "--epsilon", "1", "--no-population").stdout.split())
    assert "95% interval for these records: 0." in alone
    assert "for the population" not in alone


def test_groups_are_as_many_as_were_asked_for(run: Run, parquet: Path) -> None:
    found = json.loads(run("calibration", parquet, *ASKED, "--epsilon", "1000", "--groups", "4", "--json", "-").stdout)
    assert len(found["prob_pred"]) == 4
    assert found["count"] == pytest.approx([500] * 4, abs=30)


def test_labels_may_be_words_and_either_may_be_positive(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "words.csv"
    rows = [f"{'yes' if i % 2 else 'no'},{0.75 if i % 2 else 0.25}" for i in range(400)]
    file.write_text("\n".join(["label,score", *rows]) + "\n")
    asked = ("roc", file, "--label", "label", "--score", "score", "--epsilon", "100", "--adjacency", "add-remove")
    straight = run(*asked, "--pos-label", "yes", "--neg-label", "no", "--json", "-")
    turned = run(*asked, "--pos-label", "no", "--neg-label", "yes", "--json", "-")
    assert ROC.from_json(straight.stdout).auc > 0.95
    assert ROC.from_json(turned.stdout).auc < 0.05


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (("roc", "--label", "yes", "--score", "x"), "--pos-label yes --neg-label no or --pos-label 1 --neg-label 0"),
        (("survival", "--event", "yes", "--time", "x", "--grid", "0:1:8"), "--event-value yes --censored-value no"),
        (
            ("uplift", "--outcome", "yes", "--pos-label", "1", "--treatment", "t", "--score", "x"),
            "--treated-value yes --control-value no",
        ),
    ],
)
def test_both_classes_of_a_file_without_types_are_named_before_anything_is_charged(
    run: Run, tmp_path: Path, ledger: str, asked: tuple[str, ...], named: str
) -> None:
    """The schema does not say whether labels are text, which 0 and 1 would not match; no record changes the result."""
    price, said = ("--epsilon", "0.5", "--ledger", ledger), set[str]()
    for labels in (("yes", "no"), ("1", "0")):
        file = tmp_path / "labels.csv"
        file.write_text("yes,t,x\n" + "".join(f"{label},{label},0.5\n" for label in labels))
        refused = run(asked[0], file, *asked[1:], *price)
        assert refused.exit_code == 2, refused.output
        assert refused.stderr.count("\n") == 1
        assert "declares no type, and its labels may be text" in refused.stderr
        assert named in refused.stderr
        said.add(refused.output)
    assert len(said) == 1
    assert "epsilon 0" in run("ledger", "show", ledger).stdout


def test_scores_may_lie_on_another_grid(run: Run, parquet: Path) -> None:
    result = run("roc", parquet, *ASKED, "--epsilon", "10", "--grid", "0:2:16", "--json", "-")
    assert result.exit_code == 0, result.output
    thresholds = json.loads(result.stdout)["thresholds"]
    assert thresholds[0] is None
    edges = np.linspace(0, 2, 17)[:-1][::-1].tolist()
    assert set(thresholds[1:]) <= set(edges)
    fixed = run("roc", parquet, *ASKED, "--epsilon", "10", "--grid", "0:2:16", "--thresholds", "fixed", "--json", "-")
    assert json.loads(fixed.stdout)["thresholds"][1:] == edges
    wrong = run("roc", parquet, *ASKED, "--epsilon", "10", "--thresholds", "thirds")
    assert "thresholds: must be fixed or quantiles or medians, got 'thirds'" in wrong.stderr


@pytest.mark.parametrize("kind", ["calibration", "hosmer-lemeshow", "binned-residuals"])
def test_scores_outside_are_in_no_group_and_nothing_else_can_be_asked_of_them(run: Run, kind: str, csv: Path) -> None:
    asked = (kind, csv, *JUDGED, *(("--model", "public") if kind == "binned-residuals" else ()))
    clipped = run(*asked, "--outside", "clipped")
    assert (clipped.exit_code, clipped.stdout) == (2, "")
    assert clipped.stderr.startswith("dpcurves: outside: here scores outside of the grid are counted separately")
    assert clipped.stderr.count("\n") == 1
    assert run(*asked, "--outside", "apart").exit_code == 0


def test_the_origin_of_the_model_may_be_stated(run: Run, parquet: Path) -> None:
    result = run("roc", parquet, *ASKED, "--epsilon", "1", "--model-note", "fitted on 2012")
    assert "fitted on 2012" in result.stdout


WAYS = "numbers", "roc", "precision-recall", "gain", "calibration", "decision-curve", "confusion"


@pytest.mark.parametrize("ways", [WAYS[::3], pytest.param(WAYS, marks=pytest.mark.reproduction)], ids=len)
def test_one_release_of_scores_is_shown_in_many_ways_for_nothing(
    ways: tuple[str, ...], run: Run, csv: Path, ledger: str, tmp_path: Path
) -> None:
    judged = ("--label", "late", "--neg-label", "0", "--score", "score")
    asked = ("scores", csv, *judged, "--epsilon", "2", "--ledger", ledger)
    first = run(*asked, "--request-id", "once")
    assert first.exit_code == 0, first.output
    for show in ways:
        file = tmp_path / f"{show}.svg"
        again = run(*asked, "--request-id", "once", "--show", show, "--plot", file)
        assert again.exit_code == 0, again.output
        assert "Brier" in again.stdout  # a longer name may be broken where the table is wide
        assert file.stat().st_size > 1000


@pytest.mark.reproduction
def test_scores_of_categories_are_shown_beside_each_other(run: Run, csv: Path) -> None:
    asked = ("scores", csv, *ASKED, "--epsilon", "1", "--by", "carrier", "--categories", "UA,AA")
    shown = run(*asked, "--show", "confusion", "--threshold", "0.25")
    assert shown.exit_code == 0, shown.output
    assert "carrier UA: confusion" in shown.stdout
    assert json.loads(run(*asked, "--json", "-").stdout)["kind"] == "curves"


def test_what_cannot_be_shown_is_refused_before_anything_is_spent(run: Run, csv: Path) -> None:
    asked = ("scores", csv, *ASKED, "--epsilon", "1", "--grid", "-8:8:64")
    assert run(*asked, "--show", "calibration").stderr.startswith("dpcurves: show: calibration needs probabilities")
    assert run(*asked, "--show", "everything").stderr.startswith("dpcurves: show: must be numbers or roc or ")
    assert run(*asked, "--threshold", "1,2").stderr.startswith("dpcurves: threshold: a single number is needed")


def test_partial_areas_and_sensitivities_are_those_of_python(run: Run, csv: Path, tmp_path: Path) -> None:
    """On the terminal and in CSV; the JSON has the counts alone."""
    written, table = tmp_path / "out.json", tmp_path / "out.csv"
    asked = ("scores", csv, *JUDGED, "--max-fpr", "0.1", "--specificity", "0.9", "--csv", table)
    result = run(*asked, "--json", written)
    assert result.exit_code == 0, result.output
    scores: Any = dp.read_result(written)
    estimates = {
        "partial-auc-0.1": dp.partial_auc(scores, 0.1),
        "sensitivity-at-specificity-0.9": dp.sensitivity_at_specificity(scores, 0.9),
    }
    rows = {row[0]: [float(cell) for cell in row[1:]] for row in [*reader(StringIO(table.read_text()))][1:]}
    for key, estimate in estimates.items():
        intervals = (estimate.interval(0.95, population=population) for population in (False, True))
        assert rows[key] == pytest.approx([estimate.value, *chain.from_iterable(intervals)])
    assert [*rows] == [*(metric.key for metric in scores.metrics), *estimates]
    grouped = run(*asked, "--by", "late=0,1")
    assert all(estimate.name in grouped.stdout for estimate in estimates.values())
    assert [row[:2] for row in reader(StringIO(table.read_text()))][-1] == ["1", [*estimates][-1]]


@pytest.mark.parametrize(
    ("option", "text", "rule"),
    [
        ("max-fpr", "0", "numbers above 0 and at most 1, as in 0.1"),
        ("max-fpr", "0.1,1.5", "numbers above 0 and at most 1, as in 0.1"),
        ("specificity", "1", "numbers of at least 0 and below 1, as in 0.95"),
    ],
)
def test_rates_that_no_roc_curve_has_are_refused_before_the_charge(
    run: Run, csv: Path, option: str, text: str, rule: str
) -> None:
    result = run("scores", csv, *JUDGED, f"--{option}", text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"dpcurves: {option}: must be {rule}")
    assert result.stderr.count("\n") == 1
