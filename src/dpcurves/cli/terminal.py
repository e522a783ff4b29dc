"""Printing of text and tables on standard output and standard error."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from .refusal import Undelivered
from .standard_streams import silence

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDTH_OF_A_FILE = 120


def terminal(*, stderr: bool = False) -> Console:
    """Console on standard output, or on standard error if asked for."""
    from .screen import Screen

    console = Screen(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH_OF_A_FILE
    return console


def say(console: Console, *things: RenderableType) -> None:
    """Print lines, which are not wrapped, and tables."""
    with spoken(sys.stderr if console.stderr else sys.stdout):
        for thing in things:
            console.print(thing, soft_wrap=isinstance(thing, str))


def say_plainly(text: str) -> None:
    """Print a text unformatted: machine-readable output, or help, without importing rich."""
    with spoken(sys.stdout):
        print(text, flush=True)


@contextmanager
def spoken(stream: TextIO) -> Iterator[None]:
    """Flush a standard stream after writing, and translate errors such as a closed pipe or a full disk.

    Raises:
        Undelivered: the stream cannot be written.
    """
    try:
        yield
        stream.flush()
    except OSError as error:
        silence(stream)
        name = "error" if stream is sys.stderr else "output"
        trouble = "it is closed" if error.errno == errno.EBADF else error.strerror
        raise Undelivered("output", f"standard {name} could not be written ({trouble})") from None
