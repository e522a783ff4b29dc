"""Every engine that runs here, and how a table comes into it."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dpcurves as dp

Columns = Mapping[str, pa.Array]
Load = Callable[[Columns], Any]
NewDatabase = Callable[[], str]
DEBIAN = Path("/usr/lib/postgresql/15/bin")
NOBODY = 65534
SITTING = 7200
"""Seconds after which Sail ends a session that nobody uses: other tests may run for longer than its five minutes."""
TYPES = {
    pa.float64(): "float8", pa.float32(): "float4", pa.int64(): "int8", pa.string(): "text", pa.bool_(): "bool",
    pa.date32(): "date", pa.timestamp("us", "UTC"): "timestamptz",
}  # fmt: skip


@pytest.fixture(scope="session")
def postgres_url(new_database: NewDatabase) -> str:
    """A schema of its own on the server of all tests."""
    return new_database().replace("postgresql+psycopg://", "postgresql://")


@pytest.fixture(scope="session")
def debian_url() -> Iterator[str]:
    """Debian's server, of another major version, where there is one."""
    if not (DEBIAN / "initdb").exists():
        pytest.skip("Debian's PostgreSQL 15 is not installed")
    folder = Path(tempfile.mkdtemp(prefix="pg15", dir="/tmp"))
    settings = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    user: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    if user:
        os.chown(folder, NOBODY, NOBODY)

    def run(*command: str) -> None:
        subprocess.run(command, check=True, capture_output=True, cwd=folder, **user)

    run(
        str(DEBIAN / "initdb"),
        "-D",
        f"{folder}/data",
        "-U",
        "postgres",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--no-locale",
        "-N",
    )
    control = (str(DEBIAN / "pg_ctl"), "-D", f"{folder}/data", "-w")
    run(*control, "-l", f"{folder}/log", "-o", settings, "start")
    yield f"postgresql://postgres@/postgres?host={folder}"
    run(*control, "-m", "immediate", "stop")
    shutil.rmtree(folder, ignore_errors=True)


def loader(url: str) -> Load:
    """Make a table of columns in the database at `url`."""

    def load(columns: Columns) -> Any:
        import psycopg

        name = f"rows_{secrets.token_hex(8)}"
        quoted = {column: '"{}"'.format(column.replace('"', '""')) for column in columns}
        declared = ", ".join(f"{quoted[column]} {TYPES[array.type]}" for column, array in columns.items())
        with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {name} ({declared})")
            with cursor.copy(f"COPY {name} FROM STDIN") as copy:
                for row in zip(*(array.to_pylist() for array in columns.values()), strict=True):
                    copy.write_row(row)
        return dp.postgres(url, table=name)

    return load


@pytest.fixture(scope="session")
def postgres_load(postgres_url: str) -> Load:
    """How a table comes into PostgreSQL."""
    return loader(postgres_url)


collect_ignore = ["conftest.py"]  # it has no doctests, and shares its name with those of other folders


@pytest.fixture(scope="session")
def sail() -> Iterator[Any]:
    """A session of Spark Connect on Sail, which runs in this process."""
    sail = pytest.importorskip("pysail.spark", reason="pysail is not installed: no tests on Sail")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAIL_SPARK__SESSION_TIMEOUT_SECS", str(SITTING))
        server = sail.SparkConnectServer("127.0.0.1", 0)
        server.start(background=True)
    # Spark's client takes a program without a file, as workers of pytest are, for its own doctests.
    vars(sys.modules["__main__"]).setdefault("__file__", __file__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyspark warns of pandas 3
        from pyspark.sql import SparkSession

        host, port = server.listening_address
        session = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
        yield session
        session.stop()
    server.stop()


def spark_loader(session: Any) -> Load:
    """Send columns to Spark, which wants at least one row to know their types."""

    def load(columns: Columns) -> Any:
        table = pa.table(dict(columns))
        if len(table):
            return dp.spark(session.createDataFrame(table))
        row = pa.table({name: pa.nulls(1, type=array.type) for name, array in columns.items()})
        return dp.spark(session.createDataFrame(row).where("false"))

    return load


@pytest.fixture(scope="session")
def sail_load(sail: Any) -> Load:
    """How a table comes into Spark."""
    return spark_loader(sail)


ENGINES = ("duckdb", "postgres", "debian", "sail")


@pytest.fixture(scope="session", params=ENGINES)
def load(request: pytest.FixtureRequest) -> Load:
    """How a table comes into one of the engines."""
    if request.param == "duckdb":
        return lambda columns: pa.table(dict(columns))
    if request.param == "sail":
        load: Load = request.getfixturevalue("sail_load")
        return load
    return loader(request.getfixturevalue(f"{request.param}_url"))
