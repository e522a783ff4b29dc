"""How far a released curve is from that of the sample, at the edges of the grid and straight between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpcurves.summaries.distances import Distribution, DistributionDifference

from .data import FloatArray, Sample

METRICS = ("KS", "W1", "RMSE")


class Measured(NamedTuple):
    """Errors of several releases.

    Attributes:
        errors: Kolmogorov-Smirnov, Wasserstein, and root mean square over prefixes: (releases, 3).
        seconds: Processor time of one release.
    """

    errors: FloatArray
    seconds: float

    @property
    def mean(self) -> FloatArray:
        return np.asarray(self.errors.mean(axis=0))

    @property
    def standard_error(self) -> FloatArray:
        """The standard error of the means, over releases."""
        releases = len(self.errors)
        return np.asarray(self.errors.std(axis=0, ddof=1) / np.sqrt(releases)) if releases > 1 else np.zeros(3)


def errors_of(shares: FloatArray, sample: Sample) -> tuple[float, float, float]:
    """The three, of shares below each edge."""
    edges = sample.grid.edges
    gap = DistributionDifference.from_distributions(
        Distribution.from_curve(edges, shares), Distribution.from_curve(edges, sample.shares)
    )
    return gap.max_absolute, gap.absolute_integral, float(np.mean((shares[1:] - sample.shares[1:]) ** 2)) ** 0.5
