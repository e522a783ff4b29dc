"""Smooth sensitivity with Cauchy noise: differentially private medians and areas under ROC curves.

Some numbers change little on typical data and a lot on rare data. Noise for the worst case would drown them. The smooth
sensitivity S(x) follows the data x instead, slowly enough that it reveals no more than the loss allows. Released is

    f(x) + S(x) / alpha * C        C: a standard Cauchy variable

for an S with, for all neighbours x and x',

    |f(x) - f(x')| <= min(S(x), S(x'))       S(x) <= exp(beta) * S(x')

- `NoisyMedians`: recursive medians. ``S = max_t exp(-beta * t) * A(t)``, where A(t) is the largest distance of two
  positions around the median with t records between them (`median_sensitivity`).
- `NoisyAuc`: the area under a ROC curve. ``S = max_t exp(-beta * t) / max(k - t, 1)``, where k is the number of records
  of the smaller class (`auc_sensitivity`).
- `calibrate_cauchy`: epsilon -> alpha and beta.

Formal guarantees: epsilon-DP per added or removed record, for beta = epsilon / 2 and

    alpha**2 = min(2 * (cosh(epsilon) - 1), 2 * exp(beta) * (cosh(epsilon) - cosh(beta)))

because the log ratio of two Cauchy densities is at most the hyperbolic distance of (f, S) and (f', S') in the upper
half plane; `calibrate_cauchy` has the proof. The published pair is alpha = beta = epsilon / 6, with more noise.

References: Nissim, Raskhodnikova and Smith 2007; Boyd, Lantz and Page 2015; Chen, Machanavajjhala, Reiter and
Barrientos 2016.

>>> round(float(calibrate_cauchy(Fraction(1)).alpha), 3)
1.042
>>> auc_sensitivity(100, beta=0.1), auc_sensitivity(0, beta=0.1)  # 100 records in the smaller class, or none
(0.01, 1.0)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, sinh, sqrt
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray, compile_loop
from ..conversation import Plan, UnsupportedQuery
from ..distributions import Selection
from ..noise.cauchy import sample_cauchy_floor
from ..noise.randomness import Randomness
from ..privacy import Adjacency, PrivacyLoss
from ..queries import AucQuery, MedianQuery
from .base import ExactTable, QueryMechanism
from .exponential import cut_recursively, pure_epsilon

# Scales of Cauchy noise for numbers with a smooth sensitivity.


ROUNDING_SLACK = Fraction(1, 2**36)
"""Ratio. Relative slack for rounding errors of floating-point functions: noise scales are larger by about this, so that
rounding never weakens the guarantee."""


class CauchyCalibration(NamedTuple):
    """The two parameters of Cauchy noise for a smooth sensitivity S: the noise has the scale S / alpha.

    Attributes:
        alpha: Sensitivity per unit of noise scale.
        beta: Largest change of ``log(S)`` when one record is added or removed, minus a slack for rounding.
    """

    alpha: Fraction
    beta: float

    def noise_scale(self, sensitivity: float) -> Fraction:
        """Return the scale of the noise, rounded up, for a smooth sensitivity with relative error below ``2**-38``.

        Args:
            sensitivity: SECRET. Smooth sensitivity, in any unit; the scale has the same unit.
        """
        return Fraction(sensitivity) * (1 + ROUNDING_SLACK / 2) / self.alpha


def calibrate_cauchy(epsilon: Fraction) -> CauchyCalibration:
    """Return the parameters of Cauchy noise at which adding or removing one record loses at most `epsilon`.

    Here beta is ``epsilon / 2``. Alpha and beta are rounded down by the largest rounding error of S. The published pair
    is alpha = beta = epsilon / 6 (Nissim, Raskhodnikova and Smith 2007). Another published pair, with beta = epsilon
    and an eighth, has too little noise.

    Formal guarantees: let f be a number, let S bound its change by one added or removed record from either side, and
    let S change by a factor of at most ``e**beta`` at the same time. Then ``f + S / alpha * C``, C a standard Cauchy
    variable, loses at most epsilon.

    *Proof.* Cauchy densities of centres f, f' and scales s, s' are Poisson kernels at the points (f, s) and (f', s') of
    the upper half plane, seen from its boundary. The supremum of the log ratio of two of these is the hyperbolic
    distance of the points, ``arcosh(1 + ((f - f')**2 + (s - s')**2) / (2 s s'))``. Let ``r >= 1`` be the ratio of the
    larger to the smaller scale. As |f - f'| is at most the smaller S, the distance is at most epsilon if
    ``(alpha**2 + 1) / r + r <= 2 cosh(epsilon)``. The left side is convex in r, so r = 1 and ``r = e**beta`` suffice:
    ``alpha**2 <= 2 (cosh(epsilon) - 1)`` and ``alpha**2 <= 2 e**beta (cosh(epsilon) - cosh(beta))``. *End of proof.*

    Args:
        epsilon: Loss of one added or removed record; values above 32 count as 32.

    Raises:
        UnsupportedQuery: epsilon is below ``2**-20``.

    >>> round(float(calibrate_cauchy(Fraction(1, 10)).alpha), 4)
    0.0888
    """
    # The least epsilon of a number is 2**-20; a smaller one is refused.
    if epsilon < Fraction(1, 2**20):
        raise UnsupportedQuery(
            "epsilon, rho",
            f"each number needs an epsilon of at least 2**-20, got {epsilon};"
            " give a larger loss or ask for fewer numbers",
        )
    # A larger epsilon than 32 is replaced by 32, so that hyperbolic functions do not overflow
    epsilon_float = float(min(epsilon, Fraction(32)))
    alpha_at_equal_scales = 2 * sinh(epsilon_float / 2)
    alpha_at_changed_scales = 2 * sqrt(exp(epsilon_float / 2) * sinh(3 * epsilon_float / 4) * sinh(epsilon_float / 4))
    alpha = Fraction(min(alpha_at_equal_scales, alpha_at_changed_scales)) * (1 - ROUNDING_SLACK)
    return CauchyCalibration(alpha, float(Fraction(epsilon_float) / 2 - 2 * ROUNDING_SLACK))


def calibrate_cauchy_to_loss(loss: PrivacyLoss, adjacency: Adjacency, parts: int) -> CauchyCalibration:
    """Return the parameters of Cauchy noise for `parts` numbers that together lose at most `loss`.

    A record may change all of the numbers, so each gets an equal fraction of the loss. Neighbours differ by at most
    `l1_sensitivity` added or removed records, so epsilon is divided by that. A pure loss of epsilon has
    ``rho = epsilon**2 / 2``, so a rho pays for an epsilon of ``sqrt(2 * rho)``, rounded down.

    Args:
        loss: Privacy budget of all numbers together.
        adjacency: Neighbouring relation of the guarantee.
        parts: Number of released numbers, at least 1.

    Raises:
        UnsupportedQuery: epsilon per number is below ``2**-20``.
    """
    return calibrate_cauchy(pure_epsilon(loss * Fraction(1, parts)) / adjacency.l1_sensitivity)


HALF = Fraction(1, 2)
"""Cells. A half, in exact arithmetic: the distance of the middle of a cell from its edge."""
LEAST_SENSITIVITY = 2.0**-500
"""Half cells. Positive lower limit of sensitivities, far above the precision limit of floating point; a value rounded
to 0 would have no noise.
"""


@dataclass(frozen=True, slots=True)
class NoisyMedians(QueryMechanism):
    """Cut the records at a noisy median, and cut each half again (Chen, Machanavajjhala, Reiter and Barrientos 2016).

    This is a baseline for comparisons; `ExponentialQuantiles` is far more accurate. A record lies at the middle of its
    cell. The median of k records is the record of rank ``ceil(k / 2)``; a piece without records has its middle as
    median. Noise is added, and the sum is rounded to the nearest edge. If that lies outside the piece, the middle edge
    is used.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. *Proof idea*: each level of cuts has
    an equal budget fraction. After equal cuts, an added or removed record is in one piece of each level. There it
    changes the median by at most `median_sensitivity`, which itself changes slowly enough for `calibrate_cauchy`. Under
    replace-one a record is removed and one is added, in one piece or in two, which loses twice as much; units of
    several records lose as many times as they have records. Missing records are not counted.
    """

    query_types = (MedianQuery,)
    display_name = "noisy medians"

    def _plan(self, query: MedianQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose the noise of medians by smooth sensitivity, and return the plan of the release; its example cuts are
        equally spaced edges.

        Args:
            query: The query.
            loss: Privacy loss of the query.
            adjacency: Neighbouring relation of the guarantee.

        Raises:
            UnsupportedQuery: epsilon per level is below ``2**-20``.
        """
        calibrate_cauchy_to_loss(loss, adjacency, query.levels)
        pieces = 2**query.levels
        even = tuple(query.cells * i // pieces for i in range(1, pieces))
        return Plan(query, loss, adjacency, "recursive medians by smooth sensitivity", Selection(even), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Cut the cells recursively at noisy medians, and return the ``2**levels - 1`` edges, in nondecreasing order.

        Args:
            table: SECRET. Exact counts of the cells of the axis, missing records last, of shape ``(cells + 1,)``.
            plan: The plan that `plan` returned for this query.
            randomness: Source of random bits.
        """
        query: MedianQuery = self.require_query(plan)
        rule = calibrate_cauchy_to_loss(plan.loss, plan.adjacency, query.levels)
        cells: IntArray = table[:-1].astype(np.int64)

        def choose_cut(start: int, end: int, pieces: int) -> int:
            """SECRET: return the noisy median edge of the cells from `start` to `end`, counted from `start`.

            Args:
                start: First cell of the piece.
                end: Cell after its last one.
                pieces: Number of pieces into which these cells will be cut, which does not matter here.

            Returns:
                An edge from 0 to ``end - start``; the middle edge if noise leads outside.
            """
            counts = cells[start:end]
            scale = rule.noise_scale(median_sensitivity(counts, rule.beta)) / 2
            cut = sample_cauchy_floor(Fraction(find_median(counts), 2) + HALF, scale, randomness)
            return cut if 0 <= cut <= len(counts) else len(counts) // 2

        return tuple(cut_recursively(0, query.cells, 2**query.levels, choose_cut))


def find_median(counts: IntArray) -> int:
    """SECRET: return the median of a piece, in half cells from its left end.

    Cells have their middles at 1, 3, 5, ...; a piece without records has its own middle as median.

    Args:
        counts: SECRET. Exact number of records in each cell of the piece, of shape ``(cells,)``.

    >>> find_median(np.array([0, 1, 0, 2])), find_median(np.array([0, 0, 0]))
    (7, 3)
    """
    below = np.cumsum(counts)
    if len(counts) == 0 or below[-1] == 0:
        return len(counts)
    return 2 * int(np.searchsorted(below, (below[-1] + 1) // 2)) + 1


def median_sensitivity(counts: IntArray, beta: float) -> float:
    """SECRET: return the smooth sensitivity of `find_median` to an added or removed record, in half cells.

    It is the largest ``exp(-beta * t)`` times the distance of two positions with t records between them, including the
    median (Nissim, Raskhodnikova and Smith 2007, Proposition 3.2). One position is at or left of the median, one at or
    right of it; both ends of the piece are positions as well.

    Formal guarantees: let m be the rank of the median of k records, and let one record be added or removed.

    - *It bounds the change*: the record moves the median to its own position, to a neighbour in rank, or not at all. So
      the median moves by at most the distance of the two neighbouring positions: these are pairs with t = 0, on both
      sides.
    - *It is smooth*: take any pair of ranks i <= m <= j, t = j - i - 1, in one table. In the other table the same
      positions, or positions further out if one of them was the removed record, have ranks whose distance is at most
      one larger. They still have the median between them once the inner one is moved outwards by one rank, if the
      median has moved past it. So t grows by at most 1, and the distance does not shrink.

    In a piece without records the median is its middle, and this is its width: no distance is larger, and with one
    record the ends of the piece are a pair with t = 1. The result is at least `LEAST_SENSITIVITY`, because a value
    rounded to 0 would have no noise; a constant floor preserves both properties.

    Args:
        counts: SECRET. Exact number of records in each cell of the piece, of shape ``(cells,)``.
        beta: Largest change of the logarithm of the result per added or removed record.

    >>> round(median_sensitivity(np.array([0, 5, 0, 0]), beta=1.0), 4)  # two before the end
    0.6767
    """
    width = 2 * len(counts)
    total = int(counts.sum())
    if total == 0:
        return float(width)
    rank = (total + 1) // 2
    occupied = np.flatnonzero(counts)
    last_rank = np.cumsum(counts[occupied])
    first_rank = last_rank - counts[occupied] + 1
    left = first_rank <= rank
    right = last_rank >= rank
    inward = np.concatenate(([0], np.minimum(last_rank[left], rank)))
    outward = np.concatenate((np.maximum(first_rank[right], rank), [total + 1]))
    positions = 2 * occupied + 1
    distance = _largest_weighted_distance(
        np.concatenate(([0], positions[left])), np.exp(-beta * (rank - inward)),
        np.concatenate((positions[right], [width])), np.exp(-beta * (outward - rank - 1)),
    )  # fmt: skip
    return max(float(distance), LEAST_SENSITIVITY)


@compile_loop
def _largest_weighted_distance(
    left: IntArray, left_weights: FloatArray, right: IntArray, right_weights: FloatArray
) -> float:
    """Return the largest distance between a left and a right position, times the weights of both: the maximum of smooth
    sensitivity.

    The search is a divide and conquer. The logarithm of a distance is concave, so the further out the right position,
    the nearer the best left one. Right positions are bisected, and for each middle one only those left positions are
    tried that earlier bisections left possible. The last left position has weight 1, so the weighted distance is
    positive for each right position except the median, however many records lie between; if all were rounded to 0 the
    search would fail.

    Args:
        left: Increasing positions, at least one.
        left_weights: Weight of each, increasing to 1.
        right: Increasing positions, at least one, none left of the last left one.
        right_weights: Weight of each, decreasing.
    """
    overall = 0.0
    stack = np.empty((128, 4), np.int64)
    stack[0] = 0, len(right), 0, len(left) - 1
    pending = 1
    while pending:
        pending -= 1
        low, high, first, final = stack[pending]
        middle = (low + high) // 2
        largest = -1.0
        best_left = first
        for candidate in range(first, final + 1):
            value = (right[middle] - left[candidate]) * left_weights[candidate]
            if value > largest:
                largest, best_left = value, candidate
        overall = max(overall, largest * right_weights[middle])
        if low < middle:
            stack[pending] = low, middle, first, best_left
            pending += 1
        if middle + 1 < high:
            stack[pending] = middle + 1, high, best_left, final
            pending += 1
    return overall


AREA_STEPS = 2**20
"""Steps. A released area is a whole number of steps of ``2**-20``, about 1e-6, so that the noise is added in
integers."""


@dataclass(frozen=True, slots=True)
class NoisyAuc(QueryMechanism):
    """Release the area under a ROC curve with noise (Boyd, Lantz and Page 2015, corrected).

    The area is the probability that a random positive scores higher than a random negative. A tie counts one half; if a
    class is empty, the area is one half. The noisy area is rounded to a multiple of ``2**-20`` and clipped to [0, 1].
    The curve itself is not released.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. *Proof*: the area is a mean, over the
    n records of a class, of numbers in [0, 1]. So one more record changes it by at most ``1 / (n + 1)``, or by at most
    1 if the class was empty. With k the size of the smaller class, before or after, that is at most ``1 / max(k, 1)``.
    One added or removed record changes k by at most 1, so `auc_sensitivity`, the largest
    ``exp(-beta * t) / max(k - t, 1)``, changes by a factor of at most ``exp(beta)``. That is what `calibrate_cauchy`
    needs. A replaced record is one removed and one added, with any labels. (The published bounds assume that class
    sizes are known; they are not.) Missing records are not counted.
    """

    query_types = (AucQuery,)
    display_name = "a noisy area"

    def _plan(self, query: AucQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose the noise of the area under the ROC curve, and return the plan of the release; its example area is one
        half.

        Args:
            query: The query.
            loss: Privacy loss of the query.
            adjacency: Neighbouring relation of the guarantee.

        Raises:
            UnsupportedQuery: epsilon is below ``2**-20``.
        """
        calibrate_cauchy_to_loss(loss, adjacency, parts=1)
        return Plan(query, loss, adjacency, "area by smooth sensitivity", Selection((AREA_STEPS // 2,)), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Return one integer: the noisy area under the ROC curve, in steps of ``2**-20``, from 0 to ``2**20``.

        Args:
            table: SECRET. Exact counts of negatives by score, then of positives by score, then of missing records,
                flat.
            plan: The plan that `plan` returned for this query.
            randomness: Source of random bits.
        """
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
    """SECRET: return the exact area under the ROC curve; 1/2 if a class is empty.

    It is the fraction of pairs of a negative and a positive in which the positive scores higher; ties count one half.

    Args:
        negative: SECRET. Number of negatives at each score, scores increasing.
        positive: SECRET. Number of positives at each score.

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
    """SECRET: return the smooth sensitivity of the area under the ROC curve to an added or removed record.

    Args:
        smaller: SECRET. Number of records of the smaller class; 0 counts as 1.
        beta: Largest change of the logarithm of the result per added or removed record.

    >>> auc_sensitivity(0, 0.1), auc_sensitivity(100, 0.1)
    (1.0, 0.01)
    """
    size = max(smaller, 1)
    return max(1 / size, exp(-beta * (size - 1)))  # log-convex in t, so the maximum is at an end
