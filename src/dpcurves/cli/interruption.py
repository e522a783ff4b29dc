"""Handlers of SIGINT and SIGTERM that record the signal: an interrupted engine may raise its own error instead."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

DEFAULTS: dict[signal.Signals, Callable[[int, FrameType | None], object] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}


@contextmanager
def remembered() -> Iterator[Callable[[], int | None]]:
    """Install signal handlers, and yield a function for the last signal caught, or None.

    Each signal raises KeyboardInterrupt in Python code, so that drafts and temporary files are removed on the way out.
    """
    caught: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        signal.default_int_handler(number, frame)

    ours = [number for number in DEFAULTS if _is_ours(number)]
    for number in ours:
        signal.signal(number, remember)
    try:
        yield lambda: caught[-1] if caught else None
    finally:
        for number in ours:
            signal.signal(number, DEFAULTS[number])


def _is_ours(number: signal.Signals) -> bool:
    """True in the main thread if the signal has its default handler, which may then be replaced."""
    in_main = threading.current_thread() is threading.main_thread()
    return in_main and signal.getsignal(number) is DEFAULTS[number]
