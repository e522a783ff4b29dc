"""Allowances within a cap: all limits hold at once, spent loss stays spent, and edits are detected."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dpcurves.ledger import Account, Allowance, AllowanceRule, BudgetExceeded, Grant, Ledger, Member
from dpcurves.privacy import PrivacyLoss

KEY = bytes(range(32))
ANN, BOB, EVE = Member("delays", "ann"), Member("delays", "bob"), Member("noise", "eve")


def allow(
    ledger: Ledger, most: str, project: str, analyst: str | None = None, together: AllowanceRule = AllowanceRule.WITHIN
) -> None:
    ledger.allow(Allowance("flights", project, PrivacyLoss.pure(most), analyst), together)


def charge(ledger: Ledger, member: Member, loss: str, question: int = 0) -> Grant:
    spent = PrivacyLoss.pure(loss)
    return ledger.charge_for(member, "flights", spent, purpose="a CDF", binding=f"{question:064x}", units=None)


def shared(url: str, account: Account, key: bytes | None = None) -> Ledger:
    """A cap of 1; 0.6 of it for delays, of which ann has 0.4 and bob 0.2; 0.4 for noise, and all of that for eve."""
    ledger = Ledger.open(url, key)
    ledger.create(account)
    for most, project, analyst in (
        ("0.6", "delays", None), ("0.4", "delays", "ann"), ("0.2", "delays", "bob"), ("0.4", "noise", None),
        ("0.4", "noise", "eve"),
    ):  # fmt: skip
        allow(ledger, most, project, analyst)
    return ledger


def left(ledger: Ledger, member: Member) -> list[str]:
    remaining = ledger.find_member_balance("flights", member)
    return [
        amount.digits
        for amount in (
            remaining.account.remaining,
            remaining.project.remaining,
            remaining.analyst.remaining,
            remaining.remaining,
        )
    ]


def edit(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            connection.execute(statement)


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_a_question_asked_twice_in_a_project_has_one_price_and_another_project_pays_its_own(
    url: str, flights: Account
) -> None:
    ledger = shared(url, flights)
    grant = charge(ledger, ANN, "0.3")
    assert charge(ledger, BOB, "0.3") == grant  # who has not so much left
    assert charge(ledger, EVE, "0.3") != grant
    assert charge(ledger, ANN, "0.1") != grant  # another loss is another question
    assert left(ledger, ANN) == ["0.3", "0.2", "0", "0"]
    assert left(ledger, BOB) == ["0.3", "0.2", "0.2", "0.2"]
    assert left(ledger, EVE) == ["0.3", "0.1", "0.1", "0.1"]
    assert [line.member for line in ledger.statement("flights").grants] == [ANN, EVE, ANN]
    assert ledger.verify().entries == 6 + 2 * 3


def test_who_has_too_little_of_any_of_the_three_is_refused_and_nothing_is_written(
    tmp_path: Path, flights: Account
) -> None:
    path = tmp_path / "budget.db"
    ledger = shared(f"sqlite:///{path}", flights, KEY)
    allow(ledger, "0.5", "delays", "bob", together=AllowanceRule.MAY_EXCEED)
    charge(ledger, ANN, "0.3")
    before = dump(path)
    own = r"^allowance: 'a CDF' costs epsilon 0.2; 0.1 of 0.4 is left to analyst 'ann' of project 'delays'$"
    with pytest.raises(BudgetExceeded, match=own):
        charge(ledger, ANN, "0.2")
    with pytest.raises(BudgetExceeded, match=r"costs epsilon 0.4; 0.3 of 0.6 is left to project 'delays'$"):
        charge(ledger, BOB, "0.4")
    assert dump(path) == before
    ledger.charge("flights", PrivacyLoss.pure("0.5"), purpose="x", request="steward", binding="0" * 64, units=None)
    with pytest.raises(BudgetExceeded, match=r"^budget: 'a CDF' costs epsilon 0.3; 0.2 of 1 is left$"):
        charge(ledger, EVE, "0.3")


def test_who_has_no_allowance_is_charged_nothing(flights: Account) -> None:
    ledger = shared("sqlite://", flights)
    with pytest.raises(ValueError, match=r"^project: 'x' has no allowance in 'flights';"):
        charge(ledger, Member("x", "ann"), "0.1")
    with pytest.raises(ValueError, match=r"^analyst: 'eve' has no allowance in project 'delays' of 'flights';"):
        charge(ledger, Member("delays", "eve"), "0.1")
    with pytest.raises(ValueError, match=r"^analyst: "):
        Allowance("flights", "delays", PrivacyLoss.pure(1), "")
    assert ledger.balance("flights").spent.exact == 0


def test_a_request_that_was_paid_by_the_cap_alone_is_no_payment_of_a_project(flights: Account) -> None:
    ledger = shared("sqlite://", flights)
    loss = PrivacyLoss.pure("0.1")
    request = ANN.request("flights", loss, "0" * 64)
    ledger.charge("flights", loss, purpose="a CDF", request=request, binding="0" * 64, units=None)
    with pytest.raises(ValueError, match=r"was not paid by project 'delays';"):
        charge(ledger, ANN, "0.1")


def test_a_new_allowance_gives_nothing_back(url: str, flights: Account) -> None:
    ledger = shared(url, flights)
    charge(ledger, ANN, "0.3")
    with pytest.raises(ValueError, match=r"^allowance: analyst 'ann' of project 'delays' has already spent more than"):
        allow(ledger, "0.2", "delays", "ann")
    allow(ledger, "0.3", "delays", "ann")
    assert left(ledger, ANN)[2:] == ["0", "0"]
    allow(ledger, "0.4", "delays", "ann")
    assert left(ledger, ANN)[2:] == ["0.1", "0.1"]
    with pytest.raises(BudgetExceeded):
        charge(ledger, ANN, "0.4", question=1)
    assert charge(ledger, ANN, "0.1", question=1).id
    assert Ledger.open(url).verify().entries == 6 + 2 + 2 * 2


def test_allowances_add_up_to_more_only_if_that_was_said(flights: Account) -> None:
    ledger = shared("sqlite://", flights)
    for most, project, analyst in (("0.5", "noise", None), ("0.3", "delays", "bob"), ("0.5", "delays", None)):
        with pytest.raises(
            ValueError, match=r"^allowance: the allowances in .*; set less, or allow that with the rule 'may exceed'$"
        ):
            allow(ledger, most, project, analyst)
        allow(ledger, most, project, analyst, together=AllowanceRule.MAY_EXCEED)
    for most, project, analyst in (("1.1", "noise", None), ("0.6", "delays", "bob"), ("0.3", "delays", None)):
        with pytest.raises(ValueError, match=r"^allowance: an allowance must not exceed the epsilon "):
            allow(ledger, most, project, analyst, together=AllowanceRule.MAY_EXCEED)
    said = {each.owner_label: each.rule for each in ledger.statement("flights").allowances}
    assert said["project 'delays'"] is AllowanceRule.MAY_EXCEED
    assert said["analyst 'ann' of project 'delays'"] is AllowanceRule.WITHIN


def test_allowances_are_kept_in_the_accounts_currency_rounded_down(patients: Account) -> None:
    ledger = Ledger.open("sqlite://")
    ledger.create(patients)
    ledger.allow(Allowance("patients", "p", PrivacyLoss.zcdp("1/3")))
    ledger.allow(Allowance("patients", "p", PrivacyLoss.pure("0.5"), "ann"))
    limits = [each.limit.digits for each in ledger.statement("patients").allowances]
    assert limits == ["0.333333333", "0.125"]
    with pytest.raises(ValueError, match=r"^allowance: a loss of at least 1e-9 is needed"):
        ledger.allow(Allowance("patients", "p", PrivacyLoss.zcdp("1e-10")))


EDITS = {
    "cap": "UPDATE dpcurves_allowances SET cap = 900000000 WHERE analyst = 'ann'",
    "spent": "UPDATE dpcurves_allowances SET spent = 0",
    "owner": "UPDATE dpcurves_allowances SET analyst = 'ann' WHERE analyst = 'bob'",
    "seal": "UPDATE dpcurves_allowances SET seal = (SELECT seal FROM dpcurves_allowances WHERE analyst = 'bob')",
    "older": "UPDATE dpcurves_allowances SET spent = early.spent, seal = early.seal"
    " FROM early.dpcurves_allowances AS early WHERE early.entry = dpcurves_allowances.entry",
    "payer": "UPDATE dpcurves_payments SET analyst = 'bob'",
    "payment": "DELETE FROM dpcurves_payments",
    "allowance": "DELETE FROM dpcurves_allowances WHERE entry = 7",
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_allowance_is_found_and_pays_nothing(tmp_path: Path, flights: Account, name: str) -> None:
    path = tmp_path / "budget.db"
    ledger = shared(f"sqlite:///{path}", flights, KEY)
    allow(ledger, "0.35", "delays", "ann")
    shutil.copy(path, tmp_path / "early.db")
    charge(ledger, ANN, "0.1")
    edit(path, f"ATTACH '{tmp_path}/early.db' AS early", EDITS[name])
    before = dump(path)
    found = "without the key|not the sum of its payments"
    with pytest.raises(ValueError, match=f"^ledger: .*({found})"):
        charge(ledger, ANN, "0.2")
    with pytest.raises(ValueError, match=f"^ledger: .*({found})"):
        allow(ledger, "0.3", "delays", "ann")
    assert dump(path) == before
    with pytest.raises(ValueError, match=f"^ledger: .*({found})"):
        ledger.verify()
