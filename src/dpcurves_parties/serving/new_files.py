"""Files that are written once and never over: what others may read, and what their owner alone may."""

from __future__ import annotations

from pathlib import Path

from dpcurves.ledger.new_file import publish

from .errors import ProtocolAborted


class FileTaken(ProtocolAborted):
    """There is a file of this name, which is not written over."""

    def __init__(self, path: Path) -> None:
        super().__init__("file", f"{str(path)!r} is there already; it is not written over")


def write_public(path: Path, text: str) -> None:
    """A new file that others may read, whole from the first moment.

    Raises:
        ValueError: there is one of this name, or the folder takes none.
    """
    _write_new(path, text, 0o644)


def require_new(path: Path) -> None:
    """Refuse a file that is there.

    Raises:
        ValueError: it is.
    """
    if path.exists():
        raise FileTaken(path)


def write_secret(path: Path, text: str) -> None:
    """A new file that its owner alone may read.

    Raises:
        ValueError: there is one of this name, or the folder takes none.
    """
    _write_new(path, text, 0o600)


def _write_new(path: Path, text: str, mode: int) -> None:
    try:
        is_first = publish(path, lambda draft: _write(draft, text, mode))
    except OSError as error:
        raise ProtocolAborted("file", f"{str(path)!r} cannot be written ({error.strerror})") from None
    if not is_first:
        raise FileTaken(path)


def _write(draft: Path, text: str, mode: int) -> None:
    draft.write_text(text, encoding="utf-8")
    draft.chmod(mode)
