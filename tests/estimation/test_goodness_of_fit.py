"""Seeds are fixed. Error rates are compared with their bound plus 4 sigma: a false alarm has chance 3e-5."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from dpcurves.distributions import Family, Noise
from dpcurves.distributions.output_distribution import simulate_noise
from dpcurves.inference import GroupCounts, GroupNoise, hosmer_lemeshow, simulated_p_value

FloatArray = NDArray[np.float64]
EDGES = np.array([0.0, 0.1, 0.3, 0.35, 0.6, 1.0])
COUNT = Noise(Family.LAPLACE, Fraction(4))
LATTICE = 2**20
SUM = Noise(Family.LAPLACE, Fraction(4 * LATTICE))
WIDTH, MIDDLE = np.diff(EDGES), (EDGES[:-1] + EDGES[1:]) / 2
VARIANCE = ((1 - MIDDLE) ** 2 + MIDDLE**2) * COUNT.variance + (WIDTH / (2 * LATTICE)) ** 2 * SUM.variance
"""The variance of the noise of positives less expected ones."""
NONE = np.zeros(5)
RUNS = 400


def exact_groups(score: FloatArray, label: NDArray[np.bool_]) -> GroupCounts:
    inside = np.digitize(score, EDGES[1:-1])

    def count(weights: FloatArray) -> FloatArray:
        return np.bincount(inside, weights, minlength=5).astype(np.float64)

    return GroupCounts(
        count(label.astype(np.float64)),
        count((~label).astype(np.float64)),
        count(score - MIDDLE[inside]),
        EDGES[:-1],
        EDGES[1:],
    )


def noises(draws: int, generator: np.random.Generator) -> GroupNoise:
    """Noise of positives, negatives, and centred sums, whose lattice steps are in proportion to the width."""
    sums = simulate_noise(SUM, (draws, 5), generator) * WIDTH / (2 * LATTICE)
    return GroupNoise(simulate_noise(COUNT, (draws, 5), generator), simulate_noise(COUNT, (draws, 5), generator), sums)


def with_noise(groups: GroupCounts, generator: np.random.Generator) -> GroupCounts:
    positive, negative, sums = (noise[0] for noise in noises(1, generator))
    return GroupCounts(
        groups.positive + positive, groups.negative + negative, groups.centred_sum + sums, groups.lower, groups.upper
    )


def p_values(records: int, shift: float) -> FloatArray:
    generator, found = np.random.default_rng(5), []
    for _ in range(RUNS):
        score = generator.beta(1, 2, records)
        label = generator.random(records) < np.clip(score + shift, 0, 1)
        released = with_noise(exact_groups(score, label), generator)
        found.append(simulated_p_value(released, noises(199, generator), VARIANCE, generator))
    return np.array(found)


def test_the_statistic_is_that_of_the_textbook() -> None:
    generator = np.random.default_rng(1)
    score = generator.random(4000)
    label = generator.random(4000) < score
    inside = np.digitize(score, EDGES[1:-1])
    exact = 0.0
    for group in range(5):
        outcome, chance = label[inside == group], score[inside == group]
        for observed, expected in (((outcome).sum(), chance.sum()), ((~outcome).sum(), (1 - chance).sum())):
            exact += (observed - expected) ** 2 / expected
    assert hosmer_lemeshow(exact_groups(score, label), NONE) == pytest.approx(exact, rel=1e-12)


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("records", [40, 1000, 20_000])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_honest_predictions_are_rarely_called_dishonest(records: int, alpha: float) -> None:
    rate = np.mean(p_values(records, shift=0.0) <= alpha)
    assert rate <= alpha + 4 * sqrt(alpha * (1 - alpha) / RUNS)


def test_dishonest_predictions_are_found_in_spite_of_the_noise() -> None:
    assert np.mean(p_values(5000, shift=0.08) <= 0.05) > 0.95


def test_a_group_that_expects_nobody_does_not_drown_the_others() -> None:
    """Its noise is as large as that of the others, and its expectation next to nothing."""
    generator, found = np.random.default_rng(6), []
    for _ in range(200):
        score = np.where(generator.random(3000) < 0.5, 0.001, generator.uniform(0.1, 1.0, 3000))
        label = generator.random(3000) < np.clip(score + 0.08 * (score > 0.1), 0, 1)
        released = with_noise(exact_groups(score, label), generator)
        found.append(simulated_p_value(released, noises(199, generator), VARIANCE, generator))
    assert np.mean(np.array(found) <= 0.05) > 0.95


def test_without_noise_the_value_is_near_that_of_the_chi_square_distribution() -> None:
    generator = np.random.default_rng(2)
    score = np.repeat([0.05, 0.2, 0.32, 0.5, 0.8], 5000)  # one score per group: outcomes are binomial
    groups = exact_groups(score, generator.random(len(score)) < score)
    none = np.zeros((3999, 5))
    expected = chi2.sf(float(hosmer_lemeshow(groups, NONE)), df=5)
    found = simulated_p_value(groups, GroupNoise(none, none, none), NONE, generator)
    assert found == pytest.approx(expected, abs=4 * sqrt(expected * (1 - expected) / 3999) + 0.01)


def test_the_statistic_takes_all_draws_at_once() -> None:
    generator = np.random.default_rng(3)
    positive, negative, sums = noises(7, generator)
    many = hosmer_lemeshow(GroupCounts(positive, negative, sums, EDGES[:-1], EDGES[1:]), VARIANCE)
    assert many.shape == (7,)
    one = GroupCounts(positive[3], negative[3], sums[3], EDGES[:-1], EDGES[1:])
    assert many[3] == pytest.approx(hosmer_lemeshow(one, VARIANCE))


def test_empty_and_negative_groups_give_a_finite_statistic_and_a_chance() -> None:
    generator = np.random.default_rng(4)
    for counts in (np.zeros(5), np.full(5, -7.0)):
        groups = GroupCounts(counts, counts, np.full(5, -0.3), EDGES[:-1], EDGES[1:])
        assert np.isfinite(hosmer_lemeshow(groups, NONE))
        assert 0 < simulated_p_value(groups, noises(99, generator), VARIANCE, generator) <= 1


def test_a_mean_prediction_lies_in_its_group() -> None:
    groups = GroupCounts(np.full(5, 2.0), np.full(5, 1.0), np.full(5, 9.0), EDGES[:-1], EDGES[1:])
    assert groups.mean.tolist() == EDGES[1:].tolist()
