"""Adaptive binning of scores for ROC curves and calibration: which cells of the score the two classes are counted in.

For a ROC curve, positives and negatives are counted above thresholds; for calibration, in groups of similar scores.
Counts show the order of two classes only between cells, and noise adds up over cells. So cells should be few and hold
similar numbers of records. How they are chosen depends on the signal-to-noise ratio (`signal_to_noise`)

    signal = records * epsilon / L1 sensitivity      (zCDP: the epsilon of equal noise)

- *high*: private quantiles (`QuantileCutsQuery`) with `CUTS_FRACTION` of the loss, then counts between them;
- *lower*: a pilot query of all records in even intervals with about ``1 / sqrt(signal)`` of the loss, then counts
  between quantiles of its shares, which are shrunk towards equal shares (James and Stein 1961);
- *still lower*: even intervals of the grid, in one round with the whole loss.

Declared values, and points of a lattice on which nearly all scores lie, are counted one by one. If records are many,
finer cells are counted too, only to narrow the interval of the area under the curve (`choose_finer_cells`).

`count_chosen_thresholds` (ROC) and `ask_groups` (calibration) are strategies: generators that yield queries with
fractions of the loss in several rounds, receive the noisy answers, and return counts.

Formal guarantees: a record lies in one cell of each query, so each round loses its fraction of the loss. Its query is a
function of earlier answers and public facts, and for all answers the fractions add up to the whole loss (adaptive
composition).

References: Smith 2011, Kaplan, Schnapp and Stemmer 2022 (private quantiles); James and Stein 1961 (shrinkage).

>>> shrink_shares(np.array([90.0, 10.0, 0.0, 0.0]), variance=1.0).round(2)
array([0.9, 0.1, 0. , 0. ])
>>> cut_at_quantiles(np.array([0.5, 0.5, 0.0, 0.0]), np.array([0, 8, 16, 24, 32]), pieces=4, even_share=0.1)  # edges
[4, 8, 13]
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import log2, sqrt
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..conversation import (
    HALF_WIDTH_STEPS,
    WHOLE_BUDGET,
    Evidence,
    GroupBudgetFractions,
    RankingWorkload,
    Release,
    RocThresholds,
    ScoreGroupReleases,
    ScoreGroupWorkload,
    Setting,
    Step,
    Strategy,
    TableCounts,
    UnsupportedQuery,
)
from ..data import Axis, Grid, Outside, Values
from ..queries import MOST_COUNTED, CountQuery, CountUse, MedianQuery, MergePartitionQuery, QuantileCutsQuery, SumQuery
from . import lattices

# Counts of two classes above thresholds: in cells of a grid, or between quantiles of all scores.


class FinerCells(NamedTuple):
    """Cells finer than the curve's, counted only to narrow intervals of the area: they show more of the order of
    classes.
    """

    min_records_epsilon: float
    """Number of records times epsilon from which finer cells are counted."""
    cuts_fraction: Fraction
    """Fraction of the loss that finds the cuts, the private quantiles between which classes are counted."""
    cells_per_piece: int
    """Number of finer cells per piece between two cuts: a multiple of `Tuning.cells_per_piece`."""
    counts_fraction: Fraction
    """Fraction of the loss that counts the finer cells."""


COUNT_FRACTION = Fraction(1, 100)
"""Fraction of the loss that counts the records if their number is private: only its magnitude is needed."""
CUTS_FRACTION = Fraction(1, 5)
"""Fraction of the loss that finds cuts (private quantiles) if no finer cells are counted."""
SUMS_FRACTION = Fraction(3, 50)
"""Fraction of the loss for sums of distances of scores from the middle of their group, if a pilot query chose the
groups."""
FINER_CELLS = FinerCells(
    min_records_epsilon=6_000, cuts_fraction=Fraction(1, 10), cells_per_piece=16, counts_fraction=Fraction(1, 10)
)
"""The finer cells that are counted; see `choose_finer_cells` for the scores on which they were chosen."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the choice of thresholds and groups.

    Signal-to-noise ratios are results of `signal_to_noise`. The numbers were chosen on scores of
    `benchmarks/auc_accuracy.py` that are continuous, tied, heaped, or all within a twentieth of the grid, and judged on
    its other scores.
    """

    few_ratio: float = 64.0
    """Signal-to-noise ratio below which no loss is spent on the distribution of scores, if the number of records is
    public.
    """
    many_ratio: float = 2000.0
    """Signal-to-noise ratio (records times epsilon over sensitivity) from which thresholds are private quantiles at
    once; below it a pilot query chooses them, or all cells are counted."""
    even_cells: int = 4
    """Cells. Number of cells with equal numbers of grid edges, if no loss is spent on the distribution."""
    pilot_intervals: tuple[int, int] = (8, 16)
    """Intervals. Even intervals of the pilot query, below `fine_pilot_ratio` and from it on."""
    fine_pilot_ratio: float = 300.0
    """Signal-to-noise ratio from which the pilot query has the larger of the two `pilot_intervals`."""
    least_fraction: Fraction = Fraction(1, 100)
    """Fraction of the loss. The least that a pilot query of scores gets."""
    largest_fraction: Fraction = Fraction(1, 10)
    """Fraction of the loss. The most that a pilot query of scores gets."""
    crowded: float = 0.5
    """Share of the records in one interval of the pilot query above which private cuts are used instead."""
    even_share: float = 0.1
    """Share of the records that is assumed to lie evenly over the whole grid, whatever the pilot query shows, so that
    no part of the grid has very wide cells only."""
    cells_per_root: float = 0.6
    """Cells that are counted after a pilot query, over the square root of the signal-to-noise ratio."""
    merge_factor: float = 1.5
    """Ratio. Grid cells per counted cell up to which all grid cells are counted without a pilot query."""
    few_values: int = 10
    """Values. Number of declared values up to which each is counted, unless `few_ratio` divides the grid evenly. Of 200
    records with ten values at epsilon 1, intervals of the area at 0.9 were 0.21 wide instead of 0.30 with merged
    values, and the area erred 0.039 instead of 0.034 (24 releases); other numbers of values were not tried.
    """
    most_cut_levels: int = 8
    """Halvings. Largest number of halvings of the scores by cuts."""
    group_intervals: int = 16
    """Intervals. Even intervals of the pilot query for groups."""
    group_even_share: float = 0.5
    """Share of the records that is assumed to lie evenly for groups, so that groups where records are few are narrower
    than groups of equal size.
    """
    cells_per_piece: int = 2
    """Cells per piece between cuts, so that ties hide less of the order of scores: their effect falls as one over the
    number of cells, the noise grows about as its logarithm."""


TUNING = Tuning()
"""The values that all strategies of this file use."""


def count_fixed_thresholds(workload: RankingWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Yield one query with the whole loss that counts both classes in all cells of the grid; return the counts.

    Args:
        workload: The two classes and the score on its grid.
        setting: Loss and adjacency; not read, because the query is fixed.
    """
    return (yield from _count_classes(workload, workload.score, (), WHOLE_BUDGET))


def count_chosen_thresholds(workload: RankingWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Yield rounds that choose thresholds of a score privately and count both classes between them; return the counts.

    If the number of records is private, it is counted first. If the workload has fixed thresholds, all cells of the
    grid are counted in one round. Otherwise the rounds depend on the signal-to-noise ratio:

    - With a high ratio, private quantiles are the thresholds.
    - With a lower one, quantiles would cost more than they gain. A pilot query counts all records in a few even
      intervals, and thresholds are the quantiles of the estimated shares, which noise leaves nearly even. Private
      quantiles are used only if most records lie in one interval.
    - With a still lower ratio and a public number of records, the grid is divided evenly.

    At all but the lowest ratio, a few declared values are counted one by one, because the order of classes is known
    only where a cell has one value. So are the points of a lattice, such as tenths, if nearly all scores lie on them
    (`lattices.search_lattice`).

    Formal guarantees: each round loses its fraction of the loss. Its query, and the fraction of a pilot query, are
    functions of earlier answers and of public facts. For all answers the fractions add up to the whole loss. So by
    adaptive composition all rounds together lose the granted loss.

    Args:
        workload: The two classes and the score.
        setting: Loss and adjacency.
    """
    if workload.thresholds is RocThresholds.FIXED:
        return (yield from count_fixed_thresholds(workload, setting))
    records, earlier, remaining = yield from _count_records(workload, setting)
    signal = signal_to_noise(records, setting)
    if not earlier and signal < TUNING.few_ratio:
        even = _cut_axis(workload.score, (), TUNING.even_cells)
        return (yield from _count_classes(workload, even, earlier, remaining))
    require_cuttable(workload.score)
    if workload.thresholds is RocThresholds.QUANTILES and has_few_values(workload.score.grid, records, setting):
        return (yield from _count_classes(workload, workload.score, earlier, remaining))
    search = yield from _search_lattice(workload, records, setting)
    earlier, remaining = (*earlier, *search.releases), remaining - search.budget_fraction
    if search.lattice is not None:
        return (yield from _count_points(workload, search.lattice, earlier, remaining))
    return (yield from _count_intervals(workload, records, setting, earlier, remaining))


def _count_intervals(
    workload: RankingWorkload, records: float, setting: Setting, earlier: tuple[Release, ...], remaining: Fraction
) -> Strategy[TableCounts]:
    """Yield rounds that count both classes in intervals of the score: between private quantiles, after a pilot query,
    or in all cells if these are few.

    Args:
        workload: The two classes and the score.
        records: Public or counted number of records.
        setting: Loss and adjacency.
        earlier: Releases of earlier rounds.
        remaining: Fraction of the loss that is left.
    """
    signal = signal_to_noise(records, setting)
    if workload.thresholds is RocThresholds.MEDIANS or signal >= TUNING.many_ratio:
        return (yield from _count_between_cuts(workload, records, setting, earlier, remaining))
    if workload.score.grid.cells <= TUNING.merge_factor * choose_cell_count(signal):
        return (yield from _count_classes(workload, workload.score, earlier, remaining))
    return (yield from _count_after_pilot_query(workload, signal, setting, earlier, remaining))


def _count_records(
    workload: RankingWorkload, setting: Setting
) -> Generator[Step, Release, tuple[float, tuple[Release, ...], Fraction]]:
    """Return the number of records, the releases that counted them, and the remaining fraction of the loss.

    A public number costs nothing: no releases, and the fraction is 1. A private number is counted with
    `COUNT_FRACTION`; the noisy count may be negative.

    Args:
        workload: The two classes and the score.
        setting: Loss and adjacency.
    """
    if setting.adjacency.public_record_count is not None:
        return float(setting.adjacency.public_record_count), (), WHOLE_BUDGET
    single_cell = Axis(workload.score.column, workload.score.grid.merge_cells([]))
    release = yield Step(CountQuery((workload.classes, single_cell), CountUse.CELLS), COUNT_FRACTION)
    return float(Evidence.from_release(release).unbiased_cells.sum()), (release,), WHOLE_BUDGET - COUNT_FRACTION


def has_few_values(grid: Grid, records: float, setting: Setting) -> bool:
    """Return True if the grid has declared values that are few enough to count one by one.

    Args:
        grid: Grid of the scores.
        records: Public or counted number of records.
        setting: Loss and adjacency.

    >>> from dpcurves.data import Values
    >>> from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
    >>> setting = Setting(PrivacyLoss.pure(1), ReplaceOne(EACH_RECORD, 30_000))
    >>> [has_few_values(grid, 30_000, setting) for grid in (Values(range(10)), Values(range(500)), Grid(0, 9, cells=9))]
    [True, False, False]
    """
    return grid.values is not None and grid.cells <= choose_most_values(records, setting)


def choose_most_values(records: float, setting: Setting) -> int:
    """Return the largest number of declared values that are counted one by one.

    Either `Tuning.few_values`, or the number of cells between private quantiles at this number of records, if that is
    larger.

    Args:
        records: Public or counted number of records.
        setting: Loss and adjacency.
    """
    pieces = TUNING.cells_per_piece << choose_cut_levels(records, setting)
    return max(TUNING.few_values, pieces)


def _search_lattice(
    workload: RankingWorkload, records: float, setting: Setting
) -> Generator[Step, Release, lattices.LatticeSearch]:
    """Yield a pilot query that finds out whether nearly all scores are multiples of one step, such as 0.1 (a lattice).

    Nothing is asked if scores are declared values or those of a model, or if records are few.

    Args:
        workload: The two classes and the score.
        records: Number of records, public or noisy.
        setting: Loss and adjacency.

    Returns:
        The result of the search, with its releases and the budget fraction that it spent.
    """
    score, signal = workload.score, signal_to_noise(records, setting)
    is_searched = workload.thresholds is RocThresholds.QUANTILES and signal >= lattices.TUNING.least_ratio
    if not is_searched or score.grid.values is not None or not isinstance(score.column, str):
        return lattices.NO_LATTICE_SEARCH
    step = lattices.choose_step(score.grid, choose_most_values(records, setting))
    if not step:
        return lattices.NO_LATTICE_SEARCH
    return (yield from lattices.search_lattice(score, step, records, signal, has_points=True))


def _count_points(
    workload: RankingWorkload, lattice: lattices.FoundLattice, earlier: tuple[Release, ...], budget_fraction: Fraction
) -> Strategy[TableCounts]:
    """Yield a query that counts both classes at each lattice point: nearly all scores were found to be multiples of a
    step.

    Args:
        workload: The two classes and the score.
        lattice: The points, and the release that found them.
        earlier: Releases of earlier rounds.
        budget_fraction: Fraction of the loss for the counts.
    """
    values = Values(lattice.points.tolist(), outside=workload.score.grid.outside)
    counts = yield from _count_classes(workload, Axis(workload.score.column, values), earlier, budget_fraction)
    return replace(counts, lattice_counts=Evidence.from_release(lattice.release))


def require_cuttable(score: Axis) -> None:
    """Check that a grid is not too fine for cuts (private quantiles); returns nothing.

    The check comes first, before anything is charged, because noisy answers decide later whether cuts are used.

    Args:
        score: The column of scores on its grid.

    Raises:
        UnsupportedQuery: the grid has more cells than are counted one by one.
    """
    if score.slots > MOST_COUNTED:
        raise UnsupportedQuery(
            "grid",
            f"at most {MOST_COUNTED} cells are counted one by one, got {score.slots}; choose a grid of fewer cells",
        )


def ask_even_intervals(
    score: Axis, intervals: int, budget_fraction: Fraction
) -> Generator[Step, Release, tuple[FloatArray, IntArray, Release]]:
    """Yield one query that counts all records in even intervals of a grid; return their estimated shares.

    Args:
        score: The column of scores on its grid.
        intervals: Number of intervals; fewer if the grid has fewer cells.
        budget_fraction: Fraction of the loss.

    Returns:
        Estimated share of the records in each interval, (intervals,), shrunk towards equal shares; the endpoints of the
        intervals as numbers of grid edges, (intervals + 1,); and the release.
    """
    coarse = _cut_axis(score, (), intervals)
    release = yield Step(CountQuery((coarse,), CountUse.CELLS), budget_fraction)
    counts = counts_inside_grid(release, coarse)
    variance = Evidence.from_release(release).sums.nested_distribution.parts[-1].noise.variance
    return shrink_shares(counts, variance), np.searchsorted(score.grid.edges, coarse.grid.edges), release


def counts_inside_grid(release: Release, score: Axis) -> FloatArray:
    """Return unbiased noisy counts of the intervals of a pilot query, without records outside a grid that excludes
    them.

    Args:
        release: Release of the pilot query.
        score: Axis of the scores, with its grid.

    Returns:
        Counts in records, of shape ``(intervals,)``; they may be negative.
    """
    counts = np.asarray(Evidence.from_release(release).unbiased_cells[0])
    return counts[1:-1] if score.grid.outside is Outside.APART else counts


def _count_after_pilot_query(
    workload: RankingWorkload, signal: float, setting: Setting, earlier: tuple[Release, ...], remaining: Fraction
) -> Strategy[TableCounts]:
    """Yield a pilot query of all records in even intervals, then a count of both classes between estimated quantiles.

    If the pilot query finds most records in one interval, private quantiles are used instead.

    Args:
        workload: The two classes and the score.
        signal: Signal-to-noise ratio of all records at the whole loss.
        setting: Loss and adjacency.
        earlier: Releases of earlier rounds.
        remaining: Fraction of the loss that is left.
    """
    score = workload.score
    pilot_fraction = pilot_budget_fraction(signal)
    intervals = TUNING.pilot_intervals[signal >= TUNING.fine_pilot_ratio]
    shares, bounds, pilot_release = yield from ask_even_intervals(score, intervals, pilot_fraction)
    records = float(setting.adjacency.public_record_count or counts_inside_grid(pilot_release, score).sum())
    remaining -= pilot_fraction
    earlier = (*earlier, pilot_release)
    if float(shares.max()) > TUNING.crowded:
        return (yield from _count_between_cuts(workload, records, setting, earlier, remaining))
    cells = choose_cell_count(signal_to_noise(records, setting))
    edges = cut_at_quantiles(shares, bounds, cells, TUNING.even_share)
    return (yield from _count_classes(workload, _cut_axis(score, edges, 1), earlier, remaining))


def _count_between_cuts(
    workload: RankingWorkload, records: float, setting: Setting, earlier: tuple[Release, ...], remaining: Fraction
) -> Strategy[TableCounts]:
    """Yield a query for private quantiles of the score, then counts of both classes between them; return the counts.

    If records are many, finer cells are counted as well, for the area under the curve.

    Args:
        workload: The two classes and the score.
        records: Number of records, public or noisy.
        setting: Loss and adjacency.
        earlier: Releases of earlier rounds.
        remaining: Fraction of the loss that is left.
    """
    halvings = max(choose_cut_levels(records, setting), 1)
    finer = choose_finer_cells(records, setting) if workload.thresholds is RocThresholds.QUANTILES else None
    budget_fraction = CUTS_FRACTION if finer is None else finer.cuts_fraction
    cuts = yield Step(_build_cuts_query(workload.score, workload.thresholds, halvings), budget_fraction)
    score = pieces_between(workload.score, cuts.values)
    remaining = remaining - budget_fraction
    fine_score = score if finer is None else _cut_axis(workload.score, cuts.values, finer.cells_per_piece)
    if finer is None or fine_score.slots == score.slots:
        return (yield from _count_classes(workload, score, (*earlier, cuts), remaining))
    fine_release = yield Step(CountQuery((workload.classes, fine_score), CountUse.CELLS), finer.counts_fraction)
    class_counts = yield from _count_classes(
        workload, score, (*earlier, cuts, fine_release), remaining - finer.counts_fraction
    )
    return TableCounts(
        class_counts.releases, (Evidence.from_release(fine_release), *class_counts.evidence), class_counts.grid
    )


def _count_classes(
    workload: RankingWorkload, score: Axis, earlier: tuple[Release, ...], budget_fraction: Fraction
) -> Strategy[TableCounts]:
    """Ask for counts of both classes on this axis, and return them together with the earlier releases.

    Args:
        workload: What to count, with the column of classes.
        score: Axis of the score, with its cells.
        earlier: Releases of the rounds before.
        budget_fraction: Fraction of the loss to spend.
    """
    counts = yield Step(CountQuery((workload.classes, score), CountUse.PREFIXES), budget_fraction)
    return TableCounts.from_last_release((*earlier, counts), score.grid)


def choose_finer_cells(records: float, setting: Setting) -> FinerCells | None:
    """Return the finer cells to count in addition to the pieces between cuts, for a narrower interval of the area; None
    if noise outweighs ties.

    The area of exact scores differs from the area of tied scores by at most the pairs within one cell: a share of about
    one over the number of cells, which further records do not reduce, and which widens the interval. Counts of finer
    cells, each precise enough to show part of this order, reduce it, for a fraction of the loss that cuts can spare.

    Chosen on scores with normal log-odds and on rare positives, of 3,000 and 30,000 records; judged on zero-inflated
    scores. For 3,000 records, four finer cells per piece had 0.7 times the width, but 1.2 and 1.3 times the error of
    the area itself. One table of all fine cells, read as prefixes, has up to twice that error.

    Args:
        records: Public or counted number of records.
        setting: Loss and adjacency.
    """
    return FINER_CELLS if signal_to_noise(records, setting) >= FINER_CELLS.min_records_epsilon else None


def pieces_between(score: Axis, cuts: Sequence[int]) -> Axis:
    """Return the finer axis that is counted in addition, with `Tuning.cells_per_piece` cells between each two
    neighbouring cuts.

    Args:
        score: The column of scores on its grid.
        cuts: Indices of the inner edges at which the score is cut, increasing.
    """
    return _cut_axis(score, cuts, TUNING.cells_per_piece)


def _build_cuts_query(score: Axis, cuts: RocThresholds, levels: int) -> QuantileCutsQuery | MedianQuery:
    """Return the query that finds cuts (private quantiles) of a score; scores outside the grid count in its outermost
    cells there.

    Args:
        score: Axis of the score.
        cuts: How cuts are found: by quantiles, or by medians.
        levels: Number of halvings: 2**levels pieces result.
    """
    if cuts is RocThresholds.QUANTILES:
        return QuantileCutsQuery((score,), 2**levels)
    return MedianQuery((Axis(score.column, score.grid.with_outside(Outside.CLIPPED)),), levels)


def _cut_axis(score: Axis, cuts: Sequence[int], pieces: int) -> Axis:
    """Return the axis with coarser cells, that divide each interval between cuts into parts of about equal length (at
    least one grid cell).

    Args:
        score: Axis of the score, with the cells of the question.
        cuts: Indices of grid edges, increasing.
        pieces: Number of parts of each interval.
    """
    intervals = pairwise((0, *cuts, score.grid.cells))
    inner_edges = sorted(
        {start + (end - start) * piece // pieces for start, end in intervals for piece in range(pieces)}
    )
    return Axis(score.column, score.grid.merge_cells(inner_edges))


def signal_to_noise(records: float, setting: Setting) -> float:
    """Return the signal-to-noise ratio: records times epsilon over the L1 sensitivity; for zCDP the epsilon of equal
    noise.

    Args:
        records: Number of records.
        setting: Loss and adjacency.

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
    """Return the budget fraction of a pilot query: one over the square root of the signal-to-noise ratio, from 0.01 to
    0.1.

    Args:
        signal: Signal-to-noise ratio of all records at the whole loss; may be negative if the number of records is
            noisy.

    >>> [float(pilot_budget_fraction(signal)) for signal in (-20, 100, 400, 1600, 10**9)]
    [0.1, 0.1, 0.05, 0.025, 0.01]
    """
    fraction = Fraction(round(1000 / max(signal, 1.0) ** 0.5), 1000)
    return max(TUNING.least_fraction, min(fraction, TUNING.largest_fraction))


def choose_cell_count(signal: float) -> int:
    """Return the number of cells to count after a pilot query at this signal-to-noise ratio.

    Args:
        signal: Signal-to-noise ratio of all records at the whole loss; may be negative if the number of records is
            noisy.

    >>> [choose_cell_count(signal) for signal in (-20, 100, 400, 1600)]
    [4, 6, 12, 24]
    """
    return max(TUNING.even_cells, round(TUNING.cells_per_root * sqrt(max(signal, 0.0))))


def shrink_shares(counts: FloatArray, variance: float) -> FloatArray:
    """Return the share of records in each interval from noisy counts, shrunk towards equal shares after James and
    Stein, because of noise.

    Args:
        counts: Unbiased noisy counts, of shape ``(intervals,)``.
        variance: Variance of the noise of each count.

    >>> shrink_shares(np.array([90.0, 10.0, 0.0, 0.0]), 1.0).round(2).tolist()
    [0.9, 0.1, 0.0, 0.0]
    >>> shrink_shares(np.array([90.0, 10.0, 0.0, 0.0]), 10_000.0).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    uniform = np.full(len(counts), 1 / len(counts))
    centred = counts - counts.mean()
    squares = float(centred @ centred)
    degrees_of_freedom = len(counts) - 1
    shrinkage = 0.0 if counts.sum() <= 0 or squares == 0 else max(0.0, 1 - degrees_of_freedom * variance / squares)
    shares = np.maximum(counts.mean() + shrinkage * centred, 0.0)
    return shares / shares.sum() if shares.sum() > 0 else uniform


def cut_at_quantiles(shares: FloatArray, bounds: IntArray, pieces: int, even_share: float) -> list[int]:
    """Return the grid edges that divide a column into pieces with about equal shares of the records, as increasing edge
    indices.

    Records are assumed to be uniform within each interval.

    Args:
        shares: Share of the records in each interval; they add up to 1.
        bounds: Endpoints of the intervals, as edge numbers, of shape ``(intervals + 1,)``.
        pieces: Number of pieces; fewer result if edges coincide.
        even_share: Share of the records that is assumed to lie evenly over the intervals.

    >>> ends = np.array([0, 8, 16, 24, 32])
    >>> [cut_at_quantiles(np.array([0.5, 0.5, 0.0, 0.0]), ends, 4, evenly) for evenly in (0.0, 0.1)]
    [[4, 8, 12], [4, 8, 13]]
    """
    smoothed = (1 - even_share) * shares + even_share / len(shares)
    below = np.append(0.0, np.cumsum(smoothed))
    inner = np.interp(np.arange(1, pieces) / pieces, below / below[-1], bounds)
    return sorted(set(np.round(inner).astype(int).tolist()))


def choose_cut_levels(records: float, setting: Setting) -> int:
    """Return how often the scores are halved by private cuts, so that pieces number at most half the square root of the
    signal-to-noise ratio.

    Few pieces blur the curve by about the square of their width; with many pieces their noise adds up. Chosen on the
    scores of `benchmarks/auc_accuracy.py` that are continuous, heaped, or all within a twentieth of the grid, for 100
    to 100,000 records times epsilon; judged on its other scores.

    Args:
        records: Public or counted number of records.
        setting: Loss and adjacency.

    >>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
    >>> setting = Setting(PrivacyLoss.pure("0.1"), AddRemove(EACH_RECORD))
    >>> [choose_cut_levels(records, setting) for records in (-20, 500, 1000, 10_000, 10**6, 10**9)]
    [0, 1, 2, 3, 7, 8]
    """
    pieces = (max(signal_to_noise(records, setting), 0.0) / 4) ** 0.5
    return min(TUNING.most_cut_levels, int(log2(max(pieces, 1.0))))


# Groups of similar scores: counted between private cuts or after a pilot query, or read from the counts of all cells.
#
# The cuts are chosen privately; then positives and negatives are counted, and distances of scores from the middle of
# their group are summed. A record lies in one group and one class, and its distance is at most half the group's width.
# Scores outside the grid lie in no group: they are counted separately, below and above.


def ask_all_cells(workload: ScoreGroupWorkload, setting: Setting) -> Strategy[ScoreGroupReleases]:
    """Count both classes in all cells of the grid, as the groups of scores, in one round.

    Args:
        workload: The two classes and the score.
        setting: Loss and adjacency; without effect.

    Returns:
        Generator of one step, which returns the release and the grid.
    """
    release = yield Step(CountQuery((workload.classes, workload.score), CountUse.PREFIXES), WHOLE_BUDGET)
    return ScoreGroupReleases((release,), workload.score.grid, release, None)


def ask_groups(workload: ScoreGroupWorkload, setting: Setting) -> Strategy[ScoreGroupReleases]:
    """Choose groups of scores of about equal size privately, then count both classes and sum scores in each, in several
    rounds.

    Groups are chosen by private quantiles; if these coincide, one group results. If the workload asks for a least size,
    small groups are merged in one more round. If groups need not be equal, a pilot query of all records in even
    intervals replaces the quantiles, which cost more; quantiles are used only if most records lie in one interval.

    Formal guarantees: each round loses its fraction of the loss. Its query is a function of earlier answers and of
    public facts, like the budget fractions, which add up to the whole loss for all answers. So by adaptive composition
    all rounds together lose the granted loss.

    Args:
        workload: The two classes, the score, and how groups are chosen.
        setting: Loss and adjacency.

    Returns:
        The releases of all rounds, the grid whose cells are the groups, and the counts and sums of each group.
    """
    score = workload.score
    if workload.approximate_records is not None and score.grid.cells > TUNING.group_intervals:
        require_cuttable(score)
        signal = signal_to_noise(workload.approximate_records, setting)
        return (yield from _ask_groups_after_pilot_query(workload, pilot_budget_fraction(signal), setting))
    if workload.min_records is None:
        cuts = yield Step(QuantileCutsQuery((score,), workload.max_groups), workload.budget_fractions.cuts)
        return (yield from measure_groups(workload, score.grid.merge_cells(cuts.values), [cuts]))
    clipped = Axis(score.column, score.grid.with_outside(Outside.CLIPPED))
    cuts = yield Step(QuantileCutsQuery((clipped,), workload.max_groups), workload.budget_fractions.cuts)
    fine = Axis(score.column, clipped.grid.merge_cells(cuts.values))
    merges = yield Step(MergePartitionQuery((fine,), workload.min_records), workload.budget_fractions.merges)
    return (yield from measure_groups(workload, merge_bins(fine.grid, merges.values), [cuts, merges]))


def _ask_groups_after_pilot_query(
    workload: ScoreGroupWorkload, pilot_fraction: Fraction, setting: Setting
) -> Strategy[ScoreGroupReleases]:
    """Yield a pilot query that counts scores in even intervals, then measure groups between the estimated quantiles; if
    one interval holds most records, groups are cut at private quantiles instead.

    Args:
        workload: The two classes and the score.
        pilot_fraction: Fraction of the loss for the pilot query.
        setting: Loss and adjacency.
    """
    score = workload.score
    remaining = WHOLE_BUDGET - pilot_fraction
    shares, bounds, pilot_release = yield from ask_even_intervals(score, TUNING.group_intervals, pilot_fraction)
    if float(shares.max()) > TUNING.crowded:
        fractions = GroupBudgetFractions(*(fraction * remaining for fraction in workload.budget_fractions))
        group_releases = yield from ask_groups(
            replace(workload, approximate_records=None, budget_fractions=fractions), setting
        )
        return replace(group_releases, releases=(pilot_release, *group_releases.releases))
    cells = score.grid.merge_cells(cut_at_quantiles(shares, bounds, workload.max_groups, TUNING.group_even_share))
    fractions = GroupBudgetFractions(Fraction(0), remaining - SUMS_FRACTION, SUMS_FRACTION)
    return (yield from measure_groups(replace(workload, budget_fractions=fractions), cells, [pilot_release]))


def measure_groups(
    workload: ScoreGroupWorkload, cells: Grid, earlier: Sequence[Release]
) -> Strategy[ScoreGroupReleases]:
    """Ask for counts of both classes, and for sums of scores, in each group.

    Scores outside the groups' grid are counted separately.

    Args:
        workload: The two classes, the score, and the budget fractions of both queries.
        cells: A grid whose cells are the groups.
        earlier: Releases of the rounds that chose the groups.

    Returns:
        All releases in order, the grid of the groups, and the counts and sums.
    """
    score = Axis(workload.score.column, cells.with_outside(Outside.APART))
    axes = workload.classes, score
    # One cell may have been counted before with another budget fraction: prefixes make it another query, with new
    # noise.
    is_single_cell = cells.cells == 1 and workload.score.grid.outside is Outside.APART
    counts = yield Step(
        CountQuery(axes, CountUse.PREFIXES if is_single_cell else CountUse.CELLS), workload.budget_fractions.counts
    )
    sums = yield Step(SumQuery(axes, half=HALF_WIDTH_STEPS), workload.budget_fractions.sums)
    return ScoreGroupReleases((*earlier, counts, sums), score.grid, counts, sums)


def merge_bins(fine: Grid, ends: tuple[int, ...]) -> Grid:
    """Return the grid of bins that the cells between given ends are merged to.

    Cells behind the last end belong to the last bin.

    Args:
        fine: The grid of cells before merging.
        ends: For each cell of `fine`: 1 if a bin ends with the cell, else 0.
    """
    inner = [cell + 1 for cell, is_end in enumerate(ends) if is_end]
    has_remainder = bool(inner) and inner[-1] < fine.cells
    return fine.merge_cells(inner[:-1] if has_remainder else inner)
