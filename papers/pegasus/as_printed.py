"""What chapter 5 prints and is not what it says: PRUNE, which is not private, and James-Stein with a slip."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def stays(gap: float, epsilon: float) -> float:
    """The chance that a count plus Lap(2/epsilon) reaches a threshold plus Lap(2/epsilon), the threshold `gap` higher.

    The difference of two such noises is above x >= 0 with chance ``(2 + x / b) * exp(-x / b) / 4``, b being the scale.
    """
    scaled = abs(gap) * epsilon / 2
    far = (2 + scaled) * np.exp(-scaled) / 4
    return float(far if gap >= 0 else 1 - far)


def prune_loss(levels: int, threshold: float, count: float, epsilon: float) -> float:
    """Log ratio of one answer of Algorithm 18, PRUNE: all levels of a path stay, with one tuple more or without it.

    All noises are drawn anew at each node, so the answer's chance is a product over the path, from `count` to one more
    at every level. Its leaf changes nothing that is released, but is compared too.
    """
    kept, more = (stays(threshold - each, epsilon) for each in (count, count + 1))
    return levels * float(np.log(more / kept))


def james_stein(values: FloatArray, variance: float) -> FloatArray:
    """Equation 5.7 for the last of each row of values: the count is added, where the mean belongs; no least factor."""
    mean = values.mean(axis=1)
    squares = np.square(values - mean[:, None]).sum(axis=1)
    shrunk: FloatArray = (1 - (values.shape[1] - 1) * variance / squares) * (values[:, -1] - mean) + values[:, -1]
    return shrunk


def bound_18(length: int, epsilon: float) -> float:
    """The deviation up to which Theorem 18 says that averages are better."""
    return float(np.sqrt(2 * (length - np.log(length) - 1)) / ((1 + np.log(length - 1)) * epsilon))
