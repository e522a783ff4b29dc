"""Redis Streams, as a source that loses nothing in a crash, and as a sink that has each step once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from secrets import token_hex
from time import sleep
from typing import Any, TypeVar

from dpcurves.arguments import InvalidArgument, MissingPackage

from .reading import StepReading
from .windows import OpenWindows, StreamSpec, Window, Windows

AT_ONCE = 10_000
LONGEST_WAIT = 1000
"""Milliseconds after which the server is asked for the time again."""
_TROUBLE = "Redis cannot be reached, or does not answer as a stream does (what it says is not shown)"

LEASE_SECONDS = 10.0
"""After so long another process may take the place of one that does not say that it is still there."""
POLL_SECONDS = 0.25
_HOLD = """
local holder = redis.call('get', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
_LEAVE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"

Result = TypeVar("Result")
Entry = tuple[bytes, Mapping[bytes, bytes] | None]


class RedisStream:
    """Tuples in a Redis stream, each an entry with the fields of a tuple, read by a consumer group.

    An entry arrived when its id says, by the clock of the server; so what is late does not depend on when it was read.
    Ids that were given by hand may lie in the future, and then those after them do, too: such an entry arrived when it
    was read, and if it does not count, it is in no total of what is not counted, for after a crash it might be in two.
    It is acknowledged after the noisy counts of its step were stored, or once it is dropped: after a crash
    what was read and not stored is delivered again.

    One process at a time reads a group: it holds a key, ``STREAM:GROUP:reader``, that lapses after `LEASE_SECONDS`. Any
    other waits, and goes on in its place once it is gone, with what it has left, and with the same numbers. (The ledger
    has one answer for each step whoever reads.)

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

    def windows(self, intake: StreamSpec) -> Windows:
        """The windows of the stream."""
        return RedisWindows(_GroupConsumer(_connect(self._url), self._stream, self._group, self._consumer), intake)


class RedisWindows:
    """Counts entries into windows that close by the clock of the server."""

    def __init__(self, entries: _GroupConsumer, intake: StreamSpec) -> None:
        self._entries, self._intake = entries, intake
        self._unsettled: dict[int, list[bytes]] = {}
        self._dropped: list[bytes] = []

    def check(self) -> None:
        """Make the group, unless it is there."""
        self._entries.create_group()

    def windows_after(self, tick: int) -> Iterator[Sequence[Window]]:
        """Iterate over later windows, as they close.

        Raises:
            ValueError: another process went on in this one's place.
        """
        while not self._entries.acquire_lease():
            sleep(POLL_SECONDS)
        try:
            yield from self._iterate_windows(tick)
        finally:
            self._entries.release_lease()

    def commit_windows(self, tick: int) -> None:
        """Acknowledge what windows up to this one were counted from, and what was dropped."""
        settled, self._dropped = self._dropped, []
        for step in [step for step in self._unsettled if step <= tick]:
            settled += self._unsettled.pop(step)
        self._entries.acknowledge(settled)

    def _iterate_windows(self, tick: int) -> Iterator[Sequence[Window]]:
        schedule, windows = self._intake.schedule, self._intake.open_windows(tick)
        for batch in self._entries.read_pending():
            self._count_batch(windows, batch)
        while tick != schedule.ticks:
            now, newest = self._entries.read_server_time(), self._entries.read_newest_id()
            while batch := self._entries.read_new(None):  # all entries up to this one
                self._count_batch(windows, batch)
                if _parse_entry_id(batch[-1][0]) >= _parse_entry_id(newest):
                    break
            last = schedule.last_closed_tick(now)
            for ticks in self._intake.batch_ticks(tick + 1, last):
                yield windows.close_windows(ticks[-1])
            if last <= tick:
                self._count_batch(
                    windows, self._entries.read_new(max(1, (schedule.closing_time(tick + 1) - now) // 1000))
                )
            tick = max(tick, last)

    def _count_batch(self, windows: OpenWindows, batch: Sequence[Entry]) -> None:
        if not self._entries.acquire_lease():
            raise InvalidArgument("source", "another process reads this stream now, and goes on with the same numbers")
        now = self._entries.read_server_time() if batch else 0
        for name, fields in batch:
            arrived = _parse_entry_id(name)[0] * 1000
            step = windows.count_tuple(_decode_fields(fields), min(arrived, now), is_dated=arrived <= now)
            (self._dropped if step is None else self._unsettled.setdefault(step, [])).append(name)


class RedisSink:
    """A Redis stream with one entry a step, whose id is the step's number: what is there is not written again.

    Args:
        url: The server.
        stream: The key of the stream.
    """

    def __init__(self, url: str, stream: str) -> None:
        self._client, self._stream = _connect(url), stream

    def write(self, reading: StepReading) -> None:
        """Write one step, unless it is there.

        Raises:
            ValueError: there is another one in its place.
        """
        fields = {"lines": json.dumps(reading.to_dicts())}
        there = self._find_entry(reading.step)
        if there is None:
            try:
                _call_server(lambda: self._client.xadd(self._stream, fields, id=f"{reading.step}-0"))
            except InvalidArgument:  # another process may have written it meanwhile
                there = self._find_entry(reading.step)
                if there is None:
                    raise
        if there not in (None, fields):
            raise InvalidArgument("sink", f"{self._stream!r} has another step {reading.step}; write to another stream")

    def _find_entry(self, step: int) -> dict[str, str] | None:
        """The entry of a step; None if there is none."""
        there = _call_server(lambda: self._client.xrange(self._stream, f"{step}-0", f"{step}-0"))
        return _decode_fields(there[0][1]) if there else None


class _GroupConsumer:
    """A consumer of a consumer group."""

    def __init__(self, client: Any, stream: str, group: str, consumer: str) -> None:
        self._client, self._stream, self._group, self._consumer = client, stream, group, consumer
        self._reader, self._name = f"{stream}:{group}:reader", token_hex(16)

    def create_group(self) -> None:
        """Make stream and group, unless they are there. Another process may make them at the same moment."""
        if self._has_group():
            return
        try:
            _call_server(lambda: self._client.xgroup_create(self._stream, self._group, id="0", mkstream=True))
        except InvalidArgument:
            if not self._has_group():
                raise

    def acquire_lease(self) -> bool:
        """Take the lease of the group for a while; False if another process has it."""
        lease = int(LEASE_SECONDS * 1000)
        return bool(_call_server(lambda: self._client.eval(_HOLD, 1, self._reader, self._name, lease)))

    def release_lease(self) -> None:
        """Let another process read the group. Where the server is gone, the key lapses by itself."""
        with suppress(InvalidArgument):
            _call_server(lambda: self._client.eval(_LEAVE, 1, self._reader, self._name))
        with suppress(InvalidArgument):
            _call_server(self._client.close)

    def read_newest_id(self) -> bytes:
        """The id of the newest entry there ever was."""
        newest: bytes = _call_server(lambda: self._client.xinfo_stream(self._stream))["last-generated-id"]
        return newest

    def read_server_time(self) -> int:
        """Microseconds since 1970, by the server's clock."""
        seconds, microseconds = _call_server(self._client.time)
        return int(seconds) * 1_000_000 + int(microseconds)

    def read_pending(self) -> Iterator[list[tuple[bytes, Any]]]:
        """Entries delivered before, to any consumer of the group, and not acknowledged."""
        start: bytes | str = "0"
        while True:
            claimed = partial(self._client.xautoclaim, self._stream, self._group, self._consumer, 0, start_id=start)
            start, *_ = _call_server(partial(claimed, count=AT_ONCE, justid=False))
            if start in (b"0-0", "0-0"):
                break
        name: bytes | str = "0"
        while batch := self._read_group(name, None):
            yield batch
            name = batch[-1][0]

    def read_new(self, wait: int | None) -> list[tuple[bytes, Any]]:
        """Entries that were not delivered yet; waits so many milliseconds if there are none."""
        return self._read_group(">", None if wait is None else min(wait, LONGEST_WAIT))

    def acknowledge(self, names: Sequence[bytes]) -> None:
        """These are settled."""
        for start in range(0, len(names), AT_ONCE):
            some = names[start : start + AT_ONCE]
            _call_server(lambda some=some: self._client.xack(self._stream, self._group, *some))  # type: ignore[misc]

    def _has_group(self) -> bool:
        groups = _call_server(
            lambda: self._client.xinfo_groups(self._stream) if self._client.exists(self._stream) else []
        )
        return self._group.encode() in [group["name"] for group in groups]

    def _read_group(self, name: bytes | str, wait: int | None) -> list[tuple[bytes, Any]]:
        streams = {self._stream: name}
        found = _call_server(
            lambda: self._client.xreadgroup(self._group, self._consumer, streams, count=AT_ONCE, block=wait)
        )
        if isinstance(found, Mapping):  # the newer protocol
            return [entry for batches in found.values() for batch in batches for entry in batch]
        return [entry for _, entries in found or () for entry in entries]


def _connect(url: str) -> Any:
    try:
        import redis
    except ImportError:
        raise MissingPackage("source", "Redis needs an extra: pip install 'dpcurves[redis]'") from None
    try:
        return redis.Redis.from_url(url)
    except ValueError:
        trouble = "a URL like redis://host:6379/0 or unix:///socket is needed"
    raise InvalidArgument("source", trouble)


def _call_server(action: Callable[[], Result]) -> Result:
    """The reply of the server. Its error text is not passed on: it may quote an entry."""
    import redis

    try:
        return action()
    except redis.RedisError:
        pass
    raise InvalidArgument("source", _TROUBLE)


def _parse_entry_id(name: bytes) -> tuple[int, int]:
    """The time in an entry's id, in milliseconds, and its number within."""
    time, _, number = name.partition(b"-")
    return int(time), int(number or 0)


def _decode_fields(fields: Mapping[bytes, bytes] | None) -> dict[str, str] | None:
    """The fields as text; None for an entry that was deleted meanwhile."""
    if not fields:
        return None
    return {name.decode(errors="replace"): value.decode(errors="replace") for name, value in fields.items()}
