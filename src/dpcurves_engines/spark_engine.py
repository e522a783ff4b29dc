"""SENSITIVE. Engines that count a Spark data frame or table.

    SparkEngine          counts a data frame in its own session
    RemoteSparkEngine    counts a table at a URL, in a session that the engine owns
    check_spark          runs the conformance checks of a server

Spark counts; only exact counts of cells are transferred, and the mechanism adds noise to them.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from hashlib import sha256
from queue import Empty, Queue
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument, MissingPackage
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.data.axis import Axis
from dpcurves.data.grid import Grid
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.queries.query import LONGEST_CATEGORY
from dpcurves.records.engines.duckdb import assign_subsets, decode_name, hmac_pads
from dpcurves.records.engines.engine import BoundAxis, require_grid, table_size
from dpcurves.records.source import Column, ColumnKind, find_column, hide_failure
from dpcurves.records.value_names import value_name

from . import spark_batches, spark_sql
from .conformance import ConformanceReport, require_conformance, run_checks
from .slots import OffsetConstants, PrefixIntervals, find_thresholds, tabulate_units
from .spark_expressions import DerivingFrame, SparkDerivedColumns, are_values_equal

# The connection to Spark Connect: encrypted except on loopback, a separate session, with bounded timeouts.
SECONDS_TO_CONNECT = 20
"""Seconds. Timeout of a connection; a server that does not answer within them is refused."""
MOST_RETRIES = 6
"""Retries of a request while the server is down; pauses grow up to `LONGEST_PAUSE`, about 20 seconds in total."""
LONGEST_PAUSE = 5000
"""Milliseconds. Longest pause between two retries."""
CONNECTION_FAILURE = "Spark was not reached: use sc://host:port, and /;use_ssl=true except on loopback"
"""Error in place of any error of Spark's client while it connects."""
CONNECTION_TIMEOUT = (
    f"Spark was not reached within {SECONDS_TO_CONNECT} seconds: check that it runs, and host, port, firewall and TLS"
)
"""Error if no server answers in time."""


def connect(url: str) -> Any:
    """Return a new session of Spark Connect at a URL.

    Args:
        url: ``sc://host:port/;use_ssl=true``; without TLS only for this machine (localhost).

    Raises:
        ValueError: The server cannot be reached, or the URL lacks TLS except on loopback.
    """
    host = url.removeprefix("sc://").partition("/")[0].rpartition(":")[0] or url.removeprefix("sc://").partition("/")[0]
    if host not in ("localhost", "[::1]") and not host.startswith("127.") and ";use_ssl=true" not in url.lower():
        raise InvalidArgument("data", "TLS is required except on loopback: write sc://host:port/;use_ssl=true")
    session_type, builder_type = _import_client()
    # milliseconds: Spark closes connections with more than one keepalive in five minutes
    options = [("grpc.keepalive_time_ms", 310_000), ("grpc.keepalive_timeout_ms", 20_000)]
    builder = hide_failure(lambda: builder_type(url, options), CONNECTION_FAILURE)
    if not hide_failure(lambda: _is_reached(builder), CONNECTION_FAILURE):
        raise InvalidArgument("data", CONNECTION_TIMEOUT)
    session = hide_failure(session_type.builder.channelBuilder(builder).create, CONNECTION_FAILURE)
    session.client.set_retry_policies([_build_retry_policy()])
    return session


def end_session(session: Any) -> None:
    """End a session without waiting for a server that is down.

    Args:
        session: Session of Spark Connect.
    """
    with suppress(Exception):
        session.client.set_retry_policies([])
        session.stop()


def _import_client() -> tuple[Any, Any]:
    """Return the two classes of pyspark that connect to a server: the session and the channel builder.

    Raises:
        MissingPackage: pyspark is not installed.
    """
    try:
        from pyspark.sql.connect.client import DefaultChannelBuilder
        from pyspark.sql.connect.session import SparkSession
    except Exception:  # pyspark raises its own errors for missing packages
        SparkSession = None
    if SparkSession is None:
        raise MissingPackage("data", "Spark at a URL needs an extra: pip install 'dpcurves[spark]'")
    return SparkSession, DefaultChannelBuilder


def _is_reached(builder: Any) -> bool:
    """Return whether a gRPC server answers within `SECONDS_TO_CONNECT`.

    Args:
        builder: Channel builder of pyspark.
    """
    from grpc import ChannelConnectivity

    channel = builder.toChannel()
    states = Queue[Any]()
    channel.subscribe(states.put, try_to_connect=True)
    deadline = monotonic() + SECONDS_TO_CONNECT
    try:
        state = None
        while state not in (ChannelConnectivity.READY, ChannelConnectivity.TRANSIENT_FAILURE):
            state = states.get(timeout=max(deadline - monotonic(), 0))
        return bool(state is ChannelConnectivity.READY)
    except Empty:
        return False
    finally:
        channel.close()


def _build_retry_policy() -> Any:
    """Return the policy that repeats requests while the server is down, a few times."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    policy = DefaultPolicy(max_retries=MOST_RETRIES, max_backoff=LONGEST_PAUSE)
    policy.max_server_retry_delay = LONGEST_PAUSE
    return policy


ENCRYPTION_SETTING = "spark.io.encryption.enabled"
"""Setting of Spark: whether temporary files are encrypted. If not, cached rows stay in memory, so that no record is
written to disk in plain form."""
CACHE_COLUMN = "0 AS of_no_column"
"""An extra column of cached rows. Otherwise Spark's `CacheManager` takes a cache of all columns for the table itself,
and no longer lists its files."""


class CachedRows:
    """A cache of the used rows with the requested columns, refilled when further columns are requested.

    Columns are cached at their second request; rows that are `costly` to compute, at the first.
    """

    def __init__(self, used: Callable[[Sequence[int]], Any], session: Any, *, costly: bool) -> None:
        """Prepare to cache rows; nothing is computed yet.

        Args:
            used: Function of positions of columns that returns the frame of the rows within the contribution bound.
            session: The Spark session.
            costly: Whether rows are costly to compute, and are cached from the first request on, not from the second.
        """
        self._used = used
        self._session = session
        self._seen: set[int] | None = set() if not costly else None
        self._places: set[int] = set()
        self._kept: Any = None

    def __repr__(self) -> str:
        return "CachedRows(hidden)"

    def select_rows(self, places: Sequence[int]) -> Any:
        """Return a frame of the rows within the contribution bound with at least the columns at these positions, cached
        from their second request on.

        Args:
            places: Positions of the columns in the schema.
        """
        requested = set(places)
        if self._kept is not None and requested <= self._places:
            return self._kept
        if self._seen is not None and not requested <= self._seen:
            self._seen |= requested
            return self._used(sorted(requested))
        self.drop_cache()
        self._places |= requested
        self._kept = (
            self._used(sorted(self._places)).selectExpr("*", CACHE_COLUMN).persist(_choose_storage_level(self._session))
        )
        return self._kept

    def drop_cache(self) -> None:
        """Remove the cached rows from Spark's memory."""
        if self._kept is not None:
            cached = self._kept
            self._kept = None
            cached.unpersist()


def _choose_storage_level(session: Any) -> Any:
    """Return memory alone as the storage level, or memory and disk if Spark encrypts its files, so that no record is
    written to disk in plain form.

    Args:
        session: Spark session, whose configuration is read.
    """
    from pyspark import StorageLevel

    encrypted = str(session.conf.get(ENCRYPTION_SETTING, "false")).lower() == "true"
    return StorageLevel.MEMORY_AND_DISK if encrypted else StorageLevel.MEMORY_ONLY


# Conformance check of Spark on public numbers, without a table.
class CheckableSpark:
    """Evaluates public numbers with the SQL and the batch functions that count data frames."""

    decimals: Sequence[str] = ("1.5", "-0.1", "123456789.123456789", "9007199254740993", "0")

    def __init__(self, session: Any) -> None:
        self._session = session
        self.name = f"Spark {hide_failure(lambda: session.version, 'Spark does not answer')}"

    def find_slots(self, grid: Grid, values: FloatArray) -> IntArray:
        """Return the index of the cell into which Spark puts each public value, to compare it with our own.

        Args:
            grid: Grid of the cells.
            values: Public numbers, (values,).

        Returns:
            Indices, (values,); `grid.slots` for a missing value.
        """
        bound = BoundAxis(Axis("x", grid), spark_sql.make_column("x", "double"), 0)
        slot = spark_sql.slot_sql(bound, 0)
        if slot is None:
            cells = self._place_values(grid, values, None, "place")
            return np.where(cells < 0, np.int64(grid.slots), cells)
        guessed = self._send_values(values).selectExpr("*", *spark_sql.guesses_sql([bound]))
        answer = fetch_columns(guessed.selectExpr("at", f"coalesce({slot}, {grid.slots}) AS slot"))
        return _sort_by_position(answer["slot"], answer["at"]).astype(np.int64)

    def find_offsets(self, grid: Grid, values: FloatArray, half: int) -> IntArray:
        """Return the offset of each public value from the middle of its cell, in steps, as Spark's workers compute it.

        Args:
            grid: Grid of the cells.
            values: Public values; NaN is missing.
            half: Half the number of steps of a cell, and the largest offset.
        """
        return self._place_values(grid, values, collect_offset_constants(grid, half, squared=False), "added")

    def compute_digest(self, key: bytes, message: bytes) -> bytes:
        """Return the HMAC-SHA256 that Spark's workers compute of a message.

        Args:
            key: Key of the HMAC.
            message: Message whose digest is computed, UTF-8 text.

        Returns:
            32 bytes.
        """
        frame = self._session.createDataFrame(pa.table({"c0": [1], "t0": [message.decode()]}))
        padded = hmac_pads(key)
        ranked = map_batches(
            frame, spark_batches.build_ranker(padded["inner"], padded["outer"], 1), "c0 bigint, rank string"
        )
        return bytes.fromhex(fetch_columns(ranked)["rank"][0])

    def _place_values(self, grid: Grid, values: FloatArray, amounts: Sequence[Any] | None, name: str) -> IntArray:
        """Return the cell, or the offset from its middle, that Spark computes for each public value, in order.

        Args:
            grid: Grid of the cells.
            values: Public numbers, (values,).
            amounts: Constants of the offsets; None: no offsets are computed.
            name: Column that is returned: ``place`` (index of the cell) or ``added`` (offset).
        """
        work = spark_batches.build_placer([(find_thresholds(grid), grid.slots)], amounts)
        columns = fetch_columns(map_batches(self._send_values(values), work, "at bigint, place bigint, added bigint"))
        return _sort_by_position(columns[name], columns["at"]).astype(np.int64)

    def parse_decimals(self, decimals: Sequence[str]) -> FloatArray:
        """Return the double that Spark makes of each decimal number.

        Args:
            decimals: Decimal numbers, as texts.

        Returns:
            Doubles, in the order of `decimals`.
        """
        number = spark_sql.make_column("x", "decimal(38,18)").number.format("CAST(x AS DECIMAL(38,18))")
        frame = self._session.createDataFrame(pa.table({"at": np.arange(len(decimals)), "x": list(decimals)}))
        columns = fetch_columns(frame.selectExpr("at", f"{number} AS n"))
        return _sort_by_position(columns["n"], columns["at"]).astype(np.float64)

    def _send_values(self, values: FloatArray) -> Any:
        """Return a Spark data frame of public test values: column `c0`, and their positions as column `at`.

        Args:
            values: Public numbers, of shape ``(n,)``.
        """
        return self._session.createDataFrame(pa.table({"at": np.arange(len(values)), "c0": values}))


def fetch_columns(frame: Any) -> dict[str, Any]:
    """Run a Spark query and return the columns of its result as NumPy arrays, by name.

    Args:
        frame: Spark data frame.
    """
    table = frame.toArrow()
    return {name: table.column(name).to_numpy() for name in table.column_names}


def map_batches(frame: Any, function: Callable[[Any], Any], schema: str) -> Any:
    """Apply a batch function on Spark's workers. It is pickled by value, as workers may lack dpcurves.

    Args:
        frame: Spark data frame.
        function: Function of an iterator of Arrow batches that yields batches.
        schema: Columns and types that it yields, as Spark's text.

    Returns:
        Spark data frame of the results, not computed yet.
    """
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(spark_batches)
    return frame.mapInArrow(function, schema)


def collect_offset_constants(grid: Grid, half: int, *, squared: bool) -> Sequence[Any]:
    """Return the constants from which `spark_batches.build_counter` computes offsets of values within their cells.

    These are middles and widths of the cells, `half`, the number of slots below the grid (0 or 1), `squared`, and the
    ends of the grid.

    Args:
        grid: Public cells.
        half: Largest offset, in steps.
        squared: Whether offsets are squared.
    """
    middle, width, _ = OffsetConstants.from_grid(grid)
    return middle, width, half, (grid.slots - grid.cells) // 2, squared, grid.lower, grid.upper


def _sort_by_position(values: Any, positions: Any) -> NDArray[Any]:
    """Return values that Spark returned in any order, sorted by their positions.

    Args:
        values: Values in any order.
        positions: Position of each value.

    Returns:
        Array of the values, by increasing position.
    """
    return np.asarray(values)[np.argsort(positions)]


def check_spark(url: str) -> ConformanceReport:
    """Check that a Spark server puts public values into the same cells as our own code does.

    Args:
        url: Address of the server, as for `connect`.

    Raises:
        ValueError: The server cannot be reached, or fails on a public number.
    """
    session = connect(url)
    try:
        engine = CheckableSpark(session)
        return ConformanceReport(engine.name, tuple(hide_failure(lambda: list(run_checks(engine)), CONNECTION_FAILURE)))
    finally:
        end_session(session)


QUERY_FAILURE = (
    "Spark did not answer (its message is not shown, because it may quote a record); check its session and workers"
)
"""Error in place of any error of Spark during a query."""
COUNT_SCHEMA = "place bigint, high bigint, low bigint"
"""Columns of the partial counts that Spark's workers return: cell, and the count or sum in two parts (see
`LOW_BITS`)."""
EXPRESSION_FAILURE = "Spark cannot evaluate this expression: simplify it, or add the column or the filter to a view"
"""Error if Spark cannot plan a query with a derived column or a filter, or fails to evaluate it on test values."""
DIFFERENT_EVALUATION = (
    "this server evaluates the expression otherwise than dpcurves does: add the column or the filter to a view"
)
"""Error if an expression has other values on public test values than dpcurves computes."""


class SparkEngine(CheckableSpark):
    """Counts the used rows of a data frame: by formulas in SQL, or batch by batch in Python workers."""

    failure: str = QUERY_FAILURE

    def __init__(self, frame: Any, unit: Unit, key: bytes, version: int | None = None) -> None:
        """Prepare to count a Spark data frame under a contribution bound; its schema is read, but no row.

        Args:
            frame: The data frame.
            unit: Privacy unit and contribution bound.
            key: Secret key of the session; the workers receive a key derived from it, which ranks the rows of a unit.
            version: Delta version or Iceberg snapshot that the frame reads; None: the newest.

        Raises:
            InvalidArgument: the unit's column is missing, or its type cannot identify a unit.
        """
        super().__init__(frame.sparkSession)
        self._frame = frame
        self._unit = unit
        self._data_key = key
        self._key = hmac.digest(key, b"rows ranked by Spark", "sha256")
        fields = hide_failure(lambda: list(frame.schema.fields), QUERY_FAILURE)
        self.columns: tuple[Column, ...] = tuple(
            spark_sql.make_column(field.name, spark_sql.format_type(field)) for field in fields
        )
        self._rows = DerivingFrame(frame, SparkDerivedColumns(self.columns))
        self._proven: set[Grid] = set()
        self._proven_positions: set[int] = set()
        self._version = version
        self.moment: int | None = _try_hash_files(frame) if version is None else _hash_facts(version)
        self._require_unit()
        self._kept = CachedRows(self._read_rows, self._session, costly=unit != EACH_RECORD)
        self._caches = [self._kept]

    def __repr__(self) -> str:
        return "SparkEngine(hidden)"

    def derive(self, text: str, is_numeric: bool, argument: str) -> tuple[Column, int]:
        """Return the column that an expression defines, and its position after the columns of the frame.

        Args:
            text: The expression.
            is_numeric: Whether its value must be a number.
            argument: Name of the argument at fault, for errors.

        Raises:
            InvalidArgument: the expression is invalid, or Spark evaluates it otherwise; this depends on the schema and
                on public rows alone.
        """
        column, position = self._rows.derived.add(text, is_numeric, argument)
        self._require_equal_values(self._rows, position, [position], argument)
        return column, position

    def filtered(self, where: str, keeps_failing_rows: bool) -> SparkEngine:
        """Return an engine on the same frame that counts only rows that pass a condition.

        Args:
            where: The condition.
            keeps_failing_rows: Whether the other rows stay, with all values missing. False: they are left out.

        Raises:
            InvalidArgument: the condition is invalid; this depends on the schema and on public rows alone.
        """
        condition = self._rows.derived.add_condition(where)
        engine = copy(self)  # with the session, the derived columns and the list of caches
        engine._rows = replace(self._rows, condition=condition, keeps_failing_rows=keeps_failing_rows)
        self._require_equal_values(engine._rows, condition, [], "where")
        engine._kept = CachedRows(engine._read_rows, self._session, costly=self._unit != EACH_RECORD)
        self._caches.append(engine._kept)
        return engine

    def _require_equal_values(self, rows: DerivingFrame, position: int, places: Sequence[int], argument: str) -> None:
        """Check, on public values, that Spark evaluates an expression as NumPy does. No row of the table is read.

        Args:
            rows: Data frame with the derived columns.
            position: Position of the derived column.
            places: Positions of the columns that a query of it selects.
            argument: Name of the argument, for the message.

        Raises:
            InvalidArgument: Spark cannot evaluate the expression, or gives other values.
        """
        if position in self._proven_positions:
            return
        ((_, checked),) = self._rows.derived.find_derived([position])
        hide_failure(lambda: rows.select_rows(places).schema, EXPRESSION_FAILURE, argument)
        if not hide_failure(lambda: are_values_equal(self._session, checked), EXPRESSION_FAILURE, argument):
            raise InvalidArgument(argument, DIFFERENT_EVALUATION)
        self._proven_positions.add(position)

    def _require_unit(self) -> None:
        """Check that the type of the unit's column can identify a unit, such as a number, text or date.

        Raises:
            InvalidArgument: the type cannot.
        """
        if self._unit == EACH_RECORD:
            return
        column = self.columns[find_column(self._unit.column, self.columns, "unit")]
        if column.unit == spark_sql.NO_UNIT:
            raise InvalidArgument(
                "unit", f"{column.name!r} has a type that cannot identify a unit; use a number, text or date"
            )

    def prepare(self, bound: Sequence[BoundAxis]) -> None:
        """Check, before a query, that the frame's files have not changed, and that Spark places public values of each
        new grid correctly.

        Args:
            bound: Columns of the query with their axes.

        Raises:
            ValueError: files have changed, or Spark places a value in another cell.
        """
        can_change = self.moment is not None and self._version is None  # a version is immutable
        if can_change and self.moment != hide_failure(lambda: _hash_files(self._frame), QUERY_FAILURE):
            raise InvalidArgument(
                "data", "the files of the data frame have changed since the session began; open a new session"
            )
        unchecked = [
            bound_axis
            for bound_axis in bound
            if isinstance(bound_axis.axis, Axis) and bound_axis.axis.grid not in self._proven
        ]
        require_conformance(self, unchecked)
        self._proven |= {bound_axis.axis.grid for bound_axis in unchecked if isinstance(bound_axis.axis, Axis)}

    def counts(self, bound: Sequence[BoundAxis]) -> IntArray:
        """SENSITIVE: return the exact number of rows within the contribution bound per cell, followed by the rows
        missing on any axis.

        Args:
            bound: Axes of the query, bound to their columns.

        Returns:
            Counts, (cells + 1,): cells in row-major order of the axes, then missing rows.
        """
        slots = [spark_sql.slot_sql(bound_axis, position) for position, bound_axis in enumerate(bound)]
        table = np.zeros(table_size(bound) + 1, dtype=np.int64)
        if None not in slots:
            index = spark_sql.cell_index_sql(
                [slot for slot in slots if slot], [bound_axis.axis.slots for bound_axis in bound]
            )
            rows = self._used_rows(bound).selectExpr("*", *spark_sql.guesses_sql(bound))
            cell_frame = rows.selectExpr(f"coalesce({index}, -1) AS place")
            columns = fetch_columns(cell_frame.groupBy("place").count())
            table[columns["place"]] = columns["count"]
            return table
        axes = [
            (
                None if slot and not isinstance(bound_axis.axis, Axis) else _find_axis_thresholds(bound_axis),
                bound_axis.axis.slots,
            )
            for bound_axis, slot in zip(bound, slots, strict=True)
        ]
        for at, position in self._count_batches(bound, axes):
            table[at] = position
        return table

    def sums(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        """SENSITIVE: return, for each cell, the exact sum of its values' offsets from the middle of the cell; last a 0.

        Offsets are on the last axis, in integer steps.

        Args:
            bound: Axes of the query, each with its column of the schema; the last has a grid.
            half: Half the number of steps of a cell, and the largest offset from its middle.

        Returns:
            The sums as integers of any size, the last axis fastest; the last entry stands for missing rows.
        """
        return self._sum_amounts(bound, half, squared=False)

    def squares(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        """SENSITIVE: return, for each cell, the exact sum of ``2 * offset**2 - half**2`` over its values; last a 0.

        The offset of a value is its distance from the middle of its cell on the last axis, in integer steps.

        Args:
            bound: Axes of the query, each with its column of the schema; the last has a grid.
            half: Half the number of steps of a cell, and the largest offset from its middle.

        Returns:
            The sums as integers of any size, the last axis fastest; the last entry stands for missing rows.
        """
        return self._sum_amounts(bound, half, squared=True)

    def _sum_amounts(self, bound: Sequence[BoundAxis], half: int, *, squared: bool) -> list[int]:
        """SENSITIVE: return for each cell the exact sum, over its rows, of the offsets of numbers from the middle of
        the cell, or of their squares. A 0 follows.

        Args:
            bound: Axes of the query; the last one has the numbers that are summed.
            half: Integer steps in half the width of a cell, the unit of offsets.
            squared: Whether squares of offsets from the middle are summed.

        Returns:
            Sums, (cells + 1,), as Python integers; missing rows count 0.
        """
        grid = require_grid(bound[-1].axis)
        amounts = collect_offset_constants(grid, half, squared=squared)
        axes = [
            (_find_axis_thresholds(bound_axis) if isinstance(bound_axis.axis, Axis) else None, bound_axis.axis.slots)
            for bound_axis in bound
        ]
        table = [0] * (table_size(bound) + 1)
        for index, total in self._count_batches(bound, axes, amounts):
            table[index] = total
        return [*table[:-1], 0]

    def prefixes(self, bound: Sequence[BoundAxis], lengths: Sequence[int]) -> list[int]:
        """SENSITIVE: return exact counts of rows in prefixes of the table (its first cells), within the contribution
        bound.

        Args:
            bound: Axes of the query; prefixes are along the last one.
            lengths: Number of cells in each prefix.

        Returns:
            Count of each prefix for each combination of the other axes, then the count of missing rows.
        """
        intervals = PrefixIntervals.from_entries(bound, lengths)
        axes = [
            (_find_axis_thresholds(bound_axis) if isinstance(bound_axis.axis, Axis) else None, bound_axis.axis.slots)
            for bound_axis in bound[:-1]
        ]
        counts = intervals.zero_counts
        for index, number in self._count_batches(bound, [*axes, (intervals.start_values, intervals.count)]):
            counts[index] = number
        return intervals.sum_prefixes(counts)

    def numbers(self, bound: Sequence[BoundAxis]) -> Iterator[Sequence[FloatArray]]:
        """SENSITIVE: yield all rows within the contribution bound as one batch: numbers for grids, indices of
        categories (slots) for others; NaN: missing.

        Args:
            bound: Axes of the query, each with its column of the schema.

        Yields:
            One array per axis, with an entry for each row.
        """
        names = [f"{spark_sql.value_sql(axis)} AS v{i}" for i, axis in enumerate(bound)]
        columns = fetch_columns(self._used_rows(bound).selectExpr(*names))
        yield [np.asarray(columns[f"v{i}"], dtype=np.float64) for i in range(len(bound))]

    def in_subsets(self, bound: Sequence[BoundAxis], subsets: int) -> Iterator[Sequence[FloatArray]]:
        """SENSITIVE: yield all rows within the contribution bound as one batch, with the random subset of each row's
        unit.

        Args:
            bound: Axes of the query, bound to their columns.
            subsets: Number of subsets of the units.

        Yields:
            One array per axis, (rows,): numbers, or indices of categories; then the index of the subset, (rows,).
        """
        names = [f"{spark_sql.value_sql(axis)} AS v{i}" for i, axis in enumerate(bound)]
        columns = fetch_columns(self._select_named(bound).selectExpr(*names, "name"))
        subset_numbers = assign_subsets((str(name).encode() for name in columns["name"]), self._key, subsets)
        yield [*(np.asarray(columns[f"v{i}"], dtype=np.float64) for i in range(len(bound))), subset_numbers]

    def _select_named(self, bound: Sequence[BoundAxis]) -> Any:
        """Return the rows within the contribution bound with columns ``c0``, ``c1``, ... by index, and a text column
        `name` that identifies the unit.

        If each record is a unit, its name is a digest of its countable columns plus its number among identical records.

        Args:
            bound: Axes whose columns are selected.
        """
        places = sorted({axis.place for axis in bound})
        selected = [f"c{index}" for index in places]
        if self._unit != EACH_RECORD:
            at = find_column(self._unit.column, self.columns)
            unit = self.columns[at].unit.format(f"c{at}")
            rows = self._kept.select_rows(sorted({*places, at}))
            return rows.selectExpr(*selected, f"coalesce(CAST({unit} AS STRING), '') AS name")
        digested = self._rows.select_rows(places, {"digest": self._row_digest_sql()})
        copy = "row_number() OVER (PARTITION BY digest ORDER BY digest)"
        return digested.selectExpr(*selected, f"concat(digest, ':', CAST({copy} AS STRING)) AS name")

    def _row_digest_sql(self) -> str:
        """Return SQL for a digest of a row's columns of numbers and text, which identifies the row."""
        texts = [spark_sql.rank_text_sql(self.columns[i], self._quoted_name(i)) for i in self._find_countable()]
        encoded = [f"coalesce(concat(CAST(octet_length({text}) AS STRING), ':', {text}), '-')" for text in texts]
        return f"sha2(concat({', '.join(encoded)}), 256)"

    def _find_countable(self) -> list[int]:
        """Return the positions of the columns of numbers and text, whose values identify a row when rows are ranked."""
        return [i for i, column in enumerate(self.columns) if column.kind in {ColumnKind.NUMBERS, ColumnKind.TEXT}]

    def places(self, bound: Sequence[BoundAxis]) -> IntArray:
        """SENSITIVE: return the cell index of each row within the contribution bound; the number of cells for rows
        missing on any axis.

        Args:
            bound: Axes of the query, bound to their columns.

        Returns:
            Cell index in row-major order, (rows,).
        """
        (columns,) = self.numbers(bound)
        index = np.zeros(len(columns[0]), dtype=np.int64)
        missing = np.zeros(len(columns[0]), dtype=bool)
        for values, bound_axis in zip(columns, bound, strict=True):
            slots = bound_axis.axis.grid.cell_of(values) if isinstance(bound_axis.axis, Axis) else values
            lacks_value = ~(slots < bound_axis.axis.slots)
            index = index * bound_axis.axis.slots + np.where(lacks_value, 0, slots).astype(np.int64)
            missing |= lacks_value
        return np.where(missing, table_size(bound), index)

    def units(self) -> int:
        """SENSITIVE: return the exact number of units, or of rows if each record is a unit."""
        if self._unit == EACH_RECORD:
            return int(fetch_columns(self._frame.selectExpr("count(*) AS n"))["n"][0])
        at = find_column(self._unit.column, self.columns)
        unit_frame = self._frame.selectExpr(f"{self._unit_sql(at)} AS unit")
        count_frame = unit_frame.selectExpr("count(DISTINCT unit) AS n", "count(*) AS a", "count(unit) AS b")
        columns = fetch_columns(count_frame)
        return int(columns["n"][0]) + int(columns["a"][0] > columns["b"][0])

    def unit_sizes(self) -> dict[int, int]:
        """SENSITIVE: return the exact number of units by number of rows.

        Returns:
            Number of units by number of rows that pass the filter; with a filter, units without a passing row have 0
            rows.
        """
        at = find_column(self._unit.column, self.columns)
        rows = self._rows.select_rows([], {"unit": self._unit_sql(at)})
        used = rows.selectExpr("unit", f"CAST({self._rows.passes or 'true'} AS BIGINT) AS used")
        sizes = used.groupBy("unit").agg({"used": "sum"})
        columns = fetch_columns(sizes.selectExpr("`sum(used)` AS n").groupBy("n").count())
        return dict(zip(columns["n"].tolist(), columns["count"].tolist(), strict=True))

    def sized_units(self, bound: BoundAxis, doublings: int) -> IntArray:
        """SENSITIVE: return the exact number of units by number of rows and by cell of an axis, from which the
        contribution bound can be chosen.

        Numbers of rows are in classes of 1, 2, 3 to 4, 5 to 8, and so on.

        Args:
            bound: The axis, bound to its column. A unit counts in the cell of one of its rows, the first in the secret
                ranking.
            doublings: Number of size classes beyond the first.

        Raises:
            InvalidArgument: the grid has too many cells.
        """
        slot = spark_sql.slot_sql(bound, 0)
        if slot is None:
            raise InvalidArgument("grid", "has too many cells to count units by value; choose a grid of fewer cells")
        rows = self._rank_used_rows([bound.place], with_size=True).selectExpr("*", *spark_sql.guesses_sql([bound]))
        slot_frame = rows.selectExpr(f"coalesce({slot}, {bound.axis.slots}) AS slot", "size")
        columns = fetch_columns(slot_frame.groupBy("slot", "size").count())
        sized_counts = zip(columns["slot"].tolist(), columns["size"].tolist(), columns["count"].tolist(), strict=True)
        return tabulate_units(sized_counts, bound.axis.slots, doublings)

    def names(self, bound: BoundAxis) -> dict[str, int]:
        """SENSITIVE: return the exact number of units in each category of a column, by the name of the category.

        Args:
            bound: Column of categories.

        Returns:
            Units by name; names longer than `LONGEST_CATEGORY` bytes and missing values are left out.
        """
        name_column = f"{spark_sql.name_sql(bound)} AS name"
        has_value = spark_sql.has_value_sql(bound)
        if self._unit == EACH_RECORD:
            name_frame = self._used_rows([bound]).where(has_value).selectExpr(name_column)
        else:  # all rows without a unit form one unit
            at = find_column(self._unit.column, self.columns)
            unit = f"{self.columns[at].unit.format(f'c{at}')} AS unit"
            name_frame = (
                self._kept.select_rows(sorted({bound.place, at}))
                .where(has_value)
                .selectExpr(name_column, unit)
                .distinct()
            )
        count_frame = name_frame.where(f"octet_length(name) <= {LONGEST_CATEGORY}").groupBy("name").count()
        columns = fetch_columns(count_frame.selectExpr("CAST(name AS BINARY) AS name", "`count` AS n"))
        counted_names = zip(map(decode_name, columns["name"]), columns["n"].tolist(), strict=True)
        names = ((value_name(text, bound.column.value_type), units) for text, units in counted_names)
        return {value: units for value, units in names if value is not None}

    def using(self, unit: Unit) -> SparkEngine:
        """Return an engine on the same frame with the contribution bound of `unit`.

        Args:
            unit: Privacy unit with its contribution bound.
        """
        engine = type(self)(self._frame, unit, self._data_key, self._version)
        engine._rows, engine._proven_positions = self._rows, self._proven_positions  # its filter and derived columns
        return engine

    def close(self) -> None:
        """Drop the caches, also of filtered rows; the session belongs to its owner."""
        for cache in self._caches:
            with suppress(Exception):  # the server may be down
                cache.drop_cache()

    def _count_batches(
        self, bound: Sequence[BoundAxis], axes: Sequence[tuple[Any, int]], amounts: Sequence[Any] | None = None
    ) -> Iterator[tuple[int, int]]:
        """SENSITIVE: yield cells with their exact counts or sums, computed batch by batch in Spark's Python workers.

        Args:
            bound: Axes of the query, bound to their columns.
            axes: For each axis, thresholds of its cells and the number of cells.
            amounts: Constants of the sums; None: rows are counted.

        Yields:
            Pairs of a cell index and its count or sum.
        """
        values = self._used_rows(bound).selectExpr(
            *(f"{spark_sql.value_sql(axis)} AS v{i}" for i, axis in enumerate(bound))
        )
        partial_counts = map_batches(values, spark_batches.build_counter(axes, amounts), COUNT_SCHEMA)
        columns = fetch_columns(partial_counts.groupBy("place").agg({"high": "sum", "low": "sum"}))
        for index, high, low in zip(columns["place"], columns["sum(high)"], columns["sum(low)"], strict=True):
            # 31: bits of the low part of a sum, as in `spark_batches`
            yield int(index), (int(high) << 31) + int(low)

    def _used_rows(self, bound: Sequence[BoundAxis]) -> Any:
        """Return the rows within the contribution bound as a frame, columns named by their position: ``c0``, ``c1``,
        ... Further columns may be there.

        Args:
            bound: Axes of the query, each with its column of the schema.
        """
        return self._kept.select_rows(sorted({axis.place for axis in bound}))

    def _read_rows(self, places: Sequence[int]) -> Any:
        """Return the rows within the contribution bound with the columns at these positions, uncached.

        Args:
            places: Positions of the columns in the schema.
        """
        if self._unit == EACH_RECORD:
            return self._rows.select_rows(places)
        return self._rank_used_rows(places)

    def _rank_used_rows(self, places: Sequence[int], *, with_size: bool = False) -> Any:
        """Return the rows within the contribution bound: of each unit, the first rows in a secret ranking.

        The guarantee is that of `used_rows_sql` of the DuckDB engine. The key is sent to the workers, and is not part
        of a statement. Rows that pass a filter are used first.

        Args:
            places: Positions of the columns in the schema.
            with_size: Whether one row per unit is used, and a column `size` has the number of all rows of the unit.
        """
        texts = {
            f"t{i}": spark_sql.rank_text_sql(self.columns[i], self._quoted_name(i)) for i in self._find_countable()
        }
        unit = self._unit_sql(find_column(self._unit.column, self.columns))
        rows = self._rows.select_rows(places, {"unit": unit, **texts})
        passes = self._rows.passes
        key = hmac_pads(self._key)
        names = [*(f"c{index}" for index in places), "unit", *([passes] if passes else [])]
        rows = rows.select(*names, *texts)
        schema = ", ".join(
            f"{schema_field.name} {schema_field.dataType.simpleString()}"
            for schema_field in rows.schema.fields[: len(names)]
        )
        ranked = map_batches(
            rows, spark_batches.build_ranker(key["inner"], key["outer"], len(names)), f"{schema}, rank string"
        )
        order = f"NOT {passes}, rank" if passes else "rank"
        selected = names[: len(places)]
        rank_sql = f"row_number() OVER (PARTITION BY unit ORDER BY {order}) AS turn"
        if with_size:
            size = f"sum(CAST({passes or 'true'} AS BIGINT)) OVER (PARTITION BY unit) AS size"
            return ranked.selectExpr(*names, rank_sql, size).where("turn = 1").select(*selected, "size")
        return ranked.selectExpr(*names, rank_sql).where(f"turn <= {self._unit.records}").select(*selected)

    def _quoted_name(self, index: int) -> str:
        """Return the name of a column in backticks.

        Args:
            index: Position of the column in the schema.
        """
        return self._rows.quote_name(index)

    def _unit_sql(self, index: int) -> str:
        """Return SQL of a row's unit identifier; NULL if missing.

        Args:
            index: Position of the column in the schema.
        """
        return self.columns[index].unit.format(self._quoted_name(index))


class RemoteSparkEngine(SparkEngine):
    """Counts a table at a URL; the engine owns the session."""

    def close(self) -> None:
        """Drop the cache and end the session, without waiting for a server that is down."""
        with suppress(Exception):  # do not wait for a server that is down
            self._session.client.set_retry_policies([])
        super().close()
        end_session(self._session)


def _find_axis_thresholds(bound: BoundAxis) -> FloatArray:
    """Return the increasing thresholds between the slots of an axis with a grid.

    Args:
        bound: Axis with a grid, and its column of the schema.

    Returns:
        Numbers in units of the column, of shape ``(slots - 1,)``.
    """
    return find_thresholds(require_grid(bound.axis))


def _try_hash_files(frame: Any) -> int | None:
    """Return a hash of the files that a data frame reads, as `_hash_files`; None if the server does not support it.

    Args:
        frame: Spark data frame.
    """
    try:
        return _hash_files(frame)
    except Exception:  # not all servers support it
        return None


def _hash_files(frame: Any) -> int | None:
    """Return a hash of the list of files that a data frame reads, to detect changes.

    Args:
        frame: Spark data frame.

    Returns:
        The hash; None if the files are unknown, as for rows that were sent to Spark.
    """
    files = sorted(frame.selectExpr("*").inputFiles())  # a new frame, as the old one may have cached the answer
    return _hash_facts(files) if files else None


def _hash_facts(facts: object) -> int:
    """Return a hash, below 2**60, of an object's `repr`, which identifies a state of the data.

    Args:
        facts: Object whose `repr` states what identifies the state.
    """
    return int(sha256(repr(facts).encode()).hexdigest()[:15], 16)
