"""Histogram queries about regions (sets of cells), and the recursive division of a table into boxes (quadtrees).

- `RegionQuery`: counts of the regions of nested tilings. Regions of one tiling are disjoint and cover the table, so a
  record lies in exactly one region of each tiling.
- `IntervalPartitionQuery`: a private partition of ordered cells into intervals of cells with similar counts.
- `WaveletQuery`: counts of a subtable, from which counts of boxes will be computed.
- `WorstBoxQuery`: the box whose count differs most from an expected count (exponential mechanism).
- `SplitRule`: divides boxes of cells recursively into smaller `Boxes`.

A query only describes what a mechanism will count; the noise is added there.

Formal guarantees: queries are made from public facts and earlier answers, and no record is read here.

>>> SplitRule((4, 9), (2, 2)).height  # divisions until all boxes of a table of 4 x 9 cells are single cells
4
"""

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

Box = tuple[tuple[int, int], ...]
"""A box of cells: for each axis its first cell, and the cell after its last one."""


@dataclass(frozen=True, slots=True)
class RegionQuery(Query):
    """Counts of records in each region of nested tilings of the whole table.

    Attributes:
        order: A permutation of the cells of the flat table in which every region is an interval. It may depend on
            earlier answers, never on records.
        tilings: From coarse to fine, each the increasing first positions of its regions in that order, beginning with
            0. Every region is a union of regions of the next tiling. They may depend on earlier answers, never on
            records.
        use: `CELLS`: exactly these tilings are counted, each with the same budget fraction. `PREFIXES`: sums of the
            first regions will be read, so a mechanism may count regions of the only tiling in groups.
        round_number: Number of the round. Equal regions with another number are another query with a separate charge
            and answer.

    Raises:
        ValueError: the order lacks a cell or repeats one; a tiling does not begin at 0, does not increase, leaves the
            table, or is not nested in the next one; or prefixes are read of several tilings.
    """

    order: Places
    tilings: tuple[Places, ...]
    use: CountUse
    round_number: int = 0

    def __post_init__(self) -> None:
        size = prod(self.shape)
        if len(self.order) != size or _count_distinct(self.order, size) != size:
            raise InvalidArgument(
                "order", f"a permutation of the {size} cells of the table is needed: list each cell once"
            )
        tilings = [places_to_array(tiling) for tiling in self.tilings]
        if not tilings or not all(_is_rising(tiling, size) for tiling in tilings):
            raise InvalidArgument(
                "tilings", f"each tiling must begin at position 0, increase, and end before position {size}"
            )
        if not all(np.isin(coarse, fine, assume_unique=True).all() for coarse, fine in pairwise(tilings)):
            raise InvalidArgument(
                "tilings",
                "each tiling must be nested in the next one: list coarse tilings first, and keep all their bounds",
            )
        if self.use.uses_prefixes and len(tilings) > 1:
            raise InvalidArgument("tilings", "use=PREFIXES needs exactly one tiling: give one, or use=CELLS")

    def reorder_table(self, table: NDArray[Any]) -> NDArray[Any]:
        """SECRET: return the counts of the cells in the order in which the query sums them, followed by the count of
        missing records.

        Args:
            table: Counts of all cells, then of missing records, shape (cells + 1,).
        """
        return np.asarray(table[np.append(places_to_array(self.order), len(table) - 1)])


@dataclass(frozen=True, slots=True)
class IntervalPartitionQuery(Query):
    """A partition into intervals of neighbouring cells with similar counts, from one private choice.

    Its values are 1 where an interval begins and 0 elsewhere, one for each entry of `order`.

    Attributes:
        order: Different cells of the flat table, so that neighbours may be merged. It may depend on earlier answers,
            never on records. Records in other cells do not matter.

    Raises:
        ValueError: `order` is empty, repeats a cell, or has a cell outside the table.
    """

    order: Places

    def __post_init__(self) -> None:
        if not self.order or _count_distinct(self.order, prod(self.shape)) != len(self.order):
            raise InvalidArgument(
                "order", f"indices of cells from 0 to {prod(self.shape) - 1} are needed, at least one, and each once"
            )


@dataclass(frozen=True, slots=True)
class WaveletQuery(Query):
    """Counts of records in each cell of a subtable, and of all other records together. Boxes of cells will be read.

    Attributes:
        order: Different cells of the flat table: the cells of a table of `sides` cells, the last axis fastest. It may
            depend on earlier answers, never on records. Records in other cells are counted together.
        sides: Cells of that table along each axis.

    Raises:
        ValueError: a side is below 1, the number of cells is not the product of `sides`, or a cell is repeated or does
            not exist.
    """

    order: Places
    sides: tuple[int, ...]

    def __post_init__(self) -> None:
        if min(self.sides, default=0) < 1:
            raise InvalidArgument(
                "sides",
                "the number of cells along each axis is needed, as whole numbers of at least 1, as in (4, 8), got "
                f"{self.sides}",
            )
        size = prod(self.shape)
        needed = prod(self.sides)
        if len(self.order) != needed or _count_distinct(self.order, size) != needed:
            raise InvalidArgument(
                "order", f"{needed} indices of cells from 0 to {size - 1} are needed, each once: the product of sides"
            )


@dataclass(frozen=True, slots=True)
class WorstBoxQuery(Query):
    """Select the box whose count differs most from an expected count, by one exponential mechanism over all boxes.

    Attributes:
        boxes: Boxes of cells.
        expected: Expected number of records in each, up to 2**62. It may depend on earlier answers, never on records.

    Raises:
        ValueError: there is no box, a box is empty or leaves the table, or an expected count is missing or out of
            range.
    """

    boxes: tuple[Box, ...]
    expected: tuple[int, ...]

    def __post_init__(self) -> None:
        convert_tuples_to_integers(self, expected="expected")
        if not self.boxes or not all(_lies_within(box, self.shape) for box in self.boxes):
            raise InvalidArgument("boxes", f"at least one box is needed, with cells of a table of shape {self.shape}")
        if len(self.expected) != len(self.boxes):
            raise InvalidArgument(
                "expected", f"{len(self.boxes)} expected counts are needed, one for each box, got {len(self.expected)}"
            )
        # so that differences fit 64 bits
        if max(map(abs, self.expected)) > 2**62:
            raise InvalidArgument(
                "expected", "each expected count must be a whole number up to 2**62: clip larger ones"
            )


def _count_distinct(order: Places, size: int) -> int:
    """Return the number of different cells in `order`, for a check; -1 if it is empty or has a cell outside the table.

    Args:
        order: Indices of cells.
        size: Number of cells of the table.
    """
    if order == range(size):
        return size
    cells = places_to_array(order)
    if not cells.size or cells.min() < 0 or cells.max() >= size:
        return -1
    return int(np.count_nonzero(np.bincount(cells)))


def _is_rising(tiling: NDArray[np.int64], size: int) -> bool:
    """Return True if the first positions of a tiling's regions begin at 0, increase, and stay below `size`.

    Args:
        tiling: First positions, (regions,).
        size: Number of cells of the table.
    """
    return bool(len(tiling) and tiling[0] == 0 and tiling[-1] < size and np.all(np.diff(tiling) > 0))


def _lies_within(box: Box, shape: Sequence[int]) -> bool:
    """Return True if a box has at least one cell, and all its cells lie in a table of this shape.

    Args:
        box: For each axis the first cell, and the cell after the last one.
        shape: Cells of the table along each axis.
    """
    return len(box) == len(shape) and all(
        0 <= low < high <= cells for (low, high), cells in zip(box, shape, strict=True)
    )


class Boxes(NamedTuple):
    """Boxes of cells, one per row: cells from `lower` up to, but not including, `upper`.

    Attributes:
        lower: First cell along each axis, shape (boxes, axes).
        upper: Cell after the last one along each axis, shape (boxes, axes).
    """

    lower: IntArray
    upper: IntArray

    @property
    def width(self) -> IntArray:
        """Number of cells of each box along each axis, shape (boxes, axes)."""
        return self.upper - self.lower

    def select(self, mask: NDArray[np.bool_]) -> Boxes:
        """Return the boxes that a mask selects, in the same order.

        Args:
            mask: Mask of the boxes, (boxes,).
        """
        return Boxes(self.lower[mask], self.upper[mask])


@dataclass(frozen=True, slots=True)
class SplitRule:
    """Rule that divides a box of cells into smaller boxes.

    Along an axis with branching factor f, w cells become ``min(f, w)`` parts that differ by at most one cell. An axis
    with branching factor 1 is never divided.

    Attributes:
        shape: Cells of the table along each axis.
        fans: Branching factor along each axis.
    """

    shape: tuple[int, ...]
    fans: tuple[int, ...]

    @property
    def whole_box(self) -> Boxes:
        """The box that covers the whole table, from which splitting starts, as `Boxes` with one row."""
        return Boxes(np.zeros((1, len(self.shape)), dtype=np.int64), np.array([self.shape], dtype=np.int64))

    @property
    def most_parts(self) -> int:
        """Largest number of parts into which a division can split a box."""
        return prod(min(fan, cells) for fan, cells in zip(self.fans, self.shape, strict=True))

    @property
    def height(self) -> int:
        """Largest number of divisions on a path, after which all boxes are single cells along the divided axes.

        >>> SplitRule((4, 9), (2, 2)).height, SplitRule((4, 9), (2, 1)).height, SplitRule((1,), (2,)).height
        (4, 2, 0)
        """
        return max(_count_divisions(cells, fan) for cells, fan in zip(self.shape, self.fans, strict=True))

    def is_divisible(self, boxes: Boxes) -> NDArray[np.bool_]:
        """Return, for each box, whether it can be divided into more than one part, shape (boxes,).

        Args:
            boxes: Boxes of cells.
        """
        return np.asarray(((boxes.width > 1) & (np.array(self.fans) > 1)).any(axis=1), dtype=np.bool_)

    def divide(self, boxes: Boxes) -> Boxes:
        """Divide each box along all axes, and return the parts box by box, with the last axis fastest.

        Args:
            boxes: Boxes of cells.

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
        """Return the boxes that are not divided further. Each cell lies in exactly one of them, in no particular order.

        Args:
            decisions: 1 for each divisible box that is divided, 0 for each that is not. The whole box comes first, then
                its parts, then theirs, each generation in the order of `divide`.

        Raises:
            ValueError: there are too few or too many decisions.

        >>> SplitRule((4,), (2,)).find_leaves([1, 0, 1]).lower.tolist()
        [[0], [2], [3]]
        """
        remaining = np.asarray(decisions, dtype=np.int64)
        boxes = self.whole_box
        leaves = []
        while len(boxes.lower):
            divisible = self.is_divisible(boxes)
            count = int(divisible.sum())
            if len(remaining) < count:
                raise InvalidArgument(
                    "decisions",
                    f"{count} boxes can be divided at this level, but only {len(remaining)} decisions are left: give 0 "
                    "or 1 for each box, level by level",
                )
            divided = np.zeros(len(divisible), dtype=np.bool_)
            divided[divisible] = remaining[:count] == 1
            remaining = remaining[count:]
            leaves.append(boxes.select(~divided))
            boxes = self.divide(boxes.select(divided))
        if len(remaining):
            raise InvalidArgument(
                "decisions", "there are more decisions than boxes that can be divided: give 0 or 1 for each box"
            )
        return Boxes(*(np.concatenate(bounds) for bounds in zip(*leaves, strict=True)))


def _count_divisions(cells: int, fan: int) -> int:
    """Return how often an interval must be divided until each part is a single cell; 0 for a `fan` of 1.

    The longest part after one division has ``ceil(cells / fan)`` cells.

    Args:
        cells: Number of cells of the interval.
        fan: Largest number of parts of one division.
    """
    times = 0
    while fan > 1 and cells > 1:
        cells = -(-cells // fan)
        times += 1
    return times


def _divide_axis(boxes: Boxes, axis: int, fan: int) -> Boxes:
    """Divide each box along one axis into ``min(fan, width)`` parts, and return the parts box by box.

    Args:
        boxes: Boxes to divide.
        axis: Number of the axis.
        fan: Largest number of parts of a box.
    """
    width = boxes.width[:, axis]
    parts = np.minimum(fan, width)
    box = np.repeat(np.arange(len(parts)), parts)
    part = np.arange(len(box)) - np.repeat(np.cumsum(parts) - parts, parts)
    lower = boxes.lower[box]
    upper = boxes.upper[box]
    start = boxes.lower[box, axis]
    lower[:, axis] = start + part * width[box] // parts[box]
    upper[:, axis] = start + (part + 1) * width[box] // parts[box]
    return Boxes(lower, upper)
