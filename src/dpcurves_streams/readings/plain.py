"""Noisy counts as they were released, and plain sums of them, cut off at zero."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcurves.arguments import Refused, whole
from dpcurves.arrays import FloatArray

from .reader import row


class Plain:
    """The released counts, those below zero as zero: a baseline, or for use where estimates may not lag behind.

    Args:
        keys: How many counts a tick has.
    """

    __slots__ = ("_keys",)

    def __init__(self, keys: int = 1) -> None:
        self._keys = keys

    def read(self, counts: Sequence[float]) -> FloatArray:
        """The counts, (keys,)."""
        counted: FloatArray = np.maximum(row(counts, self._keys)[0], 0.0)
        return counted


class PlainWindow:
    """The sums of the last counts, those below zero as zero.

    Args:
        width: How many ticks a window has.
        keys: How many counts a tick has.
    """

    __slots__ = ("_passed", "_ring")

    def __init__(self, width: int, keys: int = 1) -> None:
        if whole("width", width) < 1:
            raise Refused("width", f"at least 1 tick is needed, got {width}")
        self._ring = np.zeros((width, keys))
        self._passed = 0

    def read(self, counts: Sequence[float]) -> FloatArray:
        """The sums, (keys,)."""
        self._ring[self._passed % len(self._ring)] = row(counts, self._ring.shape[1])[0]
        self._passed += 1
        sums: FloatArray = np.maximum(self._ring.sum(axis=0), 0.0)
        return sums
