"""Redis Streams adapter: a source of tuples that loses none in a crash, and a sink that holds each time step once.

The source reads tuples (timestamped rows) from entries of a Redis stream, which are counted by time step. The sink
writes the released noisy counts of each step to another Redis stream.

    RedisStream    source, a consumer group: entries are acknowledged when their step is stored, so a crash loses none
    RedisSink      an entry for each step, whose id is the step's number; an existing entry is never overwritten
    lease          a key with an expiry time, by which one process reads a group at a time

A step's window closes when the server's clock has passed its end and grace period (watermark). Error texts of the
server are hidden, because they may quote an entry. This module adds no noise; the counts of windows are SECRET.
"""

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

ENTRIES_PER_REQUEST = 10_000
"""Largest number of stream entries per request to Redis; more take more memory and fewer requests."""
# Redis errors are replaced by this text.
_SERVER_FAILURE = (
    "Redis cannot be reached, or the key is not a stream;"
    " check the URL and the key (its error is not shown, because it may quote an"
    " entry)"
)
"""Error in place of any error of Redis or its client."""

LEASE_SECONDS = 10.0
"""Seconds after which the lease of a reader expires, so that another process may take over. A living reader renews it
with each batch, so a short time is enough."""
# Scripts that Redis runs atomically: take or renew the lease unless another process holds it; release it if it is ours.
_TAKE_LEASE = """
local holder = redis.call('get', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
"""Script that takes or renews the lease; returns 0 if another process holds it, so that this one must not read."""
_RELEASE_LEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
"""Script that releases the lease if this process holds it, so that another one need not wait until it expires."""

Result = TypeVar("Result")
Entry = tuple[bytes, Mapping[bytes, bytes] | None]
"""Id and fields of a stream entry; None instead of fields if the entry was deleted."""


class RedisStream:
    """Tuples in a Redis stream, whose entries hold the fields of a tuple, read by a consumer group.

    The id of an entry is its arrival time by the server's clock, so late data do not depend on when an entry is read.
    Ids that were given by hand may lie in the future, and then all later ids do. Such an entry arrives when it is read;
    if it is not counted, it is in no released total, since it might be in two after a crash. Entries are acknowledged
    after the noisy counts of their step were stored, or once they are dropped. After a crash, entries that were read
    and not stored are delivered again.

    One process at a time reads a group. It holds a key, ``STREAM:GROUP:reader``, which expires after `LEASE_SECONDS`.
    Other processes wait; once the reader is gone, one of them continues with the remaining entries and the same
    numbers. (The ledger has one release per step, for all readers.)

    Args:
        url: ``redis://host:6379/0``, ``rediss://...`` or ``unix:///socket``.
        stream: Key of the stream.
        group: Consumer group; each followed stream needs a separate group.
        consumer: Name of the consumer.
    """

    def __init__(self, url: str, stream: str, *, group: str = "dpcurves", consumer: str = "dpcurves") -> None:
        """Name a Redis stream as the source of a stream's tuples; nothing is connected yet.

        Args:
            url: URL of the server: ``redis://host:6379/0``, ``rediss://...`` or ``unix:///socket``.
            stream: Key of the stream.
            group: Consumer group; each followed stream needs a separate group.
            consumer: Name of the consumer.
        """
        self._url = url
        self._stream = stream
        self._group = group
        self._consumer = consumer

    def __repr__(self) -> str:
        return f"RedisStream({self._stream!r})"

    def windows(self, intake: StreamSpec) -> Windows:
        """Return the windows that will count the entries of the stream; no entry is read yet.

        Args:
            intake: Declared states and schedule of the stream.

        Raises:
            ImportError: The redis client is not installed.
            ValueError: The URL is invalid.
        """
        return RedisWindows(_GroupConsumer(_connect(self._url), self._stream, self._group, self._consumer), intake)


class RedisWindows:
    """Counter of stream entries in windows, which close at their watermark by the server's clock."""

    def __init__(self, entries: _GroupConsumer, intake: StreamSpec) -> None:
        """Prepare to count the entries of a Redis stream in time steps; nothing is sent to the server yet.

        Args:
            entries: The consumer that reads the entries.
            intake: Declared states and schedule of the stream.
        """
        self._entries = entries
        self._intake = intake
        self._unsettled: dict[int, list[bytes]] = {}
        self._dropped: list[bytes] = []

    def check(self) -> None:
        """Create the stream's consumer group unless it exists.

        Raises:
            ValueError: The filter or an expression is invalid, or Redis cannot be reached.
        """
        self._intake.open_windows(0)
        self._entries.create_group()

    def windows_after(self, time_step: int) -> Iterator[Sequence[Window]]:
        """Yield the windows of all steps after `time_step`, in order, as they close by the server's clock.

        The first window waits until this process holds the lease, which one process has at a time. Entries that an
        earlier process read and did not store are counted first.

        Args:
            time_step: Number of the last stored step; 0: none.

        Yields:
            SECRET. The windows that have closed since the last ones.

        Raises:
            ValueError: Another process has taken over the lease, or Redis cannot be reached.
        """
        while not self._entries.acquire_lease():
            sleep(0.25)  # seconds between attempts to acquire the lease
        try:
            yield from self._iterate_windows(time_step)
        finally:
            self._entries.release_lease()

    def commit_windows(self, time_step: int) -> None:
        """Acknowledge the entries of windows up to this step, and the dropped entries, so that none is delivered again.

        Call this method after the releases of these steps were stored.

        Args:
            time_step: Number of the last stored step.

        Raises:
            ValueError: Redis cannot be reached.
        """
        settled = self._dropped
        self._dropped = []
        for step in [step for step in self._unsettled if step <= time_step]:
            settled += self._unsettled.pop(step)
        self._entries.acknowledge(settled)

    def _iterate_windows(self, time_step: int) -> Iterator[Sequence[Window]]:
        """SECRET: yield windows as they close by the server's clock; unacknowledged entries are counted first.

        Args:
            time_step: Number of the last stored step; 0: none.
        """
        schedule = self._intake.schedule
        windows = self._intake.open_windows(time_step)
        for batch in self._entries.read_pending():
            self._count_batch(windows, batch)
        while time_step != schedule.time_steps:
            now = self._entries.read_server_time()
            newest = self._entries.read_newest_id()
            while batch := self._entries.read_new(None):  # all entries up to `newest`
                self._count_batch(windows, batch)
                if _parse_entry_id(batch[-1][0]) >= _parse_entry_id(newest):
                    break
            last = schedule.last_closed_time_step(now)
            for time_steps in self._intake.batch_time_steps(time_step + 1, last):
                yield windows.close_windows(time_steps[-1])
            if last <= time_step:
                self._count_batch(
                    windows, self._entries.read_new(max(1, (schedule.closing_time(time_step + 1) - now) // 1000))
                )
            time_step = max(time_step, last)

    def _count_batch(self, windows: OpenWindows, batch: Sequence[Entry]) -> None:
        """SECRET: count entries of the Redis stream in their steps, and remember each entry's step until it is
        acknowledged.

        Args:
            windows: The open windows, whose counts grow.
            batch: Entries: id and fields; an entry that was deleted has no fields.

        Raises:
            InvalidArgument: Another process has the lease, or Redis cannot be reached.
        """
        if not self._entries.acquire_lease():
            raise InvalidArgument(
                "source",
                "another process reads this stream now, and continues with the same numbers; wait until it has ended",
            )
        now = self._entries.read_server_time() if batch else 0
        for name, fields in batch:
            arrived = _parse_entry_id(name)[0] * 1000
            step = windows.count_tuple(_decode_fields(fields), min(arrived, now), is_dated=arrived <= now)
            (self._dropped if step is None else self._unsettled.setdefault(step, [])).append(name)


class RedisSink:
    """A Redis stream with one entry per time step, whose id is the step's number. Existing entries are not overwritten.

    Args:
        url: URL of the server.
        stream: Key of the stream.
    """

    def __init__(self, url: str, stream: str) -> None:
        self._client = _connect(url)
        self._stream = stream

    def write(self, reading: StepReading) -> None:
        """Add the entry of a time step, with its lines as JSON, unless the stream has the same entry.

        Args:
            reading: The released result of the step; steps come in order, because ids must increase.

        Raises:
            ValueError: The stream has another entry for this step, or Redis cannot be reached.
        """
        fields = {"lines": json.dumps(reading.to_dicts())}
        stored = self._find_entry(reading.step)
        if stored is None:
            try:
                _call_server(lambda: self._client.xadd(self._stream, fields, id=f"{reading.step}-0"))
            except InvalidArgument:  # another process may have written the step
                stored = self._find_entry(reading.step)
                if stored is None:
                    raise
        if stored not in (None, fields):
            raise InvalidArgument(
                "sink", f"{self._stream!r} has another entry for step {reading.step}; write to another stream"
            )

    def _find_entry(self, step: int) -> dict[str, str] | None:
        """Return the fields of the Redis entry that holds a step's release; None if the step is not stored.

        Args:
            step: Number of the time step, from 1.
        """
        entries = _call_server(lambda: self._client.xrange(self._stream, f"{step}-0", f"{step}-0"))
        return _decode_fields(entries[0][1]) if entries else None


class _GroupConsumer:
    """A consumer of a Redis consumer group, with the lease that lets a single process read the group at a time.

    All methods that ask the server raise `InvalidArgument` if Redis cannot be reached.
    """

    def __init__(self, client: Any, stream: str, group: str, consumer: str) -> None:
        """Prepare to read a Redis stream as a consumer of a group; nothing is sent yet.

        Args:
            client: Client of the Redis server.
            stream: Key of the stream.
            group: Consumer group.
            consumer: Name of the consumer.
        """
        self._client = client
        self._stream = stream
        self._group = group
        self._consumer = consumer
        self._reader = f"{stream}:{group}:reader"
        self._name = token_hex(16)

    def create_group(self) -> None:
        """Create stream and group unless they exist. Another process may create them at the same time."""
        if self._has_group():
            return
        try:
            _call_server(lambda: self._client.xgroup_create(self._stream, self._group, id="0", mkstream=True))
        except InvalidArgument:
            if not self._has_group():
                raise

    def acquire_lease(self) -> bool:
        """Acquire or renew the lease of the group for `LEASE_SECONDS` seconds.

        Returns:
            True if this process holds the lease; False if another process does.
        """
        lease = int(LEASE_SECONDS * 1000)
        return bool(_call_server(lambda: self._client.eval(_TAKE_LEASE, 1, self._reader, self._name, lease)))

    def release_lease(self) -> None:
        """Release the lease if this process holds it, and close the connection. Errors are ignored: the key expires."""
        with suppress(InvalidArgument):
            _call_server(lambda: self._client.eval(_RELEASE_LEASE, 1, self._reader, self._name))
        with suppress(InvalidArgument):
            _call_server(self._client.close)

    def read_newest_id(self) -> bytes:
        """Return the id of the newest entry that was ever added."""
        newest: bytes = _call_server(lambda: self._client.xinfo_stream(self._stream))["last-generated-id"]
        return newest

    def read_server_time(self) -> int:
        """Return microseconds since 1970 by the server's clock."""
        seconds, microseconds = _call_server(self._client.time)
        return int(seconds) * 1_000_000 + int(microseconds)

    def read_pending(self) -> Iterator[list[tuple[bytes, Any]]]:
        """Yield batches of entries that were delivered to any consumer of the group and not acknowledged.

        Yields:
            Lists of pairs, oldest first: id and fields of an entry; None instead of fields if it was deleted.
        """
        start: bytes | str = "0"
        while True:
            claimed = partial(self._client.xautoclaim, self._stream, self._group, self._consumer, 0, start_id=start)
            start, *_ = _call_server(partial(claimed, count=ENTRIES_PER_REQUEST, justid=False))
            if start in (b"0-0", "0-0"):
                break
        name: bytes | str = "0"
        while batch := self._read_group(name, None):
            yield batch
            name = batch[-1][0]

    def read_new(self, wait: int | None) -> list[tuple[bytes, Any]]:
        """Return entries that were not delivered yet, oldest first; empty if none came in time.

        Args:
            wait: Milliseconds to wait for a first entry, at most 1,000; None: not at all.

        Returns:
            Pairs of id and fields.
        """
        # milliseconds; then the server's time is read again
        return self._read_group(">", None if wait is None else min(wait, 1000))

    def acknowledge(self, names: Sequence[bytes]) -> None:
        """Acknowledge the entries with these ids, so that the server does not deliver them again.

        Args:
            names: Ids of the entries; none send no request.

        Raises:
            InvalidArgument: Redis cannot be reached or refuses.
        """
        for start in range(0, len(names), ENTRIES_PER_REQUEST):
            batch = names[start : start + ENTRIES_PER_REQUEST]
            _call_server(lambda batch=batch: self._client.xack(self._stream, self._group, *batch))  # type: ignore[misc]

    def _has_group(self) -> bool:
        """Return True if the consumer group exists on the Redis stream."""
        groups = _call_server(
            lambda: self._client.xinfo_groups(self._stream) if self._client.exists(self._stream) else []
        )
        return self._group.encode() in [group["name"] for group in groups]

    def _read_group(self, name: bytes | str, wait: int | None) -> list[tuple[bytes, Any]]:
        """Return up to 10,000 entries of the group.

        Args:
            name: Id after which entries of this consumer are read again; ``>``: entries that were not delivered yet.
            wait: Milliseconds to wait for a first entry; None: not at all.

        Returns:
            Pairs of id and fields, oldest first.
        """
        streams = {self._stream: name}
        reply = _call_server(
            lambda: self._client.xreadgroup(self._group, self._consumer, streams, count=ENTRIES_PER_REQUEST, block=wait)
        )
        if isinstance(reply, Mapping):  # RESP3
            return [entry for batches in reply.values() for batch in batches for entry in batch]
        return [entry for _, entries in reply or () for entry in entries]


def _connect(url: str) -> Any:
    """Return a client of a Redis server. Nothing is sent yet.

    Args:
        url: ``redis://host:6379/0``, ``rediss://...`` or ``unix:///socket``.

    Raises:
        MissingPackage: The redis client is not installed.
        InvalidArgument: The URL is invalid.
    """
    try:
        import redis
    except ImportError:
        raise MissingPackage("source", "Redis needs an extra: pip install 'dpcurves[redis]'") from None
    try:
        return redis.Redis.from_url(url)
    except ValueError:
        trouble = "must be a URL such as redis://host:6379/0 or unix:///socket"
    raise InvalidArgument("source", trouble)


def _call_server(action: Callable[[], Result]) -> Result:
    """Call a function that asks the Redis server, and return its result.

    Args:
        action: Function without arguments.

    Raises:
        InvalidArgument: Redis cannot be reached or refuses. Its error text is hidden, because it may quote an entry.
    """
    import redis

    try:
        return action()
    except redis.RedisError:
        pass
    raise InvalidArgument("source", _SERVER_FAILURE)


def _parse_entry_id(name: bytes) -> tuple[int, int]:
    """Return the time in an entry's id, in milliseconds since 1970, and its sequence number.

    Args:
        name: Id of the entry; without a sequence number the number is 0.

    >>> _parse_entry_id(b"1700000000000-2")
    (1700000000000, 2)
    """
    time, _, number = name.partition(b"-")
    return int(time), int(number or 0)


def _decode_fields(fields: Mapping[bytes, bytes] | None) -> dict[str, str] | None:
    """Return the fields of an entry as text, invalid UTF-8 replaced; None for an entry that was deleted meanwhile.

    Args:
        fields: Fields of the entry as bytes; None for a deleted entry.
    """
    if not fields:
        return None
    return {name.decode(errors="replace"): value.decode(errors="replace") for name, value in fields.items()}
