"""Files that are written once and never over: what others may read, and what their owner alone may."""

from __future__ import annotations

from pathlib import Path

from ..ledger.new_file import publish
from .errors import ProtocolAborted


def write_public(path: Path, text: str) -> None:
    """A new file that others may read.

    Raises:
        ValueError: there is one of this name, or the folder takes none.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ProtocolAborted("file", f"{str(path)!r} is there already; it is not written over") from None
    except OSError as error:
        raise ProtocolAborted("file", f"{str(path)!r} cannot be written ({error.strerror})") from None


def require_new(path: Path) -> None:
    """Refuse a file that is there.

    Raises:
        ValueError: it is.
    """
    if path.exists():
        raise ProtocolAborted("file", f"{str(path)!r} is there already; it is not written over")


def write_secret(path: Path, text: str) -> None:
    """A new file that its owner alone may read.

    Raises:
        ValueError: there is one of this name, or the folder takes none.
    """
    require_new(path)
    try:
        publish(path, lambda draft: _write(draft, text))
    except OSError as error:
        raise ProtocolAborted("file", f"{str(path)!r} cannot be written ({error.strerror})") from None


def _write(draft: Path, text: str) -> None:
    draft.write_text(text, encoding="utf-8")
