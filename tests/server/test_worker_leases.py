"""A worker that was held goes on with nothing that was taken from it; who charges and who counts are others."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from scene import HISTOGRAM, LOSS, Scene, made
from sqlalchemy import select

from dpcurves.privacy import PrivacyLoss
from dpcurves_server import launch as workers
from dpcurves_server.launch import VerificationServer, Workers, choose_roles
from dpcurves_server.questions import State
from dpcurves_server.queue import Queue, WorkerRole
from dpcurves_server.tables import QUESTIONS
from dpcurves_server.worker import Worker

PRICE, CHEAP = 250_000_000, 5_000_000
LITTLE = PrivacyLoss.pure("0.005")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return made(tmp_path)


def spent(scene: Scene) -> int:
    return scene.gate.archive.ledger.balance("flights").spent.billionths


def stands(scene: Scene, id: str) -> tuple[bool, State]:
    """Whether the worker has claimed the question, and its state, at one time."""
    query = select(QUESTIONS.c.worker, QUESTIONS.c.state).where(QUESTIONS.c.id == id)
    worker, state = scene.gate.archive.read_snapshot(lambda one: one.execute(query).one())
    return worker == "held", State(state)


def shown(scene: Scene, id: str) -> State:
    Queue(scene.gate.archive).publish_states()
    return scene.gate.questions.get(scene.ann, id).state


def test_a_worker_whose_claim_was_given_back_charges_nothing_and_refuses_nothing(scene: Scene) -> None:
    asked = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    queue, held = Queue(scene.gate.archive), Worker(scene.url, "held")
    job = queue.lease_next("held")
    assert job is not None
    queue.return_leases("held")
    scene.gate.stewardship.withdraw(scene.stu, asked.id)
    held._work_on(job)
    assert (shown(scene, asked.id), spent(scene)) == (State.REFUSED, 0)
    scene.gate.questions.ask(scene.bob, "delays", HISTOGRAM, LOSS)
    other = queue.lease_next("other")
    assert other is not None
    held._work_on(job)
    queue.mark_refused(job, "too dear")
    queue.schedule_retry(job)
    assert (shown(scene, asked.id), spent(scene)) == (State.QUEUED, 0)
    Worker(scene.url, "other")._work_on(other)
    assert (shown(scene, asked.id), spent(scene)) == (State.ANSWERED, PRICE)


def test_a_worker_that_is_stopped_while_its_question_is_taken_back_does_not_charge_it(scene: Scene) -> None:
    """It is stopped once it has claimed a question; where it charges or has charged that by then, another is tried."""
    queue, charged = Queue(scene.gate.archive), 0
    with subprocess.Popen([sys.executable, "-m", "dpcurves_server.worker"], stdin=subprocess.PIPE, text=True) as worker:
        assert worker.stdin is not None
        worker.stdin.write(f"{scene.url} held charges\n")
        worker.stdin.flush()
        for cells in range(20, 120):
            asked = scene.gate.questions.ask(scene.ann, "delays", {**HISTOGRAM, "grid": f"-60:600:{cells}"}, LITTLE)
            while (found := stands(scene, asked.id)) == (False, State.QUEUED):
                assert worker.poll() is None
            if found[1] is not State.QUEUED:  # it has claimed and charged it since it was last seen waiting
                charged += 1
                continue
            worker.send_signal(signal.SIGSTOP)
            free = Thread(target=queue.return_leases, args=("held",))
            free.start()
            free.join(5)
            if not free.is_alive() and spent(scene) == charged * CHEAP:
                break
            worker.send_signal(signal.SIGCONT)
            free.join()
            while shown(scene, asked.id) is not State.PAID:
                assert worker.poll() is None
            charged += 1
        scene.gate.stewardship.withdraw(scene.stu, asked.id)
        assert (shown(scene, asked.id), spent(scene)) == (State.REFUSED, charged * CHEAP)
        worker.send_signal(signal.SIGCONT)
        last = scene.gate.questions.ask(scene.ann, "delays", {**HISTOGRAM, "grid": "-60:600:6"}, LITTLE)
        while shown(scene, last.id) is State.QUEUED:  # it has gone on by then
            assert worker.poll() is None
        worker.stdin.close()
    assert (shown(scene, asked.id), spent(scene)) == (State.REFUSED, (charged + 1) * CHEAP)


@pytest.mark.reproduction
def test_who_calls_while_a_worker_is_started_does_not_say_its_first_line(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that hears something else first ends at once."""
    started, tell = Workers(scene.url, choose_roles(1), 1.0), workers._send_line

    def called_meanwhile(process: Any, line: str) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(workers, "_send_line", tell)
            started.notify()
        tell(process, line)

    monkeypatch.setattr(workers, "_send_line", called_meanwhile)
    started._start_worker(WorkerRole.CHARGES)
    ((_, process),) = started._running.values()
    asked = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    while shown(scene, asked.id) is State.QUEUED:
        assert process.poll() is None
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(120) == 0


def test_who_charges_counts_nothing_and_who_counts_charges_nothing(scene: Scene) -> None:
    asked = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    charges, counts = Worker(scene.url, "one", WorkerRole.CHARGES), Worker(scene.url, "two", WorkerRole.COUNTS)
    assert not counts.work_once()
    assert charges.work_once()
    assert not charges.work_once()
    assert (shown(scene, asked.id), spent(scene)) == (State.PAID, PRICE)
    assert counts.work_once()
    assert shown(scene, asked.id) is State.ANSWERED
    assert not charges.work_once()
    assert counts.work_once()
    assert scene.gate.releases.get(scene.ann, asked.id).is_drawn


def test_workers_that_do_not_end_are_killed_when_the_patience_of_all_together_is_over(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless:
        """A process that ends by nothing but being killed, after it waited as long as it was given."""

        stdin = None

        def wait(self, seconds: float) -> None:
            waited.append(seconds)
            clock[0] += seconds
            raise subprocess.TimeoutExpired("worker", seconds)

        def kill(self) -> None:
            killed.append(self)

    waited, clock, killed = list[float](), [100.0], list[Endless]()
    halted = Workers(scene.url, (), 1.0, patience=3.0)
    halted.start()
    halted._running = {name: (WorkerRole.ALL, Endless()) for name in "abc"}  # type: ignore[misc]
    halted._ended.set()
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    halted.stop()
    assert waited == [3.0, 0.0, 0.0]
    assert len(killed) == 3


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ({"workers": 0}, "workers: must be at least 1, as in 2"),
        ({"interval": 0.0}, "every: must be more than 0 seconds, as in 60"),
        ({"interval": float("nan")}, "every: must be more than 0 seconds, as in 60"),
        ({"per_minute": 0}, "per_minute: must be at least 1 request, as in 60"),
    ],
)
def test_a_setting_out_of_range_is_named(setting: Any, line: str) -> None:
    with pytest.raises(ValueError, match=f"^{line}$"):
        VerificationServer("sqlite://", Path("cert.pem"), Path("key.pem"), **setting)
