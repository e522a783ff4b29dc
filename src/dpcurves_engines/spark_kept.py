"""SENSITIVE. Rows that Spark keeps while a session counts them: in memory, and on disk only where that is encrypted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

ENCRYPTED = "spark.io.encryption.enabled"
APART = "0 AS of_no_column"
"""A column more of what is kept: else Spark takes all columns of a table for the table, and tells no files of it any
more (`CacheManager` looks for equal plans, whatever columns are called)."""


class KeptRows:
    """The used rows with the columns that were asked, scanned once more only where others are asked.

    The first time that columns are asked, they are read and not kept, for there may be no second time; what is `costly`
    to read is kept from the first time on.
    """

    def __init__(self, used: Callable[[Sequence[int]], Any], session: Any, *, costly: bool) -> None:
        self._used, self._session = used, session
        self._seen: set[int] | None = set() if not costly else None
        self._places: set[int] = set()
        self._kept: Any = None

    def __repr__(self) -> str:
        return "KeptRows(hidden)"

    def rows(self, places: Sequence[int]) -> Any:
        """A frame with at least these columns."""
        asked = set(places)
        if self._kept is not None and asked <= self._places:
            return self._kept
        if self._seen is not None and not asked <= self._seen:
            self._seen |= asked
            return self._used(sorted(asked))
        self.drop()
        self._places |= asked
        self._kept = self._used(sorted(self._places)).selectExpr("*", APART).persist(_level(self._session))
        return self._kept

    def drop(self) -> None:
        """Let Spark forget them."""
        if self._kept is not None:
            kept, self._kept = self._kept, None
            kept.unpersist()


def _level(session: Any) -> Any:
    """Memory alone, so that what does not fit is read again, unless Spark encrypts what it writes."""
    from pyspark import StorageLevel

    encrypted = str(session.conf.get(ENCRYPTED, "false")).lower() == "true"
    return StorageLevel.MEMORY_AND_DISK if encrypted else StorageLevel.MEMORY_ONLY
