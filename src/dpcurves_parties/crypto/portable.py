"""The portable engine: NumPy, and AES by OpenSSL."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from threading import local

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

from .comparison_keys import PublicShare
from .engine import State, TaskKeys
from .masks import TOP, chosen, control, seed_correction, turns_right, twice
from .ring import Ring, Words

Pair = tuple[Words, Words]  # SECRET: seeds of the two servers


@dataclass(frozen=True, slots=True)
class PortableEngine:
    """Expands seeds by OpenSSL's AES, a chunk at a time.

    Formal guarantees: neither branches nor places in memory depend on cells or seeds; AES takes the same time for all
    inputs where the processor has instructions for it.
    """

    keys: TaskKeys
    chunk: int = 24576
    _local: local = field(default_factory=local, repr=False, compare=False)

    @classmethod
    def of_task(cls, task: bytes) -> PortableEngine:
        """An engine with the keys of the task so named."""
        return cls(TaskKeys.of_task(task))

    def generate(self, public: PublicShare, cells: Words, first: Words, second: Words) -> None:
        writer, domain = _Writer(self._ciphers(), public), public.domain
        pair, owed = (first, second), np.zeros((len(cells), domain.ring.words), dtype=np.uint64)
        for level in range(domain.levels):
            right = turns_right(cells, domain.bits, level)
            sign = control(pair[1])
            owed = writer.values(level, right, sign, pair, owed)
            pair = writer.seeds(level, right, sign, pair)
        writer.leaves(cells, pair, owed)

    def close(self, public: PublicShare, cells: Words, pair: Pair, owed: Words) -> None:
        """Write the corrections of leaves, when those of all levels are written."""
        _Writer(self._ciphers(), public).leaves(cells, pair, owed)

    def descend(self, state: State, public: PublicShare, start: int, stop: int, path: int) -> None:
        step = _Step.of(self._ciphers(), public.domain.ring, len(state.seeds))
        room = np.empty((len(state.seeds) + 1, 2), np.uint64)
        for level in range(start, stop):
            room = step.down(state, public, level, path >> (stop - 1 - level) & 1, room)

    def leaves(self, state: State, public: PublicShare) -> Words:
        block, corrections = self._ciphers().value.expanded(state.seeds), twice(control(state.seeds))
        corrections &= public.leaf
        shape = len(block), 2 // public.domain.ring.words, public.domain.ring.words
        return public.domain.ring.add(block.reshape(shape), corrections.reshape(shape)).reshape(len(block), 2)

    def _ciphers(self) -> _Ciphers:
        """Ciphers of this thread: contexts of OpenSSL are not shared, and take longer to make than a level."""
        if not hasattr(self._local, "ciphers"):
            self._local.ciphers = _Ciphers(self.keys)
        ciphers: _Ciphers = self._local.ciphers
        return ciphers

    def children(self, nodes: Words, seed_words: Words, turns: Words, level: int) -> Words:
        ciphers, (count, keys, _), flat = self._ciphers(), nodes.shape, nodes.reshape(-1, 2)
        mask = control(flat)
        corrected = twice(mask).reshape(nodes.shape)
        corrected &= seed_words
        corrected ^= nodes
        result, room = np.empty((count, 2, keys, 2), np.uint64), np.empty((len(flat) + 1, 2), np.uint64)
        for turn, cipher in enumerate((ciphers.left, ciphers.right)):
            blocks = cipher.encrypt(flat, room).reshape(nodes.shape)
            np.bitwise_xor(blocks, corrected, out=result[:, turn])
        result[:, 1, :, 1] ^= mask.reshape(count, keys) & ((turns << np.uint64(63 - level)) & TOP)
        return result.reshape(2 * count, keys, 2)

    def blocks(self, seeds: Words) -> Words:
        return self._ciphers().value.expanded(seeds)

    def digests(self, messages: Words) -> Words:
        raw, size = messages.astype("<u8", copy=False).tobytes(), 8 * messages.shape[1]
        digested = b"".join([sha256(raw[start : start + size]).digest() for start in range(0, len(raw), size)])
        return np.frombuffer(digested, dtype="<u8").astype(np.uint64, copy=False).reshape(len(messages), 4)

    def leaf_sums(self, nodes: Words, public: PublicShare) -> Words:
        ring, flat = public.domain.ring, nodes.reshape(-1, 2)
        blocks = self._ciphers().left.expanded(flat).reshape(nodes.shape)
        corrections = twice(control(flat)).reshape(nodes.shape) & public.point
        places = [slice(start, start + ring.words) for start in range(0, 2, ring.words)]
        numbers = [ring.add(blocks[..., place], corrections[..., place]) for place in places]
        return np.concatenate([ring.sums(part) for part in numbers], axis=-1)


class _Cipher:
    """Fixed-key AES permutation."""

    __slots__ = ("_context",)

    def __init__(self, key: bytes) -> None:
        self._context: CipherContext = Cipher(algorithms.AES128(key), modes.ECB()).encryptor()

    def encrypt(self, blocks: Words, out: Words) -> Words:
        """The permutation of contiguous blocks ``(count, 2)``, into a buffer of a block more."""
        self._context.update_into(_octets(blocks), _octets(out))
        return out[: len(blocks)]

    def expanded(self, blocks: Words) -> Words:
        """``AES(blocks) xor blocks``, newly laid out."""
        result = self.encrypt(np.ascontiguousarray(blocks), np.empty((len(blocks) + 1, 2), np.uint64))
        result ^= blocks
        return result


class _Ciphers:
    """The four permutations of a task."""

    __slots__ = ("left", "other_value", "right", "value")

    def __init__(self, keys: TaskKeys) -> None:
        self.left, self.right = _Cipher(keys.left), _Cipher(keys.right)
        self.value, self.other_value = _Cipher(keys.value), _Cipher(keys.other_value)

    def values(self, seeds: Words, ring: Ring) -> tuple[Words, Words]:
        """Values added on the way left, and on the way right: numbers ``(keys, words)``."""
        block = self.value.expanded(seeds)
        if ring.words == 1:
            return block[:, :1], block[:, 1:]
        return block, self.other_value.expanded(seeds)


@dataclass(frozen=True, slots=True)
class _Step:
    """Expansion of nodes to the next level of the tree, for all keys of a chunk, in a reused buffer."""

    ciphers: _Ciphers
    ring: Ring
    block: Words

    @classmethod
    def of(cls, ciphers: _Ciphers, ring: Ring, count: int) -> _Step:
        return cls(ciphers, ring, np.empty((count + 1, 2), np.uint64))

    def down(self, state: State, public: PublicShare, level: int, turn: int, room: Words) -> Words:
        """Changes the state, whose new seeds lie in the room; the room that the old ones leave."""
        seeds, mask = state.seeds, control(state.seeds)
        self._add(state.values, seeds, public.values[level] & mask[:, None], turn)
        below = (self.ciphers.right if turn else self.ciphers.left).encrypt(seeds, room)
        below ^= seeds
        change = twice(mask, self.block[: len(seeds)])
        change &= public.seeds[level]
        below ^= change
        if turn:
            mask &= TOP
            mask &= public.turns << np.uint64(63 - level)
            below[:, 1] ^= mask
        state.seeds = below
        return seeds.base if seeds.base is not None and seeds.base.shape == room.shape else np.empty_like(room)

    def _add(self, values: Words, seeds: Words, corrections: Words, turn: int) -> None:
        """Adds what belongs to this turn, and the corrections."""
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
class _Writer:
    """SECRET: writes correction words, level by level, from the seeds of both servers on the paths to the cells.

    Masks `right` are all ones where a path turns right; masks `sign`, where the control bit of server 1 is set, and so
    that of server 0 is not.
    """

    ciphers: _Ciphers
    public: PublicShare

    def seeds(self, level: int, right: Words, sign: Words, pair: Pair) -> Pair:
        """Corrects seeds and control bits; the seeds one level deeper."""
        left_side, right_side = (cipher.expanded(pair[0]) for cipher in (self.ciphers.left, self.ciphers.right))
        left_difference, right_difference = (
            cipher.expanded(pair[1]) for cipher in (self.ciphers.left, self.ciphers.right)
        )
        left_difference ^= left_side
        right_difference ^= right_side
        correction, turn = seed_correction(right, left_difference, right_difference)
        self.public.seeds[level] = correction
        self.public.turns[:] |= turn >> np.uint64(63 - level)
        correction[:, 1] ^= turn & right
        wide = twice(right)
        first = chosen(wide, left_side, right_side)
        first ^= correction & ~twice(sign)
        second = chosen(wide, left_difference, right_difference)
        second ^= first
        second ^= correction  # one of the servers has it, and so their seeds differ by it
        return first, second

    def values(self, level: int, right: Words, sign: Words, pair: Pair, owed: Words) -> Words:
        """Corrects values; `owed` one level deeper: what the values on the path to the cell add up to."""
        ring = self.public.domain.ring
        left, other = (
            ring.subtract(*sides) for sides in zip(*(self.ciphers.values(seeds, ring) for seeds in pair), strict=True)
        )
        kept = chosen(right[:, None], left, other)
        # Who turns right where the cell lies left is above it: the path that is lost ends at 1.
        wanted = ring.subtract(ring.units(~right), owed)
        gained = ring.add(ring.subtract(kept, ring.add(left, other)), wanted)
        self.public.values[level] = ring.negated_where(sign, gained)
        return ring.add(ring.add(owed, kept), gained)

    def leaves(self, cells: Words, pair: Pair, owed: Words) -> None:
        """Corrects what leaves say of the cells in them."""
        ring, public = self.public.domain.ring, self.public
        places = np.arange(1 << public.domain.leaf_bits, dtype=np.uint64)
        below = cells & np.uint64((1 << public.domain.leaf_bits) - 1)
        above = ring.units(-(below[:, None] <= places).astype(np.uint64))
        public.leaf[:] = self._leaf(self.ciphers.value, ring.subtract(above, owed[:, None]), pair)
        if public.domain.is_enumerable:
            equal = ring.units(-(below[:, None] == places).astype(np.uint64))
            public.point[:] = self._leaf(self.ciphers.left, equal, pair)

    def _leaf(self, cipher: _Cipher, wanted: Words, pair: Pair) -> Words:
        """The block that makes numbers ``(keys, places, words)`` of the leaves' blocks."""
        ring, sign = self.public.domain.ring, control(pair[1])
        first, second = (cipher.expanded(seeds).reshape(wanted.shape) for seeds in pair)
        signs = np.repeat(sign[:, None], wanted.shape[1], axis=1)
        return ring.negated_where(signs, ring.add(ring.subtract(second, first), wanted)).reshape(len(sign), 2)


def _octets(blocks: Words) -> memoryview:
    return blocks.reshape(-1).view(np.uint8).data
