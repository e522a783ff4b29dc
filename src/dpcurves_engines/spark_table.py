"""Apache Spark tables as the confidential data of a session (PySpark data frames and Spark Connect).

A `Session` answers questions under differential privacy. Usually its data is a file; with these functions it is a table
in Spark. Spark counts the records, and only counts leave it. The counting itself is in `spark_engine`.

    spark       wrap a pyspark data frame (classic or Connect), which is counted in the caller's Spark session
    spark_at    name a table or view of a Spark Connect server, which is counted over a separate connection

    Session(spark(frame), ...)        Session(spark_at("sc://host:15002/;use_ssl=true", table="clinic.visits"), ...)

The repr of both results hides the data frame and the URL, which may hold a token.

Formal guarantees: this file requests schemas from Spark, never records. Records are read by the engine, and only after
the loss of a question was charged.

>>> spark_at("sc://localhost:15002/;token=secret", table="clinic.visits")
spark_at(table='clinic.visits')
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dpcurves.arguments import WrongArgumentType, require_type
from dpcurves.privacy import Unit
from dpcurves.records.engines.engine import CountingEngine, EngineTable
from dpcurves.records.source import hide_failure

TABLE_FAILURE = (
    "Spark was not reached, or has no such table: check the session, the table's name and the rights of its user; "
    "of a query, make a view"
)
"""Error in place of any error of Spark while it looks a table up."""
NO_VERSION = "Spark has no such version of the table: check that it is of Delta or Iceberg, and look up its history"
"""Error in place of any error of Spark while it looks up the version that the argument `version` names."""


def spark(table: Any, *, spark: Any = None, version: int | None = None) -> SparkTable:
    """Wrap a pyspark data frame or a named Spark table, to be passed to `Session` in the place of a file.

    Args:
        table: A pyspark data frame, classic or Connect; or the name of a table or view in the catalogue of `spark`. Its
            expressions must not fail on any row, because a failure would reveal that row. They must be deterministic,
            because rows may be computed more than once: read a fixed version of a table.
        spark: The Spark session that knows the name; ignored for a data frame.
        version: For a name only: the Delta version or Iceberg snapshot id to read, from 0. The session's `dataset` must
            then end with it, as in ``visits@12``. None: the newest version.

    Returns:
        The table for a `Session`. For a name, its schema has been requested from Spark; no record has been read.

    Raises:
        TypeError: `table` is neither a data frame nor a name; a name comes without a session; a version comes with a
            data frame, or is not a nonnegative integer.
        ValueError: Spark does not have the table or the version, or was not reached.
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
    """Name a table or view of a Spark Connect server, to be passed to `Session` in the place of a file.

    Nothing is connected here. A session connects when it opens the table, and then raises ValueError if the server,
    the table or the version cannot be reached. The server counts the records.

    Args:
        url: URL of the server, ``sc://host:port``. A server that is not on this machine needs TLS:
            ``sc://host:port/;use_ssl=true``.
        table: Name of the table or view in the server's catalogue, such as ``clinic.visits``.
        version: The Delta version or Iceberg snapshot id to read, from 0. The session's `dataset` must then end with
            it, as in ``visits@12``. None: the newest version.

    Returns:
        The table for a `Session`.

    Raises:
        TypeError: the URL or the name is not a text, or the version is not a nonnegative integer.

    >>> spark_at("sc://localhost:15002/;token=secret", table="clinic.visits")
    spark_at(table='clinic.visits')
    """
    require_type("data", url, str, "a URL, as sc://host:port,")
    require_type("table", table, str, "the name of a table or view, as clinic.visits,")
    _require_version(version)
    return RemoteSparkTable(url, table, version)


def _require_version(version: object) -> None:
    """Check that a version is None or a nonnegative integer.

    Args:
        version: Object that a user passed as the version of a table.

    Raises:
        WrongArgumentType: the version is something else.
    """
    if version is not None and (type(version) is not int or version < 0):
        raise WrongArgumentType(
            "version", "a whole number is needed, as in 12: a version of Delta, or a snapshot of Iceberg"
        )


def _find_frame(session: Any, name: str, version: int | None) -> Any:
    """Return the data frame of a named table or of one of its versions.

    A Connect client looks a table up only when its schema is requested, so the schema is requested here.

    Args:
        session: The Spark session, classic or Connect.
        name: Name in the session's catalogue. The newest version is looked up first also if `version` is given, so that
            a text that is no name, such as a query, is refused before it gets into SQL.
        version: The Delta version or Iceberg snapshot id; None: the newest.

    Raises:
        ValueError: Spark does not have the table or the version. The text is without Spark's message, which could show
            data.
    """

    def find_newest() -> Any:
        """Return the data frame of the table's current version, after its schema was requested."""
        frame = session.table(name)  # fails for text that is not a table name, such as a query
        return frame if frame.schema is not None else None

    def find_version() -> Any:
        """Return the data frame of the requested version, after its schema was requested."""
        frame = session.sql(f"SELECT * FROM {name} VERSION AS OF {version}")
        return frame if frame.schema is not None else None

    newest = hide_failure(find_newest, TABLE_FAILURE, "table")
    return newest if version is None else hide_failure(find_version, NO_VERSION, "version")


@dataclass(frozen=True, slots=True, repr=False)
class SparkTable(EngineTable):
    """A data frame that Spark counts; its repr hides it.

    It is what `spark` returns, and what a `Session` opens.

    Attributes:
        frame: SENSITIVE. The data frame of pyspark, classic or Connect.
        version: Delta version or Iceberg snapshot id; None for the newest version of a name, and for any data frame.
    """

    frame: Any = field(repr=False)
    version: int | None = None

    def __repr__(self) -> str:
        return "spark(a data frame)"

    @property
    def engine(self) -> str:
        """Name of the engine that counts, which privacy statements state."""
        return "Spark"

    def open(self, unit: Unit, key: bytes) -> CountingEngine:
        """Return the engine that counts the data frame in its own Spark session.

        Args:
            unit: The privacy unit and its contribution bound (largest number of rows of a unit that are used).
            key: Secret bytes. Which rows of a unit are used is decided by a keyed hash, so that the choice is
                unpredictable.
        """
        from .spark_engine import SparkEngine

        return SparkEngine(self.frame, unit, key, self.version)


@dataclass(frozen=True, slots=True, repr=False)
class RemoteSparkTable(EngineTable):
    """The location of a table of a Spark Connect server.

    It is what `spark_at` returns, and what a `Session` opens.

    Attributes:
        url: URL of the server, never shown, because it may hold a token.
        table: Name of the table or view in the server's catalogue.
        version: Delta version or Iceberg snapshot id; None: the newest.
    """

    url: str = field(repr=False)
    table: str
    version: int | None = None

    def __repr__(self) -> str:
        return f"spark_at(table={self.table!r}{'' if self.version is None else f', version={self.version}'})"

    @property
    def engine(self) -> str:
        """Name of the engine that counts, which privacy statements state."""
        return "Spark"

    def open(self, unit: Unit, key: bytes) -> CountingEngine:
        """Connect to the server, and return the engine that counts the table. The engine ends the connection.

        Args:
            unit: The privacy unit and its contribution bound (largest number of rows of a unit that are used).
            key: Secret bytes. Which rows of a unit are used is decided by a keyed hash, so that the choice is
                unpredictable.

        Raises:
            ValueError: the server, the table or the version cannot be reached; the connection is then ended.
        """
        from .spark_engine import RemoteSparkEngine, connect, end_session

        session = connect(self.url)
        try:
            return RemoteSparkEngine(_find_frame(session, self.table, self.version), unit, key, self.version)
        except BaseException:
            end_session(session)
            raise
