"""Prio3Histogram reports: secret-shared one-hot vectors with a proof of validity, and their counting by two servers.

Prio3Histogram is a scheme of the VDAF draft (verifiable distributed aggregation functions). An owner of a record splits
it into two shares, one for each server; the servers add up the shares of all valid reports. Any client of the DAP
draft, the protocol around it, can make these reports.

    HistogramEncoding      record (number of a cell) -> report: a one-hot vector over the cells, additively shared, with
                           a proof that it is one-hot
    HistogramReports       one server's shares of all reports, and their evaluation
    HistogramEvaluation    both servers exchange messages about the proofs; sums of the valid reports, as shares modulo
                           2**64

Formal guarantees: one server's share reveals nothing about a record, because it is masked by a stream whose seed the
other server has (`Prio3Histogram`). Conversion of sums fails with probability below 2**-90 for each cell
(`HistogramEvaluation.sum_accepted`).

Reference: draft-irtf-cfrg-vdaf (Prio3Histogram).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument
from dpcurves.noise.randomness import Randomness

from ..crypto.prio3 import MODULUS, Prio3Histogram, VerifiedCells
from ..serving.noise_key import NoiseKey
from ..serving.two_servers.report_set import ID_SIZE
from ..serving.two_servers.task_types import ShareEncoding
from .shared_records import AcceptedSums

SHARE_MODULUS = 2**64
"""Modulus of answer shares, which are 64-bit words; shares of the field are converted to it."""
RANDOM_SIZE = 4 * 32
"""Bytes of randomness that sharing one record takes: two seeds and two blinds of 32 each."""
DAP_VERSION = b"dap-18"
"""Version of the DAP draft, which begins the context of all key streams: reports of other versions fail their check."""
VERIFY_KEY_SIZE = 32
"""Bytes of the verification key, by which both servers draw the same point at which they check a report."""


def derive_verify_key(shared_secret: bytes, task: str) -> bytes:
    """Return the verification key of the draft, derived from a secret that both servers have and no owner.

    The key depends on the task alone, so it is older than all reports. A report that is verified again, in another set,
    is queried at the same point, which reveals nothing new.

    Args:
        shared_secret: Secret of both servers.
        task: Hash of the task, in hexadecimal digits.
    """
    return HKDF(SHA256(), VERIFY_KEY_SIZE, salt=b"verify_key", info=bytes.fromhex(task)).derive(shared_secret)


@dataclass(frozen=True)
class HistogramEncoding(ShareEncoding):
    """Encoding of the reports of one task as Prio3Histogram, common to owners and servers.

    Attributes:
        slots: Number of cells (slots) for records with a value; one more cell holds records without a value.
        task: Hash of the task, in hexadecimal digits.
    """

    slots: int
    task: str

    @cached_property
    def scheme(self) -> Prio3Histogram:
        """Prio3Histogram scheme (VDAF draft) that makes and checks the task's reports, with its number of cells and its
        context.
        """
        return Prio3Histogram.with_smallest_reports(self.slots + 1, DAP_VERSION + bytes.fromhex(self.task))

    @property
    def public_size(self) -> int:
        """Bytes of the public share: one part of the joint randomness of each server."""
        return self.scheme.PUBLIC_SIZE

    @property
    def size(self) -> int:
        """Size in bytes of a report for server 0, whose share is longer than the other server's."""
        return self.size_for_party(0)

    def size_for_party(self, party: int) -> int:
        """Return the bytes of a report for server 0 or 1: more for 0, whose share is explicit; 1 gets a seed.

        Args:
            party: Number of the server, 0 or 1.
        """
        return self.public_size + self.scheme.input_size(party)

    def share_records(self, rows: NDArray[np.int64], randomness: Randomness) -> list[tuple[bytes, bytes]]:
        """SECRET: return for each record the bytes for server 0 and for server 1.

        A share is bound to the random id of its report, and verified with it; `share_records_with_ids` also returns the
        ids.

        Args:
            rows: Slot of each record, (records,); the number of slots if it is missing.
            randomness: Source of ids and seeds.

        Raises:
            ValueError: A number is not a slot, nor the number of slots (missing).
        """
        return [shares for _, shares in self.share_records_with_ids(rows, randomness)]

    def share_records_with_ids(
        self, rows: NDArray[np.int64], randomness: Randomness
    ) -> list[tuple[bytes, tuple[bytes, bytes]]]:
        """SECRET: split each record into a report for server 0 and a report for server 1.

        Formal guarantees: the share of one server reveals nothing about the record (see `Prio3Histogram`).

        Args:
            rows: Slot of each record, (records,); the number of slots if it is missing.
            randomness: Source of ids and seeds.

        Returns:
            For each record a random id, to which its shares are bound, and the bytes for server 0 and for server 1.

        Raises:
            ValueError: A number is not a slot, nor the number of slots (missing).
        """
        if np.any((rows < 0) | (rows > self.slots)):
            raise InvalidArgument("slots", f"must be indices of slots from 0 to {self.slots}")
        ids = [randomness.random_bytes(ID_SIZE) for _ in rows]
        reports = []
        for rows_slice in self._slice_reports(len(rows)):
            shares = self.scheme.shard(
                rows[rows_slice], ids[rows_slice], [randomness.random_bytes(RANDOM_SIZE) for _ in ids[rows_slice]]
            )
            shares_of_records = [
                [a + b for a, b in zip(shares.public, inputs, strict=True)] for inputs in shares.inputs
            ]
            reports += list(zip(ids[rows_slice], zip(*shares_of_records, strict=True), strict=True))
        return reports

    def require_shares(self, party: int, shares: Sequence[bytes]) -> None:
        """Require that shares have the right form. Whether a record is valid only both servers together can check.

        Args:
            party: Server 0 or server 1.
            shares: Reports for this server, as bytes.

        Raises:
            ValueError: A share has another size, or holds a number that is not below the modulus.
        """
        self.scheme.require_shares(party, [share[self.public_size :] for share in shares])

    def warm_up(self) -> None:
        """Compile the loops now, so that later calls do not wait, by sharing and verifying one made-up report."""
        ((report_id, (first, second)),) = self.share_records_with_ids(np.zeros(1, np.int64), Randomness.from_system())
        both = [
            HistogramReports(self, party, [report_id], [share], bytes(VERIFY_KEY_SIZE)).evaluate_thresholds((1,))
            for party, share in enumerate((first, second))
        ]
        both[0].find_accepted(both[1].digests)

    def _slice_reports(self, count: int) -> list[slice]:
        """Return slices of `count` reports whose cells fit into memory at once; the last may end behind `count`."""
        # 2**18: cells of reports that are verified in one batch: 4 MB for each array
        step = max(1, 2**18 // self.scheme.length)
        return [slice(start, start + step) for start in range(0, count, step)]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HistogramReports:
    """SECRET. One server's shares of a set of reports to which no more are added. It has no repr, so no log shows it.

    Attributes:
        encoding: Encoding of the reports.
        party: Number of the server, 0 or 1.
        ids: Ids of the reports, in an order that both servers have.
        shares: This server's share of each report, as bytes.
        verify_key: 32 bytes that both servers have, and no owner (`derive_verify_key`).
    """

    encoding: HistogramEncoding
    party: int
    ids: Sequence[bytes]
    shares: Sequence[bytes]
    verify_key: bytes

    def evaluate_thresholds(self, thresholds: Sequence[int]) -> HistogramEvaluation:
        """SECRET: verify this server's shares of all reports and add them up.

        Args:
            thresholds: Numbers of the cells below which reports will be counted.

        Returns:
            The sums, and the message about each proof that the other server needs to decide which reports are valid.
        """
        totals = [0] * self.encoding.scheme.length
        messages = []
        seeds = []
        for batch in self.encoding._slice_reports(len(self.ids)):
            verified = self._verify_reports(range(len(self.ids))[batch])
            totals = [(total + share) % MODULUS for total, share in zip(totals, verified.sums(), strict=True)]
            messages.append(verified.messages)
            seeds.append(verified.seeds)
        return HistogramEvaluation(tuple(thresholds), self, totals, np.concatenate(messages), np.concatenate(seeds))

    def sum_cells(self, chosen: NDArray[np.bool_]) -> list[int]:
        """SECRET: return this server's shares of the histogram of the chosen reports: a number for each cell.

        Args:
            chosen: Mask of the reports, (reports,).

        Returns:
            One integer modulo `MODULUS` for each cell.
        """
        totals = [0] * self.encoding.scheme.length
        places = np.flatnonzero(chosen)
        for batch in self.encoding._slice_reports(len(places)):
            verified = self._verify_reports(places[batch].tolist())
            totals = [(total + share) % MODULUS for total, share in zip(totals, verified.sums(), strict=True)]
        return totals

    def _verify_reports(self, indices: Sequence[int]) -> VerifiedCells:
        """SECRET: return this server's shares of cells, and its proof messages, of the reports with these indices."""
        public = self.encoding.public_size
        shares = [self.shares[index] for index in indices]
        share_parts = [share[:public] for share in shares], [share[public:] for share in shares]
        ids = [self.ids[index] for index in indices]
        return self.encoding.scheme.verify_init(self.party, *share_parts, ids, self.verify_key)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HistogramEvaluation:
    """SECRET. Verification of all reports at one server, before it knows which count.

    Attributes:
        thresholds: Thresholds at which counts are requested.
        reports: Candidate reports.
        totals: Shares of all cells over all of them, modulo `MODULUS`.
        digests: Messages for the other server, ``(reports, message_size)`` bytes.
        seeds: Seeds of the joint randomness, ``(reports, 32)`` bytes.
    """

    thresholds: tuple[int, ...]
    reports: HistogramReports
    totals: list[int]
    digests: NDArray[np.uint8]
    seeds: NDArray[np.uint8]

    def find_accepted(self, digests: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return a mask of the valid reports, (reports,), from both servers' proof messages.

        Args:
            digests: The other server's message about each report, (reports, bytes), in the order of this server's.
        """
        reports = self.reports
        return reports.encoding.scheme.find_accepted(reports.party, self.digests, self.seeds, digests)

    def sum_accepted(self, accepted: NDArray[np.bool_], noise_key: NoiseKey) -> AcceptedSums:
        """Return this server's sums over the accepted reports below all thresholds, modulo 2**64.

        A share of a cell is an integer modulo `MODULUS`; answer shares are modulo 2**64. Each server reduces its share
        modulo 2**64, and server 1 first subtracts `MODULUS`.

        Formal guarantees: both are shares of the same count, except with probability below 2**-90 for each cell, and an
        answer share remains a function of shares, so it reveals no more: see `FunctionShares`. *Proof.* Let x be the
        count, at most the number of reports, below 2**32, and x0 and x1 both shares, from 0 to p - 1 for the modulus p,
        with ``x0 + x1 = x`` modulo p. If x0 > x, then ``x0 + x1 = x + p`` as integers, and shares modulo 2**64 of x
        are x0 and x1 - p. The share x0 is uniform, because it includes a stream of an honest owner's seed, so ``x0 <=
        x`` has probability ``(x + 1) / p``. (If every owner were dishonest, cells could be off by 1, since p is 1
        modulo 2**64.)

        Args:
            accepted: Mask of the accepted reports, (reports,).
            noise_key: Key of this server's noise, for these reports alone.

        Returns:
            A share of the number of accepted reports below each threshold, without noise; and the noise key.
        """
        totals = self.totals
        party = self.reports.party
        if not accepted.all():
            failed = self.reports.sum_cells(~accepted)
            totals = [(total - excess) % MODULUS for total, excess in zip(totals, failed, strict=True)]
        cells = np.array([(total - party * MODULUS) % SHARE_MODULUS for total in totals], np.uint64)
        below = dict(enumerate(np.cumsum(cells, dtype=np.uint64).tolist(), 1))
        return AcceptedSums({slots: below[slots] for slots in self.thresholds if slots}, noise_key)
