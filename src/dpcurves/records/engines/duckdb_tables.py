"""SENSITIVE. From rows to exact integers: in SQL where a formula finds the cells, else batch by batch in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

import duckdb
import numpy as np

from ...arguments import Refused, WrongKind
from ...arrays import FloatArray, IntArray
from ...data.axis import Axis
from ...data.grid import Grid
from ..column import called
from .duckdb_slots import category_slot, grid_slot, slot_type
from .engine import BoundAxis, grid_of, size_of
from .slot_text import keys_of

LOW_BITS = 31
ROWS_AT_ONCE = 2**20


def counts(connection: duckdb.DuckDBPyConnection, rows: str, bound: Sequence[BoundAxis]) -> IntArray:
    """Rows per cell, the last axis fastest, and behind them the rows that are missing on any axis."""
    slots = _slots(bound)
    if None not in slots:
        return _counts_by_sql(connection, rows, bound, [slot for slot in slots if slot])
    bound, table = _laid_out(bound), np.zeros(size_of(bound) + 1, dtype=np.int64)
    for columns in _batches(connection, rows, bound, slots):
        # In rising order cells are found three times as fast.
        alike = [np.sort(columns[0])] if len(bound) == 1 else columns
        np.add.at(table, _places(alike, bound, slots), 1)
    return table


def sums(connection: duckdb.DuckDBPyConnection, rows: str, bound: Sequence[BoundAxis], half: int) -> list[int]:
    """The sums of the offsets on the last axis, which is on a grid, per cell, and behind them 0."""
    return _added(connection, rows, bound, lambda grid, values: grid.offset_of(values, half))


def squares(connection: duckdb.DuckDBPyConnection, rows: str, bound: Sequence[BoundAxis], half: int) -> list[int]:
    """The sums of ``2 * offset**2 - half**2`` on the last axis, which is on a grid, per cell, and behind them 0."""
    return _added(connection, rows, bound, lambda grid, values: 2 * grid.offset_of(values, half) ** 2 - half**2)


def _added(
    connection: duckdb.DuckDBPyConnection,
    rows: str,
    bound: Sequence[BoundAxis],
    amounts: Callable[[Grid, FloatArray], IntArray],
) -> list[int]:
    """The exact sums of what each row adds to its cell, and behind them 0."""
    slots, bound = [*_slots(bound)[:-1], None], _laid_out(bound)
    high, low = np.zeros((2, size_of(bound) + 1), dtype=np.int64)
    last = bound[-1].axis
    if not isinstance(last, Axis):
        raise WrongKind("axes", "a sum needs a grid")
    for columns in _batches(connection, rows, bound, slots):
        place, offset = _places(columns, bound, slots), amounts(last.grid, columns[-1])
        # In two parts: the sum of one could leave 64 bits, those of the parts would need 2**32 rows for it.
        np.add.at(high, place, offset >> LOW_BITS)
        np.add.at(low, place, offset & (2**LOW_BITS - 1))
    found = [(above << LOW_BITS) + below for above, below in zip(high.tolist(), low.tolist(), strict=True)]
    return [*found[:-1], 0]


def prefixes(
    connection: duckdb.DuckDBPyConnection, rows: str, bound: Sequence[BoundAxis], at: Sequence[int]
) -> list[int]:
    """Rows in the first slots of the table, so many for each entry, and behind them the rows that are missing.

    Rows are compared with the bounds that are asked, by one binary search each, and not sorted into cells: the grid of
    the last axis may have any number of them. (From some thirty bounds on this is faster than counting in SQL below
    each of them.)
    """
    *first, last = bound
    grid, before = grid_of(last), np.arange(size_of(first))[:, None]
    own = np.clip(np.array(at, dtype=np.int64) - before * last.axis.slots, 0, last.axis.slots)
    ends, entries = np.unique(np.append(own, last.axis.slots), return_inverse=True)
    bounds, slots = grid.bound(ends), _slots(first)
    table = np.zeros((len(before) + 1, len(bounds) + 1), dtype=np.int64)
    for *columns, values in _batches(connection, rows, bound, [*slots, None]):
        row = _places(columns, first, slots) if first else np.zeros(len(values), dtype=np.int64)
        place = row * table.shape[1] + np.searchsorted(bounds, values, side="right")
        table += np.bincount(place, minlength=table.size).reshape(table.shape)
    below = np.cumsum(table, axis=1)
    counts = below[before, entries[:-1].reshape(own.shape)].sum(axis=0)
    return [*counts.tolist(), int(table.sum() - below[:-1, -2].sum())]


def read_places(connection: duckdb.DuckDBPyConnection, rows: str, bound: Sequence[BoundAxis]) -> IntArray:
    """The cell index of each row, the last axis fastest; a row missing on any axis: the index past the last cell."""
    slots, bound = _slots(bound), _laid_out(bound)
    found = [_places(columns, bound, slots) for columns in _batches(connection, rows, bound, slots)]
    return np.concatenate([np.empty(0, dtype=np.int64), *found])


def numbers(
    connection: duckdb.DuckDBPyConnection, rows: str, bound: Sequence[BoundAxis]
) -> Iterator[Sequence[FloatArray]]:
    """Batches of rows: the numbers themselves of columns on a grid, the slots of categories; NaN: missing."""
    slots = [None if isinstance(each.axis, Axis) else slot for each, slot in zip(bound, _slots(bound), strict=True)]
    return _batches(connection, rows, bound, slots)


def _laid_out(bound: Sequence[BoundAxis]) -> Sequence[BoundAxis]:
    return [
        each._replace(axis=Axis(each.axis.column, each.axis.grid.laid_out())) if isinstance(each.axis, Axis) else each
        for each in bound
    ]


def _slots(bound: Sequence[BoundAxis]) -> list[str | None]:
    """SQL for the slot on each axis, from its number and text; None where only NumPy finds it."""
    slot = slot_type([each.axis.slots for each in bound])
    return [_slot(each, f"n{number}", f"t{number}", slot) for number, each in enumerate(bound)]


def _slot(bound: BoundAxis, number: str, text: str, slot: str) -> str | None:
    if isinstance(bound.axis, Axis):
        return grid_slot(bound.axis.grid, number, slot)
    return category_slot(keys_of(bound.axis, bound.column.kind), number, text, slot)


def _read(rows: str, bound: Sequence[BoundAxis], *more: str) -> str:
    """SQL for the number and the text of each axis, and for what else is named."""
    numbers = [f"{each.column.number.format(called(each.place))} AS n{i}" for i, each in enumerate(bound)]
    texts = [f"{each.column.text.format(called(each.place))} AS t{i}" for i, each in enumerate(bound)]
    return f"SELECT {', '.join([*numbers, *texts, *more])} FROM {rows}"


def place_in_sql(bound: Sequence[BoundAxis]) -> str:
    """SQL for the cell of a row of `read_in_sql`, the last axis fastest; NULL where it is missing on any axis.

    Raises:
        ValueError: a grid is one whose cells no formula finds.
    """
    slots = [slot for slot in _slots(bound) if slot]
    if len(slots) < len(bound):
        raise Refused("axes", "tuples of a stream are counted on linear grids and in categories")
    return f"({_joined(bound, [f'({slot})' for slot in slots])})::BIGINT"


def read_in_sql(rows: str, bound: Sequence[BoundAxis], extra: str) -> str:
    """SQL for the rows with the number and the text of each axis, and something else."""
    return _read(rows, bound, extra)


def _joined(bound: Sequence[BoundAxis], slots: Sequence[str]) -> str:
    """SQL for the place in the table, from the slots on its axes."""
    sizes = [each.axis.slots for each in bound]
    kind, place = slot_type(sizes), slots[0]
    for number, size in enumerate(sizes[1:], start=1):
        factor = size if prod(sizes[:number]) > 1 else 1  # times nothing; so many as all cells might not fit the type
        place = f"({place}) * {factor}::{kind} + {slots[number]}"
    return place


def _counts_by_sql(
    connection: duckdb.DuckDBPyConnection, rows: str, bound: Sequence[BoundAxis], slots: Sequence[str]
) -> IntArray:
    each = ", ".join(f"{slot} AS k{number}" for number, slot in enumerate(slots))
    place = _joined(bound, [f"k{number}" for number in range(len(bound))])
    grouped = f"SELECT {place} AS place, count(*) AS n FROM (SELECT {each} FROM ({_read(rows, bound)})) GROUP BY 1"
    found = connection.execute(f"SELECT coalesce(place::BIGINT, {size_of(bound)}), n FROM ({grouped})").fetchnumpy()
    places, numbers = found.values()
    table = np.zeros(size_of(bound) + 1, dtype=np.int64)
    table[np.asarray(places)] = np.asarray(numbers)  # cells without a row are not in the answer
    return table


def _batches(
    connection: duckdb.DuckDBPyConnection, rows: str, bound: Sequence[BoundAxis], slots: Sequence[str | None]
) -> Iterator[list[FloatArray]]:
    """Read each axis of each batch of rows: the slots, or the numbers where there is no SQL; NaN: missing."""
    values = (f"({slot or f'n{number}'})::DOUBLE" for number, slot in enumerate(slots))
    each = ", ".join(f"coalesce({value}, 'nan'::DOUBLE) AS k{number}" for number, value in enumerate(values))
    found = connection.sql(f"SELECT {each} FROM ({_read(rows, bound)})")
    for batch in found.to_arrow_reader(ROWS_AT_ONCE):
        # What Arrow itself offers would import pandas.
        yield [np.asarray(np.from_dlpack(column), dtype=np.float64) for column in batch.columns]


def _places(columns: Sequence[FloatArray], bound: Sequence[BoundAxis], slots: Sequence[str | None]) -> IntArray:
    """The cell index of each row of the table."""
    place, missing = np.zeros(len(columns[0]), dtype=np.int64), np.zeros(len(columns[0]), dtype=bool)
    for values, each, slot in zip(columns, bound, slots, strict=True):
        found = each.axis.grid.cell_of(values) if isinstance(each.axis, Axis) and slot is None else values
        lacks = ~(found < each.axis.slots)  # of NaN too
        place = place * each.axis.slots + np.where(lacks, 0, found).astype(np.int64)
        missing |= lacks
    return np.where(missing, size_of(bound), place)
