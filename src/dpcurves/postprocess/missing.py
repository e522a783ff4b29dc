"""How many records have no value, as far as what was released tells."""

from __future__ import annotations

from math import sqrt

from ..release import Chosen, Evidence, Grown, PathNoise, Wavelets
from .reading import unbiased

SURE = 8
"""So many standard deviations of its noise a count of missing records has to have, or nothing is said of it."""


def missing_share(evidence: Evidence) -> float:
    """The share of the records that have no value; 0 where the release does not tell it, or noise may have made it.

    >>> from fractions import Fraction
    >>> from dpcurves.release import Family, Level, Measured, Noise
    >>> noise = Noise(Family.LAPLACE, Fraction(1))
    >>> law = Measured(1, 2, (Level(range(0, 2), noise),), missing=noise)
    >>> [round(missing_share(Evidence(law, values, total=None)), 2) for values in ((1, 2, 97), (90, 2, 8))]
    [0.97, 0.0]
    """
    law = evidence.law
    if isinstance(law, Chosen | Grown | Wavelets) or law.missing is None:
        return 0.0
    if isinstance(law, PathNoise):
        below = dict(zip(law.at, evidence.values, strict=False))
        missing, counted = float(evidence.values[-1]), below.get(law.cells)
        present = counted if counted is not None else evidence.total - missing if evidence.total is not None else None
    else:
        estimate = unbiased(law, evidence.values, evidence.total)
        missing, present = estimate.missing, float(estimate.cells.sum())
    if present is None or missing < SURE * sqrt(law.missing.variance):
        return 0.0
    return missing / (missing + max(present, 0.0))
