"""Simulated disks: files in a folder in memory. A loss of power removes unflushed data.

Three kinds of storage are modelled. *Files* keep what was last flushed by `fsync`, and a folder keeps the names that it
had when it was last flushed; a loss of power keeps the later state, the flushed one, or for contents a prefix.
*Databases* are real SQLite files. A commit is durable if its connection has ``synchronous = FULL``, as SQLite documents
for its log; else a loss of power may take it. SQLite itself is trusted here; `make crash` kills real processes inside
it. *Stale copies*: an operator puts a copy of a database back that was taken earlier.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache, lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

from dpcurves import drafts
from dpcurves.ledger import balance, chain, head_copy, sqlite, stored_views, verification

from .direct_engine import DirectEngine
from .world import POWER_LOST, PROCESS_KILLED, Violation, World, replace_attributes

DISK_FULL = "disk full"
"""Fault: a write fails, and nothing was written."""
IO_ERROR = "I/O error"
"""Fault: a write reports an error, and may have been written."""
HEADS_FOLDER = "heads"
"""Name of the folder, on every machine's simulated disk, with copies of the last hash of each ledger."""
MEMORY_FOLDER = Path("/dev/shm")
"""Folder whose files are in memory, on Linux, so that simulated disks are fast."""
SQLITE_SUFFIXES = ("", "-wal", "-shm")
"""Endings that are added to the name of a SQLite database to name all of its files."""
DATABASE_SUFFIXES = (".db", ".db-wal", ".db-shm")
"""Endings of the names of files that belong to databases; SQLite writes them, so they are simulated apart from
others."""
FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)
"""Date and time at which simulated worlds begin, so that a seed gives the same run on any day."""


@dataclass(eq=False)
class _Flushed:
    """What a loss of power cannot take: contents by inode, and names by folder."""

    contents: dict[int, bytes] = field(default_factory=dict)
    names: dict[str, dict[str, int]] = field(default_factory=dict)


class SimulatedDisk:
    """The disks of all machines of a world: a folder for each machine.

    Args:
        world: The world.
        root: A new folder, best in memory.
    """

    def __init__(self, world: World, root: Path) -> None:
        """Make a simulated disk, whose files lie in a folder of the real one.

        Args:
            world: The simulated world, whose schedule decides faults.
            root: Folder of the files of all simulated machines.
        """
        self._world, self.root = world, root
        self._flushed = _Flushed()
        self._inside = f"{root}{os.sep}"
        self._graveyard = root / "flushed"
        self._graveyard.mkdir()
        self._graves: set[int] = set()
        self._writers: dict[int, Any] = {}
        self._volatile: dict[str, dict[str, bytes]] = {}
        self._readers: dict[str, tuple[int, sqlite3.Connection]] = {}
        self._snapshot: sqlite3.Connection | None = None
        self.commits = 0
        self.commits_by_file: Counter[str] = Counter()
        self.stale: Path | None = None
        world.on_kill.append(self._prepare_loss)

    def make_folder(self, machine: str) -> Path:
        """Return the folder with the files of a simulated machine, created if missing.

        Args:
            machine: Name of the machine.
        """
        folder = self.root / machine
        folder.mkdir(exist_ok=True)
        self._flushed.names.setdefault(str(folder), {})
        return folder

    # Files

    def contains(self, path: str) -> bool:
        """Return True if a path is on this simulated disk.

        Args:
            path: The path.
        """
        return path.startswith(self._inside)

    def flush(self, path: str) -> None:
        """Record a file or folder as flushed, so that a loss of power leaves it as it is.

        Args:
            path: File or folder; paths outside the simulated disk, and missing paths, have no effect.
        """
        if not self.contains(path):
            return
        if os.path.isdir(path):
            self._flush_names(path)
        elif os.path.exists(path):
            self._flushed.contents[os.stat(path).st_ino] = read_file(path)

    def flush_all(self, folder: Path) -> None:
        """Record a folder and all its files as flushed, so that a loss of power leaves them as they are.

        Args:
            folder: The folder.
        """
        for path in self._list_files(folder):
            self._flushed.contents[os.stat(path).st_ino] = read_file(path)
        self._flush_names(str(folder))

    def _flush_names(self, folder: str) -> None:
        """Record which files a folder has, as flushed, so that a simulated loss of power can bring them back.

        Args:
            folder: Path of the folder.
        """
        with os.scandir(folder) as entries:
            names = {entry.name: entry.inode() for entry in entries}
        for name, inode in names.items():
            if inode not in self._graves:
                os.link(f"{folder}/{name}", f"{self._graveyard}/{inode}")
                self._graves.add(inode)  # a linked file keeps its inode
        self._flushed.names[folder] = names

    @staticmethod
    def _list_files(folder: Path) -> list[str]:
        """Return the files of a folder that are no databases, in the order of their names.

        Args:
            folder: Folder of a machine; folders inside are left out.

        Returns:
            Paths as texts.
        """
        with os.scandir(folder) as entries:
            return sorted(
                entry.path for entry in entries if not entry.name.endswith(DATABASE_SUFFIXES) and entry.is_file()
            )

    def _lose_unflushed(self, folder: Path) -> None:
        """Discard data that a machine has not flushed, chosen by the seed: file names, contents and commits.

        Args:
            folder: Folder of the machine that lost its power.
        """
        world = self._world
        names = self._flushed.names.get(str(folder), {})
        for path in sorted(folder.iterdir()):
            if path.name.endswith(("-wal", "-shm")):
                continue
            if path.name not in names and world.draw("name") < 0.5:
                self._remove(path)
        for name, inode in sorted(names.items()):
            path = folder / name
            if not name.endswith(("-wal", "-shm")) and not path.exists() and world.draw("name comes back") < 0.5:
                os.link(self._graveyard / str(inode), path)
        for file in self._list_files(folder):
            flushed = self._flushed.contents.get(os.stat(file).st_ino, b"")
            present = read_file(file)
            if flushed != present:
                torn = present[: int(world.draw("torn") * len(present))]
                Path(file).write_bytes(world.choose("contents", [flushed, present, torn]))
        for name, image in list(self._volatile.items()):
            if Path(name).parent == folder and world.draw("commits") < 0.5:
                self._put_image(Path(name), image)
                del self._volatile[name]
        self.flush_all(folder)

    def _remove(self, path: Path) -> None:
        """Remove a file and, if it is a database, its log and lock files.

        Args:
            path: File; a missing file is no error.
        """
        for ending in SQLITE_SUFFIXES if path.suffix == ".db" else ("",):
            path.with_name(path.name + ending).unlink(missing_ok=True)

    def _prepare_loss(self, machine: str, fault: str) -> Callable[[], None]:
        """Save the files of a machine as they are at the moment of a fault, before the killed code cleans up.

        Args:
            machine: Name of the machine.
            fault: Kill, or loss of power.

        Returns:
            Function that brings the machine's files into the state after the fault; called once, when the killed code
            has ended.
        """
        folders = [folder for folder in (self.root / machine, self.root / HEADS_FOLDER) if folder.exists()]
        files = {path: read_file(path) for folder in folders for path in self._list_files(folder)}

        def finish() -> None:
            """Restore the files as they were at the fault, so that nothing remains of what cleanup code did afterwards.

            After a loss of power, also drop or tear what was not flushed. Called once, when the killed code has ended.
            """
            for folder in folders:
                for path in self._list_files(folder):
                    if path not in files:
                        os.unlink(path)
            for path, content in files.items():
                if not os.path.exists(path) or read_file(path) != content:
                    Path(path).write_bytes(content)
            if fault == POWER_LOST:
                for folder in folders:
                    self._lose_unflushed(folder)

        return finish

    # Databases

    def begin(self, connection: Any) -> None:
        """Wait until no other process writes to the database, as SQLite does.

        Args:
            connection: Connection that begins a write transaction; without a file there is no wait.
        """
        file = getattr(connection, "file", None)
        if file is None or not self._world.is_running:
            return
        process = self._world.current
        self._world.wait_until(lambda: not self._is_writing(file[1]), 0.005)  # seconds between two looks
        self._writers[file[1]] = connection, process, process.starts

    def _is_writing(self, inode: int) -> bool:
        """Return True if a living process has an open write transaction on a database.

        Args:
            inode: Inode number of the database's file.
        """
        _, process, starts = self._writers.get(inode, (None, None, 0))
        return process is not None and not process.is_dead and process.starts == starts

    def release(self, connection: Any) -> None:
        """Let other simulated processes write to a database, if this connection had a write transaction.

        Args:
            connection: Connection whose transaction has ended.
        """
        file = getattr(connection, "file", None)
        if file is not None and self._writers.get(file[1], (None,))[0] is connection:
            del self._writers[file[1]]

    def commit(self, connection: Any, commit: Callable[[Any], None]) -> None:
        """Commit a transaction of a database on the simulated disk.

        A transaction that writes has an event of the simulation before and after it, at which faults may happen.

        Args:
            connection: Connection of the database.
            commit: Function that commits it.

        Raises:
            sqlite3.OperationalError: the simulated disk is full or broken.
        """
        file = getattr(connection, "file", None)
        if file is None or self._writers.get(file[1], (None,))[0] is not connection or not self._world.is_running:
            commit(connection)
            return
        path: Path = connection.path
        if path.name.startswith(drafts.DRAFT_PREFIX):
            commit(connection)
            self.release(connection)
            return
        fault = self._world.step(f"commit to {path.name}", PROCESS_KILLED, POWER_LOST, DISK_FULL)
        if fault == DISK_FULL:
            raise make_database_error("SQLITE_FULL")
        # 2: value of SQLite's ``PRAGMA synchronous`` from which a commit waits for the disk
        is_durable = connection.find_synchronous() >= 2
        if not is_durable:
            self._volatile.setdefault(str(path), self._take_image(path))
        commit(connection)
        self.commits += 1
        self.commits_by_file[str(path)] += 1
        self.release(connection)
        if is_durable:
            self._volatile.pop(str(path), None)
            self._flush_new_log(path)
        if self._world.step(f"committed to {path.name}", PROCESS_KILLED, POWER_LOST, IO_ERROR) == IO_ERROR:
            raise make_database_error("SQLITE_IOERR")

    def _flush_new_log(self, path: Path) -> None:
        """Record the folder of a database as flushed if its write-ahead log is new, as SQLite does at the log's first
        commit.

        Args:
            path: File of the database.
        """
        identity = chain.file_identity(path.with_name(f"{path.name}-wal"))
        folder = str(path.parent)
        if identity is not None and self._flushed.names.get(folder, {}).get(f"{path.name}-wal") != identity[1]:
            self._flush_names(folder)

    def rollback(self, connection: Any, rollback: Callable[[Any], None]) -> None:
        """Roll a transaction back, and let other simulated processes write.

        Args:
            connection: Connection of the database.
            rollback: The library's function that rolls its transaction back.
        """
        with suppress(sqlite3.ProgrammingError):
            rollback(connection)
        self.release(connection)

    @staticmethod
    def _take_image(path: Path) -> dict[str, bytes]:
        """Return the contents of the files of a database: the main file and its write-ahead log.

        Args:
            path: File of the database.

        Returns:
            Contents by ending: an empty text and ``-wal``; a missing file has no entry.
        """
        files = {ending: path.with_name(path.name + ending) for ending in ("", "-wal")}
        return {ending: file.read_bytes() for ending, file in files.items() if file.exists()}

    @staticmethod
    def _put_image(path: Path, image: dict[str, bytes]) -> None:
        """Replace the files of a database by an image, under a new inode, so that no open connection sees it.

        Args:
            path: File of the database.
            image: Contents by ending, from `_take_image`.
        """
        for ending in SQLITE_SUFFIXES:
            path.with_name(path.name + ending).unlink(missing_ok=True)
        for ending, content in image.items():
            draft = path.with_name("image" + ending)
            draft.write_bytes(content)
            os.replace(draft, path.with_name(path.name + ending))

    def read(self, path: Path, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query on the committed state of a database, for checks; none if it does not exist.

        Args:
            path: File of the database.
            query: SQL query.
            values: Parameters of the query, in order.
        """
        connection = self._snapshot or self._find_reader(path)
        return [] if connection is None else connection.execute(query, values).fetchall()

    @contextmanager
    def read_snapshot(self, path: Path) -> Iterator[bool]:
        """Context in which all reads of a database see one snapshot; it gives True if the database exists.

        Args:
            path: File of the database.
        """
        connection = self._find_reader(path)
        if connection is None:
            yield False
            return
        connection.execute("BEGIN")
        self._snapshot = connection
        try:
            yield True
        finally:
            self._snapshot = None
            connection.execute("COMMIT")

    def _find_reader(self, path: Path) -> sqlite3.Connection | None:
        """Return the connection by which invariants are checked on a database; None if the database does not exist.

        It stays open, which saves SQLite from moving its log into the file after each transaction.

        Args:
            path: File of the database.
        """
        identity = chain.file_identity(path)
        if identity is None:
            return None
        inode = identity[1]
        known, connection = self._readers.get(str(path), (0, None))
        if known != inode or connection is None:
            if connection is not None:
                connection.close()
            connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
            self._readers[str(path)] = inode, connection
        return connection

    def close(self) -> None:
        """Close the database connections by which invariants were checked."""
        for _, connection in self._readers.values():
            connection.close()
        self._readers.clear()

    def take_copy(self, path: Path) -> dict[str, bytes]:
        """Return a backup of a database, for `put_back`.

        Args:
            path: File of the database.

        Returns:
            Contents by ending: an empty text and ``-wal``.
        """
        return self._take_image(path)

    def put_back(self, path: Path, image: dict[str, bytes]) -> dict[str, bytes]:
        """Replace the files of a database by a backup, and return the files as they were.

        Args:
            path: File of the database.
            image: Backup from `take_copy`: contents by ending.
        """
        present = self._take_image(path)
        self._put_image(path, image)
        self.flush_all(path.parent)
        return present


def read_file(path: str) -> bytes:
    """Return the content of a small file.

    Args:
        path: File, read by one system call.

    Raises:
        OSError: the file does not exist.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def make_database_error(name: str) -> sqlite3.OperationalError:
    """Return an error of SQLite with this name, such as SQLITE_FULL.

    Args:
        name: Name of SQLite's error code.
    """
    error = sqlite3.OperationalError(name)
    error.sqlite_errorname = name
    return error


class _DraftConnection(chain.FileConnection):
    """A connection that knows the path of its database."""

    path: Path

    def find_synchronous(self) -> int:
        """Return the value of ``PRAGMA synchronous``, which decides whether SQLite flushes at a commit."""
        return int(self.execute("PRAGMA synchronous").fetchone()[0])


class _ReusedConnection(_DraftConnection):
    """A connection to a simulated disk that is given out again after it was closed: opening one costs a millisecond."""

    idle: list[_ReusedConnection] | None = None
    _last_pragma = ""
    _synchronous: int | None = None

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """Execute a statement, but skip a setting (PRAGMA) that the last user of this pooled connection has made
        already.

        Args:
            statement: SQL.
            values: Parameters.
        """
        if statement.startswith("PRAGMA synchronous ="):
            if statement == self._last_pragma:
                return self.cursor()
            self._last_pragma, self._synchronous = statement, None
        return super().execute(statement, *values)

    def find_synchronous(self) -> int:
        """Return the value of ``PRAGMA synchronous``, which decides whether SQLite flushes; cached until it is
        changed.
        """
        if self._synchronous is None:
            self._synchronous = super().find_synchronous()
        return self._synchronous

    def close(self) -> None:
        """Roll back, and return the connection to the pool for the next transaction; a connection to a draft is
        closed.
        """
        if self.idle is None:
            super().close()
            return
        if self.in_transaction:
            self.rollback()
        self.idle.append(self)


class _Databases:
    """The module `sqlite3` as code on a simulated disk sees it: connections to the same file are used again."""

    def __init__(self) -> None:
        self._idle: dict[tuple[str, int], list[_ReusedConnection]] = {}

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the module `sqlite3` that is not simulated.

        Args:
            name: Name of the attribute.
        """
        return getattr(sqlite3, name)

    def connect(self, address: str, **options: Any) -> sqlite3.Connection:
        """Return an idle connection to the file at an address, or open a new one.

        Args:
            address: Path or URI of the file.
            options: Arguments of `sqlite3.connect`.

        Raises:
            sqlite3.Error: the file cannot be opened.
        """
        path = _find_path(address)
        identity = None if drafts.DRAFT_PREFIX in path.name else chain.file_identity(path)
        if identity is None:
            draft: _DraftConnection = sqlite3.connect(address, **{**options, "factory": _DraftConnection})
            draft.path = path
            return draft
        idle = self._idle.setdefault((address, identity[1]), [])
        if idle:
            return idle.pop()
        connection: _ReusedConnection = sqlite3.connect(address, **{**options, "factory": _ReusedConnection})
        connection.idle, connection.path = idle, path
        return connection

    def close(self) -> None:
        """Close the pooled connections that are idle; connections in use are closed when their users close them."""
        for connections in self._idle.values():
            while connections:
                connection = connections.pop()
                connection.idle = None
                connection.close()


@lru_cache(maxsize=64)
def _find_path(address: str) -> Path:
    """Return the file that an address of SQLite names.

    Args:
        address: Path or URI of a database.
    """
    return Path(unquote(address.removeprefix("file://").partition("?")[0]))


KNOWN_SEALS: dict[tuple[object, ...], str] = {}
"""Cache of keyed hashes in ledgers, by key, facts and types of the facts, because computing them anew is slow."""
MOST_SEALS = 2**15
"""Largest number of cached keyed hashes, a few MB; with more, the cache is emptied."""


def _seal_once(seal: Callable[..., str], key: Any, *facts: chain.SealedValue) -> str:
    """Return the seal (keyed hash) of a ledger entry by the library's function, cached.

    The seal depends on the key and the facts alone, and each entry of a ledger is verified many times in a schedule.

    Args:
        seal: The library's function.
        key: Key of the ledger.
        facts: Facts of the entry.
    """
    sealed = (key._secret, facts, *map(type, facts))  # 1, 1.0 and True are equal, and have different seals
    digits = KNOWN_SEALS.get(sealed)
    if digits is None:
        if len(KNOWN_SEALS) >= MOST_SEALS:
            KNOWN_SEALS.clear()
        digits = KNOWN_SEALS[sealed] = seal(key, *facts)
    return digits


class _SystemCalls:
    """The module `os` as code on a simulated disk sees it: names, flushes and new files are events."""

    def __init__(self, world: World, disk: SimulatedDisk) -> None:
        self._world, self._disk = world, disk

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the module `os` that is not simulated, and keep it for later calls.

        Args:
            name: Name of the attribute.
        """
        self.__dict__[name] = getattr(os, name)
        return self.__dict__[name]

    def _step(self, action: str, path: Any, *faults: str) -> None:
        """Count a system call on a file as an event of the simulation, at which the schedule may inject a fault.

        Args:
            action: Name of the call.
            path: The file.
            faults: Faults that may happen beside a kill and a loss of power.

        Raises:
            OSError: the simulated disk is full or broken.
        """
        if not self._world.is_running:
            return
        name = os.path.basename(os.fsdecode(path))
        shown = "a draft" if name.startswith(drafts.DRAFT_PREFIX) else "a head" if name.endswith(".head") else name
        fault = self._world.step(f"{action} {shown}", PROCESS_KILLED, POWER_LOST, *faults)
        if fault == DISK_FULL:
            raise OSError(28, os.strerror(28))  # ENOSPC
        if fault == IO_ERROR:
            raise OSError(5, os.strerror(5))  # EIO

    def open(self, path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        """Open a file where the simulated code calls ``os.open``; creating one on the simulated disk is an event.

        Args:
            path: Path of the file.
            flags: Flags of `os.open`.
            mode: Permissions of a new file.
            more: Further arguments of `os.open`.

        Returns:
            The file descriptor.
        """
        file = os.fsdecode(path)
        is_stored = self._disk.contains(file) and not file.endswith(sqlite.QUEUE_SUFFIX)
        if flags & os.O_CREAT and is_stored and not os.path.exists(file):
            self._step("create", path, DISK_FULL)
        return os.open(path, flags, mode, **more)

    def fsync(self, descriptor: int) -> None:
        """Record a file or folder as flushed, where the simulated code calls ``os.fsync``.

        Failures around the flush of the ledger's head strike its other system calls.

        Args:
            descriptor: Open file descriptor.

        Raises:
            OSError: the schedule lets this flush fail.
        """
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if HEADS_FOLDER not in path.split(os.sep)[-2:]:
            self._step("flush", path, IO_ERROR)
        self._disk.flush(path)

    def link(self, source: Any, target: Any) -> None:
        """Give a file a second name, where the simulated code calls ``os.link``.

        Args:
            source: Existing name.
            target: New name.

        Raises:
            OSError: the target exists.
        """
        self._step("name", target)
        os.link(source, target)

    def replace(self, source: Any, target: Any) -> None:
        """Rename a file and replace any file of that name, where the simulated code calls ``os.replace``.

        Args:
            source: Present name.
            target: New name.

        Raises:
            OSError: the source does not exist.
        """
        self._step("replace", target)
        os.replace(source, target)


@cache
def _make_scratch_folder(memory: Path) -> drafts.ScratchFolder:
    """Return a new folder for the simulated disks of this process, in memory if possible.

    The first call of a process removes folders that killed simulations have left.

    Args:
        memory: Folder of a file system in memory.
    """
    return drafts.ScratchFolder(memory if os.access(memory, os.W_OK) else None)


@contextmanager
def simulate_disk(world: World) -> Iterator[SimulatedDisk]:
    """Context in which files and databases of the simulated library lie on a simulated disk, which it gives.

    Ledgers, keys, drafts and heads are such files.

    Args:
        world: The simulated world.
    """
    folder = tempfile.mkdtemp(dir=_make_scratch_folder(MEMORY_FOLDER).path)
    disk = SimulatedDisk(world, Path(folder))
    databases = _Databases()
    calls = _SystemCalls(world, disk)
    make_engine = partial(DirectEngine, disk)

    def begin_with(statement: str, engine: DirectEngine) -> DirectEngine:
        """Make transactions of an engine begin with a statement, after waiting for other simulated writers.

        Args:
            statement: SQL statement, such as ``BEGIN IMMEDIATE``.
            engine: Engine to change.

        Returns:
            The same engine.
        """
        engine.begin_statement = statement
        return engine

    def sleep(seconds: float) -> None:
        """Let other simulated processes run where the library sleeps between two checks of other processes' files.

        Args:
            seconds: Longest pause, in simulated seconds; no effect outside a process.
        """
        if world.is_running:
            world.poll(seconds)

    @contextmanager
    def wait_turn(self: Any) -> Iterator[None]:
        """Context of a writer in place of the library's: wait in the queue of writers, and check that the wait is
        short.

        Raises:
            Violation: the writer waited for long although no process was stopped or killed.
        """
        start = world.now
        with queue(self):
            # 3.0: seconds that a writer waits for its turn at most, if no process was stopped or killed: writes take
            # much less
            if world.now - start > 3.0 and world.trouble < start:
                raise Violation(f"a writer waited {world.now - start:.1f} s, and no process was stopped")
            yield

    class SimulatedTime:
        """The class `datetime` as the ledger sees it: entries are dated by the world's clock."""

        @staticmethod
        def now(zone: tzinfo) -> datetime:
            """Return the simulated time, where the library asks for the present date and time.

            Args:
                zone: Time zone of the result.
            """
            return (FIRST_DAY + timedelta(seconds=world.now)).astimezone(zone)

    seal = chain.Key.seal
    queue = sqlite.WriterQueue.wait_turn
    random_bytes = world.random_bytes("secrets")
    secrets = SimpleNamespace(token_bytes=random_bytes, token_hex=lambda size: random_bytes(size).hex())
    heads = disk.root / HEADS_FOLDER
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.callback(disk.close)
        stack.callback(databases.close)
        stack.enter_context(
            replace_attributes(
                *((module, "os", calls) for module in (chain, drafts, head_copy)),
                *((module, "secrets", secrets) for module in (chain, drafts)),
                (sqlite, "sqlite3", databases),
                (sqlite, "_begin_with", begin_with),
                (sqlite, "_make_unpooled_engine", make_engine),
                (sqlite, "_make_pooled_engine", make_engine),
                (chain, "require_same_file", lambda engine, path: engine),  # connections end with their transaction
                (chain, "close_when_unused", lambda database: database),
                (sqlite, "sleep", sleep),
                (sqlite.WriterQueue, "wait_turn", wait_turn),
                *((module, "datetime", SimulatedTime) for module in (balance, stored_views, verification)),
                (chain.Key, "seal", lambda key, *facts: _seal_once(seal, key, *facts)),
                (sqlite, "monotonic", lambda: world.now),
                (head_copy, "find_folder", lambda: heads),
            )
        )
        from dpcurves.ledger import ledger

        stack.enter_context(replace_attributes((ledger, "find_folder", lambda: heads)))
        yield disk


__all__ = ["DISK_FULL", "IO_ERROR", "SimulatedDisk", "make_database_error", "simulate_disk"]
