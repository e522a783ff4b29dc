"""Simultaneous bands of rates and ratios of two classes above all thresholds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import FloatArray
from ..estimation.joint_estimate import estimate_unbiased
from ..estimation.two_classes import estimate_two_classes
from ..laws import NoisySums
from ..summaries import LEAST_MASS, monotone_counts_above
from ..summaries import cumulate_from_top as cumulate_from_top
from .bands import (
    GUARD,
    LEVELLED,
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
from .knowledge import may_be_zero
from .simulation import choose_draws, public_generator, simulate_cell_noise, simulate_sampling_errors

Statistic = Callable[[FloatArray], FloatArray]
"""A number that is read from counts of shape (..., 2, cells), as of shape (...)."""


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Counts of two rows, negatives and positives, along cells of rising scores.

    Attributes:
        law: How the released values scatter.
        values: The released values.
        total: The public number of all records, as for `NoisySums.reconstruct`.
    """

    law: NoisySums
    values: Sequence[int]
    total: int | None

    @cached_property
    def unbiased_counts(self) -> FloatArray:
        """Counts whose noise has the mean 0, so that some may be below it: (2, cells). Intervals stand on these."""
        return estimate_unbiased(self.law, self.values, self.total).cells

    @cached_property
    def likely_counts(self) -> FloatArray:
        """Counts that are not below 0, less rough than noise makes them: (2, cells). Curves are drawn from these."""
        read = estimate_two_classes(self.law, self.values, self.total)
        return np.stack([np.diff(monotone_counts_above(row))[::-1] for row in read])

    def simulate_errors(self, *, population: bool, generator: np.random.Generator | None) -> FloatArray:
        """Simulated errors of the unbiased counts, (draws, 2, cells): noise, and for the population sampling, too.

        A sample is drawn from the likely counts (a multinomial law), and what it has more than they have is its error.
        """
        if generator is None:
            return self._noise_and_sampling if population else self._noise
        noise = simulate_cell_noise(self.law, self.total, choose_draws(self.law.cells), generator)
        if not population:
            return noise
        return noise + simulate_sampling_errors(
            self.likely_counts, max(round(float(self.likely_counts.sum())), 1), len(noise), generator
        )

    @cached_property
    def _noise(self) -> FloatArray:
        """The draws of the usual generator, which are the same whenever anybody asks."""
        return self.simulate_errors(population=False, generator=public_generator(None))

    @cached_property
    def _noise_and_sampling(self) -> FloatArray:
        return self.simulate_errors(population=True, generator=public_generator(None))

    def may_lack_class(self, errors: FloatArray, level: float) -> tuple[bool, bool]:
        """Tell of each class whether its noise, with chance ``(1 - level) / 2``, is all that was counted but a half."""
        negative, positive = may_be_zero(self.unbiased_counts.sum(axis=1), errors.sum(axis=-1), level).tolist()
        return negative, positive

    def interval(self, statistic: Statistic, errors: FloatArray, level: float) -> tuple[float, float]:
        """Two ends that have the `statistic` of the exact counts between them, with about the chance `level`.

        The statistic is read again and again from the likely counts with the errors added. What that adds to it is
        taken from what the unbiased counts give (the basic interval of a parametric bootstrap, Davison and Hinkley
        1997, section 5.2): so the bias that noise gives to a ratio is taken back, too.
        """
        moved = statistic(self.likely_counts + errors) - statistic(self.likely_counts)
        return basic_interval(float(statistic(self.unbiased_counts)), moved, level)


# Between which ends ratios of counts above all thresholds lie, at once: rates, precision, net benefit.
#
# Both counts of a ratio r have noise, so it is not divided: ``numerator - r * whole``, which is 0 without noise where r
# is the true ratio, is held against its own errors (Fieller 1954), c standard deviations of it, where c is the quantile
# of the largest of all that were asked for, which is simulated. So ratios that hold at once hold as often as is said,
# and where noise may have made the whole, every ratio is held.


RARE = 4.0
"""Times `GUARD`: added to variances that are not those of the ratio that is tried, but of likely counts."""


class QuadraticVariance(NamedTuple):
    """A variance that is a polynomial of a ratio r: ``constant + slope * r + square * r^2``, each (points,)."""

    constant: FloatArray
    linear: FloatArray
    quadratic: FloatArray

    def evaluate(self, ratio: FloatArray) -> FloatArray:
        """Its value."""
        return np.asarray(self.constant + ratio * (self.linear + ratio * self.quadratic))

    def add(self, other: QuadraticVariance) -> QuadraticVariance:
        """The variance of the sum of two independent errors."""
        return QuadraticVariance(*(one + more for one, more in zip(self, other, strict=True)))


@dataclass(frozen=True, eq=False)
class Ratio:
    """Counts above each threshold over counts above it, or over all: sums with weights of negatives and positives.

    Attributes:
        numerator: What a record above the threshold counts, (2,), or (2, points).
        above_mask: Which records above it are in the whole, (2,): 1 or 0.
        overall_mask: Which records are in the whole wherever they are, (2,).
        least, most: Between which numbers the ratio lies in any case, one each or (points,).
    """

    numerator: FloatArray
    above_mask: FloatArray
    overall_mask: FloatArray
    least: FloatArray
    most: FloatArray

    def numerator_and_whole(self, above: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Numerator and whole, (..., points), of counts above each threshold, from none to all: (..., 2, points)."""
        weights = np.broadcast_to(self.numerator.reshape(2, -1), above.shape[-2:])
        numerator = np.einsum("...ij,ij->...j", above, weights)
        return numerator, np.einsum("...ij,i->...j", above, self.above_mask) + (above[..., -1] @ self.overall_mask)[
            ..., None
        ]

    def sampling_variance(self, likely: FloatArray) -> QuadraticVariance:
        """The variance that sampling gives to ``numerator - r * whole``, of likely counts (2, points).

        For shares that of a binomial law, with `GUARD`. Else what a record counts has a mean square, from the likely
        counts, less the square of its mean.
        """
        _, whole = self.numerator_and_whole(likely)
        if np.isin(self.numerator, (0, 1)).all():
            return QuadraticVariance(np.full_like(whole, GUARD), whole, -whole)
        weights = np.broadcast_to(self.numerator.reshape(2, -1), likely.shape) ** 2
        squares = np.einsum("ij,ij->j", likely, weights) + RARE * GUARD * weights.sum(axis=0)
        return QuadraticVariance(squares, np.zeros_like(whole), -whole)


NONE, POSITIVES, ALL = (np.array(of, dtype=np.float64) for of in ((0, 0), (0, 1), (1, 1)))
ZERO, ONE = np.zeros(1), np.ones(1)
PRECISION = Ratio(POSITIVES, ALL, NONE, ZERO, ONE)
RECALL = Ratio(POSITIVES, NONE, POSITIVES, ZERO, ONE)
FLAGGED = Ratio(ALL, NONE, ALL, ZERO, ONE)


def net_benefit_ratio(odds: FloatArray, positions: NDArray[np.int64], points: int) -> Ratio:
    """Net benefit per record where the threshold has such odds: at those of so many points; 0 at all others."""
    weights = np.zeros((2, points))
    weights[:, positions] = -odds, np.ones_like(odds)
    return Ratio(weights, NONE, ALL, weights[0], ONE)


@dataclass(frozen=True, eq=False)
class SimulatedCounts:
    """Counts above each threshold, from none to all, and their errors.

    Attributes:
        unbiased_counts: Unbiased, (2, points).
        likely_counts: About the counts, not below 0, (2, points).
        noise: Simulated noise, (draws, 2, points).
        errors: Simulated noise and sampling, of the same shape; None: for these records.
    """

    unbiased_counts: FloatArray
    likely_counts: FloatArray
    noise: FloatArray
    errors: FloatArray | None

    @classmethod
    def from_counts(
        cls, counts: ClassCounts, *, population: bool, generator: np.random.Generator | None
    ) -> SimulatedCounts:
        """Counts in cells of rising scores, for these records or for the population."""
        noise = cumulate_from_top(counts.simulate_errors(population=False, generator=generator))
        errors = cumulate_from_top(counts.simulate_errors(population=True, generator=generator)) if population else None
        return cls(cumulate_from_top(counts.unbiased_counts), cumulate_from_top(counts.likely_counts), noise, errors)


def ratio_bands(counts: SimulatedCounts, ratios: Sequence[Ratio], level: float) -> tuple[Band, ...]:
    """Ends of all these ratios at all thresholds, at once with chance `level`: (points,) each.

    Those for the population are nowhere inside those for these records.

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
    squared = upper_quantile(np.max([each.largest for each in contrasts], axis=0), level) ** 2
    return tuple(each.ratio_ends(squared) for each in contrasts)


@dataclass(frozen=True, eq=False)
class _Contrast:
    """A ratio at all thresholds, and the errors of ``numerator - r * whole``.

    Attributes:
        ratio: Which one.
        numerator, whole: Unbiased, (points,).
        variance: Judges that difference.
        noise: The part of it that is the noise of the whole, (points,).
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
        parts, wholes = ratio.numerator_and_whole(counts.noise)
        mean = [np.einsum("ij,ij->j", one, other) / len(parts) for one, other in
                ((parts, parts), (parts, wholes), (wholes, wholes))]  # fmt: skip
        variance, moved = QuadraticVariance(mean[0], -2 * mean[1], mean[2]), (parts, wholes)
        if errors is not None:
            variance, moved = (
                variance.add(ratio.sampling_variance(counts.likely_counts)),
                ratio.numerator_and_whole(errors),
            )
        likely, of = ratio.numerator_and_whole(counts.likely_counts)
        about = np.divide(likely, of, out=np.full_like(of, 0.5), where=of >= LEAST_MASS)
        judged = variance.evaluate(about)
        noisy = judged > 0
        contrast = np.abs(moved[0] - about * moved[1])[:, noisy] / np.sqrt(judged[noisy])
        largest = contrast.max(axis=1, initial=0.0)
        return cls(ratio, *ratio.numerator_and_whole(counts.unbiased_counts), variance, mean[2], largest)

    def ratio_ends(self, squared: float) -> Band:
        """The ends of the ratios within so many standard deviations, squared."""
        least, most = self.ratio.least, self.ratio.most
        first = self.whole**2 - squared * self.variance.quadratic
        half = self.numerator * self.whole + squared * self.variance.linear / 2
        rest = self.numerator**2 - squared * self.variance.constant
        known = (self.whole**2 > squared * self.noise) & (self.whole >= LEAST_MASS) & (first > 0)
        low, high = np.clip(quadratic_roots(np.where(known, first, 1.0), half, rest), least, most)
        return np.where(known, low, least), np.where(known, high, most)


def pin_share_ends(band: Band) -> Band:
    """Ends of a share that does not fall: none lie above the first threshold, all above the last one."""
    lower, upper = monotone_hull(*band)
    lower[[0, -1]] = upper[[0, -1]] = 0.0, 1.0
    return lower, upper


# Between which rates all points of a ROC curve lie at once: both coordinates of each are shares with noisy totals.
#
# Ratios as above, of both classes together: a class that noise may have made leaves its rates open. Sampling is one
# more error of the contrast: of a class of given size it is that of the class's own distribution function.


class RocBand(NamedTuple):
    """A box for each threshold, and thereby a region: the point of threshold i lies in box i, for all i at once.

    Between thresholds i and i + 1 the curve rises from some point of box i to some point of box i + 1, in steps that
    are not known: the ranking of scores between thresholds was not counted. None of the arrays decreases.

    Attributes:
        fpr_lower, fpr_upper: Ends of the false positive rates, from 0 to 1, of shape ``(points,)``.
        tpr_lower, tpr_upper: Ends of the true positive rates, of the same shape.
    """

    fpr_lower: FloatArray
    fpr_upper: FloatArray
    tpr_lower: FloatArray
    tpr_upper: FloatArray

    def tpr_at(self, fpr: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """The lower and upper true positive rates of the curve at these false positive rates.

        >>> band = RocBand(*(np.array(ends) for ends in ([0, 0.1, 1], [0, 0.3, 1], [0, 0.5, 1], [0, 0.7, 1])))
        >>> [ends.tolist() for ends in band.tpr_at([0.0, 0.2, 0.5])]
        [[0.0, 0.0, 0.5], [0.7, 1.0, 1.0]]
        """
        rates = np.asarray(fpr, dtype=np.float64)
        last = len(self.fpr_lower) - 1
        reached = np.searchsorted(self.fpr_lower, rates, side="right")  # the box after the last that may begin here
        left = np.searchsorted(self.fpr_upper, rates, side="left") - 1  # the box before the first that may end here
        return self.tpr_lower[np.clip(left, 0, last)], self.tpr_upper[np.clip(reached, 0, last)]

    def steps(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The steps of the region, (steps + 1,), and its lower and upper side between, (steps,) each."""
        edges = np.unique(np.concatenate([[0.0], self.fpr_lower, self.fpr_upper, [1.0]]))
        return edges, *self.tpr_at((edges[:-1] + edges[1:]) / 2)


def roc_band(counts: FloatArray, noise: FloatArray, rates: FloatArray, level: float) -> RocBand:
    """The rates of these records at all thresholds at once, with chance `level` over the noise.

    Args:
        counts: Unbiased counts of negatives and of positives above each threshold, from none to all: (2, points).
        noise: Their simulated noise, (draws, 2, points).
        rates: Estimates of the rates, (2, points), from which the noise of the contrasts is found.
        level: The chance to hold all of them.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    negative, positive = _bands_of_records(counts, noise, rates, level)
    return RocBand(*negative, *positive)


def _bands_of_records(counts: FloatArray, noise: FloatArray, rates: FloatArray, level: float) -> list[Band]:
    contrasts = (own - rate * own[:, -1:] for own, rate in zip(noise.swapaxes(0, 1), rates, strict=True))
    largest = [largest_studentised(each, np.sqrt(np.mean(each**2, axis=0))) for each in contrasts]
    most = upper_quantile(np.max(largest, axis=0), level)
    return [_rates_within(*each, most) for each in zip(counts, noise.swapaxes(0, 1), strict=True)]


def population_roc_band(
    counts: FloatArray, noise: FloatArray, rates: FloatArray, level: float, generator: np.random.Generator
) -> RocBand:
    """The rates of the population, of which these records are independent draws.

    Contrasts are judged by their noise and sampling, as `population_band` does, and all of both classes are simulated
    together. Given its size, the scores of a class are independent draws. That size is known but for noise; where this
    matters, noise outweighs sampling. No box is smaller than that for these records.

    Args:
        counts: What `roc_band` takes.
        noise: What `roc_band` takes.
        rates: What `roc_band` takes.
        level: The chance to cover.
        generator: For sampling, independent of that of the noise.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    sizes, largest = np.maximum(counts[:, -1], 1.0), np.zeros(len(noise))
    for own, rate, size in zip(noise.swapaxes(0, 1), rates, sizes, strict=True):
        sample, contrast = Sample(clip_unseen_shares(rate, size), size, generator), own - rate * own[:, -1:]
        judged = np.sqrt(np.mean(contrast**2, axis=0) + size * (sample.likely * (1 - sample.likely) + LEVELLED))
        errors = contrast + size * sample.simulate_sampling_errors(len(noise))
        np.maximum(largest, np.abs(errors / judged).max(axis=-1, initial=0.0), out=largest)
    most, records = upper_quantile(largest, level), _bands_of_records(counts, noise, rates, level)
    classes = zip(counts, noise.swapaxes(0, 1), sizes, strict=True)
    negative, positive = map(
        join_bands, [_rates_within(count, own, most, size) for count, own, size in classes], records
    )
    return RocBand(*negative, *positive)


def _rates_within(counts: FloatArray, noise: FloatArray, most: float, size: float = 0.0) -> Band:
    """The rates r of one class with ``|count - r * total|`` within `most` standard deviations of its errors.

    These are noise and, where the class is a sample of some size, ``size * (r (1 - r) + LEVELLED)``. Where the total is
    within as many standard deviations of its noise of none, that is every rate.
    """
    of_total = noise[:, -1]
    total, squared = float(counts[-1]), most**2
    square = total**2 - squared * float(np.mean(of_total**2))
    if total < LEAST_MASS or square <= 0:
        return _pin_rates(np.zeros(counts.shape), np.ones(counts.shape))
    square += squared * size
    middle = counts * total - squared * (np.mean(noise * of_total[:, None], axis=0) - size / 2)
    return _pin_rates(
        *quadratic_roots(square, middle, counts**2 - squared * (np.mean(noise**2, axis=0) + size * LEVELLED))
    )


def _pin_rates(lower: FloatArray, upper: FloatArray) -> Band:
    """Rates in [0, 1] that do not fall, from none above the highest threshold to all above the lowest."""
    low, high = monotone_hull(lower, upper)
    low[0], high[0], low[-1], high[-1] = 0.0, 0.0, 1.0, 1.0
    return low, high


def expand_band(band: RocBand, positions: NDArray[np.int64], points: int) -> RocBand:
    """The band at `points` points, of which those `positions` were measured: the others lie between their neighbours."""
    below = np.searchsorted(positions, np.arange(points), side="right") - 1
    above = np.searchsorted(positions, np.arange(points), side="left")
    return RocBand(band.fpr_lower[below], band.fpr_upper[above], band.tpr_lower[below], band.tpr_upper[above])


EDGES: FloatArray = np.linspace(0.0, 1.0, 201)
EDGES.flags.writeable = False
"""Between 0 and 1, along which the area is told."""


def sweep_boxes(across: Band, upwards: Band, edges: FloatArray = EDGES) -> Band:
    """Lower and upper ends, between neighbouring `edges`, of curves whose points lie in boxes, joined in their order.

    A piece between two points stays within the least box that holds both of theirs. Where no box reaches nothing is
    known: from 0 to 1.

    Args:
        across: Ends of the points along the axis of `edges`, (points,) each.
        upwards: Ends along the other axis.
        edges: Rising, (cells + 1,).

    Returns:
        Of shape (cells,) each.

    >>> low, high = sweep_boxes((np.array([0.0, 0.5]), np.array([0.1, 0.6])), (np.array([0.2, 0.4]), np.array([0.3, 0.5])))
    >>> (low[0], high[0], low[-1], high[-1]) == (0.2, 0.5, 0.0, 1.0)
    True
    """
    left, bottom = (np.minimum(ends[0][:-1], ends[0][1:]) for ends in (across, upwards))
    right, top = (np.maximum(ends[1][:-1], ends[1][1:]) for ends in (across, upwards))
    first = np.clip(np.searchsorted(edges, left, side="left") - 1, 0, len(edges) - 2)
    last = np.clip(np.searchsorted(edges, right, side="right") - 1, 0, len(edges) - 2)
    lower, upper = np.full(len(edges) - 1, np.inf), np.full(len(edges) - 1, -np.inf)
    for start, end, least, most in zip(first, last, bottom, top, strict=True):
        reached = slice(start, end + 1)
        np.minimum(lower[reached], least, out=lower[reached])
        np.maximum(upper[reached], most, out=upper[reached])
    unknown = lower > upper
    return np.where(unknown, 0.0, lower), np.where(unknown, 1.0, upper)
