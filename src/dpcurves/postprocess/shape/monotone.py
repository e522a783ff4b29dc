"""Counts cumulated, and made to rise as cumulated counts must."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray


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
