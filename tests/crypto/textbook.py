"""Comparison functions one key at a time, with Python's integers: written from the papers, not from the product.

A seed is an integer below 2**128 whose top bit is the control bit; a number is an integer below 2**64 or 2**128.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

LEFT, RIGHT, VALUE, OTHER, PREFIX = range(5)


def task_keys(task: bytes) -> list[bytes]:
    """HKDF-SHA256 of RFC 5869, by hand: 80 bytes, in five parts."""
    secret = hmac.digest(bytes(32), task, "sha256")
    stream, block = b"", b""
    for counter in (1, 2, 3):
        block = hmac.digest(
            secret, block + b"dpcurves: fixed keys of expansion, version 1" + bytes([counter]), "sha256"
        )
        stream += block
    return [stream[16 * number : 16 * number + 16] for number in range(5)]


def expand(key: bytes, seed: int) -> int:
    cipher = Cipher(algorithms.AES128(key), modes.ECB()).encryptor()
    block = seed.to_bytes(16, "little")
    return int.from_bytes(cipher.update(block), "little") ^ seed


def control(seed: int) -> int:
    return seed >> 127


@dataclass
class Key:
    """What is public of one key: per level seed, value and the control corrections of left and right; and the leaf."""

    seeds: list[int]
    values: list[int]
    turns: list[tuple[int, int]]
    leaf: list[int]
    point: list[int]


@dataclass
class Textbook:
    keys: list[bytes]
    bits: int
    size: int  # of a number, in bits

    @property
    def leaf_bits(self) -> int:
        return 1 if self.size == 64 else 0

    def pair(self, seed: int) -> tuple[int, int]:
        """v_L and v_R."""
        if self.size == 128:
            return expand(self.keys[VALUE], seed), expand(self.keys[OTHER], seed)
        block = expand(self.keys[VALUE], seed)
        return block % 2**64, block >> 64

    def leaf(self, key: int, seed: int) -> list[int]:
        block = expand(self.keys[key], seed)
        return [block] if self.size == 128 else [block % 2**64, block >> 64]

    def generate(self, alpha: int, first: int, second: int) -> Key:
        """Figure 1 of Boyle et al. 2021 for what is 1 from alpha on: gained at right turns, and at alpha."""
        s, made, total = [first, second], Key([], [], [], [], []), 0
        for level in range(self.bits - self.leaf_bits):
            bit = alpha >> (self.bits - 1 - level) & 1
            t = [control(s[0]), control(s[1])]
            children = [[expand(self.keys[side], s[b]) for side in (LEFT, RIGHT)] for b in (0, 1)]
            v = [self.pair(s[b]) for b in (0, 1)]
            keep, lose = (RIGHT, LEFT) if bit else (LEFT, RIGHT)
            seed = (children[0][lose] ^ children[1][lose]) % 2**127
            turn = [control(children[0][LEFT]) ^ control(children[1][LEFT]) ^ bit ^ 1]
            turn.append(control(children[0][RIGHT]) ^ control(children[1][RIGHT]) ^ bit)
            value = v[1][lose] - v[0][lose] - total + (lose == RIGHT)
            value *= -1 if t[1] else 1
            total += v[0][keep] - v[1][keep] + (-value if t[1] else value)
            for b in (0, 1):
                s[b] = children[b][keep] ^ (t[b] * (seed | turn[keep] << 127))
            made.seeds.append(seed)
            made.values.append(value % (1 << self.size))
            made.turns.append((turn[0], turn[1]))
        sign = -1 if control(s[1]) else 1
        for place in range(2**self.leaf_bits):
            below = alpha % 2**self.leaf_bits
            ends = [self.leaf(VALUE, s[b])[place] for b in (0, 1)]
            made.leaf.append(sign * (ends[1] - ends[0] - total + (place >= below)) % (1 << self.size))
            ends = [self.leaf(LEFT, s[b])[place] for b in (0, 1)]
            made.point.append(sign * (ends[1] - ends[0] + (place == below)) % (1 << self.size))
        return made

    def evaluate(self, party: int, seed: int, key: Key, x: int) -> int:
        total = 0
        for level in range(self.bits - self.leaf_bits):
            side, t = x >> (self.bits - 1 - level) & 1, control(seed)
            total += self.pair(seed)[side] + t * key.values[level]
            seed = expand(self.keys[side], seed) ^ t * (key.seeds[level] | key.turns[level][side] << 127)
        place = x % 2**self.leaf_bits
        total += self.leaf(VALUE, seed)[place] + control(seed) * key.leaf[place]
        return int((-total if party else total) % (1 << self.size))

    def record(self, key: Key, seed: int) -> bytes:
        """Write a key and one server's seed as the product does."""
        seeds = [word | turn[0] << 127 for word, turn in zip(key.seeds, key.turns, strict=True)]
        turns = sum((left ^ right) << level for level, (left, right) in enumerate(key.turns))
        point = key.point if self.bits <= 20 else []
        numbers = [key.values, [], key.leaf + point]
        raw = b"".join(word.to_bytes(16, "little") for word in seeds)
        raw += b"".join(number.to_bytes(self.size // 8, "little") for number in numbers[0])
        raw += turns.to_bytes(8, "little")
        raw += b"".join(number.to_bytes(self.size // 8, "little") for number in numbers[2])
        return raw + seed.to_bytes(16, "little")


@dataclass
class TextbookChecked(Textbook):
    """A verifiable incremental point function, level by level down to single cells; all weights are 1."""

    def node_hash(self, level: int, node: int, seed: int) -> int:
        words = level.to_bytes(8, "little") + node.to_bytes(8, "little") + seed.to_bytes(16, "little")
        return int.from_bytes(hashlib.sha256(self.keys[PREFIX] + words).digest(), "little")

    def weight(self, seed: int) -> int:
        return expand(self.keys[VALUE], seed) % (1 << self.size)

    def checked_record(self, alpha: int, first: int, second: int) -> bytes:
        """Correction words as the product writes them."""
        s, words, values, proofs, turns = [first, second], b"", b"", b"", 0
        for level in range(self.bits):
            bit, node = alpha >> (self.bits - 1 - level) & 1, alpha >> (self.bits - 1 - level)
            t = [control(seed) for seed in s]
            children = [[expand(self.keys[side], seed) for side in (LEFT, RIGHT)] for seed in s]
            lost = (children[0][1 - bit] ^ children[1][1 - bit]) % 2**127
            left = control(children[0][LEFT]) ^ control(children[1][LEFT]) ^ 1 ^ bit
            right = control(children[0][RIGHT]) ^ control(children[1][RIGHT]) ^ bit
            s = [children[b][bit] ^ t[b] * (lost | (right if bit else left) << 127) for b in (0, 1)]
            value = (1 - self.weight(s[0]) + self.weight(s[1])) * (-1 if control(s[1]) else 1)
            words += (lost | left << 127).to_bytes(16, "little")
            values += (value % (1 << self.size)).to_bytes(self.size // 8, "little")
            proofs += (self.node_hash(level, node, s[0]) ^ self.node_hash(level, node, s[1])).to_bytes(32, "little")
            turns |= (left ^ right) << level
        return words + values + proofs + turns.to_bytes(8, "little")
