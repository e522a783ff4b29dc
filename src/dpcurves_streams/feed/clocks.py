"""Clocks of streams: the system's, or one that a test sets."""

from __future__ import annotations

from dataclasses import dataclass
from time import time_ns
from typing import Protocol


class Clock(Protocol):
    """Something that says what time it is. It decides when windows close, so it must not depend on tuples."""

    def now(self) -> int:
        """Microseconds since 1970."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The clock of this machine."""

    def now(self) -> int:
        """Microseconds since 1970."""
        return time_ns() // 1000
