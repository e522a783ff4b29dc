"""SECRET. Parallel evaluation of one server's secret shares: jobs of some thousands of reports, for worker processes.

Each record is split into two secret shares (a report), one for each of two servers; sums of shares are shares of
counts. A server writes its shares in groups as blobs (immutable files), and sends workers jobs: a blob and the
thresholds (numbers of cells, called slots) to count below. It then adds up the results, a map-reduce.

    JobWriter.write_jobs       shares of a report set -> blobs and their jobs
    evaluate_job, add_sums     a worker's sums of one job, and the sums of two groups of jobs
    ReportJobs, CheckedJobs    the server's side: shares of counts over all jobs, of reports without and with proofs

Formal guarantees: the answers equal those without jobs. A job's result is a function of its blob, whose hash the worker
verifies, and of the thresholds: this server's shares, modulo 2**64, over its reports. Sums of jobs, in any order, are
shares over all of them. The server adds noise once, to the whole sum; no worker has its key. So a job that is repeated
because its worker was killed changes nothing. Workers see what their server sees, shares and sums without noise: they
belong to its trust domain, and never to the other server's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..crypto import Node, NodeSums, select_engine
from ..serving.blobs import Blob, BlobStore
from ..serving.messages import ProtocolError
from ..serving.noise_key import NoiseKey
from ..serving.workers import Workers
from .shared_records import CheckedReports, CheckedTreeEncoding, Evaluation, SharedReports, TreeEncoding, Words

DAMAGED_SHARE = (
    "a file of shares for the workers is damaged or missing, so no answer is given; start the "
    "server again, which writes these files anew"
)
"""Error message (status 500) if a file of reports for the workers is missing or does not have its hash."""
NO_NOISE_KEY = NoiseKey(bytes(32))
"""Noise key that is public, 32 zero bytes, for reports at workers, which add no noise: the server adds it to their
sums."""


class EvaluationJob(NamedTuple):
    """A job of a worker: reports in the order of their ids, whose shares are concatenated in a blob.

    Attributes:
        blob: Where the shares are stored, with the hash of the bytes.
        reports: Number of reports.
    """

    blob: Blob
    reports: int


class JobContext(NamedTuple):
    """SECRET. Parameters that workers need to parse and evaluate the shares of one task at one server.

    Attributes:
        task: Hash of the task.
        party: 0 or 1.
        slots: Number of slots of a record.
        proof_words: Number of proof words in each report.
        verify_key: 32 bytes that both servers have, and no owner; empty if owners are trusted.
    """

    task: str
    party: int
    slots: int
    proof_words: int
    verify_key: bytes = b""

    def open_reports(self, shares: bytes, report_mask: NDArray[np.bool_] | None) -> SharedReports | CheckedReports:
        """SECRET: parse the reports of a job's blob of concatenated shares.

        Args:
            shares: Concatenated shares, of equal sizes.
            report_mask: Which of the reports to return, (reports,); None: all.

        Returns:
            Reports with proofs if there is a verification key, else reports of trusted owners.
        """
        encoding = _make_encoding(self.task, self.slots, self.proof_words, bool(self.verify_key))
        rows = [shares[start : start + encoding.size] for start in range(0, len(shares), encoding.size)]
        if report_mask is not None:
            rows = [row for row, counts in zip(rows, report_mask, strict=True) if counts]
        if isinstance(encoding, CheckedTreeEncoding):
            return CheckedReports(encoding.parse_checked_keys(self.party, rows), encoding.engine, self.verify_key)
        return SharedReports(encoding.parse_keys(self.party, rows), encoding.engine, NO_NOISE_KEY)


@lru_cache(maxsize=8)
def _make_encoding(task: str, slots: int, proofs: int, is_checked: bool) -> TreeEncoding:
    """Return the encoding of a task's reports at a worker, cached, because its engine compiles code.

    Args:
        task: Hash of the task, in hexadecimal digits.
        slots: Number of slots of a record.
        proofs: Number of proof words in each report.
        is_checked: Whether reports have proofs of validity.
    """
    return (CheckedTreeEncoding if is_checked else TreeEncoding)(slots, select_engine(bytes.fromhex(task)), proofs)


class JobRequest(NamedTuple):
    """SECRET. Work on one job: what to count, of which of its reports.

    Attributes:
        context: Parameters of the task at this server.
        job: The reports.
        thresholds: Slots to count below; empty if nodes are given.
        report_mask: A bit for each report of the job, packed into bytes, 1 to count it; None: count all.
        nodes: Nodes of the tree of slots to evaluate, of checked reports; empty if thresholds are given.
    """

    context: JobContext
    job: EvaluationJob
    thresholds: tuple[int, ...]
    report_mask: bytes | None = None
    nodes: tuple[Node, ...] = ()


class JobSums(NamedTuple):
    """SECRET. Shares of counts over some jobs, and digests of their reports.

    Attributes:
        shares: This server's share of each count, modulo 2**64.
        digests: Digest of each report, for comparison with the other server; no rows if reports are not checked.
        is_intact: False: a blob was missing or damaged, and the other fields are meaningless.
    """

    shares: Words
    digests: NDArray[np.uint8]
    is_intact: bool = True


def evaluate_job(work: JobRequest) -> JobSums:
    """SECRET: compute the sums of one job at a worker: read its blob of shares, and add up the shares.

    Args:
        work: The job, with its thresholds or nodes.

    Returns:
        Shares of the counts at thresholds or nodes, and digests of the reports; marked as not intact if the blob is
        missing or damaged.
    """
    shares = work.job.blob.read_bytes()
    counted = None
    if shares is None:
        return JobSums(np.zeros(len(work.thresholds), np.uint64), np.zeros((0, 0), np.uint8), is_intact=False)
    if work.report_mask is not None:
        counted = np.unpackbits(np.frombuffer(work.report_mask, np.uint8), count=work.job.reports).astype(bool)
    holder = work.context.open_reports(shares, counted)
    digests = np.zeros((0, 0), np.uint8)
    if work.nodes and isinstance(holder, CheckedReports):
        node_sums = holder.sum_nodes(np.ones(len(holder.keys), dtype=np.bool_), work.nodes)
        return JobSums(node_sums.left_counts[:, 0], node_sums.marks.reshape(1, -1))
    if isinstance(holder, CheckedReports):
        sums, digests = holder.sum_keys(holder.keys, work.thresholds)
    else:
        sums = holder.sum_prefix_shares(work.thresholds)
    return JobSums(np.array(sums, dtype=np.uint64), digests)


def add_sums(first: JobSums, second: JobSums) -> JobSums:
    """SECRET: return the sums of two groups of jobs together: the associative function of the map-reduce.

    Args:
        first: Sums of the first group.
        second: Sums of the second group, at the same thresholds or nodes.

    Returns:
        Sums modulo 2**64, and the digests of the first group, then those of the second; not intact if either is not.
    """
    if not (first.is_intact and second.is_intact):
        return first._replace(is_intact=False)
    digests = np.concatenate([first.digests, second.digests]) if first.digests.size else first.digests
    return JobSums(first.shares + second.shares, digests)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class JobSet:
    """SECRET. Accepted reports as jobs, and the workers that evaluate them. It has no repr.

    Attributes:
        context: Parameters for workers.
        jobs: Jobs in the order of ids.
        workers: Workers of this server.
    """

    context: JobContext
    jobs: Sequence[EvaluationJob]
    workers: Workers

    def compute_sums(
        self, thresholds: Sequence[int], report_mask: NDArray[np.bool_] | None = None, nodes: Sequence[Node] = ()
    ) -> JobSums:
        """SECRET: return sums of the shares in all jobs, over all reports or over the reports of a mask, computed by
        workers.

        Args:
            thresholds: Numbers of slots.
            report_mask: Mask of the reports, with at least one; None: all.
            nodes: Nodes of the tree instead of thresholds: the sums are counts in the nodes' left children, with a row
                of hashes of each job.

        Raises:
            ProtocolError: A blob was damaged, or workers are unreachable.
        """
        work = [JobRequest(self.context, job, tuple(thresholds), nodes=tuple(nodes)) for job in self.jobs]
        if report_mask is not None:
            ends = np.cumsum([job.reports for job in self.jobs])
            job_masks = np.split(report_mask, ends[:-1])
            work = [
                request._replace(report_mask=np.packbits(mask).tobytes())
                for request, mask in zip(work, job_masks, strict=True)
                if mask.any()
            ]
        sums = self.workers.map_reduce(evaluate_job, work, add_sums)
        if not sums.is_intact:
            raise ProtocolError("store", DAMAGED_SHARE, 500)
        return sums


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ReportJobs:
    """SECRET. Reports of trusted owners, in jobs: shares of their counts are computed by workers. It has no repr.

    Attributes:
        jobs: Jobs of all reports.
        noise_key: Key of this server's noise, for this set alone.
    """

    jobs: JobSet
    noise_key: NoiseKey

    def sum_prefix_shares(self, thresholds: Sequence[int]) -> tuple[int, ...]:
        """SECRET: return this server's shares of the numbers of reports below each threshold, computed by the workers.

        Args:
            thresholds: Numbers of slots to count below.

        Returns:
            One share for each threshold, modulo 2**64, without noise.

        Raises:
            ProtocolError: A blob was damaged, or workers are unreachable.
        """
        return tuple(self.jobs.compute_sums(thresholds).shares.tolist())


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CheckedJobs:
    """SECRET. Reports with proofs of validity, in jobs: workers compute shares of counts and digests. It has no repr.

    Both servers compare the digests before any report counts.

    Attributes:
        jobs: Jobs of all reports.
    """

    jobs: JobSet

    def evaluate_thresholds(self, thresholds: Sequence[int]) -> Evaluation:
        """SECRET: return the sums over all reports, and the digests to compare before any of them counts.

        Args:
            thresholds: Numbers of slots to count below; 0 and repeated ones are left out.

        Raises:
            ProtocolError: A blob was damaged, or workers are unreachable.
        """
        thresholds = tuple(sorted({slots for slots in thresholds if slots}))
        sums = self.jobs.compute_sums(thresholds)
        return Evaluation(thresholds, self, tuple(sums.shares.tolist()), sums.digests)

    def sum_reports(self, report_mask: NDArray[np.bool_], thresholds: Sequence[int]) -> tuple[int, ...]:
        """SECRET: return this server's shares, modulo 2**64, of the number of selected reports below each threshold.

        Args:
            report_mask: Mask of the reports that count, (reports,).
            thresholds: Numbers of slots, none of them 0.

        Returns:
            One share for each threshold.
        """
        return tuple(self.jobs.compute_sums(thresholds, report_mask).shares.tolist())

    def sum_nodes(self, report_mask: NDArray[np.bool_], nodes: Sequence[Node]) -> NodeSums:
        """SECRET: return this server's shares of the counts in the left children of nodes of the tree of slots.

        Args:
            report_mask: Mask of the reports that count, (reports,).
            nodes: Pairs of level and index; parents come before their children.

        Returns:
            One share for each node, modulo 2**64, and for each node the hashes of each job, which both servers compare.
        """
        sums = self.jobs.compute_sums((), report_mask, nodes)
        marks = sums.digests.reshape(-1, len(nodes), 32).swapaxes(0, 1)
        return NodeSums(sums.shares[:, None], marks.reshape(len(nodes), -1))


@dataclass(frozen=True, slots=True)
class JobWriter:
    """Writer of jobs: stores the shares of report sets as blobs, for the workers of a server.

    Attributes:
        blob_store: Storage of the blobs.
        workers: Workers of this server.
    """

    blob_store: BlobStore
    workers: Workers

    def write_jobs(self, context: JobContext, name: str, parts: Iterable[Sequence[bytes]]) -> JobSet:
        """SECRET: write the shares of a report set as jobs.

        Args:
            context: What workers need to open the shares.
            name: Name of the report set.
            parts: Shares of the reports of each job, in the order of ids.

        Returns:
            The jobs, in the order of ids.
        """
        jobs = [
            EvaluationJob(
                self.blob_store.write(f"{context.task}-{context.party}/{name}/{number}", b"".join(shares_of_job)),
                len(shares_of_job),
            )
            for number, shares_of_job in enumerate(parts)
        ]
        return JobSet(context, jobs, self.workers)
