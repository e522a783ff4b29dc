"""Network clients of a federation: the process of a site with its approval policy, and the client of an analyst.

A federation is a group of sites (such as hospitals) that keep their records and reveal only noisy sums of their counts.
Sites and analysts exchange signed messages through a coordinator (`relay`). The process of a site waits for requests
there and answers them with `site.Site`. Before it answers, the site's officer must approve the
question: at a prompt, or in advance by a file of approved questions with the largest loss of each (`ApprovedList`).
An analyst's client asks like a `Session`, and combines the messages of the sites into the noisy sum.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple, Protocol, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dpcurves.arguments import ArgumentError, InvalidArgument, ProtocolError
from dpcurves.conversation import Plan, Plans, Release, Step
from dpcurves.conversation.release import to_canonical_json
from dpcurves.curves import Question
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.curves.result import warn_about_notes
from dpcurves.foreign_text import escape_for_terminal
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.privacy import PrivacyLoss
from dpcurves.session import ask_with_budget
from dpcurves_parties.serving.channel import ANSWER_SECONDS, OTHER_CERTIFICATE_RULE, Channel
from dpcurves_parties.serving.messages import parse_object
from dpcurves_parties.serving.task_document import Ticket

from .relay import unpack_messages
from .round_request import RoundRequest
from .secure_sum import KEYS, MASKED, OPENED, SHARES, SIGNED, STAGES, RoundMessages, cut_receipt, parse_message
from .site import Site
from .task import FederationTask
from .trust import build_release, derive_round


def fingerprint_question(question: Any) -> str:
    """Return the SHA-256 of a question's canonical JSON, in 64 hexadecimal digits, by which officers approve it.

    Args:
        question: Question of an analyst.
    """
    return sha256(
        to_canonical_json(["dpcurves federation question", 1, question_to_json(question)]).encode()
    ).hexdigest()


class ApprovalRequest(NamedTuple):
    """A question as the site's officer sees it before approval.

    Attributes:
        question: The question in words.
        loss: The privacy loss of all rounds.
        request: The request id.
        plan: The plan of this round, whose masked answer leaves the site.
        fingerprint: The fingerprint of the question, as in files of approved questions.
    """

    question: str
    loss: PrivacyLoss
    request: str
    plan: Plan
    fingerprint: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """Text that an officer reads before approving a question: the question, its price, and the data that leaves the
        site.
        """
        return (
            f"question: {self.question} (fingerprint {self.fingerprint})",
            f"price: {self.loss} in total, {self.plan.loss} for this round, under request {self.request!r}",
            f"leaves the site: {self.plan.distribution.size} masked numbers, {self.plan.made_by}",
        )


@dataclass(frozen=True, slots=True)
class ApprovedQuestion:
    """An entry of the officer's file: a question, and up to which loss it may be asked.

    Attributes:
        fingerprint: SHA-256 of the question's JSON, in 64 hexadecimal digits.
        max_loss: The largest loss of each request.
    """

    fingerprint: str
    max_loss: PrivacyLoss

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> ApprovedQuestion:
        """Parse an entry of a file: a question or its fingerprint, and epsilon or rho.

        Args:
            entry: Fields of the entry.

        Raises:
            ValueError, KeyError, TypeError: The entry is invalid.
        """
        if entry.keys() - {"question", "fingerprint", "epsilon", "rho"}:
            raise KeyError
        (name,) = entry.keys() & {"question", "fingerprint"}
        (currency,) = entry.keys() & {"epsilon", "rho"}
        max_loss = (PrivacyLoss.pure if currency == "epsilon" else PrivacyLoss.zcdp)(str(entry[currency]))
        if name == "question":
            return cls(fingerprint_question(question_from_json(entry[name])), max_loss)
        if len(bytes.fromhex(entry[name])) != 32:  # bytes of a question's fingerprint, a SHA-256
            raise ValueError
        return cls(entry[name].lower(), max_loss)

    def allows(self, request: ApprovalRequest) -> bool:
        """Return True if a request is for the approved question at up to the approved loss. An approved rho admits
        epsilon, too.

        Args:
            request: Request of an analyst.
        """
        if self.max_loss.epsilon is None:
            is_affordable = request.loss.rho <= self.max_loss.rho
        else:
            is_affordable = request.loss.epsilon is not None and request.loss.epsilon <= self.max_loss.epsilon
        return request.fingerprint == self.fingerprint and is_affordable


class ApprovedList:
    """A file of approved questions, reread at each question so that changes take effect at once.

    The file is a JSON list. Each entry has ``question``, as in ``{"ask": "cdf", "column": "age", ...}``, or its
    ``fingerprint``, as plans and sites print it; and the largest loss of each request: ``epsilon`` or ``rho``.

    Args:
        file: The path.

    Raises:
        ValueError: The file cannot be read, or is invalid.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._load()  # refuses an invalid file before a question arrives

    def __call__(self, request: ApprovalRequest) -> bool:
        """Return True if the officer's list has the question of a request, approved for a loss at least as large.

        Args:
            request: Request of an analyst.

        Raises:
            ValueError: the file of the list is invalid.
        """
        return any(entry.allows(request) for entry in self._load())

    def _load(self) -> Sequence[ApprovedQuestion]:
        """Return the approved questions in the file, in its order.

        Raises:
            ValueError: the file cannot be read, or is no list of questions with losses.
        """
        try:
            stored = json.loads(self._file.read_text(encoding="utf-8"))
            if not isinstance(stored, list):
                raise TypeError
            return [ApprovedQuestion.from_json(entry) for entry in stored]
        except InvalidArgument:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            rule = "must be a JSON list of entries with question or fingerprint, and epsilon or rho"
            raise InvalidArgument("approved", rule) from None


Curve = TypeVar("Curve")
FIRST_PAUSE = 0.1
"""Seconds before the first retry of a request to the coordinator. Each later pause is 1.5 times as long, up to
`LONGEST_PAUSE`."""
LONGEST_PAUSE = 2.0
"""Seconds: the longest pause between two retries of a request to the coordinator."""
LEFT_OUT_RULE = "left out because their vectors did not arrive in time: "  # begins a note of a release; sites follow
"""Beginning of a result's note that lists the sites whose records are not in it."""
ENDED_ROUND_STATUSES = frozenset({404, 409, 410})
"""HTTP statuses of a round that is over, unknown to the coordinator, or continues without this site: the site gives
this round up."""
RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})
"""HTTP statuses after which a request is retried; after others it fails."""


class SiteAgent:
    """A site of a federation, connected to its coordinator as a client, without an open port.

    Args:
        task: The task document.
        site: The site with its records.
        key: The site's signing key.
        ticket: The site's credential at the coordinator.
        approve: Returns True to approve a question; called once for all of its rounds.
        tell: Receives log lines.
        timeout: Seconds that the site waits in a round for other sites, before it fetches the next request.
    """

    def __init__(
        self, task: FederationTask, site: Site, key: Ed25519PrivateKey, ticket: Ticket, *,
        approve: Callable[[ApprovalRequest], bool] = lambda question: True,
        tell: Callable[[str], object] = lambda line: None,
        timeout: float = 600.0,
    ) -> None:  # fmt: skip
        """Make the program of a site that fetches rounds from the coordinator and answers them.

        Args:
            task: The task of the federation.
            site: The site, with its records and its ledger.
            key: Signing key of the site.
            ticket: Bearer token of the site.
            approve: Function that decides whether a question is answered; default: all are.
            tell: Function that gets each line of the log.
            timeout: Seconds to wait for the other sites' messages of a stage.
        """
        self._task = task
        self._site = site
        self._key = key
        self._approve = approve
        self._tell = tell
        self._decided: dict[tuple[str, PrivacyLoss, str], bool] = {}
        self._line = _CoordinatorConnection(task, ticket, round_timeout=timeout)

    def use_transport(self, transport: Transport) -> SiteAgent:
        """Send all further messages through another transport, such as an app of Flower, instead of HTTPS; return this
        agent.

        Args:
            transport: The transport.
        """
        self._line.use_transport(transport)
        return self

    def run(self) -> None:
        """Answer rounds until the process is stopped.

        Raises:
            ValueError: The records do not fit the task.
        """
        self._site.open()
        self._wait_for_consents()
        self._tell("all sites have signed; waiting for questions")
        consent = self._task.sign_consent(self._key)
        while True:
            octets = self._line.post("waiting", consent)
            if octets:
                self._answer_request(octets)

    def _wait_for_consents(self) -> None:
        """Send this site's consent to the task, and again with growing pauses, until all sites have signed.

        Raises:
            ProtocolError: a consent is invalid, or the coordinator refuses.
        """
        pause = FIRST_PAUSE
        while True:
            consents = unpack_messages(self._line.post("consents", self._task.sign_consent(self._key)))
            try:
                self._task.require_consents({consent[0]: consent[1:] for consent in consents})
                return
            except ProtocolError as error:
                if error.status != 409:
                    raise
                sleep(pause)
                pause = min(1.5 * pause, LONGEST_PAUSE)

    def _answer_request(self, octets: bytes) -> None:
        """Answer one request stage by stage, or refuse it: the coordinator gets a line without facts of the records.

        Args:
            octets: Signed request, as the coordinator sent it.
        """
        round_name = sha256(octets).hexdigest()
        try:
            request = RoundRequest.from_signed_bytes(octets, self._task)
            plans = self._task.terms.plan_question(request.question, request.loss)
            if not request.answers:  # the first round
                self._site.require_answerable(plans, request.request)
            plan, allotment = request.plan_round(self._task)
            self._require_approval(request, plan)
            previous: Sequence[bytes] = ()
            for stage in (KEYS, SHARES, MASKED, SIGNED, OPENED):
                message = self._site.answer(plan, allotment, stage, previous)
                self._line.post(f"rounds/{round_name}/{stage}", message)
                previous = self._line.collect_messages(round_name, stage) if stage < OPENED else ()
            self._report(f"answered: {request.question}, {plan.made_by}")
        except RoundOver as error:  # in the words of a peer, which must not pass as this site's own
            self._report(f"round over; the coordinator says: {error}")
            sleep(FIRST_PAUSE)
        except ArgumentError as error:  # refusals quote no records
            self._refuse_request(round_name, *redact_refusal(error))
        except Exception as error:  # message and type may depend on records
            self._refuse_request(round_name, f"it failed ({type(error).__name__})", "site: internal error")

    def _require_approval(self, round_request: RoundRequest, plan: Plan) -> None:
        """Show each round to the officer, and ask for approval once per question.

        Args:
            round_request: Request of a round.
            plan: Plan of its query.

        Raises:
            ProtocolError: The officer did not approve the question.
        """
        digest = fingerprint_question(round_request.question)
        approval_request = ApprovalRequest(
            str(round_request.question), round_request.loss, round_request.request, plan, digest
        )
        for line in approval_request.lines:
            self._report(line)
        key = digest, round_request.loss, round_request.request
        if key not in self._decided:
            self._decided[key] = self._approve(approval_request)
        if not self._decided[key]:
            raise ProtocolError(
                "question", "was not approved by the site's officer; ask another question, or ask the officer", 403
            )

    def _report(self, line: str) -> None:
        """Write one line to the site's log, with every control character of a peer's text made visible.

        Args:
            line: The line.
        """
        self._tell(escape_for_terminal(line))

    def _refuse_request(self, round_name: str, internal_line: str, public_line: str) -> None:
        """Log the reason of a refusal, and send its public line to the coordinator if that is reachable.

        Args:
            round_name: Name of the round.
            internal_line: Reason for the site's own log.
            public_line: Reason that the others may see.
        """
        self._report(f"refused: {internal_line}")
        with suppress(ProtocolError):
            self._line.post(f"rounds/{round_name}/refused", public_line.encode())


def redact_refusal(error: ArgumentError) -> tuple[str, str]:
    """Return the reason why a site refuses a question in two versions: for the site's own log, and for others.

    Args:
        error: Refusal of a question at this site.

    Returns:
        (own line, line for others); the second one does not reveal the site's columns and files.
    """
    if error.argument == "where":
        return str(error), "where: the filter cannot be evaluated at this site"
    if error.argument == "ledger":  # its line names a file of this site
        return str(error), "ledger: cannot be used at this site now; repeat the request later, which is charged once"
    if error.argument != "column":
        return str(error), str(error)
    column = "a column of the question" if error.value is None else repr(error.value)
    return str(error), f"column: {column} cannot be counted at this site"


class RoundOver(ProtocolError):
    """The coordinator has ended a round, or continues it without this site."""


class Transport(Protocol):
    """Interface of connections to a coordinator, by HTTPS or another messaging system."""

    def post(self, path: str, body: bytes, token: str = "") -> bytes:
        """Send a request to the coordinator, and return the body of its answer.

        Args:
            path: Path below the coordinator's address.
            body: Body of the request.
            token: Bearer token; empty: none.

        Raises:
            ProtocolError: the coordinator refuses or cannot be reached.
        """
        ...

    def close(self) -> None:
        """Close the connection to the coordinator."""
        ...


class _CoordinatorConnection:
    """A connection to a coordinator that retries while the coordinator is down.

    Args:
        task: The task, which names the coordinator.
        ticket: Credential of a site or an analyst.
        timeout: Seconds that the coordinator may be down. None: no limit.
        round_timeout: Seconds to wait for the messages of a stage. None: until the coordinator ends the round.
    """

    def __init__(
        self, task: FederationTask, ticket: Ticket, timeout: float | None = None, round_timeout: float | None = None
    ) -> None:
        """Prepare a connection of a participant to the coordinator of a task; nothing is connected yet.

        Args:
            task: The task, with the coordinator's address and certificate.
            ticket: Bearer token of the participant.
            timeout: Seconds for which the coordinator may be down; None: no limit.
            round_timeout: Seconds to wait for the sites' messages of a stage; None: no limit.
        """
        self._channel: Transport = Channel.from_certificate(
            task.coordinator.url, task.coordinator.certificate, ANSWER_SECONDS
        )
        self._path = f"/tasks/{task.hash}"
        self._token = ticket.derive_bearer_token(0)
        self._down_timeout = timeout
        self._round_timeout = round_timeout

    def use_transport(self, transport: Transport) -> None:
        """Close the current transport and send later messages through `transport`.

        Args:
            transport: The new transport.
        """
        self._channel.close()
        self._channel = transport

    def post(self, path: str, body: bytes) -> bytes:
        """Send a request to the coordinator and return the body of the answer; retry with growing pauses while it is
        down.

        Args:
            path: Path below the task's path.
            body: Message.

        Raises:
            ProtocolError: The coordinator refused, or was down for longer than the timeout.
            RoundOver: The round has ended.
        """
        pause = FIRST_PAUSE
        waited = 0.0
        while True:
            try:
                return self._channel.post(f"{self._path}/{path}", body, self._token)
            except ProtocolError as error:
                if error.status in ENDED_ROUND_STATUSES:
                    raise RoundOver(error.argument, error.rule, error.status) from None
                is_down = error.status in RETRIED_STATUSES and not error.rule.startswith(OTHER_CERTIFICATE_RULE)
                if not is_down or (self._down_timeout is not None and waited > self._down_timeout):
                    raise
            sleep(pause)
            waited += pause
            pause = min(1.5 * pause, LONGEST_PAUSE)

    def collect_messages(self, round_name: str, stage: int) -> list[bytes]:
        """Wait until all sites have sent their messages of a stage of a round, and return the messages.

        Args:
            round_name: SHA-256 of the analyst's signed request, in hexadecimal digits.
            stage: Number of the stage.

        Raises:
            RoundOver: They did not arrive within the timeout.
        """
        start_time = monotonic()
        while not (octets := self.post(f"rounds/{round_name}/{stage}/all", b"")):
            if self._round_timeout is not None and monotonic() - start_time > self._round_timeout:
                raise RoundOver(
                    "round",
                    f"{STAGES[stage]} of other sites did not arrive within {self._round_timeout:g} seconds",
                    408,
                )
        return unpack_messages(octets)

    def close(self) -> None:
        """Close the transport to the coordinator, which other calls then cannot use."""
        self._channel.close()


class RemoteFederation:
    """An analyst's client of a federation, connected through its coordinator.

    The client fetches and verifies all messages of a round and unmasks the sum. A coordinator that alters, swaps,
    repeats or invents messages is detected, and no result is returned.

    Args:
        task: The task document.
        ticket: The analyst's credential at the coordinator.
        key: The analyst's signing key.
        timeout: Seconds that the coordinator may be down.
    """

    def __init__(
        self, task: FederationTask, ticket: Ticket, key: Ed25519PrivateKey, timeout: float = ANSWER_SECONDS
    ) -> None:
        """Prepare to ask the sites of a task through its coordinator; nothing is connected yet.

        Args:
            task: The task of the federation.
            ticket: Bearer token of the analyst.
            key: Signing key of the analyst.
            timeout: Seconds for which the coordinator may be down.
        """
        self._task = task
        self._key = key
        self._line = _CoordinatorConnection(task, ticket, timeout)

    def __enter__(self) -> RemoteFederation:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()

    def plan(self, question: Question[Curve], loss: PrivacyLoss) -> Plans:
        """Return the plans of a question's rounds. Reads no records and charges nothing.

        Args:
            question: Question of the analyst.
            loss: Loss of the whole question.

        Raises:
            ValueError: the question cannot be planned.
        """
        return self._task.terms.plan_question(question, loss)

    def ask(self, question: Question[Curve], loss: PrivacyLoss, request: str | None = None) -> Curve:
        """Plan a question, and let the sites charge and answer it, like `Session.ask`.

        A repeated request id returns the same curve without a further charge.

        Args:
            question: The question.
            loss: The loss that each site charges.
            request: Name of this request, for repeating it. None: a random name.

        Warns:
            CurveWarning: each of the curve's `notes`.

        Raises:
            UnsupportedQuery: Secure sums cannot answer it; nothing was charged.
            ProtocolError: A site refused or did not answer, or a message was altered.
        """
        self.plan(question, loss)  # refuses an unanswerable question before anything is sent
        terms = self._task.terms
        loss = loss.as_single_release()
        name = request if request is not None else secrets.token_hex(16)
        answers: list[tuple[int, ...]] = []  # released numbers of earlier rounds, which each request states

        def reply(step: Step, allotment: Allotment) -> Release:
            """Let the sites answer one query by a secure sum; return the verified release, with a note that names sites
            that were left out.

            Args:
                step: Query of the round.
                allotment: The request, the number of the paid step and its loss.
            """
            plan = terms.plan_query(step.query, allotment.loss)
            signed_request = RoundRequest(question, loss, name, tuple(answers)).to_signed_bytes(self._task, self._key)
            round_name = self._line.post("asks", signed_request).decode()
            messages = [
                self._line.collect_messages(round_name, stage) for stage in (KEYS, SHARES, MASKED, SIGNED, OPENED)
            ]
            sum_round = derive_round(terms.roster, plan, allotment)
            release = build_release(plan, sum_round, RoundMessages(*messages), allotment)
            included = {
                parse_message(sum_round, MASKED, cut_receipt(sum_round, octets)).site
                for octets in messages[MASKED - KEYS]
            }
            left_out = [member.name for number, member in enumerate(self._task.members) if number not in included]
            answers.append(release.values)
            return replace(release, notes=(LEFT_OUT_RULE + ", ".join(left_out),)) if left_out else release

        budget = QuestionBudget.from_external_charge(name, loss, charged_by_round=True)
        curve = ask_with_budget(question, terms.adjacency, terms.model, budget, reply)
        warn_about_notes(curve)
        return curve


def fetch_status(task: FederationTask) -> Mapping[str, Any]:
    """Return the status of a task from its coordinator: the sites that have signed it.

    Args:
        task: The task, with the coordinator's address.

    Raises:
        ProtocolError: The coordinator cannot be reached, or has another task.
    """
    channel = Channel.from_certificate(task.coordinator.url, task.coordinator.certificate)
    try:
        return parse_object(channel.get(f"/tasks/{task.hash}"), "coordinator")
    finally:
        channel.close()
