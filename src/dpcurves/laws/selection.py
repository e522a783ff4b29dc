"""Laws of answers that are choices, not measurements: there is no noise to subtract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp, log, log1p
from types import MappingProxyType
from typing import Any

from ..arguments import Refused
from .law import WHOLE, Law, Noise


@dataclass(frozen=True, slots=True)
class Choices(Law):
    """Values are choices. `example` is one that tells nothing."""

    KEY = "chosen"
    FORMS = MappingProxyType({KEY: WHOLE.each.of("example")})

    example: tuple[int, ...]

    @property
    def missing(self) -> None:
        """Nothing was counted."""
        return None

    def blank(self) -> tuple[int, ...]:
        return self.example

    @classmethod
    def values_in(cls, stored: Mapping[str, Any]) -> tuple[Sequence[Any], Any]:
        """The choices; no number of records is told."""
        return stored[cls.KEY], None

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """The choices."""
        return {self.KEY: list(values)}


@dataclass(frozen=True, slots=True)
class Selection(Choices):
    """The law of as many choices as `example` has."""

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.example)


@dataclass(frozen=True, slots=True)
class PartitionDecisions(Choices):
    """Decisions of a growing partition: how many there are is known once they are made."""

    @property
    def size(self) -> None:
        """Not known before."""
        return None


@dataclass(frozen=True, slots=True)
class ThresholdAnswers(Selection):
    """Numbers of comparisons that reached their threshold: choices, made under two kinds of Laplace noise.

    Attributes:
        common: The noise that all thresholds share.
        own: The noise of each compared sum.
        comparisons: How many are made at most.
        step: By how much one record counts in the compared sums.
    """

    common: Noise
    own: Noise
    comparisons: int
    step: int

    def alpha(self, beta: float) -> float:
        """The largest distance of a wrongly answered sum from its threshold, in records, but for a chance of `beta`.

        With chance ``1 - beta`` at least, all that is said to have reached its threshold is above it less alpha, and
        all before that is not said to is below it plus alpha. The common noise stays within a, but for half of beta;
        each sum can err one way alone, and does so by more than b for its part of the other half: alpha is a + b, with
        the exact tails of both noises. (Chen 2018, Theorems 3 and 8, has both ways, and 4 c of noise for 2 c.)

        Raises:
            ValueError: `beta` is not strictly between 0 and 1.

        >>> from fractions import Fraction
        >>> from dpcurves.laws import Family
        >>> noise = Noise(Family.LAPLACE, Fraction(2))
        >>> ThresholdAnswers((10,), noise, noise, comparisons=10, step=1).alpha(0.05)
        18.0
        """
        if not 0 < beta < 1:
            raise Refused("beta", f"a chance between 0 and 1 is needed, got {beta}")
        both_ways, one_way = _beyond(self.common, beta / 4), _beyond(self.own, beta / 2 / self.comparisons)
        return (both_ways + one_way) / self.step


def _beyond(noise: Noise, chance: float) -> int:
    """The least whole number that a draw exceeds, on one side, with at most this chance.

    With ``r = exp(-1 / scale)``, a draw of discrete Laplace noise is above m >= 0 with chance ``r**(m + 1) / (1 + r)``.
    """
    scale = float(noise.parameter)
    return max(0, ceil(-scale * (log(chance) + log1p(exp(-1 / scale)))) - 1)
