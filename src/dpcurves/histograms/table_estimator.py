"""Base of table estimators: they ask, are answered, and end in an estimate of every cell."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import TypeAlias

from ..release import Setting
from ..workloads import Axes, EstimatedTable, Strategy, TableEstimator

__all__ = ["Axes", "Conversation", "EstimatedTable", "TableEstimator", "epsilon_per_record"]

Conversation: TypeAlias = Strategy[EstimatedTable]


def epsilon_per_record(setting: Setting, share: Fraction) -> float:
    """The epsilon at which Laplace noise of scale 1 / epsilon is as wide as that of a count for this share of the loss.

    Rules that say how fine to count are written for neighbours that differ by one record more or less.

    >>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne
    >>> who = ReplaceOne(EACH_RECORD, 100)
    >>> epsilon_per_record(Setting(PrivacyLoss.pure(1), who), Fraction(1, 2))
    0.25
    """
    loss = setting.loss * share
    if loss.epsilon is not None:
        return float(loss.epsilon / setting.adjacency.l1_sensitivity)
    return sqrt(4 * float(loss.rho) / setting.adjacency.squared_l2_sensitivity)
