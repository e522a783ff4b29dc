"""Counts drawn towards even splits where noise is larger than structure, as far as the splits themselves tell.

Two passes over a binary tree. Upwards: least squares. Downwards: of each node, the count is split between its halves
as the mixture of kinds in `mixture` makes of the noisy split; how frequent a kind is, is estimated on each level, from
all its splits. Cells are never negative, and they add up to the total that was given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .known import Known
from .layout import WHOLE, Halving, Layout
from .mixture import SMOOTH, KindwisePosterior, NoisySplits, kindwise_posterior, mixture_weights, prior_square
from .tree import FloatArray

ROUGH = 0.25
"""A split is rough whose expected square is above this part of the largest one. Its halves are judged apart."""
TELLING = 0.01
"""A split of which the prior variance is a smaller part of the noise tells nothing."""

PRIOR = np.array([3.0, 2.0, 1.5, 1.0, 1.0, 0.7, 0.5, 4.0, 0.5]) / 14.2
"""Weights of the kinds of `mixture` before anything is known: nearly even splits are likelier than rough ones."""
END_PRIOR = np.array([0.1 / SMOOTH] * SMOOTH + [0.7, 0.2])
"""Of cells at the ends: whether they hold anything is asked, rather than whether as much as any other cell."""


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """An estimate of all counts, from the whole to single cells. Arrays are over the nodes of the layout.

    Attributes:
        layout: Which intervals the nodes are.
        counts: Of each node, not negative. Halves add up to their parent.
        variance: Of the split of each node between its halves, given all that was measured.
    """

    layout: Layout
    counts: FloatArray
    variance: FloatArray

    @property
    def cells(self) -> FloatArray:
        """The count of each cell, (cells,)."""
        return self.counts[self.layout.single]


class Ascent(NamedTuple):
    """Each node as seen from itself and all below it: least squares. Arrays are as in `Known`."""

    precision: FloatArray
    value: FloatArray
    fourth: FloatArray


class Descent(NamedTuple):
    """What is estimated on the way down. Arrays are over nodes, and filled level by level.

    Attributes:
        counts: As in `Splits`.
        variance: As in `Splits`.
        rough: 1 where the split of the parent is rough: the class of the node.
    """

    counts: FloatArray
    variance: FloatArray
    rough: NDArray[np.int8]


class Moments(NamedTuple):
    """Mean and expected square of the deviation of each split from an even one, (splits,) each."""

    mean: FloatArray
    square: FloatArray


class Judged(NamedTuple):
    """Splits of one level, and what each kind makes of those that tell anything.

    Attributes:
        splits: All of them.
        telling: The numbers of those that tell something.
        others: Of those that do not.
        posterior: Of the telling ones.
    """

    splits: NoisySplits
    telling: NDArray[np.intp]
    others: NDArray[np.intp]
    posterior: KindwisePosterior

    @classmethod
    def of(cls, splits: NoisySplits) -> Judged:
        """Those splits tell something whose parent has some size, and that are not hidden in noise."""
        largest = (splits.count**2 + splits.count) * splits.share * (1 - splits.share)
        told = (largest > 0) & (largest >= TELLING * splits.variance)
        telling = np.flatnonzero(told)
        return cls(splits, telling, np.flatnonzero(~told), kindwise_posterior(splits[telling]))

    def learned(self, rough: NDArray[np.int8], prior: FloatArray) -> FloatArray:
        """Weights of kinds, of shape (2, kinds): of splits whose parent is not rough, and of those where it is."""
        likelihood, rough = self.posterior.likelihood, rough[self.telling]
        return np.stack([mixture_weights(likelihood[rough == kind], prior[kind]) for kind in (0, 1)])

    def under(self, weights: FloatArray) -> Moments:
        """Under weights of the kinds, (splits, kinds). Splits that tell nothing have the moments of the prior."""
        weights = np.broadcast_to(weights, (len(self.splits.count), weights.shape[1]))
        found = Moments(np.zeros_like(self.splits.count), np.empty_like(self.splits.count))
        found.mean[self.telling], found.square[self.telling] = self.posterior.under(weights[self.telling])
        found.square[self.others] = prior_square(self.splits[self.others], weights[self.others])
        return found


def least_squares_total(known: Known) -> tuple[float, float]:
    """The best unbiased count of all records, and one over its variance; both are 0 if nothing was measured."""
    ascent = _ascend(known)
    return float(ascent.value[WHOLE]), float(ascent.precision[WHOLE])


def estimate(known: Known, total: float) -> Splits:
    """The expected counts, given all that is known.

    Args:
        known: What was measured; any integers, with any noise.
        total: How many records there are: public, or estimated. Below 0 it is taken as 0.

    The scheme is empirical Bayes (Robbins 1956) along a tree, here with a mixture that knows smooth and one-sided
    splits, and with the heavier tails of Laplace noise. Costs no privacy; no randomness; linear in the cells.

    >>> estimate(Known.nothing(Layout.nested([np.array([0, 3])])), total=6).cells
    array([2., 2., 2.])
    """
    layout, ascent = known.layout, _ascend(known)
    descent = Descent(np.zeros(layout.nodes), np.zeros(layout.nodes), np.zeros(layout.nodes, dtype=np.int8))
    descent.counts[WHOLE] = max(float(total), 0.0)
    weights = np.stack([PRIOR, PRIOR])
    for halving in layout.halvings:
        splits = _noisy_splits(layout, ascent, descent, halving)
        judged, rough = Judged.of(splits), descent.rough[halving.parent]
        if halving.off_end:  # of two ends nothing can be learned but from each other
            _settle(descent, halving, splits, judged.under(END_PRIOR[None]), rough)
            continue
        weights = judged.learned(rough, weights)
        moments = judged.under(weights[rough])
        _settle(descent, halving, splits, moments, _rough(splits, moments))
        weights = _less_rough(weights)
    return Splits(layout, descent.counts, descent.variance)


def _ascend(known: Known) -> Ascent:
    precision, value, fourth = known.precision.copy(), known.value.copy(), known.fourth.copy()
    for parent, left, right, _ in reversed(known.layout.halvings):
        with np.errstate(divide="ignore"):
            below = 1 / (1 / precision[left] + 1 / precision[right])  # 0 if either half is unknown
        own = precision[parent]
        both = own + below
        trust = np.divide(below, both, out=np.zeros_like(both), where=both > 0)
        value[parent] += trust * (value[left] + value[right] - value[parent])
        fourth[parent] = (1 - trust) ** 4 * fourth[parent] + trust**4 * (fourth[left] + fourth[right])
        precision[parent] = both
    return Ascent(precision, value, fourth)


def _noisy_splits(layout: Layout, ascent: Ascent, descent: Descent, halving: Halving) -> NoisySplits:
    """Of two noisy halves, given their sum. Where neither was measured, the variance is infinite."""
    parent, left, right, _ = halving
    count = descent.counts[parent]
    share = layout.width[left] / layout.width[parent]
    first, second = (np.where(layout.width[half] > 0, ascent.precision[half], 0) for half in (left, right))
    both = first + second
    with np.errstate(divide="ignore"):
        variance = 1 / both
    trust = np.divide(first, both, out=np.zeros_like(both), where=both > 0)
    noisy = trust * ascent.value[left] + (1 - trust) * (count - ascent.value[right])
    fourth = trust**4 * ascent.fourth[left] + (1 - trust) ** 4 * ascent.fourth[right]
    excess = np.divide(fourth, variance**2, out=np.zeros_like(both), where=both > 0)
    return NoisySplits(noisy - share * count, variance, excess, count, share)


def _less_rough(weights: FloatArray) -> FloatArray:
    """What a level makes expect of the next one: half the same weights, half of them with less roughness."""
    less = weights.copy()
    less[:, : SMOOTH - 1] = weights[:, 1:SMOOTH]
    less[:, 0] += weights[:, 0]
    less[:, SMOOTH - 1] = 0
    return (weights + less) / 2


def _rough(splits: NoisySplits, moments: Moments) -> NDArray[np.bool_]:
    return moments.square > ROUGH * splits.count**2 * splits.share * (1 - splits.share)


def _settle(
    descent: Descent, halving: Halving, splits: NoisySplits, moments: Moments, rough: NDArray[np.generic]
) -> None:
    """The halves, from the moments of the deviations, and their class."""
    parent, left, right, _ = halving
    descent.counts[left] = np.clip(splits.share * splits.count + moments.mean, 0, splits.count)
    descent.counts[right] = splits.count - descent.counts[left]
    descent.variance[parent] = np.maximum(moments.square - moments.mean**2, 0)
    descent.rough[left] = descent.rough[right] = rough
