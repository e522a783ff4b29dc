"""Repair of standard streams: closed ones are replaced, and characters that cannot be encoded are escaped."""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO


def prepare() -> None:
    """Occupy standard streams that the shell has closed, before another file gets the number of one of them.

    A stream that was closed for writing remains unwritable: writing to it raises an error, as on a full disk. A
    character that the terminal's encoding lacks is written as an escape, so that no paid answer fails to print.
    """
    for number in (0, 1, 2):
        _occupy(number)
    sys.stdout = _spelling(sys.stdout, 1)
    sys.stderr = _spelling(sys.stderr, 2)


def tell(line: str) -> None:
    """Print a line on standard error; if that fails, silence the stream."""
    try:
        print(f"dpcurves: {line}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Redirect a broken stream to the null device, so that flushing its buffer at exit raises no error."""
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
