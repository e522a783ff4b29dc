"""Readings of a stream as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.arrays import BoolArray
from dpcurves.display import RECORDS, covering
from dpcurves.display.stream_picture import draw_stream

from ..readings import TickReading, TotalReading
from ..readings.reach import LEVEL, Interval
from .reading import StepReading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_DRAWN = 8
MOST_COVERED = 4
"""Lines that have intervals around them: more would hide one another."""


def plot(readings: Iterable[StepReading], *, window: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw a stream over time, the first 8 states of it, with intervals for these records where few lines are drawn.

    Without a window these are the counts of steps, or totals so far; what was released are points behind the lines.
    Triangles mark steps in which any of the events has happened.

    Arguments:
        readings: What `follow` gave, of as many steps as are to be drawn.
        window: Draw the sums over so many steps instead, which were asked for; None: counts.
        ax: Where to draw; None: in a new figure.

    Raises:
        ValueError: there is no reading, or the window was not asked for.
        ImportError: matplotlib is not installed.
    """
    given = list(readings)
    if not given:
        raise Refused("readings", "at least one step is needed")
    first = given[0]
    if window is not None and window not in first.reading.windows:
        raise Refused("window", f"sums over {sorted(first.reading.windows)} steps were asked for, got {window}")
    names = [", ".join(str(value) for value in state.values()) for state in first.states[:MOST_DRAWN]]
    lines = np.array([reading.counts if window is None else reading.reading.windows[window] for reading in given])
    values = np.array([reading.values for reading in given], dtype=np.float64)
    is_released = window is None and values.shape == lines.shape
    events = np.array([_happened(reading) for reading in given])
    ends = _ends(given, window) if len(names) <= MOST_COVERED else []
    return draw_stream(
        [reading.begins for reading in given], {name: lines[:, key] for key, name in enumerate(names)}, first.privacy,
        released={name: values[:, key] for key, name in enumerate(names)} if is_released else {},
        happened={name: events[:, key] for key, name in enumerate(names)},
        covered={name: (low[:, key], high[:, key]) for low, high in ends for key, name in enumerate(names)},
        words=covering(LEVEL, "intervals", RECORDS), said=_said(first, window), ax=ax,
    )  # fmt: skip


def _ends(readings: Sequence[StepReading], window: int | None) -> list[Interval]:
    """Ends of all intervals, (steps, keys), if there are any."""
    if isinstance(readings[0].reading, TickReading) and readings[0].reading.noisy is None:
        return []
    found = [
        each.reading.interval(LEVEL) if window is None else each.reading.window_interval(window, LEVEL)
        for each in readings
    ]
    return [(np.array([low for low, _ in found]), np.array([high for _, high in found]))]


def _said(first: StepReading, window: int | None) -> str:
    """The title of the drawn numbers."""
    if window is not None:
        return f"tuples in the last {window} steps"
    return "tuples so far" if isinstance(first.reading, TotalReading) else "tuples in a step"


def _happened(reading: StepReading) -> BoolArray:
    """Tell, for each count, whether any event has happened."""
    happened: BoolArray = np.zeros(len(reading.counts), dtype=np.bool_)
    for event in reading.reading.events.values():
        happened |= event
    return happened
