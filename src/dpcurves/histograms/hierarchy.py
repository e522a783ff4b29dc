"""Nested blocks of cells, of a fan-out that fits their number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from ..arrays import IntArray
from ..queries import Read
from ..release import Setting
from .extent import Extent, nested_blocks
from .region_counts import counted
from .table_estimator import Axes, Conversation


@dataclass(frozen=True, slots=True)
class HierarchyEstimator:
    """Along one axis the tree that reads prefixes best; in a plane nested blocks (Qardaji, Yang and Li 2013). One turn.

    With two axes each block is divided into the same number of parts along either axis, and every level has the same
    share of the budget. The root is not counted: its noisy count helps less than its share costs.
    """

    def counts(self, axes: Axes, setting: Setting, share: Fraction) -> Conversation:
        """Ask for blocks of all sizes."""
        extent = Extent.of(axes)
        if extent.shape.count(1) >= len(extent.shape) - 1:
            return (yield from counted(axes, extent, [np.arange(extent.cells)], Read.PREFIXES, share))
        return (yield from counted(axes, extent, list(_levels(extent.shape)), Read.CELLS, share))


def fan_out(side: int, axes: int) -> int:
    """Into how many parts to divide blocks along each axis: least mean squared error of boxes, about.

    With fan-out b and h levels a box has about ``2 * axes`` faces, at each of which up to b - 1 blocks of each level
    are counted, of a variance of ``h**2``: the blocks at a face of the last level are the most, ``side**(axes - 1)``,
    and fall with the level by ``b**(axes - 1)``.

    >>> fan_out(64, 2), fan_out(256, 2), fan_out(4096, 1)
    (8, 7, 16)
    """
    least, best = inf, 2
    for fan in range(2, max(3, side + 1)):
        height = _height(side, fan)
        faces = sum(float(fan) ** (-(axes - 1) * level) for level in range(height))
        error = (fan - 1) * height**2 * faces
        if error < least:
            least, best = error, fan
    return best


def _height(side: int, fan: int) -> int:
    """The number of levels below the whole down to single cells."""
    height, width = 1, fan
    while width < side:
        height, width = height + 1, width * fan
    return height


def _levels(shape: tuple[int, ...]) -> Iterator[IntArray]:
    """The number of each cell's block, from coarse to fine."""
    fan = fan_out(max(shape), len(shape))
    height = _height(max(shape), fan)
    for level in range(1, height):
        yield nested_blocks(shape, fan**level)
    yield np.arange(int(np.prod(shape)))
