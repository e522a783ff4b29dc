"""Exact rounding of Cauchy noise: a point of a half disc, revealed bit by bit, and no function but a quotient."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

from ..arguments import rational
from .randomness import Randomness

STEP = 64


def whole_below(centre: Fraction, scale: Fraction, randomness: Randomness) -> int:
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

    >>> whole_below(Fraction(7, 2), Fraction(0), Randomness.from_seed(0))
    3
    """
    scale = rational("scale", scale)
    while True:
        point = _Point.drawn(randomness)
        while (inside := point.inside) is None:
            point = point.closer(randomness)
        while inside:
            lower, upper = (floor(centre + point.sign * scale * quotient) for quotient in point.quotients)
            if lower == upper and point.is_settled:
                return lower
            point = point.closer(randomness)


@dataclass(frozen=True, slots=True, repr=False)
class _Point:
    """SECRET: from ``across`` to ``across + 1``, and from ``up`` to ``up + 1``, in units of ``2**-bits``."""

    sign: int
    across: int
    up: int
    bits: int

    @classmethod
    def drawn(cls, randomness: Randomness) -> _Point:
        across, up = (int(word) for word in randomness.words(2))
        return cls(1 if randomness.below(2) else -1, across, up, STEP)

    def closer(self, randomness: Randomness) -> _Point:
        """With more places."""
        across, up = (int(word) for word in randomness.words(2))
        return _Point(self.sign, self.across << STEP | across, self.up << STEP | up, self.bits + STEP)

    @property
    def inside(self) -> bool | None:
        """Tell whether the point lies in the disc; None: not certain at this precision."""
        if (self.across + 1) ** 2 + (self.up + 1) ** 2 <= 1 << 2 * self.bits:
            return True
        return False if self.across**2 + self.up**2 >= 1 << 2 * self.bits else None

    @property
    def is_settled(self) -> bool:
        """Tell whether the quotient is bounded."""
        return self.up > 0

    @property
    def quotients(self) -> tuple[Fraction, Fraction]:
        """Bounds of the quotient, from below and from above."""
        return Fraction(self.across, self.up + 1), Fraction(self.across + 1, max(self.up, 1))
