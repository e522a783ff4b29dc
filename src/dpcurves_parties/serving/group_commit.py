"""Group commit: database writes that wait at the same time share one transaction (batched or coalesced commit).

`GroupCommit.submit` takes an item and returns a future, which ends when the item is on disk or was refused. A
transaction waits for the disk once, however many items it writes, so a busy server writes many items in the time of
one.

    items     a b c | d e f g | h ...        one transaction and one wait for the disk for each group
              first   arrived while the first was written

Reference: Helland, Sammer, Lyon, Carr, Garrett and Reuter 1987.

>>> commit = GroupCommit(lambda items: [item.upper() for item in items], weight=len, max_weight=100)
>>> [future.result() for future in commit.submit_all(["a", "b"])]
['A', 'B']
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Condition
from time import sleep
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class GroupCommit(Generic[Item, Result]):
    """Queue of writes to a database. Items that arrive while a group is written form the next group.

    Formal guarantees: an item has an outcome only after its transaction has ended: acknowledged items are on disk.
    Items are written in order of arrival. If a group fails, each of its items is written in a separate transaction, so
    that no item fails because of another; `write` must be idempotent for this, because a transaction may have been
    committed even though it reported an error.

    Args:
        write: Function that writes items in one transaction, and returns the result or the refusal of each.
        weight: Function that returns the weight of an item in a group.
        max_weight: Largest weight of a group with several items.
        on_idle: Called when the writer becomes idle, for example to release resources.
        gather_seconds: Seconds for which the first item of a group waits for others, while groups have several items.
    """

    def __init__(
        self,
        write: Callable[[Sequence[Item]], Sequence[Result | Exception]],
        weight: Callable[[Item], int],
        max_weight: int,
        on_idle: Callable[[], object] = lambda: None,
        gather_seconds: float = 0.0,
    ) -> None:
        self._write = write
        self._weight = weight
        self._max_weight = max_weight
        self._on_idle = on_idle
        self._gather_seconds = gather_seconds
        self._had_several = False
        self._waiting: deque[tuple[Item, Future[Result]]] = deque()
        self._changed = Condition()
        self._is_writing = False
        self._thread = ThreadPoolExecutor(1, "group commit")

    def submit(self, item: Item) -> Future[Result]:
        """Queue an item, to be written with the next group in one transaction.

        Returns:
            A future that ends when the item is on disk, or with the error that refused it.
        """
        return self.submit_all([item])[0]

    def submit_all(self, items: Iterable[Item]) -> list[Future[Result]]:
        """Queue several items, each to be written with the next group in one transaction.

        Args:
            items: Items in the order in which they shall be written.

        Returns:
            A future for each, which ends when the item is on disk, or with the error that refused it.
        """
        entries = [(item, Future[Result]()) for item in items]
        with self._changed:
            self._waiting.extend(entries)
            if self._is_writing:
                self._changed.notify()
            else:
                self._is_writing = True
                self._thread.submit(self._write_groups)
        return [future for _, future in entries]

    def _write_groups(self) -> None:
        """Write groups of waiting items until none arrives for 0.05 seconds; then call `on_idle`.

        The method runs in the writer thread, and ends the future of each item.
        """
        while group := self._take_group():
            outcomes = self._write_group([item for item, _ in group])
            for (_, future), outcome in zip(group, outcomes, strict=True):
                if isinstance(outcome, BaseException):
                    future.set_exception(outcome)
                else:
                    future.set_result(outcome)
        self._on_idle()

    def _take_group(self) -> list[tuple[Item, Future[Result]]]:
        """Return the next group of waiting items with their futures; empty if none arrives for 0.05 seconds.

        The weight of a group is at most `max_weight`, unless a single item is heavier.
        """
        group = list[tuple[Item, Future[Result]]]()
        weight = 0
        with self._changed:
            # 0.05: seconds without an item after which the writer thread becomes idle
            self._changed.wait_for(lambda: self._waiting, 0.05)
        # A lone client would only wait; under load the next items arrive within this time.
        if self._gather_seconds and self._waiting and self._had_several:
            sleep(self._gather_seconds)
        with self._changed:
            while self._waiting and (not group or weight + self._weight(self._waiting[0][0]) <= self._max_weight):
                group.append(self._waiting.popleft())
                weight += self._weight(group[-1][0])
            self._is_writing = bool(group)
            self._had_several = len(group) > 1
        return group

    def _write_group(self, items: Sequence[Item]) -> Sequence[Result | BaseException]:
        """Write items in one transaction or, if that fails, in one transaction for each.

        Args:
            items: Items of a group.

        Returns:
            The result or error of each item, in order.
        """
        try:
            outcomes = self._write(items)
            if len(outcomes) != len(items):
                raise ValueError("an outcome for each item is needed")
            return outcomes
        except BaseException as error:  # every waiting client receives the error that ends a write
            return [error] if len(items) == 1 else [self._write_group([item])[0] for item in items]
