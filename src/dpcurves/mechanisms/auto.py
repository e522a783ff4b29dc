"""Automatic choice of the mechanism with the smallest predicted error. The choice reads no records.

`AUTO` is what a session uses unless the user names a mechanism. Most types of queries have only one mechanism
(`MECHANISM_BY_QUERY`). Counts have several; `MechanismChoice` compares their predicted mean squared error of a
prefix count,

    error**2 = variance of the noise after least squares (exact) + resolution error

and takes the smallest:

- `FlatHistogram`, one noisy count per interval: for single cells, and where the noise is nearly 0;
- `TreeSums`, nested intervals: for prefixes under pure DP;
- `SquareRoot`, Gaussian noise between the two factors of the prefix matrix: for prefixes of one row under zCDP, if
  cells hold many records or are unlike their neighbours.

Intervals wider than one cell add a resolution error of ``unevenness * records per interval / 6`` (`resolution_error`).
They are considered only if a hint says that records are spread and the number of units is public.

Formal guarantees: the guarantees of the chosen mechanism. The choice depends on query, loss and adjacency alone, which
are public, so choosing costs no budget.

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
"""The values that choices among mechanisms use unless a caller passes others."""


@dataclass(frozen=True, slots=True)
class LinearChoice(LinearMechanism):
    """Choice among the mechanisms that release noisy sums of cells.

    A query that states its own regions or intervals gets `RegionSums` or `PartitionSums`. A query for prefixes gets
    `FlatHistogram` or `TreeSums`, by the smaller predicted error. Every other query gets `FlatHistogram`.

    For prefixes every cell is counted separately, with one exception: if the hint says that records are spread and the
    number of units is public, neighbouring cells are counted together. Their number is the power of two with the
    smallest sum of noise variance (exact) and `resolution_error`. Categories, and values counted outside the grid, have
    no neighbours to interpolate to, so they stay single.

    Formal guarantees: the guarantees of the chosen mechanism. The choice depends on query, loss and adjacency alone.

    Attributes:
        tuning: Numbers that steer the choice; they change errors, not privacy.
    """

    tuning: Tuning = TUNING

    def choose_mechanism(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> LinearMechanism:
        """Choose the linear mechanism for a query, by the rule of the class docstring. Reads no records.

        Args:
            query: The query to answer. Public.
            loss: Privacy budget of this query.
            adjacency: Neighbouring relation of the guarantee.

        Returns:
            A mechanism whose `plan` and `run` answer the query.
        """
        if query.uses_prefixes:
            return _choose_prefix_mechanism(cast("CountQuery", query), loss, adjacency, self.tuning)
        candidates = (mechanism for mechanism in (RegionSums(), PartitionSums()) if mechanism.accepts_query(query))
        return next(candidates, FlatHistogram())

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of the chosen linear mechanism. Reads no records.

        Args:
            query: The query to answer. Public.
            loss: Privacy budget of this query.
            adjacency: Neighbouring relation of the guarantee.

        Raises:
            UnsupportedQuery: the chosen mechanism cannot answer the query with this loss.
        """
        return self.choose_mechanism(query, loss, adjacency).plan(query, loss, adjacency)


LINEAR_CHOICE = LinearChoice()
"""The choice among mechanisms that release noisy sums. It makes the sums for queries of which several mechanisms
exist."""


@dataclass(frozen=True, slots=True)
class MechanismChoice:
    """Choice among all mechanisms for a query: the only one for its type, else `LinearChoice` or `SquareRoot`.

    `SquareRoot` is considered for prefixes of one row under zCDP, if cells are known to hold many records or to be
    unlike their neighbours; it is taken if its predicted error is smaller. In other cases a tree is better than
    predicted, because smoothing improves its estimates.

    Formal guarantees: the guarantees of the chosen mechanism. The choice depends on query, loss and adjacency alone.

    Attributes:
        tuning: Numbers that steer the choice; they change errors, not privacy.
    """

    tuning: Tuning = TUNING

    def choose_mechanism(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Mechanism | LazyMechanism:
        """Choose the mechanism for a query, by the rule of the class docstring. Reads no records.

        Args:
            query: The query to answer. Public.
            loss: Privacy budget of this query.
            adjacency: Neighbouring relation of the guarantee.

        Returns:
            A `LazyMechanism` for a `PrefixQuery`, a `Mechanism` for every other query.
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
        """Return the plan of the chosen mechanism. Reads no records.

        Args:
            query: The query to answer. Public.
            loss: Privacy budget of this query.
            adjacency: Neighbouring relation of the guarantee.

        Raises:
            UnsupportedQuery: the chosen mechanism cannot answer the query with this loss.
        """
        return self.choose_mechanism(query, loss, adjacency).plan(query, loss, adjacency)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Answer a plan with the mechanism that its query belongs to: return the noisy integers.

        Any plan of noisy sums can be run here, because its noise distribution defines the sums to release.

        Args:
            table: SECRET. Exact integers of the query, flat; for counts of cells, missing records are the last entry.
            plan: The plan that `plan` returned for this query.
            randomness: Source of random bits.

        Raises:
            TypeError: the plan is of a `LazyMechanism`; use `answer`.
        """
        mechanism = _find_only_mechanism(plan.query) or LINEAR_CHOICE
        if not isinstance(mechanism, Mechanism):
            raise WrongArgumentType(
                "plan",
                f"a plan of {plan.made_by} is answered by the method answer, not by run; call answer",
            )
        return mechanism.run(table, plan, randomness)

    def answer(self, count: Counter, plan: Plan, memory: Memory, randomness: Randomness) -> tuple[int, ...]:
        """Return noisy counts of the prefixes of a `LazyTree` plan. New noisy blocks are stored first.

        Args:
            count: SECRET. Function of prefix lengths, in slots, that returns exact numbers of records.
            plan: A plan of `LazyTree`.
            memory: SECRET. Noisy blocks that earlier answers under this charge used.
            randomness: Source of random bits for the noise of new blocks.
        """
        return LazyTree().answer(count, plan, memory, randomness)


MECHANISM_BY_QUERY: Mapping[str, str] = {
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
"""File and class of the only mechanism for a type of query, by the name of the query's class. The file is imported when
it
is needed.
"""


def _find_only_mechanism(query: Query) -> Mechanism | LazyMechanism | None:
    """Return the mechanism for a type of query that a single mechanism answers; None if a choice has to be made.

    Args:
        query: The query.
    """
    location = MECHANISM_BY_QUERY.get(type(query).__name__)
    return None if location is None else _import_mechanism(location)


@lru_cache
def _import_mechanism(location: str) -> Mechanism | LazyMechanism:
    """Import the file of a mechanism and return an instance of its class.

    Args:
        location: File and class as ``"file:Class"``, a value of `MECHANISM_BY_QUERY`.
    """
    file, _, name = location.partition(":")
    return cast("Mechanism | LazyMechanism", getattr(import_module(f".{file}", __package__), name)())


def _is_rough(query: CountQuery, loss: PrivacyLoss, adjacency: Adjacency, tuning: Tuning) -> bool:
    """Return True if cells seem too unlike their neighbours for smoothing to help, so that the square-root strategy
    (`SquareRoot`) is worth trying.

    This holds for Gaussian noise on prefixes of one row whose cells are unlike their neighbours, or are known to hold
    more records on average than the variance of their noise, times `Tuning.dense`.

    Args:
        query: Counts that are read as prefixes.
        loss: Privacy budget of the query.
        adjacency: Neighbouring relation; replace-one makes the number of records public.
        tuning: The factor `dense`.
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
    """Return the mean squared error that interpolation adds to prefix counts which end inside an interval of `width`
    cells.

    Suppose m records lie in an interval uniformly at random. Then linear interpolation between the ends of the interval
    has an error with mean variance m / 6. Real records are less even, by the factor `unevenness`. The expected m is the
    number of records of a row times the fraction of the row's cells that the interval covers.

    Args:
        query: Counts on a grid, read as prefixes.
        adjacency: Replace-one, which makes the number of units public.
        width: Cells per interval; 1 has no resolution error.
        unevenness: Ratio of the squared deviations of real records to the squared deviations of uniformly random
            records.

    Returns:
        Squared records.

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
    """Choose the flat histogram or tree, and its interval width, with the smallest predicted error of a prefix.

    Flat histograms come first, because they are quick to evaluate, then trees; each from wide intervals to narrow ones.
    The search over widths stops where narrower intervals cannot be better, because they have more noise: a tree without
    its finest level gives that level's budget to the others and so has less noise. If nearly all counts are exact,
    single cells are preferred: see `Tuning.exact_variance`.

    Args:
        query: Counts that are read as prefixes.
        loss: Privacy budget of the query.
        adjacency: Neighbouring relation of the guarantee.
        tuning: Numbers that steer the choice.
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
    """Return the interval widths to try, in cells and increasing, each with its interpolation error
    (`resolution_error`) in squared records.

    Args:
        query: Counts that are read as prefixes. Widths above 1 need the hint that records are spread.
        adjacency: Neighbouring relation. Widths above 1 need replace-one, where the number of units is public.
        unevenness: Ratio of the squared deviations of real records to the squared deviations of uniformly random
            records.
    """
    axis = query.axes[-1]
    if query.hint is not Hint.SPREAD or not isinstance(adjacency, ReplaceOne):
        return [(1, 0.0)]
    if not isinstance(axis, Axis) or axis.grid.outside is Outside.APART:
        return [(1, 0.0)]
    widths = [2**power for power in range(query.cells.bit_length())]
    return [(width, resolution_error(query, adjacency, width, unevenness)) for width in widths]
