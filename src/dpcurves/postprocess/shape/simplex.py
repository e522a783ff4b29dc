"""Counts that are not below zero and add up: the nearest ones."""

from __future__ import annotations

import numpy as np

from ...arguments import Refused
from ...arrays import FloatArray


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
