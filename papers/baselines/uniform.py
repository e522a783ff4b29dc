"""One count of all records, spread evenly over all cells."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpcurves.conversation import Setting
from dpcurves.histograms.table_estimator import Axes, Conversation, Extent, count_regions
from dpcurves.queries import CountUse


@dataclass(frozen=True, slots=True)
class UniformEstimator:
    """The least that can be asked: a baseline. One turn."""

    def estimate_table(self, axes: Axes, setting: Setting, share: Fraction) -> Conversation:
        """Ask how many records there are."""
        extent = Extent.from_axes(axes)
        return (yield from count_regions(axes, extent, [np.zeros(extent.cells, dtype=np.int64)], CountUse.CELLS, share))
