"""Group commit: writes that wait at the same time are done in one transaction."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Condition
from time import sleep
from typing import Generic, TypeVar

LINGER = 0.05
"""Seconds without an item, after which the thread that writes rests."""
Item = TypeVar("Item")
Result = TypeVar("Result")


class GroupCommit(Generic[Item, Result]):
    """Queue of writes to a database. While one group is written, those that come form the next one.

    Formal guarantees: an item has an outcome only once the transaction that it was written in has ended: what is
    acknowledged is on disk. Items are written in the order in which they came. Where a group fails, each of its items
    is written in a transaction of its own, so that none fails for another one; `write` has to be idempotent for that,
    as a transaction may have ended although it was not told so.

    Args:
        write: Function that writes some items in one transaction; the result or the refusal of each.
        weight: Function that tells how much an item adds to a group.
        most: Weight that a group of several items may have.
        rest: Called once no item has come for some time, such as to let go of what writing needs.
        gather: Seconds for which the first item of a group waits for others, as long as groups are of several.
    """

    def __init__(
        self,
        write: Callable[[Sequence[Item]], Sequence[Result | Exception]],
        weight: Callable[[Item], int],
        max_weight: int,
        on_idle: Callable[[], object] = lambda: None,
        gather_seconds: float = 0.0,
    ) -> None:
        self._write, self._weight, self._most, self._rest = write, weight, max_weight, on_idle
        self._gather, self._are_several = gather_seconds, False
        self._waiting: deque[tuple[Item, Future[Result]]] = deque()
        self._coming, self._is_at_work = Condition(), False
        self._thread = ThreadPoolExecutor(1, "group commit")

    def submit(self, item: Item) -> Future[Result]:
        """Write an item with those that wait. The future ends once it is on disk, or was refused."""
        return self.submit_all([item])[0]

    def submit_all(self, items: Iterable[Item]) -> list[Future[Result]]:
        """Write some items with those that wait, side by side. Each future ends as one of `submit` does."""
        coming = [(item, Future[Result]()) for item in items]
        with self._coming:
            self._waiting.extend(coming)
            if self._is_at_work:
                self._coming.notify()
            else:
                self._is_at_work = True
                self._thread.submit(self._write_groups)
        return [future for _, future in coming]

    def _write_groups(self) -> None:
        while group := self._take_group():
            outcomes = self._write_group([item for item, _ in group])
            for (_, coming), outcome in zip(group, outcomes, strict=True):
                if isinstance(outcome, BaseException):
                    coming.set_exception(outcome)
                else:
                    coming.set_result(outcome)
        self._rest()

    def _take_group(self) -> list[tuple[Item, Future[Result]]]:
        group, weight = list[tuple[Item, Future[Result]]](), 0
        with self._coming:
            self._coming.wait_for(lambda: self._waiting, LINGER)
        if self._gather and self._waiting and self._are_several:
            sleep(self._gather)
        with self._coming:
            while self._waiting and (not group or weight + self._weight(self._waiting[0][0]) <= self._most):
                group.append(self._waiting.popleft())
                weight += self._weight(group[-1][0])
            self._is_at_work, self._are_several = bool(group), len(group) > 1
        return group

    def _write_group(self, items: Sequence[Item]) -> Sequence[Result | BaseException]:
        try:
            outcomes = self._write(items)
            if len(outcomes) != len(items):
                raise ValueError("an outcome for each item is needed")
            return outcomes
        except BaseException as error:  # whoever waits hears of all that ends a write
            return [error] if len(items) == 1 else [self._write_group([item])[0] for item in items]
