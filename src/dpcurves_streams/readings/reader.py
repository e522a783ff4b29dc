"""Base of the readers of counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dpcurves.arguments import Refused, whole
from dpcurves.arrays import FloatArray


class Reader(Protocol):
    """Estimates of one thing per key, from the released integers of one tick after the other.

    A reader is made from public facts and changes by released integers alone: fed with the same ones it gives the same
    estimates, so it can be made again after a crash from what is stored.
    """

    def read(self, counts: Sequence[float]) -> FloatArray:
        """The estimates, (keys,), after the counts of one more tick."""
        ...


def row(counts: Sequence[float], keys: int) -> FloatArray:
    """The counts of one tick, (1, keys). Raises `ValueError` if there are more or fewer."""
    if len(counts) != keys:
        raise Refused("counts", f"a tick of this stream has {keys}, got {len(counts)}")
    return np.array([counts], dtype=np.float64)


def require_variances(variance: float | FloatArray, keys: int) -> FloatArray:
    """Variances that are known, (keys,). Raises `ValueError` if one is negative or not finite, or there is none."""
    if whole("keys", keys) < 1:
        raise Refused("keys", f"at least 1 count a tick is needed, got {keys}")
    variances = np.full(keys, variance, dtype=np.float64)
    if not np.all(np.isfinite(variances) & (variances >= 0)):
        raise Refused("variance", "numbers of at least 0 are needed")
    return variances
