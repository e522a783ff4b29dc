"""The rules of charging and storing, on both databases."""

from __future__ import annotations

import threading
from dataclasses import replace
from fractions import Fraction

import pytest
from sqlalchemy import Connection, event

from dpcurves.ledger import Account, BudgetExceeded, Grant, Ledger
from dpcurves.ledger.chain import Chain
from dpcurves.ledger.verification import receipt_of
from dpcurves.privacy import Neighbours, PrivacyLoss, Unit

QUESTION = "ab" * 32
OTHER_QUESTION = "cd" * 32


@pytest.fixture
def ledger(url: str, flights: Account, patients: Account) -> Ledger:
    ledger = Ledger.open(url)
    ledger.create(flights)
    ledger.create(patients)
    return ledger


def ask(  # what most tests leave as it is
    ledger: Ledger,
    loss: PrivacyLoss,
    request: str,
    *,
    dataset: str = "flights",
    binding: str = QUESTION,
    purpose: str = "ROC of model B",
    units: int | None = None,
) -> Grant:
    return ledger.charge(dataset, loss, purpose=purpose, request=request, binding=binding, units=units)


def spent(ledger: Ledger, dataset: str = "flights") -> Fraction:
    return ledger.statement(dataset).spent.exact


def test_an_account_is_found_again_with_its_facts(
    ledger: Ledger, url: str, flights: Account, patients: Account
) -> None:
    again = Ledger.open(url)
    assert again.accounts() == (flights, patients)
    assert again.account("patients") == patients


def test_the_same_facts_may_be_opened_again_and_others_may_not(ledger: Ledger, flights: Account) -> None:
    ledger.create(flights)
    with pytest.raises(ValueError, match=r"^budget: the account of 'flights' was opened with epsilon 1, not with"):
        ledger.create(replace(flights, cap=PrivacyLoss.pure(3)))
    with pytest.raises(ValueError, match=r"^adjacency: .* was opened with add-remove, not with replace-one"):
        ledger.create(replace(flights, neighbours=Neighbours.REPLACE_ONE))
    assert ledger.account("flights") == flights


def test_a_dataset_without_an_account_pays_nothing(ledger: Ledger) -> None:
    for refused in (
        lambda: ask(ledger, PrivacyLoss.pure(0.1), "1", dataset="trains"),
        lambda: ledger.account("trains"),
        lambda: ledger.statement("trains"),
    ):
        with pytest.raises(ValueError, match="dataset: this ledger has no account 'trains'"):
            refused()


def test_a_charge_is_a_grant_and_stands_in_the_statement(ledger: Ledger) -> None:
    grant = ask(ledger, PrivacyLoss.pure("0.7"), "1", purpose="a CDF")
    assert grant == Grant("1", PrivacyLoss.pure("0.7"), "flights", 3)  # rows 1 and 2 are the accounts
    statement = ledger.statement("flights")
    assert (str(statement.spent), str(statement.remaining)) == ("epsilon 0.7", "epsilon 0.3")
    (line,) = statement.grants
    assert (line.id, line.request, line.purpose, line.loss) == (3, "1", "a CDF", PrivacyLoss.pure("0.7"))
    assert line.when.endswith("+00:00")
    assert str(line.price) == "epsilon 0.7"


def test_what_is_left_and_whether_a_request_was_charged_are_read_off_one_row(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, second = (ask(ledger, PrivacyLoss.pure("0.3"), request) for request in "12")
    read: list[int] = []
    monkeypatch.setattr(Chain, "require_sealed", lambda chain, table, row: read.append(row["entry"]))
    assert str(ledger.balance("flights").remaining) == "epsilon 0.4"
    assert ledger.find_grant("flights", "2") == second
    assert ledger.find_grant("flights", "3") is None
    assert ledger.find_grant("patients", "1") is None
    assert read == [1, second.id]  # the account, and the one charge


def test_the_cap_may_be_reached_but_not_passed(ledger: Ledger) -> None:
    ask(ledger, PrivacyLoss.pure("0.7"), "1")
    with pytest.raises(BudgetExceeded) as caught:
        ask(ledger, PrivacyLoss.pure("0.7"), "2")
    assert str(caught.value) == "budget: 'ROC of model B' costs epsilon 0.7; 0.3 of 1 is left"
    with pytest.raises(BudgetExceeded):
        ask(ledger, PrivacyLoss.pure("0.3000000001"), "3")
    assert spent(ledger) == Fraction(7, 10)
    assert len(ledger.statement("flights").grants) == 1
    ask(ledger, PrivacyLoss.pure("0.3"), "4")
    assert ledger.statement("flights").remaining.exact == 0
    with pytest.raises(BudgetExceeded):
        ask(ledger, PrivacyLoss.pure("1e-30"), "5")


def test_a_request_that_was_refused_may_be_used_for_another_question(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded):
        ask(ledger, PrivacyLoss.pure(2), "1")
    assert ask(ledger, PrivacyLoss.pure(1), "1", binding=OTHER_QUESTION).loss == PrivacyLoss.pure(1)


def test_amounts_are_rounded_up_each_time(ledger: Ledger) -> None:
    third = PrivacyLoss.pure(Fraction(1, 3))
    ask(ledger, third, "1")
    ask(ledger, third, "2")
    with pytest.raises(BudgetExceeded, match=r"costs epsilon 0.333333334; 0.333333332 of 1 is left"):
        ask(ledger, third, "3")


def test_the_same_question_under_the_same_request_costs_nothing(ledger: Ledger, url: str) -> None:
    loss = PrivacyLoss.pure(Fraction(2, 3))
    first = ask(ledger, loss, "1")
    assert ask(Ledger.open(url), loss, "1") == first
    assert spent(ledger) == Fraction(666_666_667, 10**9)


@pytest.mark.parametrize(
    ("loss", "binding"), [(PrivacyLoss.pure("0.1"), OTHER_QUESTION), (PrivacyLoss.pure("0.2"), QUESTION)]
)
def test_another_question_under_the_same_request_is_refused(ledger: Ledger, loss: PrivacyLoss, binding: str) -> None:
    ask(ledger, PrivacyLoss.pure("0.1"), "x")
    with pytest.raises(ValueError, match="request: 'x' was used for another question; give a new one or leave it out"):
        ask(ledger, loss, "x", binding=binding)
    assert spent(ledger) == Fraction(1, 10)


def test_a_request_is_unique_among_datasets(ledger: Ledger) -> None:
    ask(ledger, PrivacyLoss.pure("0.1"), "x")
    with pytest.raises(ValueError, match="request: 'x' was used for another question"):
        ask(ledger, PrivacyLoss.pure("0.1"), "x", dataset="patients", units=10)


def test_a_zcdp_loss_is_not_paid_in_epsilon_but_a_pure_one_is_paid_in_rho(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="rho: this account is kept in epsilon"):
        ask(ledger, PrivacyLoss.zcdp(0.1), "1")
    assert spent(ledger) == 0
    grant = ask(ledger, PrivacyLoss.pure("0.2"), "2", dataset="patients", units=10)
    assert grant.loss == PrivacyLoss.pure("0.2")
    ask(ledger, PrivacyLoss.zcdp("0.1"), "3", dataset="patients", units=10)
    assert str(ledger.statement("patients").spent) == "rho 0.12"
    assert [line.loss.is_pure for line in ledger.statement("patients").grants] == [True, False]


def test_another_number_of_units_is_refused_and_both_are_named(ledger: Ledger) -> None:
    ask(ledger, PrivacyLoss.zcdp("0.1"), "1", dataset="patients", units=10)
    for request in ("1", "2"):
        with pytest.raises(ValueError, match="units: 'patients' had 10 units in earlier questions and has 11 now"):
            ask(ledger, PrivacyLoss.zcdp("0.1"), request, dataset="patients", units=11)
    assert ledger.statement("patients").grants[0].units == 10
    with pytest.raises(ValueError, match="units: replace-one needs"):
        ask(ledger, PrivacyLoss.zcdp("0.1"), "3", dataset="patients")
    with pytest.raises(ValueError, match="units: the number of units is private"):
        ask(ledger, PrivacyLoss.pure("0.1"), "3", units=10)


@pytest.mark.parametrize(
    ("argument", "facts"),
    [
        ("request", {"request": ""}),
        ("request", {"request": "a\0b"}),
        ("request", {"request": "x" * 201}),
        ("purpose", {"purpose": ""}),
        ("purpose", {"purpose": "a\0b"}),
        ("purpose", {"purpose": "\ud800"}),
        ("binding", {"binding": "not a hash"}),
    ],
)
def test_texts_that_cannot_be_stored_are_refused_by_name(ledger: Ledger, argument: str, facts: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=f"^{argument}: "):
        ask(ledger, PrivacyLoss.pure("0.1"), **{"request": "1", **facts})  # type: ignore[arg-type]
    assert spent(ledger) == 0


def test_large_caps_and_many_tiny_charges_are_counted_exactly(ledger: Ledger, flights: Account) -> None:
    ledger.create(replace(flights, dataset="large", cap=PrivacyLoss.pure(10**9)))
    ask(ledger, PrivacyLoss.pure("999999.999999999"), "1", dataset="large")
    ask(ledger, PrivacyLoss.pure("1e-9"), "2", dataset="large")
    assert spent(ledger, "large") == 10**6
    with pytest.raises(BudgetExceeded, match="999000000 of 1000000000 is left"):
        ask(ledger, PrivacyLoss.pure(10**40), "3", dataset="large")


def test_a_cap_is_kept_rounded_down(ledger: Ledger, flights: Account) -> None:
    third = replace(flights, dataset="third", cap=PrivacyLoss.zcdp(Fraction(1, 3)))
    ledger.create(third)
    ledger.create(third)
    assert ledger.account("third").cap == PrivacyLoss.zcdp("0.333333333")
    with pytest.raises(BudgetExceeded, match=r"costs rho 0.333333334; 0.333333333 of 0.333333333 is left"):
        ask(ledger, PrivacyLoss.zcdp(Fraction(1, 3)), "1", dataset="third")


def test_the_first_answer_stays(ledger: Ledger, url: str) -> None:
    grant = ask(ledger, PrivacyLoss.pure(0.1), "1")
    assert ledger.find_answer(grant, 0, 0) is None
    assert ledger.store_answer(grant, 0, 0, "[1, 2]") == "[1, 2]"
    assert Ledger.open(url).store_answer(grant, 0, 0, "[3, 4]") == "[1, 2]"
    assert ledger.store_answer(grant, 0, 1, "[5]") == "[5]"
    assert ledger.store_answer(grant, 1, 0, "[6]") == "[6]"
    assert [ledger.find_answer(grant, turn, part) for turn, part in [(0, 0), (0, 1), (1, 0)]] == [
        "[1, 2]",
        "[5]",
        "[6]",
    ]


def test_an_answer_of_a_megabyte_is_kept(ledger: Ledger) -> None:
    grant = ask(ledger, PrivacyLoss.pure(0.1), "1")
    answer = "ä7" * 500_000
    ledger.store_answer(grant, 0, 0, answer)
    assert ledger.find_answer(grant, 0, 0) == answer


def test_answers_belong_to_one_grant(ledger: Ledger) -> None:
    first, second = (ask(ledger, PrivacyLoss.pure(0.1), request) for request in "12")
    ledger.store_answer(first, 0, 0, "[1]")
    assert ledger.find_answer(second, 0, 0) is None


def test_a_grant_that_was_not_given_stores_nothing(ledger: Ledger) -> None:
    grant = ask(ledger, PrivacyLoss.pure("0.1"), "1")
    forgeries = (
        replace(grant, id=grant.id + 1),
        replace(grant, request="2"),
        replace(grant, loss=PrivacyLoss.pure("0.9")),
        replace(grant, account="patients"),
        replace(grant, id=1),
    )
    for forged in forgeries:
        with pytest.raises(ValueError, match="grant: this ledger has no charge"):
            ledger.store_answer(forged, 0, 0, "[1]")
        with pytest.raises(ValueError, match="grant: this ledger has no charge"):
            ledger.find_answer(forged, 0, 0)


def test_rounds_and_parts_are_counted_from_zero_and_answers_are_texts(ledger: Ledger) -> None:
    grant = ask(ledger, PrivacyLoss.pure(0.1), "1")
    with pytest.raises(ValueError, match="round_number, part: rounds and parts are numbered from 0"):
        ledger.store_answer(grant, -1, 0, "[1]")
    with pytest.raises(ValueError, match="answer: a text"):
        ledger.store_answer(grant, 0, 0, "")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("of a driver")])
def test_an_error_that_leaves_open_whether_it_was_charged_tells_the_request(
    ledger: Ledger, error: BaseException
) -> None:
    def fail(_: Connection) -> None:
        raise error

    event.listen(ledger._database.write_engine, "commit", fail)
    with pytest.raises(type(error)) as caught:
        ask(ledger, PrivacyLoss.pure("0.5"), "monday")
    receipt = receipt_of(caught.value)
    assert receipt is not None
    assert receipt.request == "monday"
    event.remove(ledger._database.write_engine, "commit", fail)
    ask(ledger, PrivacyLoss.pure("0.5"), receipt.request)
    assert spent(ledger) == Fraction(1, 2)
    with pytest.raises(ValueError, match="request: 'monday' was used") as refused:
        ask(ledger, PrivacyLoss.pure("0.5"), "monday", binding=OTHER_QUESTION)
    assert receipt_of(refused.value) is None


def test_there_is_no_way_to_get_a_loss_back() -> None:
    assert not [name for name in dir(Ledger) if "refund" in name or "cancel" in name or "delete" in name]


def test_the_key_of_a_dataset_stays_as_long_as_the_key_does(ledger: Ledger, url: str) -> None:
    assert ledger.dataset_key("flights") == Ledger.open(url).dataset_key("flights")
    assert ledger.dataset_key("flights") != ledger.dataset_key("patients")
    assert ledger.dataset_key("flights") != Ledger.open(url="sqlite://", key=bytes(32)).dataset_key("flights")


def test_a_ledger_in_memory_counts_across_threads(flights: Account) -> None:
    ledger = Ledger.open("sqlite://")
    ledger.create(replace(flights, unit=Unit("tail", 2)))
    granted, refused = [], []

    def spend(thread: int) -> None:
        for i in range(10):
            try:
                granted.append(ask(ledger, PrivacyLoss.pure("0.02"), f"{thread} {i}"))
            except BudgetExceeded:
                refused.append(i)

    threads = [threading.Thread(target=spend, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(granted), len(refused)) == (50, 30)
    assert ledger.verify().entries == 51


def test_two_ledgers_in_memory_know_nothing_of_each_other(flights: Account) -> None:
    Ledger.open("sqlite://").create(flights)
    assert Ledger.open("sqlite://").accounts() == ()
