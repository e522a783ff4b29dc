"""SECRET. Windowing of a stream with contribution bounding: exact counts of time steps, before noise is added.

A tuple (timestamped row) belongs to the time step of its timestamp. While a step is open, its tuples are counted by
declared state, such as a ward. At most a fixed number of tuples of a user in a step are used (contribution bound, here
the cap). After the step has closed, its counts no longer change and are handed to the noise mechanism.

    OpenWindows    counts tuples as they arrive, under the cap on tuples per user
    Window         the exact counts of one closed step, and its exact numbers of uncounted tuples by reason
    DropCounts     exact numbers of dropped tuples, by reason, for the operator; never released
    StreamSpec     the declared states and the schedule of a stream
"""

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
from dpcurves.data.axis import Axis, Categories, find_input_columns

from ..queries import UncountedReason, released_reasons
from .schedule import CellFinder, Clock, Fields, Schedule, read_timestamp


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Window:
    """SECRET. Exact counts of one time step. It has no repr.

    Attributes:
        time_step: Number of the step, from 1.
        counts: Number of tuples of each key, (keys,).
        uncounted: Number of tuples, or of users, for each of `StreamSpec.reasons`, (reasons,).
    """

    time_step: int
    counts: IntArray
    uncounted: IntArray

    def clip_counts(self, cells: int, reasons: int) -> IntArray:
        """Return the exact counts, then the exact uncounted numbers, as one int64 array (cells + reasons,).

        All are clipped to the range from 0 to 2**60, so that 64-bit sums with noise do not wrap around. Clipping
        increases no difference between neighbouring streams, so the sensitivity stays.

        Args:
            cells: Expected number of counts.
            reasons: Expected number of uncounted numbers.

        Raises:
            ValueError: the counts do not have an integer type, or have the wrong shape. (A fraction would survive the
                noise.)
        """
        checked = []
        for counts, size, label in ((self.counts, cells, "counts"), (self.uncounted, reasons, "numbers of uncounted")):
            exact = np.asarray(counts)
            if exact.dtype.kind not in "iu" or exact.shape != (size,):
                raise InvalidArgument(
                    "source",
                    f"a window must have {size} {label} of an integer type; pass such an array, got one of type"
                    f" {exact.dtype} and shape {exact.shape}",
                )
            # A window counts at most 2**60 tuples.
            checked.append(np.clip(exact, 0, 2**60).astype(np.int64))
        return np.concatenate(checked)


class Windows(Protocol):
    """A source of exact keyed counts of closed windows; an engine that counts by itself, such as Spark, can be one.

    Formal guarantees: the number of windows and the times at which they come are public: they depend on the schedule
    and on clocks, not on tuples. Over all windows and keys, counts of neighbouring streams, with reasons that count
    tuples, differ by at most ``adjacency.l1_sensitivity``; the last number of a stream with a cap counts users in one
    step and differs by at most 1.
    """

    def check(self) -> None:
        """Refuse, from the header or schema alone, fields that cannot be read, before anything is charged.

        Raises:
            ValueError: a field is missing.
        """
        ...

    def windows_after(self, time_step: int) -> Iterator[Sequence[Window]]:
        """Yield the exact counts (windows) of all steps after `time_step`, in order, as the steps close.

        Several windows are yielded at once if several have closed. The iterator blocks until a window closes, and ends
        with the stream.

        Args:
            time_step: Last step that was released; 0 before the first.
        """
        ...

    def commit_windows(self, time_step: int) -> None:
        """Acknowledge the tuples of windows up to this step, whose releases are durable.

        Args:
            time_step: Last step whose release is stored.
        """
        ...


# CONFIDENTIAL. Exact numbers of uncounted tuples by reason, for the operator only, never for readers.
class DropReason(Enum):
    """Why a tuple is not counted, judged from the tuple, the public schedule and its arrival time.

    `RELEASED_REASONS` maps each reason to the reason that is released with noise. Two have none: `REPEATED` tuples were
    counted before, and `FILTERED` ones do not belong to the stream."""

    MALFORMED = "malformed"
    UNKNOWN = "of an unknown state"
    OUTSIDE = "before the start or after the end"
    LATE = "late"
    FUTURE = "from the future"
    BEYOND_CAP = "beyond what is used of a user"
    REPEATED = "delivered again"
    FILTERED = "failing the filter"


RELEASED_REASONS = {
    DropReason.MALFORMED: UncountedReason.UNREADABLE,
    DropReason.OUTSIDE: UncountedReason.OUTSIDE,
    DropReason.FUTURE: UncountedReason.OUTSIDE,
    DropReason.LATE: UncountedReason.LATE,
    DropReason.UNKNOWN: UncountedReason.OTHER_STATE,
}
"""Reason under which a tuple is counted with noise, by the exact reason why it is in no state."""
REASON_INDEX = {reason: place for place, reason in enumerate(UncountedReason)}
"""Position of each reason among the counts of a time step, after the counts of states."""


class DropCounts:
    """Exact, private counts of dropped tuples. It has no repr.

    Args:
        file: File to which they are appended as JSON lines, readable by its owner only; None: no file.

    Raises:
        ValueError: the file cannot be written.
    """

    __slots__ = ("_counts", "_file")

    def __init__(self, file: PathLike[str] | str | None = None) -> None:
        self._counts: Counter[DropReason] = Counter()
        self._file = None if file is None else os.fspath(file)
        self.write(0)

    def add(self, reason: DropReason, tuples: int = 1) -> None:
        """Add tuples to the exact count of a reason. CONFIDENTIAL.

        Args:
            reason: Why the tuples were dropped.
            tuples: Number of tuples.
        """
        self._counts[reason] += tuples

    @property
    def counts(self) -> Mapping[str, int]:
        """CONFIDENTIAL. Exact numbers of dropped tuples so far, by reason."""
        return {reason.value: self._counts[reason] for reason in DropReason}

    def write(self, time_step: int) -> None:
        """Append one JSON line to the file, with a step's number and the exact counts of dropped tuples so far.

        Without a file, nothing is done. Times of writing must not depend on tuples, so call it also for a step without
        any.

        Args:
            time_step: Number of the step that was released.

        Raises:
            ValueError: the file cannot be written.
        """
        if self._file is None:
            return
        try:
            opened = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(opened, "w", encoding="utf-8") as file:
                file.write(json.dumps({"step": time_step, **self.counts}) + "\n")
        except OSError as error:
            trouble = str(error.strerror)
        else:
            return
        raise InvalidArgument(
            "confidential_log", f"the file cannot be written ({trouble}); name one in a folder where you may write"
        )


FUTURE_MICROSECONDS = 10 * 60 * 1_000_000
"""Microseconds by which a sender's clock may be ahead of this clock, in addition to the grace period. A tuple further
ahead is not counted in its step, but as outside the stream."""


class UserTuples:
    """SECRET. The used tuples of one user in one step. It has no repr.

    Attributes:
        counted: Number of tuples in declared states, used or not.
        uncounted: Slots of the reasons of the first uncounted tuples, up to the cap.
        tuples: Number of all tuples.
    """

    __slots__ = ("counted", "tuples", "uncounted")

    def __init__(self) -> None:
        self.counted = 0
        self.tuples = 0
        self.uncounted: list[int] = []


class OpenWindows:
    """Counts of the steps that have not closed. It has no repr.

    An uncounted tuple has the first reason of `UncountedReason` that holds. It counts in the step of its timestamp; if
    the timestamp is unreadable or that step is not open, it counts in the first step that is open when it arrives,
    which is step 1 if no tuple can be late. Of a user's tuples in a step, tuples in declared states are used first,
    then uncounted tuples. A tuple that fails the filter does not belong to the stream: it is not counted and takes no
    place of another tuple. A line that cannot be parsed has no fields that could fail it, and counts as unreadable.

    Formal guarantees: whether a tuple passes the filter depends on its fields alone, so streams that differ in the
    tuples of one unit in one step do so after the filter, or are equal. The step of a tuple and its cell or reason
    depend on the public schedule, its fields and its arrival time. The used tuples of a user in a step depend only on
    the tuples of this user that count in this step: at most K, each in one cell or reason, and 1 for a user with more
    than K. Tuples with an unreadable user count as one user's. So the tuples of a unit change one window only, its
    cells and reasons by at most K in all, and the number of users beyond the cap by at most 1. No tuple can raise an
    error. All this holds for streams with equal arrival times.
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
        """Begin to count tuples in the steps after a released step, without tuples.

        Args:
            schedule: Time steps and watermarks.
            fields: Fields of a tuple.
            axes: The states.
            dropped: Counts of uncounted tuples.
            after: Last step that was released before.
            may_repeat: Whether the source may repeat tuples that it gave to an earlier process. Tuples of steps that
                closed before then count as repeated, not as late.
        """
        self._schedule = schedule
        self._fields = fields
        self._dropped = dropped
        self._after = after
        self._begun = after if may_repeat else 0
        self._keys = CellFinder(axes)
        self._size = int(np.prod([axis.slots for axis in axes]))
        self._counts: dict[int, Counter[int]] = {}
        self._used: dict[int, dict[str, UserTuples]] = {}

    def count_tuple(self, given: Mapping[str, Any] | None, arrived: int | None, *, is_dated: bool = True) -> int | None:
        """Count a tuple, or the reason why it is not counted. Return the step whose window counts it, if any.

        Args:
            given: Fields of the tuple; None if they could not be parsed.
            arrived: Arrival time; None if no tuple can be late, as in a finished file.
            is_dated: False if only the time of reading is known, not the arrival: before a crash the tuple may have
                been counted in an earlier step, unless its timestamp gives the step.

        Returns:
            Number of the time step; None if no window counts the tuple.
        """
        if given is not None and not self._keys.passes_filter(given):
            self._dropped.add(DropReason.FILTERED)
            return None
        try:
            time_step, key = self._classify_tuple(given, arrived)
        except Exception:  # fields may be arbitrary objects, whose errors may quote values
            time_step = DropReason.MALFORMED
            key = 0
        if not isinstance(time_step, DropReason):
            return self._count_in_slot(time_step, given, key)
        self._dropped.add(time_step)
        if time_step is DropReason.REPEATED:
            return None
        step = self._arrival_time_step(arrived) if is_dated else None
        if time_step is DropReason.UNKNOWN:
            step = key
        return (
            None
            if step is None
            else self._count_in_slot(step, given, self._size + REASON_INDEX[RELEASED_REASONS[time_step]])
        )

    def close_windows(self, last: int) -> list[Window]:
        """Close all open windows up to step `last`, and return them in order; empty if they were closed before.

        Args:
            last: Number of the last step to close.
        """
        time_steps = range(self._after + 1, last + 1)
        self._after = max(self._after, last)
        return [self._close_window(time_step) for time_step in time_steps]

    def _classify_tuple(self, given: Mapping[str, Any] | None, arrived: int | None) -> tuple[int | DropReason, int]:
        """Return the step and the cell of a tuple; or the reason why it is not counted.

        For a tuple of an unknown state, the reason comes with its step.

        Args:
            given: Fields of the tuple; None if they could not be parsed.
            arrived: Time of arrival, in microseconds since 1970; None in a finished source.

        Returns:
            (step, index of the cell); or (reason, step) for an unknown state; or (reason, 0).
        """
        timestamp = None if given is None else read_timestamp(given.get(self._fields.time))
        if given is None or timestamp is None:
            return DropReason.MALFORMED, 0
        time_step = self._schedule.time_step_at(timestamp)
        key = self._keys.find_cell(given)
        reason = self._find_time_reason(timestamp, time_step, arrived)
        if reason is not None or time_step is None:
            return reason or DropReason.OUTSIDE, 0
        return (DropReason.UNKNOWN, time_step) if key is None else (time_step, key)

    def _find_time_reason(self, timestamp: int, time_step: int | None, arrived: int | None) -> DropReason | None:
        """Return why a tuple's timestamp, step or arrival time excludes it; None if it counts in its step.

        Args:
            timestamp: Time of the tuple, in microseconds since 1970.
            time_step: Its step; None if it lies outside the stream.
            arrived: Time of arrival, in microseconds since 1970; None in a finished source.
        """
        if time_step is None:
            return DropReason.OUTSIDE
        if arrived is not None and timestamp > arrived + self._schedule.grace + FUTURE_MICROSECONDS:
            return DropReason.FUTURE
        if arrived is not None and arrived >= self._schedule.closing_time(time_step):
            return DropReason.REPEATED if time_step <= self._begun else DropReason.LATE
        return DropReason.REPEATED if time_step <= self._after else None

    def _arrival_time_step(self, arrived: int | None) -> int | None:
        """Return the first step that was still open when a tuple arrived, in which a late or undated tuple is counted.

        Args:
            arrived: Arrival time in microseconds since 1970; None counts as before the first window closed.

        Returns:
            Number of the step; None if that step was released already, or all steps had closed.
        """
        step = 1 if arrived is None else self._schedule.last_closed_time_step(arrived) + 1
        is_over = self._schedule.time_steps is not None and step > self._schedule.time_steps
        return None if step <= self._after or is_over else step

    def _count_in_slot(self, step: int, given: Mapping[str, Any] | None, slot: int) -> int:
        """Count a tuple in its cell, or under its reason for not being counted, within the cap on tuples per user.

        Args:
            step: The step.
            given: Fields of the tuple, by which the user is found; None if they could not be parsed.
            slot: Index of the cell; from the number of cells on, of a reason.

        Returns:
            The step.
        """
        cap = self._fields.tuples_per_user
        if self._fields.user is None or cap is None:
            self._counts.setdefault(step, Counter())[slot] += 1
            return step
        user_tuples = self._used.setdefault(step, {}).setdefault(_user_of(given, self._fields.user), UserTuples())
        user_tuples.tuples += 1
        if slot >= self._size:
            if len(user_tuples.uncounted) < cap:
                user_tuples.uncounted.append(slot)
            return step
        user_tuples.counted += 1
        if user_tuples.counted <= cap:
            self._counts.setdefault(step, Counter())[slot] += 1
        else:
            self._dropped.add(DropReason.BEYOND_CAP)
        return step

    def _close_window(self, time_step: int) -> Window:
        """SECRET: return the exact counts of a step that ends, and delete them from memory.

        A user's uncounted tuples are counted only up to the remainder of the cap on tuples per user.

        Args:
            time_step: Number of the step, from 1.

        Returns:
            Counts of the cells, and numbers of uncounted tuples by reason; zeros for a step without tuples.
        """
        slots = self._counts.pop(time_step, Counter())
        cap = self._fields.tuples_per_user
        counts = np.zeros(self._size + len(released_reasons(cap is not None)), dtype=np.int64)
        for user_tuples in self._used.pop(time_step, {}).values():
            slots.update(user_tuples.uncounted[: max((cap or 0) - user_tuples.counted, 0)])
            slots[self._size + REASON_INDEX[UncountedReason.BEYOND_CAP]] += user_tuples.tuples > (cap or 0)
        for slot, count in slots.items():
            if count:
                counts[slot] = count
        return Window(time_step, counts[: self._size], counts[self._size :])


def _user_of(given: Mapping[str, Any] | None, field: str) -> str:
    """Return the user of a tuple as text; empty if it cannot be read. It never raises.

    Args:
        given: Fields of the tuple by name; None: the tuple is unreadable.
        field: Name of the field of the user.
    """
    try:
        return "" if given is None else _user_text(given.get(field))
    except Exception:
        return ""


def _user_text(user: Any) -> str:
    """Return the user as text; empty for None and for values without text. It never raises.

    Args:
        user: Value of the field of users.
    """
    try:
        return "" if user is None else str(user)
    except Exception:
        return ""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class StreamSpec:
    """Declared states and schedule of a stream, and the counter of dropped tuples. It has no repr.

    Attributes:
        schedule: Time steps and watermarks.
        fields: Fields of a tuple.
        axes: The states.
        drop_counts: CONFIDENTIAL. Exact numbers of uncounted tuples.
        key: SECRET. Key that selects a user's used tuples in finished tables.
        clock: The clock.

    Raises:
        ValueError: a state is the score of a model, or the filter or an expression is invalid.
    """

    schedule: Schedule
    fields: Fields
    axes: Sequence[Axis | Categories]
    drop_counts: DropCounts
    key: bytes
    clock: Clock

    def __post_init__(self) -> None:
        if not all(isinstance(axis.column, str) for axis in self.axes):
            raise InvalidArgument("axes", "streams are counted by columns, not by models; name a column")

    def find_field_names(self, header: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the fields that a tuple must have.

        These are the timestamp, the user if there is one, and what the states and the filter read. A name of the header
        is not an expression, even if it contains operators.

        Args:
            header: Names of all fields of the source.
        """
        user = () if self.fields.user is None else (self.fields.user,)
        states = (name for axis in self.axes for name in find_input_columns(axis, header))
        return tuple(dict.fromkeys((self.fields.time, *states, *user)))

    @property
    def cells(self) -> int:
        """Number of counts of a step: the product of the numbers of cells of all axes."""
        cells = 1
        for axis in self.axes:
            cells *= axis.slots
        return cells

    @property
    def reasons(self) -> tuple[UncountedReason, ...]:
        """Reasons for not counting a tuple of which the numbers of tuples are released, in the order of
        `Window.uncounted`.
        """
        return released_reasons(self.fields.user is not None)

    @property
    def is_over(self) -> bool:
        """True if the stream has an end and its last step has closed by now, so that no tuple can be late any more."""
        return (
            self.schedule.time_steps is not None
            and self.schedule.last_closed_time_step(self.clock.now()) == self.schedule.time_steps
        )

    def batch_time_steps(self, first: int, last: int) -> list[range]:
        """Split the steps from `first` to `last`, both included, into consecutive batches that are stored together.

        A batch has at most 1,024 steps, and fewer if a step has many counts. Nothing is yielded if `first` is after
        `last`.

        Args:
            first: Number of the first step.
            last: Number of the last step.
        """
        # 2**20: counts that are stored together
        size = max(1, min(1024, 2**20 // self.cells))  # steps stored together
        return [range(start, min(start + size, last + 1)) for start in range(first, last + 1, size)]

    def open_windows(self, after: int, *, may_repeat: bool = False) -> OpenWindows:
        """Return empty open windows for the steps after `after`, the last released one.

        Args:
            after: Last step that was released; 0 before the first.
            may_repeat: Whether the source may repeat tuples that it gave to an earlier process; tuples of earlier
                steps then count as repeated, not as late.
        """
        return OpenWindows(self.schedule, self.fields, self.axes, self.drop_counts, after, may_repeat=may_repeat)
