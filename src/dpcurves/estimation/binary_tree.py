"""Dyadic intervals and boxes of cells, and what several releases measured of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import InvalidArgument
from ..arrays import FloatArray, IntArray
from ..laws import LEAST_VARIANCE, IntervalSums

WHOLE = 1
"""The node of all cells."""
FEWEST_WITH_ENDS = 4  # with fewer cells there is nothing to halve between the ends


class Halving(NamedTuple):
    """Nodes and their halves, as places in the arrays of all nodes. A half may have no cells.

    Attributes:
        parent: Nodes of about one size, each with a cell at least.
        left_half: Their halves, in the same order.
        right_half: Their other halves.
        is_end_cell: Whether one half is a cell at an end, alone.
    """

    parent: slice | IntArray
    left_half: slice | IntArray
    right_half: slice | IntArray
    is_end_cell: bool


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
    def from_tilings(tilings: Sequence[IntArray]) -> Layout:
        """A tree that has all intervals of nested tilings among its nodes, and no more nodes than it needs.

        What a tiling cuts in many is halved until it is cut as the tiling says; its intervals are then halved as the
        next tiling allows, and those of the last one down to single cells.

        Args:
            tilings: The ends of the intervals of each, from coarse to fine: the first of them is 0, the last one the
                number of cells.

        >>> layout = Layout.from_tilings([np.array([0, 3, 6, 9])])
        >>> layout.begin[1:6].tolist(), layout.width[1:6].tolist()
        ([0, 0, 3, 3, 6], [9, 3, 6, 3, 3])
        """
        cells = int(tilings[0][-1])
        tree = _LayoutBuilder(cells)
        for bounds in (*tilings, np.arange(cells + 1)):
            tree.split_at(bounds)
        begin, end = np.concatenate(tree.begin), np.concatenate(tree.end)
        return Layout(cells, begin, end - begin, tuple(tree.halvings))

    @property
    def nodes(self) -> int:
        """The size of arrays over nodes."""
        return len(self.width)

    @cached_property
    def cell_nodes(self) -> IntArray:
        """The node of each cell alone, (cells,)."""
        return self.find_nodes(np.arange(self.cells + 1))

    def find_nodes(self, bounds: IntArray) -> IntArray:
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
            raise InvalidArgument("law", f"cells {first} to {end - 1} of {self.cells} are no interval of this tree")
        return numbers[place]

    @cached_property
    def _index(self) -> tuple[IntArray, IntArray]:
        """Keys in order, each with the number of a node."""
        there = np.flatnonzero(self.width > 0)
        keys, place = np.unique(self._key(self.begin[there], self.width[there]), return_index=True)
        return keys, there[place]

    def _key(self, begin: IntArray, width: IntArray) -> IntArray:
        return begin * (self.cells + 1) + width


class _LayoutBuilder:
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

    def split_at(self, bounds: IntArray) -> None:
        """Halve all nodes that have several intervals of this tiling, until none has."""
        nodes, begin, end = self.finest
        first, last = np.searchsorted(bounds, begin), np.searchsorted(bounds, end)
        cut = [(nodes[:0], begin[:0], end[:0])]
        while (many := last - first > 1).any():
            cut.append((nodes[~many], begin[~many], end[~many]))
            first, last = first[many], last[many]
            place = (first + last) // 2
            added = self._add_nodes(np.append(begin[many], bounds[place]), np.append(bounds[place], end[many]))
            left, right = np.split(added[0], 2)
            self.halvings.append(Halving(nodes[many], left, right, is_end_cell=False))
            (nodes, begin, end), first, last = added, np.append(first, place), np.append(place, last)
        nodes, begin, end = (np.concatenate(parts) for parts in zip(*cut, (nodes, begin, end), strict=True))
        self.finest = nodes, begin, end

    def _add_nodes(self, begin: IntArray, end: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        self.begin.append(begin)
        self.end.append(end)
        self._size += len(begin)
        return np.arange(self._size - len(begin), self._size), begin, end


@dataclass(frozen=True, eq=False)
class DyadicLayout(Layout):
    """A heap, where node i has the halves 2i and 2i + 1.

    It has as many leaves as the next power of two; nodes are cut to the cells that there are, and some have none.

    Attributes:
        size: How many leaves the heap has.
        end_split_depth: At which depth the first and the last cell are taken from the others; None: they are not.
    """

    size: int
    end_split_depth: int | None

    @classmethod
    def from_cells(cls, cells: int) -> DyadicLayout:
        """Nodes ``[i * 2**k, (i + 1) * 2**k)``, cut at the number of cells.

        >>> layout = DyadicLayout.from_cells(5)
        >>> layout.begin[2:4], layout.width[2:4]
        (array([0, 4]), array([4, 1]))

        Raises:
            ValueError: there is no cell.
        """
        if cells < 1:
            raise InvalidArgument("cells", f"at least 1 is needed, got {cells}")
        size = 1 << (cells - 1).bit_length()
        node = np.arange(1, 2 * size)
        height = size.bit_length() - np.frexp(node.astype(np.float64))[1].astype(np.int64)
        first, width = np.append(0, (node << height) - size), np.append(0, np.int64(1) << height)  # node 0 is none
        begin, end = np.minimum(first, cells), np.minimum(first + width, cells)
        halvings = tuple(_halve_level(size, cells, depth) for depth in range(size.bit_length() - 1))
        return cls(cells, begin, end - begin, halvings, size, end_split_depth=None)

    @classmethod
    def from_cells_with_ends(cls, cells: int) -> DyadicLayout:
        """Halve as `from_cells` does, but a third of the way down take the first and the last cell from their neighbours.

        Values outside a grid are counted at its ends, so that there a large cell may stand next to empty ones. Four
        nodes come behind the heap: the first cell, its former node without it, the last cell's node without it, and
        the last cell. Nodes of the heap below have no cell at an end.

        >>> layout = DyadicLayout.from_cells_with_ends(16)
        >>> layout.begin[layout.nodes_at_depth(1)]
        array([ 0,  1,  8, 15])
        """
        plain = cls.from_cells(cells)
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
        below = (_halve_level(size, cells - 1, lower) for lower in range(depth + 1, plain.depth))
        halvings = (*above, *_halve_around_ends(level, size, end - begin), *below)
        return cls(cells, begin, end - begin, halvings, size, end_split_depth=depth)

    @property
    def depth(self) -> int:
        """The number of halvings of the heap."""
        return self.size.bit_length() - 1

    def nodes_at_depth(self, depth: int) -> IntArray:
        """Nodes that tile the cells, from left to right: those so many halvings below the whole."""
        level = np.arange(1 << depth, 2 << depth)
        level = level[self.width[level] > 0]
        if self.end_split_depth is None or depth < self.end_split_depth:
            return level
        first, left, right, last = range(2 * self.size, 2 * self.size + 4)
        if depth == self.end_split_depth:
            level[[0, -1]] = left, right
            level = level[self.width[level] > 0]
        return np.concatenate([[first], level, [last]])


def _halve_level(size: int, cells: int, depth: int) -> Halving:
    """The nodes of one depth of a heap."""
    first = 1 << depth
    end = first - (-cells * first // size)
    return Halving(
        slice(first, end), slice(2 * first, 2 * end, 2), slice(2 * first + 1, 2 * end + 1, 2), is_end_cell=False
    )


def _halve_around_ends(level: Halving, size: int, width: IntArray) -> list[Halving]:
    """The first and the last node of a level lose an end, and what is left of them is halved in their place."""
    numbers = np.arange(2 * size)
    parent, left, right = (numbers[part] for part in level[:3])
    first, left_rest, right_rest, last = (np.array([node]) for node in range(2 * size, 2 * size + 4))
    off = [
        Halving(parent[:1], first, left_rest, is_end_cell=True),
        Halving(parent[-1:], right_rest, last, is_end_cell=True),
    ]
    rest = np.concatenate([left_rest, parent[1:-1], right_rest])
    there = width[rest] > 0
    return [*off, Halving(rest[there], left[there], right[there], is_end_cell=False)]


def find_leaves(layout: Layout, split: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The largest nodes that are not to be split, or that are single cells."""
    inside = np.zeros(layout.nodes, dtype=np.bool_)
    inside[WHOLE] = True
    divided = split & (layout.width > 1)
    for parent, left, right, _ in layout.halvings:
        inside[left] = inside[right] = inside[parent] & divided[parent]
        inside[parent] &= ~divided[parent]
    return np.flatnonzero(inside & (layout.width > 0))


def subtree_maxima(layout: Layout, variance: FloatArray) -> FloatArray:
    """The largest variance in each node and all nodes below it."""
    largest = variance.copy()
    for parent, left, right, _ in reversed(layout.halvings):
        largest[parent] = np.maximum(largest[parent], np.maximum(largest[left], largest[right]))
    return largest


def first_cells_of_nodes(layout: Layout, nodes: IntArray) -> IntArray:
    """The first cells of nodes that tile the cells, in their order."""
    return np.sort(layout.begin[nodes])


@dataclass(frozen=True, eq=False)
class BoxTree:
    """A table halved down to single cells: every box is an interval of the order, as along a space-filling curve.

    Cells beyond the table come last in the order; all of them are told from the table first.

    Attributes:
        order: The numbers of the cells in the flat table, the last axis fastest: (cells,).
        tilings: The ends of the boxes after 0, 1, 2, ... halvings, with those beyond as one interval.
        layout: The halvings, over the cells of the table and those beyond.
    """

    order: IntArray
    tilings: tuple[IntArray, ...]
    layout: Layout

    @staticmethod
    @lru_cache(maxsize=4)  # a pure function of public facts
    def from_shape(shape: tuple[int, ...], beyond: int = 0) -> BoxTree:
        """The tree of a table of this shape, with so many cells beyond it.

        >>> tree = BoxTree.from_shape((2, 3), beyond=2)
        >>> tree.order, tree.tilings[1]
        (array([0, 3, 1, 2, 4, 5]), array([0, 2, 6, 8]))
        """
        lower, upper = np.zeros((1, len(shape)), dtype=np.int64), np.array([shape])
        tilings = [_box_ends(lower, upper, beyond)]
        while (upper - lower).max() > 1:
            lower, upper = _halve_boxes(lower, upper)
            tilings.append(_box_ends(lower, upper, beyond))
        order = np.asarray(np.ravel_multi_index(tuple(lower.T), shape), dtype=np.int64)
        layout = Layout.from_tilings(tilings)
        if beyond:  # they are an end of their own: nothing is learned from their share of all
            first, *rest = layout.halvings
            layout = replace(layout, halvings=(first._replace(is_end_cell=True), *rest))
        return BoxTree(order, tuple(tilings), layout)

    @property
    def depth(self) -> int:
        """The number of halvings that make single cells."""
        return len(self.tilings) - 1


def _halve_boxes(lower: IntArray, upper: IntArray) -> tuple[IntArray, IntArray]:
    """Both halves of each box, one after the other; single cells stay."""
    sides = upper - lower
    many = sides.max(axis=1) > 1
    box = np.repeat(np.arange(len(lower)), 1 + many)
    second = np.append(False, box[1:] == box[:-1])
    first = np.append(second[1:], False)
    axis, own = sides.argmax(axis=1), np.arange(len(lower))
    middle = (lower[own, axis] + upper[own, axis]) // 2
    lower, upper = lower[box], upper[box]
    lower[second, axis[box[second]]] = middle[box[second]]
    upper[first, axis[box[first]]] = middle[box[first]]
    return lower, upper


def _box_ends(lower: IntArray, upper: IntArray, beyond: int) -> IntArray:
    ends = np.append(0, np.cumsum((upper - lower).prod(axis=1)))
    return np.append(ends, ends[-1] + beyond) if beyond else ends


Values = Sequence[int] | NDArray[np.int64] | FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Measurements:
    """Noisy counts of nodes. Arrays are over the nodes of the layout.

    Attributes:
        layout: Which intervals the nodes are.
        precision: One over the variance of the noise; 0: not measured; infinite: no cells, hence no records.
        value: The noisy count.
        fourth_cumulant: The fourth cumulant of the noise: how heavy its tails are. 0 for Gaussian noise.
    """

    layout: Layout
    precision: FloatArray
    value: FloatArray
    fourth_cumulant: FloatArray

    @classmethod
    def empty(cls, layout: Layout) -> Measurements:
        """Before anything is released."""
        precision = np.where(layout.width > 0, 0.0, np.inf)
        return cls(layout, precision, np.zeros(layout.nodes), np.zeros(layout.nodes))


def merge_measurements(layout: Layout, releases: Sequence[tuple[IntervalSums, Values]]) -> Measurements:
    """Gather the measurements of all levels; those of one interval become one, their mean by inverse variance.

    Noises must be independent. The count of missing records is left aside.

    Args:
        layout: Its nodes are what may have been measured.
        releases: Laws of one row over the cells of the layout, and the values as released.

    Raises:
        ValueError: an interval is no node, values do not fit their law, or a law is over other cells or several rows.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Noise, Tier
    >>> level = Tier(range(2), Noise(Family.GAUSSIAN, Fraction(4)))
    >>> law = IntervalSums(1, 2, (level,), missing=None)
    >>> known = merge_measurements(Layout.from_tilings([np.array([0, 2])]), [(law, [5, 1]), (law, [3, 1])])
    >>> known.value[2:], known.precision[2:]
    (array([4., 1.]), array([0.5, 0.5]))
    """
    known = Measurements.empty(layout)
    for law, values in releases:
        if (law.rows, law.cells) != (1, layout.cells):
            raise InvalidArgument("law", f"one row of {layout.cells} cells is needed, got {law.rows} of {law.cells}")
        if len(values) != law.size:
            raise InvalidArgument("values", f"{law.size} are needed to fit the law, got {len(values)}")
        start = 0
        for level in law.levels:
            counts = np.asarray(values[start : start + len(level.starts)], dtype=np.float64)
            node, variance = layout.find_nodes(level.bounds(layout.cells)), max(level.noise.variance, LEAST_VARIANCE)
            before = known.precision[node]
            trust = 1 / (1 + variance * before)  # of the new values
            known.value[node] += trust * (counts - known.value[node])
            known.fourth_cumulant[node] = (1 - trust) ** 4 * known.fourth_cumulant[
                node
            ] + trust**4 * level.noise.fourth_cumulant
            known.precision[node] = before + 1 / variance
            start += len(level.starts)
    return known
