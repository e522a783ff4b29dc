"""NOT PRIVATE. PriBRP as printed, and the same put right, to reproduce figures that were made with it.

As printed, the sum of the predictions of a bin has noise for the width of the bin. But a record that comes or goes
changes it by its whole prediction; the loss is many times what is said: see `docs/errata.md`. Chance is in floating
point, also of what is put right. Nothing here is for data of persons.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, log2
from typing import NamedTuple

import numpy as np
from binned_data import Judged
from numpy.typing import NDArray
from roc_as_printed import Edges, medians_in_floats, medians_not_private

Floats = NDArray[np.float64]
MOVES = 2.0
FAILING = 0.9  # what the paper calls gamma


class Bins(NamedTuple):
    """Exact counts, positives, and sums of predictions of bins; and where these begin and end."""

    number: Floats
    positive: Floats
    predicted: Floats
    lower: Floats
    upper: Floats


class Plot(NamedTuple):
    """Mean predictions and mean residuals."""

    mean: Floats
    residual: Floats


Means = Callable[[Bins, float, np.random.Generator], Plot]
Release = Callable[[Judged, float, int, float], Plot]
"""One release of records, at epsilon, from a seed, with a share of epsilon for bins, and as much for joining them."""


def pribrp_not_private(records: Judged, epsilon: float, seed: int, ratio: float) -> Plot:
    """Algorithm 13 as printed."""
    chance = np.random.default_rng(seed)
    cuts = medians_not_private(records.number, ratio * epsilon, _levels(records), chance)
    bins = joined(_bins(records, cuts), 2 ** _levels(records), ratio * epsilon, chance)
    return _means_not_private(bins, (1 - 2 * ratio) * epsilon, chance)


def pribrp_put_right(records: Judged, epsilon: float, seed: int, ratio: float) -> Plot:
    """With the exact Cauchy rule, and with sums of distances from the middles of bins."""
    chance = np.random.default_rng(seed)
    cuts = medians_in_floats(records.number, ratio * epsilon, _levels(records), chance)
    bins = joined(_bins(records, cuts), 2 ** _levels(records), ratio * epsilon, chance)
    return _means_put_right(bins, (1 - 2 * ratio) * epsilon, chance)


def joined(bins: Bins, pieces: int, epsilon: float, chance: np.random.Generator) -> Bins:
    """Algorithm 14: from left to right, until a bin seems to have enough records; what is left joins the last one."""
    scale = 2 / epsilon
    enough = bins.number.sum() / pieces / 2 + 2 * scale * log(2 / FAILING)
    begins, size, threshold = [0], 0.0, enough + chance.laplace(0, scale)
    for place, count in enumerate(bins.number):
        size += count
        if size + chance.laplace(0, scale) >= threshold:
            begins.append(place + 1)
            size, threshold = 0.0, enough + chance.laplace(0, scale)
    return _together(bins, np.array(begins[:-1] or [0]))


def _levels(records: Judged) -> int:
    """Bins are the greatest power of two up to the root of the number of records."""
    return int(log2(records.number.sum()) / 2)


def _bins(records: Judged, cuts: Edges) -> Bins:
    """Bin records between cuts; of equal cuts, one is enough."""
    begins = np.unique(np.append(cuts, 0))
    begins = begins[begins < len(records.number)]
    edges = np.append(begins, len(records.number)) / len(records.number)
    number, positive, predicted = (np.add.reduceat(each.astype(np.float64), begins) for each in records[:3])
    return Bins(number, positive, predicted, edges[:-1], edges[1:])


def _together(bins: Bins, begins: NDArray[np.int64]) -> Bins:
    number, positive, predicted = (np.add.reduceat(each, begins) for each in bins[:3])
    upper = np.append(bins.lower[begins[1:]], bins.upper[-1])
    return Bins(number, positive, predicted, bins.lower[begins], upper)


def _means_not_private(bins: Bins, epsilon: float, chance: np.random.Generator) -> Plot:
    """Half of epsilon for counts, a quarter each for sums of predictions and of residuals, as printed."""
    width = bins.upper - bins.lower
    count = bins.number + chance.laplace(0, MOVES / (epsilon / 2), len(width))
    predicted = bins.predicted + chance.laplace(0, width / (epsilon / 4))
    residual = bins.positive - bins.predicted + chance.laplace(0, (1 + width) / (epsilon / 4))
    return _plot(bins, count, predicted, residual)


def _means_put_right(bins: Bins, epsilon: float, chance: np.random.Generator) -> Plot:
    """Three quarters of epsilon for positives and negatives, a quarter for sums of distances from the middle."""
    width, middle = bins.upper - bins.lower, (bins.upper + bins.lower) / 2
    positive, negative = (
        exact + chance.laplace(0, MOVES / (3 * epsilon / 4), len(width))
        for exact in (bins.positive, bins.number - bins.positive)
    )
    distances = bins.predicted - middle * bins.number + chance.laplace(0, width / (epsilon / 4))
    predicted = middle * (positive + negative) + distances
    return _plot(bins, positive + negative, predicted, positive - predicted)


def _plot(bins: Bins, count: Floats, predicted: Floats, residual: Floats) -> Plot:
    """Noisy means, within their bounds."""
    mean = np.clip(predicted / count, bins.lower, bins.upper)
    return Plot(mean, np.clip(residual / count, -bins.upper, 1 - bins.lower))
