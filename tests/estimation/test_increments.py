from __future__ import annotations

import numpy as np
import pytest

from dpcurves.smoothing import AtMost, Ceiling, Exactly
from dpcurves.smoothing.isotonic_projection import compute_steps, cumulate_steps, is_monotone


def test_steps_go_from_zero_to_the_ceiling() -> None:
    assert compute_steps([2, 1, 5], 3, AtMost(4)).tolist() == [2, -1, 4, -1]
    assert compute_steps([2, 1, 5], 3, Exactly(6)).tolist() == [2, -1, 4, 1]
    assert compute_steps([2, 1, 5], 3, None).tolist() == [2, -1, 4, np.inf]


@pytest.mark.parametrize("ceiling", [AtMost(9), Exactly(9), None])
def test_a_curve_is_its_steps(ceiling: Ceiling) -> None:
    assert cumulate_steps(compute_steps([1, 3, 9], 3, ceiling), ceiling).tolist() == [1, 3, 9]


def test_rounding_cannot_lift_a_curve_over_its_ceiling() -> None:
    steps = np.array([0.1, 0.1, 0.1, 0.0])
    assert cumulate_steps(steps, AtMost(0.3)).max() == 0.3
    assert cumulate_steps(steps, Exactly(0.3))[-1] == 0.3


def test_a_curve_below_an_exact_ceiling_is_not_smooth() -> None:
    steps = np.array([1.0, 0.0, 2.0])
    assert is_monotone(steps, AtMost(3))
    assert is_monotone(steps, None)
    assert not is_monotone(steps, Exactly(3))
    assert not is_monotone(-steps, AtMost(3))


@pytest.mark.parametrize("count", [-1.0, np.nan, np.inf])
def test_a_ceiling_is_a_count(count: float) -> None:
    for ceiling in (AtMost, Exactly):
        with pytest.raises(ValueError, match="count: a finite number"):
            ceiling(count)


def test_a_curve_has_as_many_finite_points_as_its_graph() -> None:
    with pytest.raises(ValueError, match="noisy: an array of shape .3,. is needed"):
        compute_steps([1, 2], 3, None)
    with pytest.raises(ValueError, match="noisy: finite"):
        compute_steps([1, np.nan], 2, None)
