"""Single numbers with Cauchy noise of their smooth sensitivity: medians of halves, and the area under a ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, sinh, sqrt
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray, compile_loop
from ..conversation import Plan, UnsupportedQuery
from ..laws import Selection
from ..noise.cauchy import sample_cauchy_floor
from ..noise.randomness import Randomness
from ..privacy import Adjacency, PrivacyLoss
from ..queries import AucQuery, MedianQuery
from .base import ExactTable, QueryMechanism
from .exponential import cut_recursively, pure_epsilon

# The exact scale of Cauchy noise for a number with a smooth sensitivity.


LEAST_EPSILON = Fraction(1, 2**20)
LARGEST_EPSILON = Fraction(32)
SLACK = Fraction(1, 2**36)


class CauchyCalibration(NamedTuple):
    """The scale of the noise for a smooth sensitivity S: S over `alpha`, where S falls by a factor of e to the `beta`.

    Attributes:
        alpha: How much loss a unit of sensitivity may make.
        beta: How fast the sensitivity may change, with room for rounding.
    """

    alpha: Fraction
    beta: float

    def noise_scale(self, sensitivity: float) -> Fraction:
        """The scale of the noise, for a sensitivity that is known up to one part in ``2**38``; rounded up."""
        return Fraction(sensitivity) * (1 + SLACK / 2) / self.alpha


def calibrate_cauchy(epsilon: Fraction) -> CauchyCalibration:
    """The rule with which neighbours lose at most `epsilon`.

    Formal guarantees: let f be a number and S an upper bound of how far one move takes it, from either side, and let S
    change by a factor of at most ``e**beta`` per move. Then ``f + S / alpha * C``, C a standard Cauchy variable, loses
    at most epsilon per move. *Proof.* Cauchy densities of centres f, f' and scales s, s' are Poisson kernels at the
    points (f, s) and (f', s') of the upper half plane, seen from its edge; the supremum of the log ratio of two of
    these is the hyperbolic distance of the points, ``arcosh(1 + ((f - f')**2 + (s - s')**2) / (2 s s'))``. Let
    ``r >= 1`` be the ratio of the larger to the smaller scale. As |f - f'| is at most the smaller S, the distance is at
    most epsilon if ``(alpha**2 + 1) / r + r <= 2 cosh(epsilon)``. The left side is convex in r: it is enough to look
    at r = 1 and at ``r = e**beta``, that is, ``alpha**2 <= 2 (cosh(epsilon) - 1)`` and
    ``alpha**2 <= 2 e**beta (cosh(epsilon) - cosh(beta))``. *End of proof.* (Nissim, Raskhodnikova and Smith 2007 have
    alpha = beta = epsilon / 6; an eighth, with beta = epsilon, as is also published, is too little noise.) Here beta is
    ``epsilon / 2``; alpha is rounded down, and so is beta, by what rounding of S can take.

    Raises:
        UnsupportedQuery: epsilon is below ``2**-20``.

    >>> round(float(calibrate_cauchy(Fraction(1, 10)).alpha), 4)
    0.0888
    """
    if epsilon < LEAST_EPSILON:
        raise UnsupportedQuery("epsilon, rho", f"noise by smooth sensitivity needs an epsilon of 2**-20, got {epsilon}")
    allowed = float(min(epsilon, LARGEST_EPSILON))
    steady, changing = 2 * sinh(allowed / 2), 2 * sqrt(exp(allowed / 2) * sinh(3 * allowed / 4) * sinh(allowed / 4))
    alpha = Fraction(min(steady, changing)) * (1 - SLACK)
    return CauchyCalibration(alpha, float(Fraction(allowed) / 2 - 2 * SLACK))


def calibrate_cauchy_to_loss(loss: PrivacyLoss, adjacency: Adjacency, parts: int) -> CauchyCalibration:
    """The rule for each of so many numbers that one record may move, all for this loss; neighbours differ by their L1
    sensitivity.

    A pure loss of epsilon is ``epsilon**2 / 2`` zero-concentrated: so a zero-concentrated loss, of which each number
    gets its part, pays for an epsilon of ``sqrt(2 * rho)``, rounded down.
    """
    return calibrate_cauchy(pure_epsilon(loss * Fraction(1, parts)) / adjacency.l1_sensitivity)


HALF = Fraction(1, 2)
LEAST_SENSITIVITY = 2.0**-500
"""A sensitivity, in half cells, that is above 0; far above where floating point loses digits."""


@dataclass(frozen=True, slots=True)
class NoisyMedians(QueryMechanism):
    """Cut the records at a noisy median, and each half again (Chen, Machanavajjhala, Reiter and Barrientos 2016).

    A record is in the middle of its cell; the median of k records is the one of rank ``ceil(k / 2)``, and the middle of
    the piece if there is none. Noise is added, and the sum is rounded to the nearest edge; where that lies outside of
    the piece, its middle is taken. `ExponentialQuantiles` is far more accurate; this one is the baseline for
    comparisons.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. Each level has an equal part of the
    loss. After equal cuts a record that comes or goes is in one piece of each level, and changes its median by no more
    than `median_sensitivity`, which changes by no more than the rule of `calibrate_cauchy` has room for: that is its
    guarantee. Under replace-one a record goes and one comes, in one piece or in two, for twice that, and so on for
    units of several records. Missing records count nowhere.
    """

    query_types = (MedianQuery,)
    display_name = "noisy medians"

    def _plan(self, query: MedianQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        calibrate_cauchy_to_loss(loss, adjacency, query.levels)
        pieces = 2**query.levels
        even = tuple(query.cells * i // pieces for i in range(1, pieces))
        return Plan(query, loss, adjacency, "recursive medians by smooth sensitivity", Selection(even), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Edge numbers, ``2**levels - 1`` of them, that do not fall."""
        query: MedianQuery = self.require_query(plan)
        rule = calibrate_cauchy_to_loss(plan.loss, plan.adjacency, query.levels)
        cells: IntArray = table[:-1].astype(np.int64)

        def choose_cut(start: int, end: int, pieces: int) -> int:
            counts = cells[start:end]
            scale = rule.noise_scale(median_sensitivity(counts, rule.beta)) / 2
            cut = sample_cauchy_floor(Fraction(find_median(counts), 2) + HALF, scale, randomness)
            return cut if 0 <= cut <= len(counts) else len(counts) // 2

        return tuple(cut_recursively(0, query.cells, 2**query.levels, choose_cut))


def find_median(counts: IntArray) -> int:
    """SECRET, in half cells from the left end of the piece: cells have their middles at 1, 3, 5, ...

    >>> find_median(np.array([0, 1, 0, 2])), find_median(np.array([0, 0, 0]))
    (7, 3)
    """
    below = np.cumsum(counts)
    if len(counts) == 0 or below[-1] == 0:
        return len(counts)
    return 2 * int(np.searchsorted(below, (below[-1] + 1) // 2)) + 1


def median_sensitivity(counts: IntArray, beta: float) -> float:
    """SECRET: smooth sensitivity of `find_median` at these counts when a record comes or goes, in half widths of a cell.

    The largest ``exp(-beta * t)`` times the distance of two places of which one is the median or left of it, one the
    median or right of it, and with t records in between, the median among them (Nissim, Raskhodnikova and Smith 2007,
    Proposition 3.2); both ends of the piece are such places, too.

    Formal guarantees: let m be the rank of the median of k records, and let one record come or go.

    - *It bounds the change*: a record that comes moves the median to its place or to a neighbour in rank, or not at
      all; so by at most the distance of the two neighbours' places from it: those are pairs with t = 0, on both sides.
    - *It is smooth*: take any pair, of ranks i <= m <= j, t = j - i - 1, on one side. On the other one the same places,
      or places further out if one of them was the record that went, have ranks whose distance is at most one larger,
      and that still have the median between them, once the inner one of them is moved outwards by one rank where the
      median has moved past it; in all t grows by at most 1, and the distance does not fall.

    Where the piece has no record, the median is its middle, and this is its width: no distance is larger, and with one
    record the ends of the piece are a pair with t = 1. It is `LEAST_SENSITIVITY` at least: what is rounded to 0 would
    have no noise at all, and a constant floor takes neither property away.

    >>> round(median_sensitivity(np.array([0, 5, 0, 0]), beta=1.0), 4)  # two before the end
    0.6767
    """
    width = 2 * len(counts)
    total = int(counts.sum())
    if total == 0:
        return float(width)
    rank = (total + 1) // 2
    held = np.flatnonzero(counts)
    last = np.cumsum(counts[held])
    first = last - counts[held] + 1
    left, right = first <= rank, last >= rank
    inward = np.concatenate(([0], np.minimum(last[left], rank)))
    outward = np.concatenate((np.maximum(first[right], rank), [total + 1]))
    places = 2 * held + 1
    found = _largest_weighted_distance(
        np.concatenate(([0], places[left])), np.exp(-beta * (rank - inward)),
        np.concatenate((places[right], [width])), np.exp(-beta * (outward - rank - 1)),
    )  # fmt: skip
    return max(float(found), LEAST_SENSITIVITY)


@compile_loop
def _largest_weighted_distance(left: IntArray, of_left: FloatArray, right: IntArray, of_right: FloatArray) -> float:
    """The largest distance of a left and a right place, times the weights of both; places rise.

    The last left place has weight 1, so that for every right place but the median itself something is above 0, however
    many records lie in between: where all were rounded to 0 the search would be lost. The logarithm of a distance is
    concave: the further out the right place is, the nearer is the best left one. So the right places are halved, and
    for the middle one only those left places are tried that halves before leave open.
    """
    best = 0.0
    stack = np.empty((128, 4), np.int64)
    stack[0] = 0, len(right), 0, len(left) - 1
    waiting = 1
    while waiting:
        waiting -= 1
        low, high, first, final = stack[waiting]
        middle = (low + high) // 2
        largest, at = -1.0, first
        for place in range(first, final + 1):
            value = (right[middle] - left[place]) * of_left[place]
            if value > largest:
                largest, at = value, place
        best = max(best, largest * of_right[middle])
        if low < middle:
            stack[waiting] = low, middle, first, at
            waiting += 1
        if middle + 1 < high:
            stack[waiting] = middle + 1, high, at, final
            waiting += 1
    return best


AREA_STEPS = 2**20


@dataclass(frozen=True, slots=True)
class NoisyAuc(QueryMechanism):
    """The chance that a positive has a higher score than a negative, and noise (Boyd, Lantz and Page 2015, corrected).

    A tie counts one half; where a class is empty the area is one half. The sum is rounded to a step of ``2**-20`` and
    brought into [0, 1]. It says nothing of the curve.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. The area is a mean over the n records
    of a class of numbers in [0, 1], so one record more changes it by at most ``1 / (n + 1)``; and by 1 at most if the
    class was empty. With k the size of the smaller class, before or after, that is at most ``1 / max(k, 1)``. One move
    changes k by 1 at most, so `auc_sensitivity`, the largest ``exp(-beta * t) / max(k - t, 1)``, changes by a factor
    of ``exp(beta)`` at most: see `calibrate_cauchy`. A record that is replaced is two moves, whatever its label. (The
    published bounds take the class sizes as known; they are not.) Missing records count nowhere.
    """

    query_types = (AucQuery,)
    display_name = "a noisy area"

    def _plan(self, query: AucQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        calibrate_cauchy_to_loss(loss, adjacency, parts=1)
        return Plan(query, loss, adjacency, "area by smooth sensitivity", Selection((AREA_STEPS // 2,)), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """The area under the curve, in steps of ``2**-20``."""
        query: AucQuery = self.require_query(plan)
        counts = [int(count) for count in table[:-1]]
        negative, positive = counts[: query.cells], counts[query.cells :]
        rule = calibrate_cauchy_to_loss(plan.loss, plan.adjacency, parts=1)
        sensitivity = auc_sensitivity(min(sum(negative), sum(positive)), rule.beta)
        step = sample_cauchy_floor(
            AREA_STEPS * roc_area(negative, positive) + HALF, AREA_STEPS * rule.noise_scale(sensitivity), randomness
        )
        return (min(max(step, 0), AREA_STEPS),)


def roc_area(negative: list[int], positive: list[int]) -> Fraction:
    """SECRET: of all pairs, the share in which the positive is higher, ties by half; one half if there is no pair.

    >>> roc_area([1, 1, 0], [0, 1, 2])
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


def auc_sensitivity(smaller: int, beta: float) -> float:
    """SECRET: from the size of the smaller class. The logarithm is convex in t: the first or the last is the largest.

    >>> auc_sensitivity(0, 0.1), auc_sensitivity(100, 0.1)
    (1.0, 0.01)
    """
    least = max(smaller, 1)
    return max(1 / least, exp(-beta * (least - 1)))
