"""ROC curves of normal scores with equal spread in both classes."""

from __future__ import annotations

from math import sqrt

import numpy as np

from ...arrays import FloatArray

AREA_STEPS = 2**20


def auc_of_steps(steps: int) -> float:
    """An area that was released in steps of ``2**-20``, within [0, 1]."""
    return min(max(steps / AREA_STEPS, 0.0), 1.0)


def binormal_tpr(fpr: FloatArray, auc: float) -> FloatArray:
    """True positive rates where the classes lie ``sqrt(2) * ndtri(auc)`` standard deviations apart.

    The curve is symmetric about the falling diagonal and has the area `auc`; with an area of 0 or 1 it follows the
    axes, with all of the step at the first or at the last point.

    >>> binormal_tpr(np.array([0.0, 0.5, 1.0]), 0.76).round(2)
    array([0.  , 0.84, 1.  ])
    """
    if auc in (0.0, 1.0):
        return np.where(fpr > 0, 1.0, 0.0) if auc == 1.0 else np.where(fpr < 1, 0.0, 1.0)
    from scipy.special import ndtr, ndtri

    return np.asarray(ndtr(sqrt(2) * ndtri(auc) + ndtri(fpr)))
