"""Which nodes of a tree are not divided, and what is largest below a node."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray, IntArray
from .binary_tree import WHOLE, Layout


def undivided(layout: Layout, split: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The largest nodes that are not to be split, or that are single cells."""
    inside = np.zeros(layout.nodes, dtype=np.bool_)
    inside[WHOLE] = True
    divided = split & (layout.width > 1)
    for parent, left, right, _ in layout.halvings:
        inside[left] = inside[right] = inside[parent] & divided[parent]
        inside[parent] &= ~divided[parent]
    return np.flatnonzero(inside & (layout.width > 0))


def largest_below(layout: Layout, variance: FloatArray) -> FloatArray:
    """The largest variance in each node and all nodes below it."""
    largest = variance.copy()
    for parent, left, right, _ in reversed(layout.halvings):
        largest[parent] = np.maximum(largest[parent], np.maximum(largest[left], largest[right]))
    return largest


def beginnings(layout: Layout, nodes: IntArray) -> IntArray:
    """The first cells of nodes that tile the cells, in their order."""
    return np.sort(layout.begin[nodes])
