"""Connection limits: a number of connections at a time, each with a time limit; the peer server is exempt."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Protocol

from dpcurves.arguments import Refused

SECONDS = 10
MOST_CONNECTIONS = 512


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of what unauthenticated clients may occupy.

    Attributes:
        connections: At a time, the other server's not counted: half of them to come in and be silent, half to be
            answered.
        seconds: From the first byte to the head of a request, handshake included, and from an answer to the next head.

    Raises:
        ValueError: there is room for nobody, or no time.
    """

    connections: int = MOST_CONNECTIONS
    seconds: float = SECONDS

    def __post_init__(self) -> None:
        if self.connections < 2 or self.seconds <= 0:
            raise Refused("connections, deadline", "at least 2 connections and 1 second are needed")


USUAL = Limits()


class Visit(Protocol):
    """A connection, from its first byte on."""

    def leave(self) -> None:
        """End it at once."""
        ...


class Door:
    """Keeps connections few. Whoever has been silent for longest makes room for who comes.

    So connections that say nothing keep nobody out: who comes is let in, and has to ask before as many others come as
    there is room for. Who has asked and waits for an answer stays. The other server is one who comes until it has
    proven itself; from then on it is not counted, and stays.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits, self._most = limits, limits.connections // 2
        self._silent: dict[Visit, asyncio.TimerHandle] = {}
        self._busy: set[Visit] = set()

    def waits_for(self, visit: Visit) -> None:
        """It has come, or was answered: it has so long to ask."""
        if visit in self._silent:
            return
        while len(self._silent) >= self._most:
            self._send_away(next(iter(self._silent)))
        self._busy.discard(visit)
        loop = asyncio.get_running_loop()
        self._silent[visit] = loop.call_later(self._limits.seconds, self._send_away, visit)

    def has_room_for(self, visit: Visit) -> bool:
        """Tell whether a request may be answered now."""
        return visit in self._busy or len(self._busy) < self._most

    def works_for(self, visit: Visit) -> None:
        """It has asked."""
        self.forget(visit)
        self._busy.add(visit)

    def forget(self, visit: Visit) -> None:
        """It has gone, or is the other server's."""
        self._busy.discard(visit)
        if timer := self._silent.pop(visit, None):
            timer.cancel()

    def _send_away(self, visit: Visit) -> None:
        self.forget(visit)
        visit.leave()
