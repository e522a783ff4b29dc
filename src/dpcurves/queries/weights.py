"""Weighted histograms: queries that sum survey weights, squared weights and weighted values in each cell.

Each record has a weight w, for example the number of people that it stands for (Horvitz and Thompson 1952). Weights are
clipped at a public cap and rounded to steps of the cap, so that sums are integers with a known sensitivity. A record
adds

    WeightQuery           w to its cell, and cap - w to one number for all                 steps of cap / 2**16
    SquaredWeightQuery    w**2 to its cell, and cap**2 - w**2 to the end of its row        steps of cap**2 / 2**16
    WeightedSumQuery      w * (x - middle of the cell)                                     for means
    WeightedSpreadQuery   w**2 * (x - centre of the row)**2                                for their variances

A row of the table is a combination of the axes before the last one. In the first two queries a record adds the same
total for any weight, because of the complement. So the sum of a table of weights is public if the number of records is.

Formal guarantees: a record changes its table by at most `per_record_sensitivity` in L1 norm, for any weight. Each class
has its proof.

References: Horvitz and Thompson 1952 (weights); Kish 1965 (squared weights).

>>> from dpcurves.data import Grid
>>> query = WeightQuery((Axis("wage", Grid(0, 100, cells=4)),), Weights("w", 10.0), CountUse.CELLS)
>>> query.per_record_sensitivity
65536
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from ..arguments import (
    InvalidArgument,
    WrongArgumentType,
    convert_to_integers,
    convert_tuples_to_integers,
    parse_choice,
    require_type,
)
from ..arrays import FloatArray, IntArray
from ..data import Axis, Categories, Grid, Weights
from .query import CountUse, Query

COARSE_WEIGHT_STEPS = 2**8
"""Steps of a weight of 1 where it is squared together with a distance, so that the product fits 64 bits."""


@dataclass(frozen=True, slots=True)
class WeightedQuery(Query):
    """Sums, in each cell, of an amount that is bounded for one record and depends on its weight.

    Its table has a number for each cell, followed by one more number that each subclass defines. A record that is
    missing on an axis, or has no weight, adds to no cell.

    Attributes:
        weights: The column of weights and its public cap.
        sums_by_row: Whether the second amount of a record is summed in a further cell at the end of each row, and not
            behind all cells.

    Raises:
        TypeError: `weights` is of another type.
    """

    tells_missing: ClassVar[bool] = False
    is_weighted: ClassVar[bool] = True
    sums_by_row: ClassVar[bool] = False

    weights: Weights

    def __post_init__(self) -> None:
        require_type("weight", self.weights, Weights, "a column of weights with its cap")

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells that the table has along each axis; the last one includes the extra cell at the end of each
        row, if there is one.
        """
        *rows, slots = (axis.slots for axis in self.axes)
        return *rows, slots + self.sums_by_row

    @property
    def input_axes(self) -> tuple[Axis | Categories, ...]:
        """Axes of the columns that the query reads: those of the table, and the column of weights."""
        return (*self.axes, self.weights.axis)

    def public_total(self, records: int | None) -> int | None:
        """Return None: the sum of these weighted amounts is not public, even if the number of records is.

        Args:
            records: Number of records if it is public; None if it is private.
        """
        return None

    @property
    def grid(self) -> Grid:
        """Grid of the last axis, whose values are weighted.

        Raises:
            TypeError: the last axis is not a column of numbers.
        """
        axis = self.axes[-1] if self.axes else None
        if not isinstance(axis, Axis):
            raise WrongArgumentType(
                "axes", "weighted sums need a column of numbers as the last axis: put categories first"
            )
        return axis.grid

    def amounts(self, values: FloatArray, steps: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
        """SECRET: return the two amounts that each record adds to the table, shape (records,) each.

        The first is added to the cell of the record. The second is added to the end of its row, or to the number behind
        all cells, as the query says.

        Args:
            values: Values on the last axis, shape (records,).
            steps: Weights in whole steps, from 0 to `Weights.STEPS`, shape (records,).
            rows: Row of the table of each record: the combination of the axes before the last one.
        """
        raise NotImplementedError

    @property
    def missing_amount(self) -> int:
        """Amount that a missing record adds to the last number of the table, in steps."""
        return 0


@dataclass(frozen=True, slots=True)
class WeightQuery(WeightedQuery):
    """Sums of weights in each cell, in steps of ``cap / 2**16``.

    The number behind the cells is the sum of the differences of all weights from the cap, with the whole cap for
    missing records. So each record adds ``2**16`` in all, for any weight, and the sum of the table is public if the
    number of records is.

    Attributes:
        use: What will be read from the sums.

    Formal guarantees: a record adds ``(w, 2**16 - w)`` to its cell and to the number behind the cells, of L1 norm
    ``2**16`` and L2 norm at most ``2**16``. So tables of neighbours differ by at most ``2**16`` times the difference of
    their counts, and any noise of counts protects them at that scale. All amounts are at least 0, so a removed and an
    added record add up at most in squares.
    """

    use: CountUse

    def __post_init__(self) -> None:
        WeightedQuery.__post_init__(self)
        object.__setattr__(self, "use", parse_choice("use", self.use, CountUse))

    @property
    def hint(self) -> None:
        """None: the user gave no hint about how the records are distributed."""
        return None

    @property
    def per_record_sensitivity(self) -> int:
        """Largest amount that a record can add to its cell: the cap on weights, ``2**16`` steps."""
        return Weights.STEPS

    @property
    def uses_prefixes(self) -> bool:
        """Whether sums of the first cells (weighted prefixes) will be read, singly or averaged, rather than single
        cells.
        """
        return self.use.uses_prefixes

    def public_total(self, records: int | None) -> int | None:
        """Return the sum of the table if it is public: the number of records times the cap in steps.

        Args:
            records: Number of records if it is public; None if it is private.

        Returns:
            The sum; None if the number of records is private.
        """
        return None if records is None else records * Weights.STEPS

    def amounts(self, values: FloatArray, steps: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
        """SECRET: return the weight of each record, in steps, and the cap minus the weight, which makes the table's sum
        public.

        Args:
            values: Values of the records, (records,).
            steps: Clipped weights in steps, of the same shape.
            rows: Row of the table of each record.
        """
        return steps, Weights.STEPS - steps

    @property
    def missing_amount(self) -> int:
        """The whole cap, in steps, which a missing record adds to the last number of the table."""
        return Weights.STEPS


@dataclass(frozen=True, slots=True)
class SquaredWeightQuery(WeightedQuery):
    """Sums of squared weights in each cell, in steps of ``cap**2 / 2**16``, rounded to nearest.

    The last cell of each row is the sum of the differences of squared weights of its records in use from the squared
    cap, so that the numbers of a row together give its number of records in use. The number behind the cells is 0.

    Formal guarantees: a record in use adds ``(v, 2**16 - v)`` to two cells of one row, of L1 norm ``2**16`` and L2 norm
    at most ``2**16``; a missing one adds nothing. Tables of neighbours differ by at most ``2**16`` times the difference
    of their counts. All amounts are at least 0, so a removed and an added record add up at most in squares.
    """

    sums_by_row: ClassVar[bool] = True

    @property
    def per_record_sensitivity(self) -> int:
        """Largest amount that a record can add to its cell: the squared cap on weights, ``2**16`` steps."""
        return Weights.STEPS

    def amounts(self, values: FloatArray, steps: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
        """SECRET: return the squared weight of each record, in steps of ``cap**2 / 2**16``, and the squared cap minus
        that.

        Args:
            values: Values of the records, (records,).
            steps: Clipped weights in steps, of the same shape.
            rows: Row of the table of each record.
        """
        squares = (steps**2 + Weights.STEPS // 2) // Weights.STEPS
        return squares, Weights.STEPS - squares


@dataclass(frozen=True, slots=True)
class WeightedSumQuery(WeightedQuery):
    """Sums, in each cell, of weights times distances of the last axis' values from the middle of their cell.

    Distances are as in `SumQuery`, in ``-half, ..., half``. A missing record adds 0.

    Attributes:
        half: The largest distance, in steps.

    Raises:
        ValueError: `half` is not from 1 to 2**20, or the last axis has no grid.
        TypeError: `half` is not an integer.

    Formal guarantees: a record changes its cell by at most ``2**16 * half``, up or down, and no other number.
    """

    is_signed = True

    half: int

    def __post_init__(self) -> None:
        WeightedQuery.__post_init__(self)
        convert_to_integers(self, half="half")
        largest = 2**20  # steps, so that products with weights fit 64 bits
        if not 1 <= self.half <= largest:
            raise InvalidArgument("half", f"a whole number from 1 to {largest} is needed, got {self.half}")
        _ = self.grid  # refuses a last axis without numbers

    @property
    def per_record_sensitivity(self) -> int:
        """Largest amount that a record can add: the cap on weights times the largest distance from the middle of the
        cell, in steps.
        """
        return Weights.STEPS * self.half

    def amounts(self, values: FloatArray, steps: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
        """SECRET: return each record's weight times its value's distance from the middle of the cell, in steps, and
        zeros.

        Args:
            values: Values of the records, (records,).
            steps: Clipped weights in steps, of the same shape.
            rows: Row of the table of each record.
        """
        return steps * self.grid.offset_of(values, self.half), np.zeros_like(steps)


@dataclass(frozen=True, slots=True)
class WeightedSpreadQuery(WeightedQuery):
    """Sums, in each cell, of squared weights times squared distances of values from the public center of their row.

    They give the sampling variance of a weighted mean. Weights are in 256 steps of the cap, distances in ``-half, ...,
    half``, both rounded to nearest. Rows are the combinations of the axes before the last.

    Attributes:
        half: The largest distance from the middle of a cell, in steps.
        centers: The centre of each row, in steps from the middle of the cell. They may depend on earlier answers, never
            on records.

    Raises:
        ValueError: `half` is not from 1 to 1024, a centre is further from the middle than `half`, there is not one for
            each row, or the last axis has no grid.
        TypeError: `half` or a centre is not an integer.

    Formal guarantees: a record adds a number from 0 to ``(256 * (half + abs(center)))**2`` to its cell, with the
    largest ``abs(center)`` of all rows, and to no other. The centres are public when the query is asked.
    """

    half: int
    centers: tuple[int, ...]

    def __post_init__(self) -> None:
        WeightedQuery.__post_init__(self)
        convert_to_integers(self, half="half")
        convert_tuples_to_integers(self, centers="centers")
        largest = 2**10  # steps, so that products of squares fit 64 bits
        if not 1 <= self.half <= largest or self._outermost_center > self.half:
            raise InvalidArgument("half", f"a number from 1 to {largest} is needed, and centers from -half to half")
        if len(self.centers) != prod(axis.slots for axis in self.axes[:-1]):
            raise InvalidArgument("centers", "one center for each row of the table is needed")
        _ = self.grid  # refuses a last axis without numbers

    @property
    def _outermost_center(self) -> int:
        """Largest distance of a row's center from the middle of the cell, in steps."""
        return max(map(abs, self.centers), default=0)

    @property
    def per_record_sensitivity(self) -> int:
        """Largest amount that a record can add: ``(256 * (half + abs(center)))**2``, with the center that is farthest
        from the middle of the cell.
        """
        return (COARSE_WEIGHT_STEPS * (self.half + self._outermost_center)) ** 2

    def amounts(self, values: FloatArray, steps: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
        """SECRET: return each record's squared weight times its squared distance from the center of its row, in steps,
        and zeros.

        Args:
            values: Values of the records, (records,).
            steps: Clipped weights in steps, of the same shape.
            rows: Row of the table of each record.
        """
        centers = np.array(self.centers, dtype=np.int64)[rows]
        coarser = Weights.STEPS // COARSE_WEIGHT_STEPS
        weighted_distances = (steps + coarser // 2) // coarser * (self.grid.offset_of(values, self.half) - centers)
        return weighted_distances**2, np.zeros_like(steps)
