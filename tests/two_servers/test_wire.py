"""The vectors of the wire are what two servers say today, and what the page of the wire says they should."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import wire_textbook as book
from tampering import tampered
from textbook import Textbook, TextbookChecked, task_keys
from wire_vectors import QUESTIONS, SLOTS, VECTORS, bytes_of, fixed, task_of, written

from dpcurves.distributions import IntervalSums
from dpcurves_parties.crypto import NodeMarkKey, NodeWalk, evaluate_checked_keys, find_path_nodes
from dpcurves_parties.serving.two_servers.report_set import SEALING_OVERHEAD, ClosingMessage, encode_batch, parse_batch
from dpcurves_parties.shares.function_shares import Owners
from dpcurves_parties.shares.shared_records import CheckedTreeEncoding
from dpcurves_parties.shares.task import Task

EACH = pytest.mark.parametrize("name", QUESTIONS)


def vectors(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    return read


def said(read: dict[str, Any], to: str, part: str = "message") -> bytes:
    """Last message of server 0 to server 1 under a name, or its response."""
    return bytes_of([each[part] for each in read["said_to_server_1"] if each["to"] == to][-1])


@EACH
def test_two_servers_say_and_refuse_what_the_vectors_say(name: str) -> None:
    assert written(name) == (VECTORS / f"{name}.json").read_text(encoding="utf-8")


@EACH
def test_documents_tickets_and_batches_are_those_of_the_page(name: str) -> None:
    read, task = vectors(name), Task.from_json(vectors(name)["document"])
    assert (task.hash, task) == (read["task"], task_of(name))
    stored = json.loads(read["document"])
    for role, ticket in read["tickets"].items():
        assert stored["tokens"][role] == [book.ticket_hash(ticket["token"])]
    contribution = bytes.fromhex(read["contribution"])
    for party, server in enumerate(read["servers"]):
        key = book.public(bytes.fromhex(server["sealing_key"]))
        assert stored["servers"][party]["hpke_key"] == key.hex()
        reports = []
        for report in read["reports"]:
            one, share = bytes.fromhex(report["id"]), bytes.fromhex(report["public"] + report["seeds"][party])
            place = book.place_of(task.hash, party, contribution, one)
            reports.append((one, book.sealed(share, key, place, bytes.fromhex(report["ephemeral"][party]))))
        batch = book.batch(task.hash, party, contribution, 0, reports)
        assert batch.hex() == read["batches"][party]
        unpacked = parse_batch(batch, task.hash, party, task.encoding.size + SEALING_OVERHEAD)
        assert encode_batch(task.hash, party, unpacked) == batch


@EACH
def test_shares_are_those_of_the_tree(name: str) -> None:
    read, task = vectors(name), task_of(name)
    keys = task_keys(bytes.fromhex(read["task"]))
    for report in read["reports"]:
        first, second = (int.from_bytes(bytes.fromhex(seed), "little") for seed in report["seeds"])
        if task.owners is Owners.UNCHECKED:
            tree = Textbook(keys, task.bits, 64)
            half = tree.record(tree.generate(report["slot"], first, second), first)[:-16]
        else:
            half = TextbookChecked(keys, task.bits, 64).checked_record(report["slot"], first, second)
        malformed = task.owners is Owners.CHECKED and report is read["reports"][-1]
        assert (half.hex() == report["public"][: 2 * len(half)]) != malformed
        assert len(report["public"]) == 2 * len(half) + 16 * len(task.proof_key_hashes)


@EACH
def test_closing_names_the_set_and_both_commitments(name: str) -> None:
    read = vectors(name)
    halves = {bytes.fromhex(each["id"]): bytes.fromhex(each["public"]) for each in read["reports"]}
    agreed, parts = book.set_name(read["task"], halves), b"\0" + book.parts(read["task"], halves, 0)
    told, decided = said(read, "prepare", "answer"), said(read, "commit")
    assert (told[:64], told[96:]) == (bytes(64), parts)
    assert (decided[:32].hex(), decided[64:96], decided[96:]) == (agreed, told[64:96], parts)
    assert read["listed"] == (bytes(7) + bytes([len(SLOTS)]) + book.listing(halves)).hex()
    assert ClosingMessage.from_bytes(decided).to_bytes() == decided
    facts, commitments = {"set": agreed, "reports": len(SLOTS)}, [decided[32:64].hex(), decided[64:96].hex()]
    named = {**facts, "commitments": commitments}
    assert json.loads(read["closed"]) == {**named, "owners": 1}
    asked = json.loads(read["question"])
    for each in read["said_to_server_1"][2:]:
        for message in (json.loads(each["message"]), json.loads(each["answer"])):
            assert {key: message[key] for key in named} == named
            assert (message["version"], message["task"]) == (asked["version"], asked["task"])
            assert message["nonce"] != asked["nonce"]


@pytest.mark.parametrize("name", ["proved", "edges"])
def test_proofs_of_halves_are_those_of_the_page(name: str) -> None:
    """Words of reports, the sums that servers add to a half, and the equation of the analyst; numbers by hand."""
    read, task = vectors(name), task_of(name)
    key = book.derived(bytes.fromhex(read["proofs"]["secret"]), "proofs for analyst 0").hex()
    assert key == read["proofs"]["key"]
    stored = json.loads(read["document"])["proof_key_hashes"]
    assert stored == [sha256(f"dpcurves proof key\n{key}".encode()).hexdigest()]
    size = len(task.proved_at) or task.plan((), 1).distribution.require_type(IntervalSums).size
    r = book.coefficients(key, task.hash, size)

    def adds(slot: int) -> list[int]:
        """Numbers 1 where an interval has the slot; of the missing, taken off their public number, 0 or -1."""
        if task.proved_at:
            return [int(slot < edge) for edge in task.proved_at]
        distribution = task.plan((), 1).distribution.require_type(IntervalSums)
        ends = [[*tier.starts, distribution.cells] for tier in distribution.levels]
        inside = [int(low <= slot < high) for each in ends for low, high in pairwise(each)]
        return [*inside, -int(slot < distribution.cells)] if distribution.missing else inside

    masks = [
        [book.mask(task.hash, bytes.fromhex(seed), size + 1) for seed in report["seeds"]] for report in read["reports"]
    ]
    words = [int.from_bytes(bytes.fromhex(report["public"][-16:]), "little") for report in read["reports"]]
    assert words == [book.word(adds(slot), r, both) for slot, both in zip(SLOTS, masks, strict=True)]
    halves = [half["numbers"] for half in read["halves"]]
    counting = len(SLOTS) - read["halves"][0]["dropped"]
    assert counting == len(SLOTS) - (task.owners is Owners.CHECKED)
    for party, half in enumerate(halves):
        assert len(half) == 2 * size + 1
        expected = sum(both[party][size] for both in masks[:counting]) + (sum(words[:counting]) if party == 0 else 0)
        assert half[-1] == expected % book.PRIME
        assert read["halves"][party]["bound"] == [book.hash_of_noise(each[size:-1]) for each in halves]
    answer = [(first + second + 2**63) % 2**64 - 2**63 for first, second in zip(*halves, strict=True)][:size]
    masked = [first + second for first, second in zip(*halves, strict=True)][size:-1]
    left = halves[0][-1] + halves[1][-1] + sum(each * one for each, one in zip(r, masked, strict=True))
    assert (left - sum(each * one for each, one in zip(r, answer, strict=True))) % book.PRIME == 0
    told = json.loads(said(read, "half")), json.loads(said(read, "half", "answer"))
    assert [each["bound"] for each in told] == read["halves"][0]["bound"]


def test_digests_are_those_of_the_key_that_both_servers_have() -> None:
    read, task = vectors("checked"), task_of("checked")
    keys = [bytes.fromhex(server["sealing_key"]) for server in read["servers"]]
    common = {book.exchanged(keys[party], book.public(keys[1 - party])) for party in (0, 1)}
    agreed = json.loads(read["closed"])["set"]
    verification = book.derived(common.pop(), f"verification {task.hash} {agreed}")
    assert not common
    rising, encoding = sorted(read["reports"], key=lambda report: str(report["id"])), task.encoding
    assert isinstance(encoding, CheckedTreeEncoding)
    shown = []
    every = [slots - 1 for slots in task.checked_at]
    for party, (to, part) in enumerate((("settle", "message"), ("evaluate", "answer"))):
        shares = [bytes.fromhex(report["public"] + report["seeds"][party]) for report in rising]
        keys_of = encoding.parse_checked_keys(party, shares)
        found = evaluate_checked_keys(keys_of, every, encoding.engine, verification)
        shown.append(found.digests)
        assert b64decode(json.loads(said(read, to, part))["check"]) == found.digests.tobytes()
    failed = ~(shown[0] == shown[1]).all(axis=1)
    look = NodeWalk(keys_of[~failed], encoding.engine, NodeMarkKey.from_verification_key(verification)).evaluate_nodes(
        find_path_nodes([3, 7], task.bits)
    )
    hashes = b"".join(sha256(row.tobytes()).digest() for row in look.marks)
    assert json.loads(said(read, "half", "answer"))["seen"] == sha256(hashes).hexdigest()
    assert [report["slot"] for report, bad in zip(rising, failed, strict=True) if bad] == SLOTS[-1:]
    dropped = json.loads(said(read, "settle", "answer"))["dropped"]
    assert b64decode(dropped) == np.packbits(failed).tobytes()
    assert json.loads(said(read, "half", "answer"))["dropped"] == 1


@EACH
def test_a_letter_and_both_halves_are_sealed_as_the_page_says(name: str) -> None:
    read = vectors(name)
    question, answer = json.loads(read["question"]), json.loads(read["answer"])
    facts = {key: question[key] for key in ("version", "task", "question", "thresholds", "nonce")}
    analyst, (ephemeral, *others) = (
        bytes.fromhex(read["analyst"]["key"]),
        map(bytes.fromhex, read["analyst"]["ephemeral"]),
    )
    assert (set(question) - set(facts), question["key"]) == ({"key", "word", "letter"}, book.public(analyst).hex())
    words = [question["word"], fixed("word for server 1", 16).hex()]
    inside = {"key": question["key"], "word": words[1], "nonce": "n1", "token": read["tickets"]["analyst"]["shown"][1]}
    key = book.public(bytes.fromhex(read["servers"][1]["sealing_key"]))
    place = book.place_of_message("letter", 1, {**facts, "nonce": ""})
    letter = b64encode(book.sealed(json.dumps(inside).encode(), key, place, ephemeral)).decode()
    assert letter == question["letter"] == json.loads(said(read, "half"))["letter"]
    assert {key: answer[key] for key in facts} == facts
    for party, half in enumerate(read["halves"]):
        place = book.place_of_message("half", party, {**facts, "word": words[party]})
        packed = book.half_of_answer({key: half[key] for key in half if key != "numbers"}, half["numbers"])
        sealed = book.sealed(packed, book.public(analyst), place, others[1 - party])
        assert b64encode(sealed).decode() == answer["halves"][party]
    assert json.loads(said(read, "half", "answer"))["half"] == answer["halves"][1]


def test_messages_that_were_changed_on_the_way_are_refused_each_kind_of_them() -> None:
    refused, taken = tampered(400, 2)
    assert (sorted(refused.values()), taken) == ([50, 50, 50, 50, 200], [])
