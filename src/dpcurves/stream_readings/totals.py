"""The question how many tuples came so far, at every tick, and sums over sliding windows as differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..data import Axis, Categories
from ..laws import BufferedPrefixes, TreeCounts
from ..queries import Read, TickQuery
from ..release import Plan


@dataclass(frozen=True, slots=True)
class TotalReading:
    """What was read at one tick.

    Attributes:
        tick: Its number, from 1 on.
        totals: Unbiased estimates of how many tuples came so far, (keys,).
        deviation: The standard deviation of their noise.
        windows: Unbiased estimates of the sums over each window, by its width, (keys,).
        window_deviations: The standard deviations of their noise.
    """

    tick: int
    totals: FloatArray
    deviation: float
    windows: dict[int, FloatArray]
    window_deviations: dict[int, float]

    def to_json(self, key: int) -> dict[str, Any]:
        """What was read of one key, as plain objects."""
        sums = {f"window:{width}": float(each[key]) for width, each in self.windows.items()}
        return {"total": float(self.totals[key]), **sums}


@dataclass(frozen=True, slots=True)
class Totals:
    """How many tuples of each state came so far, at every tick, with an error that grows slowly.

    Attributes:
        axes: The states: a column of categories, or several columns, or a grid.
        ticks: How many ticks there will be, in public; None: without end.
        windows: Widths, in ticks, of sliding sums. If there are any, noise is chosen for them, not for the totals.
    """

    axes: tuple[Axis | Categories, ...]
    ticks: int | None = None
    windows: tuple[int, ...] = ()

    @property
    def query(self) -> TickQuery:
        """What is asked of the stream, and paid for once."""
        return TickQuery(self.axes, self.ticks, self.windows, Read.PREFIXES)

    def reader(self, plan: Plan) -> TotalsReader:
        """What reads the releases of the plan, from the first tick on."""
        return TotalsReader(self, plan)


class TotalsReader:
    """Reads released totals, tick by tick. It holds public numbers alone."""

    __slots__ = ("_estimator", "_law", "_ring", "_windows", "tick")

    def __init__(self, question: Totals, plan: Plan) -> None:
        self._law: TreeCounts | BufferedPrefixes = (
            plan.law if isinstance(plan.law, BufferedPrefixes) else plan.law.required(TreeCounts)
        )
        self._estimator, self._windows = self._law.estimator(), question.windows
        self._ring = np.zeros((max(question.windows, default=0) + 1, self._law.keys))
        self.tick = 0

    def read(self, values: Sequence[int]) -> TotalReading:
        """What the integers of the next tick tell, with those before."""
        self.tick += 1
        length = len(self._ring)
        self._ring[self.tick % length] = self._estimator.read(np.array(values, dtype=np.float64))
        totals = self._ring[self.tick % length].copy()
        sums = {width: totals - self._before(width) for width in self._windows}
        deviations = {width: self._deviation(width) for width in self._windows}
        return TotalReading(self.tick, totals, self._deviation(None), sums, deviations)

    def _before(self, width: int) -> FloatArray:
        """Totals of so many ticks ago; zero before the first tick, which is exact."""
        before: FloatArray = self._ring[(self.tick - width) % len(self._ring)]
        return before if self.tick > width else np.zeros_like(before)

    def _deviation(self, width: int | None) -> float:
        return sqrt(self._law.variance(self.tick, width))
