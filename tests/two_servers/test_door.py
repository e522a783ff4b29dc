"""Who may stay at a server: the silent make room in the order in which they came, and whoever is answered stays."""

from __future__ import annotations

import asyncio
import resource
import socket
from pathlib import Path

import pytest
import uvicorn
from fastapi.responses import JSONResponse
from uvicorn.server import ServerState

from dpcurves_parties.serving.channel import trusting
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.messages import leave_no_image
from dpcurves_parties.serving.server import Door, Entrance, Guest, Limits, listening_at, proving


class Stranger:
    """A connection that remembers that it was sent away."""

    def __init__(self, name: str, gone: list[str]) -> None:
        self.name, self.gone = name, gone

    def leave(self) -> None:
        self.gone.append(self.name)


def test_whoever_was_silent_for_longest_makes_room_and_whoever_is_answered_stays() -> None:
    async def come() -> list[str]:
        door, gone = Door(Limits(connections=4, seconds=60)), list[str]()
        first, second, third, fourth, peer = (Stranger(name, gone) for name in ("1", "2", "3", "4", "peer"))
        for one in (first, second):
            door.waits_for(one)
        door.works_for(first)  # it has asked: there is room for another silent one
        door.waits_for(third)
        assert gone == []
        door.waits_for(third)  # more bytes of what is no request yet
        door.waits_for(fourth)
        assert gone == ["2"]
        door.works_for(third)
        assert not door.has_room_for(fourth)
        assert door.has_room_for(third)
        door.waits_for(first)  # answered, and silent again: behind those who came before
        door.forget(third)
        assert door.has_room_for(fourth)
        door.waits_for(peer)
        door.forget(peer)
        return gone

    assert asyncio.run(come()) == ["2", "4"]


def test_silence_ends_at_the_deadline_and_not_before_who_asked_in_time() -> None:
    async def wait() -> list[str]:
        door, gone = Door(Limits(connections=8, seconds=0.01)), list[str]()
        silent, asking = Stranger("silent", gone), Stranger("asking", gone)
        for one in (silent, asking):
            door.waits_for(one)
        door.works_for(asking)
        while not gone:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        return gone

    assert asyncio.run(wait()) == ["silent"]


def test_limits_leave_room_and_time() -> None:
    for connections, seconds in ((1, 10.0), (512, 0.0)):
        with pytest.raises(ValueError, match=r"^connections, deadline: at least 2 connections and 1 second are needed"):
            Limits(connections, seconds)


def test_short_answers_are_sent_at_once_and_who_has_no_handshake_leaves_nothing_behind(tmp_path: Path) -> None:
    identity = Identity.found(tmp_path / "a", "https://127.0.0.1:1")
    config = uvicorn.Config(JSONResponse({"known": 7}), ws="none", lifespan="off", log_level="critical")
    config.load()

    async def ask() -> tuple[bytes, int, int]:
        came, door, (listening,) = list[socket.socket](), Door(Limits(4, 60)), listening_at("127.0.0.1", 0)

        def welcome(connection: socket.socket) -> None:
            came.append(connection)
            Guest(door, config, ServerState()).come(connection, proving(identity.certificate, identity.proof, []))

        entrance, port = Entrance([listening], welcome), listening.getsockname()[1]
        _, rude = await asyncio.open_connection("127.0.0.1", port)
        rude.write(b"GET / HTTP/1.1\r\n\r\n")
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting(identity.public.certificate))
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
    leave_no_image()
    assert set_to == [(resource.RLIMIT_CORE, (0, 9))]
