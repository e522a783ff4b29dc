"""Function secret sharing of comparisons: two servers count how many shared cells lie at or below a threshold.

The function of a cell x is ``tau -> [tau >= x]``. Its owner splits it into two keys, one per server (`share_cells`).
Each server evaluates its keys at public thresholds, and sums them (`prefix_sums`). Both sums together give the count.
`cell_sums` counts every cell instead. `share_checked_cells` makes keys that the servers can check, so that each owner
counts at most once. Also called distributed comparison function (DCF).

Formal guarantees: one server's key is indistinguishable from uniform, so it reveals nothing of the cell (computational;
see `share_cells`). Noise is not added here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument

from .engine import (
    Engine,
    FastEngine,
    PathState,
    choose_side,
    chunk_slices,
    control_mask,
    encrypt_blocks,
    right_turn_mask,
    seed_correction,
    widen_mask,
)
from .keys import (
    PROOF_WORDS,
    CheckedKeys,
    CheckedShare,
    ComparisonKeys,
    PublicShare,
    RandomByteSource,
    SeedShare,
    SharedKeys,
    hash_rows,
)
from .ring import Domain, Words

KEYS_PER_BATCH = 512
"""Keys of function secret sharing, one per record, that are evaluated at all cells in one pass: more take more memory,
and do not change the sums."""


def cell_sums(keys: ComparisonKeys, engine: Engine) -> Words:
    """Return one server's share of the number of keys in each cell, (cells, words).

    The running sums of these counts are the sums at thresholds. The function is the distributed point function of
    Boyle, Gilboa and Ishai (2016) on the tree of the comparison function; leaves have a second correction.

    Formal guarantees: both servers' shares add up, cell by cell, to the number of keys with this cell.

    Args:
        keys: Keys of one server.
        engine: Engine that expands their seeds.

    Raises:
        ValueError: the domain is too large to be enumerated.
    """
    domain = keys.domain
    if not domain.is_enumerable:
        raise InvalidArgument(
            "keys",
            f"must be on an enumerable domain; {domain.bits} bits are too many to count every cell, "
            "so ask at thresholds",
        )
    totals = np.zeros((1 << domain.bits, domain.ring.words), np.uint64)
    for start in range(0, len(keys), KEYS_PER_BATCH):
        chunk = keys[start : start + KEYS_PER_BATCH]
        _add_leaf_sums(engine, chunk.public, chunk.seeds.words[None], 0, totals)
    return domain.ring.negate(totals) if keys.seeds.party else totals


def _add_leaf_sums(engine: Engine, public: PublicShare, nodes: Words, level: int, totals: Words) -> None:
    """SECRET: add this server's unsigned values of all leaves below some nodes to `totals` in place, from left to
    right.

    Args:
        engine: Engine that expands seeds.
        public: Correction words.
        nodes: Seeds of consecutive nodes of one level, (nodes, keys, 2).
        level: Level of the nodes.
        totals: Sums of the cells below the nodes, (cells, words).
    """
    ring = public.domain.ring
    count = len(nodes)
    if level == public.domain.levels:
        leaves = engine.leaf_sums(nodes, public).reshape(len(totals), ring.words)
        totals[:] = ring.add(totals, leaves)
    elif count > 1 and 2 * count * len(public) > 8192:  # blocks expanded at once, which fit into the cache
        for half, half_totals in zip((nodes[: count // 2], nodes[count // 2 :]), np.split(totals, 2), strict=True):
            _add_leaf_sums(engine, public, half, level, half_totals)
    else:
        children = engine.children(nodes, public.seeds[level], public.turns, level)
        _add_leaf_sums(engine, public, children, level + 1, totals)


# Costs in steps of one level, measured by benchmarks/comparison_functions.py. They are constants on all machines:
# shares of thresholds and shares of cells do not add up, so both servers must make the same choice.


def _draw_seeds(
    cells: Words, domain: Domain, randomness: RandomByteSource
) -> tuple[Words, tuple[SeedShare, SeedShare]]:
    """SECRET: return the cells as 64-bit words, and new random seeds for the keys of both servers.

    Args:
        cells: Cells to share, (count,).
        domain: Public range of the cells.
        randomness: Source of 32 bytes per key.

    Returns:
        Cells, (count,), and the seeds of server 0 and of server 1.

    Raises:
        InvalidArgument: a cell is outside the domain.
    """
    cells = np.ascontiguousarray(cells, dtype=np.uint64)
    domain.require(cells)
    return cells, (SeedShare.sample(len(cells), 0, randomness), SeedShare.sample(len(cells), 1, randomness))


def share_cells(
    cells: Words, domain: Domain, engine: Engine, randomness: RandomByteSource
) -> SharedKeys[ComparisonKeys]:
    """Share cells as comparison keys: for each cell x, a share of ``tau -> [tau >= x]`` for each of two servers.

    It is the distributed comparison function of Boyle, Chandran, Gilboa, Gupta, Ishai, Kumar and Rathee (2021, figure
    1), except that the value is gained where tau turns right and the cell left, and at the cell itself.

    Formal guarantees: for every tau the servers' values add up to 1 if ``tau >= x`` and to 0 otherwise. One server's
    key is indistinguishable from uniform if expanded seeds are indistinguishable from uniform blocks (see `TaskKeys`):
    at each level, blocks that only the other server's seed gives, and that are used once, mask the correction words;
    the lost child's blocks mask the corrections of seeds and values, the control bits of both children mask the
    corrections of control bits, and the kept child stays uniform for the next level. So a key shows its domain, and
    nothing of its cell.

    Args:
        cells: SECRET. ``(count,)``, below ``2**domain.bits``.
        randomness: Source of 32 bytes per key.

    Returns:
        Seeds of both servers and the correction words, which both get; `keys(party)` gives one server's keys.

    Raises:
        ValueError: a cell is outside the domain.

    >>> import numpy as np
    >>> from dpcurves_parties.crypto import PortableEngine, Z64, prefix_sums
    >>> from dpcurves.noise import Randomness
    >>> domain, engine = Domain(10, Z64), PortableEngine.from_task(b"task")
    >>> shared = share_cells(np.array([3, 700], np.uint64), domain, engine, Randomness.from_system())
    >>> domain.ring.reconstruct(*(prefix_sums(shared.keys(party), [2, 3, 1023], engine) for party in (0, 1)))
    (0, 1, 2)
    """
    cells, seeds = _draw_seeds(cells, domain, randomness)
    public = PublicShare.allocate(domain, len(cells))
    for chunk in chunk_slices(len(cells), engine.chunk_size):
        engine.generate(public[chunk], cells[chunk], seeds[0].words[chunk], seeds[1].words[chunk])
    return SharedKeys(ComparisonKeys, public, seeds)


def prefix_sums(keys: ComparisonKeys, thresholds: Sequence[int], engine: Engine) -> tuple[int, ...]:
    """Return one server's share of the number of cells at or below each threshold, modulo the ring's size.

    Common prefixes of paths are evaluated once. Both servers must pass the same thresholds in one call: only shares of
    the same call add up.

    Args:
        keys: Keys of one server.
        thresholds: Cells, in any order; they may be repeated.
        engine: Engine that expands the keys' seeds.

    Raises:
        ValueError: a threshold is outside the domain.
    """
    ring = keys.domain.ring
    if is_enumeration_cheaper(keys.domain, thresholds):
        return ring.to_integers(ring.running_sums(cell_sums(keys, engine))[list(thresholds)])
    totals = np.zeros((len(thresholds), ring.words), np.uint64)
    for position, _, numbers in _evaluate_chunks(keys, thresholds, engine):
        totals[position] = ring.add(totals[position], ring.sums(numbers))
    return ring.to_integers(ring.negate(totals) if keys.seeds.party else totals)


def is_enumeration_cheaper(domain: Domain, thresholds: Sequence[int]) -> bool:
    """Return True if counting every cell costs less than walking to these thresholds. Both servers get the same
    result.

    Args:
        domain: Domain of the cells.
        thresholds: Numbers of cells, in any order.

    Returns:
        True or False; always False if the domain is too large to be enumerated.
    """
    paths = sorted({threshold >> domain.leaf_bits for threshold, _ in domain.sort_thresholds(thresholds)})
    steps = sum((domain.levels, *((low ^ high).bit_length() for low, high in pairwise(paths)))) if paths else 0
    # 1.5: steps per cell of the domain
    # 3.0: steps per leaf of a threshold's path
    return domain.is_enumerable and steps + 3.0 * len(paths) > 1.5 * 2**domain.bits


def evaluate_keys(keys: ComparisonKeys, thresholds: Sequence[int], engine: Engine) -> Words:
    """SECRET: return one server's share of each comparison, (thresholds, keys, words).

    Args:
        keys: Keys of one server.
        thresholds: Cells, in any order.
        engine: Engine that expands the keys' seeds.

    Raises:
        ValueError: a threshold is outside the domain.
    """
    result = np.empty((len(thresholds), len(keys), keys.domain.ring.words), np.uint64)
    for position, chunk, numbers in _evaluate_chunks(keys, thresholds, engine):
        result[position, chunk] = numbers
    return keys.domain.ring.negate(result) if keys.seeds.party else result


def _evaluate_chunks(
    keys: ComparisonKeys, thresholds: Sequence[int], engine: Engine
) -> Iterator[tuple[int, slice, Words]]:
    """Evaluate all keys at all thresholds, in chunks of keys that fit in the cache.

    Args:
        keys: Keys of one server.
        thresholds: Cells of the domain, in any order.
        engine: Engine that computes AES.

    Yields:
        Position of a threshold in `thresholds`, slice of keys, and their shares as unsigned integers, (keys, words).
    """
    ring = keys.domain.ring
    walk = _Walk(keys.domain, keys.domain.sort_thresholds(thresholds), engine)
    for span in chunk_slices(len(keys), engine.chunk_size):
        chunk = keys[span]
        state = PathState(chunk.seeds.words.copy(), np.zeros((len(chunk), ring.words), np.uint64))
        for position, numbers in walk.visit(chunk.public, state, 0, 0, len(thresholds)):
            yield position, span, numbers


@dataclass(frozen=True, slots=True)
class _Walk:
    """A depth-first walk to all thresholds, in order. The state is copied where paths diverge."""

    domain: Domain
    thresholds: tuple[tuple[int, int], ...]
    engine: Engine

    def visit(
        self, public: PublicShare, state: PathState, level: int, first: int, last: int
    ) -> Iterator[tuple[int, Words]]:
        """Evaluate keys at some thresholds in one walk down the binary tree, in which common parts of paths are
        computed once.

        Args:
            public: Correction words of the keys.
            state: Seeds and values of the keys at the node where the paths still agree; changed.
            level: Level of this node, 0 at the root.
            first, last: First sorted threshold, and the one after the last.

        Yields:
            Position of a threshold as it was given, and the shares as unsigned integers, (keys, words).
        """
        if first == last:
            return
        low = self._path(first)
        high = self._path(last - 1)
        stop = self.domain.levels - (low ^ high).bit_length()
        self.engine.descend(state, public, level, stop, low >> (self.domain.levels - stop))
        if low == high:
            yield from self._leaf_values(public, state, first, last)
            return
        shift = self.domain.levels - stop - 1
        left_numbers = [number for number in range(first, last) if not self._path(number) >> shift & 1]
        middle = first + len(left_numbers)
        yield from self.visit(public, state.copy(), stop, first, middle)
        yield from self.visit(public, state, stop, middle, last)

    def _path(self, number: int) -> int:
        """Return the path from the root to the leaf that holds a threshold, one bit per level; 1 turns right.

        Args:
            number: Position of the threshold in the sorted list.
        """
        return self.thresholds[number][0] >> self.domain.leaf_bits

    def _leaf_values(self, public: PublicShare, state: PathState, first: int, last: int) -> Iterator[tuple[int, Words]]:
        """Yield the position and the unsigned values (keys, words) of the thresholds in the leaf that `state` has
        reached.

        Args:
            public: Correction words of the keys.
            state: Seeds and values at the leaf.
            first: Index of the first threshold in the leaf.
            last: Index after the last.
        """
        words = self.domain.ring.words
        leaves = self.engine.leaf_values(state, public)
        for threshold, position in self.thresholds[first:last]:
            start = (threshold & ((1 << self.domain.leaf_bits) - 1)) * words
            yield position, self.domain.ring.add(state.values, leaves[:, start : start + words])


# Verifiable function shares of `tau -> [tau >= cell]`: an owner counts once, or is dropped.


DIGEST_SIZE = 16
"""Bytes of the digest by which both servers compare what they computed from a key: 16, so that digests of different
values are equal by chance with probability 2**-128."""
Node = tuple[int, int]
"""Node of the tree over the cells: its level, and its number in that level from the left."""
_CHECKED_KEYS_AT_ONCE = 1024
"""Checked keys (verifiable function secret sharing) that are generated or evaluated in one pass, so that their states
fit into the processor's cache. Results do not depend on it."""
_MARK_BLOCKS = 5
"""Blocks of 16 bytes that a mark (the checksum of a checked key at one tree node) covers: four of both children's
hashes, one of their weights."""
_MARK_KEY_INFO = b"dpcurves: marks of nodes, version 1"
"""HKDF info under which both servers derive, from a key that they share, the key of marks: hashes by which they compare
a checked key at a tree node. Both must use the same."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CheckedValues:
    """SECRET: one server's values of checked keys at some thresholds, with the digests that the servers compare.

    Attributes:
        keys: Keys that the values belong to.
        values: The server's share for each threshold and key, (thresholds, keys, words).
        digests: Digests for the other server, (keys, 16) bytes.
    """

    keys: CheckedKeys
    values: Words
    digests: NDArray[np.uint8]

    def find_accepted(self, digests: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return a mask of the keys whose digests are equal at both servers; only these may count.

        Args:
            digests: The other server's digests, (keys, 16) bytes.

        Raises:
            ValueError: the number of digests differs.
        """
        if digests.shape != self.digests.shape:
            raise InvalidArgument(
                "digests", f"must have shape {self.digests.shape}, as the stored ones, got {digests.shape}"
            )
        return np.asarray((self.digests == digests).all(axis=1))

    def sums(self, accepted: NDArray[np.bool_]) -> tuple[int, ...]:
        """Return this server's share of each count, modulo the ring's size.

        A count is the number of accepted keys whose cell is at or below the threshold.

        Args:
            accepted: Mask of the keys that count, (keys,).
        """
        ring = self.keys.domain.ring
        return ring.to_integers(ring.sums(self.values[:, accepted]))


def share_checked_cells(
    cells: Words, domain: Domain, engine: Engine, randomness: RandomByteSource
) -> SharedKeys[CheckedKeys]:
    """Share cells as checked keys: for each cell x, a share of ``tau -> [tau >= x]`` for each of two servers.

    It is a verifiable incremental point function, as in the Mastic draft (Mouris, Patton, Davis, Sarkar and Tsoutsos
    2025), after de Castro and Polychroniadou (2022): a key states for each node of the binary tree over the cells
    whether its cell is below the node. Cells at or below a threshold are below left siblings on its path, or are its
    leaf.

    Formal guarantees: one server's key is indistinguishable from uniform for an adversary that can neither distinguish
    expanded seeds from uniform blocks nor hash a seed it does not have (SHA-256 as a random oracle; see `TaskKeys` for
    the blocks): seeds, control bits and weights are masked as in `share_cells`, and proofs by the hash of the other
    server's seed.

    Args:
        cells: SECRET. ``(count,)``, below ``2**domain.bits``.
        domain: Domain of the keys: bits of a cell, and ring of the values.
        engine: Engine that expands seeds.
        randomness: Source of 32 bytes per key.

    Returns:
        Seeds of both servers and the correction words, which both get; `keys(party)` gives one server's keys.

    Raises:
        ValueError: a cell is outside the domain.
    """
    cells, seeds = _draw_seeds(cells, domain, randomness)
    public = CheckedShare.allocate(domain, len(cells))
    for chunk in chunk_slices(len(cells), _CHECKED_KEYS_AT_ONCE):
        _write_corrections(public[chunk], cells[chunk], (seeds[0].words[chunk], seeds[1].words[chunk]), engine)
    return SharedKeys(CheckedKeys, public, seeds)


def evaluate_checked_keys(
    keys: CheckedKeys, thresholds: Sequence[int], engine: Engine, verification_key: bytes
) -> CheckedValues:
    """Return one server's share for each threshold and key, and a digest per key that must equal the other server's.

    Formal guarantees: *an honest owner's* digests are equal at both servers and reveal nothing to either, because each
    server can compute them alone.

    *A dishonest owner* chooses everything that both servers receive. If the digests of all calls so far are equal, all
    evaluated weights belong to a single cell x, and the values add up to ``[tau >= x]``, except with probability below
    ``2**-60``, if the owner computes at most 2**50 hashes and has not seen the verification key.

    *Proof.* Let s and s' be both servers' seeds of a node, and ``h(node, s)`` its hash, of 256 bits. Each hash is
    corrected by the proof p of its level if the seed's control bit is set. Different transcripts with
    equal digests are a collision of BLAKE2b under a key that the owner does not know: ``2**-128``. A transcript begins
    with a 256-bit fingerprint of the correction words, for which no collisions are found. So both servers have equal
    correction words, and an equal corrected hash at each evaluated node. If the control bits are equal, then
    h(s) = h(s'): a collision, or s = s'. In the latter case the node is *dead*: its weights cancel, and so do all
    weights below it, because they are computed from equal seeds and equal correction words. If the control bits differ,
    the node is *live*, and ``h(node, s) xor h(node, s') = p``. Two live nodes of one level would be four hashes of
    different inputs that add up to 0. Among q hashes there are fewer than ``q**4 / 24`` quadruples, each with
    probability ``2**-256`` if SHA-256 is a random oracle: below ``2**-60.5`` for ``q = 2**50``; collisions are rarer.
    So each level has at most one live node, over all calls together, since proofs do not change. The weight of the
    root is 1 by definition. Children's weights add up to their parent's weight, by the comparison, and dead nodes have
    weight 0: so a live child has its parent's weight, and a node of weight 1 has exactly one live child. The nodes of
    weight 1 form one path from the root. *End of proof.*

    For each threshold, both children of each node on its path are evaluated, down to the node whose range of cells
    begins just above the threshold: the count up to the threshold is the sum of the left siblings on the path. So a
    threshold whose successor is divisible by a high power of two needs few nodes, even in a large domain.

    Not covered: that the cell is the owner's true cell; that an accepted key passes at later thresholds; correct counts
    if a server deviates from the protocol.

    Args:
        verification_key: SECRET from owners. 32 bytes that both servers draw together after the last key is accepted.

    Raises:
        ValueError: a threshold is outside the domain, or the verification key has another length.

    >>> from dpcurves_parties.crypto import PortableEngine, Z64
    >>> from dpcurves.noise import Randomness
    >>> domain, engine = Domain(10, Z64), PortableEngine.from_task(b"task")
    >>> shared = share_checked_cells(np.array([3, 700], np.uint64), domain, engine, Randomness.from_system())
    >>> first, second = (evaluate_checked_keys(shared.keys(party), [2, 3], engine, bytes(32)) for party in (0, 1))
    >>> domain.ring.reconstruct(*(one.sums(first.find_accepted(second.digests)) for one in (first, second)))
    (0, 1)
    """
    verification_key_size = 32  # bytes of the key that both servers draw together
    if len(verification_key) != verification_key_size:
        raise InvalidArgument(
            "verification_key", f"must have {verification_key_size} bytes, got {len(verification_key)}"
        )
    ring = keys.domain.ring
    walk = _CheckedWalk(keys.domain, keys.domain.sort_thresholds(thresholds), engine)
    values = np.empty((len(thresholds), len(keys), ring.words), np.uint64)
    digests = np.empty((len(keys), DIGEST_SIZE), np.uint8)
    fingerprints = keys.public.fingerprints()
    for span in chunk_slices(len(keys), _CHECKED_KEYS_AT_ONCE):
        chunk = keys[span]
        transcript = _Transcript(verification_key)
        transcript.add(fingerprints[span])
        for position, numbers in walk.values(chunk.public, _create_root(chunk), transcript):
            values[position, span] = numbers
        digests[span] = transcript.digests()
    return CheckedValues(keys, ring.negate(values) if keys.seeds.party else values, digests)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Node:
    """SECRET: one server's states in the trees of some keys, all at one node.

    Attributes:
        level: Level of the node, 0 for the root.
        index: Number of the node in its level, from the left.
        seeds: Seeds, (keys, 2).
        weights: Weights of the node, (keys, words), without the server's sign.
        left_weights: Sum of the weights of all left siblings on the path to this node, (keys, words).
    """

    level: int
    index: int
    seeds: Words
    weights: Words
    left_weights: Words


@dataclass(frozen=True, slots=True)
class _CheckedWalk:
    """A depth-first walk to all thresholds, in order, which hashes both children of each visited node."""

    domain: Domain
    thresholds: tuple[tuple[int, int], ...]
    engine: Engine

    def values(self, public: CheckedShare, root: _Node, transcript: _Transcript) -> Iterator[tuple[int, Words]]:
        """Yield each threshold's position in the list as given, and this server's shares of the cells' indicators at
        it.

        A share is an unsigned value (keys, words): the weight of the tree's nodes at or below the threshold. A
        threshold at the domain's last cell gets the weight of the root.

        Args:
            public: Correction words of the keys.
            root: Root of the tree, with its seeds.
            transcript: Running hash of the values that both servers compare to check the keys.
        """
        inner_count = sum(threshold + 1 < 1 << self.domain.bits for threshold, _ in self.thresholds)
        yield from self.visit(public, root, (0, inner_count), transcript)
        yield from ((position, root.weights) for _, position in self.thresholds[inner_count:])

    def visit(
        self, public: CheckedShare, node: _Node, among: tuple[int, int], transcript: _Transcript
    ) -> Iterator[tuple[int, Words]]:
        """Yield the position and the values of the sorted thresholds ``among[0]`` to below ``among[1]``, which lie in
        the node.

        The hashes of all expanded nodes are added to the transcript.

        Args:
            public: Correction words of the keys.
            node: Node with the seeds and weights of all keys.
            among: First sorted threshold in the node, and the one after the last.
            transcript: Hash of all that the servers compare.

        Yields:
            Position of a threshold as it was given, and shares as unsigned integers, (keys, words).
        """
        (first, last), begin = among, node.index << self.domain.bits - node.level
        while first < last and self.thresholds[first][0] + 1 == begin:
            yield self.thresholds[first][1], node.left_weights
            first += 1
        if first == last:
            return
        left, right = self._expand_children(public, node, transcript)
        shift = self.domain.bits - left.level
        middle = first + sum(threshold + 1 >> shift == left.index for threshold, _ in self.thresholds[first:last])
        yield from self.visit(public, left, (first, middle), transcript)
        yield from self.visit(public, right, (middle, last), transcript)

    def _expand_children(self, public: CheckedShare, node: _Node, transcript: _Transcript) -> tuple[_Node, _Node]:
        """SECRET: return the left and the right child of a node, and add what the servers compare to the transcript.

        The servers compare both corrected hashes, and the children's weights minus the node's weight.

        Args:
            public: Correction words of the keys.
            node: Node with the seeds and weights of all keys.
            transcript: Hash of all that the servers compare.
        """
        ring, children, proofs, weights = (
            self.domain.ring,
            *_expand_node(self.engine, public, (node.level, node.index), node.seeds),
        )
        transcript.add(proofs[0])
        transcript.add(proofs[1])
        transcript.add(ring.subtract(ring.add(weights[0], weights[1]), node.weights))
        left = _Node(node.level + 1, 2 * node.index, children[0], weights[0], node.left_weights)
        return left, _Node(left.level, left.index + 1, children[1], weights[1], ring.add(node.left_weights, weights[0]))


def _expand_node(engine: Engine, public: CheckedShare, node: Node, seeds: Words) -> tuple[Words, Words, Words]:
    """SECRET: expand a node of all keys to its two children: seeds, corrected hashes and weights.

    Args:
        engine: Engine that expands seeds.
        public: Correction words.
        node: Level and index.
        seeds: Seeds of all keys at the node, (keys, 2).

    Returns:
        Seeds (2, keys, 2), corrected hashes (2, keys, 4) and unsigned weights (2, keys, words).
    """
    (level, index), count, ring = node, len(seeds), public.domain.ring
    children = engine.children(seeds[None], public.seeds[level], public.turns, level).reshape(-1, 2)
    mask = control_mask(children)
    weights = _weights(engine, public, level, children, mask).reshape(2, count, ring.words)
    node_numbers = np.repeat(np.array([2 * index, 2 * index + 1], np.uint64), count)
    proofs = np.repeat(mask, PROOF_WORDS).reshape(2, count, PROOF_WORDS) & public.proofs[level]
    proofs ^= _hash_seeds(engine, level, node_numbers, children).reshape(proofs.shape)
    return children.reshape(2, count, 2), proofs, weights


def _weights(engine: Engine, public: CheckedShare, level: int, seeds: Words, mask: Words) -> Words:
    """SECRET: return the unsigned weights of seeds one level below `level`, (len(seeds), words).

    Args:
        engine: Engine that expands seeds.
        public: Correction words.
        level: Level of the parents.
        seeds: Seeds of all keys once, or of all left and then all right children.
        mask: All ones where the control bit is set.
    """
    ring = public.domain.ring
    words = public.domain.ring.words
    blocks = engine.value_blocks(seeds)[:, :words].reshape(-1, len(public), words)
    return ring.add(blocks, mask.reshape(-1, len(public), 1) & public.values[level]).reshape(-1, words)


@dataclass(slots=True, repr=False, eq=False)
class _Transcript:
    """The words that the servers compare by a digest, one row per key."""

    key: bytes
    rows: list[Words] = field(default_factory=list)
    width: int = 0

    def add(self, words: Words) -> None:
        """Append the words of a tree node to each key's running transcript, (keys, n).

        A row of more than 1,024 words is replaced by its hash. Both servers do so after the same words, so digests stay
        equal.
        """
        self.rows.append(words)
        self.width += words.shape[1]
        if self.width > 1024:  # words of a key's transcript before it is folded; must be equal at both servers
            folded = self._hash_rows(32).view(np.uint64)
            self.rows = [folded]
            self.width = folded.shape[1]

    def digests(self) -> NDArray[np.uint8]:
        """Return the digest of each key's row so far, ``(keys, 16)`` bytes, for the other server."""
        return self._hash_rows(DIGEST_SIZE)

    def _hash_rows(self, size: int) -> NDArray[np.uint8]:
        """Return BLAKE2b of `size` bytes of each key's row, under the verification key."""
        return hash_rows(np.concatenate(self.rows, axis=1), size, self.key)


def find_path_nodes(thresholds: Sequence[int], bits: int) -> list[Node]:
    """Return the nodes whose children are evaluated for the numbers of cells below thresholds, level by level.

    Args:
        thresholds: Numbers of cells; those that are 0 or all cells need no node.
        bits: Levels of the binary tree over the cells.

    Returns:
        Pairs of level and index in the level, in increasing order.

    >>> find_path_nodes([4, 6], 3)
    [(0, 0), (1, 1)]
    """
    nodes: set[tuple[int, int]] = set()
    for threshold in thresholds:
        if 0 < threshold < 1 << bits:
            levels = bits + 1 - (threshold & -threshold).bit_length()  # down to the last set bit
            nodes.update((level, threshold >> bits - level) for level in range(levels))
    return sorted(nodes)


def sum_left_counts(left_counts: Mapping[Node, int], threshold: int, domain: Domain) -> int:
    """Return one server's share of the number of cells below a threshold, modulo the ring's size.

    It is the sum of the counts of left children on the threshold's path.

    Args:
        left_counts: This server's share of the count in the left child of each node.
        threshold: The threshold.
        domain: The domain of cells.
    """
    bits = domain.bits
    turned = (level for level in range(bits) if threshold >> bits - 1 - level & 1)
    return sum(left_counts[level, threshold >> bits - level] for level in turned) % domain.ring.modulus


class NodeMarkKey(NamedTuple):
    """SECRET from owners. Key of node marks, by which servers compare their hashes at a node.

    A mark of a key at a node is the XOR of five blocks, each encrypted after its mask was added: the four blocks of
    both children's corrected hashes, and the difference between their weights and the node's weight.

    Formal guarantees: *an honest owner's* marks are equal at both servers. Two different rows of five blocks, chosen
    without the key, have equal marks with probability below ``2**-120``, with AES as a random permutation: equal blocks
    cancel; among the others, two inputs are equal with probability of at most ``45 * 2**-128``, since each position has
    its own mask; and two or more different outputs of a permutation of ``2**128`` add up to 0 with probability below
    ``2**-127``.
    """

    key: bytes
    masks: Words

    @classmethod
    def from_verification_key(cls, verification_key: bytes) -> NodeMarkKey:
        """Return the secret key of marks (checks of keys at tree nodes), which both servers derive by HKDF-SHA256.

        Args:
            verification_key: SECRET from owners. Key that both servers share.
        """
        stream = HKDF(SHA256(), 16 * (_MARK_BLOCKS + 1), salt=None, info=_MARK_KEY_INFO).derive(verification_key)
        return cls(stream[:16], np.frombuffer(stream[16:], "<u8").astype(np.uint64).reshape(_MARK_BLOCKS, 2))

    def compute_marks(self, blocks: Words) -> Words:
        """Return one mark of 128 bits for each key, (keys, 2).

        Args:
            blocks: The five blocks of each key, (5, keys, 2).
        """
        masked = (blocks ^ self.masks[:, None]).reshape(-1, 2)
        return np.asarray(np.bitwise_xor.reduce(encrypt_blocks(self.key, masked).reshape(blocks.shape), axis=0))


class NodeSums(NamedTuple):
    """SECRET. One server's view of some nodes, in order, over some keys.

    Attributes:
        left_counts: Shares of the number of cells in the left child of each node, (nodes, words).
        marks: SHA-256 of the marks of all keys, (nodes, 32) bytes, which must equal the other server's.
    """

    left_counts: Words
    marks: NDArray[np.uint8]


@dataclass(slots=True, repr=False, eq=False)
class NodeWalk:
    """SECRET. One server's walk down the trees of accepted checked keys, for thresholds asked one after the other.

    The last nodes are cached, so that their children are reached quickly. It has no repr.

    Attributes:
        keys: The keys.
        engine: Engine that expands their seeds.
        mark_key: Key of marks.
    """

    keys: CheckedKeys
    engine: Engine
    mark_key: NodeMarkKey
    _cached_seeds: dict[Node, Words] = field(default_factory=dict)

    def evaluate_nodes(self, nodes: Sequence[Node]) -> NodeSums:
        """Return this server's share of the number of cells in each node's left child, and a hash of all keys' marks
        there.

        Both servers compare the hashes, which shows that every key is valid at the node.

        Args:
            nodes: Pairs of level and index; parents come before their children.
        """
        domain = self.keys.domain
        party = self.keys.seeds.party
        reached = {(0, 0): self.keys.seeds.words, **self._cached_seeds}
        left_counts = []
        marks = []
        for node in nodes:
            total, marked = self._evaluate_node(node, self._find_seeds(node, reached))
            left_counts.append(total)
            marks.append(sha256(marked.astype("<u8", copy=False).tobytes()).digest())
        parents = {(level - 1, index >> 1) for level, index in nodes}
        leaves = [node for node in nodes if node not in parents]
        # 64: nodes whose seeds a walk caches at most, at 16 bytes per key and node
        self._cached_seeds = {node: reached[node].copy() for node in leaves[:64]}
        sums = np.array(left_counts, np.uint64).reshape(len(nodes), domain.ring.words)
        mark_array = np.frombuffer(b"".join(marks), np.uint8).reshape(len(nodes), 32)
        return NodeSums(domain.ring.negate(sums) if party else sums, mark_array)

    def _find_seeds(self, node: Node, reached: dict[Node, Words]) -> Words:
        """SECRET: return this server's seeds of all keys at one node of their trees, (keys, 2).

        Args:
            node: Level and index of the node.
            reached: Seeds by node, already computed; nodes on the way and their siblings are added.
        """
        if node not in reached:
            level = node[0] - 1
            index = node[1] >> 1
            parent_seeds = self._find_seeds((level, index), reached)
            public = self.keys.public
            children = self.engine.children(parent_seeds[None], public.seeds[level], public.turns, level)
            reached[level + 1, 2 * index], reached[level + 1, 2 * index + 1] = children
        return reached[node]

    def _evaluate_node(self, node: Node, seeds: Words) -> tuple[Words, Words]:
        """Return the sum over all keys of their weights at a node's left child, and all keys' marks at the node.

        Args:
            node: Level and index of the node.
            seeds: Seeds of all keys at the node, (keys, 2).

        Returns:
            Sum, ``(words,)``, and marks, ``(keys, 2)``.
        """
        public = self.keys.public
        ring = self.keys.domain.ring
        level = node[0]
        if isinstance(self.engine, FastEngine) and self.engine.has_node_evaluation and ring.words == 1:
            total, marks = self.engine.evaluate_node(node, seeds, 1 - self.keys.seeds.party, public, self.mark_key)
            return np.array([total], np.uint64), marks
        if level:
            node_weights = _weights(self.engine, public, level - 1, seeds, control_mask(seeds))
        else:
            node_weights = _create_root(self.keys).weights
        _, proofs, weights = _expand_node(self.engine, public, node, seeds)
        blocks = np.zeros((_MARK_BLOCKS, len(seeds), 2), np.uint64)
        blocks[:4] = proofs.reshape(2, len(seeds), 2, 2).swapaxes(1, 2).reshape(4, len(seeds), 2)
        blocks[4, :, : ring.words] = ring.subtract(ring.add(weights[0], weights[1]), node_weights)
        return ring.sums(weights[0]), self.mark_key.compute_marks(blocks)


def _create_root(keys: CheckedKeys) -> _Node:
    """Return the root, whose weight is 1: server 0 has share 1, server 1 has share 0.

    Args:
        keys: SECRET. Checked keys of one server.
    """
    zeros = np.zeros((len(keys), keys.domain.ring.words), np.uint64)
    weights = zeros.copy()
    weights[:, 0] = 1 - keys.seeds.party
    return _Node(0, 0, keys.seeds.words, weights, zeros)


def _write_corrections(public: CheckedShare, cells: Words, server_seeds: tuple[Words, Words], engine: Engine) -> None:
    """SECRET: write the correction words of checked keys into `public`, level by level, from both servers' root seeds
    ``(keys, 2)``.

    Args:
        public: Arrays of the correction words, written here.
        cells: SECRET. Cell of each key.
        server_seeds: Root seeds of both servers.
        engine: Engine that expands seeds.
    """
    ring = public.domain.ring
    bits = public.domain.bits
    zeros = np.zeros((len(cells), 2), np.uint64)
    for level in range(bits):
        right = right_turn_mask(cells, bits, level)
        sides = [engine.children(seeds[None], zeros, zeros[:, 0], level) for seeds in server_seeds]
        correction, turn = seed_correction(right, sides[0][0] ^ sides[1][0], sides[0][1] ^ sides[1][1])
        public.seeds[level] = correction
        public.turns[:] |= turn >> np.uint64(63 - level)
        correction[:, 1] ^= turn & right
        first, second = (
            choose_side(widen_mask(right), *side) ^ (correction & widen_mask(control_mask(seeds)))
            for side, seeds in zip(sides, server_seeds, strict=True)
        )
        difference = ring.subtract(*(engine.value_blocks(seeds)[:, : ring.words] for seeds in (second, first)))
        unit = ring.units(~np.zeros(len(cells), np.uint64))
        public.values[level] = ring.negate_where(control_mask(second), ring.add(difference, unit))
        nodes = cells >> np.uint64(bits - 1 - level)
        public.proofs[level] = _hash_seeds(engine, level, nodes, first) ^ _hash_seeds(engine, level, nodes, second)
        server_seeds = first, second


def _hash_seeds(engine: Engine, level: int, node_numbers: Words, seeds: Words) -> Words:
    """SECRET: return SHA-256 of task prefix, level, node number and seed, ``(len(seeds), 4)`` words, for seeds one
    level below `level`.

    Args:
        engine: Engine that hashes, with the task's prefix.
        level: Level of the parents.
        node_numbers: Number of each seed's node.
        seeds: Seeds, (keys, 2).
    """
    messages = np.empty((len(seeds), 6), np.uint64)
    messages[:, :2] = np.frombuffer(engine.keys.prefix, "<u8")
    messages[:, 2], messages[:, 3], messages[:, 4:] = level, node_numbers, seeds
    return engine.hash_messages(messages)
