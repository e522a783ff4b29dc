"""Releases: answers for all of a project, and for everybody once a steward publishes them; and models of projects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from threading import BoundedSemaphore, Lock
from typing import Any

from sqlalchemy import Connection, Row, Select, func, insert, select, update

from dpcurves import display
from dpcurves.curves.result import result_from_json
from dpcurves.data.axis import Predictor
from dpcurves.ledger import Event
from dpcurves.ledger.account import LONGEST_NAME
from dpcurves.models import predictor_from_json
from dpcurves_parties.serving.messages import ProtocolError

from .projects import find_project_for
from .questions import WITH_RELEASES, AskedQuestion, State, list_questions, question_from_row, redact_person
from .store import MODELS, QUESTIONS, RELEASES, Archive, format_now
from .visitors import Right, Subject, Visitor, may, not_found, require

# The picture and the table of an answer: post-processing, made once nobody waits for something to be counted.
LEVEL = 0.95

DRAWING = Lock()
"""Settings of the drawing library are those of the process: one picture at a time."""


def render_svg(curve: Any, title: str = "", **plot_options: Any) -> str:
    """The picture, by itself, in ways that its `plot` knows; with a title, if there is one."""
    with DRAWING:
        axes = curve.plot(ax=display.headless_axes(getattr(curve, "SIZE", display.LANDSCAPE)), **plot_options)
        return display.svg_text(display.set_title(axes, title) if title else axes)


def render_csv(curve: Any) -> str:
    """The numbers, with both ends at level 0.95 where it has intervals or a band. No text in it is a formula."""
    return str(curve.to_csv_text(level=LEVEL, population=False))


# Answers, as those who may see them get them.
DRAWN = frozenset({"svg", "csv", "html"})
"""Forms of an answer that workers make, or that hold what they make."""
_HERE = BoundedSemaphore(1)


@dataclass(frozen=True, slots=True)
class Answer:
    """The released answer of a question.

    Attributes:
        asked_question: The question.
        json: The curve, in the published format.
        kept_svg, kept_csv: Its picture and its table; empty: a worker has not made them yet.
        facts: What its HTML summary says: ``title``, ``line``, ``summary`` (pairs), ``notes``, ``privacy`` (pairs).
        published_at: When it was published; None: it is the project's.
        published_by: By whom.
    """

    asked_question: AskedQuestion
    json: str
    stored_svg: str
    stored_csv: str
    facts: Mapping[str, Any]
    published_at: str | None
    published_by: str | None

    @property
    def id(self) -> str:
        """That of its question."""
        return self.asked_question.id

    @property
    def is_drawn(self) -> bool:
        """Tell whether a worker has made its picture and its table."""
        return bool(self.stored_svg)

    @property
    def svg(self) -> str:
        """Its picture."""
        return self.stored_svg or render_svg(self.load_curve())

    @property
    def csv(self) -> str:
        """Its numbers, with ends of intervals where it has them."""
        return self.stored_csv or render_csv(self.load_curve())

    def load_curve(self) -> Any:
        """The curve itself, as whoever asks a session has it."""
        return result_from_json(self.json)


class Releases:
    """Access to released answers, by role and by the public clock."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def get(self, who: Visitor, id: str) -> Answer:
        """Look up a release.

        Raises:
            ProtocolAborted: there is none, or none that they may see, or the public clock has not struck yet.
        """
        found = self._archive.read_snapshot(lambda connection: _find_answer(connection, id))
        if found is None or found.asked_question.state is not State.ANSWERED or not _may_see(who, found.asked_question):
            raise not_found("release")
        return found

    def is_drawn(self, id: str) -> bool:
        """Tell whether the picture of an answer is ready, or there is no such answer: nobody has to wait."""
        query = select(RELEASES.c.id).where(RELEASES.c.id == id, RELEASES.c.svg == "")
        return self._archive.read_snapshot(lambda connection: connection.execute(query).first()) is None

    def get_with_drawing(self, who: Visitor, id: str) -> Answer:
        """A release with its picture and its table. Those that no worker has drawn are drawn here, one at a time.

        Raises:
            ProtocolAborted: as of `get`; or another one is drawn here just now.
        """
        found = self.get(who, id)
        if found.is_drawn:
            return found
        if not _HERE.acquire(blocking=False):
            raise ProtocolError("picture", "it is not drawn yet; look again in a minute", 503)
        try:
            return replace(found, stored_svg=found.svg, stored_csv=found.csv)
        finally:
            _HERE.release()

    def all(self, who: Visitor, project: str) -> tuple[AskedQuestion, ...]:
        """The questions of a project that are answered, the last one first.

        Raises:
            ProtocolAborted: there is no such project, or it is not theirs to see.
        """
        find_project_for(self._archive, who, project, Right.SEE_RELEASES)
        return list_questions(self._archive, QUESTIONS.c.project == project, ANSWERED)

    def list_published(self, who: Visitor, dataset: str) -> tuple[AskedQuestion, ...]:
        """The published answers of a dataset, newest question first.

        Raises:
            ProtocolAborted: it is not theirs to see.
        """
        require(who, Right.SEE_PUBLISHED)
        return list_questions(
            self._archive, QUESTIONS.c.dataset == dataset, RELEASES.c.published_at.is_not(None), ANSWERED
        )

    def publish(self, who: Visitor, id: str) -> None:
        """Show a release to everybody who may ask any dataset here. There is no way back.

        Raises:
            ProtocolAborted: they are not the steward of its dataset, or there is none.
        """
        found = self._archive.read_snapshot(lambda connection: _find_answer(connection, id))
        if found is None or found.asked_question.state is not State.ANSWERED:
            raise not_found("release")
        require(who, Right.PUBLISH, Subject(found.asked_question.dataset))
        if found.published_at is not None:
            return
        facts = {"published_at": format_now(), "published_by": who.name}
        mine = (RELEASES.c.id == id, RELEASES.c.published_at.is_(None))
        event = Event(who.name, "published", id, found.asked_question.dataset)
        self._archive.run_logged(event, lambda one: one.execute(update(RELEASES).where(*mine).values(**facts)).rowcount)


ANSWERED = QUESTIONS.c.shown == State.ANSWERED.value
ANSWERS = WITH_RELEASES.add_columns(
    RELEASES.c.curve, RELEASES.c.svg, RELEASES.c.csv, RELEASES.c.facts, RELEASES.c.published_by
).where(RELEASES.c.id.is_not(None))


def _find_answer(connection: Connection, id: str) -> Answer | None:
    row = connection.execute(ANSWERS.where(QUESTIONS.c.id == id)).first()
    return None if row is None else _answer_from_row(row)


def _answer_from_row(row: Row[Any]) -> Answer:
    facts = json.loads(row.facts)
    return Answer(question_from_row(row), row.curve, row.svg, row.csv, facts, row.published_at, row.published_by)


def _may_see(who: Visitor, asked: AskedQuestion) -> bool:
    return may(who, Right.SEE_RELEASES, asked.subject) or (asked.is_published and may(who, Right.SEE_PUBLISHED))


MOST_KEPT = 1000
"""Models of one project."""


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model of a project.

    Attributes:
        digest: The SHA-256 of all that it is made of.
        name: What it is called.
        person: Who handed it in; empty where the visitor may not see it.
        made_at: When.
        text: All of it, as JSON.
    """

    digest: str
    name: str
    person: str
    made_at: str
    text: str

    @property
    def predictor(self) -> Predictor:
        """The model, as it stands in questions."""
        return predictor_from_json(self.text)

    @property
    def model_json(self) -> Mapping[str, Any]:
        """The model as plain objects: what a question takes as its score."""
        return self.predictor.to_object()


@dataclass(frozen=True, slots=True)
class ModelsByName(Mapping[str, Predictor]):
    """The predictive models that a project has stored, by name; each is loaded when it is looked up.

    Attributes:
        archive: Where they lie.
        project: Whose they are.
        names: What they are called, in the order in which they were handed in.
    """

    archive: Archive
    project: str
    names: tuple[str, ...]

    def __getitem__(self, name: str) -> Predictor:
        row = self.archive.read_snapshot(
            lambda connection: connection.execute(_select_by_name(self.project, name)).first()
        )
        if row is None:
            raise KeyError(name)
        return _model_from_row(row).predictor

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


class Models:
    """Keeps the models of projects."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def add(self, who: Visitor, project: str, text: str) -> StoredModel:
        """Keep a model, unless it is there already.

        Raises:
            ProtocolAborted: they are not in the project, or it has too many models, or another one of this name.
            ValueError: it is no model; one line names what is wrong.
        """
        found = find_project_for(self._archive, who, project, Right.ASK)
        model = predictor_from_json(text)
        facts = {
            "project": project, "digest": model.digest, "name": model.name, "model": model.to_json(),
            "person": who.name, "made_at": format_now(),
        }  # fmt: skip

        def insert_model(connection: Connection) -> StoredModel:
            kept = _find_model(connection, project, model.digest)
            if kept is not None:
                return kept
            if connection.execute(_select_by_name(project, model.name)).first() is not None:
                raise ProtocolError("model", "the project has another one of this name: give this one its own", 409)
            count = select(func.count()).select_from(MODELS).where(MODELS.c.project == project)
            if connection.execute(count).scalar_one() >= MOST_KEPT:
                raise ProtocolError("models", f"at most {MOST_KEPT} of a project are kept", 409)
            connection.execute(insert(MODELS), facts)
            return StoredModel(model.digest, model.name, who.name, facts["made_at"], facts["model"])

        words = f"{model.name} {model.digest[:16]}: {project}"[:LONGEST_NAME]
        return self._archive.run_logged(Event(who.name, "handed in model", words, found.dataset), insert_model)

    def get(self, who: Visitor, project: str, digest: str) -> StoredModel:
        """Look up a model. Raises `ProtocolError`: there is none, or it is not theirs to see."""
        of = find_project_for(self._archive, who, project, Right.SEE_QUESTIONS).subject
        found = self._archive.read_snapshot(lambda connection: _find_model(connection, project, digest))
        if found is None:
            raise not_found("model")
        return _redact_owner(who, found, of)

    def index_by_name(self, who: Visitor, project: str) -> ModelsByName:
        """The models of a project by their names, each read when it is looked up.

        Raises:
            ProtocolAborted: there is no such project, or it is not theirs to see.
        """
        find_project_for(self._archive, who, project, Right.SEE_QUESTIONS)
        names = select(MODELS.c.name).where(MODELS.c.project == project).order_by(MODELS.c.made_at, MODELS.c.digest)
        found = self._archive.read_snapshot(lambda connection: connection.execute(names).scalars().all())
        return ModelsByName(self._archive, project, tuple(dict.fromkeys(map(str, found))))

    def all(self, who: Visitor, project: str) -> tuple[StoredModel, ...]:
        """The models of a project, in the order in which they were handed in.

        Raises:
            ProtocolAborted: there is no such project, or it is not theirs to see.
        """
        of = find_project_for(self._archive, who, project, Right.SEE_QUESTIONS).subject
        query = select(MODELS).where(MODELS.c.project == project).order_by(MODELS.c.made_at, MODELS.c.digest)
        rows = self._archive.read_snapshot(lambda connection: connection.execute(query).all())
        return tuple(_redact_owner(who, _model_from_row(row), of) for row in rows)


def _select_by_name(project: str, name: str) -> Select[Any]:
    """The model of a name; of several, which development versions took in, the last one."""
    mine = select(MODELS).filter_by(project=project, name=name)
    return mine.order_by(MODELS.c.made_at.desc(), MODELS.c.digest.desc()).limit(1)


def _find_model(connection: Connection, project: str, digest: str) -> StoredModel | None:
    row = connection.execute(select(MODELS).filter_by(project=project, digest=digest)).first()
    return None if row is None else _model_from_row(row)


def _redact_owner(who: Visitor, model: StoredModel, subject: Subject) -> StoredModel:
    return replace(model, person=redact_person(who, model.person, subject))


def _model_from_row(row: Row[Any]) -> StoredModel:
    return StoredModel(row.digest, row.name, row.person, row.made_at, row.model)
