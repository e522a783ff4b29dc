"""The area under an ROC curve as one number, with Cauchy noise of its smooth sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp

from ...arguments import WrongKind
from ...laws import Selection
from ...noise.cauchy import whole_below
from ...noise.randomness import Randomness
from ...privacy import Adjacency, PrivacyLoss
from ...queries import AucQuery, Query
from ...release import Plan, UnsupportedQuery
from ..base import ExactTable
from .admissible_cauchy import rule_for

AREA_STEPS = 2**20
HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class NoisyAuc:
    """The chance that a positive has a higher score than a negative, and noise (Boyd, Lantz and Page 2015, corrected).

    A tie counts one half; where a class is empty the area is one half. The sum is rounded to a step of ``2**-20`` and
    brought into [0, 1]. It says nothing of the curve.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. The area is a mean over the n records
    of a class of numbers in [0, 1], so one record more changes it by at most ``1 / (n + 1)``; and by 1 at most if the
    class was empty. With k the size of the smaller class, before or after, that is at most ``1 / max(k, 1)``. One move
    changes k by 1 at most, so `smooth_sensitivity`, the largest ``exp(-beta * t) / max(k - t, 1)``, changes by a factor
    of ``exp(beta)`` at most: see `cauchy_rule`. A record that is replaced is two moves, whatever its label. (The
    published bounds take the class sizes as known; they are not.) Missing records count nowhere.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not isinstance(query, AucQuery):
            raise UnsupportedQuery("question", f"a noisy area cannot answer {type(query).__name__}")
        rule_for(loss, adjacency, parts=1)
        return Plan(query, loss, adjacency, "area by smooth sensitivity", Selection((AREA_STEPS // 2,)), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """The area under the curve, in steps of ``2**-20``."""
        if not isinstance(plan.query, AucQuery):
            raise WrongKind("plan", f"a plan of a noisy area is needed, not one made by {plan.made_by}")
        counts = [int(count) for count in table[:-1]]
        negative, positive = counts[: plan.query.cells], counts[plan.query.cells :]
        rule = rule_for(plan.loss, plan.adjacency, parts=1)
        sensitivity = smooth_sensitivity(min(sum(negative), sum(positive)), rule.beta)
        step = whole_below(
            AREA_STEPS * area(negative, positive) + HALF, AREA_STEPS * rule.scale(sensitivity), randomness
        )
        return (min(max(step, 0), AREA_STEPS),)


def area(negative: list[int], positive: list[int]) -> Fraction:
    """SECRET: of all pairs, the share in which the positive is higher, ties by half; one half if there is no pair.

    >>> area([1, 1, 0], [0, 1, 2])
    Fraction(11, 12)
    """
    pairs = sum(negative) * sum(positive)
    if pairs == 0:
        return HALF
    below = won = 0
    for lower, upper in zip(negative, positive, strict=True):
        won += upper * (2 * below + lower)
        below += lower
    return Fraction(won, 2 * pairs)


def smooth_sensitivity(smaller: int, beta: float) -> float:
    """SECRET: from the size of the smaller class. The logarithm is convex in t: the first or the last is the largest.

    >>> smooth_sensitivity(0, 0.1), smooth_sensitivity(100, 0.1)
    (1.0, 0.01)
    """
    least = max(smaller, 1)
    return max(1 / least, exp(-beta * (least - 1)))
