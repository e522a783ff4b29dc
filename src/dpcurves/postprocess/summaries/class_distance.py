"""The Kolmogorov-Smirnov distance of the scores of two classes, from counts in cells."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray
from .roc import LEAST_MASS


def class_gaps(cells: FloatArray) -> FloatArray:
    """The distribution function of negatives less that of positives, (..., 2, cells) to (..., cells - 1): inner edges.

    >>> class_gaps(np.array([[3.0, 1.0], [1.0, 3.0]])).tolist()
    [0.5]
    """
    below = np.cumsum(cells, axis=-1)
    shares = below[..., :-1] / np.maximum(below[..., -1:], LEAST_MASS)
    return np.asarray(shares[..., 0, :] - shares[..., 1, :])


def largest_gap_of_classes(cells: FloatArray) -> FloatArray:
    """The Kolmogorov-Smirnov statistic of two classes, (..., 2, cells) to (...): the largest of all gaps.

    >>> float(largest_gap_of_classes(np.array([[3.0, 1.0], [1.0, 3.0]])))
    0.5
    """
    return np.asarray(np.abs(class_gaps(cells)).max(axis=-1, initial=0.0))
