"""Questions about records, written down before any data is seen. Each is answered from a table of integers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from itertools import pairwise
from math import inf, isnan, prod
from operator import lt
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..arguments import (
    InvalidArgument,
    WrongArgumentType,
    convert_to_integers,
    convert_tuples_to_integers,
    parse_choice,
    require_number,
)
from ..data import Axis, Categories, Grid, Outside, Universe, UnlistedCategories

# Base of queries: a flat table of integers over public cells.
#
# A table is flat: the cells of the product of the axes, the last axis fastest, and behind them one more cell for the
# records that are missing on any axis. Every record that is used lies in exactly one of these cells.


Kind = TypeVar("Kind", bound="Query")
Places = range | tuple[int, ...]
"""Numbers of cells, in an order; those at equal distances as a formula."""

MOST_COUNTED = 2**22
"""The most cells of a table that are counted one by one: beyond, thresholds are answered without it."""


class CountUse(Enum):
    """The use of the counts: the mechanism is chosen for the least error of that."""

    CELLS = "cells"
    PREFIXES = "prefixes along the last axis"
    UNEVEN = "prefixes along the last axis, of cells that are unlike their neighbours"
    AREA = "the mean of the prefixes along the last axis"

    @property
    def uses_prefixes(self) -> bool:
        """Tell whether prefixes are read, each of them or their mean."""
        return self is not CountUse.CELLS


class Hint(Enum):
    """Public knowledge of the distribution of records on a grid. It must not come from the data.

    `SPREAD` is accepted, and changes nothing that a curve asks: what was counted tells whether records are spread, and
    a wrong hint cost up to 36 times the error.
    """

    SPREAD = "spread"
    PEAKED = "peaked"
    ATOMS = "atoms"


@dataclass(frozen=True, slots=True)
class Query:
    """A query on a table along its axes, with the largest amount that one record can add to a cell.

    Attributes:
        is_signed: True if a record can take from its cell as well as add to it.
        is_dense: True if every cell of the table is counted; if not, those up to the slots that it names.
        tells_missing: True if the number behind the cells is that of records that are missing.
        takes_delta: True if it can only be answered with a delta, which it has alone of all turns of a question.
        is_weighted: True if records count by their survey weights.
    """

    is_signed: ClassVar[bool] = False
    is_dense: ClassVar[bool] = True
    tells_missing: ClassVar[bool] = True
    takes_delta: ClassVar[bool] = False
    is_weighted: ClassVar[bool] = False

    axes: tuple[Axis | Categories, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells per axis, without the missing cell."""
        return tuple(axis.slots for axis in self.axes)

    @property
    def rows(self) -> int:
        """The number of cells of the axes before the last one together."""
        return prod(self.shape[:-1])

    @property
    def cells(self) -> int:
        """The number of cells of the last axis."""
        return self.shape[-1]

    @property
    def per_record_sensitivity(self) -> int:
        """The largest amount that one record can add to its cell."""
        return 1

    @property
    def input_axes(self) -> tuple[Axis | Categories, ...]:
        """The columns that are read, as axes: those of the table, and maybe more."""
        return self.axes

    def public_total(self, records: int | None) -> int | None:
        """The public sum of the table, where the number of records is public; else None."""
        return records

    @property
    def charged_query(self) -> Self:
        """The thing that is paid for: once, however often it is read."""
        return self

    @property
    def uses_prefixes(self) -> bool:
        """Tell whether counts of all cells are asked for, to be read as prefixes along the last axis."""
        return False

    @property
    def requested_slots(self) -> tuple[int, ...]:
        """Numbers of slots that the counts take, where cells are not laid out; else none."""
        return ()

    def as_kind(self, kind: type[Kind]) -> Kind | None:
        """The query, if it is of this kind; else None."""
        return self if isinstance(self, kind) else None

    def reorder_table(self, table: NDArray[Any]) -> NDArray[Any]:
        """SECRET: the table with its cells in the order of the query, if it has one."""
        return table


def places_to_array(places: Places) -> NDArray[np.int64]:
    """Lay places out as an array, a formula as one: NumPy would read a range number by number."""
    if isinstance(places, range):
        return np.arange(places.start, places.stop, places.step, dtype=np.int64)
    return np.array(places, dtype=np.int64)


MOST_LEVELS = 16


@dataclass(frozen=True, slots=True)
class MedianQuery(Query):
    """Numbers of inner edges of the one axis near the median of the records, of both halves, and so on.

    Attributes:
        levels: How often pieces are halved: ``2**levels - 1`` edges are asked for.

    Raises:
        ValueError: `levels` is not from 1 to 16, or the axis is no column of numbers with values outside clamped.
    """

    levels: int

    def __post_init__(self) -> None:
        convert_to_integers(self, levels="levels")
        if not 1 <= self.levels <= MOST_LEVELS:
            raise InvalidArgument("levels", f"a whole number from 1 to {MOST_LEVELS} is needed, got {self.levels}")
        (axis,) = self.axes if len(self.axes) == 1 else (None,)
        if not (isinstance(axis, Axis) and axis.grid.outside is Outside.CLAMPED):
            raise InvalidArgument("axes", "medians are taken along one column of numbers, with values outside clamped")


@dataclass(frozen=True, slots=True)
class AucQuery(Query):
    """The chance that a positive has a higher score than a negative. A tie counts one half.

    Its one value is that share, in steps of ``2**-20``. The first axis has the negatives and the positives, in this
    order, the last one the scores.

    Raises:
        ValueError: the axes are others.
    """

    def __post_init__(self) -> None:
        classes, scores = self.axes if len(self.axes) == 2 else (None, None)
        if not (isinstance(classes, Categories) and classes.slots == 2 and isinstance(scores, Axis)):
            raise InvalidArgument("axes", "two classes, negatives first, and one column of scores are needed")


MOST_SUBSETS = 10_000
MOST_COEFFICIENTS = 64


@dataclass(frozen=True, slots=True)
class SubsetQuery(Query):
    """In how many disjoint subsets of the units is a coefficient within an interval?

    The first axis is the outcome: on a grid of one cell, its declared range, it is fitted by least squares; two
    categories by logistic regression, the second one being 1. The other axes are the predictors: numbers, clipped to
    the range of their grid of one cell, and categories, which have a coefficient each but for the first. A subset is
    confirmed if its fit exists and the coefficient, in the units of the columns, lies strictly between the bounds.

    Attributes:
        subsets: Into how many the units are put, by a keyed hash of each.
        coefficient: The number of the coefficient: 0 is the first predictor's, or that of its second category.
        above, below: The interval.

    Raises:
        ValueError: there is no predictor, a column stands twice or is on more than one cell, an outcome has other than
            two categories, there are more than 64 coefficients, the interval is empty or has no end, or `subsets` is
            not from 2 to 10,000.
    """

    subsets: int
    coefficient: int
    above: float = -inf
    below: float = inf

    def __post_init__(self) -> None:
        convert_to_integers(self, subsets="subsets", coefficient="coefficient")
        for name in ("above", "below"):
            object.__setattr__(self, name, require_number(name, getattr(self, name)))
        if not 2 <= self.subsets <= MOST_SUBSETS:
            raise InvalidArgument("subsets", f"a number from 2 to {MOST_SUBSETS} is needed, got {self.subsets}")
        if (
            isnan(self.above + self.below)
            or not self.above < self.below
            or self.below - self.above == inf == abs(self.above) == abs(self.below)
        ):
            raise InvalidArgument("above", "give above or below, or both, the lower one first")
        self._require_columns()

    def _require_columns(self) -> None:
        if len({axis.column for axis in self.axes}) < len(self.axes) or len(self.axes) < 2:
            raise InvalidArgument("columns", "an outcome and at least one other column are needed, each once")
        if any(
            isinstance(axis, Axis) and (axis.grid.cells != 1 or not isinstance(axis.column, str)) for axis in self.axes
        ):
            raise InvalidArgument("columns", "columns with declared ranges are needed")
        if isinstance(self.outcome, Categories) and self.outcome.slots != 2:
            raise InvalidArgument("outcome", "two categories are needed, or a range of numbers")
        if not 0 <= self.coefficient < self.coefficients <= MOST_COEFFICIENTS:
            raise InvalidArgument(
                "coefficient", f"one of {self.coefficients} is needed, of {MOST_COEFFICIENTS} at most"
            )

    @property
    def outcome(self) -> Axis | Categories:
        """The dependent variable."""
        return self.axes[0]

    @property
    def coefficients(self) -> int:
        """The number of coefficients beside the intercept."""
        return sum(1 if isinstance(axis, Axis) else axis.slots - 1 for axis in self.axes[1:])


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
        use: What will be read from the counts.
        hint: What is said of the records before they are seen, if anything.

    Raises:
        ValueError: `use` or `hint` is none of the choices.
    """

    use: CountUse
    hint: Hint | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "use", parse_choice("use", self.use, CountUse))
        if self.hint is not None:
            object.__setattr__(self, "hint", parse_choice("hint", self.hint, Hint, also=", or none"))

    @property
    def uses_prefixes(self) -> bool:
        return self.use.uses_prefixes


MOST_DOUBLINGS = 20


@dataclass(frozen=True, slots=True)
class UnitSizesQuery(CountQuery):
    """Counts of units by the number of their records: 1, 2, up to 4, up to 8, ..., and above ``2**20``.

    A unit lies in one cell, so this is a count of units and not of records, and is planned under an adjacency of one
    record each (`AdjacencyWithoutBound.unit_adjacency`). Rows without a unit are one unit together.
    """

    @classmethod
    def from_column(cls, column: str) -> Self:
        """The count of units that this column names."""
        return cls((_unit_size_axis(column),), CountUse.CELLS)

    @property
    def input_axes(self) -> tuple[Axis | Categories, ...]:
        """No column of values is read."""
        return ()


@dataclass(frozen=True, slots=True)
class SizedUnitsQuery(CountQuery):
    """Counts of units by the number of their records, as of a `UnitSizesQuery`, and by one record's value.

    Which record of a unit this is, its own rows and a secret key tell. A unit lies in one cell.
    """

    @classmethod
    def from_column(cls, column: str, values: Axis) -> Self:
        """The count of units that this column names, by values in these cells."""
        return cls((_unit_size_axis(column), values), CountUse.CELLS)

    @property
    def input_axes(self) -> tuple[Axis | Categories, ...]:
        """The column of values."""
        return self.axes[1:]


def _unit_size_axis(column: str) -> Axis:
    cells = MOST_DOUBLINGS + 2
    return Axis(f"doublings of records of {column}", Grid(0, cells, cells=cells))


LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class PartitionSelectionQuery(Query):
    """Names that many units have in the one column, which nobody listed, with how many these are.

    Its table has a row for each name of at most 200 bytes of UTF-8 that occurs: the bytes, and the units that have it.
    """

    takes_delta = True

    @classmethod
    def from_column(cls, column: str) -> Self:
        """The names of this column."""
        return cls((UnlistedCategories(column),))


@dataclass(frozen=True, slots=True)
class UniverseSelectionQuery(Query):
    """Names of a public universe that many units have, with how many these are; names that nobody has may be told, too.

    Its table is that of a `PartitionSelectionQuery`.

    Raises:
        ValueError: no universe is named.
    """

    def __post_init__(self) -> None:
        if not (
            len(self.axes) == 1 and isinstance(self.axes[0], UnlistedCategories) and self.axes[0].universe is not None
        ):
            raise InvalidArgument("universe", "one is needed, as in Unlisted(column, universe=Texts('a-z', 12))")

    @property
    def universe(self) -> Universe:
        """The names that there may be."""
        return cast("Universe", cast("UnlistedCategories", self.axes[0]).universe)


@dataclass(frozen=True, slots=True)
class PartitionQuery(Query):
    """Counts of records in each interval of nested tilings of the last axis.

    Attributes:
        tilings: From coarse to fine, each the first cells of its intervals, which rise from 0. Every interval is a
            union of intervals of the next tiling. They may depend on earlier answers, never on records.
        round_number: The number of the turn. The same tilings under another number are another question, with noise of its own.

    Raises:
        ValueError: a tiling does not begin at 0, does not rise, leaves the axis, or is not nested in the next one.
    """

    tilings: tuple[range | tuple[int, ...], ...]
    round_number: int = 0

    def __post_init__(self) -> None:
        whole = all(_is_tiling(tiling, self.cells) for tiling in self.tilings)
        nested = all(_is_refinement(fine, coarse) for coarse, fine in pairwise(self.tilings))
        if not (self.tilings and whole and nested):
            raise InvalidArgument("tilings", "each begins at cell 0, rises, and is nested in the next one")


def _is_tiling(starts: range | tuple[int, ...], cells: int) -> bool:
    if isinstance(starts, range):  # however long
        return len(starts) > 0 and starts[0] == 0 and starts.step > 0 and starts[-1] < cells
    return bool(starts) and starts[0] == 0 and all(map(lt, starts, (*starts[1:], cells)))


def _is_refinement(fine: range | tuple[int, ...], coarse: range | tuple[int, ...]) -> bool:
    return all(map(fine.__contains__, coarse)) if isinstance(fine, range) else frozenset(fine).issuperset(coarse)


@dataclass(frozen=True, slots=True)
class SumQuery(Query):
    """The sum, in each cell, of the distances of the last axis' values from the middle of their cell.

    A distance is an integer in ``-half, ..., half``, in steps of the cell's width over ``2 * half``. So a record can
    add `half` at most, in a narrow cell as in a wide one, and missing records add 0.

    Raises:
        TypeError: `half` is no whole number.
    """

    is_signed = True

    half: int

    def __post_init__(self) -> None:
        convert_to_integers(self, half="half")

    @property
    def per_record_sensitivity(self) -> int:
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
        convert_to_integers(self, pieces="pieces")
        if self.pieces > MOST_PIECES:
            raise InvalidArgument("pieces", f"at most {MOST_PIECES} are cut, got {self.pieces}")


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
        convert_tuples_to_integers(self, fans="fans")
        convert_to_integers(self, least="least")
        if len(self.fans) != len(self.axes) or min(self.fans, default=0) < 1:
            raise InvalidArgument("fans", f"one of at least 1 is needed for each axis, got {self.fans}")
        if not 0 <= self.least <= LARGEST_LEAST:
            raise InvalidArgument("least", f"a number from 0 to {LARGEST_LEAST} is needed, got {self.least}")


@dataclass(frozen=True, slots=True)
class PrefixQuery(Query):
    """Counts of records in the first slots of a table whose last axis is on a grid. Cells are not laid out.

    Rows lie one behind the other. Priced as all such counts together, once: other counts of the same table are then
    free. Its table has one integer for each entry of `prefix_lengths`, and behind them that of the missing cell.

    Attributes:
        prefix_lengths: How many slots each count takes, in any order; none where nothing but the price is asked.

    Raises:
        ValueError: the last axis is on no grid, or there are fewer slots.
        TypeError: an entry is no whole number.
    """

    is_dense = False

    prefix_lengths: tuple[int, ...]

    def __post_init__(self) -> None:
        convert_tuples_to_integers(self, prefix_lengths="prefix_lengths")
        if not self.axes or not isinstance(self.axes[-1], Axis):
            raise InvalidArgument("axes", "prefixes are counted along a column of numbers")
        if any(not 0 <= slots <= self.slots for slots in self.prefix_lengths):
            raise InvalidArgument(
                "prefix_lengths", f"whole numbers from 0 to {self.slots} are needed, got {self.prefix_lengths}"
            )

    @property
    def slots(self) -> int:
        """The number of slots of all rows together."""
        return self.rows * self.cells

    @property
    def charged_query(self) -> Self:
        """The counts of this table together."""
        return replace(self, prefix_lengths=())

    def with_edges(self, edges: Iterable[int]) -> Self:
        """Counts of each row below these edges of the grid, below its ends, and of all of the row.

        >>> PrefixQuery((Axis("x", Grid(0, 8, cells=8)),), at=()).below((2, 5)).at
        (2, 5, 8)
        """
        axis = self.axes[-1]
        grid = axis.grid  # type: ignore[union-attr]  # the last axis is on one
        apart = int(grid.outside is Outside.APART)
        own = sorted({edge + apart for edge in (0, *edges, grid.cells)} | {axis.slots})
        return replace(
            self, prefix_lengths=tuple(row * axis.slots + each for row in range(self.rows) for each in own if each)
        )

    @property
    def requested_slots(self) -> tuple[int, ...]:
        return self.prefix_lengths


class ThresholdComparison(NamedTuple):
    """Does the sum of the cells, each times its weight, reach the threshold?

    A threshold that is itself a sum over records is subtracted in the weights.
    """

    weights: tuple[int, ...]
    threshold: int


class Comparisons(NamedTuple):
    """Weighted sums of cells, less thresholds, each compared with 0.

    Attributes:
        weights: An array ``(comparisons, cells)``.
        thresholds: One for each comparison.
        most: How many may reach theirs.
        step: By how much one record counts, where sums are read in records.
    """

    weights: NDArray[np.int64]
    thresholds: tuple[int, ...]
    most: int
    step: int


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
        convert_to_integers(self, most="most")
        size = prod(self.shape)
        if not self.comparisons or any(len(each.weights) != size for each in self.comparisons):
            raise InvalidArgument("comparisons", f"at least one is needed, each with {size} weights")
        if len(self.comparisons) * size > MOST_WEIGHTS:
            raise InvalidArgument("comparisons", f"at most {MOST_WEIGHTS} weights together are allowed")
        if any(abs(weight) > LARGEST_WEIGHT for each in self.comparisons for weight in each.weights):
            raise InvalidArgument("comparisons", "weights are whole numbers up to 2**31")
        if not 1 <= self.most <= len(self.comparisons):
            raise InvalidArgument(
                "most", f"a whole number from 1 to {len(self.comparisons)} is needed, got {self.most}"
            )

    @property
    def comparison_matrix(self) -> Comparisons:
        """The comparisons, with their weights laid out."""
        weights = np.array([each.weights for each in self.comparisons], dtype=np.int64)
        return Comparisons(weights, tuple(each.threshold for each in self.comparisons), self.most, step=1)


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
        convert_to_integers(self, spare="spare")
        (axis,) = self.axes if len(self.axes) == 1 else (None,)
        apart = isinstance(axis, Axis) and axis.grid.outside is Outside.APART
        if not (isinstance(axis, Axis) and apart and axis.grid.cells % 2 and 3 <= axis.grid.cells <= MOST_BOUNDED):
            raise InvalidArgument(
                "axes", f"bounds need one column on an odd number of cells, from 3 to {MOST_BOUNDED}, outside apart"
            )
        if not (0 < self.coverage <= 1 and self.coverage.denominator <= FINEST_SHARE):
            share = float(self.coverage)
            raise InvalidArgument("coverage", f"a share above 0 and up to 1, of 6 decimals, is needed, got {share}")
        if not 0 <= self.spare <= LARGEST_LEAST:
            raise InvalidArgument("spare", f"a number from 0 to {LARGEST_LEAST} is needed, got {self.spare}")

    @property
    def grid(self) -> Grid:
        """The cells around whose middle bounds are laid."""
        (axis,) = self.axes
        if not isinstance(axis, Axis):
            raise WrongArgumentType("axes", "one column of numbers is needed")
        return axis.grid

    @property
    def intervals(self) -> int:
        """The number of intervals."""
        return (self.grid.cells + 1) // 2

    @property
    def comparison_matrix(self) -> Comparisons:
        """Interval i covers the share p / q if ``q * (inside + spare) - p * all`` is not below 0.

        The last interval needs no comparison: it is the answer if no other is.
        """
        part, whole, asked = self.coverage.numerator, self.coverage.denominator, self.intervals - 1
        inside = np.abs(np.arange(self.grid.slots) - self.grid.slots // 2) <= np.arange(asked)[:, None]
        return Comparisons(whole * inside - part, (-whole * self.spare,) * asked, most=1, step=whole)


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
        convert_to_integers(self, least="least")
        if len(self.axes) != 1:
            raise InvalidArgument("axes", "cells are joined along one axis")
        if not 1 <= self.least <= LARGEST_LEAST:
            raise InvalidArgument("least", f"a whole number from 1 to {LARGEST_LEAST} is needed, got {self.least}")
