"""Secret sharing of records between two servers: owners' encoding, and the servers' shares of all reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from hashlib import sha256
from threading import Lock
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import Refused
from dpcurves.noise.randomness import Randomness

from .. import crypto
from ..crypto.keys import Shared
from ..serving.noise_key import NoiseKey
from ..serving.two_servers.collection import AT_ONCE
from ..serving.two_servers.kinds import Sharing
from .answer_proofs import Prover, require_words

Words = NDArray[np.uint64]
SEED = 16
RING = 2**64
VALUES_AT_ONCE = 2**22
"""Values of checked reports that are held in memory together: 32 MB."""


@dataclass(frozen=True)
class Encoding(Sharing):
    """Encoding of the reports of one task: the same for owners and servers.

    Attributes:
        SHARE: Makes keys of cells.
        PUBLIC: Kind of the public halves of keys.
        slots: A record is in one of these, or behind them if it is missing.
        engine: Engine that expands seeds, with the keys of the task.
        proofs: Number of words in each report by which answers are proved, one for each analyst.
        prover: SECRET. Maker of these words; an owner has one.
    """

    SHARE: ClassVar[Callable[..., Shared[Any]]] = staticmethod(crypto.share_cells)
    PUBLIC: ClassVar[type[crypto.PublicShare] | type[crypto.CheckedShare]] = crypto.PublicShare

    slots: int
    engine: crypto.Engine
    proofs: int = 0
    prover: Prover | None = field(default=None, repr=False)

    @property
    def domain(self) -> crypto.Domain:
        """The domain of the slots, and the place behind them."""
        return crypto.Domain(self.slots.bit_length(), crypto.Z64)

    @property
    def public_size(self) -> int:
        return 8 * (self.PUBLIC.record_words(self.domain) + self.proofs)

    @property
    def size(self) -> int:
        return self.public_size + SEED

    def shared(self, places: NDArray[np.int64], randomness: Randomness) -> list[tuple[bytes, bytes]]:
        """SECRET: shares of each record for server 0 and for server 1.

        Formal guarantees: what one server gets tells it nothing about the record (see `share_cells`, and for checked
        reports `share_checked_cells`).

        Raises:
            ValueError: a place is none of the slots, nor the one behind them.
        """
        if np.any((places < 0) | (places > self.slots)):
            raise Refused("places", f"slots from 0 to {self.slots} are needed")
        shares = self.SHARE(places.astype(np.uint64), self.domain, self.engine, randomness)
        public = np.hstack([shares.public.records(), self._words(places, [each.words for each in shares.seeds])])
        first, second = (_rows(np.hstack([public, each.words])) for each in shares.seeds)
        return list(zip(first, second, strict=True))

    def _words(self, places: NDArray[np.int64], seeds: Sequence[Words]) -> Words:
        if self.prover is None:
            return np.zeros((len(places), self.proofs), np.uint64)
        first, second = map(_rows, seeds)
        return self.prover.words(places, first, second)

    def warm(self) -> None:
        (share, _), *_ = self.shared(np.zeros(1, dtype=np.int64), Randomness.system())
        crypto.prefix_sums(self.keys(0, [share]), [0, self.slots], self.engine)

    def require(self, party: int, shares: Sequence[bytes]) -> None:
        """Refuse what are no keys. Raises `ValueError`: a share is not of this encoding and party."""
        public, seeds = self._parts(shares)
        self.PUBLIC.require(self.domain, public)
        crypto.SeedShare(party, seeds)

    def keys(self, party: int, shares: Sequence[bytes]) -> crypto.ComparisonKeys:
        """SECRET: the keys in the shares of some reports, for one server.

        Raises:
            ValueError: a share is not of this encoding and party.
        """
        return self.gathered(party, [shares], len(shares))

    def gathered(self, party: int, parts: Iterable[Sequence[bytes]], count: int) -> crypto.ComparisonKeys:
        """SECRET: the keys of so many reports, whose shares come in parts. Raises `ValueError`: as `keys`."""
        return crypto.ComparisonKeys(*self._gathered(party, parts, count))

    def proved(self, shares: Sequence[bytes]) -> tuple[Words, list[bytes]]:
        """SECRET: the words in the shares of some reports, ``(reports, proofs)``, and the seed of each."""
        public, seeds = _parts(shares, self.public_size)
        return public[:, public.shape[1] - self.proofs :], _rows(seeds)

    def _gathered(self, party: int, parts: Iterable[Sequence[bytes]], count: int) -> tuple[Any, crypto.SeedShare]:
        """Both halves, each in one piece of memory, into which parts are laid when they come. What is more is left."""
        public: Any = self.PUBLIC.blank(self.domain, count)
        seeds, start = np.empty((count, 2), np.uint64), 0
        for shares in parts:
            (rows, own), room = self._parts(shares), public[start : start + len(shares)]
            room.put(self.PUBLIC.from_records(self.domain, rows)[: len(room)])
            seeds[start : start + len(shares)] = own[: len(room)]
            start += len(shares)
        return public, crypto.SeedShare(party, seeds)

    def _parts(self, shares: Sequence[bytes]) -> tuple[Words, Words]:
        """The public halves, without words of proofs, and the seeds. Raises `ValueError`: a word is none."""
        public, seeds = _parts(shares, self.public_size)
        size = public.shape[1] - self.proofs
        if self.proofs:
            require_words(public[:, size:])
        return public[:, :size], seeds


@dataclass(frozen=True)
class CheckedEncoding(Encoding):
    """Encoding of reports that servers can check: an owner counts once, or is dropped."""

    SHARE = staticmethod(crypto.share_checked_cells)
    PUBLIC = crypto.CheckedShare

    def checked_keys(self, party: int, shares: Sequence[bytes]) -> crypto.CheckedKeys:
        """SECRET: the keys in the shares of some reports, for one server. Raises `ValueError`: as `Encoding.keys`."""
        return self.gathered_checked(party, [shares], len(shares))

    def gathered_checked(self, party: int, parts: Iterable[Sequence[bytes]], count: int) -> crypto.CheckedKeys:
        """SECRET: as `Encoding.gathered`."""
        return crypto.CheckedKeys(*self._gathered(party, parts, count))

    def warm(self) -> None:
        (share, _), *_ = self.shared(np.zeros(1, dtype=np.int64), Randomness.system())
        crypto.checked_values(self.checked_keys(0, [share]), [0, self.slots], self.engine, bytes(32))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Reports:
    """SECRET. A `ShareHolder`: one server's shares of a set of reports that never changes. It has no repr.

    Attributes:
        keys: The keys of all reports.
        engine: Engine that expands their seeds.
        noise: The key of this server's noise, for this set alone.
    """

    keys: crypto.ComparisonKeys
    engine: crypto.Engine
    noise: NoiseKey

    def below(self, at: Sequence[int]) -> tuple[int, ...]:
        """SECRET: shares, modulo 2**64, of how many reports lie in the first slots, for each of `at`."""
        return crypto.prefix_sums(self.keys, [slots - 1 for slots in at], self.engine)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CheckedReports:
    """SECRET. One server's shares of a set of checked reports that never changes. It has no repr.

    Attributes:
        keys: The keys of all reports.
        engine: Engine that expands their seeds.
        verification: 32 bytes that both servers have, and no owner.
    """

    keys: crypto.CheckedKeys
    engine: crypto.Engine
    verification: bytes
    _walks: list[crypto.NodeWalk] = field(default_factory=list, init=False)

    def evaluated(self, at: Sequence[int]) -> Evaluation:
        """SECRET: the sums over all reports, and what has to be compared before any of them counts."""
        thresholds = tuple(sorted({slots for slots in at if slots}))
        return Evaluation(thresholds, self, *self.summed(self.keys, thresholds))

    def sums_of(self, counted: NDArray[np.bool_], at: Sequence[int]) -> tuple[int, ...]:
        """SECRET: the sums over the reports of a mask."""
        return self.summed(self.keys[counted], at)[0]

    def looked(self, counted: NDArray[np.bool_], nodes: Sequence[crypto.Node]) -> crypto.NodeSums:
        """SECRET: sums at nodes, and hashes of marks, over the reports of a mask that never changes.

        Marks are hashed in blocks of so many reports as jobs have, so that they are the same with and without jobs.
        """
        if not self._walks:
            marking = crypto.Marking.of(self.verification)
            for start in range(0, len(self.keys), AT_ONCE):
                part, among = self.keys[start : start + AT_ONCE], counted[start : start + AT_ONCE]
                if among.any():
                    keys = part if among.all() else part[among]
                    self._walks.append(crypto.NodeWalk(keys, self.engine, marking))
        return reduce(joined_looks, (walk.look(nodes) for walk in self._walks))

    def summed(self, keys: crypto.CheckedKeys, at: Sequence[int]) -> tuple[tuple[int, ...], NDArray[np.uint8]]:
        """SECRET: sums over these keys, for each threshold, and a digest of each key at all of them.

        A few keys at a time: memory does not grow with their number times that of the thresholds.
        """
        totals, digests, asked = [0] * len(at), [], [slots - 1 for slots in at]
        few = max(1, min(1024, VALUES_AT_ONCE // max(len(at), 1)))
        for start in range(0, len(keys), few):
            found = crypto.checked_values(keys[start : start + few], asked, self.engine, self.verification)
            sums = found.sums(np.ones(len(found.digests), dtype=np.bool_))
            totals = [(total + more) % RING for total, more in zip(totals, sums, strict=True)]
            digests.append(found.digests)
        return tuple(totals), np.concatenate(digests)


def joined_looks(one: crypto.NodeSums, other: crypto.NodeSums) -> crypto.NodeSums:
    """SECRET: sums of both, and hashes of both, one after the other."""
    return crypto.NodeSums(one.left + other.left, np.concatenate([one.marks, other.marks], axis=1))


class Checkable(Protocol):
    """SECRET. Interface of one server's shares of checked reports, wherever they lie."""

    def evaluated(self, at: Sequence[int]) -> Evaluation:
        """SECRET: the sums over all reports, and what has to be compared before any of them counts."""

    def sums_of(self, counted: NDArray[np.bool_], at: Sequence[int]) -> tuple[int, ...]:
        """SECRET: the sums over the reports of a mask."""

    def looked(self, counted: NDArray[np.bool_], nodes: Sequence[crypto.Node]) -> crypto.NodeSums:
        """SECRET: sums at nodes, and hashes of marks of each block, over the reports of a mask that never changes."""


@dataclass(slots=True, repr=False, eq=False)
class Looks:
    """SECRET. One server's looks at the trees of the checked reports that count: at each node once.

    Formal guarantees: a look is a function of the reports that count, which are fixed, and of the node. What is
    compared of a threshold, over all nodes on the way to it, is therefore the same whatever was asked before, also
    after a restart. It is one hash of all reports together, of marks that of honest owners' reports are the same at
    both servers (`Marking`): it tells less than a digest of each would. If it is the same at both, then so are all
    marks, but for a collision of SHA-256 or of two rows of a mark, and the proof at `checked_values` goes on as with
    digests, whose fingerprints of the correction words were compared before the first answer.

    Attributes:
        reports: Reports that may count.
        counted: Mask of those that do.
        domain: Domain of the keys.
    """

    reports: Checkable
    counted: NDArray[np.bool_]
    domain: crypto.Domain
    _left: dict[crypto.Node, int] = field(default_factory=dict)
    _marks: dict[crypto.Node, bytes] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def at(self, at: Sequence[int], noise: NoiseKey) -> tuple[Accepted, bytes]:
        """SECRET: this server's sums at thresholds, of which none is 0; and the hash that both servers compare."""
        nodes = crypto.nodes_of(at, self.domain.bits)
        with self._lock:
            if new := [node for node in nodes if node not in self._left]:
                found = self.reports.looked(self.counted, new)
                self._left |= zip(new, found.left[:, 0].tolist(), strict=True)
                self._marks |= zip(new, (sha256(row.tobytes()).digest() for row in found.marks), strict=True)
        sums = {slots: crypto.below_from(self._left, slots, self.domain) for slots in at}
        return Accepted(sums, noise), sha256(b"".join(self._marks[node] for node in nodes)).digest()


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Evaluation:
    """SECRET. Evaluation of some thresholds at one server, before it knows which reports count.

    Attributes:
        at: The thresholds.
        reports: Reports that may count.
        sums: Its shares over all of them, modulo 2**64.
        digests: Digests shown to the other server, ``(reports, 16)`` bytes.
    """

    at: tuple[int, ...]
    reports: Checkable
    sums: tuple[int, ...]
    digests: NDArray[np.uint8]

    def accepted(self, digests: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Mask of the reports that may count: their digests equal the other server's at all thresholds."""
        return np.asarray((self.digests == digests).all(axis=1))

    def among(self, accepted: NDArray[np.bool_], noise: NoiseKey) -> Accepted:
        """Sums of this server over the accepted reports. The others are evaluated once more, and subtracted.

        Args:
            accepted: A mask of the reports that count.
            noise: The key of this server's noise, for these reports alone.
        """
        sums = self.sums
        if not accepted.all():
            failed = self.reports.sums_of(~accepted, self.at)
            sums = tuple((total - less) % RING for total, less in zip(sums, failed, strict=True))
        return Accepted(dict(zip(self.at, sums, strict=True)), noise)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Accepted:
    """SECRET. A `ShareHolder` for thresholds at which keys were evaluated: its shares of the reports that passed."""

    sums: Mapping[int, int]
    noise: NoiseKey

    def below(self, at: Sequence[int]) -> tuple[int, ...]:
        """SECRET: shares, modulo 2**64, of how many accepted reports lie in the first slots, for each of `at`."""
        return tuple(self.sums[slots] for slots in at)


def _rows(words: Words) -> list[bytes]:
    return [row.tobytes() for row in np.ascontiguousarray(words, dtype="<u8")]


def _parts(shares: Sequence[bytes], public_size: int) -> tuple[Words, Words]:
    """The public halves and the seeds."""
    if any(len(share) != public_size + SEED for share in shares):
        raise Refused("shares", f"{public_size + SEED} bytes are needed")
    words = np.frombuffer(b"".join(shares), dtype="<u8").astype(np.uint64, copy=False).reshape(len(shares), -1)
    return words[:, : public_size // 8], words[:, public_size // 8 :].copy()
