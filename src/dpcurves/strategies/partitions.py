"""Data-dependent partitions for distribution functions: bisection, PrivTree, and cuts at private quantiles.

An analyst names one with ``method=`` in place of the default method. Each method spends a public fraction of the loss
to choose intervals of a grid's cells, and the rest to count them with noise:

    method                 choice of intervals                                       fraction
    `Bisection`            halve the fullest interval, by noisy counts, r times      1/4
    `AdaptivePartition`    PrivTree: divide where noisy counts are large             1/5
    `QuantilePartition`    recursive private quantiles                               3/10

`ask_rounds` of each is a generator of queries: it receives their noisy answers and returns counts of the axis.
`count_between` is the last round of all. It counts the chosen intervals (*leaves*) on nested *tilings*: divisions of
the axis into disjoint intervals, each with noisy counts of all its intervals. h tilings group the leaves by about the
h-th root of their number, so that the count below a point is a sum of few noisy counts (`choose_leaf_tilings`). Each
count then has h times the scale (Laplace noise) or variance (Gaussian noise).

Formal guarantees: intervals are functions of released numbers. A record lies in one interval of each tiling, so
counting loses the rest of the loss for any intervals, and all rounds add up to the granted loss (adaptive composition).

References: Zhang, Xiao and Xie 2016 (PrivTree); Kaplan, Schnapp and Stemmer 2022 (quantiles); Qardaji, Yang and Li 2013
(tilings).

>>> choose_leaf_tilings(range(0, 40, 2), Family.GAUSSIAN, total_is_public=True)  # first cells of each tiling
(range(0, 40, 8), range(0, 40, 4), range(0, 40, 2))
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..arguments import InvalidArgument, WrongArgumentType, convert_to_integers
from ..arrays import FloatArray
from ..conversation import WHOLE_BUDGET, Axes, Evidence, Release, Setting, Step, Strategy, TableCounts
from ..data import Axis, Grid, Outside
from ..distributions import Family, IntervalSums, Noise, Tier, least_squares, round_error
from ..queries import PartitionQuery, Places, QuantileCutsQuery, SplitRule, TreePartitionQuery

_LARGE = Fraction(10**6)
"""Records (Laplace) or squared records (Gaussian). Noise parameter so large that the discreteness of the noise does not
matter.
"""


EARLY_ROUNDS_FRACTION = Fraction(1, 4)
"""Budget fraction of all rounds of a bisection except the last, which has the rest."""


@dataclass(frozen=True, slots=True)
class Bisection:
    """Count intervals that were found by repeated bisection.

    Each round halves the interval with the largest estimate and counts all intervals, because a single private count
    costs no less. So all rounds together decide on the next halving. They share a quarter of the loss. After one more
    halving the last round counts the intervals with the rest, with noise that did not influence their choice.

    The noise grows with the number of rounds; `AdaptivePartition` finds any number of intervals at one cost.

    Formal guarantees: each round loses its fraction of the loss, and intervals are functions of released numbers; the
    rounds compose adaptively.

    Attributes:
        rounds: Number of rounds, and of halvings, from 1 to 1000; fewer are made if the grid has fewer cells.

    Raises:
        ValueError: `rounds` is below 1 or above 1000.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> session = dp.Session({"x": np.arange(5000) % 100}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE)
    >>> question = dp.CdfQuestion("x", dp.Grid(0, 100, cells=64), method=Bisection(rounds=8))
    >>> bool(abs(session.ask(question, dp.PrivacyLoss.pure(1)).cdf(50) - 0.5) < 0.05)
    True
    """

    rounds: int

    def __post_init__(self) -> None:
        convert_to_integers(self, rounds="rounds")
        most_rounds = 1000  # rounds: largest number of rounds of a bisection
        if not 1 <= self.rounds <= most_rounds:
            raise InvalidArgument(
                "rounds", f"must be a number of rounds from 1 to {most_rounds}, as in 3, got {self.rounds}"
            )

    def ask_rounds(self, axes: Axes, setting: Setting) -> Strategy[TableCounts]:
        """Yield the rounds of the bisection, then the count with the remaining loss; return all counts.

        Args:
            axes: Categories, if any, then the column on its grid.
            setting: Loss and adjacency.
        """
        axis = require_axis(axes)
        releases = list[Release]()
        starts = [0, 1, axis.slots - 1] if axis.grid.outside is Outside.APART else [0]
        counts = np.diff([*starts, axis.slots]).astype(np.float64)
        counts_before = min(self.rounds, axis.slots - len(starts)) - 1  # beyond that no interval can be halved
        for _ in range(counts_before):
            _halve_fullest(starts, counts, axis.slots)
            releases.append(
                (yield Step(PartitionQuery((axis,), (tuple(starts),)), EARLY_ROUNDS_FRACTION / counts_before))
            )
            counts = estimate_intervals(merge_releases(releases))
        _halve_fullest(starts, counts, axis.slots)
        budget_fraction = WHOLE_BUDGET - EARLY_ROUNDS_FRACTION if releases else WHOLE_BUDGET
        return (yield from count_between(axes, starts, releases, setting, budget_fraction=budget_fraction))

    def __str__(self) -> str:
        return f"by {self.rounds} bisections"


PARTITION_FRACTION = Fraction(1, 5)
"""Budget fraction of the private partition; the counts of its leaves get the other 4/5."""
MAX_BRANCHING_FACTOR = 2**20
"""Intervals. Largest branching factor of a partition; a larger one is refused."""


@dataclass(frozen=True, slots=True)
class AdaptivePartition:
    """Count on a partition that is refined privately where records are many (PrivTree; Zhang, Xiao and Xie 2016).

    The first round divides the grid where records are many, down to single cells if necessary, with a fifth of the
    loss. The second round counts the leaves, with a tree over them. The method suits records in a small, unknown part
    of a wide or fine grid.

    Formal guarantees: the partition loses a fifth of the loss, by the proof of `PrivTree`; the counts lose the rest.

    Attributes:
        branching_factor: Number of intervals into which an interval is divided, from 2 to 2**20.
        threshold: Records. An interval is divided only if it seems to hold more than this; with 0, noise decides.

    Raises:
        ValueError: `branching_factor` is below 2 or above 2**20, or `threshold` is below 0.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> session = dp.Session({"x": np.full(1000, 0.3)}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE)
    >>> question = dp.CdfQuestion("x", dp.Grid(0, 1, cells=2**16), method=AdaptivePartition())
    >>> curve = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> bool(curve.cdf(0.29) < 0.1 and curve.cdf(0.31) > 0.9)
    True
    """

    branching_factor: int = 2
    threshold: int = 0

    def __post_init__(self) -> None:
        convert_to_integers(self, branching_factor="branching_factor", threshold="threshold")
        if not 2 <= self.branching_factor <= MAX_BRANCHING_FACTOR:
            raise InvalidArgument(
                "branching_factor", f"must be an integer from 2 to {MAX_BRANCHING_FACTOR}, got {self.branching_factor}"
            )
        self._partition_query(Axis("any", Grid(0, 1, cells=1)))  # raises what the query raises for `threshold`

    def ask_rounds(self, axes: Axes, setting: Setting) -> Strategy[TableCounts]:
        """Yield the round of PrivTree with a fifth of the loss, then the count of its leaves; return these counts.

        Args:
            axes: Categories, if any, then the column on its grid.
            setting: Loss and adjacency.
        """
        axis = require_axis(axes)
        partition = yield Step(self._partition_query(axis), PARTITION_FRACTION)
        leaves = SplitRule((axis.slots,), (self.branching_factor,)).find_leaves(partition.values)
        starts = leaves.lower[:, 0].tolist()
        return (
            yield from count_between(
                axes, starts, [partition], setting, budget_fraction=WHOLE_BUDGET - PARTITION_FRACTION
            )
        )

    def _partition_query(self, axis: Axis) -> TreePartitionQuery:
        """Return the query of PrivTree that asks for a private partition of this axis, chosen by noisy counts.

        Args:
            axis: Column on its grid.
        """
        return TreePartitionQuery((axis,), (self.branching_factor,), self.threshold)

    def __str__(self) -> str:
        return "on an adaptive partition"


CUTS_FRACTION = Fraction(3, 10)
"""Budget fraction of cuts at private quantiles; the counts between the cuts get the other 7/10."""


@dataclass(frozen=True, slots=True)
class QuantilePartition:
    """Count between private quantiles.

    The first round cuts the records into `pieces` of about equal size, with three tenths of the loss. The second round
    counts the records between the cuts. If tails are long the outer pieces are wide, and `AdaptivePartition` is better.

    Formal guarantees: the cuts lose three tenths of the loss, by the proof of `ExponentialQuantiles`; the counts lose
    the rest.

    Attributes:
        pieces: Number of pieces, at least 2; fewer are counted if records are tied.

    Raises:
        ValueError: `pieces` is below 2.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> session = dp.Session({"x": np.arange(5000) % 100}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE)
    >>> question = dp.CdfQuestion("x", dp.Grid(0, 100, cells=100), method=QuantilePartition(16))
    >>> bool(abs(session.ask(question, dp.PrivacyLoss.pure(1)).cdf(50) - 0.5) < 0.05)
    True
    """

    pieces: int

    def __post_init__(self) -> None:
        convert_to_integers(self, pieces="pieces")
        if self.pieces < 2:
            raise InvalidArgument("pieces", f"must be at least 2 pieces, as in 16, got {self.pieces}")

    def ask_rounds(self, axes: Axes, setting: Setting) -> Strategy[TableCounts]:
        """Yield the round of private quantiles with three tenths of the loss, then the count between them; return these
        counts.

        Args:
            axes: Categories, if any, then the column on its grid.
            setting: Loss and adjacency.
        """
        axis = require_axis(axes)
        cuts = yield Step(QuantileCutsQuery((axis,), self.pieces), CUTS_FRACTION)
        first = int(axis.grid.outside is Outside.APART)  # the slot of the first cell
        starts = [cut + first for cut in cuts.values if cut < axis.grid.cells]
        return (yield from count_between(axes, starts, [cuts], setting, budget_fraction=WHOLE_BUDGET - CUTS_FRACTION))

    def __str__(self) -> str:
        return f"between {self.pieces} private quantiles"


def count_between(
    axes: Axes, starts: Iterable[int], earlier: Sequence[Release], setting: Setting, *, budget_fraction: Fraction
) -> Strategy[TableCounts]:
    """Ask for the number of records in each interval that earlier rounds chose; return all counts.

    A generator: it yields one query with its fraction of the loss, and receives its release.

    Args:
        axes: Categories, each of which is counted (a record is in one, so all together lose no more than one), then the
            column on its grid.
        starts: The first cells of the intervals, in any order; 0 is added. If values outside the grid are counted
            separately, each of their two cells is an interval, because no values are interpolated to them.
        earlier: The releases of the rounds that chose the intervals.
        setting: Loss and adjacency.
        budget_fraction: Remaining fraction of the loss.
    """
    axis = require_axis(axes)
    total_is_public = setting.adjacency.public_record_count is not None
    outside_edges = {1, axis.slots - 1} if axis.grid.outside is Outside.APART else set()
    tilings = choose_leaf_tilings(
        sorted({0, *starts, *outside_edges}), Family.from_loss(setting.loss), total_is_public=total_is_public
    )
    counts = yield Step(PartitionQuery(axes, tilings), budget_fraction)
    return TableCounts.from_last_release((*earlier, counts))


def require_axis(axes: Axes) -> Axis:
    """Return the last axis of a table, after a check that it is a column of numbers on a grid.

    Args:
        axes: Axes of a table, at least one.

    Raises:
        TypeError: the last axis is not a column of numbers.
    """
    if not isinstance(axes[-1], Axis):
        raise WrongArgumentType(
            "axes", "the last column must hold numbers on a grid; declare it as Axis(column, Grid(...))"
        )
    return axes[-1]


def choose_leaf_tilings(starts: Sequence[int], family: Family, *, total_is_public: bool) -> tuple[Places, ...]:
    """Choose nested tilings over the intervals (leaves) of a partition, so that prefix counts have the least mean noise
    variance.

    A prefix of K leaves is the sum of K noises, or of a few noises of groups of leaves; but tilings share the loss. Of
    h tilings the finest has the leaves, and each coarser tiling groups k intervals of the next, k about the h-th root
    of K.

    Args:
        starts: The first cells of the leaves, increasing from 0.
        family: Family of the noise: h tilings need noise of h times the scale (Laplace) or variance (Gaussian).
        total_is_public: True if the number of all records is public.

    Returns:
        For each tiling the first cells of its intervals.

    >>> choose_leaf_tilings(range(0, 40, 2), Family.GAUSSIAN, total_is_public=True)
    (range(0, 40, 8), range(0, 40, 4), range(0, 40, 2))
    """
    leaves = len(starts)
    widths = min(
        _candidate_groupings(leaves),
        key=lambda candidate: _mean_prefix_variance(leaves, candidate, family, total_is_public),
    )
    tilings = (starts[::width] for width in widths)
    return tuple(tiling if isinstance(tiling, range) else tuple(map(int, tiling)) for tiling in tilings)


def _candidate_groupings(leaves: int) -> Iterator[tuple[int, ...]]:
    """Yield candidate hierarchies of tilings to compare, each as the numbers of leaves per interval.

    Args:
        leaves: Number of intervals of the finest tiling.

    Yields:
        For each tiling, from coarse to fine, the number of leaves in one interval; the last is 1.
    """
    yield (1,)
    for levels in range(2, 6):  # at most five nested tilings are compared
        root = int(leaves ** (1 / levels))
        for radix in (root, root + 1):
            if radix > 1 and radix ** (levels - 1) < leaves:
                yield tuple(radix**level for level in reversed(range(levels)))


def _mean_prefix_variance(leaves: int, widths: tuple[int, ...], family: Family, total_is_public: bool) -> float:
    """Return the mean noise variance of a prefix of leaves, up to a common factor, if tilings share the loss equally.

    Args:
        leaves: Number of leaves.
        widths: Leaves per interval of each tiling, from coarse to fine.
        family: Family of the noise.
        total_is_public: True if the number of all records is public.
    """
    levels = tuple(Tier(range(0, leaves, width), Noise(family, len(widths) * _LARGE)) for width in widths)
    distribution = IntervalSums(1, leaves, levels, Noise(family, _LARGE))
    return round_error(distribution.mean_prefix_variance(total_is_public))


def merge_releases(releases: Sequence[Release]) -> Evidence:
    """Combine the noisy counts of several rounds on ever finer partitions into one object, for joint estimates.

    Args:
        releases: Counts of partitions of one axis, each a refinement of the one before.

    Returns:
        All counts of intervals; the count of missing records is from the last round.
    """
    rounds = [Evidence.from_release(release) for release in releases]
    levels = tuple(level for evidence in rounds for level in evidence.interval_sums.levels)
    last_distribution = rounds[-1].interval_sums
    values = tuple(value for evidence in rounds for value in evidence.values[:-1])
    return Evidence(
        IntervalSums(1, last_distribution.cells, levels, last_distribution.missing),
        (*values, rounds[-1].values[-1]),
        rounds[-1].total,
    )


def estimate_intervals(evidence: Evidence) -> FloatArray:
    """Return least-squares estimates of the counts of the finest intervals, (intervals,).

    The equations are for intervals, not for cells, because cells are many.

    Args:
        evidence: Noisy counts of nested partitions, from `merge_releases`.
    """
    distribution = evidence.interval_sums
    finest = np.asarray(distribution.levels[-1].starts)
    levels = tuple(
        Tier(tuple(np.searchsorted(finest, np.asarray(level.starts)).tolist()), level.noise)
        for level in distribution.levels
    )
    over_intervals = IntervalSums(1, len(finest), levels, distribution.missing)
    return np.asarray(least_squares(over_intervals, evidence.values, evidence.total).cells[0])


def _halve_fullest(starts: list[int], counts: FloatArray, slots: int) -> None:
    """Halve the interval with the largest estimated count among those of two or more cells, in place: one step of
    refinement.

    Args:
        starts: Increasing first cells of the intervals, into which the middle is inserted; unchanged if all intervals
            are single cells.
        counts: Estimated count of each interval.
        slots: Number of cells.
    """
    widths = np.diff([*starts, slots])
    fullest = int(np.argmax(np.where(widths > 1, counts, -np.inf)))
    if widths[fullest] > 1:
        insort(starts, starts[fullest] + int(widths[fullest]) // 2)
