"""Keys whose weight can be checked, many at a time: what both servers get, and what each has of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from ..arguments import Refused
from .domain import MOST_BITS, Domain
from .ring import Words
from .rows import Part, as_rows, by_level
from .server_keys import ServerKeys
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

    def __getitem__(self, part: Part) -> CheckedShare:
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
            raise Refused("checked keys", f"bits of turns past level {domain.bits} must be 0")
        seeds, values, proofs = (by_level(part, domain.bits, size) for part, size in zip(levels, sizes, strict=True))
        return cls(domain, seeds, values, proofs, turns[:, 0].copy())

    @classmethod
    def joined(cls, parts: Sequence[CheckedShare]) -> CheckedShare:
        """The keys of all parts, one after the other.

        Raises:
            ValueError: there are no parts, or they have several domains.
        """
        if len({part.domain for part in parts}) != 1:
            raise Refused("parts", "keys of one domain are needed")
        return cls(
            parts[0].domain,
            np.concatenate([part.seeds for part in parts], axis=1),
            np.concatenate([part.values for part in parts], axis=1),
            np.concatenate([part.proofs for part in parts], axis=1),
            np.concatenate([part.turns for part in parts]),
        )


class CheckedKeys(ServerKeys[CheckedShare]):
    """SECRET: all that one server has of some checked keys: 1816 bytes each for 32 bits."""

    __slots__ = ()

    @classmethod
    def _frame(cls, domain: Domain, party: int) -> Frame:
        return Frame(f"checked keys of server {party}", _KIND + party, domain.bits, domain.ring.words)

    @classmethod
    def _record_words(cls, domain: Domain) -> int:
        return checked_record_words(domain)

    @classmethod
    def _corrections(cls, domain: Domain, records: Words) -> CheckedShare:
        return CheckedShare.from_records(domain, records)


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
