"""Files that appear complete, once, and readable by their owner alone."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def publish(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a draft, then give it its name; if another process was first, its file stays.

    A link is made in one step and fails if the name is taken: nobody ever sees half a file, or two of them.

    Raises:
        OSError: the folder takes no file, or no links.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        write(draft)
        _sync(draft, os.O_RDWR)
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    if os.name == "posix":
        # The name is as precious as the contents: without it a power failure would forget what was spent.
        _sync(path.parent, os.O_RDONLY)


def _sync(path: Path, mode: int) -> None:
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
