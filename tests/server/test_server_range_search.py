"""A verification server finds ranges, cells and bounds, of values and of rows; its schema declares the groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scene import COLUMNS, LOSS, Scene, made

import dpcurves as dp
from dpcurves.curves.question_json import declared_columns_to_json, question_to_json
from dpcurves.curves.result import result_from_json
from dpcurves.ledger import Account
from dpcurves.privacy import Neighbours, Unit
from dpcurves_server import MACHINE
from dpcurves_server.api import dataset_to_json
from dpcurves_server.datasets import Relation, Source
from dpcurves_server.queue import Queue
from dpcurves_server.remote import Remote
from dpcurves_server.renderer import collect_sketch_inputs, draw
from dpcurves_server.worker import Worker


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Flights, and visits of people of whom nobody said how many they make."""
    scene = made(tmp_path_factory.mktemp("server"))
    who = np.repeat(np.arange(900), np.where(np.arange(900) % 3, 1, 6))
    table = pa.table({"delay": np.linspace(-50, 550, len(who)), "late": who % 2, "who": who})
    pq.write_table(table, scene.folder / "visits.parquet")
    account = Account("visits", Neighbours.ADD_REMOVE, Unit.with_unknown_bound("who"), dp.PrivacyLoss.pure(9))
    source = Source(str(scene.folder / "visits.parquet"))
    scene.gate.datasets.add(MACHINE, account, source, COLUMNS, name="visits", relation=Relation.FIRST, units=None)
    scene.gate.projects.make(MACHINE, "visiting", "visits")
    scene.gate.projects.add_member(MACHINE, "visiting", "ann")
    scene.gate.projects.set_allowance(MACHINE, "visiting", dp.PrivacyLoss.pure(9))
    scene.gate.projects.set_allowance(MACHINE, "visiting", dp.PrivacyLoss.pure(9), "ann")
    return scene


def answered(scene: Scene, project: str, stored: dict[str, Any], loss: dp.PrivacyLoss) -> Any:
    asked = scene.gate.questions.ask(scene.ann, project, stored, loss)
    worker = Worker(scene.url, f"worker of {asked.id}")
    while worker.work_once():
        pass
    return result_from_json(Queue(scene.gate.archive).load_curve(asked.id))


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("stored", [
    {"ask": "cdf", "column": "delay", "grid": "auto"}, {"ask": "histogram", "column": "delay", "grid": "auto"},
    {"ask": "mean", "column": "delay", "lower": "auto", "upper": "auto"},
], ids=lambda stored: stored["ask"])  # fmt: skip
def test_a_range_is_found(scene: Scene, stored: dict[str, Any]) -> None:
    planned = scene.gate.questions.plan(scene.ann, "delays", stored, LOSS)
    assert any("given: epsilon 0.25 pays" in note for note in planned.notes)
    notes = answered(scene, "delays", stored, LOSS).privacy.notes
    assert any("found privately" in note or "nois" in note for note in notes)
    assert "<svg" in draw(collect_sketch_inputs(planned), None).svg


def test_a_bound_of_rows_is_found_and_told_before(scene: Scene) -> None:
    loss, stored = dp.PrivacyLoss.pure(4), {"ask": "histogram", "column": "delay", "grid": "-60:600:4"}
    planned = scene.gate.questions.plan(scene.ann, "visiting", stored, loss)
    assert any("no bound of records per who is stated: epsilon 0.666667" in note for note in planned.notes)
    found = answered(scene, "visiting", stored, loss)
    assert found.privacy.rows_per_unit in {4, 8}
    assert "<svg" in draw(collect_sketch_inputs(planned), None).svg
    assert dataset_to_json(scene.gate.datasets.get(MACHINE, "visits"))["rows_per_unit"] is None


def test_groups_that_a_question_does_not_list_are_those_that_the_schema_declares(scene: Scene) -> None:
    by = {"column": "late", "unlisted": True}
    stored = {"ask": "count", "column": "delay", "by": by}
    found = answered(scene, "delays", stored, LOSS)
    assert list(found) == [0, 1]
    declared = {"ask": "count", "column": "delay", "by": declared_columns_to_json(COLUMNS)[1]}
    planned = scene.gate.questions.plan(scene.ann, "delays", declared, LOSS)
    assert planned.earlier_question is not None
    assert question_to_json(planned.question) == declared
    with pytest.raises(ValueError, match=r"^by: 'flights' declares no categories of 'delay': list them"):
        scene.gate.questions.plan(scene.ann, "delays", {**stored, "by": {**by, "column": "delay"}}, LOSS)


def test_a_remote_plans_with_a_bound_that_nobody_stated() -> None:
    remote = object.__new__(Remote)
    remote._dataset = {"unit": "who", "rows_per_unit": None, "adjacency": "add-remove", "units": None}
    assert remote.adjacency.unit == Unit.with_unknown_bound("who")
