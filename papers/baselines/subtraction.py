"""Prefix sums from a tree of odd radices by adding and subtracting few nodes, for comparison with least squares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import FloatArray
from dpcurves.distributions import IntervalSums
from dpcurves.distributions.interval_sums import split_into_parts
from dpcurves.smoothing import NoiseGraph, build_noise_graph


def subtracted_prefixes(distribution: IntervalSums, values: Sequence[int] | NDArray[np.int64]) -> FloatArray:
    """Return unbiased numbers of records below each edge, (rows, cells + 1).

    For each level's width, from coarse to fine, the multiple nearest to the edge is reached from the multiple of the
    level before by adding or subtracting nodes (Andersson, Pagh, Steiner and Torkamani 2025). Nodes beyond the last
    cell are empty and have no noise. A public total and the missing count are not used.

    Raises:
        ValueError: the values do not fit the distribution, or its levels are not regular, with widths that are odd
            multiples of the next, down to 1.
    """
    tables, _ = split_into_parts(distribution, np.asarray(values, dtype=np.float64))
    prefixes = np.zeros((distribution.rows, distribution.cells + 1))
    for walk, table in zip(_walks(distribution), tables, strict=True):
        cumulated = np.concatenate([np.zeros((distribution.rows, 1)), np.cumsum(table, axis=1)], axis=1)
        prefixes += cumulated[:, walk.end] - cumulated[:, walk.start]
    return prefixes


def subtraction_variances(distribution: IntervalSums) -> FloatArray:
    """Return the variances of `subtracted_prefixes`, (cells + 1,), which are equal for all rows.

    Raises:
        ValueError: as for `subtracted_prefixes`.
    """
    variances = np.zeros(distribution.cells + 1)
    for walk, level in zip(_walks(distribution), distribution.levels, strict=True):
        variances += np.abs(walk.end - walk.start) * level.noise.variance
    return variances


class _Walk(NamedTuple):
    """Numbers of nodes of a level before the start and the end of the path to each edge."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]


def _walks(distribution: IntervalSums) -> Iterator[_Walk]:
    edge = np.arange(distribution.cells + 1)
    previous = np.zeros_like(edge)
    for width in _widths(distribution):
        position = (edge + width // 2) // width * width
        nodes = -(-distribution.cells // width)
        yield _Walk(np.minimum(previous // width, nodes), np.minimum(position // width, nodes))
        previous = position


def _widths(distribution: IntervalSums) -> list[int]:
    """Return the widths from coarse to fine."""
    starts = [level.starts for level in distribution.levels]
    widths = [
        level_starts.step
        for level_starts in starts
        if isinstance(level_starts, range) and level_starts == range(0, distribution.cells, level_starts.step)
    ]
    ratios = [divmod(coarse, fine) for coarse, fine in zip(widths, [*widths[1:], 1], strict=True)]
    if len(widths) < len(starts) or widths[-1] != 1 or any(remainder or ratio % 2 == 0 for ratio, remainder in ratios):
        raise InvalidArgument(
            "distribution", "regular levels are needed, whose widths are odd multiples of the next, down to 1"
        )
    return widths


def subtraction_graph(cells: int, widths: Sequence[int], variances: Sequence[float]) -> NoiseGraph:
    """Return the noise graph in which the end of cell i has the noises of the added and subtracted blocks.

    With t = i + 1, the multiples of each width that are nearest to t, from coarse to fine, are reached from 0 by adding
    or subtracting blocks of this width (Andersson, Pagh, Steiner and Torkamani 2025). So a block contributes its noise,
    with either sign, to the points between its turn and its parent's turn, where the turn is the first t that is
    rounded to the block's end. Blocks beyond the last cell have no noise.

    Args:
        cells: Number of cells.
        widths: Block widths of each level, from coarse to fine: each an odd multiple of the next, the last 1.
        variances: One per level. Blocks of the first level are only added.

    Raises:
        ValueError: the widths are invalid, or the number of variances is wrong.
    """
    if len(widths) != len(variances):
        raise InvalidArgument("variances", f"one for each of {len(widths)} levels is needed, got {len(variances)}")
    ratios = [divmod(coarse, fine) for coarse, fine in pairwise([*widths, 1])]
    if not widths or widths[-1] != 1 or any(remainder or ratio % 2 == 0 for ratio, remainder in ratios):
        raise InvalidArgument("widths", f"odd multiples of the next are needed, the last one 1, got {list(widths)}")
    turns = [np.arange(0, cells, width) + (width + 1) // 2 for width in widths]
    parents = [np.full(len(turns[0]), cells + 1)]
    for coarse, fine, turn in zip(widths, widths[1:], turns, strict=False):
        parents.append(np.repeat(turn, coarse // fine)[: -(-cells // fine)])
    own_turns, parent = np.concatenate(turns), np.concatenate(parents)
    first, last = np.minimum(own_turns, parent) - 1, np.minimum(np.maximum(own_turns, parent), cells + 1) - 1
    used = first < last
    block_variances = np.repeat(np.asarray(variances, dtype=np.float64), [len(turn) for turn in turns])
    return build_noise_graph(cells, first[used], last[used], block_variances[used])
