"""Groups that nobody listed are found under a delta, which an account has to have, and which it counts."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.ledger.account import QuestionBudget
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.queries import PartitionSelectionQuery
from dpcurves.records import open_records

LOSS = dp.PrivacyLoss.pure(2, "1e-6")
WARDS = ["a"] * 600 + ["b"] * 400 + ["alone"] + [None] * 100
TABLE = {"x": np.linspace(0, 99, len(WARDS)), "ward": WARDS, "number": np.arange(len(WARDS)) % 2}
GRID = dp.Grid(0, 100, cells=4)
BY_WARD = dp.HistogramQuestion("x", GRID, by=dp.UnlistedCategories("ward"))


def session(**more: Any) -> dp.Session:
    given = {"budget": dp.PrivacyLoss.pure(9, "2e-6"), "adjacency": dp.ADD_REMOVE, **more}
    return dp.Session(given.pop("table", TABLE), randomness=dp.Randomness.from_seed(1), **given)


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
@pytest.mark.parametrize("loss", [LOSS, dp.PrivacyLoss.zcdp(2, "1e-6")], ids=str)
def test_groups_of_many_are_found_and_the_rest_is_together(adjacency: Any, loss: dp.PrivacyLoss) -> None:
    with session(adjacency=adjacency, budget=loss) as opened:
        found = opened.ask(BY_WARD, loss)
    assert list(found) == ["a", "b", "other"]
    totals = [curve.count.sum() for curve in found.values()]
    assert totals == pytest.approx([600, 400, 1], abs=25)
    assert (found.privacy.loss, found.privacy.delta) == (str(loss), 1e-6)
    assert any("2 are released" in note for note in found.notes)
    assert json.loads(found.to_json())["privacy"]["delta"] == 1e-6
    assert dp.ByCategory.from_json(found.to_json()).privacy == found.privacy


def test_a_delta_is_spent_once_and_kept(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    with session(ledger=url) as opened:
        first = opened.ask(BY_WARD, LOSS, "mine")
    with session(ledger=url) as opened:
        assert opened.ask(BY_WARD, LOSS, "mine").to_json() == first.to_json()
        assert opened.remaining == dp.PrivacyLoss.pure(7, LOSS.delta)
        with pytest.raises(dp.BudgetExceeded, match="delta: .* costs 2e-06; 1e-06 of 2e-06 is left"):
            opened.ask(BY_WARD, LOSS.with_delta(2 * LOSS.delta))
        opened.ask(BY_WARD, LOSS)
        assert opened.remaining.delta == 0
        assert [line.loss.delta for line in opened.statement.grants] == [LOSS.delta] * 2
    assert dp.Ledger.open(url).verify().entries > 0
    with pytest.raises(ValueError, match="budget: the account of 'data' was opened with epsilon 9, delta 2e-06"):
        session(ledger=url, budget=dp.PrivacyLoss.pure(9))


def test_a_delta_is_refused_where_there_is_none_and_where_it_is_for_nothing() -> None:
    with session(budget=dp.PrivacyLoss.pure(9)) as opened:
        with pytest.raises(ValueError, match="delta: the account of 'data' has no delta"):
            opened.ask(BY_WARD, LOSS)
        with pytest.raises(dp.UnsupportedQuery, match="delta: unlisted groups are found only with a delta"):
            opened.ask(BY_WARD, dp.PrivacyLoss.pure(1))
        with pytest.raises(ValueError, match="delta: the question selects no partitions"):
            opened.ask(dp.HistogramQuestion("x", GRID), LOSS)
        two = dp.HistogramQuestion("x", GRID, by=(dp.UnlistedCategories("ward"), dp.UnlistedCategories("number")))
        with pytest.raises(ValueError, match="by: only the groups of one column"):
            opened.ask(two, LOSS)
        assert opened.remaining.epsilon == 9


def test_one_step_has_all_of_the_delta() -> None:

    budget, half = QuestionBudget.for_planning(LOSS), Fraction(1, 2)
    assert budget.pay("counts", Fraction(1, 4)).loss.delta == 0
    assert budget.pay(PartitionSelectionQuery.from_column("ward"), Fraction(1, 4)).loss.delta == LOSS.delta
    with pytest.raises(ValueError, match="delta: an earlier step of the question used all"):
        budget.pay(PartitionSelectionQuery.from_column("bed"), half)


@pytest.mark.parametrize("question", [
    dp.CdfQuestion("x", GRID, by=dp.UnlistedCategories("number")), dp.CountQuestion("x",
    by=dp.UnlistedCategories("ward")),
    dp.HistogramQuestion("x", GRID, by=(dp.UnlistedCategories("ward"), dp.Categories("number", (0, 1)))),
], ids=str)  # fmt: skip
def test_questions_by_groups_find_them(question: Any) -> None:
    with session() as opened:
        found = opened.ask(question, LOSS)
    assert found.privacy.delta == 1e-6
    assert len(found) in {3, 6}


def test_rows_of_a_unit_count_once_for_each_name_and_a_bound_may_be_found_too() -> None:
    who = np.repeat(np.arange(500), 2)
    table = {"x": np.ones(1000), "ward": ["a", "b"] * 450 + ["c", "c"] * 50, "who": who}
    names = dp.UnlistedCategories("ward")
    for unit, counts in ((EACH_RECORD, (450, 450, 100)), (Unit("who", 2), (450, 450, 50))):
        with open_records(table, unit=unit, key=bytes(32)) as records:
            assert records.names(names) == dict(zip("abc", counts, strict=True))
    with session(table=table, unit="who", budget=dp.PrivacyLoss.pure(8, "1e-6")) as opened:
        found = opened.ask(dp.CountQuestion("x", by=names), dp.PrivacyLoss.pure(8, "1e-6"))
        assert opened.remaining.epsilon == 0
    assert list(found) == ["a", "b", "c", "other"]
    assert found.privacy.epsilon == 8
    assert any("chose" in note for note in found.notes)


def test_long_names_and_missing_ones_are_not_listed_and_an_own_group_called_other_stays() -> None:
    table = {"ward": ["other"] * 300 + ["x" * 201] * 300 + [None] * 300, "x": np.arange(900)}
    with session(table=table) as opened:
        found = opened.ask(dp.CountQuestion("x", by=dp.UnlistedCategories("ward")), LOSS)
    assert list(found) == ["other", "other groups"]
    assert [curve.count for curve in found.values()] == pytest.approx([300, 300], abs=25)


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
@pytest.mark.parametrize("loss", [dp.PrivacyLoss.pure(4), dp.PrivacyLoss.zcdp(4)], ids=str)
def test_groups_of_a_public_universe_need_no_delta(adjacency: Any, loss: dp.PrivacyLoss) -> None:
    table = {"x": np.linspace(0, 99, 1701), "ward": ["ab"] * 900 + ["no letters"] * 700 + ["alone"] + [None] * 100}
    letters, hashes = dp.TextUniverse("a-z", 10), dp.HashUniverse(32)
    with session(table=table, adjacency=adjacency, budget=loss * Fraction(2)) as opened:
        asked = [
            dp.HistogramQuestion("x", GRID, by=dp.UnlistedCategories("ward", universe=each))
            for each in (letters, hashes)
        ]
        assert "among texts of up to 10 of 26 letters" in opened.plan(asked[0], loss).notes[-1]
        told, by_hash = (opened.ask(each, loss) for each in asked)
        assert opened.remaining == loss * Fraction(0)
    assert list(told) == ["ab", "other"]
    assert "; noise adds a name without records to about one release in ten" in told.notes[-1]
    assert [curve.count.sum() for curve in told.values()] == pytest.approx([900, 701], abs=30)
    assert set(by_hash) == {hashes.label("ab"), hashes.label("no letters"), "other"}
    assert by_hash[hashes.label("no letters")].count.sum() == pytest.approx(700, abs=30)
    assert (told.privacy.loss, told.privacy.delta) == (str(loss), 0)
    with pytest.raises(ValueError, match="delta: the question selects no partitions"):
        dp.plan_question(asked[0], loss.with_delta(LOSS.delta), adjacency.to_adjacency(EACH_RECORD, 1701))


def test_a_universe_is_written_and_read_and_numbers_are_hashed_by_their_text() -> None:
    from dpcurves.curves.question_json import question_from_json, question_to_json

    for universe in (dp.TextUniverse("a-z-", 10), dp.HashUniverse(64), None):
        question = dp.CdfQuestion("x", GRID, by=dp.UnlistedCategories("ward", universe=universe))
        assert question_from_json(json.loads(json.dumps(question_to_json(question)))) == question
    table = {"x": np.arange(800), "code": np.arange(800) % 2 + 7}
    with session(table=table) as opened:
        found = opened.ask(
            dp.CountQuestion("x", by=dp.UnlistedCategories("code", universe=dp.HashUniverse(16))),
            dp.PrivacyLoss.pure(4),
        )
    assert len(found) == 3
    assert [curve.count for curve in found.values()] == pytest.approx([400, 400, 0], abs=20)


def test_what_was_paid_is_answered_whatever_groups_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest of more groups than a table has room for are told; names that could be mistaken are others."""
    monkeypatch.setattr("dpcurves.trust.central.MOST_COUNTED", 1024)
    number = np.arange(3000)
    table = {
        "x": number % 97, "one": ["g00" if each % 2 else f"g{each % 30:02d}" for each in number],
        "two": [("b, c", "c")[each % 2] for each in number],
        "side": [("a", "a, b")[int(each % 3 > 0)] for each in number],
    }  # fmt: skip
    loss = dp.PrivacyLoss.pure(20, "1e-3")
    with session(table=table, budget=dp.PrivacyLoss.pure(40, "2e-3")) as opened:
        found = opened.ask(dp.HistogramQuestion("x", dp.Grid(0, 100, cells=128), by=dp.UnlistedCategories("one")), loss)
        sides = dp.Categories("side", ("a", "a, b"))
        both: Any = opened.ask(dp.HistogramQuestion("x", GRID, by=(sides, dp.UnlistedCategories("two"))), loss)
        assert opened.remaining.epsilon == 0
    assert (len(found), "g00" in list(found)) == (8, True)
    assert sum(curve.count.sum() for curve in found.values()) == pytest.approx(3000, abs=60)
    assert [names[1] for names in both] == ["c", "other"] * 2
