"""Coarse blocks are counted, and divided where there are many records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..data import Read
from ..release import Setting, Step
from .counted import counted, read_regions, records_inside, regions, together
from .extent import Extent, Places, equal_blocks
from .survey import Axes, Conversation, FloatArray, epsilon_per_record

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class AdaptiveGridSurvey:
    """Two levels of blocks (Qardaji, Yang and Li 2013), read together by least squares. Two turns, or three.

    Half of the share counts coarse blocks, half the parts of each, which are about ``count * epsilon / 5`` of it. Where
    the number of records is private a twentieth of the share counts them first; the paper takes it as known. The
    paper's way to make both levels agree supposes equal parts; here each block is read with the parts that it has.
    """

    def counts(self, axes: Axes, setting: Setting, share: Fraction) -> Conversation:
        """Ask how many records there are, if need be, then for coarse blocks, then for fine ones."""
        extent = Extent.of(axes)
        records, left, paid = yield from records_inside(axes, extent, setting, share)
        epsilon = epsilon_per_record(setting, left)
        coarse = equal_blocks(extent.shape, coarse_parts(records, epsilon, len(extent.shape)))
        first = yield from counted(axes, extent, [coarse], Read.CELLS, left * HALF)
        fine = _divided(extent.shape, coarse, first.cells.ravel(), epsilon / 2)
        query = regions(axes, extent, [coarse, fine], Read.CELLS, turn=1)
        second = yield Step(regions(axes, extent, [_pairs(coarse, fine)], Read.CELLS, turn=1), left * HALF)
        return read_regions(query, extent, together(first.releases[0], second), (*paid, *first.releases, second))


def _pairs(coarse: Places, fine: Places) -> Places:
    """One number for each pair."""
    return coarse * (int(fine.max()) + 1) + fine


def coarse_parts(records: float, epsilon: float, axes: int) -> int:
    """Into how many parts to divide each axis at first: a quarter of what equal blocks would have, but 10 at least.

    >>> coarse_parts(10**6, 1, axes=2), coarse_parts(0, 1, axes=2)
    (80, 10)
    """
    blocks: float = max(records, 0.0) * epsilon / 10
    return max(10, math.ceil(math.pow(blocks, 1 / axes) / 4 - 1e-9))


def _divided(shape: tuple[int, ...], coarse: Places, estimate: FloatArray, epsilon: float) -> Places:
    """Of each cell, the number of its part in its block, where a block is divided into as many along each axis."""
    sums = np.bincount(coarse, weights=estimate)
    parts = np.maximum(1, np.ceil((np.maximum(sums, 0.0) * epsilon / 5) ** (1 / len(shape)) - 1e-9)).astype(np.int64)
    label = np.zeros(len(coarse), dtype=np.int64)
    for places in np.indices(shape).reshape(len(shape), -1):
        low = np.full(len(sums), np.iinfo(np.int64).max)
        high = np.zeros(len(sums), dtype=np.int64)
        np.minimum.at(low, coarse, places)
        np.maximum.at(high, coarse, places)
        width = (high - low + 1)[coarse]
        count = np.minimum(parts[coarse], width)
        label = label * count + (places - low[coarse]) * count // width
    return label
