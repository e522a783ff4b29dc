"""Progress indicators on standard error, shown only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic


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
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(words, total=total)
        yield lambda done: bars.update(bar, completed=done)


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
