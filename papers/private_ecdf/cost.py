"""How many noises must move for an interval of points: shortest paths over the ends of blocks.

A record that moves changes the counts of an interval of points by one. Noises hide it if a signed sum of blocks equals
the interval, and that is a path between the ends of the interval along blocks. So the least loss is a path length.
"""

from __future__ import annotations

import numpy as np
from baselines import regular_bounds
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import shortest_path


def distances(points: int, arity: int) -> NDArray[np.int64]:
    """Blocks between each two of the ends 0, ..., points."""
    bounds = regular_bounds(points, arity)
    first, last = (np.concatenate([ends[part] for ends in bounds]) for part in (slice(None, -1), slice(1, None)))
    edges = coo_matrix((np.ones(len(first)), (first, last)), shape=(points + 1, points + 1))
    return np.asarray(shortest_path(edges, directed=False, unweighted=True), dtype=np.int64)


def of_prefixes(levels: int) -> int:
    """The most noises that a prefix or a suffix needs: Lemma 1."""
    between = distances(2**levels, 2)
    return int(max(between[0].max(), between[:, -1].max()))


def of_intervals(levels: int) -> int:
    """The most noises that a moved record needs: Theorem 1. The last point counts all records, so it never changes."""
    return int(distances(2**levels, 2)[:-1, :-1].max())


def path_error(points: int, arity: int) -> float:
    """Mean squared error of the tightest path, in units of 2 / epsilon**2."""
    return len(regular_bounds(points, arity)) * float(distances(points, arity)[:-1, :-1].max()) ** 2
