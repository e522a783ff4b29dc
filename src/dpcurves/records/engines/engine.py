"""The interface of engines, tables that stay in their engine, and cells of numbers in NumPy and in a formula."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from importlib.metadata import entry_points
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
    SelectedCategories,
    Spacing,
    TypedAxis,
    UnlistedCategories,
)
from ...privacy import Unit
from ...queries.weighed import WeightedQuery
from ..source import Column
from ..value_names import Key, category_key


class BoundAxis(NamedTuple):
    """An axis, and the column that it is read from.

    Attributes:
        axis: The axis.
        column: The column.
        place: Where the column stands in the schema.
        members: SENSITIVE. Of groups that are told by hashes: the names in the records that each hash stands for.
    """

    axis: Axis | Categories
    column: Column
    place: int
    members: tuple[tuple[str, ...], ...] | None = None


def table_size(bound: Sequence[BoundAxis]) -> int:
    """The number of cells of a table of these axes; 1 without axes."""
    return prod(each.axis.slots for each in bound)


def require_grid(axis: Axis | Categories) -> Grid:
    """The grid of an axis. Raises `TypeError` if it has categories."""
    if not isinstance(axis, Axis):
        raise WrongArgumentType("axes", "sums and prefixes need a grid")
    return axis.grid


class CountingEngine(Protocol):
    """Counts the used rows of one table. What it is asked fits the schema; after `prepare` nothing fails by a row."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the schema, and the way each is read."""

    @property
    def failure(self) -> str:
        """The message of a failure, in place of the engine's own words."""

    @property
    def moment(self) -> int | None:
        """A number of the state of the data that is counted; another state has another. None: nobody can tell."""

    def prepare(self, bound: Sequence[BoundAxis]) -> None:
        """Do what may fail before anything is charged, and learn what will be counted.

        Raises:
            ValueError: the engine does not count as is needed.
        """

    def counts(self, bound: Sequence[BoundAxis]) -> IntArray:
        """Rows per cell, the last axis fastest, and behind them the rows that are missing on any axis."""

    def sums(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        """Per cell the sum of `Grid.offset_of` on the last axis, which is on a grid; behind them 0."""

    def squares(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        """Per cell the sum of ``2 * offset**2 - half**2`` of those offsets; behind them 0."""

    def prefixes(self, bound: Sequence[BoundAxis], at: Sequence[int]) -> list[int]:
        """Rows in the first slots of the table, so many for each entry, and behind them the missing ones."""

    def numbers(self, bound: Sequence[BoundAxis]) -> Iterator[Sequence[FloatArray]]:
        """Batches of rows: the numbers themselves of columns on a grid, the slots of categories; NaN: missing."""

    def in_subsets(self, bound: Sequence[BoundAxis], subsets: int) -> Iterator[Sequence[FloatArray]]:
        """Batches as `numbers` gives them, and behind each the subset of each row.

        Formal guarantees: the subset of a row is a function of a key and of its unit alone.
        """

    def places(self, bound: Sequence[BoundAxis]) -> IntArray:
        """The cell of each row; one that is missing on any axis lies behind them all."""

    def units(self) -> int:
        """The number of units; rows without a unit are one together."""

    def close(self) -> None:
        """Let go of the records, and of all that was kept of them."""


GROUP = "dpcurves.engines"
"""Entry points of other packages: the scheme of a URL, and the function of it and a table that makes its handle."""


class EngineTable(ABC):
    """A handle of a table on a server, given to a session in place of a file. Its repr shows no password."""

    @property
    @abstractmethod
    def engine(self) -> str:
        """The engine's name, as it stands in a privacy statement."""

    @property
    def version(self) -> int | None:
        """The version of the table that is read, whatever is written later; None: none is fixed."""
        return None

    @abstractmethod
    def open(self, unit: Unit, key: bytes) -> CountingEngine:
        """Connect, and look at the schema and at no row.

        Raises:
            ValueError: it cannot be reached, or the table is not there.
        """


def table_from_url(url: str, table: str) -> EngineTable:
    """The table of the engine that a URL leads to.

    Raises:
        NotInstalled: no installed package knows URLs of this scheme.
        ValueError: the URL or the table's name can not be taken.
    """
    scheme = url.partition("://")[0]
    for each in entry_points(group=GROUP, name=scheme):
        made: EngineTable = each.load()(url, table=table)
        return made
    raise MissingPackage("data", f"no installed package opens {scheme}://")


# Exact integers from batches of columns, in NumPy: where no engine finds the cells by itself.


LOW_BITS = 31
MOST_WEIGHED = 2**18
"""Rows whose amounts, below 2**44 each, are added up in 64 bits."""
Amounts = Callable[[Grid, FloatArray], IntArray]
"""The weight of each value in its cell."""


def offset_amounts(half: int) -> Amounts:
    """The amounts of sums."""
    return lambda grid, values: grid.offset_of(values, half)


def squared_offset_amounts(half: int) -> Amounts:
    """The amounts of sums of squares."""
    return lambda grid, values: 2 * grid.offset_of(values, half) ** 2 - half**2


class SlotCells:
    """The cells of a table, found from one column for each axis, in which NaN is missing.

    Attributes:
        axes: The axes of the table, with edges laid out where they are no formula.
        told: Which columns are slots already; the others are numbers.
        size: The number of cells.
    """

    def __init__(self, axes: Sequence[Axis | Categories], slot_flags: Sequence[bool]) -> None:
        self.axes = [Axis(each.column, each.grid.to_explicit()) if isinstance(each, Axis) else each for each in axes]
        self.told = slot_flags
        self.size = prod(axis.slots for axis in axes)

    def places(self, columns: Sequence[FloatArray]) -> IntArray:
        """The cell of each row, the last axis fastest; one that is missing on any axis lies behind them all."""
        place, missing = np.zeros(len(columns[0]), dtype=np.int64), np.zeros(len(columns[0]), dtype=bool)
        for values, axis, told in zip(columns, self.axes, self.told, strict=True):
            found = axis.grid.cell_of(values) if isinstance(axis, Axis) and not told else values
            lacks = ~(found < axis.slots)  # of NaN too
            place = place * axis.slots + np.where(lacks, 0, found).astype(np.int64)
            missing |= lacks
        return np.where(missing, self.size, place)


class CellCounts:
    """Rows per cell in all batches so far, and behind them the rows that are missing on any axis."""

    def __init__(self, cells: SlotCells) -> None:
        self._cells = cells
        self.found = np.zeros(cells.size + 1, dtype=np.int64)

    def add(self, columns: Sequence[FloatArray]) -> None:
        # In rising order cells are found three times as fast.
        np.add.at(self.found, self._cells.places([np.sort(columns[0])] if len(columns) == 1 else columns), 1)


class CellSums:
    """The exact sums of what each row adds to its cell. Raises `ValueError` if the last axis has no grid."""

    def __init__(self, cells: SlotCells, amounts: Amounts) -> None:
        last = cells.axes[-1]
        if not isinstance(last, Axis):
            raise InvalidArgument("column", f"{last.column!r} is summed, so it needs a grid", str(last.column))
        self._cells, self._grid, self._amounts = cells, last.grid, amounts
        self._high, self._low = np.zeros((2, cells.size + 1), dtype=np.int64)

    def add(self, columns: Sequence[FloatArray]) -> None:
        place, amount = self._cells.places(columns), self._amounts(self._grid, columns[-1])
        # In two parts: the sum of one could leave 64 bits, those of the parts would need 2**32 rows for it.
        np.add.at(self._high, place, amount >> LOW_BITS)
        np.add.at(self._low, place, amount & (2**LOW_BITS - 1))

    @property
    def totals(self) -> list[int]:
        """The sums of all batches so far, and behind them 0."""
        parts = zip(self._high.tolist()[:-1], self._low.tolist()[:-1], strict=True)
        return [*((above << LOW_BITS) + below for above, below in parts), 0]


class CellAmounts:
    """The exact sums of what each row adds to its cell by its weight, and of what it adds behind the cells.

    Columns are those of the axes, and behind them the weights. A row that is missing on an axis, or has no weight, is
    in no cell.
    """

    def __init__(self, cells: SlotCells, query: WeightedQuery) -> None:
        self._cells, self._query = cells, query
        self._found = np.zeros(cells.size + 1, dtype=object)

    def add(self, columns: Sequence[FloatArray]) -> None:
        *own, weights = columns
        for start in range(0, len(weights), MOST_WEIGHED):
            part = slice(start, start + MOST_WEIGHED)
            self._add([column[part] for column in own], self._query.weights.to_steps(weights[part]))

    def _add(self, columns: Sequence[FloatArray], steps: IntArray) -> None:
        place = self._cells.places(columns)
        used = (place < self._cells.size) & (steps >= 0)
        amount, beside = self._query.amounts(columns[-1], np.where(used, steps, 0))
        batch = np.zeros(self._cells.size + 1, dtype=np.int64)
        np.add.at(batch, place[used], amount[used])
        batch[-1] = beside[used].sum() + np.count_nonzero(~used) * self._query.missing_amount
        self._found += batch  # Python's integers cannot overflow

    @property
    def totals(self) -> list[int]:
        """The sums of all batches so far, and behind them what stands beside the cells."""
        return [int(each) for each in self._found]


class PrefixCounts:
    """Rows in the first slots of a table, so many for each entry of `at`.

    Rows are compared with the bounds that are asked, by one binary search each, and not sorted into cells: the grid of
    the last axis may have any number of them. (From some thirty bounds on this is faster than counting in SQL below
    each of them.) Raises `TypeError` if that axis has no grid.
    """

    def __init__(self, axes: Sequence[Axis | Categories], at: Sequence[int], slot_flags: Sequence[bool]) -> None:
        *first, last = axes
        grid = require_grid(last)
        self._rows = SlotCells(first, slot_flags[:-1])
        self._before = np.arange(self._rows.size)[:, None]
        own = np.clip(np.array(at, dtype=np.int64) - self._before * last.slots, 0, last.slots)
        ends, entries = np.unique(np.append(own, last.slots), return_inverse=True)
        self._entries = entries[:-1].reshape(own.shape)
        self._bounds = grid.exclusive_bound(ends)
        self._table = np.zeros((len(self._before) + 1, len(self._bounds) + 1), dtype=np.int64)

    def add(self, columns: Sequence[FloatArray]) -> None:
        *first, values = columns
        row = self._rows.places(first) if first else np.zeros(len(values), dtype=np.int64)
        place = row * self._table.shape[1] + np.searchsorted(self._bounds, values, side="right")
        self._table += np.bincount(place, minlength=self._table.size).reshape(self._table.shape)

    @property
    def totals(self) -> list[int]:
        """The counts of all batches so far, and behind them the rows that are missing."""
        below = np.cumsum(self._table, axis=1)
        counts = below[self._before, self._entries].sum(axis=0)
        return [*counts.tolist(), int(self._table.sum() - below[:-1, -2].sum())]


# Cells of numbers by a formula, and categories by their texts or numbers: public. No record was looked at.


MOST_CHECKED = 2**24


class Formula(NamedTuple):
    """``floor((x - lower) * scale + shift)`` is the cell of every x below the last inner edge, or one above it.

    Attributes:
        needs_correction: Whether it may be one above, and the edge itself has to be compared.
    """

    scale: float
    shift: float
    needs_correction: bool


def find_formula(grid: Grid) -> Formula | None:
    """The formula for the cells of a linear grid; None where there is none that doubles compute well enough.

    The formula never falls as x rises. So it is right for every x if it is right at every edge and at the last
    double below every edge, and these are public: all of them are tried here.

    >>> find_formula(Grid(0, 1, cells=4))
    Formula(scale=4.0, shift=0.0, needs_correction=False)
    >>> find_formula(Grid(-100, 1300, cells=4096)).needs_correction
    True
    """
    if grid.spacing is not Spacing.LINEAR or grid.cells > MOST_CHECKED:
        return None
    edges, cells = grid.edges[:-1], np.arange(grid.cells - 1)
    return fit_formula(grid, edges[:-1], np.nextafter(edges[1:], -np.inf), cells)


def fit_formula(grid: Grid, first: FloatArray, last: FloatArray, cells: NDArray[np.int64]) -> Formula | None:
    """A formula that is right for the first and the last double of each of these cells."""
    scale = grid.cells / (grid.upper - grid.lower)
    if not isfinite(scale):
        return None
    first, last = (first - grid.lower) * scale, (last - grid.lower) * scale
    if are_floors_within(first, cells, cells) and are_floors_within(last, cells, cells):
        return Formula(scale, 0.0, needs_correction=False)
    shift = float(np.max(cells - first, initial=0.0)) + 4 * float(np.spacing(float(grid.cells)))
    fits = are_floors_within(first + shift, cells, cells + 1) and are_floors_within(last + shift, cells, cells + 1)
    return Formula(scale, shift, needs_correction=True) if fits else None


def are_floors_within(found: NDArray[np.float64], least: NDArray[np.int64], most: NDArray[np.int64]) -> bool:
    """Tell whether each number, rounded down, is one of those from `least` to `most`."""
    floors = np.floor(found)
    return bool(np.all((least <= floors) & (floors <= most)))


def category_keys(bound: BoundAxis) -> list[list[Key]]:
    """What values of the column are compared with to find each category; the rest of found ones has nothing."""
    axis, declared = bound.axis, bound.column.value_type
    if not isinstance(axis, Categories):
        raise WrongArgumentType("axes", "categories are needed")
    names: Sequence[Sequence[Category]] = bound.members or [[value] for value in axis.values]
    keys = [[key for name in each if (key := category_key(name, declared)) is not None] for each in names]
    return [*keys[:-1], []] if isinstance(axis, SelectedCategories) else keys


class Keys(NamedTuple):
    """Categories of a column, by the texts and by the numbers that its values are compared with.

    Attributes:
        texts: Texts, and the slot of each.
        numbers: Doubles, and the slot of each.
    """

    texts: tuple[tuple[str, int], ...]
    numbers: tuple[tuple[float, int], ...]

    @classmethod
    def from_keys(cls, keys: Sequence[Sequence[Key]]) -> Keys:
        """Return the keys of all categories, those of the first one first."""
        each = [(key, slot) for slot, several in enumerate(keys) for key in several]
        texts = tuple((key, slot) for key, slot in each if isinstance(key, str))
        return cls(texts, tuple((float(key), slot) for key, slot in each if not isinstance(key, str)))


KNOWN_AXES: Mapping[type[Axis | Categories], frozenset[str]] = MappingProxyType({
    Axis: frozenset({"column", "grid"}),
    TypedAxis: frozenset({"column", "grid"}),
    DurationAxis: frozenset({"column", "grid"}),
    Categories: frozenset({"column", "values", "arguments", "is_implied"}),
    UnlistedCategories: frozenset({"column", "values", "arguments", "is_implied", "universe"}),
    SelectedCategories: frozenset({"column", "values", "arguments", "is_implied", "digits"}),
})  # fmt: skip
"""Kinds of axes that engines count along, and the options of each that have a meaning here."""


def require_known_axes(axes: Sequence[Axis | Categories]) -> None:
    """Refuse an axis with an option that no engine heeds: its counts would be those of another question.

    Raises:
        ValueError: names the option.
    """
    for axis in axes:
        known = KNOWN_AXES.get(type(axis))
        unknown = None if known is None else next((each.name for each in fields(axis) if each.name not in known), None)
        if known is None or unknown is not None:
            option = "" if unknown is None else f" with {unknown}"
            raise InvalidArgument("axes", f"engines do not count along {type(axis).__name__}{option}")
