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

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import IntArray
from dpcurves.data.axis import Axis, Categories

from ..queries import UncountedReason, released_reasons
from .schedule import CellFinder, Clock, Fields, Schedule, read_timestamp

MOST = 2**60


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Window:
    """SECRET. The exact counts of one step. It has no repr.

    Attributes:
        tick: The number of the step, from 1 on.
        counts: How many tuples each key has, (keys,).
        uncounted: How many tuples, or users, each of `StreamSpec.reasons` has, (reasons,).
    """

    tick: int
    counts: IntArray
    uncounted: IntArray

    def clip_counts(self, cells: int, reasons: int) -> IntArray:
        """Counts and what is not counted, (cells + reasons,), from 0 to 2**60.

        What lies outside is taken to be the nearer end, so no tuple moves more.

        Raises:
            ValueError: they are not whole by their type, or not one a cell. (A fraction would be seen through noise.)
        """
        checked = []
        for counts, size, what in ((self.counts, cells, "counts"), (self.uncounted, reasons, "numbers of uncounted")):
            exact = np.asarray(counts)
            if exact.dtype.kind not in "iu" or exact.shape != (size,):
                raise InvalidArgument("source", f"a window has {size} {what} that are whole numbers by their type")
            checked.append(np.clip(exact, 0, MOST).astype(np.int64))
        return np.concatenate(checked)


class Windows(Protocol):
    """A source: exact keyed counts of windows that have closed. An engine that counts by itself, as Spark, is one.

    Formal guarantees: how many windows come, and when, is public: it depends on the schedule and on clocks, not on
    tuples. Counts of neighbouring streams, with reasons that count tuples, differ by at most
    ``adjacency.l1_sensitivity`` over all windows and keys; the last number of a stream with a cap counts users in one
    step, and differs by at most 1.
    """

    def check(self) -> None:
        """Refuse what cannot be read, by its header or schema alone: before anything is charged.

        Raises:
            ValueError: a field is not there.
        """
        ...

    def windows_after(self, tick: int) -> Iterator[Sequence[Window]]:
        """Iterate over later windows in order, none left out, as they close; several where several have."""
        ...

    def commit_windows(self, tick: int) -> None:
        """Forget what windows up to this one were counted from: their answers are durable."""
        ...


# CONFIDENTIAL. How many tuples were not counted, and why: for the operator alone, never for readers.
class DropReason(Enum):
    """Why a tuple is not counted. Each is judged by itself, by the public schedule and by when it arrived.

    `RELEASED` has the reason that is released, with noise, for each of these but `REPEATED`: what is delivered again
    was counted before.
    """

    MALFORMED = "malformed"
    UNKNOWN = "of an unknown state"
    OUTSIDE = "before the start or after the end"
    LATE = "late"
    FUTURE = "from the future"
    BEYOND_CAP = "beyond what is used of a user"
    REPEATED = "delivered again"


RELEASED = {
    DropReason.MALFORMED: UncountedReason.UNREADABLE,
    DropReason.OUTSIDE: UncountedReason.OUTSIDE,
    DropReason.FUTURE: UncountedReason.OUTSIDE,
    DropReason.LATE: UncountedReason.LATE,
    DropReason.UNKNOWN: UncountedReason.OTHER_STATE,
}
PLACE_OF = {reason: place for place, reason in enumerate(UncountedReason)}


class DropCounts:
    """Counts of dropped tuples. It has no repr; what it counted is exact, and private.

    Args:
        file: Where they are appended to as JSON lines, readable by its owner alone; None: nowhere.

    Raises:
        ValueError: the file cannot be written.
    """

    __slots__ = ("_counts", "_file")

    def __init__(self, file: PathLike[str] | str | None = None) -> None:
        self._counts: Counter[DropReason] = Counter()
        self._file = None if file is None else os.fspath(file)
        self.write(0)

    def add(self, reason: DropReason, tuples: int = 1) -> None:
        """Count some more."""
        self._counts[reason] += tuples

    @property
    def counts(self) -> Mapping[str, int]:
        """CONFIDENTIAL. How many so far, by reason."""
        return {reason.value: self._counts[reason] for reason in DropReason}

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
        raise InvalidArgument("confidential_log", f"it cannot be written ({trouble})")


FUTURE = 10 * 60 * 1_000_000
"""The most microseconds that a sender's clock may be ahead of this one, beside the grace."""


class UserTuples:
    """SECRET. What is used of one user in one step. It has no repr.

    Attributes:
        counted: How many tuples are in a declared state, whether or not they are used.
        uncounted: The places of the reasons of the first tuples that are in none: as many as may be used.
        tuples: How many there are in all.
    """

    __slots__ = ("counted", "tuples", "uncounted")

    def __init__(self) -> None:
        self.counted, self.tuples = 0, 0
        self.uncounted: list[int] = []


class OpenWindows:
    """Counts of the steps that have not closed. It has no repr.

    A tuple that is not counted has the first reason of `UncountedReason` that holds. It counts in the step of its time; where
    that cannot be read, or is not open, in the first step that is open when it arrives, which is step 1 where all that
    came was in time. Of a user in a step, tuples in declared states are used first, then those that have a reason.

    Formal guarantees: the step that a tuple counts in, and its cell or reason, depend on the public schedule, on its
    fields and on when it arrived. What is used of a user in a step depends on the tuples of the same user that count in
    the same step alone: K of them at most, each in one cell or reason, and 1 for a user with more than K. Tuples whose
    user cannot be read are one user's. So tuples of a unit change one window alone, its cells and reasons by K in all,
    and the number of users beyond the cap by 1. No tuple makes this fail. This holds for streams that arrive alike.

    Args:
        schedule: When steps close.
        fields: What is read of a tuple.
        axes: The states.
        dropped: Where tuples that are not counted are.
        after: The last step that was answered before.
        may_repeat: Whether the source may give tuples again that it gave to a process before this one: then one of a
            step that closed before is taken for one of these, not for a late one.
    """

    __slots__ = ("_after", "_begun", "_counts", "_dropped", "_fields", "_keys", "_schedule", "_size", "_used")

    def __init__(
        self,
        schedule: Schedule,
        fields: Fields,
        axes: Sequence[Axis | Categories],
        dropped: DropCounts,
        after: int,
        *,
        may_repeat: bool = False,
    ) -> None:
        self._schedule, self._fields, self._dropped, self._after = schedule, fields, dropped, after
        self._begun = after if may_repeat else 0
        self._keys, self._size = CellFinder(axes), int(np.prod([axis.slots for axis in axes]))
        self._counts: dict[int, Counter[int]] = {}
        self._used: dict[int, dict[str, UserTuples]] = {}

    def count_tuple(self, given: Mapping[str, Any] | None, arrived: int | None, *, is_dated: bool = True) -> int | None:
        """Count a tuple, or the reason why it is not counted. Returns the step whose window has it, if any has.

        Arguments:
            given: Its fields; None where they could not be read.
            arrived: When it came; None where all that came was in time, as in a file that is finished.
            is_dated: False if it is not known when it came, but only when it was read: then it may have been counted
                in an earlier step before a crash, unless its own time says the step.
        """
        try:
            tick, key = self._classify_tuple(given, arrived)
        except Exception:  # fields may be objects of any kind, which raise what they like, and may say what they hold
            tick, key = DropReason.MALFORMED, 0
        if not isinstance(tick, DropReason):
            return self._count_in_slot(tick, given, key)
        self._dropped.add(tick)
        if tick is DropReason.REPEATED:
            return None
        step = key if tick is DropReason.UNKNOWN else self._arrival_tick(arrived) if is_dated else None
        return None if step is None else self._count_in_slot(step, given, self._size + PLACE_OF[RELEASED[tick]])

    def close_windows(self, last: int) -> list[Window]:
        """Close windows up to this one; nothing of them is kept."""
        ticks = range(self._after + 1, last + 1)
        self._after = max(self._after, last)
        return [self._close_window(tick) for tick in ticks]

    def _classify_tuple(self, given: Mapping[str, Any] | None, arrived: int | None) -> tuple[int | DropReason, int]:
        """The step and the place of a tuple, or why it does not count; with an unknown state, its step for a place."""
        moment = None if given is None else read_timestamp(given.get(self._fields.time))
        if given is None or moment is None:
            return DropReason.MALFORMED, 0
        tick, key = self._schedule.tick_at(moment), self._keys.find_cell(given)
        reason = self._find_time_reason(moment, tick, arrived)
        if reason is not None or tick is None:
            return reason or DropReason.OUTSIDE, 0
        return (DropReason.UNKNOWN, tick) if key is None else (tick, key)

    def _find_time_reason(self, moment: int, tick: int | None, arrived: int | None) -> DropReason | None:
        if tick is None:
            return DropReason.OUTSIDE
        if arrived is not None and moment > arrived + self._schedule.grace + FUTURE:
            return DropReason.FUTURE
        if arrived is not None and arrived >= self._schedule.closing_time(tick):
            return DropReason.REPEATED if tick <= self._begun else DropReason.LATE
        return DropReason.REPEATED if tick <= self._after else None

    def _arrival_tick(self, arrived: int | None) -> int | None:
        """The first step that was open when a tuple arrived; None if it was answered, or all had closed."""
        step = 1 if arrived is None else self._schedule.last_closed_tick(arrived) + 1
        is_over = self._schedule.ticks is not None and step > self._schedule.ticks
        return None if step <= self._after or is_over else step

    def _count_in_slot(self, step: int, given: Mapping[str, Any] | None, slot: int) -> int:
        """Count a tuple in a slot of a step, a cell or a reason, within what is used of its user."""
        most = self._fields.tuples_per_user
        if self._fields.user is None or most is None:
            self._counts.setdefault(step, Counter())[slot] += 1
            return step
        used = self._used.setdefault(step, {}).setdefault(_user_of(given, self._fields.user), UserTuples())
        used.tuples += 1
        if slot >= self._size:
            if len(used.uncounted) < most:
                used.uncounted.append(slot)
            return step
        used.counted += 1
        if used.counted <= most:
            self._counts.setdefault(step, Counter())[slot] += 1
        else:
            self._dropped.add(DropReason.BEYOND_CAP)
        return step

    def _close_window(self, tick: int) -> Window:
        slots, most = self._counts.pop(tick, Counter()), self._fields.tuples_per_user
        counts = np.zeros(self._size + len(released_reasons(most is not None)), dtype=np.int64)
        for used in self._used.pop(tick, {}).values():
            slots.update(used.uncounted[: max((most or 0) - used.counted, 0)])
            slots[self._size + PLACE_OF[UncountedReason.BEYOND_CAP]] += used.tuples > (most or 0)
        for slot, count in slots.items():
            if count:
                counts[slot] = count
        return Window(tick, counts[: self._size], counts[self._size :])


def _user_of(given: Mapping[str, Any] | None, field: str) -> str:
    """Whose a tuple is; empty where that cannot be read. No value makes this fail."""
    try:
        return "" if given is None else _user_text(given.get(field))
    except Exception:
        return ""


def _user_text(user: Any) -> str:
    """The user as text; empty, as where there is none, for what has no text. No value makes this fail."""
    try:
        return "" if user is None else str(user)
    except Exception:
        return ""


MOST_AT_ONCE = 1024
_MOST_CELLS = 2**20


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class StreamSpec:
    """The declared keys and schedule of a stream, and the counter of dropped tuples. It has no repr.

    Attributes:
        schedule: When steps close.
        fields: What is read of a tuple.
        axes: The states.
        drop_counts: CONFIDENTIAL. How many tuples do not count.
        key: SECRET. What draws the tuples of a user that are used, where all are there at once.
        clock: When it is.

    Raises:
        ValueError: a state is the score of a model.
    """

    schedule: Schedule
    fields: Fields
    axes: Sequence[Axis | Categories]
    drop_counts: DropCounts
    key: bytes
    clock: Clock

    def __post_init__(self) -> None:
        if not all(isinstance(axis.column, str) for axis in self.axes):
            raise InvalidArgument("axes", "streams are counted by columns, not by models")

    @property
    def field_names(self) -> tuple[str, ...]:
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
    def reasons(self) -> tuple[UncountedReason, ...]:
        """The reasons that are released, in the order of numbers of a window: with a cap, also users beyond it."""
        return released_reasons(self.fields.user is not None)

    @property
    def is_over(self) -> bool:
        """Tell whether the last step has closed: then no tuple is late, and all is counted before anything is shown."""
        return (
            self.schedule.ticks is not None and self.schedule.last_closed_tick(self.clock.now()) == self.schedule.ticks
        )

    def batch_ticks(self, first: int, last: int) -> list[range]:
        """Steps in their order, as many at once as are stored together."""
        size = max(1, min(MOST_AT_ONCE, _MOST_CELLS // self.cells))
        return [range(start, min(start + size, last + 1)) for start in range(first, last + 1, size)]

    def open_windows(self, after: int, *, may_repeat: bool = False) -> OpenWindows:
        """The windows behind the last step that was answered."""
        return OpenWindows(self.schedule, self.fields, self.axes, self.drop_counts, after, may_repeat=may_repeat)
