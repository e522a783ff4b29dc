"""Vectors of the wire of two servers: `python tests/two_servers/wire_vectors.py` writes them anew into ``vectors``.

Two servers with fixed keys take the reports of one owner, close the task and answer a question, in one process. All
that is drawn elsewhere is counted up here, so that every byte comes out the same.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast
from unittest import mock

import numpy as np
import wire_textbook as book
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from dpcurves.data import Grid
from dpcurves.ledger import Ledger
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving.channel import Channel
from dpcurves_parties.serving.identity import Identity, Server
from dpcurves_parties.serving.task_document import Role, Ticket
from dpcurves_parties.serving.two_servers import report_set
from dpcurves_parties.serving.two_servers.collection import Resources
from dpcurves_parties.serving.two_servers.sealed_answers import AnswerKey, SealedQuestion
from dpcurves_parties.serving.two_servers.store import Store
from dpcurves_parties.serving.two_servers.task_types import VERSION, QuestionMessage, SharedTask
from dpcurves_parties.shares.aggregation import TaskService
from dpcurves_parties.shares.answer_proofs import ProofKeys
from dpcurves_parties.shares.function_shares import Owners
from dpcurves_parties.shares.task import CountKind, Task

VECTORS = Path(__file__).parent / "vectors"
SLOTS = [2, 0, 9, 5, 10]
"""Slots of the records; 10 is that of the missing. The last report is malformed where reports are checked."""
QUESTIONS = {"plain": [], "checked": [3, 7], "proved": [], "edges": [4, 8, 10]}


def fixed(name: str, size: int = 32) -> bytes:
    """Bytes that look like none in particular."""
    return sha256(f"vector: {name}".encode()).digest()[:size]


ANALYST = fixed("key of an analyst")
SEALING = [fixed(f"sealing key of server {party}") for party in (0, 1)]
LEDGER = [fixed(f"ledger key of server {party}") for party in (0, 1)]
PROOFS = ProofKeys(fixed("secret of proofs").hex(), 1)
TOKENS = {role: fixed(f"token of {role.bearer}").hex() for role in Role}


def task_of(name: str) -> Task:
    """The task of a vector: `plain` counts all cells of reports that are believed, `checked` below thresholds.

    `proved` counts all cells, `edges` below thresholds of reports that are checked: servers prove their halves.
    """
    first, second = (
        Server(f"https://server-{party}.example:8701", book.public(key).hex(), f"certificate of server {party}\n")
        for party, key in enumerate(SEALING)
    )
    tokens = {role: (book.ticket_hash(token),) for role, token in TOKENS.items()}
    owners, counted = {
        "plain": (Owners.UNCHECKED, CountKind.CELLS), "checked": (Owners.CHECKED, CountKind.PREFIXES),
        "proved": (Owners.UNCHECKED, CountKind.CELLS), "edges": (Owners.CHECKED, CountKind.PREFIXES),
    }[name]  # fmt: skip
    return Task(
        name, "x", Grid(0, 1, cells=10), None, PrivacyLoss.pure(1), len(SLOTS), (first, second), tokens,
        owners=owners, count_kind=counted, proof_key_hashes=PROOFS.hashes if name in ("proved", "edges") else (),
        proved_at=tuple(QUESTIONS[name]) if name == "edges" else (),
    )  # fmt: skip


@dataclass
class Wire:
    """The way from one server to the other, in one process, and all that went there."""

    other: list[TaskService] = field(default_factory=list)
    sent: list[dict[str, str]] = field(default_factory=list)

    def post(self, path: str, message: bytes, token: str = "", content_type: str = "") -> bytes:
        what = path.rpartition("/")[2]
        if what in ("aggregation_jobs", "aggregate_shares"):
            work = (
                self.other[0].run_aggregation_job if what == "aggregation_jobs" else self.other[0].make_aggregate_share
            )
            answer = work(message)
            self.sent.append({"to": what, "message": message.hex(), "answer": answer.hex()})
            return answer
        told, _ = self.other[0].PEER_REQUESTS[what]
        answer = told(self.other[0], message)
        self.sent.append({"to": what, "message": shown(message), "answer": shown(answer)})
        return answer


def shown(message: bytes) -> str:
    """JSON as it is, and bytes as hexadecimal digits."""
    return message.decode() if message[:1] == b"{" else message.hex()


def bytes_of(text: str) -> bytes:
    """The inverse of `shown`."""
    return text.encode() if text[:1] == "{" else bytes.fromhex(text)


@dataclass(frozen=True, slots=True, repr=False)
class Beside(Resources):
    """A server in the same process as the other one."""

    wire: Wire = field(default_factory=Wire)

    def make_channel(self, task: SharedTask) -> Channel:
        return cast(Channel, self.wire)


@contextmanager
def two_servers(task: Task) -> Iterator[tuple[list[TaskService], Wire]]:
    """Both servers of a task, with nothing in their stores, and the way from server 0 to server 1.

    No copy of a ledger's head is kept: the names of drafts would be counted among the ids of messages.
    """
    with TemporaryDirectory() as folder, mock.patch.dict("os.environ", DPCURVES_HEADS="off"):
        wires, services = [Wire(), Wire()], []
        for party, wire in enumerate(wires):
            url = f"sqlite:///{folder}/{party}.db"
            identity = Identity(Path(folder), task.servers[party], X25519PrivateKey.from_private_bytes(SEALING[party]))
            ledger = Ledger.open(url, LEDGER[party])
            store = Store(url, f"server {party}")
            services.append(TaskService(task, Beside(party, identity, store, ledger, url, "", 1.0, wire=wire)))
        wires[0].other.append(services[1])
        wires[1].other.append(services[0])
        yield services, wires[0]


def ephemeral(number: int) -> bytes:
    """The ephemeral key of the letter (1), and of halves of the answer in their order."""
    return fixed(f"ephemeral key of message {number}")


@contextmanager
def counted_up() -> Iterator[None]:
    """Let ids and nonces be numbers, one after the other, and ephemeral keys hashes of such."""
    numbers, keys = count(1), count(1)

    def sealed(message: bytes, key: X25519PublicKey, place: bytes) -> bytes:
        return book.sealed(message, key.public_bytes_raw(), place, ephemeral(next(keys)))

    with (
        mock.patch("secrets.token_hex", lambda size=32: f"{next(numbers):0{2 * size}x}"),
        mock.patch.object(report_set, "seal_share", sealed),
    ):
        yield


def shares_of(task: Task) -> list[tuple[bytes, bytes]]:
    """Shares of all records, from seeds that are hashes of their number and server."""
    seeds = [fixed(f"seed {number} of server {party}", 16) for party in (0, 1) for number in range(len(SLOTS))]
    stream = iter((b"".join(seeds[: len(SLOTS)]), b"".join(seeds[len(SLOTS) :])))
    randomness = replace(Randomness.from_system(), random_bytes=lambda size: next(stream))
    shares = task.make_owner_encoding(PROOFS.secret).share_records(np.array(SLOTS), randomness)
    if task.owners is Owners.CHECKED:  # a weight of the first level is one more, for both servers alike
        at = 16 * task.bits
        shares[-1] = tuple(share[:at] + bytes([share[at] ^ 1]) + share[at + 1 :] for share in shares[-1])  # type: ignore[assignment]
    return shares


def batches_of(task: Task) -> tuple[list[dict[str, Any]], list[bytes]]:
    """The owner's reports, and its two batches, by the textbook."""
    contribution, reports, sealed = fixed("contribution"), [], [list[tuple[bytes, bytes]](), []]
    for number, (slot, shares) in enumerate(zip(SLOTS, shares_of(task), strict=True)):
        name = fixed(f"report {number}", 16)
        ephemeral = [fixed(f"ephemeral key {number} for server {party}") for party in (0, 1)]
        for party, share in enumerate(shares):
            place = book.place_of(task.hash, party, contribution, name)
            message = book.sealed(share, bytes.fromhex(task.servers[party].hpke_key), place, ephemeral[party])
            sealed[party].append((name, message))
        facts = {"slot": slot, "id": name.hex(), "public": shares[0][:-16].hex()}
        both = {"seeds": [share[-16:].hex() for share in shares], "ephemeral": [each.hex() for each in ephemeral]}
        reports.append({**facts, **both})
    return reports, [book.batch(task.hash, party, contribution, 0, sealed[party]) for party in (0, 1)]


def inquiry_of(name: str, task: Task) -> SealedQuestion:
    """The question of an analyst to server 0."""
    at = tuple(QUESTIONS.get(name, ()))
    asked, key = QuestionMessage(task.hash, "q1", at, "n1", task.answer_size(at)), book.public(ANALYST).hex()
    first, second = (AnswerKey(asked, key, fixed(f"word for server {party}", 16).hex()) for party in (0, 1))
    return SealedQuestion(asked, 0, X25519PrivateKey.from_private_bytes(ANALYST), (first, second))


def edits(batch: bytes, size: int) -> list[dict[str, Any]]:
    """Changes of a batch, none of which a server takes."""
    head, sealed = 77, 77 + 16
    flips = {
        "magic": 0, "format": 4, "party": 5, "earlier": 6, "size": 7, "count": 9, "task": 13, "contribution": 45,
        "id of a report": head, "key of a sealed share": sealed, "sealed share": sealed + 40,
        "tag of a sealed share": sealed + size - 1,
    }  # fmt: skip
    changed = [{"what": what, "at": at, "put": bytes([batch[at] ^ 0x12]).hex()} for what, at in flips.items()]
    return [*changed, {"what": "cut off", "size": len(batch) - 1}, {"what": "goes on", "more": "00"},
            {"what": "less than a head", "size": 76}]  # fmt: skip


def commit_edits(message: bytes, listed: bytes) -> list[dict[str, Any]]:
    """Changes of what server 0 decided, none of which server 1 takes; some with a listing of the part behind it."""
    flips = {"set": 0, "commitment of server 0": 32, "commitment of server 1": 64, "bits": 96}
    changed = [{"what": what, "at": at, "put": bytes([message[at] ^ 0x12]).hex()} for what, at in flips.items()]
    tail = {
        "cut off": listed[:-1], "goes on": listed + b"\0", "a report twice": listed[:40] + listed[8:40] + listed[72:],
        "a part twice": 2 * listed, "another digest": listed[:24] + bytes([listed[24] ^ 1]) + listed[25:],
    }  # fmt: skip
    nothing = {"at": 97, "put": bytes(32).hex()}
    behind = [{"what": what, **nothing, "more": more.hex()} for what, more in tail.items()]
    return [*changed, {"what": "no hash", "size": 128}, *behind]


def edited(batch: bytes, edit: dict[str, Any]) -> bytes:
    if "put" in edit:
        at, put = edit["at"], bytes.fromhex(edit["put"])
        batch = batch[:at] + put + batch[at + len(put) :]
    return batch[: edit.get("size", len(batch))] + bytes.fromhex(edit.get("more", ""))


def refusal(service: TaskService, what: str, message: bytes) -> str:
    """The line in which a server refuses a message.

    Raises:
        AssertionError: it does not.
    """
    try:
        service.store_batch(0, message) if what == "reports" else service.PEER_REQUESTS[what][0](service, message)
    except ValueError as error:
        return str(error)
    raise AssertionError(f"{what} was taken")


PEER_EDITS: list[dict[str, Any]] = [
    {"version": VERSION - 1}, {"task": "00" * 32}, {"question": ""}, {"nonce": "n" * 65},
    {"thresholds": [1, 1]}, {"thresholds": ["1"]}, {"thresholds": [11]},
    {"set": "00" * 32}, {"reports": 1}, {"commitments": ["00" * 32, "00" * 32]},
]  # fmt: skip


def vectors_of(name: str) -> dict[str, Any]:
    """Vectors of a task: reports, what the servers say to each other, and what they refuse."""
    task = task_of(name)
    reports, batches = batches_of(task)
    with two_servers(task) as (services, wire), counted_up():
        size = len(bytes.fromhex(reports[0]["public"])) + 16 + 48
        refused = [
            {"server": 1, "to": "reports", **edit, "error": refusal(services[1], "reports", edited(batches[1], edit))}
            for edit in edits(batches[1], size)
        ]
        taken = [shown(service.store_batch(0, batch)) for service, batch in zip(services, batches, strict=True)]
        again = [shown(service.store_batch(0, batch)) for service, batch in zip(services, batches, strict=True)]
        closed = shown(services[0].close(b""))
        inquiry = inquiry_of(name, task)
        question = inquiry.to_json(Ticket(task.hash, Role.ANALYST, TOKENS[Role.ANALYST]), task.servers)
        answer = services[0].answer(question)
        halves = inquiry.open_answer_shares(answer)
        said = list(wire.sent)
        agree = next(each["message"] for each in said if each["to"] == "agree")
        for edit in PEER_EDITS:
            message = json.dumps({**json.loads(agree), **edit}).encode()
            error = refusal(services[1], "agree", message)
            refused.append({"server": 1, "to": "agree", "json": edit, "error": error})
        commit = bytes_of(next(each["message"] for each in said if each["to"] == "commit"))
        halves_of = {bytes.fromhex(each["id"]): bytes.fromhex(each["public"]) for each in reports}
        listed = struct.pack(">II", 0, len(reports)) + book.listing(halves_of)
        asked = services[1].PEER_REQUESTS["listed"][0](services[1], b'{"bits": 0, "parts": [0]}')
        assert asked == listed
        for edit in commit_edits(commit, listed):
            error = refusal(services[1], "commit", edited(commit, edit))
            refused.append({"server": 1, "to": "commit", **edit, "error": error})
    return {
        "document": task.to_json(),
        "task": task.hash,
        "servers": [
            {"sealing_key": key.hex(), "ledger_key": ledger.hex()} for key, ledger in zip(SEALING, LEDGER, strict=True)
        ],
        "tickets": {
            role.value: {"token": token, "shown": [book.shown(token, party) for party in (0, 1)]}
            for role, token in TOKENS.items()
        },
        "contribution": fixed("contribution").hex(),
        "reports": reports,
        "batches": [batch.hex() for batch in batches],
        "taken": taken,
        "taken_again": again,
        "closed": closed,
        **({"proofs": {"secret": PROOFS.secret, "key": PROOFS.keys[0]}} if task.proof_key_hashes else {}),
        "analyst": {"key": ANALYST.hex(), "ephemeral": [ephemeral(number).hex() for number in (1, 2, 3)]},
        "question": question.decode(),
        "answer": answer.decode(),
        "halves": [{**half.provenance, "dropped": half.dropped_count, "numbers": list(half.values)} for half in halves],
        "said_to_server_1": said,
        "listed": asked.hex(),
        "refused": refused,
    }


def written(name: str) -> str:
    return json.dumps(vectors_of(name), indent=1) + "\n"


if __name__ == "__main__":
    for each in QUESTIONS:
        (VECTORS / f"{each}.json").write_text(written(each), encoding="utf-8")
