"""The distribution function on intervals that are short where records are many. Two turns."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..arguments import Refused, make_whole
from ..data import Axis, Categories, Grid
from ..queries import Splitting, TreePartitionQuery
from ..release import ALL, Release, Setting, Step
from .leaf_counts import counted_between, counted_between_by
from .turns.one_table import axis_label, in_words

PARTITION_SHARE = Fraction(1, 5)
MOST_PARTS = 2**20


@dataclass(frozen=True, slots=True)
class PartitionCdfQuestion:
    """What share of the records lies below each edge of `grid`, on a partition that is grown in private? Two turns.

    The first turn divides the grid where records are many, down to single cells if need be, with a fifth of the loss;
    the second counts what lies in the leaves. It suits records in a small, unknown part of a wide or fine grid.
    (Zhang, Xiao and Xie 2016, with a tree over the leaves.)

    Attributes:
        column: A column of numbers.
        grid: Public cells.
        fan: Into how many intervals one is divided.
        least: No interval is divided that seems to hold no more records than this; with 0, the noise decides.
        measured_in: The measuring unit of the column, for the axis.
        by: Categories that were declared in public: one curve for each, on the partition of all records.

    Raises:
        ValueError: `fan` is below 2 or above 2**20, or `least` below 0.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> session = dp.Session({"x": np.full(1000, 0.3)}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE)
    >>> curve = session.ask(PartitionCdfQuestion("x", dp.Grid(0, 1, cells=2**16)), dp.PrivacyLoss.pure(1))
    >>> bool(curve.cdf(0.29) < 0.1 and curve.cdf(0.31) > 0.9)
    True
    """

    column: str
    grid: Grid
    fan: int = 2
    least: int = 0
    measured_in: str = ""
    by: Categories | None = None

    def __post_init__(self) -> None:
        make_whole(self, fan="fan", least="least")
        if not 2 <= self.fan <= MOST_PARTS:
            raise Refused("fan", f"a whole number from 2 to {MOST_PARTS} is needed, got {self.fan}")
        self._partition()  # refuses what the query refuses

    def steps(self, setting: Setting) -> Generator[Step, Release, Any]:
        """A partition; counts of its leaves."""
        axis = Axis(self.column, self.grid)
        grown = yield Step(self._partition(), PARTITION_SHARE)
        leaves = Splitting((axis.slots,), (self.fan,)).leaves(grown.values)
        label = axis_label(self.column, self.measured_in)
        starts = leaves.lower[:, 0].tolist()
        share = ALL - PARTITION_SHARE
        if self.by is None:
            return (yield from counted_between(axis, starts, [grown], setting, share=share, label=label))
        return (yield from counted_between_by(self.by, axis, starts, [grown], setting, share=share, label=label))

    def _partition(self) -> TreePartitionQuery:
        return TreePartitionQuery((Axis(self.column, self.grid),), (self.fan,), self.least)

    def __str__(self) -> str:
        return in_words("distribution function on a grown partition", self.column, self.by)
