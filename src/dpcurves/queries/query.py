"""Queries: what a mechanism counts, stated in public facts.

A query names the axes of a table and the amount that a record adds to its cell. The trusted side turns records into
that table of integers, and a mechanism releases something from it with noise:

    table[cell] = sum over records in the cell of amount(record)      |amount| <= per_record_sensitivity

Tables of counts have the amount 1, and a last entry for records that are missing on any axis. A `SumQuery` adds the
distance d of a value from the middle of its cell, in integer steps up to half of its width, ``half``. A `SquareQuery`
adds ``2 * d**2 - half**2``. Other queries (cuts, partitions, comparisons, selections) are answered by a choice.

Formal guarantees: a query depends on no record, so it may be published. An added or removed record changes the table by
at most `per_record_sensitivity` in L1 norm. A filter is a function of one row, so it keeps this bound.

>>> query = CountQuery((Axis("age", Grid(0, 100, cells=10)),), CountUse.CELLS)
>>> query.shape, query.cells, query.per_record_sensitivity
((10,), 10, 1)
"""

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
# A table is flat: the cells of the product of the axes, the last axis fastest, followed by one cell for the records
# that are missing on any axis. Every record in use lies in exactly one of these cells.


Kind = TypeVar("Kind", bound="Query")
Places = range | tuple[int, ...]
"""Indices of cells, in order; a range if they are equally spaced."""

MOST_COUNTED = 2**22
"""Cells. Largest table that is counted cell by cell. Larger ones are answered by counts below thresholds alone, where a
question can use these, and are refused elsewhere."""


class CountUse(Enum):
    """The numbers that will be read from the counts. The mechanism minimises their error."""

    CELLS = "cells"
    PREFIXES = "prefixes along the last axis"
    UNEVEN = "prefixes along the last axis, of cells that are unlike their neighbours"
    AREA = "the mean of the prefixes along the last axis"

    @property
    def uses_prefixes(self) -> bool:
        """Whether counts will be read as prefixes (cumulative counts), singly or averaged, rather than as single
        cells.
        """
        return self is not CountUse.CELLS


class Hint(Enum):
    """Public knowledge of the distribution of records on a grid. It must not come from the data.

    `SPREAD` is accepted and changes no query: pilot queries detect spread records, and a wrong hint cost up to 36 times
    the error.
    """

    SPREAD = "spread"
    PEAKED = "peaked"
    ATOMS = "atoms"


@dataclass(frozen=True, slots=True)
class Query:
    """A query on a table along its axes, with the largest amount that a record adds to a cell.

    Attributes:
        is_signed: Whether a record can decrease its cell.
        is_dense: Whether every cell of the table is counted, rather than the prefixes in `requested_slots`.
        tells_missing: Whether the number behind the cells is the count of missing records.
        takes_delta: Whether the query needs a delta; no other round of a question then uses it.
        is_weighted: Whether records count by their survey weights.
    """

    is_signed: ClassVar[bool] = False
    is_dense: ClassVar[bool] = True
    tells_missing: ClassVar[bool] = True
    takes_delta: ClassVar[bool] = False
    is_weighted: ClassVar[bool] = False

    axes: tuple[Axis | Categories, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of slots (counted cells) of each axis of the table, without the cell of missing records."""
        return tuple(axis.slots for axis in self.axes)

    @property
    def rows(self) -> int:
        """Number of rows of the table: combinations of cells of all axes but the last."""
        return prod(self.shape[:-1])

    @property
    def cells(self) -> int:
        """Number of counted cells (slots) of the last axis, which is the length of a row."""
        return self.shape[-1]

    @property
    def per_record_sensitivity(self) -> int:
        """Largest amount that a record can add to its cell of the table; the sensitivity per record."""
        return 1

    @property
    def input_axes(self) -> tuple[Axis | Categories, ...]:
        """The columns that the query reads, as axes: the axes of the table, and further ones such as weights."""
        return self.axes

    def public_total(self, records: int | None) -> int | None:
        """Return the sum of the whole table if that is public, which is the number of records for counts; else None.

        Args:
            records: Number of records if it is public; None if it is private.
        """
        return records

    @property
    def charged_query(self) -> Self:
        """The query that the ledger charges for; all queries with an equal charged query share one charge."""
        return self

    @property
    def uses_prefixes(self) -> bool:
        """Whether all cells are counted in order to read prefixes (cumulative counts) along the last axis."""
        return False

    @property
    def requested_slots(self) -> tuple[int, ...]:
        """Lengths of the requested prefixes, in slots, if only some prefixes are counted; empty if all cells are."""
        return ()

    @property
    def where(self) -> str:
        """Filter of the rows, as SQL text of a condition; empty: all rows."""
        return next((axis.where for axis in self.axes if axis.where), "")

    def with_filter(self, where: str) -> Self:
        """Return the query on the rows that pass a filter, given as the SQL text of a condition; empty: all rows.

        Formal guarantees: the sensitivity of the query is that without a filter. A filter is a function of one row. It
        acts before the contribution bound, so the used rows of a unit are still a function of a key and of the unit's
        own rows, and at most as many as the bound. So removing or adding a unit changes the table by what at most as
        many rows add, and replacing a unit by both; where each record is a unit, two tables that differ in one record
        still do so after the filter, or are equal. Rows that fail the filter are missing under replace-one, where the
        number of units is public: each unit keeps its place in the table. Under add-remove they are in no cell, as if
        they were not in the data.

        Args:
            where: SQL text of the condition; empty: all rows.
        """
        if not where:
            return self
        return replace(self, axes=tuple(replace(axis, where=where) for axis in self.axes))

    def as_kind(self, kind: type[Kind]) -> Kind | None:
        """Return the query if it is an instance of this class, else None: a cast for type checkers.

        Args:
            kind: Class of queries.
        """
        return self if isinstance(self, kind) else None

    def reorder_table(self, table: NDArray[Any]) -> NDArray[Any]:
        """SECRET: return the table with its cells in the order of the query, if that defines one.

        Args:
            table: Exact or noisy table in the order of the engine.
        """
        return table


def places_to_array(places: Places) -> NDArray[np.int64]:
    """Return cell indices as an array. A range becomes one vectorised call instead of a loop over its numbers.

    Args:
        places: Cell indices: integers, or a range of them.

    Returns:
        The indices in the same order, of shape ``(n,)``.
    """
    if isinstance(places, range):
        return np.arange(places.start, places.stop, places.step, dtype=np.int64)
    return np.array(places, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class MedianQuery(Query):
    """Indices of inner edges of the only axis near the median of the records, near the medians of both halves, and so
    on.

    Attributes:
        levels: Rounds of halving; ``2**levels - 1`` edges are returned.

    Raises:
        ValueError: `levels` is not from 1 to 16, or the axis is not a column of numbers with clipped values.
    """

    levels: int

    def __post_init__(self) -> None:
        convert_to_integers(self, levels="levels")
        most_levels = 16  # 65,535 edges
        if not 1 <= self.levels <= most_levels:
            raise InvalidArgument("levels", f"a whole number from 1 to {most_levels} is needed, got {self.levels}")
        (axis,) = self.axes if len(self.axes) == 1 else (None,)
        if not (isinstance(axis, Axis) and axis.grid.outside is Outside.CLIPPED):
            raise InvalidArgument("axes", "medians need a single column of numbers, on Grid(..., outside='clipped')")


@dataclass(frozen=True, slots=True)
class AucQuery(Query):
    """Probability that a random positive has a higher score than a random negative; ties count one half.

    Its only value is this area under the ROC curve, in steps of ``2**-20``. The first axis has the negatives and the
    positives, in this order, the last one the scores.

    Raises:
        ValueError: the axes are others.
    """

    def __post_init__(self) -> None:
        classes, scores = self.axes if len(self.axes) == 2 else (None, None)
        if not (isinstance(classes, Categories) and classes.slots == 2 and isinstance(scores, Axis)):
            raise InvalidArgument(
                "axes",
                "two axes are needed: Categories of two classes, negatives first, and a column of scores on a grid",
            )


@dataclass(frozen=True, slots=True)
class SubsetQuery(Query):
    """The number of disjoint subsets of the units in which a regression coefficient lies within an interval.

    The first axis is the outcome: a grid of one cell, its declared range, is fitted by least squares; two categories by
    logistic regression, the second one as 1. The other axes are the predictors: numbers, clipped to the range of their
    one-cell grid, and categories, with one coefficient for each but the first. A subset confirms the statement if its
    fit exists and the coefficient, in units of the columns, lies strictly between the bounds.

    Attributes:
        subsets: Number of subsets, to which a keyed hash assigns the units.
        coefficient: Index of the coefficient: 0 belongs to the first predictor, or to its second category.
        above, below: The interval.

    Raises:
        ValueError: there is no predictor, a column occurs twice or is on more than one cell, an outcome has other than
            two categories, there are more than 64 coefficients, the interval is empty or unbounded on both sides, or
            `subsets` is not from 2 to 10,000.
    """

    subsets: int
    coefficient: int
    above: float = -inf
    below: float = inf

    def __post_init__(self) -> None:
        convert_to_integers(self, subsets="subsets", coefficient="coefficient")
        for name in ("above", "below"):
            object.__setattr__(self, name, require_number(name, getattr(self, name)))
        most_subsets = 10_000  # bounds the time of all fits
        if not 2 <= self.subsets <= most_subsets:
            raise InvalidArgument(
                "subsets", f"a number from 2 to {most_subsets} is needed, as in 50, got {self.subsets}"
            )
        if (
            isnan(self.above + self.below)
            or not self.above < self.below
            or self.below - self.above == inf == abs(self.above) == abs(self.below)
        ):
            raise InvalidArgument(
                "above", "a bound of the coefficient is needed, above, below, or both with above smaller, as in above=0"
            )
        self._require_columns()

    def _require_columns(self) -> None:
        """Check that outcome, predictors and coefficient of the regression are allowed; raise `InvalidArgument`
        otherwise.
        """
        if len({axis.column for axis in self.axes}) < len(self.axes) or len(self.axes) < 2:
            raise InvalidArgument(
                "columns", "an outcome and at least one other column are needed: name each column once"
            )
        if any(
            isinstance(axis, Axis) and (axis.grid.cells != 1 or not isinstance(axis.column, str)) for axis in self.axes
        ):
            raise InvalidArgument("columns", 'each column needs a declared range, as in NumericColumn("age", 0, 90)')
        if isinstance(self.outcome, Categories) and self.outcome.slots != 2:
            raise InvalidArgument(
                "outcome",
                "the outcome must be Categories of two values, or a NumericColumn, as in NumericColumn('wage', 0, 90)",
            )
        most_coefficients = 64  # beside the intercept
        if not 0 <= self.coefficient < self.coefficients <= most_coefficients:
            raise InvalidArgument(
                "coefficient",
                f"an index from 0 to {self.coefficients - 1} is needed, and at most {most_coefficients} "
                "coefficients in all",
            )

    @property
    def outcome(self) -> Axis | Categories:
        """The dependent variable of the regression."""
        return self.axes[0]

    @property
    def coefficients(self) -> int:
        """Number of coefficients of the regression beside the intercept."""
        return sum(1 if isinstance(axis, Axis) else axis.slots - 1 for axis in self.axes[1:])


COVERAGE_DENOMINATOR = 10**6
"""Largest denominator of a share of records to be covered: six decimals. A finer share is refused."""
MOST_STATED_RECORDS = 2**50
"""Records. Largest threshold, or number of spare records, that a query may state: sums with noise stay within 64 bits.
A larger one is refused."""


@dataclass(frozen=True, slots=True)
class CountQuery(Query):
    """Counts of records in each cell.

    Attributes:
        use: What will be read from the counts.
        hint: Public knowledge of the distribution of the records, or None.

    Raises:
        ValueError: `use` or `hint` is not one of the choices.
    """

    use: CountUse
    hint: Hint | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "use", parse_choice("use", self.use, CountUse))
        if self.hint is not None:
            object.__setattr__(self, "hint", parse_choice("hint", self.hint, Hint, also=", or none"))

    @property
    def uses_prefixes(self) -> bool:
        """Whether counts will be read as prefixes (cumulative counts), singly or averaged, rather than as single
        cells.
        """
        return self.use.uses_prefixes


MOST_DOUBLINGS = 20
"""Doublings. Units are counted by their number of records, in cells of 1, 2, 3 to 4, and so on up to 2**20; larger
units share the last cell."""


@dataclass(frozen=True, slots=True)
class UnitSizesQuery(CountQuery):
    """Counts of units by the number of their records: 1, 2, up to 4, up to 8, ..., and above ``2**20``.

    A unit lies in one cell, so this counts units, not records, and is planned under an adjacency of one record each
    (`AdjacencyWithoutBound.unit_adjacency`). All rows without a unit form one unit.
    """

    @classmethod
    def from_column(cls, column: str) -> Self:
        """Return the query that counts units by their number of records (1, 2, 3 to 4, ...).

        Args:
            column: Column that identifies a unit.
        """
        return cls((_unit_size_axis(column),), CountUse.CELLS)

    @property
    def input_axes(self) -> tuple[Axis | Categories, ...]:
        """Empty: the query reads no column but the unit's, because it counts records per unit."""
        return ()


@dataclass(frozen=True, slots=True)
class SizedUnitsQuery(CountQuery):
    """Counts of units by the number of their records, as in `UnitSizesQuery`, and by the value of one record.

    The rows of the unit and a secret key choose the record. A unit lies in one cell.
    """

    @classmethod
    def from_column(cls, column: str, values: Axis) -> Self:
        """Return the query that counts units by their number of records and by the value of one of these.

        Args:
            column: Column that identifies a unit.
            values: Column of values with its cells.
        """
        return cls((_unit_size_axis(column), values), CountUse.CELLS)

    @property
    def input_axes(self) -> tuple[Axis | Categories, ...]:
        """The axis of a record's value, by which units are counted as well as by their number of records."""
        return self.axes[1:]


def _unit_size_axis(column: str) -> Axis:
    """Return the axis for counting units by their number of records, with cells 1, 2, 3 to 4, 5 to 8, ..., and one for
    more.

    Args:
        column: Name of the column that identifies the unit; only texts use it.
    """
    cells = MOST_DOUBLINGS + 2
    return Axis(f"doublings of records of {column}", Grid(0, cells, cells=cells))


LONGEST_CATEGORY = 200
"""Largest number of UTF-8 bytes of a category that partition selection can find; a longer one counts as not
selected."""


@dataclass(frozen=True, slots=True)
class PartitionSelectionQuery(Query):
    """Categories that many units have in the only column, of which no list is public, with their counts.

    Its table has a row for each category of at most 200 bytes of UTF-8 that occurs: the bytes, and the number of units.
    """

    takes_delta = True

    @classmethod
    def from_column(cls, column: str) -> Self:
        """Return the query that selects categories of this column privately (partition selection).

        Args:
            column: Name of the column.
        """
        return cls((UnlistedCategories(column),))


@dataclass(frozen=True, slots=True)
class UniverseSelectionQuery(Query):
    """Categories of a public universe that many units have, with their counts. Categories without any unit may be
    selected.

    Its table is the same as for `PartitionSelectionQuery`.

    Raises:
        ValueError: no universe is given.
    """

    def __post_init__(self) -> None:
        if not (
            len(self.axes) == 1 and isinstance(self.axes[0], UnlistedCategories) and self.axes[0].universe is not None
        ):
            raise InvalidArgument(
                "universe", "a universe is needed, as in UnlistedCategories(column, universe=TextUniverse('a-z', 12))"
            )

    @property
    def universe(self) -> Universe:
        """The public set of names from which categories may be selected."""
        return cast("Universe", cast("UnlistedCategories", self.axes[0]).universe)


@dataclass(frozen=True, slots=True)
class PartitionQuery(Query):
    """Counts of records in each interval of nested tilings of the last axis.

    Attributes:
        tilings: From coarse to fine, each the increasing first cells of its intervals, beginning with 0. Every interval
            is a union of intervals of the next tiling. They may depend on earlier answers, never on records.
        round_number: Number of the round. Equal tilings with another number are another query with independent noise.

    Raises:
        ValueError: a tiling does not begin at 0, does not increase, leaves the axis, or is not nested in the next one.
    """

    tilings: tuple[range | tuple[int, ...], ...]
    round_number: int = 0

    def __post_init__(self) -> None:
        are_tilings = all(_is_tiling(tiling, self.cells) for tiling in self.tilings)
        are_nested = all(
            all(map(fine.__contains__, coarse)) if isinstance(fine, range) else frozenset(fine).issuperset(coarse)
            for coarse, fine in pairwise(self.tilings)
        )
        if not (self.tilings and are_tilings and are_nested):
            raise InvalidArgument(
                "tilings",
                "each tiling must begin at cell 0, increase, and have only bounds that the next one has too, as "
                "in ((0, 4), (0, 2, 4, 6))",
            )


def _is_tiling(starts: range | tuple[int, ...], cells: int) -> bool:
    """Return True if first cells of intervals start at 0, increase, and stay below the number of cells, so that the
    intervals tile the cells.

    Args:
        starts: First cells of the intervals.
        cells: Number of cells.
    """
    if isinstance(starts, range):  # without a loop, however long
        return len(starts) > 0 and starts[0] == 0 and starts.step > 0 and starts[-1] < cells
    return bool(starts) and starts[0] == 0 and all(map(lt, starts, (*starts[1:], cells)))


@dataclass(frozen=True, slots=True)
class SumQuery(Query):
    """The sum, in each cell, of the distances of the last axis' values from the middle of their cell.

    A distance is an integer in ``-half, ..., half``, in steps of the cell's width over ``2 * half``. So a record adds
    at most `half`, for any width of its cell, and missing records add 0.

    Raises:
        TypeError: `half` is not an integer.
    """

    is_signed = True

    half: int

    def __post_init__(self) -> None:
        convert_to_integers(self, half="half")

    @property
    def per_record_sensitivity(self) -> int:
        """Largest amount that a record can add to a cell: `half`, the largest distance of a value from the middle of
        its cell, in steps.
        """
        return self.half


@dataclass(frozen=True, slots=True)
class SquareQuery(SumQuery):
    """The sum, in each cell, of ``2 * distance**2 - half**2``, for the distances of `SumQuery`.

    A record adds ``-half**2`` in the middle of its cell and ``half**2`` at its bounds, so its sensitivity is half that
    of twice the square. The sum of squares follows from it and the number of records of the cell.
    """

    @property
    def per_record_sensitivity(self) -> int:
        """Largest amount that a record can add to a cell: ``half**2``, the largest squared distance from the middle
        of its cell, in squared steps.
        """
        return self.half**2


@dataclass(frozen=True, slots=True)
class QuantileCutsQuery(Query):
    """Indices of inner edges of the only axis that cut the records into `pieces` of about equal size.

    Raises:
        ValueError: there are more than 2**16 pieces.
        TypeError: `pieces` is not an integer.
    """

    pieces: int

    def __post_init__(self) -> None:
        convert_to_integers(self, pieces="pieces")
        most_pieces = 2**16  # pieces of a quantile cut
        if self.pieces > most_pieces:
            raise InvalidArgument(
                "pieces", f"at most {most_pieces} pieces are allowed, got {self.pieces}: ask for fewer"
            )


@dataclass(frozen=True, slots=True)
class TreePartitionQuery(Query):
    """A private partition of the table into boxes of cells: small where records are dense, large where they are sparse.

    Attributes:
        fans: Branching factor along each axis: the number of parts of about equal length of a divided box; 1 never
            divides.
        threshold: Boxes that appear to hold more records than this are divided; deeper boxes need a few more.

    Raises:
        ValueError: there is not one branching factor of at least 1 for each axis, or `threshold` is out of range.
        TypeError: a branching factor, or `threshold`, is not an integer.
    """

    fans: tuple[int, ...]
    threshold: int

    def __post_init__(self) -> None:
        convert_tuples_to_integers(self, fans="fans")
        convert_to_integers(self, threshold="threshold")
        if len(self.fans) != len(self.axes) or min(self.fans, default=0) < 1:
            raise InvalidArgument(
                "fans", f"a whole number of at least 1 is needed for each axis, as in (2, 2), got {self.fans}"
            )
        if not 0 <= self.threshold <= MOST_STATED_RECORDS:
            raise InvalidArgument(
                "threshold", f"a number from 0 to {MOST_STATED_RECORDS} is needed, got {self.threshold}"
            )


@dataclass(frozen=True, slots=True)
class PrefixQuery(Query):
    """Counts of records in the first slots of a table whose last axis is on a grid. The table is not counted in full.

    Rows follow one another. The charge covers all prefix counts of the table: further counts of it are free. The
    query's table has one integer for each entry of `prefix_lengths`, followed by the missing cell.

    Attributes:
        prefix_lengths: Number of slots of each prefix, in any order; empty to ask for the price alone.

    Raises:
        ValueError: the last axis is on no grid, or a prefix is longer than the table.
        TypeError: an entry is not an integer.
    """

    is_dense = False

    prefix_lengths: tuple[int, ...]

    def __post_init__(self) -> None:
        convert_tuples_to_integers(self, prefix_lengths="prefix_lengths")
        if not self.axes or not isinstance(self.axes[-1], Axis):
            raise InvalidArgument(
                "axes", "prefix counts need a column of numbers as the last axis: put categories first"
            )
        if any(not 0 <= slots <= self.slots for slots in self.prefix_lengths):
            raise InvalidArgument(
                "prefix_lengths", f"whole numbers from 0 to {self.slots} are needed, got {self.prefix_lengths}"
            )

    @property
    def slots(self) -> int:
        """Number of slots (counted cells, with those outside the grid) of all rows together."""
        return self.rows * self.cells

    @property
    def charged_query(self) -> Self:
        """The query that the ledger charges for: all prefix counts of this table together, under one charge."""
        return replace(self, prefix_lengths=())

    def with_edges(self, edges: Iterable[int]) -> Self:
        """Return the query that counts each row's records below these edges of the grid, below its bounds, and in the
        whole row.

        Args:
            edges: Indices of grid edges, in any order.

        >>> PrefixQuery((Axis("x", Grid(0, 8, cells=8)),), ()).with_edges((2, 5)).prefix_lengths
        (2, 5, 8)
        """
        axis = self.axes[-1]
        grid = axis.grid  # type: ignore[union-attr]  # the last axis is on one
        offset = int(grid.outside is Outside.APART)
        lengths = sorted({edge + offset for edge in (0, *edges, grid.cells)} | {axis.slots})
        return replace(
            self,
            prefix_lengths=tuple(row * axis.slots + length for row in range(self.rows) for length in lengths if length),
        )

    @property
    def requested_slots(self) -> tuple[int, ...]:
        """Lengths of the requested prefixes, in slots of the flattened table."""
        return self.prefix_lengths


class ThresholdComparison(NamedTuple):
    """A comparison: whether the weighted sum of the cells reaches a threshold.

    A threshold that is itself a sum over records is subtracted in the weights.
    """

    weights: tuple[int, ...]
    threshold: int


class Comparisons(NamedTuple):
    """Weighted sums of cells minus thresholds, each compared with 0.

    Attributes:
        weights: An array ``(comparisons, cells)``.
        thresholds: The threshold of each comparison.
        cutoff: The number of positive comparisons after which no more are answered.
        step: The weight of one record, if sums are converted to records.
    """

    weights: NDArray[np.int64]
    thresholds: tuple[int, ...]
    cutoff: int
    step: int


@dataclass(frozen=True, slots=True)
class ThresholdQuery(Query):
    """Comparisons with thresholds, answered in order until `cutoff` of them are positive.

    Attributes:
        comparisons: Comparisons, each with a weight for every cell of the flat table; missing records have no weight.
        cutoff: The number of positive comparisons after which no more are answered.

    Raises:
        ValueError: there is no comparison, one has another number of weights or weights beyond 2**31, all together have
            more than 2**20 weights, or `cutoff` is not between 1 and the number of comparisons.
    """

    comparisons: tuple[ThresholdComparison, ...]
    cutoff: int

    def __post_init__(self) -> None:
        convert_to_integers(self, cutoff="cutoff")
        size = prod(self.shape)
        if not self.comparisons or any(len(comparison.weights) != size for comparison in self.comparisons):
            raise InvalidArgument(
                "comparisons", f"at least one comparison is needed, each with {size} weights, one for each cell"
            )
        most_weights = 2**20  # weights of all comparisons together
        if len(self.comparisons) * size > most_weights:
            raise InvalidArgument(
                "comparisons",
                f"at most {most_weights} weights together are allowed: ask for fewer comparisons or cells",
            )
        # so that weighted sums of counts fit 64 bits
        if any(abs(weight) > 2**31 for comparison in self.comparisons for weight in comparison.weights):
            raise InvalidArgument("comparisons", "weights must be whole numbers of at most 2**31 in size; scale them")
        if not 1 <= self.cutoff <= len(self.comparisons):
            raise InvalidArgument(
                "cutoff", f"a whole number from 1 to {len(self.comparisons)} is needed, got {self.cutoff}"
            )

    @property
    def comparison_matrix(self) -> Comparisons:
        """The comparisons in matrix form: for each the weights of the cells and the threshold, with the largest number
        of positive answers.
        """
        weights = np.array([comparison.weights for comparison in self.comparisons], dtype=np.int64)
        return Comparisons(weights, tuple(comparison.threshold for comparison in self.comparisons), self.cutoff, step=1)


@dataclass(frozen=True, slots=True)
class CoverageQuery(Query):
    """The first interval around the middle cell of the only axis that covers a share of the records.

    Interval i has the middle cell and i cells on each side of it, the last one all cells. Values outside the grid,
    infinities included, lie in no interval; missing values are not counted as records here.

    Attributes:
        coverage: The share of the records with a value, of at most 6 decimals.
        spare: Slack in records: an interval passes if it misses the share by at most this many records, which noise may
            hide.

    Raises:
        ValueError: the axis is not a column of numbers on an odd number of 3 to 513 cells with values outside counted
            apart; `coverage` is not above 0 and at most 1, or finer than a millionth; or `spare` is not from 0 to
            2**50.
    """

    coverage: Fraction
    spare: int = 0

    def __post_init__(self) -> None:
        convert_to_integers(self, spare="spare")
        (axis,) = self.axes if len(self.axes) == 1 else (None,)
        counts_outside = isinstance(axis, Axis) and axis.grid.outside is Outside.APART
        most_cells = 513  # cells
        if not (
            isinstance(axis, Axis) and counts_outside and axis.grid.cells % 2 and 3 <= axis.grid.cells <= most_cells
        ):
            raise InvalidArgument(
                "axes",
                f"a single column is needed, on an odd number of cells from 3 to {most_cells}, with outside='apart'",
            )
        if not (0 < self.coverage <= 1 and self.coverage.denominator <= COVERAGE_DENOMINATOR):
            share = float(self.coverage)
            raise InvalidArgument(
                "coverage", f"a share above 0 and up to 1, of at most 6 decimals, is needed, as in 0.95, got {share}"
            )
        if not 0 <= self.spare <= MOST_STATED_RECORDS:
            raise InvalidArgument("spare", f"a number from 0 to {MOST_STATED_RECORDS} is needed, got {self.spare}")

    @property
    def grid(self) -> Grid:
        """The grid of the axis; the intervals are centred on its middle cell."""
        (axis,) = self.axes
        if not isinstance(axis, Axis):
            raise WrongArgumentType("axes", "a single column of numbers is needed, without categories")
        return axis.grid

    @property
    def intervals(self) -> int:
        """Number of nested intervals, from the middle cell alone to all cells."""
        return (self.grid.cells + 1) // 2

    @property
    def comparison_matrix(self) -> Comparisons:
        """The comparisons that find the smallest interval which covers the share p / q of all records, in matrix form.

        Interval i covers the share if ``q * (inside + spare) - p * all`` is at least 0. The last interval needs no
        comparison: it is the answer if no other interval passes.

        The last interval needs no comparison: it is the answer if no other interval passes.
        """
        numerator = self.coverage.numerator
        denominator = self.coverage.denominator
        comparisons = self.intervals - 1
        inside = np.abs(np.arange(self.grid.slots) - self.grid.slots // 2) <= np.arange(comparisons)[:, None]
        return Comparisons(
            denominator * inside - numerator, (-denominator * self.spare,) * comparisons, cutoff=1, step=denominator
        )


@dataclass(frozen=True, slots=True)
class MergePartitionQuery(Query):
    """A partition of the only axis: neighbouring cells are merged, left to right, until each interval holds about
    `min_records` records.

    Attributes:
        min_records: A positive integer; noise can make intervals smaller.

    Raises:
        ValueError: there is more than one axis, or `min_records` is not from 1 to 2**50.
    """

    min_records: int

    def __post_init__(self) -> None:
        convert_to_integers(self, min_records="min_records")
        if len(self.axes) != 1:
            raise InvalidArgument("axes", "cells are merged along one axis: give exactly one")
        if not 1 <= self.min_records <= MOST_STATED_RECORDS:
            raise InvalidArgument(
                "min_records", f"a whole number from 1 to {MOST_STATED_RECORDS} is needed, got {self.min_records}"
            )
