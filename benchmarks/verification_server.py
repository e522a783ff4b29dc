"""What a verification server takes for pages, plans and answers, with 50 analysts who think for 5 seconds.

``python benchmarks/verification_server.py [ANALYSTS] [SECONDS] [ROWS] [STORE]``. Clients run in this process, over TLS
on loopback, beside the server and its two workers: on two cores all share them. Printed are percentiles in
milliseconds, and for answers the seconds beyond the strike of the public clock that follows.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "server"))

from running import Running
from scene import ROWS, made

import dpcurves as dp
from dpcurves.ledger import Together
from dpcurves.privacy import PrivacyLoss
from dpcurves.server import MACHINE

THINK = 5.0
EVERY = 2.0
TARGETS = {"page": 200, "plan": 400, "answer": 3000}


class Crowd:
    """Analysts, and what they waited for."""

    def __init__(self, running: Running, analysts: int, seconds: float) -> None:
        self.running, self.seconds = running, seconds
        self.took: dict[str, list[float]] = defaultdict(list)
        self.errors: list[str] = []
        self.lock = threading.Lock()
        self.names = [f"analyst {number}" for number in range(analysts)]

    def admit(self) -> None:
        gate, steward = self.running.scene.gate, self.running.scene.stu
        gate.projects.allow(MACHINE, "delays", PrivacyLoss.pure(90_000), None, Together.MAY_EXCEED)
        for name in self.names:
            gate.people.add(MACHINE, name, "correct horse battery")
            gate.projects.admit(steward, "delays", name)
            gate.projects.allow(MACHINE, "delays", PrivacyLoss.pure(1000), name, Together.MAY_EXCEED)

    def play(self) -> None:
        end = time.monotonic() + self.seconds
        threads = [threading.Thread(target=self.analyst, args=(name, end)) for name in self.names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def analyst(self, name: str, end: float) -> None:
        draws, remote = random.Random(name), self.running.remote(name)
        time.sleep(draws.random() * THINK)
        while time.monotonic() < end:
            self.one(draws, remote)
            time.sleep(draws.expovariate(1 / THINK))
        remote.close()

    def one(self, draws: random.Random, remote: dp.Remote) -> None:
        """Three pages, a plan, and now and then a question."""
        question = dp.HistogramQuestion("delay", dp.Grid(-60, 600, cells=draws.randrange(10, 100_000)))
        try:
            self.timed("page", lambda: remote.statement)
            self.timed("page", lambda: remote.releases)
            self.timed("page", lambda: remote.datasets)
            body = {"question": dp.curves.question_json.question_to_json(question), "epsilon": "0.01"}
            self.timed("plan", lambda: remote._post("projects", "delays", "plan", message=body))
            if draws.random() < 0.2:
                small = dp.HistogramQuestion("delay", dp.Grid(-60, 600, cells=draws.randrange(10, 5000)))
                self.timed("answer", lambda: remote.ask(small, PrivacyLoss.pure("0.01")))
        except Exception as error:
            with self.lock:
                self.errors.append(f"{type(error).__name__}: {error}")

    def timed(self, what: str, work: object) -> None:
        begun = time.monotonic()
        work()  # type: ignore[operator]
        with self.lock:
            self.took[what].append((time.monotonic() - begun) * 1000)

    def table(self) -> str:
        lines = [f"{'':8} {'n':>6} {'p50':>8} {'p95':>8} {'p99':>8} {'asked':>8}"]
        for what, took in self.took.items():
            found = np.percentile(took, [50, 95, 99])
            lines.append(
                f"{what:8} {len(took):6} " + " ".join(f"{each:8.0f}" for each in found) + f" {TARGETS[what]:8}"
            )
        return "\n".join([*lines, f"errors: {len(self.errors)} {sorted(set(self.errors))[:3]}"])


def main() -> None:
    """Print the table."""
    given = sys.argv[1:]
    usual = ["50", "60", "1000000"]
    analysts, seconds, rows = (int(each) for each in given[:3] + usual[len(given[:3]) :])
    store = given[3] if len(given) > 3 else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scene = made(folder, store, cap="100000", times=rows // ROWS)
        running = Running(scene, workers=2, every=str(EVERY))
        running.start()
        try:
            crowd = Crowd(running, analysts, seconds)
            crowd.admit()
            crowd.play()
        finally:
            running.stop()
    print(f"{analysts} analysts for {seconds} s, {rows} rows, clock every {EVERY:g} s (in the time of answers)")
    print(crowd.table())


if __name__ == "__main__":
    main()
