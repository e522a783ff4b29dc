"""Private range estimation (automatic bounds): find where the values of a column lie, then count on a fitting grid.

No range of the column is public. In: the name of a column, the privacy loss, and the adjacency. Out: noisy counts of
all rounds, and the grid that was found (`TableCounts`). `search_and_count` serves distribution functions and quantiles;
`search_range` only finds cells or clipping bounds for a later question.

A *round* is one query with a public fraction of the loss. A *pilot query* is a round that only serves to choose the
next one. The first round counts intervals over all doubles; later rounds count finer ones where records seem to be.
Thresholds with ``_z`` or ``_ratio`` in their name are signal-to-noise ratios: records divided by the standard deviation
of the noise of a count.

`search_and_count` has three to eight rounds, each of which counts intervals of one column:

1. *First pilot query*: decades of both signs, coarser intervals far from 1, and zero (`DECADES`). It is repeated with a
  larger budget fraction while noise hides all records.
2. *Second pilot query*, and a third if an interval still seems to hold many records. Such intervals are cut at round
  numbers, which have separate cells, so that heaps on them are visible. If values seem to be multiples of a step and
  not all multiples nearby were counted, one more pilot query counts these.
3. *Final count*, with all remaining loss, on a grid that is fine where records seem to lie, as in the later rounds of
  `prefixes.refine_in_rounds`, whose first round the pilot queries replace. If values are multiples of a step, edges are
  multiples, too. All rounds are combined, so that no pilot query is wasted. Neighbouring cells that seem empty are
  counted as one interval, because each interval adds noise to all prefixes behind it.

Numbers that steer the search stand in `Tuning`, at the end. They were chosen on the distributions of
`benchmarks/unknown.py` under add-remove, not on the data on which that benchmark measures coverage of bands.

No record is clipped: coarse cells beyond the fine ones reach up to `LARGEST_EDGE`, and the two outermost cells count
all values beyond, including infinities.

Formal guarantees: each round is a `PartitionQuery` on one or several tilings, that is divisions of the axis into
disjoint intervals. A record lies in one interval of each tiling, so the round loses its fraction for any intervals.
Intervals, grids, the number of rounds and their budget fractions are functions of
public facts and of earlier answers. *Proof that all rounds together lose the granted loss, by induction from the last
round*: for all earlier answers, the remaining loss is spent in one round, or in a round whose fraction is fixed before
it followed by rounds that spend the rest. So at each round the conversation is the adaptive composition of two
mechanisms, the second of which is one of several that all lose the remainder: pure losses and rho add up to the granted
loss (Dwork and Roth 2014, section 3.5; Bun and Steinke 2016, Lemma 2.3).

*Lower bound for few records* (packing argument). Take b possible values of the median, and for each a table: 2 r
records at this value, half of the others below all values and half above. A released median whose error in rank is
below r must be the value itself, and two such tables differ in 4 r additions and removals. If it were so exact with
probability 1/2 on each of the b tables, the probabilities of b different answers on one table, each at least exp(-4 r
epsilon) / 2, would add up to more than 1 unless r is at least ln(b / 2) / (4 epsilon). At epsilon 0.1 some table of
4,861 numbers of two digits has an error of 19 records under any method, and some table over all 2^64 doubles one of
109. The best grid in hindsight has spent nothing on this.

>>> DECADES[20:26], len(DECADES) - 1  # endpoints of the first pilot query, and intervals
((-1e-06, -1e-09, -1e-300, 0.0, 1e-300, 1e-09), 46)
>>> round_numbers_between(1.0, 2.0, cells=4)  # where an interval is cut in the next query
[1.2, 1.4, 1.6, 1.8]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, inf, log, log10, nextafter, sqrt

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, multiples_of
from ..conversation import (
    WHOLE_BUDGET,
    AutomaticGridWorkload,
    AutomaticRangeWorkload,
    Evidence,
    Release,
    Setting,
    Step,
    Strategy,
    TableCounts,
    UnsupportedQuery,
)
from ..data import Grid, Outside, TypedAxis
from ..distributions import LEAST_VARIANCE, Tier
from ..estimation import (
    JointEstimate,
    Layout,
    TreeEstimate,
    build_nested_layout,
    estimate_tree,
    find_leaves,
    first_cells_of_nodes,
    reestimate_tree,
    reweighted_total,
)
from ..queries import PartitionQuery
from .prefixes import TUNING as REFINEMENT
from .prefixes import Tilings, find_atom_tilings, has_atoms, refine_last_tilings

LARGEST_EDGE = 1e300
"""Units of the column. The last edge, a power of ten below the largest double (1.8e308). Values beyond are counted in
the outermost cells, with the infinities."""
MAGNITUDES = (
    1e-300, 1e-9, 1e-6, *(float(f"1e{power}") for power in range(-3, 13)), 1e15, 1e18, 1e21, LARGEST_EDGE,
)  # fmt: skip
"""Units of the column. Positive edges of the first pilot query: decades from 0.001 to 10**12, where most columns lie,
and coarser intervals beyond.
"""
DECADES = (*(-edge for edge in reversed(MAGNITUDES)), 0.0, *MAGNITUDES)
"""Units of the column. All edges of the first pilot query: `MAGNITUDES`, their negatives, and 0."""
PILOT_FRACTIONS = Fraction(1, 50), Fraction(3, 100), Fraction(1, 10), Fraction(1, 10)
"""Fractions of the loss of the first pilot query and of up to three repetitions. A repetition is made only if no count
so far is significant. Small fractions come first, because with many records 2 % of the loss is enough.
"""
FEWEST_ROUNDS = 3
"""Rounds. Least number of rounds of `search_and_count`: two pilot queries and the final count."""
ROUND_DIGITS = (1, 2, 5)
"""Leading digits of round numbers, as on axes of charts: people round values to 1, 2 or 5 times a power of ten."""
INTEGER_TOLERANCE = 1e-6
"""Absolute distance, in steps or in units of a decimal logarithm. Numbers closer than this are equal, or integers, when
cells are chosen: far above rounding errors of doubles, far below a cell.
"""
LEAST_CELL_WIDTH = 1e-290
"""Units of the column. Least width of cells: below it, powers of ten are not exact enough: doubles below 2.2e-308 have
fewer digits."""


class SingletonRule(Enum):
    """Rule that selects the numbers that get separate cells (singletons), because values may be heaped on them."""

    ZERO = auto()
    """Zero alone."""
    TWO_DIGITS = auto()
    """Zero, and edges of at most two significant digits."""
    ROUNDER = auto()
    """Numbers of two digits, and edges that are multiples of a power of ten at least as large as the cells beside."""
    EDGES = auto()
    """All edges."""


@dataclass(frozen=True, eq=False)
class PilotCounts:
    """Noisy counts of all rounds of a range search so far, on common cells.

    Attributes:
        edges: The edges of the grid, in units of the column, increasing.
        rounds: Counts of the cells of this grid, one entry per round.
    """

    edges: tuple[float, ...]
    rounds: tuple[Evidence, ...] = ()

    @property
    def grid(self) -> Grid:
        """The grid of `edges`, with values outside counted in two separate cells."""
        return Grid.from_edges(self.edges, outside=Outside.APART)

    def move_to_edges(self, edges: tuple[float, ...]) -> PilotCounts:
        """Express all pilot counts on finer cells; `edges` must contain the present edges.

        Args:
            edges: Edges of the finer cells, increasing, in units of the column.
        """
        starts = np.append(0, np.searchsorted(np.array(edges), np.array(self.edges)) + 1)

        def refine_evidence(evidence: Evidence) -> Evidence:
            """Express the counts of one round on the finer cells: the same intervals, values and noise, with other cell
            numbers.

            Args:
                evidence: Counts of one round on the coarser cells.
            """
            (tier,) = evidence.interval_sums.levels
            moved_tier = Tier(tuple(starts[tier.first_cells].tolist()), tier.noise)
            return replace(
                evidence, distribution=replace(evidence.interval_sums, cells=len(edges) + 1, levels=(moved_tier,))
            )

        return PilotCounts(edges, tuple(map(refine_evidence, self.rounds)))

    @property
    def counts(self) -> FloatArray:
        """Unbiased noisy counts of the cells of the finest pilot query, averaged over its rounds, without the two
        outermost cells.
        """
        return _average_rounds(self._finest_rounds)[0]

    @property
    def noise(self) -> float:
        """Noise standard deviation of each entry of `counts`, in records."""
        return _average_rounds(self._finest_rounds)[1]

    @property
    def records(self) -> float:
        """Estimated number of records: the sum of counts over runs of neighbouring decades that are significant
        together.
        """
        totals, noises, _ = self.decade_counts
        return max(sum_significant_stretches(totals, noises**2), self.noise)

    @property
    def decade_counts(self) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
        """Noisy counts by decade (interval of the first pilot query) from all rounds, their standard errors, and the
        decade of each cell; (decades,), (decades,), (cells,).
        """
        decade = np.searchsorted(DECADES, np.array(self.edges[:-1]), side="right") - 1
        decade_of_slot = np.concatenate([[-1], decade, [-1]])
        totals, weights = np.zeros((2, len(DECADES) - 1))
        for evidence in self.rounds:
            (tier,) = evidence.interval_sums.levels
            decades = decade_of_slot[tier.first_cells]
            is_inside = decades >= 0
            values = np.array(evidence.values[: len(decades)], dtype=np.float64)[is_inside]
            cells_per_decade = np.bincount(decades[is_inside], minlength=len(totals))
            if not cells_per_decade.all():
                continue  # a search for atoms, which joins decades
            weight = 1 / (max(tier.noise.variance, LEAST_VARIANCE) * cells_per_decade)
            totals += weight * np.bincount(decades[is_inside], values, minlength=len(totals))
            weights += weight
        return totals / weights, 1 / np.sqrt(weights), decade

    @property
    def occupied_decades(self) -> NDArray[np.bool_]:
        """Mask of the decades (intervals of the first pilot query) that seem to hold records: significant counts, and
        likely ones next to them.
        """
        totals, noises, _ = self.decade_counts
        return extend_to_runs(totals > TUNING.occupied_z * noises, totals > TUNING.beside_z * noises)

    @property
    def wide_cells(self) -> NDArray[np.bool_]:
        """Mask of the intervals, (cells,), that contain more than one double; the others hold a single number."""
        edges = np.array(self.edges)
        return np.asarray(edges[1:] != np.nextafter(edges[:-1], inf))

    @property
    def has_heaps(self) -> bool:
        """Whether single numbers with separate cells, other than zero, hold significantly many records (heaps).

        Under a density, single numbers hold no records.
        """
        edges = np.array(self.edges)
        singletons = ~self.wide_cells & (edges[:-1] != 0)
        singleton_records = float(self.counts[singletons].sum())
        threshold = max(TUNING.heap_z * self.noise * sqrt(singletons.sum()), TUNING.heap_share * self.records)
        return singleton_records > threshold

    @property
    def _finest_rounds(self) -> list[Evidence]:
        """The rounds of the last pilot query, which has the largest number of intervals."""
        sizes = [len(evidence.interval_sums.levels[0].starts) for evidence in self.rounds]
        return [evidence for evidence, size in zip(self.rounds, sizes, strict=True) if size == max(sizes)]

    def estimate_significant_counts(self, total: int | None) -> FloatArray:
        """Return empirical Bayes estimates of the count of each cell from all rounds, (cells,); 0 where not
        significantly above noise.

        Args:
            total: The public number of records; None if it is private.
        """
        splits = self.estimate_tree(total)
        return splits.keep_significant_counts(TUNING.discount_z)[splits.layout.cell_nodes][1:-1]

    def estimate_likely_counts(self, total: int | None) -> FloatArray:
        """Return estimated counts of the finest pilot query's intervals, by a rule that is more sensitive to few
        records.

        An interval that `estimate_significant_counts` sets to 0, because of the noise of many empty intervals beside
        it, may be significant by itself.

        Args:
            total: Public number of records; None: it is private.

        Returns:
            Counts in records, (intervals,), none below 0.
        """
        splits = self.estimate_tree(total)
        significant, expected = (
            estimates[splits.layout.cell_nodes][1:-1]
            for estimates in (splits.keep_significant_counts(TUNING.discount_z), splits.counts)
        )
        z = np.where(dilate_mask(significant > 0, TUNING.reach), TUNING.nearby_z, TUNING.faint_z)
        is_visible = self.counts > z * self.noise
        return np.where(
            is_visible, np.maximum(np.maximum(significant, expected), self.counts - self.noise), significant
        )

    def estimate_expected_counts(self, total: int | None) -> FloatArray:
        """Return the expected count of each cell, by the empirical Bayes estimate of `estimate_tree`.

        Args:
            total: Public number of records; None: it is not public.

        Returns:
            Expected counts, (cells,).
        """
        return self.estimate_tree(total).cells[1:-1]

    def estimate_tree(self, total: int | None, layout: Layout | None = None) -> TreeEstimate:
        """Return expected counts of all intervals from all pilot rounds, by empirical Bayes.

        The estimate is made twice, because a first one sums up the noise of many empty intervals.

        Args:
            total: The public number of records; None if it is private.
            layout: The tree of the intervals; None for the tree of all rounds.
        """
        joint = JointEstimate(self.rounds, layout or self.layout)
        records = self.records if total is None else joint.total
        estimate = reestimate_tree(joint.measurements, records, estimate_tree(joint.measurements, records))
        if total is not None or records < TUNING.reliable_ratio * self.noise:
            return estimate
        return reestimate_tree(joint.measurements, reweighted_total(joint.measurements, estimate), estimate)

    @property
    def layout(self) -> Layout:
        """Tree of the intervals of all rounds, down to single cells, for joint estimates."""
        return build_nested_layout(self.rounds)

    def build_layout(self, likely: FloatArray, step: float) -> Layout:
        """Build a tree of the intervals of all rounds for joint estimates, in which neighbours that seem empty are
        separated last.

        Args:
            likely: Estimated count of each cell.
            step: If values are multiples of a step, the values between multiples are separated last; 0 for no step.
        """
        edges = np.array(self.edges)
        slots = np.arange(len(self.edges) + 2)
        bounds = self._finest_rounds[-1].interval_sums.levels[0].bounds(len(edges) + 1)
        is_occupied = np.diff(np.cumsum(np.concatenate([[0.0, 0.0], likely, [0.0]]))[bounds]) > 0
        occupied_below = np.interp(slots, bounds, np.append(0.0, np.cumsum(dilate_mask(is_occupied, TUNING.margin))))
        above_single = np.zeros(len(slots), dtype=np.bool_)
        above_single[2:-1] = (edges[1:] == np.nextafter(edges[:-1], inf)) & (step > 0)
        nested = [slots[[0, -1]]]
        for evidence in self.rounds:
            bounds = evidence.interval_sums.levels[0].bounds(len(edges) + 1)
            is_empty = np.diff(occupied_below[bounds]) <= 0
            changes = np.concatenate([[True], is_empty[1:] != is_empty[:-1], [True]])
            for boundaries in (changes, ~above_single[bounds]):
                nested.append(np.union1d(nested[-1], bounds[boundaries]))
            nested.append(bounds)
        return Layout.from_tilings([*nested, np.union1d(bounds, slots[~above_single])])

    def find_step(self, guess: float = 0.0) -> tuple[float, bool]:
        """Return the step of which the values of the column seem to be multiples (0 for no step), and whether this is
        certain.

        See `find_value_step` and `are_multiples`. A guess is tried first: after a pilot query at all multiples of the
        guess, the counts of single multiples are too noisy to find it again.

        Args:
            guess: Step to try first; 0: there is no guess.
        """
        if guess and are_multiples(guess, *self._cumulative_counts, self.records):
            return guess, True
        step = find_value_step(*self._cumulative_counts, self.records)
        return step, step > 0 and are_multiples(step, *self._cumulative_counts, self.records)

    @property
    def _cumulative_counts(self) -> tuple[FloatArray, FloatArray, float]:
        """The counts of the finest pilot query, cumulated: endpoints of its intervals, number of records below each,
        and noise of one interval.

        Both arrays have the shape (intervals + 1,). Numbers of records are unbiased, and counted from the first
        endpoint on; the noise is a standard deviation in records.
        """
        bounds = self._finest_rounds[-1].interval_sums.levels[0].bounds(len(self.edges) + 1)[1:-1]
        counts, noise = _average_rounds(self._finest_rounds)
        return np.array(self.edges)[bounds - 1], np.append(0.0, np.cumsum(counts)), noise


def find_value_step(edges: FloatArray, below: FloatArray, noise: float, records: float) -> float:
    """Find the step of which the values of a column seem to be multiples: 1, 2 or 5 times a power of ten; 0 for no
    step.

    Single numbers that were counted must hold more records than noise explains. Their records, divided by the records
    per unit of length near them, estimate the spacing of multiples. The step is the largest number not much above this
    spacing with nearly all records of single numbers on its multiples. For instance, if few single numbers have
    separate cells and each holds the records of one integer, the step is 1, however far apart they are.

    Formal guarantees: a pure function of released counts.

    Args:
        edges: Increasing endpoints of the counted intervals.
        below: Unbiased noisy counts of the records below each.
        noise: Standard deviation of the noise of the count of an interval.
        records: Estimated number of records.
    """
    singletons = np.flatnonzero((edges[:-1] != 0) & (edges[1:] == np.nextafter(edges[:-1], inf)))
    if not len(singletons):
        return 0.0
    numbers = edges[singletons]
    records_on = below[singletons + 1] - below[singletons]
    first = np.maximum(singletons - TUNING.step_radius, 0)
    last = np.minimum(singletons + TUNING.step_radius + 1, len(edges) - 1)
    zero = int(np.searchsorted(edges, 0.0))
    # Zero may hold many records, so it is not counted as near.
    first = np.where(numbers > 0, np.maximum(first, np.minimum(zero + 1, singletons)), first)
    last = np.where(numbers < 0, np.minimum(last, np.maximum(zero, singletons + 1)), last)
    nearby = below[last] - below[first]
    widths = edges[last] - edges[first]
    is_significant = (nearby > TUNING.step_z * noise * np.sqrt(last - first)) & (widths > LEAST_CELL_WIDTH)
    numbers = numbers[is_significant]
    records_on = records_on[is_significant]
    density = float((nearby[is_significant] / widths[is_significant]).sum())
    if records_on.sum() <= max(TUNING.heap_z * noise * sqrt(len(records_on)), TUNING.heap_share * records):
        return 0.0
    spacing = TUNING.step_slack * float(records_on.sum()) / density
    power = floor(log10(spacing)) if spacing > LEAST_CELL_WIDTH else 0
    powers = range(power, power - TUNING.step_powers, -1)
    for step in (digit * 10.0**exponent for exponent in powers for digit in reversed(ROUND_DIGITS)):
        is_off = ~are_whole_multiples(numbers, step)
        if step <= spacing and records_on[is_off].sum() <= TUNING.off_share * records_on.sum():
            return float(f"{step:.0e}")
    return 0.0


def are_multiples(
    step: float, edges: FloatArray, below: FloatArray, noise: float, records: float, *, clearly: bool = True
) -> bool:
    """Return True if, by noisy counts, nearly all records between separately counted multiples of the step lie on
    multiples.

    `find_value_step` alone would find a step in a density with heaps on round numbers, too.

    Formal guarantees: a pure function of released counts.

    Args:
        step: The step, above 0, in units of the column.
        edges: Edges of the cells, increasing, in units of the column.
        below: Estimated records below each edge, (edges,).
        noise: Standard deviation of a count, in records.
        records: Number of all records.
        clearly: True: multiples must also hold most of the records, and noise must be small.

    >>> edges, ulp = np.array([1.0, 2.0, 3.0]), np.spacing(np.array([1.0, 2.0, 3.0]))
    >>> ends = np.ravel([edges, edges + ulp], order="F")
    >>> are_multiples(1.0, ends, np.array([0, 90, 90, 180, 180, 270.0]), 1.0, 270)
    True
    >>> are_multiples(1.0, ends, np.array([0, 30, 90, 120, 180, 210.0]), 1.0, 270)
    False
    """
    is_exact = np.abs(edges[:-1]) < step * 2.0**53
    start = np.flatnonzero(is_exact & (edges[1:] == np.nextafter(edges[:-1], inf)))
    start = start[are_whole_multiples(edges[start], step)]
    next_multiple = multiples_of(step, np.rint(edges[start] / step) + 1)
    next_index = np.searchsorted(edges, next_multiple)
    is_counted = edges[np.minimum(next_index, len(edges) - 1)] == next_multiple
    start = start[is_counted]
    next_index = next_index[is_counted]
    counted_records = float((below[next_index] - below[start]).sum())
    off_records = float((below[next_index] - below[start + 1]).sum())
    noise_sum = noise * sqrt((next_index - start - 1).sum())
    tuning = TUNING
    off_limit = tuning.off_share * counted_records
    uncertain_limit = tuning.uncertain_share * counted_records
    if clearly:
        is_certain = off_records <= off_limit + noise_sum and off_records + 2 * noise_sum <= uncertain_limit
        return counted_records > tuning.most_counted * records and is_certain
    is_certain = off_records <= off_limit + 2 * noise_sum and noise_sum <= uncertain_limit
    return counted_records > tuning.some_counted * records and is_certain


def sum_significant_stretches(counts: FloatArray, variances: FloatArray) -> float:
    """Return the sum of noisy counts over runs of neighbouring intervals that are significant, as number of records.

    A run is scored by z = its summed count / standard deviation of its noise. The run with the largest z is added if z
    is positive, then further runs disjoint from those before, as long as z exceeds `Tuning.faint_z`. 0 if no count is
    positive.

    Args:
        counts: Unbiased noisy counts of neighbouring intervals, (intervals,).
        variances: Variance of the noise of each count, (intervals,).

    >>> sum_significant_stretches(np.array([1.0, -2.0, 40.0, 20.0, 3.0, -6.0, 1.0]), np.full(7, 25.0))
    60.0
    """
    below, noise = (np.append(0.0, np.cumsum(increments)) for increments in (counts, variances))
    z = (below - below[:, None]) / np.sqrt(np.maximum(np.abs(noise - noise[:, None]), LEAST_VARIANCE))
    z = np.triu(z, 1)
    total = 0.0
    while True:
        start, end = np.unravel_index(int(np.argmax(z)), z.shape)
        if z[start, end] <= (TUNING.faint_z if total else 0.0):
            return total
        total += float(below[end] - below[start])
        z[:end, start + 1 :] = 0.0  # all runs that overlap this run


def dilate_mask(marked: NDArray[np.bool_], radius: int) -> NDArray[np.bool_]:
    """Return a mask that is True within `radius` entries of a True entry of `marked`, (entries,).

    Args:
        marked: Mask, (entries,).
        radius: Distance in entries, at least 0.

    >>> dilate_mask(np.array([False, False, True, False, False]), 1).tolist()
    [False, True, True, True, False]
    """
    neighbours = np.convolve(marked, np.ones(2 * radius + 1))[radius : radius + len(marked)]
    return np.asarray(neighbours > INTEGER_TOLERANCE)


def extend_to_runs(marked: NDArray[np.bool_], likely: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a mask of the runs of neighbouring entries, marked or likely, that contain at least one marked entry,
    (entries,).

    Args:
        marked: Mask of marked entries, (entries,).
        likely: Mask of further entries that may join a run, (entries,).

    >>> extend_to_runs(np.array([False, True, False, False]), np.array([True, False, False, True])).tolist()
    [True, True, False, False]
    """
    runs = marked | likely
    ends = np.flatnonzero(np.diff(np.concatenate([[False], runs, [False]]))).tolist()
    for start, end in zip(ends[::2], ends[1::2], strict=True):
        runs[start:end] = marked[start:end].any()
    return runs


def _average_rounds(rounds: Sequence[Evidence]) -> tuple[FloatArray, float]:
    """Average several rounds' counts of the same intervals by inverse noise variance, without the two unbounded
    outermost intervals.

    Rounds are weighted by inverse noise variance. The two outermost intervals, which reach to infinity, are left out,
    so the first array has the shape (intervals - 2,).

    Args:
        rounds: Noisy counts of the rounds.

    Returns:
        Counts, (intervals - 2,), and the standard deviation of their noise.
    """
    weights = [1 / max(evidence.interval_sums.levels[0].noise.variance, LEAST_VARIANCE) for evidence in rounds]
    counts = np.average(
        [evidence.values[1 : len(evidence.interval_sums.levels[0].starts) - 1] for evidence in rounds],
        axis=0,
        weights=weights,
    )
    return np.asarray(counts, dtype=np.float64), 1 / sqrt(sum(weights))


@dataclass(frozen=True, eq=False)
class _SearchState:
    """State of a range search: all rounds so far on the present cells, and the loss that is left.

    Attributes:
        column: Name of the column that is counted.
        pilot_counts: Noisy counts of all rounds, expressed on the cells of the next round.
        releases: Releases of all rounds, in order.
        remaining_budget: Fraction of the loss that is not spent, from 1 down to 0.
    """

    column: str
    pilot_counts: PilotCounts
    releases: tuple[Release, ...] = ()
    remaining_budget: Fraction = WHOLE_BUDGET

    @property
    def slots(self) -> int:
        """Number of counted cells, both unbounded outer cells included."""
        return len(self.pilot_counts.edges) + 1

    def ask_tilings(self, tilings: Tilings, budget_fraction: Fraction) -> Strategy[_SearchState]:
        """Yield a query that counts the intervals of these tilings, as one more round; return the search with its
        release.

        The number of the round is part of the query, so that an equal earlier query is asked again with new noise.

        Args:
            tilings: Nested divisions of the cells, each by the first cells of its intervals.
            budget_fraction: Fraction of the question's loss for all tilings together.
        """
        query = PartitionQuery(
            (TypedAxis(self.column, self.pilot_counts.grid),), tilings, round_number=len(self.releases)
        )
        release = yield Step(query, budget_fraction)
        pilot_counts = replace(self.pilot_counts, rounds=(*self.pilot_counts.rounds, Evidence.from_release(release)))
        return replace(
            self,
            pilot_counts=pilot_counts,
            releases=(*self.releases, release),
            remaining_budget=self.remaining_budget - budget_fraction,
        )

    def ask_pilot_query(self, budget_fraction: Fraction) -> Strategy[_SearchState]:
        """Yield a pilot query that counts every present cell with this fraction of the loss; return the search with its
        release.

        Args:
            budget_fraction: Fraction of the whole loss.

        Returns:
            Generator of one step, which returns the new state.
        """
        return (yield from self.ask_tilings((range(self.slots),), budget_fraction))

    def refine_cells(
        self, cells: float, counts: FloatArray, singletons: SingletonRule, step: float = 0.0
    ) -> _SearchState:
        """Return the search on a grid with about `cells` more cells, most of them where `counts` are large; no query is
        asked.

        Args:
            cells: Approximate number of new cells.
            counts: Estimated count of each interval between the present edges.
            singletons: Rule for the numbers that get separate cells.
            step: Step of which values, and so edges, are multiples; 0: no step.
        """
        edges = refine_edges(self.pilot_counts.edges, allocate_cells(counts), cells, singletons, step)
        return replace(self, pilot_counts=self.pilot_counts.move_to_edges(edges))


def search_and_count(workload: AutomaticRangeWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Yield the pilot queries and the final count of a column without a public range; return the counts of all rounds.

    A generator of steps (query and budget fraction); it receives the release of each. The module's docstring describes
    the three to eight rounds.

    Args:
        workload: Names the column.
        setting: Loss of the question, and adjacency, which may have a public number of records.

    Returns:
        The releases and counts of all rounds, in order, on the grid of the final count.
    """
    state = yield from _SearchState(workload.column, PilotCounts(DECADES)).ask_pilot_query(PILOT_FRACTIONS[0])
    for budget_fraction in PILOT_FRACTIONS[1:]:
        if state.pilot_counts.counts.max() < TUNING.faint_z * state.pilot_counts.noise:
            state = yield from state.ask_pilot_query(budget_fraction)
    noise = max(sqrt(setting.count_noise().variance), LEAST_VARIANCE)
    total = setting.adjacency.public_record_count

    # Wide cells that hold most records are refined, each time with the loss that a clear answer needs.
    has_heaps = False
    counts = state.pilot_counts.estimate_likely_counts(total)
    for threshold in TUNING.concentration:
        records = state.pilot_counts.records
        if counts[state.pilot_counts.wide_cells].max() < threshold * records:
            break
        target = max(
            TUNING.minimum_ratio * noise / records, min(TUNING.target_ratio * noise / records, TUNING.target_fraction)
        )
        budget_fraction = min(
            max(Fraction(round(100 * target), 100), TUNING.least_fraction),
            TUNING.largest_fraction * state.remaining_budget,
        )
        cells = _clip_cell_count(TUNING.pilot_cells, TUNING.cells_per_ratio * float(budget_fraction) * records / noise)
        state = yield from state.refine_cells(cells, counts, SingletonRule.EDGES).ask_pilot_query(budget_fraction)
        has_heaps = has_heaps or state.pilot_counts.has_heaps
        counts = state.pilot_counts.estimate_likely_counts(total)

    # More cells than records over noise would show noise alone.
    cells = _clip_cell_count(TUNING.grid_cells, state.pilot_counts.records / (2 * noise))
    has_many_cells = cells >= TUNING.singleton_cells
    singletons = SingletonRule.TWO_DIGITS if has_many_cells else SingletonRule.ZERO
    if has_heaps:
        singletons = SingletonRule.ROUNDER

    # Values that seem to be multiples of a step are looked at once more, before cells follow the step.
    (step, is_clear), atoms_searched = state.pilot_counts.find_step(), False
    if step and not is_clear:
        refined = state.refine_cells(cells, counts, SingletonRule.EDGES, step)
        state = yield from refined.ask_pilot_query(TUNING.atoms_fraction)
        (step, is_clear), atoms_searched = state.pilot_counts.find_step(step), True
        counts = state.pilot_counts.estimate_likely_counts(total)
    if is_clear:
        finer = state.refine_cells(cells, counts, SingletonRule.ZERO, step)
        atoms_searched = True
    else:
        finer = state.refine_cells(cells, counts, singletons)
        step = 0.0
    return (yield from _count_on_cells(state, finer, counts, setting, step, atoms_searched=atoms_searched))


def search_range(workload: AutomaticGridWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Yield three pilot queries with a third of the loss each; return their counts and a grid for a later question.

    Between the queries, intervals that seem to hold many records are cut into finer ones. The grid has about
    `workload.cells` cells. It extends beyond all intervals that seem occupied by half their total width, but not across
    zero, and counts values outside separately. If no count is significant, the grid spans all edges of the first pilot
    query.

    Args:
        workload: Names the column and the approximate number of cells.
        setting: Loss of the question, and adjacency, which may have a public number of records.
    """
    budget_fraction = WHOLE_BUDGET / TUNING.rounds_alone
    total = setting.adjacency.public_record_count
    state = yield from _SearchState(workload.column, PilotCounts(DECADES)).ask_pilot_query(budget_fraction)
    for _ in range(TUNING.rounds_alone - 1):
        counts = state.pilot_counts.estimate_significant_counts(total)
        if counts[state.pilot_counts.wide_cells].max() >= TUNING.concentration[-1] * state.pilot_counts.records:
            state = state.refine_cells(TUNING.pilot_cells[0], counts, SingletonRule.ZERO)
        state = yield from state.ask_pilot_query(budget_fraction)
    counts = state.pilot_counts.estimate_significant_counts(total)

    # The grid reaches beyond all occupied intervals, because significance misses sparse tails.
    occupied = np.flatnonzero(counts)
    first, last = (int(occupied[0]), int(occupied[-1]) + 1) if len(occupied) else (0, len(counts))
    range_edges = state.pilot_counts.edges[first : last + 1]
    shares = allocate_cells(counts)[first:last]
    edges = refine_edges(*_widen_range(range_edges, shares), workload.cells)
    return TableCounts(state.releases, state.pilot_counts.rounds, Grid.from_edges(edges, outside=Outside.APART))


def _widen_range(edges: tuple[float, ...], shares: FloatArray) -> tuple[tuple[float, ...], FloatArray]:
    """Widen a range by an interval of half its width at each end, but not across zero; return edges, and shares of the
    cells.

    Args:
        edges: Edges of the cells, in rising order.
        shares: Share of the records in each cell.

    Returns:
        Edges, and shares of the cells, which add up to 1.

    >>> _widen_range((10.0, 20.0, 50.0), np.array([1.0, 1.0]))[0], _widen_range((0.0, 10.0), np.array([1.0]))[0]
    ((0.0, 10.0, 20.0, 50.0, 70.0), (0.0, 10.0, 15.0))
    """
    low = edges[0]
    high = edges[-1]
    extension = (edges[-1] - edges[0]) / 2
    below, above = (float(f"{end:.1e}") for end in (low - extension, high + extension))
    below = max(below, 0.0) if low >= 0 else below
    above = min(above, 0.0) if high <= 0 else above
    edges_before, edges_behind = edges[:0], edges[:0]
    if below < low:
        edges_before = (below,)
        shares = np.append(TUNING.neighbour_weights[0] * shares[0], shares)
    if above > high:
        edges_behind = (above,)
        shares = np.append(shares, TUNING.neighbour_weights[0] * shares[-1])
    return (*edges_before, *edges, *edges_behind), shares / shares.sum()


def _clip_cell_count(limits: tuple[int, int], cells: float) -> float:
    """Return a number of cells, clipped to limits.

    Args:
        limits: Smallest and largest number.
        cells: The number.
    """
    return min(max(cells, limits[0]), limits[1])


def _count_on_cells(
    pilot_state: _SearchState,
    state: _SearchState,
    likely: FloatArray,
    setting: Setting,
    step: float,
    *,
    atoms_searched: bool,
) -> Strategy[TableCounts]:
    """Yield the final count on the chosen cells with all remaining loss; return the counts of all rounds.

    If single cells seem to hold most records (atoms), one more pilot query searches for them first. Neighbours that
    seem empty are counted together, and so are all values from one multiple of a step to the next.

    Args:
        pilot_state: The search with all pilot queries, on the cells that these counted.
        state: This search on the cells chosen for the final count.
        likely: Estimated count of each cell of the pilot queries.
        setting: Loss and adjacency.
        step: Step of which the values are multiples; 0 for no step.
        atoms_searched: Whether atoms have been searched for already.
    """
    total = setting.adjacency.public_record_count
    pilot_counts = state.pilot_counts
    positions = np.searchsorted(np.array(pilot_counts.edges), np.array(pilot_state.pilot_counts.edges))
    records_below = np.interp(np.arange(len(pilot_counts.edges)), positions, np.append(0.0, np.cumsum(likely)))
    layout = pilot_counts.build_layout(np.diff(records_below), step)
    splits = pilot_counts.estimate_tree(total, layout)
    if not atoms_searched and splits.even_probability <= REFINEMENT.even_probability and has_atoms(splits):
        tilings = find_atom_tilings(splits, setting.count_noise(TUNING.atoms_fraction))
        state = yield from state.ask_tilings(_all_cells_if_single(tilings, state.slots), TUNING.atoms_fraction)
        splits = state.pilot_counts.estimate_tree(total, layout)

    # A cell is split only if it contains several possible values, or a count that stands out from the noise.
    noise = setting.count_noise(state.remaining_budget)
    with np.errstate(over="ignore"):
        slot_bounds = np.concatenate([[-inf], np.array(pilot_counts.edges) / (step or 1.0), [inf]])
    lower_counts = np.concatenate([records_below[:1], records_below, records_below[-1:]])
    multiples = np.ceil(slot_bounds.clip(-LARGEST_EDGE, LARGEST_EDGE) - INTEGER_TOLERANCE)
    lower_counts = lower_counts[layout.begin + layout.width] - lower_counts[layout.begin]
    may_split = multiples[layout.begin + layout.width] - multiples[layout.begin] > 1 if step else layout.width > 1
    single_count = max(TUNING.single_share * pilot_counts.records, TUNING.single_ratio * sqrt(noise.variance))
    may_split |= splits.counts > single_count

    # Few records over noise: only cells with clear counts are split.
    if pilot_counts.records < TUNING.few_records * sqrt(noise.variance):
        is_large = np.maximum(splits.counts, lower_counts) > TUNING.split_ratio * sqrt(noise.variance)
        final_tilings: Tilings = (
            tuple(first_cells_of_nodes(layout, find_leaves(layout, is_large & may_split)).tolist()),
        )
    else:
        final_tilings = refine_last_tilings(splits, noise, may_split, lower_counts)
    state = yield from state.ask_tilings(_all_cells_if_single(final_tilings, state.slots), state.remaining_budget)
    rounds = state.pilot_counts.rounds
    return TableCounts(
        state.releases,
        rounds,
        pilot_counts.grid,
        pilot_queries=len(pilot_counts.rounds),
        uses_all_rounds=True,
        step=step,
    )


def _all_cells_if_single(tilings: Tilings, slots: int) -> Tilings:
    """Return these tilings, or the tiling into all cells if they consist of one interval, so that the next round counts
    something new.

    Args:
        tilings: First cells of the intervals of each tiling, from coarse to fine.
        slots: Number of cells.
    """
    return tilings if len(tilings[-1]) > 1 else (range(slots),)


def refuse_range_search(workload: AutomaticRangeWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Raise for a range search under a trust model that can count only once; takes the place of a strategy.

    Args:
        workload: Ignored.
        setting: Ignored.

    Raises:
        UnsupportedQuery: always. The message asks for a grid.
    """
    raise UnsupportedQuery(
        "grid",
        "this trust model counts once, so it cannot look for a range first: give a grid of public cells "
        "(dpcurves task suggest proposes one from a public sample)",
    )


# The next cells, from released numbers: most of them where records seem to lie, with edges at round decimal numbers.


def allocate_cells(counts: FloatArray) -> FloatArray:
    """Return the fraction of the new cells that each interval gets, (intervals,): larger where and near where records
    lie.

    Shares are proportional to the counts, but at least a fraction of the counts up to three intervals away
    (`Tuning.neighbour_weights`), and add up to 1. If all counts are 0, they are equal.

    Args:
        counts: Estimated counts of the intervals, (intervals,), at least 0.

    >>> allocate_cells(np.array([0.0, 0.0, 10.0, 0.0, 0.0])).round(2).tolist()
    [0.05, 0.15, 0.6, 0.15, 0.05]
    """
    weights = counts if counts.any() else np.ones_like(counts)
    shares = weights.copy()
    for distance, fraction in enumerate(TUNING.neighbour_weights, start=1):
        shares[distance:] = np.maximum(shares[distance:], fraction * weights[:-distance])
        shares[:-distance] = np.maximum(shares[:-distance], fraction * weights[distance:])
    return np.asarray(shares / shares.sum())


def refine_edges(
    edges: tuple[float, ...],
    shares: FloatArray,
    cells: float,
    singletons: SingletonRule = SingletonRule.ZERO,
    step: float = 0.0,
) -> tuple[float, ...]:
    """Return the edges with about `cells` further ones at round numbers in between, increasing, in units of the column.

    Args:
        edges: The edges of the intervals.
        shares: Fraction of the new cells that each interval gets.
        cells: Approximate number of new cells.
        singletons: The numbers that get separate cells.
        step: Step of which the values, and so the edges, are multiples; 0 for no step.
    """
    refined = set(edges)
    occupied_edges = {0.0}
    for (low, high), share in zip(pairwise(edges), shares.tolist(), strict=True):
        target = share * cells
        inner = multiples_between(low, high, target, step) if step else round_numbers_between(low, high, target)
        refined.update(inner)
        occupied_edges.update((low, *inner, high) if target > TUNING.singleton_target else ())
    singleton_edges = occupied_edges.intersection(_select_singletons(sorted(refined), singletons))
    return tuple(sorted(refined.union(nextafter(edge, inf) for edge in singleton_edges if edges[0] < edge < edges[-1])))


def _select_singletons(edges: list[float], singletons: SingletonRule) -> list[float]:
    """Choose the numbers, increasing, that get a separate cell each: edges allowed by the rule that do not end another
    separate cell.

    Args:
        edges: Edges of cells, increasing, in units of the column.
        singletons: Rule for the numbers that get separate cells.
    """
    starts = np.array(edges)
    starts = np.append(starts[0], starts[1:][starts[1:] != np.nextafter(starts[:-1], inf)])
    if singletons is SingletonRule.EDGES:
        return list(starts.tolist())
    selected = [
        edge
        for edge in starts.tolist()
        if edge == 0 or (singletons is not SingletonRule.ZERO and edge == float(f"{edge:.1e}"))
    ]
    if singletons is SingletonRule.ROUNDER:
        widths = np.diff(starts)
        steps = np.minimum(np.append(widths, inf), np.append(inf, widths))
        tens = starts / 10.0 ** np.ceil(np.log10(np.maximum(steps, LEAST_CELL_WIDTH)) - INTEGER_TOLERANCE)
        selected += starts[np.abs(tens - np.rint(tens)) < INTEGER_TOLERANCE].tolist()
    return selected


def round_numbers_between(low: float, high: float, cells: float) -> list[float]:
    """Return round numbers strictly between two numbers, which form about `cells` cells.

    If the two numbers are close, cells have about equal widths, else about equal widths on a log scale, with edges at
    1, 2 and 5 times powers of ten. Edges are the doubles nearest to decimals, so decimal values lie exactly on edges.

    Args:
        low: Lower one of the two numbers.
        high: Higher one of the two numbers.
        cells: Approximate number of cells; below `Tuning.least_cells`, no number is returned.

    Returns:
        The numbers, increasing; empty if `low` is 0 or below while `high` is above 0.

    >>> round_numbers_between(1.0, 2.0, 4), round_numbers_between(-100.0, -80.0, 2)
    ([1.2, 1.4, 1.6, 1.8], [-90.0])
    >>> round_numbers_between(1.0, 1000.0, 6)
    [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0]
    """
    if high <= 0:
        return [-edge for edge in reversed(round_numbers_between(-high, -low, cells))]
    if cells < TUNING.least_cells or low <= 0:
        return []
    if high <= TUNING.even_ratio * low:
        return _decimal_multiples_between(low, high, cells)
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    marks = [
        edge for edge in (float(f"{digit}e{power}") for power in powers for digit in ROUND_DIGITS) if low < edge < high
    ]
    if 2 * cells < len(marks):
        step = ceil(len(marks) / cells)
        return marks[step // 2 :: step]
    cells_per_log = cells / log(high / low)
    inner = (
        _decimal_multiples_between(*bounds, cells_per_log * log(bounds[1] / bounds[0]))
        for bounds in pairwise([low, *marks, high])
    )
    return sorted({*marks, *(edge for multiples in inner for edge in multiples)})


def multiples_between(low: float, high: float, cells: float, step: float) -> list[float]:
    """Return multiples of the step strictly between two numbers: all of them if few, else round ones.

    Args:
        low: The lower number.
        high: The upper number.
        cells: About how many cells are needed.
        step: Distance of neighbouring multiples.

    >>> multiples_between(0.0, 10.0, 1, 2.0), multiples_between(1000.0, 2000.0, 4, 2.0)
    ([2.0, 4.0, 6.0, 8.0], [1200.0, 1400.0, 1600.0, 1800.0])
    """
    limit = max(TUNING.least_cells * cells, TUNING.few_multiples if cells > TUNING.singleton_target else 0)
    if (high - low) / step <= limit:
        multiples = multiples_of(step, np.arange(floor(low / step), ceil(high / step) + 1)).tolist()
        return [edge for edge in multiples if low < edge < high]
    inner = np.array(round_numbers_between(low, high, cells))
    return list(inner[are_whole_multiples(inner, step)].tolist())


def are_whole_multiples(numbers: FloatArray, step: float) -> NDArray[np.bool_]:
    """Return a mask of the numbers that are multiples of the step up to rounding errors.

    Also True for numbers above 2**53 steps, where doubles cannot represent other numbers.

    True also for numbers above 2**53 steps, whose doubles have no digits of this size.

    Args:
        numbers: Any numbers, in units of the column.
        step: The step, above 0, in the same units.
    """
    with np.errstate(over="ignore"):
        steps = np.clip(numbers / step, -(2.0**53), 2.0**53)
    return np.asarray(np.abs(steps - np.rint(steps)) < INTEGER_TOLERANCE)


def _decimal_multiples_between(low: float, high: float, cells: float) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten strictly between two numbers, forming at least `cells`
    cells.

    Args:
        low: Lower one of the two numbers.
        high: Higher one of the two numbers.
        cells: Least number of cells; below `Tuning.least_cells`, no number is returned.

    Returns:
        The numbers, increasing; empty if cells would be too narrow for doubles.
    """
    if cells < TUNING.least_cells:
        return []
    width = (high - low) / cells
    if not width >= LEAST_CELL_WIDTH:
        return []
    power = floor(log10(width))
    digit = max(digit for digit in ROUND_DIGITS if digit == 1 or digit * 10.0**power <= width)
    lowest = floor(low / (digit * 10.0**power))
    highest = ceil(high / (digit * 10.0**power))
    if max(abs(lowest), abs(highest)) >= 2**53:
        return []
    edges = (float(f"{factor * digit}e{power}") for factor in range(lowest, highest + 1))
    return [edge for edge in edges if low < edge < high]


@dataclass(frozen=True, slots=True)
class Tuning:
    """Constants of the range search: signal-to-noise ratios or z-scores, unless another unit is stated.

    All were chosen on the distributions of `benchmarks/unknown.py` under add-remove.
    """

    atoms_fraction: Fraction = Fraction(1, 10)
    """Fraction of the loss. Pilot query for single cells that seem to hold most records, before the final count."""
    least_fraction: Fraction = Fraction(1, 25)
    """Fraction of the loss. The least that a second or third pilot query gets."""
    largest_fraction: Fraction = Fraction(1, 3)
    """Fraction of the remaining loss. The most that a second or third pilot query gets."""
    minimum_ratio: float = 8.0
    """Signal-to-noise ratio of all records that a second or third pilot query must reach, if `largest_fraction`
    allows.
    """
    target_ratio: float = 700.0
    """Signal-to-noise ratio of all records that a second or third pilot query aims at, at up to `target_fraction` of
    the loss.
    """
    target_fraction: float = 0.1
    """Fraction of the loss. A later pilot query gets at most this fraction to reach `target_ratio`."""
    occupied_z: float = 7.0
    """z-score of the noisy count of a decade above which the decade is occupied; smaller counts are taken for
    noise.
    """
    concentration: tuple[float, float] = (0.0, 0.25)
    """Shares of the records in one interval above which a second and a third pilot query are made. The first is 0: the
    second query is always made, because nothing is known of the distribution within a decade.
    """
    faint_z: float = 5.0
    """z-score. If the largest count of the first pilot query is below it, that count is taken for noise and the query
    is repeated.
    """
    reliable_ratio: float = 100.0
    """Signal-to-noise ratio from which the number of records is estimated from all counts."""
    discount_z: float = 2.0
    """Standard deviations that are subtracted from estimated counts."""
    neighbour_weights: tuple[float, ...] = (0.25, 0.08, 0.03)
    """Fractions. Before shares of the cells are normalised, an interval gets at least these fractions of the shares of
    intervals at a distance of 1, 2 and 3."""
    cells_per_ratio: float = 0.15
    """Cells of a later pilot query per unit of the signal-to-noise ratio of all records, within `pilot_cells`."""
    pilot_cells: tuple[int, int] = (32, 256)
    """Cells. Minimum and maximum number of cells of a later pilot query."""
    grid_cells: tuple[int, int] = (256, 4096)
    """Cells. Minimum and maximum of the final grid; between them, half as many cells as all records are standard
    deviations of the noise.
    """
    singleton_cells: int = 1024
    """Cells of the final grid from which numbers of two digits, popular for heaps, get separate cells."""
    few_records: float = 250.0
    """Signal-to-noise ratio of all records below which the final count has one tiling of few intervals."""
    split_ratio: float = 4.0
    """Signal-to-noise ratio above which an interval is split if the final count has one tiling (see `few_records`)."""
    beside_z: float = 4.0
    """z-score above which a decade beside an occupied one is occupied, too. Laplace noise exceeds 4 standard deviations
    with probability 1/570.
    """
    heap_z: float = 4.0
    """z-score that the records on round numbers must exceed together to count as heaps."""
    heap_share: float = 0.03
    """Share of all records. More than this share must lie on round numbers for them to count as heaps, in addition to
    `heap_z`.
    """
    reach: int = 5
    """Intervals. Distance from a clearly occupied interval within which `nearby_z` applies, else `faint_z`."""
    nearby_z: float = 2.0
    """z-score from which an interval near an occupied one counts as occupied."""
    margin: int = 2
    """Intervals beside an occupied one that are not merged with empty intervals beyond."""
    step_z: float = 4.0
    """z-score of the records near a single number from which this number is used to find a step."""
    step_radius: int = 3
    """Intervals on each side of a single number that count as near."""
    step_slack: float = 1.6
    """Factor by which a step may exceed the estimated spacing of multiples."""
    off_share: float = 0.05
    """Share of the records on single numbers that may lie off all multiples of a step."""
    step_powers: int = 4
    """Powers of ten, from that of the estimated spacing of values downward, among which their step (1, 2 or 5 times a
    power) is sought."""
    most_counted: float = 0.5
    """Share of the records that must lie between counted multiples before cells are chosen by a step."""
    some_counted: float = 0.2
    """Share of the records that must lie between counted multiples before quantiles are reported as multiples; for the
    choice of cells, `most_counted` applies.
    """
    uncertain_share: float = 0.3
    """Share of the records between counted multiples that may, with noise, lie off all multiples."""
    single_share: float = 0.02
    """Share of the records above which a single multiple is counted apart from the values above it, because a band is
    as wide within an interval as all records of the interval.
    """
    single_ratio: float = 20.0
    """Signal-to-noise ratio in the final count from which a single multiple is counted apart from the values above
    it.
    """
    few_multiples: int = 20
    """Multiples of a step in an interval up to which all become edges, if the interval is cut at all."""
    singleton_target: float = 0.5
    """Cells. Single numbers in an interval, or at its ends, may get separate cells if at least this many cells are
    allocated to it."""
    least_cells: float = 1.5
    """Cells. An interval is cut if at least this many cells are allocated to it."""
    even_ratio: float = 2.6
    """Ratio of two endpoints up to which an interval is cut into cells of equal width, else evenly on a log scale."""
    rounds_alone: int = 3
    """Rounds. Number of pilot queries, with equal budget fractions, if nothing but a range is asked for."""


TUNING = Tuning()
"""The tuning that is used."""
MOST_ROUNDS = len(PILOT_FRACTIONS) + len(TUNING.concentration) + 2
"""Rounds. Largest number of rounds of a search."""
