"""The tail of the Gaussian distribution, against SciPy, near and far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr

from dpcurves.estimation.empirical_bayes import normal_tail

FAR = 10.0 ** np.linspace(-12, 12, 20_001)
POINTS = np.concatenate([-FAR, [-0.0, 0.0], np.linspace(-50, 50, 20_001), FAR])
ROUNDING = 1e-14 + 4e-16 * np.maximum(POINTS, 0) ** 2
"""A square is off by its last digit: far out, what is left is off by so many times more as the square is large."""


def assert_close(found: NDArray[np.float64], expected: NDArray[np.float64]) -> None:
    written = np.abs(expected) > 1e-300
    assert np.all(np.abs(found - expected)[written] <= (ROUNDING * np.abs(expected))[written])
    assert np.all(np.abs(found[~written]) <= 1e-300)


def test_the_chance_below_a_point_is_known_to_fourteen_digits() -> None:
    assert_close(normal_tail(POINTS).log_probability, log_ndtr(POINTS))


def test_the_density_over_the_chance_is_known_to_fourteen_digits() -> None:
    with np.errstate(over="ignore"):
        expected = np.sqrt(2 / np.pi) / erfcx(-POINTS / np.sqrt(2))
    assert_close(normal_tail(POINTS).hazard, expected)
