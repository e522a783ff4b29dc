"""Three answers, values that are rounded at random to few steps, and the choice of the noise of a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import count
from math import prod
from typing import NamedTuple

from dpcurves.arguments import InvalidArgument, convert_to_integers
from dpcurves.noise.exponential import bound_exp_neg, bound_exp_neg_above

from .response import (
    FEWEST_PLACES,
    FINE,
    BinaryResponse,
    Response,
    Wire,
    Wires,
    add_constant,
    add_modulo,
    add_numbers,
    compare_below,
    count_comparison_ands,
    multiplex,
    multiply_constant,
    take_wires,
)

# Laplace noise from finitely many coins: on a circle of whole numbers, and on a value of few steps.


WIDEST_CIRCLE = 62
FINENESS = 17
"""Each coin may be off by ``epsilon / 2**17``: that is taken off before the scale is set."""
RARE = 64
"""Once in ``2**64`` the noise is even on the whole circle, where the circle is wider than Laplace noise reaches."""
_PRECISION = 512


@dataclass(frozen=True)
class BernoulliSampler:
    """A coin of so many places, which shows heads where it is less than `numerator`."""

    width: int
    numerator: int

    @property
    def probability(self) -> Fraction:
        """The chance of heads."""
        return Fraction(self.numerator, 1 << self.width)


@dataclass(frozen=True)
class FiniteLaplace:
    """Noise x on the whole numbers modulo ``2**width``, each of about the weight ``exp(-rate * abs(x))``.

    A magnitude m of `digits` binary digits, each a coin of its own, and a sign: x is m or -1 - m, so that signs are
    NOTs and the weight is that of abs(x). Where the circle is wider than that reaches, one further coin, of chance
    2**-64, has the noise replaced by an even number of the whole circle.

    Formal guarantees: to numbers that differ by `sensitivity` at most, the noisy ones lose at most epsilon, exactly. *Proof.*
    The odds of each digit and of the sign are off from exp(-2**i rate) and exp(-rate) by a factor of exp(tolerance) at
    most, either way, which is compared in whole numbers. So the logarithm of x's chance is a constant, less ``rate *
    abs(x)``, and off by at most the sum of the tolerances of the coins that differ. On a circle of ``2**(digits + 1)``
    numbers abs changes by 1 from each to the next, also where its ends meet, hence by `sensitivity` at most: the loss is
    ``rate * reach + (digits + 1) * tolerance = epsilon``. On a wider circle, put u for the chance that the replacement
    has for each number. Where both numbers have noise that reaches the answer, u is added above and below, which brings
    the ratio nearer to 1. Where only one has, that noise lies less than `sensitivity` from its end, so its chance is at most
    ``exp(-rate * (2**digits - reach) + tolerances)``, which by the choice of `digits` is at most ``epsilon * u``, and
    ``u + epsilon * u <= exp(epsilon) * u``. Noise that is cut off *without* this loses everything at its end.

    Attributes:
        epsilon: What the noisy number may lose.
        sensitivity: By how much the number without noise may differ between neighbours.
        width: How many places the number has, with room for noise.

    Raises:
        ValueError: `sensitivity` is below 1, or the circle holds less than four times of it, or is wider than 2**62.
    """

    epsilon: Fraction
    sensitivity: int
    width: int

    def __post_init__(self) -> None:
        convert_to_integers(self, sensitivity="sensitivity", width="width")
        if not (self.sensitivity >= 1 and self.width <= WIDEST_CIRCLE and 4 * self.sensitivity <= 2**self.width):
            raise InvalidArgument(
                "sensitivity", "a whole number of at least 1, and at most a quarter of the circle, is needed"
            )

    @cached_property
    def digits(self) -> int:
        """The number of binary digits of a magnitude."""
        return next(digits for digits in count(1) if digits + 1 >= self.width or self._has_enough_digits(digits))

    def _has_enough_digits(self, digits: int) -> bool:
        farthest = self._rate_for(digits) * ((1 << digits) - self.sensitivity) - (digits + 1) * self.tolerance
        return farthest > 0 and _bound_decay(farthest)[1] * (1 << RARE + self.width) <= self.epsilon

    def _rate_for(self, digits: int) -> Fraction:
        return (self.epsilon - (digits + 1) * self.tolerance) / self.sensitivity

    @property
    def tolerance(self) -> Fraction:
        """By how much the logarithm of a coin's odds may be off."""
        return self.epsilon / (1 << FINENESS)

    @property
    def rate(self) -> Fraction:
        """The decay rate of the weights: one over the scale of the noise."""
        return self._rate_for(self.digits)

    @property
    def is_full_circle(self) -> bool:
        """Tell whether magnitudes and signs fill the circle."""
        return self.digits + 1 == self.width

    @cached_property
    def samplers(self) -> tuple[BernoulliSampler, ...]:
        """The coins of the digits, the lowest first, and that of the sign."""
        rates = [(1 << digit) * self.rate for digit in range(self.digits)]
        return tuple(_find_sampler(rate, self.tolerance) for rate in [*rates, self.rate])

    @property
    def random_widths(self) -> tuple[int, ...]:
        """The number of binary places of each coin."""
        places = tuple(coin.width for coin in self.samplers)
        return places if self.is_full_circle else (*places, RARE, self.width)

    @property
    def and_count(self) -> int:
        """The number of AND gates of `wires`."""
        thrown = sum(count_comparison_ands(coin.width, coin.numerator) for coin in self.samplers)
        return thrown if self.is_full_circle else thrown + RARE - 1 + self.width

    def compute_noise(self, draws: Sequence[int]) -> int:
        """The noise of these coins, from ``-2**(width - 1)`` on."""
        *digits, sign = (coin < law.numerator for coin, law in zip(draws, self.samplers, strict=False))
        found = sum(1 << place for place, heads in enumerate(digits) if heads)
        found = ~found if sign else found
        if not self.is_full_circle and draws[-2] < 1:
            found = draws[-1]
        return self.to_signed(found)

    def to_signed(self, number: int) -> int:
        """A number of the circle, from ``-2**(width - 1)`` on."""
        half = 1 << self.width - 1
        return (number + half) % (2 * half) - half

    def wires(self, draws: Wires) -> tuple[Wire, ...]:
        """The `width` places of the noise, from those of all coins, one behind the other."""
        source = iter(draws)
        heads = [compare_below(take_wires(source, coin.width), coin.numerator) for coin in self.samplers]
        sign, lower = heads[-1], tuple(heads[-1] ^ digit for digit in heads[:-1])
        found = lower + (sign,) * (self.width - self.digits)
        if self.is_full_circle:
            return found
        rare = compare_below(take_wires(source, RARE), 1)
        return tuple(multiplex(rare, even, place) for even, place in zip(source, found, strict=True))

    def probability(self, noise: int) -> Fraction:
        """The chance of a number of the circle: exact."""
        signed = self.to_signed(noise)
        magnitude = ~signed if signed < 0 else signed
        shown = [magnitude >> digit & 1 for digit in range(self.digits)] + [int(signed < 0)]
        chances = (
            coin.probability if heads else 1 - coin.probability
            for coin, heads in zip(self.samplers, shown, strict=True)
        )
        drawn = prod(chances, start=Fraction(1)) if magnitude < 1 << self.digits else Fraction(0)
        return drawn if self.is_full_circle else drawn + (Fraction(1, 1 << self.width) - drawn) / (1 << RARE)

    @cached_property
    def mean(self) -> float:
        """The mean of the noise, which is 0 but for what coins are off, where the circle's end is not counted."""
        *digits, sign = (coin.probability for coin in self.samplers)
        middle = _weighted_sum(digits)
        return float((1 - sign) * middle - sign * (1 + middle))

    @cached_property
    def variance(self) -> float:
        """The mean square of the noise. (Even noise, once in 2**64, adds less than its rounding.)"""
        *digits, sign = (coin.probability for coin in self.samplers)
        middle = _weighted_sum(digits)
        square = sum((chance * (1 - chance) * (1 << 2 * place) for place, chance in enumerate(digits)), middle**2)
        return float(square + sign * (1 + 2 * middle))


def _weighted_sum(chances: Iterable[Fraction]) -> Fraction:
    return sum((chance * (1 << place) for place, chance in enumerate(chances)), Fraction(0))


def _bound_decay(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Two numbers that ``exp(-exponent)`` lies between."""
    lower, upper = bound_exp_neg(exponent, _PRECISION)
    return Fraction(lower, 1 << _PRECISION), Fraction(upper, 1 << _PRECISION)


def _find_sampler(rate: Fraction, tolerance: Fraction) -> BernoulliSampler:
    """The coin of fewest places whose odds are exp(-rate) within a factor of exp(tolerance) either way: proven."""
    middle = _bound_decay(rate)[0] / (1 + _bound_decay(rate)[0])
    least, most = _bound_decay(rate + tolerance)[1], _bound_decay(max(rate - tolerance, Fraction(0)))[0]
    coins = (BernoulliSampler(places, round(middle * 2**places)) for places in count(2))
    return next(coin for coin in coins if coin.numerator and least <= coin.probability / (1 - coin.probability) <= most)


MOST_STEPS = 2**16
SCALES = 16
"""The circle is at least so many scales of the noise wide, each way: beyond lies a chance of exp(-16)."""


@dataclass(frozen=True)
class LaplaceResponse(Response):
    """A value from 0 to `steps`, with Laplace noise on a circle that it fills to a small part.

    Noise that passes the circle's end comes out at the other one: that happens with chance exp(-16) at most, and moves
    the mean by less than a ten-thousandth of the range.

    Formal guarantees: see `FiniteLaplace`; values differ by `steps` at most.
    """

    steps: int

    def __post_init__(self) -> None:
        super().__post_init__()
        convert_to_integers(self, steps="steps")
        if not 1 <= self.steps <= MOST_STEPS:
            raise InvalidArgument("steps", f"from 1 to {MOST_STEPS} are answered about")

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
    def random_widths(self) -> tuple[int, ...]:
        return self.noise.random_widths

    def answer(self, value: int, draws: Sequence[int]) -> int:
        return self.decode_answers(value + self.noise.compute_noise(draws))

    def wires(self, value: Wires, draws: Wires) -> Wires:
        return add_modulo(self.noise.wires(draws), value)

    @property
    def and_count(self) -> int:
        return self.noise.and_count + self.noise.width - 1

    def probability(self, value: int, answer: int) -> Fraction:
        return self.noise.probability(answer - value)

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


class _Numerators(NamedTuple):
    """Chances in parts of all: that a tie is kept, that an order is told as a tie, and that it is turned round."""

    tie_kept: int
    order_hidden: int
    order_reversed: int


@dataclass(frozen=True)
class TernaryResponse(Response):
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
    def random_width(self) -> int:
        """The number of binary places of the first coin."""
        return max(FEWEST_PLACES, FINE + (self.epsilon.denominator // self.epsilon.numerator).bit_length())

    @property
    def random_widths(self) -> tuple[int, ...]:
        return (self.random_width, 1)

    @cached_property
    def numerators(self) -> _Numerators:
        """The chances, in parts of ``2**places``."""
        rest, whole = bound_exp_neg_above(self.epsilon), 1 << self.random_width
        most = int(whole / (1 + 2 * rest))
        tried = (_compute_numerators(most * part // TRIED, whole, rest) for part in range(1, TRIED + 1))
        return min((parts for parts in tried if _is_private(parts, whole, rest)), key=self._larger_variance)

    def _larger_variance(self, parts: _Numerators) -> float:
        """The larger of both variances, debiased."""
        whole = 1 << self.random_width
        gain = 1 - (parts.order_hidden + 2 * parts.order_reversed) / whole
        if gain <= 0:
            return float("inf")
        return max(1 - parts.tie_kept / whole, 1 - parts.order_hidden / whole - gain**2) / gain**2

    def answer(self, value: int, draws: Sequence[int]) -> int:
        coin, side = draws
        kept, hidden, turned = self.numerators
        if coin < (hidden if value else kept):
            return 0
        if not value:
            return -1 if side else 1
        return -value if coin < hidden + turned else value

    def wires(self, value: Wires, draws: Wires) -> Wires:
        order, less = value
        coin, side = draws[:-1], draws[-1]
        kept, hidden, turned = self.numerators
        told = ~multiplex(order, compare_below(coin, hidden), compare_below(coin, kept))
        return told, told & multiplex(order, less ^ compare_below(coin, hidden + turned), side)

    @property
    def and_count(self) -> int:
        kept, hidden, turned = self.numerators
        return 3 + sum(count_comparison_ands(self.random_width, parts) for parts in (kept, hidden, hidden + turned))

    def probability(self, value: int, answer: int) -> Fraction:
        kept, hidden, turned = (Fraction(parts, (1 << self.random_width)) for parts in self.numerators)
        if not value:
            return kept if not answer else (1 - kept) / 2
        return {0: hidden, -value: turned, value: 1 - hidden - turned}[answer]

    @property
    def offset(self) -> Fraction:
        return Fraction(0)

    @property
    def gain(self) -> Fraction:
        return self.probability(1, 1) - self.probability(1, -1)

    def variance(self, value: int) -> float:
        return float(1 - self.probability(value, 0)) - float(self.gain) ** 2 * value**2


def _compute_numerators(kept: int, whole: int, rest: Fraction) -> _Numerators:
    hidden = -int(-kept * rest // 1)
    return _Numerators(kept, hidden, -int(-(whole - hidden) * rest / (1 + rest) // 1))


def _is_private(parts: _Numerators, whole: int, rest: Fraction) -> bool:
    """Tell whether no answer is more than ``1 / rest`` times as likely about one value as about another."""
    ties = (Fraction(parts.tie_kept), Fraction(parts.order_hidden))
    orders = (
        Fraction(whole - parts.order_hidden - parts.order_reversed),
        Fraction(parts.order_reversed),
        Fraction(whole - parts.tie_kept, 2),
    )
    return all(min(told) > 0 and max(told) * rest <= min(told) for told in (ties, orders))


WIDEST = 48
FINEST = 6
LARGEST_FACTOR = 63
SPARED = Fraction(1, 200)
"""The part of the range that may be left empty before values are multiplied, to fill it better."""


class _Scale(NamedTuple):
    """Values times `factor` fill a range of ``2**places``."""

    factor: int
    width: int


@dataclass(frozen=True)
class RoundedResponse(Response):
    """A value from `least` to `most`, rounded at random to ``2**fine`` steps, and answered about.

    Values are multiplied by a small odd number so that the largest is nearly a power of two; an even number is added
    below the places of the steps; and what it carries over rounds up, with the chance of exactly what is rounded. The
    step is answered about as by `BinaryResponse`, if there is but one, or as by `LaplaceResponse`. With one step, one bit says all: the
    variance is that of a coin, whatever was rounded.

    Formal guarantees: rounding looks at the value and at coins of its own, so the loss is that of the answer.

    Attributes:
        least: The smallest value.
        most: The largest one.
        max_step_bits: How many places the number of steps has: 0 to 6.

    Raises:
        ValueError: there is one value, or more than 2**48, or `max_step_bits` is not from 0 to 6.
    """

    least: int
    most: int
    max_step_bits: int

    def __post_init__(self) -> None:
        super().__post_init__()
        convert_to_integers(self, least="least", most="most", max_step_bits="max_step_bits")
        if not (1 <= self.span <= 2**WIDEST and 0 <= self.max_step_bits <= FINEST):
            raise InvalidArgument("kernel", f"its values have to span from 1 to 2**{WIDEST}")

    @property
    def span(self) -> int:
        """The range of the values."""
        return self.most - self.least

    @property
    def name(self) -> str:
        return f"{self.inner_response.name}, rounded at random" if self.dither_bits else self.inner_response.name

    @cached_property
    def inner_response(self) -> Response:
        """The response that is applied to the rounded value."""
        return BinaryResponse(self.epsilon) if not self.step_bits else LaplaceResponse(self.epsilon, 2**self.step_bits)

    @property
    def step_bits(self) -> int:
        """The number of binary places of the number of steps: where values are fewer, as many as they have."""
        return min(self.max_step_bits, self.scale.width)

    @cached_property
    def scale(self) -> _Scale:
        """The scale that maps values onto the range."""
        tried = [_Scale(factor, (self.span * factor - 1).bit_length()) for factor in range(1, LARGEST_FACTOR + 1, 2)]
        good = (scale for scale in tried if self._unused_fraction(scale) <= SPARED)
        return next(good, min(tried, key=self._unused_fraction))

    def _unused_fraction(self, scale: _Scale) -> Fraction:
        return 1 - Fraction(self.span * scale.factor, 2**scale.width)

    @property
    def dither_bits(self) -> int:
        """The number of binary places that are rounded."""
        return self.scale.width - self.step_bits

    @property
    def values(self) -> range:
        return range(self.least, self.most + 1)

    @property
    def answers(self) -> range:
        return self.inner_response.answers

    @property
    def random_widths(self) -> tuple[int, ...]:
        return (self.dither_bits, *self.inner_response.random_widths)

    def answer(self, value: int, draws: Sequence[int]) -> int:
        dither, *others = draws
        scaled = (value - self.least) * self.scale.factor
        return self.inner_response.answer(scaled + dither >> self.dither_bits, others)

    def wires(self, value: Wires, draws: Wires) -> Wires:
        shifted = add_constant(value, -self.least % 2 ** len(value)) if self.least else value
        scaled = multiply_constant(shifted[: self.span.bit_length()], self.scale.factor)[: self.scale.width + 1]
        dither, others = draws[: self.dither_bits], draws[self.dither_bits :]
        return self.inner_response.wires(_round_randomly(scaled, dither, self.step_bits), others)

    @property
    def and_count(self) -> int:
        """An upper bound on the AND gates of `wires` after the value was shifted to begin at 0."""
        scaled = (self.scale.factor.bit_count() - 1) * (self.span.bit_length() + FINEST)
        return self.inner_response.and_count + self.scale.width * bool(self.dither_bits) + scaled

    def probability(self, value: int, answer: int) -> Fraction:
        low, part = self._split_value(value)
        above = self.inner_response.probability(low + 1, answer) if part else Fraction(0)
        return (1 - part) * self.inner_response.probability(low, answer) + part * above

    def _split_value(self, value: int) -> tuple[int, Fraction]:
        """The step below a value, and how far above it the value lies."""
        scaled = (value - self.least) * self.scale.factor
        low = scaled >> self.dither_bits
        return low, Fraction(scaled, 2**self.dither_bits) - low

    @property
    def offset(self) -> Fraction:
        return self.inner_response.offset - self.gain * self.least

    @property
    def gain(self) -> Fraction:
        return self.inner_response.gain * Fraction(self.scale.factor, 2**self.dither_bits)

    def variance(self, value: int) -> float:
        low, part = self._split_value(value)
        share = float(part)
        apart = share * (1 - share) * float(self.inner_response.gain) ** 2
        above = self.inner_response.variance(low + 1) if part else 0.0
        return (1 - share) * self.inner_response.variance(low) + share * above + apart


def _round_randomly(scaled: Wires, dither: Wires, steps: int) -> Wires:
    """Round a number of steps at random: a coin is added, and its places are cut off."""
    if not dither:
        return scaled
    kept = scaled[len(dither) :]
    *_, carry = add_numbers(dither, scaled[: len(dither)])
    if steps and kept:
        return add_numbers(kept, (carry,))[: steps + 1]
    # The one place of a single step is set only where all below are not: then nothing is carried into it.
    return (kept[0] ^ carry if kept else carry,)


@lru_cache(maxsize=64)  # a pure function of public numbers
def choose_response(least: int, most: int, epsilon: Fraction) -> Response:
    """The response of smallest variance, where that is largest: one bit below an epsilon of about 2, Laplace above.

    Args:
        least: The smallest value of the kernel.
        most: The largest one.
        epsilon: What one pair may lose.
    """
    if (least, most) == (-1, 1):
        return TernaryResponse(epsilon)
    one_bit = RoundedResponse(epsilon, least, most, 0)
    if not one_bit.dither_bits:
        return one_bit
    return min(one_bit, RoundedResponse(epsilon, least, most, FINEST), key=lambda way: way.max_variance)
