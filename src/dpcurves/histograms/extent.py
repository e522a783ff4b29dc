"""Cells of a flat table inside and outside of the grids; and orders in which neighbours stand together."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from ..arrays import IntArray
from ..data import Axis, Categories, Outside
from .table_estimator import Axes


@dataclass(frozen=True, slots=True, eq=False)
class Extent:
    """The cells of a table, told apart.

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
