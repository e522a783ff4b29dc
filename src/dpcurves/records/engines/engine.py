"""The interface of engines, tables that stay in their engine, and the pieces between bounds that an engine counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from math import prod
from typing import NamedTuple, Protocol

import numpy as np

from ...arguments import NotInstalled, WrongKind
from ...arrays import FloatArray, IntArray
from ...data.axis import Axis, Categories
from ...data.grid import Grid
from ...privacy import Unit
from ..column import Column

# The interface of engines. One conformance suite holds all of them to the same cells.


class BoundAxis(NamedTuple):
    """An axis, and the column that it is read from."""

    axis: Axis | Categories
    column: Column
    place: int


def size_of(bound: Sequence[BoundAxis]) -> int:
    """The number of cells of a table of these axes; 1 without axes."""
    return prod(each.axis.slots for each in bound)


def grid_of(bound: BoundAxis) -> Grid:
    """The grid of an axis.

    Raises:
        TypeError: it has categories.
    """
    if not isinstance(bound.axis, Axis):
        raise WrongKind("axes", "sums and prefixes need a grid")
    return bound.axis.grid


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


# A table that stays in its engine: where it lies, and how it is opened.


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


def table_at(url: str, table: str) -> EngineTable:
    """The table of the engine that a URL leads to.

    Raises:
        NotInstalled: no installed package knows URLs of this scheme.
        ValueError: the URL or the table's name can not be taken.
    """
    scheme = url.partition("://")[0]
    for each in entry_points(group=GROUP, name=scheme):
        made: EngineTable = each.load()(url, table=table)
        return made
    raise NotInstalled("data", f"no installed package opens {scheme}://")


# The pieces between the bounds of prefixes that are asked: what an engine counts, and prefixes from its counts.


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces of the last axis, in each row of the others; rows of all pieces lie one behind the other.

    Attributes:
        grid: The grid of the last axis.
        own: How many slots of each row every entry asks for, (rows, entries).
        inner: Numbers of slots, rising, that pieces end at; the last piece has no end.
    """

    grid: Grid
    own: IntArray
    inner: IntArray

    @classmethod
    def of(cls, bound: Sequence[BoundAxis], at: Sequence[int]) -> Pieces:
        """The fewest pieces by which the first slots of the table, so many for each entry, can be counted."""
        *first, last = bound
        grid, before = grid_of(last), np.arange(size_of(first))[:, None]
        own = np.clip(np.array(at, dtype=np.int64) - before * grid.slots, 0, grid.slots)
        return cls(grid, own, np.unique(own[(own > 0) & (own < grid.slots)]))

    @property
    def bounds(self) -> FloatArray:
        """The doubles at which all pieces but the first begin."""
        return self.grid.bound(self.inner)

    @property
    def count(self) -> int:
        """The number of pieces of a row."""
        return len(self.inner) + 1

    @property
    def nothing(self) -> IntArray:
        """A count for each piece of each row, and behind them that of rows that are missing: zeros."""
        return np.zeros(len(self.own) * self.count + 1, dtype=np.int64)

    def prefixes(self, counts: IntArray) -> list[int]:
        """Each entry's rows, and behind them the missing ones, from counts laid out as `nothing` is."""
        below = np.cumsum(counts[:-1].reshape(-1, self.count), axis=1)
        ends = np.clip(np.searchsorted(self.inner, self.own), 0, self.count - 1)
        inside = np.take_along_axis(below, ends, axis=1)
        each = np.where(self.own == 0, 0, np.where(self.own == self.grid.slots, below[:, -1:], inside))
        return [*each.sum(axis=0).tolist(), int(counts[-1])]
