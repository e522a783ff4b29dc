"""Where the thresholds of a ROC curve lie: in all cells of a grid, or at private quantiles of all scores."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from enum import Enum
from fractions import Fraction
from itertools import pairwise
from math import log2

from ...data import Axis, Outside
from ...privacy import ReplaceOne
from ...queries import MedianQuery, QuantileCutsQuery
from ...release import ALL, Release, Setting, Step

CUTS_SHARE = Fraction(1, 5)
MOST_LEVELS = 8
LEVELS_WHERE_N_IS_PRIVATE = 4
PARTS = 2
PARTS_WHERE_N_IS_PRIVATE = 4


class Cuts(Enum):
    """How the thresholds are found.

    - `FIXED`: each cell of the grid ends with one; everything is spent on counting.
    - `QUANTILES`: at quantiles of quantiles of all scores, by the exponential mechanism.
    - `MEDIANS`: at medians of medians, with noise by smooth sensitivity. For comparison: it is far less accurate.
    """

    FIXED = "fixed"
    QUANTILES = "quantiles"
    MEDIANS = "medians"


def scores_cut(score: Axis, cuts: Cuts, setting: Setting) -> Generator[Step, Release, tuple[Axis, list[Release]]]:
    """The axis to be counted on, and what was released to find it."""
    if cuts is Cuts.FIXED:
        return score, []
    levels = levels_for(setting)
    release = yield Step(_query(score, cuts, levels), CUTS_SHARE)
    return pieces_between(score, release.values, setting), [release]


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


def share_left(cuts: Cuts) -> Fraction:
    """The part of the loss that is left for counting."""
    return ALL if cuts is Cuts.FIXED else ALL - CUTS_SHARE


def levels_for(setting: Setting) -> int:
    """How often scores are halved: while there are no more pieces than half the root of records times epsilon.

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
