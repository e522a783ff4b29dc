"""Noisy comparisons with thresholds: the sparse vector technique, merged cells, and PrivTree.

These mechanisms release decisions only: whether a number x reaches a threshold t when both have noise. Their loss does
not grow with the number of comparisons.

- `SparseVector` compares ``x_i + Lap(s) >= t_i + Lap(b)`` for queries i = 1, 2, .... The noise of the threshold is
  sampled once, and the first c positive answers are released. With c = 1 it is also called AboveThreshold.
- `MergedCells` adds up cells from left to right until ``count + Lap(s) >= least + Lap(s)``, then starts anew.
- `PrivTree` splits a box at depth d if ``max(count - t - d * decay, -decay) + Lap(b) > 0``.

All noise is discrete Laplace noise on integers.

Formal guarantees: the epsilon of one added, removed or moved record is

    SparseVector   rise / b + c * distance / s       for c positive answers
    MergedCells    1 / s                             for an added or removed record
    PrivTree       C / b                             for an added or removed record, C = `path_sensitivity` < 2.61

The proofs shift the noise of the threshold, so that all negative answers stay negative at one cost. They are in the
docstrings of the classes. A zero-concentrated loss is spent as a pure epsilon of ``sqrt(2 * rho)``; `PrivTree` uses the
range of its log ratios instead.

References: Dwork and Roth 2014, section 3.6; Lyu, Su and Li 2017; Chen 2018, Algorithms 8 and 14; Zhang, Xiao and Xie
2016 (PrivTree).

>>> compute_differences(np.array([4, 9, 2, 0]), Comparisons(np.array([[1, 0, 0], [1, 1, 0]]), (10, 10), 1, 1))
[-6, 3]
>>> select_reached([-6, 3], sum_noises=[0, -1], threshold_noise=1, cutoff=1)
(1,)
"""

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
from ..distributions import Family, Noise, PartitionDecisions, Selection, ThresholdAnswers, round_error
from ..noise.randomness import Randomness
from ..privacy import AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from ..queries import Boxes, CoverageQuery, MergePartitionQuery, SplitRule, ThresholdQuery, TreePartitionQuery
from ..queries.query import Comparisons
from .base import ExactTable, QueryMechanism
from .exponential import count_from_corners, cumulate_to_corners, pure_epsilon
from .linear import require_drawable, require_positive_loss, sample_noise

# Sparse vector technique, exact on integers: the comparisons that reach their threshold.


@dataclass(frozen=True, slots=True)
class SparseVector(QueryMechanism):
    """Sparse vector technique: find the first few weighted sums of records that reach their thresholds.

    All thresholds share one noise, and each sum has fresh noise. A comparison is positive if the difference of sum and
    threshold, plus the fresh noise, reaches the shared noise. The indices of positive comparisons are released, up to a
    cutoff. Thresholds may differ, and may be sums over records themselves (Chen 2018, Algorithm 8, with the counter set
    to zero once, before the loop): the difference is compared.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``.

    *Proof.* Let neighbours change the differences by d, let ``up`` be the largest rise in d and ``down`` the largest
    fall (or 0), and let an answer have at most c positive comparisons. Take any value t of the common noise in one
    table, and ``t + up`` in the other: that costs at most ``up / b``, b being the scale of the common noise. A
    difference below t stays below ``t + up``, at no cost, however many there are. A difference that reached t must rise
    by at most ``up + down`` more: that costs at most ``(up + down) / s`` each, s being the scale of the other noises,
    and there are c of these. The sum over t gives ``up / b + c * (up + down) / s`` (Dwork and Roth 2014, Theorem 3.23,
    and Lyu, Su and Li 2017, section 4, with the largest d written out). Discrete Laplace noise has these losses on
    integers, and the proof holds for integers t. *End of proof.*

    `difference_sensitivity` finds the largest ``up`` and ``up + down`` of a single move, over all kinds of records. A
    move is an added or removed record, or under replace-one a record that becomes another, including missing ones. Both
    numbers add up over moves, so for a unit of k records the noise is k times as large. Queries that all move in one
    direction are no special case: their ``up + down`` is half as large.

    The scales b and s split the loss so that ``b**2 + s**2`` is least: as 1 to ``(c * (up + down) / up)**(2 / 3)``
    (Lyu, Su and Li 2017, section 4.2). A rho pays for an epsilon of ``sqrt(2 * rho)``, rounded down.

    >>> from dpcurves.data import Axis, Grid
    >>> from dpcurves.queries import ThresholdComparison as Comparison
    >>> from dpcurves.privacy import EACH_RECORD
    >>> ages, young, older = (Axis("age", Grid(0, 90, cells=3)),), Comparison((1, 0, 0), 50), Comparison((0, 1, 1), 50)
    >>> query = ThresholdQuery(ages, (young, older), cutoff=1)
    >>> SparseVector().plan(query, PrivacyLoss.pure(1), AddRemove(EACH_RECORD)).distribution.alpha(0.05)
    14.0
    """

    query_types = (ThresholdQuery, CoverageQuery)
    display_name = "the sparse vector technique"

    def _plan(self, query: ThresholdQuery | CoverageQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose the noises of the sparse vector technique for a query, and return the plan of the release.

        Its expected error is the standard deviation of the noise of a comparison, in records.

        Args:
            query: Sums that are compared with thresholds.
            loss: Privacy loss of the query.
            adjacency: Neighbouring data sets.
        """
        distribution = sparse_vector_distribution(query.comparison_matrix, loss, adjacency)
        error = round_error(
            sqrt(distribution.threshold_noise.variance + distribution.sum_noise.variance) / distribution.step
        )
        return Plan(query, loss, adjacency, "sparse vector technique", distribution, error)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Return the indices of the first noisy comparisons that reached their threshold (sparse vector), padded with
        the number of comparisons.

        Args:
            table: SECRET. Exact counts of the cells, flat, missing records last.
            plan: The plan that `plan` returned for this query.
            randomness: Source of random bits.
        """
        distribution = plan.distribution.require_type(ThresholdAnswers)
        differences = compute_differences(table, self.require_query(plan).comparison_matrix)
        (threshold_noise,) = sample_noise(distribution.threshold_noise, 1, randomness).tolist()
        sum_noises = sample_noise(distribution.sum_noise, len(differences), randomness).tolist()
        return select_reached(differences, sum_noises, threshold_noise, distribution.size)


class DifferenceSensitivity(NamedTuple):
    """Largest changes of the compared differences when one record is added, removed or replaced.

    Attributes:
        largest_rise: Largest rise of a difference, over all moves of a record. A fall is a rise in the reverse move.
        largest_distance: Largest sum of the largest rise and the largest fall of a single move; 0 if nothing changes.
    """

    largest_rise: int
    largest_distance: int


MOST_KINDS = 1024
"""Kinds of records. With more kinds the sensitivity is bounded instead of enumerated over the pairs of kinds, a million
at this number; the bound may mean more noise."""


def difference_sensitivity(weights: NDArray[np.int64], adjacency: Adjacency) -> DifferenceSensitivity:
    """Return the sensitivity of the differences between sums and thresholds: their largest rises and falls when records
    are added, removed or replaced.

    Two records are of one kind if they have the same weight in every comparison; missing records are a kind with
    weights 0. With too many kinds to try all pairs, a rise and a fall are each bounded by the range of the weights of a
    comparison.

    Args:
        weights: Weight of a record of each cell in each comparison, of shape ``(comparisons, cells)``.
        adjacency: Neighbouring relation of the guarantee; its contribution bound is not used here.
    """
    kinds = np.unique(np.pad(weights, ((0, 0), (0, 1))), axis=1)  # with a column of zeros: missing records
    if not isinstance(adjacency, AddRemove) and kinds.shape[1] > MOST_KINDS:
        range_ = int((kinds.max(axis=1) - kinds.min(axis=1)).max())
        return DifferenceSensitivity(range_, range_ if len(weights) == 1 else 2 * range_)
    origins = np.zeros((len(weights), 1), dtype=np.int64) if isinstance(adjacency, AddRemove) else kinds
    largest_rise = largest_distance = 0
    for old in origins.T:
        change = kinds - old[:, None]
        rise = np.maximum(change.max(axis=0), 0)
        fall = np.maximum(-change.min(axis=0), 0)
        largest_rise = max(largest_rise, int(rise.max()), int(fall.max()))
        largest_distance = max(largest_distance, int((rise + fall).max()))
    return DifferenceSensitivity(largest_rise, largest_distance)


def sparse_vector_distribution(compared: Comparisons, loss: PrivacyLoss, adjacency: Adjacency) -> ThresholdAnswers:
    """Return the two noises of the sparse vector technique, with the scales that minimise the variance of a comparison.

    Args:
        compared: Weights of the compared sums, and how many comparisons may reach their threshold.
        loss: Privacy budget of this query.
        adjacency: Neighbouring relation of the guarantee.

    Raises:
        UnsupportedQuery: the loss is zero, no weight differs from 0, or no sampler has that much noise.
    """
    require_positive_loss(loss)
    rise, distance = difference_sensitivity(compared.weights, adjacency)
    if distance == 0:
        raise UnsupportedQuery(
            "comparisons", "all weights are 0, so nothing is compared; give at least one other weight"
        )
    total_distance = compared.cutoff * distance
    ratio = two_thirds_power(Fraction(total_distance, rise))
    rate = pure_epsilon(loss) / adjacency.unit.records / (1 + ratio)
    if rate == 0:
        raise UnsupportedQuery(
            "epsilon, rho", "comparisons need a loss above zero; give this step a part of the budget"
        )
    threshold_noise, sum_noise = (
        Noise(Family.LAPLACE, scale) for scale in (rise / rate, total_distance / (ratio * rate))
    )
    comparisons = len(compared.thresholds)
    example = (comparisons,) * compared.cutoff
    return ThresholdAnswers(
        example, require_drawable(threshold_noise, loss), require_drawable(sum_noise, loss), comparisons, compared.step
    )


def two_thirds_power(value: Fraction) -> Fraction:
    """Return ``value**(2 / 3)``, rounded down to 20 binary digits, so that all machines get the same result.

    Args:
        value: A number of at least 0.

    >>> two_thirds_power(Fraction(8))
    Fraction(4, 1)
    """
    # bits: binary digits after the point of the ratio of both noise scales; any ratio is private, so few digits suffice
    ratio_bits = 20
    square = int(value**2 * 2 ** (3 * ratio_bits))
    root = round(square ** (1 / 3))
    while root**3 > square:
        root -= 1
    while (root + 1) ** 3 <= square:
        root += 1
    return Fraction(root, 2**ratio_bits)


def compute_differences(table: ExactTable, compared: Comparisons) -> list[int]:
    """SECRET: return the exact weighted sum of records minus the threshold, for each comparison.

    Args:
        table: SECRET. Exact counts of the cells, flat, missing records last.
        compared: Weights and thresholds.

    Returns:
        Python integers, which cannot overflow.
    """
    sums = compared.weights.astype(object) @ table[:-1].astype(object)
    return [int(total) - threshold for total, threshold in zip(sums, compared.thresholds, strict=True)]


def select_reached(
    differences: Sequence[int], sum_noises: Sequence[int], threshold_noise: int, cutoff: int
) -> tuple[int, ...]:
    """SECRET: find the first `cutoff` noisy sums that reach the noisy threshold, as the sparse vector technique does;
    return their indices.

    Args:
        differences: SECRET. Exact sums minus their thresholds.
        sum_noises: SECRET. Noise of each sum.
        threshold_noise: SECRET. Noise that all thresholds have in common.
        cutoff: Largest number of indices to return.

    Returns:
        `cutoff` indices in increasing order, padded with the number of differences.
    """
    reached = [
        index
        for index, (difference, noise) in enumerate(zip(differences, sum_noises, strict=True))
        if difference + noise >= threshold_noise
    ]
    return tuple((reached + [len(differences)] * cutoff)[:cutoff])


@dataclass(frozen=True, slots=True)
class MergedCells(QueryMechanism):
    """Merge cells from left to right until their noisy count reaches a noisy minimum (Chen 2018, Algorithm 14).

    The minimum has fresh noise for each interval, and the count for each merged cell. A remainder belongs to the last
    interval; without a complete interval, all cells form a single interval. Missing records are not counted.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. *Proof*: let some cell hold one more
    record. Given the answer, that cell is in one interval, or in the remainder; all else has the same distribution in
    both tables. There the counts before the cell are equal, and the other counts, including the count at the end of the
    interval, are one larger.

    - *From fewer to more*: shift the noisy minimum by 1, which costs ``1 / scale``. Counts below it stay below: those
      before the cell with more room, the others with as much. The last count reaches it as before.
    - *From more to fewer*: shift nothing. Counts below stay below. Only the last count must rise by 1, which costs
      ``1 / scale`` as well.

    So one added or removed record costs ``1 / scale``. Neighbours are a path of ``l1_sensitivity`` of these moves, and
    noise of scale ``l1_sensitivity / epsilon`` on both is enough. (The published noise is twice that under add-remove,
    and equal under replace-one.) A rho pays for an epsilon of ``sqrt(2 * rho)``, rounded down.
    """

    query_types = (MergePartitionQuery,)
    display_name = "merged cells"

    def _plan(self, query: MergePartitionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose the noise for merging cells to intervals, and return the plan of the release; its example has one
        interval per cell.

        Args:
            query: Cells that are merged to intervals.
            loss: Privacy loss of the query.
            adjacency: Neighbouring data sets.

        Raises:
            UnsupportedQuery: the loss is zero, or no sampler has that much noise.
        """
        calibrate_merge_noise(loss, adjacency)
        return Plan(query, loss, adjacency, "merged cells", Selection((1,) * query.cells), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Return a private partition of the cells into intervals: 1 for the last cell of each interval, else 0.

        Args:
            table: SECRET. Exact counts of the cells of the axis, missing records last, of shape ``(cells + 1,)``.
            plan: The plan that `plan` returned for this query.
            randomness: Source of random bits.
        """
        query: MergePartitionQuery = self.require_query(plan)
        noises = sample_noise(calibrate_merge_noise(plan.loss, plan.adjacency), 2 * query.cells, randomness).tolist()
        counts = [int(count) for count in table[:-1]]
        return tuple(mark_interval_ends(counts, query.min_records, noises[::2], noises[1::2]))


def calibrate_merge_noise(loss: PrivacyLoss, adjacency: Adjacency) -> Noise:
    """Return the noise of each count and of each minimum of `MergedCells`, of scale ``l1_sensitivity / epsilon``.

    Args:
        loss: Privacy budget of this query.
        adjacency: Neighbouring relation of the guarantee.

    Raises:
        UnsupportedQuery: the loss is zero, or no sampler has that much noise.
    """
    require_positive_loss(loss)
    epsilon = pure_epsilon(loss)
    if epsilon == 0:
        raise UnsupportedQuery(
            "epsilon, rho", "merged cells need a loss above zero; give this step a part of the budget"
        )
    return require_drawable(Noise(Family.LAPLACE, adjacency.l1_sensitivity / epsilon), loss)


def mark_interval_ends(
    counts: Sequence[int], min_records: int, count_noises: Sequence[int], threshold_noises: Sequence[int]
) -> Iterator[int]:
    """Merge cells to intervals: generate 1 for each cell whose noisy count since the last end reaches a noisy minimum,
    else 0.

    Args:
        counts: SECRET. Exact number of records in each cell.
        min_records: Number of records that an interval should have at least.
        count_noises: SECRET. Noise of the count at each cell.
        threshold_noises: SECRET. Noise of the minimum of an interval that starts at each cell.
    """
    total, threshold = 0, None
    for count, noise, threshold_noise in zip(counts, count_noises, threshold_noises, strict=True):
        threshold = min_records + threshold_noise if threshold is None else threshold
        total += count
        reached = total + noise >= threshold
        total, threshold = (0, None) if reached else (total, threshold)
        yield int(reached)


@dataclass(frozen=True, slots=True)
class PrivTree(QueryMechanism):
    """Split the box of all cells, and split boxes again while their noisy count is large (Zhang, Xiao and Xie 2016).

    A box at depth d with c records has the score ``s = max(c - threshold - d * decay, -decay)``. It is split if ``s + Z
    > 0``, with one draw Z of discrete Laplace noise of scale b. The score decreases with depth by ``decay >= b
    log(f)``, with f the largest number of parts, so that an empty box is split with probability at most ``1 / (2 f)``
    and the partition stays small. Boxes of one cell are not split, and missing records are in no box.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``, because it releases decisions alone.
    Put ``q = exp(-1 / b)``. A box is split with probability ``p(s) = q**(1 - s) / (1 + q)`` for s <= 0, and ``1 - q**s
    / (1 + q)`` for s >= 0.

    *An added record* adds 1 to the counts of the boxes that contain it: a path down from the box of all cells, with one
    decision at each depth, until a box is not split or cannot be split. Let s be the scores before. If a score is at
    its minimum and stays there, nothing is lost. Otherwise

    - a *split* becomes more probable: ``log(p(s + 1) / p(s))`` is ``1 / b`` for s < 0, and ``h(q**s)`` for s >= 0, with
      ``h(x) = log((1 + q - q x) / (1 + q - x))``. Here ``h(x) <= x / (2 - x) / b``: as functions of ``1 / b`` both
      begin at 0, and the right side grows at least as fast, because ``1 + q**2 >= 2 q``.
    - *no split* becomes less probable, by a log ratio of at most ``1 / b``, and ends the path.

    Along the path, scores decrease by at least `decay` per box. So at most one of them is in ``-decay, ..., -1``, and
    costs ``1 / b``. The k-th smallest non-negative score, counted from 0, is at least ``k * decay``, and ``q**decay <=
    1 / f``, so it costs at most ``1 / (2 * f**k - 1) / b``. In total the log ratio of the probabilities of any
    partition, after over before, is at least ``-1 / b`` and at most C / b, where, with H the largest number of splits
    on a path, ``C = 1 + 1 / (2 * f**0 - 1) + ... + 1 / (2 * f**(H - 2) - 1)`` (the first term alone if H is 1).

    *Pure*: with at most k records per unit, add-remove loses ``k C / b``. Under replace-one, k records are removed and
    k are added, in any order, which loses ``k (C + 1) / b``. So b is this numerator over epsilon. This is less noise
    than the authors' ``2 - 1 / f`` over ``1 - 1 / f``, and twice that under replace-one: their proof does not use that
    ``h`` is convex and that the loss is asymmetric.

    *Zero-concentrated*: a log ratio in an interval of length ``(C + 1) / b`` has rho ``((C + 1) / b)**2 / 8`` (see
    `ExponentialQuantiles`). A record that moves has twice this rho: given the decisions on boxes that contain both its
    cells or neither, the decisions on boxes that contain the old cell and on boxes that contain the new cell are
    independent, so their divergences add up. A unit of k records has k**2 times as much (Bun and Steinke 2016,
    Proposition 1.9).
    """

    query_types = (TreePartitionQuery,)
    display_name = "a partition"
    refusal_template = "{called} is grown for a query that asks for one, not {kind}"

    def _plan(self, query: TreePartitionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose noise, threshold and decay of PrivTree for a query, and return the plan of the release, with an
        example partition.

        The example is the partition of uniformly spread records; a single box if their number is private.

        Args:
            query: Boxes that are divided to a tree.
            loss: Privacy loss of the query.
            adjacency: Neighbouring data sets.
        """
        growth = calibrate_privtree(query, loss, adjacency)
        name = f"PrivTree with fan-out {' x '.join(map(str, query.fans))}"
        return Plan(query, loss, adjacency, name, PartitionDecisions(_example_partition(growth, adjacency)), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Return the decisions of a private partition: 1 for each divisible box that is split, else 0, in the order of
        `SplitRule.find_leaves`.

        Args:
            table: SECRET. Exact counts of the cells, flat, missing records last.
            plan: The plan that `plan` returned for this query.
            randomness: Source of random bits.
        """
        query: TreePartitionQuery = self.require_query(plan)
        growth = calibrate_privtree(query, plan.loss, plan.adjacency)
        below = cumulate_to_corners(table[:-1].astype(np.int64).reshape(query.shape))

        def divide_noisily(boxes: Boxes, depth: int) -> BoolArray:
            """SECRET: return for each box at this depth whether its noisy score is above zero, so that it is split.

            Args:
                boxes: Boxes of cells, all at the same depth.
                depth: Number of splits above the boxes; 0 for the box of all cells.

            Returns:
                True for each box that is split, of shape ``(boxes,)``.
            """
            scores = np.maximum(
                count_from_corners(below, boxes) - growth.threshold - depth * growth.decay, -growth.decay
            )
            return is_noisily_above_zero(scores, growth.noise, randomness)

        return _grow_partition(growth.splitting, divide_noisily)


@dataclass(frozen=True, slots=True)
class PrivTreeParameters:
    """Public parameters of `PrivTree`.

    Attributes:
        splitting: Rule that divides boxes into parts.
        threshold: Records. The score of a box at depth d is its count minus ``threshold + d * decay``, at least
            ``-decay``.
        noise: Noise of the score of a box, which is split if the sum is above 0.
        decay: Records per level of depth.
    """

    splitting: SplitRule
    threshold: int
    noise: Noise
    decay: int


def calibrate_privtree(query: TreePartitionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> PrivTreeParameters:
    """Return the parameters of `PrivTree` with the least noise at which a partition loses at most `loss`.

    Args:
        query: The partition to choose: shape, branching factors and threshold.
        loss: Privacy budget of this query.
        adjacency: Neighbouring relation of the guarantee.

    Raises:
        UnsupportedQuery: the loss is zero, or scores with so much noise might exceed 64 bits.
    """
    splitting = SplitRule(query.shape, query.fans)
    noise, decay = calibrate_noise_and_decay(splitting.most_parts, splitting.height, loss, adjacency)
    return PrivTreeParameters(splitting, query.threshold, noise, decay)


def calibrate_noise_and_decay(parts: int, height: int, loss: PrivacyLoss, adjacency: Adjacency) -> tuple[Noise, int]:
    """Return the noise of a box's score, and the fall of the score per level, by the proof of `PrivTree`.

    Args:
        parts: Largest number of parts of a box.
        height: Largest number of splits on a path from the box of all cells down.
        loss: Privacy budget of this query.
        adjacency: Neighbouring relation of the guarantee.

    Returns:
        Laplace noise, and the fall of the score (in records) for each level of the tree.

    Raises:
        UnsupportedQuery: the loss is zero, or scores with so much noise might exceed 64 bits.
    """
    require_positive_loss(loss)
    parts = max(2, parts)
    sensitivity = path_sensitivity(parts, height)
    root_bits = 40  # bits: binary digits after the point of square roots, which are rounded down
    if loss.epsilon is not None:
        record_sensitivity = sensitivity + 1 if isinstance(adjacency, ReplaceOne) else sensitivity
        scale = adjacency.unit.records * record_sensitivity / loss.epsilon
    else:  # rounded up
        squared = adjacency.squared_l2_sensitivity * (sensitivity + 1) ** 2 / (8 * loss.rho)
        scale = Fraction(isqrt(int(squared * 4**root_bits)) + 1, 2**root_bits)
    # The scale of the noise of scores is at most 2**40, so that scores plus noise fit into 64 bits.
    if scale > 2**40:
        raise UnsupportedQuery(
            "epsilon, rho", f"{loss} is too small to grow a partition; give a larger loss, or a grid of fewer cells"
        )
    # The factor turns a rounded logarithm, wrong in its last bit, into an upper bound.
    return Noise(Family.LAPLACE, scale), ceil(scale * Fraction(log(parts)) * (1 + Fraction(1, 2**50)))


def path_sensitivity(parts: int, height: int) -> Fraction:
    """Return the constant C of `PrivTree`: the largest privacy loss of all splits on one path, in units of 1 / scale.

    Args:
        parts: Largest number of parts of a box, at least 2.
        height: Largest number of splits on a path.

    >>> path_sensitivity(2, 1), path_sensitivity(2, 3), float(path_sensitivity(2, 60))
    (Fraction(1, 1), Fraction(7, 3), 2.6066951524152917)
    """
    return 1 + sum((Fraction(1, 2 * parts**k - 1) for k in range(height - 1)), Fraction(0))


def is_noisily_above_zero(scores: IntArray, noise: Noise, randomness: Randomness) -> BoolArray:
    """Return for each score whether the score plus fresh noise is above zero; the scores are secret, the decisions
    private.

    Args:
        scores: SECRET. Integers, of shape ``(boxes,)``.
        noise: Noise of each score.
        randomness: Source of random bits.
    """
    decided: BoolArray = sample_noise(noise, len(scores), randomness) > -scores  # a sum might leave 64 bits
    return decided


def _grow_partition(splitting: SplitRule, divides: Callable[[Boxes, int], BoolArray]) -> tuple[int, ...]:
    """Grow the tree of boxes level by level, and return the decision of each divisible box: 1 if it is split, else 0.

    Args:
        splitting: Rule that divides boxes into parts.
        divides: Function of boxes and their depth that decides which of them are split.
    """
    decisions: list[int] = []
    boxes = splitting.whole_box
    depth = 0
    while len(boxes.lower):
        candidates = boxes.select(splitting.is_divisible(boxes))
        divided = divides(candidates, depth)
        decisions.extend(divided.astype(np.int64).tolist())
        boxes = splitting.divide(candidates.select(divided))
        depth = depth + 1
    return tuple(decisions)


def _example_partition(growth: PrivTreeParameters, adjacency: Adjacency) -> tuple[int, ...]:
    """Return the partition that uniformly spread records would get without noise, to show in a plan; a single box if
    their number is private.

    Args:
        growth: Box of all cells, threshold and decay of the scores.
        adjacency: Adjacency, which may have the public number of records.

    Returns:
        The boxes, encoded like a released partition.
    """
    shape = np.array(growth.splitting.shape, dtype=np.float64)
    records = float(adjacency.units * adjacency.unit.records) if isinstance(adjacency, ReplaceOne) else 0.0

    def divide_exactly(boxes: Boxes, depth: int) -> BoolArray:
        """Return for each box whether it would be split if all records were uniformly spread and no noise was added.

        Args:
            boxes: Boxes of cells, all at the same depth.
            depth: Number of splits above the boxes; 0 for the box of all cells.

        Returns:
            True for each box that is split, of shape ``(boxes,)``.
        """
        expected_counts = records * (boxes.width / shape).prod(axis=1)
        divided: BoolArray = expected_counts > growth.threshold + depth * growth.decay
        return divided

    return _grow_partition(growth.splitting, divide_exactly)
