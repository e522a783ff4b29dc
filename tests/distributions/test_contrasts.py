"""The nodes of a binary tree over any number of intervals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcurves.distributions import Family, HaarSums, Noise

NOISE = Noise(Family.GAUSSIAN, Fraction(1))


def distribution(cells: int, width: int = 1) -> HaarSums:
    return HaarSums(1, cells, width, NOISE, (NOISE,) * (-(-cells // width) - 1).bit_length(), None)


@pytest.mark.parametrize("cells", range(1, 40))
def test_a_row_has_one_contrast_less_than_intervals_and_a_total(cells: int) -> None:
    for width in (1, 2, 5):
        points = -(-cells // width)
        assert distribution(cells, width).points == points
        assert distribution(cells, width).size == points
        assert len(distribution(cells, width).blank_values()) == points


def test_only_nodes_with_a_right_half_have_a_contrast() -> None:
    assert [part.length for part in distribution(11).parts] == [1, 1, 1, 3, 5]
    assert distribution(11).halves == (8, 4, 2, 1)
    assert distribution(11, 4).bounds.tolist() == [0, 4, 8, 11]


def test_the_number_of_levels_is_that_of_the_tree() -> None:
    with pytest.raises(ValueError, match="8 intervals make 3 levels, got 1"):
        HaarSums(1, 8, 1, NOISE, (NOISE,), None)


def test_the_variance_of_a_prefix_is_a_triangle_of_each_contrast_it_meets() -> None:
    """Takes two cells, where the total and the contrast lend a quarter each, and four, where they do at the middle."""
    assert distribution(2).prefix_variances(total_is_public=False).tolist() == [[0, 0.5, 1]]
    assert distribution(4).prefix_variances(total_is_public=False)[0].tolist() == [0, 3 / 8, 0.5, 7 / 8, 1]
    assert np.allclose(distribution(4, 2).prefix_variances(total_is_public=False), [0, 1 / 8, 0.5, 5 / 8, 1])
