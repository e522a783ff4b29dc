from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from by_hand import answer, both
from numpy.typing import NDArray

from dpcurves.curves import CDF, Bisection, CdfQuestion
from dpcurves.data import Grid, Outside
from dpcurves.privacy import Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import PartitionQuery
from dpcurves.session import plan_question

GRID = Grid(0, 1, cells=64)
HUGE = PrivacyLoss.pure(10**9)
X = np.random.default_rng(5).beta(2, 3, size=2000)
LOSSES = PrivacyLoss.pure(2), PrivacyLoss.zcdp("0.1")


def truth(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    below = np.array([np.mean(values < edge) for edge in edges])
    below[-1] = np.mean(values <= edges[-1])
    return below


@pytest.mark.parametrize("adjacency", both(len(X)))
def test_with_enough_rounds_and_a_huge_epsilon_the_curve_is_exact(adjacency: Adjacency) -> None:
    some = X.copy()
    some[::10] = np.nan
    curve = answer(CdfQuestion("x", GRID, method=Bisection(100)), {"x": some}, HUGE, adjacency, seed=1)
    assert np.abs(curve.y - truth(some[~np.isnan(some)], GRID.edges)).max() < 1e-9
    assert curve.count == pytest.approx(1800)


def test_each_round_halves_the_interval_with_the_most_records() -> None:
    values = np.repeat([0.1, 0.3, 0.45, 0.6], [5, 300, 290, 400])
    edges = {2: [0, 0.25, 0.5, 1], 3: [0, 0.25, 0.375, 0.5, 1], 4: [0, 0.25, 0.375, 0.5, 0.75, 1]}
    for rounds, expected in edges.items():
        curve = answer(CdfQuestion("x", GRID, method=Bisection(rounds)), {"x": values}, HUGE, both(995)[1], seed=1)
        assert curve.x[curve.prefixes.measured_edges].tolist() == expected


@pytest.mark.parametrize(("cells", "outside"), [(1, Outside.CLIPPED), (1, Outside.APART), (2, Outside.APART),
                                                (5, Outside.CLIPPED), (5, Outside.APART)])  # fmt: skip
def test_there_are_no_more_turns_than_there_is_to_halve_and_they_cost_what_was_asked(
    cells: int, outside: Outside
) -> None:
    question = CdfQuestion("x", Grid(0.2, 0.6, cells=cells, outside=outside), method=Bisection(9))
    for adjacency in both(100):
        plans = plan_question(question, PrivacyLoss.pure(1), adjacency)
        assert sum((plan.loss.epsilon or Fraction(0)) for plan in plans) == 1
        assert len({plan.query for plan in plans if isinstance(plan.query, PartitionQuery)}) == len(plans)
        assert len(plans) == max(1, cells - 1)
    curve = answer(question, {"x": X}, HUGE, both(len(X))[1], seed=1)
    if outside is Outside.APART:
        assert curve.y[0] == pytest.approx(np.mean(X < 0.2), abs=1e-9)
        assert curve.y[-1] == pytest.approx(np.mean(X <= 0.6), abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("values", [X, np.full(5, np.nan), np.zeros(3)])
def test_whatever_the_noise_the_curve_rises_from_zero_to_one(loss: PrivacyLoss, values: NDArray[np.float64]) -> None:
    for adjacency in both(len(values)):
        curve = answer(CdfQuestion("x", GRID, method=Bisection(12)), {"x": values}, loss, adjacency, seed=3)
        assert (curve.y[0], curve.y[-1]) == (0, 1)
        assert (np.diff(curve.y) >= 0).all()


@pytest.mark.parametrize(("loss", "adjacency"), list(zip(LOSSES, both(len(X)), strict=True)))
def test_bands_hold_the_whole_curve_as_often_as_they_say(loss: PrivacyLoss, adjacency: Adjacency) -> None:
    level, releases, exact = 0.9, 40, truth(X, GRID.edges)
    held = 0
    for seed in range(releases):
        lower, upper = answer(CdfQuestion("x", GRID, method=Bisection(6)), {"x": X}, loss, adjacency, seed).band(level)
        held += bool(((lower <= exact + 1e-9) & (exact <= upper + 1e-9)).all())
    assert held / releases >= level - 4 * sqrt(level * (1 - level) / releases)  # 4 sigma


def test_a_curve_that_was_written_is_read_with_its_bands() -> None:
    curve = answer(
        CdfQuestion("x", GRID, method=Bisection(5)), {"x": X}, LOSSES[0], ReplaceOne(both(1)[0].unit, len(X)), seed=3
    )
    again = CDF.from_json(curve.to_json())
    assert (again.y == curve.y).all()
    assert (again.band(0.95)[1] == curve.band(0.95)[1]).all()


def test_no_round_is_refused() -> None:
    with pytest.raises(ValueError, match="^rounds: "):
        CdfQuestion("x", GRID, method=Bisection(0))
