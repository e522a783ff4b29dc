"""Redis Streams, as a source that loses nothing in a crash, and as a sink that has each step once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ..arguments import NotInstalled, Refused
from .intake import Intake
from .open_windows import OpenWindows
from .reading import StepReading
from .window import Window, Windows

AT_ONCE = 10_000
LONGEST_WAIT = 1000
"""Milliseconds after which the server is asked for the time again."""
_TROUBLE = "Redis cannot be reached, or does not answer as a stream does (what it says is not shown)"

Result = TypeVar("Result")


class RedisStream:
    """Tuples in a Redis stream, each an entry with the fields of a tuple, read by a consumer group.

    An entry arrived when its id says, by the clock of the server; so what is late does not depend on when it was read.
    It is acknowledged after the noisy counts of its step were stored, or once it is dropped: after a crash what was
    read and not stored is delivered again. One process at a time reads as one consumer.

    Args:
        url: ``redis://host:6379/0``, ``rediss://...`` or ``unix:///socket``.
        stream: The key of the stream.
        group: The consumer group; one for each stream that is followed.
        consumer: The consumer.
    """

    def __init__(self, url: str, stream: str, *, group: str = "dpcurves", consumer: str = "dpcurves") -> None:
        self._url, self._stream, self._group, self._consumer = url, stream, group, consumer

    def __repr__(self) -> str:
        return f"RedisStream({self._stream!r})"

    def windows(self, intake: Intake) -> Windows:
        """The windows of the stream."""
        return RedisWindows(_Entries(_client(self._url), self._stream, self._group, self._consumer), intake)


class RedisWindows:
    """Counts entries into windows that close by the clock of the server."""

    def __init__(self, entries: _Entries, intake: Intake) -> None:
        self._entries, self._intake = entries, intake
        self._unsettled: dict[int, list[bytes]] = {}
        self._dropped: list[bytes] = []

    def check(self) -> None:
        """Make the group, unless it is there."""
        self._entries.join()

    def after(self, tick: int) -> Iterator[Sequence[Window]]:
        """All later windows, as they close."""
        schedule, windows = self._intake.schedule, self._intake.open_windows(tick)
        for batch in self._entries.delivered():
            self._take(windows, batch)
        while tick != schedule.ticks:
            now = self._entries.now()
            self._drain(windows, now)
            last = schedule.closed_by(now)
            for ticks in self._intake.batches(tick + 1, last):
                yield windows.close(ticks[-1])
            if last <= tick:
                self._take(windows, self._entries.new(max(1, (schedule.closes(tick + 1) - now) // 1000)))
            tick = max(tick, last)

    def done(self, tick: int) -> None:
        """Acknowledge what windows up to this one were counted from, and what was dropped."""
        settled, self._dropped = self._dropped, []
        for step in [step for step in self._unsettled if step <= tick]:
            settled += self._unsettled.pop(step)
        self._entries.acknowledge(settled)

    def _drain(self, windows: OpenWindows, now: int) -> None:
        """Take all that arrived before now."""
        while batch := self._entries.new(None):
            self._take(windows, batch)
            if _arrived(batch[-1][0]) >= now:
                return

    def _take(self, windows: OpenWindows, batch: Sequence[tuple[bytes, Mapping[bytes, bytes] | None]]) -> None:
        for name, fields in batch:
            step = windows.take(_decoded(fields), _arrived(name))
            (self._dropped if step is None else self._unsettled.setdefault(step, [])).append(name)


class RedisSink:
    """A Redis stream with one entry a step, whose id is the step's number: what is there is not written again.

    Args:
        url: The server.
        stream: The key of the stream.
    """

    def __init__(self, url: str, stream: str) -> None:
        self._client, self._stream = _client(url), stream

    def write(self, reading: StepReading) -> None:
        """Write one step, unless it is there.

        Raises:
            ValueError: there is another one in its place.
        """
        name, fields = f"{reading.step}-0", {"lines": json.dumps(reading.lines())}
        there = _said(lambda: self._client.xrange(self._stream, name, name))
        if not there:
            _said(lambda: self._client.xadd(self._stream, fields, id=name))
        elif _decoded(there[0][1]) != fields:
            raise Refused("sink", f"{self._stream!r} has another step {reading.step}; write to another stream")


class _Entries:
    """One consumer of a group."""

    def __init__(self, client: Any, stream: str, group: str, consumer: str) -> None:
        self._client, self._stream, self._group, self._consumer = client, stream, group, consumer

    def join(self) -> None:
        """Make stream and group, unless they are there."""
        groups = _said(lambda: self._client.xinfo_groups(self._stream) if self._client.exists(self._stream) else [])
        if self._group.encode() not in [group["name"] for group in groups]:
            _said(lambda: self._client.xgroup_create(self._stream, self._group, id="0", mkstream=True))

    def now(self) -> int:
        """Microseconds since 1970, by the server's clock."""
        seconds, microseconds = _said(self._client.time)
        return int(seconds) * 1_000_000 + int(microseconds)

    def delivered(self) -> Iterator[list[tuple[bytes, Any]]]:
        """What was delivered before, and not acknowledged."""
        name: bytes | str = "0"
        while batch := self._read(name, None):
            yield batch
            name = batch[-1][0]

    def new(self, wait: int | None) -> list[tuple[bytes, Any]]:
        """What was not delivered yet; for so many milliseconds, if there is nothing."""
        return self._read(">", None if wait is None else min(wait, LONGEST_WAIT))

    def acknowledge(self, names: Sequence[bytes]) -> None:
        """These are settled."""
        for start in range(0, len(names), AT_ONCE):
            some = names[start : start + AT_ONCE]
            _said(lambda some=some: self._client.xack(self._stream, self._group, *some))  # type: ignore[misc]

    def _read(self, name: bytes | str, wait: int | None) -> list[tuple[bytes, Any]]:
        streams = {self._stream: name}
        found = _said(lambda: self._client.xreadgroup(self._group, self._consumer, streams, count=AT_ONCE, block=wait))
        if isinstance(found, Mapping):  # the newer protocol
            return [entry for batches in found.values() for batch in batches for entry in batch]
        return [entry for _, entries in found or () for entry in entries]


def _client(url: str) -> Any:
    try:
        import redis
    except ImportError:
        raise NotInstalled("source", "Redis needs an extra: pip install 'dpcurves[redis]'") from None
    try:
        return redis.Redis.from_url(url)
    except ValueError:
        trouble = "a URL like redis://host:6379/0 or unix:///socket is needed"
    raise Refused("source", trouble)


def _said(action: Callable[[], Result]) -> Result:
    """What the server answers. What it says when it fails is not told: it may quote an entry."""
    import redis

    try:
        return action()
    except redis.RedisError:
        pass
    raise Refused("source", _TROUBLE)


def _arrived(name: bytes) -> int:
    """The time in an entry's id, in microseconds."""
    return int(name.partition(b"-")[0]) * 1000


def _decoded(fields: Mapping[bytes, bytes] | None) -> dict[str, str] | None:
    """The fields as text; None for an entry that was deleted meanwhile."""
    if not fields:
        return None
    return {name.decode(errors="replace"): value.decode(errors="replace") for name, value in fields.items()}
