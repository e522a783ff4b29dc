"""Noise and randomised responses from finitely many random bits, as circuits for two parties.

    FiniteLaplace       discrete Laplace noise modulo a power of two
    LaplaceResponse     a value plus such noise
    TernaryResponse     randomised response for an order or a tie
    RoundedResponse     rounds a value at random to few steps, then randomises the step
    choose_response     the response with the least worst-case variance, from public facts

Formal guarantees: pure epsilon without a delta. All probabilities are dyadic, so they are exact; each class has its
proof.
"""

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
    EXTRA_RANDOM_BITS,
    FEWEST_RANDOM_BITS,
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

# Laplace noise from finitely many random bits: on integers modulo a power of two, and on a value of few steps.


FALLBACK_BITS = 64
"""Random bits that decide whether uniform noise replaces an answer's noise, with probability 2**-64. It covers values
that Laplace noise of few digits cannot reach, so no answer reveals a value."""


@dataclass(frozen=True)
class BernoulliSampler:
    """A Bernoulli sampler: True if a uniform integer of `width` bits is below `numerator`."""

    width: int
    numerator: int

    @property
    def probability(self) -> Fraction:
        """Probability that the sampler gives True: `numerator` over 2 to the power of `width`."""
        return Fraction(self.numerator, 1 << self.width)


@dataclass(frozen=True)
class FiniteLaplace:
    """Noise x on the integers modulo ``2**width``, with weights of about ``exp(-rate * abs(x))``.

    The noise has a magnitude m of `digits` binary digits, each from an independent Bernoulli sampler, and a sign: x is
    m or -1 - m, so that a sign is a NOT and the weight is that of abs(x). If the modulus is wider than this range,
    another sampler of probability 2**-64 replaces the noise by a uniform integer.

    Formal guarantees: for numbers that differ by at most `sensitivity`, the noisy numbers lose at most epsilon,
    exactly. *Proof.* The odds of each digit and of the sign differ from exp(-2**i rate) and exp(-rate) by a factor of
    at most exp(tolerance) either way, which is verified in integers. So the logarithm of x's probability is a constant
    minus ``rate * abs(x)``, with an error of at most the sum of the tolerances of the samplers that differ. On a circle
    of ``2**(digits + 1)`` numbers abs changes by 1 from each number to the next, also across the ends, hence by at most
    `sensitivity`: the loss is ``rate * sensitivity + (digits + 1) * tolerance = epsilon``. On a wider circle, let u be
    the probability that the replacement gives to each number. If both numbers have noise that reaches the answer, u is
    added to numerator and denominator, which brings the ratio nearer to 1. If only one has, this noise is less than
    `sensitivity` from the end of its range, so its probability is at most ``exp(-rate * (2**digits - sensitivity) +
    tolerances)``, which by the choice of `digits` is at most ``epsilon * u``, and ``u + epsilon * u <= exp(epsilon) *
    u``. Truncated noise *without* replacement loses everything at the end of its range.

    Attributes:
        epsilon: Privacy loss of the noisy number.
        sensitivity: Largest difference of the exact number between neighbours.
        width: Bits of the number, with room for noise.

    Raises:
        ValueError: `sensitivity` is below 1, the modulus is below four times `sensitivity`, or above 2**62.
    """

    epsilon: Fraction
    sensitivity: int
    width: int

    def __post_init__(self) -> None:
        convert_to_integers(self, sensitivity="sensitivity", width="width")
        # 62: bits of the modulus at most, so that 64-bit integers hold sums of a number and its noise
        if not (self.sensitivity >= 1 and self.width <= 62 and 4 * self.sensitivity <= 2**self.width):
            raise InvalidArgument(
                "sensitivity", "must be at least 1, and at most a quarter of the modulus; use fewer bits for values"
            )

    @cached_property
    def digits(self) -> int:
        """Number of binary digits with which the circuit samples the magnitude of the noise."""
        return next(digits for digits in count(1) if digits + 1 >= self.width or self._has_enough_digits(digits))

    def _has_enough_digits(self, digits: int) -> bool:
        """Return True if noise of this many binary digits leaves its range rarely enough for pure epsilon.

        A noise is replaced by a uniform number with probability 2**-64, which hides the ends of the range (see the
        proof).

        Args:
            digits: Number of binary digits of the noise's magnitude.
        """
        exponent = self._rate_for(digits) * ((1 << digits) - self.sensitivity) - (digits + 1) * self.tolerance
        return exponent > 0 and _bound_decay(exponent)[1] * (1 << FALLBACK_BITS + self.width) <= self.epsilon

    def _rate_for(self, digits: int) -> Fraction:
        """Return the decay rate of the noise that makes the circuit epsilon-private with this many binary digits.

        The tolerances of the digits' samplers and of the sign are subtracted from epsilon first.

        Args:
            digits: Number of binary digits of the noise's magnitude.
        """
        return (self.epsilon - (digits + 1) * self.tolerance) / self.sensitivity

    @property
    def tolerance(self) -> Fraction:
        """Error bound of the log odds of each Bernoulli sampler in the noise circuit; it is subtracted from epsilon
        beforehand.
        """
        # 17: the log odds of each Bernoulli sampler may be off by ``epsilon / 2**17``, which is subtracted from epsilon
        # first
        return self.epsilon / (1 << 17)

    @property
    def rate(self) -> Fraction:
        """Decay rate of the weights: the reciprocal of the noise scale."""
        return self._rate_for(self.digits)

    @property
    def is_full_circle(self) -> bool:
        """True if the sampled magnitudes and signs cover all integers modulo ``2**width``, so that no fallback is
        needed.
        """
        return self.digits + 1 == self.width

    @cached_property
    def samplers(self) -> tuple[BernoulliSampler, ...]:
        """The Bernoulli samplers of the magnitude's binary digits, lowest first, then the sampler of the sign."""
        rates = [(1 << digit) * self.rate for digit in range(self.digits)]
        return tuple(_find_sampler(rate, self.tolerance) for rate in [*rates, self.rate])

    @property
    def random_widths(self) -> tuple[int, ...]:
        """Widths, in bits, of the uniform random integers that one noise takes.

        There is one for each sampler, in order. Unless `is_full_circle`, another decides whether the noise is replaced,
        and the last is its replacement.
        """
        widths = tuple(sampler.width for sampler in self.samplers)
        return widths if self.is_full_circle else (*widths, FALLBACK_BITS, self.width)

    @property
    def and_count(self) -> int:
        """Number of AND gates of the noise circuit that `wires` builds; the cost of garbling grows with this number."""
        sampler_ands = sum(count_comparison_ands(sampler.width, sampler.numerator) for sampler in self.samplers)
        return sampler_ands if self.is_full_circle else sampler_ands + FALLBACK_BITS - 1 + self.width

    def compute_noise(self, draws: Sequence[int]) -> int:
        """Return the noise for these uniform random integers of `random_widths`, a signed integer of `width` bits.

        Args:
            draws: Uniform random integers, in the order of `random_widths`.
        """
        *digits, sign = (draw < sampler.numerator for draw, sampler in zip(draws, self.samplers, strict=False))
        noise = sum(1 << position for position, is_set in enumerate(digits) if is_set)
        noise = ~noise if sign else noise
        if not self.is_full_circle and draws[-2] < 1:
            noise = draws[-1]
        return self.to_signed(noise)

    def to_signed(self, number: int) -> int:
        """Return the number as a signed integer of `width` bits, congruent modulo ``2**width``."""
        half = 1 << self.width - 1
        return (number + half) % (2 * half) - half

    def wires(self, draws: Wires) -> tuple[Wire, ...]:
        """Return the wires of a noise value, computed inside a circuit from random bits that neither server knows.

        Args:
            draws: Wires of all uniform random integers, one after another, lowest bit first.

        Returns:
            `width` wires of the noise in two's complement, lowest bit first.
        """
        source = iter(draws)
        digits = [compare_below(take_wires(source, sampler.width), sampler.numerator) for sampler in self.samplers]
        sign = digits[-1]
        lower_bits = tuple(digits[-1] ^ digit for digit in digits[:-1])
        noise_bits = lower_bits + (sign,) * (self.width - self.digits)
        if self.is_full_circle:
            return noise_bits
        is_replaced = compare_below(take_wires(source, FALLBACK_BITS), 1)
        return tuple(
            multiplex(is_replaced, uniform_bit, noise_bit)
            for uniform_bit, noise_bit in zip(source, noise_bits, strict=True)
        )

    def probability(self, noise: int) -> Fraction:
        """Return the exact probability of a noise, a dyadic fraction.

        Args:
            noise: The noise; numbers congruent modulo ``2**width`` are the same.
        """
        signed = self.to_signed(noise)
        magnitude = ~signed if signed < 0 else signed
        bits = [magnitude >> digit & 1 for digit in range(self.digits)] + [int(signed < 0)]
        probabilities = (
            sampler.probability if is_set else 1 - sampler.probability
            for sampler, is_set in zip(self.samplers, bits, strict=True)
        )
        unreplaced = prod(probabilities, start=Fraction(1)) if magnitude < 1 << self.digits else Fraction(0)
        if self.is_full_circle:
            return unreplaced
        return unreplaced + (Fraction(1, 1 << self.width) - unreplaced) / (1 << FALLBACK_BITS)

    @cached_property
    def mean(self) -> float:
        """Mean of the noise: 0 up to the errors of the samplers and the asymmetric range."""
        *digits, sign = (sampler.probability for sampler in self.samplers)
        mean_magnitude = _weighted_sum(digits)
        return float((1 - sign) * mean_magnitude - sign * (1 + mean_magnitude))

    @cached_property
    def variance(self) -> float:
        """Mean square of the noise.

        (Replacement by uniform noise, once in 2**64, adds less than its rounding error.)
        """
        *digits, sign = (sampler.probability for sampler in self.samplers)
        mean_magnitude = _weighted_sum(digits)
        square = sum(
            (probability * (1 - probability) * (1 << 2 * position) for position, probability in enumerate(digits)),
            mean_magnitude**2,
        )
        return float(square + sign * (1 + 2 * mean_magnitude))


def _weighted_sum(probabilities: Iterable[Fraction]) -> Fraction:
    """Return the expected value of independent binary digits, lowest first, that are 1 with these probabilities."""
    return sum((probability * (1 << position) for position, probability in enumerate(probabilities)), Fraction(0))


def _bound_decay(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Return rational lower and upper bounds of ``exp(-exponent)``, so that probabilities can be rounded safely.

    Args:
        exponent: Nonnegative number.

    Returns:
        Lower bound, then upper bound; they differ by a small multiple of ``2**-512``.
    """
    precision = 512  # fractional bits of the bounds on exp, far below the smallest tolerance
    lower, upper = bound_exp_neg(exponent, precision)
    return Fraction(lower, 1 << precision), Fraction(upper, 1 << precision)


def _find_sampler(rate: Fraction, tolerance: Fraction) -> BernoulliSampler:
    """Return the narrowest sampler whose odds are exp(-rate) within a factor of exp(tolerance) either way, verified."""
    target = _bound_decay(rate)[0] / (1 + _bound_decay(rate)[0])
    lower = _bound_decay(rate + tolerance)[1]
    upper = _bound_decay(max(rate - tolerance, Fraction(0)))[0]
    candidates = (BernoulliSampler(width, round(target * 2**width)) for width in count(2))
    return next(
        sampler
        for sampler in candidates
        if sampler.numerator and lower <= sampler.probability / (1 - sampler.probability) <= upper
    )


MOST_STEPS = 2**16
"""Steps of a value that gets Laplace noise in a circuit, at most; more are refused."""


@dataclass(frozen=True)
class LaplaceResponse(Response):
    """A value from 0 to `steps`, with Laplace noise modulo a power of two that is much larger.

    Noise wraps around with probability of at most exp(-16), which moves the mean by less than a ten-thousandth of the
    range.

    Formal guarantees: see `FiniteLaplace`; values differ by at most `steps`.
    """

    steps: int

    def __post_init__(self) -> None:
        super().__post_init__()
        convert_to_integers(self, steps="steps")
        if not 1 <= self.steps <= MOST_STEPS:
            raise InvalidArgument("steps", f"must be from 1 to {MOST_STEPS}")

    @property
    def name(self) -> str:
        """Name of the response in privacy statements: Laplace noise with its number of steps."""
        return f"Laplace noise on {self.steps} steps"

    @cached_property
    def noise(self) -> FiniteLaplace:
        """Distribution of the discrete Laplace noise, bounded to a finite range, that the circuit adds to a value."""
        # 16: noise scales from a value to the wrap-around: noise wraps with probability exp(-16)
        room = max(-int(-16 * self.steps / self.epsilon // 1), 2 * self.steps)
        return FiniteLaplace(self.epsilon, self.steps, (room - 1).bit_length() + 1)

    @property
    def values(self) -> range:
        """Possible exact values: 0 to `steps`."""
        return range(self.steps + 1)

    @property
    def answers(self) -> range:
        """All integers modulo ``2**noise.width``, represented around the middle of the values."""
        half = 2 ** (self.noise.width - 1)
        middle = self.steps // 2
        return range(middle - half, middle + half)

    @property
    def random_widths(self) -> tuple[int, ...]:
        """Bits of each uniform random integer that the noise of one answer consumes, in order."""
        return self.noise.random_widths

    def answer(self, value: int, draws: Sequence[int]) -> int:
        """Return the value plus the noise, wrapped around into `answers`.

        Args:
            value: Exact value, from 0 to `steps`.
            draws: Uniform random integers, of the widths `random_widths`.
        """
        return self.decode_answers(value + self.noise.compute_noise(draws))

    def wires(self, value: Wires, draws: Wires) -> Wires:
        """Return the wires of the value plus the noise, as many as those of the noise, modulo a power of two.

        Args:
            value: Wires of the exact value, lowest bit first.
            draws: Wires of all random integers, concatenated.
        """
        return add_modulo(self.noise.wires(draws), value)

    @property
    def and_count(self) -> int:
        """Number of AND gates of the noise and of one addition."""
        return self.noise.and_count + self.noise.width - 1

    def probability(self, value: int, answer: int) -> Fraction:
        """Return the probability of the noise that leads from the value to the answer.

        Args:
            value: Exact value of a pair, one of `values`.
            answer: Possible released answer, one of `answers`.
        """
        return self.noise.probability(answer - value)

    @property
    def offset(self) -> Fraction:
        """Mean of the noise, which debiasing subtracts; wrap-around is neglected."""
        return Fraction(self.noise.mean)

    @property
    def gain(self) -> Fraction:
        """Increase of the mean answer if the value grows by 1: it is 1, because the noise does not depend on the
        value.
        """
        return Fraction(1)

    def variance(self, value: int) -> float:
        """Return the variance of the noise, which is equal for all values; wrap-around is neglected.

        Args:
            value: Exact value; without effect.
        """
        return self.noise.variance - self.noise.mean**2


# Randomised response to -1, 0 or 1, which treats ties separately.


class _Numerators(NamedTuple):
    """Numerators of the probabilities that a tie is kept, an order is reported as a tie, and an order is reversed."""

    tie_kept: int
    order_hidden: int
    order_reversed: int


@dataclass(frozen=True)
class TernaryResponse(Response):
    """An order, 1 or -1, may be reported as a tie or reversed; a tie may be reported as either order, equally likely.

    The probability that a tie is kept is free, between fair coin tosses for either order, which is best for orders, and
    three equally likely wrong answers, which is best for ties. It minimises the larger of both variances: 4.2 at
    epsilon 1, compared with 4.9 for three equally likely answers, and 4.7 for turning ties into orders first.

    Formal guarantees: a tie is reported as a tie with probability A and an order with C, ``A <= e C``; an order is
    reported correctly with ``1 - C - D``, reversed with D, and a tie is reported as that order with ``(1 - A) / 2``:
    the largest of these three over the smallest is at most ``e = exp(epsilon)``. C and D are rounded up, and everything
    is verified in integers.
    """

    @property
    def name(self) -> str:
        """Name of the response in privacy statements: one of three answers."""
        return "one of three answers"

    @property
    def values(self) -> range:
        """The values -1, 0 and 1: an order, a tie, or the opposite order."""
        return range(-1, 2)

    @property
    def answers(self) -> range:
        """Possible answers: -1, 0 and 1 (two orders, and a tie)."""
        return range(-1, 2)

    @cached_property
    def random_width(self) -> int:
        """Bits of the first random integer, which decides between the value, a tie and the opposite order."""
        return max(
            FEWEST_RANDOM_BITS, EXTRA_RANDOM_BITS + (self.epsilon.denominator // self.epsilon.numerator).bit_length()
        )

    @property
    def random_widths(self) -> tuple[int, ...]:
        """Bits of the two random integers: the integer that decides the answer, and one bit that turns a tie into an
        order.
        """
        return (self.random_width, 1)

    @cached_property
    def numerators(self) -> _Numerators:
        """Numerators of the probabilities of the answers, over the denominator ``2**random_width``."""
        decay = bound_exp_neg_above(self.epsilon)
        denominator = 1 << self.random_width
        max_kept = int(denominator / (1 + 2 * decay))
        # evenly spaced probabilities of a kept tie, among which the one with the least variance is chosen
        tie_probabilities = 64
        candidates = (
            _compute_numerators(max_kept * step // tie_probabilities, denominator, decay)
            for step in range(1, tie_probabilities + 1)
        )
        return min((parts for parts in candidates if _is_private(parts, denominator, decay)), key=self._larger_variance)

    def _larger_variance(self, parts: _Numerators) -> float:
        """Return the larger of the variances of a debiased answer about a tie and about an order; infinity without
        information.

        Args:
            parts: Numerators of the response's probabilities, over ``2**random_width``.
        """
        denominator = 1 << self.random_width
        gain = 1 - (parts.order_hidden + 2 * parts.order_reversed) / denominator
        if gain <= 0:
            return float("inf")
        return max(1 - parts.tie_kept / denominator, 1 - parts.order_hidden / denominator - gain**2) / gain**2

    def answer(self, value: int, draws: Sequence[int]) -> int:
        """Return the randomised answer: the value, a tie, or an order.

        Args:
            value: -1, 0 (a tie) or 1.
            draws: A uniform integer, which is compared with the numerators; and a bit, which chooses the order for a
                tie.
        """
        draw, side = draws
        kept, hidden, reversed_ = self.numerators
        if draw < (hidden if value else kept):
            return 0
        if not value:
            return -1 if side else 1
        return -value if draw < hidden + reversed_ else value

    def wires(self, value: Wires, draws: Wires) -> Wires:
        """Return two wires of the answer: whether it is an order, and whether it is negative.

        Args:
            value: Two wires: whether the value is an order, and whether it is negative.
            draws: Wires of random bits: a uniform number, then one bit that chooses a side.
        """
        order, is_negative = value
        draw, side = draws[:-1], draws[-1]
        kept, hidden, reversed_ = self.numerators
        is_order = ~multiplex(order, compare_below(draw, hidden), compare_below(draw, kept))
        return is_order, is_order & multiplex(order, is_negative ^ compare_below(draw, hidden + reversed_), side)

    @property
    def and_count(self) -> int:
        """Number of AND gates: three comparisons and three selections."""
        kept, hidden, reversed_ = self.numerators
        return 3 + sum(count_comparison_ands(self.random_width, parts) for parts in (kept, hidden, hidden + reversed_))

    def probability(self, value: int, answer: int) -> Fraction:
        """Return the exact probability of an answer about a value.

        Args:
            value: -1, 0 or 1.
            answer: -1, 0 or 1. A tie is reported as either order with equal probability.
        """
        kept, hidden, reversed_ = (Fraction(parts, (1 << self.random_width)) for parts in self.numerators)
        if not value:
            return kept if not answer else (1 - kept) / 2
        return {0: hidden, -value: reversed_, value: 1 - hidden - reversed_}[answer]

    @property
    def offset(self) -> Fraction:
        """Zero: a tie is reported as either order with equal probability."""
        return Fraction(0)

    @property
    def gain(self) -> Fraction:
        """The probability that an order is reported correctly minus the probability that it is reversed."""
        return self.probability(1, 1) - self.probability(1, -1)

    def variance(self, value: int) -> float:
        """Return the probability of an order as answer, which is the mean square, minus the square of the mean.

        Args:
            value: Exact order of a pair: 1, 0 (tie) or -1.

        Returns:
            Variance before debiasing, in squared units of the answer.
        """
        return float(1 - self.probability(value, 0)) - float(self.gain) ** 2 * value**2


def _compute_numerators(kept: int, denominator: int, decay: Fraction) -> _Numerators:
    """Return the numerators of a ternary response's probabilities, over a common denominator.

    Given the probability that a tie is answered as a tie, the probabilities that an order is answered as a tie (hidden)
    and as the opposite order (reversed) are the smallest that the loss allows, rounded up.

    Args:
        kept: Numerator of the probability that a tie is answered as a tie.
        denominator: Denominator of all probabilities.
        decay: ``exp(-epsilon)``, or slightly more.
    """
    hidden = -int(-kept * decay // 1)
    return _Numerators(kept, hidden, -int(-(denominator - hidden) * decay / (1 + decay) // 1))


def _is_private(parts: _Numerators, denominator: int, decay: Fraction) -> bool:
    """Return True if no answer is more than ``1 / decay`` times as likely about one value as about another.

    Args:
        parts: Numerators of the probabilities.
        denominator: Common denominator of the probabilities.
        decay: ``exp(-epsilon)`` or a bound above it.
    """
    ties = (Fraction(parts.tie_kept), Fraction(parts.order_hidden))
    orders = (
        Fraction(denominator - parts.order_hidden - parts.order_reversed),
        Fraction(parts.order_reversed),
        Fraction(denominator - parts.tie_kept, 2),
    )
    return all(min(weights) > 0 and max(weights) * decay <= min(weights) for weights in (ties, orders))


MOST_STEP_BITS = 6
"""Binary digits, at most, of the number of steps to which a value is rounded before noise: 64 steps. More would lose
less to rounding, in a larger circuit."""


class _Scale(NamedTuple):
    """Values times `factor` fill a range of ``2**width``."""

    factor: int
    width: int


@dataclass(frozen=True)
class RoundedResponse(Response):
    """A value from `minimum` to `maximum`, rounded at random to ``2**max_step_bits`` steps, then answered.

    Values are multiplied by a small odd factor so that the largest is nearly a power of two; a uniform integer is added
    below the bits of the steps, and its carry rounds up with exactly the probability of the remainder. The step is
    answered by `BinaryResponse` if there is only one step, else by `LaplaceResponse`. With one step, one bit suffices:
    the variance is that of a Bernoulli variable, for any range.

    Formal guarantees: rounding depends on the value and on independent random bits, so the loss is the response's loss.

    Attributes:
        minimum: Smallest value.
        maximum: Largest value.
        max_step_bits: Bits of the number of steps, 0 to 6.

    Raises:
        ValueError: there is one value, or more than 2**48, or `max_step_bits` is not from 0 to 6.
    """

    minimum: int
    maximum: int
    max_step_bits: int

    def __post_init__(self) -> None:
        super().__post_init__()
        convert_to_integers(self, minimum="minimum", maximum="maximum", max_step_bits="max_step_bits")
        widest = 48  # bits of the range of values at most
        if not (1 <= self.span <= 2**widest and 0 <= self.max_step_bits <= MOST_STEP_BITS):
            raise InvalidArgument(
                "kernel", f"must have values that span from 1 to 2**{widest}; use fewer bits for values"
            )

    @property
    def span(self) -> int:
        """Difference between the kernel's largest and smallest value."""
        return self.maximum - self.minimum

    @property
    def name(self) -> str:
        """Name of the inner response, with "rounded at random" if bits are dropped."""
        return f"{self.inner_response.name}, rounded at random" if self.dither_bits else self.inner_response.name

    @cached_property
    def inner_response(self) -> Response:
        """Response that randomises the value after it was scaled and rounded to steps."""
        return BinaryResponse(self.epsilon) if not self.step_bits else LaplaceResponse(self.epsilon, 2**self.step_bits)

    @property
    def step_bits(self) -> int:
        """Bits of the number of steps to which values are rounded; at most the bits of the kernel's range."""
        return min(self.max_step_bits, self.scale.width)

    @cached_property
    def scale(self) -> _Scale:
        """The odd factor that multiplies values minus `minimum`, and the width of the range ``2**width`` that they then
        fill.

        A small rest of the range may stay unused.
        """
        # 63: largest odd factor by which values are multiplied to fill a power of two
        candidates = [_Scale(factor, (self.span * factor - 1).bit_length()) for factor in range(1, 63 + 1, 2)]
        # Fraction(1, 200): largest unused fraction of the power-of-two range; with more, values are multiplied by a
        # factor to fill it better
        acceptable = (scale for scale in candidates if self._unused_fraction(scale) <= Fraction(1, 200))
        return next(acceptable, min(candidates, key=self._unused_fraction))

    def _unused_fraction(self, scale: _Scale) -> Fraction:
        """Return the fraction of the range ``2**width`` above the largest scaled value.

        Args:
            scale: Factor of the values, and width of the range that they fill.
        """
        return 1 - Fraction(self.span * scale.factor, 2**scale.width)

    @property
    def dither_bits(self) -> int:
        """Number of low bits of a value that random rounding removes."""
        return self.scale.width - self.step_bits

    @property
    def values(self) -> range:
        """Possible exact values: `minimum` to `maximum`."""
        return range(self.minimum, self.maximum + 1)

    @property
    def answers(self) -> range:
        """The answers of the inner response."""
        return self.inner_response.answers

    @property
    def random_widths(self) -> tuple[int, ...]:
        """Bits of each random integer: the dither that rounds the value at random, then the inner response's
        integers.
        """
        return (self.dither_bits, *self.inner_response.random_widths)

    def answer(self, value: int, draws: Sequence[int]) -> int:
        """Return the inner response's answer about the scaled value, rounded at random to a step.

        Args:
            value: The exact value, from `minimum` to `maximum`.
            draws: Uniform integers: the first is added before low bits are dropped (dithering), the others go to the
                inner response.
        """
        dither, *others = draws
        scaled = (value - self.minimum) * self.scale.factor
        return self.inner_response.answer(scaled + dither >> self.dither_bits, others)

    def wires(self, value: Wires, draws: Wires) -> Wires:
        """Return the wires of the inner response's answer about the scaled and rounded value.

        Args:
            value: Wires of the exact value, lowest bit first.
            draws: Wires of all random integers, concatenated.
        """
        shifted = add_constant(value, -self.minimum % 2 ** len(value)) if self.minimum else value
        scaled = multiply_constant(shifted[: self.span.bit_length()], self.scale.factor)[: self.scale.width + 1]
        dither, others = draws[: self.dither_bits], draws[self.dither_bits :]
        return self.inner_response.wires(_round_randomly(scaled, dither, self.step_bits), others)

    @property
    def and_count(self) -> int:
        """Upper bound on the AND gates of `wires`, without the shift of the value to start at 0."""
        scaled = (self.scale.factor.bit_count() - 1) * (self.span.bit_length() + MOST_STEP_BITS)
        return self.inner_response.and_count + self.scale.width * bool(self.dither_bits) + scaled

    def probability(self, value: int, answer: int) -> Fraction:
        """Return the exact probability of an answer about a value.

        The probability is the mixture of the inner response's probabilities about the steps below and above.

        Args:
            value: Exact value of a pair, one of `values`.
            answer: Possible released answer, one of `answers`.
        """
        low, fraction = self._split_value(value)
        above = self.inner_response.probability(low + 1, answer) if fraction else Fraction(0)
        return (1 - fraction) * self.inner_response.probability(low, answer) + fraction * above

    def _split_value(self, value: int) -> tuple[int, Fraction]:
        """Return the step below a value, and the fraction of a step above it.

        Args:
            value: Exact value, from `minimum` to `maximum`.

        Returns:
            Number of the step, and a fraction from 0 (on the step) to below 1, with which the next step is taken.
        """
        scaled = (value - self.minimum) * self.scale.factor
        low = scaled >> self.dither_bits
        return low, Fraction(scaled, 2**self.dither_bits) - low

    @property
    def offset(self) -> Fraction:
        """Mean answer if the value is 0, which may lie outside the range."""
        return self.inner_response.offset - self.gain * self.minimum

    @property
    def gain(self) -> Fraction:
        """Increase of the mean answer if the exact value grows by 1, by which answers are debiased.

        It is the inner response's gain times the number of steps per unit of the value.
        """
        return self.inner_response.gain * Fraction(self.scale.factor, 2**self.dither_bits)

    def variance(self, value: int) -> float:
        """Return the variance of the answer: the inner variance, mixed over both steps, plus that of rounding.

        Args:
            value: Exact value, from `minimum` to `maximum`.

        Returns:
            Variance before debiasing, in squared units of the answer.
        """
        low, exact_fraction = self._split_value(value)
        fraction = float(exact_fraction)
        rounding_variance = fraction * (1 - fraction) * float(self.inner_response.gain) ** 2
        above = self.inner_response.variance(low + 1) if exact_fraction else 0.0
        return (1 - fraction) * self.inner_response.variance(low) + fraction * above + rounding_variance


def _round_randomly(scaled: Wires, dither: Wires, steps: int) -> Wires:
    """Return the wires of a number that is rounded to steps at random: a uniform integer is added, and low bits are
    dropped.

    Args:
        scaled: Wires of the number.
        dither: Wires of the uniform integer; they replace as many low bits.
        steps: Bits of the number of steps; 0 for a single step.
    """
    if not dither:
        return scaled
    upper_bits = scaled[len(dither) :]
    *_, carry = add_numbers(dither, scaled[: len(dither)])
    if steps and upper_bits:
        return add_numbers(upper_bits, (carry,))[: steps + 1]
    # With a single step, the top bit is set only if all lower bits are 0; then there is no carry into it.
    return (upper_bits[0] ^ carry if upper_bits else carry,)


@lru_cache(maxsize=64)  # a pure function of public numbers
def choose_response(minimum: int, maximum: int, epsilon: Fraction) -> Response:
    """Return the response with the least worst-case variance: one bit below an epsilon of about 2, Laplace above.

    Args:
        minimum: Smallest value of the kernel.
        maximum: Largest value of the kernel.
        epsilon: Privacy loss of one pair.
    """
    if (minimum, maximum) == (-1, 1):
        return TernaryResponse(epsilon)
    one_bit = RoundedResponse(epsilon, minimum, maximum, 0)
    if not one_bit.dither_bits:
        return one_bit
    return min(
        one_bit, RoundedResponse(epsilon, minimum, maximum, MOST_STEP_BITS), key=lambda response: response.max_variance
    )
