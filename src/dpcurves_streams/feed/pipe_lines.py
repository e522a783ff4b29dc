"""Tuples on a pipe: lines of CSV below a header, or of JSON. Lines that cannot be read are malformed tuples."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from dpcurves.arguments import Refused

from .arriving import Arriving
from .intake import Intake
from .window import Windows

LONGEST_LINE = 2**20


class CsvLines:
    """CSV on a pipe. The header says which fields there are.

    Args:
        file: Open for reading, text or bytes.
        delimiter: What separates fields.
    """

    def __init__(self, file: IO[Any], delimiter: str = ",") -> None:
        self._file, self._delimiter = file, delimiter

    def windows(self, intake: Intake) -> Windows:
        """Read the header, and count what follows.

        Raises:
            ValueError: a field is not in the header, or stands in it twice.
        """
        lines = _lines(self._file)
        names = _fields(next(lines, ""), self._delimiter)
        for name in dict.fromkeys(intake.names):
            if names.count(name) != 1:
                raise Refused("column", f"{name!r} stands {names.count(name)} times in the header", name)
        return Arriving(self._tuples(lines, names), intake)

    def _tuples(self, lines: Iterable[str], names: Sequence[str]) -> Iterator[Mapping[str, str] | None]:
        for line in lines:
            fields = _fields(line, self._delimiter)
            yield dict(zip(names, fields, strict=True)) if len(fields) == len(names) else None


class JsonLines:
    """A source of JSON objects, one a line.

    Args:
        file: Open for reading, text or bytes.
    """

    def __init__(self, file: IO[Any]) -> None:
        self._file = file

    def windows(self, intake: Intake) -> Windows:
        """Count the lines."""
        return Arriving(objects(self._file), intake)


def objects(file: IO[Any]) -> Iterator[Mapping[str, Any] | None]:
    """Parse lines of JSON; None for each that holds no object."""
    return map(_object, _lines(file))


def _object(line: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _fields(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def _lines(file: IO[Any]) -> Iterator[str]:
    """Lines, however they are encoded; one that is too long to be a tuple is empty."""
    raw: IO[Any] = getattr(file, "buffer", file)
    while line := raw.readline(LONGEST_LINE):
        rest, is_cut = line, len(line) == LONGEST_LINE
        while is_cut and rest and rest[-1:] not in ("\n", b"\n"):
            rest = raw.readline(LONGEST_LINE)
        text = "" if is_cut else line if isinstance(line, str) else line.decode(errors="replace")
        if is_cut or text.strip():
            yield text
