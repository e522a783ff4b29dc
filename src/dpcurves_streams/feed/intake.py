"""Declaration of a stream for its source, which counts its windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpcurves.arguments import Refused
from dpcurves.data.axis import Axis, Categories

from .clocks import Clock
from .dropped import Dropped
from .open_windows import OpenWindows
from .schedule import Fields, Schedule

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
