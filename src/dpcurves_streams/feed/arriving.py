"""Sources that go on: tuples that come one by one, and windows that close by the clock, whether or not any came."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence
from queue import Empty, Queue
from threading import Thread
from typing import Any

from dpcurves.arguments import Refused

from .windows import Intake, OpenWindows, Window

Given = Mapping[str, Any] | None
"""A tuple, by the names of its fields; None: it could not be read."""
POLL_SECONDS = 0.25
"""The longest wait between two looks at the clock, where nothing comes."""
_WAITING = 2**16
_FAILED = "it broke off (what it says is not shown: it may quote a tuple)"


class Arriving:
    """Counts what an iterable gives into windows that close by the clock.

    Where the last step has closed before the first tuple is asked for, as in a replay, all is read first, and nothing
    is late. Else a thread reads, and each tuple arrives when it was read. After the last tuple the windows go on to
    close until the end that was declared; without one, up to the one that is open then.

    Args:
        tuples: Mappings from names of fields to values, or None for what could not be read.
        intake: What is declared of the stream.
    """

    __slots__ = ("_intake", "_tuples")

    def __init__(self, tuples: Iterable[Given] | AsyncIterable[Given], intake: Intake) -> None:
        self._tuples, self._intake = tuples, intake

    def check(self) -> None:
        """Nothing: tuples have no schema."""

    def after(self, tick: int) -> Iterator[Sequence[Window]]:
        """Iterate over later windows, as they close."""
        windows = self._intake.open_windows(tick)
        if self._intake.is_over:
            _read_all(self._tuples, lambda given: windows.take(given, None))
            for ticks in self._intake.batches(tick + 1, self._intake.schedule.ticks or 0):
                yield windows.close(ticks[-1])
        else:
            yield from self._live(windows, tick)

    def done(self, tick: int) -> None:
        """Nothing: what an iterable gave it does not give again."""

    def _live(self, windows: OpenWindows, tick: int) -> Iterator[Sequence[Window]]:
        schedule, inbox = self._intake.schedule, _Inbox(self._tuples, self._intake)
        while tick != schedule.ticks and not inbox.is_over(tick):
            for arrived, given in inbox.until(schedule.closes(tick + 1)):
                windows.take(given, arrived)
            # Where several have closed, as after a pause, all that arrived before the last one did is taken first.
            last = max(tick + 1, schedule.closed_by(self._intake.clock.now()))
            for arrived, given in inbox.until(schedule.closes(last)):
                windows.take(given, arrived)
            for ticks in self._intake.batches(tick + 1, last):
                yield windows.close(ticks[-1])
            tick = last


class _Inbox:
    """SECRET. What a thread has read, with the time at which it did."""

    def __init__(self, tuples: Iterable[Given] | AsyncIterable[Given], intake: Intake) -> None:
        self._intake = intake
        self._queue: Queue[tuple[int, Given, bool]] = Queue(_WAITING)
        self._first: tuple[int, Given, bool] | None = None
        self._ended: int | None = None
        self._failed = False
        Thread(target=self._fill, args=(tuples,), daemon=True).start()

    def is_over(self, tick: int) -> bool:
        """Tell whether the stream has ended and its last step has closed."""
        if self._failed:
            raise Refused("source", _FAILED)
        schedule = self._intake.schedule
        return self._ended is not None and schedule.end is None and schedule.begins(tick + 1) > self._ended

    def until(self, closes: int) -> Iterator[tuple[int, Given]]:
        """Count tuples that arrive before this moment, once it has passed."""
        while (item := self._next(closes)) is not None:
            arrived, given, is_end = item
            if is_end:
                self._ended = arrived
            else:
                yield arrived, given

    def _next(self, closes: int) -> tuple[int, Given, bool] | None:
        """The next one that arrived before; none once it is time and all that is there has been read."""
        item, self._first = self._first or self._get(closes), None
        if item is not None and item[0] >= closes:
            item, self._first = None, item
        return item

    def _get(self, closes: int) -> tuple[int, Given, bool] | None:
        while True:
            wait = (closes - self._intake.clock.now()) / 1e6
            try:
                return self._queue.get_nowait() if wait <= 0 else self._queue.get(timeout=min(wait, POLL_SECONDS))
            except Empty:
                if wait <= 0:
                    return None

    def _fill(self, tuples: Iterable[Given] | AsyncIterable[Given]) -> None:
        now = self._intake.clock.now
        try:
            _read_all(tuples, lambda given: self._queue.put((now(), given, False)))
        except Refused:
            self._failed = True
        self._queue.put((now(), None, True))


def _read_all(tuples: Iterable[Given] | AsyncIterable[Given], take: Callable[[Given], object]) -> None:
    """Take all of them. What the iterable raises is not told: it may quote a tuple."""
    try:
        if isinstance(tuples, AsyncIterable):
            asyncio.run(_read_async(tuples, take))
        else:
            for given in tuples:
                take(given if isinstance(given, Mapping) else None)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        pass
    else:
        return
    raise Refused("source", _FAILED)


async def _read_async(tuples: AsyncIterable[Given], take: Callable[[Given], object]) -> None:
    async for given in tuples:
        take(given if isinstance(given, Mapping) else None)
