"""Boxes of cells that are divided along each axis, again and again: what a partition may be made of. All public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import Refused
from ..arrays import IntArray


class Boxes(NamedTuple):
    """Boxes of cells, a row for each: from `lower` up to, but not including, `upper`; shapes ``(boxes, axes)``."""

    lower: IntArray
    upper: IntArray

    @property
    def width(self) -> IntArray:
        """The number of cells of each along each axis."""
        return self.upper - self.lower

    def where(self, kept: NDArray[np.bool_]) -> Boxes:
        """Some of them, in the same order."""
        return Boxes(self.lower[kept], self.upper[kept])


@dataclass(frozen=True, slots=True)
class Splitting:
    """The rule that divides boxes: w cells along an axis with fan-out f into ``min(f, w)`` parts along it.

    Parts differ by at most one cell. An axis with fan-out 1 is never divided.

    Attributes:
        shape: Cells along each axis.
        fans: The fan-out along each axis.
    """

    shape: tuple[int, ...]
    fans: tuple[int, ...]

    @property
    def whole(self) -> Boxes:
        """The one box of all cells."""
        return Boxes(np.zeros((1, len(self.shape)), dtype=np.int64), np.array([self.shape], dtype=np.int64))

    @property
    def most_parts(self) -> int:
        """The largest number of parts of a box."""
        return prod(min(fan, cells) for fan, cells in zip(self.fans, self.shape, strict=True))

    @property
    def height(self) -> int:
        """The number of times that a box, then one of its parts, and so on, can be divided.

        >>> Splitting((4, 9), (2, 2)).height, Splitting((4, 9), (2, 1)).height, Splitting((1,), (2,)).height
        (4, 2, 0)
        """
        return max(_divisions(cells, fan) for cells, fan in zip(self.shape, self.fans, strict=True))

    def divisible(self, boxes: Boxes) -> NDArray[np.bool_]:
        """Mark the boxes with more than one part."""
        return np.asarray(((boxes.width > 1) & (np.array(self.fans) > 1)).any(axis=1), dtype=np.bool_)

    def divided(self, boxes: Boxes) -> Boxes:
        """Parts of all boxes, in the order of the boxes, and in each the last axis fastest.

        >>> Splitting((5,), (3,)).divided(Splitting((5,), (3,)).whole)
        Boxes(lower=array([[0],
               [1],
               [3]]), upper=array([[1],
               [3],
               [5]]))
        """
        for axis, fan in enumerate(self.fans):
            boxes = _along(boxes, axis, fan)
        return boxes

    def leaves(self, decisions: Sequence[int]) -> Boxes:
        """The boxes that are not divided further: they hold each cell once. In no particular order.

        Args:
            decisions: Whether boxes are divided (1) or not (0), those that can be: the whole, then its parts, then
                theirs, each generation in the order of `divided`.

        Raises:
            ValueError: there are too few or too many decisions.

        >>> Splitting((4,), (2,)).leaves([1, 0, 1]).lower.tolist()
        [[0], [2], [3]]
        """
        taken, boxes, kept = np.asarray(decisions, dtype=np.int64), self.whole, []
        while len(boxes.lower):
            open_ = self.divisible(boxes)
            count = int(open_.sum())
            if len(taken) < count:
                raise Refused("decisions", "they end before all boxes are decided")
            divided = np.zeros(len(open_), dtype=np.bool_)
            divided[open_] = taken[:count] == 1
            taken = taken[count:]
            kept.append(boxes.where(~divided))
            boxes = self.divided(boxes.where(divided))
        if len(taken):
            raise Refused("decisions", "there are more than boxes to decide on")
        return Boxes(*(np.concatenate(ends) for ends in zip(*kept, strict=True)))


def _divisions(cells: int, fan: int) -> int:
    """The number of times an interval can be divided; the longest of its parts has ``ceil(cells / fan)`` cells."""
    times = 0
    while fan > 1 and cells > 1:
        cells = -(-cells // fan)
        times += 1
    return times


def _along(boxes: Boxes, axis: int, fan: int) -> Boxes:
    """Boxes divided along one axis."""
    width = boxes.width[:, axis]
    parts = np.minimum(fan, width)
    box = np.repeat(np.arange(len(parts)), parts)
    part = np.arange(len(box)) - np.repeat(np.cumsum(parts) - parts, parts)
    lower, upper = boxes.lower[box], boxes.upper[box]
    start = boxes.lower[box, axis]
    lower[:, axis] = start + part * width[box] // parts[box]
    upper[:, axis] = start + (part + 1) * width[box] // parts[box]
    return Boxes(lower, upper)
