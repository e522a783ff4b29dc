"""Detect rounded (discrete) values: a private test whether nearly all numbers of a column are multiples of one step.

A *lattice* is the set of multiples of a step such as 0.05, 1 or 5. If all numbers lie on a lattice and each of its
points has a separate cell, numbers in one cell are equal, so their order is known. This narrows the intervals of
statistics that depend on the order of pairs of records, such as the area under a ROC curve (*pair statistics*).

    search_lattice     column, step -> whether a lattice holds nearly all numbers, and noisy counts of its points
    search_edges       the same for the edges of a grid
    spend_remainder    runs the question's own queries with the rest of the loss
    choose_step        the step, from the public grid alone; `find_edge_step` for its edges

The search has up to two rounds, that is noisy queries with a public fraction of the loss each:

    1  pilot query     counts numbers on the lattice, off the lattice, and zeros, which lie on every lattice
    2  second count    only if few seem to be off: counts again, with more loss, in one cell per point if asked for

Formal guarantees: a record lies in one cell of each query, or is missing, so each query loses exactly its fraction of
the loss. Which query follows depends on earlier noisy answers alone, and the fractions add up to 1 for all answers, so
by adaptive composition (Dwork and Roth 2014, section 3.5) all queries together lose the granted loss.

>>> choose_step(Grid(0, 120, cells=120), most_points=40), find_edge_step(Grid(0, 1, cells=100))
(5.0, 0.01)
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, log10
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..conversation import WHOLE_BUDGET, Evidence, Release, Setting, Step, Strategy, TableCounts
from ..data import Axis, Grid, LatticeAxis, Spacing
from ..data.axis import find_multiples
from ..queries import CountQuery, CountUse


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the search for a lattice; chosen on scores of `benchmarks/accuracy_marks.py`, part C."""

    least_ratio: float = 400.0
    """Signal-to-noise ratio (records times epsilon over sensitivity) below which no lattice is searched: the noise of
    the pilot query would exceed a fifth of the records."""
    pilot_ratio: float = 40.0
    """Signal-to-noise ratio that the pilot query aims at: numbers off a lattice are known to 5 % of the records."""
    pilot_fractions: tuple[Fraction, Fraction] = (Fraction(1, 1000), Fraction(1, 40))
    """Least and largest fraction of the loss of the pilot query: what columns without a lattice lose by the search."""
    count_fraction: Fraction = Fraction(1, 10)
    """Fraction of the loss that counts the numbers off a lattice that was found."""
    pairs_ratio: float = 250.0
    """Signal-to-noise ratio that the second count aims at, with `count_fraction` at most, if only pair statistics use
    it: numbers off the lattice are then known to 0.4 % of the records."""
    pairs_pilot_fraction: Fraction = Fraction(1, 200)
    """Fraction of the loss. The pilot query for pair statistics if the number of records is private. It is wasted if
    records are few; at `least_pairs_ratio` it counts all records with a standard error of 5 %."""
    least_pairs_ratio: float = 10_000.0
    """Signal-to-noise ratio below which no lattice is searched for pair statistics alone: the search would take more
    than 3 % of the loss from the curve of the same release, which does not need it."""
    fewest_pair_cells: int = 64
    """Cells of the grid below which no lattice is searched for pair statistics of a private number of records: each
    curve would pay for the pilot query, and an analyst can declare so few values instead."""
    fewest_pair_records: int = 10_000
    """Records below which no lattice is searched for pair statistics, at any epsilon: sampling errors are then larger
    than the effect of the unknown order inside cells."""
    pilot_off_share: float = 0.2
    """Share of the numbers that are not zero which the pilot query may find off the lattice: four standard deviations
    of its noise if no record is zero. Counts that are all equal, as of a plan without data, have one half."""
    off_share: float = 0.05
    """Share of the numbers that are not the most common one which the second count may find off a lattice that is
    used."""
    on_share: float = 0.2
    """Share of the records that must lie on other points: four standard deviations of the noise of the pilot query.
    The lattice of fewer records would be a guess."""
    fewest_points: int = 3
    """Points. A lattice with fewer points inside the grid is not tried."""
    cells_per_point: int = 2
    """Cells of the grid per point of a lattice, from which the lattice is tried: a coarser grid stays as declared."""


TUNING = Tuning()
"""The values that the search uses."""


class FoundLattice(NamedTuple):
    """A lattice that holds nearly all numbers of a column.

    Attributes:
        points: Points of the lattice within the grid, in units of the column, increasing, of shape ``(points,)``.
        release: The noisy counts of the second round: numbers on the lattice, and last the numbers off it.
    """

    points: FloatArray
    release: Release


class LatticeSearch(NamedTuple):
    """The result of a search for a lattice.

    Attributes:
        releases: Releases of the search, in order; empty if nothing was asked.
        budget_fraction: Fraction of the question's loss that these releases spent, from 0.
        lattice: The lattice; None if the numbers seem to lie on none.
    """

    releases: tuple[Release, ...]
    budget_fraction: Fraction
    lattice: FoundLattice | None


NO_LATTICE_SEARCH = LatticeSearch((), Fraction(0), None)
"""The result without a search: no loss was spent, and the strategy has its whole loss."""


def search_lattice(
    axis: Axis, step: float, records: float | None, ratio: float, *, has_points: bool = False, only_pairs: bool = False
) -> Generator[Step, Release, LatticeSearch]:
    """Yield one or two queries that test whether nearly all numbers of a column lie on a lattice; return the result.

    A generator: it yields a `Step` (query and budget fraction), receives its `Release`, and returns a `LatticeSearch`.
    If the pilot query finds many numbers off the lattice, no second query is asked and the result has no lattice. For
    pair statistics of a private number of records, the pilot query also counts all records, and the search ends if
    these are few.

    Formal guarantees: a record lies in one cell of each query, or is missing. The second query and its fraction are
    functions of the first answer and of public facts. For each first answer the second round loses this fraction and
    the strategy that follows the rest (`spend_remainder`), so all rounds lose the whole loss by adaptive composition.

    Args:
        axis: The column on its grid.
        step: Step of the lattice, in units of the column, as from `choose_step`.
        records: The public or counted number of records; None if these queries count them.
        ratio: Signal-to-noise ratio at the whole loss (records times epsilon over sensitivity): of all records, or of
            one record if `records` is None.
        has_points: True if the second count has a cell for each point, because the caller treats other numbers as their
            nearest point. False: numbers on the lattice are counted together, as in the pilot query.
        only_pairs: True if only pair statistics use the second count, which then spends no more than these need.
    """
    lattice = LatticeAxis.from_axis(axis, step)
    counts_pairs = only_pairs and records is None
    fraction = choose_pilot_fraction(TUNING.least_ratio if records is None else ratio)
    if counts_pairs:
        fraction = TUNING.pairs_pilot_fraction
    fewest_records = TUNING.least_ratio / ratio if records is None else records
    pilot = yield Step(CountQuery((lattice,), CountUse.CELLS), fraction)
    is_searched = _lie_on_lattice(pilot, fewest_records, TUNING.pilot_off_share)
    if counts_pairs:
        found_records = float(Evidence.from_release(pilot).unbiased_cells.sum())
        ratio *= found_records
        is_searched = is_searched and has_enough_pairs(found_records, ratio)
    if not is_searched:
        return LatticeSearch((pilot,), fraction, None)
    # Points or prefixes make it another query than the pilot query, with new noise.
    if has_points:
        query = CountQuery((LatticeAxis.from_axis(axis, step, has_points=True),), CountUse.CELLS)
    else:
        query = CountQuery((lattice,), CountUse.PREFIXES)
    count_fraction = TUNING.count_fraction
    if only_pairs:
        count_fraction = min(count_fraction, _round_fraction(TUNING.pairs_ratio / max(ratio, 1.0)))
    release = yield Step(query, count_fraction)
    is_used = _lie_on_lattice(release, fewest_records, TUNING.off_share)
    found = FoundLattice(find_points(axis.grid, step), release) if is_used else None
    return LatticeSearch((pilot, release), fraction + count_fraction, found)


def _lie_on_lattice(release: Release, fewest_records: float, off_share: float) -> bool:
    """Return True if the noisy counts show that few numbers lie off the lattice (multiples of a step) and enough lie on
    it.

    The most common number (or zero, if points were counted together) is left out of the numbers on the lattice: a
    number off the lattice is treated as its nearest point, and if most records are 0, few others off the lattice could
    be most of all that is not 0. Both conditions must hold: the others on the lattice are more than `Tuning.on_share`
    of all records, and numbers off it are at most `off_share` of all numbers but the most common one.

    Args:
        release: Counts on the lattice, followed by the count of numbers off it.
        fewest_records: A lower bound of the number of records.
        off_share: Largest share of numbers off the lattice.
    """
    *points, off = Evidence.from_release(release).unbiased_cells[0].tolist()
    common = max(points) if len(points) > 2 else points[0]
    on = sum(points) - common
    records = max(fewest_records, on + common + off)
    return bool(on > TUNING.on_share * records and off <= off_share * (on + max(off, 0.0)))


def spend_remainder(strategy: Strategy[TableCounts], search: LatticeSearch) -> Generator[Step, Release, TableCounts]:
    """Run a strategy with the loss that a lattice search did not spend, and return its counts together with those of
    the search.

    A strategy is a generator of queries with budget fractions that add up to 1; it receives each release and returns
    noisy counts.

    Formal guarantees: the strategy's fractions add up to the whole loss that it was made for, for all answers. Here
    each is multiplied by the remaining fraction, so search and strategy add up to the whole loss.

    Args:
        strategy: A strategy that would spend the whole loss.
        search: The result of the search. `NO_LATTICE_SEARCH` leaves the strategy its whole loss.

    Returns:
        The strategy's counts; `releases` begins with the releases of the search, and `lattice_counts` is its second
        count, None if no lattice was found.
    """
    remaining = WHOLE_BUDGET - search.budget_fraction
    try:
        step = next(strategy)
        while True:
            step = strategy.send((yield Step(step.query, step.budget_fraction * remaining)))
    except StopIteration as end:
        counts: TableCounts = end.value
        lattice_counts = None if search.lattice is None else Evidence.from_release(search.lattice.release)
        return replace(counts, releases=(*search.releases, *counts.releases), lattice_counts=lattice_counts)


def search_edges(
    axis: Axis, setting: Setting, ratio: float, *, only_pairs: bool = False
) -> Generator[Step, Release, LatticeSearch]:
    """Yield queries that test whether nearly all numbers of a column are edges of its grid, as `search_lattice` does.

    Nothing is asked, and `NO_LATTICE_SEARCH` is returned, if the edges are not multiples of a round step
    (`find_edge_step`), if the column holds predictions of a model, if the loss has rho 0, or if records are known to be
    too few.

    Args:
        axis: The column on its grid.
        setting: Loss of the question, and adjacency, which may have a public number of records.
        ratio: Signal-to-noise ratio of one record at the whole loss (epsilon over sensitivity).
        only_pairs: True if only pair statistics use the result. Then the search needs many records
            (`has_enough_pairs`), by their public number or by the pilot query.
    """
    records = setting.adjacency.public_record_count
    step = find_edge_step(axis.grid)
    if not step or not isinstance(axis.column, str) or setting.loss.rho == 0:
        return NO_LATTICE_SEARCH
    if records is None:
        if only_pairs and axis.grid.cells < TUNING.fewest_pair_cells:
            return NO_LATTICE_SEARCH
        return (yield from search_lattice(axis, step, None, ratio, only_pairs=only_pairs))
    is_searched = has_enough_pairs(records, records * ratio) if only_pairs else records * ratio >= TUNING.least_ratio
    if not is_searched:
        return NO_LATTICE_SEARCH
    return (yield from search_lattice(axis, step, records, records * ratio, only_pairs=only_pairs))


def has_enough_pairs(records: float, ratio: float) -> bool:
    """Return True if there are enough records for a lattice search to be worth its loss for statistics of pairs alone.

    Args:
        records: The public or counted number of records.
        ratio: The signal-to-noise ratio of all records at the whole loss.
    """
    return records >= TUNING.fewest_pair_records and ratio >= TUNING.least_pairs_ratio


def find_edge_step(grid: Grid) -> float:
    """Return the step whose multiples are the edges of a grid: 1, 2 or 5 times a power of ten.

    The result depends on the public grid alone.

    Args:
        grid: The grid of the column.

    Returns:
        The step in units of the column; 0 if no such step exists, cells have unequal widths, or there are fewer than 3
        or more than 2**16 cells.

    >>> [find_edge_step(Grid(*ends, cells=cells)) for *ends, cells in ((0, 128, 128), (0, 1, 100), (0, 1, 64))]
    [1.0, 0.01, 0.0]
    """
    lower, upper = grid.endpoints
    width = (upper - lower) / grid.cells
    most_cells = 2**16  # all edges are compared
    if grid.spacing is not Spacing.LINEAR or not TUNING.fewest_points <= grid.cells <= most_cells:
        return 0.0
    power = floor(log10(width) + 1e-9)
    step = float(f"{round(width / 10.0**power)}e{power}") if -15 <= power <= 15 else 0.0
    if step not in {float(f"{digit}e{power}") for digit in (1, 2, 5)}:
        return 0.0
    return step if np.array_equal(find_points(grid, step), grid.edges) else 0.0


def choose_pilot_fraction(ratio: float) -> Fraction:
    """Return the fraction of the loss that the pilot query gets.

    Args:
        ratio: Signal-to-noise ratio at the whole loss (records times epsilon over sensitivity); values below 1, which a
            noisy count of records can give, count as 1.

    >>> [float(choose_pilot_fraction(ratio)) for ratio in (-20, 400, 4_000, 10**9)]
    [0.025, 0.025, 0.01, 0.001]
    """
    least, largest = TUNING.pilot_fractions
    return max(least, min(largest, _round_fraction(TUNING.pilot_ratio / max(ratio, 1.0))))


def _round_fraction(fraction: float) -> Fraction:
    """Return a budget fraction rounded to a multiple of a thousandth, and at least a thousandth.

    Args:
        fraction: Number between 0 and 1.
    """
    return Fraction(max(round(1000 * fraction), 1), 1000)


def choose_step(grid: Grid, most_points: int) -> float:
    """Return the step of the finest lattice with few points inside a grid: 1 or 5 times a power of ten.

    The result depends on the public grid alone.

    Args:
        grid: The grid of the column.
        most_points: Largest number of points; at most half the number of cells is used.

    Returns:
        The step in units of the column; 0 if no such lattice has at least `Tuning.fewest_points` points and at most as
        many as allowed.

    >>> from dpcurves.data import UNIT_INTERVAL
    >>> choose_step(UNIT_INTERVAL, 64), choose_step(Grid(0, 120, cells=120), 40), choose_step(UNIT_INTERVAL, 2)
    (0.05, 5.0, 0.0)
    """
    lower, upper = grid.endpoints
    most = min(most_points, grid.cells // TUNING.cells_per_point)
    power = floor(log10(upper - lower))
    if not -15 <= power <= 15:  # beyond, multiples are no exact doubles
        return 0.0
    steps = (float(f"{digit}e{exponent}") for exponent in range(power, power - 4, -1) for digit in (5, 1))
    return min((step for step in steps if TUNING.fewest_points <= _count_points(grid, step) <= most), default=0.0)


def _count_points(grid: Grid, step: float) -> int:
    """Return approximately how many multiples of a step lie in the range of a grid.

    Args:
        grid: The grid.
        step: The step, in units of the column.
    """
    first, last = find_multiples(*grid.endpoints, step)
    return last - first + 1


def find_points(grid: Grid, step: float) -> FloatArray:
    """Return the multiples of a step inside a grid, as `LatticeAxis` computes them.

    Args:
        grid: The grid.
        step: The step, in units of the column.

    Returns:
        Increasing numbers in units of the column, of shape ``(points,)``.

    >>> find_points(Grid(0, 1, cells=8), 0.1)[[0, 3, 10]].tolist()
    [0.0, 0.3, 1.0]
    """
    lower, upper = grid.endpoints
    first, last = find_multiples(lower, upper, step)
    numbers = np.arange(first, last + 1, dtype=np.float64)
    points = numbers * step if step >= 1 else numbers / round(1 / step)
    return points[(points >= lower) & (points <= upper)]
