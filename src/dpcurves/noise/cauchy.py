"""Exact sampler of Cauchy noise, rounded down to an integer, for mechanisms with smooth sensitivity.

`sample_cauchy_floor` returns the floor of ``centre + scale * C``, where C is a standard Cauchy variable, with the
density ``1 / (pi * (1 + t**2))``. It is the cotangent of a uniform angle, so it can be sampled by rejection:

    C = x / y     for (x, y) uniform in  x**2 + y**2 <= 1,  y > 0

Binary digits of x and y are sampled until all points that they allow give the same integer, so the result is that of
infinitely many digits.

Formal guarantees: the distribution is exact; no floating point decides. The running time depends on the distance of the
outcome from an integer.

Reference: Devroye 1986, *Non-uniform random variate generation* (ratio of coordinates).

>>> draws = sorted(sample_cauchy_floor(Fraction(0), Fraction(100), Randomness.from_seed(seed)) for seed in range(99))
>>> draws[49], draws[74] - draws[24]  # median and distance of quartiles: about -0.5 and 200
(2, 167)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

from ..arguments import require_nonnegative_fraction
from .randomness import Randomness

DIGIT_BITS = 64
"""Number of binary digits of each coordinate that are drawn at once: one machine word. More are drawn only where these
do not decide the sample."""


def sample_cauchy_floor(centre: Fraction, scale: Fraction, randomness: Randomness) -> int:
    """Sample the largest integer that is at most ``centre + scale * C``, where C is a standard Cauchy variable.

    Formal guarantees: the distribution is exact, no floating point is used, and no rounding decides. C is ``x / y`` for
    (x, y) uniform in the upper half of the unit disc. Only the first binary digits of both are sampled. More follow
    until two things are certain: whether the point is in the disc, and which integer its quotient gives. The number of
    digits depends on the distance of the outcome from a rounding edge; 64 suffice except with a probability of about
    2**-50.

    Args:
        centre: SECRET. Median of the sum before it is rounded down; no error shows it.
        scale: SECRET. Half of the distance of the quartiles, at least 0.
        randomness: Source of random bits.

    Raises:
        ValueError: `scale` is below zero.

    >>> sample_cauchy_floor(Fraction(7, 2), Fraction(0), Randomness.from_seed(0))
    3
    """
    scale = require_nonnegative_fraction("scale", scale)
    while True:
        point = _DiscPoint.sample(randomness)
        while (inside := point.is_inside) is None:
            point = point.refine(randomness)
        while inside:
            lower, upper = (floor(centre + point.sign * scale * quotient) for quotient in point.quotient_bounds)
            if lower == upper and point.has_bounded_quotient:
                return lower
            point = point.refine(randomness)


@dataclass(frozen=True, slots=True, repr=False)
class _DiscPoint:
    """SECRET: a point of which some binary digits are known: between ``x`` and ``x + 1``, and ``y`` and ``y + 1``.

    Attributes:
        sign: Sign of the quotient, 1 or -1.
        x: Known digits of the first coordinate, in units of ``2**-bits``.
        y: Known digits of the second coordinate, in the same units.
        bits: Number of known binary digits of each coordinate.
    """

    sign: int
    x: int
    y: int
    bits: int

    @classmethod
    def sample(cls, randomness: Randomness) -> _DiscPoint:
        """Sample a random sign and a uniform point of the unit square, each coordinate known to 64 binary digits.

        Args:
            randomness: Source of random bits.
        """
        x_digits, y_digits = (int(word) for word in randomness.sample_words(2))
        return cls(1 if randomness.sample_below(2) else -1, x_digits, y_digits, DIGIT_BITS)

    def refine(self, randomness: Randomness) -> _DiscPoint:
        """Return the same random point, determined to 64 more binary digits per coordinate.

        Args:
            randomness: Source of random bits.
        """
        x_digits, y_digits = (int(word) for word in randomness.sample_words(2))
        return _DiscPoint(
            self.sign, self.x << DIGIT_BITS | x_digits, self.y << DIGIT_BITS | y_digits, self.bits + DIGIT_BITS
        )

    @property
    def is_inside(self) -> bool | None:
        """Whether the point lies in the unit disc; None if its known digits do not decide that."""
        if (self.x + 1) ** 2 + (self.y + 1) ** 2 <= 1 << 2 * self.bits:
            return True
        return False if self.x**2 + self.y**2 >= 1 << 2 * self.bits else None

    @property
    def has_bounded_quotient(self) -> bool:
        """Whether `y` is certainly above zero at this precision, so that the quotient ``x / y`` (the Cauchy variable)
        is bounded.
        """
        return self.y > 0

    @property
    def quotient_bounds(self) -> tuple[Fraction, Fraction]:
        """Lower and upper bound of ``x / y``, without the sign, over all points that the known digits allow.

        The upper bound is valid only if `has_bounded_quotient`.
        """
        return Fraction(self.x, self.y + 1), Fraction(self.x + 1, max(self.y, 1))
