"""Counts of one column in several turns, each on intervals that earlier answers chose."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from math import floor, inf, log2, sqrt

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..conversation import ALL, Below, Brackets, Counted, Evidence, Prefixes, Release, Setting, Step, Strategy
from ..data import MOST_LAID_OUT, Axis
from ..data.grid import split_at_round_numbers
from ..estimation import JointEstimate, Splits, layout_of, least_squares_total
from ..estimation.binary_tree import WHOLE, Dyadic, Layout, beginnings, largest_below, undivided
from ..inference import Bracket, PathQuantile
from ..laws import Family, IntervalSums, Noise, Tier, printed
from ..queries import CountQuery, Hint, PartitionQuery, Places, PrefixQuery, Read

# Refinement: the next public partition, from earlier releases. Nothing here is secret, nothing is drawn.
#
# A conversation of three turns, at 15, 10 and 75 % of the loss, or 10, 10 and 80 (`parts`). The first has a fixed
# partition (`first_turn`). Where records are known to be few for the noise it is coarse, has 25 %, and is followed by
# the last one. The others split intervals whose halves are not known well enough (`refinement`). If the second turn
# would need many intervals, data are rough nearly everywhere: where single cells seem to hold most (`has_atoms`), it
# looks for them in one tiling (`overall_look`). Else, or if the first one finds no unevenness, all that is left is
# spent at once. If cells hold many records each (`is_dense`), or there is next to no noise (`is_exact`), one turn
# over all cells does better. Under zero-concentrated privacy the first turn takes 10 %, unless it is coarse, and 5 %
# where cells are known to hold many records; if it shows that the last one would count much of the grid
# (`is_widespread`), all cells are counted instead: in tilings, whose splits can be smoothed, or by a square root of
# prefix sums, if there is little to smooth (`is_uneven`).
#
# The last turn does more (`last_refinement`): it also splits what holds many records, for inside an interval a band
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
the turn itself: see `around`. Like the other constants of such turns, they were chosen on a lognormal law and on two
normal ones beside each other, 3,000 records at epsilon 1."""
FAR, LARGE = 4.0, 8.0
"""Deviations that a quantile may be off before an interval of so many times the records that it may hold stays whole:
beside a quantile, an interval with nearly all records would be the whole of its interval. Tried on beta(2, 5) alone, 60
releases of 3,000 records whose number is private: mean widths 0.61 times, errors 0.93 times."""
SAMPLED = 0.5
PRIVATE_TILING = 64.0
"""Intervals of a first turn where the number of records is private: see `first_depth`."""
_LARGE = Fraction(10**6)  # a parameter of noise, so large that its being discrete does not matter
DENSE = 5.5  # records in a cell, in units of the noise of a split in a turn of three tilings
DENSE_EXACT = 2.0  # the same with little noise
NEARLY_EXACT = 0.25  # variance of a count, in a single tiling, of which four in five are exact: little noise
FULL = 1.0  # records in a cell, in the same units, from which on a short turn shows them


def first_turn(layout: Dyadic, thirds: int = 3) -> Tilings:
    """The first tilings: a third as deep as cells, two thirds, and all the way, or less of these.

    >>> first_turn(Dyadic.plain(8)), first_turn(Dyadic.plain(8), thirds=1)
    ((range(0, 8, 4), range(0, 8, 2), range(0, 8)), (range(0, 8, 4),))
    """
    depths = sorted({max(min(layout.depth, 1), round(layout.depth * third / 3)) for third in range(1, thirds + 1)})
    return tuple(_starts(layout, layout.at_depth(depth)) for depth in depths)


def at_depth(layout: Dyadic, depth: int) -> Tilings:
    """A tiling, so many halvings below the whole.

    >>> at_depth(Dyadic.plain(8), 2)
    (range(0, 8, 2),)
    """
    return (_starts(layout, layout.at_depth(depth)),)


def first_depth(layout: Dyadic, total: float | None, noise: Noise) -> int:
    """The number of halvings at which intervals hold about as much as noise moves the count below a middle one.

    With m intervals that is the noise of m / 4 counts, as one adds up those of the shorter side, which have it half.
    """
    tilings = PRIVATE_TILING if total is None else (2 * total / sqrt(noise.variance)) ** (2 / 3)
    return min(max(round(log2(max(tilings, 2.0))), 2), layout.depth)


def thirds_seen(total: float | None, alone: Noise) -> int:
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


def is_full(cells: int, total: float | None, alone: Noise) -> bool:
    """Tell whether cells are known to hold many records on average, but not so many that there is nothing to look for.

    Arguments are those of `is_dense`.
    """
    return total is not None and total / cells > FULL * _split_variance(alone, 3)


def is_exact(cells: int, total: float | None, alone: Noise) -> bool:
    """Tell whether there is so little noise that counts of single cells, most of them exact, add up to less than a
    tree's.

    The tree has the loss of the last of three turns. What turns before it cost weighs more than elsewhere: variances of
    whole numbers, by which both are judged, fall much faster than the square of a scale.

    Arguments are those of `is_dense`.
    """
    if alone.variance > NEARLY_EXACT:
        return False
    last = replace(alone, parameter=alone.parameter / (1 - FIRST_TURN - SECOND_TURN))
    flat, nested = ((range(cells),), alone), (first_turn(Dyadic.plain(cells)), last)
    one, other = (_variance_of_prefixes(tilings, cells, noise, total is not None) for tilings, noise in (flat, nested))
    return one < other


def parts(cells: int, total: float | None, alone: Noise) -> tuple[Fraction, Fraction, Fraction]:
    """Losses of the three turns, as parts of the whole loss: public before anything is asked.

    Arguments are those of `is_dense`.

    >>> parts(100, 1000, Noise(Family.LAPLACE, Fraction(2)))
    (Fraction(3, 20), Fraction(1, 10), Fraction(3, 4))
    """
    reasons = (alone.family is Family.GAUSSIAN) + is_full(cells, total, alone)
    first = COARSE_TURN if thirds_seen(total, alone) == 1 else (FIRST_TURN, SHORT_TURN, SHORTEST_TURN)[reasons]
    return first, SECOND_TURN, 1 - first - SECOND_TURN


def refinement(splits: Splits, alone: Noise) -> Tilings:
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
    leaves, tilings = _leaves(splits, alone, ((inf,),) * len(TOLERANCE))
    return _in_steps(splits.layout, leaves, tilings, OVERVIEW)


def has_atoms(splits: Splits) -> bool:
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


def overall_look(splits: Splits, alone: Noise) -> Tilings:
    """The tilings of a second turn if many splits are unclear and records lie in atoms: any number of intervals, once.

    It finds cells that hold much by themselves: the last turn counts intervals closely, but inside an interval that it
    does not split the curve is straight, and a single full cell in it would be the largest error of all. Intervals of a
    tiling are disjoint, so that more of them have no more noise; what is clear stays together, and is told better so.

    Args:
        splits: What is known before.
        alone: The noise of a count in the turn.
    """
    risk = largest_below(splits.layout, splits.variance)
    return (_starts(splits.layout, undivided(splits.layout, risk > HARDLY * _split_variance(alone, 1))),)


def last_refinement(
    splits: Splits, alone: Noise, several: NDArray[np.bool_] | None = None, least: FloatArray | None = None
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
    leaves, fewest = _leaves(splits, alone, SPANNED[alone.family], several, least)
    if alone.family is Family.LAPLACE:
        return _in_steps(layout, leaves, fewest, OVERVIEW)
    tried = (
        _in_steps(layout, leaves, tilings, overview)
        for tilings in range(fewest, MOST_TILINGS + 1)
        for overview in OVERVIEWS
    )
    return min(tried, key=lambda tilings: _prefix_variance(layout, tilings))


def _leaves(
    splits: Splits,
    alone: Noise,
    spanned: tuple[tuple[float, ...], ...],
    several: NDArray[np.bool_] | None = None,
    least: FloatArray | None = None,
) -> tuple[NDArray[np.int64], int]:
    """The intervals that are not to be split, and in how many tilings they were judged."""
    layout, risk = splits.layout, largest_below(splits.layout, splits.variance)
    tolerance, caps = _tolerance(splits, alone), enumerate((*LARGEST[alone.family], layout.cells), start=1)
    counts = splits.counts if least is None else np.maximum(splits.counts, least)
    held = counts / np.clip(np.sqrt(TYPICAL * layout.cells / np.maximum(layout.width, 1)), LEAST, MOST)
    for tilings, most, limit in ((each, most, limit) for each, most in caps for limit in spanned[each - 1]):
        noise = _split_variance(alone, tilings)
        full, risky = held > limit * sqrt(2 * noise), risk > tolerance[tilings - 1] * noise
        split = full | risky
        leaves = undivided(layout, split if several is None else split & several)
        if len(leaves) <= most:
            break
    return leaves, tilings


def _in_steps(layout: Layout, leaves: NDArray[np.int64], tilings: int, overview: float) -> Tilings:
    """Tilings of even steps, the last of which are the leaves."""
    held = _held(layout, leaves)
    steps = [overview * len(leaves) ** (step / tilings) for step in range(tilings - 1, 0, -1)]
    coarser = [undivided(layout, held > max(1, floor(step))) for step in steps]
    return tuple(_starts(layout, nodes) for nodes in [*coarser, leaves])


def around(
    splits: Splits, alone: Noise, shares: tuple[float, ...], spread: float, least: float, *, sampled: bool = False
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
        sampled: Whether the quantiles of a population are to be read, too.
    """
    layout, counts = splits.layout, splits.counts
    halved, held = np.zeros(layout.nodes, dtype=np.bool_), least * sqrt(alone.variance)
    edge = MARGIN * sqrt(alone.variance)
    for share in shares:
        halved |= _may_hold(splits, share, spread, 0.0, edge) & (counts > held)
        halved |= _may_hold(splits, share, spread, 0.0, edge, unsure=FAR) & (counts > LARGE * held)
        sampling = counts[WHOLE] * share * (1 - share)
        if sampled:
            halved |= _may_hold(splits, share, spread, sampling, edge) & (counts > max(held, SAMPLED * sqrt(sampling)))
    return tuple(beginnings(layout, undivided(layout, halved)).tolist())


def _may_hold(
    splits: Splits, share: float, spread: float, sampling: float, edge: float, *, unsure: float = UNSURE
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


def is_glance(tilings: Tilings, instead: Tilings, splits: Splits, family: Family) -> bool:
    """Tell whether a second turn is worth its price; else everything is spent on one turn.

    Not if it has many intervals; nor if records seem to lie evenly, for then there is nothing to look for; nor if the
    last turn will have many intervals anyhow.

    Args:
        tilings: What it would count.
        instead: What the last turn would count, if it came at once.
        splits: What is known before.
        family: The family of the noise.
    """
    return len(tilings[-1]) <= GLANCE and splits.even <= CLEAR and len(instead[-1]) <= ANYHOW[family]


def is_widespread(tilings: Tilings, splits: Splits, alone: Noise) -> bool:
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


def is_uneven(tilings: Tilings, splits: Splits) -> bool:
    """Tell whether so many splits are unclear that cells seem to be unlike their neighbours: smoothing tells little
    then.

    Args:
        tilings: What `refinement` would count; a last turn also counts what holds much, however clear it is.
        splits: What is known before.
    """
    return len(tilings[-1]) > UNEVEN * splits.layout.cells and splits.even <= CLEAR


def all_depths(layout: Dyadic) -> Tilings:
    """A binary tree over all cells but for its root.

    >>> all_depths(Dyadic.plain(8))
    (range(0, 8, 4), range(0, 8, 2), range(0, 8))
    """
    depths = range(min(layout.depth, 1), layout.depth + 1)
    return tuple(_starts(layout, layout.at_depth(depth)) for depth in depths)


def _tolerance(splits: Splits, alone: Noise) -> tuple[float, ...]:
    """The tolerated variance of a split in a turn of 1, 2, ... tilings, from released and public numbers."""
    if splits.even > CLEAR:
        return UNHURRIED
    return TOLERANCE if splits.counts[WHOLE] > ENOUGH_RECORDS * sqrt(alone.variance) else CAUTIOUS


def _split_variance(alone: Noise, tilings: int) -> float:
    """The variance of a split of which both halves are counted."""
    return Noise(alone.family, alone.parameter * tilings).variance / 2


def _prefix_variance(layout: Layout, tilings: Tilings) -> float:
    """The mean variance of a prefix of intervals by Gaussian noise, in some unit; the number of records is public."""
    noise, missing = (Noise(Family.GAUSSIAN, parts * _LARGE) for parts in (len(tilings), 1))
    law = IntervalSums(1, layout.cells, tuple(Tier(starts, noise) for starts in tilings), missing)
    return printed(law.of_intervals.mean_prefix_variance(True))


def _variance_of_prefixes(tilings: Tilings, cells: int, alone: Noise, pinned: bool) -> float:
    """The mean variance of a prefix of cells by tilings that share the loss."""
    noise = replace(alone, parameter=len(tilings) * alone.parameter)
    law = IntervalSums(1, cells, tuple(Tier(starts, noise) for starts in tilings), missing=alone)
    return law.mean_prefix_variance(pinned)


def _held(layout: Layout, leaves: NDArray[np.int64]) -> FloatArray:
    """The number of leaves in each node; a leaf holds one."""
    held = np.zeros(layout.nodes)
    held[leaves] = 1
    for parent, left, right, _ in reversed(layout.halvings):
        held[parent] += held[left] + held[right]
    return held


def _starts(layout: Layout, nodes: NDArray[np.int64]) -> Places:
    """The first cells of nodes that tile the cells; as a range, if they are evenly spaced."""
    begin = beginnings(layout, nodes)
    even = range(0, layout.cells, int(begin[1]) if len(begin) > 1 else layout.cells)
    return even if len(even) == len(begin) and np.array_equal(begin, even) else tuple(begin.tolist())


def below(workload: Below, setting: Setting) -> Strategy[Counted]:
    """Ask how many records of each class lie below these edges of the grid, below its ends, and in all."""
    query = PrefixQuery(workload.axes, at=()).below(workload.edges)
    turn = yield Step(query, ALL)
    cut = workload.axis.grid.cut(workload.edges)
    return Counted((turn,), (Evidence.of(turn).in_cells(query.rows),), cut)


def brackets(workload: Brackets, setting: Setting) -> Strategy[Counted]:
    """Count below the middles of all brackets, and all records, until each bracket is one cell.

    There are ``ceil(log2(slots))`` turns, for the quantiles and both ends of their intervals at once, and for those of
    intervals for the population where units are single records. All read the one tree of noises that is paid for.
    """
    axis, each = workload.axis, 1 - (1 - workload.level) / len(workload.shares)
    alone = setting.adjacency.unit.records == 1
    first = yield _turn(axis, {axis.slots, Bracket(0, axis.slots).middle() or axis.slots})
    seen = Evidence.of(first)
    while asked := {
        at for share in workload.shares for at in PathQuantile.of(seen, share, each, independent=alone).asked
    }:
        more = Evidence.of((yield _turn(axis, asked)))  # counts of two turns that read one tree
        law, counted = seen.path, len(seen.path.at)
        values = (*seen.values[:counted], *more.values[: len(more.path.at)], *seen.values[counted:])
        seen = Evidence(replace(law, at=law.at + more.path.at), values, seen.total)
    return Counted((first,), (seen,), axis.grid)


def _turn(axis: Axis, slots: Iterable[int]) -> Step:
    return Step(PrefixQuery((axis,), at=tuple(sorted(slots))), ALL)


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


def one_table(workload: Prefixes, setting: Setting) -> Strategy[Counted]:
    """Ask as the named method does; where none is named, once for the counts of all cells."""
    if workload.way is not None:
        return (yield from workload.way.turns(workload.axes, setting))
    hint = None if workload.hint is Hint.SPREAD else workload.hint
    return Counted.last_of([(yield Step(CountQuery(workload.axes, Read.PREFIXES, hint), ALL))])


def refined(workload: Prefixes, setting: Setting) -> Strategy[Counted]:
    """Count as `_refined` does; on cells that part round numbers from others, if the workload wants that.

    Formal guarantees: cells are split by a function of the public grid alone.
    """
    *others, axis = workload.axes
    if not (workload.split and isinstance(axis, Axis)):
        return (yield from _refined(workload, setting))
    grid = split_at_round_numbers(axis.grid)
    axes = (*others, replace(axis, grid=grid))
    counts = yield from _refined(replace(workload, axes=axes, split=False), setting)
    return replace(counts, grid=grid)


def _refined(workload: Prefixes, setting: Setting) -> Strategy[Counted]:
    """Ask as the named method does; where none is named, in three turns, all of them read, if that pays, or one."""
    axis = workload.axes[0] if len(workload.axes) == 1 else None
    if workload.way is None and isinstance(axis, Axis) and is_worth_closing_in(axis, workload, setting):
        return (yield from closing_in(axis, workload.around, setting))
    if workload.way is None and isinstance(axis, Axis) and is_worth_refining(axis, workload.hint, setting):
        return (yield from refining(axis, setting))
    return (yield from one_table(workload, setting))


def is_worth_closing_in(axis: Axis, workload: Prefixes, setting: Setting) -> bool:
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
    quantiles, total, alone = len(workload.around), setting.adjacency.total, setting.noise()
    if not 1 <= quantiles <= MOST_QUANTILES or alone.variance < NEARLY_EXACT:
        return False
    if total is None:
        return quantiles == 1
    return total >= RECORDS_TO_CLOSE_IN * quantiles**3 * sqrt(alone.variance)


def closing_in(axis: Axis, shares: tuple[float, ...], setting: Setting) -> Strategy[Counted]:
    """Ask for a fixed partition, then for intervals that are short where the quantiles may lie, until these are few.

    Formal guarantees: each turn is priced as `PartitionQuery`, whatever was answered before; its intervals are
    functions of earlier answers and of public facts. There are three turns or `MOST_TURNS`, and each has `CLOSER` of
    the loss but for the last one, which has all that is left. *Proof by induction from the last turn*: whatever was
    answered before, the turns that are left lose together what is left, whether that is spent in one turn, or in one of
    `CLOSER` and then what is left. So the conversation is at each turn the adaptive composition of two mechanisms of
    fixed losses, the second of which is one of several that are all priced the same: pure losses and rho add up to what
    was granted (Dwork and Roth 2014, section 3.5; Bun and Steinke 2016, Lemma 2.3).
    """
    layout, alone, left = layout_of(axis.slots), setting.noise(), ALL - CLOSER
    total, sampled = setting.adjacency.total, setting.adjacency.unit.records == 1
    glance = Noise(alone.family, alone.parameter / CLOSER)
    releases = [(yield Step(PartitionQuery((axis,), at_depth(layout, first_depth(layout, total, glance))), CLOSER))]
    while True:
        joint, turn = JointEstimate.of(releases), len(releases)
        spread = 0.0 if total is not None else 1 / least_squares_total(joint.known)[1]
        rest = Noise(alone.family, alone.parameter / left)
        last = around(joint.splits, rest, shares, spread, HELD_AT_LAST, sampled=sampled)
        if turn == MOST_TURNS - 1 or (turn > 1 and len(last) <= FEW_ENOUGH * len(shares)):
            releases.append((yield Step(PartitionQuery((axis,), (last,), turn=turn), left)))
            return _all_read(tuple(releases))
        starts = around(joint.splits, glance, shares, spread, HELD_BEFORE)
        releases.append((yield Step(PartitionQuery((axis,), (starts,), turn=turn), CLOSER)))
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
    known = axis.slots, setting.adjacency.total, setting.noise()
    if axis.grid.values is not None and are_worth_counting(*known):
        return False
    return axis.slots >= FEWEST and not is_dense(*known) and not is_exact(*known)


def are_worth_counting(values: int, total: int | None, noise: Noise) -> bool:
    """Tell whether each declared value is counted by itself, in one turn. A function of public facts alone.

    Records lie on declared values, and neighbours that are counted together leave open which of them they are: means
    over pairs, and quantiles, are then known to within what lies between these. So each is counted from
    `RECORDS_TO_A_VALUE` on; where the number of records is not public, if there are at most `FEW_VALUES`, which no
    measurement chose.
    """
    return values <= FEW_VALUES if total is None else total >= RECORDS_TO_A_VALUE * values * sqrt(noise.variance)


def refining(axis: Axis, setting: Setting) -> Strategy[Counted]:
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
    layout, alone = layout_of(axis.slots), setting.noise()
    total = setting.adjacency.total
    first, glance, rest = parts(axis.slots, total, alone)
    thirds = thirds_seen(total, alone)
    releases = [(yield Step(PartitionQuery((axis,), first_turn(layout, thirds)), first))]
    joint = JointEstimate.of(releases)
    last = _worth_counting(joint, (glance + rest) / first, last_refinement)
    if is_widespread(last, joint.splits, alone):
        all_cells = _all_cells(axis, joint, (glance + rest) / first)
        return _all_read((*releases, (yield Step(all_cells, glance + rest))))
    tilings = _worth_counting(joint, glance / first, refinement)
    glanced = thirds > 1 and is_glance(tilings, last, joint.splits, joint.noise.family)
    if not glanced and thirds > 1 and joint.splits.even <= CLEAR and has_atoms(joint.splits):
        glanced, tilings = True, _worth_counting(joint, glance / first, overall_look)
    if glanced:
        releases.append((yield Step(PartitionQuery((axis,), tilings, turn=1), glance)))
        last = _worth_counting(JointEstimate.of(releases), rest / first, last_refinement)
    else:
        rest += glance
    releases.append((yield Step(PartitionQuery((axis,), last, turn=2), rest)))
    return _all_read(tuple(releases))


def _all_read(releases: tuple[Release, ...]) -> Counted:
    """Read all turns together; a tree over all cells that are not halved as those of the turns are, alone."""
    told = tuple(Evidence.of(release) for release in releases)
    if releases[-1].plan.query.of_prefixes and not told[-1].sums.is_convolved:
        return Counted.last_of(releases)
    return Counted(releases, told)


def _all_cells(axis: Axis, joint: JointEstimate, times: Fraction) -> CountQuery | PartitionQuery:
    """The query that counts every cell, with so many times the loss of the first turn: see `is_uneven`.

    A square root of prefix sums has less noise than a tree, but nothing of it can be smoothed.
    """
    if is_uneven(_worth_counting(joint, times, refinement), joint.splits):
        return CountQuery((axis,), Read.UNEVEN)
    return PartitionQuery((axis,), all_depths(layout_of(axis.slots)), turn=1)


def _worth_counting(joint: JointEstimate, times: Fraction, refine: Callable[[Splits, Noise], Tilings]) -> Tilings:
    """The next query, with so many times the loss of the first turn; all cells, if nothing stands out."""
    levels = joint.turns[0].measured.levels
    alone = Noise(joint.noise.family, joint.noise.parameter / len(levels) / times)
    tilings = refine(joint.splits, alone)
    return tilings if len(tilings[-1]) > 1 else tuple(level.starts for level in levels)
