"""The loss of noisy sums in closed form, on all tiny neighbouring data sets."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tiny_tables import IntArray, data_sets, kinds, neighbours

from dpcurves.laws import Family, Noise, NoisySums
from dpcurves.mechanisms.linear import compute_exact_sums
from dpcurves.privacy import Adjacency
from dpcurves.queries import CountQuery, SumQuery


def worst_loss(query: CountQuery | SumQuery, law: NoisySums, adjacency: Adjacency) -> Fraction:
    """The largest loss over all pairs of neighbours with up to 3 records, exactly.

    Of discrete Laplace noise the log ratio of two shifted laws has the supremum ``|shift| / scale``, of independent
    ones their sum; discrete Gaussian noise has rho ``shift**2 / (2 * variance)``.
    """
    contributions = kinds(query)
    sets = data_sets(len(contributions), 3)
    pairs = neighbours(sets, adjacency)
    noises = [noise for _, noise in compute_exact_sums(np.zeros(contributions.shape[1], dtype=np.int64), law)]
    released = [[part for part, _ in compute_exact_sums(table, law)] for table in sets @ contributions]
    parts = [np.array(part, dtype=np.int64) for part in zip(*released, strict=True)]
    norms = np.stack([_norm(part, pairs, noise) for part, noise in zip(parts, noises, strict=True)], axis=1)
    return max(
        sum((price(noise) * int(norm) for noise, norm in zip(noises, row, strict=True)), start=Fraction(0))
        for row in set(map(tuple, norms.tolist()))
    )


def losses_of_pairs(tables: IntArray, law: NoisySums, pairs: IntArray) -> NDArray[np.float64]:
    """What each pair of these exact tables loses by one turn of noisy sums, as `worst_loss` has it."""
    ours, theirs = pairs.T
    released = [compute_exact_sums(table, law) for table in tables]
    lost = np.zeros(len(ours))
    for part, (_, noise) in enumerate(released[0]):
        sums = np.array([found[part][0] for found in released], dtype=np.float64)
        shift = sums[ours] - sums[theirs]
        lost += float(price(noise)) * (abs(shift) if noise.family is Family.LAPLACE else shift**2).sum(axis=1)
    return lost


def _norm(part: IntArray, pairs: IntArray, noise: Noise) -> IntArray:
    shift: Any = part[pairs[:, 0]] - part[pairs[:, 1]]
    if abs(shift).max(initial=0) >= 2**29:  # squares are added up as Python integers
        shift = shift.astype(object)
    norms: IntArray = (abs(shift) if noise.family is Family.LAPLACE else shift**2).sum(axis=1)
    return norms


def price(noise: Noise) -> Fraction:
    return 1 / noise.parameter if noise.family is Family.LAPLACE else 1 / (2 * noise.parameter)
