"""All tiny streams and their neighbours, so that privacy can be tested on each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dpcurves.data import Categories
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, ReplaceOne, Unit
from dpcurves_streams.queries import TimeStepQuery

IntArray = NDArray[np.int64]

ADJACENCIES: tuple[Adjacency, ...] = (
    AddRemove(EACH_RECORD), AddRemove(Unit("user", 2)), ReplaceOne(EACH_RECORD, 3), ReplaceOne(Unit("user", 2), 3),
)  # fmt: skip


def time_steps(states: int, length: int | None) -> TimeStepQuery:
    return TimeStepQuery((Categories("state", tuple(range(states))),), time_steps=length)


def streams(states: int, length: int, most: int) -> Iterator[IntArray]:
    """All streams of so many time steps, (length, states), with at most `most` tuples in each cell."""
    for counts in product(range(most + 1), repeat=states * length):
        yield np.array(counts, dtype=np.int64).reshape(length, states)


def neighbours(stream: IntArray, adjacency: Adjacency) -> Iterator[IntArray]:
    """Streams that one unit can make of this one: at one time step its tuples come or go; under replace-one, at two."""
    for came in changes(stream.shape, adjacency.unit.records):
        yield stream + came
        if isinstance(adjacency, ReplaceOne):
            for went in changes(stream.shape, adjacency.unit.records):
                if np.any(came != went) and np.all(stream + came >= went):
                    yield stream + came - went


def changes(shape: tuple[int, ...], records: int) -> Iterator[IntArray]:
    """All ways in which up to so many tuples lie in one time step."""
    length, states = shape
    for time_step, counts in product(range(length), product(range(records + 1), repeat=states)):
        if 0 < sum(counts) <= records:
            change = np.zeros(shape, dtype=np.int64)
            change[time_step] = counts
            yield change
