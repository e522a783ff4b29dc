"""The weights of a square root of prefix sums, and the kernel that undoes them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcurves.distributions import Family, Noise, ToeplitzSums
from dpcurves.distributions.toeplitz_sums import causal_product, prefix_covariances, prefix_kernel, root_weights

NOISE = Noise(Family.GAUSSIAN, Fraction(4**20))


@pytest.mark.parametrize("bits", [1, 8, 20])
def test_weights_are_rounded_coefficients_of_the_root_of_a_geometric_series(bits: int) -> None:
    exact, weights = Fraction(1), root_weights(3000, bits)
    for k, weight in enumerate(weights.tolist()):
        exact *= Fraction(2 * k - 1, 2 * k) if k else 1
        assert abs(weight - exact * 2**bits) <= Fraction(1, 2)


def test_weights_are_shared_and_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        root_weights(5, 20)[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        prefix_kernel(5, 20)[0] = 1


@pytest.mark.parametrize(("points", "bits"), [(1, 20), (2, 20), (7, 3), (300, 20), (2**12, 20), (2**12 + 3, 9)])
def test_the_kernel_undoes_the_weights_and_cumulates(points: int, bits: int) -> None:
    ones = causal_product(prefix_kernel(points, bits), root_weights(points, bits) / 2.0**bits, points)
    np.testing.assert_allclose(ones, 1, atol=1e-11)


def test_without_rounding_the_kernel_would_be_the_weights() -> None:
    np.testing.assert_allclose(prefix_kernel(500, 20), root_weights(500, 20) / 2.0**20, atol=2.0**-20)


def test_products_of_power_series_are_cut_off() -> None:
    np.testing.assert_allclose(causal_product(np.array([1.0, 2, 3]), np.array([4.0, 5, 6]), 2), [4, 13])


def test_the_variance_of_a_prefix_grows_with_the_logarithm_of_its_length() -> None:
    """Sums of squared weights: 1, 1 + 1/4, 1 + 1/4 + 9/64, ..., when the total is not public."""
    distribution = ToeplitzSums(1, 64, 1, 20, NOISE, NOISE)
    expected = np.cumsum((root_weights(64, 20) / 2.0**20) ** 2)
    np.testing.assert_allclose(distribution.prefix_variances(total_is_public=False)[0, 1:], expected, rtol=1e-5)


def test_covariances_of_prefixes_are_positive_and_below_the_geometric_mean() -> None:
    distribution = ToeplitzSums(1, 50, 1, 20, NOISE, NOISE)
    one, other = (grid.ravel() for grid in np.meshgrid(np.arange(51), np.arange(51)))
    for total_is_public in (True, False):
        matrix = prefix_covariances(distribution, total_is_public, one, other).reshape(51, 51)
        np.testing.assert_allclose(matrix, matrix.T)
        assert np.linalg.eigvalsh(matrix).min() > -1e-9
