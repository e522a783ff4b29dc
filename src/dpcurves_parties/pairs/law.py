"""The law of pair statistics: answers of each pair, or one noisy sum of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1
from typing import Any, ClassVar, Self

from dpcurves.arguments import Refused
from dpcurves.laws.law import Law
from dpcurves_parties.pairs.queries import Overlaps

MOST_PAIRS = 2**40
_COUNTED = ("people", "pairs", "one", "both", "least", "most")


@dataclass(frozen=True, slots=True)
class PairLaw(Law):
    """The distribution of released values around the mean of a kernel over all pairs.

    Attributes:
        people: How many people there are.
        pairs: How many pairs came.
        one: How many ordered couples of these have exactly one person in common.
        both: How many have both: each pair with itself, and with its repetitions.
        least: The smallest value of the kernel.
        most: The largest one.
        step: What one of these whole numbers stands for.
        OWN: The exact numbers that a law of its kind has besides.

    Raises:
        ValueError: there are too few people, or numbers of pairs do not go together.
    """

    OWN: ClassVar[tuple[str, ...]] = ()

    people: int
    pairs: int
    one: int
    both: int
    least: int
    most: int
    step: Fraction

    def __post_init__(self) -> None:
        if self.people < 2 or not 0 <= self.pairs <= min(self.both, MOST_PAIRS) or self.one < 0:
            raise Refused("pairs", "there are at least two people, and pairs overlap at least with themselves")
        if self.least >= self.most or self.step <= 0:
            raise Refused("kernel", "its values are more than one")

    @property
    def missing(self) -> None:
        """Nobody was counted."""
        return None

    @property
    def is_answered(self) -> bool:
        """Tell whether each pair answered on its own; else one noise was added to the sum of all."""
        return False

    def debiased(self, told: float) -> float:
        """The kernel's mean, without bias, from the mean of what pairs told."""
        return told

    @property
    def overlaps(self) -> Overlaps:
        """Numbers of people that pairs share."""
        return Overlaps(self.pairs, self.one, self.both)

    @property
    def span(self) -> int:
        """The range of the kernel's values."""
        return self.most - self.least

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        exact = {name: str(getattr(self, name)) for name in ("step", *self.OWN)}
        known = {name: getattr(self, name) for name in _COUNTED} | exact
        return {self.KEY: known, "values": list(values), "total": total}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The law of what `to_json` wrote."""
        told = stored[cls.KEY]
        facts: dict[str, Any] = {name: int(told[name]) for name in _COUNTED}
        return cls(**facts | {name: Fraction(told[name]) for name in ("step", *cls.OWN)})


@dataclass(frozen=True, slots=True)
class PairAnswers(PairLaw):
    """Each pair answered on its own. The values: sums of answers, of their squares, and of products.

    Products are of couples of pairs, each couple once, that have exactly one person in common. They estimate the
    covariance of the answers of such pairs, which the variance depends on.

    Attributes:
        offset: The mean answer for a value of 0.
        gain: The increase of the mean answer when the value grows by 1.
    """

    KEY: ClassVar[str] = "pair_answers"
    OWN: ClassVar[tuple[str, ...]] = ("offset", "gain")

    offset: Fraction
    gain: Fraction

    @property
    def is_answered(self) -> bool:
        return True

    def debiased(self, told: float) -> float:
        return (told - float(self.offset)) / float(self.gain)

    @property
    def size(self) -> int:
        """Three sums."""
        return 3

    def blank(self) -> tuple[int, ...]:
        """Answers as they would be about values in the middle, rounded."""
        middle = float(self.offset + self.gain * Fraction(self.least + self.most, 2))
        return round(self.pairs * middle), round(self.pairs * middle), round(self.one / 2 * middle**2)


@dataclass(frozen=True, slots=True)
class PairSum(PairLaw):
    """The sum of all pairs' values with one noise: a single value.

    Attributes:
        rate: One over the scale of the Laplace noise.
    """

    KEY: ClassVar[str] = "pair_sum"
    OWN: ClassVar[tuple[str, ...]] = ("rate",)

    rate: Fraction

    @property
    def size(self) -> int:
        """A single sum."""
        return 1

    @property
    def variance(self) -> float:
        """The variance of the noise: ``2 r / (1 - r)**2``, r being ``exp(-rate)``."""
        rate = float(self.rate)
        return 2 * exp(-rate) / expm1(-rate) ** 2

    def blank(self) -> tuple[int, ...]:
        """The sum of values in the middle."""
        return (self.pairs * (self.least + self.most) // 2,)
