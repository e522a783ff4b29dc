"""Whether a cell at an end of a grid holds so much that values from beyond the grid may lie in it."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray

DEVIATIONS = 8.0
"""So many standard deviations of its noise an end cell has to stand out by."""
TIMES = 3.0
"""So many times as much as its neighbours let expect an end cell has to hold."""
LEAST_SHARE = 0.01
"""A smaller share of the records is not spoken of."""
NEAR = 4
CLEAR = 4.0
"""So many standard deviations of noise a neighbour is taken to hold at the least: by less nothing is divided."""
LITTLE = 1e-300


def crowded_ends(edges: FloatArray, below: FloatArray, noise: tuple[float, float]) -> tuple[float, float]:
    """The shares of the records in the first and in the last cell; 0 for one that is not crowded.

    What a cell is expected to hold is read off its neighbours: the fullest of the four next ones, by its density; and
    if counts fall from the nearest neighbour to the one after it, they may have fallen as steeply before.

    Args:
        edges: The edges of cells that were counted, (cells + 1,), rising.
        below: Unbiased counts of records below each edge, (cells + 1,).
        noise: Standard deviations of the noise of the first count, and of the last one.

    >>> edges = np.arange(7.0)
    >>> crowded_ends(edges, np.array([0.0, 10, 20, 30, 40, 50, 90]), (0.0, 0.0))
    (0.0, 0.4444444444444444)
    >>> crowded_ends(edges, np.array([0.0, 810, 900, 910, 911, 912, 913]), (0.0, 0.0))
    (0.0, 0.0)
    """
    total = float(below[-1] - below[0])
    if len(edges) < 4 or total <= 0:
        return 0.0, 0.0
    first, last = _excess(edges, below, noise[0]), _excess(-edges[::-1], -below[::-1], noise[1])
    return first / total if first >= LEAST_SHARE * total else 0.0, last / total if last >= LEAST_SHARE * total else 0.0


def _excess(edges: FloatArray, below: FloatArray, noise: float) -> float:
    """What the first cell holds, if that is more than its neighbours let expect; else 0."""
    count, width = np.diff(below[: NEAR + 2]), np.diff(edges[: NEAR + 2])
    inner = (count / width)[1 : len(edges) - 2]  # not the cell at the other end
    expected = max(float(inner.max()), 0.0) * width[0]
    least = max(float(inner[-1 if len(inner) < 2 else 1]), CLEAR * noise / width[1], LITTLE)
    expected *= max(inner[0] / least, 1.0)
    return float(count[0]) if count[0] > TIMES * expected + DEVIATIONS * noise else 0.0
