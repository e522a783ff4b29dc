"""End cells are called crowded where values were clipped into them, and not on ordinary data."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves.curves.result import find_crowded_end_cells

DRAW = np.random.default_rng(11)
N = 50_000
ORDINARY = {
    "even": (DRAW.random(N), (0, 1)),
    "normal": (DRAW.normal(0, 1, N), (-6, 6)),
    "exponential": (DRAW.exponential(1, N), (0, 15)),
    "gamma": (DRAW.gamma(2, 1, N), (0, 15)),
    "lognormal": (DRAW.lognormal(0, 0.5, N), (0, 12)),
    "whole years": (np.floor(DRAW.beta(2, 3, N) * 90), (0, 90)),
    "beta": (DRAW.beta(0.5, 0.5, N), (0, 1)),
}


def counted(values: NDArray[np.float64], lower: float, upper: float, cells: int) -> tuple[float, float]:
    edges = np.linspace(lower, upper, cells + 1)
    below = np.append([np.sum(values < edge) for edge in edges[:-1]], len(values)).astype(np.float64)
    below[0] = 0.0
    noise = np.concatenate([[0.0], DRAW.laplace(0, 20, cells - 1), [0.0]])
    return find_crowded_end_cells(edges, below + noise, (20 * sqrt(2), 20 * sqrt(2)))


@pytest.mark.parametrize("cells", [5, 8, 20, 90, 360])
@pytest.mark.parametrize("name", ORDINARY)
def test_on_ordinary_data_nothing_is_said(name: str, cells: int) -> None:
    values, (lower, upper) = ORDINARY[name]
    assert counted(values, lower, upper, cells) == (0.0, 0.0)


@pytest.mark.parametrize("cells", [8, 64, 1024])
def test_what_is_clipped_is_seen_and_its_share_is_near(cells: int) -> None:
    values = DRAW.lognormal(10.4, 0.9, N)
    first, last = counted(values, 0, 50_000, cells)
    assert first == 0
    assert last == pytest.approx(np.mean(values >= 50_000 - 50_000 / cells), abs=0.02)
    with_zeros = np.where(DRAW.random(N) < 0.6, 0.0, values)
    assert counted(with_zeros, 0, 1e6, 1024)[0] == pytest.approx(0.6, abs=0.02)


def test_noise_alone_is_never_taken_for_records() -> None:
    """The false-alarm rate is 0 by design: of 2,000 empty tables, none speaks (8 standard deviations)."""
    edges, spread = np.arange(9.0), (sqrt(2) * 30, sqrt(2) * 30)
    for _ in range(2000):
        below = np.concatenate([[0.0], np.cumsum(DRAW.laplace(0, 30, 8))])
        assert find_crowded_end_cells(edges, below, spread) == (0.0, 0.0)


def test_few_cells_have_no_neighbours_to_compare_with() -> None:
    assert find_crowded_end_cells(np.arange(3.0), np.array([0.0, 90, 100]), (0.0, 0.0)) == (0.0, 0.0)
