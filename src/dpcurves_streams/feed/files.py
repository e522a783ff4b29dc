"""SENSITIVE. Input sources of a stream: complete files and tables, pipes and live iterables, and a synthetic example.

A source reads tuples (rows with a timestamp) and returns the exact counts of one closed time step after the other. A
complete file or table is counted at once, because no tuple can be late. From a pipe or an iterable, a tuple arrives
when it is read, and a step closes at its watermark (the end of the step plus a grace period). Errors never quote a
tuple.
"""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import pi, prod, sin
from os import PathLike, fspath
from queue import Empty, Queue
from threading import Thread
from typing import IO, Any

import numpy as np

from dpcurves.arguments import InvalidArgument, describe_nearest_name
from dpcurves.arrays import IntArray
from dpcurves.data import parse_delimiter
from dpcurves.data.axis import Axis, Categories, is_expression
from dpcurves.records.counting import require_matching_values
from dpcurves.records.engines.derived_columns import DerivedColumns
from dpcurves.records.engines.duckdb import DuckConnection, cell_sql, read_rows_sql
from dpcurves.records.engines.engine import BoundAxis
from dpcurves.records.source import READ_FAILURE, Column, ColumnKind, find_column, hide_failure, read_batches, sql_name
from dpcurves.records.table_sources import open_source

from ..queries import UncountedReason
from .schedule import find_stream_filter, invert_axis
from .windows import REASON_INDEX, RELEASED_REASONS, DropReason, OpenWindows, StreamSpec, Window, Windows

TupleFields = Mapping[str, Any] | None
"""A tuple as a mapping of field names to values; None if it could not be parsed."""
_ITERABLE_FAILURE = "reading failed; check the file (the error is not shown, because it may quote a tuple)"
"""Error in place of any error while tuples are read from an iterable."""


class LiveWindows:
    """Counts the tuples of an iterable into windows that close at their watermark.

    If the last step has closed before the first tuple is read, as in a replay, all tuples are read first and none is
    late. Otherwise a thread reads, and a tuple arrives when it is read. After the last tuple, windows close up to the
    declared end, or, without end, up to the step that is open then.

    Args:
        tuples: Mappings of field names to values, or None for tuples that could not be parsed.
        intake: Declaration of the stream.
    """

    __slots__ = ("_intake", "_tuples")

    def __init__(self, tuples: Iterable[TupleFields] | AsyncIterable[TupleFields], intake: StreamSpec) -> None:
        self._tuples = tuples
        self._intake = intake

    def check(self) -> None:
        """Refuse an invalid filter or expression. An iterable has no schema, and tuples without a field count as
        unreadable.
        """
        self._intake.open_windows(0)

    def windows_after(self, time_step: int) -> Iterator[Sequence[Window]]:
        """Yield the exact counts (windows) of steps after `time_step`, as the steps close by the clock.

        Several windows are yielded at once if several have closed.

        Args:
            time_step: Last step that was released; 0 before the first.
        """
        windows = self._intake.open_windows(time_step, may_repeat=True)
        if self._intake.is_over:
            _read_all(self._tuples, lambda fields: windows.count_tuple(fields, None))
            for time_steps in self._intake.batch_time_steps(time_step + 1, self._intake.schedule.time_steps or 0):
                yield windows.close_windows(time_steps[-1])
        else:
            yield from self._follow_live(windows, time_step)

    def commit_windows(self, time_step: int) -> None:
        """Do nothing: an iterable cannot repeat its tuples.

        Args:
            time_step: Without effect.
        """

    def _follow_live(self, windows: OpenWindows, time_step: int) -> Iterator[Sequence[Window]]:
        """SECRET: yield windows as they close by the clock, counting the tuples that a thread reads meanwhile.

        Args:
            windows: Open windows of the steps after `time_step`.
            time_step: Last step that was released; 0 before the first.

        Yields:
            Windows in batches; more than one if several have closed, as after a pause.
        """
        schedule = self._intake.schedule
        inbox = _Inbox(self._tuples, self._intake)
        while time_step != schedule.time_steps and not inbox.is_over(time_step):
            for arrived, fields in inbox.take_until(schedule.closing_time(time_step + 1)):
                windows.count_tuple(fields, arrived)
            # If several windows have closed, as after a pause, count all that arrived before the last of them closed.
            last = max(time_step + 1, schedule.last_closed_time_step(self._intake.clock.now()))
            for arrived, fields in inbox.take_until(schedule.closing_time(last)):
                windows.count_tuple(fields, arrived)
            for time_steps in self._intake.batch_time_steps(time_step + 1, last):
                yield windows.close_windows(time_steps[-1])
            time_step = last


class _Inbox:
    """SECRET. Bounded queue of tuples that a thread reads, with their arrival times."""

    def __init__(self, tuples: Iterable[TupleFields] | AsyncIterable[TupleFields], intake: StreamSpec) -> None:
        """Start a thread that reads the tuples of a live stream into a queue.

        Args:
            tuples: Fields of each tuple by name, as the user's iterable gives them.
            intake: Declared states and schedule of the stream.
        """
        self._intake = intake
        # 2**16: tuples in the queue before the reading thread blocks
        self._queue: Queue[tuple[int, TupleFields, bool]] = Queue(2**16)
        self._first: tuple[int, TupleFields, bool] | None = None
        self._ended: int | None = None
        self._failed = False
        Thread(target=self._read_tuples, args=(tuples,), daemon=True).start()

    def is_over(self, time_step: int) -> bool:
        """Return True if all tuples of a stream without end were read, and the step in which they ended was released.

        Args:
            time_step: Last step that was released.

        Raises:
            InvalidArgument: the thread that reads the tuples failed.
        """
        if self._failed:
            raise InvalidArgument("source", _ITERABLE_FAILURE)
        schedule = self._intake.schedule
        return self._ended is not None and schedule.end is None and schedule.start_time(time_step + 1) > self._ended

    def take_until(self, closing_time: int) -> Iterator[tuple[int, TupleFields]]:
        """Yield the tuples that arrived before this time, once it has passed.

        Args:
            closing_time: Time in microseconds since 1970.

        Yields:
            Arrival time, in microseconds since 1970, and fields; fields are None for an unreadable tuple.
        """
        while (item := self._take_before(closing_time)) is not None:
            arrived, fields, is_end = item
            if is_end:
                self._ended = arrived
            else:
                yield arrived, fields

    def _take_before(self, closing_time: int) -> tuple[int, TupleFields, bool] | None:
        """Return the next tuple that arrived before this time; None if it has passed and the queue is empty.

        Args:
            closing_time: Time in microseconds since 1970.

        Returns:
            Arrival time, fields, and whether the item is the mark of the end.
        """
        item = self._first or self._wait_for_tuple(closing_time)
        self._first = None
        if item is not None and item[0] >= closing_time:
            item, self._first = None, item
        return item

    def _wait_for_tuple(self, closing_time: int) -> tuple[int, TupleFields, bool] | None:
        """Return the next item of the queue of tuples, waiting for it until a time.

        Args:
            closing_time: End of the wait, in microseconds since 1970.

        Returns:
            Arrival time, fields, and True after the last tuple; None if the time passes first.
        """
        while True:
            wait = (closing_time - self._intake.clock.now()) / 1e6
            try:
                # seconds between two checks of the clock
                return self._queue.get_nowait() if wait <= 0 else self._queue.get(timeout=min(wait, 0.25))
            except Empty:
                if wait <= 0:
                    return None

    def _read_tuples(self, tuples: Iterable[TupleFields] | AsyncIterable[TupleFields]) -> None:
        """Put each tuple into the queue with its arrival time, then a mark of the end; runs in a thread.

        Args:
            tuples: Fields of each tuple by name; None for an unreadable tuple.
        """
        now = self._intake.clock.now
        try:
            _read_all(tuples, lambda fields: self._queue.put((now(), fields, False)))
        except InvalidArgument:
            self._failed = True
        self._queue.put((now(), None, True))


def _read_all(
    tuples: Iterable[TupleFields] | AsyncIterable[TupleFields], take: Callable[[TupleFields], object]
) -> None:
    """Pass each tuple (record) of an iterable to a function, in this thread.

    The iterable's errors are not shown, because they may quote a tuple.

    Args:
        tuples: Iterable or asynchronous iterable of mappings.
        take: Function of a tuple; it gets None for an item that is no mapping.

    Raises:
        InvalidArgument: the iterable or `take` failed.
    """
    try:
        if isinstance(tuples, AsyncIterable):
            asyncio.run(_read_async(tuples, take))
        else:
            for fields in tuples:
                take(fields if isinstance(fields, Mapping) else None)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        pass
    else:
        return
    raise InvalidArgument("source", _ITERABLE_FAILURE)


async def _read_async(tuples: AsyncIterable[TupleFields], take: Callable[[TupleFields], object]) -> None:
    """Pass each tuple (record) of an asynchronous iterable to a function.

    Args:
        tuples: The iterable.
        take: Function of a tuple; it gets None for an item that is no mapping.
    """
    async for fields in tuples:
        take(fields if isinstance(fields, Mapping) else None)


# SENSITIVE. Finished sources and pipes: files, Parquet, data frames, DuckDB relations.


LONGEST_LINE = 2**20
"""Largest length of a line, in characters or bytes; longer lines count as unreadable tuples, so that one tuple cannot
exhaust memory."""


class CsvLines:
    """CSV on a pipe. Its header names the fields.

    Args:
        file: File opened for reading, as text or bytes.
        delimiter: Separator of fields.
    """

    def __init__(self, file: IO[Any], delimiter: str = ",") -> None:
        self._file = file
        self._delimiter = parse_delimiter(delimiter)

    def windows(self, intake: StreamSpec) -> Windows:
        """Return the windows of the lines that follow the header, which is read here.

        Args:
            intake: Schedule, fields, states and filter of the stream.

        Raises:
            ValueError: a field is missing from the header, or appears twice.
        """
        lines = _read_lines(self._file)
        names = _split_fields(next(lines, ""), self._delimiter)
        for name in intake.find_field_names(names):
            if names.count(name) != 1:
                nearest = "" if name in names else describe_nearest_name(name, names, cutoff=0.5)
                raise InvalidArgument(
                    "column",
                    f"{name!r} must appear once in the header, found {names.count(name)} times{nearest}; name a "
                    "column that the header has once",
                    name,
                )
        return LiveWindows(self._parse_tuples(lines, names), intake)

    def _parse_tuples(self, lines: Iterable[str], names: Sequence[str]) -> Iterator[Mapping[str, str] | None]:
        """Yield the fields of each line by name; None for a line with another number of fields.

        Args:
            lines: Lines of text, without the header.
            names: Names of the fields, in the order of the header.
        """
        for line in lines:
            fields = _split_fields(line, self._delimiter)
            yield dict(zip(names, fields, strict=True)) if len(fields) == len(names) else None


class JsonLines:
    """JSON objects on a pipe, one per line.

    Args:
        file: File opened for reading, as text or bytes.
    """

    def __init__(self, file: IO[Any]) -> None:
        self._file = file

    def windows(self, intake: StreamSpec) -> Windows:
        """Return the windows that count the lines of the pipe.

        Args:
            intake: Declared states and schedule of the stream.
        """
        return LiveWindows(parse_json_lines(self._file), intake)


def parse_json_lines(file: IO[Any]) -> Iterator[Mapping[str, Any] | None]:
    """Parse lines of JSON; yield None for each line that is not an object.

    Args:
        file: Open file or pipe, of text or bytes.
    """
    return map(_parse_object, _read_lines(file))


def _parse_object(line: str) -> Mapping[str, Any] | None:
    """Return the JSON object of a line; None if the line holds none.

    Args:
        line: Line of text.

    Returns:
        Fields by name; None also for an array, a number or invalid JSON.
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _split_fields(line: str, delimiter: str) -> list[str]:
    """Return the fields of a CSV line; an empty list if it is malformed.

    Args:
        line: Line of text.
        delimiter: Field separator, one character.
    """
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def _read_lines(file: IO[Any]) -> Iterator[str]:
    """Yield lines as text, for any encoding; a line that is too long becomes empty.

    Args:
        file: File of bytes or text. Invalid bytes become replacement characters.

    Yields:
        Lines with their ends; blank lines are left out.
    """
    raw: IO[Any] = getattr(file, "buffer", file)
    while line := raw.readline(LONGEST_LINE):
        remainder = line
        is_cut = len(line) == LONGEST_LINE
        while is_cut and remainder and remainder[-1:] not in ("\n", b"\n"):
            remainder = raw.readline(LONGEST_LINE)
        text = line if isinstance(line, str) else line.decode(errors="replace")
        if is_cut:
            text = ""
        if is_cut or text.strip():
            yield text


LARGEST_TIMESTAMP = 2**60
"""Microseconds since 1970. Largest timestamp; keeps differences of timestamps within 64 bits. A tuple with a later one
counts as unreadable."""
_TUPLES_TABLE = "placed"
"""Name of DuckDB's temporary table of tuples with their time step, slot and rank among their user's tuples.
CONFIDENTIAL."""
_MICROSECONDS = "TRY_CAST(round({number} * 1000000) AS BIGINT)"
"""SQL of a timestamp given as a number of seconds since 1970, in microseconds; NULL beyond 64 bits."""
# Text that parses as a number is seconds since 1970; other text is ISO 8601, in UTC unless it names a zone.
_MOMENT = (
    "coalesce(TRY_CAST(round(TRY_CAST({text} AS DOUBLE) * 1000000) AS BIGINT), "
    "CASE WHEN isfinite(TRY_CAST({text} AS TIMESTAMPTZ)) THEN epoch_us(TRY_CAST({text} AS TIMESTAMPTZ)) END)"
)
"""SQL of a timestamp given as text, in microseconds since 1970; NULL, so an unreadable tuple, for other texts."""


@dataclass(frozen=True, slots=True)
class ContributionRule:
    """Public rule that selects the tuples of a unit that are counted.

    Attributes:
        time: Column of timestamps.
        user: Column of users; None: tuples have no users.
        tuples_per_user: Contribution bound: most tuples of one user in one step.
        start: Start of step 1, in microseconds since 1970.
        every: Length of a step, in microseconds.
        time_steps: Number of steps.
        last_time_step: Last step that has closed and is counted.
    """

    time: str
    user: str | None
    tuples_per_user: int
    start: int
    every: int
    time_steps: int
    last_time_step: int


_UNCOUNTED = (DropReason.MALFORMED, DropReason.OUTSIDE, DropReason.UNKNOWN)
"""Reasons why a tuple of a file is in no state; its slot stands for one of them. Files have no late tuples, because all
lines are there at once."""


class TupleTable:
    """Opened table of tuples. It shows nothing of them.

    No tuple is late: a tuple whose timestamp is unreadable or outside the steps counts in step 1. Of a user's tuples in
    a step, tuples in declared states are used first, then uncounted tuples.

    Formal guarantees: the used tuples of a user in a step are a function of the key and of these tuples. At most K are
    used, each in one slot, a cell or a reason, and one more slot counts users with more than K. Once the schema is
    checked, no tuple can raise an error.
    """

    __slots__ = ("_bound", "_cell", "_derived", "_engine", "_filter", "_key", "_places", "_used")

    def __init__(
        self, data: Any, rule: ContributionRule, axes: Sequence[Axis | Categories], key: bytes, delimiter: str = ","
    ) -> None:
        """Open a table of tuples (records of a stream) to count them by time step; columns are checked, no row is read.

        Args:
            data: Table, as in `open_records`.
            rule: Which tuples are counted.
            axes: The states.
            key: Secret key of the stream, which selects the used tuples of a user.
            delimiter: Separator of the fields of a CSV file.

        Raises:
            TypeError, ValueError: as in `open_records`; or a column is missing, or cannot hold the declared states. The
                message shows no value.
        """
        self._derived = DerivedColumns(open_source(data, delimiter))
        self._used = rule
        self._key = key
        roles = [(rule.time, "time"), *([] if rule.user is None else [(rule.user, "user")])]
        self._places = [find_column(name, self._derived.columns, argument) for name, argument in roles]
        self._bound = [_bind_state(axis, self._derived) for axis in axes]
        self._cell = cell_sql(self._bound)
        where = find_stream_filter(axes)
        self._filter = self._derived.add_condition(where) if where else None
        self._engine: DuckConnection | None = None

    def __repr__(self) -> str:
        return "TupleTable(hidden)"

    def close(self) -> None:
        """Close the connection to DuckDB, which drops the tuples."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def count_by_time_step(self, after: int) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """SECRET: yield exact numbers of tuples by step and slot, for the steps after a step; zeros are left out.

        Slots are the cells, then the reasons of `UncountedReason`; the slot of `BEYOND_CAP` counts users.

        Args:
            after: Last step that was released; 0 before the first.

        Yields:
            Steps, slots and numbers of tuples: three arrays of equal length, ordered by step.
        """
        engine = self._open_engine()
        cap = self._used.tuples_per_user
        slot = f"CASE WHEN rank > {cap} THEN {self._cells + REASON_INDEX[UncountedReason.BEYOND_CAP]} ELSE slot END"
        rows = f"SELECT step, {slot} AS slot FROM {_TUPLES_TABLE} WHERE rank <= {cap + 1} AND step > {after}"
        counts_sql = f"SELECT step, slot, count(*) AS tuples FROM ({rows} AND step <= {self._used.last_time_step})"
        query = f"{counts_sql} GROUP BY step, slot ORDER BY step, slot"
        batches = read_batches(hide_failure(lambda: engine.connection.sql(query), READ_FAILURE))
        while (batch := hide_failure(lambda: next(batches, None), READ_FAILURE)) is not None:
            step, slots, tuples = (column.to_numpy() for column in batch)
            yield step, slots, tuples

    def count_dropped(self) -> dict[DropReason, int]:
        """CONFIDENTIAL. Return the exact numbers of dropped tuples, by reason.

        Returns:
            Numbers by reason; a reason of the filter only if the stream has a filter.
        """
        reasons = [f"slot = {self._cells + REASON_INDEX[RELEASED_REASONS[reason]]}" for reason in _UNCOUNTED]
        beyond = f"slot < {self._cells} AND step <= {self._used.last_time_step} AND rank > {self._used.tuples_per_user}"
        counts = ", ".join(f"count(*) FILTER (WHERE {reason})" for reason in (*reasons, beyond))
        engine = self._open_engine()
        (row,) = hide_failure(
            lambda: engine.connection.execute(f"SELECT {counts} FROM {_TUPLES_TABLE}").fetchall(), READ_FAILURE
        )
        filtered = {DropReason.FILTERED: self._count_failing(engine)} if self._filter is not None else {}
        return dict(zip((*_UNCOUNTED, DropReason.BEYOND_CAP), row, strict=True)) | filtered

    def _count_failing(self, engine: DuckConnection) -> int:
        """CONFIDENTIAL. Return the exact number of tuples that fail the stream's filter.

        Args:
            engine: Connection to DuckDB in which the table is open.
        """
        position = self._filter or 0
        rows = self._derived.scan(engine.connection, [position])
        query = f"SELECT count(*) FILTER (WHERE NOT {sql_name(position)}) FROM {rows}"
        (row,) = hide_failure(lambda: engine.connection.execute(query).fetchall(), READ_FAILURE)
        return int(row[0])

    @property
    def _cells(self) -> int:
        """Number of counts of a step: of all combinations of declared states."""
        return prod(bound.axis.slots for bound in self._bound)

    def _open_engine(self) -> DuckConnection:
        """Return a DuckDB connection that holds the tuples within the cap per user, with their steps and cells.

        The table is read at the first call.
        """
        if self._engine is None:
            engine = self._engine = DuckConnection()
            engine.connection.execute("SET TimeZone = 'UTC'")
            hide_failure(lambda: self._place_tuples(engine), READ_FAILURE)
        return self._engine

    def _place_tuples(self, engine: DuckConnection) -> None:
        """SECRET: store, in a temporary table of DuckDB, how each tuple is counted within the cap on tuples per user.

        Columns are its time step, its slot (cell, or reason why it is not counted), and its rank among its user's
        tuples.

        Args:
            engine: DuckDB connection in which the table is created.
        """
        used = self._used
        columns = self._derived.columns
        bound = self._bound
        time = self._places[0]
        user = "NULL" if used.user is None else columns[self._places[-1]].unit.format(sql_name(self._places[-1]))
        extra = f"{_timestamp_sql(columns[time], time)} AS moment, {user} AS owner"
        positions = {*self._places, *(bound_axis.place for bound_axis in bound)}
        if self._filter is None:
            scanned = self._derived.scan(engine.connection, sorted(positions))
        else:  # before users are ranked, so that a tuple that fails does not displace another tuple
            table = self._derived.scan(engine.connection, sorted({*positions, self._filter}))
            scanned = f"(SELECT * FROM {table} WHERE {sql_name(self._filter)})"
        rows = read_rows_sql(scanned, bound, extra)
        time_step = f"CASE WHEN moment < {used.start} THEN 0 ELSE (moment - {used.start}) // {used.every} + 1 END"
        placed = f"SELECT {time_step} AS time_step, {self._cell} AS place, moment, owner FROM ({rows})"
        secret = {} if used.user is None else {"secret": self._key.hex()}
        ranked = _rank_query(_slot_query(placed, used.time_steps, self._cells), used, self._cells)
        engine.connection.execute(f"CREATE TEMP TABLE {_TUPLES_TABLE} AS {ranked}", secret)


def _bind_state(axis: Axis | Categories, derived: DerivedColumns) -> BoundAxis:
    """Return the axis of a state with its column of the table, or with the column that an expression derives.

    Args:
        axis: Axis of a state, by a column or an expression.
        derived: Columns of the table, to which the column of an expression is added.

    Raises:
        ValueError: a column is missing, is of a type that the states do not have, or the expression is invalid.
    """
    if is_expression(axis, {column.name for column in derived.columns}):
        axis, text = invert_axis(axis)
        is_numeric = isinstance(axis, Axis)
        column, position = derived.add(text, is_numeric, "column" if is_numeric else "state")
        if column.kind is ColumnKind.TIMES:
            raise InvalidArgument(
                "column", f"{text} is a date; count days, as in date_diff('day', DATE '2020-01-01', {text})"
            )
    else:
        position = find_column(str(axis.column), derived.columns, "state")
        column = derived.columns[position]
    if isinstance(axis, Categories):
        require_matching_values(axis, column)
    return BoundAxis(axis, column, position)


def _slot_query(placed_query: str, time_steps: int, cells: int) -> str:
    """Return SQL for the step of each tuple, and for its cell or the reason why it is not counted (its slot).

    Args:
        placed_query: SQL of tuples with `time_step` and `place`, the cell; NULL where they are unknown.
        time_steps: Number of steps of the stream.
        cells: Number of cells; reasons of `UncountedReason` are numbered after them.
    """
    outside = f"time_step NOT BETWEEN 1 AND {time_steps}"
    slot_of = {reason: cells + index for reason, index in REASON_INDEX.items()}
    slot = (
        f"CASE WHEN time_step IS NULL THEN {slot_of[UncountedReason.UNREADABLE]} "
        f"WHEN {outside} THEN {slot_of[UncountedReason.OUTSIDE]} "
        f"WHEN place IS NULL THEN {slot_of[UncountedReason.OTHER_STATE]} ELSE place END"
    )
    step = f"CASE WHEN time_step IS NULL OR {outside} THEN 1 ELSE time_step END"
    return f"SELECT {step} AS step, {slot} AS slot, place, moment, owner FROM ({placed_query})"


def _rank_query(slot_query: str, rule: ContributionRule, cells: int) -> str:
    """Return SQL that ranks a user's tuples in a step: declared states first, then by a keyed hash.

    Args:
        slot_query: SQL of the tuples with step, slot and owner.
        rule: Contribution rule; without a user each tuple has rank 1.
        cells: Number of declared states; further slots are reasons.
    """
    if rule.user is None:
        return f"SELECT step, slot, 1 AS rank FROM ({slot_query})"
    keyed_hash = "sha256(concat_ws('|', $secret, coalesce(owner::VARCHAR, ''), moment, place))"
    order = f"PARTITION BY step, owner ORDER BY slot >= {cells}, {keyed_hash}, slot"
    return f"SELECT step, slot, row_number() OVER ({order}) AS rank FROM ({slot_query})"


def _timestamp_sql(column: Column, column_index: int) -> str:
    """Return SQL for microseconds since 1970, or NULL.

    The range is far from the limits of 64 bits, so nothing overflows.

    Args:
        column: Column of timestamps: times, numbers or texts.
        column_index: Position of the column in the table, from 0.

    Returns:
        SQL expression; NULL for an unreadable timestamp or one beyond `LARGEST_TIMESTAMP`.
    """
    timestamp = _unbounded_timestamp_sql(column, column_index)
    return f"CASE WHEN ({timestamp}) BETWEEN -{LARGEST_TIMESTAMP} AND {LARGEST_TIMESTAMP} THEN ({timestamp}) END"


def _unbounded_timestamp_sql(column: Column, column_index: int) -> str:
    """Return SQL for microseconds since 1970, of any size, from a time, a number or a text; NULL if unreadable.

    Args:
        column: Column of timestamps: times, numbers or texts.
        column_index: Position of the column in the table, from 0.
    """
    if column.moment is not None:
        return column.moment.format(sql_name(column_index))
    if column.kind is ColumnKind.NUMBERS:
        return _MICROSECONDS.format(number=column.number.format(sql_name(column_index)))
    return _MOMENT.format(text=column.text.format(sql_name(column_index)))


class TableWindows:
    """Counts all windows that have closed by now, in DuckDB.

    Args:
        data: Path of a .csv or .parquet file, data frame, Arrow table, mapping or DuckDB relation.
        intake: Declaration of the stream.
        delimiter: Separator of the fields of a CSV file.
    """

    __slots__ = ("_data", "_delimiter", "_intake")

    def __init__(self, data: Any, intake: StreamSpec, delimiter: str = ",") -> None:
        self._data = data
        self._intake = intake
        self._delimiter = delimiter

    def check(self) -> None:
        """Refuse missing columns, and a stream without end: a finished table needs an end."""
        require_end(self._intake)
        self._open_tuples(0).close()

    def windows_after(self, time_step: int) -> Iterator[Sequence[Window]]:
        """Yield the windows of steps after `time_step` that have closed by now, in batches.

        Args:
            time_step: Last step that was released; 0 before the first.
        """
        last = self._intake.schedule.last_closed_time_step(self._intake.clock.now())
        tuples = self._open_tuples(last)
        try:
            for reason, count in tuples.count_dropped().items():
                self._intake.drop_counts.add(reason, count)
            yield from self._build_windows(_CountBatches(tuples, time_step), time_step, last)
        finally:
            tuples.close()

    def commit_windows(self, time_step: int) -> None:
        """Do nothing: the table stays.

        Args:
            time_step: Without effect.
        """

    def _build_windows(self, counts: _CountBatches, time_step: int, last: int) -> Iterator[Sequence[Window]]:
        """SECRET: yield the windows of steps after `time_step` up to `last`, in batches, from counts by step.

        Args:
            counts: Exact numbers of tuples by step and cell.
            time_step: Last step that was released; 0 before the first.
            last: Last step that has closed.
        """
        for time_steps in self._intake.batch_time_steps(time_step + 1, last):
            cells = self._intake.cells
            table = np.zeros((len(time_steps), cells + len(self._intake.reasons)), dtype=np.int64)
            for steps, slot, count in counts.take_before(time_steps.stop):
                table[steps - time_steps.start, slot] = count
            yield [Window(step, row[:cells], row[cells:]) for step, row in zip(time_steps, table, strict=True)]

    def _open_tuples(self, last: int) -> TupleTable:
        """Open the table with the rule that selects the counted tuples up to step `last`.

        Args:
            last: Last step that has closed.
        """
        fields, schedule = self._intake.fields, self._intake.schedule
        rule = ContributionRule(
            fields.time, fields.user, fields.tuples_per_user or 1, schedule.start, schedule.every,
            schedule.time_steps or 0, last,
        )  # fmt: skip
        return TupleTable(self._data, rule, self._intake.axes, self._intake.key, self._delimiter)


def require_end(intake: StreamSpec) -> None:
    """Check that a stream has an end, which a finished file or table needs.

    Args:
        intake: Declared states and schedule of the stream.

    Raises:
        ValueError: the schedule has no end.
    """
    if intake.schedule.end is None:
        raise InvalidArgument(
            "end", "is missing: a file or table needs the end of its last step, as in end='2026-03-02T22:00'"
        )


class _CountBatches:
    """SECRET. Counts in the order of steps, taken up to a step."""

    def __init__(self, tuples: TupleTable, time_step: int) -> None:
        self._batches = tuples.count_by_time_step(time_step)
        self._rest: Any = None

    def take_before(self, stop: int) -> Iterator[Any]:
        """Yield the exact counts of steps before `stop` as arrays: number of the step, index of the counted cell or
        reason (slot), and count.

        Args:
            stop: First step that is left for later.

        Yields:
            Steps, slots and counts: three arrays of equal length, in the order of steps.
        """
        while (batch := self._rest if self._rest is not None else next(self._batches, None)) is not None:
            cut = int(np.searchsorted(batch[0], stop))
            yield tuple(column[:cut] for column in batch)
            self._rest = tuple(column[cut:] for column in batch) if cut < len(batch[0]) else None
            if self._rest is not None:
                return


JSON_LINES = (".jsonl", ".ndjson")
"""File name endings whose lines are read as JSON objects unless --format names another format."""


class CsvFile:
    """A CSV file. (A path suffices for comma-separated files and for Parquet.)

    Args:
        path: The file.
        delimiter: Separator of fields.
    """

    def __init__(self, path: str | PathLike[str], delimiter: str = ",") -> None:
        self._path = fspath(path)
        self._delimiter = delimiter

    def windows(self, intake: StreamSpec) -> Windows:
        """Return the windows that count the lines of the file.

        Args:
            intake: Declared states and schedule of the stream.
        """
        return TableWindows(self._path, intake, self._delimiter)


class JsonLinesTuples:
    """A file with one JSON object per line. (A path suffices if it ends in .jsonl or .ndjson.)

    The first tuples of a user in a step are used, in the order of lines.

    Args:
        path: The file.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = fspath(path)

    def windows(self, intake: StreamSpec) -> Windows:
        """Return the windows that count the lines of the file.

        Args:
            intake: Declared states and schedule of the stream.
        """
        return _JsonLinesWindows(self._path, intake)


class _JsonLinesWindows:
    """Counts all windows that have closed by now."""

    __slots__ = ("_intake", "_path")

    def __init__(self, path: str, intake: StreamSpec) -> None:
        self._path = path
        self._intake = intake

    def check(self) -> None:
        """Refuse an unreadable file, a stream without end, and an invalid expression. Lines have no schema."""
        require_end(self._intake)
        self._intake.open_windows(0)
        self._open_file().close()

    def windows_after(self, time_step: int) -> Iterator[Sequence[Window]]:
        """Yield the windows of steps after `time_step` that have closed by now, in batches.

        Args:
            time_step: Last step that was released; 0 before the first.
        """
        last = self._intake.schedule.last_closed_time_step(self._intake.clock.now())
        windows = self._intake.open_windows(time_step)
        with self._open_file() as file:
            for fields in parse_json_lines(file):
                windows.count_tuple(fields, None)
        for time_steps in self._intake.batch_time_steps(time_step + 1, last):
            yield windows.close_windows(time_steps[-1])

    def commit_windows(self, time_step: int) -> None:
        """Do nothing: the file stays.

        Args:
            time_step: Without effect.
        """

    def _open_file(self) -> IO[bytes]:
        """Return the opened file, in binary mode.

        Raises:
            InvalidArgument: it cannot be read; the message has the system's reason.
        """
        try:
            return open(self._path, "rb")
        except OSError as error:
            trouble = str(error.strerror)
        raise InvalidArgument(
            "source", f"{self._path!r} cannot be read ({trouble}); check the path and its permissions"
        )


EXAMPLE_STATES = ("cafeteria", "gym", "library")
"""States of the example stream: the places of its access points."""
EXAMPLE_START = "2026-03-02T06:00"
"""Start of the example stream, in UTC."""
EXAMPLE_END = "2026-03-02T22:00"
"""End of the example stream, in UTC."""
EXAMPLE_STEP = "10m"
"""Length of a time step of the example stream."""
_PEAKS = {"cafeteria": (38, 60), "gym": (82, 25), "library": (55, 90)}
"""Time step of the largest number of tuples, and that number, for each place in the example stream."""


def example_tuples() -> Iterator[dict[str, Any]]:
    """Yield the synthetic tuples of one day: timestamp in seconds since 1970, access point and user."""
    seconds = 600  # seconds of a step of the example
    for step in range(96):  # steps of ten minutes from START to END
        for access_point, (peak, peak_count) in _PEAKS.items():
            for number in range(round(peak_count * max(0.0, sin(pi * (step - peak + 24) / 48)) ** 2)):
                user = (number * 7919 + step // 6 * 31) % 400
                yield {
                    "ts": 1_772_431_200 + step * seconds + number * 6 % seconds,  # START in seconds since 1970
                    "ap": access_point,
                    "mac": f"{access_point[0]}{user}",
                }
