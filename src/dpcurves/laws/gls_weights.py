"""What a noise law fixes about its least squares, before any value is seen: who is whose child, and every weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arguments import Refused
from ..arrays import FloatArray, IntArray
from .noise import LEAST_VARIANCE


@dataclass(frozen=True, slots=True)
class Layer:
    """One level of nested tilings, seen from the level above it. The parent of the first level is the whole row.

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
        """What part of its parent's residual a child takes: that of its variance."""
        return self.variance / self.spread(self.parent_variance)

    @property
    def split(self) -> FloatArray:
        """What part of its parent's cells a child has."""
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
