"""Where the thresholds of a ROC curve lie: in all cells of a grid, or at private quantiles of all scores."""

from __future__ import annotations

from collections.abc import Generator
from enum import Enum
from fractions import Fraction
from math import log2

from ..data import Axis, CutQuery, MedianQuery
from ..privacy import ReplaceOne
from ..release import ALL, Release, Setting, Step

CUTS_SHARE = Fraction(1, 5)
MOST_LEVELS = 8
LEVELS_WHERE_N_IS_PRIVATE = 5


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
    query = MedianQuery((score,), levels) if cuts is Cuts.MEDIANS else CutQuery((score,), 2**levels)
    release = yield Step(query, CUTS_SHARE)
    return Axis(score.column, score.grid.cut(release.values)), [release]


def share_left(cuts: Cuts) -> Fraction:
    """Of the loss, for counting."""
    return ALL if cuts is Cuts.FIXED else ALL - CUTS_SHARE


def levels_for(setting: Setting) -> int:
    """How often scores are halved: as often as pieces have ten times the records that a cut may be wrong by.

    From public facts alone; where the number of records is private, 5 times.
    """
    adjacency = setting.adjacency
    if not isinstance(adjacency, ReplaceOne):
        return LEVELS_WHERE_N_IS_PRIVATE
    loss = setting.loss * CUTS_SHARE
    epsilon = float(loss.epsilon) if loss.epsilon is not None else float(8 * loss.rho) ** 0.5
    signal = adjacency.units * adjacency.unit.records * epsilon / (10 * float(adjacency.moves))
    return max(1, min(MOST_LEVELS, int(log2(max(signal, 2.0)))))
