"""The local model from the command line: a task, reports, a curve."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import dpcurves as dp
from dpcurves.curves import CDF, ROC
from dpcurves.display import check_document

Run = Callable[..., Result]


def test_people_report_and_the_aggregator_reads_a_curve(run: Run, parquet: Path, tmp_path: Path) -> None:
    task, reports, mine, picture = (tmp_path / name for name in ("task.json", "r.bin", "me.bin", "out.svg"))
    made = run(
        "local", "task", "--column", "delay", "--grid=-100:300:16", "--people", 2000, "--epsilon", 4, "--out", task
    )
    assert made.exit_code == 0, made.output
    assert "standard error: about" in made.output
    assert run("local", "randomize", parquet, "--task", task, "--out", reports).exit_code == 0
    (tmp_path / "me.csv").write_text("minutes\n12\n")
    twice = []
    for _ in range(2):
        kept = ("--id", "anna", "--memo", tmp_path / "kept.db", "--column", "minutes")
        assert run("local", "randomize", tmp_path / "me.csv", "--task", task, *kept, "--out", mine).exit_code == 0
        twice.append(mine.read_bytes())
    assert twice[0] == twice[1]
    damaged = tmp_path / "damaged.bin"
    damaged.write_bytes(b"nothing" + twice[0] + reports.read_bytes()[:1000])
    found = run("local", "aggregate", reports, mine, damaged, "--task", task, "--plot", picture)
    assert found.exit_code == 0, found.output
    assert "reports: 2001 counted," in found.output
    assert picture.stat().st_size > 1000
    written = run("local", "aggregate", reports, "--task", task, "--json", "-")
    check_document(json.loads(written.stdout))
    curve = CDF.from_json(written.stdout)
    assert abs(curve.cdf(100.0) - 0.5) < 0.2
    assert curve.privacy.units == 2000


@pytest.mark.parametrize(("coins", "error"), [((), 0.05), (("--coins", "public"), 0.25)], ids=("private", "public"))
def test_a_roc_curve_of_people(coins: tuple[str, ...], error: float, run: Run, parquet: Path, tmp_path: Path) -> None:
    """The area has standard deviations of 0.003, and of 0.037 by one bit each: within more than 6 of them."""
    task, reports = tmp_path / "task.json", tmp_path / "r.bin"
    asked = ("--column", "score", "--label", "late", "--grid", "0:1:8", "--people", 2000, "--epsilon", 6)
    assert run("local", "task", *asked, *coins, "--out", task).exit_code == 0
    assert run("plan", "local", *asked, *coins).exit_code == 0
    assert run("local", "randomize", parquet, "--task", task, "--out", reports).exit_code == 0
    written = run("local", "aggregate", reports, "--task", task, "--json", "-")
    assert abs(ROC.from_json(written.stdout).auc - 0.83) < error


def test_what_does_not_go_together_is_refused(run: Run, parquet: Path, tmp_path: Path) -> None:
    task, out = tmp_path / "task.json", tmp_path / "out"
    asked = ("local", "task", "--column", "delay", "--grid=-100:300:16", "--people", 2000, "--epsilon", 4)
    assert run(*asked, "--curve", "roc", "--out", task).exit_code == 2
    assert run(*asked, "--curve", "cdf", "--label", "late", "--out", task).exit_code == 2
    for wrong in (("--coins", "mine"), ("--rounding", "up"), ("--rounding", "randomized")):
        assert run(*asked, *wrong, "--out", task).exit_code == 2
    assert run(*asked, "--rounding", "randomized", "--curve", "histogram", "--out", task).exit_code == 0
    assert run(*asked, "--out", tmp_path / "no" / "task.json").exit_code != 0
    assert run(*asked, "--curve", "histogram", "--out", task).exit_code == 0
    sent = ("local", "randomize", parquet, "--task", task, "--out", out)
    assert run(*sent, "--memo", tmp_path / "kept.db").exit_code == 2
    assert run(*sent, "--id", "anna").exit_code == 4
    out.write_bytes(b"")
    assert run("local", "aggregate", out, "--task", task).exit_code == 2
    assert run("local", "aggregate", out, "--task", out).exit_code != 0


def test_what_goes_with_no_label_is_refused_by_name(run: Run, tmp_path: Path) -> None:
    asked = ("local", "task", "--column", "delay", "--grid=-100:300:16", "--people", 2000, "--epsilon", 4)
    for extra in (("--pos-label", "1"), ("--neg-label", "0"), ("--label", "late", "--measured-in", "minutes")):
        refused = run(*asked, *extra, "--out", tmp_path / "task.json")
        assert refused.exit_code == 2
        assert refused.stderr.startswith(f"dpcurves: {extra[-2][2:]}: ")
        assert not (tmp_path / "task.json").exists()


def test_an_area_in_two_rounds_and_its_plan(run: Run, tmp_path: Path) -> None:
    task, second, low, high, bits = (tmp_path / name for name in ("t.json", "r2.json", "low.csv", "high.csv", "b.bin"))
    low.write_text("\n".join(["s", *(str(each % 10) for each in range(400))]))
    high.write_text("\n".join(["s", *(str(each % 10 + 2) for each in range(300))]))
    asked = ("--column", "s", "--grid", "0:12:12", "--people", 400, "--epsilon", 8, "--out", task)
    assert run("local", "task", "--kernel", "auc", *asked).exit_code == 0
    assert '"target": "area"' in task.read_text()
    assert run("local", "randomize", low, "--task", task, "--out", bits).exit_code == 0
    found = ("--of", "negatives", "--people", 300, "--out", second)
    published = run("local", "publish", bits, "--task", task, *found)
    assert published.exit_code == 0, published.output
    assert run("local", "randomize", high, "--task", second, "--out", bits).exit_code == 0
    told = run("local", "aggregate", bits, "--task", second)
    assert told.exit_code == 0, told.output
    assert "reports: 300 counted" in told.output
    assert abs(float(told.output.split("AUC ")[1].split(":")[0]) - 0.68) < 0.15
    assert run("local", "aggregate", bits, "--task", second, "--json", "-").exit_code == 2
    assert run("local", "publish", bits, "--task", task, "--of", "all", *found[2:]).exit_code == 2
    assert run("local", "aggregate", bits, "--task", task, "--kernel", "auc").exit_code == 2
    plan = run(
        "plan", "local", "--kernel", "auc", "--grid", "0:12:12", "--people", 700, "--positives", 300, "--epsilon", 1
    )
    assert plan.exit_code == 0, plan.output
    assert plan.output.index("two rounds: negatives") < plan.output.index("one round")
    assert "bytes with its header" in plan.output
    assert "in the area under the curve, its mean" in plan.output
    assert run("plan", "local", "--grid", "0:12:12", "--people", 9, "--positives", 9, "--epsilon", 8).exit_code == 2


def test_two_rounds_refuse_a_repeat_and_say_whom_their_loss_holds_for(run: Run, tmp_path: Path) -> None:
    """By a name that is written otherwise; where names are left out, the loss of both rounds stands in its place."""
    task, second, bare, value = (tmp_path / name for name in ("t.json", "r2.json", "bare.json", "me.csv"))
    value.write_text("s\n5\n")
    asked = ("--column", "s", "--grid", "0:12:12", "--people", 3, "--epsilon", 2, "--out", task)
    assert run("local", "task", "--kernel", "auc", *asked).exit_code == 0

    def sent(person: str, document: Path) -> Result:
        return run("local", "randomize", value, "--task", document, "--id", person, "--out", tmp_path / f"{person}.bin")

    people = ("Anna", "Bert", "Cleo")
    for person in people:
        assert sent(person, task).exit_code == 0
    found = [tmp_path / f"{person}.bin" for person in people]
    given = ("local", "publish", *found, "--task", task, "--of", "negatives", "--people", 2, "--out")
    assert run(*given, second).exit_code == 0
    assert run(*given, bare, "--no-names").exit_code == 0
    for person in ("Anna", "anna", " ANNA "):
        refused = sent(person, second)
        assert refused.exit_code != 0
        assert (
            refused.stderr
            == "dpcurves: person: reported in the first round, and each person reports once; nothing has to be sent\n"
        )
    told = {}
    for document in (second, bare):
        assert sent("dora", document).exit_code == 0
        assert sent("emil", document).exit_code == 0
        told[document] = run(
            "local", "aggregate", *(tmp_path / f"{who}.bin" for who in ("dora", "emil")), "--task", document
        )
        assert "people: 3 in the first round, 2 in the second" in told[document].output
    assert "epsilon 2 holds for a person who reported in one round only" in told[second].output
    lost = float(told[second].output.split("reported in both lost epsilon ")[1].split()[0])
    assert 2 < lost <= 4
    assert f"epsilon {lost:g} holds for each person, because repeats were not all refused" in told[bare].output
    assert "epsilon 2 holds" not in told[bare].output


def test_a_statistic_of_pairs_is_told_beside_the_curve(run: Run, parquet: Path, tmp_path: Path) -> None:
    asked = ("local", "task", "--grid", "0:1:8", "--people", 2000, "--epsilon", 6, "--column", "score")
    other = ("--and-column", "delay", "--and-grid=-100:300:4")
    wanted: dict[str, tuple[str, ...]] = {"gini": (), "renyi2": (), "kendall": other, "auc": ("--label", "late")}
    for word, extra in wanted.items():
        task, reports = tmp_path / f"{word}.json", tmp_path / f"{word}.bin"
        made = run(*asked, "--kernel", word, *extra, "--out", task)
        assert made.exit_code == 0, made.output
        assert run("local", "randomize", parquet, "--task", task, "--out", reports).exit_code == 0
        found = run("local", "aggregate", reports, "--task", task, "--kernel", word, "--population")
        assert found.exit_code == 0, found.output
        (line,) = (line for line in found.output.splitlines() if line.startswith(f"{word}: "))
        assert "(95%, for these records)" in line
        assert "(95%, for the population)" in line
    assert run("local", "aggregate", reports, "--task", task, "--kernel", "gini").exit_code == 2
    for given, named in (
        (("--kernel", "pairs"), "kernel"), (("--kernel", "kendall"), "and-column"),
        (("--kernel", "auc", *other), "and-column"),
        (other, "and-column"), (("--kernel", "gini", "--curve", "cdf"), "curve"),
        (("--kernel", "gini", "--label", "late"), "kernel"),
    ):  # fmt: skip
        refused = run(*asked, *given, "--out", tmp_path / "none.json")
        assert (refused.exit_code, refused.stderr.split(":")[1]) == (2, f" {named}"), refused.output
    assert not (tmp_path / "none.json").exists()


def test_devices_filter_and_derive_and_the_curve_tells_the_filter(run: Run, tmp_path: Path) -> None:
    """At epsilon 14 fewer than one report in 100,000 lies: a count that is 40 off has probability below 1e-9."""
    task, reports, out = (tmp_path / name for name in ("t.json", "r.bin", "out.json"))
    rows = [(number % 90, "FM"[number % 2], number % 40) for number in range(720)]
    (tmp_path / "people.csv").write_text("\n".join(["alter,sex,wage", *(",".join(map(str, row)) for row in rows)]))
    asked = ("--grid", "0:45:3", "--people", 720, "--epsilon", 14, "--out", task)
    where = ("--where", "sex = 'F' AND age >= 18")
    made = run("local", "task", "--column", "age", "--curve", "histogram", *asked, *where)
    assert made.exit_code == 0, made.output
    assert "where sex = 'F' AND age >= 18" in " ".join(made.stdout.split())
    plan = run("plan", "local", "--column", "age", *asked[:-2], *where)
    assert plan.exit_code == 0, plan.output
    sent = run("local", "randomize", tmp_path / "people.csv", "--task", task, "--column", "alter", "--out", reports)
    assert sent.exit_code == 0, sent.output
    assert run("local", "aggregate", reports, "--task", task, "--json", out).exit_code == 0
    curve: Any = dp.read_result(out)
    assert (curve.privacy.where, curve.privacy.units) == (where[1], 720)
    ages = [age for age, sex, _ in rows if sex == "F" and age >= 18]
    exact = [0, sum(age < 30 for age in ages), sum(age >= 30 for age in ages)]
    assert all(abs(found - count) < 40 for found, count in zip(curve.unbiased_counts, exact, strict=True))
    refused = run("local", "task", "--kernel", "auc", "--column", "age", *asked, *where)
    assert refused.exit_code == 2
    assert refused.stderr.startswith("dpcurves: where: a second round counts people who fail a filter as tied")
