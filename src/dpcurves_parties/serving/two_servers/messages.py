"""Messages of questions and their responses: each response names the very question that it answers."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import ProtocolAborted
from ..json_messages import UNLIKE, opened

VERSION = 3
"""Version of the protocol of two servers."""
LONGEST_ID = 64


class Askable(Protocol):
    """Interface of the questions that a message may ask: a task that counts implements it itself."""

    @property
    def hash(self) -> str:
        """The hash of the task."""

    def thresholds(self, at: object) -> tuple[int, ...]:
        """Check the thresholds of a message. Raises `ProtocolAborted`."""

    def numbers(self, at: Sequence[int]) -> int:
        """Number of values in the response."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Question about thresholds of one task.

    Attributes:
        task: The hash of the task.
        question: An id, the same when the question is asked again.
        at: Thresholds: the number of slots below each, of which records are counted.
        nonce: New with each message: an answer with another one is an old one.
        numbers: Number of values in the response.
        version: The version of the protocol.
    """

    task: str
    question: str
    at: tuple[int, ...]
    nonce: str
    numbers: int
    version: int = VERSION

    @classmethod
    def fresh(cls, task: Askable, at: tuple[int, ...], question: str | None = None) -> Asked:
        """A new message."""
        return cls(task.hash, question or secrets.token_hex(8), at, secrets.token_hex(16), task.numbers(at))

    def to_json(self, **more: object) -> bytes:
        """The message."""
        return json.dumps({**self._facts(), **more}).encode()

    @classmethod
    def from_json(cls, message: bytes, task: Askable) -> Asked:
        """The question in a message, if it is one of this task.

        Raises:
            ProtocolAborted: it is another message, or of another task or version, or asks what can not be asked.
        """
        stored = opened(message, "question")
        if stored.get("version") != VERSION:
            raise ProtocolAborted("question", f"version {VERSION} of the protocol is spoken here, not another one", 409)
        if stored.get("task") != task.hash:
            raise ProtocolAborted("question", "it is of another task than this server's", 409)
        names = (stored.get("question"), stored.get("nonce"))
        if any(not isinstance(name, str) or not 0 < len(name) <= LONGEST_ID or not name.isalnum() for name in names):
            raise ProtocolAborted("question", f"it needs an id and a nonce, of 1 to {LONGEST_ID} letters and digits")
        at = task.thresholds(stored.get("at"))
        return cls(task.hash, str(names[0]), at, str(names[1]), task.numbers(at))

    def answered(self, numbers: tuple[int, ...], named: Mapping[str, object], **more: object) -> bytes:
        """The message that answers this one, from a set of reports as it is named."""
        return json.dumps({**self._facts(), **named, "numbers": numbers, **more}).encode()

    def answer(self, message: bytes, who: str) -> Answer:
        """The answer in a message, if it answers this very question.

        Raises:
            ProtocolAborted: it does not. Nothing of it is shown.
        """
        stored = self.echoed(message, who)
        numbers, name, reports = stored.get("numbers"), stored.get("set"), stored.get("reports")
        fits = isinstance(numbers, list) and len(numbers) == self.numbers and all(type(one) is int for one in numbers)
        if not (fits and isinstance(name, str) and type(reports) is int and reports > 0):
            raise ProtocolAborted(who, f"its answer {UNLIKE}", 502)
        dropped, commitments = stored.get("dropped", 0), stored.get("commitments")
        return Answer(
            tuple(numbers or ()), name, reports, dropped if type(dropped) is int else 0,
            tuple(commitments) if isinstance(commitments, list) else (),
        )  # fmt: skip

    def echoed(self, message: bytes, who: str) -> Mapping[str, Any]:
        """The object in a message, if it names this very question.

        Raises:
            ProtocolAborted: it does not.
        """
        stored = opened(message, who)
        if any(stored.get(name) != value for name, value in self._facts().items()):
            raise ProtocolAborted(who, "it answered another question, or an earlier one", 502)
        return stored

    def _facts(self) -> dict[str, object]:
        return {
            "version": self.version, "task": self.task, "question": self.question, "at": list(self.at),
            "nonce": self.nonce,
        }  # fmt: skip


def require_set(message: Mapping[str, Any], named: Mapping[str, object], rule: str) -> None:
    """Refuse a response from another set of reports, or with other noise, than this server's.

    Raises:
        ProtocolAborted: it does; `rule` says what follows.
    """
    if {name: message.get(name) for name in named} != named:
        raise ProtocolAborted("reports", rule, 409)


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """Response: numbers for the thresholds asked, from one set of reports. From the other server: SECRET halves.

    `dropped` of the reports were not counted: they failed the servers' check. `commitments` to the noise in them are
    named between the servers alone.
    """

    numbers: tuple[int, ...]
    set: str
    reports: int
    dropped: int = 0
    commitments: tuple[object, ...] = ()

    @property
    def named(self) -> dict[str, object]:
        """Identity of the set of reports and of the noise, as plain objects."""
        return {"set": self.set, "reports": self.reports, "commitments": list(self.commitments)}
