"""Encodings of reports for each kind of task: the same for owners and servers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, overload

from ..arrays import IntArray
from ..crypto import engine_of_task
from ..noise.randomness import Randomness
from ..parties import PairTask, Trust
from ..serving.errors import ProtocolAborted
from ..serving.task_document import kind_of, text_of
from ..trust import Owners
from ..trust.shared_records import CheckedEncoding, Encoding
from .pair_encoding import PairEncoding
from .task import Task

SharedTask = Task | PairTask
"""Tasks of two servers."""


class Sharing(Protocol):
    """Interface of encodings that split records into shares for two servers."""

    @property
    def public_size(self) -> int:
        """Bytes of the public half of a report, which both servers get."""

    @property
    def size(self) -> int:
        """Bytes of a report for one server."""

    def shared(self, rows: IntArray, randomness: Randomness, /) -> list[tuple[bytes, bytes]]:
        """SECRET: shares of each record for server 0 and for server 1."""

    def require(self, party: int, shares: Sequence[bytes]) -> None:
        """Refuse invalid shares. Raises `ValueError`."""

    def warm(self) -> None:
        """Compile code in advance, so that the first answer does not wait for it."""


@overload
def encoding_of(task: Task) -> Encoding: ...
@overload
def encoding_of(task: PairTask) -> PairEncoding: ...
@overload
def encoding_of(task: SharedTask) -> Sharing: ...
def encoding_of(task: SharedTask) -> Sharing:
    """Encoding of the reports of a task."""
    if isinstance(task, PairTask):
        return PairEncoding(tuple(bits for _, bits in task.columns))
    kind = Encoding if task.owners is Owners.UNCHECKED else CheckedEncoding
    return kind(task.slots, engine_of_task(bytes.fromhex(task.hash)))


def read_task(path: str | Path) -> SharedTask:
    """The task of two servers in a file.

    Raises:
        ValueError: it can not be read, or is none, or is one of people alone.
    """
    text = text_of(path)
    if kind_of(text) != PairTask.KIND:
        return Task.from_json(text)
    task = PairTask.from_json(text)
    if task.trust is not Trust.TWO_SERVERS:
        raise ProtocolAborted("task", "it is for people in pairs, not for two servers")
    return task
