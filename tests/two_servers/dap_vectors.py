"""Vectors of the DAP draft's wire: `python tests/two_servers/dap_vectors.py` writes them anew into ``vectors``.

A client that is written from the draft's structures alone uploads reports to two servers with fixed keys, in one
process. The task is closed, its reports are verified, and a question is answered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any
from unittest import mock

import wire_textbook as book
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from dap_client import Client, Collector, configs
from vdaf_histogram import Histogram
from wire_vectors import (
    LEDGER,
    SEALING,
    SLOTS,
    TOKENS,
    VECTORS,
    Wire,
    counted_up,
    edited,
    fixed,
    inquiry_of,
    shown,
    task_of,
    two_servers,
)

from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_parties.serving.task_document import Role, Ticket
from dpcurves_parties.serving.two_servers import dap
from dpcurves_parties.serving.two_servers.dap import HpkeKeys, encode_task_id, parse_aggregation_job
from dpcurves_parties.shares import aggregation
from dpcurves_parties.shares.aggregation import TaskService
from dpcurves_parties.shares.function_shares import Owners
from dpcurves_parties.shares.task import CountKind, ReportKind, Task

FILE = VECTORS / "dap.json"
TIME = 20_000


def task_of_draft() -> Task:
    """Ten cells, whose reports are Prio3Histogram."""
    plain = task_of("plain")
    return replace(
        plain, name="dap", owners=Owners.CHECKED, count_kind=CountKind.CELLS, report_kind=ReportKind.HISTOGRAM
    )


def client_of(task: Task) -> Client:
    keys = []
    for service_key in SEALING:
        ((number, _, key),) = configs(HpkeKeys.from_private_keys([_private(service_key)]).encode_config_list())
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
    first = 43 + len(parse_aggregation_job(job, task)[0].to_bytes())
    places = {"number of a key of verification": 0, "size of a parameter": 4, "type of the batch": 8, "batch": 12,
              "id of a report": 43, "leader's message of a proof": first - 40}  # fmt: skip
    changed = [{"what": what, "at": at, "put": bytes([job[at] ^ 1]).hex()} for what, at in places.items()]
    return [*changed, {"what": "cut off", "size": len(job) - 1}, {"what": "goes on", "more": "00"}]


def edits_of_collection(job: bytes) -> list[dict[str, Any]]:
    """Changes of a collection job, none of which is answered."""
    places = {"batch mode": 0, "size of a query": 2, "size of a parameter": 6, "type of the extension": 10,
              "suite": 15, "key": 30, "number of the helper's key": 54, "encapsulated key": 60,
              "ticket": len(job) - 1}  # fmt: skip
    changed = [{"what": what, "at": at, "put": bytes([job[at] ^ 1]).hex()} for what, at in places.items()]
    return [*changed, {"what": "cut off", "size": len(job) - 1}, {"what": "goes on", "more": "00"}]


def edits_of_share_request(message: bytes) -> list[dict[str, Any]]:
    """Changes of what the leader asks of the helper for a collection job, none of which is answered."""
    ends = {"checksum": 1, "number of reports": 33, "batch": 43, "batch mode": 75}
    changed = [{"what": what, "at": (at := len(message) - end), "put": bytes([message[at] ^ 1]).hex()}
               for what, end in ends.items()]  # fmt: skip
    return [*changed, {"what": "cut off", "size": len(message) - 1}, {"what": "goes on", "more": "00"}]


@contextmanager
def collecting() -> Iterator[None]:
    """Let it be a day, and ephemeral keys of aggregate shares be hashes of their number: 1 of the helper, 2, ..."""
    numbers = count(1)

    def sealed(plain: bytes, key: bytes, info: bytes, bound: bytes) -> tuple[bytes, bytes]:
        found = book.sealed(plain, key, info, fixed(f"ephemeral key of share {next(numbers)}"), bound)
        return found[:32], found[32:]

    day = mock.Mock(return_value=TIME * dap.TIME_PRECISION)
    with mock.patch.object(dap, "hpke_seal", sealed), mock.patch.object(aggregation, "time", day):
        yield


def collection_of(
    client: Client, services: list[TaskService], wire: Wire
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A collection job, its answer and both shares in it; and what is refused."""
    collector, ephemeral = Collector(client, fixed("key of a collector")), fixed("ephemeral key of a letter")
    job = collector.job(book.shown(TOKENS[Role.ANALYST], 1), ephemeral)
    with collecting():
        answer = services[0].run_collection_job(job)
        request = bytes.fromhex(wire.sent[-1]["message"])
        tampered = [
            {"to": what, **edit, **outcome(services[party], what, edited(message, edit))}
            for party, what, message, edits in (
                (0, "collection", job, edits_of_collection(job)),
                (1, "share", request, edits_of_share_request(request)),
            )
            for edit in edits
        ]
    told = {"key": collector.key.hex(), "ephemeral": ephemeral.hex(), "job": job.hex(), "request": request.hex()}
    shares = [share.hex() for share in collector.shares(job, answer)[2]]
    seals = [fixed(f"ephemeral key of share {number}").hex() for number in (2, 1)]
    return {**told, "answer": answer.hex(), "shares": shares, "share_keys": seals}, tampered


def outcome(service: TaskService, what: str, message: bytes) -> dict[str, str]:
    """Answer of a server, or the line in which it refuses."""
    work: dict[str, Callable[[bytes], bytes]] = {
        "upload": lambda upload: service.submit_upload(0, upload).result(), "job": service.run_aggregation_job,
        "collection": service.run_collection_job,
        "share": service.make_aggregate_share,
    }  # fmt: skip
    try:
        answer = work[what](message)
    except ProtocolError as error:
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
        answers = [services[0].submit_upload(0, upload).result().hex() for _ in range(2)]
        wire.sent.pop()  # the same again
        job = bytes.fromhex(wire.sent[0]["message"])
        tampered += [
            {"to": "job", **edit, **outcome(services[1], "job", edited(job, edit))}
            for edit in edits_of_job(job, task.hash)
        ]
        closed = shown(services[0].close(b""))
        inquiry = inquiry_of("dap", task)
        question = inquiry.to_json(Ticket(task.hash, Role.ANALYST, TOKENS[Role.ANALYST]), task.servers)
        halves = inquiry.open_answer_shares(services[0].answer(question))
        said = list(wire.sent)
        collection, more = collection_of(client, services, wire)
    return {
        "document": task.to_json(),
        "task": task.hash,
        "task_id": encode_task_id(task.hash),
        "configuration": client.configuration.hex(),
        "servers": [
            {
                "sealing_key": key.hex(),
                "ledger_key": ledger.hex(),
                "configs": HpkeKeys.from_private_keys([_private(key)]).encode_config_list().hex(),
            }
            for key, ledger in zip(SEALING, LEDGER, strict=True)
        ],
        "ticket": {"token": TOKENS[Role.OWNER], "shown": [book.shown(TOKENS[Role.OWNER], party) for party in (0, 1)]},
        "reports": reports,
        "upload_answers": answers,
        "closed": closed,
        "question": question.decode(),
        "halves": [{**half.provenance, "dropped": half.dropped_count, "numbers": list(half.values)} for half in halves],
        "said_to_server_1": said,
        "collection": collection,
        "tampered": [*tampered, *more],
    }


def written() -> str:
    return json.dumps(vectors(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")
