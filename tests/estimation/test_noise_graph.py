from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpcurves.smoothing import NoiseGraph, build_noise_graph

FloatArray = NDArray[np.float64]
Stretch = tuple[int, int, float]


@st.composite
def nested_stretches(draw: st.DrawFn) -> tuple[int, list[Stretch]]:
    points, stretches = draw(st.integers(1, 12)), list[Stretch]()
    pieces = [(0, points)]
    while pieces:
        start, end = pieces.pop()
        stretches += [(start, end, float(draw(st.integers(0, 5)))) for _ in range(draw(st.integers(0, 2)))]
        if end - start > 1:
            middle = draw(st.integers(start + 1, end - 1))
            pieces += [(start, middle), (middle, end)]
    return points, draw(st.permutations(stretches))


def graph_of(points: int, stretches: list[Stretch]) -> NoiseGraph:
    columns = np.array(stretches, dtype=np.float64).reshape(-1, 3)
    return build_noise_graph(points, columns[:, 0].astype(int), columns[:, 1].astype(int), columns[:, 2])


def covariance_of_points(graph: NoiseGraph) -> FloatArray:
    covers = covering(graph.points, graph.slots.lower, graph.slots.upper)
    return (covers * graph.variance) @ covers.T


def covering(points: int, first: NDArray[np.integer], last: NDArray[np.integer]) -> FloatArray:
    point = np.arange(points)[:, None]
    return ((first <= point) & (point < last)).astype(np.float64)


@settings(deadline=None)  # loops are compiled on the first call
@given(nested_stretches())
def test_points_have_the_covariance_of_their_noises(noise: tuple[int, list[Stretch]]) -> None:
    points, stretches = noise
    exact = np.zeros((points, points))
    for first, last, variance in stretches:
        exact[first:last, first:last] += variance
    np.testing.assert_allclose(covariance_of_points(graph_of(points, stretches)), exact)


@settings(deadline=None)
@given(nested_stretches(), st.data())
def test_a_subset_of_points_keeps_its_covariance(noise: tuple[int, list[Stretch]], data: st.DataObject) -> None:
    graph = graph_of(*noise)
    kept = sorted(data.draw(st.sets(st.integers(0, graph.points - 1), min_size=1)))
    part = graph.restrict_to_points(kept)
    assert part.points == len(kept)
    np.testing.assert_allclose(covariance_of_points(part), covariance_of_points(graph)[np.ix_(kept, kept)])


@settings(deadline=None)
@given(nested_stretches())
def test_of_equal_stretches_the_largest_variance_is_known(noise: tuple[int, list[Stretch]]) -> None:
    points, stretches = noise
    graph = graph_of(points, stretches)
    for lower, upper, largest in zip(graph.slots.lower, graph.slots.upper, graph.largest, strict=True):
        same = [variance for first, last, variance in stretches if (first, last) == (lower, upper)]
        assert largest == max(same, default=0)


@settings(deadline=None)
@given(nested_stretches())
def test_every_inner_step_is_eliminated_once_between_its_two_neighbours(noise: tuple[int, list[Stretch]]) -> None:
    slots, points = graph_of(*noise).slots, noise[0]
    np.testing.assert_array_equal(slots.upper[slots.left_slot], slots.lower[slots.right_slot])
    np.testing.assert_array_equal(slots.lower[slots.left_slot], slots.lower[points:])
    np.testing.assert_array_equal(slots.upper[slots.right_slot], slots.upper[points:])
    assert sorted(slots.upper[slots.left_slot].tolist()) == list(range(1, points))
    assert (slots.lower[-1], slots.upper[-1]) == (0, points)


@pytest.mark.parametrize("last", [[3, 4], [4, 3]])
def test_stretches_that_cross_are_refused(last: list[int]) -> None:
    with pytest.raises(ValueError, match="two blocks overlap, and neither contains the other"):
        build_noise_graph(5, [0, 2] if last[0] < last[1] else [2, 0], last, 1.0)


@pytest.mark.parametrize(
    ("points", "first", "last", "variance", "named"),
    [
        (0, [], [], 1.0, "points"),
        (3, [1], [1], 1.0, "blocks"),
        (3, [-1], [1], 1.0, "blocks"),
        (3, [0], [4], 1.0, "blocks"),
        (3, [0, 1], [3], 1.0, "blocks"),
        (3, [0], [3], -1.0, "variance"),
        (3, [0], [3], np.nan, "variance"),
        (3, [0], [3], np.inf, "variance"),
    ],
)
def test_noise_that_is_none_is_refused(
    points: int, first: list[int], last: list[int], variance: float, named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        build_noise_graph(points, first, last, variance)


@pytest.mark.parametrize("points", [[], [-1, 0], [0, 4], [1, 1], [2, 1], [[1]]])
def test_points_outside_or_out_of_order_are_refused(points: list[int]) -> None:
    with pytest.raises(ValueError, match="points: rising indices of points from 0 to 3"):
        build_noise_graph(4, [0], [4], 1.0).restrict_to_points(points)
