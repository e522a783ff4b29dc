"""Named methods of distribution functions: bisection, a grown partition, and cuts at private quantiles."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..arguments import InvalidArgument, WrongArgumentType, convert_to_integers
from ..arrays import FloatArray
from ..conversation import ALL, Axes, Evidence, Release, Setting, Step, Strategy, TableCounts
from ..data import Axis, Grid, Outside
from ..laws import Family, IntervalSums, Noise, Tier, least_squares, round_error
from ..queries import PartitionQuery, Places, QuantileCutsQuery, SplitRule, TreePartitionQuery

# Groups of neighbouring leaves that are worth counting beside the leaves: public, from their number alone.


MOST_LEVELS = 5
_LARGE = Fraction(10**6)  # a parameter of noise, so large that its being discrete does not matter


def choose_leaf_tilings(starts: Sequence[int], family: Family, *, total_is_public: bool) -> tuple[Places, ...]:
    """Nested tilings over leaves, from coarse to fine, with the least mean variance of a prefix of leaves.

    A prefix of K leaves is the sum of K noises, or of a few that groups of leaves have; but tilings share the loss. Of
    h tilings the finest has the leaves, and each other one joins k intervals of the next, k about the h-th root of K.

    Args:
        starts: The first cells of the leaves, rising from 0.
        family: The family of the noise: h tilings need noise of h times the scale (Laplace) or variance (Gaussian).
        total_is_public: Whether the number of all records is public.

    >>> choose_leaf_tilings(range(0, 40, 2), Family.GAUSSIAN, pinned=True)
    (range(0, 40, 8), range(0, 40, 4), range(0, 40, 2))
    """
    leaves = len(starts)
    joined = min(
        _candidate_groupings(leaves), key=lambda widths: _mean_prefix_variance(leaves, widths, family, total_is_public)
    )
    tilings = (starts[::width] for width in joined)
    return tuple(each if isinstance(each, range) else tuple(map(int, each)) for each in tilings)


def _candidate_groupings(leaves: int) -> Iterator[tuple[int, ...]]:
    """The number of leaves that the intervals of each tiling join, from coarse to fine."""
    yield (1,)
    for levels in range(2, MOST_LEVELS + 1):
        root = int(leaves ** (1 / levels))
        for radix in (root, root + 1):
            if radix > 1 and radix ** (levels - 1) < leaves:
                yield tuple(radix**level for level in reversed(range(levels)))


def _mean_prefix_variance(leaves: int, widths: tuple[int, ...], family: Family, total_is_public: bool) -> float:
    levels = tuple(Tier(range(0, leaves, width), Noise(family, len(widths) * _LARGE)) for width in widths)
    law = IntervalSums(1, leaves, levels, Noise(family, _LARGE))
    return round_error(law.mean_prefix_variance(total_is_public))


# The last turn of a distribution function whose intervals earlier turns chose: they are counted, and groups of them.
#
# Inside an interval the curve is linear.


def count_between(
    axes: Axes, starts: Iterable[int], before: Sequence[Release], setting: Setting, *, budget_fraction: Fraction
) -> Strategy[TableCounts]:
    """Ask how many records lie in each interval.

    Args:
        axes: The column on its grid, after the categories for each of which it is counted, all together at the privacy
            loss of one.
        starts: The first slots of the intervals, in any order; 0 is always one. Where values outside the grid are
            counted apart they are counted alone: they are no neighbours to interpolate to.
        before: The answers of the turns that chose the intervals.
        setting: What is public.
        budget_fraction: What is left of the loss.
    """
    axis, pinned = require_axis(axes), setting.adjacency.public_record_count is not None
    ends = {1, axis.slots - 1} if axis.grid.outside is Outside.APART else set()
    tilings = choose_leaf_tilings(sorted({0, *starts, *ends}), Family.from_loss(setting.loss), total_is_public=pinned)
    counts = yield Step(PartitionQuery(axes, tilings), budget_fraction)
    return TableCounts.from_last_release((*before, counts))


def require_axis(axes: Axes) -> Axis:
    """The column that is counted along its grid.

    Raises:
        TypeError: the last axis is none.
    """
    if not isinstance(axes[-1], Axis):
        raise WrongArgumentType("axes", "the last one is a column of numbers on a grid")
    return axes[-1]


TURNS_SHARE = Fraction(1, 4)
MOST_ROUNDS = 1000


@dataclass(frozen=True, slots=True)
class Bisection:
    """Count on intervals that were halved one by one.

    Each turn halves the interval that seems to hold the most records, and counts all intervals (one private count costs
    no less), so that all turns together say where to halve next. They share a quarter of the loss. After one more
    halving the last turn counts the intervals with the rest, by noise that had no part in choosing them.

    With the turns, their noise grows; `GrownPartition` finds any number of intervals at one price.

    Attributes:
        rounds: How many turns, hence how often an interval is halved; fewer where there are fewer cells.

    Raises:
        ValueError: there is no round, or there are more than 1000.

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
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise InvalidArgument("rounds", f"a whole number from 1 to {MOST_ROUNDS} is needed, got {self.rounds}")

    def ask_rounds(self, axes: Axes, setting: Setting) -> Strategy[TableCounts]:
        """Halve, count, halve, count; count again."""
        axis = require_axis(axes)
        seen = list[Release]()
        starts = [0, 1, axis.slots - 1] if axis.grid.outside is Outside.APART else [0]
        counts = np.diff([*starts, axis.slots]).astype(np.float64)
        turns = min(self.rounds, axis.slots - len(starts)) - 1  # then there is nothing left to halve
        for _ in range(turns):
            _halve_fullest(starts, counts, axis.slots)
            seen.append((yield Step(PartitionQuery((axis,), (tuple(starts),)), TURNS_SHARE / turns)))
            counts = estimate_intervals(merge_releases(seen))
        _halve_fullest(starts, counts, axis.slots)
        share = ALL - TURNS_SHARE if seen else ALL
        return (yield from count_between(axes, starts, seen, setting, budget_fraction=share))

    def __str__(self) -> str:
        return f"by {self.rounds} bisections"


def merge_releases(releases: Sequence[Release]) -> Evidence:
    """Counts of nested partitions as one release of all of them; the missing are those that the last one counted."""
    parts = [Evidence.from_release(release) for release in releases]
    levels = tuple(level for part in parts for level in part.interval_sums.levels)
    last = parts[-1].interval_sums
    values = tuple(value for part in parts for value in part.values[:-1])
    return Evidence(IntervalSums(1, last.cells, levels, last.missing), (*values, parts[-1].values[-1]), parts[-1].total)


def estimate_intervals(evidence: Evidence) -> FloatArray:
    """Estimate the counts of the finest intervals by least squares: over intervals, for cells are many."""
    law = evidence.interval_sums
    finest = np.asarray(law.levels[-1].starts)
    levels = tuple(
        Tier(tuple(np.searchsorted(finest, np.asarray(level.starts)).tolist()), level.noise) for level in law.levels
    )
    over_intervals = IntervalSums(1, len(finest), levels, law.missing)
    return np.asarray(least_squares(over_intervals, evidence.values, evidence.total).cells[0])


def _halve_fullest(starts: list[int], counts: FloatArray, slots: int) -> None:
    widths = np.diff([*starts, slots])
    fullest = int(np.argmax(np.where(widths > 1, counts, -np.inf)))
    if widths[fullest] > 1:
        insort(starts, starts[fullest] + int(widths[fullest]) // 2)


PARTITION_SHARE = Fraction(1, 5)
MOST_PARTS = 2**20


@dataclass(frozen=True, slots=True)
class GrownPartition:
    """Count on a partition that is grown in private.

    The first turn divides the grid where records are many, down to single cells if need be, with a fifth of the loss;
    the second counts what lies in the leaves. It suits records in a small, unknown part of a wide or fine grid.
    (Zhang, Xiao and Xie 2016, with a tree over the leaves.)

    Attributes:
        fan: Into how many intervals one is divided.
        least: No interval is divided that seems to hold no more records than this; with 0, the noise decides.

    Raises:
        ValueError: `fan` is below 2 or above 2**20, or `least` below 0.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> session = dp.Session({"x": np.full(1000, 0.3)}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE)
    >>> question = dp.CdfQuestion("x", dp.Grid(0, 1, cells=2**16), method=GrownPartition())
    >>> curve = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> bool(curve.cdf(0.29) < 0.1 and curve.cdf(0.31) > 0.9)
    True
    """

    fan: int = 2
    least: int = 0

    def __post_init__(self) -> None:
        convert_to_integers(self, fan="fan", least="least")
        if not 2 <= self.fan <= MOST_PARTS:
            raise InvalidArgument("fan", f"a whole number from 2 to {MOST_PARTS} is needed, got {self.fan}")
        self._partition_query(Axis("any", Grid(0, 1, cells=1)))  # refuses what the query refuses

    def ask_rounds(self, axes: Axes, setting: Setting) -> Strategy[TableCounts]:
        """Ask for a partition, then for counts of its leaves."""
        axis = require_axis(axes)
        grown = yield Step(self._partition_query(axis), PARTITION_SHARE)
        leaves = SplitRule((axis.slots,), (self.fan,)).find_leaves(grown.values)
        starts = leaves.lower[:, 0].tolist()
        return (yield from count_between(axes, starts, [grown], setting, budget_fraction=ALL - PARTITION_SHARE))

    def _partition_query(self, axis: Axis) -> TreePartitionQuery:
        return TreePartitionQuery((axis,), (self.fan,), self.least)

    def __str__(self) -> str:
        return "on a grown partition"


CUTS_SHARE = Fraction(3, 10)


@dataclass(frozen=True, slots=True)
class QuantileCuts:
    """Count between private quantiles.

    The first turn cuts the records into `pieces` of about equal size, with three tenths of the loss; the second counts
    what lies between the cuts. Where tails are long the outer pieces are wide: `GrownPartition` is then better.

    Attributes:
        pieces: How many pieces; fewer where records are tied.

    Raises:
        ValueError: `pieces` is below 2.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> session = dp.Session({"x": np.arange(5000) % 100}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE)
    >>> question = dp.CdfQuestion("x", dp.Grid(0, 100, cells=100), method=QuantileCuts(16))
    >>> bool(abs(session.ask(question, dp.PrivacyLoss.pure(1)).cdf(50) - 0.5) < 0.05)
    True
    """

    pieces: int

    def __post_init__(self) -> None:
        convert_to_integers(self, pieces="pieces")
        if self.pieces < 2:
            raise InvalidArgument("pieces", f"at least 2 are needed, got {self.pieces}")

    def ask_rounds(self, axes: Axes, setting: Setting) -> Strategy[TableCounts]:
        """Ask for cuts, then for counts between them."""
        axis = require_axis(axes)
        cuts = yield Step(QuantileCutsQuery((axis,), self.pieces), CUTS_SHARE)
        first = int(axis.grid.outside is Outside.APART)  # the slot of the first cell
        starts = [cut + first for cut in cuts.values if cut < axis.grid.cells]
        return (yield from count_between(axes, starts, [cuts], setting, budget_fraction=ALL - CUTS_SHARE))

    def __str__(self) -> str:
        return f"between {self.pieces} private quantiles"
