"""The interface of engines. One conformance suite holds all of them to the same cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple, Protocol

from ...arguments import WrongKind
from ...arrays import FloatArray, IntArray
from ...data.axis import Axis, Categories
from ...data.grid import Grid
from ..column import Column


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
