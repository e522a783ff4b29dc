"""Distances of two distribution functions: of curves, or of a curve and a sample."""

from __future__ import annotations

from typing import TypeAlias

from numpy.typing import ArrayLike

from ..postprocess import Distribution, area_between, energy_between, largest_gap
from .cdf import CDF

Distributed: TypeAlias = CDF | ArrayLike
"""A curve, which is straight inside its cells, or a sample, whose distribution function has steps."""


def ks_distance(a: Distributed, b: Distributed) -> float:
    """The largest difference of two distribution functions (Kolmogorov 1933, Smirnov 1939).

    All three distances are exact: functions are compared on the union of their edges and values, from the left and from
    the right. Values that a curve counted outside its grid are taken to lie on the nearest edge. Inside a cell a curve
    is linear where a sample has steps, so a sample of whole numbers has a positive distance even from its own exact
    curve.

    Args:
        a: A `CDF`, or values of shape ``(n,)``, of which NaN are missing.
        b: Another `CDF`, or other values.

    Formal guarantees: a distance between two released curves costs no privacy loss. **A distance to a sample is a
    statistic of the sample**: where the sample is secret, so is the distance.

    Raises:
        ValueError: a sample has no value, or an infinite one.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 100, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
    >>> round(dp.ks_distance(early, late), 1)
    0.5
    """
    return largest_gap(_distribution(a), _distribution(b))


def wasserstein_distance(a: Distributed, b: Distributed) -> float:
    """The area between two distribution functions: how far records must move on average, in units of the column.

    Its order is 1 (Vaserstein 1969); for two samples, SciPy's. Arguments, guarantees and errors as for `ks_distance`.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 100, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
    >>> round(dp.wasserstein_distance(early, late), 1)
    2.0
    """
    return area_between(_distribution(a), _distribution(b))


def energy_distance(a: Distributed, b: Distributed) -> float:
    """The root of twice the integral of the squared difference of two distribution functions (Székely and Rizzo 2013).

    For two samples, SciPy's. Arguments, guarantees and errors as for `ks_distance`.

    >>> import dpcurves as dp
    >>> curve = dp.cdf([2, 5] * 1000, grid=dp.Grid(0, 10, cells=1024), epsilon=100, adjacency=dp.REPLACE_ONE)
    >>> dp.energy_distance(curve, [2, 5]) < 0.1
    True
    """
    return energy_between(_distribution(a), _distribution(b))


def _distribution(given: Distributed) -> Distribution:
    return Distribution.of_curve(given.x, given.y) if isinstance(given, CDF) else Distribution.of_sample(given)
