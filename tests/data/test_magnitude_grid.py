"""A grid of magnitudes holds closed intervals around zero, for every unit and every value."""

from __future__ import annotations

import numpy as np
import pytest

from dpcurves.data import doubling_grid


@pytest.mark.parametrize("unit", [1.0, 0.1, 1000, 2.3e-308, 3e200])
@pytest.mark.parametrize("doublings", [1, 2, 64])
def test_slots_around_the_middle_are_closed_intervals(unit: float, doublings: int) -> None:
    grid = doubling_grid(unit, doublings)
    bounds = unit * 2.0 ** np.arange(doublings + 1)
    edges = np.concatenate([bounds, np.nextafter(bounds, np.inf), np.nextafter(bounds, 0), [0.0, np.inf]])
    values = np.concatenate([edges, -edges])
    farness = np.abs(grid.cell_of(values) - grid.slots // 2)
    assert (farness == np.searchsorted(bounds, np.abs(values))).all()


def test_units_that_lead_nowhere_are_refused() -> None:
    for unit in (0, -1, 5e-324, np.nan, np.inf):
        with pytest.raises(ValueError, match="^unit: "):
            doubling_grid(unit, 3)
    for doublings in (0, 257):
        with pytest.raises(ValueError, match="^doublings: "):
            doubling_grid(1, doublings)
    with pytest.raises(ValueError, match="^unit: 64 doublings of the unit must stay finite"):
        doubling_grid(1e300, 64)
