"""Levels between measured ones, so that deviations are judged at the scale at which they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...laws.least_squares import TreeReading

FAN = 4  # no interval is compared with more siblings at once than 3: small shifts over long stretches must be seen


def refined(readings: Sequence[TreeReading]) -> Iterator[TreeReading]:
    """Put unmeasured levels between readings where a parent has more than `FAN` children."""
    parent = readings[0].bounds[[0, -1]]
    for reading in readings:
        yield from _between(parent, reading)
        yield reading
        parent = reading.bounds


def _between(parent: NDArray[np.int64], reading: TreeReading) -> Iterator[TreeReading]:
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
        yield TreeReading(bounds, np.inf, np.zeros((*reading.values.shape[:-1], len(bounds) - 1)))
