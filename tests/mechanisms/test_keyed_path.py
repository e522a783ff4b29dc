"""Noises from a key: the distribution of a noise path, the same whenever they are asked for, others for another
distribution."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from dpcurves.distributions import Family, Noise, PathSums
from dpcurves_parties.serving.noise_key import NOISE_FORMAT, NoiseKey, format_noise_distribution

DISTRIBUTION = PathSums(6, (), 4, Noise(Family.LAPLACE, Fraction(3)), None)
AT = tuple(range(7))


def key(number: int) -> bytes:
    return number.to_bytes(32, "little")


def test_a_threshold_has_the_same_noise_whatever_is_asked_beside_it() -> None:
    fine = PathSums(2**40, (), 40, Noise(Family.GAUSSIAN, Fraction(9)), None)
    together = NoiseKey(key(1)).derive_path_noise(fine, [1, 2**39, 2**40, 2**39 + 1])
    assert [NoiseKey(key(1)).derive_path_noise(fine, [each])[0] for each in (1, 2**39, 2**40, 2**39 + 1)] == together
    assert NoiseKey(key(2)).derive_path_noise(fine, [2**39]) != [together[1]]


def test_the_first_no_cells_have_no_noise() -> None:
    assert NoiseKey(key(1)).derive_path_noise(DISTRIBUTION, [0]) == [0]


@pytest.mark.parametrize(
    "other",
    [
        replace(DISTRIBUTION, cells=7),
        replace(DISTRIBUTION, levels=5),
        replace(DISTRIBUTION, noise=Noise(Family.LAPLACE, Fraction(301, 100))),
        replace(DISTRIBUTION, noise=Noise(Family.GAUSSIAN, Fraction(3))),
    ],
)
def test_the_same_key_under_another_distribution_has_other_noises(other: PathSums) -> None:
    """By chance all 60 noises are alike once in far more than 2**60 keys."""
    ours, theirs = (
        [NoiseKey(key(n)).derive_path_noise(distribution, [1, 2, 3, 4, 5, 6]) for n in range(10)]
        for distribution in (DISTRIBUTION, other)
    )
    assert ours != theirs
    assert format_noise_distribution(DISTRIBUTION) != format_noise_distribution(other)
    assert format_noise_distribution(DISTRIBUTION) == format_noise_distribution(
        replace(DISTRIBUTION, prefix_lengths=AT)
    )


@pytest.mark.parametrize(
    ("cells", "levels", "noise", "known"),
    [
        (6, 4, DISTRIBUTION.noise, [0, -2, 4, 6]),
        (2**32, 33, Noise(Family.LAPLACE, Fraction(2**20 + 1, 3)), [-1984112, -612898, 823092, 298823]),
        (2**40, 40, Noise(Family.GAUSSIAN, Fraction(9)), [-12, 5, 11, 14]),
        (2**40, 40, Noise(Family.GAUSSIAN, Fraction(2**70, 7)), [194114666232, 30018886574, 53497097549, 38368399960]),
        (1, 1, Noise(Family.LAPLACE, Fraction(2**17)), [-222178]),
    ],
)
def test_noises_are_those_of_format_1(cells: int, levels: int, noise: Noise, known: list[int]) -> None:
    """A task that runs has no others: if one of these changes, `NOISE_FORMAT` has to."""
    assert NOISE_FORMAT == 1
    at = sorted({1, cells // 2, cells - 1, cells} - {0})
    assert NoiseKey(key(1)).derive_path_noise(PathSums(cells, (), levels, noise, None), at) == known


@pytest.mark.reproduction
@pytest.mark.quick_share(2)
@pytest.mark.parametrize("noise", [DISTRIBUTION.noise, Noise(Family.GAUSSIAN, Fraction(5))])
def test_noises_have_mean_zero_and_the_covariance_of_the_distribution(noise: Noise) -> None:
    """1,500 keys; entries within 4 standard errors, of which one in 16,000 is further away by chance."""
    distribution, draws = replace(DISTRIBUTION, noise=noise, prefix_lengths=AT), 1500
    drawn = np.array(
        [NoiseKey(key(number)).derive_path_noise(distribution, AT) for number in range(draws)], dtype=np.float64
    )
    assert np.all(np.abs(drawn.mean(axis=0)) <= 4 * np.sqrt(np.diag(distribution.covariance) / draws))
    products = drawn[:, :, None] * drawn[:, None, :]
    error = products.std(axis=0) / sqrt(draws)
    assert np.all(np.abs(products.mean(axis=0) - distribution.covariance) <= 4 * error)
