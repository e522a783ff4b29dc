"""Least squares that doubts small differences: deviations that noise alone explains are taken back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray
from ...laws import IntervalSums
from ...laws.least_squares import Reading, ascend, over_cells, pinned, read
from ...laws.shrinkage import remaining

FAN = 4  # no interval is compared with more siblings at once than 3: small shifts over long stretches must be seen


def shrunken(law: IntervalSums, values: Sequence[int] | NDArray[np.int64], total: int | None) -> FloatArray:
    """Counts of shape (rows, cells), drawn towards an even split where noise is larger than structure.

    Top down, a parent's count is split evenly over its cells, plus the deviations of its children in least squares,
    times a factor. Let s be their squared deviations in units of their variance, of k - 1 degrees of freedom. A
    family with s above 3 (k - 1) has the positive-part factor of James and Stein (1961), 1 - (k - 3) / s, at most 1;
    all others share their level's ``max(0, 1 - (k - 1) / s)``, from sums over all families of the row. Rows keep
    their totals. Parents of many children get unmeasured levels in between, so that at each scale a shift is judged
    at that scale: shrinking 4096 cells at once would be right for cells, and wrong for their prefixes.

    The result is biased, and better on smooth data; it is meant to be cumulated and made monotone. It carries no
    standard error: bands stand on `least_squares`.

    Args:
        law: How the values scatter.
        values: As released, in the order of the law.
        total: As for `least_squares`.

    Raises:
        ValueError: the values do not fit the law, or its levels are not nested.
    """
    readings, missing = read(law, np.asarray(values, dtype=np.float64))
    ascent = ascend(list(refined(readings)))
    totals, _ = pinned(law, ascent, missing, total)
    counts = totals[..., None]
    for layer, estimate, sums in zip(*ascent, strict=True):
        even = layer.split * layer.spread(counts)
        deviation = estimate + layer.share * layer.spread(counts - sums) - even
        squares = layer.sum(deviation**2 / layer.variance)
        counts = even + layer.spread(remaining(squares, layer.children - 1)) * deviation
    return over_cells(counts, ascent.layers[-1].width)


def refined(readings: Sequence[Reading]) -> Iterator[Reading]:
    """Put unmeasured levels between readings where a parent has more than `FAN` children."""
    parent = readings[0].bounds[[0, -1]]
    for reading in readings:
        yield from _between(parent, reading)
        yield reading
        parent = reading.bounds


def _between(parent: NDArray[np.int64], reading: Reading) -> Iterator[Reading]:
    """Levels whose intervals join 4, 16, 64, ... siblings, from coarse to fine."""
    first = np.searchsorted(reading.bounds, parent)
    children = np.diff(first)
    place = np.arange(len(reading.bounds) - 1) - np.repeat(first[:-1], children)  # of each child in its family
    joined = FAN
    steps = []
    while joined < children.max():
        steps.append(joined)
        joined *= FAN
    for step in reversed(steps):
        bounds = reading.bounds[np.append(place % step == 0, True)]
        yield Reading(bounds, np.inf, np.zeros((*reading.values.shape[:-1], len(bounds) - 1)))
