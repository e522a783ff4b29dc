"""SECRET. Upload of secret shares to two servers (the owner's client), and closing of a task (the coordinator's).

    Contribution     records of one owner -> sealed reports; `send` uploads them, and a repetition counts nothing twice
    enrol_owner      a ticket or an invitation -> the ticket that authorises the owner's reports
    close_task       both servers agree on the accepted reports
    AgreedReports    accepted report set and noise commitments, in a file beside the ticket

A client that keeps this file notices if both servers later answer from another set, or with other noise.

Formal guarantees: each server gets one share of each record, encrypted to it. Without the other one, a share is
computationally indistinguishable from a share of any other record, so it reveals nothing.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpcurves.arrays import IntArray
from dpcurves.ledger.chain import make_key
from dpcurves.noise.randomness import Randomness

from ..channel import ANSWER_SECONDS, Channel
from ..identity import FileAlreadyExists, write_public
from ..messages import ProtocolError, parse_fields
from ..task_document import Role, Ticket, hash_token
from .report_set import (
    HASH_SIZE,
    LARGEST_BATCH,
    SEALING_OVERHEAD,
    Batch,
    EarlierPolicy,
    ReportShare,
    encode_batch,
    encode_share_info,
    load_public_key,
    seal_share,
)
from .task_types import SharedTask


@dataclass(frozen=True, slots=True)
class UploadOutcome:
    """Outcome of an upload, as numbers of reports.

    Attributes:
        reports: Reports that the servers have stored.
        new: Reports among these that were new to a server.
    """

    reports: int
    new: int

    def add_outcome(self, pending: Future[UploadOutcome] | None) -> UploadOutcome:
        """Wait for the outcome of a pending batch, and return the sums of its numbers and this outcome's numbers.

        Args:
            pending: Future of the batch; None: no batch is pending.
        """
        if pending is None:
            return self
        batch_outcome = pending.result()
        return UploadOutcome(self.reports + batch_outcome.reports, self.new + batch_outcome.new)


@dataclass(repr=False)
class Contribution:
    """SECRET. The reports of one owner. It has no repr.

    Reports are derived from the owner's secret and the records: an owner that crashes sends equal reports again, which
    the servers recognise. Other records have other reports, whose keys are independent, and another contribution id,
    which reveals nothing about them. Under one ticket both servers accept reports of one contribution: otherwise a
    corrected or truncated file would count beside the first one, and its records would lose their epsilon twice.

    Attributes:
        task: Task of the reports.
        slots: Slots of the records; for a task of pairs integers, a column for each value.
        secret: 32 bytes that only this owner has; never sent.
        earlier_policy: Policy for another contribution under the same ticket.
        proof_key: Key for proofs of answers, from the ticket.
    """

    task: SharedTask
    slots: IntArray
    secret: bytes
    earlier_policy: EarlierPolicy = EarlierPolicy.STAYS
    proof_key: str = ""

    @classmethod
    def from_ticket(
        cls, task: SharedTask, slots: IntArray, ticket: Path, earlier_policy: EarlierPolicy = EarlierPolicy.STAYS
    ) -> Contribution:
        """Return the contribution under a ticket. Its secret is in a file beside the ticket, created on first use.

        Args:
            task: Task of the reports.
            slots: Slots of the records.
            ticket: Path of the owner's ticket.
            earlier_policy: What happens to another contribution under the same ticket.

        Raises:
            ValueError: the file cannot be read or written.
        """
        proof = Ticket.load(ticket, Role.OWNER).proof_key if task.proof_key_hashes else ""
        secret = make_key(ticket.with_name(ticket.name + ".secret")).derive_dataset_key(task.hash)
        return cls(task, slots, secret, earlier_policy, proof)

    def iterate_batches(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the sealed reports in batches: bytes for server 0 and bytes for server 1. A repetition yields the same
        reports.
        """
        for name, reports in self.iterate_shared_reports():
            first, second = (
                seal_reports(self.task, party, name, ((report_id, shares[party]) for report_id, shares in reports))
                for party in (0, 1)
            )
            yield self._encode_batch(0, name, first), self._encode_batch(1, name, second)

    def iterate_shared_reports(self) -> Iterator[tuple[bytes, Sequence[tuple[bytes, tuple[bytes, bytes]]]]]:
        """SECRET: yield batches of reports before they are sealed, in random order.

        Yields:
            The contribution id, and for each report of the batch its id with the shares for server 0 and server 1.
        """
        places = self.slots[np.lexsort(np.atleast_2d(self.slots.T))]
        digest = sha256(places.astype("<i8").tobytes()).hexdigest()
        name = Randomness.from_key(self.secret, f"contribution of {digest}").random_bytes(HASH_SIZE)
        stream = Randomness.from_key(self.secret, f"reports of {digest}")
        # Reports are sent in random order, which reveals nothing about the records.
        places = places[np.argsort(stream.sample_words(len(places)))]
        encoding = self.task.make_owner_encoding(self.proof_key)
        # 1000: reports per batch at most; fewer if a report is large
        batch_size = min(1000, LARGEST_BATCH // (encoding.size + 2 * SEALING_OVERHEAD))
        for start in range(0, len(places), batch_size):
            yield name, encoding.share_records_with_ids(places[start : start + batch_size], stream)

    def _encode_batch(self, party: int, name: bytes, reports: Sequence[ReportShare]) -> bytes:
        """Return the bytes of a batch of sealed reports for one server.

        Args:
            party: Number of the server, 0 or 1.
            name: Id of the contribution.
            reports: Sealed reports.
        """
        return encode_batch(self.task.hash, party, Batch(name, self.earlier_policy, reports))

    def send(self, ticket: Ticket, progress: Callable[[int], object], timeout: float = ANSWER_SECONDS) -> UploadOutcome:
        """Send all batches to both servers; return how many reports were sent, and how many were new.

        A batch is sent to server 1 only after server 0 has accepted it. So a batch that server 0 refuses, for example
        because the task is closed, is stored at neither. Meanwhile the next batch is sealed and sent to server 0.

        Args:
            ticket: The owner's ticket.
            progress: Called with the number of reports sent so far.
            timeout: Seconds that an answer may take.

        Raises:
            ProtocolError: a server refuses or is unreachable. Reports that are sent again do not count twice.
        """
        servers = [Channel.from_certificate(server.url, server.certificate, timeout) for server in self.task.servers]
        outcome = UploadOutcome(0, 0)
        path = f"/tasks/{self.task.hash}/reports"
        senders = [
            partial(_post_batch, path, ticket.derive_bearer_token(party), server)
            for party, server in enumerate(servers)
        ]
        try:
            with ThreadPoolExecutor(len(servers)) as executor:
                pending: Future[UploadOutcome] | None = None
                for batch in self.iterate_batches():
                    first_outcome = executor.submit(senders[0], batch[0])
                    outcome = outcome.add_outcome(pending)
                    progress(outcome.reports)
                    pending = executor.submit(_post_to_second, first_outcome, partial(senders[1], batch[1]))
                outcome = outcome.add_outcome(pending)
                progress(outcome.reports)
        finally:
            for server in servers:
                server.close()
        return outcome


def _post_batch(path: str, token: str, server: Channel, message: bytes) -> UploadOutcome:
    """Send one batch to a server; return how many reports it holds, and how many were new.

    Args:
        path: Path of the task's reports on the server.
        token: The owner's bearer token for this server.
        server: Connection to the server.
        message: The batch as bytes.

    Raises:
        ProtocolError: the server refuses or is unreachable.
    """
    reply = parse_fields(server.post(path, message, token), "server", new=int, known=int)
    return UploadOutcome(reply["new"] + reply["known"], reply["new"])


def _post_to_second(first_outcome: Future[UploadOutcome], post: Callable[[], UploadOutcome]) -> UploadOutcome:
    """Wait for the first server's outcome, then send the batch to the second server.

    Args:
        first_outcome: Pending outcome of the first server.
        post: Sends the batch to the second server.

    Returns:
        The number of reports, and the larger of both servers' numbers of new ones.

    Raises:
        ProtocolError: the first server refused, so that nothing is sent to the second; or the second refuses.
    """
    outcome = first_outcome.result()
    return UploadOutcome(outcome.reports, max(outcome.new, post().new))


def seal_reports(task: SharedTask, party: int, name: bytes, shares: Iterable[tuple[bytes, bytes]]) -> list[ReportShare]:
    """Return the reports of a contribution, sealed to one server.

    Args:
        task: The task, which names the server's public key.
        party: Number of the server.
        name: Id of the contribution.
        shares: An id and a share for each report.
    """
    key = load_public_key(task.servers[party].hpke_key)
    return [
        ReportShare(report_id, seal_share(share, key, encode_share_info(task.hash, party, name, report_id)))
        for report_id, share in shares
    ]


def read_owner_ticket(task: SharedTask, ticket: Path) -> Ticket:
    """Read an owner's ticket from a file, and check that it belongs to this task.

    Args:
        task: The task.
        ticket: Path of the ticket.

    Raises:
        ValueError: the file has no ticket of this task.
    """
    bearer = Ticket.load(ticket, Role.OWNER)
    require_ticket_for(bearer, task)
    return bearer


def enrol_owner(task: SharedTask, ticket: Path, timeout: float = ANSWER_SECONDS) -> Ticket:
    """Return the ticket that authorises an owner's reports. If owners enrol, it has the owner's own token.

    That token is generated on first use, and stored beside the invitation. Its hash is sent to both servers, together
    with the invitation.

    Args:
        task: The task.
        ticket: Path of the ticket or invitation.
        timeout: Seconds that an answer may take.

    Raises:
        ValueError: a file cannot be read or written.
        ProtocolError: a server refuses or is unreachable. Repeating the call continues with the same token.
    """
    invitation = read_owner_ticket(task, ticket)
    if not task.enrols:
        return invitation
    file = ticket.with_name(f"{ticket.name}.own")
    with suppress(FileAlreadyExists):
        Ticket(task.hash, Role.OWNER, secrets.token_hex(32)).write(file)
    owner_ticket = read_owner_ticket(task, file)
    message = json.dumps({"token": hash_token(owner_ticket.token)}).encode()
    for party, server in enumerate(task.servers):
        with Channel.from_certificate(server.url, server.certificate, timeout) as channel:
            channel.post(f"/tasks/{task.hash}/enrol", message, invitation.derive_bearer_token(party))
    return owner_ticket


def require_ticket_for(ticket: Ticket, task: SharedTask) -> None:
    """Check that a ticket was made for this task, before anything is sent under it.

    Args:
        ticket: The ticket.
        task: The expected task.

    Raises:
        ProtocolError: the ticket belongs to another task.
    """
    if ticket.task != task.hash:
        raise ProtocolError("ticket", "belongs to another task; name the ticket that was made with this document")


CLOSED_TASK = "closed task"
"""Value of the field dpcurves in the file that records a closed task's report set and noise commitments."""


@dataclass(frozen=True, slots=True)
class AgreedReports:
    """The report set and the noise commitments of a closed task. Public.

    Attributes:
        task: Hash of the task.
        report_set: Hash of the accepted report set.
        reports: Number of reports.
        commitments: Noise commitments of server 0 and server 1.
    """

    task: str
    report_set: str
    reports: int
    commitments: tuple[str, ...]

    def to_json(self) -> str:
        """Return the content of the file as JSON; equal objects have equal texts."""
        return json.dumps({"dpcurves": CLOSED_TASK, **asdict(self)}, indent=1, sort_keys=True) + "\n"

    def write_or_verify(self, file: Path) -> None:
        """Write the file if it does not exist; else require that the servers' answer equals it.

        Formal guarantees: a client that keeps the file never accepts counts of another report set, or with other noise,
        for the same task. So it detects if both servers' stores were lost or restored after it asked them before.

        Args:
            file: Path of the file.

        Raises:
            ProtocolError: the file differs, or cannot be read or written.
        """
        with suppress(FileAlreadyExists):
            write_public(file, self.to_json())
            return
        try:
            stored = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise ProtocolError("file", f"{str(file)!r} cannot be read; restore it from a copy") from None
        if stored != self.to_json():
            rule = (
                f"the report set or the noise differs from that in {str(file)!r}, so the answer was discarded; "
                "ask both operators whether a store was restored"
            )
            raise ProtocolError("servers", rule, 502)


def path_of_agreed_reports(ticket: Path) -> Path:
    """Return the path of the file of `AgreedReports`, beside an analyst's or the coordinator's ticket."""
    return ticket.with_name(ticket.name + ".closed")


class ClosedTask(NamedTuple):
    """Size of the accepted report set of a closed task.

    Attributes:
        report_set: Hash of the set.
        reports: Number of reports.
        owners: Number of owners.
    """

    report_set: str
    reports: int
    owners: int


def close_task(
    task: SharedTask,
    ticket: Ticket,
    party: int = 0,
    timeout: float = ANSWER_SECONDS,
    seed: bytes | None = None,
    *,
    agreed_file: Path | None = None,
) -> ClosedTask:
    """Close a task: both servers agree on the accepted reports, and for a task of pairs receive the seed of pairs.

    Args:
        task: The task.
        ticket: The coordinator's ticket.
        party: Number of the server that is asked, 0 or 1; it asks the other one.
        timeout: Seconds that an answer may take.
        seed: Seed from which pairs are drawn; None: the task is not about pairs.
        agreed_file: File to which the agreement is written; if it exists, its content must be equal. None: no file.

    Returns:
        Hash and size of the accepted report set.

    Raises:
        ProtocolError: the ticket is of another task, the servers do not agree or are unreachable, or the file differs.
            Repeating the call gives the same result.
    """
    require_ticket_for(ticket, task)
    seed_message = b"" if seed is None else json.dumps({"seed": seed.hex()}).encode()
    with Channel.from_certificate(task.servers[party].url, task.servers[party].certificate, timeout) as server:
        reply = server.post(f"/tasks/{task.hash}/close", seed_message, ticket.derive_bearer_token(party))
        agreed = parse_fields(reply, "server", set=str, reports=int, owners=int, commitments=list)
    if agreed_file is not None:
        AgreedReports(
            task.hash, agreed["set"], agreed["reports"], tuple(map(str, agreed["commitments"]))
        ).write_or_verify(agreed_file)
    return ClosedTask(agreed["set"], agreed["reports"], agreed["owners"])
