"""Counts of two classes above thresholds: in all cells of a grid, or between private quantiles of all scores."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import log2

from ..data import Axis, Outside
from ..privacy import ReplaceOne
from ..queries import CountQuery, MedianQuery, QuantileCutsQuery, Read
from ..release import ALL, Release, Setting, Step
from ..workloads import Counted, Cuts, Ranks, Strategy

CUTS_SHARE = Fraction(1, 5)
MOST_LEVELS = 8
LEVELS_WHERE_N_IS_PRIVATE = 4
PARTS = 2
PARTS_WHERE_N_IS_PRIVATE = 4


def fixed(workload: Ranks, setting: Setting) -> Strategy[Counted]:
    """Ask for counts of both classes in all cells of the grid."""
    return (yield from _counted(workload, workload.score, (), ALL))


def found(workload: Ranks, setting: Setting) -> Strategy[Counted]:
    """Ask for cuts, unless they are fixed, then for counts of both classes between them."""
    if workload.cuts is Cuts.FIXED:
        return (yield from fixed(workload, setting))
    release = yield Step(_query(workload.score, workload.cuts, levels_for(setting)), CUTS_SHARE)
    score = pieces_between(workload.score, release.values, setting)
    return (yield from _counted(workload, score, (release,), ALL - CUTS_SHARE))


def _counted(workload: Ranks, score: Axis, before: tuple[Release, ...], share: Fraction) -> Strategy[Counted]:
    counts = yield Step(CountQuery((workload.classes, score), Read.PREFIXES), share)
    return Counted.last_of((*before, counts), score.grid)


def pieces_between(score: Axis, cuts: Sequence[int], setting: Setting) -> Axis:
    """The axis whose cells lie between numbers of inner edges, each interval in several parts."""
    edges = _divided((0, *cuts, score.grid.cells), _parts(setting))
    return Axis(score.column, score.grid.cut(edges))


def _query(score: Axis, cuts: Cuts, levels: int) -> QuantileCutsQuery | MedianQuery:
    """Where edges are looked for, scores outside the grid belong to its end cells, wherever they are counted then."""
    if cuts is Cuts.QUANTILES:
        return QuantileCutsQuery((score,), 2**levels)
    return MedianQuery((Axis(score.column, score.grid.with_outside(Outside.CLAMPED)),), levels)


def _divided(edges: Sequence[int], parts: int) -> list[int]:
    """Numbers of edges: each interval in parts of about equal length, or in single cells of the grid."""
    return sorted({left + (right - left) * part // parts for left, right in pairwise(edges) for part in range(parts)})


def _parts(setting: Setting) -> int:
    """How many cells each piece is counted in, so that less of the order of scores is hidden in ties.

    What ties may hide falls as one over the number of cells, noise rises about as its logarithm. Where the number of
    records is private there are few pieces, and more parts.
    """
    return PARTS if isinstance(setting.adjacency, ReplaceOne) else PARTS_WHERE_N_IS_PRIVATE


def levels_for(setting: Setting) -> int:
    """How often scores are halved: as long as pieces are at most half the square root of records times epsilon.

    Fewer pieces blur the curve, by about the square of their width; of more of them the noises add up. So many were
    about the best for 50 to 40,000 records times epsilon, under replace-one; other neighbours and laws count as the
    epsilon that has the same noise. From public facts alone: where the number of records is private, 4 times.
    """
    adjacency, loss = setting.adjacency, setting.loss
    if not isinstance(adjacency, ReplaceOne):
        return LEVELS_WHERE_N_IS_PRIVATE
    epsilon = float(loss.epsilon) if loss.epsilon is not None else float(8 * loss.rho) ** 0.5
    signal = adjacency.units * adjacency.unit.records * epsilon / float(adjacency.l1_sensitivity)
    pieces = (signal / 2) ** 0.5
    return max(1, min(MOST_LEVELS, int(log2(max(pieces, 1.0)))))
