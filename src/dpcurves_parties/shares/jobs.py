"""SECRET. Jobs: shares of some thousands of reports in a blob each, which workers of one server evaluate.

Formal guarantees: the same answers as without jobs. A job's result is a function of its blob, whose hash the worker
checks, and of the thresholds: this server's shares, modulo 2**64, over its reports. Sums of jobs are shares over all of
them in whatever order they come. Noise is added once, by the server, to the whole sum: no worker has the key of it. So
a job that is done twice, because its worker was killed, changes nothing. Workers see what their server sees, shares and
sums without noise: they belong to its trust domain, and never to the other server's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..crypto import Node, NodeSums, engine_of_task
from ..serving.blobs import Blob, Blobs
from ..serving.messages import ProtocolAborted
from ..serving.noise_key import NoiseKey
from ..serving.workers import Workers
from .shared_records import CheckedEncoding, CheckedReports, Encoding, Evaluation, Reports, Words

DAMAGED = "a share in its jobs was damaged or is gone; nothing is answered. Start the server again: it makes them anew"
NONE = NoiseKey(bytes(32))


class EvaluationJob(NamedTuple):
    """Job of a worker: so many reports, in the order of ids, whose shares follow each other in a blob."""

    blob: Blob
    reports: int


class Form(NamedTuple):
    """SECRET. Facts that workers need to read and evaluate the shares of one task at one server.

    Attributes:
        task: The hash of the task.
        party: 0 or 1.
        slots: A record is in one of these.
        proofs: Number of words in each report by which answers are proved.
        verification: 32 bytes that both servers have, and no owner; empty where owners are believed.
    """

    task: str
    party: int
    slots: int
    proofs: int
    verification: bytes = b""

    def holder(self, shares: bytes, counted: NDArray[np.bool_] | None) -> Reports | CheckedReports:
        """SECRET: the reports in a blob, or those of them that are `counted`."""
        encoding = _encoding(self.task, self.slots, self.proofs, bool(self.verification))
        rows = [shares[at : at + encoding.size] for at in range(0, len(shares), encoding.size)]
        if counted is not None:
            rows = [row for row, counts in zip(rows, counted, strict=True) if counts]
        if isinstance(encoding, CheckedEncoding):
            return CheckedReports(encoding.checked_keys(self.party, rows), encoding.engine, self.verification)
        return Reports(encoding.keys(self.party, rows), encoding.engine, NONE)


@lru_cache(maxsize=8)
def _encoding(task: str, slots: int, proofs: int, is_checked: bool) -> Encoding:
    return (CheckedEncoding if is_checked else Encoding)(slots, engine_of_task(bytes.fromhex(task)), proofs)


class Work(NamedTuple):
    """SECRET. Work on one job: thresholds or nodes, and a mask of the reports that are evaluated; None: all of them."""

    form: Form
    job: EvaluationJob
    at: tuple[int, ...]
    counted: bytes | None = None
    nodes: tuple[Node, ...] = ()


class Sums(NamedTuple):
    """SECRET. Shares of counts over some jobs, modulo 2**64, and digests of their reports where they are checked.

    `whole` is false where a blob was damaged: then the rest means nothing.
    """

    shares: Words
    digests: NDArray[np.uint8]
    whole: bool = True


def evaluated(work: Work) -> Sums:
    """SECRET: sums of one job, worked out by a worker."""
    shares, counted = work.job.blob.read(), None
    if shares is None:
        return Sums(np.zeros(len(work.at), np.uint64), np.zeros((0, 0), np.uint8), whole=False)
    if work.counted is not None:
        counted = np.unpackbits(np.frombuffer(work.counted, np.uint8), count=work.job.reports).astype(bool)
    holder, digests = work.form.holder(shares, counted), np.zeros((0, 0), np.uint8)
    if work.nodes and isinstance(holder, CheckedReports):
        found = holder.looked(np.ones(len(holder.keys), dtype=np.bool_), work.nodes)
        return Sums(found.left[:, 0], found.marks.reshape(1, -1))
    if isinstance(holder, CheckedReports):
        sums, digests = holder.summed(holder.keys, work.at)
    else:
        sums = holder.below(work.at)
    return Sums(np.array(sums, dtype=np.uint64), digests)


def added(one: Sums, other: Sums) -> Sums:
    """SECRET: sums of the jobs of both, in this order."""
    if not (one.whole and other.whole):
        return one._replace(whole=False)
    digests = np.concatenate([one.digests, other.digests]) if one.digests.size else one.digests
    return Sums(one.shares + other.shares, digests)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Jobs:
    """SECRET. Reports that count, as jobs, and the workers that evaluate them. It has no repr.

    Attributes:
        form: Facts that workers need.
        jobs: Jobs in the order of ids.
        workers: Workers of this server.
    """

    form: Form
    jobs: Sequence[EvaluationJob]
    workers: Workers

    def sums(self, at: Sequence[int], counted: NDArray[np.bool_] | None = None, nodes: Sequence[Node] = ()) -> Sums:
        """SECRET: sums at these thresholds over all reports, or over those of a mask, of which there is one at least.

        With nodes, it is sums in their left children, and a row of hashes of each job.

        Raises:
            ProtocolAborted: a blob was damaged, or workers are away.
        """
        work = [Work(self.form, job, tuple(at), nodes=tuple(nodes)) for job in self.jobs]
        if counted is not None:
            ends = np.cumsum([job.reports for job in self.jobs])
            parts = np.split(counted, ends[:-1])
            work = [
                each._replace(counted=np.packbits(part).tobytes())
                for each, part in zip(work, parts, strict=True)
                if part.any()
            ]
        found = self.workers.folded(evaluated, work, added)
        if not found.whole:
            raise ProtocolAborted("store", DAMAGED, 500)
        return found


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ReportJobs:
    """SECRET. A `ShareHolder`: reports of owners who are believed, in jobs. It has no repr.

    Attributes:
        jobs: Jobs of all reports.
        noise: The key of this server's noise, for this set alone.
    """

    jobs: Jobs
    noise: NoiseKey

    def below(self, at: Sequence[int]) -> tuple[int, ...]:
        """SECRET: shares, modulo 2**64, of how many reports lie in the first slots, for each of `at`."""
        return tuple(self.jobs.sums(at).shares.tolist())


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CheckedJobs:
    """SECRET. Checked reports in jobs, evaluated as `CheckedReports` are. It has no repr."""

    jobs: Jobs

    def evaluated(self, at: Sequence[int]) -> Evaluation:
        """SECRET: the sums over all reports, and what has to be compared before any of them counts."""
        thresholds = tuple(sorted({slots for slots in at if slots}))
        found = self.jobs.sums(thresholds)
        return Evaluation(thresholds, self, tuple(found.shares.tolist()), found.digests)

    def sums_of(self, counted: NDArray[np.bool_], at: Sequence[int]) -> tuple[int, ...]:
        """SECRET: sums over the reports of a mask."""
        return tuple(self.jobs.sums(at, counted).shares.tolist())

    def looked(self, counted: NDArray[np.bool_], nodes: Sequence[Node]) -> NodeSums:
        """SECRET: sums at nodes, and hashes of marks of each job, over the reports of a mask."""
        found = self.jobs.sums((), counted, nodes)
        marks = found.digests.reshape(-1, len(nodes), 32).swapaxes(0, 1)
        return NodeSums(found.shares[:, None], marks.reshape(len(nodes), -1))


@dataclass(frozen=True, slots=True)
class Cutting:
    """Place of jobs, and their workers.

    Attributes:
        blobs: Place of the blobs.
        workers: Workers of this server.
    """

    blobs: Blobs
    workers: Workers

    def cut(self, form: Form, name: str, parts: Iterable[Sequence[bytes]]) -> Jobs:
        """SECRET: write shares, in the order of ids, as jobs of the set of reports of this name."""
        jobs = [
            EvaluationJob(self.blobs.write(f"{form.task}-{form.party}/{name}/{number}", b"".join(part)), len(part))
            for number, part in enumerate(parts)
        ]
        return Jobs(form, jobs, self.workers)
