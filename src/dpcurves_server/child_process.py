"""Child processes with pipes, for work of the server that may take too long and must then be killed.

Two kinds of work run so: plans of questions (their cost and expected error, `planner`) and pictures of answers
(`renderer`). A child process runs a module of this package and answers jobs on its pipes, one at a time. It starts with
the first job. A thread cannot be killed, a process can: so a job that takes too long never blocks the server.
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
        process: The latest process, which may have ended; None before the first job and after `stop`.
    """

    def __init__(self, module: str) -> None:
        self.module = module
        self.process: subprocess.Popen[bytes] | None = None

    def ensure_running(self) -> subprocess.Popen[bytes]:
        """Return the running process; start one if there is none.

        Raises:
            OSError: the system cannot start a process now.
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
        """Kill the process, and with it the job that it works on. Returns at once."""
        process = self.process
        if process is not None:
            process.kill()

    def stop(self) -> None:
        """Kill the process, wait until it has ended, and close its pipes."""
        process = self.process
        self.process = None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    cast("IO[bytes]", pipe).close()
