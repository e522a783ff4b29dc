"""What all estimators share: they ask, are answered, and end in an estimate of every cell."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Protocol

from ..arrays import FloatArray
from ..data import Axis, Categories
from ..release import Release, Setting, Step

Axes = tuple[Axis | Categories, ...]
Conversation = Generator[Step, Release, "EstimatedTable"]


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedTable:
    """Estimated counts: no whole numbers, and some may be below zero.

    Attributes:
        cells: The counts of the cells of the grids, of shape ``(cells of the first axis, ...)``.
        outside: The count of all cells for values outside of a grid together; 0 where there are none.
        missing: How many records are missing on some axis.
        releases: What they were read from.
    """

    cells: FloatArray
    outside: float
    missing: float
    releases: tuple[Release, ...]


class TableEstimator(Protocol):
    """How the cells of a table are estimated, in one or more turns of a question. Fields are public.

    Formal guarantees: `counts` is a pure function of the fields, the arguments and the releases that it is sent (it
    stands behind the privacy wall). It asks for `share` of the budget in all, in shares that are public, and ends in
    estimates whatever is sent. So an estimator loses what its share of the loss says, by the promises of what it asks.
    """

    def counts(self, axes: Axes, setting: Setting, share: Fraction) -> Conversation:
        """Ask turn by turn; return an estimate of the table with these axes."""
        ...


def epsilon_per_record(setting: Setting, share: Fraction) -> float:
    """The epsilon at which Laplace noise of scale 1 / epsilon is as wide as that of a count for this share of the loss.

    Rules that say how fine to count are written for neighbours that differ by one record more or less.

    >>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne
    >>> who = ReplaceOne(EACH_RECORD, 100)
    >>> epsilon_per_record(Setting(PrivacyLoss.pure(1), who, True), Fraction(1, 2))
    0.25
    """
    loss = setting.loss * share
    if loss.epsilon is not None:
        return float(loss.epsilon / setting.adjacency.l1_sensitivity)
    return sqrt(4 * float(loss.rho) / setting.adjacency.squared_l2_sensitivity)
