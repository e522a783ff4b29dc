"""From the first moment on, Ctrl-C ends quietly: all else is imported where that is already true."""

from __future__ import annotations

from .status import STOPPED


def main() -> None:
    """Run the command that was typed, and leave with its exit status."""
    try:
        from .standard_streams import prepare

        prepare()
        from .app import build

        build()()
    except KeyboardInterrupt:
        raise SystemExit(STOPPED) from None
