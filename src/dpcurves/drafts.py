"""Atomic writes of files: a draft beside the file, renamed when complete; the next writer deletes stale drafts.

A draft is locked while its writer lives (``flock``), so a sweep removes drafts of ended processes alone, also of other
machines' process numbers. Where the system lacks ``flock``, nothing is swept.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MARK = ".dpcurves-draft-"
"""Beginning of the name of a draft."""
DRAFT = re.compile(re.escape(MARK) + r"[0-9a-f]{16}(?:[.].{0,19})?(?<!-wal)(?<!-shm)(?<!-journal)")
"""Name of a draft, with the ending of its file. Files that SQLite keeps beside a draft are not locked."""
BESIDE = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite keeps beside a database."""


@contextmanager
def hold_draft(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """Yield a new empty draft in the folder of `path`, with its ending. It is removed at the end, if it still exists.

    Drafts of killed processes in the folder are removed first.

    Raises:
        OSError: the folder accepts no file.
    """
    sweep_drafts(path.parent)
    while True:
        draft = path.with_name(f"{MARK}{secrets.token_hex(8)}{path.suffix[:20]}")
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:  # else a sweep was faster than the lock
            break
        os.close(descriptor)
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)
        os.close(descriptor)


def sweep_drafts(folder: Path) -> int:
    """Remove the drafts of ended processes from a folder. Returns their number."""
    if fcntl is None:
        return 0
    removed = 0
    most_swept = 1000  # entries of a folder that a sweep looks at: a larger folder is not worth the time
    with suppress(OSError), os.scandir(folder) as entries:
        for _, entry in zip(range(most_swept), entries, strict=False):
            if DRAFT.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                removed += _remove_unlocked(entry.path)
    return removed


def _remove_unlocked(path: str) -> bool:
    """Remove a draft that no process holds. Returns False if one holds it, or it cannot be removed."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
        for ending in BESIDE:
            with suppress(FileNotFoundError):
                os.unlink(path + ending)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
