"""Protocols as generators: a party's part yields a message to send it, and None to be given the next one."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any, TypeVar

from dpcurves.arguments import Refused

Result = TypeVar("Result")
Other = TypeVar("Other")
Talk = Generator[bytes | None, bytes, Result]


def together(one: Talk[Result], other: Talk[Other]) -> tuple[Result, Other]:
    """Run both parties here, message by message: for tests and simulations.

    Raises:
        ValueError: each waits for the other.
    """
    ways: tuple[deque[bytes], deque[bytes]] = deque(), deque()
    results: list[Any] = [None, None]
    todo: dict[int, Talk[Any]] = {0: one, 1: other}
    wanted = {number: next(talk) for number, talk in todo.items()}
    while todo:
        moved = False
        for number in list(todo):
            try:
                while (message := wanted[number]) is not None or ways[number]:
                    if message is not None:
                        ways[1 - number].append(message)
                    wanted[number] = todo[number].send(b"" if message is not None else ways[number].popleft())
                    moved = True
            except StopIteration as end:
                results[number], moved = end.value, True
                del todo[number]
        if not moved:
            raise Refused("parties", "each waits for the other")
    return results[0], results[1]
