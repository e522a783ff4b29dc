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

from dpcurves.arguments import ProtocolError
from dpcurves.arrays import IntArray
from dpcurves.conversation import Plan, Release, UnsupportedQuery
from dpcurves.ledger import Allotment
from dpcurves.noise import Randomness

from ..crypto.circuits import trace_circuit
from ..crypto.garbling import reconstruct_bits
from ..crypto.two_party import InputOwner, Job, Talk, evaluate, garble, run_both_parties
from ..serving.server import LARGEST_MESSAGE, LENGTH, PATIENCE
from ..serving.two_servers.store import TaskStatus
from . import promise
from .device import exclusive_transaction
from .mechanisms import NoisePlacement, plan_response
from .release import find_sum_noise, release_answers, release_sum
from .task import PairTask

# Framed two-party connection over TLS: each message is preceded by its length.
Result = TypeVar("Result")
_PIECE = 2**16


class Endpoint(Protocol):
    """Interface of an endpoint of a two-party connection, over any transport."""

    def send(self, message: bytes) -> None:
        """Send one message. Raises `ProtocolError`."""

    def receive(self) -> bytes:
        """The next message. Raises `ProtocolError`."""


@dataclass(slots=True, repr=False, eq=False)
class Connection:
    """Endpoint of a two-party connection. It counts messages and bytes.

    Attributes:
        tls_socket: A socket whose other end has been authenticated.
        sent_bytes: Bytes of messages, without those of TLS.
        received_bytes: Bytes of messages that came, counted like `sent_bytes`.
    """

    tls_socket: ssl.SSLSocket
    sent_bytes: int = field(default=0, init=False)
    received_bytes: int = field(default=0, init=False)
    _buffer: bytearray = field(default_factory=bytearray, init=False)

    @classmethod
    def from_socket(
        cls, raw: socket.socket, context: ssl.SSLContext, name: str = "", timeout: float = PATIENCE
    ) -> Connection:
        """Open a connection over a socket.

        Args:
            context: What both ends prove; it says who is called and who calls.
            name: Name of the party that is called, at the caller.

        Raises:
            ProtocolAborted: the other end is somebody else, or is gone.
        """
        raw.settimeout(timeout)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        is_called = context.protocol == ssl.PROTOCOL_TLS_SERVER
        try:
            return cls(context.wrap_socket(raw, server_side=is_called, server_hostname=None if is_called else name))
        except OSError:  # that of TLS is one, too
            raw.close()
            raise ProtocolError("peer", "it did not prove who it is, or was lost", 502) from None

    def send(self, message: bytes) -> None:
        """Send one message.

        Raises:
            ProtocolAborted: the other party is gone.
        """
        patience = self.tls_socket.gettimeout()
        try:
            self.tls_socket.settimeout(0)
            for part in (len(message).to_bytes(LENGTH, "little"), message):
                self._send_all(memoryview(part), patience)
        except OSError as error:
            raise _connection_error(error) from None
        finally:
            self.tls_socket.settimeout(patience)
        self.sent_bytes += LENGTH + len(message)

    def _send_all(self, rest: memoryview, patience: float | None) -> None:
        """Send, and receive meanwhile: if both waited until the other one reads, neither would (deadlock)."""
        while rest:
            try:
                rest = rest[self.tls_socket.send(rest) :]
            except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
                readable, writable, _ = select([self.tls_socket], [self.tls_socket], [], patience)
                if not (readable or writable):
                    raise TimeoutError from None
                if readable:
                    self._fill_buffer()

    def _fill_buffer(self) -> None:
        """Keep what has come, without waiting for more."""
        with suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
            while True:
                found = self.tls_socket.recv(_PIECE)
                if not found:
                    raise ConnectionError
                self._buffer += found

    def receive(self) -> bytes:
        """The next message.

        Raises:
            ProtocolAborted: the other party is gone, or silent for too long, or says too much at once.
        """
        size = int.from_bytes(self._receive_exactly(LENGTH), "little")
        if size > LARGEST_MESSAGE:
            raise ProtocolError("peer", f"a message has at most {LARGEST_MESSAGE} bytes", 502)
        message = self._receive_exactly(size)
        self.received_bytes += LENGTH + size
        return message

    def close(self) -> None:
        """Close the connection."""
        self.tls_socket.close()

    def _receive_exactly(self, size: int) -> bytes:
        room, read = bytearray(size), min(size, len(self._buffer))
        room[:read] = self._buffer[:read]
        del self._buffer[:read]
        with memoryview(room) as view:
            while read < size:
                try:
                    found = self.tls_socket.recv_into(view[read:])
                except OSError as error:
                    raise _connection_error(error) from None
                if not found:
                    raise ProtocolError("peer", "the connection was lost", 502)
                read += found
        return cast("bytes", room)  # a copy of millions of bytes, and nobody writes there any more


def _connection_error(error: OSError) -> ProtocolError:
    if isinstance(error, TimeoutError):
        return ProtocolError("peer", "it was silent for too long", 504)
    return ProtocolError("peer", "the connection was lost", 502)


def run_protocol(talk: Talk[Result], connection: Endpoint) -> Result:
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
class StoredRun:
    """SECRET: record of a server for a job."""

    state: RunState
    run: bytes
    share: bytes


class RunStore(Protocol):
    """SECRET: storage of a server's shares: a file of its own, or the database of its ledger."""

    def load_run(self, job: bytes) -> StoredRun:
        """The stored share of a job, if there is one."""

    def store_run(self, job: bytes, run: bytes, share: bytes) -> None:
        """Keep a share, in place of one that was never confirmed. Raises `ProtocolError`: one was."""

    def confirm_run(self, job: bytes, run: bytes) -> None:
        """Remember that the other server has its share of this run. Raises `ProtocolError`: it is another one."""


@dataclass(frozen=True, slots=True, repr=False)
class FileRunStore:
    """SECRET: a server's own file of shares. It has no repr.

    Attributes:
        path: The file, an SQLite database that its owner alone may read.
    """

    path: Path

    def load_run(self, job: bytes) -> StoredRun:
        """The stored share of a job, if there is one."""
        with self._open_transaction() as base:
            found = base.execute("SELECT state, run, share FROM runs WHERE job = ?", (job,)).fetchone()
        return StoredRun(RunState(found[0]), found[1], found[2]) if found else StoredRun(RunState.NOTHING, NOTHING, b"")

    def store_run(self, job: bytes, run: bytes, share: bytes) -> None:
        """Keep a share, in place of one that was never confirmed.

        Raises:
            ProtocolAborted: one was.
        """
        with self._open_transaction() as base:
            base.execute("DELETE FROM runs WHERE job = ? AND state < ?", (job, RunState.CONFIRMED))
            fresh = (job, RunState.STORED, run, share)
            found = base.execute("INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?)", fresh).rowcount
        if found != 1:
            raise ProtocolError("settlement", "another session of this job was confirmed", 409)

    def confirm_run(self, job: bytes, run: bytes) -> None:
        """Remember that the other server has its share of this run: from now on there is no other one.

        Raises:
            ProtocolAborted: another session has stored another run in the meantime.
        """
        with self._open_transaction() as base:
            changed = base.execute(
                "UPDATE runs SET state = ? WHERE job = ? AND run = ?", (RunState.CONFIRMED, job, run)
            )
            found = changed.rowcount
        if found != 1:
            raise ProtocolError("settlement", "another session of this job has taken its place", 409)

    def _open_transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        return exclusive_transaction(self.path, "settlements", (_TABLE,))


def settle_run(
    job: bytes, session: Callable[[], Talk[list[Bits]]], store: RunStore, randomness: Randomness
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
    kept, nonce = store.load_run(job), randomness.random_bytes(RUN_SIZE)
    yield bytes([kept.state]) + kept.run + nonce
    told = _parse_run_state((yield None))
    if RunState.NOTHING in (kept.state, told.state) or kept.run != told.run:
        if RunState.CONFIRMED in (kept.state, told.state):
            raise ProtocolError("settlement", "one server has lost its share of the run that counts", 409)
        run = sha256(b"run 1\n" + job + min(nonce, told.share) + max(nonce, told.share)).digest()[:RUN_SIZE]
        share = _share_to_bytes((yield from session()))
        store.store_run(job, run, share)
        kept = StoredRun(RunState.STORED, run, share)
        yield bytes([kept.state]) + run + nonce
        told = _parse_run_state((yield None))
        if told.run != run or told.state is RunState.NOTHING:
            raise ProtocolError("settlement", "the other server has not stored this run", 409)
    store.confirm_run(job, kept.run)
    yield kept.share
    return _open_shares(kept.share, (yield None))


def _parse_run_state(message: bytes) -> StoredRun:
    """Parse the other server's message; its nonce is in place of a share."""
    if len(message) != 1 + 2 * RUN_SIZE or message[0] not in set(RunState):
        raise ProtocolError("settlement", "a state, a run and a nonce are needed")
    return StoredRun(RunState(message[0]), message[1 : 1 + RUN_SIZE], message[1 + RUN_SIZE :])


def _share_to_bytes(share: list[Bits]) -> bytes:
    """Wires one after the other: their number, their instances, and a bit for each."""
    shape = np.array([len(share), len(share[0])], "<u8").tobytes()
    return shape + np.packbits(np.concatenate(share), bitorder="little").tobytes()


def _open_shares(own: bytes, other: bytes) -> list[Bits]:
    if len(own) != len(other) or own[:16] != other[:16]:
        raise ProtocolError("share", "it is of other outputs")
    return reconstruct_bits(_share_from_bytes(own), _share_from_bytes(other))


def _share_from_bytes(share: bytes) -> list[Bits]:
    wires, count = np.frombuffer(share[:16], "<u8").tolist()
    bits = np.unpackbits(np.frombuffer(share[16:], np.uint8), count=wires * count, bitorder="little")
    return list(bits.astype(np.bool_).reshape(wires, count))


WARM = 256
"""Instances that the fast loops are taken for."""


def compile_loops() -> None:
    """Compile the fast loops, so that the first answer does not wait for them."""
    job = Job(b"warm", trace_circuit(lambda x, y: x < y, 1, 1), (InputOwner.SHARED, InputOwner.SHARED), WARM)
    zeros = [np.zeros(WARM, np.uint64)] * 2
    run_both_parties(garble(job, zeros, Randomness.from_system()), evaluate(job, zeros, Randomness.from_system()))


@dataclass(frozen=True)
class TaskPairs:
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
            raise ProtocolError("reports", f"of {self.people} people nothing is told: {error}", 409) from None

    @cached_property
    def pairs(self) -> IntArray:
        """Two numbers of people for each pair; people are numbered as their reports are in order of ids."""
        return promise.draw_committed_pairs(self.task.pairing, self.people, self.seed, self.task.commitment)

    def build_job(self, name: bytes) -> Job:
        """The circuit for all pairs."""
        kernel, count = self.task.kernel, len(self.pairs)
        if self.task.noise is NoisePlacement.EACH:
            return promise.build_server_answers_job(name, kernel, plan_response(self.task.query, self.task.loss), count)
        return promise.build_sum_job(name, kernel, find_sum_noise(self.plan), count)

    def build_release(self, bits: Sequence[Bits], allotment: Allotment) -> Release:
        """Release of the opened output."""
        if self.task.noise is NoisePlacement.EACH:
            answers = promise.decode_answers(plan_response(self.task.query, self.task.loss), bits)
            return release_answers(self.plan, self.pairs, answers, allotment, seeded=False)
        return release_sum(self.plan, self.pairs, promise.decode_sum(bits), allotment, seeded=False)


@dataclass(frozen=True, repr=False)
class PairSession:
    """SECRET. State of one of the two servers in a garbled-circuit session over a task of pairs. It has no repr.

    Formal guarantees: those of `garble` and `settle_run`: the other server learns no more than the opened output of one
    run, whose noise is thrown by both, once for each set of people, however often it is asked for.

    Attributes:
        pairs: Public facts of the pairs.
        status: Set of people that count.
        party: 0 garbles, 1 evaluates.
        shares: This server's shares of each column, in order.
    """

    pairs: TaskPairs
    status: TaskStatus
    party: int
    shares: Sequence[NDArray[np.uint64]]

    @property
    def name(self) -> bytes:
        """Name of the session."""
        return self.derive_name(self.pairs.task, str(self.status.report_set))

    @staticmethod
    def derive_name(task: PairTask, people: str) -> bytes:
        """Name of the session of a set of people, equal in all releases of this program: none draws coins again."""
        return sha256(f"dpcurves pairs {task.hash} {people}".encode()).digest()

    def run_protocol(self, store: RunStore, randomness: Randomness) -> Talk[list[Bits]]:
        """Protocol: both run the computation once, or open the shares that they have."""
        return settle_run(self.name, lambda: self._run_computation(randomness), store, randomness)

    def _run_computation(self, randomness: Randomness) -> Talk[list[Bits]]:
        job = self.pairs.build_job(self.name)
        act, coins = (garble, evaluate)[self.party], [None] * len(job.final_step.owners) if job.final_step else []
        return act(job, self._prepare_inputs(randomness), randomness, coins)

    def _prepare_inputs(self, randomness: Randomness) -> list[NDArray[np.uint64] | None]:
        task, pairs = self.pairs.task, self.pairs.pairs
        shares = dict(zip(task.kernel.columns, self.shares, strict=True))
        if task.noise is NoisePlacement.ON_SUM:
            return promise.prepare_sum_inputs(task.kernel, shares, pairs)
        response = plan_response(task.query, task.loss)
        return promise.prepare_server_answer_inputs(task.kernel, response, shares, pairs, self.party, randomness)
