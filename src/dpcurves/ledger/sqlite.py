"""Ledgers in an SQLite file with a FIFO lock for writers, in memory, or on a PostgreSQL server; and their locations."""

from __future__ import annotations

import os
import sqlite3
import struct
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic, sleep
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import sqlalchemy as sql
from sqlalchemy.exc import SQLAlchemyError

from ..arguments import InvalidArgument
from . import chain
from .chain import link_draft, write_key

# A line before an SQLite file: who comes first writes first.
#
# What keeps two writers apart is SQLite's own lock. But it is polled: who happens to ask just after it was given back
# has it again, and others wait for seconds. Those who stand in this line ask for it one after the other. The line
# decides on the order alone; where it does not work (another system, a folder that takes no file, a disk without
# locks), all ask at once.
#
# Who comes takes the next number, and holds a lock on the byte of that number while it waits and writes. Its turn
# comes when no byte of a lower number is locked. The system gives back the locks of a process that dies, so nobody
# waits for the dead. Who stands still for too long, as a process that was stopped, is passed, and is not waited for
# again.


try:
    import fcntl
except ImportError:  # another system, where all ask at once
    fcntl = None  # type: ignore[assignment]

ENDING = "-line"
PATIENCE_SECONDS = 5
"""Seconds without any writer served, after which those who wait go on."""
NEXT_SECONDS = 0.0003
"""Seconds between two looks of the next writer in the queue."""
EACH_SECONDS = 0.001
"""Seconds that each writer in between adds to a look: no write is faster."""
MOST_SECONDS = 0.02

_NUMBER = struct.Struct("=Q")
_NEXT, _SERVED = 0, 8
"""Offsets in bytes of the next number, and of the one below which no writer is waited for."""
_LOCK = struct.Struct("hhqqi0q")  # the C structure `flock`
_FIRST = 4096  # the byte of number 0: none that is locked is written
_TRIES = 1000


class WriterQueue:
    """FIFO lock of the writers of one SQLite file."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ENDING)

    @contextmanager
    def wait_turn(self) -> Iterator[None]:
        """Wait until it is one's turn; it ends with this context."""
        place = None
        with suppress(OSError):
            place = _QueuePosition.take_last(self._path)
        if place is None:
            yield
            return
        try:
            with suppress(OSError):
                place.wait()
            yield
        finally:
            place.leave()


class _QueuePosition:
    """A place in the FIFO lock of writers, released when its file is closed or the process ends."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._number = max(self._read_number(_NEXT), self._read_number(_SERVED))
        self._is_first = False

    @classmethod
    def take_last(cls, path: Path) -> _QueuePosition | None:
        """A place behind all others; none where the system has no locks that belong to an open file."""
        if not hasattr(fcntl, "F_OFD_SETLK"):
            return None
        place = cls(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        try:
            place._claim_number()
        except BaseException:
            os.close(place._file)
            raise
        return place

    def wait(self) -> None:
        """Return when nobody stands in front, or nobody there was served for too long."""
        served, since = -1, monotonic()
        while self._is_held(now := self._read_number(_SERVED), self._number):
            if now != served:
                served, since = now, monotonic()
            elif monotonic() - since > PATIENCE_SECONDS:
                break
            sleep(min(NEXT_SECONDS + EACH_SECONDS * (self._number - now - 1), MOST_SECONDS))
        self._is_first = True

    def leave(self) -> None:
        """Let the next one go on. Who was interrupted before its turn lets nobody go on but those behind it."""
        try:
            with suppress(OSError):
                if self._is_first:
                    self._write_number(_SERVED, max(self._read_number(_SERVED), self._number + 1))
                # Closing is not enough: a process that was forked meanwhile has the file, and so the lock, as well.
                self._call_lock(fcntl.F_OFD_SETLK, fcntl.F_UNLCK, self._number, self._number + 1)
        finally:
            os.close(self._file)

    def _claim_number(self) -> None:
        # Two who read the same number find out here: one of them gets the lock, the other one goes on to the next.
        for _ in range(_TRIES):
            with suppress(BlockingIOError):
                self._call_lock(fcntl.F_OFD_SETLK, fcntl.F_WRLCK, self._number, self._number + 1)
                self._write_number(_NEXT, self._number + 1)
                return
            self._number += 1
        raise BlockingIOError

    def _is_held(self, first: int, end: int) -> bool:
        """Tell whether another process holds a number from `first` to below `end`."""
        return first < end and self._call_lock(fcntl.F_OFD_GETLK, fcntl.F_WRLCK, first, end) != fcntl.F_UNLCK

    def _call_lock(self, command: int, kind: int, first: int, end: int) -> int:
        lock = _LOCK.pack(kind, os.SEEK_SET, _FIRST + first, end - first, 0)
        return int(_LOCK.unpack(fcntl.fcntl(self._file, command, lock))[0])

    def _read_number(self, place: int) -> int:
        found = os.pread(self._file, _NUMBER.size, place)
        return int(_NUMBER.unpack(found)[0]) % 2**62 if len(found) == _NUMBER.size else 0

    def _write_number(self, place: int, number: int) -> None:
        os.pwrite(self._file, _NUMBER.pack(number), place)


FOUNDING_SECONDS = 10
"""Seconds that a key may be there before its ledger is: whoever makes both has them ready, and gives them their names;
but a disk may be slow to keep a name, and a process may stand still between the two."""
_POLL_SECONDS = 0.01
_AT_ONE_MOMENT = "BEGIN"
# IMMEDIATE takes the right to write before the first read. A transaction that reads first, and then wants to write, is
# thrown out if another wrote in between, however long it would have waited.
_ALONE = "BEGIN IMMEDIATE"
Connect = Callable[[], Any]
"""A function that opens a connection of `sqlite3`, which has more than SQLAlchemy asks of a driver's."""


class FileStorage:
    """An SQLite file, and its key in a file beside it.

    Raises:
        ValueError: the folder is not there, or what is there is no file.
    """

    def __init__(self, name: str) -> None:
        # Resolved now: a link elsewhere finds the same key, and a later change of folder changes nothing.
        self._path = Path(os.path.realpath(name))
        self._key_path = self._path.with_name(self._path.name + ".key")
        self._label = repr(name)
        self._digits = chain.generate_key_digits()
        self._new = chain.Key.from_hex(self._digits, "a new key")
        if not os.path.isdir(self._path.parent):  # unlike its namesake in pathlib it never raises
            raise InvalidArgument("ledger", f"{self._label}: its folder is not there")
        if self.exists() and not os.path.isfile(self._path):
            raise InvalidArgument("ledger", f"{self._label}: it is no file")

    def exists(self) -> bool:
        return os.path.exists(self._path)

    def key(self) -> chain.Key:
        """The key beside the file. A new one is for a new ledger only: it fits none that was made before."""
        return chain.read_key(self._key_path) if self.exists() else self._new

    def require_not_lost(self) -> None:
        """Refuse a key without its ledger. Another process that has just made the one will have made the other."""
        end = monotonic() + FOUNDING_SECONDS
        while os.path.lexists(self._key_path) and not self.exists():
            if monotonic() > end:
                raise InvalidArgument(
                    "ledger",
                    f"{self._label}: it is gone, and its key is still there: put the ledger back, for what it"
                    " has spent counts; for records that were never asked about, name another file",
                )
            sleep(_POLL_SECONDS)

    def create(self, key: chain.Key) -> None:
        """Make the file, whole and at once, and its key, if that is new; if another process was first, its files stay.

        Raises:
            ValueError: there is a key without a ledger, or the folder takes no file; then no key is left behind.
        """
        self.require_not_lost()
        try:
            if not self.exists():
                with chain.write_draft(self._path, lambda draft: self._fill_draft(draft, key)) as draft:
                    self._link_files(draft, key)
        except (OSError, sqlite3.Error) as error:
            trouble = getattr(error, "strerror", type(error).__name__)
        else:
            return
        raise InvalidArgument("ledger", f"{self._label}: it cannot be made ({trouble})")

    def _link_files(self, draft: Path, key: chain.Key) -> None:
        """Give the ledger its name, and its key before it: a key that fails to get a ledger is removed again."""
        if key is not self._new:
            link_draft(draft, self._path)
            return
        try:
            if not write_key(self._key_path, self._digits):
                self.require_not_lost()
            elif not link_draft(draft, self._path):
                self._remove_key()
        except BaseException:
            if not self.exists():
                self._remove_key()
            raise

    def _remove_key(self) -> None:
        with suppress(OSError):
            if self._key_path.read_text().strip() == self._digits:  # and not that of another process
                self._key_path.unlink()

    def open_database(self) -> chain.Database:
        return replace(
            self._make_database(self._path, _make_unpooled_engine), write_lock=WriterQueue(self._path).wait_turn
        )

    def open_persistent(self) -> chain.Database:
        """The file, through connections that stay open as long as the name stands for it: for a process that serves.

        Such a process starts others, and does not fork: a connection that was carried along loses the file's locks.
        """
        opened = self._make_database(
            self._path, lambda connect: sql.create_engine("sqlite://", creator=connect, **chain.KEPT)
        )
        for engine in (opened.read_engine, opened.write_engine):
            chain.require_same_file(engine, self._path)
        return chain.close_when_unused(replace(opened, write_lock=WriterQueue(self._path).wait_turn))

    def _make_database(self, path: Path, engine: Callable[[Connect], sql.Engine]) -> chain.Database:
        reading, writing = (
            engine(partial(lambda uri: _connect(uri(path), path), uri)) for uri in (_read_only_uri, _uri)
        )
        return chain.Database(self._label, _begin_with(_AT_ONE_MOMENT, reading), _begin_with(_ALONE, writing))

    def _fill_draft(self, draft: Path, key: chain.Key) -> None:
        self._make_database(draft, _make_unpooled_engine).run_write(partial(chain.Book.from_key(key).create, key=key))
        with closing(_connect(_uri(draft), draft)) as connection:
            # The file keeps this mode. In it readers never wait for the one who writes, nor the writer for them. It
            # comes second: the tables are then in the file itself, not in a log beside it that has the draft's name.
            connection.execute("PRAGMA journal_mode = WAL")


class MemoryStorage:
    """A database in the memory of this process."""

    def __init__(self) -> None:
        # One connection, handed from thread to thread: a second one would see another, empty database.
        connect: Connect = partial(_connect, "file::memory:", Path())
        pool = sql.QueuePool(
            connect, pool_size=1, max_overflow=0, timeout=chain.WAIT_SECONDS, dialect=_shared_dialect().dialect
        )
        engine = _begin_with(_ALONE, _make_engine(pool))
        self._database = chain.Database("in memory", engine, engine)
        self._key = chain.Key.generate()
        weakref.finalize(self._database, engine.dispose)

    def exists(self) -> bool:
        return False  # it is always new

    def key(self) -> chain.Key:
        """A key that is forgotten together with the ledger."""
        return self._key

    def require_not_lost(self) -> None:
        """Nothing: it is always new."""

    def create(self, key: chain.Key) -> None:
        self._database.run_write(partial(chain.Book.from_key(key).create, key=key))

    def open_database(self) -> chain.Database:
        return self._database

    def open_persistent(self) -> chain.Database:
        return self._database


class _SharedDialect(NamedTuple):
    """Engines of SQLite: shared dialect settings and compiled statements."""

    dialect: sql.Dialect
    url: sql.URL
    statement_cache: dict[object, object]


@lru_cache(maxsize=1)
def _shared_dialect() -> _SharedDialect:
    """A dialect that knows SQLite's version. An engine with one of its own compiles each statement anew."""
    engine = sql.create_engine("sqlite://", poolclass=sql.NullPool)
    engine.connect().close()
    return _SharedDialect(engine.dialect, engine.url, {})


def _make_engine(pool: sql.Pool) -> sql.Engine:
    """The engine over these connections. They are made by `_connect`, and need nothing else when they are new."""
    spoken = _shared_dialect()
    return sql.Engine(pool, spoken.dialect, spoken.url, execution_options={"compiled_cache": spoken.statement_cache})


def _make_unpooled_engine(connect: Connect) -> sql.Engine:
    """No connection outlives its transaction: one that is carried into a forked process loses the file's locks."""
    return _make_engine(sql.NullPool(connect, dialect=_shared_dialect().dialect))


def _uri(path: Path) -> str:
    return f"{path.as_uri()}?mode=rw"  # never makes a file: a ledger that was moved away is not begun again


def _read_only_uri(path: Path) -> str:
    """A copy on a disk that takes nothing, as a backup, can be read: without the log that SQLite makes beside it."""
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return _uri(path)
    # What stands in a log that was left there counts. Without one, what is in the file is all there is.
    is_whole = not path.with_name(path.name + "-wal").exists()
    return f"{path.as_uri()}?mode=ro{'&immutable=1' if is_whole else ''}"


def _begin_with(statement: str, engine: sql.Engine) -> sql.Engine:
    """Let every transaction of the engine begin with this statement."""

    @sql.event.listens_for(engine, "begin")
    def _execute_begin(connection: sql.Connection) -> None:
        connection.exec_driver_sql(statement)

    return engine


def _connect(uri: str, path: Path) -> sqlite3.Connection:
    file = chain.file_identity(
        path
    )  # before it is opened: if another one takes its name meanwhile, it is opened once more
    # isolation_level=None: the driver begins no transactions of its own, DEFERRED ones that is.
    connection = sqlite3.connect(
        uri,
        timeout=chain.WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
        factory=chain.FileConnection,
    )
    connection.file = file
    try:
        # In WAL mode FULL alone makes a commit wait for the disk; with NORMAL a power failure forgets the last charges.
        connection.execute("PRAGMA synchronous = FULL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


_FOUNDING = int.from_bytes(b"dpcurves")
_PREPARE = sql.text(
    "SELECT set_config('lock_timeout', :wait, true),"
    # A server may be set to answer before a commit is on disk; a charge may not.
    " CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END"
).bindparams(wait=f"{chain.WAIT_SECONDS}s")
_ANEW = MappingProxyType({"poolclass": sql.NullPool})
"""No connection is carried into a forked process, where two would talk at once."""


class ServerStorage:
    """A database of a PostgreSQL server.

    Raises:
        ValueError: the driver is not installed.
    """

    def __init__(self, url: sql.URL) -> None:
        self._url = url
        self._database = self._make_database(_ANEW)

    def exists(self) -> bool:
        return self._database.run_read(_has_ledger)

    def key(self) -> chain.Key:
        """None: a server has no safe place for the key of what it stores."""
        raise InvalidArgument(
            "key", f"a ledger on PostgreSQL needs one: set {chain.VARIABLE} to 64 random hexadecimal digits"
        )

    def require_not_lost(self) -> None:
        """Nothing: no trace of a ledger stays where its tables were."""

    def create(self, key: chain.Key) -> None:
        """Make the tables; if another process was first, its tables stay."""
        self._database.run_write(partial(_create_once, key=key))

    def open_database(self) -> chain.Database:
        return self._database

    def open_persistent(self) -> chain.Database:
        return chain.close_when_unused(self._make_database({**chain.KEPT, "pool_pre_ping": True}))

    def _make_database(self, pool: Mapping[str, Any]) -> chain.Database:
        reading = _make_server_engine(
            self._url, "REPEATABLE READ", pool
        )  # one moment for all statements of a transaction
        # Whoever writes locks the book first. At this level the statements that follow see all that was committed
        # while it waited for the lock; at a stricter one it would be thrown out instead.
        writing = _make_server_engine(self._url, "READ COMMITTED", pool)
        sql.event.listen(writing, "begin", lambda connection: connection.execute(_PREPARE))
        return chain.Database(f"PostgreSQL database {self._url.database!r}", reading, writing)


def _make_server_engine(url: sql.URL, isolation: str, pool: Mapping[str, Any]) -> sql.Engine:
    try:
        return sql.create_engine(
            url.set(drivername="postgresql+psycopg"),
            **pool,
            isolation_level=isolation,
            use_native_hstore=False,  # else every connection begins by asking for a type that is not used here
            connect_args={"connect_timeout": 10},
        )
    except ImportError:
        trouble = "PostgreSQL needs an extra: pip install 'dpcurves[postgres]'"
    raise InvalidArgument("ledger", trouble)


def _create_once(connection: sql.Connection, key: chain.Key) -> None:
    # CREATE TABLE IF NOT EXISTS fails if two try at once. This lock ends with the transaction.
    connection.execute(sql.text("SELECT pg_advisory_xact_lock(:number)").bindparams(number=_FOUNDING))
    if not _has_ledger(connection):
        chain.Book.from_key(key).create(connection, key)


def _has_ledger(connection: sql.Connection) -> bool:
    return sql.inspect(connection).has_table(chain.BOOK.name)


_KNOWN = "sqlite:///budget.db, postgresql+psycopg://user@host/database or sqlite:// is needed"


class Storage(Protocol):
    """A kind of database, and where its key is when none is given."""

    def exists(self) -> bool:
        """Tell whether a ledger, or what should be one, exists here."""

    def key(self) -> chain.Key:
        """The key that lies beside the ledger; for a new ledger, a new one, which `create` will write there."""

    def require_not_lost(self) -> None:
        """Refuse a place whose ledger is gone: what it spent would be forgotten."""

    def create(self, key: chain.Key) -> None:
        """Make an empty ledger, unless another process was first."""

    def open_database(self) -> chain.Database:
        """The database that holds the ledger."""

    def open_persistent(self) -> chain.Database:
        """The database, through connections that stay open between transactions: for a process that serves."""


def parse_storage_url(url: str) -> Storage:
    """The place that a URL names.

    Raises:
        ValueError: it names none. The URL is not repeated: it may hold a password.
    """
    try:
        parsed = sql.make_url(url)
    except (SQLAlchemyError, ValueError):
        parsed = None
    if parsed is None:  # raised out here, so that the error, which quotes the URL, hangs on nothing
        raise InvalidArgument("ledger", f"a URL like {_KNOWN}")
    if parsed.drivername in ("postgresql", "postgresql+psycopg"):
        return ServerStorage(parsed)
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise InvalidArgument("ledger", f"a URL like {_KNOWN}, got one of {parsed.drivername!r}")
    if parsed.query or parsed.host:
        raise InvalidArgument("ledger", "an SQLite URL is sqlite:/// and the path of a file, without host and options")
    return MemoryStorage() if parsed.database in (None, "", ":memory:") else FileStorage(str(parsed.database))
