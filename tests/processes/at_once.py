"""Eight processes that do the same at one moment, forked from one that has imported a file of tests and no more."""

from __future__ import annotations

import atexit
import inspect
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from multiprocessing.synchronize import Barrier
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

COUNT = 8


def at_once(work: Callable[..., object], *given: str, count: int = COUNT) -> None:
    """Let eight processes, or so many, call a function of a test's file at one moment, each with its number first.

    They are forked from a process of their own, which has no threads: what the tests have open they do not share. It
    serves all tests of a file, for its imports take longest.
    """
    failed, said = fork_server(inspect.getfile(work)).run(work.__name__, count, list(given))
    assert failed == 0, said


class ForkServer:
    """The process that others are forked from, in the environment and the folder of the test that asks."""

    def __init__(self, file: str) -> None:
        self._said = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(
            [sys.executable, __file__, file], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
        )  # fmt: skip
        atexit.register(self._process.communicate)

    def run(self, name: str, count: int, given: list[str]) -> tuple[int, str]:
        """How many of the processes failed, and what all of them said."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"name": name, "count": count, "given": given, "environment": dict(os.environ), "folder": os.getcwd()}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        told = self._process.stdout.readline()
        self._said.seek(0)
        return int(told or -1), self._said.read()


@cache
def fork_server(file: str) -> ForkServer:
    """Begun once for each file of tests."""
    return ForkServer(file)


def _one(start: Barrier, work: Callable[..., object], number: int, given: list[str]) -> None:
    start.wait()
    work(number, *given)


def failures(module: Any, asked: dict[str, Any]) -> int:
    """Number of processes that failed, once all have ended."""
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    processes = multiprocessing.get_context("fork")
    start, work = processes.Barrier(asked["count"]), getattr(module, asked["name"])
    crowd = [processes.Process(target=_one, args=(start, work, each, asked["given"])) for each in range(asked["count"])]
    for process in crowd:
        process.start()
    for process in crowd:
        process.join()
    return sum(process.exitcode != 0 for process in crowd)


def main(file: str) -> None:
    module = import_module(Path(file).stem)
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # whatever is printed is no answer
        for line in sys.stdin:
            print(failures(module, json.loads(line)), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
