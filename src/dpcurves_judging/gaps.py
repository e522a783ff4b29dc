"""Differences of all pairs of independent groups at once: levels of their intervals, and ends of the largest gap."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import erf, sqrt

import numpy as np

from dpcurves.arrays import FloatArray
from dpcurves.inference.moments import Measured, difference

REACH, STEPS, HALVINGS = 8.0, 1601, 40
LARGEST = 12.0


def level_of_each(groups: int, level: float) -> float:
    """The level of an interval of each of so many independent numbers, so that all hold at once (Sidak 1967)."""
    return float(level ** (1 / max(groups, 1)))


def level_of_pairs(groups: int, level: float) -> float:
    """The level at which one difference is judged, so that those of all pairs of groups hold at once.

    The quantile of the range of so many independent normal numbers, over the root of 2 (Tukey 1953; of unlike
    variances it holds too much rather than too little, Hayter 1984).

    >>> [round(level_of_pairs(groups, 0.95), 4) for groups in (2, 5)]
    [0.95, 0.9936]
    """
    at = np.linspace(-REACH, REACH, STEPS)
    density, below = np.exp(-(at**2) / 2) / sqrt(2 * np.pi), np.array([(1 + erf(x / sqrt(2))) / 2 for x in at])
    low, high = 0.0, LARGEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        further = np.array([(1 + erf((x - middle) / sqrt(2))) / 2 for x in at])
        held = groups * float((density * (below - further) ** (groups - 1)).sum()) * (at[1] - at[0])
        low, high = (middle, high) if held < level else (low, middle)
    return erf(high / 2)  # of the range over the root of 2, both sides


def pairs_of(groups: Sequence[Measured]) -> list[tuple[int, int, Measured]]:
    """The difference of each pair of groups, with its ends from those of both: see `difference`."""
    return [(one, two, difference(groups[one], groups[two])) for one, two in combinations(range(len(groups)), 2)]


def largest_gap(values: FloatArray, pairs: Sequence[Measured]) -> Measured:
    """The largest difference of two of the numbers, with ends from intervals of all pairs that hold at once.

    >>> largest_gap(np.array([0.5, 0.2]), [Measured(0.3, 0.1, 0.4)])[:3]
    (0.3, 0.1, 0.4)
    """
    if not pairs:
        return Measured(float("nan"), 0.0, 1.0)
    value = float(values.max() - values.min())
    low = max(0.0, *(max(each.lower, -each.upper) for each in pairs))
    high = max(max(each.upper, -each.lower) for each in pairs)
    return Measured(value, min(low, value), max(high, value))
