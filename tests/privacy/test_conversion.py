"""The conversion of rho, against its definition over many orders and against dp-accounting."""

from __future__ import annotations

from fractions import Fraction
from math import inf, log, nan

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant

from dpcurves.privacy import delta_of_zcdp, epsilon_of_zcdp, rho_for

RHOS = [1e-9, 1e-4, 0.01, 0.5, 3.0, 100.0]
DELTAS = [1e-12, 1e-6, 1e-3, 0.3]
EXCESS = np.geomspace(1e-4, 1e8, 300_001)


def epsilon_by_orders(rho: float, delta: float) -> float:
    orders = 1 + EXCESS
    epsilons = orders * rho + (-log(delta) - np.log(orders)) / EXCESS + np.log1p(-1 / orders)
    return max(0.0, float(epsilons.min()))


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_no_order_of_many_does_better(rho: float, delta: float) -> None:
    ours, theirs = epsilon_of_zcdp(rho, delta), epsilon_by_orders(rho, delta)
    assert ours <= theirs + 1e-9
    assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("rho", [0.001, 0.1, 0.5, 10.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_it_is_that_of_dp_accounting_at_the_best_order(rho: float, delta: float) -> None:
    oracle = rdp_privacy_accountant.RdpAccountant(orders=list(1 + np.geomspace(1e-3, 1e5, 5000)))
    oracle.compose(dp_accounting.ZCDpEvent(rho))
    # Orders on a grid with ratio 1.004: off by about the square of half of that.
    assert epsilon_of_zcdp(rho, delta) == pytest.approx(oracle.get_epsilon(delta), rel=2e-5)


@pytest.mark.quick_share(9)
@pytest.mark.parametrize("rho", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_it_is_never_below_what_the_gaussian_mechanism_loses(rho: float, delta: float) -> None:
    gaussian = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-4)
    gaussian.compose(dp_accounting.GaussianDpEvent(float(np.sqrt(1 / (2 * rho)))))
    exact = gaussian.get_epsilon(delta)
    assert exact <= epsilon_of_zcdp(rho, delta) < 1.25 * exact


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.5, 3.0, 100.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-6, 1e-3])
def test_delta_undoes_epsilon(rho: float, delta: float) -> None:
    assert delta_of_zcdp(rho, epsilon_of_zcdp(rho, delta)) == pytest.approx(delta, rel=1e-9)


def test_it_rises_in_rho_and_falls_in_delta() -> None:
    table = np.array([[epsilon_of_zcdp(rho, delta) for delta in DELTAS] for rho in RHOS])
    assert np.all(np.diff(table, axis=0) >= 0)
    assert np.all(np.diff(table, axis=1) <= 0)


def test_delta_falls_in_epsilon_and_rises_in_rho() -> None:
    table = np.array([[delta_of_zcdp(rho, epsilon) for epsilon in (0, 0.1, 1, 10)] for rho in RHOS])
    assert np.all(np.diff(table, axis=0) >= 0)
    assert np.all(np.diff(table, axis=1) <= 0)
    assert np.all((table >= 0) & (table <= 1))


def test_it_is_tighter_than_the_textbook() -> None:
    assert epsilon_of_zcdp(0.5, 1e-6) < 0.5 + 2 * np.sqrt(0.5 * -log(1e-6))


def test_nothing_lost_is_nothing_lost() -> None:
    assert epsilon_of_zcdp(0, 1e-6) == 0
    assert delta_of_zcdp(Fraction(0), 0) == 0


def test_a_rational_is_taken_as_well_as_a_float() -> None:
    assert epsilon_of_zcdp(Fraction(1, 2), 1e-6) == epsilon_of_zcdp(0.5, 1e-6)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 8.0, 1000.0])
@pytest.mark.parametrize("delta", DELTAS)
def test_the_largest_rho_keeps_the_promise_and_hardly_more_breaks_it(epsilon: float, delta: float) -> None:
    rho = rho_for(epsilon, delta)
    assert epsilon_of_zcdp(rho, delta) <= epsilon
    more = max(rho / 10**8, Fraction(11, 10**10) if rho >= Fraction(1, 10**4) else Fraction(0))
    assert epsilon_of_zcdp(rho + more, delta) > epsilon
    assert rho < Fraction(1, 10**4) or (rho * 10**9).denominator == 1  # a ledger keeps it as it is


def test_the_largest_rho_is_a_short_rational() -> None:
    assert len(str(rho_for(1, 1e-6).numerator)) <= 12


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2, nan, inf])
def test_delta_lies_strictly_between_0_and_1(delta: float) -> None:
    with pytest.raises(ValueError, match="delta: must be a probability strictly between 0 and 1"):
        epsilon_of_zcdp(1, delta)
    with pytest.raises(ValueError, match="delta: must be a probability strictly between 0 and 1"):
        rho_for(1, delta)


@pytest.mark.parametrize("number", [-1, nan, inf])
def test_epsilon_and_rho_are_finite_and_not_negative(number: float) -> None:
    with pytest.raises(ValueError, match="rho: must be a finite number"):
        epsilon_of_zcdp(number, 1e-6)
    with pytest.raises(ValueError, match="epsilon: must be a finite number"):
        delta_of_zcdp(1, number)
    with pytest.raises(ValueError, match="epsilon: must be a finite number"):
        rho_for(number, 1e-6)


def test_no_rho_keeps_an_epsilon_of_zero() -> None:
    with pytest.raises(ValueError, match="epsilon: a number above zero"):
        rho_for(0, 1e-6)
