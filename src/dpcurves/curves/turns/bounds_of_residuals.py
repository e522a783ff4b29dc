"""Bounds of residual plots: which part of the loss each gets, what it has to cover, and what noise may hide."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, sqrt

from ...queries.query import FINEST_SHARE, LARGEST_LEAST
from ...release import Setting

LEAST_SHARE, USUAL_SHARE, MOST_SHARE = Fraction(1, 20), Fraction(1, 10), Fraction(1, 5)
"""Parts of the budget that each bound may get; the usual one where the number of records is private."""
ENOUGH_RECORDS = 60
"""Records times epsilon from which on a bound is hardly ever missed."""
HIDDEN = 6
"""Three times the scale of each noise of a bound, times epsilon: so many records are spared."""
MOST_SPARED = 8
"""No more are spared than this part of all, where their number is public: else few records would lose half of them."""


def coverage_of_each(both: Fraction) -> Fraction:
    """What share each axis has to cover so that two of them cover `both` together, whatever lies where.

    What either leaves out may be different records: each may leave out half. In millionths, rounded up.

    >>> coverage_of_each(Fraction("0.95")), coverage_of_each(Fraction(1))
    (Fraction(39, 40), Fraction(1, 1))
    """
    return Fraction(ceil((1 + both) / 2 * FINEST_SHARE), FINEST_SHARE)


def bound_part(setting: Setting) -> Fraction:
    """What part of the budget each bound gets, in hundredths.

    >>> from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
    >>> [float(bound_part(Setting(PrivacyLoss.pure(1), ReplaceOne(EACH_RECORD, n)))) for n in (100, 500, 10**6)]
    [0.2, 0.12, 0.05]
    """
    loss, records = setting.loss, setting.adjacency.total
    if records is None:
        return USUAL_SHARE
    if loss.epsilon is not None:
        needed = Fraction(ENOUGH_RECORDS) / max(records * loss.epsilon, Fraction(ENOUGH_RECORDS))
    else:
        needed = Fraction(ENOUGH_RECORDS**2) / max(2 * records**2 * loss.rho, Fraction(ENOUGH_RECORDS**2))
    return min(max(Fraction(ceil(100 * needed), 100), LEAST_SHARE), MOST_SHARE)


def records_to_spare(setting: Setting, part: Fraction) -> int:
    """How many records the noise of a bound may hide that gets this part of the budget: an eighth of them at most.

    >>> from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
    >>> records_to_spare(Setting(PrivacyLoss.pure(1), ReplaceOne(EACH_RECORD, 500)), Fraction(3, 25))
    50
    """
    loss, records = setting.loss * part, setting.adjacency.total
    epsilon = float(loss.epsilon) if loss.epsilon is not None else sqrt(2 * float(loss.rho))
    most = records // MOST_SPARED if records is not None else LARGEST_LEAST
    return int(min(HIDDEN * setting.adjacency.unit.records / epsilon, most)) if epsilon > 0 else most
