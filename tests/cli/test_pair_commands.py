"""Pairs of people by the command line. Their server is a separate process, over TLS."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from free_ports import free_port

import dpcurves
from dpcurves.cli.app import Commands
from dpcurves.cli.status import ExitStatus

DATA, USAGE = ExitStatus.DATA, ExitStatus.USAGE

pytest.importorskip("rbcl")
LONG = 120
ROWS = ("rooms,cleanliness\n5,3\n", "rooms,cleanliness\n1,2\n", "cleanliness,rooms,name\n900000,7,Anna\n")
SECRETS = ("900000", "Anna", "90000")


class Town:
    """A folder with a task, tickets and a server, and the collected terminal output."""

    def __init__(self, folder: Path, app: Commands) -> None:
        self.folder, self.app, self.said = folder, app, ""

    def call(self, *words: object) -> Result:
        paths = [str(self.folder / str(word)) if "/" in str(word) or "." in str(word) else str(word) for word in words]
        found = CliRunner().invoke(self.app, paths)
        assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
        self.said += found.output
        return found

    def pair(self, person: int) -> Result:
        return self.call("pair", f"{person}.csv", "--task", "task.json", "--ticket", f"tickets/owner-{person + 1}")

    def serve(self, port: int) -> subprocess.Popen[bytes]:
        path = os.pathsep.join([str(Path(dpcurves.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        words = "--party", "0", "--task", "task.json", "--identity", "a0", "--store", "sqlite:///relay.db"
        command, log = [sys.executable, "-m", "dpcurves.cli", "aggregator", *words], self.folder / "log"
        with log.open("wb") as file:
            started = subprocess.Popen(
                command, cwd=self.folder, env={**os.environ, "PYTHONPATH": path}, stdout=file, stderr=file
            )
        end = time.monotonic() + LONG
        while f"server of task listens at 127.0.0.1:{port}" not in log.read_text():
            assert started.poll() is None, log.read_text()
            assert time.monotonic() < end
            time.sleep(0.05)
        return started


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory, app: Commands) -> Iterator[Town]:
    made = Town(tmp_path_factory.mktemp("town"), app)
    port = free_port()
    folder = made.folder
    url = f"https://127.0.0.1:{port}"
    assert CliRunner().invoke(app, ["task", "identity", str(folder / "a0"), "--url", url]).exit_code == 0
    created = made.call(
        "task", "create", "--pairs", 2, "--kernel", "kendall", "--columns", "rooms,cleanliness", "--bits", "3,3",
        "--epsilon", 60, "--trust", "people", "--pairing", "without-repetition", "--servers", "a0/server.json",
        "--owners", 3, "--out", "task.json", "--tickets", folder / "tickets",
    )  # fmt: skip
    assert created.exit_code == 0, created.output
    for person, rows in enumerate(ROWS):
        (folder / f"{person}.csv").write_text(rows)
    server = made.serve(port)
    yield made
    server.kill()
    server.wait(LONG)


def test_people_a_coordinator_and_an_analyst_need_a_command_each(town: Town) -> None:
    """Two of three people meet in each of two rounds. Values beyond three bits count as 7."""
    for person in range(3):
        assert "entered; pairs are not drawn yet" in town.pair(person).output
    ask = "ask", "pairs", "--task", "task.json", "--ticket", "tickets/analyst-1"
    assert "task: is not closed yet" in town.call(*ask).stderr
    closed = town.call("task", "close", "--task", "task.json", "--ticket", "tickets/coordinator-1")
    assert "closed: 3 of 3 people have entered, and pairs are drawn" in closed.output
    said = [town.pair(person).output for _ in range(3) for person in range(3)][-3:]
    assert all(" 0 waiting for the partner, 0 dropped" in line for line in said), said
    assert "from 2 pairs" in town.call(*ask).output
    assert town.call(*ask, "--json", "out.json").exit_code == 0
    told = json.loads((town.folder / "out.json").read_text())
    assert told["pairs"] == 2
    assert told["value"] > -0.1  # 1, but for a pair that tells another answer, by a chance of 6e-5; for both, 1e-9
    assert len(told["for_these_records"]) == len(told["for_the_population"]) == 2
    assert "even if the partner and the aggregator collude" in told["assumed"][0]
    assert told["privacy"]["epsilon"] == 60
    (town.folder / "2.csv").write_text("rooms,cleanliness\n1,900003\n")
    assert "was entered before with another value" in town.pair(2).output


def test_what_is_wrong_is_told_in_one_line(town: Town) -> None:
    (town.folder / "wrong.csv").write_text("rooms,other\n4,900001\n")
    (town.folder / "two.csv").write_text("rooms,cleanliness\n4,900001\n1,1\n")
    ticket = "--task", "task.json", "--ticket"
    lines = {
        ("pair", "wrong.csv", *ticket, "tickets/owner-1"): (DATA, "column: "),
        ("pair", "two.csv", *ticket, "tickets/owner-1"): (
            DATA,
            "data: must have 1 to 1 records, as the task says, got 2",
        ),
        ("pair", "0.csv", *ticket, "tickets/analyst-1"): (
            USAGE,
            "ticket: must be the ticket of an owner; this one is of an analyst",
        ),
        ("pair", "0.csv", *ticket, "tickets/none"): (USAGE, "ticket: "),
        ("pair", "0.csv", *ticket, "tickets/owner-1", "--relay", "http"): (USAGE, "url: must be https://host:port"),
        ("pair", "0.csv", *ticket, "tickets/owner-1", "--on-conflict", "replace"): (
            USAGE,
            "on-conflict: applies to two servers",
        ),
        ("task", "close", *ticket, "tickets/owner-1"): (USAGE, "ticket: must be the ticket of a coordinator"),
    }
    for words, (status, line) in lines.items():
        refused = town.call(*words)
        assert (refused.exit_code, refused.stderr.count("\n")) == (status, 1), refused.stderr
        assert refused.stderr.startswith(f"dpcurves: {line}"), refused.stderr


@pytest.mark.reproduction
def test_no_terminal_and_no_log_has_a_value_or_the_seed(town: Town) -> None:
    seed = (town.folder / "tickets" / "coordinator-1.seed").read_text().strip()
    everything = town.said + (town.folder / "log").read_text()
    assert not [secret for secret in (*SECRETS, seed) if secret in everything]
