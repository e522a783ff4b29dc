from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from by_hand import answer, both

import dpcurves as dp
from dpcurves.curves import CDF, CdfQuestion
from dpcurves.curves.comparison import Distributed
from dpcurves.data import Grid, Outside
from dpcurves.privacy import PrivacyLoss

X = np.random.default_rng(2).integers(0, 4096, size=5000) / 4096
DISTANCES = (dp.ks_distance, dp.wasserstein_distance, dp.energy_distance)
HUGE = PrivacyLoss.pure(10**9)


def curve(values: object, grid: Grid) -> CDF:
    found: CDF = answer(CdfQuestion("x", grid), {"x": np.asarray(values)}, HUGE, both(len(X))[0], seed=1)
    return found


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_curve_without_noise_is_as_far_from_its_records_as_cells_are_wide(
    distance: Callable[[Distributed, Distributed], float],
) -> None:
    exact = curve(X, Grid(0, 1, cells=4096))
    assert distance(exact, exact) == 0
    assert 0 < distance(exact, X) == pytest.approx(distance(X, exact))
    assert distance(exact, X) < 0.002  # no value is drawn ten times; half a cell is an eighth of a thousandth


def test_records_on_the_closed_last_edge_are_below_it() -> None:
    ended = curve(np.ones(100), Grid(0, 1, cells=4))
    assert dp.ks_distance(ended, [1.0]) == pytest.approx(1.0, abs=1e-6)  # straight over the last cell, then all there
    assert dp.wasserstein_distance(ended, [1.0]) == pytest.approx(1 / 8, abs=1e-6)
    assert dp.wasserstein_distance(ended, curve(np.full(100, 0.8), Grid(0, 1, cells=4))) == pytest.approx(0, abs=1e-6)


def test_values_counted_apart_lie_on_the_ends_of_the_grid() -> None:
    apart = curve([-5.0, 0.5, 9.0, 9.0], Grid(0, 1, cells=64, outside=Outside.APART))
    assert dp.ks_distance(apart, [0, 0.5, 1, 1]) == pytest.approx(0.25, abs=1e-6)
    assert dp.wasserstein_distance(apart, [0, 0.5, 1, 1]) == pytest.approx(1 / 4 / 128, abs=1e-6)


def test_grids_may_differ() -> None:
    coarse, fine = curve(X, Grid(0, 1, cells=64)), curve(X, Grid(-1, 2, cells=999))
    assert dp.ks_distance(coarse, fine) < 0.02
    assert dp.wasserstein_distance(coarse, curve(X + 0.5, Grid(0, 2, cells=128))) == pytest.approx(0.5, abs=1e-3)
