"""Shape restrictions and interpolation: monotone prefixes, the simplex, and curves given at edges of cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Refused, WrongKind, shown
from ..arrays import FloatArray

# Reading a curve that is given at the edges of cells.


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


# Counts that are not below zero and add up: the nearest ones.


def on_simplex(values: FloatArray, total: float) -> FloatArray:
    """The nearest numbers, in squares, that are not below zero and add up to `total`; of the shape of `values`.

    They are ``max(value - c, 0)`` with one c for all (Held, Wolfe and Crowder 1974). Where noise has made many values
    negative, c is above zero: just to cut them off would leave too much.

    Raises:
        ValueError: `total` is not above zero, or there is no value.

    >>> on_simplex(np.array([5.0, 1.0, -2.0]), 4.0).tolist()
    [4.0, 0.0, 0.0]
    """
    if not total > 0 or not values.size:
        raise Refused("total", f"a number above zero is needed, and a value at least, got {total}")
    values = values - values.max()  # what is cut off is the same, and the total is not lost beside huge values
    falling = np.sort(values, axis=None)[::-1]
    cuts = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    cut = float(cuts[np.flatnonzero(falling > cuts)[-1]])
    kept: FloatArray = np.maximum(values - cut, 0.0)
    return kept * (total / float(kept.sum()))


# Counts cumulated, and made to rise as cumulated counts must.


def non_decreasing(values: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """The closest non-decreasing sequence in (weighted) least squares, by pooling adjacent violators.

    It is never further from the truth, which does not decrease, than `values` are.

    >>> non_decreasing(np.array([0.0, 3.0, 1.0, 4.0]))
    array([0., 2., 2., 4.])
    """
    if np.all(np.diff(values) >= 0):
        return np.array(values, dtype=np.float64)
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(values, weights=weights).x, dtype=np.float64)


def counts_to_prefixes(cells: FloatArray) -> FloatArray:
    """Cumulated counts at the edges, from 0 on: (..., cells) to (..., cells + 1).

    >>> counts_to_prefixes(np.array([[2.0, 0.0, 1.0]]))
    array([[0., 2., 2., 3.]])
    """
    prefixes = np.zeros((*cells.shape[:-1], cells.shape[-1] + 1))
    np.cumsum(cells, axis=-1, out=prefixes[..., 1:])
    return prefixes


def monotone_prefixes(cells: FloatArray, upper: float | None) -> FloatArray:
    """Cumulated counts of each row that start at 0, do not decrease, and do not pass `upper`.

    Args:
        cells: Noisy counts, (rows, cells).
        upper: How many records a row has at most, where that is public.

    Returns:
        (rows, cells + 1). A last prefix that equals `upper` stays so.
    """
    prefixes = counts_to_prefixes(cells)
    for row in prefixes:
        row[1:] = non_decreasing(row[1:])
    return np.clip(prefixes, 0, upper)
