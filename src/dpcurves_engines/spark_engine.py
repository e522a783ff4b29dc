"""SENSITIVE. A Spark data frame, counted by Spark: only exact integers of a plan's table leave it."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.data.axis import Axis
from dpcurves.data.grid import Grid
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records.column import Column, Kind, place_of
from dpcurves.records.engines.conformance import require_proof
from dpcurves.records.engines.duckdb_units import pads
from dpcurves.records.engines.engine import BoundAxis, grid_of, size_of
from dpcurves.records.engines.parted import subsets_of
from dpcurves.records.engines.pieces import Pieces
from dpcurves.records.engines.slot_text import thresholds_of
from dpcurves.records.hiding import hidden

from . import spark_batches, spark_sql
from .spark_kept import KeptRows
from .spark_link import end
from .spark_proof import SparkProver, amounts_of, fetched, mapped

FAILED = "Spark did not answer (what it says is not shown: it may quote a record); are its session and workers up?"
COUNTED = "place bigint, high bigint, low bigint"
LOW_BITS = 31


class SparkEngine(SparkProver):
    """The used rows of a data frame: by formula in SQL, else batch by batch in Python's workers."""

    failure: str = FAILED

    def __init__(self, frame: Any, unit: Unit, key: bytes, version: int | None = None) -> None:
        super().__init__(frame.sparkSession)
        self._frame, self._unit = frame, unit
        self._key = hmac.digest(key, b"rows ranked by Spark", "sha256")
        fields = hidden(lambda: list(frame.schema.fields), FAILED)
        self.columns: tuple[Column, ...] = tuple(
            spark_sql.column_of(each.name, spark_sql.type_of(each)) for each in fields
        )
        self._proven: set[Grid] = set()
        self._version = version
        self.moment: int | None = _moment_if_told(frame) if version is None else _moment_of_facts(version)
        self._require_unit()
        self._kept = KeptRows(self._read, self._session, costly=unit != EACH_RECORD)

    def __repr__(self) -> str:
        return "SparkEngine(hidden)"

    def _require_unit(self) -> None:
        if self._unit == EACH_RECORD:
            return
        column = self.columns[place_of(self._unit.column, self.columns, "unit")]
        if column.unit == spark_sql.NO_UNIT:
            raise Refused("unit", f"{column.name!r} is of a type that names no unit; a number, text or date does")

    def prepare(self, bound: Sequence[BoundAxis]) -> None:
        told = self.moment is not None and self._version is None  # a version stays what it is
        if told and self.moment != hidden(lambda: _moment_of(self._frame), FAILED):
            raise Refused(
                "data", "the files of the data frame have changed since the session began; open a new session"
            )
        fresh = [each for each in bound if isinstance(each.axis, Axis) and each.axis.grid not in self._proven]
        require_proof(self, fresh)
        self._proven |= {each.axis.grid for each in fresh if isinstance(each.axis, Axis)}

    def counts(self, bound: Sequence[BoundAxis]) -> IntArray:
        slots = [spark_sql.slot(each, number) for number, each in enumerate(bound)]
        table = np.zeros(size_of(bound) + 1, dtype=np.int64)
        if None not in slots:
            place = spark_sql.joined([slot for slot in slots if slot], [each.axis.slots for each in bound])
            rows = self._rows(bound).selectExpr("*", *spark_sql.guessed(bound))
            placed = rows.selectExpr(f"coalesce({place}, -1) AS place")
            found = fetched(placed.groupBy("place").count())
            table[found["place"]] = found["count"]
            return table
        axes = [(None if slot and not isinstance(each.axis, Axis) else _thresholds(each), each.axis.slots)
                for each, slot in zip(bound, slots, strict=True)]  # fmt: skip
        for at, number in self._counted(bound, axes):
            table[at] = number
        return table

    def sums(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        return self._added(bound, half, squared=False)

    def squares(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        return self._added(bound, half, squared=True)

    def _added(self, bound: Sequence[BoundAxis], half: int, *, squared: bool) -> list[int]:
        grid = grid_of(bound[-1])
        amounts = amounts_of(grid, half, squared=squared)
        axes = [(_thresholds(each) if isinstance(each.axis, Axis) else None, each.axis.slots) for each in bound]
        table = [0] * (size_of(bound) + 1)
        for place, total in self._counted(bound, axes, amounts):
            table[place] = total
        return [*table[:-1], 0]

    def prefixes(self, bound: Sequence[BoundAxis], at: Sequence[int]) -> list[int]:
        pieces = Pieces.of(bound, at)
        axes = [(_thresholds(each) if isinstance(each.axis, Axis) else None, each.axis.slots) for each in bound[:-1]]
        counts = pieces.nothing
        for place, number in self._counted(bound, [*axes, (pieces.bounds, pieces.count)]):
            counts[place] = number
        return pieces.prefixes(counts)

    def numbers(self, bound: Sequence[BoundAxis]) -> Iterator[Sequence[FloatArray]]:
        names = [f"{spark_sql.value(each)} AS v{i}" for i, each in enumerate(bound)]
        found = fetched(self._rows(bound).selectExpr(*names))
        yield [np.asarray(found[f"v{i}"], dtype=np.float64) for i in range(len(bound))]

    def in_subsets(self, bound: Sequence[BoundAxis], subsets: int) -> Iterator[Sequence[FloatArray]]:
        names = [f"{spark_sql.value(each)} AS v{i}" for i, each in enumerate(bound)]
        found = fetched(self._named(bound).selectExpr(*names, "name"))
        parted = subsets_of((str(name).encode() for name in found["name"]), self._key, subsets)
        yield [*(np.asarray(found[f"v{i}"], dtype=np.float64) for i in range(len(bound))), parted]

    def _named(self, bound: Sequence[BoundAxis]) -> Any:
        """The used rows, columns by their places, and a text that names the unit of each.

        Where each record is a unit, it is named by a digest of all that is counted of it, and by its number among
        those that are the same, in no order, for they are the same.
        """
        places = sorted({each.place for each in bound})
        kept = [f"c{place}" for place in places]
        if self._unit != EACH_RECORD:
            at = place_of(self._unit.column, self.columns)
            unit = self.columns[at].unit.format(f"c{at}")
            rows = self._kept.rows(sorted({*places, at}))
            return rows.selectExpr(*kept, f"coalesce(CAST({unit} AS STRING), '') AS name")
        columns = [f"{self._name(place)} AS c{place}" for place in places]
        whole = self._frame.selectExpr(*columns, f"{self._digest()} AS digest")
        copy = "row_number() OVER (PARTITION BY digest ORDER BY digest)"
        return whole.selectExpr(*kept, f"concat(digest, ':', CAST({copy} AS STRING)) AS name")

    def _digest(self) -> str:
        """SQL for a digest of all that is counted of a row."""
        texts = [spark_sql.piece(self.columns[i], self._name(i)) for i in self._countable()]
        parts = [f"coalesce(concat(CAST(octet_length({text}) AS STRING), ':', {text}), '-')" for text in texts]
        return f"sha2(concat({', '.join(parts)}), 256)"

    def _countable(self) -> list[int]:
        return [i for i, each in enumerate(self.columns) if each.kind in {Kind.NUMBERS, Kind.TEXT}]

    def places(self, bound: Sequence[BoundAxis]) -> IntArray:
        (columns,) = self.numbers(bound)
        place, missing = np.zeros(len(columns[0]), dtype=np.int64), np.zeros(len(columns[0]), dtype=bool)
        for values, each in zip(columns, bound, strict=True):
            found = each.axis.grid.cell_of(values) if isinstance(each.axis, Axis) else values
            lacks = ~(found < each.axis.slots)
            place = place * each.axis.slots + np.where(lacks, 0, found).astype(np.int64)
            missing |= lacks
        return np.where(missing, size_of(bound), place)

    def units(self) -> int:
        if self._unit == EACH_RECORD:
            return int(fetched(self._frame.selectExpr("count(*) AS n"))["n"][0])
        at = place_of(self._unit.column, self.columns)
        named = self._frame.selectExpr(f"{self._unit_of(at)} AS unit")
        counted = named.selectExpr("count(DISTINCT unit) AS n", "count(*) AS a", "count(unit) AS b")
        found = fetched(counted)
        return int(found["n"][0]) + int(found["a"][0] > found["b"][0])

    def close(self) -> None:
        """Let Spark forget what it keeps; the session is its owner's."""
        with suppress(Exception):  # a server that is gone keeps nothing
            self._kept.drop()

    def _counted(
        self, bound: Sequence[BoundAxis], axes: Sequence[tuple[Any, int]], amounts: Sequence[Any] | None = None
    ) -> Iterator[tuple[int, int]]:
        values = self._rows(bound).selectExpr(*(f"{spark_sql.value(each)} AS v{i}" for i, each in enumerate(bound)))
        placed = mapped(values, spark_batches.counting(axes, amounts), COUNTED)
        found = fetched(placed.groupBy("place").agg({"high": "sum", "low": "sum"}))
        for place, high, low in zip(found["place"], found["sum(high)"], found["sum(low)"], strict=True):
            yield int(place), (int(high) << LOW_BITS) + int(low)

    def _rows(self, bound: Sequence[BoundAxis]) -> Any:
        """The used rows, columns by their places."""
        return self._kept.rows(sorted({each.place for each in bound}))

    def _read(self, places: Sequence[int]) -> Any:
        if self._unit == EACH_RECORD:
            return self._frame.selectExpr(*(f"{self._name(place)} AS c{place}" for place in places))
        return self._used(places)

    def _used(self, places: Sequence[int]) -> Any:
        """The used rows, ranked as `duckdb_units.used_rows` ranks them, and with its guarantee.

        The key is in what the workers are sent, and in no statement.
        """
        kept = [f"{self._name(place)} AS c{place}" for place in places]
        unit = f"{self._unit_of(place_of(self._unit.column, self.columns))} AS unit"
        texts = [f"{spark_sql.piece(self.columns[i], self._name(i))} AS t{i}" for i in self._countable()]
        read = self._frame.selectExpr(*kept, unit, *texts)
        key, names = pads(self._key), [*(f"c{place}" for place in places), "unit"]
        schema = ", ".join(f"{each.name} {each.dataType.simpleString()}" for each in read.schema.fields[: len(names)])
        ranked = mapped(read, spark_batches.ranking(key["inner"], key["outer"], len(names)), f"{schema}, rank string")
        turn = "row_number() OVER (PARTITION BY unit ORDER BY rank) AS turn"
        return ranked.selectExpr(*names, turn).where(f"turn <= {self._unit.records}").select(*names[:-1])

    def _name(self, place: int) -> str:
        return spark_sql.quoted(self.columns[place].name)

    def _unit_of(self, place: int) -> str:
        return self.columns[place].unit.format(self._name(place))


class RemoteSparkEngine(SparkEngine):
    """A table at a URL: the session is the engine's own, and ends with it."""

    def close(self) -> None:
        with suppress(Exception):  # who has gone is waited for no longer
            self._session.client.set_retry_policies([])
        super().close()
        end(self._session)


def _thresholds(bound: BoundAxis) -> FloatArray:
    return thresholds_of(grid_of(bound))


def _moment_if_told(frame: Any) -> int | None:
    try:
        return _moment_of(frame)
    except Exception:  # not every server tells
        return None


def _moment_of(frame: Any) -> int | None:
    """A number of the files that the frame reads; None: nobody can tell, as of rows that were sent to Spark."""
    files = sorted(frame.selectExpr("*").inputFiles())  # a new frame: of the old one the answer may be kept
    return _moment_of_facts(files) if files else None


def _moment_of_facts(facts: object) -> int:
    return int(sha256(repr(facts).encode()).hexdigest()[:15], 16)
