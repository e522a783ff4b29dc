"""Filters and derived columns are evaluated at the owner: on devices, at sites, and behind a server's schema."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.data import Axis, Categories, Grid
from dpcurves.records import open_records
from dpcurves_local.device import find_slot
from dpcurves_local.task import Task
from dpcurves_sites.columns import parse_schema, require_known_columns

WHERE = "sex = 'F' AND age >= 18"
PEOPLE: list[dict[str, Any]] = [
    {"age": 60, "sex": "F", "wage": 20.0},
    {"age": 60, "sex": "M", "wage": 20.0},
    {"age": 17, "sex": "F", "wage": 20.0},
    {"age": 18, "sex": "F", "wage": 1.0},
    {"age": 30, "sex": None, "wage": 5.0},
    {"age": 30, "sex": "F", "wage": float("nan")},
    {"age": 30, "sex": "F", "wage": -1.0},
]


@pytest.mark.parametrize(
    "axis",
    [
        Axis("wage / 2", Grid(0, 20, cells=4), where=WHERE),
        Axis("ln(wage)", Grid(0, 4, cells=4), where=WHERE),
        Categories("age >= 30", (True, False), where=WHERE),
    ],
)
def test_a_device_and_a_table_place_each_person_alike(axis: Axis | Categories) -> None:
    table: dict[str, Any] = {
        name: np.array([person[name] for person in PEOPLE], dtype=object) for name in ("age", "sex", "wage")
    }
    table |= {name: table[name].astype(float) for name in ("age", "wage")}
    with open_records(table, unit=dp.EACH_RECORD, key=bytes(32)) as records:
        slots = records.places([axis]).tolist()
    assert slots == [find_slot([axis], person) for person in PEOPLE]
    assert find_slot([axis], {}) == find_slot([axis], {"age": 60}) == axis.slots


def test_a_task_of_reports_has_a_filter_which_needs_all_columns() -> None:
    question = dp.HistogramQuestion("wage / 2", dp.Grid(0, 20, cells=4), where=WHERE)
    task = Task(question, dp.PrivacyLoss.pure(1), 1000)
    assert Task.from_json(task.to_json()) == task
    assert task.randomize(PEOPLE[0])
    with pytest.raises(TypeError, match="a mapping from columns to values is needed"):
        task.randomize(20.0)
    with pytest.raises(InvalidArgument, match="narrower range"):
        Task(dp.HistogramQuestion("ln(wage)", dp.Grid(0, 4000, cells=4)), dp.PrivacyLoss.pure(1), 1000)


def test_a_site_reads_declared_columns_alone() -> None:
    schema = parse_schema("age:number,sex:category,wage:number")
    require_known_columns(schema, [Axis("wage / age", Grid(0, 1, cells=1), where=WHERE)])
    for axis in (
        Axis("wage / hours", Grid(0, 1, cells=1)),
        Axis("wage", Grid(0, 1, cells=1), where="hours > 3"),
        Categories("lower(region)", ("a", "b")),
    ):
        with pytest.raises(InvalidArgument, match=r"is not a column of the task"):
            require_known_columns(schema, [axis])


def test_a_site_with_other_names_of_columns_filters_by_its_own() -> None:
    table = {"alter": np.array([60.0, 10.0]), "geschlecht": np.array(["F", "F"]), "lohn": np.array([20.0, 20.0])}
    with open_records(table, unit=dp.EACH_RECORD, key=bytes(32), keeps_failing_rows=False) as opened:
        records = opened.with_column_names({"age": "alter", "sex": "geschlecht", "wage": "lohn"})
        assert records.counts([Axis("wage / 2", Grid(0, 20, cells=2), where=WHERE)]).tolist() == [0, 1, 0]
