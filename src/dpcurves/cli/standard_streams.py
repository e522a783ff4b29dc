"""Standard streams as a command needs them: none is missing, and they take every character."""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO


def prepare() -> None:
    """Make good what the shell has closed, before another file is given the number of a standard stream.

    What was closed for writing stays a stream that cannot be written: who writes is told, as on a full disk. A
    character that a terminal does not have is written as its number, not refused once an answer was paid.
    """
    for number in (0, 1, 2):
        _occupy(number)
    sys.stdout = _spelling(sys.stdout, 1)
    sys.stderr = _spelling(sys.stderr, 2)


def tell(line: str) -> None:
    """Say something on standard error, where somebody can read it."""
    try:
        print(f"dpcurves: {line}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Drop what is left in a stream that takes no more: it would be tried again, and complained about, in the end."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
    except (OSError, ValueError):
        return


def _occupy(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        os.open(os.devnull, os.O_RDONLY)  # gets the lowest number that is free: this one


def _spelling(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:  # it was closed when the process began
        return open(number, "w", encoding="utf-8", closefd=False)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream
