"""Intervals of the largest, and of the sum, of absolute values that are each known with errors."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray
from .bands import upper_quantile, upper_quantiles

DEVIATIONS = 4.0
"""So many standard deviations from 0 the sign of a number is known, but for a chance of 1 in 15,000."""


def largest_interval(found: FloatArray, errors: FloatArray, level: float) -> tuple[float, float]:
    """Two ends that have the largest absolute value of several numbers between them, with chance `level` at least.

    Where the largest one lies, it seems to be smaller only by its own error; the one that seems to be the largest is
    so by the largest of all errors at most. So noise alone, which always makes a largest value, is taken back.

    Args:
        found: The numbers, (numbers,), with errors.
        errors: Simulated, (draws, numbers).
        level: The chance.

    >>> from dpcurves.postprocess import public_generator
    >>> chance = public_generator(None)
    >>> low, high = largest_interval(np.array([5.0, 0.1, -0.2]), chance.normal(size=(999, 3)), 0.95)
    >>> bool(2 < low < 3), bool(6.5 < high < 7.5)
    (True, True)
    """
    each, largest = (1 + level) / 2, float(np.abs(found).max())
    own = max(upper_quantiles(errors, each).max(), upper_quantiles(-errors, each).max())
    return max(largest - upper_quantile(np.abs(errors).max(axis=1), each), 0.0), largest + float(own)


def absolute_sum_interval(found: FloatArray, errors: FloatArray, level: float) -> tuple[float, float]:
    """Two ends that have the sum of the absolute values of several numbers between them, with chance `level` at least.

    The sum is the largest of all sums with signs. With the true signs it is too small only by one such sum of errors,
    whose spread is at most that of errors which all add up. It is too large by the errors of numbers whose signs are
    known, plus the absolute errors of all others: so what noise alone adds is taken back.

    Args:
        found: The numbers, (numbers,), with errors.
        errors: Simulated, (draws, numbers).
        level: The chance.
    """
    each, sum_found = (1 + level) / 2, float(np.abs(found).sum())
    signed = errors * np.where(found < 0, -1.0, 1.0)
    known = np.abs(found) > DEVIATIONS * errors.std(axis=0)
    over = upper_quantile(np.where(known, signed, np.abs(errors)).sum(axis=1), each)
    together = signed.sum(axis=1)
    worst = np.sqrt(np.abs(np.cov(errors, rowvar=False)).sum())
    under = upper_quantile(-together, each) * worst / max(float(together.std()), 1e-300)
    return max(sum_found - over, 0.0), sum_found + max(float(under), 0.0)
