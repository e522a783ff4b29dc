"""Extendable output functions and fields of the VDAF draft, plainly in Python's integers: for tests, and slow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

LANE = 2**64 - 1
RATE = 168  # bytes of a state of 1600 bits, beside a capacity of 256


def _constants() -> list[int]:
    """Round constants of Keccak (FIPS 202, section 3.2.5): bits of a linear register at places 2**j - 1."""
    register, constants = 1, []
    for _ in range(24):
        constant = 0
        for place in range(7):
            constant ^= (register & 1) << (2**place - 1)
            register = register << 1 ^ (register >> 7) * 0x171
        constants.append(constant)
    return constants


def _moves() -> list[tuple[int, int, int]]:
    """Steps rho and pi: lane of the result, lane that comes there, and by how much it is turned."""
    moves, x, y = [(0, 0, 0)], 1, 0
    for step in range(24):
        moves.append((y + 5 * ((2 * x + 3 * y) % 5), x + 5 * y, (step + 1) * (step + 2) // 2 % 64))
        x, y = y, (2 * x + 3 * y) % 5
    return moves


_CONSTANTS, _MOVES = _constants(), _moves()


def _turned(lane: int, by: int) -> int:
    return (lane << by | lane >> (64 - by)) & LANE


def keccak(lanes: list[int], rounds: int) -> list[int]:
    """Keccak-p[1600, rounds] of 25 lanes; lane (x, y) stands at ``x + 5 * y``."""
    for constant in _CONSTANTS[24 - rounds :]:
        parity = [lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20] for x in range(5)]
        change = [parity[x - 1] ^ _turned(parity[(x + 1) % 5], 1) for x in range(5)]
        moved = [0] * 25
        for to, start, by in _MOVES:
            moved[to] = _turned(lanes[start] ^ change[start % 5], by)
        lanes = [
            moved[place] ^ (~moved[row + (place + 1) % 5] & moved[row + (place + 2) % 5])
            for row in range(0, 25, 5)
            for place in range(row, row + 5)
        ]
        lanes[0] ^= constant
    return lanes


def sponge(message: bytes, suffix: int, rounds: int) -> Iterator[bytes]:
    """Blocks of output: TurboSHAKE128 (RFC 9861) with 12 rounds, and SHAKE128 with 24 rounds and suffix 0x1F."""
    padded = bytearray(message + bytes([suffix]))
    padded += bytes(-len(padded) % RATE)
    padded[-1] ^= 0x80
    lanes = [0] * 25
    for start in range(0, len(padded), RATE):
        block = padded[start : start + RATE] + bytes(200 - RATE)
        lanes = [lane ^ int.from_bytes(block[8 * i : 8 * i + 8], "little") for i, lane in enumerate(lanes)]
        lanes = keccak(lanes, rounds)
    while True:
        yield b"".join(lane.to_bytes(8, "little") for lane in lanes)[:RATE]
        lanes = keccak(lanes, rounds)


@dataclass
class Stream:
    """Bytes and field elements off blocks of output."""

    blocks: Iterator[bytes]
    held: bytes = b""

    def take(self, count: int) -> bytes:
        while len(self.held) < count:
            self.held += next(self.blocks)
        taken, self.held = self.held[:count], self.held[count:]
        return taken

    def elements(self, field: Field, count: int) -> list[int]:
        """Elements by rejection: candidates have the modulus's number of bits."""
        found: list[int] = []
        while len(found) < count:
            number = int.from_bytes(self.take(field.size), "little") % (1 << field.modulus.bit_length())
            found += [number] if number < field.modulus else []
        return found


def xof_turboshake(seed: bytes, dst: bytes, binder: bytes) -> Stream:
    """XofTurboShake128."""
    head = len(dst).to_bytes(2, "little") + dst + bytes([len(seed)]) + seed
    return Stream(sponge(head + binder, 1, 12))


@cache
def _fixed_key(dst: bytes, binder: bytes) -> bytes:
    return Stream(sponge(len(dst).to_bytes(2, "little") + dst + binder, 2, 12)).take(16)


def xof_fixed_key(seed: bytes, dst: bytes, binder: bytes) -> Stream:
    """XofFixedKeyAes128: AES under a key of tag and binder, in the form of Guo and others for circular security."""
    cipher = Cipher(algorithms.AES128(_fixed_key(dst, binder)), modes.ECB()).encryptor()

    def blocks() -> Iterator[bytes]:
        counter = 0
        while True:
            block = xor(seed, counter.to_bytes(16, "little"))
            block = block[8:] + xor(block[:8], block[8:])
            yield xor(cipher.update(block), block)
            counter += 1

    return Stream(blocks())


def xor(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=True))


@dataclass(frozen=True)
class Field:
    """Integers modulo a number: a prime, or a power of 2 where the product has its ring.

    Attributes:
        size: Bytes of an element, little-endian.
        root: Generator of the roots of unity of order ``2**order``; 0 where none are used.
    """

    modulus: int
    size: int
    root: int = 0
    order: int = 0

    def packed(self, elements: Iterable[int]) -> bytes:
        return b"".join((element % self.modulus).to_bytes(self.size, "little") for element in elements)

    def elements(self, raw: bytes) -> list[int]:
        """Elements of bytes.

        Raises:
            ValueError: an element is not below the modulus, or bytes are left over.
        """
        if len(raw) % self.size:
            raise ValueError("bytes are left over")
        found = [int.from_bytes(raw[start : start + self.size], "little") for start in range(0, len(raw), self.size)]
        if any(element >= self.modulus for element in found):
            raise ValueError("an element is not below the modulus")
        return found

    def roots(self, count: int) -> list[int]:
        """Powers of a root of unity of that order."""
        root = pow(self.root, (1 << self.order) // count, self.modulus)
        return [pow(root, power, self.modulus) for power in range(count)]

    def added(self, *vectors: Sequence[int]) -> list[int]:
        return [sum(column) % self.modulus for column in zip(*vectors, strict=True)]

    def subtracted(self, first: Sequence[int], second: Sequence[int]) -> list[int]:
        return [(a - b) % self.modulus for a, b in zip(first, second, strict=True)]

    def negated(self, vector: Sequence[int]) -> list[int]:
        return [-element % self.modulus for element in vector]


def _with_roots(cofactor: int, order: int, size: int) -> Field:
    modulus = (cofactor << order) + 1
    return Field(modulus, size, pow(7, cofactor, modulus), order)


FIELD_64 = _with_roots(2**32 - 1, 32, 8)
FIELD_128 = _with_roots(4611686018427387897, 66, 16)
FIELD_255 = Field(2**255 - 19, 32)
RING_64 = Field(2**64, 8)
RING_128 = Field(2**128, 16)


def tag(algorithm_class: int, algorithm: int, usage: int, ctx: bytes, version: int = 18) -> bytes:
    """Domain separation tag of the VDAF draft."""
    numbers = bytes([version, algorithm_class]) + algorithm.to_bytes(4, "big") + usage.to_bytes(2, "big")
    return numbers + ctx
