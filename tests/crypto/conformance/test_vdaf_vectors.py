"""The engine's tree, functions and proofs are those of the drafts, byte for byte: their published vectors pass."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path as File
from typing import Any

import pytest
from vdaf_bases import FIELD_64, FIELD_128, Field, Stream, sponge, xof_fixed_key, xof_turboshake
from vdaf_histogram import Histogram
from vdaf_mastic import digest, visited
from vdaf_poplar import Poplar1
from vdaf_tree import Path, generate, idpf_rules, packed_corrections, vidpf_rules

HERE = File(__file__).parent / "vectors"


def cases(name: str) -> dict[str, dict[str, Any]]:
    read: dict[str, dict[str, Any]] = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    return read


def each(name: str) -> pytest.MarkDecorator:
    read = cases(name)
    return pytest.mark.parametrize("case", read.values(), ids=read.keys())


def path(turns: str) -> Path:
    return tuple(int(turn) for turn in turns)


def raw(case: dict[str, Any], *names: str) -> list[bytes]:
    return [bytes.fromhex(case[name]) for name in names]


def opened(field: Field, shares: list[str]) -> list[int]:
    return field.added(*(field.elements(bytes.fromhex(share)) for share in shares))


@pytest.mark.parametrize("length", [0, 5, 167, 168, 500])
def test_the_permutation_is_that_of_the_standard_library(length: int) -> None:
    message = bytes(range(256)) * 2
    block = Stream(sponge(message[:length], 0x1F, 24)).take(400)
    assert block == hashlib.shake_128(message[:length]).digest(400)


@each("xof")
def test_streams(case: dict[str, Any]) -> None:
    seed, tag, binder, derived = raw(case, "seed", "tag", "binder", "derived")
    xof = xof_turboshake if len(seed) == 32 else xof_fixed_key
    assert xof(seed, tag, binder).take(len(seed)) == derived
    elements = xof(seed, tag, binder).elements(FIELD_128, case["count"])
    assert FIELD_128.packed(elements).hex() == case["field_128"]


@each("idpf")
def test_point_functions(case: dict[str, Any]) -> None:
    ctx, nonce = raw(case, "ctx", "nonce")
    rules, (first, second) = idpf_rules(len(case["path"]), 2, ctx, nonce), map(bytes.fromhex, case["keys"])
    corrections = generate(rules, path(case["path"]), [*case["inner"], case["leaf"]], (first, second))
    assert packed_corrections(rules, corrections).hex() == case["public"]


def sketched(case: dict[str, Any], report: dict[str, Any]) -> tuple[Poplar1, list[list[int]], list[list[str]]]:
    """Shares at prefixes, and what both servers send in both rounds."""
    ctx, key = raw(case, "ctx", "verify_key")
    scheme, prefixes = Poplar1(case["bits"], ctx, bytes.fromhex(report["nonce"])), [path(p) for p in case["prefixes"]]
    level = len(prefixes[0]) - 1
    field, public = scheme.field(level), bytes.fromhex(report["public"])
    found = [
        scheme.sketch(party, public, bytes.fromhex(share), prefixes, key)
        for party, share in enumerate(report["inputs"])
    ]
    total = field.added(*(first for _, first, _ in found))
    second = [scheme.second(party, level, total, kept) for party, (_, _, kept) in enumerate(found)]
    rounds = [[field.packed(first).hex() for _, first, _ in found], [field.packed(last).hex() for last in second]]
    return scheme, [outputs for outputs, _, _ in found], rounds


@each("poplar1")
def test_poplar1(case: dict[str, Any]) -> None:
    level = len(case["prefixes"][0]) - 1
    for report in case["reports"]:
        scheme, outputs, rounds = sketched(case, report)
        field = scheme.field(level)
        assert rounds == report["rounds"]
        assert any(opened(field, rounds[1])) == case["refused"]
        if not case["refused"]:
            public, shares = scheme.shard(path(report["path"]), bytes.fromhex(report["rand"]))
            assert public.hex() == report["public"]
            assert [share.hex() for share in shares] == report["inputs"]
            assert [field.packed(output).hex() for output in outputs] == report["outputs"]
            assert opened(field, report["outputs"]) == [int(report["path"].startswith(p)) for p in case["prefixes"]]


@each("histogram")
def test_prio3_histogram(case: dict[str, Any]) -> None:
    ctx, key = raw(case, "ctx", "verify_key")
    for report in case["reports"]:
        scheme = Histogram(case["shares"], case["length"], case["chunk"], ctx, bytes.fromhex(report["nonce"]))
        public = bytes.fromhex(report["public"])
        if case["refused"] is None:
            made, shares = scheme.shard(report["cell"], bytes.fromhex(report["rand"]))
            assert made == public
            assert [share.hex() for share in shares] == report["inputs"]
        found = [scheme.check(party, public, bytes.fromhex(share), key) for party, share in enumerate(report["inputs"])]
        told, checks = [message for _, message, _ in found], report["checks"]
        assert [message.hex() for message in told[: len(checks)]] == checks
        if case["refused"] == "verifier_shares_to_message":
            with pytest.raises(ValueError, match="proof"):
                scheme.decided(told)
        elif case["refused"] == "verify_next":  # a server gets another seed than its own
            assert report["message"] not in {own.hex() for _, _, own in found}
        else:
            assert {scheme.decided(told).hex()} | {own.hex() for _, _, own in found} == {report["message"]}
            assert [FIELD_128.packed(cells).hex() for cells, _, _ in found] == report["outputs"]
            assert FIELD_128.added(*(cells for cells, _, _ in found)).index(1) == report["cell"]


@each("mastic")
def test_mastic(case: dict[str, Any]) -> None:
    ctx, key = raw(case, "ctx", "verify_key")
    bits, prefixes = case["bits"], [path(prefix) for prefix in case["prefixes"]]
    for report in case["reports"]:
        rules, rand = vidpf_rules(bits, 2, ctx, bytes.fromhex(report["nonce"])), bytes.fromhex(report["rand"])
        keys = rand[:16], rand[16:]
        corrections = generate(rules, path(report["path"]), [[1, report["weight"]]] * bits, keys)
        assert [each.hex() for each in keys] == report["keys"]
        assert packed_corrections(rules, corrections).hex() == report["public"]
        for party in (0, 1):
            nodes = visited(rules, party, corrections, keys[party], prefixes)
            outputs = [weight for prefix in prefixes for weight in nodes[prefix].weight]
            signed = FIELD_64.negated(outputs) if party else outputs
            assert FIELD_64.packed(signed).hex() == report["outputs"][party]
            assert digest(party, nodes, ctx, key).hex() == report["digests"][party]
        assert opened(FIELD_64, report["outputs"])[::2] == [int(report["path"].startswith(p)) for p in case["prefixes"]]
