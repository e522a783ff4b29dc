"""One count of all records, spread evenly over all cells."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..queries import Read
from ..release import Setting
from .extent import Extent
from .region_counts import counted
from .table_estimator import Axes, Conversation


@dataclass(frozen=True, slots=True)
class UniformEstimator:
    """The least that can be asked: a baseline. One turn."""

    def counts(self, axes: Axes, setting: Setting, share: Fraction) -> Conversation:
        """Ask how many records there are."""
        extent = Extent.of(axes)
        return (yield from counted(axes, extent, [np.zeros(extent.cells, dtype=np.int64)], Read.CELLS, share))
