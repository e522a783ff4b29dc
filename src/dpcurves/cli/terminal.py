"""What people read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from .refusal import Misuse

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDTH_OF_A_FILE = 120


def terminal(*, stderr: bool = False) -> Console:
    """Standard output, or standard error where something else is written on it."""
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH_OF_A_FILE
    return console


def say(console: Console, *things: RenderableType) -> None:
    """Print lines, which are not broken, and tables."""
    with spoken():
        for thing in things:
            console.print(thing, soft_wrap=isinstance(thing, str))


@contextmanager
def spoken() -> Iterator[None]:
    """Write on standard output; a reader who has gone, or a full disk behind it, is told in our words.

    Raises:
        Misuse: it takes no more.
    """
    try:
        yield
    except OSError as error:
        # What is left in the buffer would be tried again, and complained about, when the process ends.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Misuse(f"output: standard output could not be written ({error.strerror})") from None
