from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcurves.distributions import Family, IntervalSums, Noise, Tier
from dpcurves.distributions.interval_sums import build_layers

NOISE = Noise(Family.LAPLACE, Fraction(2))


def test_a_layer_knows_the_children_of_each_parent() -> None:
    _, fine = build_layers([np.array([0, 3, 5]), np.array([0, 1, 3, 4, 5])], [1.0, 1.0])
    assert fine.children.tolist() == [2, 2]
    assert fine.sum_children(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [3.0, 7.0]
    assert fine.repeat_for_children(np.array([3.0, 7.0])).tolist() == [3.0, 3.0, 7.0, 7.0]
    assert fine.width_fraction.tolist() == [1 / 3, 2 / 3, 1 / 2, 1 / 2]


def test_a_level_that_was_not_measured_has_no_weight() -> None:
    coarse, fine = build_layers([np.array([0, 2]), np.array([0, 1, 2])], [np.inf, 3.0])
    assert coarse.own_weight.tolist() == [0.0]
    assert coarse.variance.tolist() == [6.0]
    assert fine.own_weight.tolist() == [1.0, 1.0]


def test_two_equal_measurements_of_one_interval_halve_the_variance() -> None:
    coarse, _ = build_layers([np.array([0, 2]), np.array([0, 1, 2])], [6.0, 3.0])
    assert coarse.own_weight.tolist() == [0.5]
    assert coarse.variance.tolist() == pytest.approx([3.0])


@pytest.mark.parametrize(
    "bounds",
    [
        [np.array([0, 2, 4]), np.array([0, 1, 3, 4])],
        [np.array([0, 3, 4]), np.array([0, 1, 2, 4])],
        [np.array([0, 2, 2, 4])],
        [np.array([1, 4]), np.array([0, 4])],
        [np.array([0, 4]), np.array([0, 2])],
    ],
)
def test_tilings_that_are_not_nested_are_refused(bounds: list[np.ndarray[tuple[int], np.dtype[np.int64]]]) -> None:
    with pytest.raises(ValueError, match="distribution: each interval must be a union"):
        build_layers(bounds, [1.0] * len(bounds))


def test_a_distribution_without_levels_is_refused() -> None:
    with pytest.raises(ValueError, match="distribution: a distribution needs at least one level"):
        build_layers([], [])


def test_the_edges_inside_merged_cells_are_not_measured() -> None:
    distribution = IntervalSums(2, 5, (Tier((0,), NOISE), Tier((0, 2, 3), NOISE)), missing=None)
    assert distribution.measured_edges.tolist() == [True, False, True, True, False, True]
