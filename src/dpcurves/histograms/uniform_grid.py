"""Equal blocks, as many as the number of records makes worth counting."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from ..queries import Read
from ..release import Setting
from .extent import Extent, equal_blocks
from .region_counts import counted, records_inside
from .table_estimator import Axes, Conversation, EstimatedTable, epsilon_per_record


@dataclass(frozen=True, slots=True)
class UniformGridEstimator:
    """About ``records * epsilon / 10`` equal blocks (Qardaji, Yang and Li 2013). One turn, or two.

    Where the number of records is private a twentieth of the share counts them first; the paper takes it as known.
    """

    def counts(self, axes: Axes, setting: Setting, share: Fraction) -> Conversation:
        """Ask how many records there are, if need be, then for blocks."""
        extent = Extent.of(axes)
        records, left, paid = yield from records_inside(axes, extent, setting, share)
        parts = grid_parts(records, epsilon_per_record(setting, left), len(extent.shape))
        found = yield from counted(axes, extent, [equal_blocks(extent.shape, parts)], Read.CELLS, left)
        return EstimatedTable(found.cells, found.outside, found.missing, (*paid, *found.releases))


def grid_parts(records: float, epsilon: float, axes: int) -> int:
    """Into how many parts to divide each axis: more cells have more noise, fewer are less even inside.

    >>> grid_parts(4000, 1, axes=2), grid_parts(-3, 1, axes=2)
    (20, 1)
    """
    blocks: float = max(records, 0.0) * epsilon / 10
    return max(1, math.ceil(math.pow(blocks, 1 / axes) - 1e-9))
