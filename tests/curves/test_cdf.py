from __future__ import annotations

import json
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from by_hand import answer, both
from numpy.typing import NDArray

from dpcurves.curves import CDF, CdfQuestion
from dpcurves.data import Categories, Grid, Outside
from dpcurves.privacy import AddRemove, PrivacyLoss, ReplaceOne, Unit
from dpcurves.queries import Hint

GRID = Grid(0, 1, cells=64)
QUESTION = CdfQuestion("x", GRID, measured_in="m")
HUGE = PrivacyLoss.pure(10**9)
DRAW = np.random.default_rng(5)
X = DRAW.beta(2, 3, size=2000)


def truth(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    below = np.array([np.mean(values < edge) for edge in edges])
    below[-1] = np.mean(values <= edges[-1])
    return below


@pytest.mark.parametrize("adjacency", both(len(X)))
def test_at_a_huge_epsilon_the_curve_is_exact(adjacency: AddRemove | ReplaceOne) -> None:
    curve = answer(QUESTION, {"x": X}, HUGE, adjacency, seed=1)
    assert np.abs(curve.y - truth(X, GRID.edges)).max() < 1e-9
    assert curve.cdf(0.5) == pytest.approx(np.mean(X < 0.5), abs=1e-9)
    assert curve.cdf(-1) == 0
    assert curve.cdf(2) == 1


def test_of_one_number_there_is_a_number_and_of_several_an_array() -> None:
    curve = answer(QUESTION, {"x": X}, HUGE, both(len(X))[0], seed=1)
    assert all(isinstance(found, float) for found in (curve.quantile(0.5), curve.cdf(0.5)))
    assert (curve.quantile([0.5]).shape, curve.cdf([[0.1, 0.2]]).shape) == ((1,), (1, 2))


@pytest.mark.parametrize("adjacency", both(len(X)))
def test_missing_values_are_left_out(adjacency: AddRemove | ReplaceOne) -> None:
    some = X.copy()
    some[:500] = np.nan
    curve = answer(QUESTION, {"x": some}, HUGE, adjacency, seed=1)
    assert np.abs(curve.y - truth(X[500:], GRID.edges)).max() < 1e-9
    assert curve.count == pytest.approx(1500)


def test_values_outside_may_have_cells_of_their_own() -> None:
    grid = Grid(0.2, 0.6, cells=32, outside=Outside.APART)
    curve = answer(CdfQuestion("x", grid), {"x": X}, HUGE, both(len(X))[1], seed=1)
    assert curve.y[0] == pytest.approx(np.mean(X < 0.2), abs=1e-9)
    assert curve.y[-1] == pytest.approx(np.mean(X <= 0.6), abs=1e-9)


@pytest.mark.quick_share(16)
@pytest.mark.parametrize("adjacency", both(len(X)))
@pytest.mark.parametrize("loss", [PrivacyLoss.pure(0.01), PrivacyLoss.zcdp(0.0001)])
@pytest.mark.parametrize("values", [X, np.full(5, np.nan), np.zeros(3), np.array([1.0])])
def test_whatever_the_noise_the_curve_rises_from_zero_to_one(
    adjacency: AddRemove | ReplaceOne, loss: PrivacyLoss, values: NDArray[np.float64]
) -> None:
    if isinstance(adjacency, ReplaceOne):
        adjacency = ReplaceOne(adjacency.unit, len(values))
    for seed in range(5):
        curve = answer(QUESTION, {"x": values}, loss, adjacency, seed)
        assert (curve.y[0], curve.y[-1]) == (0, 1)
        assert (np.diff(curve.y) >= 0).all()
        lower, upper = curve.band(0.9)
        assert ((lower >= 0) & (lower <= upper) & (upper <= 1)).all()


@pytest.mark.reproduction
@pytest.mark.parametrize(
    ("adjacency", "loss"), list(zip(both(len(X)), (PrivacyLoss.pure(0.5), PrivacyLoss.zcdp(0.02)), strict=True))
)
def test_bands_hold_the_whole_curve_as_often_as_they_say(adjacency: AddRemove | ReplaceOne, loss: PrivacyLoss) -> None:
    level, releases = 0.9, 200
    exact = truth(X, GRID.edges)
    held = 0
    for seed in range(releases):
        lower, upper = answer(QUESTION, {"x": X}, loss, adjacency, seed).band(level)
        held += bool(((lower <= exact + 1e-9) & (exact <= upper + 1e-9)).all())
    assert abs(held / releases - level) <= 4 * sqrt(level * (1 - level) / releases)  # no more often, either: 4 sigma


@pytest.mark.reproduction
def test_bands_of_merged_cells_hold_a_jump_inside_them() -> None:
    values = np.full(200, 0.5001)  # all in one fine cell, and the grid is too fine for so few
    question = CdfQuestion("x", Grid(0, 1, cells=4096), hint=Hint.SPREAD)
    adjacency = both(len(values))[1]
    level, releases, held = 0.9, 50, 0
    exact = truth(values, question.grid.edges)
    for seed in range(releases):
        curve = answer(question, {"x": values}, PrivacyLoss.pure(0.2), adjacency, seed)
        assert not curve.prefixes.measured_edges.all()
        lower, upper = curve.band(level)
        held += bool(((lower <= exact + 1e-9) & (exact <= upper + 1e-9)).all())
    assert held / releases >= level - 4 * sqrt(level * (1 - level) / releases)  # 4 sigma


def test_the_population_s_band_is_wider_and_needs_independent_units() -> None:
    curve = answer(QUESTION, {"x": X}, PrivacyLoss.pure(1), both(len(X))[1], seed=3)
    (lower, upper), (low, high) = curve.band(0.9), curve.band(0.9, population=True)
    assert (low <= lower + 1e-12).all()
    assert (high >= upper - 1e-12).all()
    several = answer(QUESTION, {"x": X}, PrivacyLoss.pure(1), AddRemove(Unit("u", 2)), seed=3)
    assert (lower <= curve.y).all()
    assert (curve.y <= upper).all()
    with pytest.raises(ValueError, match="population: independent units"):
        several.band(0.9, population=True)


def test_quantiles_and_their_intervals_agree_with_the_curve() -> None:
    curve = answer(QUESTION, {"x": X}, PrivacyLoss.pure(1), both(len(X))[1], seed=3)
    for p in (0.1, 0.5, 0.9):
        low, high = curve.quantile_interval(p, 0.95)
        assert low <= curve.quantile(p) <= high
        assert low <= np.quantile(X, p) <= high
    with pytest.raises(ValueError, match="^p: "):
        curve.quantile(1.1)
    with pytest.raises(ValueError, match="^level: "):
        curve.band(1.0)


def test_a_curve_that_was_written_is_read_with_its_bands() -> None:
    curve = answer(QUESTION, {"x": X}, PrivacyLoss.zcdp("1/3"), both(len(X))[0], seed=3)
    again = CDF.from_json(curve.to_json())
    assert (again.y == curve.y).all()
    assert (again.band(0.95)[1] == curve.band(0.95)[1]).all()
    assert again.privacy == curve.privacy
    assert again.label == "x (m)"


def test_a_frame_has_the_band_if_a_level_is_given() -> None:
    curve = answer(QUESTION, {"x": X}, PrivacyLoss.pure(1), both(len(X))[0], seed=3)
    assert list(curve.to_frame().columns) == ["x", "y"]
    frame, (lower, upper) = curve.to_frame(level=0.9), curve.band(0.9)
    assert list(frame.columns) == ["x", "y", "lower", "upper"]
    assert (frame["lower"].to_numpy() == lower).all()
    assert (frame["upper"].to_numpy() == upper).all()
    with pytest.raises(ValueError, match="^level: "):
        curve.to_frame(level=95)


def test_a_file_holds_what_is_needed_to_judge_the_curve() -> None:
    written = json.loads(answer(QUESTION, {"x": X}, PrivacyLoss.pure(1), both(len(X))[1], seed=3).to_json())
    assert (written["kind"], written["schema"]) == ("cdf", 1)
    assert len(written["x"]) == len(written["y"]) == 65
    assert written["privacy"]["epsilon"] == 1
    assert written["privacy"]["seeded"] is True
    assert written["privacy"]["units"] == len(X)


def test_categories_share_one_price() -> None:
    kinds = np.where(np.arange(len(X)) % 3 == 0, "a", "b")
    question = CdfQuestion("x", GRID, by=Categories("kind", ("b", "a")))
    curves = answer(question, {"x": X, "kind": kinds}, HUGE, both(len(X))[0], seed=1)
    assert list(curves) == ["b", "a"]
    assert np.abs(curves["a"].y - truth(X[::3], GRID.edges)).max() < 1e-9
    written = json.loads(curves.to_json())
    assert written["kind"] == "curves"
    assert written["curves"]["a"]["privacy"]["epsilon"] == float(HUGE.epsilon or Fraction(0))
    assert len(curves.to_frame()) == 2 * 65
    assert list(curves.to_frame(level=0.9).columns) == ["kind", "x", "y", "lower", "upper"]
