"""Units of every engine are put into subsets: each into one, by a key and by the unit alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcurves as dp
from dpcurves.data import Axis, Categories, Grid
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import open_records

Load = Callable[[Mapping[str, pa.Array]], Any]
KEY = b"s" * 32
WIDE = Grid(0, 10_000, cells=1)
AXES = (Axis("y", WIDE), Axis("x", WIDE), Categories("c", ("a", "b")))
SUBSETS = 7


def parted(load: Load, table: Mapping[str, Any], unit: Unit, key: bytes = KEY) -> dict[float, float]:
    """The subset of each record, by its x."""
    arrays = {name: each if isinstance(each, pa.Array) else pa.array(each) for name, each in table.items()}
    with open_records(load(arrays), unit=unit, key=key) as records:
        engine: Any = records
        batches = list(engine._engine.in_subsets(engine._bind_axes(AXES), SUBSETS))
    x, subset = (np.concatenate([batch[at] for batch in batches]).tolist() for at in (1, 3))
    return dict(zip(x, subset, strict=True))


def rows(numbers: Any) -> dict[str, Any]:
    """Rows with these numbers, three of a unit, of which the third is missing."""
    classes = pa.array([None if each % 3 == 2 else "ab"[each % 2] for each in numbers], pa.string())
    return {"x": numbers.astype(float), "y": numbers % 5 + 0.5, "c": classes, "who": (numbers // 3).astype(float)}


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("unit", [EACH_RECORD, Unit("who", 3)], ids=["each record", "bounded"])
def test_other_units_and_the_order_of_rows_move_no_unit_into_another_subset(load: Load, unit: Unit) -> None:
    all_of_them = parted(load, rows(np.arange(600)), unit)
    assert set(all_of_them.values()) == set(range(SUBSETS))
    order = np.random.default_rng(1).permutation(600)
    order = order[np.isin(order // 3, order[:20] // 3, invert=True)]  # whole units go
    some = parted(load, rows(order), unit)
    assert len(some) == len(order)
    assert some == {x: all_of_them[x] for x in some}
    assert parted(load, rows(np.arange(600)), unit, b"t" * 32) != all_of_them


def test_all_records_of_a_unit_lie_in_one_subset_however_its_name_is_written(load: Load) -> None:
    number = np.arange(40)
    for names in (np.where(number % 2, 0.0, -0.0), pa.array([None] * 40, pa.string()), np.array(["a"] * 40)):
        found = parted(load, {**rows(number), "who": names}, Unit("who", 40))
        assert len(found) == 40
        assert len(set(found.values())) == 1


def test_records_that_are_the_same_lie_in_all_subsets_and_one_more_moves_none_of_them(load: Load) -> None:
    def sizes(many: int) -> list[int]:
        table = {"x": np.ones(many), "y": np.ones(many), "c": pa.array(["a"] * many)}
        with open_records(load({k: pa.array(v) for k, v in table.items()}), unit=EACH_RECORD, key=KEY) as records:
            engine: Any = records
            batches = list(engine._engine.in_subsets(engine._bind_axes(AXES), SUBSETS))
        subset = np.concatenate([batch[3] for batch in batches]).astype(int)
        return [int(each) for each in np.bincount(subset, minlength=SUBSETS)]

    several = [sizes(many) for many in (700, 701, 702)]
    assert min(several[0]) > 50  # 5 sigma: a hash that puts all of them into one subset has 0
    for fewer, more in pairwise(several):
        assert sorted(after - before for before, after in zip(fewer, more, strict=True)) == [0] * 6 + [1]


def test_a_claim_is_verified_where_the_records_are(load: Load) -> None:
    generator = np.random.default_rng(3)
    x = generator.uniform(0, 100, 4000)
    table = {
        "x": pa.array(x),
        "y": pa.array(2 * x + generator.normal(0, 30, 4000)),
        "who": pa.array(np.arange(4000) // 2),
    }
    columns = (dp.NumericColumn("x", 0, 100),)
    for above, share in ((0.0, 1.0), (2.5, 0.0)):
        question = dp.VerifyQuestion(dp.NumericColumn("y", -100, 300), columns, "x", above=above, subsets=20)
        budget = dp.PrivacyLoss.pure(200)
        with dp.Session(load(table), budget=budget, adjacency=dp.ADD_REMOVE, unit="who", rows_per_unit=2) as session:
            assert session.ask(question, budget).share == share
