"""The public description of slots, from which the dialect of each engine is written. No record was looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import isfinite, isnan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray
from ...data.axis import Categories, Category
from ...data.grid import Grid, Spacing
from ..column import Kind

MOST_CHECKED = 2**24
EXACT_IN_DOUBLES = 2**53
MARGIN = 2.0**-20
"""By how much of a cell a value may be guessed to lie higher than it does."""
LEAST_WIDTH = 1e-290
"""A product for narrower cells might underflow, which PostgreSQL takes for an error."""


class Formula(NamedTuple):
    """``floor((x - lower) * scale + shift)`` is the cell of every x below the last inner edge, or one above it.

    Attributes:
        corrected: Whether it may be one above, and the edge itself has to be compared.
    """

    scale: float
    shift: float
    corrected: bool


def formula_of(grid: Grid) -> Formula | None:
    """The formula for the cells of a linear grid; None where there is none that doubles compute well enough.

    The formula never falls as x rises. So it is right for every x if it is right at every edge and at the last
    double below every edge, and these are public: all of them are tried here.

    >>> formula_of(Grid(0, 1, cells=4))
    Formula(scale=4.0, shift=0.0, corrected=False)
    >>> formula_of(Grid(-100, 1300, cells=4096)).corrected
    True
    """
    if grid.spacing is not Spacing.LINEAR or grid.cells > MOST_CHECKED:
        return None
    edges, cells = grid.edges[:-1], np.arange(grid.cells - 1)
    return _formula(grid, edges[:-1], np.nextafter(edges[1:], -np.inf), cells)


def clipped_formula_of(grid: Grid) -> Formula | None:
    """The formula that `formula_of` finds, for x from the first inner edge to the last, and of these the very cell.

    So a value may be clipped to these two before anything is computed of it: one below all inner edges is guessed
    one cell too high, as others are, and one above them all in its own. None also where `edge_above` does not compute
    the edges of the grid.

    >>> clipped_formula_of(Grid(0, 4, cells=4))
    Formula(scale=1.0, shift=0.0, corrected=False)
    >>> clipped_formula_of(Grid(0, 4, cells=1)) is None
    True
    """
    if not 3 <= grid.cells <= MOST_CHECKED or not _has_edges_above(grid):
        return None
    inner, cells = grid.edges[1:-1], np.arange(1, grid.cells)
    found = _formula(grid, inner, np.append(np.nextafter(inner[1:], -np.inf), inner[-1]), cells)
    if found is None:
        return None
    ends = (inner[[0, -1]] - grid.lower) * found.scale + found.shift
    return found if _all_in(ends, cells[[0, -1]], cells[[0, -1]]) else None


def _formula(grid: Grid, first: FloatArray, last: FloatArray, cells: NDArray[np.int64]) -> Formula | None:
    """A formula that is right for the first and the last double of each of these cells."""
    scale = grid.cells / (grid.upper - grid.lower)
    if not isfinite(scale):
        return None
    first, last = (first - grid.lower) * scale, (last - grid.lower) * scale
    if _all_in(first, cells, cells) and _all_in(last, cells, cells):
        return Formula(scale, 0.0, corrected=False)
    shift = float(np.max(cells - first, initial=0.0)) + 4 * float(np.spacing(float(grid.cells)))
    fits = _all_in(first + shift, cells, cells + 1) and _all_in(last + shift, cells, cells + 1)
    return Formula(scale, shift, corrected=True) if fits else None


def _has_edges_above(grid: Grid) -> bool:
    width = (grid.upper - grid.lower) / grid.cells
    return grid.spacing is Spacing.LINEAR and grid.multiplies_first and width > LEAST_WIDTH


def _all_in(found: NDArray[np.float64], least: NDArray[np.int64], most: NDArray[np.int64]) -> bool:
    floors = np.floor(found)
    return bool(np.all((least <= floors) & (floors <= most)))


class Buckets(NamedTuple):
    """Even buckets for ``width_bucket``: of a value at or above the first inner edge its cell, or one above it.

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


def buckets_of(grid: Grid) -> Buckets | None:
    """Buckets a little below the cells of a linear grid; None where doubles of some engine might tell them otherwise.

    ``width_bucket`` never falls as its value rises, and errs by far less than the margin that is left here at each
    edge, in whatever order a version of it computes.

    >>> buckets_of(Grid(0, 4, cells=4))
    Buckets(lower=0.9999990463256836, upper=2.9999990463256836, number=2, margin=1.9073486328125e-06)
    """
    width = (grid.upper - grid.lower) / grid.cells
    if not 3 <= grid.cells <= MOST_CHECKED or not _has_edges_above(grid):
        return None
    inner, below = grid.edges[1:-1], width * MARGIN
    found = Buckets(float(inner[0] - below), float(inner[-1] - below), grid.cells - 2, 2 * below)
    ahead = _ahead(inner, found.lower, found.upper)
    behind = -_ahead(inner, found.lower + found.margin, found.upper + found.margin)
    return found if _is_by_margin(ahead) and _is_by_margin(behind) else None


def _ahead(inner: FloatArray, lower: float, upper: float) -> FloatArray:
    """By how much of a bucket each inner edge lies above its bucket."""
    numbers = np.arange(len(inner))
    return (inner - lower) / (upper - lower) * (len(inner) - 1) - numbers


def _is_by_margin(ahead: FloatArray) -> bool:
    return bool(np.all((ahead > MARGIN / 2) & (ahead < MARGIN * 3 / 2)))


def edge_above(grid: Grid, cell: str, double: Callable[[float], str]) -> str:
    """SQL for the lower edge of a cell between inner edges, or of the first: bit for bit what `Grid.edge` computes.

    Args:
        grid: One for which `buckets_of` finds buckets, or `clipped_formula_of` a formula.
        cell: SQL of a number of a cell, which an engine takes for a double here.
        double: Writes a double.
    """
    lower, width = double(grid.lower), grid.upper - grid.lower
    if grid.cells & (grid.cells - 1):
        return f"{lower} + {cell} * {double(width)} / {double(grid.cells)}"
    return f"{lower} + {cell} * {double(width / grid.cells)}"  # a power of two changes no digit


def thresholds_of(grid: Grid) -> FloatArray:
    """Rising doubles: the slot of a value that is not missing is how many of them it is at or above.

    >>> thresholds_of(Grid(0, 3, cells=3)).tolist()
    [1.0, 2.0]
    """
    return grid.bound(np.arange(1, grid.slots))


class Offsets(NamedTuple):
    """Constants of `Grid.offset_of` for each cell: its middle, its width, and values equal to the middle.

    A difference below `nothing` changes no step, and divided by the width it might underflow: it is taken as zero.
    """

    middle: FloatArray
    width: FloatArray
    nothing: FloatArray

    @classmethod
    def of(cls, grid: Grid) -> Offsets:
        """The cells of `grid`, in their order, operation by operation as `Grid.offset_of` computes them."""
        edges = grid.edges
        width = edges[1:] - edges[:-1]
        return cls(edges[:-1] + width / 2, width, np.where(width > 1e-250, width, 0.0) * 1e-40)


def keys_of(axis: Categories, kind: Kind) -> tuple[Category | None, ...]:
    """The comparison value of each category in a column of this kind; None equals nothing."""
    return tuple(in_numbers(value) if kind is Kind.NUMBERS else value for value in axis.values)


def texts_and_numbers(
    keys: Sequence[Category | None],
) -> tuple[tuple[str | None, ...], tuple[float | None, ...]]:
    """By what text, else by what number, each category is found."""
    texts = tuple(str(key) if is_compared_as_text(key) else None for key in keys)
    numbers = tuple(None if key is None or is_compared_as_text(key) else float(key) for key in keys)
    return texts, numbers


def in_numbers(value: Category) -> Category | None:
    """The number that a category stands for in a column of numbers: text is the number that it spells, or None.

    >>> in_numbers("2.5"), in_numbers("1"), in_numbers(True), in_numbers("AA")
    (2.5, 1, True, None)
    """
    if not isinstance(value, str):
        return value
    for kind in (int, float):
        with suppress(ValueError):
            number = kind(value)
            return None if isnan(number) else number
    return None


def is_compared_as_text(value: Category | None) -> bool:
    """Text, and whole numbers that a double does not tell from their neighbours."""
    return isinstance(value, str) or (isinstance(value, int) and abs(value) >= EXACT_IN_DOUBLES)
