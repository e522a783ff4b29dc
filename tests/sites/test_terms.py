"""Terms of a task: whole questions are paid for, columns are those that were declared, and officers approve."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from test_trust import AGE, ONE, TEN, Made, made, tables

import dpcurves as dp
from dpcurves.ledger import BudgetExceeded, Ledger, QuestionBudget
from dpcurves.models.terms import Power, Term
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss, Unit
from dpcurves_parties.serving.identity import Server
from dpcurves_parties.serving.task_document import Role
from dpcurves_sites.cli import SiteOptions
from dpcurves_sites.columns import ColumnKind, parse_schema
from dpcurves_sites.remote import ApprovalRequest, ApprovedList, RoundOver, _CoordinatorConnection, fingerprint_question
from dpcurves_sites.secure_sum import KEYS
from dpcurves_sites.site import Federation, Site
from dpcurves_sites.task import FederationTask, Member
from dpcurves_sites.trust import SecureSum

TURNS = dp.CdfQuestion("age", dp.Grid(0, 100, cells=4096))
SCHEMA = parse_schema("age:number,score:number,label:category,person:category")


SERVER = Server("https://127.0.0.1:1", "00" * 32, "a certificate")


def scorecard(*columns: str) -> dp.Scorecard:
    terms = tuple(Term(0.01, (Power(column),)) for column in columns)
    return dp.Scorecard("risk", 0.1, tuple(dp.NumericColumn(column, 0, 100) for column in columns), terms)


def left(of: Made) -> list[str]:
    return [str(ledger.balance("flights").spent) for ledger in of.ledgers]


def test_a_site_that_could_not_pay_for_all_turns_refuses_the_first_one() -> None:
    """Its budget would do for all turns but the last one; the others have enough."""
    of = made(SecureSum(3, 1))
    plans = of.federation.plan(TURNS, ONE)
    assert len(plans) > 1
    own, poor = of.sites[1], replace(of.terms, budget=PrivacyLoss.pure("0.9"))
    of.ledgers[1] = Ledger.open("sqlite://")
    of.sites[1] = Site(poor, own._round_store._signer, of.tables[1], of.ledgers[1], "flights")
    assert sum((plan.loss.epsilon or Fraction(0) for plan in plans[:-1]), Fraction(0)) < Fraction(9, 10)
    with pytest.raises(BudgetExceeded, match="site 1 has epsilon 0.9 left, and this question needs epsilon 1"):
        of.federation.ask(TURNS, ONE)
    assert left(of) == ["epsilon 0"] * 3
    first = of.federation.ask(TURNS, PrivacyLoss.pure("0.9"), "r")
    assert of.federation.ask(TURNS, PrivacyLoss.pure("0.9"), "r").to_json() == first.to_json()
    assert left(of) == ["epsilon 0.9"] * 3


def test_a_question_whose_second_turn_a_site_could_not_answer_is_refused_before_the_first() -> None:
    of = made(SecureSum(3, 1))
    del of.tables[2]["score"]
    both = dp.PlaneBoundsQuestion(dp.BoundsQuestion("age", 1.0, "0.9"), dp.BoundsQuestion("score", 0.1, "0.9"))
    with pytest.raises(ValueError, match="'score' is not in the data"):
        of.federation.ask(both, ONE)
    assert left(of) == ["epsilon 0"] * 3


def site(table: dict[str, Any], unit: Unit = EACH_RECORD, names: dict[str, str] | None = None, **terms: Any) -> Site:
    of = made(SecureSum(3, 1), unit=unit)
    own = Ledger.open("sqlite://")
    return Site(replace(of.terms, **terms), of.sites[0]._round_store._signer, table, own, "flights", columns=names)


def test_a_site_with_another_schema_refuses_before_any_question() -> None:
    (table,) = tables(1)
    table["label"] = np.where(table["label"] == 1, "late", "on time")
    site(table, columns=SCHEMA).open()
    site(table, names={"years": "age", "years of age": "age"}, columns={"years": ColumnKind.NUMBER}).open()
    for columns, rule in (
        ("height:number", "must contain 'height', a number, as the task says, but 'height' is not in the data"),
        (
            "label:number",
            "must contain 'label', a number, as the task says, but 'label' holds text, a number is needed",
        ),
    ):
        with pytest.raises(ValueError, match=rule):
            site(table, columns=parse_schema(columns)).open()
    for text in ("age", "age:date", "age:number,age:number", ":number", ""):
        with pytest.raises(ValueError, match="columns: must be NAME:TYPE with each column once"):
            parse_schema(text)


def test_questions_ask_of_columns_of_the_task_alone() -> None:
    of = made(SecureSum(3, 1))
    terms = replace(of.terms, columns={**SCHEMA, "score": ColumnKind.CATEGORY})
    terms.plan_question(dp.HistogramQuestion("age", AGE, by=dp.Categories("label", (0, 1))), ONE)
    card = scorecard("age", "height")
    for question, rule in (
        (
            dp.HistogramQuestion("height", AGE),
            "'height' is not a column of the task; use one of age, score, label, person",
        ),
        (dp.HistogramQuestion("score", AGE), "'score' has categories in this task; use a column of numbers"),
        (dp.RocQuestion("label", card), "'height' is not a column of the task"),
    ):
        with pytest.raises(ValueError, match=rule):
            terms.plan_question(question, ONE)


@pytest.mark.usefixtures("without_noise")
def test_columns_that_a_site_calls_otherwise_are_mapped_there() -> None:
    """Units, categories and the columns of a model among them: sums are those of the tables as they were."""
    unit, mine = Unit("person", 2), SecureSum(3, 1)
    of = made(mine, unit=unit)
    names = {name: f"{name} of ours" for name in of.tables[1]}
    renamed = {own: of.tables[1][name] for name, own in names.items()}
    card = scorecard("age", "score")
    questions = (
        dp.RocQuestion("label", card, dp.Grid(0, 1, cells=16)), dp.MeanQuestion("age", 0, 100),
        dp.CdfQuestion("age", AGE, edges=(3, 9)),
    )  # fmt: skip
    for question in questions:
        answers = []
        for table, given in ((of.tables[1], {}), (renamed, names)):
            ledger = Ledger.open("sqlite://")
            site = Site(of.terms, of.sites[1]._round_store._signer, table, ledger, "flights", columns=given)
            site._ledger.dataset_key = lambda dataset: bytes(32)  # type: ignore[method-assign]
            plan = of.terms.plan_question(question, ONE)[0]
            allotment = QuestionBudget.from_external_charge("r", ONE).pay(plan.query.charged_query, Fraction(1))
            answers.append(site._build_vector(of.terms.plan_query(plan.query, ONE), allotment).tolist())
        assert answers[0] == answers[1]
        assert any(answers[0])


@pytest.fixture
def without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        SecureSum, "sample_noise_share", lambda self, noise, size, randomness: np.zeros(size, dtype=np.int64)
    )


def test_who_has_more_records_than_were_promised_does_not_begin() -> None:
    (table,) = tables(1)
    person, used = Unit("person", 1), len(set(table["person"].tolist()))
    site(table, max_rows=400).open()
    site(table, person, max_rows=used, columns=SCHEMA).open()
    for unit, most in ((EACH_RECORD, 399), (person, used - 1)):
        with pytest.raises(
            ValueError, match=f"max_rows: must be at most {most}, as the task says, and the table has more"
        ):
            site(table, unit, max_rows=most, columns=SCHEMA).open()


def test_a_list_approves_a_question_up_to_a_loss(tmp_path: Path) -> None:
    question, other = dp.HistogramQuestion("age", AGE), dp.HistogramQuestion("age", dp.Grid(0, 99, cells=64))
    plan = made(SecureSum(3, 1)).terms.plan_question(question, ONE)[0]
    file = tmp_path / "approved.json"

    def allows(entry: object, asked: Any = question, loss: PrivacyLoss = ONE) -> bool:
        file.write_text(json.dumps([entry]))
        return ApprovedList(file)(ApprovalRequest(str(asked), loss, "r", plan, fingerprint_question(asked)))

    written = {"ask": "histogram", "column": "age", "grid": "0:100:64"}
    mark = fingerprint_question(question)
    assert allows({"question": written, "epsilon": "1"})
    assert allows({"fingerprint": mark, "epsilon": 1})
    assert allows({"fingerprint": mark.upper(), "rho": "0.5"})
    assert allows({"fingerprint": mark, "rho": "0.5"}, loss=PrivacyLoss.zcdp("0.5"))
    assert not allows({"question": written, "epsilon": "0.999"})
    assert not allows({"question": written, "epsilon": "1"}, asked=other)
    assert not allows({"question": written, "epsilon": "1"}, loss=PrivacyLoss.zcdp("0.001"))
    assert not allows({"fingerprint": mark, "rho": "0.4"})
    wrong: list[Any] = [
        {}, [], "x", {"question": written}, {"fingerprint": "ab", "epsilon": 1}, {"epsilon": 1},
        {"fingerprint": mark, "epsilon": 1, "most": 3}, {"fingerprint": mark, "epsilon": 1, "rho": 1},
        {"question": {"ask": "nothing"}, "epsilon": 1}, {"fingerprint": mark, "epsilon": "much"},
    ]  # fmt: skip
    for entry in wrong:
        with pytest.raises(ValueError, match=r"approved|ask|epsilon"):
            allows(entry)
    watched = ApprovedList(file) if file.write_text("[]") else None
    assert watched is not None
    asked = ApprovalRequest(str(question), ONE, "r", plan, mark)
    assert not watched(asked)
    file.write_text(json.dumps([{"fingerprint": mark, "epsilon": 1}]))
    assert watched(asked)


def test_a_task_says_its_columns_and_its_cap_and_is_read_back() -> None:
    key = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
    members = tuple(Member(str(n), bytes([n]) * 32, None) for n in range(3))
    task = FederationTask(
        "t", SecureSum(3, 1), members, Neighbours.ADD_REMOVE, EACH_RECORD, TEN, SERVER, (key,),
        {role: () for role in Role}, SCHEMA, 1000,
    )  # fmt: skip
    again = FederationTask.from_json(task.to_json())
    assert again == task
    assert (again.terms.columns, again.terms.max_rows) == (SCHEMA, 1000)
    assert FederationTask.from_json(replace(task, columns={}, max_rows=None).to_json()).hash != task.hash
    with pytest.raises(ValueError, match=r"of version 1, and this dpcurves reads 2"):
        FederationTask.from_json(task.to_json().replace('"version": 2', '"version": 1'))
    with pytest.raises(ValueError, match="max_rows"):
        replace(task, max_rows=0).terms  # noqa: B018


def test_a_site_without_any_record_adds_noise_like_the_others() -> None:
    of = made(SecureSum(3, 1))
    empty = {name: np.asarray(column)[:0] for name, column in of.tables[1].items()}
    of.sites[1] = Site(of.terms, of.sites[1]._round_store._signer, empty, of.ledgers[1], "flights")
    curve = of.federation.ask(dp.HistogramQuestion("age", AGE), TEN)
    assert abs(curve.count.sum() - 800) < 60
    assert left(of) == ["epsilon 10"] * 3


def test_the_same_request_in_another_task_is_paid_for_again() -> None:
    """Its noise is drawn anew: for nothing it would be a second release."""
    one, question = made(SecureSum(3, 1)), dp.HistogramQuestion("age", AGE)
    first = one.federation.ask(question, ONE, "r")
    roster = one.terms.model.build_roster(b"u" * 32, one.terms.roster.keys)
    terms = replace(one.terms, roster=roster)
    sites = [
        Site(terms, site._round_store._signer, one.tables[n], one.ledgers[n], "flights")
        for n, site in enumerate(one.sites)
    ]
    second = Federation.from_sites(terms, sites).ask(question, ONE, "r")
    assert second.count.tolist() != first.count.tolist()
    assert left(one) == ["epsilon 2"] * 3
    assert Federation.from_sites(terms, sites).ask(question, ONE, "r").count.tolist() == second.count.tolist()
    assert left(one) == ["epsilon 2"] * 3


def test_an_officer_says_yes_or_has_not_said_it(monkeypatch: pytest.MonkeyPatch) -> None:
    question = dp.HistogramQuestion("age", AGE)
    plan = made(SecureSum(3, 1)).terms.plan_question(question, ONE)[0]
    asked = ApprovalRequest(str(question), ONE, "r", plan, fingerprint_question(question))
    said: list[str] = ["yes", " YES ", "no", ""]

    def answered(prompt: str) -> str:
        if not said:
            raise EOFError
        return said.pop(0)

    monkeypatch.setattr("builtins.input", answered)
    home = SiteOptions(key="a", ticket="t", ledger="l", approve="ask")
    assert [home.choose_approval()(asked) for _ in range(5)] == [True, True, False, False, False]
    assert replace(home, approve="all").choose_approval()(asked)
    for wrong in (replace(home, approve="list"), replace(home, approved="file"), replace(home, approve="perhaps")):
        with pytest.raises(ValueError, match="approve"):
            wrong.choose_approval()
    assert replace(home, column=["age=years", "a=b=c"]).parse_column_names() == {"age": "years", "a": "b=c"}
    for twice in (["age"], ["=a"], ["age="], ["age=a", "age=b"]):
        with pytest.raises(ValueError, match="column: must be NAME=COLUMN, each name once"):
            replace(home, column=twice).parse_column_names()


def test_a_site_waits_in_a_turn_as_long_as_it_has_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([0.0, 20.0, 40.0, 61.0])
    monkeypatch.setattr("dpcurves_sites.remote.monotonic", lambda: next(moments))
    line = object.__new__(_CoordinatorConnection)
    line._round_timeout = 60
    monkeypatch.setattr(_CoordinatorConnection, "post", lambda self, path, body: b"")
    with pytest.raises(RoundOver, match="keys of other sites did not arrive within 60 seconds"):
        line.collect_messages("name", KEYS)
