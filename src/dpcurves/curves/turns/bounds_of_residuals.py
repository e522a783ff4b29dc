"""Bounds of residual plots: which part of the loss each gets, what it has to cover, and what noise may hide."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, sqrt
from typing import NamedTuple

from ...data import Axis, Grid
from ...data.predictor import Predictor
from ...queries.query import FINEST_SHARE, LARGEST_LEAST
from ...release import ALL, Release, Setting
from ...workloads import Cells, Needs, needed

COUNTING = Fraction(3, 100)
"""The part of the budget that counts records where their number is private."""
LEAST_SHARE, MOST_SHARE = Fraction(1, 20), Fraction(1, 4)
"""No bound gets less of the budget, and none more."""
ENOUGH_RECORDS = 60
"""Records times epsilon from which on a bound is hardly ever missed."""
HIDDEN = 6
"""Three times the scale of each noise of a bound, times epsilon: so many records are spared."""
MOST_SPARED, SPARED_FROM = 8, 40
"""One record in so many is spared at the most, and below so many records times epsilon of a bound in proportion fewer:
else few records would lose half of them."""


class BoundTerms(NamedTuple):
    """The parts of the budget for each of the two bounds, and the rest.

    Attributes:
        part: The part of the budget that each bound gets.
        spare: How many records each need not cover.
        left: The part that is left for what lies within the bounds.
        counted: What was released to find out.
    """

    part: Fraction
    spare: int
    left: Fraction
    counted: tuple[Release, ...]


def bound_terms(column: str | Predictor, setting: Setting) -> Needs[BoundTerms]:
    """Choose what bounds get by the number of records: those with a value of this column, counted if that is private.

    Formal guarantees: the count is a turn of its own, and loses `COUNTING` of the budget. The terms are a function of
    its answer and of public facts, and their shares add up to the rest, whatever the answer: so by adaptive composition
    all turns together lose the budget at most.
    """
    if setting.adjacency.total is not None:
        records, left, counted = float(setting.adjacency.total), ALL, tuple[Release, ...]()
    else:
        found = yield from needed(Cells((Axis(column, Grid(0, 1, cells=1)),)), COUNTING)
        records = max(float(found.counts.unbiased.sum()), 0.0)
        left, counted = ALL - COUNTING, found.releases
    part = bound_part(setting, records)
    return BoundTerms(part, records_to_spare(setting, part, records), left - 2 * part, counted)


def coverage_of_each(both: Fraction) -> Fraction:
    """The share that each axis has to cover so that two of them cover `both` together, wherever records lie.

    What either leaves out may be different records: each may leave out half. In millionths, rounded up.

    >>> coverage_of_each(Fraction("0.95")), coverage_of_each(Fraction(1))
    (Fraction(39, 40), Fraction(1, 1))
    """
    return Fraction(ceil((1 + both) / 2 * FINEST_SHARE), FINEST_SHARE)


def bound_part(setting: Setting, records: float) -> Fraction:
    """The part of the budget for each bound at so many records, in hundredths.

    >>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
    >>> setting = Setting(PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
    >>> [float(bound_part(setting, records)) for records in (0, 100, 500, 10**6)]
    [0.25, 0.25, 0.12, 0.05]
    """
    loss, seen = setting.loss, Fraction(records)
    if loss.epsilon is not None:
        part = Fraction(ENOUGH_RECORDS) / max(seen * loss.epsilon, Fraction(ENOUGH_RECORDS))
    else:
        part = Fraction(ENOUGH_RECORDS**2) / max(2 * seen**2 * loss.rho, Fraction(ENOUGH_RECORDS**2))
    return min(max(Fraction(ceil(100 * part), 100), LEAST_SHARE), MOST_SHARE)


def records_to_spare(setting: Setting, part: Fraction, records: float) -> int:
    """The number of records that the noise of a bound may hide, of so many, at this part of the budget.

    >>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
    >>> setting = Setting(PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
    >>> [records_to_spare(setting, Fraction(3, 25), records) for records in (0, 100, 300, 500)]
    [0, 3, 33, 50]
    """
    loss, most = setting.loss * part, min(int(records) // MOST_SPARED, LARGEST_LEAST)
    epsilon = float(loss.epsilon) if loss.epsilon is not None else sqrt(2 * float(loss.rho))
    each = epsilon / setting.adjacency.unit.records
    return int(min(HIDDEN / each, most, most * records * each / SPARED_FROM)) if each > 0 else 0
