"""Releases, seen by their project and, once published, by all analysts; and the predictive models of projects.

What was answered is kept and shown by role:

    Answer       a released answer, with its picture and table: drawn by a worker, or here
    Releases     by role: a project sees its own, all analysts see published ones; publishing cannot be undone
    Models       predictive models of projects, stored once by their SHA-256 digest
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from threading import BoundedSemaphore, Lock
from typing import Any

from sqlalchemy import Connection, Row, Select, func, insert, select, update

from dpcurves import display
from dpcurves.curves.result import result_from_json
from dpcurves.data.axis import Predictor
from dpcurves.foreign_text import escape_for_terminal
from dpcurves.ledger import Event
from dpcurves.ledger.account import LONGEST_ACCOUNT_NAME
from dpcurves.models import predictor_from_json
from dpcurves.publication import assign_file_names, describe_results_privacy
from dpcurves.translation import name_language, use_language
from dpcurves_parties.serving.messages import ProtocolError

from .principals import Principal, Right, Subject, may, not_found, require
from .projects import find_project_for
from .questions import WITH_RELEASES, AskedQuestion, State, list_questions, question_from_row, redact_person
from .store import Archive, format_now
from .tables import MODELS, QUESTIONS, RELEASES

# Picture and table of an answer: post-processing, which workers do when no question waits.
LEVEL = 0.95
"""Probability. Confidence level of intervals in tables."""
DRAWING = Lock()
"""One picture at a time: matplotlib's settings are global to the process."""


def render_svg(curve: Any, title: str = "", **plot_options: Any) -> str:
    """Return a standalone SVG of a curve, with the options of its `plot`, and a title if given."""
    with DRAWING:
        axes = curve.plot(ax=display.headless_axes(getattr(curve, "SIZE", display.LANDSCAPE)), **plot_options)
        return display.svg_text(display.set_title(axes, title) if title else axes)


def render_csv(curve: Any) -> str:
    """Return the CSV of a curve with interval bounds at level 0.95. Spreadsheet formulas in texts are escaped."""
    return str(curve.to_csv_text(level=LEVEL, population=False))


def name_page(curve: Any) -> str:
    """Return the title of a page in the reader's language: that of the curve."""
    return str(curve._translate_title())


def render_page(curve: Any, svg: str) -> str:
    """Return an HTML page of a curve around its picture, in the reader's language."""
    head = f'<meta charset="utf-8"><title>{escape(name_page(curve))}</title>'
    return f'<!doctype html>\n<html lang="{name_language()}">{head}\n{curve.render_html(svg)}\n</html>\n'


def render_statement(curve: Any, language: str) -> str:
    """Return the privacy statement of a curve in plain words, in a language."""
    with use_language(language):
        return describe_results_privacy(dict(assign_file_names([(curve.KIND, curve)]))) + "\n"


# Answers.
DRAWN = frozenset({"svg", "csv", "html"})
"""File formats that are drawn by workers or embed their drawings."""
_HERE = BoundedSemaphore(1)
"""At most one picture is drawn in the serving process."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The released answer of a question.

    Attributes:
        asked_question: The question.
        json: The curve, in the published format.
        stored_svg: The picture; empty until a worker has drawn it.
        stored_csv: The table; empty until a worker has drawn the picture.
        facts: Contents of the HTML summary: ``title``, ``line``, ``summary`` (pairs), ``notes``, ``privacy`` (pairs).
        published_at: Time of publication; None while only the project sees it.
        published_by: The steward who published it.
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
        """The identifier of the question and of its release."""
        return self.asked_question.id

    @property
    def is_drawn(self) -> bool:
        """Return True if a worker has drawn the picture and the table."""
        return bool(self.stored_svg)

    @property
    def svg(self) -> str:
        """Picture of the answer as SVG, stored or drawn now."""
        return self.stored_svg or render_svg(self.load_curve())

    @property
    def picture_text(self) -> str:
        """The picture in words, for readers who cannot see it; empty until it is drawn."""
        return display.read_alternative_text(self.stored_svg)

    @property
    def csv(self) -> str:
        """The table with interval bounds, stored or computed now."""
        return self.stored_csv or render_csv(self.load_curve())

    def load_curve(self) -> Any:
        """Return the released curve, equal to the result of `Session.ask`."""
        return result_from_json(self.json)


class Releases:
    """Access to released answers, by role and publication time."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def get(self, who: Principal, id: str) -> Answer:
        """Look up a release.

        Raises:
            ProtocolError: The release does not exist, is hidden from the principal, or is not shown yet.
        """
        answer = self._archive.read_snapshot(lambda connection: _find_answer(connection, id))
        if (
            answer is None
            or answer.asked_question.state is not State.ANSWERED
            or not _may_see(who, answer.asked_question)
        ):
            raise not_found("release")
        return answer

    def is_drawn(self, id: str) -> bool:
        """Return True unless the answer exists and its picture is still to be drawn."""
        query = select(RELEASES.c.id).where(RELEASES.c.id == id, RELEASES.c.svg == "")
        return self._archive.read_snapshot(lambda connection: connection.execute(query).first()) is None

    def get_with_drawing(self, who: Principal, id: str) -> Answer:
        """Return a release with its picture and table, drawn here if no worker has drawn them, one at a time.

        Raises:
            ProtocolError: See `get`; or another picture is being drawn here.
        """
        answer = self.get(who, id)
        if answer.is_drawn:
            return answer
        if not _HERE.acquire(blocking=False):
            raise ProtocolError("picture", "the picture is not drawn yet; reload in a minute", 503)
        try:
            return replace(answer, stored_svg=answer.svg, stored_csv=answer.csv)
        finally:
            _HERE.release()

    def all(self, who: Principal, project: str) -> tuple[AskedQuestion, ...]:
        """Return the answered questions of a project, newest first.

        Raises:
            ProtocolError: The project does not exist, or is hidden from the principal.
        """
        find_project_for(self._archive, who, project, Right.SEE_RELEASES)
        return list_questions(self._archive, QUESTIONS.c.project == project, ANSWERED)

    def list_published(self, who: Principal, dataset: str) -> tuple[AskedQuestion, ...]:
        """Return the questions of a dataset with published answers, newest first.

        Raises:
            ProtocolError: The principal may not see published releases.
        """
        require(who, Right.SEE_PUBLISHED)
        return list_questions(
            self._archive, QUESTIONS.c.dataset == dataset, RELEASES.c.published_at.is_not(None), ANSWERED
        )

    def publish(self, who: Principal, id: str) -> None:
        """Publish a release to all who may list the datasets. This cannot be undone.

        Raises:
            ProtocolError: The principal is not the dataset's steward, or the release does not exist.
        """
        answer = self._archive.read_snapshot(lambda connection: _find_answer(connection, id))
        if answer is None or answer.asked_question.state is not State.ANSWERED:
            raise not_found("release")
        require(who, Right.PUBLISH, Subject(answer.asked_question.dataset))
        if answer.published_at is not None:
            return
        changes = {"published_at": format_now(), "published_by": who.name}
        is_unpublished = (RELEASES.c.id == id, RELEASES.c.published_at.is_(None))
        event = Event(who.name, "published", id, answer.asked_question.dataset)
        self._archive.run_logged(
            event, lambda one: one.execute(update(RELEASES).where(*is_unpublished).values(**changes)).rowcount
        )


ANSWERED = QUESTIONS.c.shown == State.ANSWERED.value
ANSWERS = WITH_RELEASES.add_columns(
    RELEASES.c.curve, RELEASES.c.svg, RELEASES.c.csv, RELEASES.c.facts, RELEASES.c.published_by
).where(RELEASES.c.id.is_not(None))


def _find_answer(connection: Connection, id: str) -> Answer | None:
    """Return the answer of a question; None if it has none."""
    row = connection.execute(ANSWERS.where(QUESTIONS.c.id == id)).first()
    return None if row is None else _answer_from_row(row)


def _answer_from_row(row: Row[Any]) -> Answer:
    """Return the stored answer that a database row holds."""
    facts = json.loads(row.facts)
    return Answer(question_from_row(row), row.curve, row.svg, row.csv, facts, row.published_at, row.published_by)


def _may_see(who: Principal, asked: AskedQuestion) -> bool:
    """Return True if the principal may see a release: of the project, or published."""
    return may(who, Right.SEE_RELEASES, asked.subject) or (asked.is_published and may(who, Right.SEE_PUBLISHED))


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model of a project.

    Attributes:
        digest: SHA-256 of the model.
        name: The name, unique in the project.
        person: The analyst who added it; empty if the principal may not see it.
        made_at: Time of adding.
        text: The model as JSON.
    """

    digest: str
    name: str
    person: str
    made_at: str
    text: str

    @property
    def predictor(self) -> Predictor:
        """The model as a predictor of questions, parsed from its stored JSON."""
        return predictor_from_json(self.text)

    @property
    def model_json(self) -> Mapping[str, Any]:
        """The model as plain objects, as a question takes it for its score."""
        return self.predictor.to_object()


@dataclass(frozen=True, slots=True)
class ModelsByName(Mapping[str, Predictor]):
    """Mapping of a project's model names to predictors, which are loaded on access.

    Attributes:
        archive: The database.
        project: The project.
        names: The names in the order of adding.
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
    """The predictive models of projects."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def add(self, who: Principal, project: str, text: str) -> StoredModel:
        """Store a model, unless the project has it.

        Raises:
            ProtocolError: The principal is not an analyst of the project, the project has too many models, or the name
                is in use.
            ValueError: The text is not a valid model.
        """
        dataset_project = find_project_for(self._archive, who, project, Right.ASK)
        model = predictor_from_json(text)
        row = {
            "project": project, "digest": model.digest, "name": model.name, "model": model.to_json(),
            "person": who.name, "made_at": format_now(),
        }  # fmt: skip

        def insert_model(connection: Connection) -> StoredModel:
            """Store the model, or return the stored one. Raises `ProtocolError` if the name is in use or there are too
            many models.
            """
            stored = _find_model(connection, project, model.digest)
            if stored is not None:
                return stored
            if connection.execute(_select_by_name(project, model.name)).first() is not None:
                raise ProtocolError(
                    "model", "the project has another model of this name; give this one another name", 409
                )
            count = select(func.count()).select_from(MODELS).where(MODELS.c.project == project)
            most_models = 1000  # models per project
            if connection.execute(count).scalar_one() >= most_models:
                raise ProtocolError(
                    "models",
                    f"a project has at most {most_models} models; use a stored model, or ask in another project",
                    409,
                )
            connection.execute(insert(MODELS), row)
            return StoredModel(model.digest, model.name, who.name, row["made_at"], row["model"])

        words = escape_for_terminal(f"{model.name} {model.digest[:16]}: {project}")[:LONGEST_ACCOUNT_NAME]
        return self._archive.run_logged(
            Event(who.name, "handed in model", words, dataset_project.dataset), insert_model
        )

    def get(self, who: Principal, project: str, digest: str) -> StoredModel:
        """Return a model. Raises `ProtocolError` if it does not exist or is hidden from the principal."""
        subject = find_project_for(self._archive, who, project, Right.SEE_QUESTIONS).subject
        model = self._archive.read_snapshot(lambda connection: _find_model(connection, project, digest))
        if model is None:
            raise not_found("model")
        return _redact_owner(who, model, subject)

    def index_by_name(self, who: Principal, project: str) -> ModelsByName:
        """Return the models of a project by name, loaded on access.

        Raises:
            ProtocolError: The project does not exist, or is hidden from the principal.
        """
        find_project_for(self._archive, who, project, Right.SEE_QUESTIONS)
        names = select(MODELS.c.name).where(MODELS.c.project == project).order_by(MODELS.c.made_at, MODELS.c.digest)
        model_names = self._archive.read_snapshot(lambda connection: connection.execute(names).scalars().all())
        return ModelsByName(self._archive, project, tuple(dict.fromkeys(map(str, model_names))))

    def all(self, who: Principal, project: str) -> tuple[StoredModel, ...]:
        """Return the models of a project in the order of adding.

        Raises:
            ProtocolError: The project does not exist, or is hidden from the principal.
        """
        subject = find_project_for(self._archive, who, project, Right.SEE_QUESTIONS).subject
        query = select(MODELS).where(MODELS.c.project == project).order_by(MODELS.c.made_at, MODELS.c.digest)
        rows = self._archive.read_snapshot(lambda connection: connection.execute(query).all())
        return tuple(_redact_owner(who, _model_from_row(row), subject) for row in rows)


def _select_by_name(project: str, name: str) -> Select[Any]:
    """Select the model of a name; the newest, as early versions allowed duplicates."""
    named_models = select(MODELS).filter_by(project=project, name=name)
    return named_models.order_by(MODELS.c.made_at.desc(), MODELS.c.digest.desc()).limit(1)


def _find_model(connection: Connection, project: str, digest: str) -> StoredModel | None:
    """Return the project's stored model with this SHA-256 digest, or None."""
    row = connection.execute(select(MODELS).filter_by(project=project, digest=digest)).first()
    return None if row is None else _model_from_row(row)


def _redact_owner(who: Principal, model: StoredModel, subject: Subject) -> StoredModel:
    """Return the model, without its owner if the principal may not see them."""
    return replace(model, person=redact_person(who, model.person, subject))


def _model_from_row(row: Row[Any]) -> StoredModel:
    """Return the stored model that a database row holds."""
    return StoredModel(row.digest, row.name, row.person, row.made_at, row.model)
