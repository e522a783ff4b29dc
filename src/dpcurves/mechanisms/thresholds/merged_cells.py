"""Neighbouring cells joined until they hold enough records: one threshold test after the other, on disjoint parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...arguments import WrongKind
from ...laws import Family, Noise, Selection
from ...noise.randomness import Randomness
from ...privacy import Adjacency, PrivacyLoss
from ...queries import MergePartitionQuery, Query
from ...release import Plan, UnsupportedQuery
from ..base import ExactTable
from ..selection.bounded_range import pure_epsilon
from ..sums.calibration import drawable, require_loss
from ..sums.linear import draws


@dataclass(frozen=True, slots=True)
class MergedCells:
    """From left to right, cells are joined until their noisy count reaches a noisy number (Chen 2018, Algorithm 14).

    That number is drawn anew for each interval, and the noise of the count for each cell that is joined. What is left
    over at the end belongs to the last interval; if there is none, all cells are one. Missing records count nowhere.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. Let one record more lie in some cell.
    Given the answer, that cell is in one interval, or in what is left over; all else is drawn alike on both sides.
    There the counts up to the cell are the same, and the others, that at the end of the interval among them, one more.

    - *From few to more*: shift the noisy number by 1, which costs ``1 / scale``. Counts that stayed below it still do:
      those before the cell with more room, the others with as much. The last one reaches it as before.
    - *From more to few*: shift nothing. Counts that stayed below do so all the more. Only the last one has to rise by
      1: that costs ``1 / scale``, too.

    So one move costs ``1 / scale``; neighbours are a path of ``l1_sensitivity`` of them, and noise of scale
    ``l1_sensitivity / epsilon`` on both is enough. (The published noise is twice that under add-remove, and this under
    replace-one.) A zero-concentrated loss pays for an epsilon of ``sqrt(2 * rho)``, rounded down.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not isinstance(query, MergePartitionQuery):
            raise UnsupportedQuery("question", f"merged cells cannot answer {type(query).__name__}")
        noise_of(loss, adjacency)
        return Plan(query, loss, adjacency, "merged cells", Selection((1,) * query.cells), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """For each cell whether an interval ends behind it, 1 or 0; the last one ends with the axis in any case."""
        if not isinstance(plan.query, MergePartitionQuery):
            raise WrongKind("plan", f"a plan of merged cells is needed, not one made by {plan.made_by}")
        noise = noise_of(plan.loss, plan.adjacency)
        drawn = draws(noise, 2 * plan.query.cells, randomness).tolist()
        counts = [int(count) for count in table[:-1]]
        return tuple(ends(counts, plan.query.least, drawn[::2], drawn[1::2]))


def noise_of(loss: PrivacyLoss, adjacency: Adjacency) -> Noise:
    """The noise of each count, and of each number that it has to reach.

    Raises:
        UnsupportedQuery: nothing may be lost, or no sampler has that much noise.
    """
    require_loss(loss)
    epsilon = pure_epsilon(loss)
    if epsilon == 0:
        raise UnsupportedQuery("epsilon, rho", "merged cells need a loss above zero")
    return drawable(Noise(Family.LAPLACE, adjacency.l1_sensitivity / epsilon), loss)


def ends(counts: Sequence[int], least: int, own: Sequence[int], common: Sequence[int]) -> Iterator[int]:
    """Mark the cells behind which an interval ends, given the noise of its count and that of an interval from it on."""
    total, threshold = 0, None
    for count, noise, fresh in zip(counts, own, common, strict=True):
        threshold = least + fresh if threshold is None else threshold
        total += count
        reached = total + noise >= threshold
        total, threshold = (0, None) if reached else (total, threshold)
        yield int(reached)
