"""Questions about records, written down before any data is seen. Each is answered from one integer table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from operator import index as whole_number
from typing import Self

from .axis import Axis
from .grid import Grid
from .region import BucketQuery, MisfitQuery, RegionQuery
from .table import Read, Table


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


Query = (
    CountQuery | PartitionQuery | RangeQuery | SumQuery | CutQuery
    | RegionQuery | BucketQuery | MisfitQuery
)  # fmt: skip
