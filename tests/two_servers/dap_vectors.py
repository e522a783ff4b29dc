"""Vectors of the DAP draft's wire: `python tests/two_servers/dap_vectors.py` writes them anew into ``vectors``.

A client that is written from the draft's structures alone uploads reports to two servers with fixed keys, in one
process. The task is closed, its reports are verified, and a question is answered.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import wire_textbook as book
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from dap_client import Client, configs
from vdaf_histogram import Histogram
from wire_vectors import (
    LEDGER,
    SEALING,
    SLOTS,
    TOKENS,
    VECTORS,
    counted_up,
    edited,
    fixed,
    inquiry_of,
    shown,
    task_of,
    two_servers,
)

from dpcurves_parties.serving.messages import ProtocolAborted
from dpcurves_parties.serving.task_document import Role, Ticket
from dpcurves_parties.serving.two_servers.dap import Keys, job_of, task_id
from dpcurves_parties.shares.aggregation import TaskService
from dpcurves_parties.shares.function_shares import Owners
from dpcurves_parties.shares.task import Counted, Reported, Task

FILE = VECTORS / "dap.json"
TIME = 20_000


def task_of_draft() -> Task:
    """Ten cells, whose reports are Prio3Histogram."""
    plain = task_of("plain")
    return replace(plain, name="dap", owners=Owners.CHECKED, counted=Counted.CELLS, reported=Reported.HISTOGRAM)


def client_of(task: Task) -> Client:
    keys = []
    for service_key in SEALING:
        ((number, _, key),) = configs(Keys.of([_private(service_key)]).configs())
        keys.append((number, key))
    facts = json.loads(task.to_json())["encoding"]
    urls = [server.url for server in task.servers]
    return Client(bytes.fromhex(task.hash), urls, facts["length"], facts["chunk_length"], keys)


def _private(key: bytes) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(key)


def reports_of(client: Client) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Reports, in words and in bytes; the last one's share of the helper is not the owner's: it fails."""
    ticket, told, packed = book.shown(TOKENS[Role.OWNER], 1), [], []
    for number, cell in enumerate(SLOTS):
        name, rand = fixed(f"report {number}", 16), b"".join(fixed(f"rand {number}.{part}") for part in range(4))
        ephemeral = [fixed(f"ephemeral key {number} for server {party}") for party in (0, 1)]
        scheme = Histogram(2, client.length, client.chunk, b"dap-18" + client.task, name)
        public, inputs = scheme.shard(cell, rand)
        if number == len(SLOTS) - 1:
            inputs[1] = bytes([inputs[1][0] ^ 1]) + inputs[1][1:]
        packed.append(client.sealed(public, inputs, ticket, name, time=TIME, keys=ephemeral))
        facts = {"cell": cell, "id": name.hex(), "rand": rand.hex(), "public": public.hex(), "time": TIME}
        shares = {"inputs": [each.hex() for each in inputs], "ephemeral": [each.hex() for each in ephemeral]}
        told.append({**facts, **shares, "report": packed[-1].hex()})
    return told, packed


def edits_of_upload(report: bytes) -> list[dict[str, Any]]:
    """Changes of a report, with none of which it is taken."""
    leader = 26 + 4 + 64 + 1 + 2
    size = int.from_bytes(report[leader + 32 : leader + 36], "big")
    helper = leader + 36 + size + 1 + 2
    places = {
        "id": 0, "time": 23, "size of public extensions": 25, "size of the public share": 29, "public share": 30,
        "number of the leader's key": leader - 3, "size of an encapsulated key": leader - 1,
        "encapsulated key of the leader": leader, "leader's ciphertext": leader + 40,
        "number of the helper's key": helper - 3, "encapsulated key of the helper": helper,
        "helper's ciphertext": helper + 40,
    }  # fmt: skip
    changed = [{"what": what, "at": at, "put": bytes([report[at] ^ 1]).hex()} for what, at in places.items()]
    ends: list[dict[str, Any]] = [{"what": "cut off", "size": len(report) - 1}, {"what": "goes on", "more": "00"}]
    return [*changed, *ends, {"what": "nothing", "size": 0}, {"what": "twice", "more": report.hex()}]


def edits_of_job(job: bytes, task: str) -> list[dict[str, Any]]:
    """Changes of a job: of all of it, or of its first report."""
    first = 43 + len(job_of(job, task)[0].packed())
    places = {"number of a key of verification": 0, "size of a parameter": 4, "type of the batch": 8, "batch": 12,
              "id of a report": 43, "leader's message of a proof": first - 40}  # fmt: skip
    changed = [{"what": what, "at": at, "put": bytes([job[at] ^ 1]).hex()} for what, at in places.items()]
    return [*changed, {"what": "cut off", "size": len(job) - 1}, {"what": "goes on", "more": "00"}]


def outcome(service: TaskService, what: str, message: bytes) -> dict[str, str]:
    """Answer of a server, or the line in which it refuses."""
    try:
        answer = service.upload(0, message) if what == "upload" else service.job(message)
    except ProtocolAborted as error:
        return {"error": str(error)}
    return {"answer": answer.hex()}


def vectors() -> dict[str, Any]:
    task = task_of_draft()
    client = client_of(task)
    reports, packed = reports_of(client)
    with two_servers(task) as (services, wire), counted_up():
        tampered = [
            {"to": "upload", **edit, **outcome(services[0], "upload", edited(packed[0], edit))}
            for edit in edits_of_upload(packed[0])
        ]
        wire.sent.clear()
        upload = b"".join(packed)
        answers = [services[0].upload(0, upload).hex() for _ in range(2)]
        wire.sent.pop()  # the same again
        job = bytes.fromhex(wire.sent[0]["message"])
        tampered += [
            {"to": "job", **edit, **outcome(services[1], "job", edited(job, edit))}
            for edit in edits_of_job(job, task.hash)
        ]
        closed = shown(services[0].close(b""))
        inquiry = inquiry_of("dap", task)
        question = inquiry.to_json(Ticket(task.hash, Role.ANALYST, TOKENS[Role.ANALYST]), task.servers)
        halves = inquiry.halves(services[0].answer(question))
        said = list(wire.sent)
    return {
        "document": task.to_json(),
        "task": task.hash,
        "task_id": task_id(task.hash),
        "configuration": client.configuration.hex(),
        "servers": [
            {"sealing_key": key.hex(), "ledger_key": ledger.hex(), "configs": Keys.of([_private(key)]).configs().hex()}
            for key, ledger in zip(SEALING, LEDGER, strict=True)
        ],
        "ticket": {"token": TOKENS[Role.OWNER], "shown": [book.shown(TOKENS[Role.OWNER], party) for party in (0, 1)]},
        "reports": reports,
        "upload_answers": answers,
        "closed": closed,
        "question": question.decode(),
        "halves": [{**half.named, "dropped": half.dropped, "numbers": list(half.numbers)} for half in halves],
        "said_to_server_1": said,
        "tampered": tampered,
    }


def written() -> str:
    return json.dumps(vectors(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")
