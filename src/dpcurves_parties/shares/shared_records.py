"""Function secret sharing of records between two servers: the owners' encoding, and each server's shares of all
reports.

A record is the number of the slot that it lies in. Its owner makes a distributed comparison function: two keys, one for
each server. At any threshold t, the values of both keys add up, modulo 2**64, to 1 if the slot is below t and to 0
otherwise. So each server can sum its values over all reports without learning anything about one.

    TreeEncoding           makes a comparison key for each server (see `crypto.keys`)
    CheckedTreeEncoding    makes keys that servers can verify: a report counts once, or is dropped
    SharedReports          one server's shares of a closed report set; sums below thresholds, modulo 2**64
    CheckedReports         sums and digests; both servers compare digests before they use any count

Formal guarantees: one server's key reveals nothing about a record (`crypto.keys`). A key is evaluated along a tree of
seeds. Each node of an accepted report is evaluated once (`NodeSumCache`), so the hashes that servers compare do not
depend on earlier questions or on restarts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from hashlib import sha256
from threading import Lock
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument
from dpcurves.noise.randomness import Randomness

from .. import crypto
from ..crypto.keys import SharedKeys
from ..serving.noise_key import NoiseKey
from ..serving.two_servers.collection import SHARES_PER_PAGE
from ..serving.two_servers.task_types import ShareEncoding
from .answer_proofs import OwnerProver, require_words

Words = NDArray[np.uint64]
SEED_BYTES = 16
"""Bytes of a server's secret seed in a report, an AES block; a share of another size is refused."""
SHARE_MODULUS = 2**64
"""Modulus of shares, which are 64-bit words: sums of shares wrap around."""


@dataclass(frozen=True)
class TreeEncoding(ShareEncoding):
    """The encoding of the reports of one task, common to owners and servers.

    Attributes:
        SHARE: Function that makes both servers' keys of given slots.
        PUBLIC: Type of the public part of keys, which is equal at both servers.
        slots: Number of slots of a record, numbered from 0; a missing record has this number as its slot.
        engine: Engine that expands seeds, with the keys of the task.
        proof_words: Number of proof words in each report, one for each analyst.
        prover: SECRET. Computes these words; only owners have one.
    """

    SHARE: ClassVar[Callable[..., SharedKeys[Any]]] = staticmethod(crypto.share_cells)
    PUBLIC: ClassVar[type[crypto.PublicShare] | type[crypto.CheckedShare]] = crypto.PublicShare

    slots: int
    engine: crypto.Engine
    proof_words: int = 0
    prover: OwnerProver | None = field(default=None, repr=False)

    @property
    def domain(self) -> crypto.Domain:
        """Domain of the slots, including the slot of missing records."""
        return crypto.Domain(self.slots.bit_length(), crypto.Z64)

    @property
    def public_size(self) -> int:
        """Size in bytes of the public part: correction words, then one proof word for each analyst."""
        return 8 * (self.PUBLIC.record_words(self.domain) + self.proof_words)

    @property
    def size(self) -> int:
        """Size in bytes of a report for one server: the public part and a seed."""
        return self.public_size + SEED_BYTES

    def share_records(self, slots: NDArray[np.int64], randomness: Randomness) -> list[tuple[bytes, bytes]]:
        """SECRET: share each record between server 0 and server 1.

        Formal guarantees: the share of one server reveals nothing about the record (see `share_cells`, and for checked
        reports `share_checked_cells`).

        Args:
            slots: Slot of each record, (records,); the number of slots if the record is missing.
            randomness: Source of the seeds.

        Returns:
            For each record, the bytes for server 0 and for server 1.

        Raises:
            ValueError: a number is not a slot, nor the number of slots.
        """
        if np.any((slots < 0) | (slots > self.slots)):
            raise InvalidArgument("slots", f"must be indices of slots from 0 to {self.slots}")
        shares = self.SHARE(slots.astype(np.uint64), self.domain, self.engine, randomness)
        public = np.hstack(
            [shares.public.records(), self._make_words(slots, [seed_share.words for seed_share in shares.seeds])]
        )
        first, second = (_to_byte_rows(np.hstack([public, seed_share.words])) for seed_share in shares.seeds)
        return list(zip(first, second, strict=True))

    def _make_words(self, slots: NDArray[np.int64], seeds: Sequence[Words]) -> Words:
        """SECRET: return the proof words of records, (records, analysts); zeros without a prover.

        Args:
            slots: Slot of each record.
            seeds: Seeds of both servers for each record.
        """
        if self.prover is None:
            return np.zeros((len(slots), self.proof_words), np.uint64)
        first, second = map(_to_byte_rows, seeds)
        return self.prover.make_words(slots, first, second)

    def warm_up(self) -> None:
        """Compile the engine's loops now, so that later calls do not wait: one made-up record is shared and counted."""
        (share, _), *_ = self.share_records(np.zeros(1, dtype=np.int64), Randomness.from_system())
        crypto.prefix_sums(self.parse_keys(0, [share]), [0, self.slots], self.engine)

    def require_shares(self, party: int, shares: Sequence[bytes]) -> None:
        """Refuse invalid shares.

        Args:
            party: Number of the server.
            shares: Shares of some reports for this server.

        Raises:
            ValueError: a share is not of this encoding and party.
        """
        public, seeds = self._split_shares(shares)
        self.PUBLIC.require(self.domain, public)
        crypto.SeedShare(party, seeds)

    def parse_keys(self, party: int, shares: Sequence[bytes]) -> crypto.ComparisonKeys:
        """SECRET: return the keys in one server's shares of some reports.

        Args:
            party: Number of the server.
            shares: Shares of the reports for this server.

        Raises:
            ValueError: a share is not of this encoding and party.
        """
        return self.join_keys(party, [shares], len(shares))

    def join_keys(self, party: int, parts: Iterable[Sequence[bytes]], count: int) -> crypto.ComparisonKeys:
        """SECRET: return the keys of reports whose shares arrive in parts.

        Args:
            party: Number of the server.
            parts: Shares of the reports for this server, part by part.
            count: Number of reports.

        Raises:
            ValueError: a share is not of this encoding and party.
        """
        return crypto.ComparisonKeys(*self._join_parts(party, parts, count))

    def parse_words(self, shares: Sequence[bytes]) -> tuple[Words, list[bytes]]:
        """SECRET: return the proof words in the shares of some reports, (reports, proofs), and the seed of each
        report.
        """
        public, seeds = _split_shares(shares, self.public_size)
        return public[:, public.shape[1] - self.proof_words :], _to_byte_rows(seeds)

    def _join_parts(self, party: int, batches: Iterable[Sequence[bytes]], count: int) -> tuple[Any, crypto.SeedShare]:
        """Copy batches into an array of public parts and an array of seeds, as they arrive; ignore surplus reports.

        Args:
            party: Number of the server, 0 or 1.
            batches: Encoded shares of reports.
            count: Number of reports to take.

        Returns:
            Correction words of all keys, and this server's seeds.
        """
        public: Any = self.PUBLIC.allocate(self.domain, count)
        seeds = np.empty((count, 2), np.uint64)
        start = 0
        for shares in batches:
            (rows, part_seeds), room = self._split_shares(shares), public[start : start + len(shares)]
            room.overwrite(self.PUBLIC.from_records(self.domain, rows)[: len(room)])
            seeds[start : start + len(shares)] = part_seeds[: len(room)]
            start += len(shares)
        return public, crypto.SeedShare(party, seeds)

    def _split_shares(self, shares: Sequence[bytes]) -> tuple[Words, Words]:
        """Return the public parts of shares without proof words, (reports, words), and the seeds, (reports, 2).

        Raises:
            InvalidArgument: a share has another size, or a proof word is invalid.
        """
        public, seeds = _split_shares(shares, self.public_size)
        size = public.shape[1] - self.proof_words
        if self.proof_words:
            require_words(public[:, size:])
        return public[:, :size], seeds


@dataclass(frozen=True)
class CheckedTreeEncoding(TreeEncoding):
    """The encoding of reports that servers can check: an owner's report counts once, or is dropped."""

    SHARE = staticmethod(crypto.share_checked_cells)
    PUBLIC = crypto.CheckedShare

    def parse_checked_keys(self, party: int, shares: Sequence[bytes]) -> crypto.CheckedKeys:
        """SECRET: return the checked keys in one server's shares of some reports, as `TreeEncoding.parse_keys`.

        Args:
            party: Number of the server, 0 or 1.
            shares: Shares of that server, one per report.
        """
        return self.join_checked_keys(party, [shares], len(shares))

    def join_checked_keys(self, party: int, parts: Iterable[Sequence[bytes]], count: int) -> crypto.CheckedKeys:
        """SECRET: parse the checked keys of reports whose shares arrive in parts, as `TreeEncoding.join_keys`.

        Args:
            party: Number of the server, 0 or 1.
            parts: Shares of some reports each, in order.
            count: Number of reports of all parts.
        """
        return crypto.CheckedKeys(*self._join_parts(party, parts, count))

    def warm_up(self) -> None:
        """Compile the engine's loops by sharing and evaluating one checked record."""
        (share, _), *_ = self.share_records(np.zeros(1, dtype=np.int64), Randomness.from_system())
        crypto.evaluate_checked_keys(self.parse_checked_keys(0, [share]), [0, self.slots], self.engine, bytes(32))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SharedReports:
    """SECRET. A `ShareHolder`: one server's shares of a frozen set of reports. It has no repr.

    Attributes:
        keys: Keys of all reports.
        engine: Engine that expands their seeds.
        noise_key: Key of this server's noise, for this set alone.
    """

    keys: crypto.ComparisonKeys
    engine: crypto.Engine
    noise_key: NoiseKey

    def sum_prefix_shares(self, thresholds: Sequence[int]) -> tuple[int, ...]:
        """SECRET: return this server's shares, modulo 2**64, of the number of reports below each threshold.

        Args:
            thresholds: Numbers of slots, none of them 0.

        Returns:
            Integers in the order of the thresholds.
        """
        return crypto.prefix_sums(self.keys, [slots - 1 for slots in thresholds], self.engine)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CheckedReports:
    """SECRET. One server's shares of a frozen set of checked reports. It has no repr.

    Attributes:
        keys: Keys of all reports.
        engine: Engine that expands their seeds.
        verify_key: 32 bytes that both servers have, and no owner.
    """

    keys: crypto.CheckedKeys
    engine: crypto.Engine
    verify_key: bytes
    _walks: list[crypto.NodeWalk] = field(default_factory=list, init=False)

    def evaluate_thresholds(self, thresholds: Sequence[int]) -> Evaluation:
        """SECRET: return this server's shares of the counts below thresholds, over all reports, and the reports'
        digests.

        Both servers compare digests before they use any count.

        Args:
            thresholds: Numbers of slots.
        """
        thresholds = tuple(sorted({slots for slots in thresholds if slots}))
        return Evaluation(thresholds, self, *self.sum_keys(self.keys, thresholds))

    def sum_reports(self, report_mask: NDArray[np.bool_], thresholds: Sequence[int]) -> tuple[int, ...]:
        """SECRET: return this server's shares, modulo 2**64, of the number of selected reports below each threshold.

        Args:
            report_mask: Mask of the reports that count.
            thresholds: Numbers of slots, none of them 0.

        Returns:
            Integers in the order of the thresholds.
        """
        return self.sum_keys(self.keys[report_mask], thresholds)[0]

    def sum_nodes(self, report_mask: NDArray[np.bool_], nodes: Sequence[crypto.Node]) -> crypto.NodeSums:
        """SECRET: return the sums at nodes, and hashes of marks, over some reports.

        Marks (by which two servers compare keys) are hashed in blocks of `SHARES_PER_PAGE` reports, so that the hashes
        do not depend on whether worker processes compute them.

        Args:
            report_mask: Mask of the reports; it must be the same in all calls.
            nodes: Pairs of level and index; parents come before their children.

        Returns:
            Shares of the weights of left children, and hashes of the marks, one per node.
        """
        if not self._walks:
            marking = crypto.NodeMarkKey.from_verification_key(self.verify_key)
            for start in range(0, len(self.keys), SHARES_PER_PAGE):
                batch = self.keys[start : start + SHARES_PER_PAGE]
                mask = report_mask[start : start + SHARES_PER_PAGE]
                if mask.any():
                    keys = batch if mask.all() else batch[mask]
                    self._walks.append(crypto.NodeWalk(keys, self.engine, marking))
        return reduce(join_node_sums, (walk.evaluate_nodes(nodes) for walk in self._walks))

    def sum_keys(
        self, keys: crypto.CheckedKeys, thresholds: Sequence[int]
    ) -> tuple[tuple[int, ...], NDArray[np.uint8]]:
        """SECRET: return the sums over some keys for each threshold, and a digest of each key at all thresholds.

        Keys are evaluated in batches, so memory does not grow with the product of keys and thresholds.

        Args:
            keys: The keys.
            thresholds: Numbers of cells (slots) below each threshold, none of them 0.

        Returns:
            Shares of the sums modulo 2**64, one per threshold; and digests, (keys, 32) bytes.
        """
        totals = [0] * len(thresholds)
        digests = []
        last_slots = [slots - 1 for slots in thresholds]
        # 2**22: 64-bit values of checked reports that are evaluated in one batch: 32 MB
        step = max(1, min(1024, 2**22 // max(len(thresholds), 1)))
        for start in range(0, len(keys), step):
            evaluation = crypto.evaluate_checked_keys(
                keys[start : start + step], last_slots, self.engine, self.verify_key
            )
            sums = evaluation.sums(np.ones(len(evaluation.digests), dtype=np.bool_))
            totals = [(total + share) % SHARE_MODULUS for total, share in zip(totals, sums, strict=True)]
            digests.append(evaluation.digests)
        return tuple(totals), np.concatenate(digests)


def join_node_sums(first: crypto.NodeSums, second: crypto.NodeSums) -> crypto.NodeSums:
    """SECRET: return the sums at nodes over two groups of reports together. The first group's mark hashes come
    first.

    Args:
        first: Sums over the first group of reports.
        second: Sums over the second group, at the same nodes.
    """
    return crypto.NodeSums(first.left_counts + second.left_counts, np.concatenate([first.marks, second.marks], axis=1))


class CheckedShareHolder(Protocol):
    """SECRET. The interface of one server's shares of checked reports, in memory or in jobs."""

    def evaluate_thresholds(self, thresholds: Sequence[int]) -> Evaluation:
        """SECRET: return the sums over all reports, and the digests to compare before any report counts.

        Args:
            thresholds: Increasing numbers of slots whose prefix counts are shared.
        """

    def sum_reports(self, report_mask: NDArray[np.bool_], thresholds: Sequence[int]) -> tuple[int, ...]:
        """SECRET: return this server's shares, modulo 2**64, of the number of selected reports below each threshold.

        Args:
            report_mask: Mask of the reports that count.
            thresholds: Numbers of slots, none of them 0.

        Returns:
            Integers in the order of the thresholds.
        """

    def sum_nodes(self, report_mask: NDArray[np.bool_], nodes: Sequence[crypto.Node]) -> crypto.NodeSums:
        """SECRET: return the sums at nodes, and hashes of marks of each block, over some reports.

        Args:
            report_mask: Mask of the reports; it must be the same in all calls.
            nodes: Pairs of level and index; parents come before their children.
        """


@dataclass(slots=True, repr=False, eq=False)
class NodeSumCache:
    """SECRET. Cache of one server's node sums of the accepted checked reports: each node is evaluated once.

    Formal guarantees: a node sum is a function of the accepted reports, which are fixed, and of the node. The compared
    hash of a threshold, over all nodes on the way to it, is therefore independent of earlier questions and of restarts.
    It is one hash of all reports together, of marks that are equal at both servers for honest owners' reports
    (`NodeMarkKey`): it reveals less than a digest of each would. If it is equal at both servers, all marks are, except
    for a collision of SHA-256 or of two rows of a mark, and the proof at `evaluate_checked_keys` continues as with
    digests, whose fingerprints of the correction words were compared before the first answer.

    Attributes:
        reports: Candidate reports.
        report_mask: Mask of the accepted ones.
        domain: Domain of the keys.
    """

    reports: CheckedShareHolder
    report_mask: NDArray[np.bool_]
    domain: crypto.Domain
    _left_sums: dict[crypto.Node, int] = field(default_factory=dict)
    _marks: dict[crypto.Node, bytes] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def sum_thresholds(self, thresholds: Sequence[int], noise_key: NoiseKey) -> tuple[AcceptedSums, bytes]:
        """SECRET: return this server's sums at thresholds, and the hash that both servers compare.

        Args:
            thresholds: Numbers of cells (slots) below each threshold, none of them 0.
            noise_key: Key of this server's noise, for these reports alone.
        """
        nodes = crypto.find_path_nodes(thresholds, self.domain.bits)
        with self._lock:
            if new_nodes := [node for node in nodes if node not in self._left_sums]:
                sums_of_nodes = self.reports.sum_nodes(self.report_mask, new_nodes)
                self._left_sums |= zip(new_nodes, sums_of_nodes.left_counts[:, 0].tolist(), strict=True)
                self._marks |= zip(
                    new_nodes, (sha256(row.tobytes()).digest() for row in sums_of_nodes.marks), strict=True
                )
        sums = {slots: crypto.sum_left_counts(self._left_sums, slots, self.domain) for slots in thresholds}
        return AcceptedSums(sums, noise_key), sha256(b"".join(self._marks[node] for node in nodes)).digest()


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Evaluation:
    """SECRET. One server's evaluation at some thresholds, before it knows which reports count.

    Attributes:
        thresholds: The thresholds.
        reports: Candidate reports.
        sums: This server's shares over all of them, modulo 2**64.
        digests: Digests for the other server, (reports, 16) bytes.
    """

    thresholds: tuple[int, ...]
    reports: CheckedShareHolder
    sums: tuple[int, ...]
    digests: NDArray[np.uint8]

    def find_accepted(self, digests: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return a mask of the reports whose digests equal the other server's.

        Args:
            digests: The other server's digests, (reports, 16) bytes.
        """
        return np.asarray((self.digests == digests).all(axis=1))

    def sum_accepted(self, accepted: NDArray[np.bool_], noise_key: NoiseKey) -> AcceptedSums:
        """SECRET: return this server's shares of the counts of accepted reports, with the key of its noise.

        Rejected reports are evaluated again and subtracted.

        Args:
            accepted: Mask of the accepted reports.
            noise_key: Key of this server's noise, for these reports alone.
        """
        sums = self.sums
        if not accepted.all():
            failed = self.reports.sum_reports(~accepted, self.thresholds)
            sums = tuple((total - excess) % SHARE_MODULUS for total, excess in zip(sums, failed, strict=True))
        return AcceptedSums(dict(zip(self.thresholds, sums, strict=True)), noise_key)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class AcceptedSums:
    """SECRET. A `ShareHolder` for thresholds that were evaluated: this server's shares of the accepted reports."""

    sums: Mapping[int, int]
    noise_key: NoiseKey

    def sum_prefix_shares(self, thresholds: Sequence[int]) -> tuple[int, ...]:
        """SECRET: return this server's shares, modulo 2**64, of the number of accepted reports below each threshold.

        Args:
            thresholds: Numbers of slots, of thresholds that were evaluated before.

        Returns:
            Integers in the order of the thresholds.
        """
        return tuple(self.sums[slots] for slots in thresholds)


def _to_byte_rows(words: Words) -> list[bytes]:
    """Return each row of words as bytes, in little-endian order.

    Args:
        words: Unsigned 64-bit words, (rows, words).
    """
    return [row.tobytes() for row in np.ascontiguousarray(words, dtype="<u8")]


def _split_shares(shares: Sequence[bytes], public_size: int) -> tuple[Words, Words]:
    """Split shares into their public parts (reports, words) and their seeds (reports, 2).

    Raises:
        InvalidArgument: a share has another size.
    """
    if any(len(share) != public_size + SEED_BYTES for share in shares):
        raise InvalidArgument(
            "shares", f"must have {public_size + SEED_BYTES} bytes each; contribute again with this task's document"
        )
    words = np.frombuffer(b"".join(shares), dtype="<u8").astype(np.uint64, copy=False).reshape(len(shares), -1)
    return words[:, : public_size // 8], words[:, public_size // 8 :].copy()
