"""The exponential function is bounded rightly, and its coins fall as often as they should."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import exp, sqrt

import pytest

from dpcurves.noise import Randomness, sample_bernoulli_exp
from dpcurves.noise.exponential import (
    bound_exp_neg,
    bound_geometric_sum,
    geometric_terms,
    multiply_brackets,
    one_bracket,
    sample_alternating_series,
)

EXPONENTS = [
    Fraction(0),
    Fraction(1, 10**40),
    Fraction(1, 10**9),
    Fraction(1, 257),
    Fraction(1, 256),
    Fraction(1, 3),
    Fraction(255, 256),
    Fraction(1),
    Fraction(10, 3),
    Fraction(2**70 + 1, 2**66),
    Fraction(95),
    Fraction(10**6),
    Fraction(10**40),
]


@pytest.mark.parametrize("bits", [8, 64, 96, 320])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_decay_is_bounded_to_two_units(exponent: Fraction, bits: int) -> None:
    lower, upper = bound_exp_neg(exponent, bits)
    with localcontext(prec=200):
        true = (-Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp() * 2**bits
        slack = Decimal(10) ** -60  # the reference is rounded too
        assert lower <= true + slack
        assert true - slack <= upper
    assert upper - lower <= 2


def test_a_bracket_is_rounded_outwards() -> None:
    assert multiply_brackets((3, 3), (5, 5), bits=3) == (1, 2)
    assert one_bracket(5) == (32, 32)


def test_a_geometric_series_lies_in_its_brackets() -> None:
    bits, third = 40, ((1 << 40) // 3, (1 << 40) // 3 + 1)
    for k, (lower, upper) in enumerate(geometric_terms(one_bracket(bits), third, 20, bits)):
        assert lower <= Fraction(2**bits, 3**k) <= upper
    assert bound_geometric_sum(one_bracket(bits), third, bits) >= Fraction(3, 2) * 2**bits


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(7, 2)])
def test_a_coin_falls_as_often_as_it_should(exponent: Fraction) -> None:
    source, tosses, chance = Randomness.from_seed(1), 40_000, exp(-exponent)
    heads = sum(sample_bernoulli_exp(exponent, source) for _ in range(tosses))
    assert abs(heads - tosses * chance) <= 4 * sqrt(tosses * chance * (1 - chance))  # 4 sigma


def test_alternate_can_go_on_after_a_first_head() -> None:
    source, tosses, gamma = Randomness.from_seed(2), 40_000, Fraction(1, 2)
    heads = sum(sample_alternating_series(gamma, 2, source) for _ in range(tosses))
    chance = 1 - (1 - exp(-gamma)) / float(gamma)  # exp(-gamma) = (1 - gamma) + gamma * chance
    assert abs(heads - tosses * chance) <= 4 * sqrt(tosses * chance * (1 - chance))  # 4 sigma
