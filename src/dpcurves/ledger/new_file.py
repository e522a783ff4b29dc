"""Files that appear complete, once, and readable by their owner alone."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def publish(path: Path, write: Callable[[Path], object]) -> bool:
    """Let `write` fill a draft, then give it its name; if another process was first, its file stays.

    Returns:
        Whether it is this file that has the name.

    Raises:
        OSError: the folder takes no file, or no links.
    """
    with drafted(path, write) as draft:
        return appear(draft, path)


@contextmanager
def drafted(path: Path, write: Callable[[Path], object]) -> Iterator[Path]:
    """A draft of what will be at `path`, filled by `write` and on disk; it is removed in the end.

    Raises:
        OSError: the folder takes no file.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        write(draft)
        _sync(draft, os.O_RDWR)
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def appear(draft: Path, path: Path) -> bool:
    """Give a draft its name, unless that is taken. Whether it has the name.

    A link is made in one step and fails if the name is taken: nobody ever sees half a file, or two of them.
    """
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        if os.name == "posix":
            # The name is as precious as the contents: without it a power failure would forget what was spent.
            _sync(path.parent, os.O_RDONLY)
    return True


def _sync(path: Path, mode: int) -> None:
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
