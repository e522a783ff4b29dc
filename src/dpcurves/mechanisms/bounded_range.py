"""How far the log ratio of two chances may differ from one outcome to another: what a loss allows a choice."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from ..privacy import PrivacyLoss

_ROOT_BITS = 40


def bounded_range(loss: PrivacyLoss) -> Fraction:
    """The range that a choice may have: epsilon of a pure loss, else the root of ``8 * rho``, rounded down.

    Formal guarantees: if on two neighbouring tables the log ratio X of the chances of an outcome lies in an interval of
    length r, the choice is r-differentially private, since chances add up to 1 on either side. It is also ``r**2 / 8``
    zero-concentrated (Dong, Durfee and Rogers 2020; Cesar and Rogers 2021); the proof stands in `RecursiveCuts`.

    >>> bounded_range(PrivacyLoss.pure(1)), bounded_range(PrivacyLoss.zcdp("0.125"))
    (Fraction(1, 1), Fraction(1, 1))
    """
    if loss.epsilon is not None:
        return loss.epsilon
    return Fraction(isqrt(int(8 * loss.rho * 4**_ROOT_BITS)), 2**_ROOT_BITS)
