"""Count regions of a histogram, of one or several columns, and estimate each cell by least squares.

This is the common base of table estimators (hierarchical and adaptive grids, DAWA, MWEM and others). An estimator gives
each cell a label; cells with one label are a region. Several labelings, each a refinement of the one before, are nested
partitions (tilings) of the cells:

    count_regions       one query for a noisy count of every region of every tiling -> `EstimatedTable`
    estimate_regions    noisy counts -> least squares, each finest region spread evenly over its cells
    nested_blocks, equal_blocks, order_by_proximity      labels and orders of cells from public facts

Cells outside the grids are one more region.

Formal guarantees: a record lies in one region of each tiling, for any labels, so a query loses its fraction of
the budget. Estimates are functions of released counts, so they lose nothing more (post-processing).

Reference: Hay, Rastogi, Miklau and Suciu 2010 (least squares on nested counts).

>>> nested_blocks((4, 4), 2).reshape(4, 4).tolist()  # blocks of a table of 4 by 4 cells
[[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]
>>> order_by_proximity((2, 4)).tolist()
[0, 4, 5, 1, 2, 3, 7, 6]
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays import IntArray
from ..conversation import Axes, EstimatedTable, Evidence, Release, Setting, Step, Strategy, TableEstimator
from ..data import Axis, Categories, Outside
from ..distributions import least_squares
from ..queries import CountUse, RegionQuery


@dataclass(frozen=True, slots=True, eq=False)
class Extent:
    """Which cells of a flat table lie inside all grids, and which hold values outside a grid.

    Attributes:
        shape: Number of inside cells, and of categories, along each axis.
        inside: Positions of the inside cells in the flat table, the last axis fastest.
        outside: Positions of all other cells.
    """

    shape: tuple[int, ...]
    inside: IntArray
    outside: IntArray

    @classmethod
    def from_axes(cls, axes: Axes) -> Extent:
        """Return which cells of the table with these axes lie inside all grids.

        Args:
            axes: Axes of the table.

        >>> from dpcurves.data import Grid
        >>> Extent.from_axes((Axis("age", Grid(0, 1, cells=3, outside=Outside.APART)),)).outside
        array([0, 4])
        """
        inside = np.ones((), dtype=np.bool_)
        for axis in axes:
            inside = np.logical_and.outer(inside, _inside_mask(axis))
        shape = tuple(int(np.count_nonzero(_inside_mask(axis))) for axis in axes)
        return cls(shape, np.flatnonzero(inside.ravel()), np.flatnonzero(~inside.ravel()))

    @property
    def cells(self) -> int:
        """Number of cells inside the grids of all axes: the product of their numbers of cells."""
        return prod(self.shape)


def order_by_proximity(shape: tuple[int, ...]) -> IntArray:
    """Return an order of cells that keeps neighbours close: along Hilbert's curve in a plane, else row by row.

    For a plane that is not a square with a side of a power of two, it is the curve of the next larger square of this
    kind, restricted to the existing cells.

    Args:
        shape: Number of cells along each axis.

    Returns:
        Positions in the flat table, in the order of the curve, (cells,).

    >>> order_by_proximity((2, 2)).tolist()
    [0, 1, 3, 2]
    """
    if len(shape) != 2 or 1 in shape:
        return np.arange(prod(shape))
    positions = hilbert_index(*np.indices(shape).reshape(2, -1), side=1 << (max(shape) - 1).bit_length())
    return np.argsort(positions, kind="stable")


def hilbert_index(row: IntArray, column: IntArray, *, side: int) -> IntArray:
    """Return the position of each cell along the Hilbert curve through a square (Hilbert 1891).

    Args:
        row: Row of each cell, from 0.
        column: Column of each cell, of the same shape.
        side: Number of cells of a side, a power of two.

    Returns:
        Positions from 0 to ``side**2 - 1``, of the same shape.
    """
    x = row.copy()
    y = column.copy()
    position = np.zeros_like(x)
    half = side // 2
    while half:
        right = (x & half) > 0
        upper = (y & half) > 0
        position += half**2 * ((3 * right) ^ upper)
        flipped = ~upper & right
        x = np.where(flipped, side - 1 - x, x)
        y = np.where(flipped, side - 1 - y, y)
        x, y = np.where(upper, x, y), np.where(upper, y, x)
        half //= 2
    return position


def nested_blocks(shape: tuple[int, ...], parts: int) -> IntArray:
    """Return the block number of each cell if each axis is divided into `parts` about equal parts.

    The blocks for a multiple of `parts` are nested in these.

    Args:
        shape: Number of cells along each axis.
        parts: Number of parts of an axis; an axis of fewer cells has one part for each.

    Returns:
        Numbers from 0, for the cells of the flat table, (cells,).

    >>> nested_blocks((5,), 2).tolist(), nested_blocks((2,), 7).tolist()
    ([0, 0, 0, 1, 1], [0, 1])
    """
    return _number_blocks(shape, [np.arange(cells) * min(parts, cells) // cells for cells in shape])


def equal_blocks(shape: tuple[int, ...], parts: int) -> IntArray:
    """Return the block number of each cell if each axis is divided into at least `parts` parts of one length.

    The remainder at the end of an axis is a part, too.

    Args:
        shape: Number of cells along each axis.
        parts: Least number of parts of an axis; an axis of fewer cells has one part for each.

    Returns:
        Numbers from 0, for the cells of the flat table, (cells,).

    >>> equal_blocks((5,), 2).tolist()
    [0, 0, 1, 1, 2]
    """
    return _number_blocks(shape, [np.arange(cells) // max(1, cells // parts) for cells in shape])


def _number_blocks(shape: tuple[int, ...], parts: list[IntArray]) -> IntArray:
    """Number the blocks that parts of all axes form: return the block number of each cell of a flat table.

    Args:
        shape: Number of cells along each axis.
        parts: For each axis, the part number of each cell along it, not decreasing from 0.
    """
    labels = np.zeros((), dtype=np.int64)
    for part in parts:
        labels = np.add.outer(labels * (int(part[-1]) + 1), part)
    return labels.ravel()


def _inside_mask(axis: Axis | Categories) -> NDArray[np.bool_]:
    """Return a mask of the counted cells (slots) of an axis that lie inside its grid; for categories all do.

    Args:
        axis: A grid or a list of categories.

    Returns:
        Mask of shape (slots,).
    """
    inside = np.ones(axis.slots, dtype=np.bool_)
    if isinstance(axis, Axis) and axis.grid.outside is Outside.APART:
        inside[[0, -1]] = False
    return inside


__all__ = ["Axes", "Conversation", "EstimatedTable", "TableEstimator", "epsilon_per_record"]

Conversation: TypeAlias = Strategy[EstimatedTable]
"""Queries of an estimator, round by round, which end in an `EstimatedTable`."""


def epsilon_per_record(setting: Setting, budget_fraction: Fraction) -> float:
    """Return the epsilon of Laplace noise of scale 1 / epsilon that is as wide as the noise of a count.

    Published rules for the size of cells assume neighbours that differ by one record; this epsilon is put into them.

    Args:
        setting: Loss and adjacency.
        budget_fraction: Fraction of the loss that the count gets.

    >>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne
    >>> adjacency = ReplaceOne(EACH_RECORD, 100)
    >>> epsilon_per_record(Setting(PrivacyLoss.pure(1), adjacency), Fraction(1, 2))
    0.25
    """
    loss = setting.loss * budget_fraction
    if loss.epsilon is not None:
        return float(loss.epsilon / setting.adjacency.l1_sensitivity)
    return sqrt(4 * float(loss.rho) / setting.adjacency.squared_l2_sensitivity)


Releases = tuple[Release, ...]
"""Releases of an estimator, in the order of its rounds."""

TOTAL_FRACTION = Fraction(1, 20)
"""Budget fraction of a count of all records, if an estimator needs their number and it is private."""


def count_regions(
    axes: Axes,
    extent: Extent,
    labels: Sequence[IntArray],
    use: CountUse,
    budget_fraction: Fraction,
    *,
    round_number: int = 0,
) -> Generator[Step, Release, EstimatedTable]:
    """Ask for noisy counts of the regions of nested tilings; return the least-squares estimate of every cell.

    Cells with the same label form a region, and all cells outside the grids form another.

    Args:
        axes: The axes of the table.
        extent: Which cells lie inside all grids.
        labels: Labels of the inside cells for each tiling, from coarse to fine; each tiling refines the previous one.
        use: What will be read: cells or prefixes.
        budget_fraction: Budget fraction of the query.
        round_number: Number of the round; an estimator with several rounds gives each its own.
    """
    query = build_region_query(axes, extent, labels, use, round_number=round_number)
    release = yield Step(query, budget_fraction)
    return estimate_regions(query, extent, Evidence.from_release(release), (release,))


def build_region_query(
    axes: Axes, extent: Extent, labels: Sequence[IntArray], use: CountUse, *, round_number: int
) -> RegionQuery:
    """Return the query for the counts of the regions of nested tilings, without asking it.

    Args:
        axes: The axes of the table.
        extent: Which cells lie inside all grids.
        labels: Labels of the inside cells for each tiling, from coarse to fine; each tiling refines the previous one.
        use: What will be read: cells or prefixes.
        round_number: Number of the round.
    """
    order = np.lexsort(labels[::-1])
    first = np.zeros(extent.cells, dtype=np.bool_)
    first[0] = True
    tilings = []
    for label in labels:
        first[1:] |= np.diff(label[order]) != 0
        outside_start = [extent.cells] if len(extent.outside) else []
        tilings.append((*np.flatnonzero(first).tolist(), *outside_start))
    return RegionQuery(
        axes, (*extent.inside[order].tolist(), *extent.outside.tolist()), tuple(tilings), use, round_number
    )


def estimate_regions(query: RegionQuery, extent: Extent, evidence: Evidence, releases: Releases) -> EstimatedTable:
    """Return the least-squares estimate of every cell: noisy counts of regions, spread evenly over their cells.

    Args:
        query: The regions that were counted.
        extent: Which cells lie inside all grids.
        evidence: The noisy counts.
        releases: The releases of the estimator so far, for the result.
    """
    estimate = least_squares(evidence.interval_sums, evidence.values, evidence.total)
    table = np.empty(estimate.cells.shape[1])
    table[np.asarray(query.order)] = estimate.cells[0]
    outside = float(table[extent.outside].sum())
    return EstimatedTable(table[extent.inside].reshape(extent.shape), outside, estimate.missing, releases)


def join_tilings(first: Release, second: Release) -> Evidence:
    """Combine the releases of coarse and finer nested tilings, for a joint least-squares estimate; the coarse one comes
    first.

    The estimate uses the second of the two counts of missing records.

    Args:
        first: Release of the coarse tilings.
        second: Release of finer tilings, whose query has the cells in the same order.
    """
    coarse = Evidence.from_release(first)
    fine = Evidence.from_release(second)
    distribution = replace(fine.interval_sums, levels=coarse.interval_sums.levels + fine.interval_sums.levels)
    return Evidence(distribution, (*coarse.values[:-1], *fine.values), fine.total)


def estimate_record_count(
    axes: Axes,
    extent: Extent,
    setting: Setting,
    budget_fraction: Fraction,
    counting_fraction: Fraction = TOTAL_FRACTION,
) -> Generator[Step, Release, tuple[float, Fraction, Releases]]:
    """Return the approximate number of records, asking one count for it if the number is private.

    A public number costs nothing, and includes records that are outside the grids or missing. A private one is counted
    inside the grids.

    Args:
        axes: The axes of the table.
        extent: Which cells lie inside all grids.
        setting: Loss and adjacency.
        budget_fraction: Budget fraction of the estimator.
        counting_fraction: Fraction of this that the count gets.

    Returns:
        The number of records, the budget fraction that remains, and the releases so far: none, or the count.
    """
    if setting.adjacency.public_record_count is not None:
        return float(setting.adjacency.public_record_count), budget_fraction, ()
    labels = [np.zeros(extent.cells, dtype=np.int64)]
    # an extra round that counts all records; rounds of the estimator are numbered from 0
    estimate = yield from count_regions(
        axes, extent, labels, CountUse.CELLS, budget_fraction * counting_fraction, round_number=-1
    )
    return float(estimate.cells.sum()), budget_fraction * (1 - counting_fraction), estimate.releases
