"""Net benefit of acting on scores, from the counts of two classes above thresholds."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray


def odds(threshold: FloatArray) -> FloatArray:
    """The number of acted-on negatives that weigh as much as one positive: t / (1 - t), at a threshold t below 1.

    >>> odds(np.array([0.2, 0.5])).tolist()
    [0.25, 1.0]
    """
    return np.asarray(threshold / (1 - threshold))


def net_benefit(true: FloatArray, false: FloatArray, size: float, threshold: FloatArray) -> FloatArray:
    """True positives less weighted false ones, per record (Vickers and Elkin 2006).

    Whoever acts at a probability t or above takes a false positive to cost t / (1 - t) times what a true one gains.

    Args:
        true: Positives with a score at or above the threshold.
        false: Negatives with such a score.
        size: How many records there are.
        threshold: Probabilities above 0 and below 1.

    >>> net_benefit(np.array([30.0]), np.array([20.0]), 100, np.array([0.2])).tolist()
    [0.25]
    """
    return np.asarray((true - odds(threshold) * false) / max(size, 1.0))
