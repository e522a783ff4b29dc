"""Intervals of the area under a ROC curve: all areas that noisy counts do not contradict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import BoolArray, FloatArray
from ..summaries.two_classes import LEAST_MASS, auc, auc_of_counts
from .bands import end_level, upper_quantile, upper_quantiles

TRIED = 65
HALVINGS = 26
LEAST_CLASS = 2.0  # records that a class is taken to have where sampling is told from its counts
ROUNDING = 1e-9  # of all pairs, by which doubles may miss a tie of both sides
DOUBT = 2.0
"""So many standard deviations of their noise the pairs that are left open are taken to be fewer than they seem."""
SMALLEST = 1e-6  # product of an area and its rest, below which its spread cannot be told from counts


WonOfAll = tuple[FloatArray, FloatArray]


class Pairs(NamedTuple):
    """Pairs of a positive and a negative record, or how far noise moves their numbers; each (...).

    Attributes:
        concordant: Bound of the pairs in which the positive scores higher: all pairs of a cell, or half of those of
            a cell in which all scores are the same.
        discordant: Those in which it scores lower, at most.
        total: All.
    """

    concordant: FloatArray
    discordant: FloatArray
    total: FloatArray

    @classmethod
    def from_counts(cls, negative: FloatArray, positive: FloatArray, tied: BoolArray | None = None) -> Pairs:
        """From counts in cells of rising scores, (..., cells), negative ones included.

        Cells that are `tied`, (cells,), have one score each: their ties count one half.
        """
        half = 0.0 if tied is None else np.where(tied, negative / 2, 0.0)
        below, false = np.cumsum(negative, axis=-1), negative.sum(axis=-1)
        won = (positive * (below - half)).sum(axis=-1)
        lost = (positive * (false[..., None] - below + negative - half)).sum(axis=-1)
        return cls(won, lost, np.asarray(positive.sum(axis=-1) * false))


class AreaSpread(NamedTuple):
    """The standard deviation, by sampling, of the pairs won around those expected of an area a.

    Attributes:
        normal_draws: Draws of the standard normal law, (draws,).
        scale: Standard deviation, in units of ``sqrt(a * (1 - a))``.
    """

    normal_draws: FloatArray
    scale: float


class RankedClassCounts(NamedTuple):
    """Counts of both classes in cells of rising scores, with their noise.

    Attributes:
        counts: Unbiased, (2, cells): negatives and positives.
        shares: About the share of each class in each cell, (2, cells), as the curve has them: not negative.
        noise: The noise of the counts, drawn afresh, in chunks (draws, 2, cells).
        is_tied: Cells in which all scores are the same, (cells,); None: that is known of no cell.
    """

    counts: FloatArray
    shares: FloatArray
    noise: Sequence[FloatArray]
    is_tied: BoolArray | None = None

    @property
    def class_sizes(self) -> FloatArray:
        """Records of each class, (2,)."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def likely_counts(self) -> FloatArray:
        """The best counts: not negative."""
        return self.shares * np.maximum(self.class_sizes, LEAST_MASS)[:, None]

    def may_lack_a_class(self, level: float) -> bool:
        """Tell whether noise, with chance ``(1 - level) / 2``, is all that was counted of a class but a half."""
        noise = np.concatenate([chunk.sum(axis=-1) for chunk in self.noise])
        return bool((self.class_sizes < LEAST_MASS + upper_quantiles(noise, (1 + level) / 2)).any())


def area_interval(
    class_counts: RankedClassCounts, level: float, *, sampling: np.random.Generator | None = None
) -> tuple[float, float]:
    """Two ends that have the area of exact scores between them with chance `level`.

    An area a is below the upper end if the pairs won less a times all pairs, which without noise is not below 0 where
    a is the true area and pairs of a cell are taken for the positives, is no further below 0 than noise takes it with
    the error chance of one end; above the lower end likewise (Fieller 1954). That chance is half of all, or up to all
    of it where open pairs keep the ends apart: see `_end_level`. So no ratio of noisy numbers needs a law, and
    the interval holds where a class is small. Pairs multiply two counts, so what noise does to them depends on the
    counts: those that are believed, for the unbiased ones have noise of their own, which would count twice.

    From 0 to 1 where noise alone may have made the counts of a class: then there may be no area to hold.

    Args:
        class_counts: What is known of both classes.
        level: The chance.
        sampling: Generator of samples of the population, whose spread is `estimate_area_spread`. None:
            for these records.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    if class_counts.may_lack_a_class(level):
        return 0.0, 1.0
    found, moved = (
        Pairs.from_counts(class_counts.counts[0], class_counts.counts[1], class_counts.is_tied),
        simulate_pair_noise(class_counts.likely_counts, class_counts.noise, class_counts.is_tied),
    )
    low, high = _area_ends(found, moved, None, level)
    if sampling is None:
        return low, high
    lower, upper = _area_ends(
        found,
        moved,
        estimate_area_spread(class_counts.likely_counts, sampling.normal(size=len(moved.concordant))),
        level,
    )
    return min(low, lower), max(high, upper)  # where sampling is next to nothing, its simulation may say less than that


def expected_width(class_counts: RankedClassCounts, level: float) -> float:
    """About how far the ends of the interval for these records lie apart: noise, and what pairs of a cell leave open.

    The noise is that of the counts that are believed, so that it is next to independent of what was drawn.
    """
    believed = class_counts.likely_counts
    exact, moved = (
        Pairs.from_counts(believed[0], believed[1], class_counts.is_tied),
        simulate_pair_noise(believed, class_counts.noise[:1], class_counts.is_tied),
    )
    found = Pairs.from_counts(class_counts.counts[0], class_counts.counts[1], class_counts.is_tied)
    area = float(exact.concordant + exact.total - exact.discordant) / (2 * max(float(exact.total), 1.0))
    noise = [
        upper_quantile(area * moved.total - won, (1 + level) / 2)
        for won in (moved.concordant, moved.total - moved.discordant)
    ]
    return (sum(noise) + max(float(found.concordant + found.discordant - found.total), 0.0)) / max(
        float(found.total), 1.0
    )


def _area_ends(found: Pairs, moved: Pairs, spread: AreaSpread | None, level: float) -> tuple[float, float]:
    """The least and the largest area in [0, 1] that is not contradicted."""
    each = _end_level(found, moved, spread, level)
    most = _largest_accepted_area((found.concordant, found.total), (moved.concordant, moved.total), spread, each)
    return 1 - _largest_accepted_area(
        (found.discordant, found.total), (moved.discordant, moved.total), spread, each
    ), most


def _end_level(found: Pairs, moved: Pairs, spread: AreaSpread | None, level: float) -> float:
    """The chance with which each end alone holds, so that both hold with chance `level`.

    Pairs that are left open keep both ends apart: see `end_level`. How many they are is itself known with noise,
    of which `DOUBT` standard deviations are taken off, so that few of them do not count (Stoye 2009).
    """
    pairs = max(float(found.total), 1.0)
    tied = moved.concordant + moved.discordant - moved.total
    distance = float(found.concordant + found.discordant - found.total) - DOUBT * float(np.std(tied))
    area = min(max(float(found.concordant + found.total - found.discordant) / (2 * pairs), 0.0), 1.0)
    noise = max(float(np.std(won - area * moved.total)) for won in (moved.concordant, moved.total - moved.discordant))
    sampling = 0.0 if spread is None else spread.scale * float(np.sqrt(area * (1 - area)))
    return end_level(max(distance, 0.0) / max(float(np.hypot(noise, sampling)), ROUNDING * pairs), level)


def shares_from_rates(fpr: FloatArray, tpr: FloatArray) -> FloatArray:
    """The share of each class in each cell of rising scores, (2, cells), from the rates above, (cells + 1,)."""
    return np.stack([np.diff(rates)[::-1] for rates in (fpr, tpr)])


def simulate_pair_noise(cells: FloatArray, noise: Sequence[FloatArray], tied: BoolArray | None = None) -> Pairs:
    """Effects of noise, in chunks (draws, 2, cells), on the pairs of these counts."""
    exact = Pairs.from_counts(cells[0], cells[1], tied)
    noisy = [Pairs.from_counts((cells + each)[..., 0, :], (cells + each)[..., 1, :], tied) for each in noise]
    return Pairs(*(np.concatenate(each) - of for each, of in zip(zip(*noisy, strict=True), exact, strict=True)))


def estimate_area_spread(cells: FloatArray, normal: FloatArray) -> AreaSpread:
    """The scatter of samples of as many units around a population like these cells (2, cells), not negative.

    The variance of an area is that of the share of negatives below a positive, over the positives, and likewise with
    the classes changed (DeLong, DeLong and Clarke-Pearson 1988). Either is a part of ``a (1 - a)``, at most all of it
    (Birnbaum and Klose 1957). That part is taken from the cells, all of it where they tell nothing, and the area a is
    the one that is tried: so the interval keeps its level where nearly all pairs are won.

    Args:
        cells: The counts of negatives and positives.
        normal: Draws of the standard normal law, (draws,).
    """
    negative, positive = (np.maximum(row, 0.0) for row in cells)
    sizes = [max(float(row.sum()), LEAST_CLASS) for row in (negative, positive)]
    pairs = sizes[0] * sizes[1]
    parts = (
        _variance_fraction(positive, negative) / (sizes[1] - 1),
        _variance_fraction(negative[::-1], positive[::-1]) / (sizes[0] - 1),
    )
    return AreaSpread(normal, pairs * float(np.sqrt(sum(parts))))


def _variance_fraction(own: FloatArray, other: FloatArray) -> float:
    """The variance, over one class, of the share of the other below a record: as a part of the largest it can be."""
    if min(own.sum(), other.sum()) < LEAST_CLASS:
        return 1.0
    weight = own / own.sum()
    below = (np.cumsum(other) - other / 2) / other.sum()
    area = float(weight @ below)
    largest = area * (1 - area)
    return min(float(weight @ (below - area) ** 2) / largest, 1.0) if largest > SMALLEST else 1.0


def _largest_accepted_area(found: WonOfAll, moved: WonOfAll, spread: AreaSpread | None, each: float) -> float:
    """The largest area in [0, 1] that is not contradicted."""
    won, every = found

    def is_accepted(area: float) -> bool:
        short = area * moved[1] - moved[0]
        if spread is not None:
            short = short + spread.normal_draws * spread.scale * np.sqrt(area * (1 - area))
        return bool(won - area * every + upper_quantile(short, each) >= -ROUNDING * abs(every))

    tried = np.linspace(0.0, 1.0, TRIED).tolist()
    best = max((number for number, area in enumerate(tried) if is_accepted(area)), default=0)
    near, far = tried[best], tried[min(best + 1, TRIED - 1)]
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        near, far = (middle, far) if is_accepted(middle) else (near, middle)
    return float(far)


LARGE = 0.03
"""The standard deviation by noise, of an area, at which both areas have the same weight."""
FEW_DRAWS = 100
"""Draws of noise, which tell that within a tenth or so."""


def combine_areas(curve: tuple[FloatArray, FloatArray], cells: FloatArray, class_counts: RankedClassCounts) -> float:
    """The area of the curve where noise is large, of the counts that it was made from where noise is small.

    A curve rises, and lies between 0 and 1: counts that are made to fit seem to have records of both classes where
    there are none, most of all at the ends, and its area is too small for that by a fifth or more of what noise moves
    it by. Where noise is large that keeps off more than it adds; where it is small it is what is left of the error, for
    it adds up with what ties hide. The area of the counts has no such bias. It has the weight ``1 / (1 + (s / LARGE)
    ** 2)``, where s is the standard deviation of an area by noise.

    Args:
        curve: False and true positive rates, each (cells + 1,), as from `roc_points`.
        cells: The counts that it was made from, (2, cells): negatives and positives, some perhaps below zero.
        class_counts: The unbiased counts and their noise, simulated; `FEW_DRAWS` are enough.
    """
    drawn = min(max(float(auc(*curve)), 0.0), 1.0)  # of rounded sums
    weight = 1 / (1 + (area_error(class_counts, drawn) / LARGE) ** 2)
    return drawn + weight * (min(max(float(auc_of_counts(cells[1], cells[0])), 0.0), 1.0) - drawn)


def area_error(class_counts: RankedClassCounts, area: float) -> float:
    """The standard deviation by noise of the area of unbiased counts, about where it is `area`."""
    believed = class_counts.likely_counts
    moved = simulate_pair_noise(believed, class_counts.noise)
    won = (moved.concordant + moved.total - moved.discordant) / 2
    return float(np.std(won - area * moved.total) / np.prod(believed.sum(axis=1)))
