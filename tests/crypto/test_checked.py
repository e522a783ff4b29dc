"""Checked keys: right when honest; when tampered with, dropped or of weight one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from engines import ENGINES, NAMES, PORTABLE
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpcurves.noise import Randomness
from dpcurves_parties.crypto import (
    Z64,
    Z128,
    CheckedKeys,
    CheckedShare,
    Domain,
    Engine,
    Node,
    NodeMarkKey,
    NodeWalk,
    Ring,
    SeedShare,
    evaluate_checked_keys,
    find_path_nodes,
    share_checked_cells,
    sum_left_counts,
)
from dpcurves_parties.crypto.keys import SharedKeys
from dpcurves_parties.crypto.ring import Words

KEY = bytes(range(32))
RINGS = pytest.mark.parametrize("ring", [Z64, Z128], ids=["64", "128"])


def shared(cells: list[int], domain: Domain, engine: Engine = PORTABLE) -> SharedKeys[CheckedKeys]:
    return share_checked_cells(np.array(cells, np.uint64), domain, engine, Randomness.from_seed(6))


def asked(first: CheckedKeys, second: CheckedKeys, thresholds: list[int]) -> tuple[Words, NDArray[np.bool_]]:
    """Opened values ``(thresholds, keys, words)`` and which keys are accepted."""
    mine, theirs = (evaluate_checked_keys(keys, thresholds, PORTABLE, KEY) for keys in (first, second))
    return first.domain.ring.add(mine.values, theirs.values), mine.find_accepted(theirs.digests)


@RINGS
@pytest.mark.parametrize("bits", [1, 2, 6])
def test_every_honest_key_is_accepted_and_one_from_its_cell_on(bits: int, ring: Ring) -> None:
    both = shared(list(range(2**bits)), Domain(bits, ring))
    opened, accepted = asked(both.keys(0), both.keys(1), list(range(2**bits)))
    assert accepted.all()
    everywhere = np.arange(2**bits)
    assert np.array_equal(opened[..., 0], everywhere[:, None] >= everywhere)
    assert not opened[..., 1:].any()


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
@pytest.mark.parametrize("bits", [32, 64])
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_large_domains_count_what_lies_at_or_below(bits: int, engine: Engine, data: st.DataObject) -> None:
    cell = st.integers(0, 2**bits - 1) | st.sampled_from([0, 2 ** (bits - 1), 2**bits - 1])
    cells = data.draw(st.lists(cell, min_size=1, max_size=3))
    near = [threshold for x in cells for threshold in (x - 1, x, x + 1) if 0 <= threshold < 2**bits]
    thresholds, domain = data.draw(st.permutations([*near, 0, 2**bits - 1])), Domain(bits, Z64)
    both = shared(cells, domain, engine)
    first, second = (evaluate_checked_keys(both.keys(party), thresholds, engine, KEY) for party in (0, 1))
    accepted = first.find_accepted(second.digests)
    sums = domain.ring.reconstruct(first.sums(accepted), second.sums(accepted))
    assert accepted.all()
    assert sums == tuple(sum(x <= threshold for x in cells) for threshold in thresholds)


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
@RINGS
def test_all_engines_make_and_read_the_same_bits(ring: Ring, engine: Engine) -> None:
    domain, cells = Domain(9, ring), [0, 3, 77, 511, 256]
    made, wanted = shared(cells, domain, engine), shared(cells, domain)
    for party in (0, 1):
        assert made.keys(party).to_bytes() == wanted.keys(party).to_bytes()
        one, other = (evaluate_checked_keys(wanted.keys(party), [3, 80], each, KEY) for each in (engine, PORTABLE))
        assert np.array_equal(one.values, other.values)
        assert np.array_equal(one.digests, other.digests)


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
def test_all_engines_see_the_same_at_nodes_and_count_what_lies_below(engine: Engine) -> None:
    """Keys are 300, which neither fill registers nor the part that is looked at together."""
    domain, cells = Domain(9, Z64), np.random.default_rng(3).integers(0, 2**9, 300).tolist()
    both, at = shared(cells, domain), [[256], [128, 1, 511], [257, 130, 384]]
    left: list[dict[Node, int]] = [{}, {}]
    walks = [NodeWalk(both.keys(party), engine, NodeMarkKey.from_verification_key(KEY)) for party in (0, 1)]
    for asked_for in at:
        nodes = [node for node in find_path_nodes(asked_for, 9) if node not in left[0]]
        seen = [walk.evaluate_nodes(nodes) for walk in walks]
        for party in (0, 1):
            again = NodeWalk(both.keys(party), PORTABLE, NodeMarkKey.from_verification_key(KEY)).evaluate_nodes(nodes)
            assert np.array_equal(again.left_counts, seen[party].left_counts)
            assert np.array_equal(again.marks, seen[party].marks)
            left[party] |= zip(nodes, domain.ring.to_integers(seen[party].left_counts), strict=True)
        assert np.array_equal(seen[0].marks, seen[1].marks)
        for below in asked_for:
            shares = [sum_left_counts(each, below, domain) for each in left]
            assert sum(shares) % 2**64 == sum(x < below for x in cells)


def steps(bits: int) -> Words:
    """Values of all honest keys: ``(cells, thresholds)``."""
    everywhere = np.arange(2**bits)
    return (everywhere >= everywhere[:, None]).astype(np.uint64)


def test_whatever_bit_is_flipped_for_both_servers_a_key_that_passes_everywhere_has_weight_one() -> None:
    domain, bits = Domain(3, Z64), 3
    both = shared([5], domain)
    row = both.public.records()
    flips = np.repeat(row, 64 * row.shape[1], axis=0)
    flips.reshape(-1, row.shape[1], 64, row.shape[1])[...] ^= (
        np.eye(row.shape[1], dtype=np.uint64)[:, None, :] << np.arange(64, dtype=np.uint64)[:, None]
    )
    turns = flips[:, -1] < 2**bits
    public = CheckedShare.from_records(domain, flips[turns])
    first, second = (SeedShare(party, np.repeat(both.seeds[party].words, len(public), axis=0)) for party in (0, 1))
    opened, accepted = asked(CheckedKeys(public, first), CheckedKeys(public, second), list(range(8)))
    nodes, marks = find_path_nodes(range(1, 8), 3), [NodeMarkKey.from_verification_key(KEY)] * 2
    for place, passes in enumerate(accepted.tolist()):
        part = slice(place, place + 1)
        keys = CheckedKeys(public[part], first[part]), CheckedKeys(public[part], second[part])
        one, other = (
            NodeWalk(key, PORTABLE, mark).evaluate_nodes(nodes).marks for key, mark in zip(keys, marks, strict=True)
        )
        assert np.array_equal(one, other) == passes
    curves = {tuple(curve) for curve in opened[:, accepted, 0].T.tolist()}
    assert curves <= {tuple(curve) for curve in steps(bits).tolist()}
    assert not accepted.all()
    assert len(public) == 64 * (row.shape[1] - 1) + bits


def test_what_only_one_server_was_given_otherwise_is_dropped_whatever_is_asked() -> None:
    domain, both = Domain(3, Z64), shared([5], Domain(3, Z64))
    row = both.public.records()
    for word in range(row.shape[1] - 1):
        tampered = row.copy()
        tampered[0, word] ^= np.uint64(1 << word)
        other = CheckedKeys(CheckedShare.from_records(domain, tampered), both.seeds[1])
        assert not asked(both.keys(0), other, [1])[1].any()
    for bit in range(127):
        seeds = both.seeds[1].words.copy()
        seeds[0, bit // 64] ^= np.uint64(1 << bit % 64)
        assert not asked(both.keys(0), CheckedKeys(both.public, SeedShare(1, seeds)), [1])[1].any()


Tamper = Callable[[CheckedShare], None]


def weight_of_two(public: CheckedShare) -> None:
    """All values on the path are corrected by one more, or one less: the owner counts twice, or not at all."""
    public.values[...] += np.uint64(1)


def weight_of_the_last_level(public: CheckedShare) -> None:
    public.values[-1] += np.uint64(1 << 40)


def no_proof(public: CheckedShare) -> None:
    public.proofs[1] = 0


def two_live_nodes(public: CheckedShare) -> None:
    """Both children of the cell's last parent have different control bits."""
    public.seeds[-1, :, 1] ^= np.uint64(1 << 63)
    public.turns[:] ^= np.uint64(1 << (public.domain.bits - 1))


@pytest.mark.parametrize("tamper", [weight_of_two, weight_of_the_last_level, no_proof, two_live_nodes])
def test_tampered_keys_are_dropped_and_honest_ones_beside_them_are_not(tamper: Tamper) -> None:
    both = shared([9, 9, 2], Domain(4, Z64))
    tamper(both.public[1:2])
    opened, accepted = asked(both.keys(0), both.keys(1), list(range(16)))
    assert accepted.tolist() == [True, False, True]
    assert opened[:, accepted, 0].sum(axis=1).tolist() == [(x >= 9) + (x >= 2) for x in range(16)]


def two_live_leaves(seed: int) -> SharedKeys[CheckedKeys] | None:
    """Weights w at cell 0 and 1 - w at cell 1, and the proof of cell 0; nothing if one correction cannot do that."""
    both = share_checked_cells(np.zeros(1, np.uint64), Domain(1, Z64), PORTABLE, Randomness.from_seed(seed))
    public = both.public
    public.turns[:] ^= np.uint64(1)  # the right leaf's control bits differ as well
    leaves = [PORTABLE.children(share.words[None], public.seeds[0], public.turns, 0)[:, 0] for share in both.seeds]
    weights = [int(number) for number in (PORTABLE.value_blocks(leaves[0]) - PORTABLE.value_blocks(leaves[1]))[:, 0]]
    signs = [1 - 2 * int(word >> np.uint64(63)) for word in leaves[1][:, 1]]
    missing = (1 - sum(weights)) * signs[0]
    if signs[0] != signs[1] or missing % 2:
        return None
    public.values[0, 0, 0] = np.uint64(missing // 2 % 2**64)
    return both


def test_two_weights_that_add_up_to_one_are_caught_though_one_has_its_proof() -> None:
    both = next(found for seed in range(100) if (found := two_live_leaves(seed)) is not None)
    opened, accepted = asked(both.keys(0), both.keys(1), [0, 1])
    assert opened[1, 0, 0] == 1
    assert opened[0, 0, 0] > 1
    assert not accepted.any()


def test_a_key_that_passed_is_dropped_when_what_was_tampered_with_is_looked_at() -> None:
    domain = Domain(4, Z64)
    both = shared([9], domain)
    both.public.proofs[3] ^= np.uint64(1)  # of the pair of cells 8 and 9
    assert asked(both.keys(0), both.keys(1), [3])[1].all()
    assert not asked(both.keys(0), both.keys(1), [8])[1].any()


def test_digests_depend_on_the_verification_key_and_on_what_is_asked() -> None:
    keys = shared([9], Domain(4, Z64)).keys(0)
    some = [
        evaluate_checked_keys(keys, thresholds, PORTABLE, key).digests.tobytes()
        for thresholds, key in (([3], KEY), ([3], bytes(32)), ([12], KEY))
    ]
    assert len(set(some)) == 3


def test_many_thresholds_are_folded_and_still_compared() -> None:
    both = shared([200], Domain(8, Z64))
    everywhere = list(range(256))
    assert asked(both.keys(0), both.keys(1), everywhere)[1].all()
    both.public.proofs[7] ^= np.uint64(1)
    assert not asked(both.keys(0), both.keys(1), everywhere)[1].any()


def test_bad_input_is_refused_in_one_line() -> None:
    both = shared([9], Domain(4, Z64))
    with pytest.raises(ValueError, match=r"^verification_key: must have 32 bytes, got 3$"):
        evaluate_checked_keys(both.keys(0), [3], PORTABLE, b"abc")
    with pytest.raises(ValueError, match=r"^cells: must be below 2\*\*4$"):
        shared([16], Domain(4, Z64))
    with pytest.raises(ValueError, match=r"^digests: must have shape \(1, 16\), as the stored ones, got \(2, 16\)$"):
        evaluate_checked_keys(both.keys(0), [3], PORTABLE, KEY).find_accepted(np.zeros((2, 16), np.uint8))


@pytest.mark.parametrize("domain", [Domain(1, Z64), Domain(10, Z128), Domain(64, Z64)])
def test_bytes_come_back_as_the_same_keys_and_nothing_else_does(domain: Domain) -> None:
    keys = shared([0, 1, 1], domain).keys(1)
    blob = keys.to_bytes()
    again = CheckedKeys.from_bytes(domain, 1, blob)
    assert again.to_bytes() == blob == CheckedKeys.concatenate([again[:1], again[1:]]).to_bytes()
    flipped = blob[:-1] + bytes([blob[-1] ^ 2])
    for tampered in (blob[:-1], blob + b"\0", blob[:4] + b"\2" + blob[5:], flipped, b""):
        with pytest.raises(ValueError, match=r"^checked keys of server 1: [^\n]*$"):
            CheckedKeys.from_bytes(domain, 1, tampered)
    with pytest.raises(ValueError, match="kind"):
        CheckedKeys.from_bytes(domain, 0, blob)


def test_a_checked_key_of_32_bits_takes_1816_bytes_and_a_head() -> None:
    assert len(shared([7], Domain(32, Z64)).keys(0).to_bytes()) == 16 + 1816


def test_secrets_have_no_face() -> None:
    both = shared([9], Domain(4, Z64))
    for secret in (both, both.public, both.keys(1), evaluate_checked_keys(both.keys(0), [3], PORTABLE, KEY)):
        assert "object at" in repr(secret)
