"""Projects of a verification server: groups of analysts, each with an allowance of a dataset's privacy budget.

`Projects` creates projects, adds and removes analysts, and sets and reads allowances; each change is written to the
audit log. A dataset's account has a cap, the largest total privacy loss of all answers. The cap alone guarantees
privacy. Within it, the dataset's steward (who manages the dataset) sets two kinds of allowances, which divide the
budget among people:

    allowance of a project               largest total loss of the project's questions
    allowance of an analyst in it        largest total loss of that analyst's questions

A charge must fit the cap and both allowances. Analysts of a project share its questions: what one has asked is free for
all of them. Names of analysts are shown only to callers with the right to see them. A question of an analyst who has
left the project is refused when it would be charged. No function here reads records.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select

from dpcurves.ledger import Allowance, AllowanceRule, Event, Member, MemberBalance
from dpcurves.ledger.account import require_name
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving.messages import ProtocolError

from .people import find_principal
from .principals import Principal, Right, Subject, has_right, not_found, require
from .store import Archive, format_now, has_row
from .tables import DATASETS, MEMBERS, PEOPLE, PROJECTS, QUESTIONS

MOST_OPEN = 500
"""Largest number of waiting questions of a project, so that a single project cannot fill the queue of the server; a
further question is refused (status 409)."""


class NoLongerMember(ProtocolError):
    """Error: the person who asked is no longer an analyst of the project, so the question is not charged."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project: a group of analysts who share an allowance (part of the privacy budget) of one dataset.

    Attributes:
        name: Name of the project.
        dataset: Name of the dataset that its analysts ask about.
        people: Names of its analysts, sorted; empty if the caller may not see them.
        description: A public description in words; may be empty.
        made_at: Creation time, as ISO 8601 text in UTC.
    """

    name: str
    dataset: str
    people: tuple[str, ...]
    description: str
    made_at: str

    @property
    def subject(self) -> Subject:
        """Dataset and project that access rights to this project are checked against."""
        return Subject(self.dataset, self.name)


class Projects:
    """The projects of a server, their analysts and their allowances (parts of the privacy budget).

    Args:
        archive: The server's database, with the ledger that holds the allowances.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def make(self, who: Principal, name: str, dataset: str, description: str = "") -> None:
        """Create a project without analysts and without an allowance, and write an audit event.

        Args:
            who: The caller: a steward of the dataset, or the machine.
            name: Name of the project, unique on the server.
            dataset: Name of the dataset that its analysts will ask about.
            description: A public description in words.

        Raises:
            ProtocolError: The caller is not a steward of the dataset, the dataset does not exist, or the name is in
                use.
            ValueError: The name is not valid.
        """
        require(who, Right.KEEP_PROJECTS, Subject(dataset))
        require_name("project", name)

        def insert_project(connection: Connection) -> None:
            """Store the project; refuse an unknown dataset or a name that is in use.

            Args:
                connection: Connection in the write transaction.

            Raises:
                ProtocolError: the data set does not exist (status 404), or the name is in use (status 409).
            """
            if not has_row(connection, DATASETS, name=dataset):
                raise not_found("dataset")
            if has_row(connection, PROJECTS, name=name):
                raise ProtocolError("project", "a project of this name exists already; choose another name", 409)
            row = {"name": name, "dataset": dataset, "description": description, "made_at": format_now()}
            connection.execute(insert(PROJECTS), row)

        self._archive.run_logged(Event(who.name, "made project", name, dataset), insert_project)

    def add_member(self, who: Principal, project: str, person: str) -> None:
        """Add an account to a project as an analyst, and write an audit event. Adding a member again changes nothing.

        Args:
            who: The caller: a steward of the project's dataset, or the machine.
            project: Name of the project.
            person: Name of the account.

        Raises:
            ProtocolError: The caller is not a steward of the dataset, or the project or the account does not exist.
        """
        dataset_project = find_project_for(self._archive, who, project, Right.KEEP_PROJECTS)

        def insert_member(connection: Connection) -> None:
            """Store the membership unless it is stored already; refuse an unknown account.

            Args:
                connection: Connection in the write transaction.

            Raises:
                ProtocolError: no account has the name (status 404).
            """
            if not has_row(connection, PEOPLE, name=person):
                raise not_found("person")
            membership = {"project": project, "person": person}
            if not has_row(connection, MEMBERS, **membership):
                connection.execute(insert(MEMBERS), membership)

        self._archive.run_logged(
            Event(who.name, "admitted to project", f"{person}: {project}"[:200], dataset_project.dataset), insert_member
        )

    def remove_member(self, who: Principal, project: str, person: str) -> None:
        """Remove an analyst from a project, and write an audit event. Questions that they asked stay with the project.

        Their questions that are not yet charged will be refused. Removing a person who is no member changes nothing.

        Args:
            who: The caller: a steward of the project's dataset, or the machine.
            project: Name of the project.
            person: Name of the account.

        Raises:
            ProtocolError: The caller is not a steward of the dataset, or the project does not exist.
        """
        dataset_project = find_project_for(self._archive, who, project, Right.KEEP_PROJECTS)
        is_member = (MEMBERS.c.project == project, MEMBERS.c.person == person)
        event = Event(who.name, "dismissed from project", f"{person}: {project}"[:200], dataset_project.dataset)
        self._archive.run_logged(
            event, lambda connection: connection.execute(delete(MEMBERS).where(*is_member)).rowcount
        )

    def all(self, who: Principal) -> tuple[Project, ...]:
        """Return the projects that the caller may see, sorted by name; empty if the caller may see no project.

        A project's analysts are left out where the caller may not see their names.

        Args:
            who: The caller.
        """

        def select_projects(connection: Connection) -> list[Project]:
            """Return all projects with all their analysts, sorted by name.

            Args:
                connection: Connection in a transaction.
            """
            names = connection.execute(select(PROJECTS.c.name).order_by(PROJECTS.c.name)).scalars().all()
            return [find_project(connection, name) for name in names]

        projects = self._archive.read_snapshot(select_projects)
        return tuple(
            _redact_members(who, project) for project in projects if has_right(who, Right.SEE_PROJECT, project.subject)
        )

    def get(self, who: Principal, project: str) -> Project:
        """Return a project by name, without its analysts if the caller may not see their names.

        Args:
            who: The caller.
            project: Name of the project.

        Raises:
            ProtocolError: The project does not exist, or is hidden from the caller; the error is the same.
        """
        return _redact_members(who, find_project_for(self._archive, who, project, Right.SEE_PROJECT))

    def set_allowance(
        self,
        who: Principal,
        project: str,
        limit: PrivacyLoss,
        analyst: str | None = None,
        rule: AllowanceRule = AllowanceRule.WITHIN,
    ) -> None:
        """Set how much privacy loss a project, or one analyst of it, may spend in total; write an audit event.

        Args:
            who: The caller: a steward of the project's dataset, or the machine.
            project: Name of the project.
            limit: The largest total loss, including the loss already spent.
            analyst: Name of an analyst of the project; None: the project itself.
            rule: Whether all allowances together must fit the dataset's cap (`AllowanceRule.WITHIN`), or may exceed it.

        Raises:
            ProtocolError: The caller is not a steward of the dataset, or the project or the analyst in it does not
                exist.
            ValueError: The ledger refuses the allowance, such as one that does not fit under `rule`.
        """
        dataset_project = find_project_for(self._archive, who, project, Right.SET_BUDGETS)
        if analyst is not None and analyst not in dataset_project.people:
            raise not_found("analyst")
        target = project if analyst is None else f"{analyst}: {project}"
        event = Event(who.name, f"set allowance to {limit}", target[:200], dataset_project.dataset)
        self._archive.ledger.allow(Allowance(self._account(dataset_project), project, limit, analyst), rule, event)

    def remaining(self, who: Principal, project: str) -> MemberBalance | None:
        """Return the caller's own remaining budget in a project; None if the project or the caller has no allowance.

        Args:
            who: The caller, an analyst of the project.
            project: Name of the project.

        Raises:
            ProtocolError: The caller is not an analyst of the project.
        """
        dataset_project = find_project_for(self._archive, who, project, Right.SEE_OWN_BUDGET)
        try:
            return self._archive.ledger.find_member_balance(self._account(dataset_project), Member(project, who.name))
        except ValueError as error:
            if getattr(error, "argument", "") in ("project", "analyst"):
                return None
            raise

    def require_allowance(self, who: Principal, project: str) -> None:
        """Require that the caller has an allowance in a project, and that the project has room in the queue.

        Whether the allowance covers a price is not checked here, but when the question is charged.

        Args:
            who: The caller, an analyst of the project.
            project: Name of the project.

        Raises:
            ProtocolError: The caller is not an analyst of the project; the project or the caller has no allowance; or
                `MOST_OPEN` questions of the project wait.
        """
        if self.remaining(who, project) is None:
            raise ProtocolError(
                "share", "you have no allowance in this project yet; ask the steward of the dataset for one", 409
            )
        waiting = (QUESTIONS.c.project == project, QUESTIONS.c.state.in_(("queued", "paid")))
        count = select(func.count()).select_from(QUESTIONS).where(*waiting)
        if self._archive.read_snapshot(lambda connection: int(connection.execute(count).scalar_one())) >= MOST_OPEN:
            raise ProtocolError(
                "questions", f"at most {MOST_OPEN} questions of a project may wait; ask again later", 409
            )

    @staticmethod
    def require_membership(connection: Connection, member: Member) -> None:
        """Require that the author of a question is still an analyst of its project.

        A worker calls it within the transaction that charges the question, so that the author cannot leave the project
        in between.

        Args:
            connection: The connection of this transaction.
            member: The project and the author.

        Raises:
            NoLongerMember: The author was removed from the project, or the account was locked or deleted.
        """
        author = find_principal(connection, member.analyst)
        if author is None or member.project not in author.projects:
            raise NoLongerMember(
                "person",
                "the author has left the project, so the question was not answered; another analyst may ask it again",
            )

    def _account(self, project: Project) -> str:
        """Return the ledger's name of the account that a project's dataset is charged to.

        Args:
            project: The project.
        """
        newest = DATASETS.c.version.desc()
        query = select(DATASETS.c.account).where(DATASETS.c.name == project.dataset).order_by(newest)
        return self._archive.read_snapshot(lambda connection: str(connection.execute(query).scalars().first()))


def find_project_for(archive: Archive, who: Principal, project: str, right: Right) -> Project:
    """Return a project with all its analysts, after checking the caller's right on it.

    Args:
        archive: The server's database.
        who: The caller.
        project: Name of the project.
        right: The right that the caller must have.

    Raises:
        ProtocolError: The project does not exist or the caller lacks the right; the error is the same.
    """
    dataset_project = archive.read_snapshot(lambda connection: find_project(connection, project))
    require(who, right, dataset_project.subject)
    return dataset_project


def find_project(connection: Connection, name: str) -> Project:
    """Return a project with all its analysts, without checking rights.

    Args:
        connection: A connection in a transaction.
        name: Name of the project.

    Raises:
        ProtocolError: The project does not exist (status 404).
    """
    row = connection.execute(select(PROJECTS).where(PROJECTS.c.name == name)).first()
    if row is None:
        raise not_found("project")
    people = connection.execute(select(MEMBERS.c.person).where(MEMBERS.c.project == name)).scalars()
    return Project(name, row.dataset, tuple(sorted(people)), row.description, row.made_at)


def _redact_members(who: Principal, project: Project) -> Project:
    """Return the project, with empty `people` if the caller may not see the names of its analysts.

    Args:
        who: The caller.
        project: Project with its analysts.
    """
    if has_right(who, Right.SEE_PEOPLE_OF_PROJECT, project.subject):
        return project
    return Project(project.name, project.dataset, (), project.description, project.made_at)
