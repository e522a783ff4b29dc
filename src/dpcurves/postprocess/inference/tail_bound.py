"""Tail bound of a sum of noises: it holds for the exact law, not only for many noises."""

from __future__ import annotations

from functools import lru_cache
from math import exp, expm1, inf, log, sqrt
from typing import NamedTuple

from ...laws import Family, Noise


class Weighed(NamedTuple):
    """A number of independent noises of one law, each multiplied by `weight`."""

    times: int
    weight: float
    noise: Noise


@lru_cache(maxsize=4096)  # a pure function of public facts
def tail_bound(parts: tuple[Weighed, ...], chance: float) -> float:
    """The number that the sum of independent noises exceeds with at most this chance; by symmetry, likewise below.

    By Chernoff: for any rate t, the sum exceeds ``(log E exp(t * sum) - log chance) / t`` with at most this chance; the
    best rate is searched. Of a discrete Laplace law with ``q = exp(-1 / scale)`` the mean of exp(t * z) is
    ``(1 - q)**2 / ((1 - q * exp(t)) * (1 - q * exp(-t)))``, of a discrete Gaussian one it is at most
    ``exp(t**2 * variance / 2)`` (Canonne, Kamath and Steinke 2020, Corollary 17).

    >>> from fractions import Fraction
    >>> round(tail_bound((Weighed(4, 1.0, Noise(Family.GAUSSIAN, Fraction(9))),), 0.025), 2)
    16.3
    """
    present = [part for part in parts if part.times and part.weight]
    if not present:
        return 0.0
    largest = min(_largest_rate(part) for part in present)
    spread = sqrt(sum(part.times * part.weight**2 * part.noise.variance for part in present))

    def bound(log_rate: float) -> float:
        rate = exp(log_rate)
        if rate >= largest:
            return inf
        return (sum(part.times * part.noise.parties * _log_moment(part, rate) for part in present) - log(chance)) / rate

    highest = log(largest) if largest < inf else log(sqrt(-2 * log(chance)) / spread) + 10
    best = min(highest, log(sqrt(-2 * log(chance)) / max(spread, 1e-300)))  # of a Gaussian sum
    ends = (best - 10, highest)
    from scipy.optimize import minimize_scalar

    return float(minimize_scalar(bound, bounds=ends, method="bounded", options={"xatol": 1e-6}).fun)


def _largest_rate(part: Weighed) -> float:
    return 1 / float(part.noise.parameter) / abs(part.weight) if part.noise.family is Family.LAPLACE else inf


def _log_moment(part: Weighed, rate: float) -> float:
    """That of one draw by one party."""
    rate *= abs(part.weight)
    if part.noise.family is Family.GAUSSIAN:
        return rate**2 * float(part.noise.parameter) / 2
    decay = 1 / float(part.noise.parameter)
    return 2 * log(-expm1(-decay)) - log(-expm1(rate - decay)) - log(-expm1(-rate - decay))
