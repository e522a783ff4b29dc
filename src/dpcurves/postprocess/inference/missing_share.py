"""How many records have no value, as far as what was released tells."""

from __future__ import annotations

from math import sqrt

from ...release import Evidence

DEVIATIONS = 8
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
    counted, noise = evidence.law.counted(evidence.values, evidence.total), evidence.law.missing
    if counted is None or noise is None or counted[0] <= max(DEVIATIONS * sqrt(noise.variance), 0.5):
        return 0.0
    missing, present = counted
    return missing / (missing + max(present, 0.0))
