"""Counts of two classes above thresholds, and of groups of similar scores."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import log2, sqrt
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..conversation import (
    ALL,
    HALF,
    Counted,
    Cuts,
    Evidence,
    Grouped,
    Groups,
    Ranks,
    Release,
    Setting,
    Shares,
    Step,
    Strategy,
    UnsupportedQuery,
)
from ..data import Axis, Grid, Outside
from ..queries import MOST_COUNTED, CountQuery, MedianQuery, MergePartitionQuery, QuantileCutsQuery, Read, SumQuery

# Counts of two classes above thresholds: in cells of a grid, or between quantiles of all scores.
#
# Constants were chosen on scores of `benchmarks/auc_accuracy.py` that are continuous, tied, heaped, or all in a
# twentieth of the grid, and are judged on the other kinds.


class Finer(NamedTuple):
    """Cells finer than those of the curve, which tell in what order classes lie within these: for intervals alone.

    Attributes:
        least: From so many records times epsilon on, as in `levels_for`.
        cuts: The part of the loss that finds cuts.
        parts: How many finer cells each piece is counted in: a multiple of `PARTS`.
        share: The part of the loss that counts them.
    """

    least: float
    cuts: Fraction
    parts: int
    share: Fraction


COUNTING = Fraction(1, 100)
"""The part of the loss that counts records where their number is private."""
CUTS_SHARE = Fraction(1, 5)
MOST_LEVELS = 8
"""The most halvings of scores by cuts."""
PARTS = 2
"""Cells that each piece is counted in, so that less of the order of scores is hidden in ties: what these may hide
falls as one over the number of cells, noise rises about as its logarithm."""
FINER = Finer(least=6_000, cuts=Fraction(1, 10), parts=16, share=Fraction(1, 10))
FEW, MANY = 64.0, 2000.0
"""Records over the scale of the noise of a count. Below the first nothing is spent on where scores lie, if that number
is public; from the second on cuts are worth their loss."""
EVEN = 4
"""Cells, each with as many edges of the grid, that are counted where nothing is spent on where scores lie."""
LOOKED_AT = 8, 16
"""Even intervals in which all records are counted by the first look, below `FINER_LOOK` and from there on."""
FINER_LOOK = 300.0
LEAST_OF_A_LOOK, MOST_OF_A_LOOK = Fraction(1, 100), Fraction(1, 10)
CROWDED = 0.5
"""The share of the records in one interval of the look from which on its inside is found by cuts."""
FLOOR = 0.1
"""The share of the records that is taken to lie evenly, whatever the look says."""
CELLS = 0.6
"""Cells that are counted after a look, over the square root of records over noise."""
MERGED = 1.5
"""Cells of the grid for each of these, up to which all are counted, without a look."""


def fixed(workload: Ranks, setting: Setting) -> Strategy[Counted]:
    """Ask for counts of both classes in all cells of the grid."""
    return (yield from _counted(workload, workload.score, (), ALL))


def found(workload: Ranks, setting: Setting) -> Strategy[Counted]:
    """Ask where scores lie, unless thresholds are fixed, then for counts of both classes between thresholds.

    Where the number of records is private it is counted first. If there are many for the noise, private quantiles are
    the thresholds. If there are few, quantiles would cost more than they tell: a look counts all records in some even
    intervals, and thresholds are at the quantiles of what it shows, which noise leaves nearly even; private quantiles
    are asked for only where most records lie in one interval. Where there are fewer still, and their number is public,
    the grid is divided evenly.

    Formal guarantees: each turn is priced by itself, and what it asks is a function of earlier answers and of public
    facts. The part of a look is one of those; whatever the answers are, the parts add up to the whole share. So by
    adaptive composition all turns together lose that share.
    """
    if workload.cuts is Cuts.FIXED:
        return (yield from fixed(workload, setting))
    records, before, left = yield from _records(workload, setting)
    signal = records_over_noise(records, setting)
    if not before and signal < FEW:
        return (yield from _counted(workload, _cells(workload.score, (), EVEN), before, left))
    require_cuttable(workload.score)
    if workload.cuts is Cuts.MEDIANS or signal >= MANY:
        return (yield from _cut(workload, records, setting, before, left))
    if workload.score.grid.cells <= MERGED * cells_for(signal):
        return (yield from _counted(workload, workload.score, before, left))
    return (yield from _looked(workload, signal, setting, before, left))


def _records(
    workload: Ranks, setting: Setting
) -> Generator[Step, Release, tuple[float, tuple[Release, ...], Fraction]]:
    """The number of records, what was paid to count them where it is private, and what is left of the loss."""
    if setting.adjacency.total is not None:
        return float(setting.adjacency.total), (), ALL
    whole = Axis(workload.score.column, workload.score.grid.cut([]))
    counted = yield Step(CountQuery((workload.classes, whole), Read.CELLS), COUNTING)
    return float(Evidence.of(counted).unbiased.sum()), (counted,), ALL - COUNTING


def require_cuttable(score: Axis) -> None:
    """Refuse cells that cuts could not be found among, before anything is charged: answers decide if there are cuts.

    Raises:
        UnsupportedQuery: there are more than are counted one by one.
    """
    if score.slots > MOST_COUNTED:
        raise UnsupportedQuery("grid", f"at most {MOST_COUNTED} cells are counted one by one, got {score.slots}")


def looked(
    score: Axis, intervals: int, part: Fraction
) -> Generator[Step, Release, tuple[FloatArray, IntArray, Release]]:
    """Count all records in even intervals: which share each is taken to have, their ends, and what was released."""
    coarse = _cells(score, (), intervals)
    look = yield Step(CountQuery((coarse,), Read.CELLS), part)
    counts, variance = inside_of(look, coarse), Evidence.of(look).sums.nested.parts[-1].noise.variance
    return believed_shares(counts, variance), np.searchsorted(score.grid.edges, coarse.grid.edges), look


def inside_of(look: Release, score: Axis) -> FloatArray:
    """Unbiased counts of the intervals of a look, without the records that are counted apart."""
    counts = np.asarray(Evidence.of(look).unbiased[0])
    return counts[1:-1] if score.grid.outside is Outside.APART else counts


def _looked(
    workload: Ranks, signal: float, setting: Setting, before: tuple[Release, ...], left: Fraction
) -> Strategy[Counted]:
    """Count all records in even intervals, then both classes between quantiles of what that shows."""
    score, part = workload.score, part_of_look(signal)
    shares, ends, look = yield from looked(score, LOOKED_AT[signal >= FINER_LOOK], part)
    records, left = float(setting.adjacency.total or inside_of(look, score).sum()), left - part
    if float(shares.max()) > CROWDED:
        return (yield from _cut(workload, records, setting, (*before, look), left))
    edges = quantiles_of(shares, ends, cells_for(records_over_noise(records, setting)), FLOOR)
    return (yield from _counted(workload, _cells(score, edges, 1), (*before, look), left))


def _cut(
    workload: Ranks, records: float, setting: Setting, before: tuple[Release, ...], left: Fraction
) -> Strategy[Counted]:
    """Find cuts, then count both classes between them; where records are many, also on finer cells for the area."""
    levels = max(levels_for(records, setting), 1)
    finer = finer_for(records, setting) if workload.cuts is Cuts.QUANTILES else None
    share = CUTS_SHARE if finer is None else finer.cuts
    cuts = yield Step(_query(workload.score, workload.cuts, levels), share)
    score, left = pieces_between(workload.score, cuts.values), left - share
    narrow = score if finer is None else _cells(workload.score, cuts.values, finer.parts)
    if finer is None or narrow.slots == score.slots:
        return (yield from _counted(workload, score, (*before, cuts), left))
    within = yield Step(CountQuery((workload.classes, narrow), Read.CELLS), finer.share)
    found = yield from _counted(workload, score, (*before, cuts, within), left - finer.share)
    return Counted(found.releases, (Evidence.of(within), *found.read), found.grid)


def _counted(workload: Ranks, score: Axis, before: tuple[Release, ...], share: Fraction) -> Strategy[Counted]:
    counts = yield Step(CountQuery((workload.classes, score), Read.PREFIXES), share)
    return Counted.last_of((*before, counts), score.grid)


def finer_for(records: float, setting: Setting) -> Finer | None:
    """The finer cells that are counted, too; None: none, for noise would hide more than ties do.

    The area of exact scores lies as far from that of tied ones as pairs of one cell may be won or lost: a share of
    about one over the cells, which more records do not make less, and which an interval has to leave open. Counts of
    finer cells, of which each needs no more than to tell a part of it, leave a part of that open, at a share of the
    loss that cuts can spare. Chosen on scores of a normal log-odds and on rare positives, of 3,000 and 30,000 records;
    judged on zero-inflated ones. Of 3,000 records four finer cells in each piece had 0.7 times the width, but 1.2 and
    1.3 times the error of the area itself. One table of all fine cells, read as prefixes, has up to twice that error.
    """
    return FINER if records_over_noise(records, setting) >= FINER.least else None


def pieces_between(score: Axis, cuts: Sequence[int]) -> Axis:
    """The axis whose cells lie between numbers of inner edges, each interval in several parts."""
    return _cells(score, cuts, PARTS)


def _query(score: Axis, cuts: Cuts, levels: int) -> QuantileCutsQuery | MedianQuery:
    """The query. Scores outside the grid belong to its end cells while edges are searched, wherever they are counted
    then.
    """
    if cuts is Cuts.QUANTILES:
        return QuantileCutsQuery((score,), 2**levels)
    return MedianQuery((Axis(score.column, score.grid.with_outside(Outside.CLAMPED)),), levels)


def _cells(score: Axis, cuts: Sequence[int], parts: int) -> Axis:
    """Each interval between cuts in parts of about equal length, or in single cells of the grid."""
    ends = pairwise((0, *cuts, score.grid.cells))
    edges = sorted({left + (right - left) * part // parts for left, right in ends for part in range(parts)})
    return Axis(score.column, score.grid.cut(edges))


def records_over_noise(records: float, setting: Setting) -> float:
    """Records times epsilon, of which a replaced record counts for two; other laws have the epsilon of as much noise.

    >>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne
    >>> loss = PrivacyLoss.pure("0.1")
    >>> adjacencies = AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, 1000)
    >>> [records_over_noise(1000, Setting(loss, adjacency)) for adjacency in adjacencies]
    [100.0, 50.0]
    """
    adjacency, loss = setting.adjacency, setting.loss
    epsilon = float(loss.epsilon) if loss.epsilon is not None else float(8 * loss.rho) ** 0.5
    return records * epsilon / float(adjacency.l1_sensitivity)


def part_of_look(signal: float) -> Fraction:
    """The part of the loss that a look gets: one over the square root of records over noise, between two ends.

    >>> [float(part_of_look(signal)) for signal in (-20, 100, 400, 1600, 10**9)]
    [0.1, 0.1, 0.05, 0.025, 0.01]
    """
    part = Fraction(round(1000 / max(signal, 1.0) ** 0.5), 1000)
    return max(LEAST_OF_A_LOOK, min(part, MOST_OF_A_LOOK))


def cells_for(signal: float) -> int:
    """The number of cells that are counted where there are so many records over noise.

    >>> [cells_for(signal) for signal in (-20, 100, 400, 1600)]
    [4, 6, 12, 24]
    """
    return max(EVEN, round(CELLS * sqrt(max(signal, 0.0))))


def believed_shares(counts: FloatArray, variance: float) -> FloatArray:
    """The believed share of the records in each interval: nearly even ones, as far as noise may explain the rest.

    >>> believed_shares(np.array([90.0, 10.0, 0.0, 0.0]), 1.0).round(2).tolist()
    [0.9, 0.1, 0.0, 0.0]
    >>> believed_shares(np.array([90.0, 10.0, 0.0, 0.0]), 10_000.0).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    even, apart = np.full(len(counts), 1 / len(counts)), counts - counts.mean()
    squares, freedom = float(apart @ apart), len(counts) - 1
    kept = 0.0 if counts.sum() <= 0 or squares == 0 else max(0.0, 1 - freedom * variance / squares)
    shares = np.maximum(counts.mean() + kept * apart, 0.0)
    return shares / shares.sum() if shares.sum() > 0 else even


def quantiles_of(shares: FloatArray, ends: IntArray, pieces: int, evenly: float) -> list[int]:
    """Numbers of the edges that cut these shares of intervals into pieces; inside an interval records lie evenly.

    A part of the records is taken to lie evenly over the grid, whatever the shares are.

    >>> ends = np.array([0, 8, 16, 24, 32])
    >>> [quantiles_of(np.array([0.5, 0.5, 0.0, 0.0]), ends, 4, evenly) for evenly in (0.0, 0.1)]
    [[4, 8, 12], [4, 8, 13]]
    """
    smoothed = (1 - evenly) * shares + evenly / len(shares)
    below = np.append(0.0, np.cumsum(smoothed))
    inner = np.interp(np.arange(1, pieces) / pieces, below / below[-1], ends)
    return sorted(set(np.round(inner).astype(int).tolist()))


def levels_for(records: float, setting: Setting) -> int:
    """The number of halvings of the scores: as long as pieces are at most half the square root of records over noise.

    That is a quarter of records times epsilon, of which a replaced record counts for two and other laws for the epsilon
    that has the same noise; the number of records is public, or was counted. Fewer pieces blur the curve, by about the
    square of their width; of more of them the noises add up. Chosen on the scores of `benchmarks/auc_accuracy.py` that
    are continuous, heaped, or all in a twentieth of the grid, for 100 to 100,000 records times epsilon; judged on the
    other kinds.

    >>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
    >>> setting = Setting(PrivacyLoss.pure("0.1"), AddRemove(EACH_RECORD))
    >>> [levels_for(records, setting) for records in (-20, 500, 1000, 10_000, 10**6, 10**9)]
    [0, 1, 2, 3, 7, 8]
    """
    pieces = (max(records_over_noise(records, setting), 0.0) / 4) ** 0.5
    return min(MOST_LEVELS, int(log2(max(pieces, 1.0))))


# Groups of similar scores: counted where private cuts or a look end them, or read from the counts of all cells.
#
# The cuts are chosen in private; then positives and negatives are counted and distances of scores from the middle of
# their group summed. A record lies in one group, in one class, and its distance is at most half the group's width.
# Scores outside of the grid lie in no group: they are counted apart, below and above.


SUMS_AFTER_A_LOOK = Fraction(3, 50)
"""The part of the loss for sums of distances where groups are no wider than a look leaves them."""
INTERVALS = 16
"""Even intervals of a look."""
EVEN_HALF = 0.5
"""The share of the records that is taken to lie evenly: groups are narrower where records are few than equal ones."""


def all_cells(workload: Groups, setting: Setting) -> Strategy[Grouped]:
    """Ask for both classes in all cells; scores outside are then counted as the grid says."""
    release = yield Step(CountQuery((workload.classes, workload.score), Read.PREFIXES), ALL)
    return Grouped((release,), workload.score.grid, release, None)


def cut_and_measured(workload: Groups, setting: Setting) -> Strategy[Grouped]:
    """Ask for groups of about equal size; cuts at the same place leave one. Small ones are joined, if that is asked.

    Where groups need not be equal, a look at all records in even intervals takes the place of cuts, which cost more;
    cuts are asked for only where most records lie in one interval.

    Formal guarantees: each turn is priced by itself, and what it asks is a function of earlier answers and of public
    facts, as the parts of the loss are; these add up to the whole share, whatever the answers are. So by adaptive
    composition all turns together lose that share.
    """
    score = workload.score
    if workload.about is not None and score.grid.cells > INTERVALS:
        require_cuttable(score)
        return (
            yield from _looked_for_groups(workload, part_of_look(records_over_noise(workload.about, setting)), setting)
        )
    if workload.least is None:
        cuts = yield Step(QuantileCutsQuery((score,), workload.groups), workload.shares.cuts)
        return (yield from measured(workload, score.grid.cut(cuts.values), [cuts]))
    clamped = Axis(score.column, score.grid.with_outside(Outside.CLAMPED))
    cuts = yield Step(QuantileCutsQuery((clamped,), workload.groups), workload.shares.cuts)
    fine = Axis(score.column, clamped.grid.cut(cuts.values))
    merges = yield Step(MergePartitionQuery((fine,), workload.least), workload.shares.merges)
    return (yield from measured(workload, merged(fine.grid, merges.values), [cuts, merges]))


def _looked_for_groups(workload: Groups, part: Fraction, setting: Setting) -> Strategy[Grouped]:
    """Look at all scores, and measure groups between quantiles of what that shows; or cut groups with what is left."""
    score, left = workload.score, ALL - part
    shares, ends, look = yield from looked(score, INTERVALS, part)
    if float(shares.max()) > CROWDED:
        rest = Shares(*(each * left for each in workload.shares))
        found = yield from cut_and_measured(replace(workload, about=None, shares=rest), setting)
        return replace(found, releases=(look, *found.releases))
    cells = score.grid.cut(quantiles_of(shares, ends, workload.groups, EVEN_HALF))
    rest = Shares(Fraction(0), left - SUMS_AFTER_A_LOOK, SUMS_AFTER_A_LOOK)
    return (yield from measured(replace(workload, shares=rest), cells, [look]))


def measured(workload: Groups, cells: Grid, before: Sequence[Release]) -> Strategy[Grouped]:
    """Ask for counts and sums of these groups; scores outside of them are counted apart."""
    score = Axis(workload.score.column, cells.with_outside(Outside.APART))
    axes = workload.classes, score
    # One cell may be the one that all records were counted in before, for another share: see `group_number`.
    alone = cells.cells == 1 and workload.score.grid.outside is Outside.APART
    counts = yield Step(CountQuery(axes, Read.PREFIXES if alone else Read.CELLS), workload.shares.counts)
    sums = yield Step(SumQuery(axes, half=HALF), workload.shares.sums)
    return Grouped((*before, counts, sums), score.grid, counts, sums)


def merged(fine: Grid, ends: tuple[int, ...]) -> Grid:
    """The bins that are left after joining: cells behind the last end belong to the last bin."""
    inner = [place + 1 for place, said in enumerate(ends) if said]
    left_over = bool(inner) and inner[-1] < fine.cells
    return fine.cut(inner[:-1] if left_over else inner)
