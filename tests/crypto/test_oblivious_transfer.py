"""Transfers give what was chosen and nothing else, on the group of RFC 9496; labels differ by the offset alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from hashlib import sha256
from types import FrameType
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from dpcurves.arguments import ProtocolError
from dpcurves.noise import Randomness
from dpcurves_parties.crypto import oblivious_transfer
from dpcurves_parties.crypto.garbling import Garbler, GateKeys, PortableGates, draw_offset, mask_offset
from dpcurves_parties.crypto.oblivious_transfer import (
    IKNP_LEVELS,
    SOFTSPOKEN_LEVELS,
    BaseReceiver,
    BaseSender,
    ExtensionReceiver,
    ExtensionSender,
    SeedTrees,
    multiply_base,
    require_point,
    split_offset_bits,
    transpose_bits,
)

pytest.importorskip("rbcl")
Bits = NDArray[np.bool_]
Words = NDArray[np.uint64]

# RFC 9496, appendix A.1: multiples of the generator; A.2: what is no encoding, of each kind.
MULTIPLES = {
    1: "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76",
    2: "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919",
    3: "94741f5d5d52755ece4f23f044ee27d5d1ea1e2bd196b462166b16152a9d0259",
    5: "e882b131016b52c1d3337080187cf768423efccbb517bb495ab812c4160ff44e",
    10: "20706fd788b2720a1ed2a5dad4952b01f413bcf0e7564de8cdc816689e2db95f",
    15: "e0c418f7c8d9c4cdd7395b93ea124f3ad99021bb681dfc3302a9d99a2e53e64e",
}
NO_POINTS = [
    "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ed57ffd8c914fb201471d1c3d245ce3c746fcbe63a3679d51b6a516ebebe0e20",
    "26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371",
    "4eac077a713c57b4f4397629a4145982c661f48044dd3f96427d40b147d9742f",
    "3eb858e78f5a7254d8c9731174a94f76755fd3941c0ac93735c07ba14579630e",
    "00" * 32,
    "e2f2",
]


def source(seed: int) -> Randomness:
    return Randomness.from_seed(seed)


def test_the_group_is_that_of_rfc_9496() -> None:
    for times, encoded in MULTIPLES.items():
        assert multiply_base(times.to_bytes(32, "little")).hex() == encoded
        require_point(bytes.fromhex(encoded))


@pytest.mark.parametrize("encoded", NO_POINTS)
def test_what_is_no_point_or_the_identity_aborts_in_every_place(encoded: str) -> None:
    point, choices = bytes.fromhex(encoded), np.array([False, True])
    sender = BaseSender.create(source(1))
    answer = BaseReceiver.from_choices(choices, sender.point, source(2)).answer
    acts: list[Callable[[], object]] = [
        lambda: BaseReceiver.from_choices(choices, point, source(2)),
        lambda: sender.derive_keys(answer[:32] + point, 2, b"s"),
        lambda: sender.derive_keys(point + answer[32:], 2, b"s"),
    ]
    for act in acts:
        with pytest.raises(ProtocolError, match="^points?: [^\n]*$") as error:
            act()
        assert encoded not in str(error.value)


def test_a_receiver_has_the_key_of_its_choice_in_each_transfer_and_no_other_key() -> None:
    choices = np.random.default_rng(1).integers(0, 2, 20).astype(bool)
    sender = BaseSender.create(source(1))
    receiver = BaseReceiver.from_choices(choices, sender.point, source(2))
    both, own = sender.derive_keys(receiver.answer, 20, b"session"), receiver.derive_keys(b"session")
    assert np.array_equal(own, both[np.arange(20), choices.astype(int)])
    assert len({row.tobytes() for row in both.reshape(-1, 2)}) == 40
    assert not np.array_equal(receiver.derive_keys(b"another"), own)
    with pytest.raises(ProtocolError, match="points: must be 20"):
        sender.derive_keys(receiver.answer[:-32], 20, b"session")


def setup(levels: int, offset: Words) -> tuple[SeedTrees, SeedTrees, bytes]:
    """Trees of both parties, from base keys drawn for them."""
    drawn = source(5).sample_words(512).reshape(128, 2, 2)
    bits = split_offset_bits(offset)
    all_leaves, sent = SeedTrees.generate(levels, drawn, source(6))
    own = drawn[np.arange(128), (~bits).astype(int)]
    return all_leaves, SeedTrees.from_message(levels, own, bits, sent), sent


@pytest.mark.parametrize("levels", [1, 2, 4, 8])
def test_who_has_the_offset_has_all_leaves_but_its_own(levels: int) -> None:
    offset = draw_offset(source(levels))
    whole, punctured, sent = setup(levels, offset)
    bits = split_offset_bits(offset).reshape(-1, levels)
    own = bits @ (1 << np.arange(levels)[::-1])
    for tree, number in enumerate(own):
        wanted = whole.leaves[tree, np.arange(2**levels) ^ number]
        assert np.array_equal(punctured.leaves[tree, 1:], wanted[1:])
        assert not punctured.leaves[tree, 0].any()
        assert wanted[0].any()
    with pytest.raises(ProtocolError, match="4096 bytes"):
        SeedTrees.from_message(levels, source(1).sample_words(256).reshape(128, 2), split_offset_bits(offset), sent[1:])


def test_leaves_are_those_of_hashed_seeds() -> None:
    whole, _, _ = setup(2, draw_offset(source(1)))
    nodes = [source(6).random_bytes(16)]
    for _ in range(2):
        hashed = [sha256(b"dpcurves: tree of seeds, version 1" + node).digest() for node in nodes]
        nodes = [half for both in hashed for half in (both[:16], both[16:])]
    assert whole.leaves[0].tobytes() == b"".join(nodes)


def stream(seed: Words, bits: int) -> int:
    cipher = Cipher(algorithms.AES128(seed.tobytes()), modes.CTR(bytes(16))).encryptor()
    return int.from_bytes(cipher.update(bytes(-(-bits // 64) * 8)), "little")


@pytest.mark.parametrize("levels", [IKNP_LEVELS, SOFTSPOKEN_LEVELS])
def test_labels_are_those_of_the_definition_and_differ_by_the_offset_where_a_bit_is_set(levels: int) -> None:
    """Roy 2022, figure 7, with Python's integers: sums over leaves, once plain and once times their numbers."""
    offset = draw_offset(source(3))
    whole, punctured, _ = setup(levels, offset)
    bits = np.random.default_rng(4).integers(0, 2, 200).astype(bool)
    labels, sent = ExtensionReceiver(whole).labels(bits)
    zeros = ExtensionSender(punctured, offset).labels(200, sent)
    assert np.array_equal(labels, zeros ^ mask_offset(bits, offset))
    assert len(sent) == 256 * 128 // levels // 8
    columns, messages = [], []
    for tree in whole.leaves:
        streams = [stream(seed, 200) for seed in tree]
        for bit in reversed(range(levels)):
            columns.append(np.bitwise_xor.reduce([each for place, each in enumerate(streams) if place >> bit & 1]))
        total = 0
        for each in streams:
            total ^= each
        messages.append(total ^ int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little"))
    assert sent == b"".join(each.to_bytes(32, "little") for each in messages)
    for row in (0, 63, 64, 199):
        label = sum((int(column) >> row & 1) << place for place, column in enumerate(columns))
        assert label == int(labels[row, 0]) + (int(labels[row, 1]) << 64)


def test_labels_go_on_from_call_to_call_and_are_never_the_same() -> None:
    offset = draw_offset(source(3))
    whole, punctured, _ = setup(SOFTSPOKEN_LEVELS, offset)
    one, other, seen = ExtensionReceiver(whole), ExtensionSender(punctured, offset), set()
    for count in (1, 64, 65, 1000):
        bits = np.random.default_rng(count).integers(0, 2, count).astype(bool)
        labels, sent = one.labels(bits)
        assert np.array_equal(other.labels(count, sent) ^ mask_offset(bits, offset), labels)
        seen |= {row.tobytes() for row in labels}
    assert len(seen) == 1130
    with pytest.raises(ProtocolError, match="^choices: must have the bytes for 64 choice bits; use the same version"):
        other.labels(64, bytes(7))


def test_columns_are_transposed_alike_with_and_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = source(1).sample_words(128 * 67).reshape(128, 67)
    fast = transpose_bits(columns)
    monkeypatch.setattr(oblivious_transfer, "supported_instructions", frozenset)
    assert np.array_equal(transpose_bits(columns), fast)
    bits = np.unpackbits(columns.view(np.uint8), axis=1, bitorder="little")
    rows = np.ascontiguousarray(np.packbits(bits.T, axis=1, bitorder="little"))
    assert np.array_equal(rows.view(np.uint64), fast)


def lines_of(act: Callable[[], object]) -> list[tuple[str, int]]:
    """The lines of the package that an act runs through."""
    passed: list[tuple[str, int]] = []

    def follow(frame: FrameType, event: str, argument: Any) -> Any:
        if "dpcurves_parties/crypto" not in frame.f_code.co_filename:
            return None
        passed.append((frame.f_code.co_filename, frame.f_lineno))
        return follow

    kept = sys.gettrace()
    sys.settrace(follow)
    try:
        act()
    finally:
        sys.settrace(kept)
    return passed


def everything(choices: Bits, offset: Words) -> None:
    """All that secrets go through, from choices to gates."""
    bits = split_offset_bits(offset)
    BaseReceiver.from_choices(choices, bytes.fromhex(MULTIPLES[2]), source(1)).derive_keys(b"s")
    both = source(2).sample_words(512).reshape(128, 2, 2)
    whole, sent = SeedTrees.generate(4, both, source(3))
    punctured = SeedTrees.from_message(4, source(4).sample_words(256).reshape(128, 2), bits, sent)
    _, message = ExtensionReceiver(whole).labels(choices)
    zeros = ExtensionSender(punctured, offset).labels(len(choices), message)
    Garbler(PortableGates(), GateKeys(bytes(16)), offset).conjunction(zeros, zeros ^ mask_offset(choices, offset))


def test_secrets_choose_no_branch() -> None:
    """Python runs through the same lines whatever bits and offset are: all zeros, all ones, and any."""
    nothing, full = np.array([1, 0], np.uint64), np.full(2, 2**64 - 1, np.uint64)
    seen = [
        lines_of(lambda choices=choices, offset=offset: everything(choices, offset))  # type: ignore[misc]
        for choices, offset in (
            (np.zeros(70, bool), nothing),
            (np.ones(70, bool), full),
            (np.arange(70) % 3 == 0, draw_offset(source(9))),
        )
    ]
    assert len(seen[0]) > 500
    assert seen[0] == seen[1] == seen[2]
