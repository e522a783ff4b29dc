"""What the article's budget buys: noise of one count and of many, under several ways to add losses up."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, expm1, log, sqrt

from scipy.optimize import brentq
from scipy.special import ndtr

from dpcurves.privacy import PrivacyLoss
from dpcurves.privacy.loss import rho_for


def classical(epsilon: float, delta: float) -> float:
    """Standard deviation over sensitivity (Dwork and Roth 2014, Theorem A.1): for epsilon below 1."""
    return sqrt(2 * log(1.25 / delta)) / epsilon


def least(epsilon: float, delta: float) -> float:
    """The least there is (Balle and Wang 2018, Theorem 8)."""

    def excess(spread: float) -> float:
        low, high = 1 / (2 * spread) - epsilon * spread, -1 / (2 * spread) - epsilon * spread
        return float(ndtr(low) - exp(epsilon) * ndtr(high)) - delta

    return _least_that(excess, 1e-3, 1e5)


def of_many(epsilon: float, delta: float, counts: int) -> dict[str, float]:
    """The standard deviation of each of so many counts, which one record changes by 1."""
    return {
        "simple composition": classical(epsilon / counts, delta / counts),
        "advanced composition": _advanced(epsilon, delta, counts),
        "moments accountant": sqrt(counts / (2 * rho_for(epsilon, delta))),
        "least": least(epsilon, delta) * sqrt(counts),
    }


def laplace_by_pld(epsilon: float, delta: float, counts: int) -> float | None:
    """The deviation with Laplace noise, its losses composed by their distributions; None without dp-accounting."""

    def excess(each: float) -> float:
        part = PrivacyLoss.pure(Fraction(each).limit_denominator(10**4))
        return sum([part] * (counts - 1), start=part).epsilon_at(delta, accountant="pld") - epsilon

    try:
        return sqrt(2) / float(brentq(excess, epsilon / counts, 2.0, xtol=1e-3))
    except ImportError:
        return None


def _advanced(epsilon: float, delta: float, counts: int) -> float:
    """Dwork, Rothblum and Vadhan (2010): half of delta for the composition, half for the parts."""

    def excess(each: float) -> float:
        return each * sqrt(2 * counts * log(2 / delta)) + counts * each * expm1(each) - epsilon

    return classical(float(brentq(excess, 1e-9, epsilon)), delta / (2 * counts))


def _least_that(falling: Callable[[float], float], low: float, high: float) -> float:
    return float(brentq(falling, low, high, xtol=1e-9))
