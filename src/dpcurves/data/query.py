"""Questions about records, written down before any data is seen. Each is answered from one integer table.

A table is flat: the cells of the product of the axes, the last axis fastest, and behind them one more cell for the
records that are missing on any axis. Every record that is used lies in exactly one of these cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from math import prod
from operator import index as whole_number
from typing import Self

from .axis import Axis, Categories
from .grid import Grid


class Read(Enum):
    """What will be read from the counts: the chooser minimises the error of that."""

    CELLS = "cells"
    PREFIXES = "prefixes along the last axis"


@dataclass(frozen=True, slots=True)
class Table:
    """What all queries share: the axes of the table, and how much one record can add to its cell."""

    axes: tuple[Axis | Categories, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells per axis, without the missing cell."""
        return tuple(axis.slots for axis in self.axes)

    @property
    def rows(self) -> int:
        """How many cells the axes before the last one have together."""
        return prod(self.shape[:-1])

    @property
    def cells(self) -> int:
        """How many cells the last axis has."""
        return self.shape[-1]

    @property
    def reach(self) -> int:
        """How much one record can add to its cell, at most."""
        return 1

    @property
    def paid_as(self) -> Self:
        """What is paid for when this is asked: once, however often it is looked at."""
        return self


@dataclass(frozen=True, slots=True)
class CountQuery(Table):
    """How many records fall in each cell."""

    read: Read


@dataclass(frozen=True, slots=True)
class PartitionQuery(Table):
    """How many records fall in each interval of nested tilings of the last axis.

    Attributes:
        tilings: From coarse to fine, each the first cells of its intervals, which rise from 0. Every interval is a
            union of intervals of the next tiling. They may depend on earlier answers, never on records.

    Raises:
        ValueError: a tiling does not begin at 0, does not rise, leaves the axis, or is not nested in the next one.
    """

    tilings: tuple[range | tuple[int, ...], ...]

    def __post_init__(self) -> None:
        whole = all(
            tiling and tiling[0] == 0 and all(left < right for left, right in pairwise((*tiling, self.cells)))
            for tiling in self.tilings
        )
        nested = all(set(coarse) <= set(fine) for coarse, fine in pairwise(self.tilings))
        if not (self.tilings and whole and nested):
            raise ValueError("tilings: each begins at cell 0, rises, and is nested in the next one")


@dataclass(frozen=True, slots=True)
class SumQuery(Table):
    """The sum, in each cell, of the distances of the last axis' values from the middle of their cell.

    A distance is an integer in ``-half, ..., half``, in steps of the cell's width over ``2 * half``. So a record can
    add `half` at most, in a narrow cell as in a wide one, and missing records add 0.
    """

    half: int

    @property
    def reach(self) -> int:
        """How much one record can add to its cell, at most."""
        return self.half


@dataclass(frozen=True, slots=True)
class CutQuery(Table):
    """Numbers of inner edges of the one axis that cut the records into `pieces` of about equal size."""

    pieces: int


@dataclass(frozen=True, slots=True)
class RangeQuery(Table):
    """How many records lie in the first slots of the one axis, which is on a grid. Cells are not laid out.

    Priced as all such counts together, once: other counts of the same grid are then free. Its table has one integer for
    each entry of `at`, and behind them that of the missing cell.

    Attributes:
        at: How many slots each count takes, in any order; none where nothing but the price is asked.

    Raises:
        ValueError: the axis is another, or has fewer slots.
        TypeError: an entry is no whole number.
    """

    at: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", tuple(whole_number(slots) for slots in self.at))
        if len(self.axes) != 1 or not isinstance(self.axes[0], Axis):
            raise ValueError("axes: prefixes are counted along one column of numbers")
        if any(not 0 <= slots <= self.cells for slots in self.at):
            raise ValueError(f"at: whole numbers from 0 to {self.cells} are needed, got {self.at}")

    @property
    def grid(self) -> Grid:
        """The cells along which it counts."""
        (axis,) = self.axes
        if not isinstance(axis, Axis):
            raise TypeError("axes: one column of numbers is needed")
        return axis.grid

    @property
    def paid_as(self) -> Self:
        """All counts of this grid together."""
        return replace(self, at=())


Query = CountQuery | PartitionQuery | RangeQuery | SumQuery | CutQuery
