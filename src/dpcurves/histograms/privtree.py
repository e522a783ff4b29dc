"""A partition is grown where records are many, and its leaves are counted."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..arguments import Refused
from ..arrays import IntArray
from ..queries import Boxes, Read, Splitting, TreePartitionQuery
from ..release import Setting, Step
from .extent import Extent
from .region_counts import counted
from .table_estimator import Axes, Conversation, EstimatedTable

GROWING = Fraction(1, 5)


@dataclass(frozen=True, slots=True)
class PrivTreeEstimator:
    """Grow a partition, then count its leaves (Zhang, Xiao and Xie 2016). Two turns.

    Attributes:
        fan: Into how many parts a box is divided along each axis.
        least: A box is divided only if it seems to hold more records than this; with 0, the noise decides.
        growing: The part of the share that is spent on growing the partition; the rest is spent on counting its leaves.

    Raises:
        ValueError: `fan` is below 2, `least` below 0, or `growing` not between 0 and 1.
    """

    fan: int = 2
    least: int = 0
    growing: Fraction = GROWING

    def __post_init__(self) -> None:
        if self.fan < 2:
            raise Refused("fan", f"a box is divided into at least 2 parts along an axis, got {self.fan}")
        if self.least < 0:
            raise Refused("least", f"a number of records of at least 0 is needed, got {self.least}")
        if not 0 < self.growing < 1:
            raise Refused("growing", f"a part between 0 and 1 is needed, got {self.growing}")

    def counts(self, axes: Axes, setting: Setting, share: Fraction) -> Conversation:
        """Ask for a partition, then for the counts of its leaves."""
        extent = Extent.of(axes)
        query = TreePartitionQuery(axes, (self.fan,) * len(axes), self.least)
        grown = yield Step(query, share * self.growing)
        leaves = Splitting(query.shape, query.fans).leaves(grown.values)
        label = leaf_numbers(leaves, query.shape)[extent.inside]
        read = Read.PREFIXES if extent.cells == max(extent.shape) else Read.CELLS
        found = yield from counted(axes, extent, [label], read, share * (1 - self.growing))
        return EstimatedTable(found.cells, found.outside, found.missing, (grown, *found.releases))


def leaf_numbers(leaves: Boxes, shape: tuple[int, ...]) -> IntArray:
    """The number of the box that each cell of a flat table is in; numbers rise with the first cells of the boxes."""
    number = np.empty(shape, dtype=np.int64)
    order = np.lexsort(leaves.lower.T[::-1])
    for rank, (lower, upper) in enumerate(zip(leaves.lower[order].tolist(), leaves.upper[order].tolist(), strict=True)):
        number[tuple(slice(low, high) for low, high in zip(lower, upper, strict=True))] = rank
    return number.ravel()
