"""The public reading of a step of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcurves.arrays import FloatArray
from dpcurves.data.axis import Axis, Categories
from dpcurves.release import PrivacyStatement

from ..readings import Aggregated, Counts, Groups, PrunedStates, TickReading, TotalReading, Totals
from .moments import written

Question = Counts | Groups | Aggregated | PrunedStates | Totals


@dataclass(frozen=True, slots=True, eq=False)
class StepReading:
    """A step: its time, and the reading of its released counts.

    Attributes:
        stream: The name of the stream.
        begins: When the step began, in microseconds since 1970.
        states: What each count is of: the values of its fields.
        values: The noisy integers that were released, which all else was read from.
        reading: Counts, or totals; windows, events and intervals.
        privacy: Who is protected, how much is lost over all steps, and who made it.
    """

    stream: str
    begins: int
    states: tuple[Mapping[str, Any], ...]
    values: tuple[int, ...]
    reading: TickReading | TotalReading
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
        """Estimates of the counts, or of the totals, (keys,)."""
        return self.reading.counts

    def lines(self) -> list[dict[str, Any]]:
        """A plain object for each count; a field whose name is taken is written ``state:name``."""
        head = {"stream": self.stream, "step": self.step, "start": self.start}
        tail = {"seeded": True} if self.privacy.seeded else {}
        found = []
        for key, state in enumerate(self.states):
            read = {**self.reading.to_json(key), **tail}
            fields = {f"state:{name}" if name in head or name in read else name: value for name, value in state.items()}
            found.append({**head, **fields, **read})
        return found


def states_of(question: Question) -> tuple[dict[str, Any], ...]:
    """The labels of the counts: the values of their fields, or the name of an aggregation."""
    if isinstance(question, Aggregated | PrunedStates):
        return tuple({question.column: name} for name in question.names)
    axes = question.axes
    places = np.unravel_index(np.arange(question.query.keys), [axis.slots for axis in axes])
    columns = [[_named(axis, slot) for slot in slots] for axis, slots in zip(axes, places, strict=True)]
    names = [str(axis.column) for axis in axes]
    states = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    forest = None if isinstance(question, Counts) else question.forest
    above = [] if forest is None else [{names[0]: name} for name in forest.names]
    return (*above, *states)


def _named(axis: Axis | Categories, slot: int) -> Any:
    return axis.values[slot] if isinstance(axis, Categories) else float(axis.grid.edges[slot])
