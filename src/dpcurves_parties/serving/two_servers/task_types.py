"""Tasks of two servers that count secret-shared records: interface of a task, its registry, and the messages.

Each record is split into two shares, one for each server; a share alone is random and reveals nothing. A *task*
document states what the servers count. An analyst asks for counts of records at some *thresholds* (numbers of cells of
the task's grid); each server answers with a share of the noisy counts, and the shares add up to them.

    SharedTask        base class of tasks: query, encoding of records, account in a server's ledger
    ShareEncoding     how a record is split into a share for each server
    QuestionMessage   a question at thresholds of one task, with a nonce that its answer must repeat
    Answer            noisy counts of one report set; or one server's share of them, which is SECRET
    load_task_type    name of a task type -> its classes, which other packages register by entry points
    read_task         file of a task document -> the task

This module computes nothing on shares; subclasses of `SharedTask` state the guarantees.
"""

from __future__ import annotations

import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dpcurves.arrays import IntArray
from dpcurves.extensions import find_entry_points
from dpcurves.ledger import Account
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves.queries import Query

from ..identity import Server
from ..messages import WRONG_FORM_RULE, ProtocolError, parse_fields, parse_object
from ..task_document import TaskDocument, parse_task_type, read_document_text
from .report_set import ID_SIZE

VERSION = 6
"""Version of the protocol of two servers; questions and answers of other versions are refused."""


class Askable(Protocol):
    """Interface of the questions that a message may ask; a task of counts implements it itself."""

    @property
    def hash(self) -> str:
        """Hash of the task's document, which names the task in messages."""

    def parse_thresholds(self, value: object) -> tuple[int, ...]:
        """Parse and check the thresholds of a question's message.

        Args:
            value: Field ``thresholds`` of the message, a JSON value.

        Raises:
            ProtocolError: The thresholds are invalid.
        """

    def answer_size(self, thresholds: Sequence[int]) -> int:
        """Return the number of values in the response to a question at these thresholds.

        Args:
            thresholds: Thresholds that the question names; empty for a task of all cells.
        """


@dataclass(frozen=True, slots=True)
class QuestionMessage:
    """Question about thresholds of one task.

    Attributes:
        task: Hash of the task.
        question_id: Id that is equal if the question is repeated.
        thresholds: Numbers of the thresholds at which records are counted; empty: all cells.
        nonce: Random for each message, so that replayed answers are detected.
        answer_size: Number of values in the response.
        version: Version of the protocol.
    """

    task: str
    question_id: str
    thresholds: tuple[int, ...]
    nonce: str
    answer_size: int
    version: int = VERSION

    @classmethod
    def create(cls, task: Askable, thresholds: tuple[int, ...], question: str | None = None) -> QuestionMessage:
        """Create the message of a question at some thresholds of a task, with a new nonce.

        Args:
            task: The task.
            thresholds: The thresholds; empty for all cells.
            question: Id of a question that is repeated; None: a new id.
        """
        return cls(
            task.hash, question or secrets.token_hex(8), thresholds, secrets.token_hex(16), task.answer_size(thresholds)
        )

    def to_json(self, **more: object) -> bytes:
        """Encode the question as a JSON message for a server.

        Args:
            **more: Further fields, with values that JSON can hold.
        """
        return json.dumps({**self.fields, **more}).encode()

    @classmethod
    def from_json(cls, message: bytes, task: Askable) -> QuestionMessage:
        """Parse a question of an analyst or of the other server, and check version, task, thresholds and nonce.

        Args:
            message: The message, as JSON.
            task: The task of this server.

        Raises:
            ProtocolError: The message is invalid, or of another task or version, or its thresholds are not allowed.
        """
        stored = parse_object(message, "question")
        if stored.get("version") != VERSION:
            raise ProtocolError(
                "question",
                f"must be of version {VERSION} of the protocol; use the version of dpcurves that the servers use",
                409,
            )
        if stored.get("task") != task.hash:
            raise ProtocolError(
                "question", "is about another task than this server's; ask with this task's document", 409
            )
        names = (stored.get("question"), stored.get("nonce"))
        longest_id = 64  # characters of the id of a question, and of its nonce, at most
        if any(not isinstance(name, str) or not 0 < len(name) <= longest_id or not name.isalnum() for name in names):
            raise ProtocolError(
                "question",
                f"must have an id and a nonce of 1 to {longest_id} letters and digits each; ask with dpcurves ask",
            )
        thresholds = task.parse_thresholds(stored.get("thresholds"))
        return cls(task.hash, str(names[0]), thresholds, str(names[1]), task.answer_size(thresholds))

    def encode_answer(self, numbers: tuple[int, ...], provenance: Mapping[str, object], **more: object) -> bytes:
        """Encode the answer to this question as JSON, with the report set that it comes from.

        Args:
            numbers: Noisy counts, or this server's shares of them, in the order of the thresholds.
            provenance: Report set and noise commitments, as `Answer.provenance`.
            **more: Further fields, with values that JSON can hold.
        """
        return json.dumps({**self.fields, **provenance, "numbers": numbers, **more}).encode()

    def parse_answer(self, message: bytes, who: str) -> Answer:
        """Parse an answer to this question: its numbers and the report set that they come from.

        Args:
            message: The answer, as JSON.
            who: Name of its sender, for errors.

        Raises:
            ProtocolError: The answer does not match the question. The error contains nothing of the answer.
        """
        stored = self.parse_reply(message, who)
        numbers = stored.get("numbers")
        name = stored.get("set")
        reports = stored.get("reports")
        is_valid = (
            isinstance(numbers, list)
            and len(numbers) == self.answer_size
            and all(type(number) is int for number in numbers)
        )
        if not (is_valid and isinstance(name, str) and type(reports) is int and reports > 0):
            raise ProtocolError(who, f"the answer {WRONG_FORM_RULE}", 502)
        return Answer(tuple(numbers or ()), name, reports)

    def parse_reply(self, message: bytes, who: str) -> Mapping[str, Any]:
        """Return the fields of a reply to this question, whose values are not checked further.

        Args:
            message: The reply, as JSON.
            who: Name of its sender, for errors.

        Raises:
            ProtocolError: The reply is not a JSON object, or does not repeat this question and its nonce.
        """
        stored = parse_object(message, who)
        if any(stored.get(name) != value for name, value in self.fields.items()):
            raise ProtocolError(who, "the answer is to another question, or an earlier one; ask again", 502)
        return stored

    @property
    def fields(self) -> dict[str, object]:
        """Version, task, question id, thresholds and nonce, as plain objects: an answer must repeat them."""
        return {
            "version": self.version, "task": self.task, "question": self.question_id,
            "thresholds": list(self.thresholds), "nonce": self.nonce,
        }  # fmt: skip


def parse_closed_status(task: SharedTask, message: bytes) -> Mapping[str, Any]:
    """Parse a server's statement about a closed task, which accepts no more reports.

    Args:
        task: The task.
        message: The statement, as JSON.

    Returns:
        The fields ``task``, ``version``, ``state`` and ``reports`` (number of accepted reports).

    Raises:
        TaskStillOpen: The task still accepts reports.
        ProtocolError: The statement is malformed, or of another task or version.
    """
    status = parse_fields(message, "server", task=str, version=int, state=str, reports=int)
    if (status["task"], status["version"]) != (task.hash, VERSION):
        raise ProtocolError(
            "server",
            "the status is of another task or version; use this task's document, and the servers' version of dpcurves",
            502,
        )
    if status["state"] != "closed":
        raise TaskStillOpen
    return status


class TaskStillOpen(ProtocolError):
    """Error: the task still accepts reports, so that no question can be answered yet."""

    def __init__(self) -> None:
        super().__init__("task", "is not closed yet: run dpcurves task close", 409)


def require_report_set(message: Mapping[str, Any], provenance: Mapping[str, object], rule: str) -> None:
    """Check that a message of the other server names the same report set and noise commitments as this server.

    Args:
        message: Fields of the message.
        provenance: Report set and noise commitments of this server.
        rule: Text of the error: what is wrong, and what to do.

    Raises:
        ProtocolError: Report set or noise differ.
    """
    if {name: message.get(name) for name in provenance} != provenance:
        raise ProtocolError("reports", rule, 409)


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """The answer to a question: noisy counts of one report set; or a server's share of them, which is SECRET.

    Attributes:
        values: The count of each threshold; or the share of each, modulo 2**64.
        report_set: Hash of the accepted reports.
        reports: Number of accepted reports.
        dropped_count: Number of reports that failed the servers' check.
        commitments: Commitments of both servers to their noise.
        noise_hashes: Hashes of the noise to which servers are bound; empty if answers are not proved.
    """

    values: tuple[int, ...]
    report_set: str
    reports: int
    dropped_count: int = 0
    commitments: tuple[str, ...] = ()
    noise_hashes: tuple[str, ...] = ()

    @property
    def provenance(self) -> dict[str, object]:
        """Identity of the report set and of the noise, as plain objects.

        Returns:
            Fields ``set``, ``reports`` and ``commitments``; of a proved answer also ``bound``, the hashes of the
            noise.
        """
        bound = {"bound": list(self.noise_hashes)} if self.noise_hashes else {}
        return {"set": self.report_set, "reports": self.reports, "commitments": list(self.commitments), **bound}


# Interface and registry of task types, independent of their computations on shares.
# #
# A task type is registered as an entry point of the group `TASK_TYPE_ENTRY_POINTS`, under the name in the first field
# of its documents, with ``-`` for spaces: a `TaskType`. So the servers' program imports none of them directly.
TASK_TYPE_ENTRY_POINTS = "dpcurves.shared_tasks"
"""Group of entry points under which installed packages register their task types; a document of a type that none
registers is refused."""


class ShareEncoding(Protocol):
    """Interface of encodings that split records into shares for two servers."""

    @property
    def public_size(self) -> int:
        """Size in bytes of the public part of a report, which both servers receive."""

    @property
    def size(self) -> int:
        """Size in bytes of a report for one server."""

    def share_records(self, rows: IntArray, randomness: Randomness, /) -> list[tuple[bytes, bytes]]:
        """SECRET: return the shares of each record for server 0 and for server 1, as bytes.

        Args:
            rows: Records as integers, (records, columns), by the task's columns.
            randomness: Source of the shares.

        Returns:
            A pair of shares per record.
        """

    def share_records_with_ids(
        self, rows: IntArray, randomness: Randomness, /
    ) -> list[tuple[bytes, tuple[bytes, bytes]]]:
        """SECRET: return an id for each record, equal at both servers, and shares for server 0 and server 1.

        Args:
            rows: Records as integers, (records, columns), by the task's columns.
            randomness: Source of the shares and the ids.

        Returns:
            For each record its id and the pair of its shares.
        """
        shares = self.share_records(rows, randomness)
        return [(randomness.random_bytes(ID_SIZE), shares_of_record) for shares_of_record in shares]

    def size_for_party(self, party: int) -> int:
        """Return the bytes of a report for server 0 or server 1; here equal for both.

        Args:
            party: Number of the server, 0 or 1.
        """
        return self.size

    def require_shares(self, party: int, shares: Sequence[bytes]) -> None:
        """Check that shares have the form of this encoding; this base class accepts all.

        Args:
            party: Server 0 or server 1.
            shares: A share of each record for this server, as bytes.

        Raises:
            ValueError: A share is not of this task.
        """

    def warm_up(self) -> None:
        """Compile code in advance, so that the first answer does not wait for it; here there is nothing to compile."""


class SharedTask(TaskDocument, ABC):
    """Base class of tasks whose records are secret-shared between two servers; subclasses define the computation.

    Attributes:
        name: Name for people.
        loss: Privacy loss of all answers together, for each report.
        reports_per_owner: Most reports of one owner.
        servers: Party 0 and party 1.
        proof_key_hashes: Hashes of each analyst's key for proofs of answers; empty: answers are not proved.
        enrols: Whether an owner's ticket is an invitation, with which the owner enrols a token.
    """

    name: str
    loss: PrivacyLoss
    reports_per_owner: int
    servers: tuple[Server, ...]
    proof_key_hashes: tuple[str, ...] = ()
    enrols: bool = False

    @property
    @abstractmethod
    def query(self) -> Query:
        """The query that the release of the task answers, and that is charged."""

    @property
    @abstractmethod
    def encoding(self) -> ShareEncoding:
        """Encoding of reports, common to owners and servers."""

    @property
    def dataset(self) -> str:
        """Name of the task's account in a server's ledger."""
        return f"task {self.hash}"

    @property
    def account(self) -> Account:
        """Account of the task in each server's ledger, for exactly one charge."""
        return Account(self.dataset, Neighbours.REPLACE_ONE, EACH_RECORD, self.loss)

    def make_owner_encoding(self, proof_key: str) -> ShareEncoding:
        """Return the encoding of an owner whose ticket has this key for proofs of answers.

        Args:
            proof_key: Key in the ticket; not used if the task proves no answers.

        Raises:
            ProtocolError: The task proves answers, and the key does not match the task document.
        """
        return self.encoding

    def require_allowed_count(self, records: IntArray) -> IntArray:
        """Return the records of one owner, after checking their number.

        Raises:
            ProtocolError: The owner has no records, or more than the task accepts.
        """
        if not 1 <= len(records) <= self.reports_per_owner:
            rule = f"must have 1 to {self.reports_per_owner} records, as the task says, got {len(records)}"
            raise ProtocolError("data", rule)
        return records


@dataclass(frozen=True, slots=True)
class TaskType:
    """Registration of a task type: the classes that parse and serve its tasks.

    Attributes:
        document_class: Class of its documents.
        create_service: Function that creates the service of one server for one task, from the task and its
            `dpcurves_parties.serving.two_servers.collection.Resources`.
    """

    document_class: type[SharedTask]
    create_service: Callable[[Any, Any], Any]


def load_task_type(name: str) -> TaskType:
    """Return the registered task type whose documents have this name in their first field.

    Raises:
        ProtocolError: no task type of this name is installed.
    """
    for entry_point in find_entry_points(TASK_TYPE_ENTRY_POINTS, name.replace(" ", "-")):
        kind: TaskType = entry_point.load()
        return kind
    raise ProtocolError("task", "the file is not a task document; name the one that you received")


def read_task(path: str | Path) -> SharedTask:
    """Read a task document from a file, and return the task of two servers that it describes.

    Args:
        path: Path of the file.

    Raises:
        ValueError: The file cannot be read, or is no task document, or is of a task of people without servers.
    """
    text = read_document_text(path)
    task = load_task_type(parse_task_type(text)).document_class.from_json(text)
    if len(task.servers) != 2:
        raise ProtocolError("task", "is of people in pairs, not of two servers; take part with dpcurves pair")
    return task
