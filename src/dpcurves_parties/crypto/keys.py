"""SECRET. Keys of distributed comparison functions (DCF) in batches: correction words, seeds, verifiable keys.

The owner of a record with cell c makes two keys whose values at every threshold t are additive shares of f(t), which is
1 if t >= c and else 0. A key has

    seed of the server       16 bytes; 127 random bits, the top bit is the server's number     one for each server
    correction words         a row of 64-bit words for each level of the tree over the cells    the same for both

`PublicShare` has the correction words of comparisons; `CheckedShare` adds a hash per level, by which the servers check
that at most one node of a level is on the path. Arrays are batches: ``(levels, keys, words)``. A key of one server
alone reveals nothing about c; the correction words with both seeds reveal it. Built on distributed point functions
(DPF); also called function secret sharing (FSS).

References: Boyle, Gilboa and Ishai 2016; Boyle, Chandran, Gilboa, Gupta, Ishai, Kumar and Rathee 2021 (comparison).

>>> from dpcurves_parties.crypto import Z64
>>> domain = Domain(32, Z64)
>>> 8 * (PublicShare.record_words(domain) + 2)  # bytes of a comparison key of one server
784
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument

from .ring import MOST_CELL_BITS, Domain, Frame, Part, Words, join_levels, split_levels


class RandomByteSource(Protocol):
    """Interface of sources of uniformly random bytes."""

    @property
    def random_bytes(self) -> Callable[[int], bytes]:
        """A function from a number of bytes to that many uniformly random, secret bytes."""
        ...


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SeedShare:
    """SECRET: one server's seeds, 16 bytes per key, as ``(keys, 2)`` words. The top bit is the server's number.

    Raises:
        ValueError: the server is not 0 or 1, or the top bit of a seed is not its number.
    """

    party: int
    words: Words

    def __post_init__(self) -> None:
        if self.party not in (0, 1):
            raise InvalidArgument("party", f"must be 0 or 1, got {self.party}")
        if bool(np.any(self.words[:, 1] >> np.uint64(63) != self.party)):
            raise InvalidArgument(
                f"seeds of server {self.party}",
                f"must have the top bit {self.party} in every seed; draw them with SeedShare.sample",
            )

    @classmethod
    def sample(cls, count: int, party: int, randomness: RandomByteSource) -> SeedShare:
        """SECRET: draw new seeds of one server, of 127 random bits each.

        Args:
            count: Number of seeds.
            party: Number of the server, which is the top bit.
            randomness: Source of 16 bytes per seed.
        """
        words = np.frombuffer(randomness.random_bytes(16 * count), dtype="<u8").astype(np.uint64).reshape(count, 2)
        words[:, 1] = (words[:, 1] & np.uint64(2**63 - 1)) | np.uint64(party << 63)
        return cls(party, words)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, selection: Part) -> SeedShare:
        return SeedShare(self.party, self.words[selection])

    @classmethod
    def concatenate(cls, parts: Sequence[SeedShare]) -> SeedShare:
        """Return one share with the seeds of all parts, which must belong to one server.

        Raises:
            ValueError: there are no parts, or they belong to several servers.
        """
        if len({share.party for share in parts}) != 1:
            raise InvalidArgument("parts", "must be seeds of the same server; merge those of each server by themselves")
        return cls(parts[0].party, np.concatenate([share.words for share in parts]))


ARRAYS_WITHOUT_LEVELS = frozenset({"turns", "leaf", "point"})
"""Arrays of a key's correction words with one entry per key instead of one per tree level: bits of right children
(turns), and the corrections of leaf and point."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CorrectionWords(ABC):
    """Correction words of some keys: arrays ``(levels, keys, words)`` or ``(keys, ...)``. It has no repr.

    Attributes:
        KEY_NAME: Name of the keys in error messages.
        domain: Domain of the keys.
        seeds: ``(levels, keys, 2)``; the top bit corrects the control bit of left children.
        values: ``(levels, keys, words)``.
        turns: ``(keys,)``; bit i is set if level i corrects control bits of right children differently.
    """

    KEY_NAME: ClassVar[str]

    domain: Domain
    seeds: Words
    values: Words
    turns: Words

    def __len__(self) -> int:
        return len(self.turns)

    @classmethod
    @abstractmethod
    def layout(cls, domain: Domain) -> Mapping[str, tuple[int, int]]:
        """Return the numbers of levels and words of each array, by name, in the order of a serialised record.

        Arrays named in `ARRAYS_WITHOUT_LEVELS` have no axis of levels.

        Args:
            domain: Domain of the keys: bits of a cell, and ring of the values.
        """

    @classmethod
    def record_words(cls, domain: Domain) -> int:
        """Return the number of 64-bit words that the correction words of one key take up in a serialised record.

        Args:
            domain: Domain of the keys: bits of a cell, and ring of the values.
        """
        return sum(levels * words for levels, words in cls.layout(domain).values())

    @classmethod
    def allocate(cls, domain: Domain, count: int) -> Self:
        """Allocate the arrays of `count` keys for a key generator to fill in.

        The array `turns`, to which the generator adds bits, is 0; all others are uninitialised.

        Args:
            domain: Domain of the keys: bits of a cell, and ring of the values.
            count: Number of keys.
        """
        arrays: dict[str, Any] = {
            name: np.empty((count, words) if name in ARRAYS_WITHOUT_LEVELS else (levels, count, words), np.uint64)
            for name, (levels, words) in cls.layout(domain).items()
        }
        return cls(domain, **{**arrays, "turns": np.zeros(count, np.uint64)})

    def records(self) -> Words:
        """Serialise the correction words as rows, ``(keys, record_words)``, one per key."""
        layout = self.layout(self.domain)
        arrays = self._arrays()
        return join_levels(
            *(arrays[name].reshape(levels, len(self), words) for name, (levels, words) in layout.items())
        )

    @classmethod
    def require(cls, domain: Domain, records: Words) -> None:
        """Check stored correction words: bits past the last level of the tree must be 0.

        Args:
            domain: Range of the cells, which determines the levels.
            records: Stored rows, one per key.

        Raises:
            ValueError: a row has other bits past the last level.
        """
        levels, _ = cls.layout(domain)["seeds"]
        if levels < MOST_CELL_BITS and bool((cls._split_records(domain, records)["turns"] >> np.uint64(levels)).any()):
            raise InvalidArgument(
                cls.KEY_NAME,
                f"bits past level {levels} must be 0; contribute again with the version of dpcurves that the "
                "servers use",
            )

    @classmethod
    def from_records(cls, domain: Domain, records: Words) -> Self:
        """Return the correction words of keys from their stored rows.

        Args:
            domain: Range of the cells, which determines the layout of a row.
            records: Stored rows, one per key.

        Raises:
            ValueError: a row has bits past the last level.
        """
        cls.require(domain, records)
        octets_by_name = cls._split_records(domain, records)
        layout = cls.layout(domain)
        arrays: dict[str, Any] = {
            name: array.copy() if name in ARRAYS_WITHOUT_LEVELS else split_levels(array, *layout[name])
            for name, array in octets_by_name.items()
        }
        return cls(domain, **{**arrays, "turns": arrays["turns"][:, 0]})

    @classmethod
    def _split_records(cls, domain: Domain, records: Words) -> dict[str, Words]:
        """Return views of the columns of rows (keys, record_words), by array name, (keys, levels * words) each.

        Args:
            domain: Domain of the keys: bits of a cell, and ring of the values.
            records: Serialised correction words, one key a row.
        """
        layout = cls.layout(domain)
        ends = np.cumsum([levels * words for levels, words in layout.values()])
        return dict(zip(layout, np.split(records, ends[:-1], axis=1), strict=True))

    def __getitem__(self, selection: Part) -> Self:
        chosen: dict[str, Any] = {
            name: words[:, selection] if words.ndim == 3 else words[selection] for name, words in self._arrays().items()
        }
        return replace(self, **chosen)

    def overwrite(self, other: Self) -> None:
        """Copy the correction words of equally many other keys into these arrays, in place."""
        for name, words in self._arrays().items():
            words[...] = getattr(other, name)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Return the correction words of all parts, which must have one domain.

        Raises:
            ValueError: there are no parts, or they have several domains.
        """
        if len({chunk.domain for chunk in parts}) != 1:
            raise InvalidArgument("parts", "must be keys of the same domain; make all keys for the task's grid")
        arrays = [chunk._arrays() for chunk in parts]
        joined: dict[str, Any] = {}
        for name, words in arrays[0].items():
            key_axis = max(words.ndim - 2, 0)
            joined[name] = np.concatenate([chunk[name] for chunk in arrays], axis=key_axis)
        return replace(parts[0], **joined)

    def _arrays(self) -> dict[str, Words]:
        """Return all arrays of correction words by field name, in the order of the fields, without copying."""
        return {
            field.name: getattr(self, field.name) for field in fields(self) if field.init and field.name != "domain"
        }


Public = TypeVar("Public", bound=CorrectionWords)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ServerKeys(Generic[Public]):
    """SECRET: complete keys of one server.

    Attributes:
        FRAME_KIND: Kind of server 0's frames; server 1's kind is one more.
        CORRECTIONS: Class of the correction words.

    Raises:
        ValueError: the numbers of seeds and correction words differ.
    """

    FRAME_KIND: ClassVar[int]
    CORRECTIONS: ClassVar[Any]

    public: Public
    seeds: SeedShare

    def __post_init__(self) -> None:
        if len(self.public) != len(self.seeds):
            raise InvalidArgument(
                "seeds",
                f"{len(self.public)} seeds are needed, one for each key, got {len(self.seeds)}; take seeds and keys of "
                "the same batch",
            )

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, selection: Part) -> Self:
        return type(self)(self.public[selection], self.seeds[selection])

    @property
    def domain(self) -> Domain:
        """Domain of the cells that these keys encode."""
        return self.public.domain

    def to_bytes(self) -> bytes:
        """Serialise to one frame: a header of 16 bytes, then the correction words and the seed of each key."""
        rows = np.concatenate([self.public.records(), self.seeds.words], axis=1)
        return self._frame(self.domain, self.seeds.party).to_bytes(rows)

    @classmethod
    def from_bytes(cls, domain: Domain, party: int, blob: bytes) -> Self:
        """Parse one server's keys of function secret sharing from a serialised frame.

        Args:
            domain: The cells, and the ring of the values.
            party: Number of the server, 0 or 1.
            blob: The frame.

        Raises:
            ValueError: the frame is of another kind, version, domain or server, its length or checksum is wrong, or it
                has invalid bits. The message shows no content.
        """
        size = cls.CORRECTIONS.record_words(domain)
        public, seeds = np.split(cls._frame(domain, party).from_bytes(blob, size + 2), [size], axis=1)
        return cls(cls.CORRECTIONS.from_records(domain, public), SeedShare(party, np.ascontiguousarray(seeds)))

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Return the keys of all parts, which must belong to one server and one domain.

        Raises:
            ValueError: there are no parts, or they have several domains or servers.
        """
        seeds = SeedShare.concatenate([chunk.seeds for chunk in parts])
        return cls(type(parts[0].public).concatenate([chunk.public for chunk in parts]), seeds)

    @classmethod
    def _frame(cls, domain: Domain, party: int) -> Frame:
        """Return the header of the byte frames of one server's keys.

        Args:
            domain: Domain of the keys: bits of a cell, and ring of the values.
            party: Number of the server, 0 or 1.
        """
        return Frame(
            f"{cls.CORRECTIONS.KEY_NAME} of server {party}", cls.FRAME_KIND + party, domain.bits, domain.ring.words
        )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PublicShare(CorrectionWords):
    """Correction words of comparison keys, which both servers get.

    It has no repr: with one more seed it would be readable.

    Attributes:
        leaf: ``(keys, 2)``, for the comparison.
        point: ``(keys, 2)``, for the point function; ``(keys, 0)`` if the domain is not enumerable.
    """

    KEY_NAME = "comparison keys"

    leaf: Words
    point: Words

    @classmethod
    def layout(cls, domain: Domain) -> Mapping[str, tuple[int, int]]:
        """Return the numbers of levels and words of the arrays of comparison keys.

        There is one leaf correction, and a point correction if the domain can be enumerated.
        """
        levels = domain.levels
        words = domain.ring.words
        point = 2 * domain.is_enumerable
        return {"seeds": (levels, 2), "values": (levels, words), "turns": (1, 1), "leaf": (1, 2), "point": (1, point)}


class ComparisonKeys(ServerKeys[PublicShare]):
    """SECRET: complete keys of one server for comparison functions; 784 bytes each for 32 bits."""

    __slots__ = ()

    FRAME_KIND = 0
    CORRECTIONS = PublicShare


Keys = TypeVar("Keys", bound=ServerKeys[Any])


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SharedKeys(Generic[Keys]):
    """SECRET as a whole: the keys that an owner sends. Each server gets the public share and its own seeds only."""

    key_type: type[Keys]
    public: Any
    seeds: tuple[SeedShare, SeedShare]

    def keys(self, party: int) -> Keys:
        """SECRET: return the complete keys of server 0 or 1: the public share and this server's seeds.

        Args:
            party: Number of the server.
        """
        return self.key_type(self.public, self.seeds[party])


PROOF_WORDS = 4
"""64-bit words of a SHA-256 hash, by which a checked key corrects the hashes of a level's two children."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CheckedShare(CorrectionWords):
    """Correction words of checked keys, which both servers get. The tree goes down to single cells.

    Attributes:
        proofs: ``(bits, keys, 4)``: XOR of the hashes of both servers' seeds on the path.
    """

    KEY_NAME = "checked keys"

    proofs: Words
    _fingerprints: list[Words] = field(default_factory=list, init=False)

    @classmethod
    def layout(cls, domain: Domain) -> Mapping[str, tuple[int, int]]:
        """Return the numbers of levels and words of the arrays of checked keys.

        There is one hash correction of 4 words per level, and there are no leaves.

        Args:
            domain: Domain of the keys: bits of a cell, and ring of the values.

        Returns:
            Numbers of levels and of words, by name of the array.
        """
        levels = domain.bits
        words = domain.ring.words
        return {"seeds": (levels, 2), "values": (levels, words), "proofs": (levels, PROOF_WORDS), "turns": (1, 1)}

    def fingerprints(self) -> Words:
        """Return the BLAKE2b-256 of each key's correction words, ``(keys, 4)``, cached because they do not change."""
        if not self._fingerprints:
            self._fingerprints.append(hash_rows(self.records(), 32, b"").view(np.uint64))
        return self._fingerprints[0]


class CheckedKeys(ServerKeys[CheckedShare]):
    """SECRET: complete keys of one server for checked functions; 1816 bytes each for 32 bits."""

    __slots__ = ()

    FRAME_KIND = 2
    CORRECTIONS = CheckedShare


def hash_rows(rows: Words, size: int, key: bytes) -> NDArray[np.uint8]:
    """Return the BLAKE2b digest of each row of words, (rows, size) bytes.

    Args:
        rows: Words, (rows, words).
        size: Bytes of a digest.
        key: Key of the hash.
    """
    octets = np.ascontiguousarray(rows, dtype="<u8").reshape(-1).view(np.uint8).data
    length = 8 * rows.shape[1]
    digests = [
        blake2b(octets[start : start + length], digest_size=size, key=key).digest()
        for start in range(0, len(octets), length)
    ]
    return np.frombuffer(b"".join(digests), np.uint8).reshape(len(rows), size)
