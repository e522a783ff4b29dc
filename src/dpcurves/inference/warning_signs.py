"""Signs in released counts of which a reader is warned: missing, outside or crowded records, and empty rows."""

from __future__ import annotations

from math import sqrt

import numpy as np

from ..arrays import FloatArray
from ..conversation import Evidence
from ..summaries.two_classes import LEAST_MASS
from .simulation import noise_of, public_generator

DEVIATIONS_OF_MISSING = 8
"""So many standard deviations of its noise a count of missing records has to have, or nothing is said of it."""
DEVIATIONS_OF_OUTSIDE = 5
"""So many standard deviations of its noise a count of records outside has to have, or nothing is said of it."""
DRAWS = 200
DEVIATIONS_OF_ROW = 3
"""So many standard deviations of its noise a row has to count, or it cannot be told from one without a record."""
DEVIATIONS_OF_END = 8.0
"""So many standard deviations of its noise an end cell has to stand out by."""
TIMES = 3.0
"""So many times as much as its neighbours let expect an end cell has to hold."""
LEAST_SHARE = 0.01
"""A smaller share of the records is not spoken of."""
NEAR = 4
CLEAR = 4.0
"""So many standard deviations of noise a neighbour is taken to hold at the least: by less nothing is divided."""
LITTLE = 1e-300


def missing_share(evidence: Evidence) -> float:
    """The share of the records that have no value; 0 where the release does not tell it, or noise may have made it.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Tier, IntervalSums, Noise
    >>> noise = Noise(Family.LAPLACE, Fraction(1))
    >>> law = IntervalSums(1, 2, (Tier(range(0, 2), noise),), missing=noise)
    >>> [round(missing_share(Evidence(law, values, total=None)), 2) for values in ((1, 2, 97), (90, 2, 8))]
    [0.97, 0.0]
    """
    counted, noise = evidence.law.counted(evidence.values, evidence.total), evidence.law.missing
    if counted is None or noise is None or counted[0] <= max(DEVIATIONS_OF_MISSING * sqrt(noise.variance), 0.5):
        return 0.0
    missing, present = counted
    return missing / (missing + max(present, 0.0))


def outside_share(evidence: Evidence) -> float:
    """The share of the counted records in the first and the last cell; 0 where noise may have made them.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Tier, IntervalSums, Noise
    >>> law = IntervalSums(1, 4, (Tier(range(4), Noise(Family.LAPLACE, Fraction(1))),), missing=None)
    >>> [round(outside_share(Evidence(law, values, total=None)), 2) for values in ((20, 70, 80, 30), (1, 99, 99, 1))]
    [0.25, 0.0]
    """
    law = evidence.sums
    noise = noise_of(law, evidence.total, DRAWS, public_generator(None))[..., [0, -1]].sum(axis=(-2, -1))
    cells = evidence.unbiased
    outside = float(cells[:, [0, -1]].sum())
    if outside <= DEVIATIONS_OF_OUTSIDE * float(np.sqrt(np.mean(noise**2))):
        return 0.0
    return min(outside / max(float(cells.sum()), 1.0), 1.0)


def empty_rows(evidence: Evidence) -> tuple[bool, ...]:
    """Tell whether noise alone may have made the count of each row.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Tier, IntervalSums, Noise
    >>> law = IntervalSums(2, 2, (Tier(range(2), Noise(Family.LAPLACE, Fraction(1))),), missing=None)
    >>> empty_rows(Evidence(law, (40, 30, 2, -1), total=None))
    (False, True)
    """
    counts = evidence.unbiased.sum(axis=1)
    noise = np.sqrt(evidence.sums.prefix_variances(evidence.total is not None)[:, -1])
    return tuple((counts < LEAST_MASS + DEVIATIONS_OF_ROW * noise).tolist())


def crowded_ends(edges: FloatArray, below: FloatArray, noise: tuple[float, float]) -> tuple[float, float]:
    """The shares of the records in the first and in the last cell; 0 for one that is not crowded.

    What a cell is expected to hold is read off its neighbours: the fullest of the four next ones, by its density; and
    if counts fall from the nearest neighbour to the one after it, they may have fallen as steeply before.

    Args:
        edges: The edges of cells that were counted, (cells + 1,), rising.
        below: Unbiased counts of records below each edge, (cells + 1,).
        noise: Standard deviations of the noise of the first count, and of the last one.

    >>> edges = np.arange(7.0)
    >>> crowded_ends(edges, np.array([0.0, 10, 20, 30, 40, 50, 90]), (0.0, 0.0))
    (0.0, 0.4444444444444444)
    >>> crowded_ends(edges, np.array([0.0, 810, 900, 910, 911, 912, 913]), (0.0, 0.0))
    (0.0, 0.0)
    """
    total = float(below[-1] - below[0])
    if len(edges) < 4 or total <= 0:
        return 0.0, 0.0
    first, last = _excess(edges, below, noise[0]), _excess(-edges[::-1], -below[::-1], noise[1])
    return first / total if first >= LEAST_SHARE * total else 0.0, last / total if last >= LEAST_SHARE * total else 0.0


def _excess(edges: FloatArray, below: FloatArray, noise: float) -> float:
    """The count of the first cell, if that is more than its neighbours let expect; else 0."""
    count, width = np.diff(below[: NEAR + 2]), np.diff(edges[: NEAR + 2])
    inner = (count / width)[1 : len(edges) - 2]  # not the cell at the other end
    expected = max(float(inner.max()), 0.0) * width[0]
    least = max(float(inner[-1 if len(inner) < 2 else 1]), CLEAR * noise / width[1], LITTLE)
    expected *= max(inner[0] / least, 1.0)
    return float(count[0]) if count[0] > TIMES * expected + DEVIATIONS_OF_END * noise else 0.0
