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
    Cuts,
    Evidence,
    GroupBudgetFractions,
    RankingWorkload,
    Release,
    ScoreGroupReleases,
    ScoreGroupWorkload,
    Setting,
    Step,
    Strategy,
    TableCounts,
    UnsupportedQuery,
)
from ..data import Axis, Grid, Outside
from ..queries import MOST_COUNTED, CountQuery, CountUse, MedianQuery, MergePartitionQuery, QuantileCutsQuery, SumQuery

# Counts of two classes above thresholds: in cells of a grid, or between quantiles of all scores.
#
# Constants were chosen on scores of `benchmarks/auc_accuracy.py` that are continuous, tied, heaped, or all in a
# twentieth of the grid, and are judged on the other kinds.


class FinerCells(NamedTuple):
    """Cells finer than those of the curve, which tell in what order classes lie within these: for intervals alone.

    Attributes:
        least: From so many records times epsilon on, as in `choose_cut_levels`.
        cuts_fraction: The part of the loss that finds cuts.
        cells_per_piece: How many finer cells each piece is counted in: a multiple of `PARTS`.
        counts_fraction: The part of the loss that counts them.
    """

    least: float
    cuts_fraction: Fraction
    cells_per_piece: int
    counts_fraction: Fraction


COUNTING = Fraction(1, 100)
"""The part of the loss that counts records where their number is private."""
CUTS_SHARE = Fraction(1, 5)
MOST_LEVELS = 8
"""The most halvings of scores by cuts."""
PARTS = 2
"""Cells that each piece is counted in, so that less of the order of scores is hidden in ties: what these may hide
falls as one over the number of cells, noise rises about as its logarithm."""
FINER = FinerCells(least=6_000, cuts_fraction=Fraction(1, 10), cells_per_piece=16, counts_fraction=Fraction(1, 10))
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


def count_fixed_thresholds(workload: RankingWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Ask for counts of both classes in all cells of the grid."""
    return (yield from _count_classes(workload, workload.score, (), ALL))


def count_chosen_thresholds(workload: RankingWorkload, setting: Setting) -> Strategy[TableCounts]:
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
        return (yield from count_fixed_thresholds(workload, setting))
    records, before, left = yield from _count_records(workload, setting)
    signal = signal_to_noise(records, setting)
    if not before and signal < FEW:
        return (yield from _count_classes(workload, _cut_axis(workload.score, (), EVEN), before, left))
    require_cuttable(workload.score)
    if workload.cuts is Cuts.MEDIANS or signal >= MANY:
        return (yield from _count_between_cuts(workload, records, setting, before, left))
    if workload.score.grid.cells <= MERGED * choose_cell_count(signal):
        return (yield from _count_classes(workload, workload.score, before, left))
    return (yield from _count_after_pilot_query(workload, signal, setting, before, left))


def _count_records(
    workload: RankingWorkload, setting: Setting
) -> Generator[Step, Release, tuple[float, tuple[Release, ...], Fraction]]:
    """The number of records, what was paid to count them where it is private, and what is left of the loss."""
    if setting.adjacency.public_record_count is not None:
        return float(setting.adjacency.public_record_count), (), ALL
    whole = Axis(workload.score.column, workload.score.grid.merge_cells([]))
    counted = yield Step(CountQuery((workload.classes, whole), CountUse.CELLS), COUNTING)
    return float(Evidence.from_release(counted).unbiased_cells.sum()), (counted,), ALL - COUNTING


def require_cuttable(score: Axis) -> None:
    """Refuse cells that cuts could not be found among, before anything is charged: answers decide if there are cuts.

    Raises:
        UnsupportedQuery: there are more than are counted one by one.
    """
    if score.slots > MOST_COUNTED:
        raise UnsupportedQuery("grid", f"at most {MOST_COUNTED} cells are counted one by one, got {score.slots}")


def ask_even_intervals(
    score: Axis, intervals: int, part: Fraction
) -> Generator[Step, Release, tuple[FloatArray, IntArray, Release]]:
    """Count all records in even intervals: which share each is taken to have, their ends, and what was released."""
    coarse = _cut_axis(score, (), intervals)
    look = yield Step(CountQuery((coarse,), CountUse.CELLS), part)
    counts, variance = (
        counts_inside_grid(look, coarse),
        Evidence.from_release(look).sums.nested_law.parts[-1].noise.variance,
    )
    return shrink_shares(counts, variance), np.searchsorted(score.grid.edges, coarse.grid.edges), look


def counts_inside_grid(look: Release, score: Axis) -> FloatArray:
    """Unbiased counts of the intervals of a look, without the records that are counted apart."""
    counts = np.asarray(Evidence.from_release(look).unbiased_cells[0])
    return counts[1:-1] if score.grid.outside is Outside.APART else counts


def _count_after_pilot_query(
    workload: RankingWorkload, signal: float, setting: Setting, before: tuple[Release, ...], left: Fraction
) -> Strategy[TableCounts]:
    """Count all records in even intervals, then both classes between quantiles of what that shows."""
    score, part = workload.score, pilot_budget_fraction(signal)
    shares, ends, look = yield from ask_even_intervals(score, LOOKED_AT[signal >= FINER_LOOK], part)
    records, left = float(setting.adjacency.public_record_count or counts_inside_grid(look, score).sum()), left - part
    if float(shares.max()) > CROWDED:
        return (yield from _count_between_cuts(workload, records, setting, (*before, look), left))
    edges = cut_at_quantiles(shares, ends, choose_cell_count(signal_to_noise(records, setting)), FLOOR)
    return (yield from _count_classes(workload, _cut_axis(score, edges, 1), (*before, look), left))


def _count_between_cuts(
    workload: RankingWorkload, records: float, setting: Setting, before: tuple[Release, ...], left: Fraction
) -> Strategy[TableCounts]:
    """Find cuts, then count both classes between them; where records are many, also on finer cells for the area."""
    levels = max(choose_cut_levels(records, setting), 1)
    finer = choose_finer_cells(records, setting) if workload.cuts is Cuts.QUANTILES else None
    share = CUTS_SHARE if finer is None else finer.cuts_fraction
    cuts = yield Step(_build_cuts_query(workload.score, workload.cuts, levels), share)
    score, left = pieces_between(workload.score, cuts.values), left - share
    narrow = score if finer is None else _cut_axis(workload.score, cuts.values, finer.cells_per_piece)
    if finer is None or narrow.slots == score.slots:
        return (yield from _count_classes(workload, score, (*before, cuts), left))
    within = yield Step(CountQuery((workload.classes, narrow), CountUse.CELLS), finer.counts_fraction)
    found = yield from _count_classes(workload, score, (*before, cuts, within), left - finer.counts_fraction)
    return TableCounts(found.releases, (Evidence.from_release(within), *found.evidence), found.grid)


def _count_classes(
    workload: RankingWorkload, score: Axis, before: tuple[Release, ...], share: Fraction
) -> Strategy[TableCounts]:
    counts = yield Step(CountQuery((workload.classes, score), CountUse.PREFIXES), share)
    return TableCounts.from_last_release((*before, counts), score.grid)


def choose_finer_cells(records: float, setting: Setting) -> FinerCells | None:
    """The finer cells that are counted, too; None: none, for noise would hide more than ties do.

    The area of exact scores lies as far from that of tied ones as pairs of one cell may be won or lost: a share of
    about one over the cells, which more records do not make less, and which an interval has to leave open. Counts of
    finer cells, of which each needs no more than to tell a part of it, leave a part of that open, at a share of the
    loss that cuts can spare. Chosen on scores of a normal log-odds and on rare positives, of 3,000 and 30,000 records;
    judged on zero-inflated ones. Of 3,000 records four finer cells in each piece had 0.7 times the width, but 1.2 and
    1.3 times the error of the area itself. One table of all fine cells, read as prefixes, has up to twice that error.
    """
    return FINER if signal_to_noise(records, setting) >= FINER.least else None


def pieces_between(score: Axis, cuts: Sequence[int]) -> Axis:
    """The axis whose cells lie between numbers of inner edges, each interval in several parts."""
    return _cut_axis(score, cuts, PARTS)


def _build_cuts_query(score: Axis, cuts: Cuts, levels: int) -> QuantileCutsQuery | MedianQuery:
    """The query. Scores outside the grid belong to its end cells while edges are searched, wherever they are counted
    then.
    """
    if cuts is Cuts.QUANTILES:
        return QuantileCutsQuery((score,), 2**levels)
    return MedianQuery((Axis(score.column, score.grid.with_outside(Outside.CLAMPED)),), levels)


def _cut_axis(score: Axis, cuts: Sequence[int], parts: int) -> Axis:
    """Each interval between cuts in parts of about equal length, or in single cells of the grid."""
    ends = pairwise((0, *cuts, score.grid.cells))
    edges = sorted({left + (right - left) * part // parts for left, right in ends for part in range(parts)})
    return Axis(score.column, score.grid.merge_cells(edges))


def signal_to_noise(records: float, setting: Setting) -> float:
    """Records times epsilon, of which a replaced record counts for two; other laws have the epsilon of as much noise.

    >>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne
    >>> loss = PrivacyLoss.pure("0.1")
    >>> adjacencies = AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, 1000)
    >>> [signal_to_noise(1000, Setting(loss, adjacency)) for adjacency in adjacencies]
    [100.0, 50.0]
    """
    adjacency, loss = setting.adjacency, setting.loss
    epsilon = float(loss.epsilon) if loss.epsilon is not None else float(8 * loss.rho) ** 0.5
    return records * epsilon / float(adjacency.l1_sensitivity)


def pilot_budget_fraction(signal: float) -> Fraction:
    """The part of the loss that a look gets: one over the square root of records over noise, between two ends.

    >>> [float(pilot_budget_fraction(signal)) for signal in (-20, 100, 400, 1600, 10**9)]
    [0.1, 0.1, 0.05, 0.025, 0.01]
    """
    part = Fraction(round(1000 / max(signal, 1.0) ** 0.5), 1000)
    return max(LEAST_OF_A_LOOK, min(part, MOST_OF_A_LOOK))


def choose_cell_count(signal: float) -> int:
    """The number of cells that are counted where there are so many records over noise.

    >>> [choose_cell_count(signal) for signal in (-20, 100, 400, 1600)]
    [4, 6, 12, 24]
    """
    return max(EVEN, round(CELLS * sqrt(max(signal, 0.0))))


def shrink_shares(counts: FloatArray, variance: float) -> FloatArray:
    """The believed share of the records in each interval: nearly even ones, as far as noise may explain the rest.

    >>> shrink_shares(np.array([90.0, 10.0, 0.0, 0.0]), 1.0).round(2).tolist()
    [0.9, 0.1, 0.0, 0.0]
    >>> shrink_shares(np.array([90.0, 10.0, 0.0, 0.0]), 10_000.0).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    even, apart = np.full(len(counts), 1 / len(counts)), counts - counts.mean()
    squares, freedom = float(apart @ apart), len(counts) - 1
    kept = 0.0 if counts.sum() <= 0 or squares == 0 else max(0.0, 1 - freedom * variance / squares)
    shares = np.maximum(counts.mean() + kept * apart, 0.0)
    return shares / shares.sum() if shares.sum() > 0 else even


def cut_at_quantiles(shares: FloatArray, ends: IntArray, pieces: int, even_share: float) -> list[int]:
    """Numbers of the edges that cut these shares of intervals into pieces; inside an interval records lie evenly.

    A part of the records is taken to lie evenly over the grid, whatever the shares are.

    >>> ends = np.array([0, 8, 16, 24, 32])
    >>> [cut_at_quantiles(np.array([0.5, 0.5, 0.0, 0.0]), ends, 4, evenly) for evenly in (0.0, 0.1)]
    [[4, 8, 12], [4, 8, 13]]
    """
    smoothed = (1 - even_share) * shares + even_share / len(shares)
    below = np.append(0.0, np.cumsum(smoothed))
    inner = np.interp(np.arange(1, pieces) / pieces, below / below[-1], ends)
    return sorted(set(np.round(inner).astype(int).tolist()))


def choose_cut_levels(records: float, setting: Setting) -> int:
    """The number of halvings of the scores: as long as pieces are at most half the square root of records over noise.

    That is a quarter of records times epsilon, of which a replaced record counts for two and other laws for the epsilon
    that has the same noise; the number of records is public, or was counted. Fewer pieces blur the curve, by about the
    square of their width; of more of them the noises add up. Chosen on the scores of `benchmarks/auc_accuracy.py` that
    are continuous, heaped, or all in a twentieth of the grid, for 100 to 100,000 records times epsilon; judged on the
    other kinds.

    >>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
    >>> setting = Setting(PrivacyLoss.pure("0.1"), AddRemove(EACH_RECORD))
    >>> [choose_cut_levels(records, setting) for records in (-20, 500, 1000, 10_000, 10**6, 10**9)]
    [0, 1, 2, 3, 7, 8]
    """
    pieces = (max(signal_to_noise(records, setting), 0.0) / 4) ** 0.5
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


def ask_all_cells(workload: ScoreGroupWorkload, setting: Setting) -> Strategy[ScoreGroupReleases]:
    """Ask for both classes in all cells; scores outside are then counted as the grid says."""
    release = yield Step(CountQuery((workload.classes, workload.score), CountUse.PREFIXES), ALL)
    return ScoreGroupReleases((release,), workload.score.grid, release, None)


def ask_groups(workload: ScoreGroupWorkload, setting: Setting) -> Strategy[ScoreGroupReleases]:
    """Ask for groups of about equal size; cuts at the same place leave one. Small ones are joined, if that is asked.

    Where groups need not be equal, a look at all records in even intervals takes the place of cuts, which cost more;
    cuts are asked for only where most records lie in one interval.

    Formal guarantees: each turn is priced by itself, and what it asks is a function of earlier answers and of public
    facts, as the parts of the loss are; these add up to the whole share, whatever the answers are. So by adaptive
    composition all turns together lose that share.
    """
    score = workload.score
    if workload.approximate_records is not None and score.grid.cells > INTERVALS:
        require_cuttable(score)
        return (
            yield from _ask_groups_after_pilot_query(
                workload, pilot_budget_fraction(signal_to_noise(workload.approximate_records, setting)), setting
            )
        )
    if workload.min_records is None:
        cuts = yield Step(QuantileCutsQuery((score,), workload.max_groups), workload.budget_fractions.cuts)
        return (yield from measure_groups(workload, score.grid.merge_cells(cuts.values), [cuts]))
    clamped = Axis(score.column, score.grid.with_outside(Outside.CLAMPED))
    cuts = yield Step(QuantileCutsQuery((clamped,), workload.max_groups), workload.budget_fractions.cuts)
    fine = Axis(score.column, clamped.grid.merge_cells(cuts.values))
    merges = yield Step(MergePartitionQuery((fine,), workload.min_records), workload.budget_fractions.merges)
    return (yield from measure_groups(workload, merge_bins(fine.grid, merges.values), [cuts, merges]))


def _ask_groups_after_pilot_query(
    workload: ScoreGroupWorkload, part: Fraction, setting: Setting
) -> Strategy[ScoreGroupReleases]:
    """Look at all scores, and measure groups between quantiles of what that shows; or cut groups with what is left."""
    score, left = workload.score, ALL - part
    shares, ends, look = yield from ask_even_intervals(score, INTERVALS, part)
    if float(shares.max()) > CROWDED:
        rest = GroupBudgetFractions(*(each * left for each in workload.budget_fractions))
        found = yield from ask_groups(replace(workload, approximate_records=None, budget_fractions=rest), setting)
        return replace(found, releases=(look, *found.releases))
    cells = score.grid.merge_cells(cut_at_quantiles(shares, ends, workload.max_groups, EVEN_HALF))
    rest = GroupBudgetFractions(Fraction(0), left - SUMS_AFTER_A_LOOK, SUMS_AFTER_A_LOOK)
    return (yield from measure_groups(replace(workload, budget_fractions=rest), cells, [look]))


def measure_groups(
    workload: ScoreGroupWorkload, cells: Grid, before: Sequence[Release]
) -> Strategy[ScoreGroupReleases]:
    """Ask for counts and sums of these groups; scores outside of them are counted apart."""
    score = Axis(workload.score.column, cells.with_outside(Outside.APART))
    axes = workload.classes, score
    # One cell may be the one that all records were counted in before, for another share: see `choose_group_number`.
    alone = cells.cells == 1 and workload.score.grid.outside is Outside.APART
    counts = yield Step(
        CountQuery(axes, CountUse.PREFIXES if alone else CountUse.CELLS), workload.budget_fractions.counts
    )
    sums = yield Step(SumQuery(axes, half=HALF), workload.budget_fractions.sums)
    return ScoreGroupReleases((*before, counts, sums), score.grid, counts, sums)


def merge_bins(fine: Grid, ends: tuple[int, ...]) -> Grid:
    """The bins that are left after joining: cells behind the last end belong to the last bin."""
    inner = [place + 1 for place, said in enumerate(ends) if said]
    left_over = bool(inner) and inner[-1] < fine.cells
    return fine.merge_cells(inner[:-1] if left_over else inner)
