"""Long arrays, thinned to what a picture can show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray

BLOCKS = 1000


def visible(x: FloatArray, y: FloatArray, finest: int = BLOCKS) -> NDArray[np.int64]:
    """Numbers of the points to draw: all, or those that move by a thousandth of the picture, and their neighbours.

    A monotone curve keeps at most ``6 * finest`` points, and moves by less than ``1 / finest`` of its height.

    >>> visible(np.arange(5.0), np.arange(5.0)).tolist()
    [0, 1, 2, 3, 4]
    """
    if len(x) <= 2 * finest:
        return np.arange(len(x))
    moves = np.flatnonzero((np.diff(_pixels(x, finest)) != 0) | (np.diff(_pixels(y, finest)) != 0))
    return np.unique(np.concatenate([[0], moves, moves + 1, [len(x) - 1]]))


def _pixels(values: FloatArray, finest: int) -> FloatArray:
    known = values[np.isfinite(values)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    rows: FloatArray = np.floor((values - low) / (high - low or 1.0) * finest)
    return rows


def hull_in_blocks(
    edges: FloatArray, low: FloatArray, high: FloatArray, finest: int = BLOCKS
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Edges and ends of a band over cells; beyond ``2 * finest`` cells, the hull of neighbouring ones.

    >>> hull_in_blocks(np.arange(4.0), np.zeros(3), np.array([1.0, 5.0, 2.0]), finest=1)
    (array([0., 3.]), array([0.]), array([5.]))
    """
    if len(low) <= 2 * finest:
        return edges, low, high
    starts = np.arange(0, len(low), -(-len(low) // finest))
    return np.append(edges[starts], edges[-1]), np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
