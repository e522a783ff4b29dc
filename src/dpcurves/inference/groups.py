"""Tests of groups: Hosmer and Lemeshow's statistic, independence of two columns; and average residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from .simulation import monte_carlo_p_value, sample_multinomial, whole_records


def mean_residuals(groups: GroupCounts) -> FloatArray:
    """Mean of label less prediction, (..., groups): between -upper and 1 - lower whatever the noise says.

    A count below one record is taken as one.
    """
    residuals = groups.residual_sum / np.maximum(groups.count, 1.0)
    return np.asarray(np.clip(residuals, -groups.upper, 1 - groups.lower))


MOST_RECORDS = 2.0**62  # of a group, as drawn: noise may claim more than there are integers
LEAST_VARIANCE = 1e-9  # squared records: where there is neither chance nor noise, any difference is a large one


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """Records in groups of similar predictions, with noise or without. Arrays are (..., groups).

    Attributes:
        positive: How many records are positive.
        negative: How many are negative.
        centred_sum: Sum over the records of prediction less the middle of the group.
        lower: Least prediction of each group, (groups,).
        upper: Largest prediction of each group, (groups,).
    """

    positive: FloatArray
    negative: FloatArray
    centred_sum: FloatArray
    lower: FloatArray
    upper: FloatArray

    @property
    def count(self) -> FloatArray:
        """Records of each group."""
        return self.positive + self.negative

    @property
    def middle(self) -> FloatArray:
        """Half way between the bounds of each group, (groups,)."""
        return (self.lower + self.upper) / 2

    @property
    def expected_positives(self) -> FloatArray:
        """The sum of the predictions: the expected number of positives if predictions are calibrated."""
        return self.middle * self.count + self.centred_sum

    @property
    def mean(self) -> FloatArray:
        """Mean prediction, which lies between the bounds of its group whatever the noise says."""
        return np.clip(self.expected_positives / np.maximum(self.count, 1), self.lower, self.upper)

    @property
    def residual_sum(self) -> FloatArray:
        """Positives less expected ones; negatives have as many too few."""
        return self.positive - self.expected_positives


class GroupNoise(NamedTuple):
    """Simulated noise of the released counts and sums of groups of records: arrays of shape (draws, groups)."""

    positive: FloatArray
    negative: FloatArray
    centred_sum: FloatArray

    def residual_sum(self, middle: FloatArray) -> FloatArray:
        """Noise of positives less expected ones, in groups with these middles."""
        return self.positive - middle * (self.positive + self.negative) - self.centred_sum


def hosmer_lemeshow(groups: GroupCounts, noise_variance: FloatArray) -> FloatArray:
    """The sum over groups of ``(O - E)**2 / (n * m * (1 - m) + noise_variance)``: (..., groups) to (...).

    O are the positives, n the records, E the sum of predictions and m their mean. Without noise this is the statistic
    of Hosmer and Lemeshow, ``(O1 - E1)**2 / E1 + (O0 - E0)**2 / E0`` summed over groups: there ``n * m * (1 - m)`` is
    ``E1 * E0 / n``, and both differences are one. With noise, groups that expect next to no positives would dominate
    the sum; the variance of the noise in the denominator reduces their weight. Compare with `simulated_p_value`.

    Args:
        groups: The released groups.
        noise_variance: The variance of the noise of ``O - E``, (groups,).
    """
    by_chance = np.maximum(groups.count, 0.0) * groups.mean * (1 - groups.mean)  # exact where all of a group are alike
    variance = np.maximum(by_chance + noise_variance, LEAST_VARIANCE)
    return np.asarray((groups.residual_sum**2 / variance).sum(axis=-1))


def simulated_p_value(
    groups: GroupCounts, noise: GroupNoise, noise_variance: FloatArray, generator: np.random.Generator
) -> float:
    """The p-value of the statistic of `groups`, if predictions are calibrated and the noise is as known.

    The null hypothesis is about the population: of all records with a prediction, that share is positive, independently
    of each other. So the p-value accounts for sampling and for noise.

    Each draw takes the released counts as the sizes of the groups, draws positives with the released mean prediction of
    their group, adds the noise given, and computes the same statistic. (Where predictions differ within a group,
    positives vary less than is drawn here: the value is then too large rather than too small.)

    Args:
        groups: The released groups, (groups,).
        noise: The noise of what was released.
        noise_variance: The variance of the noise of positives less expected ones, (groups,).
        generator: For simulation over public numbers alone.

    Returns:
        A multiple of ``1 / (draws + 1)``, never 0.
    """
    size = np.clip(np.rint(groups.count), 0, MOST_RECORDS).astype(np.int64)
    mean = np.clip(groups.mean, 0.0, 1.0)  # cells of declared values reach beyond them
    positive = generator.binomial(size, mean, size=noise.positive.shape)
    null = GroupCounts(
        positive=positive + noise.positive, negative=size - positive + noise.negative,
        centred_sum=size * (mean - groups.middle) + noise.centred_sum, lower=groups.lower, upper=groups.upper,
    )  # fmt: skip
    reached = hosmer_lemeshow(groups, noise_variance)
    return monte_carlo_p_value(float(reached), hosmer_lemeshow(null, noise_variance))


def expected_counts(cells: FloatArray) -> FloatArray:
    """Records of each cell if rows and columns were independent, from the margins of the table: (..., rows, columns).

    Margins below zero are taken as zero; of a table without records all are zero.
    """
    rows, columns = (np.maximum(cells.sum(axis=axis, keepdims=True), 0.0) for axis in (-1, -2))
    total = (rows.sum(axis=-2, keepdims=True) + columns.sum(axis=-1, keepdims=True)) / 2
    return np.asarray(rows * columns / np.where(total > 0, total, 1.0))


def chi_squared(cells: FloatArray, variance: FloatArray) -> FloatArray:
    """The statistic: squared differences from `expected_counts`, over their variance by chance and by noise; (...).

    Without noise it is that of Pearson (1900), without a correction for continuity. With noise a cell counts for less
    the less is known of it (as in Gaboardi, Lim, Rogers and Vadhan 2016, section 5, where variances add up, too).

    Args:
        cells: The released counts, without bias, (..., rows, columns).
        variance: That of the noise of each cell, (rows, columns).
    """
    expected = expected_counts(cells)
    scatter = np.maximum(expected + variance, LEAST_VARIANCE)
    return np.asarray(((cells - expected) ** 2 / scatter).sum(axis=(-2, -1)))


"""The most that are drawn: what noise may claim beyond is no number of records."""


def independence_p_value(cells: FloatArray, noise: FloatArray, generator: np.random.Generator) -> float:
    """The p-value of the statistic: its chance in a table of independent rows and columns under the same noise.

    So many records as there seem to be are drawn with the margins that there seem to be (a parametric bootstrap), noise
    is added, and the statistic is worked out as for the table that was released. The least value is one over the number
    of draws and one.

    Args:
        cells: The released counts, without bias, (rows, columns).
        noise: Simulated, (draws, rows, columns).
        generator: For the records.
    """
    expected, variance = expected_counts(cells), noise.var(axis=0)
    total = expected.sum()
    chances = expected / total if total > 0 else np.full(expected.shape, 1 / expected.size)
    drawn = sample_multinomial(chances, whole_records(total), len(noise), generator)
    return monte_carlo_p_value(float(chi_squared(cells, variance)), chi_squared(drawn + noise, variance))
