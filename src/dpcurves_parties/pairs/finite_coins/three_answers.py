"""Randomised response to minus one, nought or one, so that ties stay ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from dpcurves.noise.exponential import decay_above

from .flip import FEWEST_PLACES, FINE
from .response import Response
from .wires import Wires, ands_below, below, chosen

TRIED = 64


class _Parts(NamedTuple):
    """Chances in parts of all: that a tie is kept, that an order is told as a tie, and that it is turned round."""

    kept: int
    hidden: int
    turned: int


@dataclass(frozen=True)
class ThreeAnswers(Response):
    """An order, 1 or -1, may be told as a tie or turned round; a tie may be told as either order, with even chances.

    The chance that a tie is kept is free, from that of a fair coin's toss for either order, which is best for orders,
    to that of three even wrong answers, which is best for ties. It is taken where the larger of both variances is
    smallest: 4.2 at epsilon 1, where three even answers have 4.9, and turning ties into orders first has 4.7.

    Formal guarantees: a tie is told as a tie with chance A and an order with C, ``A <= e C``; an order is told right
    with ``1 - C - D``, wrong with D, and a tie as that order with ``(1 - A) / 2``: the largest of these three over the
    smallest is at most ``e = exp(epsilon)``. C and D are rounded up, and all of it is compared in whole numbers.
    """

    @property
    def name(self) -> str:
        return "one of three answers"

    @property
    def values(self) -> range:
        return range(-1, 2)

    @property
    def answers(self) -> range:
        return range(-1, 2)

    @cached_property
    def places(self) -> int:
        """The number of binary places of the first coin."""
        return max(FEWEST_PLACES, FINE + (self.epsilon.denominator // self.epsilon.numerator).bit_length())

    @property
    def coins(self) -> tuple[int, ...]:
        return (self.places, 1)

    @cached_property
    def parts(self) -> _Parts:
        """The chances, in parts of ``2**places``."""
        rest, whole = decay_above(self.epsilon), 1 << self.places
        most = int(whole / (1 + 2 * rest))
        tried = (_parts(most * part // TRIED, whole, rest) for part in range(1, TRIED + 1))
        return min((parts for parts in tried if _is_private(parts, whole, rest)), key=self._larger)

    def _larger(self, parts: _Parts) -> float:
        """The larger of both variances, debiased."""
        whole = 1 << self.places
        gain = 1 - (parts.hidden + 2 * parts.turned) / whole
        if gain <= 0:
            return float("inf")
        return max(1 - parts.kept / whole, 1 - parts.hidden / whole - gain**2) / gain**2

    def answer(self, value: int, coins: Sequence[int]) -> int:
        coin, side = coins
        kept, hidden, turned = self.parts
        if coin < (hidden if value else kept):
            return 0
        if not value:
            return -1 if side else 1
        return -value if coin < hidden + turned else value

    def wires(self, value: Wires, coins: Wires) -> Wires:
        order, less = value
        coin, side = coins[:-1], coins[-1]
        kept, hidden, turned = self.parts
        told = ~chosen(order, below(coin, hidden), below(coin, kept))
        return told, told & chosen(order, less ^ below(coin, hidden + turned), side)

    @property
    def ands(self) -> int:
        kept, hidden, turned = self.parts
        return 3 + sum(ands_below(self.places, parts) for parts in (kept, hidden, hidden + turned))

    def chance(self, value: int, answer: int) -> Fraction:
        kept, hidden, turned = (Fraction(parts, (1 << self.places)) for parts in self.parts)
        if not value:
            return kept if not answer else (1 - kept) / 2
        return {0: hidden, -value: turned, value: 1 - hidden - turned}[answer]

    @property
    def offset(self) -> Fraction:
        return Fraction(0)

    @property
    def gain(self) -> Fraction:
        return self.chance(1, 1) - self.chance(1, -1)

    def variance(self, value: int) -> float:
        return float(1 - self.chance(value, 0)) - float(self.gain) ** 2 * value**2


def _parts(kept: int, whole: int, rest: Fraction) -> _Parts:
    hidden = -int(-kept * rest // 1)
    return _Parts(kept, hidden, -int(-(whole - hidden) * rest / (1 + rest) // 1))


def _is_private(parts: _Parts, whole: int, rest: Fraction) -> bool:
    """Tell whether no answer is more than ``1 / rest`` times as likely about one value as about another."""
    ties = (Fraction(parts.kept), Fraction(parts.hidden))
    orders = (Fraction(whole - parts.hidden - parts.turned), Fraction(parts.turned), Fraction(whole - parts.kept, 2))
    return all(min(told) > 0 and max(told) * rest <= min(told) for told in (ties, orders))
