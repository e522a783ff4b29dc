"""What is shown of one step of a stream. Public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..data.axis import Axis, Categories
from ..streams import TickReading
from .moments import written


@dataclass(frozen=True, slots=True, eq=False)
class StepReading:
    """One step: when it was, and what was read of it.

    Attributes:
        stream: The name of the stream.
        begins: When the step began, in microseconds since 1970.
        axes: The states.
        values: The noisy integers that were released, which all else was read from.
        reading: Counts, windows and events.
        seeded: Whether the noise can be drawn again: then nothing is private.
    """

    stream: str
    begins: int
    axes: tuple[Axis | Categories, ...]
    values: tuple[int, ...]
    reading: TickReading
    seeded: bool

    @property
    def step(self) -> int:
        """Its number, from 1 on."""
        return self.reading.tick

    @property
    def start(self) -> str:
        """When it began, in ISO 8601."""
        return written(self.begins)

    @property
    def counts(self) -> FloatArray:
        """Estimates of the counts, (keys,)."""
        return self.reading.counts

    def states(self) -> list[dict[str, Any]]:
        """What each count is of: the values of its fields."""
        places = np.unravel_index(np.arange(len(self.counts)), [axis.slots for axis in self.axes])
        columns = [[_named(axis, slot) for slot in slots] for axis, slots in zip(self.axes, places, strict=True)]
        return [dict(zip((axis.column for axis in self.axes), row, strict=True)) for row in zip(*columns, strict=True)]

    def lines(self, states: Sequence[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
        """One plain object for each count; `states` where they are known already."""
        head = {"stream": self.stream, "step": self.step, "start": self.start}
        tail = {"seeded": True} if self.seeded else {}
        named = self.states() if states is None else states
        return [{**head, **state, **self.reading.to_json(key), **tail} for key, state in enumerate(named)]


def _named(axis: Axis | Categories, slot: int) -> Any:
    return axis.values[slot] if isinstance(axis, Categories) else float(axis.grid.edges[slot])
