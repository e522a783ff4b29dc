"""Counts of intervals that are short where records are many. Two turns."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..arguments import Refused, make_whole
from ..data import Axis, Grid
from ..queries import Splitting, TreePartitionQuery
from ..release import ALL, Setting, Step
from ..workloads import Axes, Counted, Strategy
from .last_turn import along, counted_between

PARTITION_SHARE = Fraction(1, 5)
MOST_PARTS = 2**20


@dataclass(frozen=True, slots=True)
class GrownPartition:
    """Count on a partition that is grown in private.

    The first turn divides the grid where records are many, down to single cells if need be, with a fifth of the loss;
    the second counts what lies in the leaves. It suits records in a small, unknown part of a wide or fine grid.
    (Zhang, Xiao and Xie 2016, with a tree over the leaves.)

    Attributes:
        fan: Into how many intervals one is divided.
        least: No interval is divided that seems to hold no more records than this; with 0, the noise decides.

    Raises:
        ValueError: `fan` is below 2 or above 2**20, or `least` below 0.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> session = dp.Session({"x": np.full(1000, 0.3)}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE)
    >>> question = dp.CdfQuestion("x", dp.Grid(0, 1, cells=2**16), method=GrownPartition())
    >>> curve = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> bool(curve.cdf(0.29) < 0.1 and curve.cdf(0.31) > 0.9)
    True
    """

    fan: int = 2
    least: int = 0

    def __post_init__(self) -> None:
        make_whole(self, fan="fan", least="least")
        if not 2 <= self.fan <= MOST_PARTS:
            raise Refused("fan", f"a whole number from 2 to {MOST_PARTS} is needed, got {self.fan}")
        self._partition(Axis("any", Grid(0, 1, cells=1)))  # refuses what the query refuses

    def turns(self, axes: Axes, setting: Setting) -> Strategy[Counted]:
        """Ask for a partition, then for counts of its leaves."""
        axis = along(axes)
        grown = yield Step(self._partition(axis), PARTITION_SHARE)
        leaves = Splitting((axis.slots,), (self.fan,)).leaves(grown.values)
        starts = leaves.lower[:, 0].tolist()
        return (yield from counted_between(axes, starts, [grown], setting, share=ALL - PARTITION_SHARE))

    def _partition(self, axis: Axis) -> TreePartitionQuery:
        return TreePartitionQuery((axis,), (self.fan,), self.least)

    def __str__(self) -> str:
        return "on a grown partition"
