"""Formulas and constants of grids for the SQL of PostgreSQL and Spark. Reads no records.

Engines must place each value in the cell that `Grid.cell_of` gives, bit for bit. On a linear grid SQL takes a first
guess that is the right cell or the one above it, and compares the value with that cell's edge:

    find_buckets            ``width_bucket`` with bounds 2**-20 cells below the edges
    find_clipped_formula    floor((x - lower) * scale + shift)
    edge_sql                the lower edge of a cell, computed as `Grid.edge` does

Other grids are searched by their edges (`find_thresholds`). `Pieces` are the intervals that prefix counts need.

Formal guarantees: all constants are computed from public grids, and None is returned where rounding could exceed the
margin.

>>> edge_sql(Grid(0, 3, cells=3), "cell", repr), find_thresholds(Grid(0, 3, cells=3)).tolist()
('0.0 + cell * 3.0 / 3', [1.0, 2.0])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpcurves.arrays import FloatArray, IntArray
from dpcurves.data import Grid, Spacing
from dpcurves.records.engines.engine import (
    MOST_CHECKED,
    BoundAxis,
    Formula,
    are_floors_within,
    fit_formula,
    require_grid,
    table_size,
)

MARGIN = 2.0**-20
"""Cells. Fraction of a cell by which a formula may place a value too high."""


def tabulate_units(counted: Iterable[tuple[int | None, int, int]], slots: int, doublings: int) -> IntArray:
    """Return the table of `CountsUnits.sized_units` from tuples of slot, rows per unit and number of units.

    A slot of None or `slots` means a missing value.

    >>> tabulate_units([(0, 1, 5), (1, 3, 2), (None, 9, 1)], 2, 2).tolist()
    [5, 0, 0, 0, 0, 2, 0, 0, 1]
    """
    table = np.zeros((doublings + 2) * slots + 1, dtype=np.int64)
    for slot, rows, units in counted:
        if slot is None or slot >= slots:
            table[-1] += units
        else:
            size_class = min((rows - 1).bit_length(), doublings + 1)
            table[size_class * slots + slot] += units
    return table


@dataclass(frozen=True, slots=True)
class Pieces:
    """A partition of the last axis into the intervals that prefix counts need, for each row of the other axes.

    Attributes:
        grid: The grid of the last axis.
        slot_counts: The number of slots of each row in each prefix, shape (rows, entries).
        piece_ends: Increasing slot numbers at which intervals end, except the last.
    """

    grid: Grid
    slot_counts: IntArray
    piece_ends: IntArray

    @classmethod
    def from_entries(cls, bound: Sequence[BoundAxis], lengths: Sequence[int]) -> Pieces:
        """Return the coarsest partition from which the prefixes of these lengths can be counted."""
        *first, last = bound
        grid = require_grid(last.axis)
        row_numbers = np.arange(table_size(first))[:, None]
        slot_counts = np.clip(np.array(lengths, dtype=np.int64) - row_numbers * grid.slots, 0, grid.slots)
        return cls(grid, slot_counts, np.unique(slot_counts[(slot_counts > 0) & (slot_counts < grid.slots)]))

    @property
    def start_values(self) -> FloatArray:
        """The lower bounds of all intervals but the first, in units of the column."""
        return self.grid.exclusive_bound(self.piece_ends)

    @property
    def count(self) -> int:
        """The number of intervals per row."""
        return len(self.piece_ends) + 1

    @property
    def zero_counts(self) -> IntArray:
        """Zero counts: one per row and interval, then one for missing records."""
        return np.zeros(len(self.slot_counts) * self.count + 1, dtype=np.int64)

    def sum_prefixes(self, counts: IntArray) -> list[int]:
        """Return the count of each prefix, then of missing records, from counts laid out as `zero_counts`."""
        running_counts = np.cumsum(counts[:-1].reshape(-1, self.count), axis=1)
        ends = np.clip(np.searchsorted(self.piece_ends, self.slot_counts), 0, self.count - 1)
        inside = np.take_along_axis(running_counts, ends, axis=1)
        prefix_counts = np.where(
            self.slot_counts == 0, 0, np.where(self.slot_counts == self.grid.slots, running_counts[:, -1:], inside)
        )
        return [*prefix_counts.sum(axis=0).tolist(), int(counts[-1])]


def find_clipped_formula(grid: Grid) -> Formula | None:
    """Return the formula of `find_formula` for values clipped to the inner edges, exact at these; None if there is
    none.

    Values below all inner edges are then placed one cell too high, as the formula may do, and values above all of them
    in their own cell. None also if `edge_sql` does not compute the edges of the grid.

    >>> find_clipped_formula(Grid(0, 4, cells=4))
    Formula(scale=1.0, shift=0.0, needs_correction=False)
    >>> find_clipped_formula(Grid(0, 4, cells=1)) is None
    True
    """
    if not 3 <= grid.cells <= MOST_CHECKED or not _has_exact_edges(grid):
        return None
    inner_edges = grid.edges[1:-1]
    cells = np.arange(1, grid.cells)
    formula = fit_formula(grid, inner_edges, np.append(np.nextafter(inner_edges[1:], -np.inf), inner_edges[-1]), cells)
    if formula is None:
        return None
    ends = (inner_edges[[0, -1]] - grid.lower) * formula.scale + formula.shift
    return formula if are_floors_within(ends, cells[[0, -1]], cells[[0, -1]]) else None


def _has_exact_edges(grid: Grid) -> bool:
    """Return whether `edge_sql` computes the edges of a grid exactly: cells are linear and wider than 1e-290, and
    integer edges are exact."""
    width = (grid.upper - grid.lower) / grid.cells
    # products with smaller widths could underflow, an error in PostgreSQL
    return grid.spacing is Spacing.LINEAR and grid.multiplies_first and width > 1e-290


class Buckets(NamedTuple):
    """Arguments of SQL's ``width_bucket``, which may return the cell above near an edge.

    Attributes:
        lower: Slightly below the first inner edge.
        upper: Below the last inner edge by the same amount.
        number: The number of buckets.
        margin: The shift after which the bounds lie above the edges by that amount.
    """

    lower: float
    upper: float
    number: int
    margin: float


def find_buckets(grid: Grid) -> Buckets | None:
    """Return arguments of SQL's ``width_bucket`` that find a value's cell of a linear grid or the cell above it; None
    if rounding might exceed the margin. The buckets lie slightly below the cells.

    ``width_bucket`` is monotone, and its rounding error is far below the margin at each edge, in any order of
    operations.

    >>> find_buckets(Grid(0, 4, cells=4))
    Buckets(lower=0.9999990463256836, upper=2.9999990463256836, number=2, margin=1.9073486328125e-06)
    """
    width = (grid.upper - grid.lower) / grid.cells
    if not 3 <= grid.cells <= MOST_CHECKED or not _has_exact_edges(grid):
        return None
    inner_edges = grid.edges[1:-1]
    margin = width * MARGIN
    buckets = Buckets(float(inner_edges[0] - margin), float(inner_edges[-1] - margin), grid.cells - 2, 2 * margin)
    lead = _measure_lead(inner_edges, buckets.lower, buckets.upper)
    lag = -_measure_lead(inner_edges, buckets.lower + buckets.margin, buckets.upper + buckets.margin)
    return buckets if _is_by_margin(lead) and _is_by_margin(lag) else None


def _measure_lead(inner: FloatArray, lower: float, upper: float) -> FloatArray:
    """Return the distance of each inner edge above its bucket's bound, in buckets."""
    numbers = np.arange(len(inner))
    return (inner - lower) / (upper - lower) * (len(inner) - 1) - numbers


def _is_by_margin(ahead: FloatArray) -> bool:
    """Return True if all distances are between half the margin and one and a half margins."""
    return bool(np.all((ahead > MARGIN / 2) & (ahead < MARGIN * 3 / 2)))


def edge_sql(grid: Grid, cell: str, double: Callable[[float], str]) -> str:
    """Return SQL of a cell's lower edge, bit for bit as `Grid.edge` computes it.

    Arguments:
        grid: A grid with buckets (`find_buckets`) or a formula (`find_clipped_formula`).
        cell: SQL of a cell number.
        double: Formats a double as SQL.
    """
    lower = double(grid.lower)
    width = grid.upper - grid.lower
    if grid.cells & (grid.cells - 1):
        return f"{lower} + {cell} * {double(width)} / {double(grid.cells)}"
    return f"{lower} + {cell} * {double(width / grid.cells)}"  # exact: division by a power of two


def find_thresholds(grid: Grid) -> FloatArray:
    """Return increasing thresholds: the slot of a value is the number of thresholds at or below it.

    >>> find_thresholds(Grid(0, 3, cells=3)).tolist()
    [1.0, 2.0]
    """
    return grid.exclusive_bound(np.arange(1, grid.slots))


class OffsetConstants(NamedTuple):
    """Constants of `Grid.offset_of` per cell: middle, width, and a bound below which a difference counts as zero.

    Differences below `zero_below` do not change the offset, but dividing them by the width could underflow.
    """

    middle: FloatArray
    width: FloatArray
    zero_below: FloatArray

    @classmethod
    def from_grid(cls, grid: Grid) -> OffsetConstants:
        """Compute the constants by the same floating-point operations as `Grid.offset_of`."""
        edges = grid.edges
        width = edges[1:] - edges[:-1]
        return cls(edges[:-1] + width / 2, width, np.where(width > 1e-250, width, 0.0) * 1e-40)
