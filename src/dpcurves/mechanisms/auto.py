"""The chooser: the mechanism with the least predicted error. It sees public facts only."""

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

EXACT, WORTH = 0.02, 2.0
"""Variance of a count of which 98 in 100 are exact: from here down counts of single cells are preferred to a tree, up
to so many times its mean squared error. Their largest error is smaller, and where cells are empty half of what is left
is known to be noise. Chosen on one half of the shapes of `benchmarks/regimes.py`, at epsilon 5.5 to 12, under both
adjacencies.
"""
DENSE = 1.5
"""Records of a cell, in units of the variance of its noise, from which on there is little to smooth."""
MOST_CONVOLVED = 2**16
"""Cells up to which a square root is worked out quickly."""
UNEVEN = 4.0
"""The largest unevenness of spread records, in squared records, over that by chance alone."""


@dataclass(frozen=True, slots=True)
class LinearChoice(LinearMechanism):
    """`PartitionSums` or `RegionSums`, where these are named; `FlatHistogram` for cells and sums; for prefixes `FlatHistogram` or `TreeSums`.

    For prefixes every cell is counted, unless the hint says that records are spread and the number of units is public:
    then as many cells together as make the least sum of two mean squared errors, that of the noise (exact) and
    `resolution_error`; a power of two. Values that are counted outside the grid are no neighbours to interpolate to,
    nor are categories: there it is 1.

    Formal guarantees: those of the mechanism that it chooses, from query, loss and adjacency alone.
    """

    def choose_mechanism(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> LinearMechanism:
        """The mechanism that makes the plan."""
        if query.uses_prefixes:
            return _choose_prefix_mechanism(cast("CountQuery", query), loss, adjacency)
        return next((each for each in (RegionSums(), PartitionSums()) if each.accepts_query(query)), FlatHistogram())

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """The plan of the chosen mechanism. Raises `UnsupportedQuery`; touches no data."""
        return self.choose_mechanism(query, loss, adjacency).plan(query, loss, adjacency)


@dataclass(frozen=True, slots=True)
class MechanismChoice:
    """The mechanism for a kind of query: `LinearChoice` for noisy sums, or `SquareRoot` where that is more exact.

    That is so for prefixes of one row under zero-concentrated privacy, if cells hold many records each, or are known to
    be unlike their neighbours: else a tree, whose splits can be smoothed, is read more exactly, whatever its predicted
    error is.

    Formal guarantees: those of the mechanism that it chooses, from query, loss and adjacency alone.
    """

    def choose_mechanism(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Mechanism | LazyMechanism:
        """The mechanism that makes the plan."""
        if only := _find_only_mechanism(query):
            return only
        linear = LINEAR.choose_mechanism(query, loss, adjacency)
        counts = query.uses_prefixes and query.tells_missing  # and no sums of weights
        if not counts or not _is_rough(cast("CountQuery", query), loss, adjacency):
            return linear
        root, nested = (mechanism.plan(query, loss, adjacency).error for mechanism in (SquareRoot(), linear))
        return SquareRoot() if root < nested else linear

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """The plan of the chosen mechanism. Raises `UnsupportedQuery`; touches no data."""
        return self.choose_mechanism(query, loss, adjacency).plan(query, loss, adjacency)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Run the plan: its law is all that sums need to know, its query and loss all that choices do."""
        mechanism = _find_only_mechanism(plan.query) or LINEAR
        if not isinstance(mechanism, Mechanism):
            raise WrongArgumentType("plan", f"one that is answered at once is needed, not one made by {plan.made_by}")
        return mechanism.run(table, plan, randomness)

    def answer(self, count: Counter, plan: Plan, memory: Memory, randomness: Randomness) -> tuple[int, ...]:
        """Counts of prefixes, with the noise on their paths."""
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
"""Kinds of queries that one mechanism alone can answer: its file and its class, imported when it is asked."""


def _find_only_mechanism(query: Query) -> Mechanism | LazyMechanism | None:
    """The mechanism of a kind of query that only one can answer; None where several may."""
    place = ANSWERED_BY.get(type(query).__name__)
    return None if place is None else _import_mechanism(place)


@lru_cache
def _import_mechanism(place: str) -> Mechanism | LazyMechanism:
    file, _, name = place.partition(":")
    return cast("Mechanism | LazyMechanism", getattr(import_module(f".{file}", __package__), name)())


def _is_rough(query: CountQuery, loss: PrivacyLoss, adjacency: Adjacency) -> bool:
    """Tell whether a Gaussian mechanism counts prefixes of one row, in whose cells there is little to smooth.

    They are unlike their neighbours, or known to hold more records than noise on average.
    """
    if query.hint is Hint.SPREAD or loss.is_pure or loss.rho == 0 or query.rows > 1 or query.cells > MOST_CONVOLVED:
        return False
    if query.use is CountUse.UNEVEN:
        return True
    total = adjacency.public_record_count
    return total is not None and total / query.cells > DENSE * calibrate_noise(query, loss, adjacency).variance


LINEAR = LinearChoice()
AUTO = MechanismChoice()


def resolution_error(query: CountQuery, adjacency: ReplaceOne, width: int) -> float:
    """Mean squared error of prefixes inside intervals of `width` cells where records are spread, from their number.

    Say that m records of an interval lie in it by chance, evenly. A prefix that is read from the straight line between
    its ends is off by a variance that is m / 6 on average. Records are less even than that: `UNEVEN` times. Of all
    records an interval has its share on average; rows share them.

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
    return UNEVEN * share / 6 / query.rows


@lru_cache(maxsize=1024)
def _choose_prefix_mechanism(query: CountQuery, loss: PrivacyLoss, adjacency: Adjacency) -> LinearMechanism:
    """Flat histograms, which are quickly judged, then trees from wide to narrow as long as one can still be better.

    Where nearly all counts are exact, single cells are preferred: see `EXACT`.

    What is counted more narrowly has more noise: a tree without its last level, and with its share, has less.
    """
    best: LinearMechanism = FlatHistogram()
    least = inf
    widths = _list_interval_widths(query, adjacency)
    if widths == [(1, 0.0)] and loss.is_pure and calibrate_noise(query, loss, adjacency).variance <= EXACT:
        one, other = (kind().plan(query, loss, adjacency).error ** 2 for kind in (FlatHistogram, TreeSums))
        return FlatHistogram() if one <= WORTH * other else TreeSums()
    for kind in (FlatHistogram, TreeSums):
        for width, blur in reversed(widths):
            if blur >= least:
                continue
            noise = kind(width).plan(query, loss, adjacency).error ** 2
            if noise >= least:
                break
            if noise + blur < least:
                best, least = kind(width), noise + blur
    return best


def _list_interval_widths(query: CountQuery, adjacency: Adjacency) -> list[tuple[int, float]]:
    """Numbers of cells that may be counted together, each with its error of resolution; both rise."""
    axis = query.axes[-1]
    if query.hint is not Hint.SPREAD or not isinstance(adjacency, ReplaceOne):
        return [(1, 0.0)]
    if not isinstance(axis, Axis) or axis.grid.outside is Outside.APART:
        return [(1, 0.0)]
    widths = [2**power for power in range(query.cells.bit_length())]
    return [(width, resolution_error(query, adjacency, width)) for width in widths]
