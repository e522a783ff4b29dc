"""Regions to be counted: the whole table, and boxes of cells that are divided again and again, as in a quadtree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import InvalidArgument, convert_tuples_to_integers
from ..arrays import IntArray
from .query import CountUse, Places, Query, places_to_array

MOST_EXPECTED = 2**62

Box = tuple[tuple[int, int], ...]
"""Along each axis the first cell, and one after the last."""


@dataclass(frozen=True, slots=True)
class RegionQuery(Query):
    """Counts of records in each region of nested tilings of the whole table.

    Attributes:
        order: All cells of the flat table, each once, in an order in which every region is an interval. It may depend
            on earlier answers, never on records.
        tilings: From coarse to fine, each the first places of its regions in that order, which rise from 0. Every
            region is a union of regions of the next tiling. They may depend on earlier answers, never on records.
        use: `CELLS`: just these tilings are counted, each with the same share of the loss. `PREFIXES`: sums of the
            first regions will be read, so regions of the one tiling may be counted in groups, too.
        round_number: Tells queries apart that may come to name the same regions: each is paid, and answered, on its own.

    Raises:
        ValueError: the order lacks a cell, or has one twice; a tiling does not begin at 0, does not rise, leaves the
            table, or is not nested in the next one; or prefixes are read of several tilings.
    """

    order: Places
    tilings: tuple[Places, ...]
    use: CountUse
    round_number: int = 0

    def __post_init__(self) -> None:
        size = prod(self.shape)
        if len(self.order) != size or _count_distinct(self.order, size) != size:
            raise InvalidArgument("order", f"all {size} cells of the table are needed, each once")
        tilings = [places_to_array(tiling) for tiling in self.tilings]
        if not tilings or not all(_is_rising(tiling, size) for tiling in tilings):
            raise InvalidArgument("tilings", f"each begins at place 0, rises, and ends before place {size}")
        if not all(np.isin(coarse, fine, assume_unique=True).all() for coarse, fine in pairwise(tilings)):
            raise InvalidArgument("tilings", "each is nested in the next one")
        if self.use.uses_prefixes and len(tilings) > 1:
            raise InvalidArgument("tilings", "prefixes are read of one tiling")

    def reorder_table(self, table: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(table[np.append(places_to_array(self.order), len(table) - 1)])


@dataclass(frozen=True, slots=True)
class IntervalPartitionQuery(Query):
    """A partition into intervals of neighbouring cells with about equal counts, answered by one private choice.

    Its values are 1 where an interval begins and 0 elsewhere, one for each entry of `order`.

    Attributes:
        order: Cells of the flat table, none twice, so that neighbours may be counted together. It may depend on earlier
            answers, never on records. Records in other cells do not matter.

    Raises:
        ValueError: no cell is given, or one twice, or one outside of the table.
    """

    order: Places

    def __post_init__(self) -> None:
        if not self.order or _count_distinct(self.order, prod(self.shape)) != len(self.order):
            raise InvalidArgument(
                "order", f"different cells of the {prod(self.shape)} of the table are needed, at least one"
            )


@dataclass(frozen=True, slots=True)
class WaveletQuery(Query):
    """Counts of records in each cell of a table of any shape, and beyond. Boxes of cells will be read.

    Attributes:
        order: Cells of the flat table, none twice: those of a table of `sides` cells, the last axis fastest. It may
            depend on earlier answers, never on records. Records in other cells are counted together.
        sides: How many cells that table has along each axis.

    Raises:
        ValueError: a side is below 1, or cells are not as many as `sides` say, one is given twice or does not exist.
    """

    order: Places
    sides: tuple[int, ...]

    def __post_init__(self) -> None:
        if min(self.sides, default=0) < 1:
            raise InvalidArgument("sides", f"at least 1 cell along each axis is needed, got {self.sides}")
        size, needed = prod(self.shape), prod(self.sides)
        if len(self.order) != needed or _count_distinct(self.order, size) != needed:
            raise InvalidArgument("order", f"{needed} different cells of the {size} of the table are needed")


@dataclass(frozen=True, slots=True)
class WorstBoxQuery(Query):
    """Select the box whose count differs most from an expected count, by one exponential mechanism over all boxes.

    Attributes:
        boxes: Boxes of cells.
        expected: How many records are expected in each, up to 2**62. They may depend on earlier answers, never on
            records.

    Raises:
        ValueError: there is no box, one has no cell or leaves the table, there are not as many expectations, or one is
            out of range.
    """

    boxes: tuple[Box, ...]
    expected: tuple[int, ...]

    def __post_init__(self) -> None:
        convert_tuples_to_integers(self, expected="expected")
        if not self.boxes or not all(_lies_within(box, self.shape) for box in self.boxes):
            raise InvalidArgument("boxes", f"at least one is needed, each with cells of a table of shape {self.shape}")
        if len(self.expected) != len(self.boxes):
            raise InvalidArgument(
                "expected", f"one for each of {len(self.boxes)} boxes is needed, got {len(self.expected)}"
            )
        if max(map(abs, self.expected)) > MOST_EXPECTED:
            raise InvalidArgument("expected", "whole numbers up to 2**62 are needed")


def _count_distinct(order: Places, size: int) -> int:
    """The number of different cells of a table; -1 if any other is among them."""
    if order == range(size):
        return size
    cells = places_to_array(order)
    if not cells.size or cells.min() < 0 or cells.max() >= size:
        return -1
    return int(np.count_nonzero(np.bincount(cells)))


def _is_rising(tiling: NDArray[np.int64], size: int) -> bool:
    return bool(len(tiling) and tiling[0] == 0 and tiling[-1] < size and np.all(np.diff(tiling) > 0))


def _lies_within(box: Box, shape: Sequence[int]) -> bool:
    return len(box) == len(shape) and all(
        0 <= low < high <= cells for (low, high), cells in zip(box, shape, strict=True)
    )


class Boxes(NamedTuple):
    """Boxes of cells, a row for each: from `lower` up to, but not including, `upper`; shapes ``(boxes, axes)``."""

    lower: IntArray
    upper: IntArray

    @property
    def width(self) -> IntArray:
        """The number of cells of each along each axis."""
        return self.upper - self.lower

    def select(self, mask: NDArray[np.bool_]) -> Boxes:
        """Some of them, in the same order."""
        return Boxes(self.lower[mask], self.upper[mask])


@dataclass(frozen=True, slots=True)
class SplitRule:
    """The rule that divides boxes: w cells along an axis with fan-out f into ``min(f, w)`` parts along it.

    Parts differ by at most one cell. An axis with fan-out 1 is never divided.

    Attributes:
        shape: Cells along each axis.
        fans: The fan-out along each axis.
    """

    shape: tuple[int, ...]
    fans: tuple[int, ...]

    @property
    def whole_box(self) -> Boxes:
        """The one box of all cells."""
        return Boxes(np.zeros((1, len(self.shape)), dtype=np.int64), np.array([self.shape], dtype=np.int64))

    @property
    def most_parts(self) -> int:
        """The largest number of parts of a box."""
        return prod(min(fan, cells) for fan, cells in zip(self.fans, self.shape, strict=True))

    @property
    def height(self) -> int:
        """The number of times that a box, then one of its parts, and so on, can be divided.

        >>> SplitRule((4, 9), (2, 2)).height, SplitRule((4, 9), (2, 1)).height, SplitRule((1,), (2,)).height
        (4, 2, 0)
        """
        return max(_count_divisions(cells, fan) for cells, fan in zip(self.shape, self.fans, strict=True))

    def is_divisible(self, boxes: Boxes) -> NDArray[np.bool_]:
        """Mark the boxes with more than one part."""
        return np.asarray(((boxes.width > 1) & (np.array(self.fans) > 1)).any(axis=1), dtype=np.bool_)

    def divide(self, boxes: Boxes) -> Boxes:
        """Parts of all boxes, in the order of the boxes, and in each the last axis fastest.

        >>> SplitRule((5,), (3,)).divide(SplitRule((5,), (3,)).whole_box)
        Boxes(lower=array([[0],
               [1],
               [3]]), upper=array([[1],
               [3],
               [5]]))
        """
        for axis, fan in enumerate(self.fans):
            boxes = _divide_axis(boxes, axis, fan)
        return boxes

    def find_leaves(self, decisions: Sequence[int]) -> Boxes:
        """The boxes that are not divided further: they hold each cell once. In no particular order.

        Args:
            decisions: Whether boxes are divided (1) or not (0), those that can be: the whole, then its parts, then
                theirs, each generation in the order of `divide`.

        Raises:
            ValueError: there are too few or too many decisions.

        >>> SplitRule((4,), (2,)).find_leaves([1, 0, 1]).lower.tolist()
        [[0], [2], [3]]
        """
        taken, boxes, kept = np.asarray(decisions, dtype=np.int64), self.whole_box, []
        while len(boxes.lower):
            open_ = self.is_divisible(boxes)
            count = int(open_.sum())
            if len(taken) < count:
                raise InvalidArgument("decisions", "they end before all boxes are decided")
            divided = np.zeros(len(open_), dtype=np.bool_)
            divided[open_] = taken[:count] == 1
            taken = taken[count:]
            kept.append(boxes.select(~divided))
            boxes = self.divide(boxes.select(divided))
        if len(taken):
            raise InvalidArgument("decisions", "there are more than boxes to decide on")
        return Boxes(*(np.concatenate(ends) for ends in zip(*kept, strict=True)))


def _count_divisions(cells: int, fan: int) -> int:
    """The number of times an interval can be divided; the longest of its parts has ``ceil(cells / fan)`` cells."""
    times = 0
    while fan > 1 and cells > 1:
        cells = -(-cells // fan)
        times += 1
    return times


def _divide_axis(boxes: Boxes, axis: int, fan: int) -> Boxes:
    width = boxes.width[:, axis]
    parts = np.minimum(fan, width)
    box = np.repeat(np.arange(len(parts)), parts)
    part = np.arange(len(box)) - np.repeat(np.cumsum(parts) - parts, parts)
    lower, upper = boxes.lower[box], boxes.upper[box]
    start = boxes.lower[box, axis]
    lower[:, axis] = start + part * width[box] // parts[box]
    upper[:, axis] = start + (part + 1) * width[box] // parts[box]
    return Boxes(lower, upper)
