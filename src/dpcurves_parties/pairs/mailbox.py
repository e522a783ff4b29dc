"""A mailbox for letters: it sees where they belong and how long they are, and keeps the first one for each place."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Protocol

from dpcurves.arguments import ProtocolAborted

from .letters import Place

LARGEST_LETTER = 2**20


class Mailbox(Protocol):
    """Interface of mailboxes."""

    def put(self, place: Place, letter: bytes) -> None:
        """Leave a letter. Leaving it twice changes nothing."""
        ...

    def get(self, place: Place) -> bytes | None:
        """The letter of a place; None: there is none yet."""
        ...

    def holds(self, place: Place) -> bool:
        """True if the letter of a place is known to be stored: then it need not be left again."""
        ...


@dataclass(frozen=True, slots=True)
class FolderMailbox:
    """Letters as files in a folder that all who write and read can reach.

    Attributes:
        folder: The folder, which exists.
    """

    folder: Path

    def put(self, place: Place, letter: bytes) -> None:
        """Leave a letter; the second one for a place is forgotten.

        Raises:
            ProtocolAborted: it is too long, or the folder takes no file.
        """
        if len(letter) > LARGEST_LETTER:
            raise ProtocolAborted("letter", f"it has at most {LARGEST_LETTER} bytes")
        file = self._file(place)
        draft = file.with_name(f".{file.name}.{token_hex(8)}")
        try:
            draft.write_bytes(letter)
            draft.chmod(0o644)  # others read it, and it is sealed
            with suppress(FileExistsError):
                os.link(draft, file)  # whole or not at all; who wrote a letter that is lost leaves it again
            draft.unlink()
        except OSError as error:
            raise ProtocolAborted("mailbox", f"it takes no letter ({error.strerror})", 500) from None

    def get(self, place: Place) -> bytes | None:
        """The letter of a place; None: there is none yet."""
        try:
            return self._file(place).read_bytes()
        except FileNotFoundError:
            return None

    def holds(self, place: Place) -> bool:
        """True if there is a letter in a place."""
        return self._file(place).exists()

    def _file(self, place: Place) -> Path:
        return self.folder / f"{sha256(place.octets).hexdigest()}.letter"
