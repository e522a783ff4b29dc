"""Verifiable keys of comparison functions, in batches: public correction words, and the keys of each server."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import Refused

from .domain import MOST_BITS, Domain
from .ring import Words
from .rows import as_rows, by_level
from .server_keys import Corrections, ServerKeys
from .wire import Frame

PROOF_WORDS = 4
_KIND = 2  # of server 0; that of server 1 is one more


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CheckedShare(Corrections):
    """Correction words of some checked keys, which both servers get. The tree goes down to single cells.

    Attributes:
        proofs: ``(bits, keys, 4)``: what the hashes of both servers' seeds on the path differ by.
    """

    proofs: Words
    _known: list[Words] = field(default_factory=list, init=False)

    @classmethod
    def blank(cls, domain: Domain, count: int) -> CheckedShare:
        """Space for correction words. Turns are 0."""
        sizes = (2, domain.ring.words, PROOF_WORDS)
        seeds, values, proofs = (np.empty((domain.bits, count, size), np.uint64) for size in sizes)
        return cls(domain, seeds, values, np.zeros(count, np.uint64), proofs)

    def records(self) -> Words:
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
        return cls(domain, seeds, values, turns[:, 0].copy(), proofs)


class CheckedKeys(ServerKeys[CheckedShare]):
    """SECRET: complete keys of one server for some checked functions: 1816 bytes each for 32 bits."""

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
