"""Kish's design effect of survey weights, from noisy sums of weights and of squared weights.

Unequal weights make a weighted count less precise than a count. With n weights w up to a cap C,

    kish_design_effect         n * sum(w**2) / sum(w)**2        at least 1; 1 if all weights are equal
    estimate_weight_ratios     sum(w**2) / (C * sum(w))         at most 1; 1 if all weights are the cap

The sampling variance of a weighted count is about sum(w**2), that is the weight ratio times its variance if all weights
were the cap. `estimate_weight_ratios` returns the ratio of all records and of each group.

Formal guarantees: no records are read and no budget is spent, because a function of released sums reveals nothing more
than the sums (post-processing).

Reference: Kish 1965, *Survey sampling*, section 11.7.

>>> round(kish_design_effect(records=100, weights=150.0, squares=250.0), 3)  # 50 weights of 1 and 50 of 2
1.111
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray

LEAST_RATIO = 2.0**-10
"""Ratio of the sum of squared weights to the cap times the sum of weights: lower limit of the estimate, so that noise
cannot make a sampling variance 0."""


class WeightRatios(NamedTuple):
    """Weight ratios of all records and of groups: sum of squared weights over the cap times the sum of weights.

    Attributes:
        overall: Ratio of all records plus one standard deviation of its noise, at most 1.
        by_group: Ratio of each group over the ratio of all records, of shape ``(groups,)``; 1 for all groups if noise
            hides differences.
    """

    overall: float
    by_group: FloatArray


def estimate_weight_ratios(weights: FloatArray, squares: FloatArray, noise: float) -> WeightRatios:
    """Return the weight ratios of all records and of each group; they scale the sampling error of weighted counts.

    In units of the cap no squared weight exceeds its weight, so a ratio of 1 is always conservative. The ratio of a
    group is shrunk towards the ratio of all records as far as noise explains the difference. The variance between
    groups is estimated by the method of moments.

    Args:
        weights: Unbiased sum of the weights of each group, over the cap, of shape ``(groups,)``.
        squares: Unbiased sum of the squared weights of each group, over the squared cap, of shape ``(groups,)``.
        noise: Standard deviation of the noise of each entry of `squares`.

    >>> estimate_weight_ratios(np.array([50.0, 50.0]), np.array([20.0, 20.0]), 0.0)
    WeightRatios(overall=0.4, by_group=array([1., 1.]))
    >>> estimate_weight_ratios(np.array([50.0, 50.0]), np.array([10.0, 30.0]), 0.0).by_group.round(6).tolist()
    [0.5, 1.5]
    """
    positive_weights = np.maximum(weights, 0.0)
    total = max(float(positive_weights.sum()), 1.0)
    overall = min(max((float(squares.sum()) + noise * len(squares) ** 0.5) / total, LEAST_RATIO), 1.0)
    mean_ratio = min(max(float(squares.sum()) / total, LEAST_RATIO), 1.0)
    usable = positive_weights > max(noise, LEAST_RATIO)
    if np.count_nonzero(usable) < 2:
        return WeightRatios(overall, np.ones(len(squares)))
    ratios = np.clip(squares[usable] / positive_weights[usable], 0.0, 1.0)
    share = positive_weights[usable] / positive_weights[usable].sum()
    errors = (noise / positive_weights[usable]) ** 2
    between = max(float((share * ((ratios - mean_ratio) ** 2 - errors)).sum()), 0.0)
    shrinkage = between / np.maximum(between + errors, 1e-300)
    by_group = np.ones(len(squares))
    # a group's ratio is at least a quarter of the ratio of all records
    by_group[usable] = np.clip((mean_ratio + shrinkage * (ratios - mean_ratio)) / mean_ratio, 0.25, 1 / mean_ratio)
    return WeightRatios(overall, by_group)


def kish_design_effect(records: float, weights: float, squares: float) -> float:
    """Return Kish's design effect of unequal weights, ``n * sum(w**2) / sum(w)**2``, at least 1 (Kish 1965, section
    11.7).

    Args:
        records: Number n of records; negative noisy numbers count as 0.
        weights: Sum of the weights.
        squares: Sum of the squared weights, in the squared unit of `weights`.

    >>> kish_design_effect(100, 50.0, 40.0)
    1.6
    """
    return max(max(records, 0.0) * max(squares, 0.0) / max(weights, 1e-9) ** 2, 1.0)
