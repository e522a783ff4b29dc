"""Plans are free: they are bounded in work and memory, and delay nobody who asks for something else."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scene import HISTOGRAM, LOSS, Scene, made

import dpcurves as dp
from dpcurves.arguments import InvalidArgument, ProtocolError
from dpcurves.curves.question_json import question_from_json
from dpcurves.data import Categories, Grid
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves.session import plan_question
from dpcurves_parties.serving import task_app
from dpcurves_server import planner
from dpcurves_server.planner import FEW_CELLS, MOST_WAITING, PlanJob, Planner, PlanPending, count_cells
from dpcurves_server.queue import SHORT_QUESTION_CELLS, Queue, WorkerRole
from dpcurves_server.renderer import FILE, MOST_WAITING_DRAWINGS, Renderer
from dpcurves_server.worker import Worker

SECONDS = 120
LARGE = {"ask": "cdf", "column": "delay", "grid": "-60:600:70000"}


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = made(tmp_path)
    yield scene
    scene.gate.questions.planner.stop()


def job(scene: Scene, question_json: Any) -> PlanJob:
    dataset = scene.gate.datasets.get(scene.ann, "flights")
    return PlanJob.from_question(question_from_json(question_json), LOSS, dataset)


def test_a_large_plan_is_made_apart_also_after_one_that_ended_the_process(scene: Scene) -> None:
    with pytest.raises(PlanPending) as pending:
        scene.gate.questions.plan(scene.ann, "delays", LARGE, LOSS)
    pending.value.future.result(SECONDS)
    planned = scene.gate.questions.plan(scene.ann, "delays", LARGE, LOSS)
    assert planned.plans == job(scene, LARGE).plan()
    planning = scene.gate.questions.planner
    real, dead = planning._child.ensure_running, planning._child.process
    assert dead is not None
    dead.kill()
    planning._child.ensure_running = lambda: dead  # type: ignore[method-assign]
    assert planning._plan_apart(job(scene, LARGE)) is None
    planning._child.ensure_running = real  # type: ignore[method-assign]
    assert planning._plan_apart(job(scene, LARGE)) == planned.plans
    with pytest.raises(PlanPending):  # another project must not learn that the question was planned before
        scene.gate.questions.planner.plan("bob", "other", question_from_json(LARGE), job(scene, LARGE))


@pytest.mark.parametrize("trouble", [None, OSError("no process"), RuntimeError("a fault"), MemoryError()], ids=repr)
def test_a_plan_that_fails_is_said_not_kept_and_holds_up_no_other_one(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, trouble: BaseException | None
) -> None:
    planning, outcomes = Planner(), [trouble, InvalidArgument("question", "planned")]

    def plan(self: Planner, job: PlanJob) -> Any:
        outcome = outcomes.pop(0)
        if outcome is None or isinstance(outcome, InvalidArgument):
            return outcome
        raise outcome

    monkeypatch.setattr(Planner, "_plan_apart", plan)
    question = question_from_json(LARGE)
    with pytest.raises(PlanPending) as pending:
        planning.plan("ann", "delays", question, job(scene, LARGE))
    with pytest.raises(ProtocolError, match="took too long, or the planning process ended"):
        pending.value.future.result(SECONDS)
    with pytest.raises(PlanPending) as pending:  # the same question is tried again
        planning.plan("ann", "delays", question, job(scene, LARGE))
    pending.value.future.result(SECONDS)
    with pytest.raises(InvalidArgument, match="planned"):
        planning.plan("ann", "delays", question, job(scene, LARGE))


def test_somebody_who_leaves_cancels_no_plan_of_others(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    planning, may_plan = Planner(), threading.Event()
    monkeypatch.setattr(
        Planner, "_plan_apart", lambda self, job: may_plan.wait(SECONDS) and InvalidArgument("question", "planned")
    )

    def ask() -> None:
        planning.plan("ann", "delays", question_from_json(LARGE), job(scene, LARGE))

    async def leave() -> None:
        waiting = asyncio.ensure_future(planner.respond_when_planned(ask))
        await asyncio.sleep(0.2)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting

    asyncio.run(leave())
    with pytest.raises(PlanPending) as pending:
        ask()
    may_plan.set()
    pending.value.future.result(SECONDS)
    with pytest.raises(InvalidArgument, match="planned"):
        ask()


def test_one_person_waits_for_few_plans_and_others_take_turns(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    planning, order, may_plan = Planner(), list[str](), threading.Event()

    def plan(self: Planner, job: PlanJob) -> InvalidArgument:
        may_plan.wait(SECONDS)
        order.append(str(job.question_json))
        return InvalidArgument("question", "planned")

    monkeypatch.setattr(Planner, "_plan_apart", plan)
    questions = [{**LARGE, "grid": f"-60:600:{70_000 + number}"} for number in range(8)]
    futures, statuses = [], []
    for person, question_json in zip([*["ann"] * 7, "bob"], questions, strict=True):
        try:
            planning.plan(person, "delays", question_from_json(question_json), job(scene, question_json))
        except PlanPending as pending:
            futures.append(pending.future)
        except ProtocolError as error:
            statuses.append((person, error.status))
    assert statuses
    assert set(statuses) == {("ann", 429)}
    may_plan.set()
    for future in futures:
        future.result(SECONDS)
    assert MOST_WAITING + 1 <= len(order) <= MOST_WAITING + 2
    assert any("70007" in question for question in order[:3])  # bob's comes after the one at work and one of ann's
    with pytest.raises(InvalidArgument, match="planned"):
        planning.plan("bob", "delays", question_from_json(questions[7]), job(scene, questions[7]))


def test_a_person_has_so_many_large_plans_a_minute(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_app, "time", SimpleNamespace(monotonic=lambda: 90.0))  # no new minute begins meanwhile
    monkeypatch.setattr(planner, "PLANS_PER_MINUTE", 1)
    monkeypatch.setattr(Planner, "_plan_apart", lambda self, job: InvalidArgument("question", "planned"))
    limited, other = Planner(), {**LARGE, "grid": "-60:600:70001"}
    with pytest.raises(PlanPending):
        limited.plan("ann", "delays", question_from_json(LARGE), job(scene, LARGE))
    with pytest.raises(ProtocolError, match="at most 1 a minute are made"):
        limited.plan("ann", "delays", question_from_json(other), job(scene, other))
    with pytest.raises(PlanPending):
        limited.plan("bob", "delays", question_from_json(other), job(scene, other))


def test_a_plan_beyond_the_memory_is_refused_in_one_line(scene: Scene) -> None:
    code = (
        "import sys; from dpcurves_server import planner\n"
        "class Endless:\n    def plan(self): return bytearray(2 * planner.MEMORY_BYTES)\n"
        "planner._read_message = lambda pipe, jobs=[Endless()]: jobs.pop() if jobs else sys.exit()\n"
        "planner.main()"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=SECONDS, check=True)
    assert planner.TOO_LARGE_MESSAGE.encode() in ended.stdout


def test_planning_a_histogram_does_not_grow_with_its_cells() -> None:
    adjacency = Neighbours.ADD_REMOVE.to_adjacency(EACH_RECORD, None)
    question = question_from_json({**HISTOGRAM, "grid": "0:1:4000000"})
    plan_question(question_from_json(HISTOGRAM), LOSS, adjacency)  # imports what it needs
    tracemalloc.start()
    try:
        (plan,) = plan_question(question, LOSS, adjacency)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert plan.distribution.size is not None
    assert plan.distribution.size > 4_000_000
    assert peak < 2**20  # bytes: less than a byte a cell


def test_the_size_of_a_question_counts_all_its_grids_and_categories() -> None:
    groups = Categories("late", (0, 1))
    assert count_cells(question_from_json(HISTOGRAM)) == 66
    assert count_cells((Grid(0, 1, cells=30), groups, "name", None)) == 60
    assert count_cells(question_from_json({"ask": "histogram2d", "x": "a", "y": "b", "x_grid": "0:1:300",
                                           "y_grid": "0:1:200"})) == 60_000 > FEW_CELLS  # fmt: skip


TWENTY = tuple(map(str, range(20)))


@pytest.mark.parametrize("question", [
    dp.ContingencyQuestion(Categories("late", TWENTY), Categories("tail", TWENTY)),
    dp.ScoresQuestion("late", "delay", Grid(0, 1, cells=20), pos_label=1, neg_label=0, by=Categories("tail", TWENTY)),
], ids=str)  # fmt: skip
def test_tables_whose_tests_are_simulated_are_planned_apart(question: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty-five such plans at once took a minute of the serving process."""
    planning = Planner()
    monkeypatch.setattr(planner, "_plan_or_refuse", lambda job: pytest.fail("planned in the serving process"))
    monkeypatch.setattr(planning, "_submit", lambda person, key, job: Future[None]())
    with pytest.raises(PlanPending):
        planning.plan("ann", "delays", question, SimpleNamespace())  # type: ignore[arg-type]


def test_turns_go_to_people_and_a_lane_to_short_questions(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "FEW_CELLS", 2 * SHORT_QUESTION_CELLS)
    queue, charging = Queue(scene.gate.archive), Worker(scene.url, "charges", WorkerRole.CHARGES)
    price = PrivacyLoss.pure("0.1")
    for cells in (SHORT_QUESTION_CELLS + 1, SHORT_QUESTION_CELLS + 2, 60):
        scene.gate.questions.ask(scene.ann, "delays", {**HISTOGRAM, "grid": f"-60:600:{cells}"}, price)
    scene.gate.questions.ask(scene.bob, "delays", HISTOGRAM, price)
    while charging.work_once():
        pass
    short = queue.lease_next("short", WorkerRole.COUNTS_SHORT)
    assert short is not None
    assert short.question.grid.cells <= SHORT_QUESTION_CELLS
    queue.return_lease(short)
    order = []
    for number in range(4):
        job = queue.lease_next(f"worker {number}", WorkerRole.COUNTS)
        assert job is not None
        order.append(job.member.analyst)
        queue.store_answer(job.id, "curve", {})
    assert order == ["ann", "bob", "ann", "ann"]
    assert queue.lease_next("short", WorkerRole.COUNTS_SHORT) is None


def test_one_person_waits_for_few_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing, may_draw = Renderer(), threading.Event()
    monkeypatch.setattr(Renderer, "_draw", lambda self, inputs, table: may_draw.wait(SECONDS))
    waiting = [
        drawing.submit({"draw": FILE, "form": str(number)}, None, "ann") for number in range(MOST_WAITING_DRAWINGS)
    ]
    with pytest.raises(ProtocolError, match="pictures of yours wait already"):
        drawing.submit({"draw": FILE, "form": "more"}, None, "ann")
    other = drawing.submit({"draw": FILE, "form": "his"}, None, "bob")
    may_draw.set()
    for future in (*waiting, other):
        future.result(SECONDS)
    drawing.submit({"draw": FILE, "form": "more"}, None, "ann").result(SECONDS)
    drawing.stop()
