"""Noise that comes again is found: in forked workers, new processes, neighbours' calls; in this package it does not."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

import dpcurves as dp
from dpcurves_audit.auditor import check_forked_workers, check_new_processes, check_noise_reuse
from dpcurves_audit.deployments import list_deployment_targets
from dpcurves_audit.neighbouring_datasets import NeighbourPair, values
from dpcurves_audit.outcome_scores import Failure
from dpcurves_audit.report import Finding
from dpcurves_audit.samplers import CallableSampler
from dpcurves_audit.targets import check_reopened_ledger, confirm_findings, make_killed_sampler, make_session_sampler

PAIR = NeighbourPair("a row joins", [], [1.0])
ONE = dp.PrivacyLoss.pure(1)


def fresh(data: list[float]) -> int:
    return len(data) + int.from_bytes(os.urandom(4))


def test_workers_that_are_forked_with_a_generator_repeat_its_noise() -> None:
    chance = np.random.default_rng()
    found = check_forked_workers(CallableSampler(lambda data: len(data) + int(chance.integers(2**40))), PAIR)
    assert found is not None
    assert (found.name, found.is_flagged) == ("forked workers", True)
    assert check_forked_workers(CallableSampler(fresh), PAIR) is None


@pytest.mark.reproduction
def test_a_fixed_seed_shows_in_new_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(tmp_path, "seeded.py").write_text(
        "import os\nfrom random import Random\nCHANCE = Random(7)\n\n"
        "def one(data):\n    return len(data) + CHANCE.getrandbits(40)\n\n"
        "def other(data):\n    return len(data) + int.from_bytes(os.urandom(5), 'big')\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    found = check_new_processes("seeded:one", PAIR)
    assert found is not None
    assert found.is_flagged
    assert check_new_processes("seeded:other", PAIR) is None


def test_neighbours_that_are_asked_one_after_the_other_share_no_noise() -> None:
    """Noise that is kept for two calls, as a cache of a request does."""
    calls, kept = [0], [0]

    def sharing(data: list[float]) -> int:
        if calls[0] % 2 == 0:
            kept[0] = int.from_bytes(os.urandom(5))
        calls[0] += 1
        return len(data) + kept[0]

    assert "shared noise" in [
        finding.name for finding in check_noise_reuse(CallableSampler(sharing), PAIR) if finding.is_flagged
    ]
    assert check_noise_reuse(CallableSampler(fresh), PAIR) == []


def test_a_request_that_is_killed_is_answered_as_before_and_another_one_with_other_noise() -> None:
    pair = values([0, 1], adjacency=dp.ADD_REMOVE).pairs[0]
    (story,) = make_killed_sampler(dp.CountQuestion("value"), dp.PrivacyLoss.pure("1e-4"), dp.ADD_REMOVE).draw(
        pair.left, 1
    )
    assert not isinstance(story[0], Failure)
    assert len(story) == 3
    assert story[0] == story[1] == story[2]  # noise of ten thousand: by chance once in many
    assert check_reopened_ledger(pair) == []


def test_a_ledger_whose_noise_comes_again_when_it_is_opened_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object, ledger: str, **__: object) -> object:
        number = Random(ledger).getrandbits(40)  # a seed in the ledger, and none of the request
        told = SimpleNamespace(evidence=[SimpleNamespace(values=(number,))])
        return nullcontext(SimpleNamespace(ask=lambda *_: told))

    monkeypatch.setattr(dp, "Session", opened)
    (finding,) = check_reopened_ledger(values([0, 1], adjacency=dp.ADD_REMOVE).pairs[0])
    assert (finding.name, finding.is_flagged) == ("reopened ledger", True)


def test_what_is_flagged_beside_a_bound_was_found_twice() -> None:
    """Neighbours' calls agree by chance once in ten thousand looks: one of these would fail the tests of a year."""
    flagged, calm = Finding("shared noise", "", is_flagged=True), Finding("timing", "", is_flagged=False)
    looks = iter([[flagged, calm], [], [flagged], [calm, flagged], [calm]])
    assert [confirm_findings(lambda: next(looks)) for _ in range(3)] == [[calm], [flagged], [calm]]


def test_a_stream_that_is_followed_again_or_killed_tells_the_same_numbers() -> None:
    """The numbers of a stream agree by chance once in a hundred times at epsilon 1: in all of ten, never."""
    found = {each.name: each for each in list_deployment_targets() if each.kind == "ledger"}
    for sampler in (each.sampler for each in found.values()):
        for story in sampler.draw(np.array([0, 1, 0, 2]), 5):
            assert all(told == story[0] for told in story[1:]), story
    assert len(found) == 2


def test_answers_of_one_session_are_paid_by_the_sum() -> None:
    """The budget of the sampler is their sum, to the last part: a question more, and it would refuse."""
    count, cdf = dp.CountQuestion("value"), dp.CdfQuestion("value", dp.Grid(0, 1, cells=4))
    sampler = make_session_sampler({count: ONE, cdf: ONE}, dp.ADD_REMOVE)
    (answers,) = sampler.draw(np.array([0.5]), 1)
    assert [answer["kind"] for answer in answers] == ["summary", "cdf"]
    assert [answer["privacy"]["epsilon"] for answer in answers] == [1, 1]
