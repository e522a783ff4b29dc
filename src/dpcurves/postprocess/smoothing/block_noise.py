"""Which points each block of cells lends its noise to: paths through a tree, prefixes, prefixes with subtraction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ...arguments import Refused
from ...arrays import FloatArray, IntArray
from .noise_graph import NoiseGraph, noise_graph


def regular_bounds(cells: int, arity: int) -> tuple[IntArray, ...]:
    """The ends of blocks of 1, ``arity``, ``arity**2``, ... cells, from the one that holds all cells to single cells.

    The last block of a level is shorter where widths do not divide the cells.

    >>> [bounds.tolist() for bounds in regular_bounds(5, 2)]
    [[0, 5], [0, 4, 5], [0, 2, 4, 5], [0, 1, 2, 3, 4, 5]]
    """
    if cells < 1:
        raise Refused("cells", f"at least 1 is needed, got {cells}")
    if arity < 2:
        raise Refused("arity", f"at least 2 is needed, got {arity}")
    widths = [1]
    while widths[-1] < cells:
        widths.append(widths[-1] * arity)
    return tuple(np.append(np.arange(0, cells, width), cells) for width in reversed(widths))


def path_graph(bounds: Sequence[IntArray], variances: Sequence[float]) -> NoiseGraph:
    """Every point has the noise of all blocks that hold it: one block of each level.

    Point i is cell i: the noise of the path from the root of a tree to a leaf (Barczewski, Mawass and Ramon, equation
    2, with arity 2).

    Args:
        bounds: The ends of the blocks of each level, from coarse to fine: nested tilings, see `regular_bounds`.
        variances: One per level; 0 where no noise is added.

    Raises:
        ValueError: levels are not nested, or there are not as many variances.
    """
    each = _each(bounds, variances)
    first = np.concatenate([ends[:-1] for ends in bounds])
    last = np.concatenate([ends[1:] for ends in bounds])
    return noise_graph(int(bounds[-1][-1]), first, last, each)


def prefix_graph(bounds: Sequence[IntArray], variances: Sequence[float]) -> NoiseGraph:
    """The point that ends cell i has the noise of the fewest blocks that make up all cells up to it.

    The root if it ends with the root; else the children on the left of the one that it lies in, and so on (Chan, Shi
    and Song 2011, with arity 2). So a block lends its noise to points from its own end to before its parent's end.
    Blocks that end with their parent are not used, nor need they be released.

    Args:
        bounds: The ends of the blocks of each level, from coarse to fine: nested tilings, see `regular_bounds`.
        variances: One per level.

    Raises:
        ValueError: levels are not nested, or there are not as many variances.
    """
    each, cells = _each(bounds, variances), int(bounds[-1][-1])
    first = np.concatenate([ends[1:] - 1 for ends in bounds])
    parents = [np.full(len(bounds[0]) - 1, cells + 1)]
    for coarse, fine in pairwise(bounds):
        parents.append(coarse[np.searchsorted(coarse, fine[1:])])
    last = np.concatenate(parents) - 1
    used = first < last
    return noise_graph(cells, first[used], last[used], each[used])


def subtraction_graph(cells: int, widths: Sequence[int], variances: Sequence[float]) -> NoiseGraph:
    """The point that ends cell i has the noise of blocks that are added and subtracted.

    With t = i + 1, the multiples of each width that are nearest to t, from coarse to fine, are reached from 0 by adding
    or subtracting blocks of this width (Andersson, Pagh, Steiner and Torkamani 2025). So a block lends its noise, with
    one sign or the other, to the points between its own turn and its parent's: its turn is the first t that is rounded
    to its end. Blocks beyond the last cell have no noise.

    Args:
        cells: How many there are.
        widths: Of the blocks of each level, from coarse to fine: each an odd multiple of the next, the last one 1.
        variances: One per level. Blocks of the first level are only added.

    Raises:
        ValueError: the widths are others, or there are not as many variances.
    """
    if len(widths) != len(variances):
        raise Refused("variances", f"one for each of {len(widths)} levels is needed, got {len(variances)}")
    ratios = [divmod(coarse, fine) for coarse, fine in pairwise([*widths, 1])]
    if not widths or widths[-1] != 1 or any(rest or ratio % 2 == 0 for ratio, rest in ratios):
        raise Refused("widths", f"odd multiples of the next are needed, the last one 1, got {list(widths)}")
    turns = [np.arange(0, cells, width) + (width + 1) // 2 for width in widths]
    parents = [np.full(len(turns[0]), cells + 1)]
    for coarse, fine, turn in zip(widths, widths[1:], turns, strict=False):
        parents.append(np.repeat(turn, coarse // fine)[: -(-cells // fine)])
    own, parent = np.concatenate(turns), np.concatenate(parents)
    first, last = np.minimum(own, parent) - 1, np.minimum(np.maximum(own, parent), cells + 1) - 1
    used = first < last
    each = np.repeat(np.asarray(variances, dtype=np.float64), [len(turn) for turn in turns])
    return noise_graph(cells, first[used], last[used], each[used])


def _each(bounds: Sequence[IntArray], variances: Sequence[float]) -> FloatArray:
    if len(bounds) != len(variances) or not bounds:
        raise Refused("variances", f"one for each of {len(bounds)} levels is needed, got {len(variances)}")
    if not all(np.isin(coarse, fine).all() for coarse, fine in pairwise(bounds)):
        raise Refused("bounds", "every block must be a union of blocks of the next level")
    return np.repeat(np.asarray(variances, dtype=np.float64), [len(ends) - 1 for ends in bounds])
