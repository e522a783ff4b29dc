"""From raw released integers to the best unbiased counts: two passes over a tree whose weights the law alone fixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import Refused
from ..arrays import FloatArray, IntArray
from .law import NoisySums
from .nested import NestedSums
from .noise import LEAST_VARIANCE


@dataclass(frozen=True, slots=True)
class Estimate:
    """Unbiased counts; some may be negative.

    Attributes:
        cells: An array (rows, cells). Within an interval of the finest level, all cells have the same count.
        missing: How many records are missing; 0 if it was not asked.
    """

    cells: FloatArray
    missing: float


class TreeReading(NamedTuple):
    """The released values of one level.

    Attributes:
        bounds: The ends of its intervals: one more than there are intervals.
        variance: The variance of each value.
        values: (..., rows, intervals).
    """

    bounds: IntArray
    variance: float
    values: FloatArray


class Ascent(NamedTuple):
    """Least-squares values seen from below. Each has one entry per layer, from coarse to fine.

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
        law: The law of the values.
        values: The released values, in the order of the law.
        total: How many records all rows and the missing cell have together, where that is public. If the missing
            cell was not asked, all rows: give None if records may be missing, or if the values are sums of something.

    Raises:
        ValueError: the values do not fit the law, or its levels are not nested.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, IntervalSums, Tier, Noise
    >>> level = Tier(range(3), Noise(Family.LAPLACE, Fraction(1)))
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


def read(law: NestedSums, values: FloatArray) -> tuple[list[TreeReading], FloatArray]:
    """The readings of all levels, and the missing count (...), which is 0 if it was not asked.

    Raises:
        ValueError: the values do not fit the law.
    """
    parts, missing = in_parts(law, values)
    readings = [
        TreeReading(level.bounds(law.cells), level.noise.variance, part)
        for level, part in zip(law.levels, parts, strict=True)
    ]
    return readings, missing


def ascend(readings: Sequence[TreeReading]) -> Ascent:
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


@dataclass(frozen=True, slots=True)
class Layer:
    """A level of nested tilings, seen from the level above it. The parent of the first level is the whole row.

    Attributes:
        width: Cells of each interval.
        first: Number of the first child of each parent.
        children: How many children each parent has.
        trust: Weight of an interval's own value against the sum of its children, by inverse variance.
        variance: The variance of the two together.
        parent_variance: Sum of `variance` over the children of each parent.
    """

    width: NDArray[np.int64]
    first: NDArray[np.int64]
    children: NDArray[np.int64]
    trust: FloatArray
    variance: FloatArray
    parent_variance: FloatArray

    @property
    def share(self) -> FloatArray:
        """The part of its parent's residual that a child takes: that of its variance."""
        return self.variance / self.spread(self.parent_variance)

    @property
    def split(self) -> FloatArray:
        """The part of its parent's cells that a child has."""
        return self.width / self.spread(self.sum(self.width.astype(np.float64)))

    def sum(self, values: FloatArray) -> FloatArray:
        """Over the children of each parent: (..., intervals) to (..., parents)."""
        return np.add.reduceat(values, self.first, axis=-1)

    def spread(self, values: FloatArray) -> FloatArray:
        """Each parent's value to all of its children: (..., parents) to (..., intervals)."""
        return np.repeat(values, self.children, axis=-1)


def grow(bounds: Sequence[IntArray], variances: Sequence[float]) -> tuple[Layer, ...]:
    """The layers of nested tilings, from coarse to fine, whose intervals were measured with these variances.

    Args:
        bounds: The ends of the intervals of each level; the first of them is 0, the last one the number of cells.
        variances: One per level; infinite where nothing was measured. The finest level was.

    Raises:
        ValueError: there is no level, or an interval is not a union of intervals of the next level.
    """
    if not bounds:
        raise Refused("law", "at least one level is needed to estimate cells")
    layers: list[Layer] = []
    parents = [bounds[0][[0, -1]], *bounds[:-1]]
    for own, parent, variance in reversed(list(zip(bounds, parents, variances, strict=True))):
        below = layers[-1].parent_variance if layers else np.full(len(own) - 1, np.inf)
        layers.append(_layer(own, parent, max(variance, LEAST_VARIANCE), below))
    return tuple(reversed(layers))


def _layer(bounds: IntArray, parent: IntArray, own: float, below: FloatArray) -> Layer:
    first = np.searchsorted(bounds, parent)
    if not np.array_equal(bounds.take(first, mode="clip"), parent) or np.any(np.diff(bounds) < 1):
        raise Refused("law", "every interval must be a union of intervals of the next level")
    variance = 1 / (1 / own + 1 / below)
    return Layer(
        width=np.diff(bounds), first=first[:-1], children=np.diff(first), trust=1 / (1 + own / below),
        variance=variance, parent_variance=np.add.reduceat(variance, first[:-1]),
    )  # fmt: skip


def in_parts(law: NoisySums, values: FloatArray) -> tuple[list[FloatArray], FloatArray]:
    """Values (..., size) as tables (..., rows, length), one for each part of the law, and missing counts (...).

    A missing count that was not asked for is 0.

    Raises:
        ValueError: the values do not fit the law.
    """
    if values.shape[-1:] != (law.size,):
        raise Refused("values", f"{law.size} are needed to fit the law, got an array of shape {values.shape}")
    ends = np.cumsum([law.rows * part.length for part in law.parts], dtype=np.int64)
    *parts, rest = np.split(values, ends, axis=-1)
    return [part.reshape(*part.shape[:-1], law.rows, -1) for part in parts], rest.sum(axis=-1)  # one value or none


def agreed(
    law: NoisySums, totals: FloatArray, row: float, missing: FloatArray, total: int | None
) -> tuple[FloatArray, FloatArray]:
    """Totals of the rows (..., rows), of variance `row`, and missing counts (...), that agree with a public total.

    What the public total has more than all of them is shared in proportion to their variances.
    """
    if total is None:
        return totals, missing
    apart = 0.0 if law.missing is None else max(law.missing.variance, LEAST_VARIANCE)
    residual = (total - totals.sum(axis=-1) - missing) / (law.rows * row + apart)
    return totals + row * residual[..., None], missing + apart * residual
