"""SECRET. Session of a secure two-party computation over pairs of people, of which only one result is ever opened.

The computation evaluates a kernel (a function of two people's records) and noise for public random pairs in a garbled
circuit. Each server ends with an XOR share of the noisy output, which alone is uniform. A job is what is paid for once:
a task and its people. A run is one execution of a job, with fresh noise.

    Connection     messages over TLS, each preceded by its length
    settle_run     makes both servers agree on one run of a job, and opens that run's output alone
    PairSession    one server's part in the session

Formal guarantees: two runs of one job would release two noisy results for one charge. `settle_run` excludes this, also
if a server is killed: a server opens its share only after it has stored that the other server has its share of the same
run. "SECRET" marks code whose values must not leave the server.
"""

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
from ..serving.server import LARGEST_MESSAGE, LENGTH_SIZE, PEER_SECONDS
from ..serving.two_servers.store import TaskStatus
from . import pair_terms
from .device import exclusive_transaction
from .mechanisms import NoisePlacement, plan_response
from .release import find_sum_noise, release_answers, release_sum
from .task import PairTask

# Framed two-party connection over TLS: each message is preceded by its length.
Result = TypeVar("Result")


class Endpoint(Protocol):
    """Interface of an endpoint of a two-party connection, over any transport."""

    def send(self, message: bytes) -> None:
        """Send one message of a two-party session to the other party.

        Raises:
            ProtocolError: the connection is lost or times out.
        """

    def receive(self) -> bytes:
        """Wait for the other party's next message and return it.

        Raises:
            ProtocolError: the connection is lost or times out.
        """


@dataclass(slots=True, repr=False, eq=False)
class Connection:
    """Endpoint of a two-party TLS connection. It counts messages and bytes.

    Attributes:
        tls_socket: Socket whose peer has been authenticated.
        sent_bytes: Bytes of sent messages, without TLS overhead.
        received_bytes: Bytes of received messages, counted like `sent_bytes`.
    """

    tls_socket: ssl.SSLSocket
    sent_bytes: int = field(default=0, init=False)
    received_bytes: int = field(default=0, init=False)
    _buffer: bytearray = field(default_factory=bytearray, init=False)

    @classmethod
    def from_socket(
        cls, tcp_socket: socket.socket, context: ssl.SSLContext, name: str = "", timeout: float = PEER_SECONDS
    ) -> Connection:
        """Return the endpoint of a new TLS connection over a socket; the socket is closed if the handshake fails.

        Args:
            tcp_socket: Connected socket.
            context: TLS context, which also decides whether this end is client or server.
            name: Name of the server as in its certificate; only used at the client.
            timeout: Seconds to wait for each message.

        Raises:
            ProtocolError: the peer failed to authenticate, or the connection was lost.
        """
        tcp_socket.settimeout(timeout)
        tcp_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        is_server = context.protocol == ssl.PROTOCOL_TLS_SERVER
        try:
            return cls(
                context.wrap_socket(tcp_socket, server_side=is_server, server_hostname=None if is_server else name)
            )
        except OSError:  # ssl.SSLError is an OSError
            tcp_socket.close()
            raise ProtocolError(
                "peer",
                "TLS authentication failed, or the connection was lost; serve the task with its own "
                "keys at both servers, then ask again",
                502,
            ) from None

    def send(self, message: bytes) -> None:
        """Send one message, preceded by its length, while reading the bytes that arrive.

        Raises:
            ProtocolError: the connection was lost (status 502), or nothing moved until the timeout (504).
        """
        timeout = self.tls_socket.gettimeout()
        try:
            self.tls_socket.settimeout(0)
            for chunk in (len(message).to_bytes(LENGTH_SIZE, "little"), message):
                self._send_all(memoryview(chunk), timeout)
        except OSError as error:
            raise _connection_error(error) from None
        finally:
            self.tls_socket.settimeout(timeout)
        self.sent_bytes += LENGTH_SIZE + len(message)

    def _send_all(self, remaining: memoryview, timeout: float | None) -> None:
        """Send the bytes in `remaining`, and move arriving bytes to the buffer meanwhile: if both ends only sent, both
        would block on full buffers (deadlock).

        Args:
            remaining: Bytes to send.
            timeout: Seconds of waiting without progress; None: without limit.

        Raises:
            TimeoutError: nothing could be sent or received for `timeout` seconds.
        """
        while remaining:
            try:
                remaining = remaining[self.tls_socket.send(remaining) :]
            except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
                readable, writable, _ = select([self.tls_socket], [self.tls_socket], [], timeout)
                if not (readable or writable):
                    raise TimeoutError from None
                if readable:
                    self._fill_buffer()

    def _fill_buffer(self) -> None:
        """Append to the buffer what has arrived and can be read without waiting."""
        with suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
            while True:
                # 2**16 bytes per read: room for the largest TLS record
                data = self.tls_socket.recv(2**16)
                if not data:
                    raise ConnectionError
                self._buffer += data

    def receive(self) -> bytes:
        """Return the next message of the other end, without its length, after at most the timeout.

        Raises:
            ProtocolError: the connection was lost, timed out, or announced a message that is too long.
        """
        size = int.from_bytes(self._receive_exactly(LENGTH_SIZE), "little")
        if size > LARGEST_MESSAGE:
            raise ProtocolError(
                "peer",
                f"must send messages of at most {LARGEST_MESSAGE} bytes; use the same version of "
                "dpcurves at both servers",
                502,
            )
        message = self._receive_exactly(size)
        self.received_bytes += LENGTH_SIZE + size
        return message

    def close(self) -> None:
        """Close the TLS connection to the other server at once, without waiting for its answer."""
        self.tls_socket.close()

    def _receive_exactly(self, size: int) -> bytes:
        """Return the next bytes of the connection, from the buffer first.

        Args:
            size: Number of bytes.

        Raises:
            ProtocolError: the connection is lost, or times out.
        """
        buffer = bytearray(size)
        filled = min(size, len(self._buffer))
        buffer[:filled] = self._buffer[:filled]
        del self._buffer[:filled]
        with memoryview(buffer) as view:
            while filled < size:
                try:
                    received = self.tls_socket.recv_into(view[filled:])
                except OSError as error:
                    raise _connection_error(error) from None
                if not received:
                    raise ProtocolError("peer", "the connection was lost; ask again", 502)
                filled += received
        return cast("bytes", buffer)  # bytes() would copy millions of bytes; the buffer is not changed any more


def _connection_error(error: OSError) -> ProtocolError:
    """Return the `ProtocolError` for a failed socket operation: status 504 after a timeout, else 502.

    Args:
        error: Exception of the socket.
    """
    if isinstance(error, TimeoutError):
        return ProtocolError("peer", "no message came before the timeout; ask again", 504)
    return ProtocolError("peer", "the connection was lost; ask again", 502)


def run_protocol(talk: Talk[Result], connection: Endpoint) -> Result:
    """Run one party's generator of messages over a connection, and return the generator's result.

    Args:
        talk: Generator that yields a message to send it, and yields None to receive the next one.
        connection: Endpoint of the connection to the other party.

    Raises:
        ProtocolError: a message was not the next message of the protocol, or the connection was lost. The run is
            over.
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


# Agreement of two servers on one run of a job: output shares of a second run are never opened.
Bits = NDArray[np.bool_]
RUN_ID_SIZE = 16
"""Bytes of the id of a run (one execution of the two-party computation), a truncated SHA-256, and of the nonces it is
computed from: enough that no two runs share an id."""
ZERO_RUN_ID = bytes(RUN_ID_SIZE)
"""Id that a server reports if it has stored no run of a job."""
_TABLE = "CREATE TABLE IF NOT EXISTS runs (job BLOB PRIMARY KEY, state INTEGER, run BLOB, share BLOB)"
"""One row is the latest run of a job: its state (`RunState`), its id, and this server's share of the result."""


class RunState(IntEnum):
    """State of a job at a server; states only rise, except that an unconfirmed share may be replaced."""

    NOTHING = 0
    """No share is stored."""
    STORED = 1
    """The server's share is on its disk."""
    CONFIRMED = 2
    """The other server has confirmed that it stored its share of the same run."""


@dataclass(frozen=True, slots=True, repr=False)
class StoredRun:
    """SECRET: a server's stored share of a job's output, with the id and state of its run.

    Attributes:
        state: State of the job at this server.
        run: Id of the run, 16 bytes; zeros without a run.
        share: Encoded XOR share of the output wires; empty without a run.
    """

    state: RunState
    run: bytes
    share: bytes


class RunStore(Protocol):
    """SECRET: storage of a server's shares, in a file or in the database of its ledger."""

    def load_run(self, job: bytes) -> StoredRun:
        """Return the stored run of a job; without one: state NOTHING, an id of zeros, and an empty share."""

    def store_run(self, job: bytes, run: bytes, share: bytes) -> None:
        """Store this server's share of a run's result durably; a share that was never confirmed is replaced.

        Args:
            job: Name of the job, 32 bytes.
            run: Id of the run, 16 bytes.
            share: This server's share of the result. SECRET.

        Raises:
            ProtocolError: a run of the job was confirmed.
        """

    def confirm_run(self, job: bytes, run: bytes) -> None:
        """Record durably that the other server has stored its share of the same run; repetition changes nothing.

        Args:
            job: Name of the job, 32 bytes.
            run: Id of the run that this server has stored, 16 bytes.

        Raises:
            ProtocolError: this server has stored no run of the job, or a run with another id.
        """


@dataclass(frozen=True, slots=True, repr=False)
class FileRunStore:
    """SECRET: shares of a server in an SQLite file. It has no repr.

    Attributes:
        path: SQLite database file that only its owner may read.
    """

    path: Path

    def load_run(self, job: bytes) -> StoredRun:
        """Return the stored run of a job; without one: state NOTHING, an id of zeros, and an empty share."""
        with self._open_transaction() as connection:
            row = connection.execute("SELECT state, run, share FROM runs WHERE job = ?", (job,)).fetchone()
        return StoredRun(RunState(row[0]), row[1], row[2]) if row else StoredRun(RunState.NOTHING, ZERO_RUN_ID, b"")

    def store_run(self, job: bytes, run: bytes, share: bytes) -> None:
        """Store this server's share of a run's result in the file; a share that was never confirmed is replaced.

        Args:
            job: Name of the job, 32 bytes.
            run: Id of the run, 16 bytes.
            share: This server's share of the result. SECRET.

        Raises:
            ProtocolError: a run of this job was confirmed.
        """
        with self._open_transaction() as connection:
            connection.execute("DELETE FROM runs WHERE job = ? AND state < ?", (job, RunState.CONFIRMED))
            row = (job, RunState.STORED, run, share)
            inserted = connection.execute("INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?)", row).rowcount
        if inserted != 1:
            raise ProtocolError(
                "settlement", "another session of this job was confirmed, so its stored answer counts; ask again", 409
            )

    def confirm_run(self, job: bytes, run: bytes) -> None:
        """Record that the other server has stored its share of this run, too. Later runs of the job are refused.

        A repeated call with the same run changes nothing.

        Args:
            job: Name of the job, 32 bytes.
            run: Id of the run, 16 bytes.

        Raises:
            ProtocolError: no run of this job is stored, or another session has stored another run in the meantime.
        """
        with self._open_transaction() as connection:
            cursor = connection.execute(
                "UPDATE runs SET state = ? WHERE job = ? AND run = ?", (RunState.CONFIRMED, job, run)
            )
            updated = cursor.rowcount
        if updated != 1:
            raise ProtocolError("settlement", "another session of this job has taken its place; ask again", 409)

    def _open_transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """Open an exclusive, durable transaction in the file; a missing table is created."""
        return exclusive_transaction(self.path, "settlements", (_TABLE,))


def settle_run(
    job: bytes, session: Callable[[], Talk[list[Bits]]], store: RunStore, randomness: Randomness
) -> Talk[list[Bits]]:
    """Run a two-party computation (job) unless both servers have shares of one run already, and return the opened
    output bits.

    Both servers send the state of their stored run. If both have shares of the same run, these are opened. Otherwise,
    if neither has a confirmation, both run the session, store their shares, tell each other, store that confirmation,
    and only then open their shares.

    Formal guarantees: a server opens shares of one run of a job only, whatever is cut off or killed, and whatever the
    other server sends afterwards: before it opens a share it has stored that the other server has its own share, and
    from then on it refuses to run the session again. If sessions of a job overlap, only one run is confirmed and the
    others abort. So the random bits, which each run draws anew, protect one output, which is paid for once. A share
    that was not opened is uniform to the other server, so the output of its run stays unknown. Not covered: a file that
    is restored from a backup.

    Args:
        job: Name of the job, 32 bytes, equal in all versions of this program: a hash of a task and its people.
        session: Starts this server's part of the computation; its result is this server's share.
        store: Durable storage of this server's share.
        randomness: Random source of the nonce in the run's id.

    Returns:
        The output, one array of bits per wire with one bit per instance of the circuit.

    Raises:
        ProtocolError: a message was not the next message of the protocol, or a server has lost its share of the
            confirmed run.
    """
    stored = store.load_run(job)
    nonce = randomness.random_bytes(RUN_ID_SIZE)
    yield bytes([stored.state]) + stored.run + nonce
    reported = _parse_run_state((yield None))
    if RunState.NOTHING in (stored.state, reported.state) or stored.run != reported.run:
        if RunState.CONFIRMED in (stored.state, reported.state):
            raise ProtocolError(
                "settlement",
                "the stores disagree: one server has lost its share of the confirmed run, and nothing is answered; "
                "restore the latest backup of that server's store, and ask again",
                409,
            )
        run = sha256(b"run 1\n" + job + min(nonce, reported.share) + max(nonce, reported.share)).digest()[:RUN_ID_SIZE]
        share = _share_to_bytes((yield from session()))
        store.store_run(job, run, share)
        stored = StoredRun(RunState.STORED, run, share)
        yield bytes([stored.state]) + run + nonce
        reported = _parse_run_state((yield None))
        if reported.run != run or reported.state is RunState.NOTHING:
            raise ProtocolError("settlement", "the other server has not stored this run; ask again", 409)
    store.confirm_run(job, stored.run)
    yield stored.share
    return _open_shares(stored.share, (yield None))


def _parse_run_state(message: bytes) -> StoredRun:
    """Parse the other server's message about its stored run, which has a nonce instead of a share.

    Raises:
        ProtocolError: the message has another size, or an unknown state.
    """
    if len(message) != 1 + 2 * RUN_ID_SIZE or message[0] not in set(RunState):
        raise ProtocolError(
            "settlement", "must hold a state, a run id and a nonce; use the same version of dpcurves at both servers"
        )
    return StoredRun(RunState(message[0]), message[1 : 1 + RUN_ID_SIZE], message[1 + RUN_ID_SIZE :])


def _share_to_bytes(share: list[Bits]) -> bytes:
    """Encode wires as their number, their instances, and one bit per wire and instance.

    Args:
        share: Bits of each wire, one array over all instances.

    Returns:
        Both numbers as 64-bit little-endian integers, then the packed bits, by wire.
    """
    shape = np.array([len(share), len(share[0])], "<u8").tobytes()
    return shape + np.packbits(np.concatenate(share), bitorder="little").tobytes()


def _open_shares(own_share: bytes, peer_share: bytes) -> list[Bits]:
    """Return the output bits from both servers' encoded XOR shares.

    Args:
        own_share: Share of this server.
        peer_share: Share of the other server.

    Returns:
        One array of bits per wire.

    Raises:
        ProtocolError: the shapes differ.
    """
    if len(own_share) != len(peer_share) or own_share[:16] != peer_share[:16]:
        raise ProtocolError(
            "share", "must have the same shape at both servers; use the same version of dpcurves at both"
        )
    return reconstruct_bits(_share_from_bytes(own_share), _share_from_bytes(peer_share))


def _share_from_bytes(share: bytes) -> list[Bits]:
    """Return a share's bits, one array per wire: the inverse of `_share_to_bytes`.

    Args:
        share: Bytes that `_share_to_bytes` wrote.
    """
    wires, count = np.frombuffer(share[:16], "<u8").tolist()
    bits = np.unpackbits(np.frombuffer(share[16:], np.uint8), count=wires * count, bitorder="little")
    return list(bits.astype(np.bool_).reshape(wires, count))


def compile_loops() -> None:
    """Compile the engine's loops now, so that the first answer does not wait; a dummy circuit is run for that."""
    # instances of the circuit that is run to compile the loops; compiled loops are used from 64 instances on
    warm = 256
    job = Job(b"warm", trace_circuit(lambda x, y: x < y, 1, 1), (InputOwner.SHARED, InputOwner.SHARED), warm)
    zeros = [np.zeros(warm, np.uint64)] * 2
    run_both_parties(garble(job, zeros, Randomness.from_system()), evaluate(job, zeros, Randomness.from_system()))


@dataclass(frozen=True)
class TaskPairs:
    """Public facts of the pairs of a closed task.

    Attributes:
        task: The task.
        people: Number of people in the accepted report set, that is those whose reports count.
        seed: Seed that pairs are drawn from, whose commitment stands in the task.
    """

    task: PairTask
    people: int
    seed: bytes

    @cached_property
    def plan(self) -> Plan:
        """Plan of the task's release: kernel, noise, and numbers of people and pairs, all public.

        Raises:
            ProtocolError: there are too few people.
        """
        try:
            return self.task.plan(self.people)
        except UnsupportedQuery as error:
            raise ProtocolError(
                "reports", f"{self.people} people are too few for an answer: {error}; make a new task", 409
            ) from None

    @cached_property
    def pairs(self) -> IntArray:
        """Numbers of both people of each pair, (pairs, 2). People are numbered in the order of their report ids."""
        return pair_terms.draw_committed_pairs(self.task.pairing, self.people, self.seed, self.task.commitment)

    def build_job(self, name: bytes) -> Job:
        """Return the two-party computation: the circuit of one pair, with one instance per pair.

        Args:
            name: Unique name of the session, 32 bytes.
        """
        kernel = self.task.kernel
        count = len(self.pairs)
        if self.task.noise is NoisePlacement.EACH:
            return pair_terms.build_server_answers_job(
                name, kernel, plan_response(self.task.query, self.task.loss), count
            )
        return pair_terms.build_sum_job(name, kernel, find_sum_noise(self.plan), count)

    def build_release(self, bits: Sequence[Bits], allotment: Allotment) -> Release:
        """Return the release of a task of pairs, decoded from the output bits that both servers have opened.

        Args:
            bits: The opened output, one array of bits per wire.
            allotment: Receipt of the ledger's charge, which the release must carry.
        """
        if self.task.noise is NoisePlacement.EACH:
            answers = pair_terms.decode_answers(plan_response(self.task.query, self.task.loss), bits)
            return release_answers(self.plan, self.pairs, answers, allotment, seeded=False)
        return release_sum(self.plan, self.pairs, pair_terms.decode_sum(bits), allotment, seeded=False)


@dataclass(frozen=True, repr=False)
class PairSession:
    """SECRET. State of one of two servers in a garbled-circuit session over a task of pairs. It has no repr.

    Formal guarantees: if both servers follow the protocol, the other server learns no more than the opened output of
    one run (see `garble` and `settle_run`). Both servers draw that run's noise together, once per set of people,
    however often the output is asked for.

    Attributes:
        pairs: Public facts of the pairs.
        status: Status of the closed task, which names the accepted report set.
        party: Number of this server: 0 garbles, 1 evaluates.
        shares: This server's XOR shares, an array (people,) for each column of the kernel, in the kernel's order.
    """

    pairs: TaskPairs
    status: TaskStatus
    party: int
    shares: Sequence[NDArray[np.uint64]]

    @property
    def name(self) -> bytes:
        """Name of the session of this task and report set, 32 bytes, which both servers derive alike."""
        return self.derive_name(self.pairs.task, str(self.status.report_set))

    @staticmethod
    def derive_name(task: PairTask, people: str) -> bytes:
        """Return the session name of a report set, 32 bytes (SHA-256).

        All versions of this program must derive the same name. Otherwise a newer one would not recognise the stored
        run, and would draw noise again.

        Args:
            task: The task.
            people: Id of the accepted report set, as text.
        """
        return sha256(f"dpcurves pairs {task.hash} {people}".encode()).digest()

    def run_protocol(self, store: RunStore, randomness: Randomness) -> Talk[list[Bits]]:
        """Run the computation with the other server, or open the stored shares; return the output bits, per wire.

        Args:
            store: Storage of this server's share.
            randomness: This server's random source.
        """
        return settle_run(self.name, lambda: self._run_computation(randomness), store, randomness)

    def _run_computation(self, randomness: Randomness) -> Talk[list[Bits]]:
        """Run this server's side of the circuit: server 0 garbles, server 1 evaluates; return its output shares.

        Args:
            randomness: Source of random bits for garbling and for the inputs.

        Returns:
            Generator that yields messages to the other server and receives its messages; its result is an array of
            share bits per output wire.
        """
        job = self.pairs.build_job(self.name)
        run_role = (garble, evaluate)[self.party]
        random_inputs = [None] * len(job.final_step.owners) if job.final_step else []
        return run_role(job, self._prepare_inputs(randomness), randomness, random_inputs)

    def _prepare_inputs(self, randomness: Randomness) -> list[NDArray[np.uint64] | None]:
        """SECRET: return this server's inputs to the job, one array per input; None where the other server alone
        supplies it.

        Args:
            randomness: Source of random bits for the noise.
        """
        task, pairs = self.pairs.task, self.pairs.pairs
        shares = dict(zip(task.kernel.columns, self.shares, strict=True))
        if task.noise is NoisePlacement.ON_SUM:
            return pair_terms.prepare_sum_inputs(task.kernel, shares, pairs)
        response = plan_response(task.query, task.loss)
        return pair_terms.prepare_server_answer_inputs(task.kernel, response, shares, pairs, self.party, randomness)
