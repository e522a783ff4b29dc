"""Projects: analysts who query one dataset and share an allowance that its steward sets.

    cap of the dataset    guarantees privacy; set when it is registered
    allowance of a project, and of an analyst within it    divide the cap (`set_allowance`)

Analysts of a project share its questions: what one has asked is free for all of them. Names of analysts are shown to
those alone who may see them. A question of somebody who has left is refused when it would be charged.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select

from dpcurves.ledger import Allowance, AllowanceRule, Event, Member, MemberBalance
from dpcurves.ledger.account import require_name
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving.messages import ProtocolError

from .people import find_principal
from .principals import Principal, Right, Subject, may, not_found, require
from .store import Archive, format_now, has_row
from .tables import DATASETS, MEMBERS, PEOPLE, PROJECTS, QUESTIONS

MOST_OPEN = 500
"""Waiting questions of a project, above which further questions are refused."""


class NoLongerMember(ProtocolError):
    """The person who asked is no longer an analyst of the project."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project: analysts who share an allowance on a dataset.

    Attributes:
        name: The name.
        dataset: The dataset that it queries.
        people: Names of its analysts; empty if the principal may not see them.
        description: A public description.
        made_at: Creation time.
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
    """The projects, their analysts and their allowances."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def make(self, who: Principal, name: str, dataset: str, description: str = "") -> None:
        """Create a project of a dataset, without analysts.

        Raises:
            ProtocolError: The principal is not the dataset's steward, the dataset does not exist, or the name is in
                use.
        """
        require(who, Right.KEEP_PROJECTS, Subject(dataset))
        require_name("project", name)

        def insert_project(connection: Connection) -> None:
            """Store the project. Raises `ProtocolError` if the dataset does not exist or the name is in use."""
            if not has_row(connection, DATASETS, name=dataset):
                raise not_found("dataset")
            if has_row(connection, PROJECTS, name=name):
                raise ProtocolError("project", "a project of this name exists already; choose another name", 409)
            row = {"name": name, "dataset": dataset, "description": description, "made_at": format_now()}
            connection.execute(insert(PROJECTS), row)

        self._archive.run_logged(Event(who.name, "made project", name, dataset), insert_project)

    def add_member(self, who: Principal, project: str, person: str) -> None:
        """Add an account to a project, as an analyst.

        Raises:
            ProtocolError: The principal is not the dataset's steward, or the account does not exist.
        """
        dataset_project = find_project_for(self._archive, who, project, Right.KEEP_PROJECTS)

        def insert_member(connection: Connection) -> None:
            """Store the membership, once. Raises `ProtocolError` (not found) if there is no such account."""
            if not has_row(connection, PEOPLE, name=person):
                raise not_found("person")
            membership = {"project": project, "person": person}
            if not has_row(connection, MEMBERS, **membership):
                connection.execute(insert(MEMBERS), membership)

        self._archive.run_logged(
            Event(who.name, "admitted to project", f"{person}: {project}"[:200], dataset_project.dataset), insert_member
        )

    def remove_member(self, who: Principal, project: str, person: str) -> None:
        """Remove an analyst from a project. Their questions stay with the project.

        Raises:
            ProtocolError: The principal is not the dataset's steward.
        """
        dataset_project = find_project_for(self._archive, who, project, Right.KEEP_PROJECTS)
        is_member = (MEMBERS.c.project == project, MEMBERS.c.person == person)
        event = Event(who.name, "dismissed from project", f"{person}: {project}"[:200], dataset_project.dataset)
        self._archive.run_logged(
            event, lambda connection: connection.execute(delete(MEMBERS).where(*is_member)).rowcount
        )

    def all(self, who: Principal) -> tuple[Project, ...]:
        """Return the projects that the principal may see."""

        def select_projects(connection: Connection) -> list[Project]:
            """Return all projects by name."""
            names = connection.execute(select(PROJECTS.c.name).order_by(PROJECTS.c.name)).scalars().all()
            return [find_project(connection, name) for name in names]

        projects = self._archive.read_snapshot(select_projects)
        return tuple(
            _redact_members(who, project) for project in projects if may(who, Right.SEE_PROJECT, project.subject)
        )

    def get(self, who: Principal, project: str) -> Project:
        """Return a project. Raises `ProtocolError` if it does not exist or is hidden from the principal."""
        return _redact_members(who, find_project_for(self._archive, who, project, Right.SEE_PROJECT))

    def set_allowance(
        self,
        who: Principal,
        project: str,
        limit: PrivacyLoss,
        analyst: str | None = None,
        rule: AllowanceRule = AllowanceRule.WITHIN,
    ) -> None:
        """Set the allowance of a project within the cap, or of an analyst within the project.

        Raises:
            ProtocolError: The principal is not the dataset's steward, or the analyst is not in the project.
            ValueError: See `Ledger.allow`.
        """
        dataset_project = find_project_for(self._archive, who, project, Right.SET_BUDGETS)
        if analyst is not None and analyst not in dataset_project.people:
            raise not_found("analyst")
        target = project if analyst is None else f"{analyst}: {project}"
        event = Event(who.name, f"set allowance to {limit}", target[:200], dataset_project.dataset)
        self._archive.ledger.allow(Allowance(self._account(dataset_project), project, limit, analyst), rule, event)

    def remaining(self, who: Principal, project: str) -> MemberBalance | None:
        """Return the principal's remaining budget in a project; None if no allowance was set.

        Raises:
            ProtocolError: The principal is not an analyst of the project.
        """
        dataset_project = find_project_for(self._archive, who, project, Right.SEE_OWN_BUDGET)
        try:
            return self._archive.ledger.find_member_balance(self._account(dataset_project), Member(project, who.name))
        except ValueError as error:
            if getattr(error, "argument", "") in ("project", "analyst"):
                return None
            raise

    def require_allowance(self, who: Principal, project: str) -> None:
        """Refuse a question that no allowance could pay for, or a further question of a project with too many waiting.

        Raises:
            ProtocolError: The project or the analyst has no allowance, or too many questions wait.
        """
        if self.remaining(who, project) is None:
            raise ProtocolError("share", "you have no share of the budget yet; ask the steward of the dataset", 409)
        waiting = (QUESTIONS.c.project == project, QUESTIONS.c.state.in_(("queued", "paid")))
        count = select(func.count()).select_from(QUESTIONS).where(*waiting)
        if self._archive.read_snapshot(lambda connection: int(connection.execute(count).scalar_one())) >= MOST_OPEN:
            raise ProtocolError(
                "questions", f"at most {MOST_OPEN} questions of a project may wait; ask again later", 409
            )

    @staticmethod
    def require_membership(connection: Connection, member: Member) -> None:
        """Refuse a question whose author was removed or locked since, within the transaction that charges it.

        Raises:
            NoLongerMember: The author is no longer an analyst of the project.
        """
        author = find_principal(connection, member.analyst)
        if author is None or member.project not in author.projects:
            raise NoLongerMember(
                "person",
                "the author has left the project, so the question was not answered; another analyst may ask it again",
            )

    def _account(self, project: Project) -> str:
        """Return the ledger's name of the account that a project's dataset is charged to."""
        newest = DATASETS.c.version.desc()
        query = select(DATASETS.c.account).where(DATASETS.c.name == project.dataset).order_by(newest)
        return self._archive.read_snapshot(lambda connection: str(connection.execute(query).scalars().first()))


def find_project_for(archive: Archive, who: Principal, project: str, right: Right) -> Project:
    """Return a project if the principal has this right on it. Raises `ProtocolError` otherwise."""
    dataset_project = archive.read_snapshot(lambda connection: find_project(connection, project))
    require(who, right, dataset_project.subject)
    return dataset_project


def find_project(connection: Connection, name: str) -> Project:
    """Return a project with all its members, unredacted. Raises `ProtocolError` if it does not exist."""
    row = connection.execute(select(PROJECTS).where(PROJECTS.c.name == name)).first()
    if row is None:
        raise not_found("project")
    people = connection.execute(select(MEMBERS.c.person).where(MEMBERS.c.project == name)).scalars()
    return Project(name, row.dataset, tuple(sorted(people)), row.description, row.made_at)


def _redact_members(who: Principal, project: Project) -> Project:
    """Return the project, without its analysts if the principal may not see them."""
    if may(who, Right.SEE_PEOPLE_OF_PROJECT, project.subject):
        return project
    return Project(project.name, project.dataset, (), project.description, project.made_at)
