"""SECRET. Windows that have not closed: tuples are counted into them one by one, and each is judged by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpcurves.data.axis import Axis, Categories

from .dropped import Dropped, Reason
from .keys import Keys, when
from .schedule import Fields, Schedule
from .window import Window

FUTURE = 10 * 60 * 1_000_000
"""How far, in microseconds, the clock of whoever sends tuples may be ahead of the one here, beside the grace."""


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
        self,
        schedule: Schedule,
        fields: Fields,
        axes: Sequence[Axis | Categories],
        dropped: Dropped,
        after: int,
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
