"""Base of queries: a flat table of integers over public cells.

A table is flat: the cells of the product of the axes, the last axis fastest, and behind them one more cell for the
records that are missing on any axis. Every record that is used lies in exactly one of these cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..data.axis import Axis, Categories

Places = range | tuple[int, ...]
"""Numbers of cells, in an order; those at equal distances as a formula."""

MOST_COUNTED = 2**22
"""The most cells of a table that are counted one by one: beyond, thresholds are answered without it."""


class Read(Enum):
    """The use of the counts: the mechanism is chosen for the least error of that."""

    CELLS = "cells"
    PREFIXES = "prefixes along the last axis"
    UNEVEN = "prefixes along the last axis, of cells that are unlike their neighbours"
    AREA = "the mean of the prefixes along the last axis"

    @property
    def of_prefixes(self) -> bool:
        """Tell whether prefixes are read, each of them or their mean."""
        return self is not Read.CELLS


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
    """A query on a table along its axes, with the largest amount that one record can add to a cell."""

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
    def paid_as(self) -> Self:
        """The thing that is paid for: once, however often it is read."""
        return self


def laid_out(places: Places) -> NDArray[np.int64]:
    """Lay places out as an array, a formula as one: NumPy would read a range number by number."""
    if isinstance(places, range):
        return np.arange(places.start, places.stop, places.step, dtype=np.int64)
    return np.array(places, dtype=np.int64)
