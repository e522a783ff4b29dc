"""Folders for servers of databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder of a short name: the path of a socket has at most 107 bytes."""
    with TemporaryDirectory(prefix="sr", dir="/tmp") as folder:
        yield Path(folder)
