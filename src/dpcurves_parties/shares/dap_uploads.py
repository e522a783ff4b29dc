"""SECRET. Report uploads by the DAP draft (Distributed Aggregation Protocol, draft-ietf-ppm-dap), for both servers.

A record is split into two shares, one for each server. A client sends both, encrypted to their servers, to the leader
(server 0), which forwards the other ones to the helper (server 1) in an aggregation job. In the job both servers also
verify the reports that carry a proof that they encode a single cell (Prio3Histogram of the VDAF draft).

    LeaderUpload              the client of an owner of records
    ReportVerifier            one server's messages of the proof verification
    UploadLeader              the leader: stores its shares, and sends the helper's shares in an aggregation job
    answer_aggregation_job    the helper: stores its shares, and returns the outcome of each report

Formal guarantees: a share is encrypted to its server (HPKE), and one share alone reveals nothing about a record.
"SECRET" marks code whose values must not leave its server or device.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from hashlib import sha256
from time import time
from typing import NamedTuple, cast

import numpy as np

from ..crypto.prio3 import VerifiedCells
from ..serving.channel import ANSWER_SECONDS, Channel
from ..serving.group_commit import GroupCommit
from ..serving.messages import ProtocolError
from ..serving.task_document import Ticket
from ..serving.two_servers import dap, report_set
from ..serving.two_servers.collection import SharedTaskService
from ..serving.two_servers.owner import Contribution
from ..serving.two_servers.report_set import EarlierPolicy
from ..serving.two_servers.store import NoMoreReports, Offer, StoredReport, TaskFrozen
from .histogram_reports import HistogramEncoding
from .task import Task

CLOCK_PRECISIONS = 1
"""Time precisions (days) by which a client's clock may be ahead: 1, because clocks differ around midnight. A later
report is rejected as too early."""
NO_LEADER = "this server is the helper of the task; send reports to the leader, server 0"
"""Error message (status 404) if an upload or a collection job is sent to server 1."""


def derive_contribution_id(task: Task) -> bytes:
    """Return the contribution id of all uploads of an owner by the DAP draft; it is the same for all owners.

    Args:
        task: Document of the task.

    Returns:
        32 bytes, derived from the hash of the task.
    """
    return sha256(b"dpcurves DAP\n" + bytes.fromhex(task.hash)).digest()


@dataclass(frozen=True, slots=True, repr=False)
class ReportVerifier:
    """SECRET. One-round verification of reports on arrival, by both servers' proof messages. It has no repr.

    Tree reports have no proofs: they are checked before the first answer, under a key of the closed set. Reports with a
    single cell are checked again then, by the same messages, and the second check decides which reports count; the
    check on arrival gives the owner an immediate answer.

    Attributes:
        task: The task.
        party: Number of the server: 0 is the leader, 1 the helper.
        verify_key: Key that both servers share and clients do not know; it selects the random checks.
    """

    task: Task
    party: int
    verify_key: bytes

    def verify_reports(self, stored: Sequence[StoredReport]) -> VerifiedCells | None:
        """SECRET: evaluate this server's shares, and return them with one proof message per report, in order.

        Args:
            stored: This server's part of each report.

        Returns:
            The verified shares; None if there are no reports, or the task's reports have no proofs (tree reports).
        """
        encoding = self.task.encoding
        if not isinstance(encoding, HistogramEncoding) or not stored:
            return None
        public_size = encoding.public_size
        public = [report.share[:public_size] for report in stored]
        shares = [report.share[public_size:] for report in stored]
        return encoding.scheme.verify_init(
            self.party, public, shares, [report.id for report in stored], self.verify_key
        )

    def encode_init_messages(self, stored: Sequence[StoredReport], verified: VerifiedCells | None) -> list[bytes]:
        """Return the leader's ``initialize`` message of each report, in the order of `stored`.

        Args:
            stored: The leader's part of each report.
            verified: Result of `verify_reports` for the same reports; None if they have no proofs.

        Returns:
            Ping-pong messages of the DAP draft, encoded as bytes. Their content is the leader's proof message; without
            proofs, they have the same form and an empty content.
        """
        contents = [b""] * len(stored) if verified is None else [row.tobytes() for row in verified.messages]
        return [dap.encode_ping_pong_message(dap.PingPongType.INITIALIZE, content) for content in contents]

    def answer_messages(
        self, stored: Sequence[StoredReport], messages: Sequence[bytes]
    ) -> list[bytes | dap.ReportError]:
        """Return the helper's answer about each report, in order: a ``finish`` message, or the reason of rejection.

        Args:
            stored: The helper's part of each report.
            messages: The leader's ``initialize`` message about each report.
        """
        verified = self.verify_reports(stored)
        size = 0 if verified is None else verified.scheme.message_size
        contents = [_parse_init_message(message, size) for message in messages]
        if verified is None:
            return [
                dap.encode_ping_pong_message(dap.PingPongType.FINISH, each)
                if each == b""
                else dap.ReportError.INVALID_MESSAGE
                for each in contents
            ]
        joined = b"".join(bytes(size) if each is None else each for each in contents)
        passed = verified.find_accepted(np.frombuffer(joined, np.uint8).reshape(-1, size))
        return [
            dap.ReportError.INVALID_MESSAGE if content is None
            else dap.encode_ping_pong_message(dap.PingPongType.FINISH, seed.tobytes()) if passes
            else dap.ReportError.VDAF_VERIFY_ERROR
            for content, seed, passes in zip(contents, verified.seeds, passed, strict=True)
        ]  # fmt: skip

    def find_failures(
        self, verified: VerifiedCells | None, helper_answers: Sequence[dap.VerifyResp]
    ) -> dict[bytes, dap.ReportError]:
        """Return the ids of the reports that the leader rejects after the helper's answers, with the reasons.

        Args:
            verified: The leader's result of `verify_reports`; None if the reports have no proofs.
            helper_answers: The helper's answer about each report, in the same order.
        """
        expected = [b""] * len(helper_answers) if verified is None else [row.tobytes() for row in verified.seeds]
        failed = dict[bytes, dap.ReportError]()
        for answer, seed in zip(helper_answers, expected, strict=True):
            if isinstance(answer.result, dap.ReportError):
                failed[answer.report_id] = answer.result
            elif answer.result != dap.encode_ping_pong_message(dap.PingPongType.FINISH, seed):
                failed[answer.report_id] = dap.ReportError.VDAF_VERIFY_ERROR
        return failed


def _parse_init_message(message: bytes, size: int) -> bytes | None:
    """Return the proof share in the leader's message, of this size; None if the message is invalid."""
    try:
        content = dap.parse_ping_pong_message(message, dap.PingPongType.INITIALIZE)
    except ValueError:
        return None
    return content if len(content) == size else None


class OpenedUpload(NamedTuple):
    """SECRET. An owner's upload, after the leader has opened it.

    Attributes:
        owner: Number of the owner.
        report_ids: Ids of all reports, in the order of arrival.
        valid_reports: Valid reports, each with the leader's opened part.
        errors: Reasons for rejecting other reports.
    """

    owner: int
    report_ids: Sequence[bytes]
    valid_reports: Sequence[tuple[dap.Report, StoredReport]]
    errors: Mapping[bytes, dap.ReportError]

    def drop_invalid(self, are_shares: Sequence[bool]) -> OpenedUpload:
        """Return this upload without the reports that are not valid shares of the task.

        Args:
            are_shares: For each report, whether it is a valid share.
        """
        if all(are_shares):
            return self
        invalid_ids = [
            report[1].id for report, is_share in zip(self.valid_reports, are_shares, strict=True) if not is_share
        ]
        valid = [report for report, is_share in zip(self.valid_reports, are_shares, strict=True) if is_share]
        return self._replace(
            valid_reports=valid, errors={**self.errors, **dict.fromkeys(invalid_ids, dap.ReportError.INVALID_MESSAGE)}
        )

    @property
    def size(self) -> int:
        """Upper bound on the bytes of all valid reports' parts for the helper, in an aggregation job."""
        # 2**9: bytes of a report in an aggregation job beside its shares, at most: id, time, lengths and the leader's
        # message
        return sum(
            len(report.public_share) + len(report.encrypted_input_shares[1].payload) + 2**9
            for report, _ in self.valid_reports
        )


class UploadLeader:
    """SECRET. The leader's side of uploads. It has no repr.

    Uploads that wait at the same time are stored in one transaction, and forwarded in one aggregation job. A report
    counts if both servers accepted it. After any failure, the same message may be sent again.

    Formal guarantees: each owner shows its ticket to both servers: to the leader in the request, to the helper in the
    private extension of its input share, which the leader cannot open. So neither can contribute in an owner's name at
    the other server. The leader cannot change a report that it forwards, because input shares are bound to the rest of
    the report. Proof messages between the servers reveal nothing, however often they are sent (`Prio3Histogram`). An
    owner's upload does not affect other owners: each is rejected alone, and a job contains an id once.

    Args:
        service: The leader.
        verifier: Verification of reports.
    """

    def __init__(self, service: SharedTaskService[Task], verifier: ReportVerifier) -> None:
        self._service = service
        self._verifying = verifier
        # 0.1: seconds for which uploads are gathered while several arrive together: a large job costs less per report
        # 2**22: bytes of an aggregation job at most, unless a single upload is larger; `LARGEST_BATCH` limits requests
        self._queue = GroupCommit(self._take_uploads, lambda upload: upload.size, 2**22, gather_seconds=0.1)

    def submit(self, owner: int, reports: Sequence[dap.Report]) -> Future[bytes]:
        """Store the reports of an owner at both servers, in the background.

        Args:
            owner: Number of the owner.
            reports: The reports of one upload.

        Returns:
            A future, which is done when both servers have answered. Its result is the encoded list of rejected reports,
            empty if all were accepted. It raises a `ProtocolError` if the task accepts no more reports, or the helper
            is unreachable.

        Raises:
            ProtocolError: this is the helper.
        """
        if self._service.party != 0:
            raise ProtocolError("server", NO_LEADER, 404)
        failed = dict[bytes, dap.ReportError]()
        valid = list[tuple[dap.Report, StoredReport]]()
        for report in reports:
            stored = _open_report(self._service, report.to_report_share(0), [])
            if isinstance(stored, dap.ReportError):
                failed[report.report_metadata.report_id] = stored
            else:
                valid.append((report, stored[0]))
        return self._queue.submit(
            OpenedUpload(owner, [report.report_metadata.report_id for report in reports], valid, failed)
        )

    def _take_uploads(self, uploads: Sequence[OpenedUpload]) -> Sequence[bytes | Exception]:
        """Store uploads at both servers, in groups in which no report id is repeated.

        Args:
            uploads: Decrypted uploads.

        Returns:
            For each upload, in order, its rejected reports, encoded; or its error.
        """
        outcomes = dict[int, bytes | Exception]()
        remaining = list(range(len(uploads)))
        while remaining:
            now = list[int]()
            ids = set[bytes]()
            for number in remaining:
                upload_ids = {stored.id for _, stored in uploads[number].valid_reports}
                if not upload_ids & ids:
                    now.append(number)
                    ids |= upload_ids
            outcomes |= zip(now, self._take_disjoint_uploads([uploads[number] for number in now]), strict=True)
            remaining = [number for number in remaining if number not in outcomes]
        return [outcomes[number] for number in range(len(uploads))]

    def _take_disjoint_uploads(self, uploads: Sequence[OpenedUpload]) -> list[bytes | Exception]:
        """Store uploads without common ids at both servers; return for each its rejected reports, encoded, or its
        error.
        """
        shares = [stored.share for upload in uploads for _, stored in upload.valid_reports]
        are_shares = iter(_are_shares(self._service, shares) if shares else [])
        uploads = [upload.drop_invalid([next(are_shares) for _ in upload.valid_reports]) for upload in uploads]
        name = derive_contribution_id(self._service.task)
        offering = [upload for upload in uploads if upload.valid_reports]
        offers = []
        for upload in offering:
            stored_reports = [stored for _, stored in upload.valid_reports]
            offers.append(Offer(upload.owner, name, EarlierPolicy.STAYS, stored_reports))
        outcomes = zip(offering, map(_extract_error, self._service.store_offers(offers)), strict=True)
        refused = {id(upload): error for upload, error in outcomes if error is not None}
        accepted = [report for upload in offering if id(upload) not in refused for report in upload.valid_reports]
        try:
            failed = self._hand_to_helper(accepted) if accepted else {}
        except Exception as error:  # an error of the helper: each owner receives it, and no upload is retried alone
            failed = {}
            refused = {**{id(upload): error for upload in offering}, **refused}
        return [
            refused.get(id(upload)) or dap.encode_upload_errors({**failed, **upload.errors}, upload.report_ids)
            for upload in uploads
        ]

    def _hand_to_helper(self, reports: Sequence[tuple[dap.Report, StoredReport]]) -> dict[bytes, dap.ReportError]:
        """Forward the helper's parts of some reports; return the failed reports with the reasons.

        Args:
            reports: Each report as uploaded, with its stored form.

        Returns:
            Reason by report id; empty if all were accepted.
        """
        stored = [stored_report for _, stored_report in reports]
        task = self._service.task.hash
        verified = self._verifying.verify_reports(stored)
        messages = zip(reports, self._verifying.encode_init_messages(stored, verified), strict=True)
        job = dap.encode_aggregation_job(
            task, (dap.VerifyInit(report.to_report_share(1), message) for (report, _), message in messages)
        )
        answer = self._service.peer.post(
            f"/tasks/{dap.encode_task_id(task)}/aggregation_jobs", job, content_type=dap.AGGREGATION_JOB_INIT_REQ_TYPE
        )
        return self._verifying.find_failures(
            verified, dap.parse_aggregation_job_response(answer, [stored_report.id for stored_report in stored])
        )


def _extract_error(outcome: int | BaseException) -> Exception | None:
    """Return the error of a stored upload; None if its outcome is a number of new reports.

    Args:
        outcome: Number of new reports, or the exception that refused the upload.

    Raises:
        BaseException: the outcome is an exception that must end the program, such as KeyboardInterrupt.
    """
    if isinstance(outcome, BaseException) and not isinstance(outcome, Exception):
        raise outcome
    return outcome if isinstance(outcome, Exception) else None


def answer_aggregation_job(
    service: SharedTaskService[Task], verifier: ReportVerifier, verify_inits: Sequence[dap.VerifyInit]
) -> bytes:
    """Store, as the helper, its parts of reports that the leader forwards; return the outcome of each.

    Args:
        service: Service of the helper.
        verifier: Verification of reports on arrival.
        verify_inits: The reports, each with the leader's message.

    Raises:
        ProtocolError: this is the leader, or the task accepts no more reports.
    """
    if service.party != 1:
        raise ProtocolError(
            "server", "this server is the leader of the task; send aggregation jobs to the helper, server 1", 404
        )
    errors = dict[bytes, bytes | dap.ReportError]()
    valid = list[tuple[int, StoredReport, bytes]]()
    for init in verify_inits:
        outcome = _open_owned_report(service, init.report_share)
        if isinstance(outcome, dap.ReportError):
            errors[init.report_metadata.report_id] = outcome
        else:
            valid.append((*outcome, init.payload))
    are_shares = _are_shares(service, [report.share for _, report, _ in valid]) if valid else []
    errors |= {
        report.id: dap.ReportError.INVALID_MESSAGE
        for (_, report, _), is_share in zip(valid, are_shares, strict=True)
        if not is_share
    }
    valid = [init for init, is_share in zip(valid, are_shares, strict=True) if is_share]
    stored = [report for _, report, _ in valid]
    answers = verifier.answer_messages(stored, [message for *_, message in valid])
    offered = defaultdict[int, list[StoredReport]](list)
    for (owner, report, _), answer in zip(valid, answers, strict=True):
        errors[report.id] = answer
        if not isinstance(answer, dap.ReportError):
            offered[owner].append(report)
    name = derive_contribution_id(service.task)
    offers = [Offer(owner, name, EarlierPolicy.STAYS, reports) for owner, reports in offered.items()]
    for offer, error in zip(offers, map(_extract_error, service.store_offers(offers)), strict=True):
        if isinstance(error, NoMoreReports | TaskFrozen) or not isinstance(error, ProtocolError | None):
            raise error
        if error is not None:  # an error of this owner: other owners' reports in the job are stored
            errors |= dict.fromkeys((report.id for report in offer.reports), dap.ReportError.REPORT_DROPPED)
    return b"".join(
        dap.VerifyResp(init.report_metadata.report_id, errors[init.report_metadata.report_id]).to_bytes()
        for init in verify_inits
    )


def _open_owned_report(
    service: SharedTaskService[Task], share: dap.ReportShare
) -> tuple[int, StoredReport] | dap.ReportError:
    """SECRET: return the owner of a report, and the report as the helper stores it; or an error.

    Args:
        service: Service of the task, with the keys that decrypt reports.
        share: Encrypted share of a report.
    """
    opened_report = _open_report(service, share, [dap.TICKET_EXTENSION])
    if isinstance(opened_report, dap.ReportError):
        return opened_report
    stored, (ticket,) = opened_report
    try:
        return service.find_owner(ticket.extension_data.decode("ascii", "replace")), stored
    except ProtocolError:
        return dap.ReportError.REPORT_DROPPED


def _are_shares(service: SharedTaskService[Task], shares: Sequence[bytes]) -> list[bool]:
    """Return which messages are valid shares of the task's reports; if all are valid, they are parsed only once,
    together.

    Args:
        service: Service of the task at this server.
        shares: Candidate shares for this server, each of the right size.

    Returns:
        One flag per share.
    """
    try:
        service.task.encoding.require_shares(service.party, shares)
    except ValueError:
        if len(shares) == 1:
            return [False]
        return [is_share for share in shares for is_share in _are_shares(service, [share])]
    return [True] * len(shares)


def _open_report(
    service: SharedTaskService[Task], share: dap.ReportShare, extension_types: list[int]
) -> tuple[StoredReport, tuple[dap.Extension, ...]] | dap.ReportError:
    """SECRET: return a report as it is stored, and its private extensions, which must have these types; or an error.

    Args:
        service: Service of the task, with the keys that decrypt reports.
        share: Encrypted share of a report.
        extension_types: Types of private extensions, in order.

    Returns:
        The stored form and the extensions; or the error that is reported to the sender.
    """
    if share.report_metadata.time > time() / dap.TIME_PRECISION + CLOCK_PRECISIONS:
        return dap.ReportError.REPORT_TOO_EARLY
    input_share = service.hpke_keys.open_input_share(share, service.party, service.task.configuration)
    if not isinstance(input_share, dap.PlaintextInputShare):
        return input_share
    kinds = [extension.extension_type for extension in input_share.private_extensions]
    encoding = service.task.encoding
    full_share = share.public_share + input_share.payload
    size = encoding.size_for_party(service.party)
    if (
        share.report_metadata.public_extensions
        or kinds != extension_types
        or (len(share.public_share), len(full_share)) != (encoding.public_size, size)
    ):
        return dap.ReportError.INVALID_MESSAGE
    report_id = share.report_metadata.report_id
    return StoredReport(
        report_id,
        report_set.digest_public_share(share.public_share),
        report_set.hash_share(report_id, full_share),
        full_share,
    ), input_share.private_extensions


@dataclass(repr=False)
class LeaderUpload:
    """SECRET. Upload of an owner's contribution by the messages of the DAP draft, to the leader alone. It has no repr.

    Formal guarantees: as for `Contribution.send`. The leader can neither open nor change nor reuse the part that is
    sealed to the helper, with the ticket for it: it is bound to the task and the id of the report. The contribution
    fixes the report ids, so repeated uploads are recognised, and a ticket has at most as many reports as the task
    accepts.
    All uploads under a ticket are one contribution: if a task accepts one report of each owner, another file is
    rejected for this reason; if it accepts more, reports of another file would be added.

    Attributes:
        contribution: The reports.
        ticket: Ticket of the owner.
        config_ids: HPKE configuration ids of the servers, leader first.
    """

    contribution: Contribution
    ticket: Ticket
    config_ids: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.config_ids = tuple(dap.derive_config_id(self._hpke_key(party)) for party in (0, 1))

    def send(self, progress: Callable[[int], object], timeout: float = ANSWER_SECONDS) -> int:
        """Send all reports over a new connection; return their number.

        Args:
            progress: Called with the number of reports sent so far.
            timeout: Seconds that an answer may take.

        Raises:
            ProtocolError: a server rejects a report, or is unreachable. Reports that are sent again do not count twice.
        """
        server = self._task.servers[0]
        with Channel.from_certificate(server.url, server.certificate, timeout) as leader:
            return self.send_over(leader, progress)

    def send_over(self, leader: Channel, progress: Callable[[int], object] = lambda sent: None) -> int:
        """Send all reports to the leader over an open connection. If keys have been rotated, they are fetched and the
        batch is sent again.

        Args:
            leader: Connection to the leader server.
            progress: Called after each batch with the number of reports sent so far.

        Returns:
            Number of reports sent.

        Raises:
            ProtocolError: the leader refuses reports; the message has the reasons.
        """
        task = self._task
        sent = 0
        path = f"/tasks/{dap.encode_task_id(task.hash)}/reports"
        bearer_token = self.ticket.derive_bearer_token(0)
        for name, reports in self.contribution.iterate_shared_reports():
            del name  # all uploads under a ticket are one contribution
            failed = dap.parse_upload_errors(
                leader.post(path, self.encode_upload_request(reports), bearer_token, content_type=dap.UPLOAD_REQ_TYPE)
            )
            if dap.ReportError.OUTDATED_CONFIG in failed.values():
                self._fetch_config_ids(leader)
                failed = dap.parse_upload_errors(
                    leader.post(
                        path, self.encode_upload_request(reports), bearer_token, content_type=dap.UPLOAD_REQ_TYPE
                    )
                )
            if failed:
                reasons = ", ".join(sorted({error.name.lower().replace("_", " ") for error in failed.values()}))
                raise ProtocolError(
                    "reports", f"{len(failed)} were refused ({reasons}); send them again once the reason is removed"
                )
            sent += len(reports)
            progress(sent)
        return sent

    def encode_upload_request(self, reports: Sequence[tuple[bytes, tuple[bytes, bytes]]]) -> bytes:
        """Encode reports as an `UploadRequest` of the DAP draft, with both shares of each report encrypted.

        Args:
            reports: Id of each report, and its shares for server 0 and server 1.
        """
        public = self._task.encoding.public_size
        encoded = []
        for report_id, shares in reports:
            metadata = dap.ReportMetadata(report_id, int(time() / dap.TIME_PRECISION))
            input_shares = [share[public:] for share in shares]
            encoded.append(self._encode_report(metadata, shares[0][:public], input_shares))
        return b"".join(encoded)

    def _encode_report(self, metadata: dap.ReportMetadata, public: bytes, shares: Sequence[bytes]) -> bytes:
        """Return one report as the owner sends it: metadata, public share, and an input share sealed to each server.

        Args:
            metadata: Id, time and extensions of the report.
            public: Public share.
            shares: SECRET. Input share for each server.
        """
        bound = self._task.configuration.encode_input_share_aad(metadata, public)
        ciphertexts = []
        extensions = (), (dap.Extension(dap.TICKET_EXTENSION, self.ticket.derive_bearer_token(1).encode()),)
        for party, share in enumerate(shares):
            plaintext = dap.PlaintextInputShare(extensions[party], share).to_bytes()
            encrypted = dap.hpke_seal(plaintext, self._hpke_key(party), dap.encode_input_share_info(party), bound)
            ciphertexts.append(dap.HpkeCiphertext(self.config_ids[party], *encrypted))
        return dap.Report(metadata, public, (ciphertexts[0], ciphertexts[1])).to_bytes()

    @property
    def _task(self) -> Task:
        """The two-server task that the uploaded reports are for."""
        return cast(Task, self.contribution.task)

    def _hpke_key(self, party: int) -> bytes:
        """Return the HPKE public key of server 0 or 1, 32 bytes.

        Args:
            party: Number of the server, 0 or 1.
        """
        return bytes.fromhex(self._task.servers[party].hpke_key)

    def _fetch_config_ids(self, leader: Channel) -> None:
        """Store in `config_ids`, for each server, the id of the key that the task names.

        A server has several keys after a rotation, so the HPKE configurations of both servers are fetched.

        Args:
            leader: Connection to the leader server.

        Raises:
            ProtocolError: a server has another key than the task names (status 502).
        """
        helper = self._task.servers[1]
        with Channel.from_certificate(helper.url, helper.certificate, leader.timeout) as helper_channel:
            lists = [channel.get("/hpke_config") for channel in (leader, helper_channel)]
        try:
            self.config_ids = tuple(
                dap.parse_config_ids(config_list)[self._hpke_key(party)] for party, config_list in enumerate(lists)
            )
        except (ValueError, KeyError):
            raise ProtocolError(
                "server",
                "the server has another sealing key than the task names; contribute with this task's document",
                502,
            ) from None
