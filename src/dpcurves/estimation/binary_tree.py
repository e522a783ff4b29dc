"""Binary trees over the cells of a grid or a table, and noisy counts of their nodes.

Mechanisms release noisy counts of nested intervals. To combine counts of several rounds and levels, the intervals are
placed as nodes in one binary tree (`Layout`; `DyadicLayout` for equal halves, `BoxTree` for tables), and
`merge_measurements` averages the counts ``y_r`` of each node, of variances ``v_r``, by inverse variance:

    precision = sum_r 1 / v_r      value = sum_r (y_r / v_r) / precision

The fourth cumulant of the noise is kept as well, because averaged Laplace noise is nearer to Gaussian noise.
`estimation.empirical_bayes` then estimates all nodes, up and down the tree. Also called dyadic decomposition, or
hierarchical histogram.

Formal guarantees: everything here is post-processing of released numbers.

Reference: Hay, Rastogi, Miklau and Suciu 2010, *Boosting the accuracy of differentially private histograms through
consistency*.

>>> tree = DyadicLayout.from_cells(8)
>>> [(int(tree.begin[node]), int(tree.width[node])) for node in tree.nodes_at_depth(2)]  # first cell, number of cells
[(0, 2), (2, 2), (4, 2), (6, 2)]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import InvalidArgument
from ..arrays import FloatArray, IntArray
from ..distributions import LEAST_VARIANCE, IntervalSums

ROOT = 1
"""Index of the root node, the interval of all cells; index 0 is unused, as in a binary heap."""


class Halving(NamedTuple):
    """Nodes that are halved in one step, and their halves, as indices of arrays over all nodes. A half may be empty.

    Attributes:
        parent: Nodes of similar size, each with at least one cell.
        left_half: Their left halves, in the same order.
        right_half: Their right halves.
        is_end_cell: Whether one half is a single outermost cell.
    """

    parent: slice | IntArray
    left_half: slice | IntArray
    right_half: slice | IntArray
    is_end_cell: bool


@dataclass(frozen=True, eq=False)
class Layout:
    """A binary tree of intervals of cells: node i is the interval from ``begin[i]`` to below ``begin[i] + width[i]``.

    Nodes of width 0 are unused.

    Attributes:
        cells: Number of cells, at least 1.
        begin: First cell of each node.
        width: Number of cells of each node.
        halvings: From the root down to single cells: parents come before their halves.
    """

    cells: int
    begin: IntArray
    width: IntArray
    halvings: tuple[Halving, ...]

    @staticmethod
    def from_tilings(tilings: Sequence[IntArray]) -> Layout:
        """Return the binary tree with the fewest nodes whose nodes include all intervals of nested tilings.

        Intervals that a tiling cuts into many are halved repeatedly; the results are halved as the next tiling allows,
        and the intervals of the last tiling down to single cells.

        Args:
            tilings: Bounds of the intervals of each tiling, from coarse to fine, from 0 to the number of cells.

        >>> layout = Layout.from_tilings([np.array([0, 3, 6, 9])])
        >>> layout.begin[1:6].tolist(), layout.width[1:6].tolist()
        ([0, 0, 3, 3, 6], [9, 3, 6, 3, 3])
        """
        cells = int(tilings[0][-1])
        tree = _LayoutBuilder(cells)
        for bounds in (*tilings, np.arange(cells + 1)):
            tree.split_at(bounds)
        begin = np.concatenate(tree.begin)
        end = np.concatenate(tree.end)
        return Layout(cells, begin, end - begin, tuple(tree.halvings))

    @property
    def nodes(self) -> int:
        """Length of arrays that are indexed by node; some indices may be unused."""
        return len(self.width)

    @cached_property
    def cell_nodes(self) -> IntArray:
        """Index of the node of each single cell, (cells,)."""
        return self.find_nodes(np.arange(self.cells + 1))

    def find_nodes(self, bounds: IntArray) -> IntArray:
        """Return the index of the node of each interval of a tiling, (intervals,).

        A node whose other half is empty has the same cells as its half; always the same one of them is returned.

        Args:
            bounds: Increasing bounds of the intervals, from 0 to the number of cells: (intervals + 1,).

        Raises:
            ValueError: an interval is not a node.
        """
        keys, numbers = self._index
        requested = self._key(bounds[:-1], np.diff(bounds))
        index = np.minimum(np.searchsorted(keys, requested), len(keys) - 1)
        unknown = np.flatnonzero(keys[index] != requested)
        if len(unknown) > 0:
            first = int(bounds[unknown[0]])
            end = int(bounds[unknown[0] + 1])
            raise InvalidArgument(
                "distribution",
                f"cells {first} to {end - 1} of {self.cells} do not form an interval of this tree; give the "
                "released distribution unchanged",
            )
        return numbers[index]

    @cached_property
    def _index(self) -> tuple[IntArray, IntArray]:
        """Index for finding the node of an interval: sorted keys of all intervals, and for each key the index of its
        node.

        Arrays of one length; nodes without cells are left out.
        """
        nodes = np.flatnonzero(self.width > 0)
        keys, index = np.unique(self._key(self.begin[nodes], self.width[nodes]), return_index=True)
        return keys, nodes[index]

    def _key(self, begin: IntArray, width: IntArray) -> IntArray:
        """Return an integer key for each interval, unique for its first cell and its width, to look up nodes.

        Args:
            begin: First cell of each interval.
            width: Number of cells of each interval, of the same shape.
        """
        return begin * (self.cells + 1) + width


class _LayoutBuilder:
    """Builder of a `Layout`: a tree that `split_at` divides further, until its leaves are single cells.

    Attributes:
        begin, end: Cells of all nodes, in the chunks in which they were added.
        halvings: See `Layout`.
        finest: Nodes that are not halved, with their first cells and the cells behind their last ones.
    """

    def __init__(self, cells: int) -> None:
        """Start a tree with a single node that holds all cells.

        Args:
            cells: Number of cells.
        """
        self.begin = [np.array([0, 0])]
        self.end = [np.array([0, cells])]
        self.halvings: list[Halving] = []
        self.finest = np.array([ROOT]), np.array([0]), np.array([cells])
        self._size = 2

    def split_at(self, bounds: IntArray) -> None:
        """Halve all nodes of the tree that contain several intervals of this tiling, until each contains a single one.

        Args:
            bounds: Increasing bounds of the tiling, from 0 to the number of cells.
        """
        nodes, begin, end = self.finest
        first_bound = np.searchsorted(bounds, begin)
        last_bound = np.searchsorted(bounds, end)
        finished = [(nodes[:0], begin[:0], end[:0])]
        while (is_divided := last_bound - first_bound > 1).any():
            finished.append((nodes[~is_divided], begin[~is_divided], end[~is_divided]))
            first_bound = first_bound[is_divided]
            last_bound = last_bound[is_divided]
            middle = (first_bound + last_bound) // 2
            new_nodes = self._add_nodes(
                np.append(begin[is_divided], bounds[middle]), np.append(bounds[middle], end[is_divided])
            )
            left, right = np.split(new_nodes[0], 2)
            self.halvings.append(Halving(nodes[is_divided], left, right, is_end_cell=False))
            (nodes, begin, end), first_bound, last_bound = (
                new_nodes,
                np.append(first_bound, middle),
                np.append(middle, last_bound),
            )
        nodes, begin, end = (np.concatenate(columns) for columns in zip(*finished, (nodes, begin, end), strict=True))
        self.finest = nodes, begin, end

    def _add_nodes(self, begin: IntArray, end: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Add one tree node per interval of cells; return the indices of the new nodes, and the arguments.

        Args:
            begin: First cell of each interval.
            end: Cell after the last of each interval.
        """
        self.begin.append(begin)
        self.end.append(end)
        self._size += len(begin)
        return np.arange(self._size - len(begin), self._size), begin, end


@dataclass(frozen=True, eq=False)
class DyadicLayout(Layout):
    """A layout of dyadic intervals, stored as a binary heap: node i has the halves 2i and 2i + 1.

    The heap has as many leaves as the next power of two. Intervals are cut at the number of cells; those beyond are
    empty.

    Attributes:
        size: Number of leaves of the heap.
        end_split_depth: Depth at which the first and the last cell are separated from the others; None: they are not.
    """

    size: int
    end_split_depth: int | None

    @classmethod
    def from_cells(cls, cells: int) -> DyadicLayout:
        """Return the binary tree, in heap order, of dyadic intervals ``[i * 2**k, (i + 1) * 2**k)`` over the cells.

        >>> layout = DyadicLayout.from_cells(5)
        >>> layout.begin[2:4], layout.width[2:4]
        (array([0, 4]), array([4, 1]))

        Args:
            cells: Number of cells; the last nodes are cut there.

        Raises:
            ValueError: `cells` is below 1.
        """
        if cells < 1:
            raise InvalidArgument("cells", f"must be at least 1, got {cells}")
        size = 1 << (cells - 1).bit_length()
        node = np.arange(1, 2 * size)
        height = size.bit_length() - np.frexp(node.astype(np.float64))[1].astype(np.int64)
        # Node 0 is unused.
        first_cell = np.append(0, (node << height) - size)
        width = np.append(0, np.int64(1) << height)
        begin = np.minimum(first_cell, cells)
        end = np.minimum(first_cell + width, cells)
        halvings = tuple(_halve_level(size, cells, depth) for depth in range(size.bit_length() - 1))
        return cls(cells, begin, end - begin, halvings, size, end_split_depth=None)

    @classmethod
    def from_cells_with_ends(cls, cells: int) -> DyadicLayout:
        """Return the tree that is halved as by `from_cells`, but with the first and the last cell separated from the
        others at a third of the depth.

        Values outside a grid are counted in its outermost cells, so a large cell may lie beside empty ones. Four nodes
        follow the heap: the first cell, the rest of its former node, the rest of the last cell's former node, and the
        last cell. Nodes of the heap below have no outermost cell. If the heap would be twice as large for one or two
        cells more than a power of two, its leaves are the inner cells alone.

        Args:
            cells: Number of cells.

        >>> layout = DyadicLayout.from_cells_with_ends(16)
        >>> layout.begin[layout.nodes_at_depth(1)]
        array([ 0,  1,  8, 15])
        >>> layout = DyadicLayout.from_cells_with_ends(18)
        >>> layout.size, layout.begin[layout.nodes_at_depth(1)]
        (16, array([ 0,  1,  9, 17]))
        """
        least_shifted = 9  # cells: below, a heap twice as large is small
        has_inner_leaves = cells >= least_shifted and (cells - 1).bit_length() > (cells - 3).bit_length()
        leaves, shift = (cells - 2, 1) if has_inner_leaves else (cells, 0)
        layout = cls.from_cells(leaves)
        if cells < 4:  # the cells between both end cells could not be halved
            return layout

        # Above the depth, nodes reach the ends of the axis; below, the end cells are cut off.
        size = layout.size
        depth = max(1, round(layout.depth / 3))
        begin = layout.begin + shift
        end = layout.begin + layout.width + shift
        outer_nodes = slice(1, 2 << depth)
        inner_nodes = slice(2 << depth, 2 * size)
        begin[outer_nodes][layout.begin[outer_nodes] == 0] = 0
        end[outer_nodes][end[outer_nodes] == leaves + shift] = cells
        begin[outer_nodes] = np.where(layout.width[outer_nodes] > 0, begin[outer_nodes], cells)
        begin[inner_nodes], end[inner_nodes] = (
            np.clip(begin[inner_nodes], 1, cells - 1),
            np.clip(end[inner_nodes], 1, cells - 1),
        )

        # Four nodes follow the heap: both end cells, and the rests of their former nodes.
        left = 1 << depth
        right = (1 << depth) + (leaves - 1) * (1 << depth) // size
        begin = np.concatenate([begin, [0, 1, begin[right], cells - 1]])
        end = np.concatenate([end, [1, end[left], cells - 1, cells]])
        coarse_halvings, level = layout.halvings[:depth], layout.halvings[depth]
        inner_end = leaves - 1 + shift  # the number of leaves before the last cell's
        fine_halvings = (_halve_level(size, inner_end, fine_depth) for fine_depth in range(depth + 1, layout.depth))
        halvings = (*coarse_halvings, *_halve_around_ends(level, size, end - begin), *fine_halvings)
        return cls(cells, begin, end - begin, halvings, size, end_split_depth=depth)

    @property
    def depth(self) -> int:
        """Number of halvings from the root of the heap down to its leaves."""
        return self.size.bit_length() - 1

    def nodes_at_depth(self, depth: int) -> IntArray:
        """Return the nodes that tile the cells at this depth, from left to right.

        Args:
            depth: Depth below the root, which has depth 0.

        Returns:
            Indices of nodes; nodes without cells are left out.
        """
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
    """Return the indices of the nodes at one depth of a binary heap, and of their two children.

    Args:
        size: Number of leaves of the heap, a power of two.
        cells: Number of leaves in use, from the first on.
        depth: Depth of the nodes, 0 for the root.
    """
    first = 1 << depth
    end = first - (-cells * first // size)
    return Halving(
        slice(first, end), slice(2 * first, 2 * end, 2), slice(2 * first + 1, 2 * end + 1, 2), is_end_cell=False
    )


def _halve_around_ends(level: Halving, size: int, width: IntArray) -> list[Halving]:
    """Return halvings that split off the outermost cell from the first and from the last node of a level.

    The rest of these nodes is halved.

    Args:
        level: Halvings of the nodes of the level.
        size: Leaves of the tree, a binary heap; numbers of its nodes are below ``2 * size``.
        width: Number of cells of each node.
    """
    numbers = np.arange(2 * size)
    parent, left, right = (numbers[rows] for rows in level[:3])
    first, left_rest, right_rest, last = (np.array([node]) for node in range(2 * size, 2 * size + 4))
    end_halvings = [
        Halving(parent[:1], first, left_rest, is_end_cell=True),
        Halving(parent[-1:], right_rest, last, is_end_cell=True),
    ]
    nodes = np.concatenate([left_rest, parent[1:-1], right_rest])
    is_occupied = width[nodes] > 0
    return [*end_halvings, Halving(nodes[is_occupied], left[is_occupied], right[is_occupied], is_end_cell=False)]


def find_leaves(layout: Layout, split: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the leaves of the tree that splits only marked nodes, as indices of nodes; they tile the cells.

    Args:
        layout: The whole tree.
        split: Whether a node is split, (nodes,). Single cells are never split.
    """
    is_leaf = np.zeros(layout.nodes, dtype=np.bool_)
    is_leaf[ROOT] = True
    is_divided = split & (layout.width > 1)
    for parent, left, right, _ in layout.halvings:
        is_leaf[left] = is_leaf[right] = is_leaf[parent] & is_divided[parent]
        is_leaf[parent] &= ~is_divided[parent]
    return np.flatnonzero(is_leaf & (layout.width > 0))


def subtree_maxima(layout: Layout, variance: FloatArray) -> FloatArray:
    """Return, for each node of a tree, the largest variance in its subtree, the node included: (nodes,).

    Args:
        layout: The tree of intervals.
        variance: Variance of each node, (nodes,); not changed.
    """
    largest = variance.copy()
    for parent, left, right, _ in reversed(layout.halvings):
        largest[parent] = np.maximum(largest[parent], np.maximum(largest[left], largest[right]))
    return largest


def first_cells_of_nodes(layout: Layout, nodes: IntArray) -> IntArray:
    """Return the first cells of nodes that tile the cells, in their order.

    Args:
        layout: The tree of intervals.
        nodes: Indices of nodes that tile the cells, in any order.

    Returns:
        Increasing numbers of cells, one for each node.
    """
    return np.sort(layout.begin[nodes])


@dataclass(frozen=True, eq=False)
class BoxTree:
    """A table halved down to single cells; each box is an interval of the cell order, as along a space-filling curve.

    Cells beyond the table come last in the order; they are separated from the table first.

    Attributes:
        order: Indices of the cells in the flat table, the last axis fastest: (cells,).
        tilings: Bounds of the boxes after 0, 1, 2, ... halvings, with the cells beyond as one interval.
        layout: The halvings, over the cells of the table and those beyond.
    """

    order: IntArray
    tilings: tuple[IntArray, ...]
    layout: Layout

    @staticmethod
    @lru_cache(maxsize=4)  # a pure function of public facts
    def from_shape(shape: tuple[int, ...], beyond: int = 0) -> BoxTree:
        """Return the tree that halves a table of this shape along its longest sides, down to single cells.

        Args:
            shape: Number of cells along each axis.
            beyond: Number of cells outside the table, which form a node of their own.

        >>> tree = BoxTree.from_shape((2, 3), beyond=2)
        >>> tree.order, tree.tilings[1]
        (array([0, 3, 1, 2, 4, 5]), array([0, 2, 6, 8]))
        """
        lower = np.zeros((1, len(shape)), dtype=np.int64)
        upper = np.array([shape])
        tilings = [_box_ends(lower, upper, beyond)]
        while (upper - lower).max() > 1:
            lower, upper = _halve_boxes(lower, upper)
            tilings.append(_box_ends(lower, upper, beyond))
        order = np.asarray(np.ravel_multi_index(tuple(lower.T), shape), dtype=np.int64)
        layout = Layout.from_tilings(tilings)
        if beyond:  # these cells are like an outermost cell: other splits say nothing about their share
            first, *rest = layout.halvings
            layout = replace(layout, halvings=(first._replace(is_end_cell=True), *rest))
        return BoxTree(order, tuple(tilings), layout)

    @property
    def depth(self) -> int:
        """Number of halvings from the whole table down to single cells."""
        return len(self.tilings) - 1


def _halve_boxes(lower: IntArray, upper: IntArray) -> tuple[IntArray, IntArray]:
    """Halve each box of cells along its longest side, the lower half before the upper one; single cells stay.

    Args:
        lower: First cell of each box along each axis, (boxes, axes).
        upper: Cell behind the last one, of the same shape.

    Returns:
        First cells, and cells behind the last ones, (new boxes, axes) each.
    """
    sides = upper - lower
    is_divided = sides.max(axis=1) > 1
    box = np.repeat(np.arange(len(lower)), 1 + is_divided)
    is_second = np.append(False, box[1:] == box[:-1])
    is_first = np.append(is_second[1:], False)
    axis = sides.argmax(axis=1)
    index = np.arange(len(lower))
    middle = (lower[index, axis] + upper[index, axis]) // 2
    lower = lower[box]
    upper = upper[box]
    lower[is_second, axis[box[is_second]]] = middle[box[is_second]]
    upper[is_first, axis[box[is_first]]] = middle[box[is_first]]
    return lower, upper


def _box_ends(lower: IntArray, upper: IntArray, beyond: int) -> IntArray:
    """Return the bounds of boxes along the tree's order of cells, from 0 to all cells; cells outside the table follow
    as one interval.

    Args:
        lower: First cell of each box along each axis, (boxes, axes).
        upper: Cell behind the last one of each box along each axis, of the same shape.
        beyond: Number of cells outside the table; 0: no further interval.
    """
    ends = np.append(0, np.cumsum((upper - lower).prod(axis=1)))
    return np.append(ends, ends[-1] + beyond) if beyond else ends


Values = Sequence[int] | NDArray[np.int64] | FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Measurements:
    """Noisy counts of nodes. Arrays are over the nodes of the layout.

    Attributes:
        layout: The tree of intervals.
        precision: Reciprocal of the noise variance; 0: not measured; infinite: no cells, hence no records.
        value: Noisy counts.
        fourth_cumulant: Fourth cumulant of the noise, 0 for Gaussian noise.
    """

    layout: Layout
    precision: FloatArray
    value: FloatArray
    fourth_cumulant: FloatArray

    @classmethod
    def empty(cls, layout: Layout) -> Measurements:
        """Return the measurements before any release: no node has information (precision 0), except that nodes without
        cells have count 0.

        Args:
            layout: The tree of intervals.
        """
        precision = np.where(layout.width > 0, 0.0, np.inf)
        return cls(layout, precision, np.zeros(layout.nodes), np.zeros(layout.nodes))


def merge_measurements(layout: Layout, releases: Sequence[tuple[IntervalSums, Values]]) -> Measurements:
    """Return noisy counts of all nodes, in which counts of one interval are averaged by inverse variance.

    The noises of the releases must be independent. Counts of missing records are ignored.

    Args:
        layout: The tree of intervals that may have been measured.
        releases: Distributions of one row over the cells of the layout, with the released values.

    Raises:
        ValueError: an interval is not a node, values do not fit their distribution, or a distribution has other cells
            or several rows.

    >>> from fractions import Fraction
    >>> from dpcurves.distributions import Family, Noise, Tier
    >>> level = Tier(range(2), Noise(Family.GAUSSIAN, Fraction(4)))
    >>> distribution = IntervalSums(1, 2, (level,), missing=None)
    >>> layout = Layout.from_tilings([np.array([0, 2])])
    >>> merged = merge_measurements(layout, [(distribution, [5, 1]), (distribution, [3, 1])])
    >>> merged.value[2:], merged.precision[2:]
    (array([4., 1.]), array([0.5, 0.5]))
    """
    measurements = Measurements.empty(layout)
    for distribution, values in releases:
        if (distribution.rows, distribution.cells) != (1, layout.cells):
            raise InvalidArgument(
                "distribution",
                f"must have one row of {layout.cells} cells, as the layout; give the distribution of this layout, got "
                f"{distribution.rows} of {distribution.cells}",
            )
        if len(values) != distribution.size:
            raise InvalidArgument(
                "values",
                f"{distribution.size} values are needed, one for each number of the distribution, got {len(values)}",
            )
        start = 0
        for level in distribution.levels:
            counts = np.asarray(values[start : start + len(level.starts)], dtype=np.float64)
            node = layout.find_nodes(level.bounds(layout.cells))
            variance = max(level.noise.variance, LEAST_VARIANCE)
            precision = measurements.precision[node]
            # Inverse-variance weighting: precisions add up, and new counts weigh by their part of the precision. The
            # fourth cumulant of a weighted sum of independent noises has the fourth powers of the weights.
            weight = 1 / (1 + variance * precision)
            measurements.value[node] += weight * (counts - measurements.value[node])
            earlier_cumulant = (1 - weight) ** 4 * measurements.fourth_cumulant[node]
            measurements.fourth_cumulant[node] = earlier_cumulant + weight**4 * level.noise.fourth_cumulant
            measurements.precision[node] = precision + 1 / variance
            start += len(level.starts)
    return measurements
