"""The question how many tuples are in each state at every tick, and all that is read from its one release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from dpcurves.arguments import Refused, shown
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.data import Axis, Categories
from dpcurves.laws import Family, IntervalSums
from dpcurves.queries import TickQuery
from dpcurves.release import Plan

from .auto import Auto, AutoWindow
from .events import Event, Jump, Low
from .plain import Plain, PlainWindow
from .question import StreamQuestion
from .reach import LEVEL, STATED, Interval, Noisy, NoisySums
from .reader import Reader


class Smoothing(Enum):
    """The estimator of counts from noisy ones."""

    AUTO = "auto"
    PLAIN = "plain"

    def of_counts(self, variance: float | FloatArray, keys: int) -> Reader:
        """The estimator of counts."""
        return Auto(variance, keys) if self is Smoothing.AUTO else Plain(keys)

    def of_windows(self, variance: float | FloatArray, width: int, keys: int) -> Reader:
        """The estimator of sums over windows."""
        return AutoWindow(variance, width, keys) if self is Smoothing.AUTO else PlainWindow(width, keys)


class TickReading:
    """The reading of one tick.

    Attributes:
        tick: Its number, from 1 on.
        counts: Estimates of the counts, (keys,).
        windows: Estimates of the sums over each window, by its width, (keys,).
        events: Whether each event has happened, by its name, (keys,).
        noisy: The noisy counts that the estimates were made from; None where parts of a hierarchy were left out, which
            biases them.
        noisy_windows: Those of each window.
    """

    __slots__ = ("_written", "counts", "events", "noisy", "noisy_windows", "tick", "windows")

    def __init__(
        self,
        tick: int,
        counts: FloatArray,
        windows: dict[int, FloatArray],
        events: dict[str, BoolArray],
        *,
        noisy: Noisy | None,
        noisy_windows: dict[int, Noisy],
    ) -> None:
        self.tick, self.counts, self.windows, self.events = tick, counts, windows, events
        self.noisy, self.noisy_windows = noisy, noisy_windows
        self._written: dict[str, tuple[FloatArray, FloatArray | None, FloatArray | None]] | None = None

    def interval(self, level: float) -> Interval:
        """Confidence intervals for the counts of this tick, for these records: lower and upper ends, (keys,) each.

        They are centred on the noisy counts of this tick alone, for the bias of smoothing is unknown, and extended to
        hold the estimates that are shown. The level holds for each interval on its own.

        Raises:
            ValueError: the level is not between 0 and 1, or parts of a hierarchy were left out.
        """
        return _known(self.noisy).interval(level, self.counts)

    def window_interval(self, width: int, level: float) -> Interval:
        """Do as `interval`, for the sums over a window that was asked for."""
        if width not in self.windows:
            raise Refused("width", f"windows of {shown(sorted(self.windows))} ticks were asked for, got {shown(width)}")
        return _known(self.noisy_windows.get(width)).interval(level, self.windows[width])

    def to_json(self, key: int) -> dict[str, Any]:
        """The reading of one key, as plain objects, to two digits behind the point; with ends of intervals."""
        if self._written is None:
            self._written = self._to_write()
        plain: dict[str, Any] = {}
        for name, (estimates, low, high) in self._written.items():
            plain[name] = round(float(estimates[key]), 2)
            if low is not None and high is not None:
                before = "" if name == "count" else f"{name}:"
                plain[f"{before}low"], plain[f"{before}high"] = round(float(low[key]), 2), round(float(high[key]), 2)
        happened = {name: bool(each[key]) for name, each in self.events.items()}
        stated = {} if self.noisy is None else STATED
        return {**plain, **happened, **stated}

    def _to_write(self) -> dict[str, tuple[FloatArray, FloatArray | None, FloatArray | None]]:
        of_counts = (None, None) if self.noisy is None else self.interval(LEVEL)
        found = {"count": (self.counts, *of_counts)}
        for width, sums in self.windows.items():
            of_sums = (None, None) if width not in self.noisy_windows else self.window_interval(width, LEVEL)
            found[f"window:{width}"] = (sums, *of_sums)
        return found


def _known(noisy: Noisy | None) -> Noisy:
    if noisy is None:
        raise Refused("level", "no interval covers what is below aggregations that were not divided")
    return noisy


@dataclass(frozen=True, slots=True)
class Counts(StreamQuestion):
    """Counts of tuples in each state at every tick; sums over windows and events are read from the same release.

    Attributes:
        axes: The states: a column of categories, or several columns, or a grid.
        ticks: The number of ticks, which is public; None: without end.
        windows: Widths, in ticks, of sliding sums.
        events: The events to look for: `Jump`, `Low` or `Event`.
        smoothing: How counts are estimated from noisy ones.
    """

    axes: tuple[Axis | Categories, ...]
    ticks: int | None = None
    windows: tuple[int, ...] = ()
    events: tuple[Jump | Low | Event, ...] = ()
    smoothing: Smoothing = Smoothing.AUTO

    @property
    def query(self) -> TickQuery:
        """The query on the stream, which is paid for once."""
        return TickQuery(self.axes, self.ticks, self.windows)

    @property
    def keys(self) -> int:
        """The number of counts of a tick."""
        return prod(axis.slots for axis in self.axes)

    def reader(self, plan: Plan) -> CountsReader:
        """The reader of the releases of the plan, from the first tick on."""
        noise, keys = plan.law.required(IntervalSums).levels[-1].noise, self.keys
        sums = {width: self.smoothing.of_windows(noise.variance, width, keys) for width in self.widths}
        known = Known(noise.family, sqrt(noise.variance))
        return CountsReader(self, keys, self.smoothing.of_counts(noise.variance, keys), sums, known)


class Known(NamedTuple):
    """The law of the noise of counts.

    Attributes:
        family: That of the draws that it adds up.
        deviations: Its standard deviation: one of all counts, or (keys,).
    """

    family: Family
    deviations: FloatArray | float


class CountsReader:
    """Reads released counts, tick by tick, as its question says.

    Fed with the same integers it reads the same numbers. It holds public numbers alone.

    Args:
        question: The question, which says what windows and events there are.
        keys: How many counts a tick has.
        counts: The estimator of counts.
        sums: The estimators of sums over windows, by width: the windows of the question, and those of its `Low` events.
        known: The family and the deviations of the noise of the first values, one a key; None: they are not known, and
            there are no intervals.
    """

    __slots__ = ("_counts", "_keys", "_known", "_last", "_noisy_sums", "_question", "_sums", "tick")

    def __init__(
        self,
        question: StreamQuestion,
        keys: int,
        counts: Reader,
        sums: Mapping[int, Reader],
        known: Known | None,
    ) -> None:
        self._question, self._counts, self._sums, self._keys, self._known = question, counts, sums, keys, known
        self._noisy_sums = (
            {} if known is None else {width: NoisySums(*known, width, keys) for width in question.windows}
        )
        reach = max((event.width for event in question.events if not isinstance(event, Low)), default=1)
        self._last = np.zeros((reach, keys))
        self.tick = 0

    def read(self, values: Sequence[float]) -> TickReading:
        """The reading after the integers of the next tick."""
        counts = self._counts.read(values)
        sums = {width: reader.read(values) for width, reader in self._sums.items()}
        self._last = np.concatenate((self._last[1:], counts[None]))
        self.tick += 1
        windows = {width: sums[width] for width in self._question.windows}
        noisy, noisy_sums = self._noisy(values)
        return TickReading(self.tick, counts, windows, self._judged(sums), noisy=noisy, noisy_windows=noisy_sums)

    def _noisy(self, values: Sequence[float]) -> tuple[Noisy | None, dict[int, Noisy]]:
        if self._known is None:
            return None, {}
        raw = np.array(values[: self._keys], dtype=np.float64)
        return Noisy(self._known.family, raw, self._known.deviations), {
            width: sums.after(raw) for width, sums in self._noisy_sums.items()
        }

    def _judged(self, sums: dict[int, FloatArray]) -> dict[str, BoolArray]:
        return {event.name: self._happened(event, sums) for event in self._question.events}

    def _happened(self, event: Jump | Low | Event, sums: dict[int, FloatArray]) -> BoolArray:
        if self.tick < event.width:
            return np.zeros(self._last.shape[1], dtype=np.bool_)
        return event.judge_sum(sums[event.width]) if isinstance(event, Low) else event.judge(self._last[-event.width :])
