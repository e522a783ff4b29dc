"""Counts of two classes above thresholds: in cells of a grid, or between private quantiles of all scores."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import log2
from typing import NamedTuple

from ..data import Axis, Outside
from ..queries import CountQuery, MedianQuery, QuantileCutsQuery, Read
from ..release import ALL, Evidence, Release, Setting, Step
from ..workloads import Counted, Cuts, Ranks, Strategy


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


COUNTING = Fraction(1, 50)
"""The part of the loss that counts records where their number is private."""
CUTS_SHARE = Fraction(1, 5)
LEAST_LEVELS, MOST_LEVELS = 2, 8
"""How often scores are halved by cuts. Fewer halvings are not worth their loss: cuts would fall about at random."""
PARTS = 2
"""How many cells each piece is counted in, so that less of the order of scores is hidden in ties: what these may hide
falls as one over the number of cells, noise rises about as its logarithm."""
FINER = Finer(least=6_000, cuts=Fraction(1, 10), parts=16, share=Fraction(1, 10))
EVEN = 4
"""Cells, each with as many edges of the grid, that are counted where nothing is spent on cuts."""


def fixed(workload: Ranks, setting: Setting) -> Strategy[Counted]:
    """Ask for counts of both classes in all cells of the grid."""
    return (yield from _counted(workload, workload.score, (), ALL))


def found(workload: Ranks, setting: Setting) -> Strategy[Counted]:
    """Ask for cuts, unless they are fixed, then for counts of both classes between them.

    Where the number of records is private it is counted first: from it follows how many cuts there are. Where it is
    public and noise is so large that cuts would not pay, the grid is divided evenly.
    """
    if workload.cuts is Cuts.FIXED:
        return (yield from fixed(workload, setting))
    total = setting.adjacency.total
    if total is not None:
        if levels_for(total, setting) < LEAST_LEVELS:
            return (yield from _counted(workload, _cells(workload.score, (), EVEN), (), ALL))
        return (yield from _cut(workload, total, setting, ()))
    whole = Axis(workload.score.column, workload.score.grid.cut([]))
    counted = yield Step(CountQuery((workload.classes, whole), Read.CELLS), COUNTING)
    return (yield from _cut(workload, float(Evidence.of(counted).unbiased.sum()), setting, (counted,)))


def _cut(workload: Ranks, records: float, setting: Setting, before: tuple[Release, ...]) -> Strategy[Counted]:
    levels = max(levels_for(records, setting), 1)
    finer = finer_for(records, setting) if workload.cuts is Cuts.QUANTILES else None
    share = CUTS_SHARE if finer is None else finer.cuts
    cuts = yield Step(_query(workload.score, workload.cuts, levels), share)
    score, left = pieces_between(workload.score, cuts.values), ALL - share - COUNTING * len(before)
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
    """What is counted on finer cells; None: nothing, for noise would hide more than ties do.

    The area of exact scores lies as far from that of tied ones as pairs of one cell may be won or lost: a share of
    about one over the cells, which more records do not make less, and which an interval has to leave open. Counts of
    finer cells, of which each needs no more than to tell a part of it, leave a part of that open, at a share of the
    loss that cuts can spare. Chosen on scores of a normal log-odds and on rare positives, of 3,000 and 30,000 records;
    judged on zero-inflated ones. Of 3,000 records four finer cells in each piece had 0.7 times the width, but 1.2 and
    1.3 times the error of the area itself. One table of all fine cells, read as prefixes, has up to twice that error.
    """
    return FINER if _worth(records, setting) >= FINER.least else None


def pieces_between(score: Axis, cuts: Sequence[int]) -> Axis:
    """The axis whose cells lie between numbers of inner edges, each interval in several parts."""
    return _cells(score, cuts, PARTS)


def _query(score: Axis, cuts: Cuts, levels: int) -> QuantileCutsQuery | MedianQuery:
    """Where edges are looked for, scores outside the grid belong to its end cells, wherever they are counted then."""
    if cuts is Cuts.QUANTILES:
        return QuantileCutsQuery((score,), 2**levels)
    return MedianQuery((Axis(score.column, score.grid.with_outside(Outside.CLAMPED)),), levels)


def _cells(score: Axis, cuts: Sequence[int], parts: int) -> Axis:
    """Each interval between cuts in parts of about equal length, or in single cells of the grid."""
    ends = pairwise((0, *cuts, score.grid.cells))
    edges = sorted({left + (right - left) * part // parts for left, right in ends for part in range(parts)})
    return Axis(score.column, score.grid.cut(edges))


def levels_for(records: float, setting: Setting) -> int:
    """How often scores are halved: as long as pieces are at most half the square root of records over noise.

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
    pieces = (_worth(records, setting) / 4) ** 0.5
    return min(MOST_LEVELS, int(log2(max(pieces, 1.0))))


def _worth(records: float, setting: Setting) -> float:
    adjacency, loss = setting.adjacency, setting.loss
    epsilon = float(loss.epsilon) if loss.epsilon is not None else float(8 * loss.rho) ** 0.5
    return max(records, 0.0) * epsilon / float(adjacency.l1_sensitivity)
