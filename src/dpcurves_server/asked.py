"""Questions that were asked, as they stood when the public clock struck last: one row, and lists of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, select

from dpcurves.one_call import loss_of
from dpcurves.privacy import PrivacyLoss

from .store import Store
from .tables import QUESTIONS, RELEASES
from .visitors import Subject

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
class Asked:
    """A question that was asked.

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
        published: Whether everybody who may ask the dataset sees its release.
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
    published: bool

    @property
    def subject(self) -> Subject:
        """The subject that access rights are checked against."""
        return Subject(self.dataset, self.project)


def asked_of(row: Row[Any]) -> Asked:
    """The question that a row stands for."""
    return Asked(
        row.id, row.request, row.project, row.dataset, row.version, row.person, json.loads(row.question), row.purpose,
        loss_from(row.epsilon, row.rho), row.asked_at, State(row.shown),
        row.refusal if row.shown == State.REFUSED.value else None, row.published_at is not None,
    )  # fmt: skip


def loss_from(epsilon: str | None, rho: str | None) -> PrivacyLoss:
    """A loss that was written down."""
    return loss_of(epsilon, None) if epsilon is not None else loss_of(None, rho)


def find_asked(connection: Connection, id: str) -> Asked | None:
    """Look up a question of any analyst; None if there is none."""
    row = connection.execute(WITH_RELEASES.where(QUESTIONS.c.id == id)).first()
    return None if row is None else asked_of(row)


def listed(store: Store, *mine: ColumnElement[bool]) -> tuple[Asked, ...]:
    """Questions of this kind, the last one first, and not too many."""
    query = WITH_RELEASES.where(*mine).order_by(QUESTIONS.c.number.desc()).limit(MOST_LISTED)
    return store.read(lambda connection: tuple(map(asked_of, connection.execute(query).all())))
