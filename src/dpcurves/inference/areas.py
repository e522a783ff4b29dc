"""Confidence interval of the area under a ROC curve (AUC, concordance, c statistic), from noisy counts of two classes.

The area is the share of pairs of a positive and a negative record in which the positive scores higher (ties count one
half). `area_interval` takes noisy counts in cells of increasing scores, with simulated noise (`RankedClassCounts`), and
returns both endpoints. With C concordant pairs of T, the area is ``C / T``, a ratio of products of noisy counts, so the
interval inverts a test (Fieller 1954). The upper endpoint is the largest a for which

    C - a * T  >=  lower quantile of its noise, simulated at the estimated counts

where C counts all pairs within a cell as concordant, because their order was not counted, or half of them if all scores
of the cell are equal. The lower endpoint exchanges the classes. For the population, sampling has the variance of
DeLong, DeLong and Clarke-Pearson (1988), `estimate_area_spread`.

Formal guarantees: no records are read and no budget is spent, because a function of released counts and of random
numbers reveals nothing more than the counts (post-processing).

References: Hanley and McNeil 1982; DeLong, DeLong and Clarke-Pearson 1988; Birnbaum and Klose 1957 (the largest
variance); Imbens and Manski 2004, Stoye 2009 (numbers known up to an interval).

>>> negative, positive = np.array([30.0, 20.0, 10.0]), np.array([5.0, 15.0, 30.0])  # in cells of increasing scores
>>> pairs = Pairs.from_counts(negative, positive)
>>> float(1 - pairs.discordant / pairs.total), float(pairs.concordant / pairs.total)  # bounds without noise
(0.65, 0.9)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import BoolArray, FloatArray
from ..summaries.two_classes import LEAST_MASS, auc, auc_of_counts
from .bands import end_level, upper_quantile, upper_quantiles

WonOfAll = tuple[FloatArray, FloatArray]
"""Number of concordant pairs, and number of all pairs; or draws of the effects of noise on both, (draws,) each."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer intervals of an area under a ROC curve."""

    least_class: float = 2.0
    """Records; smaller classes count as this many when sampling variance is estimated."""
    untied_share: float = 0.1
    """Share of the error probability of an interval that is spent on the number of scores that are not tied."""
    pair_tolerance: float = 1e-9
    """Fraction of all pairs; tolerance for rounding of doubles where both sides are equal."""


TUNING = Tuning()
"""The values that all intervals of areas use."""


def area_interval(
    class_counts: RankedClassCounts, level: float, *, sampling: np.random.Generator | None = None
) -> tuple[float, float]:
    """Return the confidence interval, at `level`, of the area under the ROC curve of exact scores.

    The interval inverts a test for each endpoint (Fieller 1954). Let a be the true area, and count all pairs within a
    cell as concordant. Without noise, the concordant pairs minus a times all pairs are then at least 0. An area a is
    accepted by the test of the upper endpoint unless this difference is so far below 0 that noise explains it with less
    than the error probability of one endpoint; the lower endpoint is found likewise. The error probability of one
    endpoint is half of the total, or up to all of it if undecided pairs keep the endpoints apart: see `_end_level`. The
    method needs no distribution of a ratio of noisy numbers, so the interval holds for small classes. The number of
    pairs is a product of two counts, so the effect of noise depends on the counts. It is simulated at the estimated
    counts: the unbiased counts contain noise, which would then count twice.

    If some scores in tied cells may differ from the score of their cell, a part of the error probability is spent on
    their number; each of their pairs in a cell then counts as concordant, and as discordant.

    Args:
        class_counts: Noisy counts of both classes.
        level: The coverage probability.
        sampling: Generator of samples of the population, whose spread is `estimate_area_spread`. None: the interval is
            for these records.

    Returns:
        Lower and upper endpoint, between 0 and 1; (0, 1) if noise alone explains the count of a class, because the area
        may then be undefined.

    Raises:
        ValueError: `level` is not between 0 and 1, or needs more draws.
    """
    if class_counts.may_lack_a_class(level):
        return 0.0, 1.0
    pair_bounds = Pairs.from_counts(class_counts.counts[0], class_counts.counts[1], class_counts.is_tied)
    if class_counts.bound_untied is not None:
        untied_error = (1 - level) * TUNING.untied_share
        pair_bounds, level = _add_untied_pairs(pair_bounds, class_counts, untied_error), level + untied_error
    noise_effects = simulate_pair_noise(class_counts.likely_counts, class_counts.noise, class_counts.is_tied)
    low, high = _area_ends(pair_bounds, noise_effects, None, level)
    if sampling is None:
        return low, high
    lower, upper = _area_ends(
        pair_bounds,
        noise_effects,
        estimate_area_spread(class_counts.likely_counts, sampling.normal(size=len(noise_effects.concordant))),
        level,
    )
    return min(low, lower), max(high, upper)  # Monte Carlo error may shrink the second


class Pairs(NamedTuple):
    """Numbers of pairs of a positive and a negative record, or the effects of noise on them.

    All arrays have the same shape ``(...)``.

    Attributes:
        concordant: Upper bound of the pairs in which the positive record scores higher. It includes all pairs within a
            cell, or half of them if all scores of the cell are equal.
        discordant: Upper bound of the pairs in which the positive record scores lower.
        total: The number of all pairs.
    """

    concordant: FloatArray
    discordant: FloatArray
    total: FloatArray

    @classmethod
    def from_counts(cls, negative: FloatArray, positive: FloatArray, tied: BoolArray | None = None) -> Pairs:
        """Return the numbers of pairs for counts in cells of increasing scores.

        Args:
            negative: Number of negatives in each cell, of shape ``(..., cells)``; may be below 0, because counts are
                noisy.
            positive: Number of positives in each cell, of the same shape.
            tied: Mask of the cells that hold one score each, of shape ``(cells,)``; their ties count one half. None: no
                cell is known to be tied.
        """
        half = 0.0 if tied is None else np.where(tied, negative / 2, 0.0)
        below = np.cumsum(negative, axis=-1)
        negatives = negative.sum(axis=-1)
        won = (positive * (below - half)).sum(axis=-1)
        lost = (positive * (negatives[..., None] - below + negative - half)).sum(axis=-1)
        return cls(won, lost, np.asarray(positive.sum(axis=-1) * negatives))


class AreaSpread(NamedTuple):
    """Sampling standard deviation of the number of concordant pairs, as a function of the area a.

    Attributes:
        normal_draws: Draws of the standard normal distribution, of shape ``(draws,)``.
        scale: Standard deviation, in units of ``sqrt(a * (1 - a))``.
    """

    normal_draws: FloatArray
    scale: float


class RankedClassCounts(NamedTuple):
    """Noisy counts of both classes in cells of increasing scores.

    Attributes:
        counts: Unbiased counts of negatives and positives, (2, cells).
        shares: Estimated share of each class in each cell, (2, cells), non-negative, as in the displayed curve.
        noise: Simulated noise of the counts, in chunks of (draws, 2, cells).
        is_tied: Mask of the cells in which all scores are equal, (cells,). None: no cell is known to be tied.
        bound_untied: Upper bound, in records, of the scores in tied cells that do not equal the score of their cell, as
            a function of the probability of an error. None: no scores are such.
    """

    counts: FloatArray
    shares: FloatArray
    noise: Sequence[FloatArray]
    is_tied: BoolArray | None = None
    bound_untied: Callable[[float], float] | None = None

    @property
    def class_sizes(self) -> FloatArray:
        """Unbiased number of records of each class, (2,)."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def likely_counts(self) -> FloatArray:
        """Non-negative estimates of the counts of both classes, (2, cells): estimated shares times class sizes."""
        return self.shares * np.maximum(self.class_sizes, LEAST_MASS)[:, None]

    def may_lack_a_class(self, level: float) -> bool:
        """Return True if noise alone could explain a class as small as this one, with probability above ``(1 - level) /
        2``, so the area may be undefined.

        Args:
            level: Confidence level of the interval that is then (0, 1).
        """
        noise = np.concatenate([chunk.sum(axis=-1) for chunk in self.noise])
        return bool((self.class_sizes < LEAST_MASS + upper_quantiles(noise, (1 + level) / 2)).any())


def _add_untied_pairs(pair_bounds: Pairs, class_counts: RankedClassCounts, error_probability: float) -> Pairs:
    """Widen the bounds of concordant pairs for scores in tied cells that may differ from their cell's, by half of their
    pairs.

    Args:
        pair_bounds: Bounds if all scores of a tied cell were equal.
        class_counts: Noisy counts, with the bound on scores that are not tied. Without it, nothing is widened.
        error_probability: Probability with which the bound may fail.
    """
    if class_counts.bound_untied is None or class_counts.is_tied is None:
        return pair_bounds
    cells = np.where(class_counts.is_tied, class_counts.likely_counts, 0.0)
    pairs = bound_untied_pairs(cells, class_counts.bound_untied(error_probability)) / 2
    return pair_bounds._replace(concordant=pair_bounds.concordant + pairs, discordant=pair_bounds.discordant + pairs)


def bound_untied_pairs(cells: FloatArray, untied: float) -> float:
    """Return an upper bound of the number of pairs of both classes, within cells, that include one of `untied` records.

    A record has a pair with each record of the other class in its cell. So the bound puts these records into cells with
    many records of the other class. Pairs of two of these records count once or twice.

    Args:
        cells: Number of negatives and positives in each cell, of shape ``(2, cells)``.
        untied: Number of records whose scores may differ from the score of their cell.

    >>> bound_untied_pairs(np.array([[10.0, 5.0], [20.0, 5.0]]), 12.0)
    220.0
    >>> bound_untied_pairs(np.array([[10.0, 5.0], [20.0, 5.0]]), 100.0)
    225.0
    """
    negative, positive = cells
    partners, available = np.concatenate([positive, negative]), np.concatenate([negative, positive])
    order = np.argsort(-partners)
    taken = np.diff(np.minimum(np.append(0.0, np.cumsum(available[order])), untied))
    return min(float(taken @ partners[order]), float(negative @ positive))


def expected_width(class_counts: RankedClassCounts, level: float) -> float:
    """Return the approximate width of the interval for these records: noise, plus the share of undecided pairs.

    Noise is simulated at the estimated counts, so the result hardly depends on the released noise.

    Args:
        class_counts: Noisy counts of both classes.
        level: The coverage probability.
    """
    likely = class_counts.likely_counts
    exact = Pairs.from_counts(likely[0], likely[1], class_counts.is_tied)
    noise_effects = simulate_pair_noise(likely, class_counts.noise[:1], class_counts.is_tied)
    pair_bounds = Pairs.from_counts(class_counts.counts[0], class_counts.counts[1], class_counts.is_tied)
    area = float(exact.concordant + exact.total - exact.discordant) / (2 * max(float(exact.total), 1.0))
    noise = [
        upper_quantile(area * noise_effects.total - concordant, (1 + level) / 2)
        for concordant in (noise_effects.concordant, noise_effects.total - noise_effects.discordant)
    ]
    surplus = max(float(pair_bounds.concordant + pair_bounds.discordant - pair_bounds.total), 0.0)
    return (sum(noise) + surplus) / max(float(pair_bounds.total), 1.0)


def _area_ends(
    pair_bounds: Pairs, noise_effects: Pairs, spread: AreaSpread | None, level: float
) -> tuple[float, float]:
    """Return the confidence interval of the area under the ROC curve: the smallest and the largest area that the tests
    accept, in [0, 1].

    Args:
        pair_bounds: Noisy bounds of the numbers of concordant pairs, and the number of all pairs.
        noise_effects: Simulated noise of these numbers, (draws,) each.
        spread: Sampling spread of the area; None: for these records.
        level: Probability that the interval holds the area.
    """
    one_sided_level = _end_level(pair_bounds, noise_effects, spread, level)
    upper = _largest_accepted_area(
        (pair_bounds.concordant, pair_bounds.total),
        (noise_effects.concordant, noise_effects.total),
        spread,
        one_sided_level,
    )
    return 1 - _largest_accepted_area(
        (pair_bounds.discordant, pair_bounds.total),
        (noise_effects.discordant, noise_effects.total),
        spread,
        one_sided_level,
    ), upper


def _end_level(pair_bounds: Pairs, noise_effects: Pairs, spread: AreaSpread | None, level: float) -> float:
    """Return the one-sided level of each endpoint of the area's interval at which both endpoints hold with probability
    `level`.

    Pairs that the cells leave undecided keep the endpoints apart, which allows a lower one-sided level: see
    `end_level`. Their number is noisy, so two standard deviations of its noise are subtracted, and a small number has
    no effect (Stoye 2009).

    Args:
        pair_bounds: Noisy bounds of the numbers of concordant pairs, and the number of all pairs.
        noise_effects: Simulated noise of these numbers, (draws,) each.
        spread: Sampling spread of the area; None: for these records.
        level: Probability that the interval holds the area.
    """
    pairs = max(float(pair_bounds.total), 1.0)
    tied = noise_effects.concordant + noise_effects.discordant - noise_effects.total
    # standard deviations of noise
    distance = float(pair_bounds.concordant + pair_bounds.discordant - pair_bounds.total) - 2.0 * float(np.std(tied))
    area = min(max(float(pair_bounds.concordant + pair_bounds.total - pair_bounds.discordant) / (2 * pairs), 0.0), 1.0)
    noise = max(
        float(np.std(concordant - area * noise_effects.total))
        for concordant in (noise_effects.concordant, noise_effects.total - noise_effects.discordant)
    )
    sampling = 0.0 if spread is None else spread.scale * float(np.sqrt(area * (1 - area)))
    return end_level(max(distance, 0.0) / max(float(np.hypot(noise, sampling)), TUNING.pair_tolerance * pairs), level)


def shares_from_rates(fpr: FloatArray, tpr: FloatArray) -> FloatArray:
    """Return the share of each class in each cell of increasing scores, of shape ``(2, cells)``.

    Args:
        fpr: False positive rates at all thresholds, of shape ``(cells + 1,)``, from the highest threshold down.
        tpr: True positive rates at the same thresholds.
    """
    return np.stack([np.diff(rates)[::-1] for rates in (fpr, tpr)])


def simulate_pair_noise(cells: FloatArray, noise: Sequence[FloatArray], tied: BoolArray | None = None) -> Pairs:
    """Simulate by how much noise in the counts changes the numbers of concordant and discordant pairs, (draws,) each.

    Args:
        cells: Number of negatives and positives in each cell, of shape ``(2, cells)``.
        noise: Simulated noise of these counts, in chunks of shape ``(draws, 2, cells)``.
        tied: Mask of the cells that hold one score each; None: none.
    """
    exact = Pairs.from_counts(cells[0], cells[1], tied)
    noisy = [Pairs.from_counts((cells + chunk)[..., 0, :], (cells + chunk)[..., 1, :], tied) for chunk in noise]
    return Pairs(*(np.concatenate(chunk) - value for chunk, value in zip(zip(*noisy, strict=True), exact, strict=True)))


def estimate_area_spread(cells: FloatArray, normal: FloatArray) -> AreaSpread:
    """Return the sampling spread of the concordant pairs, for samples from a population like these cells.

    The variance of an area is the variance, over the positives, of the share of negatives below a positive, plus the
    same with the classes exchanged (DeLong, DeLong and Clarke-Pearson 1988). Each is a fraction of ``a (1 - a)``
    (Birnbaum and Klose 1957). The fraction is estimated from the cells, and is 1 where the cells do not determine it;
    the area a is the candidate of the test. So the interval keeps its level where nearly all pairs are concordant.

    Args:
        cells: The counts of negatives and positives, (2, cells); negative counts are taken as zero.
        normal: Draws of the standard normal distribution, (draws,).
    """
    negative, positive = (np.maximum(row, 0.0) for row in cells)
    sizes = [max(float(row.sum()), TUNING.least_class) for row in (negative, positive)]
    pairs = sizes[0] * sizes[1]
    variances = (
        _variance_fraction(positive, negative) / (sizes[1] - 1),
        _variance_fraction(negative[::-1], positive[::-1]) / (sizes[0] - 1),
    )
    return AreaSpread(normal, pairs * float(np.sqrt(sum(variances))))


def _variance_fraction(counts: FloatArray, opposite: FloatArray) -> float:
    """Return how much sampling of one class contributes to the variance of the area, as a fraction of its largest
    possible contribution.

    The contribution is the variance, over the records of the class, of the share of the other class below a record; at
    most a (1 - a) for area a.

    Args:
        counts: Counts of the class in cells of increasing scores, at least 0, (cells,).
        opposite: Counts of the other class, (cells,).

    Returns:
        A fraction from 0 to 1; 1 if a class is too small, or the area too close to 0 or 1.
    """
    if min(counts.sum(), opposite.sum()) < TUNING.least_class:
        return 1.0
    weight = counts / counts.sum()
    below = (np.cumsum(opposite) - opposite / 2) / opposite.sum()
    area = float(weight @ below)
    largest = area * (1 - area)
    # from a * (1 - a) = 1e-6 on, the variance of an area a is estimated from counts
    return min(float(weight @ (below - area) ** 2) / largest, 1.0) if largest > 1e-6 else 1.0


def _largest_accepted_area(
    pair_bound: WonOfAll, noise_effects: WonOfAll, spread: AreaSpread | None, one_sided_level: float
) -> float:
    """Return the largest area under the ROC curve that the one-sided test accepts, by a grid search and bisection.

    Args:
        pair_bound: Noisy numbers of concordant pairs (an upper bound) and of all pairs.
        noise_effects: Simulated noise of both numbers, (draws,) each.
        spread: Sampling spread; None: for these records.
        one_sided_level: Probability that noise, and sampling, stay within their quantile.
    """
    concordant, total = pair_bound

    def is_accepted(area: float) -> bool:
        """Return True if the test does not reject this area under the curve: noise, and sampling, may explain that
        fewer pairs are concordant than `area` times all pairs.
        """
        shortfall = area * noise_effects[1] - noise_effects[0]
        if spread is not None:
            shortfall = shortfall + spread.normal_draws * spread.scale * np.sqrt(area * (1 - area))
        return bool(
            concordant - area * total + upper_quantile(shortfall, one_sided_level)
            >= -TUNING.pair_tolerance * abs(total)
        )

    tried = 65  # candidate areas in [0, 1] of the first search
    candidates = np.linspace(0.0, 1.0, tried).tolist()
    best = max((number for number, area in enumerate(candidates) if is_accepted(area)), default=0)
    accepted, rejected = candidates[best], candidates[min(best + 1, tried - 1)]
    # bisection steps between the last accepted candidate and the next one
    for _ in range(26):
        middle = (accepted + rejected) / 2
        accepted, rejected = (middle, rejected) if is_accepted(middle) else (accepted, middle)
    return float(rejected)


FEW_DRAWS = 100
"""Simulated draws of noise for the standard deviation of an area, which they estimate to within about a tenth.
Intervals take more draws."""


def combine_areas(curve: tuple[FloatArray, FloatArray], cells: FloatArray, class_counts: RankedClassCounts) -> float:
    """Return a weighted mean of the area under the displayed curve and of the area of the counts it was made from.

    A displayed curve is monotone and between 0 and 1. Counts fitted under this constraint seem to have records of both
    classes also in cells without records, mostly at the ends, which biases the area downwards by a fifth or more of the
    standard deviation of its noise. Where noise is large, the fit removes more error than this bias adds. Where noise
    is small, the bias dominates, because it adds to the error from ties. The area of the counts is free of it. Its
    weight is ``1 / (1 + (s / 0.03) ** 2)``, where s is the standard deviation of the noise of an area.

    Args:
        curve: False and true positive rates, (cells + 1,) each, as from `roc_points`.
        cells: The counts the curve was made from, (2, cells): negatives and positives, possibly below zero.
        class_counts: The unbiased counts with simulated noise; `FEW_DRAWS` draws are enough.
    """
    curve_area = min(max(float(auc(*curve)), 0.0), 1.0)  # rounded sums may exceed 1
    # the deviation at which both estimates have equal weight
    weight = 1 / (1 + (area_error(class_counts, curve_area) / 0.03) ** 2)
    return curve_area + weight * (min(max(float(auc_of_counts(cells[1], cells[0])), 0.0), 1.0) - curve_area)


def area_error(class_counts: RankedClassCounts, area: float) -> float:
    """Return the standard deviation, due to noise, of the area under the ROC curve that is computed from unbiased
    counts.

    Args:
        class_counts: Noisy counts of both classes.
        area: Approximate area, between 0 and 1.
    """
    likely = class_counts.likely_counts
    noise_effects = simulate_pair_noise(likely, class_counts.noise)
    concordant = (noise_effects.concordant + noise_effects.total - noise_effects.discordant) / 2
    return float(np.std(concordant - area * noise_effects.total) / np.prod(likely.sum(axis=1)))
