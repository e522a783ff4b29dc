"""Cells with like noisy counts are put together, wherever they lie, and counted again."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log

import numpy as np

from ..arguments import Refused
from ..queries import Read
from ..release import Setting
from .clustering import clusters
from .extent import Extent
from .region_counts import counted
from .table_estimator import Axes, Conversation, EstimatedTable, epsilon_per_record

THRESHOLD = 0.35


@dataclass(frozen=True, slots=True)
class AhpEstimator:
    """Cluster, then count (Zhang, Chen, Xu, Meng and Xie 2014). Two turns.

    Noisy counts of all cells that are below ``0.35 * log(cells) / epsilon`` are set to 0; then the cells are sorted by
    count, and neighbours in that order are merged as long as that lowers the expected squared error. Clusters are not
    intervals, so sums over intervals are biased, which makes this a poor choice for distribution functions.

    Attributes:
        scan: The part of the budget that is spent on finding clusters.

    Raises:
        ValueError: `scan` is not between 0 and 1.
    """

    scan: Fraction = Fraction(17, 20)

    def __post_init__(self) -> None:
        if not 0 < self.scan < 1:
            raise Refused("scan", f"a part between 0 and 1 is needed, got {self.scan}")

    def counts(self, axes: Axes, setting: Setting, share: Fraction) -> Conversation:
        """Ask for all cells, then for clusters of them."""
        extent = Extent.of(axes)
        seen = yield from counted(axes, extent, [np.arange(extent.cells)], Read.CELLS, share * self.scan)
        epsilon = epsilon_per_record(setting, share * self.scan)
        noisy = seen.cells.ravel()
        kept = np.where(noisy <= THRESHOLD * log(extent.cells) / epsilon, 0.0, noisy)
        order = np.argsort(kept, kind="stable")
        rest = share * (1 - self.scan)
        label = np.empty(extent.cells, dtype=np.int64)
        label[order] = clusters(kept[order], 2 / epsilon_per_record(setting, rest) ** 2)
        found = yield from counted(axes, extent, [label], Read.CELLS, rest, turn=1)
        return EstimatedTable(found.cells, found.outside, found.missing, (*seen.releases, *found.releases))
