"""When the steps of a stream begin and close, and which fields of a tuple are read. Public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpcurves.arguments import Refused, make_whole, require_kind
from dpcurves.privacy import EACH_RECORD, AddRemove, Unit

from .moments import moment, span, written


@dataclass(frozen=True, slots=True, init=False)
class Schedule:
    """Steps of event time: step k ends at ``start + k * every``, and closes `grace` later, whether or not tuples came.

    Attributes:
        start: When step 1 begins, in microseconds since 1970.
        every: How long a step is, in microseconds.
        end: When the last step ends; None: never.
        grace: How long a step waits for tuples that come late, in microseconds.

    Raises:
        ValueError: the step has no length, or the end is no whole number of steps after the start.

    >>> Schedule("2026-03-01", "5m", end="2026-03-02").ticks
    288
    """

    start: int
    every: int
    end: int | None
    grace: int

    def __init__(self, start: Any, every: Any, end: Any = None, grace: Any = 0) -> None:
        object.__setattr__(self, "start", moment("start", start))
        object.__setattr__(self, "every", span("every", every))
        object.__setattr__(self, "end", None if end is None else moment("end", end))
        object.__setattr__(self, "grace", span("grace", grace))
        if self.every <= 0:
            raise Refused("every", "a step needs a length above 0")
        if self.grace < 0:
            raise Refused("grace", "a wait of at least 0 is needed")
        if self.end is not None and (self.end <= self.start or (self.end - self.start) % self.every):
            raise Refused("end", "a whole number of steps after start is needed")

    @property
    def ticks(self) -> int | None:
        """The number of steps; None: no end is known."""
        return None if self.end is None else (self.end - self.start) // self.every

    def begins(self, tick: int) -> int:
        """When a step begins."""
        return self.start + (tick - 1) * self.every

    def closes(self, tick: int) -> int:
        """When a step closes: from then on nothing is folded in."""
        return self.start + tick * self.every + self.grace

    def tick_of(self, when: int) -> int | None:
        """The step of a moment; None before the first one and after the last one."""
        tick = (when - self.start) // self.every + 1
        return tick if tick >= 1 and (self.ticks is None or tick <= self.ticks) else None

    def closed_by(self, when: int) -> int:
        """The last step that has closed by this moment; 0: none has."""
        last = max(0, (when - self.start - self.grace) // self.every)
        return last if self.ticks is None else min(last, self.ticks)

    def __str__(self) -> str:
        end = "" if self.end is None else f" to {written(self.end)}"
        return f"{written(self.start)}{end} every {self.every / 1e6:g} s, closed {self.grace / 1e6:g} s later"


@dataclass(frozen=True, slots=True)
class Fields:
    """Names of the fields of a tuple that hold its time and its unit. (Fields of its state are named by the question.)

    Formal guarantees: without `user`, neighbouring streams differ by one tuple. With it they differ by all tuples of
    one user in one step, of which at most `tuples_per_user` are used. What a user does in w steps is protected w times
    less, and a tuple that moves to another state or step is one that goes and one that comes.

    Attributes:
        time: When: ISO 8601, in UTC where it does not say, or seconds since 1970.
        user: Whose tuple it is; None: each tuple is protected on its own. Tuples without a user are one user's.
        tuples_per_user: How many tuples of one user in one step are used.

    Raises:
        ValueError: one of `user` and `tuples_per_user` is given alone, or fewer than 1 tuple is used.
    """

    time: str = "time"
    user: str | None = None
    tuples_per_user: int | None = None

    def __post_init__(self) -> None:
        require_kind("time", self.time, str, "the name of a field")
        if (self.user is None) != (self.tuples_per_user is None):
            raise Refused("tuples_per_user", "give it together with user, or neither")
        if self.user is not None:
            require_kind("user", self.user, str, "the name of a field")
            make_whole(self, tuples_per_user="tuples_per_user")
        _ = self.adjacency

    @property
    def adjacency(self) -> AddRemove:
        """The neighbouring relation of streams."""
        if self.user is None or self.tuples_per_user is None:
            return AddRemove(EACH_RECORD)
        if self.tuples_per_user < 1:
            raise Refused("tuples_per_user", f"at least 1 tuple of a user is used, got {self.tuples_per_user}")
        return AddRemove(Unit(f"{self.user} in one step", self.tuples_per_user))
