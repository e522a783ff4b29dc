"""Intervals of unbiased numbers for these records: the reach of their noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import log, sqrt
from statistics import NormalDist
from types import MappingProxyType

import numpy as np

from dpcurves.arguments import Refused, number
from dpcurves.arrays import FloatArray
from dpcurves.display import RECORDS
from dpcurves.laws import Family

LEVEL = 0.95
"""The level of intervals that are written and drawn where none is asked for."""
STATED: Mapping[str, float | str] = MappingProxyType({"level": LEVEL, "covers": RECORDS})
"""What is written beside them: they cover the noise, and nothing else."""
TINY = 1e-9
_ROUNDING = 0.5
"""By so much an interval is wider on each side, for integers have no other quantiles."""

Interval = tuple[FloatArray, FloatArray]
"""The lower and the upper ends, (keys,)."""


@dataclass(frozen=True, slots=True)
class Noisy:
    """Unbiased numbers, each with noise of a known law.

    Attributes:
        family: That of the draws that noise adds up.
        values: The numbers, (keys,).
        deviations: The standard deviations of their noise: one of all, or (keys,).
    """

    family: Family
    values: FloatArray
    deviations: FloatArray | float

    def interval(self, level: float, shown: FloatArray) -> Interval:
        """The interval of each number at this level, and of the estimate that is shown; not below 0.

        Counts are whole, so ends are, but where what is shown lies beyond them. Each interval holds for itself, at one
        tick. Sums of Laplace draws have tails between those of one draw and those of Gaussian noise: the farther
        quantile of both is taken, so a little more is covered than `level` says. One draw is discrete: its own quantile
        is taken where that is farther still.

        Raises:
            ValueError: the level is not between 0 and 1.
        """
        deviations = np.asarray(self.deviations)
        reach = _quantile(self.family, number("level", level)) * deviations + _ROUNDING
        if self.family is Family.LAPLACE:
            reach = np.maximum(reach, _of_one_draw(deviations, level))
        low, high = np.ceil(np.maximum(self.values - reach, 0.0)), np.floor(np.maximum(self.values + reach, 0.0))
        return np.minimum(low, shown), np.maximum(high, shown)


@lru_cache(maxsize=64)
def _quantile(family: Family, level: float) -> float:
    """In standard deviations."""
    if not 0 < level < 1:
        raise Refused("level", f"a number between 0 and 1 is needed, got {level}")
    gaussian = NormalDist().inv_cdf((1 + level) / 2)
    return max(gaussian, -log(1 - level) / sqrt(2)) if family is Family.LAPLACE else gaussian


def _of_one_draw(deviations: FloatArray, level: float) -> FloatArray:
    """The integer that one discrete Laplace draw stays within with at least this chance.

    With ratio r from one chance to the next the variance is ``2 r / (1 - r)**2``, and more than m away lies
    ``2 r**(m + 1) / (1 + r)``.
    """
    variance = np.maximum(np.square(deviations, dtype=np.float64), TINY)
    ratio = (variance + 1 - np.sqrt(2 * variance + 1)) / variance
    within = np.log((1 - level) * (1 + ratio) / 2) / np.log(np.maximum(ratio, TINY)) - 1
    return np.asarray(np.maximum(np.ceil(within - TINY), 0.0))


class NoisySums:
    """Sums of the last numbers, which are independent: what is known of sliding windows.

    Args:
        family: That of the draws that noise adds up.
        deviations: The standard deviations of the noise of one number: one of all, or (keys,).
        width: How many ticks a window has.
        keys: How many numbers a tick has.
    """

    __slots__ = ("_deviations", "_family", "_passed", "_ring", "_sums")

    def __init__(self, family: Family, deviations: FloatArray | float, width: int, keys: int) -> None:
        self._family, self._deviations = family, deviations
        self._ring, self._sums, self._passed = np.zeros((width, keys)), np.zeros(keys), 0

    def after(self, values: FloatArray) -> Noisy:
        """The sums, with the numbers of one more tick."""
        place = self._passed % len(self._ring)
        self._sums = self._sums + values - self._ring[place]
        self._ring[place] = values
        self._passed += 1
        ticks = min(self._passed, len(self._ring))
        return Noisy(self._family, self._sums, np.asarray(self._deviations) * sqrt(ticks))
