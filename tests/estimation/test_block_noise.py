from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from baselines import path_graph, regular_bounds, subtraction_graph, subtraction_variances
from test_noise_graph import FloatArray, covariance_of_points

from dpcurves.distributions import Family, IntervalSums, Noise, Tier
from dpcurves.smoothing import build_prefix_graph

LEVELS = [3.0, 5.0, 0.5, 2.0, 7.0, 1.5, 4.0]


def covariance(noises_of_points: Sequence[set[tuple[int, int]]], variances: Sequence[float]) -> FloatArray:
    """From the blocks, each a level and a number, whose noise each point has."""
    return np.array([[sum(variances[level] for level, _ in a & b) for b in noises_of_points] for a in noises_of_points])


@pytest.mark.parametrize("arity", [2, 3, 7])
@pytest.mark.parametrize("cells", [1, 2, 8, 11, 30])
def test_a_path_has_one_block_of_each_level(cells: int, arity: int) -> None:
    bounds = regular_bounds(cells, arity)
    variances = LEVELS[: len(bounds)]
    width = [arity**level for level in reversed(range(len(bounds)))]
    paths = [{(level, i // width[level]) for level in range(len(bounds))} for i in range(cells)]
    np.testing.assert_allclose(covariance_of_points(path_graph(bounds, variances)), covariance(paths, variances))


@pytest.mark.parametrize("arity", [2, 3, 7])
@pytest.mark.parametrize("cells", [1, 2, 8, 11, 30])
def test_a_prefix_is_made_of_as_few_blocks_as_can_be(cells: int, arity: int) -> None:
    bounds = regular_bounds(cells, arity)
    variances = LEVELS[: len(bounds)]
    made_of = [_fewest_blocks(end, [ends.tolist() for ends in bounds]) for end in range(1, cells + 1)]
    np.testing.assert_allclose(
        covariance_of_points(build_prefix_graph(bounds, variances)), covariance(made_of, variances)
    )


def _fewest_blocks(end: int, bounds: list[list[int]]) -> set[tuple[int, int]]:
    blocks, reached = set[tuple[int, int]](), 0
    while reached < end:
        level, last = next(
            (level, last)
            for level, ends in enumerate(bounds)
            for first, last in pairwise(ends)
            if first == reached and last <= end
        )
        blocks.add((level, bounds[level].index(last)))
        reached = last
    return blocks


@pytest.mark.parametrize("widths", [[1], [3, 1], [27, 9, 3, 1], [25, 5, 1], [35, 5, 1], [7, 1], [99, 9, 9, 1]])
@pytest.mark.parametrize("cells", [1, 4, 13, 40])
def test_subtraction_reaches_each_end_by_its_nearest_multiples(cells: int, widths: list[int]) -> None:
    variances = LEVELS[: len(widths)]
    used = [_walked(end, cells, widths) for end in range(1, cells + 1)]
    graph = subtraction_graph(cells, widths, variances)
    np.testing.assert_allclose(covariance_of_points(graph), covariance(used, variances))


def _walked(end: int, cells: int, widths: list[int]) -> set[tuple[int, int]]:
    blocks, reached = set[tuple[int, int]](), 0
    for level, width in enumerate(widths):
        target = (end + width // 2) // width * width
        low, high = sorted((reached, target))
        blocks |= {(level, number) for number in range(low // width, high // width) if number * width < cells}
        reached = target
    assert reached == end
    return blocks


def test_prefixes_read_by_subtraction_have_these_variances() -> None:
    levels = tuple(Tier(range(0, 40, width), Noise(Family.LAPLACE, Fraction(width + 2))) for width in (25, 5, 1))
    graph = subtraction_graph(40, [25, 5, 1], [level.noise.variance for level in levels])
    read = subtraction_variances(IntervalSums(1, 40, levels, missing=None))
    np.testing.assert_allclose(np.diag(covariance_of_points(graph)), read[1:])


def test_what_makes_no_tree_is_refused() -> None:
    for build in (path_graph, build_prefix_graph):
        with pytest.raises(ValueError, match="variances"):
            build(regular_bounds(4, 2), [1.0])
        with pytest.raises(ValueError, match="variances"):
            build([], [])
    for widths in ([], [4, 1], [3], [7, 3, 1]):
        with pytest.raises(ValueError, match="widths: odd multiples"):
            subtraction_graph(4, widths, [1.0] * len(widths))
    with pytest.raises(ValueError, match="variances"):
        subtraction_graph(4, [3, 1], [1.0])
    with pytest.raises(ValueError, match="cells"):
        regular_bounds(0, 2)
    with pytest.raises(ValueError, match="arity"):
        regular_bounds(4, 1)


def test_levels_that_are_not_nested_are_refused() -> None:
    crossing = [np.array([0, 3, 6]), np.array([0, 2, 4, 6])]
    for build in (path_graph, build_prefix_graph):
        with pytest.raises(ValueError, match="union of blocks"):
            build(crossing, [1.0, 1.0])
