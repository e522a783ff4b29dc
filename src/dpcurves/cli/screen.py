"""Rich console that raises BrokenPipeError to its caller."""

from __future__ import annotations

import sys

from rich.console import Console


class Screen(Console):
    """Console of rich that does not end the process when a pipe is broken."""

    def on_broken_pipe(self) -> None:
        """Re-raise the current exception."""
        self.quiet = True
        raise sys.exception() or BrokenPipeError
