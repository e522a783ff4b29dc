"""Shapes of small consecutive trees that estimate sums over sliding windows with the least error."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpcurves.arrays import FloatArray, IntArray
from dpcurves.laws import Family, Noise
from dpcurves.mechanisms.sums.tree_strategy import Shape

from ..laws.prefix_trees import PrefixTree

STEPS = 20
"""Shares are multiples of ``1 / STEPS``."""


@lru_cache(maxsize=256)  # a pure function of public facts
def best_window_shape(windows: tuple[int, ...], family: Family) -> Shape:
    """Noise on ticks alone, or on ticks and on blocks of them: whichever has the least error over all windows.

    Compared are, for each window, the mean variance over the places of its end in a block, relative to that of noise
    on ticks alone, which has the variance of one tick for each; and the sum of these. Blocks have a power of two ticks,
    up to the longest window.

    >>> best_window_shape((1,), Family.LAPLACE).widths, best_window_shape((256,), Family.LAPLACE).widths
    ((1,), (32, 1))
    """
    shapes = [Shape((1,), (Fraction(1),))]
    for power in range(1, max(windows).bit_length()):
        shapes += [
            Shape((2**power, 1), (Fraction(part, STEPS), Fraction(STEPS - part, STEPS))) for part in range(1, STEPS)
        ]
    return min(shapes, key=lambda shape: (_error(shape, windows, family), len(shape.widths), shape))


def _error(shape: Shape, windows: tuple[int, ...], family: Family) -> float:
    whole = Fraction(10**6)
    tree = PrefixTree(shape.widths, tuple(Noise(family, whole / share) for share in shape.shares))
    alone = Noise(family, whole).variance
    return float(f"{sum(mean_window_variance(tree, window) / (window * alone) for window in windows):.9g}")


def mean_window_variance(tree: PrefixTree, window: int) -> float:
    """The mean variance of the sum over a window, over the places of its end, of blocks one behind the other.

    For at most two levels: a window has the ends of two blocks, or lies in one, and whole ones between.
    """
    width = tree.widths[0]
    ends = np.arange(1, width + 1)
    outside = ends - window  # how far it reaches before the block of its end
    first = np.maximum(outside, 0)
    total = _inside(tree, ends - first)
    whole, part = np.divmod(np.maximum(-outside, 0), width)
    return float(np.mean(total + whole * tree.estimated[0] + _inside(tree, part)))


def _inside(tree: PrefixTree, ticks: IntArray) -> FloatArray:
    """Variance of the sum of so many ticks of a block, whichever they are."""
    share = ticks / tree.widths[0]
    contrasts = 0.0 if len(tree.widths) == 1 else tree.estimated[1] * ticks * (1 - share)
    variances: FloatArray = tree.estimated[0] * share**2 + contrasts
    return variances
