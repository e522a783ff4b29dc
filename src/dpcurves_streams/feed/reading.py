"""Released steps of a stream: their public reading, sinks that store each step exactly once, and plots."""

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
from dpcurves.display.canvas import LANDSCAPE, PALE, add_legend, deduplicate_label, next_style, prepare_axes
from dpcurves.display.numerals import format_distinct_labels, format_legend_label

from ..readings.question import LEVEL, Interval, TickNumbers
from ..readings.uncounted import UncountedReading
from .schedule import format_timestamp

if TYPE_CHECKING:
    from matplotlib.axes import Axes


KINDS = ("uncounted", "drift")
"""Names that tell a line that is no count."""


@dataclass(frozen=True, slots=True, eq=False)
class StepReading:
    """A step: its time, and the reading of its released counts.

    Attributes:
        stream: The name of the stream.
        start_timestamp: When the step began, in microseconds since 1970.
        states: What each count is of: the values of its fields.
        values: The noisy integers that were released, which all else was read from.
        reading: Counts, or totals; windows, events and intervals.
        uncounted: How many tuples were not counted so far, by reason, and notes on that.
        privacy: Who is protected, how much is lost over all steps, and who made it.
        drift: Plain objects on how far the window that it closes is from a reference, as `WindowDrift.to_dicts` has them.
    """

    stream: str
    start_timestamp: int
    states: tuple[Mapping[str, Any], ...]
    values: tuple[int, ...]
    reading: TickNumbers
    uncounted: UncountedReading
    privacy: PrivacyStatement
    drift: tuple[Mapping[str, Any], ...] = ()

    @property
    def step(self) -> int:
        """Its number, from 1 on."""
        return self.reading.tick

    @property
    def start(self) -> str:
        """When it began, in ISO 8601."""
        return format_timestamp(self.start_timestamp)

    @property
    def counts(self) -> FloatArray:
        """Estimates of the counts, or of the totals, (keys,)."""
        return self.reading.counts

    def to_dicts(self) -> list[dict[str, Any]]:
        """A plain object for each count, for each reason why tuples are not counted, and for each statistic of drift.

        A field whose name is taken is written ``state:name``.
        """
        head = {"stream": self.stream, "step": self.step, "start": self.start}
        tail = {"seeded": True} if self.privacy.seeded else {}
        found = []
        for key, state in enumerate(self.states):
            read = {**self.reading.to_json(key), **tail}
            taken = {*head, *read, *KINDS}
            fields = {f"state:{name}" if name in taken else name: value for name, value in state.items()}
            found.append({**head, **fields, **read})
        found += [{**head, **line, **tail} for line in self.uncounted.to_dicts()]
        found += [{**head, **line, **tail} for line in self.drift]
        return found


class JsonLinesFile:
    """A file with one JSON object a line, for each step and state.

    What is there already stays: a step that is written again is compared with it, and whatever differs, as half a line
    of a process that was killed, is cut off together with all behind it.

    Args:
        path: The file; made if it is not there.

    Raises:
        ValueError: it cannot be written.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._is_behind = True  # what stands there has not been passed yet
        try:
            self._file: BinaryIO = open(path, "a+b", buffering=0)  # noqa: SIM115 - `with` closes it
            self._file.seek(0)
        except OSError as error:
            trouble = str(error.strerror)
        else:
            return
        raise InvalidArgument("json", f"it cannot be written ({trouble})")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def write(self, reading: StepReading) -> None:
        """Write one step, unless it is there."""
        lines = "".join(json.dumps(line) + "\n" for line in reading.to_dicts()).encode()
        if self._is_behind:
            start = self._file.tell()
            if self._file.read(len(lines)) == lines:
                return
            self._file.truncate(start)
            self._is_behind = False
        self._file.write(lines)


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
        raise InvalidArgument("readings", "at least one step is needed")
    first = given[0]
    if window is not None and window not in first.reading.windows:
        raise InvalidArgument("window", f"sums over {sorted(first.reading.windows)} steps were asked for, got {window}")
    names = format_distinct_labels(
        [", ".join(str(value) for value in state.values()) for state in first.states[:MOST_DRAWN]]
    )
    lines = np.array([reading.counts if window is None else reading.reading.windows[window] for reading in given])
    values = np.array([reading.values for reading in given], dtype=np.float64)
    is_released = window is None and values.shape == lines.shape
    events = np.array([_has_any_event(reading) for reading in given])
    ends = _interval_bounds(given, window) if len(names) <= MOST_COVERED else []
    from matplotlib import dates

    from dpcurves.display.artists import add_statement

    ax, words = prepare_axes(ax, LANDSCAPE), describe_interval(LEVEL, "intervals", RECORDS)
    times = np.array([reading.start_timestamp for reading in given], dtype="datetime64[us]")
    for key, name in enumerate(names):
        style, line, happened = next_style(ax), lines[:, key], events[:, key]
        if is_released:
            ax.plot(times, values[:, key], ".", color=style.color, alpha=0.25, markersize=3)
        for low, high in ends:
            between = low[:, key], high[:, key]
            ax.fill_between(
                times, *between, color=style.color, alpha=PALE, linewidth=0, label=deduplicate_label(ax, words)
            )
        ax.plot(times, line, style.dash, color=style.color, label=format_legend_label(name))
        ax.plot(times[happened], line[happened], "v", color=style.color, markersize=5)
        add_statement(ax, given[-1].privacy, name)
    untyped: Any = dates
    ax.xaxis.set_major_formatter(untyped.ConciseDateFormatter(ax.xaxis.get_major_locator()))
    ax.set_xlabel("start of the step (UTC)")
    ax.set_ylabel(_describe_quantity(first, window))
    add_legend(ax, "best")
    return ax


def _interval_bounds(readings: Sequence[StepReading], window: int | None) -> list[Interval]:
    """Ends of all intervals, (steps, keys), if there are any."""
    if not readings[0].reading.has_intervals:
        return []
    found = [
        each.reading.interval(LEVEL) if window is None else each.reading.window_interval(window, LEVEL)
        for each in readings
    ]
    return [(np.array([low for low, _ in found]), np.array([high for _, high in found]))]


def _describe_quantity(first: StepReading, window: int | None) -> str:
    if window is not None:
        return f"tuples in the last {window} steps"
    return first.reading.QUANTITY


def _has_any_event(reading: StepReading) -> BoolArray:
    """Tell, for each count, whether any event has happened."""
    happened: BoolArray = np.zeros(len(reading.counts), dtype=np.bool_)
    for event in reading.reading.events.values():
        happened |= event
    return happened
