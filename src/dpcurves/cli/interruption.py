"""Ctrl-C, remembered: an engine that is interrupted may report a failure of its own instead."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def remembered() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed since. It still raises KeyboardInterrupt where it meets Python."""
    pressed: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        signal.default_int_handler(number, frame)

    if not _is_ours():
        yield lambda: False
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_ours() -> bool:
    """Whether Ctrl-C does what it does by default, and may be told otherwise here."""
    in_main = threading.current_thread() is threading.main_thread()
    return in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
