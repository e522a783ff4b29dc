"""Keys of comparison functions, many at a time: what both servers get, and what each gets alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .ring import Ring, Words
from .wire import Frame

MOST_BITS = 64
ENUMERABLE_BITS = 20
_AT_A_TIME = 256  # keys whose rows fit into the cache
_KIND = 0  # of server 0; that of server 1 is one more


class Octets(Protocol):
    """Where uniform bytes come from: as many as asked for."""

    @property
    def octets(self) -> Callable[[int], bytes]: ...


@dataclass(frozen=True, slots=True)
class Domain:
    """Cells ``0, ..., 2**bits - 1``, and the ring in which shares add up.

    The tree of seeds ends one level early where two values fill one block of AES.

    Raises:
        ValueError: `bits` is not in 1, ..., 64.

    >>> from dpcurves.crypto import Z64
    >>> Domain(32, Z64).levels
    31
    """

    bits: int
    ring: Ring

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= MOST_BITS:
            raise ValueError(f"bits: a domain has 1 to {MOST_BITS} bits, got {self.bits}")

    @property
    def leaf_bits(self) -> int:
        return 2 - self.ring.words

    @property
    def levels(self) -> int:
        return self.bits - self.leaf_bits

    @property
    def is_enumerable(self) -> bool:
        """Whether keys can be evaluated on the whole domain: they have one more block for that."""
        return self.bits <= ENUMERABLE_BITS

    @property
    def record_words(self) -> int:
        """64-bit words of one key's correction words."""
        return self.levels * (2 + self.ring.words) + 1 + 2 + 2 * self.is_enumerable

    def require(self, cells: Words) -> None:
        """Refuse cells outside the domain, without saying which.

        Raises:
            ValueError: there are some.
        """
        if self.bits < MOST_BITS and bool(np.any(cells >> np.uint64(self.bits))):
            raise ValueError(f"cells: all must be below 2**{self.bits}")

    def in_order(self, thresholds: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """Thresholds from left to right, each with its place.

        Raises:
            ValueError: one is outside the domain.
        """
        for threshold in thresholds:
            if not 0 <= threshold < 1 << self.bits:
                raise ValueError(f"thresholds: all must be in 0, ..., 2**{self.bits} - 1, got {threshold}")
        return tuple(sorted((int(threshold), place) for place, threshold in enumerate(thresholds)))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PublicShare:
    """Correction words of some keys: what both servers get. It has no repr, for one seed more would open it.

    Attributes:
        domain: Where the keys live.
        seeds: ``(levels, keys, 2)``; the top bit corrects the control bit of left children.
        values: ``(levels, keys, words)``.
        turns: ``(keys,)``; bit i says whether level i corrects control bits of right children otherwise.
        leaf: ``(keys, 2)``: for the comparison.
        point: ``(keys, 2)``: for the point function; ``(keys, 0)`` if the domain is not enumerable.
    """

    domain: Domain
    seeds: Words
    values: Words
    turns: Words
    leaf: Words
    point: Words

    def __len__(self) -> int:
        return len(self.turns)

    def __getitem__(self, part: slice) -> PublicShare:
        return PublicShare(
            self.domain,
            self.seeds[:, part],
            self.values[:, part],
            self.turns[part],
            self.leaf[part],
            self.point[part],
        )

    @classmethod
    def blank(cls, domain: Domain, count: int) -> PublicShare:
        """Space for correction words. Turns are 0."""
        return cls(
            domain,
            np.empty((domain.levels, count, 2), np.uint64),
            np.empty((domain.levels, count, domain.ring.words), np.uint64),
            np.zeros(count, np.uint64),
            np.empty((count, 2), np.uint64),
            np.empty((count, 2 * domain.is_enumerable), np.uint64),
        )

    def records(self) -> Words:
        """One row for each key, ``(keys, domain.record_words)``: equal rows are equal correction words."""
        return as_rows(self.seeds, self.values, self.turns[None, :, None], self.leaf[None], self.point[None])

    @classmethod
    def from_records(cls, domain: Domain, records: Words) -> PublicShare:
        """The keys of rows.

        Raises:
            ValueError: a row has bits where none belong.
        """
        sizes = np.cumsum([2 * domain.levels, domain.ring.words * domain.levels, 1, 2])
        seeds, values, turns, leaf, point = np.split(records, sizes, axis=1)
        if domain.levels < MOST_BITS and bool(np.any(turns >> np.uint64(domain.levels))):
            raise ValueError(f"comparison keys: bits of turns past level {domain.levels} must be 0")
        seeds, values = by_level(seeds, domain.levels, 2), by_level(values, domain.levels, domain.ring.words)
        return cls(domain, seeds, values, turns[:, 0].copy(), leaf.copy(), point.copy())

    @classmethod
    def joined(cls, parts: Sequence[PublicShare]) -> PublicShare:
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
            np.concatenate([part.turns for part in parts]),
            np.concatenate([part.leaf for part in parts]),
            np.concatenate([part.point for part in parts]),
        )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SeedShare:
    """SECRET: one server's seeds, 16 bytes for each key, ``(keys, 2)`` words. The top bit is the server's number.

    Raises:
        ValueError: there is no such server, or the top bit of a seed is another one.
    """

    party: int
    words: Words

    def __post_init__(self) -> None:
        if self.party not in (0, 1):
            raise ValueError(f"party: there are servers 0 and 1, got {self.party}")
        if bool(np.any(self.words[:, 1] >> np.uint64(63) != self.party)):
            raise ValueError(f"seeds of server {self.party}: the top bit of every seed must be {self.party}")

    @classmethod
    def drawn(cls, count: int, party: int, randomness: Octets) -> SeedShare:
        """New seeds, of 127 random bits each."""
        words = np.frombuffer(randomness.octets(16 * count), dtype="<u8").astype(np.uint64).reshape(count, 2)
        words[:, 1] = (words[:, 1] & np.uint64(2**63 - 1)) | np.uint64(party << 63)
        return cls(party, words)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, part: slice) -> SeedShare:
        return SeedShare(self.party, self.words[part])

    @classmethod
    def joined(cls, parts: Sequence[SeedShare]) -> SeedShare:
        """The seeds of all parts, one after the other.

        Raises:
            ValueError: there are no parts, or they are of several servers.
        """
        if len({part.party for part in parts}) != 1:
            raise ValueError("parts: seeds of one server are needed")
        return cls(parts[0].party, np.concatenate([part.words for part in parts]))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ComparisonKeys:
    """SECRET: all that one server has of some keys.

    Raises:
        ValueError: there are not as many seeds as correction words.
    """

    public: PublicShare
    seeds: SeedShare

    def __post_init__(self) -> None:
        if len(self.public) != len(self.seeds):
            raise ValueError(f"seeds: one is needed for each of {len(self.public)} keys, got {len(self.seeds)}")

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, part: slice) -> ComparisonKeys:
        return ComparisonKeys(self.public[part], self.seeds[part])

    @property
    def domain(self) -> Domain:
        return self.public.domain

    def to_bytes(self) -> bytes:
        """One frame: 16 bytes, then the correction words and the seed of each key: 784 bytes for 32 bits."""
        return _frame(self.domain, self.seeds.party).packed(
            np.concatenate([self.public.records(), self.seeds.words], axis=1)
        )

    @classmethod
    def from_bytes(cls, domain: Domain, party: int, blob: bytes) -> ComparisonKeys:
        """The keys of a frame.

        Raises:
            ValueError: it holds no keys of this version, domain and server, or has another length or checksum, or
                bits where none belong. What it holds is not shown.
        """
        records = _frame(domain, party).records(blob, domain.record_words + 2)
        public, seeds = np.split(records, [domain.record_words], axis=1)
        return cls(PublicShare.from_records(domain, public), SeedShare(party, np.ascontiguousarray(seeds)))

    @classmethod
    def joined(cls, parts: Sequence[ComparisonKeys]) -> ComparisonKeys:
        """The keys of all parts, one after the other.

        Raises:
            ValueError: there are no parts, or they are of several domains or servers.
        """
        return cls(
            PublicShare.joined([part.public for part in parts]), SeedShare.joined([part.seeds for part in parts])
        )


def by_level(records: Words, levels: int, words: int) -> Words:
    """Records ``(keys, levels * words)`` as ``(levels, keys, words)``, laid out so."""
    result = np.empty((levels, len(records), words), np.uint64)
    for keys in range(0, len(records), _AT_A_TIME):
        chunk = records[keys : keys + _AT_A_TIME]
        result[:, keys : keys + _AT_A_TIME] = chunk.reshape(len(chunk), levels, words).transpose(1, 0, 2)
    return result


def as_rows(*by_level: Words) -> Words:
    """The reverse of `by_level`, for several arrays ``(levels, keys, words)``: one row for each key."""
    ends = np.cumsum([0, *(part.shape[0] * part.shape[2] for part in by_level)])
    rows = np.empty((by_level[0].shape[1], int(ends[-1])), np.uint64)
    for keys in range(0, len(rows), _AT_A_TIME):
        for start, end, part in zip(ends, ends[1:], by_level, strict=False):
            chunk = part[:, keys : keys + _AT_A_TIME].transpose(1, 0, 2)
            rows[keys : keys + _AT_A_TIME, start:end].reshape(chunk.shape)[...] = chunk
    return rows


def _frame(domain: Domain, party: int) -> Frame:
    return Frame(f"comparison keys of server {party}", _KIND + party, domain.bits, domain.ring.words)
