"""The choice between one round and two for the area under a ROC curve, by expected error, from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from dpcurves.curves import CdfQuestion
from dpcurves.data import Grid
from dpcurves.privacy import PrivacyLoss
from dpcurves.queries import Read

from .area_of_bits import First
from .tallied import Tallied
from .task import Task


@dataclass(frozen=True)
class Road:
    """A protocol for the area, where labels are public. Each person sends one report with the whole loss.

    Attributes:
        first: Which class reports its scores first, whose curve is published to the other. None: both report their
            scores, in one round.
        error: About the standard deviation of the area, of scores that are spread evenly.
    """

    first: First | None
    error: float

    @property
    def rounds(self) -> int:
        """The number of rounds, though each person is asked in one of them only."""
        return 1 if self.first is None else 2

    def __str__(self) -> str:
        if self.first is None:
            return "one round: both classes report their scores"
        return f"two rounds: {self.first} report their scores, then the others one bit each"


def area_roads(grid: Grid, loss: PrivacyLoss, *, positives: int, negatives: int) -> tuple[Road, ...]:
    """Protocols for an area, the one with the least forecast error first. Forecasts are of tasks whose `aim` is
    ``Read.AREA``.

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
    scores = {first: Task(CdfQuestion("score", grid), loss, people, aim=Read.AREA) for first, people in sizes.items()}
    told = {first: scores_variance(task.plan.law.required(Tallied)) for first, task in scores.items()}
    roads = [Road(None, sqrt(sum(told.values())))]
    one_bit = Task(CdfQuestion("bit", Grid(0, 1, cells=1)), loss, 1).plan.law.required(Tallied).levels[0]
    for first, second in ((First.NEGATIVES, positives), (First.POSITIVES, negatives)):
        roads.append(Road(first, sqrt(told[first] + 1 / (4 * float(one_bit.gain) ** 2 * second))))
    return tuple(sorted(roads, key=lambda road: road.error))


def scores_variance(law: Tallied) -> float:
    """The variance of an area that one class adds, given the scores of the other one: all are spread evenly.

    That of the mean of the curve over all its cells, of the people who report about one level or all; their scores are
    given.
    """
    return law.area_variance() / law.people**2
