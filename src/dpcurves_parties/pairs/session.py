"""SECRET. Two-party computation of the pairs of a task: connection, agreement on one run, and the run."""

from __future__ import annotations

import socket
import sqlite3
import ssl
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from select import select
from typing import Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import ProtocolAborted
from dpcurves.arrays import IntArray
from dpcurves.conversation import Plan, Release, UnsupportedQuery
from dpcurves.ledger import Allotment
from dpcurves.noise import Randomness

from ..crypto.circuits import traced
from ..crypto.garbling import opened
from ..crypto.two_party import Job, Owner, Talk, evaluate, garble, together
from ..serving.server import LARGEST_MESSAGE, LENGTH, PATIENCE
from ..serving.two_servers.store import Standing
from . import promise
from .device import changing
from .mechanisms import Noise, response_of
from .release import noise_of, of_answers, of_sum
from .task import PairTask

# Framed two-party connection over TLS: each message is preceded by its length.
Result = TypeVar("Result")
_PIECE = 2**16


class End(Protocol):
    """Interface of an endpoint of a two-party connection, over any transport."""

    def send(self, message: bytes) -> None:
        """Send one message. Raises `ProtocolAborted`."""

    def receive(self) -> bytes:
        """The next message. Raises `ProtocolAborted`."""


@dataclass(slots=True, repr=False, eq=False)
class Connection:
    """Endpoint of a two-party connection. It counts messages and bytes.

    Attributes:
        wire: A socket whose other end has been authenticated.
        sent: Bytes of messages, without those of TLS.
        received: Bytes of messages that came, counted like `sent`.
    """

    wire: ssl.SSLSocket
    sent: int = field(default=0, init=False)
    received: int = field(default=0, init=False)
    _kept: bytearray = field(default_factory=bytearray, init=False)

    @classmethod
    def over(
        cls, raw: socket.socket, context: ssl.SSLContext, name: str = "", patience: float = PATIENCE
    ) -> Connection:
        """Open a connection over a socket.

        Args:
            context: What both ends prove; it says who is called and who calls.
            name: Name of the party that is called, at the caller.

        Raises:
            ProtocolAborted: the other end is somebody else, or is gone.
        """
        raw.settimeout(patience)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        is_called = context.protocol == ssl.PROTOCOL_TLS_SERVER
        try:
            return cls(context.wrap_socket(raw, server_side=is_called, server_hostname=None if is_called else name))
        except OSError:  # that of TLS is one, too
            raw.close()
            raise ProtocolAborted("peer", "it did not prove who it is, or was lost", 502) from None

    def send(self, message: bytes) -> None:
        """Send one message.

        Raises:
            ProtocolAborted: the other party is gone.
        """
        patience = self.wire.gettimeout()
        try:
            self.wire.settimeout(0)
            for part in (len(message).to_bytes(LENGTH, "little"), message):
                self._send_all(memoryview(part), patience)
        except OSError as error:
            raise _lost(error) from None
        finally:
            self.wire.settimeout(patience)
        self.sent += LENGTH + len(message)

    def _send_all(self, rest: memoryview, patience: float | None) -> None:
        """Send, and receive meanwhile: if both waited until the other one reads, neither would (deadlock)."""
        while rest:
            try:
                rest = rest[self.wire.send(rest) :]
            except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
                readable, writable, _ = select([self.wire], [self.wire], [], patience)
                if not (readable or writable):
                    raise TimeoutError from None
                if readable:
                    self._take()

    def _take(self) -> None:
        """Keep what has come, without waiting for more."""
        with suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
            while True:
                found = self.wire.recv(_PIECE)
                if not found:
                    raise ConnectionError
                self._kept += found

    def receive(self) -> bytes:
        """The next message.

        Raises:
            ProtocolAborted: the other party is gone, or silent for too long, or says too much at once.
        """
        size = int.from_bytes(self._exactly(LENGTH), "little")
        if size > LARGEST_MESSAGE:
            raise ProtocolAborted("peer", f"a message has at most {LARGEST_MESSAGE} bytes", 502)
        message = self._exactly(size)
        self.received += LENGTH + size
        return message

    def close(self) -> None:
        """Close the connection."""
        self.wire.close()

    def _exactly(self, size: int) -> bytes:
        room, read = bytearray(size), min(size, len(self._kept))
        room[:read] = self._kept[:read]
        del self._kept[:read]
        with memoryview(room) as view:
            while read < size:
                try:
                    found = self.wire.recv_into(view[read:])
                except OSError as error:
                    raise _lost(error) from None
                if not found:
                    raise ProtocolAborted("peer", "the connection was lost", 502)
                read += found
        return cast("bytes", room)  # a copy of millions of bytes, and nobody writes there any more


def _lost(error: OSError) -> ProtocolAborted:
    if isinstance(error, TimeoutError):
        return ProtocolAborted("peer", "it was silent for too long", 504)
    return ProtocolAborted("peer", "the connection was lost", 502)


def conducted(talk: Talk[Result], connection: End) -> Result:
    """Run one party's side of a protocol, and return its result.

    Raises:
        ProtocolAborted: a message was not the next one, or the other party is gone. The talk is over.
    """
    try:
        message = next(talk)
        while True:
            if message is not None:
                connection.send(message)
            message = talk.send(b"" if message is not None else connection.receive())
    except StopIteration as end:
        result: Result = end.value
        return result
    finally:
        talk.close()


# Agreement of two servers on one run of a session: nothing of a second one is ever shown.
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


WARM = 256
"""Instances that the fast loops are taken for."""


def warm() -> None:
    """Compile the fast loops, so that the first answer does not wait for them."""
    job = Job(b"warm", traced(lambda x, y: x < y, 1, 1), (Owner.SHARED, Owner.SHARED), WARM)
    zeros = [np.zeros(WARM, np.uint64)] * 2
    together(garble(job, zeros, Randomness.system()), evaluate(job, zeros, Randomness.system()))


@dataclass(frozen=True)
class PairsOf:
    """Public facts of the pairs of a closed task.

    Attributes:
        task: The task.
        people: Number of people that count.
        seed: Seed that pairs are drawn from.
    """

    task: PairTask
    people: int
    seed: bytes

    @cached_property
    def plan(self) -> Plan:
        """Plan of the computation.

        Raises:
            ProtocolAborted: so few people can not be asked.
        """
        try:
            return self.task.plan(self.people)
        except UnsupportedQuery as error:
            raise ProtocolAborted("reports", f"of {self.people} people nothing is told: {error}", 409) from None

    @cached_property
    def pairs(self) -> IntArray:
        """Two numbers of people for each pair; people are numbered as their reports are in order of ids."""
        return promise.promised_pairs(self.task.pairing, self.people, self.seed, self.task.commitment)

    def job(self, name: bytes) -> Job:
        """The circuit for all pairs."""
        kernel, count = self.task.kernel, len(self.pairs)
        if self.task.noise is Noise.EACH:
            return promise.answers_by_servers(name, kernel, response_of(self.task.query, self.task.loss), count)
        return promise.sum_of_pairs(name, kernel, noise_of(self.plan), count)

    def release(self, bits: Sequence[Bits], allotment: Allotment) -> Release:
        """Release of the opened output."""
        if self.task.noise is Noise.EACH:
            answers = promise.response_to(response_of(self.task.query, self.task.loss), bits)
            return of_answers(self.plan, self.pairs, answers, allotment, seeded=False)
        return of_sum(self.plan, self.pairs, promise.number_of(bits), allotment, seeded=False)


@dataclass(frozen=True, repr=False)
class PairSession:
    """SECRET. State of one of the two servers in a garbled-circuit session over a task of pairs. It has no repr.

    Formal guarantees: those of `garble` and `settled`: the other server learns no more than the opened output of one
    run, whose noise is thrown by both, once for each set of people, however often it is asked for.

    Attributes:
        pairs: Public facts of the pairs.
        standing: Set of people that count.
        party: 0 garbles, 1 evaluates.
        shares: This server's shares of each column, in order.
    """

    pairs: PairsOf
    standing: Standing
    party: int
    shares: Sequence[NDArray[np.uint64]]

    @property
    def name(self) -> bytes:
        """Name of the session."""
        return self.named(self.pairs.task, str(self.standing.set))

    @staticmethod
    def named(task: PairTask, people: str) -> bytes:
        """Name of the session of a set of people, equal in all releases of this program: none draws coins again."""
        return sha256(f"dpcurves pairs {task.hash} {people}".encode()).digest()

    def talk(self, shelf: Shelf, randomness: Randomness) -> Talk[list[Bits]]:
        """Protocol: both run the computation once, or open the shares that they have."""
        return settled(self.name, lambda: self._run(randomness), shelf, randomness)

    def _run(self, randomness: Randomness) -> Talk[list[Bits]]:
        job = self.pairs.job(self.name)
        act, coins = (garble, evaluate)[self.party], [None] * len(job.ending.owners) if job.ending else []
        return act(job, self._given(randomness), randomness, coins)

    def _given(self, randomness: Randomness) -> list[NDArray[np.uint64] | None]:
        task, pairs = self.pairs.task, self.pairs.pairs
        shares = dict(zip(task.kernel.columns, self.shares, strict=True))
        if task.noise is Noise.ON_SUM:
            return promise.given_to_sum(task.kernel, shares, pairs)
        response = response_of(task.query, task.loss)
        return promise.given_to_answers_by_servers(task.kernel, response, shares, pairs, self.party, randomness)
