"""Which way leads to the area under a ROC curve with the least error, from public facts alone: one round or two."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from ..curves import CdfQuestion
from ..curves.area_of_bits import First
from ..data import Grid
from ..laws import Tallied
from ..postprocess.inference.simulation_seed import numbered_generator
from ..privacy import PrivacyLoss
from .task import Task

MOST_INTERVALS = 2**12
"""Levels with more intervals hardly change a mean over all cells."""
DRAWS = 400


@dataclass(frozen=True)
class Road:
    """A way to the area, where labels are public. Each person sends one report with the whole loss.

    Attributes:
        first: Which class reports its scores first, whose curve is published to the other. None: both report their
            scores, in one round.
        error: About the standard deviation of the area, of scores that are spread evenly.
    """

    first: First | None
    error: float

    @property
    def rounds(self) -> int:
        """How often somebody is asked, though each person only once."""
        return 1 if self.first is None else 2

    def __str__(self) -> str:
        if self.first is None:
            return "one round: both classes report their scores"
        return f"two rounds: {self.first} report their scores, then the others one bit each"


def area_roads(grid: Grid, loss: PrivacyLoss, *, positives: int, negatives: int) -> tuple[Road, ...]:
    """All ways, the one with the least error first.

    Args:
        grid: Public cells of scores.
        loss: What one report may lose.
        positives: About how many positives report.
        negatives: About how many negatives do.

    Raises:
        ValueError: a class has nobody, or too many people.

    >>> import dpcurves as dp
    >>> best, *_ = area_roads(dp.Grid(0, 1, cells=64), dp.PrivacyLoss.pure(1), positives=500, negatives=5000)
    >>> best.rounds, str(best.first)
    (2, 'negatives')
    """
    sizes = {First.NEGATIVES: negatives, First.POSITIVES: positives}
    scores = {first: Task(CdfQuestion("score", grid), loss, people) for first, people in sizes.items()}
    told = {first: scores_variance(task.plan.law.required(Tallied)) for first, task in scores.items()}
    roads = [Road(None, sqrt(sum(told.values())))]
    one_bit = Task(CdfQuestion("bit", Grid(0, 1, cells=1)), loss, 1).plan.law.required(Tallied).levels[0]
    for first, second in ((First.NEGATIVES, positives), (First.POSITIVES, negatives)):
        roads.append(Road(first, sqrt(told[first] + 1 / (4 * float(one_bit.gain) ** 2 * second))))
    return tuple(sorted(roads, key=lambda road: road.error))


def scores_variance(law: Tallied) -> float:
    """The variance of an area that one class adds, given the scores of the other one: all are spread evenly.

    That of the mean of the curve over all its cells. Debiased counts scatter as those of samples with replacement; what
    the levels asked together is all people, whose scores are given: see `Tallied.prefix_variances`.
    """
    nested = law.nested
    levels = tuple(level for level in nested.levels if len(level.starts) <= MOST_INTERVALS) or nested.levels[:1]
    short = replace(nested, levels=levels).of_intervals
    weights = 1 - (np.arange(short.cells) + 0.5) / short.cells
    drawn = [cells[:, 0] @ weights for cells, _ in short.simulate(law.people, DRAWS, numbered_generator(8))]
    variance = float(np.concatenate(drawn).var()) / law.people**2
    return max(variance - 1 / (12 * law.people), 0.0)
