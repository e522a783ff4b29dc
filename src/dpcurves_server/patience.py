"""Rate limiters: failed sign-ins and requests a minute, per client, in memory, bounded."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from threading import Lock

from dpcurves_parties.serving.errors import ProtocolAborted

MOST_KEPT = 20_000
FREE_TRIES = 5
LONGEST_WAIT = 300.0
MINUTE = 60.0


@dataclass
class Patience:
    """Exponential back-off per client: each failure doubles the wait, up to five minutes."""

    _wrong: OrderedDict[Hashable, tuple[int, float]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def count(self, who: Hashable) -> None:
        """Count an attempt as a failure until `forget` clears it: concurrent attempts count, too.

        Raises:
            ProtocolAborted: they have to wait. Says for how long.
        """
        with self._lock:
            tries, until = self._wrong.get(who, (0, 0.0))
            left = until - time.monotonic()
            if tries < FREE_TRIES or left <= 0:
                self._enter(who, tries + 1)
                return
        raise ProtocolAborted("sign-in", f"too many wrong tries; try again in {left:.0f} seconds", 429)

    def forget(self, who: Hashable) -> None:
        """Clear the failures of a client that succeeded."""
        with self._lock:
            self._wrong.pop(who, None)

    def _enter(self, who: Hashable, tries: int) -> None:
        wait = min(2.0 ** min(max(tries - FREE_TRIES, 0), 60), LONGEST_WAIT)
        self._wrong.pop(who, None)
        self._wrong[who] = (tries, time.monotonic() + wait)
        while len(self._wrong) > MOST_KEPT:
            self._wrong.popitem(last=False)


@dataclass
class Rate:
    """So many requests a minute, of each."""

    most: int
    _minute: int = 0
    _asked: dict[Hashable, int] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def count(self, who: Hashable) -> None:
        """Count a request.

        Raises:
            ProtocolAborted: there were too many in this minute.
        """
        with self._lock:
            minute = int(time.monotonic() // MINUTE)
            if minute != self._minute or len(self._asked) > MOST_KEPT:
                self._minute, self._asked = minute, {}
            self._asked[who] = self._asked.get(who, 0) + 1
            too_many = self._asked[who] > self.most
        if too_many:
            raise ProtocolAborted("requests", f"at most {self.most} a minute are answered; wait a minute", 429)
