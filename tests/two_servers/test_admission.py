"""Admission control of connections: idle ones and slow bodies make room, and requests that are answered stay."""

from __future__ import annotations

import asyncio
import gc
import re
import resource
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import uvicorn
from fastapi.responses import JSONResponse
from uvicorn.server import ServerState

from dpcurves_parties.serving.channel import Channel, make_pinned_context
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.messages import ProtocolError, disable_core_dumps
from dpcurves_parties.serving.server import (
    Admission,
    HttpConnection,
    Limits,
    Listener,
    make_server_context,
    open_listening_sockets,
    parse_network,
)


class Stranger:
    """A connection that remembers that it was evicted."""

    def __init__(self, name: str, gone: list[str], network: str = "192.0.2.1") -> None:
        self.name, self.gone, self.network = name, gone, network

    def abort(self) -> None:
        self.gone.append(self.name)


def test_the_oldest_idle_connection_is_evicted_and_one_that_is_answered_is_not() -> None:
    async def come() -> list[str]:
        admission, gone = Admission(Limits(connections=4, head_timeout=60)), list[str]()
        first, second, third, fourth, peer = (Stranger(name, gone) for name in ("1", "2", "3", "4", "peer"))
        for one in (first, second):
            admission.mark_idle(one)
        assert admission.admit_request(first, complete=True)  # there is room for another idle one
        admission.mark_idle(third)
        assert gone == []
        admission.mark_idle(third)  # more bytes of what is no request yet
        admission.mark_idle(fourth)
        assert gone == ["2"]
        assert admission.admit_request(third, complete=True)
        assert not admission.admit_request(fourth, complete=False)
        assert admission.admit_request(third, complete=True)
        admission.mark_idle(first)  # answered, and idle again: behind those who came before
        admission.remove(third)
        assert admission.admit_request(fourth, complete=True)
        admission.mark_idle(peer)
        admission.remove(peer)
        return gone

    assert asyncio.run(come()) == ["2"]


def test_a_body_that_comes_slowly_makes_room_and_an_address_that_opens_many_competes_with_itself() -> None:
    async def come() -> list[str]:
        admission, gone = Admission(Limits(connections=8, head_timeout=60)), list[str]()
        honest = Stranger("honest", gone, "198.51.100.7")
        assert admission.admit_request(honest, complete=False)
        slow = [Stranger(str(number), gone) for number in range(40)]
        for one in slow:
            admission.mark_idle(one)
            assert admission.admit_request(one, complete=False)
        assert admission.admit_request(honest, complete=True)
        answered = [Stranger(f"answered {number}", gone, f"203.0.113.{number}") for number in range(3)]
        assert [admission.admit_request(one, complete=True) for one in answered] == [True] * 3
        assert not admission.admit_request(Stranger("late", gone), complete=True)
        for one in [Stranger(f"idle {number}", gone) for number in range(9)]:
            admission.mark_idle(one)
        return gone

    gone = asyncio.run(come())
    assert [name for name in gone if name.isdecimal()] == [str(number) for number in range(40)]
    assert [name for name in gone if not name.isdecimal()] == [f"idle {number}" for number in range(5)]


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.9", "192.0.2.9"), ("::ffff:192.0.2.9", "192.0.2.9"), ("2001:db8:1:2:3::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"), ("", ""),
    ],
)  # fmt: skip
def test_an_address_of_ipv6_counts_by_its_network(address: str, network: str) -> None:
    assert parse_network(address) == network


def test_silence_ends_at_the_deadline_and_not_before_who_asked_in_time() -> None:
    async def wait() -> list[str]:
        admission, gone = Admission(Limits(connections=8, head_timeout=0.01)), list[str]()
        silent, asking = Stranger("silent", gone), Stranger("asking", gone)
        for one in (silent, asking):
            admission.mark_idle(one)
        admission.admit_request(asking, complete=True)
        while not gone:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        return gone

    assert asyncio.run(wait()) == ["silent"]


def test_limits_leave_room_and_time() -> None:
    for connections, seconds in ((1, 10.0), (512, 0.0)):
        with pytest.raises(
            ValueError, match=r"^connections, deadline: must be at least 2 connections and more than 0 seconds"
        ):
            Limits(connections, seconds)


def test_short_answers_are_sent_at_once_and_who_has_no_handshake_leaves_nothing_behind(tmp_path: Path) -> None:
    identity = Identity.create(tmp_path / "a", "https://127.0.0.1:1")
    config = uvicorn.Config(JSONResponse({"known": 7}), ws="none", lifespan="off", log_level="critical")
    config.load()

    async def ask() -> tuple[bytes, int, int]:
        came, admission, (listening,) = (
            list[socket.socket](),
            Admission(Limits(4, 60)),
            open_listening_sockets("127.0.0.1", 0),
        )

        def welcome(connection: socket.socket) -> None:
            came.append(connection)
            HttpConnection(admission, config, ServerState()).start_handshake(
                connection, make_server_context(identity.certificate_file, identity.private_key_file, [])
            )

        entrance, port = Listener([listening], welcome), listening.getsockname()[1]
        _, rude = await asyncio.open_connection("127.0.0.1", port)
        rude.write(b"GET / HTTP/1.1\r\n\r\n")
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=make_pinned_context(identity.public.certificate)
        )
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        nodelay = came[1].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        said = await reader.read()
        for one in (rude, writer):
            one.close()
        entrance.close()
        await entrance.wait_closed()
        return said, nodelay, came[0].fileno()

    said, nodelay, gone = asyncio.run(ask())
    assert said.endswith(b'{"known":7}')
    assert (nodelay != 0, gone) == (True, -1)


def test_a_server_that_crashes_leaves_no_image_of_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    set_to: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda which: (7, 9))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: set_to.append((which, limits)))
    disable_core_dumps()
    assert set_to == [(resource.RLIMIT_CORE, (0, 9))]


def test_a_connection_that_is_reset_before_its_handshake_leaves_no_socket_open(tmp_path: Path) -> None:
    context = make_pinned_context(Identity.create(tmp_path / "a", "https://127.0.0.1:1").public.certificate)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        raw = socket.create_connection(listening.getsockname())
        accepted, _ = listening.accept()
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        accepted.close()  # the other end is told at once: RST, as where a process was killed
        with pytest.raises(ConnectionError):
            context.wrap_socket(raw, server_hostname="127.0.0.1")
    gc.collect()  # a socket left open warns here, and warnings are errors


def test_answers_are_read_whole_or_not_at_all_and_what_is_no_answer_is_one_line(tmp_path: Path) -> None:
    identity = Identity.create(tmp_path / "a", "https://127.0.0.1:1")
    context = make_server_context(identity.certificate_file, identity.private_key_file, [])
    good, ends = b"HTTP/1.1 200 OK\r\n", b"Connection: close\r\n"
    said = {
        good + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n": b"abcde",
        b"HTTP/1.1 100 Continue\r\n\r\n" + good + ends + b"Content-Length: 2\r\n\r\nok": b"ok",
        good + b"Content-Length: 5\r\n\r\nok": "the connection to .* was lost",
        good + ends + b"\r\nok": "the connection to .* was lost",
        good + b"Content-Length: 1073741825\r\n\r\nok": "the connection to .* was lost",
        good + b"Transfer-Encoding: chunked\r\n\r\n3\r\nab": "the connection to .* was lost",
        b"SSH-2.0 nonsense\r\n": "the connection to .* was lost",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno": "refused the request without a reason",
        b'HTTP/1.1 409 Conflict\r\nContent-Length: 19\r\n\r\n{"error": "a: b c"}': "a: b c",
    }
    heard, asked = list[bytes | str](), list[bytes]()

    def answer(listening: socket.socket) -> None:
        for message in said:
            raw, _ = listening.accept()
            with context.wrap_socket(raw, server_side=True) as line:
                asked.append(line.recv(1000))
                line.sendall(message)

    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as beside:
        server = beside.submit(answer, listening)
        place, trust = (
            f"https://127.0.0.1:{listening.getsockname()[1]}",
            make_pinned_context(identity.public.certificate),
        )
        for _ in said:
            with Channel(place, trust, 60) as channel:
                try:
                    heard.append(channel.post("/tasks", b"body", "token"))
                except ProtocolError as error:
                    heard.append(str(error))
        server.result(60)
    for found, expected in zip(heard, said.values(), strict=True):
        assert found == expected if isinstance(expected, bytes) else re.search(str(expected), str(found)), found
    head = f"POST /tasks HTTP/1.1\r\nHost: {place[8:]}\r\nAccept-Encoding: identity\r\nContent-Length: 4\r\n"
    assert {one.decode() for one in asked} == {head + "Authorization: Bearer token\r\n\r\nbody"}
    for path, token in (("/a b", ""), ("/a", "one\r\nHost: two"), ("/a", "\xe9")):
        with pytest.raises(ProtocolError, match="must be printable ASCII"):
            Channel(place, trust).get(path, token)
