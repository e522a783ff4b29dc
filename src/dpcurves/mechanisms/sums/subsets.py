"""The number of subsets that confirm a claim, with noise for the one or two that a unit can change."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from ...laws import Family, IntervalSums, Tier, Noise
from ...privacy import AddRemove, Adjacency, PrivacyLoss
from ...queries import Query, SubsetQuery
from ...release import Plan, UnsupportedQuery
from .calibration import drawable, require_loss
from .linear import Linear, printed


@dataclass(frozen=True, slots=True)
class Subsets(Linear):
    """The number of subsets that confirm, and noise (Barrientos, Reiter, Machanavajjhala and Chen 2019).

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``, whatever is fitted. All used records
    of a unit lie in one subset, which is a function of the unit and of a key alone (for records that are the same, of
    the number among them, so that one more moves no other); what a subset says is a function of the multiset of its
    own records. So a unit that comes or goes changes the verdict of one subset at most, and the
    count by 1. A unit that is replaced leaves one subset and enters another: each verdict may change, both in one
    direction, so the count moves by 2 at most, whether or not it keeps its name, and however many records it has.
    *Pure*: discrete Laplace noise of scale ``D / epsilon`` for a count that moves by D. *Zero-concentrated*: discrete
    Gaussian noise of variance parameter ``D**2 / (2 * rho)`` (Canonne, Kamath and Steinke 2020, Theorem 14).
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not isinstance(query, SubsetQuery):
            raise UnsupportedQuery("question", f"counts of subsets cannot answer {type(query).__name__}")
        require_loss(loss)
        noise = drawable(_noise(Fraction(moved(adjacency)), loss), loss)
        law = IntervalSums(1, 1, (Tier((0,), noise),), None)
        return Plan(query, loss, adjacency, "count of subsets", law, printed(sqrt(noise.variance)))


def moved(adjacency: Adjacency) -> int:
    """The largest difference of the counts of two neighbours.

    >>> from dpcurves.privacy import EACH_RECORD, ReplaceOne, Unit
    >>> moved(AddRemove(Unit("patient", 9))), moved(ReplaceOne(EACH_RECORD, 100))
    (1, 2)
    """
    return 1 if isinstance(adjacency, AddRemove) else 2


def _noise(distance: Fraction, loss: PrivacyLoss) -> Noise:
    if loss.epsilon is not None:
        return Noise(Family.LAPLACE, distance / loss.epsilon)
    return Noise(Family.GAUSSIAN, distance**2 / (2 * loss.rho))
