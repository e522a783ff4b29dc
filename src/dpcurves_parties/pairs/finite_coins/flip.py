"""Randomised response to a yes or no, from one coin of finitely many places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from dpcurves.noise.exponential import decay_above

from .response import Response
from .wires import Wires, ands_below, below

FEWEST_PLACES = 16
FINE = 13


@dataclass(frozen=True)
class Flip(Response):
    """The answer is turned round with chance ``m / 2**places`` (Warner 1965).

    Formal guarantees: two values differ in the chance of an answer by the factor ``(2**places - m) / m`` at most, which
    is at most exp(epsilon) for ``m >= 2**places / (1 + exp(epsilon))``: m is rounded up. There are so many places that
    rounding adds less than a thousandth to the variance, and 16 at least. Above an epsilon of about 11 the smallest
    chance, ``2**-16``, is more than is needed: then less than epsilon is lost.
    """

    @property
    def name(self) -> str:
        return "one bit, which may be turned round"

    @property
    def values(self) -> range:
        return range(2)

    @property
    def answers(self) -> range:
        return range(2)

    @cached_property
    def places(self) -> int:
        """The number of binary places of the coin."""
        smallness = (self.epsilon.denominator // self.epsilon.numerator).bit_length()
        return max(FEWEST_PLACES, FINE + smallness)

    @cached_property
    def flipped(self) -> int:
        """The chance that the answer is turned round, in parts of ``2**places``: never more than half of them."""
        rest = decay_above(self.epsilon)
        return -int(-(rest / (1 + rest) * (1 << self.places)) // 1)

    @property
    def coins(self) -> tuple[int, ...]:
        return (self.places,)

    def answer(self, value: int, coins: Sequence[int]) -> int:
        return value ^ (coins[0] < self.flipped)

    def wires(self, value: Wires, coins: Wires) -> Wires:
        return (value[0] ^ below(coins, self.flipped),)

    @property
    def ands(self) -> int:
        return ands_below(self.places, self.flipped)

    def chance(self, value: int, answer: int) -> Fraction:
        flipped = Fraction(self.flipped, (1 << self.places))
        return flipped if value != answer else 1 - flipped

    @property
    def offset(self) -> Fraction:
        return self.chance(0, 1)

    @property
    def gain(self) -> Fraction:
        return 1 - 2 * self.chance(0, 1)

    def variance(self, value: int) -> float:
        """The variance of an answer."""
        return float(self.chance(0, 1) * self.chance(0, 0))
