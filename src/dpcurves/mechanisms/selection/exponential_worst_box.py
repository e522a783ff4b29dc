"""The box that an estimate counts worst, by the exponential mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ...arguments import WrongKind
from ...laws import Selection
from ...noise import selection
from ...noise.randomness import Randomness
from ...privacy import Adjacency, PrivacyLoss
from ...queries import Query, WorstBoxQuery
from ...queries.region import Box
from ...release import Plan, UnsupportedQuery
from ..base import ExactTable
from .bounded_range import bounded_range


@dataclass(frozen=True, slots=True)
class ExponentialWorstBox:
    """A box has a chance proportional to ``exp(rate * abs(count - expected))`` (Hardt, Ligett and McSherry 2012).

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. What is expected is public. A count
    changes by at most `l1_sensitivity`, the L1 distance of neighbouring tables, and so does its distance from anything:
    the log ratio of chances has a range of ``2 * rate * l1_sensitivity``, which is the `bounded_range` that the loss
    allows. The choice is drawn exactly, whatever ties.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not isinstance(query, WorstBoxQuery):
            raise UnsupportedQuery("question", f"a choice of a box cannot answer {type(query).__name__}")
        if rate_of(loss, adjacency) == 0:
            raise UnsupportedQuery("epsilon, rho", "a choice of a box needs a loss above zero")
        return Plan(query, loss, adjacency, "worst box by the exponential mechanism", Selection((0,)), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """The number of one box."""
        if not isinstance(plan.query, WorstBoxQuery):
            raise WrongKind("plan", f"a plan of a choice of a box is needed, not one made by {plan.made_by}")
        counts = box_counts(table[:-1].astype(np.int64).reshape(plan.query.shape), plan.query.boxes)
        misfits = np.abs(counts - np.array(plan.query.expected, dtype=np.int64))
        return (selection.choose(-misfits, rate_of(plan.loss, plan.adjacency), randomness),)


def rate_of(loss: PrivacyLoss, adjacency: Adjacency) -> Fraction:
    """The weight of a record of misfit in the exponent."""
    return bounded_range(loss) / (2 * adjacency.l1_sensitivity)


def box_counts(cells: NDArray[np.int64], boxes: Sequence[Box]) -> NDArray[np.int64]:
    """SECRET: how many records each box holds, from sums over all boxes that begin at the first cell.

    >>> box_counts(np.array([[1, 2], [4, 8]]), [((0, 2), (0, 2)), ((1, 2), (0, 1))])
    array([15,  4])
    """
    sums = np.pad(cells, [(1, 0)] * cells.ndim)
    for axis in range(cells.ndim):
        np.cumsum(sums, axis=axis, out=sums)
    ends = np.array(boxes, dtype=np.int64)  # (boxes, axes, 2)
    counts = np.zeros(len(ends), dtype=np.int64)
    for corner in product((0, 1), repeat=cells.ndim):
        at = tuple(ends[:, axis, side] for axis, side in enumerate(corner))
        counts += (-1) ** (cells.ndim - sum(corner)) * sums[at]
    return counts
