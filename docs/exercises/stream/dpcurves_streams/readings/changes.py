"""Changes of counts from one window to the next, at every time step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from dpcurves.arguments import InvalidArgument, describe_value
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.conversation import Plan
from dpcurves.data import Axis, Categories
from dpcurves.distributions import Family, IntervalSums

from ..queries import TimeStepQuery
from .question import (
    INTERVAL_LABEL,
    LEVEL,
    Event,
    Interval,
    Jump,
    Low,
    StreamQuestion,
    _laplace_reach,
    _noise_quantile,
)


@dataclass(frozen=True, slots=True)
class ChangeReading:
    """The changes of one time step. Counts before the first time step are 0, without noise.

    Attributes:
        time_step: Its number, from 1 on.
        counts: Unbiased estimates of the counts of this time step minus those of the time step before, (keys,).
        windows: Unbiased estimates of the sums over the last time steps minus those over as many before, by width,
            (keys,).
        deviations: Standard deviations of the noise, by width; 1: of `counts`.
        family: The family of the distribution of the draws whose sum is the noise.
    """

    QUANTITY: ClassVar[str] = "change from the step before"

    time_step: int
    counts: FloatArray
    windows: Mapping[int, FloatArray]
    deviations: Mapping[int, float]
    family: Family

    @property
    def events(self) -> Mapping[str, BoolArray]:
        """None: events are looked for in counts."""
        return MappingProxyType({})

    @property
    def has_intervals(self) -> bool:
        """True: changes always have intervals."""
        return True

    def interval(self, level: float) -> Interval:
        """Return confidence intervals of the changes, for these records: lower and upper bounds, (keys,) each.

        Each interval has this level by itself, at this time step.

        Raises:
            ValueError: the level is not between 0 and 1.
        """
        return self._interval(self.counts, 1, level)

    def window_interval(self, width: int, level: float) -> Interval:
        """Return intervals as `interval` does, for windows of a width that was asked for."""
        if width not in self.windows:
            raise InvalidArgument(
                "width",
                f"windows of {describe_value(sorted(self.windows))} steps were asked for, got {describe_value(width)}",
            )
        return self._interval(self.windows[width], width, level)

    def to_json(self, key: int) -> dict[str, Any]:
        """Return the changes of one key, to two decimals, and the bounds of their intervals, as plain objects."""
        plain: dict[str, Any] = {}
        changes = [("change", "", self.counts, 1)]
        changes += [(f"window:{width}", f"window:{width}:", change, width) for width, change in self.windows.items()]
        for name, prefix, change, width in changes:
            low, high = self._interval(change, width, LEVEL)
            plain |= {name: round(float(change[key]), 2)}
            plain |= {f"{prefix}low": float(low[key]), f"{prefix}high": float(high[key])}
        return {**plain, **INTERVAL_LABEL}

    def _interval(self, change: FloatArray, width: int, level: float) -> Interval:
        deviation = self.deviations[width]
        radius = _noise_quantile(self.family, level) * deviation + 0.5  # continuity correction: changes are integers
        if self.family is Family.LAPLACE:
            radius = max(radius, float(_laplace_reach(np.array(deviation), level)))
        return np.minimum(np.ceil(change - radius), change), np.maximum(np.floor(change + radius), change)


@dataclass(frozen=True, slots=True)
class Changes(StreamQuestion):
    """Changes of the count of each state from one time step to the next, and from one window to the next.

    Attributes:
        axes: The states: a column of categories, or several columns, or a grid.
        time_steps: The number of time_steps, which is public; None: without end.
        windows: Widths, in time steps, of windows that are compared with the windows before them.
    """

    axes: tuple[Axis | Categories, ...]
    time_steps: int | None = None
    windows: tuple[int, ...] = ()

    @property
    def events(self) -> tuple[Jump | Low | Event, ...]:
        """None: events are looked for in counts."""
        return ()

    @property
    def query(self) -> TimeStepQuery:
        """The query on the stream, which is paid for once."""
        return TimeStepQuery(self.axes, self.time_steps, self.windows)

    def reader(self, plan: Plan) -> ChangesReader:
        """Return the reader of the releases of the plan, from the first time step on."""
        return ChangesReader(self, plan)


class ChangesReader:
    """Reads changes from released counts, step by step. It holds public numbers alone."""

    __slots__ = ("_noise", "_totals", "_windows", "time_step")

    def __init__(self, question: Changes, plan: Plan) -> None:
        self._noise, self._windows = plan.distribution.require_type(IntervalSums).levels[-1].noise, question.windows
        # Totals of the last time steps: the change over a width needs three of them, `width` time steps apart.
        self._totals = np.zeros((2 * max(question.windows, default=1) + 1, question.query.keys))
        self.time_step = 0

    def read_next(self, values: Sequence[int]) -> ChangeReading:
        """Return the changes after the integers of the next time step."""
        self.time_step += 1
        total = self._totals[-1] + np.array(values, dtype=np.float64)
        self._totals = np.concatenate((self._totals[1:], total[None]))
        noisy_time_steps = {width: min(self.time_step, 2 * width) for width in (1, *self._windows)}
        deviations = {width: sqrt(self._noise.variance * time_steps) for width, time_steps in noisy_time_steps.items()}
        windows = {width: self._change(width) for width in self._windows}
        return ChangeReading(self.time_step, self._change(1), windows, deviations, self._noise.family)

    def _change(self, width: int) -> FloatArray:
        last, before, first = (self._totals[-1 - periods * width] for periods in range(3))
        return np.asarray(last - 2 * before + first)
