"""Between which rates all points of a ROC curve lie at once: both coordinates of each are shares with noisy totals.

A rate is a count above a threshold over the count of its class, both with noise. The noise of ``count - rate * total``
is known where the rate is, and has mean zero. So a rate is held if this contrast is within c of its standard deviations
(Fieller 1954: no ratio is linearised, and a class that noise may have made leaves its rates open), where c is the
quantile of the largest of all contrasts of both classes, which is simulated. Sampling is one more error of the
contrast: of a class of given size it is that of the class's own distribution function.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import FloatArray
from ..summaries.roc import LEAST_MASS
from .bands import ROUNDING, Band, monotone_hull, upper_quantile
from .population_band import LEVELLED, Sample, seen


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

    def at(self, fpr: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """The lower and upper true positive rates of the curve at these false positive rates.

        >>> band = RocBand(*(np.array(ends) for ends in ([0, 0.1, 1], [0, 0.3, 1], [0, 0.5, 1], [0, 0.7, 1])))
        >>> [ends.tolist() for ends in band.at([0.0, 0.2, 0.5])]
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
        return edges, *self.at((edges[:-1] + edges[1:]) / 2)


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
    most = upper_quantile(_largest(noise, rates), level)
    return _boxed([_rates_within(*each, most) for each in zip(counts, noise.swapaxes(0, 1), strict=True)])


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
        sample, contrast = Sample(seen(rate, size), size, generator), own - rate * own[:, -1:]
        judged = np.sqrt(np.mean(contrast**2, axis=0) + size * (sample.likely * (1 - sample.likely) + LEVELLED))
        errors = contrast + size * sample.scatter(len(noise))
        np.maximum(largest, np.abs(errors / judged).max(axis=-1, initial=0.0), out=largest)
    most, records = upper_quantile(largest, level), roc_band(counts, noise, rates, level)
    classes = zip(counts, noise.swapaxes(0, 1), sizes, strict=True)
    found = _boxed([_rates_within(count, own, most, size) for count, own, size in classes])
    lower = [np.minimum(*each) for each in zip(found[0::2], records[0::2], strict=True)]
    upper = [np.maximum(*each) for each in zip(found[1::2], records[1::2], strict=True)]
    return RocBand(lower[0], upper[0], lower[1], upper[1])


def _largest(noise: FloatArray, rates: FloatArray) -> FloatArray:
    """The largest studentised contrast of each draw, over all points of both classes, (draws,)."""
    largest = np.zeros(len(noise))
    for own, rate in zip(noise.swapaxes(0, 1), rates, strict=True):
        np.maximum(largest, _studentised(own - rate * own[:, -1:]).max(axis=-1, initial=0.0), out=largest)
    return largest


def _studentised(deviations: FloatArray) -> FloatArray:
    """Without a sign, (draws, points); those that are exact have none."""
    size = np.sqrt(np.mean(deviations**2, axis=0))
    noisy = size > ROUNDING * size.max(initial=0.0)
    return np.asarray(np.abs(deviations) / np.where(noisy, size, np.inf))


def _rates_within(counts: FloatArray, noise: FloatArray, most: float, size: float = 0.0) -> Band:
    """The rates r of one class with ``|count - r * total|`` within `most` standard deviations of its errors.

    These are noise and, where the class is a sample of some size, ``size * (r (1 - r) + LEVELLED)``. Where the total is
    within as many standard deviations of its noise of none, that is every rate.
    """
    of_total = noise[:, -1]
    total, squared = float(counts[-1]), most**2
    square = total**2 - squared * float(np.mean(of_total**2))
    if total < LEAST_MASS or square <= 0:
        return _pinned(np.zeros(counts.shape), np.ones(counts.shape))
    square += squared * size
    middle = counts * total - squared * (np.mean(noise * of_total[:, None], axis=0) - size / 2)
    rest = counts**2 - squared * (np.mean(noise**2, axis=0) + size * LEVELLED)
    half = np.sqrt(np.maximum(middle**2 - square * rest, 0.0))
    return _pinned((middle - half) / square, (middle + half) / square)


def _pinned(lower: FloatArray, upper: FloatArray) -> Band:
    """Rates in [0, 1] that do not fall, from none above the highest threshold to all above the lowest."""
    low, high = monotone_hull(lower, upper)
    low[0], high[0], low[-1], high[-1] = 0.0, 0.0, 1.0, 1.0
    return low, high


def _boxed(bands: list[Band]) -> RocBand:
    (fpr_lower, fpr_upper), (tpr_lower, tpr_upper) = bands
    return RocBand(fpr_lower, fpr_upper, tpr_lower, tpr_upper)


def spread_out(band: RocBand, at: NDArray[np.int64], points: int) -> RocBand:
    """The band at `points` points, of which those `at` were measured: the others lie between their neighbours."""
    below = np.searchsorted(at, np.arange(points), side="right") - 1
    above = np.searchsorted(at, np.arange(points), side="left")
    return RocBand(band.fpr_lower[below], band.fpr_upper[above], band.tpr_lower[below], band.tpr_upper[above])
