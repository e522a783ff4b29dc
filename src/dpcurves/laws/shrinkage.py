"""Shrinkage of deviations that noise alone may explain."""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray, IntArray
from .noise import LEAST_VARIANCE

CLEAR = 3.0  # children that deviate this many times more than noise explains are judged apart from the other families


def remaining(squares: FloatArray, freedom: IntArray) -> FloatArray:
    """The factor on the deviations of each family: (..., rows, parents).

    Args:
        squares: Squared deviations of each family, in units of their variance.
        freedom: How many of them noise alone would make, in each family: (parents,).
    """
    some = np.maximum(squares, LEAST_VARIANCE)
    level = np.maximum(0, 1 - freedom.sum() / some.sum(axis=-1, keepdims=True))
    family = 1 - np.maximum(freedom - 2, 0) / some
    return np.where(some > CLEAR * freedom, family, level)
