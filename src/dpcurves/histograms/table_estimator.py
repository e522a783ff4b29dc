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
from ..queries import Read, RegionQuery


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
    def of(cls, axes: Axes) -> Extent:
        """The extent of the table with these axes.

        >>> from dpcurves.data import Grid
        >>> Extent.of((Axis("age", Grid(0, 1, cells=3, outside=Outside.APART)),)).outside
        array([0, 4])
        """
        within = np.ones((), dtype=np.bool_)
        for axis in axes:
            within = np.logical_and.outer(within, _within(axis))
        shape = tuple(int(np.count_nonzero(_within(axis))) for axis in axes)
        return cls(shape, np.flatnonzero(within.ravel()), np.flatnonzero(~within.ravel()))

    @property
    def cells(self) -> int:
        """The number of cells in the grids."""
        return prod(self.shape)


def neighbourly(shape: tuple[int, ...]) -> IntArray:
    """An order of cells in which neighbours are near each other: along Hilbert's curve in a plane, else row by row.

    For a plane that is no square with a side of a power of two, it is the curve of the next such square without the
    cells that are not there.

    >>> neighbourly((2, 2)).tolist()
    [0, 1, 3, 2]
    """
    if len(shape) != 2 or 1 in shape:
        return np.arange(prod(shape))
    place = hilbert_place(*np.indices(shape).reshape(2, -1), side=1 << (max(shape) - 1).bit_length())
    return np.argsort(place, kind="stable")


def hilbert_place(row: IntArray, column: IntArray, *, side: int) -> IntArray:
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
    return _numbered(shape, [np.arange(cells) * min(parts, cells) // cells for cells in shape])


def equal_blocks(shape: tuple[int, ...], parts: int) -> IntArray:
    """Number the block of each cell of a table, where each axis has at least so many parts, of one length.

    What is left over at the end of an axis is a part, too.

    >>> equal_blocks((5,), 2).tolist()
    [0, 0, 1, 1, 2]
    """
    return _numbered(shape, [np.arange(cells) // max(1, cells // parts) for cells in shape])


def _numbered(shape: tuple[int, ...], parts: list[IntArray]) -> IntArray:
    label = np.zeros((), dtype=np.int64)
    for part in parts:
        label = np.add.outer(label * (int(part[-1]) + 1), part)
    return label.ravel()


def _within(axis: Axis | Categories) -> NDArray[np.bool_]:
    within = np.ones(axis.slots, dtype=np.bool_)
    if isinstance(axis, Axis) and axis.grid.outside is Outside.APART:
        within[[0, -1]] = False
    return within


__all__ = ["Axes", "Conversation", "EstimatedTable", "TableEstimator", "epsilon_per_record"]

Conversation: TypeAlias = Strategy[EstimatedTable]


def epsilon_per_record(setting: Setting, share: Fraction) -> float:
    """The epsilon at which Laplace noise of scale 1 / epsilon is as wide as that of a count for this share of the loss.

    Rules that say how fine to count are written for neighbours that differ by one record more or less.

    >>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne
    >>> who = ReplaceOne(EACH_RECORD, 100)
    >>> epsilon_per_record(Setting(PrivacyLoss.pure(1), who), Fraction(1, 2))
    0.25
    """
    loss = setting.loss * share
    if loss.epsilon is not None:
        return float(loss.epsilon / setting.adjacency.l1_sensitivity)
    return sqrt(4 * float(loss.rho) / setting.adjacency.squared_l2_sensitivity)


Releases = tuple[Release, ...]

FOR_TOTAL = Fraction(1, 20)
"""The part of the share of one count of all records, where their number is private and has to be known."""

FIRST = -1
"""The turn of that count."""


def counted(
    axes: Axes, extent: Extent, labels: Sequence[IntArray], read: Read, share: Fraction, *, turn: int = 0
) -> Generator[Step, Release, EstimatedTable]:
    """Count regions, from coarse to fine: cells with the same label are one region, what lies outside is another.

    Args:
        axes: The axes of the table.
        extent: Its cells.
        labels: The region of each cell inside, for each tiling; each one's regions are divided by the next.
        read: See `RegionQuery`.
        share: The share of the budget.
        turn: See `RegionQuery`: an estimator that counts several times gives each time a number of its own.
    """
    query = regions(axes, extent, labels, read, turn=turn)
    release = yield Step(query, share)
    return read_regions(query, extent, Evidence.of(release), (release,))


def regions(axes: Axes, extent: Extent, labels: Sequence[IntArray], read: Read, *, turn: int) -> RegionQuery:
    """The question that `counted` asks."""
    order = np.lexsort(labels[::-1])
    first = np.zeros(extent.cells, dtype=np.bool_)
    first[0] = True
    tilings = []
    for label in labels:
        first[1:] |= np.diff(label[order]) != 0
        ends = [extent.cells] if len(extent.outside) else []
        tilings.append((*np.flatnonzero(first).tolist(), *ends))
    return RegionQuery(axes, (*extent.inside[order].tolist(), *extent.outside.tolist()), tuple(tilings), read, turn)


def read_regions(query: RegionQuery, extent: Extent, evidence: Evidence, releases: Releases) -> EstimatedTable:
    """The estimate of every cell from noisy counts of regions, spread evenly over their cells."""
    estimate = least_squares(evidence.measured, evidence.values, evidence.total)
    table = np.empty(estimate.cells.shape[1])
    table[np.asarray(query.order)] = estimate.cells[0]
    outside = float(table[extent.outside].sum())
    return EstimatedTable(table[extent.inside].reshape(extent.shape), outside, estimate.missing, releases)


def together(first: Release, second: Release) -> Evidence:
    """Two releases of nested tilings in one order, the coarse one first, as one.

    The second of the two counts of missing records is kept.
    """
    coarse, fine = Evidence.of(first), Evidence.of(second)
    law = replace(fine.measured, levels=coarse.measured.levels + fine.measured.levels)
    return Evidence(law, (*coarse.values[:-1], *fine.values), fine.total)


def records_inside(
    axes: Axes, extent: Extent, setting: Setting, share: Fraction, part: Fraction = FOR_TOTAL
) -> Generator[Step, Release, tuple[float, Fraction, Releases]]:
    """About how many records there are, what is left of the share, and what was paid for.

    Where their number is public it costs nothing, and those outside or missing are counted in; else this part of the
    share pays for one count.
    """
    if setting.adjacency.total is not None:
        return float(setting.adjacency.total), share, ()
    whole = [np.zeros(extent.cells, dtype=np.int64)]
    found = yield from counted(axes, extent, whole, Read.CELLS, share * part, turn=FIRST)
    return float(found.cells.sum()), share * (1 - part), found.releases
