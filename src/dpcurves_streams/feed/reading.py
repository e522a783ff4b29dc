"""Output of a differentially private stream: the released result of each time step, a JSON Lines file, and a plot.

A stream is a sequence of timestamped tuples (rows). They are counted in time steps of fixed length and in declared
categories (*states*), such as the wards of a hospital. At the end of each step, noisy integer counts are released. A
`StepReading` has results computed from the counts:

    counts        estimated counts of the states in this step, or running totals
    windows       sums over the last steps (sliding windows)
    events        conditions that hold at this step, such as a jump of a count
    uncounted     running totals of tuples that are counted in no state, by reason (unreadable, late, ...)
    drift         distance of a finished window's distribution from a reference

`JsonLinesFile` writes one JSON object a line, for each step and state. After a crash, a step may be handed to it a
second time, and the last line of the file may be unfinished. So `JsonLinesFile` compares first, cuts the file off at
the first step that differs, and writes on from there. `plot` draws the stream over time with intervals.

Formal guarantees: all results are functions of released integers and public facts alone, and see no tuple. Such
post-processing loses no further privacy.
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


NON_COUNT_FIELDS = ("uncounted", "drift")
"""Fields that mark lines of `StepReading.to_dicts` that hold no count of a state: uncounted tuples, and drift. A
state's field of such a name is written as ``state:name``."""
NOISE_ONLY_NOTE = "no count is higher than noise alone may give: each may be 0"
"""Note on states whose counts noise alone may explain."""


@dataclass(frozen=True, slots=True, eq=False)
class StepReading:
    """The released result of a time step, and numbers computed from its noisy counts.

    Attributes:
        stream: Name of the stream.
        start_timestamp: Start of the step, in microseconds since 1970 (UTC).
        states: For each key (number of a count, from 0): the values of the state's fields, by field name.
        values: Released noisy integers of this step, from which everything else is computed.
        reading: Estimates of the step: counts or running totals (keys,), windows, events and intervals.
        uncounted: Running totals of the tuples that are counted in no state, by reason, and notes about them.
        privacy: Privacy unit, privacy loss of all steps together, and trust model.
        drift: If this step closes a window, one dict for each statistic: its distance from the reference, as
            `WindowDrift.to_dicts` returns it. Otherwise empty.
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
        """Estimated counts of this step, or running totals up to it, as the question asks: (keys,) in tuples."""
        return self.reading.counts

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the lines that `JsonLinesFile` writes for this step, as dicts that `json.dumps` takes.

        The order is: one line for each count, one for each reason of uncounted tuples, one for each statistic of drift.
        Each line has ``stream``, ``step`` and ``start``, and the trust model in ``where`` if it is stated. A line has
        ``seeded`` if the noise came from a fixed seed, which gives no privacy. A field of a state whose name is
        already used in the line is written as ``state:name``.
        """
        head = {"stream": self.stream, "step": self.step, "start": self.start}
        tail: dict[str, Any] = {"where": self.privacy.where} if self.privacy.where else {}
        tail |= {"seeded": True} if self.privacy.seeded else {}
        lines = []
        for key, state in enumerate(self.states):
            numbers = {**self.reading.to_json(key), **tail}
            reserved = {*head, *numbers, *NON_COUNT_FIELDS}
            fields = {f"state:{name}" if name in reserved else name: value for name, value in state.items()}
            lines.append({**head, **fields, **numbers})
        lines += [{**head, **line, **tail} for line in self.uncounted.to_dicts()]
        lines += [{**head, **line, **tail} for line in self.drift]
        return lines


class StatesOfNoise:
    """The states of a stream none of whose counts, or sums over a window, is so far higher than noise alone may give.

    At 95 % for all intervals together, each interval of such a state includes 0. By Bonferroni's inequality the level
    of each is 1 - 0.05 / (states * steps). In a stream without an end, steps 2**b to 2**(b + 1) - 1 have
    1 / ((b + 1) * (b + 2)) of the 0.05 together, because these fractions add up to 1.

    Args:
        time_steps: Number of all steps that will be added; None: the stream has no end.
        window: Width of the window in steps; None: counts, or running totals.
    """

    def __init__(self, time_steps: int | None, window: int | None = None) -> None:
        self._time_steps, self._window = time_steps, window
        self._names: list[str] = []
        self.mask: BoolArray = np.zeros(0, dtype=np.bool_)
        """True for each such state, (keys,); False for all without intervals, and empty before the first step."""

    def add(self, reading: StepReading) -> None:
        """Take a step into account.

        Args:
            reading: The step, whose interval is compared with 0.
        """
        keys = len(reading.states)
        if not self._names:
            self._names = [format_legend_label(", ".join(map(str, state.values()))) for state in reading.states]
            self.mask = np.full(keys, reading.reading.has_intervals)
        if not self.mask.any():
            return
        if not (self.mask & (self._lower_bounds(reading, LEVEL) > 0)).any():
            return  # the wider interval includes 0 if the one at 95 %, which costs less, does
        block = reading.step.bit_length() - 1
        steps = self._time_steps or 2**block * (block + 1) * (block + 2)
        self.mask = self.mask & (self._lower_bounds(reading, 1 - (1 - LEVEL) / (keys * steps)) <= 0)

    def _lower_bounds(self, reading: StepReading, level: float) -> FloatArray:
        """Return the lower ends of the intervals of a step, (keys,).

        Args:
            reading: The step.
            level: Confidence level of each interval.
        """
        numbers = reading.reading
        low, _ = numbers.interval(level) if self._window is None else numbers.window_interval(self._window, level)
        return np.asarray(low)

    def describe(self) -> str:
        """Return a note that names these states, or says that it is true of all; an empty text if there are none."""
        names = [name for name, is_noise in zip(self._names, self.mask, strict=True) if is_noise]
        if len(names) in (0, len(self._names)):
            return NOISE_ONLY_NOTE if names else ""
        most_names = 5
        others = f" and {len(names) - most_names} more" if len(names) > most_names else ""
        return f"{', '.join(names[:most_names])}{others}: {NOISE_ONLY_NOTE}"


class JsonLinesFile:
    """A JSON Lines file of a stream: one JSON object a line, for each step and state. A context manager.

    An existing file is continued. Steps that are written again are compared with its content, from its start on. At the
    first step that differs, such as one with a line that a killed process left unfinished, the rest of the file is cut
    off; this step and later ones are appended.

    Args:
        path: The file; created if missing.

    Raises:
        ValueError: The file cannot be opened for writing.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Open the file to which steps are written, without cutting anything off yet.

        Args:
            path: The file; created if missing.

        Raises:
            ValueError: The file cannot be opened for writing.
        """
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
        """Append the lines of one step, unless the file has them already at this place.

        Args:
            reading: The step. Steps must come in order, without gaps, from the step with which the file begins.

        Raises:
            OSError: The file cannot be written, such as on a full disk.
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
    """Plot a stream over time: one line for each of its first 8 states.

    Without `window`, the lines are the estimated counts of steps (or running totals), over points of the released noisy
    values. If at most 4 lines are drawn, each has 95 % intervals, which account for the privacy noise only. Triangles
    mark steps in which an event of the question has happened. A note names states without a count above what noise
    alone may give, at 95 % for all counts together.

    Args:
        readings: The released steps to draw, in order, as `follow` yields them; at least one.
        window: Width in steps of the sliding window whose sums are drawn, one of the question's; None: counts.
        ax: Axes to draw on; None: axes of a new figure, with a title.

    Returns:
        The axes that were drawn on.

    Raises:
        ValueError: There is no reading, or the question has no window of this width.
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
    bounds = _interval_bounds(steps, window, LEVEL) if len(names) <= 4 else []  # more would hide each other
    states_of_noise = StatesOfNoise(len(steps), window)
    for step in steps:
        states_of_noise.add(step)
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
        privacy = steps[-1].privacy
        add_statement(ax, privacy.with_notes(NOISE_ONLY_NOTE) if states_of_noise.mask[key] else privacy, name)
    date_module: Any = dates
    ax.xaxis.set_major_formatter(date_module.ConciseDateFormatter(ax.xaxis.get_major_locator()))
    ax.set_xlabel("start of the step (UTC)")
    ax.set_ylabel(_describe_quantity(first, window))
    add_legend(ax, "best")
    return set_title(ax, f"{_describe_quantity(first, window)} of {first.stream}") if is_new else ax


def _interval_bounds(readings: Sequence[StepReading], window: int | None, level: float) -> list[Interval]:
    """Return the confidence intervals of all steps' counts, or of their sums over a window, for a plot.

    Args:
        readings: The steps, at least one.
        window: Width of the window in steps; None: counts.
        level: Confidence level of each interval.

    Returns:
        A list with one pair of arrays, lower and upper bounds, (steps, keys) each; an empty list if the mechanism has
        no intervals.
    """
    if not readings[0].reading.has_intervals:
        return []
    intervals = [
        step.reading.interval(level) if window is None else step.reading.window_interval(window, level)
        for step in readings
    ]
    return [(np.array([low for low, _ in intervals]), np.array([high for _, high in intervals]))]


def _describe_quantity(first: StepReading, window: int | None) -> str:
    """Return the axis label of the plotted counts: tuples in a window, of a step, or of all steps so far.

    Args:
        first: Any reading of the stream.
        window: Width of the window in steps; None: counts or running totals, as the question asks.
    """
    if window is not None:
        return f"tuples in the last {window} steps"
    return first.reading.QUANTITY


def _has_any_event(reading: StepReading) -> BoolArray:
    """Return a mask (keys,): True for each count for which at least one event has happened at this step.

    Args:
        reading: Reading of one time step.
    """
    happened: BoolArray = np.zeros(len(reading.counts), dtype=np.bool_)
    for event in reading.reading.events.values():
        happened |= event
    return happened
