"""Measurements of dyadic intervals of the same cells by several releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...arguments import Refused
from ...arrays import FloatArray
from ...laws import IntervalSums, Tier
from ...laws.noise import LEAST_VARIANCE
from .binary_tree import Layout

Values = Sequence[int] | NDArray[np.int64] | FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Measurements:
    """Noisy counts of nodes. Arrays are over the nodes of the layout.

    Attributes:
        layout: Which intervals the nodes are.
        precision: One over the variance of the noise; 0: not measured; infinite: no cells, hence no records.
        value: The noisy count.
        fourth: The fourth cumulant of the noise: how heavy its tails are. 0 for Gaussian noise.
    """

    layout: Layout
    precision: FloatArray
    value: FloatArray
    fourth: FloatArray

    @classmethod
    def nothing(cls, layout: Layout) -> Measurements:
        """Before anything is released."""
        precision = np.where(layout.width > 0, 0.0, np.inf)
        return cls(layout, precision, np.zeros(layout.nodes), np.zeros(layout.nodes))


def gather(layout: Layout, releases: Sequence[tuple[IntervalSums, Values]]) -> Measurements:
    """Gather the measurements of all levels; those of one interval become one, their mean by inverse variance.

    Noises must be independent. The count of missing records is left aside.

    Args:
        layout: Its nodes are what may have been measured.
        releases: Laws of one row over the cells of the layout, and the values as released.

    Raises:
        ValueError: an interval is no node, values do not fit their law, or a law is over other cells or several rows.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Noise
    >>> level = Tier(range(2), Noise(Family.GAUSSIAN, Fraction(4)))
    >>> law = IntervalSums(1, 2, (level,), missing=None)
    >>> known = gather(Layout.nested([np.array([0, 2])]), [(law, [5, 1]), (law, [3, 1])])
    >>> known.value[2:], known.precision[2:]
    (array([4., 1.]), array([0.5, 0.5]))
    """
    known = Measurements.nothing(layout)
    for law, values in releases:
        _check(layout, law, values)
        start = 0
        for level in law.levels:
            counts = np.asarray(values[start : start + len(level.starts)], dtype=np.float64)
            _merge(known, level, counts)
            start += len(level.starts)
    return known


def _check(layout: Layout, law: IntervalSums, values: Values) -> None:
    if (law.rows, law.cells) != (1, layout.cells):
        raise Refused("law", f"one row of {layout.cells} cells is needed, got {law.rows} of {law.cells}")
    if len(values) != law.size:
        raise Refused("values", f"{law.size} are needed to fit the law, got {len(values)}")


def _merge(known: Measurements, level: Tier, counts: FloatArray) -> None:
    """Into the arrays of `known`."""
    node = known.layout.find(level.bounds(known.layout.cells))
    variance = max(level.noise.variance, LEAST_VARIANCE)
    before = known.precision[node]
    trust = 1 / (1 + variance * before)  # of the new values
    known.value[node] += trust * (counts - known.value[node])
    known.fourth[node] = (1 - trust) ** 4 * known.fourth[node] + trust**4 * level.noise.fourth_cumulant
    known.precision[node] = before + 1 / variance
