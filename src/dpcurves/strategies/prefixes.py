"""Data-dependent hierarchical histograms: count one column in several rounds, on intervals chosen from earlier counts.

In: a `PrefixWorkload`, that is a column on a public grid of k cells whose distribution function or quantiles are asked
for, and a `Setting` (privacy loss, adjacency). Out: noisy counts of intervals of cells (`TableCounts`), from which
prefix counts, the numbers of records below each edge, are estimated.

One round that counts all k cells spends loss where no records are. Here a first round shows where records lie, and
later rounds divide intervals there (`refine_in_rounds`). A *round* is one query with a public fraction of the loss. A
*tiling* divides the cells into disjoint intervals; *nested* tilings are counted together and share the round's loss. A
*split* is the division of an interval's count between its two halves:

    round                budget      intervals
    1  fixed             3/20        nested tilings at 1/3, 2/3 and 3/3 of the depth of the cells
    2  unclear splits    1/10        divided while a split's posterior variance exceeds a multiple of its noise
    3  final             the rest    as round 2, and divided while intervals hold many records

Variants count coarse intervals first if records are few, search for atoms (single cells that hold many records), count
every cell last where that is no worse, or divide only where a few quantiles may lie (`search_quantiles`). Public facts
decide whether several rounds are made at all (`is_worth_refining`): cells, loss, and a public number of records. The
fractions above are those for Laplace noise and few records per cell; `choose_budget_fractions` has the others. Other
numbers that steer the rounds stand in `Tuning`, at the end.

Splits and their variances are empirical Bayes estimates from all earlier rounds (`estimation.empirical_bayes`). The
released curve is an estimate from all rounds. Its band is from the last round alone, whose noise is independent of the
earlier answers that chose its intervals, so that the band is valid for any choice.

Formal guarantees: a record lies in one interval of each tiling, so a round loses its fraction for any intervals.
Intervals are functions of earlier noisy answers alone, and fractions are public and add up to 1. So pure losses, and
likewise rho, add up to the granted loss (adaptive composition: Dwork and Roth 2014, section 3.5; Bun and Steinke 2016,
Lemma 2.3).

References: Hay, Rastogi, Miklau and Suciu 2010; Qardaji, Yang and Li 2013; Li, Hay, Miklau and Wang 2014.

>>> layout = DyadicLayout.from_cells(512)
>>> noise = Noise(Family.LAPLACE, Fraction(1))  # of a count if the whole loss were spent on one tiling
>>> [len(tiling) for tiling in first_tilings(layout)], round(balanced_intervals(3000, noise))  # numbers of intervals
([8, 64, 512], 269)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, inf, log2, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray
from ..conversation import (
    WHOLE_BUDGET,
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
from ..data import MOST_STORED_EDGES, Axis, Outside
from ..data.grid import split_at_round_numbers, split_at_zero
from ..distributions import LEAST_VARIANCE, Family, IntervalSums, Noise, Tier, round_error
from ..estimation import JointEstimate, TreeEstimate, build_layout, least_squares_total
from ..estimation.binary_tree import ROOT, DyadicLayout, Layout, find_leaves, first_cells_of_nodes, subtree_maxima
from ..estimation.empirical_bayes import run_upward_pass
from ..inference import Bracket, PathQuantile
from ..queries import CountQuery, CountUse, Hint, PartitionQuery, Places, PrefixQuery
from . import lattices
from .ranks import signal_to_noise

Tilings = tuple[Places, ...]
"""Nested tilings of the cells, from coarse to fine, each by the first cells of its intervals."""

FIRST_ROUND_FRACTION = Fraction(3, 20)
"""Fraction of the loss of the first of three rounds. All fractions here were chosen by simulation: the comment above
`Tuning` names the data."""
COARSE_ROUND_FRACTION = Fraction(1, 5)
"""Fraction of the loss of a first round of a single tiling, made where few records lie in many cells."""
ATOM_ROUND_FRACTION = Fraction(3, 20)
"""Fraction of the loss of the round after a first round of a single tiling, made if an interval is denser than its
neighbours, so that one cell of it may hold most of its records."""
SECOND_ROUND_FRACTION = Fraction(1, 10)
"""Fraction of the loss of the second of three rounds. Both pilot rounds take a quarter, and the last round the rest."""
SEARCH_ROUND_FRACTION = Fraction(1, 10)
"""Fraction of the loss of each round of a search for quantiles except the last."""
_LARGE = Fraction(10**6)
"""Records (Laplace) or squared records (Gaussian). Noise parameter so large that the discreteness of the noise does not
matter.
"""


def first_tilings(layout: DyadicLayout, thirds: int = 3) -> Tilings:
    """Return the tilings of the first round, from coarse to fine: at 1/3, 2/3 and 3/3 of the depth of the cells.

    The depth of the cells is the number of halvings from the whole axis to single cells.

    Args:
        layout: Binary tree of dyadic intervals over the cells.
        thirds: Number of tilings to return, 1 to 3, from the coarsest on.

    Returns:
        For each tiling the first cells of its intervals, increasing; tilings of equal depth are returned once.

    >>> first_tilings(DyadicLayout.from_cells(8)), first_tilings(DyadicLayout.from_cells(8), thirds=1)
    ((range(0, 8, 4), range(0, 8, 2), range(0, 8)), (range(0, 8, 4),))
    """
    depths = sorted({max(min(layout.depth, 1), round(layout.depth * third / 3)) for third in range(1, thirds + 1)})
    return tuple(_starts_of_nodes(layout, layout.nodes_at_depth(depth)) for depth in depths)


def tiling_at_depth(layout: DyadicLayout, depth: int) -> Tilings:
    """Return the tiling, as a tuple of one, whose intervals result from halving the whole axis `depth` times.

    Args:
        layout: Binary tree of dyadic intervals over the cells.
        depth: Number of halvings.

    >>> tiling_at_depth(DyadicLayout.from_cells(8), 2)
    (range(0, 8, 2),)
    """
    return (_starts_of_nodes(layout, layout.nodes_at_depth(depth)),)


def choose_first_depth(layout: DyadicLayout, total: float | None, noise: Noise) -> int:
    """Return at which depth of the binary tree the first tiling lies, in halvings: at least 2, at most the depth of the
    cells.

    The tiling has about `balanced_intervals` intervals, or `Tuning.private_intervals` if the number of records is
    private.

    Args:
        layout: Binary tree of dyadic intervals over the cells.
        total: Public number of records; None: private.
        noise: Noise of one count of the round.
    """
    intervals = TUNING.private_intervals if total is None else balanced_intervals(total, noise)
    return min(max(round(log2(max(intervals, 2.0))), 2), layout.depth)


def balanced_intervals(total: float, noise: Noise) -> float:
    """Return the number m of intervals at which the mean count of an interval equals the noise of a prefix count.

    The mean count is ``total / m`` records. With a public total, a prefix is the sum of the counts on its shorter side,
    m / 4 on average, so its noise has the standard deviation ``sqrt(m / 4 * variance)``. Infinite without noise.

    Args:
        total: Number of records.
        noise: Noise of one count.
    """
    return inf if noise.variance == 0 else float((2 * total / sqrt(noise.variance)) ** (2 / 3))


def choose_first_thirds(total: float | None, base_noise: Noise) -> int:
    """Return how many nested tilings the first round counts, 1 to 3; more if the number of records is large for the
    noise.

    They lie at thirds of the depth of the cells, from the coarsest on, as far as their counts exceed the noise
    (`FamilyTuning.pilot_ratios`).

    Args:
        total: The public number of records; None if it is private, then 3 is returned.
        base_noise: Noise of a count if the whole loss were spent on a single tiling.
    """
    if total is None:
        return 3
    deviation = sqrt(base_noise.variance)
    reached_ratios = [ratio for ratio in FAMILY_TUNING[base_noise.family].pilot_ratios if total >= ratio * deviation]
    return 1 + len(reached_ratios)


def is_dense(cells: int, total: float | None, base_noise: Noise) -> bool:
    """Return True if cells hold so many records on average that a single round that counts all cells is the most
    accurate strategy.

    Args:
        cells: Number of cells.
        total: The public number of records; None if it is private, then False is returned.
        base_noise: Noise of a count if the whole loss were spent on a single tiling.
    """
    threshold = TUNING.dense if base_noise.variance > TUNING.negligible_variance else TUNING.dense_exact
    return total is not None and total / cells > threshold * _split_variance(base_noise, 3)


def is_nearly_exact(cells: int, total: float | None, base_noise: Noise) -> bool:
    """Return True if noise is so small that prefixes have less error as sums of counts of single cells than by a tree.

    Most counts of single cells are then exact. The tree is compared with the loss of the last of three rounds. The
    price of the earlier rounds matters more here than elsewhere, because the variance of small integer noise falls much
    faster than the square of its scale.

    Args:
        cells: Number of cells.
        total: The public number of records; None if it is private.
        base_noise: Noise of a count if the whole loss were spent on a single tiling.
    """
    if base_noise.variance > TUNING.negligible_variance:
        return False
    last_noise = replace(
        base_noise, parameter=base_noise.parameter / (1 - FIRST_ROUND_FRACTION - SECOND_ROUND_FRACTION)
    )
    flat = ((range(cells),), base_noise)
    nested = (first_tilings(DyadicLayout.from_cells(cells)), last_noise)
    flat_variance, nested_variance = (
        _shared_prefix_variance(tilings, cells, noise, total is not None) for tilings, noise in (flat, nested)
    )
    return flat_variance < nested_variance


def choose_budget_fractions(cells: int, total: float | None, base_noise: Noise) -> tuple[Fraction, Fraction, Fraction]:
    """Return the fractions of the loss of the three rounds, in order. They are public and add up to 1.

    Args:
        cells: Number of cells.
        total: Public number of records; None: private.
        base_noise: Noise of a count if the whole loss were spent on a single tiling.

    >>> choose_budget_fractions(100, 1000, Noise(Family.LAPLACE, Fraction(2)))
    (Fraction(3, 20), Fraction(1, 10), Fraction(3, 4))
    """
    if choose_first_thirds(total, base_noise) == 1:
        return COARSE_ROUND_FRACTION, ATOM_ROUND_FRACTION, 1 - COARSE_ROUND_FRACTION - ATOM_ROUND_FRACTION
    # A first round needs less of the loss if the noise is Gaussian, if cells are known to hold many records, or both.
    is_fairly_dense = total is not None and total / cells > TUNING.fairly_dense * _split_variance(base_noise, 3)
    is_gaussian = base_noise.family is Family.GAUSSIAN
    if is_gaussian and is_fairly_dense:
        first_fraction = Fraction(1, 20)
    elif is_gaussian or is_fairly_dense:
        first_fraction = Fraction(1, 10)
    else:
        first_fraction = FIRST_ROUND_FRACTION
    return first_fraction, SECOND_ROUND_FRACTION, 1 - first_fraction - SECOND_ROUND_FRACTION


def refine_tilings(splits: TreeEstimate, base_noise: Noise) -> Tilings:
    """Choose the nested tilings that the next round counts, from coarse to fine: intervals are divided where estimates
    are uncertain.

    An interval is split, down to single cells, if it or an interval within it has a split whose posterior variance
    exceeds `Tuning.tolerances` times the noise variance of a split in the round; less readily if records are few or
    even. The finest tiling consists of the unsplit intervals. If there are many, K of them, up to three coarser tilings
    are counted as well, in steps of about ``K ** (1 / h)``, so that prefixes are sums of few counts. The tilings share
    the loss: h tilings multiply the noise parameter of `base_noise` by h, for Laplace and Gaussian noise alike.

    Formal guarantees: a pure function of released and other public numbers.

    Args:
        splits: Estimates from earlier rounds.
        base_noise: Noise of a count if the round had a single tiling.
    """
    leaves, tilings = _select_leaves(splits, base_noise, ((inf,),) * len(TUNING.tolerances))
    return _starts_of_tilings(splits.layout, _coarsen_geometrically(splits.layout, leaves, tilings, TUNING.coarsening))


def find_zero_slot(axis: Axis) -> int | None:
    """Return the number of the cell that holds zero alone, counted from 0; None if the grid has no such cell.

    Slots are the counted cells, from 0. If values outside the grid are counted apart, slot 0 is the cell below it.

    Args:
        axis: Column on its grid.

    >>> from dpcurves.data import Grid
    >>> [find_zero_slot(Axis("x", grid)) for grid in (split_at_zero(Grid(0, 1000, cells=500)), Grid(0, 1, cells=2))]
    [1, None]
    """
    edges = axis.grid.edges
    index = int(np.searchsorted(edges, 0.0))
    is_separate = index + 1 < len(edges) and edges[index] == 0 and edges[index + 1] == np.nextafter(0.0, inf)
    return index + int(axis.grid.outside is Outside.APART) if is_separate else None


def has_significant_atoms(joint: JointEstimate, zero_slot: int | None = None) -> bool:
    """Return whether the finest counts show that most records lie in single cells, as whole ages do on a fine grid.

    Then one half of a pair of neighbouring cells holds its records and the other half none, so the squared differences
    of halves sum up to the squares of their parents, in the two finest halvings together. Both sums are estimated
    without bias: the variances of the noise are subtracted, and one record of variance for each record. No single cell
    need be significant: if each of 500 pairs has a full cell, the sum shows it from 0.6 standard deviations of the
    noise of a cell. Far more, and the usual second round finds them for less: False from `Tuning.clear_atom_z` on.

    If splits alone do not show it (`has_atoms`), the second round counts every cell: the posterior of each split may
    still call its neighbourhood smooth, and cells of one tiling add no noise to each other.

    Formal guarantees: a pure function of released and other public numbers.

    Args:
        joint: The first round.
        zero_slot: The separate cell of zero, which shows nothing of other cells and is left out; None: zero has no
            separate cell.
    """
    measurements = joint.measurements
    layout = measurements.layout
    estimate = run_upward_pass(measurements)
    difference_squares = parent_squares = noise_square = 0.0
    for parent, left, right, _ in layout.halvings[-2:]:
        is_counted = (layout.width[left] > 0) & (layout.width[right] > 0)
        is_counted &= (estimate.precision[left] > 0) & (estimate.precision[right] > 0)
        is_counted &= ~_holds_slot(layout, parent, zero_slot)
        left_precision, right_precision = (np.where(is_counted, estimate.precision[half], 1) for half in (left, right))
        variance = 1 / left_precision + 1 / right_precision
        difference, total = (sign * estimate.value[left] + estimate.value[right] for sign in (-1, 1))
        excess = difference**2 - variance - joint.tree_estimate.counts[parent]
        difference_squares += float(excess[is_counted].sum())
        parent_squares += float((total**2 - variance)[is_counted].sum())
        fourth_cumulant = estimate.fourth_cumulant[left] + estimate.fourth_cumulant[right]
        noise_square += float((2 * variance**2 + fourth_cumulant)[is_counted].sum())
    z = difference_squares / max(sqrt(noise_square), LEAST_VARIANCE)
    return TUNING.atom_z < z < TUNING.clear_atom_z and difference_squares > TUNING.atom_share * parent_squares


def _holds_slot(layout: Layout, nodes: slice | IntArray, slot: int | None) -> NDArray[np.bool_]:
    """Return a mask of the tree nodes whose interval contains the cell `slot`, (nodes,); all False if `slot` is None.

    Args:
        layout: Tree of intervals of cells.
        nodes: The nodes, as indices or a slice.
        slot: Number of the cell; None: there is no such cell.
    """
    begin = layout.begin[nodes]
    width = layout.width[nodes]
    return np.zeros(len(begin), dtype=np.bool_) if slot is None else (begin <= slot) & (slot < begin + width)


def has_atoms(splits: TreeEstimate, zero_slot: int | None = None) -> bool:
    """Return True if records seem to lie in single cells with few records beside them; the separate cell of zero is
    ignored.

    The expected squared differences of halves, in the two finest halvings and beyond Poisson variation, are then nearly
    the squares of their parents. If cells merely differ from their neighbours, they are much smaller. With much noise
    this is a statement of the prior alone: see `has_significant_atoms`.

    Args:
        splits: Estimated counts of intervals and of their splits into halves, from earlier rounds.
        zero_slot: The separate cell of zero; None if the grid has none.
    """
    difference_squares = parent_squares = 0.0
    for parent, left, right, _ in splits.layout.halvings[-2:]:
        is_shown = ~_holds_slot(splits.layout, parent, zero_slot)
        counts = splits.counts[parent]
        difference = splits.counts[left] - splits.counts[right]
        excess = np.maximum(4 * splits.variance[parent] + difference**2 - counts, 0)
        difference_squares += float(excess[is_shown].sum())
        parent_squares += float((counts[is_shown] ** 2).sum())
    return difference_squares > TUNING.atom_share * parent_squares


def find_atom_tilings(splits: TreeEstimate, base_noise: Noise) -> Tilings:
    """Return the tiling of a second round that searches for atoms (cells that hold nearly all records of their
    neighbourhood).

    It divides every interval whose splits are uncertain. The last round counts intervals precisely, but within an
    interval that it does not split the curve is linear. A single full cell in it would be the largest error of all.
    Intervals of a tiling are disjoint, so more of them add no noise. Intervals with certain splits are not split
    further, which makes their counts more precise.

    Args:
        splits: Estimates from earlier rounds.
        base_noise: Noise of a count in the round.
    """
    variance = subtree_maxima(splits.layout, splits.variance)
    is_split = variance > TUNING.atom_tolerance * _split_variance(base_noise, 1)
    return (_starts_of_nodes(splits.layout, find_leaves(splits.layout, is_split)),)


def divide_outstanding_intervals(splits: TreeEstimate, base_noise: Noise, intervals: Places) -> Tilings | None:
    """Return the tiling of a second round that divides intervals denser than their neighbours; None if no interval is.

    If one cell held all records by which an interval exceeds its neighbours, that would be the largest error of all: an
    estimated curve is linear within an interval. So the interval is divided into as many pieces of equal width as leave
    its excess significant: the largest noise of m pieces is about ``b * log(m)`` for Laplace noise of scale b, and
    ``sigma * sqrt(2 * log(m))`` for Gaussian noise, times `Tuning.outstanding_margin`. A smooth density has dense
    neighbours and is not divided, nor is an interval that would have fewer than `Tuning.least_pieces` pieces.

    Formal guarantees: a pure function of released and other public numbers.

    Args:
        splits: Estimates from the first round.
        base_noise: Noise of a count in the second round.
        intervals: First cells of the intervals of the first round.
    """
    layout = splits.layout
    starts = np.asarray(intervals, dtype=np.int64)
    widths = np.diff(np.append(starts, layout.cells))
    density = np.add.reduceat(splits.cells, starts) / widths
    known = np.where(widths > 1, density, 0.0)  # an outermost cell gives no information on the interval beside it
    neighbours = np.maximum(np.append(0.0, known[:-1]), np.append(known[1:], 0.0))
    excess = np.maximum(density - neighbours, 0.0) * widths / (TUNING.outstanding_margin * sqrt(base_noise.variance))
    log_pieces = excess * sqrt(2) if base_noise.family is Family.LAPLACE else excess**2 / 2
    pieces = np.exp(np.minimum(log_pieces, log2(layout.cells) + 1))  # above the number of cells: it has no effect
    is_outstanding = (pieces >= TUNING.least_pieces) & (widths > 1)
    if not is_outstanding.any():
        return None
    largest_widths = np.repeat(np.where(is_outstanding, np.maximum(widths / pieces, 1.0), widths), widths)
    is_split = layout.width > largest_widths[np.minimum(layout.begin, layout.cells - 1)]
    return (_starts_of_nodes(layout, find_leaves(layout, is_split)),)


def refine_last_tilings(
    splits: TreeEstimate,
    base_noise: Noise,
    may_split: NDArray[np.bool_] | None = None,
    lower_counts: FloatArray | None = None,
) -> Tilings:
    """Choose the tilings that the last round counts: intervals are divided where splits are uncertain or where many
    records lie.

    The limit is `FamilyTuning.split_ratios`. Within an interval a band is as wide as all its records, beside the noise.
    This matters most if one cell of an interval holds nearly everything: an estimate may know this well enough, but a
    band needs a count. Each further interval adds the same noise to all others; its own contribution to the mean width
    is its records times its share of the cells. So wide intervals with few records are split before narrow ones with
    many.

    Narrow intervals narrow the band, but their noise adds up in every prefix. With Laplace noise, wider ones are taken
    if they clearly reduce the expected error (`_choose_laplace_tilings`). With Gaussian noise the coarser tilings are
    chosen for the least mean variance of a prefix of intervals: four or five tilings in all if there are many
    intervals.

    Args:
        splits: Estimates from earlier rounds.
        base_noise: Noise of a count in the round if it had one tiling.
        may_split: Mask of nodes that may be split, of shape ``(nodes,)``; None for all.
        lower_counts: Lower limits of the counts of nodes, of shape ``(nodes,)``; None for 0.
    """
    layout = splits.layout
    family = base_noise.family
    if family is Family.LAPLACE:
        # With lower limits, intervals may be no shares of an axis, of which expected errors are means.
        factors = TUNING.coarse_factors if lower_counts is None else TUNING.coarse_factors[:1]
        variance_maxima = _find_variance_maxima(splits)
        candidates = (
            _select_leaves(
                splits,
                base_noise,
                FAMILY_TUNING[family].split_ratios,
                may_split,
                lower_counts,
                factor=factor,
                variance_maxima=variance_maxima,
            )
            for factor in factors
        )
        return _choose_laplace_tilings(splits, base_noise, candidates)
    leaves, least_tilings = _select_leaves(
        splits, base_noise, FAMILY_TUNING[family].split_ratios, may_split, lower_counts
    )
    gaussian_candidates: list[Tilings] = []
    for number in range(least_tilings, TUNING.most_tilings + 1):
        for coarsening in TUNING.gaussian_coarsenings:
            tilings = _coarsen_geometrically(layout, leaves, number, coarsening)
            gaussian_candidates.append(_starts_of_tilings(layout, tilings))
    return min(gaussian_candidates, key=lambda tilings: _gaussian_prefix_variance(layout, tilings))


def _choose_laplace_tilings(
    splits: TreeEstimate, base_noise: Noise, candidates: Iterable[tuple[NDArray[np.int64], int]]
) -> Tilings:
    """Choose, for Laplace noise, among candidate tilings of the last round: the first one, unless another has a clearly
    smaller expected error and a band about as narrow as the narrowest.

    Args:
        splits: Estimates from earlier rounds.
        base_noise: Noise of a count if the round had a single tiling.
        candidates: Unsplit intervals, as node numbers, and the number of tilings; from narrow intervals to wide ones.
    """
    distinct: dict[tuple[int, bytes], tuple[ExpectedWidths, list[NDArray[np.int64]]]] = {}
    for leaves, number in candidates:
        key = number, leaves.tobytes()
        if key not in distinct:
            tilings = _coarsen_geometrically(splits.layout, leaves, number, TUNING.coarsening)
            noise = Noise(base_noise.family, base_noise.parameter * number)
            distinct[key] = expect_widths(splits, tilings, noise.variance), tilings
    finest, *coarser = distinct.values()
    all_widths = [widths for widths, _ in distinct.values()]
    largest_band = TUNING.max_band_width_ratio * min(widths.band for widths in all_widths)
    largest_widest = TUNING.max_band_width_ratio * min(widths.widest_band for widths in all_widths)
    allowed = [pair for pair in coarser if pair[0].band <= largest_band and pair[0].widest_band <= largest_widest]
    chosen = min([finest, *allowed], key=lambda pair: pair[0].error)
    is_clear = chosen[0].error < (1 - TUNING.least_gain) * finest[0].error
    return _starts_of_tilings(splits.layout, (chosen if is_clear else finest)[1])


class ExpectedWidths(NamedTuple):
    """Expected error and band of a last round, in records.

    Attributes:
        error: Root mean squared error of a prefix, averaged over edges of cells and over records.
        band: Mean width of a simultaneous band.
        widest_band: Width of the band where it is widest.
    """

    error: float
    band: float
    widest_band: float


def expect_widths(splits: TreeEstimate, tilings: Iterable[NDArray[np.int64]], variance: float) -> ExpectedWidths:
    """Return the error and the band width to expect if a last round counts these tilings, given the estimates before
    it.

    A prefix errs by the splits of all intervals around its edge. The error of a split rises linearly from both ends of
    its interval to the middle, so its mean square is a third of the split's variance. A split that the round counts has
    the posterior variance after the noise of both halves, by least squares; any other keeps its variance. Within an
    interval that is not divided, a band is as wide as all its records.

    Formal guarantees: a pure function of released and other public numbers.

    Args:
        splits: Estimates from earlier rounds.
        tilings: Nodes of each tiling; those of the last one are not divided.
        variance: Variance of the noise of each count.

    >>> layout = DyadicLayout.from_cells(2)
    >>> splits = TreeEstimate(layout, np.array([0.0, 60, 30, 30]), np.array([0.0, 15, 0, 0]), even_probability=0.0)
    >>> [round(expect_widths(splits, [np.array(nodes)], 20.0).error ** 2 * 3) for nodes in ([1], [2, 3])]
    [15, 6]
    """
    layout = splits.layout
    nodes = np.zeros(0, dtype=np.int64)
    precision = np.zeros(layout.nodes)
    noise_variance = np.full(layout.nodes, inf)
    for nodes in tilings:
        precision[nodes] += 1 / max(variance, LEAST_VARIANCE)
    narrowest = layout.width[nodes].min()
    with np.errstate(divide="ignore"):
        for parent, left, right, _ in reversed(layout.halvings):
            if layout.width[parent].max(initial=0) <= narrowest:  # at or below intervals that are not divided
                continue
            noise_variance[parent] = 1 / (precision[left] + precision[right])
            precision[parent] += 1 / (1 / precision[left] + 1 / precision[right])
        posterior_variance = 1 / (1 / splits.variance + 1 / noise_variance)
    share = (layout.width / layout.cells + splits.counts / max(float(splits.counts[ROOT]), LEAST_VARIANCE)) / 2
    is_counted = np.isfinite(noise_variance)
    widest_noise = 2 * TUNING.band_z * sqrt(noise_variance[is_counted].max(initial=0.0))
    inner_counts = np.where(layout.width > 1, splits.counts, 0.0)[nodes]
    return ExpectedWidths(
        sqrt(float(posterior_variance @ share) / 3),
        widest_noise + float((share * splits.counts)[nodes].sum()),
        widest_noise + float(inner_counts.max(initial=0.0)),
    )


def _select_leaves(
    splits: TreeEstimate,
    base_noise: Noise,
    ratios: tuple[tuple[float, ...], ...],
    may_split: NDArray[np.bool_] | None = None,
    lower_counts: FloatArray | None = None,
    *,
    factor: float = 1.0,
    variance_maxima: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[NDArray[np.int64], int]:
    """Choose the intervals of the finest tiling of a round, as node numbers, and the number of nested tilings.

    An interval is divided if it holds many records, or if the estimated split of an interval within it has a large
    variance. More tilings are used until the intervals are no more than their limit (`FamilyTuning.largest_tilings`).

    Args:
        splits: Estimates from earlier rounds.
        base_noise: Noise of a count if the round had a single tiling.
        ratios: For rounds of 1, 2, ... tilings: records that an interval may hold, in standard deviations of a count,
            tried in order.
        may_split: Mask of nodes that may be split, (nodes,); None: all.
        lower_counts: Lower limits of the counts of nodes, (nodes,); None: 0.
        factor: Multiplies the records that an interval may hold, and the variance that a split of a wide interval may
            keep.
        variance_maxima: Result of `_find_variance_maxima`, if known; None: it is computed.
    """
    layout, (narrow_maxima, wide_maxima) = splits.layout, variance_maxima or _find_variance_maxima(splits)
    largest_variance = np.maximum(narrow_maxima, wide_maxima / factor)
    limits = FAMILY_TUNING[base_noise.family].largest_tilings
    seems_even = splits.even_probability > TUNING.even_probability
    # the variance that a split may keep, in squared records, in a round of 1, 2, ... tilings
    is_enough = splits.counts[ROOT] > TUNING.enough_ratio * sqrt(base_noise.variance)
    uneven_tolerances = TUNING.tolerances if is_enough else TUNING.cautious_tolerances
    tolerances = TUNING.even_tolerances if seems_even else uneven_tolerances
    counts = splits.counts if lower_counts is None else np.maximum(splits.counts, lower_counts)
    scale = np.sqrt(TUNING.typical_width * layout.cells / np.maximum(layout.width, 1))
    scaled_counts = counts / np.clip(scale, TUNING.least_scale, TUNING.largest_scale)
    count_factor = factor * (TUNING.even_ratio if seems_even else 1.0)
    numbered = enumerate((*limits, layout.cells), start=1)
    for number, limit, ratio in ((index, limit, ratio) for index, limit in numbered for ratio in ratios[index - 1]):
        variance = _split_variance(base_noise, number)
        is_large = scaled_counts > count_factor * ratio * sqrt(2 * variance)
        is_split = is_large | (largest_variance > tolerances[number - 1] * variance)
        leaves = find_leaves(layout, is_split if may_split is None else is_split & may_split)
        if len(leaves) <= limit:
            break
    return leaves, number


def _find_variance_maxima(splits: TreeEstimate) -> tuple[FloatArray, FloatArray]:
    """Return the largest split variance in the subtree of each node, separately for narrow and for wide intervals,
    (nodes,) each.

    Intervals are wide from `Tuning.typical_width` on. The variance of a split is the uncertainty of how an interval's
    records divide between its halves.

    Args:
        splits: Estimates of the tree's intervals and splits from earlier rounds.
    """
    is_narrow = splits.layout.width < TUNING.typical_width * splits.layout.cells
    narrow, wide = (np.where(is_included, splits.variance, 0.0) for is_included in (is_narrow, ~is_narrow))
    return subtree_maxima(splits.layout, narrow), subtree_maxima(splits.layout, wide)


def _coarsen_geometrically(
    layout: Layout, leaves: NDArray[np.int64], tilings: int, coarsening: float
) -> list[NDArray[np.int64]]:
    """Return nested tilings whose numbers of intervals grow by a constant factor, from coarse to fine, ending with the
    given leaves.

    Each tiling is an array of node numbers.

    Args:
        layout: Intervals along an axis, as a tree.
        leaves: Nodes of the finest tiling.
        tilings: Number of tilings.
        coarsening: Factor of the number of intervals of coarser tilings.
    """
    leaf_counts = np.zeros(layout.nodes)  # leaves in each node; a leaf counts itself
    leaf_counts[leaves] = 1
    for parent, left, right, _ in reversed(layout.halvings):
        leaf_counts[parent] += leaf_counts[left] + leaf_counts[right]
    steps = [coarsening * len(leaves) ** (step / tilings) for step in range(tilings - 1, 0, -1)]
    coarser = [find_leaves(layout, leaf_counts > max(1, floor(step))) for step in steps]
    return [*coarser, leaves]


def refine_around_quantiles(
    splits: TreeEstimate,
    base_noise: Noise,
    shares: tuple[float, ...],
    total_variance: float,
    ratio: float,
    *,
    population: bool = False,
) -> tuple[int, ...]:
    """Return the first cells of a tiling that is fine where the requested quantiles may lie and as coarse as possible
    elsewhere.

    An interval is halved if a quantile may lie inside, within `Tuning.quantile_z` standard errors of the counts below
    its endpoints, and if it seems to hold more than `ratio` standard deviations of the noise of its count; within
    `Tuning.far_z` standard errors if it holds `Tuning.large_factor` times as much. Near the quantile of a population,
    which sampling moves as well, intervals may hold `Tuning.sampling_ratio` standard deviations of sampling.

    The error of the count below the middle of an interval is at most the errors below its endpoints, in proportion,
    plus the error of the interval's split; the count of all records has variance `total_variance`. So standard errors
    are computed from the root downwards.

    Formal guarantees: a pure function of released and other public numbers.

    Args:
        splits: Estimates from earlier rounds.
        base_noise: Noise of a count if the round had a single tiling.
        shares: Levels of the quantiles.
        total_variance: Variance of the estimated number of records; 0 if it is public.
        ratio: Records over the noise's standard deviation that an interval near a quantile may hold.
        population: Whether quantiles of a population are estimated as well.
    """
    layout, counts = splits.layout, splits.counts
    is_split = np.zeros(layout.nodes, dtype=np.bool_)
    threshold = ratio * sqrt(base_noise.variance)
    margin = TUNING.quantile_margin * sqrt(base_noise.variance)
    for share in shares:
        is_near = _may_hold_quantile(splits, share, total_variance, 0.0, margin, z=TUNING.quantile_z)
        far = _may_hold_quantile(splits, share, total_variance, 0.0, margin, z=TUNING.far_z)
        is_split |= (is_near & (counts > threshold)) | (far & (counts > TUNING.large_factor * threshold))
        if population:
            sampling = counts[ROOT] * share * (1 - share)
            is_near = _may_hold_quantile(splits, share, total_variance, sampling, margin, z=TUNING.quantile_z)
            is_split |= is_near & (counts > max(threshold, TUNING.sampling_ratio * sqrt(sampling)))
    return tuple(first_cells_of_nodes(layout, find_leaves(layout, is_split)).tolist())


def _may_hold_quantile(
    splits: TreeEstimate, share: float, total_variance: float, sampling: float, margin: float, *, z: float
) -> NDArray[np.bool_]:
    """Return a mask of the tree nodes in which the quantile at level `share` may lie, given the errors of the counts
    below their endpoints.

    Args:
        splits: Estimates from earlier rounds.
        share: Level of the quantile, 0 to 1.
        total_variance: Variance of the estimated number of records.
        sampling: Variance of the rank by sampling, in squared records; 0: these records.
        margin: Additional error of a count that is allowed for, in records.
        z: Number of standard errors.

    Returns:
        One bool per node, (nodes,).
    """
    layout, counts = splits.layout, splits.counts
    below, left_error, right_error = np.zeros((3, layout.nodes))  # records below a node; errors at its endpoints
    left_error[ROOT], right_error[ROOT] = share * sqrt(total_variance), (1 - share) * sqrt(total_variance)
    for parent, left, right, _ in layout.halvings:
        left_share = np.divide(
            counts[left], counts[parent], out=np.full_like(counts[left], 0.5), where=counts[parent] > 0
        )
        middle_error = np.sqrt(
            ((1 - left_share) * left_error[parent] + left_share * right_error[parent]) ** 2 + splits.variance[parent]
        )
        below[left], below[right] = below[parent], below[parent] + counts[left]
        left_error[left], right_error[left], left_error[right], right_error[right] = (
            left_error[parent],
            middle_error,
            middle_error,
            right_error[parent],
        )
    left_error, right_error = (z * np.sqrt(error**2 + sampling) + margin for error in (left_error, right_error))
    target_rank = share * counts[ROOT]
    return np.asarray((below - left_error <= target_rank) & (target_rank <= below + counts + right_error))


def is_worth_pilot_query(tilings: Tilings, last_tilings: Tilings, splits: TreeEstimate, family: Family) -> bool:
    """Return True if a second, refining round is worth its loss; otherwise the last round gets that loss.

    A second round is not worth it if it has many intervals, if records seem to lie evenly, so that nothing can be
    found, or if the last round will have many intervals anyway.

    Args:
        tilings: Tilings of the second round.
        last_tilings: Tilings of the last round if it came at once.
        splits: Estimates from earlier rounds.
        family: Family of the noise.
    """
    if splits.even_probability > TUNING.even_probability:
        return False
    is_second_round_small = len(tilings[-1]) <= TUNING.largest_second_round
    return is_second_round_small and len(last_tilings[-1]) <= FAMILY_TUNING[family].largest_last_round


def is_widespread(tilings: Tilings, splits: TreeEstimate, base_noise: Noise) -> bool:
    """Return True if a last round would count so many of the cells that counting all cells at once is as accurate.

    This is possible with Gaussian noise: the noise of a prefix of all cells hardly grows with their number. With
    Laplace noise it grows too fast. If records are far above the noise, atoms among them are worth more intervals.

    Args:
        tilings: Tilings of the last round.
        splits: Estimates from earlier rounds.
        base_noise: Noise of a count if the whole loss of the round were spent on a single tiling.
    """
    cells = splits.layout.cells
    is_far_above = splits.counts[ROOT] > TUNING.far_above * cells * sqrt(base_noise.variance)
    largest_number = cells * (TUNING.widespread_atom_share if is_far_above else TUNING.widespread_share)
    return base_noise.family is Family.GAUSSIAN and len(tilings[-1]) > largest_number


def is_uneven(tilings: Tilings, splits: TreeEstimate) -> bool:
    """Return True if many splits are uncertain: cells differ from their neighbours, so smoothing helps little.

    Args:
        tilings: The result of `refine_tilings`, not of `refine_last_tilings`, which also splits certain intervals with
            many records.
        splits: Estimates from earlier rounds.
    """
    has_many_intervals = len(tilings[-1]) > TUNING.uneven_share * splits.layout.cells
    return has_many_intervals and splits.even_probability <= TUNING.even_probability


def full_tree_tilings(layout: DyadicLayout) -> Tilings:
    """Return the tilings of a binary tree over all cells, without its root.

    Args:
        layout: Binary tree of dyadic intervals over the cells.

    Returns:
        For each tiling the first cells of its intervals, from coarse to fine.

    >>> full_tree_tilings(DyadicLayout.from_cells(8))
    (range(0, 8, 4), range(0, 8, 2), range(0, 8))
    """
    depths = range(min(layout.depth, 1), layout.depth + 1)
    return tuple(_starts_of_nodes(layout, layout.nodes_at_depth(depth)) for depth in depths)


def _split_variance(base_noise: Noise, tilings: int) -> float:
    """Return the noise variance of an estimated split (half the difference of an interval's halves) if one of `tilings`
    tilings counts both halves.

    Args:
        base_noise: Noise of a count that has the whole loss of the round.
        tilings: Number of tilings that share this loss.
    """
    return Noise(base_noise.family, base_noise.parameter * tilings).variance / 2


def _gaussian_prefix_variance(layout: Layout, tilings: Tilings) -> float:
    """Return the mean noise variance of a prefix of intervals under Gaussian noise and a public total, up to a constant
    factor.

    Args:
        layout: Binary tree over the cells.
        tilings: First cells of the intervals of each tiling of the cells, from coarse to fine.
    """
    noise, missing = (Noise(Family.GAUSSIAN, tiling_count * _LARGE) for tiling_count in (len(tilings), 1))
    distribution = IntervalSums(1, layout.cells, tuple(Tier(starts, noise) for starts in tilings), missing)
    return round_error(distribution.interval_distribution.mean_prefix_variance(True))


def _shared_prefix_variance(tilings: Tilings, cells: int, base_noise: Noise, total_is_public: bool) -> float:
    """Return the mean noise variance of a prefix count of cells, in squared records, if these tilings share the loss of
    one round.

    Args:
        tilings: First cells of the intervals of each tiling.
        cells: Number of cells.
        base_noise: Noise of a count with the whole loss.
        total_is_public: If True, the number of records is known.
    """
    noise = replace(base_noise, parameter=len(tilings) * base_noise.parameter)
    distribution = IntervalSums(1, cells, tuple(Tier(starts, noise) for starts in tilings), missing=base_noise)
    return distribution.mean_prefix_variance(total_is_public)


def _starts_of_nodes(layout: Layout, nodes: NDArray[np.int64]) -> Places:
    """Return the first cells of tree nodes that tile the cells; as a range if they are equally spaced.

    Args:
        layout: Binary tree over the cells.
        nodes: Nodes of the tree, from left to right, that cover each cell once.
    """
    starts = first_cells_of_nodes(layout, nodes)
    regular = range(0, layout.cells, int(starts[1]) if len(starts) > 1 else layout.cells)
    return regular if len(regular) == len(starts) and np.array_equal(starts, regular) else tuple(starts.tolist())


def _starts_of_tilings(layout: Layout, tilings: Iterable[NDArray[np.int64]]) -> Tilings:
    """Convert tilings from node numbers to the first cells of their intervals.

    Args:
        layout: Binary tree over the cells.
        tilings: Nodes of each tiling, from left to right.
    """
    return tuple(_starts_of_nodes(layout, nodes) for nodes in tilings)


def count_below(workload: CountsBelowWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Yield one query with the whole loss for the records of each class below requested edges; return their counts.

    Also counted are the records below both endpoints of the grid, and all records. The counts are returned as cells
    between the requested edges, one row per class.

    Args:
        workload: What to count: axes, and requested edges.
        setting: Ignored.
    """
    query = PrefixQuery(workload.axes, prefix_lengths=()).with_edges(workload.edges)
    release = yield Step(query, WHOLE_BUDGET)
    merged_grid = workload.axis.grid.merge_cells(workload.edges)
    return TableCounts((release,), (Evidence.from_release(release).as_cell_counts(query.rows),), merged_grid)


def search_brackets(workload: QuantileSearchWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Yield rounds of a binary search for quantiles on a grid with very many cells; return the counts below edges.

    A *bracket* is the range of cells in which a quantile, or an endpoint of its interval, may lie. Each round counts
    the records below the middle of each bracket, until each bracket is one cell: ``ceil(log2(slots))`` rounds. If units
    are single records, intervals for the population are searched as well.

    All rounds read one binary tree of noise, which has one noise per node and is paid for once: each count is the same
    sum of exact count and noises as if all counts had been released at once.

    Args:
        workload: The axis, the levels of the quantiles, and the level of their simultaneous intervals.
        setting: Adjacency, and its unit.
    """
    axis = workload.axis
    error_probability = 1 - (1 - workload.level) / len(workload.quantile_levels)
    is_independent = setting.adjacency.unit.records == 1
    first_release = yield _prefix_step(axis, {axis.slots, Bracket(0, axis.slots).next_threshold() or axis.slots})
    evidence = Evidence.from_release(first_release)
    while True:
        thresholds: set[int] = set()
        for share in workload.quantile_levels:
            quantile = PathQuantile.from_evidence(evidence, share, error_probability, independent=is_independent)
            thresholds.update(quantile.next_thresholds)
        if not thresholds:
            break

        # Both rounds read one noise tree, so their counts are joined as if one query had asked for all of them.
        new_evidence = Evidence.from_release((yield _prefix_step(axis, thresholds)))
        distribution = evidence.path_sums
        stored = len(evidence.path_sums.prefix_lengths)
        values = (
            *evidence.values[:stored],
            *new_evidence.values[: len(new_evidence.path_sums.prefix_lengths)],
            *evidence.values[stored:],
        )
        evidence = Evidence(
            replace(distribution, prefix_lengths=distribution.prefix_lengths + new_evidence.path_sums.prefix_lengths),
            values,
            evidence.total,
        )
    return TableCounts((first_release,), (evidence,), axis.grid)


def _prefix_step(axis: Axis, slots: Iterable[int]) -> Step:
    """Return one round of a search in a noise tree: a query that counts the records below these cells of an axis.

    The fraction is 1 in each round, but all rounds share one noise tree, which is charged once.

    Args:
        axis: Axis on a grid.
        slots: Numbers of cells: each prefix holds the cells before that number.
    """
    return Step(PrefixQuery((axis,), prefix_lengths=tuple(sorted(slots))), WHOLE_BUDGET)


# Count, refine, refine: rounds of counts of one column, on intervals chosen from the answers before.


def count_once(workload: PrefixWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Yield one query with the whole loss that counts every cell, or the rounds of the method that the workload names.

    The query is a `CountQuery` whose mechanism is chosen for accurate prefixes. A hint of the workload is passed on,
    except `Hint.SPREAD`, which concerns several rounds alone.

    Args:
        workload: Axes of the table, with the method and the hint, if they were chosen.
        setting: Loss and adjacency.
    """
    if workload.method is not None:
        return (yield from workload.method.ask_rounds(workload.axes, setting))
    hint = None if workload.hint is Hint.SPREAD else workload.hint
    return TableCounts.from_last_release(
        [(yield Step(CountQuery(workload.axes, CountUse.PREFIXES, hint), WHOLE_BUDGET))]
    )


def count_adaptively(workload: PrefixWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Yield one or several rounds that count one column; return the counts of all rounds.

    If the workload asks for that, a first search tests whether nearly all values are edges of cells (for example whole
    numbers). If they are, and there are several rows (categories), each cell is counted, as for declared values.

    Formal guarantees: the search spends a public fraction of the loss, and the later rounds the rest, for all answers,
    so together they lose the granted loss (adaptive composition: `lattices.spend_remainder`).

    Args:
        workload: Axes of the table, and whether a step of the values is searched for.
        setting: Loss and adjacency.
    """
    *rows, axis = workload.axes
    if not workload.searches_lattice or not isinstance(axis, Axis):
        return (yield from _count_cells(workload, setting, are_values=False))
    search = yield from lattices.search_edges(axis, setting, signal_to_noise(1.0, setting), only_pairs=not rows)
    rest = replace(setting, loss=setting.loss * (WHOLE_BUDGET - search.budget_fraction))
    # Rounds find single values of one row, which lose less in them than in counts of every cell.
    strategy = _count_cells(workload, rest, are_values=bool(rows) and search.lattice is not None)
    return (yield from lattices.spend_remainder(strategy, search))


def _count_cells(workload: PrefixWorkload, setting: Setting, *, are_values: bool) -> Strategy[TableCounts]:
    """Count records below the edges of a grid in adaptive rounds; zero or round numbers get cells of their own if the
    workload asks for that.

    If records are known to be few, zero stays with its neighbours: their coarse intervals would not find its cell.

    Formal guarantees: cells are split by a function of the public grid and of other public facts.

    Args:
        workload: The axes, and which edges will be read.
        setting: Loss and adjacency.
        are_values: Whether the cells are declared values.
    """
    *other_axes, axis = workload.axes
    total = setting.adjacency.public_record_count
    base_noise = setting.count_noise()
    has_separate_zero = workload.has_separate_zero and choose_first_thirds(total, base_noise) > 1
    if not (isinstance(axis, Axis) and (workload.has_separate_round_numbers or has_separate_zero)):
        return (yield from _count_in_rounds(workload, setting, are_values=are_values))
    grid = (split_at_round_numbers if workload.has_separate_round_numbers else split_at_zero)(axis.grid)
    axes = (*other_axes, replace(axis, grid=grid))
    counts = yield from _count_in_rounds(replace(workload, axes=axes), setting, are_values=are_values)
    return replace(counts, grid=grid)


def _count_in_rounds(workload: PrefixWorkload, setting: Setting, *, are_values: bool) -> Strategy[TableCounts]:
    """Count records below edges by the method that the workload names; without one, public facts choose: quantile
    search, refinement in rounds, or one count.

    Args:
        workload: The axes, and which edges will be read.
        setting: Loss and adjacency.
        are_values: Whether the cells hold declared values.
    """
    axis = workload.axes[0] if len(workload.axes) == 1 else None
    if workload.method is None and isinstance(axis, Axis) and is_worth_searching_quantiles(axis, workload, setting):
        return (yield from search_quantiles(axis, workload.quantile_levels, setting))
    if (
        workload.method is None
        and isinstance(axis, Axis)
        and is_worth_refining(axis, workload.hint, setting, are_values=are_values)
    ):
        return (yield from refine_in_rounds(axis, setting))
    return (yield from count_once(workload, setting))


def is_worth_searching_quantiles(axis: Axis, workload: PrefixWorkload, setting: Setting) -> bool:
    """Return True if a search for the few requested quantiles is more accurate than counting all cells, as public facts
    alone decide.

    False with a hint that changes the method, or with negligible noise; and, if the number of records is private, for
    several quantiles.

    Args:
        axis: Axis of the values, with its grid.
        workload: What is asked for: levels of quantiles, and a hint if there is one.
        setting: Privacy loss, and the number of records if it is public.
    """
    has_hint = workload.hint not in (None, Hint.SPREAD)
    if has_hint or setting.loss.rho == 0 or not TUNING.least_search_cells <= axis.slots <= MOST_STORED_EDGES:
        return False
    quantiles = len(workload.quantile_levels)
    total = setting.adjacency.public_record_count
    base_noise = setting.count_noise()
    if not 1 <= quantiles <= TUNING.most_quantiles or base_noise.variance < TUNING.negligible_variance:
        return False
    if total is None:
        return quantiles == 1
    return total >= TUNING.search_ratio * quantiles**3 * sqrt(base_noise.variance)


def search_quantiles(axis: Axis, shares: tuple[float, ...], setting: Setting) -> Strategy[TableCounts]:
    """Yield rounds that count a fixed partition, then intervals that are short only where the quantiles may lie.

    Args:
        axis: The column and its grid.
        shares: Share of the records below each quantile, between 0 and 1.
        setting: Loss and adjacency of the search.

    Formal guarantees: each round has the price of a `PartitionQuery` for all earlier answers; its intervals are
    functions of earlier answers and of public facts. There are three rounds or `Tuning.most_quantile_rounds`; each has
    `SEARCH_ROUND_FRACTION` of the loss except the last, which has the remainder. *Proof by induction from the last
    round*: for all earlier answers, the remaining rounds together lose the remaining loss, spent in one round, or in
    one round of `SEARCH_ROUND_FRACTION` followed by rounds that spend the rest. So the conversation is at each round
    the adaptive composition of two mechanisms of fixed losses, the second of which is one of several with the same
    price: pure losses and rho add up to the granted loss (Dwork and Roth 2014, section 3.5; Bun and Steinke 2016, Lemma
    2.3).
    """
    layout = build_layout(axis.slots)
    base_noise = setting.count_noise()
    remaining = WHOLE_BUDGET - SEARCH_ROUND_FRACTION
    total = setting.adjacency.public_record_count
    single_records = setting.adjacency.unit.records == 1

    # The first partition is fixed: nothing is known of the records yet.
    pilot_noise = Noise(base_noise.family, base_noise.parameter / SEARCH_ROUND_FRACTION)
    first_tiling = tiling_at_depth(layout, choose_first_depth(layout, total, pilot_noise))
    releases = [(yield Step(PartitionQuery((axis,), first_tiling), SEARCH_ROUND_FRACTION))]

    while True:
        joint = JointEstimate.from_releases(releases)
        round_number = len(releases)
        splits = joint.tree_estimate
        total_variance = 0.0 if total is not None else 1 / least_squares_total(joint.measurements)[1]

        # The last round takes all that remains, as soon as its intervals around the quantiles are few.
        last_noise = Noise(base_noise.family, base_noise.parameter / remaining)
        starts = refine_around_quantiles(
            splits, last_noise, shares, total_variance, TUNING.last_ratio, population=single_records
        )
        is_fine = round_number > 1 and len(starts) <= TUNING.few_intervals * len(shares)
        if round_number == TUNING.most_quantile_rounds - 1 or is_fine:
            query = PartitionQuery((axis,), (starts,), round_number=round_number)
            releases.append((yield Step(query, remaining)))
            return _combine_rounds(tuple(releases))

        # Another pilot query has as much noise as the first, so its intervals are longer.
        starts = refine_around_quantiles(splits, pilot_noise, shares, total_variance, TUNING.pilot_ratio)
        query = PartitionQuery((axis,), (starts,), round_number=round_number)
        releases.append((yield Step(query, SEARCH_ROUND_FRACTION)))
        remaining -= SEARCH_ROUND_FRACTION


def is_worth_refining(axis: Axis, hint: Hint | None, setting: Setting, *, are_values: bool = False) -> bool:
    """Return True if three adaptive rounds should refine the cells, as public facts alone decide.

    They are not used with a hint that records have atoms (single values with many records). Otherwise they are used
    with the hint that records are peaked, or if there are many cells, few records for them as far as that is public,
    and enough noise for a round to be worth its price; for declared values, or if cells hold a value each
    (`are_values`), only if they are too many to count each. A hint that records are spread has no effect: the first
    round shows it, and a wrong hint would increase errors many times.

    Args:
        axis: Axis of the values.
        hint: Hint of the asker; None: none.
        setting: Privacy loss, and the number of records if it is public.
        are_values: If True, each cell holds a single value.
    """
    if setting.loss.rho == 0 or axis.slots > MOST_STORED_EDGES:
        return False
    if hint in (Hint.PEAKED, Hint.ATOMS):
        return hint is Hint.PEAKED
    facts = axis.slots, setting.adjacency.public_record_count, setting.count_noise()
    are_values = are_values or axis.grid.values is not None
    if are_values and are_worth_counting(*facts):
        return False
    return has_many_cells(axis, *facts[1:]) and not is_dense(*facts) and not is_nearly_exact(*facts)


def has_many_cells(axis: Axis, total: int | None, noise: Noise) -> bool:
    """Return True if several rounds are more accurate than one on the cells of `axis`, as public facts alone decide.

    With a public number of records that is a matter of cells over `balanced_intervals`, not of cells alone: 64 cells
    for 1,000 records at epsilon .1 are many. A private number gives no information; and each declared value is worth a
    count.

    Args:
        axis: The cells.
        total: The public number of records; None if it is private.
        noise: Noise of a count if the whole loss were spent on a single tiling.
    """
    if total is None or axis.grid.values is not None:
        return axis.slots >= TUNING.fewest_cells
    return axis.slots >= min(float(TUNING.fewest_cells), TUNING.many_cells * balanced_intervals(total, noise))


def are_worth_counting(values: int, total: int | None, noise: Noise) -> bool:
    """Return True if each declared value should be counted separately in one round, as public facts alone decide.

    Records have declared values, and the count of several neighbouring values does not show which: means over pairs,
    and quantiles, are then known only up to the distance of these values. So each value is counted from
    `Tuning.value_ratio` on, or, if the number of records is private, up to `Tuning.few_values` values.

    Args:
        values: Number of declared values.
        total: Public number of records; None: it is private.
        noise: Noise of a count with the whole loss.
    """
    if total is None:
        return values <= TUNING.few_values
    return total >= TUNING.value_ratio * values * sqrt(noise.variance)


# Adaptive refinement: each round's public partition is a function of earlier releases. Nothing here is secret or
# random.
#
# The usual conversation has three rounds, at 15, 10 and 75 % of the loss, or at 10, 10 and 80
# (`choose_budget_fractions`). The first round has a fixed partition (`first_tilings`). If its counts show that most
# records lie in single cells, not all of them clear (`has_significant_atoms`), the second searches for them. If the
# records are known to be few for the noise, it is coarse, gets 20 %, and is followed by the last round, after one of 15
# % if intervals are denser than their neighbours (`divide_outstanding_intervals`). The later rounds split intervals
# whose halves are not known well enough (`refine_tilings`). If the second round would need many intervals, data are
# rough nearly everywhere: where single cells seem to hold most records (`has_atoms`), it searches for them in one
# tiling (`find_atom_tilings`). Otherwise, or if the first round shows no unevenness, the remaining loss is spent at
# once. If cells hold many records each (`is_dense`), or the noise is negligible (`is_nearly_exact`), one round over all
# cells is more accurate. Under zero-concentrated privacy the first round gets 10 %, unless it is coarse, and 5 % if
# cells are known to hold many records. If the first round shows that the last one would count much of the grid
# (`is_widespread`), all cells are counted instead: in tilings, whose splits can be smoothed, or by a square root of
# prefix sums if there is little to smooth (`is_uneven`).
#
# The last round (`refine_last_tilings`) also splits intervals with many records, because a band is as wide within an
# interval as all records of the interval. Whole years on a fine grid are full cells among empty ones. An estimate knows
# this after the first round; a band knows only what the last round counts. So the band depends on the loss of the last
# round: earlier rounds widen it by their price and narrow it by the intervals that they save. With Laplace noise
# several last rounds are compared by the error that the posterior expects of each (`expect_widths`).


def refine_in_rounds(axis: Axis, setting: Setting) -> Strategy[TableCounts]:
    """Count a fixed partition, then intervals with unclear splits, and then once more.

    Two rounds are enough if records seem to lie evenly, or are known to be few and lie in no interval that is denser
    than its neighbours, or if nearly all splits are unclear or the last round has many intervals, and records do not
    seem to lie in single cells; if they surely do, the second round searches for these cells. Under zero-concentrated
    privacy a last round with many intervals counts all cells.

    Formal guarantees: each round has the price of a `PartitionQuery`, or of a `CountQuery` of all cells, for all
    earlier answers: its intervals are functions of earlier answers and of public facts. The budget fractions are public
    before any count. For every first answer the later rounds lose the remainder: in one round, or in a round of a fixed
    fraction of the whole loss and a round of the rest. So the conversation is the adaptive composition
    of two mechanisms of fixed losses, the second of which is one of several with the same price: pure losses and rho
    add up to the granted loss (Dwork and Roth 2014, section 3.5; Bun and Steinke 2016, Lemma 2.3).

    Args:
        axis: The column with its grid.
        setting: Loss and adjacency.

    Returns:
        The releases of all rounds and the counts, joined by least squares.
    """
    layout = build_layout(axis.slots)
    base_noise = setting.count_noise()
    total = setting.adjacency.public_record_count
    first_fraction, pilot_fraction, last_fraction = choose_budget_fractions(axis.slots, total, base_noise)
    thirds = choose_first_thirds(total, base_noise)
    releases = [(yield Step(PartitionQuery((axis,), first_tilings(layout, thirds)), first_fraction))]
    joint = JointEstimate.from_releases(releases)

    # Under zero-concentrated privacy, a last round with many intervals counts all cells at once.
    final_tilings = _choose_next_tilings(joint, (pilot_fraction + last_fraction) / first_fraction, refine_last_tilings)
    if is_widespread(final_tilings, joint.tree_estimate, base_noise):
        all_cells = _build_all_cells_query(axis, joint, (pilot_fraction + last_fraction) / first_fraction)
        return _combine_rounds((*releases, (yield Step(all_cells, pilot_fraction + last_fraction))))

    tilings = _choose_next_tilings(joint, pilot_fraction / first_fraction, refine_tilings)
    makes_pilot_query = thirds > 1 and is_worth_pilot_query(
        tilings, final_tilings, joint.tree_estimate, joint.noise.family
    )

    # Records in single cells would be missed by halving: a search for these cells comes first.
    is_rough = joint.tree_estimate.even_probability <= TUNING.even_probability
    zero_slot = find_zero_slot(axis)
    are_atoms_significant = thirds > 1 and has_significant_atoms(joint, zero_slot)
    may_have_atoms = are_atoms_significant or (not makes_pilot_query and thirds > 1 and is_rough)
    if may_have_atoms and has_atoms(joint.tree_estimate, zero_slot):
        makes_pilot_query = True
        tilings = _choose_next_tilings(joint, pilot_fraction / first_fraction, find_atom_tilings)
    elif are_atoms_significant:  # together alone: no interval is known to be clear
        makes_pilot_query = True
        tilings = (range(axis.slots),)
    if thirds == 1:
        pilot_noise = Noise(base_noise.family, base_noise.parameter / pilot_fraction)
        outstanding = divide_outstanding_intervals(joint.tree_estimate, pilot_noise, first_tilings(layout, 1)[0])
        makes_pilot_query = outstanding is not None
        tilings = outstanding or tilings
    if makes_pilot_query:
        releases.append((yield Step(PartitionQuery((axis,), tilings, round_number=1), pilot_fraction)))
        final_tilings = _choose_next_tilings(
            JointEstimate.from_releases(releases), last_fraction / first_fraction, refine_last_tilings
        )
    else:
        last_fraction += pilot_fraction
    releases.append((yield Step(PartitionQuery((axis,), final_tilings, round_number=2), last_fraction)))
    return _combine_rounds(tuple(releases))


def _combine_rounds(releases: tuple[Release, ...]) -> TableCounts:
    """Combine the counts of all rounds by least squares; a last tree over all cells with other intervals than the
    earlier rounds is used alone.

    Args:
        releases: Releases of all rounds, in order, at least one.
    """
    evidence = tuple(Evidence.from_release(release) for release in releases)
    if releases[-1].plan.query.uses_prefixes and not evidence[-1].sums.is_convolved:
        return TableCounts.from_last_release(releases)
    return TableCounts(releases, evidence)


def _build_all_cells_query(axis: Axis, joint: JointEstimate, multiple: Fraction) -> CountQuery | PartitionQuery:
    """Return the query of a last round that counts every cell, with `multiple` times the loss of the first round.

    If cells are uneven (`is_uneven`) it uses the square-root strategy, which has less noise; else a tree, whose counts
    can be smoothed.

    Args:
        axis: Axis of the cells.
        joint: Estimate from the rounds before.
        multiple: Loss of the query over that of the first round.
    """
    if is_uneven(_choose_next_tilings(joint, multiple, refine_tilings), joint.tree_estimate):
        return CountQuery((axis,), CountUse.UNEVEN)
    return PartitionQuery((axis,), full_tree_tilings(build_layout(axis.slots)), round_number=1)


def _choose_next_tilings(
    joint: JointEstimate, multiple: Fraction, refine: Callable[[TreeEstimate, Noise], Tilings]
) -> Tilings:
    """Return the tilings that the next round counts, with `multiple` times the loss of the first round; all cells if
    nothing is divided.

    Args:
        joint: Estimate from the rounds so far.
        multiple: Ratio of the losses, of a round to the first one.
        refine: Function that divides the tree, given its estimate and the noise of a count with the whole loss of the
            round.

    Returns:
        First cells of the intervals of each tiling of the cells, from coarse to fine.
    """
    levels = joint.rounds[0].interval_sums.levels
    base_noise = Noise(joint.noise.family, joint.noise.parameter / len(levels) / multiple)
    tilings = refine(joint.tree_estimate, base_noise)
    return tilings if len(tilings[-1]) > 1 else tuple(level.starts for level in levels)


# The constants here and in `empirical_bayes` were chosen on normal, peaked and Poisson data and on seven real
# histograms, over grids of 1,024 to 32,768 cells and epsilon from 0.1 to 2; they are the same for all data sets.
# `pilot_ratios`, `coarse_fraction`, `cautious_tolerances`, `short_fraction`, `uneven_share`, `dense_exact`,
# `atom_tolerance` and `atom_share` were chosen on one half of the shapes and histograms of `benchmarks/regimes.py`
# ("choose") and judged on the other half, except that integers of the other half helped to choose `atom_tolerance`, and
# its tables `atom_share`. `short_fraction` and `uneven_share` were chosen at 2 and 20 million records, `dense_exact` at
# epsilon 2 to 10.


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer refinement under noise of both families. Split variances hold for a round of 3 tilings."""

    largest_second_round: int = 96
    """Intervals. A second round with more intervals than this is not worth its price."""
    widespread_share: float = 0.4
    """Share of the grid's cells. If the last round, with Gaussian noise, would have more intervals than this share,
    every cell is counted by itself instead."""
    widespread_atom_share: float = 0.5
    """Share of the cells that replaces `widespread_share` if cells hold `far_above` times the base noise's standard
    deviation.
    """
    far_above: float = 12.0
    """Ratio of records per cell to the base noise's standard deviation above which `widespread_atom_share` replaces
    `widespread_share`."""
    uneven_share: float = 0.35
    """Share of the cells. With unclear splits in more intervals than this share, smoothing would improve little."""
    tolerances: tuple[float, ...] = (4.0, 4.0, 1.0, 1.0)
    """Ratios, one per number of tilings of a round. Posterior variance that a split may keep, over the noise variance
    of a split.
    """
    cautious_tolerances: tuple[float, ...] = (8.0, 6.0, 1.0, 1.0)
    """Ratios, one per number of tilings. Replace `tolerances` with few records for the noise: prefixes then have much
    noise anyway.
    """
    even_tolerances: tuple[float, ...] = (8.0, 5.0, 1.0, 1.0)
    """Ratios, one per number of tilings. Replace `tolerances` if records seem to lie evenly: unsplit intervals are then
    straight.
    """
    even_ratio: float = 1.7
    """Factor on `FamilyTuning.split_ratios` if records seem to lie evenly. Slow trends are then read off fewer counts
    with less noise: errors are 0.55 to 0.9 times the errors of factor 1 on the trends of
    `benchmarks/accuracy/public_cells.py` and on even records, and bands 1 to 1.24 times as wide.
    """
    atom_tolerance: float = 0.3
    """Tolerance in a search for atoms with one tiling, in which more splits add no noise."""
    atom_share: float = 0.5
    """Ratio. Squared difference of two halves over its maximum, above which single cells hold most records."""
    atom_z: float = 2.0
    """Standard errors by which the sum of squared differences of halves must exceed the noise to show atoms. Of 2 and
    3, chosen on whole ages, 10,000 records on 256 cells: largest errors were 0.85 times those of 3, and the same on
    three other shapes.
    """
    clear_atom_z: float = 200.0
    """Standard errors of the sum of squared differences of halves, from which full cells are clear by themselves, and
    no search is made for them. Years of school of 61,395 people, epsilon 1, lost 1.5 times by a search; ten to sixteen
    values of 3,000 and 10,000 records, at 2 to 140 standard errors, had largest errors of 0.44 to 0.97 times those
    without a search, and root mean squares of 0.71 to 1.16 times."""
    outstanding_margin: float = 1.25
    """Factor on the largest noise of pieces, which the excess of an interval must exceed: see
    `divide_outstanding_intervals`. Of 1 and 1.25, chosen on the atoms of `benchmarks/accuracy/public_cells.py`.
    """
    least_pieces: float = 8.0
    """Pieces of an interval below which a second round for its sake is not worth the price."""
    coarse_factors: tuple[float, ...] = (1.0, 2.0, 4.0)
    """Factors on `FamilyTuning.split_ratios`, and on tolerances in intervals of at least `typical_width`: the
    candidates for a last round with Laplace noise, from narrow intervals to wide ones. In narrow intervals tolerances
    stay: otherwise a peak of four cells had ten times the largest error in one of 16 releases."""
    least_gain: float = 0.05
    """Share of the expected error by which wider intervals must reduce it. Noise is known, but splits are expected from
    a prior: whole ages on 256 cells lost a fifth for an expected gain of 4 %."""
    max_band_width_ratio: float = 1.2
    """Ratio of the expected band of wider intervals to the narrowest of all candidates, up to which they are chosen: in
    the mean, and where it is widest, which grew from 2.1 to 3.8 points on 3,000 long-tailed records without a limit.
    Errors at 1.15 and 1.25 were the same; bands were up to 1.1 and 1.2 times as wide as those of the first
    candidate."""
    band_z: float = 2.7
    """Standard deviations of the noisiest split in half the width of a band, as that of a Brownian bridge has at 95 %:
    its largest deviation is 1.36, and its standard deviation in the middle 0.5."""
    typical_width: float = 0.01
    """Share of the cells to which `FamilyTuning.split_ratios` apply."""
    least_scale: float = 0.4
    """Factor. Lower limit of sqrt(`typical_width` / width), by which `FamilyTuning.split_ratios` are multiplied; wide
    intervals reach it.
    """
    largest_scale: float = 2.2
    """Factor. Upper limit of the same square root; narrow intervals reach it."""
    enough_ratio: float = 250
    """Signal-to-noise ratio (all records over the base noise's standard deviation) above which `tolerances` apply."""
    even_probability: float = 0.5
    """Probability. Posterior probability of even records above which they are taken to be even."""
    coarsening: float = 1.6
    """Factor on the leaves that an interval of a coarser tiling may hold, beside tilings whose numbers of intervals
    grow by a constant ratio; larger means fewer and wider coarse intervals."""
    gaussian_coarsenings: tuple[float, ...] = (1.0, 1.3, 1.6, 2.0)
    """Factors. The candidates for `coarsening` in a last round with Gaussian noise."""
    most_tilings: int = 5
    """Tilings. Largest number of tilings in a round."""
    quantile_z: float = 2.0
    """Standard errors of the counts within which a quantile may lie, in a search for quantiles. This field,
    `quantile_margin`, `sampling_ratio`, `last_ratio` and `pilot_ratio` were chosen on a log-normal distribution and on
    two normal ones, 3,000 records at epsilon 1.
    """
    quantile_margin: float = 4.0
    """Standard deviations of the noise of a round's count that are added to `quantile_z` standard errors."""
    far_z: float = 4.0
    """Standard errors from a quantile within which an interval of `large_factor` times the allowed records is split,
    instead of `quantile_z`; larger values split more. Beside a quantile, an unsplit interval with nearly all records
    would be the whole interval estimate. Tried on beta(2, 5) alone, 60 releases of
    3,000 records whose number is private: mean widths 0.61 times, errors 0.93 times.
    """
    large_factor: float = 8.0
    """Factor. An interval with this many times the allowed records is split within `far_z` instead of `quantile_z`
    standard errors.
    """
    sampling_ratio: float = 0.5
    """Ratio. Records in an interval near a population's quantile of level p, in units of ``sqrt(n p (1 - p))``, its
    sampling standard deviation; an interval with more is split."""
    private_intervals: float = 64.0
    """Intervals of a first round if the number of records is private: see `choose_first_depth`."""
    dense: float = 5.5
    """Ratio. Records per cell over a split's variance, above which all cells are counted."""
    dense_exact: float = 2.0
    """Ratio. Replaces `dense` if the variance of a count is below `negligible_variance`: then fewer records per cell
    suffice to count all cells."""
    negligible_variance: float = 0.25
    """Squared records. Variance of a count in a single tiling at which four in five counts are exact."""
    fairly_dense: float = 1.0
    """Ratio. Records per cell over a split's variance, above which a short first round shows them."""
    few_intervals: int = 24
    """Intervals per quantile. If at most this many remain to be counted, the third round of a search for quantiles is
    the last; otherwise another follows."""
    last_ratio: float = 3.0
    """Ratio. Records over the noise of a count that an interval near a quantile may hold in the last round."""
    pilot_ratio: float = 2.0
    """Ratio. Records in an interval over the noise of its count, as `last_ratio`, but for rounds before the last;
    smaller means finer intervals."""
    most_quantiles: int = 3
    """Quantiles. Largest number in a question for which a search is considered: the records that it needs grow with the
    cube of the number. A question of more is answered by the general strategy."""
    least_search_cells: int = 16
    """Cells from which quantiles are searched for."""
    search_ratio: float = 300.0
    """Records over the standard deviation of one count and the cube of the number of quantiles, from which a search is
    made if the number of records is public. For one quantile of 300 records at epsilon 1 under replace-one a search had
    up to a third more error, of 1,000 records a quarter less. The median of three quartiles had a third more error at
    3,000 records, and all three half the error at 30,000.
    """
    many_cells: float = 1.5
    """Cells over `balanced_intervals` from which several rounds are more accurate than one. Chosen on eleven shapes of
    `benchmarks/accuracy/public_cells.py` on 16 to 64 cells, 300 to 3,000 records: one round has up to 1.5 times less
    error below 1, and 1.2 to 2 times more above 2.
    """
    few_values: int = 256
    """Values. Number of declared values up to which each is counted if the number of records is private; not
    measured.
    """
    value_ratio: float = 2.5
    """Records per declared value over the standard deviation of a count, from which each value is counted. Chosen on
    integers of three distributions, smooth, heaped and zero-inflated (121 and 1,001 values, epsilon 1, replace-one, 12
    releases each), and not judged on others: bands were 15 to 46 % narrower than with three rounds; the curve had up to
    20 % more error on smooth and zero-inflated data, up to a third less on heaped data.
    """
    most_quantile_rounds: int = 4
    """Rounds. Largest number of rounds of a search for quantiles."""
    fewest_cells: int = 100
    """Cells. From this many on, several rounds are made for any number of records; with a public number of records
    fewer may suffice (`has_many_cells`).
    """


TUNING = Tuning()
"""The values that all rounds use."""


@dataclass(frozen=True, slots=True)
class FamilyTuning:
    """Numbers that depend on the noise. The base noise is the noise of a count if a round had one tiling."""

    pilot_ratios: tuple[float, float]
    """Records over the base noise's standard deviation from which a first round has a second tiling, and a third. With
    fewer records narrow intervals show nothing but noise.
    """
    largest_last_round: int
    """Intervals of a last round above which no second round is made before."""
    largest_tilings: tuple[int, ...]
    """Largest numbers of intervals that are counted in 1, 2, ... tilings."""
    split_ratios: tuple[tuple[float, ...], ...]
    """For rounds of 1, 2, ... tilings: records that an interval of the last round may hold, in standard deviations of a
    count, tried in order until there are not too many intervals. The limit applies to an interval with `typical_width`
    of the cells; it shrinks with the square root of the width, within `least_scale` and `largest_scale`. Gaussian noise
    grows with the square root of the number of tilings only, so one more tiling of intervals with fewer records is then
    preferred.
    """


FAMILY_TUNING = {
    Family.LAPLACE: FamilyTuning(
        pilot_ratios=(150.0, 150.0),
        largest_last_round=200,
        largest_tilings=(96, 1200),
        split_ratios=((30.0,), (12.0, 20.0, 40.0), (12.0, 20.0, 40.0)),
    ),
    Family.GAUSSIAN: FamilyTuning(
        pilot_ratios=(50.0, 300.0),
        largest_last_round=320,
        largest_tilings=(16, 130, 1000),
        split_ratios=((8.0,), (5.0,), (3.0,), (3.0,)),
    ),
}
"""Tuning by the family of the noise."""
