"""Smoothed distribution functions: the source paper's estimator behind a door."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import answer

import dpcurves as dp
from dpcurves.curves import CDF, CdfQuestion
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne

X = np.random.default_rng(2).beta(2, 5, 3000)
GRID = dp.Grid(0, 1, cells=32)
TREE = CdfQuestion("x", GRID, hint=dp.Hint.ATOMS)
BOTH = (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, len(X)))


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("question", [TREE, CdfQuestion("x", GRID, method=dp.GrownPartition())])
def test_a_smoothed_curve_rises_from_nothing_to_all_and_stays_within_its_band(
    adjacency: Adjacency, p: int, question: CdfQuestion
) -> None:
    curve: CDF = answer(question, {"x": X}, PrivacyLoss.pure("0.05"), adjacency, seed=4)
    found = curve.smoothed(p)
    assert (np.diff(found.y) >= 0).all()
    assert (found.y[0], found.y[-1]) == (0, 1)
    lower, upper = found.band(0.95)
    assert (lower <= found.y).all()
    assert (found.y <= upper).all()
    assert CDF.from_json(found.to_json()).y.tolist() == found.y.tolist()


@pytest.mark.parametrize("p", [1, 2])
def test_without_noise_it_is_the_truth(p: int) -> None:
    curve: CDF = answer(TREE, {"x": X}, PrivacyLoss.pure(10**9), BOTH[1], seed=1)
    truth = np.searchsorted(np.sort(X), curve.x) / len(X)
    np.testing.assert_allclose(curve.smoothed(p).y, truth, atol=1e-9)


def test_points_that_are_left_out_are_interpolated() -> None:
    curve: CDF = answer(TREE, {"x": X}, PrivacyLoss.pure("0.05"), BOTH[1], seed=4)
    found = curve.smoothed(2, at=(8, 16))
    between = np.interp(curve.x, curve.x[[0, 8, 16, 32]], found.y[[0, 8, 16, 32]])
    np.testing.assert_allclose(found.y, between, atol=1e-12)
    assert not np.allclose(found.y[[8, 16]], curve.smoothed(2).y[[8, 16]])


def test_what_cannot_be_smoothed_is_refused() -> None:
    curve: CDF = answer(TREE, {"x": X}, PrivacyLoss.pure(1), BOTH[1], seed=4)
    with pytest.raises(ValueError, match="^p: 1 "):
        curve.smoothed(3)
    with pytest.raises(ValueError, match="^at: edges between"):
        curve.smoothed(2, at=(40,))
    gaussian: CDF = answer(TREE, {"x": X}, PrivacyLoss.zcdp(1), BOTH[1], seed=4)
    with pytest.raises(ValueError, match="^smoothed: "):
        gaussian.smoothed()
    loss = PrivacyLoss.zcdp(1)
    with dp.Session({"x": X}, budget=loss, adjacency=dp.REPLACE_ONE) as session:
        with pytest.raises(ValueError, match="^smoothed: "):
            session.ask(CdfQuestion("x", GRID, hint=dp.Hint.ATOMS, smooth=2), loss)
        assert session.left.rho == 1
