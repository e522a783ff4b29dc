"""Standard output and standard error: repair of streams, text, tables, and progress indicators."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, TextIO

from .refusal import Undelivered

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDTH_OF_A_FILE = 120

# Repair of standard streams: closed ones are replaced, and characters that cannot be encoded are escaped.


def prepare() -> None:
    """Occupy standard streams that the shell has closed, before another file gets the number of one of them.

    A stream that was closed for writing remains unwritable: writing to it raises an error, as on a full disk. A
    character that the terminal's encoding lacks is written as an escape, so that no paid answer fails to print.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # gets the lowest number that is free: this one
    sys.stdout = _spelling(sys.stdout, 1)
    sys.stderr = _spelling(sys.stderr, 2)


def _spelling(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:  # it was closed when the process began
        return open(number, "w", encoding="utf-8", closefd=False)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


def silence(stream: TextIO) -> None:
    """Redirect a broken stream to the null device, so that flushing its buffer at exit raises no error."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
    except (OSError, ValueError):
        return


# Printing of text and tables on standard output and standard error.


def terminal(*, stderr: bool = False) -> Console:
    """Console on standard output, or on standard error if asked for; a broken pipe is raised, and ends no process."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True
            raise sys.exception() or BrokenPipeError

    console = Screen(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH_OF_A_FILE
    return console


def tell(line: str) -> None:
    """Print a line on standard error; if that fails, silence the stream."""
    try:
        print(f"dpcurves: {line}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        silence(sys.stderr)


def say(console: Console, *things: RenderableType) -> None:
    """Print lines, which are not wrapped, and tables."""
    with _spoken(sys.stderr if console.stderr else sys.stdout):
        for thing in things:
            console.print(thing, soft_wrap=isinstance(thing, str))


def say_plainly(text: str) -> None:
    """Print a text unformatted: machine-readable output, or help, without importing rich."""
    with _spoken(sys.stdout):
        print(text, flush=True)


@contextmanager
def _spoken(stream: TextIO) -> Iterator[None]:
    """Flush a standard stream after writing; errors such as a closed pipe or a full disk become `Undelivered`."""
    try:
        yield
        stream.flush()
    except OSError as error:
        silence(stream)
        name = "error" if stream is sys.stderr else "output"
        trouble = "it is closed" if error.errno == errno.EBADF else error.strerror
        raise Undelivered("output", f"standard {name} could not be written ({trouble})") from None


# Progress indicators on standard error, shown only on a terminal.


@contextmanager
def waiting(words: str) -> Iterator[None]:
    """Show a spinner beside `words` until the work is done."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(words):
        yield


@contextmanager
def filling(words: str, total: int) -> Iterator[Callable[[int], object]]:
    """Show a progress bar beside `words`, and yield a function that takes the amount done."""
    with filling_late(words, after=0) as fill:
        fill(0, total)
        yield lambda done: fill(done, total)


@contextmanager
def filling_late(words: str, after: float) -> Iterator[Callable[[int, int], object]]:
    """Yield a function that takes the amount done and all there is; it shows a progress bar after so many seconds."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    begun = monotonic()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    bars = Progress(*columns, console=Console(stderr=True), transient=True)
    bar = bars.add_task(words)

    def show(done: int, total: int) -> None:
        if monotonic() - begun >= after:
            bars.start()
        bars.update(bar, completed=done, total=total)

    try:
        yield show
    finally:
        bars.stop()
