"""A console that leaves what to do about a reader who has gone to whoever writes on it."""

from __future__ import annotations

import sys

from rich.console import Console


class Screen(Console):
    """The console of rich, but it does not end the process when a pipe is broken."""

    def on_broken_pipe(self) -> None:
        """Raise what was raised, once more."""
        self.quiet = True
        raise sys.exception() or BrokenPipeError
