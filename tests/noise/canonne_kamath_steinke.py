"""The samplers as printed: Algorithms 2 and 3 of Canonne, Kamath and Steinke (2020), one draw at a time."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from dpcurves.noise import Randomness, sample_bernoulli_exp


def discrete_laplace(scale: Fraction, randomness: Randomness) -> int:
    """Algorithm 2, for a scale of ``top / bottom``."""
    top, bottom = scale.numerator, scale.denominator
    while True:
        remainder = randomness.sample_below(top)
        if not sample_bernoulli_exp(Fraction(remainder, top), randomness):
            continue
        quotient = 0
        while sample_bernoulli_exp(Fraction(1), randomness):
            quotient += 1
        magnitude = (remainder + top * quotient) // bottom
        negative = randomness.sample_below(2) == 1
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def discrete_gaussian(variance: Fraction, randomness: Randomness) -> int:
    """Algorithm 3."""
    scale = isqrt(int(variance)) + 1
    while True:
        drawn = discrete_laplace(Fraction(scale), randomness)
        if sample_bernoulli_exp((abs(drawn) - variance / scale) ** 2 / (2 * variance), randomness):
            return drawn
