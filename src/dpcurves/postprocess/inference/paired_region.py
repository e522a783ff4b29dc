"""A region of the plane that holds a curve of pairs of quantiles, from intervals of both."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray


def paired_region(across: FloatArray, upwards: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Steps that have all pairs between them, those of shares between two that were asked for, too.

    Both quantiles rise with the share. So what lies between two neighbouring shares is in the box from the lower ends
    of the one to the upper ends of the other, in both directions, and the region is the union of these boxes.

    Args:
        across: Lower and upper ends of the quantiles along x, (shares, 2), neither falling.
        upwards: Those along y, (shares, 2).

    Returns:
        Edges along x, (steps + 1,), and the lower and upper end along y between two of them, (steps,).

    >>> edges, lower, upper = paired_region(np.array([[0, 1], [2, 3]]), np.array([[0, 2], [1, 4]]))
    >>> edges.tolist(), lower.tolist(), upper.tolist()
    ([0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [4.0, 4.0, 4.0])
    """
    low, high = (np.asarray(end, dtype=np.float64) for end in across.T)
    edges = np.unique(np.concatenate([low, high]))
    if len(edges) == 1:
        edges = np.repeat(edges, 2)
    middle, last = (edges[1:] + edges[:-1]) / 2, max(len(low) - 2, 0)
    first_box = np.minimum(np.searchsorted(high[1:], middle), last)
    last_box = np.clip(np.searchsorted(low[:-1], middle, side="right") - 1, 0, last)
    return edges, upwards[first_box, 0].astype(np.float64), upwards[min(1, len(low) - 1) + last_box, 1].astype(float)
