"""Calibration errors of predicted probabilities, from the counts of two classes in cells of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray
from .roc import LEAST_MASS


def brier_score(cells: FloatArray, scores: FloatArray) -> FloatArray:
    """The mean squared difference of labels, 1 or 0, and scores (Brier 1950): (..., 2, cells) to (...).

    Args:
        cells: Counts of negatives and positives.
        scores: What stands for the scores of each cell, (cells,).

    >>> float(brier_score(np.array([[3.0, 1.0], [1.0, 3.0]]), np.array([0.25, 0.75])))
    0.1875
    """
    squares = cells[..., 0, :] @ scores**2 + cells[..., 1, :] @ (1 - scores) ** 2
    return np.asarray(squares / np.maximum(cells.sum(axis=(-2, -1)), LEAST_MASS))


def calibration_gaps(cells: FloatArray, scores: FloatArray, starts: NDArray[np.int64]) -> FloatArray:
    """Positives less the sum of scores, of each group of cells, per record of all: (..., 2, cells) to (..., groups).

    The sum of their absolute values is the expected calibration error (Naeini, Cooper and Hauskrecht 2015).

    Args:
        cells: Counts of negatives and positives.
        scores: What stands for the scores of each cell, (cells,).
        starts: The first cell of each group.

    >>> calibration_gaps(np.array([[3.0, 1.0], [1.0, 3.0]]), np.array([0.5, 0.5]), np.array([0, 1])).tolist()
    [-0.125, 0.125]
    """
    surplus = cells[..., 1, :] * (1 - scores) - cells[..., 0, :] * scores
    groups = np.add.reduceat(surplus, starts, axis=-1)
    return np.asarray(groups / np.maximum(cells.sum(axis=(-2, -1)), LEAST_MASS)[..., None])


def even_groups(count: FloatArray, groups: int) -> NDArray[np.int64]:
    """The first cell of each of at most so many groups of neighbouring cells, of about equal count.

    >>> even_groups(np.array([1.0, 1.0, 2.0, 4.0]), 2).tolist()
    [0, 3]
    """
    below = np.append(0.0, np.cumsum(np.maximum(count, 0.0)))
    if below[-1] < LEAST_MASS:
        below = np.arange(len(below), dtype=np.float64)
    wanted = below[-1] * np.arange(1, groups) / groups
    nearest = np.abs(below[1:-1, None] - wanted).argmin(axis=0) + 1 if len(below) > 2 else np.zeros(0, np.int64)
    return np.unique(np.append(0, nearest)).astype(np.int64)
