"""Many processes that charge one SQLite ledger: how long each waits, and who gets how much.

`python benchmarks/ledger_crowd.py [--cap 500]`. One, eight and sixteen processes charge until the budget is spent, in
two ways that take turns: as the package does it, in line before the file; and by SQLite's busy handler alone, which is
polled. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from pathlib import Path
from time import perf_counter

import numpy as np

from dpcurves.ledger import Account, BudgetExceeded, Ledger
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss

CROWDS = (1, 8, 16)
ROUNDS = 2
WAIT = 60
ONE = PrivacyLoss.pure(1)


def in_line(url: str) -> Ledger:
    return Ledger.open(url)


def by_busy_handler(url: str) -> Ledger:
    ledger = Ledger.open(url)
    return Ledger(replace(ledger._database, write_lock=nullcontext), ledger._key, ledger._head_copy)


WAYS: dict[str, Callable[[str], Ledger]] = {"in line": in_line, "busy handler": by_busy_handler}


def spend(way: str, url: str, number: int, start: Barrier, folder: str) -> None:
    """Charge until nothing is left, and write down how long each grant took."""
    ledger, seconds = WAYS[way](url), []
    start.wait(WAIT)
    begun = perf_counter()
    try:
        while True:
            asked = perf_counter()
            request = f"{number}-{len(seconds)}"
            ledger.charge("flights", ONE, purpose="a CDF", request=request, binding="ab" * 32, units=None)
            seconds.append(perf_counter() - asked)
    except BudgetExceeded:
        np.save(f"{folder}/{number}", [perf_counter() - begun, *seconds])


def crowd(way: str, count: int, cap: int) -> list[np.ndarray]:
    """What each process wrote down: how long all took, and each grant."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/budget.db"
        Ledger.open(url).create(Account("flights", Neighbours.ADD_REMOVE, EACH_RECORD, PrivacyLoss.pure(cap)))
        context = multiprocessing.get_context("fork")
        start = context.Barrier(count)
        processes = [context.Process(target=spend, args=(way, url, each, start, folder)) for each in range(count)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        Ledger.open(url).verify()
        return [np.load(Path(folder) / f"{each}.npy") for each in range(count)]


def show(way: str, count: int, found: list[np.ndarray]) -> None:
    each = [len(one) - 1 for one in found]
    latency = 1000 * np.concatenate([one[1:] for one in found])
    rate = len(latency) / max(one[0] for one in found)
    p50, p99 = np.quantile(latency, [0.5, 0.99])
    times = f"{p50:9.1f}{p99:9.1f}{latency.max():9.1f}{p99 / p50:9.1f}"
    print(f"{way:14}{count:9}{rate:10.0f}{times}   {min(each)}-{max(each)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cap", type=int, default=500)
    cap = parser.parse_args().cap
    print(f"{cap} charges until the budget is spent; milliseconds that a grant took")
    print("way           processes  grants/s      p50      p99      max  p99/p50   grants of a process")
    for _ in range(ROUNDS):
        for count in CROWDS:
            for way in WAYS:
                show(way, count, crowd(way, count, cap))


if __name__ == "__main__":
    main()
