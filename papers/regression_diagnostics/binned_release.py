"""Binned residuals by dpcurves, under replace-one, with its own budget or another."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
from binned_as_printed import Plot
from binned_data import Judged
from numpy.typing import NDArray

from dpcurves import conversation
from dpcurves.conversation import GroupBudgetFractions, Release, Setting, Step, Strategy
from dpcurves.curves import BinnedResidualsQuestion
from dpcurves.curves.question import ScoredColumns
from dpcurves.curves.residuals import (
    BIN_COUNTS_FRACTION,
    BIN_CUTS_FRACTION,
    BIN_MERGES_FRACTION,
    BIN_SUMS_FRACTION,
    find_min_records,
)
from dpcurves.curves.score_groups import build_score_groups
from dpcurves.data import Axis, Categories
from dpcurves.data.grid import SCORES
from dpcurves.inference import GroupCounts, mean_residuals
from dpcurves.mechanisms import AUTO
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import DISJOINT_RECORDS, EACH_RECORD, PrivacyLoss, ReplaceOne
from dpcurves.queries import Query, SumQuery
from dpcurves.session import answer_steps
from dpcurves.strategies.ranks import ask_groups

Found = TypeVar("Found")
Steps = Callable[[Setting], Generator[Step, Release, Found]]
QUESTION = BinnedResidualsQuestion("label", "score", DISJOINT_RECORDS)


@dataclass(frozen=True)
class Divided:
    """The question of dpcurves, with any share of the budget for cuts, others in proportion; without envelope.

    With the share that dpcurves has, it is the same question.
    """

    share: Fraction

    def steps(self, setting: Setting) -> Strategy[GroupCounts]:
        """Cuts, merges, counts, sums."""
        joining = self.share * BIN_MERGES_FRACTION / BIN_CUTS_FRACTION
        rest = (1 - self.share - joining) / (BIN_COUNTS_FRACTION + BIN_SUMS_FRACTION)
        shares = GroupBudgetFractions(self.share, BIN_COUNTS_FRACTION * rest, BIN_SUMS_FRACTION * rest, joining)
        needed = conversation.ScoreGroupWorkload(
            Categories("label", (0, 1)), Axis("score", SCORES), QUESTION.bins, shares, find_min_records(setting)
        )
        found = yield from ask_groups(needed, setting)
        return build_score_groups(found, ScoredColumns(), QUESTION.bins).group_counts


def by_dpcurves(records: Judged, epsilon: float, seed: int, ratio: float) -> Plot:
    """With this share of the budget for cuts, and two thirds of it for joining bins."""
    groups = answered(Divided(Fraction(str(ratio))).steps, records, epsilon, seed)
    return Plot(groups.mean, mean_residuals(groups))


def answered(steps: Steps[Found], records: Judged, epsilon: float, seed: int) -> Found:
    """What a session would give."""
    loss, adjacency = PrivacyLoss.pure(f"{epsilon:.12g}"), ReplaceOne(EACH_RECORD, int(records.number.sum()))
    chance = Randomness.from_seed(seed)

    def reply(step: Step) -> Release:
        plan = AUTO.plan(step.query, loss * step.budget_fraction, adjacency)
        return Release(plan, AUTO.run(table_of(records, step.query), plan, chance), None, seeded=True)

    return answer_steps(steps(Setting(loss, adjacency)), reply)


def table_of(records: Judged, query: Query) -> NDArray[np.int64] | NDArray[np.object_]:
    """Counts, or sums of distances from the middles of bins, rounded once for a bin.

    No record is missing, and none lies in the cells for scores outside of the grid.
    """
    axis = query.axes[-1]
    assert isinstance(axis, Axis)
    apart = (axis.grid.slots - axis.grid.cells) // 2
    begins = np.searchsorted(SCORES.edges, axis.grid.edges[:-1])
    count, positive, predicted, of_positive = (np.add.reduceat(each, begins) for each in records)
    if not isinstance(query, SumQuery):
        cells = (count - positive, positive) if query.rows > 1 else (count,)
        return np.append(np.concatenate([np.pad(own, apart) for own in cells]), 0)
    middle, step = axis.grid.edges[:-1] + np.diff(axis.grid.edges) / 2, np.diff(axis.grid.edges) / (2 * query.half)
    distances = predicted - of_positive - middle * (count - positive), of_positive - middle * positive
    steps = np.concatenate([np.pad(own / step, apart) for own in distances])
    return np.append([round(float(each)) for each in steps], 0).astype(object)
