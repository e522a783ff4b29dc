"""Statistics of groups and tables under noise: Hosmer-Lemeshow test, chi-squared test of independence, mean residuals.

With O positives, n records, E the sum of predictions and ``m = E / n`` in each group, and V the variance of the noise
of ``O - E``, or of a cell:

    hosmer_lemeshow        sum (O - E)**2 / (n * m * (1 - m) + V)              over groups
    chi_squared            sum (count - expected)**2 / (expected + V)          over cells of a table
    mean_residuals         (O - E) / n                                         of each group

Without noise the first two are the statistics of Hosmer and Lemeshow (1980) and of Pearson (1900). V keeps groups with
almost no expected positives from dominating. Under noise they do not have chi-squared distributions. So
`simulated_p_value` and `independence_p_value` draw records from the null hypothesis, add noise, and compute the same
statistic (a parametric bootstrap): p-values account for sampling and noise.

Formal guarantees: no records are read and no budget is spent, because a function of released counts and of random
numbers reveals nothing more than the counts (post-processing).

References: Hosmer and Lemeshow 1980; Pearson 1900; Gaboardi, Lim, Rogers and Vadhan 2016, section 5.

>>> table = np.array([[30.0, 10.0], [20.0, 40.0]])
>>> expected_counts(table), round(float(chi_squared(table, np.zeros((2, 2)))), 2)
(array([[20., 20.],
       [30., 30.]]), 16.67)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from .simulation import monte_carlo_p_value, sample_multinomial, whole_records


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the comparison of groups."""

    least_variance: float = 1e-9
    """Squared records: lower limit of variances: without sampling error and noise any difference is significant."""


TUNING = Tuning()
"""The values that all comparisons of groups use."""


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """Counts of records in groups of similar predictions, noisy or exact. Arrays have shape (..., groups).

    Attributes:
        positive: Number of positive records.
        negative: Number of negative records.
        centred_sum: Sum over the records of prediction minus the middle of the group.
        lower: Smallest prediction of each group, (groups,).
        upper: Largest prediction of each group, (groups,).
    """

    positive: FloatArray
    negative: FloatArray
    centred_sum: FloatArray
    lower: FloatArray
    upper: FloatArray

    @property
    def count(self) -> FloatArray:
        """Number of records of each group, both classes together.

        Shape ``(..., groups)``; noisy counts may be below zero.
        """
        return self.positive + self.negative

    @property
    def middle(self) -> FloatArray:
        """Midpoint of the score bounds of each group, ``(groups,)``."""
        return (self.lower + self.upper) / 2

    @property
    def expected_positives(self) -> FloatArray:
        """Sum of the predictions of each group: the expected number of positives if predictions are calibrated."""
        return self.middle * self.count + self.centred_sum

    @property
    def mean(self) -> FloatArray:
        """Mean prediction of each group, clipped to the score bounds of the group.

        Shape ``(..., groups)``; a count below 1 counts as 1.
        """
        return np.clip(self.expected_positives / np.maximum(self.count, 1), self.lower, self.upper)

    @property
    def residual_sum(self) -> FloatArray:
        """Positives minus expected positives of each group; for negatives it is the same number with the opposite
        sign.
        """
        return self.positive - self.expected_positives


class GroupNoise(NamedTuple):
    """Simulated noise of the released counts and sums of groups; arrays have the shape ``(draws, groups)``.

    Attributes:
        positive: Noise of the number of positives.
        negative: Noise of the number of negatives.
        centred_sum: Noise of the sum of predictions minus the middle of the group.
    """

    positive: FloatArray
    negative: FloatArray
    centred_sum: FloatArray

    def residual_sum(self, middle: FloatArray) -> FloatArray:
        """Return the simulated noise of positives minus expected positives, for each group.

        Args:
            middle: Midpoint of the score bounds of each group, (groups,).

        Returns:
            Noise of the sum over each group, (draws, groups), in records.
        """
        return self.positive - middle * (self.positive + self.negative) - self.centred_sum


def mean_residuals(groups: GroupCounts) -> FloatArray:
    """Return the mean of label minus prediction in each group, of shape ``(..., groups)``.

    The mean is clipped to [-upper, 1 - lower], the range that predictions of the group allow. Noisy counts below one
    record count as one.

    Args:
        groups: Released counts and sums of the groups.
    """
    residuals = groups.residual_sum / np.maximum(groups.count, 1.0)
    return np.asarray(np.clip(residuals, -groups.upper, 1 - groups.lower))


def hosmer_lemeshow(groups: GroupCounts, noise_variance: FloatArray) -> FloatArray:
    """Return the Hosmer-Lemeshow statistic with noise, ``sum (O - E)**2 / (n * m * (1 - m) + noise_variance)`` over
    groups.

    O are the positives, n the records, E the sum of predictions and m their mean. Without noise this is the statistic
    of Hosmer and Lemeshow, ``(O1 - E1)**2 / E1 + (O0 - E0)**2 / E0`` summed over groups: ``n * m * (1 - m)`` is then
    ``E1 * E0 / n``, and both differences are equal up to sign. With noise, groups with almost no expected positives
    would dominate the sum; the variance of the noise in the denominator reduces their weight. It has no chi-squared
    distribution: `simulated_p_value` gives its p-value.

    Args:
        groups: The released groups, of shape ``(..., groups)``.
        noise_variance: Variance of the noise of ``O - E``, of shape ``(groups,)``.

    Returns:
        An array of shape ``(...)``.
    """
    # The binomial variance is exact if all predictions of a group are equal.
    sampling_variance = np.maximum(groups.count, 0.0) * groups.mean * (1 - groups.mean)
    variance = np.maximum(sampling_variance + noise_variance, TUNING.least_variance)
    return np.asarray((groups.residual_sum**2 / variance).sum(axis=-1))


def simulated_p_value(
    groups: GroupCounts, noise: GroupNoise, noise_variance: FloatArray, generator: np.random.Generator
) -> float:
    """Return the p-value of the Hosmer-Lemeshow statistic, for the null hypothesis that predictions are calibrated.

    The null hypothesis is about the population: among all records with a prediction, that share is positive,
    independently of each other. The p-value accounts for sampling and for noise.

    Each draw takes the released counts as the sizes of the groups, draws positives with the released mean prediction of
    their group, adds a draw of `noise`, and computes the same statistic. If predictions differ within a group,
    positives vary less than the draws, so the p-value is conservative.

    Args:
        groups: The released groups, of shape ``(groups,)``.
        noise: Simulated noise of the released counts and sums.
        noise_variance: Variance of the noise of positives minus expected positives, of shape ``(groups,)``.
        generator: For simulation over public numbers alone.

    Returns:
        A multiple of ``1 / (draws + 1)``, never 0.
    """
    # a noisy count may exceed the range of 64-bit integers
    size = np.clip(np.rint(groups.count), 0, 2.0**62).astype(np.int64)
    mean = np.clip(groups.mean, 0.0, 1.0)  # cells of declared values extend beyond [0, 1]
    positive = generator.binomial(size, mean, size=noise.positive.shape)
    null = GroupCounts(
        positive=positive + noise.positive, negative=size - positive + noise.negative,
        centred_sum=size * (mean - groups.middle) + noise.centred_sum, lower=groups.lower, upper=groups.upper,
    )  # fmt: skip
    statistic = hosmer_lemeshow(groups, noise_variance)
    return monte_carlo_p_value(float(statistic), hosmer_lemeshow(null, noise_variance))


def expected_counts(cells: FloatArray) -> FloatArray:
    """Return the counts that are expected if rows and columns are independent, of shape ``(..., rows, columns)``.

    Negative margins are taken as zero. Without any records, all expected counts are zero.

    Args:
        cells: Unbiased counts, of the same shape.
    """
    rows, columns = (np.maximum(cells.sum(axis=axis, keepdims=True), 0.0) for axis in (-1, -2))
    total = (rows.sum(axis=-2, keepdims=True) + columns.sum(axis=-1, keepdims=True)) / 2
    return np.asarray(rows * columns / np.where(total > 0, total, 1.0))


def chi_squared(cells: FloatArray, variance: FloatArray) -> FloatArray:
    """Return Pearson's chi-squared statistic of independence, with the noise variance in the denominators.

    Without noise this is the statistic of Pearson (1900), without a continuity correction. With noise, the weight of a
    cell decreases with its noise variance (as in Gaboardi, Lim, Rogers and Vadhan 2016, section 5, where variances also
    add).

    Args:
        cells: Unbiased released counts, of shape ``(..., rows, columns)``.
        variance: Variance of the noise of each cell, of shape ``(rows, columns)``.

    Returns:
        An array of shape ``(...)``.
    """
    expected = expected_counts(cells)
    scatter = np.maximum(expected + variance, TUNING.least_variance)
    return np.asarray(((cells - expected) ** 2 / scatter).sum(axis=(-2, -1)))


def independence_p_value(cells: FloatArray, noise: FloatArray, generator: np.random.Generator) -> float:
    """Return the p-value of `chi_squared`, for the null hypothesis that rows and columns are independent.

    It is a parametric bootstrap. Tables with the estimated number of records and the estimated margins are drawn, noise
    is added, and the statistic is computed as for the released table.

    Args:
        cells: Unbiased released counts, of shape ``(rows, columns)``.
        noise: Simulated noise, of shape ``(draws, rows, columns)``.
        generator: For sampling of records; over public numbers alone.

    Returns:
        A multiple of ``1 / (draws + 1)``, never 0.
    """
    expected = expected_counts(cells)
    variance = noise.var(axis=0)
    total = expected.sum()
    probabilities = expected / total if total > 0 else np.full(expected.shape, 1 / expected.size)
    samples = sample_multinomial(probabilities, whole_records(total), len(noise), generator)
    return monte_carlo_p_value(float(chi_squared(cells, variance)), chi_squared(samples + noise, variance))
