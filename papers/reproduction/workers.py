"""Work that is done many times, each time by a seed of its own: on all cores, and with the same results as on one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

IN_PLACE = 64
"""Items up to which starting other processes costs more than it saves."""
BATCHES = 4
"""How many batches a process gets, so that none waits long for the last one."""


def each(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """What `work` makes of each item, in their order. It can be pickled, and depends on nothing but the item."""
    cores = os.cpu_count() or 1
    if len(items) <= IN_PLACE or cores == 1:
        return [work(item) for item in items]
    return list(_processes(cores).map(work, items, chunksize=-(-len(items) // (cores * BATCHES))))


@lru_cache(maxsize=1)
def _processes(cores: int) -> ProcessPoolExecutor:
    """Started anew and not forked: the bars of a run are drawn by a thread, which a fork would lose."""
    return ProcessPoolExecutor(cores, mp_context=get_context("spawn"))
