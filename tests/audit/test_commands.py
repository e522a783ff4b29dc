"""Commands of audits: any program and any function, their failures as outcomes, and reports that say what they know."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import dpcurves as dp
from dpcurves.cli.app import Commands, build
from dpcurves.cli.status import ExitStatus
from dpcurves_audit import targets
from dpcurves_audit.cli import split_words
from dpcurves_audit.deployments import AuditTarget
from dpcurves_audit.outcome_scores import Failure, OutcomeParser
from dpcurves_audit.report import Report
from dpcurves_audit.samplers import CallableSampler, CommandSampler, PackageSampler

ROOT = Path(__file__).resolve().parents[2]
families = dp.audit.families


@cache
def app() -> Commands:
    """Build all commands, once."""
    return build()


def run(*words: str) -> Result:
    return CliRunner().invoke(app(), words)


@pytest.mark.reproduction
def test_the_release_of_the_page_is_flagged_by_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = (
        (ROOT / "docs" / "audit.md").read_text("utf-8").partition("## On the command line")[2].partition("\n## ")[0]
    )
    script, command = (re.findall(rf"^```{kind}\n(.*?)^```", section, re.M | re.S)[0] for kind in ("sh", "console"))
    assert len(script.splitlines()) <= 10
    monkeypatch.chdir(tmp_path)
    Path("release.sh").write_text(script, encoding="utf-8")
    # So many samples need as many calls on each machine, and tell epsilon 2 from 1 by more than 4 standard errors. Two
    # of the family's 64 pairs are tried: in all of them one row is more or less, and that is all the release sees.
    values = families.values
    monkeypatch.setattr(families, "values", lambda *given, **more: values(*given, **more).take_first(2))
    found = run(
        *shlex.split(command.removeprefix("$ "))[1:], "--json", "report.json", "--seconds", "600", "--samples", "500"
    )
    assert found.exit_code == 6, found.output
    assert found.output.startswith("Flagged: epsilon is at least ")
    report = Report.from_dict(json.loads(Path("report.json").read_text("utf-8")))
    assert report.is_flagged
    assert report.lower_bound > 1
    assert report.second_lower_bound is not None
    page = Path("report.html").read_text("utf-8")
    assert "<svg" in page
    assert not re.search(r"""(src|href)=|url\(|@import""", page)  # needs nothing else
    assert report.verdict.partition(";")[0] in page


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ("import sys; print('secret', file=sys.stderr); sys.exit(3)", "ends with status 3: secret"),
        ("import os; os.kill(os.getpid(), 9)", "ends with status -9: "),
        ("import time; time.sleep(60)", "hangs: for more than 0.5 seconds"),
        ("print('[1, [2, 3], {\"a\": null}]')", "[#,[2 of #],{a:None}]"),
        ("print('7 apples')", "[#,text]"),
        ("pass", "[]"),
    ],
)
def test_whatever_a_command_does_is_an_outcome(script: str, kind: str) -> None:
    patience = 0.5 if kind.startswith("hangs") else 60  # nobody is cut off because a machine is slow
    sampler = CommandSampler(f"{sys.executable} -S -c {shlex.quote(script)} {{data}}", timeout=patience)
    reader = OutcomeParser()
    reader.parse_outcomes(sampler.draw([0.5], 1))
    assert list(reader.kind_numbers) == [kind]


STARTS_A_DAEMON = """
import subprocess, sys
left = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"], start_new_session=True)
print(left.pid)
"""


def test_a_process_that_a_command_leaves_running_does_not_keep_the_audit_waiting() -> None:
    """It is in a session of its own and holds the command's output open; the command's own answer counts."""
    command = f"{sys.executable} -S -c {shlex.quote(STARTS_A_DAEMON)} {{data}}"
    (left,) = CommandSampler(command, timeout=2.0).draw([0.5], 1)
    os.kill(left, signal.SIGKILL)  # it still runs: nobody has waited for its end


def test_whatever_a_callable_does_is_an_outcome() -> None:
    def release(data: list[float]) -> object:
        data.append(1)  # of a copy
        if len(data) == 2:
            raise KeyError("row 2")
        if len(data) == 3:
            print("three")
            return float("nan")
        if len(data) == 4:
            sys.exit(4)
        while len(data) == 5:
            pass
        return {"n": 10**400, "s": {2.0, 1.0}, "x": [[1], [1, 2]]}

    reader = OutcomeParser()
    for rows in range(1, 6):
        sampler = CallableSampler(release, timeout=0.05 if rows == 4 else 60)  # with one row more than is given
        reader.parse_outcomes(sampler.draw([0.0] * rows, 1))
    assert list(reader.kind_numbers) == [
        "raises KeyError: 'row 2'", "{answer:#,prints:text}", "raises SystemExit: 4",
        "hangs: for more than 0.05 seconds", "{n:#,s:[2 of #],x:[[#],[2 of #]]}",
    ]  # fmt: skip


def test_an_exception_for_one_rare_row_is_found() -> None:
    def release(data: list[float]) -> float:
        if 1e308 in data:
            raise OverflowError("1e308 is too large")
        return 0.0

    report = dp.audit(
        release,
        families.values([0, 1], adjacency=dp.ADD_REMOVE),
        epsilon=1,
        seconds=60,
        samples=100,
        extra_checks=False,
    )
    assert report.is_flagged
    assert "raises OverflowError: 1e308 is too large" in report.kinds
    assert "1e+308" in report.pair


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["command", "true", "--family", "values:0:1:4", "--epsilon", "1"], "command: the command must contain {data}"),
        (
            ["command", "true {data}", "--family", "colours:4", "--epsilon", "1"],
            "family: must begin with values, scores,",
        ),
        (["command", "true {data}", "--family", "values:1:0:4", "--epsilon", "1"], "family: "),
        (["command", "/no/such {data}", "--family", "values:0:1:4", "--epsilon", "1"], "command: '/no/such' cannot"),
        (["command", "true {data}", "--family", "values:0:1:4"], "epsilon: the claimed privacy loss is missing"),
        (
            ["cdf", "--adjacency", "add-remove", "--epsilon", "1", "--rho", "1"],
            "rho: the privacy loss is claimed by --epsilon or by --rho",
        ),
        (["cdf", "--adjacency", "add-remove", "--rho", "1", "--delta", "1e-6"], "delta: a claim by --rho has no delta"),
        (["package", "no_such:thing", "--family", "answers:2", "--epsilon", "1"], "function: 'no_such' cannot be"),
        (["package", "json:thing", "--family", "answers:2", "--epsilon", "1"], "function: 'json' has no 'thing'"),
        (["cdf", "--epsilon", "1"], "adjacency: give the neighbouring relation"),
    ],
)
def test_wrong_usage_is_one_line(words: list[str], told: str) -> None:
    found = run("audit", *words)
    assert found.exit_code == 2, found.output
    assert found.stderr.startswith(f"dpcurves: {told}")
    assert found.stderr.count("\n") == 1


def test_a_function_that_ends_its_process_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(tmp_path, "ending.py").write_text("import os\n\ndef release(data):\n    os._exit(1)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = run("audit", "package", "ending:release", "--family", "answers:1", "--epsilon", "1", "--seconds", "5")
    assert (found.exit_code, found.stderr.count("\n")) == (2, 1), found.output


def test_a_ragged_answer_to_many_calls_is_one_line() -> None:
    family = families.answers(1)
    with pytest.raises(ValueError, match="the function was asked for .* outcomes"):
        dp.audit(lambda data, k: [1.0], family, epsilon=1, batch=True)
    with pytest.raises(ValueError, match="the claimed loss of the release is missing"):
        dp.audit(lambda data: 0.0, family)


def test_an_audit_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    file, stops, calls = tmp_path / "audit.json", [True], [0]

    def release(data: list[float], k: int) -> list[float]:
        calls[0] += k
        if stops[0] and file.exists():  # in the second round
            raise KeyboardInterrupt
        return [0.0] * k

    family = families.answers(1).take_first(3)
    claim: dict[str, Any] = {
        "epsilon": 1,
        "batch": True,
        "samples": 2000,
        "seconds": 60,
        "extra_checks": False,
        "file": file,
    }
    with pytest.raises(KeyboardInterrupt):
        dp.audit(release, family, **claim)
    kept = json.loads(file.read_text("utf-8"))
    assert (kept["done"], kept["report"]["rounds"]) == (1, 1)
    stops[0], before = False, calls[0]
    report = dp.audit(release, family, **claim)
    assert report.rounds == 2
    assert report.calls == kept["report"]["calls"] + calls[0] - before
    with pytest.raises(ValueError, match="another audit"):
        dp.audit(release, family, **claim | {"epsilon": 2})


def test_functions_are_called_in_processes_that_are_spawned() -> None:
    sampler = PackageSampler("os:path.basename", processes=2)
    try:
        assert sampler.draw("/a/b", 3) == ["b", "b", "b"]
    finally:
        sampler.close()


def test_failures_of_one_kind_with_other_words_are_other_outcomes() -> None:
    sample = OutcomeParser().parse_outcomes([Failure("raises", "a"), Failure("raises", "b"), Failure("raises", "a")])
    assert sample.kinds.tolist() == [0, 1, 0]


def test_an_audit_of_itself_names_what_it_saw_and_what_gave_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run("audit", "self", "--quick", "--effort", "0.2", "--only", "k-ary")
    assert found.exit_code == 0, found.output
    assert found.output.count("not flagged") == 4
    assert "2 releases and 2 exact losses, 0 flagged, 0 without an answer. Not flagged is no proof." in found.output

    def refused(data: object) -> object:
        raise ValueError("whatever is asked")

    one = families.values([0, 1], adjacency=dp.ADD_REMOVE)
    made = [AuditTarget("no sampler", CallableSampler(refused), one, dp.PrivacyLoss.pure(1), "noise")]
    monkeypatch.setattr(targets, "list_targets", lambda: iter(made))
    found = run("audit", "self", "--quick", "--only", "no sampler")
    assert (found.exit_code, found.output.count("NO ANSWER")) == (ExitStatus.NO_VERDICT, 1), found.output


def test_a_comma_inside_a_release_name_does_not_split_it() -> None:
    assert split_words("stream, each step") == ("stream, each step",)
    assert split_words("Stream, hierarchy: epsilon 1,k-ary") == ("Stream, hierarchy: epsilon 1", "k-ary")
    assert split_words("k-ary, buckets,noise") == ("k-ary", "buckets", "noise")
    found = run("audit", "self", "--quick", "--effort", "0.1", "--only", "Stream, Each Step: epsilon 1")
    assert "1 releases and 2 exact losses, 0 flagged" in found.output


def test_words_of_no_release_are_refused_because_an_empty_audit_passes_for_a_clean_one() -> None:
    found = run("audit", "self", "--quick", "--only", "totals by bufers")
    assert found.exit_code == ExitStatus.USAGE, found.output
    line = (
        "only: no release here has one of the words 'totals by bufers' in its name; leave out --quick, or name others"
    )
    assert line in " ".join(found.stderr.split())


def test_an_audit_of_itself_goes_on_behind_the_last_whole_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, called = families.values([0, 1], adjacency=dp.ADD_REMOVE).take_first(1), []

    def made(name: str) -> AuditTarget:
        return AuditTarget(
            name, CallableSampler(lambda data: called.append(name)), one, dp.PrivacyLoss.pure(1), "noise"
        )

    monkeypatch.setattr(targets, "list_targets", lambda: iter([made("first"), made("second")]))
    file = tmp_path / "kept.jsonl"
    words = "audit", "self", "--quick", "--effort", "0.1", "--only", "first,second", "--resume", str(file)
    assert run(*words).exit_code == 0
    assert set(called) == {"first", "second"}
    whole = file.read_text("utf-8")
    file.write_text(whole[:-20], encoding="utf-8")  # killed while it wrote
    called.clear()
    assert run(*words).exit_code == 0
    assert set(called) == {"second"}
    assert len(file.read_text("utf-8").splitlines()) == 2
    file.write_text("no report\n", encoding="utf-8")
    assert "resume: the file holds no audit of everything" in run(*words).stderr


def test_outcomes_of_another_length_are_no_other_outcomes() -> None:
    """A rare longer outcome of one data set widens its sample: what is short is the same on both."""
    rng, family = np.random.default_rng(3), families.answers(1).take_first(1)

    def release(data: Any, k: int) -> list[list[float]]:
        longer = (rng.random(k) < 0.01) & (data[0] > 0)
        return [[1.0, 2.0] if each else [1.0] for each in longer]

    report = dp.audit(release, family, epsilon=1, delta=0.01, batch=True, samples=4000, seconds=60, extra_checks=False)
    assert not report.is_flagged, str(report)
