"""The pieces between the bounds of prefixes that are asked: what an engine counts, and prefixes from its counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import FloatArray, IntArray
from ...data.grid import Grid
from .engine import BoundAxis, grid_of, size_of


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
