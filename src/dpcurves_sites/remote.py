"""A site as a process, questions that its officer approves, and the federation as an analyst asks it."""

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

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from dpcurves.arguments import ArgumentError, InvalidArgument, ProtocolError
from dpcurves.codec import STORED
from dpcurves.conversation import Plan, Plans, Release, Step
from dpcurves.conversation.release import to_canonical_json
from dpcurves.curves import Question
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.curves.result import warn_about_notes
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.privacy import PrivacyLoss
from dpcurves.session import ask_with_budget
from dpcurves_parties.serving.channel import PATIENCE, Channel
from dpcurves_parties.serving.task_document import Ticket

from .relay import unpack_messages
from .secure_sum import KEYS, MASKED, OPENED, SHARES, SIGNED, STAGES, RoundMessages, cut_receipt, parse_message
from .site import Site
from .task import FederationTask
from .trust import build_release, derive_round, rebuild_release

WHOLE = 64
"""Hexadecimal digits of a fingerprint."""


def fingerprint_question(question: Any) -> str:
    """Hash of all that a question asks, in 64 hexadecimal digits: whoever names it means that very question."""
    return sha256(
        to_canonical_json(["dpcurves federation question", 1, question_to_json(question)]).encode()
    ).hexdigest()


class ApprovalRequest(NamedTuple):
    """A question as a site's officer is shown it before a question is answered.

    Attributes:
        question: In words.
        loss: The loss of the whole question.
        request: Its id.
        plan: The plan of this turn: what will leave the house, masked.
        fingerprint: That of the question, as files of approved ones name it.
    """

    question: str
    loss: PrivacyLoss
    request: str
    plan: Plan
    fingerprint: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The question, its price, and what leaves the house, for people."""
        return (
            f"asked: {self.question} (question {self.fingerprint})",
            f"price: {self.loss} in all, {self.plan.loss} for this turn, under request {self.request!r}",
            f"leaves the house: {self.plan.law.size} masked numbers, {self.plan.made_by}",
        )


@dataclass(frozen=True, slots=True)
class ApprovedQuestion:
    """A question that is approved.

    Attributes:
        fingerprint: That of the question.
        max_loss: The most that it may lose each time it is asked.
    """

    fingerprint: str
    max_loss: PrivacyLoss

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> ApprovedQuestion:
        """From a file: a question or its fingerprint, and epsilon or rho.

        Raises:
            ValueError, KeyError, TypeError: it is none.
        """
        if entry.keys() - {"question", "fingerprint", "epsilon", "rho"}:
            raise KeyError
        (name,) = entry.keys() & {"question", "fingerprint"}
        (kind,) = entry.keys() & {"epsilon", "rho"}
        most = (PrivacyLoss.pure if kind == "epsilon" else PrivacyLoss.zcdp)(str(entry[kind]))
        if name == "question":
            return cls(fingerprint_question(question_from_json(entry[name])), most)
        if len(bytes.fromhex(entry[name])) != WHOLE // 2:
            raise ValueError
        return cls(entry[name].lower(), most)

    def allows(self, request: ApprovalRequest) -> bool:
        """Tell whether this is the question, at a loss that is approved: a pure one has a rho, too, and not back."""
        if self.max_loss.epsilon is None:
            within = request.loss.rho <= self.max_loss.rho
        else:
            within = request.loss.epsilon is not None and request.loss.epsilon <= self.max_loss.epsilon
        return request.fingerprint == self.fingerprint and within


class ApprovedList:
    """A file of approved questions. It is read again at each question, so that it can be changed meanwhile.

    The file is a JSON list. Each entry has ``question``, as in ``{"ask": "cdf", "column": "age", ...}``, or its
    ``fingerprint``, as plans and sites print it; and the most that it may lose each time: ``epsilon`` or ``rho``.

    Args:
        file: Its path.

    Raises:
        ValueError: it can not be read, or is no such list.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._load()

    def __call__(self, request: ApprovalRequest) -> bool:
        """Tell whether a question is approved. Refused as above."""
        return any(entry.allows(request) for entry in self._load())

    def _load(self) -> Sequence[ApprovedQuestion]:
        try:
            stored = json.loads(self._file.read_text(encoding="utf-8"))
            if not isinstance(stored, list):
                raise TypeError
            return [ApprovedQuestion.from_json(each) for each in stored]
        except InvalidArgument:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            rule = "it is no list of approved questions, each with question or fingerprint, and epsilon or rho"
            raise InvalidArgument("approved", rule) from None


Curve = TypeVar("Curve")
PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""Seconds between two tries to reach a coordinator."""
AT_HOME = 600.0
"""Seconds that a site waits in a turn for the others."""
LEFT_OUT = "left out, for they did not send what they counted in time: "
GONE = frozenset({404, 409, 410})
"""Answers of a coordinator of a turn that is over, or goes on without this site, or that it does not know any more."""
RETRIED = frozenset({500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class RoundRequest:
    """A turn of a question.

    Formal guarantees: sites believe nothing in it but who asked. They make the plan by themselves, from the question
    and from the answers that are named here: were these not those that were released, the plan would be that of
    another query, at the same price, and turns are priced for whatever query is asked next. Sites that are told
    different things make different plans, and none of the others' messages is theirs.

    Attributes:
        question: What is asked.
        loss: What all of it may lose.
        request: The id under which sites charge it.
        answers: The numbers released in the turns before.
    """

    question: Any
    loss: PrivacyLoss
    request: str
    answers: tuple[tuple[int, ...], ...]

    def to_signed_bytes(self, task: FederationTask, key: Ed25519PrivateKey) -> bytes:
        """The message of an analyst."""
        facts = {
            "task": task.hash, "question": question_to_json(self.question), "loss": STORED.encode(self.loss),
            "request": self.request, "answers": self.answers, "analyst": key.public_key().public_bytes_raw().hex(),
        }  # fmt: skip
        text = json.dumps(facts, sort_keys=True).encode()
        return key.sign(b"dpcurves federation: asks\n" + text) + text

    @classmethod
    def from_signed_bytes(cls, octets: bytes, task: FederationTask) -> RoundRequest:
        """A message of an analyst of this task.

        Raises:
            ProtocolAborted: it is none.
        """
        try:
            signature, text = octets[:64], octets[64:]
            facts = json.loads(text)
            analyst = bytes.fromhex(facts["analyst"])
            if facts["task"] != task.hash or analyst not in task.analysts:
                raise ProtocolError("question", "it is of nobody who may ask in this task", 403)
            Ed25519PublicKey.from_public_bytes(analyst).verify(signature, b"dpcurves federation: asks\n" + text)
            answers = tuple(tuple(map(int, each)) for each in facts["answers"])
            loss = STORED.decode(PrivacyLoss, facts["loss"]).as_single_release()
            return cls(question_from_json(facts["question"]), loss, str(facts["request"]), answers)
        except InvalidSignature:
            raise ProtocolError("question", "it is not signed by an analyst of this task", 403) from None
        except (KeyError, TypeError, json.JSONDecodeError):
            raise ProtocolError("question", "what was asked can not be read") from None

    def plan_round(self, task: FederationTask) -> tuple[Plan, Allotment]:
        """The plan of this turn, from the question and the answers before.

        Raises:
            UnsupportedQuery, ValueError: sums can not answer it, or it ends before this turn.
        """
        terms, turns = task.terms, list(self.answers)

        def reply(step: Step, allotment: Allotment) -> Release:
            plan = terms.plan_query(step.query, allotment.loss)
            if not turns:
                raise _StopAtRound(plan, allotment)
            return rebuild_release(plan, turns.pop(0), allotment)

        try:
            budget = QuestionBudget.from_external_charge(self.request, self.loss, charged_by_round=True)
            ask_with_budget(self.question, terms.adjacency, terms.model, budget, reply)
        except _StopAtRound as reached:
            return reached.plan, reached.allotment
        raise ProtocolError("question", "it has no such turn")


class _StopAtRound(Exception):  # the turn that was looked for
    """Ends a rehearsed conversation at the turn that was looked for, with its plan."""

    def __init__(self, plan: Plan, allotment: Allotment) -> None:
        super().__init__()
        self.plan, self.allotment = plan, allotment


class SiteAgent:
    """A site of a federation that works through its coordinator, and opens no port.

    Args:
        task: What all agreed on.
        site: The site, with its records.
        key: Its key.
        ticket: That of the site, which lets it in at the coordinator.
        approve: Whether a question may be answered: it is asked once for all turns of one.
        tell: Is told what happens, one line each.
        patience: Seconds that this site waits in a turn for the others, before it sees what else is asked.
    """

    def __init__(
        self, task: FederationTask, site: Site, key: Ed25519PrivateKey, ticket: Ticket, *,
        approve: Callable[[ApprovalRequest], bool] = lambda asked: True, tell: Callable[[str], object] = lambda line: None,
        timeout: float = AT_HOME,
    ) -> None:  # fmt: skip
        self._task, self._site, self._key = task, site, key
        self._approve, self._tell = approve, tell
        self._decided: dict[tuple[str, PrivacyLoss, str], bool] = {}
        self._line = _CoordinatorConnection(task, ticket, round_timeout=timeout)

    def use_transport(self, transport: Transport) -> SiteAgent:
        """Let others carry the messages of this site; returns the agent."""
        self._line.use_transport(transport)
        return self

    def run(self) -> None:
        """Answer until the process is stopped.

        Raises:
            ValueError: the records are not as the task says.
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
        pause = PAUSE
        while True:
            found = unpack_messages(self._line.post("consents", self._task.sign_consent(self._key)))
            try:
                self._task.require_consents({one[0]: one[1:] for one in found})
                return
            except ProtocolError as waiting:
                if waiting.status != 409:
                    raise
                sleep(pause)
                pause = min(1.5 * pause, LONGEST_PAUSE)

    def _answer_request(self, octets: bytes) -> None:
        name = sha256(octets).hexdigest()
        try:
            asked = RoundRequest.from_signed_bytes(octets, self._task)
            plans = self._task.terms.plan_question(asked.question, asked.loss)
            if not asked.answers:
                self._site.require_answerable(plans, asked.request)
            plan, allotment = asked.plan_round(self._task)
            self._require_approval(asked, plan)
            given: Sequence[bytes] = ()
            for stage in (KEYS, SHARES, MASKED, SIGNED, OPENED):
                message = self._site.answer(plan, allotment, stage, given)
                self._line.post(f"turns/{name}/{stage}", message)
                given = self._line.collect_messages(name, stage) if stage < OPENED else ()
            self._tell(f"answered: {asked.question}, {plan.made_by}")
        except RoundOver as error:
            self._tell(str(error))
            sleep(PAUSE)
        except ArgumentError as error:  # refusals of all kinds: one line, without a value of a record
            self._refuse_request(name, *redact_refusal(error))
        except Exception as error:  # what it says may quote a record, and its kind may depend on one
            self._refuse_request(name, f"it failed ({type(error).__name__})", "site: it failed, and tells nothing else")

    def _require_approval(self, round_request: RoundRequest, plan: Plan) -> None:
        """Show the officer each turn, and ask once for all turns of a question.

        Raises:
            ProtocolAborted: the question was not approved.
        """
        mark = fingerprint_question(round_request.question)
        shown = ApprovalRequest(str(round_request.question), round_request.loss, round_request.request, plan, mark)
        for line in shown.lines:
            self._tell(line)
        decided = mark, round_request.loss, round_request.request
        if decided not in self._decided:
            self._decided[decided] = self._approve(shown)
        if not self._decided[decided]:
            raise ProtocolError("question", "it was not approved", 403)

    def _refuse_request(self, name: str, internal_line: str, public_line: str) -> None:
        self._tell(f"refused: {internal_line}")
        with suppress(ProtocolError):
            self._line.post(f"turns/{name}/refused", public_line.encode())


def redact_refusal(error: ArgumentError) -> tuple[str, str]:
    """A refusal as it is told in the house, and outside: which columns a site has, and of which kind, stays in it."""
    if error.argument != "column":
        return str(error), str(error)
    column = "one of them" if error.given is None else repr(error.given)
    return str(error), f"column: {column} can not be counted at this site"


class RoundOver(ProtocolError):
    """The coordinator has ended a turn, or goes on without who asks."""


class Transport(Protocol):
    """Interface of connections to a coordinator: HTTPS, or a system that carries messages."""

    def post(self, path: str, body: bytes, token: str = "") -> bytes:
        """The answer of the coordinator."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class _CoordinatorConnection:
    """The connection to a coordinator, which may go and come back."""

    def __init__(
        self, task: FederationTask, ticket: Ticket, timeout: float | None = None, round_timeout: float | None = None
    ) -> None:
        self._channel: Transport = Channel.from_certificate(
            task.coordinator.url, task.coordinator.certificate, PATIENCE
        )
        self._path, self._token, self._patience = f"/tasks/{task.hash}", ticket.derive_bearer_token(0), timeout
        self._turn = round_timeout

    def use_transport(self, transport: Transport) -> None:
        """Send what is sent from now on another way."""
        self._channel.close()
        self._channel = transport

    def post(self, path: str, body: bytes) -> bytes:
        """Its answer; while nobody can be reached, it is tried again.

        Raises:
            ProtocolAborted: it refuses, or was away for longer than there is patience.
        """
        pause, spent = PAUSE, 0.0
        while True:
            try:
                return self._channel.post(f"{self._path}/{path}", body, self._token)
            except ProtocolError as error:
                if error.status in GONE:
                    raise RoundOver(error.argument, error.rule, error.status) from None
                away = error.status in RETRIED and not error.rule.startswith("who answers")
                if not away or (self._patience is not None and spent > self._patience):
                    raise
            sleep(pause)
            spent += pause
            pause = min(1.5 * pause, LONGEST_PAUSE)

    def collect_messages(self, name: str, stage: int) -> list[bytes]:
        """The messages of a stage, once they are there.

        Raises:
            TurnOver: that takes longer than there is patience.
        """
        begun = monotonic()
        while not (octets := self.post(f"turns/{name}/{stage}/all", b"")):
            if self._turn is not None and monotonic() - begun > self._turn:
                raise RoundOver("turn", f"{STAGES[stage]} of others did not come within {self._turn:g} seconds", 408)
        return unpack_messages(octets)

    def close(self) -> None:
        self._channel.close()


class RemoteFederation:
    """The sites of a task, asked through its coordinator.

    All messages of a turn are fetched and checked here, and the sum is opened here: a coordinator that alters, swaps,
    repeats or invents messages is found out, and nothing is shown.

    Args:
        task: What all agreed on.
        ticket: That of an analyst, which lets it in at the coordinator.
        key: The analyst's key, by which sites know who asks.
        patience: Seconds that the coordinator may be away.
    """

    def __init__(self, task: FederationTask, ticket: Ticket, key: Ed25519PrivateKey, timeout: float = PATIENCE) -> None:
        self._task, self._key, self._line = task, key, _CoordinatorConnection(task, ticket, timeout)

    def __enter__(self) -> RemoteFederation:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()

    def plan(self, question: Question[Curve], loss: PrivacyLoss) -> Plans:
        """The plan of a question without any data."""
        return self._task.terms.plan_question(question, loss)

    def ask(self, question: Question[Curve], loss: PrivacyLoss, request: str | None = None) -> Curve:
        """Plan, and have the sites charge and answer: as `Session.ask`. The same request again gives the same curve.

        Warns:
            CurveWarning: each of the curve's `notes`.

        Raises:
            UnsupportedQuery: nothing was charged.
            ProtocolAborted: a site refused, in its own words, or is gone; or a message was altered.
        """
        self.plan(question, loss)
        terms, loss = self._task.terms, loss.as_single_release()
        name = request if request is not None else secrets.token_hex(16)
        answers: list[tuple[int, ...]] = []

        def reply(step: Step, allotment: Allotment) -> Release:
            plan = terms.plan_query(step.query, allotment.loss)
            asked = RoundRequest(question, loss, name, tuple(answers)).to_signed_bytes(self._task, self._key)
            turn = self._line.post("asks", asked).decode()
            sent = [self._line.collect_messages(turn, stage) for stage in (KEYS, SHARES, MASKED, SIGNED, OPENED)]
            place = derive_round(terms.roster, plan, allotment)
            release = build_release(plan, place, RoundMessages(*sent), allotment)
            there = {parse_message(place, MASKED, cut_receipt(place, octets)).site for octets in sent[MASKED - KEYS]}
            absent = [member.name for number, member in enumerate(self._task.members) if number not in there]
            answers.append(release.values)
            return replace(release, notes=(LEFT_OUT + ", ".join(absent),)) if absent else release

        budget = QuestionBudget.from_external_charge(name, loss, charged_by_round=True)
        curve = ask_with_budget(question, terms.adjacency, terms.model, budget, reply)
        warn_about_notes(curve)
        return curve


def fetch_status(task: FederationTask) -> Mapping[str, Any]:
    """Standing of a task, as the coordinator says: which sites have signed it.

    Raises:
        ProtocolAborted: it can not be reached, or is another one.
    """
    channel = Channel.from_certificate(task.coordinator.url, task.coordinator.certificate)
    try:
        found: Mapping[str, Any] = json.loads(channel.get(f"/tasks/{task.hash}"))
    finally:
        channel.close()
    return found
