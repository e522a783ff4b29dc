"""Quantiles of records that were counted in cells: which cell holds one, and between which edges it lies for sure."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arguments import Refused
from ...arrays import FloatArray

SMALLEST = np.nextafter(0.0, 1.0)


def cell_at(cells: FloatArray, shares: FloatArray, p: ArrayLike) -> FloatArray:
    """The cell in which the shares pass each `p`: where it begins and ends, (..., 2).

    Args:
        cells: Where each cell begins and ends, (cells, 2), rising; the first and the last end may be infinite.
        shares: The shares of the records below each boundary, from 0 to 1, not decreasing.
        p: Levels in [0, 1]. Level 0 is that of the least record.

    Raises:
        ValueError: a level is outside [0, 1].

    >>> cells = np.array([[-np.inf, 1.0], [1.0, 2.0], [2.0, np.inf]])
    >>> cell_at(cells, np.array([0.0, 0.0, 0.5, 1.0]), [0, 0.5, 0.9]).tolist()
    [[1.0, 2.0], [1.0, 2.0], [2.0, inf]]
    """
    levels = np.maximum(_levels(p), SMALLEST)
    right = np.clip(np.searchsorted(shares, levels), 1, len(shares) - 1)
    return np.asarray(cells[right - 1])


def ends_at(cells: FloatArray, lower: FloatArray, upper: FloatArray, p: ArrayLike) -> FloatArray:
    """Boundaries that have every quantile at each level between them, wherever records lie inside cells: (..., 2).

    A quantile at level p is any value q with at most a share p of the records below it and at least a share p at or
    below it: the least of them inverts the distribution function; with an even number of records, all from one middle
    record to the other are medians. *If the shares below all boundaries lie between `lower` and `upper`, each such q
    lies in* ``[left, right)``, where left is the last boundary with ``upper < p`` and right the first with
    ``lower > p``. For if q were below left, the records at or below q would lie below left, a share of at most
    ``upper < p``; and if q were at or above right, the records below right, a share of at least ``lower > p``, would
    lie below q. Nothing was used of where records lie between boundaries, so it holds with ties and heaps. (If the last
    finite edge is closed, and counts the records on it as below it, q may also be that edge.) Where cells hold one
    declared value each, all quantiles lie between two of these: the first and the last one in ``[left, right)``.

    Args:
        cells: Where each cell begins and ends, (cells, 2), rising, from -inf to inf; or the value in it, twice.
        lower: Shares below each boundary, at the least; not decreasing.
        upper: Shares below each boundary, at the most; not decreasing.
        p: Levels in [0, 1].

    Raises:
        ValueError: a level is outside [0, 1].

    >>> cells = np.array([[-np.inf, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, np.inf]])
    >>> ends_at(cells, np.array([0, 0.1, 0.3, 0.7, 1]), np.array([0, 0.2, 0.6, 0.9, 1]), [0.5, 0.8]).tolist()
    [[1.0, 3.0], [2.0, inf]]
    """
    levels = _levels(p)
    first = np.maximum(np.searchsorted(upper, levels, side="left") - 1, 0)
    last = np.minimum(np.searchsorted(lower, levels, side="right"), len(lower) - 1)
    return np.stack([cells[first, 0], cells[last - 1, 1]], axis=-1)


def inside(cells: FloatArray, interpolated: FloatArray) -> FloatArray:
    """The value shown for a quantile in each of these cells, (..., 2): interpolated, or the one finite end of the cell.

    >>> inside(np.array([[1.0, 2.0], [2.0, np.inf], [-np.inf, np.inf]]), np.array([1.5, 2.5, 3.5])).tolist()
    [1.5, 2.0, nan]
    """
    left, right = cells[..., 0], cells[..., 1]
    only = np.where(np.isfinite(left), left, np.where(np.isfinite(right), right, np.nan))
    return np.where(np.isfinite(left) & np.isfinite(right), interpolated, only)


def _levels(p: ArrayLike) -> NDArray[np.float64]:
    levels = np.asarray(p, dtype=np.float64)
    if not np.all((levels >= 0) & (levels <= 1)):
        raise Refused("p", f"levels between 0 and 1 are needed, got {levels.tolist()}")
    return levels
