"""Base of questions about a stream: windows and events, read from the same release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcurves.arguments import Refused, make_each_whole, require_kind
from dpcurves.queries import TickQuery

from .events import Event, Jump, Low


class StreamQuestion:
    """A question with windows and events.

    Raises:
        TypeError: an event is none.
        ValueError: two events have one name, a window has no tick, or what is asked cannot be.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def windows(self) -> tuple[int, ...]: ...

        @property
        def events(self) -> tuple[Jump | Low | Event, ...]: ...

        @property
        def query(self) -> TickQuery: ...

    def __post_init__(self) -> None:
        make_each_whole(self, windows="windows")
        if any(window < 1 for window in self.windows):
            raise Refused("windows", f"widths of at least 1 tick are needed, got {min(self.windows)}")
        for event in self.events:
            require_kind("events", event, (Jump, Low, Event), "a Jump, a Low or an Event")
        if len({event.name for event in self.events}) < len(self.events):
            raise Refused("events", "each has a name of its own")
        _ = self.query  # refuses what cannot be asked

    @property
    def widths(self) -> tuple[int, ...]:
        """Windows of which sums are needed: those that are asked for, and those of low signals."""
        return tuple(sorted({*self.windows, *(event.width for event in self.events if isinstance(event, Low))}))
