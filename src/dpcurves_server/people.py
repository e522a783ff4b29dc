"""User accounts of a verification server: roles, passwords, sign-in, browser sessions and API tokens.

    People              accounts, roles and passwords (Argon2id)
    Sessions            sign-in by password, and browser sessions of 12 hours
    Tokens              API tokens of programs
    SignInThrottle      a growing wait after failed attempts to sign in

Cookies and tokens are stored as hashes only. This module holds no records.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b, sha256
from math import ceil
from threading import Lock

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import Connection, delete, insert, select, update

from dpcurves.ledger import Event
from dpcurves.ledger.account import LONGEST_ACCOUNT_NAME, require_name
from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_parties.serving.task_app import RateLimiter as RateLimiter

from .principals import Principal, Right, Role, Subject, not_found, require
from .store import Archive, format_now, has_row
from .tables import ADDRESSES, DATASETS, MEMBERS, PEOPLE, ROLES, SESSIONS, SUBJECTS, TOKENS

SHORTEST_PASSWORD = 12
"""Characters: the shortest password; a shorter one is refused when it is set."""
LONGEST_PASSWORD = 1000
"""Characters: the longest password. A longer one is refused when it is set, and cut at sign-in."""
MEMORY_KIBIBYTES = 19 * 1024
"""KiB of memory per Argon2id hash: OWASP's minimum configuration. More slows guessing, and sign-ins."""
HASH_PASSES = 2
"""Passes of Argon2id over its memory: OWASP's minimum configuration. More slow guessing, and sign-ins."""


class PasswordHasherPool:
    """Hashes and verifies passwords in a bounded thread pool."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher(time_cost=HASH_PASSES, memory_cost=MEMORY_KIBIBYTES, parallelism=1)
        self._pool = ThreadPoolExecutor(2, "password")  # a flood of sign-ins fills a queue instead of memory

    def hash_password(self, password: str) -> str:
        """Return the hash of a new password, computed in one of the pool's threads.

        Raises:
            ProtocolError: the password is too short or too long.
        """
        if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
            raise ProtocolError(
                "password", f"must have {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters; choose another password"
            )
        return self._pool.submit(self._hasher.hash, password).result()

    def verify_password(self, hashed: str | None, password: str) -> bool:
        """Return True if the password matches its hash; takes equally long for unknown accounts (None).

        Args:
            hashed: Stored hash of the password; None for an unknown account.
            password: Typed password; characters beyond `LONGEST_PASSWORD` are ignored.

        Raises:
            ProtocolError: Too many sign-ins are waiting.
        """
        if self._pool._work_queue.qsize() > 64:  # sign-ins in the queue
            raise ProtocolError("sign-in", "too many sign-ins at once; try again in a minute", 503)
        stored_hash = self._dummy_hash if hashed is None else hashed
        return (
            self._pool.submit(self._verify_hash, stored_hash, password[:LONGEST_PASSWORD]).result()
            and hashed is not None
        )

    def renew_hash(self, hashed: str, password: str) -> str | None:
        """Return a hash with today's settings of a verified password; None if its hash has them already.

        Args:
            hashed: Stored hash of the password.
            password: The verified password.
        """
        if not self._hasher.check_needs_rehash(hashed):
            return None
        return self._pool.submit(self._hasher.hash, password).result()

    def _verify_hash(self, hashed: str, password: str) -> bool:
        """Return True if a typed password matches a stored hash.

        Args:
            hashed: Stored hash of the password; an invalid hash gives False.
            password: Typed password.
        """
        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False

    @cached_property
    def _dummy_hash(self) -> str:
        """A hash to compare with when the account is unknown, so that timing does not reveal which accounts exist."""
        return self._hasher.hash("this is no one's")


OVERSIGHT_ROLES = frozenset({Role.STEWARD.value, Role.AUDITOR.value})
"""Roles that see questions and budgets; only the machine's administrator appoints them, not an operator."""


@dataclass(frozen=True, slots=True)
class Person:
    """An account with its roles and projects.

    Attributes:
        name: The name at sign-in.
        is_locked: Whether sign-in is disabled.
        is_operator: Whether the person is an operator.
        is_auditor: Whether the person is an auditor.
        stewarded_datasets: The datasets that the person manages as steward.
        projects: The projects in which the person is an analyst.
        made_at: Creation time of the account.
    """

    name: str
    is_locked: bool
    is_operator: bool
    is_auditor: bool
    stewarded_datasets: tuple[str, ...]
    projects: tuple[str, ...]
    made_at: str


class People:
    """The accounts: operators create and lock them; the machine's administrator appoints stewards and auditors.

    Args:
        archive: The server's database.
        passwords: Hashes and verifies passwords (Argon2id).
    """

    def __init__(self, archive: Archive, passwords: PasswordHasherPool) -> None:
        self._archive = archive
        self._passwords = passwords
        self._throttle = SignInThrottle()

    def add(self, who: Principal, name: str, password: str) -> None:
        """Create an account without roles.

        Args:
            who: The caller, an operator.
            name: Name of the account.
            password: First password of the account.

        Raises:
            ProtocolError: the caller may not do this, the name exists, or the password is too short.
        """
        require(who, Right.KEEP_PEOPLE)
        require_name("person", name)
        row = {
            "name": name,
            "password": self._passwords.hash_password(password),
            "locked": False,
            "made_at": format_now(),
        }

        def insert_person(connection: Connection) -> None:
            """Store the new account in the database.

            Args:
                connection: Connection in the write transaction.

            Raises:
                ProtocolError: the name is in use (status 409).
            """
            if has_row(connection, PEOPLE, name=name):
                raise ProtocolError("person", "this name is in use; choose another", 409)
            connection.execute(insert(PEOPLE), row)

        self._archive.run_logged(Event(who.name, "made person", name), insert_person)

    def set_password(self, who: Principal, name: str, password: str, old_password: str = "") -> None:
        """Set the password of an account, or one's own. All sessions and tokens of the account end.

        Args:
            who: An operator, the machine, or the person.
            name: The account.
            password: The new password.
            old_password: The old one, which persons give for their own account: a session left open is not enough.

        Raises:
            ProtocolError: The principal may not, the account does not exist, the password is too short, the old one is
                wrong, or the account is a steward's or an auditor's and the principal is not the machine.
        """
        is_own = who.name == name and not who.uses_token and not who.is_machine
        if is_own:
            self._require_password(name, old_password)
        else:
            require(who, Right.KEEP_PEOPLE)
        changes = {"password": self._passwords.hash_password(password)}

        def update_password(connection: Connection) -> None:
            """Store the hash of the account's new password, and end all sessions and tokens of the account.

            Args:
                connection: Connection in the write transaction.

            Raises:
                ProtocolError: no account has the name, or the caller may not change it.
            """
            _require_person(connection, name)
            if not is_own and OVERSIGHT_ROLES & _find_roles(connection, name):
                require(who, Right.NAME_KEEPERS)
            _update_person(connection, name, changes)

        self._archive.run_logged(Event(who.name, "gave a new password to", name), update_password)

    def _require_password(self, name: str, password: str) -> None:
        """Refuse a wrong password of a signed-in person, and guesses of it that follow each other fast.

        Args:
            name: Name of the signed-in person's account.
            password: Typed present password.

        Raises:
            ProtocolError: The password is wrong, or the person must wait.
        """
        self._throttle.count_attempt(name)
        query = select(PEOPLE.c.password).where(PEOPLE.c.name == name)
        hashed = self._archive.read_snapshot(lambda connection: connection.execute(query).scalars().first())
        if not self._passwords.verify_password(hashed, password):
            raise ProtocolError("old password", "wrong; type the password that you signed in with", 403)
        self._throttle.reset(name)

    def set_subject(self, who: Principal, name: str, issuer: str, subject: str) -> None:
        """Link an account to a subject of an identity provider. All sessions and tokens of the account end.

        Args:
            who: An operator, or the machine.
            name: An existing account.
            issuer: The issuer URL, exactly as the provider states it.
            subject: The subject identifier there; empty removes the link.

        Raises:
            ProtocolError: The principal may not, the account does not exist, another account has the subject, or the
                account is a steward's or an auditor's and the principal is not the machine.
        """
        require(who, Right.KEEP_PEOPLE)
        for text in (issuer, *([subject] if subject else [])):
            require_name("subject", text)
        identity = {"issuer": issuer, "subject": subject}

        def replace_subject(connection: Connection) -> None:
            """Replace the identity (subject) of the account at this identity provider, and end its sessions.

            Args:
                connection: Connection in the write transaction.

            Raises:
                ProtocolError: another account has this subject, or the caller may not change this account.
            """
            _require_person(connection, name)
            if OVERSIGHT_ROLES & _find_roles(connection, name):
                require(who, Right.NAME_KEEPERS)
            connection.execute(delete(SUBJECTS).filter_by(issuer=issuer, person=name))
            if subject and has_row(connection, SUBJECTS, **identity):
                raise ProtocolError(
                    "subject", "another account has this subject; remove it there first, or use that account", 409
                )
            if subject:
                connection.execute(insert(SUBJECTS), {**identity, "person": name})
            _end_sessions(connection, name)

        self._archive.run_logged(Event(who.name, "said who is, to an issuer,", name), replace_subject)

    def lock(self, who: Principal, name: str) -> None:
        """Lock an account: it cannot sign in, and its sessions and API tokens end. An audit event is written.

        Args:
            who: The caller: an operator, or the machine.
            name: Name of the account.

        Raises:
            ProtocolError: The caller is no operator, the account does not exist, or it is the caller's own.
        """
        require(who, Right.KEEP_PEOPLE)
        if who.name == name:
            raise ProtocolError("person", "you cannot lock your own account; ask another operator", 409)
        self._set_locked(who, name, "locked", {"locked": True})

    def unlock(self, who: Principal, name: str) -> None:
        """Unlock an account, so that it can sign in again; its old sessions and tokens stay ended.

        Args:
            who: The caller.
            name: Name of the account.

        Raises:
            ProtocolError: The caller is neither an operator nor the machine, or the account does not exist.
        """
        require(who, Right.KEEP_PEOPLE)
        self._set_locked(who, name, "unlocked", {"locked": False})

    def give_role(self, who: Principal, name: str, role: Role, dataset: str = "") -> None:
        """Make an account operator, auditor, or steward of a dataset. Analysts are added to projects instead.

        Args:
            who: The caller.
            name: Name of the account.
            role: The role.
            dataset: Name of the dataset, for a steward; empty for other roles.

        Raises:
            ProtocolError: the caller may not do this, the account does not exist, the role cannot be given here, or the
                account would combine operator with steward or auditor.
        """
        _require_may_assign(who, role)
        _require_assignable(role, dataset)

        def insert_role(connection: Connection) -> None:
            """Store the role of the account, unless it has the role already.

            Args:
                connection: Connection in the write transaction.

            Raises:
                ProtocolError: the data set does not exist, or the account would combine operator with steward or
                    auditor.
            """
            _require_person(connection, name)
            if role is Role.STEWARD and not has_row(connection, DATASETS, name=dataset):
                raise not_found("dataset")
            roles = {*_find_roles(connection, name), role.value}
            for keeper in sorted(OVERSIGHT_ROLES & roles if Role.OPERATOR.value in roles else ()):
                raise ProtocolError("role", f"an account cannot be both operator and {keeper}; use two accounts", 409)
            assignment = {"person": name, "role": role.value, "dataset": dataset}
            if not has_row(connection, ROLES, **assignment):
                connection.execute(insert(ROLES), assignment)

        self._archive.run_logged(Event(who.name, f"gave role {role.value}", name, dataset), insert_role)

    def remove_role(self, who: Principal, name: str, role: Role, dataset: str = "") -> None:
        """Take a role from an account, and write an audit event.

        Args:
            who: The caller.
            name: Name of the account.
            role: The role.
            dataset: Name of the dataset, for a steward; empty for other roles.

        Raises:
            ProtocolError: the caller may not do this, or the account does not exist.
        """
        _require_may_assign(who, role)
        _require_assignable(role, dataset)

        def delete_role(connection: Connection) -> None:
            """Delete the row that gives the account this role, in the transaction of `connection`."""
            _require_person(connection, name)
            connection.execute(delete(ROLES).filter_by(person=name, role=role.value, dataset=dataset))

        self._archive.run_logged(Event(who.name, f"took role {role.value}", name, dataset), delete_role)

    def all(self, who: Principal) -> tuple[Person, ...]:
        """Return all accounts with their roles, sorted by name, for operators.

        Args:
            who: The caller.

        Raises:
            ProtocolError: The caller is neither an operator nor the machine.
        """
        require(who, Right.KEEP_PEOPLE)

        def select_people(connection: Connection) -> tuple[Person, ...]:
            """Return all accounts with their roles from the database, sorted by name.

            Args:
                connection: Connection in a transaction.

            Returns:
                Accounts with their roles.
            """
            rows = connection.execute(select(PEOPLE).order_by(PEOPLE.c.name)).all()
            return tuple(_load_person(connection, row.name, row.locked, row.made_at) for row in rows)

        return self._archive.read_snapshot(select_people)

    def _set_locked(self, who: Principal, name: str, action: str, changes: Mapping[str, object]) -> None:
        """Lock or unlock an account, end its sessions and tokens, and log the action.

        Args:
            who: Caller, who is named in the log.
            name: Name of the account.
            action: Word for the log.
            changes: New values by column.
        """

        def update_lock(connection: Connection) -> None:
            """Store in the database whether the account is locked.

            Args:
                connection: Connection in the write transaction.

            Raises:
                ProtocolError: no account has the name (status 404).
            """
            _require_person(connection, name)
            _update_person(connection, name, changes)

        self._archive.run_logged(Event(who.name, action, name), update_lock)


def find_principal(connection: Connection, name: str) -> Principal | None:
    """Return an account as a principal (who acts, with which rights); None if it is locked or does not exist.

    Args:
        connection: A connection in a transaction.
        name: Name of the account.
    """
    person = connection.execute(select(PEOPLE.c.locked).where(PEOPLE.c.name == name)).first()
    if person is None or person.locked:
        return None
    account = _load_person(connection, name, False, "")
    return Principal(
        name,
        account.is_operator,
        account.is_auditor,
        frozenset(account.stewarded_datasets),
        frozenset(account.projects),
    )


def _load_person(connection: Connection, name: str, locked: bool, made_at: str) -> Person:
    """Return an account with its roles, stewarded datasets and projects, from the database.

    Args:
        connection: Connection to the server's database.
        name: Name of the account.
        locked: Whether the account may not sign in.
        made_at: When the account was made.
    """
    assignments = connection.execute(select(ROLES.c.role, ROLES.c.dataset).where(ROLES.c.person == name)).all()
    projects = connection.execute(select(MEMBERS.c.project).where(MEMBERS.c.person == name)).scalars()
    roles = {row.role for row in assignments}
    stewards = tuple(sorted(row.dataset for row in assignments if row.role == Role.STEWARD.value))
    is_operator, is_auditor = (role.value in roles for role in (Role.OPERATOR, Role.AUDITOR))
    return Person(name, bool(locked), is_operator, is_auditor, stewards, tuple(sorted(projects)), made_at)


def _update_person(connection: Connection, name: str, changes: Mapping[str, object]) -> None:
    """Change an account, and end all of its sessions and tokens.

    Args:
        connection: Connection in a transaction.
        name: Name of the account.
        changes: New values by column.
    """
    connection.execute(update(PEOPLE).where(PEOPLE.c.name == name).values(**changes))
    _end_sessions(connection, name)


def _end_sessions(connection: Connection, name: str) -> None:
    """End all sessions and revoke all tokens of an account.

    Args:
        connection: Connection in the write transaction.
        name: Name of the account.
    """
    for table in (SESSIONS, TOKENS):
        connection.execute(delete(table).where(table.c.person == name))


def _find_roles(connection: Connection, name: str) -> set[str]:
    """Return the names of the roles that an account has.

    Args:
        connection: Connection in a transaction.
        name: Name of the account.

    Returns:
        Values of `Role`; empty without roles or for an unknown account.
    """
    return set(connection.execute(select(ROLES.c.role).where(ROLES.c.person == name)).scalars())


def _require_may_assign(who: Principal, role: Role) -> None:
    """Check that the caller may assign a role.

    Args:
        who: The caller.
        role: Role to assign.

    Raises:
        ProtocolError: the caller may not assign this role.
    """
    require(who, Right.KEEP_PEOPLE)
    if role.value in OVERSIGHT_ROLES:
        require(who, Right.NAME_KEEPERS)


def _require_assignable(role: Role, dataset: str) -> None:
    """Check that a role can be assigned by operators, and that a data set is named exactly for a steward.

    Args:
        role: The role.
        dataset: Name of the data set; empty: none.

    Raises:
        ProtocolError: the role is analyst, or the data set is missing or superfluous.
    """
    if role is Role.ANALYST:
        raise ProtocolError(
            "role", "only the steward of the dataset adds analysts, on the page of the project; choose another role"
        )
    if (role is Role.STEWARD) != bool(dataset):
        raise ProtocolError("dataset", "name the dataset for a steward; leave it empty for other roles")


def _require_person(connection: Connection, name: str) -> None:
    """Raise `ProtocolError` (not found) if there is no account of this name.

    Args:
        connection: Connection in a transaction.
        name: Name of the account.
    """
    if not has_row(connection, PEOPLE, name=name):
        raise not_found("person")


# Rate limiter of failed sign-ins, per client, in bounded memory.
FREE_TRIES = 5
"""Failed sign-ins under one name from one address before the back-off: then each doubles the wait, up to 300
seconds."""
FREE_TRIES_OF_NAME = 20
"""Failed sign-ins under one name, from all addresses that it never signed in from, before the same back-off begins."""
LOGGED_PER_MINUTE = 60
"""Failed sign-ins per minute with a line each in the log, so that a flood does not fill it; the next line has the
number of others."""
UNKNOWN_NAME = "unknown name"
"""Text in the log in the place of the name of a failed sign-in if no account has it: people type passwords into that
field."""


THROTTLED_CLIENTS = 2**16
"""Number of counters of failed sign-ins, which bounds memory. Clients share one by a secret hash, so that a flood of
others pushes no failure out."""
HALVING_SECONDS = 3600.0
"""Seconds after a wait in which half of a client's failed sign-ins are forgotten; longer means longer waits later."""


@dataclass
class SignInThrottle:
    """Exponential back-off per client: each failure doubles the wait, up to five minutes.

    Attributes:
        free_tries: Failures before the back-off begins.
    """

    free_tries: int = FREE_TRIES
    _failures: dict[int, tuple[int, float]] = field(default_factory=dict)
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    _lock: Lock = field(default_factory=Lock)

    def count_attempt(self, client: Hashable) -> None:
        """Count an attempt as a failure until `reset` clears it: concurrent attempts count, too.

        Args:
            client: Name of an account, or network address of a sender.

        Raises:
            ProtocolError: The client must wait; the message states for how long.
        """
        counter = self._find_counter(client)
        with self._lock:
            tries, blocked_until = self._failures.get(counter, (0, 0.0))
            remaining = blocked_until - time.monotonic()
            tries >>= int(min(max(-remaining, 0.0) / HALVING_SECONDS, 64))
            if tries < self.free_tries or remaining <= 0:
                wait = min(2.0 ** min(max(tries + 1 - self.free_tries, 0), 60), 300.0)  # seconds
                self._failures[counter] = (tries + 1, time.monotonic() + wait)
                return
        raise ProtocolError("sign-in", f"too many failed attempts; try again in {ceil(remaining)} seconds", 429)

    def reset(self, client: Hashable) -> None:
        """Forget the failed sign-ins of a client that has signed in.

        Args:
            client: Name of an account, or network address of a sender.
        """
        with self._lock:
            self._failures.pop(self._find_counter(client), None)

    def _find_counter(self, client: Hashable) -> int:
        """Return the number of the counter of a client's failed sign-ins: a keyed hash, so that nobody can choose to
        collide.
        """
        digest = blake2b(repr(client).encode(errors="surrogatepass"), key=self._key, digest_size=8).digest()
        return int.from_bytes(digest) % THROTTLED_CLIENTS


UNKNOWN_IDENTITY = "no account here is linked to your identity, or the account is locked; ask an operator"
"""Refusal of a sign-in at the identity provider; it does not tell an unknown identity from a locked account."""
WRONG_PASSWORD = "wrong name or password, or the account is locked; try again, or ask an operator"
"""Refusal of a sign-in by password; it tells nobody which names exist or are locked."""


@dataclass(frozen=True, slots=True, repr=False)
class BrowserSession:
    """SECRET. A signed-in session. It has no repr, so that logs cannot show its cookie.

    Attributes:
        cookie: The session cookie.
        csrf: The CSRF token in every form of the session.
        principal: The signed-in principal.
    """

    cookie: str
    csrf: str
    principal: Principal


@dataclass(frozen=True, slots=True)
class Token:
    """An API token without its secret.

    Attributes:
        id: The identifier in lists and logs.
        project: The only project in which it is valid.
        label: The owner's label.
        made_at: Creation time.
        expires_at: Expiry in seconds since 1970.
    """

    id: str
    project: str
    label: str
    made_at: str
    expires_at: int


class FailureLog:
    """Log lines of failed sign-ins, at most `LOGGED_PER_MINUTE`: a flood of guesses does not fill the log."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._rate = RateLimiter(LOGGED_PER_MINUTE)
        self._unlogged = 0
        self._lock = Lock()

    def log(self, name: str) -> None:
        """Write a failed sign-in to the audit log, at a limited rate; the next entry states how many were left out.

        Args:
            name: Name of the account; `UNKNOWN_NAME` if no account has the typed name.
        """
        with self._lock:
            try:
                self._rate.count_requests("all")
            except ProtocolError:
                self._unlogged += 1
                return
            unlogged = self._unlogged
            self._unlogged = 0
        subject = f"{name}, after {unlogged} without a line" if unlogged else name
        event = Event(name, "failed to sign in", subject[:LONGEST_ACCOUNT_NAME])
        self._archive.run_logged(event, lambda connection: None)


def _remember_sign_in(connection: Connection, name: str, digest: str, hashed: str, renewed: str | None) -> int:
    """Store the address of a sign-in, and a renewed hash of the password, unless the password was changed meanwhile.

    Args:
        connection: Open transaction of the database.
        name: Name of the account.
        digest: Hash of the client's address; the 20 latest of an account are stored.
        hashed: Hash of the password when the person signed in.
        renewed: New hash of the same password; None: the stored one stays.

    Returns:
        1: the number of changed rows, never 0.
    """
    connection.execute(delete(ADDRESSES).filter_by(person=name, digest=digest))
    newest = select(ADDRESSES.c.digest).filter_by(person=name).order_by(ADDRESSES.c.seen.desc())
    most_addresses = 20  # addresses remembered of a person; the address seen longest ago is forgotten
    for old in connection.execute(newest).scalars().all()[most_addresses - 1 :]:
        connection.execute(delete(ADDRESSES).filter_by(person=name, digest=old))
    connection.execute(insert(ADDRESSES), {"person": name, "digest": digest, "seen": int(time.time())})
    if renewed is not None:
        is_same = (PEOPLE.c.name == name, PEOPLE.c.password == hashed)
        connection.execute(update(PEOPLE).where(*is_same).values(password=renewed))
    return 1


class Sessions:
    """Sign-in by password, browser sessions of 12 hours, and sign-out.

    Args:
        archive: The server's database, which holds hashes of the cookies only.
        passwords: Verifies passwords (Argon2id).
    """

    def __init__(self, archive: Archive, passwords: PasswordHasherPool) -> None:
        self._archive = archive
        self._passwords = passwords
        self._patience = SignInThrottle()
        self._patience_of_names = SignInThrottle(FREE_TRIES_OF_NAME)
        self._failures = FailureLog(archive)

    def sign_in(self, name: str, password: str, address: str) -> BrowserSession:
        """Begin a session of 12 hours, by name and password.

        Failed attempts are throttled per name and address. They are also throttled per name over all addresses from
        which no sign-in under this name succeeded, whether the name exists or not. So strangers cannot lock out a
        person who comes from a known address.

        Args:
            name: Name of the account.
            password: The typed password.
            address: Network address of the browser.

        Raises:
            ProtocolError: wrong name or password, or a locked account: all give the same message in the same time.
        """
        key = (name[:200], address)
        digest = hash_secret(f"{name}\n{address}")
        self._patience.count_attempt(key)
        query = select(PEOPLE.c.password).where(PEOPLE.c.name == name)
        hashed, is_known_address = self._archive.read_snapshot(
            lambda connection: (
                connection.execute(query).scalars().first(),
                has_row(connection, ADDRESSES, person=name[:LONGEST_ACCOUNT_NAME], digest=digest),
            )
        )
        if not is_known_address:
            self._patience_of_names.count_attempt(key[0])
        is_verified = self._passwords.verify_password(hashed, password)
        principal = (
            self._archive.read_snapshot(lambda connection: find_principal(connection, name)) if is_verified else None
        )
        if principal is None or hashed is None:
            self._failures.log(UNKNOWN_NAME if hashed is None else name)
            raise ProtocolError("sign-in", WRONG_PASSWORD, 403)
        self._patience.reset(key)
        if not is_known_address:
            self._patience_of_names.reset(key[0])
        renewed = self._passwords.renew_hash(hashed, password)
        self._archive.write(lambda connection: _remember_sign_in(connection, name, digest, hashed, renewed))
        return self._begin_session(principal)

    def begin_session(self, name: str) -> BrowserSession:
        """Begin a session of an account without asking for a password: the caller has authenticated the person.

        Args:
            name: Name of the account.

        Raises:
            ProtocolError: The account does not exist, or is locked; both give the same message.
        """
        principal = self._archive.read_snapshot(lambda connection: find_principal(connection, name))
        if principal is None:
            raise ProtocolError("sign-in", WRONG_PASSWORD, 403)
        return self._begin_session(principal)

    def begin_for_subject(self, issuer: str, subject: str) -> BrowserSession:
        """Begin a session of the account that is linked to a person at an identity provider (OpenID Connect).

        No account is created for an unknown person.

        Args:
            issuer: The provider's issuer URL, as in the verified ID token.
            subject: The person's identifier there (``sub`` of the ID token).

        Raises:
            ProtocolError: No account is linked to the subject, or it is locked; both give the same message.
        """
        query = select(SUBJECTS.c.person).filter_by(issuer=issuer, subject=subject)
        name = self._archive.read_snapshot(lambda connection: connection.execute(query).scalars().first())
        principal = (
            None if name is None else self._archive.read_snapshot(lambda connection: find_principal(connection, name))
        )
        if principal is None:
            raise ProtocolError("sign-in", UNKNOWN_IDENTITY, 403)
        return self._begin_session(principal, "signed in by another authority")

    def find(self, cookie: str) -> BrowserSession | None:
        """Return the session of a cookie, with the account's present roles.

        Returns:
            The session; None if no session has this cookie, the session has ended, or the account is locked.
        """

        def find_session(connection: Connection) -> BrowserSession | None:
            """Return the session with the account's current roles; None if it has ended or the account is locked.

            Args:
                connection: Connection in a transaction.
            """
            row = connection.execute(select(SESSIONS).where(SESSIONS.c.digest == hash_secret(cookie))).first()
            if row is None or row.ends <= time.time():
                return None
            principal = find_principal(connection, row.person)
            return None if principal is None else BrowserSession(cookie, row.csrf, principal)

        return self._archive.read_snapshot(find_session)

    def sign_out(self, cookie: str) -> None:
        """End the session with this cookie; no error if no session has it."""
        ended = delete(SESSIONS).where(SESSIONS.c.digest == hash_secret(cookie))
        self._archive.write(lambda connection: connection.execute(ended).rowcount)

    def _begin_session(self, principal: Principal, action: str = "signed in") -> BrowserSession:
        """Store a session of 12 hours under the hash of a new cookie, log it, and return it.

        Args:
            principal: The person who has signed in.
            action: Action in the audit log's event.

        Returns:
            The session, with the secret cookie and the token against cross-site requests.
        """
        cookie = secrets.token_urlsafe(32)
        csrf = secrets.token_urlsafe(32)
        # 12 * 3600 seconds: lifetime of a browser session
        ends = int(time.time()) + 12 * 3600
        row = {
            "digest": hash_secret(cookie),
            "person": principal.name,
            "csrf": csrf,
            "made_at": format_now(),
            "ends": ends,
        }

        def insert_session(connection: Connection) -> None:
            """Delete ended sessions of all accounts, and store the new session.

            Args:
                connection: Connection in the write transaction.
            """
            connection.execute(delete(SESSIONS).where(SESSIONS.c.ends <= time.time()))
            connection.execute(insert(SESSIONS), row)

        self._archive.run_logged(Event(principal.name, action, principal.name), insert_session)
        return BrowserSession(cookie, csrf, principal)


class Tokens:
    """API tokens (bearer tokens): each lets a program act for one person in one project, until it expires.

    Args:
        archive: The server's database, which holds hashes of the secrets only.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def make(self, who: Principal, project: str, label: str, days: int) -> str:
        """Create a token, and return its secret, which is not stored.

        Args:
            who: The caller, an analyst of the project.
            project: The project to which the token is restricted.
            label: A name by which its owner recognises the token.
            days: Lifetime in days, 1 to 366.

        Returns:
            The secret, to be sent as a bearer token; it cannot be shown again.

        Raises:
            ProtocolError: the caller is not an analyst of the project, has 100 tokens, or `days` is out of range.
        """
        require(who, Right.KEEP_TOKENS, Subject(project=project))
        require_name("label", label)
        longest_token = 366  # days: the longest lifetime of a token
        if not 1 <= days <= longest_token:
            raise ProtocolError("days", f"must be 1 to {longest_token} days, as in 90")
        secret = secrets.token_urlsafe(32)
        name = secrets.token_hex(8)
        # 24 * 3600: seconds in a day
        row = {
            "digest": hash_secret(secret), "id": name, "person": who.name, "project": project, "label": label,
            "made_at": format_now(), "ends": int(time.time()) + days * 24 * 3600,
        }  # fmt: skip

        def insert_token(connection: Connection) -> None:
            """Store the hash of a new token, if the account does not have too many tokens.

            Args:
                connection: Connection in the write transaction.

            Raises:
                ProtocolError: the account has too many tokens (status 409).
            """
            most_tokens = 100  # tokens per account
            if len(_find_tokens(connection, who.name)) >= most_tokens:
                raise ProtocolError("token", f"an account has at most {most_tokens} tokens; revoke one first", 409)
            connection.execute(insert(TOKENS), row)

        self._archive.run_logged(Event(who.name, "made token", f"{name} for {project}"[:200]), insert_token)
        return secret

    def all(self, who: Principal) -> tuple[Token, ...]:
        """Return the caller's own tokens, without their secrets; empty without tokens.

        Args:
            who: The caller.

        Returns:
            Tokens in the order of their creation, expired tokens included.
        """
        return self._archive.read_snapshot(lambda connection: _find_tokens(connection, who.name))

    def revoke(self, who: Principal, token: str) -> None:
        """Revoke one of the caller's tokens, and write an audit event.

        Args:
            who: The caller.
            token: Id of the token.

        Raises:
            ProtocolError: the caller has no token of this id (status 404).
        """

        def delete_token(connection: Connection) -> None:
            """Delete the token.

            Args:
                connection: Connection in the write transaction.

            Raises:
                ProtocolError: the caller has no token of this id (status 404).
            """
            is_own_token = (TOKENS.c.id == token, TOKENS.c.person == who.name)
            if not connection.execute(delete(TOKENS).where(*is_own_token)).rowcount:
                raise not_found("token")

        self._archive.run_logged(Event(who.name, "took back token", token[:200] or "none"), delete_token)

    def find(self, secret: str) -> Principal | None:
        """Return the person for whom a token acts, with rights in the token's project only.

        Args:
            secret: The secret of the token.

        Returns:
            The principal; None if the token is unknown or has expired, or the account is locked.
        """

        def find_principal_of_token(connection: Connection) -> Principal | None:
            """Return the token's person with rights in its project only; None if it has expired.

            Args:
                connection: Connection in a transaction.
            """
            row = connection.execute(select(TOKENS).where(TOKENS.c.digest == hash_secret(secret))).first()
            if row is None or row.ends <= time.time():
                return None
            principal = find_principal(connection, row.person)
            if principal is None:
                return None
            projects = principal.projects & {row.project}
            return replace(
                principal,
                is_operator=False,
                is_auditor=False,
                stewarded_datasets=frozenset(),
                projects=frozenset(projects),
                uses_token=True,
            )

        return self._archive.read_snapshot(find_principal_of_token)


def hash_secret(secret: str) -> str:
    """Hash a random secret for storage; its entropy makes a slow hash unnecessary."""
    return sha256(secret.encode(errors="replace")).hexdigest()


def _find_tokens(connection: Connection, person: str) -> tuple[Token, ...]:
    """Return a person's tokens in the order of their creation.

    Args:
        connection: Connection in a transaction.
        person: Name of the account.

    Returns:
        Tokens without their secrets, expired tokens included; empty without tokens.
    """
    rows = connection.execute(select(TOKENS).where(TOKENS.c.person == person).order_by(TOKENS.c.made_at)).all()
    return tuple(Token(row.id, row.project, row.label, row.made_at, row.ends) for row in rows)
