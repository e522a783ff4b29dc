"""A bank of exponential smoothers, and which of them led by its unbiased risk: loops over public numbers."""

from __future__ import annotations

import numpy as np

from dpcurves.arrays import FloatArray
from dpcurves.compiled import compiled

HALVINGS = 19
RATES: FloatArray = np.append(2.0 ** (-np.arange(HALVINGS) / 2), 0.0)
"""Weights of the newest value: 1, the value itself, and less by steps of a square root of 2, to 1/512; and 0: zero."""
SLOWEST = float(RATES[-2])
MEMORY = 2000
"""Ticks over which risks are remembered: one of so many ticks ago counts 1/e of what one of now counts."""
KEPT = 1 - 1 / MEMORY


@compiled
def follow(values: FloatArray, variances: FloatArray, passed: int, state: FloatArray) -> FloatArray:
    """Smooth each column of `values`, (ticks, keys), and give the leader of each tick, not below 0: the same shape.

    A smoother with weight a has ``e <- e + a * (y - e)``, and a is 1 / t at least, so that its first values are means.
    Its squared error ``(e - c)**2`` has the unbiased estimate ``(e - y)**2 - variance + 2 * a * variance``, for y is c
    plus noise with that variance, of which e has the part a. Risks forget by `KEPT`.

    Zero has no noise. What a smoother's risk has less than that of zero is a sum of ``2 * e * y - e**2``, and so on, in
    which the noise of y is multiplied by ``2 * e``: its standard error is 2 deviations of the noise times the root of
    the sum of ``e**2``, of the ticks before. A smoother leads zero if its risk is less by more than that, and other
    smoothers if its risk with that is less.

    Args:
        values: Noisy counts.
        variances: Those of their noise, (keys,).
        passed: How many ticks were smoothed before.
        state: What smoothers are at, their risks, and their sums of squares, (keys, 3, rates): changed in place.
    """
    shown, scores, rates = np.empty(values.shape), np.empty(RATES.shape), RATES.copy()
    for key in range(values.shape[1]):
        variance, at, risks, squares = variances[key], state[key, 0], state[key, 1], state[key, 2]
        for tick in range(values.shape[0]):
            value, floor = values[tick, key], 1.0 / (passed + tick + 1)
            if tick == 0 or 2 * floor > SLOWEST:
                for each in range(RATES.shape[0]):
                    rates[each] = floor if 0.0 < RATES[each] < floor else RATES[each]
            for each in range(RATES.shape[0]):  # without a branch, so that several are worked out at once
                before = at[each]
                square = KEPT * KEPT * squares[each] + before * before
                after = before + rates[each] * (value - before)
                risk = KEPT * risks[each] + ((after - value) ** 2 + (2 * rates[each] - 1) * variance)
                at[each], risks[each], squares[each] = after, risk, square
                scores[each] = risk + np.sqrt(4 * variance * square)
            leader, least = 0, scores[0]
            for each in range(1, RATES.shape[0]):
                if scores[each] < least:
                    leader, least = each, scores[each]
            shown[tick, key] = max(at[leader], 0.0)
    return shown


@compiled
def follow_windows(
    values: FloatArray, variances: FloatArray, passed: int, state: FloatArray, ring: FloatArray
) -> FloatArray:
    """Do as `follow` for sums over sliding windows: of each smoother's values, the leader's is given.

    Smoothers begin at 0 with weights that stay, so a value of n ticks before has the weight ``1 - (1 - a)**(n + 1)`` in
    the sum of a window that it lies in: what the smoother makes of n + 1 ones. The error of the sum has the unbiased
    estimate ``(sum - raw)**2 - n * variance + 2 * variance * (the sum of these weights)``. Noise of a tick is in as
    many sums as a window has ticks, so standard errors are that many times those of single ticks.

    Args:
        values: Noisy counts, (ticks, keys).
        variances: Those of their noise, (keys,).
        passed: How many ticks were smoothed before.
        state: What smoothers are at, risks, sums of squares, their sums, what they make of ones, and the sum of that,
            (keys, 6, rates): changed in place.
        ring: What is to be taken off the sums again, (window, keys, rates): changed in place.
    """
    shown, window = np.empty(values.shape), ring.shape[0]
    for tick in range(values.shape[0]):
        place, length = (passed + tick) % window, min(passed + tick + 1, window)
        for key in range(values.shape[1]):
            variance, own = variances[key], state[key]
            leader, least = 0, np.inf
            for each in range(RATES.shape[0]):
                before = own[3, each]
                own[0, each] += RATES[each] * (values[tick, key] - own[0, each])
                if passed + tick < window:
                    own[4, each] += RATES[each] * (1 - own[4, each])
                    own[5, each] += own[4, each]
                own[2, each] = KEPT * KEPT * own[2, each] + before * before
                own[3, each] = before + (own[0, each] - ring[place, key, each])
                ring[place, key, each] = own[0, each]
                off = own[3, each] - own[3, 0]
                own[1, each] = KEPT * own[1, each] + (off * off + (2 * own[5, each] - length) * variance)
                score = own[1, each] + window * np.sqrt(4 * variance * own[2, each])
                if score < least:
                    leader, least = each, score
            shown[tick, key] = max(own[3, leader], 0.0)
    return shown
