"""Medians, medians of halves, and so on, each with Cauchy noise of the smooth sensitivity of the median."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...arguments import WrongKind
from ...arrays import FloatArray, IntArray
from ...compiled import compiled
from ...laws import Selection
from ...noise.cauchy import whole_below
from ...noise.randomness import Randomness
from ...privacy import Adjacency, PrivacyLoss
from ...queries import MedianQuery, Query
from ...release import Plan, UnsupportedQuery
from ..base import ExactTable
from .admissible_cauchy import CauchyRule, rule_for

HALF = Fraction(1, 2)
LEAST_SENSITIVITY = 2.0**-500
"""A sensitivity, in half cells, that is above 0; far above where floating point loses digits."""


@dataclass(frozen=True, slots=True)
class NoisyMedians:
    """Cut the records at a noisy median, and each half again (Chen, Machanavajjhala, Reiter and Barrientos 2016).

    A record is in the middle of its cell; the median of k records is the one of rank ``ceil(k / 2)``, and the middle of
    the piece if there is none. Noise is added, and the sum is rounded to the nearest edge; where that lies outside of
    the piece, its middle is taken. `ExponentialQuantiles` is far more accurate; this one is the baseline for
    comparisons.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. Each level has an equal part of the
    loss. After equal cuts a record that comes or goes is in one piece of each level, and changes its median by no more
    than `smooth_sensitivity`, which changes by no more than the rule of `cauchy_rule` has room for: that is its
    guarantee. Under replace-one a record goes and one comes, in one piece or in two, for twice that, and so on for
    units of several records. Missing records count nowhere.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not isinstance(query, MedianQuery):
            raise UnsupportedQuery("question", f"noisy medians cannot answer {type(query).__name__}")
        rule_for(loss, adjacency, query.levels)
        pieces = 2**query.levels
        even = tuple(query.cells * i // pieces for i in range(1, pieces))
        return Plan(query, loss, adjacency, "recursive medians by smooth sensitivity", Selection(even), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Edge numbers, ``2**levels - 1`` of them, that do not fall."""
        if not isinstance(plan.query, MedianQuery):
            raise WrongKind("plan", f"a plan of noisy medians is needed, not one made by {plan.made_by}")
        rule = rule_for(plan.loss, plan.adjacency, plan.query.levels)
        cutter = _MedianCutter(table[:-1].astype(np.int64), rule, randomness)
        return tuple(cutter.cuts(0, plan.query.cells, plan.query.levels))


@dataclass(frozen=True, slots=True, repr=False)
class _MedianCutter:
    """SECRET: records of each cell, how noise is priced, and chance."""

    counts: IntArray
    rule: CauchyRule
    randomness: Randomness

    def cuts(self, start: int, end: int, levels: int) -> Iterator[int]:
        """Cuts of the cells between two edges, from left to right."""
        if levels == 0:
            return
        cut = start + self._cut(self.counts[start:end])
        yield from self.cuts(start, cut, levels - 1)
        yield cut
        yield from self.cuts(cut, end, levels - 1)

    def _cut(self, counts: IntArray) -> int:
        sensitivity = smooth_sensitivity(counts, self.rule.beta)
        centre = Fraction(median(counts), 2) + HALF
        cut = whole_below(centre, self.rule.scale(sensitivity) / 2, self.randomness)
        return cut if 0 <= cut <= len(counts) else len(counts) // 2


def median(counts: IntArray) -> int:
    """SECRET, in half cells from the left end of the piece: cells have their middles at 1, 3, 5, ...

    >>> median(np.array([0, 1, 0, 2])), median(np.array([0, 0, 0]))
    (7, 3)
    """
    below = np.cumsum(counts)
    if len(counts) == 0 or below[-1] == 0:
        return len(counts)
    return 2 * int(np.searchsorted(below, (below[-1] + 1) // 2)) + 1


def smooth_sensitivity(counts: IntArray, beta: float) -> float:
    """SECRET: how far `median` moves when a record comes or goes, at most, smoothed over all tables; in half cells.

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

    >>> round(smooth_sensitivity(np.array([0, 5, 0, 0]), beta=1.0), 4)  # two before the end
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
    found = _largest(
        np.concatenate(([0], places[left])), np.exp(-beta * (rank - inward)),
        np.concatenate((places[right], [width])), np.exp(-beta * (outward - rank - 1)),
    )  # fmt: skip
    return max(float(found), LEAST_SENSITIVITY)


@compiled
def _largest(left: IntArray, of_left: FloatArray, right: IntArray, of_right: FloatArray) -> float:
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
