"""The loss of a choice, which has no noise that could be Gaussian: an epsilon, or a range of log ratios."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from ...privacy import PrivacyLoss

_ROOT_BITS = 40


def pure_epsilon(loss: PrivacyLoss) -> Fraction:
    """The epsilon that a mechanism without delta may have: of a pure loss its own, else the root of ``2 * rho``.

    Rounded down. A pure loss of epsilon is ``epsilon**2 / 2`` zero-concentrated (Bun and Steinke 2016).
    """
    return loss.epsilon if loss.epsilon is not None else _root(2 * loss.rho)


def bounded_range(loss: PrivacyLoss) -> Fraction:
    """The range that a choice may have: epsilon of a pure loss, else the root of ``8 * rho``, rounded down.

    Formal guarantees: if on two neighbouring tables the log ratio X of the chances of an outcome lies in an interval of
    length r, the choice is r-differentially private, since chances add up to 1 on either side. It is also ``r**2 / 8``
    zero-concentrated (Dong, Durfee and Rogers 2020; Cesar and Rogers 2021); the proof stands in `ExponentialQuantiles`.

    >>> bounded_range(PrivacyLoss.pure(1)), bounded_range(PrivacyLoss.zcdp("0.125"))
    (Fraction(1, 1), Fraction(1, 1))
    """
    return loss.epsilon if loss.epsilon is not None else _root(8 * loss.rho)


def _root(value: Fraction) -> Fraction:
    return Fraction(isqrt(int(value * 4**_ROOT_BITS)), 2**_ROOT_BITS)
