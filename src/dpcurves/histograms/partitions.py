"""Table estimators on private partitions: clusters of counts (AHP), DAWA, PrivTree, and multiplicative weights
(MWEM)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import InvalidArgument
from ..arrays import FloatArray, IntArray, compile_loop
from ..conversation import Setting, Step
from ..data import Axis, Outside
from ..queries import Box, Boxes, CountUse, IntervalPartitionQuery, SplitRule, TreePartitionQuery, WorstBoxQuery
from . import table_estimator as tables


def cluster_counts(rising: FloatArray, variance: float) -> NDArray[np.int64]:
    """The number of each number's cluster, in one pass (Zhang, Chen, Xu, Meng and Xie 2014, greedy clustering).

    A cluster of m numbers costs the sum of squared distances from their mean, and ``variance / m`` for its noise. The
    next number joins unless it would be cheaper, at the best, in a new cluster with some of those that follow it.

    Args:
        rising: Numbers that do not fall, of shape ``(n,)``.
        variance: The variance of the noise of one count.

    >>> cluster_counts(np.array([0.0, 0.1, 9.0, 9.2, 9.3]), 2.0).tolist()
    [0, 0, 1, 1, 1]
    """
    sums = np.concatenate(([0.0], np.cumsum(rising)))
    squares = np.concatenate(([0.0], np.cumsum(rising**2)))
    # A new cluster takes all numbers that equal its first one: they come near it for less noise each.
    last_equal = np.searchsorted(rising, rising, side="right") - 1
    return _cluster_greedily(rising, sums, squares, last_equal, variance)


@compile_loop
def _cluster_greedily(
    rising: FloatArray, sums: FloatArray, squares: FloatArray, last_equal: NDArray[np.int64], variance: float
) -> NDArray[np.int64]:
    count = len(rising)
    label = np.zeros(count, dtype=np.int64)
    start = 0
    for new in range(1, count):
        members = new - start
        total, square = sums[new] - sums[start], squares[new] - squares[start]
        alone = square - total**2 / members + variance / members
        total, square = sums[new + 1] - sums[start], squares[new + 1] - squares[start]
        joined = square - total**2 / (members + 1) + variance / (members + 1)
        best = np.inf
        for last in range(last_equal[new], count):
            size = last - new + 1
            apart = (rising[new] - (sums[last + 1] - sums[new]) / size) ** 2
            best = min(best, apart + variance / size**2)
            if apart > best:  # the mean only rises, and what noise costs is not below zero
                break
        label[new] = label[new - 1]
        if joined >= alone + best:
            start = new
            label[new] += 1
    return label


THRESHOLD = 0.35


@dataclass(frozen=True, slots=True)
class AhpEstimator:
    """Cluster, then count (Zhang, Chen, Xu, Meng and Xie 2014). Two turns.

    Noisy counts of all cells that are below ``0.35 * log(cells) / epsilon`` are set to 0; then the cells are sorted by
    count, and neighbours in that order are merged as long as that lowers the expected squared error. Clusters are not
    intervals, so sums over intervals are biased, which makes this a poor choice for distribution functions.

    Attributes:
        scan_fraction: The part of the budget that is spent on finding clusters.

    Raises:
        ValueError: `scan_fraction` is not between 0 and 1.
    """

    scan_fraction: Fraction = Fraction(17, 20)

    def __post_init__(self) -> None:
        if not 0 < self.scan_fraction < 1:
            raise InvalidArgument("scan_fraction", f"a part between 0 and 1 is needed, got {self.scan_fraction}")

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Ask for all cells, then for clusters of them."""
        extent = tables.Extent.from_axes(axes)
        seen = yield from tables.count_regions(
            axes, extent, [np.arange(extent.cells)], CountUse.CELLS, budget_fraction * self.scan_fraction
        )
        epsilon = tables.epsilon_per_record(setting, budget_fraction * self.scan_fraction)
        noisy = seen.cells.ravel()
        kept = np.where(noisy <= THRESHOLD * log(extent.cells) / epsilon, 0.0, noisy)
        order = np.argsort(kept, kind="stable")
        rest = budget_fraction * (1 - self.scan_fraction)
        label = np.empty(extent.cells, dtype=np.int64)
        label[order] = cluster_counts(kept[order], 2 / tables.epsilon_per_record(setting, rest) ** 2)
        found = yield from tables.count_regions(axes, extent, [label], CountUse.CELLS, rest, round_number=1)
        return tables.EstimatedTable(found.cells, found.outside, found.missing, (*seen.releases, *found.releases))


GROUP = 32
MOST_IN_ONE_LEVEL = 200
"""In a plane so few intervals, or less, are counted one by one; more of them also in groups."""


@dataclass(frozen=True, slots=True)
class DawaEstimator:
    """Find and count intervals of similar counts (Li, Hay, Miklau and Wang 2014): see `docs/errata.md`. Two turns.

    First a partition of the cells is chosen, in an order that keeps neighbours together: with two axes along a Hilbert
    curve, else row by row. Then its intervals are counted: along one axis with a tree over them, so that prefixes are
    read well, in a plane also in groups, where there are many. Inside an interval counts are spread evenly.

    Attributes:
        partition_fraction: The part of the budget that is spent on choosing the partition. None: a quarter, with two axes two
            fifths.

    Raises:
        ValueError: `partition_fraction` is not between 0 and 1.
    """

    partition_fraction: Fraction | None = None

    def __post_init__(self) -> None:
        if self.partition_fraction is not None and not 0 < self.partition_fraction < 1:
            raise InvalidArgument(
                "partition_fraction", f"a part between 0 and 1 is needed, got {self.partition_fraction}"
            )

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Ask for a partition, then for its counts."""
        extent = tables.Extent.from_axes(axes)
        order = tables.order_by_proximity(extent.shape)
        query = IntervalPartitionQuery(axes, tuple(extent.inside[order].tolist()))
        in_line = extent.cells == max(extent.shape)
        choice = (
            self.partition_fraction
            if self.partition_fraction is not None
            else Fraction(1, 4)
            if in_line
            else Fraction(2, 5)
        )
        chosen = yield Step(query, budget_fraction * choice)
        label = np.empty(extent.cells, dtype=np.int64)
        label[order] = np.cumsum(np.asarray(chosen.values) == 1)
        labels = [label] if in_line or int(label.max()) < MOST_IN_ONE_LEVEL else [label // GROUP, label]
        read = CountUse.PREFIXES if in_line else CountUse.CELLS
        found = yield from tables.count_regions(axes, extent, labels, read, budget_fraction * (1 - choice))
        return tables.EstimatedTable(found.cells, found.outside, found.missing, (chosen, *found.releases))


GROWING = Fraction(1, 5)


@dataclass(frozen=True, slots=True)
class PrivTreeEstimator:
    """Grow a partition, then count its leaves (Zhang, Xiao and Xie 2016). Two turns.

    Attributes:
        fan: Into how many parts a box is divided along each axis.
        least: A box is divided only if it seems to hold more records than this; with 0, the noise decides.
        partition_fraction: The part of the share that is spent on growing the partition; the rest is spent on counting its leaves.

    Raises:
        ValueError: `fan` is below 2, `least` below 0, or `partition_fraction` not between 0 and 1.
    """

    fan: int = 2
    least: int = 0
    partition_fraction: Fraction = GROWING

    def __post_init__(self) -> None:
        if self.fan < 2:
            raise InvalidArgument("fan", f"a box is divided into at least 2 parts along an axis, got {self.fan}")
        if self.least < 0:
            raise InvalidArgument("least", f"a number of records of at least 0 is needed, got {self.least}")
        if not 0 < self.partition_fraction < 1:
            raise InvalidArgument(
                "partition_fraction", f"a part between 0 and 1 is needed, got {self.partition_fraction}"
            )

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Ask for a partition, then for the counts of its leaves."""
        extent = tables.Extent.from_axes(axes)
        query = TreePartitionQuery(axes, (self.fan,) * len(axes), self.least)
        grown = yield Step(query, budget_fraction * self.partition_fraction)
        leaves = SplitRule(query.shape, query.fans).find_leaves(grown.values)
        label = number_leaves(leaves, query.shape)[extent.inside]
        read = CountUse.PREFIXES if extent.cells == max(extent.shape) else CountUse.CELLS
        found = yield from tables.count_regions(
            axes, extent, [label], read, budget_fraction * (1 - self.partition_fraction)
        )
        return tables.EstimatedTable(found.cells, found.outside, found.missing, (grown, *found.releases))


def number_leaves(leaves: Boxes, shape: tuple[int, ...]) -> IntArray:
    """The number of the box that each cell of a flat table is in; numbers rise with the first cells of the boxes."""
    number = np.empty(shape, dtype=np.int64)
    order = np.lexsort(leaves.lower.T[::-1])
    for rank, (lower, upper) in enumerate(zip(leaves.lower[order].tolist(), leaves.upper[order].tolist(), strict=True)):
        number[tuple(slice(low, high) for low, high in zip(lower, upper, strict=True))] = rank
    return number.ravel()


SWEEPS = 100
MOST_BOXES = 4096
LEAST_EXPECTED = 1e-9
"""So large a part of all records, at least, is expected in a box that was counted, and beside it."""
MOST_EXPECTED = 1e18


class BoxCount(NamedTuple):
    """A box that was counted: which cells, and how many records were found in it and beside it."""

    cells: tuple[slice, ...]
    inside_count: float
    outside_count: float


@dataclass(frozen=True, slots=True)
class MwemEstimator:
    """Multiplicative weights (Hardt, Ligett and McSherry 2012): in each round the worst box is chosen and counted.

    Boxes begin at the first cell: along one axis they are prefixes. The records outside the box are counted together
    with it at no further cost, which makes the total more exact round by round. The paper takes the total as known;
    here, where it is private, a first count of it is paid for. After each round the estimate is fitted to all boxes so
    far, starting from the previous estimate.

    Attributes:
        rounds: How many boxes are counted.

    Raises:
        ValueError: there is no round.
    """

    rounds: int = 10

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise InvalidArgument("rounds", f"at least 1 is needed, got {self.rounds}")

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Ask for the number of records, if need be, then turn by turn for a box and its count."""
        extent = tables.Extent.from_axes(axes)
        total, left, paid = yield from tables.estimate_record_count(axes, extent, setting, budget_fraction)
        boxes = list_candidate_boxes(extent.shape)
        # In the table cells for values outside come first.
        shifts = [isinstance(axis, Axis) and axis.grid.outside is Outside.APART for axis in axes]
        rounds = min(self.rounds, len(boxes))
        estimate, so_far, found = np.full(extent.shape, max(total, 1.0) / extent.cells), list[BoxCount](), None
        for turn in range(rounds):
            expected = tuple(round(min(float(estimate[box_slices(box)].sum()), MOST_EXPECTED)) for box in boxes)
            shifted = tuple(
                tuple((low + shift, high + shift) for (low, high), shift in zip(box, shifts, strict=True))
                for box in boxes
            )
            chosen = yield Step(WorstBoxQuery(axes, shifted, expected), left / rounds / 2)
            box = boxes.pop(chosen.values[0])
            beside = np.ones(extent.shape, dtype=np.int64)
            beside[box_slices(box)] = 0
            found = yield from tables.count_regions(
                axes, extent, [beside.ravel()], CountUse.CELLS, left / rounds / 2, round_number=turn
            )
            within = float(found.cells[box_slices(box)].sum())
            so_far.append(BoxCount(box_slices(box), within, float(found.cells.sum()) - within))
            estimate = fit_box_counts(estimate, so_far)
            paid = (*paid, chosen, *found.releases)
        return tables.EstimatedTable(estimate, found.outside if found else 0.0, found.missing if found else 0.0, paid)


def list_candidate_boxes(shape: tuple[int, ...]) -> list[Box]:
    """The boxes that may be counted: from the first cell on; at most `MOST_BOXES`, of which none but the only has all.

    >>> list_candidate_boxes((3,))
    [((0, 1),), ((0, 2),)]
    >>> len(list_candidate_boxes((4, 4))), list_candidate_boxes((1, 1))
    (15, [((0, 1), (0, 1))])
    """
    most = int(MOST_BOXES ** (1 / len(shape)) + 1e-9)
    ends = (np.unique(np.ceil(np.linspace(0, cells, min(cells, most) + 1)[1:]).astype(int)).tolist() for cells in shape)
    boxes: list[Box] = [tuple((0, end) for end in corner) for corner in product(*ends)]
    return boxes[:-1] or boxes


def box_slices(box: Box) -> tuple[slice, ...]:
    """To take the cells of a box."""
    return tuple(slice(low, high) for low, high in box)


def fit_box_counts(estimate: FloatArray, box_counts: Sequence[BoxCount]) -> FloatArray:
    """Nearest to the estimate, in relative entropy, of all that agree with what was found: box by box, in sweeps.

    The paper moves part of the way to the last count; here counts are met (Deming and Stephan 1940), which does not
    depend on how many records there are. Of the box a count in it and what is left beside it are averaged.
    """
    total = max(float(np.mean([one.inside_count + one.outside_count for one in box_counts])), 1.0)
    least = LEAST_EXPECTED * total
    for _ in range(SWEEPS):
        for one in box_counts:
            aim = min(max((one.inside_count + total - one.outside_count) / 2, least), total - least)
            estimate = estimate * (total / estimate.sum())
            within = float(estimate[one.cells].sum())
            beside = (total - aim) / max(total - within, least)
            estimate *= beside
            estimate[one.cells] *= aim / max(within, least) / beside
    return estimate
