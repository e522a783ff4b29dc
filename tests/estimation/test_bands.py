"""Seeds are fixed. Coverage is compared with its level less 4 sigma: a false alarm has chance 3e-5."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, comb, fsum, sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpcurves.distributions import Family, IntervalSums, Noise, Tier, least_squares
from dpcurves.inference import (
    basic_interval,
    dkw_bound,
    monotone_hull,
    simultaneous_band,
    simultaneous_errors,
    upper_quantile,
)
from dpcurves.inference.bands import TUNING, end_level, safe_rank
from dpcurves.inference.moments import largest_absolute_interval
from dpcurves.inference.simulation import choose_draws
from dpcurves.summaries import counts_to_prefixes

TRUTH = np.array([3, 0, 0, 14, 20, 31, 0, 2, 2, 8, 0, 20])
TOTAL = int(TRUTH.sum())
NOISE = Noise(Family.LAPLACE, Fraction(4))
FINE = IntervalSums(1, 12, (Tier(range(0, 12, 4), NOISE), Tier(range(12), NOISE)), missing=None)
MERGED = IntervalSums(1, 12, (Tier(range(0, 12, 6), NOISE), Tier(range(0, 12, 3), NOISE)), missing=None)
RELEASES = 400


def curve_of(distribution: IntervalSums, values: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(counts_to_prefixes(least_squares(distribution, values, TOTAL).cells)[0] / TOTAL)


def deviations_of(distribution: IntervalSums, draws: int) -> NDArray[np.float64]:
    return np.concatenate(list(distribution.simulate_prefixes(TOTAL, draws, np.random.default_rng(2)))) / TOTAL


def releases_of(distribution: IntervalSums) -> NDArray[np.int64]:
    exact = np.concatenate([np.add.reduceat(TRUTH, np.asarray(level.starts)) for level in distribution.levels])
    return exact + distribution.simulate_values(RELEASES, np.random.default_rng(3)).astype(np.int64)


@pytest.mark.parametrize("distribution", [FINE, MERGED])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_band_holds_the_whole_curve_as_often_as_it_says(distribution: IntervalSums, level: float) -> None:
    exact = counts_to_prefixes(TRUTH[None].astype(np.float64))[0] / TOTAL
    deviations, held = [deviations_of(distribution, 999)], 0
    for values in releases_of(distribution):
        lower, upper = simultaneous_band(curve_of(distribution, values), deviations, level, distribution.measured_edges)
        held += bool(np.all((lower <= exact + 1e-9) & (exact <= upper + 1e-9)))
    assert held / RELEASES >= level - 4 * sqrt(level * (1 - level) / RELEASES)


def test_an_interval_holds_the_truth_as_often_as_it_says() -> None:
    exact, deviations, held = TRUTH[:5].sum() / TOTAL, deviations_of(FINE, 999)[:, 5], 0
    for values in releases_of(FINE):
        lower, upper = basic_interval(float(curve_of(FINE, values)[5]), deviations, 0.9)
        held += bool(lower <= exact <= upper)
    assert abs(held / RELEASES - 0.9) <= 4 * sqrt(0.09 / RELEASES)


def test_a_band_is_exact_where_there_is_no_noise() -> None:
    distribution = IntervalSums(1, 12, (Tier(range(12), NOISE),), missing=None)
    lower, upper = simultaneous_band(
        curve_of(distribution, releases_of(distribution)[0]), [deviations_of(distribution, 99)], 0.9
    )
    assert (lower[0], upper[0]) == (0, 0)
    assert lower[-1] == upper[-1] == pytest.approx(1)


def test_without_any_noise_the_band_is_the_curve() -> None:
    curve = np.array([0.0, 0.25, 1.0])
    lower, upper = simultaneous_band(curve, [np.zeros((99, 3))], 0.95)
    assert lower.tolist() == upper.tolist() == curve.tolist()


def test_edges_inside_merged_cells_span_both_neighbours() -> None:
    known = MERGED.measured_edges
    lower, upper = simultaneous_band(curve_of(MERGED, releases_of(MERGED)[0]), [deviations_of(MERGED, 99)], 0.9, known)
    for start in range(0, 12, 3):
        assert np.all(lower[start + 1 : start + 3] == lower[start])
        assert np.all(upper[start + 1 : start + 3] == upper[start + 3])


@given(st.lists(st.tuples(st.floats(-0.5, 1.5), st.floats(0, 0.5)), min_size=1, max_size=8))
def test_a_hull_rises_stays_in_order_and_loses_no_curve(points: list[tuple[float, float]]) -> None:
    centre, half = np.array(points).T
    lower, upper = monotone_hull(centre - half, centre + half)
    assert np.all(np.diff(lower) >= 0)
    assert np.all(np.diff(upper) >= 0)
    assert np.all((lower >= 0) & (lower <= upper) & (upper <= 1))
    inside = np.maximum.accumulate(np.clip(centre - half, 0, 1))  # the lowest rising curve above the lower side
    if np.all(inside <= centre + half):
        assert np.all((lower <= inside) & (inside <= upper))


@given(st.integers(1, 300), st.floats(0.01, 0.99))
def test_a_quantile_is_passed_by_one_more_draw_as_rarely_as_it_says(draws: int, level: float) -> None:
    if level * (draws + 1) > draws:
        with pytest.raises(ValueError, match="needs more than"):
            upper_quantile(np.arange(1.0, draws + 1), level)
    else:
        rank = upper_quantile(np.arange(1.0, draws + 1), level)  # a new draw is above it with chance 1 - rank/(draws+1)
        assert rank / (draws + 1) >= level - 1e-9


@given(st.integers(1, 300), st.floats(0.01, 0.99))
def test_the_rank_is_the_least_of_which_few_simulations_hold_less_than_the_level(draws: int, level: float) -> None:
    """The chance that so many draws or more lie below a quantile, added up term by term."""

    def unlucky(rank: int) -> float:
        part = max(level - TUNING.slack, 0.0)
        return fsum(
            comb(draws, below) * part**below * (1 - part) ** (draws - below) for below in range(rank, draws + 1)
        )

    least = ceil(level * (draws + 1) - 1e-9)
    assume(least <= draws)
    rank = safe_rank(draws, level)
    assert rank == draws or unlucky(rank) <= TUNING.risk * (1 + 1e-9)
    assert rank == least or unlucky(rank - 1) > TUNING.risk * (1 - 1e-9)


def test_few_simulations_miss_a_level_by_more_than_a_fifth_of_a_point_and_none_is_far_above_it() -> None:
    """Takes 2,000 simulations (4 sigma of the share that may be unlucky), where the level that each holds is exact."""
    rank, chance = safe_rank(choose_draws(100), 0.95), np.random.default_rng(6)
    held = chance.beta(rank, choose_draws(100) + 1 - rank, 2000)
    assert np.mean(held < 0.95 - TUNING.slack) <= TUNING.risk + 4 * sqrt(TUNING.risk / 2000)
    assert 0.95 < held.mean() < 0.955


@pytest.mark.parametrize("rows", [50, 300, 1000])
def test_a_simulation_in_chunks_is_as_wide_as_one_at_once(rows: int) -> None:
    """Both order statistics of the maxima of 6,000 draws: 4 sigma of their levels lie within 2 percent."""
    deviations = np.cumsum(np.random.default_rng(5).laplace(size=(6000, 40)), axis=1)
    whole = simultaneous_errors([deviations], 0.9)
    chunks = (deviations[first : first + rows] for first in range(0, len(deviations), rows))
    np.testing.assert_allclose(np.median(simultaneous_errors(chunks, 0.9) / whole), 1, atol=0.02)


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, 1.5, float("nan")])
def test_levels_outside_zero_and_one_are_refused(level: float) -> None:
    with pytest.raises(ValueError, match="level: a number between 0 and 1"):
        upper_quantile(np.arange(9.0), level)
    with pytest.raises(ValueError, match="level: a number between 0 and 1"):
        dkw_bound(10, level)


@pytest.mark.parametrize("units", [0, -3, float("inf"), float("nan")])
def test_sampling_needs_units(units: float) -> None:
    with pytest.raises(ValueError, match="units: the number of units must be above 0"):
        dkw_bound(units, 0.9)


def test_the_sampling_bound_holds_for_the_uniform_distribution() -> None:
    generator, held = np.random.default_rng(4), 0
    for _ in range(RELEASES):
        sample = np.sort(generator.random(50))
        ranks = np.arange(51) / 50
        distance = max(np.max(ranks[1:] - sample), np.max(sample - ranks[:-1]))
        held += bool(distance <= dkw_bound(50, 0.9))
    assert held / RELEASES >= 0.9 - 4 * sqrt(0.09 / RELEASES)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_a_number_between_two_ends_is_missed_no_oftener_than_where_it_lies_at_one_of_them(level: float) -> None:
    from scipy.stats import norm

    for apart in (0.0, 0.1, 1.0, 2.5, 40.0):
        own = norm.ppf(end_level(apart, level))
        held = norm.cdf(own + apart * np.linspace(0, 1, 21)) + norm.cdf(own + apart * np.linspace(1, 0, 21)) - 1
        assert held.min() >= level - 1e-9
        assert held.min() <= max(level, 0.51) + 1e-9


def test_the_largest_number_is_at_most_what_its_own_error_allows() -> None:
    """Before, the largest error of any number was added to the largest estimate."""
    errors = np.random.default_rng(8).normal(size=(4000, 2)) * [0.1, 3.0]
    own = np.array([99.0, 97.0]) + np.quantile(errors, 0.975, axis=0)
    _, high = largest_absolute_interval(np.array([99.0, 97.0]), errors, 0.95)
    assert own.max() - 0.1 < high < own.max() + 0.6 < 99 + np.quantile(errors[:, 1], 0.975)


@pytest.mark.reproduction
@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("shape", ["flat", "one", "few", "none"])
def test_the_largest_of_several_numbers_is_held_wherever_it_lies(shape: str, level: float) -> None:
    """At least as often as said; where the largest one stands out, no oftener (4 sigma of 600 releases)."""
    chance, numbers, allowed = np.random.default_rng(8), 30, 4 * sqrt(level * (1 - level) / 600)
    truth = {"flat": np.full(numbers, 9.0), "one": np.where(np.arange(numbers) == 4, -20.0, 1.0),
             "few": 9 - np.abs(np.arange(numbers) - 15.0) / 2, "none": np.zeros(numbers)}[shape]  # fmt: skip
    errors, held = np.cumsum(chance.normal(size=(1000, numbers)), axis=1) / 4, 0
    for _ in range(600):
        found = truth + np.cumsum(chance.normal(size=numbers)) / 4
        low, high = largest_absolute_interval(found, errors, level)
        held += low <= np.abs(truth).max() <= high
    assert held / 600 >= level - allowed
    if shape == "one":
        assert held / 600 <= (1 + level + 0.1 * (1 - level)) / 2 * 2 - 1 + allowed
