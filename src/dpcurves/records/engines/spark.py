"""A Spark data frame, classic or Connect, or a table of its catalogue: named, and not yet looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...arguments import WrongKind, require_kind
from ...privacy import Unit
from ..hiding import hidden
from .engine import CountingEngine
from .handle import EngineTable

UNREACHED = (
    "Spark was not reached, or has no such table: are the session, the table's name and the rights of its user right?"
)


def spark(table: Any, *, spark: Any = None) -> SparkTable:
    """A data frame of pyspark, counted by Spark; give it to a `Session` in the place of a file.

    Args:
        table: A data frame, classic or Connect; or the name of a table or view of the session `spark`. Its expressions
            must not fail on any row, and must give the same rows each time: read a table of a fixed version.
        spark: The session, for a name.

    Raises:
        TypeError: it is no data frame, or a name without a session.
        ValueError: there is no such table.
    """
    if isinstance(table, str):
        if not hasattr(spark, "table"):
            raise WrongKind("spark", "the session that knows the table is needed, as in spark('visits', spark=session)")
        table = _found(spark, table)
    if not (hasattr(table, "mapInArrow") and hasattr(table, "selectExpr")):
        raise WrongKind("table", f"a data frame of pyspark is needed, got {type(table).__name__}")
    return SparkTable(table)


def spark_at(url: str, *, table: str) -> RemoteSparkTable:
    """A table or view of a Spark Connect server, counted there over a connection of its own.

    Args:
        url: ``sc://host:port``; off loopback with ``/;use_ssl=true``.
        table: Its name in the server's catalogue.

    Raises:
        TypeError: one of them is no text.

    >>> spark_at("sc://localhost:15002/;token=secret", table="clinic.visits")
    spark_at(table='clinic.visits')
    """
    require_kind("data", url, str, "a URL, as sc://host:port,")
    require_kind("table", table, str, "the name of a table or view, as clinic.visits,")
    return RemoteSparkTable(url, table)


def _found(session: Any, name: str) -> Any:
    """The frame of a table; a client of Connect looks for it only when its schema is asked."""

    def found() -> Any:
        frame = session.table(name)
        return frame if frame.schema is not None else None

    return hidden(found, UNREACHED, "table")


@dataclass(frozen=True, slots=True, repr=False)
class SparkTable(EngineTable):
    """A data frame, of which nothing is shown."""

    frame: Any = field(repr=False)

    def __repr__(self) -> str:
        return "spark(a data frame)"

    @property
    def engine(self) -> str:
        return "Spark"

    def open(self, unit: Unit, key: bytes) -> CountingEngine:
        from .spark_engine import SparkEngine

        return SparkEngine(self.frame, unit, key)


@dataclass(frozen=True, slots=True, repr=False)
class RemoteSparkTable(EngineTable):
    """Where a table lies. The URL, which may hold a token, is never shown."""

    url: str = field(repr=False)
    table: str

    def __repr__(self) -> str:
        return f"spark_at(table={self.table!r})"

    @property
    def engine(self) -> str:
        return "Spark"

    def open(self, unit: Unit, key: bytes) -> CountingEngine:
        from .spark_engine import RemoteSparkEngine
        from .spark_link import connected, end

        session = connected(self.url)
        try:
            return RemoteSparkEngine(_found(session, self.table), unit, key)
        except BaseException:
            end(session)
            raise
