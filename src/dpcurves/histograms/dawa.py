"""Intervals of cells with like counts are found, and counted as one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..arguments import Refused
from ..queries import IntervalPartitionQuery, Read
from ..release import Setting, Step
from .extent import Extent, neighbourly
from .region_counts import counted
from .table_estimator import Axes, Conversation, EstimatedTable

GROUP = 32
MOST_IN_ONE_LEVEL = 200
"""In a plane so few intervals, or less, are counted one by one; more of them also in groups."""


@dataclass(frozen=True, slots=True)
class DawaEstimator:
    """Find and count intervals of similar counts (Li, Hay, Miklau and Wang 2014): see `docs/errata.md`. Two turns.

    First a partition of the cells is chosen, in an order that keeps neighbours together: with two axes along a Hilbert
    curve, else row by row. Then its intervals are counted: along one axis with a tree over them, so that prefixes are
    read well, in a plane also in groups, where there are many. Inside an interval counts are spread evenly.

    Attributes:
        choice: The part of the budget that is spent on choosing the partition. None: a quarter, with two axes two
            fifths.

    Raises:
        ValueError: `choice` is not between 0 and 1.
    """

    choice: Fraction | None = None

    def __post_init__(self) -> None:
        if self.choice is not None and not 0 < self.choice < 1:
            raise Refused("choice", f"a part between 0 and 1 is needed, got {self.choice}")

    def counts(self, axes: Axes, setting: Setting, share: Fraction) -> Conversation:
        """Ask for a partition, then for its counts."""
        extent = Extent.of(axes)
        order = neighbourly(extent.shape)
        query = IntervalPartitionQuery(axes, tuple(extent.inside[order].tolist()))
        in_line = extent.cells == max(extent.shape)
        choice = self.choice if self.choice is not None else Fraction(1, 4) if in_line else Fraction(2, 5)
        chosen = yield Step(query, share * choice)
        label = np.empty(extent.cells, dtype=np.int64)
        label[order] = np.cumsum(np.asarray(chosen.values) == 1)
        labels = [label] if in_line or int(label.max()) < MOST_IN_ONE_LEVEL else [label // GROUP, label]
        read = Read.PREFIXES if in_line else Read.CELLS
        found = yield from counted(axes, extent, labels, read, share * (1 - choice))
        return EstimatedTable(found.cells, found.outside, found.missing, (chosen, *found.releases))
