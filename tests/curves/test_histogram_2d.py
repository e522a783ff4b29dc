"""Counts of a plane: the truth without noise, by every estimator, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import answer

import dpcurves as dp
from dpcurves.curves import Histogram2D, Histogram2DQuestion
from dpcurves.histograms import CellEstimator, DawaEstimator, HierarchyEstimator, PriveletEstimator, TableEstimator
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne

CHANCE = np.random.default_rng(8)
COLUMNS = {"x": CHANCE.beta(2, 3, 900), "y": CHANCE.normal(0, 1, 900)}
GRIDS = dp.Grid(0, 1, cells=8), dp.Grid(-2, 2, cells=4)
ESTIMATORS = (None, CellEstimator(), DawaEstimator(), HierarchyEstimator(), PriveletEstimator())
HUGE = PrivacyLoss.pure(10**9)


def truth(*grids: dp.Grid) -> list[list[int]]:
    x, y = (np.clip(COLUMNS[name], grid.lower, grid.upper) for name, grid in zip("xy", grids, strict=True))
    counts: list[list[int]] = np.histogram2d(x, y, bins=[grid.edges for grid in grids])[0].astype(int).tolist()
    return counts


@pytest.mark.parametrize(
    "estimator", [None, CellEstimator(), DawaEstimator(), HierarchyEstimator(), PriveletEstimator()]
)
def test_without_noise_it_is_that_of_numpy(estimator: TableEstimator | None) -> None:
    question = Histogram2DQuestion("x", "y", *GRIDS, estimator)
    for adjacency in (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, 900)):
        found: Histogram2D = answer(question, COLUMNS, HUGE, adjacency, seed=1)
        np.testing.assert_allclose(found.count, truth(*GRIDS), atol=1e-6)
        frame = found.to_frame()
        assert frame["count"].to_numpy().reshape(8, 4).tolist() == found.count.tolist()


def test_no_cell_holds_more_than_a_public_number_of_records() -> None:
    """All of 40 records lie in one cell, so every second unbiased count is above 40."""
    one = {"x": np.full(40, 0.3), "y": np.full(40, 0.2)}
    found = [
        answer(Histogram2DQuestion("x", "y", *GRIDS, CellEstimator()), one, PrivacyLoss.pure(1), each, seed)
        for seed in range(12)
        for each in (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, 40))
    ]
    private, public = ([float(plane.count.max()) for plane in found[place::2]] for place in (0, 1))
    assert max(public) == 40 < max(private)
    assert 0 < sum(each == 40 for each in public) < 12


def test_values_outside_are_counted_apart_where_the_grid_says_so() -> None:
    apart = GRIDS[1].with_outside(dp.Outside.APART)
    question = Histogram2DQuestion("x", "y", GRIDS[0], apart)
    found: Histogram2D = answer(question, COLUMNS, HUGE, ReplaceOne(EACH_RECORD, 900), seed=1)
    assert found.outside == pytest.approx(np.sum(np.abs(COLUMNS["y"]) > 2), abs=1)


def test_estimates_without_intervals_say_so() -> None:
    said: Histogram2D = answer(
        Histogram2DQuestion("x", "y", *GRIDS), COLUMNS, HUGE, ReplaceOne(EACH_RECORD, 900), seed=1
    )
    assert any("no intervals" in note for note in said.notes)


def test_what_is_clipped_is_said_and_only_then() -> None:
    apart = GRIDS[0].with_outside(dp.Outside.APART), GRIDS[1].with_outside(dp.Outside.APART)
    for grids, clipped in ((GRIDS, True), (apart, False), ((GRIDS[0], apart[1]), True)):
        question = Histogram2DQuestion("x", "y", *grids)
        found: Histogram2D = answer(question, COLUMNS, HUGE, ReplaceOne(EACH_RECORD, 900), seed=1)
        assert any("beyond it" in note for note in found.notes) is clipped


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(ValueError, match="^y: a column other than"):
        Histogram2DQuestion("x", "x", *GRIDS)
    with pytest.raises(ValueError, match="^x_grid, y_grid: at most 1048576 cells are allowed in all"):
        Histogram2DQuestion("x", "y", dp.Grid(0, 1, cells=2**20), GRIDS[1])
    with pytest.raises(TypeError, match="^estimator: an estimator of"):
        Histogram2DQuestion("x", "y", *GRIDS, DawaEstimator)  # type: ignore[arg-type]
