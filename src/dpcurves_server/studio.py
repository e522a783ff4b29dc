"""The process that draws sketches and comparisons, a cache of results, and requests that wait for pictures.

It is no pool's: one that takes too long is killed and another begun, and it ends with the server, even a killed one.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from typing import IO, cast

from fastapi.concurrency import run_in_threadpool

from dpcurves_parties.serving.messages import ProtocolAborted

from .recent import Recent
from .releases import Releases
from .sketches import BESIDE, SKETCH, Drawn, Facts
from .synthetic import Synthetic

MOST_KEPT, MOST_WAITING = 64, 128
SECONDS = 600.0
"""Seconds for one picture, behind all others on a busy machine; then its process is ended, and another begins."""
NO_PICTURE = "it can not be drawn now; look again later"


class Studio:
    """Draws what costs nothing. Nobody who serves pages draws, and nobody waits in their threads.

    Formal guarantees: what goes to the process is public or was released, and it is given no store.
    """

    def __init__(self) -> None:
        self._hands = {kind: ThreadPoolExecutor(1, kind) for kind in (SKETCH, BESIDE)}
        self._turn = threading.Lock()
        self._kept = Recent[Drawn](MOST_KEPT)
        self._last: dict[str, Future[Drawn]] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._has = ""

    def start(self) -> None:
        """Begin the process, which reads what it needs while nobody waits for it."""
        self._hands[SKETCH].submit(self._warmed)

    def stop(self) -> None:
        """End, whatever is being drawn."""
        for hand in self._hands.values():
            hand.shutdown(wait=False, cancel_futures=True)
        self._end()

    def find(self, facts: Facts, table: Synthetic | None) -> Drawn | None:
        """A picture that was drawn lately."""
        return self._kept.find(_key(facts, table))

    def order(self, facts: Facts, table: Synthetic | None, whose: str = "") -> Future[Drawn]:
        """Have it drawn, unless it is kept. An earlier one of the same person that still waits is not drawn any more.

        Arguments:
            facts: What it is made from.
            table: The synthetic table; None: there is none.
            whose: Who looks at one picture at a time; empty: nobody does.

        Raises:
            ProtocolAborted: too many wait.
        """
        earlier = self._last.pop(whose, None)
        if earlier is not None:
            earlier.cancel()
        hand = self._hands[facts["draw"]]
        if hand._work_queue.qsize() >= MOST_WAITING:
            raise ProtocolAborted("picture", NO_PICTURE, 503)
        coming = hand.submit(self._kept.get, _key(facts, table), lambda: self._drawn(facts, table))
        if whose:
            self._last[whose] = coming
            coming.add_done_callback(lambda done: self._forget(whose, done))
        return coming

    def _forget(self, whose: str, done: Future[Drawn]) -> None:
        if self._last.get(whose) is done:
            self._last.pop(whose, None)

    def _warmed(self) -> None:
        with self._turn:
            self._running()

    def _drawn(self, facts: Facts, table: Synthetic | None) -> Drawn:
        with self._turn:  # of sketches and of comparisons by turns, however many wait of either
            return self._drawn_now(facts, table)

    def _drawn_now(self, facts: Facts, table: Synthetic | None) -> Drawn:
        ending = threading.Timer(SECONDS, self._kill)
        ending.start()
        try:
            answer = self._asked(self._running(), facts, table)
        except (OSError, ValueError):
            self._end()
            raise ProtocolAborted("picture", NO_PICTURE, 503) from None
        finally:
            ending.cancel()
        if "wrong" in answer:
            raise ProtocolAborted("picture", answer["wrong"] or NO_PICTURE, 503)
        return Drawn(**answer)

    def _asked(self, process: subprocess.Popen[bytes], facts: Facts, table: Synthetic | None) -> Facts:
        """Tell the process, and read what it answers. Raises `OSError` or `ValueError`: it has ended."""
        sent = b"" if table is None or table.digest == self._has else table.packed
        line = json.dumps({**facts, "octets": len(sent), "has_table": table is not None})
        to, back = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        to.write(line.encode() + b"\n" + sent)
        to.flush()
        if sent and table is not None:
            self._has = table.digest
        return cast("Facts", json.loads(back.readline()))

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            command = [sys.executable, "-m", "dpcurves_server.artist"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._has = ""
        return self._process

    def _kill(self) -> None:
        process = self._process
        if process is not None:
            process.kill()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    cast("IO[bytes]", pipe).close()


def _key(facts: Facts, table: Synthetic | None) -> bytes:
    """The cache key of a picture; a synthetic table enters by its digest."""
    known = "" if table is None else table.digest
    return sha256(f"{known}\n{json.dumps(facts)}".encode()).digest()


# Waiting for pictures that other processes draw. Who waits holds no thread: pages need those.
PATIENCE, POLL = 60.0, 0.25
"""Seconds that a picture is waited for, and between polls whether it is there."""


async def until_drawn(releases: Releases, id: str) -> None:
    """Wait until the picture of an answer is there, for so long at most. Whoever waits has been let in before."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not await run_in_threadpool(releases.is_drawn, id):
        await asyncio.sleep(POLL)


async def until_made(coming: Future[Drawn]) -> Drawn:
    """Wait for a sketch or a comparison, for so long at most.

    Raises:
        ProtocolAborted: it was not drawn in time, or can not be, or the same person wanted another one instead.
    """
    try:
        return await asyncio.wait_for(asyncio.wrap_future(coming), PATIENCE)
    except TimeoutError:
        raise ProtocolAborted("picture", NO_PICTURE, 503) from None
    except asyncio.CancelledError:
        if coming.cancelled():
            raise ProtocolAborted("picture", NO_PICTURE, 503) from None
        raise
