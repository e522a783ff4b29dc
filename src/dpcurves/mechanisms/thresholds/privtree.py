"""A partition that is fine where records are many and coarse where they are few, however deep: PrivTree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, isqrt, log

import numpy as np

from ...arguments import WrongKind
from ...arrays import BoolArray, IntArray
from ...laws import Family, Noise, PartitionDecisions
from ...noise.randomness import Randomness
from ...privacy import Adjacency, PrivacyLoss, ReplaceOne
from ...queries import Boxes, Query, Splitting, TreePartitionQuery
from ...release import Plan, UnsupportedQuery
from ..base import ExactTable
from ..sums.calibration import require_loss
from ..sums.linear import draws

LARGEST_SCALE = 2**40
_ROOT_BITS = 40
_ABOVE = 1 + Fraction(1, 2**50)  # times this a logarithm that was rounded, wrong in its last bit, is too large


@dataclass(frozen=True, slots=True)
class PrivTree:
    """Divide all cells, and each part again, as long as a part seems to hold many records (Zhang, Xiao and Xie 2016).

    A box at depth d with c records has the score ``s = max(c - least - d * decay, -decay)``. It is divided if ``s + Z >
    0``, with one draw Z of discrete Laplace noise of scale b. The score falls with the depth, by ``decay >= b log(f)``
    with f the largest number of parts, so that a box without records is divided with chance ``1 / (2 f)`` at most: the
    partition stays small. Boxes of one cell are not asked about, and missing records are in no box.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``: decisions are all that is released.
    Put ``q = exp(-1 / b)``. A box is divided with chance ``p(s) = q**(1 - s) / (1 + q)`` for s <= 0, and
    ``1 - q**s / (1 + q)`` for s >= 0.

    *A record that comes* adds 1 to the counts of the boxes that hold it: a path down from all cells, with one decision
    at each depth, till a box is not divided or cannot be. Let s be the scores before. Where the score is at its least,
    and stays, nothing is lost. Else

    - a *division* becomes likelier: ``log(p(s + 1) / p(s))`` is ``1 / b`` for s < 0, and ``h(q**s)`` for s >= 0, with
      ``h(x) = log((1 + q - q x) / (1 + q - x))``. Here ``h(x) <= x / (2 - x) / b``: as functions of ``1 / b`` both
      begin at 0, and the right side rises at least as fast, for ``1 + q**2 >= 2 q``.
    - *none* becomes less likely, by a log ratio of at most ``1 / b``, and ends the path.

    Scores fall by at least `decay` from box to box on the path. So at most one of them is in ``-decay, ..., -1``, and
    costs ``1 / b``; the k-th from below of those that are not negative is at least ``k * decay``, and
    ``q**decay <= 1 / f``, so it costs at most ``1 / (2 * f**k - 1) / b``. In all the log ratio of the chances of any
    partition, after to before, is at least ``-1 / b`` and at most C / b, where, with H the most divisions on a path,
    ``C = 1 + 1 / (2 * f**0 - 1) + ... + 1 / (2 * f**(H - 2) - 1)`` (the first term alone if H is 1).

    *Pure*: with at most k records to a unit, add-remove loses ``k C / b``. Under replace-one k records go and k come,
    in any order, for ``k (C + 1) / b``. So b is that, over epsilon: less noise than the authors' ``2 - 1 / f`` over
    ``1 - 1 / f``, and twice that under replace-one, which do not use that ``h`` is convex and the loss lopsided.

    *Zero-concentrated*: a log ratio in an interval of length ``(C + 1) / b`` has rho ``((C + 1) / b)**2 / 8`` (see
    `ExponentialQuantiles`). A record that moves has twice that: given the decisions on boxes that hold both its places
    or neither, those on boxes that hold the old one, and the new one, are independent, so their divergences add up. A
    unit of k records has k**2 times as much (Bun and Steinke 2016, Proposition 1.9).
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not isinstance(query, TreePartitionQuery):
            raise UnsupportedQuery(
                "question", f"a partition is grown for a query that asks for one, not {type(query).__name__}"
            )
        growth = growth_of(query, loss, adjacency)
        name = f"PrivTree with fan-out {' x '.join(map(str, query.fans))}"
        return Plan(query, loss, adjacency, name, PartitionDecisions(_example(growth, adjacency)), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Decisions in the order of `Splitting.leaves`."""
        if not isinstance(plan.query, TreePartitionQuery):
            raise WrongKind("plan", f"a plan of a partition is needed, not one made by {plan.made_by}")
        growth = growth_of(plan.query, plan.loss, plan.adjacency)
        summed = _summed(table[:-1].astype(np.int64).reshape(plan.query.shape))

        def divides(boxes: Boxes, depth: int) -> BoolArray:
            scores = np.maximum(_counts(summed, boxes) - growth.least - depth * growth.decay, -growth.decay)
            return noisily_above_zero(scores, growth.noise, randomness)

        return _grown(growth.splitting, divides)


@dataclass(frozen=True, slots=True)
class Growth:
    """Public parameters of the growth of a partition."""

    splitting: Splitting
    least: int
    noise: Noise
    decay: int


def growth_of(query: TreePartitionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Growth:
    """The least noise with which a partition loses at most `loss`.

    Raises:
        UnsupportedQuery: nothing may be lost, or so much noise would be needed that scores might leave 64 bits.
    """
    splitting = Splitting(query.shape, query.fans)
    noise, decay = noise_and_decay(splitting.most_parts, splitting.height, loss, adjacency)
    return Growth(splitting, query.least, noise, decay)


def noise_and_decay(parts: int, height: int, loss: PrivacyLoss, adjacency: Adjacency) -> tuple[Noise, int]:
    """The least noise of scores, and how fast they fall, for so many parts of a box and divisions on a path at most.

    Raises:
        UnsupportedQuery: nothing may be lost, or so much noise would be needed that scores might leave 64 bits.
    """
    require_loss(loss)
    parts = max(2, parts)
    scale = _scale(path_price(parts, height), loss, adjacency)
    if scale > LARGEST_SCALE:
        raise UnsupportedQuery("epsilon, rho", f"{loss} for a partition needs more noise than it can be grown with")
    return Noise(Family.LAPLACE, scale), ceil(scale * Fraction(log(parts)) * _ABOVE)


def path_price(parts: int, height: int) -> Fraction:
    """C in the docstring of `PrivTree`: the most that divisions lose on one path, in units of one over the scale.

    >>> path_price(2, 1), path_price(2, 3), float(path_price(2, 60))
    (Fraction(1, 1), Fraction(7, 3), 2.6066951524152917)
    """
    return 1 + sum((Fraction(1, 2 * parts**k - 1) for k in range(height - 1)), Fraction(0))


def noisily_above_zero(scores: IntArray, noise: Noise, randomness: Randomness) -> BoolArray:
    """SECRET scores in, decisions out: whether each is above zero once noise is added to it."""
    decided: BoolArray = draws(noise, len(scores), randomness) > -scores  # a sum might leave 64 bits
    return decided


def _scale(price: Fraction, loss: PrivacyLoss, adjacency: Adjacency) -> Fraction:
    if loss.epsilon is not None:
        of_record = price + 1 if isinstance(adjacency, ReplaceOne) else price
        return adjacency.unit.records * of_record / loss.epsilon
    squared = adjacency.squared_l2_sensitivity * (price + 1) ** 2 / (8 * loss.rho)
    return Fraction(isqrt(int(squared * 4**_ROOT_BITS)) + 1, 2**_ROOT_BITS)  # rounded up


def _grown(splitting: Splitting, divides: Callable[[Boxes, int], BoolArray]) -> tuple[int, ...]:
    """Decisions, generation by generation."""
    decisions: list[int] = []
    boxes, depth = splitting.whole, 0
    while len(boxes.lower):
        asked = boxes.where(splitting.divisible(boxes))
        divided = divides(asked, depth)
        decisions.extend(divided.astype(np.int64).tolist())
        boxes, depth = splitting.divided(asked.where(divided)), depth + 1
    return tuple(decisions)


def _example(growth: Growth, adjacency: Adjacency) -> tuple[int, ...]:
    """The partition of records that are spread evenly, without noise; one box, where their number is private."""
    shape = np.array(growth.splitting.shape, dtype=np.float64)
    records = float(adjacency.units * adjacency.unit.records) if isinstance(adjacency, ReplaceOne) else 0.0

    def divides(boxes: Boxes, depth: int) -> BoolArray:
        held = records * (boxes.width / shape).prod(axis=1)
        divided: BoolArray = held > growth.least + depth * growth.decay
        return divided

    return _grown(growth.splitting, divides)


def _summed(cells: IntArray) -> IntArray:
    """SECRET: how many records lie below each corner, in a table with one more place along each axis."""
    summed = np.pad(cells, [(1, 0)] * cells.ndim)
    for axis in range(cells.ndim):
        np.cumsum(summed, axis=axis, out=summed)
    return summed


def _counts(summed: IntArray, boxes: Boxes) -> IntArray:
    """SECRET: records in each box, from what lies below its corners."""
    counts = np.zeros(len(boxes.lower), dtype=np.int64)
    for corner in product((False, True), repeat=summed.ndim):
        place = np.where(corner, boxes.upper, boxes.lower)
        counts += (-1) ** (summed.ndim - sum(corner)) * summed[tuple(place.T)]
    return counts
