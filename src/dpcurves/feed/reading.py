"""What is shown of one step of a stream. Public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..data.axis import Axis, Categories
from ..release import PrivacyStatement
from ..stream_readings import Aggregated, Counts, Groups, TickReading
from .moments import written


@dataclass(frozen=True, slots=True, eq=False)
class StepReading:
    """One step: when it was, and what was read of it.

    Attributes:
        stream: The name of the stream.
        begins: When the step began, in microseconds since 1970.
        states: What each count is of: the values of its fields.
        values: The noisy integers that were released, which all else was read from.
        reading: Counts, windows and events.
        privacy: Who is protected, how much is lost over all steps, and who made it.
    """

    stream: str
    begins: int
    states: tuple[Mapping[str, Any], ...]
    values: tuple[int, ...]
    reading: TickReading
    privacy: PrivacyStatement

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

    def lines(self) -> list[dict[str, Any]]:
        """One plain object for each count."""
        head = {"stream": self.stream, "step": self.step, "start": self.start}
        tail = {"seeded": True} if self.privacy.seeded else {}
        return [{**head, **state, **self.reading.to_json(key), **tail} for key, state in enumerate(self.states)]


def states_of(question: Counts | Groups | Aggregated) -> tuple[dict[str, Any], ...]:
    """What each count is of: the values of its fields."""
    if isinstance(question, Aggregated):
        return tuple({question.column: name} for name in question.names)
    axes = question.axes
    places = np.unravel_index(np.arange(question.query.keys), [axis.slots for axis in axes])
    columns = [[_named(axis, slot) for slot in slots] for axis, slots in zip(axes, places, strict=True)]
    names = [str(axis.column) for axis in axes]
    return tuple(dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def _named(axis: Axis | Categories, slot: int) -> Any:
    return axis.values[slot] if isinstance(axis, Categories) else float(axis.grid.edges[slot])
