"""Between zero-concentrated privacy and (epsilon, delta), in both directions."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import exp, isfinite, log, log1p, sqrt

from ..arguments import Refused, number

DIGITS = 12
COARSE = 1e-4
BILLIONTH = Decimal("1e-9")


def epsilon_of_zcdp(rho: Fraction | float, delta: float) -> float:
    """The least epsilon for which every rho-zCDP release is known to be (epsilon, delta)-private.

    Each order above 1 gives an epsilon that holds, so the search for the best one can cost tightness but not truth.
    The slope of epsilon in the order is ``rho - log(1 / (delta * order)) / (order - 1)**2``, which changes its sign
    once. The best order is found to the last bit, and epsilon to 1e-12 (relative where it is above 1).

    Formal guarantees: rho-zCDP implies (epsilon, delta) for the same neighbours (Canonne, Kamath and Steinke 2020,
    Proposition 12 and Corollary 13).

    Raises:
        ValueError: `delta` is not strictly between 0 and 1, or `rho` is negative or not finite.

    >>> round(epsilon_of_zcdp(0.5, 1e-6), 4)
    5.2215
    """
    loss, rest = _not_negative(rho, "rho"), -log(_chance(delta))
    if loss == 0:
        return 0.0
    above = _root(lambda above: loss * above * above + log1p(above) - rest, sqrt(rest) / sqrt(loss))
    return max(0.0, (1 + above) * loss + (rest - log1p(above)) / above - log1p(1 / above))


def delta_of_zcdp(rho: Fraction | float, epsilon: Fraction | float) -> float:
    """The least delta for which every rho-zCDP release is known to be (epsilon, delta)-private; 1 where none is.

    The inverse of `epsilon_of_zcdp`, by the same bound, at the order that is best for this epsilon.

    Raises:
        ValueError: an argument is negative or not finite.

    >>> round(delta_of_zcdp(0.5, epsilon_of_zcdp(0.5, 1e-6)), 12)
    1e-06
    """
    loss, kept = _not_negative(rho, "rho"), _not_negative(epsilon, "epsilon")
    if loss == 0:
        return 0.0
    above = _root(lambda above: (1 + 2 * above) * loss - kept - log1p(1 / above), kept / loss + 1 / sqrt(loss))
    return exp(min(0.0, above * ((1 + above) * loss - kept - log1p(1 / above)) - log1p(above)))


def rho_for(epsilon: Fraction | float, delta: float) -> Fraction:
    """The largest rho whose releases are all (epsilon, delta)-private by `epsilon_of_zcdp`.

    Rounded down to 12 digits, so the promise holds for the rational that is returned; and from 1e-4 on to whole
    billionths, which a ledger can keep.

    Raises:
        ValueError: `epsilon` is not a finite number above zero, or `delta` is not strictly between 0 and 1.

    >>> rho = rho_for(1, 1e-6)
    >>> float(rho), epsilon_of_zcdp(rho, 1e-6) <= 1
    (0.02435597, True)
    """
    kept = _not_negative(epsilon, "epsilon")
    if kept == 0:
        raise Refused("epsilon", "a number above zero is needed, got 0")
    enough = kept
    while epsilon_of_zcdp(enough, delta) <= kept:
        enough *= 2
    rho = _root(lambda rho: epsilon_of_zcdp(rho, delta) - kept, enough)
    digits = Context(prec=DIGITS, rounding=ROUND_FLOOR).create_decimal_from_float(rho)
    return Fraction(digits if rho < COARSE else digits.quantize(BILLIONTH, rounding=ROUND_FLOOR))


def _root(rising: Callable[[float], float], upper: float) -> float:
    """The zero of `rising` between 0 and `upper`: to the last bit."""
    lower = 0.0
    while lower < (middle := (lower + upper) / 2) < upper:
        if rising(middle) < 0:
            lower = middle
        else:
            upper = middle
    return upper


def _chance(delta: float) -> float:
    found = number("delta", delta)
    if not 0 < found < 1:
        raise Refused("delta", f"a chance strictly between 0 and 1 is needed, got {delta}")
    return found


def _not_negative(value: Fraction | float, name: str) -> float:
    number = float(value)
    if not (isfinite(number) and number >= 0):
        raise Refused(name, f"a finite number is needed that is not negative, got {value}")
    return number
