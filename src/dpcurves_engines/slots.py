"""Histogram cells in SQL: constants with which PostgreSQL and Spark place a value in its cell. No records are read.

A database must place each value in the cell that `Grid.cell_of` gives, bit for bit. On a grid of cells of equal width
the SQL guesses a cell by a formula, which returns the right cell or the next higher cell; then it compares the value
with that cell's lower edge.

    find_buckets            the guess by ``width_bucket``, with bounds 2**-20 cells below the edges (PostgreSQL)
    find_clipped_formula    the guess by floor((x - lower) * scale + shift) (Spark)
    edge_sql                the lower edge of a cell, computed as `Grid.edge` does
    find_thresholds         the edges of any other grid, among which a value is searched
    PrefixIntervals                  intervals of cells whose counts add up to all prefix counts that a query needs

A *slot* is the position of a value on an axis: its cell, or below or above all cells if the grid counts these apart.
Functions return None where rounding might make the guess wrong by more than one cell.

Formal guarantees: all constants are computed from public grids alone.

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

BUCKET_MARGIN = 2.0**-20
"""Fraction of a cell by which the buckets of ``width_bucket`` begin early: far above its rounding error, so that the
found cell is the right one or the one above it, and one comparison corrects it."""


class Buckets(NamedTuple):
    """Arguments of SQL's ``width_bucket``, which may return the cell above near an edge.

    Attributes:
        lower: Lower bound of the buckets, slightly below the first inner edge.
        upper: Upper bound of the buckets, below the last inner edge by the same amount.
        number: Number of buckets.
        margin: Shift that moves both bounds as far above the edges as they lie below.
    """

    lower: float
    upper: float
    number: int
    margin: float


def find_buckets(grid: Grid) -> Buckets | None:
    """Return arguments of SQL's ``width_bucket`` that find the cell of a value, or the cell above it.

    ``width_bucket`` is monotone, and its rounding error at each edge is far below the margin, in any order of
    operations.

    Args:
        grid: Public cells.

    Returns:
        The arguments; None if cells are not of equal width, fewer than 3 or too many, or if rounding might exceed the
        margin.

    >>> find_buckets(Grid(0, 4, cells=4))
    Buckets(lower=0.9999990463256836, upper=2.9999990463256836, number=2, margin=1.9073486328125e-06)
    """
    width = (grid.upper - grid.lower) / grid.cells
    if not 3 <= grid.cells <= MOST_CHECKED or not _has_exact_edges(grid):
        return None
    inner_edges = grid.edges[1:-1]
    margin = width * BUCKET_MARGIN
    buckets = Buckets(float(inner_edges[0] - margin), float(inner_edges[-1] - margin), grid.cells - 2, 2 * margin)
    lead = _measure_lead(inner_edges, buckets.lower, buckets.upper)
    lag = -_measure_lead(inner_edges, buckets.lower + buckets.margin, buckets.upper + buckets.margin)
    return buckets if _is_by_margin(lead) and _is_by_margin(lag) else None


def find_clipped_formula(grid: Grid) -> Formula | None:
    """Return a linear formula for the cell of a value that was clipped to the inner edges; it may be one cell too high.

    A value below all inner edges comes out one cell too high, as is allowed, and a value above all of them in its own
    cell.

    Args:
        grid: Public cells.

    Returns:
        Scale and shift; None if no exact formula exists, or `edge_sql` does not compute the edges of the grid.

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
    """Return True if `edge_sql` computes the edges exactly.

    This needs a linear grid with cells wider than 1e-290, on which edges are multiples of the width.

    Args:
        grid: Public cells.
    """
    width = (grid.upper - grid.lower) / grid.cells
    # products with smaller widths could underflow, an error in PostgreSQL
    return grid.spacing is Spacing.LINEAR and grid.multiplies_first and width > 1e-290


def _measure_lead(inner: FloatArray, lower: float, upper: float) -> FloatArray:
    """Return how far each inner edge lies above the bound of its ``width_bucket`` bucket, as a fraction of a bucket.

    Args:
        inner: Inner edges of the grid, increasing.
        lower: Lower bound of the first bucket.
        upper: Upper bound of the last bucket.

    Returns:
        Distances, (edges,).
    """
    numbers = np.arange(len(inner))
    return (inner - lower) / (upper - lower) * (len(inner) - 1) - numbers


def _is_by_margin(ahead: FloatArray) -> bool:
    """Return True if all edges lie as far above the bounds of their buckets as planned: 1/2 to 3/2 of `BUCKET_MARGIN`.

    Args:
        ahead: Distances as fractions of a bucket, of any shape.
    """
    return bool(np.all((ahead > BUCKET_MARGIN / 2) & (ahead < BUCKET_MARGIN * 3 / 2)))


def edge_sql(grid: Grid, cell: str, double: Callable[[float], str]) -> str:
    """Return SQL of the lower edge of a cell, bit for bit as `Grid.edge` computes it.

    Args:
        grid: A grid for which `find_buckets` or `find_clipped_formula` returned a result.
        cell: SQL of a cell number.
        double: Function that formats a double as SQL.
    """
    lower = double(grid.lower)
    width = grid.upper - grid.lower
    if grid.cells & (grid.cells - 1):
        return f"{lower} + {cell} * {double(width)} / {double(grid.cells)}"
    return f"{lower} + {cell} * {double(width / grid.cells)}"  # exact: division by a power of two


def find_thresholds(grid: Grid) -> FloatArray:
    """Return the thresholds of a grid. The slot of a value is the number of thresholds at or below it.

    Args:
        grid: Public cells.

    Returns:
        Increasing numbers in units of the column, (slots - 1,).

    >>> find_thresholds(Grid(0, 3, cells=3)).tolist()
    [1.0, 2.0]
    """
    return grid.exclusive_bound(np.arange(1, grid.slots))


class OffsetConstants(NamedTuple):
    """Constants of `Grid.offset_of` for each cell.

    Attributes:
        middle: Middle of each cell.
        width: Width of each cell.
        zero_below: A distance from the middle below which the offset is 0. Dividing so small a distance by the width
            could underflow, which is an error in PostgreSQL.
    """

    middle: FloatArray
    width: FloatArray
    zero_below: FloatArray

    @classmethod
    def from_grid(cls, grid: Grid) -> OffsetConstants:
        """Return the constants of a grid's cells, by the same floating-point operations as `Grid.offset_of`.

        Args:
            grid: Public cells.
        """
        edges = grid.edges
        width = edges[1:] - edges[:-1]
        return cls(edges[:-1] + width / 2, width, np.where(width > 1e-250, width, 0.0) * 1e-40)


@dataclass(frozen=True, slots=True)
class PrefixIntervals:
    """A partition of the last axis into intervals, from whose counts all prefix counts of a query follow.

    Attributes:
        grid: The grid of the last axis.
        slot_counts: Number of slots of each row in each prefix, (rows, prefixes).
        interval_ends: Increasing slot numbers at which intervals end, without the end of the last.
    """

    grid: Grid
    slot_counts: IntArray
    interval_ends: IntArray

    @classmethod
    def from_entries(cls, bound: Sequence[BoundAxis], lengths: Sequence[int]) -> PrefixIntervals:
        """Return the coarsest division of the last axis into intervals from whose counts these prefix counts follow.

        Args:
            bound: Axes of the table; the last one has a grid.
            lengths: Numbers of cells of each prefix, counted row by row over the whole table.
        """
        *first, last = bound
        grid = require_grid(last.axis)
        row_numbers = np.arange(table_size(first))[:, None]
        slot_counts = np.clip(np.array(lengths, dtype=np.int64) - row_numbers * grid.slots, 0, grid.slots)
        return cls(grid, slot_counts, np.unique(slot_counts[(slot_counts > 0) & (slot_counts < grid.slots)]))

    @property
    def start_values(self) -> FloatArray:
        """Lower bound of each interval of the last axis but the first, in units of the column."""
        return self.grid.exclusive_bound(self.interval_ends)

    @property
    def count(self) -> int:
        """Number of intervals into which the last axis is divided."""
        return len(self.interval_ends) + 1

    @property
    def zero_counts(self) -> IntArray:
        """Array of zeros, to which an engine adds its counts: one for each row of the table and interval of the last
        axis, and a last one for missing records.
        """
        return np.zeros(len(self.slot_counts) * self.count + 1, dtype=np.int64)

    def sum_prefixes(self, counts: IntArray) -> list[int]:
        """Return the count of each prefix of the table, then the count of missing records.

        Args:
            counts: Number of records for each row and interval, laid out as `zero_counts`.
        """
        running_counts = np.cumsum(counts[:-1].reshape(-1, self.count), axis=1)
        ends = np.clip(np.searchsorted(self.interval_ends, self.slot_counts), 0, self.count - 1)
        inside = np.take_along_axis(running_counts, ends, axis=1)
        prefix_counts = np.where(
            self.slot_counts == 0, 0, np.where(self.slot_counts == self.grid.slots, running_counts[:, -1:], inside)
        )
        return [*prefix_counts.sum(axis=0).tolist(), int(counts[-1])]


def tabulate_units(counted: Iterable[tuple[int | None, int, int]], slots: int, doublings: int) -> IntArray:
    """Return numbers of privacy units by class of their number of rows and by cell, as one array, for a pilot query.

    It has the layout of `CountsUnits.sized_units`: all cells of the first size class, then of the next, and last the
    units with a missing value.

    Args:
        counted: Tuples of cell, rows per unit and number of units. A cell of None or `slots` means a missing value.
        slots: Number of cells.
        doublings: Number of classes of doubling size beyond the class of one row; the last class has all larger units.

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
