"""SENSITIVE. A Spark data frame, counted by Spark: only exact integers of a plan's table leave it."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
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
from dpcurves.queries.query import LONGEST_NAME
from dpcurves.records.engines.duckdb import assign_subsets, decode_name, hmac_pads
from dpcurves.records.engines.engine import BoundAxis, require_grid, table_size
from dpcurves.records.source import Column, ColumnKind, find_column, hide_failure
from dpcurves.records.value_names import value_name

from . import spark_batches, spark_sql
from .conformance import ConformanceReport, require_conformance, run_checks
from .slots import OffsetConstants, Pieces, find_thresholds, tabulate_units

# The connection to Spark Connect at a URL: encrypted off this machine, of its own, and given up in a bounded time.
SECONDS_TO_CONNECT = 20
PAUSES, LONGEST_PAUSE = 6, 5000
"""Retries, and the longest wait in milliseconds, for a server that went away: 20 seconds in all."""
SILENCE, PATIENCE = 310_000, 20_000
"""Milliseconds until a silent server is asked whether it is there, and to its answer. (More often than every five
minutes, Spark's own server closes the connection.)"""
UNREACHED = "Spark was not reached: sc://host:port is needed, off loopback with ;use_ssl=true"
UNANSWERED = (
    f"Spark was not reached within {SECONDS_TO_CONNECT} seconds: is it running, and are host, port, firewall and TLS "
    "right?"
)


def connect(url: str) -> Any:
    """A session of its own at a URL of Spark Connect.

    Raises:
        ValueError: it is not reached, or would not be encrypted off loopback.
    """
    host = url.removeprefix("sc://").partition("/")[0].rpartition(":")[0] or url.removeprefix("sc://").partition("/")[0]
    if host not in ("localhost", "[::1]") and not host.startswith("127.") and ";use_ssl=true" not in url.lower():
        raise InvalidArgument("data", "TLS is demanded off loopback: write sc://host:port/;use_ssl=true")
    session_type, builder_type = _import_client()
    builder = hide_failure(lambda: builder_type(url, _channel_options()), UNREACHED)
    if not hide_failure(lambda: _is_reached(builder), UNREACHED):
        raise InvalidArgument("data", UNANSWERED)
    session = hide_failure(session_type.builder.channelBuilder(builder).create, UNREACHED)
    session.client.set_retry_policies([_build_retry_policy()])
    return session


def end_session(session: Any) -> None:
    """Let go of a session, and wait for nobody who has gone."""
    with suppress(Exception):
        session.client.set_retry_policies([])
        session.stop()


def _import_client() -> tuple[Any, Any]:
    try:
        from pyspark.sql.connect.client import DefaultChannelBuilder
        from pyspark.sql.connect.session import SparkSession
    except Exception:  # whatever pyspark lacks, it says in errors of its own
        SparkSession = None
    if SparkSession is None:
        raise MissingPackage("data", "Spark at a URL needs an extra: pip install 'dpcurves[spark]'")
    return SparkSession, DefaultChannelBuilder


def _channel_options() -> list[tuple[str, int]]:
    return [("grpc.keepalive_time_ms", SILENCE), ("grpc.keepalive_timeout_ms", PATIENCE)]


def _is_reached(builder: Any) -> bool:
    """Tell whether somebody who speaks as Spark does answers in time."""
    from grpc import ChannelConnectivity

    channel, states = builder.toChannel(), Queue[Any]()
    channel.subscribe(states.put, try_to_connect=True)
    latest = monotonic() + SECONDS_TO_CONNECT
    try:
        state = None
        while state not in (ChannelConnectivity.READY, ChannelConnectivity.TRANSIENT_FAILURE):
            state = states.get(timeout=max(latest - monotonic(), 0))
        return bool(state is ChannelConnectivity.READY)
    except Empty:
        return False
    finally:
        channel.close()


def _build_retry_policy() -> Any:
    from pyspark.sql.connect.client.retries import DefaultPolicy

    policy = DefaultPolicy(max_retries=PAUSES, max_backoff=LONGEST_PAUSE)
    policy.max_server_retry_delay = LONGEST_PAUSE
    return policy


ENCRYPTED = "spark.io.encryption.enabled"
APART = "0 AS of_no_column"
"""A column more of what is kept: else Spark takes all columns of a table for the table, and tells no files of it any
more (`CacheManager` looks for equal plans, whatever columns are called)."""


class CachedRows:
    """The used rows with the columns that were asked, scanned once more only where others are asked.

    The first time that columns are asked, they are read and not kept, for there may be no second time; what is `costly`
    to read is kept from the first time on.
    """

    def __init__(self, used: Callable[[Sequence[int]], Any], session: Any, *, costly: bool) -> None:
        self._used, self._session = used, session
        self._seen: set[int] | None = set() if not costly else None
        self._places: set[int] = set()
        self._kept: Any = None

    def __repr__(self) -> str:
        return "KeptRows(hidden)"

    def select_rows(self, places: Sequence[int]) -> Any:
        """A frame with at least these columns."""
        asked = set(places)
        if self._kept is not None and asked <= self._places:
            return self._kept
        if self._seen is not None and not asked <= self._seen:
            self._seen |= asked
            return self._used(sorted(asked))
        self.drop_cache()
        self._places |= asked
        self._kept = (
            self._used(sorted(self._places)).selectExpr("*", APART).persist(_choose_storage_level(self._session))
        )
        return self._kept

    def drop_cache(self) -> None:
        """Let Spark forget them."""
        if self._kept is not None:
            kept, self._kept = self._kept, None
            kept.unpersist()


def _choose_storage_level(session: Any) -> Any:
    """Memory alone, so that what does not fit is read again, unless Spark encrypts what it writes."""
    from pyspark import StorageLevel

    encrypted = str(session.conf.get(ENCRYPTED, "false")).lower() == "true"
    return StorageLevel.MEMORY_AND_DISK if encrypted else StorageLevel.MEMORY_ONLY


# Conformance check of Spark: the cells of public rows that are sent, with no table involved.
class CheckableSpark:
    """Answers by the same SQL, and the same work on batches, by which a data frame is counted."""

    decimals: Sequence[str] = ("1.5", "-0.1", "123456789.123456789", "9007199254740993", "0")

    def __init__(self, session: Any) -> None:
        self._session = session
        self.name = f"Spark {hide_failure(lambda: session.version, 'Spark does not answer')}"

    def find_slots(self, grid: Grid, values: FloatArray) -> IntArray:
        bound = BoundAxis(Axis("x", grid), spark_sql.make_column("x", "double"), 0)
        found = spark_sql.slot_sql(bound, 0)
        if found is None:
            placed = self._place_values(grid, values, None, "place")
            return np.where(placed < 0, np.int64(grid.slots), placed)
        guessed = self._send_values(values).selectExpr("*", *spark_sql.guesses_sql([bound]))
        answer = fetch_columns(guessed.selectExpr("at", f"coalesce({found}, {grid.slots}) AS slot"))
        return _sort_by_position(answer["slot"], answer["at"]).astype(np.int64)

    def find_offsets(self, grid: Grid, values: FloatArray, half: int) -> IntArray:
        return self._place_values(grid, values, collect_offset_constants(grid, half, squared=False), "added")

    def compute_digest(self, key: bytes, message: bytes) -> bytes:
        sent = self._session.createDataFrame(pa.table({"c0": [1], "t0": [message.decode()]}))
        padded = hmac_pads(key)
        ranked = map_batches(
            sent, spark_batches.build_ranker(padded["inner"], padded["outer"], 1), "c0 bigint, rank string"
        )
        return bytes.fromhex(fetch_columns(ranked)["rank"][0])

    def _place_values(self, grid: Grid, values: FloatArray, amounts: Sequence[Any] | None, name: str) -> IntArray:
        work = spark_batches.build_placer([(find_thresholds(grid), grid.slots)], amounts)
        found = fetch_columns(map_batches(self._send_values(values), work, "at bigint, place bigint, added bigint"))
        return _sort_by_position(found[name], found["at"]).astype(np.int64)

    def parse_decimals(self, decimals: Sequence[str]) -> FloatArray:
        number = spark_sql.make_column("x", "decimal(38,18)").number.format("CAST(x AS DECIMAL(38,18))")
        sent = self._session.createDataFrame(pa.table({"at": np.arange(len(decimals)), "x": list(decimals)}))
        found = fetch_columns(sent.selectExpr("at", f"{number} AS n"))
        return _sort_by_position(found["n"], found["at"]).astype(np.float64)

    def _send_values(self, values: FloatArray) -> Any:
        return self._session.createDataFrame(pa.table({"at": np.arange(len(values)), "c0": values}))


def fetch_columns(frame: Any) -> dict[str, Any]:
    """The columns of an answer, as arrays."""
    table = frame.toArrow()
    return {name: table.column(name).to_numpy() for name in table.column_names}


def map_batches(frame: Any, function: Callable[[Any], Any], schema: str) -> Any:
    """The result of the workers on a frame. They are sent code without names, for they may not have dpcurves."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(spark_batches)
    return frame.mapInArrow(function, schema)


def collect_offset_constants(grid: Grid, half: int, *, squared: bool) -> Sequence[Any]:
    """Constants of a grid that `spark_batches.build_counter` needs to add offsets up."""
    middle, width, _ = OffsetConstants.from_grid(grid)
    return middle, width, half, (grid.slots - grid.cells) // 2, squared, grid.lower, grid.upper


def _sort_by_position(values: Any, positions: Any) -> NDArray[Any]:
    return np.asarray(values)[np.argsort(positions)]


def check_spark(url: str) -> ConformanceReport:
    """Run every check on the server at this URL.

    Raises:
        ValueError: it is not reached, or fails on a public number.
    """
    session = connect(url)
    try:
        prover = CheckableSpark(session)
        return ConformanceReport(prover.name, tuple(hide_failure(lambda: list(run_checks(prover)), UNREACHED)))
    finally:
        end_session(session)


FAILED = "Spark did not answer (what it says is not shown: it may quote a record); are its session and workers up?"
COUNTED = "place bigint, high bigint, low bigint"
LOW_BITS = 31


class SparkEngine(CheckableSpark):
    """The used rows of a data frame: by formula in SQL, else batch by batch in Python's workers."""

    failure: str = FAILED

    def __init__(self, frame: Any, unit: Unit, key: bytes, version: int | None = None) -> None:
        super().__init__(frame.sparkSession)
        self._frame, self._unit, self._data_key = frame, unit, key
        self._key = hmac.digest(key, b"rows ranked by Spark", "sha256")
        fields = hide_failure(lambda: list(frame.schema.fields), FAILED)
        self.columns: tuple[Column, ...] = tuple(
            spark_sql.make_column(each.name, spark_sql.format_type(each)) for each in fields
        )
        self._proven: set[Grid] = set()
        self._version = version
        self.moment: int | None = _try_hash_files(frame) if version is None else _hash_facts(version)
        self._require_unit()
        self._kept = CachedRows(self._read_rows, self._session, costly=unit != EACH_RECORD)

    def __repr__(self) -> str:
        return "SparkEngine(hidden)"

    def _require_unit(self) -> None:
        if self._unit == EACH_RECORD:
            return
        column = self.columns[find_column(self._unit.column, self.columns, "unit")]
        if column.unit == spark_sql.NO_UNIT:
            raise InvalidArgument(
                "unit", f"{column.name!r} is of a type that names no unit; a number, text or date does"
            )

    def prepare(self, bound: Sequence[BoundAxis]) -> None:
        told = self.moment is not None and self._version is None  # a version stays what it is
        if told and self.moment != hide_failure(lambda: _hash_files(self._frame), FAILED):
            raise InvalidArgument(
                "data", "the files of the data frame have changed since the session began; open a new session"
            )
        fresh = [each for each in bound if isinstance(each.axis, Axis) and each.axis.grid not in self._proven]
        require_conformance(self, fresh)
        self._proven |= {each.axis.grid for each in fresh if isinstance(each.axis, Axis)}

    def counts(self, bound: Sequence[BoundAxis]) -> IntArray:
        slots = [spark_sql.slot_sql(each, number) for number, each in enumerate(bound)]
        table = np.zeros(table_size(bound) + 1, dtype=np.int64)
        if None not in slots:
            place = spark_sql.cell_index_sql([slot for slot in slots if slot], [each.axis.slots for each in bound])
            rows = self._used_rows(bound).selectExpr("*", *spark_sql.guesses_sql(bound))
            placed = rows.selectExpr(f"coalesce({place}, -1) AS place")
            found = fetch_columns(placed.groupBy("place").count())
            table[found["place"]] = found["count"]
            return table
        axes = [(None if slot and not isinstance(each.axis, Axis) else _find_axis_thresholds(each), each.axis.slots)
                for each, slot in zip(bound, slots, strict=True)]  # fmt: skip
        for at, number in self._count_batches(bound, axes):
            table[at] = number
        return table

    def sums(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        return self._sum_amounts(bound, half, squared=False)

    def squares(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        return self._sum_amounts(bound, half, squared=True)

    def _sum_amounts(self, bound: Sequence[BoundAxis], half: int, *, squared: bool) -> list[int]:
        grid = require_grid(bound[-1].axis)
        amounts = collect_offset_constants(grid, half, squared=squared)
        axes = [
            (_find_axis_thresholds(each) if isinstance(each.axis, Axis) else None, each.axis.slots) for each in bound
        ]
        table = [0] * (table_size(bound) + 1)
        for place, total in self._count_batches(bound, axes, amounts):
            table[place] = total
        return [*table[:-1], 0]

    def prefixes(self, bound: Sequence[BoundAxis], at: Sequence[int]) -> list[int]:
        pieces = Pieces.from_entries(bound, at)
        axes = [
            (_find_axis_thresholds(each) if isinstance(each.axis, Axis) else None, each.axis.slots)
            for each in bound[:-1]
        ]
        counts = pieces.zero_counts
        for place, number in self._count_batches(bound, [*axes, (pieces.start_values, pieces.count)]):
            counts[place] = number
        return pieces.sum_prefixes(counts)

    def numbers(self, bound: Sequence[BoundAxis]) -> Iterator[Sequence[FloatArray]]:
        names = [f"{spark_sql.value_sql(each)} AS v{i}" for i, each in enumerate(bound)]
        found = fetch_columns(self._used_rows(bound).selectExpr(*names))
        yield [np.asarray(found[f"v{i}"], dtype=np.float64) for i in range(len(bound))]

    def in_subsets(self, bound: Sequence[BoundAxis], subsets: int) -> Iterator[Sequence[FloatArray]]:
        names = [f"{spark_sql.value_sql(each)} AS v{i}" for i, each in enumerate(bound)]
        found = fetch_columns(self._select_named(bound).selectExpr(*names, "name"))
        parted = assign_subsets((str(name).encode() for name in found["name"]), self._key, subsets)
        yield [*(np.asarray(found[f"v{i}"], dtype=np.float64) for i in range(len(bound))), parted]

    def _select_named(self, bound: Sequence[BoundAxis]) -> Any:
        """The used rows, columns by their places, and a text that names the unit of each.

        Where each record is a unit, it is named by a digest of all that is counted of it, and by its number among
        those that are the same, in no order, for they are the same.
        """
        places = sorted({each.place for each in bound})
        kept = [f"c{place}" for place in places]
        if self._unit != EACH_RECORD:
            at = find_column(self._unit.column, self.columns)
            unit = self.columns[at].unit.format(f"c{at}")
            rows = self._kept.select_rows(sorted({*places, at}))
            return rows.selectExpr(*kept, f"coalesce(CAST({unit} AS STRING), '') AS name")
        columns = [f"{self._quoted_name(place)} AS c{place}" for place in places]
        whole = self._frame.selectExpr(*columns, f"{self._row_digest_sql()} AS digest")
        copy = "row_number() OVER (PARTITION BY digest ORDER BY digest)"
        return whole.selectExpr(*kept, f"concat(digest, ':', CAST({copy} AS STRING)) AS name")

    def _row_digest_sql(self) -> str:
        """SQL for a digest of all that is counted of a row."""
        texts = [spark_sql.rank_text_sql(self.columns[i], self._quoted_name(i)) for i in self._find_countable()]
        parts = [f"coalesce(concat(CAST(octet_length({text}) AS STRING), ':', {text}), '-')" for text in texts]
        return f"sha2(concat({', '.join(parts)}), 256)"

    def _find_countable(self) -> list[int]:
        return [i for i, each in enumerate(self.columns) if each.kind in {ColumnKind.NUMBERS, ColumnKind.TEXT}]

    def places(self, bound: Sequence[BoundAxis]) -> IntArray:
        (columns,) = self.numbers(bound)
        place, missing = np.zeros(len(columns[0]), dtype=np.int64), np.zeros(len(columns[0]), dtype=bool)
        for values, each in zip(columns, bound, strict=True):
            found = each.axis.grid.cell_of(values) if isinstance(each.axis, Axis) else values
            lacks = ~(found < each.axis.slots)
            place = place * each.axis.slots + np.where(lacks, 0, found).astype(np.int64)
            missing |= lacks
        return np.where(missing, table_size(bound), place)

    def units(self) -> int:
        if self._unit == EACH_RECORD:
            return int(fetch_columns(self._frame.selectExpr("count(*) AS n"))["n"][0])
        at = find_column(self._unit.column, self.columns)
        named = self._frame.selectExpr(f"{self._unit_sql(at)} AS unit")
        counted = named.selectExpr("count(DISTINCT unit) AS n", "count(*) AS a", "count(unit) AS b")
        found = fetch_columns(counted)
        return int(found["n"][0]) + int(found["a"][0] > found["b"][0])

    def unit_sizes(self) -> dict[int, int]:
        at = find_column(self._unit.column, self.columns)
        rows = self._frame.selectExpr(f"{self._unit_sql(at)} AS unit").groupBy("unit").count()
        found = fetch_columns(rows.selectExpr("`count` AS n").groupBy("n").count())
        return dict(zip(found["n"].tolist(), found["count"].tolist(), strict=True))

    def sized_units(self, bound: BoundAxis, doublings: int) -> IntArray:
        slot = spark_sql.slot_sql(bound, 0)
        if slot is None:
            raise InvalidArgument("grid", "units are counted by values in few cells")
        rows = self._rank_used_rows([bound.place], with_size=True).selectExpr("*", *spark_sql.guesses_sql([bound]))
        placed = rows.selectExpr(f"coalesce({slot}, {bound.axis.slots}) AS slot", "size")
        found = fetch_columns(placed.groupBy("slot", "size").count())
        counted = zip(found["slot"].tolist(), found["size"].tolist(), found["count"].tolist(), strict=True)
        return tabulate_units(counted, bound.axis.slots, doublings)

    def names(self, bound: BoundAxis) -> dict[str, int]:
        named, there = f"{spark_sql.name_sql(bound)} AS name", spark_sql.has_value_sql(bound)
        if self._unit == EACH_RECORD:
            listed = self._used_rows([bound]).where(there).selectExpr(named)
        else:  # rows without a unit are one unit, and have one name more in common
            at = find_column(self._unit.column, self.columns)
            unit = f"{self.columns[at].unit.format(f'c{at}')} AS unit"
            listed = self._kept.select_rows(sorted({bound.place, at})).where(there).selectExpr(named, unit).distinct()
        counted = listed.where(f"octet_length(name) <= {LONGEST_NAME}").groupBy("name").count()
        found = fetch_columns(counted.selectExpr("CAST(name AS BINARY) AS name", "`count` AS n"))
        pairs = zip(map(decode_name, found["name"]), found["n"].tolist(), strict=True)
        names = ((value_name(text, bound.column.value_type), units) for text, units in pairs)
        return {value: units for value, units in names if value is not None}

    def using(self, unit: Unit) -> SparkEngine:
        return type(self)(self._frame, unit, self._data_key, self._version)

    def close(self) -> None:
        """Let Spark forget what it keeps; the session is its owner's."""
        with suppress(Exception):  # a server that is gone keeps nothing
            self._kept.drop_cache()

    def _count_batches(
        self, bound: Sequence[BoundAxis], axes: Sequence[tuple[Any, int]], amounts: Sequence[Any] | None = None
    ) -> Iterator[tuple[int, int]]:
        values = self._used_rows(bound).selectExpr(
            *(f"{spark_sql.value_sql(each)} AS v{i}" for i, each in enumerate(bound))
        )
        placed = map_batches(values, spark_batches.build_counter(axes, amounts), COUNTED)
        found = fetch_columns(placed.groupBy("place").agg({"high": "sum", "low": "sum"}))
        for place, high, low in zip(found["place"], found["sum(high)"], found["sum(low)"], strict=True):
            yield int(place), (int(high) << LOW_BITS) + int(low)

    def _used_rows(self, bound: Sequence[BoundAxis]) -> Any:
        """The used rows, columns by their places."""
        return self._kept.select_rows(sorted({each.place for each in bound}))

    def _read_rows(self, places: Sequence[int]) -> Any:
        if self._unit == EACH_RECORD:
            return self._frame.selectExpr(*(f"{self._quoted_name(place)} AS c{place}" for place in places))
        return self._rank_used_rows(places)

    def _rank_used_rows(self, places: Sequence[int], *, with_size: bool = False) -> Any:
        """The used rows, ranked as `duckdb_units.used_rows` ranks them, and with its guarantee.

        The key is in what the workers are sent, and in no statement. If `with_size`, each unit has one used row, and a
        column more tells how many rows the unit has in all.
        """
        kept = [f"{self._quoted_name(place)} AS c{place}" for place in places]
        unit = f"{self._unit_sql(find_column(self._unit.column, self.columns))} AS unit"
        texts = [
            f"{spark_sql.rank_text_sql(self.columns[i], self._quoted_name(i))} AS t{i}" for i in self._find_countable()
        ]
        read = self._frame.selectExpr(*kept, unit, *texts)
        key, names = hmac_pads(self._key), [*(f"c{place}" for place in places), "unit"]
        schema = ", ".join(f"{each.name} {each.dataType.simpleString()}" for each in read.schema.fields[: len(names)])
        ranked = map_batches(
            read, spark_batches.build_ranker(key["inner"], key["outer"], len(names)), f"{schema}, rank string"
        )
        turn = "row_number() OVER (PARTITION BY unit ORDER BY rank) AS turn"
        if with_size:
            size = "count(*) OVER (PARTITION BY unit) AS size"
            return ranked.selectExpr(*names, turn, size).where("turn = 1").select(*names[:-1], "size")
        return ranked.selectExpr(*names, turn).where(f"turn <= {self._unit.records}").select(*names[:-1])

    def _quoted_name(self, place: int) -> str:
        return spark_sql.quote_identifier(self.columns[place].name)

    def _unit_sql(self, place: int) -> str:
        return self.columns[place].unit.format(self._quoted_name(place))


class RemoteSparkEngine(SparkEngine):
    """A table at a URL: the session is the engine's own, and ends with it."""

    def close(self) -> None:
        with suppress(Exception):  # who has gone is waited for no longer
            self._session.client.set_retry_policies([])
        super().close()
        end_session(self._session)


def _find_axis_thresholds(bound: BoundAxis) -> FloatArray:
    return find_thresholds(require_grid(bound.axis))


def _try_hash_files(frame: Any) -> int | None:
    try:
        return _hash_files(frame)
    except Exception:  # not every server tells
        return None


def _hash_files(frame: Any) -> int | None:
    """A number of the files that the frame reads; None: nobody can tell, as of rows that were sent to Spark."""
    files = sorted(frame.selectExpr("*").inputFiles())  # a new frame: of the old one the answer may be kept
    return _hash_facts(files) if files else None


def _hash_facts(facts: object) -> int:
    return int(sha256(repr(facts).encode()).hexdigest()[:15], 16)
