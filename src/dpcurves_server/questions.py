"""Question lifecycle of a verification server: planning, asking, status, and the identifiers of equal questions.

An analyst of a project (a group who share a dataset) asks a question, such as the mean of a column, at a privacy loss.
It is planned from public facts, put into a queue, and charged and answered by a worker process:

    queued  -> paid        a worker has charged the loss
            -> refused     no budget is left, a steward has withdrawn it, or its author is no longer an analyst
    paid    -> counted     a worker has stored the answer
    counted -> answered    at the next publication time

What principals see is the status at the last publication time, a public clock, so that it does not show how long
counting took. Three identifiers say which questions are equal:

    request_id     project, version of the dataset, query and loss: charged once
    question_id    a request and the question that reads it: listed once
    answer_key     version of the dataset and question, at any loss: a published answer is free for all

Formal guarantees: a plan is a function of public facts; a question is charged before any record is read, by a worker.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, insert, select

from dpcurves.curves.question_json import question_to_json
from dpcurves.foreign_text import escape_for_terminal
from dpcurves.ledger import Currency, Event, Member, MemberBalance
from dpcurves.ledger.account import LONGEST_ACCOUNT_NAME
from dpcurves.privacy import PrivacyLoss
from dpcurves.session import make_request_id
from dpcurves.shortcuts import parse_loss

from .dataset_views import VIEW, question_on_view_from_json
from .datasets import Dataset, Datasets
from .planner import PlanJob, PlannedRounds, Planner
from .principals import Principal, Right, Subject, has_right, not_found, require
from .projects import Project, Projects, find_project_for
from .schema_alignment import align_with_schema
from .store import Archive, format_now
from .tables import QUESTIONS, RELEASES

MOST_LISTED = 500
"""Largest number of questions of a listing, so that pages stay short: the newest ones; older ones are left out."""
QUESTIONS_WITH_RELEASES = select(QUESTIONS, RELEASES.c.published_at).outerjoin(
    RELEASES, RELEASES.c.id == QUESTIONS.c.id
)
"""SQL: all questions, each with the publication time of its release (NULL if unpublished)."""


class State(Enum):
    """Status of a question. A counted answer is shown at the next publication time, not before."""

    QUEUED = "queued"
    PAID = "paid"
    COUNTED = "counted"
    ANSWERED = "answered"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question in the queue, answered or refused.

    Attributes:
        id: The identifier that the question shares with its release (stored answer).
        request: The id under which the ledger charges it, once.
        project: Name of the project that pays; empty if the caller may not see it.
        dataset: Name of the dataset.
        version: Version of the dataset.
        person: The analyst who asked first; empty if the caller may not see who it was.
        question: The question as plain JSON objects.
        purpose: The question in words.
        loss: The privacy loss of the answer.
        asked_at: Time of asking, as ISO 8601 text in UTC.
        state: The status at the last publication time, which may be older than the true status.
        refusal: Reason of a refusal in words; None if the question was not refused.
        is_published: Whether all who may list the datasets may see the release.
    """

    id: str
    request: str
    project: str
    dataset: str
    version: int
    person: str
    question: Mapping[str, Any]
    purpose: str
    loss: PrivacyLoss
    asked_at: str
    state: State
    refusal: str | None
    is_published: bool

    @property
    def subject(self) -> Subject:
        """Dataset and project that access rights to this question are checked against."""
        return Subject(self.dataset, self.project)


def question_from_row(row: Row[Any]) -> AskedQuestion:
    """Return the asked question that a database row holds, with all names; the caller redacts names where needed.

    Args:
        row: Row of the statement `QUESTIONS_WITH_RELEASES`: a question joined with its release.
    """
    return AskedQuestion(
        row.id, row.request, row.project, row.dataset, row.version, row.person, json.loads(row.question), row.purpose,
        loss_from_text(row.epsilon, row.rho), row.asked_at, State(row.shown),
        row.refusal if row.shown == State.REFUSED.value else None, row.published_at is not None,
    )  # fmt: skip


def loss_from_text(epsilon: str | None, rho: str | None) -> PrivacyLoss:
    """Return the loss that was stored as exact texts of epsilon, else of rho.

    Args:
        epsilon: Exact text of epsilon; None: the loss has a rho.
        rho: Exact text of rho; not read if epsilon is given.
    """
    return parse_loss(epsilon, None) if epsilon is not None else parse_loss(None, rho)


def loss_to_json(loss: PrivacyLoss) -> dict[str, str | None]:
    """Convert a privacy loss to JSON: its epsilon or rho as exact decimal or fractional text, so that no digit is lost.

    Args:
        loss: Pure epsilon, or rho of zero-concentrated privacy.

    Returns:
        Text under ``epsilon`` and None under ``rho``, or the reverse.
    """
    if loss.epsilon is not None:
        return {"epsilon": str(loss.epsilon), "rho": None}
    return {"epsilon": None, "rho": str(loss.rho)}


def find_question(connection: Connection, id: str) -> AskedQuestion | None:
    """Return the question with this identifier, with the names of its project and its analyst; None if no question has
    it. The caller checks rights and hides these names where needed.

    Args:
        connection: Connection in a transaction.
        id: Identifier of the question.
    """
    row = connection.execute(QUESTIONS_WITH_RELEASES.where(QUESTIONS.c.id == id)).first()
    return None if row is None else question_from_row(row)


def list_questions(archive: Archive, *conditions: ColumnElement[bool]) -> tuple[AskedQuestion, ...]:
    """Return the newest `MOST_LISTED` questions that satisfy the conditions, newest first.

    Args:
        archive: Database of the server.
        conditions: SQL conditions on questions; all must hold, and none selects every question.

    Returns:
        Questions; empty without a match.
    """
    query = QUESTIONS_WITH_RELEASES.where(*conditions).order_by(QUESTIONS.c.number.desc()).limit(MOST_LISTED)
    return archive.read_snapshot(lambda connection: tuple(map(question_from_row, connection.execute(query).all())))


PAID_BEFORE_MESSAGE = "the project has already paid this loss for the same query: nothing more is charged"
"""Note of a plan whose query the project has already paid for, at the same loss."""


@dataclass(frozen=True, slots=True)
class QuestionPlan:
    """The cost and the expected error of a question, from public facts alone.

    Attributes:
        project: The project that would pay.
        dataset: The dataset.
        question: The question.
        loss: The privacy loss.
        plans: The planned rounds: query, price, mechanism and error.
        notes: Notes to read before paying.
        id: The identifier that the question would have.
        request: The request id under which it would be charged.
        remaining: Remaining budgets of analyst, project and dataset; None if no allowance was set.
        earlier_question: An equal question for the same loss, if the project has asked it before; its answer is free.
        is_paid: Whether the project has paid this loss for the same query; then the question is free.
        published_answers: Published releases that answer the question, by any payer; they are free.
    """

    project: Project
    dataset: Dataset
    question: Any
    loss: PrivacyLoss
    plans: PlannedRounds
    notes: tuple[str, ...]
    id: str
    request: str
    remaining: MemberBalance | None
    earlier_question: AskedQuestion | None
    is_paid: bool
    published_answers: tuple[AskedQuestion, ...]

    @property
    def price(self) -> str:
        """Price of the question in the currency of the dataset's account (epsilon or rho), in exact digits."""
        return self.dataset.account.currency.price(self.loss).digits

    @property
    def is_affordable(self) -> bool:
        """Return True if the remaining budget covers the price. A request that was charged before is always covered."""
        if self.earlier_question is not None or self.is_paid:
            return True
        price = self.dataset.account.currency.price(self.loss)
        return self.remaining is not None and price.billionths <= self.remaining.remaining.billionths


class Questions:
    """Plans questions, puts them into the queue and reports their status."""

    def __init__(
        self, archive: Archive, datasets: Datasets, projects: Projects, notify: Callable[[], object] = int
    ) -> None:
        self._archive = archive
        self._datasets = datasets
        self._projects = projects
        self._call = notify
        self.planner = Planner()

    def plan(
        self,
        who: Principal,
        project: str,
        question_json: Mapping[str, Any],
        loss: PrivacyLoss,
        row_share: float | None = None,
    ) -> QuestionPlan:
        """Plan a question for a project: its cost and expected error. Reads no records.

        Args:
            who: An analyst of the project.
            project: The project that would pay.
            question_json: The question as plain objects, as in study files; ``view`` names a view of the account.
            loss: The privacy loss.
            row_share: A guess of the share of rows that pass the filter, to which the plan's errors are related.

        Raises:
            PlanPending: The question is large, and its plan is being made.
            ProtocolError: The principal is not an analyst of the project, or asks for too many plans.
            ValueError: The question is invalid, reads a column that the dataset does not declare, or names no view.
            UnsupportedQuery: No mechanism can answer the question.
        """
        payer = find_project_for(self._archive, who, project, Right.ASK)
        dataset = self._datasets.get(who, payer.dataset)
        views = self._datasets.views(who, dataset.name) if VIEW in question_json else {}
        question = question_on_view_from_json(question_json, views)
        question = align_with_schema(question, dataset.name, dataset.columns)
        loss = loss.as_single_release()
        Currency.require_countable(loss, loss)
        plans = self.planner.plan(
            who.name, payer.name, question, PlanJob.from_question(question, loss, dataset, row_share)
        )
        request = request_id(Member(payer.name, who.name), dataset, question, loss)
        id = question_id(request, question)
        remaining = self._projects.remaining(who, project)
        earlier, published_answers = self._archive.read_snapshot(
            lambda connection: _find_earlier(connection, id, answer_key(dataset, question))
        )
        is_paid = self._archive.read_snapshot(lambda connection: _is_paid(connection, request))
        notes = (*plans.notes, *((PAID_BEFORE_MESSAGE,) if is_paid else ()))
        return QuestionPlan(
            payer, dataset, question, loss, plans, notes, id, request, remaining, earlier, is_paid, published_answers
        )

    def ask(self, who: Principal, project: str, question_json: Mapping[str, Any], loss: PrivacyLoss) -> AskedQuestion:
        """Put a question into the queue, and return it. If the project has asked it at this loss, the earlier question
        is returned.

        A new question gets an audit event, and wakes a worker. The worker charges it before any record is read, against
        the allowances of analyst and project and the dataset's cap. A question that was refused before, and so not
        charged, is put into the queue again.

        Args:
            who: The caller, an analyst of the project.
            project: Name of the project that pays.
            question_json: The question as plain objects, as in study files; ``view`` names a view of the dataset.
            loss: The privacy loss of the answer.

        Raises:
            PlanPending: The question is large, and its plan is being made.
            ProtocolError: The caller is not an analyst of the project or has no allowance; or too many plans or
                questions wait.
            ValueError: The question is invalid, reads a column that the dataset does not declare, or names no view.
            UnsupportedQuery: No mechanism can answer the question.
        """
        planned = self.plan(who, project, question_json, loss)
        facts = {
            "id": planned.id, "request": planned.request, "project": project, "dataset": planned.dataset.name,
            "version": planned.dataset.version, "person": who.name, "question": _question_to_text(planned.question),
            "purpose": str(planned.question), "same": answer_key(planned.dataset, planned.question),
            "epsilon": _number_to_text(planned.loss.epsilon), "rho": str(planned.loss.rho), "asked_at": format_now(),
            "state": State.QUEUED.value, "shown": State.QUEUED.value, "tries": 0, "cells": planned.plans.cells,
        }  # fmt: skip

        def insert_question(connection: Connection) -> None:
            """Put the question into the queue; again, if it was refused before, since the budget may suffice now.

            Args:
                connection: Connection in the write transaction.
            """
            row = connection.execute(select(QUESTIONS.c.state).where(QUESTIONS.c.id == planned.id)).first()
            if row is None:
                connection.execute(insert(QUESTIONS), facts)
            elif row.state == State.REFUSED.value:  # nothing was charged, and the budget may suffice now
                requeued = {"state": State.QUEUED.value, "shown": State.QUEUED.value, "refusal": None, "worker": None}
                is_question = QUESTIONS.c.id == planned.id
                connection.execute(QUESTIONS.update().where(is_question).values(**requeued, person=who.name))

        words = describe_subject(planned.id, planned.question)
        if planned.earlier_question is None or planned.earlier_question.state is State.REFUSED:
            self._projects.require_allowance(who, project)
            self._archive.run_logged(Event(who.name, "asked", words, planned.dataset.name), insert_question)
            self._call()
        return self.get(who, planned.id)

    def get(self, who: Principal, id: str) -> AskedQuestion:
        """Return a question by its identifier, with its status at the last publication time (not the live one).

        Args:
            who: Caller, whose rights are checked.
            id: Identifier of the question.

        Raises:
            ProtocolError: The question does not exist, or is hidden from the caller.
        """
        question = self._archive.read_snapshot(lambda connection: find_question(connection, id))
        if question is None:
            raise not_found("question")
        right = Right.SEE_PUBLISHED if question.is_published else Right.SEE_QUESTIONS
        require(who, right, question.subject)
        return question

    def all(self, who: Principal, project: str) -> tuple[AskedQuestion, ...]:
        """Return the newest `MOST_LISTED` questions of a project, newest first; empty without questions.

        Args:
            who: The caller.
            project: Name of the project.

        Raises:
            ProtocolError: The project does not exist, or is hidden from the caller.
        """
        find_project_for(self._archive, who, project, Right.SEE_QUESTIONS)
        return list_questions(self._archive, QUESTIONS.c.project == project)

    def count_before(self, who: Principal, asked: AskedQuestion) -> int:
        """Return the number of earlier questions of the same project that still wait.

        Formal guarantees: it is computed from the published states that every analyst of the project sees. It depends
        neither on counting times, which may depend on records, nor on other projects.

        Args:
            who: Caller, whose rights are checked.
            asked: The question; 0 is returned if it does not wait.

        Raises:
            ProtocolError: The project's questions are hidden from the principal.
        """
        waiting = [
            question for question in self.all(who, asked.project) if question.state in (State.QUEUED, State.PAID)
        ]
        ids = [question.id for question in waiting]
        return len(ids) - 1 - ids.index(asked.id) if asked.id in ids else 0

    def queue(self, who: Principal, dataset: str) -> tuple[AskedQuestion, ...]:
        """Return the newest `MOST_LISTED` questions of a dataset over all projects, newest first.

        Args:
            who: The caller: a steward of the dataset, an auditor, or the machine.
            dataset: Name of the dataset; one that does not exist gives an empty result for auditor and machine.

        Raises:
            ProtocolError: The questions are hidden from the caller.
        """
        require(who, Right.SEE_QUEUE, Subject(dataset))
        return list_questions(self._archive, QUESTIONS.c.dataset == dataset)


def request_id(member: Member, dataset: Dataset, question: Any, loss: PrivacyLoss) -> str:
    """Return the id under which the ledger charges a project's question, once.

    The id is equal for all analysts of a project, and for all questions that count the same on the same version at the
    same loss.

    Args:
        member: The project and the analyst who asks.
        dataset: The version of the dataset.
        question: The parsed question.
        loss: The privacy loss of the answer.
    """
    version = f"version {dataset.version}"
    return make_request_id(member, question, loss, dataset.adjacency, dataset.account.dataset, about=version)


def question_id(request: str, question: Any) -> str:
    """Return the identifier of a question and its release: a SHA-256 in 64 hexadecimal digits.

    Questions that need the same counts share a charge (request). If they show different results of these counts, their
    identifiers differ.

    Args:
        request: The id of the charge, from `request_id`.
        question: The parsed question.
    """
    return sha256(json.dumps([request, _question_to_text(question)]).encode()).hexdigest()


def answer_key(dataset: Dataset, question: Any) -> str:
    """Return a key that equal questions about the same version of a dataset share, at every loss.

    By this key, published answers of any project are found that answer a question without a charge.

    Args:
        dataset: Version of the data set.
        question: The parsed question.

    Returns:
        Text; questions about another version have another key.
    """
    return sha256(json.dumps([dataset.name, dataset.version, _question_to_text(question)]).encode()).hexdigest()


def _question_to_text(question: Any) -> str:
    """Return a question as JSON text in the order of its fields."""
    return json.dumps(question_to_json(question))  # no sort_keys: the order of a model's columns is part of it


def _number_to_text(number: object) -> str | None:
    """Return a number as Python prints it; None stays None."""
    return None if number is None else str(number)


def _find_earlier(connection: Connection, id: str, same: str) -> tuple[AskedQuestion | None, tuple[AskedQuestion, ...]]:
    """Return the question with an id, or None, and all published questions that the same release answers.

    Args:
        connection: Connection to the server's database.
        id: Identifier of the question.
        same: Canonical text of question and loss, equal for all questions that one release answers.
    """
    published = (QUESTIONS.c.same == same, RELEASES.c.published_at.is_not(None))
    rows = connection.execute(
        QUESTIONS_WITH_RELEASES.where(*published).order_by(QUESTIONS.c.number).limit(MOST_LISTED)
    ).all()
    return find_question(connection, id), tuple(map(question_from_row, rows))


def _is_paid(connection: Connection, request: str) -> bool:
    """Return True if a request was charged, as of the last publication time.

    Args:
        connection: Connection in a transaction.
        request: Request id of the charge.
    """
    paid = QUESTIONS.c.shown.in_([State.PAID.value, State.ANSWERED.value])
    return connection.execute(select(QUESTIONS.c.id).where(QUESTIONS.c.request == request, paid)).first() is not None


# Redaction of author names.
def describe_subject(id: str, question: object) -> str:
    """Return the subject of an audit event about a question: the start of its id, and its words on one line.

    The name of a column may hold characters that are not printable, which an audit event must not hold.

    >>> describe_subject("0123456789abcdef01", "mean of a\\nb")
    '0123456789abcdef: mean of a\\\\nb'
    """
    return f"{id[:16]}: {escape_for_terminal(question)}"[:LONGEST_ACCOUNT_NAME]


def redact_person(who: Principal, person: str, subject: Subject) -> str:
    """Return an author's name if it is the principal's own or the principal may see the project's analysts, else "".

    Args:
        who: Who reads.
        person: Name of the author.
        subject: Dataset and project of what was written.
    """
    return person if person == who.name or has_right(who, Right.SEE_PEOPLE_OF_PROJECT, subject) else ""


def redact_question(who: Principal, asked: AskedQuestion) -> AskedQuestion:
    """Return a question without the names that the principal may not see.

    Analysts of other projects see a published release, but neither its project nor its author.

    Args:
        who: The principal who is shown the question.
        asked: Question with all names.

    Returns:
        Copy in which a hidden project is an empty text.
    """
    project = asked.project if has_right(who, Right.SEE_PROJECT, asked.subject) else ""
    return replace(asked, person=redact_person(who, asked.person, asked.subject), project=project)
