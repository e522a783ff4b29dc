"""Intervals of cells that split in two, down to single cells: what may be measured, and how it is numbered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...arguments import Refused
from ...arrays import IntArray

WHOLE = 1
"""The node of all cells."""


class Halving(NamedTuple):
    """Nodes and their halves, as places in the arrays of all nodes. A half may have no cells.

    Attributes:
        parent: Nodes of about one size, each with a cell at least.
        left: Their halves, in the same order.
        right: Their other halves.
        off_end: Whether one half is a cell at an end, alone.
    """

    parent: slice | IntArray
    left: slice | IntArray
    right: slice | IntArray
    off_end: bool


@dataclass(frozen=True, eq=False)
class Layout:
    """A binary tree over cells. Node `WHOLE` has them all; some places stand for no node: their width is 0.

    Attributes:
        cells: How many there are, any number from 1 on.
        begin: The first cell of each node.
        width: How many cells each node has.
        halvings: From the whole down to single cells: parents come before their halves.
    """

    cells: int
    begin: IntArray
    width: IntArray
    halvings: tuple[Halving, ...]

    @staticmethod
    def nested(tilings: Sequence[IntArray]) -> Layout:
        """A tree that has all intervals of nested tilings among its nodes, and no more nodes than it needs.

        What a tiling cuts in many is halved until it is cut as the tiling says; its intervals are then halved as the
        next tiling allows, and those of the last one down to single cells.

        Args:
            tilings: The ends of the intervals of each, from coarse to fine: the first of them is 0, the last one the
                number of cells.

        >>> layout = Layout.nested([np.array([0, 3, 6, 9])])
        >>> layout.begin[1:6].tolist(), layout.width[1:6].tolist()
        ([0, 0, 3, 3, 6], [9, 3, 6, 3, 3])
        """
        cells = int(tilings[0][-1])
        tree = _Growing(cells)
        for bounds in (*tilings, np.arange(cells + 1)):
            tree.cut(bounds)
        begin, end = np.concatenate(tree.begin), np.concatenate(tree.end)
        return Layout(cells, begin, end - begin, tuple(tree.halvings))

    @property
    def nodes(self) -> int:
        """The size of arrays over nodes."""
        return len(self.width)

    @cached_property
    def single(self) -> IntArray:
        """The node of each cell alone, (cells,)."""
        return self.find(np.arange(self.cells + 1))

    def find(self, bounds: IntArray) -> IntArray:
        """The nodes of intervals that tile the cells. Of nodes with the same cells, always the same one.

        Args:
            bounds: The ends of the intervals, rising, the first 0 and the last the number of cells.

        Raises:
            ValueError: an interval is no node.
        """
        keys, numbers = self._index
        asked = self._key(bounds[:-1], np.diff(bounds))
        place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        wrong = np.flatnonzero(keys[place] != asked)
        if len(wrong) > 0:
            first, end = int(bounds[wrong[0]]), int(bounds[wrong[0] + 1])
            raise Refused("law", f"cells {first} to {end - 1} of {self.cells} are no interval of this tree")
        return numbers[place]

    @cached_property
    def _index(self) -> tuple[IntArray, IntArray]:
        """Keys in order, each with the number of a node."""
        there = np.flatnonzero(self.width > 0)
        keys, place = np.unique(self._key(self.begin[there], self.width[there]), return_index=True)
        return keys, there[place]

    def _key(self, begin: IntArray, width: IntArray) -> IntArray:
        return begin * (self.cells + 1) + width


class _Growing:
    """A tree that is not cut down to single cells yet.

    Attributes:
        begin, end: The cells of all nodes, in the parts that were added.
        halvings: See `Layout`.
        finest: Nodes that were not halved, and where they begin and end.
    """

    def __init__(self, cells: int) -> None:
        self.begin, self.end = [np.array([0, 0])], [np.array([0, cells])]
        self.halvings: list[Halving] = []
        self.finest = np.array([WHOLE]), np.array([0]), np.array([cells])
        self._size = 2

    def cut(self, bounds: IntArray) -> None:
        """Halve all nodes that have several intervals of this tiling, until none has."""
        nodes, begin, end = self.finest
        first, last = np.searchsorted(bounds, begin), np.searchsorted(bounds, end)
        cut = [(nodes[:0], begin[:0], end[:0])]
        while (many := last - first > 1).any():
            cut.append((nodes[~many], begin[~many], end[~many]))
            first, last = first[many], last[many]
            place = (first + last) // 2
            added = self._added(np.append(begin[many], bounds[place]), np.append(bounds[place], end[many]))
            left, right = np.split(added[0], 2)
            self.halvings.append(Halving(nodes[many], left, right, off_end=False))
            (nodes, begin, end), first, last = added, np.append(first, place), np.append(place, last)
        nodes, begin, end = (np.concatenate(parts) for parts in zip(*cut, (nodes, begin, end), strict=True))
        self.finest = nodes, begin, end

    def _added(self, begin: IntArray, end: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        self.begin.append(begin)
        self.end.append(end)
        self._size += len(begin)
        return np.arange(self._size - len(begin), self._size), begin, end
