"""Prio3Histogram of the package passes the draft's vectors, good and bad; what is no cell fails at both servers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray
from vdaf_bases import FIELD_128 as FIELD
from vdaf_histogram import Histogram

from dpcurves_parties.crypto.prio3 import MODULUS, Prio3Histogram, VerifiedCells, field, histogram

VECTORS = Path(__file__).parent / "vectors" / "histogram.json"
CASES: dict[str, dict[str, Any]] = {
    name: case for name, case in json.loads(VECTORS.read_text(encoding="utf-8"))["cases"].items() if case["shares"] == 2
}
KEY = bytes(range(32))


@pytest.fixture(params=["compiled", "plain"])
def _loops(request: pytest.FixtureRequest) -> Any:
    if request.param == "compiled":
        pytest.importorskip("numba")
        yield
    else:
        with mock.patch.object(histogram, "_import_loops", return_value=None):
            yield


def verified(
    scheme: Prio3Histogram, public: bytes, inputs: Sequence[bytes], nonce: bytes, key: bytes = KEY
) -> list[VerifiedCells]:
    return [scheme.verify_init(party, [public], [inputs[party]], [nonce], key) for party in (0, 1)]


def passes(both: Sequence[VerifiedCells]) -> bool:
    """Both servers decide alike."""
    first, second = both[0].find_accepted(both[1].messages), both[1].find_accepted(both[0].messages)
    assert first.tolist() == second.tolist()
    return bool(first[0])


@pytest.mark.usefixtures("_loops")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_published_vectors_come_out_byte_for_byte_and_bad_ones_are_refused(case: dict[str, Any]) -> None:
    scheme = Prio3Histogram(case["length"], case["chunk"], bytes.fromhex(case["ctx"]))
    for report in case["reports"]:
        public, nonce = bytes.fromhex(report["public"]), bytes.fromhex(report["nonce"])
        inputs = [bytes.fromhex(share) for share in report["inputs"]]
        both = verified(scheme, public, inputs, nonce, bytes.fromhex(case["verify_key"]))
        told = [one.messages[0].tobytes().hex() for one in both]
        assert told[: len(report["checks"])] == report["checks"]
        if case["refused"] is None:
            made = scheme.shard(np.array([report["cell"]]), [nonce], [bytes.fromhex(report["rand"])])
            assert (made.public, made.inputs) == ([public], ([inputs[0]], [inputs[1]]))
            assert [field.encode_rows(one.cells)[0].hex() for one in both] == report["outputs"]
            assert {one.seeds[0].tobytes().hex() for one in both} == {report["message"]}
            assert passes(both)
        elif case["refused"] == "verify_next":  # servers are told another seed than they worked with
            seeds = np.frombuffer(bytes.fromhex(report["message"]), np.uint8)[None]
            assert passes(both)
            assert not scheme.find_accepted(0, both[0].messages, seeds, both[1].messages)[0]
        else:
            assert not passes(both)


@dataclass(frozen=True)
class Dishonest(Histogram):
    """An owner that shares other numbers than a cell, with the honest proof of them."""

    numbers: tuple[int, ...] = ()

    def reports(self, rand: bytes) -> tuple[bytes, list[bytes]]:
        seeds = [rand[start : start + 32] for start in range(0, len(rand), 32)]
        seed, blind, own, proving = seeds
        helper, mask = self.helper(1, seed)
        leader = [(number - share) % MODULUS for number, share in zip(self.numbers, helper, strict=True)]
        parts = [self.joint_part(0, own, leader), self.joint_part(1, blind, helper)]
        starts = self.stream(proving, 4, b"\1").elements(FIELD, 2 * self.chunk)
        proof = self.proof(self.numbers, starts, self.joint(self.joint_seed(parts)))
        proof = FIELD.subtracted(proof, mask)
        return b"".join(parts), [FIELD.packed(leader) + FIELD.packed(proof) + own, seed + blind]


@pytest.mark.usefixtures("_loops")
@pytest.mark.parametrize(
    ("numbers", "good"),
    [
        ((0, 0, 0, 1, 0), True), ((1, 0, 0, 0, 0), True), ((0, 0, 0, 0, 1), True), ((0, 0, 0, 0, 0), False),
        ((1, 0, 1, 0, 0), False), ((1, 1, MODULUS - 1, 0, 0), False), ((2, MODULUS - 1, 0, 0, 0), False),
        ((0, 0, 0, 0, 2), False), ((MODULUS - 1, 0, 0, 0, 0), False),
        (((MODULUS + 1) // 2, (MODULUS + 1) // 2, 0, 0, 0), False),
    ],
)  # fmt: skip
def test_numbers_that_are_no_single_cell_fail_with_the_best_proof_that_there_is(
    numbers: tuple[int, ...], good: bool
) -> None:
    nonce, rand = bytes(range(16)), bytes(range(128))
    public, inputs = Dishonest(2, 5, 2, b"task", nonce, numbers).reports(rand)
    assert passes(verified(Prio3Histogram(5, 2, b"task"), public, inputs, nonce)) == good
    if good:
        made = Prio3Histogram(5, 2, b"task").shard(np.array([numbers.index(1)]), [nonce], [rand])
        assert (made.public, [made.inputs[0][0], made.inputs[1][0]]) == ([public], inputs)


Change = Callable[[bytes], bytes]


@pytest.mark.parametrize("length", [1, 2, 3, 8, 21])
def test_any_changed_part_fails_and_honest_reports_beside_it_pass_and_add_up(length: int) -> None:
    scheme, cells = Prio3Histogram.with_smallest_reports(length, b"task"), np.arange(3 * length) % length
    nonces = [number.to_bytes(16, "big") for number in range(len(cells))]
    shares = scheme.shard(cells, nonces, [bytes([number]) * 128 for number in range(len(cells))])

    def decided(change: Change, what: int) -> NDArray[np.bool_]:
        texts = [list(shares.public), list(shares.inputs[0]), list(shares.inputs[1])]
        texts[what][0] = change(texts[what][0])
        both = [scheme.verify_init(party, texts[0], texts[1 + party], nonces, KEY) for party in (0, 1)]
        first, second = both[0].find_accepted(both[1].messages), both[1].find_accepted(both[0].messages)
        assert first.tolist() == second.tolist()
        if first.all():
            opened = [sum(pair) % MODULUS for pair in zip(*(one.sums() for one in both), strict=True)]
            assert opened == [3] * length
        return first

    assert decided(bytes, 0).all()
    for what, texts in enumerate((shares.public, *shares.inputs)):
        for place in {0, 16, len(texts[0]) // 2, len(texts[0]) - 33, len(texts[0]) - 1}:
            changed = decided(lambda text, at=place: text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :], what)  # type: ignore[misc]
            assert changed.tolist() == [False] + [True] * (len(cells) - 1)


def test_messages_and_shares_of_another_form_are_refused_and_no_message_passes_for_two() -> None:
    scheme, nonces = Prio3Histogram(4, 2, b"task"), [bytes(16), bytes(15) + b"1"]
    shares = scheme.shard(np.array([1, 2]), nonces, [bytes(128), bytes(127) + b"1"])
    first, second = (scheme.verify_init(party, shares.public, shares.inputs[party], nonces, KEY) for party in (0, 1))
    assert not first.find_accepted(second.messages[::-1]).any()
    assert not first.find_accepted(first.messages).any()
    swapped = scheme.verify_init(1, shares.public, shares.inputs[1], nonces[::-1], KEY)
    assert not first.find_accepted(swapped.messages).any()
    other_key = scheme.verify_init(1, shares.public, shares.inputs[1], nonces, bytes(32))
    assert not first.find_accepted(other_key.messages).any()
    large = second.messages.copy()
    number = int.from_bytes(large[0, :16].tobytes(), "little") + MODULUS
    if number < 2**128:
        large[0, :16] = np.frombuffer(number.to_bytes(16, "little"), np.uint8)
    else:
        large[0, :16] = 255
    assert first.find_accepted(large).tolist() == [False, True]
    leader = shares.inputs[0][0]
    for party, share in ((0, leader[:-1]), (0, b"\xff" * 16 + leader[16:]), (1, shares.inputs[1][0] + b"0")):
        with pytest.raises(ValueError, match=r"^shares: "):
            scheme.verify_init(party, shares.public[:1], [share], nonces[:1], KEY)
    with pytest.raises(ValueError, match=r"^messages: "):
        first.find_accepted(second.messages[:, 1:])
    with pytest.raises(ValueError, match=r"^cells: "):
        scheme.shard(np.array([4]), nonces[:1], [bytes(128)])
    with pytest.raises(ValueError, match=r"^length, chunk: "):
        Prio3Histogram(4, 5, b"task")


def test_streams_pass_over_what_is_no_element_and_sums_are_those_of_whole_numbers() -> None:
    octets = [MODULUS, 7, 2**128 - 1, MODULUS - 1, 5]
    source = b"".join(number.to_bytes(16, "little") for number in octets) + bytes(1600)
    with mock.patch.object(field, "expand_xof", lambda tag, seed, binder, size: source[:size]):
        found = field.expand_elements(b"", [(b"", b"")], 3)
    assert field.to_integers(found[0]) == [7, MODULUS - 1, 5]
    numbers = [0, 1, MODULUS - 1, MODULUS >> 64 << 64, 2**64 - 1, 2**64, 2**127]
    pairs = [(a, b) for a in numbers for b in numbers]
    first, second = (field.from_integers([pair[which] for pair in pairs]) for which in (0, 1))
    assert field.to_integers(field.subtract_elements(first, second)) == [(a - b) % MODULUS for a, b in pairs]
    assert field.sum_rows(np.stack([first, second, first])) == [(2 * a + b) % MODULUS for a, b in pairs]


def test_compiled_products_are_those_of_whole_numbers() -> None:
    loops = pytest.importorskip("dpcurves_parties.crypto.prio3.loops")
    edges = [0, 1, 2, MODULUS - 1, MODULUS - 2, 2**64, 2**64 - 1, 2**127, MODULUS >> 1, 28 << 64]
    drawn = np.random.default_rng(1).integers(0, 2**63, (200, 2)).tolist()
    numbers = edges + [(low << 65 ^ high) % MODULUS for low, high in drawn]
    inverse = pow(2**128, -1, MODULUS)
    for a, b in zip(numbers, reversed(numbers), strict=True):
        words = [(np.uint64(each & 2**64 - 1), np.uint64(each >> 64)) for each in (a, b)]
        found = [work(*words) for work in (loops._multiply, loops._add, loops._subtract)]
        expected = [a * b * inverse % MODULUS, (a + b) % MODULUS, (a - b) % MODULUS]
        assert [int(low) | int(high) << 64 for low, high in found] == expected
