"""How many records have no value, as far as what was released tells."""

from __future__ import annotations

from math import sqrt

from ...laws import HaarTensorSums, PartitionDecisions, PathSums, Selection
from ...laws.noise_law import NoisySums
from ...release import Evidence
from ..estimation.reconstruction import unbiased

SURE = 8
"""So many standard deviations of its noise a count of missing records has to have, or nothing is said of it."""


def missing_share(evidence: Evidence) -> float:
    """The share of the records that have no value; 0 where the release does not tell it, or noise may have made it.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Level, IntervalSums, Noise
    >>> noise = Noise(Family.LAPLACE, Fraction(1))
    >>> law = IntervalSums(1, 2, (Level(range(0, 2), noise),), missing=noise)
    >>> [round(missing_share(Evidence(law, values, total=None)), 2) for values in ((1, 2, 97), (90, 2, 8))]
    [0.97, 0.0]
    """
    law = evidence.law
    if isinstance(law, Selection | PartitionDecisions | HaarTensorSums) or law.missing is None:
        return 0.0
    missing, present = _counted(law, evidence)
    if present is None or missing <= max(SURE * sqrt(law.missing.variance), 0.5):
        return 0.0
    return missing / (missing + max(present, 0.0))


def _counted(law: NoisySums | PathSums, evidence: Evidence) -> tuple[float, float | None]:
    """How many records have no value, and how many have one, if that was counted or is public."""
    missing = float(evidence.values[-1])
    if evidence.total is not None:
        return missing, evidence.total - missing
    if isinstance(law, PathSums):
        return missing, dict(zip(law.at, evidence.values, strict=False)).get(law.cells)
    estimate = unbiased(law, evidence.values, None)
    return estimate.missing, float(estimate.cells.sum())
