"""Wavelets along every axis."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..laws import HaarTensorSums, wavelet_estimate
from ..queries import WaveletQuery
from ..release import Setting, Step
from .extent import Extent
from .table_estimator import Axes, Conversation, EstimatedTable


@dataclass(frozen=True, slots=True)
class PriveletEstimator:
    """Haar wavelets of the table (Xiao, Wang and Gehrke 2010). One turn.

    The noise of a box grows with the logarithms of its sides, to the power of 3 in the variance of each axis. So it
    pays on long axes: in a plane of 64 by 64 cells single counts of cells are better.
    """

    def counts(self, axes: Axes, setting: Setting, share: Fraction) -> Conversation:
        """Ask for all Haar coefficients."""
        extent = Extent.of(axes)
        release = yield Step(WaveletQuery(axes, tuple(extent.inside.tolist()), extent.shape), share)
        found = wavelet_estimate(
            release.plan.law.required(HaarTensorSums), release.values, release.plan.adjacency.total
        )
        return EstimatedTable(found.cells, found.apart, found.missing, (release,))
