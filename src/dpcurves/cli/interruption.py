"""Ctrl-C and SIGTERM, remembered: an engine that is interrupted may report a failure of its own instead."""

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
    """Which signal has told the process to end since, if one has.

    Each raises KeyboardInterrupt where it meets Python, so that drafts and temporary files are removed on the way out.
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
    """Whether the signal does what it does by default, and may be told otherwise here."""
    in_main = threading.current_thread() is threading.main_thread()
    return in_main and signal.getsignal(number) is DEFAULTS[number]
