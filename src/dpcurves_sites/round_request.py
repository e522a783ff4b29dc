"""Signed query request of a federation: an analyst's message, from which every site computes the same query plan.

A federation is a group of sites that keep their records and reveal only noisy sums of their counts. A question may take
several rounds, that is, queries of which each depends on the released answers before it. Each round begins with

    request = the question, the released answers of earlier rounds, the number of the round, the analyst's signature

The plan of a round states the counted query, the noise and the privacy loss. It is a deterministic function of
the request and of public facts, so it need not be sent.

Formal guarantees: every site computes the plan itself (`RoundRequest.plan_round`) after it has verified the analyst's
signature. So a coordinator that passes the request on can change neither the query nor the charged loss.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from dpcurves.arguments import ArgumentError, ProtocolError
from dpcurves.codec import STORED_CODEC
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

    Formal guarantees: sites trust only its signature, and compute the plan from the question and the stated earlier
    answers. If these answers were false, the plan would be of another query with the same loss, and this loss holds for
    any query. Sites that receive different requests compute different plans, and reject each other's messages.

    Attributes:
        question: The question.
        loss: The privacy loss of all rounds.
        request: The request id under which sites charge it.
        answers: The released numbers of the earlier rounds, one tuple per round.
    """

    question: Any
    loss: PrivacyLoss
    request: str
    answers: tuple[tuple[int, ...], ...]

    def to_signed_bytes(self, task: FederationTask, key: Ed25519PrivateKey) -> bytes:
        """Return the request as bytes for the coordinator: the analyst's signature (64 bytes), then the request as
        JSON.

        Args:
            task: The task, whose hash is signed as well.
            key: The analyst's private key.
        """
        facts = {
            "task": task.hash, "question": question_to_json(self.question), "loss": STORED_CODEC.encode(self.loss),
            "request": self.request, "answers": self.answers, "analyst": key.public_key().public_bytes_raw().hex(),
        }  # fmt: skip
        text = json.dumps(facts, sort_keys=True).encode()
        return key.sign(b"dpcurves federation: asks\n" + text) + text

    @classmethod
    def from_signed_bytes(cls, octets: bytes, task: FederationTask) -> RoundRequest:
        """Parse a request and verify its signature.

        Args:
            octets: Result of `to_signed_bytes`.
            task: The task, which names the analysts' public keys.

        Raises:
            ProtocolError: The message is invalid, its signature is, or its author is not an analyst of the task.
            ValueError: The question itself is invalid.
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
            loss = STORED_CODEC.decode(PrivacyLoss, facts["loss"]).as_single_release()
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
        """Compute the plan of this round. Touches no records.

        The question is replayed with the stated answers of the earlier rounds, up to this round.

        Args:
            task: The task.

        Returns:
            The plan, and the part of the question's budget (the allotment) that pays for it.

        Raises:
            UnsupportedQuery: Secure sums cannot answer the question.
            ProtocolError: The question ends before this round.
        """
        terms = task.terms
        earlier = list(self.answers)

        def reply(step: Step, allotment: Allotment) -> Release:
            """Return the release of an earlier round as the analyst states it; stop the question at the requested
            round.

            Args:
                step: Query of the round.
                allotment: The request, the number of the paid step and its loss.

            Returns:
                Release of the next earlier round.

            Raises:
                _StopAtRound: the requested round is reached; the exception carries its plan.
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
    """Exception that ends the replay of a question at the requested round.

    Attributes:
        plan: Plan of the round.
        allotment: The part of the question's budget that pays for it.
    """

    def __init__(self, plan: Plan, allotment: Allotment) -> None:
        super().__init__()
        self.plan = plan
        self.allotment = allotment
