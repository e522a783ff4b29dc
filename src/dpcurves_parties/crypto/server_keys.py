"""SECRET. Complete keys of one server: correction words that both servers get, and seeds that it gets alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from dpcurves.arguments import Refused

from .domain import Domain
from .ring import Words
from .rows import Part
from .wire import Frame


class Octets(Protocol):
    """Interface of sources of uniformly random bytes."""

    @property
    def octets(self) -> Callable[[int], bytes]: ...


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
            raise Refused("party", f"there are servers 0 and 1, got {self.party}")
        if bool(np.any(self.words[:, 1] >> np.uint64(63) != self.party)):
            raise Refused(f"seeds of server {self.party}", f"the top bit of every seed must be {self.party}")

    @classmethod
    def drawn(cls, count: int, party: int, randomness: Octets) -> SeedShare:
        """New seeds, of 127 random bits each."""
        words = np.frombuffer(randomness.octets(16 * count), dtype="<u8").astype(np.uint64).reshape(count, 2)
        words[:, 1] = (words[:, 1] & np.uint64(2**63 - 1)) | np.uint64(party << 63)
        return cls(party, words)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, part: Part) -> SeedShare:
        return SeedShare(self.party, self.words[part])

    @classmethod
    def joined(cls, parts: Sequence[SeedShare]) -> SeedShare:
        """The seeds of all parts, one after the other.

        Raises:
            ValueError: there are no parts, or they are of several servers.
        """
        if len({part.party for part in parts}) != 1:
            raise Refused("parts", "seeds of one server are needed")
        return cls(parts[0].party, np.concatenate([part.words for part in parts]))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Corrections(ABC):
    """Correction words of some keys: arrays ``(levels, keys, words)`` or ``(keys, ...)``. It has no repr.

    Attributes:
        domain: Domain of the keys.
        seeds: ``(levels, keys, 2)``; the top bit corrects the control bit of left children.
        values: ``(levels, keys, words)``.
        turns: ``(keys,)``; bit i says whether level i corrects control bits of right children otherwise.
    """

    domain: Domain
    seeds: Words
    values: Words
    turns: Words

    def __len__(self) -> int:
        return len(self.turns)

    def __getitem__(self, part: Part) -> Self:
        chosen: dict[str, Any] = {
            name: words[:, part] if words.ndim == 3 else words[part] for name, words in self._arrays().items()
        }
        return replace(self, **chosen)

    @abstractmethod
    def records(self) -> Words:
        """Correction words as rows, one for each key: equal rows are equal correction words."""

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The keys of all parts, one after the other.

        Raises:
            ValueError: there are no parts, or they have several domains.
        """
        if len({part.domain for part in parts}) != 1:
            raise Refused("parts", "keys of one domain are needed")
        arrays = [part._arrays() for part in parts]
        joined: dict[str, Any] = {
            name: np.concatenate([each[name] for each in arrays], axis=max(words.ndim - 2, 0))
            for name, words in arrays[0].items()
        }
        return replace(parts[0], **joined)

    def _arrays(self) -> dict[str, Words]:
        return {
            field.name: getattr(self, field.name) for field in fields(self) if field.init and field.name != "domain"
        }


Public = TypeVar("Public", bound=Corrections)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ServerKeys(Generic[Public]):
    """SECRET: complete keys of one server.

    Raises:
        ValueError: there are not as many seeds as correction words.
    """

    public: Public
    seeds: SeedShare

    def __post_init__(self) -> None:
        if len(self.public) != len(self.seeds):
            raise Refused("seeds", f"one is needed for each of {len(self.public)} keys, got {len(self.seeds)}")

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, part: Part) -> Self:
        return type(self)(self.public[part], self.seeds[part])

    @property
    def domain(self) -> Domain:
        return self.public.domain

    def to_bytes(self) -> bytes:
        """Serialise to one frame: 16 bytes, then the correction words and the seed of each key."""
        rows = np.concatenate([self.public.records(), self.seeds.words], axis=1)
        return self._frame(self.domain, self.seeds.party).packed(rows)

    @classmethod
    def from_bytes(cls, domain: Domain, party: int, blob: bytes) -> Self:
        """The keys of a frame.

        Raises:
            ValueError: it holds no such keys of this version, domain and server, or has another length or checksum, or
                bits where none belong. What it holds is not shown.
        """
        size = cls._record_words(domain)
        public, seeds = np.split(cls._frame(domain, party).records(blob, size + 2), [size], axis=1)
        return cls(cls._corrections(domain, public), SeedShare(party, np.ascontiguousarray(seeds)))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The keys of all parts, one after the other.

        Raises:
            ValueError: there are no parts, or they are of several domains or servers.
        """
        seeds = SeedShare.joined([part.seeds for part in parts])
        return cls(type(parts[0].public).joined([part.public for part in parts]), seeds)

    @classmethod
    @abstractmethod
    def _frame(cls, domain: Domain, party: int) -> Frame: ...

    @classmethod
    @abstractmethod
    def _record_words(cls, domain: Domain) -> int: ...

    @classmethod
    @abstractmethod
    def _corrections(cls, domain: Domain, records: Words) -> Public: ...
