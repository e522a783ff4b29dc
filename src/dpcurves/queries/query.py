"""Questions about records, written down before any data is seen. Each is answered from one integer table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import prod
from operator import lt
from typing import NamedTuple, Self

from ..arguments import Refused, WrongKind, chosen, make_each_whole, make_whole
from ..data.axis import Axis
from ..data.grid import Grid
from ..data.spacing import Outside
from .base import Hint, Query, Read

MOST_PIECES = 2**16
LARGEST_WEIGHT = 2**31
MOST_WEIGHTS = 2**20
FINEST_SHARE = 10**6
MOST_BOUNDED = 513
LARGEST_LEAST = 2**50


@dataclass(frozen=True, slots=True)
class CountQuery(Query):
    """Counts of records in each cell.

    Attributes:
        read: What will be read from the counts.
        hint: What is said of the records before they are seen, if anything.

    Raises:
        ValueError: `read` or `hint` is none of the choices.
    """

    read: Read
    hint: Hint | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "read", chosen("read", self.read, Read))
        if self.hint is not None:
            object.__setattr__(self, "hint", chosen("hint", self.hint, Hint, also=", or none"))


@dataclass(frozen=True, slots=True)
class PartitionQuery(Query):
    """Counts of records in each interval of nested tilings of the last axis.

    Attributes:
        tilings: From coarse to fine, each the first cells of its intervals, which rise from 0. Every interval is a
            union of intervals of the next tiling. They may depend on earlier answers, never on records.
        turn: The number of the turn. The same tilings under another number are another question, with noise of its own.

    Raises:
        ValueError: a tiling does not begin at 0, does not rise, leaves the axis, or is not nested in the next one.
    """

    tilings: tuple[range | tuple[int, ...], ...]
    turn: int = 0

    def __post_init__(self) -> None:
        whole = all(_tiles(tiling, self.cells) for tiling in self.tilings)
        nested = all(_holds(fine, coarse) for coarse, fine in pairwise(self.tilings))
        if not (self.tilings and whole and nested):
            raise Refused("tilings", "each begins at cell 0, rises, and is nested in the next one")


def _tiles(starts: range | tuple[int, ...], cells: int) -> bool:
    if isinstance(starts, range):  # however long
        return len(starts) > 0 and starts[0] == 0 and starts.step > 0 and starts[-1] < cells
    return bool(starts) and starts[0] == 0 and all(map(lt, starts, (*starts[1:], cells)))


def _holds(fine: range | tuple[int, ...], coarse: range | tuple[int, ...]) -> bool:
    """Tell whether `fine` contains all of `coarse`."""
    return all(map(fine.__contains__, coarse)) if isinstance(fine, range) else frozenset(fine).issuperset(coarse)


@dataclass(frozen=True, slots=True)
class SumQuery(Query):
    """The sum, in each cell, of the distances of the last axis' values from the middle of their cell.

    A distance is an integer in ``-half, ..., half``, in steps of the cell's width over ``2 * half``. So a record can
    add `half` at most, in a narrow cell as in a wide one, and missing records add 0.

    Raises:
        TypeError: `half` is no whole number.
    """

    half: int

    def __post_init__(self) -> None:
        make_whole(self, half="half")

    @property
    def per_record_sensitivity(self) -> int:
        """The largest amount that one record can add to its cell."""
        return self.half


@dataclass(frozen=True, slots=True)
class SquareQuery(SumQuery):
    """The sum, in each cell, of ``2 * distance**2 - half**2``, for the distances of `SumQuery`.

    So a record adds ``-half**2`` in the middle of its cell and ``half**2`` at its ends, never more either way: half of
    what its square alone, times 2, would add. With the number of records of a cell, the sum of squares follows.
    """

    @property
    def per_record_sensitivity(self) -> int:
        return self.half**2


@dataclass(frozen=True, slots=True)
class QuantileCutsQuery(Query):
    """Numbers of inner edges of the one axis that cut the records into `pieces` of about equal size.

    Raises:
        ValueError: there are more than 2**16 pieces.
        TypeError: `pieces` is no whole number.
    """

    pieces: int

    def __post_init__(self) -> None:
        make_whole(self, pieces="pieces")
        if self.pieces > MOST_PIECES:
            raise Refused("pieces", f"at most {MOST_PIECES} are cut, got {self.pieces}")


@dataclass(frozen=True, slots=True)
class TreePartitionQuery(Query):
    """Into which boxes of cells the table is divided: small where records are many, large where they are few.

    Attributes:
        fans: Into how many parts of about equal length a box is divided along each axis, when it is; 1: never.
        least: Boxes that seem to hold more records than this are divided, the deeper ones from a few more on.

    Raises:
        ValueError: there is not one fan-out of at least 1 for each axis, or `least` is out of range.
        TypeError: a fan-out, or `least`, is no whole number.
    """

    fans: tuple[int, ...]
    least: int

    def __post_init__(self) -> None:
        make_each_whole(self, fans="fans")
        make_whole(self, least="least")
        if len(self.fans) != len(self.axes) or min(self.fans, default=0) < 1:
            raise Refused("fans", f"one of at least 1 is needed for each axis, got {self.fans}")
        if not 0 <= self.least <= LARGEST_LEAST:
            raise Refused("least", f"a number from 0 to {LARGEST_LEAST} is needed, got {self.least}")


@dataclass(frozen=True, slots=True)
class PrefixQuery(Query):
    """Counts of records in the first slots of a table whose last axis is on a grid. Cells are not laid out.

    Rows lie one behind the other. Priced as all such counts together, once: other counts of the same table are then
    free. Its table has one integer for each entry of `at`, and behind them that of the missing cell.

    Attributes:
        at: How many slots each count takes, in any order; none where nothing but the price is asked.

    Raises:
        ValueError: the last axis is on no grid, or there are fewer slots.
        TypeError: an entry is no whole number.
    """

    at: tuple[int, ...]

    def __post_init__(self) -> None:
        make_each_whole(self, at="at")
        if not self.axes or not isinstance(self.axes[-1], Axis):
            raise Refused("axes", "prefixes are counted along a column of numbers")
        if any(not 0 <= slots <= self.slots for slots in self.at):
            raise Refused("at", f"whole numbers from 0 to {self.slots} are needed, got {self.at}")

    @property
    def slots(self) -> int:
        """The number of slots of all rows together."""
        return self.rows * self.cells

    @property
    def paid_as(self) -> Self:
        """The counts of this table together."""
        return replace(self, at=())


class ThresholdComparison(NamedTuple):
    """Does the sum of the cells, each times its weight, reach the threshold?

    A threshold that is itself a sum over records is subtracted in the weights.
    """

    weights: tuple[int, ...]
    threshold: int


@dataclass(frozen=True, slots=True)
class ThresholdQuery(Query):
    """Comparisons with thresholds, asked in order until `most` of them reached theirs.

    Attributes:
        comparisons: Each with one weight for every cell of the flat table; missing records have none.
        most: After so many that reached their threshold no more are asked.

    Raises:
        ValueError: there is no comparison, one has another number of weights or weights beyond 2**31, all together
            have more than 2**20 weights, or `most` is not between 1 and the number of comparisons.
    """

    comparisons: tuple[ThresholdComparison, ...]
    most: int

    def __post_init__(self) -> None:
        make_whole(self, most="most")
        size = prod(self.shape)
        if not self.comparisons or any(len(each.weights) != size for each in self.comparisons):
            raise Refused("comparisons", f"at least one is needed, each with {size} weights")
        if len(self.comparisons) * size > MOST_WEIGHTS:
            raise Refused("comparisons", f"at most {MOST_WEIGHTS} weights together are allowed")
        if any(abs(weight) > LARGEST_WEIGHT for each in self.comparisons for weight in each.weights):
            raise Refused("comparisons", "weights are whole numbers up to 2**31")
        if not 1 <= self.most <= len(self.comparisons):
            raise Refused("most", f"a whole number from 1 to {len(self.comparisons)} is needed, got {self.most}")


@dataclass(frozen=True, slots=True)
class CoverageQuery(Query):
    """Find the first interval around the middle cell of the one axis that covers a share of the records.

    Interval i has the middle cell and i cells on each side of it, the last one all cells. Values outside the grid, the
    infinities among them, are in none; missing values are no records here.

    Attributes:
        coverage: The share of the records that have a value: at most 6 decimals.
        spare: An interval with so many records less than that share covers it, too: as many as noise may hide.

    Raises:
        ValueError: the axis is no column of numbers with an odd number of cells, of 3 to 513, and values outside
            counted apart; `coverage` is not above 0 and at most 1, or finer than a millionth; or `spare` is not from 0
            to 2**50.
    """

    coverage: Fraction
    spare: int = 0

    def __post_init__(self) -> None:
        make_whole(self, spare="spare")
        (axis,) = self.axes if len(self.axes) == 1 else (None,)
        apart = isinstance(axis, Axis) and axis.grid.outside is Outside.APART
        if not (isinstance(axis, Axis) and apart and axis.grid.cells % 2 and 3 <= axis.grid.cells <= MOST_BOUNDED):
            raise Refused(
                "axes", f"bounds need one column on an odd number of cells, from 3 to {MOST_BOUNDED}, outside apart"
            )
        if not (0 < self.coverage <= 1 and self.coverage.denominator <= FINEST_SHARE):
            share = float(self.coverage)
            raise Refused("coverage", f"a share above 0 and up to 1, of 6 decimals, is needed, got {share}")
        if not 0 <= self.spare <= LARGEST_LEAST:
            raise Refused("spare", f"a number from 0 to {LARGEST_LEAST} is needed, got {self.spare}")

    @property
    def grid(self) -> Grid:
        """The cells around whose middle bounds are laid."""
        (axis,) = self.axes
        if not isinstance(axis, Axis):
            raise WrongKind("axes", "one column of numbers is needed")
        return axis.grid

    @property
    def intervals(self) -> int:
        """The number of intervals."""
        return (self.grid.cells + 1) // 2


@dataclass(frozen=True, slots=True)
class MergePartitionQuery(Query):
    """A partition of the one axis: neighbouring cells are joined, left to right, until about `least` records lie in
    each.

    Attributes:
        least: A whole number; noise can make intervals smaller.

    Raises:
        ValueError: there is more than one axis, or `least` is not from 1 to 2**50.
    """

    least: int

    def __post_init__(self) -> None:
        make_whole(self, least="least")
        if len(self.axes) != 1:
            raise Refused("axes", "cells are joined along one axis")
        if not 1 <= self.least <= LARGEST_LEAST:
            raise Refused("least", f"a whole number from 1 to {LARGEST_LEAST} is needed, got {self.least}")
