"""Composition of several losses by their privacy loss distributions: tighter than adding them up."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from importlib import import_module
from math import ceil, exp, gcd, lcm
from types import ModuleType
from typing import Any

from ..arguments import NotInstalled
from .conversion import epsilon_of_zcdp

MOST_STEPS = 2**17  # of a loss distribution, at most


def composed_epsilon(pure: Sequence[Fraction], rho: Fraction, delta: float) -> float:
    """An epsilon for which releases of these pure losses, and of `rho` in all besides, are (epsilon, delta)-private.

    Among all releases with pure loss epsilon, a randomised response that tells the truth with odds ``exp(epsilon)`` is
    the worst, alone and in composition. Its loss is plus or minus epsilon; losses of independent responses add up as
    random variables, and delta is read off their sum. Losses are written in steps that divide them all, or, where
    these would be too many, rounded up to a step.

    What is known by its `rho` alone has no loss distribution. With half of `delta` it is turned into a release that
    reveals all with that chance and has a pure loss otherwise, and joins as such.

    Formal guarantees: an upper bound, when the sizes of the losses were fixed before the first answer; the releases
    themselves may be chosen after seeing those before (Kairouz, Oh and Viswanath 2015; Zhu, Dong and Wang
    2022). Sums are in floating point, with absolute errors in delta below 1e-12.

    Raises:
        ImportError: dp-accounting is not installed.
    """
    library = _library()
    losses = Counter(epsilon for epsilon in pure if epsilon > 0)
    if not losses:
        return epsilon_of_zcdp(rho, delta)
    step = _step(losses)
    spare = delta / 2 if rho > 0 else 0.0
    whole = library.identity(value_discretization_interval=float(step))
    for epsilon, times in losses.items():
        whole = whole.compose(_response(library, epsilon, 0.0, step).self_compose(times))
    if rho > 0:
        whole = whole.compose(_response(library, Fraction(epsilon_of_zcdp(rho, spare)), spare, step))
    return float(whole.get_epsilon_for_delta(delta))


def _response(library: ModuleType, epsilon: Fraction, revealing: float, step: Fraction) -> Any:
    """Randomised response with this epsilon, which reveals all with a chance of `revealing`."""
    truth = (1 - revealing) / (1 + exp(-epsilon))
    chances: defaultdict[int, float] = defaultdict(float, {ceil(epsilon / step): truth})
    chances[ceil(-epsilon / step)] += 1 - revealing - truth  # with an epsilon of 0 both are the same
    return library.PrivacyLossDistribution.create_from_rounded_probability(chances, revealing, float(step))


def _step(losses: Counter[Fraction]) -> Fraction:
    """The largest step that divides all losses, or a share of their sum where that is too fine.

    >>> _step(Counter([Fraction(1, 2), Fraction(1, 3)]))
    Fraction(1, 6)
    """
    whole = lcm(*(epsilon.denominator for epsilon in losses))
    common = Fraction(gcd(*(int(epsilon * whole) for epsilon in losses)), whole)
    return max(common, sum(losses.elements(), Fraction(0)) / MOST_STEPS)


def _library() -> ModuleType:
    try:
        return import_module("dp_accounting.pld.privacy_loss_distribution")
    except ImportError:
        raise NotInstalled("accountant", "'pld' needs dp-accounting; install dpcurves[accounting]") from None
