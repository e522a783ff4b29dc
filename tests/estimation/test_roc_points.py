from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpcurves.inference.areas import Pairs
from dpcurves.summaries import auc, auc_of_counts, roc_points


@st.composite
def tables(draw: st.DrawFn, least: int, most: int) -> NDArray[np.float64]:
    cells = draw(st.integers(1, 8))
    row = st.lists(st.integers(least, most), min_size=cells, max_size=cells)
    return np.array([draw(row), draw(row)], dtype=np.float64)


def pairs_won(positive: NDArray[np.float64], negative: NDArray[np.float64]) -> float:
    won = sum(p * n * ((i > j) + (i == j) / 2) for i, p in enumerate(positive) for j, n in enumerate(negative))
    return float(won / (positive.sum() * negative.sum()))


@given(tables(0, 5).filter(lambda table: table.sum(axis=1).min() > 0))
def test_exact_counts_give_the_chance_to_win_a_pair(table: NDArray[np.float64]) -> None:
    exact = pairs_won(*table)
    assert auc_of_counts(*table) == pytest.approx(exact)
    assert auc(*roc_points(*table)) == pytest.approx(exact)


@given(tables(0, 5).filter(lambda table: table.sum(axis=1).min() > 0))
def test_points_are_the_rates_above_each_threshold(table: NDArray[np.float64]) -> None:
    fpr, tpr = roc_points(*table)
    for i in range(table.shape[1] + 1):
        top = table[:, table.shape[1] - i :].sum(axis=1) / table.sum(axis=1)
        assert (tpr[i], fpr[i]) == pytest.approx(tuple(top))


@given(tables(-6, 9))
def test_a_curve_rises_from_corner_to_corner_whatever_the_noise(table: NDArray[np.float64]) -> None:
    for rate in roc_points(*table):
        assert len(rate) == table.shape[1] + 1
        assert (rate[0], rate[-1]) == (0, 1)
        assert np.all(np.diff(rate) >= 0)


@pytest.mark.parametrize("empty", [[0.0, 0.0, 0.0], [-4.0, 1.0, -2.0], [0.0, 0.4, 0.0]])
def test_a_class_without_mass_gives_the_diagonal(empty: list[float]) -> None:
    none, some = np.array(empty), np.array([1.0, 2.0, 3.0])
    for table in ((none, some), (some, none), (none, none)):
        fpr, tpr = roc_points(*table)
        assert fpr.tolist() == tpr.tolist() == [0, 1 / 3, 2 / 3, 1]
        assert auc(fpr, tpr) == auc_of_counts(*table) == 0.5


def test_high_scores_are_positive() -> None:
    low, high = np.array([5.0, 0.0]), np.array([0.0, 5.0])
    assert auc_of_counts(positive=high, negative=low) == 1
    assert auc_of_counts(positive=low, negative=high) == 0


def test_one_cell_is_one_tie() -> None:
    assert auc_of_counts(np.array([4.0]), np.array([9.0])) == 0.5


def test_areas_are_taken_for_all_draws_at_once() -> None:
    table = np.random.default_rng(1).integers(1, 9, (2, 3, 5, 6)).astype(np.float64)
    areas = auc_of_counts(table[0], table[1])
    assert areas.shape == (3, 5)
    assert areas[2, 4] == pytest.approx(pairs_won(table[0, 2, 4], table[1, 2, 4]))


@given(tables(0, 3).filter(lambda table: table.sum(axis=1).min() > 0))
def test_the_ends_of_the_area_are_reached_by_the_worst_and_the_best_order_within_cells(
    table: NDArray[np.float64],
) -> None:
    positive, negative = table
    pairs = Pairs.from_counts(negative, positive)
    lowest, highest = 1 - pairs.discordant / pairs.total, pairs.concordant / pairs.total
    worst, best = np.zeros((2, 2, 2 * table.shape[1]))
    worst[0, ::2], worst[1, 1::2] = table
    best[0, 1::2], best[1, ::2] = table
    assert (lowest, highest) == pytest.approx((pairs_won(*worst), pairs_won(*best)))
