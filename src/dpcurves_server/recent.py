"""A bounded cache of recent results, by short keys: the least recently used one goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

Result = TypeVar("Result")


@dataclass
class Recent(Generic[Result]):
    """The last results, so many at the most.

    >>> squares = Recent[int](most=1)
    >>> squares.get(3, lambda: 9), squares.get(3, lambda: 0), squares.get(4, lambda: 16), squares.get(3, lambda: 0)
    (9, 9, 16, 0)
    """

    most: int
    _kept: OrderedDict[Hashable, Result] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def find(self, key: Hashable) -> Result | None:
        """The cached value of a key, or None."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key]

    def get(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """The cached value of a key, computed if it is absent."""
        found = self.find(key)
        if found is not None:
            return found
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > self.most:
                self._kept.popitem(last=False)
        return made
