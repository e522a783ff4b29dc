"""Kinds of splits, against sums over a fine grid."""

from __future__ import annotations

import numpy as np
import pytest
from plain_splits import Split, integrated

from dpcurves.estimation.empirical_bayes import (
    SMOOTH_KINDS,
    SPLIT_KINDS,
    fit_mixture_weights,
    kindwise_posterior,
    prior_second_moment,
)

ORDINARY = [
    Split(part * count, variance, excess, count, share)
    for part in (0.0, 0.04, -0.3)
    for variance, excess in ((50.0, 3.0), (50.0, 0.0), (1000.0, 1.5))
    for count, share in ((1000.0, 0.5), (60.0, 0.25))
]


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("split", ORDINARY)
def test_each_kind_has_the_moments_of_its_posterior(split: Split) -> None:
    found = kindwise_posterior(split.rows)
    expected = [integrated(split, kind) for kind in range(SPLIT_KINDS)]
    likelihood, mean, second = (np.array(column) for column in zip(*expected, strict=True))
    seen = likelihood / likelihood.max() > 1e-12  # below, the grid does not reach far enough
    scale = split.size + abs(split.deviation)
    np.testing.assert_allclose(found.likelihood[0, seen], (likelihood / likelihood.max())[seen], rtol=1e-6)
    np.testing.assert_allclose(found.mean[0, seen] / scale, mean[seen] / scale, atol=1e-7)
    np.testing.assert_allclose(found.second_moment[0, seen] / scale**2, second[seen] / scale**2, atol=1e-7)


EXTREME = [
    Split(deviation, variance, excess, count, share)
    for deviation in (0.0, 1e9, -1e9, 1e-9)
    for variance, excess in ((1e-100, 3.0), (1e12, 3.0), (1.0, 1e-7), (1.0, 0.0))
    for count, share in ((1e-9, 0.5), (1e9, 2**-20), (1.0, 1 - 2**-20))
]


@pytest.mark.parametrize("split", EXTREME)
def test_whatever_the_noise_there_is_a_likeliest_kind_and_moments_are_finite(split: Split) -> None:
    found = kindwise_posterior(split.rows)
    assert found.likelihood.max() == 1
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.second_moment).all()
    mean, second = found.mix_kinds(np.full((1, SPLIT_KINDS), 1 / SPLIT_KINDS))
    assert np.isfinite(mean).all()
    assert np.isfinite(second).all()


def test_no_splits_have_no_moments() -> None:
    found = kindwise_posterior(Split(0, 1, 0, 1, 0.5).rows[:0])
    assert found.likelihood.shape == (0, SPLIT_KINDS)
    assert [len(moment) for moment in found.mix_kinds(np.empty((0, SPLIT_KINDS)))] == [0, 0]
    assert fit_mixture_weights(found.likelihood, np.full(SPLIT_KINDS, 1 / SPLIT_KINDS)).tolist() == pytest.approx(
        [1 / SPLIT_KINDS] * SPLIT_KINDS
    )


def test_many_splits_are_judged_as_each_alone() -> None:
    draw = np.random.default_rng(1)
    splits = [Split(*row) for row in draw.uniform([-50, 1, 0.1, 1, 0.1], [50, 99, 3, 500, 0.9], (9000, 5)).tolist()]
    rows = type(splits[0].rows)(*np.array(splits).T)
    together = kindwise_posterior(rows)
    for number in (0, 1, 8191, 8192, 8999):
        alone = kindwise_posterior(splits[number].rows)
        np.testing.assert_allclose(together.likelihood[number], alone.likelihood[0], rtol=1e-12)
        np.testing.assert_allclose(together.mean[number], alone.mean[0], rtol=1e-12, atol=1e-12)


def test_weights_lean_towards_the_kind_that_is_seen() -> None:
    prior = np.full(SPLIT_KINDS, 1 / SPLIT_KINDS)
    likelihood = np.full((500, SPLIT_KINDS), 1e-6)
    likelihood[:, 3] = 1
    weights = fit_mixture_weights(likelihood, prior)
    assert weights.sum() == pytest.approx(1)
    assert weights[3] == pytest.approx((500 + prior[3]) / 501, abs=1e-5)


def test_where_nothing_is_known_the_expected_square_is_that_of_the_prior() -> None:
    split = Split(0.0, 1e30, 0.0, 200.0, 0.5)
    vague = [integrated(split, kind)[2] for kind in range(SPLIT_KINDS)]
    for kind in range(SMOOTH_KINDS + 1):
        (found,) = prior_second_moment(split.rows, np.eye(SPLIT_KINDS), np.array([kind], dtype=np.int8))
        assert found == pytest.approx(vague[kind], rel=1e-6)
