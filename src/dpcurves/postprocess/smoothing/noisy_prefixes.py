"""Noisy counts as a curve whose noise lies on stretches of it: what monotone smoothing begins with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...arrays import FloatArray, IntArray
from ...laws import IntervalSums, NoisySums
from .block_noise import prefix_graph
from .noise_graph import NoiseGraph, noise_graph

LEAST = 1e-9
"""The least variance of a count, in units of the largest: one that is known is hardly changed."""


class NoisyCurve(NamedTuple):
    """Counts of records up to the end of each finest interval, with noise.

    Attributes:
        ends: Where these intervals end, in cells, (points,).
        counts: Each is the sum of the fewest intervals that make up all cells up to there, (points,).
        graph: Which noise lies on which of them.
    """

    ends: IntArray
    counts: FloatArray
    graph: NoiseGraph


def nested_prefixes(law: IntervalSums, values: Sequence[int] | FloatArray) -> NoisyCurve:
    """The counts of one row that a release of nested intervals gives without mixing its noises.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Tier, Noise
    >>> noise = Noise(Family.LAPLACE, Fraction(1))
    >>> law = IntervalSums(1, 4, (Tier((0, 2), noise), Tier((0, 1, 2, 3), noise)), None)
    >>> nested_prefixes(law, [10, 20, 4, 7, 9, 8]).counts.tolist()
    [4.0, 10.0, 19.0, 30.0]
    """
    bounds = [level.bounds(law.cells) for level in law.levels]
    ends, below, first = np.array([0, law.cells]), np.zeros(1), 0
    for each in bounds:
        own = np.asarray(values[first : first + len(each) - 1], dtype=np.float64)
        first += len(each) - 1
        summed = np.append(0.0, np.cumsum(own))
        parent = np.searchsorted(ends, each, side="right") - 1
        whole = np.minimum(parent, len(below) - 1)
        below = below[whole] + summed - summed[np.searchsorted(each, ends[whole])]
        ends = each
    short = law.of_intervals
    levels = [level.bounds(short.cells) for level in short.levels]
    graph = prefix_graph(levels, [level.noise.variance for level in short.levels])
    return NoisyCurve(ends[1:], below[1:], graph)


def noisy_prefixes(law: NoisySums, values: Sequence[int], total: int | None) -> NoisyCurve:
    """The counts of one row, whatever the law of its noise.

    Where nested intervals were counted, see `nested_prefixes`. Else the counts are the unbiased ones, and each has a
    noise of its own: what they share is not told apart. So the least change of squares is the nearest curve that rises,
    in squared distances over variances. It is never further from the truth in these than the counts were, for the truth
    rises, too, and such curves are a convex set.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Noise, ToeplitzSums
    >>> law = ToeplitzSums(1, 3, 1, 20, Noise(Family.GAUSSIAN, Fraction(4)), None)
    >>> noisy_prefixes(law, [2**20, 2**19, 3 * 2**17], None).counts.round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    released = np.asarray(values, dtype=np.float64)
    if law.is_nested:
        return nested_prefixes(law.nested.required(IntervalSums), law.debiased(released))
    ends, points = law.bounds[1:], np.arange(len(law.bounds) - 1)
    cells, _ = law.reconstruct(released, total)
    variances = law.prefix_variances(total is not None)[0, ends]
    graph = noise_graph(len(ends), points, points + 1, np.maximum(variances, LEAST * variances.max()))
    return NoisyCurve(ends, np.cumsum(cells[0])[ends - 1], graph)
