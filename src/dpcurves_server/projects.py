"""Projects: people who ask one dataset together, out of an allowance that its steward sets."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select

from dpcurves.ledger import Allowance, AllowanceRule, Event, Member, MemberBalance
from dpcurves.ledger.account import require_name
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving.messages import ProtocolError

from .people import find_visitor
from .store import DATASETS, MEMBERS, PEOPLE, PROJECTS, QUESTIONS, Archive, format_now, has_row
from .visitors import Right, Subject, Visitor, may, not_found, require

MOST_OPEN = 500
"""Questions of one project that wait to be charged or counted."""


class NoLongerMember(ProtocolError):
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

        def insert_project(connection: Connection) -> None:
            if not has_row(connection, DATASETS, name=dataset):
                raise not_found("dataset")
            if has_row(connection, PROJECTS, name=name):
                raise ProtocolError("project", "there is one of this name already", 409)
            facts = {"name": name, "dataset": dataset, "description": description, "made_at": format_now()}
            connection.execute(insert(PROJECTS), facts)

        self._archive.run_logged(Event(who.name, "made project", name, dataset), insert_project)

    def add_member(self, who: Visitor, project: str, person: str) -> None:
        """Let somebody into a project, as an analyst.

        Raises:
            ProtocolAborted: they are not the steward of its dataset, or there is nobody of this name.
        """
        of = find_project_for(self._archive, who, project, Right.KEEP_PROJECTS)

        def insert_member(connection: Connection) -> None:
            if not has_row(connection, PEOPLE, name=person):
                raise not_found("person")
            mine = {"project": project, "person": person}
            if not has_row(connection, MEMBERS, **mine):
                connection.execute(insert(MEMBERS), mine)

        self._archive.run_logged(
            Event(who.name, "admitted to project", f"{person}: {project}"[:200], of.dataset), insert_member
        )

    def remove_member(self, who: Visitor, project: str, person: str) -> None:
        """Take somebody out of a project. What they asked stays the project's.

        Raises:
            ProtocolAborted: they are not the steward of its dataset.
        """
        of = find_project_for(self._archive, who, project, Right.KEEP_PROJECTS)
        mine = (MEMBERS.c.project == project, MEMBERS.c.person == person)
        event = Event(who.name, "dismissed from project", f"{person}: {project}"[:200], of.dataset)
        self._archive.run_logged(event, lambda connection: connection.execute(delete(MEMBERS).where(*mine)).rowcount)

    def all(self, who: Visitor) -> tuple[Project, ...]:
        """Projects that the visitor may see."""

        def select_projects(connection: Connection) -> list[Project]:
            names = connection.execute(select(PROJECTS.c.name).order_by(PROJECTS.c.name)).scalars().all()
            return [find_project(connection, name) for name in names]

        found = self._archive.read_snapshot(select_projects)
        return tuple(_redact_members(who, each) for each in found if may(who, Right.SEE_PROJECT, each.subject))

    def get(self, who: Visitor, project: str) -> Project:
        """Look up a project. Raises `ProtocolError`: there is none, or none that they may see."""
        return _redact_members(who, find_project_for(self._archive, who, project, Right.SEE_PROJECT))

    def set_allowance(
        self,
        who: Visitor,
        project: str,
        limit: PrivacyLoss,
        analyst: str | None = None,
        rule: AllowanceRule = AllowanceRule.WITHIN,
    ) -> None:
        """Set the allowance of a project within the cap, or of an analyst within the project.

        Raises:
            ProtocolAborted: they are not the steward of its dataset, or the analyst is not in it.
            ValueError: as of `Ledger.allow`.
        """
        of = find_project_for(self._archive, who, project, Right.SET_BUDGETS)
        if analyst is not None and analyst not in of.people:
            raise not_found("analyst")
        whom = project if analyst is None else f"{analyst}: {project}"
        event = Event(who.name, f"set allowance to {limit}", whom[:200], of.dataset)
        self._archive.ledger.allow(Allowance(self._account(of), project, limit, analyst), rule, event)

    def remaining(self, who: Visitor, project: str) -> MemberBalance | None:
        """The budget left to the visitor, an analyst of a project; None: no allowance was set.

        Raises:
            ProtocolAborted: it is not theirs to see.
        """
        of = find_project_for(self._archive, who, project, Right.SEE_OWN_BUDGET)
        try:
            return self._archive.ledger.find_member_balance(self._account(of), Member(project, who.name))
        except ValueError as error:
            if getattr(error, "argument", "") in ("project", "analyst"):
                return None
            raise

    def require_allowance(self, who: Visitor, project: str) -> None:
        """Refuse to take in a question where nothing could pay for it, or where too many wait already.

        Raises:
            ProtocolAborted: the project or the analyst has no share, or the project has too many open questions.
        """
        if self.remaining(who, project) is None:
            raise ProtocolError("share", "you have none yet; the steward of the dataset sets it", 409)
        waiting = (QUESTIONS.c.project == project, QUESTIONS.c.state.in_(("queued", "paid")))
        count = select(func.count()).select_from(QUESTIONS).where(*waiting)
        if self._archive.read_snapshot(lambda connection: int(connection.execute(count).scalar_one())) >= MOST_OPEN:
            raise ProtocolError("questions", f"at most {MOST_OPEN} of a project wait; ask again later", 409)

    @staticmethod
    def require_membership(connection: Connection, member: Member) -> None:
        """Refuse a question of somebody who was dismissed or locked out since, in the transaction that charges it.

        Raises:
            HasGone: whoever asked is no analyst of the project any more.
        """
        asks = find_visitor(connection, member.analyst)
        if asks is None or member.project not in asks.projects:
            raise NoLongerMember("person", "whoever asked is no analyst of the project any more; ask it again")

    def _account(self, project: Project) -> str:
        newest = DATASETS.c.version.desc()
        query = select(DATASETS.c.account).where(DATASETS.c.name == project.dataset).order_by(newest)
        return self._archive.read_snapshot(lambda connection: str(connection.execute(query).scalars().first()))


def find_project_for(archive: Archive, who: Visitor, project: str, right: Right) -> Project:
    """Look up a project for somebody who has this right. Raises `ProtocolError`: there is none, or they have not."""
    found = archive.read_snapshot(lambda connection: find_project(connection, project))
    require(who, right, found.subject)
    return found


def find_project(connection: Connection, name: str) -> Project:
    """Look up a project with its members, for any visitor. Raises `ProtocolError`: there is none."""
    row = connection.execute(select(PROJECTS).where(PROJECTS.c.name == name)).first()
    if row is None:
        raise not_found("project")
    people = connection.execute(select(MEMBERS.c.person).where(MEMBERS.c.project == name)).scalars()
    return Project(name, row.dataset, tuple(sorted(people)), row.description, row.made_at)


def _redact_members(who: Visitor, project: Project) -> Project:
    if may(who, Right.SEE_PEOPLE_OF_PROJECT, project.subject):
        return project
    return Project(project.name, project.dataset, (), project.description, project.made_at)
