"""Bounds of sums and means that nobody gave: how far a tail reaches, from counts that tell its beginning alone."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.curves.adaptive_histogram import PilotEstimate, choose_clipping_bounds

DEVIATES = np.array([NormalDist().inv_cdf(part / 400_000) for part in range(1, 400_000, 2)])
DISTRIBUTIONS = {
    "normal": 50 + 3 * DEVIATES,
    "lognormal": np.exp(10 + 0.6 * DEVIATES),
    "exponential": -np.log((0.5 + np.arange(200_000)) / 200_000)[::-1],
    "pareto": ((0.5 + np.arange(200_000)) / 200_000)[::-1] ** -0.4,
}


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_tail_is_followed_beyond_what_noise_lets_stand_out(distribution: str, side: int) -> None:
    values = np.sort(side * DISTRIBUTIONS[distribution])
    ends = np.quantile(values, [0.0, 1.0])
    first, last = np.quantile(values, [0.01, 0.99])
    edges = np.unique(np.concatenate([np.linspace(first, last, 60), ends]))
    records = np.histogram(values, edges)[0] / 100  # 2,000 records
    seen = PilotEstimate(edges, records, records, 12.0, is_significant=True)
    wanted = np.quantile(values, 1 - 1.5 / 2000 if side > 0 else 1.5 / 2000)
    middle = np.median(values)
    assert 0.7 < (seen.extrapolate_tail(1.5, side) - middle) / (wanted - middle) < 1.4


def test_bounds_reach_beyond_what_stands_out_and_not_across_zero() -> None:
    edges = np.array([0.0, 10.0, 20.0, 30.0, 40.0, 100.0])
    records = np.array([500.0, 300.0, 150.0, 80.0, 0.0])
    bounds = choose_clipping_bounds(
        PilotEstimate(edges, records, records, 10.0, is_significant=True), 3.0, power=1, of_sum=False, rows=1
    )
    assert bounds[0] == 0
    assert 40 <= bounds[1] < 60
    one = np.array([0.0, 0.0, 900.0, 0.0, 0.0])
    low, high = choose_clipping_bounds(
        PilotEstimate(edges, one, one, 10.0, is_significant=True), 3.0, power=1, of_sum=False, rows=1
    )
    assert 18 < low <= 20
    assert 30 <= high < 32
    nothing = PilotEstimate(edges, records, records, 10.0, is_significant=False)
    assert choose_clipping_bounds(nothing, 3.0, power=1, of_sum=False, rows=1) == (0, 40)


def test_piles_of_records_do_not_hide_where_the_others_end() -> None:
    for seed in range(4):
        draw = np.random.default_rng(seed)
        piled = np.clip(draw.normal(100, 40, 2000), 60, 120)
        found = dp.mean(
            piled, bounds="auto", epsilon=1, adjacency=dp.ADD_REMOVE, randomness=dp.Randomness.from_seed(seed)
        )
        assert 40 < found.lower <= 62
        assert 119 <= found.upper < 200


def test_one_cell_of_noise_far_away_does_not_widen_bounds() -> None:
    edges = np.array([1.0, 2.0, 3.0, 4.0, 9000.0, 10_000.0])
    records = np.array([500.0, 700.0, 800.0, 0.0, 40.0])
    low, high = choose_clipping_bounds(
        PilotEstimate(edges, records, records, 21.0, is_significant=True), 3.0, power=1, of_sum=False, rows=1
    )
    assert 0 <= low <= 1
    assert high < 100


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("loss", ["0.001", "1000000"])
def test_bounds_are_numbers_at_any_loss(loss: str) -> None:
    for values in ([0.0] * 50, [5.0] * 50, [-1e300, 0.0, 1e300], [], np.linspace(-4, 900, 500).tolist()):
        found = dp.mean(values, bounds="auto", epsilon=loss, adjacency=dp.ADD_REMOVE)
        assert -np.inf < found.lower < found.upper < np.inf


RECORDS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "long tail": lambda draw: draw.pareto(2.5, 2000) + 1,
    "tied": lambda draw: draw.integers(0, 6, 2000).astype(float),
    "heaped": lambda draw: np.round(draw.lognormal(3, 1, 2000) / 5) * 5,
    "clipped": lambda draw: np.clip(draw.normal(100, 40, 2000), 60, 120),
    "zero-inflated": lambda draw: np.where(draw.random(2000) < 0.7, 0, draw.exponential(30, 2000)),
    "smooth": lambda draw: draw.normal(50, 10, 2000),
}


@pytest.mark.parametrize(
    "distribution",
    [each if each == "zero-inflated" else pytest.param(each, marks=pytest.mark.reproduction) for each in RECORDS],
)
def test_intervals_hold_the_mean_of_all_values_and_that_of_clipped_ones(distribution: str) -> None:
    held, far = np.zeros(2), []
    for seed in range(14):
        values = RECORDS[distribution](np.random.default_rng(seed))
        noise = dp.Randomness.from_seed(seed)
        found = dp.mean(values, bounds="auto", epsilon=1, adjacency=dp.ADD_REMOVE, randomness=noise)
        clipped = float(np.clip(values, found.lower, found.upper).mean())
        low, high = found.mean_interval(0.9)
        held += [low <= mean <= high for mean in (values.mean(), clipped)]
        far.append((high - low) / abs(values.mean()))
        assert "intervals of the sum and the mean are for all values" in found.notes[-1]
    assert min(held) > 5  # at 85% each, fewer come with a chance of 4e-5
    # 600 values above zero leave the tail to be extrapolated from few clear counts: such intervals are wide.
    assert np.median(far) < (10 if distribution == "zero-inflated" else 3)
