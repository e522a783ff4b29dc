"""A Spark data frame, classic or Connect, or a table of its catalogue: named, and not yet looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...arguments import WrongKind
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
        table = hidden(lambda: spark.table(table), UNREACHED, "table")
    if not (hasattr(table, "mapInArrow") and hasattr(table, "selectExpr")):
        raise WrongKind("table", f"a data frame of pyspark is needed, got {type(table).__name__}")
    return SparkTable(table)


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
