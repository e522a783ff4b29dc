"""No range, no bound of rows, no list of groups: engines count where records lie, with the answers of DuckDB here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcurves as dp
from dpcurves.data import Axis
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.queries.query import LONGEST_CATEGORY, MOST_DOUBLINGS
from dpcurves.records import open_records

Load = Callable[[Mapping[str, pa.Array]], Any]
LOSS, DELTA = dp.PrivacyLoss.pure(4), "1e-3"
pytestmark = pytest.mark.parametrize("load", ["postgres", "debian", "sail"], indirect=True, scope="session")
WHO = np.repeat(np.arange(900), np.where(np.arange(900) % 3, 1, 9))
NAMES = ("back\\slash", "né", "other", "other groups", "tail", "x" * (LONGEST_CATEGORY + 1))
AXES = Axis("wage", dp.Grid(0, 100_000, cells=4)), Axis("size", dp.Grid.from_edges([0, 0.7, 1, 9]))
KIND, NOBODY = WHO % 97 % len(NAMES), WHO % 50 == 1


def columns() -> dict[str, pa.Array]:
    """Rows of one unit are alike, so that it does not matter which of them are used."""
    day = 19_000 + WHO % 400
    return {
        "wage": pa.array(np.exp(9 + (WHO * 37 % 900) / 400)), "who": pa.array(WHO),
        "ward": pa.array(np.ma.array(np.array(NAMES)[KIND], mask=NOBODY).tolist(), pa.string()),
        "flag": pa.array(WHO % 3 == 0), "size": pa.array((WHO % 4) / 2),
        "day": pa.array(day.astype(np.int32), pa.int32()).cast(pa.date32()),
        "moment": pa.array(day * 86_400_000_000 + 500_000, pa.int64()).cast(pa.timestamp("us", "UTC")),
    }  # fmt: skip


@pytest.fixture(scope="module")
def tables(load: Load) -> tuple[Any, Any]:
    """Rows here, and these in an engine."""
    return pa.table(columns()), load(columns())


def asked(table: Any, question: Any, loss: dp.PrivacyLoss, **more: Any) -> tuple[str, tuple[str, ...]]:
    """The curve as text, without the name of the engine, and its notes."""
    given = {"budget": loss, "adjacency": dp.ADD_REMOVE, **more}
    with dp.Session(table, randomness=dp.Randomness.from_seed(7), **given) as session:
        curve = session.ask(question, loss, "one")
    engine = f", who counts in {table.engine}" if hasattr(table, "engine") else ""
    return curve.to_json().replace(engine, ""), curve.privacy.notes


@pytest.mark.quick_share(9)
@pytest.mark.parametrize(
    ("column", "loss"), [("wage", LOSS), ("day", dp.PrivacyLoss.zcdp(1)), ("moment", LOSS)], ids=str
)
def test_a_range_is_found_by_counts_of_the_engine(tables: tuple[Any, Any], column: str, loss: dp.PrivacyLoss) -> None:
    here, there = (asked(table, dp.AutoRangeCdfQuestion(column), loss) for table in tables)
    assert here == there
    assert any("found privately" in note for note in here[1])


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_a_bound_of_rows_is_found_and_all_turns_see_one_state(tables: tuple[Any, Any], adjacency: Any) -> None:
    question = dp.HistogramQuestion("wage", dp.Grid(0, 100_000, cells=4))
    here, there = (asked(table, question, LOSS, adjacency=adjacency, unit="who") for table in tables)
    assert here == there
    assert any("of each who" in note for note in here[1])


@pytest.mark.quick_share(9)
@pytest.mark.parametrize(
    ("column", "unit"),
    [("ward", {"unit": "who", "rows_per_unit": 2}), ("ward", {"unit": "who"}), ("size", {})],
    ids=str,
)
def test_groups_are_found(tables: tuple[Any, Any], column: str, unit: dict[str, Any]) -> None:
    loss = dp.PrivacyLoss.pure(4, DELTA)
    question = dp.CountQuestion("wage", by=dp.UnlistedCategories(column))
    here, there = (asked(table, question, loss, **unit) for table in tables)
    assert here == there
    assert any("are released" in note for note in here[1])


def test_counts_of_units_and_names_are_exact(tables: tuple[Any, Any]) -> None:
    found = []
    for table in tables:
        for unit in (EACH_RECORD, Unit("who", 2)):
            with open_records(table, unit=unit, key=bytes(32)) as records:
                names = [records.names(dp.UnlistedCategories(column)) for column in ("ward", "flag", "size")]
                sizes = [] if unit == EACH_RECORD else records.unit_sizes(MOST_DOUBLINGS).tolist()
                sized = [records.sized_units(axis, MOST_DOUBLINGS).tolist() for axis in AXES if sizes]
            assert all(sum(each) == sum(sizes) for each in sized)
            found.append((names, sizes, sized))
    assert found[:2] == found[2:]
    ((ward, flag, size), _, _), ((of_units, _, _), sizes, (wages, _)) = found[:2]
    assert ward == {name: int(((kind == KIND) & ~NOBODY).sum()) for kind, name in enumerate(NAMES[:-1])}
    assert of_units == {name: len({*WHO[(kind == KIND) & ~NOBODY]}) for kind, name in enumerate(NAMES[:-1])}
    assert (set(flag), set(size)) == ({"true", "false"}, {"0.0", "0.5", "1.0", "1.5"})
    assert sizes[:6] == [600, 0, 0, 0, 300, 0]
    assert [sum(wages[start : start + 4]) for start in range(0, 24, 4)] == sizes[:6]


def test_names_of_any_letters_and_truths_are_counted_as_such_and_the_rest_has_a_name_of_its_own(
    tables: tuple[Any, Any],
) -> None:
    loss = dp.PrivacyLoss.pure(40, DELTA)
    there = [((kind == KIND) & ~NOBODY).sum() for kind in range(len(NAMES))]
    for table in tables:
        with dp.Session(table, budget=dp.PrivacyLoss.pure(80, 2 * loss.delta), adjacency=dp.ADD_REMOVE) as session:
            wards = session.ask(dp.CountQuestion("wage", by=dp.UnlistedCategories("ward")), loss)
            flags = session.ask(dp.CountQuestion("wage", by=dp.UnlistedCategories("flag")), loss)
        assert list(wards) == [*NAMES[:-1], "other groups groups"]
        assert [each.count for each in wards.values()] == pytest.approx(there, abs=5)
        assert [each.count for each in flags.values()] == pytest.approx([600, 2700, 0], abs=5)


def test_rows_that_are_written_later_are_in_no_question_of_a_session(load: Load) -> None:
    table = load({"who": pa.array([1, 1, 1, 2])})
    if not hasattr(table, "url"):
        pytest.skip("this engine was sent its rows")
    import psycopg

    count = dp.CountQuestion("who")
    with dp.Session(table, budget=dp.PrivacyLoss.pure(120), adjacency=dp.ADD_REMOVE, unit="who") as session:
        one = session.ask(count, dp.PrivacyLoss.pure(40), rows_per_unit=1)
        with psycopg.connect(table.url, autocommit=True) as connection:
            connection.execute(f"INSERT INTO {table.table} SELECT generate_series(1, 500)")
        two = session.ask(count, dp.PrivacyLoss.pure(40), rows_per_unit=2)
    assert (one.count, two.count) == pytest.approx((2, 3), abs=2)
