"""Search for a lattice on which nearly all numbers of a column lie, such as the multiples of 0.05, 1 or 5.

Counts on a grid do not show the order of numbers inside a cell. If all numbers lie on a lattice and each point has its
own cell, numbers in one cell are tied, so nothing about their order is unknown. This narrows intervals of readings that
depend on order, for instance of the area under a ROC curve.

The search has up to two rounds (`search_lattice`). A pilot query shows whether nearly all numbers lie on the lattice.
Only then a second count says how many do not, and the lattice is used if these are few. The pilot query counts zeros
apart, because zero lies on every lattice.

Where numbers off a lattice are read as its nearest points, they must be few compared with the numbers other than the
most common one, such as zero, one half or one. Else most of what is known of other numbers would be read as that one.
So the lattice is the finest one with few enough points, and the second count has a cell for each point.

Formal guarantees: a record lies in one cell of each query, or is missing; fractions are public, so the rounds compose
adaptively. Lattices are chosen from the public grid.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, log10
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..conversation import ALL, Evidence, Release, Setting, Step, Strategy, TableCounts
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
    """Fractions of the loss. Least and largest fraction of the pilot query: what other numbers lose by the search."""
    count_fraction: Fraction = Fraction(1, 10)
    """Fraction of the loss that counts the numbers off a lattice that was found."""
    pairs_ratio: float = 250.0
    """Signal-to-noise ratio that this count aims at, with `count_fraction` at most, where only readings over pairs use
    it: numbers off the lattice are known to 0.4 % of the records."""
    least_pairs_ratio: float = 10_000.0
    """Signal-to-noise ratio below which readings over pairs search no lattice: the search would cost a curve, which
    does not need it, more than 3 % of the loss."""
    fewest_pair_records: int = 10_000
    """Records below which readings over pairs search no lattice, however large epsilon is: sampling errors are then
    larger than what is unknown inside cells."""
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
"""The tuning that is used."""


class FoundLattice(NamedTuple):
    """A lattice that holds nearly all numbers of a column.

    Attributes:
        points: Points of the lattice within the grid, increasing, of shape ``(points,)``.
        release: The noisy counts of numbers on the points and beside them.
    """

    points: FloatArray
    release: Release


class LatticeSearch(NamedTuple):
    """The result of a search for a lattice.

    Attributes:
        releases: Releases of the search, in order.
        budget_fraction: Fraction of the loss that they spent.
        lattice: The lattice; None if the numbers seem to lie on none.
    """

    releases: tuple[Release, ...]
    budget_fraction: Fraction
    lattice: FoundLattice | None


NOT_SEARCHED = LatticeSearch((), Fraction(0), None)
"""The result without a search."""


def search_lattice(
    axis: Axis, step: float, records: float | None, ratio: float, *, has_points: bool = False, only_pairs: bool = False
) -> Generator[Step, Release, LatticeSearch]:
    """Ask whether nearly all numbers of a column lie on a lattice, and if so, how many do not.

    Formal guarantees: a record lies in one cell of each query, or is missing. The second query is a function of the
    first answer. Both fractions are public, so both rounds lose their fractions by adaptive composition.

    Args:
        axis: The column on its grid.
        step: Step of the lattice, in units of the column, as from `choose_step`.
        records: The public or counted number of records; None if these queries count them.
        ratio: Signal-to-noise ratio of all records at the whole loss; without their number, of one record.
        has_points: True if the second count has a cell for each point, because other numbers are read as points.
        only_pairs: True if only readings over pairs use the second count, which then has no more of the loss than they
            need.
    """
    lattice = LatticeAxis.from_axis(axis, step)
    fraction = choose_pilot_fraction(TUNING.least_ratio if records is None else ratio)
    fewest_records = TUNING.least_ratio / ratio if records is None else records
    pilot = yield Step(CountQuery((lattice,), CountUse.CELLS), fraction)
    if not _lie_on_lattice(pilot, fewest_records, TUNING.pilot_off_share):
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
    """Return True if nearly all numbers lie on the lattice by these counts, and if they are many of all records.

    Left out are zeros, or the most common number if each point has a cell.

    Args:
        release: Counts on the lattice, ended by the count of numbers off it.
        fewest_records: A number of records that is known not to be too large.
        off_share: Largest share of the numbers that may lie off the lattice.
    """
    *points, off = Evidence.from_release(release).unbiased_cells[0].tolist()
    common = max(points) if len(points) > 2 else points[0]
    on = sum(points) - common
    records = max(fewest_records, on + common + off)
    return bool(on > TUNING.on_share * records and off <= off_share * (on + max(off, 0.0)))


def spend_remainder(strategy: Strategy[TableCounts], search: LatticeSearch) -> Generator[Step, Release, TableCounts]:
    """Run a strategy with the loss that a search left; return its counts together with those of the search.

    Formal guarantees: the strategy's steps add up to the whole loss that it was made for, for all answers. Here each is
    scaled by the remaining fraction, so search and strategy add up to the whole loss.

    Args:
        strategy: A strategy that would spend the whole loss.
        search: What the search found, and the fraction that it spent.
    """
    remaining = ALL - search.budget_fraction
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
    """Ask whether nearly all numbers of a column are edges of its grid.

    Nothing is asked in two cases: edges are not multiples of a step that numbers are often rounded to, or records are
    known to be few.

    Args:
        axis: The column on its grid.
        setting: Loss and adjacency.
        ratio: Signal-to-noise ratio of one record at the whole loss.
        only_pairs: True if only readings over pairs use the result: then edges are searched only if records are known
            to be many.
    """
    records = setting.adjacency.public_record_count
    step = find_edge_step(axis.grid)
    if not step or not isinstance(axis.column, str) or setting.loss.rho == 0:
        return NOT_SEARCHED
    if records is None:
        return NOT_SEARCHED if only_pairs else (yield from search_lattice(axis, step, None, ratio))
    if records * ratio < (TUNING.least_pairs_ratio if only_pairs else TUNING.least_ratio):
        return NOT_SEARCHED
    if only_pairs and records < TUNING.fewest_pair_records:
        return NOT_SEARCHED
    return (yield from search_lattice(axis, step, records, records * ratio, only_pairs=only_pairs))


def find_edge_step(grid: Grid) -> float:
    """Return the step of which the edges of a grid are the multiples: 1, 2 or 5 times a power of ten; 0 if there is
    none.

    The result depends on the public grid alone.

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
    """Return the budget fraction of the pilot query at this signal-to-noise ratio.

    >>> [float(choose_pilot_fraction(ratio)) for ratio in (-20, 400, 4_000, 10**9)]
    [0.025, 0.025, 0.01, 0.001]
    """
    least, largest = TUNING.pilot_fractions
    return max(least, min(largest, _round_fraction(TUNING.pilot_ratio / max(ratio, 1.0))))


def _round_fraction(fraction: float) -> Fraction:
    """Return the fraction as a multiple of a thousandth, at least one."""
    return Fraction(max(round(1000 * fraction), 1), 1000)


def choose_step(grid: Grid, most_points: int) -> float:
    """Return the step of the finest lattice with few points inside a grid: 1 or 5 times a power of ten; 0 if there is
    none.

    The result depends on the public grid alone.

    Args:
        grid: The grid of the column.
        most_points: Largest number of points.

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
    """Return about how many multiples of a step lie in a grid."""
    first, last = find_multiples(*grid.endpoints, step)
    return last - first + 1


def find_points(grid: Grid, step: float) -> FloatArray:
    """Return the multiples of a step inside a grid, increasing, of shape ``(points,)``, as `LatticeAxis` computes them.

    >>> find_points(Grid(0, 1, cells=8), 0.1)[[0, 3, 10]].tolist()
    [0.0, 0.3, 1.0]
    """
    lower, upper = grid.endpoints
    first, last = find_multiples(lower, upper, step)
    numbers = np.arange(first, last + 1, dtype=np.float64)
    points = numbers * step if step >= 1 else numbers / round(1 / step)
    return points[(points >= lower) & (points <= upper)]
