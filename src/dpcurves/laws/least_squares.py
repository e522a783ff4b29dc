"""From raw released integers to the best unbiased counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray
from .blocks import agreed, in_parts
from .gls_weights import Layer, grow
from .nested import NestedSums


@dataclass(frozen=True, slots=True)
class Estimate:
    """Unbiased counts; some may be negative.

    Attributes:
        cells: An array (rows, cells). Within an interval of the finest level, all cells have the same count.
        missing: How many records are missing; 0 if it was not asked.
    """

    cells: FloatArray
    missing: float


class Reading(NamedTuple):
    """What was released about one level.

    Attributes:
        bounds: The ends of its intervals: one more than there are intervals.
        variance: The variance of each value.
        values: (..., rows, intervals).
    """

    bounds: IntArray
    variance: float
    values: FloatArray


class Ascent(NamedTuple):
    """What the values say, seen from below. Each has one entry per layer, from coarse to fine.

    Attributes:
        layers: The tree.
        values: (..., rows, intervals): the best estimate from this layer and all below it.
        sums: (..., rows, parents): the sum of `values` over the children of each parent.
    """

    layers: tuple[Layer, ...]
    values: tuple[FloatArray, ...]
    sums: tuple[FloatArray, ...]


def least_squares(
    law: NestedSums, values: Sequence[int] | NDArray[np.int64] | FloatArray, total: int | None
) -> Estimate:
    """The best linear unbiased counts, from all values together, each weighed by its noise.

    Exact in two passes over the tree. Upwards: inverse-variance means of an interval's own value and of the sum of
    its children. Downwards: what a parent's count has more than this sum is shared by its children in proportion to
    their variances (Hay, Rastogi, Miklau and Suciu 2010, section 4; here for any nested tilings and any noises).

    Args:
        law: How the values scatter.
        values: The released values, in the order of the law.
        total: How many records all rows and the missing cell have together, where that is public. If the missing
            cell was not asked, all rows: give None if records may be missing, or if the values are sums of something.

    Raises:
        ValueError: the values do not fit the law, or its levels are not nested.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, IntervalSums, Level, Noise
    >>> level = Level(range(3), Noise(Family.LAPLACE, Fraction(1)))
    >>> least_squares(IntervalSums(1, 3, (level,), missing=None), [5, 0, 1], total=9).cells
    array([[6., 1., 2.]])
    """
    cells, missing = least_squares_batch(law, np.asarray(values, dtype=np.float64), total)
    return Estimate(cells, float(missing))


def least_squares_batch(law: NestedSums, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
    """Least squares of many releases under one law: (..., size) to cells (..., rows, cells) and missing (...)."""
    readings, missing = read(law, values)
    ascent = ascend(readings)
    totals, missing = pinned(law, ascent, missing, total)
    counts = totals[..., None]
    for layer, estimate, sums in zip(*ascent, strict=True):
        counts = estimate + layer.share * layer.spread(counts - sums)
    return over_cells(counts, ascent.layers[-1].width), missing


def read(law: NestedSums, values: FloatArray) -> tuple[list[Reading], FloatArray]:
    """The readings of all levels, and the missing count (...), which is 0 if it was not asked.

    Raises:
        ValueError: the values do not fit the law.
    """
    parts, missing = in_parts(law, values)
    readings = [
        Reading(level.bounds(law.cells), level.noise.variance, part)
        for level, part in zip(law.levels, parts, strict=True)
    ]
    return readings, missing


def ascend(readings: Sequence[Reading]) -> Ascent:
    """The upward pass."""
    layers = grow([reading.bounds for reading in readings], [reading.variance for reading in readings])
    best, sums = [readings[-1].values], [layers[-1].sum(readings[-1].values)]
    for layer, reading in zip(layers[-2::-1], readings[-2::-1], strict=True):
        best.append(reading.values + (1 - layer.trust) * (sums[-1] - reading.values))  # exact where the two agree
        sums.append(layer.sum(best[-1]))
    return Ascent(layers, tuple(reversed(best)), tuple(reversed(sums)))


def pinned(law: NestedSums, ascent: Ascent, missing: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
    """The totals of the rows, (..., rows), and the missing count, which agree with the public total if there is one."""
    return agreed(law, ascent.sums[0][..., 0], float(ascent.layers[0].parent_variance[0]), missing, total)


def over_cells(counts: FloatArray, width: NDArray[np.int64]) -> FloatArray:
    """Counts of the finest intervals, evenly over their cells, of which each has `width`."""
    return np.repeat(counts / width, width, axis=-1)
