"""Models that analysts hand in: JSON of coefficients and thresholds, and no code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, Select, func, insert, select

from dpcurves.data.axis import Predictor
from dpcurves.ledger import Event
from dpcurves.ledger.account import LONGEST_NAME
from dpcurves.models import predictor_from_json
from dpcurves_parties.serving.messages import ProtocolAborted

from .projects import project_for
from .questions import person_seen_by
from .store import MODELS, Archive, now
from .visitors import Right, Subject, Visitor, unknown

MOST_KEPT = 1000
"""Models of one project."""


@dataclass(frozen=True, slots=True)
class Kept:
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
    def stored(self) -> Mapping[str, Any]:
        """The model as plain objects: what a question takes as its score."""
        return self.predictor.to_object()


@dataclass(frozen=True, slots=True)
class ByName(Mapping[str, Predictor]):
    """The models of a project by their names. One is read when it is looked up, and no other.

    Attributes:
        archive: Where they lie.
        project: Whose they are.
        names: What they are called, in the order in which they were handed in.
    """

    archive: Archive
    project: str
    names: tuple[str, ...]

    def __getitem__(self, name: str) -> Predictor:
        row = self.archive.read(lambda connection: connection.execute(_named(self.project, name)).first())
        if row is None:
            raise KeyError(name)
        return _kept(row).predictor

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


class Models:
    """Keeps the models of projects."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def add(self, who: Visitor, project: str, text: str) -> Kept:
        """Keep a model, unless it is there already.

        Raises:
            ProtocolAborted: they are not in the project, or it has too many models, or another one of this name.
            ValueError: it is no model; one line names what is wrong.
        """
        found = project_for(self._archive, who, project, Right.ASK)
        model = predictor_from_json(text)
        facts = {
            "project": project, "digest": model.digest, "name": model.name, "model": model.to_json(),
            "person": who.name, "made_at": now(),
        }  # fmt: skip

        def work(connection: Connection) -> Kept:
            kept = _find(connection, project, model.digest)
            if kept is not None:
                return kept
            if connection.execute(_named(project, model.name)).first() is not None:
                raise ProtocolAborted("model", "the project has another one of this name: give this one its own", 409)
            count = select(func.count()).select_from(MODELS).where(MODELS.c.project == project)
            if connection.execute(count).scalar_one() >= MOST_KEPT:
                raise ProtocolAborted("models", f"at most {MOST_KEPT} of a project are kept", 409)
            connection.execute(insert(MODELS), facts)
            return Kept(model.digest, model.name, who.name, facts["made_at"], facts["model"])

        words = f"{model.name} {model.digest[:16]}: {project}"[:LONGEST_NAME]
        return self._archive.enter(Event(who.name, "handed in model", words, found.dataset), work)

    def get(self, who: Visitor, project: str, digest: str) -> Kept:
        """Look up a model. Raises `ProtocolAborted`: there is none, or it is not theirs to see."""
        of = project_for(self._archive, who, project, Right.SEE_QUESTIONS).subject
        found = self._archive.read(lambda connection: _find(connection, project, digest))
        if found is None:
            raise unknown("model")
        return _seen(who, found, of)

    def named(self, who: Visitor, project: str) -> ByName:
        """The models of a project by their names, each read when it is looked up.

        Raises:
            ProtocolAborted: there is no such project, or it is not theirs to see.
        """
        project_for(self._archive, who, project, Right.SEE_QUESTIONS)
        names = select(MODELS.c.name).where(MODELS.c.project == project).order_by(MODELS.c.made_at, MODELS.c.digest)
        found = self._archive.read(lambda connection: connection.execute(names).scalars().all())
        return ByName(self._archive, project, tuple(dict.fromkeys(map(str, found))))

    def all(self, who: Visitor, project: str) -> tuple[Kept, ...]:
        """The models of a project, in the order in which they were handed in.

        Raises:
            ProtocolAborted: there is no such project, or it is not theirs to see.
        """
        of = project_for(self._archive, who, project, Right.SEE_QUESTIONS).subject
        query = select(MODELS).where(MODELS.c.project == project).order_by(MODELS.c.made_at, MODELS.c.digest)
        rows = self._archive.read(lambda connection: connection.execute(query).all())
        return tuple(_seen(who, _kept(row), of) for row in rows)


def _named(project: str, name: str) -> Select[Any]:
    """The model of a name; of several, which development versions took in, the last one."""
    mine = select(MODELS).filter_by(project=project, name=name)
    return mine.order_by(MODELS.c.made_at.desc(), MODELS.c.digest.desc()).limit(1)


def _find(connection: Connection, project: str, digest: str) -> Kept | None:
    row = connection.execute(select(MODELS).filter_by(project=project, digest=digest)).first()
    return None if row is None else _kept(row)


def _seen(who: Visitor, model: Kept, of: Subject) -> Kept:
    return replace(model, person=person_seen_by(who, model.person, of))


def _kept(row: Row[Any]) -> Kept:
    return Kept(row.digest, row.name, row.person, row.made_at, row.model)
