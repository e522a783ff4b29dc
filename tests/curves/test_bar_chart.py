"""Bar charts of a column of categories: what they count and lose, how often intervals hold, and what they show."""

from __future__ import annotations

import re
from itertools import combinations_with_replacement, pairwise
from math import sqrt
from typing import Any, cast
from warnings import catch_warnings

import numpy as np
import pytest
from by_hand import answer, both

import dpcurves as dp
from dpcurves import display
from dpcurves.arguments import InvalidArgument, WrongArgumentType
from dpcurves.data import ListedCategories
from dpcurves.mechanisms import AUTO
from dpcurves.privacy import AddRemove, Adjacency, ReplaceOne, Unit
from dpcurves.queries import CountQuery, CountUse
from dpcurves.records import open_records
from dpcurves.records.counting import tabulate

HUGE, ONE = dp.PrivacyLoss.pure(10**9), dp.PrivacyLoss.pure(1)
WARDS = dp.Categories("ward", ("north", "south", "east"))
SHARES = {"north": 0.6, "south": 0.25, "east": 0.01, "west": 0.09, None: 0.05}


def sample_wards(records: int, seed: int) -> dict[str, Any]:
    draw = np.random.default_rng([seed, records])
    return {"ward": draw.choice(np.array(list(SHARES), dtype=object), records, p=list(SHARES.values()))}


@pytest.mark.parametrize(
    ("values", "categories", "counts", "missing"),
    [
        (["a", "b", "c", None, "a", ""], ("a", "b"), [2, 1, 2], 1),
        (["01", "1", "01", "2"], ("01", "1"), [2, 1, 1], 0),
        ([1, 2, 2, 3, 7], (2, 1), [2, 1, 2], 0),
        ([1.0, float("nan"), 2.5, 1.0], (1, 2.5), [2, 1, 0], 1),
        ([True, False, True], (True, False), [2, 1, 0], 0),
        (["other", "a", "b"], ("other",), [1, 2], 0),
    ],
)
def test_counts_are_those_of_the_column_at_a_huge_epsilon(
    values: list[Any], categories: tuple[Any, ...], counts: list[int], missing: int
) -> None:
    for adjacency in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        with catch_warnings(action="ignore"):
            chart = dp.bar_chart(values, categories=categories, epsilon=10**9, adjacency=adjacency)
        assert (np.rint(chart.unbiased_counts).tolist(), round(chart.missing)) == (counts, missing)
        assert len(set(chart.category)) == len(categories) + 1
        assert chart.total == pytest.approx(sum(counts))
        assert np.nansum(chart.share) in (pytest.approx(1), 0)
        assert chart.missing_interval(0.95) == (missing, missing)


def test_without_other_and_with_a_filter_all_else_is_missing() -> None:
    people = {"ward": ["a", "b", "c", None] * 50, "age": [1, 9, 9, 9] * 50}
    by = dp.Categories("ward", ("a", "b"))
    for adjacency, missing in (
        (dp.ADD_REMOVE, 100),
        (dp.REPLACE_ONE, 150),
    ):  # those that fail are missing, if n is public
        with dp.Session(people, budget=HUGE, adjacency=adjacency) as session, catch_warnings(action="ignore"):
            chart = session.ask(dp.BarChartQuestion(by, other=False, where="age > 5"), HUGE)
        assert (np.rint(chart.unbiased_counts).tolist(), round(chart.missing)) == ([0, 50], missing)
        assert ("failing the filter" in dict(chart._summary()).__str__()) == (adjacency is dp.REPLACE_ONE)
        assert dp.BarChartQuestion(by, other=False).counted_categories == by
        assert str(dp.BarChartQuestion(by, where="age > 5")) == "bar chart of ward, where age > 5"


TINY = ("a", "b", "c", None)
"""A record of each kind: of both categories, of another one, and a missing one."""


@pytest.mark.parametrize("adjacency", [AddRemove(Unit("person", 1)), ReplaceOne(Unit("person", 1), 3)], ids=str)
@pytest.mark.parametrize("loss", [ONE, dp.PrivacyLoss.zcdp("0.5")], ids=str)
def test_all_neighbours_of_tiny_tables_lose_at_most_the_charge(adjacency: Adjacency, loss: dp.PrivacyLoss) -> None:
    """The distribution of release in closed form: Laplace noise loses the L1 distance over its scale, Gaussian noise
    the squared distance over twice its variance; and each table is counted by the engine."""
    axis = ListedCategories.from_categories(dp.Categories("ward", ("a", "b")))
    plan = AUTO.plan(CountQuery((axis,), CountUse.CELLS), loss, adjacency)
    size = (2, 3) if isinstance(adjacency, AddRemove) else (3, 3)
    tables = {}
    for records in range(size[0], size[1] + 1):
        for values in combinations_with_replacement(range(4), records):
            column = {"ward": np.array([TINY[value] for value in values], dtype=object)}
            with open_records(column, unit=dp.EACH_RECORD, key=bytes(32)) as opened:
                tables[values] = tabulate(opened, plan.query)
            assert tables[values].tolist() == [values.count(kind) for kind in range(4)]  # one cell for each record
    worst = 0.0
    for first, ours in tables.items():
        for second, theirs in tables.items():
            came = np.maximum(ours - theirs, 0).sum()
            went = np.maximum(theirs - ours, 0).sum()
            if (came, went) in ([(1, 0), (0, 1)] if isinstance(adjacency, AddRemove) else [(1, 1)]):
                shifts = [*(ours - theirs)[:-1].tolist(), (ours - theirs)[-1]]
                noises = [noise for noise, count in cast("Any", plan.distribution).noises for _ in range(count)]
                prices = [
                    abs(shift) / float(noise.parameter) if loss.epsilon else shift**2 / (2 * float(noise.parameter))
                    for shift, noise in zip(shifts, noises, strict=True)
                ]
                worst = max(worst, sum(prices))
                assert first != second
    charged = float(loss.epsilon if loss.epsilon is not None else loss.rho)
    assert worst == pytest.approx(charged, rel=1e-9)


def test_intervals_hold_all_counts_each_share_and_the_missing() -> None:
    """50 releases at level 0.9: within 4 sigma (6e-5 of false alarms each) for these records, not below for the
    population; one of the categories has few records, so that intervals end at 0."""
    releases, level, records = 50, 0.9, 700
    sigma, held = sqrt(level * (1 - level) / releases), dict.fromkeys(("counts", "means", "share", "mean share"), 0)
    expected, missing_held = np.array([0.6, 0.25, 0.01, 0.09]), 0
    for seed in range(releases):
        given = sample_wards(records, seed)
        exact = np.array([np.count_nonzero(given["ward"] == ward) for ward in ("north", "south", "east", "west")])
        chart = answer(dp.BarChartQuestion(WARDS), given, dp.PrivacyLoss.pure("0.5"), both(records)[seed % 2], seed)
        place = seed % 4  # one share at a time
        cases = {
            "counts": (chart.intervals(level), exact),
            "means": (chart.intervals(level, population=True), expected * records),
            "share": (chart.share_intervals(level)[[place]], exact[[place]] / exact.sum()),
            "mean share": (chart.share_intervals(level, population=True)[[place]], expected[[place]] / 0.95),
        }
        for name, (limits, truth) in cases.items():
            held[name] += bool(np.all((limits[:, 0] <= truth + 1e-9) & (truth <= limits[:, 1] + 1e-9)))
        low, high = chart.missing_interval(level)
        missing_held += low <= records - exact.sum() <= high
        assert np.all(chart.intervals(level) == np.rint(chart.intervals(level)))
    assert abs(held["counts"] / releases - level) <= 4 * sigma
    for count in (*held.values(), missing_held):
        assert count / releases >= level - 4 * sigma


def test_order_and_suppression_move_and_hide_rows_and_survive_json(tmp_path: Any) -> None:
    given = {"ward": ["b"] * 500 + ["a"] * 900 + ["c"] * 3 + ["x"] * 40}
    chart = answer(dp.BarChartQuestion(dp.Categories("ward", ("b", "c", "a"))), given, ONE, both(1443)[0], 1)
    assert chart.category == ["b", "c", "a", "other"]
    by_count, by_name = chart.sort_by("count"), chart.sort_by("name")
    assert (by_count.category, by_name.category) == (["a", "b", "c", "other"], ["a", "b", "c", "other"])
    assert by_count.count.tolist() == chart.count[[2, 0, 1, 3]].tolist()
    assert by_count.intervals(0.9) == pytest.approx(chart.intervals(0.9)[[2, 0, 1, 3]])
    assert by_count.sort_by("listed").to_json() == chart.to_json()
    hidden = by_count.suppress_below(100)
    assert hidden.is_suppressed.tolist() == [False, False, True, True]
    stored = dp.BarChart.from_json(hidden.to_json())
    assert stored.to_csv_text() == hidden.to_csv_text()
    assert stored.suppress_below(0).unbiased_counts.tolist() == by_count.unbiased_counts.tolist()
    frame = stored.to_frame(level=0.95)
    assert frame["ward"].tolist() == ["a", "b", "c", "other"]
    assert frame.isna().any(axis=1).tolist() == [False, False, True, True]
    rows = [line.split(",") for line in stored.to_csv_text().splitlines()]
    assert set(rows[3][1:]) == {".."} == set(rows[4][1:])
    assert ".." not in rows[1]
    assert dict(stored._summary())["c"] == ".."
    numbers = dp.bar_chart([10, 9, 2] * 9, categories=(10, 9, 2), other=False, epsilon=1, adjacency=dp.ADD_REMOVE)
    assert numbers.sort_by("name").values == (2, 9, 10)
    renamed = chart.with_labels({"ward": "Ward"}, {"ward": {"a": "Altona"}})
    assert renamed.to_frame().columns[0] == "Ward"
    assert "Altona" in renamed.category
    with pytest.raises(InvalidArgument, match="same label"):
        chart.with_labels({}, {"ward": {"a": "b"}})


def test_categories_of_many_records_are_selected_with_a_delta_or_in_a_universe() -> None:
    names = ["north"] * 900 + ["south"] * 200 + ["x"]
    for how in ({"delta": "1e-6"}, {"universe": dp.TextUniverse("a-z", 5)}):
        with pytest.warns(dp.CurveWarning, match="were found"):
            chart = dp.bar_chart(names, epsilon=20, adjacency=dp.ADD_REMOVE, **how)
        assert {"north", "south", "other"} <= set(chart.category)
        assert chart.category[-1] == "other"
        assert abs(chart.sort_by("count").count[0] - 900) < 10


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: dp.bar_chart(["a"], epsilon=1, adjacency=dp.ADD_REMOVE), "categories: give the categories"),
        (
            lambda: dp.bar_chart(["a"], categories=("a",), delta="1e-6", epsilon=1, adjacency=dp.ADD_REMOVE),
            "categories: give the categories",
        ),
        (lambda: dp.bar_chart(["a"], categories="ab", epsilon=1, adjacency=dp.ADD_REMOVE), "categories: "),
        (lambda: dp.bar_chart(np.array([1]), categories=("01",), epsilon=1, adjacency=dp.ADD_REMOVE), "write 1"),
        (lambda: dp.bar_chart(np.array(["a"]), categories=(1,), epsilon=1, adjacency=dp.ADD_REMOVE), "holds text"),
        (lambda: dp.BarChartQuestion("ward"), "by: "),  # type: ignore[arg-type]
        (lambda: dp.BarChartQuestion(dp.UnlistedCategories("w"), other=False), "other: "),
        (lambda: dp.BarChartQuestion(dp.Categories("w", tuple(range(4096)))), "at most 4096 categories"),
        (
            lambda: dp.histogram(np.array(["a"]), grid=dp.Grid(0, 1, cells=2), epsilon=1, adjacency=dp.ADD_REMOVE),
            "dpcurves bars",
        ),
    ],
)
def test_a_mistake_is_refused_before_the_charge_and_says_what_to_type(ask: Any, words: str) -> None:
    with pytest.raises((InvalidArgument, WrongArgumentType), match=words):
        ask()
    chart = dp.bar_chart(["a"] * 9, categories=("a",), epsilon=1, adjacency=dp.ADD_REMOVE)
    with pytest.raises(InvalidArgument, match="listed, count, name"):
        chart.sort_by("size")
    with pytest.raises(InvalidArgument, match="from 0 on"):
        chart.suppress_below(-1)


def test_misspelt_categories_are_noted_and_ordinary_columns_are_not() -> None:
    """Twelve releases each: all with nearly all records in `other`, none of an ordinary column, none of no records."""
    question, notes = dp.BarChartQuestion(dp.Categories("ward", ("North", "South"))), []
    for records, values in ((2000, ["north", "south"]), (2000, ["North", "North", "x"]), (0, [])):
        given = {"ward": np.array((values * records)[:records], dtype=object)}
        notes.append([answer(question, given, ONE, both(1)[0], seed).notes for seed in range(12)])
    assert all("compare the spelling" in "".join(each) for each in notes[0])
    assert not any("spelling" in "".join(each) for part in notes[1:] for each in part)


def test_an_empty_table_has_no_known_share_and_its_intervals_say_so() -> None:
    charts = [
        answer(dp.BarChartQuestion(WARDS), {"ward": np.array([], dtype=object)}, ONE, both(1)[0], seed)
        for seed in range(20)
    ]
    known = [chart for chart in charts if not np.isnan(chart.share).any()]
    assert len(known) <= 4  # of 20 with probability 0.025 each; more with probability 2e-4
    unknown = next(chart for chart in charts if np.isnan(chart.share).all())
    assert unknown.share_intervals(0.95).tolist() == [[0.0, 1.0]] * 4
    assert (unknown.intervals(0.95)[:, 0] == 0).all()


def test_forty_long_names_are_whole_and_apart_in_the_picture() -> None:
    crafts = ("food", "steel", "glass and ceramics", "textiles and clothing")
    names = [f"group {index:02d}: workers in the manufacture of {crafts[index % 4]}, and trades" for index in range(40)]
    given = {"craft": np.repeat(np.array(names, dtype=object), np.arange(40) * 20)}
    chart = answer(dp.BarChartQuestion(dp.Categories("craft", tuple(names))), given, ONE, both(15_600)[0], 3)
    ax = chart.suppress_below(100).plot_headless()
    figure: Any = ax.figure
    figure.canvas.draw()
    labels = ax.get_yticklabels()
    assert [" ".join(label.get_text().split()) for label in labels] == [*names, "other"]
    boxes = [label.get_window_extent() for label in labels]
    assert all(upper.y0 >= lower.y1 - 1 for upper, lower in pairwise(boxes))
    texts = {text.get_text(): text.get_window_extent() for text in ax.texts}
    assert ".." in texts  # hidden counts
    assert any(text.endswith("(5.0%)") for text in texts)
    assert max(box.x1 for box in texts.values()) <= ax.get_window_extent().x1


def test_numbers_of_records_beside_bars_are_whole() -> None:
    """Also where the noise is so small that an interval is narrower than one record."""
    for epsilon in ("0.1", 1, 20):
        chart = dp.bar_chart(["a", "b"] * 1000, categories=("a", "b"), epsilon=epsilon, adjacency=dp.ADD_REMOVE)
        texts = [text.get_text() for text in chart.plot(ax=display.headless_axes()).texts]
        assert sum(bool(re.fullmatch(r"[\d,]+ \([\d.]+%\)", text)) for text in texts) == 3, texts
        (missing,) = (text for name, text in chart._summary() if name.startswith("missing"))
        assert re.match(r"[\d,]+ \(", missing), missing


def test_a_chart_of_selected_categories_says_that_none_was_released() -> None:
    names = [f"name {number}" for number in range(500)]
    chart = dp.bar_chart(names, epsilon=1, delta="1e-7", adjacency=dp.ADD_REMOVE)
    assert chart.category == ["other"]
    (note,) = (note for note in chart.privacy.notes if note.startswith("groups of"))
    assert note.endswith("none is released, and all are together in 'other'")
