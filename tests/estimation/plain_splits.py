"""Empirical Bayes along a tree as it is told, node by node, and splits integrated where the library has formulas."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_genlaguerre

from dpcurves.estimation.binary_tree import ROOT, Halving, Layout, Measurements
from dpcurves.estimation.empirical_bayes import (
    END_PRIOR,
    LEFTOVER_SHARE,
    ROUGHNESS,
    SMOOTH_KINDS,
    SPLIT_PRIOR,
    TUNING,
    NoisySplits,
    kindwise_posterior,
)

FloatArray = NDArray[np.float64]
Family = tuple[int, int, int]
FINE = 400_001


class Split(NamedTuple):
    """One row of `NoisySplits`."""

    deviation: float
    variance: float
    excess: float
    size: float
    share: float

    @property
    def rows(self) -> NoisySplits:
        return NoisySplits(*(np.array([float(value)]) for value in self))


def integrated(split: Split, kind: int) -> tuple[float, float, float]:
    """Likelihood, mean and second moment of the deviation under one kind, by summing over a fine grid."""
    all_left, all_right = (1 - split.share) * split.size, -split.share * split.size
    if kind < SMOOTH_KINDS:
        even = split.share * (1 - split.share)
        sd = np.sqrt(split.size * even + (4 * split.size * even) ** 2 * ROUGHNESS[kind])
        x, weight = _gaussian(0.0, sd, np.linspace(-10, 10, FINE))
    elif kind == SMOOTH_KINDS:
        x, weight = np.array([all_left, all_right]), np.array([0.5, 0.5])
    else:
        sd = LEFTOVER_SHARE * split.size
        down, up = (
            _gaussian(all_left, sd, np.linspace(-10, 0, FINE)),
            _gaussian(all_right, sd, np.linspace(0, 10, FINE)),
        )
        x, weight = np.concatenate([down[0], up[0]]), np.concatenate([down[1], up[1]])
    weight = weight * noise_density(split, split.deviation - x)
    total = max(float(weight.sum()), np.finfo(np.float64).tiny)
    return total, float((weight * x).sum() / total), float((weight * x**2).sum() / total)


def noise_density(split: Split, error: FloatArray) -> FloatArray:
    """A Gaussian distribution, or one whose variance has a gamma distribution, replaced by its two-point Gauss
    quadrature."""
    if split.excess == 0:
        return density(error, split.variance)
    shape = 3 / split.excess
    nodes, weights = roots_genlaguerre(2, shape - 1)
    parts = [
        density(error, node / shape * split.variance) * weight for node, weight in zip(nodes, weights, strict=True)
    ]
    return np.asarray(sum(parts) / weights.sum())


def density(error: FloatArray, variance: float) -> FloatArray:
    return np.asarray(np.exp(-(error**2) / variance / 2) / np.sqrt(2 * np.pi * variance))


def _gaussian(centre: float, sd: float, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points and their chances, by the trapezoid rule. Half the line has half the chance."""
    weight = np.exp(-(z**2) / 2)
    weight[[0, -1]] /= 2
    half = 1.0 if z[0] < 0 < z[-1] else 0.5
    return centre + sd * z, half * weight / weight.sum()


class Ascent(NamedTuple):
    """Least squares from below, for each node."""

    precision: list[float]
    value: list[float]
    fourth: list[float]


class Plain(NamedTuple):
    """Counts of all nodes, the variances of their splits, and the chance that records lie evenly."""

    counts: FloatArray
    variance: FloatArray
    even: float


def plain_estimate(known: Measurements, total: float) -> Plain:
    """Two estimates, averaged."""
    ascent = _upwards(known)
    uneven, odds = _uneven(known, ascent, total)
    even = _even(known, ascent, total)
    chance = 1 / (1 + np.exp(min(-odds, 700)) * (1 - TUNING.even_probability) / TUNING.even_probability)
    counts = (1 - chance) * uneven.counts + chance * even.counts
    variance = (1 - chance) * uneven.variance + chance * even.variance
    for halving in known.layout.halvings:
        for parent, left, _ in families(known.layout, halving):
            share = known.layout.width[left] / known.layout.width[parent]
            one, other = (found.counts[left] - share * found.counts[parent] for found in (uneven, even))
            variance[parent] += chance * (1 - chance) * (one - other) ** 2
    return Plain(counts, variance, chance)


def _uneven(known: Measurements, ascent: Ascent, total: float) -> tuple[Plain, float]:
    """By all kinds; and the logarithm of the odds that all splits are binomial."""
    nodes, odds = known.layout.nodes, 0.0
    (counts, variance, doubt), rough = np.zeros((3, nodes)), np.zeros(nodes, dtype=int)
    counts[ROOT] = max(total, 0.0)
    prior = [SPLIT_PRIOR, SPLIT_PRIOR]
    for halving in known.layout.halvings:
        splits = {family: _split(known, ascent, counts, family) for family in families(known.layout, halving)}
        rows = {family: _likelihood(split) for family, split in splits.items() if _tells(split)}
        classes = [{family: row for family, row in rows.items() if rough[family[0]] == kind} for kind in (0, 1)]
        weights, before = [END_PRIOR, END_PRIOR], [END_PRIOR, END_PRIOR]
        if not halving.is_end_cell:
            weights = [_learned(list(classes[kind].values()), prior[kind]) for kind in (0, 1)]
            before, prior = prior, [(own + _stepped_down(own)) / 2 for own in weights]
        for (parent, left, right), split in splits.items():
            family, kind = (parent, left, right), rough[parent]
            own = weights[kind]
            if family in rows:
                odds += np.log(max(rows[family][0], np.finfo(np.float64).tiny)) - np.log(before[kind] @ rows[family])
                if not halving.is_end_cell:
                    others = [row for other, row in classes[kind].items() if other != family]
                    own = _of_others(others, weights[kind], before[kind])
            mean, square = _under(split, own)
            counts[left] = min(max(split.share * split.size + mean, 0.0), split.size)
            counts[right] = split.size - counts[left]
            variance[parent] = _doubted(split, max(square - mean**2, 0.0), weights[kind], doubt[parent])
            doubt[left] = split.share**2 * doubt[parent] + variance[parent]
            doubt[right] = (1 - split.share) ** 2 * doubt[parent] + variance[parent]
            is_rough = square > TUNING.rough_share * split.size**2 * split.share * (1 - split.share)
            rough[left] = rough[right] = rough[parent] if halving.is_end_cell else is_rough
    return Plain(counts, variance, 0.0), odds


def _even(known: Measurements, ascent: Ascent, total: float) -> Plain:
    """If all splits are binomial: only the first kind."""
    counts, variance = np.zeros((2, known.layout.nodes))
    counts[ROOT] = max(total, 0.0)
    for halving in known.layout.halvings:
        for family in families(known.layout, halving):
            parent, left, right = family
            split = _split(known, ascent, counts, family)
            mean, square = 0.0, split.size * split.share * (1 - split.share)
            if square > 0 and np.isfinite(split.variance):
                found = kindwise_posterior(split.rows)
                mean, square = float(found.mean[0, 0]), float(found.second_moment[0, 0])
            counts[left] = min(max(split.share * split.size + mean, 0.0), split.size)
            counts[right] = split.size - counts[left]
            variance[parent] = max(square - mean**2, 0.0)
    return Plain(counts, variance, 1.0)


def _likelihood(split: Split) -> FloatArray:
    return np.asarray(kindwise_posterior(split.rows).likelihood[0])


def _of_others(others: list[FloatArray], weights: FloatArray, prior: FloatArray) -> FloatArray:
    """What the other splits and the prior make of the weights."""
    chances = [weights * row / (weights @ row) for row in others]
    return np.asarray((prior + np.sum(chances, axis=0)) / (1 + len(chances)))


def _doubted(split: Split, variance: float, weights: FloatArray, doubt: float) -> float:
    """Tell what the prior square gains if the size of the parent is drawn, too, where little was learned."""
    before = _under(split._replace(variance=np.inf), weights)[1]
    even = split.share * (1 - split.share)
    growth = float(weights[:SMOOTH_KINDS] @ ROUGHNESS) * (4 * even) ** 2 + float(weights[SMOOTH_KINDS:].sum()) * even
    kept = min(variance / before, 1.0) if before > 0 else 1.0
    return variance + growth * min(doubt, split.size**2) * kept**2


def families(layout: Layout, halving: Halving) -> list[Family]:
    """Nodes with their halves."""
    numbers = np.arange(layout.nodes)
    return list(zip(*(numbers[part].tolist() for part in halving[:3]), strict=True))


def _upwards(known: Measurements) -> Ascent:
    ascent = Ascent(known.precision.tolist(), known.value.tolist(), known.fourth_cumulant.tolist())
    precision, value, fourth = ascent
    for halving in reversed(known.layout.halvings):
        for parent, left, right in families(known.layout, halving):
            if precision[left] == 0 or precision[right] == 0:
                continue
            below = 1 / (1 / precision[left] + 1 / precision[right])
            trust = below / (below + precision[parent])
            value[parent] = (1 - trust) * value[parent] + trust * (value[left] + value[right])
            fourth[parent] = (1 - trust) ** 4 * fourth[parent] + trust**4 * (fourth[left] + fourth[right])
            precision[parent] += below
    return ascent


def _split(known: Measurements, ascent: Ascent, counts: FloatArray, family: Family) -> Split:
    parent, left, right = family
    width, count = known.layout.width, float(counts[parent])
    share = float(width[left] / width[parent])
    first, second = (ascent.precision[half] if width[half] > 0 else 0.0 for half in (left, right))
    if first + second == 0:
        return Split(-share * count, np.inf, 0.0, count, share)
    trust = first / (first + second)
    noisy = trust * ascent.value[left] + (1 - trust) * (count - ascent.value[right])
    fourth = trust**4 * ascent.fourth[left] + (1 - trust) ** 4 * ascent.fourth[right]
    return Split(noisy - share * count, 1 / (first + second), fourth * (first + second) ** 2, count, share)


def _tells(split: Split) -> bool:
    largest = (split.size**2 + split.size) * split.share * (1 - split.share)
    return largest > 0 and largest >= TUNING.informative_ratio * split.variance


def _learned(likelihood: list[FloatArray], prior: FloatArray) -> FloatArray:
    """Twelve steps of expectation and maximisation, with one more split that is what the prior says."""
    weights = prior
    for _ in range(12):
        chances = [weights * row / (weights * row).sum() for row in likelihood]
        weights = (prior + np.sum(chances, axis=0)) / (1 + len(chances))
    return weights


def _under(split: Split, weights: FloatArray) -> tuple[float, float]:
    """Mean and expected square of the deviation."""
    if not _tells(split):
        even = split.share * (1 - split.share)
        smooth = split.size * even + (4 * split.size * even) ** 2 * ROUGHNESS
        return 0.0, float(weights[:SMOOTH_KINDS] @ smooth + weights[SMOOTH_KINDS:].sum() * split.size**2 * even)
    posterior = kindwise_posterior(split.rows)
    chance = weights * posterior.likelihood[0] / (weights @ posterior.likelihood[0])
    return float(chance @ posterior.mean[0]), float(chance @ posterior.second_moment[0])


def _stepped_down(weights: FloatArray) -> FloatArray:
    down = weights.copy()
    down[: SMOOTH_KINDS - 1] = weights[1:SMOOTH_KINDS]
    down[0] += weights[0]
    down[SMOOTH_KINDS - 1] = 0
    return down
