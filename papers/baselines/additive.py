"""Additive shares of vectors modulo 2**64 among any number of servers: one gets words, the others a seed a vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves_parties.crypto.engine import Engine, chunk_slices
from dpcurves_parties.crypto.keys import RandomByteSource
from dpcurves_parties.crypto.ring import Frame, Words

_SEEDS, _REST = Frame("seeds of additive shares", 4, 0, 1), Frame("additive shares", 5, 0, 1)
_MOST_BLOCKS = 8192


class AdditiveShare(Protocol):
    """SECRET: one server's share of some vectors ``(vectors, length)`` modulo 2**64."""

    def __len__(self) -> int: ...

    def vectors(self, engine: Engine) -> Words:
        """Its share of each vector, ``(vectors, length)``."""
        ...

    def total(self, engine: Engine) -> Words:
        """Its share of the sum of all vectors, ``(length,)``."""
        ...

    def to_bytes(self) -> bytes:
        """One frame: 16 bytes, then 16 bytes, or ``8 * length``, for each vector."""
        ...


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SeededShare:
    """SECRET: a share that seeds ``(vectors, 2)`` stand for: the leaves' blocks of a binary tree below each seed."""

    length: int
    seeds: Words

    def __len__(self) -> int:
        return len(self.seeds)

    def vectors(self, engine: Engine) -> Words:
        result = np.empty((len(self), self.length), np.uint64)
        for part in chunk_slices(len(self), self._at_a_time):
            blocks = _leaves(self.seeds[part], self.length, engine)
            result[part] = blocks.transpose(1, 0, 2).reshape(blocks.shape[1], 2 * len(blocks))[:, : self.length]
        return result

    def total(self, engine: Engine) -> Words:
        result = np.zeros(self.length, np.uint64)
        for part in chunk_slices(len(self), self._at_a_time):
            result += _leaves(self.seeds[part], self.length, engine).sum(axis=1).reshape(-1)[: self.length]
        return result

    def to_bytes(self) -> bytes:
        return _SEEDS.to_bytes(self.seeds)

    @classmethod
    def from_bytes(cls, length: int, blob: bytes) -> SeededShare:
        """The share of a frame.

        Raises:
            ValueError: it holds no seeds of this version, or has another length.
        """
        return cls(length, _SEEDS.from_bytes(blob, 2))

    @property
    def _at_a_time(self) -> int:
        return max(1, 2 * _MOST_BLOCKS // self.length)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class WordShare:
    """SECRET: a share that is written out, ``(vectors, length)``."""

    words: Words

    def __len__(self) -> int:
        return len(self.words)

    def vectors(self, engine: Engine) -> Words:
        return self.words

    def total(self, engine: Engine) -> Words:
        return np.asarray(self.words.sum(axis=0))

    def to_bytes(self) -> bytes:
        return _REST.to_bytes(self.words)

    @classmethod
    def from_bytes(cls, length: int, blob: bytes) -> WordShare:
        """The share of a frame.

        Raises:
            ValueError: it holds no vectors of this version and of so many words, or has another length.
        """
        return cls(_REST.from_bytes(blob, length))


def share_vectors(
    words: Words, servers: int, engine: Engine, randomness: RandomByteSource
) -> tuple[AdditiveShare, ...]:
    """A share of vectors ``(vectors, length)`` of words for each server; they add up to the vectors modulo 2**64.

    All servers but the last one get a seed of 16 bytes a vector.

    Formal guarantees: all servers but any one learn nothing but the sizes, as long as they can not tell expanded seeds
    from uniform blocks (see `TaskKeys`): with all seeds known, what the last server has is the vector less the seeds'
    words; with one seed unknown its words are as good as uniform, and mask the rest. Nothing holds an owner to
    anything: whoever shares a vector may have chosen any.

    Args:
        words: SECRET. Negative numbers are meant modulo 2**64.
        randomness: 16 bytes a vector are taken for each server but the last.

    Raises:
        ValueError: there are fewer than 2 servers, or vectors without words.

    >>> from dpcurves_parties.crypto import PortableEngine
    >>> from dpcurves.noise import Randomness
    >>> engine = PortableEngine.from_task(b"task")
    >>> shares = share_vectors(np.array([[1, 2, 3], [10, 0, 5]], np.uint64), 3, engine, Randomness.from_system())
    >>> sum(share.total(engine) for share in shares).tolist()
    [11, 2, 8]
    """
    words = np.asarray(words, dtype=np.uint64)
    if servers < 2:
        raise InvalidArgument("servers", f"at least 2 are needed, got {servers}")
    if words.ndim != 2 or words.shape[1] == 0:
        raise InvalidArgument("words", f"an array (vectors, length) with a length above 0 is needed, got {words.shape}")
    count, length = words.shape
    seeded, rest = [], words.copy()
    for _ in range(servers - 1):
        seeds = np.frombuffer(randomness.random_bytes(16 * count), dtype="<u8").astype(np.uint64).reshape(count, 2)
        seeded.append(SeededShare(length, seeds))
        rest -= seeded[-1].vectors(engine)
    return *seeded, WordShare(rest)


def share_indicators(
    cells: Words, length: int, servers: int, engine: Engine, randomness: RandomByteSource
) -> tuple[AdditiveShare, ...]:
    """Shares of vectors of `length` words that are 1 at the owner's cell, and 0 elsewhere.

    Running sums of a total are shares of how many cells lie at or below each: what comparison functions say for two
    servers, for any number of them, in space that grows with the grid.

    Formal guarantees: those of `share_vectors`. No branch depends on a cell.

    Raises:
        ValueError: a cell is not below `length`, or as `share_vectors` does.

    >>> from dpcurves_parties.crypto import PortableEngine
    >>> from dpcurves.noise import Randomness
    >>> engine = PortableEngine.from_task(b"task")
    >>> shares = share_indicators(np.array([3, 1, 3], np.uint64), 4, 3, engine, Randomness.from_system())
    >>> sum(np.cumsum(share.total(engine)) for share in shares).tolist()
    [0, 1, 1, 3]
    """
    cells = np.asarray(cells, dtype=np.uint64)
    if bool(np.any(cells >= np.uint64(length))):
        raise InvalidArgument("cells", f"all must be below {length}")
    indicators = (cells[:, None] == np.arange(length, dtype=np.uint64)).astype(np.uint64)
    return share_vectors(indicators, servers, engine, randomness)


def _leaves(seeds: Words, length: int, engine: Engine) -> Words:
    """Blocks ``(blocks, vectors, 2)`` of so many words or one more, from left to right."""
    blocks = (length + 1) // 2
    depth = (blocks - 1).bit_length()
    nodes, nothing = np.ascontiguousarray(seeds)[None], np.zeros((len(seeds), 2), np.uint64)
    no_turns = np.zeros(len(seeds), np.uint64)
    for level in range(depth):
        needed = -(-blocks >> (depth - 1 - level))  # the last nodes of a level may have no leaf that counts
        nodes = engine.children(nodes, nothing, no_turns, level)[:needed]
    return engine.value_blocks(nodes.reshape(-1, 2)).reshape(nodes.shape)
