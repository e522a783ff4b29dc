"""The prefixes that contain the noise of each block of cells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ...arguments import Refused
from ...arrays import FloatArray, IntArray
from .noise_graph import NoiseGraph, noise_graph


def prefix_graph(bounds: Sequence[IntArray], variances: Sequence[float]) -> NoiseGraph:
    """The point that ends cell i has the noise of the fewest blocks that make up all cells up to it.

    The root if it ends with the root; else the children on the left of the one that it lies in, and so on (Chan, Shi
    and Song 2011, with arity 2). So a block lends its noise to points from its own end to before its parent's end.
    Blocks that end with their parent are not used, nor need they be released.

    Args:
        bounds: The ends of the blocks of each level, from coarse to fine: nested tilings.
        variances: One per level.

    Raises:
        ValueError: levels are not nested, or there are not as many variances.
    """
    each, cells = variance_of_each(bounds, variances), int(bounds[-1][-1])
    first = np.concatenate([ends[1:] - 1 for ends in bounds])
    parents = [np.full(len(bounds[0]) - 1, cells + 1)]
    for coarse, fine in pairwise(bounds):
        parents.append(coarse[np.searchsorted(coarse, fine[1:])])
    last = np.concatenate(parents) - 1
    used = first < last
    return noise_graph(cells, first[used], last[used], each[used])


def variance_of_each(bounds: Sequence[IntArray], variances: Sequence[float]) -> FloatArray:
    """The variances of all blocks, level by level, from left to right."""
    if len(bounds) != len(variances) or not bounds:
        raise Refused("variances", f"one for each of {len(bounds)} levels is needed, got {len(variances)}")
    if not all(np.isin(coarse, fine).all() for coarse, fine in pairwise(bounds)):
        raise Refused("bounds", "every block must be a union of blocks of the next level")
    return np.repeat(np.asarray(variances, dtype=np.float64), [len(ends) - 1 for ends in bounds])
