"""Agreement of two servers on one run of a session: nothing of a second one is ever shown."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import ProtocolAborted
from dpcurves.noise import Randomness

from ..crypto.garbling import opened
from ..crypto.two_party import Talk
from .private_file import changing

Bits = NDArray[np.bool_]
RUN_SIZE = 16
NOTHING = bytes(RUN_SIZE)
_TABLE = "CREATE TABLE IF NOT EXISTS runs (job BLOB PRIMARY KEY, state INTEGER, run BLOB, share BLOB)"


class RunState(IntEnum):
    """State of a job at a server."""

    NOTHING = 0
    STORED = 1
    """Stored: the server's share is on its disk."""
    CONFIRMED = 2
    """Confirmed: the other server has said that it has its own share, of the same run."""


@dataclass(frozen=True, slots=True, repr=False)
class Kept:
    """SECRET: record of a server for a job."""

    state: RunState
    run: bytes
    share: bytes


class Shelf(Protocol):
    """SECRET: storage of a server's shares: a file of its own, or the database of its ledger."""

    def kept(self, job: bytes) -> Kept:
        """The stored share of a job, if there is one."""

    def store(self, job: bytes, run: bytes, share: bytes) -> None:
        """Keep a share, in place of one that was never confirmed. Raises `ProtocolAborted`: one was."""

    def confirm(self, job: bytes, run: bytes) -> None:
        """Remember that the other server has its share of this run. Raises `ProtocolAborted`: it is another one."""


@dataclass(frozen=True, slots=True, repr=False)
class Settlements:
    """SECRET: a server's own file of shares. It has no repr.

    Attributes:
        path: The file, an SQLite database that its owner alone may read.
    """

    path: Path

    def kept(self, job: bytes) -> Kept:
        """The stored share of a job, if there is one."""
        with self._changing() as base:
            found = base.execute("SELECT state, run, share FROM runs WHERE job = ?", (job,)).fetchone()
        return Kept(RunState(found[0]), found[1], found[2]) if found else Kept(RunState.NOTHING, NOTHING, b"")

    def store(self, job: bytes, run: bytes, share: bytes) -> None:
        """Keep a share, in place of one that was never confirmed.

        Raises:
            ProtocolAborted: one was.
        """
        with self._changing() as base:
            base.execute("DELETE FROM runs WHERE job = ? AND state < ?", (job, RunState.CONFIRMED))
            fresh = (job, RunState.STORED, run, share)
            found = base.execute("INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?)", fresh).rowcount
        if found != 1:
            raise ProtocolAborted("settlement", "another session of this job was confirmed", 409)

    def confirm(self, job: bytes, run: bytes) -> None:
        """Remember that the other server has its share of this run: from now on there is no other one.

        Raises:
            ProtocolAborted: another session has stored another run in the meantime.
        """
        with self._changing() as base:
            changed = base.execute(
                "UPDATE runs SET state = ? WHERE job = ? AND run = ?", (RunState.CONFIRMED, job, run)
            )
            found = changed.rowcount
        if found != 1:
            raise ProtocolAborted("settlement", "another session of this job has taken its place", 409)

    def _changing(self) -> AbstractContextManager[sqlite3.Connection]:
        return changing(self.path, "settlements", (_TABLE,))


def settled(
    job: bytes, session: Callable[[], Talk[list[Bits]]], own: Shelf, randomness: Randomness
) -> Talk[list[Bits]]:
    """Protocol part of a server: a run if there is none yet, and then the outputs' bits, opened to both.

    Both say how far they are. If both have shares of one run, these are opened. Else, if neither has had the other's
    confirmation, both run the session, store what they get, tell each other so, store that, and only then show their
    shares.

    Formal guarantees: a server shows shares of one run of a job, and no others, whatever is cut off or killed, and
    whatever the other server says afterwards: it shows none before it has stored that the other one has its own, and
    then it runs the session no more. Where sessions of a job overlap, one run alone is confirmed, and others abort. So
    coins, which a run throws anew, protect one output and are paid once. A share that was not shown is uniform to
    the other server, and with it the output of its run is unknown. Not covered: a file that is put back as it was
    before.

    Args:
        job: Name of the job, the same in any release of this program: a task, and its people.
        session: This server's part of the session, from the start.

    Raises:
        ProtocolAborted: a message was not the next one; or the other server has lost the share of the run that counts.
    """
    kept, nonce = own.kept(job), randomness.octets(RUN_SIZE)
    yield bytes([kept.state]) + kept.run + nonce
    told = _told((yield None))
    if RunState.NOTHING in (kept.state, told.state) or kept.run != told.run:
        if RunState.CONFIRMED in (kept.state, told.state):
            raise ProtocolAborted("settlement", "one server has lost its share of the run that counts", 409)
        run = sha256(b"run 1\n" + job + min(nonce, told.share) + max(nonce, told.share)).digest()[:RUN_SIZE]
        share = _packed((yield from session()))
        own.store(job, run, share)
        kept = Kept(RunState.STORED, run, share)
        yield bytes([kept.state]) + run + nonce
        told = _told((yield None))
        if told.run != run or told.state is RunState.NOTHING:
            raise ProtocolAborted("settlement", "the other server has not stored this run", 409)
    own.confirm(job, kept.run)
    yield kept.share
    return _opened(kept.share, (yield None))


def _told(message: bytes) -> Kept:
    """Parse the other server's message; its nonce is in place of a share."""
    if len(message) != 1 + 2 * RUN_SIZE or message[0] not in set(RunState):
        raise ProtocolAborted("settlement", "a state, a run and a nonce are needed")
    return Kept(RunState(message[0]), message[1 : 1 + RUN_SIZE], message[1 + RUN_SIZE :])


def _packed(share: list[Bits]) -> bytes:
    """Wires one after the other: their number, their instances, and a bit for each."""
    shape = np.array([len(share), len(share[0])], "<u8").tobytes()
    return shape + np.packbits(np.concatenate(share), bitorder="little").tobytes()


def _opened(own: bytes, other: bytes) -> list[Bits]:
    if len(own) != len(other) or own[:16] != other[:16]:
        raise ProtocolAborted("share", "it is of other outputs")
    return opened(_unpacked(own), _unpacked(other))


def _unpacked(share: bytes) -> list[Bits]:
    wires, count = np.frombuffer(share[:16], "<u8").tolist()
    bits = np.unpackbits(np.frombuffer(share[16:], np.uint8), count=wires * count, bitorder="little")
    return list(bits.astype(np.bool_).reshape(wires, count))
