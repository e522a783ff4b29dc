"""Histograms on private partitions (data-dependent algorithms): the table estimators AHP, DAWA, PrivTree and MWEM.

Cells with similar counts are merged into regions, and regions are counted, which takes less noise than single cells:

    AhpEstimator         noisy cells, sorted by count and merged greedily into clusters; clusters are counted
    DawaEstimator        intervals of similar counts, along a Hilbert curve in a plane; intervals are counted
    PrivTreeEstimator    boxes are divided while they seem to hold many records; leaves are counted
    MwemEstimator        each round selects the box whose expected count is worst, counts it, and fits the table to all

`estimate_table` of each takes the axes of the table and a budget fraction, asks its queries round by round, and returns
an `EstimatedTable` with a count for each cell. The first three have two rounds: a partition with a fraction of the
loss, and counts of its regions, spread evenly over their cells, with the rest.

Formal guarantees: the fractions of the rounds add up to the granted loss, and rounds compose adaptively. Partitions are
released by their mechanisms, or computed from noisy counts.

References: Zhang, Chen, Xu, Meng and Xie 2014 (AHP); Li, Hay, Miklau and Wang 2014 (DAWA); Zhang, Xiao and Xie 2016
(PrivTree); Hardt, Ligett and McSherry 2012 (MWEM).

>>> first_row = BoxCount((slice(0, 1), slice(0, 2)), inside_count=3.0, outside_count=1.0)
>>> fit_box_counts(np.ones((2, 2)), [first_row]).round(6).tolist()  # MWEM, after one counted box
[[1.5, 1.5], [0.5, 0.5]]
"""

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


@dataclass(frozen=True, slots=True)
class AhpEstimator:
    """AHP: cluster cells by their noisy counts, then count the clusters, in two rounds (Zhang, Chen, Xu, Meng and Xie
    2014).

    Noisy counts of cells below ``0.35 * log(cells) / epsilon`` are set to 0. Then the cells are sorted by count, and
    neighbours in that order are merged while that lowers the expected squared error. Clusters are not intervals, so
    sums over intervals are biased, which makes this a poor choice for distribution functions.

    Attributes:
        scan_fraction: Budget fraction of the first round, which finds the clusters.

    Raises:
        ValueError: `scan_fraction` is not between 0 and 1.
    """

    scan_fraction: Fraction = Fraction(17, 20)

    def __post_init__(self) -> None:
        """Check the budget fraction of the first round.

        Raises:
            InvalidArgument: `scan_fraction` is not between 0 and 1.
        """
        if not 0 < self.scan_fraction < 1:
            raise InvalidArgument(
                "scan_fraction", f"a fraction between 0 and 1 is needed, as in Fraction(1, 4), got {self.scan_fraction}"
            )

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Count all cells, then clusters of them; return the counts of clusters spread evenly over their cells.

        Args:
            axes: The axes of the table.
            setting: Loss and adjacency.
            budget_fraction: Budget fraction of both rounds together.
        """
        extent = tables.Extent.from_axes(axes)
        pilot = yield from tables.count_regions(
            axes, extent, [np.arange(extent.cells)], CountUse.CELLS, budget_fraction * self.scan_fraction
        )
        epsilon = tables.epsilon_per_record(setting, budget_fraction * self.scan_fraction)
        noisy = pilot.cells.ravel()
        counts = np.where(noisy <= 0.35 * log(extent.cells) / epsilon, 0.0, noisy)  # the threshold of the paper
        order = np.argsort(counts, kind="stable")
        remaining = budget_fraction * (1 - self.scan_fraction)
        labels = np.empty(extent.cells, dtype=np.int64)
        labels[order] = cluster_counts(counts[order], 2 / tables.epsilon_per_record(setting, remaining) ** 2)
        estimate = yield from tables.count_regions(axes, extent, [labels], CountUse.CELLS, remaining, round_number=1)
        return tables.EstimatedTable(
            estimate.cells, estimate.outside, estimate.missing, (*pilot.releases, *estimate.releases)
        )


def cluster_counts(rising: FloatArray, variance: float) -> NDArray[np.int64]:
    """Return the cluster number of each value by greedy clustering (Zhang, Chen, Xu, Meng and Xie 2014).

    A cluster of m values costs the sum of squared distances from their mean, plus ``variance / m`` for its noise. The
    next value joins unless it would be cheaper, at best, in a new cluster with some of the values that follow it.

    Args:
        rising: Non-decreasing values, of shape ``(n,)``.
        variance: The variance of the noise of one count.

    Returns:
        Cluster numbers from 0, non-decreasing, of shape ``(n,)``.

    >>> cluster_counts(np.array([0.0, 0.1, 9.0, 9.2, 9.3]), 2.0).tolist()
    [0, 0, 1, 1, 1]
    """
    sums = np.concatenate(([0.0], np.cumsum(rising)))
    squares = np.concatenate(([0.0], np.cumsum(rising**2)))
    # A new cluster takes all values equal to its first one: they add no distance and lower its noise.
    last_equal = np.searchsorted(rising, rising, side="right") - 1
    return _cluster_greedily(rising, sums, squares, last_equal, variance)


@compile_loop
def _cluster_greedily(
    rising: FloatArray, sums: FloatArray, squares: FloatArray, last_equal: NDArray[np.int64], variance: float
) -> NDArray[np.int64]:
    """Assign each sorted value to a cluster by the greedy rule of `cluster_counts`, compiled; return cluster numbers
    from 0.

    Args:
        rising: Non-decreasing values, (n,).
        sums: Prefix sums of the values, which begin with 0, (n + 1,).
        squares: Prefix sums of their squares, which begin with 0, (n + 1,).
        last_equal: Index of the last value that equals each, (n,).
        variance: Noise variance of one count.
    """
    count = len(rising)
    labels = np.zeros(count, dtype=np.int64)
    start = 0
    for new in range(1, count):
        members = new - start
        total = sums[new] - sums[start]
        square = squares[new] - squares[start]
        separate_cost = square - total**2 / members + variance / members
        total = sums[new + 1] - sums[start]
        square = squares[new + 1] - squares[start]
        joined_cost = square - total**2 / (members + 1) + variance / (members + 1)
        best_cost = np.inf
        for last in range(last_equal[new], count):
            size = last - new + 1
            distance = (rising[new] - (sums[last + 1] - sums[new]) / size) ** 2
            best_cost = min(best_cost, distance + variance / size**2)
            if distance > best_cost:  # the mean only grows, and the cost of noise is not negative
                break
        labels[new] = labels[new - 1]
        if joined_cost >= separate_cost + best_cost:
            start = new
            labels[new] += 1
    return labels


@dataclass(frozen=True, slots=True)
class DawaEstimator:
    """DAWA: choose intervals of similar counts privately, then count them, in two rounds (Li, Hay, Miklau and Wang
    2014).

    The first round chooses a partition of the cells in an order that keeps neighbours together: along a Hilbert curve
    with two axes, else row by row. The second round counts its intervals: along one axis with a tree over them, for
    accurate prefixes, and in a plane also in groups if there are many. Counts are spread evenly inside an interval.
    `docs/errata.md` has the differences from the paper.

    Attributes:
        partition_fraction: Budget fraction of the choice of the partition. None: a quarter, or two fifths with two
            axes.

    Raises:
        ValueError: `partition_fraction` is not between 0 and 1.
    """

    partition_fraction: Fraction | None = None

    def __post_init__(self) -> None:
        """Check the budget fraction of the partition.

        Raises:
            InvalidArgument: `partition_fraction` is not between 0 and 1.
        """
        if self.partition_fraction is not None and not 0 < self.partition_fraction < 1:
            raise InvalidArgument(
                "partition_fraction",
                f"a fraction between 0 and 1 is needed, as in Fraction(1, 4), got {self.partition_fraction}",
            )

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Choose a partition, then count its intervals; return their counts spread evenly over cells.

        Args:
            axes: The axes of the table.
            setting: Loss and adjacency.
            budget_fraction: Budget fraction of both rounds together.
        """
        extent = tables.Extent.from_axes(axes)
        order = tables.order_by_proximity(extent.shape)
        query = IntervalPartitionQuery(axes, tuple(extent.inside[order].tolist()))
        is_line = extent.cells == max(extent.shape)
        fraction = self.partition_fraction
        if fraction is None:
            fraction = Fraction(1, 4) if is_line else Fraction(2, 5)
        partition = yield Step(query, budget_fraction * fraction)
        labels = np.empty(extent.cells, dtype=np.int64)
        labels[order] = np.cumsum(np.asarray(partition.values) == 1)
        # from 200 intervals in a plane on, a coarse level of groups of 32 intervals is counted too
        levels = [labels] if is_line or int(labels.max()) < 200 else [labels // 32, labels]
        use = CountUse.PREFIXES if is_line else CountUse.CELLS
        estimate = yield from tables.count_regions(axes, extent, levels, use, budget_fraction * (1 - fraction))
        return tables.EstimatedTable(
            estimate.cells, estimate.outside, estimate.missing, (partition, *estimate.releases)
        )


@dataclass(frozen=True, slots=True)
class PrivTreeEstimator:
    """PrivTree: refine a partition into boxes privately, then count its leaves, in two rounds (Zhang, Xiao and Xie
    2016).

    Attributes:
        branching_factor: Number of parts of a box along each axis, at least 2.
        threshold: Records. A box is divided only if it appears to hold more than this; with 0, noise decides for empty
            boxes.
        partition_fraction: Budget fraction of the partition; its leaves are counted with the rest.

    Raises:
        ValueError: `branching_factor` is below 2, `threshold` below 0, or `partition_fraction` not between 0 and 1.
    """

    branching_factor: int = 2
    threshold: int = 0
    partition_fraction: Fraction = Fraction(1, 5)  # budget fraction of the partition

    def __post_init__(self) -> None:
        """Check the branching factor, the threshold and the budget fraction.

        Raises:
            InvalidArgument: one of them is out of range.
        """
        if self.branching_factor < 2:
            raise InvalidArgument(
                "branching_factor", f"must be at least 2 parts along an axis, as in 4, got {self.branching_factor}"
            )
        if self.threshold < 0:
            raise InvalidArgument("threshold", f"must be a number of records from 0, as in 20, got {self.threshold}")
        if not 0 < self.partition_fraction < 1:
            raise InvalidArgument(
                "partition_fraction",
                f"a fraction between 0 and 1 is needed, as in Fraction(1, 4), got {self.partition_fraction}",
            )

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Choose a partition, then count its leaves; return their counts spread evenly over cells.

        Args:
            axes: The axes of the table.
            setting: Loss and adjacency.
            budget_fraction: Budget fraction of both rounds together.
        """
        extent = tables.Extent.from_axes(axes)
        query = TreePartitionQuery(axes, (self.branching_factor,) * len(axes), self.threshold)
        partition = yield Step(query, budget_fraction * self.partition_fraction)
        leaves = SplitRule(query.shape, query.fans).find_leaves(partition.values)
        labels = number_leaves(leaves, query.shape)[extent.inside]
        use = CountUse.PREFIXES if extent.cells == max(extent.shape) else CountUse.CELLS
        estimate = yield from tables.count_regions(
            axes, extent, [labels], use, budget_fraction * (1 - self.partition_fraction)
        )
        return tables.EstimatedTable(
            estimate.cells, estimate.outside, estimate.missing, (partition, *estimate.releases)
        )


def number_leaves(leaves: Boxes, shape: tuple[int, ...]) -> IntArray:
    """Return, for each cell of a table, the number of the box that contains the cell.

    Args:
        leaves: Boxes that partition the table.
        shape: Number of cells along each axis.

    Returns:
        Numbers from 0, which increase with the first cells of the boxes, for the flat table, (cells,).
    """
    number = np.empty(shape, dtype=np.int64)
    order = np.lexsort(leaves.lower.T[::-1])
    for rank, (lower, upper) in enumerate(zip(leaves.lower[order].tolist(), leaves.upper[order].tolist(), strict=True)):
        number[tuple(slice(low, high) for low, high in zip(lower, upper, strict=True))] = rank
    return number.ravel()


class BoxCount(NamedTuple):
    """A counted box: its cells, and the noisy numbers of records inside and outside it."""

    cells: tuple[slice, ...]
    inside_count: float
    outside_count: float


@dataclass(frozen=True, slots=True)
class MwemEstimator:
    """Multiplicative weights (Hardt, Ligett and McSherry 2012): each round selects and counts the worst box.

    Boxes begin at the first cell: along one axis they are prefixes. The records outside the box are counted with it at
    no further cost, which makes the total more accurate round by round. The paper assumes that the total is known; if
    it is private, a first round counts it here. After each round the estimate is fitted to all boxes so far, starting
    from the previous estimate.

    Attributes:
        rounds: The number of boxes that are counted.

    Raises:
        ValueError: `rounds` is below 1.
    """

    rounds: int = 10

    def __post_init__(self) -> None:
        """Check the number of rounds.

        Raises:
            InvalidArgument: `rounds` is below 1.
        """
        if self.rounds < 1:
            raise InvalidArgument("rounds", f"at least 1 round is needed, as in 5, got {self.rounds}")

    def estimate_table(self, axes: tables.Axes, setting: Setting, budget_fraction: Fraction) -> tables.Conversation:
        """Count all records if their number is private; then, in each round, select a box and count it.

        Args:
            axes: The axes of the table.
            setting: Loss and adjacency.
            budget_fraction: Budget fraction of all rounds together.

        Returns:
            The table that agrees with all box counts.
        """
        extent = tables.Extent.from_axes(axes)
        total, remaining, releases = yield from tables.estimate_record_count(axes, extent, setting, budget_fraction)
        boxes = list_candidate_boxes(extent.shape)
        # In the table, the cell of values below the grid comes first.
        shifts = [isinstance(axis, Axis) and axis.grid.outside is Outside.APART for axis in axes]
        rounds = min(self.rounds, len(boxes))
        estimate = np.full(extent.shape, max(total, 1.0) / extent.cells)
        box_counts = list[BoxCount]()
        counts = None
        for round_number in range(rounds):
            # records, so that expected counts fit 64 bits
            expected = tuple(round(min(float(estimate[box_slices(box)].sum()), 1e18)) for box in boxes)
            shifted = tuple(_shift_box(box, shifts) for box in boxes)
            selection = yield Step(WorstBoxQuery(axes, shifted, expected), remaining / rounds / 2)
            box = boxes.pop(selection.values[0])
            labels = np.ones(extent.shape, dtype=np.int64)
            labels[box_slices(box)] = 0
            counts = yield from tables.count_regions(
                axes, extent, [labels.ravel()], CountUse.CELLS, remaining / rounds / 2, round_number=round_number
            )
            inside_count = float(counts.cells[box_slices(box)].sum())
            box_counts.append(BoxCount(box_slices(box), inside_count, float(counts.cells.sum()) - inside_count))
            estimate = fit_box_counts(estimate, box_counts)
            releases = (*releases, selection, *counts.releases)
        return tables.EstimatedTable(
            estimate, counts.outside if counts else 0.0, counts.missing if counts else 0.0, releases
        )


def list_candidate_boxes(shape: tuple[int, ...]) -> list[Box]:
    """Return the boxes that may be counted, all from the first cell, at most 4,096.

    Args:
        shape: Number of cells along each axis.

    Returns:
        The boxes without the box of all cells, unless it is the only one.

    >>> list_candidate_boxes((3,))
    [((0, 1),), ((0, 2),)]
    >>> len(list_candidate_boxes((4, 4))), list_candidate_boxes((1, 1))
    (15, [((0, 1), (0, 1))])
    """
    # candidate boxes of a round, which bounds the time of the selection
    max_ends = int(4096 ** (1 / len(shape)) + 1e-9)
    axis_ends = (
        np.unique(np.ceil(np.linspace(0, cells, min(cells, max_ends) + 1)[1:]).astype(int)).tolist() for cells in shape
    )
    boxes: list[Box] = [tuple((0, end) for end in corner) for corner in product(*axis_ends)]
    return boxes[:-1] or boxes


def box_slices(box: Box) -> tuple[slice, ...]:
    """Return the slices that select the cells of a box.

    Args:
        box: First cell, and cell behind the last one, along each axis.

    Returns:
        A slice for each axis, to index a table.
    """
    return tuple(slice(low, high) for low, high in box)


def _shift_box(box: Box, shifts: Sequence[int]) -> Box:
    """Return a box whose bounds on each axis are moved by the shift of that axis, in cells.

    Args:
        box: First cell, and cell behind the last one, along each axis.
        shifts: Number of cells for each axis, which may be below zero.
    """
    return tuple((low + shift, high + shift) for (low, high), shift in zip(box, shifts, strict=True))


def fit_box_counts(estimate: FloatArray, box_counts: Sequence[BoxCount]) -> FloatArray:
    """Return the table closest to the estimate in relative entropy that agrees with all box counts.

    It is computed by 100 sweeps of iterative proportional fitting. The paper moves part of the way to the last count;
    here each count is met (Deming and Stephan 1940), which does not depend on the number of records. The count inside a
    box is averaged with the total minus the count outside it.

    Args:
        estimate: Positive table to start from, of the shape of the histogram.
        box_counts: The boxes that were counted, at least one.

    Returns:
        A positive table of the same shape.
    """
    total = max(float(np.mean([count.inside_count + count.outside_count for count in box_counts])), 1.0)
    minimum = 1e-9 * total  # the smallest expected share inside, and outside, a counted box avoids a division by 0
    # sweeps of iterative proportional fitting over all counted boxes
    for _ in range(100):
        for count in box_counts:
            target = min(max((count.inside_count + total - count.outside_count) / 2, minimum), total - minimum)
            estimate = estimate * (total / estimate.sum())
            inside = float(estimate[count.cells].sum())
            factor = (total - target) / max(total - inside, minimum)
            estimate *= factor
            estimate[count.cells] *= target / max(inside, minimum) / factor
    return estimate
