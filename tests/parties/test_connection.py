"""Two parties talk over TLS; who is somebody else, or says too much, or goes away, is told so in one line."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcurves.arguments import ProtocolError
from dpcurves.noise import Randomness
from dpcurves_parties.crypto.circuits import trace_circuit
from dpcurves_parties.crypto.garbling import reconstruct_bits
from dpcurves_parties.crypto.two_party import InputOwner, Job, evaluate, garble
from dpcurves_parties.pairs import Connection, run_protocol
from dpcurves_parties.serving.identity import CERTIFICATE_FILE, TLS_KEY_FILE, Identity

pytest.importorskip("rbcl")
NAME = "127.0.0.1"


@pytest.fixture(scope="module")
def identities(tmp_path_factory: pytest.TempPathFactory) -> list[Identity]:
    folder = tmp_path_factory.mktemp("identities")
    return [Identity.create(folder / str(number), f"https://{NAME}:{8701 + number}") for number in range(3)]


def context(own: Identity, other: Identity, protocol: int) -> ssl.SSLContext:
    """Proves who one is, and believes one other."""
    made = ssl.SSLContext(protocol)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.load_cert_chain(Path(own.folder, CERTIFICATE_FILE), Path(own.folder, TLS_KEY_FILE))
    made.load_verify_locations(cadata=other.public.certificate)
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    made.verify_mode = ssl.CERT_REQUIRED
    return made


@contextmanager
def connected(called: ssl.SSLContext, calls: ssl.SSLContext) -> Iterator[list[Any]]:
    """Both ends, or what each of them was told."""

    def end(raw: socket.socket, made: ssl.SSLContext) -> Any:
        try:
            return Connection.from_socket(raw, made, NAME, timeout=60)
        except ProtocolError as error:
            return error

    with ThreadPoolExecutor(2) as pool:
        with socket.create_server((NAME, 0)) as listening:
            raw = socket.create_connection(listening.getsockname())
            other, _ = listening.accept()
        ends = list(pool.map(end, (other, raw), (called, calls)))
        try:
            yield ends
        finally:
            for each in ends:
                if isinstance(each, Connection):
                    each.close()


def test_two_parties_who_say_much_at_once_do_not_wait_for_each_other_for_ever(identities: list[Identity]) -> None:
    """Each says more than both sockets hold before it listens."""
    first, second, _ = identities
    server, client = context(first, second, ssl.PROTOCOL_TLS_SERVER), context(second, first, ssl.PROTOCOL_TLS_CLIENT)
    said = [bytes([number]) * 2**23 for number in (1, 2)]

    def exchanged(end: Connection, message: bytes) -> list[bytes]:
        end.send(message)
        end.send(message[:3])
        return [end.receive(), end.receive()]

    with connected(server, client) as ends, ThreadPoolExecutor(2) as pool:
        heard = list(pool.map(exchanged, ends, said))
    assert heard == [[said[1], said[1][:3]], [said[0], said[0][:3]]]


def test_two_parties_talk_over_tls_and_count_what_they_say(identities: list[Identity]) -> None:
    first, second, _ = identities
    job = Job(b"tls", trace_circuit(lambda x, y: x < y, 16, 16), (InputOwner.GARBLER, InputOwner.EVALUATOR), 500)
    x, y = np.random.default_rng(1).integers(0, 2**16, (2, 500), dtype=np.uint64)
    server, client = context(first, second, ssl.PROTOCOL_TLS_SERVER), context(second, first, ssl.PROTOCOL_TLS_CLIENT)
    with connected(server, client) as (one, other), ThreadPoolExecutor(2) as pool:
        talks = garble(job, [x, None], Randomness.from_system()), evaluate(job, [None, y], Randomness.from_system())
        shares = list(pool.map(run_protocol, talks, (one, other)))
        assert np.array_equal(reconstruct_bits(*shares)[0], x < y)
        assert (one.sent_bytes, one.received_bytes) == (other.received_bytes, other.sent_bytes)
        assert one.sent_bytes > 500 * 16 * 32


def test_who_is_somebody_else_is_not_talked_to(identities: list[Identity]) -> None:
    first, second, third = identities
    server, client = context(first, second, ssl.PROTOCOL_TLS_SERVER), context(third, first, ssl.PROTOCOL_TLS_CLIENT)
    with connected(server, client) as (one, _):
        assert isinstance(one, ProtocolError)
        assert str(one) == (
            "peer: TLS authentication failed, or the connection was lost; serve the task with its own keys at"
            " both servers, then ask again"
        )


def test_a_party_that_goes_away_or_says_too_much_ends_the_talk(identities: list[Identity]) -> None:
    first, second, _ = identities
    server, client = context(first, second, ssl.PROTOCOL_TLS_SERVER), context(second, first, ssl.PROTOCOL_TLS_CLIENT)
    with connected(server, client) as (one, other):
        other.tls_socket.sendall((2**40).to_bytes(8, "little"))
        with pytest.raises(ProtocolError, match="^peer: must send messages of at most"):
            one.receive()
    with connected(server, client) as (one, other):
        other.tls_socket.sendall((9).to_bytes(8, "little") + b"cut")
        other.tls_socket.shutdown(socket.SHUT_RDWR)
        other.close()
        with pytest.raises(ProtocolError, match="^peer: the connection was lost; ask again$"):
            one.receive()
