from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm

from dpcurves.distributions import Family, IntervalSums, Noise, Tier, least_squares
from dpcurves.estimation.two_classes import estimate_two_classes

CELLS = 16


def distribution_of(scale: str) -> IntervalSums:
    noise = Noise(Family.LAPLACE, Fraction(scale))
    return IntervalSums(2, CELLS, (Tier(range(0, CELLS, 4), noise), Tier(range(CELLS), noise)), missing=None)


def values_of(table: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.add.reduceat(table, range(0, CELLS, 4), axis=1).ravel(), table.ravel()])


def binormal(records: int) -> NDArray[np.int64]:
    """Expected counts of two normal classes, one standard deviation apart."""
    edges = np.append(np.insert(norm.ppf(np.arange(1, CELLS) / CELLS), 0, -np.inf), np.inf)
    shares = [np.diff(norm.cdf(edges - shift)) for shift in (-0.5, 0.5)]
    return np.rint(np.array(shares) * records / 2).astype(np.int64)


def test_without_noise_the_counts_are_read_as_they_are() -> None:
    table = np.random.default_rng(1).integers(0, 90, (2, CELLS))
    found = estimate_two_classes(distribution_of("1/1000"), values_of(table).tolist(), int(table.sum()))
    assert found == pytest.approx(table, abs=0.01)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["1/1000", "3", "900"]), st.booleans())
def test_whatever_was_released_the_totals_are_those_of_least_squares(seed: int, scale: str, known: bool) -> None:
    chance = np.random.default_rng(seed)
    values = np.rint(chance.laplace(0, 500, distribution_of(scale).size)).astype(np.int64)
    total = 700 if known else None
    found = estimate_two_classes(distribution_of(scale), values.tolist(), total)
    expected = least_squares(distribution_of(scale), values, total).cells.sum(axis=1)
    assert found.sum(axis=1) == pytest.approx(expected, abs=1e-6 * abs(expected).max() + 1e-6)


def rates(cells: NDArray[Any]) -> NDArray[np.float64]:
    """Shares of each class below each edge."""
    return np.asarray(np.cumsum(cells, axis=1) / cells.sum(axis=1, keepdims=True))


@pytest.mark.reproduction
def test_what_noise_alone_explains_is_taken_back_to_the_curve() -> None:
    """Rates are nearer in more of 400 releases than 4 sigma above a half, as they would be were reading no better."""
    distribution, table, chance, nearer = distribution_of("40"), binormal(2000), np.random.default_rng(5), []
    for _ in range(400):
        values = values_of(table) + np.rint(chance.laplace(0, 40, distribution.size)).astype(np.int64)
        counts, found = (
            least_squares(distribution, values, None).cells,
            estimate_two_classes(distribution, values.tolist(), None),
        )
        true = rates(table)
        ours, unbiased = (float(np.abs(np.subtract(rates(cells), true)).mean()) for cells in (found, counts))
        nearer.append(ours < unbiased)
    assert np.mean(nearer) > 0.5 + 4 * 0.5 / 20


def test_a_step_that_no_smooth_curve_has_is_kept() -> None:
    table = np.full((2, CELLS), 400)
    table[1, 5] = 4000
    values = values_of(table) + np.rint(np.random.default_rng(2).laplace(0, 20, distribution_of("20").size)).astype(
        np.int64
    )
    found = estimate_two_classes(distribution_of("20"), values.tolist(), None)
    assert found[1, 5] == pytest.approx(4000, rel=0.05)
    assert found[1, 9] == pytest.approx(400, rel=0.3)


def test_where_the_counts_contradict_the_curve_they_are_read_as_they_are() -> None:
    table = np.full((2, CELLS), 400)
    table[:, ::2] = [[4000], [40]]
    values = values_of(table) + np.rint(np.random.default_rng(2).laplace(0, 20, distribution_of("20").size)).astype(
        np.int64
    )
    counts = least_squares(distribution_of("20"), values, None).cells
    assert estimate_two_classes(distribution_of("20"), values.tolist(), None) == pytest.approx(counts, abs=2)


def test_where_nobody_was_counted_cells_are_empty() -> None:
    found = estimate_two_classes(distribution_of("1/1000"), [0] * distribution_of("1").size, 0)
    assert found == pytest.approx(np.zeros((2, CELLS)), abs=1e-9)
