"""Precision and recall from the counts of two classes in cells of scores. High scores are positive."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray
from .roc import LEAST_MASS


def precision_and_recall(cells: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both, as the threshold falls over the cells: (cells + 1,) each, the first point above all scores.

    Where nothing lies above the threshold precision is 1, as scikit-learn has it. Without positives recall is NaN.

    Args:
        cells: Counts of negatives and positives, (2, cells), scores rising, none below 0.

    >>> precision, recall = precision_and_recall(np.array([[2.0, 0.0, 2.0], [0.0, 1.0, 2.0]]))
    >>> precision.tolist(), recall.round(2).tolist()
    ([1.0, 0.5, 0.6, 0.42857142857142855], [0.0, 0.67, 1.0, 1.0])
    """
    false, true = _above(cells)
    flagged = false + true
    precision = np.divide(true, flagged, out=np.ones_like(true), where=flagged > 0)
    recall = true / true[-1] if true[-1] >= LEAST_MASS else np.full_like(true, np.nan)
    return precision, recall


def average_precision(cells: FloatArray) -> FloatArray:
    """The mean precision at the scores of the positives, (..., 2, cells) to (...): ties have one threshold.

    Counts may be noisy and below 0: precision is kept between 0 and 1.

    >>> round(float(average_precision(np.array([[2.0, 0.0, 2.0], [0.0, 1.0, 3.0]]))), 4)
    0.6167
    """
    above = _above(cells)
    false, true = np.maximum(above[..., 0, 1:], 0.0), np.maximum(above[..., 1, 1:], 0.0)
    precision = np.divide(true, false + true, out=np.zeros_like(true), where=false + true > 0)
    positive = cells[..., 1, ::-1]
    return np.asarray((positive * precision).sum(axis=-1) / np.maximum(positive.sum(axis=-1), LEAST_MASS))


def _above(cells: FloatArray) -> FloatArray:
    above = np.zeros((*cells.shape[:-1], cells.shape[-1] + 1))
    np.cumsum(cells[..., ::-1], axis=-1, out=above[..., 1:])
    return above
