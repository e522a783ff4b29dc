"""Simultaneous confidence bands of rates of two classes above all thresholds: ROC, recall, precision, net benefit.

At threshold t a rate is ``r = A(t) / B(t)``, where A and B are sums over negatives and positives above t, or over all.
Both are noisy, so nothing is divided: each band inverts a test for every r (Fieller 1954). It contains the r with

    (A - r * B)**2 <= c**2 * Var(A - r * B)      Var is a quadratic polynomial in r (`QuadraticVariance`)

where c is the `level` quantile, over draws, of the largest studentised error at any threshold of any ratio. So the band
holds for all thresholds and ratios at the same time. Where noise alone may explain the denominator B, the band spans
all possible values. For the population Var includes the variance of sampling, and no band is narrower than for these
records.

`ratio_bands` returns the bands of several ratios. `RocBand` is a box for each threshold, from bands of both
coordinates. Between thresholds the curve is only known to be monotone, and `sweep_boxes` returns bounds at any rate.

Formal guarantees: post-processing of released counts and simulation from public numbers.

References: Fieller 1954, *Some problems in interval estimation*; Davison and Hinkley 1997, section 5.2.

>>> band = RocBand(*(np.array(ends) for ends in ([0, 0.1, 1], [0, 0.3, 1], [0, 0.5, 1], [0, 0.7, 1])))
>>> band.tpr_at([0.2, 0.5])  # lower and upper true positive rates at two false positive rates
(array([0. , 0.5]), array([1., 1.]))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import FloatArray
from ..distributions import NoisySums
from ..estimation.joint_estimate import estimate_unbiased
from ..estimation.two_classes import estimate_two_classes
from ..summaries import LEAST_MASS, monotone_counts_above
from ..summaries import cumulate_from_top as cumulate_from_top
from .bands import TUNING as BAND_TUNING
from .bands import (
    Band,
    Sample,
    basic_interval,
    clip_unseen_shares,
    join_bands,
    largest_studentised,
    monotone_hull,
    quadratic_roots,
    upper_quantile,
)
from .known_numbers import may_be_zero
from .simulation import (
    choose_draws,
    public_generator,
    require_generator,
    simulate_cell_noise,
    simulate_sampling_errors,
)

Statistic = Callable[[FloatArray], FloatArray]
"""A statistic of counts of shape (..., 2, cells), of shape (...)."""


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Released counts of two classes, negatives and positives, in cells of increasing scores.

    Attributes:
        distribution: Distribution of the released values.
        values: The released values, in the order of the distribution.
        total: Public number of all records; None if it is private.
    """

    distribution: NoisySums
    values: Sequence[int]
    total: int | None

    @cached_property
    def unbiased_counts(self) -> FloatArray:
        """Unbiased counts of both classes, some of which may be negative: (2, cells); intervals are computed from
        these.
        """
        return estimate_unbiased(self.distribution, self.values, self.total).cells

    @cached_property
    def likely_counts(self) -> FloatArray:
        """Non-negative estimated counts, smoothed, (2, cells); displayed curves and simulations use these."""
        estimates = estimate_two_classes(self.distribution, self.values, self.total)
        return np.stack([np.diff(monotone_counts_above(row))[::-1] for row in estimates])

    def simulate_errors(self, *, population: bool, generator: np.random.Generator | None) -> FloatArray:
        """Return simulated errors of the unbiased counts, of shape ``(draws, 2, cells)``: noise, and sampling if asked
        for.

        A sample is drawn from the likely counts (multinomial); its difference from them is its error.

        Args:
            population: True to add sampling errors.
            generator: For simulation over public numbers alone. None: a fixed public seed.
        """
        if generator is None:
            return self._noise_and_sampling if population else self._noise
        noise = simulate_cell_noise(
            self.distribution, self.total, choose_draws(self.distribution.cells), require_generator(generator)
        )
        if not population:
            return noise
        records = max(round(float(self.likely_counts.sum())), 1)
        return noise + simulate_sampling_errors(self.likely_counts, records, len(noise), generator)

    @cached_property
    def _noise(self) -> FloatArray:
        """Simulated noise of the counts of both classes, (draws, 2, cells), from a fixed public seed."""
        return self.simulate_errors(population=False, generator=public_generator(None))

    @cached_property
    def _noise_and_sampling(self) -> FloatArray:
        """Simulated noise plus sampling errors of the counts of both classes, (draws, 2, cells), from a fixed public
        seed.
        """
        return self.simulate_errors(population=True, generator=public_generator(None))

    def may_lack_class(self, errors: FloatArray, level: float) -> tuple[bool, bool]:
        """Return for negatives, and for positives, whether noise alone could explain a class as small as this one: see
        `may_be_zero`.

        Args:
            errors: Simulated errors of the counts, (draws, 2, cells).
            level: Confidence level of the test, between 0 and 1.

        Returns:
            Two truth values, negatives first.
        """
        negative, positive = may_be_zero(self.unbiased_counts.sum(axis=1), errors.sum(axis=-1), level).tolist()
        return negative, positive

    def interval(self, statistic: Statistic, errors: FloatArray, level: float) -> tuple[float, float]:
        """Return an interval of a statistic of the exact counts, with coverage about `level`.

        The statistic is recomputed from the likely counts plus simulated errors; the differences are subtracted from
        the statistic of the unbiased counts (basic interval of a parametric bootstrap, Davison and Hinkley 1997,
        section 5.2). This also corrects the bias that noise causes in a ratio.

        Args:
            statistic: Function of counts of shape ``(..., 2, cells)``.
            errors: Simulated errors, as from `simulate_errors`.
            level: Confidence level, between 0 and 1.
        """
        errors_of_statistic = statistic(self.likely_counts + errors) - statistic(self.likely_counts)
        return basic_interval(float(statistic(self.unbiased_counts)), errors_of_statistic, level)


# Simultaneous bands of ratios of counts above all thresholds: rates, precision, net benefit.
#
# Both counts of a ratio r have noise, so nothing is divided: ``numerator - r * whole``, which is 0 without noise if r
# is the true ratio, is compared with c standard deviations of its errors (Fieller 1954), where c is the simulated
# quantile of the largest studentised error of all requested ratios. So simultaneous coverage is as stated, and where
# the whole may be noise alone, every ratio is accepted.


class QuadraticVariance(NamedTuple):
    """A variance that is a quadratic polynomial of a ratio r: ``constant + linear * r + quadratic * r**2``.

    The coefficients have the shape ``(points,)``.
    """

    constant: FloatArray
    linear: FloatArray
    quadratic: FloatArray

    def evaluate(self, ratio: FloatArray) -> FloatArray:
        """Return the variance of the contrast at given ratios; it is a quadratic function of the ratio, ``(points,)``.

        Args:
            ratio: Ratio at each point, (points,).
        """
        return np.asarray(self.constant + ratio * (self.linear + ratio * self.quadratic))

    def add(self, other: QuadraticVariance) -> QuadraticVariance:
        """Add the variance of an independent error, and return the sum, again a quadratic function of the ratio.

        Args:
            other: Variance of the other error, at the same points.
        """
        return QuadraticVariance(*(first + second for first, second in zip(self, other, strict=True)))


@dataclass(frozen=True, eq=False)
class Ratio:
    """A ratio at each threshold t: weighted records above t, over records above t or over all records.

    Attributes:
        numerator: Weight of a negative and of a positive record above the threshold, of shape ``(2,)`` or
            ``(2, points)``.
        above_mask: 1 for each class whose records above the threshold are in the denominator, of shape ``(2,)``.
        overall_mask: 1 for each class whose records are all in the denominator, of shape ``(2,)``.
        lower, upper: Range of the ratio, of shape ``(1,)`` or ``(points,)``.
    """

    numerator: FloatArray
    above_mask: FloatArray
    overall_mask: FloatArray
    lower: FloatArray
    upper: FloatArray

    def numerator_and_whole(self, above: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the numerator and the denominator of the ratio at each threshold, each of shape ``(..., points)``.

        Args:
            above: Counts of both classes above each threshold, of shape ``(..., 2, points)``.
        """
        weights = np.broadcast_to(self.numerator.reshape(2, -1), above.shape[-2:])
        numerator = np.einsum("...ij,ij->...j", above, weights)
        return numerator, np.einsum("...ij,i->...j", above, self.above_mask) + (above[..., -1] @ self.overall_mask)[
            ..., None
        ]

    def sampling_variance(self, likely: FloatArray) -> QuadraticVariance:
        """Return the sampling variance of ``numerator - r * whole``, as a quadratic function of the ratio r.

        For shares it is binomial, with `sampling_guard`. Otherwise it is the mean square of a record's weight, from the
        likely counts, minus the square of its mean.

        Args:
            likely: Non-negative estimated counts of both classes above each threshold, (2, points).
        """
        _, whole = self.numerator_and_whole(likely)
        if np.isin(self.numerator, (0, 1)).all():
            return QuadraticVariance(np.full_like(whole, BAND_TUNING.sampling_guard), whole, -whole)
        weights = np.broadcast_to(self.numerator.reshape(2, -1), likely.shape) ** 2
        # four times the guard, since likely counts do not depend on the tested ratio
        squares = np.einsum("ij,ij->j", likely, weights) + 4.0 * BAND_TUNING.sampling_guard * weights.sum(axis=0)
        return QuadraticVariance(squares, np.zeros_like(whole), -whole)


NONE, POSITIVES, ALL = (np.array(of, dtype=np.float64) for of in ((0, 0), (0, 1), (1, 1)))
"""Masks of the classes (negatives, positives): neither, positives alone, both."""
SHARE_FLOOR, SHARE_CEILING = np.zeros(1), np.ones(1)
"""Shares: the smallest and the largest possible one, as arrays of one point."""
PRECISION = Ratio(POSITIVES, ALL, NONE, SHARE_FLOOR, SHARE_CEILING)
"""Positive predictive value: the positive records above a threshold, divided by all records above it."""
RECALL = Ratio(POSITIVES, NONE, POSITIVES, SHARE_FLOOR, SHARE_CEILING)
"""Sensitivity: the positive records above a threshold, divided by all positive records."""
FLAGGED = Ratio(ALL, NONE, ALL, SHARE_FLOOR, SHARE_CEILING)
"""Share of all records that lie above a threshold."""


def net_benefit_ratio(odds: FloatArray, positions: NDArray[np.int64], points: int) -> Ratio:
    """Return the net benefit per record as a ratio of counts, at the given points; 0 at all other points.

    Args:
        odds: Odds of the threshold probability at these points.
        positions: Indices of these points.
        points: Number of all points.
    """
    weights = np.zeros((2, points))
    weights[:, positions] = -odds, np.ones_like(odds)
    return Ratio(weights, NONE, ALL, weights[0], SHARE_CEILING)


@dataclass(frozen=True, eq=False)
class SimulatedCounts:
    """Counts of both classes above each threshold, from none to all, with their simulated errors.

    Attributes:
        unbiased_counts: Unbiased counts, of shape ``(2, points)``.
        likely_counts: Approximate counts, at least 0, of the same shape.
        noise: Simulated noise, of shape ``(draws, 2, points)``.
        errors: Simulated noise and sampling, of the same shape; None if intervals are for these records.
    """

    unbiased_counts: FloatArray
    likely_counts: FloatArray
    noise: FloatArray
    errors: FloatArray | None

    @classmethod
    def from_counts(
        cls, counts: ClassCounts, *, population: bool, generator: np.random.Generator | None
    ) -> SimulatedCounts:
        """Return the counts above each threshold from counts in cells of increasing scores, for these records or for
        the population.

        Args:
            counts: Counts of both classes with their noise.
            population: Whether sampling errors are simulated as well.
            generator: Random numbers of the simulation; None: a fixed public seed.
        """
        noise = cumulate_from_top(counts.simulate_errors(population=False, generator=generator))
        errors = cumulate_from_top(counts.simulate_errors(population=True, generator=generator)) if population else None
        return cls(cumulate_from_top(counts.unbiased_counts), cumulate_from_top(counts.likely_counts), noise, errors)


def ratio_bands(counts: SimulatedCounts, ratios: Sequence[Ratio], level: float) -> tuple[Band, ...]:
    """Return bands of all ratios that hold at all thresholds simultaneously, with probability `level`.

    A band for the population always contains the band for these records.

    Args:
        counts: Counts above each threshold, with simulated errors.
        ratios: The ratios.
        level: Coverage probability, between 0 and 1.

    Returns:
        For each ratio its lower and its upper ends, each of shape ``(points,)``.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    contrasts = [_Contrast.from_ratio(ratio, counts) for ratio in ratios]
    bands = _bands_within(contrasts, level)
    if counts.errors is None:
        return bands
    return tuple(
        map(
            join_bands,
            bands,
            _bands_within([_Contrast.from_ratio(ratio, counts, counts.errors) for ratio in ratios], level),
        )
    )


def _bands_within(contrasts: Sequence[_Contrast], level: float) -> tuple[Band, ...]:
    """Return simultaneous confidence intervals of several ratios, whose contrasts share one simulated critical value.

    Args:
        contrasts: Contrasts of all ratios, from the same draws.
        level: Probability that all ratios lie within their endpoints at once, between 0 and 1.

    Returns:
        Lower and upper endpoints of each ratio, in the order of the contrasts.
    """
    squared_critical_value = upper_quantile(np.max([contrast.largest for contrast in contrasts], axis=0), level) ** 2
    return tuple(contrast.ratio_ends(squared_critical_value) for contrast in contrasts)


@dataclass(frozen=True, eq=False)
class _Contrast:
    """A ratio at all thresholds, and the errors of ``numerator - r * whole``.

    Attributes:
        ratio: The ratio.
        numerator, whole: Unbiased, (points,).
        variance: The variance of that contrast.
        noise: Its part from the noise of the whole, (points,).
        largest: The largest studentised error of each draw, (draws,).
    """

    ratio: Ratio
    numerator: FloatArray
    whole: FloatArray
    variance: QuadraticVariance
    noise: FloatArray
    largest: FloatArray

    @classmethod
    def from_ratio(cls, ratio: Ratio, counts: SimulatedCounts, errors: FloatArray | None = None) -> _Contrast:
        """Return the contrast of a ratio, numerator minus ratio times denominator, at each threshold, with its variance
        and simulated errors.

        Args:
            ratio: Which counts are divided by which.
            counts: Released counts and draws of their noise.
            errors: Draws of noise and sampling together, for the population; None: noise alone, for these records.
        """
        numerator_noise, whole_noise = ratio.numerator_and_whole(counts.noise)
        moments = [np.einsum("ij,ij->j", first, second) / len(numerator_noise) for first, second in
                combinations_with_replacement((numerator_noise, whole_noise), 2)]  # fmt: skip
        variance = QuadraticVariance(moments[0], -2 * moments[1], moments[2])
        contrast_errors = (numerator_noise, whole_noise)
        if errors is not None:
            variance = variance.add(ratio.sampling_variance(counts.likely_counts))
            contrast_errors = ratio.numerator_and_whole(errors)
        likely, likely_whole = ratio.numerator_and_whole(counts.likely_counts)
        likely_ratio = np.divide(
            likely, likely_whole, out=np.full_like(likely_whole, 0.5), where=likely_whole >= LEAST_MASS
        )
        deviations = variance.evaluate(likely_ratio)
        noisy = deviations > 0
        contrast = np.abs(contrast_errors[0] - likely_ratio * contrast_errors[1])[:, noisy] / np.sqrt(deviations[noisy])
        largest = contrast.max(axis=1, initial=0.0)
        return cls(ratio, *ratio.numerator_and_whole(counts.unbiased_counts), variance, moments[2], largest)

    def ratio_ends(self, squared: float) -> Band:
        """Return the endpoints of Fieller's confidence interval of the ratio at each point.

        They are the ratios r with ``(numerator - r * whole)**2`` at most `squared` times the variance at r, clipped to
        the possible range; the whole range where noise alone may explain the denominator.

        Args:
            squared: Squared critical value, in standard deviations.
        """
        lowest, highest = self.ratio.lower, self.ratio.upper
        square = self.whole**2 - squared * self.variance.quadratic
        half = self.numerator * self.whole + squared * self.variance.linear / 2
        constant = self.numerator**2 - squared * self.variance.constant
        is_known = (self.whole**2 > squared * self.noise) & (self.whole >= LEAST_MASS) & (square > 0)
        low, high = np.clip(quadratic_roots(np.where(is_known, square, 1.0), half, constant), lowest, highest)
        return np.where(is_known, low, lowest), np.where(is_known, high, highest)


def pin_share_ends(band: Band) -> Band:
    """Make the band of a share non-decreasing, and fix it to 0 at the first threshold and 1 at the last, where the
    share is known.

    Args:
        band: Lower and upper endpoints at each threshold, (points,) each.
    """
    lower, upper = monotone_hull(*band)
    lower[[0, -1]] = upper[[0, -1]] = 0.0, 1.0
    return lower, upper


# Simultaneous bands of ROC curves: both coordinates of each point are shares with noisy totals.
#
# Ratios as above, of both classes together: the rates of a class that may be empty are unknown. Sampling adds an
# error to the contrast: for a class of given size, the error of its empirical distribution function.


class RocBand(NamedTuple):
    """A box for each threshold: the point of threshold i lies in box i, for all i simultaneously.

    Between thresholds i and i + 1 the curve rises from a point of box i to a point of box i + 1 in unknown steps: the
    ranking of scores between thresholds was not counted. All arrays are non-decreasing.

    Attributes:
        fpr_lower, fpr_upper: Ends of the false positive rates, from 0 to 1, of shape ``(points,)``.
        tpr_lower, tpr_upper: Ends of the true positive rates, of the same shape.
    """

    fpr_lower: FloatArray
    fpr_upper: FloatArray
    tpr_lower: FloatArray
    tpr_upper: FloatArray

    def tpr_at(self, fpr: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper true positive rates of the curve at these false positive rates.

        Args:
            fpr: False positive rates from 0 to 1, (...).

        Returns:
            Lower bounds and upper bounds, (...) each.

        >>> band = RocBand(*(np.array(ends) for ends in ([0, 0.1, 1], [0, 0.3, 1], [0, 0.5, 1], [0, 0.7, 1])))
        >>> [ends.tolist() for ends in band.tpr_at([0.0, 0.2, 0.5])]
        [[0.0, 0.0, 0.5], [0.7, 1.0, 1.0]]
        """
        rates = np.asarray(fpr, dtype=np.float64)
        last = len(self.fpr_lower) - 1
        box_after = np.searchsorted(self.fpr_lower, rates, side="right")  # after the last box that may begin here
        box_before = np.searchsorted(self.fpr_upper, rates, side="left") - 1  # before the first box that may end here
        return self.tpr_lower[np.clip(box_before, 0, last)], self.tpr_upper[np.clip(box_after, 0, last)]

    def steps(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the band as a step function for plots: edges on the axis of false positive rates, and bounds of true
        positive rates between them.

        Returns:
            Edges, (steps + 1,), lower and upper bounds, (steps,) each.
        """
        edges = np.unique(np.concatenate([[0.0], self.fpr_lower, self.fpr_upper, [1.0]]))
        return edges, *self.tpr_at((edges[:-1] + edges[1:]) / 2)


def roc_band(counts: FloatArray, noise: FloatArray, rates: FloatArray, level: float) -> RocBand:
    """Return a band of the rates of these records at all thresholds, simultaneous with probability `level` over the
    noise.

    Args:
        counts: Unbiased counts of negatives and of positives above each threshold, from none to all: (2, points).
        noise: Their simulated noise, (draws, 2, points).
        rates: Estimates of the rates, (2, points), which determine the noise of the contrasts.
        level: The coverage probability of all rates together.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    negative, positive = _bands_of_records(counts, noise, rates, level)
    return RocBand(*negative, *positive)


def _bands_of_records(counts: FloatArray, noise: FloatArray, rates: FloatArray, level: float) -> list[Band]:
    """Return bands of the false and of the true positive rates of these records, simultaneous over both.

    Args:
        counts: Noisy counts above each threshold of negatives and positives, (2, thresholds); the last is the class
            size.
        noise: Draws of their noise, (draws, 2, thresholds).
        rates: Estimated rates, (2, thresholds).
        level: Probability that both bands hold at all thresholds.

    Returns:
        The band of false positive rates, then the band of true positive rates.
    """
    contrasts = (
        class_noise - rate * class_noise[:, -1:] for class_noise, rate in zip(noise.swapaxes(0, 1), rates, strict=True)
    )
    largest = [largest_studentised(contrast, np.sqrt(np.mean(contrast**2, axis=0))) for contrast in contrasts]
    critical_value = upper_quantile(np.max(largest, axis=0), level)
    return [_rates_within(*contrast, critical_value) for contrast in zip(counts, noise.swapaxes(0, 1), strict=True)]


def population_roc_band(
    counts: FloatArray, noise: FloatArray, rates: FloatArray, level: float, generator: np.random.Generator
) -> RocBand:
    """Return a band of the rates of the population, of which these records are independent draws, simultaneous with
    probability `level`.

    Contrasts are divided by the standard deviation of noise and sampling, as in `population_band`, and both classes are
    simulated together. Given its size, the scores of a class are independent draws. The size is known up to noise;
    where this matters, noise outweighs sampling. No box is smaller than the box for these records.

    Args:
        counts: Noisy counts above each threshold of negatives and positives, (2, thresholds); the last is the class
            size.
        noise: Draws of their noise, (draws, 2, thresholds).
        rates: Estimated rates, (2, thresholds).
        level: The coverage probability.
        generator: For sampling, independent of the generator of the noise.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    sizes = np.maximum(counts[:, -1], 1.0)
    largest = np.zeros(len(noise))
    for class_noise, rate, size in zip(noise.swapaxes(0, 1), rates, sizes, strict=True):
        sample = Sample(clip_unseen_shares(rate, size), size, generator)
        contrast = class_noise - rate * class_noise[:, -1:]
        deviations = np.sqrt(
            np.mean(contrast**2, axis=0) + size * (sample.likely * (1 - sample.likely) + BAND_TUNING.levelling_variance)
        )
        errors = contrast + size * sample.simulate_sampling_errors(len(noise))
        np.maximum(largest, np.abs(errors / deviations).max(axis=-1, initial=0.0), out=largest)
    critical_value = upper_quantile(largest, level)
    records = _bands_of_records(counts, noise, rates, level)
    classes = zip(counts, noise.swapaxes(0, 1), sizes, strict=True)
    negative, positive = map(
        join_bands,
        [_rates_within(count, class_noise, critical_value, size) for count, class_noise, size in classes],
        records,
    )
    return RocBand(*negative, *positive)


def _rates_within(counts: FloatArray, noise: FloatArray, most: float, size: float = 0.0) -> Band:
    """Return the interval of rates r of one class that its noisy counts allow: ``|count - r * total|`` within `most`
    standard deviations of its errors.

    The errors are noise and, if the class is a sample of some size, ``size * (r (1 - r) + v)`` with
    `levelling_variance` v. If the total is within as many standard deviations of its noise of zero, every rate is
    possible.

    Args:
        counts: Counts of the class below each point; the last is its total, (points,).
        noise: Simulated noise of these counts, (draws, points).
        most: Critical value, in standard deviations.
        size: Size of the sample; 0: the class is no sample.
    """
    total_noise = noise[:, -1]
    total = float(counts[-1])
    squared_critical_value = most**2
    square = total**2 - squared_critical_value * float(np.mean(total_noise**2))
    if total < LEAST_MASS or square <= 0:
        return _pin_rates(np.zeros(counts.shape), np.ones(counts.shape))
    square += squared_critical_value * size
    middle = counts * total - squared_critical_value * (np.mean(noise * total_noise[:, None], axis=0) - size / 2)
    return _pin_rates(
        *quadratic_roots(
            square,
            middle,
            counts**2 - squared_critical_value * (np.mean(noise**2, axis=0) + size * BAND_TUNING.levelling_variance),
        )
    )


def _pin_rates(lower: FloatArray, upper: FloatArray) -> Band:
    """Make the bounds of rates non-decreasing in [0, 1], and fix them to 0 above the highest threshold and 1 below the
    lowest.

    Args:
        lower: Lower bounds, from the highest threshold to the lowest, (points,).
        upper: Upper bounds, of the same shape.
    """
    low, high = monotone_hull(lower, upper)
    low[0], high[0], low[-1], high[-1] = 0.0, 0.0, 1.0, 1.0
    return low, high


def expand_band(band: RocBand, positions: NDArray[np.int64], points: int) -> RocBand:
    """Extend a band to points that were not counted: each lies between the bounds of its counted neighbours.

    Args:
        band: The band at the counted points.
        positions: Indices of the counted points, increasing.
        points: Number of all points.
    """
    below = np.searchsorted(positions, np.arange(points), side="right") - 1
    above = np.searchsorted(positions, np.arange(points), side="left")
    return RocBand(band.fpr_lower[below], band.fpr_upper[above], band.tpr_lower[below], band.tpr_upper[above])


RATE_EDGES: FloatArray = np.linspace(0.0, 1.0, 201)
"""Shares: 201 even ones from 0 to 1, at which boxes of two rates are swept into a band; read-only."""
RATE_EDGES.flags.writeable = False
"""Edges in [0, 1] between which areas are bounded."""


def sweep_boxes(across: Band, upwards: Band, edges: FloatArray = RATE_EDGES) -> Band:
    """Return, between neighbouring `edges`, bounds of a curve of which each point is only known to lie in a box (a
    rectangle of two intervals).

    Between two points the curve stays within the smallest box that contains both boxes. Where no box reaches, the curve
    is unknown: from 0 to 1.

    A piece between two points stays within the smallest box that contains both boxes. Where no box reaches, the curve
    is unknown: from 0 to 1.

    Args:
        across: Lower and upper ends of the points along the axis of `edges`, each of shape ``(points,)``.
        upwards: Lower and upper ends along the other axis.
        edges: Increasing, of shape ``(cells + 1,)``.

    Returns:
        Lower and upper bounds, each of shape ``(cells,)``.

    >>> across = np.array([0.0, 0.5]), np.array([0.1, 0.6])
    >>> low, high = sweep_boxes(across, (np.array([0.2, 0.4]), np.array([0.3, 0.5])))
    >>> (low[0], high[0], low[-1], high[-1]) == (0.2, 0.5, 0.0, 1.0)
    True
    """
    left, bottom = (np.minimum(ends[0][:-1], ends[0][1:]) for ends in (across, upwards))
    right, top = (np.maximum(ends[1][:-1], ends[1][1:]) for ends in (across, upwards))
    first = np.clip(np.searchsorted(edges, left, side="left") - 1, 0, len(edges) - 2)
    last = np.clip(np.searchsorted(edges, right, side="right") - 1, 0, len(edges) - 2)
    lower = np.full(len(edges) - 1, np.inf)
    upper = np.full(len(edges) - 1, -np.inf)
    for start, end, low, high in zip(first, last, bottom, top, strict=True):
        columns = slice(start, end + 1)
        np.minimum(lower[columns], low, out=lower[columns])
        np.maximum(upper[columns], high, out=upper[columns])
    unknown = lower > upper
    return np.where(unknown, 0.0, lower), np.where(unknown, 1.0, upper)
