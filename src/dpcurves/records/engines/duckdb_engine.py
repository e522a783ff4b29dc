"""SENSITIVE. DuckDB as an engine: files, frames and arrays on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...arrays import FloatArray, IntArray
from ...privacy import EACH_RECORD, Unit
from ..column import Column, place_of
from ..engine import Engine
from ..hiding import FAILURE
from ..source import Source
from . import duckdb_tables as tables
from .duckdb_subsets import SUBSET, SUBSET_COLUMN, subset_key, with_subsets
from .duckdb_units import pads, units_in, used_rows
from .engine import BoundAxis

USED, PARTED = "used", "parted"


class DuckEngine:
    """The rows of a source, of which at most ``unit.records`` of each unit are counted."""

    failure: str = FAILURE
    moment: int | None = None

    def __init__(self, source: Source, unit: Unit, key: bytes) -> None:
        self._source, self._unit, self._key = source, unit, key
        self._engine = Engine()
        self._wanted: set[int] = set()
        self._kept: set[int] = set()

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._source.columns

    def prepare(self, bound: Sequence[BoundAxis]) -> None:
        # What is kept of costly sources is kept for all that was checked, so that one reading does for all.
        self._wanted |= {each.place for each in bound}

    def counts(self, bound: Sequence[BoundAxis]) -> IntArray:
        return tables.counts(self._engine.connection, self._rows(bound), bound)

    def sums(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        return tables.sums(self._engine.connection, self._rows(bound), bound, half)

    def squares(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        return tables.squares(self._engine.connection, self._rows(bound), bound, half)

    def prefixes(self, bound: Sequence[BoundAxis], at: Sequence[int]) -> list[int]:
        return tables.prefixes(self._engine.connection, self._rows(bound), bound, at)

    def numbers(self, bound: Sequence[BoundAxis]) -> Iterator[Sequence[FloatArray]]:
        return tables.numbers(self._engine.connection, self._rows(bound), bound)

    def in_subsets(self, bound: Sequence[BoundAxis], subsets: int) -> Iterator[Sequence[FloatArray]]:
        engine, source = self._engine.connection, self._source
        kept = sorted({each.place for each in bound})
        if self._unit == EACH_RECORD:
            unit, place, rows = None, -1, source.scan_whole(engine, kept)
        else:
            place = place_of(self._unit.column, source.columns)
            unit, rows = source.columns[place], self._rows(bound, place)
        parted = with_subsets(rows, self._unit, unit, place, kept, subsets)
        engine.execute(f"CREATE OR REPLACE TEMP TABLE {PARTED} AS {parted}", pads(subset_key(self._key)))
        yield from tables.numbers(engine, PARTED, [*bound, BoundAxis(SUBSET, SUBSET_COLUMN, 0)])
        engine.execute(f"DROP TABLE {PARTED}")

    def places(self, bound: Sequence[BoundAxis]) -> IntArray:
        return tables.read_places(self._engine.connection, self._rows(bound), bound)

    def units(self) -> int:
        engine, source = self._engine.connection, self._source
        if self._unit == EACH_RECORD:
            query = f"SELECT count(*) FROM {source.scan(engine, [0])}"
        else:
            unit = place_of(self._unit.column, source.columns)
            query = units_in(source.scan(engine, [unit]), source.columns[unit], unit)
        (found,) = engine.execute(query).fetchall()
        return int(found[0])

    def close(self) -> None:
        self._engine.close()

    def _rows(self, bound: Sequence[BoundAxis], *more: int) -> str:
        """A FROM clause of the used rows."""
        places = {each.place for each in bound} | set(more)
        if self._unit == EACH_RECORD and not self._source.costly:
            return self._source.scan(self._engine.connection, sorted(places))
        if not places <= self._kept:
            self._keep(sorted(self._kept | self._wanted | places))
        return USED

    def _keep(self, places: Sequence[int]) -> None:
        """Keep the used rows. Drawn again for other columns, they are the same rows."""
        engine, source = self._engine.connection, self._source
        create = f"CREATE OR REPLACE TEMP TABLE {USED} AS"
        if self._unit == EACH_RECORD:
            engine.execute(f"{create} FROM {source.scan(engine, places)}")
        else:
            unit = place_of(self._unit.column, source.columns)
            rows = source.scan_whole(engine, sorted({*places, unit}))
            used = used_rows(rows, source.columns[unit], unit, places, self._unit.records)
            engine.execute(f"{create} {used}", pads(self._key))
        self._kept = set(places)
