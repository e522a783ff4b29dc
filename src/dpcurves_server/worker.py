"""A worker as a process: told by its standard input that there is something to do, and that the server has ended."""

from __future__ import annotations

import os
import select
import sys
from traceback import extract_tb

from dpcurves.arguments import Named
from dpcurves.display import headless_axes, svg_text
from dpcurves_parties.serving.messages import leave_no_image

from .counting import PUBLIC, Counting
from .queue import Does

PATIENCE = 0.2
"""Seconds between polls, where nobody says that there is something to do: so of what was charged nobody does."""

STORE = frozenset({"ledger", "store"})
"""The name in errors of the server's own database."""
BEHIND = 10
"""Steps of niceness by which workers stand behind who serves."""


def main() -> None:
    """Work until standard input ends. Its first line has the URL of the store: nobody else reads it there."""
    leave_no_image()
    url, *given = _first_line().rsplit(" ", 2)
    if not url:  # the server has ended before it said for what
        return
    name, does = given[0], Does(given[1])
    if does is not Does.CHARGES and hasattr(os, "nice"):
        os.nice(BEHIND)  # where the processor is short, people wait for pages, and for the clock
    counting, is_ready = Counting(url, name, does), does is Does.CHARGES
    while True:
        while _stepped(counting):
            pass
        if not is_ready:
            svg_text(headless_axes())  # what draws is read while nobody waits for it
            is_ready = True
        if not _called():
            return


def _stepped(counting: Counting) -> bool:
    """Process one more question; of errors that may quote records, type and place alone are logged."""
    try:
        return counting.step()
    except Exception as error:
        print(f"dpcurves worker: {told(error)}", file=sys.stderr, flush=True)
    return False


def told(error: Exception) -> str:
    """The log line of an error: its message where it speaks of the store or of public facts alone."""
    if isinstance(error, PUBLIC) or (isinstance(error, Named) and error.argument in STORE):
        return str(error)
    return f"{type(error).__name__} in {extract_tb(error.__traceback__)[-1].name}"


def _called() -> bool:
    """Wait until there may be something to do; whether the server is still there."""
    ready, _, _ = select.select([sys.stdin.fileno()], [], [], PATIENCE)
    if not ready:
        return True
    return bool(os.read(sys.stdin.fileno(), 4096))


def _first_line() -> str:
    """Read to the end of the line and no further: what follows is waited for."""
    line = b""
    while (byte := os.read(sys.stdin.fileno(), 1)) not in (b"", b"\n"):
        line += byte
    return line.decode()


if __name__ == "__main__":
    main()
