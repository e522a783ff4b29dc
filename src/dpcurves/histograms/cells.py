"""Each cell on its own: the Laplace mechanism, or the Gaussian one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ..queries import Read
from ..release import Setting
from .extent import Extent
from .region_counts import counted
from .table_estimator import Axes, Conversation


@dataclass(frozen=True, slots=True)
class CellEstimator:
    """A noisy count for each cell (Dwork, McSherry, Nissim and Smith 2006). One turn."""

    def counts(self, axes: Axes, setting: Setting, share: Fraction) -> Conversation:
        """Ask for all cells."""
        extent = Extent.of(axes)
        found = yield from counted(axes, extent, [np.arange(extent.cells)], Read.CELLS, share)
        return replace(found, joined=False)
