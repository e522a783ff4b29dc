"""Tables that Spark counts, before they are opened: a data frame, or a table of a Spark Connect server.

    spark       a pyspark data frame, classic or Connect, counted in its own session
    spark_at    a table or view of a Spark Connect server, counted over a separate connection

Both are passed to `Session` instead of a file. Their repr shows neither the frame nor the URL, which may hold a token.

Formal guarantees: only the schema is requested here. Records are read after a question was charged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dpcurves.arguments import WrongArgumentType, require_type
from dpcurves.privacy import Unit
from dpcurves.records.engines.engine import CountingEngine, EngineTable
from dpcurves.records.source import hide_failure

UNREACHED = (
    "Spark was not reached, or has no such table: check the session, the table's name and the rights of its user; "
    "of a query, make a view"
)
NO_VERSION = "Spark has no such version of the table: check that it is of Delta or Iceberg, and look up its history"


def spark(table: Any, *, spark: Any = None, version: int | None = None) -> SparkTable:
    """Return a table that Spark counts; pass it to `Session` instead of a file.

    Args:
        table: A data frame, classic or Connect; or the name of a table or view in the catalogue of `spark`. Its
            expressions must not fail on any row, and must be deterministic: read a fixed version of a table.
        spark: The Spark session; required for a name.
        version: The Delta version or Iceberg snapshot id to read, for a name. The session's `dataset` must end with it,
            as in ``visits@12``. None: the newest.

    Returns:
        The table, for a `Session`.

    Raises:
        TypeError: `table` is not a data frame, or a name without a session, or a frame with a version.
        ValueError: the table or the version does not exist.
    """
    _require_version(version)
    if isinstance(table, str):
        if not hasattr(spark, "table"):
            raise WrongArgumentType(
                "spark", "the session that knows the table is needed, as in spark('visits', spark=session)"
            )
        return SparkTable(_find_frame(spark, table, version), version)
    if version is not None:
        raise WrongArgumentType(
            "version",
            "a version is read only of a table that is named, as in spark('visits', spark=session, version=12)",
        )
    if not (hasattr(table, "mapInArrow") and hasattr(table, "selectExpr")):
        raise WrongArgumentType(
            "table", f"a data frame of pyspark is needed, as spark.table('visits') gives, got {type(table).__name__}"
        )
    return SparkTable(table)


def spark_at(url: str, *, table: str, version: int | None = None) -> RemoteSparkTable:
    """Return a table or view of a Spark Connect server that counts it, over a separate connection.

    Args:
        url: ``sc://host:port``; off loopback with ``/;use_ssl=true``.
        table: Name in the server's catalogue.
        version: The Delta version or Iceberg snapshot id; see `spark`.

    Returns:
        The table; the connection is opened when a session uses it.

    Raises:
        TypeError: the URL or the name is not a text, or the version is not an integer.

    >>> spark_at("sc://localhost:15002/;token=secret", table="clinic.visits")
    spark_at(table='clinic.visits')
    """
    require_type("data", url, str, "a URL, as sc://host:port,")
    require_type("table", table, str, "the name of a table or view, as clinic.visits,")
    _require_version(version)
    return RemoteSparkTable(url, table, version)


def _require_version(version: object) -> None:
    """Refuse a version that is neither None nor a nonnegative integer. Raises `WrongArgumentType`."""
    if version is not None and (type(version) is not int or version < 0):
        raise WrongArgumentType(
            "version", "a whole number is needed, as in 12: a version of Delta, or a snapshot of Iceberg"
        )


def _find_frame(session: Any, name: str, version: int | None) -> Any:
    """Return the data frame of a table.

    A Connect client looks a table up only when its schema is requested, so the schema is requested here.
    """

    def find_newest() -> Any:
        """Return the frame of the table's current version, after its schema was requested."""
        frame = session.table(name)  # fails for text that is not a table name, such as a query
        return frame if frame.schema is not None else None

    def find_version() -> Any:
        """Return the frame of the requested version, after its schema was requested."""
        frame = session.sql(f"SELECT * FROM {name} VERSION AS OF {version}")
        return frame if frame.schema is not None else None

    newest = hide_failure(find_newest, UNREACHED, "table")
    return newest if version is None else hide_failure(find_version, NO_VERSION, "version")


@dataclass(frozen=True, slots=True, repr=False)
class SparkTable(EngineTable):
    """A data frame that Spark counts; its repr hides it.

    Attributes:
        frame: SENSITIVE. The data frame.
        version: Version of the table; None: the newest, or unknown.
    """

    frame: Any = field(repr=False)
    version: int | None = None

    def __repr__(self) -> str:
        return "spark(a data frame)"

    @property
    def engine(self) -> str:
        """The engine's name for privacy statements."""
        return "Spark"

    def open(self, unit: Unit, key: bytes) -> CountingEngine:
        """Return the engine that counts the frame in its own session."""
        from .spark_engine import SparkEngine

        return SparkEngine(self.frame, unit, key, self.version)


@dataclass(frozen=True, slots=True, repr=False)
class RemoteSparkTable(EngineTable):
    """The location of a table of a Spark Connect server.

    Attributes:
        url: URL of the server, never shown, because it may hold a token.
        table: Name in the server's catalogue.
        version: Delta version or Iceberg snapshot id; None: the newest.
    """

    url: str = field(repr=False)
    table: str
    version: int | None = None

    def __repr__(self) -> str:
        return f"spark_at(table={self.table!r}{'' if self.version is None else f', version={self.version}'})"

    @property
    def engine(self) -> str:
        """The engine's name for privacy statements."""
        return "Spark"

    def open(self, unit: Unit, key: bytes) -> CountingEngine:
        """Connect, and return the engine that counts the table.

        Args:
            unit: The unit of privacy and its contribution bound.
            key: Secret key, which ranks the rows of a unit.

        Raises:
            ValueError: the server or the table cannot be reached.
        """
        from .spark_engine import RemoteSparkEngine, connect, end_session

        session = connect(self.url)
        try:
            return RemoteSparkEngine(_find_frame(session, self.table, self.version), unit, key, self.version)
        except BaseException:
            end_session(session)
            raise
