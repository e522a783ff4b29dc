"""SECRET. A file of one party alone, an SQLite database: each change is on the disk when it is over."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dpcurves.arguments import ProtocolAborted
from dpcurves.ledger.new_file import publish

_PATIENCE = 30.0


@contextmanager
def changing(path: Path, owner: str, tables: Sequence[str]) -> Iterator[sqlite3.Connection]:
    """Run an exclusive SQLite transaction, durable on disk when it ends. The file is readable by its owner alone.

    Args:
        path: The file; it is made if there is none.
        owner: Subject of an error.
        tables: SQL that makes what is not there yet.

    Raises:
        ProtocolAborted: the file can not be read or written. Nothing of it is shown.
    """
    base: sqlite3.Connection | None = None
    try:
        if not path.exists():
            # Not opened where it stands: a file that is closed takes all locks along that this process has on it.
            publish(path, lambda _: None)
        base = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
        base.execute("PRAGMA synchronous = FULL")
        base.execute("BEGIN IMMEDIATE")
        for table in tables:
            base.execute(table)
        yield base
        base.execute("COMMIT")
    except (OSError, sqlite3.Error):
        raise ProtocolAborted(owner, f"{str(path)!r} can not be read or written", 500) from None
    finally:
        if base is not None:
            base.close()
