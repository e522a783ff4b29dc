"""Documents that say what a task is: public, never changed, and named by a hash of their text."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Self

from dpcurves.arguments import Refused
from dpcurves.privacy import PrivacyLoss

from .errors import ProtocolAborted
from .ticket import Role


class Document(ABC):
    """Public facts that all parties agree on, as a text that never changes: its hash identifies it.

    Attributes:
        PREFIX: Bytes that are hashed before the text.
    """

    PREFIX: ClassVar[bytes] = b""

    @abstractmethod
    def to_json(self) -> str:
        """The document; equal facts have equal texts."""

    @classmethod
    @abstractmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`.

        Raises:
            ValueError: it is none, or of another version.
        """

    @cached_property
    def hash(self) -> str:
        """64 hexadecimal digits: SHA-256 of the document, which no other one has."""
        return sha256(self.PREFIX + self.to_json().encode()).hexdigest()

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The document in a file.

        Raises:
            ValueError: it can not be read, or is none.
        """
        return cls.from_json(text_of(path))

    def write(self, path: str | Path) -> None:
        """Write the document to a file.

        Raises:
            ValueError: the file can not be written.
        """
        try:
            Path(path).write_text(self.to_json() + "\n", encoding="utf-8")
        except OSError as error:
            raise Refused("out", f"the file can not be written ({error.strerror})") from None


class TaskDocument(Document):
    """A task as a document, and who holds tickets for it.

    Attributes:
        tokens: Hashes of the tokens of each role. Their order numbers who holds them.
        KIND: What such a document is called in its first field.
        VERSION: The version of the protocol.
    """

    PREFIX: ClassVar[bytes] = b"dpcurves task\n"

    tokens: Mapping[Role, tuple[str, ...]]
    KIND: ClassVar[str]
    VERSION: ClassVar[int]

    @cached_property
    def bearers(self) -> Mapping[tuple[Role, str], int]:
        """The number of who holds a ticket, by its role and the hash of its token."""
        return {(role, name): number for role in Role for number, name in enumerate(self.tokens.get(role, ()))}

    def taken_by(self, tokens: Mapping[Role, tuple[str, ...]]) -> Self:
        """A task of the same facts for the bearers of these tokens."""
        return self.of_facts(self.facts(), tokens)

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """The fields of a task document besides kind, version and tokens, as plain objects."""

    @classmethod
    @abstractmethod
    def of_facts(cls, stored: Mapping[str, Any], tokens: Mapping[Role, tuple[str, ...]]) -> Self:
        """The inverse of `facts`."""

    def to_json(self) -> str:
        """The document; the same task has the same text."""
        tokens = {role.value: list(self.tokens.get(role, ())) for role in Role}
        head = {"dpcurves": self.KIND, "version": self.VERSION, "tokens": tokens}
        return json.dumps({**self.facts(), **head}, indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The task that `to_json` wrote.

        Raises:
            ValueError: it is none, or of another version, or says anything that `to_json` does not.
        """
        task = cls._of(text)
        if task.to_json() != text.strip():
            raise ProtocolAborted("task", "the document was changed: a field is not as this dpcurves writes it")
        return task

    @classmethod
    def _of(cls, text: str) -> Self:
        try:
            stored = json.loads(text)
            if stored["dpcurves"] != cls.KIND:
                raise KeyError("dpcurves")
            if stored["version"] != cls.VERSION:
                rule = f"it is of version {stored['version']}, this dpcurves speaks {cls.VERSION}"
                raise ProtocolAborted("task", rule)
            return cls.of_facts(stored, {role: tuple(stored["tokens"][role.value]) for role in Role})
        except (KeyError, TypeError, AttributeError, ZeroDivisionError, json.JSONDecodeError):
            raise ProtocolAborted("task", f"this is no {cls.KIND} document") from None


def text_of(path: str | Path) -> str:
    """The text of a document.

    Raises:
        ValueError: it can not be read.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "it is no text")
        raise ProtocolAborted("task", f"{str(path)!r} cannot be read ({reason})") from None


def kind_of(text: str) -> str:
    """The kind in the first field of a document; empty if it is no task document."""
    try:
        found = json.loads(text)["dpcurves"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return found if isinstance(found, str) else ""


def loss_to_json(loss: PrivacyLoss) -> dict[str, str]:
    """A loss in a document."""
    return {"rho": str(loss.rho)} if loss.epsilon is None else {"epsilon": str(loss.epsilon)}


def loss_from_json(stored: Mapping[str, Any]) -> PrivacyLoss:
    """The inverse of `loss_to_json`."""
    pure = "epsilon" in stored
    return PrivacyLoss.pure(Fraction(stored["epsilon"])) if pure else PrivacyLoss.zcdp(Fraction(stored["rho"]))
