"""The exponential mechanism: private quantiles, random partitions, and the box that an estimate fits worst.

The exponential mechanism chooses one outcome o of a finite public set. An outcome with a larger penalty is less likely:

    P(o)  proportional to  prior(o) * exp(-rate * penalty(o, table))

- `ExponentialQuantiles` chooses edges that cut records into equal shares, level by level. A cut of k records into
  shares a / g and (g - a) / g has the penalty ``|g * left - a * k|``.
- `ExponentialPartition` chooses a partition of an axis into intervals of 1, 2, 4, ... cells. The penalty is the sum
  over intervals of ``sum_i |x_i - median|``, as in the first stage of DAWA.
- `ExponentialWorstBox` chooses a box of a table. The penalty is ``-|count - expected|``, as in MWEM.

Formal guarantees: suppose the log ratio of P on two neighbouring tables lies in an interval of length r, for all
outcomes. Then the choice is r-DP and has rho ``r**2 / 8``. Penalties that change by at most d give
``r = 2 * rate * d``. So the rate is `bounded_range` over ``2 * d``, minus what rounding errors of the weights cost.
Choices are sampled exactly from their weights.

Report noisy max is the same mechanism if its noise is Gumbel noise.

References: McSherry and Talwar 2007 (the mechanism); Smith 2011 (quantiles); Hardt, Ligett and McSherry 2012 (MWEM);
Li, Hay, Miklau and Wang 2014 (DAWA); Kaplan, Schnapp and Stemmer 2022 (recursive cuts); Dong, Durfee and Rogers 2020,
Cesar and Rogers 2021 (bounded range).

>>> from dpcurves.privacy import EACH_RECORD, AddRemove
>>> query = QuantileCutsQuery((Axis("age", Grid(0, 8, cells=8)),), pieces=2)
>>> plan = ExponentialQuantiles().plan(query, PrivacyLoss.pure(100), AddRemove(EACH_RECORD))
>>> table = np.array([0, 0, 3, 9, 6, 0, 0, 0, 0])  # the last entry is missing records
>>> ExponentialQuantiles().run(table, plan, Randomness.from_seed(1))
(4,)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from ..arrays import IntArray, compile_loop
from ..conversation import Plan, UnsupportedQuery
from ..data import Axis, Grid, Outside
from ..distributions import Selection
from ..noise import exponential as selection
from ..noise.exponential import WEIGHT_ERROR, bound_partition_log_error, sample_partition
from ..noise.randomness import Randomness
from ..privacy import Adjacency, PrivacyLoss
from ..queries import Box, Boxes, IntervalPartitionQuery, QuantileCutsQuery, WorstBoxQuery, places_to_array
from .base import ExactTable, QueryMechanism

# The loss of a choice, to which no Gaussian noise is added: an epsilon, or a range of log ratios.


def pure_epsilon(loss: PrivacyLoss) -> Fraction:
    """Return the epsilon that a loss pays for in a mechanism that is analysed under pure DP.

    It is the epsilon of a pure loss. For a rho it is ``sqrt(2 * rho)``, rounded down, because epsilon-DP implies zCDP
    with ``rho = epsilon**2 / 2`` (Bun and Steinke 2016).

    Args:
        loss: Privacy budget, pure or zero-concentrated.
    """
    return loss.epsilon if loss.epsilon is not None else _floor_sqrt(2 * loss.rho)


def bounded_range(loss: PrivacyLoss) -> Fraction:
    """Return the range of log ratios that a loss allows for one choice by the exponential mechanism.

    It is the epsilon of a pure loss, or ``sqrt(8 * rho)``, rounded down.

    Formal guarantees: suppose that on two neighbouring tables the log ratio X of the probabilities of an outcome lies
    in an interval of length r. Then the choice is r-DP, because both sets of probabilities add up to 1. It also has rho
    ``r**2 / 8`` (Dong, Durfee and Rogers 2020; Cesar and Rogers 2021); `ExponentialQuantiles` has the proof.

    Args:
        loss: Privacy budget of the choice, pure or zero-concentrated.

    >>> bounded_range(PrivacyLoss.pure(1)), bounded_range(PrivacyLoss.zcdp("0.125"))
    (Fraction(1, 1), Fraction(1, 1))
    """
    return loss.epsilon if loss.epsilon is not None else _floor_sqrt(8 * loss.rho)


def _floor_sqrt(value: Fraction) -> Fraction:
    """Return the square root of a nonnegative fraction, rounded down to a multiple of ``2**-40``.

    Rounding down keeps a loss that is computed from the root from being exceeded.

    Args:
        value: Fraction of at least 0.
    """
    # bits: binary digits after the point of square roots, which are rounded down; a lost digit costs a relative 1e-12
    # of the loss
    root_bits = 40
    return Fraction(isqrt(int(value * 4**root_bits)), 2**root_bits)


Places = NDArray[np.int32]
Penalties = NDArray[np.uint32]


def window_deviations(counts: IntArray) -> Penalties:
    """Return, for each window of ``2**k`` cells, the sum of absolute deviations of its counts from their median.

    Formal guarantees: a deviation changes by at most the L1 distance of the window's counts in two tables. It is
    ``min over c of sum(|x_i - c|)``, and if two functions differ by at most d everywhere, so do their minima. Clipping
    to 32 bits does not increase the change.

    Args:
        counts: SECRET. Nonnegative integers of shape ``(n,)`` with a sum below ``2**63 - 1``.

    Returns:
        SECRET. An array of shape ``(lengths, n + 1)``: entry i of row k is for the ``2**k`` cells before position i; 0
        if there are fewer.

    >>> window_deviations(np.array([5, 5, 2, 9]))
    array([[0, 0, 0, 0, 0],
           [0, 0, 0, 3, 7],
           [0, 0, 0, 0, 7]], dtype=uint32)
    """
    deviations = np.zeros((len(counts).bit_length(), len(counts) + 1), dtype=np.uint32)
    order = np.zeros(len(counts), dtype=np.int32)
    below = np.append(0, np.cumsum(counts))
    for power in range(1, len(deviations)):
        length = 1 << power
        padded = np.zeros(-(-len(counts) // length) * length + length, dtype=np.int64)
        padded[: len(counts)] = counts
        order = _merge_block_orders(padded, order, length)
        lower = _sum_lower_halves(*_unlink_cells(padded, order, length), power, len(counts))[length:]
        # 2**32 - 1 records: largest deviation, which fits into 32 bits
        deviations[power, length:] = np.minimum(below[length:] - below[:-length] - 2 * lower, 2**32 - 1)
    return deviations


@compile_loop
def _merge_block_orders(padded: IntArray, order: Places, length: int) -> Places:
    """SECRET: return the positions in each block, sorted by count, ties by position, by merging its two sorted
    halves.

    Args:
        padded: Counts of cells, padded to whole blocks.
        order: Positions in each half block, sorted by count.
        length: Cells of a block.
    """
    half = length // 2
    merged = np.empty(len(padded), dtype=np.int32)
    for start in range(0, len(padded), length):
        left = 0
        right = 0
        middle = start + half
        for k in range(length):
            a = order[start + left] if left < half and start + left < len(order) else left
            b = order[middle + right] if right < half and middle + right < len(order) else right
            if right == half or (left < half and padded[start + a] <= padded[middle + b]):
                merged[start + k] = a
                left += 1
            else:
                merged[start + k] = b + half
                right += 1
    return merged


@compile_loop
def _unlink_cells(padded: IntArray, order: Places, length: int) -> tuple[IntArray, Places, Places]:
    """SECRET: prepare running medians: link the cells of each block in the order of their counts, then remove all from
    the list, last cell first.

    Inserting the cells again, first cell first, finds the neighbours of each cell where it was removed, without a
    search. The last entry of a block is the end of its list and larger than all counts.

    Args:
        padded: Counts of cells, padded to whole blocks.
        order: Positions in each block, sorted by count.
        length: Cells of a block.

    Returns:
        Counts, next cells and previous cells, (blocks, length + 1) each.
    """
    blocks = len(padded) // length
    values = np.empty((blocks, length + 1), dtype=np.int64)
    after, before = np.empty((2, blocks, length + 1), dtype=np.int32)
    for block in range(blocks):
        first = block * length
        last = length
        # 2**63 - 1 records: larger than all counts, so it marks the end of a sorted list of cells (largest 64-bit
        # integer)
        values[block, :length], values[block, length] = padded[first : first + length], 2**63 - 1
        for cell in order[first : first + length]:
            after[block, last], before[block, cell] = cell, last
            last = cell
        after[block, last], before[block, length] = length, last
        for cell in range(length - 1, -1, -1):
            smaller = before[block, cell]
            larger = after[block, cell]
            after[block, smaller], before[block, larger] = larger, smaller
    return values, after, before


@compile_loop
def _sum_lower_halves(values: IntArray, after: Places, before: Places, power: int, cells: int) -> IntArray:
    """SECRET: return, for each window of ``2**power`` cells, the sum of the smaller half of its counts, for deviations
    from the median.

    The entry at position i is for the window that ends there. A window moves over blocks of equal length (Suomela
    2014): it contains the end of one block and the start of the next. In each of both blocks, even ones first, `mark`
    is the first cell that is not among the smaller half, and `small` counts the cells before it; `low` is the sum of
    the smaller half.

    Args:
        values: Counts by block, (blocks, length + 1).
        after, before: Next and previous cells as `_unlink_cells` left them; changed.
        power: Logarithm to base 2 of the window's cells.
        cells: Number of cells.

    Returns:
        Sums, (cells + 1,).
    """
    length = 1 << power
    half = 1 << power >> 1
    sums = np.zeros(cells + 1, dtype=np.int64)
    mark = np.full(2, length)
    small = np.zeros(2, dtype=np.int64)
    low = 0
    for end in range(1, cells + 1):
        new = end - 1 >> power
        cell = end - 1 & length - 1
        old = new - 1
        into = new & 1
        out = 1 - (new & 1)
        if cell == 0:
            mark[into], small[into] = length, 0

        if new:  # remove the first cell of the old block
            value = values[old, cell]
            marked = mark[out]
            after[old, before[old, cell]], before[old, after[old, cell]] = after[old, cell], before[old, cell]
            among = value < values[old, marked] or (value == values[old, marked] and cell < marked)
            if marked == cell:
                mark[out] = after[old, cell]
            if among or small[out] > 0:
                mark[out] = mark[out] if among else before[old, mark[out]]
                small[out] -= 1
                low -= value if among else values[old, mark[out]]

        value = values[new, cell]
        marked = mark[into]
        after[new, before[new, cell]] = before[new, after[new, cell]] = cell  # insert a cell of the new block
        if value < values[new, marked] or (value == values[new, marked] and cell < marked):
            mark[into] = before[new, marked]
            low += value - values[new, mark[into]]

        # The smaller half has lost or gained a cell: take the next smallest cells of either block.
        while small[0] + small[1] < min(half, end):
            ours = new and values[old, mark[out]] <= values[new, mark[into]]
            block, side = (old, out) if ours else (new, into)
            low += values[block, mark[side]]
            mark[side] = after[block, mark[side]]
            small[side] += 1
        sums[end] = low
    return sums


@dataclass(frozen=True, slots=True)
class ExponentialPartition(QueryMechanism):
    """Choose a random partition into intervals of 1, 2, 4, ... cells, preferring intervals of similar counts.

    The probability of a partition is proportional to the product over its intervals of
    ``interval_prior * exp(-rate * deviation)``, where `deviation` is the sum of absolute deviations of the cells from
    their median. The first stage of DAWA (Li, Hay, Miklau and Wang 2014) is similar. Here deviations are from the
    median, not the mean, which halves the sensitivity, and a single choice replaces noise on costs: see
    `docs/errata.md`.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. *Proof*: a deviation changes by at
    most the L1 distance of the cells in its interval. So the sum of deviations of a partition changes by at most
    `l1_sensitivity`, the L1 distance of neighbouring tables, and the log ratio of products of weights has a range of
    ``2 * rate * l1_sensitivity``. Probabilities are not exactly products: their logarithms are off by at most E,
    `bound_partition_log_error`, on either table, and logarithms of the weights, of which at most `l1_sensitivity`
    change, by ``WEIGHT_ERROR``. Both errors are paid for: ``2 * rate * moves + 4 * E + 4 * moves * WEIGHT_ERROR`` is
    the `bounded_range` that the loss allows, with ``moves = l1_sensitivity``.
    """

    query_types = (IntervalPartitionQuery,)
    display_name = "a choice of buckets"

    def _plan(self, query: IntervalPartitionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose the parameter of the exponential mechanism for a partition, and return the plan of the release.

        Its example partition has one interval per cell.

        Args:
            query: Cells that are divided into intervals.
            loss: Privacy loss of the query.
            adjacency: Neighbouring data sets.

        Raises:
            UnsupportedQuery: the loss leaves no positive rate after rounding errors are paid for.
        """
        if deviation_rate(query, loss, adjacency) <= 0:
            raise UnsupportedQuery(
                "epsilon, rho",
                f"{loss} is too small to choose among {len(query.order)} cells; give a larger loss or fewer cells",
            )
        blank = Selection((1,) * len(query.order))
        return Plan(query, loss, adjacency, "buckets by the exponential mechanism", blank, error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Sample a partition of the cells into intervals: return, for each position, 1 if an interval starts there,
        else 0.

        Args:
            table: SECRET. Exact counts of the cells, missing records last, of shape ``(cells + 1,)``.
            plan: The plan that `plan` returned for this query.
            randomness: Source of random bits.
        """
        query: IntervalPartitionQuery = self.require_query(plan)
        cells = table[places_to_array(query.order)].astype(np.int64)
        rate = deviation_rate(query, plan.loss, plan.adjacency)
        is_start = np.zeros(len(cells), dtype=np.int64)
        is_start[sample_partition(window_deviations(cells), rate, interval_prior(len(cells)), randomness)] = 1
        return tuple(is_start.tolist())


def interval_prior(places: int) -> float:
    """Return the public prior weight of each interval of a partition, above 0 and at most 1.

    About k - 5 of k possible lengths are at most a sixtieth of the grid. The prior makes their weights add up to 1. So
    if all cells have similar counts, a partition has about 60 intervals, for any number of cells.

    Args:
        places: Number of cells of the grid.
    """
    return 1 / max(2, places.bit_length() - 5)


def deviation_rate(query: IntervalPartitionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Fraction:
    """Return the parameter of the exponential mechanism `ExponentialPartition`: by how much the log probability of a
    partition falls per record of deviation.

    Rounding errors are paid for first. The result is not positive if the loss is too small for them.

    Args:
        query: The partition to choose, with its order of cells.
        loss: Privacy budget of this query.
        adjacency: Neighbouring relation of the guarantee.
    """
    places = len(query.order)
    log_error = 4 * bound_partition_log_error(places, places.bit_length()) + 4 * adjacency.l1_sensitivity * WEIGHT_ERROR
    return (bounded_range(loss) - log_error) / (2 * adjacency.l1_sensitivity)


@dataclass(frozen=True, slots=True)
class ExponentialQuantiles(QueryMechanism):
    """Choose quantile cuts: cut the records into two parts, then each part again (Kaplan, Schnapp and Stemmer 2022).

    A node that is to become g pieces is cut so that about ``a / g`` of its records lie left, ``a = g // 2``. Each edge
    of its interval of cells, ends included, has a probability proportional to ``exp(-rate * penalty)``, where
    ``penalty = |g * left - a * size|`` (Smith 2011). Missing records are not counted, and an empty node is cut
    anywhere. Values outside the grid that are counted separately belong to its outermost cells here.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. There are ``ceil(log2(pieces))``
    levels, each with an equal budget fraction. Losses add up, and after equal cuts neighbours have equal nodes.

    *One move* is an added or removed record. It changes ``g * left - a * size`` of one node by ``-a`` at the edges up
    to its cell, and by ``g - a``, which is at least a, at the others. So no penalty changes by more than ``g - a``, and
    two changes differ by at most ``2 * (g - a)``. With ``rate = eps / (2 * l1_sensitivity * (g - a))``, each node with
    its own g, the log ratio of probabilities differs between two edges by at most ``eps / l1_sensitivity``: one move
    has *bounded range* ``eps / l1_sensitivity``. Ranges add up along a path of moves, in one node or in several, whose
    cuts are independent; so neighbours have range eps.

    *A range of eps* is eps-differential privacy, because both sets of probabilities add up to 1. It also has rho
    ``eps**2 / 8`` (Dong, Durfee and Rogers 2020; Cesar and Rogers 2021). With X the log ratio,
    ``K(t) = log E exp(t X)`` over the other side has ``K(0) = K(1) = 0`` and, X being in an interval of length eps,
    ``K'' <= eps**2 / 4``; hence ``K(t) <= t * (t - 1) * eps**2 / 8``. So for a zero-concentrated loss a level has
    ``eps = sqrt(8 * rho)``, rounded down.
    """

    query_types = (QuantileCutsQuery,)
    display_name = "recursive cuts"

    def _plan(self, query: QuantileCutsQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose the parameters for private quantiles, and return the plan of the release; its example cuts are equally
        spaced edges.

        Args:
            query: Axis, and the number of pieces.
            loss: Privacy loss of the query.
            adjacency: Neighbouring data sets.

        Raises:
            UnsupportedQuery: there are fewer than 2 pieces, several axes or an axis of categories, or the loss is zero.
        """
        if query.pieces < 2:
            raise UnsupportedQuery("pieces", f"at least 2 pieces are needed, as in 8, got {query.pieces}")
        cells = _require_grid(query).cells
        if level_epsilon(loss, query.pieces) == 0:
            raise UnsupportedQuery(
                "epsilon, rho", "a loss above zero is needed to choose cuts; give this step a part of the budget"
            )
        even_cuts = tuple(cells * i // query.pieces for i in range(1, query.pieces))
        return Plan(
            query, loss, adjacency, "recursive cuts by the exponential mechanism", Selection(even_cuts), error=0.0
        )

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Sample private quantiles: return the indices of ``pieces - 1`` edges, in nondecreasing order.

        Args:
            table: SECRET. Exact counts of the cells of the axis, missing records last, of shape ``(cells + 1,)``.
            plan: The plan that `plan` returned for this query.
            randomness: Source of random bits.
        """
        query: QuantileCutsQuery = self.require_query(plan)
        below = np.concatenate(([0], np.cumsum(_count_inside(table, _require_grid(query)))))
        epsilon = level_epsilon(plan.loss, query.pieces) / plan.adjacency.l1_sensitivity

        def choose_cut(start: int, end: int, pieces: int) -> int:
            """SECRET: sample the edge at a private quantile that cuts a range of cells into ``pieces // 2`` pieces and
            the remaining ones.

            Args:
                start: First cell of the range.
                end: Cell after its last one.
                pieces: Number of pieces into which the range will be cut.

            Returns:
                The edge, counted from `start`.
            """
            left_pieces = pieces // 2
            counts_below = below[start : end + 1] - below[start]
            return selection.sample_exponential_mechanism(
                np.abs(pieces * counts_below - left_pieces * counts_below[-1]),
                epsilon / (2 * (pieces - left_pieces)),
                randomness,
            )

        return tuple(cut_recursively(0, len(below) - 1, query.pieces, choose_cut))


def cut_depth(pieces: int) -> int:
    """Return the number of levels of cuts that make this number of pieces: ``ceil(log2(pieces))``.

    Args:
        pieces: Number of pieces, at least 1.
    """
    return (pieces - 1).bit_length()


def level_epsilon(loss: PrivacyLoss, pieces: int) -> Fraction:
    """Return the privacy parameter (bounded range) of each level of cuts: its epsilon under pure DP, or ``sqrt(8 *
    rho)``, rounded down.

    Args:
        loss: Privacy budget of all levels together.
        pieces: Number of pieces, at least 2.
    """
    return bounded_range(loss * Fraction(1, cut_depth(pieces)))


def cut_recursively(start: int, end: int, pieces: int, choose: Callable[[int, int, int], int]) -> Iterator[int]:
    """Generate the cuts of a grid between two edges, from left to right: cut once, then each of both parts recursively.

    Args:
        start: The first edge.
        end: The last edge.
        pieces: Number of pieces between both edges.
        choose: Function of start, end and pieces that returns a cut, counted from `start`.
    """
    if pieces > 1:
        cut = start + choose(start, end, pieces)
        yield from cut_recursively(start, cut, pieces // 2, choose)
        yield cut
        yield from cut_recursively(cut, end, pieces - pieces // 2, choose)


def _require_grid(query: QuantileCutsQuery) -> Grid:
    """Return the grid of a query for quantiles, which must have a single axis, of numbers.

    Args:
        query: The query.

    Raises:
        UnsupportedQuery: the query has several axes, or its axis is of categories.
    """
    if len(query.axes) != 1 or not isinstance(query.axes[0], Axis):
        raise UnsupportedQuery("axes", "cuts are chosen along one column of numbers; declare it on a grid")
    return query.axes[0].grid


def _count_inside(table: ExactTable, grid: Grid) -> NDArray[np.int64]:
    """SECRET: return the exact counts of the grid's cells, (cells,), with records outside the grid added to the
    outermost cells.

    Missing records are not counted.

    Args:
        table: Exact counts of a table along one axis, followed by the missing records.
        grid: Grid of the axis. If records outside are clipped, the outermost cells hold them already; else the table
            counts them in a cell before the first and one after the last.
    """
    cells = table[:-1].astype(np.int64)
    if grid.outside is Outside.CLIPPED:
        return cells
    inside: NDArray[np.int64] = cells[1:-1].copy()
    inside[0] += cells[0]
    inside[-1] += cells[-1]
    return inside


@dataclass(frozen=True, slots=True)
class ExponentialWorstBox(QueryMechanism):
    """Choose the box whose count is furthest from its expected count (Hardt, Ligett and McSherry 2012: MWEM).

    The probability of a box is proportional to ``exp(rate * abs(count - expected))``. Expected counts are public.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. *Proof*: the count of a box changes
    by at most `records`, the contribution bound of a unit, whether its records are added, removed or replaced: at most
    `records` records enter the box, and at most `records` leave it. Its distance from any number changes by no more. So
    the log ratio of probabilities has a range of ``2 * rate * records``, which is the `bounded_range` that the loss
    allows. The choice is sampled exactly, with or without ties.
    """

    query_types = (WorstBoxQuery,)
    display_name = "a choice of a box"

    def _plan(self, query: WorstBoxQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose the parameter of the exponential mechanism for a choice among boxes, and return the plan of the
        release.

        Its example choice is box 0.

        Args:
            query: Boxes, one of which is chosen.
            loss: Privacy loss of the query.
            adjacency: Neighbouring data sets.

        Raises:
            UnsupportedQuery: the loss is zero.
        """
        if misfit_rate(loss, adjacency) == 0:
            raise UnsupportedQuery(
                "epsilon, rho", "a loss above zero is needed to choose a box; give this step a part of the budget"
            )
        return Plan(query, loss, adjacency, "worst box by the exponential mechanism", Selection((0,)), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Sample a box by the exponential mechanism: return one integer, its index in ``query.boxes``.

        Args:
            table: SECRET. Exact counts of the cells, flat, missing records last.
            plan: The plan that `plan` returned for this query.
            randomness: Source of random bits.
        """
        query: WorstBoxQuery = self.require_query(plan)
        counts = count_boxes(table[:-1].astype(np.int64).reshape(query.shape), query.boxes)
        misfits = np.abs(counts - np.array(query.expected, dtype=np.int64))
        return (selection.sample_exponential_mechanism(-misfits, misfit_rate(plan.loss, plan.adjacency), randomness),)


def misfit_rate(loss: PrivacyLoss, adjacency: Adjacency) -> Fraction:
    """Return the parameter of the exponential mechanism `ExponentialWorstBox`: by how much a box's log probability
    rises per record of deviation between count and expectation.

    Args:
        loss: Privacy budget of this query.
        adjacency: Neighbouring relation of the guarantee; its contribution bound is the sensitivity of a count.
    """
    return bounded_range(loss) / (2 * adjacency.unit.records)


def count_boxes(cells: IntArray, boxes: Sequence[Box]) -> IntArray:
    """SECRET: return the exact number of records in each box, of shape ``(boxes,)``.

    Args:
        cells: SECRET. Exact counts of the cells, one array axis per axis of the table.
        boxes: For each box one pair of first cell and end (exclusive) per axis.

    >>> count_boxes(np.array([[1, 2], [4, 8]]), [((0, 2), (0, 2)), ((1, 2), (0, 1))])
    array([15,  4])
    """
    bounds = np.array(boxes, dtype=np.int64)  # (boxes, axes, 2)
    return count_from_corners(cumulate_to_corners(cells), Boxes(bounds[..., 0], bounds[..., 1]))


def cumulate_to_corners(cells: IntArray) -> IntArray:
    """SECRET: return cumulative sums of the counts along all axes: the exact number of records below each corner of the
    cells.

    The result has one more entry along each axis than `cells`; the first ones are 0.

    Args:
        cells: SECRET. Exact counts, one array axis per axis of the table.
    """
    below = np.pad(cells, [(1, 0)] * cells.ndim)
    for axis in range(cells.ndim):
        np.cumsum(below, axis=axis, out=below)
    return below


def count_from_corners(below: IntArray, boxes: Boxes) -> IntArray:
    """SECRET: return the exact number of records in each box, of shape ``(boxes,)``, by inclusion and exclusion.

    Args:
        below: SECRET. The result of `cumulate_to_corners`.
        boxes: Lower and upper corners of the boxes.
    """
    counts = np.zeros(len(boxes.lower), dtype=np.int64)
    for corner in product((False, True), repeat=below.ndim):
        index = np.where(corner, boxes.upper, boxes.lower)
        counts += (-1) ** (below.ndim - sum(corner)) * below[tuple(index.T)]
    return counts
