"""Which rows of a released table may hold no record at all, as far as what was released tells."""

from __future__ import annotations

import numpy as np

from ...release import Evidence
from ..summaries.roc import LEAST_MASS

DEVIATIONS = 3
"""So many standard deviations of its noise a row has to count, or it cannot be told from one without a record."""


def empty_rows(evidence: Evidence) -> tuple[bool, ...]:
    """Whether noise alone may have made the count of each row.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Level, IntervalSums, Noise
    >>> law = IntervalSums(2, 2, (Level(range(2), Noise(Family.LAPLACE, Fraction(1))),), missing=None)
    >>> empty_rows(Evidence(law, (40, 30, 2, -1), total=None))
    (False, True)
    """
    counts = evidence.unbiased.sum(axis=1)
    noise = np.sqrt(evidence.sums.prefix_variances(evidence.total is not None)[:, -1])
    return tuple((counts < LEAST_MASS + DEVIATIONS * noise).tolist())
