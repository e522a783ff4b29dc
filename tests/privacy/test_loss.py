"""Losses add up exactly, and an accountant never claims less than is known."""

from __future__ import annotations

import copy
import pickle
import sys
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcurves.arguments import Exact
from dpcurves.privacy import PrivacyLoss, epsilon_of_zcdp

FRACTIONS = st.fractions(min_value=0, max_value=5, max_denominator=1000)
LOSSES = st.one_of(
    st.builds(PrivacyLoss.pure, FRACTIONS.filter(bool)), st.builds(PrivacyLoss.zcdp, FRACTIONS.filter(bool))
)


@pytest.mark.parametrize("written", [0.1, "0.1", Decimal("0.1"), Fraction(1, 10), "1/10"])
def test_a_number_means_what_it_prints(written: Exact) -> None:
    assert PrivacyLoss.pure(written) == PrivacyLoss(Fraction(1, 10), Fraction(1, 200))
    assert PrivacyLoss.zcdp(written) == PrivacyLoss(None, Fraction(1, 10))


def test_ten_tenths_are_one() -> None:
    assert sum([PrivacyLoss.pure(0.1)] * 9, start=PrivacyLoss.pure(0.1)).epsilon == 1


@given(LOSSES, LOSSES, LOSSES)
def test_adding_up_knows_no_order(one: PrivacyLoss, two: PrivacyLoss, three: PrivacyLoss) -> None:
    assert (one + two) + three == three + (two + one)
    assert (one + two).rho == one.rho + two.rho


@given(LOSSES, st.lists(st.integers(1, 50), min_size=1, max_size=6))
def test_shares_of_one_add_up_to_the_whole(loss: PrivacyLoss, sizes: list[int]) -> None:
    first, *others = [loss * Fraction(size, sum(sizes)) for size in sizes]
    assert sum(others, start=first) == loss


@given(LOSSES, LOSSES)
def test_pure_and_not_pure_are_not_pure(one: PrivacyLoss, two: PrivacyLoss) -> None:
    assert (one + two).is_pure == (one.is_pure and two.is_pure)


def test_parts_count_neither_in_comparison_nor_in_print() -> None:
    whole, halves = PrivacyLoss.pure(1), PrivacyLoss.pure(1) * Fraction(1, 2) + PrivacyLoss.pure(1) * Fraction(1, 2)
    assert (len(whole.parts), len(halves.parts)) == (0, 2)
    assert (whole, hash(whole), repr(whole), str(whole)) == (halves, hash(halves), repr(halves), str(halves))


def test_a_share_of_a_sum_is_made_of_shares_of_its_parts() -> None:
    loss = (PrivacyLoss.pure(1) + PrivacyLoss.zcdp(2) + PrivacyLoss.pure(3)) * Fraction(1, 2)
    assert [part.epsilon for part in loss.parts] == [Fraction(1, 2), None, Fraction(3, 2)]
    assert sum((part.rho for part in loss.parts), Fraction(0)) == loss.rho


def test_a_loss_can_be_copied_and_sent() -> None:
    loss = PrivacyLoss.pure(1) + PrivacyLoss.zcdp(2)
    for other in (copy.copy(loss), copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert (other, other.parts) == (loss, loss.parts)


@pytest.mark.parametrize("value", [0, -1, "", "much", "1/0", "nan", "inf", float("nan"), float("inf"), Decimal("NaN")])
def test_a_loss_is_a_finite_number_above_zero(value: Exact) -> None:
    with pytest.raises(ValueError, match=r"epsilon: a (finite )?number above zero is needed"):
        PrivacyLoss.pure(value)
    with pytest.raises(ValueError, match=r"rho: a (finite )?number above zero is needed"):
        PrivacyLoss.zcdp(value)


def test_no_loss_is_negative() -> None:
    with pytest.raises(ValueError, match="epsilon, rho: must be at least 0"):
        PrivacyLoss.pure(1) * Fraction(-1)


def test_a_pure_loss_is_never_said_to_be_more_than_its_epsilon() -> None:
    loss = PrivacyLoss.pure("0.3")
    assert loss.epsilon_at(1e-9) == 0.3
    assert 0.3 - 1e-8 < loss.epsilon_at(1e-9, accountant="pld") < 0.3


def test_a_loss_in_rho_is_converted() -> None:
    loss = PrivacyLoss.zcdp("0.2") + PrivacyLoss.zcdp("0.3")
    assert loss.epsilon_at(1e-6) == loss.epsilon_at(1e-6, accountant="pld") == epsilon_of_zcdp(0.5, 1e-6)


def test_many_small_pure_losses_cost_less_than_their_sum() -> None:
    loss = sum([PrivacyLoss.pure(0.1)] * 99, start=PrivacyLoss.pure(0.1))
    assert loss.epsilon == 10
    assert loss.epsilon_at(1e-6, accountant="pld") < loss.epsilon_at(1e-6) < 6


def test_loss_distributions_need_the_parts() -> None:
    apart = sum([PrivacyLoss.pure(0.1)] * 9, start=PrivacyLoss.pure(0.1))
    assert apart.epsilon_at(1e-3, accountant="pld") < PrivacyLoss.pure(1).epsilon_at(1e-3, accountant="pld")


def test_a_pure_part_and_a_part_in_rho_cost_less_than_their_rho_together() -> None:
    loss = PrivacyLoss.pure(1) + PrivacyLoss.zcdp("0.01")
    assert 1 < loss.epsilon_at(1e-6, accountant="pld") < 2.1 < loss.epsilon_at(1e-6)


@pytest.mark.parametrize("accountant", ["zcdp", "pld"])
def test_less_delta_means_more_epsilon(accountant: str) -> None:
    loss = PrivacyLoss.pure(0.5) + PrivacyLoss.zcdp("0.05") + PrivacyLoss.pure(0.25)
    epsilons = [loss.epsilon_at(10.0**-power, accountant=accountant) for power in range(1, 11)]
    assert epsilons == sorted(epsilons)


@pytest.mark.parametrize("accountant", ["zcdp", "pld"])
def test_more_releases_never_cost_less(accountant: str) -> None:
    loss, costs = PrivacyLoss.pure(0.25), []
    for more in [PrivacyLoss.zcdp("0.001"), PrivacyLoss.pure(1), PrivacyLoss.zcdp(1), PrivacyLoss.pure("1/7")]:
        loss = loss + more
        costs.append(loss.epsilon_at(1e-6, accountant=accountant))
    assert costs == sorted(costs)


@pytest.mark.parametrize("delta", [0, 1, -1e-9, 1.5, float("nan"), float("inf")])
@pytest.mark.parametrize("accountant", ["zcdp", "pld"])
def test_delta_is_a_chance(delta: float, accountant: str) -> None:
    for loss in (PrivacyLoss.pure(1), PrivacyLoss.zcdp(1)):
        with pytest.raises(ValueError, match="delta: must be a probability strictly between 0 and 1"):
            loss.epsilon_at(delta, accountant=accountant)


def test_an_unknown_accountant_is_refused() -> None:
    with pytest.raises(ValueError, match="accountant: must be 'zcdp' or 'pld', got 'moments'"):
        PrivacyLoss.pure(1).epsilon_at(1e-6, accountant="moments")


def test_without_dp_accounting_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.privacy_loss_distribution", None)
    assert PrivacyLoss.pure(1).epsilon_at(1e-6) == 1
    with pytest.raises(ImportError, match=r"install dpcurves\[accounting\]"):
        PrivacyLoss.pure(1).epsilon_at(1e-6, accountant="pld")
