"""A question ends answered once, or refused before it was charged, wherever its worker is killed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from at_once import at_once
from scene import HISTOGRAM, LOSS, PASSWORD, ROWS, Scene, made
from sqlalchemy import update

from dpcurves.arguments import InvalidArgument
from dpcurves.curves.question_json import question_from_json
from dpcurves.ledger import AllowanceRule, Member, chain
from dpcurves.ledger.chain import Database
from dpcurves.privacy import Neighbours, PrivacyLoss
from dpcurves.session import Session
from dpcurves_parties.serving.messages import ProtocolError, ServerFault
from dpcurves_server import MACHINE, Services, releases
from dpcurves_server import renderer as awaiting
from dpcurves_server.questions import State
from dpcurves_server.queue import Queue, WorkerRole
from dpcurves_server.store import Archive
from dpcurves_server.tables import QUESTIONS
from dpcurves_server.worker import SCHEMA_MISMATCH, UNREADABLE_RECORDS, Worker, _try_step, format_error


class Killed(BaseException):
    """The process is gone: nothing that it would do afterwards is done."""


def killed_before(thing: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> None:
        raise Killed

    monkeypatch.setattr(thing, method, gone)


def killed_after(thing: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., object] = getattr(thing, method)

    def gone(*given: object, **named: object) -> None:
        real(*given, **named)
        raise Killed

    monkeypatch.setattr(thing, method, gone)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return made(tmp_path)


def state_of(scene: Scene, id: str) -> State:
    return scene.gate.questions.get(scene.ann, id).state


MOMENTS = [
    (killed_before, Session, "charge_for"), (killed_after, Session, "charge_for"), (killed_before, Queue, "mark_paid"),
    (killed_after, Queue, "mark_paid"), (killed_after, Session, "answer_grant"), (killed_before, Queue, "store_answer"),
    (killed_after, Queue, "store_answer"),
]  # fmt: skip


@pytest.mark.parametrize(("kill", "thing", "method"), MOMENTS, ids=range(len(MOMENTS)))
def test_a_worker_that_is_killed_anywhere_costs_nothing_and_changes_no_answer(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, kill: Callable[..., None], thing: Any, method: str
) -> None:
    asked = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    ledger, queue = scene.gate.archive.ledger, Queue(scene.gate.archive)
    with monkeypatch.context() as patched:
        kill(thing, method, patched)
        with pytest.raises(Killed):
            Worker(scene.url, "first").work_once()
    grant = ledger.find_grant("flights", asked.request)
    stored = None if grant is None else ledger.find_answer(grant, 0, 0)
    assert queue.lease_next("other") is None  # it is claimed, or done
    queue.return_leases("first")
    Worker(scene.url, "second").work_once()
    queue.publish_states()
    assert state_of(scene, asked.id) is State.ANSWERED
    assert ledger.balance("flights").spent.digits == "0.25"
    grant = ledger.find_grant("flights", asked.request)
    assert grant is not None
    assert stored in (None, ledger.find_answer(grant, 0, 0))
    assert len(scene.gate.releases.all(scene.ann, "delays")) == 1


def test_answers_appear_when_the_clock_strikes_and_not_before(scene: Scene) -> None:
    asked = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    queue = Queue(scene.gate.archive)
    assert Worker(scene.url, "one").work_once()
    assert state_of(scene, asked.id) is State.QUEUED
    with pytest.raises(ProtocolError):
        scene.gate.releases.get(scene.ann, asked.id)
    assert queue.publish_states()
    assert state_of(scene, asked.id) is State.ANSWERED
    assert scene.gate.releases.get(scene.ann, asked.id).load_curve().to_json() == (
        scene.gate.releases.get(scene.bob, asked.id).json
    )
    assert queue.publish_states() == 0


def test_pictures_are_drawn_when_nothing_waits_and_are_those_that_who_looks_before_is_shown(scene: Scene) -> None:
    asked = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    counting, queue = Worker(scene.url, "one"), Queue(scene.gate.archive)
    assert counting.work_once()
    queue.publish_states()
    before = scene.gate.releases.get(scene.ann, asked.id)
    assert (before.stored_svg, queue.find_undrawn()) == ("", [asked.id])
    assert counting.work_once()
    after = scene.gate.releases.get(scene.ann, asked.id)
    assert after.stored_svg.startswith("<svg")
    assert (before.svg[:40], before.csv) == (after.svg[:40], after.stored_csv)
    assert not counting.work_once()


def test_an_answer_is_drawn_by_one_worker_and_by_another_one_where_that_was_killed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    first, second, queue = Worker(scene.url, "first"), Worker(scene.url, "second"), Queue(scene.gate.archive)
    assert first.work_once()
    queue.publish_states()
    with monkeypatch.context() as patched:
        killed_before(Queue, "store_drawing", patched)
        with pytest.raises(Killed):
            first.work_once()
        assert not second.work_once()
    assert not queue.lease_drawing("second", asked.id)
    queue.return_leases("first")
    assert second.work_once()
    assert scene.gate.releases.get(scene.ann, asked.id).stored_svg.startswith("<svg")


def test_who_looks_is_not_kept_from_a_picture_that_no_worker_draws(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    assert Worker(scene.url, "one").work_once()
    Queue(scene.gate.archive).publish_states()
    assert not scene.gate.releases.get(scene.ann, asked.id).is_drawn
    assert not scene.gate.releases.is_drawn(asked.id)
    monkeypatch.setattr(awaiting, "LONGEST_WAIT", 0.0)
    asyncio.run(awaiting.wait_until_drawn(scene.gate.releases, asked.id))
    drawn = scene.gate.releases.get_with_drawing(scene.ann, asked.id)  # nobody came: drawn here
    assert drawn.stored_svg.startswith("<svg")
    assert drawn.stored_csv
    with releases._DRAWING_SLOT, pytest.raises(ProtocolError, match="not drawn yet") as refused:
        scene.gate.releases.get_with_drawing(scene.ann, asked.id)
    assert refused.value.status == 503


def test_who_waits_for_a_picture_has_it_when_a_worker_has_drawn_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    counting = Worker(scene.url, "one")
    assert counting.work_once()
    Queue(scene.gate.archive).publish_states()
    monkeypatch.setattr(awaiting, "LONGEST_WAIT", 600.0)
    monkeypatch.setattr(awaiting, "POLL_SECONDS", 0.01)

    async def both() -> bool:
        waiting = asyncio.create_task(awaiting.wait_until_drawn(scene.gate.releases, asked.id))
        await asyncio.sleep(0.1)
        waited = not waiting.done()
        await asyncio.to_thread(counting.work_once)
        await waiting
        return waited

    assert asyncio.run(both())
    assert scene.gate.releases.get(scene.ann, asked.id).is_drawn


def test_what_is_not_affordable_is_refused_and_not_charged(scene: Scene) -> None:
    dear = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, PrivacyLoss.pure("1.5"))
    assert Worker(scene.url, "one").work_once()
    Queue(scene.gate.archive).publish_states()
    refused = scene.gate.questions.get(scene.ann, dear.id)
    assert refused.state is State.REFUSED
    assert "1 of 1 is left to analyst 'ann'" in str(refused.refusal)
    assert scene.gate.archive.ledger.balance("flights").spent.billionths == 0
    scene.gate.projects.set_allowance(scene.stu, "delays", PrivacyLoss.pure(2), "ann", AllowanceRule.MAY_EXCEED)
    assert scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, PrivacyLoss.pure("1.5")).state is State.QUEUED
    assert Worker(scene.url, "one").work_once()
    Queue(scene.gate.archive).publish_states()
    assert state_of(scene, dear.id) is State.ANSWERED


def test_a_question_that_was_changed_in_the_queue_is_refused_before_it_is_charged(scene: Scene) -> None:
    asked = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    scene.gate.archive.write(
        lambda connection: connection.execute(update(QUESTIONS).values(epsilon="9/10", rho="81/200")).rowcount
    )
    assert Worker(scene.url, "one").work_once()
    Queue(scene.gate.archive).publish_states()
    assert state_of(scene, asked.id) is State.REFUSED
    assert scene.gate.archive.ledger.balance("flights").spent.billionths == 0


def test_records_that_went_away_after_the_charge_are_waited_for(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)

    def away(*_: object) -> None:
        raise OSError("a value of a record")

    with monkeypatch.context() as patched:
        patched.setattr(Session, "answer_grant", away)
        with pytest.raises(OSError, match="a value"):
            Worker(scene.url, "one").work_once()
    Queue(scene.gate.archive).publish_states()
    assert state_of(scene, asked.id) is State.PAID
    assert not Worker(scene.url, "two").work_once()  # not at once
    Queue(scene.gate.archive).return_leases()
    assert Worker(scene.url, "two").work_once()
    Queue(scene.gate.archive).publish_states()
    assert state_of(scene, asked.id) is State.ANSWERED
    assert scene.gate.archive.ledger.balance("flights").spent.digits == "0.25"


def test_a_server_whose_disk_is_read_only_starts_without_writing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was answered before is shown: at the start nothing is written unless a worker had leased a question."""
    writes = []

    def refuse(self: Any, work: Any) -> Any:
        writes.append(work)
        raise InvalidArgument("ledger", f"{self.label}: no permission to write; let this user write the file")

    ann = scene.ann
    asked = scene.gate.questions.ask(ann, "delays", HISTOGRAM, LOSS)
    assert Worker(scene.url, "one").work_once()
    Queue(scene.gate.archive).publish_states()
    monkeypatch.setattr(Database, "run_write", refuse)
    services = Services(scene.url)
    Queue(services.archive).return_leases()
    assert writes == []
    assert services.releases.get(ann, asked.id).json
    assert services.questions.ask(ann, "delays", HISTOGRAM, LOSS).id == asked.id
    with pytest.raises(ProtocolError, match=r"^store: no permission to write$"):
        services.questions.ask(ann, "delays", HISTOGRAM, PrivacyLoss.pure("0.5"))


@pytest.mark.parametrize("rule", [*chain._MESSAGES_BY_CODE.values(),
                                  "an older copy was put back: it has 2 entries, and had 3. "
                                  "If it was put back on purpose: dpcurves ledger restore"])  # fmt: skip
def test_a_client_is_told_the_cause_of_a_fault_of_the_store_not_its_place(rule: str) -> None:
    label = "'/srv/secret: place/server.db'"
    told = str(ServerFault.from_database_error("server 1", InvalidArgument("ledger", f"{label}: {rule}"), label))
    cause = told.removeprefix("store: server 1: ")
    assert rule.startswith(cause)
    assert len(cause) > 16
    assert "secret" not in cause


def test_where_the_records_lie_is_told_to_nobody(scene: Scene) -> None:
    (scene.folder / "flights.parquet").unlink()
    asked = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    Worker(scene.url, "one").work_once()
    Queue(scene.gate.archive).publish_states()
    refused = scene.gate.questions.get(scene.ann, asked.id)
    assert refused.state is State.REFUSED
    assert refused.refusal == "the records cannot be read now, and nothing was charged; ask again later"


def test_nothing_that_the_records_have_is_told_to_who_asks_them(scene: Scene) -> None:
    """Another file stands where the registered one did: its first line is a record, or names what nobody declared."""
    for line in ("42.5,Jane Doe", "illness,late", "delay,delay"):
        (scene.folder / "flights.parquet").unlink()
        pq.write_table(pa.table([[1.0], [2.0]], names=line.split(",")), scene.folder / "flights.parquet")
        asked = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
        Worker(scene.url, "one").work_once()
        Queue(scene.gate.archive).publish_states()
        assert scene.gate.questions.get(scene.ann, asked.id).refusal in (SCHEMA_MISMATCH, UNREADABLE_RECORDS)
    assert scene.gate.archive.ledger.balance("flights").spent.billionths == 0


def test_nothing_that_the_records_have_stands_in_the_log_of_a_worker(
    scene: Scene, capfd: pytest.CaptureFixture[str]
) -> None:
    """What was paid can not be counted: another file stands there now, whose first line is a record."""
    scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    assert Worker(scene.url, "one", WorkerRole.CHARGES).work_once()
    (scene.folder / "flights.parquet").unlink()
    pq.write_table(pa.table([[1.0], [2.0]], names=["42.5", "Jane Doe"]), scene.folder / "flights.parquet")
    assert not _try_step(Worker(scene.url, "two", WorkerRole.COUNTS))
    said = capfd.readouterr().err
    assert said.startswith("dpcurves worker: ")
    assert not any(word in said for word in ("42.5", "Jane", str(scene.folder)))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (InvalidArgument("ledger", "database: the disk is full"), "ledger: database: the disk is full"),
        (InvalidArgument("columns", "there are 'Jane Doe', '42.5'"), "InvalidArgument in test_of_its_own_store"),
        (OSError("Jane Doe"), "OSError in test_of_its_own_store"),
    ],
    ids=["store", "records", "system"],
)
def test_of_its_own_store_a_worker_says_what_is_wrong(error: Exception, words: str) -> None:
    with pytest.raises(type(error)) as raised:
        raise error
    assert format_error(raised.value).startswith(words)


def test_who_has_no_allowance_is_told_so_though_the_question_was_taken_in(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.gate.projects.add_member(scene.stu, "delays", "eve")
    monkeypatch.setattr(scene.gate.projects, "require_allowance", lambda *_: None)
    asked = scene.gate.questions.ask(scene.principal("eve"), "delays", HISTOGRAM, LOSS)
    Worker(scene.url, "one").work_once()
    Queue(scene.gate.archive).publish_states()
    assert "'eve' has no allowance" in str(scene.gate.questions.get(scene.ann, asked.id).refusal)


SOME_EDGES: dict[str, Any] = {"ask": "cdf", "column": "delay", "grid": "-60:600:220"}
SEARCHED: dict[str, Any] = {"ask": "quantiles", "column": "delay", "grid": "-60:600:220", "search": 0.95}


@pytest.mark.parametrize(
    ("asked", "field", "places"),
    [(SOME_EDGES, "edges", ([0], [200])), (SEARCHED, "probabilities", ([0.1], [0.9]))],
    ids=["edges", "search"],
)
def test_questions_that_one_payment_answers_have_each_its_own_answer(
    scene: Scene, asked: dict[str, Any], field: str, places: tuple[list[Any], list[Any]]
) -> None:
    first, second = ({**asked, field: place} for place in places)
    one = scene.gate.questions.ask(scene.ann, "delays", first, LOSS)
    Worker(scene.url, "one").work_once()
    Queue(scene.gate.archive).publish_states()
    planned = scene.gate.questions.plan(scene.bob, "delays", second, LOSS)
    assert (planned.earlier_question, planned.is_paid, planned.is_affordable) == (None, True, True)
    other = scene.gate.questions.ask(scene.bob, "delays", second, LOSS)
    assert (other.id != one.id, other.state) == (True, State.QUEUED)
    Worker(scene.url, "two").work_once()
    Queue(scene.gate.archive).publish_states()
    curves = [scene.gate.releases.get(scene.ann, each.id).load_curve() for each in (one, other)]
    assert curves[0].to_json() != curves[1].to_json()
    assert scene.gate.questions.get(scene.ann, other.id).question[field] != one.question[field]
    session = Session(
        str(scene.folder / "flights.parquet"), budget=PrivacyLoss.pure(3), adjacency=Neighbours.REPLACE_ONE,
        ledger=scene.gate.archive.ledger, dataset="flights", units=ROWS,
    )  # fmt: skip
    question = question_from_json(second)
    grant = session.charge_for(Member("delays", "ann"), question, LOSS, "version 1")
    assert session.answer_grant(question, grant).to_json() == curves[1].to_json()
    assert scene.gate.archive.ledger.balance("flights").spent.digits == "0.25"


def test_workers_are_told_that_there_is_something_to_do(scene: Scene) -> None:
    called: list[int] = []
    gate = Services(scene.url, lambda: called.append(1))
    for _ in range(2):
        gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    assert called == [1]


@pytest.mark.reproduction
def test_all_of_it_is_kept_in_postgresql_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_database: Callable[[], str]
) -> None:
    monkeypatch.setenv("DPCURVES_LEDGER_KEY", "5a" * 32)
    scene = made(tmp_path, new_database())
    asked = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    with monkeypatch.context() as patched:
        killed_before(Queue, "store_answer", patched)
        with pytest.raises(Killed):
            Worker(scene.url, "first").work_once()
    queue = Queue(scene.gate.archive)
    queue.return_leases("first")
    assert Worker(scene.url, "second").work_once()
    queue.publish_states()
    scene.gate.releases.publish(scene.stu, asked.id)
    assert [each.id for each in scene.gate.questions.plan(scene.bob, "delays", HISTOGRAM, LOSS).published_answers] == [
        asked.id
    ]
    assert scene.gate.archive.ledger.balance("flights").spent.digits == "0.25"
    assert scene.gate.audit.verify(scene.principal("aud")).entries > 0


@pytest.mark.parametrize("gone", ["dismissed", "locked"])
def test_a_question_of_somebody_who_has_gone_is_refused_before_it_is_charged(scene: Scene, gone: str) -> None:
    asked = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    if gone == "locked":
        scene.gate.people.lock(scene.principal("oda"), "ann")
    else:
        scene.gate.projects.remove_member(scene.stu, "delays", "ann")
    assert Worker(scene.url, "here").work_once()
    Queue(scene.gate.archive).publish_states()
    found = scene.gate.questions.get(scene.bob, asked.id)
    assert (found.state, found.refusal) == (
        State.REFUSED,
        "person: the author has left the project, so the question was not answered; another analyst may ask it again",
    )  # fmt: skip
    assert scene.gate.datasets.balance(scene.stu, "flights").spent.billionths == 0
    assert scene.gate.questions.ask(scene.bob, "delays", HISTOGRAM, LOSS).state is State.QUEUED


def test_what_was_charged_is_answered_though_whoever_asked_has_gone(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    with monkeypatch.context() as patch:
        killed_after(Session, "charge_for", patch)
        with pytest.raises(Killed):
            Worker(scene.url, "here").work_once()
    scene.gate.projects.remove_member(scene.stu, "delays", "ann")
    queue = Queue(scene.gate.archive)
    queue.return_leases()
    assert Worker(scene.url, "there").work_once()
    queue.publish_states()
    assert scene.gate.questions.get(scene.bob, asked.id).state is State.ANSWERED


@pytest.mark.reproduction
def test_a_worker_whose_server_has_ended_before_it_said_for_what_ends_without_a_word() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "dpcurves_server.worker"], input="", capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def add_people(number: int, url: str) -> None:
    gate = Services(url)
    gate.people.add(MACHINE, f"person {number}", PASSWORD)
    with suppress(ProtocolError):
        gate.people.add(MACHINE, "everybody", PASSWORD)


def claim_and_count(number: int, url: str, folder: str) -> None:
    queue = Queue(Archive(url))
    claimed = []
    while job := queue.lease_next(str(number)):
        claimed.append(job.id)
    (Path(folder) / str(number)).write_text(json.dumps(claimed))
    queue.store_answer("asked by all", "curve", {})


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where there is no store yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/server.db"
    monkeypatch.setenv("DPCURVES_LEDGER_KEY", "5a" * 32)
    return str(request.getfixturevalue("new_database")())


def test_eight_processes_make_one_store_and_each_question_is_claimed_once(url: str, tmp_path: Path) -> None:
    at_once(add_people, url)
    assert len(Services(url).people.all(MACHINE)) == 9
    scene = made(tmp_path, url)
    prices = [PrivacyLoss.pure(f"0.0{each}") for each in range(11, 19)]
    asked = [scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, each).id for each in prices]
    (tmp_path / "claimed").mkdir()
    at_once(claim_and_count, url, str(tmp_path / "claimed"))
    claimed = [id for file in (tmp_path / "claimed").iterdir() for id in json.loads(file.read_text())]
    assert sorted(claimed) == sorted(asked)
    assert Queue(scene.gate.archive).load_curve("asked by all") == "curve"


def test_a_project_that_asks_many_questions_keeps_another_one_waiting_for_one_of_them(scene: Scene) -> None:
    projects, questions, queue = scene.gate.projects, scene.gate.questions, Queue(scene.gate.archive)
    projects.make(scene.stu, "late", "flights")
    projects.set_allowance(scene.stu, "late", PrivacyLoss.pure(1))
    projects.add_member(scene.stu, "late", "eve")
    projects.set_allowance(scene.stu, "late", PrivacyLoss.pure(1), "eve")
    for cells in range(60, 65):
        questions.ask(scene.ann, "delays", {**HISTOGRAM, "grid": f"-60:600:{cells}"}, PrivacyLoss.pure("0.1"))
    questions.ask(scene.principal("eve"), "late", HISTOGRAM, PrivacyLoss.pure("0.1"))
    charging, order = Worker(scene.url, "charges", WorkerRole.CHARGES), list[str]()
    while charging.work_once():
        pass
    for number in range(6):
        job = queue.lease_next(f"worker {number}", WorkerRole.COUNTS)
        assert job is not None
        order.append(job.member.project)
        queue.store_answer(job.id, "curve", {})
    assert order == ["delays", "late", *["delays"] * 4]
    assert queue.lease_next("another", WorkerRole.COUNTS) is None
