"""How many records lie outside a grid that counts them apart, as far as what was released tells."""

from __future__ import annotations

import numpy as np

from ...release import Evidence
from .simulation_seed import public_generator

DEVIATIONS = 5
"""So many standard deviations of its noise a count of records outside has to have, or nothing is said of it."""
DRAWS = 200


def outside_share(evidence: Evidence) -> float:
    """The share of the counted records in the first and the last cell; 0 where noise may have made them.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Level, IntervalSums, Noise
    >>> law = IntervalSums(1, 4, (Level(range(4), Noise(Family.LAPLACE, Fraction(1))),), missing=None)
    >>> [round(outside_share(Evidence(law, values, total=None)), 2) for values in ((20, 70, 80, 30), (1, 99, 99, 1))]
    [0.25, 0.0]
    """
    law = evidence.sums
    chunks = law.simulate(evidence.total, DRAWS, public_generator(None))
    noise = np.concatenate([cells[..., [0, -1]].sum(axis=(-2, -1)) for cells, _ in chunks])
    cells = evidence.unbiased
    outside = float(cells[:, [0, -1]].sum())
    if outside <= DEVIATIONS * float(np.sqrt(np.mean(noise**2))):
        return 0.0
    return min(outside / max(float(cells.sum()), 1.0), 1.0)
