"""A bank of exponential smoothers, and which of them led by its unbiased risk: loops over public numbers."""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray
from ..compiled import compiled

HALVINGS = 19
RATES: FloatArray = np.append(2.0 ** (-np.arange(HALVINGS) / 2), 0.0)
"""Weights of the newest value: 1, the value itself, and less by steps of a square root of 2, to 1/512; and 0: zero."""
MEMORY = 2000
"""Ticks over which risks are remembered: one of so many ticks ago counts 1/e of what one of now counts."""
KEPT = 1 - 1 / MEMORY


@compiled
def follow(values: FloatArray, variance: float, passed: int, state: FloatArray) -> FloatArray:
    """Smooth each column of `values`, (ticks, keys), and give the leader of each tick, not below 0: the same shape.

    A smoother with weight a has ``e <- e + a * (y - e)``, and a is 1 / t at least, so that its first values are means.
    Its squared error ``(e - c)**2`` has the unbiased estimate ``(e - y)**2 - variance + 2 * a * variance``, for y is c
    plus noise with that variance, of which e has the part a. Risks forget by `KEPT`. The first of the least leads.

    Args:
        values: Noisy counts.
        variance: That of their noise.
        passed: How many ticks were smoothed before.
        state: What smoothers are at, and their risks, (keys, 2, rates): changed in place.
    """
    shown = np.empty(values.shape)
    for tick in range(values.shape[0]):
        floor = 1.0 / (passed + tick + 1)
        for key in range(values.shape[1]):
            value, smooth, risks = values[tick, key], state[key, 0], state[key, 1]
            for each in range(RATES.shape[0]):
                rate = RATES[each]
                if 0.0 < rate < floor:
                    rate = floor
                smoothed = smooth[each] + rate * (value - smooth[each])
                smooth[each] = smoothed
                risks[each] = KEPT * risks[each] + ((smoothed - value) ** 2 + (2 * rate - 1) * variance)
            leader, least = 0, risks[0]
            for each in range(1, RATES.shape[0]):
                if risks[each] < least:
                    leader, least = each, risks[each]
            shown[tick, key] = max(smooth[leader], 0.0)
    return shown


@compiled
def follow_windows(values: FloatArray, variance: float, passed: int, state: FloatArray, ring: FloatArray) -> FloatArray:
    """Do as `follow` for sums over sliding windows: of each smoother's values, the leader's is given.

    Smoothers begin at 0 with weights that stay, so a value of n ticks before has the weight ``1 - (1 - a)**(n + 1)`` in
    the sum of a window that it lies in: the error of the sum has the unbiased estimate ``(sum - raw)**2 - n * variance
    + 2 * variance * (the sum of these weights)``.

    Args:
        values: Noisy counts, (ticks, keys).
        variance: That of their noise.
        passed: How many ticks were smoothed before.
        state: What smoothers are at, their risks, and their sums, (keys, 3, rates): changed in place.
        ring: What is to be taken off the sums again, (window, keys, rates): changed in place.
    """
    shown, window = np.empty(values.shape), ring.shape[0]
    for tick in range(values.shape[0]):
        place, length = (passed + tick) % window, min(passed + tick + 1, window)
        for key in range(values.shape[1]):
            smooth, risks, sums = state[key, 0], state[key, 1], state[key, 2]
            leader, least = 0, np.inf
            for each in range(RATES.shape[0]):
                rate, left = RATES[each], 1 - RATES[each]
                smooth[each] += rate * (values[tick, key] - smooth[each])
                sums[each] += smooth[each] - ring[place, key, each]
                ring[place, key, each] = smooth[each]
                weight = length - left * (1 - left**length) / rate if rate > 0 else 0.0
                risks[each] = KEPT * risks[each] + ((sums[each] - sums[0]) ** 2 + (2 * weight - length) * variance)
                if risks[each] < least:
                    leader, least = each, risks[each]
            shown[tick, key] = max(sums[leader], 0.0)
    return shown
