"""Range search: counts of a column of which no range is known, first over all doubles, then on a grid that fits.

Many thresholds below are signal-to-noise ratios: records over the standard deviation of the noise of a count.

A conversation of three to eight turns, each of which counts intervals of one column:

1. *First look*: decades of both signs, coarser ones far from 1, and zero (`DECADES`); again, with more of the loss,
   while noise hides all.
2. *A closer look*, and one more where an interval still seems to hold many records: these are cut at round numbers,
   which have cells of their own, so that a look sees whether values are heaped on them. Where they seem to be multiples
   of a number, and not all near ones were counted, there is a look at these.
3. *Counting* on a grid that is fine where records seem to lie, with all that is left, as the later turns of
   `prefixes.refining` do, the first of which the looks stand for: from multiple to multiple, where values are such. All
   turns are read together, so looks are not lost. Neighbours that seem to hold nothing are counted as one interval, for
   each interval adds noise to all that lies behind it.

The constants were chosen on the laws of `benchmarks/unknown.py`, under add-remove; the kinds of data on which it counts
how often bands hold chose nothing.

No record is clamped: beyond the fine cells there are coarse ones up to `LARGEST`, and the two outermost cells have what
is beyond, the infinities among it.

Formal guarantees: each turn is a `PartitionQuery`, priced as one whatever its intervals are: a record lies in one
interval of each tiling. Intervals, grids, the number of turns and their shares of the loss are functions of public
facts and of earlier answers. *Proof that all turns lose together what was granted, by induction from the last one*:
whatever was answered before, what is left is spent in one turn, or in a turn of a share that is fixed before it, and
then all that it leaves. So the conversation is at each turn the adaptive composition of two mechanisms, the second of
which is one of several that all lose what is left: pure losses and rho add up to what was granted (Dwork and Roth 2014,
section 3.5; Bun and Steinke 2016, Lemma 2.3).
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
    ALL,
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
from ..laws import LEAST_VARIANCE, Tier
from ..queries import PartitionQuery
from .prefixes import CLEAR, Tilings, find_atom_tilings, has_atoms, refine_last_tilings

LARGEST = 1e300
"""The last edge: values beyond are counted in cells of their own, with the infinities."""
MAGNITUDES = (
    1e-300, 1e-9, 1e-6, *(float(f"1e{power}") for power in range(-3, 13)), 1e15, 1e18, 1e21, LARGEST,
)  # fmt: skip
"""Edges above zero of the first look: decades from a thousandth to 10**12, and fewer beyond."""
DECADES = (*(-edge for edge in reversed(MAGNITUDES)), 0.0, *MAGNITUDES)
"""Edges of the first look."""
FIRST = Fraction(1, 50), Fraction(3, 100), Fraction(1, 10), Fraction(1, 10)
"""Parts of the loss of the first look and of its repetitions, of which each one follows if noise has hidden all."""
GLANCE = Fraction(1, 10)
"""The part of a turn between the looks and the last one, where single cells seem to hold most."""
CLOSER, MOST_OF_LEFT = Fraction(1, 25), Fraction(1, 3)
"""The least part of the loss that a closer look has, and the largest part of what is left."""
STANDING_OUT, IN_CELLS, TENTH = 8.0, 700.0, 0.1
"""Deviations of the noise of a closer look that all records are, if its part of the loss allows; so many are aimed at
with up to a tenth of the loss."""
MOSTLY = 0.0, 0.25
"""Parts of the records in one interval from which on there is a first closer look, and a second one. There always is a
first one: nothing is known of where in a decade records lie."""
FEWEST_TURNS, MOST_TURNS = 3, len(FIRST) + len(MOSTLY) + 2
FAINT = 5.0
"""Deviations of its noise that the largest count of the first look has at least, or it is repeated."""
WELL_SEEN, DOUBT = 100.0, 2.0
"""Deviations of the noise of the finest look that records are, from which on their number is estimated from all counts;
and so many that are taken off an estimate."""
NEIGHBOURS = (0.25, 0.08, 0.03)
"""Cells that an interval is given for what those at a distance of 1, 2, 3 seem to hold, in parts of theirs."""
LOOKS, LOOKED_AT = 0.15, (32, 256)
"""Cells of a closer look for each deviation of its noise that all records are; at least and at most."""
CELLS = (256, 4096)
"""Cells of the grid, at least and at most, about: half as many as records are deviations of the noise of one count."""
SINGLES = 1024
"""Cells of the grid from which on numbers of two digits, on which values are heaped, have cells of their own."""
ENOUGH, HELD = 250.0, 4.0
"""Deviations of the noise of a count in the last turn that all records are, below which it counts few intervals, once:
an interval is cut if it seems to hold more than so many deviations."""
STANDS_OUT, BESIDE = 7.0, 4.0
"""Deviations of its noise that the count of a decade is above, or its records are taken for noise; and so many beside a
decade that holds records. Laplace noise is above 4 with a chance of 1 in 570."""
LOOKS_ALONE = 3
"""Number of looks where nothing else is asked for, each with the same part of the loss."""
HEAPS, HEAPED = 4.0, 0.03
"""Deviations of the noise, and part of the records, that round numbers hold together if values are heaped on such."""
REACH, SEEN_THERE, WITH_IT = 5, 2.0, 2
"""Intervals on each side of one that clearly holds records, in which a count of so many deviations of its noise is
taken for records, too (elsewhere of `FAINT`); and so many that are not counted together with empty ones beyond."""
TOLD, NEAR, SPACED, OFF, DECADES_TRIED = 4.0, 3, 1.6, 0.05, 4
"""Deviations of its noise that is counted near a number, if that tells of a step; counted intervals on each side that
are near; so many times as far apart as they tell may multiples be; the part of what numbers hold that may lie on no
multiple; and how many powers of ten are tried."""
MOST_SEEN, SOME_SEEN, BETWEEN = 0.5, 0.2, 0.3
"""Parts of the records: so many lie between multiples that were all counted if cells are chosen by these, or quantiles
given as such; and of these so many, noise included, may lie on none."""
MOST_IN_ONE = 0.02, 20.0
"""Part of the records, and deviations of the noise of a count in the last turn, more than which one multiple has to be
counted apart from what lies above it: a band is as wide there as all that it holds."""
FEW_MULTIPLES = 20
"""Multiples of a step in an interval, up to which all are edges where the interval is to be cut at all."""
NEARLY = 1e-6
"""Numbers that differ by so little are taken to be whole, or equal, where cells are chosen."""
TENTHS = (1, 2, 5)
CLOSE = 2.6
"""Ratio of numbers up to which they are cut evenly, and not by logarithms."""
SMALLEST = 1e-290
"""Width from which on cells are cut: below it powers of ten are no longer exact enough."""
WORTH_ONE = 0.5
"""Cells that an interval is to be given for numbers in it, or at its ends, to have cells of their own."""
FEWEST = 1.5
"""Cells from which on an interval is cut."""


class SingletonRule(Enum):
    """Numbers that have cells of their own, because values may be heaped on them."""

    ZERO = auto()
    TWO_DIGITS = auto()
    ROUNDER = auto()
    """Those of two digits, and edges that are multiples of a power of ten at least as large as the cells beside."""
    EDGES = auto()
    """Each edge."""


@dataclass(frozen=True, eq=False)
class PilotCounts:
    """Noisy counts of all turns of a search for a range so far, each on the cells of the finest turn.

    Attributes:
        edges: The edges of the grid.
        rounds: Counts of these cells, turn by turn.
    """

    edges: tuple[float, ...]
    rounds: tuple[Evidence, ...] = ()

    @property
    def grid(self) -> Grid:
        """The cells, with values beyond counted apart."""
        return Grid.from_edges(self.edges, outside=Outside.APART)

    def move_to_edges(self, edges: tuple[float, ...]) -> PilotCounts:
        """Move the answers to finer cells, whose edges contain these."""
        starts = np.append(0, np.searchsorted(np.array(edges), np.array(self.edges)) + 1)

        def refine_evidence(turn: Evidence) -> Evidence:
            (tier,) = turn.interval_sums.levels
            moved = Tier(tuple(starts[tier.first_cells].tolist()), tier.noise)
            return replace(turn, law=replace(turn.interval_sums, cells=len(edges) + 1, levels=(moved,)))

        return PilotCounts(edges, tuple(map(refine_evidence, self.rounds)))

    @property
    def counts(self) -> FloatArray:
        """The count of each cell of the finest look, without bias; those beyond are left out."""
        return _average_rounds(self._finest_rounds)[0]

    @property
    def noise(self) -> float:
        """The standard deviation of the noise of `counts`."""
        return _average_rounds(self._finest_rounds)[1]

    @property
    def records(self) -> float:
        """The number of records, roughly: what stretches of decades hold that stand out of their noise."""
        totals, noises, _ = self.decade_counts
        return max(sum_significant_stretches(totals, noises**2), self.noise)

    @property
    def decade_counts(self) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
        """Counts of the intervals of the first look from all looks, deviations of their noise, and where cells lie."""
        decade = np.searchsorted(DECADES, np.array(self.edges[:-1]), side="right") - 1
        of_slots = np.concatenate([[-1], decade, [-1]])
        totals, weights = np.zeros((2, len(DECADES) - 1))
        for turn in self.rounds:
            (tier,) = turn.interval_sums.levels
            own = of_slots[tier.first_cells]
            inside = own >= 0
            values = np.array(turn.values[: len(own)], dtype=np.float64)[inside]
            pieces = np.bincount(own[inside], minlength=len(totals))
            if not pieces.all():
                continue  # a glance, which joins decades
            weight = 1 / (max(tier.noise.variance, LEAST_VARIANCE) * pieces)
            totals += weight * np.bincount(own[inside], values, minlength=len(totals))
            weights += weight
        return totals / weights, 1 / np.sqrt(weights), decade

    @property
    def occupied_decades(self) -> NDArray[np.bool_]:
        """Mark the intervals of the first look that hold records: their counts stand out, or nearly, beside such."""
        totals, noises, _ = self.decade_counts
        return extend_to_runs(totals > STANDS_OUT * noises, totals > BESIDE * noises)

    @property
    def wide_cells(self) -> NDArray[np.bool_]:
        """Mark the intervals that have more than one number."""
        edges = np.array(self.edges)
        return np.asarray(edges[1:] != np.nextafter(edges[:-1], inf))

    @property
    def has_heaps(self) -> bool:
        """Tell whether single numbers, of those that have cells of their own, hold many records; zero does not count.

        They hold none of a density.
        """
        edges = np.array(self.edges)
        alone = ~self.wide_cells & (edges[:-1] != 0)
        held = float(self.counts[alone].sum())
        return held > max(HEAPS * self.noise * sqrt(alone.sum()), HEAPED * self.records)

    @property
    def _finest_rounds(self) -> list[Evidence]:
        return self._rounds_of_size(max(len(turn.interval_sums.levels[0].starts) for turn in self.rounds))

    def _rounds_of_size(self, intervals: int) -> list[Evidence]:
        return [turn for turn in self.rounds if len(turn.interval_sums.levels[0].starts) == intervals]

    def estimate_significant_counts(self, total: int | None) -> FloatArray:
        """The number of records that each cell seems to hold, from all looks, by empirical Bayes; 0 if that is unclear.

        Args:
            total: The public number of records; None where it is private.
        """
        splits = self.estimate_tree(total)
        return splits.keep_significant_counts(DOUBT)[splits.layout.cell_nodes][1:-1]

    def estimate_likely_counts(self, total: int | None) -> FloatArray:
        """The number of records that each interval of the finest look seems to hold, where also few may tell.

        What `estimate_significant_counts` takes for nothing because of the noise of many empty intervals beside may be clear by itself.
        """
        splits = self.estimate_tree(total)
        clear, expected = (
            each[splits.layout.cell_nodes][1:-1] for each in (splits.keep_significant_counts(DOUBT), splits.counts)
        )
        seen = self.counts > np.where(dilate_mask(clear > 0, REACH), SEEN_THERE, FAINT) * self.noise
        return np.where(seen, np.maximum(np.maximum(clear, expected), self.counts - self.noise), clear)

    def estimate_expected_counts(self, total: int | None) -> FloatArray:
        """The expected number of records of each cell: see `estimate_tree`."""
        return self.estimate_tree(total).cells[1:-1]

    def estimate_tree(self, total: int | None, layout: Layout | None = None) -> TreeEstimate:
        """Expected counts of all intervals, by empirical Bayes, twice: of many empty intervals each noise adds up.

        Args:
            total: The public number of records; None where it is private.
            layout: The tree that the intervals are of; None: `layout`.
        """
        joint = JointEstimate(self.rounds, layout or self.layout)
        records = self.records if total is None else joint.total
        before = reestimate_tree(joint.measurements, records, estimate_tree(joint.measurements, records))
        if total is not None or records < WELL_SEEN * self.noise:
            return before
        return reestimate_tree(joint.measurements, reweighted_total(joint.measurements, before), before)

    @property
    def layout(self) -> Layout:
        """The tree with the intervals of all these looks, down to single cells."""
        return build_nested_layout(self.rounds)

    def build_layout(self, likely: FloatArray, step: float) -> Layout:
        """A tree with the intervals of all looks, in which neighbours that seem to hold nothing stay together longest.

        Args:
            likely: The number of records that each cell seems to hold.
            step: Where values are multiples of it, what lies above one is cut off it last; 0: of none.
        """
        edges, slots = np.array(self.edges), np.arange(len(self.edges) + 2)
        bounds = self._finest_rounds[-1].interval_sums.levels[0].bounds(len(edges) + 1)
        held = np.diff(np.cumsum(np.concatenate([[0.0, 0.0], likely, [0.0]]))[bounds]) > 0
        held_below = np.interp(slots, bounds, np.append(0.0, np.cumsum(dilate_mask(held, WITH_IT))))
        above_single = np.zeros(len(slots), dtype=np.bool_)
        above_single[2:-1] = (edges[1:] == np.nextafter(edges[:-1], inf)) & (step > 0)
        nested = [slots[[0, -1]]]
        for turn in self.rounds:
            bounds = turn.interval_sums.levels[0].bounds(len(edges) + 1)
            empty = np.diff(held_below[bounds]) <= 0
            changes = np.concatenate([[True], empty[1:] != empty[:-1], [True]])
            for kept in (changes, ~above_single[bounds]):
                nested.append(np.union1d(nested[-1], bounds[kept]))
            nested.append(bounds)
        return Layout.from_tilings([*nested, np.union1d(bounds, slots[~above_single])])

    def find_step(self, guess: float = 0.0) -> tuple[float, bool]:
        """The number of whose multiples values may be, from the finest look, 0: of none; and whether they clearly are.

        See `find_value_step` and `are_multiples`. A guess comes first: a look at all its multiples tells of each but little.
        """
        if guess and are_multiples(guess, *self._cumulative_counts, self.records):
            return guess, True
        step = find_value_step(*self._cumulative_counts, self.records)
        return step, step > 0 and are_multiples(step, *self._cumulative_counts, self.records)

    @property
    def _cumulative_counts(self) -> tuple[FloatArray, FloatArray, float]:
        """Ends of the intervals of the finest look, records below each, from the first on, and the noise of a count."""
        bounds = self._finest_rounds[-1].interval_sums.levels[0].bounds(len(self.edges) + 1)[1:-1]
        counts, noise = _average_rounds(self._finest_rounds)
        return np.array(self.edges)[bounds - 1], np.append(0.0, np.cumsum(counts)), noise


def find_value_step(edges: FloatArray, below: FloatArray, noise: float, records: float) -> float:
    """The number of whose multiples values seem to be: of 1, 2 and 5 times powers of ten; 0: of none.

    Single numbers that were counted have to hold more than noise. What they hold, over what lies in so much of the line
    near them, tells how far apart they are: the step is the largest number not much larger than that, of which nearly
    all that they hold lies on multiples. So of few numbers in cells of their own that hold their part of all whole
    numbers the step is 1, however far these are apart.

    Formal guarantees: a pure function of released counts.

    Args:
        edges: The ends of counted intervals, rising.
        below: Noisy numbers of records below each, without bias.
        noise: The standard deviation of the noise of the count of an interval.
        records: About how many records there are.
    """
    place = np.flatnonzero((edges[:-1] != 0) & (edges[1:] == np.nextafter(edges[:-1], inf)))
    if not len(place):
        return 0.0
    numbers, held = edges[place], below[place + 1] - below[place]
    first, last = np.maximum(place - NEAR, 0), np.minimum(place + NEAR + 1, len(edges) - 1)
    zero = int(np.searchsorted(edges, 0.0))
    first = np.where(numbers > 0, np.maximum(first, np.minimum(zero + 1, place)), first)  # many may be 0
    last = np.where(numbers < 0, np.minimum(last, np.maximum(zero, place + 1)), last)
    near, wide = below[last] - below[first], edges[last] - edges[first]
    told = (near > TOLD * noise * np.sqrt(last - first)) & (wide > SMALLEST)
    numbers, held, dense = numbers[told], held[told], float((near[told] / wide[told]).sum())
    if held.sum() <= max(HEAPS * noise * sqrt(len(held)), HEAPED * records):
        return 0.0
    apart = SPACED * float(held.sum()) / dense
    power = floor(log10(apart)) if apart > SMALLEST else 0
    for step in (digit * 10.0**each for each in range(power, power - DECADES_TRIED, -1) for digit in (5, 2, 1)):
        off = ~are_whole_multiples(numbers, step)
        if step <= apart and held[off].sum() <= OFF * held.sum():
            return float(f"{step:.0e}")
    return 0.0


def are_multiples(
    step: float, edges: FloatArray, below: FloatArray, noise: float, records: float, *, clearly: bool = True
) -> bool:
    """Tell whether nearly all records between multiples of the step, each counted by itself, are such multiples.

    `find_value_step` alone would tell a step of a density, too, some values of which are heaped on round numbers.
    Arguments are those of `find_value_step`; `clearly` asks for most records, and for little noise.

    Formal guarantees: a pure function of released counts.

    >>> edges, ulp = np.array([1.0, 2.0, 3.0]), np.spacing(np.array([1.0, 2.0, 3.0]))
    >>> ends = np.ravel([edges, edges + ulp], order="F")
    >>> are_multiples(1.0, ends, np.array([0, 90, 90, 180, 180, 270.0]), 1.0, 270)
    True
    >>> are_multiples(1.0, ends, np.array([0, 30, 90, 120, 180, 210.0]), 1.0, 270)
    False
    """
    known = np.abs(edges[:-1]) < step * 2.0**53
    first = np.flatnonzero(known & (edges[1:] == np.nextafter(edges[:-1], inf)))
    first = first[are_whole_multiples(edges[first], step)]
    next_one = multiples_of(step, np.rint(edges[first] / step) + 1)
    then = np.searchsorted(edges, next_one)
    one = edges[np.minimum(then, len(edges) - 1)] == next_one
    first, then = first[one], then[one]
    seen, off = float((below[then] - below[first]).sum()), float((below[then] - below[first + 1]).sum())
    unsure = noise * sqrt((then - first - 1).sum())
    if clearly:
        return seen > MOST_SEEN * records and off <= OFF * seen + unsure and off + 2 * unsure <= BETWEEN * seen
    return seen > SOME_SEEN * records and off <= OFF * seen + 2 * unsure and unsure <= BETWEEN * seen


def sum_significant_stretches(counts: FloatArray, variances: FloatArray) -> float:
    """The sum over the stretch that stands most deviations of its noise out of it, and over others that do by `FAINT`.

    >>> sum_significant_stretches(np.array([1.0, -2.0, 40.0, 20.0, 3.0, -6.0, 1.0]), np.full(7, 25.0))
    60.0
    """
    below, noise = (np.append(0.0, np.cumsum(each)) for each in (counts, variances))
    out = (below - below[:, None]) / np.sqrt(np.maximum(np.abs(noise - noise[:, None]), LEAST_VARIANCE))
    out, found = np.triu(out, 1), 0.0
    while True:
        first, last = np.unravel_index(int(np.argmax(out)), out.shape)
        if out[first, last] <= (FAINT if found else 0.0):
            return found
        found += float(below[last] - below[first])
        out[:last, first + 1 :] = 0.0  # all stretches that have a part in this one


def dilate_mask(marked: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
    """Mark also those that are so many places from a marked one at most.

    >>> dilate_mask(np.array([False, False, True, False, False]), 1).tolist()
    [False, True, True, True, False]
    """
    found = np.convolve(marked, np.ones(2 * most + 1))[most : most + len(marked)]
    return np.asarray(found > NEARLY)


def extend_to_runs(marked: NDArray[np.bool_], likely: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark what is likely, too, in each run that has something marked.

    >>> extend_to_runs(np.array([False, True, False, False]), np.array([True, False, False, True])).tolist()
    [True, True, False, False]
    """
    found = marked | likely
    ends = np.flatnonzero(np.diff(np.concatenate([[False], found, [False]]))).tolist()
    for first, last in zip(ends[::2], ends[1::2], strict=True):
        found[first:last] = marked[first:last].any()
    return found


def _average_rounds(alike: Sequence[Evidence]) -> tuple[FloatArray, float]:
    """Counts of the same intervals, those beyond left out, and the standard deviation of their noise."""
    weights = [1 / max(turn.interval_sums.levels[0].noise.variance, LEAST_VARIANCE) for turn in alike]
    counts = np.average(
        [turn.values[1 : len(turn.interval_sums.levels[0].starts) - 1] for turn in alike], axis=0, weights=weights
    )
    return np.asarray(counts, dtype=np.float64), 1 / sqrt(sum(weights))


@dataclass(frozen=True, eq=False)
class _SearchState:
    """Everything asked so far.

    Attributes:
        column: The column that is counted.
        pilot_counts: Answers.
        releases: Answers as they came.
        remaining_budget: The part of the loss that is left.
    """

    column: str
    pilot_counts: PilotCounts
    releases: tuple[Release, ...] = ()
    remaining_budget: Fraction = ALL

    @property
    def slots(self) -> int:
        """The number of counted cells."""
        return len(self.pilot_counts.edges) + 1

    def ask_tilings(self, tilings: Tilings, share: Fraction) -> Strategy[_SearchState]:
        """Ask for one more turn. Its number makes it another question than those before, with noise of its own."""
        query = PartitionQuery(
            (TypedAxis(self.column, self.pilot_counts.grid),), tilings, round_number=len(self.releases)
        )
        release = yield Step(query, share)
        looks = replace(self.pilot_counts, rounds=(*self.pilot_counts.rounds, Evidence.from_release(release)))
        return replace(
            self, pilot_counts=looks, releases=(*self.releases, release), remaining_budget=self.remaining_budget - share
        )

    def ask_pilot_query(self, share: Fraction) -> Strategy[_SearchState]:
        """Ask for a count of every cell."""
        return (yield from self.ask_tilings((range(self.slots),), share))

    def refine_cells(self, cells: float, believed: FloatArray, alone: SingletonRule, step: float = 0.0) -> _SearchState:
        """Go on with about so many cells more, most of them where records seem to lie."""
        edges = refine_edges(self.pilot_counts.edges, allocate_cells(believed), cells, alone, step)
        return replace(self, pilot_counts=self.pilot_counts.move_to_edges(edges))


def search_and_count(workload: AutomaticRangeWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Look, look closer, and count: see above."""
    turns = yield from _SearchState(workload.column, PilotCounts(DECADES)).ask_pilot_query(FIRST[0])
    for share in FIRST[1:]:
        if turns.pilot_counts.counts.max() < FAINT * turns.pilot_counts.noise:
            turns = yield from turns.ask_pilot_query(share)
    one, total = max(sqrt(setting.count_noise().variance), LEAST_VARIANCE), setting.adjacency.public_record_count
    heaped, believed = False, turns.pilot_counts.estimate_likely_counts(total)
    for part in MOSTLY:
        records = turns.pilot_counts.records
        if believed[turns.pilot_counts.wide_cells].max() < part * records:
            break
        wanted = max(STANDING_OUT * one / records, min(IN_CELLS * one / records, TENTH))
        share = min(max(Fraction(round(100 * wanted), 100), CLOSER), MOST_OF_LEFT * turns.remaining_budget)
        cells = _clip_cell_count(LOOKED_AT, LOOKS * float(share) * records / one)
        turns = yield from turns.refine_cells(cells, believed, SingletonRule.EDGES).ask_pilot_query(share)
        heaped, believed = heaped or turns.pilot_counts.has_heaps, turns.pilot_counts.estimate_likely_counts(total)
    cells = _clip_cell_count(CELLS, turns.pilot_counts.records / (2 * one))
    alone = SingletonRule.ROUNDER if heaped else SingletonRule.TWO_DIGITS if cells >= SINGLES else SingletonRule.ZERO
    (step, sure), glanced = turns.pilot_counts.find_step(), False
    if step and not sure:
        turns = yield from turns.refine_cells(cells, believed, SingletonRule.EDGES, step).ask_pilot_query(GLANCE)
        (step, sure), glanced, believed = (
            turns.pilot_counts.find_step(step),
            True,
            turns.pilot_counts.estimate_likely_counts(total),
        )
    if sure:
        finer, glanced = turns.refine_cells(cells, believed, SingletonRule.ZERO, step), True
    else:
        finer, step = turns.refine_cells(cells, believed, alone), 0.0
    return (yield from _count_on_cells(turns, finer, believed, setting, step, atoms_searched=glanced))


def search_range(workload: AutomaticGridWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Look three times, with a third of the loss each: closer where an interval seems to hold many, else again.

    The grid goes beyond all intervals that seem to hold records, and counts values outside apart. Its cells are narrow
    where records seem to lie.
    """
    share = ALL / LOOKS_ALONE
    turns, total = (
        (yield from _SearchState(workload.column, PilotCounts(DECADES)).ask_pilot_query(share)),
        setting.adjacency.public_record_count,
    )
    for _ in range(LOOKS_ALONE - 1):
        believed = turns.pilot_counts.estimate_significant_counts(total)
        if believed[turns.pilot_counts.wide_cells].max() >= MOSTLY[-1] * turns.pilot_counts.records:
            turns = turns.refine_cells(LOOKED_AT[0], believed, SingletonRule.ZERO)
        turns = yield from turns.ask_pilot_query(share)
    believed = turns.pilot_counts.estimate_significant_counts(total)
    inside = np.flatnonzero(believed)
    first, last = (int(inside[0]), int(inside[-1]) + 1) if len(inside) else (0, len(believed))
    known, shares = turns.pilot_counts.edges[first : last + 1], allocate_cells(believed)[first:last]
    edges = refine_edges(*_widen_range(known, shares), workload.cells)
    return TableCounts(turns.releases, turns.pilot_counts.rounds, Grid.from_edges(edges, outside=Outside.APART))


def _widen_range(edges: tuple[float, ...], shares: FloatArray) -> tuple[tuple[float, ...], FloatArray]:
    """These intervals with one more at each end, of half the width of all, but not across zero; and parts of cells.

    >>> _widen_range((10.0, 20.0, 50.0), np.array([1.0, 1.0]))[0], _widen_range((0.0, 10.0), np.array([1.0]))[0]
    ((0.0, 10.0, 20.0, 50.0, 70.0), (0.0, 10.0, 15.0))
    """
    low, high, half = edges[0], edges[-1], (edges[-1] - edges[0]) / 2
    below, above = (float(f"{end:.1e}") for end in (low - half, high + half))
    below, above = max(below, 0.0) if low >= 0 else below, min(above, 0.0) if high <= 0 else above
    before, behind = edges[:0], edges[:0]
    if below < low:
        before, shares = (below,), np.append(NEIGHBOURS[0] * shares[0], shares)
    if above > high:
        behind, shares = (above,), np.append(shares, NEIGHBOURS[0] * shares[-1])
    return (*before, *edges, *behind), shares / shares.sum()


def _clip_cell_count(ends: tuple[int, int], cells: float) -> float:
    return min(max(cells, ends[0]), ends[1])


def _count_on_cells(
    pilot_state: _SearchState,
    state: _SearchState,
    likely: FloatArray,
    setting: Setting,
    step: float,
    *,
    atoms_searched: bool,
) -> Strategy[TableCounts]:
    """Count on cells that were chosen: at once, or with a look at all of them before, if there are atoms.

    Neighbours that seem to hold nothing are counted together, and so is all from a multiple of a step to the next one.

    Args:
        pilot_state: All looks, on their own cells.
        state: These looks, on the chosen cells.
        likely: The number of records that each cell of the looks seems to hold.
        setting: Loss and adjacency.
        step: The number of whose multiples values are; 0: of none.
        atoms_searched: Whether atoms were looked for.
    """
    total, looks = setting.adjacency.public_record_count, state.pilot_counts
    place = np.searchsorted(np.array(looks.edges), np.array(pilot_state.pilot_counts.edges))
    below = np.interp(np.arange(len(looks.edges)), place, np.append(0.0, np.cumsum(likely)))
    halved = looks.build_layout(np.diff(below), step)
    splits = looks.estimate_tree(total, halved)
    if not atoms_searched and splits.even_probability <= CLEAR and has_atoms(splits):
        glance = find_atom_tilings(splits, setting.count_noise(GLANCE))
        state = yield from state.ask_tilings(_all_cells_if_single(glance, state.slots), GLANCE)
        splits = state.pilot_counts.estimate_tree(total, halved)
    noise = setting.count_noise(state.remaining_budget)
    with np.errstate(over="ignore"):
        ends = np.concatenate([[-inf], np.array(looks.edges) / (step or 1.0), [inf]])
    least, multiples = np.concatenate([below[:1], below, below[-1:]]), np.ceil(ends.clip(-LARGEST, LARGEST) - NEARLY)
    least = least[halved.begin + halved.width] - least[halved.begin]
    several = multiples[halved.begin + halved.width] - multiples[halved.begin] > 1 if step else halved.width > 1
    several |= splits.counts > max(MOST_IN_ONE[0] * looks.records, MOST_IN_ONE[1] * sqrt(noise.variance))
    if looks.records < ENOUGH * sqrt(noise.variance):
        held = np.maximum(splits.counts, least) > HELD * sqrt(noise.variance)
        last: Tilings = (tuple(first_cells_of_nodes(halved, find_leaves(halved, held & several)).tolist()),)
    else:
        last = refine_last_tilings(splits, noise, several, least)
    state = yield from state.ask_tilings(_all_cells_if_single(last, state.slots), state.remaining_budget)
    read = state.pilot_counts.rounds
    return TableCounts(
        state.releases, read, looks.grid, pilot_queries=len(looks.rounds), uses_all_rounds=True, step=step
    )


def _all_cells_if_single(tilings: Tilings, slots: int) -> Tilings:
    """These tilings; all cells, if nothing stands out."""
    return tilings if len(tilings[-1]) > 1 else (range(slots),)


def refuse_range_search(workload: AutomaticRangeWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Refuse to look for a range, where records are counted only once.

    Raises:
        UnsupportedQuery: always.
    """
    raise UnsupportedQuery(
        "grid",
        "this trust model counts once, so it cannot look for a range first: give a grid of public cells "
        "(dpcurves task suggest proposes one from a public sample)",
    )


# The next cells, from released numbers: many where records seem to lie, with edges at numbers as people write them.


def allocate_cells(counts: FloatArray) -> FloatArray:
    """The part of all cells that each interval is given: as records seem to lie in it, or near it.

    >>> allocate_cells(np.array([0.0, 0.0, 10.0, 0.0, 0.0])).round(2).tolist()
    [0.05, 0.15, 0.6, 0.15, 0.05]
    """
    own = counts if counts.any() else np.ones_like(counts)
    shares = own.copy()
    for distance, part in enumerate(NEIGHBOURS, start=1):
        shares[distance:] = np.maximum(shares[distance:], part * own[:-distance])
        shares[:-distance] = np.maximum(shares[:-distance], part * own[distance:])
    return np.asarray(shares / shares.sum())


def refine_edges(
    edges: tuple[float, ...],
    shares: FloatArray,
    cells: float,
    alone: SingletonRule = SingletonRule.ZERO,
    step: float = 0.0,
) -> tuple[float, ...]:
    """Edges of about so many cells more, at round numbers.

    Args:
        edges: The edges of intervals.
        shares: The part of all cells that each of these gets.
        cells: About how many there will be.
        alone: The numbers that have cells of their own.
        step: The number of whose multiples values are, and edges, too; 0: of none.
    """
    found, near = set(edges), {0.0}
    for (low, high), part in zip(pairwise(edges), shares.tolist(), strict=True):
        wanted = part * cells
        inner = multiples_between(low, high, wanted, step) if step else round_numbers_between(low, high, wanted)
        found.update(inner)
        near.update((low, *inner, high) if wanted > WORTH_ONE else ())
    heaped = near.intersection(_select_singletons(sorted(found), alone))
    return tuple(sorted(found.union(nextafter(edge, inf) for edge in heaped if edges[0] < edge < edges[-1])))


def _select_singletons(edges: list[float], alone: SingletonRule) -> list[float]:
    """Those of the edges, rising, that are to have cells of their own; not those where such a cell ends."""
    known = np.array(edges)
    known = np.append(known[0], known[1:][known[1:] != np.nextafter(known[:-1], inf)])
    if alone is SingletonRule.EDGES:
        return list(known.tolist())
    found = [
        edge
        for edge in known.tolist()
        if edge == 0 or (alone is not SingletonRule.ZERO and edge == float(f"{edge:.1e}"))
    ]
    if alone is SingletonRule.ROUNDER:
        widths = np.diff(known)
        steps = np.minimum(np.append(widths, inf), np.append(inf, widths))
        tens = known / 10.0 ** np.ceil(np.log10(np.maximum(steps, SMALLEST)) - NEARLY)
        found += known[np.abs(tens - np.rint(tens)) < NEARLY].tolist()
    return found


def round_numbers_between(low: float, high: float, cells: float) -> list[float]:
    """Round numbers strictly between two numbers, which cut them in about so many cells.

    Cells are about as wide as each other if the numbers are close, else in their logarithm, with edges at 1, 2 and 5
    times powers of ten. Edges are the doubles nearest to decimals, so values that are written so are on edges.

    >>> round_numbers_between(1.0, 2.0, 4), round_numbers_between(-100.0, -80.0, 2), round_numbers_between(1.0, 1000.0, 6)
    ([1.2, 1.4, 1.6, 1.8], [-90.0], [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0])
    """
    if high <= 0:
        return [-edge for edge in reversed(round_numbers_between(-high, -low, cells))]
    if cells < FEWEST or low <= 0:
        return []
    if high <= CLOSE * low:
        return _decimal_multiples_between(low, high, cells)
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    marks = [edge for edge in (float(f"{digit}e{power}") for power in powers for digit in TENTHS) if low < edge < high]
    if 2 * cells < len(marks):
        step = ceil(len(marks) / cells)
        return marks[step // 2 :: step]
    dense = cells / log(high / low)
    inner = (
        _decimal_multiples_between(*ends, dense * log(ends[1] / ends[0])) for ends in pairwise([low, *marks, high])
    )
    return sorted({*marks, *(edge for part in inner for edge in part)})


def multiples_between(low: float, high: float, cells: float, step: float) -> list[float]:
    """Multiples of the step, 1, 2 or 5 times a power of ten, strictly between: all, or round ones for so many cells.

    >>> multiples_between(0.0, 10.0, 1, 2.0), multiples_between(1000.0, 2000.0, 4, 2.0)
    ([2.0, 4.0, 6.0, 8.0], [1200.0, 1400.0, 1600.0, 1800.0])
    """
    if (high - low) / step <= max(FEWEST * cells, FEW_MULTIPLES if cells > WORTH_ONE else 0):
        found = multiples_of(step, np.arange(floor(low / step), ceil(high / step) + 1)).tolist()
        return [edge for edge in found if low < edge < high]
    inner = np.array(round_numbers_between(low, high, cells))
    return list(inner[are_whole_multiples(inner, step)].tolist())


def are_whole_multiples(numbers: FloatArray, step: float) -> NDArray[np.bool_]:
    """Mark multiples of the step, but for rounding; numbers with no digits so small are."""
    with np.errstate(over="ignore"):
        steps = np.clip(numbers / step, -(2.0**53), 2.0**53)
    return np.asarray(np.abs(steps - np.rint(steps)) < NEARLY)


def _decimal_multiples_between(low: float, high: float, cells: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, strictly between, which make at least so many cells."""
    if cells < FEWEST:
        return []
    width = (high - low) / cells
    if not width >= SMALLEST:
        return []
    power = floor(log10(width))
    digit = max(digit for digit in TENTHS if digit == 1 or digit * 10.0**power <= width)
    first, last = floor(low / (digit * 10.0**power)), ceil(high / (digit * 10.0**power))
    if max(abs(first), abs(last)) >= 2**53:
        return []
    edges = (float(f"{each * digit}e{power}") for each in range(first, last + 1))
    return [edge for edge in edges if low < edge < high]
