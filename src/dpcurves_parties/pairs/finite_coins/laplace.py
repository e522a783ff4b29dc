"""Laplace noise from finitely many coins: on a circle of whole numbers, and on a value of few steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count
from math import prod

from dpcurves.arguments import Refused, make_whole
from dpcurves.noise.exponential import decay

from .response import Response, Wire, Wires, ands_below, around, below, chosen, taken

WIDEST = 62
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
        if not (self.reach >= 1 and self.width <= WIDEST and 4 * self.reach <= 2**self.width):
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
