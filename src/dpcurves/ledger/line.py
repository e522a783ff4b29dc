"""A line before an SQLite file: who comes first writes first.

What keeps two writers apart is SQLite's own lock. But it is polled: who happens to ask just after it was given back has
it again, and others wait for seconds. Those who stand in this line ask for it one after the other. The line decides on
the order alone; where it does not work (another system, a folder that takes no file, a disk without locks), all ask at
once.

Who comes takes the next number, and holds a lock on the byte of that number while it waits and writes. Its turn comes
when no byte of a lower number is locked. The system gives back the locks of a process that dies, so nobody waits for
the dead. Who stands still for too long, as a process that was stopped, is passed, and is not waited for again.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

try:
    import fcntl
except ImportError:  # another system, where all ask at once
    fcntl = None  # type: ignore[assignment]

ENDING = "-line"
PATIENCE_SECONDS = 5
"""How long nobody may be served before those who wait go on."""
NEXT_SECONDS = 0.0003
"""How often the next in line looks whether its turn has come."""
EACH_SECONDS = 0.001
"""How much later those look who have others between them and their turn: nobody writes faster than that."""
MOST_SECONDS = 0.02

_NUMBER = struct.Struct("=Q")
_NEXT, _SERVED = 0, 8
"""Where it is written which number comes next, and below which one nobody is waited for."""
_LOCK = struct.Struct("hhqqi0q")  # the C structure `flock`
_FIRST = 4096  # the byte of number 0: none that is locked is written
_TRIES = 1000


class WriterQueue:
    """The line before one file."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ENDING)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until it is one's turn; it ends with this context."""
        place = None
        with suppress(OSError):
            place = _Place.at_the_end(self._path)
        if place is None:
            yield
            return
        try:
            with suppress(OSError):
                place.wait()
            yield
        finally:
            place.leave()


class _Place:
    """A place in the line. It is given back when the file is closed, or this process ends."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._number = max(self._read(_NEXT), self._read(_SERVED))
        self._is_first = False

    @classmethod
    def at_the_end(cls, path: Path) -> _Place | None:
        """A place behind all others; none where the system has no locks that belong to an open file."""
        if not hasattr(fcntl, "F_OFD_SETLK"):
            return None
        place = cls(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        try:
            place._take()
        except BaseException:
            os.close(place._file)
            raise
        return place

    def wait(self) -> None:
        """Return when nobody stands in front, or nobody there was served for too long."""
        served, since = -1, monotonic()
        while self._is_held(now := self._read(_SERVED), self._number):
            if now != served:
                served, since = now, monotonic()
            elif monotonic() - since > PATIENCE_SECONDS:
                break
            sleep(min(NEXT_SECONDS + EACH_SECONDS * (self._number - now - 1), MOST_SECONDS))
        self._is_first = True

    def leave(self) -> None:
        """Let the next one go on. Who was interrupted before its turn lets nobody go on but those behind it."""
        try:
            with suppress(OSError):
                if self._is_first:
                    self._write(_SERVED, max(self._read(_SERVED), self._number + 1))
                # Closing is not enough: a process that was forked meanwhile has the file, and so the lock, as well.
                self._ask(fcntl.F_OFD_SETLK, fcntl.F_UNLCK, self._number, self._number + 1)
        finally:
            os.close(self._file)

    def _take(self) -> None:
        # Two who read the same number find out here: one of them gets the lock, the other one goes on to the next.
        for _ in range(_TRIES):
            with suppress(BlockingIOError):
                self._ask(fcntl.F_OFD_SETLK, fcntl.F_WRLCK, self._number, self._number + 1)
                self._write(_NEXT, self._number + 1)
                return
            self._number += 1
        raise BlockingIOError

    def _is_held(self, first: int, end: int) -> bool:
        """Tell whether another process holds a number from `first` to below `end`."""
        return first < end and self._ask(fcntl.F_OFD_GETLK, fcntl.F_WRLCK, first, end) != fcntl.F_UNLCK

    def _ask(self, command: int, kind: int, first: int, end: int) -> int:
        lock = _LOCK.pack(kind, os.SEEK_SET, _FIRST + first, end - first, 0)
        return int(_LOCK.unpack(fcntl.fcntl(self._file, command, lock))[0])

    def _read(self, place: int) -> int:
        found = os.pread(self._file, _NUMBER.size, place)
        return int(_NUMBER.unpack(found)[0]) % 2**62 if len(found) == _NUMBER.size else 0

    def _write(self, place: int, number: int) -> None:
        os.pwrite(self._file, _NUMBER.pack(number), place)
