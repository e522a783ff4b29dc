"""How fast streams are followed: a live step of many keys with its commit, catching up, and what it takes in memory.

CPU seconds of this process, without the time it waits for the disk: `python benchmarks/streams_followed.py`.
"""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time

import numpy as np

import dpcurves as dp
from dpcurves_streams.feed import Window, follow
from dpcurves_streams.readings import AdaptiveSmoother, Counts, Groups

KEYS, LIVE, CAUGHT_UP = 4096, 40, 20_000
LOSS = dp.PrivacyLoss.pure("0.1")


class Given:
    """Windows that are known, some at a time."""

    def __init__(self, steps: int, keys: int, at_once: int) -> None:
        self._steps, self._keys, self._at_once = steps, keys, at_once

    def check(self) -> None:
        pass

    def windows_after(self, time_step: int) -> Iterator[Sequence[Window]]:
        counts, none = np.arange(self._keys, dtype=np.int64) % 50, np.zeros(4, dtype=np.int64)
        for first in range(time_step + 1, self._steps + 1, self._at_once):
            last = min(first + self._at_once, self._steps + 1)
            yield [Window(step, counts, none) for step in range(first, last)]

    def commit_windows(self, time_step: int) -> None:
        pass


def axes(keys: int) -> tuple[dp.Categories, ...]:
    return (dp.Categories("state", tuple(f"s{number}" for number in range(keys))),)


def followed(question: Counts | Groups, steps: int, at_once: int, url: str) -> float:
    """CPU seconds of following so many steps, the first ones left out."""
    keys = question.axes[0].slots
    stream = follow(
        Given(steps + at_once, keys, at_once), question, loss=LOSS, store=url, start=0, every=1, end=steps + at_once
    )
    for _ in range(at_once):
        next(stream)
    begun = process_time()
    passed = sum(1 for _ in stream)
    assert passed == steps
    return process_time() - begun


def smoothing() -> float:
    """CPU nanoseconds of the automatic reading, a step and key."""
    reading, counts = AdaptiveSmoother(200.0, 64), np.random.default_rng(5).normal(20, 14, (20_000, 64))
    reading.estimate_all(counts[:10])
    begun = process_time()
    reading.estimate_all(counts)
    return (process_time() - begun) / counts.size * 1e9


def memory(steps: int, url: str) -> float:
    """Megabytes at most while so many steps of 16 keys are caught up with."""
    stream = follow(Given(steps, 16, 256), Counts(axes(16)), loss=LOSS, store=url, start=0, every=1, end=steps)
    next(stream)
    tracemalloc.start()
    for _ in stream:
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:

        def url(name: str) -> str:
            return f"sqlite:///{Path(folder) / name}.db"

        live = followed(Counts(axes(KEYS)), LIVE, 1, url("live")) / LIVE
        grouped = followed(Groups(axes(KEYS)), LIVE, 1, url("grouped")) / LIVE
        caught_up = CAUGHT_UP / followed(Counts(axes(1)), CAUGHT_UP, 1000, url("caught_up"))
        print(f"live step of {KEYS} keys with its commit, auto:    {live * 1e3:7.1f} ms of CPU (at most 30)")
        print(f"live step of {KEYS} keys with its commit, PeGaSus: {grouped * 1e3:7.1f} ms of CPU")
        print(f"catching up, 1 key, 1000 steps a commit:        {caught_up:7.0f} steps a CPU second (at least 10000)")
        print(f"automatic reading:                              {smoothing():7.1f} ns a step and key (at most 60)")
        few, many = memory(2_000, url("few")), memory(8_000, url("many"))
        print(f"memory for 2000 and 8000 steps of 16 keys:      {few:7.1f} and {many:.1f} MB")


if __name__ == "__main__":
    main()
