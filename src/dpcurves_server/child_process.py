"""Child processes with pipes, for work of the server that may take too long and must then be killed.

`ChildProcess(module)` runs a module of this package. `ensure_running` returns the process, whose standard input takes
requests and whose standard output gives responses, one at a time; `kill` ends work that takes too long. A thread cannot
be killed, a process can: so long work never blocks the server.

Two kinds of work run so: plans of questions (their cost and expected error, `planner`) and plots of answers
(`renderer`). This module touches no records.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from typing import IO, cast


class ChildProcess:
    """A process that runs a module of this package, with pipes for its input and output.

    Args:
        module: Dotted name of the module.

    Attributes:
        module: Dotted name of the module.
        process: The latest process, which may have ended; None before the first call of `ensure_running` and after
            `stop`.
    """

    def __init__(self, module: str) -> None:
        self.module = module
        self.process: subprocess.Popen[bytes] | None = None

    def ensure_running(self) -> subprocess.Popen[bytes]:
        """Return the running process; start it at the first call, and again after it has ended.

        Raises:
            OSError: The system cannot start a process now.
        """
        if self.process is None or self.process.poll() is not None:
            self.stop()
            command = [sys.executable, "-m", self.module]
            # In a separate session: Ctrl-C at the terminal ends the server, which then stops this process.
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        return self.process

    def kill(self) -> None:
        """Kill the process, and with it the work that it does; do nothing without a process. Returns at once."""
        process = self.process
        if process is not None:
            process.kill()

    def stop(self) -> None:
        """Kill the process, wait until it has ended, and close its pipes; do nothing without a process."""
        process = self.process
        self.process = None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    cast("IO[bytes]", pipe).close()
