"""Counts of one column in several turns, each on intervals that earlier answers chose."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from math import floor, inf, log2, sqrt

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..conversation import (
    ALL,
    CountsBelowWorkload,
    Evidence,
    PrefixWorkload,
    QuantileSearchWorkload,
    Release,
    Setting,
    Step,
    Strategy,
    TableCounts,
)
from ..data import MOST_LAID_OUT, Axis
from ..data.grid import split_at_round_numbers
from ..estimation import JointEstimate, TreeEstimate, build_layout, least_squares_total
from ..estimation.binary_tree import WHOLE, DyadicLayout, Layout, find_leaves, first_cells_of_nodes, subtree_maxima
from ..inference import Bracket, PathQuantile
from ..laws import Family, IntervalSums, Noise, Tier, round_error
from ..queries import CountQuery, CountUse, Hint, PartitionQuery, Places, PrefixQuery

# Refinement: the next public partition, from earlier releases. Nothing here is secret, nothing is drawn.
#
# A conversation of three turns, at 15, 10 and 75 % of the loss, or 10, 10 and 80 (`choose_budget_fractions`). The first has a fixed
# partition (`first_tilings`). Where records are known to be few for the noise it is coarse, has 25 %, and is followed by
# the last one. The others split intervals whose halves are not known well enough (`refine_tilings`). If the second turn
# would need many intervals, data are rough nearly everywhere: where single cells seem to hold most (`has_atoms`), it
# looks for them in one tiling (`find_atom_tilings`). Else, or if the first one finds no unevenness, all that is left is
# spent at once. If cells hold many records each (`is_dense`), or there is next to no noise (`is_nearly_exact`), one turn
# over all cells does better. Under zero-concentrated privacy the first turn takes 10 %, unless it is coarse, and 5 %
# where cells are known to hold many records; if it shows that the last one would count much of the grid
# (`is_widespread`), all cells are counted instead: in tilings, whose splits can be smoothed, or by a square root of
# prefix sums, if there is little to smooth (`is_uneven`).
#
# The last turn does more (`refine_last_tilings`): it also splits what holds many records, for inside an interval a band
# is as wide as all that it holds. Whole years on a fine grid have one full cell among empty ones, which an estimate
# knows after the first turn; a band knows only what the last one counts. So a band is only as good as the loss of the
# last turn: what the turns before it cost makes it wider, what they save in intervals narrower.
#
# The constants here and in `empirical_bayes` were chosen on normal, peaked and Poisson data and on seven real
# histograms, over grids of 1,024 to 32,768 cells and epsilon from 0.1 to 2, all alike: none of them knows a data set.
# `FAINT`, `COARSE_TURN`, `CAUTIOUS`, `SHORTEST_TURN`, `UNEVEN`, `DENSE_EXACT`, `HARDLY` and `ATOMS` were chosen on
# one half of the shapes and histograms of `benchmarks/regimes.py` ("choose"), and judged by the other one, but that
# whole numbers of the other half helped to choose `HARDLY`, and its tables `ATOMS`; `SHORTEST_TURN` and `UNEVEN` at 2
# and 20 million records, `DENSE_EXACT` at epsilon 2 to 10.


Tilings = tuple[Places, ...]

FIRST_TURN, SHORT_TURN, SECOND_TURN = Fraction(3, 20), Fraction(1, 10), Fraction(1, 10)
"""Parts of the loss: for the first turn, the same if cells are known to hold many records or noise is Gaussian, and
for the second one."""
SHORTEST_TURN = Fraction(1, 20)
"""The part for a first turn if both is so."""
COARSE_TURN = Fraction(1, 4)
"""The part for a first turn of a single tiling, of which nothing is left for a second one: all other loss is the last
one's."""
FAINT = {Family.LAPLACE: (150.0, 150.0), Family.GAUSSIAN: (50.0, 300.0)}
"""Records, in units of the deviation of a count in a single tiling, from which on a first turn has a second tiling, and
from which on a third one: of fewer records narrow intervals show nothing, and what is spent on them is lost."""

GLANCE = 96  # intervals of a second turn at most
ANYHOW = {Family.LAPLACE: 200, Family.GAUSSIAN: 320}
"""Intervals of a last turn from which on no second one is made before."""
WIDESPREAD, WIDESPREAD_ATOMS = 0.4, 0.5
"""Parts of the cells: if a last turn with Gaussian noise has more intervals, all cells are counted instead. The second
one if cells hold `FAR_ABOVE` as many records on average as a count deviates by."""
FAR_ABOVE = 12.0
UNEVEN = 0.35
"""Part of the cells: if more intervals than these have unclear splits, there is little to smooth."""
LARGEST = {Family.LAPLACE: (96, 1200), Family.GAUSSIAN: (16, 130, 1000)}
"""Intervals that are counted in 1, 2, ... tilings, at most; a turn at more has one more tiling."""
TOLERANCE = (4.0, 4.0, 1.0, 1.0)
"""Variance that a split may keep, in units of the noise of a split in a turn of 1, 2, ... tilings."""
CAUTIOUS = (8.0, 6.0, 1.0, 1.0)
"""`TOLERANCE` where there are few records for the noise: a prefix then has little that is known beside much noise."""
UNHURRIED = (8.0, 5.0, 1.0, 1.0)
"""`TOLERANCE` where records seem to lie evenly: what is not split is then straight."""
ATOMS = 0.5
"""The part of its largest square that the difference of two halves has, from which on single cells hold most."""
HARDLY = 0.3
"""`TOLERANCE` in a second turn of many intervals in one tiling, where a split costs nothing."""
SPANNED = {
    Family.LAPLACE: ((30.0,), (12.0, 20.0, 40.0), (12.0, 20.0, 40.0)),
    Family.GAUSSIAN: ((8.0,), (5.0,), (3.0,), (3.0,)),
}
"""Records that an interval of the last turn may hold, in deviations of a count in a turn of 1, 2, ... tilings: of these
numbers the first with which there are not too many intervals. So much may one hold that has a `TYPICAL` part of the
cells; another one, so many times as much as the root of its part is smaller, within `LEAST` and `MOST`. Gaussian noise
grows but with the root of the tilings: one more, with intervals that hold less, is then the better way."""
TYPICAL, LEAST, MOST = 0.01, 0.4, 2.2
ENOUGH_RECORDS = 250  # records, in units of the deviation of a count in a single tiling
CLEAR = 0.5  # chance that records lie evenly, from which on this is taken to be so
OVERVIEW = 1.6  # so many times more intervals than equal steps give does a coarser interval hold
OVERVIEWS = (1.0, 1.3, 1.6, 2.0)
"""`OVERVIEW` in a last turn with Gaussian noise, which decides between these, and between numbers of tilings."""
MOST_TILINGS = 5
UNSURE, MARGIN = 2.0, 4.0
"""Standard deviations that a quantile may be off, where counts close in on it, and so many of the noise of a count of
the turn itself: see `refine_around_quantiles`. Like the other constants of such turns, they were chosen on a lognormal law and on two
normal ones beside each other, 3,000 records at epsilon 1."""
FAR, LARGE = 4.0, 8.0
"""Deviations that a quantile may be off before an interval of so many times the records that it may hold stays whole:
beside a quantile, an interval with nearly all records would be the whole of its interval. Tried on beta(2, 5) alone, 60
releases of 3,000 records whose number is private: mean widths 0.61 times, errors 0.93 times."""
SAMPLED = 0.5
PRIVATE_TILING = 64.0
"""Intervals of a first turn where the number of records is private: see `choose_first_depth`."""
_LARGE = Fraction(10**6)  # a parameter of noise, so large that its being discrete does not matter
DENSE = 5.5  # records in a cell, in units of the noise of a split in a turn of three tilings
DENSE_EXACT = 2.0  # the same with little noise
NEARLY_EXACT = 0.25  # variance of a count, in a single tiling, of which four in five are exact: little noise
FULL = 1.0  # records in a cell, in the same units, from which on a short turn shows them


def first_tilings(layout: DyadicLayout, thirds: int = 3) -> Tilings:
    """The first tilings: a third as deep as cells, two thirds, and all the way, or less of these.

    >>> first_tilings(DyadicLayout.from_cells(8)), first_tilings(DyadicLayout.from_cells(8), thirds=1)
    ((range(0, 8, 4), range(0, 8, 2), range(0, 8)), (range(0, 8, 4),))
    """
    depths = sorted({max(min(layout.depth, 1), round(layout.depth * third / 3)) for third in range(1, thirds + 1)})
    return tuple(_starts_of_nodes(layout, layout.nodes_at_depth(depth)) for depth in depths)


def tiling_at_depth(layout: DyadicLayout, depth: int) -> Tilings:
    """A tiling, so many halvings below the whole.

    >>> tiling_at_depth(DyadicLayout.from_cells(8), 2)
    (range(0, 8, 2),)
    """
    return (_starts_of_nodes(layout, layout.nodes_at_depth(depth)),)


def choose_first_depth(layout: DyadicLayout, total: float | None, noise: Noise) -> int:
    """The number of halvings at which intervals hold about as much as noise moves the count below a middle one.

    With m intervals that is the noise of m / 4 counts, as one adds up those of the shorter side, which have it half.
    """
    tilings = PRIVATE_TILING if total is None else (2 * total / sqrt(noise.variance)) ** (2 / 3)
    return min(max(round(log2(max(tilings, 2.0))), 2), layout.depth)


def choose_first_thirds(total: float | None, alone: Noise) -> int:
    """The depth of a first turn in thirds of the way down to the cells: see `FAINT`.

    Args:
        total: The public number of records; None where it is private.
        alone: See `is_dense`.
    """
    if total is None:
        return 3
    return 1 + sum(total >= faint * sqrt(alone.variance) for faint in FAINT[alone.family])


def is_dense(cells: int, total: float | None, alone: Noise) -> bool:
    """Tell whether cells have so many records on average that all of them are worth a count.

    Args:
        cells: How many there are.
        total: The public number of records; None where it is private.
        alone: The noise of a count, if the whole loss were spent on a single tiling.
    """
    least = DENSE if alone.variance > NEARLY_EXACT else DENSE_EXACT
    return total is not None and total / cells > least * _split_variance(alone, 3)


def is_fairly_dense(cells: int, total: float | None, alone: Noise) -> bool:
    """Tell whether cells are known to hold many records on average, but not so many that there is nothing to look for.

    Arguments are those of `is_dense`.
    """
    return total is not None and total / cells > FULL * _split_variance(alone, 3)


def is_nearly_exact(cells: int, total: float | None, alone: Noise) -> bool:
    """Tell whether there is so little noise that counts of single cells, most of them exact, add up to less than a
    tree's.

    The tree has the loss of the last of three turns. What turns before it cost weighs more than elsewhere: variances of
    whole numbers, by which both are judged, fall much faster than the square of a scale.

    Arguments are those of `is_dense`.
    """
    if alone.variance > NEARLY_EXACT:
        return False
    last = replace(alone, parameter=alone.parameter / (1 - FIRST_TURN - SECOND_TURN))
    flat, nested = ((range(cells),), alone), (first_tilings(DyadicLayout.from_cells(cells)), last)
    one, other = (
        _shared_prefix_variance(tilings, cells, noise, total is not None) for tilings, noise in (flat, nested)
    )
    return one < other


def choose_budget_fractions(cells: int, total: float | None, alone: Noise) -> tuple[Fraction, Fraction, Fraction]:
    """Losses of the three turns, as parts of the whole loss: public before anything is asked.

    Arguments are those of `is_dense`.

    >>> choose_budget_fractions(100, 1000, Noise(Family.LAPLACE, Fraction(2)))
    (Fraction(3, 20), Fraction(1, 10), Fraction(3, 4))
    """
    reasons = (alone.family is Family.GAUSSIAN) + is_fairly_dense(cells, total, alone)
    first = COARSE_TURN if choose_first_thirds(total, alone) == 1 else (FIRST_TURN, SHORT_TURN, SHORTEST_TURN)[reasons]
    return first, SECOND_TURN, 1 - first - SECOND_TURN


def refine_tilings(splits: TreeEstimate, alone: Noise) -> Tilings:
    """The next nested tilings, from coarse to fine, all with the same noise.

    An interval is split, down to single cells, if it or an interval in it has a split whose posterior variance is
    more than `TOLERANCE` times the noise that the turn would have; somewhat less readily where records are few, or lie
    evenly. The finest tiling is what is then not split; if it has many intervals, K of them, up to three coarser ones
    are counted beside it, in steps of about ``K ** (1 / h)``, so that prefixes are sums of few counts. They share the
    loss: with h tilings the parameter of the noise is h times that of `alone`, Laplace and Gaussian alike.

    Formal guarantees: a pure function of released and other public numbers.

    Args:
        splits: What is known before.
        alone: The noise of a count, if all that the turn may lose were spent on a single tiling.
    """
    leaves, tilings = _select_leaves(splits, alone, ((inf,),) * len(TOLERANCE))
    return _coarsen_geometrically(splits.layout, leaves, tilings, OVERVIEW)


def has_atoms(splits: TreeEstimate) -> bool:
    """Tell whether records seem to lie in single cells, with few beside them.

    Expected squares of what halves differ by, in the two finest halvings and beyond what chance alone makes, are then
    nearly those of their parents. Where cells are merely unlike their neighbours they are much less.
    """
    square = largest = 0.0
    for parent, left, right, _ in splits.layout.halvings[-2:]:
        counts, apart = splits.counts[parent], splits.counts[left] - splits.counts[right]
        square += float(np.maximum(4 * splits.variance[parent] + apart**2 - counts, 0).sum())
        largest += float((counts**2).sum())
    return square > ATOMS * largest


def find_atom_tilings(splits: TreeEstimate, alone: Noise) -> Tilings:
    """The tilings of a second turn if many splits are unclear and records lie in atoms: any number of intervals, once.

    It finds cells that hold much by themselves: the last turn counts intervals closely, but inside an interval that it
    does not split the curve is straight, and a single full cell in it would be the largest error of all. Intervals of a
    tiling are disjoint, so that more of them have no more noise; what is clear stays together, and is told better so.

    Args:
        splits: What is known before.
        alone: The noise of a count in the turn.
    """
    risk = subtree_maxima(splits.layout, splits.variance)
    return (_starts_of_nodes(splits.layout, find_leaves(splits.layout, risk > HARDLY * _split_variance(alone, 1))),)


def refine_last_tilings(
    splits: TreeEstimate, alone: Noise, several: NDArray[np.bool_] | None = None, least: FloatArray | None = None
) -> Tilings:
    """Refine for the last turn: an interval is also split if it seems to hold more than `SPANNED` records.

    A band is as wide inside an interval as all that it holds, beside the noise. That matters most where one cell of an
    interval has nearly everything: that this is so may be known well enough for an estimate, but a band has to see it.
    Each further interval costs all others the same; what one adds to the mean width is what it holds times its share of
    the cells. So wide intervals of few records are split before narrow ones of many.

    With Gaussian noise the coarser tilings are those with the least mean variance of a prefix of intervals: four or
    five with the finest one, where many intervals are counted. What more of them cost grows faster with Laplace noise.

    Args:
        splits: What is known before.
        alone: The noise of a count in the turn, if it had one tiling.
        several: The nodes that may be split, (nodes,); None: all.
        least: The number of records that each node is taken to hold at least, (nodes,); None: 0.
    """
    layout = splits.layout
    leaves, fewest = _select_leaves(splits, alone, SPANNED[alone.family], several, least)
    if alone.family is Family.LAPLACE:
        return _coarsen_geometrically(layout, leaves, fewest, OVERVIEW)
    tried = (
        _coarsen_geometrically(layout, leaves, tilings, overview)
        for tilings in range(fewest, MOST_TILINGS + 1)
        for overview in OVERVIEWS
    )
    return min(tried, key=lambda tilings: _gaussian_prefix_variance(layout, tilings))


def _select_leaves(
    splits: TreeEstimate,
    alone: Noise,
    spanned: tuple[tuple[float, ...], ...],
    several: NDArray[np.bool_] | None = None,
    least: FloatArray | None = None,
) -> tuple[NDArray[np.int64], int]:
    """The intervals that are not to be split, and in how many tilings they were judged."""
    layout, risk = splits.layout, subtree_maxima(splits.layout, splits.variance)
    tolerance, caps = _tolerated_variances(splits, alone), enumerate((*LARGEST[alone.family], layout.cells), start=1)
    counts = splits.counts if least is None else np.maximum(splits.counts, least)
    held = counts / np.clip(np.sqrt(TYPICAL * layout.cells / np.maximum(layout.width, 1)), LEAST, MOST)
    for tilings, most, limit in ((each, most, limit) for each, most in caps for limit in spanned[each - 1]):
        noise = _split_variance(alone, tilings)
        full, risky = held > limit * sqrt(2 * noise), risk > tolerance[tilings - 1] * noise
        split = full | risky
        leaves = find_leaves(layout, split if several is None else split & several)
        if len(leaves) <= most:
            break
    return leaves, tilings


def _coarsen_geometrically(layout: Layout, leaves: NDArray[np.int64], tilings: int, overview: float) -> Tilings:
    """Tilings of even steps, the last of which are the leaves."""
    held = _count_leaves(layout, leaves)
    steps = [overview * len(leaves) ** (step / tilings) for step in range(tilings - 1, 0, -1)]
    coarser = [find_leaves(layout, held > max(1, floor(step))) for step in steps]
    return tuple(_starts_of_nodes(layout, nodes) for nodes in [*coarser, leaves])


def refine_around_quantiles(
    splits: TreeEstimate,
    alone: Noise,
    shares: tuple[float, ...],
    spread: float,
    least: float,
    *,
    population: bool = False,
) -> tuple[int, ...]:
    """A tiling that is fine where quantiles may lie, and as coarse as halvings allow elsewhere: its first cells.

    An interval is halved if a quantile may lie inside, as far as `UNSURE` standard deviations of the counts below its
    ends tell, and if it seems to hold more than `least` deviations of the noise that its count would have; as far as
    `FAR` of them if it holds `LARGE` times as much. Where the
    quantile of a population may lie, which sampling moves, too, intervals may hold `SAMPLED` deviations of that.

    The error of the count below the middle of an interval is at most that below its ends, in proportion, and that of
    its own split; the count of all records has variance `spread`. So deviations are computed from the whole downwards.

    Formal guarantees: a pure function of released and other public numbers.

    Args:
        splits: What is known before.
        alone: The noise of a count, if all that the turn may lose were spent on a single tiling.
        shares: Which quantiles.
        spread: The variance of the estimated number of records; 0 where it is public.
        least: See above.
        population: Whether the quantiles of a population are to be read, too.
    """
    layout, counts = splits.layout, splits.counts
    halved, held = np.zeros(layout.nodes, dtype=np.bool_), least * sqrt(alone.variance)
    edge = MARGIN * sqrt(alone.variance)
    for share in shares:
        halved |= _may_hold_quantile(splits, share, spread, 0.0, edge) & (counts > held)
        halved |= _may_hold_quantile(splits, share, spread, 0.0, edge, unsure=FAR) & (counts > LARGE * held)
        sampling = counts[WHOLE] * share * (1 - share)
        if population:
            halved |= _may_hold_quantile(splits, share, spread, sampling, edge) & (
                counts > max(held, SAMPLED * sqrt(sampling))
            )
    return tuple(first_cells_of_nodes(layout, find_leaves(layout, halved)).tolist())


def _may_hold_quantile(
    splits: TreeEstimate, share: float, spread: float, sampling: float, edge: float, *, unsure: float = UNSURE
) -> NDArray[np.bool_]:
    """The nodes in which the quantile may lie."""
    layout, counts = splits.layout, splits.counts
    below, first, last = np.zeros((3, layout.nodes))  # records below each node, and the deviations at both its ends
    first[WHOLE], last[WHOLE] = share * sqrt(spread), (1 - share) * sqrt(spread)
    for parent, left, right, _ in layout.halvings:
        part = np.divide(counts[left], counts[parent], out=np.full_like(counts[left], 0.5), where=counts[parent] > 0)
        middle = np.sqrt(((1 - part) * first[parent] + part * last[parent]) ** 2 + splits.variance[parent])
        below[left], below[right] = below[parent], below[parent] + counts[left]
        first[left], last[left], first[right], last[right] = first[parent], middle, middle, last[parent]
    first, last = (unsure * np.sqrt(each**2 + sampling) + edge for each in (first, last))
    place = share * counts[WHOLE]
    return np.asarray((below - first <= place) & (place <= below + counts + last))


def is_worth_pilot_query(tilings: Tilings, instead: Tilings, splits: TreeEstimate, family: Family) -> bool:
    """Tell whether a second turn is worth its price; else everything is spent on one turn.

    Not if it has many intervals; nor if records seem to lie evenly, for then there is nothing to look for; nor if the
    last turn will have many intervals anyhow.

    Args:
        tilings: What it would count.
        instead: What the last turn would count, if it came at once.
        splits: What is known before.
        family: The family of the noise.
    """
    return len(tilings[-1]) <= GLANCE and splits.even_probability <= CLEAR and len(instead[-1]) <= ANYHOW[family]


def is_widespread(tilings: Tilings, splits: TreeEstimate, alone: Noise) -> bool:
    """Tell whether a last turn would count so many of the cells that counting all of them at once is no worse.

    So it is with Gaussian noise: what adds up all cells has noise that hardly grows with their number. With Laplace
    noise it grows too fast. Where records stand far above the noise, atoms among them are worth more intervals.

    Args:
        tilings: What the last turn would count.
        splits: What is known before.
        alone: See `is_dense`.
    """
    cells = splits.layout.cells
    stands_out = splits.counts[WHOLE] > FAR_ABOVE * cells * sqrt(alone.variance)
    most = cells * (WIDESPREAD_ATOMS if stands_out else WIDESPREAD)
    return alone.family is Family.GAUSSIAN and len(tilings[-1]) > most


def is_uneven(tilings: Tilings, splits: TreeEstimate) -> bool:
    """Tell whether so many splits are unclear that cells seem to be unlike their neighbours: smoothing tells little
    then.

    Args:
        tilings: What `refine_tilings` would count; a last turn also counts what holds much, however clear it is.
        splits: What is known before.
    """
    return len(tilings[-1]) > UNEVEN * splits.layout.cells and splits.even_probability <= CLEAR


def full_tree_tilings(layout: DyadicLayout) -> Tilings:
    """A binary tree over all cells but for its root.

    >>> full_tree_tilings(DyadicLayout.from_cells(8))
    (range(0, 8, 4), range(0, 8, 2), range(0, 8))
    """
    depths = range(min(layout.depth, 1), layout.depth + 1)
    return tuple(_starts_of_nodes(layout, layout.nodes_at_depth(depth)) for depth in depths)


def _tolerated_variances(splits: TreeEstimate, alone: Noise) -> tuple[float, ...]:
    """The tolerated variance of a split in a turn of 1, 2, ... tilings, from released and public numbers."""
    if splits.even_probability > CLEAR:
        return UNHURRIED
    return TOLERANCE if splits.counts[WHOLE] > ENOUGH_RECORDS * sqrt(alone.variance) else CAUTIOUS


def _split_variance(alone: Noise, tilings: int) -> float:
    """The variance of a split of which both halves are counted."""
    return Noise(alone.family, alone.parameter * tilings).variance / 2


def _gaussian_prefix_variance(layout: Layout, tilings: Tilings) -> float:
    """The mean variance of a prefix of intervals by Gaussian noise, in some unit; the number of records is public."""
    noise, missing = (Noise(Family.GAUSSIAN, parts * _LARGE) for parts in (len(tilings), 1))
    law = IntervalSums(1, layout.cells, tuple(Tier(starts, noise) for starts in tilings), missing)
    return round_error(law.interval_law.mean_prefix_variance(True))


def _shared_prefix_variance(tilings: Tilings, cells: int, alone: Noise, total_is_public: bool) -> float:
    """The mean variance of a prefix of cells by tilings that share the loss."""
    noise = replace(alone, parameter=len(tilings) * alone.parameter)
    law = IntervalSums(1, cells, tuple(Tier(starts, noise) for starts in tilings), missing=alone)
    return law.mean_prefix_variance(total_is_public)


def _count_leaves(layout: Layout, leaves: NDArray[np.int64]) -> FloatArray:
    """The number of leaves in each node; a leaf holds one."""
    held = np.zeros(layout.nodes)
    held[leaves] = 1
    for parent, left, right, _ in reversed(layout.halvings):
        held[parent] += held[left] + held[right]
    return held


def _starts_of_nodes(layout: Layout, nodes: NDArray[np.int64]) -> Places:
    """The first cells of nodes that tile the cells; as a range, if they are evenly spaced."""
    begin = first_cells_of_nodes(layout, nodes)
    even = range(0, layout.cells, int(begin[1]) if len(begin) > 1 else layout.cells)
    return even if len(even) == len(begin) and np.array_equal(begin, even) else tuple(begin.tolist())


def count_below(workload: CountsBelowWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Ask how many records of each class lie below these edges of the grid, below its ends, and in all."""
    query = PrefixQuery(workload.axes, prefix_lengths=()).with_edges(workload.edges)
    turn = yield Step(query, ALL)
    cut = workload.axis.grid.merge_cells(workload.edges)
    return TableCounts((turn,), (Evidence.from_release(turn).as_cell_counts(query.rows),), cut)


def search_brackets(workload: QuantileSearchWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Count below the middles of all brackets, and all records, until each bracket is one cell.

    There are ``ceil(log2(slots))`` turns, for the quantiles and both ends of their intervals at once, and for those of
    intervals for the population where units are single records. All read the one tree of noises that is paid for.
    """
    axis, each = workload.axis, 1 - (1 - workload.level) / len(workload.quantile_levels)
    alone = setting.adjacency.unit.records == 1
    first = yield _prefix_step(axis, {axis.slots, Bracket(0, axis.slots).next_threshold() or axis.slots})
    seen = Evidence.from_release(first)
    while asked := {
        at
        for share in workload.quantile_levels
        for at in PathQuantile.from_evidence(seen, share, each, independent=alone).next_thresholds
    }:
        more = Evidence.from_release((yield _prefix_step(axis, asked)))  # counts of two turns that read one tree
        law, counted = seen.path_sums, len(seen.path_sums.prefix_lengths)
        values = (*seen.values[:counted], *more.values[: len(more.path_sums.prefix_lengths)], *seen.values[counted:])
        seen = Evidence(
            replace(law, prefix_lengths=law.prefix_lengths + more.path_sums.prefix_lengths), values, seen.total
        )
    return TableCounts((first,), (seen,), axis.grid)


def _prefix_step(axis: Axis, slots: Iterable[int]) -> Step:
    return Step(PrefixQuery((axis,), prefix_lengths=tuple(sorted(slots))), ALL)


# Count, refine, refine: three counts of one column, each on intervals that the answers before made worth counting.


FEWEST = 100
"""Cells from which on looking before counting pays."""
CLOSER = Fraction(1, 10)
"""Part of the loss of each turn but the last one, where counts close in on a few quantiles."""
MOST_TURNS = 4
FEW_ENOUGH = 24
"""Intervals for each quantile, with which the third turn is the last one."""
HELD_AT_LAST, HELD_BEFORE = 3.0, 2.0
"""Records that an interval may hold near a quantile, in deviations of the noise of its count: in the last turn, and in
the turns between."""
MOST_QUANTILES, FEWEST_CELLS = 3, 16
RECORDS_TO_CLOSE_IN = 300.0
"""Times the standard deviation of the noise of one count, and the cube of the number of quantiles: where the number of
records is public, closing in needs more of them. For one quantile of 300 records at epsilon 1 under replace-one it was
up to a third further off, of 1,000 a quarter nearer. The median of three quartiles was a third further off at 3,000
records, and all three were twice as near at 30,000."""
FEW_VALUES = 256
RECORDS_TO_A_VALUE = 2.5
"""Times the standard deviation of the noise of one count: from here on each is counted.

Chosen on whole numbers of three laws, smooth, heaped and zero-inflated (121 and 1,001 values, epsilon 1, replace-one,
12 releases each), and judged on no others: bands were 15 to 46% narrower than those of three turns; the curve was up to
20% further off on smooth and zero-inflated ones, and up to a third nearer on heaped ones.
"""


def count_once(workload: PrefixWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Ask as the named method does; where none is named, once for the counts of all cells."""
    if workload.method is not None:
        return (yield from workload.method.ask_rounds(workload.axes, setting))
    hint = None if workload.hint is Hint.SPREAD else workload.hint
    return TableCounts.from_last_release([(yield Step(CountQuery(workload.axes, CountUse.PREFIXES, hint), ALL))])


def count_adaptively(workload: PrefixWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Count as `_count_in_rounds` does; on cells that part round numbers from others, if the workload wants that.

    Formal guarantees: cells are split by a function of the public grid alone.
    """
    *others, axis = workload.axes
    if not (workload.has_separate_round_numbers and isinstance(axis, Axis)):
        return (yield from _count_in_rounds(workload, setting))
    grid = split_at_round_numbers(axis.grid)
    axes = (*others, replace(axis, grid=grid))
    counts = yield from _count_in_rounds(replace(workload, axes=axes, has_separate_round_numbers=False), setting)
    return replace(counts, grid=grid)


def _count_in_rounds(workload: PrefixWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Ask as the named method does; where none is named, in three turns, all of them read, if that pays, or one."""
    axis = workload.axes[0] if len(workload.axes) == 1 else None
    if workload.method is None and isinstance(axis, Axis) and is_worth_searching_quantiles(axis, workload, setting):
        return (yield from search_quantiles(axis, workload.quantile_levels, setting))
    if workload.method is None and isinstance(axis, Axis) and is_worth_refining(axis, workload.hint, setting):
        return (yield from refine_in_rounds(axis, setting))
    return (yield from count_once(workload, setting))


def is_worth_searching_quantiles(axis: Axis, workload: PrefixWorkload, setting: Setting) -> bool:
    """Tell whether counts close in on a few quantiles. A function of public facts alone.

    Not with a hint that changes anything, nor with next to no noise. Where the number of records is private, on a
    single quantile only.
    """
    if (
        workload.hint not in (None, Hint.SPREAD)
        or setting.loss.rho == 0
        or not FEWEST_CELLS <= axis.slots <= MOST_LAID_OUT
    ):
        return False
    quantiles, total, alone = (
        len(workload.quantile_levels),
        setting.adjacency.public_record_count,
        setting.count_noise(),
    )
    if not 1 <= quantiles <= MOST_QUANTILES or alone.variance < NEARLY_EXACT:
        return False
    if total is None:
        return quantiles == 1
    return total >= RECORDS_TO_CLOSE_IN * quantiles**3 * sqrt(alone.variance)


def search_quantiles(axis: Axis, shares: tuple[float, ...], setting: Setting) -> Strategy[TableCounts]:
    """Ask for a fixed partition, then for intervals that are short where the quantiles may lie, until these are few.

    Formal guarantees: each turn is priced as `PartitionQuery`, whatever was answered before; its intervals are
    functions of earlier answers and of public facts. There are three turns or `MOST_TURNS`, and each has `CLOSER` of
    the loss but for the last one, which has all that is left. *Proof by induction from the last turn*: whatever was
    answered before, the turns that are left lose together what is left, whether that is spent in one turn, or in one of
    `CLOSER` and then what is left. So the conversation is at each turn the adaptive composition of two mechanisms of
    fixed losses, the second of which is one of several that are all priced the same: pure losses and rho add up to what
    was granted (Dwork and Roth 2014, section 3.5; Bun and Steinke 2016, Lemma 2.3).
    """
    layout, alone, left = build_layout(axis.slots), setting.count_noise(), ALL - CLOSER
    total, sampled = setting.adjacency.public_record_count, setting.adjacency.unit.records == 1
    glance = Noise(alone.family, alone.parameter / CLOSER)
    releases = [
        (
            yield Step(
                PartitionQuery((axis,), tiling_at_depth(layout, choose_first_depth(layout, total, glance))), CLOSER
            )
        )
    ]
    while True:
        joint, turn = JointEstimate.from_releases(releases), len(releases)
        spread = 0.0 if total is not None else 1 / least_squares_total(joint.measurements)[1]
        rest = Noise(alone.family, alone.parameter / left)
        last = refine_around_quantiles(joint.tree_estimate, rest, shares, spread, HELD_AT_LAST, population=sampled)
        if turn == MOST_TURNS - 1 or (turn > 1 and len(last) <= FEW_ENOUGH * len(shares)):
            releases.append((yield Step(PartitionQuery((axis,), (last,), round_number=turn), left)))
            return _combine_rounds(tuple(releases))
        starts = refine_around_quantiles(joint.tree_estimate, glance, shares, spread, HELD_BEFORE)
        releases.append((yield Step(PartitionQuery((axis,), (starts,), round_number=turn), CLOSER)))
        left -= CLOSER


def is_worth_refining(axis: Axis, hint: Hint | None, setting: Setting) -> bool:
    """Tell whether three turns are asked for. A function of public facts alone.

    Not with a hint that records have atoms. Else with the hint that they are peaked, or if there are many cells, few
    records for them as far as that is public, and enough noise for a turn to be worth its price; declared values only
    where these are too many for their records to be counted each. A hint that records are spread changes nothing: the
    answers tell, and where they are not it would make errors many times as large.
    """
    if setting.loss.rho == 0 or axis.slots > MOST_LAID_OUT:
        return False
    if hint in (Hint.PEAKED, Hint.ATOMS):
        return hint is Hint.PEAKED
    known = axis.slots, setting.adjacency.public_record_count, setting.count_noise()
    if axis.grid.values is not None and are_worth_counting(*known):
        return False
    return axis.slots >= FEWEST and not is_dense(*known) and not is_nearly_exact(*known)


def are_worth_counting(values: int, total: int | None, noise: Noise) -> bool:
    """Tell whether each declared value is counted by itself, in one turn. A function of public facts alone.

    Records lie on declared values, and neighbours that are counted together leave open which of them they are: means
    over pairs, and quantiles, are then known to within what lies between these. So each is counted from
    `RECORDS_TO_A_VALUE` on; where the number of records is not public, if there are at most `FEW_VALUES`, which no
    measurement chose.
    """
    return values <= FEW_VALUES if total is None else total >= RECORDS_TO_A_VALUE * values * sqrt(noise.variance)


def refine_in_rounds(axis: Axis, setting: Setting) -> Strategy[TableCounts]:
    """Ask for a fixed partition, then for intervals that were not clear, and once more.

    Two turns do if records are known to be few, or seem to lie evenly, or if nearly nothing was clear or the last turn
    has much to count, and records do not seem to lie in single cells. Under zero-concentrated privacy a last turn that
    has much to count counts all cells.

    Formal guarantees: each turn is priced as `PartitionQuery`, or as `CountQuery` of all cells, whatever was answered
    before: its intervals are functions of earlier answers and of public facts. The parts of the loss are public before
    anything is asked. Whatever the first answer is, what follows loses all that the first one left: in one turn, or in
    one of a tenth of the whole loss and then one of the rest. So the conversation is the adaptive composition of two
    mechanisms of fixed losses, the second of which is one of several that are all priced the same: pure losses and rho
    add up to what was granted (Dwork and Roth 2014, section 3.5; Bun and Steinke 2016, Lemma 2.3).
    """
    layout, alone = build_layout(axis.slots), setting.count_noise()
    total = setting.adjacency.public_record_count
    first, glance, rest = choose_budget_fractions(axis.slots, total, alone)
    thirds = choose_first_thirds(total, alone)
    releases = [(yield Step(PartitionQuery((axis,), first_tilings(layout, thirds)), first))]
    joint = JointEstimate.from_releases(releases)
    last = _choose_next_tilings(joint, (glance + rest) / first, refine_last_tilings)
    if is_widespread(last, joint.tree_estimate, alone):
        all_cells = _build_all_cells_query(axis, joint, (glance + rest) / first)
        return _combine_rounds((*releases, (yield Step(all_cells, glance + rest))))
    tilings = _choose_next_tilings(joint, glance / first, refine_tilings)
    glanced = thirds > 1 and is_worth_pilot_query(tilings, last, joint.tree_estimate, joint.noise.family)
    if not glanced and thirds > 1 and joint.tree_estimate.even_probability <= CLEAR and has_atoms(joint.tree_estimate):
        glanced, tilings = True, _choose_next_tilings(joint, glance / first, find_atom_tilings)
    if glanced:
        releases.append((yield Step(PartitionQuery((axis,), tilings, round_number=1), glance)))
        last = _choose_next_tilings(JointEstimate.from_releases(releases), rest / first, refine_last_tilings)
    else:
        rest += glance
    releases.append((yield Step(PartitionQuery((axis,), last, round_number=2), rest)))
    return _combine_rounds(tuple(releases))


def _combine_rounds(releases: tuple[Release, ...]) -> TableCounts:
    """Read all turns together; a tree over all cells that are not halved as those of the turns are, alone."""
    told = tuple(Evidence.from_release(release) for release in releases)
    if releases[-1].plan.query.uses_prefixes and not told[-1].sums.is_convolved:
        return TableCounts.from_last_release(releases)
    return TableCounts(releases, told)


def _build_all_cells_query(axis: Axis, joint: JointEstimate, times: Fraction) -> CountQuery | PartitionQuery:
    """The query that counts every cell, with so many times the loss of the first turn: see `is_uneven`.

    A square root of prefix sums has less noise than a tree, but nothing of it can be smoothed.
    """
    if is_uneven(_choose_next_tilings(joint, times, refine_tilings), joint.tree_estimate):
        return CountQuery((axis,), CountUse.UNEVEN)
    return PartitionQuery((axis,), full_tree_tilings(build_layout(axis.slots)), round_number=1)


def _choose_next_tilings(
    joint: JointEstimate, times: Fraction, refine: Callable[[TreeEstimate, Noise], Tilings]
) -> Tilings:
    """The next query, with so many times the loss of the first turn; all cells, if nothing stands out."""
    levels = joint.rounds[0].interval_sums.levels
    alone = Noise(joint.noise.family, joint.noise.parameter / len(levels) / times)
    tilings = refine(joint.tree_estimate, alone)
    return tilings if len(tilings[-1]) > 1 else tuple(level.starts for level in levels)
