"""Reports over HTTPS: the server is a separate process, and acknowledged reports outlive it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from free_ports import free_port

import dpcurves as dp
from dpcurves_local import Task
from dpcurves_local.report_server import LARGEST_MESSAGE
from dpcurves_parties.serving.channel import Channel, make_pinned_context
from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_parties.serving.monitoring import Monitoring, ServerMetrics

Run = Callable[..., Result]
LONG = 120
"""Seconds after which a test that waits has failed."""
QUESTION = dp.CdfQuestion("age", dp.Grid(0, 100, cells=64))
TASK, OTHER = (Task(QUESTION, dp.PrivacyLoss.pure(epsilon), people=1000) for epsilon in (2, 3))
WAY = f"/tasks/{TASK.report_format.task.hex()}/reports"


class Server:
    """`dpcurves local serve` in a folder."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.more = more
        self.folder, self.store, self.certificate = folder, folder / "reports.bin", folder / "cert.pem"
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        TASK.write(folder / "task.json")
        self.start()

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def start(self) -> None:
        arguments = (
            "--task", "task.json", "--store", self.store.name, "--listen", f"127.0.0.1:{self.port}",
            "--tls", "cert.pem,key.pem", *self.more,
        )  # fmt: skip
        with (self.folder / "log").open("a") as log:
            heard, command = self.log.count("listens at"), (sys.executable, "-m", "dpcurves.cli", "local", "serve")
            self.process = subprocess.Popen((*command, *arguments), cwd=self.folder, stdout=log, stderr=log)
        end = time.monotonic() + LONG
        while self.log.count("listens at") == heard:
            assert self.process.poll() is None, self.log
            assert time.monotonic() < end
            time.sleep(0.02)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(LONG)

    def channel(self) -> Channel:
        return Channel(self.url, make_pinned_context(self.certificate.read_text()), LONG)

    def way(self) -> tuple[object, ...]:
        return "--url", self.url, "--ca", self.certificate


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.kill()


def counted(path: Path) -> tuple[int, int, int]:
    collection = dp.local.Collection(TASK)
    collection.add_file(path)
    return collection.reports, collection.repeated, collection.refused


def wrong_messages(source: np.random.Generator) -> Iterator[tuple[str, bytes, str]]:
    """Destination of each report, the report, and the response."""
    report, refused = (
        TASK.randomize(3, person="anna"),
        "reports: 1 are damaged, cut off, or of another task; none was stored; send those of this task",
    )
    name, strange = (
        np.frombuffer(TASK.hash_name("anna"), np.uint8)[None],
        np.full((1, TASK.report_format.message_octets), 255, np.uint8),
    )
    yield WAY, b"", "reports: must be at least one in a message; send a file that dpcurves local randomize wrote"
    yield WAY, source.bytes(1000), refused
    yield WAY, report[:-1], refused
    yield WAY, report[:-6] + bytes([report[-6] ^ 1]) + report[-5:], refused
    yield WAY, bytes([report[0] ^ 1]) + report[1:], refused
    yield WAY, OTHER.randomize(3, person="anna"), refused
    yield WAY, TASK.report_format.encode_reports(name, strange), refused
    yield WAY, b'{"age": 3}', refused
    yield (
        WAY,
        bytes(LARGEST_MESSAGE + 1),
        f"message: must have at most {LARGEST_MESSAGE} bytes; send it in smaller parts",
    )
    other = f"/tasks/{OTHER.report_format.task.hex()}/reports"
    yield other, OTHER.randomize(3), "task: is not served here; ask the server that the task document names"


def test_ten_wrong_messages_are_told_in_one_line_each_and_nothing_of_them_is_kept(server: Server) -> None:
    with server.channel() as channel:
        before, size = json.loads(channel.get(WAY.removesuffix("/reports"))), server.store.stat().st_size
        wrong = list(wrong_messages(np.random.default_rng(1)))
        for path, message, line in wrong:
            with pytest.raises(ProtocolError) as heard:
                channel.post(path, message)
            assert str(heard.value) == line
        assert len(wrong) == 10
        after = json.loads(channel.get(WAY.removesuffix("/reports")))
        assert after["refused"] - before["refused"] == 7
        assert after["reports"] == before["reports"]
        assert server.store.stat().st_size == size
        assert [line for line in server.log.splitlines() if "listens at" not in line and "written: " not in line] == []


def monitored(port: int, path: str) -> tuple[int, str]:
    """Status and text of what a server answers to its monitoring."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=LONG) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.reproduction
def test_monitoring_counts_requests_by_route_and_status_and_knows_nothing_else_of_them(tmp_path: Path) -> None:
    port = free_port()
    server = Server(tmp_path, "--monitor", f"127.0.0.1:{port}", "--log", "json")
    try:
        with server.channel() as channel:
            channel.post(WAY, TASK.randomize(3, person="anna"))
            for path in (WAY, "/tasks/hidden-name"):
                with pytest.raises(ProtocolError):
                    channel.post(path, b"a hidden body", "hidden-token")
        assert [monitored(port, path)[0] for path in ("/health", "/ready", "/metrics", "/")] == [200, 200, 200, 404]
        counts = monitored(port, "/metrics")[1]
    finally:
        server.kill()
    kept = [line for line in counts.splitlines() if line.startswith("dpcurves_requests_total")]
    assert kept == [
        'dpcurves_requests_total{method="POST",route="/tasks/{task}/reports",status="200"} 1.0',
        'dpcurves_requests_total{method="POST",route="/tasks/{task}/reports",status="400"} 1.0',
        'dpcurves_requests_total{method="POST",route="/tasks/{task}",status="405"} 1.0',
    ]
    assert 'dpcurves_connections{state="idle"}' in counts
    lines = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    assert [(line["level"], line["route"], line["status"]) for line in lines] == [
        ("info", "/tasks/{task}/reports", 200), ("info", "/tasks/{task}/reports", 400), ("info", "/tasks/{task}", 405)
    ]  # fmt: skip
    assert all(set(line) == {"time", "level", "method", "route", "status"} for line in lines)
    assert "hidden" not in server.log + counts
    assert "127.0.0.1" not in counts


def test_a_server_that_can_not_read_its_store_lives_and_is_not_ready() -> None:
    def store() -> None:
        raise OSError("/hidden/place")

    async def asked() -> list[tuple[int, str]]:
        watch, loop, port = ServerMetrics(dict, store), asyncio.get_running_loop(), free_port()
        with watch.serve_metrics(Monitoring("127.0.0.1", port), loop):
            paths = ("/health", "/ready")
            return [await loop.run_in_executor(None, monitored, port, path) for path in paths]

    assert asyncio.run(asked()) == [(200, "yes\n"), (503, "not now\n")]


def test_people_send_what_they_keep_and_the_aggregator_reads_the_store(
    server: Server, run: Run, tmp_path: Path
) -> None:
    channel, kept = server.channel(), tmp_path / "kept.db"
    assert Task.from_json(channel.get("/task").decode()) == TASK
    channel.close()
    (tmp_path / "me.csv").write_text("age\n41\n")
    (tmp_path / "all.bin").write_bytes(TASK.randomize_table({"age": np.arange(100.0)}) + b"torn")
    before = counted(server.store)[0] if server.store.stat().st_size else 0
    mine = ("local", "send", tmp_path / "me.csv", "--task", server.folder / "task.json", "--id", "zoe", *server.way())
    for new in (1, 0):
        sent = run(*mine, "--memo", kept)
        assert sent.output == f"sent: 1 reports, {new} of them new to the server; 0 refused\n"
    for new in (100, 0):
        sent = run("local", "send", tmp_path / "all.bin", *server.way())
        assert sent.output == f"sent: 100 reports, {new} of them new to the server; 1 refused\n"
    assert run(*mine).exit_code == 2
    strange = tmp_path / "strange.pem"
    strange.write_text("no certificate")
    assert run("local", "send", tmp_path / "all.bin", "--url", server.url, "--ca", strange).exit_code == 2
    unknown = run("local", "send", tmp_path / "all.bin", "--url", server.url)
    assert unknown.stderr.count("\n") == 1
    assert "than a certificate that this machine believes names" in unknown.stderr
    assert counted(server.store) == (before + 101, 0, 0)
    report = TASK.randomize(41, person="zoe", memo=dp.local.ReportMemo.from_path(kept))
    assert report in server.store.read_bytes()
    told = run("local", "aggregate", server.store, "--task", server.folder / "task.json")
    assert f"reports: {before + 101} counted, 0 repeated, 0 refused" in told.output


def test_what_was_acknowledged_outlives_a_server_that_is_killed_and_counts_once(tmp_path: Path) -> None:
    server, killed_after = Server(tmp_path), (20,)
    reports = [TASK.randomize(number % 100, person=f"person {number}") for number in range(40)]
    acknowledged: set[bytes] = set()
    channel = server.channel()
    for number, report in enumerate(reports):
        if number in killed_after:
            # One report is in transit while the server dies: its fate is unknown, so it is sent again.
            os.kill(server.process.pid, signal.SIGKILL)
        try:
            channel.post(WAY, report)
            acknowledged.add(report)
        except ProtocolError:
            server.kill()
            stored = server.store.read_bytes()
            assert all(each in stored for each in acknowledged)
            server.start()
    for report in reports:
        channel.post(WAY, report)
    channel.close()
    server.kill()
    assert server.log.count("listens at") == 1 + len(killed_after)
    assert counted(server.store) == (40, 0, 0)
    stored = server.store.read_bytes()
    assert all(report in stored for report in reports)
    assert len(acknowledged) >= 40 - len(killed_after)
