"""The public description of slots, from which the dialect of each engine is written. No record was looked at."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import isfinite, isnan
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray
from ...data.axis import Categories, Category
from ...data.grid import Grid
from ...data.spacing import Outside, Spacing
from ..column import Kind

MOST_CHECKED = 2**24
EXACT_IN_DOUBLES = 2**53


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
    scale = grid.cells / (grid.upper - grid.lower)
    if not isfinite(scale):
        return None
    edges, cells = grid.edges[:-1], np.arange(grid.cells - 1)
    first, last = (edges[:-1] - grid.lower) * scale, (np.nextafter(edges[1:], -np.inf) - grid.lower) * scale
    if _all_in(first, cells, cells) and _all_in(last, cells, cells):
        return Formula(scale, 0.0, corrected=False)
    shift = float(np.max(cells - first, initial=0.0)) + 4 * float(np.spacing(float(grid.cells)))
    fits = _all_in(first + shift, cells, cells + 1) and _all_in(last + shift, cells, cells + 1)
    return Formula(scale, shift, corrected=True) if fits else None


def _all_in(found: NDArray[np.float64], least: NDArray[np.int64], most: NDArray[np.int64]) -> bool:
    floors = np.floor(found)
    return bool(np.all((least <= floors) & (floors <= most)))


class Dialect(Protocol):
    """How an engine writes the few things that a slot by formula is made of."""

    def double(self, value: float) -> str:
        """Exactly this double."""

    def whole(self, number: str) -> str:
        """A double without digits behind its point, or a truth as 0 or 1, as a whole number of 32 bits."""

    def real(self, number: str) -> str:
        """A whole number as a double."""

    def clipped(self, number: str, lower: str, upper: str) -> str:
        """A double between bounds; what is missing may be any double of them."""

    def is_missing(self, number: str) -> str:
        """Whether a double is NULL or NaN."""


def guess_by_formula(grid: Grid, formula: Formula, number: str, dialect: Dialect) -> str:
    """SQL for the cell of a double between inner edges (so of two cells or more), or one above it.

    Total: what lies below the first inner edge, where the arithmetic could underflow, or behind the last one, and what
    is missing, stands there as one of them.
    """
    first, end = (dialect.double(grid.edge(np.array([at])).item()) for at in (1, grid.cells - 1))
    safe = dialect.clipped(number, first, end)
    guess = f"({safe} - {dialect.double(grid.lower)}) * {dialect.double(formula.scale)}"
    return dialect.whole(
        f"floor({guess} + {dialect.double(formula.shift)})" if formula.corrected else f"floor({guess})"
    )


def slot_by_formula(grid: Grid, formula: Formula, number: str, guess: str, dialect: Dialect) -> str:
    """SQL for the slot of a double; NULL where it is missing. What lies outside is told by comparing.

    Args:
        grid: The grid of the slot.
        formula: For its cells.
        number: SQL of the double.
        guess: Name of what `guess_by_formula` finds, where inner edges are. Written out it would be computed twice.
        dialect: Writes it.
    """
    apart, last = int(grid.outside is Outside.APART), grid.cells - 1
    cases = [f"WHEN {dialect.is_missing(number)} THEN NULL"]
    if apart or not last:
        cases.append(f"WHEN {number} < {dialect.double(grid.lower)} THEN 0")
    if last:
        first, end = (dialect.double(grid.edge(np.array([at])).item()) for at in (1, last))
        inner = _put_right(grid, formula, number, guess, dialect)
        cases.append(f"WHEN {number} < {first} THEN {apart}")
        cases.append(f"WHEN {number} < {end} THEN {inner}{' + 1' * apart}")
    if apart:
        cases.append(f"WHEN {number} <= {dialect.double(grid.upper)} THEN {last + 1}")
    return f"CASE {' '.join(cases)} ELSE {last + 2 * apart} END"


def _put_right(grid: Grid, formula: Formula, number: str, guess: str, dialect: Dialect) -> str:
    if not formula.corrected:
        return guess
    lower, width, cells = (dialect.double(each) for each in (grid.lower, grid.upper - grid.lower, grid.cells))
    # Operation by operation what `Grid.edge` computes.
    parts = f"* {width} / {cells}" if grid.multiplies_first else f"/ {cells} * {width}"
    return f"({guess} - {dialect.whole(f'({number} < {lower} + {dialect.real(guess)} {parts})')})"


def thresholds_of(grid: Grid) -> FloatArray:
    """Rising doubles: the slot of a value that is not missing is how many of them it is at or above.

    >>> thresholds_of(Grid(0, 3, cells=3)).tolist()
    [1.0, 2.0]
    """
    return grid.bound(np.arange(1, grid.slots))


class Offsets(NamedTuple):
    """What `Grid.offset_of` needs of each cell: its middle, its width, and what differs from the middle by nothing.

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
    """What each category is compared as in a column of this kind; None equals nothing."""
    return tuple(in_numbers(value) if kind is Kind.NUMBERS else value for value in axis.values)


def texts_and_numbers(
    keys: Sequence[Category | None],
) -> tuple[tuple[str | None, ...], tuple[float | None, ...]]:
    """By what text, else by what number, each category is found."""
    texts = tuple(str(key) if is_compared_as_text(key) else None for key in keys)
    numbers = tuple(None if key is None or is_compared_as_text(key) else float(key) for key in keys)
    return texts, numbers


def in_numbers(value: Category) -> Category | None:
    """What a category is in a column of numbers: text is the number that it spells, or nothing.

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
