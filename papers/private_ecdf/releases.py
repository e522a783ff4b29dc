"""Curves of Poisson counts: raw, smoothed as the paper does, isotonic, and by dpcurves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from path import Path

import dpcurves as dp
from dpcurves.noise import Randomness
from dpcurves.smoothing import AtMost, project_isotonic_l1, project_isotonic_l2
from dpcurves.summaries import isotonic_projection

FloatArray = NDArray[np.float64]
MOST_RECORDS = 4_000_000  # of which a table is made for dpcurves; the paper's method gets by with counts


def raw(exact: FloatArray, path: Path, epsilon: float, randomness: Randomness) -> FloatArray:
    """Equation 2, in counts."""
    return exact + path.noise(path.scale(epsilon), randomness)


def smoothed(noisy: FloatArray, path: Path, records: float) -> dict[str, FloatArray]:
    """Equation 3 with both powers, and the cheap projection on rising curves."""
    ceiling = AtMost(records)
    return {
        "p = 1": project_isotonic_l1(noisy, path.graph, ceiling),
        "p = 2": project_isotonic_l2(noisy, path.graph, ceiling),
        "isotonic": np.clip(isotonic_projection(noisy), 0, records),
    }


def of_package(exact: FloatArray, epsilon: float, randomness: Randomness) -> dp.CDF | None:
    """`dpcurves.cdf` of the same records, none of them at the end of a cell; None where they are too many."""
    if exact[-1] > MOST_RECORDS:
        return None
    values = np.repeat(np.arange(len(exact)), np.diff(exact, prepend=0.0).astype(np.int64)) + 0.5
    grid = dp.Grid(0, len(exact), cells=len(exact))
    return dp.cdf(values, grid=grid, epsilon=Fraction(str(epsilon)), adjacency=dp.REPLACE_ONE, randomness=randomness)
