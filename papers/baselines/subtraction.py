"""Prefixes read from a tree of odd radices by adding and subtracting few nodes; for comparison with least squares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import FloatArray
from dpcurves.laws import IntervalSums
from dpcurves.laws.interval_sums import split_into_parts
from dpcurves.smoothing import NoiseGraph, build_noise_graph


def subtracted_prefixes(law: IntervalSums, values: Sequence[int] | NDArray[np.int64]) -> FloatArray:
    """Unbiased numbers of records below each edge: (rows, cells + 1).

    Of each level's width, from coarse to fine, the multiple that is nearest to the edge is reached from that of the
    level before by adding nodes, or by subtracting them (Andersson, Pagh, Steiner and Torkamani 2025). Nodes beyond the
    last cell are empty and have no noise. A public total and the missing count are left unused.

    Raises:
        ValueError: the values do not fit the law, or its levels are not regular, of widths that are odd multiples of
            the next, down to 1.
    """
    tables, _ = split_into_parts(law, np.asarray(values, dtype=np.float64))
    prefixes = np.zeros((law.rows, law.cells + 1))
    for walk, table in zip(_walks(law), tables, strict=True):
        cumulated = np.concatenate([np.zeros((law.rows, 1)), np.cumsum(table, axis=1)], axis=1)
        prefixes += cumulated[:, walk.end] - cumulated[:, walk.start]
    return prefixes


def subtraction_variances(law: IntervalSums) -> FloatArray:
    """Variances of `subtracted_prefixes`: (cells + 1,). Every row has the same.

    Raises:
        ValueError: as for `subtracted_prefixes`.
    """
    variances = np.zeros(law.cells + 1)
    for walk, level in zip(_walks(law), law.levels, strict=True):
        variances += np.abs(walk.end - walk.start) * level.noise.variance
    return variances


class _Walk(NamedTuple):
    """From which node of a level to which other one the way to each edge leads: numbers of nodes before them."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]


def _walks(law: IntervalSums) -> Iterator[_Walk]:
    edge = np.arange(law.cells + 1)
    above = np.zeros_like(edge)
    for width in _widths(law):
        place = (edge + width // 2) // width * width
        nodes = -(-law.cells // width)
        yield _Walk(np.minimum(above // width, nodes), np.minimum(place // width, nodes))
        above = place


def _widths(law: IntervalSums) -> list[int]:
    """From coarse to fine."""
    starts = [level.starts for level in law.levels]
    widths = [own.step for own in starts if isinstance(own, range) and own == range(0, law.cells, own.step)]
    ratios = [divmod(coarse, fine) for coarse, fine in zip(widths, [*widths[1:], 1], strict=True)]
    if len(widths) < len(starts) or widths[-1] != 1 or any(rest or ratio % 2 == 0 for ratio, rest in ratios):
        raise InvalidArgument("law", "regular levels are needed, whose widths are odd multiples of the next, down to 1")
    return widths


def subtraction_graph(cells: int, widths: Sequence[int], variances: Sequence[float]) -> NoiseGraph:
    """The point that ends cell i has the noise of blocks that are added and subtracted.

    With t = i + 1, the multiples of each width that are nearest to t, from coarse to fine, are reached from 0 by adding
    or subtracting blocks of this width (Andersson, Pagh, Steiner and Torkamani 2025). So a block lends its noise, with
    one sign or the other, to the points between its own turn and its parent's: its turn is the first t that is rounded
    to its end. Blocks beyond the last cell have no noise.

    Args:
        cells: How many there are.
        widths: Block widths of each level, from coarse to fine: each an odd multiple of the next, the last one 1.
        variances: One per level. Blocks of the first level are only added.

    Raises:
        ValueError: the widths are others, or there are not as many variances.
    """
    if len(widths) != len(variances):
        raise InvalidArgument("variances", f"one for each of {len(widths)} levels is needed, got {len(variances)}")
    ratios = [divmod(coarse, fine) for coarse, fine in pairwise([*widths, 1])]
    if not widths or widths[-1] != 1 or any(rest or ratio % 2 == 0 for ratio, rest in ratios):
        raise InvalidArgument("widths", f"odd multiples of the next are needed, the last one 1, got {list(widths)}")
    turns = [np.arange(0, cells, width) + (width + 1) // 2 for width in widths]
    parents = [np.full(len(turns[0]), cells + 1)]
    for coarse, fine, turn in zip(widths, widths[1:], turns, strict=False):
        parents.append(np.repeat(turn, coarse // fine)[: -(-cells // fine)])
    own, parent = np.concatenate(turns), np.concatenate(parents)
    first, last = np.minimum(own, parent) - 1, np.minimum(np.maximum(own, parent), cells + 1) - 1
    used = first < last
    each = np.repeat(np.asarray(variances, dtype=np.float64), [len(turn) for turn in turns])
    return build_noise_graph(cells, first[used], last[used], each[used])
