"""Keys whose weight can be checked, many at a time: what both servers get, and what each gets alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from .comparison_keys import MOST_BITS, Domain, SeedShare, as_rows, by_level
from .ring import Words
from .wire import Frame

PROOF_WORDS = 4
_KIND = 2  # of server 0; that of server 1 is one more


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CheckedShare:
    """Correction words of some checked keys: what both servers get. The tree goes down to single cells.

    Attributes:
        domain: Where the keys live.
        seeds: ``(bits, keys, 2)``; the top bit corrects the control bit of left children.
        values: ``(bits, keys, words)``.
        proofs: ``(bits, keys, 4)``: what the hashes of both servers' seeds on the path differ by.
        turns: ``(keys,)``; bit i says whether level i corrects control bits of right children otherwise.
    """

    domain: Domain
    seeds: Words
    values: Words
    proofs: Words
    turns: Words
    _known: list[Words] = field(default_factory=list, init=False)

    def __len__(self) -> int:
        return len(self.turns)

    def __getitem__(self, part: slice) -> CheckedShare:
        levels = self.seeds[:, part], self.values[:, part], self.proofs[:, part]
        return CheckedShare(self.domain, *levels, self.turns[part])

    @classmethod
    def blank(cls, domain: Domain, count: int) -> CheckedShare:
        """Space for correction words. Turns are 0."""
        sizes = (2, domain.ring.words, PROOF_WORDS)
        seeds, values, proofs = (np.empty((domain.bits, count, size), np.uint64) for size in sizes)
        return cls(domain, seeds, values, proofs, np.zeros(count, np.uint64))

    def records(self) -> Words:
        """One row for each key: equal rows are equal correction words."""
        return as_rows(self.seeds, self.values, self.proofs, self.turns[None, :, None])

    def fingerprints(self) -> Words:
        """BLAKE2b-256 of each row, ``(keys, 4)``. Worked out once: correction words do not change."""
        if not self._known:
            self._known.append(digested(self.records(), 32, b"").view(np.uint64))
        return self._known[0]

    @classmethod
    def from_records(cls, domain: Domain, records: Words) -> CheckedShare:
        """The keys of rows.

        Raises:
            ValueError: a row has bits where none belong.
        """
        sizes = (2, domain.ring.words, PROOF_WORDS)
        *levels, turns = np.split(records, np.cumsum(sizes) * domain.bits, axis=1)
        if domain.bits < MOST_BITS and bool(np.any(turns >> np.uint64(domain.bits))):
            raise ValueError(f"checked keys: bits of turns past level {domain.bits} must be 0")
        seeds, values, proofs = (by_level(part, domain.bits, size) for part, size in zip(levels, sizes, strict=True))
        return cls(domain, seeds, values, proofs, turns[:, 0].copy())

    @classmethod
    def joined(cls, parts: Sequence[CheckedShare]) -> CheckedShare:
        """The keys of all parts, one after the other.

        Raises:
            ValueError: there are no parts, or they have several domains.
        """
        if len({part.domain for part in parts}) != 1:
            raise ValueError("parts: keys of one domain are needed")
        return cls(
            parts[0].domain,
            np.concatenate([part.seeds for part in parts], axis=1),
            np.concatenate([part.values for part in parts], axis=1),
            np.concatenate([part.proofs for part in parts], axis=1),
            np.concatenate([part.turns for part in parts]),
        )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CheckedKeys:
    """SECRET: all that one server has of some checked keys.

    Raises:
        ValueError: there are not as many seeds as correction words.
    """

    public: CheckedShare
    seeds: SeedShare

    def __post_init__(self) -> None:
        if len(self.public) != len(self.seeds):
            raise ValueError(f"seeds: one is needed for each of {len(self.public)} keys, got {len(self.seeds)}")

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, part: slice) -> CheckedKeys:
        return CheckedKeys(self.public[part], self.seeds[part])

    @property
    def domain(self) -> Domain:
        return self.public.domain

    def to_bytes(self) -> bytes:
        """One frame: 16 bytes, then the correction words and the seed of each key: 1816 bytes for 32 bits."""
        rows = np.concatenate([self.public.records(), self.seeds.words], axis=1)
        return _frame(self.domain, self.seeds.party).packed(rows)

    @classmethod
    def from_bytes(cls, domain: Domain, party: int, blob: bytes) -> CheckedKeys:
        """The keys of a frame.

        Raises:
            ValueError: it holds no checked keys of this version, domain and server, or has another length or checksum,
                or bits where none belong. What it holds is not shown.
        """
        rows = _frame(domain, party).records(blob, checked_record_words(domain) + 2)
        public, seeds = np.split(rows, [checked_record_words(domain)], axis=1)
        return cls(CheckedShare.from_records(domain, public), SeedShare(party, np.ascontiguousarray(seeds)))

    @classmethod
    def joined(cls, parts: Sequence[CheckedKeys]) -> CheckedKeys:
        """The keys of all parts, one after the other.

        Raises:
            ValueError: there are no parts, or they are of several domains or servers.
        """
        seeds = SeedShare.joined([part.seeds for part in parts])
        return cls(CheckedShare.joined([part.public for part in parts]), seeds)


def digested(rows: Words, size: int, key: bytes) -> NDArray[np.uint8]:
    """BLAKE2b of each row: ``(rows, size)`` bytes."""
    raw, length = np.ascontiguousarray(rows, dtype="<u8").reshape(-1).view(np.uint8).data, 8 * rows.shape[1]
    digests = [
        blake2b(raw[start : start + length], digest_size=size, key=key).digest() for start in range(0, len(raw), length)
    ]
    return np.frombuffer(b"".join(digests), np.uint8).reshape(len(rows), size)


def checked_record_words(domain: Domain) -> int:
    """64-bit words of one checked key's correction words."""
    return domain.bits * (2 + domain.ring.words + PROOF_WORDS) + 1


def _frame(domain: Domain, party: int) -> Frame:
    return Frame(f"checked keys of server {party}", _KIND + party, domain.bits, domain.ring.words)
