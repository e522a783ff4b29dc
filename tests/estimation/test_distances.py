from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpcurves.summaries import Distribution, area_between, energy_between, largest_gap

UNIFORM = Distribution.from_curve([0, 1], [0, 1])
CASES = 200


def test_distances_of_weighted_samples_are_those_of_scipy() -> None:
    generator = np.random.default_rng(1)
    for _ in range(CASES):
        whole = generator.integers(0, 20, generator.integers(1, 30))
        broken = generator.normal(5, 5, generator.integers(1, 30)).round(1)
        weights = generator.random(len(whole)), generator.integers(1, 4, len(broken))
        a, b = Distribution.from_sample(whole, weights[0]), Distribution.from_sample(broken, weights[1])
        expected = stats.wasserstein_distance(whole, broken, *weights)
        assert area_between(a, b) == pytest.approx(expected, rel=1e-12, abs=1e-13)
        assert energy_between(a, b) == pytest.approx(stats.energy_distance(whole, broken, *weights), rel=1e-12)


def test_the_largest_gap_of_samples_is_the_statistic_of_scipy() -> None:
    generator = np.random.default_rng(2)
    for _ in range(CASES):
        a, b = generator.integers(0, 9, generator.integers(5, 20)), generator.integers(0, 9, generator.integers(5, 20))
        gap = largest_gap(Distribution.from_sample(a), Distribution.from_sample(b))
        assert gap == pytest.approx(stats.ks_2samp(a, b, method="exact").statistic, abs=1e-14)


def test_a_straight_line_is_the_limit_of_steps() -> None:
    middles = (np.arange(10**5) + 0.5) / 10**5
    other = Distribution.from_curve([-1, 0.25, 0.5, 3], [0.1, 0.2, 0.7, 0.8])
    fine = Distribution.from_sample(middles)
    for distance in (largest_gap, area_between, energy_between):
        assert distance(UNIFORM, other) == pytest.approx(distance(fine, other), abs=1e-4)


def test_lines_that_cross_enclose_two_triangles() -> None:
    bent = Distribution.from_curve([0, 0.5, 1], [0, 0.5, 1])
    assert area_between(UNIFORM, bent) == energy_between(UNIFORM, bent) == largest_gap(UNIFORM, bent) == 0
    crossing = Distribution.from_curve([0, 1 / 3, 2 / 3, 1], [0, 2 / 3, 1 / 3 + 1e-9, 1])  # falls, to cross in a cell
    assert area_between(UNIFORM, crossing) == pytest.approx(4 * (1 / 6 * 1 / 3) / 2 + 2 * (1 / 6 * 1 / 3) / 2)
    assert largest_gap(UNIFORM, crossing) == pytest.approx(1 / 3)


def test_a_point_and_a_line_are_apart_on_both_sides_of_the_jump() -> None:
    point = Distribution.from_sample([0.25])
    assert largest_gap(UNIFORM, point) == 0.75
    assert area_between(UNIFORM, point) == pytest.approx((0.25**2 + 0.75**2) / 2, rel=1e-15)
    assert energy_between(UNIFORM, point) == pytest.approx(np.sqrt(2 * (0.25**3 + 0.75**3) / 3), rel=1e-15)


def test_what_lies_outside_of_the_edges_lies_on_the_first_and_the_last() -> None:
    outer = Distribution.from_curve([0, 1], [0.25, 0.5])  # a quarter below, half above, a quarter in between
    ends = Distribution.from_sample([0, 1], [0.25, 0.5 + 0.25])
    assert area_between(outer, ends) == pytest.approx(0.25 / 2)
    assert largest_gap(outer, ends) == pytest.approx(0.25)
    assert largest_gap(outer, Distribution.from_sample([1])) == 0.5


def test_curves_of_different_grids_meet_on_the_union_of_edges() -> None:
    a = Distribution.from_curve([0, 2, 4], [0, 1, 1])
    b = Distribution.from_curve([1, 3], [0, 1])
    assert largest_gap(a, b) == 0.5
    assert area_between(a, b) == pytest.approx(1.0)  # each is the other, moved by 1
    assert energy_between(a, b) == pytest.approx(np.sqrt(2 * (3 * 0.25 - 2 * (0.25 - 1 / 12))), rel=1e-12)


def test_distances_are_metrics() -> None:
    generator = np.random.default_rng(3)
    for _ in range(50):
        a, b, c = (_drawn(generator) for _ in range(3))
        for distance in (largest_gap, area_between, energy_between):
            assert distance(a, b) == pytest.approx(distance(b, a), abs=1e-15)
            assert distance(a, a) == 0
            assert distance(a, c) <= distance(a, b) + distance(b, c) + 1e-12


def test_missing_values_are_left_out() -> None:
    assert largest_gap(Distribution.from_sample([1, np.nan, 2]), Distribution.from_sample([1, 2])) == 0


@pytest.mark.parametrize("values", [[], [np.nan], [np.inf], [[1.0, 2.0]]])
def test_samples_without_a_distribution_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="^sample: "):
        Distribution.from_sample(values)


@pytest.mark.parametrize("weights", [[1.0], [-1.0, 2.0], [0.0, 0.0], [np.inf, 1.0]])
def test_weights_that_are_none_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="^sample: "):
        Distribution.from_sample([1, 2], weights)


def _drawn(generator: np.random.Generator) -> Distribution:
    if generator.random() < 0.5:
        return Distribution.from_sample(generator.integers(0, 5, 6), generator.random(6))
    x = np.cumsum(generator.random(5))
    return Distribution.from_curve(x, np.sort(generator.random(5)))
