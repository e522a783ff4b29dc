"""Studies: planned without data, paid once, the same when they are run again, and refused in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

Run = Callable[..., Result]
STUDY = """
epsilon = 1
[[question]]
ask = "cdf"
name = "delays"
column = "delay"
grid = "-60:240:100"
share = "1/2"
[[question]]
ask = "histogram"
column = "delay"
grid = "-60:240:10"
by = {column = "carrier", categories = ["UA", "AA"]}
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    return file


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file, chance = tmp_path / "flights.csv", np.random.default_rng(1)
    rows = zip(chance.normal(10, 30, 2000).round(), chance.choice(["UA", "AA"], 2000), strict=True)
    file.write_text("delay,carrier\n" + "\n".join(f"{delay},{carrier}" for delay, carrier in rows))
    return file


def test_a_study_is_paid_once_and_the_same_when_it_is_run_again(
    run: Run, study: Path, table: Path, tmp_path: Path
) -> None:
    ledger = f"sqlite:///{tmp_path / 'budget.db'}"
    made = run("ledger", "create", ledger, "--dataset", "flights", "--epsilon", "1", "--adjacency", "replace-one")
    assert made.exit_code == 0
    texts = []
    for folder in ("one", "two"):
        done = run("study", study, table, "--ledger", ledger, "--out", tmp_path / folder)
        assert (done.exit_code, done.stderr) == (0, "")
        names = sorted(file.name for file in (tmp_path / folder).iterdir())
        assert names == ["delays.json", "delays.svg", "histogram-2.json", "histogram-2.svg", "index.html"]
        texts.append((tmp_path / folder / "delays.json").read_text() + run("ledger", "show", ledger).stdout)
    assert texts[0] == texts[1]
    assert json.loads((tmp_path / "two" / "delays.json").read_text())["privacy"]["epsilon"] == 0.5


@pytest.mark.reproduction
def test_a_study_says_how_far_columns_have_moved_since_an_earlier_one(run: Run, table: Path, tmp_path: Path) -> None:
    first, later, moved = tmp_path / "first.toml", tmp_path / "later.toml", tmp_path / "moved.csv"
    asked = 'epsilon = 5\n[[question]]\nask = "cdf"\nname = "delays"\ncolumn = "delay"\ngrid = "-60:240:20"\n'
    first.write_text(asked)
    later.write_text(f"{asked}since = '{tmp_path / 'one' / 'delays.json'}'\nfalse_alarm_rate = 0.01\n")
    values = [line.split(",")[0] for line in table.read_text().splitlines()[1:]]
    moved.write_text("delay\n" + "\n".join(str(float(value) + 15) for value in values))
    assert run("study", first, table, "--adjacency", "add-remove", "--out", tmp_path / "one").exit_code == 0
    done = run("study", later, moved, "--adjacency", "add-remove", "--out", tmp_path / "two")
    assert "delays.json: alarms psi, ks, wasserstein, auc" in done.stdout.replace("\n", "")
    assert "alarm" in (tmp_path / "two" / "delays.drift.json").read_text()
    assert "Drift" in (tmp_path / "two" / "index.html").read_text()
    rare = tmp_path / "rare.toml"
    rare.write_text(later.read_text().replace("false_alarm_rate = 0.01", "false_alarm_rate = 1e-9"))
    refused = run("study", rare, moved, "--adjacency", "add-remove", "--out", tmp_path / "three")
    assert (refused.exit_code, (tmp_path / "three").exists()) == (2, False), refused.output
    later.write_text(later.read_text().replace("-60:240:20", "-60:240:21"))
    refused = run("study", later, moved, "--adjacency", "add-remove", "--out", tmp_path / "three")
    assert (refused.exit_code, (tmp_path / "three").exists()) == (2, False)
    assert "since: the cells of the question are needed" in refused.stderr


def test_without_a_ledger_a_study_says_that_nothing_remembers_it(
    run: Run, study: Path, table: Path, tmp_path: Path
) -> None:
    done = run("study", study, table, "--adjacency", "replace-one", "--out", tmp_path / "out")
    assert done.exit_code == 0
    assert "this privacy loss is not recorded" in done.stderr


def test_a_dry_run_opens_nothing(run: Run, study: Path, tmp_path: Path) -> None:
    done = run("study", study, "no such file", "--dry-run", "--adjacency", "replace-one", "--units", "2000")
    assert done.exit_code == 0
    assert done.stdout.count("epsilon 0.5") >= 2
    assert "total: epsilon 1" in done.stdout
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("nonsense", "study: the text is neither TOML nor JSON"),
        ("delta = 1e-6\n" + STUDY, "delta: no question selects partitions; leave delta out"),
        ("epsilon = 1", "question: a list of at least one question is needed"),
        (STUDY.replace("epsilon = 1", ""), "epsilon: give either epsilon"),
        (STUDY.replace("1/2", "2"), "share: shares above 0"),
        (STUDY.replace("cdf", "cfd"), "ask: must be one of auto-range-cdf"),
        (STUDY.replace('"delays"', '"../delays"'), "name: use lower-case letters"),
        (STUDY + '[[question]]\nask = "cdf"\nname = "delays"\ncolumn = "x"\ngrid = "0:1:4"', "name: two questions"),
        ("espilon = 1\n" + STUDY, "espilon: there is no such field"),
    ],
)
def test_what_is_no_study_is_refused_before_anything_is_opened(
    run: Run, study: Path, tmp_path: Path, text: str, line: str
) -> None:
    study.write_text(text)
    done = run("study", study, "no such file", "--adjacency", "replace-one", "--out", tmp_path / "none")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"dpcurves: {line}")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "none").exists()


NOTHING_KNOWN = """
epsilon = 2
delta = "1e-6"
[[question]]
ask = "quantiles"
column = "delay"
grid = "auto"
[[question]]
ask = "mean"
column = "delay"
lower = "auto"
upper = "auto"
[[question]]
ask = "histogram"
column = "delay"
grid = "auto"
by = { column = "carrier", categories = "auto" }
"""


@pytest.mark.reproduction
def test_a_study_may_know_nothing_of_its_table_and_thirds_of_a_loss_fit_into_it(
    run: Run, table: Path, tmp_path: Path
) -> None:
    file, out = tmp_path / "nothing.toml", tmp_path / "answers"
    file.write_text(NOTHING_KNOWN)
    planned = run("study", file, table, "--adjacency", "add-remove", "--dry-run")
    assert planned.exit_code == 0, planned.output
    said = " ".join(planned.output.split())
    assert "no groups of carrier are listed: epsilon 0.1666666665, delta 1e-06 finds" in said
    assert "no grid is given: epsilon 0.4999999995 pays for 4 rounds" in said
    assert "total: epsilon 2, delta 1e-06" in said
    done = run("study", file, table, "--adjacency", "add-remove", "--out", out)
    assert done.exit_code == 0, done.output
    told = " ".join(done.stderr.split())
    for line in ("quantiles: no range is", "mean-2: no bounds are", "histogram-3: no groups of carrier are"):
        assert f"dpcurves: {line}" in told
    losses = [json.loads((out / f"{name}.json").read_text())["privacy"] for name in ("quantiles", "mean-2")]
    assert [each["epsilon"] for each in losses] == pytest.approx([2 / 3, 2 / 3], abs=1e-8)
    groups = json.loads((out / "histogram-3.json").read_text())
    assert (groups["privacy"]["delta"], str(groups).count("'UA'") > 0) == (1e-6, True)
