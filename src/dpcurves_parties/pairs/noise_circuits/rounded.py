"""Three answers, values that are rounded at random to few steps, and the choice of the noise of a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import count
from math import prod
from typing import NamedTuple

from dpcurves.arguments import Refused, make_whole
from dpcurves.noise.exponential import decay, decay_above

from .response import (
    FEWEST_PLACES,
    FINE,
    Flip,
    Response,
    Wire,
    Wires,
    ands_below,
    around,
    below,
    chosen,
    plus,
    taken,
    times,
    total,
)

# Laplace noise from finitely many coins: on a circle of whole numbers, and on a value of few steps.


WIDEST_CIRCLE = 62
FINENESS = 17
"""Each coin may be off by ``epsilon / 2**17``: that is taken off before the scale is set."""
RARE = 64
"""Once in ``2**64`` the noise is even on the whole circle, where the circle is wider than Laplace noise reaches."""
_PRECISION = 512


@dataclass(frozen=True)
class Coin:
    """A coin of so many places, which shows heads where it is less than `parts`."""

    places: int
    parts: int

    @property
    def chance(self) -> Fraction:
        """The chance of heads."""
        return Fraction(self.parts, 1 << self.places)


@dataclass(frozen=True)
class FiniteLaplace:
    """Noise x on the whole numbers modulo ``2**width``, each of about the weight ``exp(-rate * abs(x))``.

    A magnitude m of `digits` binary digits, each a coin of its own, and a sign: x is m or -1 - m, so that signs are
    NOTs and the weight is that of abs(x). Where the circle is wider than that reaches, one further coin, of chance
    2**-64, has the noise replaced by an even number of the whole circle.

    Formal guarantees: to numbers that differ by `reach` at most, the noisy ones lose at most epsilon, exactly. *Proof.*
    The odds of each digit and of the sign are off from exp(-2**i rate) and exp(-rate) by a factor of exp(tolerance) at
    most, either way, which is compared in whole numbers. So the logarithm of x's chance is a constant, less ``rate *
    abs(x)``, and off by at most the sum of the tolerances of the coins that differ. On a circle of ``2**(digits + 1)``
    numbers abs changes by 1 from each to the next, also where its ends meet, hence by `reach` at most: the loss is
    ``rate * reach + (digits + 1) * tolerance = epsilon``. On a wider circle, put u for the chance that the replacement
    has for each number. Where both numbers have noise that reaches the answer, u is added above and below, which brings
    the ratio nearer to 1. Where only one has, that noise lies less than `reach` from its end, so its chance is at most
    ``exp(-rate * (2**digits - reach) + tolerances)``, which by the choice of `digits` is at most ``epsilon * u``, and
    ``u + epsilon * u <= exp(epsilon) * u``. Noise that is cut off *without* this loses everything at its end.

    Attributes:
        epsilon: What the noisy number may lose.
        reach: By how much the number without noise may differ between neighbours.
        width: How many places the number has, with room for noise.

    Raises:
        ValueError: `reach` is below 1, or the circle holds less than four times of it, or is wider than 2**62.
    """

    epsilon: Fraction
    reach: int
    width: int

    def __post_init__(self) -> None:
        make_whole(self, reach="reach", width="width")
        if not (self.reach >= 1 and self.width <= WIDEST_CIRCLE and 4 * self.reach <= 2**self.width):
            raise Refused("reach", "a whole number of at least 1, and at most a quarter of the circle, is needed")

    @cached_property
    def digits(self) -> int:
        """The number of binary digits of a magnitude."""
        return next(digits for digits in count(1) if digits + 1 >= self.width or self._reaches_far_enough(digits))

    def _reaches_far_enough(self, digits: int) -> bool:
        farthest = self._rate(digits) * ((1 << digits) - self.reach) - (digits + 1) * self.tolerance
        return farthest > 0 and _decay(farthest)[1] * (1 << RARE + self.width) <= self.epsilon

    def _rate(self, digits: int) -> Fraction:
        return (self.epsilon - (digits + 1) * self.tolerance) / self.reach

    @property
    def tolerance(self) -> Fraction:
        """By how much the logarithm of a coin's odds may be off."""
        return self.epsilon / (1 << FINENESS)

    @property
    def rate(self) -> Fraction:
        """The decay rate of the weights: one over the scale of the noise."""
        return self._rate(self.digits)

    @property
    def wraps(self) -> bool:
        """Tell whether magnitudes and signs fill the circle."""
        return self.digits + 1 == self.width

    @cached_property
    def thrown(self) -> tuple[Coin, ...]:
        """The coins of the digits, the lowest first, and that of the sign."""
        rates = [(1 << digit) * self.rate for digit in range(self.digits)]
        return tuple(_coin(rate, self.tolerance) for rate in [*rates, self.rate])

    @property
    def coins(self) -> tuple[int, ...]:
        """The number of binary places of each coin."""
        places = tuple(coin.places for coin in self.thrown)
        return places if self.wraps else (*places, RARE, self.width)

    @property
    def ands(self) -> int:
        """The number of AND gates of `wires`."""
        thrown = sum(ands_below(coin.places, coin.parts) for coin in self.thrown)
        return thrown if self.wraps else thrown + RARE - 1 + self.width

    def noise(self, coins: Sequence[int]) -> int:
        """The noise of these coins, from ``-2**(width - 1)`` on."""
        *digits, sign = (coin < law.parts for coin, law in zip(coins, self.thrown, strict=False))
        found = sum(1 << place for place, heads in enumerate(digits) if heads)
        found = ~found if sign else found
        if not self.wraps and coins[-2] < 1:
            found = coins[-1]
        return self.signed(found)

    def signed(self, number: int) -> int:
        """A number of the circle, from ``-2**(width - 1)`` on."""
        half = 1 << self.width - 1
        return (number + half) % (2 * half) - half

    def wires(self, coins: Wires) -> tuple[Wire, ...]:
        """The `width` places of the noise, from those of all coins, one behind the other."""
        source = iter(coins)
        heads = [below(taken(source, coin.places), coin.parts) for coin in self.thrown]
        sign, lower = heads[-1], tuple(heads[-1] ^ digit for digit in heads[:-1])
        found = lower + (sign,) * (self.width - self.digits)
        if self.wraps:
            return found
        rare = below(taken(source, RARE), 1)
        return tuple(chosen(rare, even, place) for even, place in zip(source, found, strict=True))

    def chance(self, noise: int) -> Fraction:
        """The chance of a number of the circle: exact."""
        signed = self.signed(noise)
        magnitude = ~signed if signed < 0 else signed
        shown = [magnitude >> digit & 1 for digit in range(self.digits)] + [int(signed < 0)]
        chances = (coin.chance if heads else 1 - coin.chance for coin, heads in zip(self.thrown, shown, strict=True))
        drawn = prod(chances, start=Fraction(1)) if magnitude < 1 << self.digits else Fraction(0)
        return drawn if self.wraps else drawn + (Fraction(1, 1 << self.width) - drawn) / (1 << RARE)

    @cached_property
    def mean(self) -> float:
        """The mean of the noise, which is 0 but for what coins are off, where the circle's end is not counted."""
        *digits, sign = (coin.chance for coin in self.thrown)
        middle = _weighed(digits)
        return float((1 - sign) * middle - sign * (1 + middle))

    @cached_property
    def variance(self) -> float:
        """The mean square of the noise. (Even noise, once in 2**64, adds less than its rounding.)"""
        *digits, sign = (coin.chance for coin in self.thrown)
        middle = _weighed(digits)
        square = sum((chance * (1 - chance) * (1 << 2 * place) for place, chance in enumerate(digits)), middle**2)
        return float(square + sign * (1 + 2 * middle))


def _weighed(chances: Iterable[Fraction]) -> Fraction:
    return sum((chance * (1 << place) for place, chance in enumerate(chances)), Fraction(0))


def _decay(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Two numbers that ``exp(-exponent)`` lies between."""
    lower, upper = decay(exponent, _PRECISION)
    return Fraction(lower, 1 << _PRECISION), Fraction(upper, 1 << _PRECISION)


def _coin(rate: Fraction, tolerance: Fraction) -> Coin:
    """The coin of fewest places whose odds are exp(-rate) within a factor of exp(tolerance) either way: proven."""
    middle = _decay(rate)[0] / (1 + _decay(rate)[0])
    least, most = _decay(rate + tolerance)[1], _decay(max(rate - tolerance, Fraction(0)))[0]
    coins = (Coin(places, round(middle * 2**places)) for places in count(2))
    return next(coin for coin in coins if coin.parts and least <= coin.chance / (1 - coin.chance) <= most)


MOST_STEPS = 2**16
SCALES = 16
"""The circle is at least so many scales of the noise wide, each way: beyond lies a chance of exp(-16)."""


@dataclass(frozen=True)
class Lattice(Response):
    """A value from 0 to `steps`, with Laplace noise on a circle that it fills to a small part.

    Noise that passes the circle's end comes out at the other one: that happens with chance exp(-16) at most, and moves
    the mean by less than a ten-thousandth of the range.

    Formal guarantees: see `FiniteLaplace`; values differ by `steps` at most.
    """

    steps: int

    def __post_init__(self) -> None:
        super().__post_init__()
        make_whole(self, steps="steps")
        if not 1 <= self.steps <= MOST_STEPS:
            raise Refused("steps", f"from 1 to {MOST_STEPS} are answered about")

    @property
    def name(self) -> str:
        return f"Laplace noise on {self.steps} steps"

    @cached_property
    def noise(self) -> FiniteLaplace:
        """The law of the noise."""
        room = max(-int(-SCALES * self.steps / self.epsilon // 1), 2 * self.steps)
        return FiniteLaplace(self.epsilon, self.steps, (room - 1).bit_length() + 1)

    @property
    def values(self) -> range:
        return range(self.steps + 1)

    @property
    def answers(self) -> range:
        half, middle = 2 ** (self.noise.width - 1), self.steps // 2
        return range(middle - half, middle + half)

    @property
    def coins(self) -> tuple[int, ...]:
        return self.noise.coins

    def answer(self, value: int, coins: Sequence[int]) -> int:
        return self.decoded(value + self.noise.noise(coins))

    def wires(self, value: Wires, coins: Wires) -> Wires:
        return around(self.noise.wires(coins), value)

    @property
    def ands(self) -> int:
        return self.noise.ands + self.noise.width - 1

    def chance(self, value: int, answer: int) -> Fraction:
        return self.noise.chance(answer - value)

    @property
    def offset(self) -> Fraction:
        return Fraction(self.noise.mean)

    @property
    def gain(self) -> Fraction:
        return Fraction(1)

    def variance(self, value: int) -> float:
        return self.noise.variance - self.noise.mean**2


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
        tried = [_Scale(factor, (self.span * factor - 1).bit_length()) for factor in range(1, LARGEST_FACTOR + 1, 2)]
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
