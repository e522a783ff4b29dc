from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from baselines import weighted_isotonic
from dense_least_squares import FloatArray, laws, totals, value_variances
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from dpcurves.laws import Family, IntervalSums, Noise, Tier, least_squares


def noise(scale: int) -> Noise:
    return Noise(Family.LAPLACE, Fraction(scale))


def design(law: IntervalSums) -> FloatArray:
    """From cells, row by row, and the missing count to values."""
    levels = [np.add.reduceat(np.eye(law.cells), np.asarray(level.starts), axis=0) for level in law.levels]
    of_cells = np.concatenate([np.kron(np.eye(law.rows), level) for level in levels])
    apart = int(law.missing is not None)
    matrix = np.zeros((law.size, law.rows * law.cells + apart))
    matrix[: len(of_cells), : law.rows * law.cells] = of_cells
    matrix[len(of_cells) :, law.rows * law.cells :] = 1
    return matrix


def unknowns(law: IntervalSums, values: list[int], total: int | None) -> FloatArray:
    found = weighted_isotonic(law, values, total)
    return np.append(found.cells.ravel(), [] if law.missing is None else [found.missing])


@given(laws(), st.integers(0, 2**32))
def test_it_costs_what_non_negative_least_squares_costs(law: IntervalSums, seed: int) -> None:
    values = np.random.default_rng(seed).integers(-60, 60, law.size)
    weight = 1 / np.sqrt(value_variances(law))
    weighed, aims = design(law) * weight[:, None], values * weight
    ours = np.linalg.norm(weighed @ unknowns(law, values.tolist(), None) - aims)
    assert ours == pytest.approx(nnls(weighed, aims)[1], rel=1e-9, abs=1e-7)


@given(laws(), st.integers(0, 200), st.integers(0, 2**32))
def test_with_a_public_total_no_shift_of_counts_brings_it_nearer(law: IntervalSums, total: int, seed: int) -> None:
    """The conditions of Karush, Kuhn and Tucker, which are enough: the problem is convex."""
    values = np.random.default_rng(seed).integers(-60, 60, law.size)
    counts = unknowns(law, values.tolist(), total)
    assert counts.min() >= 0
    assert counts.sum() == pytest.approx(total)
    matrix = design(law)
    slope = matrix.T @ ((matrix @ counts - values) / value_variances(law))
    rounding = 1e-6 * (1 + np.abs(values).max()) * np.max(1 / value_variances(law))
    least = slope.min()  # what a record more would cost, where it costs least
    assert np.all((slope < least + rounding) | (counts < 1e-6 * (1 + total)))


@given(laws(), totals)
def test_counts_that_are_not_negative_stay_as_least_squares_has_them(law: IntervalSums, total: int | None) -> None:
    values = [50] * law.size
    plain = least_squares(law, values, total)
    if plain.cells.min() >= 0 and plain.missing >= 0:
        ours = weighted_isotonic(law, values, total)
        np.testing.assert_allclose(ours.cells, plain.cells, rtol=1e-8, atol=1e-7)
        assert ours.missing == pytest.approx(plain.missing, rel=1e-8, abs=1e-7)


def test_no_records_are_in_no_cell() -> None:
    law = IntervalSums(
        1,
        4,
        (Tier((0,), noise(2)), Tier((0, 2), noise(3)), Tier(range(4), noise(1))),
        missing=noise(1),
    )
    found = weighted_isotonic(law, [5, 1, -2, 3, 4, -1, 1, 9], total=0)
    assert found.cells.tolist() == [[0, 0, 0, 0]]
    assert found.missing == 0


def test_a_negative_total_is_refused() -> None:
    with pytest.raises(ValueError, match="total: at least zero"):
        weighted_isotonic(IntervalSums(1, 1, (Tier((0,), noise(1)),), missing=None), [3], total=-1)
