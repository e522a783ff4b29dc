"""Processes of this package that answer jobs on their pipes, one at a time, started when there is a job.

A process is started when there is a job, and killed to end one. Plans and pictures are made in such processes
(`planner`, `renderer`), so that one that takes too long does not block the server.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from typing import IO, cast


class ChildProcess:
    """A process that runs a module of this package, with pipes for its input and output.

    Attributes:
        module: The module's dotted name.
        process: The present process, which may have ended; None before the first job.
    """

    def __init__(self, module: str) -> None:
        self.module = module
        self.process: subprocess.Popen[bytes] | None = None

    def ensure_running(self) -> subprocess.Popen[bytes]:
        """Return the running process, after starting it if it is not running.

        Raises:
            OSError: The system starts no process now.
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
        """Kill the process, if any, and so end its present job; do not wait for the end."""
        process = self.process
        if process is not None:
            process.kill()

    def stop(self) -> None:
        """Kill the process, if any, wait for its end, and close its pipes."""
        process = self.process
        self.process = None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    cast("IO[bytes]", pipe).close()
