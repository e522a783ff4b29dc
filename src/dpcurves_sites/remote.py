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

from dpcurves.arguments import Named, ProtocolAborted, Refused
from dpcurves.codec import STORED
from dpcurves.conversation import Plan, Plans, Release, Step
from dpcurves.conversation.release import canonical
from dpcurves.curves import Question
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.curves.result import warn_of
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.privacy import PrivacyLoss
from dpcurves.session import pay_and_converse
from dpcurves_parties.serving.channel import PATIENCE, Channel
from dpcurves_parties.serving.task_document import Ticket

from .relay import messages_in
from .secure_sum import KEYS, MASKED, OPENED, SHARES, SIGNED, STAGES, Messages, read, receipt_of
from .site import Site
from .task import FederationTask
from .trust import recalled, told, turn_of

WHOLE = 64
"""Hexadecimal digits of a fingerprint."""


def fingerprint_of(question: Any) -> str:
    """Hash of all that a question asks, in 64 hexadecimal digits: whoever names it means that very question."""
    return sha256(canonical(["dpcurves federation question", 1, question_to_json(question)]).encode()).hexdigest()


class Approved(NamedTuple):
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
class Entry:
    """A question that is approved.

    Attributes:
        fingerprint: That of the question.
        most: The most that it may lose each time it is asked.
    """

    fingerprint: str
    most: PrivacyLoss

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Entry:
        """From a file: a question or its fingerprint, and epsilon or rho.

        Raises:
            ValueError, KeyError, TypeError: it is none.
        """
        if stored.keys() - {"question", "fingerprint", "epsilon", "rho"}:
            raise KeyError
        (name,) = stored.keys() & {"question", "fingerprint"}
        (kind,) = stored.keys() & {"epsilon", "rho"}
        most = (PrivacyLoss.pure if kind == "epsilon" else PrivacyLoss.zcdp)(str(stored[kind]))
        if name == "question":
            return cls(fingerprint_of(question_from_json(stored[name])), most)
        if len(bytes.fromhex(stored[name])) != WHOLE // 2:
            raise ValueError
        return cls(stored[name].lower(), most)

    def allows(self, asked: Approved) -> bool:
        """Tell whether this is the question, at a loss that is approved: a pure one has a rho, too, and not back."""
        if self.most.epsilon is None:
            within = asked.loss.rho <= self.most.rho
        else:
            within = asked.loss.epsilon is not None and asked.loss.epsilon <= self.most.epsilon
        return asked.fingerprint == self.fingerprint and within


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
        self._read()

    def __call__(self, asked: Approved) -> bool:
        """Tell whether a question is approved. Refused as above."""
        return any(entry.allows(asked) for entry in self._read())

    def _read(self) -> Sequence[Entry]:
        try:
            stored = json.loads(self._file.read_text(encoding="utf-8"))
            if not isinstance(stored, list):
                raise TypeError
            return [Entry.read(each) for each in stored]
        except Refused:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            rule = "it is no list of approved questions, each with question or fingerprint, and epsilon or rho"
            raise Refused("approved", rule) from None


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
class AskedTurn:
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

    def signed(self, task: FederationTask, key: Ed25519PrivateKey) -> bytes:
        """The message of an analyst."""
        facts = {
            "task": task.hash, "question": question_to_json(self.question), "loss": STORED.write(self.loss),
            "request": self.request, "answers": self.answers, "analyst": key.public_key().public_bytes_raw().hex(),
        }  # fmt: skip
        text = json.dumps(facts, sort_keys=True).encode()
        return key.sign(b"dpcurves federation: asks\n" + text) + text

    @classmethod
    def read(cls, octets: bytes, task: FederationTask) -> AskedTurn:
        """A message of an analyst of this task.

        Raises:
            ProtocolAborted: it is none.
        """
        try:
            signature, text = octets[:64], octets[64:]
            facts = json.loads(text)
            analyst = bytes.fromhex(facts["analyst"])
            if facts["task"] != task.hash or analyst not in task.analysts:
                raise ProtocolAborted("question", "it is of nobody who may ask in this task", 403)
            Ed25519PublicKey.from_public_bytes(analyst).verify(signature, b"dpcurves federation: asks\n" + text)
            answers = tuple(tuple(map(int, each)) for each in facts["answers"])
            loss = STORED.read(PrivacyLoss, facts["loss"]).of_one_release()
            return cls(question_from_json(facts["question"]), loss, str(facts["request"]), answers)
        except InvalidSignature:
            raise ProtocolAborted("question", "it is not signed by an analyst of this task", 403) from None
        except (KeyError, TypeError, json.JSONDecodeError):
            raise ProtocolAborted("question", "what was asked can not be read") from None

    def planned(self, task: FederationTask) -> tuple[Plan, Allotment]:
        """The plan of this turn, from the question and the answers before.

        Raises:
            UnsupportedQuery, ValueError: sums can not answer it, or it ends before this turn.
        """
        terms, turns = task.terms, list(self.answers)

        def reply(step: Step, allotment: Allotment) -> Release:
            plan = terms.turn(step.query, allotment.loss)
            if not turns:
                raise _Reached(plan, allotment)
            return recalled(plan, turns.pop(0), allotment)

        try:
            budget = QuestionBudget.told(self.request, self.loss, by_turn=True)
            pay_and_converse(self.question, terms.adjacency, terms.model, budget, reply)
        except _Reached as reached:
            return reached.plan, reached.allotment
        raise ProtocolAborted("question", "it has no such turn")


class _Reached(Exception):  # the turn that was looked for
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
        approve: Callable[[Approved], bool] = lambda asked: True, tell: Callable[[str], object] = lambda line: None,
        patience: float = AT_HOME,
    ) -> None:  # fmt: skip
        self._task, self._site, self._key = task, site, key
        self._approve, self._tell = approve, tell
        self._decided: dict[tuple[str, PrivacyLoss, str], bool] = {}
        self._line = _Line(task, ticket, turn=patience)

    def through(self, carried: Sends) -> SiteAgent:
        """Let others carry the messages of this site; returns the agent."""
        self._line.through(carried)
        return self

    def run(self) -> None:
        """Answer until the process is stopped.

        Raises:
            ValueError: the records are not as the task says.
        """
        self._site.open()
        self._join()
        self._tell("all sites have signed; waiting for questions")
        consent = self._task.consent(self._key)
        while True:
            octets = self._line.post("waiting", consent)
            if octets:
                self._answer(octets)

    def _join(self) -> None:
        pause = PAUSE
        while True:
            found = messages_in(self._line.post("consents", self._task.consent(self._key)))
            try:
                self._task.require_consents({one[0]: one[1:] for one in found})
                return
            except ProtocolAborted as waiting:
                if waiting.status != 409:
                    raise
                sleep(pause)
                pause = min(1.5 * pause, LONGEST_PAUSE)

    def _answer(self, octets: bytes) -> None:
        name = sha256(octets).hexdigest()
        try:
            asked = AskedTurn.read(octets, self._task)
            plans = self._task.terms.rehearsed(asked.question, asked.loss)
            if not asked.answers:
                self._site.expect(plans, asked.request)
            plan, allotment = asked.planned(self._task)
            self._require_approved(asked, plan)
            given: Sequence[bytes] = ()
            for stage in (KEYS, SHARES, MASKED, SIGNED, OPENED):
                message = self._site.answer(plan, allotment, stage, given)
                self._line.post(f"turns/{name}/{stage}", message)
                given = self._line.collect(name, stage) if stage < OPENED else ()
            self._tell(f"answered: {asked.question}, {plan.made_by}")
        except TurnOver as error:
            self._tell(str(error))
            sleep(PAUSE)
        except Named as error:  # refusals of all kinds: one line, without a value of a record
            self._refuse(name, *told_outside(error))
        except Exception as error:  # what it says may quote a record, and its kind may depend on one
            self._refuse(name, f"it failed ({type(error).__name__})", "site: it failed, and tells nothing else")

    def _require_approved(self, asked: AskedTurn, plan: Plan) -> None:
        """Show the officer each turn, and ask once for all turns of a question.

        Raises:
            ProtocolAborted: the question was not approved.
        """
        mark = fingerprint_of(asked.question)
        shown = Approved(str(asked.question), asked.loss, asked.request, plan, mark)
        for line in shown.lines:
            self._tell(line)
        decided = mark, asked.loss, asked.request
        if decided not in self._decided:
            self._decided[decided] = self._approve(shown)
        if not self._decided[decided]:
            raise ProtocolAborted("question", "it was not approved", 403)

    def _refuse(self, name: str, here: str, outside: str) -> None:
        self._tell(f"refused: {here}")
        with suppress(ProtocolAborted):
            self._line.post(f"turns/{name}/refused", outside.encode())


def told_outside(error: Named) -> tuple[str, str]:
    """A refusal as it is told in the house, and outside: which columns a site has, and of which kind, stays in it."""
    if error.argument != "column":
        return str(error), str(error)
    column = "one of them" if error.given is None else repr(error.given)
    return str(error), f"column: {column} can not be counted at this site"


class TurnOver(ProtocolAborted):
    """The coordinator has ended a turn, or goes on without who asks."""


class Sends(Protocol):
    """Interface of connections to a coordinator: HTTPS, or a system that carries messages."""

    def post(self, path: str, body: bytes, token: str = "") -> bytes:
        """The answer of the coordinator."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class _Line:
    """The connection to a coordinator, which may go and come back."""

    def __init__(
        self, task: FederationTask, ticket: Ticket, patience: float | None = None, turn: float | None = None
    ) -> None:
        self._channel: Sends = Channel.to(task.coordinator.url, task.coordinator.certificate, PATIENCE)
        self._path, self._token, self._patience = f"/tasks/{task.hash}", ticket.shown_to(0), patience
        self._turn = turn

    def through(self, carried: Sends) -> None:
        """Send what is sent from now on another way."""
        self._channel.close()
        self._channel = carried

    def post(self, path: str, body: bytes) -> bytes:
        """Its answer; while nobody can be reached, it is tried again.

        Raises:
            ProtocolAborted: it refuses, or was away for longer than there is patience.
        """
        pause, spent = PAUSE, 0.0
        while True:
            try:
                return self._channel.post(f"{self._path}/{path}", body, self._token)
            except ProtocolAborted as error:
                if error.status in GONE:
                    raise TurnOver(error.argument, error.rule, error.status) from None
                away = error.status in RETRIED and not error.rule.startswith("who answers")
                if not away or (self._patience is not None and spent > self._patience):
                    raise
            sleep(pause)
            spent += pause
            pause = min(1.5 * pause, LONGEST_PAUSE)

    def collect(self, name: str, stage: int) -> list[bytes]:
        """The messages of a stage, once they are there.

        Raises:
            TurnOver: that takes longer than there is patience.
        """
        begun = monotonic()
        while not (octets := self.post(f"turns/{name}/{stage}/all", b"")):
            if self._turn is not None and monotonic() - begun > self._turn:
                raise TurnOver("turn", f"{STAGES[stage]} of others did not come within {self._turn:g} seconds", 408)
        return messages_in(octets)

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

    def __init__(
        self, task: FederationTask, ticket: Ticket, key: Ed25519PrivateKey, patience: float = PATIENCE
    ) -> None:
        self._task, self._key, self._line = task, key, _Line(task, ticket, patience)

    def __enter__(self) -> RemoteFederation:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()

    def plan(self, question: Question[Curve], loss: PrivacyLoss) -> Plans:
        """The plan of a question without any data."""
        return self._task.terms.rehearsed(question, loss)

    def ask(self, question: Question[Curve], loss: PrivacyLoss, request: str | None = None) -> Curve:
        """Plan, and have the sites charge and answer: as `Session.ask`. The same request again gives the same curve.

        Warns:
            CurveWarning: each of the curve's `notes`.

        Raises:
            UnsupportedQuery: nothing was charged.
            ProtocolAborted: a site refused, in its own words, or is gone; or a message was altered.
        """
        self.plan(question, loss)
        terms, loss = self._task.terms, loss.of_one_release()
        name = request if request is not None else secrets.token_hex(16)
        answers: list[tuple[int, ...]] = []

        def reply(step: Step, allotment: Allotment) -> Release:
            plan = terms.turn(step.query, allotment.loss)
            asked = AskedTurn(question, loss, name, tuple(answers)).signed(self._task, self._key)
            turn = self._line.post("asks", asked).decode()
            sent = [self._line.collect(turn, stage) for stage in (KEYS, SHARES, MASKED, SIGNED, OPENED)]
            place = turn_of(terms.roster, plan, allotment)
            release = told(plan, place, Messages(*sent), allotment)
            there = {read(place, MASKED, receipt_of(place, octets)).site for octets in sent[MASKED - KEYS]}
            absent = [member.name for number, member in enumerate(self._task.members) if number not in there]
            answers.append(release.values)
            return replace(release, notes=(LEFT_OUT + ", ".join(absent),)) if absent else release

        budget = QuestionBudget.told(name, loss, by_turn=True)
        curve = pay_and_converse(question, terms.adjacency, terms.model, budget, reply)
        warn_of(curve)
        return curve


def standing(task: FederationTask) -> Mapping[str, Any]:
    """Standing of a task, as the coordinator says: which sites have signed it.

    Raises:
        ProtocolAborted: it can not be reached, or is another one.
    """
    channel = Channel.to(task.coordinator.url, task.coordinator.certificate)
    try:
        found: Mapping[str, Any] = json.loads(channel.get(f"/tasks/{task.hash}"))
    finally:
        channel.close()
    return found
