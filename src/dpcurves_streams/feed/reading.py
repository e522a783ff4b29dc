"""The public reading of a step of a stream, and sinks that keep each step once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from types import TracebackType
from typing import Any, BinaryIO, Self

from dpcurves.arguments import Refused
from dpcurves.arrays import FloatArray
from dpcurves.conversation import PrivacyStatement

from ..readings.question import TickNumbers
from .schedule import written


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
        drift: Plain objects on how far the window that it closes is from a reference, as `WindowDrift.lines` has them.
    """

    stream: str
    begins: int
    states: tuple[Mapping[str, Any], ...]
    values: tuple[int, ...]
    reading: TickNumbers
    privacy: PrivacyStatement
    drift: tuple[Mapping[str, Any], ...] = ()

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
        """A plain object for each count, and for each statistic of drift.

        A field whose name is taken is written ``state:name``.
        """
        head = {"stream": self.stream, "step": self.step, "start": self.start}
        tail = {"seeded": True} if self.privacy.seeded else {}
        found = []
        for key, state in enumerate(self.states):
            read = {**self.reading.to_json(key), **tail}
            fields = {f"state:{name}" if name in head or name in read else name: value for name, value in state.items()}
            found.append({**head, **fields, **read})
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
        raise Refused("json", f"it cannot be written ({trouble})")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def write(self, reading: StepReading) -> None:
        """Write one step, unless it is there."""
        lines = "".join(json.dumps(line) + "\n" for line in reading.lines()).encode()
        if self._is_behind:
            start = self._file.tell()
            if self._file.read(len(lines)) == lines:
                return
            self._file.truncate(start)
            self._is_behind = False
        self._file.write(lines)
