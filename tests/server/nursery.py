"""Where a server and its workers are born with all libraries read: for harnesses that kill them by the thousand.

``python nursery.py SOCKET`` reads the libraries once, and opens nothing. For each word that is sent to the socket it
forks: *serve* runs the command line of a server, *worker* what a server starts as its workers. The processes are as
real as others, only two seconds younger.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

LARGEST = 65536
WORKER = "worker"


@dataclass
class Born:
    """A process that was forked by the nursery, as far as `subprocess.Popen` is used of one."""

    pid: int
    stdin: IO[str] | None = None
    stdout: IO[str] | None = None
    returncode: int | None = None
    _handle: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        with suppress(OSError):  # it has ended already
            self._handle = os.pidfd_open(self.pid)

    def poll(self) -> int | None:
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        ended = self._ended(timeout)
        if ended is None:
            raise subprocess.TimeoutExpired("a process of the nursery", timeout or 0.0)
        return ended

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def _send(self, what: signal.Signals) -> None:
        if self._handle is not None:
            with suppress(OSError):
                signal.pidfd_send_signal(self._handle, what)

    def _ended(self, timeout: float | None) -> int | None:
        if self._handle is not None and select.select([self._handle], [], [], timeout)[0]:
            os.close(self._handle)
            self._handle = None
        return 0 if self._handle is None else None


def born(place: str, words: Sequence[str], **pipes: object) -> Born:
    """A process that does what the words say, with a pipe to it and one from it."""
    ours_in, theirs_in = os.pipe()[::-1]
    theirs_out, ours_out = os.pipe()[::-1]
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(place)
        socket.send_fds(asked, [json.dumps(list(words)).encode()], [theirs_in, theirs_out])
        pid = int(asked.recv(LARGEST))
    os.close(theirs_in)
    os.close(theirs_out)
    return Born(pid, os.fdopen(ours_in, "w"), os.fdopen(ours_out))


class ByNursery:
    """What a server has in the place of `subprocess`, so that its workers are born here, too."""

    PIPE, DEVNULL, TimeoutExpired = subprocess.PIPE, subprocess.DEVNULL, subprocess.TimeoutExpired

    def __init__(self, place: str) -> None:
        self._place = place

    def Popen(self, command: Sequence[str], **pipes: object) -> Born:
        return born(self._place, [WORKER])


def main() -> None:
    """Fork whoever is asked for, until nobody can ask any more."""
    place = sys.argv[1]
    _read_libraries()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(place)
        door.listen()
        print("ready", flush=True)
        while True:
            asked, _ = door.accept()
            with asked:
                _fork(asked, door, place)


def _fork(asked: socket.socket, door: socket.socket, place: str) -> None:
    message, pipes, _, _ = socket.recv_fds(asked, LARGEST, 2)
    pid = os.fork()
    if pid:
        asked.send(str(pid).encode())
        for each in pipes:
            os.close(each)
        return
    ended = 1
    try:
        asked.close()
        door.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for end, each in zip((0, 1), pipes, strict=True):
            os.dup2(each, end)
            os.close(each)
        _live(json.loads(message), place)
        ended = 0
    finally:
        os._exit(ended)


def _live(words: Sequence[str], place: str) -> None:
    from dpcurves.cli.start import main as command_line
    from dpcurves_server import launch as workers
    from dpcurves_server import worker

    if words[0] == WORKER:
        worker.main()
        return
    replaced: Any = workers
    replaced.subprocess = ByNursery(place)
    sys.argv = ["dpcurves", *words]
    command_line()


def _read_libraries() -> None:
    import duckdb  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    from dpcurves_server.pages.site import preload

    preload()


def opened(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """A nursery, and the place at which it is asked."""
    place = str(folder / "nursery")
    process = subprocess.Popen([sys.executable, __file__, place], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process, place


if __name__ == "__main__":
    main()
