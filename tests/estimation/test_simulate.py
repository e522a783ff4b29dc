"""Seeds are fixed. Each comparison with a distribution raises a false alarm with the chance of 4 sigma, 6e-5."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from dense_least_squares import dense_least_squares
from numpy.typing import NDArray
from scipy.stats import chi2, norm

from dpcurves.distributions import Family, IntervalSums, Noise, Tier
from dpcurves.distributions import output_distribution as simulation
from dpcurves.distributions.output_distribution import WIDE_GAUSSIAN, WIDE_LAPLACE, simulate_noise
from dpcurves.summaries import counts_to_prefixes

LAPLACE, GAUSSIAN = Noise(Family.LAPLACE, Fraction(7, 2)), Noise(Family.GAUSSIAN, Fraction(9, 2))
TREE = IntervalSums(2, 7, (Tier((0, 4), LAPLACE), Tier((0, 2, 4, 6), GAUSSIAN), Tier(range(7), LAPLACE)), LAPLACE)
MERGED = IntervalSums(1, 9, (Tier(range(0, 9, 4), GAUSSIAN), Tier(range(0, 9, 2), LAPLACE)), missing=None)
ALARM = 2 * norm.sf(4)


def exact_chances(noise: Noise, support: NDArray[np.int64]) -> NDArray[np.float64]:
    size, parameter = np.abs(support).astype(np.float64), float(noise.parameter)
    weights = np.exp(-size / parameter) if noise.family is Family.LAPLACE else np.exp(-(size**2) / (2 * parameter))
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("parameter", [Fraction(1, 3), Fraction(2), Fraction(40)])
def test_draws_follow_the_exact_distribution(family: Family, parameter: Fraction) -> None:
    noise = Noise(family, parameter)
    support = np.arange(-3000, 3001)
    expected = 200_000 * exact_chances(noise, support)
    found = simulate_noise(noise, (200_000,), np.random.default_rng(5))
    seen = np.bincount(found.astype(np.int64) + 3000, minlength=len(support))
    common = expected >= 20
    expected = np.append(expected[common], expected[~common].sum() + 1e-9)
    seen = np.append(seen[common], seen[~common].sum())
    statistic = ((seen - expected) ** 2 / np.maximum(expected, 1)).sum()
    assert chi2.sf(statistic, len(expected) - 1) > ALARM


def test_few_draws_of_gaussian_noise_follow_the_distribution_that_many_do() -> None:
    """Many draws are looked up in a table, few are not: each is compared with the exact chances."""
    noise, support = Noise(Family.GAUSSIAN, Fraction(9, 2)), np.arange(-6, 7)
    chances = exact_chances(noise, np.arange(-100, 101))[94:107]
    for draws, times in ((2000, 100), (200_000, 1)):
        generator = np.random.default_rng(13)
        found = np.concatenate([simulate_noise(noise, (draws,), generator) for _ in range(times)])
        seen = np.count_nonzero(found[:, None] == support, axis=0)
        assert np.all(np.abs(seen / len(found) - chances) <= 4 * np.sqrt(chances / len(found)))


@pytest.mark.parametrize(
    "noise",
    [
        Noise(Family.GAUSSIAN, Fraction(int(WIDE_GAUSSIAN) - 1)),
        Noise(Family.GAUSSIAN, Fraction(int(WIDE_GAUSSIAN) + 1)),
        Noise(Family.LAPLACE, Fraction(int(WIDE_LAPLACE) - 1)),
        Noise(Family.LAPLACE, Fraction(int(WIDE_LAPLACE) + 1)),
        Noise(Family.LAPLACE, Fraction(2**51)),
    ],
)
def test_wide_distributions_have_their_variance_on_both_sides_of_the_border(noise: Noise) -> None:
    found = simulate_noise(noise, (100_000,), np.random.default_rng(6))
    assert np.array_equal(found, np.rint(found))
    sigma = sqrt(5 / 100_000)  # relative, for a Laplace distribution; a Gaussian one has less
    assert np.mean((found / sqrt(noise.variance)) ** 2) == pytest.approx(1, abs=4 * sigma)


@pytest.mark.parametrize("family", Family)
def test_noise_too_small_to_see_is_none(family: Family) -> None:
    assert not simulate_noise(Noise(family, Fraction(1, 10**6)), (1000,), np.random.default_rng(7)).any()


@pytest.mark.parametrize("distribution", [TREE, MERGED])
@pytest.mark.parametrize("total", [None, 100])
def test_errors_have_the_covariance_of_least_squares(distribution: IntervalSums, total: int | None) -> None:
    chunks = list(distribution.simulate(total, 40_000, np.random.default_rng(8)))
    cells = np.concatenate([chunk.reshape(len(chunk), -1) for chunk, _ in chunks])
    missing = np.concatenate([part for _, part in chunks])
    draws = np.column_stack([cells, missing]) if distribution.missing is not None else cells
    exact = dense_least_squares(distribution, np.zeros(distribution.size), None if total is None else 0).covariance
    spread = np.sqrt(np.outer(exact.diagonal(), exact.diagonal()))
    sigma = np.sqrt(6 / 40_000) * spread  # E x^4 is at most 6 sigma^4 for sums of Laplace and Gaussian noise
    assert np.all(np.abs(draws.T @ draws / 40_000 - exact) <= 4 * sigma + 1e-9)


def test_simulated_prefixes_agree_with_the_variances_that_plans_promise() -> None:
    cells = np.concatenate([chunk for chunk, _ in TREE.simulate(100, 40_000, np.random.default_rng(9))])
    found = np.mean(counts_to_prefixes(cells) ** 2, axis=0)
    promised = TREE.prefix_variances(total_is_public=True)
    np.testing.assert_allclose(found, promised, rtol=4 * sqrt(5 / 40_000), atol=1e-9)


def test_a_public_total_leaves_no_error_in_the_sum() -> None:
    ((cells, missing),) = TREE.simulate(100, 50, np.random.default_rng(10))
    np.testing.assert_allclose(cells.sum(axis=(1, 2)) + missing, 0, atol=1e-9)


def test_draws_come_in_chunks_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "VALUES_PER_CHUNK", 10 * TREE.size)
    sizes = [len(missing) for _, missing in TREE.simulate(None, 25, np.random.default_rng(11))]
    assert sizes == [10, 10, 5]


def test_a_seed_draws_the_same_again() -> None:
    one, other = (next(TREE.simulate(None, 5, np.random.default_rng(12)))[0] for _ in range(2))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("distribution", [TREE, MERGED])
@pytest.mark.parametrize("total", [None, 100])
def test_what_each_value_does_to_the_cells_adds_up_to_their_covariance(
    distribution: IntervalSums, total: int | None
) -> None:
    sources = distribution.noise_by_source(total).reshape(distribution.size, -1)
    cells = np.concatenate([chunk for chunk, _ in distribution.simulate(total, 40_000, np.random.default_rng(8))])
    seen, expected = np.cov(cells.reshape(40_000, -1).T), sources.T @ sources
    largest = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.abs(seen - expected).max() <= 4 * np.sqrt(5 / 40_000) * largest.max()


@pytest.mark.parametrize("total", [None, 0])
def test_sums_of_intervals_need_no_cells(total: int | None) -> None:
    distribution = IntervalSums(1, 9, (*MERGED.levels,), LAPLACE)
    noise = distribution.simulate_values(5, np.random.default_rng(1))
    cells, short = (
        each.reconstruct(noise, total)[0][:, 0] for each in (distribution, distribution.interval_distribution)
    )
    np.testing.assert_allclose(
        np.cumsum(short, axis=-1), np.cumsum(cells, axis=-1)[:, distribution.bounds[1:] - 1], atol=1e-9
    )


@pytest.mark.parametrize(
    "distribution", [IntervalSums(1, 9, MERGED.levels, LAPLACE), IntervalSums(1, 7, TREE.levels, LAPLACE)]
)
def test_noise_of_prefixes_has_the_variances_that_are_exact(distribution: IntervalSums) -> None:
    noise = np.concatenate(
        list(distribution.simulate_prefixes(total=1, draws=5000, generator=np.random.default_rng(3)))
    )
    exact = distribution.prefix_variances(total_is_public=True)[0][distribution.bounds]
    assert noise.shape == (5000, len(distribution.bounds))
    np.testing.assert_allclose((noise**2).mean(axis=0), exact, rtol=4 * sqrt(5 / 5000))  # kurtosis is 6 at most
