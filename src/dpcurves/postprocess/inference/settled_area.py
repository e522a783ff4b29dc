"""The area under a ROC curve that was made from noisy counts: the area of the curve, or of the counts themselves."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray
from ..summaries.roc import auc, auc_of_counts
from .area_interval import CountedAreas, moves

LARGE = 0.03
"""The standard deviation by noise, of an area, at which both areas have the same weight."""
FEW_DRAWS = 100
"""Draws of noise, which tell that within a tenth or so."""


def settled_area(curve: tuple[FloatArray, FloatArray], cells: FloatArray, counted: CountedAreas) -> float:
    """The area of the curve where noise is large, of the counts that it was made from where noise is small.

    A curve rises, and lies between 0 and 1: counts that are made to fit seem to have records of both classes where
    there are none, most of all at the ends, and its area is too small for that by a fifth or more of what noise moves
    it by. Where noise is large that keeps off more than it adds; where it is small it is what is left of the error, for
    it adds up with what ties hide. The area of the counts has no such bias. It has the weight ``1 / (1 + (s / LARGE)
    ** 2)``, where s is the standard deviation of an area by noise.

    Args:
        curve: False and true positive rates, each (cells + 1,), as from `roc_points`.
        cells: The counts that it was made from, (2, cells): negatives and positives, some perhaps below zero.
        counted: The unbiased counts and their noise, simulated; `FEW_DRAWS` are enough.
    """
    drawn = min(max(float(auc(*curve)), 0.0), 1.0)  # of rounded sums
    weight = 1 / (1 + (area_error(counted, drawn) / LARGE) ** 2)
    return drawn + weight * (min(max(float(auc_of_counts(cells[1], cells[0])), 0.0), 1.0) - drawn)


def area_error(counted: CountedAreas, area: float) -> float:
    """The standard deviation by noise of the area of unbiased counts, about where it is `area`."""
    believed = counted.believed
    moved = moves(believed, counted.noise)
    won = (moved.won + moved.every - moved.lost) / 2
    return float(np.std(won - area * moved.every) / np.prod(believed.sum(axis=1)))
