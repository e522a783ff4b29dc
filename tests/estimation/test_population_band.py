"""Bands and intervals for the population hold as often as they say: noise and sampling are bounded together."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy.stats import beta, binom

from dpcurves.inference import Sample, mean_intervals, population_band, simultaneous_band
from dpcurves.inference.bands import clip_unseen_shares, simultaneous_mean_ends

LEVEL, RELEASES, DRAWS = 0.9, 400, 1000
ALLOWED = 4 * sqrt(LEVEL * (1 - LEVEL) / RELEASES)  # 4 sigma: a false alarm in 1 of 16,000
EVEN = np.linspace(0, 1, 21)[1:-1]


@pytest.mark.parametrize(("scale", "units"), [(0.5, 400), (6.0, 400), (40.0, 400)])
def test_a_band_holds_a_smooth_distribution_as_often_as_it_says_and_no_oftener(scale: float, units: int) -> None:
    """Sampling is most of it, as much as noise, and next to nothing."""
    chance = np.random.default_rng(1)
    noise = np.cumsum(chance.laplace(0, scale, (DRAWS, len(EVEN))), axis=1) / units
    held = 0
    for _ in range(RELEASES):
        passed = chance.multinomial(units, np.diff(EVEN, prepend=0, append=1))[:-1] + chance.laplace(
            0, scale, len(EVEN)
        )
        found = np.cumsum(passed) / units
        likely = clip_unseen_shares(np.maximum.accumulate(np.clip(found, 0, 1)), units)
        lower, upper = population_band(found, [noise], LEVEL, Sample(likely, units, chance))
        held += bool(((lower <= EVEN) & (upper >= EVEN)).all())
    assert abs(held / RELEASES - LEVEL) <= ALLOWED


@pytest.mark.parametrize("share", [0.0005, 0.002, 0.004, 0.01, 0.5])
def test_a_rare_share_is_held_without_noise_too(share: float) -> None:
    """The coverage at one edge, exact but for the simulation, which is held to half a point."""
    units, chance, held = 1000, np.random.default_rng(2), 0.0
    below = np.arange(binom.ppf(1e-4, units, share), binom.ppf(1 - 1e-4, units, share) + 1)
    for found in below / units:
        sample = Sample(clip_unseen_shares(np.array([0.0, found, 1.0]), units), units, chance)
        lower, upper = population_band(np.array([0, found, 1.0]), [np.zeros((DRAWS, 3))], LEVEL, sample)
        held += binom.pmf(round(found * units), units, share) * bool(lower[1] <= share <= upper[1])
    assert held >= LEVEL - 0.005


def test_a_band_for_the_population_is_nowhere_inside_that_for_the_records() -> None:
    chance = np.random.default_rng(3)
    noise = np.cumsum(chance.laplace(0, 30, (DRAWS, len(EVEN))), axis=1) * EVEN / 1000
    sample = Sample(EVEN, 1000, chance)
    (low, high), (lower, upper) = simultaneous_band(EVEN, [noise], LEVEL), population_band(EVEN, [noise], LEVEL, sample)
    assert (lower <= low + 1e-12).all()
    assert (high <= upper + 1e-12).all()


@pytest.mark.parametrize("cells", [[2.0] * 9 + [982.0], [100.0] * 10, [0.3] * 30 + [500.0, 491.0]])
def test_counts_of_rare_and_of_full_cells_are_held_at_once(cells: list[float]) -> None:
    """Without noise, where samples are least like a normal distribution."""
    means, chance = np.array(cells), np.random.default_rng(4)
    units, held = round(means.sum()), 0
    for counts in chance.multinomial(units, means / units, RELEASES).astype(np.float64):
        errors = chance.multinomial(units, counts / units, DRAWS) - counts
        lower, upper = simultaneous_mean_ends(counts, np.zeros(len(means)), [errors], counts, units, LEVEL)
        held += bool(((lower <= means) & (means <= upper)).all())
    assert held / RELEASES >= LEVEL - ALLOWED


def test_of_one_count_the_mean_is_held_whatever_it_is() -> None:
    """Exact over all counts of 40 units, but for the simulation of 2,000 draws: half a point."""
    units, counts = 40, np.arange(41.0)
    normal = np.random.default_rng(5).standard_normal((2000, 1)) * np.ones(41)
    lower, upper = mean_intervals(counts, np.zeros((2000, 41)), normal, units, LEVEL).T
    for mean in np.linspace(0.01, units - 0.01, 200):
        assert binom.pmf(counts, units, mean / units)[(lower <= mean) & (mean <= upper)].sum() >= LEVEL - 0.005
    inner = counts[1:-1]  # Clopper and Pearson 1934
    exact = units * (beta.ppf(0.95, inner + 1, units - inner) - beta.ppf(0.05, inner, units - inner + 1))
    assert ((upper - lower)[1:-1] <= exact + 0.5).all()


def test_noise_and_sampling_of_one_count_add_up_by_their_squares() -> None:
    chance = np.random.default_rng(6)
    noise, normal = chance.normal(0, 20, (20_000, 1)), chance.standard_normal((20_000, 1))
    ((lower, upper),) = mean_intervals(np.array([400.0]), noise, normal, np.inf, LEVEL)
    assert upper - lower == pytest.approx(2 * 1.645 * sqrt(400 + 400) + 1, rel=0.03)
