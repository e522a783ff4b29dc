"""Composed loss distributions, against closed forms, enumeration and mechanisms that are known exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import comb, exp, fsum, prod

import pytest
from dp_accounting.pld import privacy_loss_distribution

from dpcurves.privacy.loss import MOST_STEPS, composed_epsilon, epsilon_of_zcdp

NONE = Fraction(0)


def delta_of_equal(epsilon: float, times: int, total: float) -> float:
    """Kairouz, Oh and Viswanath (2015): the least delta at epsilon `total` of `times` releases."""
    lies = range(times + 1)
    excess = (exp((times - lie) * epsilon) - exp(total + lie * epsilon) for lie in lies)
    return fsum(comb(times, lie) * max(0.0, more) for lie, more in zip(lies, excess, strict=True)) / (
        (1 + exp(epsilon)) ** times
    )


def delta_by_enumeration(losses: Sequence[Fraction], total: float) -> float:
    truths = [1 / (1 + exp(-loss)) for loss in losses]
    terms = []
    for answers in product([True, False], repeat=len(losses)):
        here = prod(truth if told else 1 - truth for truth, told in zip(truths, answers, strict=True))
        there = prod(1 - truth if told else truth for truth, told in zip(truths, answers, strict=True))
        terms.append(max(0.0, here - exp(total) * there))
    return fsum(terms)


@pytest.mark.parametrize(("epsilon", "times"), [("0.1", 100), ("0.5", 10), ("1", 3), ("0.01", 1000)])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_equal_losses_compose_as_in_the_closed_form(epsilon: str, times: int, delta: float) -> None:
    total = composed_epsilon([Fraction(epsilon)] * times, NONE, delta)
    exact = delta_of_equal(float(epsilon), times, total)
    assert exact == pytest.approx(delta, rel=1e-4) or total == pytest.approx(float(epsilon) * times)


@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_unequal_losses_compose_as_in_the_enumeration(delta: float) -> None:
    losses = [Fraction(1, 10), Fraction(1, 3), Fraction(1, 4), Fraction(1, 2), Fraction(1, 10), Fraction(7, 10)]
    total = composed_epsilon(losses, NONE, delta)
    assert delta_by_enumeration(losses, total) == pytest.approx(delta, rel=1e-6)


def test_steps_that_would_be_too_many_are_rounded_up() -> None:
    losses = [Fraction(1, 3), Fraction(1, 1009), Fraction(1, 10007), Fraction(10**9 + 7, 10**9 + 9)]
    total = composed_epsilon(losses, NONE, 1e-4)
    assert delta_by_enumeration(losses, total) <= 1e-4
    assert delta_by_enumeration(losses, total - 8 * float(sum(losses)) / MOST_STEPS) > 1e-4


@pytest.mark.parametrize("rho", ["0.01", "0.2"])
@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_with_rho_it_bounds_randomised_response_beside_a_gaussian(rho: str, delta: float) -> None:
    pure = [Fraction(1, 2), Fraction(1, 4)]
    worst = privacy_loss_distribution.from_gaussian_mechanism((2 * float(Fraction(rho))) ** -0.5)
    for epsilon in pure:
        noise = 2 / (1 + exp(epsilon))
        worst = worst.compose(privacy_loss_distribution.from_randomized_response(noise, 2))
    exact = worst.get_epsilon_for_delta(delta)
    assert exact <= composed_epsilon(pure, Fraction(rho), delta) < 1.6 * exact


@pytest.mark.parametrize(("epsilon", "times", "delta"), [("0.1", 100, 1e-2), ("1", 1, 1e-2), ("0.01", 100, 1e-2)])
def test_a_rho_so_small_that_delta_pays_all_of_it_still_counts(epsilon: str, times: int, delta: float) -> None:
    rho = Fraction(1, 10**6)
    assert epsilon_of_zcdp(rho, delta / 2) == 0
    pure = [Fraction(epsilon)] * times
    with_half = composed_epsilon(pure, NONE, delta / 2)
    assert composed_epsilon(pure, NONE, delta) <= composed_epsilon(pure, rho, delta) <= with_half + 1e-9


def test_losses_of_nothing_count_nothing() -> None:
    assert composed_epsilon([NONE, NONE], NONE, 1e-6) == 0
    assert composed_epsilon([NONE], Fraction(1, 2), 1e-6) == epsilon_of_zcdp(0.5, 1e-6)
    assert composed_epsilon([NONE, Fraction(1, 2)], NONE, 1e-6) == composed_epsilon([Fraction(1, 2)], NONE, 1e-6)
