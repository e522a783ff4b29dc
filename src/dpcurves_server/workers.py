"""The workers of a server: started, told that there is something to do, and started again when one has ended.

One of them charges and counts nothing, so that nobody learns from the ledger how long something was counted. Each
has a name that no process had before: what it claimed is not its own any more once it was given back.

They are processes of our own, not those of a pool: a child hears by the end of its standard input that its server is
gone, even if that was killed, and it is told a URL there and inherits nothing else of what the server knows.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
import threading
import time
from contextlib import suppress

from .queue import Does, Queue
from .store import Archive

POLL = 0.5
"""Seconds between polls of who has ended."""


class Workers:
    """Processes that charge and that count, and the public clock. All end with the process that holds this.

    Args:
        url: The store.
        number: How many count.
        every: Seconds between two strikes of the public clock.
    """

    def __init__(self, url: str, number: int, every: float) -> None:
        self._url, self._every = url, every
        self._queue = Queue(Archive(url))
        self._parts = [Does.CHARGES, *[Does.COUNTS] * number]
        self._running: dict[str, tuple[Does, subprocess.Popen[str]]] = {}
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._keep, self._strike)]

    def start(self) -> None:
        """Begin: what workers of an earlier server had claimed is free again."""
        self._queue.free()
        for does in self._parts:
            self._start(does)
        for thread in self._threads:
            thread.start()

    def call(self) -> None:
        """Say that there is something to do."""
        for _, process in list(self._running.values()):
            _tell(process, "\n")

    def stop(self) -> None:
        """End: each worker when it has done with its question."""
        self._ended.set()
        for thread in self._threads:
            thread.join()
        for _, process in self._running.values():
            with suppress(OSError):
                if process.stdin is not None:
                    process.stdin.close()
        for _, process in self._running.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()

    def _start(self, does: Does) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "dpcurves_server.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        name = secrets.token_hex(8)
        _tell(process, f"{self._url} {name} {does.value}\n")
        self._running[name] = (does, process)  # from now on others call it, too: their line is not its first

    def _keep(self) -> None:
        while not self._ended.wait(POLL):
            for name, (does, process) in list(self._running.items()):
                if process.poll() is not None:
                    with suppress(Exception):  # the database may be away; the claim ends by itself
                        self._queue.free(name)
                    del self._running[name]
                    self._start(does)

    def _strike(self) -> None:
        while not self._ended.wait(self._every - time.time() % self._every):
            with suppress(Exception):  # said where it is asked for; the clock goes on
                self._queue.strike()


def _tell(process: subprocess.Popen[str], line: str) -> None:
    with suppress(OSError):
        if process.stdin is not None:
            process.stdin.write(line)
            process.stdin.flush()
