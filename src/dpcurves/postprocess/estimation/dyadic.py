"""Intervals of cells whose widths are powers of two: a heap, in which the cells at the ends may stand apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arguments import Refused
from ...arrays import IntArray
from .binary_tree import Halving, Layout

FEWEST_WITH_ENDS = 4  # with fewer cells there is nothing to halve between the ends


@dataclass(frozen=True, eq=False)
class Dyadic(Layout):
    """A heap, where node i has the halves 2i and 2i + 1.

    It has as many leaves as the next power of two; nodes are cut to the cells that there are, and some have none.

    Attributes:
        size: How many leaves the heap has.
        ends: At which depth the first and the last cell are taken from the others; None: they are not.
    """

    size: int
    ends: int | None

    @classmethod
    def plain(cls, cells: int) -> Dyadic:
        """Nodes ``[i * 2**k, (i + 1) * 2**k)``, cut at the number of cells.

        >>> layout = Dyadic.plain(5)
        >>> layout.begin[2:4], layout.width[2:4]
        (array([0, 4]), array([4, 1]))

        Raises:
            ValueError: there is no cell.
        """
        if cells < 1:
            raise Refused("cells", f"at least 1 is needed, got {cells}")
        size = 1 << (cells - 1).bit_length()
        begin, end = _heap(size, cells)
        halvings = tuple(_level(size, cells, depth) for depth in range(size.bit_length() - 1))
        return cls(cells, begin, end - begin, halvings, size, ends=None)

    @classmethod
    def ends_apart(cls, cells: int) -> Dyadic:
        """Halve as `plain` does, but a third of the way down take the first and the last cell from their neighbours.

        Values outside a grid are counted at its ends, so that there a large cell may stand next to empty ones. Four
        nodes come behind the heap: the first cell, its former node without it, the last cell's node without it, and
        the last cell. Nodes of the heap below have no cell at an end.

        >>> layout = Dyadic.ends_apart(16)
        >>> layout.begin[layout.at_depth(1)]
        array([ 0,  1,  8, 15])
        """
        plain = cls.plain(cells)
        if cells < FEWEST_WITH_ENDS:
            return plain
        size, depth = plain.size, max(1, round(plain.depth / 3))
        inner = slice(2 << depth, 2 * size)
        begin, end = plain.begin, plain.begin + plain.width
        begin[inner], end[inner] = np.clip(begin[inner], 1, cells - 1), np.clip(end[inner], 1, cells - 1)
        left, right = 1 << depth, (1 << depth) + (cells - 1) * (1 << depth) // size
        begin = np.concatenate([begin, [0, 1, begin[right], cells - 1]])
        end = np.concatenate([end, [1, end[left], cells - 1, cells]])
        above, level = plain.halvings[:depth], plain.halvings[depth]
        below = (_level(size, cells - 1, lower) for lower in range(depth + 1, plain.depth))
        halvings = (*above, *_around_ends(level, size, end - begin), *below)
        return cls(cells, begin, end - begin, halvings, size, ends=depth)

    @property
    def depth(self) -> int:
        """How many times the heap is halved."""
        return self.size.bit_length() - 1

    def at_depth(self, depth: int) -> IntArray:
        """Nodes that tile the cells, from left to right: those so many halvings below the whole."""
        level = np.arange(1 << depth, 2 << depth)
        level = level[self.width[level] > 0]
        if self.ends is None or depth < self.ends:
            return level
        first, left, right, last = range(2 * self.size, 2 * self.size + 4)
        if depth == self.ends:
            level[[0, -1]] = left, right
            level = level[self.width[level] > 0]
        return np.concatenate([[first], level, [last]])


def _heap(size: int, cells: int) -> tuple[IntArray, IntArray]:
    """First cells and ends of the nodes of a heap. Node 0 is none."""
    node = np.arange(1, 2 * size)
    height = size.bit_length() - np.frexp(node.astype(np.float64))[1].astype(np.int64)
    begin = np.append(0, (node << height) - size)
    width = np.append(0, np.int64(1) << height)
    return np.minimum(begin, cells), np.minimum(begin + width, cells)


def _level(size: int, cells: int, depth: int) -> Halving:
    """The nodes of one depth of a heap."""
    first = 1 << depth
    end = first - (-cells * first // size)
    return Halving(slice(first, end), slice(2 * first, 2 * end, 2), slice(2 * first + 1, 2 * end + 1, 2), off_end=False)


def _around_ends(level: Halving, size: int, width: IntArray) -> list[Halving]:
    """The first and the last node of a level lose an end, and what is left of them is halved in their place."""
    numbers = np.arange(2 * size)
    parent, left, right = (numbers[part] for part in level[:3])
    first, left_rest, right_rest, last = (np.array([node]) for node in range(2 * size, 2 * size + 4))
    off = [Halving(parent[:1], first, left_rest, off_end=True), Halving(parent[-1:], right_rest, last, off_end=True)]
    rest = np.concatenate([left_rest, parent[1:-1], right_rest])
    there = width[rest] > 0
    return [*off, Halving(rest[there], left[there], right[there], off_end=False)]
