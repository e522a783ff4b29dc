"""Boxes of a table that are halved along their longest side: the order of cells that this makes, and its halvings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...arrays import IntArray
from .binary_tree import Layout


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
    def of(shape: tuple[int, ...], beyond: int = 0) -> BoxTree:
        """The tree of a table of this shape, with so many cells beyond it.

        >>> tree = BoxTree.of((2, 3), beyond=2)
        >>> tree.order, tree.tilings[1]
        (array([0, 3, 1, 2, 4, 5]), array([0, 2, 6, 8]))
        """
        lower, upper = np.zeros((1, len(shape)), dtype=np.int64), np.array([shape])
        tilings = [_ends(lower, upper, beyond)]
        while (upper - lower).max() > 1:
            lower, upper = _halved(lower, upper)
            tilings.append(_ends(lower, upper, beyond))
        order = np.asarray(np.ravel_multi_index(tuple(lower.T), shape), dtype=np.int64)
        return BoxTree(order, tuple(tilings), _layout(tilings, beyond))

    @property
    def depth(self) -> int:
        """The number of halvings that make single cells."""
        return len(self.tilings) - 1


def _halved(lower: IntArray, upper: IntArray) -> tuple[IntArray, IntArray]:
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


def _ends(lower: IntArray, upper: IntArray, beyond: int) -> IntArray:
    ends = np.append(0, np.cumsum((upper - lower).prod(axis=1)))
    return np.append(ends, ends[-1] + beyond) if beyond else ends


def _layout(tilings: list[IntArray], beyond: int) -> Layout:
    """The layout. Cells beyond are an end of their own: nothing is learned from their share of all."""
    layout = Layout.nested(tilings)
    if not beyond:
        return layout
    first, *rest = layout.halvings
    return Layout(layout.cells, layout.begin, layout.width, (first._replace(off_end=True), *rest))
