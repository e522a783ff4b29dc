"""Reading a curve that is given at the edges of cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import Refused, WrongKind, shown
from ...arrays import FloatArray


def numbers(name: str, given: ArrayLike) -> FloatArray:
    """A number or an array of them, as doubles; `name` is the argument to blame.

    Raises:
        TypeError: they are none.

    >>> numbers("t", [1, 2]).tolist()
    [1.0, 2.0]
    """
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise WrongKind(name, f"a number is needed, or an array of numbers, got {shown(given)}") from None


def value_at(x: FloatArray, y: FloatArray, t: ArrayLike) -> FloatArray:
    """The curve at `t`: linear inside cells, 0 below the first edge, ``y[-1]`` from the last edge on.

    Args:
        x: Edges, rising.
        y: The curve at the edges.
        t: Where to read; NaN gives NaN.

    >>> value_at(np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.5, 1.0]), [-1, 0.5, 9]).tolist()
    [0.0, 0.25, 1.0]
    """
    return np.asarray(np.interp(np.asarray(t, dtype=np.float64), x, y, left=0.0), dtype=np.float64)


def value_below(values: FloatArray, y: FloatArray, t: ArrayLike) -> FloatArray:
    """The step function of declared values at `t`: what it is at the largest value that is not above `t`, else 0.

    Args:
        values: Declared values, (cells,), rising.
        y: The curve below the cell of each and at the end, (cells + 1,).
        t: Where to read; NaN gives NaN.

    >>> value_below(np.array([1.0, 2.0]), np.array([0.0, 0.5, 1.0]), [0.9, 1, 1.9, 2]).tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    at = np.asarray(t, dtype=np.float64)
    steps = np.append(0.0, y[1:])
    return np.where(np.isnan(at), np.nan, steps[np.searchsorted(values, at, side="right")])


def inverse_at(x: FloatArray, y: FloatArray, p: ArrayLike) -> FloatArray:
    """The smallest place where the curve reaches `p`: linear inside cells, the left end of flat stretches.

    Where the curve never reaches `p`, its last edge.

    Args:
        x: Edges, rising.
        y: The curve at the edges, not decreasing.
        p: Levels in [0, 1].

    Raises:
        ValueError: a level is outside [0, 1].

    >>> inverse_at(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 0.5, 0.5, 1.0]), [0, 0.25, 0.5, 1]).tolist()
    [0.0, 0.5, 1.0, 3.0]
    """
    levels = np.asarray(p, dtype=np.float64)
    if not np.all((levels >= 0) & (levels <= 1)):
        raise Refused("p", "levels between 0 and 1 are needed, as in 0.25")
    right = np.clip(np.searchsorted(y, levels), 1, len(y) - 1)  # the edge at which the cell ends
    rise = y[right] - y[right - 1]
    share = np.divide(levels - y[right - 1], rise, out=np.ones_like(levels), where=rise > 0)
    inside = x[right - 1] + np.clip(share, 0, 1) * (x[right] - x[right - 1])
    return np.where(levels <= y[0], x[0], np.where(share >= 1, x[right], inside))
