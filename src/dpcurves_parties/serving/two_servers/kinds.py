"""Tasks of two servers, whatever they compute from shares: the interface of a task, and the registry of their kinds.

A kind of task is registered as an entry point of the group `GROUP`, under the name in the first field of its documents,
with ``-`` for spaces: a `TaskKind`. So the servers' program knows none of them by import.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol

from dpcurves.arrays import IntArray
from dpcurves.ledger import Account
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves.queries import Query

from ..errors import ProtocolAborted
from ..identity import Server
from ..task_document import TaskDocument, kind_of, text_of

GROUP = "dpcurves.shared_tasks"


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
        """Refuse invalid shares.

        Raises:
            ValueError: one of them is no share of this task.
        """

    def warm(self) -> None:
        """Compile code in advance, so that the first answer does not wait for it."""


class SharedTask(TaskDocument, ABC):
    """Task whose records are shared between two servers, whatever is computed from the shares.

    Attributes:
        name: Name for people to read.
        loss: The privacy loss of all answers together, for each report.
        reports_per_owner: Most reports that one owner may send.
        servers: Party 0 and party 1.
    """

    name: str
    loss: PrivacyLoss
    reports_per_owner: int
    servers: tuple[Server, ...]

    @property
    @abstractmethod
    def query(self) -> Query:
        """The query that is paid for."""

    @property
    @abstractmethod
    def encoding(self) -> Sharing:
        """Encoding of reports: the same for owners and servers."""

    @property
    def dataset(self) -> str:
        """The name of its account in a server's ledger."""
        return f"task {self.hash}"

    @property
    def account(self) -> Account:
        """Account of each server's ledger for this task: exactly one charge."""
        return Account(self.dataset, Neighbours.REPLACE_ONE, EACH_RECORD, self.loss)

    def require_few(self, records: IntArray) -> IntArray:
        """Records of one owner, once their number is checked.

        Raises:
            ProtocolAborted: there are none, or more than one owner may send.
        """
        if not 1 <= len(records) <= self.reports_per_owner:
            rule = f"{len(records)} records; the task takes 1 to {self.reports_per_owner} of one owner"
            raise ProtocolAborted("data", rule)
        return records


@dataclass(frozen=True, slots=True)
class TaskKind:
    """Kind of task of two servers.

    Attributes:
        task: Class of its documents.
        service: Function that makes the service of one server for one task, from the task and its
            `dpcurves_parties.serving.two_servers.collection.Resources`.
    """

    task: type[SharedTask]
    service: Callable[[Any, Any], Any]


def kind_named(name: str) -> TaskKind:
    """The registered kind of task whose documents have this name in their first field.

    Raises:
        ProtocolAborted: there is none.
    """
    for each in entry_points(group=GROUP, name=name.replace(" ", "-")):
        kind: TaskKind = each.load()
        return kind
    raise ProtocolAborted("task", "this is no task document")


def read_task(path: str | Path) -> SharedTask:
    """The task of two servers in a file.

    Raises:
        ValueError: it can not be read, or is none, or is one of people alone.
    """
    text = text_of(path)
    task = kind_named(kind_of(text)).task.from_json(text)
    if len(task.servers) != 2:
        raise ProtocolAborted("task", "it is for people in pairs, not for two servers")
    return task
