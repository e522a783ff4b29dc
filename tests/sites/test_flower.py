"""SuperLink and three SuperNodes carry a federation: the answers are those of sites that connect by themselves.

Flower needs other versions of packages than dpcurves, so it stands in an environment of its own, which is named in
DPCURVES_FLOWER: `make flower` makes it, and runs this.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from federated import AGE, LONG, Federated
from free_ports import free_port
from sqlalchemy import select

import dpcurves as dp
from dpcurves.ledger import Ledger
from dpcurves.privacy import PrivacyLoss
from dpcurves_sites.site import SUM_VECTOR_TABLE
from dpcurves_sites.trust import SecureSum

FLOWER = os.environ.get("DPCURVES_FLOWER", "")
SITES = 3
pytestmark = pytest.mark.skipif(not FLOWER, reason="slow: make flower")


class Flower:
    """Processes of Flower, each with what it says in a file."""

    def __init__(self, federation: Federated) -> None:
        self.folder, self.link, self.running = federation.folder, free_port(), dict[str, subprocess.Popen[bytes]]()
        words = [
            "app",
            "--framework",
            "flower",
            "--task",
            str(self.folder / "task.json"),
            "--out",
            str(self.folder / "f"),
        ]
        words += ["--address", f"127.0.0.1:{self.link}"]
        subprocess.run([sys.executable, "-m", "dpcurves.cli", "federation", *words], check=True)

    def start(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as said:
            environment = {**os.environ, "PATH": f"{FLOWER}{os.pathsep}{os.environ['PATH']}"}
            process = subprocess.Popen(
                [str(self.folder / "f" / "launch"), *words], stdout=said, stderr=said, env=environment,
                start_new_session=True,
            )  # fmt: skip
        self.running[name] = process
        return process

    def node(self, number: int) -> None:
        socket = self.folder / f"s{number}.sock"
        self.start(
            f"node-{number}", "supernode", "--insecure", "--superlink", f"127.0.0.1:{self.link}", "--port",
            str(free_port()), "--node-config", f'dpcurves="{socket}"',
        )  # fmt: skip

    def kill(self, name: str) -> None:
        """By SIGKILL, with all that it has started."""
        process = self.running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Federated, Flower]]:
    folder = tmp_path_factory.mktemp("flower")
    with Federated(folder, SecureSum(SITES, 1), patience=600) as federation:
        flower = Flower(federation)
        try:
            federation.coordinator()
            for number in range(SITES):
                federation.site(number, more=["--socket", str(folder / f"s{number}.sock")])
            flower.start("link", "superlink", "--insecure", "--port", str(flower.link))
            for number in range(SITES):
                flower.node(number)
            federation.wait(lambda: "listens" in federation.log("hub"), "the start")
            federation.wait(lambda: flower.start("run", "run").wait() == 0, "the run")
            federation.wait(lambda: len(federation.signed()) == SITES, "the signing")
            yield federation, flower
        finally:
            flower.stop()


SECONDS: list[float] = []
ANSWERED: list[str] = []


def test_flower_carries_the_same_answers(carried: tuple[Federated, Flower]) -> None:
    federation, _ = carried
    with federation.analyst() as analyst:
        start = time.monotonic()
        curve = analyst.ask(dp.CdfQuestion("age", AGE), PrivacyLoss.pure(4), "r")
        SECONDS.append(time.monotonic() - start)
        again = analyst.ask(dp.CdfQuestion("age", AGE), PrivacyLoss.pure(4), "r")
    ages = np.concatenate(federation.ages)
    ANSWERED.append(curve.to_json())
    assert again.to_json() == ANSWERED[0]
    assert abs(np.interp(50, curve.x, curve.y) - (ages < 50).mean()) < 0.05


def test_a_node_that_is_killed_in_a_turn_comes_back_and_carries_on(carried: tuple[Federated, Flower]) -> None:
    federation, flower = carried
    with ThreadPoolExecutor(1) as threads, federation.analyst() as analyst:
        coming = threads.submit(analyst.ask, dp.HistogramQuestion("age", AGE), PrivacyLoss.pure(1))
        flower.kill("node-1")
        flower.node(1)
        assert abs(coming.result(4 * LONG).count.sum() - 900) < 200


def test_nothing_is_told_to_others_and_no_secret_is_kept_by_flower(carried: tuple[Federated, Flower]) -> None:
    """Neither a site's own noisy counts nor its key are in any file that Flower wrote; settings are its folder's."""
    federation, flower = carried
    written = [each.read_bytes() for each in (flower.folder / "f").rglob("*") if each.is_file()]
    written += [each.read_bytes() for each in flower.folder.glob("*.log")]
    for number in range(SITES):
        key = (federation.folder / f"s{number}" / "site.key").read_text().strip()
        ledger = Ledger.open_existing(f"sqlite:///{federation.folder / f's{number}.db'}")
        rows = ledger.database.run_read(lambda connection: connection.execute(select(SUM_VECTOR_TABLE.c.vector)).all())
        assert rows
        assert not any(key.encode() in each or bytes.fromhex(key) in each for each in written)
        assert not any(row.vector in each for row in rows for each in written)
    environments = [
        Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
        for name, process in flower.running.items() if name != "run"
    ]  # fmt: skip
    home = f"FLWR_HOME={(flower.folder / 'f' / 'home').resolve()}".encode()
    assert all(b"FLWR_TELEMETRY_ENABLED=0" in each and home in each for each in environments)


def test_sites_that_connect_by_themselves_again_give_the_same_answer(
    carried: tuple[Federated, Flower], capsys: pytest.CaptureFixture[str]
) -> None:
    federation, _ = carried
    by_themselves = federation.seconds_by_itself()
    with federation.analyst() as analyst:
        assert analyst.ask(dp.CdfQuestion("age", AGE), PrivacyLoss.pure(4), "r").to_json() == ANSWERED[0]
    with capsys.disabled():
        print(f"\nFlower carried a round of {SITES} sites in {SECONDS[0]:.0f} s; by HTTPS: {by_themselves:.1f} s")
