"""Prio3Histogram of the VDAF draft: shares of an indicator, and a proof that it is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vdaf_bases import FIELD_128, Stream, tag, xof_turboshake

ID = 4
MEASUREMENT, PROOF, JOINT, PROVING, QUERY, JOINT_SEED, JOINT_PART = 1, 2, 3, 4, 5, 6, 7
P = FIELD_128.modulus


def at(values: Sequence[int], point: int) -> int:
    """Value at a point of the polynomial that has these values at the roots of unity."""
    count = len(values)
    terms = (
        value * node * pow(point - node, -1, P)
        for value, node in zip(values, FIELD_128.roots(count), strict=True)
        if value
    )
    return (pow(point, count, P) - 1) * pow(count, -1, P) * sum(terms) % P


def refined(values: Sequence[int]) -> list[int]:
    """Values of the same polynomial at twice as many roots of unity."""
    odd = FIELD_128.roots(2 * len(values))[1::2]
    return [each for pair in zip(values, (at(values, node) for node in odd), strict=True) for each in pair]


@dataclass(frozen=True)
class Histogram:
    """Scheme of a report: cells, checked in chunks of a length, each a sum of products of wires.

    Attributes:
        calls: Number of chunks.
        points: Values of a wire: its random start, and one for each chunk, filled up to a power of 2.
    """

    shares: int
    length: int
    chunk: int
    ctx: bytes
    nonce: bytes

    @property
    def calls(self) -> int:
        return -(-self.length // self.chunk)

    @property
    def points(self) -> int:
        return 1 << self.calls.bit_length()

    @property
    def proof_length(self) -> int:
        return 2 * self.chunk + 2 * self.points - 1

    def stream(self, seed: bytes, usage: int, binder: bytes) -> Stream:
        return xof_turboshake(seed, tag(0, ID, usage, self.ctx), binder)

    def helper(self, party: int, seed: bytes) -> tuple[list[int], list[int]]:
        """A helper's shares of cells and proof."""
        cells = self.stream(seed, MEASUREMENT, bytes([party])).elements(FIELD_128, self.length)
        return cells, self.stream(seed, PROOF, bytes([1, party])).elements(FIELD_128, self.proof_length)

    def joint_part(self, party: int, blind: bytes, cells: Sequence[int]) -> bytes:
        return self.stream(blind, JOINT_PART, bytes([party]) + self.nonce + FIELD_128.packed(cells)).take(32)

    def joint_seed(self, parts: Sequence[bytes]) -> bytes:
        return self.stream(bytes(32), JOINT_SEED, b"".join(parts)).take(32)

    def joint(self, seed: bytes) -> list[int]:
        return self.stream(seed, JOINT, b"\1").elements(FIELD_128, self.calls)

    def inputs(self, cells: Sequence[int], joint: Sequence[int], shares: int) -> list[list[int]]:
        """Inputs of all calls: ``r**j * x`` and ``x - 1``, of which products are 0 where x is 0 or 1."""
        part, padded = pow(shares, -1, P), [*cells, *[0] * (self.calls * self.chunk - self.length)]
        calls = []
        for call, r in enumerate(joint):
            values = padded[call * self.chunk : (call + 1) * self.chunk]
            pairs = ((pow(r, place + 1, P) * value % P, (value - part) % P) for place, value in enumerate(values))
            calls.append([each for pair in pairs for each in pair])
        return calls

    def wires(self, starts: Sequence[int], calls: Sequence[Sequence[int]]) -> list[list[int]]:
        rest = [0] * (self.points - 1 - self.calls)
        return [[start, *(call[place] for call in calls), *rest] for place, start in enumerate(starts)]

    def proof(self, cells: Sequence[int], starts: Sequence[int], joint: Sequence[int]) -> list[int]:
        """Starts of wires, then the polynomial of the sum of products at all roots but the last."""
        wires = [refined(wire) for wire in self.wires(starts, self.inputs(cells, joint, 1))]
        columns = zip(*wires, strict=True)
        sums = [sum(a * b for a, b in zip(column[::2], column[1::2], strict=True)) % P for column in columns]
        return [*starts, *sums[:-1]]

    def shard(self, cell: int, rand: bytes) -> tuple[bytes, list[bytes]]:
        """The public share, and all input shares."""
        seeds = [rand[start : start + 32] for start in range(0, len(rand), 32)]
        blind, proving, pairs = seeds[-2], seeds[-1], list(zip(seeds[:-2:2], seeds[1:-2:2], strict=True))
        cells = [int(place == cell) for place in range(self.length)]
        helpers = [self.helper(party, seed) for party, (seed, _) in enumerate(pairs, 1)]
        leader = FIELD_128.subtracted(cells, FIELD_128.added(*(share for share, _ in helpers)))
        parts = [self.joint_part(0, blind, leader)] + [
            self.joint_part(party, each, share)
            for party, ((_, each), (share, _)) in enumerate(zip(pairs, helpers, strict=True), 1)
        ]
        starts = self.stream(proving, PROVING, b"\1").elements(FIELD_128, 2 * self.chunk)
        proof = self.proof(cells, starts, self.joint(self.joint_seed(parts)))
        proof = FIELD_128.subtracted(proof, FIELD_128.added(*(share for _, share in helpers)))
        first = FIELD_128.packed(leader) + FIELD_128.packed(proof) + blind
        return b"".join(parts), [first, *(seed + each for seed, each in pairs)]

    def check(self, party: int, public: bytes, share: bytes, verify_key: bytes) -> tuple[list[int], bytes, bytes]:
        """A server's share of cells, its message, and the seed that the others' parts must lead to."""
        blind = share[-32:]
        if party:
            cells, proof = self.helper(party, share[:32])
        else:
            numbers = FIELD_128.elements(share[:-32])
            cells, proof = numbers[: self.length], numbers[self.length :]
        parts = [public[start : start + 32] for start in range(0, len(public), 32)]
        parts[party] = self.joint_part(party, blind, cells)
        seed = self.joint_seed(parts)
        calls = self.inputs(cells, self.joint(seed), self.shares)
        starts, sums = proof[: 2 * self.chunk], proof[2 * self.chunk :]
        # The polynomial's degree is below the last root's number: so its values times the roots add up to 0.
        nodes = FIELD_128.roots(2 * self.points)
        last = -sum(value * node for value, node in zip(sums, nodes, strict=False)) * pow(nodes[-1], -1, P) % P
        sums = [*sums, last]
        query = self.stream(verify_key, QUERY, b"\1" + self.nonce).elements(FIELD_128, 3)
        outputs = sum(sums[2 * call] for call in range(1, self.calls + 1)), sum(cells) - pow(self.shares, -1, P)
        message = [
            query[0] * outputs[0] + query[1] * outputs[1],
            *(at(wire, query[2]) for wire in self.wires(starts, calls)),
            at(sums, query[2]),
        ]
        return cells, FIELD_128.packed(message) + parts[party], seed

    def decided(self, messages: Sequence[bytes]) -> bytes:
        """The seed that all servers must have had.

        Raises:
            ValueError: the report's proof fails.
        """
        zero, *rest = FIELD_128.added(*(FIELD_128.elements(message[:-32]) for message in messages))
        wires, sums = rest[:-1], rest[-1]
        if zero or (sum(a * b for a, b in zip(wires[::2], wires[1::2], strict=True)) - sums) % P:
            raise ValueError("the proof of a report fails")
        return self.joint_seed([message[-32:] for message in messages])
