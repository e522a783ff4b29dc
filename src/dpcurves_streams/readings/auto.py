"""The default reading of noisy counts: the smoother that has done best so far, zero among them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcurves.arguments import Refused, whole
from dpcurves.arrays import FloatArray

from .bank import RATES, follow, follow_windows
from .reader import require_variances, row


class Auto:
    """Estimate the counts of a stream from counts with independent noise of known variance: post-processing, free.

    The candidates are the noisy count itself, exponential smoothers of many widths, and zero. The squared error of each
    has an unbiased estimate, as the variance of the noise is known (Stein's, for linear estimates). At each tick the
    candidate with the least sum of these estimates so far is shown, but zero unless another one is better by a standard
    error; counts below zero are shown as zero. The sums are discounted, over `bank.MEMORY` ticks. On streams that are
    sparse or change slowly the error is a small part of that of the noise; on streams whose counts stand out from the
    noise it is that of the noise, for the noisy count is one of the candidates.

    Args:
        variance: The variance of the noise of one count; several, if it differs between counts.
        keys: How many counts a tick has, each followed on its own.

    Raises:
        ValueError: the variance is negative or not finite, or there is no count.

    >>> reading = Auto(variance=200.0)
    >>> [round(reading.step(count), 1) for count in (14, -9, 3, 20, -16)]
    [0.0, 0.0, 0.0, 0.0, 0.0]
    """

    __slots__ = ("_state", "_variances", "passed")

    def __init__(self, variance: float | FloatArray, keys: int = 1) -> None:
        self._variances = require_variances(variance, keys)
        self._state = np.zeros((keys, 3, len(RATES)))
        self.passed = 0

    def step(self, count: int) -> float:
        """The estimate of the newest count, where each tick has one."""
        return float(self.read((count,))[0])

    def read(self, counts: Sequence[float]) -> FloatArray:
        """Estimates of the newest counts, (keys,)."""
        (shown,) = self.read_all(row(counts, len(self._state)))
        return np.asarray(shown)

    def read_with(self, counts: FloatArray, variances: FloatArray) -> FloatArray:
        """Do as `read`, with these variances of the noise from this tick on."""
        self._variances = require_variances(variances, len(self._state))
        (shown,) = self.read_all(counts[None])
        return np.asarray(shown)

    def read_all(self, counts: FloatArray) -> FloatArray:
        """Estimates for several ticks at once, (ticks, keys): those that `read` gives one after the other."""
        shown = follow(counts, self._variances, self.passed, self._state)
        self.passed += len(counts)
        return shown


class AutoWindow:
    """Estimate sums over the last ticks from the same noisy counts, by the smoother that is best for sums.

    The method is that of `Auto`: the candidates are the raw sum, sums of smoothed counts and zero, each with an
    unbiased estimate of its error as a sum. Until `width` ticks have passed, the window has all ticks so far.

    Args:
        variance: The variance of the noise of one count; several, if it differs between counts.
        width: How many ticks a window has.
        keys: How many counts a tick has.

    Raises:
        ValueError: the variance is negative or not finite, or there is no count, or no tick in a window.
    """

    __slots__ = ("_ring", "_state", "_variances", "passed")

    def __init__(self, variance: float | FloatArray, width: int, keys: int = 1) -> None:
        self._variances = require_variances(variance, keys)
        if whole("width", width) < 1:
            raise Refused("width", f"at least 1 tick is needed, got {width}")
        self._state = np.zeros((keys, 6, len(RATES)))
        self._ring = np.zeros((width, keys, len(RATES)))
        self.passed = 0

    def read(self, counts: Sequence[float]) -> FloatArray:
        """Estimates of the sums of the newest windows, (keys,)."""
        (shown,) = self.read_all(row(counts, len(self._state)))
        return np.asarray(shown)

    def read_all(self, counts: FloatArray) -> FloatArray:
        """Estimates for several ticks at once, (ticks, keys)."""
        shown = follow_windows(counts, self._variances, self.passed, self._state, self._ring)
        self.passed += len(counts)
        return shown
