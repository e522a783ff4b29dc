"""SENSITIVE. Records of one holder, and the exact integers that are counted from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arguments import Refused, shown
from ..arrays import FloatArray
from ..data.axis import Axis, Categories
from ..queries.query import PrefixQuery, Query, SquareQuery, SumQuery
from ..queries.subsets import SubsetQuery
from .column import Column, Kind, place_of
from .engines.engine import BoundAxis, CountingEngine
from .engines.slot_text import in_numbers
from .fits import confirmed
from .hiding import hidden

TEXTS = {Kind.TEXT, Kind.OBJECTS}
LARGEST_SQUARED = 2**26
"""The largest half of a cell, in steps, whose squares are added up without leaving 64 bits."""

Axes = Sequence[Axis | Categories]
Result = TypeVar("Result")


class CountSource(Protocol):
    """The interface of an engine that counts. Exact integers leave it, for a trust model to add noise to."""

    def check(self, axes: Axes) -> None:
        """Refuse, by the schema alone, axes that cannot be counted.

        Raises:
            ValueError: a column is not there, or does not hold what is asked.
        """

    def counts(self, axes: Axes) -> NDArray[np.int64]:
        """Used records per cell, the last axis fastest, and behind them those that are missing on any axis."""

    def sums(self, axes: Axes, half: int) -> list[int]:
        """Per cell the sum of `Grid.offset_of` of the last axis; behind them a 0."""

    def squares(self, axes: Axes, half: int) -> list[int]:
        """Per cell the sum of ``2 * offset**2 - half**2`` of those offsets; behind them a 0."""

    def prefixes(self, axes: Axes, at: Sequence[int]) -> list[int]:
        """Used records in the first slots of the table, so many for each entry; behind them the missing ones."""

    def confirmed(self, query: SubsetQuery) -> int:
        """In how many subsets of the units the coefficient lies between its bounds."""

    def units(self) -> int:
        """The number of units; the records without a unit are one together."""


class Records:
    """Opened records, of which at most ``unit.records`` of each unit are used. Shows nothing of them.

    Formal guarantees: let two data sets differ in one unit. Their `counts` differ by at most ``unit.records`` in L1
    norm if it came or went, and by twice that if it was replaced; their `sums` by at most `half` times that, their
    `squares` by ``half**2`` times that. After `check`, no record makes any of these fail.
    """

    __slots__ = ("_counted_units", "_engine", "_one_at_a_time")

    def __init__(self, engine: CountingEngine) -> None:
        self._engine = engine
        self._one_at_a_time = Lock()  # threads share one connection, and the names in it
        self._counted_units: int | None = None

    def __repr__(self) -> str:
        return "Records(hidden)"

    def __enter__(self) -> Records:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def each_batch(self, axes: Axes, take: Callable[[Sequence[FloatArray]], None]) -> None:
        """Give `take` the numbers of used records, or the places of their categories, batch by batch; NaN: missing.

        For what works out scores alone.

        Raises:
            ValueError: as `counts`.
        """
        self.check(axes)

        def read() -> None:
            for batch in self._engine.numbers(self._bound(axes)):
                take(batch)

        self._hidden(read)

    def close(self) -> None:
        """Let go of the records, and of all that was kept of them."""
        self._engine.close()

    @property
    def moment(self) -> int | None:
        """A number of the state of the data; another state has another. None: nobody can tell states apart."""
        return self._engine.moment

    def check(self, axes: Axes) -> None:
        """Refuse axes that the schema does not allow.

        Raises:
            ValueError: a column is not there, or holds no numbers where an axis needs them, or declares a type of
                which no value equals one of the categories.
        """
        if not axes:
            raise Refused("axes", "at least one is needed")
        for axis, column, _ in self._bound(axes):
            taken = {Kind.NUMBERS, Kind.UNTYPED} | (TEXTS if isinstance(axis, Categories) else set())
            if column.kind not in taken:
                rule = f"{axis.column!r} holds {column.kind.value}, {_needed(axis, column.kind)}"
                raise Refused("column", rule, str(axis.column))
            if isinstance(axis, Categories):
                _require_alike(axis, column)
        with self._one_at_a_time:
            self._engine.prepare(self._bound(axes))

    def counts(self, axes: Axes) -> NDArray[np.int64]:
        """Used records per cell, and behind them the missing ones: shape ``(prod(slots) + 1,)``.

        Raises:
            ValueError: see `check`; or the source cannot be read at all.
        """
        self.check(axes)
        return self._hidden(lambda: self._engine.counts(self._bound(axes)))

    def sums(self, axes: Axes, half: int) -> list[int]:
        """Exact sums of ``Grid.offset_of(values, half)`` of the last axis per cell, and behind them 0.

        Raises:
            ValueError: as `counts`; or the last axis has no grid, or `half` is no half.
        """
        self._check_sums(axes, half)
        return self._hidden(lambda: self._engine.sums(self._bound(axes), half))

    def squares(self, axes: Axes, half: int) -> list[int]:
        """Exact sums of ``2 * offset**2 - half**2`` of those offsets per cell, and behind them 0.

        Raises:
            ValueError: as `sums`; or `half` is above 2**26.
        """
        self._check_sums(axes, half)
        if half > LARGEST_SQUARED:
            raise Refused("half", f"a whole number up to {LARGEST_SQUARED} is needed for squares, got {half}")
        return self._hidden(lambda: self._engine.squares(self._bound(axes), half))

    def _check_sums(self, axes: Axes, half: int) -> None:
        self.check(axes)
        if not isinstance(axes[-1], Axis):
            raise Refused("column", f"{axes[-1].column!r} is summed, so it needs a grid", str(axes[-1].column))
        axes[-1].grid.offset_of(np.empty(0), half)  # refuses a wrong half where this may still be said

    def prefixes(self, axes: Axes, at: Sequence[int]) -> list[int]:
        """Used records in the first slots of the table, so many for each entry, and behind them the missing ones.

        No cell is laid out: the grid of the last axis may have as many as doubles can tell apart.

        Raises:
            ValueError: as `counts`; or the last axis has no grid.
        """
        self.check(axes)
        if not isinstance(axes[-1], Axis):
            raise Refused("axes", "prefixes are counted along a column of numbers")
        return self._hidden(lambda: self._engine.prefixes(self._bound(axes), at))

    def places(self, axes: Axes) -> NDArray[np.int64]:
        """The cell of each used record, the last axis fastest; one that is missing on any axis lies behind them all.

        For the owner of the records alone, who shares them out.

        Raises:
            ValueError: as `counts`.
        """
        self.check(axes)
        return self._hidden(lambda: self._engine.places(self._bound(axes)))

    def confirmed(self, query: SubsetQuery) -> int:
        self.check(query.axes)
        return self._hidden(lambda: self._confirmed(query))

    def _confirmed(self, query: SubsetQuery) -> int:
        bound = self._bound(query.axes)
        batches = list(self._engine.in_subsets(bound, query.subsets))
        joined = [np.concatenate([np.empty(0), *(batch[i] for batch in batches)]) for i in range(len(bound) + 1)]
        return confirmed(query, joined[:-1], joined[-1])

    def units(self) -> int:
        if self._counted_units is None:
            self._counted_units = self._hidden(self._engine.units)
        return self._counted_units

    def _hidden(self, action: Callable[[], Result]) -> Result:
        with self._one_at_a_time:
            return hidden(action, self._engine.failure)

    def _bound(self, axes: Axes) -> list[BoundAxis]:
        columns = self._engine.columns
        places = [place_of(axis.column, columns) for axis in axes]
        return [BoundAxis(axis, columns[place], place) for axis, place in zip(axes, places, strict=True)]


def tabulate(records: CountSource, query: Query) -> NDArray[Any]:
    """The exact table of `query`: 64-bit integers; for sums, Python's integers in an array of objects.

    Sensitive: for trust models alone, which add noise to it at once.
    """
    if isinstance(query, SubsetQuery):
        return np.array([records.confirmed(query), 0])
    if isinstance(query, SquareQuery):
        return np.array(records.squares(query.axes, query.half), dtype=object)
    if isinstance(query, SumQuery):
        return np.array(records.sums(query.axes, query.half), dtype=object)
    if isinstance(query, PrefixQuery):
        return np.array(records.prefixes(query.axes, query.at))
    return records.counts(query.axes)


def _needed(axis: Axis | Categories, kind: Kind) -> str:
    """The kind of values that a column needs, and the way it gets there where that is not plain."""
    instead = "; give days or seconds as numbers (of dates: since a public day)" if kind is Kind.TIMES else ""
    return f"{'a number' if isinstance(axis, Axis) else 'a number or text'} is needed{instead}"


def _require_alike(axis: Categories, column: Column) -> None:
    """Refuse numbers in a column of text, and words in one of numbers: they would find nothing, and be paid for.

    Raises:
        ValueError: a category is of another kind than the column declares.
    """
    for argument, value in zip(axis.named[::-1], axis.values[::-1], strict=True):  # the positive label first
        if column.kind is Kind.TEXT and not isinstance(value, str):
            raise Refused(argument, f"{shown(value)} is no text, but {axis.column!r} holds text; name it in quotes")
        if column.kind is Kind.NUMBERS and in_numbers(value) is None:
            raise Refused(argument, f"{shown(value)} is no number, but {axis.column!r} holds numbers")
