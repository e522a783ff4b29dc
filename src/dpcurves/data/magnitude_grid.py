"""A public grid of magnitudes: intervals around zero, each twice as wide as the one before."""

from __future__ import annotations

from math import isfinite

import numpy as np

from ..arguments import Refused, number, whole
from .grid import Grid
from .spacing import Outside

DOUBLINGS = 64
"""How often a unit is doubled at most, where nobody says otherwise: 2**64 is 1.8e19."""


def doubling_grid(unit: float, doublings: int = DOUBLINGS, *, name: str = "unit") -> Grid:
    """Cells of which the middle 1, 3, 5, ... together are the closed intervals ``[-d, d]``, d = 1, 2, 4, ... units.

    So the inner edges above zero are the least doubles above d. Values outside are counted apart. `name` is what the
    unit is called where it is asked for.

    >>> doubling_grid(1, doublings=2).cell_of(np.array([-4, -1, 1, 1.5, 2, 4, 5])).tolist()
    [1, 3, 3, 4, 4, 5, 6]

    Raises:
        ValueError: `unit` is not above zero (from 2.3e-308 on) and finite, or `doublings` is not from 1 to 256, or
            leaves the doubles.
        TypeError: one of them is no number.
    """
    unit, doublings = number(name, unit), whole("doublings", doublings)
    if not (isfinite(unit) and unit >= np.finfo(np.float64).tiny):
        raise Refused(name, f"a finite number above zero is needed, from 2.3e-308 on, got {unit}")
    if not 1 <= doublings <= 256:
        raise Refused("doublings", f"a whole number from 1 to 256 is needed, got {doublings}")
    bounds = [unit * 2.0**power for power in range(doublings + 1)]
    if not isfinite(bounds[-1]):
        raise Refused(name, f"it has to stay finite when it is doubled {doublings} times, got {unit}")
    above = [*np.nextafter(bounds[:-1], np.inf).tolist(), bounds[-1]]
    return Grid.from_edges([*(-bound for bound in reversed(bounds)), *above], outside=Outside.APART)
