"""Workers that evaluate jobs: this process, processes of this machine, or those of a Dask cluster.

A job is a pure function of public arguments and of a blob, and its result is added to those of others by a function
that is associative. So the sum is the same whoever works, in whatever order, and however often a job is done again
because a worker was killed.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import reduce
from multiprocessing import get_all_start_methods, get_context, parent_process
from multiprocessing.process import BaseProcess
from threading import Lock, Thread
from typing import Any, TypeVar

from dpcurves.arguments import MissingPackage

from .messages import ProtocolError

EXTRA = "workers of a Dask cluster need an extra: pip install 'dpcurves[scale]'"
TRIES = 5
"""Most times in a row that work goes on after workers were lost, with no job done in between."""
STARTED = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
"""Start of processes: where the system has it, as copies of one that has imported what they need."""
Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers(ABC):
    """Abstract workers: they do jobs, and add their results in order."""

    @abstractmethod
    def map_reduce(
        self, work: Callable[[Item], Result], items: Sequence[Item], add: Callable[[Result, Result], Result]
    ) -> Result:
        """Sum of `work` on all items, of which there is one at least, in their order.

        `work` and `add` are functions of a module, and `add` is associative.

        Raises:
            ProtocolAborted: no worker is there, or they are lost again and again.
        """


class InProcess(Workers):
    """This process does all jobs, one after the other."""

    def map_reduce(
        self, work: Callable[[Item], Result], items: Sequence[Item], add: Callable[[Result, Result], Result]
    ) -> Result:
        return reduce(add, map(work, items))


class Processes(Workers):
    """So many processes of this machine. One that is killed is replaced, and its job is done again."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._lock = Lock()
        self._pool: ProcessPoolExecutor | None = None

    def map_reduce(
        self, work: Callable[[Item], Result], items: Sequence[Item], add: Callable[[Result, Result], Result]
    ) -> Result:
        sums, lost = _TreeSum(add, len(items)), 0
        while before := len(sums.missing):
            pool = self._ensure_pool(getattr(work, "__module__", __name__))
            try:
                coming = {pool.submit(work, items[number]): number for number in sums.missing}
            except BrokenProcessPool:
                coming = {}
            broken = not coming
            for done in _iterate_completed(coming):
                try:
                    sums.add_result(coming[done], done.result())
                except BrokenProcessPool:
                    broken = True
            if broken:
                self._discard_pool(pool)
                lost = lost + 1 if len(sums.missing) == before else 0
                if lost > TRIES:
                    raise ProtocolError("workers", "processes were killed again and again; nothing is answered", 503)
        result: Result = sums.whole
        return result

    def _ensure_pool(self, needed: str) -> ProcessPoolExecutor:
        with self._lock:
            if self._pool is None:
                get_context(STARTED).set_forkserver_preload([needed])
                self._pool = ProcessPoolExecutor(self.number, get_context(STARTED), _exit_with_server)
            return self._pool

    def _discard_pool(self, pool: ProcessPoolExecutor) -> None:
        with self._lock:
            if self._pool is pool:
                self._pool = None
        pool.shutdown(wait=False, cancel_futures=True)


def _exit_with_server() -> None:
    """Let this process end when the server does, however that ends."""
    server = parent_process()
    if server is not None:
        Thread(target=_exit_after, args=(server,), daemon=True).start()


def _exit_after(server: BaseProcess) -> None:
    server.join()
    os._exit(0)


def _iterate_completed(coming: Iterable[Future[Result]]) -> Iterable[Future[Result]]:
    left = set(coming)
    while left:
        done, left = wait(left, return_when="FIRST_COMPLETED")
        yield from done


class _TreeSum:
    """Results that come in any order, added in a tree: two neighbours at once when both have come.

    Attributes:
        missing: Numbers of items without a result.
        whole: The sum of all.
    """

    def __init__(self, add: Callable[[Any, Any], Any], size: int) -> None:
        self.missing = list(range(size))
        self.whole: Any = None
        self._add, self._size = add, size
        self._parts: dict[tuple[int, int], Any] = {}

    def add_result(self, number: int, result: Any) -> None:
        """Add the result of one item."""
        self.missing.remove(number)
        size, level = self._size, 0
        while size > 1:
            beside = number ^ 1
            if beside < size:
                if (level, beside) not in self._parts:
                    self._parts[level, number] = result
                    return
                other = self._parts.pop((level, beside))
                result = self._add(other, result) if beside < number else self._add(result, other)
            number, size, level = number // 2, (size + 1) // 2, level + 1
        self.whole = result


class Dask(Workers):
    """Workers of a Dask cluster. The scheduler does jobs of a lost worker again; results are added by workers, too."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._lock = Lock()
        self._client: Any = None

    def map_reduce(
        self, work: Callable[[Item], Result], items: Sequence[Item], add: Callable[[Result, Result], Result]
    ) -> Result:
        client = self._ensure_client()
        for _ in range(TRIES):
            if not client.scheduler_info()["workers"]:
                raise ProtocolError("workers", f"none has joined {self.address}; ask again once one has", 503)
            layer = client.map(work, items, pure=False)
            while len(layer) > 1:
                pairs = [layer[at : at + 2] for at in range(0, len(layer), 2)]
                layer = [client.submit(add, *pair, pure=False) if len(pair) == 2 else pair[0] for pair in pairs]
            try:
                result: Result = layer[0].result()
            except _import_distributed().KilledWorker:
                continue
            return result
        raise ProtocolError("workers", "they were killed again and again; nothing is answered", 503)

    def _ensure_client(self) -> Any:
        with self._lock:
            if self._client is None or self._client.status != "running":
                try:
                    self._client = _import_distributed().Client(self.address, set_as_default=False, timeout=10)
                except OSError:
                    raise ProtocolError("workers", f"no scheduler answers at {self.address}", 503) from None
            return self._client


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingPackage("workers", EXTRA) from None
    return distributed


def parse_workers(text: str) -> Workers:
    """Workers by their option: the address of a Dask scheduler, a number of processes, or empty for this process.

    Raises:
        ValueError: it is neither, or a package is missing.
    """
    if "://" in text:
        _import_distributed()
        return Dask(text)
    if text and not text.isdecimal():
        raise ProtocolError("workers", f"a number, or a scheduler as tcp://10.0.0.1:8786, is needed, got {text!r}")
    return Processes(int(text)) if text and int(text) else InProcess()
