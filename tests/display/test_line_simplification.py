"""Long arrays lose nothing that a picture could show."""

from __future__ import annotations

import numpy as np

from dpcurves.display.canvas import THINNED_POINTS, hull_in_blocks, select_visible_points


def test_short_curves_are_drawn_whole() -> None:
    x = np.linspace(0, 1, 2 * THINNED_POINTS)
    assert len(select_visible_points(x, x**2)) == 2 * THINNED_POINTS


def test_long_curves_move_by_less_than_a_thousandth() -> None:
    x = np.geomspace(1, 1e6, 2**17)
    y = np.clip(np.log(x) - 6, 0, 2) + (x > 1e5)
    seen = select_visible_points(x, y)
    assert len(seen) <= 6 * THINNED_POINTS
    assert (seen[0], seen[-1]) == (0, len(x) - 1)
    assert np.abs(np.interp(x, x[seen], y[seen]) - y).max() <= (y.max() - y.min()) / THINNED_POINTS


def test_a_jump_between_two_edges_stays_upright() -> None:
    x = np.linspace(0, 1, 2**16)
    y = (x > 0.3).astype(float)
    seen = select_visible_points(x, y)
    jump = int(np.flatnonzero(np.diff(y))[0])
    assert {jump, jump + 1} <= set(seen.tolist())


def test_flat_and_unknown_curves_are_no_error() -> None:
    x = np.linspace(0, 1, 5000)
    for y in (np.zeros(5000), np.full(5000, np.nan)):
        seen = select_visible_points(x, y)
        assert (seen[0], seen[-1]) == (0, 4999)


def test_a_thinned_band_holds_all_that_it_replaces() -> None:
    edges = np.linspace(0, 1, 10_001)
    low, high = -np.cos(np.arange(10_000.0)), 2 + np.sin(np.arange(10_000.0))
    cells, lower, upper = hull_in_blocks(edges, low, high)
    block = np.searchsorted(cells, edges[:-1], side="right") - 1
    assert len(lower) <= THINNED_POINTS
    assert (cells[0], cells[-1]) == (0, 1)
    assert np.all(lower[block] <= low)
    assert np.all(upper[block] >= high)
