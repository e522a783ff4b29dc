"""Function secret sharing of `tau -> [tau >= cell]`: at thresholds, and on the whole domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dpcurves.arguments import Refused

from .engine import Engine, State, chunks
from .keys import ComparisonKeys, Octets, PublicShare, SeedShare
from .ring import Domain, Words

MOST_BLOCKS = 8192
KEYS = 512


def cell_sums(keys: ComparisonKeys, engine: Engine) -> Words:
    """Share of one server of the counts of keys by cell: ``(cells, words)``. Prefix sums are those of thresholds.

    The distributed point function of Boyle, Gilboa and Ishai (2016) in the tree of seeds of the comparison function:
    leaves are corrected once more, under another permutation than that of the comparison.

    Formal guarantees: the shares of both servers add up, cell by cell, to the number of keys with it.

    Raises:
        ValueError: the domain is too large to be enumerated.
    """
    domain = keys.domain
    if not domain.is_enumerable:
        raise Refused("keys", f"a domain of {domain.bits} bits is too large to be enumerated")
    totals = np.zeros((1 << domain.bits, domain.ring.words), np.uint64)
    for start in range(0, len(keys), KEYS):
        chunk = keys[start : start + KEYS]
        _collect(engine, chunk.public, chunk.seeds.words[None], 0, totals)
    return domain.ring.negated(totals) if keys.seeds.party else totals


def _collect(engine: Engine, public: PublicShare, nodes: Words, level: int, totals: Words) -> None:
    """Adds what leaves below some nodes ``(nodes, keys, 2)`` of a level say, from left to right."""
    ring, count = public.domain.ring, len(nodes)
    if level == public.domain.levels:
        leaves = engine.leaf_sums(nodes, public).reshape(len(totals), ring.words)
        totals[:] = ring.add(totals, leaves)
    elif count > 1 and 2 * count * len(public) > MOST_BLOCKS:
        for half, part in zip((nodes[: count // 2], nodes[count // 2 :]), np.split(totals, 2), strict=True):
            _collect(engine, public, half, level, part)
    else:
        below = engine.children(nodes, public.seeds[level], public.turns, level)
        _collect(engine, public, below, level + 1, totals)


# In steps of one level, as benchmarks/comparison_functions.py measures them. They are the same everywhere: shares of
# thresholds and shares of cells do not go together, so both servers have to choose alike, whatever their machines are.
CELL_COST = 1.5
LEAF_COST = 3.0


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Shared:
    """SECRET as a whole: what an owner sends. Each server gets the public share, and its own seeds alone."""

    public: PublicShare
    seeds: tuple[SeedShare, SeedShare]

    def keys(self, party: int) -> ComparisonKeys:
        """SECRET: what one server gets."""
        return ComparisonKeys(self.public, self.seeds[party])


def share_cells(cells: Words, domain: Domain, engine: Engine, randomness: Octets) -> Shared:
    """Share cells as comparison keys: for each cell x, a share of ``tau -> [tau >= x]`` for each of two servers.

    The distributed comparison function of Boyle, Chandran, Gilboa, Gupta, Ishai, Kumar and Rathee (2021, figure 1), but
    that the value is gained where tau turns right and the cell left, and at the cell itself.

    Formal guarantees: for every tau the servers' values add up to 1 if ``tau >= x`` and to 0 otherwise. What one server
    gets is as good as uniform to whoever cannot tell expanded seeds from uniform blocks (see `TaskKeys`): at each level
    the correction words are masked by blocks that only the other server's seed gives, and that are used once; the lost
    child's blocks mask the corrections of seeds and values, the control bits of both children mask those of control
    bits, and the kept child stays uniform for the next level. So a key shows its domain, and nothing of its cell.

    Args:
        cells: ``(count,)``, below ``2**domain.bits``. SECRET.
        randomness: 32 bytes a key are taken.

    Raises:
        ValueError: a cell is outside the domain.

    >>> import numpy as np
    >>> from dpcurves_parties.crypto import PortableEngine, Z64, prefix_sums
    >>> from dpcurves.noise import Randomness
    >>> domain, engine = Domain(10, Z64), PortableEngine.of_task(b"task")
    >>> shared = share_cells(np.array([3, 700], np.uint64), domain, engine, Randomness.system())
    >>> domain.ring.opened(*(prefix_sums(shared.keys(party), [2, 3, 1023], engine) for party in (0, 1)))
    (0, 1, 2)
    """
    cells = np.ascontiguousarray(cells, dtype=np.uint64)
    domain.require(cells)
    seeds = SeedShare.drawn(len(cells), 0, randomness), SeedShare.drawn(len(cells), 1, randomness)
    public = PublicShare.blank(domain, len(cells))
    for part in chunks(len(cells), engine.chunk):
        engine.generate(public[part], cells[part], seeds[0].words[part], seeds[1].words[part])
    return Shared(public, seeds)


def prefix_sums(keys: ComparisonKeys, thresholds: Sequence[int], engine: Engine) -> tuple[int, ...]:
    """Share of one server of the number of cells at or below each threshold, modulo the ring's size.

    Thresholds may come in any order and more than once. Paths that begin alike are walked once. Both servers have to
    ask for the same thresholds in one call: only shares of one call go together.

    Raises:
        ValueError: a threshold is outside the domain.
    """
    ring = keys.domain.ring
    if enumeration_pays(keys.domain, thresholds):
        return ring.integers(ring.running_sums(cell_sums(keys, engine))[list(thresholds)])
    totals = np.zeros((len(thresholds), ring.words), np.uint64)
    for place, _, numbers in _evaluated(keys, thresholds, engine):
        totals[place] = ring.add(totals[place], ring.sums(numbers))
    return ring.integers(ring.negated(totals) if keys.seeds.party else totals)


def enumeration_pays(domain: Domain, thresholds: Sequence[int]) -> bool:
    """True if evaluating the whole domain costs less than these thresholds' paths. Both servers have the same answer.

    A path costs its steps below the one before it, and a leaf, with a state that was copied on the way.
    """
    paths = sorted({threshold >> domain.leaf_bits for threshold, _ in domain.in_order(thresholds)})
    steps = sum((domain.levels, *((low ^ high).bit_length() for low, high in pairwise(paths)))) if paths else 0
    return domain.is_enumerable and steps + LEAF_COST * len(paths) > CELL_COST * 2**domain.bits


def values(keys: ComparisonKeys, thresholds: Sequence[int], engine: Engine) -> Words:
    """SECRET: one server's share for each threshold and key: ``(thresholds, keys, words)``.

    Raises:
        ValueError: a threshold is outside the domain.
    """
    result = np.empty((len(thresholds), len(keys), keys.domain.ring.words), np.uint64)
    for place, part, numbers in _evaluated(keys, thresholds, engine):
        result[place, part] = numbers
    return keys.domain.ring.negated(result) if keys.seeds.party else result


def _evaluated(keys: ComparisonKeys, thresholds: Sequence[int], engine: Engine) -> Iterator[tuple[int, slice, Words]]:
    """Chunk by chunk: which threshold, which keys, and their values ``(keys, words)`` without the server's sign."""
    ring, walk = keys.domain.ring, _Walk(keys.domain, keys.domain.in_order(thresholds), engine)
    for part in chunks(len(keys), engine.chunk):
        chunk = keys[part]
        state = State(chunk.seeds.words.copy(), np.zeros((len(chunk), ring.words), np.uint64))
        for place, numbers in walk.visit(chunk.public, state, 0, 0, len(thresholds)):
            yield place, part, numbers


@dataclass(frozen=True, slots=True)
class _Walk:
    """Depth-first walk along the paths of all thresholds, in order; a state is copied where paths part."""

    domain: Domain
    thresholds: tuple[tuple[int, int], ...]
    engine: Engine

    def visit(
        self, public: PublicShare, state: State, level: int, first: int, last: int
    ) -> Iterator[tuple[int, Words]]:
        """Values at thresholds number first to last, which go alike down to `level`."""
        if first == last:
            return
        low, high = self._path(first), self._path(last - 1)
        stop = self.domain.levels - (low ^ high).bit_length()
        self.engine.descend(state, public, level, stop, low >> (self.domain.levels - stop))
        if low == high:
            yield from self._leaf(public, state, first, last)
            return
        middle = first + sum(
            not self._path(number) >> (self.domain.levels - stop - 1) & 1 for number in range(first, last)
        )
        yield from self.visit(public, state.copy(), stop, first, middle)
        yield from self.visit(public, state, stop, middle, last)

    def _path(self, number: int) -> int:
        return self.thresholds[number][0] >> self.domain.leaf_bits

    def _leaf(self, public: PublicShare, state: State, first: int, last: int) -> Iterator[tuple[int, Words]]:
        words, leaves = self.domain.ring.words, self.engine.leaves(state, public)
        for threshold, place in self.thresholds[first:last]:
            start = (threshold & ((1 << self.domain.leaf_bits) - 1)) * words
            yield place, self.domain.ring.add(state.values, leaves[:, start : start + words])
