"""Reports kept on a device: the first one of each task is sent again, so that no second one is made."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dpcurves.arguments import Refused

from .known_names import folded

TABLE = "CREATE TABLE IF NOT EXISTS kept (task TEXT, person TEXT, report BLOB NOT NULL, PRIMARY KEY (task, person))"
WAIT = 60.0
FOLDED = 1
"""The version of files whose names are all folded, too."""


@dataclass(frozen=True)
class Kept:
    """A file of reports that were made, as they were sent: it holds no value.

    Formal guarantees: for each task and person there is one report, whoever asks how often: asked a thousand times, the
    aggregator sees one draw of the randomiser, and averages nothing. It is written before it is given out. Names that
    differ in case, compatible characters or spaces are one person's, also those that earlier versions kept.

    Attributes:
        path: The file; made when it is needed first.
    """

    path: Path

    @classmethod
    def at(cls, path: str | Path) -> Kept:
        """The file of this name."""
        return cls(Path(path))

    def first(self, task: str, person: str, fresh: Callable[[], bytes]) -> bytes:
        """The report that was made first; if there is none, `fresh` makes it.

        Raises:
            ValueError: the file can not be used.
        """
        person = folded(person)
        with self._opened() as store:
            store.execute("BEGIN IMMEDIATE")
            _fold_names(store)
            found = store.execute("SELECT report FROM kept WHERE task = ? AND person = ?", (task, person)).fetchone()
            if found is not None:
                store.execute("COMMIT")
                return bytes(found[0])
            report = fresh()
            store.execute("INSERT INTO kept VALUES (?, ?, ?)", (task, person, report))
            store.execute("COMMIT")
            return report

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=WAIT, isolation_level=None)) as store:
                store.execute(TABLE)
                yield store
        except sqlite3.Error:
            raise Refused(
                "kept", "the file of reports can not be used: it is locked, damaged or of another kind"
            ) from None


def _fold_names(store: sqlite3.Connection) -> None:
    """Enter the reports of a file of an earlier version under folded names, too: of several the first that was made."""
    (version,) = store.execute("PRAGMA user_version").fetchone()
    if version >= FOLDED:
        return
    rows = store.execute("SELECT task, person, report FROM kept ORDER BY rowid").fetchall()
    new = ((task, folded(person), report) for task, person, report in rows)
    store.executemany("INSERT OR IGNORE INTO kept VALUES (?, ?, ?)", new)
    store.execute(f"PRAGMA user_version = {FOLDED}")
