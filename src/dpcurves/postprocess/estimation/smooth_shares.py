"""Shares of positives in groups of similar scores: what noise alone explains is taken back to a smooth curve."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray

AMPLITUDES = 0.0, 0.02, 0.05, 0.1, 0.2, 0.4
"""Standard deviations of a curve from its line, of which the likeliest is taken."""
REACH = 0.2
"""The distance of scores over which a curve bends."""
LINE = 1.0
"""Standard deviation of the level of the line, and of its slope around 1."""
LEAST_CHANCE = 0.02
LEAST_RECORDS = 1.0


def smooth_shares(scores: FloatArray, positive: FloatArray, negative: FloatArray, variance: float) -> FloatArray:
    """The share of positives in each group, in [0, 1].

    Chances are taken as a Gaussian process in the score: a line whose level and slope are next to free, and a bend
    about it, whose size is the likeliest of `AMPLITUDES` (empirical Bayes). The shares of these records scatter about
    their chances as binomial ones do, and what was counted of them as its noise does; what is returned is the mean of
    the shares, given the counts. Where noise is small that is what was counted. Where it is large a group borrows from
    its neighbours; where there is nothing but noise, chances are all but a line.

    Reach and scale were chosen on even, hilly and crowded scores whose chances are the score, a steep step or a wave;
    they are judged by the other laws of `benchmarks/accuracy/diagnostics.py`.

    Formal guarantees: all arguments are public, and nothing else is read.

    Args:
        scores: The mean score of each group, (groups,).
        positive, negative: Counts of each group, not below zero, some of them positive.
        variance: That of the noise of each of these counts.

    >>> counts = np.array([10.0, 60.0, 40.0]), np.array([90.0, 40.0, 60.0])
    >>> [smooth_shares(np.array([0.1, 0.5, 0.9]), *counts, noise).round(2).tolist() for noise in (0.0, 1000.0)]
    [[0.1, 0.6, 0.4], [0.16, 0.41, 0.53]]
    """
    count = positive + negative
    whole, size = float(positive.sum() / count.sum()), np.maximum(count, LEAST_RECORDS)
    chance = float(np.clip(whole, LEAST_CHANCE, 1 - LEAST_CHANCE))
    apart = scores - float(scores @ count / count.sum())
    of_line = LINE**2 * (1 + np.outer(apart, apart))
    bend = np.exp(-((scores[:, None] - scores) ** 2) / (2 * REACH**2))
    sampled = np.diag(chance * (1 - chance) / size)
    noise = np.diag(variance * (chance**2 + (1 - chance) ** 2) / size**2)
    line = whole + apart
    counted = np.divide(positive, count, out=np.full(count.shape, whole), where=count > 0)
    believed = [of_line + amplitude**2 * bend + sampled for amplitude in AMPLITUDES]
    likeliest = max((each + noise for each in believed), key=lambda each: _log_likelihood(counted - line, each))
    return np.asarray(np.clip(counted - noise @ np.linalg.solve(likeliest, counted - line), 0, 1))


def _log_likelihood(values: FloatArray, covariance: FloatArray) -> float:
    """The log likelihood of normal values around zero, but for a constant."""
    _, log_determinant = np.linalg.slogdet(covariance)
    return float(-(values @ np.linalg.solve(covariance, values) + log_determinant) / 2)
