"""What the article prints, to the letter: kept here to show why it is corrected.

- `deviation` lacks a square root. Its noise is private, and more than four times as large as it has to be.
- `smooth_sensitivity` is right, but takes each quantile on its own, and quadratic time for it.

Both are for Gaussian noise in doubles, whose low bits betray the value (Mironov 2012). The quantiles of `methods.py`
have such noise, too, and are kept out of the package for it.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def deviation(epsilon: float, delta: float, sensitivity: float) -> float:
    """The standard deviation of noise that is used, as the 188 for epsilon 1, delta 1/10,000 and length 10 tells."""
    return sensitivity * 2 * log(1.25 / delta) / epsilon


def smooth_sensitivity(values: FloatArray, rank: int, beta: float, ends: tuple[float, float]) -> tuple[float, int]:
    """Find it at this rank (from 0), and how many differences were looked at: of all intervals that hold its record."""
    padded = np.concatenate([[ends[0]], np.sort(values), [ends[1]]])
    best, looks = 0.0, 0
    for distance in range(len(values) + 1):
        for left in range(max(0, rank + 1 - distance - 1), rank + 2):
            right = left + distance + 1
            if right < len(padded) and right >= rank + 1:
                best = max(best, exp(-beta * distance) * float(padded[right] - padded[left]))
                looks += 1
    return best, looks
