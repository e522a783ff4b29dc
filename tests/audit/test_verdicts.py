"""What an audit says when a machine is slow, a release fails, or pairs were left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from dpcurves.cli.app import build
from dpcurves.cli.status import ExitStatus
from dpcurves_audit import audit
from dpcurves_audit.confidence_limits import Claim
from dpcurves_audit.report import Report
from dpcurves_audit.samplers import Sampler
from dpcurves_audit.search import Search

FAMILY = audit.families.values([0, 1, 2, 3], adjacency=audit.families.ADD_REMOVE)


class Clock:
    """A clock that calls of the release advance."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class TimedSampler(Sampler):
    """A count whose calls take time by a clock: `seconds` each, and `delays` of some calls in addition."""

    name = "count"

    def __init__(self, clock: Clock, seconds: float, delays: dict[int, float], scale: float = 1.0) -> None:
        self.clock, self.seconds, self.delays, self.scale = clock, seconds, delays, scale
        self.rng, self.draws = np.random.default_rng(4), 0

    def draw(self, data: Any, calls: int) -> Any:
        self.clock.now += calls * self.seconds + self.delays.get(self.draws, 0.0)
        self.draws += 1
        return np.round(len(data) + self.rng.laplace(scale=self.scale, size=calls), 2)


@pytest.mark.parametrize("slow_draw", range(6))
def test_one_slow_call_ends_no_search_and_all_of_the_time_is_used(slow_draw: int) -> None:
    clock = Clock()
    sampler = TimedSampler(clock, 0.0001, {slow_draw: 0.06})
    report = Search(sampler, FAMILY, Claim.from_parameters(1, 0.0, None), 0.95, clock=clock).run(20.0)
    assert clock.now >= 0.8 * 20
    assert len(report.pair_results) == report.family_pairs == len(FAMILY.pairs)
    assert not report.is_flagged  # false alarm: 5 %, with a fixed seed


def test_a_machine_that_is_busy_at_first_does_not_hide_a_fault() -> None:
    clock = Clock()
    sampler = TimedSampler(clock, 0.0001, dict.fromkeys(range(4), 0.5), scale=0.7)
    report = Search(sampler, FAMILY, Claim.from_parameters(1, 0.0, None), 0.95, clock=clock).run(20.0)
    assert report.is_flagged  # chance of a miss below 1 %, with a fixed seed


def test_fresh_samples_are_drawn_even_if_the_choice_of_an_event_took_all_the_time() -> None:
    clock = Clock()

    class SlowChoice(Search):
        """A search whose choices of an event take half of its time each."""

        def _find_events(self, *samples: Any, **options: Any) -> Any:
            clock.now += 0.5
            return super()._find_events(*samples, **options)

    sampler = TimedSampler(clock, 0.0001, {}, scale=0.25)
    search = SlowChoice(sampler, FAMILY.take_first(1), Claim.from_parameters(1, 0.0, None), 0.9999, 20_000, clock=clock)
    report = search.run(1.0)
    assert min(report.samples) > 50
    assert report.is_flagged  # chance of a miss below 1 %, with a fixed seed


def test_a_search_that_looks_at_a_part_of_the_pairs_says_so_first() -> None:
    clock = Clock()
    family = audit.families.values(list(range(40)), adjacency=audit.families.ADD_REMOVE)
    report = Search(TimedSampler(clock, 0.05, {}), family, Claim.from_parameters(1, 0.0, None), 0.95, clock=clock).run(
        5.0
    )
    assert len(report.pair_results) < report.family_pairs == len(family.pairs)
    assert report.is_partial
    first, second, *_ = str(report).splitlines()
    assert first.startswith(f"Only {len(report.pair_results)} of {report.family_pairs} pairs were looked at")
    assert second.startswith("Not flagged is no proof.")
    assert "too little noise" not in str(report) + report.to_html()  # its power on this release was not measured
    assert Report.from_dict(json.loads(report.to_json())).is_partial


def test_a_release_that_always_fails_has_no_verdict_and_few_calls() -> None:
    calls = []

    def fail(data: Any) -> float:
        calls.append(1)
        raise KeyError("broken")

    report = audit(fail, FAMILY, epsilon=1, seconds=30)
    assert report.is_silent
    assert len(calls) < 1000
    assert str(report).startswith("No verdict: every call of ")
    assert "KeyError" in str(report)
    assert str(report).count("\n") == 0


@pytest.fixture(scope="module")
def run() -> Callable[..., Result]:
    return lambda *words: CliRunner().invoke(build(["audit"]), ["audit", *map(str, words)])


def test_failing_commands_and_partial_searches_have_statuses_of_their_own(
    run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = run("command", "false {data} {out}", "--family", "values:0:1:2", "--epsilon", 1, "--seconds", 30)
    assert failed.exit_code == ExitStatus.NO_VERDICT, failed.output
    assert failed.output.count("\n") == 1
    script = tmp_path / "release.sh"
    script.write_text("#!/bin/sh\necho 1\n")
    script.chmod(0o700)
    partial = run("command", f"{script} {{data}}", "--family", "values:0:1:64", "--epsilon", 1, "--seconds", 0.5)
    assert partial.exit_code == ExitStatus.PARTIAL, partial.output
    assert partial.output.startswith("Only ")


def test_forked_workers_that_draw_the_same_noise_fail_the_audit(
    run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "forked_release.py").write_text(
        "import numpy as np\nRNG = np.random.default_rng()\n"
        "def count(data):\n    return round(len(data) + RNG.laplace(scale=20), 2)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(__file__).parents[2] / 'src'}")
    found = run("package", "forked_release:count", "--family", "values:0:1:2", "--epsilon", 1, "--seconds", 1)
    assert (found.exit_code, "draw the same noise" in found.output) == (6, True), found.output
