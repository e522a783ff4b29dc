"""SENSITIVE. A table or view of PostgreSQL, counted there: only exact integers of a plan's table leave it."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from dpcurves.arrays import FloatArray, IntArray
from dpcurves.data.axis import Axis
from dpcurves.data.grid import Grid
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records.column import Column, place_of
from dpcurves.records.engines.conformance import require_proof
from dpcurves.records.engines.engine import BoundAxis, grid_of, size_of
from dpcurves.records.engines.parted import subsets_of
from dpcurves.records.engines.pieces import Pieces

from . import postgres_sql as sql
from .postgres_duties import require_no_log, require_room
from .postgres_link import FAILED, Link
from .postgres_proof import PostgresProver
from .postgres_ranks import named_units, used_rows
from .postgres_sql import Statement
from .postgres_table import Table
from .postgres_types import require_unit

ROWS_AT_ONCE = 2**14
UNRANKED = "the server cannot rank the rows of a unit; is it a fork of PostgreSQL? give ranking='here'"
_MOMENT = (
    "SELECT pg_current_snapshot()::text, (SELECT oid::int8 FROM pg_database WHERE datname = current_database()), "
    "(SELECT pg_postmaster_start_time()::text)"
)


class PostgresEngine(PostgresProver):
    """The used rows of a table, counted in one snapshot."""

    failure: str = FAILED

    def __init__(self, link: Link, table: Table, unit: Unit, key: bytes) -> None:
        super().__init__(link)
        self._table, self._unit = table, unit
        # The engine never learns the key of the data set.
        self._key = hmac.digest(key, b"rows ranked by PostgreSQL", "sha256")
        self._proven: set[Grid] = set()
        self.moment: int | None = moment_of(link, table)
        self._require_able()

    def __repr__(self) -> str:
        return "PostgresEngine(hidden)"

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._table.columns

    def _require_able(self) -> None:
        """Refuse a server that could stop because of rows, or would log what is secret.

        Raises:
            ValueError: see `postgres_duties`; or the column that names units is not there or of a wrong type; or the
                server knows none of the functions by which rows are ranked.
        """
        require_room(self._link)
        if self._unit == EACH_RECORD:
            return
        unit = place_of(self._unit.column, self.columns, "unit")
        require_unit(self.columns[unit])
        require_no_log(self._link)
        statement = Statement()
        self._link.rows(f"SELECT * FROM {self._used([unit], statement)} LIMIT 0", statement.parameters, UNRANKED)

    def prepare(self, bound: Sequence[BoundAxis]) -> None:
        fresh = [each for each in bound if isinstance(each.axis, Axis) and each.axis.grid not in self._proven]
        require_proof(self, fresh)
        self._proven |= {each.axis.grid for each in fresh if isinstance(each.axis, Axis)}

    def counts(self, bound: Sequence[BoundAxis]) -> IntArray:
        statement = Statement()
        place = self._place(bound, statement)
        found = self._asked(f"SELECT {place} AS place", "count(*)", bound, statement)
        table = np.zeros(size_of(bound) + 1, dtype=np.int64)
        for at, number in found:
            table[size_of(bound) if at is None else at] = number
        return table

    def sums(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        return self._added(bound, half, "amount")

    def squares(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        return self._added(bound, half, f"2 * amount * amount - {half**2}")

    def _added(self, bound: Sequence[BoundAxis], half: int, amount: str) -> list[int]:
        statement, last = Statement(), len(bound) - 1
        slots = [sql.slot(each, number, statement) for number, each in enumerate(bound)]
        named = ", ".join([*(f"{slot} AS s{i}" for i, slot in enumerate(slots)), f"n{last}"])
        grid = grid_of(bound[-1])
        offset = sql.offset(grid, f"n{last}", f"s{last}", half, statement)
        place = sql.joined(bound, [f"s{i}" for i in range(len(bound))])
        # Apart, each slot is found once, and not for every place where it stands.
        slotted = f"SELECT {named} FROM ({sql.read(bound, self._rows(bound, statement))}) AS values {sql.APART}"
        inner = f"SELECT {place} AS place, {offset} AS amount FROM ({slotted}) AS slotted"
        query = f"SELECT place, sum({amount})::text FROM ({inner}) AS placed WHERE place IS NOT NULL GROUP BY place"
        table = [0] * (size_of(bound) + 1)
        for at, total in self._link.rows(query, statement.parameters):
            table[at] = int(total)
        return table

    def prefixes(self, bound: Sequence[BoundAxis], at: Sequence[int]) -> list[int]:
        *first, _ = bound
        pieces, statement = Pieces.of(bound, at), Statement()
        slots = [sql.slot(each, number, statement) for number, each in enumerate(first)]
        piece = sql.among(pieces.bounds, f"n{len(first)}", statement)
        row = f"{sql.joined(first, slots)} * {pieces.count}::int8 + " if first else ""
        counts = pieces.nothing
        for place, number in self._asked(f"SELECT {row}({piece}) AS place", "count(*)", bound, statement):
            counts[-1 if place is None else place] = number
        return pieces.prefixes(counts)

    def numbers(self, bound: Sequence[BoundAxis]) -> Iterator[Sequence[FloatArray]]:
        statement = Statement()
        query = (
            f"SELECT {self._numbers(bound, statement)} FROM ({sql.read(bound, self._rows(bound, statement))}) AS values"
        )
        for rows in self._link.batches(query, ROWS_AT_ONCE, statement.parameters):
            yield list(np.array(rows, dtype=np.float64).T)  # what is NULL there is NaN here

    def in_subsets(self, bound: Sequence[BoundAxis], subsets: int) -> Iterator[Sequence[FloatArray]]:
        statement, places = Statement(), sorted({each.place for each in bound})
        numbers = self._numbers(bound, statement)
        own = [] if self._unit == EACH_RECORD else [place_of(self._unit.column, self.columns)]
        used = self._used(sorted({*places, *own}), statement) if own else ""
        named = named_units(self._table, places, self._unit, used)
        query = f"SELECT {numbers}, name FROM ({sql.read(bound, named, 'name')}) AS values"
        for rows in self._link.batches(query, ROWS_AT_ONCE, statement.parameters):
            *columns, names = zip(*rows, strict=True)
            found = [np.array(column, dtype=np.float64) for column in columns]
            yield [*found, subsets_of(names, self._key, subsets)]

    def _numbers(self, bound: Sequence[BoundAxis], statement: Statement) -> str:
        """SQL for the number on each grid, and the slot of each category."""
        return ", ".join(
            f"n{i}" if isinstance(each.axis, Axis) else f"({sql.slot(each, i, statement)})::float8"
            for i, each in enumerate(bound)
        )

    def places(self, bound: Sequence[BoundAxis]) -> IntArray:
        statement = Statement()
        query = (
            f"SELECT {self._place(bound, statement)} FROM ({sql.read(bound, self._rows(bound, statement))}) AS values"
        )
        found = self._link.rows(query, statement.parameters)
        return np.array([size_of(bound) if place is None else place for (place,) in found], dtype=np.int64)

    def units(self) -> int:
        if self._unit == EACH_RECORD:
            ((number,),) = self._link.rows(f"SELECT count(*) FROM {self._table.name}")
            return int(number)
        at = place_of(self._unit.column, self.columns)
        named = f"SELECT {self.columns[at].unit.format(f'c{at}')} AS unit FROM {self._table.scan([at])}"
        counted = "count(DISTINCT unit) + (count(*) > count(unit))::int"
        ((number,),) = self._link.rows(f"SELECT {counted} FROM ({named}) AS named")
        return int(number)

    def close(self) -> None:
        self._link.close()

    def _asked(self, selected: str, total: str, bound: Sequence[BoundAxis], statement: Statement) -> list[Any]:
        rows = f"({sql.read(bound, self._rows(bound, statement))}) AS values"
        # Apart, places are not guessed to be as many as values: so the server hashes them, and in parallel.
        query = f"SELECT place, {total} FROM ({selected} FROM {rows} {sql.APART}) AS placed GROUP BY place"
        return self._link.rows(query, statement.parameters)

    def _place(self, bound: Sequence[BoundAxis], statement: Statement) -> str:
        return sql.joined(bound, [sql.slot(each, number, statement) for number, each in enumerate(bound)])

    def _rows(self, bound: Sequence[BoundAxis], statement: Statement) -> str:
        """A FROM clause of the used rows."""
        places = sorted({each.place for each in bound})
        if self._unit == EACH_RECORD:
            return self._table.scan(places)
        return self._used(places, statement)

    def _used(self, places: Sequence[int], statement: Statement) -> str:
        return f"({used_rows(self._table, places, self._unit, self._key, statement)}) AS used"


def moment_of(link: Link, table: Table) -> int:
    """A number of the snapshot: equal only where the same server shows what the same transactions have left."""
    facts = repr((link.rows(_MOMENT), table.oid))
    return int(sha256(facts.encode()).hexdigest()[:15], 16)
