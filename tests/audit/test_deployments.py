"""Doors give answers, and what is said to lose half of what it loses is flagged through them."""

from __future__ import annotations

import pytest

import dpcurves as dp
from dpcurves_audit.cli import QUICK_FACES, _is_quick
from dpcurves_audit.deployments import Audited
from dpcurves_audit.faces import everything
from dpcurves_audit.feature import Reader

ALL = {each.name: each for each in everything()}
NEW = "stream,", "followed", "report", "pairs", "two servers", "verification", "curve of", "median of"
BESIDE = [each for each in ALL.values() if each.name.startswith(NEW)]


def test_names_are_unique_and_the_quick_audit_finds_its_faces() -> None:
    assert len(ALL) == len(list(everything()))
    assert set(QUICK_FACES) <= set(ALL)
    assert 60 < sum(map(_is_quick, ALL.values())) < 90


@pytest.mark.parametrize("each", BESIDE, ids=lambda each: f"{each.kind}: {each.name}")
def test_both_neighbours_of_the_first_pair_are_answered(each: Audited) -> None:
    reader, pair = Reader(), each.family.pairs[0]
    for data in (pair.left, pair.right):
        assert len(reader.read(each.door.draw(data, 2))) == 2
    assert not any(words.startswith("raises") for words in reader.words), reader.words


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("stream, each step: epsilon 1", {"epsilon": "0.4"}),
        ("stream, hierarchy: epsilon 1", {"epsilon": "0.3"}),
        ("k-ary of 5 answers", {"epsilon": "0.5"}),
        ("unary of 5 answers", {"epsilon": "0.5"}),
        ("report with public coins: epsilon 1", {"epsilon": "0.5"}),
        ("pairs, answers on collisions", {"epsilon": "0.5"}),
        ("merged cells: epsilon 1, add-remove", {"epsilon": "0.3"}),
        ("sums of values: epsilon 1, replace-one", {"epsilon": "0.5"}),
    ],
)
def test_half_of_what_is_lost_is_not_believed(name: str, claim: dict[str, str]) -> None:
    """Not found with a chance below 1 in 100 each; the audit of this package looks through the same doors."""
    each = ALL[name]
    report = dp.audit(each.door, each.family.first(8), samples=12_000, seconds=60, beside=False, **claim)  # type: ignore[arg-type]
    assert report.flagged, str(report)
