"""Base of noise from finitely many coins: public chances, a plain function of coins, and the same function in gates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from dpcurves.arguments import Refused, WrongKind
from dpcurves.arrays import IntArray
from dpcurves.noise.exponential import LEAST_EPSILON, MOST_EPSILON

from .wires import Wires

Places = TypeVar("Places", int, IntArray)


@dataclass(frozen=True)
class Response(ABC):
    """A randomised response that needs even coins of finitely many places alone.

    Formal guarantees: whatever the values v and w and the answer a are, ``P(a | v) <= exp(epsilon) P(a | w)``, exactly:
    all chances are dyadic, and rounded so that it holds; there is no delta. It holds for whoever does not know the
    coins: each is the XOR of two parties' bits, so to either of them it is even as long as the other's bits are.

    Attributes:
        epsilon: What one answer may lose.

    Raises:
        TypeError: `epsilon` is no exact number.
        ValueError: `epsilon` is not from 2**-20 to 64.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction):
            raise WrongKind("epsilon", f"a Fraction is needed, got {type(self.epsilon).__name__}")
        if not LEAST_EPSILON <= self.epsilon <= MOST_EPSILON:
            raise Refused("epsilon", f"a number from 2**-20 to {MOST_EPSILON} a pair is needed")

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
    def coins(self) -> tuple[int, ...]:
        """The number of binary places of each coin."""

    @abstractmethod
    def answer(self, value: int, coins: Sequence[int]) -> int:
        """The answer for these coins, given place by place."""

    @abstractmethod
    def wires(self, value: Wires, coins: Wires) -> Wires:
        """`answer` in gates: the places of all coins lie one behind the other."""

    @property
    @abstractmethod
    def ands(self) -> int:
        """The number of AND gates of `wires`."""

    @abstractmethod
    def chance(self, value: int, answer: int) -> Fraction:
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

    def decoded(self, places: Places) -> Places:
        """The answer whose places, as a number, are these; or those of an array of numbers."""
        whole = 1 << self.width
        return self.answers.start + (places - self.answers.start) % whole

    @property
    def width(self) -> int:
        """The number of binary places of an answer."""
        return (len(self.answers) - 1).bit_length()

    @property
    def most_variance(self) -> float:
        """The variance of the debiased answer about one value, in squares of its steps, where it is largest."""
        return max(self.variance(value) for value in (*self._ends, self._middle)) / float(self.gain) ** 2

    @property
    def most_varied(self) -> float:
        """The variance of the debiased answer about values that vary themselves, where they do it the worst way."""
        apart = sum(self.variance(end) for end in self._ends) / 2 / float(self.gain) ** 2
        varied = (self._ends[1] - self._ends[0]) ** 2 / 4
        return max(apart + varied, self.variance(self._middle) / float(self.gain) ** 2)

    @property
    def _ends(self) -> tuple[int, int]:
        return self.values.start, self.values[-1]

    @property
    def _middle(self) -> int:
        return sum(self._ends) // 2
