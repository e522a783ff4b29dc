"""Fingerprints of plans stand in ledgers: words, forecasts and names in the code may change, these may not."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from every_question import QUESTIONS

import dpcurves as dp
from dpcurves.conversation.release import fingerprint, to_canonical_json
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, ReplaceOne, Unit
from dpcurves.trust import Central

ONE, WHO = dp.PrivacyLoss.pure(1), AddRemove(EACH_RECORD)
CDF, BOUNDS = dp.CdfQuestion("x", dp.Grid(0, 1, cells=1024)), dp.BoundsQuestion("r", 0.25, "0.9")


@pytest.mark.parametrize(
    ("question", "pinned"),
    [
        (CDF, ["4572e7168d65", "7257c4350bd9"]),
        (BOUNDS, ["e019b96751c4"]),
    ],
)
def test_plans_have_the_fingerprints_that_ledgers_hold(question: Any, pinned: list[str]) -> None:
    made = dp.plan_question(question, ONE, WHO)
    assert [plan.fingerprint[:12] for plan in made] == pinned


def plans() -> list[Any]:
    """The plans of all questions, at three losses, each under an adjacency of its own."""
    losses = ONE, dp.PrivacyLoss.pure(2), dp.PrivacyLoss.zcdp(1)
    who: tuple[Adjacency, ...] = WHO, ReplaceOne(EACH_RECORD, 1000), AddRemove(Unit("patient", 2))
    made: list[Any] = []
    for question in QUESTIONS:
        for loss, adjacency in zip(losses, who, strict=True):
            try:
                made.extend(dp.plan_question(question, loss, adjacency))
            except dp.UnsupportedQuery:
                continue
    return made


def test_plans_have_one_fingerprint_for_one_release_whatever_words_tell_it_and_another_for_another() -> None:
    known = dict[str, str]()
    for plan in plans():
        known[repr((plan.query, plan.loss, plan.adjacency, plan.distribution))] = plan.fingerprint
        said = replace(plan, made_by="in other words", error=plan.error + 1)
        assert said.fingerprint == plan.fingerprint
    assert len(set(known.values())) == len(known) > 100


def test_facts_that_differ_have_different_forms() -> None:
    grid = dp.Grid(0, 1, cells=4)
    fine = [dp.Grid.from_edges((*range(5_000), last)) for last in (5_001, 5_002)]  # hashed, as decimals would take long
    assert max(len(to_canonical_json(grid)) for grid in fine) < 300
    facts: list[Any] = [
        *fine,
        1, 1.0, "1", True, None, (1,), ((1,),), grid, grid.with_outside(dp.Outside.APART), dp.Grid(0, 1, cells=5),
        ONE, dp.PrivacyLoss.pure("0.5"), dp.Hint.SPREAD, "SPREAD", WHO, range(4), (0, 1, 2, 3),
        dp.Categories("x", (1,)), dp.Categories("x", ("1",)), dp.CdfQuestion("x", grid), dp.CdfQuestion("y", grid),
        dp.HistogramQuestion("x", grid),
    ]  # fmt: skip
    assert len({to_canonical_json(fact) for fact in facts}) == len({fingerprint(fact) for fact in facts}) == len(facts)


def test_an_answer_is_found_again_after_words_and_forecasts_changed_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid, plain = dp.Grid(0, 8, cells=8), Central.plan_query
    terms: dict[str, Any] = {"budget": ONE, "adjacency": dp.REPLACE_ONE, "ledger": f"sqlite:///{tmp_path}/b.db"}
    with dp.Session({"x": [1, 2, 3]}, **terms) as session:
        first = session.ask(dp.CdfQuestion("x", grid, measured_in="years"), ONE, "paid").y.tolist()

    def reworded(self: Central, *given: Any) -> Any:
        made = plain(self, *given)
        return replace(made, made_by=made.made_by.replace("one curator", "a curator"), error=made.error * 1.01)

    monkeypatch.setattr(Central, "plan_query", reworded)
    with dp.Session({"x": [1, 2, 3]}, **terms) as session:
        assert session.ask(dp.CdfQuestion("x", grid, measured_in="years of age"), ONE, "paid").y.tolist() == first
        with pytest.raises(ValueError, match="was used for another question"):
            session.ask(dp.CdfQuestion("x", dp.Grid(0, 8, cells=4)), ONE, "paid")
    with sqlite3.connect(tmp_path / "b.db") as opened:
        ((table,),) = opened.execute("SELECT name FROM sqlite_master WHERE name LIKE '%grants'").fetchall()
        assert opened.execute(f"SELECT count(*) FROM {table}").fetchone() == (1,)
