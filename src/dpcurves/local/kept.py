"""What a person's device keeps: the first report for each task, so that no second one is ever made."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..arguments import Refused

TABLE = "CREATE TABLE IF NOT EXISTS kept (task TEXT, person TEXT, report BLOB NOT NULL, PRIMARY KEY (task, person))"
WAIT = 60.0


@dataclass(frozen=True)
class Kept:
    """A file of reports that were made, as they were sent: it holds no value.

    Formal guarantees: for each task and person there is one report, whoever asks how often: asked a thousand times, the
    aggregator sees one draw of the randomiser, and averages nothing. It is written before it is given out.

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
        with self._opened() as store:
            store.execute("BEGIN IMMEDIATE")
            found = store.execute("SELECT report FROM kept WHERE task = ? AND person = ?", (task, person)).fetchone()
            if found is not None:
                store.execute("ROLLBACK")
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
