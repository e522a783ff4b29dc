"""Randomised response by boolean circuits that use finitely many random bits (finite-precision noise).

    Response          interface: value and random integers -> randomised answer, with exact probabilities
    BinaryResponse    a bit that is flipped with a fixed probability (Warner 1965)
    gates             Bernoulli sampler (`compare_below`), additions, multiplication, multiplexer

A random integer r is the XOR of both parties' bits, so it is uniform if those of one party are. Comparing it with a
public threshold samples a bit exactly:

    compare_below(r, m)    1 with probability m / 2**width        width - 1 - (position of the lowest set bit of m) ANDs
    BinaryResponse         answer = value xor (r < m),            m at least 2**width / (1 + exp(epsilon)), rounded up

Formal guarantees: ``P(a | v) <= exp(epsilon) * P(a | w)`` for all values v, w and answers a, exactly and without a
delta. All probabilities are multiples of ``2**-width``, so they are met exactly, and m is rounded to the safe side.

>>> response = BinaryResponse(Fraction(1))
>>> float(round(response.probability(0, 1), 4)), response.random_width, response.and_count  # of a flip; bits; ANDs
(0.269, 16, 14)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

from dpcurves.arguments import InvalidArgument, WrongArgumentType
from dpcurves.arrays import IntArray
from dpcurves.noise.exponential import LEAST_EPSILON, MOST_EPSILON, bound_exp_neg_above

# Gates over any type with XOR, AND and NOT: wires of a circuit, or NumPy arrays of booleans.
#
# Numbers are sequences of wires, lowest bit first. A random integer is uniform and unknown to both parties: the bitwise
# XOR of their random bits. AND gates cost communication; XOR and NOT are free.
Wire = Any
Wires = Sequence[Wire]


def compare_below(number: Wires, threshold: int) -> Wire:
    """Return a wire that is 1 with probability ``threshold / 2**width``: a Bernoulli sampler.

    The wire is 1 where a uniform random integer is below the public threshold. The comparison starts at the lowest set
    bit of `threshold`, where NOT decides; each further bit takes one AND.

    Args:
        number: Wires of the uniform integer of `width` bits.
        threshold: Public integer from 1 to ``2**width - 1``.
    """
    lowest = _lowest_set_bit(threshold)
    is_below = ~number[lowest]
    for position in range(lowest + 1, len(number)):
        unset = ~number[position]
        # a set bit of `threshold` decides if the random bit is 0, an unset bit if it is 1
        is_below = ~(number[position] & ~is_below) if threshold >> position & 1 else unset & is_below
    return is_below


def count_comparison_ands(bits: int, threshold: int) -> int:
    """Return the number of AND gates that `compare_below` needs for a Bernoulli sampler.

    Args:
        bits: Bits of the uniform integer.
        threshold: The public threshold.
    """
    return bits - 1 - _lowest_set_bit(threshold)


def _lowest_set_bit(number: int) -> int:
    """Return the position of the lowest set bit of a positive integer.

    Args:
        number: Positive integer; 0 gives -1.

    Returns:
        Position, 0 for an odd number.
    """
    return (number & -number).bit_length() - 1


def multiplex(condition: Wire, one: Wire, zero: Wire) -> Wire:
    """Return a wire equal to `one` where `condition` is 1, else to `zero`. The gate costs one AND.

    Args:
        condition: The selecting wire.
        one: Wire for condition 1.
        zero: Wire for condition 0.
    """
    return zero ^ (condition & (one ^ zero))


def add_numbers(one: Wires, other: Wires) -> tuple[Wire, ...]:
    """Return the wires of the sum of two unsigned numbers, with one AND per bit of the longer number.

    Args:
        one: Wires of a number, lowest bit first; at least one bit.
        other: Wires of the other number; the widths may differ.

    Returns:
        The bits of the sum, lowest first, with the carry as highest bit.

    Raises:
        IndexError: a number has no bits.
    """
    long, short = (one, other) if len(one) >= len(other) else (other, one)
    carry = long[0] & short[0]
    bits = [long[0] ^ short[0]]
    for position in range(1, len(long)):
        if position < len(short):
            left = long[position]
            right = short[position]
            bits.append(left ^ right ^ carry)
            carry = carry ^ ((left ^ carry) & (right ^ carry))
        else:
            bits.append(long[position] ^ carry)
            carry = long[position] & carry
    return (*bits, carry)


def add_modulo(number: Wires, other: Wires) -> tuple[Wire, ...]:
    """Return the sum of two numbers modulo ``2**width``, with one AND for each bit but the last.

    Args:
        number: Wires of a number of `width` bits.
        other: Wires of a number of at most as many bits.
    """
    if len(number) == 1:
        return (number[0] ^ other[0],)
    *lower_bits, carry = add_numbers(number[:-1], other[: len(number) - 1])
    top = number[-1] ^ carry
    return (*lower_bits, top ^ other[-1] if len(other) == len(number) else top)


def add_constant(number: Wires, constant: int) -> tuple[Wire, ...]:
    """Return the number plus a public constant, modulo ``2**width``; at most one AND for each bit except the last.

    Args:
        number: Wires of a number of `width` bits, lowest bit first.
        constant: Public integer, not negative.
    """
    bits = []
    carry = None
    for position, wire in enumerate(number):
        is_set = constant >> position & 1
        is_last = position == len(number) - 1
        if carry is None:
            bits.append(~wire if is_set else wire)
            carry = wire if is_set else None
        else:
            bits.append(~(wire ^ carry) if is_set else wire ^ carry)
            carry = ~(~wire & ~carry) if is_set else wire & carry
            if is_last:
                carry = None
    return tuple(bits)


def multiply_constant(number: Wires, factor: int) -> tuple[Wire, ...]:
    """Return the product of a number and a public odd constant, with all of its bits.

    Each further set bit of the constant takes one addition.

    Args:
        number: Wires of the number, lowest bit first.
        factor: Public odd integer, positive.
    """
    product = tuple(number)
    for position in range(1, factor.bit_length()):
        if factor >> position & 1:
            product += (number[0] ^ number[0],) * (position + 1 - len(product))
            product = (*product[:position], *add_numbers(product[position:], number))
    return product


def take_wires(random_bits: Iterator[Wire], count: int) -> tuple[Wire, ...]:
    """Return the next wires of an iterator, for one random integer. No wire is used twice.

    Args:
        random_bits: Iterator over wires of random bits.
        count: Number of wires to take.
    """
    return tuple(islice(random_bits, count))


Places = TypeVar("Places", int, IntArray)


@dataclass(frozen=True)
class Response(ABC):
    """A randomised response that needs finitely many uniform random bits only.

    Formal guarantees: for all values v and w and answers a, ``P(a | v) <= exp(epsilon) P(a | w)``, exactly: all
    probabilities are dyadic, and rounded so that this holds; there is no delta. It holds against everybody who does not
    know the random bits. Each is the XOR of two parties' bits, so it is uniform to either party if the other party's
    bits are uniform.

    Attributes:
        epsilon: Privacy loss of one answer.

    Raises:
        TypeError: `epsilon` is not a Fraction.
        ValueError: `epsilon` is not from 2**-20 to 64.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction):
            raise WrongArgumentType(
                "epsilon", f"must be a Fraction, as in Fraction(1, 2), got {type(self.epsilon).__name__}"
            )
        if not LEAST_EPSILON <= self.epsilon <= MOST_EPSILON:
            raise InvalidArgument(
                "epsilon",
                f"the epsilon of one pair must be from 2**-20 to {MOST_EPSILON}, got {float(self.epsilon):.6g}; "
                "change epsilon or the number of pairs",
            )

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the response in plans and privacy statements, as English text."""

    @property
    @abstractmethod
    def values(self) -> range:
        """Possible exact values, as consecutive integers."""

    @property
    @abstractmethod
    def answers(self) -> range:
        """Possible released answers, as consecutive integers; the circuit outputs them in two's complement."""

    @property
    @abstractmethod
    def random_widths(self) -> tuple[int, ...]:
        """Width in bits of each uniform random integer that one answer consumes, in order."""

    @abstractmethod
    def answer(self, value: int, draws: Sequence[int]) -> int:
        """Return the randomised answer about an exact value. It is the reference for `wires`.

        Args:
            value: The exact value.
            draws: Uniform random integers, of the widths `random_widths`.
        """

    @abstractmethod
    def wires(self, value: Wires, draws: Wires) -> Wires:
        """Build the circuit of the randomised response, and return the wires of the answer, lowest bit first.

        Args:
            value: Wires of the exact value.
            draws: Wires of all random integers, concatenated.
        """

    @property
    @abstractmethod
    def and_count(self) -> int:
        """Number of AND gates of `wires`."""

    @abstractmethod
    def probability(self, value: int, answer: int) -> Fraction:
        """Return the exact probability of an answer about an exact value.

        Args:
            value: Exact value of a pair, one of `values`.
            answer: Possible released answer, one of `answers`.
        """

    @property
    @abstractmethod
    def offset(self) -> Fraction:
        """Expected released answer if the exact value is 0, which debiasing subtracts."""

    @property
    @abstractmethod
    def gain(self) -> Fraction:
        """Increase of the expected answer if the value grows by 1."""

    @abstractmethod
    def variance(self, value: int) -> float:
        """Return the variance of the answer about an exact value, before debiasing, in squared units of the answer.

        Args:
            value: Exact value of a pair, one of `values`.
        """

    def decode_answers(self, codes: Places) -> Places:
        """Return the answers for the unsigned integers on the output wires, signed if `answers` has negative ones.

        Args:
            codes: An integer, or an array.
        """
        modulus = 1 << self.width
        return self.answers.start + (codes - self.answers.start) % modulus

    @property
    def width(self) -> int:
        """Number of bits, and of output wires, of an answer."""
        return (len(self.answers) - 1).bit_length()

    @property
    def max_variance(self) -> float:
        """Largest variance of a debiased answer over all exact values, in squared units of the value.

        A debiased answer is the answer minus `offset`, divided by `gain`.
        """
        return max(self.variance(value) for value in (*self._endpoints, self._middle)) / float(self.gain) ** 2

    @property
    def max_total_variance(self) -> float:
        """Largest variance of the debiased answer about a random value, the value's own variance included.

        It is the largest over all distributions of the value, in squared units of the value.
        """
        noise_variance = sum(self.variance(end) for end in self._endpoints) / 2 / float(self.gain) ** 2
        value_variance = (self._endpoints[1] - self._endpoints[0]) ** 2 / 4
        return max(noise_variance + value_variance, self.variance(self._middle) / float(self.gain) ** 2)

    @property
    def _endpoints(self) -> tuple[int, int]:
        """Smallest and largest possible exact value."""
        return self.values.start, self.values[-1]

    @property
    def _middle(self) -> int:
        """Middle of the possible exact values, rounded down, where the variance of an answer can be largest."""
        return sum(self._endpoints) // 2


FEWEST_RANDOM_BITS = 16
"""Bits, at least, of the random integer that decides whether an answer is flipped, whose probability is rounded to so
many bits. Fewer cost accuracy, never privacy."""
EXTRA_RANDOM_BITS = 13
"""Bits of the random integer that decides whether an answer is flipped, beyond the bits of 1 / epsilon: rounding the
probability then adds less than a thousandth to the variance."""


@dataclass(frozen=True)
class BinaryResponse(Response):
    """The bit is flipped with probability ``m / 2**width`` (Warner 1965).

    Formal guarantees: the probabilities of an answer about two values differ by a factor of at most ``(2**width - m) /
    m``, which is at most exp(epsilon) for ``m >= 2**width / (1 + exp(epsilon))``: m is rounded up. The width is at
    least 16 bits and large enough that rounding adds less than a thousandth to the variance. Above an epsilon of about
    11 the smallest probability, ``2**-16``, is larger than necessary, and the loss is below epsilon.
    """

    @property
    def name(self) -> str:
        """Name of the response: one bit that may be flipped."""
        return "one bit, which may be turned round"

    @property
    def values(self) -> range:
        """Possible exact values: the bits 0 and 1."""
        return range(2)

    @property
    def answers(self) -> range:
        """Possible answers: the bits 0 and 1."""
        return range(2)

    @cached_property
    def random_width(self) -> int:
        """Bits of the random integer that decides whether the exact bit is flipped."""
        smallness = (self.epsilon.denominator // self.epsilon.numerator).bit_length()
        return max(FEWEST_RANDOM_BITS, EXTRA_RANDOM_BITS + smallness)

    @cached_property
    def flip_numerator(self) -> int:
        """Numerator of the flip probability over ``2**random_width``, at most one half.

        It is rounded up, so that the loss is at most epsilon.
        """
        decay = bound_exp_neg_above(self.epsilon)
        return -int(-(decay / (1 + decay) * (1 << self.random_width)) // 1)

    @property
    def random_widths(self) -> tuple[int, ...]:
        """The width of the one random integer, which decides whether the bit is flipped."""
        return (self.random_width,)

    def answer(self, value: int, draws: Sequence[int]) -> int:
        """Return the bit, flipped if the random integer is below `flip_numerator`.

        Args:
            value: Exact bit, 0 or 1.
            draws: A uniform random integer of `random_width` bits.
        """
        return value ^ (draws[0] < self.flip_numerator)

    def wires(self, value: Wires, draws: Wires) -> Wires:
        """Return the one wire of the answer: the bit XOR the comparison of the random integer with `flip_numerator`.

        Args:
            value: The wire of the exact bit.
            draws: Wires of the random integer, lowest bit first.
        """
        return (value[0] ^ compare_below(draws, self.flip_numerator),)

    @property
    def and_count(self) -> int:
        """Number of AND gates of the comparison; the XOR is free."""
        return count_comparison_ands(self.random_width, self.flip_numerator)

    def probability(self, value: int, answer: int) -> Fraction:
        """Return the probability of a flip if answer and value differ, else of no flip.

        Args:
            value: Exact bit, 0 or 1.
            answer: Released bit, 0 or 1.
        """
        flip_probability = Fraction(self.flip_numerator, (1 << self.random_width))
        return flip_probability if value != answer else 1 - flip_probability

    @property
    def offset(self) -> Fraction:
        """Probability of the answer 1 if the value is 0."""
        return self.probability(0, 1)

    @property
    def gain(self) -> Fraction:
        """Increase of the mean answer if the bit is 1 instead of 0: one minus twice the flip probability."""
        return 1 - 2 * self.probability(0, 1)

    def variance(self, value: int) -> float:
        """Return the variance of a Bernoulli variable with the flip probability, which is equal for both values.

        Args:
            value: Exact bit; without effect.
        """
        return float(self.probability(0, 1) * self.probability(0, 0))
