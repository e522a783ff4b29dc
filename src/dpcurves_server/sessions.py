"""Sessions of people and tokens of programs, of which hashes alone are stored; and rate limiters."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from threading import Lock

from sqlalchemy import Connection, delete, insert, select

from dpcurves.ledger import Event
from dpcurves.ledger.account import require_name
from dpcurves_parties.serving.messages import ProtocolAborted
from dpcurves_parties.serving.task_app import Rate as Rate

from .people import Passwords, visitor_of
from .store import PEOPLE, SESSIONS, SUBJECTS, TOKENS, Archive, now
from .visitors import Right, Subject, Visitor, require, unknown

# Rate limiters: failed sign-ins and requests a minute, per client, in memory, bounded.
MOST_KEPT = 20_000
FREE_TRIES = 5
LONGEST_WAIT = 300.0


@dataclass
class Patience:
    """Exponential back-off per client: each failure doubles the wait, up to five minutes."""

    _wrong: OrderedDict[Hashable, tuple[int, float]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def count(self, who: Hashable) -> None:
        """Count an attempt as a failure until `forget` clears it: concurrent attempts count, too.

        Raises:
            ProtocolAborted: they have to wait. Says for how long.
        """
        with self._lock:
            tries, until = self._wrong.get(who, (0, 0.0))
            left = until - time.monotonic()
            if tries < FREE_TRIES or left <= 0:
                wait = min(2.0 ** min(max(tries + 1 - FREE_TRIES, 0), 60), LONGEST_WAIT)
                self._wrong.pop(who, None)
                self._wrong[who] = (tries + 1, time.monotonic() + wait)
                while len(self._wrong) > MOST_KEPT:
                    self._wrong.popitem(last=False)
                return
        raise ProtocolAborted("sign-in", f"too many wrong tries; try again in {left:.0f} seconds", 429)

    def forget(self, who: Hashable) -> None:
        """Clear the failures of a client that succeeded."""
        with self._lock:
            self._wrong.pop(who, None)


SESSION_SECONDS = 12 * 3600
DAY = 24 * 3600
LONGEST_TOKEN = 366
"""Days that a token is good for."""
MOST_TOKENS = 100
UNKNOWN = "you are known there, and by no account here: an operator enters it first; or the account is locked"
WRONG = "this name and this password do not belong together, or the account is locked"


@dataclass(frozen=True, slots=True, repr=False)
class SignedIn:
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
        ends: When it ends, in seconds since 1970.
    """

    id: str
    project: str
    label: str
    made_at: str
    ends: int


class Sessions:
    """Signs people in and out."""

    def __init__(self, archive: Archive, passwords: Passwords) -> None:
        self._archive, self._passwords, self._patience = archive, passwords, Patience()

    def sign_in(self, name: str, password: str, address: str) -> SignedIn:
        """Begin a session of 12 hours.

        Who tries too often waits: that holds for a name from one address, so nobody can keep others from their account.

        Raises:
            ProtocolAborted: name and password do not belong together; all wrong ones have these words and this time.
        """
        key = (name[:200], address)
        self._patience.count(key)
        query = select(PEOPLE.c.password).where(PEOPLE.c.name == name)
        hashed = self._archive.read(lambda connection: connection.execute(query).scalars().first())
        fits = self._passwords.fits(hashed, password)
        visitor = self._archive.read(lambda connection: visitor_of(connection, name)) if fits else None
        if visitor is None:
            raise ProtocolAborted("sign-in", WRONG, 403)
        self._patience.forget(key)
        return self._begun(visitor)

    def begin(self, name: str) -> SignedIn:
        """Begin a session of somebody whom another authority has recognised.

        Raises:
            ProtocolAborted: there is nobody of this name, or the account is locked.
        """
        visitor = self._archive.read(lambda connection: visitor_of(connection, name))
        if visitor is None:
            raise ProtocolAborted("sign-in", WRONG, 403)
        return self._begun(visitor)

    def begin_as(self, issuer: str, subject: str) -> SignedIn:
        """Begin a session of whom another authority knows by this name. Nobody is made by it.

        Raises:
            ProtocolAborted: no account goes by it, or the account is locked: both have these words.
        """
        query = select(SUBJECTS.c.person).filter_by(issuer=issuer, subject=subject)
        name = self._archive.read(lambda connection: connection.execute(query).scalars().first())
        visitor = None if name is None else self._archive.read(lambda connection: visitor_of(connection, name))
        if visitor is None:
            raise ProtocolAborted("sign-in", UNKNOWN, 403)
        return self._begun(visitor, "signed in by another authority")

    def find(self, cookie: str) -> SignedIn | None:
        """The session that a cookie proves, with what its person may do now; None: it has ended, or never was."""

        def work(connection: Connection) -> SignedIn | None:
            row = connection.execute(select(SESSIONS).where(SESSIONS.c.digest == digest_of(cookie))).first()
            if row is None or row.ends <= time.time():
                return None
            visitor = visitor_of(connection, row.person)
            return None if visitor is None else SignedIn(cookie, row.csrf, visitor)

        return self._archive.read(work)

    def sign_out(self, cookie: str) -> None:
        """End a session."""
        mine = SESSIONS.c.digest == digest_of(cookie)
        self._archive.write(lambda connection: connection.execute(delete(SESSIONS).where(mine)).rowcount)

    def end_all(self, who: Visitor, name: str) -> None:
        """End all sessions of somebody, or one's own. Raises `ProtocolAborted`."""
        if who.name != name or who.by_token:
            require(who, Right.KEEP_PEOPLE)
        mine = SESSIONS.c.person == name
        event = Event(who.name, "ended all sessions of", name)
        self._archive.enter(event, lambda connection: connection.execute(delete(SESSIONS).where(mine)).rowcount)

    def _begun(self, visitor: Visitor, action: str = "signed in") -> SignedIn:
        cookie, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        ends = int(time.time()) + SESSION_SECONDS
        facts = {"digest": digest_of(cookie), "person": visitor.name, "csrf": csrf, "made_at": now(), "ends": ends}

        def work(connection: Connection) -> None:
            connection.execute(delete(SESSIONS).where(SESSIONS.c.ends <= time.time()))
            connection.execute(insert(SESSIONS), facts)

        self._archive.enter(Event(visitor.name, action, visitor.name), work)
        return SignedIn(cookie, csrf, visitor)


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
            raise ProtocolAborted("days", f"a token lasts from 1 to {LONGEST_TOKEN} days")
        secret, name = secrets.token_urlsafe(32), secrets.token_hex(8)
        facts = {
            "digest": digest_of(secret), "id": name, "person": who.name, "project": project, "label": label,
            "made_at": now(), "ends": int(time.time()) + days * DAY,
        }  # fmt: skip

        def work(connection: Connection) -> None:
            if len(_tokens(connection, who.name)) >= MOST_TOKENS:
                raise ProtocolAborted("token", f"at most {MOST_TOKENS} are kept; take one back first", 409)
            connection.execute(insert(TOKENS), facts)

        self._archive.enter(Event(who.name, "made token", f"{name} for {project}"[:200]), work)
        return secret

    def all(self, who: Visitor) -> tuple[Token, ...]:
        """Tokens of the visitor, without their secrets."""
        return self._archive.read(lambda connection: _tokens(connection, who.name))

    def take_back(self, who: Visitor, token: str) -> None:
        """End a token of one's own. Raises `ProtocolAborted`: one has none of this name."""

        def work(connection: Connection) -> None:
            mine = (TOKENS.c.id == token, TOKENS.c.person == who.name)
            if not connection.execute(delete(TOKENS).where(*mine)).rowcount:
                raise unknown("token")

        self._archive.enter(Event(who.name, "took back token", token[:200] or "none"), work)

    def find(self, secret: str) -> Visitor | None:
        """Whom a token speaks for, in its project alone; None: it has ended, or never was."""

        def work(connection: Connection) -> Visitor | None:
            row = connection.execute(select(TOKENS).where(TOKENS.c.digest == digest_of(secret))).first()
            if row is None or row.ends <= time.time():
                return None
            found = visitor_of(connection, row.person)
            if found is None:
                return None
            kept = found.projects & {row.project}
            return replace(
                found, operator=False, auditor=False, stewards=frozenset(), projects=frozenset(kept), by_token=True
            )

        return self._archive.read(work)


def digest_of(secret: str) -> str:
    """The stored hash of a secret with enough entropy that nobody can guess it."""
    return sha256(secret.encode(errors="replace")).hexdigest()


def _tokens(connection: Connection, person: str) -> tuple[Token, ...]:
    rows = connection.execute(select(TOKENS).where(TOKENS.c.person == person).order_by(TOKENS.c.made_at)).all()
    return tuple(Token(row.id, row.project, row.label, row.made_at, row.ends) for row in rows)
