"""Files of tuples that are finished: CSV with any delimiter, and JSON lines. All is there, so nothing comes late."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from typing import IO

from dpcurves.arguments import Refused

from .at_rest import AtRest, require_end
from .intake import Intake
from .pipe_lines import objects
from .window import Window, Windows

JSON_LINES = (".jsonl", ".ndjson")


class CsvFile:
    """A CSV file. (The path alone will do for one with commas, and for Parquet.)

    Args:
        path: The file.
        delimiter: What separates fields.
    """

    def __init__(self, path: str | PathLike[str], delimiter: str = ",") -> None:
        self._path, self._delimiter = fspath(path), delimiter

    def windows(self, intake: Intake) -> Windows:
        """Count what is in it."""
        return AtRest(self._path, intake, self._delimiter)


class JsonLinesTuples:
    """A file with one JSON object a line. (The path alone will do where its name ends in .jsonl or .ndjson.)

    The first tuples of a user in a step are used, in the order of lines.

    Args:
        path: The file.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = fspath(path)

    def windows(self, intake: Intake) -> Windows:
        """Count the lines."""
        return _LinesAtRest(self._path, intake)


class _LinesAtRest:
    """Counts all windows that have closed by now."""

    __slots__ = ("_intake", "_path")

    def __init__(self, path: str, intake: Intake) -> None:
        self._path, self._intake = path, intake

    def check(self) -> None:
        """Refuse a file that cannot be read, and a stream without end. Lines have no schema."""
        require_end(self._intake)
        self._opened().close()

    def after(self, tick: int) -> Iterator[Sequence[Window]]:
        """Iterate over later windows that have closed."""
        last, windows = self._intake.schedule.closed_by(self._intake.clock.now()), self._intake.open_windows(tick)
        with self._opened() as file:
            for given in objects(file):
                windows.take(given, None)
        for ticks in self._intake.batches(tick + 1, last):
            yield windows.close(ticks[-1])

    def done(self, tick: int) -> None:
        """Nothing: the file stays."""

    def _opened(self) -> IO[bytes]:
        try:
            return open(self._path, "rb")
        except OSError as error:
            trouble = str(error.strerror)
        raise Refused("source", f"{self._path!r} cannot be read ({trouble})")
