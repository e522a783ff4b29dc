"""SENSITIVE. Records of which some columns are worked out by models, record by record, as they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..arguments import Refused, WrongKind
from ..arrays import FloatArray, IntArray
from ..data.axis import Axis, Categories
from ..data.grid import Grid
from ..data.predictor import Predictor
from ..queries.subsets import SubsetQuery
from .counting import CountSource

LOW_BITS = 31
READ = Grid(0, 1, cells=1)
"""Stands where a column is read as numbers, whatever they are."""
Axes = Sequence[Axis | Categories]


class NumberSource(CountSource, Protocol):
    """Records that can be read, batch by batch, by what works out scores."""

    @property
    def moment(self) -> int | None:
        """A number of the state of the data; None: nobody can tell states apart."""

    def each_batch(self, axes: Axes, take: Callable[[Sequence[FloatArray]], None]) -> None:
        """Give `take` the numbers of used records, or the places of their categories; NaN: missing."""

    def places(self, axes: Axes) -> NDArray[np.int64]:
        """The cell of each used record."""

    def close(self) -> None:
        """Let go of the records."""


class Scored:
    """A `CountSource` in whose axes a model may stand for a column. What has no model is counted as without it.

    Formal guarantees: the score of a record is a function of that record (`Predictor`), so counts, sums and prefixes
    of scores differ between neighbours no more than those of a column. After `check` no record makes any of these fail.
    """

    __slots__ = ("_records",)

    def __init__(self, records: NumberSource) -> None:
        self._records = records

    def __repr__(self) -> str:
        return "Scored(hidden)"

    def close(self) -> None:
        """Let go of the records."""
        self._records.close()

    @property
    def moment(self) -> int | None:
        """A number of the state of the data; None: nobody can tell states apart."""
        return self._records.moment

    def check(self, axes: Axes) -> None:
        """Refuse axes that the schema does not allow, and models whose columns are not there.

        Raises:
            ValueError: as for `Records.check`.
        """
        self._records.check(axes if not _has_model(axes) else _inputs(axes))

    def counts(self, axes: Axes) -> NDArray[np.int64]:
        if not _has_model(axes):
            return self._records.counts(axes)
        axes, table = _laid_out(axes), np.zeros(_size(axes) + 1, dtype=np.int64)

        def add(columns: Sequence[FloatArray]) -> None:
            np.add(table, np.bincount(_places(columns, axes), minlength=len(table)), out=table)

        self._each(axes, add)
        return table

    def sums(self, axes: Axes, half: int) -> list[int]:
        if not _has_model(axes):
            return self._records.sums(axes, half)
        return self._added(axes, lambda grid, values: grid.offset_of(values, half))

    def squares(self, axes: Axes, half: int) -> list[int]:
        if not _has_model(axes):
            return self._records.squares(axes, half)
        return self._added(axes, lambda grid, values: 2 * grid.offset_of(values, half) ** 2 - half**2)

    def prefixes(self, axes: Axes, at: Sequence[int]) -> list[int]:
        if not _has_model(axes):
            return self._records.prefixes(axes, at)
        *first, last = axes
        if not isinstance(last, Axis):
            raise WrongKind("axes", "a prefix needs a grid")
        before, slots = np.arange(_size(first))[:, None], last.slots
        own = np.clip(np.array(at, dtype=np.int64) - before * slots, 0, slots)
        ends, entries = np.unique(np.append(own, slots), return_inverse=True)
        bounds = last.grid.bound(ends)
        table = np.zeros((len(before) + 1, len(bounds) + 1), dtype=np.int64)

        def add(columns: Sequence[FloatArray]) -> None:
            row = _places(columns[:-1], first) if first else np.zeros(len(columns[-1]), dtype=np.int64)
            place = row * table.shape[1] + np.searchsorted(bounds, columns[-1], side="right")
            np.add(table, np.bincount(place, minlength=table.size).reshape(table.shape), out=table)

        self._each(axes, add)
        below = np.cumsum(table, axis=1)
        counts = below[before, entries[:-1].reshape(own.shape)].sum(axis=0)
        return [*counts.tolist(), int(table.sum() - below[:-1, -2].sum())]

    def places(self, axes: Axes) -> NDArray[np.int64]:
        """The cell of each used record, the last axis fastest; one that is missing on any axis lies behind them all."""
        if not _has_model(axes):
            return self._records.places(axes)
        found, laid_out = [np.empty(0, dtype=np.int64)], _laid_out(axes)
        self._each(axes, lambda columns: found.append(_places(columns, laid_out)))
        return np.concatenate(found)

    def confirmed(self, query: SubsetQuery) -> int:
        return self._records.confirmed(query)

    def units(self) -> int:
        return self._records.units()

    def _added(self, axes: Axes, amounts: Callable[[Grid, FloatArray], IntArray]) -> list[int]:
        """The exact sums of what each record adds to its cell, in two parts, so that none leaves 64 bits."""
        axes = _laid_out(axes)
        high, low = np.zeros((2, _size(axes) + 1), dtype=np.int64)
        last = axes[-1]
        if not isinstance(last, Axis):
            raise Refused("column", f"{last.column!r} is summed, so it needs a grid", str(last.column))

        def add(columns: Sequence[FloatArray]) -> None:
            place, offset = _places(columns, axes), amounts(last.grid, columns[-1])
            np.add.at(high, place, offset >> LOW_BITS)
            np.add.at(low, place, offset & (2**LOW_BITS - 1))

        self._each(axes, add)
        found = [(above << LOW_BITS) + below for above, below in zip(high.tolist(), low.tolist(), strict=True)]
        return [*found[:-1], 0]

    def _each(self, axes: Axes, take: Callable[[Sequence[FloatArray]], None]) -> None:
        """Give `take` one column for each axis: numbers, places of categories, or what a model makes of several."""

        def worked_out(columns: Sequence[FloatArray]) -> None:
            left = list(columns)
            found = []
            for axis in axes:
                own, left = left[: _width(axis)], left[_width(axis) :]
                found.append(axis.column.values(own) if isinstance(axis.column, Predictor) else own[0])
            take(found)

        self._records.each_batch(_inputs(axes), worked_out)


def _has_model(axes: Axes) -> bool:
    return any(isinstance(axis.column, Predictor) for axis in axes)


def _inputs(axes: Axes) -> list[Axis | Categories]:
    """The columns that are read: each axis itself, or the columns of its model."""
    return [each for axis in axes for each in _read(axis)]


def _read(axis: Axis | Categories) -> list[Axis | Categories]:
    if not isinstance(axis.column, Predictor):
        return [axis]
    return [
        Axis(each.column, READ) if each.values is None else Categories(each.column, each.values)
        for each in axis.column.inputs
    ]


def _width(axis: Axis | Categories) -> int:
    return len(axis.column.inputs) if isinstance(axis.column, Predictor) else 1


def _size(axes: Axes) -> int:
    return prod(axis.slots for axis in axes)


def _laid_out(axes: Axes) -> Axes:
    return [Axis(each.column, each.grid.laid_out()) if isinstance(each, Axis) else each for each in axes]


def _places(columns: Sequence[FloatArray], axes: Axes) -> IntArray:
    """The cell index of each record; a record missing on any axis comes behind all cells."""
    place, missing = np.zeros(len(columns[0]), dtype=np.int64), np.zeros(len(columns[0]), dtype=bool)
    for values, axis in zip(columns, axes, strict=True):
        found = axis.grid.cell_of(values) if isinstance(axis, Axis) else values
        lacks = ~(found < axis.slots)  # of NaN too
        place = place * axis.slots + np.where(lacks, 0, found).astype(np.int64)
        missing |= lacks
    return np.where(missing, _size(axes), place)
