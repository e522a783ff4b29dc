"""Connections that stay open between transactions: for a process that serves, and opens them thousands of times."""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqlalchemy import Engine, QueuePool, event
from sqlalchemy.exc import DisconnectionError

from .database import WAIT_SECONDS, Database

MOST = 64
"""Connections at a time, of each way into a database: more than threads that serve."""
AT_REST = 8
KEPT = MappingProxyType(
    {"poolclass": QueuePool, "pool_size": AT_REST, "max_overflow": MOST - AT_REST, "pool_timeout": WAIT_SECONDS}
)
"""How an engine is made whose connections stay open."""


class OfFile(sqlite3.Connection):
    """A connection that knows which file it was opened for: a name may stand for another file later."""

    file: tuple[int, int] | None = None


def file_at(path: Path) -> tuple[int, int] | None:
    """The file that a path refers to now; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def require_same_file(engine: Engine, path: Path) -> Engine:
    """Let no transaction begin on a file that was moved away: what was charged there would be forgotten."""

    @event.listens_for(engine, "checkout")
    def _require(connection: OfFile, *_: object) -> None:
        if connection.file != file_at(path):
            raise DisconnectionError  # it is opened anew, or refused

    return engine


def closed_in_time(database: Database) -> Database:
    """The database, whose connections are closed when nobody has it any more, and carried into no forked process."""
    for engine in (database.reading, database.writing):
        weakref.finalize(database, engine.dispose)
        _forgotten_by_forks(engine)
    return database


def _forgotten_by_forks(engine: Engine) -> None:
    register: Callable[..., Any] | None = getattr(os, "register_at_fork", None)
    if register is not None:
        register(after_in_child=partial(_forget, weakref.ref(engine)))


def _forget(engine: weakref.ref[Engine]) -> None:
    """Leave connections to the process that opened them: closed by another one, they would end there, too."""
    found = engine()
    if found is not None:
        found.dispose(close=False)
