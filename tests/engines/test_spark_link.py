"""Spark Connect at a URL: a session of its own, and given up in a bounded time."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcurves as dp
from dpcurves.data import Grid
from dpcurves.data.axis import Axis
from dpcurves.privacy import EACH_RECORD
from dpcurves.records import open_records
from dpcurves_engines import spark_engine as spark_link

pytest.importorskip("pysail")
pytestmark = pytest.mark.filterwarnings("ignore")  # pyspark warns of pandas 3
AGE = Axis("age", Grid(0, 100, cells=4))


class Server:
    """A Sail of its own."""

    def __init__(self) -> None:
        from pysail.spark import SparkConnectServer

        self._server = SparkConnectServer("127.0.0.1", 0)
        self._server.start(background=True)
        host, port = self._server.listening_address
        self.url = f"sc://{host}:{port}"

    def kill(self) -> None:
        with suppress(RuntimeError):  # it was killed before
            self._server.stop()


@pytest.fixture
def server(sail: Any) -> Iterator[Server]:
    made = Server()
    yield made
    made.kill()


def table_of(file: Path, rows: int) -> str:
    pq.write_table(pa.table({"age": np.arange(float(rows))}), file)
    return f"parquet.`{file}`"


def test_a_table_at_a_url_is_counted_in_a_session_of_its_own(sail: Any, server: Server, tmp_path: Path) -> None:
    from pyspark.sql import SparkSession

    table = table_of(tmp_path / "rows.parquet", 100)
    with open_records(dp.spark_at(server.url, table=table), unit=EACH_RECORD, key=b"k") as records:
        engine: Any = records._engine
        assert engine._session is not sail
        assert engine._session is not SparkSession.getActiveSession()
        assert records.counts((AGE,)).tolist() == [25, 25, 25, 25, 0]
    assert engine._session.is_stopped
    assert not sail.is_stopped
    with pytest.raises(ValueError, match="table: Spark was not reached, or has no such table"):
        open_records(dp.spark_at(server.url, table="nowhere"), unit=EACH_RECORD, key=b"k")


def test_who_does_not_answer_is_given_up_and_the_token_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_link, "SECONDS_TO_CONNECT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        for url in (f"sc://127.0.0.1:{port}/;token=secret", "sc://127.0.0.1:1/;token=secret"):
            with pytest.raises(ValueError, match="data: Spark was not reached within 20 seconds") as caught:
                open_records(dp.spark_at(url, table="visits"), unit=EACH_RECORD, key=b"k")
            assert "secret" not in str(caught.value) + repr(dp.spark_at(url, table="visits"))
            assert (caught.value.__cause__, caught.value.__context__) == (None, None)


@pytest.mark.parametrize(
    ("url", "line"),
    [("sc://warehouse:15002", "TLS is required except on loopback"), ("sc://localhost/path", "use sc://host:port")],
)
def test_wrong_urls_are_one_line_each(url: str, line: str) -> None:
    with pytest.raises(ValueError, match=line):
        open_records(dp.spark_at(url, table="visits"), unit=EACH_RECORD, key=b"k")


def test_a_server_that_went_away_is_waited_for_twenty_seconds_in_all() -> None:
    state = spark_link._build_retry_policy().to_state()
    pauses = iter(state.next_attempt, None)
    assert 5_000 < sum(pauses) <= 20_000


def test_a_server_that_went_away_costs_one_line_and_closing_waits_for_nobody(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_link, "MOST_RETRIES", 1)
    table = table_of(tmp_path / "rows.parquet", 100)
    budget = dp.PrivacyLoss.pure(1)
    with dp.Session(dp.spark_at(server.url, table=table), budget=budget, adjacency=dp.ADD_REMOVE) as session:
        opened: Any = session._open_records()
        server.kill()
        with pytest.raises(ValueError, match="data: Spark did not answer"):
            session.ask(dp.CdfQuestion("age", AGE.grid), budget)
        assert session.remaining == budget
        client = opened._engine._session.client
        assert client.get_retry_policies() != []
    assert client.get_retry_policies() == []
