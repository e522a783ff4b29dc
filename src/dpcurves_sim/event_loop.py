"""asyncio event loop for deterministic simulation: it runs a server's HTTP handlers by a simulated clock.

A simulated *world* decides time and the order of all steps, so that a test of a server can be repeated exactly. There
are no sockets and no threads.

    SimulatedLoop.run    runs the coroutine of one request to its end, and returns its result
    SimulatedFuture      a future whose reader lets other simulated processes run until it is done

All requests of one server process share one loop, as in the real server. A callback that waits (for a disk, a lock or
another process) would delay all clients of the server, so the loop reports it as a `Violation`. Only functions passed
to `run_in_executor` may wait: they run in the simulated thread of their request. The loop touches no records.
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
    """The event loop of one server process, as the interface `asyncio.AbstractEventLoop`.

    Args:
        world: The simulated world, which keeps the clock and decides which process runs.
    """

    def __init__(self, world: World) -> None:
        """Make an event loop of `asyncio` for the servers of a simulated world.

        Args:
            world: The simulated world, whose time the loop has.
        """
        self._world = world
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._orders = count()
        self._works: dict[asyncio.Task[Any], deque[tuple[Callable[[], Any], asyncio.Future[Any]]]] = {}

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end, in the simulated thread of its request.

        Args:
            coroutine: The application's work on one request. Its calls of `run_in_executor` run in this thread, too.

        Returns:
            The result of the coroutine.

        Raises:
            Violation: A callback of the application waited, so that another process could have run.
            Exception: What the coroutine itself raised.
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
        """Call a function that the application passed to `run_in_executor`, and store its outcome in the future.

        Args:
            work: Function without arguments; it may wait.
            future: The future of its result. A cancelled future stays as it is, and the outcome is dropped.
        """
        try:
            result = work()
        except Exception as error:
            if not future.done():
                future.set_exception(error)
        else:
            if not future.done():
                future.set_result(result)

    def _run_ready(self) -> None:
        """Run the callbacks of all requests that are due now, until none is left.

        Raises:
            Violation: A callback waited (for a disk, a lock or another process), which would block a real server.
        """
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
        """Context in which this is the running loop of `asyncio`, and in which a wait of simulated code is a
        `Violation`.
        """
        before = events._get_running_loop()
        events._set_running_loop(self)
        self._world.waits_for_nothing = True
        try:
            yield
        finally:
            self._world.waits_for_nothing = False
            events._set_running_loop(before)

    # The methods that `asyncio` calls

    def time(self) -> float:
        """Return the simulated time, in seconds."""
        return self._world.now

    def get_debug(self) -> bool:
        """Return False, because asyncio's debug mode is off; asyncio calls this method."""
        return False

    def is_running(self) -> bool:
        """Return True, because the loop runs while its process does; asyncio calls this method."""
        return True

    def is_closed(self) -> bool:
        """Return False, because the loop is not closed before its process ends; asyncio calls this method."""
        return False

    def create_future(self) -> asyncio.Future[Any]:
        """Return a new future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, **options: Any) -> asyncio.Task[Any]:
        """Schedule a coroutine on this loop, and return its task.

        Args:
            coro: The coroutine.
            name: Name of the task; None: a name made by asyncio.
            **options: Further arguments of `asyncio.Task`.
        """
        return asyncio.Task(coro, loop=self, name=name, **options)

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        """Schedule a call for the next time that a request of this process runs callbacks.

        Args:
            callback: The function to call.
            *args: Arguments of the function.
            context: Context variables of the call; None: those of the caller.

        Returns:
            A handle that can cancel the call.
        """
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        """Schedule a call as `call_soon` does: simulated threads do not interrupt each other, so no lock is needed.

        Args:
            callback: Function to call.
            context: Context variables of the call; None: the present context.
            args: Arguments of the call.

        Returns:
            Handle that can cancel the call.
        """
        return self.call_soon(callback, *args, context=context)

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Schedule a call after `delay` simulated seconds, and return a handle that can cancel it.

        Args:
            delay: Simulated seconds until the call.
            callback: Function to call.
            context: Context variables of the call; None: the present context.
            args: Arguments of the call.
        """
        return self.call_at(self._world.now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Schedule a call at the simulated time `when`, in seconds, and return a handle that can cancel it.

        Args:
            when: Simulated time of the call, in seconds.
            callback: Function to call.
            context: Context variables of the call; None: the present context.
            args: Arguments of the call.
        """
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._orders), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Remove the timer of a cancelled handle, so that no process wakes up for it; asyncio calls this method.

        Args:
            handle: The cancelled handle.
        """
        self._timers = [entry for entry in self._timers if entry[2] is not handle]
        heapq.heapify(self._timers)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Queue a function for the simulated thread of the running task's request.

        Args:
            executor: Not used.
            func: The function; it may wait.
            *args: Arguments of the function.

        Returns:
            The future of the result.
        """
        future = self.create_future()
        task = asyncio.current_task(self)
        assert task is not None  # noqa: S101
        self._works[task].append((lambda: func(*args), future))
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Turn an error of a callback or a task into a violation.

        Args:
            context: asyncio's description of the error, with ``message`` and ``exception``.

        Raises:
            Violation: The context has an exception. Without one, it is about a task of a killed server, which is no
                error.
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
        """Return the result of the submitted work once it is done, or raise its error; other processes run meanwhile.

        Args:
            timeout: Not used.
        """
        self._wait()
        return super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return the error of the submitted work once it is done, None without an error; other processes run meanwhile.

        Args:
            timeout: Not used.
        """
        self._wait()
        return super().exception(0)

    def _wait(self) -> None:
        """Let other simulated processes run until the future is done."""
        self.world.wait_until(self.done, 0.01)  # seconds between two looks
