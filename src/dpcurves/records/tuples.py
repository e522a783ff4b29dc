"""SENSITIVE. Tuples of a stream that lie in a finished file or table, counted step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..arrays import IntArray
from ..data.axis import Axis, Categories
from .column import Column, Kind, called, place_of
from .engine import Engine
from .engines.duckdb_tables import place_in_sql, read_in_sql
from .engines.engine import BoundAxis
from .hiding import FAILURE, hidden
from .opening import source_of

ROWS_AT_ONCE = 2**16
LARGEST = 2**60
_PLACED = "placed"
_MICROSECONDS = "TRY_CAST(round({number} * 1000000) AS BIGINT)"
# What reads as a number is seconds since 1970; other text is ISO 8601, in UTC where it does not say.
_MOMENT = (
    "coalesce(TRY_CAST(round(TRY_CAST({text} AS DOUBLE) * 1000000) AS BIGINT), "
    "CASE WHEN isfinite(TRY_CAST({text} AS TIMESTAMPTZ)) THEN epoch_us(TRY_CAST({text} AS TIMESTAMPTZ)) END)"
)


@dataclass(frozen=True, slots=True)
class Used:
    """The rule that chooses which tuples of a unit are counted. Public.

    Attributes:
        time: The column that says when.
        user: The column that says whose; None: nobody asks.
        most: How many tuples of one user in one step are used.
        start: When step 1 begins, in microseconds since 1970.
        every: How long a step is, in microseconds.
        last: The last step that is counted.
    """

    time: str
    user: str | None
    most: int
    start: int
    every: int
    last: int


class Tuples:
    """Opened tuples. Shows nothing of them.

    Formal guarantees: which tuples of one user in one step are used is a function of the key and of these tuples. After
    the schema was checked no tuple makes any of this fail.

    Args:
        data: What `open_records` takes.
        used: Which tuples are counted.
        axes: Their states.
        key: The secret key of the stream, which draws the tuples of a user that are used.

    Raises:
        TypeError, ValueError: as `open_records`; or a column is not there. No value is shown.
    """

    __slots__ = ("_axes", "_engine", "_key", "_places", "_source", "_used")

    def __init__(
        self, data: Any, used: Used, axes: Sequence[Axis | Categories], key: bytes, delimiter: str = ","
    ) -> None:
        self._source, self._used, self._axes, self._key = source_of(data, delimiter), used, axes, key
        named = [(used.time, "time"), *((axis.column, "state") for axis in axes)]
        named += [] if used.user is None else [(used.user, "user")]
        self._places = [place_of(name, self._source.columns, argument) for name, argument in named]
        self._engine: Engine | None = None

    def __repr__(self) -> str:
        return "Tuples(hidden)"

    def close(self) -> None:
        """Let go of the tuples."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def counts(self, after: int) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """Steps, places and numbers of tuples, in the order of steps; what is zero is left out. From `after` on."""
        engine = self._opened()
        rows = (
            f"SELECT tick, place, count(*) AS tuples FROM {_PLACED} WHERE rank <= {self._used.most} AND tick > {after}"
        )
        query = f"{rows} AND tick <= {self._used.last} GROUP BY tick, place ORDER BY tick, place"
        reader = hidden(lambda: engine.connection.sql(query).to_arrow_reader(ROWS_AT_ONCE), FAILURE)
        while (batch := hidden(lambda: next(reader, None), FAILURE)) is not None:
            tick, place, tuples = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
            yield tick, place, tuples

    def dropped(self) -> tuple[int, int, int, int]:
        """CONFIDENTIAL. How many are malformed, outside of all steps, of no declared state, and beyond the cap."""
        most, last = self._used.most, self._used.last
        inside = f"tick BETWEEN 1 AND {last}"
        reasons = ("tick IS NULL", f"NOT {inside}", f"{inside} AND place IS NULL", f"{inside} AND rank > {most}")
        counts = ", ".join(f"count(*) FILTER (WHERE {reason})" for reason in reasons)
        engine = self._opened()
        (row,) = hidden(lambda: engine.connection.execute(f"SELECT {counts} FROM {_PLACED}").fetchall(), FAILURE)
        return row

    def _opened(self) -> Engine:
        if self._engine is None:
            engine = self._engine = Engine()
            engine.connection.execute("SET TimeZone = 'UTC'")
            hidden(lambda: self._place(engine), FAILURE)
        return self._engine

    def _place(self, engine: Engine) -> None:
        used, columns = self._used, self._source.columns
        time, *states = self._places[: 1 + len(self._axes)]
        bound = [BoundAxis(axis, columns[at], at) for axis, at in zip(self._axes, states, strict=True)]
        user = "NULL" if used.user is None else columns[self._places[-1]].unit.format(called(self._places[-1]))
        extra = f"{_moment(columns[time], time)} AS moment, {user} AS owner"
        rows = read_in_sql(self._source.scan(engine.connection, sorted(set(self._places))), bound, extra)
        tick = f"CASE WHEN moment < {used.start} THEN 0 ELSE (moment - {used.start}) // {used.every} + 1 END"
        placed = f"SELECT {tick} AS tick, {place_in_sql(bound)} AS place, moment, owner FROM ({rows})"
        engine.connection.execute(f"CREATE TEMP TABLE {_PLACED} AS {_ranked(placed, used)}", self._secret())

    def _secret(self) -> dict[str, str]:
        return {} if self._used.user is None else {"secret": self._key.hex()}


def _ranked(placed: str, used: Used) -> str:
    """The tuples of a user in a step that are in a declared state, in an order that was drawn in secret."""
    if used.user is None:
        return f"SELECT tick, place, CASE WHEN place IS NOT NULL THEN 1 END AS rank FROM ({placed})"
    drawn = "sha256(concat_ws('|', $secret, coalesce(owner::VARCHAR, ''), moment, place))"
    alike = "PARTITION BY tick, owner, place IS NULL"
    rank = f"CASE WHEN place IS NOT NULL THEN row_number() OVER ({alike} ORDER BY {drawn}) END"
    return f"SELECT tick, place, {rank} AS rank FROM ({placed})"


def _moment(column: Column, place: int) -> str:
    """SQL for microseconds since 1970, or NULL; far from the ends of 64 bits, so that what follows cannot overflow."""
    found = _any_moment(column, place)
    return f"CASE WHEN ({found}) BETWEEN -{LARGEST} AND {LARGEST} THEN ({found}) END"


def _any_moment(column: Column, place: int) -> str:
    if column.moment is not None:
        return column.moment.format(called(place))
    if column.kind is Kind.NUMBERS:
        return _MICROSECONDS.format(number=column.number.format(called(place)))
    return _MOMENT.format(text=column.text.format(called(place)))
