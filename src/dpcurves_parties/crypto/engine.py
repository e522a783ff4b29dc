"""Pseudorandom generator of seeds: fixed-key AES, keyed by the task. Engines, portable and fast, give equal bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .comparison_keys import PublicShare
from .ring import Words

_PURPOSE = b"dpcurves: fixed keys of expansion, version 1"
_BLOCK = 16


@dataclass(frozen=True, slots=True, repr=False)
class TaskKeys:
    """The four AES-128 keys of one task and a prefix for hashes, from its name by HKDF-SHA256. They are public.

    A seed s is expanded to ``AES(key, s) xor s`` under each key (the form of Matyas, Meyer and Oseas).

    Formal guarantees: if AES under the four keys is four random permutations, what an adversary with q evaluations of
    them can tell of m expanded seeds from uniform blocks is at most ``m * (m + q) / 2**126``: a seed has 127 secret
    bits, and nothing is seen before a seed is met, or an answer's preimage, or two seeds are the same. For a task of
    2**20 keys of 2**6 levels that is a loss of about 27 bits of 127. Tasks with other names have other permutations.
    """

    left: bytes
    right: bytes
    value: bytes
    other_value: bytes
    prefix: bytes

    @classmethod
    def of_task(cls, task: bytes) -> TaskKeys:
        """The keys of the task that is so named: any bytes that all parties share, say a hash of its description."""
        stream = HKDF(SHA256(), 5 * _BLOCK, salt=None, info=_PURPOSE).derive(task)
        return cls(*(stream[start : start + _BLOCK] for start in range(0, len(stream), _BLOCK)))


@dataclass(slots=True, repr=False, eq=False)
class State:
    """SECRET: states of one server on the paths of some keys. Engines change them in place.

    Attributes:
        seeds: ``(keys, 2)``; the top bit of the second word is the control bit.
        values: ``(keys, words)``, summed up along the path, without the server's sign.
    """

    seeds: Words
    values: Words

    def copy(self) -> State:
        return State(self.seeds.copy(), self.values.copy())


class Engine(Protocol):
    """Expands chunks of keys that fit into the cache. Engines with the same task keys return the same bits."""

    @property
    def keys(self) -> TaskKeys: ...

    @property
    def chunk(self) -> int:
        """Number of keys that are processed at a time."""
        ...

    def generate(self, public: PublicShare, cells: Words, first: Words, second: Words) -> None:
        """Write correction words for cells ``(keys,)`` and root seeds ``(keys, 2)`` of both servers; turns are 0."""
        ...

    def descend(self, state: State, public: PublicShare, start: int, stop: int, path: int) -> None:
        """From level `start` to level `stop` along `path`, whose lowest bit is the turn at the deepest level."""
        ...

    def leaves(self, state: State, public: PublicShare) -> Words:
        """At the deepest level: values of the leaf's cells ``(keys, 2)``, without those summed up along the path."""
        ...

    def children(self, nodes: Words, seed_words: Words, turns: Words, level: int) -> Words:
        """Seeds ``(2 * nodes, keys, 2)`` below those of ``(nodes, keys, 2)``, which stand at `level`, in order."""
        ...

    def blocks(self, seeds: Words) -> Words:
        """The blocks that seeds ``(keys, 2)`` have for values."""
        ...

    def digests(self, messages: Words) -> Words:
        """SHA-256 of messages of 48 bytes, ``(count, 6)`` little-endian words: ``(count, 4)``."""
        ...

    def leaf_sums(self, nodes: Words, public: PublicShare) -> Words:
        """At the deepest level: what point functions say of the leaves' cells, over all keys: ``(nodes, 2)``."""
        ...


def chunks(count: int, size: int) -> list[slice]:
    """Slices of at most `size`; one empty slice if there is nothing."""
    return [slice(start, min(start + size, count)) for start in range(0, max(count, 1), size)]
