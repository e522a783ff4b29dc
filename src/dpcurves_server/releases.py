"""Access control for released answers (noisy results) and for stored predictive models of a verification server.

A release is the differentially private answer of one question, stored as JSON. Its picture (SVG) and table (CSV) are
computed from this JSON alone, so they cost no privacy budget. A project is a group of analysts who share a dataset.

    Answer       a release with its question; picture and table as stored, or else drawn on access
    Releases     lookup by role: a project sees its own releases, and all who may list datasets see published ones
    Models       predictive models (such as a risk score) that analysts hand in for questions, one per SHA-256 digest

Worker processes draw pictures when no question waits. Publishing a release is a steward's decision and cannot be
undone.
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

from .principals import Principal, Right, Subject, has_right, not_found, require
from .projects import find_project_for
from .questions import QUESTIONS_WITH_RELEASES, AskedQuestion, State, list_questions, question_from_row, redact_person
from .store import Archive, format_now
from .tables import MODELS, QUESTIONS, RELEASES

# Picture and table of an answer. Both are functions of the released curve only, so they lose no privacy.
LEVEL = 0.95
"""Confidence level of the intervals in tables that are drawn for a release: the usual 95 %."""
DRAWING_LOCK = Lock()
"""Lock by which one picture is drawn at a time, as matplotlib's settings are global to the process."""


def render_svg(curve: Any, title: str = "", **plot_options: Any) -> str:
    """Draw a released curve and return the picture as the text of a standalone SVG file.

    One picture is drawn at a time in a process, because matplotlib's settings are global.

    Args:
        curve: The released curve, as `Session.ask` returns it.
        title: Title above the axes; empty: no title is added.
        plot_options: Options of the curve's `plot`.
    """
    with DRAWING_LOCK:
        axes = curve.plot(ax=display.headless_axes(getattr(curve, "SIZE", display.LANDSCAPE)), **plot_options)
        return display.svg_text(display.set_title(axes, title) if title else axes)


def render_csv(curve: Any) -> str:
    """Return a released curve as the text of a CSV file, with bounds of 95 % confidence intervals.

    The intervals account for the privacy noise only, not for sampling from a population. Texts that a spreadsheet would
    run as formulas are escaped.

    Args:
        curve: Released result.
    """
    return str(curve.to_csv_text(level=LEVEL, population=False))


def name_page(curve: Any) -> str:
    """Return the curve's title in the language in use (see `use_language`), as the title of its page."""
    return str(curve._translate_title())


def render_page(curve: Any, svg: str) -> str:
    """Return a complete HTML page of a released curve, in the language in use (see `use_language`).

    Args:
        curve: The released curve.
        svg: Its picture, as `render_svg` returns it; embedded in the page.
    """
    head = f'<meta charset="utf-8"><title>{escape(name_page(curve))}</title>'
    return f'<!doctype html>\n<html lang="{name_language()}">{head}\n{curve.render_html(svg)}\n</html>\n'


def render_statement(curve: Any, language: str) -> str:
    """Return the privacy statement of a curve in plain words: the protected unit and the privacy loss.

    Args:
        curve: The released curve.
        language: Code of the language, as `use_language` takes it, such as ``en``.
    """
    with use_language(language):
        return describe_results_privacy(dict(assign_file_names([(curve.KIND, curve)]))) + "\n"


# Answers.
DRAWN_FORMATS = frozenset({"svg", "csv", "html"})
"""File formats that a worker draws or that embed its drawing: a request for one may have to wait for it."""
_DRAWING_SLOT = BoundedSemaphore(1)
"""Semaphore: at most one picture at a time is drawn in the serving process, so that drawing cannot occupy its threads.
Another request meanwhile is told to come again (status 503)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The released (noisy) answer of a question.

    Attributes:
        asked_question: The question, with its project, dataset and author.
        json: The released curve as JSON, in the published format.
        stored_svg: The picture as SVG text; empty until a worker has drawn it.
        stored_csv: The table as CSV text; empty until a worker has drawn the picture.
        facts: Contents of the HTML summary: ``title``, ``line``, ``summary`` (pairs of label and value), ``notes``,
            ``privacy`` (pairs of label and value).
        published_at: Time of publication as ISO 8601 text in UTC; None while only the project sees the answer.
        published_by: Name of the steward who published it; None while unpublished.
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
        """The identifier that a question and its release share."""
        return self.asked_question.id

    @property
    def is_drawn(self) -> bool:
        """Return True if the stored picture exists, so that `svg` and `csv` need no drawing."""
        return bool(self.stored_svg)

    @property
    def svg(self) -> str:
        """Picture of the answer as SVG text: as stored, or else drawn on each access."""
        return self.stored_svg or render_svg(self.load_curve())

    @property
    def picture_text(self) -> str:
        """The picture in words, for readers who cannot see it; empty until it is drawn."""
        return display.read_alternative_text(self.stored_svg)

    @property
    def csv(self) -> str:
        """Table of the answer as CSV text with interval bounds: as stored, or else computed on each access."""
        return self.stored_csv or render_csv(self.load_curve())

    def load_curve(self) -> Any:
        """Return the released curve, equal to the result of `Session.ask`."""
        return result_from_json(self.json)


class Releases:
    """Access to released answers by role: members and overseers of a project, or all who list datasets once published.

    A release that is hidden from the caller gives the same error as one that does not exist.

    Args:
        archive: The server's database.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def get(self, who: Principal, id: str) -> Answer:
        """Return a released answer by its identifier, if the caller may see it.

        Args:
            who: The caller.
            id: Identifier of the question and its release.

        Raises:
            ProtocolError: The release does not exist, is hidden from the caller, or its publication time (a public
                clock, see `questions`) has not come. The error is the same in all three cases.
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
        """Return True if the picture of an answer is stored, or no answer has this identifier: there is no need to wait
        for it.

        Args:
            id: Identifier of the question and its answer.
        """
        query = select(RELEASES.c.id).where(RELEASES.c.id == id, RELEASES.c.svg == "")
        return self._archive.read_snapshot(lambda connection: connection.execute(query).first()) is None

    def get_with_drawing(self, who: Principal, id: str) -> Answer:
        """Return a release with its picture and table; draw both in this process if no worker has done so.

        A drawing made here is returned, not stored.

        Args:
            who: The caller.
            id: Identifier of the question and its release.

        Raises:
            ProtocolError: The release does not exist, is hidden, or is not shown yet (404); or this process is drawing
                another picture (503).
        """
        answer = self.get(who, id)
        if answer.is_drawn:
            return answer
        if not _DRAWING_SLOT.acquire(blocking=False):
            raise ProtocolError("picture", "the picture is not drawn yet; reload in a minute", 503)
        try:
            return replace(answer, stored_svg=answer.svg, stored_csv=answer.csv)
        finally:
            _DRAWING_SLOT.release()

    def all(self, who: Principal, project: str) -> tuple[AskedQuestion, ...]:
        """Return the newest 500 answered questions of a project, newest first; empty without answers.

        Args:
            who: The caller.
            project: Name of the project.

        Raises:
            ProtocolError: The project does not exist, or is hidden from the caller.
        """
        find_project_for(self._archive, who, project, Right.SEE_RELEASES)
        return list_questions(self._archive, QUESTIONS.c.project == project, ANSWERED_CONDITION)

    def list_published(self, who: Principal, dataset: str) -> tuple[AskedQuestion, ...]:
        """Return the newest 500 questions of a dataset with published answers, newest first; empty without published
        answers.

        Args:
            who: The caller.
            dataset: Name of the dataset; one that does not exist gives an empty result.

        Raises:
            ProtocolError: The caller may not see published releases.
        """
        require(who, Right.SEE_PUBLISHED)
        return list_questions(
            self._archive, QUESTIONS.c.dataset == dataset, RELEASES.c.published_at.is_not(None), ANSWERED_CONDITION
        )

    def publish(self, who: Principal, id: str) -> None:
        """Show a release to all who may list the datasets, and write an audit event. This cannot be undone.

        Publishing a published release again does nothing.

        Args:
            who: The caller: a steward of the dataset, or the machine.
            id: Identifier of the question and its release.

        Raises:
            ProtocolError: The caller is not a steward of the dataset, or the release does not exist or is not shown
                yet.
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


ANSWERED_CONDITION = QUESTIONS.c.shown == State.ANSWERED.value
"""SQL condition: the question is shown as answered."""
SELECT_ANSWERS = QUESTIONS_WITH_RELEASES.add_columns(
    RELEASES.c.curve, RELEASES.c.svg, RELEASES.c.csv, RELEASES.c.facts, RELEASES.c.published_by
).where(RELEASES.c.id.is_not(None))
"""SQL: questions that have a release, with its curve, pictures and publication."""


def _find_answer(connection: Connection, id: str) -> Answer | None:
    """Return the answer of the question with this identifier; None if no question has it, or without an answer yet.

    Args:
        connection: Connection in a transaction.
        id: Identifier of the question.
    """
    row = connection.execute(SELECT_ANSWERS.where(QUESTIONS.c.id == id)).first()
    return None if row is None else _answer_from_row(row)


def _answer_from_row(row: Row[Any]) -> Answer:
    """Return the stored answer that a database row holds."""
    facts = json.loads(row.facts)
    return Answer(question_from_row(row), row.curve, row.svg, row.csv, facts, row.published_at, row.published_by)


def _may_see(who: Principal, asked: AskedQuestion) -> bool:
    """Return True if the caller may see a release: by a right on its project, or because it is published.

    Args:
        who: The caller.
        asked: Question of the release.
    """
    return has_right(who, Right.SEE_RELEASES, asked.subject) or (
        asked.is_published and has_right(who, Right.SEE_PUBLISHED)
    )


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A predictive model that an analyst handed in, such as a logistic regression or a tree ensemble.

    Attributes:
        digest: SHA-256 of the model, in hexadecimal digits.
        name: The name, unique in the project.
        person: The analyst who added it; empty if the caller may not see who it was.
        made_at: Time of adding, as ISO 8601 text in UTC.
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
    """Mapping of a project's model names to predictors. A model is read from the database when its name is looked up.

    Attributes:
        archive: The server's database.
        project: Name of the project.
        names: The model names in the order of adding.
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
    """The predictive models that the analysts of projects handed in for questions about their scores.

    Args:
        archive: The server's database.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def add(self, who: Principal, project: str, text: str) -> StoredModel:
        """Store a model in a project, and write an audit event. A model that the project already has is returned.

        Args:
            who: The caller, an analyst of the project.
            project: Name of the project.
            text: The model as JSON.

        Returns:
            The stored model.

        Raises:
            ProtocolError: The caller is not an analyst of the project, the project has 1,000 models, or another of its
                models has this name.
            ValueError: The text is not a valid model.
        """
        dataset_project = find_project_for(self._archive, who, project, Right.ASK)
        model = predictor_from_json(text)
        row = {
            "project": project, "digest": model.digest, "name": model.name, "model": model.to_json(),
            "person": who.name, "made_at": format_now(),
        }  # fmt: skip

        def insert_model(connection: Connection) -> StoredModel:
            """Store the model; return the stored one if the project has it already.

            Args:
                connection: Connection in the write transaction.

            Raises:
                ProtocolError: the name is in use, or there are too many models (status 409).
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
        """Return the model of a project with this SHA-256 digest.

        The name of who added it is left out if the caller may not see names of the project's people.

        Args:
            who: The caller.
            project: Name of the project.
            digest: SHA-256 digest in hexadecimal digits, in full.

        Raises:
            ProtocolError: The project or the model does not exist, or the project is hidden from the caller.
        """
        subject = find_project_for(self._archive, who, project, Right.SEE_QUESTIONS).subject
        model = self._archive.read_snapshot(lambda connection: _find_model(connection, project, digest))
        if model is None:
            raise not_found("model")
        return _redact_owner(who, model, subject)

    def index_by_name(self, who: Principal, project: str) -> ModelsByName:
        """Return a mapping of a project's model names to predictors, each of which is read when it is looked up.

        Args:
            who: The caller.
            project: Name of the project.

        Raises:
            ProtocolError: The project does not exist, or is hidden from the caller.
        """
        find_project_for(self._archive, who, project, Right.SEE_QUESTIONS)
        names = select(MODELS.c.name).where(MODELS.c.project == project).order_by(MODELS.c.made_at, MODELS.c.digest)
        model_names = self._archive.read_snapshot(lambda connection: connection.execute(names).scalars().all())
        return ModelsByName(self._archive, project, tuple(dict.fromkeys(map(str, model_names))))

    def all(self, who: Principal, project: str) -> tuple[StoredModel, ...]:
        """Return the models of a project in the order of adding; empty without models.

        Args:
            who: The caller.
            project: Name of the project.

        Raises:
            ProtocolError: The project does not exist, or is hidden from the caller.
        """
        subject = find_project_for(self._archive, who, project, Right.SEE_QUESTIONS).subject
        query = select(MODELS).where(MODELS.c.project == project).order_by(MODELS.c.made_at, MODELS.c.digest)
        rows = self._archive.read_snapshot(lambda connection: connection.execute(query).all())
        return tuple(_redact_owner(who, _model_from_row(row), subject) for row in rows)


def _select_by_name(project: str, name: str) -> Select[Any]:
    """Select the model of a name; the newest, as early versions allowed duplicates.

    Args:
        project: Name of the project.
        name: Name of the model.
    """
    named_models = select(MODELS).filter_by(project=project, name=name)
    return named_models.order_by(MODELS.c.made_at.desc(), MODELS.c.digest.desc()).limit(1)


def _find_model(connection: Connection, project: str, digest: str) -> StoredModel | None:
    """Return the project's stored model with this SHA-256 digest, or None.

    Args:
        connection: Connection to the server's database.
        project: Name of the project.
        digest: Digest in hexadecimal digits.
    """
    row = connection.execute(select(MODELS).filter_by(project=project, digest=digest)).first()
    return None if row is None else _model_from_row(row)


def _redact_owner(who: Principal, model: StoredModel, subject: Subject) -> StoredModel:
    """Return the model, with an empty `person` if the caller may not see names of the project's people.

    Args:
        who: Who reads.
        model: The stored model.
        subject: Project of the model.
    """
    return replace(model, person=redact_person(who, model.person, subject))


def _model_from_row(row: Row[Any]) -> StoredModel:
    """Return the stored model that a database row holds, with its name, digest, author and JSON."""
    return StoredModel(row.digest, row.name, row.person, row.made_at, row.model)
