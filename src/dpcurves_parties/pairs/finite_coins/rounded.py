"""Three answers, values that are rounded at random to few steps, and the choice of the noise of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

from dpcurves.arguments import Refused, make_whole
from dpcurves.noise.exponential import decay_above

from .laplace import Lattice
from .response import FEWEST_PLACES, FINE, Flip, Response, Wires, ands_below, below, chosen, plus, times, total

# Randomised response to minus one, nought or one, so that ties stay ties.
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


WIDEST = 48
FINEST = 6
LARGEST_FACTOR = 63
SPARED = Fraction(1, 200)
"""The part of the range that may be left empty before values are multiplied, to fill it better."""


class _Scale(NamedTuple):
    """Values times `factor` fill a range of ``2**places``."""

    factor: int
    places: int


@dataclass(frozen=True)
class Rounded(Response):
    """A value from `least` to `most`, rounded at random to ``2**fine`` steps, and answered about.

    Values are multiplied by a small odd number so that the largest is nearly a power of two; an even number is added
    below the places of the steps; and what it carries over rounds up, with the chance of exactly what is rounded. The
    step is answered about as by `Flip`, if there is but one, or as by `Lattice`. With one step, one bit says all: the
    variance is that of a coin, whatever was rounded.

    Formal guarantees: rounding looks at the value and at coins of its own, so the loss is that of the answer.

    Attributes:
        least: The smallest value.
        most: The largest one.
        fine: How many places the number of steps has: 0 to 6.

    Raises:
        ValueError: there is one value, or more than 2**48, or `fine` is not from 0 to 6.
    """

    least: int
    most: int
    fine: int

    def __post_init__(self) -> None:
        super().__post_init__()
        make_whole(self, least="least", most="most", fine="fine")
        if not (1 <= self.span <= 2**WIDEST and 0 <= self.fine <= FINEST):
            raise Refused("kernel", f"its values have to span from 1 to 2**{WIDEST}")

    @property
    def span(self) -> int:
        """The range of the values."""
        return self.most - self.least

    @property
    def name(self) -> str:
        return f"{self.within.name}, rounded at random" if self.dither else self.within.name

    @cached_property
    def within(self) -> Response:
        """The response that is applied to the rounded value."""
        return Flip(self.epsilon) if not self.steps else Lattice(self.epsilon, 2**self.steps)

    @property
    def steps(self) -> int:
        """The number of binary places of the number of steps: where values are fewer, as many as they have."""
        return min(self.fine, self.scale.places)

    @cached_property
    def scale(self) -> _Scale:
        """The scale that maps values onto the range."""
        tried = [_scale(self.span, factor) for factor in range(1, LARGEST_FACTOR + 1, 2)]
        good = (scale for scale in tried if self._empty(scale) <= SPARED)
        return next(good, min(tried, key=self._empty))

    def _empty(self, scale: _Scale) -> Fraction:
        return 1 - Fraction(self.span * scale.factor, 2**scale.places)

    @property
    def dither(self) -> int:
        """The number of binary places that are rounded."""
        return self.scale.places - self.steps

    @property
    def values(self) -> range:
        return range(self.least, self.most + 1)

    @property
    def answers(self) -> range:
        return self.within.answers

    @property
    def coins(self) -> tuple[int, ...]:
        return (self.dither, *self.within.coins)

    def answer(self, value: int, coins: Sequence[int]) -> int:
        dither, *others = coins
        scaled = (value - self.least) * self.scale.factor
        return self.within.answer(scaled + dither >> self.dither, others)

    def wires(self, value: Wires, coins: Wires) -> Wires:
        shifted = plus(value, -self.least % 2 ** len(value)) if self.least else value
        scaled = times(shifted[: self.span.bit_length()], self.scale.factor)[: self.scale.places + 1]
        dither, others = coins[: self.dither], coins[self.dither :]
        return self.within.wires(_rounded(scaled, dither, self.steps), others)

    @property
    def ands(self) -> int:
        """An upper bound on the AND gates of `wires` after the value was shifted to begin at 0."""
        scaled = (self.scale.factor.bit_count() - 1) * (self.span.bit_length() + FINEST)
        return self.within.ands + self.scale.places * bool(self.dither) + scaled

    def chance(self, value: int, answer: int) -> Fraction:
        low, part = self._split(value)
        above = self.within.chance(low + 1, answer) if part else Fraction(0)
        return (1 - part) * self.within.chance(low, answer) + part * above

    def _split(self, value: int) -> tuple[int, Fraction]:
        """The step below a value, and how far above it the value lies."""
        scaled = (value - self.least) * self.scale.factor
        low = scaled >> self.dither
        return low, Fraction(scaled, 2**self.dither) - low

    @property
    def offset(self) -> Fraction:
        return self.within.offset - self.gain * self.least

    @property
    def gain(self) -> Fraction:
        return self.within.gain * Fraction(self.scale.factor, 2**self.dither)

    def variance(self, value: int) -> float:
        low, part = self._split(value)
        share = float(part)
        apart = share * (1 - share) * float(self.within.gain) ** 2
        above = self.within.variance(low + 1) if part else 0.0
        return (1 - share) * self.within.variance(low) + share * above + apart


def _scale(span: int, factor: int) -> _Scale:
    return _Scale(factor, (span * factor - 1).bit_length())


def _rounded(scaled: Wires, dither: Wires, steps: int) -> Wires:
    """Round a number of steps at random: a coin is added, and its places are cut off."""
    if not dither:
        return scaled
    kept = scaled[len(dither) :]
    *_, carry = total(dither, scaled[: len(dither)])
    if steps and kept:
        return total(kept, (carry,))[: steps + 1]
    # The one place of a single step is set only where all below are not: then nothing is carried into it.
    return (kept[0] ^ carry if kept else carry,)


@lru_cache(maxsize=64)  # a pure function of public numbers
def response_for(least: int, most: int, epsilon: Fraction) -> Response:
    """The response of smallest variance, where that is largest: one bit below an epsilon of about 2, Laplace above.

    Args:
        least: The smallest value of the kernel.
        most: The largest one.
        epsilon: What one pair may lose.
    """
    if (least, most) == (-1, 1):
        return ThreeAnswers(epsilon)
    one_bit = Rounded(epsilon, least, most, 0)
    if not one_bit.dither:
        return one_bit
    return min(one_bit, Rounded(epsilon, least, most, FINEST), key=lambda way: way.most_variance)
