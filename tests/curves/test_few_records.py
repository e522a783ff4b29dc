"""Nobody, one record, one class, ties, infinities: defined ROC curves and residual plots, whatever is asked how."""

from __future__ import annotations

import numpy as np
import pytest
from baselines import UniformEstimator
from by_hand import answer, both

from dpcurves.curves import ROC, ResidualPlotQuestion, RocQuestion, RocThresholds, SmoothAucQuestion
from dpcurves.data import Grid
from dpcurves.histograms import (
    AdaptiveGridEstimator,
    AhpEstimator,
    CellEstimator,
    DawaEstimator,
    HierarchyEstimator,
    MwemEstimator,
    PriveletEstimator,
    PrivTreeEstimator,
    TableEstimator,
    UniformGridEstimator,
)
from dpcurves.privacy import DISJOINT_RECORDS, PrivacyLoss

LOSSES = (PrivacyLoss.pure("0.01"), PrivacyLoss.pure(10**6), PrivacyLoss.zcdp("0.1"))
SCORED = {
    "nobody": ([], []), "one record": ([1.0], [0.5]), "one negative at the end": ([0.0], [1.0]),
    "an empty class": ([1.0] * 30, np.linspace(0, 1, 30)), "all scores tied": ([1.0, 0.0] * 20, [0.3] * 40),
    "all scores 1": ([1.0, 0.0, 1.0], [1.0] * 3), "infinite": ([1.0, 0.0, 1.0], [np.inf, -np.inf, np.inf]),
    "missing": ([1.0, np.nan, 7.0], [np.nan, 0.2, 0.4]),
}  # fmt: skip
ESTIMATORS: tuple[TableEstimator, ...] = (
    AdaptiveGridEstimator(),
    AhpEstimator(),
    CellEstimator(),
    DawaEstimator(),
    HierarchyEstimator(),
    MwemEstimator(2),
    PrivTreeEstimator(),
    PriveletEstimator(),
    UniformGridEstimator(),
    UniformEstimator(),
)
PLOTTED = {
    "nobody": ([], []), "one record": ([0.3], [0.1]), "a constant prediction": ([0.5] * 40, np.linspace(-1, 1, 40)),
    "all alike": ([0.0] * 30, [0.0] * 30), "infinite residuals": ([0.2] * 9, [np.inf, -np.inf, 0.1] * 3),
    "missing": ([np.nan, 0.2, 0.4], [0.1, np.nan, 0.3]),
}  # fmt: skip


@pytest.mark.quick_share(12)
@pytest.mark.parametrize("columns", SCORED.values(), ids=list(SCORED))
@pytest.mark.parametrize("cuts", list(RocThresholds))
def test_every_roc_curve_rises_from_corner_to_corner(
    columns: tuple[list[float], list[float]], cuts: RocThresholds
) -> None:
    table, question = (
        {"y": np.array(columns[0]), "s": np.array(columns[1])},
        RocQuestion("y", "s", Grid(0, 1, cells=16), thresholds=cuts),
    )
    for loss in LOSSES:
        for adjacency in both(max(1, len(columns[0]))):
            roc = answer(question, table, loss, adjacency, seed=4)
            assert (roc.fpr[0], roc.tpr[0], roc.fpr[-1], roc.tpr[-1]) == (0, 0, 1, 1)
            assert (np.diff(roc.fpr) >= 0).all()
            assert (np.diff(roc.tpr) >= 0).all()
            assert np.isnan(roc.auc) or 0 <= roc.auc <= 1
            assert ROC.from_json(roc.to_json()).auc == pytest.approx(roc.auc, nan_ok=True)


@pytest.mark.parametrize("columns", SCORED.values(), ids=list(SCORED))
def test_every_area_is_one(columns: tuple[list[float], list[float]]) -> None:
    table = {"y": np.array(columns[0]), "s": np.array(columns[1])}
    for loss in LOSSES:
        for adjacency in both(max(1, len(columns[0]))):
            curve = answer(SmoothAucQuestion("y", "s"), table, loss, adjacency, seed=4)
            assert 0 <= curve.auc <= 1
            assert (curve.fpr[0], curve.tpr[0], curve.fpr[-1], curve.tpr[-1]) == (0, 0, 1, 1)


@pytest.mark.quick_share(12)
@pytest.mark.parametrize("columns", PLOTTED.values(), ids=list(PLOTTED))
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_every_estimator_leaves_a_density(estimator: TableEstimator, columns: tuple[list[float], list[float]]) -> None:
    table = {"f": np.array(columns[0]), "r": np.array(columns[1])}
    question = ResidualPlotQuestion("f", "r", 0.5, 0.5, 1, DISJOINT_RECORDS, 6, estimator)
    for adjacency, loss in zip(both(max(1, len(columns[0]))), (LOSSES[0], LOSSES[2]), strict=True):
        plot = answer(question, table, loss, adjacency, seed=4)
        assert plot.density.shape == (6, 6)
        assert plot.density.sum() == pytest.approx(1)
        assert (plot.density >= 0).all()
        assert 0 <= plot.outside <= 1
        assert np.isfinite(plot.points).all()
