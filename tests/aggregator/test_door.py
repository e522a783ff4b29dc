"""Who may stay at a server: the silent make room in the order in which they came, and whoever is answered stays."""

from __future__ import annotations

import asyncio
import resource

import pytest

from dpcurves.aggregator.door import Door, Limits
from dpcurves.aggregator.launch import leave_no_image


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


def test_a_server_that_crashes_leaves_no_image_of_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    set_to: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda which: (7, 9))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: set_to.append((which, limits)))
    leave_no_image()
    assert set_to == [(resource.RLIMIT_CORE, (0, 9))]
