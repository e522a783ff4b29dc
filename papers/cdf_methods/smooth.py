"""Smooth sensitivities of all quantiles together, and how much Gaussian noise they need (Nissim, Raskhodnikova, Smith).

Real noise in doubles: sound in the real numbers, a baseline to compare with, and no mechanism of dpcurves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import exp, expm1, inf, log, sqrt

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import log_ndtr

FloatArray = NDArray[np.float64]
BETAS = np.geomspace(1e-4, 2.0, 60)
ORDERS = 1 + np.geomspace(1e-2, 1e4, 200)
LEAST = 2.0**-300
"""Above 0, and so far above where doubles lose digits that products of two of them lose none."""


def smooth_sensitivities(values: FloatArray, beta: float, ends: tuple[float, float]) -> tuple[FloatArray, int]:
    """Find the smooth sensitivity at each rank, and how many steps that took: about ``n log n`` for all of them.

    S of rank r is the largest ``exp(-beta (j - i - 1)) (x_j - x_i)`` with ``i <= r <= j``, in rising order and with the
    ends of the range beyond the records. Records are cut in two, again and again. Pairs on both sides of a cut: with
    the cut as origin, the weight of a pair is a factor of i times ``exp(-beta j) (x_j - x_i)``, for each j a straight
    line in ``x_i``. The highest line at each i is found for all i in one pass, and runs along with i; it counts for all
    ranks from i to the cut. The other side alike.

    Where many records are alike it would be rounded to 0, and to no noise at all: it is `LEAST` of the range at least,
    and remains a smooth bound, as any larger of two is.
    """
    padded = np.concatenate([[ends[0]], np.sort(values), [ends[1]]])
    found, steps = _all_ranks(padded, beta)
    return np.maximum(found[1:-1], LEAST * (ends[1] - ends[0])), int(steps)


@dataclass(frozen=True)
class Smoothing:
    """Noise of standard deviation ``factor`` times the `beta`-smooth sensitivity."""

    beta: float
    factor: float


def as_nissim(epsilon: float, delta: float, quantiles: int) -> Smoothing:
    """Their constants for Gaussian noise and one dimension, with equal parts of epsilon and delta for each quantile."""
    part, chance = epsilon / quantiles, delta / quantiles
    return Smoothing(part / (4 * (1 + log(2 / chance))), 5 * sqrt(2 * log(2 / chance)) / part)


@lru_cache(maxsize=256)
def composed(epsilon: float, delta: float, quantiles: int) -> Smoothing:
    """The least noise for evenly spread records, among all beta, by Renyi divergences of Gaussian distributions.

    Where records are spread evenly a smooth sensitivity is about 1 / beta, so factor / beta is made least. Divergences
    of all quantiles add up. There is one for orders below ``1 / (1 - exp(-2 beta))`` alone: with noise whose width
    depends on the records no zero-concentrated privacy is to be had.
    """
    candidates = (Smoothing(float(beta), factor_for(float(beta), epsilon, delta, quantiles)) for beta in BETAS)
    return min(candidates, key=lambda smoothing: smoothing.factor / smoothing.beta)


def factor_for(beta: float, epsilon: float, delta: float, quantiles: int) -> float:
    """The least factor with which so many quantiles together are (epsilon, delta)-private, over a grid of orders.

    Neighbours have sensitivities S and S' with ``|log(S / S')| <= beta``, and quantiles at most ``min(S, S')`` apart.
    Of order a, with v the ratio of variances, the divergence is largest at an end: for a second distribution that is
    narrower every part of it rises with the ratio; for a wider one the part of the widths rises and that of the
    distance falls.
    """
    order = ORDERS[ORDERS * -expm1(-2 * beta) < 1]
    narrow, wide = order - (order - 1) * exp(2 * beta), order * exp(2 * beta) + 1 - order
    of_widths = -beta - np.log(narrow) / (2 * (order - 1)), beta + (2 * beta - np.log(wide)) / (2 * (order - 1))
    each = (epsilon - _converted(order, delta)) / quantiles
    left = each - of_widths[0], each - of_widths[1]
    some = np.minimum(*left) > 0
    needed = np.maximum(order / (2 * narrow * left[0]), order / (2 * left[1]))[some]
    return sqrt(float(needed.min(initial=inf)))


def delta_reached(smoothing: Smoothing, epsilon: float, ratio: float) -> float:
    """The exact delta of one quantile, for the neighbour whose sensitivity is `ratio` times as large, as far as can be.

    In units of S: the first distribution has the standard deviation s, the second r s, and they lie ``min(1, r)``
    apart. Where the log ratio of densities passes epsilon is where a square does; both distributions are integrated
    from there.
    """
    s, r, shift = smoothing.factor, ratio, min(1.0, ratio)
    # log p(z) - log q(z) = log r - z**2 / (2 s**2) + (z + shift)**2 / (2 r**2 s**2) > epsilon
    a, b = (1 / r**2 - 1) / (2 * s**2), shift / (r * s) ** 2
    c = shift**2 / (2 * (r * s) ** 2) + log(r) - epsilon
    if abs(a) < 1e-15:
        cuts = [(-c / b, inf)]
    else:
        square = b * b - 4 * a * c
        if square <= 0:
            return 1.0 if a > 0 else 0.0
        low, high = sorted(((-b - sqrt(square)) / (2 * a), (-b + sqrt(square)) / (2 * a)))
        cuts = [(low, high)] if a < 0 else [(-inf, low), (high, inf)]
    first = sum(_between(low / s, high / s) for low, high in cuts)
    second = sum(_between((low + shift) / (r * s), (high + shift) / (r * s)) for low, high in cuts)
    return max(0.0, first - exp(epsilon) * second)


def _converted(order: FloatArray, delta: float) -> FloatArray:
    """What epsilon is above the Renyi divergence (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    return np.asarray(-np.log(delta * order) / (order - 1) + np.log1p(-1 / order))


def _between(low: float, high: float) -> float:
    """The chance of a standard normal distribution, also far out."""
    if low > 0:
        low, high = -high, -low
    upper, lower = float(log_ndtr(high)), float(log_ndtr(low))
    return 0.0 if upper == -inf else -exp(upper) * expm1(min(0.0, lower - upper)) if lower > -inf else exp(upper)


@njit(cache=True)
def _all_ranks(x, beta):  # type: ignore[no-untyped-def]
    """Find the largest weighted distance around each of rising places, ends included, and the steps that it took."""
    count = len(x)
    best, steps = np.zeros(count), 0
    half = 1
    while half < count:
        for start in range(0, count - half, 2 * half):
            middle, end = start + half, min(start + 2 * half, count)
            right = np.exp(-beta * np.arange(end - middle))
            highest, taken = _highest(-right, right * x[middle:end], x[start:middle])
            steps += taken
            largest = 0.0
            for i in range(half):
                largest = max(largest, highest[i] * np.exp(-beta * (half - 1 - i)))
                best[start + i] = max(best[start + i], largest)
            left = np.exp(-beta * np.arange(half - 1, -1, -1))
            highest, taken = _highest(left, -left * x[start:middle], x[middle:end])
            steps += taken
            largest = 0.0
            for j in range(end - middle - 1, -1, -1):
                largest = max(largest, highest[j] * right[j])
                best[middle + j] = max(best[middle + j], largest)
        half *= 2
    return best, steps


@njit(cache=True)
def _highest(slopes, heights, places):  # type: ignore[no-untyped-def]
    """The highest of straight lines at each place; slopes and places rise."""
    kept, top, steps = np.empty(len(slopes), dtype=np.int64), 0, 0
    for line in range(len(slopes)):
        while top > 0:
            steps += 1
            last = kept[top - 1]
            if slopes[line] == slopes[last]:
                if heights[line] < heights[last]:
                    break
            elif top == 1:
                break
            else:
                before = kept[top - 2]  # lines that differ by many orders of magnitude are never subtracted alone
                meets_before = (heights[before] - heights[last]) * (slopes[line] - slopes[last])
                if meets_before < (heights[last] - heights[line]) * (slopes[last] - slopes[before]):
                    break
            top -= 1
        if top == 0 or slopes[line] > slopes[kept[top - 1]]:
            kept[top] = line
            top += 1
    found, at = np.empty(len(places)), 0
    for place in range(len(places)):
        while at + 1 < top:
            here, there = kept[at], kept[at + 1]
            steps += 1
            if slopes[there] * places[place] + heights[there] < slopes[here] * places[place] + heights[here]:
                break
            at += 1
        found[place] = slopes[kept[at]] * places[place] + heights[kept[at]]
    return found, steps + len(places)
