"""Sums of survey weights, of squared weights, and of weighted values: whole numbers that one record moves by a cap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arguments import InvalidArgument, WrongArgumentType, convert_to_integers, parse_choice, require_type
from ..arrays import FloatArray, IntArray
from ..data import Axis, Categories, Grid, Weights
from .query import CountUse, Query

LARGEST_HALF = 2**20
LARGEST_SPREAD = 2**10
COARSE = 2**8
"""Steps of a weight where it is squared together with a distance: its square and that of a distance fit 64 bits."""


@dataclass(frozen=True, slots=True)
class WeightedQuery(Query):
    """Sums, in each cell, of something that one record adds at most a fixed amount of, by its weight.

    Its table has a number for each cell, and behind them one more, of which each kind says what it holds. What is
    missing on an axis, or has no weight, adds to no cell.

    Attributes:
        weights: The column of weights and its public cap.

    Raises:
        TypeError: `weights` is of another kind.
    """

    tells_missing: ClassVar[bool] = False
    is_weighted: ClassVar[bool] = True

    weights: Weights

    def __post_init__(self) -> None:
        require_type("weight", self.weights, Weights, "a column of weights with its cap")

    @property
    def input_axes(self) -> tuple[Axis | Categories, ...]:
        """The axes and, behind them, the column of weights."""
        return (*self.axes, self.weights.axis)

    def public_total(self, records: int | None) -> int | None:
        """The total over all records is not public."""
        return None

    @property
    def grid(self) -> Grid:
        """The grid of the last axis. Raises `TypeError`: it has none."""
        axis = self.axes[-1] if self.axes else None
        if not isinstance(axis, Axis):
            raise WrongArgumentType("axes", "weighted sums need a column of numbers, last")
        return axis.grid

    def amounts(self, values: FloatArray, steps: IntArray) -> tuple[IntArray, IntArray]:
        """Amounts that used records add to their cells, and to the number behind the cells.

        Args:
            values: Numbers of the last axis.
            steps: Weights in whole steps, from 0 to `Weights.STEPS`.
        """
        raise NotImplementedError

    @property
    def missing_amount(self) -> int:
        """Amount that a missing record adds to the number behind the cells."""
        return 0


@dataclass(frozen=True, slots=True)
class WeightQuery(WeightedQuery):
    """Sums of weights in each cell, in steps of ``cap / 2**16``.

    Behind the cells stands what all weights lack to the cap, of missing records the whole cap: so each record adds
    ``2**16`` in all, whatever its weight is, and where the number of records is public, so is the sum of the table.

    Attributes:
        use: What will be read from the sums.

    Formal guarantees: a record adds ``(w, 2**16 - w)`` to its cell and behind the cells, of L1 norm ``2**16`` and of L2
    norm at most that: neighbours' tables differ as those of counts do, ``2**16`` times. So all noise of counts serves,
    at that scale. All amounts are at least 0, so what comes and what goes add up in squares at most.
    """

    use: CountUse

    def __post_init__(self) -> None:
        WeightedQuery.__post_init__(self)
        object.__setattr__(self, "use", parse_choice("use", self.use, CountUse))

    @property
    def hint(self) -> None:
        """Nothing is said of the records before."""
        return None

    @property
    def per_record_sensitivity(self) -> int:
        return Weights.STEPS

    @property
    def uses_prefixes(self) -> bool:
        return self.use.uses_prefixes

    def public_total(self, records: int | None) -> int | None:
        """The cap of each record, in steps."""
        return None if records is None else records * Weights.STEPS

    def amounts(self, values: FloatArray, steps: IntArray) -> tuple[IntArray, IntArray]:
        return steps, Weights.STEPS - steps

    @property
    def missing_amount(self) -> int:
        return Weights.STEPS


@dataclass(frozen=True, slots=True)
class SquaredWeightQuery(WeightedQuery):
    """Sums of squared weights in each cell, in steps of ``cap**2 / 2**16``, to the nearest.

    Behind the cells stands what squared weights of used records lack to that of the cap: so all numbers together tell
    how many records are used.

    Formal guarantees: a used record adds ``(v, 2**16 - v)``, of L1 norm ``2**16``; a missing one nothing. Neighbours'
    tables differ as those of counts do, ``2**16`` times.
    """

    @property
    def per_record_sensitivity(self) -> int:
        return Weights.STEPS

    def amounts(self, values: FloatArray, steps: IntArray) -> tuple[IntArray, IntArray]:
        squares = (steps**2 + Weights.STEPS // 2) // Weights.STEPS
        return squares, Weights.STEPS - squares


@dataclass(frozen=True, slots=True)
class WeightedSumQuery(WeightedQuery):
    """Sums, in each cell, of weights times distances of the last axis' values from the middle of their cell.

    Distances are those of `SumQuery`, in ``-half, ..., half``. A missing record adds 0.

    Attributes:
        half: The largest distance, in steps.

    Raises:
        ValueError: `half` is not from 1 to 2**20, or the last axis has no grid.
        TypeError: `half` is no whole number.

    Formal guarantees: a record moves its cell by at most ``2**16 * half``, up or down, and nothing else.
    """

    is_signed = True

    half: int

    def __post_init__(self) -> None:
        WeightedQuery.__post_init__(self)
        convert_to_integers(self, half="half")
        if not 1 <= self.half <= LARGEST_HALF:
            raise InvalidArgument("half", f"a whole number from 1 to {LARGEST_HALF} is needed, got {self.half}")
        _ = self.grid

    @property
    def per_record_sensitivity(self) -> int:
        return Weights.STEPS * self.half

    def amounts(self, values: FloatArray, steps: IntArray) -> tuple[IntArray, IntArray]:
        return steps * self.grid.offset_of(values, self.half), np.zeros_like(steps)


@dataclass(frozen=True, slots=True)
class WeightedSpreadQuery(WeightedQuery):
    """Sums, in each cell, of squared weights times squared distances of values from a public place, as `center` says.

    It tells how far a weighted mean scatters over samples. Weights are in 256 steps of the cap here, distances in
    ``-half, ..., half``, both to the nearest.

    Attributes:
        half: The largest distance from the middle of a cell, in steps.
        center: The place, in the same steps from the middle. It may depend on earlier answers, never on records.

    Raises:
        ValueError: `half` is not from 1 to 1024, or `center` is further off than that, or the last axis has no grid.
        TypeError: one of them is no whole number.

    Formal guarantees: a record adds a number from 0 to ``(256 * (half + abs(center)))**2`` to its cell, and nothing
    else. The center is public when the query is asked.
    """

    half: int
    center: int

    def __post_init__(self) -> None:
        WeightedQuery.__post_init__(self)
        convert_to_integers(self, half="half", center="center")
        if not 1 <= self.half <= LARGEST_SPREAD or abs(self.center) > self.half:
            raise InvalidArgument("half", f"from 1 to {LARGEST_SPREAD}, and a center no further off, are needed")
        _ = self.grid

    @property
    def per_record_sensitivity(self) -> int:
        return (COARSE * (self.half + abs(self.center))) ** 2

    def amounts(self, values: FloatArray, steps: IntArray) -> tuple[IntArray, IntArray]:
        coarser = Weights.STEPS // COARSE
        own = (steps + coarser // 2) // coarser * (self.grid.offset_of(values, self.half) - self.center)
        return own**2, np.zeros_like(steps)
