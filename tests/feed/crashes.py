"""Processes that follow a stream and are killed at any statement, commit or write. Run as a program: all places."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Engine, event

import dpcurves as dp
from dpcurves.ledger import Ledger
from dpcurves_streams.feed import Window, follow
from dpcurves_streams.feed.reading import JsonLinesFile
from dpcurves_streams.readings import Counts, Smoothing

LOSS = dp.PrivacyLoss.pure(1)
COUNTS = Counts((dp.Categories("state", ("a", "b", "c")),), smoothing=Smoothing.PLAIN)
KILLED = -signal.SIGKILL

Place = tuple[int, int]
"""A step, and how many statements, commits and writes came before in it."""


@dataclass
class Dying:
    """Counts statements, commits and writes, and kills its process at a place of them."""

    at: Place | None
    tell: int
    step: int = 0
    passed: int = 0

    def begin(self, step: int) -> None:
        self.step, self.passed = step, 0

    def pass_by(self, *_: Any, **__: Any) -> None:
        if self.at is not None and (self.step, self.passed) >= self.at:
            os.write(self.tell, json.dumps([self.step, self.passed]).encode())
            os.kill(os.getpid(), signal.SIGKILL)
        self.passed += 1


class Given:
    """A source of windows that are known: counts are a function of the step."""

    def __init__(self, steps: int, dying: Dying) -> None:
        self._steps, self._dying = steps, dying

    def check(self) -> None:
        pass

    def windows_after(self, time_step: int) -> Iterator[Sequence[Window]]:
        for step in range(time_step + 1, self._steps + 1):
            self._dying.begin(step)
            yield [Window(step, np.array([step, 100, 7 * step], dtype=np.int64), np.array([step, 0, 2, 9]))]

    def commit_windows(self, time_step: int) -> None:
        self._dying.pass_by()


class Torn:
    """A file to which every write is one of two halves, with a place to die before, between and after."""

    def __init__(self, file: Any, dying: Dying) -> None:
        self._file, self._dying = file, dying

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, data: bytes) -> None:
        for half in (data[: len(data) // 2], data[len(data) // 2 :]):
            self._dying.pass_by()
            self._file.write(half)
        self._dying.pass_by()

    def truncate(self, size: int) -> None:
        self._dying.pass_by()
        self._file.truncate(size)


@cache
def follow_once() -> None:
    """Follow two steps on a ledger in memory, so that copies of this process need not import and compile anew."""
    dying = Dying(None, tell=-1)
    with tempfile.TemporaryDirectory() as folder:
        follow_until_killed("sqlite://", "first", 2, Path(folder), dying)
    for kind in EVENTS:
        event.remove(Engine, kind, dying.pass_by)


EVENTS = "before_cursor_execute", "after_cursor_execute", "commit"
"""Events of SQLAlchemy at which a process may die."""


def follow_until_killed(url: str, name: str, steps: int, folder: Path, dying: Dying) -> None:
    """Follow a stream, tell a witness what is shown, and write it to a file."""
    for kind in EVENTS:
        event.listen(Engine, kind, dying.pass_by)
    stream = follow(Given(steps, dying), COUNTS, loss=LOSS, store=url, start=0, every=1, name=name)
    with (folder / f"{name}.witness").open("a") as witness, JsonLinesFile(folder / f"{name}.jsonl") as sink:
        sink._file = Torn(sink._file, dying)  # type: ignore[assignment]
        for reading in stream:
            shown = [*reading.values, *reading.uncounted.noisy.values]
            witness.write(json.dumps([reading.step, shown]) + "\n")
            witness.flush()
            sink.write(reading)
            if reading.step == steps:  # the stream has no end that is declared
                break


def in_a_fork(work: Callable[[Dying], object], at: Place | None) -> tuple[int, Place | None]:
    """How a process ended that did `work` and was to die at a place, and where it died."""
    follow_once()
    hear, tell = os.pipe()
    process = os.fork()
    if process == 0:
        status = 1
        try:
            work(Dying(at, tell))
            status = 0
        finally:
            os._exit(status)
    os.close(tell)
    _, status = os.waitpid(process, 0)
    told = os.read(hear, 100)
    os.close(hear)
    return os.waitstatus_to_exitcode(status), tuple(json.loads(told)) if told else None


def require_once(url: str, name: str, steps: int, folder: Path) -> None:
    """No step has two values, none is missing, and all of it was paid once."""
    shown = defaultdict(set)
    for line in (folder / f"{name}.witness").read_text().splitlines():
        step, values = json.loads(line)
        shown[step].add(tuple(values))
    assert sorted(shown) == list(range(1, steps + 1)), f"{name}: a step was skipped"
    assert all(len(values) == 1 for values in shown.values()), f"{name}: a step has two values"
    lines = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    noisy = [value for step in sorted(shown) for values in shown[step] for value in values]
    assert [line["step"] for line in lines] == [step for step in sorted(shown) for _ in range(3 + 4)]
    assert [line["unbiased"] for line in lines] == noisy
    assert Ledger.open(url).balance(name).spent.digits == "1"


def kill_at_every_place(url: str, steps: Sequence[int], folder: Path, first: int = 0, stride: int = 1) -> int:
    """Kill processes at each place of these steps, or at one of so many, and let others go on. How many places.

    Stream n is killed at place n of the first step, its next process at place n of the second one, and so on: each is
    killed once at each of its steps, and no place is left out.
    """
    left, places = list(steps), 0
    for number in count(first, stride):
        work = partial(follow_until_killed, url, f"every-{number}", max(steps) + 1, folder)
        for step in list(left):
            _, died = in_a_fork(work, (step, number))
            if died == (step, number):
                places += 1
            else:
                left.remove(step)  # it has no more places
        assert in_a_fork(work, None)[0] == 0
        require_once(url, f"every-{number}", max(steps) + 1, folder)
        if not left:
            return places
    return places


def kill_at_random_places(url: str, steps: int, kills: int, folder: Path, seed: int = 11) -> None:
    """Kill one stream again and again, and let another process go on each time."""
    drawn = random.Random(seed)
    places = sorted((drawn.randrange(1, steps + 1), drawn.randrange(12)) for _ in range(kills))
    for place in [*places, None]:
        status, _ = in_a_fork(partial(follow_until_killed, url, "long", steps, folder), place)
        assert status == (0 if place is None else KILLED)
    require_once(url, "long", steps, folder)


class Told:
    """A clock that says what it was told."""

    def __init__(self, moment: float) -> None:
        self.moment = moment

    def now(self) -> int:
        return int(self.moment * 1e6)


def burst(tuples: int) -> tuple[list[tuple[int, ...]], Mapping[str, int]]:
    """What is released, and what was dropped, if so many tuples come within one of three steps.

    A third of them have clocks in the far future, or none; time goes backwards, states are unknown, and one user sends
    all but the first hundred.
    """
    clock = Told(0.5)

    def arriving() -> Iterator[dict[str, Any]]:
        for number in range(tuples):
            clock.moment = 11 + 8 * number / tuples
            when = (15, 2, 1e15, 2**70, "2999-01-01", 14, 29, "soon", -4, 15)[number % 10]
            user = number if number < 100 else "one"
            yield {"ts": when, "state": "d" if number % 10 == 9 else "a", "user": user}
        clock.moment = 40

    stream = follow(
        arriving(), COUNTS, loss=dp.PrivacyLoss.pure(10_000), store="sqlite://", start=0, every=10, end=30, time="ts",
        user="user", tuples_per_user=2, clock=clock,
    )  # fmt: skip
    return [reading.values for reading in stream], stream.dropped.counts


def require_unmoved(tuples: int) -> None:
    """A burst changes nothing but the confidential log: tuples of 30 users count, and two in each step of that one."""
    told, dropped = burst(tuples)
    assert told == [(0, 0, 0), (22, 0, 0), (12, 0, 0)], told
    tenth = tuples // 10
    assert dropped["late"] == tenth
    assert dropped["before the start or after the end"] == 2 * tenth
    assert dropped["of an unknown state"] == tenth
    assert dropped["malformed"] == 3 * tenth
    assert sum(dropped.values()) == tuples - 34


def main(urls: Sequence[str]) -> None:
    """Sweep all places on each database."""
    for url in urls:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            store = url or f"sqlite:///{folder}/s.db"
            Ledger.open(store)
            # Step 0 is what comes before the first window: making the account, and the charge.
            places = kill_at_every_place(store, range(11), folder)
            kill_at_random_places(store, 200, 50, folder)
            Ledger.open(store).verify()
        print(f"{store.split(':')[0]}: killed at {places} places of 10 steps and at 50 of 200: each step has one value")


if __name__ == "__main__":
    require_unmoved(10**6)
    print("a burst of 10^6 tuples, with clocks that go backwards and into the future, changed nothing but the log")
    main(sys.argv[1:] or [""])
