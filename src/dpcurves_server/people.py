"""Accounts and their roles, and passwords (Argon2id)."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import Connection, delete, insert, select, update

from dpcurves.ledger import Event
from dpcurves.ledger.account import require_name
from dpcurves_parties.serving.messages import ProtocolAborted

from .store import DATASETS, MEMBERS, PEOPLE, ROLES, SESSIONS, SUBJECTS, TOKENS, Archive, now
from .visitors import Right, Role, Visitor, require, unknown

SHORTEST, LONGEST = 12, 1000
AT_ONCE = 2
"""Hashes that are worked out at a time: whoever floods the door with names fills this queue, and no more memory."""
MOST_WAITING = 64
MEMORY, TIMES = 19 * 1024, 2
"""KiB, and passes over them."""


class Passwords:
    """Makes hashes and compares with them, in a pool of its own."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher(time_cost=TIMES, memory_cost=MEMORY, parallelism=1)
        self._pool = ThreadPoolExecutor(AT_ONCE, "password")

    def made(self, password: str) -> str:
        """The hash of a new password. Raises `ProtocolAborted`: it is too short, or too long."""
        if not SHORTEST <= len(password) <= LONGEST:
            raise ProtocolAborted("password", f"{SHORTEST} to {LONGEST} characters are needed")
        return self._pool.submit(self._hasher.hash, password).result()

    def fits(self, hashed: str | None, password: str) -> bool:
        """Check a password against its hash; None for an unknown account, in the same time.

        Raises:
            ProtocolAborted: too many people sign in at once.
        """
        if self._pool._work_queue.qsize() > MOST_WAITING:
            raise ProtocolAborted("sign-in", "too many people sign in at once; try again in a minute", 503)
        against = self._nobody if hashed is None else hashed
        return self._pool.submit(self._compare, against, password[:LONGEST]).result() and hashed is not None

    def _compare(self, hashed: str, password: str) -> bool:
        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False

    @cached_property
    def _nobody(self) -> str:
        """The hash of a password that is nobody's."""
        return self._hasher.hash("this is no one's")


KEEPERS = frozenset({Role.STEWARD.value, Role.AUDITOR.value})
"""Roles that see what was asked or spent: only whoever has the machine names who has them."""


@dataclass(frozen=True, slots=True)
class Person:
    """An account.

    Attributes:
        name: What they sign in with.
        locked: Whether they are kept out.
        operator, auditor: Whether they are.
        stewards: The datasets that they are stewards of.
        projects: The projects that they are in.
        made_at: When the account was made.
    """

    name: str
    locked: bool
    operator: bool
    auditor: bool
    stewards: tuple[str, ...]
    projects: tuple[str, ...]
    made_at: str


class People:
    """Accounts of people: operators make and lock them; stewards and auditors are named on the machine."""

    def __init__(self, archive: Archive, passwords: Passwords) -> None:
        self._archive, self._passwords = archive, passwords

    def add(self, who: Visitor, name: str, password: str) -> None:
        """Make an account, without any role.

        Raises:
            ProtocolAborted: they may not, or there is one of this name, or the password is too short.
        """
        require(who, Right.KEEP_PEOPLE)
        require_name("person", name)
        facts = {"name": name, "password": self._passwords.made(password), "locked": False, "made_at": now()}

        def work(connection: Connection) -> None:
            if _is_there(connection, name):
                raise ProtocolAborted("person", "there is one of this name already", 409)
            connection.execute(insert(PEOPLE), facts)

        self._archive.enter(Event(who.name, "made person", name), work)

    def set_password(self, who: Visitor, name: str, password: str) -> None:
        """Give somebody a new password, or oneself; all sessions and tokens of the account end.

        Raises:
            ProtocolAborted: they may not, or there is nobody of this name, or it is too short; or it is a steward's or
                an auditor's, and they have not the machine.
        """
        is_own = who.name == name and not who.by_token
        if not is_own:
            require(who, Right.KEEP_PEOPLE)
        facts = {"password": self._passwords.made(password)}

        def work(connection: Connection) -> None:
            _require_there(connection, name)
            if not is_own and KEEPERS & _roles_of(connection, name):
                require(who, Right.NAME_KEEPERS)
            _change(connection, name, facts)

        self._archive.enter(Event(who.name, "gave a new password to", name), work)

    def set_subject(self, who: Visitor, name: str, issuer: str, subject: str) -> None:
        """Say as whom another authority knows somebody; all sessions and tokens of the account end.

        Arguments:
            who: An operator, or the machine.
            name: The account, which is there already.
            issuer: The authority, exactly as it calls itself.
            subject: What it calls the person; empty: nothing any more.

        Raises:
            ProtocolAborted: they may not, or there is nobody of this name, or somebody else goes by the subject; or it
                is a steward's or an auditor's account, and they have not the machine.
        """
        require(who, Right.KEEP_PEOPLE)
        for text in (issuer, *([subject] if subject else [])):
            require_name("subject", text)
        goes_by = {"issuer": issuer, "subject": subject}

        def work(connection: Connection) -> None:
            _require_there(connection, name)
            if KEEPERS & _roles_of(connection, name):
                require(who, Right.NAME_KEEPERS)
            connection.execute(delete(SUBJECTS).filter_by(issuer=issuer, person=name))
            if subject and connection.execute(select(SUBJECTS).filter_by(**goes_by)).first() is not None:
                raise ProtocolAborted("subject", "somebody else goes by it already", 409)
            if subject:
                connection.execute(insert(SUBJECTS), {**goes_by, "person": name})
            _end_all(connection, name)

        self._archive.enter(Event(who.name, "said who is, to an issuer,", name), work)

    def lock(self, who: Visitor, name: str) -> None:
        """Keep somebody out, from now on: all sessions and tokens of the account end.

        Raises:
            ProtocolAborted: they may not, or there is nobody of this name, or it is they themselves.
        """
        require(who, Right.KEEP_PEOPLE)
        if who.name == name:
            raise ProtocolAborted("person", "nobody locks themselves out", 409)
        self._set_locked(who, name, "locked", {"locked": True})

    def unlock(self, who: Visitor, name: str) -> None:
        """Let somebody in again. Raises `ProtocolAborted`: they may not, or there is nobody of this name."""
        require(who, Right.KEEP_PEOPLE)
        self._set_locked(who, name, "unlocked", {"locked": False})

    def give_role(self, who: Visitor, name: str, role: Role, dataset: str = "") -> None:
        """Make somebody operator or auditor, or steward of a dataset. Analysts are admitted to projects instead.

        Raises:
            ProtocolAborted: they may not; nobody has the name; it is no such role; or somebody would be operator and
                steward, or operator and auditor, in one account.
        """
        _require_names(who, role)
        _require_given(role, dataset)

        def work(connection: Connection) -> None:
            _require_there(connection, name)
            is_there = select(DATASETS.c.name).where(DATASETS.c.name == dataset)
            if role is Role.STEWARD and connection.execute(is_there).first() is None:
                raise unknown("dataset")
            roles = {*_roles_of(connection, name), role.value}
            for keeper in sorted(KEEPERS & roles if Role.OPERATOR.value in roles else ()):
                raise ProtocolAborted("role", f"nobody is operator and {keeper} in one account", 409)
            mine = {"person": name, "role": role.value, "dataset": dataset}
            if connection.execute(select(ROLES).filter_by(**mine)).first() is None:
                connection.execute(insert(ROLES), mine)

        self._archive.enter(Event(who.name, f"gave role {role.value}", name, dataset), work)

    def take_role(self, who: Visitor, name: str, role: Role, dataset: str = "") -> None:
        """Take a role away. Raises `ProtocolAborted`: they may not, or nobody has the name."""
        _require_names(who, role)
        _require_given(role, dataset)

        def work(connection: Connection) -> None:
            _require_there(connection, name)
            connection.execute(delete(ROLES).filter_by(person=name, role=role.value, dataset=dataset))

        self._archive.enter(Event(who.name, f"took role {role.value}", name, dataset), work)

    def all(self, who: Visitor) -> tuple[Person, ...]:
        """Every account, sorted by name. Raises `ProtocolAborted`."""
        require(who, Right.KEEP_PEOPLE)

        def work(connection: Connection) -> tuple[Person, ...]:
            rows = connection.execute(select(PEOPLE).order_by(PEOPLE.c.name)).all()
            return tuple(_person(connection, row.name, row.locked, row.made_at) for row in rows)

        return self._archive.read(work)

    def _set_locked(self, who: Visitor, name: str, action: str, facts: Mapping[str, object]) -> None:
        def work(connection: Connection) -> None:
            _require_there(connection, name)
            _change(connection, name, facts)

        self._archive.enter(Event(who.name, action, name), work)


def visitor_of(connection: Connection, name: str) -> Visitor | None:
    """The current rights of an account; None if it is disabled or does not exist."""
    person = connection.execute(select(PEOPLE.c.locked).where(PEOPLE.c.name == name)).first()
    if person is None or person.locked:
        return None
    found = _person(connection, name, False, "")
    return Visitor(name, found.operator, found.auditor, frozenset(found.stewards), frozenset(found.projects))


def _person(connection: Connection, name: str, locked: bool, made_at: str) -> Person:
    held = connection.execute(select(ROLES.c.role, ROLES.c.dataset).where(ROLES.c.person == name)).all()
    projects = connection.execute(select(MEMBERS.c.project).where(MEMBERS.c.person == name)).scalars()
    roles = {row.role for row in held}
    stewards = tuple(sorted(row.dataset for row in held if row.role == Role.STEWARD.value))
    is_operator, is_auditor = (role.value in roles for role in (Role.OPERATOR, Role.AUDITOR))
    return Person(name, bool(locked), is_operator, is_auditor, stewards, tuple(sorted(projects)), made_at)


def _change(connection: Connection, name: str, facts: Mapping[str, object]) -> None:
    """Change an account: all of its sessions and tokens end."""
    connection.execute(update(PEOPLE).where(PEOPLE.c.name == name).values(**facts))
    _end_all(connection, name)


def _end_all(connection: Connection, name: str) -> None:
    for table in (SESSIONS, TOKENS):
        connection.execute(delete(table).where(table.c.person == name))


def _roles_of(connection: Connection, name: str) -> set[str]:
    return set(connection.execute(select(ROLES.c.role).where(ROLES.c.person == name)).scalars())


def _require_names(who: Visitor, role: Role) -> None:
    require(who, Right.KEEP_PEOPLE)
    if role.value in KEEPERS:
        require(who, Right.NAME_KEEPERS)


def _require_given(role: Role, dataset: str) -> None:
    if role is Role.ANALYST:
        raise ProtocolAborted("role", "analysts are admitted to projects by the steward of the dataset")
    if (role is Role.STEWARD) != bool(dataset):
        raise ProtocolAborted("dataset", "a steward is one of a dataset; other roles have none")


def _is_there(connection: Connection, name: str) -> bool:
    return connection.execute(select(PEOPLE.c.name).where(PEOPLE.c.name == name)).first() is not None


def _require_there(connection: Connection, name: str) -> None:
    if not _is_there(connection, name):
        raise unknown("person")
