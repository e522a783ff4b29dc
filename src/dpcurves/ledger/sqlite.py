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

from ..arguments import Refused
from . import chain
from .chain import appear, write_key

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
    def turn(self) -> Iterator[None]:
        """Wait until it is one's turn; it ends with this context."""
        place = None
        with suppress(OSError):
            place = _Place.at_the_end(self._path)
        if place is None:
            yield
            return
        try:
            with suppress(OSError):
                place.wait()
            yield
        finally:
            place.leave()


class _Place:
    """A place in the FIFO lock of writers, released when its file is closed or the process ends."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._number = max(self._read(_NEXT), self._read(_SERVED))
        self._is_first = False

    @classmethod
    def at_the_end(cls, path: Path) -> _Place | None:
        """A place behind all others; none where the system has no locks that belong to an open file."""
        if not hasattr(fcntl, "F_OFD_SETLK"):
            return None
        place = cls(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        try:
            place._take()
        except BaseException:
            os.close(place._file)
            raise
        return place

    def wait(self) -> None:
        """Return when nobody stands in front, or nobody there was served for too long."""
        served, since = -1, monotonic()
        while self._is_held(now := self._read(_SERVED), self._number):
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
                    self._write(_SERVED, max(self._read(_SERVED), self._number + 1))
                # Closing is not enough: a process that was forked meanwhile has the file, and so the lock, as well.
                self._ask(fcntl.F_OFD_SETLK, fcntl.F_UNLCK, self._number, self._number + 1)
        finally:
            os.close(self._file)

    def _take(self) -> None:
        # Two who read the same number find out here: one of them gets the lock, the other one goes on to the next.
        for _ in range(_TRIES):
            with suppress(BlockingIOError):
                self._ask(fcntl.F_OFD_SETLK, fcntl.F_WRLCK, self._number, self._number + 1)
                self._write(_NEXT, self._number + 1)
                return
            self._number += 1
        raise BlockingIOError

    def _is_held(self, first: int, end: int) -> bool:
        """Tell whether another process holds a number from `first` to below `end`."""
        return first < end and self._ask(fcntl.F_OFD_GETLK, fcntl.F_WRLCK, first, end) != fcntl.F_UNLCK

    def _ask(self, command: int, kind: int, first: int, end: int) -> int:
        lock = _LOCK.pack(kind, os.SEEK_SET, _FIRST + first, end - first, 0)
        return int(_LOCK.unpack(fcntl.fcntl(self._file, command, lock))[0])

    def _read(self, place: int) -> int:
        found = os.pread(self._file, _NUMBER.size, place)
        return int(_NUMBER.unpack(found)[0]) % 2**62 if len(found) == _NUMBER.size else 0

    def _write(self, place: int, number: int) -> None:
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


class FilePlace:
    """An SQLite file, and its key in a file beside it.

    Raises:
        ValueError: the folder is not there, or what is there is no file.
    """

    def __init__(self, name: str) -> None:
        # Resolved now: a link elsewhere finds the same key, and a later change of folder changes nothing.
        self._path = Path(os.path.realpath(name))
        self._key_path = self._path.with_name(self._path.name + ".key")
        self._label = repr(name)
        self._digits = chain.fresh_digits()
        self._new = chain.Key.from_hex(self._digits, "a new key")
        if not os.path.isdir(self._path.parent):  # unlike its namesake in pathlib it never raises
            raise Refused("ledger", f"{self._label}: its folder is not there")
        if self.is_there() and not os.path.isfile(self._path):
            raise Refused("ledger", f"{self._label}: it is no file")

    def is_there(self) -> bool:
        return os.path.exists(self._path)

    def key(self) -> chain.Key:
        """The key beside the file. A new one is for a new ledger only: it fits none that was made before."""
        return chain.read_key(self._key_path) if self.is_there() else self._new

    def require_unbegun(self) -> None:
        """Refuse a key without its ledger. Another process that has just made the one will have made the other."""
        end = monotonic() + FOUNDING_SECONDS
        while os.path.lexists(self._key_path) and not self.is_there():
            if monotonic() > end:
                raise Refused(
                    "ledger",
                    f"{self._label}: it is gone, and its key is still there: put the ledger back, for what it"
                    " has spent counts; for records that were never asked about, name another file",
                )
            sleep(_POLL_SECONDS)

    def found(self, key: chain.Key) -> None:
        """Make the file, whole and at once, and its key, if that is new; if another process was first, its files stay.

        Raises:
            ValueError: there is a key without a ledger, or the folder takes no file; then no key is left behind.
        """
        self.require_unbegun()
        try:
            if not self.is_there():
                with chain.drafted(self._path, lambda draft: self._write(draft, key)) as draft:
                    self._name(draft, key)
        except (OSError, sqlite3.Error) as error:
            trouble = getattr(error, "strerror", type(error).__name__)
        else:
            return
        raise Refused("ledger", f"{self._label}: it cannot be made ({trouble})")

    def _name(self, draft: Path, key: chain.Key) -> None:
        """Give the ledger its name, and its key before it: a key that fails to get a ledger is removed again."""
        if key is not self._new:
            appear(draft, self._path)
            return
        try:
            if not write_key(self._key_path, self._digits):
                self.require_unbegun()
            elif not appear(draft, self._path):
                self._remove_key()
        except BaseException:
            if not self.is_there():
                self._remove_key()
            raise

    def _remove_key(self) -> None:
        with suppress(OSError):
            if self._key_path.read_text().strip() == self._digits:  # and not that of another process
                self._key_path.unlink()

    def database(self) -> chain.Database:
        return replace(self._database(self._path, _anew), turn=WriterQueue(self._path).turn)

    def kept(self) -> chain.Database:
        """The file, through connections that stay open as long as the name stands for it: for a process that serves.

        Such a process starts others, and does not fork: a connection that was carried along loses the file's locks.
        """
        opened = self._database(
            self._path, lambda connect: sql.create_engine("sqlite://", creator=connect, **chain.KEPT)
        )
        for engine in (opened.reading, opened.writing):
            chain.require_same_file(engine, self._path)
        return chain.closed_in_time(replace(opened, turn=WriterQueue(self._path).turn))

    def _database(self, path: Path, engine: Callable[[Connect], sql.Engine]) -> chain.Database:
        reading, writing = (engine(partial(lambda uri: _connect(uri(path), path), uri)) for uri in (_uri_to_read, _uri))
        return chain.Database(self._label, _begin_with(_AT_ONE_MOMENT, reading), _begin_with(_ALONE, writing))

    def _write(self, draft: Path, key: chain.Key) -> None:
        self._database(draft, _anew).write(partial(chain.Book.of(key).found, key=key))
        with closing(_connect(_uri(draft), draft)) as connection:
            # The file keeps this mode. In it readers never wait for the one who writes, nor the writer for them. It
            # comes second: the tables are then in the file itself, not in a log beside it that has the draft's name.
            connection.execute("PRAGMA journal_mode = WAL")


class MemoryPlace:
    """A database in the memory of this process."""

    def __init__(self) -> None:
        # One connection, handed from thread to thread: a second one would see another, empty database.
        connect: Connect = partial(_connect, "file::memory:", Path())
        pool = sql.QueuePool(
            connect, pool_size=1, max_overflow=0, timeout=chain.WAIT_SECONDS, dialect=_spoken().dialect
        )
        engine = _begin_with(_ALONE, _over(pool))
        self._database = chain.Database("in memory", engine, engine)
        self._key = chain.Key.fresh()
        weakref.finalize(self._database, engine.dispose)

    def is_there(self) -> bool:
        return False  # it is always new

    def key(self) -> chain.Key:
        """A key that is forgotten together with the ledger."""
        return self._key

    def require_unbegun(self) -> None:
        """Nothing: it is always new."""

    def found(self, key: chain.Key) -> None:
        self._database.write(partial(chain.Book.of(key).found, key=key))

    def database(self) -> chain.Database:
        return self._database

    def kept(self) -> chain.Database:
        return self._database


class _Spoken(NamedTuple):
    """Engines of SQLite: shared dialect settings and compiled statements."""

    dialect: sql.Dialect
    url: sql.URL
    compiled: dict[object, object]


@lru_cache(maxsize=1)
def _spoken() -> _Spoken:
    """A dialect that knows SQLite's version. An engine with one of its own compiles each statement anew."""
    engine = sql.create_engine("sqlite://", poolclass=sql.NullPool)
    engine.connect().close()
    return _Spoken(engine.dialect, engine.url, {})


def _over(pool: sql.Pool) -> sql.Engine:
    """The engine over these connections. They are made by `_connect`, and need nothing else when they are new."""
    spoken = _spoken()
    return sql.Engine(pool, spoken.dialect, spoken.url, execution_options={"compiled_cache": spoken.compiled})


def _anew(connect: Connect) -> sql.Engine:
    """No connection outlives its transaction: one that is carried into a forked process loses the file's locks."""
    return _over(sql.NullPool(connect, dialect=_spoken().dialect))


def _uri(path: Path) -> str:
    return f"{path.as_uri()}?mode=rw"  # never makes a file: a ledger that was moved away is not begun again


def _uri_to_read(path: Path) -> str:
    """A copy on a disk that takes nothing, as a backup, can be read: without the log that SQLite makes beside it."""
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return _uri(path)
    # What stands in a log that was left there counts. Without one, what is in the file is all there is.
    is_whole = not path.with_name(path.name + "-wal").exists()
    return f"{path.as_uri()}?mode=ro{'&immutable=1' if is_whole else ''}"


def _begin_with(statement: str, engine: sql.Engine) -> sql.Engine:
    """Let every transaction of the engine begin with this statement."""

    @sql.event.listens_for(engine, "begin")
    def _begin(connection: sql.Connection) -> None:
        connection.exec_driver_sql(statement)

    return engine


def _connect(uri: str, path: Path) -> sqlite3.Connection:
    file = chain.file_at(path)  # before it is opened: if another one takes its name meanwhile, it is opened once more
    # isolation_level=None: the driver begins no transactions of its own, DEFERRED ones that is.
    connection = sqlite3.connect(
        uri, timeout=chain.WAIT_SECONDS, isolation_level=None, check_same_thread=False, uri=True, factory=chain.OfFile
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


class ServerPlace:
    """A database of a PostgreSQL server.

    Raises:
        ValueError: the driver is not installed.
    """

    def __init__(self, url: sql.URL) -> None:
        self._url = url
        self._database = self._through(_ANEW)

    def is_there(self) -> bool:
        return self._database.read(_is_founded)

    def key(self) -> chain.Key:
        """None: a server has no safe place for the key of what it stores."""
        raise Refused("key", f"a ledger on PostgreSQL needs one: set {chain.VARIABLE} to 64 random hexadecimal digits")

    def require_unbegun(self) -> None:
        """Nothing: no trace of a ledger stays where its tables were."""

    def found(self, key: chain.Key) -> None:
        """Make the tables; if another process was first, its tables stay."""
        self._database.write(partial(_found_once, key=key))

    def database(self) -> chain.Database:
        return self._database

    def kept(self) -> chain.Database:
        return chain.closed_in_time(self._through({**chain.KEPT, "pool_pre_ping": True}))

    def _through(self, pool: Mapping[str, Any]) -> chain.Database:
        reading = _engine(self._url, "REPEATABLE READ", pool)  # one moment for all statements of a transaction
        # Whoever writes locks the book first. At this level the statements that follow see all that was committed
        # while it waited for the lock; at a stricter one it would be thrown out instead.
        writing = _engine(self._url, "READ COMMITTED", pool)
        sql.event.listen(writing, "begin", lambda connection: connection.execute(_PREPARE))
        return chain.Database(f"PostgreSQL database {self._url.database!r}", reading, writing)


def _engine(url: sql.URL, isolation: str, pool: Mapping[str, Any]) -> sql.Engine:
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
    raise Refused("ledger", trouble)


def _found_once(connection: sql.Connection, key: chain.Key) -> None:
    # CREATE TABLE IF NOT EXISTS fails if two try at once. This lock ends with the transaction.
    connection.execute(sql.text("SELECT pg_advisory_xact_lock(:number)").bindparams(number=_FOUNDING))
    if not _is_founded(connection):
        chain.Book.of(key).found(connection, key)


def _is_founded(connection: sql.Connection) -> bool:
    return sql.inspect(connection).has_table(chain.BOOK.name)


_KNOWN = "sqlite:///budget.db, postgresql+psycopg://user@host/database or sqlite:// is needed"


class Place(Protocol):
    """A kind of database, and where its key is when none is given."""

    def is_there(self) -> bool:
        """Tell whether a ledger, or what should be one, exists here."""

    def key(self) -> chain.Key:
        """The key that lies beside the ledger; for a new ledger, a new one, which `found` will write there."""

    def require_unbegun(self) -> None:
        """Refuse a place whose ledger is gone: what it spent would be forgotten."""

    def found(self, key: chain.Key) -> None:
        """Make an empty ledger, unless another process was first."""

    def database(self) -> chain.Database:
        """The database that holds the ledger."""

    def kept(self) -> chain.Database:
        """The database, through connections that stay open between transactions: for a process that serves."""


def place_of(url: str) -> Place:
    """The place that a URL names.

    Raises:
        ValueError: it names none. The URL is not repeated: it may hold a password.
    """
    try:
        parsed = sql.make_url(url)
    except (SQLAlchemyError, ValueError):
        parsed = None
    if parsed is None:  # raised out here, so that the error, which quotes the URL, hangs on nothing
        raise Refused("ledger", f"a URL like {_KNOWN}")
    if parsed.drivername in ("postgresql", "postgresql+psycopg"):
        return ServerPlace(parsed)
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise Refused("ledger", f"a URL like {_KNOWN}, got one of {parsed.drivername!r}")
    if parsed.query or parsed.host:
        raise Refused("ledger", "an SQLite URL is sqlite:/// and the path of a file, without host and options")
    return MemoryPlace() if parsed.database in (None, "", ":memory:") else FilePlace(str(parsed.database))
