"""What people read."""

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
    """Standard output, or standard error where something else is written on it."""
    from .screen import Screen

    console = Screen(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH_OF_A_FILE
    return console


def say(console: Console, *things: RenderableType) -> None:
    """Print lines, which are not broken, and tables."""
    with spoken(sys.stderr if console.stderr else sys.stdout):
        for thing in things:
            console.print(thing, soft_wrap=isinstance(thing, str))


def say_plainly(text: str) -> None:
    """Print a text as it is: what a program may read, or help, for which nothing heavy is imported."""
    with spoken(sys.stdout):
        print(text, flush=True)


@contextmanager
def spoken(stream: TextIO) -> Iterator[None]:
    """Write on a standard stream; a reader who has gone, or a full disk behind it, is told in our words.

    Raises:
        Undelivered: it takes no more.
    """
    try:
        yield
        stream.flush()
    except OSError as error:
        silence(stream)
        name = "error" if stream is sys.stderr else "output"
        trouble = "it is closed" if error.errno == errno.EBADF else error.strerror
        raise Undelivered("output", f"standard {name} could not be written ({trouble})") from None
