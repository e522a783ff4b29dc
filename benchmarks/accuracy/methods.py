"""Ways to a distribution function, each with what it makes of a sample: shares below the edges of its grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from dpcurves.curves import CDF, AdaptivePartition, CdfQuestion
from dpcurves.data import Axis, Grid
from dpcurves.mechanisms import FlatHistogram, LinearMechanism, TreeSums
from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, CountUse, Hint

from .answering import COLUMN, answer, counts_of_partition
from .data import FloatArray, Sample
from .one_turn import counted, least_squares, shrunken


class Job(NamedTuple):
    """A release to be made."""

    sample: Sample
    loss: PrivacyLoss
    seed: int


Releases = Callable[[Sequence[Job]], Iterator[FloatArray]]


@dataclass(frozen=True)
class Method:
    """One row of the tables.

    Attributes:
        name: What the row is called.
        variants: What the row may be tuned to, by name; the best one is shown, which no private choice could know.
            One that is not tuned has one variant.
        most: Samples of more records, or of more cells than `most_cells`, are left out: too slow.
        pure: Whether it has a pure loss.
        zero_concentrated: Whether it has Gaussian noise.
    """

    name: str
    variants: dict[str, Releases]
    most: int = 10**9
    most_cells: int = 2**30
    pure: bool = True
    zero_concentrated: bool = True

    @property
    def title(self) -> str:
        return f"{self.name} *" if len(self.variants) > 1 else self.name

    def answers(self, sample: Sample, loss: PrivacyLoss) -> bool:
        suits = self.pure if loss.is_pure else self.zero_concentrated
        return suits and sample.records <= self.most and sample.grid.cells <= self.most_cells


def one_by_one(release: Callable[[Job], FloatArray]) -> Releases:
    """Make many releases of a way to make a single one."""
    return lambda jobs: map(release, jobs)


def untuned(name: str, release: Callable[[Job], FloatArray], **limits: bool | int) -> Method:
    return Method(name, {"": one_by_one(release)}, **limits)  # type: ignore[arg-type]


def ours(job: Job) -> FloatArray:
    """What a user gets who says nothing but the loss."""
    curve: CDF = answer(CdfQuestion(COLUMN, job.sample.grid), job.sample, job.loss, job.seed)
    return curve.y


def hinted(hint: Hint) -> Method:
    """Ours, where something is known in public."""

    def release(job: Job) -> FloatArray:
        question = CdfQuestion(COLUMN, job.sample.grid, hint=hint)
        curve: CDF = answer(question, job.sample, job.loss, job.seed)
        return curve.y

    return untuned(f"dpcurves, hint {hint.value}", release)


def flat(job: Job) -> FloatArray:
    return shrunken(counted(job.sample, FlatHistogram(), job.loss, job.seed))


def flat_of_least_squares(job: Job) -> FloatArray:
    return least_squares(counted(job.sample, FlatHistogram(), job.loss, job.seed))


def tree(job: Job) -> FloatArray:
    return shrunken(counted(job.sample, TreeSums(), job.loss, job.seed))


def tree_of_least_squares(job: Job) -> FloatArray:
    return least_squares(counted(job.sample, TreeSums(), job.loss, job.seed))


def coarse(kappa: float) -> Callable[[Job], FloatArray]:
    """Count as few intervals as the rule says; least squares, isotonic regression, straight lines."""

    def release(job: Job) -> FloatArray:
        mechanism = rule(kappa, job.sample.grid.cells, job.loss, job.sample.records).mechanism
        return least_squares(counted(job.sample, mechanism, job.loss, job.seed))

    return release


def partition(kappa: float) -> Callable[[Job], FloatArray]:
    """PrivTree, then a tree over its leaves; intervals of fewer records than the rule gives one are not divided."""

    def release(job: Job) -> FloatArray:
        records = job.sample.records
        least = records // rule(kappa, job.sample.grid.cells, job.loss, records).intervals
        question = CdfQuestion(COLUMN, job.sample.grid, method=AdaptivePartition(threshold=least))
        return least_squares(counts_of_partition(question, job.sample, job.loss, job.seed))

    return release


def grown_partition(job: Job) -> FloatArray:
    """Divide by PrivTree as far as noise lets it, and read as the product does."""
    curve: CDF = answer(
        CdfQuestion(COLUMN, job.sample.grid, method=AdaptivePartition()), job.sample, job.loss, job.seed
    )
    return curve.y


class Rule(NamedTuple):
    """How many intervals of equal width are worth counting, and how."""

    intervals: int
    mechanism: LinearMechanism


@lru_cache(maxsize=4096)
def rule(kappa: float, cells: int, loss: PrivacyLoss, records: int) -> Rule:
    """The power of two with the least sum of the mean squared noise of a prefix and kappa * records / (6 * intervals).

    What lies in an interval is taken to be of Poisson distribution; kappa allows for more.
    """
    query = CountQuery((Axis(COLUMN, Grid(0, 1, cells=cells)),), CountUse.PREFIXES)
    adjacency = ReplaceOne(EACH_RECORD, records)
    found: list[tuple[float, Rule]] = []
    for power in range(cells.bit_length()):
        width = 2**power
        intervals = -(-cells // width)
        plans = [
            (kind.plan(query, loss, adjacency).error ** 2, kind) for kind in (FlatHistogram(width), TreeSums(width))
        ]
        noise, mechanism = min(plans, key=lambda plan: plan[0])
        found.append((noise + kappa * records / (6 * intervals), Rule(intervals, mechanism)))
    return min(found, key=lambda each: each[0])[1]


PRODUCT_READINGS = "flat, shrunken", "PrivTree, product"
"""Rows that are read better than by least squares and isotonic regression, and are no tree."""


def reference() -> list[Method]:
    """Ours, and what its regret is measured against."""
    return [
        untuned("dpcurves", ours),
        untuned("flat", flat_of_least_squares),
        untuned("flat, shrunken", flat),
        untuned("tree", tree_of_least_squares),
        untuned("tree, shrunken", tree),
        untuned("coarse, kappa 1", coarse(1)),
        untuned("coarse, kappa 4", coarse(4)),
        untuned("PrivTree, kappa 1", partition(1)),
        untuned("PrivTree, kappa 4", partition(4)),
        untuned("PrivTree, product", grown_partition),
    ]
