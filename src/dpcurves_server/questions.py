"""Questions: planned from public facts, asked once by a member of a project, and waited for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, insert, select

from dpcurves.arguments import InvalidArgument, describe_value
from dpcurves.conversation import Plan, Plans
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.data import Categories
from dpcurves.data.axis import Category, Predictor
from dpcurves.ledger import Currency, Event, Member, MemberBalance
from dpcurves.ledger.account import LONGEST_NAME
from dpcurves.privacy import PrivacyLoss
from dpcurves.records.value_names import parse_number
from dpcurves.session import make_request_id, plan_question
from dpcurves.shortcuts import parse_loss
from dpcurves.strategies.choice import find_unlisted, replace_categories

from .datasets import Dataset, Datasets
from .declared_columns import Declared
from .projects import Project, Projects, find_project_for
from .store import QUESTIONS, RELEASES, Archive, format_now
from .visitors import Right, Subject, Visitor, may, not_found, require

MOST_LISTED = 500
WITH_RELEASES = select(QUESTIONS, RELEASES.c.published_at).outerjoin(RELEASES, RELEASES.c.id == QUESTIONS.c.id)
"""Questions, and when their releases were published."""


class State(Enum):
    """Status of a question. Counted answers are shown at the next publication time, not before."""

    QUEUED = "queued"
    PAID = "paid"
    COUNTED = "counted"
    ANSWERED = "answered"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question in the queue or answered, as the server's tables have it.

    Attributes:
        id: That of the question, and of its release.
        request: Under which the ledger has it.
        project: Whose it is.
        dataset: What it asks.
        version: Which records.
        person: Who asked it first.
        question: Its form in JSON, as plain objects.
        purpose: In words.
        loss: What it may lose.
        asked_at: When.
        state: Where it stood when the public clock struck last.
        refusal: Why it was not charged, if it was refused.
        is_published: Whether everybody who may ask the dataset sees its release.
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
        """The subject that access rights are checked against."""
        return Subject(self.dataset, self.project)


def question_from_row(row: Row[Any]) -> AskedQuestion:
    """The question that a row stands for."""
    return AskedQuestion(
        row.id, row.request, row.project, row.dataset, row.version, row.person, json.loads(row.question), row.purpose,
        loss_from_text(row.epsilon, row.rho), row.asked_at, State(row.shown),
        row.refusal if row.shown == State.REFUSED.value else None, row.published_at is not None,
    )  # fmt: skip


def loss_from_text(epsilon: str | None, rho: str | None) -> PrivacyLoss:
    """A loss that was written down."""
    return parse_loss(epsilon, None) if epsilon is not None else parse_loss(None, rho)


def loss_to_json(loss: PrivacyLoss) -> dict[str, str | None]:
    """A loss, exactly."""
    if loss.epsilon is not None:
        return {"epsilon": str(loss.epsilon), "rho": None}
    return {"epsilon": None, "rho": str(loss.rho)}


def find_question(connection: Connection, id: str) -> AskedQuestion | None:
    """Look up a question of any analyst; None if there is none."""
    row = connection.execute(WITH_RELEASES.where(QUESTIONS.c.id == id)).first()
    return None if row is None else question_from_row(row)


def list_questions(archive: Archive, *mine: ColumnElement[bool]) -> tuple[AskedQuestion, ...]:
    """Questions of this kind, the last one first, and not too many."""
    query = WITH_RELEASES.where(*mine).order_by(QUESTIONS.c.number.desc()).limit(MOST_LISTED)
    return archive.read_snapshot(lambda connection: tuple(map(question_from_row, connection.execute(query).all())))


PAID = "the project has paid this for what is looked at: nothing more is charged"


@dataclass(frozen=True, slots=True)
class QuestionPlan:
    """The cost and the expected error of a question, from public facts alone.

    Attributes:
        project: Who would pay.
        dataset: What would be asked.
        question: What would be asked of it.
        loss: The price.
        plans: Turn by turn: query, price, mechanism and error.
        notes: What has to be known before it is paid.
        id: What the question would be called.
        request: Under which it would be charged.
        remaining: What is left to the analyst, the project and the dataset; None: no allowance was set yet.
        earlier_question: This question for this loss, if the project has asked it before: its answer costs nothing more.
        is_paid: Whether the project has paid this loss for what the question looks at: then it costs nothing more.
        published_answers: Releases that answer the question already, whoever paid for them: they cost nothing.
    """

    project: Project
    dataset: Dataset
    question: Any
    loss: PrivacyLoss
    plans: Plans
    notes: tuple[str, ...]
    id: str
    request: str
    remaining: MemberBalance | None
    earlier_question: AskedQuestion | None
    is_paid: bool
    published_answers: tuple[AskedQuestion, ...]

    @property
    def price(self) -> str:
        """The price in the account's currency, as digits."""
        return self.dataset.account.currency.price(self.loss).digits

    @property
    def is_affordable(self) -> bool:
        """Tell whether the remaining budget covers it; a request that was charged before is covered."""
        price = self.dataset.account.currency.price(self.loss)
        return (
            self.earlier_question is not None
            or self.is_paid
            or (self.remaining is not None and price.billionths <= self.remaining.remaining.billionths)
        )


class Questions:
    """Plans questions, takes them into the queue, and says where they stand."""

    def __init__(
        self, archive: Archive, datasets: Datasets, projects: Projects, notify: Callable[[], object] = int
    ) -> None:
        self._archive, self._datasets, self._projects, self._call = archive, datasets, projects, notify

    def plan(self, who: Visitor, project: str, question_json: Mapping[str, Any], loss: PrivacyLoss) -> QuestionPlan:
        """The cost and the expected error of a question for a project. Touches no records.

        Arguments:
            who: An analyst of the project.
            project: Who would pay.
            question_json: The question as plain objects, as in files of studies.
            loss: What it may lose.

        Raises:
            ProtocolAborted: they are not in the project.
            ValueError, UnsupportedQuery: it is no question, or one that can not be answered, or one of a column that
                the dataset does not declare.
        """
        found = find_project_for(self._archive, who, project, Right.ASK)
        dataset = self._datasets.get(who, found.dataset)
        question, loss = _add_declared_categories(question_from_json(question_json), dataset), loss.as_single_release()
        Currency.require_countable(loss, loss)
        plans = plan_question(question, loss, dataset.adjacency)
        _require_declared(plans, dataset)
        request = request_id(Member(found.name, who.name), dataset, question, loss)
        name, remaining = question_id(request, question), self._projects.remaining(who, project)
        asked, published = self._archive.read_snapshot(
            lambda one: _find_earlier(one, name, answer_key(dataset, question))
        )
        is_paid = self._archive.read_snapshot(lambda one: _is_paid(one, request))
        notes = (*plans.notes, *((PAID,) if is_paid else ()))
        return QuestionPlan(
            found, dataset, question, loss, plans, notes, name, request, remaining, asked, is_paid, published
        )

    def ask(self, who: Visitor, project: str, question_json: Mapping[str, Any], loss: PrivacyLoss) -> AskedQuestion:
        """Put a question into the queue; if the project has asked it for this loss, it is that one, for nothing.

        It is charged by a worker before any record is read: against the analyst's allowance, the project's and the cap.

        Raises:
            ProtocolAborted, ValueError, UnsupportedQuery: as of `plan`.
        """
        planned = self.plan(who, project, question_json, loss)
        facts = {
            "id": planned.id, "request": planned.request, "project": project, "dataset": planned.dataset.name,
            "version": planned.dataset.version, "person": who.name, "question": _question_to_text(planned.question),
            "purpose": str(planned.question), "same": answer_key(planned.dataset, planned.question),
            "epsilon": _number_to_text(planned.loss.epsilon), "rho": str(planned.loss.rho), "asked_at": format_now(),
            "state": State.QUEUED.value, "shown": State.QUEUED.value, "tries": 0,
        }  # fmt: skip

        def insert_question(connection: Connection) -> None:
            row = connection.execute(select(QUESTIONS.c.state).where(QUESTIONS.c.id == planned.id)).first()
            if row is None:
                connection.execute(insert(QUESTIONS), facts)
            elif row.state == State.REFUSED.value:  # nothing was charged: it may fit by now
                again = {"state": State.QUEUED.value, "shown": State.QUEUED.value, "refusal": None, "worker": None}
                mine = QUESTIONS.c.id == planned.id
                connection.execute(QUESTIONS.update().where(mine).values(**again, person=who.name))

        words = f"{planned.id[:16]}: {planned.question}"[:LONGEST_NAME]
        if planned.earlier_question is None or planned.earlier_question.state is State.REFUSED:
            self._projects.require_allowance(who, project)
            self._archive.run_logged(Event(who.name, "asked", words, planned.dataset.name), insert_question)
            self._call()
        return self.get(who, planned.id)

    def get(self, who: Visitor, id: str) -> AskedQuestion:
        """A question and its status at the last publication time.

        Raises:
            ProtocolAborted: there is none, or none that they may see.
        """
        asked = self._archive.read_snapshot(lambda connection: find_question(connection, id))
        if asked is None:
            raise not_found("question")
        right = Right.SEE_PUBLISHED if asked.is_published else Right.SEE_QUESTIONS
        require(who, right, asked.subject)
        return asked

    def all(self, who: Visitor, project: str) -> tuple[AskedQuestion, ...]:
        """The questions of a project, the last one first.

        Raises:
            ProtocolAborted: there is no such project, or it is not theirs to see.
        """
        find_project_for(self._archive, who, project, Right.SEE_QUESTIONS)
        return list_questions(self._archive, QUESTIONS.c.project == project)

    def count_before(self, who: Visitor, asked: AskedQuestion) -> int:
        """Number of questions of the same project that were asked earlier, and wait still.

        Formal guarantees: it is read off what every member of the project sees, the states when the public clock struck
        last. How long counting took, which may depend on records, is not looked at, nor are other projects.

        Raises:
            ProtocolAborted: the project's questions are not theirs to see.
        """
        found = [each for each in self.all(who, asked.project) if each.state in (State.QUEUED, State.PAID)]
        ids = [each.id for each in found]
        return len(ids) - 1 - ids.index(asked.id) if asked.id in ids else 0

    def queue(self, who: Visitor, dataset: str) -> tuple[AskedQuestion, ...]:
        """The questions of a dataset, newest first. Raises `ProtocolError`: it is not theirs to see."""
        require(who, Right.SEE_QUEUE, Subject(dataset))
        return list_questions(self._archive, QUESTIONS.c.dataset == dataset)


def request_id(member: Member, dataset: Dataset, question: Any, loss: PrivacyLoss) -> str:
    """Under which request a project asks a version of a dataset: what looks at the same for the same loss has one."""
    version = f"version {dataset.version}"
    return make_request_id(member, question, loss, dataset.adjacency, dataset.account.dataset, about=version)


def question_id(request: str, question: Any) -> str:
    """The identifier of a question: one paid request may answer several that read it at other places."""
    return sha256(json.dumps([request, _question_to_text(question)]).encode()).hexdigest()


def answer_key(dataset: Dataset, question: Any) -> str:
    """The key that questions share which one release answers, whatever they cost."""
    return sha256(json.dumps([dataset.name, dataset.version, _question_to_text(question)]).encode()).hexdigest()


def _question_to_text(question: Any) -> str:
    return json.dumps(question_to_json(question))  # in the order of the columns of a model, which is part of it


def _number_to_text(number: object) -> str | None:
    return None if number is None else str(number)


def _find_earlier(connection: Connection, id: str, same: str) -> tuple[AskedQuestion | None, tuple[AskedQuestion, ...]]:
    mine = (QUESTIONS.c.same == same, RELEASES.c.published_at.is_not(None))
    rows = connection.execute(WITH_RELEASES.where(*mine).order_by(QUESTIONS.c.number).limit(MOST_LISTED)).all()
    return find_question(connection, id), tuple(map(question_from_row, rows))


def _is_paid(connection: Connection, request: str) -> bool:
    """Tell whether a request was charged, as of the last publication time."""
    paid = QUESTIONS.c.shown.in_([State.PAID.value, State.ANSWERED.value])
    return connection.execute(select(QUESTIONS.c.id).where(QUESTIONS.c.request == request, paid)).first() is not None


def _add_declared_categories(question: Any, dataset: Dataset) -> Any:
    """The question by the categories that the public schema declares, where it lists none of a column.

    Raises:
        ValueError: the column is declared to hold numbers, or not at all.
    """
    unlisted = find_unlisted(question)
    if unlisted is None:
        return question
    for each in dataset.columns:
        if isinstance(each, Categories) and each.column == unlisted.column:
            return replace_categories(question, unlisted, each)
    rule = f"{dataset.name!r} declares no categories of {unlisted.column!r}: list those that you ask for"
    raise InvalidArgument("by", rule[:LONGEST_NAME], unlisted.column)


def _require_declared(plans: Sequence[Plan], dataset: Dataset) -> None:
    """Refuse a question of a column or a category that the public schema does not have, before it is charged.

    Raises:
        ValueError: names it.
    """
    declared = {str(each.column): each for each in dataset.columns}
    for plan in plans:
        for axis in plan.query.input_axes:
            for column in find_columns(axis):
                if column not in declared:
                    raise InvalidArgument(
                        "column", f"{dataset.name!r} declares no column {column!r}"[:LONGEST_NAME], column
                    )
            if not isinstance(axis, Categories | Predictor) and not isinstance(axis.column, Predictor):
                _require_numbers(declared[str(axis.column)])
            if isinstance(axis, Categories):
                for name, each in zip(axis.argument_names, axis.values, strict=True):
                    if not _is_declared(each, declared[axis.column]):
                        rule = f"{axis.column!r} declares no category {describe_value(each)}"[:LONGEST_NAME]
                        raise InvalidArgument(name, rule, axis.column)


def has_numbers(declared: Declared) -> bool:
    """Tell whether a column is declared to hold numbers, or categories that are numbers."""
    return not (isinstance(declared, Categories) and any(isinstance(each, str) for each in declared.values))


def _require_numbers(declared: Declared) -> None:
    if not has_numbers(declared):
        name = str(declared.column)
        raise InvalidArgument("column", f"{name!r} is declared to hold categories; a column of numbers is needed", name)


def _is_declared(given: Category, declared: Declared) -> bool:
    """Tell whether a category is declared; of a column of numbers, whether it is a number in its range."""
    if isinstance(declared, Categories):
        return given in declared.values or str(given) in map(str, declared.values)
    number = parse_number(given) if isinstance(given, str) else given
    return number is not None and declared.lower <= number <= declared.upper


def find_columns(axis: Any) -> list[str]:
    """The columns that an axis reads: several, of a model."""
    if isinstance(axis.column, Predictor):
        return [each.column for each in axis.column.inputs]
    return [str(axis.column)]


# Author names of questions and models, shown to visitors who may see people.
def redact_person(who: Visitor, person: str, subject: Subject) -> str:
    """The name of whoever asked or handed in, if it is one's own or one may see who is in the project; else nothing."""
    return person if person == who.name or may(who, Right.SEE_PEOPLE_OF_PROJECT, subject) else ""


def redact_question(who: Visitor, asked: AskedQuestion) -> AskedQuestion:
    """A question without names of people and projects that a visitor may not see.

    A published release is seen by analysts of other projects: neither its project nor who asked is theirs to see.
    """
    of = asked.subject
    project = asked.project if may(who, Right.SEE_PROJECT, of) else ""
    return replace(asked, person=redact_person(who, asked.person, of), project=project)
