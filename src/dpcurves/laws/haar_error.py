"""The exact error of counts of records below an edge, read from contrasts."""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray
from .haar_sums import HaarSums


def contrast_variances(law: HaarSums, total_is_public: bool) -> FloatArray:
    """Variance of the estimated number of records in the first i cells of a row: shape ``(cells + 1,)``.

    With the total T of a node and its contrast D the halves are ``(T + D) / 2`` and ``(T - D) / 2``. If what lies below
    an edge in one half is u times that half's total, plus independent noise, then in the node it is ``u / 2 * (T + D)``
    for an edge in the left half, and ``(1 + u) / 2 * T + (1 - u) / 2 * D`` for one in the right half.

    Raises:
        ValueError: nothing tells the total of a row.
    """
    interval, slope = law.interpolated()
    spread = np.zeros(law.cells + 1)
    for half, noise in zip(law.halves[::-1], law.levels[::-1], strict=True):
        node, right = interval // (2 * half), interval // half % 2 == 1
        split = 2 * half * node + half < law.points
        reached = np.where(right, 1 - slope, slope) / 2
        spread += np.where(split, reached**2 * noise.variance, 0)
        slope = np.where(split, np.where(right, 1 - reached, reached), slope)
    row: FloatArray = spread + slope**2 * top_variance(law, total_is_public)
    return row


def top_variance(law: HaarSums, total_is_public: bool) -> float:
    """Variance of the estimated total of a row.

    The totals of all rows and the missing count are independent; a public total is the sum of them all.

    Raises:
        ValueError: nothing tells the total of a row.
    """
    missing = None if law.missing is None or not total_is_public else law.missing.variance
    if law.top is None:
        return _lone_total(law, missing)
    own = law.top.variance
    if missing is None or own == 0:
        return own
    return own - own * (own / (law.rows * own + missing))


def _lone_total(law: HaarSums, missing: float | None) -> float:
    """The variance of the total of the only row, which is all that is not missing."""
    if missing is None or law.rows > 1:
        raise ValueError("law: without totals of the rows, one row and a public total with a missing count are needed")
    return missing
