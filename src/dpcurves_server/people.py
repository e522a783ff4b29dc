"""Accounts, roles and passwords (Argon2id); sessions and tokens, of which hashes alone are stored; rate limiters."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from threading import Lock

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import Connection, delete, insert, select, update

from dpcurves.ledger import Event
from dpcurves.ledger.account import require_name
from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_parties.serving.task_app import RateLimiter as RateLimiter

from .store import DATASETS, MEMBERS, PEOPLE, ROLES, SESSIONS, SUBJECTS, TOKENS, Archive, format_now, has_row
from .visitors import Right, Role, Subject, Visitor, not_found, require

SHORTEST, LONGEST = 12, 1000
AT_ONCE = 2
"""Hashes that are worked out at a time: whoever floods the door with names fills this queue, and no more memory."""
MOST_WAITING = 64
MEMORY, TIMES = 19 * 1024, 2
"""KiB, and passes over them."""


class PasswordHasherPool:
    """Makes hashes and compares with them, in a pool of its own."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher(time_cost=TIMES, memory_cost=MEMORY, parallelism=1)
        self._pool = ThreadPoolExecutor(AT_ONCE, "password")

    def hash_password(self, password: str) -> str:
        """The hash of a new password. Raises `ProtocolError`: it is too short, or too long."""
        if not SHORTEST <= len(password) <= LONGEST:
            raise ProtocolError("password", f"{SHORTEST} to {LONGEST} characters are needed")
        return self._pool.submit(self._hasher.hash, password).result()

    def verify_password(self, hashed: str | None, password: str) -> bool:
        """Check a password against its hash; None for an unknown account, in the same time.

        Raises:
            ProtocolAborted: too many people sign in at once.
        """
        if self._pool._work_queue.qsize() > MOST_WAITING:
            raise ProtocolError("sign-in", "too many people sign in at once; try again in a minute", 503)
        against = self._dummy_hash if hashed is None else hashed
        return self._pool.submit(self._verify_hash, against, password[:LONGEST]).result() and hashed is not None

    def _verify_hash(self, hashed: str, password: str) -> bool:
        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False

    @cached_property
    def _dummy_hash(self) -> str:
        """The hash of a password that is nobody's."""
        return self._hasher.hash("this is no one's")


KEEPERS = frozenset({Role.STEWARD.value, Role.AUDITOR.value})
"""Roles that see what was asked or spent: only whoever has the machine names who has them."""


@dataclass(frozen=True, slots=True)
class Person:
    """Account of a person who may sign in, with roles and projects.

    Attributes:
        name: What they sign in with.
        is_locked: Whether they are kept out.
        operator, auditor: Whether they are.
        stewarded_datasets: The datasets that they are stewards of.
        projects: The projects that they are in.
        made_at: When the account was made.
    """

    name: str
    is_locked: bool
    is_operator: bool
    is_auditor: bool
    stewarded_datasets: tuple[str, ...]
    projects: tuple[str, ...]
    made_at: str


class People:
    """Accounts of people: operators make and lock them; stewards and auditors are named on the machine."""

    def __init__(self, archive: Archive, passwords: PasswordHasherPool) -> None:
        self._archive, self._passwords = archive, passwords

    def add(self, who: Visitor, name: str, password: str) -> None:
        """Make an account, without any role.

        Raises:
            ProtocolAborted: they may not, or there is one of this name, or the password is too short.
        """
        require(who, Right.KEEP_PEOPLE)
        require_name("person", name)
        facts = {
            "name": name,
            "password": self._passwords.hash_password(password),
            "locked": False,
            "made_at": format_now(),
        }

        def insert_person(connection: Connection) -> None:
            if has_row(connection, PEOPLE, name=name):
                raise ProtocolError("person", "there is one of this name already", 409)
            connection.execute(insert(PEOPLE), facts)

        self._archive.run_logged(Event(who.name, "made person", name), insert_person)

    def set_password(self, who: Visitor, name: str, password: str) -> None:
        """Give somebody a new password, or oneself; all sessions and tokens of the account end.

        Raises:
            ProtocolAborted: they may not, or there is nobody of this name, or it is too short; or it is a steward's or
                an auditor's, and they have not the machine.
        """
        is_own = who.name == name and not who.uses_token
        if not is_own:
            require(who, Right.KEEP_PEOPLE)
        facts = {"password": self._passwords.hash_password(password)}

        def update_password(connection: Connection) -> None:
            _require_person(connection, name)
            if not is_own and KEEPERS & _find_roles(connection, name):
                require(who, Right.NAME_KEEPERS)
            _update_person(connection, name, facts)

        self._archive.run_logged(Event(who.name, "gave a new password to", name), update_password)

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

        def replace_subject(connection: Connection) -> None:
            _require_person(connection, name)
            if KEEPERS & _find_roles(connection, name):
                require(who, Right.NAME_KEEPERS)
            connection.execute(delete(SUBJECTS).filter_by(issuer=issuer, person=name))
            if subject and has_row(connection, SUBJECTS, **goes_by):
                raise ProtocolError("subject", "somebody else goes by it already", 409)
            if subject:
                connection.execute(insert(SUBJECTS), {**goes_by, "person": name})
            _end_sessions(connection, name)

        self._archive.run_logged(Event(who.name, "said who is, to an issuer,", name), replace_subject)

    def lock(self, who: Visitor, name: str) -> None:
        """Keep somebody out, from now on: all sessions and tokens of the account end.

        Raises:
            ProtocolAborted: they may not, or there is nobody of this name, or it is they themselves.
        """
        require(who, Right.KEEP_PEOPLE)
        if who.name == name:
            raise ProtocolError("person", "nobody locks themselves out", 409)
        self._set_locked(who, name, "locked", {"locked": True})

    def unlock(self, who: Visitor, name: str) -> None:
        """Let somebody in again. Raises `ProtocolError`: they may not, or there is nobody of this name."""
        require(who, Right.KEEP_PEOPLE)
        self._set_locked(who, name, "unlocked", {"locked": False})

    def give_role(self, who: Visitor, name: str, role: Role, dataset: str = "") -> None:
        """Make somebody operator or auditor, or steward of a dataset. Analysts are admitted to projects instead.

        Raises:
            ProtocolAborted: they may not; nobody has the name; it is no such role; or somebody would be operator and
                steward, or operator and auditor, in one account.
        """
        _require_may_assign(who, role)
        _require_assignable(role, dataset)

        def insert_role(connection: Connection) -> None:
            _require_person(connection, name)
            if role is Role.STEWARD and not has_row(connection, DATASETS, name=dataset):
                raise not_found("dataset")
            roles = {*_find_roles(connection, name), role.value}
            for keeper in sorted(KEEPERS & roles if Role.OPERATOR.value in roles else ()):
                raise ProtocolError("role", f"nobody is operator and {keeper} in one account", 409)
            mine = {"person": name, "role": role.value, "dataset": dataset}
            if not has_row(connection, ROLES, **mine):
                connection.execute(insert(ROLES), mine)

        self._archive.run_logged(Event(who.name, f"gave role {role.value}", name, dataset), insert_role)

    def remove_role(self, who: Visitor, name: str, role: Role, dataset: str = "") -> None:
        """Take a role away. Raises `ProtocolError`: they may not, or nobody has the name."""
        _require_may_assign(who, role)
        _require_assignable(role, dataset)

        def delete_role(connection: Connection) -> None:
            _require_person(connection, name)
            connection.execute(delete(ROLES).filter_by(person=name, role=role.value, dataset=dataset))

        self._archive.run_logged(Event(who.name, f"took role {role.value}", name, dataset), delete_role)

    def all(self, who: Visitor) -> tuple[Person, ...]:
        """Every account, sorted by name. Raises `ProtocolError`."""
        require(who, Right.KEEP_PEOPLE)

        def select_people(connection: Connection) -> tuple[Person, ...]:
            rows = connection.execute(select(PEOPLE).order_by(PEOPLE.c.name)).all()
            return tuple(_load_person(connection, row.name, row.locked, row.made_at) for row in rows)

        return self._archive.read_snapshot(select_people)

    def _set_locked(self, who: Visitor, name: str, action: str, facts: Mapping[str, object]) -> None:
        def update_lock(connection: Connection) -> None:
            _require_person(connection, name)
            _update_person(connection, name, facts)

        self._archive.run_logged(Event(who.name, action, name), update_lock)


def find_visitor(connection: Connection, name: str) -> Visitor | None:
    """The current rights of an account; None if it is disabled or does not exist."""
    person = connection.execute(select(PEOPLE.c.locked).where(PEOPLE.c.name == name)).first()
    if person is None or person.locked:
        return None
    found = _load_person(connection, name, False, "")
    return Visitor(
        name, found.is_operator, found.is_auditor, frozenset(found.stewarded_datasets), frozenset(found.projects)
    )


def _load_person(connection: Connection, name: str, locked: bool, made_at: str) -> Person:
    held = connection.execute(select(ROLES.c.role, ROLES.c.dataset).where(ROLES.c.person == name)).all()
    projects = connection.execute(select(MEMBERS.c.project).where(MEMBERS.c.person == name)).scalars()
    roles = {row.role for row in held}
    stewards = tuple(sorted(row.dataset for row in held if row.role == Role.STEWARD.value))
    is_operator, is_auditor = (role.value in roles for role in (Role.OPERATOR, Role.AUDITOR))
    return Person(name, bool(locked), is_operator, is_auditor, stewards, tuple(sorted(projects)), made_at)


def _update_person(connection: Connection, name: str, facts: Mapping[str, object]) -> None:
    """Change an account: all of its sessions and tokens end."""
    connection.execute(update(PEOPLE).where(PEOPLE.c.name == name).values(**facts))
    _end_sessions(connection, name)


def _end_sessions(connection: Connection, name: str) -> None:
    for table in (SESSIONS, TOKENS):
        connection.execute(delete(table).where(table.c.person == name))


def _find_roles(connection: Connection, name: str) -> set[str]:
    return set(connection.execute(select(ROLES.c.role).where(ROLES.c.person == name)).scalars())


def _require_may_assign(who: Visitor, role: Role) -> None:
    require(who, Right.KEEP_PEOPLE)
    if role.value in KEEPERS:
        require(who, Right.NAME_KEEPERS)


def _require_assignable(role: Role, dataset: str) -> None:
    if role is Role.ANALYST:
        raise ProtocolError("role", "analysts are admitted to projects by the steward of the dataset")
    if (role is Role.STEWARD) != bool(dataset):
        raise ProtocolError("dataset", "a steward is one of a dataset; other roles have none")


def _require_person(connection: Connection, name: str) -> None:
    if not has_row(connection, PEOPLE, name=name):
        raise not_found("person")


# Rate limiters: failed sign-ins and requests a minute, per client, in memory, bounded.
MOST_KEPT = 20_000
FREE_TRIES = 5
LONGEST_WAIT = 300.0


@dataclass
class SignInThrottle:
    """Exponential back-off per client: each failure doubles the wait, up to five minutes."""

    _failures: OrderedDict[Hashable, tuple[int, float]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def count_attempt(self, client: Hashable) -> None:
        """Count an attempt as a failure until `reset` clears it: concurrent attempts count, too.

        Raises:
            ProtocolAborted: they have to wait. Says for how long.
        """
        with self._lock:
            tries, until = self._failures.get(client, (0, 0.0))
            left = until - time.monotonic()
            if tries < FREE_TRIES or left <= 0:
                wait = min(2.0 ** min(max(tries + 1 - FREE_TRIES, 0), 60), LONGEST_WAIT)
                self._failures.pop(client, None)
                self._failures[client] = (tries + 1, time.monotonic() + wait)
                while len(self._failures) > MOST_KEPT:
                    self._failures.popitem(last=False)
                return
        raise ProtocolError("sign-in", f"too many wrong tries; try again in {left:.0f} seconds", 429)

    def reset(self, client: Hashable) -> None:
        """Clear the failures of a client that succeeded."""
        with self._lock:
            self._failures.pop(client, None)


SESSION_SECONDS = 12 * 3600
DAY = 24 * 3600
LONGEST_TOKEN = 366
"""Days that a token is good for."""
MOST_TOKENS = 100
UNKNOWN = "you are known there, and by no account here: an operator enters it first; or the account is locked"
WRONG = "this name and this password do not belong together, or the account is locked"


@dataclass(frozen=True, slots=True, repr=False)
class BrowserSession:
    """SECRET. A session that has begun. It has no repr.

    Attributes:
        cookie: What proves it from now on.
        csrf: What every form of the session carries.
        visitor: Who it is.
    """

    cookie: str
    csrf: str
    visitor: Visitor


@dataclass(frozen=True, slots=True)
class Token:
    """A token, without its secret.

    Attributes:
        id: Its name in lists and logs.
        project: What it is good for.
        label: What its owner calls it.
        made_at: When it was made.
        expires_at: When it ends, in seconds since 1970.
    """

    id: str
    project: str
    label: str
    made_at: str
    expires_at: int


class Sessions:
    """Sign-in by password, sessions of 12 hours, and sign-out."""

    def __init__(self, archive: Archive, passwords: PasswordHasherPool) -> None:
        self._archive, self._passwords, self._patience = archive, passwords, SignInThrottle()

    def sign_in(self, name: str, password: str, address: str) -> BrowserSession:
        """Begin a session of 12 hours.

        Who tries too often waits: that holds for a name from one address, so nobody can keep others from their account.

        Raises:
            ProtocolAborted: name and password do not belong together; all wrong ones have these words and this time.
        """
        key = (name[:200], address)
        self._patience.count_attempt(key)
        query = select(PEOPLE.c.password).where(PEOPLE.c.name == name)
        hashed = self._archive.read_snapshot(lambda connection: connection.execute(query).scalars().first())
        fits = self._passwords.verify_password(hashed, password)
        visitor = self._archive.read_snapshot(lambda connection: find_visitor(connection, name)) if fits else None
        if visitor is None:
            raise ProtocolError("sign-in", WRONG, 403)
        self._patience.reset(key)
        return self._begin_session(visitor)

    def begin_session(self, name: str) -> BrowserSession:
        """Begin a session of somebody whom another authority has recognised.

        Raises:
            ProtocolAborted: there is nobody of this name, or the account is locked.
        """
        visitor = self._archive.read_snapshot(lambda connection: find_visitor(connection, name))
        if visitor is None:
            raise ProtocolError("sign-in", WRONG, 403)
        return self._begin_session(visitor)

    def begin_for_subject(self, issuer: str, subject: str) -> BrowserSession:
        """Begin a session of whom another authority knows by this name. Nobody is made by it.

        Raises:
            ProtocolAborted: no account goes by it, or the account is locked: both have these words.
        """
        query = select(SUBJECTS.c.person).filter_by(issuer=issuer, subject=subject)
        name = self._archive.read_snapshot(lambda connection: connection.execute(query).scalars().first())
        visitor = (
            None if name is None else self._archive.read_snapshot(lambda connection: find_visitor(connection, name))
        )
        if visitor is None:
            raise ProtocolError("sign-in", UNKNOWN, 403)
        return self._begin_session(visitor, "signed in by another authority")

    def find(self, cookie: str) -> BrowserSession | None:
        """The session that a cookie proves, with what its person may do now; None: it has ended, or never was."""

        def find_session(connection: Connection) -> BrowserSession | None:
            row = connection.execute(select(SESSIONS).where(SESSIONS.c.digest == hash_secret(cookie))).first()
            if row is None or row.ends <= time.time():
                return None
            visitor = find_visitor(connection, row.person)
            return None if visitor is None else BrowserSession(cookie, row.csrf, visitor)

        return self._archive.read_snapshot(find_session)

    def sign_out(self, cookie: str) -> None:
        """End a session."""
        mine = SESSIONS.c.digest == hash_secret(cookie)
        self._archive.write(lambda connection: connection.execute(delete(SESSIONS).where(mine)).rowcount)

    def _begin_session(self, visitor: Visitor, action: str = "signed in") -> BrowserSession:
        cookie, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        ends = int(time.time()) + SESSION_SECONDS
        facts = {
            "digest": hash_secret(cookie),
            "person": visitor.name,
            "csrf": csrf,
            "made_at": format_now(),
            "ends": ends,
        }

        def insert_session(connection: Connection) -> None:
            connection.execute(delete(SESSIONS).where(SESSIONS.c.ends <= time.time()))
            connection.execute(insert(SESSIONS), facts)

        self._archive.run_logged(Event(visitor.name, action, visitor.name), insert_session)
        return BrowserSession(cookie, csrf, visitor)


class Tokens:
    """Secrets by which a program asks for one person in one project."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def make(self, who: Visitor, project: str, label: str, days: int) -> str:
        """A new token; it is shown this once.

        Raises:
            ProtocolAborted: they are not in the project, or the token would last for too long.
        """
        require(who, Right.KEEP_TOKENS, Subject(project=project))
        require_name("label", label)
        if not 1 <= days <= LONGEST_TOKEN:
            raise ProtocolError("days", f"a token lasts from 1 to {LONGEST_TOKEN} days")
        secret, name = secrets.token_urlsafe(32), secrets.token_hex(8)
        facts = {
            "digest": hash_secret(secret), "id": name, "person": who.name, "project": project, "label": label,
            "made_at": format_now(), "ends": int(time.time()) + days * DAY,
        }  # fmt: skip

        def insert_token(connection: Connection) -> None:
            if len(_find_tokens(connection, who.name)) >= MOST_TOKENS:
                raise ProtocolError("token", f"at most {MOST_TOKENS} are kept; take one back first", 409)
            connection.execute(insert(TOKENS), facts)

        self._archive.run_logged(Event(who.name, "made token", f"{name} for {project}"[:200]), insert_token)
        return secret

    def all(self, who: Visitor) -> tuple[Token, ...]:
        """Tokens of the visitor, without their secrets."""
        return self._archive.read_snapshot(lambda connection: _find_tokens(connection, who.name))

    def revoke(self, who: Visitor, token: str) -> None:
        """End a token of one's own. Raises `ProtocolError`: one has none of this name."""

        def delete_token(connection: Connection) -> None:
            mine = (TOKENS.c.id == token, TOKENS.c.person == who.name)
            if not connection.execute(delete(TOKENS).where(*mine)).rowcount:
                raise not_found("token")

        self._archive.run_logged(Event(who.name, "took back token", token[:200] or "none"), delete_token)

    def find(self, secret: str) -> Visitor | None:
        """Whom a token speaks for, in its project alone; None: it has ended, or never was."""

        def find_visitor_of_token(connection: Connection) -> Visitor | None:
            row = connection.execute(select(TOKENS).where(TOKENS.c.digest == hash_secret(secret))).first()
            if row is None or row.ends <= time.time():
                return None
            found = find_visitor(connection, row.person)
            if found is None:
                return None
            kept = found.projects & {row.project}
            return replace(
                found,
                is_operator=False,
                is_auditor=False,
                stewarded_datasets=frozenset(),
                projects=frozenset(kept),
                uses_token=True,
            )

        return self._archive.read_snapshot(find_visitor_of_token)


def hash_secret(secret: str) -> str:
    """The stored hash of a secret with enough entropy that nobody can guess it."""
    return sha256(secret.encode(errors="replace")).hexdigest()


def _find_tokens(connection: Connection, person: str) -> tuple[Token, ...]:
    rows = connection.execute(select(TOKENS).where(TOKENS.c.person == person).order_by(TOKENS.c.made_at)).all()
    return tuple(Token(row.id, row.project, row.label, row.made_at, row.ends) for row in rows)
