"""Exact rounding of Cauchy noise: a point of a half disc, revealed bit by bit, and no function but a quotient."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

from ..arguments import require_nonnegative_fraction
from .randomness import Randomness

STEP = 64


def sample_cauchy_floor(centre: Fraction, scale: Fraction, randomness: Randomness) -> int:
    """The largest whole number that is at most ``centre + scale * C``, C a standard Cauchy variable.

    Formal guarantees: the law is exact, no floating point is used, and no rounding decides. C is ``x / y`` for (x, y)
    uniform in the upper half of the unit disc. Of both numbers only the first binary places are drawn; further ones
    follow until it is certain whether the point is in the disc, and which whole number its quotient leads to. How many
    are drawn depends on how near a rounding edge the outcome lies, in 64 places but for a chance of about 2**-50.

    Args:
        centre: SECRET: no error shows it.
        scale: At least 0. SECRET.
        randomness: Where the noise comes from.

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
    """SECRET: from ``x`` to ``x + 1``, and from ``y`` to ``y + 1``, in units of ``2**-bits``."""

    sign: int
    x: int
    y: int
    bits: int

    @classmethod
    def sample(cls, randomness: Randomness) -> _DiscPoint:
        across, up = (int(word) for word in randomness.sample_words(2))
        return cls(1 if randomness.sample_below(2) else -1, across, up, STEP)

    def refine(self, randomness: Randomness) -> _DiscPoint:
        """With more places."""
        across, up = (int(word) for word in randomness.sample_words(2))
        return _DiscPoint(self.sign, self.x << STEP | across, self.y << STEP | up, self.bits + STEP)

    @property
    def is_inside(self) -> bool | None:
        """Tell whether the point lies in the disc; None: not certain at this precision."""
        if (self.x + 1) ** 2 + (self.y + 1) ** 2 <= 1 << 2 * self.bits:
            return True
        return False if self.x**2 + self.y**2 >= 1 << 2 * self.bits else None

    @property
    def has_bounded_quotient(self) -> bool:
        """Tell whether the quotient is bounded."""
        return self.y > 0

    @property
    def quotient_bounds(self) -> tuple[Fraction, Fraction]:
        """Bounds of the quotient, from below and from above."""
        return Fraction(self.x, self.y + 1), Fraction(self.x + 1, max(self.y, 1))
