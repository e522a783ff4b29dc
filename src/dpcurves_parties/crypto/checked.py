"""Function shares of `tau -> [tau >= cell]` that two servers can check: an owner counts once, or is dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import Refused

from .engine import Engine, chosen, chunks, control, seed_correction, turns_right, twice
from .keys import PROOF_WORDS, CheckedKeys, CheckedShare, Octets, SeedShare, digested
from .ring import Domain, Words

DIGEST_SIZE = 16
VERIFICATION_KEY_SIZE = 32
_CHUNK = 1024
_MOST_WORDS = 1024  # of a key's transcript, before it is folded; both servers have to fold alike


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SharedChecked:
    """SECRET as a whole: what an owner sends. Each server gets the public share, and its own seeds alone."""

    public: CheckedShare
    seeds: tuple[SeedShare, SeedShare]

    def keys(self, party: int) -> CheckedKeys:
        """SECRET: what one server gets."""
        return CheckedKeys(self.public, self.seeds[party])


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CheckedValues:
    """SECRET: values of one server at some thresholds, with digests.

    Attributes:
        keys: Keys that the values belong to.
        values: Its share for each threshold and key, ``(thresholds, keys, words)``.
        digests: Digests shown to the other server, ``(keys, 16)`` bytes.
    """

    keys: CheckedKeys
    values: Words
    digests: NDArray[np.uint8]

    def accepted(self, digests: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Mask of the keys that may count: those whose digests equal the other server's.

        Raises:
            ValueError: there are not as many digests as here.
        """
        if digests.shape != self.digests.shape:
            raise Refused("digests", f"{self.digests.shape} are needed, got {digests.shape}")
        return np.asarray((self.digests == digests).all(axis=1))

    def sums(self, accepted: NDArray[np.bool_]) -> tuple[int, ...]:
        """The share of how many accepted cells lie at or below each threshold, modulo the ring's size."""
        ring = self.keys.domain.ring
        return ring.integers(ring.sums(self.values[:, accepted]))


def share_checked_cells(cells: Words, domain: Domain, engine: Engine, randomness: Octets) -> SharedChecked:
    """Share cells as checked keys: for each cell x, a share of ``tau -> [tau >= x]`` for each of two servers.

    A verifiable incremental point function, as in the Mastic draft (Mouris, Patton, Davis, Sarkar and Tsoutsos 2025),
    after de Castro and Polychroniadou (2022): a key says of each node of the binary tree over the cells whether its
    cell lies below the node. Cells at or below a threshold lie below left siblings on its path, or are its own leaf.

    Formal guarantees: what one server gets is as good as uniform to whoever can neither tell expanded seeds from
    uniform blocks nor hash a seed that it has not got (SHA-256 being a random oracle, see `TaskKeys` for the blocks):
    seeds, control bits and weights are masked as those of `share_cells`, and proofs by the hash of the other's seed.

    Args:
        cells: ``(count,)``, below ``2**domain.bits``. SECRET.
        randomness: 32 bytes a key are taken.

    Raises:
        ValueError: a cell is outside the domain.
    """
    cells = np.ascontiguousarray(cells, dtype=np.uint64)
    domain.require(cells)
    seeds = SeedShare.drawn(len(cells), 0, randomness), SeedShare.drawn(len(cells), 1, randomness)
    public = CheckedShare.blank(domain, len(cells))
    for part in chunks(len(cells), _CHUNK):
        _write(public[part], cells[part], (seeds[0].words[part], seeds[1].words[part]), engine)
    return SharedChecked(public, seeds)


def checked_values(
    keys: CheckedKeys, thresholds: Sequence[int], engine: Engine, verification_key: bytes
) -> CheckedValues:
    """Share of one server for each threshold and key, and a digest of each key that must equal the other server's.

    Formal guarantees: *an honest owner's* digests are the same at both servers, and tell neither anything: each could
    have worked them out alone.

    *A dishonest owner* chooses all that both servers get. If the digests of all questions so far are the same, the
    weights that were looked at are those of one cell x, and the values add up to ``[tau >= x]``; but for a probability
    below ``2**-60``, as long as the owner computes at most 2**50 hashes, and has not seen the verification key.

    *Proof.* Let s and s' be both servers' seeds of a node, and ``h(node, s)`` its hash, of 256 bits. Each hash is
    corrected by the proof p of its level if the seed's control bit is set. Equal digests of different transcripts are
    a collision of BLAKE2b under a key that the owner does not know: ``2**-128``. They begin with a fingerprint of the
    correction words, of 256 bits, of which collisions are not found. So the correction words are the same at both
    servers, and so is, of every node that was looked at, the corrected hash. If the control bits are equal,
    then h(s) = h(s'): a collision, or s = s'. In the latter case the node is *dead*: its weights cancel, and so do all
    below it, for they are worked out from equal seeds and equal correction words. If control bits differ, the node is
    *live*, and ``h(node, s) xor h(node, s') = p``. If two nodes of one level were live, four hashes of different inputs
    would add up to 0. Among q hashes there are fewer than ``q**4 / 24`` such fours, of probability ``2**-256`` each
    where SHA-256 is a random oracle: below ``2**-60.5`` for ``q = 2**50``; collisions are fewer. So one node of a level
    is live at most, in all questions together, since proofs do not change. The weight of the root is 1 by definition.
    Children's weights add up to their parent's, which was compared, and dead ones have 0: so the live one has its
    parent's, and a node of weight 1 has one live child. Nodes of weight 1 are one path from the root. *End of proof.*

    What is not promised: that the cell is the owner's true one; that a key which passed now passes at thresholds that
    are asked later; right counts where a server does not follow the protocol.

    Args:
        verification_key: 32 bytes that both servers draw together once no more keys are taken. SECRET from owners.

    Raises:
        ValueError: a threshold is outside the domain, or the verification key has another length.

    >>> from dpcurves_parties.crypto import PortableEngine, Z64
    >>> from dpcurves.noise import Randomness
    >>> domain, engine = Domain(10, Z64), PortableEngine.of_task(b"task")
    >>> shared = share_checked_cells(np.array([3, 700], np.uint64), domain, engine, Randomness.system())
    >>> first, second = (checked_values(shared.keys(party), [2, 3], engine, bytes(32)) for party in (0, 1))
    >>> domain.ring.opened(*(one.sums(first.accepted(second.digests)) for one in (first, second)))
    (0, 1)
    """
    if len(verification_key) != VERIFICATION_KEY_SIZE:
        raise Refused("verification_key", f"{VERIFICATION_KEY_SIZE} bytes are needed, got {len(verification_key)}")
    ring, walk = keys.domain.ring, _CheckedWalk(keys.domain, keys.domain.in_order(thresholds), engine)
    values = np.empty((len(thresholds), len(keys), ring.words), np.uint64)
    digests = np.empty((len(keys), DIGEST_SIZE), np.uint8)
    fingerprints = keys.public.fingerprints()
    for part in chunks(len(keys), _CHUNK):
        chunk, transcript = keys[part], _Transcript(verification_key)
        transcript.add(fingerprints[part])
        for place, numbers in walk.visit(chunk.public, _root(chunk), (0, len(thresholds)), transcript):
            values[place, part] = numbers
        digests[part] = transcript.digests()
    return CheckedValues(keys, ring.negated(values) if keys.seeds.party else values, digests)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Node:
    """SECRET: states of one server in the trees of some keys, all at one node.

    Attributes:
        seeds: ``(keys, 2)``.
        weights: ``(keys, words)``, without the server's sign.
        left: ``(keys, words)``: the weights of all left siblings on the way here.
    """

    level: int
    index: int
    seeds: Words
    weights: Words
    left: Words


@dataclass(frozen=True, slots=True)
class _CheckedWalk:
    """Depth-first walk along the paths of all thresholds, in order; both children of a node are looked at."""

    domain: Domain
    thresholds: tuple[tuple[int, int], ...]
    engine: Engine

    def visit(
        self, public: CheckedShare, node: _Node, among: tuple[int, int], transcript: _Transcript
    ) -> Iterator[tuple[int, Words]]:
        """Values at thresholds number ``among[0]`` to ``among[1]``, whose paths go through the node."""
        first, last = among
        if first == last:
            return
        if node.level == self.domain.bits:
            value = self.domain.ring.add(node.left, node.weights)
            yield from ((place, value) for _, place in self.thresholds[first:last])
            return
        left, right = self._children(public, node, transcript)
        shift = self.domain.bits - left.level
        middle = first + sum(threshold >> shift == left.index for threshold, _ in self.thresholds[first:last])
        yield from self.visit(public, left, (first, middle), transcript)
        yield from self.visit(public, right, (middle, last), transcript)

    def _children(self, public: CheckedShare, node: _Node, transcript: _Transcript) -> tuple[_Node, _Node]:
        ring, level, count = self.domain.ring, node.level, len(node.seeds)
        below = self.engine.children(node.seeds[None], public.seeds[level], public.turns, level).reshape(-1, 2)
        mask = control(below)
        blocks = self.engine.blocks(below)[:, : ring.words].reshape(2, count, ring.words)
        weights = ring.add(blocks, mask.reshape(2, count, 1) & public.values[level])
        places = np.repeat(np.array([2 * node.index, 2 * node.index + 1], np.uint64), count)
        proofs = np.repeat(mask, PROOF_WORDS).reshape(2, count, PROOF_WORDS) & public.proofs[level]
        proofs ^= _hashes(self.engine, level, places, below).reshape(proofs.shape)
        transcript.add(proofs[0])
        transcript.add(proofs[1])
        transcript.add(ring.subtract(ring.add(weights[0], weights[1]), node.weights))
        left = _Node(level + 1, 2 * node.index, below[:count], weights[0], node.left)
        return left, _Node(level + 1, 2 * node.index + 1, below[count:], weights[1], ring.add(node.left, weights[0]))


@dataclass(slots=True, repr=False, eq=False)
class _Transcript:
    """Transcript of the hashes that are compared for some keys, with a row for each key."""

    key: bytes
    rows: list[Words] = field(default_factory=list)
    width: int = 0

    def add(self, words: Words) -> None:
        self.rows.append(words)
        self.width += words.shape[1]
        if self.width > _MOST_WORDS:
            folded = self._digested(32).view(np.uint64)
            self.rows, self.width = [folded], folded.shape[1]

    def digests(self) -> NDArray[np.uint8]:
        return self._digested(DIGEST_SIZE)

    def _digested(self, size: int) -> NDArray[np.uint8]:
        return digested(np.concatenate(self.rows, axis=1), size, self.key)


def _root(keys: CheckedKeys) -> _Node:
    """The weight of the root is 1: server 0 has it."""
    nothing = np.zeros((len(keys), keys.domain.ring.words), np.uint64)
    weights = nothing.copy()
    weights[:, 0] = 1 - keys.seeds.party
    return _Node(0, 0, keys.seeds.words, weights, nothing)


def _write(public: CheckedShare, cells: Words, pair: tuple[Words, Words], engine: Engine) -> None:
    """Correction words of all levels."""
    ring, bits, zeros = public.domain.ring, public.domain.bits, np.zeros((len(cells), 2), np.uint64)
    for level in range(bits):
        right = turns_right(cells, bits, level)
        sides = [engine.children(seeds[None], zeros, zeros[:, 0], level) for seeds in pair]
        correction, turn = seed_correction(right, sides[0][0] ^ sides[1][0], sides[0][1] ^ sides[1][1])
        public.seeds[level] = correction
        public.turns[:] |= turn >> np.uint64(63 - level)
        correction[:, 1] ^= turn & right
        first, second = (
            chosen(twice(right), *side) ^ (correction & twice(control(seeds)))
            for side, seeds in zip(sides, pair, strict=True)
        )
        difference = ring.subtract(*(engine.blocks(seeds)[:, : ring.words] for seeds in (second, first)))
        one = ring.units(~np.zeros(len(cells), np.uint64))
        public.values[level] = ring.negated_where(control(second), ring.add(difference, one))
        nodes = cells >> np.uint64(bits - 1 - level)
        public.proofs[level] = _hashes(engine, level, nodes, first) ^ _hashes(engine, level, nodes, second)
        pair = first, second


def _hashes(engine: Engine, level: int, places: Words, seeds: Words) -> Words:
    """Hashes of seeds at nodes of a level below the root."""
    messages = np.empty((len(seeds), 6), np.uint64)
    messages[:, :2] = np.frombuffer(engine.keys.prefix, "<u8")
    messages[:, 2], messages[:, 3], messages[:, 4:] = level, places, seeds
    return engine.digests(messages)
