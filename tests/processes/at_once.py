"""Eight processes that do the same at one moment. Run as a program: it imports once, and then becomes eight."""

from __future__ import annotations

import inspect
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from multiprocessing.synchronize import Barrier
from pathlib import Path

COUNT = 8


def at_once(work: Callable[..., object], *given: str, count: int = COUNT) -> None:
    """Let eight processes, or so many, call a function of a test's file at one moment, each with its number first.

    They are forked from a process of their own, which has no threads: what the tests have open they do not share.
    """
    command = [sys.executable, __file__, inspect.getfile(work), work.__name__, str(count), *given]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _one(start: Barrier, work: Callable[..., object], number: int, given: list[str]) -> None:
    start.wait()
    work(number, *given)


def main(file: str, name: str, count: int, given: list[str]) -> int:
    work = getattr(import_module(Path(file).stem), name)
    processes = multiprocessing.get_context("fork")
    start = processes.Barrier(count)
    crowd = [processes.Process(target=_one, args=(start, work, number, given)) for number in range(count)]
    for process in crowd:
        process.start()
    for process in crowd:
        process.join()
    return sum(process.exitcode != 0 for process in crowd)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]))
