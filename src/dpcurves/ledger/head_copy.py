"""Rollback protection of the privacy ledger: detect by a second copy of its last hash that an older copy was put back.

The ledger is a hash chain of entries that account for spent privacy budget. A restored backup lacks later charges. It
would grant their budget again, and answer a known question with fresh noise, which can be averaged away. `HeadCopy`
stores the head of each ledger in a file outside of it, by default in the user's state folder. The head is the number of
entries and the seal (a keyed hash) of the last entry; neither reveals a question.

Before each charge the ledger is compared with its stored head of n entries and seal s:

- fewer than n entries: an older copy was put back, and the charge is refused;
- entry n has another seal than s: another copy was put back, and the charge is refused;
- otherwise it is the same ledger, perhaps with further entries.

``dpcurves ledger restore`` accepts an older copy on purpose, and records that. No record is read.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import sqlalchemy as sql

from ..arguments import InvalidArgument
from ..drafts import hold_draft
from .chain import ENTRIES, Book, Chain, flush, flush_names

HEADS_VARIABLE = "DPCURVES_HEADS"
"""Environment variable that names the folder of heads; ``off`` stores none; unset or empty: the default folder."""
HEAD_PATTERN = re.compile(r"([0-9]{1,18}) ([0-9a-f]{64})\n")
"""Content of a file of this folder: the number of entries of a ledger, and the seal of the last one. Another content
counts as none."""
RESTORE_ACTION = "put back an older copy of the ledger"
"""Action of the audit event that records that an administrator accepted an older copy of the ledger."""


def find_folder() -> Path | None:
    """Return the folder in which copies of ledgers' heads are kept, or None if none are kept.

    An environment variable names it; else it is in the user's state folder.
    """
    text = os.environ.get(HEADS_VARIABLE)
    if text == "off":
        return None
    if text:
        return Path(text)
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "dpcurves" / "heads"


class HeadCopy:
    """Files with the last known heads of ledgers, one per ledger, in one folder.

    Formal guarantees: a ledger with fewer entries than its stored head, or with another entry in that place, is refused
    before it is charged or changed. There is no guarantee if the folder cannot be written, or was put back as well.

    Args:
        folder: Folder of heads.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def require_not_older(self, chain: Chain) -> None:
        """Refuse a ledger that does not continue its stored head: an older copy of itself, or a copy that diverged.

        Nothing is checked if no head is stored, as at the first use, or if its file cannot be read. The stored head is
        not changed: `store` does that, after the ledger was written.

        Args:
            chain: Open transaction of the ledger.

        Raises:
            ValueError: the ledger has fewer entries than the stored head, or another entry in the place of that head.
                The message names the numbers of entries and the command for a restore on purpose.
        """
        stored = self._read(chain.book)
        if stored is None:
            return
        entries, head = stored
        book = chain.book
        if entries == book.entries and head == book.head:
            return
        if entries > book.entries:
            rule = f"an older copy was put back: it has {book.entries} entries, and had {entries}"
        elif entries and _read_seal(chain, entries) != head:
            rule = f"another copy was put back: its entry {entries} is not the one that was written here"
        else:
            return
        raise InvalidArgument(
            "ledger",
            f"{rule}, so what was spent since is missing. If it was put back on purpose: dpcurves ledger restore",
        )

    def store(self, book: Book) -> None:
        """Store a copy of the ledger's head, outside the database, unless a later one is stored; failures are ignored.

        Args:
            book: The ledger's name, number of entries and last seal.
        """
        with suppress(OSError):
            stored = self._read(book)
            if stored is None or stored[0] <= book.entries:
                self.overwrite(book)

    def overwrite(self, book: Book) -> None:
        """Store a copy of the ledger's head in place of any stored one, so that it survives a power failure.

        Args:
            book: The ledger's name, number of entries and last seal.

        Raises:
            OSError: the folder cannot be written.
        """
        if not self._folder.is_dir():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(book, self._folder)
        with hold_draft(path, 0o600) as draft:  # the next writer removes the draft of a killed one
            draft.write_text(f"{book.entries} {book.head}\n", encoding="ascii")
            flush(draft, os.O_RDWR)  # else an older copy passes for the present one after a loss of power
            os.replace(draft, path)
        flush_names(self._folder)

    def _read(self, book: Book) -> tuple[int, str] | None:
        """Return the stored copy of a ledger's head: its number of entries, and the seal of the last one.

        Args:
            book: The ledger, whose name decides the file.

        Returns:
            None if no complete head is stored. A file that a loss of power has truncated counts as none, because it
            would look like the head of another copy.
        """
        try:
            text = self._path(book, self._folder).read_text(encoding="ascii")
        except (OSError, ValueError):
            return None
        stored = HEAD_PATTERN.fullmatch(text)
        return None if stored is None else (int(stored[1]), stored[2])

    @staticmethod
    def _path(book: Book, folder: Path) -> Path:
        """Return the path of the file in which a copy of the ledger's head is kept, whether or not the file exists.

        Args:
            book: Header of the ledger, with its name.
            folder: Folder of all heads.
        """
        return _find_file(book.name, folder)


@lru_cache(maxsize=16)
def _find_file(name: str, folder: Path) -> Path:
    """Return the path of the file that holds the head of the ledger with this name. The file's name is a hash of the
    ledger's.

    Args:
        name: Name of the ledger; all its copies have the same name.
        folder: Folder of all heads.
    """
    return folder / f"{sha256(f'head of {name}'.encode()).hexdigest()[:32]}.head"


_SELECT_SEAL = sql.union_all(
    *(sql.select(table.c.mac).where(table.c.entry == sql.bindparam("entry")) for table in ENTRIES)
)
"""Statement for the seal of an entry of any table."""


def _read_seal(chain: Chain, entry: int) -> str | None:
    """Return the seal of an entry of any table of the ledger; None if no entry has this number.

    Args:
        chain: Open transaction of the ledger.
        entry: Number of the entry; entries are numbered through all tables.
    """
    seal = chain.connection.execute(_SELECT_SEAL, {"entry": entry}).scalars().first()
    return None if seal is None else str(seal)
