from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpcurves.inference.areas import Pairs, RankedClassCounts, area_interval, estimate_area_spread, simulate_pair_noise

SILENT = [np.zeros((1000, 2, 4))]


@st.composite
def tables(draw: st.DrawFn) -> NDArray[np.float64]:
    cells = draw(st.integers(1, 6))
    row = st.lists(st.integers(0, 3), min_size=cells, max_size=cells)
    return np.array([draw(row), draw(row)], dtype=np.float64)


def interval_of(table: NDArray[Any], noise: list[NDArray[Any]] = SILENT, **options: Any) -> tuple[float, float]:
    return area_interval(RankedClassCounts(table, table / table.sum(axis=1, keepdims=True), noise), 0.95, **options)


def pairs_won(negative: NDArray[Any], positive: NDArray[Any]) -> float:
    return float(sum(p * (negative[:i].sum() + negative[i] / 2) for i, p in enumerate(positive)))


@given(tables())
def test_pairs_are_won_and_lost_as_by_the_best_and_the_worst_order_within_cells(table: NDArray[np.float64]) -> None:
    best, worst = np.zeros((2, 2, 2 * table.shape[1]))
    best[0, ::2], best[1, 1::2] = table
    worst[0, 1::2], worst[1, ::2] = table
    found, every = Pairs.from_counts(*table), table[0].sum() * table[1].sum()
    assert [float(each) for each in found] == [pairs_won(*best), every - pairs_won(*worst), every]


def test_without_noise_the_interval_is_what_ties_leave_open() -> None:
    table = np.array([[3.0, 2.0, 0.0, 5.0], [0.0, 1.0, 4.0, 5.0]])
    found = Pairs.from_counts(*table)
    expected = (1 - found.discordant / found.total, found.concordant / found.total)
    assert interval_of(table) == pytest.approx(expected, abs=1e-6)


def test_noise_that_may_have_made_a_class_leaves_every_area_open() -> None:
    chance = np.random.default_rng(1)
    noise = [chance.normal(0, 50, (400, 2, 4)), chance.normal(0, 50, (600, 2, 4))]
    table = np.array([[300.0, 300, 300, 300], [0.0, 1, 1, 2]])
    assert interval_of(table, noise) == (0, 1)


def test_all_draws_are_moved_at_once() -> None:
    chance = np.random.default_rng(1)
    table, noise = chance.integers(0, 9, (2, 4)).astype(float), chance.integers(-3, 4, (1, 5, 2, 4)).astype(float)
    found = simulate_pair_noise(table, list(noise))
    for draw in range(5):
        one, exact = Pairs.from_counts(*(table + noise[0, draw])), Pairs.from_counts(*table)
        assert [each[draw] for each in found] == [a - b for a, b in zip(one, exact, strict=True)]


def test_samples_scatter_as_many_of_them_do() -> None:
    """Areas of 1,000 samples: their standard deviation is known to 1/45 of itself, and 4 sigma are allowed."""
    chance, cells = np.random.default_rng(2), 400
    shares = np.array([np.linspace(2, 0, cells), np.linspace(0, 2, cells)]) / cells
    sizes, areas = (90, 40), []
    for _ in range(1000):
        table = np.array([chance.multinomial(size, share) for size, share in zip(sizes, shares, strict=True)])
        areas.append(pairs_won(*table) / (sizes[0] * sizes[1]))
    spread = estimate_area_spread(shares * np.array(sizes)[:, None], chance.normal(size=10))
    area = float(np.mean(areas))
    predicted = spread.scale * sqrt(area * (1 - area)) / (sizes[0] * sizes[1])
    assert predicted == pytest.approx(np.std(areas), rel=0.02 + 4 / sqrt(2 * 1000))


def test_where_all_pairs_are_won_samples_scatter_as_they_can_at_most() -> None:
    table = np.array([[50.0, 0, 0, 0], [0.0, 0, 0, 25]])
    spread = estimate_area_spread(table, np.random.default_rng(1).normal(size=1000))
    assert spread.scale / (50 * 25) == pytest.approx(sqrt(1 / 49 + 1 / 24))
    low, high = interval_of(table, sampling=np.random.default_rng(1))
    assert high == 1
    assert 0.7 < low < 0.95
