from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpcurves.summaries import inverse_at, linear_value_at
from dpcurves.summaries.two_classes import as_numbers

X = np.array([0.0, 1.0, 3.0, 4.0])
Y = np.array([0.0, 0.2, 0.2, 1.0])
curves = st.lists(st.integers(0, 8), min_size=2, max_size=8).map(lambda steps: np.cumsum(steps) / max(sum(steps), 1))


def test_a_curve_is_linear_inside_cells_and_clipped_outside() -> None:
    at = [-np.inf, -1e-9, 0, 0.5, 2, 3.5, 4, np.inf]
    assert linear_value_at(X, Y, at).tolist() == pytest.approx([0, 0, 0, 0.1, 0.2, 0.6, 1, 1])


def test_below_the_first_edge_a_curve_is_zero_even_if_it_starts_higher() -> None:
    assert linear_value_at(np.array([0.0, 1.0]), np.array([0.3, 0.9]), [-1, 0, 1, 2]).tolist() == [0, 0.3, 0.9, 0.9]


def test_nan_is_read_as_nan() -> None:
    assert np.isnan(linear_value_at(X, Y, np.nan))


def test_a_flat_stretch_is_left_at_its_left_end() -> None:
    assert inverse_at(X, Y, 0.2) == 1.0
    assert inverse_at(X, Y, np.nextafter(0.2, 1)) == pytest.approx(3.0)


def test_a_level_that_is_never_reached_is_read_at_the_last_edge() -> None:
    assert inverse_at(X, Y * 0.9, [0.95, 1.0]).tolist() == [4.0, 4.0]


def test_levels_at_or_below_the_start_are_read_at_the_first_edge() -> None:
    assert inverse_at(X, Y, 0.0) == 0.0
    assert inverse_at(np.array([0.0, 1.0]), np.array([0.3, 0.9]), [0.1, 0.3]).tolist() == [0.0, 0.0]


def test_a_curve_of_no_mass_has_no_place_inside() -> None:
    assert inverse_at(X, np.zeros(4), [0.0, 0.5]).tolist() == [0.0, 4.0]


@given(curves, st.floats(0, 1))
def test_the_inverse_is_the_smallest_place_that_reaches_the_level(y: NDArray[np.float64], p: float) -> None:
    x = np.arange(len(y), dtype=np.float64) * 1.5
    place = inverse_at(x, y, p)
    if p <= y[-1]:
        assert linear_value_at(x, y, place) >= p - 1e-9
        assert p <= y[0] or linear_value_at(x, y, place - 1e-3) < p
    else:
        assert place == x[-1]


@pytest.mark.parametrize("p", [-0.01, 1.01, np.nan, [0.5, 2.0]])
def test_levels_outside_zero_and_one_are_refused(p: float | list[float]) -> None:
    with pytest.raises(ValueError, match="p: levels between 0 and 1"):
        inverse_at(X, Y, p)


@pytest.mark.parametrize("value", ["x", [object()], 10**400, {}])
def test_what_is_no_number_is_refused_by_its_name(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^p: a number or an array of numbers is needed, as in 0.5, got "):
        as_numbers("p", value)
