"""Atomic file writes by write-then-rename, and private scratch folders that are removed after a crash.

    write_whole      path, content -> the file, written as a whole or not at all
    hold_draft       context manager: yields a temporary file (*draft*) beside the file, for the caller to rename
    ScratchFolder    a private folder for temporary files of this process

A write has four steps, each of which may be interrupted:

1. create a draft of a random name beside the file, and lock it (``flock``);
2. write and flush;
3. rename the draft to the file, which is atomic: readers see the old file or the new one, never a part;
4. unlock.

A draft is locked while its writer lives. So the next writer can remove the unlocked drafts of ended processes,
even if they ran on other machines. Where the system lacks ``flock``, nothing is removed. Scratch folders have a locked
file for the same reason.

Reference: POSIX.1-2017, ``rename``.

>>> with tempfile.TemporaryDirectory() as folder, hold_draft(Path(folder, "ages.csv")) as draft:
...     _ = draft.write_text("age")
...     _ = draft.replace(Path(folder, "ages.csv"))
...     sorted(path.name for path in Path(folder).iterdir())
['ages.csv']
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

DRAFT_PREFIX = ".dpcurves-draft-"
"""Beginning of the name of a file that is written and then renamed to its final name."""
DRAFT_PATTERN = re.compile(re.escape(DRAFT_PREFIX) + r"[0-9a-f]{16}(?:[.].{0,19})?(?<!-wal)(?<!-shm)(?<!-journal)")
"""Matches names of drafts that may be removed as left over by a killed process, if nobody locks them. Files that SQLite
keeps beside a draft are never locked, so they do not match."""
SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite keeps beside a database; they are removed with it."""


@contextmanager
def hold_draft(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """Yield the path of a new empty draft beside a file. It is removed at the end, if it still exists.

    The draft has the ending of the file. Drafts of killed processes in the folder are removed first.

    Args:
        path: The file that the caller will write, by renaming the draft.
        mode: Permissions of the draft, before the process's mask.

    Raises:
        OSError: the folder accepts no file.
    """
    sweep_drafts(path.parent)
    names = (f"{DRAFT_PREFIX}{secrets.token_hex(8)}{path.suffix[:20]}" for _ in count())
    draft, descriptor = _lock_new_file(path.parent, names, mode)
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)
        os.close(descriptor)


def write_whole(path: str | os.PathLike[str], content: str | bytes, mode: int = 0o666) -> None:
    """Write a file in place of an earlier one: a reader sees the earlier file or the new one, never a part of either.

    That also holds if the writer is killed. A link stays, and so do the permissions of an earlier file; a device or
    pipe is written directly.

    Args:
        path: The file.
        content: Its bytes, or a text that is encoded as UTF-8.
        mode: Permissions of a file that was not there.

    Raises:
        OSError: the folder accepts no file, or the disk is full.
    """
    written = content.encode() if isinstance(content, str) else content
    file = Path(os.path.realpath(path))
    if file.exists() and not file.is_file():
        file.write_bytes(written)
        return
    with hold_draft(file, mode) as draft:
        draft.write_bytes(written)
        with suppress(FileNotFoundError):
            draft.chmod(stat.S_IMODE(file.stat().st_mode))
        os.replace(draft, file)


def _lock_new_file(folder: Path, names: Iterator[str], mode: int) -> tuple[Path, int]:
    """Create an empty file under the first free name, and lock it.

    Args:
        folder: Folder of the file.
        names: Names that are tried, without end.
        mode: Permissions of the file.

    Returns:
        The path, and the descriptor that holds the lock until it is closed.

    Raises:
        OSError: the folder accepts no file.
    """
    while True:
        path = folder / next(names)
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
        except FileExistsError:
            continue
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:  # else a sweep was faster than the lock
            return path, descriptor
        os.close(descriptor)


def sweep_drafts(folder: Path) -> int:
    """Remove draft files that ended processes left in a folder.

    At most 1,000 entries of the folder are looked at. A folder that cannot be read is left alone.

    Args:
        folder: The folder.

    Returns:
        The number of removed files; 0 where files cannot be locked.
    """
    if fcntl is None:
        return 0
    removed = 0
    most_swept = 1000  # entries of a folder that a sweep looks at: a larger folder is not worth the time
    with suppress(OSError), os.scandir(folder) as entries:
        for _, entry in zip(range(most_swept), entries, strict=False):
            # `startswith` first: folders of ledgers' heads are swept at each charge, and hold hundreds of other names
            if (
                entry.name.startswith(DRAFT_PREFIX)
                and DRAFT_PATTERN.fullmatch(entry.name)
                and entry.is_file(follow_symlinks=False)
            ):
                removed += _remove_unlocked(entry.path)
    return removed


def _remove_unlocked(path: str, folder: str | None = None) -> bool:
    """Remove a draft, or a lock with the folder that it locks, if no process holds it.

    Args:
        path: The draft, or the lock file.
        folder: Folder that is removed with the lock; None: the file is a draft.

    Returns:
        True if it was removed; False if a process holds it, or it cannot be removed.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        os.unlink(path)
        for ending in SQLITE_SUFFIXES:
            with suppress(FileNotFoundError):
                os.unlink(path + ending)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


LOCK_SUFFIX = ".lock"
"""Ending of a file beside a scratch folder that is locked while its process lives. A folder whose file is not locked is
removed by a later process."""
USER_NUMBER = os.getuid() if hasattr(os, "getuid") else 0
"""Number of the user who runs this process (0 on Windows), in the name of the user's folder of scratch folders."""
SCRATCH_PARENT_PREFIX = "dpcurves-own-"
"""Beginning of the name of a new folder for one scratch folder, if another user owns the usual one or may enter it."""
SCRATCH_NUMBERS = count()
"""Counter in the names of this process's scratch folders, so that no two have the same."""
SWEPT_FOLDERS: set[Path] = set()
"""Folders in which this process has looked for left-over scratch folders, once each."""


class ScratchFolder:
    """A private folder for temporary files of this process, which `remove` and the end of the process remove.

    SENSITIVE: engines may write records into it. Folders of killed processes are removed when the next process of the
    same user makes its first one.

    Args:
        temporary: The folder of temporary files; None: the system's.
    """

    __slots__ = ("__weakref__", "path", "remove")

    def __init__(self, temporary: Path | None = None) -> None:
        """Make the folder with a locked file beside it, and first remove folders of ended processes.

        Args:
            temporary: The folder of temporary files; None: the system's.

        Raises:
            OSError: the folder of temporary files accepts no file.
        """
        parent = _find_scratch_parent(temporary or Path(tempfile.gettempdir()))
        if parent not in SWEPT_FOLDERS:
            SWEPT_FOLDERS.add(parent)
            sweep_scratch_folders(parent)
        names = (
            f"{os.getpid()}-{number}{LOCK_SUFFIX}" for number in SCRATCH_NUMBERS
        )  # no entropy, which a simulation would replay
        lock, descriptor = _lock_new_file(parent, names, 0o600)
        self.path = lock.with_suffix("")
        self.path.mkdir(mode=0o700, exist_ok=True)
        self.remove = weakref.finalize(self, _remove_scratch_folder, lock, descriptor)


def sweep_scratch_folders(parent: Path) -> int:
    """Remove the scratch folders of ended processes.

    Args:
        parent: Folder of this user's scratch folders.

    Returns:
        The number of removed folders; 0 where files cannot be locked.
    """
    if fcntl is None:
        return 0
    locks = sorted(parent.glob(f"*{LOCK_SUFFIX}"))
    return sum(_remove_unlocked(str(lock), str(lock.with_suffix(""))) for lock in locks)


def _find_scratch_parent(temporary: Path) -> Path:
    """Return the folder of this user's scratch folders, which is made if it is missing.

    Args:
        temporary: Folder of temporary files.

    Returns:
        A folder that no other user can enter. If another user owns, or may enter, the folder of the usual name, a new
        one.
    """
    parent = temporary / f"dpcurves-{USER_NUMBER}"
    with suppress(OSError):
        parent.mkdir(mode=0o700, exist_ok=True)
        status = parent.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid == USER_NUMBER and not status.st_mode & 0o077:
            return parent
    return Path(tempfile.mkdtemp(prefix=SCRATCH_PARENT_PREFIX, dir=temporary))


def _remove_scratch_folder(lock: Path, descriptor: int) -> None:
    """Remove a scratch folder of this process, and its lock.

    Args:
        lock: The lock file; the folder has its name without the ending.
        descriptor: Descriptor that holds the lock; it is closed.
    """
    shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
    with suppress(OSError):
        lock.unlink()
        if lock.parent.name.startswith(SCRATCH_PARENT_PREFIX):
            lock.parent.rmdir()
    os.close(descriptor)
