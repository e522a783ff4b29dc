"""The law of randomised reports about one tiling: public chances of the answers that a report supports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

from dpcurves.arguments import Refused
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.laws.law import Answered, starts_from_json, starts_to_json
from dpcurves.queries.query import laid_out

MOST_REPORTS = 2**50
_CHANCES = ("own", "other", "own_and_other", "two_others")


@dataclass(frozen=True, slots=True)
class Responses:
    """Reports of so many people about which interval of a tiling they are in, or that their value is missing.

    Attributes:
        starts: The first cells of the intervals.
        reports: How many people reported.
        randomiser: The name of the randomiser that they reported by.
        own: The probability that a report supports the true answer.
        other: The probability that it supports a given other answer.
        own_and_other: The probability that it supports the true answer and a given other one.
        two_others: The probability that it supports two given other answers.

    Raises:
        ValueError: there is a negative number of reports, or these are no chances that tell answers apart.
    """

    starts: range | tuple[int, ...]
    reports: int
    randomiser: str
    own: Fraction
    other: Fraction
    own_and_other: Fraction
    two_others: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.reports <= MOST_REPORTS:
            raise Refused("reports", f"from 0 to {MOST_REPORTS} are counted")
        if not 0 <= self.other < self.own <= 1 or not all(0 <= chance <= 1 for chance in self.pairs):
            raise Refused("responses", "the true answer is supported with a larger chance than others")

    @property
    def pairs(self) -> tuple[Fraction, Fraction]:
        """The probabilities that two answers are both supported."""
        return self.own_and_other, self.two_others

    @property
    def gain(self) -> Fraction:
        """The difference of the chances that a report supports the true answer and another one."""
        return self.own - self.other

    @property
    def first(self) -> IntArray:
        """The first cells of the intervals."""
        return laid_out(self.starts)

    @property
    def offset(self) -> float:
        """The expected number of reports that support an answer that nobody has."""
        return float(self.reports * self.other)

    def scatter(self, share: Any, *, together: bool) -> Any:
        """The variance, per report, of the debiased count of an answer of this share: array to array, or a number.

        True answers are given; what sampling adds is not in it. With `together`, where all answers stand side by side
        and their sum is known: *then debiased counts scatter as if they were independent, with this variance, and their
        sum were made right.* Proof. Given the true answers c, supports of u and w have the covariance
        ``n two + (c_u + c_w) more``, for two numbers, and u itself has a variance that is larger by d_u. Sums over
        answers with weights that add up to 0 see neither the constant nor what depends on u or on w alone; least
        squares under a known sum has such weights. So the variance less ``n two + 2 c_u more`` is all that counts.
        """
        own, other, two, more, gain = _covariances(self.own, self.other, *self.pairs)
        variance = share * own + (1 - share) * other
        if together:
            variance = variance - two - 2 * share * more
        return variance / gain**2

    def answered(self, tallies: FloatArray) -> Answered:
        """The counts of all answers that tallies of support tell."""
        counts = (tallies - self.offset) / float(self.gain)
        common, with_own = (float(self.scatter(share, together=True)) for share in (0.0, 1.0))
        return Answered(counts + (self.reports - counts.sum()) / len(counts), common, with_own - common)

    def to_json(self) -> dict[str, Any]:
        """Plain objects."""
        chances = {name: str(getattr(self, name)) for name in _CHANCES}
        return {
            "starts": starts_to_json(self.starts),
            "reports": self.reports,
            "randomiser": self.randomiser,
            **chances,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        chances = (Fraction(stored[name]) for name in _CHANCES)
        return cls(starts_from_json(stored["starts"]), int(stored["reports"]), str(stored["randomiser"]), *chances)


@lru_cache(maxsize=256)  # a pure function of public chances
def _covariances(own: Fraction, other: Fraction, own_and_other: Fraction, two_others: Fraction) -> tuple[float, ...]:
    """Variances of the support of the true answer and of another one, the terms of `scatter`, and the gain."""
    two = two_others - other**2
    more = own_and_other - own * other - two
    exact = own * (1 - own), other * (1 - other), two, more, own - other
    return tuple(float(each) for each in exact)
