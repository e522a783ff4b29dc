"""Noise from finitely many coins: its base, gates that compute it, and randomised response to yes or no."""

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

# Gates over anything that has XOR, AND and NOT: a wire of a circuit, or NumPy's arrays of truth values.
#
# Numbers are sequences of wires, the lowest place first. A coin is an even number that nobody knows: the XOR of two
# parties' bits, place by place. AND is what a gate costs two parties; XOR and NOT are free.
Wire = Any
Wires = Sequence[Wire]


def compare_below(number: Wires, threshold: int) -> Wire:
    """The gate that compares a coin with a public number from 1 to ``2**len(coin) - 1``: its chance is that number's
    share.

    From the lowest place on that is set in `threshold`, where NOT decides; each further place takes one AND.
    """
    lowest = _lowest_set_bit(threshold)
    found = ~number[lowest]
    for place in range(lowest + 1, len(number)):
        unset = ~number[place]
        # a place that is set in `threshold` decides where the coin's is not, and leaves it open otherwise
        found = ~(number[place] & ~found) if threshold >> place & 1 else unset & found
    return found


def count_comparison_ands(bits: int, threshold: int) -> int:
    """The number of AND gates of `compare_below`."""
    return bits - 1 - _lowest_set_bit(threshold)


def _lowest_set_bit(parts: int) -> int:
    return (parts & -parts).bit_length() - 1


def multiplex(condition: Wire, one: Wire, zero: Wire) -> Wire:
    """The first of two wires where `condition` is set, else the second: one AND."""
    return zero ^ (condition & (one ^ zero))


def add_numbers(one: Wires, other: Wires) -> tuple[Wire, ...]:
    """The sum of two numbers, and its carry as one more place: an AND for each place of the longer one.

    Raises:
        ValueError: one of them has no place.
    """
    long, short = (one, other) if len(one) >= len(other) else (other, one)
    carry, places = long[0] & short[0], [long[0] ^ short[0]]
    for place in range(1, len(long)):
        if place < len(short):
            left, right = long[place], short[place]
            places.append(left ^ right ^ carry)
            carry = carry ^ ((left ^ carry) & (right ^ carry))
        else:
            places.append(long[place] ^ carry)
            carry = long[place] & carry
    return (*places, carry)


def add_modulo(number: Wires, other: Wires) -> tuple[Wire, ...]:
    """A number of a circle and one that is no wider, added there: an AND for each place but the last."""
    if len(number) == 1:
        return (number[0] ^ other[0],)
    *places, carry = add_numbers(number[:-1], other[: len(number) - 1])
    top = number[-1] ^ carry
    return (*places, top ^ other[-1] if len(other) == len(number) else top)


def add_constant(number: Wires, constant: int) -> tuple[Wire, ...]:
    """A number plus a public one, on the circle of its own width: an AND for each place but the last, at most."""
    places, carry = [], None
    for place, wire in enumerate(number):
        adds, last = constant >> place & 1, place == len(number) - 1
        if carry is None:
            places.append(~wire if adds else wire)
            carry = wire if adds else None
        else:
            places.append(~(wire ^ carry) if adds else wire ^ carry)
            carry = None if last else ~(~wire & ~carry) if adds else wire & carry
    return tuple(places)


def multiply_constant(number: Wires, factor: int) -> tuple[Wire, ...]:
    """A number times a public odd one: an addition for each further place that is set in it."""
    found = tuple(number)
    for place in range(1, factor.bit_length()):
        if factor >> place & 1:
            found += (number[0] ^ number[0],) * (place + 1 - len(found))
            found = (*found[:place], *add_numbers(found[place:], number))
    return found


def take_wires(coins: Iterator[Wire], count: int) -> tuple[Wire, ...]:
    """The next wires, for one coin: none is used twice."""
    return tuple(islice(coins, count))


Places = TypeVar("Places", int, IntArray)


@dataclass(frozen=True)
class Response(ABC):
    """A randomised response that needs even coins of finitely many places alone.

    Formal guarantees: whatever the values v and w and the answer a are, ``P(a | v) <= exp(epsilon) P(a | w)``, exactly:
    all chances are dyadic, and rounded so that it holds; there is no delta. It holds for whoever does not know the
    random_widths: each is the XOR of two parties' bits, so to either of them it is even as long as the other's bits are.

    Attributes:
        epsilon: What one answer may lose.

    Raises:
        TypeError: `epsilon` is no exact number.
        ValueError: `epsilon` is not from 2**-20 to 64.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction):
            raise WrongArgumentType("epsilon", f"a Fraction is needed, got {type(self.epsilon).__name__}")
        if not LEAST_EPSILON <= self.epsilon <= MOST_EPSILON:
            raise InvalidArgument("epsilon", f"a number from 2**-20 to {MOST_EPSILON} a pair is needed")

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the response, in words."""

    @property
    @abstractmethod
    def values(self) -> range:
        """Values that may be answered about."""

    @property
    @abstractmethod
    def answers(self) -> range:
        """Possible answers: whole numbers, the negative ones in two's complement on the wires."""

    @property
    @abstractmethod
    def random_widths(self) -> tuple[int, ...]:
        """The number of binary places of each coin."""

    @abstractmethod
    def answer(self, value: int, draws: Sequence[int]) -> int:
        """The answer for these coins, given place by place."""

    @abstractmethod
    def wires(self, value: Wires, draws: Wires) -> Wires:
        """`answer` in gates: the places of all coins lie one behind the other."""

    @property
    @abstractmethod
    def and_count(self) -> int:
        """The number of AND gates of `wires`."""

    @abstractmethod
    def probability(self, value: int, answer: int) -> Fraction:
        """The chance of an answer: exact."""

    @property
    @abstractmethod
    def offset(self) -> Fraction:
        """The expected answer where the value is 0."""

    @property
    @abstractmethod
    def gain(self) -> Fraction:
        """By how much the average answer grows with the value by 1."""

    @abstractmethod
    def variance(self, value: int) -> float:
        """The variance of the answer about a value."""

    def decode_answers(self, places: Places) -> Places:
        """The answer whose places, as a number, are these; or those of an array of numbers."""
        whole = 1 << self.width
        return self.answers.start + (places - self.answers.start) % whole

    @property
    def width(self) -> int:
        """The number of binary places of an answer."""
        return (len(self.answers) - 1).bit_length()

    @property
    def max_variance(self) -> float:
        """The variance of the debiased answer about one value, in squares of its steps, where it is largest."""
        return max(self.variance(value) for value in (*self._endpoints, self._middle)) / float(self.gain) ** 2

    @property
    def max_total_variance(self) -> float:
        """The variance of the debiased answer about values that vary themselves, where they do it the worst way."""
        apart = sum(self.variance(end) for end in self._endpoints) / 2 / float(self.gain) ** 2
        varied = (self._endpoints[1] - self._endpoints[0]) ** 2 / 4
        return max(apart + varied, self.variance(self._middle) / float(self.gain) ** 2)

    @property
    def _endpoints(self) -> tuple[int, int]:
        return self.values.start, self.values[-1]

    @property
    def _middle(self) -> int:
        return sum(self._endpoints) // 2


FEWEST_PLACES = 16
FINE = 13


@dataclass(frozen=True)
class BinaryResponse(Response):
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
    def random_width(self) -> int:
        """The number of binary places of the coin."""
        smallness = (self.epsilon.denominator // self.epsilon.numerator).bit_length()
        return max(FEWEST_PLACES, FINE + smallness)

    @cached_property
    def flip_numerator(self) -> int:
        """The chance that the answer is turned round, in parts of ``2**places``: never more than half of them."""
        rest = bound_exp_neg_above(self.epsilon)
        return -int(-(rest / (1 + rest) * (1 << self.random_width)) // 1)

    @property
    def random_widths(self) -> tuple[int, ...]:
        return (self.random_width,)

    def answer(self, value: int, draws: Sequence[int]) -> int:
        return value ^ (draws[0] < self.flip_numerator)

    def wires(self, value: Wires, draws: Wires) -> Wires:
        return (value[0] ^ compare_below(draws, self.flip_numerator),)

    @property
    def and_count(self) -> int:
        return count_comparison_ands(self.random_width, self.flip_numerator)

    def probability(self, value: int, answer: int) -> Fraction:
        flipped = Fraction(self.flip_numerator, (1 << self.random_width))
        return flipped if value != answer else 1 - flipped

    @property
    def offset(self) -> Fraction:
        return self.probability(0, 1)

    @property
    def gain(self) -> Fraction:
        return 1 - 2 * self.probability(0, 1)

    def variance(self, value: int) -> float:
        return float(self.probability(0, 1) * self.probability(0, 0))
