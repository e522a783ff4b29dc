"""Means of counts that are known between two bounds."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom, poisson

from dpcurves.postprocess import mean_counts


def test_binomial_ends_cover_for_every_chance_exactly() -> None:
    n, error = 30, 0.1
    counts = np.arange(n + 1.0)
    ends = mean_counts(counts, counts, n, error)
    for chance in np.linspace(0, 1, 101):
        held = (ends[:, 0] <= n * chance) & (n * chance <= ends[:, 1])
        assert binom.pmf(counts, n, chance)[held].sum() >= 1 - error - 1e-12


def test_without_a_number_of_units_ends_cover_any_number_of_them_and_poisson() -> None:
    error, counts = 0.1, np.arange(200.0)
    ends = mean_counts(counts, counts, np.inf, error)
    for mean in np.linspace(0, 60, 121):
        held = (ends[:, 0] <= mean) & (mean <= ends[:, 1])
        assert poisson.pmf(counts, mean)[held].sum() >= 1 - error - 1e-9
        for n in (1, 3, 10, 60, 100, 1000):
            if mean <= n:
                assert binom.pmf(counts, n, mean / n)[held].sum() >= 1 - error - 1e-9


def test_ends_are_wider_for_wider_bounds_and_hold_the_bounds() -> None:
    least, most = np.array([-5.0, 3.5, 10.0, 8.0]), np.array([2.0, 4.5, 99.0, 10.0])
    ends = mean_counts(least, most, 10, 0.05)
    exact = mean_counts(np.array([0.0, 4.0, 10.0, 9.0]), np.array([0.0, 4.0, 10.0, 9.0]), 10, 0.05)
    assert (ends[:, 0] <= exact[:, 0]).all()
    assert (ends[:, 1] >= exact[:, 1]).all()
    assert ((ends[:, 0] <= np.maximum(least, 0)) & (most <= ends[:, 1])).all()
    assert (ends[:, 0] >= 0).all()
