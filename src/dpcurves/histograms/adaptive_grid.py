"""Coarse blocks are counted, and divided where there are many records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..arrays import FloatArray, IntArray
from ..queries import Read
from ..release import Setting, Step
from .extent import Extent, equal_blocks
from .region_counts import counted, read_regions, records_inside, regions, together
from .table_estimator import Axes, Conversation, epsilon_per_record

FOR_SIZE = Fraction(1, 100)
"""What part of the share counts all records, where that is private: a first grid that is a little off costs little."""

COARSE = Fraction(2, 5)
"""What part of the rest counts the blocks; the others count their parts."""

PER_PART = 2
"""How many records a part is to hold, in scales of its noise."""


@dataclass(frozen=True, slots=True)
class AdaptiveGridEstimator:
    """Two levels of blocks (Qardaji, Yang and Li 2013), read together by least squares. Two turns, or three.

    Two fifths of the share count coarse blocks; the rest counts their parts. The number of parts of a block is about
    half the number of records that it seems to hold, times the epsilon of the parts. Where the number of records is
    private, a hundredth of the share counts them first; the paper takes this number as known.

    A block whose count may be large by noise alone is not divided, a rule that the paper does not have. Without it,
    empty blocks would be divided where their coarse counts are too high, and be read as holding records: the more parts
    a block has, the noisier is their sum, and the more the coarse count is trusted. With this rule smaller parts pay
    where records are dense (in the paper a block has a fifth as many parts as records times epsilon), and blocks stay
    so large that their parts can be finer. Each is read with the parts it has.

    Formal guarantees: those of `TableEstimator`. Shares are public, and make up `share`: 1/100 and 99/100, or 0 and 1
    where the number of records is public; of the latter 2/5 and 3/5. Each turn counts one tiling, of blocks that are
    disjoint and follow from public facts and earlier turns alone: so under either adjacency it loses its share, and all
    turns together `share`, by adaptive composition.
    """

    def counts(self, axes: Axes, setting: Setting, share: Fraction) -> Conversation:
        """Ask how many records there are, if need be, then for coarse blocks, then for fine ones."""
        extent = Extent.of(axes)
        records, left, paid = yield from records_inside(axes, extent, setting, share, FOR_SIZE)
        epsilon = epsilon_per_record(setting, left)
        coarse = equal_blocks(extent.shape, coarse_parts(records, epsilon, extent.shape))
        first = yield from counted(axes, extent, [coarse], Read.CELLS, left * COARSE)
        seen = np.bincount(coarse, weights=first.cells.ravel()).astype(np.float64)
        parts = parts_of(seen, epsilon, len(extent.shape))
        fine = _divided(extent.shape, coarse, parts)
        query = regions(axes, extent, [coarse, fine], Read.CELLS, turn=1)
        second = yield Step(regions(axes, extent, [_pairs(coarse, fine)], Read.CELLS, turn=1), left * (1 - COARSE))
        return read_regions(query, extent, together(first.releases[0], second), (*paid, *first.releases, second))


def _pairs(coarse: IntArray, fine: IntArray) -> IntArray:
    """A number for each pair."""
    return coarse * (int(fine.max()) + 1) + fine


def coarse_parts(records: float, epsilon: float, shape: tuple[int, ...]) -> int:
    """Into how many parts to divide each axis at first: a quarter of what equal blocks would have, but 10 at least.

    And no more than three halves of the root of the longest side: the second level is to be finer by as much.

    >>> [coarse_parts(records, 1, (256, 256)) for records in (0, 40_000, 10**6)]
    [10, 16, 24]
    """
    blocks: float = max(records, 0.0) * epsilon / 10
    wanted = max(10, math.ceil(math.pow(blocks, 1 / len(shape)) / 4 - 1e-9))
    return min(wanted, math.isqrt(9 * max(shape) // 4))


def parts_of(counts: FloatArray, epsilon: float, axes: int) -> IntArray:
    """Into how many parts to divide each axis of blocks with these noisy counts.

    No block is divided that holds less than log(blocks) scales of the noise: of empty ones, half a block in all exceeds
    that on average.

    >>> parts_of(np.array([0.0, 10.0, 40.0, 400.0]), 1, axes=2).tolist()
    [1, 2, 4, 11]
    """
    least = math.log(len(counts)) / (epsilon * float(COARSE))
    wanted = np.where(counts > least, counts, 0.0) * epsilon * float(1 - COARSE) / PER_PART
    return np.maximum(1, np.ceil(wanted ** (1 / axes) - 1e-9)).astype(np.int64)


def _divided(shape: tuple[int, ...], coarse: IntArray, parts: IntArray) -> IntArray:
    """Number the part of its block that each cell lies in, where a block is divided into as many along each axis."""
    label = np.zeros(len(coarse), dtype=np.int64)
    for places in np.indices(shape).reshape(len(shape), -1):
        low = np.full(len(parts), np.iinfo(np.int64).max)
        high = np.zeros(len(parts), dtype=np.int64)
        np.minimum.at(low, coarse, places)
        np.maximum.at(high, coarse, places)
        width = (high - low + 1)[coarse]
        count = np.minimum(parts[coarse], width)
        label = label * count + (places - low[coarse]) * count // width
    return label
