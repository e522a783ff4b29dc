"""Poplar1 of the VDAF draft on the one tree: sharding, and the two rounds of the sketch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vdaf_bases import FIELD_64, FIELD_255, Field, tag, xof_turboshake
from vdaf_tree import Path, Rules, evaluate, generate, idpf_rules, packed_corrections, unpacked_corrections

ID = 6
SHARDING, INNER, LEAF, SKETCH = 1, 2, 3, 4


@dataclass(frozen=True)
class Poplar1:
    """Scheme of a report."""

    bits: int
    ctx: bytes
    nonce: bytes

    @property
    def rules(self) -> Rules:
        return idpf_rules(self.bits, 2, self.ctx, self.nonce)

    def field(self, level: int) -> Field:
        return FIELD_64 if level < self.bits - 1 else FIELD_255

    def offsets(self, party: int, seed: bytes) -> list[list[int]]:
        """Shares of a, b and c of all levels."""
        binder, levels = bytes([party]) + self.nonce, self.bits - 1
        inner = xof_turboshake(seed, tag(0, ID, INNER, self.ctx), binder)
        leaf = xof_turboshake(seed, tag(0, ID, LEAF, self.ctx), binder)
        return [inner.elements(FIELD_64, 3) for _ in range(levels)] + [leaf.elements(FIELD_255, 3)]

    def shard(self, path: Path, rand: bytes) -> tuple[bytes, list[bytes]]:
        """The public share, and both input shares."""
        keys, seeds = (rand[:16], rand[16:32]), (rand[32:64], rand[64:96])
        stream = xof_turboshake(rand[96:128], tag(0, ID, SHARDING, self.ctx), self.nonce)
        checks = [stream.elements(self.field(level), 1)[0] for level in range(self.bits)]
        corrections = generate(self.rules, path, [[1, check] for check in checks], keys)
        shares = [keys[party] + seeds[party] for party in (0, 1)]
        both = [self.offsets(party, seed) for party, seed in enumerate(seeds)]
        for level, k in enumerate(checks):
            field = self.field(level)
            a, b, c = field.added(both[0][level], both[1][level])
            second = stream.elements(field, 2)
            first = field.subtracted([k - 2 * a, a * a + b - a * k + c], second)
            shares = [share + field.packed(part) for share, part in zip(shares, (first, second), strict=True)]
        return packed_corrections(self.rules, corrections), shares

    def sketch(
        self, party: int, public: bytes, share: bytes, prefixes: Sequence[Path], verify_key: bytes
    ) -> tuple[list[int], list[int], list[int]]:
        """Shares at the prefixes, the share of the first round, and what the second round needs.

        Raises:
            ValueError: a share is no share.
        """
        level = len(prefixes[0]) - 1
        field, start = self.field(level), 48 + 16 * level
        key, seed = share[:16], share[16:48]
        if len(share) != 48 + 16 * (self.bits - 1) + 64:
            raise ValueError("an input share has another length")
        corrections = unpacked_corrections(self.rules, public, self.bits, 2)
        pairs = [evaluate(self.rules, party, corrections, key, prefix) for prefix in prefixes]
        random = xof_turboshake(
            verify_key, tag(0, ID, SKETCH, self.ctx), self.nonce + level.to_bytes(2, "big")
        ).elements(field, len(prefixes))
        sums = [
            sum(data * r for (data, _), r in zip(pairs, random, strict=True)),
            sum(data * r * r for (data, _), r in zip(pairs, random, strict=True)),
            sum(check * r for (_, check), r in zip(pairs, random, strict=True)),
        ]
        first = field.added(self.offsets(party, seed)[level], sums)
        return [data for data, _ in pairs], first, field.elements(share[start : start + 2 * field.size])

    def second(self, party: int, level: int, opened: Sequence[int], kept: Sequence[int]) -> list[int]:
        """Share of what must be 0."""
        z, square, product = opened
        return [(party * (z * z - square - product) + kept[0] * z + kept[1]) % self.field(level).modulus]
