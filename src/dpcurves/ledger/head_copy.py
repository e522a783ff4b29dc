"""A copy of a ledger's head in a second place, so that an older copy of the ledger is noticed before it is charged.

An older copy lacks later charges, and would answer a known question again, with other noise. The head is the number of
entries and the seal of the last entry: neither reveals a question.

A ledger is compared with its stored head (n entries, seal s) before each charge:

    fewer than n entries              an older copy was put back: refused
    entry n has another seal than s   another copy was put back: refused
    otherwise                         the same ledger, perhaps with further entries

``dpcurves ledger restore`` accepts an older copy on purpose, and records that.
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

VARIABLE = "DPCURVES_HEADS"
"""Environment variable of the folder of heads; ``off`` keeps none."""
HEAD = re.compile(r"([0-9]{1,18}) ([0-9a-f]{64})\n")
"""A whole file: the number of entries, and the seal of the last one."""
RESTORED = "put back an older copy of the ledger"
"""Action of the event that records a legitimate restore."""


def find_folder() -> Path | None:
    """Return the folder of heads, from the environment or in the user's state folder; None if heads are not kept."""
    text = os.environ.get(VARIABLE)
    if text == "off":
        return None
    if text:
        return Path(text)
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "dpcurves" / "heads"


class HeadCopy:
    """The stored head of one ledger.

    Formal guarantees: a ledger with fewer entries than the stored head, or with another entry in its place, is refused
    before it is charged or changed. Nothing is promised where the folder cannot be written, or was put back as well.

    Arguments:
        folder: The folder of heads; None stores nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def require_not_older(self, chain: Chain) -> None:
        """Refuse a ledger that is an older copy of itself.

        Raises:
            ValueError: States both numbers of entries, and the command for a restore on purpose.
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
        """Store the head of a ledger, unless a later one is stored. Failures are ignored: the ledger is whole."""
        if self._folder is None:
            return
        with suppress(OSError):
            stored = self._read(book)
            if stored is None or stored[0] <= book.entries:
                self.overwrite(book)

    def overwrite(self, book: Book) -> None:
        """Store the head of a ledger in place of any stored head, durable under loss of power.

        Raises:
            OSError: The folder cannot be written.
        """
        if self._folder is None:
            return
        if not self._folder.is_dir():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(book, self._folder)
        with hold_draft(path, 0o600) as draft:  # the next writer removes the draft of a killed one
            draft.write_text(f"{book.entries} {book.head}\n", encoding="ascii")
            flush(draft, os.O_RDWR)  # else an older copy passes for the present one after a loss of power
            os.replace(draft, path)
        flush_names(self._folder)

    def _read(self, book: Book) -> tuple[int, str] | None:
        """Return the stored number of entries and seal; None if none can be read.

        A file that a loss of power has cut off counts as none: it would pass for the head of another copy.
        """
        if self._folder is None:
            return None
        try:
            text = self._path(book, self._folder).read_text(encoding="ascii")
        except (OSError, ValueError):
            return None
        stored = HEAD.fullmatch(text)
        return None if stored is None else (int(stored[1]), stored[2])

    @staticmethod
    def _path(book: Book, folder: Path) -> Path:
        """Return the file in a folder that holds the copy of this ledger's head; named by a digest."""
        return _find_file(book.name, folder)


@lru_cache(maxsize=16)
def _find_file(name: str, folder: Path) -> Path:
    """Return the file of the head of the ledger of a name."""
    return folder / f"{sha256(f'head of {name}'.encode()).hexdigest()[:32]}.head"


_SELECT_SEAL = sql.union_all(
    *(sql.select(table.c.mac).where(table.c.entry == sql.bindparam("entry")) for table in ENTRIES)
)
"""Statement for the seal of an entry of any table."""


def _read_seal(chain: Chain, entry: int) -> str | None:
    """Return the seal of an entry of any table; None if no entry has this number."""
    seal = chain.connection.execute(_SELECT_SEAL, {"entry": entry}).scalars().first()
    return None if seal is None else str(seal)
