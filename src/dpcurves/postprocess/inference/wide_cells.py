"""By how much a survival curve may lie too high because its cells of time are wide, as noisy counts tell.

Events of a cell are taken to come before records are censored in it. If they came after, fewer were at risk. The
estimate of Kaplan and Meier from exact times lies between these two, in whatever order they came.
"""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray
from .survival import DEVIATIONS, LEAST_AT_RISK, AtRisk

LEAST_RISE = 0.02
"""A smaller share of the records is not spoken of."""
MOST_DRAWS = 400
"""Draws of noise by which it is judged: they tell its deviation within a twentieth or so."""


def censored_inside(censored: FloatArray) -> FloatArray:
    """The censored of each cell, of slots that count values outside apart: (..., cells + 2) to (..., cells)."""
    inside = censored[..., 1:-1].copy()
    inside[..., 0] += censored[..., 0]  # as in `at_risk`
    return inside


def rise(found: AtRisk, censored: FloatArray) -> FloatArray:
    """By how much a curve lies above the one whose `censored` all leave before the events of their cell: (..., cells).

    >>> rise(AtRisk(np.array([5.0, 1.0]), np.array([10.0, 3.0])), np.array([2.0, 0.0]))
    array([0.125     , 0.08333333])
    """
    return np.asarray(_survival(found) - _survival(found._replace(records=found.records - censored)))


def told_rise(found: AtRisk, censored: FloatArray, noise: AtRisk, noise_of_censored: FloatArray) -> float:
    """The largest rise that stands out of its noise by `DEVIATIONS`, as a share of all records; 0 if that is small.

    Args:
        found: What was released of the cells in which it is known how many are at risk, without bias, (cells,).
        censored: The released counts of the censored in them, (cells,).
        noise: The noise of `found`, simulated, (draws, cells).
        noise_of_censored: That of `censored`.
    """
    risen = rise(found, censored)
    moved = AtRisk(found.events + noise.events[:MOST_DRAWS], found.records + noise.records[:MOST_DRAWS])
    error = rise(moved, censored + noise_of_censored[:MOST_DRAWS]) - risen
    told = (risen > LEAST_RISE) & (risen > DEVIATIONS * np.sqrt(np.mean(error**2, axis=0)))
    return float(risen.max(where=told, initial=0.0))


def _survival(found: AtRisk) -> FloatArray:
    """The share that survives each cell; noise may make it rise."""
    share = found.events / np.maximum(found.records, LEAST_AT_RISK)
    return np.asarray(np.cumprod(1 - np.clip(share, -1.0, 1.0), axis=-1))
