"""Choice of the mechanism with the least predicted error, from public facts only.

Most queries can be answered by one mechanism alone (`ANSWERED_BY`). For counts, `MechanismChoice` compares candidates
by their predicted mean squared error of a prefix,

    error**2 = variance of noise by least squares (exact, from the distribution of the plan) + resolution error

and takes the least:

- `FlatHistogram`, one noisy count per interval, for cells, and where noise is nearly 0;
- `TreeSums`, nested intervals, for prefixes under a pure loss;
- `SquareRoot`, Gaussian noise between the factors of the matrix of prefix sums, for prefixes of one row under a
  zero-concentrated loss whose cells hold many records or are unlike their neighbours.

Intervals of several cells have a resolution error, ``unevenness * records per interval / 6`` (`resolution_error`); they
are considered only with the hint that records are spread and a public number of units.

Formal guarantees: as for the chosen mechanism. The choice is a function of query, loss and adjacency, so it costs
nothing.

>>> from dpcurves.data import Grid
>>> from dpcurves.privacy import EACH_RECORD, AddRemove
>>> query = CountQuery((Axis("age", Grid(0, 256, cells=256)),), CountUse.PREFIXES)
>>> AUTO.choose_mechanism(query, PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
TreeSums(width=1)
>>> AUTO.choose_mechanism(query, PrivacyLoss.zcdp("0.5"), ReplaceOne(EACH_RECORD, 10**6))
SquareRoot(width=1)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from math import inf
from typing import cast

from ..arguments import WrongArgumentType
from ..conversation import Plan
from ..data import Axis, Outside
from ..noise.randomness import Memory, Randomness
from ..privacy import Adjacency, PrivacyLoss, ReplaceOne
from ..queries import CountQuery, CountUse, Hint, Query
from .base import Counter, ExactTable, LazyMechanism, Mechanism
from .lazy_tree import LazyTree
from .linear import FlatHistogram, LinearMechanism, PartitionSums, RegionSums, TreeSums, calibrate_noise
from .wavelets import SquareRoot


@dataclass(frozen=True)
class Tuning:
    """Numbers that steer the choice of a mechanism. Privacy does not depend on them, only errors do."""

    exact_variance: float = 0.02
    """Squared records. Variance of a count at which 98 in 100 counts are exact: up to it, counts of single cells are
    preferred to a tree. Their largest error is smaller, and in empty cells half of the remaining noise is recognisable.
    Chosen on one half of the shapes of `benchmarks/regimes.py`, at epsilon 5.5 to 12, under both adjacencies.
    """
    flat_excess: float = 2.0
    """Ratio. With nearly exact counts (see `exact_variance`), a flat histogram is preferred to a tree while its mean
    squared error is at most this many times the tree's.
    """
    dense: float = 1.5
    """Ratio. Records per cell, divided by the variance of the noise of a cell, above which there is little to
    smooth.
    """
    unevenness: float = 4.0
    """Ratio. Largest unevenness of spread records that `resolution_error` assumes: their squared deviations over those
    of uniformly random records.
    """


TUNING = Tuning()
"""The default tuning."""


@dataclass(frozen=True, slots=True)
class LinearChoice(LinearMechanism):
    """`PartitionSums` or `RegionSums` if the query states these; else `FlatHistogram`, or `TreeSums` for prefixes.

    For prefixes every cell is counted, unless the hint is that records are spread and the number of units is public:
    then as many cells are counted together as minimise the sum of the mean squared error of noise (exact) and
    `resolution_error`; a power of two. Values counted outside the grid, and categories, have no neighbours to
    interpolate to: the width is then 1.

    Formal guarantees: as for the chosen mechanism; the choice depends on query, loss and adjacency alone.

    Attributes:
        tuning: Numbers that steer the choice.
    """

    tuning: Tuning = TUNING

    def choose_mechanism(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> LinearMechanism:
        """Return the linear mechanism for this query, loss and adjacency, by the rule of the class docstring; touches
        no data.

        Args:
            query: What is asked of the records.
            loss: The loss of this query.
            adjacency: Which tables the loss is about.
        """
        if query.uses_prefixes:
            return _choose_prefix_mechanism(cast("CountQuery", query), loss, adjacency, self.tuning)
        candidates = (mechanism for mechanism in (RegionSums(), PartitionSums()) if mechanism.accepts_query(query))
        return next(candidates, FlatHistogram())

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of the chosen mechanism. Raises `UnsupportedQuery`; touches no data.

        Args:
            query: What is asked of the records.
            loss: The loss of this query.
            adjacency: Which tables the loss is about.
        """
        return self.choose_mechanism(query, loss, adjacency).plan(query, loss, adjacency)


LINEAR = LinearChoice()
"""The choice among mechanisms that release noisy sums."""


@dataclass(frozen=True, slots=True)
class MechanismChoice:
    """The mechanism for a type of query: `LinearChoice` for noisy sums, or `SquareRoot` if it is more accurate.

    `SquareRoot` is chosen for prefixes of one row under zero-concentrated privacy, if cells hold many records each or
    are known to be unlike their neighbours. Otherwise smoothing makes the estimates of a tree more accurate than its
    predicted error.

    Formal guarantees: as for the chosen mechanism; the choice depends on query, loss and adjacency alone.

    Attributes:
        tuning: Numbers that steer the choice.
    """

    tuning: Tuning = TUNING

    def choose_mechanism(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Mechanism | LazyMechanism:
        """Return the only mechanism for the type of query, else `SquareRoot` or the choice of `LinearChoice`; touches
        no data.

        Args:
            query: What is asked of the records.
            loss: The loss of this query.
            adjacency: Which tables the loss is about.
        """
        if only := _find_only_mechanism(query):
            return only
        linear = LinearChoice(self.tuning).choose_mechanism(query, loss, adjacency)
        counts = query.uses_prefixes and query.tells_missing  # excludes sums of weights
        if not counts or not _is_rough(cast("CountQuery", query), loss, adjacency, self.tuning):
            return linear
        root, nested = (mechanism.plan(query, loss, adjacency).error for mechanism in (SquareRoot(), linear))
        return SquareRoot() if root < nested else linear

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of the chosen mechanism. Raises `UnsupportedQuery`; touches no data.

        Args:
            query: What is asked of the records.
            loss: The loss of this query.
            adjacency: Which tables the loss is about.
        """
        return self.choose_mechanism(query, loss, adjacency).plan(query, loss, adjacency)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Return the noisy integers of a plan: noisy sums if its distribution is a `NoisySums`, else the values of the
        query's own mechanism.

        Args:
            table: Exact numbers of the query. SECRET.
            plan: The plan that `plan` returned for this query.
            randomness: Source of the noise.
        """
        mechanism = _find_only_mechanism(plan.query) or LINEAR
        if not isinstance(mechanism, Mechanism):
            raise WrongArgumentType(
                "plan",
                f"this plan of {plan.made_by} is answered in several steps; answer it with the mechanism that made it",
            )
        return mechanism.run(table, plan, randomness)

    def answer(self, count: Counter, plan: Plan, memory: Memory, randomness: Randomness) -> tuple[int, ...]:
        """Return noisy counts of the prefixes of a plan of `LazyTree`, in the order of its distribution; new noisy
        blocks are stored in `memory` first.

        Args:
            count: Function of prefix lengths that returns exact numbers of records. SECRET.
            plan: A plan of `LazyTree`.
            memory: Noisy blocks that earlier answers used. SECRET.
            randomness: Source of the noise of new blocks.
        """
        return LazyTree().answer(count, plan, memory, randomness)


ANSWERED_BY: Mapping[str, str] = {
    "ThresholdQuery": "thresholds:SparseVector",
    "PrefixQuery": "lazy_tree:LazyTree",
    "AucQuery": "smooth_sensitivity:NoisyAuc",
    "SubsetQuery": "linear:SubsetCounts",
    "CoverageQuery": "thresholds:SparseVector",
    "IntervalPartitionQuery": "exponential:ExponentialPartition",
    "QuantileCutsQuery": "exponential:ExponentialQuantiles",
    "PartitionSelectionQuery": "partition_selection:ThresholdedCategories",
    "UniverseSelectionQuery": "partition_selection:UniverseCategories",
    "MedianQuery": "smooth_sensitivity:NoisyMedians",
    "MergePartitionQuery": "thresholds:MergedCells",
    "WorstBoxQuery": "exponential:ExponentialWorstBox",
    "TreePartitionQuery": "thresholds:PrivTree",
    "WaveletQuery": "wavelets:Privelet",
}
"""File and class of the only mechanism for a type of query, imported when needed."""


def _find_only_mechanism(query: Query) -> Mechanism | LazyMechanism | None:
    """Return the mechanism of a type of query that only one can answer; None if several can."""
    location = ANSWERED_BY.get(type(query).__name__)
    return None if location is None else _import_mechanism(location)


@lru_cache
def _import_mechanism(location: str) -> Mechanism | LazyMechanism:
    """Import the file of a mechanism and return an instance; `location` is ``"file:Class"`` as in `ANSWERED_BY`."""
    file, _, name = location.partition(":")
    return cast("Mechanism | LazyMechanism", getattr(import_module(f".{file}", __package__), name)())


def _is_rough(query: CountQuery, loss: PrivacyLoss, adjacency: Adjacency, tuning: Tuning) -> bool:
    """Return True if Gaussian prefix counts of one row gain little from smoothing over neighbouring cells.

    The cells are unlike their neighbours, or known to hold more records than noise on average.
    """
    # `SquareRoot` is tried up to 2**16 cells: its convolutions are quick up to this length.
    if query.hint is Hint.SPREAD or loss.is_pure or loss.rho == 0 or query.rows > 1 or query.cells > 2**16:
        return False
    if query.use is CountUse.UNEVEN:
        return True
    total = adjacency.public_record_count
    return total is not None and total / query.cells > tuning.dense * calibrate_noise(query, loss, adjacency).variance


AUTO = MechanismChoice()
"""The choice among all mechanisms: what a session uses if no mechanism is named."""


def resolution_error(
    query: CountQuery, adjacency: ReplaceOne, width: int, unevenness: float = TUNING.unevenness
) -> float:
    """Return the mean squared error of prefixes within intervals of `width` cells if records are spread.

    If m records of an interval lie in it uniformly at random, linear interpolation between its endpoints has an error
    of mean variance m / 6. Records are less even than that, by the factor `unevenness`. The mean of m is the interval's
    share of all records in its row.

    >>> from dpcurves.data import Axis, Grid
    >>> from dpcurves.privacy import EACH_RECORD
    >>> from dpcurves.queries import CountUse
    >>> query = CountQuery((Axis("age", Grid(0, 1, cells=4096)),), CountUse.PREFIXES)
    >>> resolution_error(query, ReplaceOne(EACH_RECORD, 6144), width=4)
    4.0
    """
    if width == 1:
        return 0.0
    share = adjacency.units * adjacency.unit.records * width / query.cells
    return unevenness * share / 6 / query.rows


@lru_cache(maxsize=1024)
def _choose_prefix_mechanism(
    query: CountQuery, loss: PrivacyLoss, adjacency: Adjacency, tuning: Tuning
) -> LinearMechanism:
    """Choose among flat histograms, which are quickly evaluated, then trees, from wide to narrow intervals.

    The search stops where no narrower intervals can be better, because they have more noise: a tree without its last
    level, whose budget the others get, has less. If nearly all counts are exact, single cells are preferred: see
    `Tuning.exact_variance`.
    """
    mechanism: LinearMechanism = FlatHistogram()
    least_error = inf
    widths = _list_interval_widths(query, adjacency, tuning.unevenness)
    if (
        widths == [(1, 0.0)]
        and loss.is_pure
        and calibrate_noise(query, loss, adjacency).variance <= tuning.exact_variance
    ):
        flat_error, tree_error = (kind().plan(query, loss, adjacency).error ** 2 for kind in (FlatHistogram, TreeSums))
        return FlatHistogram() if flat_error <= tuning.flat_excess * tree_error else TreeSums()
    for kind in (FlatHistogram, TreeSums):
        for width, resolution in reversed(widths):
            if resolution >= least_error:
                continue
            noise = kind(width).plan(query, loss, adjacency).error ** 2
            if noise >= least_error:
                break
            if noise + resolution < least_error:
                mechanism = kind(width)
                least_error = noise + resolution
    return mechanism


def _list_interval_widths(query: CountQuery, adjacency: Adjacency, unevenness: float) -> list[tuple[int, float]]:
    """Return candidate widths of intervals, increasing, with their resolution errors."""
    axis = query.axes[-1]
    if query.hint is not Hint.SPREAD or not isinstance(adjacency, ReplaceOne):
        return [(1, 0.0)]
    if not isinstance(axis, Axis) or axis.grid.outside is Outside.APART:
        return [(1, 0.0)]
    widths = [2**power for power in range(query.cells.bit_length())]
    return [(width, resolution_error(query, adjacency, width, unevenness)) for width in widths]
