"""Search for a public lattice on which nearly all numbers lie: tenths, halves, whole numbers, fives and the like.

The order of numbers inside a cell is not counted. Numbers on a lattice with a cell for each of its points are tied
there, so nothing about them is unknown. A pilot query shows whether nearly all numbers lie on one lattice; only then a
second count says how many do not.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import ceil, floor, log10
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..conversation import Evidence, Release, Step
from ..data import Axis, Grid, LatticeAxis
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
    off_share: float = 0.2
    """Share of the records off a lattice up to which it is used."""
    on_share: float = 2 / 3
    """Share of the records that must lie on a lattice: above that of counts that are all equal, as of a plan without
    data."""
    fewest_points: int = 3
    """Points. Lattices with fewer points inside the grid are not tried."""
    most_steps: int = 3
    """Lattices. Largest number of lattices in a search: the finest ones with few enough points."""
    cells_per_point: int = 2
    """Cells of the grid per point of a lattice, from which the lattice is tried: a coarser grid stays as declared."""


TUNING = Tuning()
"""The tuning that is used."""


class FoundLattice(NamedTuple):
    """A lattice that holds nearly all numbers.

    Attributes:
        points: Its points within the grid, (points,).
        release: The counts of numbers on the points and beside them.
    """

    points: FloatArray
    release: Release


class LatticeSearch(NamedTuple):
    """The result of a search.

    Attributes:
        releases: Releases of the search, in order.
        budget_fraction: Fraction of the loss that they spent.
        lattice: The lattice; None: the numbers seem to lie on none.
    """

    releases: tuple[Release, ...]
    budget_fraction: Fraction
    lattice: FoundLattice | None


NOT_SEARCHED = LatticeSearch((), Fraction(0), None)
"""The result without a search."""


def search_lattice(
    axis: Axis, steps: tuple[float, ...], records: float, ratio: float
) -> Generator[Step, Release, LatticeSearch]:
    """Ask on which lattice the numbers of an axis lie, and if nearly all lie on one, how many do not.

    Formal guarantees: a record lies in one cell of each query, or is missing. The second query is a function of the
    first answer; both fractions are public, so both rounds lose their fractions by adaptive composition.

    Args:
        axis: The numbers on their grid.
        steps: Steps of the lattices, as from `choose_steps`.
        records: The public or counted number of records.
        ratio: The signal-to-noise ratio of all records at the whole loss.
    """
    fraction = choose_pilot_fraction(ratio)
    pilot = yield Step(CountQuery((LatticeAxis.from_steps(axis, steps),), CountUse.CELLS), fraction)
    step = find_step(steps, Evidence.from_release(pilot).unbiased_cells[0], records)
    if not step:
        return LatticeSearch((pilot,), fraction, None)
    # prefixes make it another query than a pilot query of this step alone, with new noise
    query = CountQuery((LatticeAxis.from_steps(axis, (step,)),), CountUse.PREFIXES)
    release = yield Step(query, TUNING.count_fraction)
    lattice = FoundLattice(find_points(axis.grid, step), release)
    return LatticeSearch((pilot, release), fraction + TUNING.count_fraction, lattice)


def choose_pilot_fraction(ratio: float) -> Fraction:
    """Return the budget fraction of the pilot query at this signal-to-noise ratio.

    >>> [float(choose_pilot_fraction(ratio)) for ratio in (-20, 400, 4_000, 10**9)]
    [0.025, 0.025, 0.01, 0.001]
    """
    least, largest = TUNING.pilot_fractions
    return max(least, min(largest, Fraction(round(1000 * TUNING.pilot_ratio / max(ratio, 1.0)), 1000)))


def find_step(steps: tuple[float, ...], counts: FloatArray, records: float) -> float:
    """Return the largest step of which nearly all numbers seem to be multiples; 0 for none.

    Args:
        steps: The steps in decreasing order.
        counts: Noisy counts by the first step that fits, then of numbers that no step fits.
        records: The number of records.

    >>> find_step((0.5, 0.1, 0.05), np.array([250.0, 720.0, 3.0, -8.0]), 1000)
    0.1
    >>> find_step((0.5, 0.1, 0.05), np.array([2.0, -3.0, 9.0, 980.0]), 1000)
    0.0
    """
    off = counts.sum() - np.cumsum(counts)[:-1]
    fits = off <= TUNING.off_share * records
    # numbers on the lattice are many by their own counts too, so that missing records are not taken for them
    fits &= np.cumsum(counts)[:-1] > TUNING.on_share * records
    return float(steps[int(fits.argmax())]) if fits.any() else 0.0


def choose_steps(grid: Grid, most_points: int) -> tuple[float, ...]:
    """Return the steps, 1 or 5 times a power of ten, of the finest lattices that have few points inside a grid.

    Every step is a multiple of the next one. The result is a function of public facts alone.

    >>> from dpcurves.data import UNIT_INTERVAL
    >>> choose_steps(UNIT_INTERVAL, 64), choose_steps(Grid(0, 120, cells=120), 40)
    ((0.5, 0.1, 0.05), (50.0, 10.0, 5.0))
    """
    lower, upper = grid.endpoints
    most = min(most_points, grid.cells // TUNING.cells_per_point)
    power = floor(log10(upper - lower))
    if most < TUNING.fewest_points or not -15 <= power <= 15:  # beyond, multiples are no exact doubles
        return ()
    steps = (float(f"{digit}e{exponent}") for exponent in range(power, power - 4, -1) for digit in (5, 1))
    fitting = [step for step in steps if TUNING.fewest_points <= _count_points(grid, step) <= most]
    return tuple(islice(fitting, max(len(fitting) - TUNING.most_steps, 0), None))


def _count_points(grid: Grid, step: float) -> int:
    """Return about how many multiples of a step lie in a grid."""
    lower, upper = grid.endpoints
    return floor(upper / step + 1e-9) - ceil(lower / step - 1e-9) + 1


def find_points(grid: Grid, step: float) -> FloatArray:
    """Return the multiples of a step inside a grid, (points,), as `LatticeAxis` computes them.

    >>> find_points(Grid(0, 1, cells=8), 0.1)[[0, 3, 10]].tolist()
    [0.0, 0.3, 1.0]
    """
    lower, upper = grid.endpoints
    numbers = np.arange(ceil(lower / step - 1e-9), floor(upper / step + 1e-9) + 1, dtype=np.float64)
    points = numbers * step if step >= 1 else numbers / round(1 / step)
    return points[(points >= lower) & (points <= upper)]
