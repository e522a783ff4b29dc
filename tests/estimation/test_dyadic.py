from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers, just, sampled_from

from dpcurves.estimation.binary_tree import ROOT, DyadicLayout

Layout = Callable[[int], DyadicLayout]
LAYOUTS = sampled_from([DyadicLayout.from_cells, DyadicLayout.from_cells_with_ends])
SIZES = integers(1, 140) | just(1000)


def intervals(layout: DyadicLayout, nodes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[tuple[int, int]]:
    begin, width = layout.begin[nodes], layout.width[nodes]
    return sorted(zip(begin.tolist(), (begin + width).tolist(), strict=True))


def tiles(found: list[tuple[int, int]], cells: int) -> bool:
    ends = [0, *(end for _, end in found)]
    return ends[:-1] == [begin for begin, _ in found] and ends[-1] == cells and ends == sorted(set(ends))


@given(cells=SIZES, make=LAYOUTS)
def test_each_depth_tiles_the_cells(make: Layout, cells: int) -> None:
    layout = make(cells)
    for depth in range(layout.depth + 1):
        assert tiles(intervals(layout, layout.nodes_at_depth(depth)), cells)
    assert intervals(layout, layout.cell_nodes) == [(cell, cell + 1) for cell in range(cells)]


@given(cells=SIZES, make=LAYOUTS)
def test_every_parent_is_its_two_halves(make: Layout, cells: int) -> None:
    layout = make(cells)
    reached = {ROOT}
    for parent, left, right, _ in layout.halvings:
        assert np.all(layout.width[parent] > 0)
        assert np.array_equal(layout.width[left] + layout.width[right], layout.width[parent])
        there = layout.width[left] > 0
        assert np.array_equal(layout.begin[left][there], layout.begin[parent][there])
        middle = layout.begin[parent] + layout.width[left]
        there = layout.width[right] > 0
        assert np.array_equal(layout.begin[right][there], middle[there])
        nodes = np.arange(layout.nodes)
        assert set(nodes[parent].tolist()) <= reached
        reached |= {*nodes[left].tolist(), *nodes[right].tolist()}
    assert {node for node in reached if layout.width[node] > 0} == set(np.flatnonzero(layout.width).tolist())
    assert set(layout.cell_nodes.tolist()) <= reached


@given(cells=SIZES, make=LAYOUTS)
def test_tilings_are_found_by_their_bounds_and_an_interval_is_always_the_same_node(make: Layout, cells: int) -> None:
    layout = make(cells)
    number: dict[tuple[int, int], int] = {}
    for depth in range(layout.depth + 1):
        tiling = intervals(layout, layout.nodes_at_depth(depth))
        found = layout.find_nodes(np.array([0, *(end for _, end in tiling)]))
        assert intervals(layout, found) == tiling
        for interval, node in zip(tiling, found.tolist(), strict=True):
            assert number.setdefault(interval, node) == node, interval
    assert layout.width[layout.find_nodes(np.array([0, cells]))[0]] == cells


@pytest.mark.parametrize(
    ("layout", "bounds"),
    [
        (DyadicLayout.from_cells(8), [0, 3, 4, 8]),
        (DyadicLayout.from_cells(8), [0, 1, 3, 4, 8]),
        (DyadicLayout.from_cells(7), [0, 4, 5, 7]),
        (DyadicLayout.from_cells_with_ends(8), [0, 2, 4, 8]),
        (DyadicLayout.from_cells_with_ends(8), [0, 1, 8]),
        (DyadicLayout.from_cells_with_ends(8), [0, 1, 3, 7, 8]),
        (DyadicLayout.from_cells_with_ends(8), [0, 4, 6, 8]),
    ],
)
def test_other_intervals_are_refused(layout: DyadicLayout, bounds: list[int]) -> None:
    with pytest.raises(ValueError, match="do not form an interval of this tree"):
        layout.find_nodes(np.array(bounds))


def test_ends_leave_their_neighbours_a_third_of_the_way_down() -> None:
    layout = DyadicLayout.from_cells_with_ends(64)
    assert layout.begin[layout.nodes_at_depth(1)].tolist() == [0, 32]
    assert layout.begin[layout.nodes_at_depth(2)].tolist() == [0, 1, 16, 32, 48, 63]
    assert layout.begin[layout.nodes_at_depth(3)].tolist() == [0, 1, 8, 16, 24, 32, 40, 48, 56, 63]
    nodes = layout.find_nodes(np.array([0, 16, 32, 48, 63, 64]))
    assert layout.width[nodes].tolist() == [16, 16, 16, 15, 1]


def test_a_layout_needs_a_cell() -> None:
    for make in (DyadicLayout.from_cells, DyadicLayout.from_cells_with_ends):
        with pytest.raises(ValueError, match="cells: must be at least 1"):
            make(0)
