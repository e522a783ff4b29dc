"""Engines that expand seeds by fixed-key AES, the pseudorandom generator of function secret sharing.

    Engine            the interface: writes correction words, and walks down the trees of keys
    PortableEngine    NumPy, and AES by OpenSSL
    FastEngine        compiled loops with the processor's AES instructions (AES-NI)
    TaskKeys          the public AES keys of a task

A key of a comparison function is a seed per server and public correction words. A server expands its seed level by
level towards a cell: each seed gives two children and pseudorandom values. Engines with equal task keys return equal
bits.

Formal guarantees: neither branches nor memory addresses depend on cells or seeds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from threading import local
from typing import Any, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dpcurves.arguments import InvalidArgument

from .keys import CheckedShare, PublicShare
from .ring import Ring, Words

_PURPOSE = b"dpcurves: fixed keys of expansion, version 1"
"""HKDF info under which a task's public AES keys, for the expansion of seeds, are derived. Another text gives other
keys, and reports made before could not be evaluated."""


@dataclass(frozen=True, slots=True, repr=False)
class TaskKeys:
    """The four AES-128 keys of one task, and a hash prefix: public, and derived from the name of the task by
    HKDF-SHA256.

    A seed s is expanded to ``AES(key, s) xor s`` under each key (Matyas-Meyer-Oseas).

    Formal guarantees: take AES under the four keys as four random permutations. Then an adversary with q evaluations
    distinguishes m expanded seeds from uniform blocks with advantage at most ``m * (m + q) / 2**126``. A seed has 127
    secret bits, and nothing is learned before the adversary queries a seed or the preimage of an answer, or two seeds
    coincide. For a task of 2**20 keys of 2**6 levels this costs about 27 of 127 bits. Tasks with other names have other
    permutations.

    Attributes:
        left: Key for left children.
        right: Key for right children.
        value: Key for values.
        other_value: Key for a second block of values.
        prefix: Prefix of hashed messages.
    """

    left: bytes
    right: bytes
    value: bytes
    other_value: bytes
    prefix: bytes

    @classmethod
    def from_task(cls, task: bytes) -> TaskKeys:
        """Derive the public AES keys of a task, by which seeds of function secret sharing are expanded.

        Args:
            task: Bytes that all parties share, such as a hash of the task's description.
        """
        block = 16  # bytes of an AES block, and of an AES-128 key
        stream = HKDF(SHA256(), 5 * block, salt=None, info=_PURPOSE).derive(task)
        return cls(*(stream[start : start + block] for start in range(0, len(stream), block)))


@dataclass(slots=True, repr=False, eq=False)
class PathState:
    """SECRET: one server's state in the trees of some keys, at one node each. Engines change it in place.

    Attributes:
        seeds: Seeds, (keys, 2) words; the top bit of the second word is the control bit.
        values: Values summed along the path so far, (keys, words), without the server's sign.
    """

    seeds: Words
    values: Words

    def copy(self) -> PathState:
        """SECRET: return an independent copy, for a path that branches off."""
        return PathState(self.seeds.copy(), self.values.copy())


class Engine(Protocol):
    """The interface of engines. Callers pass chunks of keys that fit into the processor's cache."""

    @property
    def keys(self) -> TaskKeys:
        """The public AES keys of the task."""
        ...

    @property
    def chunk_size(self) -> int:
        """Number of keys that callers should pass at once, so that the arrays fit into the cache."""
        ...

    def generate(self, public: PublicShare, cells: Words, first: Words, second: Words) -> None:
        """SECRET: write the correction words of comparison keys into `public`, in place.

        Args:
            public: Arrays to fill; its `turns` must be 0.
            cells: Cells ``(keys,)``.
            first: Root seeds of server 0, ``(keys, 2)``.
            second: Root seeds of server 1, ``(keys, 2)``.
        """
        ...

    def descend(self, state: PathState, public: PublicShare, start: int, stop: int, path: int) -> None:
        """SECRET: evaluate keys down their trees along a public path, in place, and add the values on the path to the
        state's.

        Args:
            state: Seeds and values of one server.
            public: Correction words.
            start: Level at which the state is.
            stop: Level to which it moves.
            path: Turns as bits, 1 for right; the lowest bit is the turn at the deepest level.
        """
        ...

    def leaf_values(self, state: PathState, public: PublicShare) -> Words:
        """SECRET: return the corrected values of the cells in the leaf that a state has reached.

        The values summed along the path are not included.

        Args:
            state: Seeds of one server.
            public: Correction words.

        Returns:
            Words (keys, 2), which hold the numbers of one or two cells.
        """
        ...

    def children(self, nodes: Words, seed_words: Words, turns: Words, level: int) -> Words:
        """SECRET: return the seeds of both children of some nodes.

        Where a parent's control bit is set, its children are corrected by XOR.

        Args:
            nodes: Seeds of the nodes, (nodes, keys, 2).
            seed_words: Corrections of the level's seeds, (keys, 2).
            turns: Corrections of right children's control bits; bit `level` belongs to this level, (keys,).
            level: Level of the nodes.

        Returns:
            Seeds (2 * nodes, keys, 2): the left child of each node, followed by its right child.
        """
        ...

    def value_blocks(self, seeds: Words) -> Words:
        """SECRET: return the pseudorandom blocks of seeds under the value key.

        Args:
            seeds: Seeds, (keys, 2).

        Returns:
            Blocks, (keys, 2).
        """
        ...

    def hash_messages(self, messages: Words) -> Words:
        """Return the SHA-256 digests of messages of 48 bytes, by which checked keys are verified.

        Args:
            messages: Messages as little-endian words, (count, 6).

        Returns:
            Digests as words, (count, 4).
        """
        ...

    def leaf_sums(self, nodes: Words, public: PublicShare) -> Words:
        """SECRET: return this server's unsigned sums over all keys of the point functions at the cells of leaves.

        Args:
            nodes: Seeds of the leaves, (nodes, keys, 2).
            public: Correction words.

        Returns:
            Words (nodes, 2), which hold the sums of one or two cells.
        """
        ...


def chunk_slices(count: int, size: int) -> list[slice]:
    """Return consecutive slices of at most `size` items that cover all `count` items; one empty slice if there are
    none.
    """
    return [slice(start, min(start + size, count)) for start in range(0, max(count, 1), size)]


# Branch-free selection: masks are words of all ones or all zeros.
CONTROL_BIT = np.uint64(1 << 63)
"""Mask of the control bit, the highest bit of the second word of a seed's 128 bits. It says whether a correction word
applies, and is no part of the secret seed."""
_ONE = np.uint64(1)
"""Mask of the lowest bit of a word, as a NumPy scalar: it selects one binary digit of shifted cell numbers."""


def control_mask(seeds: Words) -> Words:
    """Return a mask of blocks: all ones where the control bit is set, else zeros.

    Args:
        seeds: Blocks, (count, 2); the control bit is the top bit of the second word.
    """
    return (seeds[:, 1].view(np.int64) >> 63).view(np.uint64)


def right_turn_mask(cells: Words, bits: int, level: int) -> Words:
    """Return a mask of cells: all ones where the path from the root to the cell turns right at `level`, else zeros.

    Args:
        cells: Cells, (count,).
        bits: Binary digits of a cell.
        level: Level, from 0 at the root.
    """
    return -((cells >> np.uint64(bits - 1 - level)) & _ONE)


def widen_mask(mask: Words, output: Words | None = None) -> Words:
    """Repeat a mask for both words of a block, because NumPy broadcasts slowly.

    Args:
        mask: Words of all ones or zeros, (keys,).
        output: Array that is filled and returned, (keys, 2); None: a new one.
    """
    wide = np.empty((len(mask), 2), np.uint64) if output is None else output
    wide[:, 0] = mask
    wide[:, 1] = mask
    return wide


def choose_side(right: Words, left_side: Words, right_side: Words) -> Words:
    """Return `right_side` where the mask is all ones, else `left_side`, word by word and without branches.

    Args:
        right: Masks of all ones or all zeros.
        left_side: Words for zeros.
        right_side: Words for ones.
    """
    result = left_side ^ right_side
    result &= right
    result ^= left_side
    return result


def seed_correction(right: Words, left_difference: Words, right_difference: Words) -> tuple[Words, Words]:
    """Return the correction words of one level's seeds.

    The corrections make both servers' seeds equal off the path to the secret cell, and their control bits differ on it.

    Args:
        right: Masks of all ones where the path turns right, (keys,).
        left_difference: XOR of both servers' left children, (keys, 2).
        right_difference: XOR of their right children, (keys, 2).

    Returns:
        The corrections, (keys, 2), whose top bit is for the control bits of left children; and words whose top bit is
        set where control bits of right children need the opposite bit, (keys,).
    """
    correction = choose_side(widen_mask(right), right_difference, left_difference)
    left_control = (left_difference[:, 1] ^ ~right) & CONTROL_BIT
    right_control = (right_difference[:, 1] ^ right) & CONTROL_BIT
    correction[:, 1] &= ~CONTROL_BIT
    correction[:, 1] |= left_control
    return correction, left_control ^ right_control


# The portable engine: NumPy, and AES by OpenSSL.
Pair = tuple[Words, Words]  # SECRET: seeds of the two servers


@dataclass(frozen=True, slots=True)
class PortableEngine:
    """Expands seeds with OpenSSL's AES, all keys of a chunk at a time.

    Formal guarantees: neither branches nor memory addresses depend on cells or seeds. AES takes constant time on
    processors with AES instructions.

    Attributes:
        keys: The public AES keys of the task.
        chunk_size: Keys at once.
    """

    keys: TaskKeys
    chunk_size: int = 24576  # keys at once, whose seeds fit into the second-level cache between NumPy's passes
    _local: local = field(default_factory=local, repr=False, compare=False)

    @classmethod
    def from_task(cls, task: bytes) -> PortableEngine:
        """Return an engine with the AES keys derived from the hash of a task."""
        return cls(TaskKeys.from_task(task))

    def generate(self, public: PublicShare, cells: Words, first: Words, second: Words) -> None:
        """SECRET: write correction words level by level, with all keys of the chunk in one AES call.

        Args:
            public: Correction words; filled in.
            cells: Cell of each key. SECRET.
            first: Seeds of server 0, (keys, 2). SECRET.
            second: Seeds of server 1, (keys, 2). SECRET.
        """
        writer = _CorrectionWriter(self._ciphers(), public)
        domain = public.domain
        pair = (first, second)
        owed = np.zeros((len(cells), domain.ring.words), dtype=np.uint64)
        for level in range(domain.levels):
            right = right_turn_mask(cells, domain.bits, level)
            sign = control_mask(pair[1])
            owed = writer.write_values(level, right, sign, pair, owed)
            pair = writer.write_seeds(level, right, sign, pair)
        writer.write_leaves(cells, pair, owed)

    def write_leaf_corrections(self, public: PublicShare, cells: Words, pair: Pair, owed: Words) -> None:
        """SECRET: write the corrections of leaves, for keys whose levels were written elsewhere, as the fast engine
        does.

        Args:
            public: Correction words; those of leaves are filled in.
            cells: SECRET. Cell of each key.
            pair: SECRET. Leaf seeds of both servers.
            owed: SECRET. Sum of both servers' values on the path.
        """
        _CorrectionWriter(self._ciphers(), public).write_leaves(cells, pair, owed)

    def descend(self, state: PathState, public: PublicShare, start: int, stop: int, path: int) -> None:
        """SECRET: move a state down the trees level by level, with all keys in one AES call.

        Args:
            state: SECRET. Seeds and values of a server; changed in place.
            public: Correction words.
            start: First level.
            stop: Level after the last one.
            path: Turns as bits, the last one lowest.
        """
        step = _Step.from_ciphers(self._ciphers(), public.domain.ring, len(state.seeds))
        buffer = np.empty((len(state.seeds) + 1, 2), np.uint64)
        for level in range(start, stop):
            buffer = step.descend_level(state, public, level, path >> (stop - 1 - level) & 1, buffer)

    def leaf_values(self, state: PathState, public: PublicShare) -> Words:
        """SECRET: return the leaf blocks ``(keys, 2)``, corrected where the control bit is set.

        Args:
            state: Seeds of the leaves of all keys.
            public: Correction words of the keys.
        """
        block = self._ciphers().value.expand_blocks(state.seeds)
        corrections = widen_mask(control_mask(state.seeds))
        corrections &= public.leaf
        shape = len(block), 2 // public.domain.ring.words, public.domain.ring.words
        return public.domain.ring.add(block.reshape(shape), corrections.reshape(shape)).reshape(len(block), 2)

    def _ciphers(self) -> _Ciphers:
        """Return the ciphers of this thread. OpenSSL contexts cannot be shared, and creating them costs more than a
        level.
        """
        if not hasattr(self._local, "ciphers"):
            self._local.ciphers = _Ciphers(self.keys)
        ciphers: _Ciphers = self._local.ciphers
        return ciphers

    def children(self, nodes: Words, seed_words: Words, turns: Words, level: int) -> Words:
        """SECRET: return the seeds of both children of some nodes of all keys, with two AES calls in all.

        Args:
            nodes: Seeds, (nodes, keys, 2).
            seed_words: Correction words of the seeds on this level, (keys, 2).
            turns: Correction bits of all levels, (keys,).
            level: Level of the nodes.

        Returns:
            Seeds, (2 * nodes, keys, 2), left child first.
        """
        ciphers, (count, keys, _), flat = self._ciphers(), nodes.shape, nodes.reshape(-1, 2)
        mask = control_mask(flat)
        corrected = widen_mask(mask).reshape(nodes.shape)
        corrected &= seed_words
        corrected ^= nodes
        result = np.empty((count, 2, keys, 2), np.uint64)
        room = np.empty((len(flat) + 1, 2), np.uint64)
        for turn, cipher in enumerate((ciphers.left, ciphers.right)):
            blocks = cipher.encrypt(flat, room).reshape(nodes.shape)
            np.bitwise_xor(blocks, corrected, out=result[:, turn])
        result[:, 1, :, 1] ^= mask.reshape(count, keys) & ((turns << np.uint64(63 - level)) & CONTROL_BIT)
        return result.reshape(2 * count, keys, 2)

    def value_blocks(self, seeds: Words) -> Words:
        """SECRET: return ``AES(seed) xor seed`` under the value key, ``(keys, 2)``.

        Args:
            seeds: SECRET. Seeds of shape ``(keys, 2)``.
        """
        return self._ciphers().value.expand_blocks(seeds)

    def hash_messages(self, messages: Words) -> Words:
        """Return SHA-256 of each row of words by `hashlib`, ``(count, 4)``.

        Args:
            messages: Messages of shape ``(count, words)``.
        """
        octets = messages.astype("<u8", copy=False).tobytes()
        size = 8 * messages.shape[1]
        digested = b"".join([sha256(octets[start : start + size]).digest() for start in range(0, len(octets), size)])
        return np.frombuffer(digested, dtype="<u8").astype(np.uint64, copy=False).reshape(len(messages), 4)

    def leaf_sums(self, nodes: Words, public: PublicShare) -> Words:
        """SECRET: return the sums over all keys of the corrected blocks of leaves.

        The blocks of all keys and nodes are in memory at once.

        Args:
            nodes: Seeds of the leaves, (nodes, keys, 2).
            public: Correction words.

        Returns:
            Sums, (nodes, 2).
        """
        ring = public.domain.ring
        flat = nodes.reshape(-1, 2)
        blocks = self._ciphers().left.expand_blocks(flat).reshape(nodes.shape)
        corrections = widen_mask(control_mask(flat)).reshape(nodes.shape) & public.point
        places = [slice(start, start + ring.words) for start in range(0, 2, ring.words)]
        numbers = [ring.add(blocks[..., word], corrections[..., word]) for word in places]
        return np.concatenate([ring.sums(values) for values in numbers], axis=-1)


class _Cipher:
    """The AES permutation under one fixed key."""

    __slots__ = ("_context",)

    def __init__(self, key: bytes) -> None:
        self._context: CipherContext = Cipher(algorithms.AES128(key), modes.ECB()).encryptor()

    def encrypt(self, blocks: Words, out: Words) -> Words:
        """Write the AES encryptions of blocks into `out`, and return the view of the written blocks.

        Args:
            blocks: Contiguous blocks, (count, 2).
            out: Buffer of one block more, as OpenSSL demands.
        """
        self._context.update_into(_octets(blocks), _octets(out))
        return out[: len(blocks)]

    def expand_blocks(self, blocks: Words) -> Words:
        """Return ``AES(blocks) xor blocks``, the pseudorandom expansion of seeds, as a new array."""
        result = self.encrypt(np.ascontiguousarray(blocks), np.empty((len(blocks) + 1, 2), np.uint64))
        result ^= blocks
        return result


def encrypt_blocks(key: bytes, blocks: Words) -> Words:
    """Return AES of blocks ``(count, 2)`` under a key, as a new array."""
    return _Cipher(key).encrypt(np.ascontiguousarray(blocks), np.empty((len(blocks) + 1, 2), np.uint64))


class _Ciphers:
    """The four AES permutations of a task."""

    __slots__ = ("left", "other_value", "right", "value")

    def __init__(self, keys: TaskKeys) -> None:
        self.left = _Cipher(keys.left)
        self.right = _Cipher(keys.right)
        self.value = _Cipher(keys.value)
        self.other_value = _Cipher(keys.other_value)

    def expand_values(self, seeds: Words, ring: Ring) -> tuple[Words, Words]:
        """Return the pseudorandom numbers of the left and of the right children of seeds, (keys, words) each.

        Args:
            seeds: SECRET. Seeds of shape ``(keys, 2)``.
            ring: Ring of the numbers, of one or two words.
        """
        block = self.value.expand_blocks(seeds)
        if ring.words == 1:
            return block[:, :1], block[:, 1:]
        return block, self.other_value.expand_blocks(seeds)


@dataclass(frozen=True, slots=True)
class _Step:
    """Expansion of nodes to the next level of the tree, for all keys of a chunk, in a reused buffer."""

    ciphers: _Ciphers
    ring: Ring
    block: Words

    @classmethod
    def from_ciphers(cls, ciphers: _Ciphers, ring: Ring, count: int) -> _Step:
        """Create the engine's step, which moves keys down one tree level, with a buffer for `count` keys.

        The buffer has one block more than `count`, as OpenSSL demands.

        Args:
            ciphers: The AES permutations of the task.
            ring: Ring of the numbers, of one or two words.
            count: Keys of a chunk.
        """
        return cls(ciphers, ring, np.empty((count + 1, 2), np.uint64))

    def descend_level(self, state: PathState, public: PublicShare, level: int, turn: int, buffer: Words) -> Words:
        """SECRET: move a state one level down the trees; its new seeds are written into `buffer`, and the old seeds'
        buffer is returned for reuse.

        Args:
            state: Seeds and values of the keys, which are changed.
            public: Correction words.
            level: Level of the present node.
            turn: 0: to the left child; 1: to the right child.
            buffer: Buffer for the new seeds.
        """
        seeds = state.seeds
        mask = control_mask(state.seeds)
        self._add_values(state.values, seeds, public.values[level] & mask[:, None], turn)
        children = (self.ciphers.right if turn else self.ciphers.left).encrypt(seeds, buffer)
        children ^= seeds
        change = widen_mask(mask, self.block[: len(seeds)])
        change &= public.seeds[level]
        children ^= change
        if turn:
            mask &= CONTROL_BIT
            mask &= public.turns << np.uint64(63 - level)
            children[:, 1] ^= mask
        state.seeds = children
        return seeds.base if seeds.base is not None and seeds.base.shape == buffer.shape else np.empty_like(buffer)

    def _add_values(self, values: Words, seeds: Words, corrections: Words, turn: int) -> None:
        """SECRET: add the pseudorandom values of the entered child, and the masked corrections, to `values` in
        place.

        Args:
            values: Values of the keys, which are changed, (keys, words).
            seeds: Seeds at the parent, (keys, 2).
            corrections: Correction words, 0 unless the control bit is set, (keys, words).
            turn: 0: left child; 1: right child.
        """
        if self.ring.words == 1:
            gained = self.ciphers.value.encrypt(seeds, self.block)[:, turn] ^ seeds[:, turn]
            gained += corrections[:, 0]
            values[:, 0] += gained
            return
        cipher = self.ciphers.other_value if turn else self.ciphers.value
        block = cipher.encrypt(seeds, self.block)
        block ^= seeds
        values[:] = self.ring.add(self.ring.add(values, block), corrections)


@dataclass(frozen=True, slots=True)
class _CorrectionWriter:
    """SECRET: writes correction words, level by level, from both servers' seeds on the paths to the cells.

    Masks `right` are all ones where a path turns right; masks `sign` are all ones where server 1's control bit is set
    and server 0's is not.
    """

    ciphers: _Ciphers
    public: PublicShare

    def write_seeds(self, level: int, right: Words, sign: Words, pair: Pair) -> Pair:
        """SECRET: write one level's corrections of seeds and control bits; return both servers' seeds one level
        deeper.

        Args:
            level: The level.
            right: All ones where the cell's path turns right, (keys,).
            sign: All ones where server 1's control bit is set and server 0's is not, (keys,).
            pair: Seeds of both servers.
        """
        left_side, right_side = (cipher.expand_blocks(pair[0]) for cipher in (self.ciphers.left, self.ciphers.right))
        left_difference, right_difference = (
            cipher.expand_blocks(pair[1]) for cipher in (self.ciphers.left, self.ciphers.right)
        )
        left_difference ^= left_side
        right_difference ^= right_side
        correction, turn = seed_correction(right, left_difference, right_difference)
        self.public.seeds[level] = correction
        self.public.turns[:] |= turn >> np.uint64(63 - level)
        correction[:, 1] ^= turn & right
        wide = widen_mask(right)
        first = choose_side(wide, left_side, right_side)
        first ^= correction & ~widen_mask(sign)
        second = choose_side(wide, left_difference, right_difference)
        second ^= first
        second ^= correction  # exactly one server applies the correction, so their seeds differ by it
        return first, second

    def write_values(self, level: int, right: Words, sign: Words, pair: Pair, owed: Words) -> Words:
        """SECRET: write one level's corrections of values; return the servers' summed values one level deeper.

        `owed` is the sum of both servers' values on the path to the cell.

        Args:
            level: The level.
            right: All ones where the cell's path turns right, (keys,).
            sign: All ones where server 1's control bit is set and server 0's is not, (keys,).
            pair: Seeds of both servers.
            owed: Sum of both servers' values on the path to the cell, (keys, words).
        """
        ring = self.public.domain.ring
        left_values, other_values = (
            ring.subtract(*sides)
            for sides in zip(*(self.ciphers.expand_values(seeds, ring) for seeds in pair), strict=True)
        )
        kept_values = choose_side(right[:, None], left_values, other_values)
        # A threshold that turns right where the cell turns left is above the cell: the lost path must sum to 1.
        target = ring.subtract(ring.units(~right), owed)
        gained = ring.add(ring.subtract(kept_values, ring.add(left_values, other_values)), target)
        self.public.values[level] = ring.negate_where(sign, gained)
        return ring.add(ring.add(owed, kept_values), gained)

    def write_leaves(self, cells: Words, pair: Pair, owed: Words) -> None:
        """SECRET: write the corrections of the cells in the leaves.

        These are for comparisons and, if the domain can be enumerated, for point functions too.

        Args:
            cells: Cell of each key.
            pair: Seeds of both servers at the leaves.
            owed: Sum of both servers' values on the path.
        """
        ring = self.public.domain.ring
        public = self.public
        positions = np.arange(1 << public.domain.leaf_bits, dtype=np.uint64)
        leaf_position = cells & np.uint64((1 << public.domain.leaf_bits) - 1)
        at_or_above = ring.units(-(leaf_position[:, None] <= positions).astype(np.uint64))
        public.leaf[:] = self._leaf_correction(self.ciphers.value, ring.subtract(at_or_above, owed[:, None]), pair)
        if public.domain.is_enumerable:
            equal = ring.units(-(leaf_position[:, None] == positions).astype(np.uint64))
            public.point[:] = self._leaf_correction(self.ciphers.left, equal, pair)

    def _leaf_correction(self, cipher: _Cipher, targets: Words, pair: Pair) -> Words:
        """Return the correction that turns the leaves' blocks into numbers ``(keys, positions, words)``.

        Args:
            cipher: Cipher that expands seeds to blocks.
            targets: Numbers that the difference of both servers' leaves must be, (keys, positions, words).
            pair: Seeds of both servers at the leaves.
        """
        ring = self.public.domain.ring
        sign = control_mask(pair[1])
        first, second = (cipher.expand_blocks(seeds).reshape(targets.shape) for seeds in pair)
        signs = np.repeat(sign[:, None], targets.shape[1], axis=1)
        return ring.negate_where(signs, ring.add(ring.subtract(second, first), targets)).reshape(len(sign), 2)


def _octets(blocks: Words) -> memoryview:
    """Return the bytes of contiguous blocks as a memory view, without a copy."""
    return blocks.reshape(-1).view(np.uint8).data


# Round keys of AES-128, for code that computes the rounds itself.
_ROUNDS = 10
"""Rounds of AES-128 (FIPS 197, section 5): a key is expanded to one more round key than this, 11."""


def expand_aes_key(key: bytes) -> Words:
    """Return the eleven round keys of a public AES-128 key (FIPS 197, section 5.2), (11, 2) little-endian words.

    Never use it for secret keys, because it looks up tables at bytes of the key.
    """
    box = _build_sbox()
    rounds = [key]
    constant = 1
    for _ in range(_ROUNDS):
        previous_key = rounds[-1]
        word = bytes(box[byte] for byte in previous_key[13:] + previous_key[12:13])
        word = bytes([word[0] ^ constant]) + word[1:]
        round_key = b""
        for start in range(0, 16, 4):
            word = bytes(a ^ b for a, b in zip(word, previous_key[start : start + 4], strict=True))
            round_key += word
        rounds.append(round_key)
        constant = _multiply_by_x(constant)
    return np.frombuffer(b"".join(rounds), dtype="<u8").astype(np.uint64).reshape(_ROUNDS + 1, 2)


def _build_sbox() -> list[int]:
    """Return the S-box: inversion in the field of 256 elements, then an affine map (FIPS 197, section 5.1.1)."""
    powers = [1]
    while len(powers) < 255:
        powers.append(powers[-1] ^ _multiply_by_x(powers[-1]))  # 3 generates all elements but 0
    inverse = {0: 0} | {power: powers[-exponent % 255] for exponent, power in enumerate(powers)}
    return [_apply_affine(inverse[byte]) for byte in range(256)]


def _apply_affine(byte: int) -> int:
    """Return the affine map of the S-box of a byte (FIPS 197, section 5.1.1)."""
    repeated = byte * 0x101  # the byte repeated, so that shifts are rotations
    return (repeated ^ repeated >> 4 ^ repeated >> 5 ^ repeated >> 6 ^ repeated >> 7) & 0xFF ^ 0x63


def _multiply_by_x(byte: int) -> int:
    """Return a byte times x in AES's field of 256 elements (FIPS 197, section 4.2.1)."""
    return (byte << 1) ^ (0x11B if byte & 0x80 else 0)


@dataclass(frozen=True, slots=True, repr=False)
class FastEngine:
    """Expands seeds with the processor's AES instructions, in registers of one or two blocks.

    The portable engine does the work that occurs only once per key.

    Formal guarantees: neither branches nor memory addresses depend on cells or seeds.

    Attributes:
        keys: The public AES keys of the task.
        lanes: Blocks in a register, 1 or 2.
        chunk_size: Keys at once.
    """

    keys: TaskKeys
    lanes: int
    chunk_size: int = 8192  # keys at once, whose seeds and correction words fit into the second-level cache
    _portable: PortableEngine = field(init=False)
    _schedules: tuple[Words, Words] = field(init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.lanes <= supported_lanes():
            raise InvalidArgument("lanes", f"must be from 1 to {supported_lanes()} on this processor, got {self.lanes}")
        rounds = np.stack(
            [expand_aes_key(key) for key in (self.keys.left, self.keys.right, self.keys.value, self.keys.other_value)]
        )
        object.__setattr__(self, "_portable", PortableEngine(self.keys))
        object.__setattr__(self, "_schedules", (rounds, np.tile(rounds, self.lanes)))

    @classmethod
    def from_task(cls, task: bytes) -> FastEngine:
        """Return an engine with the AES keys derived from the hash of a task."""
        return cls(TaskKeys.from_task(task), supported_lanes())

    def generate(self, public: PublicShare, cells: Words, first: Words, second: Words) -> None:
        """SECRET: write correction words with the compiled loop; the portable engine writes those of leaves.

        Args:
            public: Correction words; filled in.
            cells: SECRET. Cell of each key.
            first: SECRET. Seeds of server 0, (keys, 2).
            second: SECRET. Seeds of server 1, (keys, 2).

        Raises:
            ValueError: the arrays of `public` are not contiguous.
        """
        from .kernels import compile_generation

        if not (_is_contiguous(public.seeds) and _is_contiguous(public.values) and _is_contiguous(public.turns)):
            raise InvalidArgument(
                "public", "must have contiguous words of keys; allocate them with CorrectionWords.allocate"
            )
        ring = public.domain.ring
        cells = np.ascontiguousarray(cells)
        pair = (first.copy(order="C"), second.copy(order="C"))
        owed, (single, wide) = np.zeros((len(cells), ring.words), np.uint64), self._schedules
        compile_generation(self.lanes, ring.words)(
            (cells, *pair, owed), public.seeds, public.values, public.turns, wide, single, public.domain.bits
        )
        self._portable.write_leaf_corrections(public, cells, pair, owed)

    def descend(self, state: PathState, public: PublicShare, start: int, stop: int, path: int) -> None:
        """SECRET: move a state down the trees with the compiled loop, which keeps blocks in registers across a
        level.

        Args:
            state: SECRET. Seeds and values of a server; changed in place.
            public: Correction words.
            start: First level.
            stop: Level after the last one.
            path: Turns as bits, the last one lowest.
        """
        from .kernels import compile_descent

        words = public.domain.ring.words
        # Round keys of children, then of values, each left and right.
        single, wide = (schedule if words == 2 else schedule[[0, 1, 2, 2]] for schedule in self._schedules)
        corrections = _make_contiguous(public.seeds), _make_contiguous(public.values), _make_contiguous(public.turns)
        state.seeds, state.values = _make_contiguous(state.seeds), _make_contiguous(state.values)
        compile_descent(self.lanes, words)(
            (state.seeds, state.values), *corrections, wide, single, start, stop, np.uint64(path)
        )

    def leaf_values(self, state: PathState, public: PublicShare) -> Words:
        """SECRET: return the corrected leaf blocks, (keys, 2), with the compiled loop.

        Args:
            state: Seeds of the keys at their leaves.
            public: Correction words.
        """
        from .kernels import compile_leaf_values

        single, wide = self._schedules
        result = np.empty(state.seeds.shape, np.uint64)
        seeds = _make_contiguous(state.seeds)
        corrections = _make_contiguous(public.leaf)
        compile_leaf_values(self.lanes, public.domain.ring.words)(seeds, corrections, result, wide[2], single[2])
        return result

    def children(self, nodes: Words, seed_words: Words, turns: Words, level: int) -> Words:
        """SECRET: return the children's seeds ``(2 * nodes, keys, 2)`` by the compiled loop.

        Args:
            nodes: Seeds, (nodes, keys, 2).
            seed_words: Correction words of the seeds on this level, (keys, 2).
            turns: Correction bits of all levels, (keys,).
            level: Level of the nodes.
        """
        from .kernels import compile_expansion

        single, wide = self._schedules
        children = np.empty((2 * len(nodes), *nodes.shape[1:]), np.uint64)
        compile_expansion(self.lanes)(
            _make_contiguous(nodes),
            children,
            _make_contiguous(seed_words),
            _make_contiguous(turns),
            wide,
            single,
            level,
        )
        return children

    def value_blocks(self, seeds: Words) -> Words:
        """SECRET: return ``AES(seed) xor seed`` under the value key, ``(keys, 2)``, by the portable engine.

        Args:
            seeds: SECRET. Seeds of shape ``(keys, 2)``.
        """
        return self._portable.value_blocks(seeds)

    def hash_messages(self, messages: Words) -> Words:
        """Return the SHA-256 digest of each row of words, (count, 4), by the processor's instructions if it has them.

        Without SHA instructions, the portable engine does the work.

        Args:
            messages: Messages of shape ``(count, words)``.
        """
        if not {"sha", "sse4.1"} <= supported_instructions():
            return self._portable.hash_messages(messages)
        from .kernels import compile_digests

        result = np.empty((len(messages), 4), np.uint64)
        compile_digests()(np.ascontiguousarray(messages), result)
        return result

    @property
    def has_node_evaluation(self) -> bool:
        """True if `evaluate_node` is available: it needs SHA-256 instructions."""
        return {"sha", "sse4.1"} <= supported_instructions()

    def evaluate_node(
        self, node: tuple[int, int], seeds: Words, root_weight: int, public: CheckedShare, mark_key: tuple[bytes, Words]
    ) -> tuple[int, Words]:
        """Evaluate a tree node of all keys at once: sum the left children's weights, and compute each key's mark (its
        check).

        Args:
            node: Level and number of the node.
            seeds: Seeds at the node, ``(keys, 2)``.
            root_weight: Weight of the root.
            public: Correction words.
            mark_key: Key of marks, and masks of the five blocks of a mark.

        Returns:
            Sum of the left children's weights, without the server's sign; and marks ``(keys, 2)``.
        """
        from .kernels import compile_node_evaluation

        (level, index), (single, wide), (key, masks) = node, self._schedules, mark_key
        node_values = _make_contiguous(public.values[level - 1]) if level else np.zeros((0, 1), np.uint64)
        words = tuple(
            map(_make_contiguous, (public.seeds[level], public.values[level], public.proofs[level], public.turns))
        )
        head = np.array([*np.frombuffer(self.keys.prefix, "<u8"), level, 2 * index], np.uint64)
        marks = np.empty((len(seeds), 2), np.uint64)
        secret = np.frombuffer(key, "<u8").astype(np.uint64)
        total = compile_node_evaluation(self.lanes)(
            _make_contiguous(seeds),
            node_values,
            np.uint64(root_weight),
            words,
            head,
            level,
            wide,
            single,
            secret,
            masks,
            marks,
        )
        return int(total), marks

    def leaf_sums(self, nodes: Words, public: PublicShare) -> Words:
        """SECRET: return the sums over all keys of the leaves' corrected blocks, ``(nodes, 2)``; blocks are added in
        registers, not stored.

        Args:
            nodes: SECRET. Seeds of the leaves, of shape ``(nodes, keys, 2)``.
            public: Correction words of the keys.
        """
        from .kernels import compile_leaf_sums

        ring, (single, wide) = public.domain.ring, self._schedules
        lanes = np.zeros((len(nodes), 2 * self.lanes), np.uint64)
        compile_leaf_sums(self.lanes, ring.words)(
            _make_contiguous(nodes), _make_contiguous(public.point), lanes, wide[0], single[0]
        )
        numbers = lanes.reshape(len(nodes), self.lanes, 2 // ring.words, ring.words)
        return ring.sums(numbers.swapaxes(1, 2)).reshape(len(nodes), 2)


def _is_contiguous(words: Words) -> bool:
    """Return True if the words of keys are contiguous along the last one or two axes, as compiled loops assume."""
    inner = words if words.ndim < 3 else words[:1]
    return inner.size == 0 or inner.flags.c_contiguous


def _make_contiguous(words: Words) -> Words:
    """Return the words unchanged if their memory is contiguous, otherwise a contiguous copy."""
    return words if _is_contiguous(words) else np.ascontiguousarray(words)


@cache
def supported_instructions() -> frozenset[str]:
    """Return the instruction sets that this processor has and numba may use; empty without numba."""
    try:
        import numba
    except ImportError:
        return frozenset()
    from llvmlite.binding import get_host_cpu_features
    from numba.core.registry import cpu_target

    config: Any = numba.config
    if config.DISABLE_JIT:
        return frozenset()
    _, _, allowed = cpu_target.target_context.codegen().magic_tuple()
    enabled = {name[1:] for name in allowed.split(",") if name.startswith("+")}
    return frozenset(name for name, has in get_host_cpu_features().items() if has and name in enabled)


def supported_lanes() -> int:
    """Return the blocks per AES instruction of this processor; 0 without AES instructions or numba."""
    if not {"aes", "sse2"} <= supported_instructions():
        return 0
    return 2 if {"vaes", "avx2"} <= supported_instructions() else 1


def select_engine(task: bytes) -> Engine:
    """Return the fastest engine of this machine that expands keys of a task. All engines of a task return equal
    bits.
    """
    return FastEngine.from_task(task) if supported_lanes() else PortableEngine.from_task(task)
