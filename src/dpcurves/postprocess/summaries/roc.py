"""ROC curves and their areas, from the counts of the classes in cells of scores.

High scores are positive. Records in one cell are ties and count 1/2, so curves are joined by straight lines. A class
with less than half a record, noise included, has no mass: nothing is known of the order, the curve is the diagonal,
and the area is 1/2.
"""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray
from ..shape.monotone import counts_to_prefixes, non_decreasing

LEAST_MASS = 0.5


def roc_points(positive: FloatArray, negative: FloatArray) -> tuple[FloatArray, FloatArray]:
    """False and true positive rates from (0, 0) to (1, 1), as the threshold falls over the cells.

    Each class is cumulated from the highest cell down, made non-decreasing, clipped at 0, and divided by where it
    ends.

    Args:
        positive: Noisy counts of one class, (cells,), scores rising.
        negative: The counts of the other class.

    Returns:
        Two arrays (cells + 1,). Point i counts the i highest cells as positive.

    >>> roc_points(np.array([0.0, 1.0, 3.0]), np.array([2.0, 0.0, 2.0]))
    (array([0. , 0.5, 0.5, 1. ]), array([0.  , 0.75, 1.  , 1.  ]))
    """
    true, false = from_the_top(positive), from_the_top(negative)
    if min(true[-1], false[-1]) < LEAST_MASS:
        diagonal = np.linspace(0, 1, len(true))
        return diagonal, diagonal.copy()
    return false / false[-1], true / true[-1]


def auc(fpr: FloatArray, tpr: FloatArray) -> FloatArray:
    """The area under a curve (..., points), by trapezoids."""
    return np.asarray(np.trapezoid(tpr, fpr, axis=-1))


def auc_of_counts(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """The probability that a positive record scores above a negative one, plus half that of a tie.

    The input is unbiased counts (..., cells), negative ones included; no curve is formed, nothing is clipped.

    >>> float(auc_of_counts(np.array([0.0, 1.0, 3.0]), np.array([2.0, 0.0, 2.0])))
    0.6875
    """
    true, false = positive.sum(axis=-1), negative.sum(axis=-1)
    below = np.cumsum(negative, axis=-1) - negative / 2
    pairs = np.asarray(true * false)
    area = np.full(pairs.shape, 0.5)
    np.divide((positive * below).sum(axis=-1), pairs, out=area, where=np.minimum(true, false) >= LEAST_MASS)
    return area


def from_the_top(cells: FloatArray) -> FloatArray:
    """Counts above each threshold, (cells + 1,), made non-decreasing and clipped at 0."""
    cumulated = counts_to_prefixes(cells[::-1])
    cumulated[1:] = non_decreasing(cumulated[1:])
    return np.maximum(cumulated, 0)
