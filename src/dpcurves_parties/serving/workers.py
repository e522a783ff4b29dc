"""Map-reduce on worker processes: in this process, on processes of this machine, or on a Dask cluster.

`Workers.map_reduce(work, items, add)` computes `work(item)` for each item and combines the results in order by `add`.
`work` must be a pure function and `add` associative. So the total is the same for any number of workers, any order of
completion, and any repetition of items whose worker was killed.

    InProcess        one item after the other, in this process
    Processes        processes of this machine; a killed one is replaced and its item repeated
    Dask             a cluster, whose workers also combine results
    parse_workers    the text of the option --workers -> one of these three

>>> from operator import add
>>> InProcess().map_reduce(abs, [-1, 2, -3], add)
6
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

MISSING_PACKAGES_MESSAGE = "workers of a Dask cluster need an extra: pip install 'dpcurves[scale]'"
"""Error message if workers of a Dask cluster are named, and the package of Dask is missing."""
MOST_RESTARTS = 5
"""Restarts, at most, after lost workers without an item that finished in between; then the question is refused (503).
Processes killed so often probably lack memory."""
START_METHOD = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
"""How worker processes start: where available, as forks of a helper process that has imported the modules they need,
which is faster than a new interpreter for each (spawn)."""
Item = TypeVar("Item")
"""Type of the items."""
Result = TypeVar("Result")
"""Type of the results, single and combined."""


class Workers(ABC):
    """Interface of workers: they evaluate a function on items, and combine the results in order."""

    @abstractmethod
    def map_reduce(
        self, work: Callable[[Item], Result], items: Sequence[Item], add: Callable[[Result, Result], Result]
    ) -> Result:
        """Return the results of `work` on all items, combined in their order.

        Args:
            work: Pure function of one item, defined at the top level of a module (it is sent to processes by name).
            items: The items; at least one.
            add: Associative function of two results, also of a module.

        Returns:
            ``add(...add(add(work(items[0]), work(items[1])), work(items[2]))...)``.

        Raises:
            ProtocolError: There is no worker, or workers are lost repeatedly.
        """


class InProcess(Workers):
    """Workers that are this process itself, which evaluates one item after the other."""

    def map_reduce(
        self, work: Callable[[Item], Result], items: Sequence[Item], add: Callable[[Result, Result], Result]
    ) -> Result:
        """Return the results of `work` on all items, combined by `add`, computed sequentially in this process.

        Args:
            work: Pure function of one item.
            items: The items; at least one.
            add: Associative function of two results.
        """
        return reduce(add, map(work, items))


class Processes(Workers):
    """Worker processes of this machine. A killed one is replaced, and its item is evaluated again.

    The processes start with the first call, and end with this process.

    Args:
        number: Number of processes, from 1.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._lock = Lock()
        self._pool: ProcessPoolExecutor | None = None

    def map_reduce(
        self, work: Callable[[Item], Result], items: Sequence[Item], add: Callable[[Result, Result], Result]
    ) -> Result:
        """Return the results of `work` on all items, combined by `add`, computed by the processes of the pool.

        Items of killed processes are evaluated again.

        Args:
            work: Pure function of one item, defined at the top level of a module.
            items: The items; at least one.
            add: Associative function of two results.

        Raises:
            ProtocolError: More than `MOST_RESTARTS` consecutive restarts finished no item.
            Exception: What `work` or `add` raised.
        """
        sums = _TreeSum(add, len(items))
        lost = 0

        # Each pass submits the jobs without a result: a killed process breaks its pool and loses all jobs in it.
        while missing_before := len(sums.missing):
            pool = self._ensure_pool(getattr(work, "__module__", __name__))
            try:
                futures = {pool.submit(work, items[number]): number for number in sums.missing}
            except BrokenProcessPool:
                futures = {}
            broken = not futures
            for future in _iterate_completed(futures):
                try:
                    sums.add_result(futures[future], future.result())
                except BrokenProcessPool:
                    broken = True
            if broken:
                self._discard_pool(pool)
                lost = lost + 1 if len(sums.missing) == missing_before else 0
                if lost > MOST_RESTARTS:
                    raise ProtocolError(
                        "workers",
                        "processes were killed again and again, and nothing is answered; give the server more "
                        "memory or fewer processes",
                        503,
                    )
        result: Result = sums.whole
        return result

    def _ensure_pool(self, needed: str) -> ProcessPoolExecutor:
        """Return the running pool of worker processes, or start it at the first call.

        Args:
            needed: Name of a module that new processes import before they are forked, which saves time.
        """
        with self._lock:
            if self._pool is None:
                get_context(START_METHOD).set_forkserver_preload([needed])
                self._pool = ProcessPoolExecutor(self.number, get_context(START_METHOD), _exit_with_server)
            return self._pool

    def _discard_pool(self, pool: ProcessPoolExecutor) -> None:
        """Stop the processes of a broken pool, and forget it, so that the next call starts another."""
        with self._lock:
            if self._pool is pool:
                self._pool = None
        pool.shutdown(wait=False, cancel_futures=True)


def _exit_with_server() -> None:
    """Start a thread that ends this worker process when the server process, its parent, ends for any reason."""
    server = parent_process()
    if server is not None:
        Thread(target=_exit_after, args=(server,), daemon=True).start()


def _exit_after(server: BaseProcess) -> None:
    """Wait until the server process ends, then end this process."""
    server.join()
    os._exit(0)


def _iterate_completed(futures: Iterable[Future[Result]]) -> Iterable[Future[Result]]:
    """Yield futures of worker processes in the order in which they complete."""
    pending = set(futures)
    while pending:
        completed, pending = wait(pending, return_when="FIRST_COMPLETED")
        yield from completed


class _TreeSum:
    """Results that arrive in any order, combined in a binary tree: two neighbours as soon as both have arrived.

    So few results are held in memory at a time, and the order of items is kept for an `add` that is not commutative.

    Args:
        add: Associative function of two results.
        size: Number of items.

    Attributes:
        missing: Indices of items without a result, ascending.
        whole: The combined result; None until `missing` is empty.
    """

    def __init__(self, add: Callable[[Any, Any], Any], size: int) -> None:
        self.missing = list(range(size))
        self.whole: Any = None
        self._add = add
        self._size = size
        self._parts: dict[tuple[int, int], Any] = {}

    def add_result(self, number: int, result: Any) -> None:
        """Store the result of an item, and combine it with neighbours that have arrived.

        Args:
            number: Index of the item, which must be in `missing`.
            result: The result of the item.
        """
        self.missing.remove(number)
        size = self._size
        level = 0
        while size > 1:
            sibling = number ^ 1
            if sibling < size:
                if (level, sibling) not in self._parts:
                    self._parts[level, number] = result
                    return
                sibling_result = self._parts.pop((level, sibling))
                result = self._add(sibling_result, result) if sibling < number else self._add(result, sibling_result)
            number = number // 2
            size = (size + 1) // 2
            level = level + 1
        self.whole = result


class Dask(Workers):
    """Workers of a Dask cluster. The scheduler repeats the items of lost workers; workers combine results, too.

    Args:
        address: Address of the scheduler, such as ``tcp://10.0.0.1:8786``. The first call connects to it.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._lock = Lock()
        self._client: Any = None

    def map_reduce(
        self, work: Callable[[Item], Result], items: Sequence[Item], add: Callable[[Result, Result], Result]
    ) -> Result:
        """Return the results of `work` on all items, combined by `add` in a tree on the cluster.

        Args:
            work: Pure function of one item, defined at the top level of a module.
            items: The items; at least one.
            add: Associative function of two results.

        Raises:
            ProtocolError: No scheduler answers, no worker has joined, or workers were killed `MOST_RESTARTS` times.
            Exception: What `work` or `add` raised.
        """
        client = self._ensure_client()
        for _ in range(MOST_RESTARTS):
            if not client.scheduler_info()["workers"]:
                raise ProtocolError(
                    "workers", f"no worker has joined {self.address}; start a Dask worker, then ask again", 503
                )
            layer = client.map(work, items, pure=False)
            while len(layer) > 1:
                pairs = [layer[start : start + 2] for start in range(0, len(layer), 2)]
                layer = [client.submit(add, *pair, pure=False) if len(pair) == 2 else pair[0] for pair in pairs]
            try:
                result: Result = layer[0].result()
            except _import_distributed().KilledWorker:
                continue
            return result
        raise ProtocolError(
            "workers", "workers were killed again and again, and nothing is answered; give them more memory", 503
        )

    def _ensure_client(self) -> Any:
        """Return the connected Dask client; connect if there is none.

        Raises:
            ProtocolError: No scheduler answers at the address within 10 seconds.
        """
        with self._lock:
            if self._client is None or self._client.status != "running":
                try:
                    self._client = _import_distributed().Client(self.address, set_as_default=False, timeout=10)
                except OSError:
                    raise ProtocolError(
                        "workers", f"no scheduler answers at {self.address}; start it, or correct --workers", 503
                    ) from None
            return self._client


def _import_distributed() -> Any:
    """Return the module `distributed` of Dask, which is an optional dependency.

    Raises:
        ValueError: The package is not installed; the message has the command that installs it.
    """
    try:
        import distributed
    except ImportError:
        raise MissingPackage("workers", MISSING_PACKAGES_MESSAGE) from None
    return distributed


def parse_workers(text: str) -> Workers:
    """Parse the option --workers: a number of processes, the address of a Dask scheduler, or this process.

    Args:
        text: Address of a Dask scheduler, such as ``tcp://10.0.0.1:8786``; a number of processes; or empty or ``0`` for
            this process.

    Returns:
        The workers, not started or connected yet.

    Raises:
        ValueError: The text is none of these, or Dask is not installed.

    >>> parse_workers("4").number
    4
    """
    if "://" in text:
        _import_distributed()
        return Dask(text)
    if text and not text.isdecimal():
        raise ProtocolError(
            "workers", f"must be a number of processes, or a scheduler as tcp://10.0.0.1:8786, got {text!r}"
        )
    return Processes(int(text)) if text and int(text) else InProcess()
