"""The SQL of PostgreSQL that finds the cell of a row. Made of public things, which travel as parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpcurves.data.axis import Axis
from dpcurves.data.grid import Grid
from dpcurves.data.spacing import Outside
from dpcurves.records.engines.duckdb_units import pads
from dpcurves.records.engines.engine import BoundAxis
from dpcurves.records.engines.slot_text import (
    Buckets,
    Offsets,
    buckets_of,
    edge_above,
    keys_of,
    texts_and_numbers,
    thresholds_of,
)

from .postgres_link import Doubles

MOST_AS_PARAMETER = 2**11
"""Slots up to this number are looked up, which costs no more than the formula; of 2**16 it costs half as much again."""
APART = "OFFSET '0'::int8"
"""Ends a subquery that is planned by itself. (Behind ``OFFSET 0``, a number of 32 bits, none is worked in parallel.)"""


def double(value: float) -> str:
    """SQL for exactly this double."""
    return f"'{float(value)!r}'::float8"


class Statement:
    """Parameters of one statement, in the order in which they were named."""

    def __init__(self) -> None:
        self.parameters: list[Any] = []

    def doubles(self, values: Any) -> str:
        """Name an array of doubles."""
        return f"{self._named(Doubles(values))}::float8[]"

    def texts(self, values: Sequence[str]) -> str:
        """Name an array of texts."""
        return f"{self._named(list(values))}::text[]"

    def bytes(self, value: bytes) -> str:
        """Name bytes."""
        return f"{self._named(value)}::bytea"

    def whole(self, value: int) -> str:
        """Name a whole number of 64 bits."""
        return f"{self._named(value)}::int8"

    def _named(self, value: Any) -> str:
        self.parameters.append(value)
        return f"${len(self.parameters)}"


def read(bound: Sequence[BoundAxis], rows: str, *more: str) -> str:
    """SQL for the number and the text of each axis: n0, t0, n1, ...; and for other columns of the rows."""
    each = [
        f"{axis.column.number.format(f'c{axis.place}')} AS n{i}, {axis.column.text.format(f'c{axis.place}')} AS t{i}"
        for i, axis in enumerate(bound)
    ]
    return f"SELECT {', '.join([*each, *more])} FROM {rows}"


def slot(bound: BoundAxis, number: int, statement: Statement) -> str:
    """SQL for the slot on one axis; NULL where it is missing."""
    if isinstance(bound.axis, Axis):
        return grid_slot(bound.axis.grid, f"n{number}", statement)
    texts, numbers = texts_and_numbers(keys_of(bound.axis, bound.column.kind))
    found = []
    known = [(place, text) for place, text in enumerate(texts) if text is not None]
    if known:
        found.append(_place([place for place, _ in known], statement.texts([text for _, text in known]), f"t{number}"))
    alike = [(place, value) for place, value in enumerate(numbers) if value is not None]
    if alike:
        found.append(_place([place for place, _ in alike], statement.doubles([key for _, key in alike]), f"n{number}"))
    return f"coalesce({', '.join([*found, 'NULL::int8'])})"


def _place(places: Sequence[int], keys: str, value: str) -> str:
    return f"('{{{', '.join(map(str, places))}}}'::int8[])[array_position({keys}, {value})]"


def grid_slot(grid: Grid, value: str, statement: Statement) -> str:
    """SQL for the slot of a double: looked up among thresholds, or guessed and corrected where there are many."""
    buckets = buckets_of(grid) if grid.slots > MOST_AS_PARAMETER else None
    return among(thresholds_of(grid), value, statement) if buckets is None else by_formula(grid, buckets, value)


def by_formula(grid: Grid, buckets: Buckets, value: str) -> str:
    """SQL for the slot of a double, without looking anything up.

    Where buckets a little below the edges and a little above them agree, the cell is known; else the edge is asked.
    Total: ``width_bucket`` takes every double but NaN, which never reaches it, and the edge is computed from a number
    of a cell alone.
    """
    least, most = (
        f"width_bucket({value}, {double(buckets.lower + ahead)}, {double(buckets.upper + ahead)}, {buckets.number})"
        for ahead in (buckets.margin, 0.0)
    )
    below = f"{value} < {edge_above(grid, most, double)}"
    if grid.outside is Outside.CLAMPED:
        found = f"CASE WHEN {least} = {most} THEN {most} WHEN {below} THEN {most} - 1 ELSE {most} END"
    else:
        outer = f"WHEN {value} < {double(grid.lower)} THEN 0 WHEN {value} > {double(grid.upper)} THEN {grid.cells + 1}"
        inner = f"WHEN {least} = {most} THEN {most} + 1 WHEN {below} THEN {most} ELSE {most} + 1 END"
        found = f"CASE {outer} {inner}"
    return f"(CASE WHEN {value} <> 'NaN'::float8 THEN {found} END)"


def among(thresholds: Any, value: str, statement: Statement) -> str:
    """SQL for how many thresholds a double is at or above; NULL where it is missing."""
    if not len(thresholds):
        return f"CASE WHEN {value} <> 'NaN'::float8 THEN 0 END"
    return f"CASE WHEN {value} <> 'NaN'::float8 THEN width_bucket({value}, {statement.doubles(thresholds)}) END"


def joined(bound: Sequence[BoundAxis], slots: Sequence[str]) -> str:
    """SQL for the place in the table, the last axis fastest; NULL where a slot is."""
    place = f"({slots[0]})"
    for axis, found in zip(bound[1:], slots[1:], strict=True):
        place = f"({place} * {axis.axis.slots}::int8 + ({found}))"
    return place


def offset(grid: Grid, value: str, slot: str, half: int, statement: Statement) -> str:
    """SQL for `Grid.offset_of`; 0 where a value is missing or counted apart. Total: see `Offsets`."""
    middle, width, nothing = (f"({statement.doubles(each)})" for each in Offsets.of(grid))
    apart = grid.slots - grid.cells  # 2 or 0
    cell = f"({slot} + {1 - apart // 2})"
    lower, upper = double(grid.lower), double(grid.upper)
    far = f"(LEAST(GREATEST({value}, {lower}), {upper}) - {middle}[{cell}])"
    near = f"(CASE WHEN abs({far}) < {nothing}[{cell}] THEN 0::float8 ELSE {far} END)"
    steps = f"floor({near} / {width}[{cell}] * {double(2 * half)} + 0.5::float8)"
    clipped = f"LEAST(GREATEST({steps}, {double(-half)}), {double(half)})::int8"
    return f"CASE WHEN {cell} BETWEEN 1 AND {grid.cells} THEN {clipped} ELSE 0 END"


def hmac(key: bytes, message: str, statement: Statement) -> str:
    """SQL for HMAC-SHA256 under a key that travels as a parameter."""
    padded = pads(key)
    inner, outer = statement.bytes(padded["inner"]), statement.bytes(padded["outer"])
    return f"sha256({outer} || sha256({inner} || {message}))"
