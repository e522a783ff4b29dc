"""The file of an aggregator to whom people send their reports: what was acknowledged is on disk, each name once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from errno import EIO
from pathlib import Path
from threading import Lock

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.arrays import BoolArray
from dpcurves_parties.serving.errors import Trouble

from .collection import Seen
from .report_file import Octets, octets_of
from .task import Task

try:
    import fcntl
except ImportError:  # where there is no such lock
    fcntl = None  # type: ignore[assignment]

ROWS = 2**16
OTHER = "there is a file of this name that holds something else than reports of this task; it is not written to"


@dataclass(eq=False)
class Offer:
    """Reports on their way to the disk, and what became of them.

    Attributes:
        names: What stands for the person of each.
        messages: What each person says.
        new: How many were new, once they are on disk.
        trouble: Why they are not.
    """

    names: Octets
    messages: Octets
    new: int | None = field(default=None, init=False)
    trouble: BaseException | None = field(default=None, init=False)


class ReportStore:
    """A file of reports that grows at its end, a part of one record each: `dpcurves local aggregate` reads it.

    What `add` has returned for was written and synced: it outlives a process that is killed and a machine that loses
    power. Of a name that comes again the first report stays, and nothing is written. Those who wait for the disk share
    one sync. What a crash left half written at the end, which nobody was told of, is cut off.

    Raises:
        ValueError: the file can not be had, holds something else, or belongs to a server that runs.
    """

    def __init__(self, path: str | Path, task: Task) -> None:
        self._path, self._form, self._seen, self._end = Path(path), task.form, Seen(), 0
        self._stride = len(self._form.alone) + self._form.record
        self._waiting: list[Offer] = []
        self._broken = False
        self._lock, self._writing = Lock(), Lock()
        try:
            self._file = _opened(self._path)
        except OSError as error:
            raise Refused("store", f"the file can not be written ({error.strerror})") from None
        self._begin()

    @property
    def reports(self) -> int:
        """The number of stored reports, each of another name."""
        return self._seen.count

    def add(self, names: Octets, messages: Octets) -> int:
        """Keep reports, each of a name that is not known yet. How many were new: these are on disk now.

        Raises:
            Trouble: the disk does not take them; none of them is promised to be kept.
        """
        offer = Offer(names, messages)
        with self._lock:
            self._waiting.append(offer)
        with self._writing:  # who comes first writes for all who wait
            if offer.new is None and offer.trouble is None:
                self._write_waiting()
        if offer.new is None:
            reason = getattr(offer.trouble, "strerror", None) or "no reason given"
            raise Trouble("store", f"it takes no more reports now ({reason})", f"store: {self._path}: {reason}")
        return offer.new

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _write_waiting(self) -> None:
        with self._lock:
            offers, self._waiting = self._waiting, []
        try:
            fresh = self._written(offers)
        except BaseException as error:
            for offer in offers:
                offer.trouble = error
            if not isinstance(error, OSError):
                self._broken = True  # what is on the disk is read again by whoever opens the file next
                raise
            return
        ends = np.cumsum([len(offer.names) for offer in offers])[:-1]
        for offer, new in zip(offers, np.split(fresh, ends), strict=True):
            offer.new = int(new.sum())

    def _written(self, offers: Sequence[Offer]) -> BoolArray:
        """Mark the names that are new: their reports are on disk now, and the names known."""
        if self._broken:
            raise OSError(EIO, "an earlier report failed halfway: start the server again")
        names = np.concatenate([offer.names for offer in offers])
        messages = np.concatenate([offer.messages for offer in offers])
        fresh, run = self._seen.looked_up(names)
        self._append(self._form.written_singly(names[fresh], messages[fresh]))
        self._seen.keep(run)
        return fresh

    def _append(self, parts: bytes) -> None:
        """At the end of what is whole: what an earlier attempt left behind it is written over."""
        if not parts:
            return
        left = memoryview(parts)
        try:
            os.lseek(self._file, self._end, os.SEEK_SET)
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise
        self._end += len(parts)

    def _begin(self) -> None:
        data = octets_of(self._path)
        whole = len(data) - len(data) % self._stride
        for start in range(0, whole, ROWS * self._stride):
            self._require_rows(np.frombuffer(data[start : min(start + ROWS * self._stride, whole)], dtype=np.uint8))
        torn = np.frombuffer(data[whole:], dtype=np.uint8)[: len(self._form.alone)]
        self._require_heads(torn[None], self._form.alone[: len(torn)])
        for records in self._form.read(data[:whole]):
            self._seen.new(records.names)
        del data, torn  # a file that is looked at is not cut everywhere
        os.ftruncate(self._file, whole)
        self._end = whole

    def _require_rows(self, flat: Octets) -> None:
        self._require_heads(flat.reshape(-1, self._stride)[:, : len(self._form.alone)], self._form.alone)

    def _require_heads(self, found: Octets, wanted: bytes) -> None:
        """Each octet is as it should be; or zero, as a machine that lost power leaves what had not reached the disk."""
        if not np.all((found == np.frombuffer(wanted, dtype=np.uint8)) | (found == 0)):
            os.close(self._file)
            raise Refused("store", OTHER)


def _opened(path: Path) -> int:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise Refused("store", "a server that runs has this file") from None
    if os.name == "posix":
        folder = os.open(path.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # else a loss of power could forget the name of the file
        finally:
            os.close(folder)
    return file
