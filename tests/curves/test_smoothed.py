"""Smoothed distribution functions: the source paper's estimator behind a door."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from by_hand import answer
from scipy.optimize import isotonic_regression

import dpcurves as dp
from dpcurves.curves import CDF, CdfQuestion
from dpcurves.distributions import ToeplitzSums
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.smoothing import AtMost, estimate_prefixes, project_isotonic_l2

X = np.random.default_rng(2).beta(2, 5, 3000)
GRID = dp.Grid(0, 1, cells=32)
PURE = PrivacyLoss.pure("0.05")
ZCDP = PrivacyLoss.zcdp("0.02")
"""So many records in each cell that a square root of prefix sums counts them, where their number is public."""
TREE = CdfQuestion("x", GRID, hint=dp.Hint.ATOMS)
BOTH = (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, len(X)))


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize(
    ("question", "loss"),
    [(TREE, PURE), (CdfQuestion("x", GRID, method=dp.AdaptivePartition()), PURE), (TREE, ZCDP)],
    ids=["tree", "partition", "square root"],
)
def test_a_smoothed_curve_rises_from_nothing_to_all_and_stays_within_its_band(
    adjacency: Adjacency, p: int, question: CdfQuestion, loss: PrivacyLoss
) -> None:
    curve: CDF = answer(question, {"x": X}, loss, adjacency, seed=4)
    of_root = loss == ZCDP and adjacency.public_record_count is not None
    assert isinstance(curve.prefixes.evidence.distribution, ToeplitzSums) is of_root
    found = curve.smooth(p)
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
    np.testing.assert_allclose(curve.smooth(p).y, truth, atol=1e-9)


def test_points_that_are_left_out_are_interpolated() -> None:
    curve: CDF = answer(TREE, {"x": X}, PURE, BOTH[1], seed=4)
    found = curve.smooth(2, edges=(8, 16))
    between = np.interp(curve.x, curve.x[[0, 8, 16, 32]], found.y[[0, 8, 16, 32]])
    np.testing.assert_allclose(found.y, between, atol=1e-12)
    assert not np.allclose(found.y[[8, 16]], curve.smooth(2).y[[8, 16]])


def test_what_cannot_be_smoothed_is_refused() -> None:
    curve: CDF = answer(TREE, {"x": X}, PrivacyLoss.pure(1), BOTH[1], seed=4)
    with pytest.raises(ValueError, match="^p: must be 1 "):
        curve.smooth(3)
    with pytest.raises(ValueError, match=r"^edges: indices of edges from 0 to 32 are needed, as in \(1, 7\), got 40"):
        curve.smooth(2, edges=(40,))


def test_edges_that_were_not_counted_give_way_to_the_nearest_ones_and_a_note_says_so() -> None:
    """On the usual curve of three turns, with values outside clipped and apart."""
    for outside in dp.Outside:
        grid = dp.Grid(0, 1, cells=1024, outside=outside)
        curve: CDF = answer(CdfQuestion("x", grid), {"x": X}, PrivacyLoss.pure(1), BOTH[1], seed=4)
        declared, asked = curve.prefixes.declared_edges, np.arange(0, 1025, 32)
        counted = np.flatnonzero(curve.prefixes.measured_edges)
        with pytest.warns(dp.CurveWarning, match="of 33 edges to smooth at were not counted"):
            found = curve.smooth(2, edges=asked.tolist())
        assert found.smoothing is not None
        taken = found.smoothing.edges
        assert taken is not None
        assert set(taken) <= set(counted.tolist())
        nearest = np.abs(declared[asked][:, None] - counted).min(axis=1)
        assert (np.abs(declared[asked][:, None] - np.array(taken)).min(axis=1) == nearest).all()
        again = CDF.from_json(found.to_json())
        assert again.y.tolist() == found.y.tolist()
        assert again.notes == found.notes
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            same = np.flatnonzero(np.isin(declared, taken))
            assert curve.smooth(2, edges=same.tolist()).y.tolist() == found.y.tolist()


def test_counts_under_a_square_root_come_nearer_to_the_truth_by_smoothing() -> None:
    """In squares over variances, always; what is smoothed are the nearest counts that rise, by another solver."""
    truth, fell = np.cumsum(np.histogram(X, GRID.edges)[0]), 0
    for seed in range(10):
        evidence = answer(TREE, {"x": X}, ZCDP, BOTH[1], seed=seed).prefixes.evidence
        curve = estimate_prefixes(evidence.sums, evidence.values, evidence.total)
        found = project_isotonic_l2(curve.counts, curve.graph, AtMost(float(len(X))))
        weights = 1 / evidence.sums.prefix_variances(total_is_public=True)[0, 1:]
        rising = isotonic_regression(curve.counts, weights=weights).x.clip(0, len(X))
        np.testing.assert_allclose(found, rising, atol=1e-6)
        before, after = (np.sum(weights * (counts - truth) ** 2) for counts in (curve.counts, found))
        assert after <= before
        fell += after < before
    assert fell > 5


@pytest.mark.parametrize("loss", [PrivacyLoss.zcdp(1), ZCDP])
def test_a_session_answers_a_question_that_smooths_under_either_currency(loss: PrivacyLoss) -> None:
    with dp.Session({"x": X}, budget=loss, adjacency=dp.REPLACE_ONE) as session:
        curve = session.ask(CdfQuestion("x", GRID, hint=dp.Hint.ATOMS, smooth=2), loss)
    assert (np.diff(curve.y) >= 0).all()
