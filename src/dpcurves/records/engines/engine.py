"""Interface of the engines that count records, and exact counting of batches in NumPy.

A `CountingEngine` returns exact integers for one table: rows per cell, sums, prefixes, units. DuckDB is one; PostgreSQL
and Spark are others. An `EngineTable` is the handle of a table on a server, which a user gives to a session in place of
a file. All engines must agree on the cell of each record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from math import isfinite, prod
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...arguments import InvalidArgument, MissingPackage, WrongArgumentType
from ...arrays import FloatArray, IntArray
from ...data import (
    Axis,
    Categories,
    Category,
    DurationAxis,
    Grid,
    LatticeAxis,
    ListedCategories,
    OpenEndedAxis,
    OrderedAxis,
    Outside,
    SelectedCategories,
    Spacing,
    TypedAxis,
    UnlistedCategories,
)
from ...extensions import find_entry_points
from ...privacy import Unit
from ...queries.weights import WeightedQuery
from ..source import Column
from ..value_names import Key, category_key


class BoundAxis(NamedTuple):
    """An axis and the column that it is read from.

    Attributes:
        axis: The axis.
        column: The column.
        place: Position of the column in the schema.
        members: SENSITIVE. For hashed categories: the names in the records that have each hash.
    """

    axis: Axis | Categories
    column: Column
    place: int
    members: tuple[tuple[str, ...], ...] | None = None


def table_size(bound: Sequence[BoundAxis]) -> int:
    """Return the number of cells of a table with these axes, the product over axes; 1 without axes.

    Args:
        bound: Axes of the query, each with its column of the schema.
    """
    return prod(bound_axis.axis.slots for bound_axis in bound)


def require_grid(axis: Axis | Categories) -> Grid:
    """Return the grid of an axis, which must be a column of numbers.

    Args:
        axis: Axis of a query.

    Raises:
        TypeError: the axis has categories.
    """
    if not isinstance(axis, Axis):
        raise WrongArgumentType(
            "axes", "sums and prefixes need a grid; declare the last column as Axis(column, Grid(...))"
        )
    return axis.grid


class CountingEngine(Protocol):
    """Counts the used rows of one table. Requests fit the schema; after `prepare`, no row can cause an error."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the schema, with the SQL that reads their numbers and texts."""

    @property
    def failure(self) -> str:
        """Error message that replaces the engine's own messages, which may quote a record."""

    @property
    def moment(self) -> int | None:
        """Number that identifies the snapshot of the data that is counted; None if the engine cannot distinguish
        states.
        """

    def prepare(self, bound: Sequence[BoundAxis]) -> None:
        """Do everything that may fail before the charge, and remember which columns the query will count.

        Args:
            bound: Axes of the query, each with its column of the schema.

        Raises:
            ValueError: the engine cannot count these axes.
        """

    def counts(self, bound: Sequence[BoundAxis]) -> IntArray:
        """Return the exact number of used rows in each cell, the last axis fastest, followed by those missing on any
        axis.

        Args:
            bound: Axes of the query, each with its column of the schema.

        Returns:
            Array of shape ``(cells + 1,)``.
        """

    def sums(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        """Return, for each cell, the exact sum of the values' offsets on the last axis, for means, followed by 0.

        A value's offset is its distance from the middle of its cell, in steps (`Grid.offset_of`).

        Args:
            bound: Axes of the query, each with its column of the schema.
            half: Half the number of steps of a cell, and the largest offset from its middle, from 1 to ``2**52``.

        Returns:
            The sums as integers of any size, the last axis fastest.
        """

    def squares(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        """Return, for each cell, the exact sum of ``2 * offset**2 - half**2``, for variances, followed by 0.

        A value's offset is its distance from the middle of its cell on the last axis, in steps (`Grid.offset_of`).

        Args:
            bound: Axes of the query, each with its column of the schema; the last has a grid.
            half: Half the number of steps of a cell, and the largest offset from its middle, from 1 to ``2**26``.

        Returns:
            The sums as integers of any size, the last axis fastest.
        """

    def prefixes(self, bound: Sequence[BoundAxis], lengths: Sequence[int]) -> list[int]:
        """Return the number of used rows in prefixes (the first cells) of a table, for each length, then of missing
        rows.

        Args:
            bound: Axes of the query, each with its column of the schema; the last has a grid.
            lengths: Lengths of the prefixes, in slots of the flattened table.

        Returns:
            The counts, in the order of `lengths`, and the number of missing rows.
        """

    def numbers(self, bound: Sequence[BoundAxis]) -> Iterator[Sequence[FloatArray]]:
        """Yield the used rows in batches: numbers for columns on a grid, indices of categories for others; NaN:
        missing.

        Args:
            bound: Axes of the query, each with its column of the schema.

        Yields:
            One array per axis, with an entry for each row of the batch.
        """

    def in_subsets(self, bound: Sequence[BoundAxis], subsets: int) -> Iterator[Sequence[FloatArray]]:
        """Yield used rows in batches as `numbers` does, with one more array: the random subset of units that each row
        belongs to.

        Args:
            bound: Axes of the query, each with its column of the schema.
            subsets: Number of random subsets of the units, at least 1.
        """

    def places(self, bound: Sequence[BoundAxis]) -> IntArray:
        """Return the number of the cell that each used row lies in; the number of cells for rows missing on any axis.

        Args:
            bound: Axes of the query, each with its column of the schema.

        Returns:
            Array of shape ``(rows,)``, in the order of the rows.
        """

    def units(self) -> int:
        """Return the exact number of units. Rows without a unit identifier are one unit together."""

    def close(self) -> None:
        """Close the connection and delete temporary data."""


ENGINE_ENTRY_POINTS = "dpcurves.engines"
"""Entry-point group of other packages: a URL scheme, and a function of the URL and a table that makes its handle."""


class EngineTable(ABC):
    """Handle of a table on a server, given to a session instead of a file. Its repr shows no password."""

    @property
    @abstractmethod
    def engine(self) -> str:
        """Name of the database engine, for privacy statements."""

    @property
    def version(self) -> int | None:
        """Version of the table that is read, even after later writes; None: the current version."""
        return None

    @abstractmethod
    def open(self, unit: Unit, key: bytes) -> CountingEngine:
        """Connect to the database and return an engine that can count the table's rows; only the schema is read.

        Args:
            unit: Privacy unit with its contribution bound.
            key: Secret key that chooses which rows of a unit are used.

        Raises:
            ValueError: the server cannot be reached, or the table is missing.
        """


def table_from_url(url: str, table: str) -> EngineTable:
    """Return the table on the server that a URL names.

    Args:
        url: URL of the database server; its scheme selects the installed engine.
        table: Name of the table.

    Raises:
        MissingPackage: no installed package opens URLs of this scheme.
        ValueError: the URL or the table's name is invalid.
    """
    scheme = url.partition("://")[0]
    for entry_point in find_entry_points(ENGINE_ENTRY_POINTS, scheme):
        table_handle: EngineTable = entry_point.load()(url, table=table)
        return table_handle
    raise MissingPackage(
        "data",
        f"no installed package opens {scheme}://; install the extra that does, as in pip install 'dpcurves[postgres]'",
    )


# Exact integers from batches of columns, in NumPy, for engines that cannot find the cells themselves.


LOW_BITS = 31
"""Bits of the low part of an amount. Sums are kept in two parts, because one could exceed 64 bits; both parts stay
below that for up to 2**32 rows."""
MOST_WEIGHED = 2**18
"""Rows that are weighed at once: their amounts, below 2**44 each, sum within 64 bits."""
Amounts = Callable[[Grid, FloatArray], IntArray]
"""Function that returns the amount each value adds to its cell."""


def offset_amounts(half: int) -> Amounts:
    """Return the function that gives each value's offset from the middle of its cell, in steps from ``-half`` to
    `half`, to be summed per cell.

    Args:
        half: Half the number of steps of a cell, and the largest offset from its middle.
    """
    return lambda grid, values: grid.offset_of(values, half)


def squared_offset_amounts(half: int) -> Amounts:
    """Return the function that gives each value's centred squared offset, ``2 * offset**2 - half**2``, to be summed per
    cell for variances.

    Args:
        half: Half the number of steps of a cell, and the largest offset from its middle.
    """
    return lambda grid, values: 2 * grid.offset_of(values, half) ** 2 - half**2


class SlotCells:
    """Cells of a table, found from one column per axis; NaN is missing.

    Attributes:
        axes: Axes of the table, with explicit edges where the grid is small enough.
        slot_flags: Whether each column contains slots instead of numbers.
        size: Number of cells.
    """

    def __init__(self, axes: Sequence[Axis | Categories], slot_flags: Sequence[bool]) -> None:
        self.axes = [Axis(axis.column, axis.grid.to_explicit()) if isinstance(axis, Axis) else axis for axis in axes]
        self.slot_flags = slot_flags
        self.size = prod(axis.slots for axis in axes)

    def places(self, columns: Sequence[FloatArray]) -> IntArray:
        """Return the number of the cell that each row of a batch lies in; the number of cells for rows missing on any
        axis.

        Args:
            columns: One array per axis, (rows,): numbers, or indices of categories; NaN for missing.

        Returns:
            Indices of cells in row-major order, (rows,).
        """
        cell = np.zeros(len(columns[0]), dtype=np.int64)
        missing = np.zeros(len(columns[0]), dtype=bool)
        for values, axis, is_slot in zip(columns, self.axes, self.slot_flags, strict=True):
            slots = axis.grid.cell_of(values) if isinstance(axis, Axis) and not is_slot else values
            is_missing = ~(slots < axis.slots)  # also for NaN
            cell = cell * axis.slots + np.where(is_missing, 0, slots).astype(np.int64)
            missing |= is_missing
        return np.where(missing, self.size, cell)


class CellCounts:
    """Rows per cell of all batches so far, followed by the rows missing on any axis."""

    def __init__(self, cells: SlotCells) -> None:
        self._cells = cells
        self.counts = np.zeros(cells.size + 1, dtype=np.int64)

    def add(self, columns: Sequence[FloatArray]) -> None:
        """SENSITIVE: count each row of a batch in its cell.

        Args:
            columns: Values of the batch, one array per axis.
        """
        # Sorted values make the search for cells three times as fast.
        np.add.at(self.counts, self._cells.places([np.sort(columns[0])] if len(columns) == 1 else columns), 1)


class CellSums:
    """Exact sums of the amounts that rows add to their cells. Raises `ValueError` if the last axis has no grid."""

    def __init__(self, cells: SlotCells, amounts: Amounts) -> None:
        """Prepare to add up an amount per row in each cell, batch by batch.

        Args:
            cells: Finds the cell of each row.
            amounts: Function of the grid and the values of the last axis that returns the amounts.
        """
        last = cells.axes[-1]
        if not isinstance(last, Axis):
            raise InvalidArgument(
                "column",
                f"{last.column!r} is summed, so it must be declared on a grid, as in Axis(column, Grid(...))",
                str(last.column),
            )
        self._cells = cells
        self._grid = last.grid
        self._amounts = amounts
        self._high, self._low = np.zeros((2, cells.size + 1), dtype=np.int64)

    def add(self, columns: Sequence[FloatArray]) -> None:
        """SENSITIVE: add the amount of each row of a batch to the sum of its cell.

        Args:
            columns: Values of the batch, one array per axis; the last has numbers on the grid.
        """
        cell = self._cells.places(columns)
        amount = self._amounts(self._grid, columns[-1])
        # In two parts: one sum could exceed 64 bits, the parts would need 2**32 rows for that.
        np.add.at(self._high, cell, amount >> LOW_BITS)
        np.add.at(self._low, cell, amount & (2**LOW_BITS - 1))

    @property
    def totals(self) -> list[int]:
        """Sums of all batches so far, per cell with the last axis fastest, followed by 0."""
        halves = zip(self._high.tolist()[:-1], self._low.tolist()[:-1], strict=True)
        return [*((high << LOW_BITS) + low for high, low in halves), 0]


class CellAmounts:
    """Exact weighted sums of the amounts that rows add to their cells, followed by the sum outside the cells.

    If the query ends rows of its table, each row of cells is followed by the sum of the second amounts of its records.
    The columns of the axes come first, then the weights. A row that is missing on an axis, or has no weight, is in no
    cell.
    """

    def __init__(self, cells: SlotCells, query: WeightedQuery) -> None:
        self._cells = cells
        self._query = query
        self._found = np.zeros(prod(query.shape) + 1, dtype=object)

    def add(self, columns: Sequence[FloatArray]) -> None:
        """SENSITIVE: add the weighted amount of each row of a batch to the sum of its cell.

        Args:
            columns: Values of the batch, one array per axis, followed by the weights.
        """
        *values, weights = columns
        for start in range(0, len(weights), MOST_WEIGHED):
            rows = slice(start, start + MOST_WEIGHED)
            self._add([column[rows] for column in values], self._query.weights.to_steps(weights[rows]))

    def _add(self, columns: Sequence[FloatArray], steps: IntArray) -> None:
        """SENSITIVE: add a part of a batch, with weights as integer steps (-1: missing), so few rows that sums fit 64
        bits.

        Args:
            columns: Values of the rows, one array per axis.
            steps: Weight of each row, in steps of the query.
        """
        cell = self._cells.places(columns)
        is_used = (cell < self._cells.size) & (steps >= 0)
        slots = self._cells.axes[-1].slots
        rows = np.where(is_used, cell, 0) // slots
        amount, second_amount = self._query.amounts(columns[-1], np.where(is_used, steps, 0), rows)
        batch = np.zeros(len(self._found), dtype=np.int64)
        # with a total behind each row, a record lies one cell further for each row before its own
        ended_rows = rows[is_used] * self._query.sums_by_row
        np.add.at(batch, cell[is_used] + ended_rows, amount[is_used])
        behind = (
            ended_rows * (slots + 1) + slots if self._query.sums_by_row else np.full(len(ended_rows), len(batch) - 1)
        )
        np.add.at(batch, behind, second_amount[is_used])
        batch[-1] += np.count_nonzero(~is_used) * self._query.missing_amount
        self._found += batch  # Python integers do not overflow

    @property
    def totals(self) -> list[int]:
        """Weighted sums of all batches so far, per cell with the last axis fastest, followed by the sum outside the
        cells.
        """
        return [int(total) for total in self._found]


class PrefixCounts:
    """Rows in the first slots of a table, for each length in `lengths`.

    Rows are compared with the requested bounds by binary search, and not sorted into cells, so the grid of the last
    axis may be arbitrarily fine. (From about thirty bounds this is faster than counting below each bound in SQL.)
    Raises `TypeError` if that axis has no grid.
    """

    def __init__(self, axes: Sequence[Axis | Categories], lengths: Sequence[int], slot_flags: Sequence[bool]) -> None:
        """Prepare to count rows in prefixes of a table, batch by batch.

        Args:
            axes: Axes of the table; the last has a grid.
            lengths: Lengths of the prefixes, in cells of the flattened table.
            slot_flags: For each axis, whether batches hold cell indices instead of numbers.
        """
        *first, last = axes
        grid = require_grid(last)
        self._rows = SlotCells(first, slot_flags[:-1])
        self._before = np.arange(self._rows.size)[:, None]
        slots_in_row = np.clip(np.array(lengths, dtype=np.int64) - self._before * last.slots, 0, last.slots)
        bounds_needed, entries = np.unique(np.append(slots_in_row, last.slots), return_inverse=True)
        self._entries = entries[:-1].reshape(slots_in_row.shape)
        self._bounds = grid.exclusive_bound(bounds_needed)
        self._table = np.zeros((len(self._before) + 1, len(self._bounds) + 1), dtype=np.int64)

    def add(self, columns: Sequence[FloatArray]) -> None:
        """SENSITIVE: add the rows of a batch to the counts between neighbouring prefix lengths.

        Args:
            columns: Values of the batch, one array per axis; the last has numbers on the grid.
        """
        *first, values = columns
        row = self._rows.places(first) if first else np.zeros(len(values), dtype=np.int64)
        cell = row * self._table.shape[1] + np.searchsorted(self._bounds, values, side="right")
        self._table += np.bincount(cell, minlength=self._table.size).reshape(self._table.shape)

    @property
    def totals(self) -> list[int]:
        """Counts of all batches so far: for each requested length the rows in the prefix, then the missing rows."""
        cumulative = np.cumsum(self._table, axis=1)
        counts = cumulative[self._before, self._entries].sum(axis=0)
        return [*counts.tolist(), int(self._table.sum() - cumulative[:-1, -2].sum())]


# Public SQL ingredients: cells of numbers by a formula, categories by their texts or numbers. No record is read.


MOST_CHECKED = 2**24
"""Largest number of cells of a grid whose formula is checked at every edge; a finer grid gets no formula."""


class Formula(NamedTuple):
    """Cell index by ``floor((x - lower) * scale + shift)``, for every x below the last inner edge.

    Attributes:
        scale: Cells per unit of x.
        shift: Offset, in cells.
        needs_correction: True if the result may be one cell too high, so that x must be compared with the edge.
    """

    scale: float
    shift: float
    needs_correction: bool


def find_formula(grid: Grid) -> Formula | None:
    """Return the arithmetic formula that finds the cell of a number on a linear grid; None if rounding of doubles makes
    every formula wrong.

    The formula is monotone in x. So it is right for every x if it is right at every edge and at the last double below
    every edge. The edges are public, and all are checked here.

    Args:
        grid: A linear grid.

    >>> find_formula(Grid(0, 1, cells=4))
    Formula(scale=4.0, shift=0.0, needs_correction=False)
    >>> find_formula(Grid(-100, 1300, cells=4096)).needs_correction
    True
    """
    if grid.spacing is not Spacing.LINEAR or grid.cells > MOST_CHECKED:
        return None
    edges = grid.edges[:-1]
    cells = np.arange(grid.cells - 1)
    return fit_formula(grid, edges[:-1], np.nextafter(edges[1:], -np.inf), cells)


def find_even_grid(
    grid: Grid, narrowest: float = 1e-9, most_further_edges: int = 100
) -> tuple[Grid, tuple[float, ...]]:
    """Return a linear grid, and the edges besides its inner ones that are inner edges of `grid`; the grid itself and no
    edge if it has no such form.

    The index of the cell (slot) of a clipped value is the number of inner edges at or below it, so it is the index in
    the linear grid plus the number of further edges at or below the value. Grids that count zero in a separate cell
    have this form.

    Args:
        grid: The public grid.
        narrowest: Widths of cells relative to their median. Edges of narrower cells are no edges of the linear grid,
            unless they are zero.
        most_further_edges: Largest number of edges besides. DuckDB compares each value with each of them, and refuses
            a sum of a thousand comparisons.

    >>> find_even_grid(Grid.from_edges([-5e-324, 0.0, 5e-324, 2.0, 4.0, 6.0]))
    (Grid(0.0, 6.0, cells=3), (0.0, 5e-324))
    """
    if grid.spacing is not Spacing.EXPLICIT or grid.outside is not Outside.CLIPPED or grid.values is not None:
        return grid, ()
    edges = grid.edges
    with np.errstate(over="ignore"):
        widths = np.diff(edges)
    is_narrow = widths < narrowest * np.median(widths)
    is_extra = np.append(is_narrow, False) | np.append(False, is_narrow)
    for candidates in (edges[~is_extra | (edges == 0)], edges[~is_extra]):
        if is_extra.any() and len(candidates) > 2:
            with suppress(InvalidArgument):  # of bounds that are too far apart
                even_grid = Grid(candidates[0].item(), candidates[-1].item(), cells=len(candidates) - 1)
                further_edges = np.setdiff1d(edges[1:-1], candidates[1:-1])
                if np.array_equal(even_grid.edges, candidates) and len(further_edges) <= most_further_edges:
                    return even_grid, tuple(further_edges.tolist())
    return grid, ()


def fit_formula(grid: Grid, first: FloatArray, last: FloatArray, cells: NDArray[np.int64]) -> Formula | None:
    """Return the formula for the cell of a number on a linear grid if it is right for the given doubles; None if no
    formula is.

    Args:
        grid: A linear grid.
        first: First double of each cell in `cells`.
        last: Last double of each of these cells.
        cells: Indices of cells.
    """
    scale = grid.cells / (grid.upper - grid.lower)
    if not isfinite(scale):
        return None
    first = (first - grid.lower) * scale
    last = (last - grid.lower) * scale
    if are_floors_within(first, cells, cells) and are_floors_within(last, cells, cells):
        return Formula(scale, 0.0, needs_correction=False)
    shift = float(np.max(cells - first, initial=0.0)) + 4 * float(np.spacing(float(grid.cells)))
    fits = are_floors_within(first + shift, cells, cells + 1) and are_floors_within(last + shift, cells, cells + 1)
    return Formula(scale, shift, needs_correction=True) if fits else None


def are_floors_within(numbers: NDArray[np.float64], lower: NDArray[np.int64], upper: NDArray[np.int64]) -> bool:
    """Return True if the floor of each number lies from `lower` to `upper`, to check a formula for cell indices.

    Args:
        numbers: Finite numbers.
        lower: Smallest integer for each number.
        upper: Largest integer for each number.
    """
    floors = np.floor(numbers)
    return bool(np.all((lower <= floors) & (floors <= upper)))


def category_keys(bound: BoundAxis) -> list[list[Key]]:
    """Return the comparison keys of each category: the names or doubles of the column's values that belong to it.

    The category of all other values has none.

    Args:
        bound: Axis of categories, bound to its column.

    Returns:
        For each category, in order, the values of the column that mean it.

    Raises:
        WrongArgumentType: the axis has a grid.
    """
    axis = bound.axis
    declared = bound.column.value_type
    if not isinstance(axis, Categories):
        raise WrongArgumentType("axes", "this count needs categories; declare the column as Categories(column, values)")
    names: Sequence[Sequence[Category]] = bound.members or [[value] for value in axis.values]
    keys = list[list[Key]]()
    for category_names in names:
        candidates = (category_key(name, declared) for name in category_names)
        keys.append([key for key in candidates if key is not None])
    return [*keys[:-1], []] if isinstance(axis, SelectedCategories) else keys


class Keys(NamedTuple):
    """Categories of a column by the texts and the numbers that values are compared with.

    Attributes:
        texts: Texts with their slots.
        numbers: Doubles with their slots.
    """

    texts: tuple[tuple[str, int], ...]
    numbers: tuple[tuple[float, int], ...]

    @classmethod
    def from_keys(cls, keys: Sequence[Sequence[Key]]) -> Keys:
        """Collect the comparison keys of all categories, texts and numbers separately, each with the index of its
        category.

        Args:
            keys: For each category, in order, the keys that mean it.
        """
        key_slots = [(key, slot) for slot, category_keys in enumerate(keys) for key in category_keys]
        texts = tuple((key, slot) for key, slot in key_slots if isinstance(key, str))
        return cls(texts, tuple((float(key), slot) for key, slot in key_slots if not isinstance(key, str)))


KNOWN_AXES: Mapping[type[Axis | Categories], frozenset[str]] = MappingProxyType({
    Axis: frozenset({"column", "grid", "where"}),
    TypedAxis: frozenset({"column", "grid", "where"}),
    DurationAxis: frozenset({"column", "grid", "where"}),
    OrderedAxis: frozenset({"column", "grid", "where", "earlier", "later", "allows_equal"}),
    OpenEndedAxis: frozenset({"column", "grid", "where", "earlier", "later", "allows_equal", "missing_above"}),
    LatticeAxis: frozenset({"column", "grid", "where", "step", "bounds", "has_points", "is_clipped"}),
    Categories: frozenset({"column", "values", "arguments", "is_implied", "where"}),
    UnlistedCategories: frozenset({"column", "values", "arguments", "is_implied", "where", "universe"}),
    SelectedCategories: frozenset({"column", "values", "arguments", "is_implied", "where", "digits"}),
    ListedCategories: frozenset({"column", "values", "arguments", "is_implied", "where", "digits"}),
})  # fmt: skip
"""Axis classes that engines count along, and the fields of each that engines support. An axis with another field is
refused, because its counts would answer another question."""


def require_known_axes(axes: Sequence[Axis | Categories]) -> None:
    """Refuse an axis with a field that no engine supports: its counts would answer another question.

    Args:
        axes: Axes of a question.

    Raises:
        ValueError: names the field.
    """
    for axis in axes:
        known = KNOWN_AXES.get(type(axis))
        unknown = (
            None
            if known is None
            else next((axis_field.name for axis_field in fields(axis) if axis_field.name not in known), None)
        )
        if known is None or unknown is not None:
            option = "" if unknown is None else f" with {unknown}"
            raise InvalidArgument(
                "axes",
                f"engines do not count along {type(axis).__name__}{option}; take a Grid, a NumericColumn or Categories",
            )
