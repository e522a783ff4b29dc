"""Base of table estimators: regions of a flat table are counted in one turn and read by least squares."""

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
from ..laws import least_squares
from ..queries import CountUse, RegionQuery


@dataclass(frozen=True, slots=True, eq=False)
class Extent:
    """Places of the cells of a table, those inside of all grids apart from those outside.

    Attributes:
        shape: Cells of the grids, and categories, along each axis.
        inside: The places of these cells in the flat table, the last axis fastest.
        outside: The places of all other cells: of values outside of a grid.
    """

    shape: tuple[int, ...]
    inside: IntArray
    outside: IntArray

    @classmethod
    def from_axes(cls, axes: Axes) -> Extent:
        """The extent of the table with these axes.

        >>> from dpcurves.data import Grid
        >>> Extent.from_axes((Axis("age", Grid(0, 1, cells=3, outside=Outside.APART)),)).outside
        array([0, 4])
        """
        within = np.ones((), dtype=np.bool_)
        for axis in axes:
            within = np.logical_and.outer(within, _inside_mask(axis))
        shape = tuple(int(np.count_nonzero(_inside_mask(axis))) for axis in axes)
        return cls(shape, np.flatnonzero(within.ravel()), np.flatnonzero(~within.ravel()))

    @property
    def cells(self) -> int:
        """The number of cells in the grids."""
        return prod(self.shape)


def order_by_proximity(shape: tuple[int, ...]) -> IntArray:
    """An order of cells in which neighbours are near each other: along Hilbert's curve in a plane, else row by row.

    For a plane that is no square with a side of a power of two, it is the curve of the next such square without the
    cells that are not there.

    >>> order_by_proximity((2, 2)).tolist()
    [0, 1, 3, 2]
    """
    if len(shape) != 2 or 1 in shape:
        return np.arange(prod(shape))
    place = hilbert_index(*np.indices(shape).reshape(2, -1), side=1 << (max(shape) - 1).bit_length())
    return np.argsort(place, kind="stable")


def hilbert_index(row: IntArray, column: IntArray, *, side: int) -> IntArray:
    """The place of each cell along the Hilbert curve through a square of `side` cells, by halving (Hilbert 1891)."""
    x, y = row.copy(), column.copy()
    place = np.zeros_like(x)
    half = side // 2
    while half:
        right, upper = (x & half) > 0, (y & half) > 0
        place += half**2 * ((3 * right) ^ upper)
        flipped = ~upper & right
        x, y = np.where(flipped, side - 1 - x, x), np.where(flipped, side - 1 - y, y)
        x, y = np.where(upper, x, y), np.where(upper, y, x)
        half //= 2
    return place


def nested_blocks(shape: tuple[int, ...], parts: int) -> IntArray:
    """Number the block of each cell of a table, where each axis is divided into so many about equal parts.

    Blocks of a multiple of so many parts are nested in them.

    >>> nested_blocks((5,), 2).tolist(), nested_blocks((2,), 7).tolist()
    ([0, 0, 0, 1, 1], [0, 1])
    """
    return _number_blocks(shape, [np.arange(cells) * min(parts, cells) // cells for cells in shape])


def equal_blocks(shape: tuple[int, ...], parts: int) -> IntArray:
    """Number the block of each cell of a table, where each axis has at least so many parts, of one length.

    What is left over at the end of an axis is a part, too.

    >>> equal_blocks((5,), 2).tolist()
    [0, 0, 1, 1, 2]
    """
    return _number_blocks(shape, [np.arange(cells) // max(1, cells // parts) for cells in shape])


def _number_blocks(shape: tuple[int, ...], parts: list[IntArray]) -> IntArray:
    label = np.zeros((), dtype=np.int64)
    for part in parts:
        label = np.add.outer(label * (int(part[-1]) + 1), part)
    return label.ravel()


def _inside_mask(axis: Axis | Categories) -> NDArray[np.bool_]:
    within = np.ones(axis.slots, dtype=np.bool_)
    if isinstance(axis, Axis) and axis.grid.outside is Outside.APART:
        within[[0, -1]] = False
    return within


__all__ = ["Axes", "Conversation", "EstimatedTable", "TableEstimator", "epsilon_per_record"]

Conversation: TypeAlias = Strategy[EstimatedTable]


def epsilon_per_record(setting: Setting, budget_fraction: Fraction) -> float:
    """The epsilon at which Laplace noise of scale 1 / epsilon is as wide as that of a count for this share of the loss.

    Rules that say how fine to count are written for neighbours that differ by one record more or less.

    >>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne
    >>> who = ReplaceOne(EACH_RECORD, 100)
    >>> epsilon_per_record(Setting(PrivacyLoss.pure(1), who), Fraction(1, 2))
    0.25
    """
    loss = setting.loss * budget_fraction
    if loss.epsilon is not None:
        return float(loss.epsilon / setting.adjacency.l1_sensitivity)
    return sqrt(4 * float(loss.rho) / setting.adjacency.squared_l2_sensitivity)


Releases = tuple[Release, ...]

FOR_TOTAL = Fraction(1, 20)
"""The part of the share of one count of all records, where their number is private and has to be known."""

FIRST = -1
"""The turn of that count."""


def count_regions(
    axes: Axes,
    extent: Extent,
    labels: Sequence[IntArray],
    use: CountUse,
    budget_fraction: Fraction,
    *,
    round_number: int = 0,
) -> Generator[Step, Release, EstimatedTable]:
    """Count regions, from coarse to fine: cells with the same label are one region, what lies outside is another.

    Args:
        axes: The axes of the table.
        extent: Its cells.
        labels: The region of each cell inside, for each tiling; each one's regions are divided by the next.
        use: See `RegionQuery`.
        budget_fraction: The share of the budget.
        round_number: See `RegionQuery`: an estimator that counts several times gives each time a number of its own.
    """
    query = build_region_query(axes, extent, labels, use, round_number=round_number)
    release = yield Step(query, budget_fraction)
    return estimate_regions(query, extent, Evidence.from_release(release), (release,))


def build_region_query(
    axes: Axes, extent: Extent, labels: Sequence[IntArray], use: CountUse, *, round_number: int
) -> RegionQuery:
    """The question that `count_regions` asks."""
    order = np.lexsort(labels[::-1])
    first = np.zeros(extent.cells, dtype=np.bool_)
    first[0] = True
    tilings = []
    for label in labels:
        first[1:] |= np.diff(label[order]) != 0
        ends = [extent.cells] if len(extent.outside) else []
        tilings.append((*np.flatnonzero(first).tolist(), *ends))
    return RegionQuery(
        axes, (*extent.inside[order].tolist(), *extent.outside.tolist()), tuple(tilings), use, round_number
    )


def estimate_regions(query: RegionQuery, extent: Extent, evidence: Evidence, releases: Releases) -> EstimatedTable:
    """The estimate of every cell from noisy counts of regions, spread evenly over their cells."""
    estimate = least_squares(evidence.interval_sums, evidence.values, evidence.total)
    table = np.empty(estimate.cells.shape[1])
    table[np.asarray(query.order)] = estimate.cells[0]
    outside = float(table[extent.outside].sum())
    return EstimatedTable(table[extent.inside].reshape(extent.shape), outside, estimate.missing, releases)


def join_tilings(first: Release, second: Release) -> Evidence:
    """Two releases of nested tilings in one order, the coarse one first, as one.

    The second of the two counts of missing records is kept.
    """
    coarse, fine = Evidence.from_release(first), Evidence.from_release(second)
    law = replace(fine.interval_sums, levels=coarse.interval_sums.levels + fine.interval_sums.levels)
    return Evidence(law, (*coarse.values[:-1], *fine.values), fine.total)


def estimate_record_count(
    axes: Axes, extent: Extent, setting: Setting, budget_fraction: Fraction, counting_fraction: Fraction = FOR_TOTAL
) -> Generator[Step, Release, tuple[float, Fraction, Releases]]:
    """About how many records there are, what is left of the share, and what was paid for.

    Where their number is public it costs nothing, and those outside or missing are counted in; else this part of the
    share pays for one count.
    """
    if setting.adjacency.public_record_count is not None:
        return float(setting.adjacency.public_record_count), budget_fraction, ()
    whole = [np.zeros(extent.cells, dtype=np.int64)]
    found = yield from count_regions(
        axes, extent, whole, CountUse.CELLS, budget_fraction * counting_fraction, round_number=FIRST
    )
    return float(found.cells.sum()), budget_fraction * (1 - counting_fraction), found.releases
