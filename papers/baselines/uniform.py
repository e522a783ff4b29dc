"""One count of all records, spread evenly over all cells."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpcurves.conversation import Setting
from dpcurves.histograms.table_estimator import Axes, Conversation, Extent, counted
from dpcurves.queries import Read


@dataclass(frozen=True, slots=True)
class UniformEstimator:
    """The least that can be asked: a baseline. One turn."""

    def counts(self, axes: Axes, setting: Setting, share: Fraction) -> Conversation:
        """Ask how many records there are."""
        extent = Extent.of(axes)
        return (yield from counted(axes, extent, [np.zeros(extent.cells, dtype=np.int64)], Read.CELLS, share))
