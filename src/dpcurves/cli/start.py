"""Entry point of the command line; other modules are imported where Ctrl-C already ends without a traceback."""

from __future__ import annotations

import os
import sys

from .status import COMPLETING, STOPPED


def main() -> None:
    """Run the command that was typed, and leave with its exit status."""
    try:
        from .terminal import prepare_streams

        prepare_streams()
        from .app import build

        if COMPLETING in os.environ:  # a shell asks what may follow: all commands are needed for an answer
            build()()
        build(sys.argv[1:])()
    except KeyboardInterrupt:
        raise SystemExit(STOPPED) from None
