"""All tiny data sets and their neighbours, so that privacy can be tested on each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcurves.data import Axis, Categories, Grid
from dpcurves.privacy import AddRemove, Adjacency, ReplaceOne, Unit
from dpcurves.queries import CountQuery, CountUse, QuantileCutsQuery, SquareQuery, SumQuery

IntArray = NDArray[np.int64]

ADJACENCIES: tuple[Adjacency, ...] = (
    AddRemove(Unit("patient", 1)),
    AddRemove(Unit("patient", 2)),
    ReplaceOne(Unit("patient", 1), 3),
    ReplaceOne(Unit("patient", 2), 3),
)


def axes(rows: int, cells: int) -> tuple[Axis | Categories, ...]:
    score = Axis("score", Grid(0, 1, cells=cells))
    return (score,) if rows == 1 else (Categories("label", tuple(range(rows))), score)


def counts(rows: int, cells: int, read: CountUse = CountUse.PREFIXES) -> CountQuery:
    return CountQuery(axes(rows, cells), read)


def sums(rows: int, cells: int, half: int) -> SumQuery:
    return SumQuery(axes(rows, cells), half)


def squares(rows: int, cells: int, half: int) -> SquareQuery:
    return SquareQuery(axes(rows, cells), half)


def cuts(cells: int, pieces: int) -> QuantileCutsQuery:
    return QuantileCutsQuery(axes(1, cells), pieces)


def kinds(query: CountQuery | SumQuery | QuantileCutsQuery) -> IntArray:
    """What one record of each kind adds to the table, of shape ``(kinds, table)``; the last kind is missing."""
    size = query.rows * query.cells + 1
    if not isinstance(query, SumQuery):
        return np.eye(size, dtype=np.int64)
    offsets = range(-query.half, query.half + 1)
    amounts = [2 * each**2 - query.half**2 for each in offsets] if isinstance(query, SquareQuery) else offsets
    signed = [value * row for row in np.eye(size, dtype=np.int64)[:-1] for value in amounts]
    return np.array([*signed, np.zeros(size, dtype=np.int64)])


def data_sets(kinds: int, records: int) -> IntArray:
    """How many records of each kind there are, in all data sets of at most so many records."""
    return np.array(list(_with_sum_up_to(kinds, records)), dtype=np.int64)


def _with_sum_up_to(length: int, most: int) -> list[tuple[int, ...]]:
    if length == 0:
        return [()]
    return [(first, *rest) for first in range(most + 1) for rest in _with_sum_up_to(length - 1, most - first)]


PAIR_BLOCK = 16
"""Data sets that are compared with all others at a time."""


def neighbours(sets: IntArray, adjacency: Adjacency) -> IntArray:
    """Numbers of all pairs of neighbours, of shape ``(pairs, 2)``: one unit brings and takes `records` at most."""
    counts = sets.astype(np.int8)  # in blocks of small integers, which stay in the cache: all pairs at once take 5 GB
    assert np.array_equal(counts, sets)
    pairs = []
    for start in range(0, len(counts), PAIR_BLOCK):
        change = counts[start : start + PAIR_BLOCK, None] - counts
        came = np.maximum(change, 0).sum(axis=-1, dtype=np.int16)
        went = came - change.sum(axis=-1, dtype=np.int16)
        near = (came + went > 0) & (np.maximum(came, went) <= adjacency.unit.records)
        if isinstance(adjacency, AddRemove):
            near &= (came == 0) | (went == 0)
        elif adjacency.unit.records == 1:
            near &= came == went
        pairs.append(np.add(np.argwhere(near), (start, 0)))
    return np.concatenate(pairs)
