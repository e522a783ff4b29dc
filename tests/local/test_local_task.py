"""Tasks of the local model: what a device sends, what it keeps, and what the aggregator reads."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.data import Axis, Categories
from dpcurves.noise import Randomness
from dpcurves_local import Collection, ReportMemo, Task, aggregate
from dpcurves_local.device import find_slot

GRID = dp.Grid(0, 1, cells=64)
TASK = Task(dp.CdfQuestion("x", GRID), dp.PrivacyLoss.pure(4), people=20_000)


def test_the_curve_of_what_people_sent_is_that_of_their_values() -> None:
    """The band holds the exact curve with chance 0.95; the seed is fixed."""
    values = np.random.default_rng(1).beta(2, 5, 20_000)
    data = TASK.randomize_table({"x": values}, randomness=Randomness.from_seed(5))
    collection = Collection(TASK)
    collection.add(data)
    curve = collection.curve()
    exact = np.append(0, np.cumsum(np.bincount(GRID.cell_of(values), minlength=64))) / len(values)
    lower, upper = curve.band(0.95)
    assert np.all((lower <= exact) & (exact <= upper))
    assert np.abs(curve.y - exact).max() < 0.02
    assert curve.privacy.units == 20_000
    assert curve.privacy.epsilon == 4
    assert "at home" in curve.privacy.trust
    again = dp.CDF.from_json(curve.to_json())
    assert np.array_equal(again.y, curve.y)
    assert np.array_equal(again.band(0.95)[0], lower)


def test_a_roc_curve_of_private_labels_and_a_histogram_are_read_too() -> None:
    chance = np.random.default_rng(2)
    label = chance.integers(0, 2, 40_000)
    score = chance.beta(2 + 2 * label, 4)
    task = Task(dp.RocQuestion("y", "s", dp.Grid(0, 1, cells=32)), dp.PrivacyLoss.pure(4), people=40_000)
    data = task.randomize_table({"y": label, "s": score}, randomness=Randomness.from_seed(1))
    collection = Collection(task)
    collection.add(data)
    roc = collection.curve()
    exact = np.searchsorted(np.sort(score[label == 0]), score[label == 1]).mean() / (label == 0).sum()
    low, high = roc.auc_interval(0.99)
    assert low <= exact <= high
    assert abs(roc.auc - exact) < 0.02
    bars = Task(dp.HistogramQuestion("s", dp.Grid(0, 1, cells=8)), dp.PrivacyLoss.pure(4), people=40_000)
    counted = Collection(bars)
    counted.add(bars.randomize_table({"s": score}, randomness=Randomness.from_seed(2)))
    found = counted.curve()
    assert np.all(np.abs(found.unbiased_counts - np.histogram(score, 8, (0, 1))[0]) < 6 * found.error + 600)


def test_a_device_counts_every_other_value_that_is_not_missing_as_other() -> None:
    (axis,) = Task(dp.BarChartQuestion(dp.Categories("w", ("a", "01", 2))), dp.PrivacyLoss.pure(4), people=900).axes
    given = ["a", "01", 2, "2", "other", "1", 3.5, True, "", None, float("nan"), np.float64("nan"), ("a",)]
    assert [find_slot([axis], value) for value in given] == [0, 1, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4]


def test_missing_values_are_answers_like_others() -> None:
    task = Task(dp.CdfQuestion("x", dp.Grid(0, 1, cells=4)), dp.PrivacyLoss.pure(8), people=900)
    source = Randomness.from_seed(1)
    given = [0.1, None, "no number", float("nan"), True, 0.9] * 150
    with pytest.warns(dp.CurveWarning, match="end|first|last"):
        curve = aggregate([task.randomize(value, randomness=source) for value in given], task)
    assert curve.count == pytest.approx(300, abs=60)
    assert curve.cdf(0.5) == pytest.approx(0.5, abs=0.1)
    assert len({len(task.randomize(value)) for value in given}) == 1


class Odd(float):
    """A number whose methods raise what is told to it."""

    def __float__(self) -> float:
        raise RuntimeError("told")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("told")

    __hash__ = None  # type: ignore[assignment]


class Text(str):
    """A text that can not be compared."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("told")

    __hash__ = None  # type: ignore[assignment]


class Closed(dict[str, object]):
    """A mapping that gives nothing."""

    def get(self, key: str, default: object = None) -> object:
        raise RuntimeError("told")


def test_whatever_a_value_is_it_has_a_place_and_nothing_is_raised() -> None:
    axes, huge = (Axis("x", GRID),), 10**5000
    missing = (
        None, "0.5", b"0.5", bytearray(b"1"), True, np.True_, float("nan"), Decimal("sNaN"), 1j, Odd(0.5), object(),
        [0.5], np.array([0.5, 0.5]), np.ma.masked, np.datetime64("now"), Closed(x=0.5), {"y": 0.5},
    )  # fmt: skip
    assert [find_slot(axes, value) for value in missing] == [64] * len(missing)
    ends = (huge, Fraction(huge), Decimal("1e999999"), float("inf"), np.int64(7), 1)
    assert [find_slot(axes, value) for value in ends] == [63] * len(ends)
    assert [find_slot(axes, value) for value in (-huge, Fraction(-huge), float("-inf"), np.float32(0))] == [0] * 4
    both = (Categories("y", ("a", 1)), *axes)
    found = ("a", np.str_("a"), 1, 1.0, np.int8(1), True, "1")
    assert [find_slot(both, {"y": label, "x": 0}) for label in found] == [0, 0] + [64] * 5
    lost = (None, huge, -huge, Odd(1), Text("a"), b"a", "b", float("nan"), object(), np.datetime64("now"))
    assert {find_slot(both, {"y": label, "x": 0}) for label in lost} == {128}
    assert {find_slot(both, value) for value in (0.5, Closed(y=1, x=0), {"y": 1}, {"y": 1, "x": "0"})} == {128}


def test_a_name_that_is_none_is_refused_whether_a_report_is_kept_or_not(tmp_path: Path) -> None:
    for name in (7, b"anna", "", "anna\ud800"):
        for kept in (None, ReportMemo.from_path(tmp_path / "kept.db")):
            with pytest.raises((TypeError, ValueError), match="^person: "):
                TASK.randomize(0.5, person=name, memo=kept)  # type: ignore[arg-type]


def test_asked_a_thousand_times_a_device_sends_one_report(tmp_path: Path) -> None:
    kept = ReportMemo.from_path(tmp_path / "kept.db")
    first = TASK.randomize(0.2, person="anna", memo=kept)
    assert {TASK.randomize(value, person="anna", memo=kept) for value in np.linspace(0, 1, 100)} == {first}
    with ThreadPoolExecutor(8) as pool:
        crowd = pool.map(lambda _: TASK.randomize(0.5, person="bert", memo=ReportMemo.from_path(kept.path)), range(40))
        assert len(set(crowd)) == 1
    other = Task(TASK.question, TASK.loss, people=30_000)
    assert other.randomize(0.2, person="anna", memo=kept) != first
    assert aggregate([first] * 5 + [TASK.randomize(0.4) for _ in range(20)], TASK).privacy.units == 21
    with pytest.raises(ValueError, match="^person: "):
        TASK.randomize(0.2, memo=kept)
    (tmp_path / "damaged.db").write_text("no store " * 500)
    with pytest.raises(ValueError, match="^memo: "):
        TASK.randomize(0.2, person="anna", memo=ReportMemo.from_path(tmp_path / "damaged.db"))
    with closing(sqlite3.connect(kept.path)) as store:
        assert store.execute("SELECT count(*) FROM kept").fetchone() == (3,)


def test_a_task_is_the_same_for_everybody_who_reads_it(tmp_path: Path) -> None:
    for loss in (dp.PrivacyLoss.pure("0.3"), dp.PrivacyLoss.zcdp("0.125")):
        task = Task(dp.RocQuestion("y", "s", GRID, "bad", "good"), loss, people=1000)
        task.write(tmp_path / "task.json")
        again = Task.load(tmp_path / "task.json")
        assert (again, again.hash, again.plan) == (task, task.hash, task.plan)
    assert TASK.hash != Task(TASK.question, dp.PrivacyLoss.pure(3), people=20_000).hash


@pytest.mark.parametrize(
    "change",
    [
        {"local_task": 2}, {"loss": {"epsilon": 1}}, {"loss": {"delta": "1"}}, {"loss": {"epsilon": "-1"}},
        {"people": 0}, {"people": "9"}, {"question": {"ask": "nothing"}}, {"question": 7}, {"loss": "1"},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_task_is_refused_in_one_line(change: dict[str, object], tmp_path: Path) -> None:
    TASK.write(tmp_path / "task.json")
    stored = json.loads((tmp_path / "task.json").read_text())
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z"):
        Task.from_json(json.dumps(stored | change))
    for text in ("", "[]", "null", "{}", "[" * 100_000):
        with pytest.raises(ValueError, match="^task: "):
            Task.from_json(text)


def test_what_people_can_not_report_is_no_task() -> None:
    with pytest.raises(dp.UnsupportedQuery):
        Task(dp.SummaryQuestion("x", 0, 1), dp.PrivacyLoss.pure(1), people=100)
    with pytest.raises(dp.UnsupportedQuery):
        Task(dp.CdfQuestion("x", GRID, edges=(3,)), dp.PrivacyLoss.pure(1), people=100)
    with pytest.raises(ValueError, match="people"):
        Task(TASK.question, TASK.loss, people=0)
    with pytest.raises(ValueError, match="reports"):
        aggregate([], TASK)


def test_one_person_of_a_file_and_many(tmp_path: Path) -> None:
    (tmp_path / "me.csv").write_text("x\n0.25\n")
    kept = ReportMemo.from_path(tmp_path / "kept.db")
    mine = TASK.randomize_one(str(tmp_path / "me.csv"), "anna", memo=kept)
    assert mine == TASK.randomize(0.9, person="anna", memo=kept)
    (tmp_path / "us.csv").write_text("x\n0.25\n0.5\n")
    with pytest.raises(ValueError, match="^data: must have exactly one row"):
        TASK.randomize_one(str(tmp_path / "us.csv"), "anna")
    counted = Collection(TASK)
    counted.add(mine + TASK.randomize_table(str(tmp_path / "us.csv")))
    assert counted.reports == 3
    with pytest.raises(ValueError, match="column"):
        TASK.randomize_table({"z": [1.0]})


def test_a_table_may_call_the_one_column_otherwise_than_the_task() -> None:
    values = np.linspace(0, 1, 50)
    sent = [
        TASK.randomize_table({name: values, "y": values}, column=column, randomness=Randomness.from_seed(3))
        for name, column in (("x", None), ("x", "x"), ("weight", "weight"))
    ]
    assert sent[0] == sent[1] == sent[2]
    two = Task(dp.RocQuestion("y", "s", GRID), dp.PrivacyLoss.pure(1), people=100)
    with pytest.raises(ValueError, match="^column: must be left out, because the task asks about several"):
        two.randomize_table({"s": values, "y": values > 0.5}, column="s")
