"""Hash chain of a ledger's entries: its tables, the secret key that authenticates them, and transactions.

Each entry is sealed together with the seal of the entry before it:

    seal_k = HMAC-SHA256(key, seal_(k-1), values of entry k)

and the book, one row, has the number of entries and the last seal, sealed as well. So an entry that was changed,
removed or inserted without the key is noticed. An old copy of the whole ledger is noticed if its head is also known
elsewhere (`ledger.head_copy`). A writing transaction locks the book first: entries have one order, on any number of
machines.

Formal guarantees: HMAC-SHA256 as an unforgeable code (RFC 2104). What an owner of the key writes is believed.

References: Haber and Stornetta 1991 (linked entries); RFC 2104 (HMAC).

>>> key = Key(bytes(32))
>>> key, key.seal("grant", 1) == key.seal("grant", 2)
(Key(...), False)
"""

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
from contextvars import ContextVar
from dataclasses import dataclass, replace
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
from ..drafts import hold_draft

if TYPE_CHECKING:
    from cryptography.fernet import Fernet


def publish_file(path: Path, write: Callable[[Path], object]) -> bool:
    """Write a file completely before it appears under its final name, unless another process was first; then the other
    file stays.

    Args:
        path: Final name.
        write: Function that fills the draft with the path that it is given.

    Returns:
        True if the draft got the name.

    Raises:
        OSError: the folder accepts no file, or no links.
    """
    with write_draft(path, write) as draft:
        return link_draft(draft, path)


@contextmanager
def write_draft(path: Path, write: Callable[[Path], object]) -> Iterator[Path]:
    """Yield a draft of a file, filled by `write` and flushed to disk, that can be renamed to `path` when it is
    complete.

    The draft is removed at the end or, if this process is killed, by the next writer in the folder.

    Args:
        path: Final path of the file.
        write: Function that fills the draft, given its path.

    Raises:
        OSError: the folder accepts no file.
    """
    with hold_draft(path, 0o600) as draft:
        write(draft)
        flush(draft, os.O_RDWR)
        yield draft


def link_draft(draft: Path, path: Path) -> bool:
    """Give a complete draft of a file its final name, unless the name is taken. Return True if it got the name.

    A link is made atomically and fails if the name is taken, so no process ever sees a partial file or two files.

    Args:
        draft: Existing file in the same file system; it stays under its own name, too.
        path: The final name.
    """
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        flush_names(path.parent)  # without the file's name, a power failure would lose the spent amounts
    return True


def flush_names(folder: Path) -> None:
    """Flush the directory entries of a folder to disk, as far as the system can, so that new files survive a power
    failure.

    Args:
        folder: The folder.
    """
    if os.name == "posix":
        flush(folder, os.O_RDONLY)


def flush(path: Path, mode: int) -> None:
    """Flush a file or folder to disk, so that it survives a power failure.

    Args:
        path: The file or folder.
        mode: Flags of `os.open`, as ``os.O_RDONLY``.
    """
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


KEY_VARIABLE = "DPCURVES_LEDGER_KEY"
"""Environment variable of the ledger's key in hexadecimal, if no key is passed; unset: the key comes from the key
file."""


def make_tampering_error(finding: str) -> InvalidArgument:
    """Return the error for a ledger that was changed without its key: the finding, and what to do next.

    Args:
        finding: What was found, as a sentence without a full stop.
    """
    return InvalidArgument(
        "ledger", f"{finding}; ask nothing more of this ledger, and have its keeper compare it with the last backup"
    )


KEY_BYTES = 32
"""Least bytes of a key, the output size of SHA-256; a shorter one is refused."""
_STATE_KEY_CONTEXT = b"dpcurves: states of streams"
"""HKDF context of the key that encrypts stream states. Another text gives another key, with which stored states cannot
be read."""

SealedValue = str | int | float | bytes | None
_encode_values = json.JSONEncoder(separators=(",", ":"), default=lambda raw: {"bytes": raw.hex()}).encode
"""Encoder of sealed values, made once: making it takes as long as encoding."""


class Key:
    """Secret of at least 32 bytes. It seals values with HMAC-SHA256 and is never printed.

    Raises:
        ValueError: the secret is shorter.
    >>> key = Key(bytes(32))
    >>> key, key.seal("grant", 1) == key.seal("grant", "1")
    (Key(...), False)
    """

    __slots__ = ("_mac", "_secret", "identity")

    def __init__(self, secret: bytes) -> None:
        """Hold the secret that seals the entries of a ledger.

        Args:
            secret: At least 32 bytes.
        """
        if len(secret) < KEY_BYTES:
            raise InvalidArgument(
                "key",
                f"at least {KEY_BYTES} bytes are needed, as secrets.token_bytes({KEY_BYTES}) gives, got {len(secret)}",
            )
        self._secret = bytes(secret)
        self._mac = hmac.new(self._secret, digestmod="sha256")  # copied for each seal: keying again takes longer
        self.identity = self.seal("key")
        """Public identifier of this key. It reveals nothing else about the key."""

    @classmethod
    def generate(cls) -> Key:
        """Return a new key of 32 bytes from the operating system's randomness."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def from_hex(cls, text: str, location: str) -> Key:
        """Parse a hexadecimal key.

        Args:
            text: 64 or more hexadecimal digits.
            location: Where the key was found, for the error message.

        Raises:
            ValueError: the text is not a key. The message does not show it.
        """
        try:
            return cls(bytes.fromhex(text.strip()))
        except ValueError:
            rule = f"at least {2 * KEY_BYTES} hexadecimal digits are needed in {location}"
        raise InvalidArgument("key", rule)

    def seal(self, *values: SealedValue) -> str:
        """Return a message authentication code of the values, their order and their types, in hexadecimal digits.

        Args:
            values: Values to authenticate, in order.
        """
        # The JSON is injective: different lists of values give different messages, even if types were edited.
        mac = self._mac.copy()
        mac.update(_encode_values(values).encode())
        return mac.hexdigest()

    def derive_dataset_key(self, dataset: str) -> bytes:
        """Return a key of 32 bytes for one dataset, which reveals nothing about this key or the keys of other
        datasets.

        Args:
            dataset: Name of the dataset.
        """
        return bytes.fromhex(self.seal("key of dataset", dataset))

    def encrypt(self, secret: bytes) -> str:
        """Return `secret` encrypted and authenticated with Fernet, under a key derived from this key.

        Args:
            secret: Bytes to encrypt.
        """
        return self._cipher().encrypt(secret).decode()

    def decrypt(self, token: object) -> bytes:
        """Decrypt a secret, such as the state of a stream, that `encrypt` encrypted.

        Args:
            token: Text that `encrypt` returned.

        Raises:
            ValueError: the token was changed, or made under another key.
        """
        from cryptography.fernet import InvalidToken

        with suppress(InvalidToken, ValueError):
            # The decoder ignores characters after the padding, so compare the encoding.
            if isinstance(token, str) and urlsafe_b64encode(urlsafe_b64decode(token)) == token.encode():
                return self._cipher().decrypt(token)
        raise make_tampering_error("the state of a stream was changed without the key")

    def is_valid_seal(self, seal: object, *values: SealedValue) -> bool:
        """Return True if `seal` is the message authentication code of these values under this key.

        Args:
            seal: Stored seal.
            values: The values, in order.
        """
        return isinstance(seal, str) and hmac.compare_digest(seal.encode(errors="replace"), self.seal(*values).encode())

    def __repr__(self) -> str:
        return "Key(...)"

    def _cipher(self) -> Fernet:
        """Return the Fernet cipher for secrets such as stream states, under a key that HKDF-SHA256 derives from the
        ledger's key.
        """
        from cryptography.fernet import Fernet
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        derived = HKDF(SHA256(), length=32, salt=None, info=_STATE_KEY_CONTEXT).derive(self._secret)
        return Fernet(urlsafe_b64encode(derived))


def find_key(key: bytes | None, load_key: Callable[[], Key]) -> Key:
    """Find the key of a ledger: the argument `key`, else the environment variable, else the result of `load_key`.

    Args:
        key: The key, if the caller has it.
        load_key: Function that loads the key; it is called only if neither of the others exists.
    """
    if key is not None:
        return Key(key)
    text = os.environ.get(KEY_VARIABLE)
    return Key.from_hex(text, KEY_VARIABLE) if text else load_key()


def read_key(path: Path) -> Key:
    """Return the secret key of a ledger, from the key file beside it.

    Args:
        path: The key file, which holds the key in hexadecimal digits.

    Raises:
        ValueError: the file is missing, or contains no key.
    """
    try:
        text = path.read_bytes().decode(errors="replace")
    except OSError as error:
        raise InvalidArgument(
            "key", f"{str(path)!r} cannot be read ({error.strerror}); give the file that holds the ledger's key"
        ) from None
    return Key.from_hex(text.strip().removesuffix(UNUSED_KEY_LINE), repr(str(path)))


UNUSED_KEY_LINE = "no ledger was opened under this key yet"
"""Last line of the key file of a new ledger until the ledger has its name on disk and is opened. A key without this
line and without a ledger beside it means that the ledger was lost: it is refused."""


def is_key_unused(path: Path) -> bool:
    """Return True if a key file says that no ledger was opened under it yet, so that it may get a new ledger.

    Args:
        path: Path of the key file; False if it cannot be read.
    """
    try:
        return path.read_bytes().strip().endswith(UNUSED_KEY_LINE.encode())
    except OSError:
        return False


def mark_key_used(path: Path) -> None:
    """Remove the line `UNUSED_KEY_LINE` from a key file, durably, when a ledger is opened under the key.

    Args:
        path: Path of the key file.

    Raises:
        ValueError: the folder accepts no file.
    """
    try:
        digits = path.read_text().strip().removesuffix(UNUSED_KEY_LINE).strip()
        with hold_draft(path, 0o600) as draft:
            draft.write_text(digits + "\n")
            flush(draft, os.O_RDWR)
            os.replace(draft, path)
        flush_names(path.parent)
    except OSError as error:
        raise InvalidArgument(
            "key",
            f"{str(path)!r} cannot be written ({error.strerror}); let the key lie in a folder where you may write",
        ) from None


def make_key(path: Path) -> Key:
    """Create a key file that only its owner can read, and return its key. An existing key file stays.

    Args:
        path: Path of the key file.

    Raises:
        ValueError: the folder accepts no file.
        ValueError: an existing key file cannot be read or has no key.
    """
    write_key(path, generate_key_digits())
    return read_key(path)


def generate_key_digits() -> str:
    """Return a new random key as 64 hexadecimal digits."""
    return secrets.token_hex(KEY_BYTES)


def write_key(path: Path, digits: str) -> bool:
    """Write a key file that only its owner can read, unless one exists. Return True if this key was written.

    Args:
        path: Path of the file.
        digits: The key in hexadecimal digits.

    Raises:
        ValueError: the folder accepts no file.
    """
    try:
        return publish_file(path, lambda draft: draft.write_text(digits + "\n"))
    except OSError as error:
        raise InvalidArgument(
            "key",
            f"{str(path)!r} cannot be written ({error.strerror}); let the key lie in a folder where you may write",
        ) from None


# Tables of a ledger.
#
# Eight tables contain entries. Entries are immutable, numbered 1, 2, 3, ... across all tables, and sealed together
# with their predecessor. Three values change and are sealed separately: the spent amount of an account or an allowance,
# the secret state of a stream, and the book, which holds the number of entries and the seal of the last entry.


SCHEMA_VERSION = 1
"""Version number of this schema, stored in the book; another version is refused."""

METADATA = sql.MetaData()
"""Tables of a ledger, as SQLAlchemy creates and inspects them."""


def _text_columns(*names: str) -> list[sql.Column[str]]:
    """Return columns of texts with these names; NULL is not allowed.

    Args:
        names: Names of the columns, in order.
    """
    return [sql.Column(name, sql.Text, nullable=False) for name in names]


def _integer_columns(*names: str) -> list[sql.Column[int]]:
    """Return columns of 64-bit integers with these names; NULL is not allowed.

    Args:
        names: Names of the columns, in order.
    """
    return [sql.Column(name, sql.BigInteger, nullable=False) for name in names]


LEDGER_TABLE = sql.Table(
    "dpcurves_book",
    METADATA,
    sql.Column("id", sql.Integer, sql.CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    sql.Column("version", sql.Integer, nullable=False),
    *_text_columns("name", "key"),
    *_integer_columns("entries"),
    *_text_columns("head", "seal"),
)
"""Header of a ledger, the only row: version of the schema, name of the ledger, identity of its key, number of entries,
and the seal of the last one. A ledger with another number of rows is refused."""


def _make_entry_table(kind: str, *columns: SchemaItem) -> sql.Table:
    """Return the SQL table of one kind of ledger entries.

    Every entry has its position in the chain (`entry`), the hash of the previous entry, and a message authentication
    code (`mac`).

    Args:
        kind: Ending of the table's name.
        columns: Columns of this kind of entry.
    """
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
    # Second line of defence: the database itself enforces that no account spends more than its cap.
    sql.CheckConstraint("spent >= 0 AND spent <= cap", name="dpcurves_spent_within_cap"),
)
"""One row: the privacy budget (cap) of a dataset and the amount spent of it, with the terms that never change:
neighbouring relation, privacy unit, currency."""

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
    # Every charge sums the dataset's amounts. The index contains them, so the table is not read.
    sql.Index("dpcurves_grants_of_dataset", "dataset", "amount"),
)
"""One row: a charge, that is the privacy loss which a question was granted before it read data. A second charge under
the same request id must have the same `binding`, a hash of question, loss and dataset."""

ANSWERS = _make_entry_table(
    "answers",
    *_integer_columns("grant", "round", "part"),
    *_text_columns("answer"),
    sql.UniqueConstraint("grant", "round", "part", name="dpcurves_first_answer_stays"),
)
"""One row: the released answer to one part of a charged question in one round. It is stored once and returned to each
repetition of the question, so that no noise is drawn twice."""

# The last entry for a dataset, project and analyst is the valid allowance. No analyst: the whole project.
ALLOWANCES = _make_entry_table(
    "allowances",
    *_text_columns("dataset", "project", "analyst", "currency"),
    *_integer_columns("cap"),
    *_text_columns("rule", "set_at"),
    *_integer_columns("spent"),
    *_text_columns("seal"),
    sql.CheckConstraint("spent >= 0 AND spent <= cap", name="dpcurves_spent_within_allowance"),
    sql.Index("dpcurves_allowances_of_owner", "dataset", "project", "analyst"),
)
"""One row: the part of a dataset's budget that a project, or one analyst of it, may spend, and the amount spent of it.
The last row of an owner is valid."""

PAYMENTS = _make_entry_table(
    "payments",
    sql.Column("grant", sql.BigInteger, nullable=False, unique=True),
    *_text_columns("dataset", "project", "analyst"),
    sql.Column(
        "amount", sql.BigInteger, sql.CheckConstraint("amount > 0", name="dpcurves_payment_above_zero"), nullable=False
    ),
    sql.Index("dpcurves_payments_of_owner", "dataset", "project", "analyst", "amount"),
)
"""One row: the amount by which a charge reduced the allowance of a project and its analyst."""

# Actions of people, as reported by a server. Names, never values. No dataset: the event concerns none.
EVENTS = _make_entry_table(
    "events",
    *_text_columns("actor", "action", "subject", "dataset", "happened_at"),
    sql.Index("dpcurves_events_of_dataset", "dataset", "entry"),
)
"""One row: an action of a person for the audit trail."""

# Views of a dataset. The last entry of a name is valid; an empty definition removes the view.
VIEWS = _make_entry_table(
    "views",
    *_text_columns("dataset", "name", "definition", "defined_at"),
    sql.Index("dpcurves_views_of_dataset", "dataset", "entry"),
)
"""One row: a definition of a named view of a dataset. The last row of a name is valid."""

# SECRET: notes reveal less than the counts, but more than the answers.
NOTES = _make_entry_table(
    "notes",
    *_integer_columns("grant", "part"),
    *_text_columns("name", "value"),
    sql.UniqueConstraint("grant", "part", "name", name="dpcurves_first_note_stays"),
)
"""One row: a secret noisy sum of a charged question, by name, from which its later rounds compute their answers."""

# SECRET and encrypted: the state of a stream contains exact counts. States are overwritten, so they are no entries.
STATES = sql.Table(
    "dpcurves_states",
    METADATA,
    sql.Column("grant", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("sealed", sql.Text, nullable=False),
)
"""One row: the encrypted state of one stream after its last released time step."""

ENTRIES = (ACCOUNTS, GRANTS, ANSWERS, NOTES, ALLOWANCES, PAYMENTS, EVENTS, VIEWS)
"""Tables whose rows are sealed entries of the hash chain; `STATES` and the header are not among them. A changed,
missing or added row makes verification fail."""
UNSEALED_COLUMNS = frozenset({"spent", "seal", "previous", "mac"})
"""Columns outside an entry's seal: they change, or they are the seal."""


# Database access: reads see one snapshot, writes are serialized and durable.


Result = TypeVar("Result")

WAIT_SECONDS = 60
"""Seconds that a charge waits for other charges before it is refused with nothing written. Fewer refuse more charges
under load."""
_WAIT: ContextVar[float] = ContextVar("seconds that a transaction waits for a lock", default=WAIT_SECONDS)
"""The limit that holds in this context: `WAIT_SECONDS` unless `limit_wait` set another one. Exceeding it raises
`LedgerBusy`."""

_WAIT_FOR_LOCK = sql.text("SELECT pg_advisory_xact_lock(:number)").bindparams(
    sql.bindparam("number", type_=sql.BigInteger)
)
"""Statement that waits for PostgreSQL's lock of this number, held until the transaction ends."""

_BUSY = "other processes held the lock for {seconds:g} seconds, and nothing was written; try again"
"""Message, raised as `LedgerBusy`: the lock was not free in time, and a retry may succeed."""
_LOCKS = "the disk supports no locks, as some network disks: use a disk of this machine, or PostgreSQL"
"""Advice for a disk on which SQLite cannot lock files; part of the next two messages."""
# SQLite reports the same error for a disk without locks and for a lock that another process holds.
_BUSY_FILE = f"other processes held the lock for {{seconds:g}} seconds, or {_LOCKS}; nothing was written"
"""Message for SQLITE_BUSY, raised as `LedgerBusy`: the cause may be either of the two."""
_NO_LOCKS = f"{_LOCKS}; nothing was written"
"""Message for input or output errors of SQLite's locks: only the disk can be the cause."""
_NO_LEDGER = "this database holds no ledger; create one with `dpcurves ledger create`, or correct the URL"
"""Message for missing tables or columns."""
_BROKEN_RULE = "a row that breaks the ledger's rules was refused, and nothing was written; run `dpcurves ledger verify`"
"""Message for a violated constraint, such as an amount spent above the cap."""
_MESSAGES_BY_CODE = {
    "SQLITE_NOTADB": "the file is not an SQLite database; name the file of a ledger",
    "SQLITE_ERROR": _NO_LEDGER,
    "SQLITE_BUSY": _BUSY_FILE,
    "SQLITE_LOCKED": _BUSY,
    "SQLITE_PROTOCOL": _BUSY_FILE,
    **dict.fromkeys(("SQLITE_IOERR_LOCK", "SQLITE_IOERR_RDLOCK", "SQLITE_IOERR_SHMLOCK"), _NO_LOCKS),
    "SQLITE_READONLY": "no permission to write; let this user write the file and its folder",
    "SQLITE_CANTOPEN": "the file cannot be opened; check the path and its permissions",
    "SQLITE_IOERR": "the disk cannot be read or written; a retry under the same request is never charged twice",
    "SQLITE_FULL": "the disk is full and nothing was written; make room and retry",
    "SQLITE_CORRUPT": "the file is damaged; restore it from a backup, and count what was spent since",
    "SQLITE_CONSTRAINT": _BROKEN_RULE,
    "42P01": _NO_LEDGER,
    "42703": _NO_LEDGER,
    "42501": "this database user may not write; GRANT it INSERT and UPDATE on the tables of the ledger",
    "23505": _BROKEN_RULE,
    "23514": _BROKEN_RULE,
    "55P03": _BUSY,
}
"""Messages by error code of SQLite, and by SQLSTATE of PostgreSQL
(https://www.postgresql.org/docs/current/errcodes-appendix.html). They replace the database's own text, which may quote
stored values."""
_UNREACHED = (
    "cannot connect, or the user name is not accepted, and nothing was written; check the host, the user and the"
    " password"
)
"""Message for an error without a known code before a connection was made."""
_UNKNOWN = "the answer is not that of a ledger; a retry under the same request is never charged twice"
"""Message for an error without a known code after a connection was made."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Database:
    """Read and write access to one database, with a transaction per call.

    Attributes:
        label: Name in error messages, without password and stored values.
        read_engine: Transactions that see one snapshot of the database.
        write_engine: Transactions that are serialized, and on disk when they end.
        write_lock: Context entered by a writing transaction once it is connected. It may wait.
    """

    label: str
    read_engine: sql.Engine
    write_engine: sql.Engine
    write_lock: Callable[[], AbstractContextManager[object]] = nullcontext

    def run_read(self, work: Callable[[sql.Connection], Result]) -> Result:
        """Call `work` in a read transaction, which sees one snapshot of the database, and return its result.

        Args:
            work: Function of the open connection.
        """
        return self._run_transaction(self.read_engine, work, nullcontext)

    def run_write(self, work: Callable[[sql.Connection], Result]) -> Result:
        """Call `work` in one write transaction, which is durable on return or without effect, and return its result.

        Args:
            work: Function of the open connection.
        """
        return self._run_transaction(self.write_engine, work, self.write_lock)

    def _run_transaction(
        self,
        engine: sql.Engine,
        work: Callable[[sql.Connection], Result],
        lock: Callable[[], AbstractContextManager[object]],
    ) -> Result:
        """Run a function in one transaction of the database; commit at its end, or roll back after an error. Return its
        result.

        Args:
            engine: SQLAlchemy engine that connects to the database.
            work: Function of the open connection.
            lock: Context that is held during the transaction.

        Raises:
            InvalidArgument: the database failed. The message does not have the engine's text, which may quote stored
                values.
        """
        default_message = _UNREACHED
        try:
            with engine.connect() as connection:
                default_message = _UNKNOWN
                with lock(), connection.begin():
                    return work(connection)
        except SQLAlchemyError as error:
            message = _describe_error(error, default_message)
        # Raised outside the except block, so that it does not chain the engine's exception, which quotes values.
        kind = LedgerBusy if message in (_BUSY, _BUSY_FILE) else InvalidArgument
        raise kind("ledger", f"{self.label}: {message.format(seconds=get_wait_seconds())}")


class LedgerBusy(InvalidArgument):
    """Other processes held the database's lock for too long. Nothing was written; the same may be tried again."""


def get_wait_seconds() -> float:
    """Return how many seconds a transaction waits for a writer's lock: `WAIT_SECONDS` unless `limit_wait` set a
    limit.
    """
    return _WAIT.get()


@contextmanager
def limit_wait(seconds: float) -> Iterator[None]:
    """Limit how long transactions that begin in this context wait for a writer's lock.

    Args:
        seconds: Limit in seconds, such as the time a user waits for a page.
    """
    token = _WAIT.set(seconds)
    try:
        yield
    finally:
        _WAIT.reset(token)


def acquire_lock(connection: sql.Connection, name: str) -> None:
    """Wait for the exclusive lock of this name, which the transaction holds until its end.

    Statements after it see everything that earlier holders wrote: if several processes create something unless it
    exists, one creates it. (SQLite has a single writer anyway.)

    Args:
        connection: Connection inside the transaction; only PostgreSQL takes a lock.
        name: Name of the lock.
    """
    if connection.dialect.name == "postgresql":
        number = int.from_bytes(sha256(b"dpcurves\n" + name.encode()).digest()[:8], signed=True)
        connection.execute(_WAIT_FOR_LOCK, {"number": number})


def make_tables(connection: sql.Connection, tables: sql.MetaData) -> None:
    """Create the missing tables under a lock, so that two processes do not create them at once.

    Args:
        connection: Connection inside the transaction.
        tables: Tables with their columns; existing ones are not compared.
    """
    acquire_lock(connection, "tables")
    tables.create_all(connection)


_TABLE_NAMES = sql.text("SELECT name FROM sqlite_master WHERE type = 'table'")
"""Statement that lists the tables of an SQLite file."""


def has_tables(connection: sql.Connection, tables: sql.MetaData) -> bool:
    """Return True if all these tables exist. It only reads, so that a database which cannot be written is served.

    Args:
        connection: Connection to the database.
        tables: Tables whose names are looked up.
    """
    names = {table.name for table in tables.sorted_tables}
    if connection.dialect.name == "postgresql":
        return all(connection.dialect.has_table(connection, name) for name in names)
    return names <= set(connection.execute(_TABLE_NAMES).scalars())


def _describe_error(error: SQLAlchemyError, default_message: str) -> str:
    """Return the message for a database error, chosen by its error code; `default_message` for unknown codes.

    Args:
        error: Error of SQLAlchemy.
        default_message: Message without detail.
    """
    if isinstance(error, PoolTimeout):
        return _BUSY
    cause = getattr(error, "orig", None)
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or ""
    primary_code = "_".join(code.split("_")[:2])  # SQLITE_BUSY_SNAPSHOT is a kind of SQLITE_BUSY
    return _MESSAGES_BY_CODE.get(code) or _MESSAGES_BY_CODE.get(primary_code, default_message)


# Connections that stay open between transactions, for servers that need thousands of them.


IDLE_CONNECTIONS = 8
"""Connections to the ledger's database that stay open between charges; further ones are closed after use."""
MOST_CONNECTIONS = 64
"""Connections of one process to the ledger's database: more than a server has threads. A charge that finds all in use
waits for one."""


class FileConnection(sqlite3.Connection):
    """Connection that remembers its file, because another file may get the same name later."""

    file: tuple[int, int] | None = None


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return what identifies the file at a path (device and inode), to notice that it was replaced; None if there is no
    file.

    Args:
        path: Path of the file; symbolic links are followed.
    """
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def require_same_file(engine: sql.Engine, path: Path) -> sql.Engine:
    """Make an engine of a SQLite file reopen its connection if the file was moved away, because charges on a moved file
    would be lost.

    Args:
        engine: SQLAlchemy engine of the file.
        path: Path at which the file must be.

    Returns:
        The same engine.
    """

    @sql.event.listens_for(engine, "checkout")
    def _require_file(connection: FileConnection, *_: object) -> None:
        """Discard a pooled connection whose database file is no longer at the path, so that the pool opens the path
        again.

        Args:
            connection: Connection that the pool is about to hand out.
        """
        if connection.file != file_identity(path):
            raise DisconnectionError  # the pool opens the path again, or the error is reported

    return engine


def close_when_unused(database: Database) -> Database:
    """Close the connections of a database when its object is garbage-collected; forked processes do not inherit them.

    Args:
        database: The database, which is returned.
    """
    for engine in (database.read_engine, database.write_engine):
        weakref.finalize(database, engine.dispose)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_dispose_without_closing, weakref.ref(engine)))
    return database


def _dispose_without_closing(engine: weakref.ref[sql.Engine]) -> None:
    """Drop the connections in a forked child process without closing them, because closing would end them in the
    parent, too.

    Args:
        engine: Weak reference to the engine; nothing happens if it is gone.
    """
    open_engine = engine()
    if open_engine is not None:
        open_engine.dispose(close=False)


# The hash chain: its head, and entries authenticated together with their predecessor.

_READ_BOOK = sql.select(LEDGER_TABLE)
"""Statement that reads the ledger's header. It and the next three, which every transaction runs, are made once: making
one takes as long as running it."""
_LOCK_BOOK = _READ_BOOK.with_for_update()
"""Statement that reads the header and keeps other writers waiting on PostgreSQL until the transaction ends; SQLite
ignores the clause."""
_READ_VERSION = sql.select(LEDGER_TABLE.c.version)
"""Statement that reads the version of the schema alone: other columns exist in known versions only."""
_WRITE_BOOK = sql.update(LEDGER_TABLE).where(LEDGER_TABLE.c.id == 1)
"""Statement that replaces the header after entries were appended."""


@dataclass(frozen=True, slots=True)
class Book:
    """Head row of a ledger: the number of entries and the seal of the last entry, sealed together.

    Attributes:
        version: Schema version.
        name: Random name that distinguishes ledgers under the same key.
        key: Identifier of the ledger's key.
        entries: Number of entries.
        head: Seal of the last entry.
    """

    version: int
    name: str
    key: str
    entries: int
    head: str

    @classmethod
    def from_key(cls, key: Key) -> Book:
        """Return the header (book) of a new ledger: a random name, no entries, and an identifier of this key.

        Args:
            key: Key of the new ledger.
        """
        name = secrets.token_hex(16)
        return cls(SCHEMA_VERSION, name, key.identity, entries=0, head=key.seal("beginning", name))

    def beginning(self, key: Key) -> str:
        """Return the seal that stands for the predecessor of the first entry of the hash chain.

        It depends on the key and the ledger's name.

        Args:
            key: Key of the ledger.
        """
        return key.seal("beginning", self.name)

    def fields(self) -> dict[str, SealedValue]:
        """Return the columns of the ledger's header row (book), except its seal, by name.

        Returns:
            Values by column name.
        """
        return {name: getattr(self, name) for name in self.__slots__}  # `asdict` copies deeply, in each transaction

    def write(self, connection: sql.Connection, key: Key) -> None:
        """Overwrite the ledger's stored header row with this one and its seal, after entries were appended.

        Args:
            connection: Connection inside the transaction.
            key: Key of the ledger.
        """
        fields = self.fields()
        connection.execute(_WRITE_BOOK, {**fields, "seal": key.seal("book", *fields.values())})

    def create(self, connection: sql.Connection, key: Key) -> None:
        """Create the tables of a ledger and store its first header row (book) with its seal.

        Args:
            connection: Connection inside the transaction.
            key: Key of the ledger.
        """
        for statement in _creation_statements(connection.dialect):
            connection.exec_driver_sql(statement)
        fields = self.fields()
        connection.execute(sql.insert(LEDGER_TABLE), {"id": 1, **fields, "seal": key.seal("book", *fields.values())})


def read_book(connection: sql.Connection, key: Key, *, lock: bool = False) -> Book:
    """Return the ledger's header row (book), which states the head of the hash chain, after a check of its seal.

    Args:
        connection: Connection inside the transaction.
        key: Key of the ledger, which sealed the book.
        lock: Whether the book is locked until this transaction ends. Every writing transaction starts with that.

    Raises:
        ValueError: there is not exactly one book, or it belongs to another key or was changed.
    """
    # On PostgreSQL a second writer waits here, and then reads what the first one wrote. SQLite ignores the clause:
    # BEGIN IMMEDIATE has locked the file already.
    rows = connection.execute(_LOCK_BOOK if lock else _READ_BOOK).mappings().all()
    if len(rows) != 1:
        raise make_tampering_error(f"the ledger's header has {len(rows)} rows, not one: it was changed without the key")
    (row,) = rows
    book = Book(row["version"], row["name"], row["key"], row["entries"], row["head"])
    if book.key != key.identity:
        raise InvalidArgument(
            "key",
            "this is not the key of this ledger, or the ledger's header was changed without the key; give the key"
            " that the ledger was created with",
        )
    if row["id"] != 1 or not key.is_valid_seal(row["seal"], "book", *book.fields().values()):
        raise make_tampering_error("the ledger's header was changed without the key")
    return book


def read_known_book(connection: sql.Connection, key: Key) -> Book:
    """Return the header row (book) of a ledger that is being opened, after a check of its schema version.

    Args:
        connection: Connection inside the transaction.
        key: Key of the ledger.

    Raises:
        ValueError: as of `require_version` and `read_book`.
    """
    version = connection.execute(_READ_VERSION).scalars().first()
    if version not in (None, SCHEMA_VERSION):
        raise InvalidArgument(
            "ledger",
            f"the ledger has schema {version}, and this dpcurves reads schema {SCHEMA_VERSION}:"
            " upgrade dpcurves on this machine",
        )
    return read_book(connection, key)


@lru_cache(maxsize=2)
def _creation_statements(dialect: sql.Dialect) -> tuple[str, ...]:
    """Return the SQL statements that create missing tables and indexes, compiled once per process.

    Args:
        dialect: Dialect of SQL of the database.

    Returns:
        SQL texts, tables before indexes.
    """
    tables = METADATA.sorted_tables
    constructs: list[CreateTable | CreateIndex] = [CreateTable(table, if_not_exists=True) for table in tables]
    constructs += [CreateIndex(index, if_not_exists=True) for table in tables for index in table.indexes]
    return tuple(str(construct.compile(dialect=dialect)) for construct in constructs)


# Entries of the chain.
#
# A database user without the key can delete entries but cannot make them. The seal of an entry covers the ledger's
# name, the entry number, the content and the predecessor's seal. The spent amount of an account or an allowance
# changes; it is sealed separately, together with its owner.


@lru_cache(maxsize=64)
def _select_by_columns(table: sql.Table, names: tuple[str, ...]) -> sql.Select[Any]:
    """Return the SQL statement that selects the first row whose columns equal parameters of the same names.

    Each statement is made once per process: making one takes as long as running it.

    Args:
        table: Table of entries.
        names: Names of the columns.
    """
    return sql.select(table).where(*(table.c[name] == sql.bindparam(name) for name in names)).limit(1)


@lru_cache(maxsize=16)
def _insert_into(table: sql.Table) -> sql.Insert:
    """Return the SQL statement that inserts rows into a table, made once per table.

    Args:
        table: Table of entries.
    """
    return sql.insert(table)


@lru_cache(maxsize=16)
def _content_columns(table: sql.Table) -> tuple[str, ...]:
    """Return the names of the columns of an entry that its seal authenticates.

    Args:
        table: Table of entries.

    Returns:
        Names in the order of the table.
    """
    return tuple(column.name for column in table.columns if column.name not in UNSEALED_COLUMNS)


class Chain:
    """Chain of one ledger inside one transaction. Appending requires that the transaction has locked the book."""

    def __init__(self, connection: sql.Connection, key: Key, book: Book) -> None:
        self.connection = connection
        self.book = book
        self._key = key

    @property
    def beginning(self) -> str:
        """Seal that the first entry of the hash chain stores in place of a predecessor's seal."""
        return self.book.beginning(self._key)

    def append(self, table: sql.Table, **row: SealedValue) -> int:
        """Append an entry to the hash chain and update the ledger's header row. Returns the entry number.

        Args:
            table: Table of the entry.
            row: Value of each column, except the entry number and both seals.
        """
        self.append_all(table, [row])
        return self.book.entries

    def append_all(self, table: sql.Table, rows: Sequence[Mapping[str, SealedValue]]) -> None:
        """Append several entries to the hash chain, at least one and in order, and update the ledger's header row.

        Args:
            table: Table of the entries.
            rows: Content of each entry, by column.
        """
        entries: list[dict[str, SealedValue]] = []
        for row in rows:
            entry: dict[str, SealedValue] = {**row, "entry": self.book.entries + 1, "previous": self.book.head}
            mac = self._key.seal(*self._list_sealed_values(table, entry))
            self.book = replace(self.book, entries=self.book.entries + 1, head=mac)
            entries.append({**entry, "mac": mac})
        self.connection.execute(_insert_into(table), entries)
        self.book.write(self.connection, self._key)

    def is_sealed(self, table: sql.Table, entry: sql.RowMapping) -> bool:
        """Return True if the seal of the entry matches its content.

        Args:
            table: Table of the entry.
            entry: The entry, with all columns of its table.
        """
        return self._key.is_valid_seal(entry["mac"], *self._list_sealed_values(table, entry))

    def require_sealed(self, table: sql.Table, entry: sql.RowMapping) -> None:
        """Check that an entry has a valid seal under this ledger's key, that is, was not changed.

        Args:
            table: Table of the entry.
            entry: The entry, with all columns of its table.

        Raises:
            ValueError: names the entry number.
        """
        if not self.is_sealed(table, entry):
            raise make_tampering_error(f"row {entry['entry']} was changed without the key")

    def read_rows(self, table: sql.Table, query: sql.Select[Any]) -> Iterator[sql.RowMapping]:
        """Yield entries of one table. Refuses entries without a valid seal.

        Args:
            table: Table of the entries.
            query: Selects all columns of the table.

        Yields:
            Entries in the order of the query; values by column name.

        Raises:
            ValueError: the seal of an entry is not valid.
        """
        for row in self.connection.execute(query).mappings():
            self.require_sealed(table, row)
            yield row

    def find_row(self, table: sql.Table, **values: SealedValue) -> sql.RowMapping | None:
        """Return the first entry whose columns have these values, or None. Refuses an entry without a valid seal.

        Args:
            table: Table of the entries.
            values: Value of each column that is compared.

        Raises:
            ValueError: the seal of the entry is not valid.
        """
        return self.read_first(table, _select_by_columns(table, tuple(values)), values)

    def read_first(
        self, table: sql.Table, query: sql.Select[Any], values: Mapping[str, SealedValue] = MappingProxyType({})
    ) -> sql.RowMapping | None:  # fmt: skip
        """Return the first entry of a query with these parameters, or None. Refuses an entry without a valid seal.

        Args:
            table: The table that the query reads.
            query: The query.
            values: Parameters of the query.
        """
        row = self.connection.execute(query, dict(values)).mappings().first()
        if row is not None:
            self.require_sealed(table, row)
        return row

    def seal_spent(self, owner: tuple[str, ...], spent: int) -> str:
        """Return the seal (message authentication code) of a spent amount.

        Args:
            owner: Dataset for an account; dataset, project and analyst for an allowance.
            spent: The amount, in billionths.
        """
        return self._key.seal(*self._list_spending_values(owner, spent))

    def has_valid_spending(self, owner: tuple[str, ...], row: sql.RowMapping) -> bool:
        """Return True if the spent amount of an account or allowance has a valid seal, that is, was not changed without
        the key.

        Args:
            owner: Dataset, or dataset, project and analyst.
            row: Row with the columns ``spent`` and ``seal``.
        """
        return self._key.is_valid_seal(row["seal"], *self._list_spending_values(owner, row["spent"]))

    def _list_spending_values(self, owner: tuple[str, ...], spent: int) -> tuple[SealedValue, ...]:
        """Return the values that the seal of a spent amount authenticates: kind of owner, ledger, owner and amount.

        Args:
            owner: Dataset for an account; dataset, project and analyst for an allowance.
            spent: The amount, in billionths.
        """
        return ("spent" if len(owner) == 1 else "spent of allowance", self.book.name, *owner, spent)

    def encrypt(self, secret: bytes) -> str:
        """Encrypt a secret that may be overwritten, such as the state of a stream, with the ledger's key; return a text
        token for `decrypt`.

        Such secrets are stored outside the hash chain, which is not changed.

        Args:
            secret: Bytes to encrypt.
        """
        return self._key.encrypt(secret)

    def decrypt(self, token: object) -> bytes:
        """Decrypt a secret, such as the state of a stream, that `encrypt` encrypted with the ledger's key.

        Args:
            token: Text that `encrypt` returned.

        Raises:
            InvalidArgument: the token was changed without the key.
        """
        return self._key.decrypt(token)

    def _list_sealed_values(
        self, table: sql.Table, entry: Mapping[str, SealedValue] | sql.RowMapping
    ) -> tuple[SealedValue, ...]:
        """Return the values that the seal of an entry authenticates: table, ledger, seal of the previous entry, and
        content.

        Args:
            table: Table of the entry.
            entry: The entry, by column.
        """
        content = [entry[name] for name in _content_columns(table)]
        return (table.name, self.book.name, entry["previous"], *content)
