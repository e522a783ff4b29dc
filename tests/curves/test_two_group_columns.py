"""Records that are parted by two columns: the curves are those of the combinations, in pictures, frames and files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from by_hand import answer, both

import dpcurves as dp
from dpcurves.curves import CDF, ByCategory, CdfQuestion, Scores
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.display import headless_axes
from dpcurves.privacy import PrivacyLoss

DRAW = np.random.default_rng(8)
BY = dp.Categories("sex", ("F", "M")), dp.Categories("region", ("north", "south", 3))
TABLE: dict[str, Any] = {
    "x": DRAW.beta(2, 5, 900), "y": DRAW.integers(0, 2, 900), "sex": np.array(["F", "M", "D"])[np.arange(900) % 3],
    "region": np.array(["north", "south", 3], dtype=object)[DRAW.integers(0, 3, 900)],
}  # fmt: skip
GRID = dp.Grid(0, 1, cells=16)
HUGE = PrivacyLoss.pure(10**9)
EACH: dict[str, Any] = {
    "cdf": CdfQuestion("x", GRID, by=BY),
    "grown": CdfQuestion("x", GRID, by=BY, method=dp.AdaptivePartition()),
    "histogram": dp.HistogramQuestion("x", GRID, by=BY),
    "scores": dp.ScoresQuestion("y", "x", GRID, by=BY),
    "summary": dp.SummaryQuestion("x", 0, 1, by=BY),
    "survival": dp.SurvivalQuestion("x", "y", GRID, by=BY),
}


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("name", sorted(set(EACH) - {"grown"}))  # whose intervals depend on all records together
def test_each_combination_has_the_curve_of_its_own_records(name: str) -> None:
    found = answer(EACH[name], TABLE, HUGE, both(900)[1], seed=1)
    assert list(found) == [(sex, region) for sex in ("F", "M") for region in ("north", "south", 3)]
    for sex, region in found:
        own = {key: value[(TABLE["sex"] == sex) & (TABLE["region"] == region)] for key, value in TABLE.items()}
        alone = answer(_alone(EACH[name]), own, HUGE, both(len(own["x"]))[1], seed=2)
        read, exact = found[sex, region].to_frame().to_numpy(), alone.to_frame().to_numpy()
        numbers = [place for place in range(read.shape[1]) if not isinstance(exact[0, place], str)]
        assert read[:, numbers].astype(float) == pytest.approx(exact[:, numbers].astype(float), abs=1e-5, nan_ok=True)


def _alone(question: Any) -> Any:
    return replace(question, by=None)


@pytest.mark.reproduction
@pytest.mark.parametrize("name", EACH)
def test_combinations_are_drawn_written_read_and_framed(name: str) -> None:
    found = answer(EACH[name], TABLE, PrivacyLoss.pure(1), both(900)[0], seed=3)
    assert list(found.to_frame().columns[:2]) == ["sex", "region"]
    assert len(found.to_frame().groupby(["sex", "region"])) == 6
    kind = type(found["M", "south"])
    again = ByCategory.from_json(found.to_json(), kind)
    assert (list(again), again.columns, again.to_json()) == (list(found), ("sex", "region"), found.to_json())
    assert "<svg" in found._repr_html_()
    assert "by sex, region" in str(EACH[name])
    assert question_from_json(question_to_json(EACH[name])) == EACH[name]


def test_small_pictures_are_named_by_their_combination() -> None:
    place = headless_axes()
    figure = place.figure
    answer(EACH["cdf"], TABLE, PrivacyLoss.pure(1), both(900)[0], seed=3).plot(place)
    titles = {ax.get_title() for ax in figure.axes} - {""}
    assert titles == {f"{sex}, {region}" for sex in "FM" for region in ("north", "south", "3")}


def test_scores_of_two_combinations_have_a_difference() -> None:
    found = answer(EACH["scores"], TABLE, PrivacyLoss.pure(1), both(900)[0], seed=3)
    assert isinstance(found, dp.ScoresByCategory)
    gap = found.difference("auc", ("F", "north"), ("M", "south"), 0.9)
    assert gap.lower < gap.value < gap.upper
    with pytest.raises(ValueError, match="^category: must be one of F, north, F, south, "):
        found.difference("auc", "F", ("M", "south"), 0.9)
    assert isinstance(dp.ScoresByCategory.from_json(found.to_json())["F", 3], Scores)


def test_one_column_in_a_tuple_is_one_column() -> None:
    found = answer(CdfQuestion("x", GRID, by=BY[:1]), TABLE, PrivacyLoss.pure(1), both(900)[0], seed=3)
    assert list(found) == ["F", "M"]


@pytest.mark.quick_share(6)
@pytest.mark.parametrize(
    ("by", "line"),
    [
        ((BY[0], dp.Categories("sex", ("F",))), "by: a column is named twice"),
        ((BY[0], "region"), "by: Categories, as in "),
        ((), "by: Categories, as in "),
        ((dp.Categories("a", ("x", "x, y")), dp.Categories("b", ("y, z", "z"))), "by: two combinations"),
        (tuple(dp.Categories(name, tuple(range(50))) for name in "abc"), "by: columns have at most 65536"),
    ],
)
@pytest.mark.parametrize("name", EACH)
def test_what_cannot_be_told_apart_is_refused_before_anything_is_asked(name: str, by: Any, line: str) -> None:
    with (
        pytest.raises(ValueError, match=f"^{line}"),
        dp.Session(TABLE, budget=HUGE, adjacency=dp.ADD_REMOVE) as session,
    ):
        session.ask(replace(EACH[name], by=by), PrivacyLoss.pure(1))


def test_a_damaged_text_of_combinations_is_refused() -> None:
    text = answer(EACH["histogram"], TABLE, PrivacyLoss.pure(1), both(900)[0], seed=3).to_json()
    for damaged in (text.replace('["sex", "region"]', '["sex"]', 1), text.replace('["F", "north"]', '"F, north"', 1)):
        with pytest.raises(ValueError, match=r"^curve.evidence.question: "):
            ByCategory.from_json(damaged, CDF)
