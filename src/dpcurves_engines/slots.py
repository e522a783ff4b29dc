"""Slots and pieces of tables in public text, for SQL of engines beside DuckDB. No record was looked at."""

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
"""By how much of a cell a value may be guessed to lie higher than it does."""
LEAST_WIDTH = 1e-290
"""A product for narrower cells might underflow, which PostgreSQL takes for an error."""


def tabulate_units(counted: Iterable[tuple[int | None, int, int]], slots: int, doublings: int) -> IntArray:
    """The table of `CountsUnits.sized_units`, from the slot, the rows and the number of units that have these.

    A slot that is None, or the one behind all, is that of a missing value.

    >>> tabulate_units([(0, 1, 5), (1, 3, 2), (None, 9, 1)], 2, 2).tolist()
    [5, 0, 0, 0, 0, 2, 0, 0, 1]
    """
    table = np.zeros((doublings + 2) * slots + 1, dtype=np.int64)
    for slot, rows, units in counted:
        missing = slot is None or slot >= slots
        table[-1 if missing else min((rows - 1).bit_length(), doublings + 1) * slots + (slot or 0)] += units
    return table


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces of the last axis, in each row of the others; rows of all pieces lie one behind the other.

    Attributes:
        grid: The grid of the last axis.
        slot_counts: How many slots of each row every entry asks for, (rows, entries).
        piece_ends: Numbers of slots, rising, that pieces end at; the last piece has no end.
    """

    grid: Grid
    slot_counts: IntArray
    piece_ends: IntArray

    @classmethod
    def from_entries(cls, bound: Sequence[BoundAxis], at: Sequence[int]) -> Pieces:
        """The fewest pieces by which the first slots of the table, so many for each entry, can be counted."""
        *first, last = bound
        grid, before = require_grid(last.axis), np.arange(table_size(first))[:, None]
        own = np.clip(np.array(at, dtype=np.int64) - before * grid.slots, 0, grid.slots)
        return cls(grid, own, np.unique(own[(own > 0) & (own < grid.slots)]))

    @property
    def start_values(self) -> FloatArray:
        """The doubles at which all pieces but the first begin."""
        return self.grid.exclusive_bound(self.piece_ends)

    @property
    def count(self) -> int:
        """The number of pieces of a row."""
        return len(self.piece_ends) + 1

    @property
    def zero_counts(self) -> IntArray:
        """A count for each piece of each row, and behind them that of rows that are missing: zeros."""
        return np.zeros(len(self.slot_counts) * self.count + 1, dtype=np.int64)

    def sum_prefixes(self, counts: IntArray) -> list[int]:
        """Each entry's rows, and behind them the missing ones, from counts laid out as `zero_counts` is."""
        below = np.cumsum(counts[:-1].reshape(-1, self.count), axis=1)
        ends = np.clip(np.searchsorted(self.piece_ends, self.slot_counts), 0, self.count - 1)
        inside = np.take_along_axis(below, ends, axis=1)
        each = np.where(self.slot_counts == 0, 0, np.where(self.slot_counts == self.grid.slots, below[:, -1:], inside))
        return [*each.sum(axis=0).tolist(), int(counts[-1])]


def find_clipped_formula(grid: Grid) -> Formula | None:
    """The formula that `find_formula` finds, for x from the first inner edge to the last, and of these the very cell.

    So a value may be clipped to these two before anything is computed of it: one below all inner edges is guessed
    one cell too high, as others are, and one above them all in its own. None also where `edge_sql` does not compute
    the edges of the grid.

    >>> find_clipped_formula(Grid(0, 4, cells=4))
    Formula(scale=1.0, shift=0.0, corrected=False)
    >>> find_clipped_formula(Grid(0, 4, cells=1)) is None
    True
    """
    if not 3 <= grid.cells <= MOST_CHECKED or not _has_edges_above(grid):
        return None
    inner, cells = grid.edges[1:-1], np.arange(1, grid.cells)
    found = fit_formula(grid, inner, np.append(np.nextafter(inner[1:], -np.inf), inner[-1]), cells)
    if found is None:
        return None
    ends = (inner[[0, -1]] - grid.lower) * found.scale + found.shift
    return found if are_floors_within(ends, cells[[0, -1]], cells[[0, -1]]) else None


def _has_edges_above(grid: Grid) -> bool:
    width = (grid.upper - grid.lower) / grid.cells
    return grid.spacing is Spacing.LINEAR and grid.multiplies_first and width > LEAST_WIDTH


class Buckets(NamedTuple):
    """Cells of equal width for SQL's ``width_bucket``, which near an edge may name the cell above a value's own.

    Attributes:
        lower: A little below the first inner edge.
        upper: Just as little below the last one.
        number: How many of them lie between.
        margin: By how much they have to be raised to lie as far above the edges.
    """

    lower: float
    upper: float
    number: int
    margin: float


def find_buckets(grid: Grid) -> Buckets | None:
    """Buckets a little below the cells of a linear grid; None where doubles of some engine might tell them otherwise.

    ``width_bucket`` never falls as its value rises, and errs by far less than the margin that is left here at each
    edge, in whatever order a version of it computes.

    >>> find_buckets(Grid(0, 4, cells=4))
    Buckets(lower=0.9999990463256836, upper=2.9999990463256836, number=2, margin=1.9073486328125e-06)
    """
    width = (grid.upper - grid.lower) / grid.cells
    if not 3 <= grid.cells <= MOST_CHECKED or not _has_edges_above(grid):
        return None
    inner, below = grid.edges[1:-1], width * MARGIN
    found = Buckets(float(inner[0] - below), float(inner[-1] - below), grid.cells - 2, 2 * below)
    ahead = _measure_lead(inner, found.lower, found.upper)
    behind = -_measure_lead(inner, found.lower + found.margin, found.upper + found.margin)
    return found if _is_by_margin(ahead) and _is_by_margin(behind) else None


def _measure_lead(inner: FloatArray, lower: float, upper: float) -> FloatArray:
    """By how much of a bucket each inner edge lies above its bucket."""
    numbers = np.arange(len(inner))
    return (inner - lower) / (upper - lower) * (len(inner) - 1) - numbers


def _is_by_margin(ahead: FloatArray) -> bool:
    return bool(np.all((ahead > MARGIN / 2) & (ahead < MARGIN * 3 / 2)))


def edge_sql(grid: Grid, cell: str, double: Callable[[float], str]) -> str:
    """SQL for the lower edge of a cell between inner edges, or of the first: bit for bit what `Grid.edge` computes.

    Args:
        grid: One for which `find_buckets` finds buckets, or `find_clipped_formula` a formula.
        cell: SQL of a number of a cell, which an engine takes for a double here.
        double: Writes a double.
    """
    lower, width = double(grid.lower), grid.upper - grid.lower
    if grid.cells & (grid.cells - 1):
        return f"{lower} + {cell} * {double(width)} / {double(grid.cells)}"
    return f"{lower} + {cell} * {double(width / grid.cells)}"  # a power of two changes no digit


def find_thresholds(grid: Grid) -> FloatArray:
    """Rising doubles: the slot of a value that is not missing is how many of them it is at or above.

    >>> find_thresholds(Grid(0, 3, cells=3)).tolist()
    [1.0, 2.0]
    """
    return grid.exclusive_bound(np.arange(1, grid.slots))


class OffsetConstants(NamedTuple):
    """Constants of `Grid.offset_of` for each cell: its middle, its width, and values equal to the middle.

    A difference below `zero_below` changes no step, and divided by the width it might underflow: it is taken as zero.
    """

    middle: FloatArray
    width: FloatArray
    zero_below: FloatArray

    @classmethod
    def from_grid(cls, grid: Grid) -> OffsetConstants:
        """The cells of `grid`, in their order, operation by operation as `Grid.offset_of` computes them."""
        edges = grid.edges
        width = edges[1:] - edges[:-1]
        return cls(edges[:-1] + width / 2, width, np.where(width > 1e-250, width, 0.0) * 1e-40)
