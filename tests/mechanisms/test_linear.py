"""Exact sums, and that `run` adds one draw of the promised noise to each."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from tiny_tables import counts, cuts, sums

from dpcurves.distributions import Family, IntervalSums, Noise, Tier
from dpcurves.mechanisms import ExactTable, ExponentialQuantiles, FlatHistogram, LinearMechanism, TreeSums
from dpcurves.mechanisms.linear import compute_exact_sums
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne

NOISE = Noise(Family.LAPLACE, Fraction(1))
NESTED = IntervalSums(2, 5, (Tier((0, 2), NOISE), Tier((0, 1, 2, 4), NOISE)), missing=NOISE)
TABLE = [1, 2, 3, 4, 5, 10, 20, 30, 40, 50, 7]
FOUR_SIGMA = 4.0
LOSSES = {"pure": PrivacyLoss.pure("0.5"), "concentrated": PrivacyLoss.zcdp("0.01")}


def flat_list(table: ExactTable, distribution: IntervalSums) -> list[int]:
    return [value for part, _ in compute_exact_sums(table, distribution) for value in part.tolist()]


def test_sums_come_level_by_level_row_by_row_and_the_missing_cell_last() -> None:
    expected = [3, 12, 30, 120, 1, 2, 7, 5, 10, 20, 70, 50, 7]
    assert flat_list(np.array(TABLE), NESTED) == expected
    assert len(expected) == NESTED.size


def test_without_a_missing_cell_in_the_distribution_it_is_not_released() -> None:
    distribution = IntervalSums(1, 2, (Tier(range(2), NOISE),), missing=None)
    assert flat_list(np.array([4, 5, 6]), distribution) == [4, 5]


def test_a_table_of_python_integers_has_exact_sums_of_any_size() -> None:
    table = np.array([value * 10**30 for value in TABLE], dtype=object)
    assert flat_list(table, NESTED) == [value * 10**30 for value in flat_list(np.array(TABLE), NESTED)]


def test_noise_on_top_of_the_largest_integers_does_not_overflow() -> None:
    distribution_plan = FlatHistogram().plan(counts(1, 2), LOSSES["pure"], AddRemove(EACH_RECORD))
    top = 2**63 - 1
    values = FlatHistogram().run(np.array([top, top, top]), distribution_plan, Randomness.from_seed(1))
    assert all(abs(value - top) < 1000 for value in values)
    assert all(type(value) is int for value in values)


@pytest.mark.parametrize("mechanism", [FlatHistogram(), FlatHistogram(3), TreeSums(), TreeSums(2)], ids=repr)
@pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
def test_each_level_has_mean_and_variance_of_its_noise_at_four_sigma(
    mechanism: LinearMechanism, loss: PrivacyLoss
) -> None:
    """False alarm rate about 6.4e-5 for each of at most 13 parts and 2 moments. The kurtosis of Laplace noise is 6."""
    plan = mechanism.plan(counts(2, 3001), loss, ReplaceOne(EACH_RECORD, 100))
    assert isinstance(plan.distribution, IntervalSums)
    table = np.arange(2 * 3001 + 1)
    values = np.array(mechanism.run(table, plan, Randomness.from_seed(3)))
    start = 0
    for exact, noise in compute_exact_sums(table, plan.distribution):
        errors = (values[start : start + exact.size] - exact).astype(np.float64)
        start += exact.size
        assert abs(errors.mean()) < FOUR_SIGMA * sqrt(noise.variance / exact.size)
        if exact.size > 100:
            assert abs((errors**2).mean() / noise.variance - 1) < FOUR_SIGMA * sqrt(5 / exact.size)
    assert start == len(values)


def test_the_same_seed_gives_the_same_noise_and_another_one_does_not() -> None:
    plan = TreeSums().plan(counts(1, 64), LOSSES["pure"], AddRemove(EACH_RECORD))
    table = np.zeros(65, dtype=np.int64)
    first, again, other = (TreeSums().run(table, plan, Randomness.from_seed(seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_the_shared_run_refuses_a_plan_of_choices() -> None:
    plan = ExponentialQuantiles().plan(cuts(4, 2), LOSSES["pure"], AddRemove(EACH_RECORD))
    with pytest.raises(TypeError, match="a distribution of type NoisySums is needed"):
        FlatHistogram().run(np.zeros(5, dtype=np.int64), plan, Randomness.from_seed(1))
    of_sums = FlatHistogram().plan(sums(1, 4, 2), LOSSES["pure"], AddRemove(EACH_RECORD))
    with pytest.raises(TypeError, match="recursive cuts"):
        ExponentialQuantiles().run(np.zeros(5, dtype=np.int64), of_sums, Randomness.from_seed(1))
