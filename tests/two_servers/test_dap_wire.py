"""The vectors of the DAP draft's wire are what two servers say today, and what its textbooks make of them."""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from base64 import b64decode
from contextlib import suppress
from itertools import product
from typing import Any

import pytest
import wire_textbook as book
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from dap_client import Collector, configs, opaque, unsharded
from dap_vectors import FILE, client_of, reports_of, task_of_draft, written
from vdaf_bases import FIELD_128
from vdaf_histogram import Histogram
from wire_vectors import TOKENS

from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_parties.serving.task_document import Role
from dpcurves_parties.serving.two_servers import dap
from dpcurves_parties.shares.histogram_reports import derive_verify_key

READ: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def key_of_verification() -> bytes:
    """The draft's own derivation, from a secret that both servers have."""
    keys = [bytes.fromhex(server["sealing_key"]) for server in READ["servers"]]
    (common,) = {book.exchanged(keys[party], book.public(keys[1 - party])) for party in (0, 1)}
    return book.expand(hmac.digest(b"verify_key", common, "sha256"), bytes.fromhex(READ["task"]), 32)


def checked(report: dict[str, Any]) -> list[tuple[list[int], bytes, bytes]]:
    """By the textbook: shares of cells at both servers, their messages, and seeds."""
    client = client_of(task_of_draft())
    scheme = Histogram(2, client.length, client.chunk, b"dap-18" + client.task, bytes.fromhex(report["id"]))
    public, inputs = bytes.fromhex(report["public"]), [bytes.fromhex(share) for share in report["inputs"]]
    return [scheme.check(party, public, inputs[party], key_of_verification()) for party in (0, 1)]


def test_two_servers_say_and_refuse_what_the_vectors_say() -> None:
    assert written() == FILE.read_text(encoding="utf-8")


def test_keys_configuration_and_reports_are_those_of_the_drafts_structures() -> None:
    task = task_of_draft()
    assert (task.to_json(), task.hash) == (READ["document"], READ["task"])
    assert task.configuration.to_bytes().hex() == READ["configuration"] == client_of(task).configuration.hex()
    told, packed = reports_of(client_of(task))
    assert (told, [one["report"] for one in READ["reports"]]) == (READ["reports"], [one.hex() for one in packed])
    for party, server in enumerate(READ["servers"]):
        ((_, suite, key),) = configs(bytes.fromhex(server["configs"]))
        assert (suite, key.hex()) == ((32, 1, 1), task.servers[party].hpke_key)
    (common,) = {book.exchanged(*each) for each in [(bytes.fromhex(READ["servers"][0]["sealing_key"]),
                 bytes.fromhex(task.servers[1].hpke_key))]}  # fmt: skip
    assert derive_verify_key(common, task.hash) == key_of_verification()


def test_keys_have_numbers_of_their_own_that_stay_when_others_come() -> None:
    keys = [X25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in range(1, 100)]
    made = dap.HpkeKeys.from_private_keys([*keys, *keys])
    listed = configs(made.encode_config_list())
    assert [key for _, _, key in listed] == [key.public_key().public_bytes_raw() for key in keys]
    assert len({number for number, _, _ in listed}) == len(keys)
    (alone,) = dap.HpkeKeys.from_private_keys(keys[:1]).private_keys
    assert alone == listed[0][0]


def extensions(read: list[tuple[int, str]]) -> tuple[dap.Extension, ...]:
    return tuple(dap.Extension(kind, bytes.fromhex(content)) for kind, content in read)


def ciphertext(read: tuple[int, str, str]) -> dap.HpkeCiphertext:
    number, *texts = read
    first, second = map(bytes.fromhex, texts)
    return dap.HpkeCiphertext(number, first, second)


def test_structures_are_encoded_as_another_implementation_publishes_them() -> None:
    read: dict[str, Any] = json.loads((FILE.parent / "dap_structures.json").read_text(encoding="utf-8"))

    def metadata(each: dict[str, Any]) -> dap.ReportMetadata:
        return dap.ReportMetadata(bytes.fromhex(each["id"]), each["time"], extensions(each["extensions"]))

    for each in read["reports"]:
        first, second = map(ciphertext, each["sealed"])
        report = dap.Report(metadata(each), bytes.fromhex(each["public"]), (first, second))
        assert (report.to_bytes().hex(), dap.parse_upload_request(bytes.fromhex(each["encoded"]))) == (
            each["encoded"],
            [report],
        )
    for each in read["inputs"]:
        given = dap.PlaintextInputShare(extensions(each["extensions"]), bytes.fromhex(each["share"]))
        assert (given.to_bytes().hex(), dap.PlaintextInputShare.from_bytes(bytes.fromhex(each["encoded"]))) == (
            each["encoded"],
            given,
        )
    job, begun = dap.encode_aggregation_job("ab" * 32, ()), []
    for each in read["begun"]:
        share = dap.ReportShare(metadata(each), bytes.fromhex(each["public"]), ciphertext(each["sealed"]))
        begun.append(dap.VerifyInit(share, dap.encode_ping_pong_message(each["kind"], bytes.fromhex(each["content"]))))
        assert begun[-1].to_bytes().hex() == each["encoded"]
        assert dap.parse_ping_pong_message(begun[-1].payload, each["kind"]).hex() == each["content"]
        job += bytes.fromhex(each["encoded"])
    assert dap.parse_aggregation_job(job, "ab" * 32) == begun
    rejected, name = read["rejected"], bytes.fromhex(read["rejected"]["id"])
    told = dap.VerifyResp(name, dap.ReportError(rejected["error"]))
    assert told.to_bytes().hex() == rejected["encoded"]
    assert dap.parse_aggregation_job_response(told.to_bytes(), [name]) == [told]


def test_the_job_hands_on_the_helpers_parts_and_both_servers_messages_are_those_of_the_textbook() -> None:
    """A single round: the leader's message, and the seed on which both agree; another helper's share fails."""
    (job,) = (each for each in READ["said_to_server_1"] if each["to"] == "aggregation_jobs")
    message, answer = b"\0" + struct.pack(">I", 0), b""
    message += opaque(struct.pack(">H", 1) + opaque(bytes.fromhex(READ["task"]), ">H"), ">H")
    for report in READ["reports"]:
        (_, first, seed), (_, second, _) = checked(report)
        whole = bytes.fromhex(report["report"])
        start = 26 + 4 + 64  # behind the public share stand both ciphertexts
        size = 1 + 2 + 32 + 4 + int.from_bytes(whole[start + 35 : start + 39], "big")
        message += whole[:start] + whole[start + size :] + opaque(b"\0" + opaque(first, ">I"), ">I")
        zero = FIELD_128.added(*(FIELD_128.elements(each[:-32]) for each in (first, second)))[0]
        passes = zero == 0
        assert passes == (report is not READ["reports"][-1])
        answer += bytes.fromhex(report["id"])
        answer += b"\0" + opaque(b"\2" + opaque(seed, ">I"), ">I") if passes else b"\2\6"
    assert (message.hex(), answer.hex()) == (job["message"], job["answer"])
    failed = READ["reports"][-1]["id"] + "06"
    assert READ["upload_answers"] == [failed, failed]


def test_before_the_first_answer_the_same_messages_are_compared_and_counts_come_out() -> None:
    taken = sorted(READ["reports"][:-1], key=lambda report: str(report["id"]))
    said = {each["to"]: each for each in READ["said_to_server_1"]}
    both = [
        b64decode(json.loads(said[to][part])["check"]) for to, part in (("settle", "message"), ("evaluate", "answer"))
    ]
    found = [checked(report) for report in taken]
    assert both == [b"".join(each[party][1] for each in found) for party in (0, 1)]
    assert json.loads(READ["closed"])["reports"] == len(taken)
    cells = FIELD_128.added(*(FIELD_128.added(first[0], second[0]) for first, second in found))
    assert cells == [sum(report["cell"] == cell for report in taken) for cell in range(11)]
    assert [half["dropped"] for half in READ["halves"]] == [0, 0]


def test_whatever_is_sent_is_a_message_or_refused_in_one_line() -> None:
    """Every beginning of an upload and of a job, and every byte of their heads that is another one."""
    task, upload = READ["task"], bytes.fromhex(READ["reports"][0]["report"])
    job = bytes.fromhex(next(each["message"] for each in READ["said_to_server_1"] if each["to"] == "aggregation_jobs"))
    begun = dap.parse_aggregation_job(job, task)
    read = {
        upload: (dap.parse_upload_request, {len(upload)}),
        job: (
            lambda message: dap.parse_aggregation_job(message, task),
            {len(dap.encode_aggregation_job(task, begun[:n])) for n in range(1, 6)},
        ),
    }
    for whole, (understood, ends) in read.items():
        for end in range(len(whole) + 1):
            if end in ends:
                assert understood(whole[:end])
            else:
                with pytest.raises(ProtocolError, match=r"^message: must be a valid "):
                    understood(whole[:end])
        for place, value in product(range(200), (0, 1, 0x7F, 0xFF)):
            with suppress(ProtocolError):
                understood(whole[:place] + bytes([value]) + whole[place + 1 :])


def test_each_change_of_a_message_has_an_outcome_of_its_own_and_none_is_taken() -> None:
    numbers = {
        "id": 5, "time": 5, "public share": 5, "number of the leader's key": 11, "encapsulated key of the leader": 5,
        "leader's ciphertext": 5, "number of the helper's key": 11, "encapsulated key of the helper": 5,
        "helper's ciphertext": 5,
    }  # fmt: skip
    uploads = [each for each in READ["tampered"] if each["to"] in ("upload", "job")]
    changed_reports = {"id of a report": 5, "leader's message of a proof": 6}
    (job_answer,) = (each["answer"] for each in READ["said_to_server_1"] if each["to"] == "aggregation_jobs")
    job_answer = bytes.fromhex(job_answer)[16 + 1 + 4 + 1 + 4 + 32 :]
    for each in uploads:
        if each["to"] == "upload" and each["what"] in numbers:
            assert bytes.fromhex(each["answer"])[16:] == bytes([numbers[each["what"]]])
        elif each["what"] in changed_reports:
            one = bytes.fromhex(READ["reports"][0]["id"])
            one = bytes([one[0] ^ 1]) + one[1:] if each["what"] == "id of a report" else one
            assert each["answer"] == (one + b"\2" + bytes([changed_reports[each["what"]]]) + job_answer).hex()
        else:
            assert each["error"].startswith("message: must be a valid ")


def test_a_collection_job_and_its_shares_are_those_of_the_drafts_structures() -> None:
    """The textbook makes the job, what the leader asks, and both sealed shares; they add up to the answer's halves."""
    read, client = READ["collection"], client_of(task_of_draft())
    collector = Collector(client, bytes.fromhex(read["key"]))
    job = collector.job(book.shown(TOKENS[Role.ANALYST], 1), bytes.fromhex(read["ephemeral"]))
    assert job.hex() == read["job"]
    checksum = 0
    for report in READ["reports"][:-1]:
        checksum ^= int.from_bytes(hashlib.sha256(bytes.fromhex(report["id"])).digest())
    selected = b"\2" + opaque(client.task, ">H")
    request = job + selected + struct.pack(">Q", len(READ["reports"]) - 1) + checksum.to_bytes(32)
    assert request.hex() == read["request"]
    reports, interval, shares = collector.shares(job, bytes.fromhex(read["answer"]))
    assert ([share.hex() for share in shares], reports, interval) == (read["shares"], 4, (0, 20_002))
    agreed, dropped, numbers = unsharded(reports, shares)
    halves = READ["halves"]
    assert agreed.hex() == "".join([halves[0]["set"], *halves[0]["commitments"]])
    added = [sum(pair) % 2**64 for pair in zip(*(half["numbers"] for half in halves), strict=True)]
    assert (dropped, [number % 2**64 for number in numbers]) == (0, [*added[:-1], (added[-1] + reports) % 2**64])
    answer = struct.pack(">QQQ", reports, *interval)
    for party, (share, ephemeral) in enumerate(zip(shares, read["share_keys"], strict=True)):
        info, bound = b"dap-18 aggregate share" + bytes([2 + party, 0]), client.task + client.configuration + job
        made = book.sealed(share, book.public(collector.key), info, bytes.fromhex(ephemeral), bound)
        answer += bytes([collector.config]) + opaque(made[:32], ">H") + opaque(made[32:], ">I")
    assert answer.hex() == read["answer"]
    lines = [each["error"] for each in READ["tampered"] if each["to"] in ("collection", "share")]
    assert {line.partition(":")[0] for line in lines} == {"message", "ticket", "reports"}
