"""A simulated asyncio event loop: HTTP applications run by a simulated clock, without sockets and threads.

All requests of one server process share one loop, as in the product. A callback must not wait for a disk, a lock or
another process, because all clients of the server would wait too. The loop reports such a callback as a `Violation`.
Work for a thread pool runs in the simulated thread of the request that needs it, which may wait.
"""

from __future__ import annotations

import asyncio
import heapq
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import count
from math import inf
from typing import TYPE_CHECKING, Any

from .world import Violation, World

if TYPE_CHECKING:
    from collections.abc import Iterator


class SimulatedLoop(asyncio.AbstractEventLoop):
    """The event loop of one server process.

    Args:
        world: The world, which keeps the clock.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._orders = count()
        self._works: dict[asyncio.Task[Any], deque[tuple[Callable[[], Any], asyncio.Future[Any]]]] = {}

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end, in the simulated thread of its request; return its result.

        Args:
            coroutine: The application's work on one request. Its calls of `run_in_executor` run in this thread, too.

        Raises:
            Violation: a callback of the application let other processes run.
        """
        task = self.create_task(coroutine)
        works = self._works[task] = deque()
        try:
            while not task.done():
                self._run_ready()
                if works:
                    self._run_work(*works.popleft())
                elif not task.done():
                    deadline = self._timers[0][0] if self._timers else inf
                    self._world.poll(0.01, max(deadline, self._world.now))  # seconds between two looks
            return task.result()
        finally:
            del self._works[task]
            if not task.done():
                coroutine.close()  # now: the garbage collector would run the last steps of a killed server later

    def _run_work(self, work: Callable[[], Any], future: asyncio.Future[Any]) -> None:
        """Call a function that the application left to a thread, and give its result or error to the loop."""
        try:
            result = work()
        except Exception as error:
            if not future.done():
                future.set_exception(error)
        else:
            if not future.done():
                future.set_result(result)

    def _run_ready(self) -> None:
        """Run all callbacks that are due, of all requests. They must not wait."""
        with self._enter():
            while True:
                while self._timers and self._timers[0][0] <= self._world.now:
                    self._ready.append(heapq.heappop(self._timers)[2])
                if not self._ready:
                    return
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()

    @contextmanager
    def _enter(self) -> Iterator[None]:
        """Make this the running loop. Until the context ends, waiting is a violation."""
        before = events._get_running_loop()
        events._set_running_loop(self)
        self._world.waits_for_nothing = True
        try:
            yield
        finally:
            self._world.waits_for_nothing = False
            events._set_running_loop(before)

    # What `asyncio` calls

    def time(self) -> float:
        """Return the simulated time, in seconds."""
        return self._world.now

    def get_debug(self) -> bool:
        """Return False: no debugging."""
        return False

    def is_running(self) -> bool:
        """Return True: the loop runs while its process does."""
        return True

    def is_closed(self) -> bool:
        """Return False: the loop is not closed before its process ends."""
        return False

    def create_future(self) -> asyncio.Future[Any]:
        """Return a new future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, **options: Any) -> asyncio.Task[Any]:
        """Schedule a coroutine, and return its task."""
        return asyncio.Task(coro, loop=self, name=name, **options)

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        """Call back as soon as a thread of this process looks."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        """Call back as soon as a thread of this process looks: simulated threads do not interrupt each other."""
        return self.call_soon(callback, *args, context=context)

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Call back after some simulated seconds."""
        return self.call_at(self._world.now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Call back at a simulated time."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._orders), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Drop a cancelled timer, so that no process wakes up for it."""
        self._timers = [entry for entry in self._timers if entry[2] is not handle]
        heapq.heapify(self._timers)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Queue a function for the thread of the running task's request; return the future of its result."""
        future = self.create_future()
        task = asyncio.current_task(self)
        assert task is not None  # noqa: S101
        self._works[task].append((lambda: func(*args), future))
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Report an error of a callback or a task.

        Raises:
            Violation: always, but for a task of a killed server, which the garbage collector finds later.
        """
        error = context.get("exception")
        if error is None:  # a task of a killed server, which the garbage collector finds later
            return
        if isinstance(error, Violation):
            raise error
        raise Violation(f"an event loop failed: {context['message']} {error!r}")


class SimulatedFuture(Future[Any]):
    """A future whose reader lets other processes run until it is done."""

    world: World

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the end; return the result, or raise the error."""
        self._wait()
        return super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the end; return the error, or None without an error."""
        self._wait()
        return super().exception(0)

    def _wait(self) -> None:
        """Let other processes run until the future is done."""
        self.world.wait_until(self.done, 0.01)  # seconds between two looks
