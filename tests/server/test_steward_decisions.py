"""What a steward does about questions that wait, and what it costs: nothing, and nothing is refunded."""

from __future__ import annotations

from pathlib import Path

import pytest
from scene import HISTOGRAM, LOSS, Scene, made

from dpcurves.session import Session
from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_server.principals import Principal
from dpcurves_server.questions import State
from dpcurves_server.queue import WITHDRAWN_MESSAGE, Queue
from dpcurves_server.worker import Worker


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return made(tmp_path)


def asked(scene: Scene) -> str:
    return scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS).id


def state(scene: Scene, id: str) -> State:
    """Where it stands after the clock has struck."""
    Queue(scene.gate.archive).publish_states()
    return scene.gate.questions.get(scene.ann, id).state


def spent(scene: Scene) -> str:
    return scene.gate.datasets.balance(scene.stu, "flights").spent.digits


def done(scene: Scene) -> list[tuple[str, str]]:
    events = scene.gate.audit.events(scene.stu, dataset="flights")
    return [(each.event.actor, each.event.action) for each in events]


def test_what_was_not_charged_is_taken_back_and_may_be_asked_again(scene: Scene) -> None:
    id = asked(scene)
    scene.gate.stewardship.withdraw(scene.stu, id)
    assert scene.gate.questions.get(scene.ann, id).state is State.QUEUED  # the clock has not struck
    assert not Worker(scene.url, "here").work_once()
    assert (state(scene, id), spent(scene)) == (State.REFUSED, "0")
    assert scene.gate.questions.get(scene.ann, id).refusal == WITHDRAWN_MESSAGE
    assert done(scene)[-1] == ("stu", "wanted taken back")
    assert asked(scene) == id
    assert Worker(scene.url, "here").work_once()
    assert (state(scene, id), spent(scene)) == (State.ANSWERED, "0.25")


def test_what_a_worker_has_begun_with_goes_on(scene: Scene) -> None:
    id, queue = asked(scene), Queue(scene.gate.archive)
    assert queue.lease_next("another") is not None
    scene.gate.stewardship.withdraw(scene.stu, id)
    assert state(scene, id) is State.QUEUED
    queue.return_leases("another")
    assert Worker(scene.url, "here").work_once()
    assert (state(scene, id), spent(scene)) == (State.ANSWERED, "0.25")


def test_what_was_charged_is_not_taken_back_though_it_still_stands_in_the_queue(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker was killed between the charge and its word for it."""
    id = asked(scene)
    with monkeypatch.context() as patch:
        patch.setattr(Queue, "mark_paid", _killed)
        with pytest.raises(KeyboardInterrupt):
            Worker(scene.url, "here").work_once()
    Queue(scene.gate.archive).return_leases("here")
    scene.gate.stewardship.withdraw(scene.stu, id)
    assert state(scene, id) is State.QUEUED
    assert Worker(scene.url, "here").work_once()
    assert (state(scene, id), spent(scene)) == (State.ANSWERED, "0.25")


def test_another_question_of_a_request_that_was_charged_is_not_taken_back_either(scene: Scene) -> None:
    """Both are paid at once: values of one distribution function at other places."""
    stored = {"ask": "cdf", "column": "delay", "grid": "-60:600:66"}
    first, second = (
        scene.gate.questions.ask(scene.ann, "delays", {**stored, "edges": [value]}, LOSS) for value in (7, 20)
    )
    assert (first.request == second.request, first.id == second.id) == (True, False)
    assert Worker(scene.url, "here").work_once()
    scene.gate.stewardship.withdraw(scene.stu, second.id)
    assert state(scene, second.id) is State.QUEUED


def test_what_was_charged_and_could_not_be_counted_is_counted_again_from_the_same_payment(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, worker = asked(scene), Worker(scene.url, "here")
    with monkeypatch.context() as patch:
        patch.setattr(Session, "answer_grant", _killed)
        with pytest.raises(KeyboardInterrupt):
            worker.work_once()
    queue = Queue(scene.gate.archive)
    for _ in range(3):
        queue.return_leases()
        job = queue.lease_next("here")
        assert job is not None
        queue.schedule_retry(job)  # the engine is away: the next try is in a minute
    assert queue.lease_next("here") is None
    assert state(scene, id) is State.PAID
    scene.gate.stewardship.withdraw(scene.stu, id)
    assert (state(scene, id), queue.lease_next("here")) == (State.PAID, None)
    scene.gate.stewardship.retry(scene.stu, id)
    assert Worker(scene.url, "here").work_once()
    assert (state(scene, id), spent(scene)) == (State.ANSWERED, "0.25")
    assert done(scene)[-2:] == [("stu", "wanted taken back"), ("stu", "wanted counted again")]


def test_what_a_worker_counts_just_now_is_left_to_it(scene: Scene) -> None:
    id, queue = asked(scene), Queue(scene.gate.archive)
    job = queue.lease_next("another")
    assert job is not None
    queue.mark_paid(job)
    scene.gate.stewardship.retry(scene.stu, id)
    assert queue.lease_next("here") is None


def test_the_page_of_a_steward_has_the_last_entries_of_its_dataset(scene: Scene) -> None:
    audit, project = scene.gate.audit, scene.gate.projects
    for name in ("fares", "seats", "trips"):
        project.make(scene.stu, name, "flights")
    assert [each.event.subject for each in audit.latest_events(scene.stu, 2, "flights")] == ["seats", "trips"]
    assert audit.latest_events(scene.stu, 200, "flights") == audit.events(scene.stu, dataset="flights")
    with pytest.raises(ProtocolError, match="of this name exists"):
        audit.latest_events(scene.ann, 2, "flights")


def test_only_the_steward_of_the_dataset_does_so_and_of_what_waits(scene: Scene) -> None:
    id = asked(scene)
    before = done(scene)
    for name in ("ann", "bob", "eve", "aud", "oda"):
        who: Principal = scene.principal(name)
        for act in (scene.gate.stewardship.withdraw, scene.gate.stewardship.retry):
            with pytest.raises(ProtocolError, match="of this name exists"):
                act(who, id)
    assert Worker(scene.url, "here").work_once()
    assert state(scene, id) is State.ANSWERED
    for act in (scene.gate.stewardship.withdraw, scene.gate.stewardship.retry):
        with pytest.raises(ProtocolError, match="the question is no longer waiting"):
            act(scene.stu, id)
    assert done(scene) == before


def _killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt
