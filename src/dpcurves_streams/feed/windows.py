"""SECRET. Windows of a source: open ones that tuples are counted into, exact counts of closed ones, dropped tuples."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from os import PathLike
from typing import Any, Protocol

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.arrays import IntArray
from dpcurves.data.axis import Axis, Categories

from .schedule import Clock, Fields, Keys, Schedule, when

MOST = 2**60


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Window:
    """SECRET. The exact counts of one step. It has no repr.

    Attributes:
        tick: The number of the step, from 1 on.
        counts: How many tuples each key has, (keys,).
    """

    tick: int
    counts: IntArray

    def checked(self, cells: int) -> IntArray:
        """The counts, from 0 to 2**60: what lies outside is taken to be the nearer end, so no tuple moves more.

        Raises:
            ValueError: they are not whole by their type, or not one a cell. (A fraction would be seen through noise.)
        """
        counts = np.asarray(self.counts)
        if counts.dtype.kind not in "iu" or counts.shape != (cells,):
            raise Refused("source", f"a window has {cells} counts that are whole numbers by their type")
        return np.clip(counts, 0, MOST).astype(np.int64)


class Windows(Protocol):
    """A source: exact keyed counts of windows that have closed. An engine that counts by itself, as Spark, is one.

    Formal guarantees: how many windows come, and when, is public: it depends on the schedule and on clocks, not on
    tuples. Counts of neighbouring streams differ by at most ``adjacency.l1_sensitivity``, over all windows and keys.
    """

    def check(self) -> None:
        """Refuse what cannot be read, by its header or schema alone: before anything is charged.

        Raises:
            ValueError: a field is not there.
        """
        ...

    def after(self, tick: int) -> Iterator[Sequence[Window]]:
        """Iterate over later windows in order, none left out, as they close; several where several have."""
        ...

    def done(self, tick: int) -> None:
        """Forget what windows up to this one were counted from: their answers are durable."""
        ...


# CONFIDENTIAL. How many tuples were not counted, and why: for the operator alone, never for readers.
class Reason(Enum):
    """Why a tuple is not counted. Each is judged by itself, by the public schedule and by when it arrived."""

    MALFORMED = "malformed"
    UNKNOWN = "of an unknown state"
    OUTSIDE = "before the start or after the end"
    LATE = "late"
    FUTURE = "from the future"
    BEYOND_CAP = "beyond what is used of a user"
    REPEATED = "delivered again"


class Dropped:
    """Counts of dropped tuples. It has no repr; what it counted is exact, and private.

    Args:
        file: Where they are appended to as JSON lines, readable by its owner alone; None: nowhere.

    Raises:
        ValueError: the file cannot be written.
    """

    __slots__ = ("_counts", "_file")

    def __init__(self, file: PathLike[str] | str | None = None) -> None:
        self._counts: Counter[Reason] = Counter()
        self._file = None if file is None else os.fspath(file)
        self.write(0)

    def add(self, reason: Reason, tuples: int = 1) -> None:
        """Count some more."""
        self._counts[reason] += tuples

    @property
    def counts(self) -> Mapping[str, int]:
        """CONFIDENTIAL. How many so far, by reason."""
        return {reason.value: self._counts[reason] for reason in Reason}

    def write(self, tick: int) -> None:
        """Append what was counted up to a step: once a step, whatever came."""
        if self._file is None:
            return
        try:
            opened = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(opened, "w", encoding="utf-8") as file:
                file.write(json.dumps({"step": tick, **self.counts}) + "\n")
        except OSError as error:
            trouble = str(error.strerror)
        else:
            return
        raise Refused("confidential_log", f"it cannot be written ({trouble})")


FUTURE = 10 * 60 * 1_000_000
"""The most microseconds that a sender's clock may be ahead of this one, beside the grace."""


class OpenWindows:
    """Counts of the steps that have not closed. It has no repr.

    Formal guarantees: whether a tuple counts depends on the public schedule, on when it arrived, and on the tuples of
    the same user in the same step alone, of which the first ones count. So the counts of all windows together differ by
    at most ``fields.adjacency.l1_sensitivity`` between neighbouring streams that arrive alike. No tuple makes this
    fail.

    Args:
        schedule: When steps close.
        fields: What is read of a tuple.
        axes: The states.
        dropped: Where tuples that are not counted are.
        after: The last step that was answered before.
    """

    __slots__ = ("_after", "_counts", "_dropped", "_fields", "_keys", "_schedule", "_size", "_used")

    def __init__(
        self, schedule: Schedule, fields: Fields, axes: Sequence[Axis | Categories], dropped: Dropped, after: int
    ) -> None:
        self._schedule, self._fields, self._dropped, self._after = schedule, fields, dropped, after
        self._keys, self._size = Keys(axes), int(np.prod([axis.slots for axis in axes]))
        self._counts: dict[int, Counter[int]] = {}
        self._used: dict[int, Counter[str]] = {}

    def take(self, given: Mapping[str, Any] | None, arrived: int | None) -> int | None:
        """Count a tuple, or drop it. Returns the step into which it was counted.

        Arguments:
            given: Its fields; None where they could not be read.
            arrived: When it came; None where all that came was in time, as in a file that is finished.
        """
        try:
            tick, key = self._judge(given, arrived)
        except Exception:  # fields may be objects of any kind, which raise what they like, and may say what they hold
            tick, key = Reason.MALFORMED, 0
        if isinstance(tick, Reason):
            self._dropped.add(tick)
            return None
        self._counts.setdefault(tick, Counter())[key] += 1
        return tick

    def close(self, last: int) -> list[Window]:
        """Close windows up to this one; nothing of them is kept."""
        ticks = range(self._after + 1, last + 1)
        self._after = max(self._after, last)
        return [self._closed(tick) for tick in ticks]

    def _judge(self, given: Mapping[str, Any] | None, arrived: int | None) -> tuple[int | Reason, int]:
        """The step and the place of a tuple, or why it does not count."""
        moment = None if given is None else when(given.get(self._fields.time))
        if given is None or moment is None:
            return Reason.MALFORMED, 0
        tick, key = self._schedule.tick_of(moment), self._keys.find(given)
        reason = self._untimely(moment, tick, arrived)
        if reason is not None or tick is None:
            return reason or Reason.OUTSIDE, 0
        if key is None:
            return Reason.UNKNOWN, 0
        return (Reason.BEYOND_CAP, 0) if self._is_beyond_cap(tick, given) else (tick, key)

    def _untimely(self, moment: int, tick: int | None, arrived: int | None) -> Reason | None:
        if tick is None:
            return Reason.OUTSIDE
        if arrived is not None and moment > arrived + self._schedule.grace + FUTURE:
            return Reason.FUTURE
        if arrived is not None and arrived >= self._schedule.closes(tick):
            return Reason.LATE
        return Reason.REPEATED if tick <= self._after else None

    def _is_beyond_cap(self, tick: int, given: Mapping[str, Any]) -> bool:
        if self._fields.user is None or self._fields.tuples_per_user is None:
            return False
        name, used = _name(given.get(self._fields.user)), self._used.setdefault(tick, Counter())
        used[name] += 1
        return used[name] > self._fields.tuples_per_user

    def _closed(self, tick: int) -> Window:
        self._used.pop(tick, None)
        counts = np.zeros(self._size, dtype=np.int64)
        for key, count in self._counts.pop(tick, {}).items():
            counts[key] = count
        return Window(tick, counts)


def _name(user: Any) -> str:
    """The user as text; empty, as where there is none, for what has no text. No value makes this fail."""
    try:
        return "" if user is None else str(user)
    except Exception:
        return ""


MOST_AT_ONCE = 1024
_MOST_CELLS = 2**20


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Intake:
    """The declared keys and schedule of a stream, and the counter of dropped tuples. It has no repr.

    Attributes:
        schedule: When steps close.
        fields: What is read of a tuple.
        axes: The states.
        dropped: CONFIDENTIAL. How many tuples do not count.
        key: SECRET. What draws the tuples of a user that are used, where all are there at once.
        clock: When it is.

    Raises:
        ValueError: a state is the score of a model.
    """

    schedule: Schedule
    fields: Fields
    axes: Sequence[Axis | Categories]
    dropped: Dropped
    key: bytes
    clock: Clock

    def __post_init__(self) -> None:
        if not all(isinstance(axis.column, str) for axis in self.axes):
            raise Refused("axes", "streams are counted by columns, not by models")

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that a tuple has to have."""
        user = () if self.fields.user is None else (self.fields.user,)
        return (self.fields.time, *(axis.column for axis in self.axes), *user)

    @property
    def cells(self) -> int:
        """The number of counts of a step."""
        cells = 1
        for axis in self.axes:
            cells *= axis.slots
        return cells

    @property
    def is_over(self) -> bool:
        """Tell whether the last step has closed: then no tuple is late, and all is counted before anything is shown."""
        return self.schedule.ticks is not None and self.schedule.closed_by(self.clock.now()) == self.schedule.ticks

    def batches(self, first: int, last: int) -> list[range]:
        """Steps in their order, as many at once as are stored together."""
        size = max(1, min(MOST_AT_ONCE, _MOST_CELLS // self.cells))
        return [range(start, min(start + size, last + 1)) for start in range(first, last + 1, size)]

    def open_windows(self, after: int) -> OpenWindows:
        """The windows behind the last step that was answered."""
        return OpenWindows(self.schedule, self.fields, self.axes, self.dropped, after)
