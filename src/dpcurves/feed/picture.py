"""Readings of a stream as a picture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Refused
from ..arrays import BoolArray
from ..display.stream_picture import draw_stream
from .reading import StepReading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_DRAWN = 8


def plot(readings: Iterable[StepReading], *, ax: Axes | None = None) -> Axes:
    """Draw the counts of a stream over time, the first 8 states of it; what was released are points behind the lines.

    Triangles mark steps in which any of the events has happened.

    Arguments:
        readings: What `follow` gave, of as many steps as are to be drawn.
        ax: Where to draw; None: in a new figure.

    Raises:
        ValueError: there is no reading.
        ImportError: matplotlib is not installed.
    """
    given = list(readings)
    if not given:
        raise Refused("readings", "at least one step is needed")
    first = given[0]
    names = [", ".join(str(value) for value in state.values()) for state in first.states[:MOST_DRAWN]]
    counts = np.array([reading.counts for reading in given])
    values = np.array([reading.values for reading in given], dtype=np.float64)
    events = np.array([_happened(reading) for reading in given])
    return draw_stream(
        [reading.begins for reading in given], {name: counts[:, key] for key, name in enumerate(names)}, first.privacy,
        released={name: values[:, key] for key, name in enumerate(names)} if values.shape == counts.shape else {},
        happened={name: events[:, key] for key, name in enumerate(names)}, ax=ax,
    )  # fmt: skip


def _happened(reading: StepReading) -> BoolArray:
    """Whether any event has, for each count."""
    happened: BoolArray = np.zeros(len(reading.counts), dtype=np.bool_)
    for event in reading.reading.events.values():
        happened |= event
    return happened
