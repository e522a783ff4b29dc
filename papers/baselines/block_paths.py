"""Which points each block of cells lends its noise to: paths through a tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import IntArray
from dpcurves.smoothing.noise_graph import NoiseGraph, build_noise_graph, repeat_variances


def regular_bounds(cells: int, arity: int) -> tuple[IntArray, ...]:
    """The ends of blocks of 1, ``arity``, ``arity**2``, ... cells, from the one that holds all cells to single cells.

    The last block of a level is shorter where widths do not divide the cells.

    >>> [bounds.tolist() for bounds in regular_bounds(5, 2)]
    [[0, 5], [0, 4, 5], [0, 2, 4, 5], [0, 1, 2, 3, 4, 5]]
    """
    if cells < 1:
        raise InvalidArgument("cells", f"at least 1 is needed, got {cells}")
    if arity < 2:
        raise InvalidArgument("arity", f"at least 2 is needed, got {arity}")
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
    each = repeat_variances(bounds, variances)
    first = np.concatenate([ends[:-1] for ends in bounds])
    last = np.concatenate([ends[1:] for ends in bounds])
    return build_noise_graph(int(bounds[-1][-1]), first, last, each)
