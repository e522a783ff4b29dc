"""Storage of ledgers: an SQLite file with a FIFO lock for writers, memory, or a PostgreSQL server.

    sqlite:///ledger.db      a file, its key in a file beside it, one writer at a time in order of arrival
    sqlite://                memory, for one process and for examples
    postgresql://...         a server, for many machines

Writers of a file wait in a queue of locked files (`WriterQueue`), because SQLite's own lock is not fair: under load
some writers might never get their turn. A file that was moved away while it was open is refused, because charges to it
would be lost.

Formal guarantees: a committed charge survives a crash of the process and a loss of power (full synchronisation); see
`ledger.ledger` for what follows.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from time import monotonic, sleep
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import sqlalchemy as sql
from sqlalchemy.exc import SQLAlchemyError

from ..arguments import InvalidArgument
from . import chain
from .chain import flush_names, link_draft, write_key

# FIFO lock of the writers of an SQLite file.
#
# SQLite's own lock keeps two writers apart, but it is polled: a process that asks right after releasing it gets it
# again, and others starve for seconds. Writers in this queue ask for it one after the other. The queue affects only the
# order; where it does not work (another system, a folder that accepts no file, a disk without locks), all writers poll
# at once.
#
# A writer takes the next number and locks the byte of that number while it waits and writes. It may write when no byte
# of a lower number is locked. The system releases the locks of a process that dies, so no writer waits for a dead
# process. A writer without progress for too long, such as a stopped process, is skipped from then on.


try:
    import fcntl
except ImportError:  # a system without fcntl, where all writers ask at once
    fcntl = None  # type: ignore[assignment]

QUEUE_SUFFIX = "-line"
"""Suffix of the file, beside the ledger's, by which waiting writers know their order."""
PATIENCE_SECONDS = 5
"""Seconds without a served writer after which waiting writers go on, so that a stopped process does not keep them
waiting."""

_NUMBER = struct.Struct("=Q")
"""A number in the queue's file: 64 bits in native byte order."""
_NEXT_OFFSET = 0
"""Bytes. Offset of the next number in the queue's file."""
_SERVED_OFFSET = 8
"""Bytes. Offset, in the queue's file, of the number below which no writer is waited for."""
_LOCK = struct.Struct("hhqqi0q")
"""C structure `flock` of fcntl: lock type, origin, start, length, process."""


class WriterQueue:
    """FIFO lock of the writers of one SQLite file."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + QUEUE_SUFFIX)

    @contextmanager
    def wait_turn(self) -> Iterator[None]:
        """Hold a position in the queue of writers: wait until this writer is first, and leave the queue at the end.

        Without a usable queue file, the writer does not wait.
        """
        position = None
        with suppress(OSError):
            position = _QueuePosition.take_last(self._path)
        if position is None:
            yield
            return
        try:
            with suppress(OSError):
                position.wait()
            yield
        finally:
            position.leave()


class _QueuePosition:
    """Position in the writers' queue. It is released when its file is closed or the process ends."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._number = max(self._read_number(_NEXT_OFFSET), self._read_number(_SERVED_OFFSET))
        self._is_first = False

    @classmethod
    def take_last(cls, path: Path) -> _QueuePosition | None:
        """Join the queue of writers at its end, and return the position; None on a system without locks of open files.

        Args:
            path: File that holds the queue.
        """
        if not hasattr(fcntl, "F_OFD_SETLK"):
            return None
        position = cls(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        try:
            position._claim_number()
        except BaseException:
            os.close(position._file)
            raise
        return position

    def wait(self) -> None:
        """Wait until all earlier writers in the queue have finished, or have made no progress for too long."""
        last_served = -1
        last_progress = monotonic()
        while self._is_held(serving := self._read_number(_SERVED_OFFSET), self._number):
            if serving != last_served:
                last_served = serving
                last_progress = monotonic()
            elif monotonic() - last_progress > PATIENCE_SECONDS:
                break
            # seconds: no write is faster than one millisecond, and each earlier writer needs one
            sleep(min(0.0003 + 0.001 * (self._number - serving - 1), 0.02))
        self._is_first = True

    def leave(self) -> None:
        """Leave the queue of writers and let the next one proceed; also for a writer that was interrupted while
        waiting.
        """
        try:
            with suppress(OSError):
                if self._is_first:
                    self._write_number(_SERVED_OFFSET, max(self._read_number(_SERVED_OFFSET), self._number + 1))
                # Closing is not enough: a child process forked meanwhile shares the file and hence the lock.
                self._call_lock(fcntl.F_OFD_SETLK, fcntl.F_UNLCK, self._number, self._number + 1)
        finally:
            os.close(self._file)

    def _claim_number(self) -> None:
        """Take the next free position in the queue of writers: lock its byte, and store the following number for the
        next writer.

        Raises:
            BlockingIOError: 1000 numbers were taken by others meanwhile.
        """
        # Two writers that read the same number: one gets the lock, the other takes the next number.
        # 1000: attempts to claim a number before the writer gives up its place in the queue
        for _ in range(1000):
            with suppress(BlockingIOError):
                self._call_lock(fcntl.F_OFD_SETLK, fcntl.F_WRLCK, self._number, self._number + 1)
                self._write_number(_NEXT_OFFSET, self._number + 1)
                return
            self._number += 1
        raise BlockingIOError

    def _is_held(self, first: int, end: int) -> bool:
        """Return True if another process waits or writes at a queue position from `first` to below `end`.

        Args:
            first: First position.
            end: Position after the last one.
        """
        return first < end and self._call_lock(fcntl.F_OFD_GETLK, fcntl.F_WRLCK, first, end) != fcntl.F_UNLCK

    def _call_lock(self, command: int, kind: int, first: int, end: int) -> int:
        """Lock, release or query the bytes of queue positions `first` to below `end`; return the lock type that the
        system reports.

        Args:
            command: ``F_OFD_SETLK`` to lock or release, ``F_OFD_GETLK`` to query.
            kind: ``F_WRLCK`` for a lock or a query of one, ``F_UNLCK`` for a release.
            first: First position in the queue.
            end: Position after the last one.

        Raises:
            OSError: the lock cannot be set, or another process holds it (`BlockingIOError`).
        """
        # number 0 locks byte 4096: locked bytes are never written
        lock = _LOCK.pack(kind, os.SEEK_SET, 4096 + first, end - first, 0)
        return int(_LOCK.unpack(fcntl.fcntl(self._file, command, lock))[0])

    def _read_number(self, offset: int) -> int:
        """Return the number at a byte offset of the file that holds the queue of writers; 0 if it was not written yet.

        Args:
            offset: Byte offset.
        """
        record = os.pread(self._file, _NUMBER.size, offset)
        return int(_NUMBER.unpack(record)[0]) % 2**62 if len(record) == _NUMBER.size else 0

    def _write_number(self, offset: int, number: int) -> None:
        """Write a number at a byte offset of the file that holds the queue of writers.

        Args:
            offset: Byte offset.
            number: Number of a position in the queue.
        """
        os.pwrite(self._file, _NUMBER.pack(number), offset)


MISSING_SECONDS = 10
"""Seconds that a ledger may be missing beside the file of a key that was used, as while a copy is restored; afterwards
the key is refused, because the spent budget would be forgotten."""
_BEGIN_READING = "BEGIN"
"""Statement that begins a transaction which only reads: it sees one state of the file and locks out no writer."""
# IMMEDIATE takes the write lock before the first read. A transaction that reads first and then writes is aborted if
# another process wrote in between, for any timeout.
_BEGIN_WRITING = "BEGIN IMMEDIATE"
"""Statement that begins a transaction which writes; a second one waits."""
Connect = Callable[[], Any]
"""Function that opens a connection of `sqlite3`."""


class FileStorage:
    """An SQLite file with its key in a file beside it.

    Raises:
        ValueError: the folder is missing, or the path is not a file.
    """

    is_persistent = True

    def __init__(self, name: str) -> None:
        # Resolved now: a link elsewhere leads to the same key, and a later change of directory has no effect.
        """Name the file of a ledger; nothing is opened or created yet.

        Args:
            name: Path of the SQLite file.
        """
        self._path = Path(os.path.realpath(name))
        self._key_path = self._path.with_name(self._path.name + ".key")
        self._label = repr(name)
        self._digits = chain.generate_key_digits()
        if not os.path.isdir(self._path.parent):  # unlike `Path.is_dir` it never raises
            raise InvalidArgument(
                "ledger", f"{self._label}: the folder is not there; make it first, or correct the path"
            )
        if self.exists() and not os.path.isfile(self._path):
            raise InvalidArgument("ledger", f"{self._label}: this path is not a file; name the file of the ledger")

    @cached_property
    def _new(self) -> chain.Key:
        """Key that a new ledger would get, generated once, before anything is stored."""
        return chain.Key.from_hex(self._digits, "a new key")

    def exists(self) -> bool:
        """Return True if anything exists at the path of the ledger."""
        return os.path.exists(self._path)

    def key(self) -> chain.Key:
        """Return the key beside the ledger, or a new key for a new ledger."""
        is_there = self.exists() or chain.is_key_unused(self._key_path)
        return chain.read_key(self._key_path) if is_there else self._new

    def require_not_lost(self) -> None:
        """Refuse a key that was used but has no ledger beside it: a ledger was lost. Waits first, in case it is being
        restored.
        """
        deadline = monotonic() + MISSING_SECONDS
        while os.path.lexists(self._key_path) and not self.exists() and not chain.is_key_unused(self._key_path):
            if monotonic() > deadline:
                raise InvalidArgument(
                    "ledger",
                    f"{self._label}: the ledger is gone, and its key is still there: restore the ledger, because what"
                    " it has spent counts; for records that were never asked about, name another file",
                )
            sleep(0.01)  # seconds between polls for the ledger

    def create(self, key: chain.Key) -> None:
        """Create the file of a ledger atomically, and its key if it is new. If another process was first, its files
        stay.

        The key is named first, with a line that marks it as unused. A process that finds such a key without a
        ledger, because its creator was killed or is still at work, goes on under the same key: only one of them can
        name the ledger. The line is removed durably each time that a ledger is opened (`open_database`), so before
        any charge.

        Formal guarantees: a ledger that was charged and is lost is never replaced, because its key is used.

        Args:
            key: Key that seals the entries.

        Raises:
            ValueError: a used key exists without a ledger, or the folder accepts no file.
        """
        self.require_not_lost()
        try:
            if key is self._new:
                write_key(self._key_path, f"{self._digits}\n{chain.UNUSED_KEY_LINE}")
                key = chain.read_key(self._key_path)
                self.require_not_lost()  # another process may have named a key meanwhile
            elif not self.exists() and os.path.lexists(self._key_path):
                # The process that named this key may have been killed before it flushed the name. A loss of power that
                # keeps the ledger's name and takes the key's would leave a ledger that cannot be opened.
                flush_names(self._path.parent)
            if not self.exists():
                with chain.write_draft(self._path, lambda draft: self._fill_draft(draft, key)) as draft:
                    link_draft(draft, self._path)
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", type(error).__name__)
        else:
            return
        raise InvalidArgument(
            "ledger", f"{self._label}: cannot be created ({reason}); name a file in a folder where you may write"
        )

    def open_database(self) -> chain.Database:
        """Return the ledger's database in a file, with a new connection for each transaction; writers queue."""
        if self.exists() and chain.is_key_unused(self._key_path):
            # The process that named the ledger may have failed before it flushed the name. A loss of power that keeps a
            # used key and takes the ledger's name would leave a ledger that counts as lost.
            self._flush_names()
            chain.mark_key_used(self._key_path)
        return replace(
            self._make_database(self._path, _make_unpooled_engine, _connect_to_read),
            write_lock=WriterQueue(self._path).wait_turn,
        )

    def _flush_names(self) -> None:
        """Flush the directory entries of the ledger's folder to disk, so that a new file survives a power failure.

        Raises:
            InvalidArgument: the system reports an error.
        """
        try:
            flush_names(self._path.parent)
        except OSError as error:
            reason = error.strerror
        else:
            return
        raise InvalidArgument(
            "ledger", f"{self._label}: its folder cannot be flushed to disk ({reason}); have the disk checked"
        )

    def open_persistent(self) -> chain.Database:
        """Return the ledger's database for a server, with connections that stay open while the path leads to the same
        file.

        The server must start child processes by spawning: a connection inherited by fork loses the file's locks.
        """
        database = self._make_database(self._path, _make_pooled_engine)
        for engine in (database.read_engine, database.write_engine):
            chain.require_same_file(engine, self._path)
        return chain.close_when_unused(replace(database, write_lock=WriterQueue(self._path).wait_turn))

    def _make_database(
        self,
        path: Path,
        make_engine: Callable[[Connect], sql.Engine],
        connect_to_read: Callable[[Path], sqlite3.Connection] | None = None,
    ) -> chain.Database:
        """Return the database at a path, with an engine for reading snapshots and one for exclusive writing.

        Args:
            path: The file.
            make_engine: Function that makes a SQLAlchemy engine from a function that opens connections.
            connect_to_read: Function that connects for reading; None: read-only, with SQLite's shared index.
        """
        read_engine = make_engine(lambda: (connect_to_read or _connect_read_only)(path))
        write_engine = make_engine(lambda: _connect(_uri(path), path))
        return chain.Database(
            self._label, _begin_with(_BEGIN_READING, read_engine), _begin_with(_BEGIN_WRITING, write_engine)
        )

    def _fill_draft(self, draft: Path, key: chain.Key) -> None:
        """Write a new ledger, its tables and its header row, into a draft file.

        Args:
            draft: Path of the file, which becomes the ledger when it is renamed.
            key: Key that seals the entries.
        """
        self._make_database(draft, _make_unpooled_engine).run_write(partial(chain.Book.from_key(key).create, key=key))
        with closing(_connect(_uri(draft), draft)) as connection:
            # The file keeps this mode, in which readers and the writer never wait for each other. It is set second, so
            # that the tables are in the file itself and not in a log that has the draft's name.
            connection.execute("PRAGMA journal_mode = WAL")


class MemoryStorage:
    """A database in the memory of this process."""

    is_persistent = False

    def __init__(self) -> None:
        # One connection, passed between threads: a second one would see another, empty database.
        connect: Connect = partial(_connect, "file::memory:", Path())
        pool = sql.QueuePool(
            connect, pool_size=1, max_overflow=0, timeout=chain.WAIT_SECONDS, dialect=_shared_dialect().dialect
        )
        engine = _begin_with(_BEGIN_WRITING, _make_engine(pool))
        self._database = chain.Database("in memory", engine, engine)
        self._key = chain.Key.generate()
        weakref.finalize(self._database, engine.dispose)

    def exists(self) -> bool:
        """Return False: a ledger in memory is always new."""
        return False  # a ledger in memory is always new

    def key(self) -> chain.Key:
        """Return a new random key, which lasts as long as the ledger in memory."""
        return self._key

    def require_not_lost(self) -> None:
        """Do nothing: a ledger in memory is always new, so none can have been lost."""

    def create(self, key: chain.Key) -> None:
        """Create the tables of a new ledger in memory.

        Args:
            key: Key that seals the entries.
        """
        self._database.run_write(partial(chain.Book.from_key(key).create, key=key))

    def open_database(self) -> chain.Database:
        """Return the ledger's database in memory, whose only connection is shared by all threads."""
        return self._database

    def open_persistent(self) -> chain.Database:
        """Return the ledger's database in memory; its only connection stays open anyway."""
        return self._database


class _SharedDialect(NamedTuple):
    """Dialect settings and compiled statements shared by all SQLite engines."""

    dialect: sql.Dialect
    url: sql.URL
    statement_cache: dict[object, object]


@lru_cache(maxsize=1)
def _shared_dialect() -> _SharedDialect:
    """Return a SQLAlchemy dialect that all engines share, because an engine with its own dialect compiles each
    statement again.
    """
    engine = sql.create_engine("sqlite://", poolclass=sql.NullPool)
    engine.connect().close()
    return _SharedDialect(engine.dialect, engine.url, {})


def _make_engine(pool: sql.Pool) -> sql.Engine:
    """Make an engine over connections made by `_connect`, which need no further set-up. All engines share the compiled
    statements.

    Args:
        pool: Source of the connections.
    """
    shared = _shared_dialect()
    return sql.Engine(pool, shared.dialect, shared.url, execution_options={"compiled_cache": shared.statement_cache})


def _make_unpooled_engine(connect: Connect) -> sql.Engine:
    """Make an engine that closes each connection after its transaction, because a connection inherited by fork would
    lose file locks.

    Args:
        connect: Function that opens a connection.
    """
    return _make_engine(sql.NullPool(connect, dialect=_shared_dialect().dialect))


def _make_pooled_engine(connect: Connect) -> sql.Engine:
    """Make an engine with a pool of connections that stay open.

    Args:
        connect: Function that opens a connection.
    """
    pool = sql.QueuePool(
        connect, pool_size=chain.IDLE_CONNECTIONS, max_overflow=chain.MOST_CONNECTIONS - chain.IDLE_CONNECTIONS,
        timeout=chain.WAIT_SECONDS, dialect=_shared_dialect().dialect,
    )  # fmt: skip
    engine = _make_engine(pool)

    @sql.event.listens_for(engine, "checkout")
    def _limit_wait(connection: sqlite3.Connection, *_: object) -> None:
        """Set how long an open, pooled connection waits for locks, to the limit of the present transaction.

        Args:
            connection: Connection that the pool is about to hand out.
        """
        connection.execute(f"PRAGMA busy_timeout = {1000 * chain.get_wait_seconds():.0f}")

    return engine


@lru_cache(maxsize=64)
def _uri(path: Path) -> str:
    """Return the URI under which SQLite opens a file that must exist already.

    Args:
        path: Absolute path of the file.
    """
    return f"{path.as_uri()}?mode=rw"  # does not create a file: a ledger that was moved away is not restarted


def _read_only_uri(path: Path) -> str:
    """Return the URI under which SQLite opens a file for reading, also on a read-only disk without SQLite's log, such
    as a backup.

    Args:
        path: Absolute path of the file.
    """
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return _uri(path)
    # A log that was left there is part of the database. Without a log, the file is complete.
    is_whole = not path.with_name(path.name + "-wal").exists()
    return f"{path.as_uri()}?mode=ro{'&immutable=1' if is_whole else ''}"


def _begin_with(statement: str, engine: sql.Engine) -> sql.Engine:
    """Make every transaction of the engine begin with this SQL statement, such as one that locks the file.

    Args:
        statement: SQL statement.
        engine: The engine, which is returned.
    """

    @sql.event.listens_for(engine, "begin")
    def _execute_begin(connection: sql.Connection) -> None:
        """Begin a transaction with the SQL statement that `_begin_with` was given.

        Args:
            connection: Connection without an open transaction.
        """
        connection.exec_driver_sql(statement)

    return engine


def _connect(uri: str, path: Path, first_statement: str = "") -> sqlite3.Connection:
    """Return an open connection that waits for locks, begins no transactions by itself, and makes commits wait for the
    disk.

    Args:
        uri: URI of the file for SQLite.
        path: Path of the file, to notice when it is moved.
        first_statement: SQL that is run first; empty: none.
    """
    # The identity is taken before opening: if another file takes the name meanwhile, the pool opens the path again.
    file = chain.file_identity(path)
    # isolation_level=None: the driver begins no transactions, which would be DEFERRED.
    connection = sqlite3.connect(
        uri,
        timeout=chain.get_wait_seconds(),
        isolation_level=None,
        check_same_thread=False,
        uri=True,
        factory=chain.FileConnection,
    )
    connection.file = file
    try:
        if first_statement:
            connection.execute(first_statement)
        # In WAL mode only FULL makes a commit wait for the disk; with NORMAL a power failure loses the last charges.
        connection.execute("PRAGMA synchronous = FULL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _connect_read_only(path: Path) -> sqlite3.Connection:
    """Open a connection to a ledger's SQLite file for reading, which writes nothing.

    Args:
        path: Absolute path of the SQLite file.

    Raises:
        sqlite3.Error: the file cannot be opened.
    """
    return _connect(_read_only_uri(path), path)


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Return an open connection for one reading transaction, which works also on a full disk.

    SQLite's log has an index in a file (``-shm``), which the first process makes anew. Without room for it nothing
    could be read. Then the index is made in memory, and the file stays locked until the connection is closed: that is
    why a connection which stays open must not be of this kind.

    Args:
        path: Path of the file.

    Raises:
        sqlite3.Error: the file cannot be opened.
    """
    try:
        return _connect_read_only(path)
    except sqlite3.OperationalError as error:
        if not error.sqlite_errorname.startswith("SQLITE_IOERR_SHM"):
            raise
    return _connect(_read_only_uri(path), path, "PRAGMA locking_mode = EXCLUSIVE")


_CREATION_LOCK = int.from_bytes(b"dpcurves")
"""Number of the PostgreSQL lock under which a ledger is created, so that two processes do not create it at once: the
bytes of the package's name."""
_PREPARE_WRITING = sql.text(
    "SELECT set_config('lock_timeout', :wait, true),"
    # A server may be configured to answer before a commit is on disk; a charge must not.
    " CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END"
)
"""First statement of a writing transaction on PostgreSQL: it limits the wait for locks, and turns a switched-off
``synchronous_commit`` on, so that a charge is on disk before its question is answered."""
_NO_POOL = MappingProxyType({"poolclass": sql.NullPool})
"""Settings for a new connection for each transaction: without a pool no connection outlives a fork, after which two
processes would use it."""


class ServerStorage:
    """A database of a PostgreSQL server.

    Raises:
        ValueError: the driver is not installed.
    """

    is_persistent = True

    def __init__(self, url: sql.URL) -> None:
        self._url = url
        self._database = self._make_database(_NO_POOL)

    def exists(self) -> bool:
        """Return True if the database has the tables of a ledger."""
        return self._database.run_read(_has_ledger)

    def key(self) -> chain.Key:
        """Raise an error: a database server must not store the key that seals its own ledger, so the key must come from
        elsewhere.
        """
        raise InvalidArgument(
            "key", f"a ledger on PostgreSQL needs a key: set {chain.KEY_VARIABLE} to 64 random hexadecimal digits"
        )

    def require_not_lost(self) -> None:
        """Do nothing: on a server, a ledger whose tables were dropped leaves no trace by which its loss could be
        noticed.
        """

    def create(self, key: chain.Key) -> None:
        """Create the tables on the server, unless another process has created them.

        Args:
            key: Key that seals the entries.
        """
        self._database.run_write(partial(_create_once, key=key))

    def open_database(self) -> chain.Database:
        """Return the ledger's database on the server, with a new connection for each transaction."""
        return self._database

    def open_persistent(self) -> chain.Database:
        """Return the ledger's database for a server, with pooled connections that are tested before use."""
        settings = {
            "poolclass": sql.QueuePool, "pool_size": chain.IDLE_CONNECTIONS, "pool_timeout": chain.WAIT_SECONDS,
            "max_overflow": chain.MOST_CONNECTIONS - chain.IDLE_CONNECTIONS, "pool_pre_ping": True,
        }  # fmt: skip
        return chain.close_when_unused(self._make_database(settings))

    def _make_database(self, pool: Mapping[str, Any]) -> chain.Database:
        """Return the database with two engines, for reading snapshots and for writing, that use these pool settings.

        Args:
            pool: Settings of SQLAlchemy's connection pool.
        """
        # One snapshot for all statements of a reading transaction.
        read_engine = _make_server_engine(self._url, "REPEATABLE READ", pool)
        # A writer locks the book first. At this level the following statements see everything that was committed
        # while it waited for the lock; at a stricter level it would be aborted instead.
        write_engine = _make_server_engine(self._url, "READ COMMITTED", pool)
        sql.event.listen(write_engine, "begin", _prepare_write)
        return chain.Database(f"PostgreSQL database {self._url.database!r}", read_engine, write_engine)


def _prepare_write(connection: sql.Connection) -> None:
    """Set up a writing transaction of PostgreSQL: limit its wait for locks, and make its commit wait for the disk.

    Args:
        connection: Connection in the transaction.
    """
    connection.execute(_PREPARE_WRITING, {"wait": f"{1000 * chain.get_wait_seconds():.0f}ms"})


def _make_server_engine(url: sql.URL, isolation: str, pool: Mapping[str, Any]) -> sql.Engine:
    """Make the SQLAlchemy engine of a ledger on a PostgreSQL server.

    Args:
        url: URL of the database.
        isolation: Isolation level of transactions.
        pool: Settings of the connection pool.

    Raises:
        InvalidArgument: the driver (psycopg) is not installed.
    """
    try:
        return sql.create_engine(
            url.set(drivername="postgresql+psycopg"),
            **pool,
            isolation_level=isolation,
            use_native_hstore=False,  # saves a query for a type that is not used here
            connect_args={"connect_timeout": 10},
        )
    except ImportError:
        rule = "PostgreSQL needs an extra: pip install 'dpcurves[postgres]'"
    raise InvalidArgument("ledger", rule)


def _create_once(connection: sql.Connection, key: chain.Key) -> None:
    """Create the tables of a ledger on a server under a lock, unless another process created them meanwhile.

    Args:
        connection: Connection in a transaction.
        key: Key that seals the first entry.
    """
    # CREATE TABLE IF NOT EXISTS fails if two processes try at once. This lock ends with the transaction.
    connection.execute(sql.text("SELECT pg_advisory_xact_lock(:number)").bindparams(number=_CREATION_LOCK))
    if not _has_ledger(connection):
        chain.Book.from_key(key).create(connection, key)


def _has_ledger(connection: sql.Connection) -> bool:
    """Return True if the database contains a ledger, that is the table of its header row.

    Args:
        connection: Connection to the database.
    """
    return sql.inspect(connection).has_table(chain.LEDGER_TABLE.name)


_URL_FORMS = "sqlite:///budget.db, postgresql+psycopg://user@host/database or sqlite:// for one in memory"
"""URLs of supported databases, for the error about another one."""


class Storage(Protocol):
    """Database of a ledger, with the location of its key.

    Attributes:
        is_persistent: Whether the ledger outlives this process.
    """

    is_persistent: bool

    def exists(self) -> bool:
        """Return True if a ledger, or a file that should be one, exists here."""

    def key(self) -> chain.Key:
        """Return the key beside the ledger; for a new ledger, a new key, which `create` will store."""

    def require_not_lost(self) -> None:
        """Refuse a location whose key exists but whose ledger is missing, because the losses spent there would be
        forgotten.
        """

    def create(self, key: chain.Key) -> None:
        """Create an empty ledger, unless another process was first.

        Args:
            key: Key that seals the entries.
        """

    def open_database(self) -> chain.Database:
        """Return the ledger's database, with a new connection for each transaction."""

    def open_persistent(self) -> chain.Database:
        """Return the ledger's database for a server, with connections that stay open between transactions."""


def parse_storage_url(url: str) -> Storage:
    """Return where a ledger is stored (file, memory or server), as its URL says.

    Args:
        url: URL of the ledger, such as ``sqlite:///budget.db``.

    Raises:
        ValueError: the URL names none. The message omits the URL, which may contain a password.
    """
    try:
        parsed = sql.make_url(url)
    except (SQLAlchemyError, ValueError):
        parsed = None
    if parsed is None:  # raised outside the except block, so that the error does not chain one that quotes the URL
        raise InvalidArgument("ledger", f"give a URL, one of {_URL_FORMS}")
    if parsed.drivername in ("postgresql", "postgresql+psycopg"):
        return ServerStorage(parsed)
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise InvalidArgument("ledger", f"give a URL, one of {_URL_FORMS}, got one of {parsed.drivername!r}")
    if parsed.query or parsed.host:
        raise InvalidArgument(
            "ledger", "write an SQLite URL as sqlite:/// and the path of a file, without host and options"
        )
    return MemoryStorage() if parsed.database in (None, "", ":memory:") else FileStorage(str(parsed.database))
