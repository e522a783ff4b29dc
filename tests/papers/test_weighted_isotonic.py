from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from baselines import weighted_isotonic
from dense_least_squares import FloatArray, distributions, totals, value_variances
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from dpcurves.distributions import Family, IntervalSums, Noise, Tier, least_squares


def noise(scale: int) -> Noise:
    return Noise(Family.LAPLACE, Fraction(scale))


def design(distribution: IntervalSums) -> FloatArray:
    """From cells, row by row, and the missing count to values."""
    levels = [
        np.add.reduceat(np.eye(distribution.cells), np.asarray(level.starts), axis=0) for level in distribution.levels
    ]
    of_cells = np.concatenate([np.kron(np.eye(distribution.rows), level) for level in levels])
    apart = int(distribution.missing is not None)
    matrix = np.zeros((distribution.size, distribution.rows * distribution.cells + apart))
    matrix[: len(of_cells), : distribution.rows * distribution.cells] = of_cells
    matrix[len(of_cells) :, distribution.rows * distribution.cells :] = 1
    return matrix


def unknowns(distribution: IntervalSums, values: list[int], total: int | None) -> FloatArray:
    found = weighted_isotonic(distribution, values, total)
    return np.append(found.cells.ravel(), [] if distribution.missing is None else [found.missing])


@given(distributions(), st.integers(0, 2**32))
def test_it_costs_what_non_negative_least_squares_costs(distribution: IntervalSums, seed: int) -> None:
    values = np.random.default_rng(seed).integers(-60, 60, distribution.size)
    weight = 1 / np.sqrt(value_variances(distribution))
    weighed, targets = design(distribution) * weight[:, None], values * weight
    ours = np.linalg.norm(weighed @ unknowns(distribution, values.tolist(), None) - targets)
    assert ours == pytest.approx(nnls(weighed, targets)[1], rel=1e-9, abs=1e-7)


@given(distributions(), st.integers(0, 200), st.integers(0, 2**32))
def test_with_a_public_total_no_shift_of_counts_brings_it_nearer(
    distribution: IntervalSums, total: int, seed: int
) -> None:
    """The conditions of Karush, Kuhn and Tucker, which are enough: the problem is convex."""
    values = np.random.default_rng(seed).integers(-60, 60, distribution.size)
    counts = unknowns(distribution, values.tolist(), total)
    assert counts.min() >= 0
    assert counts.sum() == pytest.approx(total)
    matrix = design(distribution)
    slope = matrix.T @ ((matrix @ counts - values) / value_variances(distribution))
    rounding = 1e-6 * (1 + np.abs(values).max()) * np.max(1 / value_variances(distribution))
    least = slope.min()  # what a record more would cost, where it costs least
    assert np.all((slope < least + rounding) | (counts < 1e-6 * (1 + total)))


@given(distributions(), totals)
def test_counts_that_are_not_negative_stay_as_least_squares_has_them(
    distribution: IntervalSums, total: int | None
) -> None:
    values = [50] * distribution.size
    plain = least_squares(distribution, values, total)
    if plain.cells.min() >= 0 and plain.missing >= 0:
        ours = weighted_isotonic(distribution, values, total)
        np.testing.assert_allclose(ours.cells, plain.cells, rtol=1e-8, atol=1e-7)
        assert ours.missing == pytest.approx(plain.missing, rel=1e-8, abs=1e-7)


def test_no_records_are_in_no_cell() -> None:
    distribution = IntervalSums(
        1,
        4,
        (Tier((0,), noise(2)), Tier((0, 2), noise(3)), Tier(range(4), noise(1))),
        missing=noise(1),
    )
    found = weighted_isotonic(distribution, [5, 1, -2, 3, 4, -1, 1, 9], total=0)
    assert found.cells.tolist() == [[0, 0, 0, 0]]
    assert found.missing == 0


def test_a_negative_total_is_refused() -> None:
    with pytest.raises(ValueError, match="total: at least zero"):
        weighted_isotonic(IntervalSums(1, 1, (Tier((0,), noise(1)),), missing=None), [3], total=-1)
