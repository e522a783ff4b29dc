"""Projects: people who ask one dataset together, out of an allowance that its steward sets."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select

from dpcurves.ledger import Allowance, Event, Member, Remaining, Together
from dpcurves.ledger.account import require_name
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving.messages import ProtocolAborted

from .people import visitor_of
from .store import DATASETS, MEMBERS, PEOPLE, PROJECTS, QUESTIONS, Archive, is_there, now
from .visitors import Right, Subject, Visitor, may, require, unknown

MOST_OPEN = 500
"""Questions of one project that wait to be charged or counted."""


class HasGone(ProtocolAborted):
    """The person who asked is no longer an analyst of the project."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project: analysts who share an allowance on a dataset.

    Attributes:
        name: What it is called.
        dataset: What it asks.
        people: Who is in it, by name; empty where the visitor may not see them.
        description: What it is about.
        made_at: When it was made.
    """

    name: str
    dataset: str
    people: tuple[str, ...]
    description: str
    made_at: str

    @property
    def subject(self) -> Subject:
        """The subject that access rights are checked against."""
        return Subject(self.dataset, self.name)


class Projects:
    """Projects, who is in them, and what they may spend."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def make(self, who: Visitor, name: str, dataset: str, description: str = "") -> None:
        """Make a project of a dataset, with nobody in it.

        Raises:
            ProtocolAborted: they are not its steward, or there is no such dataset, or a project of this name.
        """
        require(who, Right.KEEP_PROJECTS, Subject(dataset))
        require_name("project", name)

        def work(connection: Connection) -> None:
            if not is_there(connection, DATASETS, name=dataset):
                raise unknown("dataset")
            if is_there(connection, PROJECTS, name=name):
                raise ProtocolAborted("project", "there is one of this name already", 409)
            facts = {"name": name, "dataset": dataset, "description": description, "made_at": now()}
            connection.execute(insert(PROJECTS), facts)

        self._archive.enter(Event(who.name, "made project", name, dataset), work)

    def admit(self, who: Visitor, project: str, person: str) -> None:
        """Let somebody into a project, as an analyst.

        Raises:
            ProtocolAborted: they are not the steward of its dataset, or there is nobody of this name.
        """
        of = project_for(self._archive, who, project, Right.KEEP_PROJECTS)

        def work(connection: Connection) -> None:
            if not is_there(connection, PEOPLE, name=person):
                raise unknown("person")
            mine = {"project": project, "person": person}
            if not is_there(connection, MEMBERS, **mine):
                connection.execute(insert(MEMBERS), mine)

        self._archive.enter(Event(who.name, "admitted to project", f"{person}: {project}"[:200], of.dataset), work)

    def dismiss(self, who: Visitor, project: str, person: str) -> None:
        """Take somebody out of a project. What they asked stays the project's.

        Raises:
            ProtocolAborted: they are not the steward of its dataset.
        """
        of = project_for(self._archive, who, project, Right.KEEP_PROJECTS)
        mine = (MEMBERS.c.project == project, MEMBERS.c.person == person)
        event = Event(who.name, "dismissed from project", f"{person}: {project}"[:200], of.dataset)
        self._archive.enter(event, lambda connection: connection.execute(delete(MEMBERS).where(*mine)).rowcount)

    def all(self, who: Visitor) -> tuple[Project, ...]:
        """Projects that the visitor may see."""

        def work(connection: Connection) -> list[Project]:
            names = connection.execute(select(PROJECTS.c.name).order_by(PROJECTS.c.name)).scalars().all()
            return [project_of(connection, name) for name in names]

        found = self._archive.read(work)
        return tuple(_shown(who, each) for each in found if may(who, Right.SEE_PROJECT, each.subject))

    def get(self, who: Visitor, project: str) -> Project:
        """Look up a project. Raises `ProtocolAborted`: there is none, or none that they may see."""
        return _shown(who, project_for(self._archive, who, project, Right.SEE_PROJECT))

    def allow(
        self,
        who: Visitor,
        project: str,
        most: PrivacyLoss,
        analyst: str | None = None,
        together: Together = Together.WITHIN,
    ) -> None:
        """Set the allowance of a project within the cap, or of an analyst within the project.

        Raises:
            ProtocolAborted: they are not the steward of its dataset, or the analyst is not in it.
            ValueError: as of `Ledger.allow`.
        """
        of = project_for(self._archive, who, project, Right.SET_BUDGETS)
        if analyst is not None and analyst not in of.people:
            raise unknown("analyst")
        whom = project if analyst is None else f"{analyst}: {project}"
        event = Event(who.name, f"set allowance to {most}", whom[:200], of.dataset)
        self._archive.ledger.allow(Allowance(self._account(of), project, most, analyst), together, event)

    def remaining(self, who: Visitor, project: str) -> Remaining | None:
        """The budget left to the visitor, an analyst of a project; None: no allowance was set.

        Raises:
            ProtocolAborted: it is not theirs to see.
        """
        of = project_for(self._archive, who, project, Right.SEE_OWN_BUDGET)
        try:
            return self._archive.ledger.remaining(self._account(of), Member(project, who.name))
        except ValueError as error:
            if getattr(error, "argument", "") in ("project", "analyst"):
                return None
            raise

    def require_share(self, who: Visitor, project: str) -> None:
        """Refuse to take in a question where nothing could pay for it, or where too many wait already.

        Raises:
            ProtocolAborted: the project or the analyst has no share, or the project has too many open questions.
        """
        if self.remaining(who, project) is None:
            raise ProtocolAborted("share", "you have none yet; the steward of the dataset sets it", 409)
        waiting = (QUESTIONS.c.project == project, QUESTIONS.c.state.in_(("queued", "paid")))
        count = select(func.count()).select_from(QUESTIONS).where(*waiting)
        if self._archive.read(lambda connection: int(connection.execute(count).scalar_one())) >= MOST_OPEN:
            raise ProtocolAborted("questions", f"at most {MOST_OPEN} of a project wait; ask again later", 409)

    @staticmethod
    def require_asking(connection: Connection, member: Member) -> None:
        """Refuse a question of somebody who was dismissed or locked out since, in the transaction that charges it.

        Raises:
            HasGone: whoever asked is no analyst of the project any more.
        """
        asks = visitor_of(connection, member.analyst)
        if asks is None or member.project not in asks.projects:
            raise HasGone("person", "whoever asked is no analyst of the project any more; ask it again")

    def _account(self, project: Project) -> str:
        newest = DATASETS.c.version.desc()
        query = select(DATASETS.c.account).where(DATASETS.c.name == project.dataset).order_by(newest)
        return self._archive.read(lambda connection: str(connection.execute(query).scalars().first()))


def project_for(archive: Archive, who: Visitor, project: str, right: Right) -> Project:
    """Look up a project for somebody who has this right. Raises `ProtocolAborted`: there is none, or they have not."""
    found = archive.read(lambda connection: project_of(connection, project))
    require(who, right, found.subject)
    return found


def project_of(connection: Connection, name: str) -> Project:
    """Look up a project with its members, for any visitor. Raises `ProtocolAborted`: there is none."""
    row = connection.execute(select(PROJECTS).where(PROJECTS.c.name == name)).first()
    if row is None:
        raise unknown("project")
    people = connection.execute(select(MEMBERS.c.person).where(MEMBERS.c.project == name)).scalars()
    return Project(name, row.dataset, tuple(sorted(people)), row.description, row.made_at)


def _shown(who: Visitor, project: Project) -> Project:
    if may(who, Right.SEE_PEOPLE_OF_PROJECT, project.subject):
        return project
    return Project(project.name, project.dataset, (), project.description, project.made_at)
