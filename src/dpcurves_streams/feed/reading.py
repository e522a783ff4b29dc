"""Released time steps of a stream: what a step shows, a file of all steps, and plots.

    StepReading      counts, windows, events, uncounted tuples and drift of a step, from released integers
    JsonLinesFile    a sink that writes one JSON object a line, for each step and state
    plot             draws the stream over time, with intervals

After a crash, a step may be handed to a sink a second time. The file then has its lines already, perhaps with an
unfinished one at the end. The sink compares, cuts the file off at the first difference, and writes on.

Formal guarantees: post-processing of released integers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.conversation import PrivacyStatement
from dpcurves.display import RECORDS, describe_interval
from dpcurves.display.canvas import (
    LANDSCAPE,
    POPULATION_OPACITY,
    add_legend,
    deduplicate_label,
    next_style,
    prepare_axes,
    set_title,
)
from dpcurves.display.numerals import format_distinct_labels, format_legend_label

from ..readings.question import LEVEL, Interval, TimeStepNumbers
from ..readings.uncounted import UncountedReading
from .schedule import format_timestamp

if TYPE_CHECKING:
    from matplotlib.axes import Axes


KINDS = ("uncounted", "drift")
"""Field names of lines that are not counts."""


@dataclass(frozen=True, slots=True, eq=False)
class StepReading:
    """One released time step, and what was computed from its numbers.

    Attributes:
        stream: Name of the stream.
        start_timestamp: Start of the step, in microseconds since 1970.
        states: State of each count, as values of its fields.
        values: Released noisy integers, from which everything else is computed.
        reading: Counts or totals; windows, events and intervals.
        uncounted: Running totals of uncounted tuples by reason, and notes about them.
        privacy: Privacy unit, loss of all steps, and trust model.
        drift: Distance of the window that this step closes from a reference, as in `WindowDrift.to_dicts`.
    """

    stream: str
    start_timestamp: int
    states: tuple[Mapping[str, Any], ...]
    values: tuple[int, ...]
    reading: TimeStepNumbers
    uncounted: UncountedReading
    privacy: PrivacyStatement
    drift: tuple[Mapping[str, Any], ...] = ()

    @property
    def step(self) -> int:
        """Number of the step, from 1."""
        return self.reading.time_step

    @property
    def start(self) -> str:
        """Start of the step, in ISO 8601."""
        return format_timestamp(self.start_timestamp)

    @property
    def counts(self) -> FloatArray:
        """Estimated counts of this step, or running totals, (keys,)."""
        return self.reading.counts

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the lines of this step: one for each count, each reason of uncounted tuples, and each statistic of
        drift.

        A field of a state whose name is taken is written as ``state:name``.
        """
        head = {"stream": self.stream, "step": self.step, "start": self.start}
        tail: dict[str, Any] = {"where": self.privacy.where} if self.privacy.where else {}
        tail |= {"seeded": True} if self.privacy.seeded else {}
        lines = []
        for key, state in enumerate(self.states):
            numbers = {**self.reading.to_json(key), **tail}
            reserved = {*head, *numbers, *KINDS}
            fields = {f"state:{name}" if name in reserved else name: value for name, value in state.items()}
            lines.append({**head, **fields, **numbers})
        lines += [{**head, **line, **tail} for line in self.uncounted.to_dicts()]
        lines += [{**head, **line, **tail} for line in self.drift]
        return lines


class JsonLinesFile:
    """A file with one JSON object per line, for each step and state.

    Existing content stays. A step that is written again is compared with the content. From the first difference on,
    such as a line that a killed process left unfinished, the rest of the file is cut off.

    Args:
        path: The file; created if missing.

    Raises:
        ValueError: the file cannot be written.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._is_behind = True  # existing lines have not been compared yet
        try:
            self._file: BinaryIO = open(path, "a+b", buffering=0)  # noqa: SIM115 - `with` closes it
            self._file.seek(0)
        except OSError as error:
            trouble = str(error.strerror)
        else:
            return
        raise InvalidArgument(
            "json", f"the file cannot be written ({trouble}); name one in a folder where you may write"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def write(self, reading: StepReading) -> None:
        """Append the lines of one step, unless the file has them already.

        Args:
            reading: The step; steps must come in order.
        """
        lines = "".join(json.dumps(line) + "\n" for line in reading.to_dicts()).encode()
        if self._is_behind:
            start = self._file.tell()
            if self._file.read(len(lines)) == lines:
                return
            self._file.truncate(start)
            self._is_behind = False
        self._file.write(lines)


def plot(readings: Iterable[StepReading], *, window: int | None = None, ax: Axes | None = None) -> Axes:
    """Plot a stream over time: its first 8 states, with intervals for these records if at most 4 lines are drawn.

    Without `window` the lines are counts of steps, or running totals, over points of the released values. Triangles
    mark steps in which an event has happened.

    Arguments:
        readings: Steps of `follow` to be drawn.
        window: Width of the sliding window to draw, which the question must have; None: counts.
        ax: Axes to draw on; None: a new figure.

    Raises:
        ValueError: the reading has no step, or the question lacks this window.
        ImportError: matplotlib is not installed.
    """
    steps = list(readings)
    if not steps:
        raise InvalidArgument("readings", "at least one reading is needed, as in plot(list(follow(...)))")
    first = steps[0]
    if window is not None and window not in first.reading.windows:
        raise InvalidArgument(
            "window", f"must be one of the question's windows, {sorted(first.reading.windows)}; got {window}"
        )
    names = format_distinct_labels(
        [", ".join(str(value) for value in state.values()) for state in first.states[:8]]  # lines of a plot
    )
    lines = np.array([reading.counts if window is None else reading.reading.windows[window] for reading in steps])
    values = np.array([reading.values for reading in steps], dtype=np.float64)
    is_released = window is None and values.shape == lines.shape
    events = np.array([_has_any_event(reading) for reading in steps])
    bounds = _interval_bounds(steps, window) if len(names) <= 4 else []  # more intervals would hide each other
    from matplotlib import dates

    from dpcurves.display.artists import add_statement

    is_new = ax is None
    ax = prepare_axes(ax, LANDSCAPE)
    interval_text = describe_interval(LEVEL, "intervals", RECORDS)
    times = np.array([reading.start_timestamp for reading in steps], dtype="datetime64[us]")
    for key, name in enumerate(names):
        style = next_style(ax)
        line = lines[:, key]
        happened = events[:, key]
        if is_released:
            ax.plot(times, values[:, key], ".", color=style.color, alpha=0.25, markersize=3)
        for low, high in bounds:
            between = low[:, key], high[:, key]
            ax.fill_between(
                times,
                *between,
                color=style.color,
                alpha=POPULATION_OPACITY,
                linewidth=0,
                label=deduplicate_label(ax, interval_text),
            )
        ax.plot(times, line, style.dash, color=style.color, label=format_legend_label(name))
        ax.plot(times[happened], line[happened], "v", color=style.color, markersize=5)
        add_statement(ax, steps[-1].privacy, name)
    date_module: Any = dates
    ax.xaxis.set_major_formatter(date_module.ConciseDateFormatter(ax.xaxis.get_major_locator()))
    ax.set_xlabel("start of the step (UTC)")
    ax.set_ylabel(_describe_quantity(first, window))
    add_legend(ax, "best")
    return set_title(ax, f"{_describe_quantity(first, window)} of {first.stream}") if is_new else ax


def _interval_bounds(readings: Sequence[StepReading], window: int | None) -> list[Interval]:
    """Return lower and upper bounds of all intervals, (steps, keys), if there are intervals."""
    if not readings[0].reading.has_intervals:
        return []
    intervals = [
        step.reading.interval(LEVEL) if window is None else step.reading.window_interval(window, LEVEL)
        for step in readings
    ]
    return [(np.array([low for low, _ in intervals]), np.array([high for _, high in intervals]))]


def _describe_quantity(first: StepReading, window: int | None) -> str:
    """Return the axis label of the plotted counts: tuples in a window, of a step, or of all steps so far."""
    if window is not None:
        return f"tuples in the last {window} steps"
    return first.reading.QUANTITY


def _has_any_event(reading: StepReading) -> BoolArray:
    """Return True for each count with an event at this step."""
    happened: BoolArray = np.zeros(len(reading.counts), dtype=np.bool_)
    for event in reading.reading.events.values():
        happened |= event
    return happened
