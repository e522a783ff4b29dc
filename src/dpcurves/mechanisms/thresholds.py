"""Comparisons with noisy thresholds: the sparse vector technique, merged cells, and PrivTree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import BoolArray, IntArray
from ..conversation import Plan, UnsupportedQuery
from ..laws import Family, Noise, PartitionDecisions, Selection, ThresholdAnswers, round_error
from ..noise.randomness import Randomness
from ..privacy import AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from ..queries import Boxes, CoverageQuery, MergePartitionQuery, SplitRule, ThresholdQuery, TreePartitionQuery
from ..queries.query import Comparisons
from .base import ExactTable, QueryMechanism
from .exponential import count_from_corners, cumulate_to_corners, pure_epsilon
from .linear import require_drawable, require_positive_loss, sample_noise

# Sparse vector technique, exact on integers: the comparisons that reach their threshold.


MOST_KINDS = 1024
_RATIO_BITS = 20


@dataclass(frozen=True, slots=True)
class SparseVector(QueryMechanism):
    """Sparse vector technique: one secret noise on all thresholds, fresh noise on every sum, a limit on those that
    reach.

    Thresholds may differ, and may be sums over records themselves (Chen 2018, Algorithm 8, with the counter set to
    zero once, before the loop): then the difference is what is compared. It is asked whether the difference, with noise
    of its own, reaches the common noise. The numbers of those that do are the answer.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. Let neighbours change the
    differences by d, let ``up`` be the largest rise in d and ``down`` the largest fall (0 where there is none), and let
    an answer have at most c that reached. Take any value t of the common noise on one side, and ``t + up`` on the
    other: that costs at most ``up / b``, b being the scale of the common noise. A difference that stayed below t stays
    below ``t + up``, at no cost, however many there are. One that reached t has to rise by at most ``up + down`` more:
    that costs at most ``(up + down) / s`` each, s being the scale of the other noises, and there are c of these. The
    sum over t gives ``up / b + c * (up + down) / s`` (Dwork and Roth 2014, Theorem 3.23, and Lyu, Su and Li 2017,
    section 4, with the largest d written out). Discrete Laplace noise has these prices on whole numbers, and the proof
    holds for the whole numbers t. `difference_sensitivity` finds the largest ``up`` and ``up + down`` that one move can cause, over
    all kinds of records; a move is a record that comes or goes, or under replace-one one that becomes another, missing
    ones among them. Both add up over moves, so a unit of k records pays k times as much, and noise is k times as large.

    Queries that all move one way are no special case: there ``up + down`` is half as large as where they need not. The
    scales split the loss between b and s so that ``b**2 + s**2`` is least: as 1 to ``(c * (up + down) / up)**(2 / 3)``
    (Lyu, Su and Li 2017, section 4.2). A pure loss of epsilon is ``epsilon**2 / 2`` zero-concentrated, so a
    zero-concentrated loss pays for an epsilon of ``sqrt(2 * rho)``, rounded down.

    >>> from dpcurves.data import Axis, Grid
    >>> from dpcurves.queries import ThresholdComparison as Comparison
    >>> from dpcurves.privacy import EACH_RECORD
    >>> ages, young, older = (Axis("age", Grid(0, 90, cells=3)),), Comparison((1, 0, 0), 50), Comparison((0, 1, 1), 50)
    >>> query = ThresholdQuery(ages, (young, older), most=1)
    >>> SparseVector().plan(query, PrivacyLoss.pure(1), AddRemove(EACH_RECORD)).law.alpha(0.05)
    14.0
    """

    query_types = (ThresholdQuery, CoverageQuery)
    display_name = "the sparse vector technique"

    def _plan(self, query: ThresholdQuery | CoverageQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        law = sparse_vector_law(query.comparison_matrix, loss, adjacency)
        error = round_error(sqrt(law.threshold_noise.variance + law.sum_noise.variance) / law.step)
        return Plan(query, loss, adjacency, "sparse vector technique", law, error)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """The numbers of the comparisons that reached their threshold, in order; how many there are, for each less."""
        law = plan.law.require_type(ThresholdAnswers)
        exact = compute_differences(table, self.require_query(plan).comparison_matrix)
        (common,) = sample_noise(law.threshold_noise, 1, randomness).tolist()
        own = sample_noise(law.sum_noise, len(exact), randomness).tolist()
        return select_reached(exact, own, common, law.size)


class DifferenceSensitivity(NamedTuple):
    """Changes of the differences by one move of a record.

    Attributes:
        largest_rise: The largest rise of one of them, over all moves (a fall is a rise the other way round).
        largest_distance: The largest distance between the largest rise and the largest fall that one move causes, or 0.
    """

    largest_rise: int
    largest_distance: int


def difference_sensitivity(weights: NDArray[np.int64], adjacency: Adjacency) -> DifferenceSensitivity:
    """By every kind of record, missing ones among them: it comes or goes, or becomes one of another kind.

    Where there are too many kinds to try all pairs, a rise and a fall are each at most the range of some weights.
    """
    kinds = np.unique(np.pad(weights, ((0, 0), (0, 1))), axis=1)  # with a column of zeros: missing records
    if not isinstance(adjacency, AddRemove) and kinds.shape[1] > MOST_KINDS:
        widest = int((kinds.max(axis=1) - kinds.min(axis=1)).max())
        return DifferenceSensitivity(widest, widest if len(weights) == 1 else 2 * widest)
    kept = np.zeros((len(weights), 1), dtype=np.int64) if isinstance(adjacency, AddRemove) else kinds
    up = apart = 0
    for old in kept.T:
        change = kinds - old[:, None]
        rise, fall = np.maximum(change.max(axis=0), 0), np.maximum(-change.min(axis=0), 0)
        up = max(up, int(rise.max()), int(fall.max()))
        apart = max(apart, int((rise + fall).max()))
    return DifferenceSensitivity(up, apart)


def sparse_vector_law(compared: Comparisons, loss: PrivacyLoss, adjacency: Adjacency) -> ThresholdAnswers:
    """The two noises.

    Raises:
        UnsupportedQuery: nothing may be lost, nothing depends on records, or no sampler has that much noise.
    """
    require_positive_loss(loss)
    up, apart = difference_sensitivity(compared.weights, adjacency)
    if apart == 0:
        raise UnsupportedQuery("comparisons", "weights that are all 0 compare nothing")
    all_reached = compared.most * apart
    ratio = two_thirds_power(Fraction(all_reached, up))
    allowed = pure_epsilon(loss) / adjacency.unit.records / (1 + ratio)
    if allowed == 0:
        raise UnsupportedQuery("epsilon, rho", "comparisons need a loss above zero")
    common, own = (Noise(Family.LAPLACE, scale) for scale in (up / allowed, all_reached / (ratio * allowed)))
    asked = len(compared.thresholds)
    nobody = (asked,) * compared.most
    return ThresholdAnswers(nobody, require_drawable(common, loss), require_drawable(own, loss), asked, compared.step)


def two_thirds_power(value: Fraction) -> Fraction:
    """The cube root of the square, rounded down to 20 binary places: the same on every machine.

    >>> two_thirds_power(Fraction(8))
    Fraction(4, 1)
    """
    square = int(value**2 * 2 ** (3 * _RATIO_BITS))
    root = round(square ** (1 / 3))
    while root**3 > square:
        root -= 1
    while (root + 1) ** 3 <= square:
        root += 1
    return Fraction(root, 2**_RATIO_BITS)


def compute_differences(table: ExactTable, compared: Comparisons) -> list[int]:
    """SECRET: exact sums less thresholds, in Python's integers, which cannot overflow."""
    sums = compared.weights.astype(object) @ table[:-1].astype(object)
    return [int(total) - threshold for total, threshold in zip(sums, compared.thresholds, strict=True)]


def select_reached(differences: Sequence[int], own: Sequence[int], common: int, most: int) -> tuple[int, ...]:
    """The first `most` whose difference, with its own noise, reaches the common noise; filled up with their number."""
    found = [
        place for place, (exact, noise) in enumerate(zip(differences, own, strict=True)) if exact + noise >= common
    ]
    return tuple((found + [len(differences)] * most)[:most])


@dataclass(frozen=True, slots=True)
class MergedCells(QueryMechanism):
    """From left to right, cells are joined until their noisy count reaches a noisy number (Chen 2018, Algorithm 14).

    That number is drawn anew for each interval, and the noise of the count for each cell that is joined. What is left
    over at the end belongs to the last interval; if there is none, all cells are one. Missing records count nowhere.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. Let one record more lie in some cell.
    Given the answer, that cell is in one interval, or in what is left over; all else is drawn alike on both sides.
    There the counts up to the cell are the same, and the others, that at the end of the interval among them, one more.

    - *From few to more*: shift the noisy number by 1, which costs ``1 / scale``. Counts that stayed below it still do:
      those before the cell with more room, the others with as much. The last one reaches it as before.
    - *From more to few*: shift nothing. Counts that stayed below do so all the more. Only the last one has to rise by
      1: that costs ``1 / scale``, too.

    So one move costs ``1 / scale``; neighbours are a path of ``l1_sensitivity`` of them, and noise of scale
    ``l1_sensitivity / epsilon`` on both is enough. (The published noise is twice that under add-remove, and this under
    replace-one.) A zero-concentrated loss pays for an epsilon of ``sqrt(2 * rho)``, rounded down.
    """

    query_types = (MergePartitionQuery,)
    display_name = "merged cells"

    def _plan(self, query: MergePartitionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        calibrate_merge_noise(loss, adjacency)
        return Plan(query, loss, adjacency, "merged cells", Selection((1,) * query.cells), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """For each cell whether an interval ends behind it, 1 or 0; the last one ends with the axis in any case."""
        query: MergePartitionQuery = self.require_query(plan)
        drawn = sample_noise(calibrate_merge_noise(plan.loss, plan.adjacency), 2 * query.cells, randomness).tolist()
        counts = [int(count) for count in table[:-1]]
        return tuple(mark_interval_ends(counts, query.least, drawn[::2], drawn[1::2]))


def calibrate_merge_noise(loss: PrivacyLoss, adjacency: Adjacency) -> Noise:
    """The noise of each count, and of each number that it has to reach.

    Raises:
        UnsupportedQuery: nothing may be lost, or no sampler has that much noise.
    """
    require_positive_loss(loss)
    epsilon = pure_epsilon(loss)
    if epsilon == 0:
        raise UnsupportedQuery("epsilon, rho", "merged cells need a loss above zero")
    return require_drawable(Noise(Family.LAPLACE, adjacency.l1_sensitivity / epsilon), loss)


def mark_interval_ends(counts: Sequence[int], least: int, own: Sequence[int], common: Sequence[int]) -> Iterator[int]:
    """Mark the cells behind which an interval ends, given the noise of its count and that of an interval from it on."""
    total, threshold = 0, None
    for count, noise, fresh in zip(counts, own, common, strict=True):
        threshold = least + fresh if threshold is None else threshold
        total += count
        reached = total + noise >= threshold
        total, threshold = (0, None) if reached else (total, threshold)
        yield int(reached)


LARGEST_SCALE = 2**40
_ROOT_BITS = 40
_ABOVE = 1 + Fraction(1, 2**50)  # times this a logarithm that was rounded, wrong in its last bit, is too large


@dataclass(frozen=True, slots=True)
class PrivTree(QueryMechanism):
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

    query_types = (TreePartitionQuery,)
    display_name = "a partition"
    refusal_template = "{called} is grown for a query that asks for one, not {kind}"

    def _plan(self, query: TreePartitionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        growth = calibrate_privtree(query, loss, adjacency)
        name = f"PrivTree with fan-out {' x '.join(map(str, query.fans))}"
        return Plan(query, loss, adjacency, name, PartitionDecisions(_example_partition(growth, adjacency)), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Decisions in the order of `SplitRule.find_leaves`."""
        query: TreePartitionQuery = self.require_query(plan)
        growth = calibrate_privtree(query, plan.loss, plan.adjacency)
        below = cumulate_to_corners(table[:-1].astype(np.int64).reshape(query.shape))

        def divide_noisily(boxes: Boxes, depth: int) -> BoolArray:
            scores = np.maximum(count_from_corners(below, boxes) - growth.least - depth * growth.decay, -growth.decay)
            return is_noisily_above_zero(scores, growth.noise, randomness)

        return _grow_partition(growth.splitting, divide_noisily)


@dataclass(frozen=True, slots=True)
class PrivTreeParameters:
    """Public parameters of the growth of a partition."""

    splitting: SplitRule
    least: int
    noise: Noise
    decay: int


def calibrate_privtree(query: TreePartitionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> PrivTreeParameters:
    """The least noise with which a partition loses at most `loss`.

    Raises:
        UnsupportedQuery: nothing may be lost, or so much noise would be needed that scores might leave 64 bits.
    """
    splitting = SplitRule(query.shape, query.fans)
    noise, decay = calibrate_noise_and_decay(splitting.most_parts, splitting.height, loss, adjacency)
    return PrivTreeParameters(splitting, query.least, noise, decay)


def calibrate_noise_and_decay(parts: int, height: int, loss: PrivacyLoss, adjacency: Adjacency) -> tuple[Noise, int]:
    """The least noise of scores, and how fast they fall, for so many parts of a box and divisions on a path at most.

    Raises:
        UnsupportedQuery: nothing may be lost, or so much noise would be needed that scores might leave 64 bits.
    """
    require_positive_loss(loss)
    parts = max(2, parts)
    price = path_price(parts, height)
    if loss.epsilon is not None:
        of_record = price + 1 if isinstance(adjacency, ReplaceOne) else price
        scale = adjacency.unit.records * of_record / loss.epsilon
    else:  # rounded up
        squared = adjacency.squared_l2_sensitivity * (price + 1) ** 2 / (8 * loss.rho)
        scale = Fraction(isqrt(int(squared * 4**_ROOT_BITS)) + 1, 2**_ROOT_BITS)
    if scale > LARGEST_SCALE:
        raise UnsupportedQuery("epsilon, rho", f"{loss} for a partition needs more noise than it can be grown with")
    return Noise(Family.LAPLACE, scale), ceil(scale * Fraction(log(parts)) * _ABOVE)


def path_price(parts: int, height: int) -> Fraction:
    """C in the docstring of `PrivTree`: the most that divisions lose on one path, in units of one over the scale.

    >>> path_price(2, 1), path_price(2, 3), float(path_price(2, 60))
    (Fraction(1, 1), Fraction(7, 3), 2.6066951524152917)
    """
    return 1 + sum((Fraction(1, 2 * parts**k - 1) for k in range(height - 1)), Fraction(0))


def is_noisily_above_zero(scores: IntArray, noise: Noise, randomness: Randomness) -> BoolArray:
    """SECRET scores in, decisions out: whether each is above zero once noise is added to it."""
    decided: BoolArray = sample_noise(noise, len(scores), randomness) > -scores  # a sum might leave 64 bits
    return decided


def _grow_partition(splitting: SplitRule, divides: Callable[[Boxes, int], BoolArray]) -> tuple[int, ...]:
    """Decisions, generation by generation."""
    decisions: list[int] = []
    boxes, depth = splitting.whole_box, 0
    while len(boxes.lower):
        asked = boxes.select(splitting.is_divisible(boxes))
        divided = divides(asked, depth)
        decisions.extend(divided.astype(np.int64).tolist())
        boxes, depth = splitting.divide(asked.select(divided)), depth + 1
    return tuple(decisions)


def _example_partition(growth: PrivTreeParameters, adjacency: Adjacency) -> tuple[int, ...]:
    """The partition of records that are spread evenly, without noise; one box, where their number is private."""
    shape = np.array(growth.splitting.shape, dtype=np.float64)
    records = float(adjacency.units * adjacency.unit.records) if isinstance(adjacency, ReplaceOne) else 0.0

    def divide_exactly(boxes: Boxes, depth: int) -> BoolArray:
        held = records * (boxes.width / shape).prod(axis=1)
        divided: BoolArray = held > growth.least + depth * growth.decay
        return divided

    return _grow_partition(growth.splitting, divide_exactly)
