"""Conformance check of Spark: the cells of public rows that are sent, with no table involved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpcurves.arrays import FloatArray, IntArray
from dpcurves.data.axis import Axis
from dpcurves.data.grid import Grid
from dpcurves.records.engines.conformance import Checked, findings
from dpcurves.records.engines.duckdb_units import pads
from dpcurves.records.engines.engine import BoundAxis
from dpcurves.records.engines.slot_text import Offsets, thresholds_of
from dpcurves.records.hiding import hidden

from . import spark_batches, spark_sql
from .spark_link import UNREACHED, connected, end


class SparkProver:
    """Answers by the same SQL, and the same work on batches, by which a data frame is counted."""

    decimals: Sequence[str] = ("1.5", "-0.1", "123456789.123456789", "9007199254740993", "0")

    def __init__(self, session: Any) -> None:
        self._session = session
        self.name = f"Spark {hidden(lambda: session.version, 'Spark does not answer')}"

    def slots_of(self, grid: Grid, values: FloatArray) -> IntArray:
        bound = BoundAxis(Axis("x", grid), spark_sql.column_of("x", "double"), 0)
        found = spark_sql.slot(bound, 0)
        if found is None:
            placed = self._placed(grid, values, None, "place")
            return np.where(placed < 0, np.int64(grid.slots), placed)
        guessed = self._sent(values).selectExpr("*", *spark_sql.guessed([bound]))
        answer = fetched(guessed.selectExpr("at", f"coalesce({found}, {grid.slots}) AS slot"))
        return _in_order(answer["slot"], answer["at"]).astype(np.int64)

    def offsets_of(self, grid: Grid, values: FloatArray, half: int) -> IntArray:
        return self._placed(grid, values, amounts_of(grid, half, squared=False), "added")

    def digest_of(self, key: bytes, message: bytes) -> bytes:
        sent = self._session.createDataFrame(pa.table({"c0": [1], "t0": [message.decode()]}))
        padded = pads(key)
        ranked = mapped(sent, spark_batches.ranking(padded["inner"], padded["outer"], 1), "c0 bigint, rank string")
        return bytes.fromhex(fetched(ranked)["rank"][0])

    def _placed(self, grid: Grid, values: FloatArray, amounts: Sequence[Any] | None, name: str) -> IntArray:
        work = spark_batches.placing([(thresholds_of(grid), grid.slots)], amounts)
        found = fetched(mapped(self._sent(values), work, "at bigint, place bigint, added bigint"))
        return _in_order(found[name], found["at"]).astype(np.int64)

    def numbers_of(self, decimals: Sequence[str]) -> FloatArray:
        number = spark_sql.column_of("x", "decimal(38,18)").number.format("CAST(x AS DECIMAL(38,18))")
        sent = self._session.createDataFrame(pa.table({"at": np.arange(len(decimals)), "x": list(decimals)}))
        found = fetched(sent.selectExpr("at", f"{number} AS n"))
        return _in_order(found["n"], found["at"]).astype(np.float64)

    def _sent(self, values: FloatArray) -> Any:
        return self._session.createDataFrame(pa.table({"at": np.arange(len(values)), "c0": values}))


def fetched(frame: Any) -> dict[str, Any]:
    """The columns of an answer, as arrays."""
    table = frame.toArrow()
    return {name: table.column(name).to_numpy() for name in table.column_names}


def mapped(frame: Any, work: Callable[[Any], Any], schema: str) -> Any:
    """The result of the workers on a frame. They are sent code without names, for they may not have dpcurves."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(spark_batches)
    return frame.mapInArrow(work, schema)


def amounts_of(grid: Grid, half: int, *, squared: bool) -> Sequence[Any]:
    """Constants of a grid that `spark_batches.counting` needs to add offsets up."""
    middle, width, _ = Offsets.of(grid)
    return middle, width, half, (grid.slots - grid.cells) // 2, squared, grid.lower, grid.upper


def _in_order(values: Any, at: Any) -> NDArray[Any]:
    return np.asarray(values)[np.argsort(at)]


def checked_spark(url: str) -> Checked:
    """Run every check on the server at this URL.

    Raises:
        ValueError: it is not reached, or fails on a public number.
    """
    session = connected(url)
    try:
        prover = SparkProver(session)
        return Checked(prover.name, tuple(hidden(lambda: list(findings(prover)), UNREACHED)))
    finally:
        end(session)
