from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpcurves as dp

X = np.random.default_rng(3).beta(2, 3, size=400)
GRID = dp.Grid(0, 1, cells=32)
Y = (X > 0.4).astype(int)


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("loss", [{"epsilon": 1.0}, {"rho": "0.5"}], ids=str)
@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_every_face_answers_in_either_currency_and_either_adjacency(adjacency: Any, loss: dict[str, Any]) -> None:
    both: dict[str, Any] = {"adjacency": adjacency, **loss}
    assert dp.cdf(X, grid=GRID, **both).y[-1] == 1
    assert len(dp.quantiles(X, [0.5], grid=GRID, **both).x) == 1
    assert len(dp.histogram(X, grid=GRID, **both).count) == 32
    assert dp.bounds(X, unit=0.5, coverage=0.9, **both).upper > 0
    assert 0 <= dp.roc_curve(Y, X, **both).auc <= 1
    assert 0 <= dp.scores(Y, X, **both).value("auc") <= 1
    assert len(dp.calibration_curve(Y, X, groups=3, **both).count) <= 3
    assert 0 < dp.hosmer_lemeshow(Y, X, groups=3, **both).p_value <= 1
    assert len(dp.binned_residuals(Y, X, model=dp.PUBLIC_MODEL, **both).count) <= 16
    units: dict[str, Any] = {"unit_predicted": 0.5, "unit_residual": 0.5, "coverage": 0.9}
    assert dp.residual_plot(X, Y - X, model=dp.PUBLIC_MODEL, **units, **both).density.shape == (64, 64)


@pytest.mark.parametrize("loss", [{}, {"epsilon": 1, "rho": 1}])
def test_exactly_one_loss_is_given(loss: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^epsilon: give either"):
        dp.cdf(X, grid=GRID, adjacency=dp.REPLACE_ONE, **loss)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "many"])
def test_a_loss_that_is_no_number_above_zero_is_refused(epsilon: Any) -> None:
    with pytest.raises(ValueError, match=r"^epsilon: "):
        dp.cdf(X, grid=GRID, epsilon=epsilon, adjacency=dp.REPLACE_ONE)


def test_arrays_that_do_not_fit_are_refused_without_their_lengths() -> None:
    with pytest.raises(ValueError, match=r"the arrays differ in length") as refusal:
        dp.roc_curve(Y[:-1], X, epsilon=1, adjacency=dp.ADD_REMOVE)
    assert "399" not in str(refusal.value)
    with pytest.raises(ValueError, match=r"^values: a list, a series"):
        dp.cdf(X.reshape(2, -1), grid=GRID, epsilon=1, adjacency=dp.REPLACE_ONE)


def test_nothing_but_numbers_reaches_the_curve() -> None:
    odd = [1.0, None, float("nan"), float("inf"), -1e308, 5e-324, 2**63]
    curve = dp.cdf(odd, grid=GRID, epsilon=10**6, adjacency=dp.REPLACE_ONE)
    assert curve.count == pytest.approx(5)


def test_labels_may_be_booleans_or_words() -> None:
    words = np.where(Y == 1, "late", "early")
    by_word = dp.roc_curve(words, X, pos_label="late", neg_label="early", epsilon=10**6, adjacency=dp.REPLACE_ONE)
    by_truth = dp.roc_curve(Y.astype(bool), X, pos_label=True, epsilon=10**6, adjacency=dp.REPLACE_ONE)
    assert by_word.auc == pytest.approx(by_truth.auc)
    assert by_word.auc > 0.99


def test_a_loss_that_is_no_whole_billionth_is_paid() -> None:
    bars = dp.histogram([1, 1, 2], grid=dp.Grid(0, 4, cells=4), epsilon=Fraction(1, 3), adjacency=dp.ADD_REMOVE)
    assert bars.privacy.epsilon == pytest.approx(1 / 3)
