"""Intervals of the largest, and of the sum, of absolute values that are each known with errors."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray
from .bands import upper_quantile, upper_quantiles

DEVIATIONS = 4.0
"""So many standard deviations from 0 the sign of a number is known, but for a chance of 1 in 15,000."""


SPENT = 0.1
"""The part of the error chance by which numbers that are too small to be the largest are told."""
LEAST_DRAWS = 2
"""So many draws have to lie beyond a quantile, or it is not told."""
ROUNDING = 1e-9  # a standard deviation below this part of the largest one is the rounding of an exact number


def largest_interval(found: FloatArray, errors: FloatArray, level: float) -> tuple[float, float]:
    """Two ends that have the largest absolute value of several numbers between them, with chance `level` at least.

    Where the largest one lies, it seems to be smaller only by its own error; the one that seems to be the largest is so
    by the largest error, at most, of all that could seem so. So noise alone, which always makes a largest value, is
    taken back. A part of the error chance, `SPENT`, is spent on a band for all numbers at once: those that it leaves no
    chance to be the largest, or to seem so, do not count, and where it tells the sign of a number only errors to that
    side do (Andrews and Soares 2010). At levels that need more draws all of them count.

    Args:
        found: The numbers, (numbers,), with errors.
        errors: Simulated, (draws, numbers).
        level: The chance.

    >>> from dpcurves.postprocess import public_generator
    >>> chance = public_generator(None)
    >>> low, high = largest_interval(np.array([9.0, 0.1, -0.2]), chance.normal(size=(999, 3)), 0.95)
    >>> bool(6.0 < low < 7.2), bool(10.8 < high < 11.5)
    (True, True)
    """
    size, largest, spent = np.abs(found), float(np.abs(found).max()), SPENT * (1 - level)
    spread = errors.std(axis=0)
    if spent * (len(errors) + 1) < LEAST_DRAWS:
        spent, half = 0.0, np.full(len(found), np.inf)
    else:
        noisy = spread > ROUNDING * spread.max()
        most = np.max(np.abs(errors[:, noisy]) / spread[noisy], axis=1, initial=0.0)
        half = upper_quantile(most, 1 - spent) * spread
    each = (1 + level + spent) / 2
    signed = errors * np.where(found < 0, -1.0, 1.0)
    known = size > half
    may_be, may_seem = (size + times * half >= np.max(size - times * half) for times in (1, 2))
    less = np.where(known[may_be], -signed[:, may_be], np.abs(errors[:, may_be]))
    more = np.where(known[may_seem], signed[:, may_seem], np.abs(errors[:, may_seem]))
    over = upper_quantile(more.max(axis=1), each)
    return max(largest - max(over, 0.0), 0.0), largest + max(float(upper_quantiles(less, each).max()), 0.0)


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
