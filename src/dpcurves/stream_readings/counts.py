"""The question how many tuples are in each state at every tick, and all that is read from its one release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import Any

import numpy as np

from ..arrays import BoolArray, FloatArray
from ..data import Axis, Categories
from ..laws import IntervalSums
from ..queries import TickQuery
from ..release import Plan
from .auto import Auto, AutoWindow
from .events import Event, Jump, Low
from .plain import Plain, PlainWindow
from .question import StreamQuestion
from .reader import Reader


class Smoothing(Enum):
    """How counts are read from noisy ones."""

    AUTO = "auto"
    PLAIN = "plain"

    def of_counts(self, variance: float | FloatArray, keys: int) -> Reader:
        """What reads counts."""
        return Auto(variance, keys) if self is Smoothing.AUTO else Plain(keys)

    def of_windows(self, variance: float | FloatArray, width: int, keys: int) -> Reader:
        """What reads sums over windows."""
        return AutoWindow(variance, width, keys) if self is Smoothing.AUTO else PlainWindow(width, keys)


class TickReading:
    """What was read at one tick.

    Attributes:
        tick: Its number, from 1 on.
        counts: Estimates of the counts, (keys,).
        windows: Estimates of the sums over each window, by its width, (keys,).
        events: Whether each event has happened, by its name, (keys,).
    """

    __slots__ = ("counts", "events", "tick", "windows")

    def __init__(
        self, tick: int, counts: FloatArray, windows: dict[int, FloatArray], events: dict[str, BoolArray]
    ) -> None:
        self.tick, self.counts, self.windows, self.events = tick, counts, windows, events

    def to_json(self, key: int) -> dict[str, Any]:
        """What was read of one key, as plain objects: counts to two digits behind the point."""
        sums = {f"window:{width}": round(float(each[key]), 2) for width, each in self.windows.items()}
        happened = {name: bool(each[key]) for name, each in self.events.items()}
        return {"count": round(float(self.counts[key]), 2), **sums, **happened}


@dataclass(frozen=True, slots=True)
class Counts(StreamQuestion):
    """How many tuples are in each state at every tick; sums over windows and events are read from the same release.

    Attributes:
        axes: The states: a column of categories, or several columns, or a grid.
        ticks: How many ticks there will be, in public; None: without end.
        windows: Widths, in ticks, of sliding sums.
        events: What is looked for, by `Jump`, `Low` or `Event`.
        smoothing: How counts are read from noisy ones.
    """

    axes: tuple[Axis | Categories, ...]
    ticks: int | None = None
    windows: tuple[int, ...] = ()
    events: tuple[Jump | Low | Event, ...] = ()
    smoothing: Smoothing = Smoothing.AUTO

    @property
    def query(self) -> TickQuery:
        """What is asked of the stream, and paid for once."""
        return TickQuery(self.axes, self.ticks, self.windows)

    @property
    def keys(self) -> int:
        """How many counts a tick has."""
        return prod(axis.slots for axis in self.axes)

    def reader(self, plan: Plan) -> CountsReader:
        """What reads the releases of the plan, from the first tick on."""
        variance, keys = plan.law.required(IntervalSums).levels[-1].noise.variance, self.keys
        sums = {width: self.smoothing.of_windows(variance, width, keys) for width in self.widths}
        return CountsReader(self, keys, self.smoothing.of_counts(variance, keys), sums)


class CountsReader:
    """Reads released counts, tick by tick, as its question says.

    Fed with the same integers it reads the same numbers. It holds public numbers alone.

    Args:
        question: Windows and events.
        keys: How many counts a tick has.
        counts: What reads counts.
        sums: What reads sums over windows, by their width: those of the question, and of low signals.
    """

    __slots__ = ("_counts", "_last", "_question", "_sums", "tick")

    def __init__(self, question: StreamQuestion, keys: int, counts: Reader, sums: Mapping[int, Reader]) -> None:
        self._question, self._counts, self._sums = question, counts, sums
        reach = max((event.width for event in question.events if not isinstance(event, Low)), default=1)
        self._last = np.zeros((reach, keys))
        self.tick = 0

    def read(self, values: Sequence[float]) -> TickReading:
        """What the integers of the next tick tell, with those before."""
        counts = self._counts.read(values)
        sums = {width: reader.read(values) for width, reader in self._sums.items()}
        self._last = np.concatenate((self._last[1:], counts[None]))
        self.tick += 1
        windows = {width: sums[width] for width in self._question.windows}
        return TickReading(self.tick, counts, windows, self._judged(sums))

    def _judged(self, sums: dict[int, FloatArray]) -> dict[str, BoolArray]:
        return {event.name: self._happened(event, sums) for event in self._question.events}

    def _happened(self, event: Jump | Low | Event, sums: dict[int, FloatArray]) -> BoolArray:
        if self.tick < event.width:
            return np.zeros(self._last.shape[1], dtype=np.bool_)
        return event.judge_sum(sums[event.width]) if isinstance(event, Low) else event.judge(self._last[-event.width :])
