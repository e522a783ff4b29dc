"""Sinks of readings: files of JSON lines that have each step once, however often a stream is followed again."""

from __future__ import annotations

import json
from os import PathLike
from types import TracebackType
from typing import BinaryIO, Protocol, Self

from dpcurves.arguments import Refused

from .reading import StepReading


class Sink(Protocol):
    """Something that readings are written to, in each run from the first step on; none is there twice."""

    def write(self, reading: StepReading) -> None:
        """Write one step, unless it is there."""
        ...


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
