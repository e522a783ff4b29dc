"""The loss of noisy sums in closed form, on all tiny neighbouring data sets."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tiny_tables import IntArray, data_sets, kinds, neighbours

from dpcurves.distributions import Family, Noise, NoisySums
from dpcurves.mechanisms.linear import compute_exact_sums
from dpcurves.privacy import Adjacency
from dpcurves.queries import CountQuery, SumQuery

PAIRS_AT_ONCE = 2**14
"""Pairs whose shifts are computed together: few enough that their numbers stay in the processor's cache."""


@lru_cache(maxsize=4)
def data_sets_and_pairs(kinds_of_records: int, adjacency: Adjacency) -> tuple[IntArray, IntArray]:
    """Return all data sets of up to 3 records, and the numbers of all pairs of neighbours, each pair in one order.

    The second order has the opposite shift, and so the same loss.
    """
    sets = data_sets(kinds_of_records, 3)
    pairs = neighbours(sets, adjacency)
    return sets, pairs[pairs[:, 0] < pairs[:, 1]]


def worst_loss(query: CountQuery | SumQuery, distribution: NoisySums, adjacency: Adjacency) -> Fraction:
    """Return the largest loss over all pairs of neighbours with up to 3 records, exactly.

    Of discrete Laplace noise the log ratio of two shifted distributions has the supremum ``|shift| / scale``, of
    independent ones their sum; discrete Gaussian noise has rho ``shift**2 / (2 * variance)``.
    """
    contributions = kinds(query)
    sets, pairs = data_sets_and_pairs(len(contributions), adjacency)
    noises = [noise for _, noise in compute_exact_sums(np.zeros(contributions.shape[1], dtype=np.int64), distribution)]
    released = [[part for part, _ in compute_exact_sums(table, distribution)] for table in sets @ contributions]
    parts = [np.array(part, dtype=np.int64) for part in zip(*released, strict=True)]
    distinct_norms = set[tuple[int, ...]]()
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        block = pairs[start : start + PAIRS_AT_ONCE]
        norms = [_norm(part, block, noise) for part, noise in zip(parts, noises, strict=True)]
        distinct_norms |= set(zip(*(norm.tolist() for norm in norms), strict=True))
    return max(
        sum((unit_loss(noise) * norm for noise, norm in zip(noises, row, strict=True)), start=Fraction(0))
        for row in distinct_norms
    )


def losses_of_pairs(tables: IntArray, distribution: NoisySums, pairs: IntArray) -> NDArray[np.float64]:
    """What each pair of these exact tables loses by one turn of noisy sums, as `worst_loss` has it."""
    ours, theirs = pairs.T
    released = [compute_exact_sums(table, distribution) for table in tables]
    lost = np.zeros(len(ours))
    for part, (_, noise) in enumerate(released[0]):
        sums = np.array([found[part][0] for found in released], dtype=np.float64)
        shift = sums[ours] - sums[theirs]
        lost += float(unit_loss(noise)) * (abs(shift) if noise.family is Family.LAPLACE else shift**2).sum(axis=1)
    return lost


def _norm(part: IntArray, pairs: IntArray, noise: Noise) -> IntArray:
    """Return the L1 norm of the shift of each pair under Laplace noise, and else the squared L2 norm."""
    # squares of large sums are added up as Python integers
    sums: Any = part if abs(part).max(initial=0) < 2**28 else part.astype(object)
    norm: Any = np.zeros(len(pairs), dtype=sums.dtype)
    ours, theirs = pairs.T
    for column in np.ascontiguousarray(sums.T):
        shift = column[ours] - column[theirs]
        norm += abs(shift) if noise.family is Family.LAPLACE else shift * shift
    norms: IntArray = norm
    return norms


def unit_loss(noise: Noise) -> Fraction:
    """Return the privacy loss of a change by 1."""
    return 1 / noise.parameter if noise.family is Family.LAPLACE else 1 / (2 * noise.parameter)
