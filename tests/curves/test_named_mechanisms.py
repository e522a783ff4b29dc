"""Curves of named mechanisms whose values are no sums over intervals: near the truth, with bands, in JSON and back."""

from __future__ import annotations

import numpy as np
import pytest
from baselines import KAry
from numpy.typing import NDArray

import dpcurves as dp
from dpcurves.curves import CDF, ROC, ByCategory
from dpcurves.mechanisms import Haar, Mechanism, SquareRoot
from dpcurves.trust import Central

GRID = dp.Grid(0, 100, cells=64)
RHO = dp.PrivacyLoss.zcdp(1)
PURE = dp.PrivacyLoss.pure(1)
EVERY_CELL = [(SquareRoot(), RHO), (Haar(), RHO), (Haar(), PURE), (KAry(5), PURE)]
CASES = [*EVERY_CELL, (SquareRoot(4), RHO), (Haar(2), PURE)]
NEIGHBOURS = [dp.ADD_REMOVE, dp.REPLACE_ONE]


def ages() -> NDArray[np.float64]:
    return np.random.default_rng(3).normal(50, 15, 5000).clip(0, 99.9)


def asked(
    question: dp.CdfQuestion | dp.RocQuestion,
    table: dict[str, NDArray[np.float64]],
    mechanism: Mechanism,
    loss: dp.PrivacyLoss,
    adjacency: dp.Neighbours,
) -> object:
    randomness = dp.Randomness.from_seed(11)
    trust = Central(mechanism=mechanism)
    with dp.Session(table, budget=loss, adjacency=adjacency, randomness=randomness, trust=trust) as session:
        return session.ask(question, loss)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("adjacency", NEIGHBOURS, ids=str)
@pytest.mark.parametrize(("mechanism", "loss"), CASES, ids=str)
def test_a_distribution_function_is_near_the_truth_and_comes_back(
    mechanism: Mechanism, loss: dp.PrivacyLoss, adjacency: dp.Neighbours
) -> None:
    values = ages()
    curve = asked(dp.CdfQuestion("age", GRID), {"age": values}, mechanism, loss, adjacency)
    assert isinstance(curve, CDF)
    truth = np.array([(values < edge).mean() for edge in curve.x])
    assert np.abs(curve.y - truth).max() < 0.03
    lower, upper = curve.band(0.99)
    inside = (lower <= truth) & (truth <= upper)
    assert inside[curve.prefixes.measured_edges].all()
    again = CDF.from_json(curve.to_json())
    np.testing.assert_array_equal(again.y, curve.y)
    np.testing.assert_array_equal(again.band(0.99), (lower, upper))


@pytest.mark.parametrize(("mechanism", "loss"), CASES, ids=str)
def test_each_category_has_its_own_curve(mechanism: Mechanism, loss: dp.PrivacyLoss) -> None:
    values = ages()
    table = {"age": values, "old": (values > 50).astype(np.float64)}
    question = dp.CdfQuestion("age", GRID, by=dp.Categories("old", (0, 1)))
    curves = asked(question, table, mechanism, loss, dp.REPLACE_ONE)
    assert isinstance(curves, ByCategory)
    for old, curve in curves.items():
        assert abs(curve.count - (table["old"] == old).sum()) < 150
        assert (curve.quantile(0.5) > 50) == bool(old)


@pytest.mark.parametrize(("mechanism", "loss"), EVERY_CELL, ids=str)
def test_a_roc_curve_is_near_the_truth_and_comes_back(mechanism: Mechanism, loss: dp.PrivacyLoss) -> None:
    dice = np.random.default_rng(5)
    labels = dice.integers(0, 2, 5000).astype(np.float64)
    scores = (dice.normal(0.4 + 0.2 * labels, 0.15)).clip(0, 1)
    question = dp.RocQuestion("label", "score", dp.Grid(0, 1, cells=64), thresholds=dp.RocThresholds.FIXED)
    curve = asked(question, {"label": labels, "score": scores}, mechanism, loss, dp.REPLACE_ONE)
    assert isinstance(curve, ROC)
    truth = (scores[labels == 1][:, None] > scores[labels == 0]).mean()
    assert abs(curve.auc - truth) < 0.03
    low, high = curve.auc_interval(0.99)
    assert low < truth < high
    assert ROC.from_json(curve.to_json()).auc == curve.auc


def test_what_a_named_mechanism_cannot_do_is_refused_before_anything_is_charged() -> None:
    trust = Central(mechanism=SquareRoot())
    with dp.Session({"age": ages()}, budget=RHO, adjacency=dp.ADD_REMOVE, trust=trust) as session:
        with pytest.raises(dp.UnsupportedQuery, match="prefixes"):
            session.ask(dp.HistogramQuestion("age", GRID), RHO)
        assert session.remaining == RHO
