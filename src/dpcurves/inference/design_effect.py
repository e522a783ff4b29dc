"""The design effect of survey weights, from noisy sums of weights and of their squares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray

LEAST_RATIO = 2.0**-10
"""The least that squares are taken to be, as a part of the cap times the weights."""
SPREAD = 4.0
"""A group's squares are taken to be at least so many times fewer than all groups' in proportion."""


class WeightRatios(NamedTuple):
    """Sums of squared weights over the cap times sums of weights: 1 where all weights are the cap, else less.

    Attributes:
        overall: That of all records, one standard deviation of its noise on the safe side; at most 1.
        by_group: Those of groups of records, over that of all: 1 for each, where noise hides that groups differ.
    """

    overall: float
    by_group: FloatArray


def estimate_weight_ratios(weights: FloatArray, squares: FloatArray, noise: float) -> WeightRatios:
    """The ratios of groups of records, by which sampling moves weighted counts more than counts of as many caps.

    Sampling moves a weighted count by the root of the sum of squared weights. In units of the cap no square is more
    than its weight, so 1 is safe whatever is released. The ratio of a group is drawn towards that of all, as far as its
    noise explains that it differs (the variance between groups by the method of moments).

    Args:
        weights: Sums of weights of each group over the cap, (groups,), without bias.
        squares: Sums of squared weights over the squared cap, (groups,), without bias.
        noise: The standard deviation of the noise of each of `squares`.

    >>> estimate_weight_ratios(np.array([50.0, 50.0]), np.array([20.0, 20.0]), 0.0)
    WeightRatios(overall=0.4, by_group=array([1., 1.]))
    >>> estimate_weight_ratios(np.array([50.0, 50.0]), np.array([10.0, 30.0]), 0.0).by_group.round(6).tolist()
    [0.5, 1.5]
    """
    known = np.maximum(weights, 0.0)
    total = max(float(known.sum()), 1.0)
    overall = min(max((float(squares.sum()) + noise * len(squares) ** 0.5) / total, LEAST_RATIO), 1.0)
    about = min(max(float(squares.sum()) / total, LEAST_RATIO), 1.0)
    told = known > max(noise, LEAST_RATIO)
    if np.count_nonzero(told) < 2:
        return WeightRatios(overall, np.ones(len(squares)))
    own, share = np.clip(squares[told] / known[told], 0.0, 1.0), known[told] / known[told].sum()
    errors = (noise / known[told]) ** 2
    between = max(float((share * ((own - about) ** 2 - errors)).sum()), 0.0)
    trust = between / np.maximum(between + errors, 1e-300)
    each = np.ones(len(squares))
    each[told] = np.clip((about + trust * (own - about)) / about, 1 / SPREAD, 1 / about)
    return WeightRatios(overall, each)


def kish_design_effect(records: float, weights: float, squares: float) -> float:
    """The design effect of unequal weights, ``n * sum(w**2) / sum(w)**2`` (Kish 1965, section 11.7): 1 at the least.

    >>> kish_design_effect(100, 50.0, 40.0)
    1.6
    """
    return max(max(records, 0.0) * max(squares, 0.0) / max(weights, 1e-9) ** 2, 1.0)
