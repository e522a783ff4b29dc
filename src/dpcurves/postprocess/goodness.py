"""Do predicted chances agree with outcomes? The statistic of Hosmer and Lemeshow, judged with its noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .tree import FloatArray

LEAST_EXPECTED = 1.0  # records; an expected count below it, which noise can make negative, stands as this


@dataclass(frozen=True, slots=True)
class Groups:
    """Records in groups of like predictions, with noise or without. Arrays are (..., groups).

    Attributes:
        positive: How many came true.
        negative: How many did not.
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
    def expected(self) -> FloatArray:
        """Sum of the predictions: how many come true if the predictions do."""
        return (self.lower + self.upper) / 2 * self.count + self.centred_sum

    @property
    def mean(self) -> FloatArray:
        """Mean prediction, which lies between the bounds of its group whatever the noise says."""
        return np.clip(self.expected / np.maximum(self.count, 1), self.lower, self.upper)


def hosmer_lemeshow(groups: Groups) -> FloatArray:
    """The sum over groups of ``(O1 - E1)**2 / E1 + (O0 - E0)**2 / E0``: (..., groups) to (...).

    O1 and O0 are the positives and negatives, E1 the sum of predictions and E0 the count less E1. An expected count
    below 1 record stands as 1 in the denominators. Noise adds to the squares: compare with `simulated_p_value`, not
    with a chi-square law.
    """
    squares = (groups.positive - groups.expected) ** 2  # the same for negatives: O1 + O0 = E1 + E0
    unexpected = groups.count - groups.expected
    weights = 1 / np.maximum(groups.expected, LEAST_EXPECTED) + 1 / np.maximum(unexpected, LEAST_EXPECTED)
    return np.asarray((squares * weights).sum(axis=-1))


def simulated_p_value(
    groups: Groups,
    positive_noise: FloatArray,
    negative_noise: FloatArray,
    sum_noise: FloatArray,
    generator: np.random.Generator,
) -> float:
    """The chance of a statistic as large as that of `groups`, if predictions are honest and the noise is as known.

    Each draw takes the released counts as the sizes of the groups, lets records come true with the released mean
    prediction of their group, adds the noise given, and computes the same statistic. (Where predictions differ within
    a group, positives vary less than is drawn here: the value is then too large rather than too small.)

    Args:
        groups: As released, (groups,).
        positive_noise: Simulated noise of the positives, (draws, groups).
        negative_noise: Of the negatives.
        sum_noise: Of the centred sums.
        generator: For simulation over public numbers alone.

    Returns:
        A multiple of ``1 / (draws + 1)``, never 0.
    """
    size = np.maximum(np.rint(groups.count), 0).astype(np.int64)
    positive = generator.binomial(size, groups.mean, size=positive_noise.shape)
    middle = (groups.lower + groups.upper) / 2
    null = Groups(
        positive=positive + positive_noise, negative=size - positive + negative_noise,
        centred_sum=size * (groups.mean - middle) + sum_noise, lower=groups.lower, upper=groups.upper,
    )  # fmt: skip
    exceeding = int(np.count_nonzero(hosmer_lemeshow(null) >= hosmer_lemeshow(groups)))
    return (1 + exceeding) / (len(positive_noise) + 1)
