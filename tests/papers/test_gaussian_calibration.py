"""The delta of discrete Gaussian noise, against plain sums over all outputs."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, fsum

import numpy as np
import pytest
from baselines import delta_of_gaussian, gaussian_variance
from dp_accounting.pld import privacy_loss_distribution

from dpcurves.privacy import rho_for


def distribution(variance: float, reach: int) -> dict[int, float]:
    weights = {x: exp(-(x**2) / (2 * variance)) for x in range(-reach, reach + 1)}
    return {x: weight / fsum(weights.values()) for x, weight in weights.items()}


def delta_by_enumeration(variance: float, epsilon: float, shift: tuple[int, ...]) -> float:
    """The sum over all outputs of what one chance exceeds exp(epsilon) times the other."""
    reach = int(9 * variance**0.5) + 4
    noise = distribution(variance, reach + max(map(abs, shift)))
    terms = []
    for output in product(range(-reach, reach + 1), repeat=len(shift)):
        here = np.prod([noise[x] for x in output])
        there = np.prod([noise.get(x - move, 0.0) for x, move in zip(output, shift, strict=True)])
        terms.append(max(0.0, float(here - exp(epsilon) * there)))
    return fsum(terms)


@pytest.mark.parametrize("variance", [0.05, 0.7, 3.0, 40.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("shift", [(1,), (-1,), (2,), (5,)])
def test_the_delta_of_one_coordinate_is_that_of_its_definition(
    variance: float, epsilon: float, shift: tuple[int, ...]
) -> None:
    expected = delta_by_enumeration(variance, epsilon, shift)
    assert delta_of_gaussian(variance, epsilon, shift) == pytest.approx(expected, rel=1e-8, abs=1e-17)


@pytest.mark.quick_share(54)
@pytest.mark.parametrize("variance", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("shift", [(1, 1), (1, -1), (2, 1), (-1, 2), (2, 2), (3, 1)])
def test_the_delta_of_two_coordinates_is_that_of_its_definition(
    variance: float, epsilon: float, shift: tuple[int, ...]
) -> None:
    expected = delta_by_enumeration(variance, epsilon, shift)
    assert delta_of_gaussian(variance, epsilon, shift) == pytest.approx(expected, rel=1e-8, abs=1e-16)


@pytest.mark.parametrize("shift", [(1, 1, 1), (2, -1, 1)])
def test_the_delta_of_three_coordinates_is_that_of_its_definition(shift: tuple[int, ...]) -> None:
    expected = delta_by_enumeration(0.5, 1.0, shift)
    assert delta_of_gaussian(0.5, 1.0, shift) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("sigma", "move"), [(1.0, 1), (4.0, 1), (10.0, 3)])
def test_the_delta_is_that_of_dp_accounting(sigma: float, move: int) -> None:
    oracle = privacy_loss_distribution.from_discrete_gaussian_mechanism(sigma, move, value_discretization_interval=1e-5)
    for epsilon in (0.1, 0.5, 1.0):
        # The oracle rounds losses up to steps of 1e-5, so it is above, by no more than that.
        exact = delta_of_gaussian(sigma**2, epsilon, [move])
        assert exact <= oracle.get_delta_for_epsilon(epsilon) * (1 + 1e-6)
        assert oracle.get_delta_for_epsilon(epsilon) <= delta_of_gaussian(sigma**2, epsilon - 2e-5, [move])


def test_order_signs_and_idle_coordinates_change_nothing() -> None:
    assert delta_of_gaussian(2, 0.5, [2, 0, -1]) == pytest.approx(delta_of_gaussian(2, 0.5, [1, 2]), rel=1e-12)
    assert delta_of_gaussian(2, 0.5, [0, 0]) == 0


@pytest.mark.quick_share(18)
@pytest.mark.parametrize("squared", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 1e-6), (1.0, 1e-6), (4.0, 1e-2)])
def test_the_variance_keeps_the_promise_for_every_neighbour_and_hardly_less_breaks_it(
    squared: int, epsilon: float, delta: float
) -> None:
    variance = gaussian_variance(epsilon, delta, squared)
    reach = range(int(squared**0.5) + 1)
    shifts = [shift for shift in product(reach, repeat=squared) if 0 < sum(x * x for x in shift) <= squared]
    shifts = sorted({tuple(sorted(x for x in shift if x)) for shift in shifts})
    assert max(delta_of_gaussian(variance, epsilon, shift) for shift in shifts) <= delta
    less = variance * (1 - Fraction(1, 10**5))
    assert max(delta_of_gaussian(less, epsilon, shift) for shift in shifts) > delta


@pytest.mark.parametrize("squared", [1, 2])
def test_the_promise_holds_by_enumeration(squared: int) -> None:
    epsilon, delta = 2.0, 1e-3
    variance = float(gaussian_variance(epsilon, delta, squared))
    for shift in [(1, 0), (0, 1), (1, 1), (1, -1)][: 2 * squared]:
        for move in (shift, tuple(-step for step in shift)):
            assert delta_by_enumeration(variance, epsilon, move) <= delta


def test_one_coordinate_is_not_always_the_worst() -> None:
    """So the sensitivity alone does not say that the formula for one coordinate may be used."""
    variance, epsilon = 0.5, 3.5
    assert delta_of_gaussian(variance, epsilon, [1, 1, 1, 1]) > delta_of_gaussian(variance, epsilon, [2])


def test_exact_is_never_worse_than_by_rho_and_seldom_far_from_it() -> None:
    for squared in (1, 2, 8):
        by_rho = squared / (2 * rho_for(1, 1e-6))
        assert by_rho / 2 < gaussian_variance(1, 1e-6, squared) < by_rho


def test_beyond_what_is_summed_rho_decides() -> None:
    by_rho = 9 / (2 * rho_for(1, 1e-6))
    assert by_rho <= gaussian_variance(1, 1e-6, 9) <= by_rho * (1 + Fraction(1, 10**6))
    by_rho = 1 / (2 * rho_for(1e-4, 1e-9))
    assert by_rho <= gaussian_variance(1e-4, 1e-9, 1) <= by_rho * (1 + Fraction(1, 10**6))


def test_the_variance_falls_in_epsilon_and_in_delta_and_rises_in_sensitivity() -> None:
    assert gaussian_variance(1, 1e-6, 2) < gaussian_variance(0.5, 1e-6, 2)
    assert gaussian_variance(1, 1e-6, 2) < gaussian_variance(1, 1e-9, 2)
    steps = [gaussian_variance(1, 1e-6, squared) for squared in range(1, 12)]
    assert steps == sorted(steps)


@pytest.mark.parametrize("squared", [0, -1])
def test_a_sensitivity_is_at_least_one(squared: int) -> None:
    with pytest.raises(ValueError, match="squared_sensitivity: a whole number of at least 1"):
        gaussian_variance(1, 1e-6, squared)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="epsilon: a number above zero"):
        gaussian_variance(0, 1e-6, 1)
    with pytest.raises(ValueError, match="delta: must be a probability strictly between 0 and 1"):
        gaussian_variance(1, 0, 1)
    with pytest.raises(ValueError, match="variance: a number above zero"):
        delta_of_gaussian(0, 1, [1])
