"""Rounding of a number to a cell on a device: to the cell that holds it, or at random to one with a near middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.arrays import IntArray
from dpcurves.curves import HistogramQuestion
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.data.spacing import Spacing
from dpcurves.noise.randomness import Randomness
from dpcurves.release import UnsupportedQuery

PARTS = 2**32
FINEST = 2**20
"""Cells that tell where a number lies between two middles."""


class Rounding(StrEnum):
    """The rule by which a number becomes a cell.

    `SIMPLE`: the cell that it lies in. `CHANCE`: one of the two cells whose middles it lies between, the nearer one the
    more often, so that on average it stays where it is.
    """

    SIMPLE = "simple"
    CHANCE = "chance"


@dataclass(frozen=True)
class ByChance:
    """Rounds numbers to the middles of cells of equal width, so that each is kept on average.

    Where a share t of the way from one middle to the next is behind a number, it goes to the next one with chance t.
    What lies before the first middle or behind the last one goes there. (Bell et al. 2019 name it in section 3, and
    leave it for later.) A number is taken to lie in the middle of one of 2**20 fine cells or fewer, and chances are
    whole numbers of ``2**-32``: on average it is kept to half of a fine cell, and to a part in 2**32 of a cell.

    Formal guarantees: what is randomised is one of two cells, drawn by chances that follow from the value. A report is
    a mixture of their reports, and so at most exp(epsilon) times as likely for one value as for another.

    Attributes:
        axis: The column, and its cells.

    Raises:
        UnsupportedQuery: the cells are not of equal width, or values outside are counted apart.
    """

    axis: Axis

    def __post_init__(self) -> None:
        grid = self.axis.grid
        if grid.spacing is not Spacing.LINEAR or grid.outside is Outside.APART:
            raise UnsupportedQuery("rounding", "numbers are rounded by chance to cells of equal width that clamp")
        if not 2 <= grid.cells <= FINEST // 2:
            raise Refused("rounding", f"from 2 to {FINEST // 2} cells have middles to round to, got {grid.cells}")

    @classmethod
    def of(cls, question: object, axes: Sequence[Axis | Categories]) -> ByChance:
        """The rounding of what a question asks. Raises `UnsupportedQuery` if it is not of one column of numbers."""
        axis = axes[-1]
        if not isinstance(question, HistogramQuestion) or len(axes) != 1 or not isinstance(axis, Axis):
            raise UnsupportedQuery("rounding", "numbers of a histogram are rounded by chance, no others")
        return cls(axis)

    @cached_property
    def fine(self) -> Axis:
        """The column on the fine cells, of which each cell has as many."""
        grid = self.axis.grid
        return replace(self.axis, grid=Grid(grid.lower, grid.upper, cells=grid.cells * self._parts))

    @property
    def _parts(self) -> int:
        return FINEST // self.axis.grid.cells

    def chances(self, fine: IntArray) -> tuple[IntArray, IntArray]:
        """The cell before these fine cells, and the chance of the one behind it, in parts of `PARTS`."""
        twice = 2 * self._parts  # places in whole numbers: twice as many as fine cells, so that their middles are some
        before, past = np.divmod(2 * fine + 1 - self._parts, twice)
        inside = (before >= 0) & (before < self.axis.grid.cells - 1)
        return np.clip(before, 0, self.axis.grid.cells - 1), np.where(inside, past * PARTS // twice, 0)

    def rounded(self, fine: IntArray, randomness: Randomness) -> IntArray:
        """SECRET argument `fine`. A cell for each fine cell; what is missing stays missing."""
        cells, chances = self.chances(fine)
        drawn = np.frombuffer(randomness.octets(4 * len(fine)), dtype="<u4").astype(np.int64)
        missing = fine == self.axis.grid.cells * self._parts
        return np.where(missing, self.axis.grid.cells, cells + (drawn < chances))
