"""Sorted numbers in clusters: the fewer, the less noise each needs, and the less alike its members are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..compiled import compiled


def clusters(rising: FloatArray, variance: float) -> NDArray[np.int64]:
    """The number of each number's cluster, in one pass (Zhang, Chen, Xu, Meng and Xie 2014, greedy clustering).

    A cluster of m numbers costs the sum of squared distances from their mean, and ``variance / m`` for its noise. The
    next number joins unless it would be cheaper, at the best, in a new cluster with some of those that follow it.

    Args:
        rising: Numbers that do not fall, of shape ``(n,)``.
        variance: The variance of the noise of one count.

    >>> clusters(np.array([0.0, 0.1, 9.0, 9.2, 9.3]), 2.0).tolist()
    [0, 0, 1, 1, 1]
    """
    sums = np.concatenate(([0.0], np.cumsum(rising)))
    squares = np.concatenate(([0.0], np.cumsum(rising**2)))
    # A new cluster takes all numbers that equal its first one: they come near it for less noise each.
    last_equal = np.searchsorted(rising, rising, side="right") - 1
    return _joined(rising, sums, squares, last_equal, variance)


@compiled
def _joined(
    rising: FloatArray, sums: FloatArray, squares: FloatArray, last_equal: NDArray[np.int64], variance: float
) -> NDArray[np.int64]:
    count = len(rising)
    label = np.zeros(count, dtype=np.int64)
    start = 0
    for new in range(1, count):
        members = new - start
        total, square = sums[new] - sums[start], squares[new] - squares[start]
        alone = square - total**2 / members + variance / members
        total, square = sums[new + 1] - sums[start], squares[new + 1] - squares[start]
        joined = square - total**2 / (members + 1) + variance / (members + 1)
        best = np.inf
        for last in range(last_equal[new], count):
            size = last - new + 1
            apart = (rising[new] - (sums[last + 1] - sums[new]) / size) ** 2
            best = min(best, apart + variance / size**2)
            if apart > best:  # the mean only rises, and what noise costs is not below zero
                break
        label[new] = label[new - 1]
        if joined >= alone + best:
            start = new
            label[new] += 1
    return label
