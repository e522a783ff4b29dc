from __future__ import annotations

import itertools
import subprocess
import sys

import pytest
from quick_cases import choose_quick_cases

from dpcurves.privacy import EACH_RECORD, AddRemove, Neighbours, PrivacyLoss, ReplaceOne, Unit

CROSS = {
    f"test[{distribution}-{adjacency}-{bins}]": {"distribution": distribution, "adjacency": adjacency, "bins": bins}
    for distribution, adjacency, bins in itertools.product(range(9), ("add-remove", "replace-one"), (1, 2, 3))
}


def test_one_case_in_so_many_stays_and_the_same_ones_each_time() -> None:
    cases = {f"test[{number}]": {"number": number} for number in range(81)}
    chosen = choose_quick_cases(cases, 8)
    assert len(chosen) == 11
    assert chosen == choose_quick_cases(dict(reversed(cases.items())), 8)
    assert choose_quick_cases(cases, 1) == set(cases)
    assert len(choose_quick_cases(cases, 1000)) == 1


def test_each_value_of_a_cross_product_stays() -> None:
    chosen = choose_quick_cases(CROSS, 100)
    assert len(chosen) == 9  # as many as there are distributions
    for name in ("distribution", "adjacency", "bins"):
        assert {CROSS[case][name] for case in chosen} == {arguments[name] for arguments in CROSS.values()}


def test_each_combination_of_kinds_that_are_named_together_stays() -> None:
    chosen = choose_quick_cases(CROSS, 100, kinds=[("distribution", "adjacency"), "bins"])
    assert len(chosen) == 18
    assert {CROSS[case]["bins"] for case in chosen} == {1, 2, 3}


def test_equal_values_are_one_kind_and_true_is_not_one() -> None:
    cases = {str(number): {"kind": [True, 1, "1", 1.0][number % 4]} for number in range(16)}
    assert len(choose_quick_cases(cases, 100)) == 4
    frames: list[list[int]] = [[], []]
    without_hash = {str(number): {"frame": frames[number % 2]} for number in range(16)}
    assert len(choose_quick_cases(without_hash, 100)) == 2


def test_kinds_that_are_named_stay_whatever_their_number() -> None:
    cases = {str(number): {"number": number} for number in range(10)}
    assert choose_quick_cases(cases, 5, kinds=["number"]) == set(cases)
    with pytest.raises(pytest.UsageError, match=r"kinds must be arguments of the test, got distribution"):
        choose_quick_cases(cases, 5, kinds=["distribution"])


@pytest.mark.parametrize("kinds", [None, (), ["bins"]], ids=str)
def test_each_adjacency_stays_under_each_kind_of_loss(kinds: list[str] | None) -> None:
    adjacencies = [AddRemove(EACH_RECORD), AddRemove(Unit("patient", 2)), ReplaceOne(EACH_RECORD, 3), *Neighbours]
    losses = [PrivacyLoss.pure(1), PrivacyLoss.pure(2), PrivacyLoss.zcdp(1), PrivacyLoss.zcdp(2)]
    cases = {
        f"{adjacency!r}, pure {loss.is_pure}; {loss}, {bins} bins": {"adjacency": adjacency, "loss": loss, "bins": bins}
        for adjacency, loss, bins in itertools.product(adjacencies, losses, range(4))
    }
    chosen = choose_quick_cases(cases, 100, kinds)
    assert len(chosen) == len({case.split(";")[0] for case in chosen}) == 10


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("number", range(16))
def test_a_family_that_another_test_collects(number: int, adjacency: str) -> None:
    assert number >= 0
    assert adjacency


def test_the_quick_and_the_slow_cases_are_all_cases() -> None:
    collected = []
    for selection in ("not reproduction", "reproduction"):
        options = ["--collect-only", "-p", "no:cacheprovider", "-m", selection]
        command = [sys.executable, "-m", "pytest", *options, __file__]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        collected.append([line for line in lines if "test_a_family_that_another" in line])
    quick, slow = collected
    assert len(quick) == 16  # each number, and each adjacency
    assert len(slow) == 16
    assert len({*quick, *slow}) == 32
    assert {adjacency for adjacency in ("add-remove", "replace-one") if any(adjacency in line for line in quick)} == {
        "add-remove",
        "replace-one",
    }
