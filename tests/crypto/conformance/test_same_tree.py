"""The product's checked keys are the drafts' tree under other rules; each rule has a name, and is shown to matter.

Named differences from the drafts' verifiable point function:

- *streams*: AES under two keys of the task for children, a third for weights; not one key of a report's nonce.
- *control bit*: it stays in the top bit of a seed, and goes through AES with it; not the lowest bit, taken out.
- *next seed*: a corrected child is its own next seed; the drafts draw one off the stream of its weight.
- *ring*: weights are integers modulo 2**64 or 2**128, one a node; not elements of fields.
- *proof*: SHA-256 over the task, level, place and seed; not TurboSHAKE128.
- *digest*: one BLAKE2b over correction words, proofs and sums in depth-first order, with the root's weight 1 for a
  counter; not three digests in breadth-first order.
- *reading*: the weights of left siblings and of the leaf itself are added up: what lies at or below a threshold.
- *side*: comparison keys, which are not checked, gain at right turns: they are 1 from the cell on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from hashlib import sha256
from operator import xor

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES128
from cryptography.hazmat.primitives.ciphers.modes import ECB
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from engines import PORTABLE, TASK
from textbook import task_keys
from vdaf_tree import (
    Correction,
    Path,
    Rules,
    State,
    checked_record,
    checked_rules,
    generate,
    root,
    split,
    step,
    vidpf_rules,
    whole,
)

from dpcurves.noise import Randomness
from dpcurves_parties.crypto import (
    Domain,
    NodeMarkKey,
    NodeWalk,
    Ring,
    evaluate_checked_keys,
    find_path_nodes,
    share_cells,
    share_checked_cells,
)

KEY = bytes(range(32))
CASES = [(1, 1), (5, 1), (5, 2), (32, 1), (64, 2)]


def cells_of(bits: int) -> list[int]:
    return sorted({0, 2**bits - 1, 2 ** (bits - 1), 0x5A5A5A5A5A5A5A5A % 2**bits})


def path(cell: int, bits: int) -> Path:
    return tuple(cell >> (bits - 1 - level) & 1 for level in range(bits))


def seeds(words: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> list[bytes]:
    """Seeds without the top bit, which is the server's number and the root's control bit."""
    return [split(row.astype("<u8").tobytes()).seed for row in words]


class Reader:
    """A server's values and digest for one key, as the product defines them: by the tree's steps alone."""

    def __init__(self, rules: Rules, party: int, key: bytes, corrections: Sequence[Correction], bits: int) -> None:
        self.rules, self.party, self.corrections, self.bits = rules, party, corrections, bits
        self.ring, self.start, self.values = rules.field(0), root(key, party), dict[int, int]()
        self.told = hashlib.blake2b(checked_record(rules, corrections), digest_size=32).digest()

    def read(self, thresholds: Sequence[int]) -> tuple[list[int], bytes]:
        self._visit(self.start, (), 1 - self.party, 0, thresholds)
        sign = -1 if self.party else 1
        digest = hashlib.blake2b(self.told, digest_size=16, key=KEY).digest()
        return [sign * self.values[threshold] % self.ring.modulus for threshold in thresholds], digest

    def _visit(self, state: State, way: Path, weight: int, left: int, thresholds: Sequence[int]) -> None:
        begin = sum(turn << self.bits - 1 - level for level, turn in enumerate(way))
        size = 1 << self.bits - len(way)
        self.values |= {at: left + weight for at in thresholds if at + 1 == begin + size}
        self.values |= {at: left for at in thresholds if at + 1 == begin}
        below = [threshold for threshold in thresholds if begin < threshold + 1 < begin + size]
        if not below:
            return
        nodes = [step(self.rules, state, self.corrections[len(way)], (*way, turn)) for turn in (0, 1)]
        weights = [node.weight[0] for node in nodes]
        for part in (nodes[0].proof, nodes[1].proof, self.ring.packed([sum(weights) - weight])):
            self.told += part
            if len(self.told) > 8 * 1024:
                self.told = hashlib.blake2b(self.told, digest_size=32, key=KEY).digest()
        for turn in (0, 1):
            self._visit(nodes[turn].state, (*way, turn), weights[turn], left + turn * weights[0], below)


@pytest.mark.parametrize(("bits", "words"), CASES)
def test_checked_keys_are_the_tree_with_the_products_rules(bits: int, words: int) -> None:
    rules, cells, domain = checked_rules(task_keys(TASK), words), cells_of(bits), Domain(bits, Ring(words))
    both = share_checked_cells(np.array(cells, np.uint64), domain, PORTABLE, Randomness.from_seed(bits))
    pairs = list(zip(*(seeds(share.words) for share in both.seeds), strict=True))
    made = [generate(rules, path(x, bits), [[1]] * bits, pair) for x, pair in zip(cells, pairs, strict=True)]
    records = both.public.records().astype("<u8")
    assert [row.tobytes() for row in records] == [checked_record(rules, each) for each in made]
    thresholds = sorted({*cells, *(x ^ 1 for x in cells), *(place * 7 % 2**bits for place in range(40))})
    for party in (0, 1):
        found = evaluate_checked_keys(both.keys(party), thresholds, PORTABLE, KEY)
        read = [Reader(rules, party, pair[party], each, bits) for pair, each in zip(pairs, made, strict=True)]
        values, digests = zip(*(reader.read(thresholds) for reader in read), strict=True)
        assert [domain.ring.to_integers(row) for row in found.values] == list(zip(*values, strict=True))
        assert [row.tobytes() for row in found.digests] == list(digests)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize(("bits", "words"), CASES)
def test_nodes_are_marked_by_what_the_tree_says_of_both_children(bits: int, words: int) -> None:
    rules, cells, domain = checked_rules(task_keys(TASK), words), cells_of(bits), Domain(bits, Ring(words))
    both = share_checked_cells(np.array(cells, np.uint64), domain, PORTABLE, Randomness.from_seed(bits))
    pairs = list(zip(*(seeds(share.words) for share in both.seeds), strict=True))
    made = [generate(rules, path(x, bits), [[1]] * bits, pair) for x, pair in zip(cells, pairs, strict=True)]
    stream = HKDF(SHA256(), 96, salt=None, info=b"dpcurves: marks of nodes, version 1").derive(KEY)
    cipher, masks = Cipher(AES128(stream[:16]), ECB()), [stream[at : at + 16] for at in range(16, 96, 16)]

    def mark(*blocks: bytes) -> bytes:
        masked = b"".join(bytes(map(xor, *both)) for both in zip(blocks, masks, strict=True))
        found = cipher.encryptor().update(masked)
        return bytes(map(lambda *each: reduce(xor, each), *(found[at : at + 16] for at in range(0, 80, 16))))

    thresholds = sorted({*(x + 1 for x in cells if x + 1 < 2**bits), *(place * 7 % 2**bits for place in range(1, 9))})
    for party in (0, 1):
        nodes, ring = find_path_nodes(thresholds, bits), rules.field(0)
        left, marks = [0] * len(nodes), [b""] * len(nodes)
        for pair, corrections in zip(pairs, made, strict=True):
            for number, (level, index) in enumerate(nodes):
                state, weight = root(pair[party], party), 1 - party
                for depth in range(level):
                    way = path(index >> level - depth - 1, depth + 1)
                    node = step(rules, state, corrections[depth], way)
                    state, weight = node.state, node.weight[0]
                one, other = (step(rules, state, corrections[level], (*path(index, level), t)) for t in (0, 1))
                left[number] += one.weight[0]
                apart = ring.packed([(one.weight[0] + other.weight[0] - weight) % ring.modulus]).ljust(16, b"\0")
                halves = (each[at : at + 16] for each in (one.proof, other.proof) for at in (0, 16))
                marks[number] += mark(*halves, apart)
        walk = NodeWalk(both.keys(party), PORTABLE, NodeMarkKey.from_verification_key(KEY))
        for part in (slice(0, 5), slice(5, None)):
            found = walk.evaluate_nodes(nodes[part])
            assert [row.tobytes() for row in found.marks] == [sha256(each).digest() for each in marks[part]]
            sums = [(-1 if party else 1) * each % ring.modulus for each in left[part]]
            assert list(domain.ring.to_integers(found.left_counts)) == sums


@pytest.mark.parametrize(("bits", "words"), CASES)
def test_comparison_keys_have_the_seeds_of_the_same_tree(bits: int, words: int) -> None:
    rules, cells, domain = checked_rules(task_keys(TASK), words), cells_of(bits), Domain(bits, Ring(words))
    both = share_cells(np.array(cells, np.uint64), domain, PORTABLE, Randomness.from_seed(bits))
    pairs = zip(*(seeds(share.words) for share in both.seeds), strict=True)
    for place, (cell, pair) in enumerate(zip(cells, pairs, strict=True)):
        made = generate(rules, path(cell, bits)[: domain.levels], [[1]] * domain.levels, pair)
        words_of = [whole(State(each.seed, each.controls[0])) for each in made]
        assert both.public.seeds[:, place].astype("<u8").tobytes() == b"".join(words_of)
        turns = sum((left ^ right) << level for level, (left, right) in enumerate(each.controls for each in made))
        assert int(both.public.turns[place]) == turns


@pytest.mark.parametrize("name", ["extend", "convert", "field", "proof"])
def test_no_named_difference_is_idle(name: str) -> None:
    ours, theirs, pair = checked_rules(task_keys(TASK), 1), vidpf_rules(4, 1, b"ctx", bytes(16)), (bytes(16), KEY[16:])
    mixed = replace(ours, **{name: getattr(theirs, name)})
    made, other = (generate(rules, (1, 0, 1, 1), [[1]] * 4, pair) for rules in (ours, mixed))
    assert made != other
    for rules, corrections in ((ours, made), (mixed, other)):
        ends = [Reader(rules, party, pair[party], corrections, 4) for party in (0, 1)]
        (first, one), (second, two) = (each.read([10, 11]) for each in ends)
        opened = [(a + b) % rules.field(0).modulus for a, b in zip(first, second, strict=True)]
        assert (opened, one) == ([0, 1], two)
