"""Losses in texts are rounded up: no text states less than was lost."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcurves as dp
from dpcurves.display.text import format_amount
from dpcurves.ledger import Amount, Currency
from dpcurves.privacy import PrivacyLoss, format_loss, format_remaining
from dpcurves.publication import describe_privacy, describe_results_privacy
from dpcurves_audit.confidence_limits import Claim

AMOUNTS = ("1.0000049", "0.1", "0.30000001", "12345.61", "1000000.5", "0.000012347", "1e-9", "3", "2.5")


def stated(text: str, word: str) -> list[Fraction]:
    """The numbers behind a word in a text."""
    return [Fraction(Decimal(number)) for number in re.findall(rf"{word} ([0-9][0-9.e+-]*[0-9]|[0-9])", text)]


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**9))
def test_a_loss_is_stated_from_above_and_to_six_digits(amount: Fraction) -> None:
    number = Fraction(Decimal(format_loss(amount)))
    assert amount <= number <= amount * (1 + Fraction(1, 10**5))
    assert format_loss(float(number)) == format_loss(number)  # what has six digits stays


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("amount", AMOUNTS)
def test_no_text_of_a_release_states_less_than_was_lost(amount: str) -> None:
    exact = Fraction(amount)
    for loss, word in ((dp.PrivacyLoss.pure(amount), "epsilon"), (dp.PrivacyLoss.zcdp(amount), "rho")):
        with dp.Session({"x": [1.0] * 200}, budget=loss, adjacency=dp.ADD_REMOVE) as session:
            plans = session.plan(dp.CountQuestion("x"), loss)
            count = session.ask(dp.CountQuestion("x"), loss)
        texts = (
            str(loss),
            repr(count),
            count.privacy.loss,
            describe_privacy(count.privacy),
            count._repr_html_(),
            str(plans),
        )
        for text in texts[:4]:
            assert stated(text, word)
        for text in texts:
            assert all(number >= exact for number in stated(text, word)), text


def test_deltas_and_sums_are_stated_from_above() -> None:
    assert str(dp.PrivacyLoss.pure(1, Fraction(1, 3 * 10**6))) == "epsilon 1, delta 3.33334e-07"
    assert (
        format_amount(Amount(Currency.EPSILON, 10**9), Fraction("0.00000100000049")) == "epsilon 1, delta 1.00001e-06"
    )
    assert str(Claim.from_parameters("1.0000049", 1.00000049e-6, None)) == "epsilon 1.00001 at delta 1.00001e-06"
    counts = {name: dp.count([1.0] * 9, epsilon="1.0000049", adjacency=dp.ADD_REMOVE) for name in "ab"}
    words = describe_results_privacy(counts)
    assert "Together they lose at most epsilon 2.0000098 (" in words
    third = dp.count([1.0] * 9, epsilon=Fraction(1, 3), adjacency=dp.ADD_REMOVE)
    assert "more than 1.4 times" in describe_privacy(third.privacy)  # exp(1/3) is 1.3956
    assert format_loss(0.1 + 0.2) == "0.3"  # a sum of doubles


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_what_remains_is_stated_from_below_and_what_a_ledger_holds_in_full(amount: Fraction) -> None:
    number = Fraction(Decimal(format_remaining(amount)))
    assert amount * (1 - Fraction(1, 10**5)) <= number <= amount
    billionths = Fraction(floor(amount * 10**9), 10**9)
    for loss in (PrivacyLoss.pure(billionths), PrivacyLoss.zcdp(billionths)):
        assert stated(str(loss), "(?:epsilon|rho)") == [billionths]


@pytest.mark.parametrize("spent", [Fraction(1, 3), Fraction(2, 7), "0.123456789", "1.0000001"])
def test_no_text_promises_more_than_remains(spent: Fraction | str) -> None:
    """Before, 1.666666666 was printed as 1.66667, and asking for that was refused."""
    for loss, word in ((PrivacyLoss.pure, "epsilon"), (PrivacyLoss.zcdp, "rho")):
        with dp.Session({"x": [1.0] * 200}, budget=loss(2), adjacency=dp.ADD_REMOVE) as session:
            session.ask(dp.CountQuestion("x"), loss(spent))
            texts = f"{word} {str(session.remaining).split()[1]}", str(session).split("remaining ")[1]
            assert all(stated(text, word) == [session.balance.remaining.exact] for text in texts)
            (amount,) = stated(texts[0], word)
            session.ask(dp.CountQuestion("x"), loss(amount))  # what was printed can be spent


def test_a_refused_delta_states_what_remains_from_below() -> None:
    cap = Fraction(2, 3 * 10**6)
    with (
        dp.Session(
            {"k": ["a"] * 200, "x": [1.0] * 200}, budget=PrivacyLoss.pure(2, cap), adjacency=dp.ADD_REMOVE
        ) as session,
        pytest.raises(dp.BudgetExceeded, match=r"6\.66666e-07 of 6\.66666e-07 is left"),
    ):
        session.ask(dp.CountQuestion("x", by=dp.UnlistedCategories("k")), PrivacyLoss.pure(1, "1e-6"))
