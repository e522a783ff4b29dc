"""Pictures of streams: lines for what was read, points for what was released."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.arrays import BoolArray
from dpcurves.display import RECORDS, covering
from dpcurves.display.canvas import LANDSCAPE, PALE, canvas, explain, next_style, once
from dpcurves.display.numerals import lettering

from ..readings.question import LEVEL, Interval
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
    from matplotlib import dates

    from dpcurves.display.artists import sign

    ax, words = canvas(ax, LANDSCAPE), covering(LEVEL, "intervals", RECORDS)
    times = np.array([reading.begins for reading in given], dtype="datetime64[us]")
    for key, name in enumerate(names):
        style, line, happened = next_style(ax), lines[:, key], events[:, key]
        if is_released:
            ax.plot(times, values[:, key], ".", color=style.color, alpha=0.25, markersize=3)
        for low, high in ends:
            between = low[:, key], high[:, key]
            ax.fill_between(times, *between, color=style.color, alpha=PALE, linewidth=0, label=once(ax, words))
        ax.plot(times, line, style.dash, color=style.color, label=lettering(name))
        ax.plot(times[happened], line[happened], "v", color=style.color, markersize=5)
        sign(ax, first.privacy, name)
    untyped: Any = dates
    ax.xaxis.set_major_formatter(untyped.ConciseDateFormatter(ax.xaxis.get_major_locator()))
    ax.set_xlabel("start of the step (UTC)")
    ax.set_ylabel(_said(first, window))
    explain(ax, "best")
    return ax


def _ends(readings: Sequence[StepReading], window: int | None) -> list[Interval]:
    """Ends of all intervals, (steps, keys), if there are any."""
    if not readings[0].reading.is_covered:
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
    return first.reading.MEASURED


def _happened(reading: StepReading) -> BoolArray:
    """Tell, for each count, whether any event has happened."""
    happened: BoolArray = np.zeros(len(reading.counts), dtype=np.bool_)
    for event in reading.reading.events.values():
        happened |= event
    return happened
