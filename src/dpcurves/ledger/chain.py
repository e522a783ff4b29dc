"""The hash chain of entries: the tables of a ledger, the secret key that authenticates them, and transactions."""

from __future__ import annotations

import hmac
import json
import os
import secrets
import sqlite3
import weakref
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sql
from sqlalchemy.exc import DisconnectionError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.schema import CreateIndex, CreateTable, SchemaItem

from ..arguments import InvalidArgument

if TYPE_CHECKING:
    from cryptography.fernet import Fernet


def publish_file(path: Path, write: Callable[[Path], object]) -> bool:
    """Let `write` fill a draft, then give it its name; if another process was first, its file stays.

    Returns:
        Whether it is this file that has the name.

    Raises:
        OSError: the folder takes no file, or no links.
    """
    with write_draft(path, write) as draft:
        return link_draft(draft, path)


@contextmanager
def write_draft(path: Path, write: Callable[[Path], object]) -> Iterator[Path]:
    """A draft of what will be at `path`, filled by `write` and on disk; it is removed in the end.

    Raises:
        OSError: the folder takes no file.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        write(draft)
        _sync(draft, os.O_RDWR)
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def link_draft(draft: Path, path: Path) -> bool:
    """Give a draft its name, unless that is taken. Whether it has the name.

    A link is made in one step and fails if the name is taken: nobody ever sees half a file, or two of them.
    """
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        if os.name == "posix":
            # The name is as precious as the contents: without it a power failure would forget what was spent.
            _sync(path.parent, os.O_RDONLY)
    return True


def _sync(path: Path, mode: int) -> None:
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


VARIABLE = "DPCURVES_LEDGER_KEY"
SIZE = 32
_OF_STATES = b"dpcurves: states of streams"

Fact = str | int | float | bytes | None


class Key:
    """A secret of at least 32 bytes. It seals facts with HMAC-SHA256 and is never shown.

    Raises:
        ValueError: the secret is shorter.

    >>> key = Key(bytes(32))
    >>> key, key.seal("grant", 1) == key.seal("grant", "1")
    (Key(...), False)
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) < SIZE:
            raise InvalidArgument("key", f"at least {SIZE} bytes are needed, got {len(secret)}")
        self._secret = bytes(secret)

    @classmethod
    def generate(cls) -> Key:
        """A new key that nobody has seen."""
        return cls(secrets.token_bytes(SIZE))

    @classmethod
    def from_hex(cls, text: str, place: str) -> Key:
        """The key that is written at `place`.

        Raises:
            ValueError: it is no key. What is written there is not shown.
        """
        try:
            return cls(bytes.fromhex(text.strip()))
        except ValueError:
            trouble = f"at least {2 * SIZE} hexadecimal digits are needed in {place}"
        raise InvalidArgument("key", trouble)

    @property
    def identity(self) -> str:
        """The public identifier of this key; it tells nothing else about it."""
        return self.seal("key")

    def seal(self, *facts: Fact) -> str:
        """A message authentication code of the facts, their order and their types."""
        # No two lists of facts share a text, whatever types an editor has put into a column.
        said = json.dumps(facts, separators=(",", ":"), default=lambda raw: {"bytes": raw.hex()})
        return hmac.digest(self._secret, said.encode(), "sha256").hex()

    def derive_dataset_key(self, dataset: str) -> bytes:
        """The 32 bytes that belong to one dataset: they tell nothing about the key, or about those of others."""
        return bytes.fromhex(self.seal("key of dataset", dataset))

    def encrypt(self, secret: bytes) -> str:
        """Encrypt what nobody may read or change without the key: Fernet, under a key that is derived from this one."""
        return self._cipher().encrypt(secret).decode()

    def decrypt(self, token: object) -> bytes:
        """Decrypt.

        Raises:
            ValueError: it was changed, or encrypted under another key.
        """
        from cryptography.fernet import InvalidToken

        with suppress(InvalidToken, ValueError):
            # What follows after its last character would be read over.
            if isinstance(token, str) and urlsafe_b64encode(urlsafe_b64decode(token)) == token.encode():
                return self._cipher().decrypt(token)
        raise InvalidArgument("ledger", "the state of a stream was changed without the key")

    def is_valid_seal(self, seal: object, *facts: Fact) -> bool:
        """Tell whether `seal` was made of these facts under this key."""
        return isinstance(seal, str) and hmac.compare_digest(seal.encode(errors="replace"), self.seal(*facts).encode())

    def __repr__(self) -> str:
        return "Key(...)"

    def _cipher(self) -> Fernet:
        from cryptography.fernet import Fernet
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        derived = HKDF(SHA256(), length=32, salt=None, info=_OF_STATES).derive(self._secret)
        return Fernet(urlsafe_b64encode(derived))


def find_key(given: bytes | None, otherwise: Callable[[], Key]) -> Key:
    """The key that was given, else the one in the environment, else the one that the ledger's place provides."""
    if given is not None:
        return Key(given)
    text = os.environ.get(VARIABLE)
    return Key.from_hex(text, VARIABLE) if text else otherwise()


def read_key(path: Path) -> Key:
    """The key that was written beside a ledger.

    Raises:
        ValueError: it is not there, or is no key.
    """
    try:
        text = path.read_bytes().decode(errors="replace")
    except OSError as error:
        raise InvalidArgument(
            "key", f"{str(path)!r} cannot be read ({error.strerror}); give the key of the ledger"
        ) from None
    return Key.from_hex(text, repr(str(path)))


def make_key(path: Path) -> Key:
    """A new key, written where nobody but its owner may read it; if there is one already, that one.

    Raises:
        ValueError: the folder takes no file.
    """
    write_key(path, generate_key_digits())
    return read_key(path)


def generate_key_digits() -> str:
    """A new key that nobody has seen, as it is written."""
    return secrets.token_hex(SIZE)


def write_key(path: Path, digits: str) -> bool:
    """Write a key where nobody but its owner may read it, unless there is one. Whether it is this one that is there.

    Raises:
        ValueError: the folder takes no file.
    """
    try:
        return publish_file(path, lambda draft: draft.write_text(digits + "\n"))
    except OSError as error:
        raise InvalidArgument("key", f"{str(path)!r} cannot be written ({error.strerror})") from None


# The tables of a ledger.
#
# Seven tables hold entries: facts that are written once, numbered 1, 2, 3, ... across all of them, each sealed
# together with the one before it. Three things change, and are sealed on their own: what an account or an allowance
# has spent, the secret state of a stream, and the book, which says how many entries there are and how the last one is
# sealed.


VERSION = 1
"""The number of this schema, which the book holds."""

METADATA = sql.MetaData()


def _text_columns(*names: str) -> list[sql.Column[str]]:
    return [sql.Column(name, sql.Text, nullable=False) for name in names]


def _integer_columns(*names: str) -> list[sql.Column[int]]:
    return [sql.Column(name, sql.BigInteger, nullable=False) for name in names]


BOOK = sql.Table(
    "dpcurves_book",
    METADATA,
    sql.Column("id", sql.Integer, sql.CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    sql.Column("version", sql.Integer, nullable=False),
    *_text_columns("name", "key"),
    *_integer_columns("entries"),
    *_text_columns("head", "seal"),
)


def _make_entry_table(kind: str, *columns: SchemaItem) -> sql.Table:
    """A table of entries: its own columns, and their place in the chain."""
    return sql.Table(
        f"dpcurves_{kind}",
        METADATA,
        sql.Column("entry", sql.BigInteger, primary_key=True, autoincrement=False),
        *columns,
        sql.Column("previous", sql.Text, nullable=False),
        sql.Column("mac", sql.Text, nullable=False),
    )


ACCOUNTS = _make_entry_table(
    "accounts",
    sql.Column("dataset", sql.Text, nullable=False, unique=True),
    *_text_columns("neighbours", "unit_column"),
    *_integer_columns("unit_records"),
    *_text_columns("currency"),
    *_integer_columns("cap", "spent"),
    *_text_columns("seal"),
    # The second wall: whatever a program does, the database itself lets no account spend more than its cap.
    sql.CheckConstraint("spent >= 0 AND spent <= cap", name="dpcurves_spent_within_cap"),
)

GRANTS = _make_entry_table(
    "grants",
    sql.Column("request", sql.Text, nullable=False, unique=True),
    *_text_columns("dataset", "purpose", "binding"),
    sql.Column("epsilon", sql.Text),
    *_text_columns("rho"),
    sql.Column(
        "amount", sql.BigInteger, sql.CheckConstraint("amount > 0", name="dpcurves_amount_above_zero"), nullable=False
    ),
    sql.Column("units", sql.BigInteger),
    *_text_columns("charged_at"),
    # Every charge adds up what the dataset has spent: from the index alone, for it has the amounts as well.
    sql.Index("dpcurves_grants_of_dataset", "dataset", "amount"),
)

ANSWERS = _make_entry_table(
    "answers",
    *_integer_columns("grant", "turn", "part"),
    *_text_columns("answer"),
    sql.UniqueConstraint("grant", "turn", "part", name="dpcurves_first_answer_stays"),
)

# A new allowance is a new entry: the last one for a dataset, project and analyst stands. No analyst: the whole project.
ALLOWANCES = _make_entry_table(
    "allowances",
    *_text_columns("dataset", "project", "analyst", "currency"),
    *_integer_columns("most"),
    *_text_columns("together", "set_at"),
    *_integer_columns("spent"),
    *_text_columns("seal"),
    sql.CheckConstraint("spent >= 0 AND spent <= most", name="dpcurves_spent_within_allowance"),
    sql.Index("dpcurves_allowances_of_owner", "dataset", "project", "analyst"),
)

PAYMENTS = _make_entry_table(
    "payments",
    sql.Column("grant", sql.BigInteger, nullable=False, unique=True),
    *_text_columns("dataset", "project", "analyst"),
    sql.Column(
        "amount", sql.BigInteger, sql.CheckConstraint("amount > 0", name="dpcurves_payment_above_zero"), nullable=False
    ),
    sql.Index("dpcurves_payments_of_owner", "dataset", "project", "analyst", "amount"),
)

# What people did, as a server that asks for them tells it. Names, never values. No dataset: none in particular.
EVENTS = _make_entry_table(
    "events",
    *_text_columns("actor", "action", "subject", "dataset", "happened_at"),
    sql.Index("dpcurves_events_of_dataset", "dataset", "entry"),
)

# SECRET: what was noted is less than what was counted, but more than what was answered.
NOTES = _make_entry_table(
    "notes",
    *_integer_columns("grant", "part"),
    *_text_columns("name", "value"),
    sql.UniqueConstraint("grant", "part", "name", name="dpcurves_first_note_stays"),
)

# SECRET, and encrypted: an open group of a stream holds exact counts. Not among the entries, which forget nothing.
STATES = sql.Table(
    "dpcurves_states",
    METADATA,
    sql.Column("grant", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("sealed", sql.Text, nullable=False),
)

ENTRIES = (ACCOUNTS, GRANTS, ANSWERS, NOTES, ALLOWANCES, PAYMENTS, EVENTS)
SEALED_APART = frozenset({"spent", "seal", "previous", "mac"})
"""Columns of entries that are not what an entry says: they change, or they are the seal itself."""


# A database as a ledger needs it: reads see one moment, writes are alone and last.


Result = TypeVar("Result")

WAIT_SECONDS = 60
"""Seconds that a charge waits for others that charge."""

_ALONE = sql.text("SELECT pg_advisory_xact_lock(:number)").bindparams(sql.bindparam("number", type_=sql.BigInteger))

_BUSY = f"others held it for {WAIT_SECONDS} seconds; this was not written"
_LOCKS = "its disk gives no locks, as some network disks: keep it on a disk of this machine, or in PostgreSQL"
# SQLite takes a disk that never gives a lock for one that others hold.
_BUSY_FILE = f"others held it for {WAIT_SECONDS} seconds, or {_LOCKS}; this was not written"
_NO_LOCKS = f"{_LOCKS}; this was not written"
_NO_LEDGER = "it is no ledger"
_TROUBLES = {
    "SQLITE_NOTADB": "it is no SQLite database",
    "SQLITE_ERROR": _NO_LEDGER,
    "SQLITE_BUSY": _BUSY_FILE,
    "SQLITE_LOCKED": _BUSY,
    "SQLITE_PROTOCOL": _BUSY_FILE,
    **dict.fromkeys(("SQLITE_IOERR_LOCK", "SQLITE_IOERR_RDLOCK", "SQLITE_IOERR_SHMLOCK"), _NO_LOCKS),
    "SQLITE_READONLY": "it may not be written",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_IOERR": "its disk cannot be read or written; asking again under the same request is never charged twice",
    "SQLITE_FULL": "the disk is full; this was not written",
    "SQLITE_CORRUPT": "its file is damaged",
    "SQLITE_CONSTRAINT": "it refused a row that breaks its rules; this was not written",
    "42P01": _NO_LEDGER,
    "42703": _NO_LEDGER,
    "42501": "this user may not write there",
    "23505": "it refused a row that breaks its rules; this was not written",
    "23514": "it refused a row that breaks its rules; this was not written",
    "55P03": _BUSY,
}
_UNREACHED = "it cannot be reached, or lets nobody in under this name; nothing was written"
_UNKNOWN = "it did not answer as a ledger does; asking again under the same request is never charged twice"


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Database:
    """Two ways into one database, each a transaction per call.

    Attributes:
        label: What to call it in an error: no password, nothing that is stored there.
        read_engine: Transactions that see one moment of the database.
        write_engine: Transactions that come one after the other, and are on disk when they end.
        write_lock: What is entered for a transaction that writes, once it is connected: it may wait.
    """

    label: str
    read_engine: sql.Engine
    write_engine: sql.Engine
    write_lock: Callable[[], AbstractContextManager[object]] = nullcontext

    def run_read(self, work: Callable[[sql.Connection], Result]) -> Result:
        """The result of `work` on a consistent snapshot of the database."""
        return self._run_transaction(self.read_engine, work, nullcontext)

    def run_write(self, work: Callable[[sql.Connection], Result]) -> Result:
        """Do all of `work`, durably, or nothing."""
        return self._run_transaction(self.write_engine, work, self.write_lock)

    def _run_transaction(
        self,
        engine: sql.Engine,
        work: Callable[[sql.Connection], Result],
        turn: Callable[[], AbstractContextManager[object]],
    ) -> Result:
        otherwise = _UNREACHED
        try:
            with engine.connect() as connection:
                otherwise = _UNKNOWN
                with turn(), connection.begin():
                    return work(connection)
        except SQLAlchemyError as error:
            trouble = _describe_error(error, otherwise)
        # Raised out here, so that the engine's exception, which quotes statements and values, hangs on nothing.
        raise InvalidArgument("ledger", f"{self.label}: {trouble}")


def acquire_lock(connection: sql.Connection, name: str) -> None:
    """Wait until nobody else writes under this name, and let nobody before this transaction ends.

    What follows sees all that they wrote: of those who look whether something is there, and make it if not, one makes
    it. (SQLite has one writer anyway.)
    """
    if connection.dialect.name == "postgresql":
        number = int.from_bytes(sha256(b"dpcurves\n" + name.encode()).digest()[:8], signed=True)
        connection.execute(_ALONE, {"number": number})


def make_tables(connection: sql.Connection, tables: sql.MetaData) -> None:
    """Make those that are not there. Two who try at once would both find that they are not."""
    acquire_lock(connection, "tables")
    tables.create_all(connection)


def _describe_error(error: SQLAlchemyError, otherwise: str) -> str:
    if isinstance(error, PoolTimeout):
        return _BUSY
    cause = getattr(error, "orig", None)
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or ""
    primary = "_".join(code.split("_")[:2])  # SQLITE_BUSY_SNAPSHOT is a kind of SQLITE_BUSY
    return _TROUBLES.get(code) or _TROUBLES.get(primary, otherwise)


# Connections that stay open between transactions: for a process that serves, and opens them thousands of times.


MOST = 64
"""Connections at a time, of each way into a database: more than threads that serve."""
AT_REST = 8
KEPT = MappingProxyType(
    {"poolclass": sql.QueuePool, "pool_size": AT_REST, "max_overflow": MOST - AT_REST, "pool_timeout": WAIT_SECONDS}
)
"""Settings of an engine whose connections stay open."""


class FileConnection(sqlite3.Connection):
    """A connection that knows which file it was opened for: a name may stand for another file later."""

    file: tuple[int, int] | None = None


def file_identity(path: Path) -> tuple[int, int] | None:
    """The file that a path refers to now; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def require_same_file(engine: sql.Engine, path: Path) -> sql.Engine:
    """Let no transaction begin on a file that was moved away: what was charged there would be forgotten."""

    @sql.event.listens_for(engine, "checkout")
    def _require_file(connection: FileConnection, *_: object) -> None:
        if connection.file != file_identity(path):
            raise DisconnectionError  # it is opened anew, or refused

    return engine


def close_when_unused(database: Database) -> Database:
    """The database, whose connections are closed when nobody has it any more, and carried into no forked process."""
    for engine in (database.read_engine, database.write_engine):
        weakref.finalize(database, engine.dispose)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_dispose_without_closing, weakref.ref(engine)))
    return database


def _dispose_without_closing(engine: weakref.ref[sql.Engine]) -> None:
    """Leave connections to the process that opened them: closed by another one, they would end there, too."""
    found = engine()
    if found is not None:
        found.dispose(close=False)


# The hash chain of entries: its head, and each entry authenticated together with the one before it.


@dataclass(frozen=True, slots=True)
class Book:
    """The head row of a ledger: its number of entries and the seal of the last one, under a seal of its own.

    Attributes:
        version: The version of the schema.
        name: What tells this ledger from others under the same key.
        key: What tells the ledger's key from other keys.
        entries: How many entries there are.
        head: The seal of the last entry.
    """

    version: int
    name: str
    key: str
    entries: int
    head: str

    @classmethod
    def from_key(cls, key: Key) -> Book:
        """The book of a new ledger."""
        name = secrets.token_hex(16)
        return cls(VERSION, name, key.identity, entries=0, head=key.seal("beginning", name))

    def beginning(self, key: Key) -> str:
        """The predecessor of the first entry in the hash chain."""
        return key.seal("beginning", self.name)

    def facts(self) -> dict[str, Fact]:
        """The row without its seal."""
        return asdict(self)

    def write(self, connection: sql.Connection, key: Key) -> None:
        """Write this page over the one before."""
        connection.execute(sql.update(BOOK).where(BOOK.c.id == 1), {**self.facts(), "seal": self._seal(key)})

    def create(self, connection: sql.Connection, key: Key) -> None:
        """Make the tables, and write the first page."""
        _make_missing(connection)
        connection.execute(sql.insert(BOOK), {"id": 1, **self.facts(), "seal": self._seal(key)})

    def _seal(self, key: Key) -> str:
        return key.seal("book", *self.facts().values())


def read_book(connection: sql.Connection, key: Key) -> Book:
    """The book as it is at this moment.

    Raises:
        ValueError: it is missing, under another key, or was changed.
    """
    return _read_single_book(connection, sql.select(BOOK), key)


def lock_book(connection: sql.Connection, key: Key) -> Book:
    """The book, held until this transaction ends. Every transaction that writes begins here.

    Raises:
        ValueError: it is missing, under another key, or was changed.
    """
    # On PostgreSQL whoever comes second waits here, and then reads what the first one wrote. SQLite has no such
    # clause, and leaves it out: BEGIN IMMEDIATE has locked the file already.
    return _read_single_book(connection, sql.select(BOOK).with_for_update(), key)


def require_version(connection: sql.Connection) -> None:
    """Refuse a ledger of a schema that is not known, before its columns are read.

    Raises:
        ValueError: names both versions.
    """
    version = connection.execute(sql.select(BOOK.c.version)).scalars().first()
    if version not in (None, VERSION):
        raise InvalidArgument(
            "ledger", f"it has schema {version}, and this dpcurves reads schema {VERSION}: upgrade dpcurves"
        )


def _make_missing(connection: sql.Connection) -> None:
    for statement in _creation_statements(connection.dialect):
        connection.exec_driver_sql(statement)


@lru_cache(maxsize=2)
def _creation_statements(dialect: sql.Dialect) -> tuple[str, ...]:
    """The statements that create missing tables and indexes, compiled once for all ledgers of a process."""
    tables = METADATA.sorted_tables
    makings: list[CreateTable | CreateIndex] = [CreateTable(table, if_not_exists=True) for table in tables]
    makings += [CreateIndex(index, if_not_exists=True) for table in tables for index in table.indexes]
    return tuple(str(each.compile(dialect=dialect)) for each in makings)


def _read_single_book(connection: sql.Connection, query: sql.Select[tuple[object, ...]], key: Key) -> Book:
    rows = connection.execute(query).mappings().all()
    if len(rows) != 1:
        raise InvalidArgument("ledger", f"its book has {len(rows)} pages, not one: it was changed without the key")
    (row,) = rows
    book = Book(row["version"], row["name"], row["key"], row["entries"], row["head"])
    if book.key != key.identity:
        raise InvalidArgument(
            "key", "it is not the key of this ledger, or the ledger's book was changed without the key"
        )
    if row["id"] != 1 or not key.is_valid_seal(row["seal"], "book", *book.facts().values()):
        raise InvalidArgument("ledger", "its book was changed without the key")
    return book


# Entries in a row, each sealed together with the one before it.
#
# Whoever may write to the database can delete entries, but can make them only with the key. The seal of an entry
# covers its ledger, its number, what it says and the seal of its predecessor. What an account or an allowance has
# spent changes, and is sealed apart, together with whose it is.


class Chain:
    """The chain of one ledger, inside one transaction. To append, the transaction must have locked the book."""

    def __init__(self, connection: sql.Connection, key: Key, book: Book) -> None:
        self.connection = connection
        self.book = book
        self._key = key

    @property
    def beginning(self) -> str:
        """The predecessor of the first entry in the hash chain."""
        return self.book.beginning(self._key)

    def append(self, table: sql.Table, **row: Fact) -> int:
        """Write an entry, and its place in the book. Returns its number."""
        self.append_all(table, [row])
        return self.book.entries

    def append_all(self, table: sql.Table, rows: Sequence[Mapping[str, Fact]]) -> None:
        """Write entries one after the other, at least one, and the place of the last one in the book."""
        self.connection.execute(sql.insert(table), [self._seal_next(table, row) for row in rows])
        self.book.write(self.connection, self._key)

    def is_sealed(self, table: sql.Table, entry: sql.RowMapping) -> bool:
        """Tell whether the seal of the entry fits its content."""
        return self._key.is_valid_seal(entry["mac"], *self._sealed_facts(table, entry))

    def require_sealed(self, table: sql.Table, entry: sql.RowMapping) -> None:
        """Refuse an entry that was not sealed with this key for this ledger.

        Raises:
            ValueError: names its number.
        """
        if not self.is_sealed(table, entry):
            raise InvalidArgument("ledger", f"row {entry['entry']} was changed without the key")

    def read_rows(self, table: sql.Table, query: sql.Select[Any]) -> Iterator[sql.RowMapping]:
        """Entries of one table, each refused if it was not sealed with this key for this ledger."""
        for row in self.connection.execute(query).mappings():
            self.require_sealed(table, row)
            yield row

    def read_first(self, table: sql.Table, query: sql.Select[Any]) -> sql.RowMapping | None:
        """The first entry, if there is one, as `read_rows` has it."""
        row = self.connection.execute(query).mappings().first()
        if row is not None:
            self.require_sealed(table, row)
        return row

    def seal_spent(self, owner: tuple[str, ...], spent: int) -> str:
        """The seal of what was spent of an account, whose owner is a dataset alone, or of an allowance."""
        return self._key.seal(*self._spending_facts(owner, spent))

    def has_valid_spending(self, owner: tuple[str, ...], row: sql.RowMapping) -> bool:
        """Tell whether the spending of an account or an allowance equals the sum that was sealed."""
        return self._key.is_valid_seal(row["seal"], *self._spending_facts(owner, row["spent"]))

    def _spending_facts(self, owner: tuple[str, ...], spent: int) -> tuple[Fact, ...]:
        return ("spent" if len(owner) == 1 else "spent of allowance", self.book.name, *owner, spent)

    def encrypt(self, secret: bytes) -> str:
        """Encrypt what must stay secret and does change: it stands beside the chain."""
        return self._key.encrypt(secret)

    def decrypt(self, token: object) -> bytes:
        """Decrypt; refused if the ciphertext was changed without the key."""
        return self._key.decrypt(token)

    def _seal_next(self, table: sql.Table, row: Mapping[str, Fact]) -> dict[str, Fact]:
        """The next entry, to be written; the book goes on to it."""
        entry: dict[str, Fact] = {**row, "entry": self.book.entries + 1, "previous": self.book.head}
        mac = self._key.seal(*self._sealed_facts(table, entry))
        self.book = replace(self.book, entries=self.book.entries + 1, head=mac)
        return {**entry, "mac": mac}

    def _sealed_facts(self, table: sql.Table, entry: Mapping[str, Fact] | sql.RowMapping) -> tuple[Fact, ...]:
        said = (entry[column.name] for column in table.columns if column.name not in SEALED_APART)
        return (table.name, self.book.name, entry["previous"], *said)
