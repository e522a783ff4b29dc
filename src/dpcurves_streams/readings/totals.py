"""The question how many tuples came so far, at every tick, and sums over sliding windows as differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from dpcurves.arguments import Refused, shown
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.conversation import Plan
from dpcurves.data import Axis, Categories, Forest
from dpcurves.laws import Family
from dpcurves.queries import Read
from dpcurves_streams.queries import TickQuery, require_states

from ..laws import PrefixLaw
from .question import LEVEL, STATED, Event, Interval, Jump, Low, Noisy, StreamQuestion


@dataclass(frozen=True, slots=True)
class TotalReading:
    """The reading of one tick.

    Attributes:
        tick: Its number, from 1 on.
        totals: Unbiased estimates of how many tuples came so far, (keys,).
        deviations: The standard deviations of their noise, (keys,).
        windows: Unbiased estimates of the sums over each window, by its width, (keys,).
        window_deviations: The standard deviations of their noise, (keys,).
        family: The family of the distribution of the draws whose sum is the noise.
    """

    MEASURED: ClassVar[str] = "tuples so far"

    tick: int
    totals: FloatArray
    deviations: FloatArray
    windows: dict[int, FloatArray]
    window_deviations: dict[int, FloatArray]
    family: Family

    @property
    def counts(self) -> FloatArray:
        """The totals, which are shown first."""
        return self.totals

    @property
    def events(self) -> dict[str, BoolArray]:
        """None: events are not looked for in totals."""
        return {}

    @property
    def is_covered(self) -> bool:
        """They always are."""
        return True

    def interval(self, level: float) -> Interval:
        """Confidence intervals for the totals so far, for these records: lower and upper ends, (keys,) each.

        The level holds for each interval on its own, at this tick.

        Raises:
            ValueError: the level is not between 0 and 1.
        """
        return Noisy(self.family, self.totals, self.deviations).interval(level, np.maximum(self.totals, 0.0))

    def window_interval(self, width: int, level: float) -> Interval:
        """Do as `interval`, for the sums over a window that was asked for."""
        if width not in self.windows:
            raise Refused("width", f"windows of {shown(sorted(self.windows))} ticks were asked for, got {shown(width)}")
        sums = self.windows[width]
        return Noisy(self.family, sums, self.window_deviations[width]).interval(level, np.maximum(sums, 0.0))

    def to_json(self, key: int) -> dict[str, Any]:
        """The reading of one key, as plain objects, to two digits behind the point; with ends of intervals."""
        plain: dict[str, Any] = {"total": round(float(self.totals[key]), 2)}
        plain["low"], plain["high"] = _ends(self.interval(LEVEL), key)
        for width, sums in self.windows.items():
            name = f"window:{width}"
            plain[name] = round(float(sums[key]), 2)
            plain[f"{name}:low"], plain[f"{name}:high"] = _ends(self.window_interval(width, LEVEL), key)
        return {**plain, **STATED}


def _ends(interval: Interval, key: int) -> tuple[float, float]:
    low, high = interval
    return round(float(low[key]), 2), round(float(high[key]), 2)


@dataclass(frozen=True, slots=True)
class Totals(StreamQuestion):
    """Totals of tuples of each state so far, at every tick, with an error that grows slowly.

    Attributes:
        axes: The states: a column of categories, or several columns, or a grid.
        ticks: The number of ticks, which is public; None: without end.
        windows: Widths, in ticks, of sliding sums. If there are any, noise is chosen for them, not for the totals.
        forest: Aggregations of the states of the one axis, whose totals are sums of theirs; None: states alone. They
            are read before the states.
    """

    axes: tuple[Axis | Categories, ...]
    ticks: int | None = None
    windows: tuple[int, ...] = ()
    forest: Forest | None = None

    def __post_init__(self) -> None:
        StreamQuestion.__post_init__(self)
        if self.forest is not None:
            require_states(self.axes, self.forest)

    @property
    def events(self) -> tuple[Jump | Low | Event, ...]:
        """None."""
        return ()

    @property
    def query(self) -> TickQuery:
        """The query on the stream, which is paid for once."""
        return TickQuery(self.axes, self.ticks, self.windows, Read.PREFIXES)

    def reader(self, plan: Plan) -> TotalsReader:
        """The reader of the releases of the plan, from the first tick on."""
        return TotalsReader(self, plan)


class TotalsReader:
    """Reads released totals, tick by tick. It holds public numbers alone."""

    __slots__ = ("_estimator", "_law", "_members", "_ring", "_sizes", "_windows", "tick")

    def __init__(self, question: Totals, plan: Plan) -> None:
        self._law = plan.law.required(PrefixLaw)  # type: ignore[type-abstract]
        self._estimator, self._windows = self._law.estimator(), question.windows
        groups = () if question.forest is None else question.forest.members
        self._members = [list(states) for states in groups]
        self._sizes = np.sqrt([*map(len, groups), *(1 for _ in range(self._law.keys))])
        self._ring = np.zeros((max(question.windows, default=0) + 1, len(self._sizes)))
        self.tick = 0

    def read(self, values: Sequence[int]) -> TotalReading:
        """The reading after the integers of the next tick."""
        self.tick += 1
        length = len(self._ring)
        states = self._estimator.read(np.array(values, dtype=np.float64))
        sums = [states[members].sum() for members in self._members]
        self._ring[self.tick % length] = np.concatenate((sums, states))
        totals = self._ring[self.tick % length].copy()
        windows = {width: totals - self._before(width) for width in self._windows}
        deviations = {width: self._deviations(width) for width in self._windows}
        return TotalReading(self.tick, totals, self._deviations(None), windows, deviations, self._law.family)

    def _before(self, width: int) -> FloatArray:
        """Totals of so many ticks ago; zero before the first tick, which is exact."""
        before: FloatArray = self._ring[(self.tick - width) % len(self._ring)]
        return before if self.tick > width else np.zeros_like(before)

    def _deviations(self, width: int | None) -> FloatArray:
        """Noises of states are independent, so those of aggregations grow as the root of their number."""
        deviations: FloatArray = sqrt(self._law.variance(self.tick, width)) * self._sizes
        return deviations
