"""The request of a round: an analyst's signed message, from which every recipient computes the same plan.

    request = the question, the answers of earlier rounds, the round, and the analyst's signature

Every recipient computes the plan itself (`RoundRequest.plan_round`), so a coordinator cannot change what sites count.

Formal guarantees: a site trusts the signature alone; the loss is that of the plan that it computed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from dpcurves.arguments import ArgumentError, ProtocolError
from dpcurves.codec import STORED
from dpcurves.conversation import Plan, Release, Step
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.privacy import PrivacyLoss
from dpcurves.session import ask_with_budget

from .task import FederationTask
from .trust import rebuild_release


@dataclass(frozen=True, slots=True)
class RoundRequest:
    """An analyst's request for one round of a question.

    Formal guarantees: sites trust only its signature. They compute the plan themselves, from the question and the
    stated earlier answers. If these were false, the plan would be of another query at the same price, and the price of
    a round holds for any query. Sites that receive different requests compute different plans, and reject each other's
    messages.

    Attributes:
        question: The question.
        loss: The privacy loss of all rounds.
        request: The request id under which sites charge it.
        answers: The released numbers of the earlier rounds.
    """

    question: Any
    loss: PrivacyLoss
    request: str
    answers: tuple[tuple[int, ...], ...]

    def to_signed_bytes(self, task: FederationTask, key: Ed25519PrivateKey) -> bytes:
        """Return the analyst's signature, 64 bytes, and the request as JSON."""
        facts = {
            "task": task.hash, "question": question_to_json(self.question), "loss": STORED.encode(self.loss),
            "request": self.request, "answers": self.answers, "analyst": key.public_key().public_bytes_raw().hex(),
        }  # fmt: skip
        text = json.dumps(facts, sort_keys=True).encode()
        return key.sign(b"dpcurves federation: asks\n" + text) + text

    @classmethod
    def from_signed_bytes(cls, octets: bytes, task: FederationTask) -> RoundRequest:
        """Parse and verify the message of an analyst of this task.

        Raises:
            ProtocolError: The message is invalid, or its author is not an analyst of the task.
        """
        try:
            signature, text = octets[:64], octets[64:]
            facts = json.loads(text)
            analyst = bytes.fromhex(facts["analyst"])
            if facts["task"] != task.hash or analyst not in task.analysts:
                raise ProtocolError(
                    "question",
                    "the author is not an analyst of this task; ask with an analyst's key that the task names",
                    403,
                )
            Ed25519PublicKey.from_public_bytes(analyst).verify(signature, b"dpcurves federation: asks\n" + text)
            answers = tuple(tuple(map(int, values)) for values in facts["answers"])
            loss = STORED.decode(PrivacyLoss, facts["loss"]).as_single_release()
            return cls(question_from_json(facts["question"]), loss, str(facts["request"]), answers)
        except InvalidSignature:
            raise ProtocolError(
                "question", "the signature is invalid; ask again with the analyst's own key", 403
            ) from None
        except ArgumentError:
            raise
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError):
            raise ProtocolError(
                "question", "the message is not a valid request; use the same version of dpcurves on all machines"
            ) from None

    def plan_round(self, task: FederationTask) -> tuple[Plan, Allotment]:
        """Plan this round from the question and the earlier answers.

        Raises:
            UnsupportedQuery: Secure sums cannot answer the question.
            ProtocolError: The question ends before this round.
        """
        terms = task.terms
        earlier = list(self.answers)

        def reply(step: Step, allotment: Allotment) -> Release:
            """Return the release of an earlier round as the analyst states it; stop at the requested round with its
            plan.
            """
            plan = terms.plan_query(step.query, allotment.loss)
            if not earlier:
                raise _StopAtRound(plan, allotment)
            return rebuild_release(plan, earlier.pop(0), allotment)

        try:
            budget = QuestionBudget.from_external_charge(self.request, self.loss, charged_by_round=True)
            ask_with_budget(self.question, terms.adjacency, terms.model, budget, reply)
        except _StopAtRound as reached:
            return reached.plan, reached.allotment
        raise ProtocolError(
            "question", "the question has no such round; use the same version of dpcurves on all machines"
        )


class _StopAtRound(Exception):
    """Ends a rehearsal at the requested round, and carries its plan."""

    def __init__(self, plan: Plan, allotment: Allotment) -> None:
        super().__init__()
        self.plan = plan
        self.allotment = allotment
