from __future__ import annotations

from fractions import Fraction

import pytest

from dpcurves.ledger import Amount, Currency
from dpcurves.privacy import PrivacyLoss


@pytest.mark.parametrize(
    ("epsilon", "billionths"),
    [("0.7", 700_000_000), ("1e-9", 1), ("1e-30", 1), ("1.0000000001", 1_000_000_001), (1, 1_000_000_000)],
)
def test_a_price_is_rounded_up_to_a_billionth(epsilon: str, billionths: int) -> None:
    assert Currency.EPSILON.price(PrivacyLoss.pure(epsilon)) == Amount(Currency.EPSILON, billionths)


def test_a_third_is_rounded_up_and_three_thirds_cost_more_than_one() -> None:
    price = Currency.RHO.price(PrivacyLoss.zcdp(Fraction(1, 3)))
    assert 3 * price.exact > 1


def test_a_cap_is_rounded_down() -> None:
    assert Currency.RHO.limit(PrivacyLoss.zcdp(Fraction(2, 3))).billionths == 666_666_666


def test_a_pure_loss_is_paid_in_rho_by_half_its_square() -> None:
    assert Currency.RHO.price(PrivacyLoss.pure("0.2")).exact == Fraction(2, 100)


def test_a_loss_without_epsilon_is_never_paid_in_epsilon() -> None:
    with pytest.raises(ValueError, match="a loss in rho has no epsilon"):
        Currency.EPSILON.price(PrivacyLoss.zcdp(0.1))


def test_a_loss_of_zero_is_no_charge() -> None:
    with pytest.raises(ValueError, match="epsilon: a number above zero is needed"):
        Currency.EPSILON.price(PrivacyLoss(Fraction(0), Fraction(0)))


@pytest.mark.parametrize(
    ("billionths", "digits"),
    [(0, "0"), (1, "0.000000001"), (300_000_000, "0.3"), (10**10, "10"), (10**18, "1000000000")],
)
def test_an_amount_is_printed_exactly(billionths: int, digits: str) -> None:
    assert Amount(Currency.EPSILON, billionths).digits == digits


def test_a_pure_loss_never_costs_less_rho_than_one_release_at_its_epsilon() -> None:
    many = sum([PrivacyLoss.pure("0.1")] * 99, start=PrivacyLoss.pure("0.1"))
    claimed = PrivacyLoss(Fraction(50), Fraction(1, 10**9))
    for loss in (PrivacyLoss.pure(1), many, claimed, many * Fraction(1, 3)):
        assert loss.epsilon is not None
        assert Currency.RHO.price(loss).exact >= loss.epsilon**2 / 2
