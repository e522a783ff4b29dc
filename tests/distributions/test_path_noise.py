"""Counts that share the noises of dyadic blocks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcurves.conversation import Evidence
from dpcurves.distributions import Family, IntervalSums, Noise, PathSums, Selection, Tier

NOISE = Noise(Family.LAPLACE, Fraction(7, 2))
OTHER = Noise(Family.LAPLACE, Fraction(9))
DISTRIBUTION = PathSums(6, (6, 1, 0, 5, 6), 3, NOISE, OTHER)


def holds(block: tuple[int, int], place: int) -> bool:
    level, number = block
    return number << level <= place < (number + 1) << level


@pytest.mark.parametrize("threshold", range(1, 17))
def test_a_path_has_the_one_block_of_each_level_that_holds_the_last_cell(threshold: int) -> None:
    path = PathSums(16, (), 5, NOISE, None).blocks_on_path(threshold)
    assert [level for level, _ in path] == list(range(5))
    assert all(holds(block, threshold - 1) for block in path)


def test_counts_share_the_blocks_that_hold_both() -> None:
    for one in range(7):
        for other in range(7):
            assert DISTRIBUTION.count_shared_noises(one, other) == len(
                set(DISTRIBUTION.blocks_on_path(one)) & set(DISTRIBUTION.blocks_on_path(other))
            )


def test_the_covariance_counts_shared_blocks() -> None:
    assert DISTRIBUTION.variance == 3 * NOISE.variance
    shared = [[3, 0, 0, 2, 3], [0, 3, 0, 0, 0], [0] * 5, [2, 0, 0, 3, 2], [3, 0, 0, 2, 3]]
    np.testing.assert_allclose(DISTRIBUTION.covariance, np.array(shared) * NOISE.variance)
    assert PathSums(6, (), 3, NOISE, None).covariance.shape == (0, 0)


def test_noises_of_several_parties_add_up() -> None:
    both = DISTRIBUTION.sum_over_parties(2)
    assert both.variance == 2 * DISTRIBUTION.variance
    np.testing.assert_allclose(both.covariance, 2 * DISTRIBUTION.covariance)
    evidence = Evidence(both, both.blank_values(), 12)
    stored = evidence.to_json()
    assert Evidence.from_json(stored) == evidence


def test_a_path_through_2_to_the_32_cells_is_not_laid_out() -> None:
    distribution = PathSums(2**32, (2**31, 2**31 + 1), 32, NOISE, None)
    assert distribution.count_shared_noises(*distribution.prefix_lengths) == 0
    assert distribution.blocks_on_path(2**32)[-1] == (31, 1)


def test_there_is_a_value_for_each_threshold_and_the_missing_cell() -> None:
    assert DISTRIBUTION.size == len(DISTRIBUTION.blank_values()) == 6
    assert PathSums(6, (1,), 3, NOISE, None).size == 1


@pytest.mark.parametrize(
    "distribution", [DISTRIBUTION, PathSums(2**40, (2**39,), 40, Noise(Family.GAUSSIAN, Fraction(3)), None)]
)
def test_evidence_comes_back_the_same(distribution: PathSums) -> None:
    total = None if distribution.missing is None else 12
    evidence = Evidence(distribution, tuple(range(distribution.size)), total)
    assert Evidence.from_json(evidence.to_json()) == evidence
    assert evidence.path_sums == distribution


def test_a_path_is_read_by_its_own_distribution() -> None:
    with pytest.raises(TypeError, match="PathSums"):
        _ = Evidence(DISTRIBUTION, DISTRIBUTION.blank_values(), None).sums
    for other in (Selection((1,)), IntervalSums(1, 2, (Tier(range(2), NOISE),), None)):
        with pytest.raises(TypeError, match="a distribution of type PathSums is needed"):
            _ = Evidence(other, other.blank_values(), None).path_sums


def test_noise_is_simulated_with_the_covariance_of_the_distribution() -> None:
    """By 40,000 draws; the standard error of a covariance is at most sqrt(3 + 3) / 200 of the variance, and 4 of it."""
    drawn = DISTRIBUTION.simulate(40_000, np.random.default_rng(1))
    assert drawn.shape == (40_000, 5)
    np.testing.assert_array_equal(drawn[:, [0, 2]], np.stack([drawn[:, 4], np.zeros(40_000)], axis=1))
    np.testing.assert_allclose(np.cov(drawn.T), DISTRIBUTION.covariance, atol=4 * 2.45 / 200 * DISTRIBUTION.variance)
