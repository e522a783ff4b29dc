"""Which subset a unit lies in: a function of a key and of that unit alone."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dpcurves.data import Axis, Grid
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import open_records

KEY = b"s" * 32
AXES = (Axis("y", Grid(0, 10_000, cells=1)), Axis("x", Grid(0, 10_000, cells=1)))


def subsets(monkeypatch: pytest.MonkeyPatch, table: dict[str, Any], unit: Unit, key: bytes = KEY) -> dict[float, float]:
    """The subset of each record, by its x."""
    return dict(zip(*(each.tolist() for each in pairs(monkeypatch, table, unit, key)), strict=True))


def pairs(monkeypatch: pytest.MonkeyPatch, table: dict[str, Any], unit: Unit, key: bytes = KEY) -> tuple[Any, Any]:
    """All x, and the subsets of their records."""
    from dpcurves.queries import SubsetQuery
    from dpcurves.records import counting

    seen: list[tuple[Any, Any]] = []

    def noted(query: SubsetQuery, columns: Any, subset: Any) -> int:
        seen.append((columns[1], subset))
        return 0

    monkeypatch.setattr(counting, "count_confirming_subsets", noted)
    records = open_records(table, unit=unit, key=key)
    records.count_confirming_subsets(SubsetQuery(AXES, 7, 0, above=0.0))
    records.close()
    (found,) = seen
    return found


@pytest.mark.parametrize("unit", [EACH_RECORD, Unit("who", 3)])
def test_other_units_and_the_order_of_rows_move_no_unit_into_another_subset(
    monkeypatch: pytest.MonkeyPatch, unit: Unit
) -> None:
    number = np.arange(600)
    table: dict[str, Any] = {"x": number.astype(float), "y": number % 5 + 0.5, "who": (number // 3).astype(float)}
    all_of_them = subsets(monkeypatch, table, unit)
    assert set(all_of_them.values()) == set(range(7))
    order = np.random.default_rng(1).permutation(600)[:450]
    order = np.array([row for row in order if row // 3 not in order[:20] // 3])  # whole units go
    some = subsets(monkeypatch, {name: column[order] for name, column in table.items()}, unit)
    assert some == {x: all_of_them[x] for x in some}
    assert subsets(monkeypatch, table, unit, b"t" * 32) != all_of_them


def test_all_records_of_a_unit_lie_in_one_subset_however_its_name_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    number = np.arange(40).astype(float)
    who = np.where(number % 2 == 0, 0.0, -0.0)
    for names in (who, [None] * 40, np.array(["a"] * 40)):
        found = subsets(monkeypatch, {"x": number, "y": number, "who": names}, Unit("who", 40))
        assert len(found) == 40
        assert len(set(found.values())) == 1


def test_records_that_are_the_same_lie_in_all_subsets_and_one_more_moves_none_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def sizes(many: int) -> list[int]:
        found = pairs(monkeypatch, {"x": np.ones(many), "y": np.ones(many)}, EACH_RECORD)
        counted: list[int] = np.bincount(found[1].astype(int), minlength=7).tolist()
        return counted

    several = [sizes(many) for many in (700, 701, 702)]
    assert min(several[0]) > 50  # 5 sigma: a hash that puts all of them into one subset has 0
    for fewer, more in pairwise(several):
        assert sorted(after - before for before, after in zip(fewer, more, strict=True)) == [0] * 6 + [1]
