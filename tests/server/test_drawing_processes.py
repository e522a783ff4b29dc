"""Sketches and comparisons: drawn in a process that has no store, kept without tables, one for each person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from sys import getrefcount
from threading import Event
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scene import HISTOGRAM, LOSS, Scene, made
from starlette.applications import Starlette
from starlette.testclient import TestClient

from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_server import MACHINE
from dpcurves_server.authentication import COOKIE, Authenticator
from dpcurves_server.pages.page_context import Site
from dpcurves_server.pages.site import build_routes
from dpcurves_server.queue import Queue
from dpcurves_server.renderer import BESIDE, SKETCH, DrawingInputs, Renderer, collect_sketch_inputs
from dpcurves_server.synthetic import SyntheticTable
from dpcurves_server.worker import Worker

SECONDS = 120


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return made(tmp_path_factory.mktemp("studio"))


@pytest.fixture(scope="module")
def studio() -> Iterator[Renderer]:
    here = Renderer()
    here.start()
    yield here
    here.stop()


def inputs(scene: Scene, cells: int = 66) -> DrawingInputs:
    asked = {**HISTOGRAM, "grid": f"-60:600:{cells}"}
    return collect_sketch_inputs(scene.gate.questions.plan(scene.ann, "delays", asked, LOSS))


def packed(*delays: float) -> bytes:
    drain = BytesIO()
    pq.write_table(pa.table({"delay": list(delays), "late": [int(each > 15) for each in delays]}), drain)
    return drain.getvalue()


def process_of(studio: Renderer) -> Any:
    studio._hands[SKETCH].submit(studio._warm_up).result(SECONDS)
    return studio._child.process


def test_a_sketch_that_is_kept_holds_no_table(scene: Scene, studio: Renderer) -> None:
    table = packed(1.0, 50.0)
    before = getrefcount(table)
    first, second = (studio.submit(inputs(scene), SyntheticTable("made up", table)).result(SECONDS) for _ in range(2))
    assert first is second
    assert first is studio.find(inputs(scene), SyntheticTable("made up", table))
    assert getrefcount(table) == before


def test_a_table_is_sent_once_and_another_one_is_another_sketch(scene: Scene, studio: Renderer) -> None:
    one, other = SyntheticTable("one", packed(-50.0)), SyntheticTable("other", packed(500.0))
    drawn = [studio.submit(inputs(scene, 7), table).result(SECONDS).svg for table in (one, other, None)]
    again = studio.submit(inputs(scene, 8), other).result(SECONDS).svg  # after the dummy table: it is still there
    assert len({*drawn, again}) == 4
    assert studio._sent[1] == other.digest
    assert all("made-up data" in svg and "SEEDED" not in svg for svg in (*drawn, again))


def test_the_process_that_draws_is_told_of_no_store(scene: Scene, studio: Renderer) -> None:
    studio.submit(inputs(scene, 9), None).result(SECONDS)
    place = Path(f"/proc/{process_of(studio).pid}")
    if not place.exists():
        pytest.skip("this system does not tell which files a process has open")
    opened = {str(each.readlink()) for each in (place / "fd").iterdir()}
    assert not {each for each in opened if str(scene.folder) in each}
    assert str(scene.folder).encode() not in (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
    assert str(scene.folder) not in str(inputs(scene, 9))


def test_a_process_that_has_ended_is_begun_again(scene: Scene, studio: Renderer) -> None:
    table = SyntheticTable("made up", packed(3.0))
    studio.submit(inputs(scene, 10), table).result(SECONDS)
    ended = process_of(studio)
    ended.kill()
    ended.wait()
    assert studio.submit(inputs(scene, 11), table).result(SECONDS).svg.startswith("<svg")
    assert process_of(studio) is not ended


def test_what_can_not_be_drawn_is_told_in_one_line_and_the_process_goes_on(scene: Scene, studio: Renderer) -> None:
    before = process_of(studio)
    with pytest.raises(ProtocolError, match=r"^picture: [^\n]+$") as error:
        studio.submit({**inputs(scene, 12), "question": {"ask": "nothing"}}, None).result(SECONDS)
    assert error.value.status == 503
    assert studio.submit(inputs(scene, 13), None).result(SECONDS).svg
    assert process_of(studio) is before


@pytest.mark.reproduction
def test_who_wants_another_sketch_does_not_wait_for_the_one_before(scene: Scene) -> None:
    studio, held = Renderer(), Event()
    try:
        studio._hands[SKETCH].submit(held.wait, SECONDS)
        first = studio.submit(inputs(scene, 14), None, "ann")
        others = studio.submit(inputs(scene, 15), None, "bob")
        studio.submit(inputs(scene, 16), None, "ann")
        assert (first.cancelled(), others.cancelled()) == (True, False)
        with pytest.raises(ProtocolError):  # it is no comparison, and is refused by who compares: at once
            studio.submit({**inputs(scene, 17), "draw": BESIDE, "curve": "none"}, None).result(SECONDS)
    finally:
        held.set()
        studio.stop()


@pytest.mark.reproduction
def test_the_page_of_an_answer_comes_before_its_comparison_which_costs_nothing(tmp_path: Path) -> None:
    scene = made(tmp_path)
    gate = scene.gate
    dataset = gate.datasets.get(MACHINE, "flights")
    gate.synthetic.propose_table(MACHINE, dataset, packed(*range(-50, 500, 5)), "nobody's")
    proposal = gate.synthetic.describe_proposal(scene.stu, "flights", 1)
    assert proposal is not None
    gate.synthetic.confirm_table(scene.stu, dataset, proposal.digest)
    release = f"/releases/{gate.questions.ask(scene.ann, 'delays', HISTOGRAM, LOSS).id}"
    counting = Worker(scene.url, "one")
    while counting.work_once():
        pass
    Queue(gate.archive).publish_states()
    spent = gate.datasets.balance(MACHINE, "flights").spent
    client = TestClient(Starlette(routes=build_routes(Site(Authenticator(gate), {}))), "https://flights.example")
    client.cookies.set(COOKIE, gate.sessions.begin_session("ann").cookie)
    try:
        page = client.get(release).text
        assert (f'hx-get="{release}/comparison"' in page, 'http-equiv="refresh"' in page) == (True, True)
        piece = client.get(f"{release}/comparison").text
        assert re.search(r'class="verdict">[^<]+<', piece)
        assert "<html" not in piece
        assert re.findall(r'class="verdict">[^<]+<', client.get(release).text) == re.findall(
            r'class="verdict">[^<]+<', piece
        )
        assert client.get(f"{release}/comparison.svg").text.startswith("<svg")
        assert gate.datasets.balance(MACHINE, "flights").spent == spent
    finally:
        gate.studio.stop()
